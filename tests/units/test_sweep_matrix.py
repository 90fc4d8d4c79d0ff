"""How much columns show, from the definition; and where a range of thresholds changes anything."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from naive.evidence import share_shown as naive_share
from reticent.tables import text
from reticent.tables.evidence.loss import share_shown
from reticent.tables.sweep_folder import Sweep
from reticent.tables.sweep_matrix import with_changes
from reticent.tables.sweep_page import page_of


def test_the_share_shown_is_that_of_its_definition_and_falls_with_every_grouping() -> None:
    draw = random.Random(3)
    for _ in range(200):
        values = [draw.randrange(draw.choice((1, 2, 7))) for _ in range(draw.randint(1, 30))]
        to = [draw.randrange(3) for _ in range(7)]
        coarser = [draw.randrange(2) for _ in range(3)]
        first = [to[value] for value in values]
        second = [coarser[value] for value in first]
        shares = [share_shown(np.array(values), np.array(some)) for some in (first, second)]
        assert shares == [pytest.approx(naive_share(values, some)) for some in (first, second)]
        assert 0 <= shares[1] <= shares[0] <= 1
        renamed = share_shown(np.array(values), 6 - np.array(values))
        assert renamed == (len(set(values)) > 1)  # exactly: nothing is lost by other names


def point(
    threshold: object, shows: dict[str, float] | None, cuts: Sequence[str] = "", **more: Any
) -> Any:
    record: dict[str, Any] = {"threshold": threshold}
    if shows is None:
        return record | {"infeasible": "no"}
    return record | {
        "kept": [1], "steps": 1, "groups": 1, "reidentified": 0.5, "distortion": 1.0,
        "shows": shows, "cuts": dict(zip(shows, cuts, strict=True)), **more,
    }  # fmt: skip


def swept(*records: Any) -> Sweep:
    points = with_changes(records)
    return Sweep("k", points, {"reason": "no class"}, 0, "out", (), ("kept",), ("kept",), 9, 1)


FOUND = swept(
    point(2, {"A": 1.0, "B": 0.5, "C": 0.0, "D": 1.0}, "abcd"),
    point(5, {"A": 1.0, "B": 0.5, "C": 0.0, "D": 1.0}, "abcd"),
    point(6, {"A": 1.0, "B": 0.5, "C": 0.0, "D": 1.0}, "abcd", left_out=3),
    point(9, {"A": 0.0, "B": 0.5, "C": 0.0, "D": 1.0}, "zxcd", left_out=3),
    point(20, {"A": 0.0004, "B": 0.2, "C": 0.0, "D": 1.0}, "yycd", left_out=3),
    point(30, {"A": 0.0004, "B": 0.3, "C": 0.0, "D": 1.0}, "yzcd", left_out=3),
    point(99, None),
)


def test_changes_are_told_where_a_release_differs_from_the_looser_one() -> None:
    told = [(one.get("changes"), one.get("same")) for one in FOUND.points]
    assert told == [
        (None, None), ({}, True), ({}, False), ({"A": "gone", "B": "other"}, False),
        ({"A": "new", "B": "less"}, False), ({"B": "more"}, False), (None, None),
    ]  # fmt: skip
    assert all("cuts" not in one for one in FOUND.points)


def test_the_terminal_takes_equal_releases_together() -> None:
    said = text.sweep(FOUND)
    assert "what each column shows, by k  2–5    6      9      20     30     99\n" in said
    assert "A                             100 %  100 %  0 %○   <1 %●  <1 %   –\n" in said
    assert "B                             50 %   50 %   50 %◇  20 %▾  30 %▴  –\n" in said
    assert "As they were under every threshold: D." in said
    assert "Nothing is shown under any threshold of: C." in said
    assert "The release is the same for 2–5." in said


def test_the_page_has_every_threshold_and_signs_beside_shades() -> None:
    page = page_of(FOUND)
    assert page.count('<td class="number turn" style="--shade:') == 2 * 4
    assert 'style="--shade: 19%">◇ 50 %</td>' in page
    assert "<strong>Nothing changes within 2–5</strong>" in page
    assert "Under no threshold anything is shown of: C." in page


@pytest.mark.parametrize("quiet", [True, False])
def test_hundreds_of_columns_and_thresholds_stay_readable(quiet: bool) -> None:
    names = [f"column {i}" for i in range(300)]
    points = [
        point(k, {name: 0.0 if quiet else float(Fraction(1, k)) for name in names}, [str(k)] * 300)
        for k in range(2, 22)
    ]
    said, page = text.sweep(swept(*points)), page_of(swept(*points))
    assert len(said.splitlines()) < 200
    assert max(map(len, said.splitlines())) < 150
    assert ("column 0, column 1, column 2 and 297 more" in said) == quiet
    assert ("100 more columns are in sweep.json" in page) == (not quiet)
    assert len(page) < 1_500_000
