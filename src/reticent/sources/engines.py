"""Tables that do not fit in memory: two passes over all rows, made by an engine.

    collapse    equal rows counted once: all that a search needs to know of them
    recode      every row as its release shows it, in the order of its release

Both are Ibis expressions, so that one text serves the embedded DuckDB, a Spark cluster, and the
database that rows stand in already. Inside, columns are called c0, c1, … in the order of the
table: names may differ in case only, which SQL would not see.

What can go wrong when an engine joins, and what is done about it: rows come in any order, so
nothing is aligned by position; nothing equals NULL, so values are compared with IS NOT DISTINCT
FROM; a value without a place in a small table makes its row vanish and one with two places doubles
it, so places are unique by construction, and rows are counted in the end.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from reticent.data import memory
from reticent.data.columns import Codes, Column, Table, encode, smallest
from reticent.data.door import Door
from reticent.data.texts import is_text
from reticent.errors import InputError, ReticentError, quoted
from reticent.files.sheets import Sheet, by_printed_cell
from reticent.files.tabular import from_arrow
from reticent.files.writing import Writing

if TYPE_CHECKING:
    import ibis.expr.types as ir

Progress = Callable[[int, int], None]  # hears how many rows are done, and of how many
Trouble = tuple[str, str]  # what is the matter, and what to do
COUNT = "n"
ROW = "r"  # the number of a row in its file, where that is asked for
_WORD = 2**62  # places of several columns are packed into numbers below this
_SAMPLE = 200_000  # rows
_MOST_PLACES = 1 << 20  # of a column that nobody masks; with more values it is taken as it stands
_MOST_MAPPED = 1 << 23  # of one that is coarsened: as text, about a gigabyte
_BLANKS = (  # that Python's `strip` takes off; engines know fewer
    "\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
)


def key(position: int) -> str:
    """What a column is called inside."""
    return f"c{position}"


def order_key(key: str) -> str:
    """What a column is sorted by, where an engine's own text of a cell is not what is printed."""
    return f"{key}_order"


def collapse(source: ir.Table, keys: Sequence[str]) -> ir.Table:
    """Equal rows counted once."""
    return source.group_by(list(keys)).agg(**{COUNT: source.count()})


# --- what rows are shown as ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ShownColumn:
    """A released column all of whose values are known, and what each is shown as."""

    key: str
    raw: pa.Array  # distinct values as they stand in the table
    to: Codes  # to[i]: which of `values` the i-th is shown as
    values: pa.Array  # in the order of their printed cells
    ranks: NDArray[Any] | None = None  # of the printed cell of each, where two print alike

    @classmethod
    def of(cls, key: str, raw: Column, shown: Column) -> ShownColumn:
        """Read off a column and what becomes of it, row by row."""
        ranked, ranks = by_printed_cell(shown)
        to = np.zeros(len(raw.values), dtype=ranked.codes.dtype)
        to[raw.codes] = ranked.codes
        used = np.bincount(raw.codes, minlength=len(raw.values)) > 0
        return cls(key, raw.values.filter(pa.array(used)), to[used], ranked.values, ranks)

    def places(self) -> pa.Table:
        """The small table to join with: for each value, where it stands among the shown ones."""
        ranks = self.to if self.ranks is None else self.ranks[self.to]
        table = pa.table(
            {
                f"{self.key}_value": self.raw,
                f"{self.key}_place": ranks.astype(np.int64),
                f"{self.key}_alike": self.to.astype(np.int64),
            }
        )
        if not pa.types.is_floating(self.raw.type):
            return table
        first: dict[Any, int] = {}  # to engines, 0.0 and -0.0 are the same value
        for i, value in enumerate(self.raw.to_pylist()):
            first.setdefault(repr(value + 0.0) if value is not None else None, i)
        return table.take(pa.array(list(first.values())))


@dataclass(frozen=True, slots=True)
class Untouched:
    """A column that is released as it stands and has more values than anybody would count."""

    key: str
    kind: pa.DataType
    trim: bool = False
    same: tuple[tuple[str, str], ...] = ()  # spellings, and what they stand for


