"""Commands over tables that join: what is written, what is told, and what is not."""

from __future__ import annotations

import csv
import json
import re
import shutil
import signal
import sqlite3
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from at_hand import mode, rows_of, save
from places_at_hand import GIVEN
from reticent import jointree
from reticent.jointree.model import JoinNode, JoinTree, Question, write_model
from terminal import answer, finished, run, start


@pytest.fixture
def joined(work: Path) -> Path:
    """The worked example: three tables and schema.toml."""
    return Path(shutil.copytree(GIVEN / "joined", work, dirs_exist_ok=True))


@pytest.fixture
def model(joined: Path) -> str:
    """A tree over it."""
    run("tree", "train", "schema.toml", "-o", "model", "-q")
    return "model"


def questions(depth: int) -> JoinTree:
    """A tree that asks one thing after the other, so deep."""
    below = JoinNode((1, 0))
    for i in range(depth):
        node = JoinNode((depth, i + 1), Question("T1", "A", "at_most", (i,), 0))
        node.branches = [below, JoinNode((0, 1))]
        below = node
    return JoinTree("T1.Class", ("no", "yes"), below)


def test_the_door_and_the_commands_do_the_same(model: str) -> None:
    found = jointree.train("schema.toml", output="again", test=0.5)
    assert Path("again/model.json").read_bytes() == Path("model/model.json").read_bytes()
    told = answer("tree", "train", "schema.toml", "-o", "model", "--force", "--test", "0.5")
    assert {**told, "seconds": 0} == {**found.summary(), "output": "model", "seconds": 0}
    records = jointree.classify(model, "schema.toml")
    run("tree", "classify", model, "schema.toml", "-o", "classes.csv")
    assert rows_of("classes.csv")[1:] == [
        [row["id"], row["class"], f"{row['share']:.6f}", str(row["rows"])]
        for row in records.table.to_pylist()
    ]
    assert "<table " in found._repr_html_()


def test_outputs_are_their_owners_alone(model: str) -> None:
    run("tree", "classify", model, "schema.toml", "-o", "classes.csv")
    run("tree", "show", model, "--html", "page.html")
    files = ["model/model.json", "classes.csv", "page.html"]
    assert [mode(path) for path in ["model", *files]] == [0o700, 0o600, 0o600, 0o600]


def test_typed_files_hold_numbers(model: str) -> None:
    save("new.csv", ["id", "J1", "J2"], [["n1", "a", "x"], ["n2", "q", "x"]])
    for suffix in (".parquet", ".csv"):
        run("tree", "classify", model, "schema.toml", "--rows", "new.csv", "-o", f"c{suffix}")
    table = pq.read_table("c.parquet")
    assert table.to_pydict() == {
        "id": ["n1", "n2"], "class": ["C1", None], "share": [1.0, None], "rows": [4, 0],
    }  # fmt: skip
    assert rows_of("c.csv") == [
        ["id", "class", "share", "rows"], ["n1", "C1", "1.000000", "4"], ["n2", "", "", "0"],
    ]  # fmt: skip


def test_ids_and_labels_are_quoted_as_they_must(joined: Path) -> None:
    rows = [['a,"1"', "a", "x", "yes, it is"], ["line\nbreak", "b", "x", "no"]]
    save("t1.csv", ["id", "J1", "J2", "Class"], rows)
    run("tree", "train", "schema.toml", "-o", "model", "-q")
    run("tree", "classify", "model", "schema.toml", "-o", "c.csv")
    assert [row[:2] for row in rows_of("c.csv")[1:]] == [
        ['a,"1"', "yes, it is"], ["line\nbreak", "no"],
    ]  # fmt: skip
    dot = run("tree", "show", "model", "--dot").stdout
    assert "\nbreak" not in dot
    told = json.loads(run("tree", "show", "model", "--json").stdout)
    assert told["classes"] == ["no", "yes, it is"]


def test_new_rows_of_a_database(model: str) -> None:
    with sqlite3.connect("new.db") as database:
        database.execute("create table fresh (id text, J1 text, J2 text)")
        database.execute("insert into fresh values ('n1', 'b', 'y')")
    database.close()
    place = f"sqlite:///{Path('new.db').resolve()}"
    given = ["--rows", place, "--table", "fresh", "-o", "c.csv"]
    run("tree", "classify", model, "schema.toml", *given)
    assert rows_of("c.csv")[1] == ["n1", "C2", "1.000000", "1"]


def test_tables_of_other_forms_are_read_as_told(joined: Path) -> None:
    for name in ("t1", "t2", "t3"):
        text = Path(f"{name}.csv").read_text(encoding="utf-8").replace(",", "|")
        Path(f"{name}.csv").write_text(f"a title\n{text}", encoding="utf-8")
    told = ["--delimiter", "|", "--header-row", "2"]
    run("tree", "train", "schema.toml", "-o", "model", *told)
    run("tree", "classify", "model", "schema.toml", "-o", "c.csv", *told)
    assert len(rows_of("c.csv")) == 5


