"""What a policy says of how its data are read, for every kind of release."""

from __future__ import annotations

import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import reticent
from at_hand import SECRET, contents, refusal, save
from reticent import entries, transactions
from reticent.files.tabular import Reading
from reticent.sklearn import Masker
from terminal import answer, run

pytestmark = pytest.mark.usefixtures("work")

KEEPS = '[attributes.Age]\nmask = "discretize"\n[[anonymity]]\nover = ["Age", "Day"]\nk = 2\n'
ROWS = [["1,5", "24.12.2024", "x"], ["1,7", "25.12.2024", "y"]] * 4


def told(path: str, text: str, **reading: Any) -> str:
    """A policy file that tells how its data are read."""
    lines = "".join(f"{key} = {value!r}\n" for key, value in reading.items())
    Path(path).write_text(f"{text}\n[reading]\n{lines}", encoding="utf-8")
    return path


@pytest.fixture
def table() -> str:
    """A table below a title, and a policy that says all there is to say of it."""
    save("rows.csv", ["", "Age", "Day", "N"], [[i, *row] for i, row in enumerate(ROWS)],
         "cp1252", delimiter=";")  # fmt: skip
    Path("in.csv").write_bytes(f'{SECRET} "5\n\n'.encode() + Path("rows.csv").read_bytes())
    return told(
        "p.toml", 'drop = ["unnamed 1"]\nkeep = ["N"]\n' + KEEPS, header_row=3, delimiter=";",
        encoding="cp1252", decimal=",", date_format="%d.%m.%Y",
    )  # fmt: skip


def test_options_win_key_by_key(table: str) -> None:
    run("release", "in.csv", "-p", table, "-o", "a.csv")
    given = ("--header-row", 1, "--decimal", ".", "--encoding", "utf-8")
    save("b.csv", ["", "Age", "Day", "N"], [["ö", row[0].replace(",", "."), *row[1:]] for row in ROWS],
         delimiter=";")  # fmt: skip
    run("release", "b.csv", "-p", table, "-o", "b", *given)
    assert Path("a.csv").read_bytes() == Path("b/public/data.csv").read_bytes()
    said = run("release", "b.csv", "-p", table, "-o", "c.csv", *given[:2], code=2).stderr
    assert 'column "Age"' in said  # without --decimal, a comma is what parts numbers
    report = Path("b/public/report.html").read_text(encoding="utf-8")
    again = "-o OUT/ --encoding utf-8 --decimal . --header-row 1<"
    assert again in report  # and what the policy says is not said again
    run("apply", "b", "b.csv", "-o", "more.csv", *given)
    assert Path("more.csv").read_bytes() == Path("a.csv").read_bytes()


def test_python_goes_the_same_way(table: str) -> None:
    found = reticent.release("in.csv", table)
    reading = Reading(";", None, "cp1252", ",", "%d.%m.%Y", header_row=3)
    plain: dict[str, Any] = {
        "drop": ["unnamed 1"], "keep": ["N"], "attributes": {"Age": {"mask": "discretize"}},
        "anonymity": [{"over": ["Age", "Day"], "k": 2}],
    }  # fmt: skip
    assert found.table == reticent.release("in.csv", plain, reading=reading).table
    assert reticent.verify(found.table, table).holds
    assert reticent.Policy.load(table).reading.told() == reading
    frame = pd.DataFrame(ROWS, columns=["Age", "Day", "N"])  # only cells are left to be read
    keys = reading.policy_keys()
    assert reticent.release(frame, {**plain, "drop": [], "reading": keys}).cuts == found.cuts
    masker = Masker(reticent.Policy.of({**plain, "drop": [], "reading": {**keys, "table": "t"}}))
    assert masker.fit(frame).transform(frame)["Age"].tolist()[:2] == ["[1.5,1.7)", "[1.7,1.7]"]
    for wrong in ({"decimal": ";"}, {"quote": "'"}, {"sheet": ""}):
        refusal(partial(reticent.Policy.of, {**plain, "reading": wrong}))


