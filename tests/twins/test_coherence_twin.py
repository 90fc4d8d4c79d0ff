"""The recount of coherence, and the count of what is exposed, against their definitions."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from naive import coherence as naive
from naive.transactions import Case, random_case, subsets, violates
from reticent.privacy import coherence
from reticent.privacy.coherence import BasketFinding, Coherence, RoledBaskets, exposure, recount
from transactions_at_hand import roled

WAYS = {
    "as it comes": {},
    "over bits": {"_TOO_FEW_FOR_BITS": 0},
    "never over bits": {"_ROOM_FOR_BITS": 0},
    "one first item at a time": {"_TOO_FEW_FOR_BITS": 0, "_BEYOND_CACHE": 0},
}


def counted(case: Case, seed: int) -> tuple[BasketFinding, naive.Coded]:
    baskets, coded = roled(case, seed)
    return recount(baskets, Coherence(h=case.h, k=case.k, p=case.p)), coded


def compare(case: Case, seed: int = 0) -> bool:
    """Whether the case is coherent, once both agree and the set that breaks it really does."""
    found, coded = counted(case, seed)
    assert found.holds == naive.coherent(case)
    if found.holds:
        assert found.breaking is None
        if case.p is None:
            held = (known for row in case.rows for known in subsets(row, range(9)))
            assert found.smallest == min(naive.cohort(known, case)[0] for known in set(held))
        return True
    assert found.breaking is not None
    assert all(coded.public[item] for item in found.breaking)
    known = frozenset(coded.names[item] for item in found.breaking)
    assert violates(known, case)
    assert case.p is None or len(known) <= case.p
    assert not any(violates(part, case) for part in subsets(known, range(len(known))))
    support, confidence, surest = naive.cohort(known, case)
    assert (found.support, found.confidence) == (support, confidence)
    width = len(coded.names) - naive.PRIVATE
    inferred = set() if found.inferred is None else {coded.names[found.inferred] - width}
    assert inferred <= surest
    assert bool(inferred) == bool(surest)
    return False


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each way to recount."""
    for name, value in WAYS[request.param].items():
        monkeypatch.setattr(coherence, name, value)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("sure", [False, True], ids=["support", "confidence"])
def test_recount(sure: bool) -> None:
    verdicts = []
    for seed in range(100):
        case = random_case(random.Random(seed), sure=sure)
        verdicts.append(compare(case, seed))
        if case.feasible():
            assert compare(naive.release(case)[0], seed)
    assert 5 < sum(verdicts) < 95


def long_case(seed: int) -> Case:
    """Several words of rows, some of them heavy, so that the search over bits goes deep."""
    rng = random.Random(seed)
    likely = [rng.choice([0.97, 0.9, 0.8, 0.6]) for _ in range(8)]
    rows, private = [], []
    for _ in range(90):
        row = frozenset(i for i in range(8) if rng.random() < likely[i])
        for _ in range(rng.choice([1, 1, 2, 9])):
            rows.append(row)
            private.append(frozenset(s for s in range(4) if rng.random() < 0.3))
    h = Fraction(rng.choice([35, 45, 60, 100]), 100)
    return Case(tuple(rows), tuple(private), rng.choice([3, 8, 20]), h, rng.choice([3, 4, None]))


@pytest.mark.usefixtures("way")
def test_recount_of_longer_tables() -> None:
    for seed in range(12):
        case = long_case(seed)
        compare(case, seed)
        if case.feasible():
            assert compare(naive.release(case)[0], seed)


def lattice(seed: int) -> Case:
    """Most of the sets of nine items, each held by some: rows enough for a search to go deep."""
    rng = random.Random(seed)
    rows = [
        known
        for known in subsets(frozenset(range(9)), range(10))
        if rng.random() < 0.7
        for _ in range(rng.choice([1, 2, 3, 11]))
    ]
    private = tuple(frozenset(s for s in range(4) if rng.random() < 0.25) for _ in rows)
    return Case(tuple(rows), private, 1, Fraction(1), None)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("seed", range(2))
def test_thresholds_to_the_last_unit(seed: int) -> None:
    """What is just kept, and what is just broken."""
    case = lattice(seed)
    held = {known for row in case.rows for known in subsets(row, range(10))}
    cohorts = {known: naive.cohort(known, case) for known in held}
    for p in (1, 2, 3, 4, 6, None):
        asked = [cohorts[known] for known in held if p is None or len(known) <= p]
        k, h = min(count for count, _, _ in asked), max(share for _, share, _ in asked)
        assert counted(replace(case, k=k, h=h, p=p), seed)[0].holds
        assert counted(replace(case, k=k + 1, h=h, p=p), seed)[0].holds is False
        less = h - Fraction(1, len(case.rows) ** 2)
        assert counted(replace(case, k=k, h=less, p=p), seed)[0].holds is False


def nested(seed: int) -> Case:
    """Short rows with a private item, each inside long rows without: parts are surer than wholes."""
    rng = random.Random(seed)
    rows, private = [], []
    for _ in range(rng.randint(4, 40)):
        short = rng.random() < 0.7
        likely = rng.choice([0.3, 0.5, 0.7] if short else [0.9, 1])
        row = frozenset(i for i in range(8) if rng.random() < likely)
        for _ in range(rng.randint(1, 4 if short else 12)):
            rows.append(row)
            private.append(frozenset({rng.randrange(2)} if short and rng.random() < 0.9 else ()))
    return Case(tuple(rows), tuple(private), 1, Fraction(1), None)


