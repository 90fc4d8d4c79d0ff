"""The inner loops of the search for frequent sets: a few large ones with all others inside.

Depth first, rare items first, on bitsets of transactions (Burdick and others, *MAFIA*, 2001; Gouda
and Zaki, *GenMax*, 2001). A node is a set X with its *tail*, the items that may join it. Nobody
need look below if X and all of its tail lie inside a set that was found, or are frequent together,
so that they are found now. An item that all transactions of X have joins at once.

Items are numbered by ascending support. Equal transactions are one, with a weight; bits stand in
descending order of weight, and one digit of all weights is a *plane*, so that high planes are
short. On Connect, 41 items at 40 %, 67,557 transactions become 6,598.

The search goes on among *members*: the rarest item of all sets to come is number 0, then those that
may join it. A place is where in `arena` the bits of a member's transactions begin.

    known  for each member, which of the sets found so far hold it, one bit a set
    where  for each level, which words of that have sets that hold all of X,
    which  and the bits of those sets
    limits for each level, how many words of each plane are to be looked at

Sets that were found need not be maximal if there is a largest size; every frequent set of at most
that size is then inside one.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

from __future__ import annotations

import numpy as np

from reticent.compiling import compiled, grown, inner, lowest, ones
from reticent.suppress.sets import rising

ONE = np.uint64(1)
# Of each level: where its places begin, how many words each has, where its planes begin, how many
# words of these are to be looked at; where its tail begins, how long it is, which of it comes next;
# how many members X has, and in how many words the sets are that hold it.
PLACES, WORDS, PLANES, LOOKED, TAIL, LENGTH, NEXT, SIZE, HOLDING = range(9)


@inner
def positions(bits, line, begin, end, into):
    """Write down which bits of a line are set, from one of its words to another; how many."""
    count = 0
    for word in range(begin, end):
        rest = bits[line + word]
        while rest:
            into[count] = 64 * word + lowest(rest)
            count += 1
            rest &= rest - np.uint64(1)
    return count


@inner
def squeeze(bits, line, chosen, into):
    """Copy chosen bits of a line side by side; return where the copy ends."""
    for first in range(0, len(chosen), 64):
        word = np.uint64(0)
        for i in range(first, min(first + 64, len(chosen))):
            at = chosen[i]
            bit = (bits[line + (at >> 6)] >> np.uint64(at & 63)) & np.uint64(1)
            word |= bit << np.uint64(i - first)
        bits[into] = word
        into += 1
    return into


@compiled
def merged(starts, items, order):
    """Rows, of which equal ones stand together in `order`, as different rows and their weights."""
    weights = np.zeros(len(order), np.int64)
    begins = np.zeros(len(order) + 1, np.int64)
    cells = np.empty(len(items), np.int32)
    count = 0
    for row in order:
        size = starts[row + 1] - starts[row]
        same = count > 0 and begins[count] - begins[count - 1] == size
        for x in range(size):
            same = same and cells[begins[count - 1] + x] == items[starts[row] + x]
        if not same:
            for x in range(size):
                cells[begins[count] + x] = items[starts[row] + x]
            begins[count + 1] = begins[count] + size
            count += 1
        weights[count - 1] += 1
    return begins[: count + 1].copy(), cells[: begins[count]].copy(), weights[:count].copy()


@compiled
def maximal(starts, items, weights, begins, rows, stands, least, longest, most):
    """Sets with all frequent sets of at most `longest` items inside; every item is frequent.

    `rows[begins[a] : begins[a + 1]]`: the transactions of item a, `stands`: where among all items
    it stands there. Also the work done: if more than `most`, the search was given up.
    """
    count = len(begins) - 1
    cells, ends, sets, used = np.empty(1 << 10, np.int32), np.zeros(1 << 8, np.int64), 0, 0
    holder = np.empty(1 << 10, np.int64)  # by cell: its set,
    before = np.empty(1 << 10, np.int64)  # and the cell of the same item in an earlier set
    last = np.full(count, -1, np.int64)
    local, shared = np.full(count, -1, np.int64), np.zeros(count, np.int64)
    size, work = 0, np.int64(0)
    for row in range(len(weights)):
        size = max(size, starts[row + 1] - starts[row])
    for a in range(count):
        members, supports, seen = _together(
            a, starts, items, weights, begins, rows, stands, least, shared
        )
        for m in range(len(members)):
            local[members[m]] = m
        known, held, told = _known(a, len(members), cells, ends, holder, before, last, local)
        arena, planes = _bits(a, len(members), starts, items, weights, begins, rows, stands, local)
        for m in members:
            local[m] = -1
        found, length, spent = _dive(
            arena, planes, supports, known, held, least, longest, size + 2, most - work
        )
        work += spent + (seen + told >> 3)
        if work > most:
            break
        cells, holder = grown(cells, used + length), grown(holder, used + length)
        before, ends = grown(before, used + length), grown(ends, sets + 1 + length)
        x = 0
        while x < length:
            for y in range(x + 1, x + 1 + found[x]):
                item = members[found[y]]
                cells[used], holder[used], before[used], last[item] = item, sets, last[item], used
                used += 1
            sets += 1
            ends[sets] = used
            x += 1 + found[x]
    return ends[: sets + 1].copy(), cells[:used].copy(), work


@inner
def _wider(rows):
    """The same cells, with room for twice as many in each row."""
    found = np.zeros((rows.shape[0], 2 * rows.shape[1]), rows.dtype)
    for x in range(rows.shape[0]):
        for w in range(rows.shape[1]):
            found[x, w] = rows[x, w]
    return found


@inner
def _together(a, starts, items, weights, begins, rows, stands, least, shared):
    """Item a and the later ones that are frequent with it, rare ones first, and how frequent.

    Also how many cells were looked at.
    """
    own, met, seen = np.int64(0), 0, 0
    found = np.empty(len(shared), np.int64)
    for x in range(begins[a], begins[a + 1]):
        row = rows[x]
        own += weights[row]
        seen += starts[row + 1] - stands[x]
        for y in range(stands[x] + 1, starts[row + 1]):
            if shared[items[y]] == 0:
                found[met] = items[y]
                met += 1
            shared[items[y]] += weights[row]
    kept = 0
    supports = np.empty(met, np.int64)
    for x in range(met):
        item = found[x]
        if shared[item] >= least:
            found[kept], supports[kept] = item, shared[item]
            kept += 1
        shared[item] = 0
    order = rising(supports[:kept])
    members, of_members = np.empty(kept + 1, np.int64), np.empty(kept + 1, np.int64)
    members[0], of_members[0] = a, own
    for x in range(kept):
        members[x + 1], of_members[x + 1] = found[order[x]], supports[order[x]]
    return members, of_members, seen


@inner
def _known(a, members, cells, ends, holder, before, last, local):
    """Which sets with item a hold each member; how many sets these are, and how many cells."""
    held, told, cell = 0, 0, last[a]
    while cell >= 0:
        held += 1
        told += ends[holder[cell] + 1] - ends[holder[cell]]
        cell = before[cell]
    known = np.zeros((members, (held >> 6) + 1), np.uint64)
    held, cell = 0, last[a]
    while cell >= 0:
        for x in range(ends[holder[cell]], ends[holder[cell] + 1]):
            if local[cells[x]] >= 0:
                known[local[cells[x]], held >> 6] |= ONE << np.uint64(held & 63)
        held += 1
        cell = before[cell]
    return known, held, told


@inner
def _bits(a, members, starts, items, weights, begins, rows, stands, local):
    """The planes of the transactions of item a, then the members' places; how many planes."""
    n = begins[a + 1] - begins[a]
    own = np.empty(n, np.int64)
    for z in range(n):
        own[z] = -weights[rows[begins[a] + z]]
    order = rising(own)
    planes, words = 0, (n + 63) >> 6
    while -own[order[0]] >> planes:
        planes += 1
    arena = np.zeros((planes + members) * words, np.uint64)
    for z in range(n):
        x = begins[a] + order[z]
        word, bit = z >> 6, ONE << np.uint64(z & 63)
        for plane in range(planes):
            if weights[rows[x]] >> plane & 1:
                arena[plane * words + word] |= bit
        for y in range(stands[x], starts[rows[x] + 1]):
            m = local[items[y]]
            if m >= 0:
                arena[(planes + m) * words + word] |= bit
    return arena, planes


