"""The inner loops behind recounting transactions: rows, whole transactions, and walks over sets.

starts    row r holds items[starts[r]], …, items[starts[r + 1] - 1], ascending
weights   how many transactions row r stands for: equal public items make one row
row_of    the row of each place in `items`
begins    item i stands at places[begins[i]], …, places[begins[i + 1] - 1], by row
bag       row r holds the private items inmates[bag[r]], …, inmates[bag[r + 1] - 1]
shares    in how many of the row's transactions each of those is
floors    how many transactions without it hold all public items of the row; empty if not known

Public items are numbered by rising support. A set is reached by its rarest item first, so cohorts
are small from the start. A cohort is where its transactions hold the last item of the set: places
source[first], …, source[last - 1], or, for the empty set (`everybody`), the rows first, …, last - 1.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

from __future__ import annotations

import numpy as np

from reticent.compiling import compiled
from reticent.privacy.coherence_bits import FOUND, NONE, TIRED, grown, search_bits

UNIQUE, SMALL, SURE = 1, 2, 4  # what can be found out about a row
_NEXT, _LAST, _TOP = range(3)  # of an open node of a walk
_ITEM, _HELD, _BEGIN, _END = range(4)  # of one of its children


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
    """Rows of the items that have a number, by that number, ascending."""
    begins = np.zeros(len(starts), np.int64)
    kept = np.int64(0)
    for row in range(len(starts) - 1):
        for place in range(starts[row], starts[row + 1]):
            kept += number[items[place]] >= 0
        begins[row + 1] = kept
    found = np.empty(kept, np.int32)
    for row in range(len(starts) - 1):
        begin = end = begins[row]
        for place in range(starts[row], starts[row + 1]):
            fresh = number[items[place]]
            if fresh < 0:
                continue
            at = end
            while at > begin and found[at - 1] > fresh:
                found[at] = found[at - 1]
                at -= 1
            found[at] = fresh
            end += 1
    return begins, found


@compiled
def compare(starts, items, one, other):
    """Which row comes first, as words do in a dictionary: below 0 the one, above 0 the other."""
    i, j = starts[one], starts[other]
    while i < starts[one + 1] and j < starts[other + 1]:
        if items[i] != items[j]:
            return np.int64(items[i]) - items[j]
        i += 1
        j += 1
    return (starts[one + 1] - i) - (starts[other + 1] - j)


@compiled
def first_items(starts, items, width):
    """As many of each row's first items as fit into one number of 63 bits, `width` bits each."""
    keys = np.zeros(len(starts) - 1, np.int64)
    for row in range(len(keys)):
        for i in range(63 // width):
            place = starts[row] + i
            keys[row] <<= width
            if place < starts[row + 1]:
                keys[row] |= items[place] + 1
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
        width = 1
        while width < last - first:
            for low in range(first, last, 2 * width):
                merge(starts, items, order, spare, low, width, last)
            order[first:last] = spare[first:last]
            width *= 2
        first = last


@compiled
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


@compiled
def grouped(starts, items, order):
    """Equal rows, which stand side by side in `order`, as one: starts, items, weights, group."""
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
            found[begins[group] : begins[group + 1]] = items[starts[row] : starts[row + 1]]
        weights[group] += 1
    return begins, found, weights, group_of


@compiled
def bagged(starts, items, number, group_of, groups, count):
    """The private items of each group, each once, and in how many transactions of it."""
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
    bags = np.zeros(groups + 1, np.int64)
    shares = np.empty(len(held), np.int64)
    last = np.full(count, -1, np.int64)  # where in the bag at hand each item stands
    end = np.int64(0)
    for group in range(groups):
        bags[group] = end
        for place in range(ends[group], ends[group + 1]):
            item = held[place]
            if last[item] < bags[group]:
                last[item] = end
                held[end], shares[end] = item, 0
                end += 1
            shares[last[item]] += 1
    bags[groups] = end
    return bags, held[:end].copy(), shares[:end].copy()


@compiled
def places_of(starts, items, count, row_of, places):
    """Where each item stands; fills `row_of` and `places`, returns `begins`."""
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
def common(starts, items, one, other):
    """How many items two rows have in common at their beginning."""
    length = min(starts[one + 1] - starts[one], starts[other + 1] - starts[other])
    for i in range(length):
        if items[starts[one] + i] != items[starts[other] + i]:
            return i
    return length


@compiled
def behind(rows, row_of, places, bags, floors, number):
    """The rows of a cohort as a table of their own: what they hold beyond its last item.

    Items are numbered afresh, in the same order; `number` is -1 for every item between calls. A walk
    over the copy meets far fewer rows that are not in the processor's cache, which made one over ten
    million transactions three times as fast.
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
    fresh_starts, fresh_bag = (
        np.zeros(len(places) + 1, np.int64),
        np.zeros(len(places) + 1, np.int64),
    )
    fresh_items, fresh_weights = np.empty(size, np.int32), np.empty(len(places), np.int64)
    fresh_inmates, fresh_shares = np.empty(boxes, np.int32), np.empty(boxes, np.int64)
    fresh_floors = np.empty(boxes if len(floors) else 0, np.int64)
    size, boxes = np.int64(0), np.int64(0)
    for at in range(len(places)):
        row = row_of[places[at]]
        fresh_weights[at] = weights[row]
        for i in range(places[at] + 1, starts[row + 1]):
            fresh_items[size] = number[items[i]]
            size += 1
        for held in range(bag[row], bag[row + 1]):
            fresh_inmates[boxes], fresh_shares[boxes] = inmates[held], shares[held]
            if len(floors):
                fresh_floors[boxes] = floors[held]
            boxes += 1
        fresh_starts[at + 1], fresh_bag[at + 1] = size, boxes
    number[names] = -1
    bags = fresh_bag, fresh_inmates, fresh_shares
    return names, (fresh_starts, fresh_items, fresh_weights), bags, fresh_floors


@compiled
def holders(rows, bags, chosen, tallies):
    """How many transactions hold all the chosen items; adds up their private items."""
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
def tally_private(row_of, source, first, last, everybody, bags, tallies, touched):
    """Add up the private items of a cohort; return how many there are."""
    bag, inmates, shares = bags
    count = 0
    for i in range(first, last):
        row = i if everybody else row_of[source[i]]
        for held in range(bag[row], bag[row + 1]):
            item = inmates[held]
            if tallies[item] == 0:
                touched[count] = item
                count += 1
            tallies[item] += shares[held]
    return count


@compiled
def whole_rows(rows, lists, bags, private, k, rule, most, budget, floors):
    """Count the transactions that hold all of each row, and how sure they are of what.

    Rows are in dictionary order, so that a row shares cohorts with the one before. Fills `floors`.
    Returns how it ended (FOUND: a set of at most `most` items breaks the promise; TIRED: fewer than
    k hold some row, but of more items, or the work was too much), the row, how many of its items,
    the smallest count, and the work done.
    """
    starts, items, weights = rows
    row_of, begins, places = lists
    bag, inmates, shares = bags
    a, b, c = rule
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
            continue  # at least those hold it
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
            return TIRED, row, -1, smallest, work
        smallest = min(smallest, totals[length])
        if private:
            first = edges[length - 1] if length else 0
            last = edges[length] if length else len(weights)
            count = tally_private(row_of, pool, first, last, length == 0, bags, tallies, touched)
            work += last - first
            for held in range(bag[row], bag[row + 1]):
                floors[held] = totals[length] - tallies[inmates[held]]
            broken = False
            for i in range(count):
                inside = tallies[touched[i]]
                broken |= a * (totals[length] - inside) < c * inside
                tallies[touched[i]] = 0
            if broken and length <= most:
                return FOUND, row, length, smallest, work
    return NONE, -1, 0, smallest, work


@compiled
def common(starts, items, one, other):
    """How many items two rows have in common at their beginning."""
    length = min(starts[one + 1] - starts[one], starts[other + 1] - starts[other])
    for i in range(length):
        if items[starts[one] + i] != items[starts[other] + i]:
            return i
    return length


@compiled
def count_beyond(rows, row_of, source, first, last, everybody, counts, touched):
    """Count the items that come after a cohort's last; return how many, and all occurrences."""
    starts, items, weights = rows
    count, entries = 0, np.int64(0)
    for i in range(first, last):
        row = i if everybody else row_of[source[i]]
        begin = starts[row] if everybody else source[i] + 1
        for place in range(begin, starts[row + 1]):
            item = items[place]
            if counts[item] == 0:
                touched[count] = item
                count += 1
            counts[item] += weights[row]
        entries += starts[row + 1] - begin
    return count, entries


@compiled
def hand_out(rows, lists, source, first, last, everybody, kids, low, high, free, pool, top):
    """Write down the cohorts of children low, …, high - 1; return the pool, and where they end.

    Those of single items are known already. `free` is -1 for every item between calls.
    """
    starts, items, weights = rows
    row_of, begins, places = lists
    if everybody:
        for kid in range(low, high):
            item = kids[kid, _ITEM]
            kids[kid, _BEGIN], kids[kid, _END] = begins[item], begins[item + 1]
        return pool, top
    for kid in range(low, high):
        free[kids[kid, _ITEM]] = 0
    for i in range(first, last):
        for place in range(source[i] + 1, starts[row_of[source[i]] + 1]):
            if free[items[place]] >= 0:
                free[items[place]] += 1
    for kid in range(low, high):
        item = kids[kid, _ITEM]
        kids[kid, _BEGIN] = top
        top += free[item]
        kids[kid, _END] = top
        free[item] = kids[kid, _BEGIN]
    pool = grown(pool, top)
    for i in range(first, last):
        for place in range(source[i] + 1, starts[row_of[source[i]] + 1]):
            item = items[place]
            if free[item] >= 0:
                pool[free[item]] = place
                free[item] += 1
    for kid in range(low, high):
        free[kids[kid, _ITEM]] = -1
    return pool, top


@compiled
def as_bits(rows, row_of, source, cohort, number, count, bags, floors, wanted):
    """A cohort as lines of bits, one for each numbered item, with the facts about each bit.

    Rows stand by weight, so that few words need many planes.
    """
    starts, items, weights = rows
    bag, inmates, shares = bags
    first, last, everybody = cohort
    heavy = np.zeros((2, last - first), np.int64)  # transactions inside and outside
    low = np.zeros(last - first, np.int64)
    for i in range(last - first):
        row = first + i if everybody else row_of[source[first + i]]
        heavy[1, i] = weights[row]
        for held in range(bag[row], bag[row + 1] if wanted >= 0 else bag[row]):
            if inmates[held] == wanted:
                heavy[0, i], low[i] = shares[held], floors[held] if len(floors) else 0
                heavy[1, i] -= shares[held]
    sizes = (heavy > 0).sum(axis=1)
    ws, wn = (sizes[0] + 63) // 64, (sizes[1] + 63) // 64
    bits = np.zeros(count * (ws + wn), np.uint64)
    facts = np.zeros((64 * (ws + wn), 2), np.int64)
    for part in range(2):
        at = 64 * ws * part
        for i in np.argsort(heavy[part], kind="mergesort"):
            if heavy[part, i] == 0:
                continue
            facts[at, 0], facts[at, 1] = heavy[part, i], low[i]
            row = first + i if everybody else row_of[source[first + i]]
            begin = starts[row] if everybody else source[first + i] + 1
            for place in range(begin, starts[row + 1]):
                line = number[items[place]] * (ws + wn)
                if line >= 0:
                    bits[line + (at >> 6)] |= np.uint64(1) << np.uint64(at & 63)
            at += 1
    return bits, facts, (sizes[0], sizes[1])


@compiled
def is_dense(count, rows, entries, living, closing, room):
    """Whether bits are the better way: by the pairs of items that either way would have to count.

    With sets of any size, bits have more reasons to give up a branch, and may do more per pair.
    """
    words = rows // 64 + 2.0
    pairs = float(living) * count * count * words
    return (
        count * words * 8 <= room and pairs * rows <= (64.0 if closing else 4.0) * entries * entries
    )


@compiled
def walk(rows, lists, bags, floors, private, ask, closing, room, budget, out):
    """Look for a breaking set, the rarest item first; where a cohort is dense, bits take over.

    `ask` is (k, a, b, c, least, most), as for the search over bits. `private`: how many private
    items there are; 0: only support is asked for, else only confidence. Returns how it ended, how
    many items were written to `out`, and the work done.
    """
    row_of, begins, places = lists
    k, a, b, c, least, most = ask
    size = len(begins) - 1
    counts, touched, free = np.zeros(size, np.int64), np.empty(size, np.int64), np.full(size, -1)
    tallies, alive = np.zeros(private, np.int64), np.empty(max(private, 1), np.int64)
    kids, pool = np.empty((2 * size + 1, 4), np.int64), np.empty(1024, places.dtype)
    nodes, inner = np.zeros((min(most, size) + 2, 3), np.int64), np.empty(size + 1, np.int64)
    first, last, total = np.int64(0), np.int64(len(rows[2])), rows[2].sum()
    low, top, work = np.int64(0), np.int64(0), np.int64(0)
    depth, fresh = 0, True
    while depth >= 0:
        node = nodes[depth]
        if not fresh:
            if node[_NEXT] == node[_LAST]:
                depth -= 1
                continue
            kid = kids[node[_NEXT]]
            node[_NEXT] += 1
            out[depth] = kid[_ITEM]
            first, last, total = kid[_BEGIN], kid[_END], kid[_HELD]
            low, top = node[_LAST], node[_TOP]
            depth += 1
            node = nodes[depth]
        fresh = False
        node[_NEXT], node[_LAST], node[_TOP] = low, low, top
        everybody = depth == 0
        source = pool if depth > 1 else places
        living = 1
        if private:
            found = tally_private(row_of, source, first, last, everybody, bags, tallies, alive)
            work += last - first
            broken, living = False, 0
            for i in range(found):
                inside = tallies[alive[i]]
                tallies[alive[i]] = 0
                broken |= a * (total - inside) < c * inside
                if inside >= least:
                    alive[living] = alive[i]
                    living += 1
            if broken:
                return FOUND, depth, work
        left = most - depth
        if left == 0 or living == 0:
            continue

        found, entries = count_beyond(rows, row_of, source, first, last, everybody, counts, touched)
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
            if least <= many < total:
                kids[high, _ITEM], kids[high, _HELD] = item, many
                high += 1
        if private == 0 and (left == 1 or total - left * (total - fewest) >= k):
            continue  # r more items lose at most r times what one can lose
        if is_dense(high - low, last - first, entries, living, closing, room):
            for kid in range(low, high):
                free[kids[kid, _ITEM]] = kid - low
            for i in range(living):
                cohort = first, last, everybody
                wanted = alive[i] if private else -1
                bits, facts, sizes = as_bits(
                    rows, row_of, source, cohort, free, high - low, bags, floors, wanted
                )
                end, length, used = search_bits(
                    bits, high - low, facts, sizes, (a, b, c), least, left,
                    len(floors) > 0, closing, budget - work, inner,
                )  # fmt: skip
                work += used
                if end != NONE:
                    for j in range(length):
                        out[depth + j] = kids[low + inner[j], _ITEM]
                    return end, depth + length, work
            for kid in range(low, high):
                free[kids[kid, _ITEM]] = -1
            continue
        node[_LAST] = high
        pool, node[_TOP] = hand_out(
            rows, lists, source, first, last, everybody, kids, low, high, free, pool, top
        )
        work += 2 * entries
    return NONE, 0, work


@compiled
def mark(rows, lists, bags, private, ask, open_to, people, surest, budget):
    """Find out what each row is exposed to by sets of exactly `size` items.

    `ask` is (size, k, over, under). open_to[r]: what is still to be found out about row r; people:
    how many transactions were found unique, in a small cohort, in one that is too sure; surest: the
    largest confidence met, as over and under. Sets that lose nobody beside a smaller one are left
    out: that one was looked at before. Returns the work done; more than the budget: not finished.
    """
    row_of, begins, places = lists
    size, k, over, under = ask
    width = len(begins) - 1
    counts, touched, free = np.zeros(width, np.int64), np.empty(width, np.int64), np.full(width, -1)
    parts, others = np.zeros(width, np.int64), np.empty(width, np.int64)
    ends, present = np.zeros(private, np.int64), np.empty(private, np.int64)
    flags = np.zeros(width, np.uint8)
    kids, pool = np.empty((2 * width + 1, 4), np.int64), np.empty(1024, places.dtype)
    nodes, losses = np.zeros((size + 1, 3), np.int64), np.empty(size, np.int64)
    first, last, total = np.int64(0), np.int64(len(rows[2])), rows[2].sum()
    low, top, work = np.int64(0), np.int64(0), np.int64(0)
    depth, fresh = 0, True
    while depth >= 0:
        node = nodes[depth]
        if not fresh:
            if node[_NEXT] == node[_LAST]:
                depth -= 1
                continue
            kid = kids[node[_NEXT]]
            node[_NEXT] += 1
            first, last, total = kid[_BEGIN], kid[_END], kid[_HELD]
            low, top = node[_LAST], node[_TOP]
            depth += 1
            node = nodes[depth]
        fresh = False
        node[_NEXT], node[_LAST], node[_TOP] = low, low, top
        everybody = depth == 0
        source = pool if depth > 1 else places
        asked = 0
        for i in range(first, last):
            asked |= open_to[i if everybody else row_of[source[i]]]
        hunting = private > 0 and surest[0] < surest[1]
        work += last - first
        if asked == 0 and not hunting:
            continue
        found, entries = count_beyond(rows, row_of, source, first, last, everybody, counts, touched)
        work += entries
        if work > budget:
            return work
        if depth < size - 1:
            kids = grown(kids, low + found)
            enough = total  # a child with more people, or all of them, has nothing below
            if not hunting and not asked & SURE:
                rest = largest_losses(counts, touched[:found], total, losses[: size - depth - 1])
                enough = min(total, rest + (k if asked & SMALL else 2))
            for i in range(found):
                item = touched[i]
                if counts[item] < enough:
                    kids[node[_LAST], _ITEM], kids[node[_LAST], _HELD] = item, counts[item]
                    node[_LAST] += 1
                counts[item] = 0
            pool, node[_TOP] = hand_out(
                rows, lists, source, first, last, everybody, kids, low, node[_LAST], free, pool, top
            )
            work += 2 * entries
            continue
        if hunting or asked & SURE:
            cohort = first, last, everybody
            work += 2 * entries
            flag_sure(
                rows, row_of, source, cohort, bags, ends, present, counts, parts, others, flags,
                (over, under), surest,
            )  # fmt: skip
        wanted = 0
        for i in range(found):
            item = touched[i]
            if counts[item] == 1:
                flags[item] |= UNIQUE
            if counts[item] < k:
                flags[item] |= SMALL
            wanted |= flags[item]
        if asked & wanted:
            work += entries
            close(rows, row_of, source, first, last, everybody, flags, open_to, people)
        for i in range(found):
            counts[touched[i]], flags[touched[i]] = 0, 0
    return work


@compiled
def largest_losses(counts, items, whole, losses):
    """What as many of the items as there is room for lose together, at most."""
    losses[:] = 0
    for item in items:
        lost = whole - counts[item]
        for i in range(len(losses)):  # a handful: put it in its place, and the others one further
            if lost > losses[i]:
                lost, losses[i] = losses[i], lost
    return losses.sum()


@compiled
def flag_sure(
    rows, row_of, source, cohort, bags, ends, present, counts, parts, touched, flags, rule, surest
):
    """Flag the items that, known too, make a cohort too sure of something; keep the surest.

    The cohort is taken by private item, so that one array of `parts` will do. `ends` and `parts`
    are 0 between calls.
    """
    starts, items, weights = rows
    bag, inmates, shares = bags
    first, last, everybody = cohort
    over, under = rule
    boxes, kinds = 0, 0
    for i in range(first, last):
        row = i if everybody else row_of[source[i]]
        for held in range(bag[row], bag[row + 1]):
            if ends[inmates[held]] == 0:
                present[kinds] = inmates[held]
                kinds += 1
            ends[inmates[held]] += 1
            boxes += 1
    begin = 0
    for kind in range(kinds):
        begin += ends[present[kind]]
        ends[present[kind]] = begin - ends[present[kind]]
    holder, amount = np.empty(boxes, np.int64), np.empty(boxes, np.int64)
    for i in range(first, last):
        row = i if everybody else row_of[source[i]]
        for held in range(bag[row], bag[row + 1]):
            at = ends[inmates[held]]
            holder[at], amount[at] = i, shares[held]
            ends[inmates[held]] += 1
    begin = 0
    for kind in range(kinds):
        found = 0
        for at in range(begin, ends[present[kind]]):
            i = holder[at]
            row = i if everybody else row_of[source[i]]
            for place in range(starts[row] if everybody else source[i] + 1, starts[row + 1]):
                item = items[place]
                if parts[item] == 0:
                    touched[found] = item
                    found += 1
                parts[item] += amount[at]
        begin = ends[present[kind]]
        ends[present[kind]] = 0
        for i in range(found):
            part, whole = parts[touched[i]], counts[touched[i]]
            parts[touched[i]] = 0
            if part * under > over * whole:
                flags[touched[i]] |= SURE
            if part * surest[1] > surest[0] * whole:
                surest[0], surest[1] = part, whole


@compiled
def close(rows, row_of, source, first, last, everybody, flags, open_to, people):
    """Settle what was found out about the rows of a cohort that hold a flagged item beyond it."""
    starts, items, weights = rows
    for i in range(first, last):
        row = i if everybody else row_of[source[i]]
        fresh = 0
        if open_to[row]:
            for place in range(starts[row] if everybody else source[i] + 1, starts[row + 1]):
                fresh |= flags[items[place]]
        fresh &= open_to[row]
        open_to[row] ^= fresh
        for bit in range(3):
            if fresh >> bit & 1:
                people[bit] += weights[row]
