"""The class of records from the rows they join with, counted and not built.

All joined rows of all records go down the tree together. A node holds of every table the rows that
are still in it, with their weights: joined rows of what lies behind (`propagation`). A question
divides the rows of its own table alone; then, join by join up to the table of the class, weights
shrink to what is left behind them, and elsewhere rows without a partner go. In a leaf, the weight
of a record is the number of its joined rows that end there; the class with most of them wins.

Where there are few enough joined rows they can be listed, one by one, with their classes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from reticent.data.columns import Column, Table
from reticent.data.scales import points_of, time_of
from reticent.errors import InputError, Problem, many, refuse, remedy
from reticent.files.tabular import Reading
from reticent.jointree import kernels
from reticent.jointree.learning import (
    ROUNDED_BELOW,
    Carrier,
    Held,
    branch_rows,
    part_of,
    ways_from,
)
from reticent.jointree.model import JoinNode, JoinTree, Question
from reticent.jointree.propagation import Reduced, reduce, upwards
from reticent.jointree.schema import JoinSchema
from reticent.jointree.tables import (
    CodedJoin,
    CodedTable,
    CodedTables,
    choosing,
    form_of,
    mismatches,
    read_columns,
    side_codes,
    standing,
)
from reticent.progress import Watch
from reticent.trees import kernels as splitting

MOST_JOINED = 10**6  # joined rows that are listed one by one
ROW = "row"  # what a record without ids goes by: its place in the file, from 1
TEST_KINDS = {"at_most": splitting.AT_MOST, "is": splitting.EQUALS, "by": splitting.EACH}


@dataclass(frozen=True, slots=True)
class ClassifiedRecords:
    """What became of every record of the class's table, in the order of its file."""

    ids: Mapping[str, Column]  # by name; nothing where records go by their place
    labels: tuple[str, ...]
    lines: NDArray[Any]  # lines[i, class]: joined rows of a kind of record; 64 bits, or any length
    at: NDArray[np.int64]  # at[record]: of which kind it is
    majority: int | None = None  # the class of records that join with nothing, if they get one

    @property
    def counts(self) -> NDArray[Any]:
        """Joined rows of each record, by class."""
        found: NDArray[Any] = self.lines[self.at]
        return found

    @property
    def records(self) -> int:
        """How many there are."""
        return len(self.at)

    @property
    def rows(self) -> list[int]:
        """How many rows each record joins with."""
        every = self._every
        return [every[i] for i in self.at.tolist()]

    @property
    def joined(self) -> int:
        """How many rows all of them join with."""
        kinds = np.bincount(self.at, minlength=len(self.lines)).tolist()
        return sum(n * every for n, every in zip(kinds, self._every, strict=True))

    @property
    def winners(self) -> NDArray[np.int64]:
        """The class of each record, the first of equals; -1 for one that joins with nothing."""
        return self._winners[self.at]

    @property
    def _every(self) -> list[int]:
        return [int(n) for n in self.lines.sum(axis=1).tolist()]

    @property
    def _winners(self) -> NDArray[np.int64]:
        most = np.array([_first_largest(line) for line in self.lines.tolist()], np.int64)
        alone = np.array([not n for n in self._every], dtype=bool)
        return np.where(alone, -1, most)

    @property
    def classes(self) -> list[str | None]:
        """The label of each record; None where there is none to give."""
        found: list[str | None] = self._taken(self._labels, pa.string()).to_pylist()
        return found

    @property
    def _labels(self) -> list[str | None]:
        spare = None if self.majority is None else self.labels[self.majority]
        return [spare if w < 0 else self.labels[w] for w in self._winners.tolist()]

    @property
    def shares(self) -> list[float | None]:
        """The share of a record's joined rows that its class has."""
        found: list[float | None] = self._taken(self._shares, pa.float64()).to_pylist()
        return found

    @property
    def _shares(self) -> list[float | None]:
        lines = zip(self.lines.tolist(), self._every, strict=True)
        return [max(line) / every if every else None for line, every in lines]

    @property
    def told(self) -> tuple[int, ...]:
        """How many records each class has."""
        winners = np.where(self._winners < 0, self.majority, self._winners) if (
            self.majority is not None) else self._winners  # fmt: skip
        count = np.bincount(winners[self.at] + 1, minlength=len(self.labels) + 1)
        return tuple(count[1:].tolist())

    def table(self, *, typed: bool = False) -> pa.Table:
        """All of it as columns of text, as classes.csv has them; or `typed`, as other files do."""
        return self._table(0, self.records, typed=typed)

    def pieces(self, rows: int, *, typed: bool = False) -> Iterator[pa.Table]:
        """The same in tables of so many rows; one without any, if there are none."""
        for start in range(0, max(self.records, 1), rows):
            yield self._table(start, min(start + rows, self.records), typed=typed)

    def _table(self, start: int, end: int, *, typed: bool) -> pa.Table:
        part = slice(start, end)
        columns: dict[str, Any] = {
            name: replace(column, codes=column.codes[part]).cells()
            for name, column in self.ids.items()
        }
        if not columns:
            places = pa.array(range(start + 1, end + 1), pa.int64())
            columns[ROW] = places if typed else places.cast(pa.string())
        every = self._every
        shares = self._shares
        columns["class"] = self._taken(self._labels, pa.string(), part)
        if typed:
            columns["share"] = self._taken(shares, pa.float64(), part)
        else:
            told = [None if share is None else f"{share:.6f}" for share in shares]
            columns["share"] = self._taken(told, pa.string(), part)
        whole = typed and max(every, default=0) < 2**63  # else no column of numbers holds them
        rows: list[Any] = every if whole else [*map(str, every)]
        columns["rows"] = self._taken(rows, pa.int64() if whole else pa.string(), part)
        return pa.table([*columns.values()], names=[*columns])

    def _taken(self, each: Sequence[Any], kind: pa.DataType, part: slice = slice(None)) -> pa.Array:
        """What stands for each kind of record, for each record."""
        return pa.array(each, kind).take(pa.array(self.at[part]))


