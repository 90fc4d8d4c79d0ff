"""A join that nobody builds, as the records that a tree is grown from.

Source: Xu 2008, chapter 3: choosing a split, and split propagation.

A node holds of every table the rows that are still in it, with their vectors (`kernels`). Choosing
a split asks every table for its best, which its own rows tell; the best of all wins. Dividing
begins in the table that splits and goes along the joins: a neighbour learns, by join value and
class, which part of its joined rows a branch has, takes the same part of its rows' vectors, and so
knows what to tell the next. Between two tables nothing passes but sums by join value and class.

Cost: a node reads the rows it holds once a column, and once for dividing; never the join.

Where we differ from the paper:

1. Parts of counts are taken without scaling and without leaving 64 bits (`kernels`); counts beyond
   are whole numbers of any length, and only until a branch is small enough (test_join_tree_twin).
2. A branch that will not be divided is counted and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.data.keys import key
from reticent.jointree import kernels
from reticent.jointree.propagation import WORD, Propagated, Vectors, total
from reticent.jointree.tables import CodedJoin
from reticent.trees import kernels as splitting
from reticent.trees.learner import CRITERIA, RecordSource, TreeOptions, grow
from reticent.trees.prune import prune
from reticent.trees.tree import Feature, Split, TreeNode

ROUNDED_BELOW = 2**50  # counts below it are divided by rounding
_MANY = 3  # branches, from which on each looks for its partners by join value
_REMEMBERED = 1 << 16  # x · log2 x is looked up below, computed above

Held = tuple[NDArray[np.int32], Vectors]  # the rows of a table in a node, and their vectors


def grown(
    joined: Propagated, rules: TreeOptions, told: Callable[[int], None] = lambda nodes: None
) -> TreeNode:
    """The tree over the join, pruned if the rules say so; splits name columns of all tables.

    `told` hears how many nodes there are, so far.
    """
    rules = rules.of_unit(joined.unit)
    with np.errstate(over="ignore"):
        root = grow(source_of(joined, rules), rules, told)
    if rules.confidence is not None:
        prune(root, rules.confidence, joined.unit)
    return root


def source_of(joined: Propagated, rules: TreeOptions) -> RecordSource:
    """All joined rows as a source; `rules` count in parts of a row, where `joined` does."""
    held = tuple(map(short, zip(joined.rows, joined.vectors, strict=True)))
    return _JoinedRows(JoinLoops(joined, rules), held, joined.counts, 0)


@dataclass(frozen=True, slots=True)
class JoinWay:
    """From one table to the next, by join values."""

    start: int
    end: int
    of_start: NDArray[np.int32]
    of_end: NDArray[np.int32]


class JoinLoops:
    """What all nodes share: the tables, the ways between them, and scratch."""

    def __init__(self, joined: Propagated, rules: TreeOptions) -> None:
        coded = joined.coded
        self.rules = rules
        self.criterion = CRITERIA[rules.criterion]
        self.floats = joined.numbers == "float64"
        self.root = coded.root
        self.tables = coded.tables
        by_text = splitting.EACH if rules.splits == "multiway" else splitting.EQUALS
        self.kinds = [
            np.array([splitting.AT_MOST if f.number else by_text for f in t.features], np.int64)
            for t in coded.tables
        ]
        self.sizes = [np.array([len(f.values) for f in t.features], np.int64) for t in coded.tables]
        self.first = np.cumsum([0, *(len(t.features) for t in coded.tables)]).tolist()
        self.classes = len(coded.labels)
        self.values = max([1, *(int(s.max(initial=0)) for s in self.sizes)])
        self.join_values = max([1, *(join.values for join in coded.joins)])
        self.ways = [ways_from(start, coded.joins) for start in range(len(coded.tables))]
        x = np.arange(1, 2 if self.floats else _REMEMBERED)
        self.ns = np.concatenate([[0.0], x * np.log2(x)]) if not self.floats else np.empty(0)
        self.seen = np.zeros(self.values, np.uint8)
        self.found = np.empty(self.values, np.int64)

    def owner(self, column: int) -> int:
        """The table of a column."""
        return next(t for t, end in enumerate(self.first[1:]) if column < end)

    @cached_property
    def sums(self) -> Vectors:
        """Scratch of counts, by value of a column."""
        return self._clean(self.values)

    @cached_property
    def carrier(self) -> Carrier:
        """What divides tables as their neighbours were."""
        return Carrier(self.join_values, self.classes, floats=self.floats)

    def _clean(self, lines: int) -> Vectors:
        return np.zeros((lines, self.classes), np.float64 if self.floats else np.int64)

    def best(
        self, held: Sequence[Held], without: Collection[tuple[int, int]] = ()
    ) -> tuple[int, Split | None]:
        """The key of the best split of all tables, and the split; none has a key of 0.

        Splits `without` are passed over, each named by its column and its first code.
        """
        top, chosen = 0, None
        for t, table in enumerate(self.tables):
            if not table.features:
                continue
            codes = table.codes
            if skipped := [(c, code) for c, code in without if self.owner(c) == t]:
                found = self._best_without(t, held[t], skipped)
            elif held[t][1].dtype == object:
                found = _best_exactly(codes, self.kinds[t], *held[t], self.criterion)
            else:
                found = kernels.best(
                    codes, self.kinds[t], self.sizes[t], *held[t], self.criterion,
                    self.sums, self.seen, self.found, self.ns,
                )  # fmt: skip
            if found[0] > top:
                top, chosen = found[0], (t, *found[1:])
        return (0, None) if chosen is None else (top, self._split(held, *chosen))

    def _best_without(
        self, table: int, held: Held, without: Sequence[tuple[int, int]]
    ) -> tuple[int, int, int, int]:
        """The best split of a table that is none of these; slowly, as it is asked for seldom."""
        rows, vectors = held
        exact = vectors if self.floats else vectors.astype(object)
        skipped = {(column - self.first[table], code) for column, code in without}
        return _best_exactly(
            self.tables[table].codes, self.kinds[table], rows, exact, self.criterion, skipped
        )  # fmt: skip

    def _split(
        self, held: Sequence[Held], table: int, column: int, code: int, default: int
    ) -> Split:  # fmt: skip
        number = self.first[table] + column
        if self.kinds[table][column] != splitting.EACH:
            return Split(number, (code,), default)
        present = np.unique(self.tables[table].codes[column, held[table][0]])
        return Split(number, tuple(present[present >= 0].tolist()), default)

    def take(self, held: Sequence[Held], split: Split) -> tuple[NDArray[np.int64], Vectors]:
        """The branch that each row takes of the table that splits; joined rows by branch."""
        t = self.owner(split.column)
        column = split.column - self.first[t]
        kind = int(self.kinds[t][column])
        rows, vectors = held[t]
        taken = kernels.branches(
            self.tables[t].codes[column], rows, kind, np.array(split.codes, np.int32),
            split.default,
        )  # fmt: skip
        return taken, _totals(taken, vectors, len(split.codes) if kind == splitting.EACH else 2)

    def how(self, counts: Sequence[Any]) -> int:
        """How parts of a node's counts are taken: see `kernels.carry`."""
        if self.floats:
            return kernels.SHARED
        return kernels.ROUNDED if sum(counts) < ROUNDED_BELOW else kernels.MENDED

    def closed(self, counts: Sequence[Any], depth: int) -> bool:
        """Whether a node with these counts is a leaf, whatever its tables hold."""
        few = sum(counts) < self.rules.min_rows
        return few or sum(map(bool, counts)) < 2 or depth == self.rules.max_depth


