"""The inner loops: rows of codes moved so that a group is one run, and counted group by group.

These are the only lines that touch rows. They are compiled by Numba on first use and kept in its
cache; all of them are plain loops over integers, so results depend on no order of evaluation.

    rows      rows[i, j]: the slot of row i in column j < width of this promise's `over`
    words     the same memory as 64-bit words, by which rows move (half the time of slot by slot)
    weights   how many records row i stands for
    marks     what the promise counts besides records, 1, 2, …; 0 is none. Inside a group rows are
              in ascending order of mark: every move is stable, so that stays true
    starts    group g is rows starts[g], …, ends[g] - 1
    current   slot → slot of the value its rows show now (see `reticent.refine.cuts`)
    children  slot → slot of the part its rows would go to; the last slot, `none`, if nowhere
    tally     scratch by slot, all zero between calls
"""

# The subscripted loops below read like their compiled form; typing NumPy scalars would not.
# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

from __future__ import annotations

import numba
import numpy as np

_BLOCK = 512  # rows whose columns are counted together: they stay in the first-level cache

compiled = numba.njit(cache=True, nogil=True)


@compiled
def first_best(scores):
    """The position of the first score that no later one beats by more than rounding."""
    best = 0
    for i in range(1, len(scores)):
        if scores[i] > scores[best] + 1e-9 * abs(scores[best]):
            best = i
    return best


@compiled
def split(
    rows, words, weights, marks, starts, ends, count, column, low, high, value, bottom, current,
    spare_words, spare_weights, spare_marks, tally, touched, changed, moved,
):  # fmt: skip
    """Split every group that showed the refined value; `current` says already where rows go.

    The value is the run of slots low, …, high - 1 of `column`, or, if `value` is not negative,
    that one suppressed value leaving `bottom`. Returns the new number of groups and how many
    changed: those stand in `changed`, and `moved` tells which of them were truly split.
    """
    found = 0
    groups = count
    width = words.shape[1]
    for g in range(count):
        first = rows[starts[g], column]
        if value >= 0:
            if first != value and current[first] != bottom:
                continue
        elif first < low or first >= high:
            continue
        start, end = starts[g], ends[g]
        parts = 0
        for i in range(start, end):
            slot = current[rows[i, column]]
            if tally[slot] == 0:
                touched[parts] = slot
                parts += 1
            tally[slot] += 1
        changed[found] = g
        moved[found] = parts > 1
        found += 1
        if parts == 1:
            tally[touched[0]] = 0
            continue
        at = start
        for p in range(parts):
            size = tally[touched[p]]
            group = g
            if p > 0:
                group = groups
                groups += 1
                changed[found] = group
                moved[found] = True
                found += 1
            starts[group] = at
            ends[group] = at + size
            tally[touched[p]] = at  # from here on: where the next row of this part goes
            at += size
        for i in range(start, end):
            slot = current[rows[i, column]]
            to = tally[slot]
            tally[slot] = to + 1
            for j in range(width):
                spare_words[to, j] = words[i, j]
            spare_weights[to] = weights[i]
            if len(marks) > 0:
                spare_marks[to] = marks[i]
        for p in range(parts):
            tally[touched[p]] = 0
        for i in range(start, end):
            for j in range(width):
                words[i, j] = spare_words[i, j]
            weights[i] = spare_weights[i]
            if len(marks) > 0:
                marks[i] = spare_marks[i]
    return groups, found


@compiled
def _live_columns(rows, start, column, only, current, live, picked):
    """The columns of a group whose shown value is still a candidate; just `column` if `only`."""
    count = 0
    for j in range(len(picked)):
        if (not only or j == column) and live[current[rows[start, j]]]:
            picked[count] = j
            count += 1
    return count


@compiled
def _count_parts(rows, weights, start, end, picked, count, children, tally):
    """Add up the records of every part of every picked column's value; returns their total."""
    total = 0
    for block in range(start, end, _BLOCK):
        stop = min(block + _BLOCK, end)
        for i in range(block, stop):
            total += weights[i]
        for p in range(count):
            j = picked[p]
            for i in range(block, stop):
                tally[children[rows[i, j]]] += weights[i]
    return total


