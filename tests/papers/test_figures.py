"""The experiments of `benchmarks/figures`: one of them end to end, small, and what they share."""

from __future__ import annotations

import csv
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import baskets
import credit_anonymity
import every
import experiment
from datasets import ADULT, NoData, crx
from reticent.pages.curves import Series
from reticent.suppress.baskets.moles import KnownBaskets
from reticent.suppress.sets import Mask, Sets
from several_templates import requirements


def test_a_chart_stands_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiment, "RESULTS", tmp_path)
    series = [Series("A & B", [(20, 14.5), (1000, 17.0)]), Series("flat", [(20, 3)])]
    experiment.Kept("some").chart("error < all", "k", series, x_log=True)
    image = ElementTree.parse(tmp_path / "some.svg").getroot()
    assert image.findtext("{http://www.w3.org/2000/svg}title") == "error < all"
    assert "stroke" in (image.findtext("{http://www.w3.org/2000/svg}style") or "")


def test_random_templates_are_those_of_last_time() -> None:
    drawn = requirements(ADULT)
    assert drawn == requirements(ADULT)
    assert len(drawn) == 30
    for templates in drawn:
        assert len({len(template) for template in templates}) == 1
        assert len(set(templates)) == len(templates) <= 7


def test_closing_table_has_a_line_a_claim() -> None:
    ours = experiment.Claim("what", "< 2", "at most 1.5", True)
    theirs = experiment.Claim("what", "< 2", "at most 2.1", False)
    closing = every.table([ours], [theirs])
    assert "| what | < 2 | at most 1.5 | yes | at most 2.1 (NO) |" in closing


@pytest.mark.data
def test_credit_screening_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        crx()
    except NoData as missing:
        pytest.skip(str(missing))
    monkeypatch.setattr(experiment, "RESULTS", tmp_path)
    # In this process: starting others would take longer than the work.
    monkeypatch.setattr(credit_anonymity, "each", lambda work, jobs: [*map(work, jobs)])
    monkeypatch.setitem(credit_anonymity.KS, "CRX", (100, 300))
    found = credit_anonymity.measure("CRX", "tree", experiment.Kept("credit"))
    for be, be_mean, ae, ae_mean, ue, ue_mean in found.values():
        assert ae - be < 4  # the paper's bound
        assert ae_mean - be_mean < 4
        assert ue - ae > 10
        assert ue_mean - ae_mean > 10
    with (tmp_path / "credit-crx.csv").open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 6
    ElementTree.parse(tmp_path / "credit-crx.svg")


def test_an_integer_program_that_meets_threats_one_by_one() -> None:
    every = Sets(np.array([0, 2, 4, 6, 8]), np.array([0, 1, 1, 2, 2, 0, 2, 3], np.int32))

    def left(gone: Mask) -> Sets:
        there = [i for i, some in enumerate(every) if not gone[list(some)].any()]
        return every.some(np.array(there[:1], np.int64))

    costs = np.array([5, 4, 9, 3])
    few = every.some(np.array([0]))
    cost, solved, rounds = baskets.cheapest(costs, few, left, until=float("inf"))
    assert (cost, solved) == (12, True)  # 0, 1 and 3; 1 and 2 would cost 13
    assert rounds > 1


def test_items_of_rare_baskets() -> None:
    rows = [[0, 1], [0, 1], [2], [2], [1, 3]]
    starts, items = np.cumsum([0, *map(len, rows)]), np.concatenate(rows).astype(np.int32)
    none = np.zeros(len(rows) + 1, np.int64), np.zeros(0, np.int32), 0
    gone = baskets.in_rare_baskets(KnownBaskets(starts, items, 4, *none), 2)
    assert gone.tolist() == [False, True, False, True]


@pytest.mark.data
def test_mushrooms_are_released_at_the_least_loss() -> None:
    try:
        found = baskets.optimum(baskets.Setting("mushroom", Fraction(1), 10, 3))
    except NoData as missing:
        pytest.skip(str(missing))
    assert found.solved
    assert found.best == pytest.approx(found.bound)
    assert round(found.best, 2) == 17.48
