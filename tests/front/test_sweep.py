"""`reticent sweep`: what each release of a range is, what is told of it, and going on later."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import random
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from itertools import count as counting
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from typer.testing import Result

import reticent
from at_hand import contents, mode, refusal
from pages_at_hand import Page
from reticent import InputError, Unsatisfiable
from reticent.refine.cuts import Cuts
from reticent.releases.sweeping import SweepFolder
from reticent.sources import arrival
from reticent.tables import masking, sweeps
from reticent.tables.policy import Policy
from terminal import answer, finished, run, start

WORD = "SEC" + "RET"  # in every cell that no release may show
MARK = re.compile(WORD + r"\w*")
JOBS = ("Cook", "Baker", "Clerk", "Boss", "Chief")
JOB_TREE = "Cook,Hand,ANY\nBaker,Hand,ANY\nClerk,Desk,ANY\nBoss,Lead,ANY\nChief,Lead,ANY\n"
POLICY = """\
class = "Class"
drop = ["Name"]
[attributes.Job]
mask = "generalize"
taxonomy = "jobs.csv"
[attributes.Town]
mask = "suppress"
[attributes.Age]
mask = "discretize"
range = [0, 100]
[[anonymity]]
over = ["Job", "Town", "Age"]
k = 3
"""
SURE = """\
[[confidence]]
over = ["Job", "Town"]
sensitive = { Sick = ["y"] }
at_most = 0.9
"""
COUNTED = """\
[[anonymity]]
over = ["Job"]
of = ["Name"]
k = 2
"""
K = "2,5,20,999"  # 999: more than there are rows
GIVEN = ["sweep", "data.csv", "-p", "policy.toml", "-o", "out", "--k", K]
NAMES = ("k-2", "k-5", "k-20")
STATE = Path("out/private/state.json")
TOP = {"report.html", "sweep.csv", "sweep.json", "sweep.svg"}
PUBLIC = {f"public/{n}" for n in ("data.csv", "report.html", "report.json", "manifest.json")}
PRIVATE = {
    f"private/{n}"
    for n in (
        "report.html", "policy.toml", "recoding.json", "trace.jsonl", "stopped.jsonl", "risk.json",
        "alternatives.json",
        "input.json", "jobs.csv",
    )
}  # fmt: skip


def table(rows: int = 150, seed: int = 5) -> str:
    draw = random.Random(seed)
    lines = ["Name,Job,Town,Age,Sick,Class\n"]
    for i in range(rows):
        job, age = draw.choice(JOBS), draw.randint(20, 60)
        town = f"{WORD}rare{i}" if i % 25 == 7 else draw.choice(("Ulm", "Bonn", "Trier"))
        sick = "y" if draw.random() < 0.15 + 0.3 * (job == "Cook") else "n"
        good = draw.random() < 0.2 + 0.6 * (job in ("Boss", "Chief")) - 0.1 * (age < 35)
        lines.append(f"{WORD}name{i},{job},{town},{age},{sick},{'ab'[good]}\n")
    return "".join(lines)


def lay_out(rows: int = 150) -> None:
    Path("data.csv").write_text(table(rows))
    Path("jobs.csv").write_text(JOB_TREE)
    Path("policy.toml").write_text(POLICY.replace("[attr", 'keep = ["Sick"]\n[attr', 1))
    Path("both.toml").write_text(POLICY + SURE)


@pytest.fixture(autouse=True)
def data(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda handle: None)  # no test outlives a power cut
    lay_out()


def sweep(*given: object, code: int = 0) -> Result:
    return run("sweep", "data.csv", "-p", "policy.toml", "-o", "out", *given, code=code)


def resumed(said: Result) -> int:
    """How many releases a command took over."""
    again = re.search(r"(\d+) of these had been done before", said.stdout)
    return int(again[1]) if again else 0


def told(folder: str | Path = "out") -> Any:
    return json.loads((Path(folder) / "sweep.json").read_text(encoding="utf-8"))


def whole(folder: str | Path = "out") -> dict[str, Any]:
    """Every file of a sweep; only in which order and how often it was begun makes no difference."""
    found: dict[str, Any] = dict(contents(folder))
    found["private/state.json"] = json.loads(found["private/state.json"])
    return found


def made(folder: str | Path = "out") -> dict[str, tuple[int, int]]:
    """When every file of every release was made."""
    root = Path(folder)
    files = [p for name in ("k-*", "at-most-*") for q in root.glob(name) for p in q.rglob("*")]
    return {str(p.relative_to(root)): (p.stat().st_ino, p.stat().st_mtime_ns) for p in files}


def whole_releases() -> None:
    for name in Path("out").glob("k-*"):
        assert set(contents(name)) == PUBLIC | PRIVATE
        run("verify", name, "-p", name / "private" / "policy.toml")


def nothing_half_written() -> None:
    """What stands is a whole release or none, and nothing temporary is left."""
    for path in Path().rglob("*"):
        assert "reticent-" not in path.name
    whole_releases()


def finished_points() -> set[str]:
    return set(json.loads(STATE.read_text())["done"]) if STATE.exists() else set()


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep that nobody interrupted."""
    before = Path.cwd()
    place = tmp_path_factory.mktemp("reference")
    os.chdir(place)
    try:
        lay_out()
        sweep("--k", K)
    finally:
        os.chdir(before)
    return place / "out"


@pytest.fixture
def done(reference: Path) -> Path:
    """The same sweep, here."""
    shutil.copytree(reference, "out")
    return Path("out")


def goes_on(reference: Path, k: str = K) -> int:
    """The same command leads to the same sweep; how many releases, as they stood, it took over."""
    before = {n: t for n, t in made().items() if n.split("/")[0] in finished_points()}
    said = sweep("--k", k)
    assert made().items() >= before.items()
    assert whole() == whole(reference)
    return resumed(said)


# --- every release is what `release` makes -------------------------------------------------------


def alone(policy: str = "policy.toml", *, k: object = None, at_most: object = None) -> str:
    """The policy with one threshold; its comments and layout a sweep does not keep."""
    text = Path(policy).read_text() + "# a comment\n"
    if k is not None:
        text = re.sub(r"k = \d+", f"k = {k}", text)
    if at_most is not None:
        text = text.replace("at_most = 0.9", f'at_most = "{at_most}"')
    Path("alone.toml").write_text(text)
    return "alone.toml"