def test_what_we_wrote_is_read_as_we_wrote_it(table: str) -> None:
    run("release", "in.csv", "-p", table, "-o", "out")
    for place in ("out", "out/public", "out/public/data.csv"):
        assert answer("verify", place, "-p", table)["holds"]
        assert answer("verify", place, "-p", table, "--delimiter", "|", "--header-row", 9)["holds"]
    assert "[reading]\nheader_row = 3" in Path("out/private/policy.toml").read_text()
    run("verify", "out")
    Path("bare.csv").write_bytes(Path("out/public/data.csv").read_bytes())
    run("verify", "bare.csv", "-p", table)
    second = told(
        "second.toml",
        'drop = ["unnamed 1"]\nkeep = ["Day"]\n[previous.first]\npath = "out"\n'
        "[attributes.Age]\nmask = 'discretize'\njoin = false\n[attributes.Day]\njoin = false\n"
        '[[anonymity]]\nover = ["Age", "N", "first.N"]\nk = 1\n',
        header_row=3, delimiter=";", encoding="cp1252", decimal=",", date_format="%d.%m.%Y",
    )  # fmt: skip
    run("release", "in.csv", "-p", second, "-o", "out2")
    kept = reticent.Policy.load("out2/private/policy.toml")  # whose paths lead from there
    assert kept.reading == reticent.Policy.load(table).reading
    run("verify", "out2")
    run("evaluate", "in.csv", "out", "-p", table)
    assert answer("sweep", "in.csv", "-p", table, "-o", "swept", "--k", "2")["points"]


@pytest.mark.parametrize("given", [["-p", "p.toml", "-o", "x.csv"], ["-p", "p.toml"]])
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize(
    ("reading", "said"),
    [
        ({"sheet": "May"}, "only spreadsheets have sheets"),
        ({"table": "t"}, "only databases have tables"),
        ({"header_row": 99}, "there is no line 99"),
        ({"header_row": 2}, "line 2 is blank"),
    ],
)
def test_what_a_file_does_not_have(
    table: str, reading: dict[str, Any], said: str, engine: str, given: list[str]
) -> None:
    told("p.toml", 'keep = "*"\n' + KEEPS, delimiter=";", **reading)
    verb = "release" if "-o" in given else "risk"
    result = run(verb, "in.csv", *given, "--engine", engine, code=2)
    assert said in result.stderr
    assert SECRET not in result.output


def test_a_table_of_a_database() -> None:
    with sqlite3.connect("a.db") as database:
        for name, age in (("t", 1), ("other", 2)):
            database.execute(f"CREATE TABLE {name} (Age, Day)")
            database.executemany(f"INSERT INTO {name} VALUES (?, 'x')", [[age], [age + 4]] * 4)
    database.close()
    policy = told("p.toml", KEEPS, table="t")
    first = answer("release", "sqlite:///a.db", "-p", policy, "-o", "a")["attributes"]["Age"]
    assert first["values"] == ["[1,5)", "[5,5]"]
    assert "--table" not in Path("a/public/report.html").read_text(encoding="utf-8")
    run("verify", "a")  # is a file
    run("policy", "check", policy, "sqlite:///a.db")
    given = ("-p", policy, "--table", "other")
    other = answer("release", "sqlite:///a.db", *given, "-o", "b")["attributes"]["Age"]
    assert other["values"] == ["[2,6)", "[6,6]"]
    assert "--table TABLE" in Path("b/public/report.html").read_text(encoding="utf-8")
    save("new.csv", ["Age", "Day"], [["3", "x"]])
    run("apply", "a", "new.csv", "-o", "masked.csv")  # which reads no database


# --- other kinds ----------------------------------------------------------------------------------

BASKETS = 'format = "long"\nprivate = []\nk = 2\n'


