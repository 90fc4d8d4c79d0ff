"""Results say themselves: as their commands do, and in notebooks as markup that is safe and short."""

from __future__ import annotations

import ast
import inspect
import re
import time
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reticent
from reticent import entries, jointree, transactions
from reticent.releases.spoken import ComposedText, Spoken, TextTable, markup
from terminal import run

SRC = Path(reticent.__file__).parent
# Public classes that are no result: means, failures, and what is asked rather than read.
NO_RESULT = {
    "Broken", "InputError", "ReticentError", "Unsatisfiable", "Reading", "Watch",
    "Language", "LocalIndex", "ProfileNode", "RemoteEngine", "SearchEngine",
}  # fmt: skip


OURS = {
    found[1]: f"reticent.{'.'.join(path.relative_to(SRC).with_suffix('').parts)}"
    for path in SRC.rglob("*.py")
    for found in re.finditer(r"^class (\w+)", path.read_text("utf-8"), re.MULTILINE)
}  # a class name stands for one thing


@pytest.mark.parametrize("door", ["", "entries", "joint", "jointree", "search", "transactions"])
def test_every_public_result_says_itself(door: str) -> None:
    room = import_module(f"reticent.{door}".rstrip("."))
    public = [getattr(room, name) for name in room.__all__ if name not in NO_RESULT]
    results = {one for one in public if inspect.isclass(one)}
    for does in (one for one in public if inspect.isfunction(one)):
        for name in re.findall(r"\w+", str(inspect.signature(does).return_annotation)):
            if name in OURS and name not in NO_RESULT:
                results.add(getattr(import_module(OURS[name]), name))
    assert [one for one in results if not issubclass(one, Spoken)] == []
    assert len(results) > 1