def same_but_the_policy(swept: Path | str, released: Path | str) -> None:
    ours, theirs = contents(swept), contents(released)
    assert set(ours) == set(theirs)
    for name in set(ours) - {"private/policy.toml"}:
        assert ours[name] == theirs[name], name


def same_release(swept: str, policy: str = "policy.toml", *how: str, **threshold: object) -> None:
    """What was swept is what `release` makes of it under this threshold, and it verifies."""
    given = alone(policy, **threshold)
    run("release", "data.csv", "-p", given, "-o", "released", "--force")
    same_but_the_policy(swept, "released")
    assert set(contents(swept)) == PUBLIC | PRIVATE
    run("verify", swept, "-p", given, *how)


def test_releases_are_those_of_release(done: Path) -> None:
    for k in (2, 5, 20):
        same_release(f"out/k-{k}", k=k)
        kept = done / f"k-{k}" / "private" / "policy.toml"
        run("release", "data.csv", "-p", kept, "-o", f"again-{k}")
        assert contents(f"again-{k}") == contents(done / f"k-{k}")
    assert len({(done / name / "public" / "data.csv").read_bytes() for name in NAMES}) == 3


def test_confidence_releases_are_those_of_release() -> None:
    run("sweep", "data.csv", "-p", "both.toml", "--at-most", "1,0.5,1/3,2/7", "-o", "out")
    for name, level in (("1", "1"), ("0.5", "1/2"), ("1_of_3", "1/3"), ("2_of_7", "2/7")):
        same_release(f"out/at-most-{name}", "both.toml", at_most=level)


@pytest.mark.parametrize("option", ["--k", pytest.param("--at-most", marks=pytest.mark.slow)])
def test_policies_with_several_templates_of_both_kinds(option: str) -> None:
    Path("many.toml").write_text(POLICY + COUNTED + SURE)
    given = {"--k": "2,4,9", "--at-most": "0.9,0.45"}[option]
    run("sweep", "data.csv", "-p", "many.toml", option, given, "-o", "out")
    for level in given.split(","):
        kinds = {"k": level} if option == "--k" else {"at_most": Fraction(level)}
        same_release(f"out/{option[2:]}-{level}", "many.toml", "--skip-uncheckable", **kinds)
    assert [len(point["kept"]) for point in told()["points"]] == [3] * len(given.split(","))


@pytest.mark.slow
def test_files_of_other_formats() -> None:
    pq.write_table(masking.as_text(arrival.read("data.csv")[0]), "data.parquet")
    text = Path("policy.toml").read_text().replace('mask = "discretize"\nrange = [0, 100]', "")
    Path("p.toml").write_text(text.replace("[attributes.Age]", ""))
    run("sweep", "data.parquet", "-p", "p.toml", "--k", "2,30", "-o", "out")
    for k in (2, 30):
        run("release", "data.parquet", "-p", alone("p.toml", k=k), "-o", f"alone-{k}")
        ours = Path(f"out/k-{k}/public/data.parquet").read_bytes()
        assert ours == Path(f"alone-{k}/public/data.parquet").read_bytes()


# --- what is told --------------------------------------------------------------------------------


def test_the_folder(done: Path) -> None:
    assert {p.name for p in done.iterdir()} == TOP | {*NAMES, "private"}
    assert mode(done / "private") == 0o700
    assert mode(done / "private" / "state.json") == 0o600
    nothing_half_written()


def test_the_answer_to_the_same_command_makes_nothing_again(done: Path) -> None:
    before = made()
    said = sweep("--k", K)
    assert resumed(said) == 4
    assert made() == before
    assert said.stderr == ""
    lines = said.stdout.splitlines()
    assert [line.split()[0] for line in lines[:5]] == ["k", "2", "5", "20", "999"]
    assert "no release" in lines[4]
    assert "report.html" in lines[-1]
    again = json.loads(sweep("--k", K, "--json").stdout)
    assert again == told() | {"resumed": 4, "output": "out"}
    assert again["threshold"] == "k"
    quiet = sweep("--k", K, "--quiet")
    assert (quiet.stdout, quiet.stderr) == ("", "")


@pytest.mark.parametrize(
    "classifiers", ["tree", pytest.param("bayes,boosting,tree,regression", marks=pytest.mark.slow)]
)
def test_numbers_are_those_of_evaluate(classifiers: str) -> None:
    sweep("--k", "2,20", "--seed", "7", "--classifiers", classifiers)
    found = told()
    for point in found["points"]:
        k = point["threshold"]
        options = ["-p", alone(k=k), "--seed", 7, "--classifiers", classifiers]
        measured = answer("evaluate", "data.csv", f"out/k-{k}", *options)
        classes, loss = measured["classification"], measured["loss"]
        assert (found["class"], found["majority"]) == (classes["class"], classes["majority"])
        assert list(point["errors"]) == list(classes["classifiers"]) == classifiers.split(",")
        for name, errors in classes["classifiers"].items():
            assert point["errors"][name] == {
                key: rate for key, rate in errors.items() if key != "learnt_on_training"
            }
            for view, rate in found["errors"][name].items():
                assert rate == errors[view]
        assert point["distortion"] == pytest.approx(loss["distortion"], abs=1e-6)
        assert point["hidden"] == loss["hidden"]
        assert point["discernibility"] == loss["discernibility"]["after"]
        [linkage] = measured["attack"]["linkage"]
        assert point["groups"] == linkage["after"]["groups"]
        assert point["reidentified"] == pytest.approx(linkage["after"]["prosecutor_mean"], abs=1e-6)
        assert point["kept"] == [linkage["after"]["smallest"]]
        given = ["release", "data.csv", "-p", "alone.toml", "-o", "o.csv", "--force"]
        assert point["steps"] == answer(*given)["steps"]


