"""Transactions as rows of numbers, equal ones once, and where each item stands.

starts    row r holds items[starts[r]], …, items[starts[r + 1] - 1], ascending
weights   how many transactions row r stands for
row_of    the row of each place in `items`
begins    item i stands at places[begins[i]], …, places[begins[i + 1] - 1], by row
bag       row r holds the private items inmates[bag[r]], …, inmates[bag[r + 1] - 1]
shares    in how many of the row's transactions each of those is
floors    how many transactions without it hold all public items of the row; empty if not known

These travel together: rows = starts, items, weights; lists = row_of, begins, places;
bags = bag, inmates, shares. Items are numbered by rising support: the rarest comes first in a row.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

from __future__ import annotations

import numpy as np

from reticent.compiling import compiled, inner


@compiled
def first_fault(starts, items, count):
    """The first transaction whose items are not ascending numbers below `count`; -1 if all are."""
    for row in range(len(starts) - 1):
        before = -1
        for place in range(starts[row], starts[row + 1]):
            if items[place] <= before or items[place] >= count:
                return row
            before = items[place]
    return -1


@compiled
def tally(items, count):
    """How often each item occurs."""
    found = np.zeros(count, np.int64)
    for item in items:
        found[item] += 1
    return found


@compiled
def renumbered(starts, items, number):
    """Rows of the items that have a number, by that number, ascending; -1 is none."""
    begins = np.zeros(len(starts), np.int64)
    kept = np.int64(0)
    for row in range(len(starts) - 1):
        for place in range(starts[row], starts[row + 1]):
            kept += number[items[place]] >= 0
        begins[row + 1] = kept
    found = np.empty(kept, np.int32)
    for row in range(len(starts) - 1):
        end = begins[row]
        for place in range(starts[row], starts[row + 1]):
            fresh = number[items[place]]
            if fresh < 0:
                continue
            at = end
            while at > begins[row] and found[at - 1] > fresh:
                found[at] = found[at - 1]
                at -= 1
            found[at] = fresh
            end += 1
    return begins, found


@compiled
def first_items(starts, items, width):
    """As many of each row's first items as fit into 63 bits, `width` bits each, as one number."""
    keys = np.zeros(len(starts) - 1, np.int64)
    for row in range(len(keys)):
        for i in range(63 // width):
            keys[row] <<= width
            if starts[row] + i < starts[row + 1]:
                keys[row] |= items[starts[row] + i] + 1
    return keys


@compiled
def in_dictionary_order(starts, items, keys, order):
    """Sort rows that are in order of their keys: where keys are equal, by merging."""
    spare = np.empty_like(order)
    first = 0
    while first < len(order):
        last = first + 1
        while last < len(order) and keys[order[last]] == keys[order[first]]:
            last += 1
        width = np.int64(1)
        while width < last - first:
            for low in range(first, last, 2 * width):
                merge(starts, items, order, spare, low, width, last)
            for at in range(first, last):
                order[at] = spare[at]
            width *= 2
        first = last


@inner
def merge(starts, items, order, spare, low, width, last):
    """Merge two neighbouring runs of sorted rows."""
    middle, high = min(low + width, last), min(low + 2 * width, last)
    i, j = low, middle
    for at in range(low, high):
        if j == high or (i < middle and compare(starts, items, order[i], order[j]) <= 0):
            spare[at] = order[i]
            i += 1
        else:
            spare[at] = order[j]
            j += 1


@inner
def compare(starts, items, one, other):
    """Which row comes first, as words do in a dictionary: below 0 the one, above 0 the other."""
    same = common(starts, items, one, other)
    i, j = starts[one] + same, starts[other] + same
    if i < starts[one + 1] and j < starts[other + 1]:
        return np.int64(items[i]) - items[j]
    return (starts[one + 1] - i) - (starts[other + 1] - j)


@inner
def common(starts, items, one, other):
    """How many items two rows have in common at their beginning."""
    length = min(starts[one + 1] - starts[one], starts[other + 1] - starts[other])
    for i in range(length):
        if items[starts[one] + i] != items[starts[other] + i]:
            return i
    return length


@compiled
def grouped(starts, items, order):
    """Rows in dictionary order, equal ones as one; and which one each row became part of."""
    group_of = np.empty(len(order), np.int32)
    count, kept = 0, np.int64(0)
    for at in range(len(order)):
        if at == 0 or compare(starts, items, order[at - 1], order[at]) != 0:
            count += 1
            kept += starts[order[at] + 1] - starts[order[at]]
        group_of[order[at]] = count - 1
    begins, weights = np.zeros(count + 1, np.int64), np.zeros(count, np.int64)
    found = np.empty(kept, np.int32)
    for row in order:
        group = group_of[row]
        if weights[group] == 0:
            begins[group + 1] = begins[group] + starts[row + 1] - starts[row]
            for i in range(starts[row + 1] - starts[row]):
                found[begins[group] + i] = items[starts[row] + i]
        weights[group] += 1
    return (begins, found, weights), group_of


@compiled
def bagged(starts, items, number, group_of, groups, count):
    """The private items of each row, each once, and in how many of its transactions.

    `starts` and `items` are the transactions', `group_of` says to which row each belongs, `number`
    which of `count` private items an item is; -1 is none.
    """
    sizes = np.zeros(groups + 1, np.int64)
    for row in range(len(starts) - 1):
        for place in range(starts[row], starts[row + 1]):
            sizes[group_of[row] + 1] += number[items[place]] >= 0
    ends = np.cumsum(sizes)
    held = np.empty(ends[-1], np.int32)
    free = ends[:-1].copy()
    for row in range(len(starts) - 1):
        for place in range(starts[row], starts[row + 1]):
            if number[items[place]] >= 0:
                held[free[group_of[row]]] = number[items[place]]
                free[group_of[row]] += 1
    bag, shares = np.zeros(groups + 1, np.int64), np.empty(len(held), np.int64)
    last = np.full(count, -1)  # where in the bag at hand each item stands
    end = np.int64(0)
    for group in range(groups):
        bag[group] = end
        for place in range(ends[group], ends[group + 1]):
            item = held[place]
            if last[item] < bag[group]:
                last[item] = end
                held[end], shares[end] = item, 0
                end += 1
            shares[last[item]] += 1
    bag[groups] = end
    return bag, held[:end].copy(), shares[:end].copy()


@compiled
def places_of(starts, items, count, row_of, places):
    """Where each item stands: fills `row_of` and `places`, returns `begins`."""
    begins = np.zeros(count + 1, np.int64)
    for item in items:
        begins[item + 1] += 1
    begins = np.cumsum(begins)
    free = begins[:-1].copy()
    for row in range(len(starts) - 1):
        for place in range(starts[row], starts[row + 1]):
            row_of[place] = row
            places[free[items[place]]] = place
            free[items[place]] += 1
    return begins


@compiled
def holders(rows, bags, chosen, tallies):
    """How many transactions hold all the chosen items, ascending; adds up their private items."""
    starts, items, weights = rows
    bag, inmates, shares = bags
    total = np.int64(0)
    for row in range(len(weights)):
        place, found = starts[row], 0
        while found < len(chosen) and place < starts[row + 1]:
            found += items[place] == chosen[found]
            place += 1
        if found == len(chosen):
            total += weights[row]
            for held in range(bag[row], bag[row + 1]):
                tallies[inmates[held]] += shares[held]
    return total


@compiled
def behind(rows, row_of, places, bags, floors, number):
    """The rows that hold an item at these places, as rows of their own: what they hold beyond it.

    Items are numbered afresh, in the same order: returns their old numbers, too. `number` is -1 for
    every item between calls. A walk over the copy stays in the processor's cache: over ten million
    transactions, copies included, it took half the time.
    """
    starts, items, weights = rows
    bag, inmates, shares = bags
    size, boxes = np.int64(0), np.int64(0)
    for place in places:
        row = row_of[place]
        size += starts[row + 1] - place - 1
        boxes += bag[row + 1] - bag[row]
        for i in range(place + 1, starts[row + 1]):
            number[items[i]] = 0
    names = np.flatnonzero(number == 0)
    number[names] = np.arange(len(names))
    count = len(places)
    new_starts, new_items = np.zeros(count + 1, np.int64), np.empty(size, np.int32)
    new_bag, new_inmates = np.zeros(count + 1, np.int64), np.empty(boxes, np.int32)
    new_shares, new_weights = np.empty(boxes, np.int64), np.empty(count, np.int64)
    new_floors = np.empty(boxes if len(floors) else 0, np.int64)
    size, boxes = np.int64(0), np.int64(0)
    for at in range(count):
        row = row_of[places[at]]
        new_weights[at] = weights[row]
        for i in range(places[at] + 1, starts[row + 1]):
            new_items[size] = number[items[i]]
            size += 1
        for held in range(bag[row], bag[row + 1]):
            new_inmates[boxes], new_shares[boxes] = inmates[held], shares[held]
            if len(floors):
                new_floors[boxes] = floors[held]
            boxes += 1
        new_starts[at + 1], new_bag[at + 1] = size, boxes
    number[names] = -1
    new_rows = new_starts, new_items, new_weights
    return names, new_rows, (new_bag, new_inmates, new_shares), new_floors
