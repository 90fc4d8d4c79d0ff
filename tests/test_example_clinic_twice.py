"""The clinic that publishes twice: a join by hand agrees with what its pages tell."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from fractions import Fraction
from html import unescape
from pathlib import Path

import pytest

import reticent
from terminal import ROOT, answer, run

EXAMPLE = ROOT / "examples/clinic_twice"
TUTORIAL = ROOT / "docs/tutorials/a-second-release.md"
METHOD = ROOT / "docs/methods/sequential-releases.md"


@pytest.fixture
def clinic(work: Path) -> Path:
    """A copy of the example as a fresh checkout has it, where everything happens."""
    made = shutil.ignore_patterns("release-*", "__pycache__")
    return Path(shutil.copytree(EXAMPLE, work, ignore=made, dirs_exist_ok=True))


def test_the_tables_are_what_the_script_invents(tmp_path: Path) -> None:
    script = [sys.executable, str(EXAMPLE / "make_data.py"), str(tmp_path)]
    subprocess.run(script, check=True)
    for name in ("patients-2025.csv", "patients-2026.csv"):
        assert (tmp_path / name).read_bytes() == (EXAMPLE / name).read_bytes()


# --- the story -----------------------------------------------------------------------------------


def test_safe_alone_and_not_when_joined(clinic: Path) -> None:
    run("release", "patients-2025.csv", "-p", "policy-2025.toml", "-o", "release-2025")
    first = "release", "patients-2026.csv", "-p", "policy-2026-alone.toml", "-o", "alone"
    assert "can join them" in run(*first).stderr
    run("verify", "alone", "-p", "policy-2026-alone.toml", "--skip-uncheckable")
    assert "BROKEN" in run("verify", "alone", "-p", "policy-2026.toml", code=1).stdout
    crowds, shares = joined_by_hand(clinic / "alone/public/data.csv")
    assert max(shares.values()) == 1
    assert min(crowds.values()) == 1
    assert sum(crowd < 3 for crowd in crowds.values()) == 15
    shutil.rmtree("alone")  # nobody has seen it

    second = "release", "patients-2026.csv", "-p", "policy-2026.toml", "-o", "release-2026"
    assert not run(*second).stderr
    run("verify", "release-2026", "-p", "policy-2026.toml", code=2)  # patients are not published
    run("verify", "release-2026", "-p", "policy-2026.toml", "--skip-uncheckable")
    crowds, shares = joined_by_hand(clinic / "release-2026/public/data.csv")
    assert min(crowds.values()) == 4
    assert max(shares.values()) == Fraction(7, 19)


def test_the_tutorial_quotes_the_private_report(clinic: Path) -> None:
    reticent.release("patients-2025.csv", "policy-2025.toml", output="release-2025")
    reticent.release("patients-2026.csv", "policy-2026.toml", output="release-2026")
    page = (clinic / "release-2026/private/report.html").read_text(encoding="utf-8")
    text = re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", page)))
    tutorial = re.sub(r"\s+", " ", TUTORIAL.read_text(encoding="utf-8"))
    for title in ("Before and after", "Earlier releases about the same people", "Why no further"):
        assert title in text
        assert f"**{title}**" in tutorial
    assert "clinic2025 400 PlaceOfBirth, Outcome 36.3 143.2" in text
    assert "| clinic2025 | 400 | PlaceOfBirth, Outcome | 36.3 | 143.2 |" in tutorial
    for number in ("36.84 %", "71.43 % sure"):
        assert number in text
        assert number in tutorial


def test_the_pair_takes_matches_away_and_no_more(clinic: Path) -> None:
    reticent.release("patients-2025.csv", "policy-2025.toml", output="release-2025")
    text = Path("policy-2026.toml").read_text(encoding="utf-8")
    without = re.sub(r"\[\[inconsistent\]\].*?\n\n", "", text, flags=re.DOTALL)
    Path("without.toml").write_text(without, encoding="utf-8")
    tables = []
    for policy, before, after in (
        ("policy-2026.toml", "36.3", "143.2"),
        ("without.toml", "38.5", "152.1"),
    ):
        given = "release", "patients-2026.csv", "-p", policy, "-o", "out", "--force"
        [meets] = answer(*given)["joined_with"]
        counts = meets["candidates_before"], meets["candidates_after"]
        assert tuple(f"{count:.1f}" for count in counts) == (before, after)
        tables.append((clinic / "out/public/data.csv").read_bytes())
    assert tables[0] == tables[1]
    assert "38.5 and 152.1 records" in TUTORIAL.read_text(encoding="utf-8")


Combination = tuple[str, ...]


def joined_by_hand(new: Path) -> tuple[dict[Combination, int], dict[Combination, Fraction]]:
    """Patients, and the share of HIV, by what is known: every record beside every record."""
    above: dict[str, set[str]] = {}
    for path in (line.split(",") for line in Path("place.csv").read_text().split()):
        for i, label in enumerate(path):
            above[label] = set(path[i:])
    people: dict[Combination, set[int]] = defaultdict(set)
    tests: dict[Combination, list[str]] = defaultdict(list)
    earlier = rows("release-2025/public/data.csv")
    for number, one in enumerate(rows(new)):
        for other in earlier:
            here, there = one["PlaceOfBirth"], other["PlaceOfBirth"]
            if (
                (here in above[there] or there in above[here])
                and one["Outcome"] == other["Outcome"]
                and not (one["Sex"] == "Male" and other["Ward"] == "Maternity")
            ):
                known = (one["Job"], here, one["Sex"], there, other["Zip"])
                people[known].add(number)  # each patient has one record
                tests[known].append(one["Test"])
    shares = {known: Fraction(found.count("HIV"), len(found)) for known, found in tests.items()}
    return {known: len(found) for known, found in people.items()}, shares


def rows(path: str | Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# --- where revealing more makes a join safer: the examples of docs/methods -----------------------


def write(name: str, head: str, *counted: tuple[int, str]) -> None:
    Path(name).write_text(head + "\n" + "".join(f"{row}\n" * times for times, row in counted))


def found(released: str, policy: str, *, code: int = 0) -> str:
    """What the verifier measures for the last promise of a policy."""
    told = answer("verify", released, "-p", policy, code=code)
    return str(told["templates"][-1]["after"])


def traced(path: str) -> list[tuple[str, str, object]]:
    """Column, value and what the last promise is at, by step."""
    steps = [json.loads(line) for line in Path(path).read_text().splitlines()]
    return [(s["attribute"], s["value"], s["templates"][-1]["value"]) for s in steps]


@pytest.mark.usefixtures("work")
def test_a_confidence_that_falls() -> None:
    write("new.csv", "J,S", (10, "a,yes"), (1, "b,no"))
    write("masked.csv", "J,S", (10, "*,yes"), (1, "*,no"))
    write("old.csv", "J,R", (1, "a,r"), (1000, "b,r"))
    policy = """\
