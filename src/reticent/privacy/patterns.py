"""The compiled loops behind hidden entries: how many records show which values of a profile.

cells     cells[j, r] is what row r shows in column j; 0: nothing
weights   how many records row r stands for; together fewer than 2^31
shown     the columns in which a profile shows something
codes     and what, in the same order; never 0

A pattern is a part of the shown values. As bits of a number the first of them is the highest: of
patterns with equally many values, the one with the first columns is the largest number. A rule
with `own` of `support` records is unsafe if own > least and own·under > over·support.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

from __future__ import annotations

import numpy as np

from reticent.compiling import compiled, inner, ones

_BLOCK = 8192  # rows at a time, so that their bits stay near the processor


@compiled
def agreements(cells, shown, codes, masks):
    """Write for each row which of the shown values it has, as bits."""
    for begin in range(0, len(masks), _BLOCK):
        part = masks[begin : begin + _BLOCK]
        part[:] = 0
        for k in range(len(shown)):
            line, code = cells[shown[k], begin : begin + _BLOCK], codes[k]
            for r in range(len(part)):
                part[r] = (part[r] << np.uint32(1)) | np.uint32(line[r] == code)


@compiled
def supports(masks, weights, counts):
    """Write for each pattern how many records have all of it.

    First for each set of bits the records with exactly these, then, one bit after the other, those
    with the bit are added to those without.
    """
    counts[:] = 0
    for r in range(len(masks)):
        counts[masks[r]] += weights[r]
    half = 1
    while half < len(counts):
        for begin in range(0, len(counts), 2 * half):
            without = counts[begin : begin + half]
            having = counts[begin + half : begin + 2 * half]
            for i in range(half):
                without[i] += having[i]
        half *= 2


@compiled
def judged(own, support, most, least, over, under):
    """Among patterns of 1, …, `most` values: how many are unsafe, and the strongest, 0 if none.

    Strongest is the highest confidence, then the highest support, the fewest values, the first
    columns. If any rule is unsafe, this one is.
    """
    unsafe, best = 0, 0
    for mask in range(len(own) - 1, 0, -1):
        if own[mask] <= least or ones(mask) > most:
            continue
        unsafe += is_unsafe(own[mask], support[mask], over, under)
        if best == 0 or stronger(
            own[mask], support[mask], ones(mask), own[best], support[best], ones(best)
        ):
            best = mask
    return unsafe, best


@inner
def is_unsafe(own, support, over, under):
    """Whether a share exceeds over/under."""
    return np.int64(own) * under > over * np.int64(support)


@inner
def stronger(own, support, count, other_own, other_support, other_count):
    """Whether a rule is stronger than another: surer, then with more support, then shorter."""
    ours, theirs = np.int64(own) * other_support, np.int64(other_own) * support
    if ours != theirs:
        return ours > theirs
    if support != other_support:
        return support > other_support
    return count < other_count


@compiled
def walked(
    cells, weights, shown, codes, holders, rows, most, least, over, under, earlier, budget, best
):
    """The same as `judged` where there are too many columns for a list of all patterns.

    Patterns are walked through depth first, each value only with later ones. `holders` are the rows
    with the sensitive value, `rows` all of them; both are put in another order. A pattern that at
    most `least` of the holders have is no rule that counts, and no longer one is. `earlier` says of
    profiles that were looked at before which of the shown values they share; `best` gets the
    strongest pattern.

    The answer is: unsafe rules, those of them that no earlier profile has, then of the strongest
    rule the size (0: none), own and support; and the work, above the budget if it did not suffice.
    """
    depth = 0
    path = np.zeros(most, np.int64)
    following = np.zeros(most + 1, np.int64)
    held, met = np.zeros_like(following), np.zeros_like(following)
    held[0], met[0] = len(holders), len(rows)
    unsafe, fresh, work = 0, 0, 0
    count, best_own, best_support = 0, np.int64(0), np.int64(0)
    while depth >= 0 and work <= budget:
        k = following[depth]
        if k == len(shown) or depth == most:
            depth -= 1
            continue
        following[depth] += 1
        line, code = cells[shown[k]], codes[k]
        work += held[depth]
        with_it, own = gathered(line, code, holders, held[depth], weights)
        if own <= least:
            continue
        work += met[depth]
        met_it, support = gathered(line, code, rows, met[depth], weights)
        path[depth] = k
        depth += 1
        following[depth], held[depth], met[depth] = k + 1, with_it, met_it
        if is_unsafe(own, support, over, under):
            unsafe += 1
            work += len(earlier)
            fresh += not is_shared(earlier, path, depth)
        if count == 0 or stronger(own, support, depth, best_own, best_support, count):
            count, best_own, best_support = depth, own, support
            best[:depth] = path[:depth]
    return unsafe, fresh, count, best_own, best_support, work


@inner
def gathered(line, code, rows, length, weights):
    """Move the rows that have a value to the front; how many they are, and how many records."""
    found, total = np.uint64(0), np.int64(0)
    for i in range(length):  # without branches, which nobody could foresee: twice as fast
        row, other = rows[i], rows[found]
        has = line[row] == code
        rows[i] = other if has else row
        rows[found] = row if has else other
        found += np.uint64(has)
    for i in range(found):
        total += weights[rows[i]]
    return found, total


@inner
def is_shared(earlier, path, length):
    """Whether one of the earlier profiles has all values of a pattern."""
    for other in range(len(earlier)):
        i = 0
        while i < length and earlier[other, path[i]]:
            i += 1
        if i == length:
            return True
    return False
