"""A decision tree over tables that join, read straight off its definition: the join is built.

Every candidate divides the joined rows of its node again and adds up their weights, as fractions,
from nothing. Nothing here is shared with the product; the two must agree on every node, count,
branch and classification.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any, TypeAlias

from naive.refine import rounded
from naive.tree import branch, deviation

Cells: TypeAlias = dict[str, Any]  # a missing value is None
Joined: TypeAlias = dict[tuple[int, str], Any]  # by number of a table and name of a column
Node: TypeAlias = dict[str, Any]


@dataclass
class Join:
    """Rows of `table`, which lies behind `parent`, where some columns are equal."""

    parent: int
    table: int
    near: list[str]  # columns of the parent
    far: list[str]
    keep: bool = False
    swapped: bool = False  # in the schema the parent stands on the right


@dataclass
class Tables:
    """Tables in tie order; the class stands in table `root`."""

    names: list[str]
    rows: list[list[Cells]]
    copies: list[list[int]]  # how many records each row stands for
    kinds: list[dict[str, str]]  # of columns that join nothing: "number" or "category"
    joins: list[Join]
    root: int = 0
    cls: str = "class"
    ids: list[str] = field(default_factory=list)
    asked: dict[int, list[str]] = field(default_factory=dict)  # by table, where not all `kinds`
    written: list[int] = field(default_factory=list)  # the order of the joins in the schema

    def split_by(self, table: int) -> list[tuple[str, str]]:
        """The columns of a table that may split, each with its kind, in the order of the table."""
        kinds = self.kinds[table]
        asked = self.asked.get(table, [*kinds])
        return [
            (name, kinds.get(name, "category")) for name in self.rows[table][0] if name in asked
        ]


# The join ----------------------------------------------------------------------------------------


def subtree(data: Tables, table: int) -> list[int]:
    below = [subtree(data, join.table) for join in data.joins if join.parent == table]
    return [table, *(t for some in below for t in some)]


def behind(data: Tables, table: int, row: Cells, copies: int) -> list[tuple[Joined, int]]:
    """Join one row with everything behind it: joined rows, and how often each is there."""
    found: list[tuple[Joined, int]] = [({(table, c): v for c, v in row.items()}, copies)]
    for join in data.joins:
        if join.parent != table:
            continue
        wanted = [row[column] for column in join.near]
        partners = [
            partner
            for other, n in zip(data.rows[join.table], data.copies[join.table], strict=True)
            if None not in wanted and [other[column] for column in join.far] == wanted
            for partner in behind(data, join.table, other, n)
        ]
        if not partners and join.keep:
            gone = subtree(data, join.table)
            partners = [({(t, c): None for t in gone for c in data.rows[t][0]}, 1)]
        found = [(a | b, m * n) for (a, m), (b, n) in product(found, partners)]
    return found


def join_of(
    data: Tables, weight: str, rows: Sequence[Cells] | None = None
) -> list[tuple[Joined, Fraction]]:
    """Return all joined rows of records that have a class, with what they weigh."""
    found = []
    for row, copies in zip(data.rows[data.root], data.copies[data.root], strict=True):
        if row[data.cls] is None:
            continue
        own = behind(data, data.root, row, 1)
        share = Fraction(1, sum(n for _, n in own) or 1) if weight == "record" else 1
        found += [(joined, Fraction(n * copies) * share) for joined, n in own]
    return found


# The tree ----------------------------------------------------------------------------------------


Weighed: TypeAlias = list[tuple[Joined, Fraction]]


def candidates(here: Weighed, data: Tables, splits: str) -> Iterator[dict[str, Any]]:
    for t in range(len(data.names)):
        for name, kind in data.split_by(t):
            known = sorted({row[t, name] for row, _ in here} - {None})
            if len(known) < 2:
                continue
            place = {"table": t, "column": name}
            if kind == "number":
                yield from ({**place, "at_most": value} for value in known[:-1])
            elif splits == "binary":
                yield from ({**place, "equals": value} for value in known)
            else:
                yield {**place, "values": known}


def divide(here: Weighed, test: dict[str, Any]) -> tuple[list[Weighed], int]:
    size = len(test["values"]) if "values" in test else 2
    taken = [branch(test, row[test["table"], test["column"]]) for row, _ in here]
    known = [sum(w for (_, w), at in zip(here, taken, strict=True) if at == i) for i in range(size)]
    default = known.index(max(known))
    parts: list[Weighed] = [[] for _ in range(size)]
    for one, at in zip(here, taken, strict=True):
        parts[default if at is None else at].append(one)
    return parts, default


def entropy(sizes: Sequence[Fraction]) -> float:
    """Return the entropy; of a share close to 1, what lacks is known to more digits."""
    shares = [n / sum(sizes) for n in sizes if n]
    logs = [
        math.log1p(-float(1 - s)) / math.log(2) if s > 0.5 else math.log2(float(s)) for s in shares
    ]
    return -sum(float(share) * log for share, log in zip(shares, logs, strict=True))


def by_class(here: Weighed, data: Tables, classes: Sequence[str]) -> list[Fraction]:
    at = (data.root, data.cls)
    return [sum((w for row, w in here if row[at] == c), Fraction(0)) for c in classes]


def worth(
    here: Weighed, parts: list[Weighed], data: Tables, classes: Sequence[str], criterion: str
) -> float:
    whole = by_class(here, data, classes)
    counts = [by_class(part, data, classes) for part in parts]
    sizes = [sum(part, Fraction(0)) for part in counts]
    inside = sum(
        float(size / sum(sizes)) * entropy(part) for part, size in zip(counts, sizes, strict=True)
    )
    gain = entropy(whole) - inside
    if gain < 1e-12:
        return 0.0
    return gain if criterion == "gain" else gain / entropy(sizes)


def estimate(n: float, e: float) -> float:
    """Return the pessimistic errors of a leaf; a straight line from no error to one."""
    if 0 < e < 1:
        return estimate(n, 0) + e * (estimate(n, 1) - estimate(n, 0))
    coeff = deviation(0.25) ** 2
    if e == 0:
        return -n * math.expm1(math.log(0.25) / n)
    if e + 0.5 >= n:
        return e + 0.67 * (n - e)
    root = math.sqrt(coeff * ((e + 0.5) * (1 - (e + 0.5) / n) + coeff / 4))
    return n * (e + 0.5 + coeff / 2 + root) / (n + coeff)


def pruned(node: Node) -> tuple[Node, float]:
    n = sum(node["counts"])
    as_leaf = estimate(float(n), float(n - max(node["counts"])))
    if "branches" not in node:
        return node, as_leaf
    below = [pruned(kid) for kid in node["branches"]]
    as_subtree = sum(errors for _, errors in below)
    if as_leaf <= as_subtree * (1 + 1e-9):
        return {"counts": node["counts"], "class": node["class"]}, as_leaf
    return {**node, "branches": [kid for kid, _ in below]}, as_subtree


def tree(
    data: Tables,
    *,
    splits: str = "binary",
    criterion: str = "gain",
    weight: str = "row",
    min_rows: int = 2,
    max_depth: int | None = None,
    prune: bool = True,
) -> Node | None:
    """Grow a tree on the whole join; None if the join is empty."""
    labels = sorted({row[data.cls] for row in data.rows[data.root]} - {None})
    every = join_of(data, weight)

    def grow(here: Weighed, depth: int) -> Node:
        counts = by_class(here, data, labels)
        node: Node = {"counts": counts, "class": labels[counts.index(max(counts))]}
        if max(counts) == sum(counts) or sum(counts) < min_rows or depth == max_depth:
            return node
        tests = list(candidates(here, data, splits))
        scores = [worth(here, divide(here, test)[0], data, labels, criterion) for test in tests]
        best = max(scores, key=rounded, default=0.0)
        if best <= 0:
            return node
        test = tests[[rounded(score) for score in scores].index(rounded(best))]
        parts, default = divide(here, test)
        below = [grow(part, depth + 1) for part in parts]
        return {**node, "test": test, "missing": default, "branches": below}

    if not every:
        return None
    root = grow(every, 0)
    return pruned(root)[0] if prune else root


# Classification ----------------------------------------------------------------------------------


def seen_in(every: Weighed) -> dict[tuple[int, str], set[Any]]:
    """Return the values of each column in the join: all that training has seen."""
    places = every[0][0] if every else {}
    return {place: {row[place] for row, _ in every} for place in places}


def leaf(node: Node, row: Joined, seen: dict[tuple[int, str], set[Any]]) -> Node:
    while "branches" in node:
        test = node["test"]
        place = (test["table"], test["column"])
        unseen = "at_most" not in test and row[place] not in seen[place]
        at = None if unseen else branch(test, row[place])
        node = node["branches"][node["missing"] if at is None else at]
    return node


def classified(
    root: Node, data: Tables, rows: Sequence[Cells], weight: str
) -> list[tuple[str | None, float | None, int]]:
    """Return class, share and joined rows of each record."""
    seen = seen_in(join_of(data, weight))
    labels = sorted({row[data.cls] for row in data.rows[data.root]} - {None})
    found: list[tuple[str | None, float | None, int]] = []
    for row in rows:
        counts = dict.fromkeys(labels, 0)
        for joined, n in behind(data, data.root, row, 1):
            counts[leaf(root, joined, seen)["class"]] += n
        every = sum(counts.values())
        if not every:
            found.append((None, None, 0))
            continue
        most = max(counts.values())
        found.append((next(c for c in labels if counts[c] == most), most / every, every))
    return found