class Seen(HTMLParser):
    """What a browser would show, and whether every element ends."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.shown, self.tags, self.open = "", set[str](), list[str]()
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        self.open.append(tag)
        assert {name for name, _ in attrs} <= {"style", "colspan"}
        assert "color" not in str(attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.shown += data


def seen(markup: str) -> Seen:
    found = Seen(markup)
    assert not found.open
    assert found.tags <= {
        "b", "details", "div", "p", "pre", "summary", "table", "tbody", "td", "th", "thead", "tr",
    }  # fmt: skip
    return found


@settings(max_examples=40)
@given(
    st.lists(
        st.one_of(
            st.text(max_size=30),
            st.lists(st.tuples(st.text(), st.integers()), max_size=3).map(
                lambda rows: TextTable(["<a>", "b"], rows)
            ),
        )
    )
)
def test_markup_shows_all_words_and_means_none(parts: list[str]) -> None:
    said = ComposedText(parts)
    assert said == "\n".join(parts)
    shown = seen(markup(said)).shown.replace("\r", "\n")
    for part in parts:
        words = part.replace("\x00", "�").replace(",", "").replace("\r", "\n").split()
        if len(part) < 100 and part.count("\n") + part.count("\r") < 5 and len(parts) < 5:
            assert all(word in shown.replace(",", "").replace("\x00", "�") for word in words)


def test_more_lines_around_a_table_leave_it_one() -> None:
    one = TextTable(["a"], [["b"]])
    below: Any = one + "\nmore"
    assert below == "a\nb\nmore"
    assert below.parts == (one, "more")
    above: Any = "before\n" + one
    assert above == "before\na\nb"
    assert above.parts == ("before", one)
    assert type(one + "") is TextTable
    for beside in (one + " beside", "beside " + one):
        assert type(beside) is str


@pytest.mark.parametrize("path", sorted(SRC.rglob("text.py")), ids=lambda path: path.parent.name)
def test_whoever_makes_tables_composes_them(path: Path) -> None:
    """Else notebooks show their lines as plain text."""
    for function in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(function, ast.FunctionDef):
            words = ast.unparse(function)
            makes = re.search(r"\b(columns_)?table\(", words)
            assert not (makes and r"'\n'.join(" in words), f"{function.name}: composed(lines)"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said_by(*given: str) -> str:
    return run(*given).stdout.rstrip("\n")


def test_python_says_of_tables_what_the_terminal_does(here: Path) -> None:
    rows = [f"{20 + i % 30},{'<b>mf'[i % 2]},{i % 3}\n" for i in range(60)]
    Path("t.csv").write_text("Age,<Sex>,Ill\n" + "".join(rows))
    Path("p.toml").write_text(
        '[[anonymity]]\nover = ["Age", "<Sex>"]\nk = 5\n'
        '[[confidence]]\nover = ["Age", "<Sex>"]\nsensitive = { Ill = ["2"] }\nat_most = 0.9\n'
    )
    found = reticent.release("t.csv", "p.toml", output="out")
    results = {
        ("release", "t.csv", "-p", "p.toml", "-o", "out", "--force"): found,
        ("verify", "out"): reticent.verify("out", "p.toml"),
        ("risk", "t.csv", "-p", "p.toml"): reticent.risk("t.csv", "p.toml"),
        ("evaluate", "t.csv", "out", "-p", "p.toml"): reticent.evaluate("t.csv", "out", "p.toml"),
    }
    for command, result in results.items():
        assert str(result) == said_by(*command)
        assert type(str(result)) is str
        page = seen(result._repr_html_())
        assert "Age, <Sex>" in page.shown
        assert ("table" in page.tags) == (command[0] != "risk")
        assert len(repr(result)) < 130
        assert "\n" not in repr(result)
    assert found.proof == results["verify", "out"]
    assert repr(found).startswith("<Release: 60 rows released after ")
    policy = reticent.Policy.load("p.toml")
    assert str(reticent.Policy.parse(str(policy))) == str(policy)
    assert repr(policy) == "<Policy: p.toml>"
    assert "is shared by at least 5 records" in seen(policy._repr_html_()).shown


def test_python_says_of_other_kinds_what_the_terminal_does(here: Path) -> None:
    Path("b.csv").write_text("a b\na s\nb\nc s\n" * 3 + "rare s\n")
    Path("b.toml").write_text('private = ["s*"]\nk = 2\np = 1\nh = 0.6\n')
    Path("e.csv").write_text("Job,Ill\n" + "cook,yes\n" * 4 + "clerk,no\n" * 4)
    Path("e.toml").write_text(
        'conditions = ["Job"]\nsensitive = "Ill"\nrequests = [1]\nmin_support = 1\n'
        'min_confidence = 0.5\nmay_hide = ["sensitive-of-others"]\n'
    )
    for group, room in (("transactions", transactions), ("entries", entries)):
        files = (f"{group[0].replace('t', 'b')}.csv", f"{group[0].replace('t', 'b')}.toml")
        for does in ("release", "risk"):
            where = {"output": f"{group}-out"} if does == "release" else {}
            result = getattr(room, does)(*files, **where)
            given = ("-o", f"{group}-out", "--force") if where else ()
            assert str(result) == said_by(group, does, files[0], "-p", files[1], *given)
            seen(result._repr_html_())
            assert len(repr(result)) < 130
        seen(room.Policy.load(files[1])._repr_html_())


def test_a_tree_over_tables_says_itself() -> None:
    tables = {
        "visit": pa.table({"ward": ["a", "a", "b", "b"], "ill": ["yes", "yes", "no", "no"]}),
        "ward": pa.table({"name": ["a", "a", "b"], "<beds>": [30, 40, 8]}),
    }
    schema = jointree.Schema.from_data(
        {
            "class": "visit.ill", "tables": {"visit": {}, "ward": {}},
            "joins": [{"left": "visit.ward", "right": "ward.name"}],
        }
    )  # fmt: skip
    found = jointree.train(schema, tables)
    assert "<beds>" in seen(found._repr_html_()).shown
    assert "30" not in str(found).partition("first questions")[2]  # values are for who asks
    assert "ward.<beds> ≤ 8: no (2)" in seen(found.tree._repr_html_()).shown
    assert str(jointree.classify(found, schema, tables)).startswith("4 records; 4 join")
    assert str(jointree.Schema.parse(str(schema))) == str(schema)
    seen(schema._repr_html_())


def test_what_is_long_is_short_in_a_notebook() -> None:
    names = [f"column {i}" for i in range(300)]
    said = ComposedText(
        [f"Of {', '.join(names)}.", "", TextTable(["column"], [[n] for n in names])]
    )
    assert len(markup(said)) < 3000
    assert "and 275 more" in markup(said)
    assert "… and 275 more lines" in markup("\n".join(names))
    policy = reticent.Policy.from_data({"anonymity": [{"over": names, "k": 2}], "keep": names[:1]})
    assert len(seen(policy._repr_html_()).shown) < 3000
    assert "column 2 and 297 more is shared" in policy._repr_html_()
    assert repr(policy) == "<Policy: policy>"


@pytest.mark.slow
def test_a_wide_result_is_short_in_a_notebook() -> None:
    names = [f"column {i}" for i in range(300)]
    table = pa.table({name: ["a", "b"] * 20 for name in names})
    found = reticent.release(table, {"anonymity": [{"over": names, "k": 2}]})
    start = time.process_time()
    page = found._repr_html_()
    assert time.process_time() - start < 1
    assert len(page) < 10_000
    assert "280 more columns" in page
    assert len(repr(found)) < 130