@compiled
def scan_records(
    rows, weights, width, starts, ends, changed, moved, found, column, current, children,
    live, lows, highs, bottoms, tally, smallest,
):  # fmt: skip
    """Lower `smallest` of every candidate to its smallest part, in records, in changed groups."""
    none = len(tally) - 1
    picked = np.empty(width, dtype=np.int64)
    for c in range(found):
        g = changed[c]
        start, end = starts[g], ends[g]
        count = _live_columns(rows, start, column, not moved[c], current, live, picked)
        total = _count_parts(rows, weights, start, end, picked, count, children, tally)
        tally[none] = 0
        for p in range(count):
            j = picked[p]
            node = current[rows[start, j]]
            by_rows = highs[node] - lows[node] > end - start
            first, last = (start, end) if by_rows else (lows[node], highs[node])
            for i in range(first, last):
                slot = children[rows[i, j]] if by_rows else i
                size = tally[slot]
                if size == 0:
                    continue
                tally[slot] = 0
                if bottoms[node]:
                    rest = total - size
                    if rest > 0 and rest < smallest[slot]:
                        smallest[slot] = rest
                    if size < smallest[slot]:
                        smallest[slot] = size
                elif size < smallest[node]:
                    smallest[node] = size


@compiled
def scan_squares(
    rows, weights, width, starts, ends, changed, moved, found, column, current, children,
    live, lows, highs, bottoms, tally, sign, drops,
):  # fmt: skip
    """Add (or take back) what each candidate would take off the sum of squared group sizes."""
    none = len(tally) - 1
    picked = np.empty(width, dtype=np.int64)
    for c in range(found):
        g = changed[c]
        start, end = starts[g], ends[g]
        count = _live_columns(rows, start, column, False, current, live, picked)
        total = _count_parts(rows, weights, start, end, picked, count, children, tally)
        tally[none] = 0
        for p in range(count):
            j = picked[p]
            node = current[rows[start, j]]
            by_rows = highs[node] - lows[node] > end - start
            first, last = (start, end) if by_rows else (lows[node], highs[node])
            if not bottoms[node]:
                drops[node] += sign * total * total
            for i in range(first, last):
                slot = children[rows[i, j]] if by_rows else i
                size = tally[slot]
                if size == 0:
                    continue
                tally[slot] = 0
                if bottoms[node]:
                    drops[slot] += sign * 2 * size * (total - size)
                else:
                    drops[node] -= sign * size * size


@compiled
def scan_distinct(
    rows, marks, width, starts, ends, changed, moved, found, column, current, children,
    live, lows, highs, bottoms, tally, held, alone, latest, smallest,
):  # fmt: skip
    """Lower `smallest` of every candidate to its smallest part, in distinct marks.

    held[slot] counts rows, tally[slot] distinct marks, alone[slot] the marks whose rows all show
    this one value: the rest of ⊥ loses exactly those when the value is disclosed.
    """
    none = len(tally) - 1
    picked = np.empty(width, dtype=np.int64)
    run = 0
    for c in range(found):
        g = changed[c]
        start, end = starts[g], ends[g]
        count = _live_columns(rows, start, column, not moved[c], current, live, picked)
        for p in range(count):
            j = picked[p]
            node = current[rows[start, j]]
            marked = 0
            i = start
            while i < end:
                mark = marks[i]
                run += 1
                only = children[rows[i, j]]
                single = True
                while i < end and marks[i] == mark:
                    slot = children[rows[i, j]]
                    held[slot] += 1
                    single = single and slot == only
                    if mark > 0 and latest[slot] != run:
                        latest[slot] = run
                        tally[slot] += 1
                    i += 1
                if mark > 0:
                    marked += 1
                    if single:
                        alone[only] += 1
            by_rows = highs[node] - lows[node] > end - start
            first, last = (start, end) if by_rows else (lows[node], highs[node])
            for i in range(first, last):
                slot = children[rows[i, j]] if by_rows else i
                if held[slot] == 0 or slot == none:
                    continue
                target = slot if bottoms[node] else node
                if tally[slot] < smallest[target]:
                    smallest[target] = tally[slot]
                if bottoms[node] and held[slot] < end - start:
                    rest = marked - alone[slot]
                    if rest < smallest[target]:
                        smallest[target] = rest
                held[slot] = 0
                tally[slot] = 0
                alone[slot] = 0
            held[none] = 0
            tally[none] = 0
            alone[none] = 0
    for slot in range(len(latest)):
        latest[slot] = 0


