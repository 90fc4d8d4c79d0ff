"""The inner loops of a tree over joins: sums by join value, the best split of a table, dividing.

A node holds of every table the rows that still stand in its part of the join, and for each the
joined rows by class that contain it:

    rows      numbers of the rows of a table that are in the node
    vectors   vectors[i, c]: joined rows of class c that contain row rows[i]; never all 0
    keys      keys[row]: the join value of a row, by one join; all rows of a node have one
    codes     codes[j, row]: the value of a row in column j; -1 is missing

Counts are 64-bit integers, or floats where records weigh fractions that have no common measure.
Scratch is handed in clean and handed back clean: a loop costs what a node holds, and never what
the whole table does.
"""

# The subscripted loops below read like their compiled form; typing NumPy scalars would not.
# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

from __future__ import annotations

import numpy as np

from reticent.compiling import compiled, inner
from reticent.data.keys import key
from reticent.trees.kernels import AT_MOST, EACH, GAIN, judge

ROUNDED, MENDED, SHARED = 0, 1, 2  # how a part of a count is taken: see `_part_of`
_MENDABLE = 2.0**110


@compiled
def sum_by(keys, vectors, sums):
    """Add the vectors of rows to the sum of their join value."""
    for i in range(len(keys)):
        for c in range(vectors.shape[1]):
            sums[keys[i], c] += vectors[i, c]


@compiled
def total(vectors):
    """The sum of all vectors."""
    found = np.zeros(vectors.shape[1], vectors.dtype)
    for i in range(len(vectors)):
        for c in range(vectors.shape[1]):
            found[c] += vectors[i, c]
    return found


@compiled
def best(codes, kinds, sizes, rows, vectors, criterion, sums, seen, values, ns):
    """The best split of a table: key of its score, column, code and default; the first of equals.

    A key of 0 says that none gains anything. Scratch: `sums` and `seen` have a line for every
    value of a column, all 0; `values` has room for as many.
    """
    classes = vectors.shape[1]
    missing = np.zeros(classes, vectors.dtype)
    top = 0
    column = -1
    code = 0
    branch = 0
    for j in range(len(codes)):
        missing[:] = 0
        found = 0
        for i in range(len(rows)):
            value = codes[j, rows[i]]
            if value < 0:
                for c in range(classes):
                    missing[c] += vectors[i, c]
                continue
            if not seen[value]:
                seen[value] = 1
                values[found] = value
                found += 1
            for c in range(classes):
                sums[value, c] += vectors[i, c]
        if found > 1:
            _in_order(values, found, seen, sizes[j])
            counts = np.empty((found, classes), vectors.dtype)
            for f in range(found):
                for c in range(classes):
                    counts[f, c] = sums[values[f], c]
            gain, ratio, at, default = judge(counts, missing, kinds[j], criterion, ns)
            score = gain if criterion == GAIN else ratio
            if gain > 0 and key(score) > top:
                top = key(score)
                column = j
                code = values[at]
                branch = default
        for f in range(found):
            seen[values[f]] = 0
            for c in range(classes):
                sums[values[f], c] = 0
    return top, column, code, branch


@inner
def _in_order(values, found, seen, size):
    """Sort the values seen: few of many by comparing, else by looking at all there could be."""
    if found * 8 < size:
        few = np.sort(values[:found])
        for f in range(found):
            values[f] = few[f]
        return
    at = 0
    for value in range(size):
        if seen[value]:
            values[at] = value
            at += 1


@compiled
def branches(codes, rows, kind, asked, default):
    """The branch that each row of the table takes that splits; `asked` are the codes of a split."""
    found = np.empty(len(rows), np.int64)
    for i in range(len(rows)):
        value = codes[rows[i]]
        if value < 0:
            found[i] = default
        elif kind == AT_MOST:
            found[i] = 0 if value <= asked[0] else 1
        elif kind == EACH:
            at = np.searchsorted(asked, value)
            told = at < len(asked) and asked[at] == value
            found[i] = at if told else default
        else:
            found[i] = 0 if value == asked[0] else 1
    return found


@compiled
def totals(taken, vectors, count):
    """The sum of the vectors of each branch."""
    found = np.zeros((count, vectors.shape[1]), vectors.dtype)
    for i in range(len(taken)):
        for c in range(vectors.shape[1]):
            found[taken[i], c] += vectors[i, c]
    return found


