"""Which rules a row fits: the loops that walk down a tree of patterns.

A pattern is a row of codes with -1 where it says nothing; a rule is a pattern and a value. A row of
a table fits a pattern if it has all its codes: -1 in a row, an entry that is hidden, fits nothing.

Every value has a root. Below it stand the patterns of the rules that point to it, a column after
the other, so that patterns which begin alike share the way. A row goes down wherever it has the
code that is asked for, and meets the rules that it fits and little else: 48,000 rules and a million
rows are compared in 3 s, where comparing each with each took minutes.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reticent.compiling import compiled, grown, inner

_NONE = np.int64(-1)


class RuleTree(NamedTuple):
    """Patterns by the way to them. Nodes are numbers; the root of a value has that value's."""

    edges: NDArray[np.int64]  # by slot: a node and a cell, or -1
    ends: NDArray[np.int32]  # by slot: the node that the edge leads to
    below: NDArray[np.int64]  # by node: bits of the columns in which edges leave it
    rules: NDArray[np.int32]  # by node: the rule that ends there, or -1
    cells: NDArray[np.int64]  # by column: the number of its first code, and of the next column's
    roots: NDArray[np.int32]  # values that some rule points to


def tree(patterns: NDArray[np.int32], values: NDArray[np.int32]) -> RuleTree:
    """The tree of some rules."""
    sizes = patterns.max(axis=0, initial=-1).astype(np.int64) + 1
    cells = np.concatenate([[0], np.cumsum(sizes)])
    nodes = int(values.max(initial=-1)) + 1
    room = 1 << (nodes + 2 * len(values) + 1).bit_length()
    found = RuleTree(
        np.full(2 * room, _NONE), np.empty(2 * room, np.int32), np.zeros(room, np.int64),
        np.full(room, -1, np.int32), cells, np.unique(values),
    )  # fmt: skip
    done, nodes = _grow(found, patterns, values, 0, nodes)
    while done < len(values):  # for want of room
        old = found
        found = old._replace(
            edges=np.full(2 * len(old.edges), _NONE), ends=np.empty(2 * len(old.ends), np.int32),
            below=np.concatenate([old.below, np.zeros_like(old.below)]),
            rules=np.concatenate([old.rules, np.full_like(old.rules, -1)]),
        )  # fmt: skip
        _enter(found, old.edges, old.ends)
        done, nodes = _grow(found, patterns, values, done, nodes)
    return found


@inner
def _slot(edges, edge):
    """Where an edge stands, or would stand."""
    last = np.uint64(len(edges) - 1)
    mixed = np.uint64(edge) * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64((mixed >> np.uint64(32) ^ mixed >> np.uint64(15)) & last)
    while edges[slot] != edge and edges[slot] != _NONE:
        slot = slot + 1 & len(edges) - 1
    return slot


@compiled
def _enter(found, edges, ends):
    """Take edges over from a smaller tree."""
    for x in range(len(edges)):
        if edges[x] != _NONE:
            slot = _slot(found.edges, edges[x])
            found.edges[slot], found.ends[slot] = edges[x], ends[x]


@compiled
def _grow(found, patterns, values, done, nodes):
    """Put rules into a tree, after those that are done, while it has room; and count its nodes."""
    width = patterns.shape[1]
    while done < len(patterns) and nodes + width <= len(found.below):
        node = np.int64(values[done])
        for j in range(width):
            code = patterns[done, j]
            if code < 0:
                continue
            edge = node << 31 | found.cells[j] + code
            slot = _slot(found.edges, edge)
            if found.edges[slot] == _NONE:
                found.edges[slot], found.ends[slot] = edge, nodes
                found.below[node] |= np.int64(1) << j
                nodes += 1
            node = np.int64(found.ends[slot])
        found.rules[node] = done
        done += 1
    return done, nodes


@compiled
def among(found, patterns, values):
    """Which of some rules are in a tree."""
    which = np.zeros(len(patterns), np.bool_)
    for r in range(len(patterns)):
        node = np.int64(values[r]) if known(found, values[r]) else _NONE
        for j in range(patterns.shape[1]):
            code = patterns[r, j]
            if code >= 0 and node >= 0:
                cell = found.cells[j] + code
                slot = _slot(found.edges, node << 31 | cell)
                there = cell < found.cells[j + 1] and found.edges[slot] != _NONE
                node = np.int64(found.ends[slot]) if there else _NONE
        which[r] = node >= 0 and found.rules[node] >= 0
    return which


@inner
def walk(found, root, row, stack, fits):
    """The rules below a root that a row fits, as many as there is room for; how many."""
    count, size = 0, 1
    stack[0] = root
    while size > 0 and count < len(fits):
        size -= 1
        node = np.int64(stack[size])
        if found.rules[node] >= 0:
            fits[count] = found.rules[node]
            count += 1
        below, j = found.below[node], 0
        while below:
            if below & 1 and row[j] >= 0:
                cell = found.cells[j] + row[j]
                if cell < found.cells[j + 1]:
                    slot = _slot(found.edges, node << 31 | cell)
                    if found.edges[slot] != _NONE:
                        stack[size] = found.ends[slot]
                        size += 1
            below >>= 1
            j += 1
    return count


@inner
def rooms(rules, row):
    """Room for a walk: its stack, and what it finds."""
    return np.empty(len(row) * len(row) + 1, np.int32), np.empty(rules, np.int32)


@inner
def known(found, value):
    """Whether rules may point to a value."""
    return len(found.roots) > 0 and 0 <= value <= found.roots[-1]


