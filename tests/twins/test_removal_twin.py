"""The greedy removal against a few lines over Python sets."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from reticent.suppress.engine import Threats, give_back, improve, mask, remove
from reticent.suppress.sets import Sets

Threat = list[frozenset[int]]


def naive(threats: Threat, costs: list[int]) -> tuple[list[int], set[int]]:
    left, order = list(threats), []
    while left:

        def score(thing: int, left: Threat = left) -> tuple[bool, Fraction | float]:
            broken = sum(thing in threat for threat in left)
            alone = frozenset({thing}) in left
            return alone, Fraction(broken, costs[thing]) if costs[thing] else float("inf")

        things = sorted({thing for threat in left for thing in threat})
        best = max(things, key=lambda thing: (*score(thing), -thing))
        order.append(best)
        left = [threat for threat in left if best not in threat]
    gone, back = set(order), set()
    for thing in reversed(order):
        if all(threat & (gone - {thing}) for threat in threats):
            gone.remove(thing)
            back.add(thing)
    return order, back


def packed(threats: Threat) -> Sets:
    begins = np.cumsum([0, *map(len, threats)])
    return Sets(begins, np.array([v for t in threats for v in sorted(t)], np.int32))


def random_threats(rng: random.Random) -> tuple[Threat, list[int]]:
    things = rng.randint(1, 9)
    threats = {
        frozenset(rng.sample(range(things), rng.randint(1, min(things, 4))))
        for _ in range(rng.randint(0, 14))
    }
    return sorted(threats, key=sorted), [rng.randint(0, 6) for _ in range(things)]


@pytest.mark.parametrize("seed", range(0, 600, 200))
def test_removal(seed: int) -> None:
    returned = 0
    for offset in range(200):
        threats, costs = random_threats(random.Random(seed + offset))
        sets = Threats(packed(threats), len(costs))
        order, back = naive(threats, costs)
        went = remove(sets, np.array(costs))
        assert list(went) == order
        assert remove(sets, np.array(costs)) == went
        found = give_back(sets, went)
        assert {order[at] for at in found.back} == back
        assert give_back(sets, went, lambda thing, gone: False) == found
        assert minimal(threats, set(found.gone))
        returned += len(back)
    assert returned


def naive_several(
    threats: Threat, needs: list[int], room: list[int], costs: list[int]
) -> tuple[list[int], list[int]]:
    """One thing after the other, of several of a kind; and what stays away at last."""
    needs, left, order = list(needs), list(room), []
    while True:
        helped = [
            sum(v in threat and need > 0 for threat, need in zip(threats, needs, strict=True))
            for v in range(len(room))
        ]
        alone = [
            any(threat == {v} and n > 0 for threat, n in zip(threats, needs, strict=True))
            for v in range(len(room))
        ]
        able = [v for v in range(len(room)) if helped[v] and left[v]]
        if not able:
            break
        best = max(able, key=lambda v: (alone[v], Fraction(helped[v], costs[v]), -v))
        order.append(best)
        left[best] -= 1
        needs = [n - (best in threat) for threat, n in zip(threats, needs, strict=True)]
    gone = list(order)
    for at in range(len(order) - 1, -1, -1):
        if all(
            need < 0 for threat, need in zip(threats, needs, strict=True) if order[at] in threat
        ):
            del gone[at]
            needs = [n + (order[at] in threat) for threat, n in zip(threats, needs, strict=True)]
    return order, gone


@pytest.mark.parametrize("seed", range(0, 600, 200))
def test_several_of_a_kind(seed: int) -> None:
    """Threats that must lose more than one thing; some cannot lose as many as they need."""
    short = returned = 0
    for offset in range(200):
        rng = random.Random(seed + offset)
        threats, costs = random_threats(rng)
        costs = [cost + 1 for cost in costs]
        needs = [rng.randint(0, 5) for _ in threats]
        room = [rng.randint(0, 4) for _ in costs]
        order, gone = naive_several(threats, needs, room, costs)
        sets = Threats(packed(threats), len(costs), np.array(needs, np.int64), np.array(room))
        went = remove(sets, np.array(costs))
        assert list(went) == order
        assert list(give_back(sets, went).gone) == gone
        lost = sets.missing(np.bincount(np.array(gone, np.int64), minlength=len(costs)))
        able = [sum(room[v] for v in threat) for threat in threats]
        assert (lost >= np.minimum(needs, able)).all()
        short += sum(a < n for a, n in zip(able, needs, strict=True))
        returned += len(order) - len(gone)
    assert short
    assert returned


def minimal(threats: Threat, gone: set[int]) -> bool:
    """Whether these break every threat, and none of them could be spared."""
    return all(threat & gone for threat in threats) and all(
        any(not threat & (gone - {thing}) for threat in threats) for thing in gone
    )


def test_what_else_bars_a_thing() -> None:
    sets = Threats(packed([frozenset({0, 1}), frozenset({0, 2})]), 3)
    assert give_back(sets, (1, 2, 0)).gone == (1, 2)
    asked = []

    def bars(thing: int, gone: np.ndarray) -> bool:
        asked.append((thing, gone.tolist()))
        return True

    assert give_back(sets, (1, 2, 0), bars).gone == (1, 2, 0)
    assert asked == [(thing, [True, True, True]) for thing in (0, 2, 1)]


def test_costs_that_change() -> None:
    """What a thing costs is asked again after each that costs something."""
    threats = [frozenset({0, 1}), frozenset({0, 2}), frozenset({1, 3}), frozenset({2, 3})]

    def costs(gone: np.ndarray) -> np.ndarray:
        return np.array([1, 5, 5, 11 if gone[0] else 1])

    assert remove(Threats(packed(threats), 4), costs) == (0, 1, 2)
    assert remove(Threats(packed(threats), 4), np.array([1, 5, 5, 1])) == (0, 3)


def test_huge_costs_are_compared_exactly() -> None:
    threats = Threats(packed([frozenset({0, 1})]), 2)
    assert remove(threats, np.array([2**61 + 1, 2**61])) == (1,)
    assert remove(threats, np.array([2**61, 2**61 + 1])) == (0,)
    three = [frozenset({0, 2}), frozenset({0, 3}), frozenset({0, 4}), frozenset({1, 5})]
    three += [frozenset({1, 6}), frozenset({1, 7})]
    dear = np.array([2**61 + 1, 2**61, *[2**61 + 2] * 6])
    assert remove(Threats(packed(three), 8), dear)[0] == 1


@pytest.mark.parametrize("seed", range(0, 300, 100))
def test_swaps_find_the_cheapest(seed: int) -> None:
    """On a few things, swaps end in the optimum; they never cost more than what they begin with."""
    for offset in range(100):
        threats, costs = random_threats(random.Random(seed + offset))
        costs = [cost + 1 for cost in costs]
        sets = Threats(packed(threats), len(costs))
        begun = give_back(sets, remove(sets, np.array(costs))).gone
        gone = set(np.flatnonzero(improve(sets, np.array(costs), begun, 50_000)).tolist())
        assert minimal(threats, gone)
        things = range(len(costs))
        cheapest = min(
            sum(costs[v] for v in some)
            for size in range(len(costs) + 1)
            for some in combinations(things, size)
            if all(threat & set(some) for threat in threats)
        )
        assert sum(costs[v] for v in gone) == cheapest


def test_masks() -> None:
    assert mask((2, 0), 4).tolist() == [True, False, True, False]