@pytest.mark.slow
def test_the_table_says_what_the_json_says() -> None:
    sweep("--k", K, "--classifiers", "tree,bayes")
    text = Path("out/sweep.csv").read_text(encoding="utf-8")
    assert "\r" not in text
    lines = list(csv.DictReader(io.StringIO(text, newline="")))
    points = told()["points"]
    assert [line["k"] for line in lines] == ["2", "2", "5", "5", "20", "20", "999"]
    for line in lines:
        point = next(p for p in points if str(p["threshold"]) == line["k"])
        elsewhere = ("threshold", "kept", "errors", "shows", "changes")  # by column: in JSON alone
        plain = {k: v for k, v in point.items() if k not in elsewhere}
        plain |= point["errors"][line["classifier"]] if "errors" in point else {}
        plain["kept"] = " ".join(map(str, point.get("kept", ())))
        if "infeasible" in plain:  # in one line: the JSON says what to do as well
            plain["infeasible"] = "no release keeps the promise"
        told_here = {k: v for k, v in line.items() if v and k not in ("k", "classifier")}
        assert told_here == {k: str(v) for k, v in plain.items() if v != ""}


@pytest.mark.parametrize(
    ("policy", "given"),
    [
        ("policy.toml", ["--k", K]),
        pytest.param(
            "policy.toml", ["--k", "5", "--classifiers", "tree,bayes"], marks=pytest.mark.slow
        ),
        ("both.toml", ["--at-most", "1/3,0.9,0.001"]),
        ("plain.toml", ["--k", "1,2"]),
    ],
    ids=["k", "classifiers", "at-most", "no class"],
)
def test_plot_and_page_stand_alone(policy: str, given: list[str]) -> None:
    Path("plain.toml").write_text(policy_without_class())
    run("sweep", "data.csv", "-p", policy, *given, "-o", "out")
    image = ElementTree.fromstring(Path("out/sweep.svg").read_text(encoding="utf-8"))
    assert image.tag == "{http://www.w3.org/2000/svg}svg"
    assert len([e for e in image.iter() if e.tag.endswith("style")]) == 1
    html = Path("out/report.html").read_text(encoding="utf-8")
    page = Page(html)
    assert [tag for tag, _ in page.tags].count("svg") == 4  # each for a page and for a phone
    for text in (Path("out/sweep.svg").read_text(), html):
        assert "<script" not in text
        assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", text)
        assert "nan" not in re.findall(r'(?:d|x|y)="([^"]*)"', text)
        used = set(re.findall(r"var\((--[\w-]+)\)", text))
        assert all(f"{name}:" in text for name in used)
    for _, given_ in page.tags:
        assert not [name for name in given_ if name.startswith("on") or name == "src"]
        assert (given_.get("href") or "#").startswith(("#", "k-", "at-most-", "sweep."))
    assert html.count('<th scope="row" class="number">') == len(told()["points"])


def policy_without_class() -> str:
    return Path("policy.toml").read_text().replace('class = "Class"\n', "").replace(
        'keep = ["Sick"]', 'keep = ["Sick", "Class"]'
    )  # fmt: skip


def test_without_a_class() -> None:
    Path("policy.toml").write_text(policy_without_class())
    said = sweep("--k", "2,20")
    assert "tree" not in said.stdout
    assert not {"class", "errors", "majority"} & set(told())
    assert all("errors" not in point and point["distortion"] > 0 for point in told()["points"])
    assert "distortion" in Path("out/sweep.svg").read_text()
    assert "class" not in Path("out/sweep.csv").read_text()


def test_nobody_is_told_of() -> None:
    """Names are dropped, and a town with one person is shown by no release."""
    given = ["sweep", "data.csv", "-p", "both.toml", "--k", K, "-o", "out"]
    options = [[], ["--json"], ["--debug"], ["--show-values"]]
    told_of_all = [run(*given, *some).output for some in options]
    told_of_all += [Path("out", name).read_text() for name in TOP]
    released = [p.read_text() for p in Path("out").glob("k-*/public/*")]
    assert (len(told_of_all), len(released)) == (4 + 4, 3 * 4)
    assert MARK.search(Path("data.csv").read_text())
    assert not MARK.findall("\n".join(told_of_all + released))
    town = re.compile("Ulm|Bonn|Trier")
    assert not town.findall("\n".join(told_of_all))  # though some releases show them
    assert town.findall("\n".join(released))


def test_infeasible_thresholds_name_no_value() -> None:
    """The sensitive value that is too frequent belongs to somebody, and * names none."""
    text = table().replace(",y,", f",{WORD}ill,")
    Path("data.csv").write_text(text)
    Path("p.toml").write_text((POLICY + SURE).replace('["y"]', '"*"'))
    said = run("sweep", "data.csv", "-p", "p.toml", "--at-most", "0.95,0.1", "-o", "out")
    texts = [said.output, *(Path("out", name).read_text() for name in TOP)]
    assert not MARK.findall("\n".join(texts))
    said = run("sweep", "data.csv", "-p", "p.toml", "--at-most", "0.1", "-o", "o", code=3)
    assert not MARK.findall(said.output)


# --- thresholds ----------------------------------------------------------------------------------


@pytest.mark.parametrize("k", ["20, 5,2 ", "2,2,5,20,5", " 20 ,05,2,", "2,,5,20"])
def test_lists_are_read_kindly(k: str, done: Path) -> None:
    before = made()
    assert resumed(sweep("--k", k)) == 3
    assert [point["threshold"] for point in told()["points"]] == [2, 5, 20]
    assert made() == before


@pytest.mark.parametrize(
    "given",
    [
        [], ["--k", ""], ["--k", " "], ["--k", ","], ["--k", "0"], ["--k", "5,0"], ["--k", "-1"],
        ["--k", "two"], ["--k", "2;5"], ["--k", "2 5"], ["--k", "1.5"], ["--k", "5,x"],
        ["--k", "1e3"], ["--k", "²"], ["--k", "2-5"], ["--k", "nan"],
        ["--at-most", ""], ["--at-most", ","], ["--at-most", "x"], ["--at-most", "-0.1"],
        ["--at-most", "1.1"], ["--at-most", "2"], ["--at-most", "1/0"], ["--at-most", "0.2;0.4"],
        ["--at-most", "50%"], ["--at-most", "nan"], ["--at-most", "inf"], ["--at-most", "0,5,5"],
        ["--k", "2", "--at-most", "0.5"], ["--k", "", "--at-most", "0.5"],
        ["--k", "2", "--seed", "-1"], ["--k", "2", "--seed", "x"],
        ["--k", "2", "--classifiers", "oracle"], ["--k", "2", "--classifiers", "tree,oracle"],
    ],
    ids=" ".join,
)  # fmt: skip
@pytest.mark.parametrize("force", [False, True])
def test_wrong_thresholds(given: list[str], force: bool, reference: Path) -> None:
    if force:  # what stood there stays
        shutil.copytree(reference, "out")
    before = contents(".")
    options = ["-p", "both.toml", "-o", "out", *given, *(["--force"] if force else [])]
    said = run("sweep", "data.csv", *options, code=2)
    assert said.stderr
    assert contents(".") == before


