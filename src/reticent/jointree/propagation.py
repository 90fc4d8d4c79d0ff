"""How many joined rows of each class contain a row, for every row of every table.

Source: Xu 2008, chapter 3: class propagation.

Upwards, from the far ends of the joins to the table of the class: a row's *weight* is the number
of joined rows of all that lies behind it, its own copies times, for each join, the *message* of its
join value, which is the sum of the weights behind. Downwards: of the joined rows of a join value
and class, each row behind gets its weight's share, sum // message · weight; the division is exact.
Afterwards the vectors of every table add up to the same.

Where we differ from the paper: two sweeps instead of three, and no rescaling; rows without a
partner are found first, by sweeps of yes and no. Of what is left no number is larger than the join,
so that one that leaves 64 bits says that the join does.

What one side of a join has added up gets to the other by a `JoinRelay`. Where all tables stand at
one site that is no way at all; between sites it is a message, and each site runs these loops over
its own tables, those of others having no rows.

Two options: under weight = "record" each record of the class's table weighs 1, in parts of the
least common multiple of their joined rows, or in floats where that leaves 64 bits. A join that
*keeps* its left side gives whoever has no partner the join value ⊥ and one row behind it that
misses everything: it stands in every table of the subtree and joins along it alone, by ⊥.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from reticent.errors import InputError
from reticent.jointree import kernels
from reticent.jointree.tables import CodedJoin, CodedTable, CodedTables

Numbers = Literal["int64", "big integers", "float64"]
Vectors = NDArray[Any]  # vectors[i, c]: whole numbers of 64 bits or any length, or floats
WORD = 2**62  # below it all sums and products of a sweep fit into 64 bits
_HIGHEST = 10**299  # floats end soon after
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
    counts: NDArray[Any]  # all joined rows by class


@dataclass(frozen=True, slots=True)
class Reduced:
    """The tables without what joins with nothing."""

    coded: CodedTables  # with the rows that miss everything, where joins keep their left side
    rows: tuple[NDArray[np.int32], ...]  # of each table those that stand in the join

    def keys(self, join: CodedJoin) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The join values of these rows, on both sides."""
        return join.of_parent[self.rows[join.parent]], join.of_table[self.rows[join.table]]


@dataclass(frozen=True, slots=True)
class RootCounts:
    """What the table of the class alone can tell."""

    numbers: Numbers
    unit: int  # so many parts make one joined row, or one record
    joined: int  # rows of the join
    counts: tuple[Any, ...]  # by class: of joined rows, or of weights


class EmptyJoin(InputError):
    """No record that has a class joins with the other tables."""