Run = Untouched | tuple[ShownColumn, ...]


@dataclass(frozen=True, slots=True)
class RowRecoding:
    """How all rows are to be shown, in which order, and who is left out."""

    columns: Mapping[str, ShownColumn | Untouched]
    order: tuple[str, ...]  # released columns: rows are sorted by their printed cells
    told: tuple[str, ...]  # the columns that are wanted
    gone: pa.Table | None = None  # the keys of rows that are not released
    sorted: bool = True  # else rows stand as they came

    def tables(self) -> dict[str, pa.Table]:
        """The small tables that `rows` joins with."""
        shown = [c for c in self.columns.values() if isinstance(c, ShownColumn)]
        found = {f"places_{column.key}": column.places() for column in shown}
        return found if self.gone is None else found | {"gone": self.gone}

    def rows(self, source: ir.Table) -> ir.Table:
        """Rows with places instead of values, in their order: what `sheet` reads."""
        if self.gone is not None:
            gone = small_table("gone", self.gone.schema)
            same = [source[name].identical_to(gone[name]) for name in self.gone.column_names]
            source = source.anti_join(gone, same)
        for column in self.columns.values():
            if isinstance(column, ShownColumn):
                places = small_table(f"places_{column.key}", column.places().schema)
                same = [source[column.key].identical_to(places[f"{column.key}_value"])]
                source = source.inner_join(places, same)
        cells = {f"run_{i}": _cell(run, source) for i, run in enumerate(self._runs(self.told))}
        told = [self.columns[name] for name in self.told]
        alike = [f"{column.key}_alike" for column in told if _has_alike(column)]
        cells |= {name: source[name] for name in alike}
        keys = {f"order_{i}": key for i, key in enumerate(self._keys(source))}
        return source.select(**cells, **keys).order_by(list(keys)).select(list(cells))

    def _keys(self, source: ir.Table) -> list[Any]:
        if not self.sorted:
            return [source[ROW]]
        runs = self._runs(self.order)
        keys = [
            _printed(run, source) if isinstance(run, Untouched) else _cell(run, source)
            for run in runs
        ]
        # What prints alike is told apart in the end: a missing text stands behind an empty one,
        # and what is not a number behind a missing one.
        for column in (self.columns[name] for name in self.order):
            cell = source[column.key]
            if isinstance(column, Untouched) and pa.types.is_floating(column.kind):
                keys.append(cell.isnan().fill_null(False))
            elif isinstance(column, Untouched):
                keys.append(cell.isnull())
            elif _has_alike(column):
                keys.append(source[f"{column.key}_alike"])
        return keys

    def _runs(self, names: Sequence[str]) -> list[Run]:
        """Columns side by side whose places fit into one number, and those without places.

        Rows are sorted by these: ten million by one number and one text take 2.6 s, by the ten
        columns they stand for 6.4 s.
        """
        found: list[Run] = []
        for column in (self.columns[name] for name in names):
            last = found[-1] if found else None
            if isinstance(column, Untouched):
                found.append(column)
            elif isinstance(last, tuple) and _size(*last, column) < _WORD:
                found[-1] = (*last, column)
            else:
                found.append((column,))
        return found

    def sheet(self, batch: pa.RecordBatch) -> Sheet:
        """Rows as they are written, from those of `rows`."""
        columns: list[Codes] = []
        values: list[pa.Array] = []
        for i, run in enumerate(self._runs(self.told)):
            cells = batch.column(f"run_{i}")
            if isinstance(run, Untouched):
                coded = encode(run.key, cells if cells.type == run.kind else cells.cast(run.kind))
                columns.append(coded.codes)
                values.append(coded.values)
                continue
            packed = cells.to_numpy().astype(np.int64)
            places: list[Codes] = []
            for column in reversed(run):
                place = packed % len(column.values)
                if _has_alike(column):
                    place = batch.column(f"{column.key}_alike").to_numpy()
                places.append(place.astype(column.to.dtype))
                packed = packed // len(column.values)
            columns += reversed(places)
            values += [column.values for column in run]
        ones = np.ones(batch.num_rows, dtype=np.int64)
        return Sheet(self.told, tuple(columns), tuple(values), ones)


