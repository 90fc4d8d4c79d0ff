"""The verifier's own look at a workbook: the cells of its data, and what else it carries.

It shares no line with those who write and read workbooks. What a release says of itself stands in
plain sight on the sheet of promises; whatever else a workbook can carry may tell what cells hide.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from reticent.data.texts import number_text
from reticent.errors import InputError, Problem, many, quoted

_DATA, _PROMISES = "Data", "Promises"
_BLOCK = 1 << 15
_SCANNED = 1 << 20
_PLAIN_PARTS = re.compile(
    r"\[Content_Types\]\.xml|_rels/\.rels|docProps/(core|app)\.xml|xl/workbook\.xml"
    r"|xl/_rels/workbook\.xml\.rels|xl/(styles|sharedStrings|calcChain)\.xml"
    r"|xl/theme/theme\d*\.xml|xl/worksheets/sheet\d+\.xml"
)
_SAID = re.compile(rb"<(?:\w+:)?(\w+)(?:\s[^>]*)?>([^<]+)</")
_OURS = {"created": b"2000-01-01T00:00:00Z", "modified": b"2000-01-01T00:00:00Z"}
_PERSONAL = {"Company": "a company", "Manager": "a manager", "HyperlinkBase": "an address"}
_NAMES = re.compile(rb'<definedName [^>]*name="([^"]*)"')
_SHEETS = re.compile(rb"<sheet [^>]*>")
_HIDDEN = re.compile(rb'<(?:row|col) [^>]*hidden="(?:1|true)"')
_FORMULA = re.compile(rb"<f[ />]")
_SHARED = re.compile(rb'<c [^>]*t="s"[^>]*><v>(\d+)</v>')


def cells_of(paths: Sequence[Path], names: Sequence[str]) -> pa.Table:
    """The cells of the data in released workbooks, as texts; blank ones are empty."""
    parts = [part for path in paths for part in _parts(path, names)]
    empty = pa.table({name: pa.array([], pa.large_string()) for name in names})
    return pa.concat_tables(parts) if parts else empty


def _parts(path: Path, names: Sequence[str]) -> Iterator[pa.Table]:
    import python_calamine as calamine

    with open(path, "rb") as file, calamine.CalamineWorkbook.from_filelike(file) as book:
        rows = book.get_sheet_by_name(_DATA).iter_rows()
        header = [str(cell) for cell in next(rows)]
        if header != [*names]:
            raise InputError(
                "the header of the data is not that of the release", where=str(path),
                do="get the release again from its owner.",
            )  # fmt: skip
        blocks = []
        times: set[int] = set()  # columns of times: at midnight, a cell alone looks like a date
        while block := [*islice(rows, _BLOCK)]:
            columns = [list(column) for column in zip(*block, strict=True)]
            times |= {j for j, c in enumerate(columns) if datetime in {*map(type, c)}}
            blocks.append([_packed(column) for column in columns])
    for columns in blocks:
        yield pa.table(
            [_texts(column, clock=j in times) for j, column in enumerate(columns)], [*names]
        )


def _packed(cells: list[Any]) -> Any:
    """Cells in less room, where all of them are of one kind."""
    kinds = {*map(type, cells)}
    packed = {str: pa.large_string(), float: pa.float64(), date: pa.date32()}
    (kind, *others) = kinds
    return cells if others or kind not in packed else pa.array(cells, packed[kind])


def _texts(cells: Any, *, clock: bool) -> pa.Array:
    if isinstance(cells, pa.Array):
        if pa.types.is_large_string(cells.type):
            return cells
        cells = cells.to_pylist()
    return pa.array([_text(cell, clock=clock) for cell in cells], pa.large_string())


def _text(cell: Any, *, clock: bool) -> str:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, int | float):
        return number_text(cell)
    if clock and type(cell) is date:
        return f"{cell.isoformat()}T00:00:00"
    return cell.isoformat() if isinstance(cell, date | time) else str(cell)


# --- what it carries besides ---------------------------------------------------------------------


def leftovers(path: Path) -> Iterator[Problem]:
    """What a workbook tells besides its cells that are to be seen."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield from _leftovers(archive, str(path))
    except (zipfile.BadZipFile, OSError, KeyError, UnicodeError):
        yield Problem("the workbook is damaged", where=str(path), do="get it again.")


