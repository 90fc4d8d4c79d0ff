"""Records that stand alone by what no promise covers: counted anew by pandas, wherever rows stand."""

from __future__ import annotations

import datetime
import json
import math
import random
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import reticent
from pages_at_hand import Page
from reticent.data import collapse
from reticent.privacy import singled, verify
from reticent.privacy.singled import SingledOut
from reticent.sources import engines
from terminal import run

ROLES = {"mask": ["Q", "R"], "keep": ["Ward", "Hours"], "sensitive": ["Test"], "class": ["C"]}


def policy(*, sensitive: bool = True, class_: bool = True, keep: bool = True) -> dict[str, Any]:
    told: dict[str, Any] = {"anonymity": [{"over": ["Q", "R"], "k": 2}], "drop": []}
    promise = {"over": ["Q"], "sensitive": {"Test": "*"}, "at_most": "1/1", "allow_absent": True}
    told |= {"confidence": [promise]} if sensitive else {}
    told |= {"class": "C"} if class_ else {}
    told["keep"] = ROLES["keep"] if keep else []
    given = {"keep": keep, "sensitive": sensitive, "class": class_}
    told["drop"] = [name for role, there in given.items() if not there for name in ROLES[role]]
    return told


def drawn(rng: random.Random, rows: int, *, gaps: bool = True) -> pd.DataFrame:
    gap = [""] * gaps
    wards = rng.choice([3, 20, 10 * rows])
    return pd.DataFrame(
        {
            "Ward": [f"w{rng.randrange(wards)}" for _ in range(rows)],
            "Q": [rng.choice("abcd") for _ in range(rows)],
            "Test": [rng.choice(["x", "y", *gap]) for _ in range(rows)],
            "R": [rng.choice("ef") for _ in range(rows)],
            "Hours": [rng.choice([*"12345", *gap]) for _ in range(rows)],
            "C": [rng.choice("jn") for _ in range(rows)],
        }
    )


def alone(table: pd.DataFrame, names: Sequence[Any]) -> int:
    """From the definition."""
    rows = [tuple(row) for row in table[list(names)].fillna("").astype(str).to_numpy()]
    return sum(rows.count(row) == 1 for row in rows)


def check(found: SingledOut | None, table: pd.DataFrame) -> None:
    unmasked = [name for name in table.columns if name not in ROLES["mask"]]
    keys = [name for name in unmasked if name != "Test"]
    if not unmasked:
        assert found is None
        return
    assert found is not None
    assert [*found.unmasked] == unmasked
    assert found.records == alone(table, unmasked)
    assert [*found.keys] == keys
    assert found.beside_masked == (alone(table, [*keys, *ROLES["mask"]]) if keys else 0)
    if found.without is not None:
        others = [] if found.records * 20 > len(table) else ROLES["mask"]
        left = {
            name: alone(table, [*(n for n in found.blamed if n != name), *others])
            for name in found.blamed
        }
        assert found.without.records == min(left.values()) == left[found.without.column]