@pytest.mark.usefixtures("way")
def test_parts_that_are_surer_than_wholes() -> None:
    surer = 0
    for seed in (*range(150), 2133):  # the last: an item that all but one share is not shared
        case = nested(seed)
        held = {known for row in case.rows for known in subsets(row, range(9))}
        h = max(naive.cohort(known, case)[1] for known in held)
        if h <= max(naive.cohort(row, case)[1] for row in case.rows):
            continue
        surer += 1
        assert counted(replace(case, h=h), seed)[0].holds
        assert not compare(replace(case, h=h - Fraction(1, 10**6)), seed)
    assert surer > 30


@pytest.mark.parametrize("sure", [False, True], ids=["support", "confidence"])
def test_exposure(sure: bool) -> None:
    for seed in range(60):
        case = random_case(random.Random(seed), sure=sure)
        levels = exposure(roled(case, seed)[0], Coherence(h=case.h, k=case.k), most=4)
        found = [(level.unique, level.small, level.sure, level.largest) for level in levels]
        assert found == naive.exposed(case, 4)
        assert [level.known for level in levels] == [0, 1, 2, 3, 4]


def of(rows: list[str], private: list[str], h: Fraction | int, k: int, p: int | None) -> Case:
    """A case from letters and digits."""
    public = tuple(frozenset(map("abcdefgh".index, row)) for row in rows)
    held = tuple(frozenset(map(int, row)) for row in private)
    return Case(public, held, k, Fraction(h), p)


@pytest.mark.parametrize(
    ("case", "holds"),
    [
        (of([], [], 1, 1, None), False),  # fewer than k, though k is 1
        (of(["", "", ""], ["", "", ""], 1, 3, None), True),
        (of(["a", "a"], ["", ""], 1, 3, 1), False),
        (of(["a", "b", ""], ["", "", ""], 1, 1, None), True),
        (of(["ab", "ab", "a"], ["0", "1", "2"], Fraction(1, 2), 2, None), True),
        (of(["ab", "ab", "a"], ["0", "1", "2"], Fraction(1, 2), 2, 1), True),
        (of(["ab", "ab", "a"], ["0", "0", "1"], Fraction(2, 3), 2, 1), False),
        (of(["ab", "ac", "bc"] * 2, [""] * 6, Fraction(1, 2), 3, 1), True),
        (of(["ab", "ac", "bc"] * 2, [""] * 6, Fraction(1, 2), 3, 2), False),
        (of(["", "", "a", "a"], ["0", "0", "1", "2"], Fraction(1, 2), 2, 1), True),
        (of(["", "", "a", "a"], ["0", "0", "01", "2"], Fraction(1, 2), 2, 1), False),
    ],
)
def test_small_cases(case: Case, holds: bool) -> None:
    assert compare(case) == holds


def test_a_share_just_above_h() -> None:
    """Thresholds of many digits are compared exactly."""
    case = of(["a", "a", "a"], ["0", "", ""], Fraction(1, 3), 1, None)
    assert compare(case)
    below = Fraction(1, 3) - Fraction(1, 10**40)
    assert not compare(Case(case.rows, case.private, 1, below, None))
    assert not compare(Case(case.rows, case.private, 1, Fraction(1, 10**40), None))


def test_nothing_public() -> None:
    starts, items, nothing = np.array([0, 1, 2]), np.array([0, 0], np.int32), np.zeros(1, bool)
    baskets = RoledBaskets(starts, items, nothing, ~nothing)
    found = recount(baskets, Coherence(h=Fraction(1), k=2))
    assert (found.holds, found.smallest) == (True, 2)
    found = recount(baskets, Coherence(h=Fraction(1, 2), k=2))
    assert (found.holds, found.breaking, found.inferred) == (False, (), 0)
    assert found.confidence == 1


@pytest.mark.parametrize(
    ("starts", "items", "words"),
    [
        ([0, 2], [1, 0], "transaction 0"),
        ([0, 2], [0, 0], "transaction 0"),
        ([0, 1, 2], [0, 2], "transaction 1"),
        ([0, 2, 1], [0, 1], "starts"),
        ([0, 1], [0, 1], "starts"),
        ([], [], "starts"),
    ],
)
def test_what_are_no_baskets(starts: list[int], items: list[int], words: str) -> None:
    nothing = np.zeros(2, bool)
    with pytest.raises(ValueError, match=words):
        RoledBaskets(np.array(starts, np.int64), np.array(items, np.int32), ~nothing, nothing)


def test_no_item_is_both() -> None:
    both = np.ones(2, bool)
    with pytest.raises(ValueError, match="public, private or neither"):
        RoledBaskets(np.array([0]), np.zeros(0, np.int32), both, both)


def test_promises_that_cannot_be_meant() -> None:
    for wrong in ({"h": 0, "k": 2}, {"h": 1, "k": 0}, {"h": 1, "k": 2, "p": 0}, {"h": 2, "k": 2}):
        with pytest.raises(ValueError, match="validation error"):
            Coherence.model_validate(wrong)