def ways_from(start: int, joins: Sequence[CodedJoin]) -> list[JoinWay]:
    """All ways that lead on from one table, nearer ones first."""
    found: list[JoinWay] = []
    reached = [start]
    for at in reached:  # grows while it is read
        for join in joins:
            both = JoinWay(join.parent, join.table, join.of_parent, join.of_table)
            back = JoinWay(join.table, join.parent, join.of_table, join.of_parent)
            for way in (both, back):
                if way.start == at and way.end not in reached:
                    found.append(way)
                    reached.append(way.end)
    return found


@dataclass(slots=True)
class _JoinedRows:
    """The joined rows of one node, as the tables hold them."""

    joins: JoinLoops
    held: Sequence[Held]  # by table; nothing if the node is a leaf for sure
    counts: NDArray[Any]
    depth: int

    def classes(self) -> NDArray[Any]:
        return self.counts

    def best(self, rules: TreeOptions) -> Split | None:
        return self.joins.best(self.held)[1]

    def divide(self, split: Split) -> Sequence[_JoinedRows]:
        joins, held = self.joins, self.held
        self.held = ()
        t, depth = joins.owner(split.column), self.depth + 1
        taken, counts = joins.take(held, split)
        closed = [joins.closed(line, depth) for line in counts.tolist()]
        parts: list[list[Held]] = [[] if shut else [*held] for shut in closed]
        for part, here in zip(parts, branch_rows(taken, len(parts)), strict=True):
            if part:
                part[t] = part_of(held[t], here)
        opened = [part for part in parts if part]
        if opened:
            self._along(held, t, opened)
        for part in opened:
            part[:] = map(short, part)
        return [
            _JoinedRows(joins, part, line, depth) for part, line in zip(parts, counts, strict=True)
        ]

    def _along(self, held: Sequence[Held], start: int, parts: Sequence[list[Held]]) -> None:
        """Divide all other tables as the first one was, from neighbour to neighbour."""
        how = self.joins.how(self.counts.tolist())
        for way in self.joins.ways[start]:
            self.joins.carrier.along(way, held, parts, how)


