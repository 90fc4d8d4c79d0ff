"""The inner loops: rows of codes moved so that a group is one run, and counted group by group.

These are the only lines that touch rows. They are compiled by Numba on first use and kept in its
cache. All of them are plain loops over integers whose results depend on no order of groups, so two
threads may share the groups of a step between them.

Groups are split in a loop of their own before they are counted: a scan that did both was compiled
with it six times over, and no faster.
"""

# The subscripted loops below read like their compiled form; typing NumPy scalars would not.
# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from reticent.compiling import compiled, inner

UNITS = 2**20  # of a bit
_BLOCK = 512  # rows whose columns are counted together: they stay in the first-level cache


class Scan(NamedTuple):
    """What every scan looks at."""

    rows: Any  # rows[i, j]: the slot of row i in column j < width of this promise's `over`
    words: Any  # the same memory as 64-bit words, by which rows move (half the time of slots)
    weights: Any  # how many records row i stands for
    marks: Any  # what the promise counts besides records, 1, 2, …; 0 is none. Inside a group rows
    # are in ascending order of mark: every move is stable, so that stays true
    spare_words: Any  # room to sort rows in, their weights and their marks
    spare_weights: Any
    spare_marks: Any
    end_of: Any  # end_of[s] is where the group that starts at row s ends
    width: int
    starts: Any  # the groups to look at, by their first rows,
    ends: Any  # and where they ended before they were split
    split: bool  # by the refined column. Groups that fall into one part are looked at in that
    column: int  # column only: nothing else changed for them
    showing: Any  # cell of that column → what it shows now: `current`, unless it is foreign
    current: Any  # slot → slot of the value its rows show now (see `reticent.refine.cuts`)
    children: Any  # slot → slot of the part they would go to; the last slot, `none`, if nowhere
    live: Any
    lows: Any
    highs: Any
    bottoms: Any
    tally: Any  # scratch by slot, all zero between calls
    touched: Any  # scratch by slot
    sizes: Any  # the same by what the refined column shows
    seen: Any


@compiled
def list_groups(rows, end_of, column, showing, value, starts, ends):
    """List the groups that show a value in `column`; returns how many, and their rows."""
    count = 0
    total = 0
    start = 0
    while start < len(rows):
        end = end_of[start]
        if showing[rows[start, column]] == value:
            starts[count] = start
            ends[count] = end
            count += 1
            total += end - start
        start = end
    return count, total


@compiled
def share(starts, ends, count, total):
    """Cut a list of groups so that about half of their rows lie before the cut."""
    rows = 0
    for i in range(count):
        if 2 * rows >= total:
            return i
        rows += ends[i] - starts[i]
    return count


@compiled
def split_groups(scan):
    """Split every group by what its rows show in the refined column now."""
    for start in scan.starts:
        _split(
            scan.rows, scan.words, scan.weights, scan.marks, scan.end_of,
            scan.spare_words, scan.spare_weights, scan.spare_marks,
            start, scan.column, scan.showing, scan.sizes, scan.seen,
        )  # fmt: skip


@inner
def _split(
    rows, words, weights, marks, end_of, spare_words, spare_weights, spare_marks,
    start, column, showing, tally, touched,
):  # fmt: skip
    """Split one group by what its rows show in `column` now."""
    end = end_of[start]
    parts = 0
    for i in range(start, end):
        slot = showing[rows[i, column]]
        if tally[slot] == 0:
            touched[parts] = slot
            parts += 1
        tally[slot] += 1
    if parts == 1:
        tally[touched[0]] = 0
        return
    width = words.shape[1]
    if parts == 2:  # the usual case: only the smaller part leaves its place, for a moment
        larger = touched[0] if tally[touched[0]] >= tally[touched[1]] else touched[1]
        tally[touched[0]] = 0
        tally[touched[1]] = 0
        to = start
        out = start
        for i in range(start, end):
            if showing[rows[i, column]] != larger:
                for j in range(width):
                    spare_words[out, j] = words[i, j]
                spare_weights[out] = weights[i]
                if len(marks) > 0:
                    spare_marks[out] = marks[i]
                out += 1
                continue
            if to < i:
                for j in range(width):
                    words[to, j] = words[i, j]
                weights[to] = weights[i]
                if len(marks) > 0:
                    marks[to] = marks[i]
            to += 1
        words[to:end] = spare_words[start:out]
        weights[to:end] = spare_weights[start:out]
        if len(marks) > 0:
            marks[to:end] = spare_marks[start:out]
        end_of[start] = to
        end_of[to] = end
        return
    at = start
    for p in range(parts):
        size = tally[touched[p]]
        end_of[at] = at + size
        tally[touched[p]] = at  # from here on: where the next row of this part goes
        at += size
    for i in range(start, end):
        slot = showing[rows[i, column]]
        to = tally[slot]
        tally[slot] = to + 1
        for j in range(width):
            spare_words[to, j] = words[i, j]
        spare_weights[to] = weights[i]
        if len(marks) > 0:
            spare_marks[to] = marks[i]
    for p in range(parts):
        tally[touched[p]] = 0
    words[start:end] = spare_words[start:end]
    weights[start:end] = spare_weights[start:end]
    if len(marks) > 0:
        marks[start:end] = spare_marks[start:end]


