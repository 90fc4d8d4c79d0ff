"""The inner loops of the search for minimal moles: bitsets, one bit a transaction.

A node of the search is a set X of items that is no mole. Its level holds, for every item that may
join X, the transactions of X that have it: ``arena[off[d] + e * words[d] : …]`` for place e of
level d. Beside them, in ``ints`` from ``at[d]`` on, stand ``count[d]`` items in ascending order
of their support in X, then these supports, the places at the level above, and the largest number
of transactions that share a private item, or more.

    state  0 cells of `out` used, 1 moles found, 2 what was too small, 3 nodes, 4 candidates

Items are numbered by ascending support: whatever joins a rare item takes few transactions away from
it, which bounds how small a support can become.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import intrinsic

from reticent.compiling import compiled

OUT, ARENA, INTS = 1, 2, 3  # what was too small
DEEPEST = 512  # items of a mole
ONE = np.uint64(1)


@intrinsic
def ones(typing_context, word):
    """How many bits of a word are set: one instruction where the processor has it."""

    def generate(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@compiled
def in_both(arena, one, other, words):
    """How many transactions two places share."""
    found = np.uint64(0)
    for w in range(words):
        found += ones(arena[one + w] & arena[other + w])
    return np.int64(found)


@compiled
def most_shared(rows, count, private_starts, private, seen):
    """The largest number of some transactions that share a private item; `seen`: all zero."""
    most = np.int64(0)
    for i in range(count):
        for x in range(private_starts[rows[i]], private_starts[rows[i] + 1]):
            seen[private[x]] += 1
            most = max(most, seen[private[x]])
    for i in range(count):
        for x in range(private_starts[rows[i]], private_starts[rows[i] + 1]):
            seen[private[x]] = 0
    return most


@compiled
def most_private(arena, one, other, words, rows, private_starts, private, seen):
    """The same of the transactions that two places share."""
    both = np.empty(64 * words, np.int64)
    count = 0
    for w in range(words):
        left = arena[one + w] & arena[other + w]
        while left:
            low = left & (~left + ONE)
            left ^= low
            both[count] = rows[64 * w + np.int64(ones(low - ONE))]
            count += 1
    return most_shared(both, count, private_starts, private, seen)


@compiled
def invert(starts, items, count):
    """The transactions of each item, as `starts` and `rows`."""
    begins = np.zeros(count + 1, np.int64)
    for item in items:
        begins[item + 1] += 1
    for item in range(count):
        begins[item + 1] += begins[item]
    free = begins[:-1].copy()
    rows = np.empty(len(items), np.int32)
    for row in range(len(starts) - 1):
        for x in range(starts[row], starts[row + 1]):
            rows[free[items[x]]] = row
            free[items[x]] += 1
    return begins, rows


@compiled
def renumber(starts, items, number, count):
    """Transactions with items under new numbers, ascending; those without one are left out.

    Also the transactions of each item, and where among all items it stands there.
    """
    n = len(starts) - 1
    begins = np.zeros(count + 1, np.int64)
    ends = np.zeros(n + 1, np.int64)
    for row in range(n):
        for x in range(starts[row], starts[row + 1]):
            new = number[items[x]]
            if new >= 0:
                begins[new + 1] += 1
                ends[row + 1] += 1
    for item in range(count):
        begins[item + 1] += begins[item]
    for row in range(n):
        ends[row + 1] += ends[row]
    rows = np.empty(begins[count], np.int32)
    free = begins[:-1].copy()
    for row in range(n):
        for x in range(starts[row], starts[row + 1]):
            new = number[items[x]]
            if new >= 0:
                rows[free[new]] = row
                free[new] += 1
    sorted_ = np.empty(len(rows), np.int32)
    stands = np.empty(len(rows), np.int64)
    free = ends[:-1].copy()
    for item in range(count):
        for x in range(begins[item], begins[item + 1]):
            to = free[rows[x]]
            sorted_[to], stands[x] = item, to
            free[rows[x]] = to + 1
    return ends, sorted_, begins, rows, stands


@compiled
def private_maxima(begins, rows, private_starts, private, private_count):
    """For each item, the largest number of its transactions that share a private item."""
    found = np.zeros(len(begins) - 1, np.int64)
    seen = np.zeros(private_count + 1, np.int64)
    for item in range(len(found)):
        own = rows[begins[item] : begins[item + 1]]
        found[item] = most_shared(own, len(own), private_starts, private, seen)
    return found


@compiled
def pairs(
    starts, items, begins, rows, stands, private_starts, private, private_count, maxima,
    k, over, under, first, out, near, state,
):  # fmt: skip
    """Pairs of items that occur together, from item `first` on: moles, and the good ones.

    Good pairs go to `near` as item, item, support, private maximum; returns where it must go on,
    with larger arrays.
    """
    count = len(begins) - 1
    shared = np.zeros(count, np.int64)
    met = np.empty(count, np.int64)
    seen = np.zeros(private_count + 1, np.int64)
    for a in range(first, count):
        found = 0
        for x in range(begins[a], begins[a + 1]):
            for y in range(stands[x] + 1, starts[rows[x] + 1]):
                b = items[y]
                if shared[b] == 0:
                    met[found] = b
                    found += 1
                shared[b] += 1
        full = state[0] + 3 * found > len(out) or state[5] + 4 * found > len(near)
        if full:
            for i in range(found):
                shared[met[i]] = 0
            return a
        for b in met[:found]:
            support = shared[b]
            shared[b] = 0
            most = min(maxima[a], maxima[b], support)
            mole = support < k
            if not mole and under > over and most * under > over * support:
                most = _private_pair(
                    a, b, begins, rows, stands, starts, items, private_starts, private, seen
                )
                mole = most * under > over * support
            if mole:
                out[state[0]], out[state[0] + 1], out[state[0] + 2] = 2, a, b
                state[0] += 3
                state[1] += 1
            else:
                near[state[5]], near[state[5] + 1] = a, b
                near[state[5] + 2], near[state[5] + 3] = support, most
                state[5] += 4
    return count


@compiled
def _private_pair(a, b, begins, rows, stands, starts, items, private_starts, private, seen):
    both = np.empty(begins[a + 1] - begins[a], np.int64)
    count = 0
    for x in range(begins[a], begins[a + 1]):
        for y in range(stands[x] + 1, starts[rows[x] + 1]):
            if items[y] == b:
                both[count] = rows[x]
                count += 1
    return most_shared(both, count, private_starts, private, seen)


@compiled
def from_item(
    a, k, p, over, under, starts, items, begins, rows, private_starts, private,
    next_to, neighbours, near, whole, local, seen, arena, ints, out, state,
):  # fmt: skip
    """All moles of three or more items whose rarest is a, all of whose subsets are large enough.

    `neighbours[next_to[a] : next_to[a + 1]]`: where in `near` the good pairs of a stand. `whole`:
    every item's bits over all transactions, or nothing, if there is no room for them.
    """
    n = begins[a + 1] - begins[a]
    off = np.zeros(DEEPEST, np.int64)
    words = np.zeros(DEEPEST, np.int64)
    at = np.zeros(DEEPEST, np.int64)
    count = np.zeros(DEEPEST, np.int64)
    prefix = np.zeros(DEEPEST, np.int64)
    place = np.zeros(DEEPEST, np.int64)
    row_at = np.zeros(DEEPEST, np.int64)
    prefix[0] = place[0] = a
    e = 0
    some = np.empty(next_to[a + 1] - next_to[a], np.int64)
    for x in range(next_to[a], next_to[a + 1]):
        pair = neighbours[x]
        support = near[pair + 2]
        if support != n and support != begins[near[pair + 1] + 1] - begins[near[pair + 1]]:
            some[e] = pair
            e += 1
    if e < 2 or p < 3:
        return
    w = (n + 63) // 64
    if e * w + n > len(arena):
        state[2] = ARENA
        return
    if 4 * e + n + e * e > len(ints):
        state[2] = INTS
        return
    order = np.argsort(near[some[:e] + 2])
    for q in range(e):
        pair = some[order[q]]
        ints[q], ints[e + q] = near[pair + 1], near[pair + 2]
        ints[2 * e + q], ints[3 * e + q] = near[pair + 1], near[pair + 3]
        local[near[pair + 1]] = q
    # Which two of them are a good pair: a table behind everything else of this level.
    good = 4 * e + n
    ints[good : good + e * e] = 0
    for q in range(e):
        for x in range(next_to[ints[q]], next_to[ints[q] + 1]):
            other = local[near[neighbours[x] + 1]]
            if other >= 0:
                ints[good + q * e + other] = ints[good + other * e + q] = 1
    arena[: e * w] = 0
    for z in range(n):
        row = rows[begins[a] + z]
        ints[4 * e + z] = row
        for x in range(starts[row], starts[row + 1]):
            q = local[items[x]]
            if q >= 0:
                arena[q * w + (z >> 6)] |= ONE << np.uint64(z & 63)
    for q in range(e):
        local[ints[q]] = -1
    count[1], words[1], off[1], at[1], row_at[1] = e, w, 0, 0, 4 * e
    at[2] = good + e * e
    for q in range(e):
        ints[2 * e + q] = ints[q]  # level 0 counts items as they are numbered
    _dive(
        k, p, over, under, n, prefix, place, arena, off, words, ints, at, count, row_at,
        good, e, private_starts, private, whole, begins, rows, seen, out, state,
    )  # fmt: skip


@compiled
def _dive(
    k, p, over, under, n, prefix, place, arena, off, words, ints, at, count, row_at,
    good, wide, private_starts, private, whole, begins, all_rows, seen, out, state,
):  # fmt: skip
    """Everything below level 1, which has n transactions: a stack of nodes instead of calls.

    (What calls itself cannot be compiled once and kept.)
    """
    next_ = np.zeros(DEEPEST, np.int64)  # by level: which place comes next
    sizes = np.zeros(DEEPEST, np.int64)  # by level: how many transactions the node has
    sizes[1] = n
    d = 1
    while d > 0:
        ii = next_[d]
        e, base, ws, io, n = count[d], off[d], words[d], at[d], sizes[d]
        if ii >= e - 1:
            d -= 1
            continue
        next_[d] += 1
        r = p - (d + 1)  # how many may join X and i
        support, i = ints[io + e + ii], ints[io + ii]
        top = ints[io + 3 * e + ii]
        # The most that r more items can take away: the first ones take most.
        least = support
        for q in range(ii + 1, min(e, ii + 1 + r)):
            least -= n - ints[io + e + q]
            if least < k or top * under > over * least:
                break
        if least >= k and (under == over or top * under <= over * least):
            continue
        rest = np.int64(0)  # by r - 1 others
        for q in range(ii + 1, min(e, ii + r)):
            rest += n - ints[io + e + q]
        child = at[d + 1]
        if child + 8 * e + support > len(ints):
            state[2] = INTS
            return
        kept = 0
        for jj in range(ii + 1, e):
            other = ints[io + e + jj]
            least = support - (n - other) - rest
            if least >= k and (under == over or top * under <= over * least):
                break  # nor can any later one
            one, two = ii, jj
            for t in range(d, 1, -1):  # places at level 1, where good pairs are told
                one, two = ints[at[t] + 2 * count[t] + one], ints[at[t] + 2 * count[t] + two]
            if not ints[good + one * wide + two]:
                continue
            c = in_both(arena, base + ii * ws, base + jj * ws, ws)
            if c in (0, support, other):
                continue
            most = min(top, ints[io + 3 * e + jj], c)
            mole = c < k
            if not mole and under > over and most * under > over * c:
                most = most_private(
                    arena, base + ii * ws, base + jj * ws, ws, ints[row_at[d] :],
                    private_starts, private, seen,
                )  # fmt: skip
                mole = most * under > over * c
            if mole:
                state[4] += 1
                place[d] = ii
                if d == 1 or _large_without(
                    d, ii, jj, k, place, arena, off, words, ints, at, count,
                    whole, begins, all_rows, prefix,
                ):  # fmt: skip
                    need = d + 3
                    if state[0] + need > len(out):
                        state[2] = OUT
                        return
                    to = state[0]
                    out[to] = d + 2
                    for q in range(d):
                        out[to + 1 + q] = prefix[q]
                    out[to + 1 + d], out[to + 2 + d] = i, ints[io + jj]
                    state[0] += need
                    state[1] += 1
            elif r > 1:
                ints[child + kept], ints[child + e + kept] = jj, c
                ints[child + 2 * e + kept] = most
                kept += 1
        if kept < 2:
            continue
        places = ints[child : child + kept].copy()
        supports = ints[child + e : child + e + kept].copy()
        maxima = ints[child + 2 * e : child + 2 * e + kept].copy()
        order = np.argsort(supports)
        least, largest = support, np.int64(0)
        for q in range(kept):
            to = order[q]
            ints[child + q], ints[child + kept + q] = ints[io + places[to]], supports[to]
            ints[child + 2 * kept + q], ints[child + 3 * kept + q] = places[to], maxima[to]
            largest = max(largest, maxima[to])
            if q < r:
                least -= support - supports[to]
        if least >= k and (under == over or largest * under <= over * least):
            continue
        count[d + 1] = kept
        row_at[d + 1] = child + 4 * kept
        o2, nw = base + e * ws, (support + 63) // 64
        off[d + 1] = o2
        narrow = 2 * nw < ws
        w2 = nw if narrow else ws
        if o2 + kept * w2 > len(arena):
            state[2] = ARENA
            return
        words[d + 1] = w2
        if narrow:  # only the transactions of X and i
            at[d + 2] = row_at[d + 1] + 2 * support
            if at[d + 2] > len(ints):
                state[2] = INTS
                return
            where = row_at[d + 1] + support
            found = 0
            for w in range(ws):
                left = arena[base + ii * ws + w]
                while left:
                    low = left & (~left + ONE)
                    left ^= low
                    bit = 64 * w + np.int64(ones(low - ONE))
                    ints[where + found] = bit
                    ints[row_at[d + 1] + found] = ints[row_at[d] + bit]
                    found += 1
            for q in range(kept):
                source, target = base + ints[child + 2 * kept + q] * ws, o2 + q * nw
                for w in range(nw):
                    word = np.uint64(0)
                    for z in range(min(64, support - 64 * w)):
                        bit = ints[where + 64 * w + z]
                        set_ = (arena[source + (bit >> 6)] >> np.uint64(bit & 63)) & ONE
                        word |= set_ << np.uint64(z)
                    arena[target + w] = word
        else:
            row_at[d + 1] = row_at[d]
            at[d + 2] = child + 4 * kept
            for q in range(kept):
                source, target = base + ints[child + 2 * kept + q] * ws, o2 + q * ws
                for w in range(ws):
                    arena[target + w] = arena[source + w] & arena[base + ii * ws + w]
        prefix[d], place[d] = i, ii
        d += 1
        next_[d], sizes[d] = 0, support
        state[3] += 1


@compiled
def _large_without(
    d, ii, jj, k, place, arena, off, words, ints, at, count, whole, begins, rows, prefix
):
    """Whether X and i and j, without any one item of X, are shared by at least k."""
    places = np.empty(DEEPEST, np.int64)
    places[0], places[1] = ii, jj
    held = 2
    for t in range(d - 1, 0, -1):  # without item t, among the transactions of those before it
        for q in range(held):
            places[q] = ints[at[t + 1] + 2 * count[t + 1] + places[q]]
        found, base, ws = np.int64(0), off[t], words[t]
        for w in range(ws):
            word = arena[base + places[0] * ws + w]
            for q in range(1, held):
                word &= arena[base + places[q] * ws + w]
            found += np.int64(ones(word))
            if found >= k:
                break
        if found < k:
            return False
        places[held] = place[t]
        held += 1
    for q in range(held):
        places[q] = ints[at[1] + 2 * count[1] + places[q]]
    found = np.int64(0)
    if len(whole):
        for w in range(whole.shape[1]):
            word = whole[places[0], w]
            for q in range(1, held):
                word &= whole[places[q], w]
            found += np.int64(ones(word))
            if found >= k:
                return True
        return False
    # No room for the bits of all: the rarest item's transactions, looked up in the others'.
    rarest = places[0]
    for q in range(1, held):
        rarest = min(rarest, places[q])
    for x in range(begins[rarest], begins[rarest + 1]):
        has = True
        for q in range(held):
            v = places[q]
            low, high = begins[v], begins[v + 1]
            while low < high:
                middle = (low + high) // 2
                if rows[middle] < rows[x]:
                    low = middle + 1
                else:
                    high = middle
            if low == begins[v + 1] or rows[low] != rows[x]:
                has = False
                break
        found += has
        if found >= k:
            return True
    return False


@compiled
def all_bits(starts, items, count):
    """Every item's transactions as bits."""
    n = len(starts) - 1
    bits = np.zeros((count, (n + 63) // 64), np.uint64)
    for row in range(n):
        for x in range(starts[row], starts[row + 1]):
            bits[items[x], row >> 6] |= ONE << np.uint64(row & 63)
    return bits


@compiled
def hold_no_other(begins, items, count):
    """Which of some sets, shortest first, hold none of those before them that are kept."""
    sets = len(begins) - 1
    kept = np.zeros(sets, np.bool_)
    head = np.full(count, -1, np.int64)  # of the kept sets with this item as their first,
    after = np.full(sets, -1, np.int64)  # one after the other
    has = np.zeros(count, np.bool_)
    for s in range(sets):
        for x in range(begins[s], begins[s + 1]):
            has[items[x]] = True
        fine = True
        for x in range(begins[s], begins[s + 1]):
            other = head[items[x]]
            while fine and other >= 0:
                inside = True
                for y in range(begins[other], begins[other + 1]):
                    inside &= has[items[y]]
                fine = not inside
                other = after[other]
        for x in range(begins[s], begins[s + 1]):
            has[items[x]] = False
        if fine:
            kept[s] = True
            first = items[begins[s]]
            after[s] = head[first]
            head[first] = s
    return kept


@compiled
def unpack(cells, begins, items):
    """Sets that were written one after the other, each after its length."""
    at = to = number = 0
    while at < len(cells):
        size = cells[at]
        for x in range(size):
            items[to + x] = cells[at + 1 + x]
        at += size + 1
        to += size
        number += 1
        begins[number] = to


@compiled
def remove(begins, items, holders, of_holder, costs):
    """The order in which things go until each threat has lost one of its own.

    `of_holder[holders[v] : holders[v + 1]]`: the threats that hold thing v.
    """
    things = len(costs)
    left = np.zeros(things, np.int64)  # threats that each would break
    broken = np.zeros(len(begins) - 1, np.bool_)
    alone = np.zeros(things, np.bool_)
    for t in range(len(begins) - 1):
        for x in range(begins[t], begins[t + 1]):
            left[items[x]] += 1
        if begins[t + 1] - begins[t] == 1:
            alone[items[begins[t]]] = True
    order = np.empty(things, np.int64)
    gone = 0
    while True:
        best = -1
        for v in range(things):
            if left[v] == 0:
                continue
            if best < 0:
                best = v
            elif alone[v] != alone[best]:
                best = v if alone[v] else best
            elif left[v] * costs[best] > left[best] * costs[v]:
                best = v
        if best < 0:
            return order[:gone]
        order[gone] = best
        gone += 1
        for y in range(holders[best], holders[best + 1]):
            t = of_holder[y]
            if not broken[t]:
                broken[t] = True
                for x in range(begins[t], begins[t + 1]):
                    left[items[x]] -= 1
    return order[:gone]


@compiled
def give_back(begins, items, holders, of_holder, order):
    """Which of the things that went can come back, the last asked first."""
    missing = np.zeros(len(begins) - 1, np.int64)  # things that each threat has lost
    for v in order:
        for y in range(holders[v], holders[v + 1]):
            missing[of_holder[y]] += 1
    back = np.zeros(len(order), np.bool_)
    for i in range(len(order) - 1, -1, -1):
        v = order[i]
        fine = True
        for y in range(holders[v], holders[v + 1]):
            fine &= missing[of_holder[y]] > 1
        if fine:
            back[i] = True
            for y in range(holders[v], holders[v + 1]):
                missing[of_holder[y]] -= 1
    return back