def _first_largest(line: Sequence[Any]) -> int:
    return line.index(max(line))


# --- reading -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AskedColumn:
    """A column that some node asks about, and the values that it asks for, in order."""

    number: bool
    values: tuple[Any, ...]  # rising: thresholds, or texts by code point
    points: tuple[Any, ...]  # thresholds that can be compared with cells

    @cached_property
    def _at(self) -> dict[Any, int]:
        return {value: i for i, value in enumerate(self.values)}

    def places(self, asks: Question) -> NDArray[np.int32]:
        """Where the values of a question stand among all."""
        return np.array([self._at[value] for value in asks.values], np.int32)

    def codes(self, column: Column, form: Mapping[str, Any]) -> NDArray[np.int64]:
        """The column by these values: the first that is not smaller, or the same; -1 for none."""
        return self.of_values(column, form)[column.codes]

    def of_values(self, column: Column, form: Mapping[str, Any]) -> NDArray[np.int64]:
        """The same of its distinct values."""
        if self.number:
            times = isinstance(self.values[0], str)
            found = points_of(column, times=times, **form)
            to = [-1 if p is None else bisect_left(self.points, p) for p in found]
        else:
            at = {text: i for i, text in enumerate(self.values)}
            to = [-1 if text is None else at.get(text, -1) for text in column.texts()]
        return np.array(to, np.int64)


def _point(threshold: Any) -> Any:
    """A threshold as cells are compared with it; times in microseconds, as if UTC."""
    if not isinstance(threshold, str):
        return threshold
    return time_of(threshold)


