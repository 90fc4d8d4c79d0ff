"""What is hidden keeps entries safe, is allowed, and is not more than it must be."""

from __future__ import annotations

import random
from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations
from itertools import count as counting

import numpy as np
import pytest

from entries_at_hand import OPEN, allowed, defined, holds, listed, published, spelt
from naive.entries import unsafe_rules
from reticent.privacy.entries import altered
from reticent.suppress.entries.search import REGIONS, STRATEGIES, Partial, RuleLimits, hide
from reticent.suppress.sets import GaveUp, Halt


def random_table(rng: random.Random) -> tuple[Partial, RuleLimits]:
    """A few records, some of whom asked; often with entries that must be published."""
    records, width = rng.randint(1, 14), rng.randint(1, 4)
    cells = [[rng.choice([-1, 0, 0, 0, 1, 1, 2]) for _ in range(width)] for _ in range(records)]
    truth = np.array([rng.choice([-1, 0, 0, 0, 1, 1, 2]) for _ in range(records)], np.int32)
    asked = np.array([rng.random() < 0.3 for _ in range(records)]) & (truth >= 0)
    share = rng.choice([0, 0, 0.3])
    fixed = np.array([[rng.random() < share for _ in range(width + 1)] for _ in range(records)])
    fixed[asked, width] = False
    confidence = Fraction(rng.randint(0, 10), 10)
    limits = RuleLimits(rng.choice([0, 0, 0, 1, 2]), confidence, rng.choice([None, None, 1, 2]))
    return Partial(np.array(cells, np.int32), truth, asked, fixed), limits


def region(table: Partial, record: int, column: int) -> str:
    if column == table.conditions.shape[1]:
        return REGIONS[0]
    return REGIONS[2] if table.asked[record] else REGIONS[1]


@pytest.mark.parametrize("seed", range(0, 400, 100))
def test_every_region(seed: int) -> None:
    some = exposed = 0
    for offset in range(100):
        rng = random.Random(seed + offset)
        table, limits = random_table(rng)
        for regions in OPEN:
            hidden = hide(table, limits, regions, rng.choice(STRATEGIES), seed)
            entries, open_ = listed(hidden), allowed(table, regions)
            before = published(table)
            assert altered(before, published(table, entries), table.fixed, open_).nothing
            assert len({*entries}) == len(entries)
            # an entry that is hidden was there
            assert all(
                (before.values[r] if j == before.conditions.shape[1] else before.conditions[r, j])
                >= 0
                for r, j in entries
            )
            if len(hidden.exposed):
                everything = [(int(r), int(j)) for r, j in zip(*np.nonzero(open_), strict=True)]
                assert table.fixed.any()
                assert not holds(table, limits, everything)
                exposed += 1
                continue
            assert holds(table, limits, entries)
            for at, (record, column) in enumerate(entries):
                assert not holds(table, limits, entries[:at] + entries[at + 1 :])
                reason = hidden.reasons[at]
                assert reason is not None
                request, columns = reason
                assert table.asked[request]
                assert columns
                own = region(table, record, column) == REGIONS[2]
                assert request == record if own else column in (*columns, len(open_[0]) - 1)
            some += len(entries)
    assert some
    assert exposed


@pytest.mark.parametrize("seed", range(0, 400, 100))
def test_how_many_rules(seed: int) -> None:
    """The rules that were unsafe before, against their definition."""
    for offset in range(100):
        table, limits = random_table(random.Random(seed + offset))
        unsafe = unsafe_rules(defined(table, limits))
        rules = {(r.pattern, r.value) for rules in unsafe.values() for r in rules}
        assert hide(table, limits, REGIONS).rules == len(rules)


def test_the_same_again() -> None:
    """Lots are drawn by a seed."""
    table, limits = random_table(random.Random(3))
    for strategy in STRATEGIES:
        first, second = (listed(hide(table, limits, REGIONS[1:2], strategy, 5)) for _ in "ab")
        assert first == second


def marked_table(rng: random.Random) -> tuple[Partial, RuleLimits]:
    """Very few records, of which much must be published."""
    records, width = rng.randint(3, 6), rng.randint(1, 3)
    cells = [[rng.choice([0, 0, 0, 1]) for _ in range(width)] for _ in range(records)]
    truth = np.array([rng.choice([0, 0, 1]) for _ in range(records)], np.int32)
    asked = np.array([rng.random() < 0.45 for _ in range(records)])
    fixed = np.array([[rng.random() < 0.55 for _ in range(width + 1)] for _ in range(records)])
    fixed[asked, width] = False
    return (
        Partial(np.array(cells, np.int32), truth, asked, fixed),
        RuleLimits(0, Fraction(rng.choice([1, 2, 3, 4, 5, 6, 7]), 8)),
    )