@inner
def _dive(arena, planes, supports, known, held, least, longest, deepest, most):
    """Sets with member 0, each as its size and its members; how long that is, and work done."""
    members = len(supports)
    words = len(arena) // (planes + members)
    out, used, work = np.empty(1 << 8, np.int64), 0, np.int64(0)
    tail, support = np.arange(members), supports.copy()
    chosen, place = np.empty(members, np.int64), np.empty(members, np.int64)
    levels, limits = np.zeros((deepest, 9), np.int64), np.zeros((deepest, planes), np.int64)
    levels[0, PLACES], levels[0, WORDS], levels[0, LENGTH] = planes * words, words, members
    levels[0, LOOKED] = _limits(arena, 0, words, limits[0])
    where = np.zeros((deepest, known.shape[1]), np.int64)
    which = np.zeros((deepest, known.shape[1]), np.uint64)
    for w in range(known.shape[1]):
        where[0, w], which[0, w] = w, known[0, w]
    levels[0, HOLDING] = known.shape[1]
    d = 0
    while d >= 0 and work <= most:
        here = levels[d]
        i, length, begin, end = here[NEXT], here[LENGTH], here[TAIL], here[TAIL] + here[LENGTH]
        tried = length if d else 1  # at the top only sets with member 0
        if i == tried or _in_one(where[d], which[d], here[HOLDING], known, tail, begin + i, end):
            d -= 1  # what is left of the tail is inside a set that was found
            continue
        here[NEXT] += 1
        words = here[WORDS]
        one, top = here[PLACES] + i * words, here[PLACES] + length * words
        if held + 1 > 64 * known.shape[1]:
            known, where, which = _wider(known), _wider(where), _wider(which)
        out = grown(out, used + members + 1)
        arena = grown(arena, top + (length + planes + 1) * words)
        tail, support = grown(tail, end + length), grown(support, end + length)
        count, kept = here[SIZE] + 1, 0
        chosen[count - 1] = tail[begin + i]
        inside = _narrow(
            where[d], which[d], here[HOLDING], known, tail[begin + i], where[d + 1], which[d + 1]
        )
        for x in range(i + 1, length):
            other = here[PLACES] + x * words
            found = _weight(arena, one, other, here[PLANES], words, limits[d])
            if found == support[begin + i]:  # all of them have it
                chosen[count] = tail[begin + x]
                inside = _narrow(
                    where[d + 1], which[d + 1], inside, known, chosen[count],
                    where[d + 1], which[d + 1],
                )  # fmt: skip
                count += 1
            elif found >= least and d + 1 < longest:
                place[kept], support[end + kept] = x, found
                kept += 1
        work += 1 + (length - i) * (1 + (here[LOOKED] >> 7)) + (here[HOLDING] >> 3)
        _sort(place, support[end:], kept)
        for x in range(kept):
            tail[end + x] = tail[begin + place[x]]
            place[x] = here[PLACES] + place[x] * words
        if _in_one(where[d + 1], which[d + 1], inside, known, tail, end, end + kept):
            continue
        _meet(arena, one, place[:kept], words, top)
        if _weight(arena, top, top, here[PLANES], words, limits[d]) >= least:
            out[used] = count + kept
            for x in range(count + kept):
                m = chosen[x] if x < count else tail[end + x - count]
                out[used + 1 + x] = m
                known[m, held >> 6] |= ONE << np.uint64(held & 63)
            for level in range(d + 1):
                levels[level, HOLDING] = _add(
                    where[level], which[level], levels[level, HOLDING], held
                )
            used += 1 + count + kept
            held += 1
        else:
            work += _descend(arena, one, place[:kept], top, levels, limits, d)
            d += 1
            below = levels[d]
            below[TAIL], below[LENGTH], below[NEXT] = end, kept, 0
            below[SIZE], below[HOLDING] = count, inside
    return out, used, work


