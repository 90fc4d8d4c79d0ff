"""Spreadsheets in: one sheet of a workbook, as typed columns.

A spreadsheet keeps every number as a float, and gives every cell a type of its own. A column whose
cells are of one type keeps that type, whole numbers being integers; a column of several is taken as
the texts that it shows. What cannot be seen in cells is not read: a formula gives the value that
was saved with it, and rows and columns that are hidden are rows and columns like others.
"""

from __future__ import annotations

import re
import zipfile
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from reticent.errors import InputError, did_you_mean, many, quoted, remedy
from reticent.files.cells import as_shown, joined, of_one_kind
from reticent.files.delimited import Reading, named, told_header, told_unnamed, unreadable
from reticent.files.extents import part_of, refuse_far, refuse_far_open
from reticent.files.footers import LOOKED_AT as FOOTED
from reticent.files.footers import told_footers
from reticent.files.formats import refuse_encrypted, suffix_of
from reticent.files.headers import LOOKED_AT, doubted, header_at

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
        name, sheet = _chosen(book, path, suffix, reading.sheet)
        where = f'{path}, sheet "{name}"'
        if reading.sheet is None and name == DATA and PROMISES in book.sheet_names:
            notes.append(f'{where} alone is read: "{PROMISES}" says what a release promises.')
        if sheet.start is None:
            raise InputError("the sheet is empty", where=where, do="give a header and rows.")
        rows = sheet.iter_rows()
        begin = sheet.start[0]
        first = [*islice(rows, max(begin + LOOKED_AT, reading.header_row or 0))]
        at = _header_row(first, begin, reading, where)
        last: deque[tuple[int, list[Any]]] = deque(maxlen=FOOTED)
        columns = _columns(chain(first[at + 1 :], rows), len(first[at]), at + 2, last)
        merged = [to for _, to in sheet.merged_cell_ranges or () if to[0] > at]
    kept = [  # one without a name or a cell only parts others
        (cell, column) for cell, column in zip(first[at], columns, strict=True)
        if cell != "" or not pa.types.is_null(column.type)
    ]  # fmt: skip
    names, unnamed = named(as_shown(cell) for cell, _ in kept)
    if reading.header_row is None and at > begin:
        notes.append(told_header(where, "row", at))
    if reading.header_row is None and (doubt := doubted(first[at:], f"{where}, row {at + 1}")):
        notes.append(doubt)
    notes += told_unnamed(unnamed, where, found=reading.header_row is None)
    notes += told_footers(last, where, "row")
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

    if suffix == ".ods":
        refuse_far_open(path)
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


def _chosen(
    book: CalamineWorkbook, path: Path, suffix: str, told: str | None
) -> tuple[str, CalamineSheet]:
    """The sheet that was told; else the only one of those to be seen that holds anything."""
    from python_calamine import SheetTypeEnum, SheetVisibleEnum

    def sheet_of(name: str) -> CalamineSheet:
        if suffix in (".xlsx", ".xlsm", ".xlsb"):
            refuse_far(path, suffix, name)
        return book.get_sheet_by_name(name)

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
        return told, sheet_of(told)
    seen = [sheet.name for sheet in sheets if sheet.visible is SheetVisibleEnum.Visible]
    if seen == [DATA, PROMISES]:
        return DATA, sheet_of(DATA)
    found = {name: sheet_of(name) for name in seen}
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


def _columns(
    rows: Iterator[list[Any]], width: int, number: int, last: deque[tuple[int, list[Any]]]
) -> list[pa.ChunkedArray]:
    """The cells below the header by column; rows without any are left out.

    `number` is that of the first row; the last ones are kept with theirs.
    """
    parts: list[list[pa.Array]] = [[] for _ in range(width)]
    while block := [*islice(rows, _BLOCK)]:
        last.extend(enumerate(block, number))
        number += len(block)
        kept = [row for row in block if any(cell != "" for cell in row)]
        if kept:
            for part, cells in zip(parts, zip(*kept, strict=True), strict=True):
                part.append(of_one_kind(cells))
    return [joined(part) for part in parts]


def _lost(path: Path, sheet: str, where: str) -> Iterator[str]:
    """What stands in cells that are read as empty: errors, and formulas that nobody counted."""
    errors = uncounted = 0
    with (
        suppress(zipfile.BadZipFile, OSError, KeyError),
        zipfile.ZipFile(path) as archive,
        archive.open(part_of(archive, sheet)) as file,
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
