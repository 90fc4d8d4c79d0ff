"""Minimal moles: the smallest sets of items by which somebody can be singled out.

A set of at most p items that some transaction holds is a mole if fewer than k transactions hold it,
or if more than a share h of those hold a common private item, or if that is so of one of its
subsets. A minimal one has no mole inside. It is a *free* set: each of its subsets is held by more
transactions than itself, for a subset held by the same transactions would be a mole, too.

The search goes depth first over free sets, rare items first, each node on bitsets of its own
transactions. r more items can take away no more than the r that take most; where that leaves
enough, nobody need look. On Connect (67,557 transactions, k = 50, p = 5) 16,000 nodes are visited,
and the frequent sets, millions of them, are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain
from itertools import count as counting
from operator import itemgetter
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from reticent.suppress import sets
from reticent.suppress.baskets import kernels
from reticent.suppress.baskets.nuggets import distinct_rows
from reticent.suppress.sets import Budget, Halt, Ints, Mask, Sets, plain_share, together

_ROOM_FOR_BITS = 1 << 27  # bytes, for every item's bits over all transactions
_THREADS = 2


@dataclass(frozen=True, slots=True)
class KnownBaskets:
    """Transactions as far as they matter: what may be known of them, and what must not be told."""

    starts: Ints  # transaction t has items[starts[t] : starts[t + 1]], each once
    items: NDArray[np.int32]
    count: int  # of items
    private_starts: Ints  # the same of private items
    private: NDArray[np.int32]
    private_count: int

    @property
    def transactions(self) -> int:
        """How many there are."""
        return len(self.starts) - 1

    def supports(self) -> Ints:
        """How many transactions have each item."""
        return np.bincount(self.items, minlength=self.count)

    def without(self, gone: Mask) -> KnownBaskets:
        """The same transactions, less the items that are gone."""
        kept = ~gone[self.items]
        starts = np.concatenate([[0], np.cumsum(kept)])[self.starts]
        return replace(self, starts=starts, items=self.items[kept])

    def beside(self, item: int, rows: NDArray[np.int32], gone: Mask) -> KnownBaskets:
        """What some transactions hold besides an item, and those that are gone."""
        starts, items = sets.project(rows, item, gone, self.starts, self.items)
        private = Sets(self.private_starts, self.private).some(rows)
        return KnownBaskets(
            starts, items, self.count, private.begins, private.items, self.private_count
        )


def minimal_moles(
    known: KnownBaskets, k: int, h: Fraction, p: int | None = None, *,
    budget: Budget | None = None, halt: Halt | None = None,
) -> Sets:  # fmt: skip
    """All minimal moles, or those found before a budget was spent: the same ones each time.

    >>> rows = [[0, 1], [0, 1], [0, 2], [0, 2], [1], [2]]
    >>> starts = np.cumsum([0, *map(len, rows)])
    >>> nothing = np.zeros(7, np.int64), np.zeros(0, np.int32), 0
    >>> known = KnownBaskets(starts, np.concatenate(rows).astype(np.int32), 3, *nothing)
    >>> list(minimal_moles(known, k=3, h=Fraction(1)))
    [(0, 1), (0, 2)]
    """
    p = known.transactions + known.count if p is None else p
    over, under = plain_share(h, known.transactions)
    if known.transactions and p < 1:
        raise ValueError("an attacker who knows nothing has no mole")
    supports = known.supports()
    begins, rows = sets.invert(known.starts, known.items, known.count)
    maxima = np.zeros(known.count, np.int64)
    if under > over:
        maxima = kernels.private_maxima(
            begins, rows, known.private_starts, known.private, known.private_count
        )
    alone = (supports > 0) & ((supports < k) | (maxima * under > over * supports))
    singles = np.flatnonzero(alone)
    found = [Sets(np.arange(len(singles) + 1), singles.astype(np.int32))]
    if p > 1:
        there = np.flatnonzero((supports > 0) & ~alone)
        rank = there[np.argsort(supports[there], kind="stable")]
        search = _Miner(known, rank, maxima[rank], k, p, over, under, budget, halt)
        found += [replace(m, items=rank[m.items].astype(np.int32)) for m in search.all()]
    whole = together(found)
    if under > over and p > 2:  # a confidence can be broken inside a set that keeps it
        whole = whole.some(np.argsort(np.diff(whole.begins), kind="stable"))
        minimal = kernels.hold_no_other(whole.begins, whole.items, known.count)
        whole = whole.some(np.flatnonzero(minimal))
    return replace(whole, work=sum(part.work for part in found))


@dataclass(slots=True)
class _Scratch:
    """What one thread works with; it grows as needed."""

    count: int
    private_count: int
    arena: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(1 << 16, np.uint64))
    ints: Ints = field(default_factory=lambda: np.zeros(1 << 16, np.int64))
    out: NDArray[np.int32] = field(default_factory=lambda: np.zeros(1 << 16, np.int32))
    state: Ints = field(default_factory=lambda: np.zeros(6, np.int64))
    local: Ints = field(init=False)
    seen: Ints = field(init=False)

    def __post_init__(self) -> None:
        self.local = np.full(self.count, -1, np.int64)
        self.seen = np.zeros(self.private_count + 1, np.int64)

    def grow(self, what: int) -> None:
        """Make room."""
        if what == kernels.OUT:
            self.out = np.concatenate([self.out, np.zeros_like(self.out)])
        elif what == kernels.ARENA:
            self.arena = np.zeros(2 * len(self.arena), np.uint64)
        else:
            self.ints = np.zeros(2 * len(self.ints), np.int64)


class _Miner:
    """The search on items that are no moles alone, numbered by ascending support."""

    def __init__(
        self, known: KnownBaskets, rank: Ints, maxima: Ints, k: int, p: int, over: int, under: int,
        budget: Budget | None, halt: Halt | None,
    ) -> None:  # fmt: skip
        """`rank`: these items."""
        self.maxima, self.budget, self.halt = maxima, budget or Budget(), halt or Halt()
        self.k, self.p, self.over, self.under = k, p, over, under
        number = np.full(known.count, -1, np.int32)
        number[rank] = np.arange(len(rank))
        starts, items, self.begins, self.rows, self.stands = sets.renumber(
            known.starts, known.items, number, len(rank)
        )
        self.known = replace(known, starts=starts, items=items, count=len(rank))

    def all(self) -> list[Sets]:
        """Pairs, then everything that is longer."""
        words = (self.known.transactions + 63) // 64
        bits = np.zeros((0, 1), np.uint64)
        if 8 * self.known.count * words <= _ROOM_FOR_BITS:
            bits = sets.all_bits(self.known.starts, self.known.items, self.known.count)
        # On dense data, bits of two items are compared sooner than pairs are counted: ten times.
        dense = self.known.count**2 * words < (np.diff(self.known.starts) ** 2).sum()
        pairs, near = self._pairs(bits if dense else bits[:0])
        if self.p < 3 or not len(near) or not pairs.complete:
            return [pairs]
        first = near[::4]
        next_to = np.searchsorted(first, np.arange(self.known.count + 1))
        neighbours = np.arange(0, len(near), 4)
        # Long searches first, so that two threads end together; but who wants one mole asks the
        # rarest items, which have most of them and the fewest transactions.
        wanted = np.unique(first)[:: 1 if self.budget.sets == 0 else -1].tolist()
        left = self.budget.sets - len(pairs)
        numbers, lock = counting(), Lock()
        spent = np.zeros((_THREADS, 6), np.int64)

        def work(thread: int) -> list[_Part]:
            scratch, done = _Scratch(self.known.count, self.known.private_count), []
            while not (_over(spent.sum(axis=0), left, self.budget.work) or self.halt.now()):
                with lock:
                    at = next(numbers)
                if at >= len(wanted):
                    break
                before = scratch.state.copy()
                self._from(wanted[at], next_to, neighbours, near, bits, scratch)
                spent[thread] = scratch.state
                done.append((at, before, scratch.state.copy()))
            return [
                (at, scratch.out[before[0] : after[0]], after - before)
                for at, before, after in done
            ]

        pool = ThreadPoolExecutor(_THREADS)
        try:
            parts = sorted(chain(*pool.map(work, range(_THREADS))), key=itemgetter(0))
        finally:  # who is interrupted does not wait for what the threads are doing
            pool.shutdown(wait=False, cancel_futures=True)
        return [pairs, _up_to(left, self.budget.work, parts, len(wanted))]

    def _pairs(self, bits: NDArray[np.uint64]) -> tuple[Sets, Ints]:
        known = self.known
        out, near = np.zeros(1 << 16, np.int32), np.zeros(1 << 16, np.int64)
        state, first = np.zeros(6, np.int64), 0
        while True:
            first = kernels.pairs(
                known.starts, known.items, self.begins, self.rows, self.stands,
                known.private_starts, known.private, known.private_count, self.maxima,
                self.k, self.over, self.under, first, bits, out, near, state, self.budget.sets,
            )  # fmt: skip
            if first >= known.count or state[1] > self.budget.sets:
                complete = first >= known.count and state[1] <= self.budget.sets
                moles = _unpacked(out[: state[0]], int(state[1]))
                return replace(moles, complete=complete), near[: state[5]]
            out = np.concatenate([out, np.zeros(max(len(out), 3 * known.count), np.int32)])
            near = np.concatenate([near, np.zeros(max(len(near), 4 * known.count), np.int64)])

    def _from(
        self, item: int, next_to: Ints, neighbours: Ints, near: Ints,
        whole: NDArray[np.uint64], scratch: _Scratch,
    ) -> None:  # fmt: skip
        known = self.known
        before = scratch.state.copy()
        while True:
            kernels.from_item(
                item, self.k, self.p, self.over, self.under, known.starts, known.items,
                self.begins, self.rows, known.private_starts, known.private,
                next_to, neighbours, near, whole, scratch.local, scratch.seen,
                scratch.arena, scratch.ints, scratch.out, scratch.state,
                before[3] + self.budget.work,
            )  # fmt: skip
            if scratch.state[2] in (0, kernels.SPENT):
                scratch.state[2] = 0
                return
            scratch.grow(int(scratch.state[2]))
            scratch.state[:] = before


_Part = tuple[int, NDArray[np.int32], Ints]  # of one item: its place, cells found, what it took


def _over(spent: Ints, moles: int, work: int) -> bool:
    return bool(spent[1] > moles or spent[3] > work)


def _up_to(moles: int, work: int, parts: Sequence[_Part], wanted: int) -> Sets:
    """What was found until the budget was spent, whichever thread found it when."""
    spent, cells = np.zeros(6, np.int64), []
    for _, found, took in parts:
        spent += took
        cells.append(found)
        if _over(spent, moles, work):
            break
    complete = len(cells) == wanted and not _over(spent, moles, work)
    whole = np.concatenate(cells) if cells else np.zeros(0, np.int32)
    return replace(_unpacked(whole, int(spent[1])), complete=complete, work=int(spent[3]))


def _unpacked(cells: NDArray[np.int32], count: int) -> Sets:
    """Sets that were written one after the other, each after its length."""
    begins = np.zeros(count + 1, np.int64)
    items = np.zeros(max(len(cells) - count, 0), np.int32)
    kernels.unpack(cells, begins, items)
    return Sets(begins, items)


def thin_set(known: KnownBaskets, k: int) -> tuple[int, ...] | None:
    """A set that fewer than k transactions hold, and of which every part is held by more.

    A set is held by at least as many transactions as any whole transaction that holds it. So if
    nobody has a *thin* transaction, one that fewer than k hold, there is no such set; and if
    somebody has, a part of it that cannot be made smaller is a minimal mole. That takes polynomial
    time, where the search through all sets may never end: 31 baskets, each of 194 of 200 items,
    have more minimal moles than anybody can list.

    >>> starts, items = np.array([0, 2, 4, 7]), np.array([0, 1, 0, 1, 0, 1, 2], np.int32)
    >>> known = KnownBaskets(starts, items, 3, np.zeros(4, np.int64), np.zeros(0, np.int32), 0)
    >>> thin_set(known, 2), thin_set(known, 1)
    ((2,), None)
    """
    supports = known.supports()
    rows = distinct_rows(known.starts, known.items, supports, np.flatnonzero(supports))
    begins, holders = sets.invert(rows.starts, rows.items, len(rows.rank))
    table = rows.starts, rows.items, rows.weights, begins, holders
    row = sets.thin_row(*table, k)
    if row < 0:
        return None
    kept = rows.items[rows.starts[row] : rows.starts[row + 1]]
    for item in kept[::-1]:  # frequent items first: rare ones are why
        fewer = kept[kept != item]
        if len(fewer) and sets.held_by(*table, fewer, k) < k:
            kept = fewer
    return tuple(sorted(rows.rank[kept].tolist()))
