"""The inner loops behind recounting transactions where they are dense: depth first over bits.

One search answers both questions about the sets of items that somebody may know. Transactions
stand in two parts: *inside* are those that hold one private item, *outside* are all others. A set
with s transactions inside and n outside breaks the promise if ``a·n < b + c·s``:

support      a, b, c = 1, k, 0            nothing is inside; a set must be in one transaction
confidence   a, b, c = over, 0, under - over, where h = over/under

What keeps the search small:

1. A smallest breaking set loses transactions outside with each of its items, or it would break
   without that item. An item that loses none is of no interest further down.
2. r more items lose at most the sum of the r largest losses. Items are tried by falling loss, and
   each only with those after it, so what is left soon cannot break anything.
3. Nothing breaks a confidence with fewer than `least` transactions inside.
4. The floor of an inside transaction is how many outside hold all that it holds. Whatever breaks
   with m inside has a floor below c·m/a in each of them, so the others can be left out; which
   makes m smaller, and so on.
5. Among sets of any size, an item that all inside transactions share can only help: it is added at
   once. If it was tried before, whatever breaks would have been found then.

A bit is a row: equal transactions, with a weight. An item is a line of words: `ws` of rows inside,
then `wn` of rows outside. Weights are written across planes: bit i of the p-th plane of a word
says whether the weight of row i of that word has the bit 2^p. A sum of weights is then a few
counts of bits, and one where all weights are 1.

facts     weight and floor of each bit
spots     where in `bits` the planes of each word begin, and after them the end
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

from __future__ import annotations

import numpy as np

from reticent.compiling import grown, inner, lowest, ones

NONE, FOUND, TIRED = 0, 1, 2  # how a search can end
_ITEM, _INSIDE, _OUTSIDE, _LINE, _LOST = range(5)  # of a candidate
_PAST, _BEGIN, _END, _NEXT, _ONLY = range(5)  # of a node: its candidates
_S, _N, _WS, _WN, _COHORT, _FACTS, _SPOTS, _TOP = range(5, 13)  # and its rows
_WEIGHT, _FLOOR = 0, 1  # of a fact


@inner
def weigh(bits, line, cohort, spots, at, begin, end):
    """What those of a cohort weigh that hold an item, over some of the words."""
    total = np.int64(0)
    for word in range(begin, end):
        held = bits[line + word] & bits[cohort + word]
        if held:
            first = spots[at + word]
            for plane in range(first, spots[at + word + 1]):
                total += ones(held & bits[plane]) << (plane - first)
    return total


@inner
def set_bits(bits, begin, words):
    """How many bits are set in so many words."""
    count = np.int64(0)
    for word in range(begin, begin + words):
        count += ones(bits[word])
    return count


@inner
def all_hold(bits, line, cohort, words):
    """Whether all of a cohort hold an item, as far as the first words go."""
    word = 0
    while word < words and not bits[cohort + word] & ~bits[line + word]:
        word += 1
    return word == words


@inner
def trim(bits, cohort, words, facts, at, a, c, least, most):
    """Leave out inside rows whose floor is too high; return what is left, 0 for less than `least`.

    `most` is what all of them weigh.
    """
    while True:
        kept = np.int64(0)
        for word in range(words):
            rest = bits[cohort + word]
            while rest:
                fact = facts[at + 64 * word + lowest(rest)]
                if a * fact[_FLOOR] < c * most:
                    kept += fact[_WEIGHT]
                else:
                    bits[cohort + word] ^= rest & (~rest + np.uint64(1))
                rest &= rest - np.uint64(1)
        if kept == most or kept < least:
            return kept if kept >= least else np.int64(0)
        most = kept


@inner
def positions(bits, cohort, begin, end, into):
    """Write down which bits of a cohort are set; return how many."""
    count = 0
    for word in range(begin, end):
        rest = bits[cohort + word]
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


@inner
def fill(bits, at, count):
    """Set so many bits; return where their words end."""
    for first in range(0, count, 64):
        bits[at] = ~np.uint64(0) >> np.uint64(64 - min(64, count - first))
        at += 1
    return at


@inner
def lay_planes(bits, top, facts, at, count, spots, spot):
    """Write the planes of a part; return the bits, and where the planes end."""
    for first in range(0, count, 64):
        last = min(first + 64, count)
        heaviest = np.int64(0)
        for i in range(first, last):
            heaviest = max(heaviest, facts[at + i, _WEIGHT])
        spots[spot + first // 64] = top
        plane = 0
        while heaviest >> plane:
            bits = grown(bits, top + 1)
            bits[top] = 0
            for i in range(first, last):
                bit = np.uint64((facts[at + i, _WEIGHT] >> plane) & 1)
                bits[top] |= bit << np.uint64(i - first)
            top += 1
            plane += 1
    spots[spot + (count + 63) // 64] = top
    return bits, top


@inner
def in_order(candidates, node, closing):
    """Sort candidates by falling loss; few are ever out of place.

    `closing`: an item that all inside share comes first, and is the only one to try.
    """
    begin, end = node[_BEGIN], node[_END]
    for i in range(begin + 1, end):
        move(candidates, i, begin, False)
    node[_ONLY] = 0
    if closing:
        for i in range(begin, end):
            if candidates[i, _INSIDE] == node[_S]:
                move(candidates, i, begin, True)
                node[_ONLY] = 1
                break
    lost = np.int64(0)
    for i in range(begin, end):
        candidates[i, _LOST] = lost
        lost += node[_N] - candidates[i, _OUTSIDE]


@inner
def move(candidates, i, begin, first):
    """Move a candidate up to its place, or to the first."""
    item, inside = candidates[i, _ITEM], candidates[i, _INSIDE]
    outside, line = candidates[i, _OUTSIDE], candidates[i, _LINE]
    while i > begin and (first or candidates[i - 1, _OUTSIDE] > outside):
        for field in range(_LOST):
            candidates[i, field] = candidates[i - 1, field]
        i -= 1
    put(candidates[i], item, inside, outside, line)


@inner
def put(candidate, item, inside, outside, line):
    """Write a candidate down."""
    candidate[_ITEM], candidate[_INSIDE] = item, inside
    candidate[_OUTSIDE], candidate[_LINE] = outside, line


@inner
def losses(candidates, node, first, count):
    """What so many candidates of a node from the first on lose together, at most."""
    last = min(first + count, node[_END]) - 1
    if last < first:
        return np.int64(0)
    lost = candidates[last, _LOST] + node[_N] - candidates[last, _OUTSIDE]
    return lost - candidates[first, _LOST]


@inner
def narrow(bits, facts, spots, candidates, node, chosen, rows_in, rows_out):
    """Keep of all lines below a node only the bits of its cohort; return what may have grown."""
    ws, wn, top, cohort = node[_WS], node[_WN], node[_TOP], node[_COHORT]
    positions(bits, cohort, 0, ws, chosen)
    positions(bits, cohort, ws, ws + wn, chosen[rows_in:])
    total = rows_in + rows_out
    old, fresh = node[_FACTS], node[_FACTS] + 64 * (ws + wn)
    node[_FACTS], node[_SPOTS] = fresh, node[_SPOTS] + ws + wn + 1
    node[_WS], node[_WN] = (rows_in + 63) // 64, (rows_out + 63) // 64
    words = node[_WS] + node[_WN]
    facts = grown(facts, fresh + 64 * words)
    for i in range(total):
        at = fresh + i if i < rows_in else fresh + 64 * node[_WS] + i - rows_in
        for field in range(2):
            facts[at, field] = facts[old + chosen[i], field]
    bits = grown(bits, top + words * (node[_END] - node[_PAST] + 1))
    for i in range(node[_PAST], node[_END]):
        middle = squeeze(bits, candidates[i, _LINE], chosen[:rows_in], top)
        if i >= node[_BEGIN]:  # of what was tried before, only the inside is looked at
            squeeze(bits, candidates[i, _LINE], chosen[rows_in:total], middle)
        candidates[i, _LINE] = top
        top += words
    bits, spots = settle(bits, facts, spots, node, top, rows_in, rows_out)
    return bits, facts, spots


@inner
def settle(bits, facts, spots, node, top, rows_in, rows_out):
    """Let a node's cohort be all rows of its own lines, which end at `top`; write their planes."""
    ws, spot = node[_WS], node[_SPOTS]
    node[_COHORT] = top
    bits = grown(bits, top + ws + node[_WN])
    top = fill(bits, fill(bits, top, rows_in), rows_out)
    spots = grown(spots, spot + ws + node[_WN] + 1)
    bits, top = lay_planes(bits, top, facts, node[_FACTS], rows_in, spots, spot)
    at = node[_FACTS] + 64 * ws
    bits, node[_TOP] = lay_planes(bits, top, facts, at, rows_out, spots, spot + ws)
    return bits, spots