def _has_alike(column: ShownColumn | Untouched) -> bool:
    return isinstance(column, ShownColumn) and column.ranks is not None


def _cell(run: Run, source: ir.Table) -> Any:
    import ibis

    if isinstance(run, Untouched):
        blanks = f"^[{_BLANKS}]+|[{_BLANKS}]+$"
        cell = source[run.key].re_replace(blanks, "") if run.trim else source[run.key]
        return cell.cases(*run.same, else_=cell) if run.same else cell
    cell = ibis.literal(0, "int64")
    for column in run:
        cell = cell * len(column.values) + source[f"{column.key}_place"]
    return cell


def _size(*run: ShownColumn) -> int:
    return math.prod(len(column.values) for column in run)


def _printed(run: Untouched, source: ir.Table) -> Any:
    """A cell as its text, as far as sorting needs it."""
    import ibis

    if order_key(run.key) in source.columns:
        return source[order_key(run.key)]
    cell = _cell(run, source)
    if pa.types.is_floating(run.kind):  # 39.0 prints as 39, what is no number as nothing
        whole = (cell % 1 == 0) & (cell.abs() < 1e37)
        text = whole.ifelse(cell.try_cast("decimal(38, 0)").cast("string"), cell.cast("string"))
        return cell.isnan().ifelse(ibis.literal(""), text).fill_null("")
    return cell.cast("string").fill_null("")


def small_table(name: str, schema: pa.Schema) -> ir.Table:
    """A table that an engine will be lent under this name."""
    import ibis

    kinds = {  # roughly what a column holds; engines go by what is really there
        "boolean": pa.types.is_boolean,
        "int64": pa.types.is_integer,
        "float64": pa.types.is_floating,
        "date": pa.types.is_date,
        "timestamp": pa.types.is_timestamp,
        "decimal(38, 9)": pa.types.is_decimal,
        "string": lambda kind: True,
    }
    held = {f.name: next(kind for kind, fits in kinds.items() if fits(f.type)) for f in schema}
    return ibis.table(held, name=name)


# --- from rows to a table of counts --------------------------------------------------------------


class _Gathered:
    """A column that comes in batches, as codes."""

    def __init__(self, kind: pa.DataType, rows: int) -> None:
        self.kind = kind
        self.codes: NDArray[Any] = memory.empty(rows, np.uint8)
        self.number: dict[Any, int] = {}
        self.values: list[pa.Array] = []
        self.done = 0

    def add(self, cells: pa.Array) -> None:
        """Take in some more cells, each distinct value once."""
        cells = cells if cells.type == self.kind else cells.cast(self.kind)
        coded = cells.dictionary_encode(null_encoding="encode")
        found = _keys(coded.dictionary).to_pylist()
        fresh = [i for i, value in enumerate(found) if _known_as(value) not in self.number]
        for i in fresh:
            self.number[_known_as(found[i])] = len(self.number)
        self.values.append(coded.dictionary.take(pa.array(fresh, pa.int64())))
        wanted = smallest(len(self.number))
        if wanted != self.codes.dtype.type:
            wider = memory.empty(len(self.codes), wanted)
            wider[: self.done] = self.codes[: self.done]
            self.codes = wider
        to = np.array([self.number[_known_as(value)] for value in found], wanted)
        self.codes[self.done : self.done + len(cells)] = to[coded.indices.to_numpy()]
        self.done += len(cells)

    def column(self, name: str) -> Column:
        """All of it."""
        values = pa.concat_arrays(self.values) if self.values else pa.array([], self.kind)
        if pa.types.is_string(self.kind):
            values = values.cast(pa.large_string())
        return Column(name, self.codes, values, numbered=False)


