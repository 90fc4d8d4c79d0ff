"""A decision tree in the manner of C4.5, grown from counts of values by class.

Split where the class is told best, until a node holds one class, too few records or nothing to
gain; then cut back what will not pay on records to come (`reticent.trees.prune`).

Source: Xu 2008, chapter 3; Quinlan, C4.5 (1993).

`grow` asks three questions of a `Source`: how many records of each class it holds, which split of
it is best, and what its branches hold. Rows of one table answer them here (`rows_of`); tables that
join, or that lie with several owners, can answer as well, since all three need only counts.

Cost: every level of the tree reads each row once a column, for counting and for moving it.

Three criteria: most *gain*; highest *gain ratio*, which is gain over the information of the split
itself; and *c4.5*, which takes of each column the split of most gain that leaves two records in
at least two branches, charges numbers log2(values - 1) / records bits for having so many thresholds
to choose from, and among the columns that gain about the mean or more takes the highest ratio.
Texts with more than 0.3 values a record gain much from telling records apart, and so do not count
for that mean; just below that limit they can still outbid all others and be pruned away.

Where we differ from C4.5:

1. Under "gain ratio", all splits that gain anything compete, and thresholds cost nothing.
2. A threshold is a value that occurs in the node, under every criterion.
3. Missing and unseen values follow the branch with more known records, instead of all in shares.
4. Ties are pinned: columns as given, then values rising; scores are compared by their keys
   (`reticent.data.keys`). A leaf's tie goes to the class sorted first (test_tree_twin).
5. Pruning raises no subtrees (test_tree_twin).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from reticent.errors import InputError
from reticent.trees import kernels
from reticent.trees.prune import prune
from reticent.trees.tree import Feature, Split, Tree, TreeNode

Counts = NDArray[np.int64]
CRITERIA = {"c4.5": kernels.C45, "gain ratio": kernels.RATIO, "gain": kernels.GAIN}
_REMEMBERED = 1 << 20  # x · log2 x is looked up below, computed above


@dataclass(frozen=True, slots=True)
class TreeOptions:
    """How a tree is grown and cut back."""

    splits: Literal["multiway", "binary"] = "multiway"  # texts by value, or one against the rest
    criterion: Literal["c4.5", "gain ratio", "gain"] = "c4.5"
    min_rows: int = 2  # a node with fewer records is a leaf
    max_depth: int | None = None
    confidence: float | None = 0.25  # of the error estimate for pruning; None leaves all branches

    def __post_init__(self) -> None:
        allowed = {"splits": ("multiway", "binary"), "criterion": tuple(CRITERIA)}
        for name, words in allowed.items():
            if getattr(self, name) not in words:
                raise InputError(f"{name} must be one of {', '.join(words)}", where="tree")
        whole = [self.min_rows, 0 if self.max_depth is None else self.max_depth]
        if not all(isinstance(n, Integral) for n in whole):
            raise InputError("min_rows and max_depth are whole numbers", where="tree")
        if self.confidence is not None and not isinstance(self.confidence, Real):
            raise InputError("confidence is a number, or None", where="tree")
        if self.min_rows < 1 or (self.max_depth is not None and self.max_depth < 0):
            raise InputError("min_rows is at least 1, and max_depth at least 0", where="tree")
        if self.confidence is not None and not 0 < self.confidence <= 1:
            raise InputError("confidence must be above 0 and at most 1", where="tree")

    def of_unit(self, unit: int) -> TreeOptions:
        """The same rules for counts in parts, so many to a record."""
        return replace(self, min_rows=self.min_rows * unit)


class RecordSource(Protocol):
    """Records that a tree is grown from, wherever they are."""

    def classes(self) -> Counts:
        """How many records of each class there are."""

    def best(self, rules: TreeOptions) -> Split | None:
        """The split that tells most about the class; None if none tells anything."""

    def divide(self, split: Split) -> Sequence[RecordSource]:
        """The records of each branch; the source itself is used up."""


def train(
    features: Sequence[Feature],
    classes: NDArray[Any],
    labels: Sequence[str],
    rules: TreeOptions | None = None,
    weights: NDArray[Any] | None = None,
) -> Tree:
    """Grow and prune a tree that tells the class of a row from its features.

    `classes[row]` is an index into `labels`, which are in order, or -1 for a row without a class,
    which is left out; a row stands for `weights[row]` records, if given.

    >>> age = Feature("age", np.array([0, 1, 2, 2]), (23, 41, 58), number=True)
    >>> tree = train([age], np.array([0, 0, 1, 1]), ["no", "yes"])
    >>> print(tree.text())
    age ≤ 41: no (2)
    age > 41: yes (2)
    """
    rules = rules or TreeOptions()
    told = classes >= 0
    if not told.all():
        features = [replace(feature, codes=feature.codes[told]) for feature in features]
        classes, weights = classes[told], None if weights is None else weights[told]
    root = grow(rows_of(features, classes, len(labels), rules, weights), rules)
    if rules.confidence is not None:
        prune(root, rules.confidence)
    # What is kept, pickled and deployed is the tree, not the rows it was grown from.
    known = tuple(replace(feature, codes=feature.codes[:0]) for feature in features)
    return Tree(known, tuple(labels), root)


def grow(
    source: RecordSource, rules: TreeOptions, told: Callable[[int], None] = lambda nodes: None
) -> TreeNode:
    """Split until nothing is left to tell; deep trees are why this is a loop.

    `told` hears, split by split, how many nodes there are.
    """
    root, nodes = TreeNode(source.classes()), 1
    waiting = [(root, source, 0)]
    while waiting:
        node, records, depth = waiting.pop()
        counts = node.counts.tolist()
        pure = sum(map(bool, counts)) < 2
        if pure or sum(counts) < rules.min_rows or depth == rules.max_depth:
            continue
        split = records.best(rules)
        if split is None:
            continue
        node.split = split
        for branch in records.divide(split):
            child = TreeNode(branch.classes())
            node.branches.append(child)
            waiting.append((child, branch, depth + 1))
        nodes += len(node.branches)
        told(nodes)
    return root


def rows_of(
    features: Sequence[Feature],
    classes: NDArray[Any],
    class_count: int,
    rules: TreeOptions,
    weights: NDArray[Any] | None = None,
) -> RecordSource:
    """The rows of one table as a source."""
    n = len(classes)
    codes = np.empty((len(features), n), np.int32)
    orders = np.empty((len(features), n), np.int32)
    for j, feature in enumerate(features):
        codes[j] = feature.codes
        orders[j] = np.argsort(codes[j], kind="stable")
    by_text = kernels.EACH if rules.splits == "multiway" else kernels.EQUALS
    x = np.arange(1, min(_REMEMBERED, int(n if weights is None else weights.sum()) + 1))
    table = _TreeRows(
        orders,
        codes,
        np.array([kernels.AT_MOST if f.number else by_text for f in features], np.int64),
        _typical(features, n if weights is None else int(weights.sum())),
        classes.astype(np.int64),
        np.ones(n, np.int64) if weights is None else weights.astype(np.int64),
        np.concatenate([[0.0], x * np.log2(x)]),
        np.empty((n, class_count), np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int32),
    )
    return _Part(table, 0, n)


def _typical(features: Sequence[Feature], records: int) -> NDArray[np.bool_]:
    """Which columns have few enough values to count for a mean gain; all, if none has."""
    few = np.array([f.number or len(f.values) < 0.3 * records for f in features], dtype=bool)
    return few if few.any() else ~few


@dataclass(frozen=True, slots=True)
class _TreeRows:
    """A table and the scratch that its nodes share; see `kernels` for the arrays."""

    orders: NDArray[np.int32]
    codes: NDArray[np.int32]
    kinds: NDArray[np.int64]
    typical: NDArray[np.bool_]
    classes: NDArray[np.int64]
    weights: NDArray[np.int64]
    ns: NDArray[np.float64]
    counts: NDArray[np.int64]
    values: NDArray[np.int64]
    branch: NDArray[np.int64]
    scratch: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class _Part:
    """The rows of one node."""

    table: _TreeRows
    low: int
    high: int

    def classes(self) -> Counts:
        t = self.table
        if not len(t.orders):
            count = t.counts.shape[1]
            return np.bincount(t.classes, t.weights, minlength=count).astype(np.int64)
        found: Counts = kernels.count_classes(
            t.orders[0], t.classes, t.weights, self.low, self.high, t.counts.shape[1]
        )
        return found

    def best(self, rules: TreeOptions) -> Split | None:
        t = self.table
        column, code, default = kernels.best(
            t.orders, t.codes, t.kinds, t.typical, t.classes, t.weights, self.low, self.high,
            CRITERIA[rules.criterion], t.counts, t.values, t.ns,
        )  # fmt: skip
        if column < 0:
            return None
        if t.kinds[column] != kernels.EACH:
            return Split(column, (code,), default)
        present = t.codes[column, t.orders[column, self.low : self.high]]
        return Split(column, tuple(np.unique(present[present >= 0]).tolist()), default)

    def divide(self, split: Split) -> Sequence[_Part]:
        t = self.table
        ends = kernels.divide(
            t.orders, t.codes, t.kinds, self.low, self.high,
            split.column, split.codes[0], split.default, t.branch, t.scratch,
        ).tolist()  # fmt: skip
        return [_Part(t, low, high) for low, high in pairwise(ends)]
