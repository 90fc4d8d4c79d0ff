"""The loops of `graph`: nodes, the records that stand at them, and which node comes next.

Nodes stand in a heap by the unsafe rules below them. What a node is worth may fall behind the
heap's back, and is set right when it comes to the top; what it gains is set right at once. A record
that moves leaves its old places in the lists, under an old version of itself.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reticent.compiling import compiled, grown, inner, ones
from reticent.suppress.entries.fitting import known, rooms, walk

Int = NDArray[np.int32]
NODES, PLACES, LINKS, HEAP = range(4)  # what `used` counts


class NodePlaces(NamedTuple):
    """Nodes, lists of the records at each, and lists of the nodes above each rule."""

    cells: Int  # by node: a row of codes, -1 where it says nothing
    values: Int
    masks: NDArray[np.int64]  # bits of its columns
    gains: Int  # unsafe rules below it
    was: Int  # the same, as the heap knows it
    heads: Int  # its first place, or -1
    spots: Int  # where in the heap it stands, or -1
    heap: Int
    slots: Int  # nodes by what they say, or -1
    records: Int  # by place: who stands there
    versions: Int  # by place: as which version
    later: Int  # by place: the next of that node, or -1
    links: Int  # by link: a node
    next: Int  # by link: the next of that rule, or -1
    above: Int  # by rule: its first link, or -1
    seen: NDArray[np.bool_]  # by rule: whether it counts as unsafe in the gains
    version: Int  # by record: the one that is true
    used: NDArray[np.int64]


def places(width: int, unsafe: NDArray[np.bool_], records: int) -> NodePlaces:
    """No node yet."""
    none, few = np.full(1 << 8, -1, np.int32), np.zeros(1 << 8, np.int32)
    return NodePlaces(
        np.zeros((1 << 8, width), np.int32), few, np.zeros(1 << 8, np.int64), few.copy(),
        few.copy(), none, none.copy(), few.copy(), np.full(1 << 10, -1, np.int32), few.copy(),
        few.copy(), none.copy(), few.copy(), none.copy(), np.full(len(unsafe), -1, np.int32),
        unsafe.copy(), np.zeros(records, np.int32), np.zeros(4, np.int64),
    )  # fmt: skip


def larger(old: NodePlaces) -> NodePlaces:
    """The same with at least twice the room for whatever has little left."""
    nodes, count, links, _ = old.used.tolist()
    by_node = ("cells", "values", "masks", "gains", "was", "heads", "spots", "heap")
    by_place, by_link = ("records", "versions", "later"), ("links", "next")
    new: dict[str, NDArray[Any]] = {}
    # A node may have as many links as there are rules.
    least = len(old.above)
    for names, used, more in ((by_node, nodes, 1), (by_place, count, 1), (by_link, links, least)):
        size = len(getattr(old, names[0]))
        if size - used < max(size // 2, more):
            for name in names:
                array = getattr(old, name)
                room = np.full((size + more, *array.shape[1:]), -1, array.dtype)
                new[name] = np.concatenate([array, room])
    found = old._replace(**new)
    if 4 * nodes > len(old.slots):
        found = found._replace(slots=np.full(4 * len(old.slots), -1, np.int32))
        _enter_all(found)
    return found


# --- nodes ---------------------------------------------------------------------------------------


@inner
def _slot(found, value, mask, row):
    """Where the node stands that says so, or would stand."""
    last = len(found.slots) - 1
    mixed = np.uint64(mask) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(value)
    for j in range(len(row)):
        if mask >> j & 1:
            mixed = (mixed ^ np.uint64(row[j])) * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64(mixed >> np.uint64(32)) & last
    while found.slots[slot] >= 0:
        node = found.slots[slot]
        if found.masks[node] == mask and found.values[node] == value:
            same = True
            for j in range(len(row)):
                same &= not mask >> j & 1 or found.cells[node, j] == row[j]
            if same:
                break
        slot = slot + 1 & last
    return slot


@compiled
def _enter_all(found):
    for node in range(found.used[NODES]):
        slot = _slot(found, found.values[node], found.masks[node], found.cells[node])
        found.slots[slot] = node


@inner
def _before(found, a, b):
    """Whether node a comes before node b: rules, then columns, then their order, then age."""
    if found.was[a] != found.was[b]:
        return found.was[a] > found.was[b]
    one, two = found.masks[a], found.masks[b]
    if one == two:
        return a < b
    if ones(one) != ones(two):
        return ones(one) > ones(two)
    first = (one ^ two) & -(one ^ two)
    return one & first != 0


@inner
def _set(found, spot, node):
    found.heap[spot] = node
    found.spots[node] = spot


@inner
def _sink(found, spot):
    node, size = found.heap[spot], found.used[HEAP]
    while 2 * spot + 1 < size:
        child = 2 * spot + 1
        if child + 1 < size and _before(found, found.heap[child + 1], found.heap[child]):
            child += 1
        if not _before(found, found.heap[child], node):
            break
        _set(found, spot, found.heap[child])
        spot = child
    _set(found, spot, node)


@inner
def _rise(found, spot):
    node = found.heap[spot]
    while spot > 0 and _before(found, node, found.heap[(spot - 1) // 2]):
        _set(found, spot, found.heap[(spot - 1) // 2])
        spot = (spot - 1) // 2
    _set(found, spot, node)


@inner
def _offer(found, node):
    """Let a node take its place in the heap, be it new there, or better or worse than it was."""
    found.was[node] = found.gains[node]
    if found.spots[node] < 0:
        _set(found, found.used[HEAP], node)
        found.used[HEAP] += 1
    _rise(found, found.spots[node])
    _sink(found, found.spots[node])


@compiled
def leave_out(found, node):
    """Take a node from the heap until something changes there."""
    found.used[HEAP] -= 1
    spot, last = found.spots[node], found.heap[found.used[HEAP]]
    found.spots[node] = -1
    if last != node:
        _set(found, spot, last)
        _sink(found, spot)
        _rise(found, found.spots[last])


@compiled
def first(found):
    """The node with most unsafe rules below it, or -1."""
    while found.used[HEAP] > 0:
        node = found.heap[0]
        if found.gains[node] == 0:
            leave_out(found, node)
        elif found.was[node] != found.gains[node]:
            found.was[node] = found.gains[node]
            _sink(found, 0)
        else:
            return np.int64(node)
    return np.int64(-1)


@compiled
def is_top(found, node, others):
    """Whether a node stands below none of some others."""
    mask, value = found.masks[node], found.values[node]
    for other in others:
        if found.values[other] == value and found.masks[other] & mask == mask and other != node:
            below = True
            for j in range(found.cells.shape[1]):
                below &= not mask >> j & 1 or found.cells[other, j] == found.cells[node, j]
            if below:
                return False
    return True


# --- records -------------------------------------------------------------------------------------


@inner
def _likest(row, people, best):
    """The largest sets of columns in which a row is like somebody; how many, first in `best`."""
    kept = 0
    for t in range(len(people)):
        mask = np.int64(0)
        for j in range(len(row)):
            if people[t, j] >= 0 and people[t, j] == row[j]:
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
    return kept


@compiled
def join(found, tree, rules, conditions, values, people, starts, records, at, part):
    """Let records stand where they belong, from record `at` and its node `part` on.

    `people[starts[s] : starts[s + 1]]`: those with the value s. Returns where it stopped for want
    of room, or the number of records and 0.
    """
    stack, fits = rooms(rules, conditions[0])
    best = np.empty(len(people), np.int64)
    while at < len(records):
        record = records[at]
        row, value = conditions[record], values[record]
        if part == 0:
            found.version[record] += 1
        stands = walk(tree, value, row, stack, fits) if known(tree, value) else 0
        count = _likest(row, people[starts[value] : starts[value + 1]], best) if stands else 0
        while part < count:
            if found.used[PLACES] == len(found.records):
                return at, part
            slot = _slot(found, value, best[part], row)
            if found.slots[slot] < 0 and not _enter(
                found, tree, value, best[part], row, slot, stack, fits
            ):
                return at, part
            node, place = found.slots[slot], found.used[PLACES]
            found.records[place], found.versions[place] = record, found.version[record]
            found.later[place], found.heads[node] = found.heads[node], place
            found.used[PLACES] += 1
            if found.spots[node] < 0 and found.gains[node] > 0:
                _offer(found, node)
            part += 1
        at += 1
        part = 0
    return at, part


@inner
def _enter(found, tree, value, mask, row, slot, stack, fits):
    """Make a node, if there is room for it."""
    node, link = found.used[NODES], found.used[LINKS]
    if node == len(found.values) or 2 * node >= len(found.slots):
        return False
    for j in range(len(row)):
        found.cells[node, j] = row[j] if mask >> j & 1 else -1
    count = walk(tree, value, found.cells[node], stack, fits)
    if link + count > len(found.links):
        return False
    found.values[node], found.masks[node], found.gains[node] = value, mask, 0
    found.heads[node], found.spots[node], found.slots[slot] = -1, -1, node
    for x in range(count):
        found.links[link], found.next[link] = node, found.above[fits[x]]
        found.above[fits[x]] = link
        link += 1
        found.gains[node] += found.seen[fits[x]]
    found.used[NODES], found.used[LINKS] = node + 1, link
    return True


@compiled
def heard(found, changed, unsafe):
    """Count anew at all nodes above rules that changed."""
    for rule in changed:
        if found.seen[rule] == unsafe[rule]:
            continue
        found.seen[rule] = unsafe[rule]
        link = found.above[rule]
        while link >= 0:
            node = found.links[link]
            found.gains[node] += 1 if unsafe[rule] else -1
            # One that was left out may be of use again, if somebody stands there; one that got
            # worse is seen to in time.
            useful = found.gains[node] > 0 and found.heads[node] >= 0
            if useful and (found.spots[node] < 0 or unsafe[rule]):
                _offer(found, node)
            link = found.next[link]


@inner
def _standing(found, node, closed, column):
    """The records at a node whose entry may be hidden; places of those who moved on are dropped."""
    out, count, before, place = np.empty(1 << 6, np.int64), 0, -1, found.heads[node]
    while place >= 0:
        record, after = found.records[place], found.later[place]
        if found.versions[place] == found.version[record]:
            before = place
            if not closed[record] >> column & 1:
                out = grown(out, count + 1)
                out[count] = record
                count += 1
        elif before < 0:
            found.heads[node] = after
        else:
            found.later[before] = after
        place = after
    return out[:count]


@compiled
def step(found, tree, patterns, numbers, unsafe, limits, closed, node):
    """What to hide at a node: the column, what that is worth, of whom, and of how many; or -1."""
    least, over, under = limits
    row = found.cells[node]
    stack, fits = rooms(len(patterns), row)
    count = walk(tree, found.values[node], row, stack, fits)
    often, tried = np.zeros(len(row), np.int64), np.zeros(len(row), np.bool_)
    for x in range(count):
        if unsafe[fits[x]]:
            for j in range(len(row)):
                often[j] += patterns[fits[x], j] >= 0
    while True:
        column = -1
        for j in range(len(row)):
            if often[j] > 0 and not tried[j] and (column < 0 or often[j] > often[column]):
                column = j
        if column < 0:
            return column, 0.0, np.empty(0, np.int64), np.int64(0)
        tried[column] = True
        most, worth = np.int64(-1), 0.0
        for x in range(count):
            r = fits[x]
            if unsafe[r] and patterns[r, column] >= 0:
                all_, own = numbers[r, 0], numbers[r, 1]
                needed = -((over * all_ - own * under) // max(under - over, 1))
                needed = min(needed, own - least)
                worth += 1 / needed
                most = needed if most < 0 else min(most, needed)
        records = _standing(found, node, closed, column)
        if len(records):
            return column, worth, records, most
