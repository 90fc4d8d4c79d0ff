"""Who is exposed by sets of a given size: unique, in a small cohort, or in one that is too sure.

The walk is that of `walk`, to one size at a time, and marks rows instead of stopping. A row that
was marked at a smaller size stays marked: it is closed, and where all are closed nothing is to be
found.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

from __future__ import annotations

import numpy as np

from reticent.compiling import compiled, grown, inner
from reticent.privacy.sets.walk import (
    BEGIN,
    END,
    HELD,
    ITEM,
    LAST,
    TOP,
    count_beyond,
    hand_out,
    opened,
    rooted,
    spot,
    tally_private,
)

UNIQUE, SMALL, SURE = 1, 2, 4  # what can be found out about a row


@compiled
def mark(rows, lists, bags, private, ask, open_to, people, surest, budget):
    """Find out what rows are exposed to by sets of exactly `size` items.

    `ask` is (size, k, over, under). open_to[r]: what is still to be found out about row r; people:
    for how many transactions it was, by bit; surest: the largest confidence met, as over and under.
    Sets that lose nobody beside a smaller one are left out: that one was looked at before. Returns
    the work done; if that is more than the budget, it was not finished.
    """
    row_of, begins, places = lists
    size, k, over, under = ask
    width = len(begins) - 1
    counts, touched, free = np.zeros(width, np.int64), np.empty(width, np.int64), np.full(width, -1)
    tallies, present = np.zeros(private, np.int64), np.empty(private, np.int64)
    parts, others = np.zeros(width, np.int64), np.empty(width, np.int64)
    flags, losses = np.zeros(width, np.uint8), np.empty(size, np.int64)
    nodes, kids = rooted(rows, width, size)
    pool = np.empty(1024, places.dtype)
    depth, work = -1, np.int64(0)
    while work <= budget:
        depth, kid = opened(nodes, kids, depth)
        if depth < 0:
            break
        first, last, total = kid[BEGIN], kid[END], kid[HELD]
        node = nodes[depth + 1]
        low, top = node[LAST], node[TOP]
        cohort = (pool if depth > 1 else places), first, last, depth == 0
        asked = 0
        for i in range(first, last):
            asked |= open_to[spot(rows[0], row_of, cohort, i)[0]]
        hunting = private > 0 and surest[0] < surest[1]
        work += last - first
        if asked == 0 and not hunting:
            continue
        found, entries = count_beyond(rows, row_of, cohort, counts, touched)
        work += entries
        sure = hunting or asked & SURE
        if depth < size - 1:
            enough = k if asked & SMALL else 2 if asked & UNIQUE else 0
            if sure:
                held, used = commonest(rows[0], row_of, cohort, bags, tallies, present)
                work += used
                if asked & SURE:  # a share of theirs is too large only among fewer than this
                    enough = max(enough, -(-held * under // over) if over else total)
                if hunting:
                    enough = max(enough, -(-held * surest[1] // surest[0]))
            enough += largest_losses(counts, touched[:found], total, losses[: size - depth - 1])
            kids = grown(kids, low + found)
            for i in range(found):
                item = touched[i]
                if counts[item] < min(total, enough):  # else nothing is below
                    kids[node[LAST], ITEM], kids[node[LAST], HELD] = item, counts[item]
                    node[LAST] += 1
                counts[item] = 0
            pool, node[TOP] = hand_out(rows, lists, cohort, kids, low, node[LAST], free, pool, top)
            work += 2 * entries
            continue
        if sure:
            rule, shelf = (over, under), (tallies, present, parts, others)
            flag_sure(rows, row_of, cohort, bags, counts, flags, rule, surest, shelf)
            work += 2 * entries
        for i in range(found):
            if counts[touched[i]] == 1:
                flags[touched[i]] |= UNIQUE
            if counts[touched[i]] < k:
                flags[touched[i]] |= SMALL
        close(rows, row_of, cohort, flags, open_to, people)
        work += entries
        for i in range(found):
            counts[touched[i]], flags[touched[i]] = 0, 0
    return work


@inner
def commonest(starts, row_of, cohort, bags, tallies, touched):
    """How many of a cohort hold the private item that most of them hold, and the work done."""
    count, work = tally_private(starts, row_of, cohort, bags, tallies, touched)
    most = np.int64(0)
    for i in range(count):
        most = max(most, tallies[touched[i]])
        tallies[touched[i]] = 0
    return most, work


@inner
def largest_losses(counts, items, whole, losses):
    """What as many of the items as there is room for in `losses` lose together, at most."""
    losses[:] = 0
    for item in items:
        lost = whole - counts[item]
        for i in range(len(losses)):  # a handful: it takes its place, the others move by one
            if lost > losses[i]:
                lost, losses[i] = losses[i], lost
    return losses.sum()


@inner
def flag_sure(rows, row_of, cohort, bags, counts, flags, rule, surest, shelf):
    """Flag the items that, known too, make a cohort too sure of something; keep the surest.

    The cohort is taken by private item, so that one array of parts will do. `shelf` is room for
    tallies and parts, which are 0 between calls, each with a list of what is not 0.
    """
    starts, items = rows[0], rows[1]
    bag, inmates, shares = bags
    ends, present, parts, touched = shelf
    over, under = rule
    boxes, kinds = 0, 0
    for i in range(cohort[1], cohort[2]):
        row, begin = spot(starts, row_of, cohort, i)
        for held in range(bag[row], bag[row + 1]):
            if ends[inmates[held]] == 0:
                present[kinds] = inmates[held]
                kinds += 1
            ends[inmates[held]] += 1
            boxes += 1
    at = 0
    for kind in range(kinds):
        at += ends[present[kind]]
        ends[present[kind]] = at - ends[present[kind]]
    holder, amount = np.empty(boxes, np.int64), np.empty(boxes, np.int64)
    for i in range(cohort[1], cohort[2]):
        row, begin = spot(starts, row_of, cohort, i)
        for held in range(bag[row], bag[row + 1]):
            at = ends[inmates[held]]
            holder[at], amount[at] = i, shares[held]
            ends[inmates[held]] += 1
    at = 0
    for kind in range(kinds):
        found = 0
        while at < ends[present[kind]]:
            row, begin = spot(starts, row_of, cohort, holder[at])
            for place in range(begin, starts[row + 1]):
                item = items[place]
                if parts[item] == 0:
                    touched[found] = item
                    found += 1
                parts[item] += amount[at]
            at += 1
        ends[present[kind]] = 0
        for i in range(found):
            part, whole = parts[touched[i]], counts[touched[i]]
            parts[touched[i]] = 0
            if part * under > over * whole:
                flags[touched[i]] |= SURE
            if part * surest[1] > surest[0] * whole:
                surest[0], surest[1] = part, whole


@inner
def close(rows, row_of, cohort, flags, open_to, people):
    """Settle what was found out about those of a cohort who hold a flagged item beyond the set."""
    starts, items, weights = rows
    for i in range(cohort[1], cohort[2]):
        row, begin = spot(starts, row_of, cohort, i)
        if open_to[row] == 0:
            continue
        fresh = 0
        for place in range(begin, starts[row + 1]):
            fresh |= flags[items[place]]
        fresh &= open_to[row]
        open_to[row] ^= fresh
        for bit in range(3):
            if fresh >> bit & 1:
                people[bit] += weights[row]
