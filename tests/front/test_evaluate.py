"""The command `evaluate`: what it says, in which shape, and what it refuses."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import Result

from at_hand import save
from reticent.evidence.classify import splits
from terminal import run

ANONYMITY = '[[anonymity]]\nover = ["Job", "Age"]\nk = 3\n'
CONFIDENCE = '[[confidence]]\nover = ["Job"]\nsensitive = { Sick = ["y"] }\nat_most = 0.9\n'
HEAD = 'drop = ["Name"]\nkeep = "*"\n'
MASKS = """\
[attributes.Job]
mask = "generalize"
taxonomy = { ANY = { Low = ["Cook", "Clerk"], Boss = {} } }
[attributes.Age]
mask = "discretize"
range = [0, 100]
"""
CLASS = 'class = "Buys"\n'
NAMES = ["Name", "Job", "Age", "Town", "Sick", "Buys"]
POLICIES = {
    "both": CLASS + HEAD + MASKS + ANONYMITY + CONFIDENCE,
    "anonymity": CLASS + HEAD + MASKS + ANONYMITY,
    "no class": HEAD + MASKS + ANONYMITY + CONFIDENCE,
}
Row = list[str]


def rows_from(seed: int, count: int = 60) -> list[Row]:
    rng = random.Random(seed)
    found = []
    for i in range(count):
        job, age = rng.choice(["Cook", "Clerk", "Boss"]), rng.randint(20, 60)
        buys = "yes" if (job == "Boss") != (rng.random() < 0.2) else "no"
        sick = rng.choice("ynn")
        found.append([f"N{i}", job, str(age), rng.choice(["Ulm", "Bonn"]), sick, buys])
    return found


def write(path: str, rows: Sequence[Row], names: Sequence[str] = NAMES) -> None:
    save(path, names, rows)


@pytest.fixture(autouse=True)
def data(work: Path) -> None:
    write("data.csv", rows_from(1))
    Path("policy.toml").write_text(POLICIES["both"], encoding="utf-8")


def release(output: str = "out.csv", *given: object) -> str:
    run("release", "data.csv", "-p", "policy.toml", "-o", output, *given)
    return output


def evaluate(released: str, *given: object, code: int = 0, tree: bool = True) -> Result:
    only = ["--classifiers", "tree"] if tree else []
    return run("evaluate", "data.csv", released, "-p", "policy.toml", *only, *given, code=code)


def answer(released: str, *given: object, tree: bool = True) -> Any:
    [line] = evaluate(released, "--json", *given, tree=tree).stdout.splitlines()
    return json.loads(line)


# --- what it says --------------------------------------------------------------------------------


@pytest.mark.slow
def test_without_a_class_nothing_is_told_wrong() -> None:
    """What is said otherwise, to people and to machines: tests/cases/tables/evaluate.txt."""
    release()
    Path("policy.toml").write_text(POLICIES["no class"], encoding="utf-8")
    assert "told wrong" not in evaluate("out.csv").stdout


def test_every_kind_of_release_is_told_alike() -> None:
    wanted = answer(release("out.csv"))
    for output in ("out.tsv", "out.parquet", "out"):
        assert answer(release(output)) == wanted
    assert answer("out/public/data.csv") == wanted


def test_folds_test_every_record_once() -> None:
    release()
    told = answer("out.csv", "--folds", 4)["classification"]
    assert (told["rounds"], told["tested"], told["train"]) == (4, 60, 45)
    said = evaluate("out.csv", "--folds", 4).stdout
    assert "60 records that training did not see, in 4 folds" in said


def test_a_test_file_is_masked_as_the_release_shows() -> None:
    release()
    later = rows_from(2, 30)
    write("later.csv", later)
    told = answer("out.csv", "--test", "later.csv")["classification"]
    assert (told["rounds"], told["train"], told["tested"]) == (1, 60, 30)
    assert "learnt_on_training" in told["classifiers"]["tree"]
    right = sum(row[-1] == "yes" for row in later), sum(row[-1] == "no" for row in later)
    assert told["majority"] in [round(n / 30, 6) for n in right]


def test_a_test_file_may_hold_what_training_never_saw() -> None:
    """Another class, another town, an age out of range, an empty cell, a column more or less."""
    release()
    later = [
        ["N", "Cook", "30", "Ulm", "y", "maybe"],
        ["N", "Boss", "999", "Trier", "z", "yes"],
        ["N", "", "", "", "", "yes"],
        ["N", "Boss", "40", "Ulm", "n", ""],
    ]
    write("later.csv", [[*row, "more"] for row in later], [*NAMES, "More"])
    some = ["--classifiers", "tree,bayes,regression"]
    told = answer("out.csv", "--test", "later.csv", *some, tree=False)["classification"]
    assert told["tested"] == 3  # a record without a class cannot be tested
    assert all(errors["BE"] >= 0.333333 for errors in told["classifiers"].values())
    write("later.csv", [row[1:] for row in later], NAMES[1:])  # names are dropped anyway
    assert answer("out.csv", "--test", "later.csv")["classification"]["tested"] == 3


def test_seeds_draw_other_records() -> None:
    release()
    drawn = [evaluate("out.csv", "--json", "--seed", seed).stdout for seed in range(4)]
    assert len({json.loads(d)["classification"]["majority"] for d in drawn}) > 1
    first = [json.loads(d) for d in drawn]
    assert len({json.dumps([f["loss"], f["attack"]["linkage"]]) for f in first}) == 1
    assert [f["classification"]["seed"] for f in first] == list(range(4))


def test_all_classifiers_run_unless_some_are_named() -> None:
    release()
    every = answer("out.csv", tree=False)["classification"]["classifiers"]
    assert list(every) == ["tree", "bayes", "boosting", "regression"]
    run_again = answer("out.csv", "--classifiers", "bayes, tree,bayes", tree=False)
    some = run_again["classification"]["classifiers"]
    assert list(some) == ["bayes", "tree"]
    assert some == {name: every[name] for name in some}


def test_without_scikit_learn_the_tree_runs_and_a_warning_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    release()
    monkeypatch.setattr("importlib.util.find_spec", lambda name, package=None: None)
    result = evaluate("out.csv", "--json", tree=False)
    found = json.loads(result.stdout)
    assert list(found["classification"]["classifiers"]) == ["tree"]
    [warning] = found["warnings"]
    assert "left out bayes, boosting, regression" in warning
    assert "scikit-learn" in warning
    assert "scikit-learn" in evaluate("out.csv", tree=False).stderr
    assert answer("out.csv")["warnings"] == []  # nobody asked for more than the tree
    assert "needs scikit-learn" in refused("--classifiers", "bayes", tree=False)


BARE = """\
import sys

