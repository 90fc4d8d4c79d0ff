"""The tables of a schema on their way in: read, coded, and equal rows counted once.

A table is needed for three things: columns that may split, columns by which it joins, and, of one
table, the class. All else stays in its file. What does not fit in memory is counted by an engine
where it stands, since the tree asks for nothing but counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from reticent.data.collapse import distinct
from reticent.data.columns import Column, Table, is_supported, without_missing
from reticent.data.scales import blurred, kind_of, scale_of
from reticent.data.texts import is_text, shortest
from reticent.errors import InputError, Problem, did_you_mean, many, quoted, refuse, remedy
from reticent.files.tabular import Reading
from reticent.jointree.records import Alike, records_in_order
from reticent.jointree.schema import JoinEdge, JoinSchema
from reticent.progress import Watch
from reticent.releases.policyfile import unknown_column
from reticent.sources.addresses import shown_name
from reticent.sources.arrival import means_of, parse
from reticent.trees.tree import Feature

if TYPE_CHECKING:
    from reticent.sources.means import Means

JoinValues = NDArray[np.int32]  # by number; -1 where a row has no partner by this join
JoinText = tuple[str, ...]  # a join value as texts, one for each column
_EVERY = 1 << 40  # rows: more than any database hands over


@dataclass(frozen=True, slots=True)
class CodedTable:
    """The distinct rows of one table, as far as a tree needs them."""

    name: str
    features: tuple[Feature, ...]  # the columns that may split, without their rows
    codes: NDArray[np.int32]  # codes[j, row]: of feature j; -1 is missing
    counts: NDArray[np.int64]  # records of its file that a row stands for

    @property
    def rows(self) -> int:
        """How many distinct rows there are."""
        return len(self.counts)


@dataclass(frozen=True, slots=True)
class CodedJoin:
    """A join by numbers of join values that both sides have; `table` lies behind `parent`."""

    parent: int
    table: int
    keeps: bool  # whether rows of the parent stay without a partner
    values: int  # join values are 0, …, values - 1
    of_parent: JoinValues
    of_table: JoinValues


@dataclass(frozen=True, slots=True)
class CodedTables:
    """All that a tree is grown from."""

    tables: tuple[CodedTable, ...]  # in tie order
    joins: tuple[CodedJoin, ...]  # each table after the one that it lies behind
    root: int  # the table of the class
    labels: tuple[str, ...]  # every class that stands in its column, by code point
    classes: NDArray[np.int64]  # of each row of the root, as an index into `labels`
    notes: tuple[str, ...] = ()  # what was not kept apart
    unlike: tuple[str, ...] = ()  # joins without common values, if their sides write times unlike


JoinContent = Literal["number", "time", "text"]


class JoinKind(NamedTuple):
    """What a join column holds."""

    holds: JoinContent | None
    typed: bool  # whether its file says so, and not only its cells


# --- reading -------------------------------------------------------------------------------------


def load(
    schema: JoinSchema,
    given: Mapping[str, Any] | None = None,
    reading: Reading | None = None,
    *,
    whole: bool = False,
    also: Sequence[str] = (),
    engine: Mapping[str, Any] | None = None,
    watch: Watch | None = None,
) -> list[Table]:
    """Read the columns needed of every table; missing cells are null, and only those.

    `given` tables (data frames, paths, …) stand in for those of the schema's paths. The class's
    table keeps its records in order if `whole`, with columns that are needed `also`; of others
    equal rows may come counted. `engine`: see `reticent.sources.arrival.means_of`.
    """
    every = range(len(schema.names))
    found = load_some(
        schema, every, given, reading, whole=whole, also=also, engine=engine, watch=watch
    )
    return [table for table in found if table is not None]


def load_some(
    schema: JoinSchema,
    mine: Collection[int],
    given: Mapping[str, Any] | None = None,
    reading: Reading | None = None,
    *,
    whole: bool = False,
    also: Sequence[str] = (),
    engine: Mapping[str, Any] | None = None,
    watch: Watch | None = None,
    as_named: bool = False,
) -> list[Table | None]:
    """The same of some tables; None in the place of each other one.

    `as_named`: of a database that is given, too, the schema says which table is meant.
    """
    given = dict(given or {})
    refuse(
        Problem(f'there is no table "{name}" in the schema', where=schema.name)
        for name in given
        if name not in schema.tables
    )
    others = [name for number, name in enumerate(schema.names) if number not in mine]
    schema.refuse_nowhere([*given, *others])
    found: list[Table | None] = []
    problems: list[Problem] = []
    for number, name in enumerate(schema.names):
        if number not in mine:
            found.append(None)
            continue
        in_order = whole and number == schema.root
        data = standing(schema, name, given)

        def choose(every: Sequence[str], number: int = number) -> Sequence[str] | None:
            strangers = [*schema.strangers(number, every)]
            more = also if number == schema.root else ()
            strangers += [unknown_column(c, "--test-by", every) for c in more if c not in every]
            problems.extend(strangers)
            wanted = {*schema.needed(number, every), *more}
            return None if strangers else [column for column in every if column in wanted]

        table = read_columns(
            schema, number, data, choose, reading, in_order=in_order, engine=engine, watch=watch,
            is_given=name in given and not as_named,
        )  # fmt: skip
        if table is not None:
            found.append(table)
    refuse(problems)
    return found


Choose = Callable[[Sequence[str]], Sequence[str] | None]


def choosing(
    schema: JoinSchema, name: str, wanted: Set[str], problems: list[Problem], given: Any = None
) -> Choose:
    """For `read_columns`: these columns, in the order of the file; what is not there is noted.

    `given`: where the table stands, if not where the schema says.
    """
    where = shown_name(given) if isinstance(given, str | Path) else schema.name

    def choose(every: Sequence[str]) -> Sequence[str] | None:
        unknown = sorted(wanted - {*every})
        problems.extend(
            Problem(
                f'table "{name}" has no column "{column}"', where=where,
                do=did_you_mean(column, every) or f"it has {quoted(every)}.",
            )
            for column in unknown
        )  # fmt: skip
        # A table of which nothing is asked and that joins with nothing: any column counts it.
        return None if unknown else [c for c in every if c in wanted] or [*every[:1]]

    return choose


def standing(schema: JoinSchema, name: str, given: Mapping[str, Any]) -> Any:
    """Where a table stands: with the caller, or where the schema says."""
    data = given.get(name)
    return schema.data(name) if data is None else data


def _cleared(table: Table) -> Table:
    columns = {name: without_missing(column) for name, column in table.columns.items()}
    return replace(table, columns=columns)


def read_columns(
    schema: JoinSchema,
    number: int,
    data: Any,
    choose: Choose,
    reading: Reading | None = None,
    *,
    in_order: bool = False,
    engine: Mapping[str, Any] | None = None,
    watch: Watch | None = None,
    is_given: bool = False,
    alike: Mapping[str, Alike] | None = None,
) -> Table | None:
    """Some columns of a table, its records in order, or counted where they do not fit in memory.

    `choose` hears which columns there are and says which are wanted; or None: then nothing is read.
    Which table of a database it is the schema says, of one that somebody gave instead `engine`.
    Records in order come in batches where they do not fit: see `records_in_order` for `alike`.
    """
    from reticent.sources.means import elsewhere
    from reticent.sources.opening import opened, streamed

    name = schema.names[number]
    told = {} if is_given else {"table": schema.tables[name].table}
    if (sheet := schema.tables[name].sheet) and not is_given:
        reading = replace(reading or Reading(), sheet=sheet)
    means = means_of(**{**(engine or {}), **told})
    if not is_given:
        means = replace(means, table_told_by=f"[tables.{name}], table takes")
    if not elsewhere(data, means):
        parsed, _ = parse(data, reading)
        every = parsed.arrow.column_names
        wanted = choose(every)
        if wanted is None:
            return None
        parsed = replace(parsed, name=name if parsed.name == "data" else parsed.name)
        kinds = {column: _plain(parsed.arrow.schema.field(column).type) for column in wanted}
        refuse(_unfit(schema, number, parsed.name, kinds))
        table = parsed.table(set(every) - set(wanted))
        return _cleared(replace(table, names=tuple(every)))
    room = room_of(means)
    single = schema.tables[name].ids
    if in_order and not _counts_itself(data):
        notes: list[str] = []
        called, columns, about, batches = streamed(data, reading, notes)
        wanted = choose(columns.names)
        if wanted is None:
            return None
        called = name if called == "data" else called
        refuse(_unfit(schema, number, called, {c: columns.field(c).type for c in wanted}))
        found = records_in_order(
            called, columns, batches, wanted, alike=alike, single=single, room=room,
            told=lambda done: (watch or Watch()).rows(done, max(done, about)),
        )  # fmt: skip
        return replace(found, notes=tuple(dict.fromkeys(notes)))
    with ExitStack() as ends:
        progress = (watch or Watch()).rows
        problems: list[Problem] = []
        source = ends.enter_context(opened(data, reading, means, progress))
        wanted = choose(source.schema.names)
        if wanted is None:
            return None
        for column in wanted:
            try:
                source.refuse_types([column])
            except InputError as error:
                do = f"make it numbers or texts, or {schema.instead(number, column)}."
                problems += [replace(problem, do=do) for problem in error.problems]
        refuse(problems)
        if not in_order:
            return _cleared(source.counted(wanted))
        standing = getattr(source, "standing", None)
        if callable(standing):
            return replace(
                records_in_order(
                    source.name, source.schema, standing, wanted, alike=alike, single=single,
                    room=room, told=lambda done: progress(done, max(done, source.rows)),
                ),
                notes=source.notes,
            )  # fmt: skip
        rows = source.first(_EVERY)
        chosen = {name: rows.columns[name] for name in wanted}
        return _cleared(replace(rows, columns=chosen, names=tuple(source.schema.names)))


def _unfit(
    schema: JoinSchema, number: int, name: str, kinds: Mapping[str, pa.DataType]
) -> Iterator[Problem]:
    """Columns of types that nothing here understands."""
    for column, kind in kinds.items():
        if not is_supported(kind):
            yield Problem(
                f"the type {kind} cannot be used", where=f'{name}, column "{column}"',
                do=f"make it numbers or texts, or {schema.instead(number, column)}.",
            )  # fmt: skip


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type of a column's values, be they categories or not."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def room_of(means: Means) -> int:
    """How many bytes there are for what is read and counted."""
    from reticent.sources.means import OURSELVES, SHARE, free_memory

    if means.memory_limit is None:
        return int(SHARE * free_memory())
    return means.memory_limit - OURSELVES


def _counts_itself(data: Any) -> bool:
    """Whether only its own engine can read a table."""
    from reticent.sources.addresses import is_ibis_connection, is_ibis_table, is_url
    from reticent.sources.spark_session import is_spark

    return bool(
        is_url(data) or is_ibis_table(data) or is_ibis_connection(data)
        or is_spark(data, "DataFrame")
    )  # fmt: skip


# --- codes ---------------------------------------------------------------------------------------


def code(
    schema: JoinSchema,
    tables: Sequence[Table | None],
    *,
    among: NDArray[np.bool_] | None = None,
    reading: Reading | None = None,
    labels: Sequence[str] | None = None,
    common: Mapping[int, Sequence[JoinText]] | None = None,
) -> CodedTables:
    """The tables as numbers, equal rows counted once; rows without a class are left out.

    `among`: the rows of the class's table that the tree may see. Tables of other sites are None
    and have no rows here: then `labels` tells the classes, if theirs is such a table, and `common`
    the values that a join has in common with one of them, in order, by number of the join.
    """
    root, target = schema.target
    kept = [np.ones(0 if table is None else table.rows, dtype=bool) for table in tables]
    labels, classes = tuple(labels or ()), np.empty(0, np.int64)
    if (held := tables[root]) is not None:
        labels, classes = class_codes(held.columns[target])
        if not labels:
            raise InputError(
                "no record has a class", where=f'{held.name}, column "{target}"',
                do="name another column as  class.",
            )  # fmt: skip
    kept[root] &= classes >= 0
    if among is not None:
        kept[root] &= among
    edges = schema.edges
    refuse(problem for edge in edges for problem in mismatches(schema, edge, tables))
    sides = [side_codes(edge, tables, (common or {}).get(e)) for e, edge in enumerate(edges)]
    form = form_of(reading)
    coded: list[CodedTable] = []
    notes: list[str] = []
    joined: dict[tuple[int, int], JoinValues] = {}  # by number of the join and of the table
    classes_of = classes
    for t, table in enumerate(tables):
        if table is None:
            nothing = np.empty(0, np.int32)
            coded.append(CodedTable(schema.names[t], (), nothing.reshape(0, 0), np.empty(0, int)))
            joined |= {(e, t): nothing for e, edge in enumerate(edges) if t in edge.ends}
            continue
        own = schema.candidates(t, table.known)
        features = _features(schema, t, table, own, form, notes)
        mine = [(e, edge.ends.index(t)) for e, edge in enumerate(edges) if t in edge.ends]
        columns = [feature.codes[kept[t]] + 1 for feature in features]
        columns += [sides[e][0][s][kept[t]] + 1 for e, s in mine]
        sizes = [len(feature.values) + 1 for feature in features]
        sizes += [sides[e][1] + 1 for e, _ in mine]
        if t == root:
            columns.append(classes[kept[t]])
            sizes.append(len(labels))
        counts = None if table.counts is None else table.counts[kept[t]]
        rows = distinct([column.astype(np.uint32) for column in columns], sizes, counts)
        whole = [column.astype(np.int32) - 1 for column in rows.columns]
        codes = np.array(whole[: len(features)], np.int32).reshape(len(features), len(rows.counts))
        known = tuple(replace(feature, codes=feature.codes[:0]) for feature in features)
        coded.append(CodedTable(schema.names[t], known, codes, rows.counts))
        joined |= {(e, t): whole[len(features) + i] for i, (e, _) in enumerate(mine)}
        if t == root:
            classes_of = rows.columns[-1].astype(np.int64)
    joins = tuple(
        CodedJoin(
            edge.parent, edge.table, edge.keeps, sides[e][1], *(joined[e, t] for t in edge.ends)
        )
        for e, edge in enumerate(edges)
    )
    unlike = (
        _unlike_times(schema, edge, tables) for e, edge in enumerate(edges) if not sides[e][1]
    )
    return CodedTables(
        tuple(coded), joins, root, labels, classes_of, tuple(notes), tuple(filter(None, unlike))
    )  # fmt: skip


def _features(
    schema: JoinSchema, number: int, table: Table, names: Sequence[str], form: Mapping[str, Any],
    notes: list[str],
) -> list[Feature]:  # fmt: skip
    """Columns that may split; all that hold numbers or times and cannot be read, at once."""
    found: list[Feature] = []
    problems: list[Problem] = []
    for name in names:
        try:
            found.append(Feature.of(table.columns[name], **form))
            notes += _blurred(table, found[-1], form)
            notes += _unread(table, found[-1])
        except InputError as error:
            instead = f"or {schema.instead(number, name)}."
            for problem in error.problems:
                do = (problem.do or "correct them.").removesuffix(".")
                where = f"{table.name}, {problem.where}"
                problems.append(replace(problem, where=where, do=f"{do}, {instead}"))
    refuse(problems)
    return found


_COMMA = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d+),\d+")
_DATE = re.compile(r"\d{1,2}[./-]\d{1,2}[./-]\d{4}")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_OFTEN = 0.9  # of the texts of a column


def _unread(table: Table, feature: Feature) -> Iterator[str]:
    """What is said of texts that look like numbers or dates in another form."""
    if feature.number or len(feature.values) < 3:
        return
    for form, what, told in (
        (_COMMA, "numbers with a decimal comma", remedy("--decimal ,", 'decimal = ","')),
        (_DATE, "dates", remedy("--date-format %d.%m.%Y", 'date_format = "%d.%m.%Y"')),
    ):
        if sum(form.fullmatch(v) is not None for v in feature.values) >= _OFTEN * len(
            feature.values
        ):
            yield (
                f'{table.name}, column "{feature.name}": its texts look like {what}, and are split '
                f"as texts. {told}, or the like in [reading], tells how they are written."
            )
            return
    others = [v for v in feature.values if _NUMBER.fullmatch(v) is None]
    if others and len(others) <= max(1, (1 - _OFTEN) * len(feature.values)):
        yield (
            f'{table.name}, column "{feature.name}": all of its texts but '
            f"{many(len(others), 'value')} are numbers, and it is split as texts. If these stand "
            "for a missing number, leave their cells empty."
        )


def _blurred(table: Table, feature: Feature, form: Mapping[str, Any]) -> Iterator[str]:
    """What is said of numbers that are not kept apart."""
    column = table.columns[feature.name]
    if not feature.number or len(feature.values) == len(column.values.drop_null()):
        return
    scale = scale_of(column, **form)
    if count := blurred(column, scale, decimal=form.get("decimal", ".")):
        than = "a 64-bit float tells" if scale.kind == "number" else "a microsecond"
        differ = "value differs" if count == 1 else "values differ"
        yield (
            f'{table.name}, column "{feature.name}": {count:,} {differ} from another one by less '
            f"than {than}; they count as one."
        )


def form_of(reading: Reading | None) -> dict[str, Any]:
    """How numbers and times are written, as `reticent.data.scales` is told."""
    if reading is None:
        return {}
    return {"decimal": reading.decimal or ".", "date_format": reading.date_format}


def class_codes(column: Column) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """The labels of a class by code point, and the place of each row's among them, or -1."""
    texts = column.texts()
    labels = sorted({text for text in texts if text is not None})
    at = {text: i for i, text in enumerate(labels)}
    to = np.array([-1 if text is None else at[text] for text in texts], np.int64)
    return tuple(labels), to[column.codes]


