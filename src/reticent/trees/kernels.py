"""The inner loops of the tree learner: counting values by class, judging splits, dividing rows.

`judge` sees counts alone, so it serves whoever can count: rows of one table here (`best`), rows of
a join that nobody builds elsewhere. They are whole numbers or, where records weigh less, floats.

    orders    orders[j]: the rows by rising code of column j; a node owns the run low, …, high - 1
              of every column's order, and inside it the rows stay sorted
    codes     codes[j, row]: the value of a row in column j; -1 is missing
    kinds     kinds[j]: how column j splits: AT_MOST, EQUALS or EACH
    typical   typical[j]: whether the gain of column j counts for the mean that C4.5 asks for
    classes   the class of each row
    weights   how many records a row stands for
    counts    counts[v, c]: records of class c with the v-th value that occurs in the node
    ns        ns[x] = x · log2 x for small x; larger ones are computed, and all of fractions,
              for which it is empty
"""

# The subscripted loops below read like their compiled form; typing NumPy scalars would not.
# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

from __future__ import annotations

import math

import numpy as np

from reticent.compiling import compiled, inner
from reticent.data.keys import key

AT_MOST, EQUALS, EACH = 0, 1, 2  # numbers up to one of them; one value against the rest; by value
GAIN, RATIO, C45 = 0, 1, 2  # what is compared: see `reticent.trees.learner.Rules`

NO_GAIN = 1e-12  # bits; less is rounding
UNIT = 2.0**-52  # by which the last place of a float differs from the next, at most
LN_2 = math.log(2)
FEWEST = 2  # records that C4.5 wants in at least two branches
NEARLY = 1e-3  # bits by which C4.5 lets a split miss the mean gain


@inner
def _n_log_n(x, ns):
    if x <= 0:  # of fractions, a difference may fall just below
        return 0.0
    return ns[int(x)] if x < len(ns) else x * math.log2(x)


@inner
def _bits(counts, size):
    """The bits it takes to tell the class of all of so many records.

    A share close to 1 is taken from what lacks: then a few records of one class among billions
    keep all their digits, which n log n of billions would swallow.
    """
    bits = 0.0
    for c in range(len(counts)):
        n = counts[c]
        others = size - n
        if n > 0 and others > 0:
            if n > others:
                bits -= n * (math.log1p(-(others / size)) / LN_2)
            else:
                bits -= n * math.log2(n / size)
    return bits


@compiled
def judge(counts, missing, kind, criterion, ns):
    """The best split of one column: gain, gain ratio, position, and the branch of missing values.

    Missing values follow the branch with more known records, the first of equals; gain (in bits)
    and ratio (to the information of the partition itself) are those of the resulting partition. A
    gain of 0 says that no split gains anything.

    Thresholds are many and most cannot win, as sums of n log n tell: fast, and off by some units
    in the last place of the largest. Whatever may win is judged again to all digits.
    """
    values, classes = counts.shape
    known = np.zeros(classes, counts.dtype)
    none = known.sum()  # of the counts' own kind
    none -= none
    for v in range(values):
        for c in range(classes):
            known[c] += counts[v, c]
    rows = none
    rows_known = none
    impure = 0.0
    for c in range(classes):
        rows += known[c] + missing[c]
        rows_known += known[c]
        impure -= _n_log_n(known[c] + missing[c], ns)
    whole = _n_log_n(rows, ns)
    impure += whole
    off = (2 * classes + 4) * UNIT * whole
    before = _bits(known + missing, rows)
    fewest = FEWEST if criterion == C45 else 0

    if kind == EACH:
        most = none
        default = 0
        large = 0
        for v in range(values):
            size = counts[v].sum()
            large += size > 0 and size >= fewest
            if size > most:
                most = size
                default = v
        sizes = np.zeros(values, counts.dtype)
        part = np.zeros(classes, counts.dtype)
        left = 0.0
        for v in range(values):
            for c in range(classes):
                part[c] = counts[v, c] + (missing[c] if v == default else none)
                sizes[v] += part[c]
            left += _bits(part, sizes[v])
        gained = before - left
        if large < 2 or gained / rows < NO_GAIN:
            return 0.0, 0.0, 0, 0
        return gained / rows, gained / _bits(sizes, rows), 0, default

    best = 0  # the largest key
    gain = 0.0
    ratio = 0.0
    at = 0
    default = 0
    inside = np.zeros(classes, counts.dtype)
    size_inside = none
    part = np.zeros(classes, counts.dtype)
    rest = np.zeros(classes, counts.dtype)
    sizes = np.zeros(2, counts.dtype)
    for v in range(values - 1 if kind == AT_MOST else values):
        if kind == EQUALS:
            inside[:] = 0
            size_inside = none
        for c in range(classes):
            inside[c] += counts[v, c]
            size_inside += counts[v, c]
        fewer = min(size_inside, rows_known - size_inside)
        if fewer <= 0 or fewer < fewest:
            continue
        first = 2 * size_inside >= rows_known
        size = none
        left = 0.0
        for c in range(classes):
            here = inside[c] + (missing[c] if first else none)
            size += here
            left -= _n_log_n(here, ns) + _n_log_n(known[c] + missing[c] - here, ns)
        parts = _n_log_n(size, ns) + _n_log_n(rows - size, ns)
        about = impure - left - parts + off
        if about / rows < NO_GAIN or (criterion != RATIO and about / rows < gain):
            continue
        if criterion == RATIO and about < ratio * (whole - parts - off):
            continue
        for c in range(classes):
            part[c] = inside[c] + (missing[c] if first else none)
            rest[c] = known[c] + missing[c] - part[c]
        sizes[0] = size
        sizes[1] = rows - size
        gained = before - (_bits(part, sizes[0]) + _bits(rest, sizes[1]))
        if gained / rows < NO_GAIN:
            continue
        told = _bits(sizes, rows)
        score = gained / told if criterion == RATIO else gained / rows
        if key(score) > best:
            best = key(score)
            gain = gained / rows
            ratio = gained / told
            at = v
            default = 0 if first else 1
    if criterion == C45 and kind == AT_MOST and gain > 0:
        charged = gain - math.log2(values - 1) / rows
        ratio *= charged / gain
        gain = charged
    return (gain, ratio, at, default) if gain >= NO_GAIN else (0.0, 0.0, 0, 0)


