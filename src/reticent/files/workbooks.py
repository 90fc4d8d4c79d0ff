"""Spreadsheets in: one sheet of a workbook, as typed columns.

A spreadsheet keeps every number as a float, and gives every cell a type of its own. A column whose
cells are of one type keeps that type, whole numbers being integers; a column of several is taken as
the texts that it shows. What cannot be seen in cells is not read: a formula gives the value that
was saved with it, and rows and columns that are hidden are rows and columns like others.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import date, datetime, time, timedelta
from itertools import chain, islice
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from reticent.data.texts import is_text, number_text, texts
from reticent.errors import InputError, did_you_mean, many, quoted, remedy
from reticent.files.delimited import Reading, named, told_header, told_unnamed, unreadable
from reticent.files.formats import refuse_encrypted, suffix_of
from reticent.files.headers import LOOKED_AT, header_at

if TYPE_CHECKING:
    from python_calamine import CalamineSheet, CalamineWorkbook

DATA, PROMISES = "Data", "Promises"  # the sheets of a release
_BLOCK = 1 << 15  # rows made columns at a time: as Python's own they take many times the room
_SCANNED = 1 << 20
_ERROR_CELL = re.compile(rb'<c [^>]*\bt="e"')
_UNCOUNTED = re.compile(  # but one whose text is empty was counted
    rb'<c (?![^>]*\bt="str")[^>]*><f(?:/>|[^>]*/>|[^>]*>[^<]*</f>)(?:<v></v>|<v */>)?</c>'
)


def read_workbook(path: Path, suffix: str, reading: Reading, notes: list[str]) -> pa.Table:
    """Read the sheet that was told, or the only one that holds anything."""
    with _opened(path, suffix) as book:
        name, sheet = _chosen(book, path, reading.sheet)
        where = f'{path}, sheet "{name}"'
        if sheet.start is None:
            raise InputError("the sheet is empty", where=where, do="give a header and rows.")
        rows = sheet.iter_rows()
        begin = sheet.start[0]
        first = [*islice(rows, max(begin + LOOKED_AT, reading.header_row or 0))]
        at = _header_row(first, begin, reading, where)
        columns = _columns(chain(first[at + 1 :], rows), len(first[at]))
        merged = [to for _, to in sheet.merged_cell_ranges or () if to[0] > at]
    kept = [  # one without a name or a cell only parts others
        (cell, column) for cell, column in zip(first[at], columns, strict=True)
        if cell != "" or not pa.types.is_null(column.type)
    ]  # fmt: skip
    names, unnamed = named(_shown(cell) for cell, _ in kept)
    if reading.header_row is None and at > begin:
        notes.append(told_header(where, "row", at))
    notes += told_unnamed(unnamed, where)
    if merged:
        notes.append(
            f"{where}: of {many(len(merged), 'group')} of merged cells, only the first cell holds "
            "a value; the others are empty."
        )
    if suffix == ".xlsx" and any(column.null_count for _, column in kept):
        notes += _lost(path, name, where)
    return pa.table([column for _, column in kept], names=list(names))


@contextmanager
def _opened(path: Path, suffix: str) -> Iterator[CalamineWorkbook]:
    """A workbook; what its reader says of one that is broken may quote a cell, and is not told."""
    import python_calamine as calamine

    try:
        if suffix_of(path, [suffix]):
            with calamine.CalamineWorkbook.from_path(path) as book:
                yield book
        else:  # by its name it would be taken for another format
            with open(path, "rb") as file, calamine.CalamineWorkbook.from_filelike(file) as book:
                yield book
    except calamine.PasswordError:
        refuse_encrypted(path)
    except (calamine.CalamineError, OSError) as error:
        raise unreadable(error, path, f"{suffix} file") from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of the library's own language
            raise
        raise InputError(f"this is not a readable {suffix} file", where=str(path)) from None


def _chosen(book: CalamineWorkbook, path: Path, told: str | None) -> tuple[str, CalamineSheet]:
    """The sheet that was told; else the only one of those to be seen that holds anything."""
    from python_calamine import SheetTypeEnum, SheetVisibleEnum

    sheets = [sheet for sheet in book.sheets_metadata if sheet.typ is SheetTypeEnum.WorkSheet]
    names = [sheet.name for sheet in sheets]
    tell = remedy(
        "name one by --sheet, or by sheet in [reading].", "name one by sheet in [reading]."
    )
    if told is not None:
        if told not in names:
            guess = did_you_mean(told, names)
            raise InputError(
                f'there is no sheet "{told}"',
                where=str(path),
                do=guess or f"it has {quoted(names)}.",
            )
        return told, book.get_sheet_by_name(told)
    seen = [sheet.name for sheet in sheets if sheet.visible is SheetVisibleEnum.Visible]
    if seen == [DATA, PROMISES]:
        return DATA, book.get_sheet_by_name(DATA)
    found = {name: book.get_sheet_by_name(name) for name in seen}
    held = [name for name, sheet in found.items() if sheet.height]
    if not held:
        hidden = [name for name in names if name not in seen]
        also = f" that is to be seen; hidden: {quoted(hidden)}" if hidden else ""
        raise InputError(
            f"no sheet holds anything{also}", where=str(path), do=tell if hidden else ""
        )
    if len(held) > 1:
        raise InputError(
            f"it has {len(held)} sheets that hold something: {quoted(held)}",
            where=str(path),
            do=tell,
        )
    return held[0], found[held[0]]


def _header_row(first: Sequence[Sequence[Any]], begin: int, reading: Reading, where: str) -> int:
    """Where the header stands among the first rows: as told, or found."""
    if reading.header_row is not None:
        at = reading.header_row - 1
        if at >= len(first) or not any(cell != "" for cell in first[at]):
            said = f"row {at + 1} is blank" if at < len(first) else f"there is no row {at + 1}"
            raise InputError(
                f"{said}, where the header should be", where=where,
                do=f"correct {remedy('--header-row, or header_row', 'header_row')} in [reading].",
            )  # fmt: skip
        return at
    return begin + header_at(first[begin:])


# --- its cells -----------------------------------------------------------------------------------


def _columns(rows: Iterator[list[Any]], width: int) -> list[pa.ChunkedArray]:
    """The cells below the header by column; rows without any are left out."""
    parts: list[list[pa.Array]] = [[] for _ in range(width)]
    while block := [*islice(rows, _BLOCK)]:
        kept = [row for row in block if any(cell != "" for cell in row)]
        if kept:
            for part, cells in zip(parts, zip(*kept, strict=True), strict=True):
                part.append(_of_one_kind(cells))
    return [_joined(part) for part in parts]


def _of_one_kind(cells: Sequence[Any]) -> pa.Array:
    """Cells as what they are, if they are of one kind; as texts otherwise."""
    known = [None if cell == "" else cell for cell in cells]
    kinds = {*map(type, known)} - {NoneType}
    if not kinds:
        return pa.nulls(len(known))
    if kinds == {str}:
        return pa.array(known, pa.large_string())
    if kinds == {bool}:
        return pa.array(known, pa.bool_())
    if kinds <= {int, float}:
        return pa.array([None if n is None else float(n) for n in known], pa.float64())
    if kinds == {date}:
        return pa.array(known, pa.date32())
    if kinds <= {date, datetime}:
        days = (datetime(d.year, d.month, d.day) if type(d) is date else d for d in known)
        return pa.array(days, pa.timestamp("us"))
    if kinds == {time}:
        return pa.array(known, pa.time64("us"))
    if kinds == {timedelta}:
        return pa.array(known, pa.duration("us"))
    return pa.array([None if cell is None else _shown(cell) for cell in known], pa.large_string())


def _joined(parts: Sequence[pa.Array]) -> pa.ChunkedArray:
    """One column of its parts, as texts if these are of several kinds."""
    kinds = {part.type for part in parts if not pa.types.is_null(part.type)}
    if not kinds:
        return pa.chunked_array([pa.nulls(sum(map(len, parts)))])
    if kinds == {pa.date32(), pa.timestamp("us")}:
        kinds = {pa.timestamp("us")}
    kind = kinds.pop() if len(kinds) == 1 else pa.large_string()
    if is_text(kind):
        parts = [part if part.type == kind else pa.array(_texts(part), kind) for part in parts]
    whole = pa.chunked_array([part.cast(kind) for part in parts], kind)
    return _as_integers(whole) if pa.types.is_floating(kind) else whole


def _as_integers(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whole numbers as integers, if all are: a spreadsheet has no others than floats."""
    for chunk in cells.chunks:
        numbers = chunk.drop_null().to_numpy(zero_copy_only=False)
        if not (np.abs(numbers) < 2**53).all() or (np.floor(numbers) != numbers).any():
            return cells
    return cells.cast(pa.int64())


