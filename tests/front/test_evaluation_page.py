"""The page of `evaluate`: what it says of every kind of column, and that it is its owner's."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import reticent
from at_hand import mode, save
from pages_at_hand import Page
from terminal import run

ROOT = Path(__file__).parents[2]
NAMES = ["Job", "Town", "Age", "Born", "Sex", "Sick", "Buys"]
POLICY = """\
class = "Buys"
keep = ["Sex"]
missing = "value"
[attributes.Job]
mask = "generalize"
taxonomy = { ANY = { Low = ["Cook", "Clerk <b>"], High = ["Boss", "Chief"] } }
[attributes.Town]
mask = "suppress"
[attributes.Age]
mask = "discretize"
range = [0, 100]
[attributes.Born]
mask = "discretize"
[[anonymity]]
over = ["Job", "Age"]
k = 4
[[anonymity]]
over = ["Town"]
k = 4
[[anonymity]]
over = ["Job", "Born"]
k = 20
[[confidence]]
over = ["Job"]
sensitive = { Sick = ["y"] }
at_most = 0.9
"""


def rows(count: int = 240, seed: int = 3) -> list[list[str]]:
    draw = random.Random(seed)
    found = []
    for i in range(count):
        high, age, month = draw.random() < 0.4, draw.randint(20, 60), draw.randint(1, 9)
        job = draw.choice(["Boss", "Chief"] if high else ["Cook", "Clerk <b>"])
        town = "" if i % 40 == 0 else "Rare & far" if i == 7 else draw.choice(["Ulm", "Bonn"])
        born = f"{1990 - 10 * (town == 'Ulm') - draw.randint(0, 9)}-0{month}-15"
        buys = "yes" if high + (age > 40) + (born < "1980") >= 2 else "no"
        sick = draw.choice("ynnn")
        found.append([job, town, str(age), born, draw.choice("mf"), sick, buys])
    return found


@pytest.fixture(autouse=True)
def data(work: Path) -> None:
    save("data.csv", NAMES, rows())
    Path("policy.toml").write_text(POLICY, encoding="utf-8")


def evaluated(*given: object, policy: str = "policy.toml", code: int = 0) -> Any:
    run("release", "data.csv", "-p", policy, "-o", "out.csv", "--force")
    return run(
        "evaluate", "data.csv", "out.csv", "-p", policy, "-o", "page.html",
        "--classifiers", "tree", *given, code=code,
    )  # fmt: skip


def page() -> Page:
    text = Path("page.html").read_text(encoding="utf-8")
    found = Page(text)
    assert not {"script", "link", "iframe", "img", "object"} & {tag for tag, _ in found.tags}
    assert "default-src 'none'" in text
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", text)
    assert "nan" not in re.findall(r'(?:d|x|y|width)="([^"]*)"', text)
    assert not re.search(JARGON, found.text)
    return found


JARGON = r"\b(BE|AE|UE|SE|RE)\b"


def test_it_says_what_became_of_every_column_and_is_its_owners() -> None:
    said = evaluated("--json")
    told = json.loads(said.stdout)
    found = page()
    assert mode(Path("page.html")) == 0o600
    assert ("p", {"class": "kicker alert"}) in found.tags
    for sentence in (
        "Private: this page shows what stood in the table as it was.",
        "240 records beside their release. Every promise was recounted and holds.",
        "Every value can be told as before: Sex, Sick, Buys.",
        "4 different values were there; 2 groups are shown. It keeps 50 % of what it told.",
        "3 different values were there; 1 value is shown, and 110 records show nothing (46 %); "
        "6 records had no value, as one can see.",
        "Clerk <b>",
        "Mean before Mean after Spread before Spread after",
        "Afterwards an interval counts as its middle.",  # of dates
        "Afterwards an interval counts as the middle of the whole numbers in it.",
        "A decision tree that learns Sick from Job is right for",
        "Whoever knows Job can be at most",
        f"{told['relations']['related']} pairs of columns were related in the table.",
    ):
        assert sentence in found.text, sentence
    assert "<b>" not in Path("page.html").read_text(encoding="utf-8").replace("&lt;b&gt;", "")
    assert "days" in found.text  # how far dates spread
    share = told["loss"]["distortion"] / told["loss"]["worst"]
    assert f"this release hides {100 * share:.0f} % ;" in found.text
    before = evaluated("--json", "--force")
    assert json.loads(before.stdout) == told
    assert page().text == found.text


def test_pages_of_all_kinds_name_errors_by_words() -> None:
    """The papers' short names stay in JSON."""
    pages = [*(ROOT / "src/reticent").rglob("*.html")]
    assert len(pages) > 10
    for path in pages:
        text = re.sub(r"\{[%{#].*?[%}#]\}", " ", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert not re.search(JARGON, text), path


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("page.csv", "an evaluation is written as a page"),
        ("page", "an evaluation is written as a page"),
        ("there.html", "the output exists already"),
        ("no/page.html", "there is no folder no"),
        ("folder.html", "this is a folder"),
        ("data.html", "part of an input"),
    ],
)
def test_a_place_that_cannot_be_is_refused_before_any_work(name: str, said: str) -> None:
    Path("there.html").write_text("mine", encoding="utf-8")
    Path("folder.html").mkdir()
    save("data.html", NAMES, rows(20))
    original = "data.html" if name == "data.html" else "data.csv"
    given = ["-p", "policy.toml", "-o", name] + (["--force"] if name == "data.html" else [])
    found = run("evaluate", original, "data.csv", *given, code=2)
    assert said in found.stderr
    assert Path("there.html").read_text(encoding="utf-8") == "mine"


