"""`reticent transactions sweep`: what each release of a range is, and going on later."""

from __future__ import annotations

import csv
import json
import random
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from at_hand import contents, mode, refusal, some_or_many
from reticent import transactions
from reticent.errors import Stopped, Unsatisfiable
from reticent.privacy.coherence import BasketExposure, Coherence
from reticent.releases.sweeping import SweepFolder
from reticent.transactions.charts import exposed_chart
from reticent.transactions.sweep_folder import point_folder
from terminal import answer, run

WORD = "SEC" + "RET"
POLICY = 'separator = ","\nprivate = ["pills*"]\nh = 0.6\nk = 3\np = 2\n'
TOP = {"report.html", "sweep.csv", "sweep.json", "sweep.svg"}


@pytest.fixture(autouse=True)
def data(work: Path) -> None:
    rng = random.Random(3)
    names = [f"{WORD} thing {i}" for i in range(9)]
    lines = []
    for _ in range(60):
        held = [name for i, name in enumerate(names) if rng.random() < 1.5 / (i + 2)]
        lines.append(",".join([*held, *(["pills a"] if rng.random() < 0.15 else [])]) + "\n")
    Path("in.csv").write_text("".join(lines))
    Path("p.toml").write_text(POLICY)


def sweep(*given: object, code: int = 0) -> Any:
    return run("transactions", "sweep", "in.csv", "-p", "p.toml", "-o", "out", *given, code=code)


