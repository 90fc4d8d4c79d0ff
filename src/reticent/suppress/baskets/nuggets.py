"""Nuggets: the frequent sets that a release should keep, counted without being listed.

A nugget is a set of items, public or private or neither, that at least so many transactions hold,
and of at most so many items. The search finds a few large ones with all others inside; what lies
inside them is a diagram, and its counts are those of the nuggets.

The paper adds up what lies between the edges of a border: 52,218,553,280 nuggets on Connect at
40 %. But edges overlap, and 339,915,255 are different.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reticent.suppress.baskets import maximal
from reticent.suppress.baskets.diagrams import Diagrams, Family, most_parts
from reticent.suppress.sets import Budget, GaveUp, Ints, Sets, in_dictionary_order, renumber


@dataclass(frozen=True, slots=True)
class Rows:
    """Different transactions over some items, which are numbered by ascending support.

    In a diagram rare items are above. Below each stands what goes with it, which is little, and
    frequent items, which go with each other, share their nodes at the bottom. (All parts of all
    transactions of Connect, 41 items: 1,096 nodes; with frequent items above: 373,175.)
    """

    starts: Ints  # row r is items[starts[r] : starts[r + 1]], ascending
    items: NDArray[np.int32]
    weights: Ints  # how many transactions are like this
    rank: Ints  # the item that has each number

    @property
    def longest(self) -> int:
        """Items of the longest row."""
        return int(np.diff(self.starts).max(initial=0))

    def only(self, moles: Sets) -> tuple[Ints, NDArray[np.int32]]:
        """The sets that have no other items, as rows."""
        number = np.full(1 + max(moles.items.max(initial=0), self.rank.max(initial=0)), -1)
        number[self.rank] = np.arange(len(self.rank))
        sizes, told = np.diff(moles.begins), number[moles.items]
        row = np.repeat(np.arange(len(sizes)), sizes)
        whole = np.bincount(row[told < 0], minlength=len(sizes)) == 0
        starts = np.concatenate([[0], np.cumsum(sizes[whole])])
        return _ascending(starts, told[whole[row]].astype(np.int32), len(self.rank))


def distinct_rows(starts: Ints, items: NDArray[np.int32], supports: Ints, wanted: Ints) -> Rows:
    """The transactions as far as they have wanted items."""
    rank = wanted[np.argsort(supports[wanted], kind="stable")]
    number = np.full(len(supports), -1, np.int32)
    number[rank] = np.arange(len(rank))
    cut, renumbered, *_ = renumber(starts, items, number, len(rank))
    order = in_dictionary_order(cut, renumbered)
    begins, cells, weights = maximal.merged(cut, renumbered, order)
    return Rows(begins, cells, weights, rank)


def find_nuggets(
    starts: Ints, items: NDArray[np.int32], count: int, least_support: int,
    longest: int | None = None, *, most_work: int = 10**9,
) -> Family | None:  # fmt: skip
    """The sets, of at most `longest` items, that at least so many transactions hold.

    None: there is more to do than allowed.

    >>> rows = [[0, 1], [0, 1, 2], [0, 1], [2]]
    >>> starts = np.cumsum([0, *map(len, rows)])
    >>> nuggets = find_nuggets(starts, np.concatenate(rows).astype(np.int32), 3, least_support=2)
    >>> nuggets.total, nuggets.per_item()  # 0, 1, 2 and 01
    (4, [2, 2, 1])
    >>> nuggets.without([1]).total
    2
    """
    supports = np.bincount(items, minlength=count)
    wanted = np.flatnonzero(supports >= max(least_support, 1))
    rows = distinct_rows(starts, items, supports, wanted)
    try:
        return frequent_sets(rows, count, least_support, longest, Budget(most_work))
    except GaveUp:
        return None


def frequent_sets(
    rows: Rows, count: int, least: int, longest: int | None, budget: Budget,
    apart_from: Sets | None = None,
) -> Family:  # fmt: skip
    """The sets that at least so many transactions hold, as every item of these rows is held.

    `apart_from`: without the sets that have one of these inside.
    """
    longest = rows.longest if longest is None else min(longest, rows.longest)
    starts, items = _large_ones(rows, least, longest, budget)
    diagrams = Diagrams(budget)
    family = diagrams.closed(diagrams.rows(starts, items), longest)
    if apart_from is not None:
        family = diagrams.apart(family, diagrams.rows(*rows.only(apart_from)))
    most = most_parts(len(starts) - 1, int(np.diff(starts).max(initial=0)), longest)
    nodes, root = diagrams.nodes_of(family, len(rows.rank))
    return Family(nodes, root, rows.rank, count, most)


def _large_ones(
    rows: Rows, least: int, longest: int, budget: Budget
) -> tuple[Ints, NDArray[np.int32]]:
    """Frequent sets with all others, of at most `longest` items, inside."""
    if least <= 1:
        return rows.starts, rows.items
    count = len(rows.rank)
    same = np.arange(count, dtype=np.int32)
    *_, begins, holders, stands = renumber(rows.starts, rows.items, same, count)
    ends, cells, work = maximal.maximal(
        rows.starts, rows.items, rows.weights, begins, holders, stands, least, longest, budget.work
    )
    budget.spend(int(work))
    return _ascending(ends, cells, count)


def _ascending(
    starts: Ints, items: NDArray[np.int32], count: int
) -> tuple[Ints, NDArray[np.int32]]:
    """The same rows, items ascending in each."""
    cut, items, *_ = renumber(starts, items, np.arange(count, dtype=np.int32), count)
    return cut, items
