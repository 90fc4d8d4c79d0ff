"""Sets of things as rows of numbers, the loops over such rows, and how far a search of them may go.

Row r is ``items[starts[r] : starts[r + 1]]``, whatever it is a row of: the items of a transaction,
the items of a mole, the records that fit a rule.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.compiling import compiled, inner

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
ONE = np.uint64(1)


class GaveUp(Exception):
    """As much work as is allowed was done, and nobody knows the answer yet."""


@dataclass(slots=True)
class Budget:
    """How far a search may go before it gives up; what a unit of work is, each search says."""

    work: int = 1 << 62
    sets: int = 1 << 62  # that are listed

    def spend(self, work: int) -> None:
        """Take this from it."""
        self.work -= work
        if self.work < 0:
            raise GaveUp


@dataclass(slots=True)
class Halt:
    """Whether somebody asked a search to end, which it may with the best safe choice so far.

    It is asked between compiled loops; what is heard inside one counts when that loop returns.
    """

    stop: Callable[[], bool] = lambda: False
    started: Callable[[], None] = lambda: None  # from here on there is a safe choice
    heard: bool = False

    def now(self) -> bool:
        """Whether to end; who said yes once is not asked again."""
        self.heard = self.heard or self.stop()
        return self.heard

    def or_give_up(self) -> None:
        """End what cannot be of use half done."""
        if self.now():
            raise GaveUp


@dataclass(frozen=True, slots=True)
class Sets:
    """Sets of things by number."""

    begins: Ints  # set s is items[begins[s] : begins[s + 1]]
    items: NDArray[np.int32]
    complete: bool = True  # False: there may be more
    work: int = 0  # what it took to find them

    def __len__(self) -> int:
        """How many there are."""
        return len(self.begins) - 1

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        """The sets, items ascending."""
        for begin, end in zip(self.begins, self.begins[1:], strict=False):
            yield tuple(sorted(self.items[begin:end].tolist()))

    def some(self, which: NDArray[np.integer[Any]]) -> Sets:
        """A few of them."""
        sizes = np.diff(self.begins)[which]
        ends = np.cumsum(sizes)
        shifts = np.repeat(self.begins[which] - (ends - sizes), sizes)
        items = self.items[np.arange(len(shifts)) + shifts]
        return Sets(np.concatenate([[0], ends]), items, self.complete)


def together(parts: Sequence[Sets]) -> Sets:
    """All sets of some."""
    shifts = np.cumsum([0, *(len(part.items) for part in parts)])
    begins = [part.begins[:-1] + shift for part, shift in zip(parts, shifts, strict=False)]
    return Sets(
        np.concatenate([*begins, shifts[-1:]]),
        np.concatenate([part.items for part in parts]),
        all(part.complete for part in parts),
    )


def plain_share(h: Fraction, count: int) -> tuple[int, int]:
    """h, or the largest fraction below it whose denominator is at most `count`.

    Shares of that many transactions exceed both or neither, and products of its numbers with theirs
    stay below 2^63.

    >>> plain_share(Fraction(1, 2), 9), plain_share(Fraction("0.66666666666666667"), 9)
    ((1, 2), (2, 3))
    >>> plain_share(Fraction("0.6666666666666666"), 9)
    (5, 8)
    """
    near = h.limit_denominator(max(count, 1))
    over, under = near.numerator, near.denominator
    if near > h:  # its neighbour below, among fractions like these: the products differ by one
        beside = pow(over, -1, under) if under > 1 else 0
        below = count - (count - beside) % under
        over, under = (over * below - 1) // under, below
    return over, under


# --- loops over rows ------------------------------------------------------------------------------


@inner
def rising(values):
    """Where the values stand, by ascending value: NumPy's own takes 2 s longer to be compiled."""
    order, other = np.arange(len(values)), np.empty(len(values), np.int64)
    width = 1
    while width < len(values):
        for low in range(0, len(values), 2 * width):
            middle, high = min(low + width, len(values)), min(low + 2 * width, len(values))
            one, two = low, middle
            for to in range(low, high):
                if two == high or (one < middle and values[order[one]] <= values[order[two]]):
                    other[to] = order[one]
                    one += 1
                else:
                    other[to] = order[two]
                    two += 1
        order, other = other, order
        width *= 2
    return order


@compiled
def invert(starts, items, count):
    """The transactions of each item, as `starts` and `rows`."""
    begins = np.zeros(count + 1, np.int64)
    for item in items:
        begins[item + 1] += 1
    for item in range(count):
        begins[item + 1] += begins[item]
    free = begins[:-1].copy()
    rows = np.empty(len(items), np.int32)
    for row in range(len(starts) - 1):
        for x in range(starts[row], starts[row + 1]):
            rows[free[items[x]]] = row
            free[items[x]] += 1
    return begins, rows


