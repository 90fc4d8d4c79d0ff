"""The inner loops of the search for minimal moles: bitsets, one bit a transaction.

A node of the search is a set X of items that is no mole. Its level holds, for every item that may
join X, the transactions of X that have it: ``arena[off[d] + e * words[d] : …]`` for place e of
level d; behind these come ``hides[d]`` rows of those who have a private item, for every one that
occurs more than h k times in X: rarer ones cannot be too common among k or more. In ``ints``, from
``at[d]`` on, stand ``count[d]`` items in ascending order of their support in X, these supports, the
places at the level above, the largest number of transactions that share a private item, or more,
and the occurrences of the private items in X, the commonest first.

    state  0 cells of `out` used, 1 moles found, 2 why it stopped, 3 words and pairs looked at

Items are numbered by ascending support: whatever joins a rare item takes few transactions away from
it, which bounds how small a support can become.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

from __future__ import annotations

import numpy as np

from reticent.compiling import compiled, inner, ones
from reticent.suppress.sets import rising

OUT, ARENA, INTS, SPENT = 1, 2, 3, 4  # what was too small; or as much work was done as allowed
DEEPEST = 512  # items of a mole
ONE = np.uint64(1)


@inner
def in_both(arena, one, other, words):
    """How many transactions two places share."""
    # Through slices: a sum as an index might be negative, and checking that takes a nanosecond.
    left, right = arena[one : one + words], arena[other : other + words]
    found = np.int64(0)
    for w in range(words):
        found += ones(left[w] & right[w])
    return found


@inner
def most_private(arena, one, other, words, held, ints, counts, hides, c, top, over, under):
    """The most of the c transactions that two places share with a private item in common.

    Or more, but then no more than a share h.
    `held`: where the bits of those who have a private item stand, commonest item first, and
    `counts`: how many they are; there is no need to look at those that are too few.
    """
    most, looked = np.int64(0), np.int64(0)
    left, right = arena[one : one + words], arena[other : other + words]
    for q in range(hides):
        few = min(ints[counts + q], c, top)
        if few * under <= over * c or few <= most:
            return max(most, few), looked
        found = np.int64(0)
        own = arena[held + q * words : held + (q + 1) * words]
        for w in range(words):
            found += ones(left[w] & right[w] & own[w])
        looked += words
        most = max(most, found)
    return max(most, min(over * c // under, top)), looked


@compiled
def private_maxima(begins, rows, private_starts, private, private_count):
    """For each item, the largest number of its transactions that share a private item."""
    found = np.zeros(len(begins) - 1, np.int64)
    seen = np.zeros(private_count + 1, np.int64)
    for item in range(len(found)):
        own = rows[begins[item] : begins[item + 1]]
        for row in own:
            for x in range(private_starts[row], private_starts[row + 1]):
                seen[private[x]] += 1
                found[item] = max(found[item], seen[private[x]])
        for row in own:
            for x in range(private_starts[row], private_starts[row + 1]):
                seen[private[x]] = 0
    return found


@compiled
def pairs(
    starts, items, begins, rows, stands, private_starts, private, private_count, maxima,
    k, over, under, first, bits, out, near, state, limit,
):  # fmt: skip
    """Pairs of items that occur together, from item `first` on: moles, and the good ones.

    Good pairs go to `near` as item, item, support, private maximum; returns where it must go on,
    with larger arrays, unless there are more than `limit` moles already. `bits`: every item's, if
    they are short enough for it to pay.
    """
    count = len(begins) - 1
    shared = np.zeros(count, np.int64)
    met = np.empty(count, np.int64)
    seen = np.zeros(private_count + 1, np.int64)
    tops = np.zeros(count, np.int64)
    for a in range(first, count):
        if state[1] > limit:
            return a
        found = 0
        for b in range(a + 1, count if len(bits) else 0):
            both = np.int64(0)
            left, right = bits[a], bits[b]
            for w in range(len(left)):
                both += ones(left[w] & right[w])
            shared[b] = both
            if both:
                met[found] = b
                found += 1
        for x in range(begins[a], begins[a + 1] if len(bits) == 0 else 0):
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
        unsure = False
        for b in met[:found]:
            most = min(maxima[a], maxima[b], shared[b])
            unsure |= under > over and shared[b] >= k and most * under > over * shared[b]
        if unsure:
            own, where = rows[begins[a] : begins[a + 1]], stands[begins[a] : begins[a + 1]]
            _private_pairs(
                own, where, starts, items, private_starts, private, k, over, under, seen, tops
            )
        for b in met[:found]:
            support = shared[b]
            shared[b] = 0
            most = min(maxima[a], maxima[b], support)
            mole = support < k
            if not mole and under > over and most * under > over * support:
                most = max(min(tops[b], most), min(over * support // under, most))
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


@inner
def _private_pairs(
    rows, stands, starts, items, private_starts, private, k, over, under, seen, tops
):  # fmt: skip
    """For each later item, how many of some transactions share it and one private item, at most.

    Private items that occur h k times or less are left out: the answer may be too small for them.
    """
    for i in range(len(rows)):
        for y in range(stands[i] + 1, starts[rows[i] + 1]):
            tops[items[y]] = 0
    common, _ = _common_private(rows, private_starts, private, k, over, under, seen)
    if len(common) == 0:
        return
    # Transactions by private item, then one item after the other.
    holders = np.zeros(len(common) + 1, np.int64)
    for q in range(len(common)):
        seen[common[q]] = q + 1
    for row in rows:
        for x in range(private_starts[row], private_starts[row + 1]):
            if seen[private[x]]:
                holders[seen[private[x]]] += 1
    for q in range(len(common)):
        holders[q + 1] += holders[q]
    who, free = np.empty(holders[len(common)], np.int64), holders[:-1].copy()
    for i in range(len(rows)):
        for x in range(private_starts[rows[i]], private_starts[rows[i] + 1]):
            q = seen[private[x]] - 1
            if q >= 0:
                who[free[q]] = i
                free[q] += 1
    for q in range(len(common)):
        seen[common[q]] = 0
    times = np.zeros(len(tops), np.int64)
    for q in range(len(common)):
        for i in who[holders[q] : holders[q + 1]]:
            for y in range(stands[i] + 1, starts[rows[i] + 1]):
                times[items[y]] += 1
        for i in who[holders[q] : holders[q + 1]]:
            for y in range(stands[i] + 1, starts[rows[i] + 1]):
                tops[items[y]] = max(tops[items[y]], times[items[y]])
                times[items[y]] = 0


@compiled
def from_item(
    a, k, p, over, under, starts, items, begins, rows, private_starts, private,
    next_to, neighbours, near, whole, local, seen, arena, ints, out, state, limit,
):  # fmt: skip
    """All moles of three or more items whose rarest is a, all of whose subsets are large enough.

    `neighbours[next_to[a] : next_to[a + 1]]`: where in `near` the good pairs of a stand. `whole`:
    every item's bits over all transactions, or nothing, if there is no room for them.
    """
    n = begins[a + 1] - begins[a]
    hides = np.zeros(DEEPEST, np.int64)
    off = np.zeros(DEEPEST, np.int64)
    words = np.zeros(DEEPEST, np.int64)
    at = np.zeros(DEEPEST, np.int64)
    count = np.zeros(DEEPEST, np.int64)
    prefix = np.zeros(DEEPEST, np.int64)
    place = np.zeros(DEEPEST, np.int64)
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
    own = rows[begins[a] : begins[a + 1]]
    common, occur = _common_private(own, private_starts, private, k, over, under, seen)
    w, q1 = (n + 63) // 64, len(common)
    if (e + q1) * w > len(arena):
        state[2] = ARENA
        return
    if 4 * e + q1 + e * e > len(ints):
        state[2] = INTS
        return
    order = rising(near[some[:e] + 2])
    for q in range(e):
        pair = some[order[q]]
        ints[q], ints[e + q] = near[pair + 1], near[pair + 2]
        ints[2 * e + q], ints[3 * e + q] = near[pair + 1], near[pair + 3]
        local[near[pair + 1]] = q
    # Which two of them are a good pair: a table behind everything else of this level.
    good = 4 * e + q1
    for q in range(q1):
        ints[4 * e + q] = occur[q]
    ints[good : good + e * e] = 0
    for q in range(e):
        for x in range(next_to[ints[q]], next_to[ints[q] + 1]):
            other = local[near[neighbours[x] + 1]]
            if other >= 0:
                ints[good + q * e + other] = ints[good + other * e + q] = 1
    for q in range(q1):
        seen[common[q]] = e + q
    arena[: (e + q1) * w] = 0
    for z in range(n):
        bit = ONE << np.uint64(z & 63)
        for x in range(starts[own[z]], starts[own[z] + 1]):
            q = local[items[x]]
            if q >= 0:
                arena[q * w + (z >> 6)] |= bit
        for x in range(private_starts[own[z]], private_starts[own[z] + 1] if q1 else 0):
            q = seen[private[x]]
            if q:
                arena[q * w + (z >> 6)] |= bit
    for q in range(e):
        local[ints[q]] = -1
    for q in range(q1):
        seen[common[q]] = 0
    count[1], words[1], off[1], at[1], hides[1] = e, w, 0, 0, q1
    at[2] = good + e * e
    for q in range(e):
        ints[2 * e + q] = ints[q]  # level 0 counts items as they are numbered
    _dive(
        k, p, over, under, n, prefix, place, arena, off, words, ints, at, count, hides,
        good, e, whole, begins, rows, out, state, limit,
    )  # fmt: skip


@inner
def _common_private(rows, private_starts, private, k, over, under, seen):
    """Private items that occur more than h k times in some transactions, and how often."""
    room = 0
    if under > over:
        for row in rows:
            room += private_starts[row + 1] - private_starts[row]
    met, found = np.empty(room, np.int64), 0
    for row in rows[: len(rows) if room else 0]:
        for x in range(private_starts[row], private_starts[row + 1]):
            if seen[private[x]] == 0:
                met[found] = private[x]
                found += 1
            seen[private[x]] += 1
    kept = 0
    counts = np.empty(found, np.int64)
    for i in range(found):
        times, s = seen[met[i]], met[i]
        seen[s] = 0
        if times * under > over * k:
            met[kept], counts[kept] = s, times
            kept += 1
    order = rising(-counts[:kept])
    return met[:kept][order], counts[:kept][order]


@inner
def _dive(
    k, p, over, under, n, prefix, place, arena, off, words, ints, at, count, hides,
    good, wide, whole, begins, all_rows, out, state, limit,
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
        if state[3] > limit:
            state[2] = SPENT
            return
        child = at[d + 1]
        if child + 8 * e + 2 * hides[d] > len(ints):
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
            state[3] += ws + 8
            if c in (0, support, other):
                continue
            most = min(top, ints[io + 3 * e + jj], c)
            mole = c < k
            if not mole and under > over and most * under > over * c:
                most, looked = most_private(
                    arena, base + ii * ws, base + jj * ws, ws, base + e * ws, ints, io + 4 * e,
                    hides[d], c, most, over, under,
                )  # fmt: skip
                state[3] += looked
                mole = most * under > over * c
            if mole:
                place[d] = ii
                state[3] += d * words[1] + whole.shape[1] if d > 1 else 0
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
        order = rising(supports)
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
        # Private items that still matter, the commonest first, with their places among those here.
        own, hidden = child + 4 * kept, 0
        for q in range(hides[d]):
            c = in_both(arena, base + ii * ws, base + (e + q) * ws, ws)
            state[3] += ws
            if c * under > over * k:
                to = hidden
                while to > 0 and ints[own + to - 1] < c:
                    ints[own + to] = ints[own + to - 1]
                    ints[own + hides[d] + to] = ints[own + hides[d] + to - 1]
                    to -= 1
                ints[own + to], ints[own + hides[d] + to] = c, e + q
                hidden += 1
        count[d + 1], hides[d + 1], at[d + 2] = kept, hidden, own + hidden
        o2, nw = base + (e + hides[d]) * ws, (support + 63) // 64
        off[d + 1] = o2
        narrow = 4 * nw < 3 * ws
        w2 = nw if narrow else ws
        moves = o2 + (kept + hidden) * w2
        if moves + (6 * ws if narrow else 0) > len(arena):
            state[2] = ARENA
            return
        words[d + 1] = w2
        if narrow:  # only the transactions of X and i
            for w in range(ws):
                _moves(arena, base + ii * ws + w, moves + 6 * w)
        for q in range(kept + hidden):
            row = ints[child + 2 * kept + q] if q < kept else ints[own + hides[d] + q - kept]
            source, target = base + row * ws, o2 + q * w2
            if narrow:
                _squeeze(arena, source, base + ii * ws, ws, moves, target, nw)
            else:
                of_set, whole_row = (
                    arena[base + ii * ws : base + (ii + 1) * ws],
                    arena[source : source + ws],
                )
                narrowed = arena[target : target + ws]
                for w in range(ws):
                    narrowed[w] = whole_row[w] & of_set[w]
        if under > over:
            hides[d + 1] = _still_common(
                arena, o2, w2, ints, child, kept, hidden, support, least, r, over, under
            )
            state[3] += hidden * kept * w2
            at[d + 2] = own + hides[d + 1]
            if least >= k and hides[d + 1] == 0:
                continue
        prefix[d], place[d] = i, ii
        d += 1
        next_[d], sizes[d] = 0, support


@inner
def _still_common(arena, base, words, ints, at, count, hides, n, least, r, over, under):
    """Leave out private items that no r more items can make too common; how many stay.

    Those without private item s must become too few for those with it. An item takes as many of
    them away as do not hold it; it cannot help that it takes some of the others, too.
    """
    stay = 0
    losses = np.empty(count, np.int64)
    for q in range(hides):
        c = ints[at + 4 * count + q]
        row = base + (count + q) * words
        safe = c * under <= over * least
        if not safe:
            for j in range(count):
                among = in_both(arena, row, base + j * words, words)
                losses[j] = (n - ints[at + count + j]) - (c - among)
            without = n - c
            if r < count:
                for j in rising(losses)[count - r :]:
                    without -= losses[j]
            else:
                without -= losses.sum()
            safe = c * (under - over) <= over * without
        if not safe:
            ints[at + 4 * count + stay] = c
            to = base + (count + stay) * words
            for w in range(words if to < row else 0):
                arena[to + w] = arena[row + w]
            stay += 1
    top = ints[at + 4 * count] if stay else np.int64(0)  # the commonest is the first
    for j in range(count):
        ints[at + 3 * count + j] = min(ints[at + 3 * count + j], top)
    return stay


@inner
def _moves(arena, mask, to):
    """How bits must move to stand side by side where only those under a mask are kept.

    Six masks: which bits move by 1, by 2, by 4, … places. (Parallel suffix: each bit moves by the
    number of zeros below it, one binary digit of it at a time.)
    """
    left = arena[mask]
    zeros = ~left << ONE
    for step in range(6):
        odd = zeros
        for by in range(6):
            odd ^= odd << np.uint64(1 << by)
        moving = odd & left
        arena[to + step] = moving
        left = (left ^ moving) | (moving >> np.uint64(1 << step))
        zeros &= ~odd


@inner
def _squeeze(arena, source, mask, words, moves, target, narrow):
    """A row without the bits outside a mask, these closed up: 0.5 ns a bit became 0.05."""
    arena[target : target + narrow] = 0
    at = np.int64(0)
    for w in range(words):
        held = arena[mask + w]
        if held == 0:
            continue
        word = arena[source + w] & held
        for step in range(6):
            moving = word & arena[moves + 6 * w + step]
            word = (word ^ moving) | (moving >> np.uint64(1 << step))
        to, shift = target + (at >> 6), np.uint64(at & 63)
        arena[to] |= word << shift
        at += ones(held)
        if shift and target + ((at - 1) >> 6) > to:
            arena[to + 1] |= word >> (np.uint64(64) - shift)


@inner
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
            found += ones(word)
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
            found += ones(word)
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
