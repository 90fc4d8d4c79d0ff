"""The verifier of hidden entries: what is special, large, or not decided; and altered cells."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from reticent.privacy import entries
from reticent.privacy.entries import (
    Altered,
    EntryFinding,
    Places,
    PublishedEntries,
    SafeEntries,
    altered,
    recount,
)
from reticent.privacy.promises import no_more_than


def table(conditions: list[list[int]], values: list[int]) -> PublishedEntries:
    width = len(conditions[0]) if conditions else 2
    cells = np.array(conditions, np.int32).reshape(len(values), width)
    return PublishedEntries(cells, np.array(values, np.int32))


def counted(
    published: PublishedEntries,
    asked: list[int],
    truth: list[int] | None,
    budget: int = entries.BUDGET,
    **promise: Any,
) -> EntryFinding:
    promise = {"min_support": 0, "min_confidence": Fraction(1, 2), **promise}
    true = None if truth is None else np.array(truth, np.int32)
    names = np.array(asked, np.int64)
    return recount(published, SafeEntries(**promise), names, true, budget=budget)


@pytest.mark.parametrize(
    ("support", "confidence", "said"),
    [
        (20, "3/4", "finds its hidden value in at most 20 of them, or in at most 75% of them"),
        (0, "1/3", "finds its hidden value in at most 33.33% (1/3) of them"),
        (0, "1/100000", "finds its hidden value in at most <0.01% (1/100000) of them"),
        (1_000, 0, "finds its hidden value in at most 1,000 of them"),
        (0, 0, "finds its hidden value in none of them"),
        (20, 1, "may find its hidden value in all of them"),
    ],
)
def test_what_the_promise_says(support: int, confidence: Any, said: str) -> None:
    promise = SafeEntries(min_support=support, min_confidence=confidence)
    assert promise.kind == "entries"
    begins = "whoever looks for records that share any of the values that a protected record shows "
    assert promise.text == begins + said
    assert "share one of the values" in promise.model_copy(update={"max_pattern": 1}).text


@pytest.mark.parametrize(
    "wrong", [{"min_support": -1}, {"min_support": 1.5}, {"min_confidence": 2}, {"max_pattern": 0}]
)
def test_promises_that_cannot_be_meant(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        SafeEntries(**{"min_support": 1, "min_confidence": 1, **wrong})


def test_tables_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="for each record"):
        PublishedEntries(np.zeros((2, 1), np.int32), np.zeros(3, np.int32))
    with pytest.raises(ValueError, match="for each record"):
        PublishedEntries(np.zeros(2, np.int32), np.zeros(2, np.int32))
    with pytest.raises(ValueError, match="from 0, or -1"):
        table([[-2]], [0])


@pytest.mark.parametrize(
    ("asked", "truth", "said"),
    [
        *(([*a], [0] * len(a), "each once") for a in ([2], [-1], [0, 0])),
        ([0], [0, 0], "or of none"),
    ],
)
def test_requests_that_cannot_be(asked: list[int], truth: list[int], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        counted(table([[1], [2]], [-1, 0]), asked, truth)


@pytest.mark.parametrize("truth", [[], None])
@pytest.mark.parametrize("published", [table([], []), table([[1], [1]], [0, 0])])
@pytest.mark.parametrize("limit", [0, Fraction(1, 2), Fraction(7, 10), 1])
def test_nothing_asked(
    published: PublishedEntries, truth: list[int] | None, limit: Fraction
) -> None:
    found = counted(published, [], truth, min_confidence=limit)
    assert (found.holds, found.exposed, found.unsafe, found.largest) == (True, (), 0, None)


@pytest.mark.parametrize("conditions", [[[-1, -1], [1, 1], [1, 1]], [[], [], []]])
@pytest.mark.parametrize("truth", [[0], None])
def test_records_that_show_no_condition(
    conditions: list[list[int]], truth: list[int] | None
) -> None:
    """There is no rule to start from; the empty pattern is none."""
    assert counted(table(conditions, [-1, 0, 0]), [0], truth, min_confidence=0).holds


def test_an_entry_that_is_still_there() -> None:
    published = table([[1], [2], [3]], [0, -1, 0])
    found = counted(published, [2, 1, 0], [0, 0, 0])
    assert found.visible == (0, 2)
    assert found.holds is False
    nothing = counted(published, [0], [-1])
    assert (nothing.holds, nothing.visible, nothing.exposed) == (False, (0,), ())


def test_the_record_itself_counts_among_those_who_share() -> None:
    found = counted(table([[1], [1]], [-1, 0]), [0], [0], min_confidence=Fraction(1, 2))
    assert (found.holds, found.largest) == (True, Fraction(1, 2))


def test_values_that_nobody_shows() -> None:
    assert counted(table([[1], [1]], [-1, 0]), [0], [9], min_confidence=0).largest is None
    assert counted(table([[1], [1]], [-1, -1]), [0, 1], None, min_confidence=0).holds


def test_without_the_truth_the_surest_value_is_named() -> None:
    published = table([[1]] * 6, [-1, 3, 3, 8, 8, 8])
    found = counted(published, [0], None, min_confidence=Fraction(1, 4))
    (exposed,) = found.exposed
    assert (exposed.value, exposed.own, exposed.support, exposed.rules) == (8, 3, 6, 2)
    assert (found.unsafe, found.largest) == (2, Fraction(1, 2))


def test_large_codes() -> None:
    most = 2**31 - 1
    found = counted(table([[most, 0], [most, most], [0, most]], [-1, most, most]), [0], [most])
    assert found.exposed == ()
    assert found.largest == Fraction(1, 2)


@pytest.mark.parametrize("summed", [0, 20])
def test_thresholds_with_huge_denominators(summed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "_SUMMED", summed)
    published = table([[1]] * 300, [-1] * 100 + [0] * 200)
    two_thirds, huge = Fraction(2, 3), 10**60
    for limit, holds in (
        (two_thirds, True),
        (two_thirds + Fraction(1, huge), True),
        (two_thirds - Fraction(1, huge), False),
        (Fraction(2 * huge // 3, huge), False),
        (Fraction(1), True),
        (Fraction(0), False),
    ):
        assert counted(published, [0], [0], min_confidence=limit).holds is holds
    assert counted(published, [0], [0], min_support=10**30, min_confidence=0).holds


def test_the_largest_fraction_up_to_another() -> None:
    for count in range(12):
        small = [Fraction(a, b) for b in range(1, max(count, 1) + 1) for a in range(b + 1)]
        for h in (Fraction(a, 31) for a in range(32)):
            assert no_more_than(h, count) == max(f for f in small if f <= h)


def wide(columns: int, records: int = 60, seed: int = 0) -> PublishedEntries:
    rng = np.random.default_rng(seed)
    conditions = rng.integers(0, 3, (records, columns)).astype(np.int32)
    values = rng.integers(0, 2, records).astype(np.int32)
    values[:2] = -1
    return PublishedEntries(conditions, values)


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("truth", [[0, 1], None])
def test_many_columns(most: int, truth: list[int] | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than a list of patterns has room for; the same as with one that has."""
    published = wide(23)
    found = counted(published, [0, 1], truth, max_pattern=most)
    monkeypatch.setattr(entries._Count, "_fits_a_list", lambda *_: True)
    listed = counted(published, [0, 1], truth, max_pattern=most)
    for name in ("holds", "exposed", "unsafe", "largest", "visible"):
        assert getattr(found, name) == getattr(listed, name)