class JoinRelay(Protocol):
    """How what one side of a join has added up gets to the other."""

    def standing(self, join: int, up: bool, some: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which join values have rows that stand, as the side knows that has them."""

    def sums(self, join: int, up: bool, sums: Vectors, behind: Behind) -> Vectors:
        """The sums of each join value; `behind` counts the records of the table they come from."""

    def root(self, told: Callable[[], RootCounts]) -> RootCounts:
        """What the table of the class tells."""


Behind = Callable[[], NDArray[np.int64]]  # behind()[v, c]: of join value v and class c, if any


class _AtHome:
    """All tables stand at one site."""

    def standing(self, join: int, up: bool, some: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return some

    def sums(self, join: int, up: bool, sums: Vectors, behind: Behind) -> Vectors:
        return sums

    def root(self, told: Callable[[], RootCounts]) -> RootCounts:
        return told()


AT_HOME: JoinRelay = _AtHome()


def reduce(coded: CodedTables, relay: JoinRelay = AT_HOME) -> Reduced:
    """Find the rows that stand in the join."""
    coded, alive = _swept(with_missing_rows(coded), relay)
    return Reduced(coded, tuple(np.flatnonzero(some).astype(np.int32) for some in alive))


def _emptied(tables: Sequence[CodedTable], joins: Sequence[CodedJoin]) -> str:
    """Which joins have no value in common, if that is why nothing joins."""
    pairs = [
        f'"{tables[join.parent].name}" and "{tables[join.table].name}"'
        for join in joins
        if not join.values and tables[join.parent].rows + tables[join.table].rows  # not elsewhere
    ]
    if not pairs:
        return "each join has common values, but no record has partners by all of them."
    return f"{' nor '.join(pairs)} have no join value in common."


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


def propagate(
    coded: CodedTables, weight: Literal["row", "record"] = "row", relay: JoinRelay = AT_HOME
) -> Propagated:
    """Give every row of every table its vector of joined rows by class."""
    reduced = reduce(coded, relay)
    coded, rows, root = reduced.coded, reduced.rows, coded.root
    weights, messages = upwards(reduced, relay)
    told = relay.root(lambda: _at_root(reduced, weights[root], weight))
    if not told.joined:
        raise EmptyJoin(
            "the join is empty: no record that has a class joins with the other tables",
            where="the joins",
            why=" ".join([_emptied(coded.tables, coded.joins), *map(_sentence, coded.unlike)]),
            do="write times alike on both sides." if coded.unlike
            else "look whether join columns of both sides hold the same values.",
        )  # fmt: skip
    kind = _KINDS[told.numbers]
    weights, messages = ([some.astype(kind) for some in every] for every in (weights, messages))
    base = weights[root]
    if weight == "record":
        base = coded.tables[root].counts[rows[root]][:, None].astype(kind) * told.unit
    first = np.zeros((len(rows[root]), len(coded.labels)), kind)
    first[np.arange(len(first)), coded.classes[rows[root]]] = base[:, 0]
    vectors = _downwards(reduced, first, weights, messages, relay)
    return Propagated(
        coded, rows, vectors, told.numbers, told.unit, told.joined, np.array(told.counts, kind)
    )


def _at_root(reduced: Reduced, weights: Vectors, weight: str) -> RootCounts:
    """What all joined rows weigh by class, and in which numbers that is counted."""
    coded, rows = reduced.coded, reduced.rows[reduced.coded.root]
    records = coded.tables[coded.root].counts[rows]
    joined = int(weights.sum())
    numbers: Numbers = "int64" if joined < WORD else "big integers"
    base, unit = weights[:, 0], 1
    if weight == "record":
        unit = _common(np.unique(base // records), int(records.sum()))
        numbers, unit = ("int64", unit) if unit else ("float64", 1)
        base = records * unit
    counts = np.zeros(len(coded.labels), _KINDS[numbers])
    np.add.at(counts, coded.classes[rows], base.astype(counts.dtype))
    return RootCounts(numbers, unit, joined, tuple(counts.tolist()))


def _common(each: NDArray[Any], records: int) -> int:
    """The least common multiple of some counts; 0 where parts of records leave 64 bits."""
    found = 1
    for count in map(int, each):
        found = math.lcm(found, count)
        if found * records >= WORD:
            return 0
    return found


# --- joins that keep their left side -------------------------------------------------------------


class _Edge(Protocol):
    """A join, as far as it matters who may miss everything."""

    @property
    def parent(self) -> int:
        """The table that is nearer to the class."""

    @property
    def table(self) -> int:
        """The one behind it."""

    @property
    def keeps(self) -> bool:
        """Whether rows of the parent stay without a partner."""


def missing_tables(joins: Sequence[_Edge]) -> set[int]:
    """The tables with a row that misses everything: the last, and behind it stands no record."""
    more: set[int] = set()
    for join in joins:  # each table after the one that it lies behind
        if join.keeps or join.parent in more:
            more.add(join.table)
    return more


def with_missing_rows(coded: CodedTables) -> CodedTables:
    """Add the rows that miss everything, and number ⊥ of each join behind its join values."""
    more = missing_tables(coded.joins)
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


def send_to_missing(join: CodedJoin, standing: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Join values of the parent's rows; those without a partner get ⊥, if the join keeps them."""
    if not join.keeps:
        return join.of_parent
    return np.where(standing[join.of_parent], join.of_parent, np.int32(join.values - 1))


# --- sweeps --------------------------------------------------------------------------------------


def _swept(coded: CodedTables, relay: JoinRelay) -> tuple[CodedTables, list[NDArray[np.bool_]]]:
    """Which rows stand in the join."""
    alive = [np.ones(table.rows, dtype=bool) for table in coded.tables]
    joins = list(coded.joins)
    for e in reversed(range(len(joins))):
        join = joins[e]
        standing = _reached(join.of_table, alive[join.table], join.values)
        standing = np.append(relay.standing(e, True, standing), False)  # the last is where -1 looks
        joins[e] = join = replace(join, of_parent=send_to_missing(join, standing))
        alive[join.parent] &= standing[join.of_parent]
    for e, join in enumerate(joins):
        standing = _reached(join.of_parent, alive[join.parent], join.values)
        standing = np.append(relay.standing(e, False, standing), False)
        alive[join.table] &= standing[join.of_table]
    return replace(coded, joins=tuple(joins)), alive


def _reached(
    keys: NDArray[np.int32], alive: NDArray[np.bool_], values: int
) -> NDArray[np.bool_]:  # fmt: skip
    """Which join values some row has that stands."""
    found = np.zeros(values + 1, dtype=bool)
    found[keys[alive]] = True
    return found[:-1]


def upwards(reduced: Reduced, relay: JoinRelay = AT_HOME) -> tuple[list[Vectors], list[Vectors]]:
    """The weight of each row, and the message of each join value by join; both with one class."""
    coded = reduced.coded
    own = [table.counts[rows] for table, rows in zip(coded.tables, reduced.rows, strict=True)]
    weights: list[Vectors] = [counts.reshape(-1, 1) for counts in own]
    messages: list[Vectors] = [np.empty(0)] * len(coded.joins)
    for e in reversed(range(len(coded.joins))):
        join = coded.joins[e]
        near, far = reduced.keys(join)
        sums = summed(far, _wide(weights[join.table]), join.values)
        messages[e] = relay.sums(e, True, sums, partial(_behind, reduced, e))
        weights[join.parent] = _times(weights[join.parent], messages[e][near])
    if int(_wide(weights[coded.root]).sum()) >= _HIGHEST:
        raise InputError(
            "the join has more than 10^299 rows", where="the joins", do="join fewer tables."
        )
    return weights, messages


def _wide(vectors: Vectors, most: float | None = None) -> Vectors:
    """The same, as numbers of any length where their sum, or `most`, leaves 64 bits."""
    if vectors.dtype == object:
        return vectors
    bound = float(vectors.sum(dtype=np.float64)) if most is None else most
    return vectors if bound < WORD else vectors.astype(object)


def _times(weights: Vectors, messages: Vectors) -> Vectors:
    """Products, as numbers of any length where 64 bits do not hold their sum."""
    if weights.dtype == object or messages.dtype == object:
        return weights.astype(object) * messages
    most = float((weights.astype(np.float64) * messages).sum())
    return _wide(weights, most) * _wide(messages, most)


def _behind(reduced: Reduced, e: int) -> NDArray[np.int64]:
    """How many records of the table behind a join have each join value."""
    join = reduced.coded.joins[e]
    rows = reduced.rows[join.table]
    vectors = np.ones((len(rows), 1), np.int64)
    return records_behind(reduced.coded, join.table, join.of_table, rows, vectors, join.values)


def records_behind(
    coded: CodedTables,
    table: int,
    keys: NDArray[np.int32],
    rows: NDArray[np.int32],
    vectors: Vectors,
    values: int,
) -> NDArray[np.int64]:
    """How many records of a table's file lie behind each join value and class; ⊥ is no record."""
    counts = coded.tables[table].counts.copy()
    if table in missing_tables(coded.joins):
        counts[-1:] = 0
    found = np.zeros((values, vectors.shape[1]), np.int64)
    np.add.at(found, keys[rows], (vectors > 0) * counts[rows][:, None])
    return found


def _downwards(
    reduced: Reduced,
    first: Vectors,
    weights: Sequence[Vectors],
    messages: Sequence[Vectors],
    relay: JoinRelay,
) -> tuple[Vectors, ...]:
    """The vector of each row, from those of the class's table."""
    coded, vectors = reduced.coded, list(weights)
    vectors[coded.root] = first
    for e, (join, message) in enumerate(zip(coded.joins, messages, strict=True)):
        near, far = reduced.keys(join)
        rows, known = reduced.rows[join.parent], vectors[join.parent]

        def behind(join: CodedJoin = join, rows: Any = rows, known: Any = known) -> Any:
            return records_behind(coded, join.parent, join.of_parent, rows, known, join.values)

        # A table of another site has no rows, and nobody has told it the classes of any.
        known = known if len(rows) else np.zeros((0, first.shape[1]), first.dtype)
        sums = relay.sums(e, False, summed(near, known, join.values), behind)
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
