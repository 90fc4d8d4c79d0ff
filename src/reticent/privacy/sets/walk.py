"""Walking through the sets that transactions hold, the rarest item of a set first.

The words of `rows` hold here, too. A *cohort* is who holds all of a set: the places of its last
item, source[first], …, source[last - 1], and for the empty set (`everybody`) the rows first, …,
last - 1. What a row holds beyond that place extends the set, so no set is met twice. The children
of an open node wait in `kids`, their cohorts side by side in a pool.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

from __future__ import annotations

import numpy as np

from reticent.compiling import compiled, grown, inner
from reticent.privacy.sets.bits import FOUND, NONE, TIRED, search_bits
from reticent.privacy.sets.rows import common

NEXT, LAST, TOP = range(3)  # of an open node: its next child, their end, that of their cohorts
ITEM, HELD, BEGIN, END = range(4)  # of a child: its item, how many hold it, where its cohort is


@inner
def rooted(rows, width, most):
    """Room for a walk to sets of `most` items: nodes, and children, the empty set the first."""
    nodes, kids = np.zeros((most + 2, 3), np.int64), np.empty((2 * width + 2, 4), np.int64)
    nodes[0, LAST] = 1
    kids[0, HELD], kids[0, BEGIN], kids[0, END] = rows[2].sum(), 0, len(rows[2])
    return nodes, kids


@inner
def opened(nodes, kids, depth):
    """The next child of the last open node that has one, open itself; how many items it has, or -1.

    The node of a set of d items is the one at d + 1; above the empty set stands one more.
    """
    while depth >= -1 and nodes[depth + 1, NEXT] == nodes[depth + 1, LAST]:
        depth -= 1
    if depth < -1:
        return -1, kids[0]
    node, child = nodes[depth + 1], nodes[depth + 2]
    node[NEXT] += 1
    child[NEXT], child[LAST], child[TOP] = node[LAST], node[LAST], node[TOP]
    return depth + 1, kids[node[NEXT] - 1]


@inner
def spot(starts, row_of, cohort, i):
    """The row of a cohort's i-th member, and where in it begins what is beyond the set."""
    source, everybody = cohort[0], cohort[3]
    if everybody:
        return np.int64(i), starts[i]
    return np.int64(row_of[source[i]]), np.int64(source[i] + 1)


@inner
def tally_private(starts, row_of, cohort, bags, tallies, touched):
    """Add up the private items of a cohort; return how many different ones, and the work done."""
    bag, inmates, shares = bags
    count, work = 0, cohort[2] - cohort[1]
    for i in range(cohort[1], cohort[2]):
        row = spot(starts, row_of, cohort, i)[0]
        for held in range(bag[row], bag[row + 1]):
            item = inmates[held]
            if tallies[item] == 0:
                touched[count] = item
                count += 1
            tallies[item] += shares[held]
        work += bag[row + 1] - bag[row]
    return count, work


@inner
def count_beyond(rows, row_of, cohort, counts, touched):
    """Count the items beyond a set; return how many different ones, and how many in all."""
    starts, items, weights = rows
    count, entries = 0, np.int64(0)
    for i in range(cohort[1], cohort[2]):
        row, begin = spot(starts, row_of, cohort, i)
        for place in range(begin, starts[row + 1]):
            item = items[place]
            if counts[item] == 0:
                touched[count] = item
                count += 1
            counts[item] += weights[row]
        entries += starts[row + 1] - begin
    return count, entries


@inner
def hand_out(rows, lists, cohort, kids, low, high, free, pool, top):
    """Write down the cohorts of children low, …, high - 1; return the pool, and where they end.

    Those of single items are known already. `free` is -1 for every item between calls.
    """
    starts, items = rows[0], rows[1]
    row_of, begins = lists[0], lists[1]
    source, first, last, everybody = cohort
    if everybody:
        for kid in range(low, high):
            item = kids[kid, ITEM]
            kids[kid, BEGIN], kids[kid, END] = begins[item], begins[item + 1]
        return pool, top
    for kid in range(low, high):
        free[kids[kid, ITEM]] = 0
    for i in range(first, last):
        for place in range(source[i] + 1, starts[row_of[source[i]] + 1]):
            if free[items[place]] >= 0:
                free[items[place]] += 1
    for kid in range(low, high):
        item = kids[kid, ITEM]
        kids[kid, BEGIN] = top
        top += free[item]
        kids[kid, END] = top
        free[item] = kids[kid, BEGIN]
    pool = grown(pool, top)
    for i in range(first, last):
        for place in range(source[i] + 1, starts[row_of[source[i]] + 1]):
            item = items[place]
            if free[item] >= 0:
                pool[free[item]] = place
                free[item] += 1
    for kid in range(low, high):
        free[kids[kid, ITEM]] = -1
    return pool, top


