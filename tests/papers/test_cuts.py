"""The comparison of searches in `benchmarks`: small, end to end, and its arithmetic by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import confidence_bounding
import cuts
import cuts_report
from cuts_report import Line, NoClass, Results, compared, tally
from datasets import CLASS, DATA_SETS, DataSet, NoData
from lattice import Hierarchy
from reticent import release


def tiny() -> DataSet:
    """180 records; the job tells the class, the age and the town do not."""
    draw = np.random.default_rng(5)
    job = draw.choice(["cook", "clerk", "smith"], 180, p=[0.5, 0.3, 0.2])
    columns = {
        "job": job.tolist(),
        "age": draw.integers(20, 60, 180).astype(float).tolist(),
        "town": draw.choice(["Ulm", "Bonn"], 180, p=[0.8, 0.2]).tolist(),
        CLASS: np.where((job == "cook") ^ (draw.random(180) < 0.1), "yes", "no").tolist(),
    }
    return DataSet(
        "Tiny", pa.table(columns), frozenset({"age"}), 120, ("job", "age", "town"), ("town",)
    )


def test_tiny_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DATA_SETS, "Tiny", tiny)
    monkeypatch.setattr(cuts_report, "RESULTS", tmp_path)
    # In this process: starting others would take longer than the work.
    monkeypatch.setattr(cuts, "each", lambda work, jobs: [*map(work, jobs)])
    monkeypatch.setattr(cuts, "splits", lambda part, data: ["0", "1"])
    monkeypatch.setattr(cuts, "_ready", True)
    monkeypatch.setitem(confidence_bounding.LEVELS, "Tiny", ("0.5",))
    seen = ("job", "age", "town")
    by_part = {
        "small": [cuts.anonymous("small", "Tiny", "Top3", seen, seen, 4, "suppress")],
        "confidence": list(cuts.bounded("confidence", "Tiny"))[:1],
    }
    monkeypatch.setattr(cuts, "cases", lambda part: iter(by_part[part]))
    for part in by_part:
        cuts.run(part, "tree", Results.read()).write()
    kept = Results.read()
    assert [line.method for line in kept.lines[:4]] == list(cuts.METHODS)
    assert len(kept.lines) == 4 * 2 + 3 * 2 * len(by_part["confidence"])
    assert all(line.error < 30 for line in kept.lines if line.part == "small")
    assert sum(line.left_out for line in kept.lines if "2 %" not in line.method) == 0
    said = (tmp_path / "cuts.md").read_text(encoding="utf-8")
    assert "| Tiny, k, Top5–9 |" in said
    assert "| Tiny, confidence |" in said
    summary = (tmp_path / "cuts.csv").read_text(encoding="utf-8").splitlines()
    assert summary[1].startswith("small,Tiny,Top3,k = 4,suppress,tree,paper,2,")


def lines(data: str, method: str, *errors: float) -> list[Line]:
    asked = ("small", data, "Top5", "k = 5", "suppress", method)
    return [
        Line(*asked, str(split), "tree", round(10 * error), 1000, 0, 1.0)
        for split, error in enumerate(errors)
    ]


def test_won_tied_and_lost_by_hand() -> None:
    found = compared(
        [
            *lines("CRX", "paper", 10, 20, 30),
            *lines("CRX", "conditional", 8, 17, 26),  # -2, -3, -4: -3 ± 0.58
            *lines("CRX", "thorough", 11, 23, 28),  # 1, 3, -2: 0.67 ± 1.45
            *lines("CRX", "thorough + 2 %", 11, 21, 31),  # always 1: no doubt about it
            *lines("Adult", "paper", 15, 16),
            *lines("Adult", "conditional", 15.2, 16.4),  # 0.3 ± 0.1: the most that ties
            *lines("Adult", "thorough", 15.2, 16.5),
            *lines("Adult", "thorough + 2 %", 15, 16),
        ]
    )
    by = {(x.setting[1], x.method): x for x in found}
    won = by["CRX", "conditional"]
    assert (won.difference, won.error, won.paper) == pytest.approx((-3, 17, 20))
    assert won.standard_error == pytest.approx(3**-0.5)
    assert by["CRX", "thorough"].standard_error == pytest.approx((19 / 9) ** 0.5)
    others = {at: x.verdict for at, x in by.items() if at[1] != "paper"}
    assert list(others.values()) == ["won", "tied", "lost", "tied", "lost", "tied"]
    assert tally([x for x in found if x.method == "thorough + 2 %"]) == (0, 1, 1, 1)


def test_a_part_replaces_its_own_lines() -> None:
    old = Results(tuple(lines("CRX", "paper", 1)))
    assert len(old.with_lines(lines("CRX", "paper", 2), "small", "tree").lines) == 1
    assert len(old.with_lines([], "columns", "tree").lines) == 1
    assert len(old.with_lines([], "small", "j48").lines) == 1


def test_no_class_counts_as_the_lattice_does(tmp_path: Path) -> None:
    paths = [["20", "young", "*"], ["30", "young", "*"], ["50", "old", "*"], ["60", "old", "*"]]
    file = tmp_path / "age.csv"
    file.write_text("".join(";".join(path) + "\n" for path in paths), encoding="utf-8")
    ages = ["20", "20", "30", "50", "60", "60"]
    policy = {
        "attributes": {"age": {"mask": "generalize", "taxonomy": str(file)}},
        "anonymity": [{"over": ["age"], "k": 3}],
    }
    found = release(pa.table({"age": ages}), policy)  # three young, three old
    table = pa.table({"age": ages, CLASS: ["no"] * 6})
    lost = cuts.lost(found, table, [Hierarchy.of("age", paths)])
    assert lost == pytest.approx((100 / 3, 1, 9 + 9))


def test_no_class_is_read_off_a_table() -> None:
    methods = ("paper", "thorough", "lattice", "thorough + 2 %", "lattice + 2 %")
    rows = [
        NoClass(aim, 5, method, 10.0 + at, 2.0, 300 + at, at, 0.1)
        for aim in ("distortion", "discernibility", "loss", "levels")
        for at, method in enumerate(methods)
    ]
    said = "\n".join(cuts_report.report([], Results((), tuple(rows))))
    assert "| 5 | 10.00 | 11.00 (1) | 12.00 (2) | 13.00 (3) | 14.00 (4) |" in said
    assert "best at so many of 1 k: loss 1 and 1, levels 1 and 1, discernibility 1 and 1." in said


@pytest.mark.data
def test_those_left_out_do_not_take_the_cut_with_them() -> None:
    """The best cut shows large gains; without a range, rare people hold the ends of them."""
    try:
        adult = DATA_SETS["Adult"]()
    except NoData as missing:
        pytest.skip(str(missing))
    test = cuts.held_out(adult, "0")
    seen = tuple(adult.attributes)
    case = cuts.anonymous("columns", "Adult", "Top7", adult.top[:7], seen, 100, "suppress")
    table = adult.table.select([*seen, CLASS])
    training = table.filter(pa.array(~test))
    wrong = {}
    for method in ("paper", "thorough + 2 %"):
        found = release(training, {**case.policy, **cuts.METHODS[method]})
        wrong[method] = cuts.wrong_after(found, table, test, seen, "tree")
    assert found.left_out is not None
    assert found.cuts["capital-gain"] != ["[0,99999]"]
    assert wrong["thorough + 2 %"] < wrong["paper"]