@compiled
def fitting(found, rules, rows, values):
    """For each row the rules of its value that it fits, as `begins` and `rules`."""
    begins = np.zeros(len(rows) + 1, np.int64)
    stack, fits = rooms(rules, rows[0])
    every, end = np.empty(16 * len(rows) + 16, np.int32), 0
    for i in range(len(rows)):
        if known(found, values[i]):
            count = walk(found, values[i], rows[i], stack, fits)
            every = grown(every, end + count)
            for x in range(count):
                every[end + x] = fits[x]
            end += count
        begins[i + 1] = end
    return begins, every[:end]


@compiled
def concerned(found, rows, values):
    """Which rows fit a rule of their value."""
    stack, fits = rooms(1, rows[0])
    which = np.zeros(len(rows), np.bool_)
    for i in range(len(rows)):
        which[i] = known(found, values[i]) and walk(found, values[i], rows[i], stack, fits) > 0
    return which


@compiled
def counted(found, points_to, rows, values, weights, numbers):
    """Add up for each rule how many rows fit it, and how many of these show its value."""
    stack, fits = rooms(len(points_to), rows[0])
    for i in range(len(rows)):
        for root in found.roots:
            for x in range(walk(found, root, rows[i], stack, fits)):
                numbers[fits[x], 0] += weights[i]
                numbers[fits[x], 1] += weights[i] * (values[i] == root)


@inner
def _is_unsafe(all_, own, exposed, least, over, under):
    return exposed > 0 and own > least and own * under > over * all_


@inner
def _change(found, patterns, numbers, unsafe, row, value, secret, column, times, limits, room):
    """Count a record's entry `times` more often; how many rules changed sides, first in `fits`."""
    least, over, under = limits
    stack, fits, flipped = room
    sensitive, changed = column == len(row), 0
    for root in found.roots:
        if sensitive and root != value:
            continue
        for x in range(walk(found, root, row, stack, fits)):
            r = fits[x]
            if not sensitive and patterns[r, column] < 0:
                continue
            numbers[r, 0] += 0 if sensitive else times
            numbers[r, 1] += times if root == value else 0
            numbers[r, 2] += times if root == secret and not sensitive else 0
            now = _is_unsafe(numbers[r, 0], numbers[r, 1], numbers[r, 2], least, over, under)
            if now != unsafe[r]:
                unsafe[r] = now
                flipped[changed] = r
                changed += 1
    return changed


@compiled
def change(found, patterns, numbers, unsafe, row, value, secret, column, times, limits):
    """Count a record's entry `times` more often in all rules that it takes part in.

    `row`, `value`: the record with that entry; `secret`: its hidden value, or -1. `numbers`: for
    each rule how many records fit it, fit it with its value, and are to be protected from it.
    Returns the rules that are unsafe now and were not, or were and are not.
    """
    stack, fits = rooms(len(patterns), row)
    flipped = np.empty(len(patterns), np.int32)
    changed = _change(
        found, patterns, numbers, unsafe, row, value, secret, column, times, limits,
        (stack, fits, flipped),
    )  # fmt: skip
    return flipped[:changed].copy()


@inner
def _would_be_unsafe(patterns, numbers, rule, column, more, limits):
    """Whether a rule that a row fits would be unsafe if it counted an entry of that row, too."""
    if column < patterns.shape[1] and patterns[rule, column] < 0:
        return False
    all_, own, exposed = numbers[rule, 0], numbers[rule, 1], numbers[rule, 2]
    return _is_unsafe(all_ + more[0], own + more[1], exposed + more[2], *limits)


@compiled
def give_back(
    found, patterns, numbers, unsafe, conditions, values, truth, asked, records, columns, cells,
    gone, why, limits, last, first,
):  # fmt: skip
    """Let entries come back, from `last` down to `first`; whether any did. Changes all but rules.

    `cells`: what each entry of the list shows. `gone`: which of them are hidden. `why`: for each
    that stays so, a rule that it would make unsafe.
    """
    width = conditions.shape[1]
    row = np.empty(width, np.int32)
    stack, fits = rooms(len(patterns), row)
    flipped = np.empty(len(patterns), np.int32)
    some = False
    for i in range(last, first - 1, -1):
        if not gone[i]:
            continue
        record, column = records[i], columns[i]
        for j in range(width):
            row[j] = conditions[record, j]
        value, secret = values[record], truth[record] if asked[record] else np.int32(-1)
        sensitive = column == width
        if sensitive:
            value = cells[i]
        else:
            row[column] = cells[i]
        # More records that fit make a rule about another value weaker.
        root = secret if secret >= 0 else value
        more = np.int64(not sensitive), np.int64(root == value), np.int64(root == secret)
        # Mostly the rule that barred it before still does: it fits that one as it did.
        bar = why[i]
        if bar < 0 or not _would_be_unsafe(patterns, numbers, bar, column, more, limits):
            bar = -1
            for x in range(walk(found, root, row, stack, fits) if known(found, root) else 0):
                if _would_be_unsafe(patterns, numbers, fits[x], column, more, limits):
                    bar = fits[x]
                    break
        why[i] = bar
        if bar >= 0:
            continue
        _change(
            found, patterns, numbers, unsafe, row, value, secret, column, 1, limits,
            (stack, fits, flipped),
        )  # fmt: skip
        gone[i], some = False, True
        if sensitive:
            values[record] = value
        else:
            conditions[record, column] = row[column]
    return some