@inner
def carry(bits, spots, candidates, node, j, cohort, least, end):
    """Hand down what was tried before a candidate; -1 if all inside share one of these items."""
    for i in range(node[_PAST], j):
        line = candidates[i, _LINE]
        if all_hold(bits, line, cohort, node[_WS]):
            return -1
        if weigh(bits, line, cohort, spots, node[_SPOTS], np.int64(0), node[_WS]) >= least:
            put(candidates[end], candidates[i, _ITEM], np.int64(0), np.int64(0), line)
            end += 1
    return end


@inner
def candidates_of_all(bits, spots, count, node, rule, least, candidates):
    """Weigh every item; return one that breaks the promise alone, or -1."""
    a, b, c = rule
    ws, words, zero = node[_WS], node[_WS] + node[_WN], np.int64(0)
    cohort, present = node[_COHORT], 1 if least == 0 else 0
    node[_S] = weigh(bits, cohort, cohort, spots, zero, zero, ws)
    node[_N] = weigh(bits, cohort, cohort, spots, zero, ws, words)
    for item in range(count):
        s = weigh(bits, item * words, cohort, spots, zero, zero, ws)
        n = weigh(bits, item * words, cohort, spots, zero, ws, words)
        if s < least or n < present or n == node[_N]:
            continue
        if a * n < b + c * s:
            return item
        put(candidates[node[_END]], item, s, n, item * words)
        node[_END] += 1
    return -1