@compiled
def best(
    orders, codes, kinds, typical, classes, weights, low, high, criterion, counts, values, ns
):  # fmt: skip
    """The best split of a node: column (-1 for none), code, default branch; the first of equals.

    `counts` and `values` are scratch with a line for every row of the table.
    """
    missing = np.zeros(counts.shape[1], np.int64)
    columns = len(orders)
    gains = np.zeros(columns)
    ratios = np.zeros(columns)
    split = np.zeros((columns, 2), np.int64)
    for j in range(columns):
        missing[:] = 0
        found = 0
        last = -1
        for i in range(low, high):
            row = orders[j, i]
            value = codes[j, row]
            if value < 0:
                missing[classes[row]] += weights[row]
                continue
            if value != last:
                counts[found] = 0
                values[found] = value
                last = value
                found += 1
            counts[found - 1, classes[row]] += weights[row]
        if found > 1:
            gains[j], ratios[j], at, default = judge(
                counts[:found], missing, kinds[j], criterion, ns
            )
            split[j, 0] = values[at]
            split[j, 1] = default
    column = choose(gains, ratios, typical, criterion)
    return column, split[column, 0], split[column, 1]


@compiled
def choose(gains, ratios, typical, criterion):
    """The column to split by, from the best split of each; -1 if none gains anything."""
    enough = NO_GAIN
    if criterion == C45:
        total = 0.0
        count = 0
        for j in range(len(gains)):
            if typical[j] and gains[j] > 0:
                total += gains[j]
                count += 1
        enough = max(enough, total / max(count, 1) - NEARLY)
    top = 0  # the largest key
    column = -1
    for j in range(len(gains)):
        score = gains[j] if criterion == GAIN else ratios[j]
        if gains[j] >= enough and key(score) > top:
            top = key(score)
            column = j
    return column


@compiled
def count_classes(order, classes, weights, low, high, count):
    """Records by class in a node."""
    found = np.zeros(count, np.int64)
    for i in range(low, high):
        found[classes[order[i]]] += weights[order[i]]
    return found


@compiled
def divide(orders, codes, kinds, low, high, column, code, default, branch, scratch):
    """Move the rows of each branch together in every order; returns where each branch ends.

    Values of a column split by EACH come in rising order, so its order already is the branches'.
    `branch` and `scratch` hold one number a row of the table.
    """
    kind = kinds[column]
    branches = 2
    if kind == EACH:
        branches = 0
        last = -1
        for i in range(low, high):
            row = orders[column, i]
            value = codes[column, row]
            if value >= 0 and value != last:
                last = value
                branches += 1
            branch[row] = default if value < 0 else branches - 1
    else:
        for i in range(low, high):
            row = orders[column, i]
            value = codes[column, row]
            if value < 0:
                branch[row] = default
            elif kind == AT_MOST:
                branch[row] = 0 if value <= code else 1
            else:
                branch[row] = 0 if value == code else 1
    ends = np.zeros(branches + 1, np.int64)
    for i in range(low, high):
        ends[branch[orders[column, i]] + 1] += 1
    ends[0] = low
    for b in range(branches):
        ends[b + 1] += ends[b]
    place = np.empty(branches, np.int64)
    for j in range(len(orders)):
        place[:] = ends[:-1]
        for i in range(low, high):
            row = orders[j, i]
            scratch[place[branch[row]]] = row
            place[branch[row]] += 1
        orders[j, low:high] = scratch[low:high]
    return ends
