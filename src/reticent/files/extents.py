"""How far the cells of a sheet reach, before it is read.

What reads spreadsheets takes room for every cell from the first to the last row and column that
hold something. One stray cell far away is enough for more than any machine has, and then it ends
the whole process. So such a sheet is refused beforehand, by what its part of the archive says.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

from reticent.errors import InputError

_MOST = 100_000_000  # cells, of about 37 bytes each
_MANY = 10_000_000  # from here on, a sheet that is hardly filled is refused as well
_FILLED = 50  # one cell of so many must hold something
_SCANNED = 1 << 20
_LONGEST = 64 << 20  # bytes without the end of a row
_DAMAGED = (zipfile.BadZipFile, OSError, KeyError, ElementTree.ParseError, expat.ExpatError)
_PLACE = re.compile(rb' r="([A-Z]{1,3})(\d{1,9})"')
_HELD = re.compile(rb'<(?:\w+:)?c\b[^>]*?\br="([A-Z]{1,3})(\d{1,9})"[^>]*(?<!/)>(?!</)')
_CELL = re.compile(rb"<(?:\w+:)?c[\s>]")
_BINARY_EXTENT = re.compile(rb"\x94\x01\x10(.{16})", re.DOTALL)  # BrtWsDim (MS-XLSB, 2.4.865)


def refuse_far(path: Path, suffix: str, sheet: str) -> None:
    """Refuse a sheet of a workbook whose cells reach farther than can be read."""
    with suppress(*_DAMAGED), zipfile.ZipFile(path) as archive:  # its reader says what is wrong
        if suffix == ".xlsb":
            rows, columns = _of_binary(archive, sheet)
            filled = rows * columns
        else:
            rows, columns, filled = _of_part(archive, sheet)
            if _is_far(rows, columns, filled):  # perhaps by cells that hold a colour alone
                rows, columns = _held(archive, sheet, rows, columns)
        _refuse(rows, columns, filled, f'{path}, sheet "{sheet}"')


def refuse_far_open(path: Path) -> None:
    """Refuse an .ods file one of whose sheets reaches farther than can be read: all are."""
    with suppress(*_DAMAGED), zipfile.ZipFile(path) as archive:
        found = _OpenSheets(f"{path}")
        parser = expat.ParserCreate()
        parser.StartElementHandler, parser.EndElementHandler = found.begin, found.end
        with archive.open("content.xml") as file:
            parser.ParseFile(file)


def part_of(archive: zipfile.ZipFile, sheet: str, book: str = "xl/workbook.xml") -> str:
    """The part of a workbook that a sheet is (ECMA-376, 18.2.19 and its relationships)."""
    links = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))
    to = {link.get("Id"): link.get("Target", "") for link in links}
    for element in ElementTree.fromstring(archive.read(book)).iter():
        if element.tag.endswith("}sheet") and element.get("name") == sheet:
            key = next(value for name, value in element.attrib.items() if name.endswith("}id"))
            target = to[key]
            return target.removeprefix("/") if target.startswith("/") else f"xl/{target}"
    raise KeyError(sheet)


def _is_far(rows: int, columns: int, filled: int) -> bool:
    cells = rows * columns
    return cells > _MOST or (cells > _MANY and filled * _FILLED < cells)


def _refuse(rows: int, columns: int, filled: int, where: str) -> None:
    if _is_far(rows, columns, filled):
        sparse = filled * _FILLED < rows * columns
        raise InputError(
            f"its cells reach to row {rows:,} and column {_letters(columns)}, and "
            f"{'nearly all are empty' if sparse else 'are too many'}",
            where=where,
            do="delete the rows and columns beyond the table, where some cell is left over, and "
            "save the file; or save the table as CSV.",
        )  # fmt: skip


def _blocks(archive: zipfile.ZipFile, sheet: str) -> Iterator[bytes]:
    """The part of a sheet, cut where rows end."""
    with archive.open(part_of(archive, sheet)) as file:
        rest = b""
        while block := file.read(_SCANNED):
            whole, row, rest = (rest + block).rpartition(b"row>")
            yield whole + row
            if len(rest) > _LONGEST:
                yield rest
                rest = b""
        yield rest


def _of_part(archive: zipfile.ZipFile, sheet: str) -> tuple[int, int, int]:
    """The last row and column that the part of a sheet names, and how many cells hold something."""
    last = count = width = filled = 0
    columns: set[bytes] = set()
    for block in _blocks(archive, sheet):
        places = _PLACE.findall(block)
        columns.update(letters for letters, _ in places)
        last = max(last, max((int(row) for _, row in places), default=0))
        filled += block.count(b"c>")
        count += block.count(b"row>")  # their ends
        if len(places) < sum(map(block.count, (b"<c ", b":c ", b"<c>"))):  # some go by their order
            width = max(width, *map(len, map(_CELL.findall, block.split(b"row>"))))
    return max(last, count), max([width, *map(_number, columns)]), filled


def _held(archive: zipfile.ZipFile, sheet: str, rows: int, columns: int) -> tuple[int, int]:
    """The last row and column of cells that hold something; as it was where no cell is placed."""
    found = {b"A": 0}
    for block in _blocks(archive, sheet):
        if len(_CELL.findall(block)) > len(_PLACE.findall(block)):
            return rows, columns
        for letters, row in _HELD.findall(block):
            found[letters] = max(found.get(letters, 0), int(row))
    return max(found.values()), max(map(_number, found))


def _of_binary(archive: zipfile.ZipFile, sheet: str) -> tuple[int, int]:
    """The last row and column that a binary sheet says it has; (0, 0) if it does not say so."""
    book = archive.read("xl/workbook.bin")
    links = ElementTree.fromstring(archive.read("xl/_rels/workbook.bin.rels"))
    for link in links:
        key = link.get("Id", "").encode("utf-16-le")
        if key + len(sheet).to_bytes(4, "little") + sheet.encode("utf-16-le") in book:
            with archive.open(f"xl/{link.get('Target', '')}") as file:
                said = _BINARY_EXTENT.search(file.read(_SCANNED))
            if said:
                last = [int.from_bytes(said[1][at : at + 4], "little") + 1 for at in (4, 12)]
                return last[0], last[1]
    return 0, 0


class _OpenSheets:
    """How far the sheets of an .ods file reach, of which cells and rows may stand for many."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._sheet = ""
        self._start()

    def _start(self) -> None:
        self._row = self._rows = self._columns = self._filled = 0  # rows and columns that hold
        self._repeated = 1
        self._begin_row(1)

    def _begin_row(self, repeated: int) -> None:
        self._repeated = repeated
        self._column = self._last = self._held = 0

    def begin(self, name: str, attributes: dict[str, Any]) -> None:
        kind = name.rpartition(":")[2]
        if kind == "table":
            self._start()
            self._sheet = attributes.get("table:name", "")
        elif kind == "table-row":
            self._begin_row(_times(attributes.get("table:number-rows-repeated")))
        elif kind in ("table-cell", "covered-table-cell"):
            times = _times(attributes.get("table:number-columns-repeated"))
            self._column += times
            if any("value" in key or key.endswith(":formula") for key in attributes):
                self._last = self._column
                self._held += times

    def end(self, name: str) -> None:
        kind = name.rpartition(":")[2]
        if kind == "table-row":
            self._row += self._repeated
            if self._last:
                self._rows = self._row
                self._columns = max(self._columns, self._last)
                self._filled += self._held * min(self._repeated, _MOST)
        elif kind == "table":
            where = f'{self._where}, sheet "{self._sheet}"'
            _refuse(self._rows, self._columns, self._filled, where)
            self._start()


def _times(told: str | None) -> int:
    return int(told) if told and told.isdecimal() and len(told) < 10 else 1


def _number(letters: bytes) -> int:
    """The place of a column: 27 of AA."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number


def _letters(number: int) -> str:
    """What a spreadsheet calls a column.

    >>> _letters(26), _letters(27), _letters(16384)
    ('Z', 'AA', 'XFD')
    """
    letters = ""
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return letters
