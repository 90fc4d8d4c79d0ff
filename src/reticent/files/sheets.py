"""Rows on their way out: sorted, printed, written.

A sheet is what is about to be published: columns of codes into printed (or typed) values, and how
often each row stands. Where rows repeat, each distinct line is printed once. Rows that do not fit
in memory come as several sheets, one after the other; the file is the same.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from reticent.data import memory
from reticent.data.collapse import Codes, distinct
from reticent.data.columns import Column
from reticent.data.memory import Threads, runs
from reticent.data.texts import is_text, texts
from reticent.files.tabular import ARROW
from reticent.files.writing import AS_USUAL, BOM, Writing

_LINES = 1 << 16  # lines printed at a time: about 5 MB of text, so memory stays flat
_FEW = 1 << 16
Told = Callable[[int], None]  # hears how many rows are written
LINES = 1 << 17  # rows that are printed at a time, as lines
ROW_GROUP = 1 << 20  # rows of a group in Parquet, of a batch in Arrow


@dataclass(frozen=True, slots=True)
class Sheet:
    """Rows ready to be written."""

    names: tuple[str, ...]
    columns: tuple[Codes, ...]
    values: tuple[pa.Array, ...]
    counts: NDArray[np.int64]  # how often each row stands; never 0

    @property
    def rows(self) -> int:
        """How many rows are written."""
        return int(self.counts.sum())

    @property
    def longest(self) -> int:
        """No printed line has more bytes than this."""
        import pyarrow.compute as pc

        longest = 0
        for values in self.values:
            # A text may double its quotes; of what is no text, nothing prints longer than this.
            text = is_text(values.type)
            bytes_ = pc.max(pc.binary_length(values)).as_py() if text else 1000
            longest += 2 * (bytes_ or 0) + 4
        return longest

    def select(self, names: Sequence[str]) -> Sheet:
        """The sheet with only these columns, rows as they stand."""
        at = [self.names.index(name) for name in names]
        columns = tuple(self.columns[i] for i in at)
        values = tuple(self.values[i] for i in at)
        return replace(self, names=tuple(names), columns=columns, values=values)

    def column(self, name: str) -> Column:
        """What the distinct rows hold of a column."""
        at = self.names.index(name)
        codes: Any = self.columns[at]
        return Column(name, codes, self.values[at])

    def tally(self, name: str) -> dict[str, int]:
        """How many rows show each value of a column, as printed; what nobody shows is left out."""
        at = self.names.index(name)
        cells = texts(self.values[at])
        counts = np.bincount(self.columns[at], weights=self.counts, minlength=len(cells))
        found: dict[str, int] = {}
        for cell, count in zip(cells, counts.astype(np.int64).tolist(), strict=True):
            if count:
                found[cell or ""] = found.get(cell or "", 0) + count
        return found

    def arrow(self) -> pa.Table:
        """The rows as an Arrow table that carries nothing but its cells."""
        repeats = np.repeat(np.arange(len(self.counts)), self.counts)
        cells = [
            _plain(values.take(pa.array(codes[repeats])))
            for codes, values in zip(self.columns, self.values, strict=True)
        ]
        return pa.table(dict(zip(self.names, cells, strict=True)))

    def pieces(self, rows: int) -> Iterator[Sheet]:
        """The same rows as sheets of so many written rows each; the last may have fewer."""
        ends = np.cumsum(self.counts)
        for done in range(0, self.rows, rows):
            first = int(np.searchsorted(ends, done, side="right"))
            last = int(np.searchsorted(ends, done + rows, side="left")) + 1
            reached = np.concatenate([[done], np.clip(ends[first:last], done, done + rows)])
            columns = tuple(codes[first:last] for codes in self.columns)
            yield replace(self, columns=columns, counts=reached[1:] - reached[:-1])


def _plain(cells: pa.Array) -> pa.Array:
    """Text of our own reader is 64-bit text inside; everybody expects the ordinary one."""
    fits = pa.types.is_large_string(cells.type) and cells.nbytes < 2**31
    return cells.cast(pa.string()) if fits else cells


@dataclass(frozen=True, slots=True)
class ColumnForm:
    """How an Arrow column held its cells, beyond what they say."""

    type: pa.DataType
    categories: pa.Array | None = None  # in their order, where that means something

    def stored(self) -> ColumnForm:
        """The same in a file that others read: views are a way to hold texts in memory."""
        kind = self.type
        if pa.types.is_string_view(kind):
            return replace(self, type=pa.large_string())
        if pa.types.is_dictionary(kind) and pa.types.is_string_view(kind.value_type):
            plain = pa.dictionary(kind.index_type, pa.string(), kind.ordered)
            return replace(self, type=plain)
        return self


def forms_of(table: pa.Table) -> dict[str, ColumnForm]:
    """The form of each column."""
    return {
        field.name: ColumnForm(
            field.type,
            table.column(field.name).unify_dictionaries().chunk(0).dictionary
            if pa.types.is_dictionary(field.type) and field.type.ordered and table.num_rows
            else None,
        )
        for field in table.schema
    }


def formed(table: pa.Table, forms: Mapping[str, ColumnForm]) -> pa.Table:
    """The same cells in the forms they came in, with no category that no row shows.

    Categories without an order of their own are sorted: in the order in which they were first met
    they would tell where hidden ones stood.

    >>> came = pa.table({"A": pa.array(["b", "a", "b", "c"]).dictionary_encode()})
    >>> left = pa.table({"A": [None, "a", "b", None]})
    >>> formed(left, forms_of(came))["A"].chunk(0).dictionary.to_pylist()
    ['a', 'b']
    """
    cells = {
        name: _formed(table.column(name).combine_chunks(), forms[name])
        for name in table.column_names
    }
    return pa.table(cells)


def _formed(cells: pa.Array, form: ColumnForm) -> pa.Array:
    import pyarrow.compute as pc

    if pa.types.is_null(form.type):
        return pa.nulls(len(cells))
    if not pa.types.is_dictionary(form.type):
        too_long = pa.types.is_large_string(cells.type) and pa.types.is_string(form.type)
        return cells if too_long else cells.cast(form.type)
    shown = cells.unique().drop_null()
    if form.categories is None:
        shown = _sorted(shown)
    else:
        known = form.categories.cast(cells.type).unique()
        shown = known.filter(pc.is_in(known, shown))
    codes = pc.index_in(cells, shown).cast(form.type.index_type)
    values = shown.cast(form.type.value_type)
    return pa.DictionaryArray.from_arrays(codes, values, ordered=form.type.ordered)


def _sorted(values: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    try:
        return values.take(pc.sort_indices(values))
    except pa.ArrowNotImplementedError:  # of truths, for example
        return values.take(pc.sort_indices(pa.array(texts(values))))


def sheet(
    columns: Sequence[Column],
    *,
    order: str,
    counts: NDArray[np.int64] | None = None,
    hidden: Sequence[Column] = (),
) -> Sheet:
    """Arrange columns for output: sorted by printed cell from the left, or as they came.

    `counts`: how often each row stands; once if not told. `hidden` columns come last, and tell
    nothing of themselves by the order of rows.
    """
    every = [*columns, *hidden]
    names = tuple(column.name for column in every)
    if order == "input":
        codes, values = tuple(c.codes for c in every), tuple(c.values for c in every)
        once = np.ones(len(codes[0]), dtype=np.int64)
        return Sheet(names, codes, values, once if counts is None else counts)
    ranked = [by_printed_cell(column) for column in every]
    keys: list[Codes] = []
    sizes: list[int] = []
    at = {}  # where the codes of each column stand among the keys
    for part in (range(len(columns)), range(len(columns), len(every))):
        for i in part:
            column, rank = ranked[i]
            at[i] = len(keys)
            keys.append(column.codes if rank is None else memory.look_up(rank, column.codes))
            sizes.append(len(column.values))
        for i in part:  # only to tell apart what prints alike
            column, rank = ranked[i]
            if rank is not None:
                at[i] = len(keys)
                keys.append(column.codes)
                sizes.append(len(column.values))
    found = distinct(keys, sizes, counts)
    return Sheet(
        names,
        tuple(found.columns[at[i]] for i in range(len(every))),
        tuple(column.values for column, _ in ranked),
        found.counts,
    )


def by_printed_cell(column: Column) -> tuple[Column, Codes | None]:
    """Renumber codes so that they rise with the printed cell, by code point; missing prints empty.

    Bytes of UTF-8 rise with code points, so Arrow's order of text is the order wanted. Where two
    values print alike (null and empty text, 0.0 and -0.0) also says the rank of each code's cell.
    """
    import pyarrow.compute as pc

    plain = is_text(column.values.type)
    printed = column.values if plain else pa.array(column.texts(), pa.string())
    printed = pc.fill_null(printed, "")
    rank = None
    if pc.count_distinct(printed).as_py() == len(printed):
        order = pc.sort_indices(printed).to_numpy()
    else:
        cells, values = printed.to_pylist(), column.values.to_pylist()
        ranks = {cell: i for i, cell in enumerate(sorted(set(cells)))}
        order = np.array(sorted(range(len(cells)), key=lambda i: (cells[i], repr(values[i]))))
        rank = np.array([ranks[cells[i]] for i in order], dtype=column.codes.dtype)
    to = np.empty(len(order), dtype=column.codes.dtype)
    to[order] = np.arange(len(order))
    codes = memory.look_up(to, column.codes)
    return Column(column.name, codes, column.values.take(pa.array(order))), rank


# --- printing ------------------------------------------------------------------------------------


def write(
    rows: Sheet | Iterable[Sheet],
    path: Path,
    suffix: str,
    told: Told = lambda done: None,
    writing: Writing = AS_USUAL,
    notes: Sequence[Sequence[str]] = (),
) -> None:
    """Write rows to `path` in the format that `suffix` names; `told` hears how many there are.

    `notes`: rows of a second sheet, where the format has such. Several sheets have the same
    columns, and `ROW_GROUP` rows each but for the last: so it makes no difference to the file
    whether its rows came at once.
    """
    sheets = iter([rows] if isinstance(rows, Sheet) else rows)
    if suffix in (".parquet", *ARROW):
        _write_typed(sheets, path, suffix, told)
    elif suffix == ".xlsx":
        from reticent.files.spreadsheets import write_workbook

        write_workbook([*sheets], path, told, writing, notes, _lines)
    else:
        with opened(path, suffix) as file:
            _print(sheets, file, suffix, told, writing)


@contextmanager
def opened(path: Path, suffix: str) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """A file to write text into; an archive carries neither time nor name, so bytes repeat."""
    with open(path, "wb") as raw:
        if not suffix.endswith(".gz"):
            yield raw
            return
        with gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as file:
            yield file


def write_parts(
    rows: Callable[[int], Sheet | Iterator[Sheet]],
    folder: Path,
    suffix: str,
    per_file: int,
    told: Told = lambda done: None,
    writing: Writing = AS_USUAL,
    notes: Sequence[Sequence[str]] = (),
) -> list[Path]:
    """Write rows as several files of about so many rows each, in the order of their names."""
    size = min(per_file, ROW_GROUP)
    found = rows(size)
    sheets = found.pieces(size) if isinstance(found, Sheet) else found
    paths: list[Path] = []
    done = 0

    def counted(part: Iterable[Sheet]) -> Iterator[Sheet]:
        nonlocal done
        for sheet in part:
            yield sheet
            done += sheet.rows
            told(done)

    for first in sheets:
        paths.append(folder / f"part-{len(paths):05d}{suffix}")
        part = chain([first], islice(sheets, -(-per_file // size) - 1))
        write(counted(part), paths[-1], suffix, writing=writing, notes=notes)
    return paths


def _write_typed(sheets: Iterator[Sheet], path: Path, suffix: str, told: Told) -> None:
    first = next(sheets)
    parquet = suffix == ".parquet"
    text = pa.dictionary(pa.int32(), pa.string()) if parquet else pa.string()
    columns = zip(first.names, first.values, strict=True)
    kinds = ((name, text if is_text(values.type) else values.type) for name, values in columns)
    schema = pa.schema(kinds)
    with _typed_file(path, suffix, schema, store_schema=False) as writer:
        done = 0
        for piece in (part for sheet in chain([first], sheets) for part in sheet.pieces(ROW_GROUP)):
            cells = [
                _coded(codes, values, piece.counts) if parquet and is_text(values.type)
                else values.take(pa.array(np.repeat(codes, piece.counts)))
                for codes, values in zip(piece.columns, piece.values, strict=True)
            ]  # fmt: skip
            writer.write_table(pa.table(cells, piece.names).cast(schema))
            done += piece.rows
            told(done)


def _typed_file(path: Path, suffix: str, schema: pa.Schema, *, store_schema: bool = True) -> Any:
    """A Parquet or Arrow file to write tables into."""
    import pyarrow.parquet as pq

    if suffix == ".parquet":
        return pq.ParquetWriter(path, schema, compression="zstd", store_schema=store_schema)
    return pa.ipc.new_file(str(path), schema)


def _coded(codes: Codes, values: pa.Array, counts: NDArray[np.int64]) -> pa.Array:
    """Texts as codes into those that occur: written so, a file takes a third of the time.

    A few stand in the order of their texts, many as they occur first, whatever their codes.
    """
    import pyarrow.compute as pc

    used = np.bincount(codes, minlength=len(values)) > 0
    missing = None
    if values.null_count:  # has no place in a dictionary
        gap = np.asarray(values.is_null())
        used &= ~gap
        missing = np.repeat(gap[codes], counts)
    found: NDArray[Any] = np.flatnonzero(used)
    if len(found) <= _FEW:
        found = found[pc.sort_indices(values.take(pa.array(found))).to_numpy()]
    else:
        known, first = np.unique(codes, return_index=True)
        found = known[np.argsort(first)]
        found = found[used[found]]
    to = np.zeros(len(values), dtype=np.int32)
    to[found] = np.arange(len(found))
    indices = pa.array(np.repeat(to[codes], counts), mask=missing)
    return pa.DictionaryArray.from_arrays(indices, values.take(pa.array(found)).cast(pa.string()))


def write_table(table: pa.Table, path: Path, suffix: str, told: Told = lambda done: None) -> None:
    """Write an Arrow table as Parquet or Arrow, from which it comes back in the same types."""
    with _typed_file(path, suffix, table.schema) as writer:
        for done in range(0, table.num_rows, ROW_GROUP):
            part = table.slice(done, ROW_GROUP)
            writer.write_table(part)
            told(done + part.num_rows)


def _print(
    sheets: Iterator[Sheet],
    file: IO[bytes] | gzip.GzipFile,
    suffix: str,
    told: Told,
    writing: Writing,
) -> None:
    delimiter = writing.delimiter_for(suffix)
    known: dict[int, tuple[pa.Array, pa.Array]] = {}  # column → values, and as they are printed
    done = 0
    # Two threads print while the writer writes; Arrow lets go of the interpreter lock.
    with Threads(2) as pool:
        for number, sheet in enumerate(sheets):
            last = len(sheet.names) - 1
            if not number:
                names = _printed(pa.array(sheet.names), delimiter, "", lone=False).to_pylist()
                begun = BOM if writing.bom else ""
                file.write((begun + delimiter.join(names) + "\n").encode())
            for j, values in enumerate(sheet.values):  # mostly those of the sheet before
                if j not in known or known[j][0] is not values:
                    end = "\n" if j == last else delimiter
                    shown = writing.shown(sheet.names[j], values)
                    known[j] = (values, _printed(shown, delimiter, end, lone=not last))
            cells = [printed for _, printed in known.values()]
            for buffer in pool.map(_lines_of(sheet, cells), _blocks(sheet)):
                file.write(buffer)
            done += sheet.rows
            told(done)


def _blocks(sheet: Sheet) -> Iterator[slice]:
    """The rows of a sheet in blocks of about so many lines."""
    starts = np.concatenate([[0], np.cumsum(sheet.counts)])
    return (slice(first, last) for first, last in runs(starts, _LINES))


def _lines(sheet: Sheet, cells: Sequence[pa.Array]) -> Iterator[pa.Buffer]:
    """All rows of a sheet as they are printed, one block after the other."""
    return map(_lines_of(sheet, cells), _blocks(sheet))


def _lines_of(sheet: Sheet, cells: Sequence[pa.Array]) -> Callable[[slice], pa.Buffer]:
    """A function that prints some rows of a sheet, each value of a column as its cell."""
    import pyarrow.compute as pc

    nothing = pa.scalar("", pa.large_string())

    def lines(block: slice) -> pa.Buffer:
        pieces = [
            column.take(pa.array(codes[block]))
            for column, codes in zip(cells, sheet.columns, strict=True)
        ]
        printed = pc.binary_join_element_wise(*pieces, nothing) if len(pieces) > 1 else pieces[0]
        counts = sheet.counts[block]
        if counts.max() > 1:
            printed = printed.take(pa.array(np.repeat(np.arange(len(counts)), counts)))
        begins = np.frombuffer(printed.buffers()[1], dtype=np.int64)[printed.offset :]
        first, last = int(begins[0]), int(begins[len(printed)])
        return printed.buffers()[2].slice(first, last - first)

    return lines


def _printed(values: pa.Array, delimiter: str, end: str, *, lone: bool) -> pa.Array:
    """Each value as its cell and what ends it.

    A lone column quotes its empty cells: a blank line would be no row at all.
    """
    import pyarrow.compute as pc

    # By Arrow: as Python's texts, a million long cells took gigabytes.
    cells = values if is_text(values.type) else pa.array(texts(values), pa.large_string())
    cells = pc.fill_null(cells.cast(pa.large_string()), "")
    quote, nothing, ended = (pa.scalar(text, pa.large_string()) for text in ('"', "", end))
    odd = pc.match_substring_regex(cells, f'["\\r\\n\\x{{{ord(delimiter):x}}}]')
    if pc.any(odd).as_py():
        doubled = pc.replace_substring(cells, '"', '""')
        cells = pc.if_else(odd, pc.binary_join_element_wise(quote, doubled, quote, nothing), cells)
    if lone:
        cells = pc.if_else(pc.equal(cells, ""), pa.scalar('""', pa.large_string()), cells)
    return pc.binary_join_element_wise(cells, ended, nothing)