def _keys(values: pa.Array) -> pa.Array:
    """Values as Python can hold all of them: not every time fits its own."""
    if pa.types.is_timestamp(values.type):
        return values.cast(pa.int64())
    return values.cast(pa.int32()) if pa.types.is_date32(values.type) else values


def _known_as(value: Any) -> Any:
    """A value as a key: NaN is itself, and 0.0 is not -0.0."""
    return repr(value) if isinstance(value, float) else value


# --- engines -------------------------------------------------------------------------------------


class RowSource(ABC):
    """A table that stands somewhere else, and the engine that reads it."""

    engine: str
    name: str
    schema: pa.Schema  # of the table as everybody knows it
    rows: int  # about so many
    notes: tuple[str, ...] = ()  # what was assumed in reading it
    mixed: Mapping[str, str] = MappingProxyType({})  # columns of several kinds, and of which
    make_room: Callable[[int], None] = staticmethod(lambda rows: None)
    # hears how many counted rows there will be, before they come
    has_nan: bool = True  # whether it knows what is not a number
    full: Trouble  # what the engine's failures mean: the disk is full,
    small: Trouble  # memory is too small,
    other: Trouble  # or it is something else, of this name

    @abstractmethod
    def reading(self, names: Sequence[str]) -> AbstractContextManager[ir.Table]:
        """The rows of some columns under their keys, for one pass."""

    @abstractmethod
    def answered(self, expression: ir.Table) -> Iterator[pa.RecordBatch]:
        """What the engine says to an expression over rows that are being read."""

    @abstractmethod
    def counting(
        self, names: Sequence[str]
    ) -> AbstractContextManager[tuple[int, Iterator[pa.RecordBatch]]]:
        """The distinct rows of some columns under their keys, with counts, and how many."""

    def counted(self, names: Sequence[str]) -> Table:
        """The distinct rows of some columns, and how often each stands."""
        self.refuse_types(names)
        done = 0
        with self.counting(names) as (rows, batches):
            self.make_room(rows)
            columns = {name: _Gathered(self.schema.field(name).type, rows) for name in names}
            counts = memory.empty(rows, np.int64)
            for batch in batches:
                for name, column in columns.items():
                    column.add(batch.column(self.key(name)))
                counts[done : done + batch.num_rows] = batch.column(COUNT).to_numpy()
                done += batch.num_rows
        found = {name: column.column(name) for name, column in columns.items()}
        return Table(self.name, found, rows, self.notes, counts, None, tuple(self.schema.names))

    def alone(self, names: Sequence[str]) -> int:
        """How many rows no other one equals in some columns, as they print."""
        with self.reading(names) as source:
            cells = {}
            for name in names:
                cell, kind = source[self.key(name)], self.schema.field(name).type
                if is_text(kind):
                    cell = cell.fill_null("")
                elif pa.types.is_floating(kind) and self.has_nan:
                    cell = cell.isnan().ifelse(None, cell)
                cells[self.key(name)] = cell
            counted = collapse(source.select(**cells), list(cells))
            lone = counted.filter(counted[COUNT] == 1)
            [batch] = self.answered(lone.agg(**{COUNT: lone.count()}))
        return int(batch.column(0)[0].as_py())

    def looking_like(self, names: Sequence[str], forms: Sequence[str]) -> list[list[int]]:
        """In how many cells of each of some columns each of some forms is found."""
        if not names:
            return []
        with self.reading(names) as source:
            told = {}
            for i, name in enumerate(names):
                text = source[self.key(name)].cast("string")
                for j, form in enumerate(forms):
                    there = text.re_search(form).fill_null(False)
                    told[f"n{i}_{j}"] = there.cast("int64").sum()
            [batch] = self.answered(source.agg(**told))
        counts = [int(column[0].as_py() or 0) for column in batch.columns]
        return [counts[i : i + len(forms)] for i in range(0, len(counts), len(forms))]

    def lacking(self, name: str) -> int:
        """How many rows have no value of a column."""
        with self.reading([name]) as source:
            cell, kind = source[self.key(name)], self.schema.field(name).type
            gap = cell.isnull()
            if is_text(kind):
                gap |= cell == ""
            elif pa.types.is_floating(kind) and self.has_nan:
                gap |= cell.isnan()
            [batch] = self.answered(source.agg(**{COUNT: gap.cast("int64").sum()}))
        return int(batch.column(0)[0].as_py() or 0)

    def about_distinct(self, names: Sequence[str]) -> dict[str, int]:
        """About how many distinct values each of some columns has."""
        if not names:
            return {}
        with self.reading(names) as source:
            cells = [source[self.key(name)] for name in names]
            told = source.agg(**{f"n{i}": self.distinct(cell) for i, cell in enumerate(cells)})
            [batch] = self.answered(told)
        return {name: int(batch.column(i)[0].as_py()) for i, name in enumerate(names)}

    def fewest(self, names: Sequence[str]) -> str:
        """The column with the fewest values: enough to count rows by."""
        fit = self.comparable(names) or [*names]
        about = self.about_distinct(fit)
        return min(fit, key=lambda name: about[name])

    def distinct(self, cells: ir.Column) -> ir.Value:
        """About how many distinct values a column has, as an expression."""
        return cells.approx_nunique()

    def values(self, name: str, most: int) -> pa.Array | None:
        """The distinct values of a column; None if there are more than `most`."""
        self.refuse_types([name])
        kind = self.schema.field(name).type
        with self.reading([name]) as source:
            answers = self.answered(source.distinct().limit(most + 1))
            cells = pa.chunked_array([batch.column(0).cast(kind) for batch in answers], kind)
        return None if len(cells) > most else cells.combine_chunks()

    def first(self, rows: int) -> Table:
        """Some rows, about the first so many, as a table of their own, each for itself."""
        every = self.schema.names  # whoever looks at some rows need not understand all of them
        names = [name for name in every if name not in self.mixed]
        with self.reading(names) as source:
            batches = [b.rename_columns(names) for b in self.answered(source.limit(rows))]
        empty = pa.schema([self.schema.field(name) for name in names]).empty_table()
        found = pa.Table.from_batches(batches) if batches else empty
        table = from_arrow(found, self.name, spare=None)
        return replace(table, notes=self.notes, names=tuple(every))

    def looked_at(self, recoding: RowRecoding) -> list[str]:
        """The columns that it takes to recode rows."""
        needed = {column.key for column in recoding.columns.values()}
        needed |= set(recoding.gone.column_names) if recoding.gone is not None else set()
        return [name for name in self.schema.names if self.key(name) in needed]

    @abstractmethod
    def recoded(self, recoding: RowRecoding, size: int) -> Iterator[Sheet]:
        """All rows as a release shows them, so many at a time; the last may be fewer."""

    def hardly_longer(self, names: Sequence[str], fewer: Sequence[str]) -> bool:
        """Whether rows still repeat with more columns, as a part of the table tells.

        Where rows of the part hardly repeat, nobody can tell how many all of them have.
        """
        if len(names) == len(fewer):
            return True
        self.refuse_types(names)
        with self.reading(names) as source:
            some = collapse(source.limit(_SAMPLE), [self.key(name) for name in names])
            [batch] = self.answered(some.agg(**{COUNT: some.count()}))
        return int(batch.column(0)[0].as_py()) <= _SAMPLE // 4

    # Have the workers write rows as part files into a folder that they see; then count what is
    # there. None where there is nobody but this process.
    write_parts: Callable[[RowRecoding, Path, str, Writing], list[Path]] | None = None
    counted_parts: (
        Callable[[Path, str, Sequence[str], Writing], Iterator[pa.RecordBatch]] | None
    ) = None
    alone_in_parts: Callable[[Path, str, Sequence[str], Writing], int] | None = None

    @abstractmethod
    def close(self) -> None:
        """Forget everything."""

    def in_our_words(self, error: Exception) -> ReticentError:
        """What an engine has to say may quote cells, so it is only looked at."""
        said = f"{type(error).__name__} {error}"
        what, do = self.small if "OutOfMemory" in said or "heap space" in said else self.other
        if "No space left" in said or "max_temp_directory_size" in said:
            what, do = self.full
        return InputError(what.format(type(error).__name__), where=self.name, do=do)

    def key(self, name: str) -> str:
        """What a column is called inside."""
        return key(self.schema.names.index(name))

    def refuse_types(self, names: Iterable[str]) -> None:
        """Say which columns hold what engines cannot carry through unharmed."""
        if mixed := [n for n in names if n in self.mixed]:
            raise InputError(
                f'column "{mixed[0]}" holds values of several kinds: {self.mixed[mixed[0]]}',
                where=self.name, do="make them all of one kind, or drop the column.",
            )  # fmt: skip
        odd = [n for n in names if not _travels(self.schema.field(n).type)]
        if odd:
            raise InputError(
                f"columns {quoted(odd)} hold values of a kind that {self.engine} does not keep as "
                "they are", where=self.name, do="drop them, or convert them to text or numbers.",
            )  # fmt: skip

    def comparable(self, names: Iterable[str]) -> list[str]:
        """Those of some columns whose values engines carry through unharmed."""
        kinds = {name: self.schema.field(name).type for name in names}
        return [name for name in kinds if name not in self.mixed and _travels(kinds[name])]

    def shown(self, name: str, door: Door, *, counted: bool = True) -> ShownColumn | Untouched:
        """A column that nobody masks, as it is taken in; `counted`: by its values, if few."""
        kind, mapped = self.schema.field(name).type, name in door.coarse
        most = _MOST_MAPPED if mapped else _MOST_PLACES
        values = self.values(name, most) if counted or mapped else None
        if values is None and mapped:
            raise InputError(
                f"it has more than {most:,} values, too many to look at each",
                where=f'column "{name}"',
                do="drop it, or coarsen it where it stands.",
            )  # fmt: skip
        if values is None:
            spellings = tuple(door.same.get(name, {}).items()) if is_text(kind) else ()
            return Untouched(self.key(name), kind, door.trim and is_text(kind), spellings)
        codes = np.arange(len(values), dtype=smallest(max(len(values), 1)))
        raw = Column(name, codes, values, numbered=False)
        return ShownColumn.of(self.key(name), raw, door.column(raw))