@compiled
def smallest_group(scan):
    """The smallest of the groups at hand, in records or, where rows carry marks, distinct marks."""
    smallest = np.iinfo(np.int64).max
    marks = scan.marks
    for g in range(len(scan.starts)):
        start, beyond = scan.starts[g], scan.ends[g]
        while start < beyond:
            end = scan.end_of[start]
            size = 0
            if len(marks) == 0:
                for i in range(start, end):
                    size += scan.weights[i]
            else:
                for i in range(start, end):  # in ascending order of marks
                    if marks[i] > 0 and (i == start or marks[i] != marks[i - 1]):
                        size += 1
            smallest = min(smallest, size)
            start = end
    return smallest


@compiled
def largest_confidence(scan, begins, sums):
    """The largest share that the rows of one mark have in one of the groups, as a fraction."""
    over, under = np.zeros(1, np.int64), np.ones(1, np.int64)
    for g in range(len(scan.starts)):
        start, beyond = scan.starts[g], scan.ends[g]
        while start < beyond:
            end = scan.end_of[start]
            total = 0
            for i in range(start, end):
                total += scan.weights[i]
            for r in range(_runs_of_marks(scan.weights, scan.marks, start, end, begins, sums)):
                _raise_to(over, under, 0, sums[r], total)
            start = end
    return over[0], under[0]


@inner
def _live_columns(rows, start, column, only, current, live, picked):
    """The columns of a group whose shown value is still a candidate; just `column` if `only`."""
    count = 0
    for j in range(len(picked)):
        if (not only or j == column) and live[current[rows[start, j]]]:
            picked[count] = j
            count += 1
    return count


@inner
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
    tally[len(tally) - 1] = 0  # what goes nowhere
    return total


@inner
def _found_in(low, high, start, end):
    """Where to find the parts of a value: in the rows of a group, or, if fewer, in their slots."""
    if high - low > end - start:
        return True, start, end
    return False, low, high


@compiled
def scan_records(scan, smallest):
    """Lower `smallest` of every candidate to its smallest part, in records."""
    rows, children, current, end_of = scan.rows, scan.children, scan.current, scan.end_of
    weights, tally = scan.weights, scan.tally
    picked = np.empty(scan.width, dtype=np.int64)
    for g in range(len(scan.starts)):
        start, beyond = scan.starts[g], scan.ends[g]
        only = scan.split and end_of[start] == beyond
        while start < beyond:
            end = end_of[start]
            count = _live_columns(rows, start, scan.column, only, current, scan.live, picked)
            total = _count_parts(rows, weights, start, end, picked, count, children, tally)
            for p in range(count):
                j = picked[p]
                node = current[rows[start, j]]
                by_rows, first, last = _found_in(scan.lows[node], scan.highs[node], start, end)
                for i in range(first, last):
                    slot = children[rows[i, j]] if by_rows else i
                    size = tally[slot]
                    if size == 0:
                        continue
                    tally[slot] = 0
                    if scan.bottoms[node]:
                        rest = total - size
                        if rest > 0 and rest < smallest[slot]:
                            smallest[slot] = rest
                        if size < smallest[slot]:
                            smallest[slot] = size
                    elif size < smallest[node]:
                        smallest[node] = size
            start = end


@compiled
def scan_squares(scan, sign, drops):
    """Add (or take back) what each candidate would take off the sum of squared group sizes."""
    rows, children, current, end_of = scan.rows, scan.children, scan.current, scan.end_of
    weights, tally = scan.weights, scan.tally
    picked = np.empty(scan.width, dtype=np.int64)
    for g in range(len(scan.starts)):
        start, beyond = scan.starts[g], scan.ends[g]
        while start < beyond:
            end = end_of[start]
            count = _live_columns(rows, start, scan.column, False, current, scan.live, picked)
            total = _count_parts(rows, weights, start, end, picked, count, children, tally)
            for p in range(count):
                j = picked[p]
                node = current[rows[start, j]]
                by_rows, first, last = _found_in(scan.lows[node], scan.highs[node], start, end)
                if not scan.bottoms[node]:
                    drops[node] += sign * total * total
                for i in range(first, last):
                    slot = children[rows[i, j]] if by_rows else i
                    size = tally[slot]
                    if size == 0:
                        continue
                    tally[slot] = 0
                    if scan.bottoms[node]:
                        drops[slot] += sign * 2 * size * (total - size)
                    else:
                        drops[node] -= sign * size * size
            start = end


