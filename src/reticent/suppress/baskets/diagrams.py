"""Families of sets, too large to list, as diagrams that are small enough to count.

The frequent sets of Connect at 40 %, 340 million of them, are a diagram of 7,600 nodes. One walk up
counts the sets below each node, one walk down the ways to it, and both together tell for every item
how many sets have it.

Counts can be huge: a transaction of 76 items has 2 to the power of 76 parts. They are counted
modulo 2 to the power of 64, which is how machines add anyway, and, where a bound on them says that
this is not enough, modulo primes below 2 to the power of 31, whose products fit into 64 bits. The
Chinese remainder theorem puts them together. So counts that fit into 64 bits, as most do, cost
nothing extra, and nobody multiplies numbers of several words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import count as counting
from math import comb, isqrt, prod

import numpy as np
from numpy.typing import NDArray

from reticent.suppress.baskets import nodes as loops
from reticent.suppress.sets import Budget, GaveUp, Ints, in_dictionary_order

Nodes = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Counts:
    """How many sets a family has; the empty set counts, too."""

    total: int
    of_item: list[int]  # how many have each item

    def items(self) -> list[tuple[int, int]]:
        """Items that some set has, and how many have it."""
        return [(item, number) for item, number in enumerate(self.of_item) if number]


class Diagrams:
    """Families over items 0, 1, …, each a number; equal families have equal numbers."""

    def __init__(self, budget: Budget, room: int = 0, most_nodes: int = 1 << 24) -> None:
        """`room`: for how many nodes there should be some to begin with.

        A unit of the budget's work is a look at one node, some 30 nanoseconds.
        """
        self._budget, self._most_nodes = budget, most_nodes
        self._nodes: Nodes = np.zeros((1 << max(10, room.bit_length()), 4), np.int32)
        self._nodes[:2, loops.ITEM] = loops.AFTER_ALL
        self._nodes[loops.UNIT, loops.FACTS] = 1
        self._state = np.zeros(loops.STATE, np.int64)
        self._state[0] = 2
        self._stack = np.zeros((1 << 8, loops.FRAME), np.int64)
        self._make_tables()

    def rows(self, starts: Ints, items: NDArray[np.int32]) -> int:
        """Sets given as rows, items ascending; of those that others begin with, some."""
        order = in_dictionary_order(starts, items)
        longest = int(np.diff(starts).max(initial=0))
        open_ = np.zeros(longest + 1, np.int64)
        done = 0
        while done <= len(order):
            done = loops.enter_rows(
                starts, items, order, done, self._nodes, self._table, self._state, open_
            )
            if done <= len(order):
                self._grow(longest + 2)
        self._budget.spend(len(items))
        return int(open_[0])

    def closed(self, family: int, largest: int) -> int:
        """All sets of at most so many items that lie inside a set of the family, {} among them."""
        return self._answer(loops.CLOSE, family, largest)

    def apart(self, family: int, others: int) -> int:
        """The sets of a family that hold no set of the others."""
        return self._answer(loops.APART, family, others)

    def count(self, family: int, items: int, most: int) -> Counts:
        """Its sets, and how many have each of the first `items` items; no count exceeds `most`."""
        return exact_counts(self._nodes, family, items, most)

    def nodes_of(self, family: int, items: int) -> tuple[Nodes, int]:
        """The nodes of a family, and which of them stands for it."""
        nodes, root = loops.gather(self._nodes, family, np.zeros(items, np.bool_))
        return nodes, int(root)

    def _answer(self, operation: int, one: int, other: int) -> int:
        self._state[1:] = 0, 0, operation, one, other, 0
        while True:
            before = int(self._state[2])
            done = loops.run(
                self._nodes, self._table, self._keys, self._values, self._stack, self._state,
                before + self._budget.work + 1,
            )  # fmt: skip
            self._budget.spend(int(self._state[2]) - before)
            if done:
                return int(self._state[6])
            if self._state[1] >= len(self._stack):
                self._stack = np.concatenate([self._stack, np.zeros_like(self._stack)])
            if self._state[0] >= len(self._nodes):
                self._grow(1)

    def _grow(self, need: int) -> None:
        size = 2 * len(self._nodes)
        while size < self._state[0] + need:
            size *= 2
        if size > self._most_nodes:
            raise GaveUp
        nodes = np.zeros((size, 4), np.int32)
        nodes[: len(self._nodes)] = self._nodes
        self._nodes = nodes
        keys, values = self._keys, self._values
        self._make_tables()
        loops.enter(self._nodes, self._state[0], self._table)
        loops.remember(keys, values, self._keys, self._values)

    def _make_tables(self) -> None:
        cells = 2 * len(self._nodes)
        self._table = np.zeros(cells, np.int32)
        self._keys, self._values = np.zeros(cells, np.uint64), np.zeros(cells, np.int32)


@dataclass(frozen=True, slots=True)
class Family:
    """Sets of items, {} among them, and no set without its parts."""

    nodes: Nodes
    root: int
    items: Ints  # the item for which each number in the nodes stands
    all_items: int  # how many items there are outside
    most: int  # no count exceeds this

    @property
    def total(self) -> int:
        """How many sets there are, besides {}."""
        return self._counts().total - 1

    def per_item(self) -> list[int]:
        """How many sets have each item."""
        found = [0] * self.all_items
        for item, number in zip(self.items.tolist(), self._counts().of_item, strict=True):
            found[item] = number
        return found

    def without(self, gone: Iterable[int]) -> Family:
        """The sets that have none of these items."""
        marked = np.zeros(self.all_items, np.bool_)
        marked[list(gone)] = True
        nodes, root = loops.gather(self.nodes, self.root, marked[self.items])
        return Family(nodes, int(root), self.items, self.all_items, self.most)

    def _counts(self) -> Counts:
        return exact_counts(self.nodes, self.root, len(self.items), self.most)


def most_parts(rows: int, longest: int, largest: int) -> int:
    """A bound on how many parts, of at most `largest` items, rows of at most `longest` have."""
    one = 1 << longest if largest >= longest else sum(comb(longest, i) for i in range(largest + 1))
    return max(rows, 1) * one


def exact_counts(nodes: Nodes, root: int, items: int, most: int) -> Counts:
    """The counts of a family, of which none exceeds `most`."""
    moduli = _moduli(most.bit_length())
    residues = []
    for modulus in moduli:
        residues.append(loops.count(nodes, root, items, np.uint64(modulus & (1 << 64) - 1)))
    *of_item, total = residues[0].tolist() if len(moduli) == 1 else _together(residues, moduli)
    return Counts(total, of_item)


def _together(residues: list[NDArray[np.uint64]], moduli: tuple[int, ...]) -> list[int]:
    """The numbers that leave these residues, by the Chinese remainder theorem."""
    whole = prod(moduli)
    shares = [whole // modulus * pow(whole // modulus, -1, modulus) for modulus in moduli]
    found = [0] * len(residues[0])
    for x in np.flatnonzero(np.any(residues, axis=0)).tolist():
        parts = zip(residues, shares, strict=True)
        found[x] = sum(int(residue[x]) * share for residue, share in parts) % whole
    return found


@cache
def _moduli(bits: int) -> tuple[int, ...]:
    """Moduli for numbers of so many bits: 2 to the power of 64, and primes as needed."""
    found, primes = [1 << 64], _primes()
    while prod(found) < 1 << bits:
        found.append(next(primes))
    return tuple(found)


def _primes() -> Iterator[int]:
    """Primes below 2 to the power of 31, the largest first."""
    for number in counting((1 << 31) - 1, -2):
        if all(number % divisor for divisor in range(3, isqrt(number) + 1, 2)):
            yield number