[attributes.J]
mask = "suppress"
[previous.old]
path = "old.csv"
[[anonymity]]
over = ["J"]
k = 1
[[confidence]]
over = ["old.R"]
sensitive = { S = ["yes"] }
at_most = "BOUND"
"""
    Path("loose.toml").write_text(policy.replace("BOUND", "10/11"))
    Path("half.toml").write_text(policy.replace("BOUND", "1/2"))
    assert found("masked.csv", "half.toml", code=1) == "10/11"
    assert found("new.csv", "half.toml") == "1/101"
    run("release", "new.csv", "-p", "loose.toml", "-o", "out", "--trace", "steps.jsonl")
    assert traced("steps.jsonl") == [("J", "a", "10/1011"), ("J", "b", "1/101")]
    assert "10/11" in run("release", "new.csv", "-p", "half.toml", "-o", "none", code=3).stderr
    page = METHOD.read_text(encoding="utf-8")
    assert "C = 10/11" in page
    assert "C = 1/101" in page


@pytest.mark.usefixtures("work")
def test_a_crowd_that_grows() -> None:
    write("new.csv", "J,Q", (1, "UK,a"), (3, "FR,b"))
    write("old.csv", "J", (3, "UK"), (1, "FR"))
    Path("policy.toml").write_text("""\
[attributes.J]
mask = "suppress"
[attributes.Q]
mask = "suppress"
[previous.old]
path = "old.csv"
[[anonymity]]
over = ["J", "Q", "old.J"]
k = 3
""")
    write("masked.csv", "J,Q", (4, "*,*"))
    write("q-first.csv", "J,Q", (1, "*,a"), (3, "*,*"))
    write("j-first.csv", "J,Q", (1, "UK,*"), (3, "*,*"))
    write("then-q.csv", "J,Q", (1, "UK,a"), (3, "*,*"))
    assert found("masked.csv", "policy.toml") == "4"
    assert found("q-first.csv", "policy.toml", code=1) == "1"
    assert found("j-first.csv", "policy.toml") == "3"
    assert found("then-q.csv", "policy.toml") == "3"
    run("release", "new.csv", "-p", "policy.toml", "-o", "out", "--trace", "steps.jsonl")
    assert traced("steps.jsonl")[:2] == [("J", "UK", 3), ("Q", "a", 3)]
    assert rows("out/public/data.csv") == [*[{"J": "FR", "Q": "b"}] * 3, {"J": "UK", "Q": "a"}]
