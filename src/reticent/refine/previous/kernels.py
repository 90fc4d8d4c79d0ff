"""The inner loops behind promises about earlier releases: products of counts on both sides.

Rows are linked in their groups, and no pair of rows is ever laid out.

starts    group g of our cells is starts[g], …, starts[g + 1] - 1
of_cell   which vector of the other side a cell goes with
weights   what the cell counts for
begins    vector v is begins[v], …, begins[v + 1] - 1 of `places` and `amounts`
places    which group of the other side, ascending within a vector
amounts   what the other side counts for there
total     scratch by place, all zero between calls
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

from __future__ import annotations

import numpy as np

from reticent.compiling import compiled, inner


@compiled
def smallest_products(starts, of_cell, weights, begins, places, amounts, total, seen, smallest):
    """The smallest sum of products over the linked groups of each group of cells."""
    for group in range(len(starts) - 1):
        cells = starts[group], starts[group + 1]
        found = add_up(cells, of_cell, weights, begins, places, amounts, total, seen)
        smallest[group] = smallest_seen(total, seen, found)


@inner
def smallest_seen(total, seen, found):
    """The smallest sum of the places that were seen, which are cleared."""
    least = np.int64(np.iinfo(np.int64).max)
    for i in range(found):
        least = min(least, total[seen[i]] - 1)
        total[seen[i]] = 0
    return least


@compiled
def fewest_people(starts, of_cell, mine, begins, places, people, yours, total, seen, last, fewest):
    """The fewest different people in the linked groups of each group of cells.

    A person is a mark of ours with one of theirs; 0 is none. Cells of a group are in ascending
    order of mark. people[i] stands for a place and a mark of theirs; last[people[i]]: with which
    mark of ours, in which group, it was met last. To lay people out and sort them took five times
    as long, and the square of their number.
    """
    turn = np.int64(0)
    for group in range(len(starts) - 1):
        found = 0
        before = np.int64(-1)
        for cell in range(starts[group], starts[group + 1]):
            if mine[cell] != before:
                before = mine[cell]
                turn += 1
            vector = of_cell[cell]
            for i in range(begins[vector], begins[vector + 1]):
                place = places[i]
                if total[place] == 0:  # every place is one more than it counts, once it is seen
                    total[place] = 1
                    seen[found] = place
                    found += 1
                if before > 0 and yours[i] > 0 and last[people[i]] != turn:
                    last[people[i]] = turn
                    total[place] += 1
        fewest[group] = smallest_seen(total, seen, found)


@compiled
def larger(over, under, than_over, than_under):
    """Whether one fraction exceeds another, exactly: by their continued fractions."""
    a, b, c, d = over, under, than_over, than_under
    while True:
        if b == 0 or d == 0:  # infinite, as reached by a whole number before the other
            return b == 0 and d != 0
        p, q = a // b, c // d
        if p != q:
            return p > q
        a, b, c, d = d, c - q * d, b, a - p * b
    return False


@inner
def add_up(cells, of_cell, weights, begins, places, amounts, total, seen):
    """Sum products by place over some cells of one group; returns how many places were seen.

    Every place is one more than it counts: a sum may be 0, and the place was seen all the same.
    """
    found = 0
    for cell in range(cells[0], cells[1]):
        vector = of_cell[cell]
        for i in range(begins[vector], begins[vector + 1]):
            place = places[i]
            if total[place] == 0:
                total[place] = 1
                seen[found] = place
                found += 1
            total[place] += weights[cell] * amounts[i]
    return found


@compiled
def largest_shares(
    starts, of_cell, marks, weights, begins, places, amounts, total, part, seen, over, under
):
    """The largest share of one mark over the linked groups of each group of cells.

    Cells of a group are in ascending order of mark; 0 is none.
    """
    for group in range(len(starts) - 1):
        cells = starts[group], starts[group + 1]
        found = add_up(cells, of_cell, weights, begins, places, amounts, total, seen)
        best, whole = np.int64(0), np.int64(1)
        cell = starts[group]
        while cell < starts[group + 1] and marks[cell] == 0:
            cell += 1
        while cell < starts[group + 1]:
            mark = marks[cell]
            first = cell
            while cell < starts[group + 1] and marks[cell] == mark:
                vector = of_cell[cell]
                for i in range(begins[vector], begins[vector + 1]):
                    part[places[i]] += weights[cell] * amounts[i]
                cell += 1
            for again in range(first, cell):
                vector = of_cell[again]
                for i in range(begins[vector], begins[vector + 1]):
                    place = places[i]
                    if part[place] and larger(part[place], total[place] - 1, best, whole):
                        best, whole = part[place], total[place] - 1
                    part[place] = 0
        for i in range(found):
            total[seen[i]] = 0
        over[group], under[group] = best, whole


@compiled
def largest_shares_of_theirs(
    starts, of_cell, weights, begins, places, pairs, marks, amounts, total, part, seen, over, under
):
    """The same where marks are on the other side: pairs[i] stands for a place and a mark."""
    for group in range(len(starts) - 1):
        cells = starts[group], starts[group + 1]
        found = add_up(cells, of_cell, weights, begins, places, amounts, total, seen)
        for cell in range(starts[group], starts[group + 1]):
            vector = of_cell[cell]
            for i in range(begins[vector], begins[vector + 1]):
                if marks[i]:
                    part[pairs[i]] += weights[cell] * amounts[i]
        best, whole = np.int64(0), np.int64(1)
        for cell in range(starts[group], starts[group + 1]):
            vector = of_cell[cell]
            for i in range(begins[vector], begins[vector + 1]):
                if marks[i] and part[pairs[i]]:
                    if larger(part[pairs[i]], total[places[i]] - 1, best, whole):
                        best, whole = part[pairs[i]], total[places[i]] - 1
                    part[pairs[i]] = 0
        for i in range(found):
            total[seen[i]] = 0
        over[group], under[group] = best, whole


@inner
def worse(over, under, than_over, than_under, smallest):
    """Whether one value is worse than another: smaller, or larger."""
    if smallest:
        return larger(than_over, than_under, over, under)
    return larger(over, under, than_over, than_under)


@compiled
def worst_of(starts, over, under, smallest, found_over, found_under):
    """The worst value of each run."""
    for run in range(len(starts) - 1):
        best = starts[run]
        for i in range(starts[run] + 1, starts[run + 1]):
            if worse(over[i], under[i], over[best], under[best], smallest):
                best = i
        found_over[run], found_under[run] = over[best], under[best]


@compiled
def after_each(
    begins, group, over, under, worst_first, ratio, smallest, stamp, found_over, found_under
):
    """The worst value after each candidate, and as things are, which comes last.

    Values of groups as they are stand at 0, …, begins[0] - 1; those of candidate s, about the
    groups that it touches, at begins[s], …, begins[s + 1] - 1. All other groups stay as they are.
    `worst_first` orders groups by their `ratio`, which is rounded.
    """
    last = len(found_over) - 1
    for slot in range(last + 1):
        best = -1
        if slot < last:
            for i in range(begins[slot], begins[slot + 1]):
                stamp[group[i]] = slot
                if best < 0 or worse(over[i], under[i], over[best], under[best], smallest):
                    best = i
        beside = -1  # the worst of the groups that the candidate leaves alone
        for i in worst_first:
            if stamp[group[i]] == slot:
                continue
            if beside < 0:
                beside = i
            elif abs(ratio[i] - ratio[beside]) > 1e-9 * abs(ratio[beside]):
                break
            elif worse(over[i], under[i], over[beside], under[beside], smallest):
                beside = i
        if best < 0 or (
            beside >= 0 and worse(over[beside], under[beside], over[best], under[best], smallest)
        ):
            best = beside
        found_over[slot], found_under[slot] = over[best], under[best]


@compiled
def pack(keys, column, width):
    """Append a column of codes below `width` to rows that are packed into one number each."""
    for i in range(len(keys)):
        keys[i] = keys[i] * width + column[i]


@compiled
def gather(keys, weights, table, sums):
    """Add up the weights of equal keys in a table of 2**n places, -1 where one is free.

    Returns how many differ, or -1 if they fill more than half of it.
    """
    mask = len(table) - 1
    found = 0
    for i in range(len(keys)):
        key = keys[i]
        mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
        at = np.int64(mixed >> np.uint64(20)) & mask
        while table[at] != key:
            if table[at] == -1:
                if 2 * found >= len(table):
                    return -1
                table[at] = key
                found += 1
                break
            at = (at + 1) & mask
        sums[at] += weights[i]
    return found


@compiled
def count_matches(tuples, sets, sizes, found):
    """How many records of theirs each row of ours may be; sizes[key]: how many have that key."""
    for i in range(len(tuples)):
        for word in range(sets.shape[1]):
            common = sets[tuples[i, 0], word]
            for j in range(1, tuples.shape[1]):
                common &= sets[tuples[i, j], word]
            bit = 64 * word
            while common:
                if common & np.uint64(1):
                    found[i] += sizes[bit]
                common >>= np.uint64(1)
                bit += 1


@compiled
def find_matches(tuples, sets, ours, theirs):
    """Which rows of ours go with some key, and which keys with some row of ours.

    tuples[i, j]: the set of bits that column j of row i allows.
    """
    words = sets.shape[1]
    for i in range(len(tuples)):
        for word in range(words):
            common = sets[tuples[i, 0], word]
            for j in range(1, tuples.shape[1]):
                common &= sets[tuples[i, j], word]
            if common:
                ours[i] = True
                theirs[word] |= common