@inner
def _limits(arena, planes_at, words, limits):
    """How many words of each plane are to be looked at, and of all."""
    total = 0
    for plane in range(len(limits)):
        limits[plane] = words
        while limits[plane] and not arena[planes_at + plane * words + limits[plane] - 1]:
            limits[plane] -= 1
        total += limits[plane]
    return total


@inner
def _weight(arena, one, other, planes_at, words, limits):
    """How many transactions two places share.

    (Slices, because an index that might be negative takes eight times as long here.)
    """
    found = np.int64(0)
    for plane in range(len(limits)):
        end, begin = limits[plane], planes_at + plane * words
        left, right = arena[one : one + end], arena[other : other + end]
        digit, in_plane = arena[begin : begin + end], np.int64(0)
        for w in range(end):
            in_plane += ones(left[w] & right[w] & digit[w])
        found += in_plane << plane
    return found


@inner
def _meet(arena, one, places, words, to):
    """The transactions that a place shares with all of some others."""
    met, own = arena[to : to + words], arena[one : one + words]
    for w in range(words):
        met[w] = own[w]
    for place in places:
        other = arena[place : place + words]
        for w in range(words):
            met[w] &= other[w]


@inner
def _in_one(where, which, count, known, tail, first, end):
    """Whether one of the sets holds all of a tail."""
    for y in range(count):
        left = which[y]
        for x in range(first, end):
            if not left:
                break
            left &= known[tail[x], where[y]]
        if left:
            return True
    return False