def variant(old: str, new: str) -> None:
    text = Path("policy.toml").read_text(encoding="utf-8")
    assert old in text
    Path("policy.toml").write_text(text.replace(old, new), encoding="utf-8")


def test_without_a_class_nothing_is_learnt() -> None:
    variant('class = "Buys"\nkeep = ["Sex"]', 'keep = ["Sex", "Buys"]')
    evaluated()
    assert "names no column that the data are meant to predict" in page().text


def test_what_the_policy_makes_of_cells_is_said() -> None:
    variant('mask = "suppress"', 'mask = "suppress"\nsame = { Ulm = ["Bonn"] }')
    evaluated()
    assert "cells of Town are compared as the policy takes them in" in page().text.replace("C", "c")


def test_records_that_are_left_out_are_told() -> None:
    lines = [row for row in rows() if row[0] != "Chief"] + [["Chief", *rows()[0][1:]]] * 2
    save("data.csv", NAMES, lines)
    policy = """\
keep = "*"
suppress_records = 0.1
[attributes.Job]
mask = "generalize"
taxonomy = { ANY = { Low = ["Cook", "Clerk <b>"], Boss = {}, Chief = {} } }
[[anonymity]]
over = ["Job"]
k = 4
"""
    Path("policy.toml").write_text(policy, encoding="utf-8")
    said = evaluated("--json")
    told = json.loads(said.stdout)
    assert "left out of the release" in said.stderr
    assert (told["rows"], told["left_out"]) == (len(lines), 2)
    kept = len(lines) - 2
    assert f"{kept} records beside their release. 2 records are left out of it," in page().text
    assert f"before, too, is of the {kept} that are released. Every promise" in page().text
    assert (
        f"{kept} records, compared with"
        in run(
            "evaluate", "data.csv", "out.csv", "-p", "policy.toml", "--classifiers", "tree"
        ).stdout
    )


def test_middles_before_are_of_the_records_that_are_released() -> None:
    """And the page says what the mean of the whole table was."""
    ages = [20 + i % 10 for i in range(60)] + [90]
    save("data.csv", ["Age", "Job"], [[str(age), "b" if age == 90 else "a"] for age in ages])
    Path("policy.toml").write_text(
        "suppress_records = 0.1\nkeep = '*'\n[attributes.Age]\nmask = 'discretize'\n"
        "intervals = [20, 24, 30, 91]\n[[anonymity]]\nover = ['Age']\nk = 10\n"
    )
    found = evaluated("--json")
    text = page().text
    assert json.loads(found.stdout)["left_out"] == 1
    assert "mean 24.5 24.5 " in text
    assert f"of the whole table the mean was {sum(ages) / len(ages):.2f}." in text


def test_how_sure_one_is_of_those_who_have_it_falls_from_all_to_its_share(work: Path) -> None:
    """Alone in a group before, all in one group after."""
    ills = ["HIV"] * 20 + ["Flu"] * 100 + ["Cold"] * 80
    save("data.csv", ["A", "D"], [[f"a{i}", ill] for i, ill in enumerate(ills)])
    Path("policy.toml").write_text(
        '[attributes.A]\nmask = "suppress"\n[[confidence]]\nover = ["A"]\n'
        'sensitive = { D = ["HIV"] }\nat_most = 0.2\n'
    )
    said = evaluated()
    assert re.search(r"on average, of who has one +100\.0% +20\.0%", said.stdout), said.stdout
    assert re.search(
        r"Of those who do have one, somebody can be 20\.0 % sure on average; in the table as it "
        r"was, 100\.0 %\.",
        page().text,
    )
    assert "likeliest" not in said.stdout + page().text
    assert "commonest value is right for" in page().text