def asked_columns(tree: JoinTree) -> dict[tuple[str, str], AskedColumn]:
    """The columns that a tree asks about, as far as its questions are known here."""
    wanted: dict[tuple[str, str], set[Any]] = {}
    number: dict[tuple[str, str], bool] = {}
    for node in tree.root.walk():
        if isinstance(node.asks, Question):
            place = (node.asks.table, node.asks.column)
            seen = tree.seen.get(place[0], {}).get(place[1], ()) if node.asks.test == "is" else ()
            if place not in wanted:
                wanted[place] = {*seen}
            wanted[place] |= {*node.asks.values}
            number[place] = node.asks.test == "at_most"
    found = {}
    for place, some in wanted.items():
        values = sorted(some, key=_point) if number[place] else sorted(some)
        points = tuple(map(_point, values)) if number[place] else ()
        found[place] = AskedColumn(number[place], tuple(values), points)
    return found


@dataclass(frozen=True, slots=True)
class _Arrived:
    """The tables as the tree sees them, and where the records of each stand among its rows."""

    coded: CodedTables
    columns: tuple[tuple[str, ...], ...]  # of each table, those that are asked about
    asked: Mapping[tuple[str, str], AskedColumn]
    records: NDArray[np.int64]  # of each record of the class's table its row
    ids: tuple[Mapping[str, Column], ...]  # of each table that was read in order


def read_asked(
    tree: JoinTree,
    schema: JoinSchema,
    given: Mapping[str, Any],
    reading: Reading | None = None,
    engine: Mapping[str, Any] | None = None,
    *,
    every_row: bool = False,
    watch: Watch | None = None,
) -> list[Table]:
    """The columns that the tree asks about; of all tables in order, if `every_row`."""
    asked = asked_columns(tree)
    _refuse_others(tree, schema, asked)
    tables = []
    problems: list[Problem] = []
    for t, name in enumerate(schema.names):
        in_order = every_row or t == schema.root
        ids = schema.tables[name].ids if in_order else ()
        wanted = {c for table, c in asked if table == name} | schema.joins_with(t) | {*ids}

        choose = choosing(schema, name, wanted, problems, given.get(name))
        alike = {
            column: partial(one.of_values, form=form_of(reading))
            for (table, column), one in asked.items()
            if table == name and column not in {*schema.joins_with(t), *ids}
        }
        data = standing(schema, name, given)
        found = read_columns(
            schema, t, data, choose, reading, in_order=in_order, engine=engine, watch=watch,
            is_given=name in given, alike=alike,
        )  # fmt: skip
        if found is not None:
            tables.append(found)
    refuse(problems)
    return tables


def refuse_private(tree: JoinTree, where: str) -> None:
    """Refuse a tree whose questions stand at several sites."""
    if tree.sites:
        raise InputError(
            "this is a tree of several sites, which keep what it asks to themselves", where=where,
            do="classify at all of them at once:  reticent tree classify --party PARTY.toml MODEL "
            "--records IDS.csv -o classes.csv.",
        )  # fmt: skip


def _refuse_others(
    tree: JoinTree, schema: JoinSchema, asked: Mapping[tuple[str, str], AskedColumn]
) -> None:
    refuse_private(tree, schema.name)
    strange = sorted({table for table, _ in asked if table not in schema.tables})
    if strange or tree.target != schema.class_:
        what = f'the model asks table "{strange[0]}"' if strange else f"it tells {tree.target}"
        raise InputError(
            f"the model was not trained with this schema: {what}", where=schema.name,
            do="give the schema that it was trained with.",
        )  # fmt: skip
    if {*tree.joins} != {*schema.written_joins}:
        raise InputError(
            "the model was trained with other joins", where=schema.name,
            why="records join other rows than those that the tree was grown from.",
            do="give the schema that it was trained with, or train again.",
        )  # fmt: skip


def unfit_notes(
    tree: JoinTree,
    schema: JoinSchema,
    tables: Sequence[Table | None],
    reading: Reading | None = None,
) -> Iterator[str]:
    """What is said of columns whose cells all count as missing, being no numbers or times."""
    form = form_of(reading)
    for (name, column), asked in asked_columns(tree).items():
        table = tables[schema.names.index(name)] if name in schema.tables else None
        if not asked.number or table is None or column not in table.columns:
            continue
        held = table.columns[column]
        kind = "dates or times" if isinstance(asked.values[0], str) else "numbers"
        if len(held.values.drop_null()) and (asked.of_values(held, form) < 0).all():
            by = remedy("--decimal, --date-format or [reading]", "[reading]")
            yield (
                f"Warning: the model asks {name}.{column} for {kind}, and no cell of it is read as "
                f"one: all count as missing. {by} tells how they are written."
            )