def side_codes(
    edge: JoinEdge, tables: Sequence[Table | None], common: Sequence[JoinText] | None = None
) -> tuple[list[JoinValues], int]:
    """Numbers of the join values that both sides have: of the parent's rows, and the table's.

    They are numbered in their order as texts, whoever counts them. `common` tells them, where one
    side stands at another site.
    """
    sides = [join_values(edge, t, tables[t]) for t in edge.ends]
    if common is None:
        common = sorted({*sides[0][1]} & {*sides[1][1]})
    at = {value: number for number, value in enumerate(common)}
    found = []
    for codes, values in sides:
        to = np.array([*(at.get(value, -1) for value in values), -1], np.int32)
        found.append(to[codes])  # the last is where -1 looks
    return found, len(common)


def join_values(
    edge: JoinEdge, table: int, held: Table | None
) -> tuple[NDArray[np.int64], list[JoinText]]:
    """The join values of one side as shortest texts, and for each row which it has; -1 is missing.

    >>> from reticent.files.tabular import from_arrow
    >>> import pyarrow as pa
    >>> rows = from_arrow(pa.table({"day": ["39.0", None, "x"], "hour": [1.0, 2.0, 1.0]}))
    >>> edge = JoinEdge(1, 0, ("day", "hour"), ("d", "h"), False, "")
    >>> codes, values = join_values(edge, 1, rows)
    >>> codes.tolist(), values
    ([0, -1, 1], [('39', '1'), ('x', '1')])
    """
    if held is None:
        return np.empty(0, np.int64), []
    place = np.zeros(held.rows, np.int64)
    missing = np.zeros(held.rows, dtype=bool)
    parts: list[tuple[NDArray[np.int64], list[str]]] = []  # of each column, codes and their texts
    for name in edge.columns_of(table):
        column, at = held.columns[name], dict[str, int]()
        told = [None if text is None else shortest(text) for text in column.texts()]
        to = [-1 if text is None else at.setdefault(text, len(at)) for text in told]
        codes = np.array(to, np.int64)[column.codes]
        missing |= codes < 0
        place = place * (len(at) + 1) + codes + 1
        if parts:  # several columns leave 64 bits soon
            place = np.unique(place, return_inverse=True)[1].astype(np.int64)
        parts.append((codes, [*at]))
    place[missing] = -1
    row_of = np.full(int(place.max(initial=-1)) + 2, -1, np.int64)  # by value some row that has it
    row_of[place] = np.arange(held.rows)
    row_of[-1] = -1
    used = np.flatnonzero(row_of >= 0)
    to_used = np.full(len(row_of), -1, np.int64)
    to_used[used] = np.arange(len(used))
    rows = row_of[used]
    texts = [[known[code] for code in codes[rows].tolist()] for codes, known in parts]
    return to_used[place], [*zip(*texts, strict=True)]


