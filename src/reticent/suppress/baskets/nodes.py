"""The inner loops of diagrams: nodes that stand for families of sets.

A node is a row of `nodes`: an item, the family of the sets without it (`LOW`), and that of the sets
with it, which is told without it (`HIGH`). Items grow from a node to its two families, equal nodes
are made once, and none has an empty `HIGH`: that is Minato's zero-suppressed decision diagram.
Families are then equal if their numbers are, and children have smaller numbers than parents, so
that a loop over numbers is a walk up or down.

    state  0 nodes, 1 frames on the stack, 2 steps; then what goes on: 3 an operation (`DONE`: its
           answer is at hand), 4 and 5 what it is about, 6 the answer
    frame  an operation, what it is about (two numbers), which part comes next, the first answer

Answers are kept in `keys` and `values`, where many share a place: what is lost is found again.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

from __future__ import annotations

import numpy as np

from reticent.compiling import compiled, inner
from reticent.suppress.sets import common

EMPTY, UNIT = 0, 1  # no set; the empty set alone
ITEM, LOW, HIGH, FACTS = 0, 1, 2, 3  # facts: twice the size of the largest set; and 1, if {} is in
AFTER_ALL = 2**31 - 1  # the item of the two families that have none
DONE, CLOSE, UNITE, APART = 0, 1, 2, 3
STATE, FRAME, LAST = 7, 5, 3
_ODD, _MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


@inner
def _place(a, b, c, cells):
    mixed = ((np.uint64(a) * _ODD + np.uint64(b)) * _MIX + np.uint64(c)) * _ODD
    return np.int64(mixed >> np.uint64(24)) & (cells - 1)


@inner
def _make(nodes, table, state, item, low, high):
    """The node with these families; `table` has room, and its length is a power of two."""
    if high == EMPTY:
        return low
    at = _place(low, high, item, len(table))
    while table[at]:
        n = np.int64(table[at])
        if nodes[n, ITEM] == item and nodes[n, LOW] == low and nodes[n, HIGH] == high:
            return n
        at = (at + 1) & (len(table) - 1)
    n = state[0]
    state[0] += 1
    table[at] = n
    nodes[n, ITEM], nodes[n, LOW], nodes[n, HIGH] = item, low, high
    largest = max(nodes[low, FACTS] >> 1, (nodes[high, FACTS] >> 1) + 1)
    nodes[n, FACTS] = largest << 1 | nodes[low, FACTS] & 1
    return n


@compiled
def enter(nodes, count, table):
    """Fill a table that was made larger."""
    for n in range(2, count):
        at = _place(nodes[n, LOW], nodes[n, HIGH], nodes[n, ITEM], len(table))
        while table[at]:
            at = (at + 1) & (len(table) - 1)
        table[at] = n


@compiled
def remember(keys, values, to_keys, to_values):
    """Carry over what is known already."""
    for x in range(len(keys)):
        if keys[x]:
            a, b = keys[x] >> np.uint64(33), keys[x] >> np.uint64(2) & np.uint64(AFTER_ALL)
            at = _place(a, b, keys[x] & np.uint64(3), len(to_keys))
            to_keys[at], to_values[at] = keys[x], values[x]


@compiled
def enter_rows(starts, items, order, first, nodes, table, state, open_):
    """Rows as a family, from the last of their order to the first.

    What another row begins with may be left out. `open_[d]`: the family of all that comes after the
    first d items of the row at hand. Returns how many rows are done, and one more after the last of
    them; less means that there is no more room.
    """
    for done in range(first, len(order) + 1):
        row = order[len(order) - done] if done else -1
        size = starts[row + 1] - starts[row] if done else 0
        if state[0] + size + 2 > len(nodes):
            return done
        after = order[len(order) - 1 - done] if done < len(order) else -1
        shared = common(starts, items, row, after) if done and after >= 0 else 0
        for d in range(size, shared, -1):
            item = items[starts[row] + d - 1]
            open_[d - 1] = _make(nodes, table, state, item, open_[d - 1], open_[d])
            open_[d] = EMPTY
        if after >= 0:
            end = starts[after + 1] - starts[after]
            open_[end] = max(open_[end], UNIT)
    return len(order) + 1


@compiled
def run(nodes, table, keys, values, stack, state, most):
    """Go on with an operation until it is done, or room is short, or `most` steps are made.

    close(f, s)   all sets of at most s items inside a set of f
    unite(f, g)   the sets of f and those of g
    apart(f, g)   the sets of f that have no set of g inside

    (A stack instead of calls: what calls itself cannot be compiled once and kept.)
    """
    op, a, b, answer = state[3], state[4], state[5], state[6]
    depth, steps = state[1], state[2]
    while depth or op != DONE:
        if state[0] >= len(nodes) or depth >= len(stack) or steps >= most:
            break
        steps += 1
        if op != DONE:  # a question
            answer, a, b = _at_once(op, a, b, nodes, keys, values)
            if answer >= 0:
                op = DONE
                continue
            stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = op, a, b, 0
            depth += 1
            if op == CLOSE:
                a = np.int64(nodes[a, LOW])
            else:
                a, b = _sides(op, a, b, nodes, LOW)
            continue
        f = depth - 1
        op, a, b, part = stack[f, 0], stack[f, 1], stack[f, 2], stack[f, 3]
        stack[f, 3] = part + 1
        if part == 0:
            stack[f, 4] = answer
        if part == LAST:
            item = min(nodes[a, ITEM], nodes[b, ITEM]) if op == UNITE else nodes[a, ITEM]
            answer = _make(nodes, table, state, item, stack[f, 4], answer)
            at = _place(a, b, op, len(keys))
            keys[at], values[at] = _key(op, a, b), answer
            depth, op = f, DONE
        elif op == UNITE:
            a, b = _sides(op, a, b, nodes, HIGH)
            stack[f, 3] = LAST
        elif op == CLOSE and part == 0:
            a = np.int64(nodes[a, HIGH])
        elif op == CLOSE and part == 1:
            op, a, b = UNITE, stack[f, 4], answer
        elif op == CLOSE:
            a, b, stack[f, 4] = np.int64(nodes[a, HIGH]), b - 1, answer
        elif part == 0 and nodes[a, ITEM] == nodes[b, ITEM]:
            op, a, b = UNITE, np.int64(nodes[b, LOW]), np.int64(nodes[b, HIGH])
        else:
            a, b = np.int64(nodes[a, HIGH]), answer if part else b
            stack[f, 3] = LAST
    state[1], state[2] = depth, steps
    state[3], state[4], state[5], state[6] = op, a, b, answer
    return depth == 0 and op == DONE


@inner
def _sides(op, a, b, nodes, side):
    """One side of two families: without the first item of both, or of f, or with it."""
    one, two = nodes[a, ITEM], nodes[b, ITEM]
    item = min(one, two) if op == UNITE else one
    keeps = side == LOW  # what lacks the item is all without it, and nothing with it
    a = np.int64(nodes[a, side]) if one == item else a if keeps else np.int64(EMPTY)
    b = np.int64(nodes[b, side]) if two == item else b if keeps else np.int64(EMPTY)
    return a, b


@inner
def _key(op, a, b):
    return np.uint64(a) << np.uint64(33) | np.uint64(b) << np.uint64(2) | np.uint64(op)


@inner
def _at_once(op, a, b, nodes, keys, values):
    """The answer if it is known or plain to see, else -1; and the question in its shortest form."""
    if op == CLOSE:
        b = min(b, np.int64(nodes[a, FACTS] >> 1))
        if a <= UNIT or b == 0:
            return np.int64(UNIT), a, b
    elif op == UNITE:
        a, b = min(a, b), max(a, b)
        if a in (b, EMPTY) or (a == UNIT and nodes[b, FACTS] & 1):
            return b, a, b
    else:
        if nodes[b, FACTS] & 1:
            return np.int64(EMPTY), a, b
        while nodes[b, ITEM] < nodes[a, ITEM]:  # no set of f has that item
            b = np.int64(nodes[b, LOW])
        if a <= UNIT or b == EMPTY:
            return a, a, b
    at = _place(a, b, op, len(keys))
    if keys[at] == _key(op, a, b):
        return np.int64(values[at]), a, b
    return np.int64(-1), a, b


@compiled
def gather(nodes, root, gone):
    """The nodes that belong to a family, without the sets that have an item that is gone.

    The same paths are left as if equal nodes had been made one, so every count is right.
    """
    to = np.zeros(root + 1, np.int32)  # first: whether it is needed
    to[root] = 1
    for n in range(root, 1, -1):
        if to[n]:
            to[nodes[n, LOW]] = 1
            if not gone[nodes[n, ITEM]]:
                to[nodes[n, HIGH]] = 1
    kept = 2
    for n in range(2, root + 1):
        kept += to[n] and not gone[nodes[n, ITEM]]
    found = np.zeros((kept, 4), np.int32)
    for x in range(4):
        found[EMPTY, x], found[UNIT, x] = nodes[EMPTY, x], nodes[UNIT, x]
    to[EMPTY] = EMPTY
    if root >= UNIT:
        to[UNIT] = UNIT
    kept = 2
    for n in range(2, root + 1):
        if not to[n]:
            continue
        low = to[nodes[n, LOW]]
        if gone[nodes[n, ITEM]]:
            to[n] = low
        else:
            found[kept, ITEM], found[kept, LOW] = nodes[n, ITEM], low
            found[kept, HIGH], found[kept, FACTS] = to[nodes[n, HIGH]], nodes[n, FACTS]
            to[n] = kept
            kept += 1
    return found, np.int64(to[root])


@compiled
def count(nodes, root, items, modulus):
    """How many sets of a family have each item, and last how many there are.

    A modulus of 0 stands for 2 to the power of 64.
    """
    below = np.zeros(root + 2, np.uint64)
    above = np.zeros(root + 2, np.uint64)  # ways from the root
    each = np.zeros(items + 1, np.uint64)
    below[UNIT] = 1
    for n in range(2, root + 1):
        below[n] = below[nodes[n, LOW]] + below[nodes[n, HIGH]]
        if modulus:
            below[n] %= modulus
    above[root] = 1
    for n in range(root, 1, -1):
        ways, high = above[n], nodes[n, HIGH]
        if modulus:
            ways %= modulus
        above[nodes[n, LOW]] += ways
        above[high] += ways
        with_it = ways * below[high]
        each[nodes[n, ITEM]] += with_it % modulus if modulus else with_it
    each[items] = below[root]
    if modulus:
        each %= modulus
    return each