def rows_of(table: Table, rows: NDArray[np.bool_], key: Callable[[str], str]) -> pa.Table:
    """Some rows of a counted table as an engine knows them."""
    return pa.table(
        {key(name): c.values.take(pa.array(c.codes[rows])) for name, c in table.columns.items()}
    )


def _travels(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(
        is_text(kind) or types.is_boolean(kind) or types.is_integer(kind)
        or types.is_float32(kind) or types.is_float64(kind) or types.is_decimal128(kind)
        or types.is_date32(kind) or types.is_timestamp(kind)
    )  # fmt: skip


def in_batches(batches: Iterable[pa.RecordBatch], size: int) -> Iterator[pa.RecordBatch]:
    """The same rows, so many at a time: a file does not tell how they came."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        while rows + batch.num_rows >= size:
            waiting.append(batch.slice(0, size - rows))
            yield pa.Table.from_batches(waiting).combine_chunks().to_batches()[0]
            batch, waiting, rows = batch.slice(size - rows), [], 0
        if batch.num_rows:
            waiting.append(batch)
            rows += batch.num_rows
    if waiting:
        yield pa.Table.from_batches(waiting).combine_chunks().to_batches()[0]


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The same columns with text as ordinary text, and categories as their values."""
    return pa.schema([(field.name, _plain(field.type)) for field in schema])


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return _plain(kind.value_type)
    text = pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return pa.string() if text or pa.types.is_null(kind) else kind