def told(folder: str = "out") -> Any:
    return json.loads(Path(folder, "sweep.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("option", "given", "folders"),
    [
        ("--k", "9,2,4,2", {"k = 3": ["k = 2", "k = 4", "k = 9"]}),
        pytest.param(
            "--at-most",
            "0.5,1/3,1",
            {"h = 0.6": ["h = 1", "h = 0.5", 'h = "1/3"']},
            marks=pytest.mark.slow,
        ),
        ("--p", "unlimited,1,3", {"p = 2": ["p = 1", "p = 3", 'p = "unlimited"']}),
    ],
)
def test_releases_are_those_of_release(
    option: str, given: str, folders: dict[str, list[str]]
) -> None:
    found = answer("transactions", "sweep", "in.csv", "-p", "p.toml", "-o", "out", option, given)
    assert found == told() | {"resumed": 0, "output": "out"}
    [(was, policies)] = folders.items()
    assert len(found["points"]) == len(policies)
    before: set[str] = set()
    for number, (point, says) in enumerate(zip(found["points"], policies, strict=True)):
        name = f"{option[2:]}-{point['threshold']}".replace("/", "_of_")
        Path("alone.toml").write_text(POLICY.replace(was, says))
        one = answer("transactions", "release", "in.csv", "-p", "alone.toml", "-o", "o", "--force")
        ours, theirs = contents(f"out/{name}"), contents("o")
        assert {*ours} == {*theirs}
        assert all(ours[path] == theirs[path] for path in {*ours} - {"private/policy.toml"})
        run("verify", f"out/{name}")
        run("verify", f"out/{name}", "-p", "alone.toml")
        assert (point["suppressed"], point["loss"]) == (one["items"]["suppressed"], one["loss"])
        removed = json.loads(Path("o/private/suppressed.json").read_text())["suppressed"]
        gone = {item["item"] for item in removed}
        if number:
            assert (point["more"], point["back"]) == (len(gone - before), len(before - gone))
            assert point["same"] == (gone == before)
        measured = answer("transactions", "evaluate", "in.csv", "o", "-p", "alone.toml")
        assert point["nuggets"] == measured["nuggets"]["after"]
        assert point["unique"] == measured["exposed"]["after"][3]["unique"]
        assert found["unique"] == measured["exposed"]["before"][3]["unique"]
        before = gone
    assert f" {'h' if option == '--at-most' else option[2:]} " in found["promise"]


def test_what_stands_beside_the_releases() -> None:
    said = sweep("--k", "2,3,4,61")
    assert {p.name for p in Path("out").iterdir()} == TOP | {"k-2", "k-3", "k-4", "private"}
    assert mode(Path("out/private")) == 0o700
    points = told()["points"]
    assert "asks for more transactions" in points[-1]["infeasible"]
    assert "no release" in said.stdout
    lines = list(csv.DictReader(Path("out/sweep.csv").read_text().splitlines()))
    assert [line["k"] for line in lines] == ["2", "3", "4", "61"]
    assert [line["suppressed"] for line in lines[:3]] == [str(p["suppressed"]) for p in points[:3]]
    page = Path("out/report.html").read_text()
    assert 'every threshold">\n<p class="hint many"' in page
    assert page.count("<svg") == 4  # each for a page and for a phone
    assert page.count('href="k-') == 3
    assert "no release keeps this promise" in page
    assert "nothing" in said.stdout or all(not p.get("same") for p in points)
    # nobody's items stand beside them, but in what is released and in what is its owner's
    assert not re.findall(WORD, said.output + "".join(Path("out", n).read_text() for n in TOP))
    assert WORD in Path("in.csv").read_text()
    assert sweep("--k", "2,3,4,61").stdout.count("4 of these had been done before") == 1


@pytest.mark.parametrize("after", some_or_many(1, 0, 2))
def test_an_interrupted_sweep_goes_on(after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    run("transactions", "sweep", "in.csv", "-p", "p.toml", "-o", "whole", "--k", "2,4,9")
    keep = SweepFolder.keep
    kept: list[str] = []

    def interrupted(self: SweepFolder, name: str, record: dict[str, Any]) -> None:
        if len(kept) == after:
            raise KeyboardInterrupt
        kept.append(name)
        keep(self, name, record)

    with monkeypatch.context() as patch:
        patch.setattr(SweepFolder, "keep", interrupted)
        with pytest.raises(Stopped, match=f"{after} of 3 releases are done"):
            transactions.sweep("in.csv", "p.toml", output="out", k=[2, 4, 9])
    assert not Path("out/report.html").exists()
    assert (
        answer("transactions", "sweep", "in.csv", "-p", "p.toml", "-o", "out", "--k", "2,4,9")[
            "resumed"
        ]
        == after
    )
    ours, theirs = dict(contents("out")), dict(contents("whole"))
    assert ours == theirs
    more = sweep("--k", "2,4,20")  # a wider range takes over what is done
    assert "2 of these" in more.stdout
    Path("in.csv").write_text(Path("in.csv").read_text() + "other thing\n")
    assert "another sweep stands here" in sweep("--k", "2", code=2).stderr
    sweep("--k", "2", "--force")
    assert {p.name for p in Path("out").glob("k-*")} == {"k-2"}


def test_too_many_sets_do_not_end_a_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    from reticent.privacy import coherence

    recount = coherence.recount

    def tired(baskets: Any, promise: Any, **how: Any) -> Any:
        return recount(baskets, promise, budget=1 if promise.k == 4 else 10**9)

    monkeypatch.setattr(coherence, "recount", tired)
    said = sweep("--k", "2,4,9")
    assert "not known" in said.stdout
    assert [point.get("undecided", False) for point in told()["points"]] == [False, True, False]
    assert not Path("out/k-4").exists()


def test_python_hands_its_own_baskets(tmp_path: Path) -> None:
    rows = [{"a", "b"}] * 5 + [{"a", "c"}] * 3 + [set()]
    found = transactions.sweep(
        rows, {"private": [], "k": 2}, output=tmp_path / "out", k=range(2, 7)
    )
    assert [point["suppressed"] for point in found.points] == [0, 0, 1, 1, 2]
    assert [point.get("same") for point in found.points] == [None, True, False, True, False]
    assert str(found).startswith("9 transactions, 3 items")
    again = transactions.sweep(rows, {"private": [], "k": 2}, output=tmp_path / "out", k=3)
    assert again.resumed == 1
    assert "4 releases of earlier calls stand in" in again.notes[-1]
    assert not any("earlier call" in note for note in found.notes)
    other = [*rows, {"a"}]
    refusal(
        lambda: transactions.sweep(other, {"private": [], "k": 2}, output=tmp_path / "out", k=3),
        "another sweep",
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "give one of"),
        (["--k", "2", "--p", "3"], "give one of"),
        (["--k", "0"], "whole numbers of at least 1"),
        (["--k", "x"], "--k 1,2,3"),
        (["--p", "0,1"], 'or "unlimited"'),
        (["--k", "unlimited"], "--k 1,2,3"),
        (["--at-most", "2"], "between 0 and 1"),
        (["--h", "0"], "confidence of 0"),
        (["--k", ","], "at least one threshold"),
        (["--h", "1/" + "3" * 70], "too many digits"),
    ],
)
def test_what_cannot_be_swept(given: list[str], said: str) -> None:
    assert said in sweep(*given, code=2).stderr
    assert not Path("out").exists()


def test_a_sweep_of_nothing_that_can_be_kept() -> None:
    policy = {"separator": ",", "private": [], "k": 3}
    refusal(
        lambda: transactions.sweep("in.csv", policy, output="out", at_most=0.2), "no h to sweep"
    )
    refusal(
        lambda: transactions.sweep("in.csv", policy, output="out", k=[70, 80]), "k = 70",
        kind=Unsatisfiable,
    )  # fmt: skip
    assert not Path("out").exists()
    assert point_folder("at_most", Fraction(1, 3)) == "at-most-1_of_3"


def test_charts_of_both_sides_have_one_scale() -> None:
    before, after = ([BasketExposure(1, n, n, n, Fraction(1))] for n in (41, 16))
    promise = Coherence(h=Fraction(1, 2), k=2, p=1)
    drawn = [
        exposed_chart(one, 100, promise, other) for one, other in ((before, after), (after, before))
    ]
    ticks = [re.findall(r'class="tick"[^>]*end">([^<]*)<', str(chart)) for chart in drawn]
    assert ticks[0] == ticks[1]
    assert float(ticks[0][-1]) >= 41