@pytest.mark.parametrize(
    "given", [["--k", "9" * 5000], ["--at-most", "0." + "9" * 300]], ids=["k", "at-most"]
)
def test_enormous_thresholds(given: list[str]) -> None:
    said = run("sweep", "data.csv", "-p", "both.toml", "-o", "out", *given, code=None)
    assert said.exit_code in (0, 2, 3)


@pytest.mark.parametrize(
    ("policy", "option"), [("policy.toml", ["--at-most", "0.5"]), ("sure.toml", ["--k", "5"])]
)
def test_no_template_of_that_kind(policy: str, option: list[str]) -> None:
    text = Path("both.toml").read_text()
    start = text.index("[[anonymity]]")
    Path("sure.toml").write_text(text[:start] + text[text.index("[[confidence]]") :])
    said = run("sweep", "data.csv", "-p", policy, *option, "-o", "out", code=2)
    assert policy in said.stderr
    assert "template" in said.stderr
    assert not Path("out").exists()


def test_thresholds_are_exact() -> None:
    """0.1 is one tenth: neither of its neighbours, and the same as 1/10 and 10e-2."""
    levels = [0.9, "9/10", Fraction(9, 10), "90e-2", "  9 / 10 ", "0.90000000000000000001", 1]
    found = reticent.sweep("data.csv", "both.toml", at_most=levels, output="levels")
    assert [point["threshold"] for point in found.points] == [
        "1", "90000000000000000001/100000000000000000000", "0.9",
    ]  # fmt: skip
    kept = Policy.of("levels/at-most-0.9/private/policy.toml")
    assert kept.confidence[0].at_most == Fraction(9, 10)


@pytest.mark.parametrize(
    "given",
    [
        {"k": [True]}, {"k": [2.0]}, {"k": ["2"]}, {"k": "25"}, {"k": []}, {"k": [0]},
        {"at_most": [True]}, {"at_most": []}, {"at_most": [None]}, {"at_most": [float("nan")]},
        {"at_most": [2]}, {}, {"k": [2], "at_most": [0.5]}, {"k": [2], "classifiers": ["oracle"]},
        {"k": 0}, {"at_most": 1.5}, {"k": [2], "seed": -1},
    ],
    ids=str,
)  # fmt: skip
def test_the_function_refuses(given: dict[str, Any]) -> None:
    refusal(lambda: reticent.sweep("data.csv", "both.toml", output="out", **given))
    assert not Path("out").exists()


@pytest.mark.parametrize(
    "given",
    [
        {"k": np.array([2, 20])}, {"k": [np.int64(2), np.int32(20)]}, {"at_most": [np.float64(0.5)]},
        {"at_most": np.array([0.5, 0.75])}, {"k": iter([2, 20])}, {"k": 2}, {"at_most": 0.5},
    ],
    ids=lambda given: type(next(iter(given.values()))).__name__,
)  # fmt: skip
def test_the_function_takes_numbers_of_numpy(given: dict[str, Any]) -> None:
    assert reticent.sweep("data.csv", "both.toml", output="out", **given).points


def test_the_function_answers_as_the_command(reference: Path) -> None:
    found = reticent.sweep("data.csv", Path("policy.toml"), k=[999, 20, 5, 2], output=Path("out"))
    assert found.summary() == told() | {"resumed": 0, "output": "out"}
    assert whole() == whole(reference)
    assert found.resumed == 0
    assert found.floor["class"] == "Class"


def test_infeasible_thresholds_are_lines(done: Path) -> None:
    *fine, last = told()["points"]
    assert all("infeasible" not in point for point in fine)
    assert set(last) == {"threshold", "infeasible"}
    assert last["threshold"] == 999
    assert "150 rows" in last["infeasible"]
    page = (done / "report.html").read_text()
    assert "no release keeps this promise" in page


def test_when_no_threshold_is_feasible() -> None:
    said = sweep("--k", "151,999", code=3)
    assert "k = 151" in said.stderr  # the nearest miss
    assert "lower k to 150" in said.stderr
    assert not TOP & set(contents("."))
    with pytest.raises(Unsatisfiable):
        reticent.sweep("data.csv", "policy.toml", k=[151], output="other")
    sweep("--k", "151,150")
    assert [("infeasible" in point) for point in told()["points"]] == [False, True]


def test_an_infeasible_sweep_writes_and_replaces_nothing(reference: Path) -> None:
    sweep("--k", "999", code=3)
    assert not Path("out").exists()
    shutil.copytree(reference, "out")
    before = contents("out")
    sweep("--k", "999", "--seed", "2", "--force", code=3)
    assert contents("out") == before


# --- going on ------------------------------------------------------------------------------------


def at_each(
    patch: pytest.MonkeyPatch,
    owner: Any,
    name: str,
    do: Callable[[int], object],
    after: bool = False,
) -> None:
    """Do something at the first call of a function, at the second, and so on."""
    honest, count = getattr(owner, name), counting(1)

    def call(*given: Any, **how: Any) -> Any:
        if not after:
            do(next(count))
        found = honest(*given, **how)
        if after:
            do(next(count))
        return found

    patch.setattr(owner, name, call)


def interrupt(at: int, times: int = 1) -> Callable[[int], None]:
    """Press Ctrl-C at one of the calls."""

    def press(number: int) -> None:
        for _ in range(times if number == at else 0):
            signal.raise_signal(signal.SIGINT)

    return press


