"""Whatever counts and writes the rows, a release is the same: same steps, same bytes."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import reticent
from naive.cases import random_case
from naive.product import policy_of, table_of
from reticent import InputError, Policy, Release, Unsatisfiable
from reticent.table import engines, sheets
from reticent.table.files import ARROW


def write(table: pa.Table, path: Path) -> Path:
    """A table as a file, by its suffix."""
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=50)
    elif path.suffix in ARROW:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=40)
    else:
        pyarrow.csv.write_csv(table, path)
    return path


def told(release: Release) -> dict[str, Any]:
    """What a release says of itself, but for how long it took and where it stands."""
    said = release.summary()
    return {k: v for k, v in said.items() if k not in ("seconds", "output")}


def same(
    data: Path, policy: Policy, out: Path, rows_per_file: int | None = None
) -> tuple[Release, Release] | None:
    """Release in memory and by an engine, and compare all there is."""
    found: list[Release | str] = []
    for engine in ("memory", "duckdb"):
        target = out / f"{engine}{data.suffix}"
        try:
            found.append(
                reticent.release(
                    data, policy, output=target, engine=engine, rows_per_file=rows_per_file
                )
            )
        except (InputError, Unsatisfiable) as error:
            found.append(str(error))
    memory, duckdb = found
    if isinstance(memory, str) or isinstance(duckdb, str):
        assert memory == duckdb
        return None
    assert list(duckdb.trace()) == list(memory.trace())
    assert told(duckdb) == told(memory)
    first, second = (content(Path(r.output or "")) for r in (memory, duckdb))
    assert first == second
    return memory, duckdb


def content(path: Path) -> dict[str, bytes]:
    """The bytes of a file, or of the files of a folder."""
    parts = sorted(path.iterdir()) if path.is_dir() else [path]
    return {part.name if path.is_dir() else "": part.read_bytes() for part in parts}


@pytest.mark.parametrize("seed", range(40))
def test_random_tables(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(engines, "_SAMPLE", rng.choice([4, 200_000]))  # kept columns along or not
    monkeypatch.setattr(engines, "_MOST_PLACES", rng.choice([1, 1 << 20]))
    monkeypatch.setattr("reticent.evidence.judge.LONG", rng.choice([0, 1_000_000]))
    monkeypatch.setattr(engines, "_WORD", rng.choice([5, 2**62]))
    monkeypatch.setattr(sheets, "ROW_GROUP", 16)
    case = random_case(rng)
    table = table_of(case.rows, case.attrs)
    keep = pa.array([rng.choice(["", "x", " ä ", 'a"b', "c,d", None]) for _ in case.rows])
    amount = pa.array([rng.choice([None, 1.5, math.nan, 10.0, -3.25, 1e20]) for _ in case.rows])
    table = table.append_column("Kept text", keep).append_column("Amount", amount)
    suffix = rng.choice([".csv", ".parquet", ".arrow"])
    policy = policy_of(
        case.attrs, case.templates, cls=case.cls,
        goal={"utility": case.utility, "score": case.score, "search": "thorough"},
        order=rng.choice(["sorted", "sorted", "input"]),
        trim=rng.choice([True, False]),
        missing=rng.choice(["value", "drop"]) if case.cls is None else "value",
        suppress_records=rng.choice(["0", "2/5"]),
    )  # fmt: skip
    per_file = rng.choice([None, None, 7, 40])
    same(write(table, tmp_path / f"data{suffix}"), policy, tmp_path, per_file)
