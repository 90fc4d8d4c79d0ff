"""`risk` without a policy, as somebody at a terminal sees it."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import reticent
from at_hand import save
from naive.column_sets import naive_column_sets
from pages_at_hand import Page
from reticent.tables import singling
from terminal import answer, run

NAMES = ["Patient<b>", "Größe", "Zip", "Sex", "Ward"]


@pytest.fixture(autouse=True)
def data(work: Path) -> None:
    rng = random.Random(4)
    rows = [
        [f"P{i}", rng.choice(["", "170", "180"]), rng.randrange(40), rng.choice("MF"), "A"]
        for i in range(300)
    ]
    save("data.csv", NAMES, rows)
    save("wide.csv", [f"c{j}" for j in range(250)], [[0] * 250] * 4)


def test_json_is_what_counting_finds_wherever_rows_are_counted() -> None:
    found = answer("risk", "data.csv")
    rows = [line.split(",") for line in Path("data.csv").read_text().splitlines()[1:]]
    expected = naive_column_sets(dict(zip(NAMES, zip(*rows, strict=True), strict=True)))
    assert list(found) == ["rows", "columns", "sets"]
    assert found["sets"] == expected[:50]
    assert found["rows"] == 300
    height = found["columns"][1]
    assert height == {
        "name": "Größe", "distinct": 2, "missing": height["missing"], "unique_rows": 0
    }  # fmt: skip
    assert 0 < height["missing"] < 300
    assert answer("risk", "data.csv", "--engine", "duckdb") == found
    assert reticent.risk("data.csv").summary() == found
    chosen = answer("risk", "data.csv", "--column", "Zip", "--column", "Sex")
    assert {n for one in chosen["sets"] for n in one["columns"]} <= {"Zip", "Sex"}


def test_ids_that_do_not_fit_stay_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is the same; one whose values nearly all differ is counted after all."""
    text = Path("data.csv").read_text(encoding="utf-8")
    Path("nearly.csv").write_text(text.replace("P17,", "P18,"), encoding="utf-8")
    Path("lacking.csv").write_text(text.replace("P17,", ","), encoding="utf-8")
    monkeypatch.setattr(singling, "_MANY", 10)
    for name in ("data.csv", "nearly.csv", "lacking.csv"):
        assert answer("risk", name, "--engine", "duckdb") == answer("risk", name)
    alone = ("--column", "Patient<b>")
    assert answer("risk", "data.csv", *alone, "--engine", "duckdb") == answer(
        "risk", "data.csv", *alone
    )


def test_words_and_a_page_for_the_owner() -> None:
    said = run("risk", "data.csv", "-o", "page.html").stdout
    assert '"Patient<b>" tells every record from all others.' in said
    assert " are the only ones with their Größe, Zip and Sex." in said
    page = Page(Path("page.html").read_text(encoding="utf-8"))
    assert Path("page.html").stat().st_mode & 0o077 == 0
    assert page.text.startswith("What singles people out (private)")
    assert "are the only ones with their Größe, Zip and Sex." in page.text
    assert "Alone, these single nobody out: Größe," in page.text
    assert "reticent init DATA" in page.text
    assert "P17" not in page.text
    assert [tag for tag, _ in page.tags].count("b") == 2  # "Finds", "Groups": names are no markup
    assert not [link for link in page.links if not link.startswith("#")]


def test_a_page_beside_promises() -> None:
    Path("policy.toml").write_text(
        'drop = ["Patient<b>"]\nkeep = ["Ward"]\n[[anonymity]]\nover = ["Größe", "Zip", "Sex"]\nk = 7\n'
    )
    plain = answer("risk", "data.csv", "-p", "policy.toml")
    assert answer("risk", "data.csv", "-p", "policy.toml", "-o", "page.html") == plain
    page = Page(Path("page.html").read_text(encoding="utf-8"))
    assert "How far the promises are" in page.text
    assert "reticent release DATA" in page.text
    assert "asked 7 now 1 groups" in page.text.replace("at least ", "").replace("≥ ", "")
    assert "are the only ones with their Größe, Zip and Sex." in page.text


def test_long_lists_are_shortened() -> None:
    run("risk", "wide.csv", "-o", "page.html")
    text = Page(Path("page.html").read_text(encoding="utf-8")).text
    assert "No set of up to three columns singles out anybody." in text
    assert "And 50 more columns." in text
    assert "and 230 more columns" in run("risk", "wide.csv").stdout


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--column", "Zipp"], 'there is no column "Zipp"'),
        (["-o", "page.pdf"], "give a name that ends in .html"),
        (["-o", "data.html"], "the output exists already"),
        (["--previous", "a=b.csv"], "earlier releases are about promises"),
        (["-p", "policy.toml", "--column", "Zip"], "ask for a page"),
    ],
)
def test_what_is_refused(given: list[str], told: str) -> None:
    Path("data.html").write_text("mine")
    Path("policy.toml").write_text('keep = ["*"]\n')
    assert (
        told in json.loads(run("risk", "data.csv", *given, "--json", code=2).stdout)["problems"][0]
    )
    assert Path("data.html").read_text() == "mine"
    assert not Path("page.pdf").exists()
