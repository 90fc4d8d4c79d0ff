"""Moles straight from their definition, over Python sets."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

Items = frozenset[int]


@dataclass(frozen=True)
class Case:
    """Transactions with their private items, and what is promised."""

    rows: tuple[Items, ...]
    private: tuple[Items, ...]
    k: int
    h: Fraction
    p: int | None

    def feasible(self) -> bool:
        """Whether the empty set is no mole."""
        return not violates(frozenset(), self)


def subsets(items: Items, sizes: range) -> Iterator[Items]:
    for size in sizes:
        yield from map(frozenset, combinations(sorted(items), size))


def violates(known: Items, case: Case) -> bool:
    """Whether too few have it, or too many of those a private item in common."""
    cohort = [s for row, s in zip(case.rows, case.private, strict=True) if known <= row]
    shared = Counter(item for held in cohort for item in held)
    most = max(shared.values(), default=0)
    return len(cohort) < case.k or most > case.h * len(cohort)


def moles(case: Case) -> set[Items]:
    """Every set that is in some transaction and short enough to be known, if a part of it violates."""
    longest = max(map(len, case.rows), default=0)
    most = longest if case.p is None else min(case.p, longest)
    present = {known for row in case.rows for known in subsets(row, range(1, most + 1))}
    wrong = {known for known in present if violates(known, case)}
    return {
        known
        for known in present
        if any(part in wrong for part in subsets(known, range(1, len(known) + 1)))
    }


def minimal(found: set[Items]) -> set[Items]:
    """Those that hold no other."""
    return {mole for mole in found if not any(other < mole for other in found)}


def random_case(rng: random.Random, *, sure: bool) -> Case:
    """A few dozen transactions; `sure`: confidences are bounded, too."""
    count = rng.randint(2, 8)
    likely = [rng.choice([0.2, 0.5, 0.8, 0.95]) for _ in range(count)]
    rows, private = [], []
    for _ in range(rng.randint(4, 50)):
        rows.append(frozenset(i for i in range(count) if rng.random() < likely[i]))
        private.append(frozenset(s for s in range(4) if rng.random() < 0.25))
    h = Fraction(rng.choice([40, 50, 60, 75, 90]), 100) if sure else Fraction(1)
    p = rng.choice([1, 2, 3, 4, None, None])
    return Case(tuple(rows), tuple(private), rng.randint(1, 6), h, p)


def flat(rows: Sequence[Items]) -> tuple[list[int], list[int]]:
    """Where each row begins, and all items one after the other."""
    starts, items = [0], []
    for row in rows:
        items += sorted(row)
        starts.append(len(items))
    return starts, items