def test_baskets_with_an_index_below_a_title() -> None:
    rows = [[i, 1 + i // 2, ["bread", "milk"][i % 2]] for i in range(8)]
    save("rows.csv", ["", "id", "item"], [*rows, [8, 5, "rare"]], delimiter="|")
    Path("in.csv").write_text("Käufe, 2024\n" + Path("rows.csv").read_text(), encoding="latin-1")
    policy = told("p.toml", BASKETS, delimiter="|", header_row=2, encoding="latin-1")
    said = run("transactions", "release", "in.csv", "-p", policy, "-o", "out")
    assert 'neither read nor released: "unnamed 1".' in said.stderr
    assert "rare" not in Path("out/public/data.csv").read_text()
    report = Path("out/public/report.html").read_text(encoding="utf-8")
    assert "--delimiter" not in report
    options = ("--delimiter", "|", "--header-row", 2, "--encoding", "latin-1")
    Path("plain.toml").write_text(BASKETS)
    run("transactions", "release", "in.csv", "-p", "plain.toml", "-o", "out2", *options)
    assert contents("out2")["public/data.csv"] == contents("out")["public/data.csv"]
    for words in (["risk", "in.csv"], ["evaluate", "in.csv", "out"]):
        found = answer("transactions", *words, "-p", policy)
        assert found == answer("transactions", *words, "-p", "plain.toml", *options)
    run("policy", "check", policy, "in.csv")
    run("transactions", "verify", "out/public/data.csv", "-p", policy)
    run("verify", "out")
    frame = pd.read_csv("in.csv", sep="|", header=1)
    assert transactions.release(frame, policy).suppressed == ["rare"]


@pytest.mark.parametrize(
    ("text", "reading", "said"),
    [
        (BASKETS, {"decimal": ","}, 'there is no key "decimal" here'),
        (BASKETS, {"table": "t"}, 'there is no key "table" here'),
        (BASKETS, {"encoding": "klingon"}, "[reading], encoding: there is no encoding"),
        ("private = []\nk = 2\n", {"delimiter": ";"}, "lines of items have an encoding alone"),
        ("private = []\nk = 2\n", {"header_row": 2}, "lines of items have an encoding alone"),
        (KEEPS, {"quote": "'"}, 'there is no key "quote" here'),
        (KEEPS, {"delimiter": ";;"}, "[reading], delimiter: a delimiter is one ASCII"),
        (KEEPS, {"date_format": "%d.%m"}, "[reading], date_format: the date format"),
        (KEEPS, {"header_row": "3"}, "[reading], header_row: write a whole number"),
        (KEEPS, {"header_row": 0}, "[reading], header_row:"),
        (KEEPS, {"decimal": "x"}, "[reading], decimal:"),
    ],
)
def test_keys_that_cannot_be_meant(text: str, reading: dict[str, Any], said: str) -> None:
    assert said in run("policy", "check", told("p.toml", text, **reading), code=2).stderr


def test_lines_of_items_have_an_encoding_and_no_header() -> None:
    Path("in.dat").write_bytes("Käse Brot\n".encode("utf-16") * 1)
    policy = told("p.toml", "private = []\nk = 1\n", encoding="utf-16")
    run("transactions", "release", "in.dat", "-p", policy, "-o", "out")
    assert "Käse" in Path("out/public/data.dat").read_text(encoding="utf-8")
    run("verify", "out")
    run("transactions", "verify", "out/public/data.dat", "-p", policy)
    Path("bare.dat").write_bytes(Path("out/public/data.dat").read_bytes())
    run("transactions", "verify", "bare.dat", "-p", policy)
    given = ("release", "in.dat", "-p", policy, "-o", "x.dat", "--header-row", 2)
    assert "has no header" in run("transactions", *given, code=2).stderr


def test_entries_with_an_index_below_a_title() -> None:
    rows = [[i, "fm"[i % 2], "yes" if i % 3 else "no"] for i in range(30)]
    save("rows.csv", ["", "Sex", "Ill"], rows, delimiter=";")
    Path("in.csv").write_text("a\nb\n" + Path("rows.csv").read_text())
    text = (
        'drop = ["unnamed 1"]\nconditions = ["Sex"]\nsensitive = "Ill"\nrequests = [2]\n'
        "min_support = 2\nmin_confidence = 0.6\n"
    )
    policy = told("p.toml", text, delimiter=";", header_row=3)
    run("entries", "release", "in.csv", "-p", policy, "-o", "out")
    options = ("--delimiter", ";", "--header-row", 3)
    Path("plain.toml").write_text(text)
    run("entries", "release", "in.csv", "-p", "plain.toml", "-o", "out2", *options)
    assert contents("out2")["public/data.csv"] == contents("out")["public/data.csv"]
    assert "delimiter" in Path("out/private/policy.toml").read_text()
    Path("bare.csv").write_bytes(Path("out/public/data.csv").read_bytes())
    for place in ("out", "bare.csv"):
        assert answer("entries", "verify", place, "-p", policy, "--original", "in.csv")["holds"]
        assert run("entries", "verify", place, "-p", policy, code=None).exit_code in (0, 2)
    run("verify", "out", "--original", "in.csv")
    run("policy", "check", policy, "in.csv")
    found = answer("entries", "risk", "in.csv", "-p", policy)
    assert found == answer("entries", "risk", "in.csv", "-p", "plain.toml", *options)
    wrong = told("p.toml", text, table="t")
    assert 'there is no key "table" here' in run("policy", "check", wrong, code=2).stderr
    assert 'there is no key "table"' in str(refusal(lambda: entries.check("p.toml")))
