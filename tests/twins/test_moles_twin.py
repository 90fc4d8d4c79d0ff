"""The miner of minimal moles against their definition."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from naive import transactions as naive
from reticent.suppress.baskets import moles as miner
from reticent.suppress.baskets.moles import KnownBaskets, minimal_moles
from reticent.suppress.sets import Budget
from transactions_at_hand import known


def compare(case: naive.Case) -> int:
    wanted = {tuple(sorted(mole)) for mole in naive.minimal(naive.moles(case))}
    found = list(minimal_moles(known(case), case.k, case.h, case.p))
    assert len(found) == len(set(found))
    assert set(found) == wanted
    return max(map(len, found), default=0)


@pytest.mark.parametrize("seed", range(0, 400, 100))
@pytest.mark.parametrize("sure", [False, True], ids=["support", "confidence"])
def test_minimal_moles(seed: int, sure: bool) -> None:
    longest = 0
    for offset in range(100):
        case = naive.random_case(random.Random(seed + offset), sure=sure)
        if case.feasible():
            longest = max(longest, compare(case))
    assert longest > 2  # the cases are not all trivial


def test_without_room_for_the_bits_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(miner, "_ROOM_FOR_BITS", 0)
    for seed in range(1000, 1150):
        case = naive.random_case(random.Random(seed), sure=bool(seed % 2))
        if case.feasible():
            compare(case)


def long_case(seed: int) -> naive.Case:
    """More than a word of transactions, and nodes that are narrowed to their own."""
    rng = random.Random(seed)
    rows = tuple(
        frozenset(i for i in range(8) if rng.random() < (0.97, 0.9, 0.8, 0.6)[i % 4])
        for _ in range(400)
    )
    private = tuple(frozenset({rng.randrange(4)}) for _ in rows)
    h = Fraction(rng.choice([35, 45, 60, 100]), 100)
    return naive.Case(rows, private, rng.choice([3, 8, 20]), h, rng.choice([3, 4, None]))


@pytest.mark.parametrize("seed", range(12))
def test_longer_tables(seed: int) -> None:
    case = long_case(seed)
    assert case.feasible()
    compare(case)


def test_scratch_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    made = miner._Scratch.__post_init__

    def small(scratch: miner._Scratch) -> None:
        made(scratch)
        scratch.arena = np.zeros(2, np.uint64)
        scratch.ints = np.zeros(2, np.int64)
        scratch.out = np.zeros(2, np.int32)

    monkeypatch.setattr(miner._Scratch, "__post_init__", small)
    for seed in range(6):
        compare(long_case(seed))


def many(rng: random.Random) -> KnownBaskets:
    """Sixty items, so that there are moles of three, and more good pairs than one array holds."""
    rows = [frozenset(i for i in range(60) if rng.random() < 0.3) for _ in range(900)]
    starts, items = naive.flat(rows)
    nothing = np.zeros(len(rows) + 1, np.int64), np.zeros(0, np.int32), 0
    return KnownBaskets(np.array(starts), np.array(items, np.int32), 60, *nothing)


def test_more_than_were_asked_for() -> None:
    table = many(random.Random(1))
    every = list(minimal_moles(table, 15, Fraction(1), 4))
    assert max(map(len, every)) > 3
    for budget in (Budget(sets=100), Budget(work=100), Budget(sets=1500, work=5000)):
        some = minimal_moles(table, 15, Fraction(1), 4, budget=budget)
        assert not some.complete
        assert 0 < len(some) < len(every)
        assert set(some) <= set(every)
        again = minimal_moles(table, 15, Fraction(1), 4, budget=budget)
        assert list(some) == list(again)  # whichever thread found them
    enough = minimal_moles(table, 15, Fraction(1), 4, budget=Budget(sets=len(every)))
    assert enough.complete
    assert list(enough) == every


def test_nobody_and_nothing() -> None:
    empty = naive.Case((), (), 2, Fraction(1), None)
    assert not list(minimal_moles(known(empty), 2, empty.h, None))
    blank = naive.Case((frozenset(),) * 3, (frozenset(),) * 3, 2, Fraction(1), None)
    assert not list(minimal_moles(known(blank), 2, blank.h, None))