def test_nothing_private_is_printed_unless_asked_for(joined: Path) -> None:
    mark = re.compile("SECRET|7300")
    rows = [[f"SECRETid{i}", "ab"[i % 2], "xy"[i // 2 % 2], f"SECRET{i % 2}"] for i in range(8)]
    save("t1.csv", ["id", "J1", "J2", "Class"], rows)
    save("t2.csv", ["J1", "Age", "Town"], [["a", 73001, "SECRETa"], ["b", 73002, "SECRETb"]])
    train = ["tree", "train", "schema.toml", "-o", "model", "--force", "--test", "0.5"]
    quiet = [train, [*train, "--json"], [*train, "--test-by", "J1", "--progress", "json"]]
    classify = ["tree", "classify", "model", "schema.toml", "-o", "c.csv", "--force"]
    quiet += [classify, [*classify, "--json"], [*classify, "--joined"]]
    for words in quiet:
        assert not mark.search(run(*words).output), words
    assert mark.search(run(*train, "--show-values").output)
    assert mark.search(run("tree", "show", "model").output)
    save("t3.csv", ["J2", "Size"], [["SECRETz", 1]])
    for words in quiet:
        assert not mark.search(run(*words, code=None).output), words
    damaged = Path("model/model.json").read_text(encoding="utf-8").replace('"test"', '"tset"')
    Path("model/model.json").write_text(damaged, encoding="utf-8")
    assert not mark.search(run(*classify, code=2).output)


def test_progress_tells_stages_to_programs(joined: Path) -> None:
    said = run("tree", "train", "schema.toml", "-o", "m", "--test", "0.5", "--progress", "json")
    told = [json.loads(line)["stage"] for line in said.stderr.splitlines()]
    assert told == ["read", "count", "grow", "test", "write", "done"]


@pytest.mark.parametrize("point", ["grown", "model_of", "save"])
def test_ctrl_c_leaves_nothing(point: str, joined: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*given: object, **how: object) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(f"reticent.jointree.flow.{point}", interrupt)
    before = sorted(path.name for path in joined.iterdir())
    said = run("tree", "train", "schema.toml", "-o", "model", code=130)
    assert "nothing was written" in said.stderr
    assert sorted(path.name for path in joined.iterdir()) == before


def test_a_model_that_fails_to_appear_leaves_the_old_one(
    model: str, joined: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Path("model/model.json").read_bytes()

    def full(*given: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("reticent.jointree.flow.write_model", full)
    said = run("tree", "train", "schema.toml", "-o", "model", "--force", code=2)
    assert "cannot write it" in said.stderr
    assert Path("model/model.json").read_bytes() == before
    assert sorted(path.name for path in joined.iterdir() if "reticent" in path.name) == []


@pytest.mark.net
def test_ctrl_c_ends_a_long_training(work: Path) -> None:
    """A chain of tables whose tree takes minutes: it ends within seconds, and writes nothing."""
    n = 20_000
    tables = []
    for t in range(6):
        name = f"t{t}"
        with open(f"{name}.csv", "w", encoding="utf-8", newline="") as file:
            lines = csv.writer(file)
            lines.writerow(["j", "k", "a", "b", "c", "Class"])
            lines.writerows(
                [i * 7 % 5000, i * 11 % 5000, i * 31 % 997, i * 17 % 991, i * 13 % 983, i * i % 3]
                for i in range(n)
            )
        tables.append(f'[tables.{name}]\npath = "{name}.csv"\ncandidates = ["a", "b", "c"]\n')
    joins = [f'[[joins]]\nleft = "t{t}.k"\nright = "t{t + 1}.j"\n' for t in range(5)]
    Path("schema.toml").write_text("".join(['class = "t0.Class"\n', *tables, *joins]))
    process = start("tree", "train", "schema.toml", "-o", "model", "--progress", "json")
    assert process.stderr is not None
    for line in process.stderr:
        if '"grow"' in line:
            break
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    begun = time.monotonic()
    code, _, said = finished(process)
    assert (code, time.monotonic() - begun < 20) == (130, True), said
    assert not Path("model").exists()


@pytest.mark.slow
def test_trees_that_are_deep_are_shown_all_the_same(work: Path) -> None:
    Path("model").mkdir()
    write_model(questions(5000), "model")
    text = run("tree", "show", "model").stdout
    assert text.count("\n") == 10_002
    assert len(text) < 3_000_000
    assert "[4999] T1.A ≤ 0: no (1)" in text
    assert run("tree", "show", "model", "--dot").stdout.count("->") == 10_000
    told = run("tree", "show", "model", "--json").stdout
    assert told.count("\n") == 1
    assert '"nodes": 10001, "leaves": 5001, "depth": 5000' in told
    run("tree", "show", "model", "--html", "page.html")
    assert Path("page.html").stat().st_size < 500_000