def _arrive(
    tree: JoinTree,
    schema: JoinSchema,
    tables: Sequence[Table],
    reading: Reading | None,
    every_row: bool,
) -> _Arrived:
    """The tables as the tree sees them, equal rows counted once unless `every_row`."""
    asked, form = asked_columns(tree), form_of(reading)
    edges = schema.edges
    refuse(problem for edge in edges for problem in mismatches(schema, edge, tables))
    sides = [side_codes(edge, tables) for edge in edges]
    coded, names, ids = [], [], []
    joined: dict[tuple[int, int], NDArray[np.int32]] = {}
    records = np.arange(tables[schema.root].rows)
    for t, table in enumerate(tables):
        name = schema.names[t]
        own = [column for column in table.columns if (name, column) in asked]
        mine = [(e, edge.ends.index(t)) for e, edge in enumerate(edges) if t in edge.ends]
        columns = [(asked[name, c].codes(table.columns[c], form) + 1).astype(np.int32) for c in own]
        columns += [sides[e][0][s] + 1 for e, s in mine]
        counts = table.counts
        if not every_row:
            columns, counts, place = _once(columns, counts, table.rows)
            records = place if t == schema.root else records
        whole = [column.astype(np.int32) - 1 for column in columns]
        counts = np.ones(table.rows, np.int64) if counts is None else counts
        codes = np.array(whole[: len(own)], np.int32).reshape(len(own), len(counts))
        coded.append(CodedTable(name, (), codes, counts))
        names.append(tuple(own))
        joined |= {pair: whole[len(own) + i] for i, pair in enumerate(mine)}
        known = schema.tables[name].ids
        ids.append({c: table.columns[c] for c in known if c in table.columns})
    joins = tuple(
        CodedJoin(edge.parent, edge.table, edge.keeps, sides[e][1], joined[e, 0], joined[e, 1])
        for e, edge in enumerate(edges)
    )
    none = np.zeros(coded[schema.root].rows, np.int64)
    every = CodedTables(tuple(coded), joins, schema.root, (), none)
    return _Arrived(every, tuple(names), asked, records, tuple(ids))


def _once(
    columns: Sequence[NDArray[Any]], counts: NDArray[np.int64] | None, rows: int
) -> tuple[list[NDArray[Any]], NDArray[np.int64], NDArray[np.int64]]:
    """Equal rows counted once, and where each row went."""
    place, kinds = np.zeros(rows, np.int64), 1
    for column in columns:
        size = int(column.max(initial=0)) + 1
        place *= size
        place += column
        if kinds * size <= max(2 * rows, 1 << 16):  # sorting 8 million rows takes 300 MB
            used = np.zeros(kinds * size, dtype=bool)
            used[place] = True
            to = np.cumsum(used) - 1
            place, kinds = to[place], int(used.sum())
        else:
            some, place = np.unique(place, return_inverse=True)
            kinds = len(some)
    kinds = min(kinds, rows)
    first = np.empty(kinds, np.int64)
    first[place[::-1]] = np.arange(rows - 1, -1, -1)  # of several rows the first is written last
    each = np.zeros(kinds, np.int64)
    np.add.at(each, place, 1 if counts is None else counts)
    return [column[first] for column in columns], each, place


# --- counting ------------------------------------------------------------------------------------


def classify(
    tree: JoinTree,
    schema: JoinSchema,
    tables: Mapping[str, Any] | None = None,
    rows: Any = None,
    reading: Reading | None = None,
    *,
    majority: bool = False,
    engine: Mapping[str, Any] | None = None,
) -> ClassifiedRecords:
    """The class of every record of the class's table; of new ones, where `rows` are given."""
    given, reading = dict(tables or {}), schema.reads(reading)
    if rows is not None:
        given[schema.names[schema.root]] = rows
    read = read_asked(tree, schema, given, reading, engine)
    return classify_tables(tree, schema, read, reading, majority=majority)