class Carrier:
    """Divides a table as its neighbour was, join by join, with scratch that all nodes share.

    Two branches read all rows of the table. Of many, each reads those rows alone that have a join
    value which it holds: a split by thousands of values costs what its branches hold together.
    """

    def __init__(self, values: int, classes: int, *, floats: bool = False) -> None:
        kind = np.float64 if floats else np.int64
        self.whole: Vectors = np.zeros((values, classes), kind)
        self.part: Vectors = np.zeros((values, classes), kind)
        self.values = values

    @cached_property
    def _index(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]:
        ends = np.zeros((2, self.values), np.int64)
        return ends[0], ends[1], np.zeros(self.values, np.uint8)

    def along(
        self, way: JoinWay, held: Sequence[Held], parts: Sequence[list[Held]], how: int
    ) -> None:  # fmt: skip
        """Give every part its rows of the table at the end of a way; it has those at the start."""
        exact = held[way.start][1].dtype == object or held[way.end][1].dtype == object
        if not exact:
            kernels.add_up(way.of_start, *held[way.start], self.whole)
        if len(parts) < _MANY:
            for part in parts:
                part[way.end] = self._carried(
                    way, held[way.start], held[way.end], part[way.start], how, exact
                )
        else:
            self._along_many(way, held, parts, how, exact)
        if not exact:
            kernels.clear(way.of_start, held[way.start][0], self.whole)

    def _along_many(
        self, way: JoinWay, held: Sequence[Held], parts: Sequence[list[Held]], how: int, exact: bool
    ) -> None:
        ends = [(way.of_end, held[way.end])]
        if exact:  # whole numbers of any length are added up anew for each branch
            ends.append((way.of_start, held[way.start]))
        behind = [self._partners(way, keys, some, parts) for keys, some in ends]
        starts = behind[1] if exact else [held[way.start]] * len(parts)
        for part, whole, end in zip(parts, starts, behind[0], strict=True):
            part[way.end] = self._carried(way, whole, end, part[way.start], how, exact)

    def keep_partners(self, way: JoinWay, end: Held, parts: Sequence[list[Held]]) -> None:
        """Leave every part those rows at the end of a way that some row at its start joins."""
        found = self._partners(way, way.of_end, end, parts)
        for part, some in zip(parts, found, strict=True):
            part[way.end] = some

    def _partners(
        self, way: JoinWay, keys: NDArray[np.int32], held: Held, parts: Sequence[list[Held]]
    ) -> list[Held]:
        """Of some rows, for each part those with a join value that its rows have at the start."""
        first, last, seen = self._index
        places = kernels.index(keys, held[0], first, last)
        found = [
            part_of(held, kernels.partners(
                way.of_start, part[way.start][0], first, last, places, seen))
            for part in parts
        ]  # fmt: skip
        kernels.unindex(keys, held[0], first, last)
        return found

    def _carried(
        self, way: JoinWay, whole: Held, end: Held, part: Held, how: int, exact: bool
    ) -> Held:  # fmt: skip
        if exact:
            return carry_exactly(way, whole, end, part)
        kernels.add_up(way.of_start, *part, self.part)
        found: Held = kernels.carry(way.of_end, *end, self.whole, self.part, how)
        kernels.clear(way.of_start, part[0], self.part)
        return found


def branch_rows(taken: NDArray[np.int64], count: int) -> list[NDArray[np.int64]]:
    """The places of the rows of each branch, rising."""
    order = np.argsort(taken, kind="stable")
    return np.split(order, np.cumsum(np.bincount(taken, minlength=count))[:-1])


def part_of(held: Held, here: NDArray[Any]) -> Held:
    """Some rows of a table, with their vectors."""
    rows, vectors = held
    return rows[here], vectors[here]


def _totals(taken: NDArray[np.int64], vectors: Vectors, count: int) -> Vectors:
    """The sum of the vectors of each branch."""
    if vectors.dtype != object:
        found: Vectors = kernels.totals(taken, vectors, count)
        return found
    return np.array([total(vectors[taken == b]) for b in range(count)], object)


# --- numbers of any length -----------------------------------------------------------------------


def short(held: Held) -> Held:
    """The same rows with their vectors in 64 bits, as soon as they fit."""
    rows, vectors = held
    if vectors.dtype == object and sum(total(vectors).tolist()) < WORD:
        return rows, vectors.astype(np.int64)
    return held