@compiled
def _raise_to(over, under, at, part, whole):
    """Raise the fraction over[at] / under[at] to part / whole if that is larger; exact."""
    if part * under[at] > over[at] * whole:
        over[at] = part
        under[at] = whole


@compiled
def _runs_of_marks(weights, marks, start, end, begins, sums):
    """The runs of equal marks above 0 in a group: where each begins, and its records."""
    runs = 0
    i = start
    if marks[start] == 0:  # most rows carry no mark: skip them by halving
        i, beyond = start, end
        while i < beyond:
            middle = (i + beyond) // 2
            if marks[middle] == 0:
                i = middle + 1
            else:
                beyond = middle
    while i < end:
        mark = marks[i]
        begins[runs] = i
        total = 0
        while i < end and marks[i] == mark:
            total += weights[i]
            i += 1
        sums[runs] = total
        runs += 1
    begins[runs] = end
    return runs


@compiled
def _present(rows, start, end, j, children, low, high, tally, inside, found):
    """The suppressed values of a group that are still candidates; returns how many."""
    none = len(tally) - 1
    count = 0
    if high - low <= end - start:
        for slot in range(low, high):
            if tally[slot] > 0:
                found[count] = slot
                count += 1
        return count
    for i in range(start, end):
        slot = children[rows[i, j]]
        if slot != none and inside[slot] == 0:
            inside[slot] = 1  # seen; taken back below
            found[count] = slot
            count += 1
    for c in range(count):
        inside[found[c]] = 0
    return count


@compiled
def scan_confidence(
    rows, weights, marks, width, starts, ends, changed, moved, found, column, current, children,
    live, lows, highs, bottoms, tally, inside, begins, sums, waiting, over, under,
):  # fmt: skip
    """Raise over / under of every candidate to the largest confidence among its parts.

    tally[slot] counts the records of a part, inside[slot] those of them with the sensitive value
    at hand. Disclosing a suppressed value v leaves a rest, whose surest value is often one that v
    does not hold at all: the most frequent of those. Sensitive values are taken from the most
    frequent down, and v waits for the first that it does not hold; so this looks at as many pairs
    as there are rows, and not at every value with every sensitive value.
    """
    none = len(tally) - 1
    picked = np.empty(width, dtype=np.int64)
    for c in range(found):
        g = changed[c]
        start, end = starts[g], ends[g]
        count = _live_columns(rows, start, column, not moved[c], current, live, picked)
        if count == 0:
            continue
        total = _count_parts(rows, weights, start, end, picked, count, children, tally)
        tally[none] = 0
        runs = _runs_of_marks(weights, marks, start, end, begins, sums)
        order = np.argsort(-sums[:runs])
        for p in range(count):
            j = picked[p]
            node = current[rows[start, j]]
            bottom = bottoms[node]
            left = 0
            if bottom:
                left = _present(
                    rows, start, end, j, children, lows[node], highs[node], tally, inside, waiting
                )
            for r in order:
                for i in range(begins[r], begins[r + 1]):
                    inside[children[rows[i, j]]] += weights[i]
                still = 0
                for w in range(left):
                    slot = waiting[w]
                    if inside[slot] > 0:
                        waiting[still] = slot
                        still += 1
                    elif tally[slot] < total:
                        _raise_to(over, under, slot, sums[r], total - tally[slot])
                left = still
                for i in range(begins[r], begins[r + 1]):
                    slot = children[rows[i, j]]
                    part = inside[slot]
                    if part == 0:
                        continue
                    inside[slot] = 0
                    if slot == none:
                        continue
                    _raise_to(over, under, slot if bottom else node, part, tally[slot])
                    if bottom and tally[slot] < total:
                        _raise_to(over, under, slot, sums[r] - part, total - tally[slot])
            if highs[node] - lows[node] <= end - start:
                for slot in range(lows[node], highs[node]):
                    tally[slot] = 0
            else:
                for i in range(start, end):
                    tally[children[rows[i, j]]] = 0
