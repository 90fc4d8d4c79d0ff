"""The greedy removal against a few lines over Python sets."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from reticent.suppress.engine import breaks_all, remove
from reticent.suppress.moles import Moles

Threats = list[frozenset[int]]


def naive(threats: Threats, costs: list[int]) -> tuple[list[int], set[int]]:
    left, order = list(threats), []
    while left:

        def score(thing: int, left: Threats = left) -> tuple[bool, Fraction | float]:
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


def packed(threats: Threats) -> Moles:
    begins = np.cumsum([0, *map(len, threats)])
    return Moles(begins, np.array([v for t in threats for v in sorted(t)], np.int32))


def random_threats(rng: random.Random) -> tuple[Threats, list[int]]:
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
        found = remove(packed(threats), costs)
        order, back = naive(threats, costs)
        assert list(found.order) == order
        assert found.back == back
        gone = np.zeros(len(costs), dtype=bool)
        gone[list(found.gone)] = True
        assert breaks_all(packed(threats), gone)
        for thing in found.gone:  # nothing more can be given back
            less = gone.copy()
            less[thing] = False
            assert not breaks_all(packed(threats), less)
        returned += len(back)
    assert returned