@compiled
def whole_rows(rows, lists, bags, private, k, rule, most, budget, floors):
    """Count who holds all of each row, and how sure they are of each private item.

    Rows are in dictionary order, so a row shares its first cohorts with the one before. `rule` is
    (a, b, c) for confidence, as in the search over bits. Fills `floors` if there are private items.
    Returns how it ended (FOUND: a set of at most `most` items breaks the promise; TIRED: fewer than
    k hold a larger one, or the work was too much), the row, how many of its items, the smallest
    count, and the work done.
    """
    starts, items, weights = rows
    row_of, begins, places = lists
    bag, inmates = bags[0], bags[1]
    a, c = rule[0], rule[2]
    longest = 0
    for row in range(len(weights)):
        longest = max(longest, starts[row + 1] - starts[row])
    edges = np.zeros(longest + 1, np.int64)  # the cohort of d items is pool[edges[d - 1]:edges[d]]
    totals = np.zeros(longest + 1, np.int64)
    totals[0] = weights.sum()
    pool = np.empty(1024, places.dtype)
    tallies, touched = np.zeros(private, np.int64), np.empty(private, np.int64)
    smallest, work, before = totals[0], np.int64(0), -1
    for row in range(len(weights)):
        length = starts[row + 1] - starts[row]
        if private == 0 and weights[row] >= max(k, smallest):
            continue  # at least as many hold it
        depth = 0 if before < 0 else common(starts, items, before, row)
        before = row
        while depth < length:
            item = items[starts[row] + depth]
            if depth == 0:
                first, last = begins[item], begins[item + 1]
            else:
                first, last = edges[depth - 1], edges[depth]
            end, total = edges[depth], np.int64(0)
            pool = grown(pool, end + last - first)
            source = pool if depth else places
            for i in range(first, last):
                place = source[i]
                stop = starts[row_of[place] + 1]
                while place < stop and items[place] < item:
                    place += 1
                if place < stop and items[place] == item:
                    pool[end] = place
                    end += 1
                    total += weights[row_of[place]]
            work += 2 * (last - first)
            depth += 1
            edges[depth], totals[depth] = end, total
            if total < k:
                return (FOUND if depth <= most else TIRED), row, depth, smallest, work
        if work > budget:
            return TIRED, row, depth, smallest, work
        total = totals[length]
        smallest = min(smallest, total)
        if private == 0:
            continue
        first = edges[length - 1] if length else np.int64(0)
        last = edges[length] if length else np.int64(len(weights))
        cohort = pool, first, last, length == 0
        count, used = tally_private(starts, row_of, cohort, bags, tallies, touched)
        work += used
        for held in range(bag[row], bag[row + 1]):
            floors[held] = total - tallies[inmates[held]]
        broken = False
        for i in range(count):
            inside = tallies[touched[i]]
            broken |= a * (total - inside) < c * inside
            tallies[touched[i]] = 0
        if broken and length <= most:
            return FOUND, row, length, smallest, work
    return NONE, -1, 0, smallest, work