def classify_tables(
    tree: JoinTree,
    schema: JoinSchema,
    tables: Sequence[Table],
    reading: Reading | None = None,
    *,
    majority: bool = False,
) -> ClassifiedRecords:
    """The same of tables that were read already, the class's with its records in order."""
    arrived = _arrive(tree, schema, tables, reading, every_row=False)
    coded = arrived.coded
    # Equal records are looked at once, and each of them joins with what one does.
    one = replace(coded.tables[coded.root], counts=np.ones(coded.tables[coded.root].rows, np.int64))
    own = tuple(one if t == coded.root else table for t, table in enumerate(coded.tables))
    counts = _counted(tree, replace(arrived, coded=replace(coded, tables=own)))
    spare = tree.root.winner if majority else None
    return ClassifiedRecords(
        arrived.ids[coded.root], tree.classes, counts, arrived.records, spare
    )  # fmt: skip


def _counted(tree: JoinTree, arrived: _Arrived) -> NDArray[Any]:
    """Joined rows by class, for each row of the class's table."""
    reduced = reduce(arrived.coded)
    coded = reduced.coded
    weights, _ = upwards(reduced)
    found = np.zeros((coded.tables[coded.root].rows, len(tree.classes)), weights[0].dtype)
    if not len(reduced.rows[coded.root]):
        return found
    descent = _Descent(arrived, reduced, int(weights[coded.root].sum()))
    waiting: list[tuple[JoinNode, list[Held]]] = [
        (tree.root, [*zip(reduced.rows, weights, strict=True)])
    ]
    while waiting:
        node, held = waiting.pop()
        if node.asks is None:
            rows, vectors = held[coded.root]
            found[rows, node.winner] += vectors[:, 0]
            continue
        assert isinstance(node.asks, Question)  # `read_asked` refuses a tree with hidden ones
        parts = descent.divide(node.asks, held)
        waiting += [(b, part) for b, part in zip(node.branches, parts, strict=True) if part]
    return found


class _Descent:
    """What all nodes share on the way down: the tables, the ways up, and scratch."""

    def __init__(self, arrived: _Arrived, reduced: Reduced, joined: int) -> None:
        self.arrived = arrived
        self.coded = reduced.coded
        self.names = [table.name for table in reduced.coded.tables]
        self.ways = [ways_from(start, self.coded.joins) for start in range(len(self.names))]
        self.above = {(join.table, join.parent) for join in self.coded.joins}
        self.carrier = Carrier(max([1, *(join.values for join in self.coded.joins)]), 1)
        self.how = kernels.ROUNDED if joined < ROUNDED_BELOW else kernels.MENDED

    def branches(self, asks: Question, rows: NDArray[np.int32]) -> NDArray[np.int64]:
        """The branch that each of some rows takes of the table that is asked."""
        t = self.names.index(asks.table)
        j = self.arrived.columns[t].index(asks.column)
        codes = self.arrived.asked[asks.table, asks.column].places(asks)
        taken: NDArray[np.int64] = kernels.branches(
            self.coded.tables[t].codes[j], rows, TEST_KINDS[asks.test], codes, asks.missing
        )
        return taken

    def divide(self, asks: Question, held: list[Held]) -> list[list[Held]]:
        """What each branch holds; nothing, if it holds no joined rows."""
        t = self.names.index(asks.table)
        here = branch_rows(self.branches(asks, held[t][0]), asks.branches)
        parts = [[*held] if len(some) else [] for some in here]
        for part, some in zip(parts, here, strict=True):
            if part:
                part[t] = part_of(held[t], some)
        for way in self.ways[t]:
            opened = [part for part in parts if part]
            if (way.start, way.end) in self.above:
                self.carrier.along(way, held, opened, self.how)
            else:  # what lies behind weighs what it did, but is not asked in vain further down
                self.carrier.keep_partners(way, held[way.end], opened)
            parts = [part if part and len(part[way.end][0]) else [] for part in parts]
        return parts