def _texts(cells: pa.Array) -> list[str | None]:
    if pa.types.is_boolean(cells.type):
        return [None if cell is None else _shown(cell) for cell in cells.to_pylist()]
    return texts(cells)


def _shown(cell: Any) -> str:
    """A cell as a spreadsheet shows it where it gives no form.

    >>> _shown(39.0), _shown(True), _shown(date(2020, 1, 31))
    ('39', 'TRUE', '2020-01-31')
    """
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, int | float):
        return number_text(cell)
    return cell.isoformat() if isinstance(cell, date | time) else str(cell)


def _lost(path: Path, sheet: str, where: str) -> Iterator[str]:
    """What stands in cells that are read as empty: errors, and formulas that nobody counted."""
    errors = uncounted = 0
    with (
        suppress(zipfile.BadZipFile, OSError, KeyError),
        zipfile.ZipFile(path) as archive,
        archive.open(_part_of(archive, sheet)) as file,
    ):
        rest = b""
        while block := file.read(_SCANNED):
            whole, cell, rest = (rest + block).rpartition(b"<c ")  # which may go on in the next one
            errors += len(_ERROR_CELL.findall(whole))
            uncounted += len(_UNCOUNTED.findall(whole))
            rest = cell + rest
        errors += len(_ERROR_CELL.findall(rest))
        uncounted += len(_UNCOUNTED.findall(rest))
    if errors:
        yield f"{where}: {many(errors, 'cell')} with an error, such as #N/A, read as empty."
    if uncounted:
        yield (
            f"{where}: {many(uncounted, 'formula')} without a saved value, read as empty; open the "
            "file in a spreadsheet program and save it, so that they are counted."
        )


def _part_of(archive: zipfile.ZipFile, sheet: str) -> str:
    """The part of a workbook that a sheet is (ECMA-376, 18.2.19 and its relationships)."""
    from xml.etree import ElementTree

    book = ElementTree.fromstring(archive.read("xl/workbook.xml"))
    links = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))
    to = {link.get("Id"): link.get("Target", "") for link in links}
    for element in book.iter():
        if element.tag.endswith("}sheet") and element.get("name") == sheet:
            key = next(value for name, value in element.attrib.items() if name.endswith("}id"))
            target = to[key]
            return target.removeprefix("/") if target.startswith("/") else f"xl/{target}"
    raise KeyError(sheet)