@inner
def _bits(known, first, n):
    """log2 of first · (first + 1) · … with n factors, in UNITS; the short ones are known."""
    if n < len(known):
        return known[n]
    return round((math.lgamma(n + first) - math.lgamma(first)) / math.log(2) * UNITS)


@compiled
def scan_code(scan, inside, begins, sums, whole_bits, classes, class_bits, one, sign, drops):
    """Add (or take back) the bits that each candidate would save in telling every record's class.

    Marks are classes, from 1. Telling those of a group takes bits(records) - Σ bits(records of a
    class); see `ClassBits`.
    """
    rows, children, current, end_of = scan.rows, scan.children, scan.current, scan.end_of
    weights, marks, tally = scan.weights, scan.marks, scan.tally
    none = len(tally) - 1
    picked = np.empty(scan.width, dtype=np.int64)
    for g in range(len(scan.starts)):
        start, beyond = scan.starts[g], scan.ends[g]
        while start < beyond:
            end = end_of[start]
            count = _live_columns(rows, start, scan.column, False, current, scan.live, picked)
            total = _count_parts(rows, weights, start, end, picked, count, children, tally)
            runs = _runs_of_marks(weights, marks, start, end, begins, sums)
            told = _bits(whole_bits, classes, total)
            for r in range(runs):
                told -= _bits(class_bits, one, sums[r])
            for p in range(count):
                j = picked[p]
                node = current[rows[start, j]]
                bottom = scan.bottoms[node]
                if not bottom:
                    drops[node] += sign * told
                by_rows, first, last = _found_in(scan.lows[node], scan.highs[node], start, end)
                for i in range(first, last):
                    slot = children[rows[i, j]] if by_rows else i
                    size = tally[slot]
                    if size == 0:
                        continue
                    tally[slot] = 0
                    part = _bits(whole_bits, classes, size)
                    if bottom:
                        rest = _bits(whole_bits, classes, total - size)
                        drops[slot] += sign * (_bits(whole_bits, classes, total) - part - rest)
                    else:
                        drops[node] -= sign * part
                for r in range(runs):
                    for i in range(begins[r], begins[r + 1]):
                        inside[children[rows[i, j]]] += weights[i]
                    inside[none] = 0
                    for i in range(begins[r], begins[r + 1]):
                        slot = children[rows[i, j]]
                        size = inside[slot]
                        if size == 0:
                            continue
                        inside[slot] = 0
                        part = _bits(class_bits, one, size)
                        if bottom:
                            rest = _bits(class_bits, one, sums[r] - size)
                            every = _bits(class_bits, one, sums[r])
                            drops[slot] += sign * (part + rest - every)
                        else:
                            drops[node] += sign * part
            start = end


@inner
def _count_marks(rows, marks, start, end, j, children, tally, held, alone, latest, run):
    """Count each part's rows and distinct marks; returns the group's marks and the run reached.

    held[slot] counts rows, tally[slot] distinct marks, alone[slot] the marks whose rows all show
    this one value: the rest of ⊥ loses exactly those when the value is disclosed.
    """
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
    return marked, run


@compiled
def scan_distinct(scan, held, alone, latest, run, smallest):
    """Lower `smallest` of every candidate to its smallest part, in distinct marks.

    `run` goes on from call to call, so that `latest` never needs to be cleared; returns it.
    """
    rows, children, current, end_of = scan.rows, scan.children, scan.current, scan.end_of
    marks, tally = scan.marks, scan.tally
    none = len(tally) - 1
    picked = np.empty(scan.width, dtype=np.int64)
    for g in range(len(scan.starts)):
        start, beyond = scan.starts[g], scan.ends[g]
        only = scan.split and end_of[start] == beyond
        while start < beyond:
            end = end_of[start]
            count = _live_columns(rows, start, scan.column, only, current, scan.live, picked)
            for p in range(count):
                j = picked[p]
                node = current[rows[start, j]]
                marked, run = _count_marks(
                    rows, marks, start, end, j, children, tally, held, alone, latest, run
                )
                by_rows, first, last = _found_in(scan.lows[node], scan.highs[node], start, end)
                for i in range(first, last):
                    slot = children[rows[i, j]] if by_rows else i
                    if held[slot] == 0 or slot == none:
                        continue
                    target = slot if scan.bottoms[node] else node
                    if tally[slot] < smallest[target]:
                        smallest[target] = tally[slot]
                    if scan.bottoms[node] and held[slot] < end - start:
                        rest = marked - alone[slot]
                        if rest < smallest[target]:
                            smallest[target] = rest
                    held[slot] = 0
                    tally[slot] = 0
                    alone[slot] = 0
                held[none] = 0
                tally[none] = 0
                alone[none] = 0
            start = end
    return run


