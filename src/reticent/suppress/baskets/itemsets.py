"""The greedy removal that keeps frequent sets: most moles for the nuggets that are lost.

Suppress the public item with the most moles, minimal or not, for each nugget that goes with it,
until no mole is left. Items that are moles alone go before all others; an item without nuggets
costs nothing and goes before those that cost; of equals the one with the smaller number goes first.
The paper counts both through borders (§4.4, *Border-Cohesion*), we by diagrams, exactly.

Sets with an item are the sets that some transaction holds (`present`), less those that are no
moles (`fine`): the frequent sets, less those with a set inside whose confidence is too high.

- When an item goes, only sets with it go. So `present` is never counted as a whole: a diagram of
  what stands beside one item, among the items that are left, says by how much to lower the others.
  To begin with, items are left out one after the other, and the same numbers are added up. Such
  diagrams are small: on Retail, 807 items, one of all transactions takes 29 million nodes and 19
  seconds to make, and those of single items take 2.7 seconds together.
- What is fine, and the nuggets, are few nodes: they are counted again when an item goes.
- An item without nuggets is asked only whether any mole holds it, and most answer by a pair.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from math import inf, log2

import numpy as np
from numpy.typing import NDArray

from reticent.suppress.baskets.diagrams import Counts, Diagrams, Family, most_parts
from reticent.suppress.baskets.moles import KnownBaskets, minimal_moles
from reticent.suppress.baskets.nuggets import Rows, distinct_rows, frequent_sets
from reticent.suppress.sets import Budget, GaveUp, Halt, Ints, Mask, Sets, invert, project

_WORK_OF_A_MOLE = 16  # to find it


@dataclass(frozen=True, slots=True)
class RemovalOrder:
    """Public items in the order in which they went."""

    order: tuple[int, ...]
    complete: bool  # False: more work was needed than allowed, and moles are left


def remove_for_itemsets(
    known: KnownBaskets, k: int, h: Fraction, p: int | None, nuggets: Family, among_all: Ints,
    *, most_work: int = 2 * 10**9, most_work_alone: int = 10**8, halt: Halt | None = None,
) -> RemovalOrder:  # fmt: skip
    """Suppress items until no mole is left; nothing is given back.

    `among_all`: the number that each public item has among all items, of which nuggets are made.

    `most_work_alone`: items that are moles alone may be too much work to count, as all others are
    still there; they go by number then. Little hangs on it: they go anyway and stay away, and what
    is counted of the others does not depend on their order.
    """
    removal = _Removal(known, k, h, p, nuggets, among_all, Budget(most_work), halt or Halt())
    try:
        removal.run(most_work_alone)
    except GaveUp:
        return RemovalOrder(tuple(removal.order), complete=False)
    return RemovalOrder(tuple(removal.order), complete=True)


class Present:
    """The sets of at most p items that some row holds, asked for by one of their items."""

    def __init__(self, rows: Rows, p: int, budget: Budget) -> None:
        self.rows, self._largest, self._budget = rows, p - 1, budget
        self._begins, self._holders = invert(rows.starts, rows.items, len(rows.rank))

    def beside(self, item: int, there: Mask) -> tuple[Diagrams, int, int]:
        """What such sets have besides an item: a family, and a number that no count exceeds."""
        rows = self.rows
        own = self._holders[self._begins[item] : self._begins[item + 1]]
        starts, items = project(own, item, ~there, rows.starts, rows.items)
        diagrams = Diagrams(self._budget, room=len(items))
        family = diagrams.closed(diagrams.rows(starts, items), self._largest)
        longest = int(np.diff(starts).max(initial=0))
        return diagrams, family, most_parts(len(starts) - 1, longest, self._largest)

    def counts(self, item: int, there: Mask) -> Counts:
        """How many sets have an item, and how many each other item, too."""
        diagrams, family, most = self.beside(item, there)
        return diagrams.count(family, len(self.rows.rank), most)

    def of_each(self, wanted: Ints) -> list[int]:
        """How many sets have each wanted item.

        A set is met when the first of its wanted items is left out, and told to all of them. Rare
        items come first, as little stands beside the others then.
        """
        there = np.ones(len(self.rows.rank), np.bool_)
        found = [0] * len(there)
        for item in wanted.tolist():
            there[item] = False
            counts = self.counts(item, there)
            found[item] += counts.total
            for other, both in counts.items():
                found[other] += both
        return found


class _Scores:
    """How many moles each item is in for each nugget that it costs."""

    def __init__(self, count: int) -> None:
        self._moles, self._costs = [0] * count, [1] * count
        self._logs = np.full(count, -inf)

    def set(self, item: int, moles: int, cost: int) -> None:
        """Say what is so now."""
        self._moles[item], self._costs[item] = moles, cost
        self._logs[item] = log2(moles) - log2(cost) if moles else -inf

    def best(self) -> list[int]:
        """All items with the highest score; none if no item is in a mole.

        Logarithms, right to about 1e-13, leave a few items, which exact fractions compare.
        """
        highest = self._logs.max(initial=-inf)
        if highest == -inf:
            return []
        near = np.flatnonzero(self._logs >= highest - 1e-9).tolist()
        exact = [Fraction(self._moles[item], self._costs[item]) for item in near]
        most = max(exact)
        return [item for item, score in zip(near, exact, strict=True) if score == most]


class _Removal:
    """What is left while items go."""

    def __init__(
        self, known: KnownBaskets, k: int, h: Fraction, p: int | None, nuggets: Family,
        among_all: Ints, budget: Budget, halt: Halt,
    ) -> None:  # fmt: skip
        self.known, self.k, self.h, self.budget, self.halt = known, k, h, budget, halt
        self.p = known.count + 1 if p is None else p
        self.supports = known.supports()
        self.begins, self.holders = invert(known.starts, known.items, known.count)
        self.there = self.supports > 0
        self.nuggets, self.among_all = nuggets, among_all.tolist()
        self.order: list[int] = []
        self._beside: tuple[Present, tuple[Ints, NDArray[np.int32]]] | None = None

    def run(self, most_work_alone: int) -> None:
        """Items that are moles alone go, then others that cost nothing, then the rest."""
        self.costs = self._costs()
        rich = np.array([cost > 0 for cost in self.costs], np.bool_)
        alone = np.zeros(self.known.count, np.bool_)
        alone[minimal_moles(self.known, self.k, self.h, 1).items] = True
        for item in np.flatnonzero(alone & ~rich).tolist():
            self._go(item)
        self._go_alone(np.flatnonzero(alone & rich), most_work_alone)
        if self.p == 1:
            return
        for item in np.flatnonzero(self.there & ~rich).tolist():
            if self._in_a_mole(item):
                self._go(item)
        self.there &= rich  # the others are in no mole, and matter no longer
        rows = self._rows()
        moles = self._minimal_moles() if self.h < 1 else None
        fine = frequent_sets(rows, self.known.count, self.k, self.p, self.budget, moles)
        self._go_by_score(Present(rows, self.p, self.budget), fine, np.arange(len(rows.rank)))

    def _go(self, item: int) -> None:
        self.halt.or_give_up()
        self.order.append(item)
        self.there[item] = False
        if self.costs[item] > 1:  # a nugget of one item takes no other with it
            self.nuggets = self.nuggets.without([self.among_all[item]])
            self.costs = self._costs()

    def _costs(self) -> list[int]:
        """How many nuggets each item has."""
        found = self._counted(self.nuggets)
        return [found[number] for number in self.among_all]

    def _counted(self, family: Family) -> list[int]:
        self.budget.spend(len(family.nodes))
        return family.per_item()

    def _rows(self) -> Rows:
        """The transactions as far as they have items that are there."""
        there = np.flatnonzero(self.there)
        return distinct_rows(self.known.starts, self.known.items, self.supports, there)

    def _minimal_moles(self) -> Sets:
        """Those of the items that are there."""
        left = self.known.without(~self.there)
        most = self.budget.work // _WORK_OF_A_MOLE
        found = minimal_moles(left, self.k, self.h, self.p, budget=Budget(sets=most))
        self.budget.spend(len(found) * _WORK_OF_A_MOLE)
        if not found.complete:
            raise GaveUp
        return found

    def _go_alone(self, items: Ints, most_work: int) -> None:
        """Suppress items that are moles alone; every set with one of them is a mole, too."""
        if len(items) > 1:
            rows, budget = self._rows(), Budget(most_work)
            wanted = np.flatnonzero(np.isin(rows.rank, items))
            with suppress(GaveUp):
                self._go_by_score(Present(rows, self.p, budget), None, wanted)
        for item in items[self.there[items]].tolist():
            self._go(item)

    def _go_by_score(self, present: Present, fine: Family | None, wanted: Ints) -> None:
        """Suppress wanted items, the best first, until none is in a mole."""
        rank = present.rows.rank.tolist()
        there, asked = np.ones(len(rank), np.bool_), np.isin(np.arange(len(rank)), wanted)
        held = present.of_each(wanted)
        good = [0] * self.known.count if fine is None else self._counted(fine)
        scores, changed = _Scores(len(rank)), wanted.tolist()
        while True:
            for x in changed:
                scores.set(x, held[x] - good[rank[x]], self.costs[rank[x]])
            best = min(scores.best(), key=rank.__getitem__, default=None)
            if best is None:
                return
            self._go(rank[best])
            there[best] = asked[best] = False
            if fine is not None and good[rank[best]] > 1:
                fine = fine.without([rank[best]])
                good = self._counted(fine)
            scores.set(best, 0, 1)
            lost = present.counts(best, there).items()
            for x, both in lost:
                held[x] -= both
            # Nuggets with both are present, too, unless p is 1 and nobody looks for pairs.
            changed = [x for x, _ in lost if asked[x]]
            if self.p == 1:
                changed = np.flatnonzero(asked).tolist()

    def _in_a_mole(self, item: int) -> bool:
        """Whether an item that is no mole alone is in any."""
        own = self.holders[self.begins[item] : self.begins[item + 1]]
        beside = self.known.beside(item, own, ~self.there)
        self.budget.spend(len(beside.items) + 1)
        shared = beside.supports()
        if np.any((shared > 0) & (shared < self.k)):
            return True
        if len(minimal_moles(beside, self.k, self.h, self.p - 1, budget=Budget(sets=0))):
            return True
        return self.h < 1 and self._beside_a_mole(item)

    def _beside_a_mole(self, item: int) -> bool:
        """Whether a mole without it stands beside an item: its confidence may be the higher one."""
        if self._beside is None:
            rows = self._rows()
            moles = rows.only(self._minimal_moles())
            self._beside = Present(rows, self.p, self.budget), moles
        present, moles = self._beside
        rank = present.rows.rank
        number = int(np.flatnonzero(rank == item)[0])
        diagrams, family, _ = present.beside(number, self.there[rank])
        return diagrams.apart(family, diagrams.rows(*moles)) != family
