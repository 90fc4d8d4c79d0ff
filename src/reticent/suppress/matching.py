"""The loops that compare rows with people: what they share, and which patterns that makes strong.

An entry that is hidden, -1, is like nothing.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

from __future__ import annotations

import numpy as np

from reticent.compiling import compiled, inner

FULL, SPENT = -1, -2  # no room for what is found, no budget left
_BLOCK = 2048  # rows


@compiled
def strong_patterns(
    columns, values, weights, person, value, least, over, under, most, budget, out
):  # fmt: skip
    """The parts of a person's conditions that point to a value: bits of columns, and two counts.

    `columns[j, i]`: code of distinct row i, of which there are `weights[i]`. A pattern is strong if
    more than `least` rows fit it and have the value, and those are more than over / under of all
    that fit it. Patterns have at most `most` columns. Returns how many were found, and the work.
    """
    held, every, own = _alike(columns, values, weights, person, value)
    lists = np.empty(len(held) * (min(most, len(person)) + 1), np.int32)
    for q in range(len(held)):
        lists[q] = q
    depths = len(person) + 2
    begin, end = np.zeros(depths, np.int64), np.zeros(depths, np.int64)
    next_, pattern = np.zeros(depths, np.int64), np.zeros(depths, np.int64)
    end[0] = len(held)
    found, depth, work = 0, 0, np.int64(0)
    while depth >= 0:
        j = next_[depth]
        if j == len(person):
            depth -= 1
            continue
        next_[depth] = j + 1
        if person[j] < 0:
            continue
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


@inner
def _alike(columns, values, weights, person, value):
    """The distinct sets of columns in which rows are like a person; how many rows, and own ones.

    One row after the other would make every list below as long as the table.
    """
    rows = len(values)
    slots = 1
    while slots < 2 * rows and slots < 1 << min(len(person), 62):
        slots *= 2
    direct = slots == 1 << min(len(person), 62)  # one slot for every set of columns
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
            slot = mask if direct else (mask ^ mask >> 29) * 40503 & slots - 1
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
def likest(rows, people):
    """The largest sets of columns in which each row is like somebody, as `begins` and bits."""
    begins = np.zeros(len(rows) + 1, np.int64)
    found, best = np.empty(4 * len(rows) + 16, np.int64), np.empty(len(people), np.int64)
    end = 0
    for i in range(len(rows)):
        kept = 0
        for t in range(len(people)):
            mask = np.int64(0)
            for j in range(rows.shape[1]):
                if people[t, j] >= 0 and people[t, j] == rows[i, j]:
                    mask |= np.int64(1) << j
            inside, to = mask == 0, 0
            for q in range(kept):
                inside |= mask & best[q] == mask
            if inside:
                continue
            for q in range(kept):
                if best[q] & mask != best[q]:
                    best[to] = best[q]
                    to += 1
            best[to] = mask
            kept = to + 1
        while end + kept > len(found):
            more = np.empty(2 * len(found), np.int64)
            for q in range(end):
                more[q] = found[q]
            found = more
        for q in range(kept):
            found[end + q] = best[q]
        end += kept
        begins[i + 1] = end
    return begins, found[:end]