@inner
def _narrow(where, which, count, known, member, to_where, to_which):
    """Those of the sets that hold a member; in how many words they are."""
    kept = 0
    for y in range(count):
        left = which[y] & known[member, where[y]]
        if left:
            to_where[kept], to_which[kept] = where[y], left
            kept += 1
    return kept


@inner
def _add(where, which, count, held):
    """Add the newest set; in how many words they are then."""
    if count == 0 or where[count - 1] != held >> 6:
        where[count], which[count] = held >> 6, np.uint64(0)
        count += 1
    which[count - 1] |= ONE << np.uint64(held & 63)
    return count


@inner
def _sort(places, supports, count):
    """Both by ascending support; they nearly are already."""
    for x in range(1, count):
        place, support = places[x], supports[x]
        y = x
        while y and supports[y - 1] > support:
            places[y], supports[y] = places[y - 1], supports[y - 1]
            y -= 1
        places[y], supports[y] = place, support


@inner
def _descend(arena, one, places, top, levels, limits, d):
    """Lay out the level below d: these places, with the transactions of `one` only; work done."""
    here, below, words = levels[d], levels[d + 1], levels[d, WORDS]
    row_of = np.empty(64 * words, np.int64)
    rows = positions(arena, one, 0, words, row_of)
    few = (rows + 63) >> 6
    planes = limits.shape[1]
    if 4 * few >= words:
        below[PLACES], below[WORDS], below[PLANES] = top, words, here[PLANES]
        below[LOOKED] = here[LOOKED]
        for plane in range(planes):
            limits[d + 1, plane] = limits[d, plane]
        for x in range(len(places)):
            _meet(arena, one, places[x : x + 1], words, top + x * words)
        return len(places) * words >> 7
    below[PLACES], below[WORDS], below[PLANES] = top + planes * few, few, top
    for plane in range(planes):
        squeeze(arena, here[PLANES] + plane * words, row_of[:rows], top + plane * few)
    for x in range(len(places)):
        squeeze(arena, places[x], row_of[:rows], top + (planes + x) * few)
    below[LOOKED] = _limits(arena, top, few, limits[d + 1])
    return (planes + len(places)) * rows >> 4