@compiled
def scan_lost(scan, held, alone, latest, records, run, sign, least, lost, smallest):
    """Add (or take back) the records that each candidate would leave in parts that are too small.

    A part is too small below `least` records or, where rows carry marks, distinct marks. The
    records of a group that is too small are lost already. `smallest` is lowered to the smallest
    part that is not lost. Returns the run reached, as `scan_distinct` does.
    """
    rows, children, current, end_of = scan.rows, scan.children, scan.current, scan.end_of
    weights, marks, tally = scan.weights, scan.marks, scan.tally
    none = len(tally) - 1
    marked = len(marks) > 0
    picked = np.empty(scan.width, dtype=np.int64)
    for g in range(len(scan.starts)):
        start, beyond = scan.starts[g], scan.ends[g]
        while start < beyond:
            end = end_of[start]
            count = _live_columns(rows, start, scan.column, False, current, scan.live, picked)
            total = _count_parts(rows, weights, start, end, picked, count, children, records)
            for p in range(count):
                j = picked[p]
                node = current[rows[start, j]]
                size_of_all = total
                if marked:
                    size_of_all, run = _count_marks(
                        rows, marks, start, end, j, children, tally, held, alone, latest, run
                    )
                by_rows, first, last = _found_in(scan.lows[node], scan.highs[node], start, end)
                for i in range(first, last):
                    slot = children[rows[i, j]] if by_rows else i
                    inside = records[slot]
                    if inside == 0:
                        continue
                    size = tally[slot] if marked else inside
                    rest = size_of_all - (alone[slot] if marked else inside)
                    records[slot] = 0
                    held[slot] = 0
                    tally[slot] = 0
                    alone[slot] = 0
                    if size_of_all < least:
                        continue
                    target = slot if scan.bottoms[node] else node
                    if size < least:
                        lost[target] += sign * inside
                    elif size < smallest[target]:
                        smallest[target] = size
                    if scan.bottoms[node] and inside < total:
                        if rest < least:
                            lost[target] += sign * (total - inside)
                        elif rest < smallest[target]:
                            smallest[target] = rest
                held[none] = 0
                tally[none] = 0
                alone[none] = 0
            start = end
    return run


@inner
def _raise_to(over, under, at, part, whole):
    """Raise the fraction over[at] / under[at] to part / whole if that is larger; exact."""
    if part * under[at] > over[at] * whole:
        over[at] = part
        under[at] = whole


@inner
def _runs_of_marks(weights, marks, start, end, begins, sums):
    """The runs of equal marks above 0 in a group: where each begins, and its records."""
    runs = 0
    i = start
    beyond = end
    while i < beyond:  # most rows carry no mark, and stand first: skip them by halving
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


@inner
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
def scan_confidence(scan, inside, begins, sums, waiting, least, over, under):
    """Raise over / under of every candidate to the largest confidence among its parts.

    Parts with fewer than `least` records do not count: they will be left out.

    tally[slot] counts the records of a part, inside[slot] those of them with the sensitive value
    at hand. Disclosing a suppressed value v leaves a rest, whose surest value is often one that v
    does not hold at all: the most frequent of those. Sensitive values are taken from the most
    frequent down, and v waits for the first that it does not hold; so this looks at as many pairs
    as there are rows, and not at every value with every sensitive value.
    """
    rows, children, current, end_of = scan.rows, scan.children, scan.current, scan.end_of
    weights, marks, tally = scan.weights, scan.marks, scan.tally
    none = len(tally) - 1
    picked = np.empty(scan.width, dtype=np.int64)
    for g in range(len(scan.starts)):
        start, beyond = scan.starts[g], scan.ends[g]
        only = scan.split and end_of[start] == beyond
        while start < beyond:
            end = end_of[start]
            count = _live_columns(rows, start, scan.column, only, current, scan.live, picked)
            total = _count_parts(rows, weights, start, end, picked, count, children, tally)
            runs = _runs_of_marks(weights, marks, start, end, begins, sums)
            order = np.argsort(-sums[:runs])
            for p in range(count):
                j = picked[p]
                node = current[rows[start, j]]
                bottom = scan.bottoms[node]
                left = 0
                low, high = scan.lows[node], scan.highs[node]
                if bottom:
                    left = _present(
                        rows, start, end, j, children, low, high, tally, inside, waiting
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
                        elif tally[slot] < total and total - tally[slot] >= least:
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
                        if tally[slot] >= least:
                            _raise_to(over, under, slot if bottom else node, part, tally[slot])
                        if bottom and tally[slot] < total and total - tally[slot] >= least:
                            _raise_to(over, under, slot, sums[r] - part, total - tally[slot])
                by_rows, first, last = _found_in(low, high, start, end)
                for i in range(first, last):
                    tally[children[rows[i, j]] if by_rows else i] = 0
            start = end