def _leftovers(archive: zipfile.ZipFile, where: str) -> Iterator[Problem]:
    names = archive.namelist()
    if others := [name for name in names if not _PLAIN_PARTS.fullmatch(name)]:
        yield Problem(
            f"the workbook carries what no cell shows: {quoted(others)}", where=where,
            why="comments, pictures, links, caches and macros may hold what was masked.",
            do="copy the cells alone into a new workbook.",
        )  # fmt: skip
    if archive.comment:
        yield Problem("the archive has a comment", where=where, do="write it without.")
    yield from _of_book(archive.read("xl/workbook.xml"), where)
    yield from _of_properties(archive, names, where)
    hidden = formulas = 0
    shown: set[int] = set()
    for name in names:
        if not name.startswith("xl/worksheets/sheet"):
            continue
        for text in _pieces(archive, name):
            hidden += len(_HIDDEN.findall(text))
            formulas += len(_FORMULA.findall(text))
            shown |= {int(number) for number in _SHARED.findall(text)}
    if hidden:
        yield Problem(
            f"{many(hidden, 'row or group of columns', 'rows or groups of columns')} are hidden",
            where=where, why="they are published all the same.", do="show them, or remove them.",
        )  # fmt: skip
    if formulas:
        yield Problem(
            f"{many(formulas, 'cell')} hold formulas", where=where,
            why="a formula may tell more than the value that it shows.",
            do="keep the values alone.",
        )  # fmt: skip
    if "xl/sharedStrings.xml" in names:
        held = sum(len(re.findall(rb"<si[ />]", t)) for t in _pieces(archive, _STRINGS, b"<si"))
        if spare := held - len(shown):
            yield Problem(
                f"the workbook carries {many(spare, 'text')} that no cell shows", where=where,
                why="they tell which values the masked cells hide.",
                do="copy the cells alone into a new workbook.",
            )  # fmt: skip


_STRINGS = "xl/sharedStrings.xml"


def _of_book(text: bytes, where: str) -> Iterator[Problem]:
    sheets = [_attribute(sheet, b"name") for sheet in _SHEETS.findall(text)]
    others = [name for name in sheets if name not in (_DATA, _PROMISES)]
    if others and len(sheets) > 1:
        yield Problem(
            f"the workbook has other sheets: {quoted(others)}", where=where,
            why="nobody looks there for what the data may not show.", do="remove them.",
        )  # fmt: skip
    if re.search(rb'<sheet [^>]*state="(hidden|veryHidden)"', text):
        yield Problem("a sheet of the workbook is hidden", where=where, do="remove it.")
    named = [name.decode("utf-8", "replace") for name in _NAMES.findall(text)]
    if names := [name for name in named if name != "_xlnm._FilterDatabase"]:
        yield Problem(
            f"the workbook has names for something: {quoted(names)}", where=where,
            why="a name may stand for a value or a formula that no cell shows.", do="remove them.",
        )  # fmt: skip


def _of_properties(archive: zipfile.ZipFile, names: Sequence[str], where: str) -> Iterator[Problem]:
    said: dict[str, bytes] = {}
    if "docProps/core.xml" in names:
        found = _SAID.findall(archive.read("docProps/core.xml"))
        said = {key.decode(): value for key, value in found}
    told = sorted(key for key, value in said.items() if _OURS.get(key) != value)
    if "docProps/app.xml" in names:
        found = _SAID.findall(archive.read("docProps/app.xml"))
        told += sorted(key.decode() for key, _ in found if key.decode() in _PERSONAL)
    if told:
        yield Problem(
            f"the workbook tells of its making: {quoted(told)}", where=where,
            why="who made a file, and when, is no part of a release.",
            do="publish the file as it was released, or remove its properties.",
        )  # fmt: skip


def _attribute(element: bytes, name: bytes) -> str:
    from html import unescape

    match = re.search(rb"\b" + name + rb'="([^"]*)"', element)
    return unescape(match[1].decode("utf-8", "replace")) if match else ""


def _pieces(archive: zipfile.ZipFile, name: str, start: bytes = b"<c ") -> Iterator[bytes]:
    """A part in pieces that end where an element begins."""
    with archive.open(name) as file:
        rest = b""
        while block := file.read(_SCANNED):
            whole, cell, rest = (rest + block).rpartition(start)
            yield whole
            rest = cell + rest
        yield rest
