"""Spreadsheets at every door: whatever reads a table reads one of its sheets."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from at_hand import save
from entries_at_hand import NAMES, POLICY, people
from places_at_hand import GIVEN
from reticent import entries, joint, transactions
from spreadsheets_at_hand import a_workbook
from terminal import run


def rows_in(path: Path) -> list[list[Any]]:
    with path.open(newline="", encoding="utf-8") as file:
        return [[int(c) if c.isdigit() else c for c in row] for row in csv.reader(file)]


@pytest.mark.slow
def test_tables_that_join_in_one_workbook(work: Path) -> None:
    given = GIVEN / "joined"
    sheets = {name: rows_in(given / f"t{name[1]}.csv") for name in ("T1", "T2", "T3")}
    a_workbook(work / "all.xlsx", sheets)
    text = (given / "schema.toml").read_text()
    for name in sheets:
        (work / f"t{name[1]}.csv").write_bytes((given / f"t{name[1]}.csv").read_bytes())
    (work / "plain.toml").write_text(text)
    for name in sheets:
        text = text.replace(f'path = "t{name[1]}.csv"', f'path = "all.xlsx"\nsheet = "{name}"')
    (work / "schema.toml").write_text(text)
    for schema in ("plain", "schema"):
        run("tree", "train", f"{schema}.toml", "-o", schema, "-q")
    trees = [run("tree", "show", name).stdout for name in ("plain", "schema")]
    assert trees[0] == trees[1]


@pytest.mark.slow
def test_entries_and_later_checks(work: Path) -> None:
    table: list[list[Any]] = [NAMES, *map(list, people())]
    save("in.csv", NAMES, people())
    a_workbook(work / "in.xlsx", {"One": table, "Two": [["x"], [1]]})
    (work / "p.toml").write_text(entries.Policy.of(POLICY).canonical())
    run("entries", "release", "in.csv", "-p", "p.toml", "-o", "a.csv", "-q")
    run("entries", "release", "in.xlsx", "--sheet", "One", "-p", "p.toml", "-o", "b.csv", "-q")
    assert (work / "a.csv").read_text() == (work / "b.csv").read_text()
    refused = run("entries", "release", "in.xlsx", "-p", "p.toml", "-o", "c.csv", code=2)
    assert "2 sheets that hold something" in refused.stderr
    assert entries.verify("b.csv", "p.toml", original="in.csv").holds


def test_baskets(work: Path) -> None:
    lines = [["basket", "item"], *([f"b{i // 2}", "xy"[i % 2]] for i in range(12))]
    save("in.csv", lines[0], lines[1:])
    a_workbook(work / "in.xlsx", {"One": lines})
    (work / "p.toml").write_text('format = "long"\nprivate = []\nk = 2\n')
    (work / "lines.toml").write_text("private = []\nk = 2\n")
    run("transactions", "release", "in.csv", "-p", "p.toml", "-o", "a.csv", "-q")
    run("transactions", "release", "in.xlsx", "-p", "p.toml", "-o", "b.csv", "-q")
    assert (work / "a.csv").read_text() == (work / "b.csv").read_text()
    assert transactions.verify("b.csv", "p.toml").holds
    (work / "in.dat").write_bytes((work / "in.xlsx").read_bytes())
    refused = run("transactions", "release", "in.dat", "-p", "lines.toml", "-o", "c.dat", code=2)
    assert "this is a spreadsheet (.xlsx), and no text" in refused.stderr


@pytest.mark.slow
def test_owners(work: Path) -> None:
    own = [[["Id", "Job"]], [["Id", "Sex"]]]
    for i in range(16):
        own[0].append([f"p{i}", ("nurse", "cook")[i % 2]])
        own[1].append([f"p{i}", "mMff"[i % 4]])
    data = {
        "a": a_workbook(work / "a.xlsx", {"One": own[0]}),
        "b": a_workbook(work / "b.xlsx", {"One": own[1]}),
    }
    policy = {
        "id": "Id", "owners": {"a": {"columns": ["Job"]}, "b": {"columns": ["Sex"]}},
        "anonymity": [{"over": ["Job", "Sex"], "k": 4}],
        "attributes": {
            "Job": {"mask": "suppress"}, "Sex": {"mask": "suppress", "same": {"M": ["m"]}},
        },
        "goal": {"search": "greedy"},
    }  # fmt: skip
    released = joint.integrate(policy, data)
    assert all(one.proof.holds for one in released.values())
    assert "m" not in {cell for one in released.values() for cell in one.table["Sex"].to_pylist()}
