"""`verify --original`: promises that count a dropped column, recounted by the owner."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reticent
from at_hand import rows_of, save
from terminal import answer, run

NAMES = ["Id", "Straße", "Job", "Geboren", "Größe", "Sex", "Ort", "Sick", "Class"]
POLICY = """\
class = "Class"
drop = ["Id", "Straße"]
keep = ["Ort"]
missing_values = ["?"]
[attributes.Job]
mask = "generalize"
taxonomy = { Alle = { "Büro" = ["Ärztin", "Clerk"], Feld = ["Maurer", "Bauer"] } }
[attributes.Geboren]
mask = "discretize"
range = ["1950-01-01", "2010-01-01"]
[attributes."Größe"]
mask = "discretize"
range = [0, 3]
round = true
[attributes.Sex]
mask = "suppress"
same = { d = ["divers"], w = ["weiblich"] }
[[anonymity]]
over = ["Job", "Geboren", "Größe", "Sex"]
of = ["Id"]
k = 6
[[anonymity]]
over = ["Job", "Geboren"]
of = ["Straße"]
k = 3
[[confidence]]
over = ["Job", "Sex"]
sensitive = { Sick = ["Flu"] }
at_most = 0.9
"""


def people(seed: int = 1, gaps: bool = True) -> list[list[str]]:
    rng = random.Random(seed)
    rows = []
    for i in range(400):
        job = rng.choice(["Ärztin", "Clerk", "Maurer", "Bauer"])
        born = f"{rng.randrange(1950, 2009)}-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}"
        high = f"{rng.randrange(150, 200) / 100:g}"
        sex = rng.choice(["m", "w", "weiblich", "d", "divers"] if i % 40 else ["selten"])
        row = [f"P{i // 2}", f"Weg {i % 37}", job, born, high, sex, rng.choice("AB")]
        row += [
            rng.choice(["Flu", "Cold"]),
            "ja" if (job in ("Clerk", "Bauer")) ^ (i % 9 == 0) else "nein",
        ]
        if gaps and i % 11 == 0:
            row[rng.choice([2, 3, 4, 5])] = rng.choice(["", "?"])
        rows.append(row)
    return rows


def told(text: str, *lines: str, promise: str = "") -> str:
    """A policy with further keys at the top."""
    Path("policy.toml").write_text("\n".join(lines) + "\n" + text + promise, encoding="utf-8")
    return "policy.toml"


@pytest.fixture(autouse=True)
def data(work: Path) -> None:
    save("people.csv", NAMES, people())
    told(POLICY)


def values(found: dict[str, Any]) -> list[Any]:
    return [one["after"] for one in found["templates"]]


@pytest.mark.parametrize(
    ("lines", "suffix"),
    [
        ((), ".csv"),
        pytest.param(('missing = "drop"',), ".csv", marks=pytest.mark.slow),
        pytest.param(('order = "input"',), ".csv", marks=pytest.mark.slow),
        (("suppress_records = 0.08",), ".csv"),
        pytest.param(
            ("suppress_records = 0.08", 'missing = "drop"'), ".csv", marks=pytest.mark.slow
        ),
        (('writing = { decimal = ",", delimiter = ";" }',), ".csv"),
        pytest.param((), ".parquet", marks=pytest.mark.slow),
        (("# years",), ".csv"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, tuple) else given,
)
def test_what_the_release_itself_found(lines: Sequence[str], suffix: str) -> None:
    told(POLICY, *lines)
    if lines == ("# years",):
        plain = 'mask = "discretize"\nrange = ["1950-01-01", "2010-01-01"]'
        told(POLICY.replace(plain, 'coarsen = "year"'))
    if any("suppress_records" in line for line in lines):  # leaving out pays without a class
        told(POLICY.replace('class = "Class"\n', "").replace('["Ort"]', '["Ort", "Class"]'), *lines)
    if suffix == ".parquet":
        frame = pl.read_csv("people.csv", infer_schema=False, encoding="utf8")
        born = pl.col("Geboren").str.to_date(strict=False)
        high = pl.col("Größe").cast(pl.Float64, strict=False)
        frame.with_columns(born, high).write_parquet("people.parquet")
    source, out = f"people{suffix}", f"out{suffix}"
    made = answer("release", source, "-p", "policy.toml", "-o", out)
    alone = answer("verify", out, "-p", "policy.toml", code=2)
    assert [one["holds"] for one in alone["templates"]] == [None, None, True]
    assert "original" not in alone
    found = answer("verify", out, "-p", "policy.toml", "--original", source)
    assert values(found)[2] == values(made)[2]
    if found["original"]["left_out"]:  # who of several alike is out, nobody knows
        assert all(a <= b for a, b in zip(values(found)[:2], values(made)[:2], strict=True))
    else:
        assert values(found) == values(made)
    assert found["holds"] is True
    assert found["original"]["matches"] is True
    left = made["left_out"]["records"] if made["left_out"] else 0
    assert found["original"]["left_out"] == left
    assert left or lines != ("suppress_records = 0.08",)
    frames: dict[str, Any] = {".parquet": pl.read_parquet}
    again = reticent.verify(out, "policy.toml", original=frames.get(suffix, str)(source))
    assert [f.holds for f in again.findings] == [True, True, True]


def test_a_stricter_promise_is_broken() -> None:
    run("release", "people.csv", "-p", "policy.toml", "-o", "out.csv")
    told(POLICY.replace("k = 6", "k = 200"))
    found = answer("verify", "out.csv", "-p", "policy.toml", "--original", "people.csv", code=1)
    assert [one["holds"] for one in found["templates"]] == [False, True, True]
    assert found["holds"] is False


def shuffled(column: int) -> None:
    """The original with one column in another order."""
    rows = rows_of("people.csv")
    cells = [row[column] for row in rows[1:]]
    random.Random(2).shuffle(cells)
    for row, cell in zip(rows[1:], cells, strict=True):
        row[column] = cell
    save("people.csv", rows[0], rows[1:])


def another() -> None:
    save("people.csv", NAMES, people(seed=9))


def shorter() -> None:
    save("people.csv", NAMES, people()[:-1])


def longer() -> None:
    save("people.csv", NAMES, [*people(), people()[0]])


def tampered() -> None:
    rows = rows_of("out.csv")
    rows[1][4] = "A" if rows[1][4] == "B" else "B"
    save("out.csv", rows[0], rows[1:])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        pytest.param(lambda: shuffled(2), "are none that the original", marks=pytest.mark.slow),
        pytest.param(another, "are none that the original gives", marks=pytest.mark.slow),
        pytest.param(shorter, "1 of 400 released rows are none that", marks=pytest.mark.slow),
        (longer, "1 record of the original are not released, where 0 may be left out"),
        (tampered, "1 of 400 released rows are none that the original gives"),
    ],
)
def test_what_does_not_belong_together(change: Any, says: str) -> None:
    run("release", "people.csv", "-p", "policy.toml", "-o", "out.csv")
    change()
    given = ("verify", "out.csv", "-p", "policy.toml", "--original", "people.csv")
    for more in ((), ("--skip-uncheckable",)):
        found = run(*given, *more, code=2)
        assert says in found.stdout + found.stderr
        assert "selten" not in found.stdout + found.stderr
    found = json.loads(run(*given, "--json", code=2).stdout)
    assert found["holds"] is None
    assert found["original"]["matches"] is False
    assert [one["holds"] for one in found["templates"]] == [None, None, True]


def _another_cell(rows: list[list[str]]) -> None:
    rows[1][4] = "Z"


def _places_changed(rows: list[list[str]]) -> None:
    other = next(row for row in rows[2:] if row[4] != rows[1][4] and row[:4] != rows[1][:4])
    rows[1][4], other[4] = other[4], rows[1][4]


@pytest.mark.parametrize("change", [_another_cell, _places_changed])
def test_an_engine_compares_kept_cells_too(change: Any) -> None:
    """They stand in no promise, and are published all the same."""
    run("release", "people.csv", "-p", "policy.toml", "-o", "out.csv")
    given = ["verify", "out.csv", "-p", "policy.toml", "--original", "people.csv"]
    given += ["--engine", "duckdb"]
    true = answer(*given)["original"]
    assert true["matches"] is True
    assert {*true["compared"]} == {*NAMES} - {"Id", "Straße"}
    assert true["not_compared"] == []
    rows = rows_of("out.csv")
    change(rows)
    save("out.csv", rows[0], rows[1:])
    found = run(*given, code=2).stdout
    assert "released rows are none that the original gives" in found
    assert json.loads(run(*given, "--json", code=2).stdout)["original"]["matches"] is False


def test_what_is_not_there_is_not_said_to_be_compared() -> None:
    run("release", "people.csv", "-p", "policy.toml", "-o", "out.csv")
    frame = pl.read_csv("out.csv", infer_schema=False).drop("Ort")
    verdict = reticent.verify(frame, "policy.toml", original="people.csv")
    said = verdict.original
    assert said is not None
    assert said.absent == ("Ort",)
    assert "as far as they show Job, " in str(verdict)


@pytest.mark.slow
def test_ids_that_changed_places_are_another_count() -> None:
    """Rows still match; whoever counts people finds others."""
    save("people.csv", NAMES, people(gaps=False))
    run("release", "people.csv", "-p", "policy.toml", "-o", "out/")
    rows = people(gaps=False)
    for row in rows:
        row[0] = "P0"
    save("people.csv", NAMES, rows)
    found = answer("verify", "out", "--original", "people.csv", code=1)
    assert [one["holds"] for one in found["templates"]] == [False, True, True]
    assert found["templates"][0]["after"] == 1


@pytest.mark.slow
def test_a_changed_folder_is_a_violation() -> None:
    run("release", "people.csv", "-p", "policy.toml", "-o", "out/")
    rows = rows_of("out/public/data.csv")
    rows[1][4] = "C"
    save("out/public/data.csv", rows[0], rows[1:])
    found = answer("verify", "out", "-p", "policy.toml", "--original", "people.csv", code=1)
    assert found["holds"] is False


@pytest.mark.slow
def test_an_original_that_no_memory_holds_and_one_that_lacks_a_column() -> None:
    run("release", "people.csv", "-p", "policy.toml", "-o", "out.csv")
    given = ("verify", "out.csv", "-p", "policy.toml", "--original")
    whole = answer(*given, "people.csv")
    assert answer(*given, "people.csv", "--engine", "duckdb") == whole
    save("short.csv", NAMES[:-1], [row[:-1] for row in people()])
    assert "Class" in run(*given, "short.csv", code=2).stderr


def test_only_some_of_several_that_look_alike_are_out() -> None:
    """Nobody can tell which: what is sure whoever it was is told, and nothing else."""
    rows = [[f"P{i}", "w", "A"] for i in range(10)] + [[f"Q{i}", "m", "A"] for i in range(30)]
    save("few.csv", ["Id", "Sex", "Ort"], rows)
    save("out.csv", ["Sex", "Ort"], [["*", "A"]] * 38)
    policy = 'drop = ["Id"]\nkeep = ["Ort"]\nsuppress_records = 0.05\n[[anonymity]]\nover = ["Sex"]\nof = ["Id"]\n'
    given = ("verify", "out.csv", "-p", "policy.toml", "--original", "few.csv")
    for k, code, after in [(38, 0, 38), (39, 2, None), (40, 2, None), (41, 1, 40)]:
        told(policy + f"k = {k}\n")
        found = answer(*given, code=code)
        assert found["templates"][0]["after"] == after
        assert found["original"]["left_out"] == 2
