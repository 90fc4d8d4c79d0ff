"""Nuggets, and the greedy removal that keeps them, straight from their definitions."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from naive.transactions import Case, Items, moles, subsets

PUBLIC, ALL = 9, 18  # items of a random problem


@dataclass(frozen=True)
class Problem:
    """A case, and what should be kept of it."""

    case: Case
    rows: tuple[Items, ...]  # the same transactions with all their items,
    among_all: tuple[int, ...]  # among which public items have these numbers
    least: int
    longest: int | None

    def nuggets(self) -> set[Items]:
        """Every set, short enough, that enough transactions hold."""
        most = max(map(len, self.rows), default=0)
        sizes = range(1, most + 1 if self.longest is None else self.longest + 1)
        present = {part for row in self.rows for part in subsets(row, sizes)}
        return {part for part in present if sum(part <= row for row in self.rows) >= self.least}


def with_all(sets: Iterable[Items], *items: int) -> int:
    """How many sets have all of these."""
    return sum(held.issuperset(items) for held in sets)


def greedy(problem: Problem) -> list[int]:
    """Public items in the order in which they go."""
    bad, wanted, order = moles(problem.case), problem.nuggets(), list[int]()
    alone = {item for mole in bad if len(mole) == 1 for item in mole}

    def score(item: int) -> tuple[bool, bool, Fraction, int]:
        cost = with_all(wanted, problem.among_all[item])
        moles_for_each = Fraction(with_all(bad, item), cost) if cost else Fraction(0)
        return item in alone, cost == 0, moles_for_each, -item

    while bad:
        item = max({item for mole in bad for item in mole}, key=score)
        order.append(item)
        bad = {mole for mole in bad if item not in mole}
        wanted = {held for held in wanted if problem.among_all[item] not in held}
    return order


def random_problem(seed: int) -> Problem:
    """Transactions like one of a few; four private items, and one that is neither."""
    rng = random.Random(seed)
    patterns = [frozenset(rng.sample(range(PUBLIC), rng.randint(2, 6))) for _ in range(5)]
    rows = tuple(
        frozenset(x for x in rng.choice(patterns) if rng.random() < 0.8)
        | frozenset(x for x in range(PUBLIC) if rng.random() < 0.06)
        for _ in range(rng.randint(10, 80))
    )
    often = rng.choice([0.1, 0.2, 0.3])
    private = tuple(frozenset(s for s in range(4) if rng.random() < often) for _ in rows)
    h = Fraction(rng.choice([30, 40, 50, 60]), 100) if seed % 2 else Fraction(1)
    case = Case(rows, private, rng.randint(1, 8), h, rng.choice([1, 2, 3, 4, None, None]))
    numbers = rng.sample(range(ALL), PUBLIC + 5)
    everything = tuple(
        frozenset(numbers[x] for x in row)
        | frozenset(numbers[PUBLIC + s] for s in held)
        | frozenset(numbers[-1:] if rng.random() < 0.5 else [])
        for row, held in zip(rows, private, strict=True)
    )
    least = rng.choice([1, 2, 3, 6, len(rows) // 3 + 1])
    return Problem(
        case, everything, tuple(numbers[:PUBLIC]), least, rng.choice([1, 2, 3, None, None])
    )