# The last three were exposed by what had been hidden for others.
@pytest.mark.parametrize("seeds", [range(60), (1504, 3577, 3578)], ids=["some", "known"])
def test_nobody_is_exposed_who_need_not_be(seeds: Iterable[int]) -> None:
    looked = 0
    for seed in seeds:
        table, limits = marked_table(random.Random(seed))
        for regions in OPEN:
            if not len(hide(table, limits, regions).exposed):
                continue
            open_ = [(int(r), int(j)) for r, j in np.argwhere(allowed(table, regions))]
            if len(open_) > 9:
                continue
            looked += 1
            assert not any(
                holds(table, limits, some)
                for size in range(len(open_) + 1)
                for some in combinations(open_, size)
            )
    assert looked or 1504 in seeds


@pytest.mark.parametrize(
    ("region", "lines"),
    [
        # To hide the first condition of the first or third protects one and exposes the other.
        (REGIONS[1], "ab y?, ac x?, ab y, ab y, Ad x, Ae x, Af x, Ag x, hb x"),
        (REGIONS[2], "ab y?, Ac x?, ab y, ab y, ad x, ae x, af x, ag x, hb x"),
    ],
)
def test_another_choice_protects_everybody(region: str, lines: str) -> None:
    table, limits = spelt(*lines.split(", ")), RuleLimits(0, Fraction(1, 2))
    hidden = hide(table, limits, [region])
    assert not len(hidden.exposed)
    assert holds(table, limits, listed(hidden))
    assert len(hidden) == 1


def test_another_plan_protects_everybody() -> None:
    """The plan that promises most leaves one exposed, and the next promises no more than it."""
    table = spelt("ab x?", "Bb X", "Ab X", "bb x?", "BB x?", "bb X")
    limits = RuleLimits(0, Fraction(1, 3))
    hidden = hide(table, limits, REGIONS)
    assert not len(hidden.exposed)
    assert holds(table, limits, listed(hidden))


@pytest.mark.parametrize("regions", [some for some in OPEN if REGIONS[1] in some])
def test_without_marks_nobody_is_exposed(regions: tuple[str, ...]) -> None:
    """Where nothing must be published: what is hidden for one value exposes people with another."""
    for seed in range(150):
        rng = random.Random(seed)
        records, width = rng.randint(15, 30), rng.randint(2, 3)
        rows = [[rng.randrange(2) for _ in range(width)] for _ in range(records)]
        truth = [row[0] if rng.random() < 0.4 else rng.randrange(4) for row in rows]
        asked = np.array([rng.random() < 0.25 for _ in range(records)])
        fixed = np.zeros((records, width + 1), np.bool_)
        table = Partial(np.array(rows, np.int32), np.array(truth, np.int32), asked, fixed)
        limits = RuleLimits(rng.choice([0, 1]), Fraction(rng.randint(3, 4), 10))
        hidden = hide(table, limits, regions, rng.choice(STRATEGIES), seed)
        assert not len(hidden.exposed)
        assert holds(table, limits, listed(hidden))