@compiled
def renumber(starts, items, number, count):
    """Transactions with items under new numbers, ascending; those without one are left out.

    Also the transactions of each item, and where among all items it stands there.
    """
    n = len(starts) - 1
    begins = np.zeros(count + 1, np.int64)
    ends = np.zeros(n + 1, np.int64)
    for row in range(n):
        for x in range(starts[row], starts[row + 1]):
            new = number[items[x]]
            if new >= 0:
                begins[new + 1] += 1
                ends[row + 1] += 1
    for item in range(count):
        begins[item + 1] += begins[item]
    for row in range(n):
        ends[row + 1] += ends[row]
    rows = np.empty(begins[count], np.int32)
    free = begins[:-1].copy()
    for row in range(n):
        for x in range(starts[row], starts[row + 1]):
            new = number[items[x]]
            if new >= 0:
                rows[free[new]] = row
                free[new] += 1
    sorted_ = np.empty(len(rows), np.int32)
    stands = np.empty(len(rows), np.int64)
    free = ends[:-1].copy()
    for item in range(count):
        for x in range(begins[item], begins[item + 1]):
            to = free[rows[x]]
            sorted_[to], stands[x] = item, to
            free[rows[x]] = to + 1
    return ends, sorted_, begins, rows, stands


@compiled
def project(rows, item, gone, starts, items):
    """Some transactions without the items that are gone and without one more."""
    size = 0
    for row in rows:
        size += starts[row + 1] - starts[row]
    left, kept, to = np.zeros(len(rows) + 1, np.int64), np.empty(size, np.int32), 0
    for i in range(len(rows)):
        for x in range(starts[rows[i]], starts[rows[i] + 1]):
            if items[x] != item and not gone[items[x]]:
                kept[to] = items[x]
                to += 1
        left[i + 1] = to
    return left, kept[:to]


@compiled
def all_bits(starts, items, count):
    """Every item's transactions as bits."""
    n = len(starts) - 1
    bits = np.zeros((count, (n + 63) // 64), np.uint64)
    for row in range(n):
        for x in range(starts[row], starts[row + 1]):
            bits[items[x], row >> 6] |= ONE << np.uint64(row & 63)
    return bits


@compiled
def beside(begins, items, starts, held, of_item, rows, found):
    """Mark whatever stands in a transaction together with all items of one of some sets."""
    has = np.zeros(len(of_item) - 1, np.bool_)
    open_ = len(found) - found.sum()
    for s in range(len(begins) - 1):
        if open_ == 0:
            break
        rarest = items[begins[s]]
        for x in range(begins[s], begins[s + 1]):
            has[items[x]] = True
            if of_item[items[x] + 1] - of_item[items[x]] < of_item[rarest + 1] - of_item[rarest]:
                rarest = items[x]
        for y in range(of_item[rarest], of_item[rarest + 1]):
            row, met = rows[y], 0
            for x in range(starts[row], starts[row + 1]):
                met += has[held[x]]
            if met == begins[s + 1] - begins[s]:
                for x in range(starts[row], starts[row + 1]):
                    if not found[held[x]]:
                        found[held[x]] = True
                        open_ -= 1
        for x in range(begins[s], begins[s + 1]):
            has[items[x]] = False


@compiled
def held_by(starts, items, weights, begins, holders, some, enough):
    """How many transactions hold all of some items, ascending; or at least `enough`.

    Equal transactions are one row with a weight.
    """
    found = np.int64(0)
    first = some[0]
    for x in range(begins[first], begins[first + 1]):
        row = holders[x]
        at, met = starts[row], 0
        while met < len(some) and at < starts[row + 1]:
            if items[at] == some[met]:
                met += 1
            elif items[at] > some[met]:
                break
            at += 1
        if met == len(some):
            found += weights[row]
            if found >= enough:
                break
    return found


@compiled
def thin_row(starts, items, weights, begins, holders, k):
    """A row of items that fewer than k transactions hold; -1 if there is none."""
    for row in range(len(starts) - 1):
        if weights[row] < k and starts[row + 1] > starts[row]:
            some = items[starts[row] : starts[row + 1]]
            if held_by(starts, items, weights, begins, holders, some, k) < k:
                return row
    return -1


# --- rows: row r is items[starts[r] : starts[r + 1]], ascending -----------------------------------


@compiled
def in_dictionary_order(starts, items):
    """The order of rows as words have it in a dictionary: quicksort, one item at a time."""
    order = np.arange(len(starts) - 1)
    todo = np.empty((len(order) // 2 + 2, 3), np.int64)  # ranges of two rows or more, all apart
    left = _put(todo, 0, 0, len(order), 0)
    while left:
        left -= 1
        low, high, depth = todo[left, 0], todo[left, 1], todo[left, 2]
        pivot = _item_at(starts, items, order[(low + high) // 2], depth)
        less, more, x = low, high, low
        while x < more:
            here = _item_at(starts, items, order[x], depth)
            if here < pivot:
                order[less], order[x] = order[x], order[less]
                less += 1
                x += 1
            elif here > pivot:
                more -= 1
                order[more], order[x] = order[x], order[more]
            else:
                x += 1
        left = _put(todo, left, low, less, depth)
        left = _put(todo, left, more, high, depth)
        if pivot >= 0:  # else these rows are equal and at their end
            left = _put(todo, left, less, more, depth + 1)
    return order


@inner
def _put(todo, left, low, high, depth):
    if high - low < 2:
        return left
    todo[left, 0], todo[left, 1], todo[left, 2] = low, high, depth
    return left + 1


@inner
def _item_at(starts, items, row, depth):
    at = starts[row] + depth
    return np.int64(items[at]) if at < starts[row + 1] else np.int64(-1)


@inner
def common(starts, items, one, other):
    """With how many items two rows begin alike."""
    length = min(starts[one + 1] - starts[one], starts[other + 1] - starts[other])
    for i in range(length):
        if items[starts[one] + i] != items[starts[other] + i]:
            return i
    return length
