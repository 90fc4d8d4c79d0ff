"""The loops of `rules` and `entries`: which rules there are, which records they fit.

A pattern is a row of codes with -1 where it says nothing; a rule is a pattern and a value. A row of
a table fits a pattern if it has all its codes: -1 in a row, an entry that is hidden, fits nothing.
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


@inner
def _fits(pattern, row):
    for j in range(len(row)):  # noqa: SIM110 - compiled, this is the faster form
        if pattern[j] >= 0 and pattern[j] != row[j]:
            return False
    return True


@compiled
def fitting(patterns, first, rows, values, most):
    """For each row the rules of its value that it fits, as `begins` and `rules`.

    Rules stand by value: those of value s from `first[s]` to `first[s + 1]`. If there are more than
    `most` in all, nothing.
    """
    begins = np.zeros(len(rows) + 1, np.int64)
    for i in range(len(rows)):
        begins[i + 1] = begins[i]
        for r in range(first[values[i]], first[values[i] + 1]):
            begins[i + 1] += _fits(patterns[r], rows[i])
        if begins[i + 1] > most:
            return begins[:0], np.empty(0, np.int32)
    rules = np.empty(begins[-1], np.int32)
    for i in range(len(rows)):
        to = begins[i]
        for r in range(first[values[i]], first[values[i] + 1]):
            if _fits(patterns[r], rows[i]):
                rules[to] = r
                to += 1
    return begins, rules


@compiled
def counted(patterns, points_to, rows, values, weights):
    """For each rule how many rows fit it, and how many of these show its value."""
    numbers = np.zeros((len(patterns), 2), np.int64)
    for r in range(len(patterns)):
        for i in range(len(rows)):
            if _fits(patterns[r], rows[i]):
                numbers[r, 0] += weights[i]
                numbers[r, 1] += weights[i] * (values[i] == points_to[r])
    return numbers


@compiled
def change(patterns, points_to, numbers, row, value, secret, column, times):
    """Count a record's entry `times` more often in all rules that it takes part in.

    `row`, `value`: the record with that entry; `secret`: its hidden value, or -1. `numbers`: for
    each rule how many records fit it, fit it with its value, and are to be protected from it.
    """
    sensitive = column == len(row)
    for r in range(len(patterns)):
        if (sensitive or patterns[r, column] >= 0) and _fits(patterns[r], row):
            numbers[r, 0] += 0 if sensitive else times
            numbers[r, 1] += times if points_to[r] == value else 0
            numbers[r, 2] += times if points_to[r] == secret and not sensitive else 0


@inner
def _unsafe(all_, own, exposed, least, over, under):
    return exposed > 0 and own > least and own * under > over * all_


@compiled
def give_back(
    patterns, points_to, numbers, conditions, values, truth, asked, records, columns, gone,
    least, over, under, why,
):  # fmt: skip
    """Let entries come back, the last first, until none can; changes all but the rules.

    `gone`: which entries of the list are hidden. `why`: for each that stays so, a rule that it
    would make unsafe.
    """
    width = conditions.shape[1]
    hidden = np.empty(len(records), np.int32)  # what each entry shows
    for i in range(len(records)):
        hidden[i] = why[i]
        why[i] = -1
    row = np.empty(width, np.int32)
    some = True
    while some:
        some = False
        for i in range(len(records) - 1, -1, -1):
            if not gone[i]:
                continue
            record, column = records[i], columns[i]
            for j in range(width):
                row[j] = conditions[record, j]
            value, secret = values[record], truth[record] if asked[record] else -1
            if column < width:
                row[column] = hidden[i]
            else:
                value = hidden[i]
            sensitive = column == width
            bar = -1
            for r in range(len(patterns)):
                if not sensitive and patterns[r, column] < 0:
                    continue
                mine = points_to[r] == value
                if (sensitive and not mine) or not (mine or points_to[r] == secret):
                    continue  # more records that fit make a rule about others weaker
                if not _fits(patterns[r], row):
                    continue
                if _unsafe(
                    numbers[r, 0] + (not sensitive), numbers[r, 1] + mine,
                    numbers[r, 2] + (points_to[r] == secret and not sensitive), least, over, under,
                ):  # fmt: skip
                    bar = r
                    break
            why[i] = bar
            if bar >= 0:
                continue
            change(patterns, points_to, numbers, row, value, secret, column, 1)
            gone[i], some = False, True
            if sensitive:
                values[record] = value
            else:
                conditions[record, column] = row[column]


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