class Absent:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in ("pandas", "polars", "sklearn", "scipy"):
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Absent)
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == "sklearn" else found(name)
from reticent.front import main
main()
"""


@pytest.mark.net
def test_neither_pandas_nor_scikit_learn_is_needed() -> None:
    release()
    Path("bare.py").write_text(BARE)
    given = ["evaluate", "data.csv", "out.csv", "-p", "policy.toml", "--json"]
    done = subprocess.run(
        [sys.executable, "bare.py", *given], capture_output=True, text=True, check=False,
        env={"PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert list(json.loads(done.stdout)["classification"]["classifiers"]) == ["tree"]


def test_a_register_makes_the_journalist_less_sure() -> None:
    release()
    alone = answer("out.csv")["attack"]["linkage"][0]
    assert alone["after"]["journalist"] == alone["after"]["prosecutor"]
    write("people.csv", [row[1:3] for row in [*rows_from(1), *rows_from(3, 600)]], ["Job", "Age"])
    told = answer("out.csv", "--population", "people.csv")["attack"]["linkage"][0]
    for side in ("before", "after"):
        assert told[side]["journalist_mean"] < alone[side]["journalist_mean"]
        assert told[side]["prosecutor_mean"] == alone[side]["prosecutor_mean"]


def test_persons_are_counted_although_their_column_is_dropped() -> None:
    counted = POLICIES["anonymity"].replace("k = 3", 'k = 3\nof = ["Name"]')
    Path("policy.toml").write_text(counted, encoding="utf-8")
    found = answer(release())
    [record] = found["attack"]["linkage"]
    assert record["of"] == ["Name"]
    assert record["after"]["smallest"] >= 3
    assert found["verified"] is not True or found["warnings"]  # it could not be checked


def test_a_release_that_keeps_no_promise_is_measured_with_a_warning() -> None:
    release()
    loose = POLICIES["both"].replace("k = 3", "k = 1")
    Path("policy.toml").write_text(loose, encoding="utf-8")
    release("loose.csv")
    Path("policy.toml").write_text(POLICIES["both"].replace("k = 3", "k = 30"), encoding="utf-8")
    found = answer("loose.csv")
    assert found["verified"] is False
    assert "does not keep every promise" in found["warnings"][0]


# --- again and again -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "named",
    [["--classifiers", "tree,bayes"], ["--classifiers", "tree", "--folds", "3"]],
    ids=["a third", "folds"],
)
def test_the_same_bytes_twice_and_whatever_the_order_of_the_released_rows(named: list[str]) -> None:
    release()
    first = evaluate("out.csv", "--json", *named, tree=False).stdout_bytes
    assert evaluate("out.csv", "--json", *named, tree=False).stdout_bytes == first
    head, *lines = Path("out.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    random.Random(1).shuffle(lines)
    Path("mixed.csv").write_text("".join([head, *lines]), encoding="utf-8")
    assert evaluate("mixed.csv", "--json", *named, tree=False).stdout_bytes == first


# --- tables of all sorts -------------------------------------------------------------------------


def measured(columns: Mapping[str, Sequence[Any]], policy: str, *given: object) -> Any:
    pq.write_table(pa.table(dict(columns)), "data.parquet")
    Path("policy.toml").write_text(policy, encoding="utf-8")
    run("release", "data.parquet", "-p", "policy.toml", "-o", "o.csv", "--force")
    given = given if "--classifiers" in given else ("--classifiers", "tree,bayes", *given)
    said = run("evaluate", "data.parquet", "o.csv", "-p", "policy.toml", "--json", *given)
    return json.loads(said.stdout)


SMALL = 'class = "C"\nkeep = "*"\n[[anonymity]]\nover = ["J"]\nk = 1\n'


@pytest.mark.parametrize("rows", [1, 2])
def test_of_one_or_two_records_no_class_is_told(rows: int) -> None:
    found = measured({"J": ["a", "b"][:rows], "C": ["y", "n"][:rows]}, SMALL)
    assert found["classification"] == {"class": "C", "reason": "fewer than 3 records"}
    tree = ("--classifiers", "tree")
    said = run("evaluate", "data.parquet", "o.csv", "-p", "policy.toml", *tree).stdout
    assert "Classification of C: not measured, fewer than 3 records." in said


def test_three_records_are_enough_and_two_are_not_even_in_two_folds() -> None:
    found = measured({"J": ["a", "b", "a"], "C": ["y", "n", "y"]}, SMALL)
    assert (found["classification"]["train"], found["classification"]["tested"]) == (2, 1)
    found = measured({"J": ["a", "b"], "C": ["y", "y"]}, SMALL, "--folds", 2)
    assert found["classification"]["reason"]


def test_one_class_is_always_told() -> None:
    found = measured({"J": list("abc") * 4, "C": ["y"] * 12}, SMALL)
    assert found["classification"]["majority"] == 0
    for errors in found["classification"]["classifiers"].values():
        assert set(errors.values()) == {0}


@pytest.mark.slow
def test_two_hundred_columns_and_one_that_is_unique() -> None:
    columns: dict[str, list[Any]] = {f"X{i}": list("pqrs") * 6 for i in range(200)}
    columns |= {"Id": [f"id{i}" for i in range(24)], "J": list("ab") * 12, "C": list("yynn") * 6}
    found = measured(columns, SMALL, "--classifiers", "tree,bayes,regression")
    assert {e["BE"] for e in found["classification"]["classifiers"].values()} == {0}


def test_umlauts_semicolons_commas_and_days_as_they_are_written_here() -> None:
    rng = random.Random(4)
    lines = ["Größe;Geburt;Straße;Käufer"]
    for _ in range(60):
        size = f"1,{rng.randint(50, 99)}"
        born = f"{rng.randint(1, 28):02}.{rng.randint(1, 12):02}.19{rng.randint(50, 99)}"
        lines.append(f"{size};{born};{rng.choice(['Süd', 'Öst'])};{rng.choice(['ja', 'möglich'])}")
    policy = (
        'class = "Käufer"\nkeep = ["Straße"]\n[attributes."Größe"]\nmask = "discretize"\n'
        '[attributes.Geburt]\nmask = "discretize"\n'
        '[[anonymity]]\nover = ["Größe", "Geburt"]\nk = 4\n'
    )
    Path("policy.toml").write_text(policy, encoding="utf-8")
    Path("data.csv").write_bytes("\n".join(lines).encode("latin-1"))
    told = ["--decimal", ",", "--date-format", "%d.%m.%Y"]
    release("out.csv", *told)
    Path("later.csv").write_bytes("\n".join(lines[:20]).encode("latin-1"))
    for how in ([], ["--test", "later.csv"], ["--population", "data.csv", "--folds", "3"]):
        found = answer("out.csv", *told, *how)
        assert found["verified"] is True
        assert list(found["loss"]["columns"]) == ["Größe", "Geburt"]
        assert 0 < found["loss"]["distortion"] < 2


def test_records_that_are_left_out_for_what_they_miss_are_not_measured() -> None:
    policy = 'missing = "drop"\n' + SMALL
    found = measured({"J": ["a", None, "b", "a", "b", "a"], "C": [*"yynny", None]}, policy)
    assert (found["rows"], found["loss"]["entries"]) == (4, 4)


@pytest.mark.parametrize(
    ("column", "policy"),
    [
        pytest.param([*map(str, range(11)), "x"], SMALL, id="a text among numbers"),
        pytest.param(
            ["2020-01-01T10:00", *["2020-01-02"] * 11],
            SMALL.replace('["J"]', '["J", "X"]') + '[attributes.X]\nmask = "discretize"\n',
            id="a clock among days that are masked",
        ),
    ],
)
def test_folds_over_a_column_with_one_odd_cell(column: list[str], policy: str) -> None:
    columns = {"J": list("ab") * 6, "X": column, "C": list("yn") * 6}
    assert measured(columns, policy, "--folds", 4, "--classifiers", "tree")


def test_a_release_folder_can_be_made_of_a_column_with_an_odd_cell() -> None:
    """Its page tells how well the class can be told: that must not stop the release."""
    [part] = splits(120, folds=None, seed=1)
    odd = part.tolist().index(True)  # among the records that the page's tree is tested on
    lines = [[*row, f"{i}a" if i == odd else str(i)] for i, row in enumerate(rows_from(1, 120))]
    write("data.csv", lines, [*NAMES, "Flat"])
    release("out")


# --- what it refuses -----------------------------------------------------------------------------


def refused(*given: object, tree: bool = True) -> str:
    said = evaluate("out.csv", *given, tree=tree, code=2)
    assert not said.stdout
    return said.stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--folds", "3", "--test", "data.csv"], "give either folds or a test table, not both"),
        (["--folds", "61"], "there are only 60 records for 61 folds"),
        (["--folds", "1"], "--folds"),
        (["--folds", "many"], "--folds"),
        (["--seed", "-1"], "--seed"),
        (["--classifiers", "tree,forest"], "choose among tree, bayes, boosting, regression"),
        (["--test", "nowhere.csv"], "nowhere.csv"),
        (["--population", "nowhere.csv"], "nowhere.csv"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else "",
)
def test_odd_options_are_refused(given: list[str], said: str) -> None:
    release()
    assert said in " ".join(refused(*given).split())


@pytest.mark.parametrize("option", ["--test", "--population"])
def test_further_tables_must_have_rows_and_columns(option: str) -> None:
    release()
    write("more.csv", [[row[1]] for row in rows_from(2)], ["Job"])
    assert 'lacks "Age"' in refused(option, "more.csv")
    write("more.csv", [])
    assert "more.csv" in refused(option, "more.csv")
    Path("more.csv").write_bytes(b"")
    assert "more.csv" in refused(option, "more.csv")


@pytest.mark.parametrize("option", ["--test", "--population"])
def test_further_tables_must_fit_the_masks(option: str) -> None:
    release()
    strange = rows_from(2)
    strange[3][1] = "Astronaut"
    write("more.csv", strange)
    said = refused(option, "more.csv")
    assert "1 values have no place in the taxonomy" in said
    assert "Astronaut" not in said
    strange[3][1:3] = ["Cook", "old"]
    write("more.csv", strange)
    assert "old" not in refused(option, "more.csv")


def test_a_test_file_without_any_class_is_refused() -> None:
    release()
    write("more.csv", [[*row[:-1], ""] for row in rows_from(2)])
    assert "Buys" in refused("--test", "more.csv")


@pytest.mark.parametrize("which", ["data.csv", "out.csv", "policy.toml"])
def test_files_that_are_empty_broken_or_gone_are_refused(which: str) -> None:
    release()
    for content in (b"", b"Job\n", b"\xff\xfe\x00"):
        Path(which).write_bytes(content)
        assert refused()
    Path(which).unlink()
    assert refused()


@pytest.mark.parametrize("which", ["another table", "one row less", "another policy", "original"])
def test_what_is_no_release_of_that_table_is_refused(which: str) -> None:
    release()
    lines = Path("out.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    if which == "another table":
        write("data.csv", rows_from(9))
    elif which == "one row less":
        Path("out.csv").write_text("".join(lines[:-1]), encoding="utf-8")
    elif which == "another policy":
        other = POLICIES["both"].replace('"discretize"\nrange = [0, 100]', '"suppress"')
        Path("policy.toml").write_text(other, encoding="utf-8")
    else:
        write("out.csv", [row[1:] for row in rows_from(1)], NAMES[1:])
    assert refused()
