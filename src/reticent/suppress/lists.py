"""Loops over rows of items: turned round, renumbered, cut down, and asked who holds what.

Row r is ``items[starts[r] : starts[r + 1]]``, of whatever there are rows: transactions, or threats.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

from __future__ import annotations

import numpy as np

from reticent.compiling import compiled, inner

ONE = np.uint64(1)


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
def without(starts, items, gone):
    """Transactions without the items that are gone."""
    left = np.zeros(len(starts), np.int64)
    kept = np.empty(len(items), np.int32)
    to = 0
    for row in range(len(starts) - 1):
        for x in range(starts[row], starts[row + 1]):
            if not gone[items[x]]:
                kept[to] = items[x]
                to += 1
        left[row + 1] = to
    return left, kept[:to]


@compiled
def project(rows, item, gone, starts, items, private_starts, private):
    """Some transactions without the items that are gone and without one more, private ones too."""
    size = private_size = 0
    for row in rows:
        size += starts[row + 1] - starts[row]
        private_size += private_starts[row + 1] - private_starts[row]
    left, own = np.zeros(len(rows) + 1, np.int64), np.zeros(len(rows) + 1, np.int64)
    kept, held = np.empty(size, np.int32), np.empty(private_size, np.int32)
    to = private_to = 0
    for i in range(len(rows)):
        row = rows[i]
        for x in range(starts[row], starts[row + 1]):
            if items[x] != item and not gone[items[x]]:
                kept[to] = items[x]
                to += 1
        for x in range(private_starts[row], private_starts[row + 1]):
            held[private_to] = private[x]
            private_to += 1
        left[i + 1], own[i + 1] = to, private_to
    return left, kept[:to], own, held


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