def mismatches(
    schema: JoinSchema, edge: JoinEdge, tables: Sequence[Table | None]
) -> Iterator[Problem]:
    """Columns that can never be equal: a number or a time in a typed file, and something else."""
    near, far = (tables[t] for t in edge.ends)
    if near is not None and far is not None:
        sides = [
            join_kinds(edge, t, table) for t, table in zip(edge.ends, (near, far), strict=True)
        ]
        yield from unlike_sides(schema, edge, *sides)


def join_kinds(edge: JoinEdge, table: int, held: Table) -> list[JoinKind]:
    """What the columns of one side of a join hold, as far as joins care."""
    columns = [held.columns[name] for name in edge.columns_of(table)]
    kinds = [_join_kind(column) for column in columns]
    return [
        JoinKind(kind, kind != "text" and not is_text(column.values.type))
        for kind, column in zip(kinds, columns, strict=True)
    ]


def unlike_sides(
    schema: JoinSchema, edge: JoinEdge, near: Sequence[JoinKind], far: Sequence[JoinKind]
) -> Iterator[Problem]:
    """Columns of two sides that can never be equal."""
    for i, (one, other) in enumerate(zip(near, far, strict=True)):
        kinds = (one.holds, other.holds)
        ends = [(t, edge.columns_of(t)[i]) for t in edge.ends]
        if (one.typed or other.typed) and None not in kinds and kinds[0] != kinds[1]:
            said = [f'"{schema.names[t]}.{name}" holds {kind}s'
                    for (t, name), kind in zip(ends, kinds, strict=True)]  # fmt: skip
            yield Problem(
                f"{said[0]} and {said[1]}", where=edge.place,
                why="join values are compared as texts, and these are never equal.",
                do="make both columns of one type, or join by others.",
            )  # fmt: skip


def _unlike_times(schema: JoinSchema, edge: JoinEdge, tables: Sequence[Table | None]) -> str:
    """How both sides write times that they join by, if unlike; their digits are not told.

    A CSV file may have a blank where the text of a Parquet file's timestamp has a T.
    """
    near, far = (tables[t] for t in edge.ends)
    if near is None or far is None:
        return ""
    for one, other in zip(edge.of_parent, edge.columns, strict=True):
        pair = (near.columns[one], far.columns[other])
        if all(_join_kind(column) == "time" for column in pair):
            [a, b] = ({re.sub(r"\d", "0", text) for text in c.texts() if text} for c in pair)
            if not a & b:
                names = [schema.names[t] for t in edge.ends]
                return (
                    f'times in "{names[0]}.{one}" look like {min(a)}, and in "{names[1]}.{other}" '
                    f"like {min(b)}: they are compared as texts."
                )
    return ""


def _join_kind(column: Column) -> JoinContent | None:
    """What a column holds, as far as joins care; None where it holds nothing."""
    if not len(column.values.drop_null()):
        return None
    match kind_of(column):
        case "number":
            return "number"
        case "date" | "timestamp":
            return "time"
    return "text"