@compiled
def add_up(keys, rows, vectors, sums):
    """Add the vectors of a node's rows to the sum of their join value."""
    for i in range(len(rows)):
        for c in range(vectors.shape[1]):
            sums[keys[rows[i]], c] += vectors[i, c]


@compiled
def clear(keys, rows, sums):
    """Set the sums of all join values of some rows to 0 again."""
    for i in range(len(rows)):
        for c in range(sums.shape[1]):
            sums[keys[rows[i]], c] = 0


@compiled
def index(keys, rows, first, last):
    """The places of rows by rising join value, and from where to where those of each value are.

    Between the places of a value they rise. Scratch: `last` is all 0; `first` may hold anything.
    """
    for i in range(len(rows)):
        last[keys[rows[i]]] += 1
    places = np.empty(len(rows), np.int64)
    end = 0
    for i in range(len(rows)):  # every value once: where its places begin
        v = keys[rows[i]]
        if last[v] > 0:
            first[v] = end
            end += last[v]
            last[v] = -first[v] - 1
    for i in range(len(rows)):
        v = keys[rows[i]]
        at = -last[v] - 1
        places[at] = i
        last[v] = -at - 2
    for i in range(len(rows)):
        v = keys[rows[i]]
        if last[v] < 0:
            last[v] = -last[v] - 1
    return places


@compiled
def partners(keys, rows, first, last, places, seen):
    """The rising places of all rows that have a join value of these ones. Scratch: `seen` all 0."""
    size = 0
    for i in range(len(rows)):
        v = keys[rows[i]]
        if not seen[v]:
            seen[v] = 1
            size += last[v] - first[v]
    found = np.empty(size, np.int64)
    at = 0
    for i in range(len(rows)):
        v = keys[rows[i]]
        if seen[v]:
            seen[v] = 0
            for place in range(first[v], last[v]):
                found[at] = places[place]
                at += 1
    found.sort()
    return found


@compiled
def unindex(keys, rows, first, last):
    """Clean the scratch of `index`."""
    for i in range(len(rows)):
        first[keys[rows[i]]] = 0
        last[keys[rows[i]]] = 0


@compiled
def carry(keys, rows, vectors, whole, part, how):
    """What a branch leaves of a table, from the sums over a join: its rows and their vectors.

    Of the joined rows with some join value and class, `part` of `whole` are in the branch, and of
    those that contain one row of this table the same share: the join has them in all combinations.
    """
    classes = vectors.shape[1]
    left = 0
    for i in range(len(rows)):
        v = keys[rows[i]]
        for c in range(classes):
            if vectors[i, c] > 0 and part[v, c] > 0:
                left += 1
                break
    kept = np.empty(left, rows.dtype)
    shares = np.zeros((left, classes), vectors.dtype)
    at = 0
    for i in range(len(rows)):
        v = keys[rows[i]]
        stays = False
        for c in range(classes):
            if vectors[i, c] > 0 and part[v, c] > 0:
                stays = True
                if part[v, c] == whole[v, c]:
                    shares[at, c] = vectors[i, c]
                else:
                    shares[at, c] = _part_of(vectors[i, c], part[v, c], whole[v, c], how)
        if stays:
            kept[at] = rows[i]
            at += 1
    return kept, shares


@inner
def _part_of(count, part, whole, how):
    """The number count · part / whole, which is whole, without leaving 64 bits.

    ROUNDED   all are below 2^50: the nearest integer to the floating result, which is off by less
              than count · 2^-51
    MENDED    the floating result is off by d, and d · whole is count · part - result · whole, of
              which 64 bits suffice as long as count · part is below 2^110: d · whole is below 2^62.
              Beyond, part / whole is reduced first.
    SHARED    floats are what they are
    """
    share = float(count) * (float(part) / float(whole))
    if how == SHARED:
        return type(count)(share)
    near = np.int64(np.rint(share))
    if how == ROUNDED:
        return type(count)(near)
    if float(count) * float(part) < _MENDABLE:
        over = np.uint64(count) * np.uint64(part) - np.uint64(near) * np.uint64(whole)
        return type(count)(near + np.int64(over) // np.int64(whole))
    a, b = np.int64(whole), np.int64(part)
    while b:
        a, b = b, a % b
    return type(count)(np.int64(count) // (np.int64(whole) // a) * (np.int64(part) // a))