@pytest.mark.parametrize("after", [1, 3])
def test_ctrl_c_keeps_what_is_done(
    after: int, reference: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        at_each(patch, SweepFolder, "keep", interrupt(after), after=True)
        said = sweep("--k", K, code=130)
    assert f"{after} of 4 releases" in said.stderr
    assert "same command" in said.stderr
    assert said.stdout == ""
    assert not TOP & set(contents("out"))
    nothing_half_written()
    assert len(finished_points()) == after
    assert goes_on(reference) == after


def test_ctrl_c_in_the_last_release_is_too_late(
    reference: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_each(monkeypatch, SweepFolder, "keep", interrupt(4), after=True)
    goes_on(reference)


@pytest.mark.parametrize("step", [1, pytest.param(8, marks=pytest.mark.slow)])
def test_ctrl_c_during_a_search(
    step: int, reference: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        at_each(patch, Cuts, "perform", interrupt(step))
        said = sweep("--k", K, code=130)
    assert re.search(r"Stopped; \d of 4 releases are done", said.stderr)
    nothing_half_written()
    goes_on(reference)


def test_two_ctrl_c_stop_at_once(reference: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        # The release stands, but has no line in the state.
        at_each(patch, sweeps._Measuring, "__call__", interrupt(2, times=2))
        sweep("--k", K, code=130)
    nothing_half_written()
    goes_on(reference)


def test_two_ctrl_c_tell_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    at_each(monkeypatch, SweepFolder, "keep", interrupt(2, times=2), after=True)
    said = sweep("--k", K, code=130)
    assert len(list(Path("out").glob("k-*"))) >= 1
    assert "nothing" not in said.stderr


def disk_with_room(patch: pytest.MonkeyPatch, room: int) -> list[int]:
    """A disk on which nothing more can be written after so many writes; counts them."""
    writes: list[int] = []

    def write(_: int) -> None:
        writes.append(1)
        if len(writes) > room:
            raise OSError(errno.ENOSPC, "No space left on device")

    for owner, name in ((Path, "write_text"), (Path, "mkdir"), (os, "fsync")):
        at_each(patch, owner, name, write)
    return writes


def writes_of_a_sweep(patch: pytest.MonkeyPatch, k: str = K) -> int:
    with patch.context() as inner:
        writes = disk_with_room(inner, 10**9)
        sweep("--k", k)
    shutil.rmtree("out")
    return len(writes)


@pytest.mark.parametrize(
    "left",
    [
        pytest.param("out", marks=pytest.mark.slow),  # an empty folder is taken
        "out/private",
        "out/private/.state.json.99999999-0123abcd.reticent-tmp",
    ],
)
def test_a_sweep_stopped_before_its_state(left: str, reference: Path) -> None:
    """Killed, or out of space, after its folder was made and before anything stood in it."""
    place = Path(left)
    (place.parent if place.suffix else place).mkdir(parents=True)
    if place.suffix:
        place.write_text("{")
    goes_on(reference)


def full_at(room: int, reference: Path, monkeypatch: pytest.MonkeyPatch, k: str = K) -> None:
    with monkeypatch.context() as patch:
        disk_with_room(patch, room)
        said = sweep("--k", k, code=2)
    assert "No space left" in said.stderr
    nothing_half_written()
    if Path("out").exists() and not STATE.exists():
        return  # test_a_sweep_stopped_before_its_state
    goes_on(reference, k)


def test_a_full_disk(reference: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the start, in the middle of a release, and before the last page."""
    writes = writes_of_a_sweep(monkeypatch)
    for room in (0, writes // 2, writes - 2):
        full_at(room, reference, monkeypatch)
        shutil.rmtree("out", ignore_errors=True)


@pytest.mark.slow
def test_a_disk_that_is_full_at_any_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two releases: a third has the same writes, and so has a longer search."""
    few = "5,20"
    with open("policy.toml", "a") as file:
        file.write('[goal]\nsearch = "greedy"\n')
    sweep("--k", few)
    whole_one = Path("out").rename("reference")
    for room in range(writes_of_a_sweep(monkeypatch, few)):
        full_at(room, whole_one, monkeypatch, few)
        shutil.rmtree("out", ignore_errors=True)


def test_a_wider_range_takes_over_what_is_there(reference: Path) -> None:
    sweep("--k", "5")
    assert goes_on(reference, "2,20,999,5") == 1
    assert Path("out/sweep.json").read_bytes() == (reference / "sweep.json").read_bytes()


def test_a_narrower_range_loses_nothing(done: Path) -> None:
    """The page tells what was asked for; the other releases stay for who asks again."""
    before = made()
    others = sorted(path.name for path in done.glob("k-*") if path.name != "k-5")
    said = sweep("--k", "5")
    assert f"{len(others)} releases of earlier calls stand in out, too: {others[0]}" in said.stderr
    assert [point["threshold"] for point in told()["points"]] == [5]
    again = sweep("--k", K)
    assert resumed(again) == 4
    assert "earlier call" not in again.stderr
    assert made() == before


@pytest.mark.parametrize("name", sorted(TOP))
def test_a_page_removed_by_hand_is_written_again(name: str, done: Path, reference: Path) -> None:
    Path("out", name).unlink()
    assert goes_on(reference) == 4


@pytest.mark.parametrize("name", ["", "public", "private", "public/data.csv"])
def test_a_release_that_lacks_something_is_made_again(
    name: str, done: Path, reference: Path
) -> None:
    path = Path("out/k-5", name)
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    before = {file: time for file, time in made().items() if not file.startswith("k-5")}
    assert resumed(sweep("--k", K)) == 3
    assert made().items() >= before.items()
    assert whole() == whole(reference)


@pytest.mark.parametrize(
    ("name", "old", "new", "options"),
    [
        ("data.csv", ",Ulm,", ",Kiel,", []),
        ("policy.toml", "[0, 100]", "[0, 99]", []),
        ("jobs.csv", "Desk", "Office", []),
        ("", "", "", ["--seed", "2"]),
        ("", "", "", ["--date-format", "%d.%m.%Y"]),
        pytest.param("", "", "", ["--classifiers", "tree,bayes"], marks=pytest.mark.slow),
    ],
)
def test_another_sweep_is_refused_and_replaced_under_force(
    name: str, old: str, new: str, options: list[str], done: Path
) -> None:
    if name:
        Path(name).write_text(Path(name).read_text().replace(old, new))
    given = ["--k", "5", *options]
    before, times = contents("out"), made()
    said = sweep(*given, code=2)
    assert "--force" in said.stderr
    assert "another" in said.stderr
    assert (contents("out"), made()) == (before, times)
    sweep(*given, "--force")
    assert {p.name for p in Path("out").iterdir()} == TOP | {"k-5", "private"}
    assert not set(made().values()) & set(times.values())
    if name == "data.csv":  # the others differ in nothing that could be left over
        replaced = whole()
        shutil.rmtree("out")
        sweep(*given)
        assert whole() == replaced


def test_a_sweep_of_another_version_is_refused(done: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents("out")
    monkeypatch.setattr(sweeps, "__version__", "99.0")
    sweep("--k", K, code=2)
    assert contents("out") == before
    assert resumed(sweep("--k", K, "--force")) == 0


def test_a_sweep_of_the_other_kind_is_refused() -> None:
    run("sweep", "data.csv", "-p", "both.toml", "--k", "5", "-o", "out")
    run("sweep", "data.csv", "-p", "both.toml", "--at-most", "0.9", "-o", "out", code=2)
    run("sweep", "data.csv", "-p", "both.toml", "--at-most", "0.9", "-o", "out", "--force")
    assert {p.name for p in Path("out").iterdir()} == TOP | {"at-most-0.9", "private"}


@pytest.mark.slow
def test_force_makes_even_the_same_sweep_anew(done: Path, reference: Path) -> None:
    before = made()
    sweep("--k", K, "--force")
    assert not set(made().values()) & set(before.values())
    assert whole() == whole(reference)


def test_only_words_of_the_policy_make_no_other_sweep(done: Path) -> None:
    """Comments, and the k that the range replaces anyway."""
    text = Path("policy.toml").read_text()
    Path("policy.toml").write_text("# new\n" + text.replace("k = 3", "k = 17"))
    Path("data.csv").rename("moved.csv")
    assert resumed(run("sweep", "moved.csv", "-p", "policy.toml", "--k", K, "-o", "out")) == 4


def test_frames() -> None:
    frame = pd.read_csv("data.csv")
    found = reticent.sweep(frame, "policy.toml", k=[2, 20, 999], output="out")
    again = reticent.sweep(frame, "policy.toml", k=[2, 20, 999], output="out")
    assert (found.resumed, again.resumed) == (0, 3)
    for k in (2, 20):
        reticent.release(frame, alone(k=k), output=f"alone-{k}")
        same_but_the_policy(f"out/k-{k}", f"alone-{k}")
        run("verify", f"out/k-{k}", "-p", "alone.toml")
    with pytest.raises(InputError):
        reticent.sweep(frame.assign(Job="Cook"), "policy.toml", k=[2, 20], output="out")


# --- what stands where a sweep should go ---------------------------------------------------------


@pytest.mark.parametrize("force", [[], ["--force"]])
@pytest.mark.parametrize("what", ["file", "folder", "release", "empty state", "private"])
def test_what_is_no_sweep_is_not_touched(what: str, force: list[str]) -> None:
    if what == "file":
        Path("out").write_text("precious")
    elif what == "release":
        run("release", "data.csv", "-p", "policy.toml", "-o", "out")
    else:
        Path("out/private").mkdir(parents=True)
        Path("out/k-5").mkdir()
        Path("out/k-5/mine.txt").write_text("precious")
        Path("out/report.html").write_text("precious")
        if what == "empty state":
            STATE.write_text("")
    before = contents(".")
    said = sweep("--k", "5", *force, code=2)
    assert "out" in said.stderr
    assert contents(".") == before


def test_things_beside_the_releases_are_left_alone(done: Path) -> None:
    Path("out/mine.txt").write_text("precious")
    Path("out/my folder").mkdir()
    Path("out/my folder/mine.txt").write_text("precious")
    sweep("--k", K)
    sweep("--k", "5", "--seed", "2", "--force")
    assert Path("out/mine.txt").read_text() == Path("out/my folder/mine.txt").read_text()
    assert {p.name for p in Path("out").iterdir()} == TOP | {
        "k-5", "private", "mine.txt", "my folder",
    }  # fmt: skip


def test_a_folder_with_the_name_of_a_release_is_not_lost() -> None:
    sweep("--k", "2")
    Path("out/k-5").mkdir()
    Path("out/k-5/mine.txt").write_text("precious")
    said = sweep("--k", "2,5", code=2)
    assert "out/k-5" in said.stderr
    assert Path("out/k-5/mine.txt").read_text() == "precious"
    shutil.rmtree("out/k-5")
    sweep("--k", "2,5")


@pytest.mark.parametrize(
    "text", ["", "{", "null", "[]", "3", '{"mark": 1}', "\ud800", '"mark done"']
)
@pytest.mark.parametrize("force", [[], ["--force"]])
def test_a_state_that_cannot_be_read(text: str, force: list[str], done: Path) -> None:
    STATE.write_bytes(text.encode("utf-8", "surrogatepass"))
    before = contents("out")
    sweep("--k", K, *force, code=2)
    assert contents("out") == before


RECORDS: list[Any] = [3, None, {}, [], "infeasible", {"threshold": 2}, {"infeasible": 1}]


@pytest.mark.parametrize("record", RECORDS, ids=repr)
def test_a_state_with_a_damaged_record(record: Any, done: Path, reference: Path) -> None:
    """Made again, or refused."""
    state = json.loads(STATE.read_text())
    state["done"]["k-5"] = record
    STATE.write_text(json.dumps(state))
    said = run(*GIVEN, code=None)
    assert said.exit_code in (0, 2)
    assert said.exit_code == 2 or whole() == whole(reference)


@pytest.mark.parametrize("name", ["../precious", "mine", "{here}/precious", "."])
def test_force_removes_nothing_but_releases(name: str, done: Path, work: Path) -> None:
    """A state that somebody edited must not lead out of the folder, nor to other folders."""
    for place in (Path("precious"), Path("out/mine")):
        place.mkdir()
        (place / "x.txt").write_text("precious")
    state = json.loads(STATE.read_text())
    state["done"][name.format(here=work)] = {}
    STATE.write_text(json.dumps(state))
    run(*GIVEN[:-1], "20", "--seed", "3", "--force", code=None)
    assert Path("precious/x.txt").exists()
    assert Path("out/mine/x.txt").exists()


def test_force_leaves_nothing_of_a_killed_sweep(done: Path) -> None:
    """A release whose line was not yet written, and the beginning of another one."""
    state = json.loads(STATE.read_text())
    del state["done"]["k-20"]
    STATE.write_text(json.dumps(state))
    Path("out/k-5").rename("out/.k-7.99999999-0123abcd.reticent-tmp")
    sweep("--k", "5", "--seed", "2", "--force")
    assert {p.name for p in Path("out").iterdir()} == TOP | {"k-5", "private"}


def test_leftovers_are_removed_by_any_later_run(done: Path) -> None:
    """Original cells may be in them, so they must not wait for the same threshold to come again."""
    shutil.copytree("out/k-5", "out/.k-7.99999999-0123abcd.reticent-tmp")
    sweep("--k", K)
    nothing_half_written()


def test_force_interrupted_while_removing(done: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def third(number: int) -> None:
        if number == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        at_each(patch, shutil, "rmtree", third)
        sweep("--k", "5", "--seed", "2", "--force", code=130)
    sweep("--k", "5", "--seed", "2", "--force")


def test_force_removes_a_link_and_not_what_it_leads_to(done: Path) -> None:
    shutil.move("out/k-5", "elsewhere")
    Path("out/k-5").symlink_to("../elsewhere")
    before = contents("elsewhere")
    sweep("--k", "2", "--seed", "2", "--force")
    assert contents("elsewhere") == before


# --- odd inputs and places -----------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "\n", "Name,Job,Town,Age,Sick,Class\n", "\x00\x01", "x\n1\n"])
def test_tables_that_are_none(text: str) -> None:
    Path("data.csv").write_text(text)
    before = contents(".")
    sweep("--k", "1,2", code=2)
    assert contents(".") == before
    assert not Path("out").exists()


@pytest.mark.parametrize("rows", [1, 3])
def test_tables_of_a_few_rows(rows: int) -> None:
    Path("data.csv").write_text(table(rows))
    sweep("--k", "1,2,3")
    assert [("infeasible" in point) for point in told()["points"]] == [
        k > rows for k in (1, 2, 3)
    ]  # fmt: skip
    nothing_half_written()
    ElementTree.fromstring(Path("out/sweep.svg").read_text())


@pytest.mark.parametrize("rows", [3, 99])
def test_errors_on_a_few_people_are_not_told(rows: int) -> None:
    """As in a release's own report: below a hundred records, an error may tell of a person."""
    Path("data.csv").write_text(table(rows))
    sweep("--k", "2")
    assert "errors" not in told()


@pytest.mark.slow
def test_umlauts_and_semicolons_in_latin_1() -> None:
    lines = [
        f"{'Köln' if i % 3 else 'Düren'};{20 + i % 4};{'ja' if i % 2 else 'nö'}" for i in range(140)
    ]
    Path("größe.csv").write_bytes(
        ("Örtchen;Größe;Übel\n" + "\n".join(lines) + "\n").encode("latin-1")
    )
    Path("p.toml").write_text(
        'class = "Übel"\n[attributes."Größe"]\nmask = "discretize"\nrange = [0, 100]\n'
        '[[anonymity]]\nover = ["Örtchen", "Größe"]\nk = 3\n'
    )
    run("sweep", "größe.csv", "-p", "p.toml", "--k", "1,3,15,141", "-o", "aus gäbe")
    for k in (1, 3, 15):
        run("release", "größe.csv", "-p", alone("p.toml", k=k), "-o", f"alone-{k}")
        same_but_the_policy(f"aus gäbe/k-{k}", f"alone-{k}")
    found = told("aus gäbe")
    assert found["class"] == "Übel"
    assert "Größe" in found["points"][-1]["infeasible"]
    Page(Path("aus gäbe/report.html").read_text(encoding="utf-8"))


def test_what_was_assumed_is_said() -> None:
    Path("data.csv").write_bytes(table().replace("Ulm", "Köln").encode("latin-1"))
    assert "Latin-1" in sweep("--k", "5").stderr


def test_an_output_inside_the_input_folder() -> None:
    Path("in").mkdir()
    shutil.copy("data.csv", "in/data.csv")
    for done, place in enumerate(("in/out", "in/out/")):
        assert resumed(run("sweep", "in", "-p", "policy.toml", "--k", "5", "-o", place)) == done


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_what_is_for_the_owner_does_not_go_into_the_public_side_of_a_release(
    force: list[str],
) -> None:
    run("release", "data.csv", "-p", "policy.toml", "-o", "out")
    before = contents("out")
    for asked in (
        ["sweep", "--k", "5", "-o", "out/public/swept"],
        ["risk", "-o", "out/public/risk.html"],
    ):
        command, *rest = asked
        said = run(command, "data.csv", "-p", "policy.toml", *rest, *force, code=2).output
        assert "the public side of a release" in said
    assert contents("out") == before


@pytest.mark.parametrize("force", [[], ["--force"]])
@pytest.mark.parametrize(
    "place", ["data.csv", "policy.toml", "jobs.csv", "in", ".", "..", "in/..", "", "data.csv/out"]
)
def test_an_output_that_is_or_holds_an_input(place: str, force: list[str]) -> None:
    Path("in").mkdir()
    shutil.copy("data.csv", "in/data.csv")
    before = contents(".")
    run("sweep", "in", "-p", "policy.toml", "--k", "5", "-o", place, *force, code=2)
    assert contents(".") == before


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to root")
def test_a_place_that_cannot_be_written_to() -> None:
    Path("shut").mkdir(mode=0o500)
    said = run("sweep", "data.csv", "-p", "policy.toml", "--k", "5", "-o", "shut/out", code=2)
    assert "shut" in said.stderr


def test_a_place_that_the_system_refuses(monkeypatch: pytest.MonkeyPatch, done: Path) -> None:
    before = contents("out")

    def refused(*given: Any, **how: Any) -> Any:
        raise PermissionError(errno.EACCES, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", refused)
        said = run("sweep", "data.csv", "-p", "policy.toml", "--k", "5", "-o", "new", code=2)
        assert "new: cannot write it: Permission denied" in said.stderr
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refused)
        sweep("--k", "5,7", code=2)
    assert contents("out") == before
    assert not Path("new").exists()


# --- one search for all --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "levels"),
    [({"k": (2, 3, 4, 8)}, (2, 3, 4, 8)), ({"at_most": ["0.6", "0.5", "0.45", "0.4"]}, None)],
    ids=["k", "at-most"],
)
def test_thresholds_share_their_search(
    given: dict[str, Any], levels: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as thresholds go the same way, a step is taken once; the results are the same."""
    steps: list[int] = []
    at_each(monkeypatch, Cuts, "perform", steps.append)
    greedy = Path("both.toml").read_text() + '[goal]\nsearch = "greedy"\n'
    Path("both.toml").write_text(greedy)
    found = reticent.sweep("data.csv", "both.toml", output="out", **given)
    together = len(steps)
    assert together < sum(point["steps"] for point in found.points)
    apart = 0
    for level, point in zip(levels or given["at_most"], found.points, strict=True):
        steps.clear()
        kinds = {"k": level} if levels else {"at_most": Fraction(level)}
        release = reticent.release("data.csv", alone("both.toml", **kinds), output=f"alone-{level}")
        name = f"k-{level}" if levels else f"at-most-{float(level)}"
        same_but_the_policy(Path("out", name), f"alone-{level}")
        assert point["steps"] == len(release.steps) == len(steps)
        apart += len(steps)
    assert together < apart


# --- real processes ------------------------------------------------------------------------------

FAULTY = """\
import os, sys
from pathlib import Path
left, calls = int(sys.argv[1]), []
def deadly(honest):
    def call(*given, **how):
        calls.append(1)
        if len(calls) == left:
            os._exit(137)
        return honest(*given, **how)
    return call
for owner, name in ((Path, "write_text"), (Path, "mkdir"), (os, "fsync"), (Path, "rename"), (Path, "replace")):
    setattr(owner, name, deadly(getattr(owner, name)))
sys.argv[:2] = ["reticent"]
from reticent.front import main
main()
"""  # os._exit tidies up as little as a kill does


def what_a_kill_leaves() -> None:
    """Whole releases, a state that can be read, and what the next run removes."""
    whole_releases()
    for path in Path("out").rglob("private"):  # also in what is left of a release half made
        assert mode(path) == 0o700
    for text in ("private/state.json", "sweep.json"):
        if Path("out", text).exists():
            json.loads(Path("out", text).read_text())


@pytest.mark.net
def test_process_sweep(reference: Path) -> None:
    code, out, err = finished(start(*GIVEN))
    assert (code, err) == (0, "")
    assert "no release" in out
    assert whole() == whole(reference)


@pytest.mark.net
@pytest.mark.slow
def test_process_interrupted_in_a_search(slow_table: list[str]) -> None:
    for wait in (3, 6, 12):
        process = start("sweep", *slow_table, "--k", "2,30001", "-o", "out")
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
        code, out, err = finished(process)
        assert (code, out) == (130, "")
        if "Stopping" in err:
            break
    assert "releases that are done are kept" in err
    assert re.search(r"Stopped; \d of 2 releases are done", err)
    assert not list(Path("out").glob("k-2/*"))
    assert not list(Path("out").rglob("*.reticent-*"))


@pytest.mark.net
@pytest.mark.slow
def test_process_killed_at_any_write(reference: Path) -> None:
    """Killed before every thirteenth step that reaches the disk, a new place each time."""
    program = [sys.executable, "-c", FAULTY]
    for left in range(1, 200, 13):
        code, _, _ = finished(start(str(left), *GIVEN, program=program))
        if code == 0:
            break
        assert code == 137
        what_a_kill_leaves()
        before = finished_points()
        if Path("out").exists() and not STATE.exists():
            shutil.rmtree("out")  # test_a_sweep_stopped_before_its_state
        assert goes_on(reference) == len(before)
        nothing_half_written()
        shutil.rmtree("out")
    else:
        pytest.fail("never came to its end")


@pytest.mark.net
@pytest.mark.slow
def test_process_killed_again_and_again(reference: Path) -> None:
    """Each run comes a few steps further than the one before, and the last one ends."""
    program = [sys.executable, "-c", FAULTY]
    done = 0
    for left in (11, 35, 47, 61, 75):
        code, _, _ = finished(start(str(left), *GIVEN, program=program))
        what_a_kill_leaves()
        assert len(finished_points()) >= done
        done = len(finished_points())
        if code == 0:
            break
    goes_on(reference)
    nothing_half_written()


@pytest.mark.net
@pytest.mark.slow
def test_process_killed_at_random_moments(reference: Path) -> None:
    draw = random.Random(11)
    clock = time.monotonic()
    assert finished(start(*GIVEN))[0] == 0
    usual = time.monotonic() - clock
    for _ in range(8):
        shutil.rmtree("out", ignore_errors=True)
        process = start(*GIVEN)
        time.sleep(usual * draw.uniform(0.3, 1))
        process.kill()
        process.communicate()
        what_a_kill_leaves()
        if Path("out").exists() and not STATE.exists():
            shutil.rmtree("out")  # test_a_sweep_stopped_before_its_state
        goes_on(reference)
        nothing_half_written()


def test_the_page_shows_the_errors_of_the_releases() -> None:
    """Not those of the unmodified table, and of several promises the one that gives most away."""
    policy = Path("policy.toml").read_text() + '[[anonymity]]\nover = ["Town"]\nk = 2\n'
    Path("two.toml").write_text(policy)
    found = reticent.sweep("data.csv", "two.toml", k=[2, 20], output="out")
    page = Path("out/report.html").read_text(encoding="utf-8")
    for point in found.points:
        error = point["errors"]["tree"]
        assert error["AE"] != error["BE"]
        assert f"{100 * error['AE']:.1f} %</td>" in page
        folder = f"out/{found.folder_of(point)}"
        views = reticent.evaluate(
            "data.csv", folder, f"{folder}/private/policy.toml", classifiers=["tree"]
        ).attack["linkage"]
        shares = [view["after"]["prosecutor_mean"] for view in views]
        assert len(shares) == 2
        assert point["reidentified"] == pytest.approx(max(shares), abs=1e-6)