@inner
def candidates_below(bits, spots, candidates, node, j, left, child, rule, least):
    """Weigh what can be added to the j-th candidate's set; return an item that breaks it, or -1.

    `child` is its node, and so far knows its cohort, what that weighs, and where to begin.
    """
    a, b, c = rule
    ws, words, zero = node[_WS], node[_WS] + node[_WN], np.int64(0)
    spot, cohort, present = node[_SPOTS], child[_COHORT], 1 if least == 0 else 0
    reach = child[_N] - losses(candidates, node, j + 1, left - 2)
    end = child[_BEGIN]
    for i in range(j + 1, node[_END]):
        if a * (reach - node[_N] + candidates[i, _OUTSIDE]) >= b + c * child[_S]:
            break  # neither with this one nor with those that lose less
        line = candidates[i, _LINE]
        s = weigh(bits, line, cohort, spots, spot, zero, ws)
        if s < least:
            continue
        n = weigh(bits, line, cohort, spots, spot, ws, words)
        if n < present or n == child[_N]:
            continue
        if a * n < b + c * s:
            return candidates[i, _ITEM]
        put(candidates[end], candidates[i, _ITEM], s, n, line)
        end += 1
    child[_END] = end
    return -1


@inner
def search_bits(bits, count, facts, rows, rule, least, most, floored, closing, budget, out):
    """Look for a breaking set of at most `most` of `count` items; write it to `out`.

    `rows`: how many bits are inside and outside. `rule` is (a, b, c). A set is looked at if at
    least `least` inside hold it, or, if `least` is 0, at least one outside. `floored`: floors are
    known. `closing`: sets of any size are asked for. Returns how it ended, how many items were
    written, and the work done, in words.
    """
    a, b, c = rule
    nodes = np.zeros((min(most, count) + 2, 13), np.int64)
    node = nodes[0]
    node[_WS], node[_WN] = (rows[0] + 63) // 64, (rows[1] + 63) // 64
    words = node[_WS] + node[_WN]
    candidates, chosen = np.empty((4 * count + 4, 5), np.int64), np.empty(64 * words, np.int64)
    spots = np.empty(words + 1, np.int64)
    bits, spots = settle(bits, facts, spots, node, count * words, rows[0], rows[1])
    work = np.int64(count * words)
    out[0] = candidates_of_all(bits, spots, count, node, rule, least, candidates)
    if out[0] >= 0:
        return FOUND, 1, work
    in_order(candidates, node, closing)

    depth = 0
    while depth >= 0:
        node, child = nodes[depth], nodes[depth + 1]
        j, left = node[_NEXT], most - depth
        if left < 2 or j >= node[_END] - 1 or (node[_ONLY] and j > node[_BEGIN]):
            depth -= 1
            continue
        node[_NEXT] = j + 1
        out[depth] = candidates[j, _ITEM]
        child[_S], child[_N] = candidates[j, _INSIDE], candidates[j, _OUTSIDE]
        if a * (node[_N] - losses(candidates, node, j, left)) >= b + c * child[_S]:
            if c == 0:  # what follows loses even less
                depth -= 1
            continue

        child[_WS], child[_WN] = ws, wn = node[_WS], node[_WN]
        child[_FACTS], child[_SPOTS] = node[_FACTS], node[_SPOTS]
        child[_COHORT] = cohort = node[_TOP]
        child[_TOP] = cohort + ws + wn
        bits = grown(bits, child[_TOP])
        for word in range(ws + wn):
            bits[cohort + word] = bits[candidates[j, _LINE] + word] & bits[node[_COHORT] + word]
        if floored:
            child[_S] = trim(bits, cohort, ws, facts, node[_FACTS], a, c, least, child[_S])
            if child[_S] == 0:
                continue
        candidates = grown(candidates, node[_END] + node[_END] - node[_PAST])
        child[_PAST] = child[_BEGIN] = node[_END]
        if closing:
            work += (j - node[_PAST]) * ws
            child[_BEGIN] = carry(bits, spots, candidates, node, j, cohort, least, node[_END])
            if child[_BEGIN] < 0:
                continue
        found = candidates_below(bits, spots, candidates, node, j, left, child, rule, least)
        work += (node[_END] - j) * (ws + wn)
        if found >= 0:
            out[depth + 1] = found
            return FOUND, depth + 2, work
        if work > budget:
            return TIRED, 0, work
        if left < 3 or child[_END] - child[_BEGIN] < 2:
            continue  # its sets are all counted
        child[_NEXT] = child[_BEGIN]
        in_order(candidates, child, closing)
        inside, outside = set_bits(bits, cohort, ws), set_bits(bits, cohort + ws, wn)
        if 2 * ((inside + 63) // 64 + (outside + 63) // 64) <= ws + wn:
            work += (inside + outside) * (child[_END] - child[_BEGIN])
            bits, facts, spots = narrow(
                bits, facts, spots, candidates, child, chosen, inside, outside
            )
        depth += 1
    return NONE, 0, work