def test_from_python(work: Path) -> None:
    run("release", "data.csv", "-p", "policy.toml", "-o", "first")
    found = reticent.evaluate(
        "data.csv", "first", "policy.toml", classifiers=["tree"], output=work / "page.html"
    )
    assert [column.name for column in found.columns] == ["Job", "Town", "Age", "Born"]
    assert found.untouched == ("Sex", "Sick", "Buys")
    assert "Private" in page().text


def test_odd_columns_make_sound_pages(work: Path) -> None:
    """One value, none at all, numbers that no float can tell apart or square, times, long texts."""
    draw = random.Random(2)
    count = 60
    table = pa.table(
        {
            "one": [5] * count,
            "gaps": pa.nulls(count, pa.string()),
            "huge": [2**62 + draw.randrange(9) for _ in range(count)],
            "big": [draw.choice([1e300, -1e300, 5.0]) for _ in range(count)],
            "time": [datetime(2020, 1, 1, draw.randrange(24)) for _ in range(count)],
            "text": [draw.choice(["<script>", "\u202eabc", "x" * 300]) for _ in range(count)],
        }
    )
    masks = dict.fromkeys(table.column_names, "discretize") | dict.fromkeys(
        ["gaps", "text"], "suppress"
    )
    policy = {
        "missing": "value",
        "attributes": {name: {"mask": mask} for name, mask in masks.items()},
        "anonymity": [{"over": [name], "k": 3} for name in masks],
    }
    released = reticent.release(table, reticent.Policy.from_data(policy))
    found = reticent.evaluate(
        table, released.table, reticent.Policy.from_data(policy), output=work / "page.html"
    )
    assert [column.name for column in found.columns if not column.shows] == ["one", "gaps"]
    assert "Shows nothing" not in page().text


def wide(columns: int, released: Sequence[str]) -> None:
    """A table of many columns, of which only some can show anything."""
    draw = random.Random(1)
    names = [f"c{i}" for i in range(columns)]
    lines = []
    for _ in range(60):
        kind = draw.choice("ab")
        lines.append([kind if name in released else str(draw.random()) for name in names])
    save("data.csv", names, lines)
    masks = "".join(f'[attributes.{name}]\nmask = "suppress"\n' for name in names)
    over = ", ".join(f'"{name}"' for name in names)
    Path("policy.toml").write_text(f"{masks}[[anonymity]]\nover = [{over}]\nk = 5\n")


def test_columns_that_say_nothing_are_quiet_together() -> None:
    wide(60, ["c3", "c4"])
    said = evaluated()
    text = page().text
    assert "Show nothing, as all records look the same there: c0, c1, c2 and 55 more" in text
    assert "Who knows c0, c1" in said.stdout
    assert max(map(len, said.stdout.splitlines())) < 300
    assert "Finding people by c0, c1, c2 and 57 more" in text
    assert Path("page.html").stat().st_size < 60_000


ITEMS = ("rye bread", "skimmed milk", "gouda", "green tea")


def test_baskets_have_a_page_that_names_no_item(work: Path) -> None:
    draw = random.Random(4)
    pairs = [(f"id{i}", name) for i in range(60) for name in ITEMS if draw.random() < 0.5]
    save("in.csv", ["basket", "what"], [*map(list, pairs), ["id7", "zither"]])
    Path("p.toml").write_text("format = 'long'\nprivate = []\nk = 5\np = 2\n")
    given = ["in.csv", "shown", "-p", "p.toml", "-o", "page.html"]
    run("transactions", "release", given[0], *given[2:4], "-o", "shown")
    told = json.loads(run("transactions", "evaluate", *given, "--json").stdout)
    found = page()
    assert mode(work / "page.html") == 0o600
    before, after = (told["occurrences"][side] for side in ("before", "after"))
    assert f"{before:,} before, {after:,} after: " in found.text
    assert "every item of every risky set" in found.text
    assert not [item for item in (*ITEMS, "zither") if item in found.text]
    again = run("transactions", "evaluate", *given, code=2)
    assert "the output exists already" in again.stderr