def test_hundreds_of_columns() -> None:
    published = wide(300, 40)
    found = counted(published, [0, 1], [0, 1], max_pattern=2, min_support=5)
    assert found.complete
    pairs = 0
    cells, values = published.conditions, published.values
    for i in range(300):
        for j in range(i, 300):
            both = (cells[:, i] == cells[0, i]) & (cells[:, j] == cells[0, j])
            own = int((both & (values == 0)).sum())
            pairs += own > 5 and 2 * own > both.sum()
    assert pairs > 20
    assert found.exposed[0].rules == pairs


def test_any_pattern_of_many_columns_may_be_too_much() -> None:
    same = table([[0] * 60] * 5, [-1, 0, 1, 2, 3])
    found = counted(same, [0], [0], budget=100_000)
    assert (found.holds, found.complete, found.exposed) == (None, False, ())
    assert found.work > 100_000
    broken = counted(same, [0], [0], budget=100_000, min_confidence=Fraction(1, 10))
    assert (broken.holds, broken.complete) == (False, False)
    assert broken.exposed[0].columns == (0,)


def test_a_budget_for_lists() -> None:
    published = wide(12)
    needed = counted(published, [0, 1], [0, 1], min_confidence=1).work
    assert counted(published, [0, 1], [0, 1], needed, min_confidence=1).holds
    assert counted(published, [0, 1], [0, 1], needed - 1, min_confidence=1).holds is None


def compared(
    before: PublishedEntries,
    after: PublishedEntries,
    fixed: list[tuple[int, int]] | None = None,
    forbidden: list[tuple[int, int]] | None = None,
) -> Altered:
    shape = len(before), before.conditions.shape[1] + 1
    must, may = np.zeros(shape, bool), np.ones(shape, bool)
    for place in fixed or ():
        must[place] = True
    for place in forbidden or ():
        may[place] = False
    return altered(before, after, must, may)


NONE = Places(0, ())


def test_nothing_is_altered() -> None:
    before = table([[0, -1], [1, 2]], [3, -1])
    hidden = table([[-1, -1], [1, -1]], [-1, -1])
    for after in (before, hidden):
        assert compared(before, after) == Altered(NONE, NONE, NONE, NONE)
        assert compared(before, after).nothing
    assert compared(table([], []), table([], [])).nothing


def test_each_kind_of_alteration() -> None:
    before = table([[0, -1], [1, 2], [5, 5]], [3, -1, 4])
    after = table([[1, 7], [-1, -1], [5, -1]], [4, 6, -1])
    found = compared(before, after, [(1, 0), (2, 0)], [(1, 0), (1, 1), (2, 0)])
    assert found.changed == Places(2, ((0, 0), (0, 2)))
    assert found.appeared == Places(2, ((0, 1), (1, 2)))
    assert found.marked == Places(1, ((1, 0),))
    assert found.forbidden == Places(1, ((1, 1),))  # (1, 0) is counted already
    assert not found.nothing


def test_what_was_empty_need_not_be_published() -> None:
    before = table([[-1]], [-1])
    assert compared(before, before, [(0, 0), (0, 1)], [(0, 0), (0, 1)]).nothing


def test_the_first_ten_places() -> None:
    before = table([[0, 0, 0]] * 20, [0] * 20)
    found = compared(before, table([[1, 0, 1]] * 20, [0] * 20))
    assert found.changed.count == 40
    assert found.changed.first == tuple((t, j) for t in range(5) for j in (0, 2))


def test_tables_that_cannot_be_compared() -> None:
    one, two = table([[0]], [0]), table([[0], [0]], [0, 0])
    with pytest.raises(ValueError, match="same records"):
        altered(one, two, np.zeros((1, 2), bool), np.ones((1, 2), bool))
    with pytest.raises(ValueError, match="sensitive one last"):
        altered(one, one, np.zeros((1, 1), bool), np.ones((1, 2), bool))
