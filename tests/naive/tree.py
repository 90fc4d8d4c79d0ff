"""A decision tree over one table, read straight off its definition: slow, obvious, without cache.

Every candidate divides the rows of its node again and counts them from nothing. Nothing here is
shared with the product; the two must agree on every node, count, branch and prediction.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

from naive.refine import rounded

Row: TypeAlias = dict[str, Any]  # a missing value is None
Columns: TypeAlias = dict[str, str]  # name: "number" or "category", in tie order
Test: TypeAlias = dict[str, Any]  # "column", and one of "at_most", "equals", "values"
Node: TypeAlias = dict[str, Any]

CONFIDENCES = [0, 0.001, 0.005, 0.01, 0.05, 0.10, 0.20, 0.40, 1.00]
DEVIATIONS = [4.0, 3.09, 2.58, 2.33, 1.65, 1.28, 0.84, 0.25, 0.00]


# How a test divides rows --------------------------------------------------------------------------


def candidates(rows: list[Row], columns: Columns, splits: str) -> Iterator[Test]:
    """List the tests of a node in tie order: columns as given, then values rising."""
    for name, kind in columns.items():
        known = sorted({row[name] for row in rows} - {None})  # texts by code point
        if len(known) < 2:
            continue
        if kind == "number":
            yield from ({"column": name, "at_most": value} for value in known[:-1])
        elif splits == "binary":
            yield from ({"column": name, "equals": value} for value in known)
        else:
            yield {"column": name, "values": known}


def branch(test: Test, value: Any) -> int | None:
    """Return the branch that a value takes by itself, or None where it must be sent."""
    if value is None:
        return None
    if "at_most" in test:
        return 0 if value <= test["at_most"] else 1
    if "equals" in test:
        return 0 if value == test["equals"] else 1
    return test["values"].index(value) if value in test["values"] else None


def divide(rows: list[Row], test: Test) -> tuple[list[list[Row]], int]:
    """Return the rows of each branch, and the branch that missing values follow."""
    size = len(test["values"]) if "values" in test else 2
    taken = [branch(test, row[test["column"]]) for row in rows]
    known = [taken.count(i) for i in range(size)]
    default = known.index(max(known))  # ties to the first
    parts: list[list[Row]] = [[] for _ in range(size)]
    for row, at in zip(rows, taken, strict=True):
        parts[default if at is None else at].append(row)
    return parts, default


# What a test is worth -----------------------------------------------------------------------------


def entropy(sizes: Sequence[int]) -> float:
    return -sum(n / sum(sizes) * math.log2(n / sum(sizes)) for n in sizes if n)


def worth(rows: list[Row], parts: list[list[Row]], cls: str) -> tuple[float, float]:
    """Return gain and gain ratio; 0 where the gain is nothing but rounding error."""

    def bits(some: list[Row]) -> float:
        return entropy(list(Counter(row[cls] for row in some).values()))

    gain = bits(rows) - sum(len(part) / len(rows) * bits(part) for part in parts)
    return (gain, gain / entropy([len(part) for part in parts])) if gain >= 1e-12 else (0.0, 0.0)


def chosen(
    rows: list[Row], columns: Columns, cls: str, splits: str, criterion: str, typical: set[str]
) -> Test | None:
    """Return the test of a node, or None where none gains anything."""
    tests = list(candidates(rows, columns, splits))
    if criterion == "c4.5":
        return quinlan(rows, tests, columns, cls, typical)
    at = 0 if criterion == "gain" else 1
    return first_best(tests, [worth(rows, divide(rows, test)[0], cls)[at] for test in tests])


def first_best(tests: list[Test], scores: list[float]) -> Test | None:
    """Return the first test of the largest score, if that is above 0."""
    best = max(scores, key=rounded, default=0.0)
    at = [rounded(score) for score in scores].index(rounded(best)) if best > 0 else None
    return None if at is None else tests[at]


def quinlan(
    rows: list[Row], tests: list[Test], columns: Columns, cls: str, typical: set[str]
) -> Test | None:
    """Return the test of C4.5: of each column the one of most gain, then by ratio.

    Two branches must have two known rows each. A threshold is charged for the choice there was.
    Columns whose gain is below the mean of the typical ones that gain, by more than 0.001, are out.
    """
    finalists: list[Test] = []
    gains: list[float] = []
    ratios: list[float] = []
    for name in columns:
        own = [test for test in tests if test["column"] == name and two_by_two(rows, test)]
        found = [worth(rows, divide(rows, test)[0], cls) for test in own]
        best = first_best(own, [gain for gain, _ in found])
        if best is None:
            continue
        gain, ratio = found[own.index(best)]
        if "at_most" in best:
            values = len({row[name] for row in rows} - {None})
            charged = gain - math.log2(values - 1) / len(rows)
            gain, ratio = charged, ratio * charged / gain
        if gain >= 1e-12:
            finalists.append(best)
            gains.append(gain)
            ratios.append(ratio)
    if not gains:
        return None
    count = [g for g, test in zip(gains, finalists, strict=True) if test["column"] in typical]
    mean = sum(count) / len(count) if count else 0.0
    kept = [r if g >= mean - 1e-3 else 0.0 for g, r in zip(gains, ratios, strict=True)]
    return first_best(finalists, kept)


def two_by_two(rows: list[Row], test: Test) -> bool:
    taken = Counter(branch(test, row[test["column"]]) for row in rows)
    return sum(n >= 2 for at, n in taken.items() if at is not None) >= 2


# What a leaf is expected to get wrong -------------------------------------------------------------


def deviation(confidence: float) -> float:
    """Return z, on the straight line between the two entries around the confidence."""
    table = zip(CONFIDENCES, DEVIATIONS, strict=True)
    for (low, above), (high, below) in pairwise(table):
        if low <= confidence <= high:
            return above + (below - above) * (confidence - low) / (high - low)
    raise ValueError("the confidence is not between 0 and 1")


def estimate(n: int, e: int, confidence: float) -> float:
    """Return the pessimistic number of errors of a leaf with n rows and e errors."""
    coeff = deviation(confidence) ** 2
    if e == 0:
        return n * (1 - math.pow(confidence, 1 / n))
    if e + 0.5 >= n:
        return e + 0.67 * (n - e)
    root = math.sqrt(coeff * ((e + 0.5) * (1 - (e + 0.5) / n) + coeff / 4))
    return n * (e + 0.5 + coeff / 2 + root) / (n + coeff)


def pruned(node: Node, confidence: float) -> tuple[Node, float]:
    """Return a node with everything below it pruned, and its estimate."""
    n = sum(node["counts"])
    as_leaf = estimate(n, n - max(node["counts"]), confidence)
    if "branches" not in node:
        return node, as_leaf
    below = [pruned(kid, confidence) for kid in node["branches"]]
    as_subtree = sum(errors for _, errors in below)
    if as_leaf <= as_subtree * (1 + 1e-12):
        return {"counts": node["counts"], "class": node["class"]}, as_leaf
    return {**node, "branches": [kid for kid, _ in below]}, as_subtree


# The tree -----------------------------------------------------------------------------------------


def tree(
    rows: list[Row],
    columns: Columns,
    cls: str,
    *,
    splits: str = "multiway",
    criterion: str = "c4.5",
    min_rows: int = 2,
    max_depth: int | None = None,
    confidence: float | None = 0.25,  # None: do not prune
) -> dict[str, Any]:
    """Grow a tree on the rows that have a class, prune it, and return it in plain words."""
    rows = [row for row in rows if row[cls] is not None]
    classes = sorted({row[cls] for row in rows})
    values = {name: {row[name] for row in rows} - {None} for name in columns}
    few = {n for n, k in columns.items() if k == "number" or len(values[n]) < 0.3 * len(rows)}
    typical = few or set(columns)

    def grow(here: list[Row], depth: int) -> Node:
        counts = [sum(row[cls] == c for row in here) for c in classes]
        node: Node = {"counts": counts, "class": classes[counts.index(max(counts))]}
        if max(counts) == len(here) or len(here) < min_rows or depth == max_depth:
            return node
        best = chosen(here, columns, cls, splits, criterion, typical)
        if best is None:
            return node
        parts, default = divide(here, best)
        below = [grow(part, depth + 1) for part in parts]
        return {**node, **best, "default": default, "branches": below}

    root = grow(rows, 0)
    named = [{"name": name, "kind": kind} for name, kind in columns.items()]
    root = root if confidence is None else pruned(root, confidence)[0]
    return {"classes": classes, "columns": named, "root": root}


def leaf(model: dict[str, Any], seen: dict[str, set[Any]], row: Row) -> Node:
    """Return the leaf of a row. A text that no training row had is sent like a missing one."""
    node: Node = model["root"]
    kinds = {column["name"]: column["kind"] for column in model["columns"]}
    while "branches" in node:
        name = node["column"]
        unseen = kinds[name] == "category" and row[name] not in seen[name]
        at = None if unseen else branch(node, row[name])
        node = node["branches"][node["default"] if at is None else at]
    return node


def unfolded(model: dict[str, Any]) -> dict[str, Any]:
    """Nest the product's flat list of nodes, where a branch is the number of a node."""
    nodes: list[Node] = [dict(node) for node in model["nodes"]]
    for node in nodes:
        if "branches" in node:
            node["branches"] = [nodes[number] for number in node["branches"]]
    rest = {key: value for key, value in model.items() if key != "nodes"}
    return {**rest, "root": nodes[0]}
