"""How many joined rows of each class contain a row, for every row of every table.

Source: Xu 2008, chapter 3: class propagation.

Upwards, from the far ends of the joins to the table of the class: a row's *weight* is the number
of joined rows of all that lies behind it, its own copies times, for each join, the *message* of its
join value, which is the sum of the weights behind. Downwards: of the joined rows of a join value
and class, each row behind gets its weight's share, sum // message · weight; the division is exact.
Afterwards the vectors of every table add up to the same.

Where we differ from the paper: two sweeps instead of three, and no rescaling; rows without a
partner are found first, by sweeps in floats that also bound all numbers to come.

Two options: under weight = "record" each record of the class's table weighs 1, in parts of the
least common multiple of their joined rows, or in floats where that leaves 64 bits. A join that
*keeps* its left side gives whoever has no partner the join value ⊥ and one row behind it that
misses everything: it stands in every table of the subtree and joins along it alone, by ⊥.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from reticent.errors import InputError
from reticent.jointree import kernels
from reticent.jointree.tables import CodedJoin, CodedTable, CodedTables

Numbers = Literal["int64", "big integers", "float64"]
Vectors = NDArray[Any]  # vectors[i, c]: whole numbers of 64 bits or any length, or floats
WORD = 2**62  # below it all sums and products of a sweep fit into 64 bits
_HIGHEST = 1e300  # floats end soon after
_KINDS = {"int64": np.int64, "big integers": object, "float64": np.float64}


@dataclass(frozen=True, slots=True)
class Propagated:
    """The tables with their vectors: all that a tree is grown from."""

    coded: CodedTables  # with the rows that miss everything, where joins keep their left side
    rows: tuple[NDArray[np.int32], ...]  # of each table those that stand in the join
    vectors: tuple[Vectors, ...]  # of these rows
    numbers: Numbers
    unit: int  # so many parts make one joined row, or one record
    joined: int  # rows of the join, whatever they weigh

    @property
    def counts(self) -> NDArray[Any]:
        """All joined rows by class."""
        return total(self.vectors[self.coded.root])


@dataclass(frozen=True, slots=True)
class Reduced:
    """The tables without what joins with nothing."""

    coded: CodedTables  # with the rows that miss everything, where joins keep their left side
    rows: tuple[NDArray[np.int32], ...]  # of each table those that stand in the join
    most: float  # about how many joined rows there are; no number of a sweep is larger

    def keys(self, join: CodedJoin) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The join values of these rows, on both sides."""
        return join.of_parent[self.rows[join.parent]], join.of_table[self.rows[join.table]]


def reduce(coded: CodedTables) -> Reduced:
    """Find the rows that stand in the join, and bound all numbers to come."""
    coded = with_missing_rows(coded)
    coded, alive, most = _swept(coded)
    if most >= _HIGHEST:
        raise InputError(
            "the join has more than 10^299 rows", where="the joins", do="join fewer tables."
        )
    return Reduced(coded, tuple(np.flatnonzero(some).astype(np.int32) for some in alive), most)


def _emptied(tables: Sequence[CodedTable], joins: Sequence[CodedJoin]) -> str:
    """Which joins have no value in common, if that is why nothing joins."""
    pairs = [
        f'"{tables[join.parent].name}" and "{tables[join.table].name}"'
        for join in joins
        if not join.values
    ]
    if not pairs:
        return "each join has common values, but no record has partners by all of them."
    return f"{' nor '.join(pairs)} have no join value in common."