@compiled
def walk(rows, lists, bags, floors, private, ask, closing, room, budget, out):
    """Look for a set that breaks the promise; where a cohort is dense, bits take over.

    `ask` is (k, a, b, c, least, most), as for the search over bits. `private`: how many private
    items there are; 0: only support is asked for, else only confidence. Returns how it ended, how
    many items were written to `out`, and the work done.
    """
    row_of, begins, places = lists
    k, a, b, c, least, most = ask
    size = len(begins) - 1
    counts, touched, free = np.zeros(size, np.int64), np.empty(size, np.int64), np.full(size, -1)
    tallies, alive = np.zeros(private, np.int64), np.zeros(max(private, 1), np.int64)
    nodes, kids = rooted(rows, size, min(most, size))
    pool, within = np.empty(1024, places.dtype), np.empty(size + 1, np.int64)
    depth, work = -1, np.int64(0)
    while True:
        depth, kid = opened(nodes, kids, depth)
        if depth < 0:
            return NONE, 0, work
        if depth > 0:
            out[depth - 1] = kid[ITEM]
        first, last, total = kid[BEGIN], kid[END], kid[HELD]
        node = nodes[depth + 1]
        low, top = node[LAST], node[TOP]
        cohort = (pool if depth > 1 else places), first, last, depth == 0
        left, living, most_held = most - depth, 1, np.int64(0)
        if private:
            found, used = tally_private(rows[0], row_of, cohort, bags, tallies, alive)
            work += used
            broken, living = False, 0
            for i in range(found):
                inside = tallies[alive[i]]
                tallies[alive[i]] = 0
                broken |= a * (total - inside) < c * inside
                most_held = max(most_held, inside)
                if inside >= least:
                    alive[living] = alive[i]
                    living += 1
            if broken:
                return FOUND, depth, work
        if left == 0 or living == 0:
            continue

        found, entries = count_beyond(rows, row_of, cohort, counts, touched)
        work += entries + last - first
        if work > budget:
            return TIRED, 0, work
        kids = grown(kids, low + found)
        high, fewest = low, total
        for i in range(found):
            item = touched[i]
            many = counts[item]
            counts[item] = 0
            if private == 0 and many < k:
                out[depth] = item
                return FOUND, depth + 1, work
            fewest = min(fewest, many)
            if private and left == 1 and a * (many - most_held) >= c * most_held:
                continue  # not sure enough even if all who hold that private item were among them
            if least <= many < total:  # an item that loses nobody adds nothing to the set
                kids[high, ITEM], kids[high, HELD] = item, many
                high += 1
        if private == 0 and (left == 1 or total - left * (total - fewest) >= k):
            continue  # r more items lose at most r times what one can lose
        shape = high - low, last - first, entries, living, left
        if not is_dense(shape, closing, room):
            node[LAST] = high
            pool, node[TOP] = hand_out(rows, lists, cohort, kids, low, high, free, pool, top)
            work += 2 * entries
            continue

        for kid in range(low, high):
            free[kids[kid, ITEM]] = kid - low
        for i in range(living):
            wanted = alive[i] if private else np.int64(-1)
            bits, facts, sizes = as_bits(
                rows, row_of, cohort, free, high - low, bags, floors, wanted
            )
            end, length, used = search_bits(
                bits, high - low, facts, sizes, (a, b, c), least, left,
                len(floors) > 0, closing, budget - work, within,
            )  # fmt: skip
            work += used
            if end != NONE:
                for j in range(length):
                    out[depth + j] = kids[low + within[j], ITEM]
                return end, depth + length, work
        for kid in range(low, high):
            free[kids[kid, ITEM]] = -1


@compiled
def is_dense(shape, closing, room):
    """Whether bits are the better way: by how many pairs of items either way would have to count.

    `shape`: how many items, rows, occurrences of items in rows, private items still of interest
    (bits are searched for each of them), and how many items may be added. Among sets of any size,
    bits have more reasons to give up a branch, and are worth more. `room`: the bytes there are, and
    how many occurrences do not pay for laying out bits, unless sets can become large.
    """
    items, rows, entries, living, left = shape
    words = rows // 64 + 2.0
    if items * words * 8 > room[0] or left < 2 or (left < 4 and entries < room[1]):
        return False
    pairs = float(living) * items * items * words * rows
    return pairs <= (64.0 if closing else 4.0) * entries * entries


@inner
def as_bits(rows, row_of, cohort, number, count, bags, floors, wanted):
    """A cohort as lines of bits, one for each numbered item, with the facts about each bit.

    Inside are those who hold the private item `wanted`; -1: nobody is. Returns how many bits are
    inside and outside, too. Rows stand by the length of their weight: few words need many planes.
    """
    starts, items, weights = rows
    bag, inmates, shares = bags
    first, size = cohort[1], cohort[2] - cohort[1]
    heavy, low = np.zeros((2, size), np.int64), np.zeros(size, np.int64)
    for i in range(size):
        row, begin = spot(starts, row_of, cohort, first + i)
        heavy[1, i] = weights[row]
        for held in range(bag[row], bag[row + 1]):
            if inmates[held] == wanted:
                heavy[0, i], heavy[1, i] = shares[held], weights[row] - shares[held]
                low[i] = floors[held] if len(floors) else 0
    sizes = np.count_nonzero(heavy[0]), np.count_nonzero(heavy[1])
    ws, wn = (sizes[0] + 63) // 64, (sizes[1] + 63) // 64
    bits = np.zeros(count * (ws + wn), np.uint64)
    facts = np.zeros((64 * (ws + wn), 2), np.int64)
    for part in range(2):
        at = 64 * ws * part
        for i in by_length(heavy[part], sizes[part]):
            facts[at, 0], facts[at, 1] = heavy[part, i], low[i]
            row, begin = spot(starts, row_of, cohort, first + i)
            for place in range(begin, starts[row + 1]):
                line = number[items[place]] * (ws + wn)
                if line >= 0:
                    bits[line + (at >> 6)] |= np.uint64(1) << np.uint64(at & 63)
            at += 1
    return bits, facts, sizes


@inner
def by_length(numbers, count):
    """Where the numbers above 0 are, `count` of them, those of few bits first."""
    order, found, length = np.empty(count, np.int64), 0, 0
    while found < count:
        for i in range(len(numbers)):
            if 1 << length <= numbers[i] < 2 << length:
                order[found] = i
                found += 1
        length += 1
    return order