@pytest.mark.parametrize("seed", range(8))
def test_a_release_and_its_verifier_count_what_pandas_counts(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    table = drawn(rng, rng.choice([8, 30, 90]))
    shown = [rng.random() < 0.7 for _ in range(3)]
    told = policy(sensitive=shown[0], class_=shown[1], keep=shown[2])
    told["order"] = rng.choice(["sorted", "input"])
    table.to_csv(tmp_path / "in.csv", index=False)
    suffix = rng.choice([".csv", ".parquet", ".arrow"])
    release = reticent.release(tmp_path / "in.csv", told, output=tmp_path / f"out{suffix}")
    framed = reticent.release(table, told)
    written = framed.table
    if suffix == ".csv":
        written = pd.read_csv(tmp_path / "out.csv", dtype=str, keep_default_na=False)
    proof = reticent.verify(tmp_path / f"out{suffix}", told)
    for found in (release.proof, framed.proof, proof):
        check(found.singled_out, written)
    assert {*release.proof.warnings} <= {*proof.warnings}


def spied(count: Callable[..., int], asked: list[Any]) -> Callable[..., int]:
    def counted(*words: Any, **more: Any) -> int:
        asked.append(words)
        return count(*words, **more)

    return counted


@pytest.mark.parametrize("seed", range(8))
def test_the_same_numbers_where_rows_do_not_fit(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(100 + seed)
    table, told = drawn(rng, 60), policy(sensitive=rng.random() < 0.5)
    if rng.random() < 0.5:
        cells = pa.table(table.drop(columns=["Ward", "Hours"]))
        odd = [rng.choice(["", None, "w", str(i)]) for i in range(len(table))]
        zeros = [rng.choice([None, math.nan, 0.0, -0.0, 1.5]) for _ in odd]
        cells = cells.append_column("Ward", pa.array(odd)).append_column("Hours", pa.array(zeros))
        pq.write_table(cells, data := tmp_path / "in.parquet")
    else:
        table.to_csv(data := tmp_path / "in.csv", index=False)
    told["suppress_records"] = rng.choice([0, 0.1])
    suffix = rng.choice([".csv", ".parquet", ".arrow"])
    here = reticent.release(data, told, output=tmp_path / f"here{suffix}", engine="memory")
    monkeypatch.setattr(engines, "_SAMPLE", 4)  # kept columns stay where they are
    monkeypatch.setattr("reticent.data.columns.LONG", 0)
    asked: list[Any] = []
    for room, counter in ((verify, "alone"), (engines.RowSource, "alone")):
        monkeypatch.setattr(room, counter, spied(getattr(room, counter), asked))
    there = reticent.release(data, told, output=tmp_path / f"there{suffix}", engine="duckdb")
    assert asked  # of what was written
    asked.clear()
    verified = reticent.verify(tmp_path / f"there{suffix}", told, engine="duckdb")
    assert asked  # of where it stands
    inside = reticent.verify(tmp_path / f"here{suffix}", told)
    assert here.proof.singled_out is not None
    for proof in (there.proof, verified, inside):
        assert proof.singled_out is not None
        assert proof.singled_out == here.proof.singled_out
    framed = reticent.release(data, told, engine="duckdb")
    assert framed.proof.singled_out == there.proof.singled_out


@pytest.mark.parametrize(("rows", "lone", "warned"), [(40, 2, False), (40, 3, True), (39, 2, True)])
def test_one_in_twenty_is_not_yet_many(rows: int, lone: int, warned: bool) -> None:
    table = pd.DataFrame({"Q": ["a"] * rows, "N": [*map(str, range(lone)), *["x"] * (rows - lone)]})
    release = reticent.release(table, {"keep": ["N"], "anonymity": [{"over": ["Q"], "k": 2}]})
    assert release.proof.singled_out is not None
    assert release.proof.singled_out.records == lone
    assert bool(release.warnings) == warned


def test_a_class_alone_can_single_everybody_out() -> None:
    rows = 20
    table = pd.DataFrame({"Q": ["a", "b"] * 10, "C": [f"c{i}" for i in range(rows)]})
    release = reticent.release(table, {"class": "C", "anonymity": [{"over": ["Q"], "k": 2}]})
    [said] = release.warnings
    assert said == (
        '20 of 20 records (100 %) differ from all others in "C"; beside what the masked columns '
        "show, 20 (100 %) do. No promise covers columns released as they are: whoever knows what "
        "stands there finds one record. Mask or drop it, or make its values coarser."
    )


def test_the_column_that_helps_most_is_named() -> None:
    table = pd.DataFrame(
        {
            "Q": ["a", "b"] * 50,
            "Ward": [f"w{i // 2 % 4}" for i in range(100)],
            "Number": [str(i) for i in range(100)],
        }
    )
    told = {"keep": "*", "anonymity": [{"over": ["Q"], "k": 2}]}
    [said] = reticent.release(table, told).warnings
    assert said.endswith('coarser; without "Number", 0 would be left.')
    table["Second"] = table["Number"]
    [said] = reticent.release(table, told).warnings
    assert said.endswith('coarser; without "Ward", 100 would still be left.')


def test_nothing_is_said_where_everything_is_masked() -> None:
    table = pd.DataFrame({"Q": ["a", "b"] * 5})
    release = reticent.release(table, {"anonymity": [{"over": ["Q"], "k": 2}]})
    assert release.proof.singled_out is None
    assert release.facts().public["singled_out"] is None
    assert not release.warnings


def test_many_columns_are_counted_too(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(5)
    columns = [[rng.randrange(9) for _ in range(200)] for _ in range(3)]
    table = pd.DataFrame(columns).T.astype(str)
    codes = [table[name].astype(int).to_numpy() for name in table.columns]
    once = collapse.alone(codes, [9] * 3)
    assert once == alone(table, [*table.columns])
    wide = collapse.alone(codes, [2**30] * 3)  # more than a word holds
    assert wide == once


def test_no_cell_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cells = [f"geheim{i}" for i in range(40)]
    table = pd.DataFrame({"Q": ["a", "b"] * 20, "Ward": cells, "Test": ["x", *["y"] * 39]})
    table.to_csv("in.csv", index=False)
    Path("p.toml").write_text(
        'keep = ["Ward"]\nanonymity = [{ over = ["Q"], k = 2 }]\n'
        'confidence = [{ over = ["Q"], sensitive = { Test = ["x"] }, at_most = 0.5 }]\n'
    )
    said = run("release", "in.csv", "-p", "p.toml", "-o", "out", "--json")
    told = json.loads(said.stdout)
    expected = {
        "unmasked": {"columns": ["Ward", "Test"], "records": 40},
        "beside_masked": {"columns": ["Ward"], "records": 40},
    }
    assert told["singled_out"] == expected
    [warning] = told["warnings"]
    assert f"Warning: {warning}" in said.stderr
    report = Path("out/public/report.json").read_text()
    assert json.loads(report)["singled_out"] == expected
    pages = [Path(f"out/{side}/report.html").read_text() for side in ("public", "private")]
    for page in (report, said.stdout, said.stderr, *pages):
        assert "geheim" not in page
    for page in pages:
        text = Page(page).text
        assert text.count(warning.partition(" No promise")[0]) == 1  # and not as a fact again
        assert warning in text
    assert warning in run("verify", "out", "-p", "p.toml").stderr
    assert "nearly every row" not in said.stderr
    assert "nearly every row" in run("policy", "check", "p.toml", "in.csv").stderr


def test_what_is_no_warning_is_told_all_the_same(tmp_path: Path) -> None:
    table = pd.DataFrame({"Q": ["a", "b"] * 20, "Ward": ["u", *["v"] * 39]})
    told = {"keep": ["Ward"], "anonymity": [{"over": ["Q"], "k": 2}]}
    release = reticent.release(table, told, output=tmp_path / "out")
    assert not release.warnings
    for side in ("public", "private"):
        text = Page((tmp_path / "out" / side / "report.html").read_text()).text
        assert (
            '1 of 40 records (2.5 %) differs from all others in "Ward"; beside what the masked '
            "columns show, 1 (2.5 %) does. No promise covers that."
        ) in text


def test_columns_of_a_kind_that_no_engine_carries_are_counted(tmp_path: Path) -> None:
    hours = pa.array([datetime.time(i // 2) for i in range(40)])
    cells = {"Q": ["a", "b"] * 20, "Hour": hours, "Kind": pa.array(["x", None] * 20)}
    cells["Kind"] = cells["Kind"].dictionary_encode()
    told = {"keep": "*", "anonymity": [{"over": ["Q"], "k": 2}]}
    reticent.release(pa.table(cells), told, output=tmp_path / "out.parquet")
    found = [
        reticent.verify(tmp_path / "out.parquet", told, engine=engine).singled_out
        for engine in ("memory", "duckdb")
    ]
    assert found[0] == found[1]
    assert found[0] is not None
    assert found[0].records == 40


def test_a_database_counts_the_same(tmp_path: Path) -> None:
    rows = [
        ("ab"[i % 2], [None, 0.5, 1.5, float(i)][i % 4], ["", None, "x"][i % 3], i % 5)
        for i in range(40)
    ]
    with closing(sqlite3.connect(tmp_path / "t.db")) as database:
        database.execute("CREATE TABLE t (Q text, A real, B text, C integer)")
        database.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
        database.commit()
    told = {"keep": "*", "anonymity": [{"over": ["Q"], "k": 2}]}
    there = reticent.verify(f"sqlite:///{tmp_path}/t.db", told, table="t").singled_out
    assert there == reticent.verify(pd.DataFrame(rows, columns=[*"QABC"]), told).singled_out
    assert there is not None
    assert there.records == alone(pd.DataFrame(rows, dtype=object), [1, 2, 3]) > 0


def test_naming_a_column_is_left_alone_where_it_is_dear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(singled, "_CHEAP", 10)
    table = pd.DataFrame({"Q": ["a"] * 9, "A": [*"123456789"], "B": [*"123456789"]})
    [said] = reticent.release(table, {"keep": "*", "anonymity": [{"over": ["Q"], "k": 2}]}).warnings
    assert said.endswith("Mask or drop one of them, or make its values coarser.")