def propagate(coded: CodedTables, weight: Literal["row", "record"] = "row") -> Propagated:
    """Give every row of every table its vector of joined rows by class."""
    reduced = reduce(coded)
    coded, rows, root = reduced.coded, reduced.rows, coded.root
    if not len(rows[root]):
        raise InputError(
            "the join is empty: no record that has a class joins with the other tables",
            where="the joins", why=_emptied(coded.tables, coded.joins),
            do="look whether join columns of both sides hold the same values.",
        )  # fmt: skip
    numbers: Numbers = "int64" if reduced.most < WORD else "big integers"
    records = coded.tables[root].counts[rows[root]]
    unit = 1
    weights, messages = upwards(reduced)
    base: Vectors = weights[root]
    joined = int(base.sum())
    if weight == "record":
        each = np.unique(weights[root][:, 0] // records)
        unit = _common(each, int(records.sum()))
        numbers, unit = ("int64", unit) if unit else ("float64", 1)
        weights, messages = ([some.astype(_KINDS[numbers]) for some in every]
                             for every in (weights, messages))  # fmt: skip
        base = records[:, None].astype(_KINDS[numbers]) * unit
    first = np.zeros((len(rows[root]), len(coded.labels)), _KINDS[numbers])
    first[np.arange(len(first)), coded.classes[rows[root]]] = base[:, 0]
    vectors = _downwards(reduced, first, weights, messages)
    return Propagated(coded, rows, vectors, numbers, unit, joined)


def _common(each: NDArray[Any], records: int) -> int:
    """The least common multiple of some counts; 0 where parts of records leave 64 bits."""
    found = 1
    for count in map(int, each):
        found = math.lcm(found, count)
        if found * records >= WORD:
            return 0
    return found


# --- joins that keep their left side -------------------------------------------------------------


def with_missing_rows(coded: CodedTables) -> CodedTables:
    """Add the rows that miss everything, and number ⊥ of each join behind its join values."""
    more: set[int] = set()
    for join in coded.joins:  # each table after the one that it lies behind
        if join.keeps or join.parent in more:
            more.add(join.table)
    joins = []
    for join in coded.joins:
        near, far, values = join.of_parent, join.of_table, join.values
        if join.parent in more:
            near = np.append(near, np.int32(values))
        if join.table in more:
            far, values = np.append(far, np.int32(values)), values + 1
        joins.append(replace(join, of_parent=near, of_table=far, values=values))
    tables = tuple(
        replace(
            table,
            counts=np.append(table.counts, 1),
            codes=np.append(table.codes, np.full((len(table.codes), 1), -1, np.int32), axis=1),
        )
        if t in more
        else table
        for t, table in enumerate(coded.tables)
    )
    return replace(coded, tables=tables, joins=tuple(joins))


def send_to_missing(join: CodedJoin, message: NDArray[Any]) -> NDArray[np.int32]:
    """Join values of the parent's rows; those without a partner get ⊥, if the join keeps them."""
    if not join.keeps:
        return join.of_parent
    alone = join.of_parent < 0
    alone[~alone] = message[join.of_parent[~alone]] == 0
    return np.where(alone, np.int32(join.values - 1), join.of_parent)


# --- sweeps --------------------------------------------------------------------------------------


def _swept(coded: CodedTables) -> tuple[CodedTables, list[NDArray[np.bool_]], float]:
    """Which rows stand in the join, and about how many joined rows there are."""
    weights = [table.counts.astype(np.float64) for table in coded.tables]
    joins = list(coded.joins)
    for e in reversed(range(len(joins))):
        join = joins[e]
        some = join.of_table >= 0
        message = np.bincount(
            join.of_table[some], weights[join.table][some], minlength=join.values
        )  # fmt: skip
        message = np.append(np.minimum(message, _HIGHEST), 0.0)  # the last is where -1 looks
        joins[e] = join = replace(join, of_parent=send_to_missing(join, message))
        weights[join.parent] *= message[join.of_parent]
        np.minimum(weights[join.parent], _HIGHEST, out=weights[join.parent])
    alive = [weight > 0 for weight in weights]
    for join in joins:
        reached = np.zeros(join.values + 1, dtype=bool)
        reached[join.of_parent[alive[join.parent]]] = True
        reached[-1] = False
        alive[join.table] &= reached[join.of_table]
    return replace(coded, joins=tuple(joins)), alive, float(weights[coded.root].sum())


def upwards(reduced: Reduced) -> tuple[list[Vectors], list[Vectors]]:
    """The weight of each row, and the message of each join value by join; both with one class."""
    coded = reduced.coded
    kind = np.int64 if reduced.most < WORD else object
    own = [table.counts[rows] for table, rows in zip(coded.tables, reduced.rows, strict=True)]
    weights: list[Vectors] = [counts.astype(kind).reshape(-1, 1) for counts in own]
    messages: list[Vectors] = [np.empty(0)] * len(coded.joins)
    for e in reversed(range(len(coded.joins))):
        join = coded.joins[e]
        near, far = reduced.keys(join)
        messages[e] = summed(far, weights[join.table], join.values)
        weights[join.parent] = weights[join.parent] * messages[e][near]
    return weights, messages


def _downwards(
    reduced: Reduced, first: Vectors, weights: Sequence[Vectors], messages: Sequence[Vectors]
) -> tuple[Vectors, ...]:
    """The vector of each row, from those of the class's table."""
    vectors = list(weights)
    vectors[reduced.coded.root] = first
    for join, message in zip(reduced.coded.joins, messages, strict=True):
        near, far = reduced.keys(join)
        sums = summed(near, vectors[join.parent], join.values)
        message = np.where(message == 0, 1, message)
        each = sums / message if sums.dtype == np.float64 else sums // message
        vectors[join.table] = weights[join.table] * each[far]
    return tuple(vectors)


def summed(keys: NDArray[np.int32], vectors: Vectors, size: int) -> Vectors:
    """The sum of the vectors of each join value."""
    sums = np.zeros((size, vectors.shape[1]), vectors.dtype)
    if vectors.dtype == object:
        np.add.at(sums, keys, vectors)
    else:
        kernels.sum_by(keys, vectors, sums)
    return sums


def total(vectors: Vectors) -> NDArray[Any]:
    """The sum of all vectors."""
    found: NDArray[Any] = vectors.sum(axis=0) if vectors.dtype == object else kernels.total(vectors)
    return found
