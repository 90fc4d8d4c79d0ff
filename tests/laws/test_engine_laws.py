"""Whatever counts and writes the rows, a release is the same: same steps, same bytes."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import reticent
from naive.cases import random_case
from naive.product import policy_of, table_of
from naive.refine import Anon
from reticent import InputError, Policy, Release, Unsatisfiable
from reticent.data import memory as room
from reticent.files import sheets
from reticent.files.tabular import ARROW
from reticent.sample import make
from reticent.sources import engines
from reticent.tables.report import proof_facts, verify_summary


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


def same(data: Path, policy: Policy, out: Path, rows_per_file: int | None = None) -> None:
    """Release in memory and by an engine, and compare all there is."""
    found: list[Release | str] = []
    for engine, counts in (("memory", ""), ("duckdb", "memory"), ("duckdb", "files")):
        target = out / f"{engine}-{counts}{data.suffix}"
        try:
            found.append(
                reticent.release(
                    data,
                    policy,
                    output=target,
                    engine=engine,
                    rows_per_file=rows_per_file,
                    engine_options={"counts": counts} if counts else {},
                )
            )
        except (InputError, Unsatisfiable) as error:
            found.append(str(error))
    memory, *others = found
    for other in others:
        if isinstance(memory, str) or isinstance(other, str):
            assert memory == other
        else:
            assert list(other.trace()) == list(memory.trace())
            assert told(other) == told(memory)
            assert content(Path(other.output or "")) == content(Path(memory.output or ""))


def content(path: Path) -> dict[str, bytes]:
    """The bytes of a file, or of the files of a folder."""
    parts = sorted(path.iterdir()) if path.is_dir() else [path]
    return {part.name if path.is_dir() else "": part.read_bytes() for part in parts}


@pytest.mark.parametrize("seed", range(28))
def test_random_tables(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(engines, "_SAMPLE", rng.choice([4, 200_000]))  # kept columns along or not
    monkeypatch.setattr(engines, "_MOST_PLACES", rng.choice([1, 1 << 20]))
    monkeypatch.setattr("reticent.data.columns.LONG", rng.choice([0, 1_000_000]))
    monkeypatch.setattr(engines, "_WORD", rng.choice([5, 2**62]))
    monkeypatch.setattr(sheets, "ROW_GROUP", 16)
    monkeypatch.setattr(room, "SMALL", 0)  # every array in a file
    case = random_case(rng)
    table = table_of(case.rows, case.attrs)
    keep = pa.array([rng.choice(["", "x", " ä ", 'a"b', "c,d", None]) for _ in case.rows])
    amount = pa.array(
        [rng.choice([None, 1.5, math.nan, 10.0, -3.25, 1e20, 2.0**62]) for _ in case.rows]
    )
    table = table.append_column("Kept text", keep).append_column("Amount", amount)
    suffix = rng.choice([".csv", ".parquet", ".arrow"])
    of = {name for t in case.templates if isinstance(t, Anon) for name in t.of}
    policy = policy_of(
        case.attrs, case.templates, cls=case.cls,
        goal={"utility": case.utility, "score": case.score, "search": "thorough"},
        order=rng.choice(["sorted", "sorted", "input"]),
        trim=rng.choice([True, False]),
        missing=rng.choice(["value", "drop"]) if case.cls is None else "value",
        suppress_records=rng.choice(["0", "2/5"]),
        drop=sorted(of) if rng.random() < 0.5 else [],
    )  # fmt: skip
    per_file = rng.choice([None, None, 7, 40])
    same(write(table, tmp_path / f"data{suffix}"), policy, tmp_path, per_file)


def test_verify_and_risk_say_the_same(tmp_path: Path) -> None:
    table = make("clinic", rows=2_000, seed=2)
    policy = {
        "drop": ["PatientId"],
        "keep": "*",
        "anonymity": [{"over": ["Birthdate", "Sex"], "k": 3}],
        "confidence": [{"over": ["Sex"], "sensitive": {"Diagnosis": "*"}, "at_most": "9/10"}],
        "attributes": {"Birthdate": {"mask": "discretize"}},
    }
    for suffix in (".parquet", ".csv"):
        data = write(table, tmp_path / f"data{suffix}")
        risks = [reticent.risk(data, policy, engine=e).summary() for e in ("memory", "duckdb")]
        assert risks[0] == risks[1]
        out = tmp_path / f"out{suffix}"
        reticent.release(data, policy, output=out)
        said = [
            verify_summary(
                proof_facts(reticent.verify(file, Policy.from_data(policy), engine=engine))
            )
            for file, engine in ((out, "memory"), (out, "duckdb"))
        ]
        assert said[0] == said[1]
        bare = Policy.from_data({**policy, "attributes": {"Birthdate": {"mask": "suppress"}}})
        proofs = [reticent.verify(data, bare, engine=e) for e in ("memory", "duckdb")]
        assert proofs[0] == proofs[1]
        assert not proofs[0].holds  # patients can be told, and nothing is masked


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_categories_that_nobody_shows_are_found(suffix: str, tmp_path: Path) -> None:
    shown = pa.DictionaryArray.from_arrays(pa.array([0, 0, 0, 0]), pa.array(["*", "SECRET"]))
    data = write(pa.table({"Job": shown}), tmp_path / f"data{suffix}")
    policy = {"anonymity": [{"over": ["Job"], "k": 2}]}
    for engine in ("memory", "duckdb"):
        proof = reticent.verify(data, policy, engine=engine)
        assert "categories" in proof.leftovers[0].text()


def test_frames_come_back_as_they_came() -> None:
    frame = pd.DataFrame({"Job": ["a", "b"] * 20})
    policy = {"anonymity": [{"over": ["Job"], "k": 2}]}
    found = reticent.release(frame, policy, engine="duckdb").table
    assert isinstance(found, pd.DataFrame)
    assert found.equals(reticent.release(frame, policy).table)
    assert reticent.verify(frame, policy, engine="duckdb").holds
