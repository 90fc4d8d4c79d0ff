"""Whatever counts and writes the rows, a release is the same: same steps, same bytes.

So it is if equal rows are counted once.
"""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import reticent
from at_hand import some_or_many, table_file
from naive.cases import random_case
from naive.product import policy_of, table_of
from naive.refine import Anon
from reticent import InputError, Policy, Release, Unsatisfiable
from reticent.data import memory as room
from reticent.data.collapse import distinct
from reticent.data.columns import Table
from reticent.files import sheets
from reticent.progress import Watch
from reticent.sample import make
from reticent.sources import engines
from reticent.sources.arrival import read
from reticent.tables.exposure import exposures
from reticent.tables.masking import arrow, mask
from reticent.tables.prepare import Prepared, prepare
from reticent.tables.report import proof_facts, verify_summary
from reticent.tables.search.greedy import Effort
from reticent.tables.search.judge import Judge
from reticent.tables.search.rare import find_leaving_out


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
            release = reticent.release(
                data, policy, output=target, engine=engine, rows_per_file=rows_per_file,
                engine_options={"counts": counts} if counts else {},
            )  # fmt: skip
            found.append(release)
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


@pytest.mark.parametrize("seed", [*range(7), *some_or_many(21, *range(7, 21), *range(22, 28))])
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
    same(table_file(table, tmp_path / f"data{suffix}"), policy, tmp_path, per_file)


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
        data = table_file(table, tmp_path / f"data{suffix}")
        risks = [reticent.risk(data, policy, engine=e).summary() for e in ("memory", "duckdb")]
        assert risks[0] == risks[1]
        out = tmp_path / f"out{suffix}"
        reticent.release(data, policy, output=out)
        recounts = [reticent.verify(out, policy, engine=e) for e in ("memory", "duckdb")]
        said = [verify_summary(proof_facts(proof)) for proof in recounts]
        assert said[0] == said[1]
        bare = Policy.from_data({**policy, "attributes": {"Birthdate": {"mask": "suppress"}}})
        proofs = [reticent.verify(data, bare, engine=e) for e in ("memory", "duckdb")]
        assert proofs[0] == proofs[1]
        assert not proofs[0].holds  # patients can be told, and nothing is masked


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_categories_that_nobody_shows_are_found(suffix: str, tmp_path: Path) -> None:
    shown = pa.DictionaryArray.from_arrays(pa.array([0, 0, 0, 0]), pa.array(["*", "SECRET"]))
    data = table_file(pa.table({"Job": shown}), tmp_path / f"data{suffix}")
    policy = {"anonymity": [{"over": ["Job"], "k": 2}]}
    for engine in ("memory", "duckdb"):
        proof = reticent.verify(data, policy, engine=engine)
        assert "categories" in proof.leftovers[0].text()
        assert "SECRET" not in proof.leftovers[0].text()


def test_frames_come_back_as_they_came() -> None:
    frame = pd.DataFrame({"Job": ["a", "b"] * 20})
    policy = {"anonymity": [{"over": ["Job"], "k": 2}]}
    found = reticent.release(frame, policy, engine="duckdb").table
    assert isinstance(found, pd.DataFrame)
    assert found.equals(reticent.release(frame, policy).table)
    assert reticent.verify(frame, policy, engine="duckdb").holds


# --- equal rows, counted once ---------------------------------------------------------------------


def counted(table: Table) -> Table:
    """The same records, equal ones as one row."""
    columns = list(table.columns.values())
    found = distinct([c.codes for c in columns], [len(c.values) for c in columns])
    rows = {
        c.name: replace(c, codes=codes.astype(c.codes.dtype), numbered=False)
        for c, codes in zip(columns, found.columns, strict=True)
    }
    return replace(table, columns=rows, rows=len(found.counts), counts=found.counts)


def all_told(prepared: Prepared) -> dict[str, Any]:
    """Everything that a release of a prepared table says, but for how long it took."""
    try:
        table, found, left_out = find_leaving_out(prepared, Watch(), Effort(rounds=3))
    except Unsatisfiable as error:
        return {"error": str(error)}
    masked = mask(table, found.recodings)
    return {
        "steps": found.steps,
        "rounds": found.rounds,
        "values": found.values,
        "worth": found.worth,
        "error": found.error,
        "alternatives": [other.steps for other in found.alternatives],
        "rows": arrow(masked.rows),
        "hidden": masked.hidden and arrow(masked.hidden),
        "before": [(e.value, e.groups, e.breaking, e.above) for e in exposures(prepared, worst=5)],
        "left_out": left_out and (left_out.count, list(left_out.differences())),
        "warnings": table.warnings,
    }


def same_counted(table: Table, policy: Policy) -> None:
    assert all_told(prepare(counted(table), policy)) == all_told(prepare(table, policy))


@pytest.mark.parametrize("seed", range(60))
def test_equal_rows_counted_once(seed: int) -> None:
    rng = random.Random(seed)
    case = random_case(rng)
    rows = [row for row in case.rows for _ in range(rng.choice([1, 1, 3]))]
    goal = {
        "utility": case.utility,
        "score": rng.choice(["paper", "conditional"]),
        "search": rng.choice(["greedy", "thorough"]),
    }
    share = rng.choice(["0", "1/5", "2/5"])
    policy = policy_of(case.attrs, case.templates, cls=case.cls, goal=goal, suppress_records=share)
    same_counted(read(table_of(rows, case.attrs))[0], policy)


@pytest.mark.slow
@pytest.mark.parametrize("share", ["0", "0.02"])
def test_a_census(share: str) -> None:
    over = ["Age", "Education", "Occupation", "Sex"]
    table = read(make("census", rows=20_000, seed=3).select([*over, "Marital", "Income"]))[0]
    assert counted(table).rows < table.rows
    anonymity = [{"over": over, "k": 20}]
    said = {"class": "Income", "keep": "*", "suppress_records": share, "anonymity": anonymity}
    same_counted(table, Policy.from_data(said))


def test_a_judge_draws_the_same_records() -> None:
    table = read(make("census", rows=5_000, seed=1).select(["Age", "Sex", "Marital", "Income"]))[0]
    policy = Policy.from_data(
        {"class": "Income", "keep": "*", "anonymity": [{"over": ["Age", "Sex"], "k": 5}]}
    )
    assert counted(table).rows < table.rows
    first, second = (Judge(prepare(t, policy)) for t in (table, counted(table)))
    for a, b in zip(first.leaves, second.leaves, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(first.classes, second.classes)
