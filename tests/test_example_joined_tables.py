"""Who falls ill, told from tables that join: the pages about it show what happens."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

from at_hand import DATA, contents, public_data
from reticent import jointree
from terminal import ROOT, replay, shown, table_of

EXAMPLE = ROOT / "examples/joined_tables"
TUTORIAL = (ROOT / "docs/tutorials/tables-that-join.md").read_text(encoding="utf-8")
METHOD = (ROOT / "docs/methods/tables-that-join.md").read_text(encoding="utf-8")
INVENTED, MONDIAL = TUTORIAL.split("\n## Mondial: ")


@pytest.fixture(autouse=True)
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of the example as a fresh checkout has it, where everything happens."""
    made = shutil.ignore_patterns(
        "by-row", "by-person", "everybody", "classes.csv", "rows.csv", "tree.html", "__pycache__"
    )
    monkeypatch.chdir(shutil.copytree(EXAMPLE, tmp_path / "joined_tables", ignore=made))


# --- the example ---------------------------------------------------------------------------------


def test_the_tables_are_what_the_script_invents(tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    subprocess.run([sys.executable, EXAMPLE / "make_data.py", tmp_path / "made"], check=True)
    made = contents(tmp_path / "made")
    assert {*made} == {path.name for path in EXAMPLE.glob("*.csv")}
    assert made == {name: (EXAMPLE / name).read_bytes() for name in made}


def test_the_example_shows_real_output() -> None:
    told = replay(shown(Path("README.md").read_text(encoding="utf-8")))
    assert (told["train"], told["show"], told["classify"]) == (1, 1, 1)


def test_the_readme_of_all_shows_real_output() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    section = page.partition("\n## Tables that join\n")[2].partition("\n## ")[0]
    told = replay(shown(section))
    assert (told["train"], told["show"]) == (1, 1)


# --- the tutorial --------------------------------------------------------------------------------


def test_the_tutorial_shows_real_output() -> None:
    told = replay(shown(INVENTED))
    assert (told["train"], told["show"], told["classify"]) == (3, 2, 3)
    page = Path("tree.html").read_text(encoding="utf-8")
    text = " ".join(unescape(re.sub(r"<style.*?</style>|<[^>]+>", " ", page, flags=re.S)).split())
    assert "water.lead > 12 : yes 48.6: yes 38.933, no 9.667" in text


def test_the_tutorial_shows_the_schemas_of_its_example() -> None:
    schemas = re.findall(r"```toml\n(.*?)```", INVENTED, re.DOTALL)
    names = ("schema.toml", "by-person.toml", "everybody.toml")
    assert schemas == [Path(name).read_text(encoding="utf-8") for name in names]


def test_mondial_is_in_the_tutorial_as_it_was_measured() -> None:
    measured = results("figures/results/join_tree.csv")
    columns = {"coverage", "majority", "target alone", "by row", "by record", "by record, kept",
               "featuretools + forest", "getML + XGBoost"}  # fmt: skip
    rows = table_of(MONDIAL, "| | records | coverage |")
    assert len(rows) == 8
    for name, records, coverage, effective, *shares in rows:
        found = measured[f"Mondial-{name}"]
        assert [records, effective] == [found["records"], found["effective"]]
        assert [coverage, *shares] == [in_percent(v) for k, v in found.items() if k in columns]


@pytest.mark.data
def test_mondial_gives_what_the_tutorial_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    for version in ("mondial-II/mondial-inputs-mysql.sql.gz", "mondial-inputs.sql.gz"):
        public_data(f"mondial/{version}")
    monkeypatch.setenv("RETICENT_DATA", str(DATA.resolve()))
    commands = [
        (command.replace("benchmarks/", f"{ROOT}/benchmarks/"), printed)
        for command, printed in shown(MONDIAL)
    ]
    assert replay(commands)["train"] == 1
    schema = Path("mondial/schema.toml")
    schema.write_text(schema.read_text("utf-8") + 'weight = "record"\n', encoding="utf-8")
    by_record = jointree.train(schema, test=0.3, test_by="Country").test
    assert by_record is not None
    assert f"brings {by_record.accuracy:.1%} on the same".replace("%", " %") in flowing(MONDIAL)

    script = ROOT / "benchmarks/figures/mondial.py"
    subprocess.run([sys.executable, script, "II", "older"], check=True, capture_output=True)
    tree = jointree.train("older/schema.toml").tree
    leaves = [node.counts for node in tree.root.walk() if node.asks is None]
    remembered = sum(max(counts) for counts in leaves) / sum(tree.root.counts)
    assert f"is right for {remembered:.1%} of".replace("%", " %") in flowing(MONDIAL)


# --- the method ----------------------------------------------------------------------------------


def test_figures_of_the_method_are_as_they_were_measured() -> None:
    measured = results("figures/results/join_tree.csv")
    columns = {"coverage", "majority", "target alone", "by row", "by record, kept",
               "featuretools + forest", "getML + XGBoost"}  # fmt: skip
    rows = table_of(METHOD, "| | records | coverage |")
    assert len(rows) == 6
    for name, records, *shares in rows:
        found = measured[f"{name}, all"]
        assert records == f"{int(found['records']):,}"
        assert shares == [in_percent(v) for k, v in found.items() if k in columns]

    speed = results("results/join_tree_speed.csv", "what")
    rows = table_of(METHOD, "| | joined rows |")
    assert len(rows) == 7
    for name, joined, seconds, megabytes, *others in rows:
        found = speed[name.removeprefix("chain, ").partition(",")[0]]
        assert [joined, seconds, megabytes] == [
            f"{int(found['joined rows']):,}", f"{found['seconds']} s", f"{found['MB']} MB"
        ]  # fmt: skip
        theirs = found["join + tree, s"]
        assert others == (
            [f"{float(theirs):.2f} s", f"{int(found['join + tree, MB']):,} MB"] if theirs
            else ["not run", "–"]
        )  # fmt: skip


def results(name: str, key: str = "task") -> dict[str, dict[str, str]]:
    """The lines of what a benchmark wrote; of several with one name, the first."""
    with open(ROOT / "benchmarks" / name, encoding="utf-8", newline="") as file:
        return {row[key]: row for row in reversed([*csv.DictReader(file)])}


def in_percent(share: str) -> str:
    return f"{100 * float(share):.1f}" if share else "–"


def flowing(text: str) -> str:
    return " ".join(text.split())