# --- listing -------------------------------------------------------------------------------------


def joined_rows(
    tree: JoinTree,
    schema: JoinSchema,
    tables: Mapping[str, Any] | None = None,
    rows: Any = None,
    reading: Reading | None = None,
    *,
    most: int = MOST_JOINED,
) -> pa.Table:
    """One line for every joined row: the ids of all tables as ``table.column``, and its class.

    Lines stand by the records of the class's table, then by the rows of the others.
    """
    given, reading = dict(tables or {}), schema.reads(reading)
    if rows is not None:
        given[schema.names[schema.root]] = rows
    read = read_asked(tree, schema, given, reading, every_row=True)
    return list_joined(tree, schema, read, reading, most=most)


def list_joined(
    tree: JoinTree,
    schema: JoinSchema,
    tables: Sequence[Table],
    reading: Reading | None = None,
    *,
    most: int = MOST_JOINED,
) -> pa.Table:
    """The same of tables that were read already, each with its records in order."""
    arrived = _arrive(tree, schema, tables, reading, every_row=True)
    reduced = reduce(arrived.coded)
    coded = reduced.coded
    weights, _ = upwards(reduced)
    every = int(weights[coded.root].sum())
    if every > most:
        raise InputError(
            f"the join has {many(every, 'row')}, and at most {most:,} are listed",
            where="--joined", do="leave it out: records are classified without building the join.",
        )  # fmt: skip
    at = _expanded(reduced)
    winners = _listed(tree, _Descent(arrived, reduced, every), at)
    columns: dict[str, pa.Array] = {}
    root = schema.names[coded.root]
    if not arrived.ids[coded.root]:
        columns[f"{root}.{ROW}"] = pa.array([str(i + 1) for i in at[coded.root].tolist()])
    for t, name in enumerate(schema.names):
        for column, cells in arrived.ids[t].items():
            texts = pa.array([*cells.cells().to_pylist(), None], pa.string())
            columns[f"{name}.{column}"] = texts.take(pa.array(at[t]))  # of ⊥, the last
    labels = [tree.classes[winner] for winner in winners.tolist()]
    columns["class"] = pa.array(labels, pa.string())
    return pa.table([*columns.values()], names=[*columns])


def _expanded(reduced: Reduced) -> list[NDArray[np.int64]]:
    """The row of each table in every joined row."""
    coded = reduced.coded
    at: list[NDArray[np.int64]] = [np.empty(0, np.int64)] * len(coded.tables)
    at[coded.root] = reduced.rows[coded.root].astype(np.int64)
    done = [coded.root]
    for join in coded.joins:
        rows = reduced.rows[join.table]
        order = rows[np.argsort(join.of_table[rows], kind="stable")]
        keys = join.of_table[order]
        wanted = join.of_parent[at[join.parent]]
        low = np.searchsorted(keys, wanted, "left")
        partners = np.searchsorted(keys, wanted, "right") - low
        again = np.repeat(np.arange(len(wanted)), partners)
        first = np.cumsum(partners) - partners
        inside = np.arange(len(again)) - np.repeat(first, partners)
        for t in done:
            at[t] = at[t][again]
        at[join.table] = order[low[again] + inside].astype(np.int64)
        done.append(join.table)
    return at


def _listed(
    tree: JoinTree, descent: _Descent, at: Sequence[NDArray[np.int64]]
) -> NDArray[np.int64]:
    """The class of every joined row."""
    found = np.empty(len(at[0]), np.int64)
    waiting = [(tree.root, np.arange(len(found)))]
    while waiting:
        node, here = waiting.pop()
        if node.asks is None:
            found[here] = node.winner
            continue
        assert isinstance(node.asks, Question)
        own = at[descent.names.index(node.asks.table)][here].astype(np.int32)
        taken = descent.branches(node.asks, own)
        waiting += [
            (branch, some)
            for b, branch in enumerate(node.branches)
            if len(some := here[taken == b])
        ]
    return found