def carry_exactly(way: JoinWay, whole: Held, end: Held, part: Held) -> Held:
    """`kernels.carry`, with the sums that it needs, by numbers of any length."""
    values = np.unique(way.of_start[whole[0]])
    sums, parts = (add_exactly(way.of_start, held, values) for held in (whole, part))
    return shared_exactly(way.of_end, end, values, sums, parts)


def add_exactly(keys: NDArray[np.int32], held: Held, values: NDArray[np.int32]) -> Vectors:
    """`kernels.add_up` for these join values alone."""
    sums = np.zeros((len(values), held[1].shape[1]), object)
    np.add.at(sums, np.searchsorted(values, keys[held[0]]), held[1])
    return sums


def shared_exactly(
    keys: NDArray[np.int32], end: Held, values: NDArray[np.int32], sums: Vectors, parts: Vectors
) -> Held:
    """What a branch leaves of a table, from its parts of the sums of these join values."""
    rows, vectors = end
    divisor = np.gcd(parts, sums)
    divisor[divisor == 0] = 1
    p, q = parts // divisor, sums // divisor
    q[q == 0] = 1
    place = np.searchsorted(values, keys[rows])
    shares = vectors // q[place] * p[place]
    stays = (shares != 0).any(axis=1)
    return rows[stays], shares[stays]


def _best_exactly(
    codes: NDArray[np.int32], kinds: NDArray[np.int64], rows: NDArray[np.int32], vectors: Vectors,
    criterion: int, without: Collection[tuple[int, int]] = (),
) -> tuple[int, int, int, int]:  # fmt: skip
    """`kernels.best` by numbers of any length, without some splits by column and first code."""
    top, best = 0, (0, -1, 0, 0)
    for j, kind in enumerate(kinds.tolist()):
        cells = codes[j, rows]
        known = cells >= 0
        values, at = np.unique(cells[known], return_inverse=True)
        if len(values) < 2:
            continue
        counts = np.zeros((len(values), vectors.shape[1]), object)
        np.add.at(counts, at, vectors[known])
        missing = total(vectors[~known])
        for position, default, parts in _partitions(counts, missing, kind):
            if (j, int(values[position])) in without:
                continue
            score = _score(parts, criterion)
            if score and (found := int(key(score))) > top:
                top, best = found, (found, j, int(values[position]), default)
    return best


def _partitions(
    counts: Vectors, missing: NDArray[Any], kind: int
) -> Iterator[tuple[int, int, list[list[int]]]]:
    """All splits of one column: where, which branch missing values take, and what each holds."""
    known = [int(n) for n in counts.sum(axis=0)]
    lost = missing.tolist()
    if kind == splitting.EACH:
        parts = counts.tolist()
        sizes = [sum(part) for part in parts]
        default = sizes.index(max(sizes))
        parts[default] = [a + b for a, b in zip(parts[default], lost, strict=True)]
        yield 0, default, parts
        return
    inside = np.cumsum(counts, axis=0)[:-1] if kind == splitting.AT_MOST else counts
    for position, first in enumerate(inside.tolist()):
        second = [a - b for a, b in zip(known, first, strict=True)]
        default = 0 if sum(first) >= sum(second) else 1
        parts = [first, second]
        parts[default] = [a + b for a, b in zip(parts[default], lost, strict=True)]
        yield position, default, parts


def _score(parts: Sequence[Sequence[int]], criterion: int) -> float:
    """The gain of a partition, or its ratio; 0 where there is none worth the name.

    Shares of a class are true quotients; what they are shares of may have hundreds of digits.
    """
    sizes = [sum(part) for part in parts]
    rows = sum(sizes)
    bits = _bits([sum(line) for line in zip(*parts, strict=True)], rows)
    left = sum(size / rows * _bits(part, size) for part, size in zip(parts, sizes, strict=True))
    gain = bits - left
    if gain < splitting.NO_GAIN:
        return 0.0
    return gain if criterion == splitting.GAIN else gain / _bits(sizes, rows)


def _bits(counts: Sequence[int], rows: int) -> float:
    """The entropy of some counts; of a share close to 1, what lacks is known to more digits."""
    found = 0.0
    for n in counts:
        if n and n != rows:
            log = (
                math.log1p(-((rows - n) / rows)) / math.log(2)
                if 2 * n > rows
                else math.log2(n / rows)
            )
            found -= n / rows * log
    return found


def features_of(joined: Propagated) -> tuple[tuple[str, Feature], ...]:
    """What `Split.column` counts: all columns that may split, each with its table, in tie order."""
    tables = joined.coded.tables
    return tuple((table.name, feature) for table in tables for feature in table.features)
