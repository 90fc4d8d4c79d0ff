"""The loops that compare rows with people: what they share, and which patterns that makes strong.

An entry that is hidden, -1, is like nothing.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

from __future__ import annotations

import numpy as np

from reticent.compiling import compiled, ones
from reticent.suppress.sets import rising

FULL, SPENT = -1, -2  # no room for what is found, no budget left
_BLOCK = 2048  # rows


@compiled
def strong_patterns(held, every, own, width, least, over, under, most, budget, out):
    """The parts of a person's conditions that point to a value: bits of columns, and two counts.

    `every[q]` rows, of which `own[q]` show the value, are like the person in the columns `held[q]`.
    A pattern is strong if more than `least` rows fit it and have the value, and those are more than
    over / under of all that fit it. Patterns have at most `most` columns. Returns how many were
    found, and the work.
    """
    lists = np.empty(len(held) * (min(most, width) + 1), np.int32)
    for q in range(len(held)):
        lists[q] = q
    begin, end = np.zeros(width + 2, np.int64), np.zeros(width + 2, np.int64)
    next_, pattern = np.zeros(width + 2, np.int64), np.zeros(width + 2, np.int64)
    end[0] = len(held)
    found, depth, work = 0, 0, np.int64(0)
    while depth >= 0:
        j = next_[depth]
        if j == width:
            depth -= 1
            continue
        next_[depth] = j + 1
        top, all_, with_value = end[depth], np.int64(0), np.int64(0)
        for x in range(begin[depth], end[depth]):
            q = lists[x]
            if held[q] >> j & 1:
                lists[top] = q
                top += 1
                all_ += every[q]
                with_value += own[q]
        work += end[depth] - begin[depth]
        if work > budget:
            return SPENT, work
        if with_value <= least:
            continue
        longer = pattern[depth] | np.int64(1) << j
        if with_value * under > over * all_:
            if found == len(out):
                return FULL, work
            out[found, 0], out[found, 1], out[found, 2] = longer, all_, with_value
            found += 1
        if depth + 1 < most:
            begin[depth + 1], end[depth + 1] = end[depth], top
            pattern[depth + 1], next_[depth + 1] = longer, j + 1
            depth += 1
    return found, work


@compiled
def tallied(columns, values, weights, people, theirs, tables):
    """How many rows are like each person in which columns.

    `columns[j, i]`: code of distinct row i, of which there are `weights[i]`. Adds to
    ``tables[p, bits]``; bit 0 stands for the value of person p, the next for column 0. A block of
    rows is compared with all people while it is in the cache, and with none row by row: 2 ms a
    person and million rows of ten columns, where single rows took 20.
    """
    masks = np.empty(_BLOCK, np.int32)
    for start in range(0, len(values), _BLOCK):
        shown, weight = values[start : start + _BLOCK], weights[start : start + _BLOCK]
        for p in range(len(people)):
            for i in range(len(shown)):
                masks[i] = shown[i] == theirs[p]
            for j in range(people.shape[1]):
                code, bit = people[p, j], np.int32(2) << np.int32(j)
                column = columns[j, start : start + _BLOCK]
                if code >= 0:
                    for i in range(len(shown)):
                        masks[i] |= bit if column[i] == code else np.int32(0)
            table = tables[p]
            for i in range(len(shown)):
                table[masks[i]] += weight[i]


@compiled
def alike(columns, values, weights, person, value):
    """The sets of columns in which rows are like a person; how many rows, and how many own ones.

    For columns too many for a table of all sets.
    """
    rows = len(values)
    slots = 1
    while slots < 2 * rows:
        slots *= 2
    place = np.full(slots, -1, np.int32)
    held, every, own = np.empty(rows, np.int64), np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    masks, found = np.empty(_BLOCK, np.int64), 0
    for start in range(0, rows, _BLOCK):  # all columns of a few rows: they stay in the cache
        size = min(_BLOCK, rows - start)
        masks[:size] = 0
        for j in range(len(person)):
            if person[j] >= 0:
                column, code, bit = columns[j, start : start + size], person[j], np.int64(1) << j
                for i in range(size):
                    masks[i] |= bit * (column[i] == code)
        for i in range(size):
            mask = masks[i]
            if mask == 0:
                continue
            slot = (mask ^ mask >> 29) * 40503 & slots - 1
            while place[slot] >= 0 and held[place[slot]] != mask:
                slot = slot + 1 & slots - 1
            q = place[slot]
            if q < 0:
                q = place[slot] = found
                held[q] = mask
                found += 1
            every[q] += weights[start + i]
            own[q] += weights[start + i] * (values[start + i] == value)
    return held[:found], every[:found], own[:found]


@compiled
def smallest(masks):
    """The sets of bits that hold no other, by their size, then as numbers.

    >>> smallest(np.array([0b111, 0b010, 0b101, 0b100])).tolist()
    [2, 4]
    """
    sizes = np.zeros(len(masks), np.int64)
    for i in range(len(masks)):
        sizes[i] = ones(masks[i])
    order = rising(masks)
    order = order[rising(sizes[order])]
    found, count = np.empty(len(masks), np.int64), 0
    for i in order:
        holds = False
        for q in range(count):
            if masks[i] & found[q] == found[q]:
                holds = True
                break
        if not holds:
            found[count] = masks[i]
            count += 1
    return found[:count]