@pytest.mark.parametrize(
    ("regions", "support", "confidence", "lines"),
    [
        (REGIONS[1:], 0, "0.3", "ba y?, bb z, ba z?, bb z, ab x, bb y, ab x?, bb y, bb y?"),
        (REGIONS[1:2], 0, "0.2",
         "ab z?, ab y, bb y?, ab z, ab x, ab x?, aa x, ab x, ab z, ab x?, ab x"),
        (REGIONS[1:2], 1, "0.2",
         "aa z?, ba y, bb x, aa z, ba x?, ba y, aa x, bb x, ba x, aa x, bb x, ba y?, ba w, bb w"),
        # What such a rule counts must be what it counts while all are still hidden.
        (REGIONS[2:], 0, "0.2", "baa z, aba x?, aba x, aba y?, aaa z?, abb x?, bbb z?"),
        (REGIONS[2:], 0, "0.3",
         "bba z, aaa z?, baa z?, bab x, bab z, baa y, aba z, baa y?, aab x?"),
        # All comes back that can.
        (REGIONS[1:2], 0, "0.4",
         "aab x, aaa w, bbb y?, aab z, bbb y, abb x?, aba x, aab x, abb x"),
        (REGIONS[1:2], 1, "0.5", "bbb y?, baa y?, baa y, baa y?, aaa w?, abb z, bba y, bba y"),
        # A condition that is shown again weakens rules about other values: one more round.
        (REGIONS[1:2], 0, "0.2",
         "aa y, aa y?, aa x, aa x?, ab x?, ab z?, aa x?, ab w?, ab y?, ba y, ba w, ba y?, aa x, aa y"),
        (REGIONS[1:], 0, "0.2",
         "aba x?, aba z?, aab w?, aaa x?, aaa z, abb w, aaa y, bba y?, abb x, bbb y?, aaa x, aaa w,"
         " bab y, aba w"),
    ],
)  # fmt: skip
def test_all_comes_back_that_exposes_nobody(
    regions: tuple[str, ...], support: int, confidence: str, lines: str
) -> None:
    """A rule that was never unsafe before becomes so, if entries come back for the known ones."""
    table, limits = spelt(*lines.split(", ")), RuleLimits(support, Fraction(confidence))
    hidden = hide(table, limits, regions)
    assert not len(hidden.exposed)
    entries = listed(hidden)
    assert holds(table, limits, entries)
    for at in range(len(entries)):
        assert not holds(table, limits, entries[:at] + entries[at + 1 :])


def test_the_last_that_went_is_the_first_to_come_back() -> None:
    """Records 5 and 6 are alike: both may go, the lower one first, and one of them suffices."""
    table = spelt("ca x", "ab x", "cb x?", "ba x?", "ab x?", "aa x", "aa x")
    hidden = hide(table, RuleLimits(0, Fraction(3, 10), 1), (REGIONS[0], REGIONS[2]))
    assert sorted(listed(hidden)) == [(0, 2), (1, 2), (5, 2)]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    ("lines", "entries"),
    [
        # Ties: the first column, the lowest record. Then a node with more conditions: record 2
        # shows both, record 1 only what is still unsafe.
        ("ab x?, ab x, ab x", [(1, 0), (2, 1)]),
        ("ab x?, AB x, ab x, ab x, ab y", [(2, 0), (3, 1)]),
    ],
)
def test_which_of_equal_ones(strategy: str, lines: str, entries: list[tuple[int, int]]) -> None:
    """By every strategy: here each has one node to choose."""
    table, limits = spelt(*lines.split(", ")), RuleLimits(0, Fraction(1, 2))
    for seed in range(8):
        assert listed(hide(table, limits, REGIONS[1:2], strategy, seed)) == entries


def test_nodes_in_the_order_of_their_columns() -> None:
    table = spelt("ab x?", "cb x", "ac x")
    hidden = hide(table, RuleLimits(0, Fraction(2, 5)), REGIONS[1:2])
    assert listed(hidden) == [(2, 0), (1, 1)]


@pytest.mark.parametrize(("region", "column"), [(REGIONS[0], 1), (REGIONS[1], 0)])
def test_equally_good_steps(region: str, column: int) -> None:
    """An entry of one's own would do as much as one of others': theirs goes, of the lowest record."""
    table = spelt("a x?", "a x", "a x")
    hidden = hide(table, RuleLimits(0, Fraction(1, 2)), (region, REGIONS[2]))
    assert listed(hidden) == [(1, column)]


@pytest.mark.parametrize("regions", OPEN)
def test_stopped_at_any_point(regions: tuple[str, ...]) -> None:
    """Once everybody is protected, a search that is told to stop has something to publish."""
    early = 0
    for seed in range(40):
        table, limits = random_table(random.Random(seed))
        whole = hide(table, limits, regions)
        if len(whole.exposed):
            continue
        for points in counting():
            left = iter(range(points))
            safe: list[bool] = []
            halt = Halt(
                lambda left=left: next(left, None) is None,  # type: ignore[misc]
                lambda safe=safe: safe.append(True),  # type: ignore[misc]
            )
            try:
                found = hide(table, limits, regions, halt=halt)
            except GaveUp:
                assert halt.heard
                assert not safe
                continue
            assert safe
            assert holds(table, limits, listed(found))
            before, after = published(table), published(table, listed(found))
            assert altered(before, after, table.fixed, allowed(table, regions)).nothing
            assert len(found.reasons) == len(found) >= len(whole)
            assert found.stopped_early == halt.heard
            if not halt.heard:
                assert (listed(found), found.reasons) == (listed(whole), whole.reasons)
                break
            early += 1
    assert early > 20
