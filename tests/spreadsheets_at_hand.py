"""Spreadsheets that tests make: those of today by a library, old and open ones by hand."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

_FORMS = {
    date: "yyyy-mm-dd",
    datetime: "yyyy-mm-dd hh:mm",
    time: "hh:mm",
    timedelta: "[h]:mm:ss",
}


def a_workbook(
    path: Path,
    sheets: Mapping[str, Sequence[Sequence[Any]]],
    *,
    hidden: Sequence[str] = (),
    merged: Sequence[str] = (),
) -> Path:
    """An .xlsx file; a text that begins with = is a formula, one with #, its error."""
    import xlsxwriter

    book = xlsxwriter.Workbook(path)
    forms = {kind: book.add_format({"num_format": form}) for kind, form in _FORMS.items()}
    for name, rows in sheets.items():
        sheet = book.add_worksheet(name)
        if name in hidden:
            sheet.hide()
        for i, row in enumerate(rows):
            for j, cell in enumerate(row):
                if type(cell) in forms:
                    sheet.write_datetime(i, j, cell, forms[type(cell)])
                elif isinstance(cell, str) and cell.startswith("="):
                    sheet.write_formula(i, j, cell, None, "")
                elif isinstance(cell, str) and cell.startswith("#"):
                    sheet.write_formula(i, j, "=NA()", None, cell)
                elif isinstance(cell, str) and cell:
                    sheet.write_string(i, j, cell)
                elif cell not in (None, ""):
                    sheet.write(i, j, cell)
        for cells in merged:
            sheet.merge_range(cells, "")
            first = cells.split(":")[0]
            sheet.write(first, rows[int(first[1:]) - 1]["ABC".index(first[0])])
    book.close()
    return path


def an_open_document(path: Path, rows: Sequence[Sequence[Any]]) -> Path:
    """An .ods file of one sheet."""

    def shown(cell: Any) -> str:
        if isinstance(cell, date):
            value = f'office:value-type="date" office:date-value="{cell}"'
        elif isinstance(cell, int | float):
            value = f'office:value-type="float" office:value="{cell}"'
        else:
            value = 'office:value-type="string"' if cell else ""
        text = f"<text:p>{escape(str(cell))}</text:p>" if cell not in (None, "") else ""
        return f"<table:table-cell {value}>{text}</table:table-cell>"

    lines = "".join(
        f"<table:table-row>{''.join(map(shown, row))}</table:table-row>" for row in rows
    )
    office = "urn:oasis:names:tc:opendocument:xmlns:"
    spaces = " ".join(f'xmlns:{n}="{office}{n}:1.0"' for n in ("office", "table", "text"))
    content = (
        f'<?xml version="1.0"?><office:document-content {spaces}><office:body><office:spreadsheet>'
        f'<table:table table:name="One">{lines}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        archive.writestr("content.xml", content)
    return path


def a_compound(path: Path, **streams: bytes) -> Path:
    """A compound file of Office with these streams, each of its own sectors (MS-CFB)."""
    sector, end, free = 512, 0xFFFFFFFE, 0xFFFFFFFF
    contents = {name: data.ljust(4096, b"\0") for name, data in streams.items()}
    room = -(-(len(contents) + 1) // 4)  # sectors of the directory, which is the first chain
    fat, starts, body = [0xFFFFFFFD, *range(2, room + 1), end], {}, b""
    for name, data in contents.items():
        count = -(-len(data) // sector)
        starts[name] = len(fat)
        fat += [*range(len(fat) + 1, len(fat) + count), end]
        body += data.ljust(count * sector, b"\0")

    def entry(name: str, kind: int, start: int, size: int, child: int = free, right: int = free):  # type: ignore[no-untyped-def]
        coded = name.encode("utf-16-le") + b"\0\0"
        head = coded.ljust(64, b"\0") + struct.pack("<HBB", len(coded), kind, 1)
        links = struct.pack("<III", free, right, child) + bytes(36)
        return head + links + struct.pack("<IQ", start, size)

    names = [*contents]
    directory = entry("Root Entry", 5, end, 0, child=1)
    for i, name in enumerate(names, 1):
        right = i + 1 if i < len(names) else free
        directory += entry(name, 2, starts[name], len(contents[name]), right=right)
    magic = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16)
    header = magic + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    header += struct.pack("<IIIIIIIII", 0, 1, 1, 0, 4096, end, 0, end, 0) + struct.pack("<I", 0)
    table = struct.pack(f"<{len(fat)}I", *fat).ljust(sector, b"\xff")
    content = header.ljust(sector, b"\xff") + table + directory.ljust(room * sector, b"\0") + body
    path.write_bytes(content)
    return path


def an_old_workbook(path: Path, rows: Sequence[Sequence[Any]]) -> Path:
    """An .xls file of one sheet (BIFF5: the records of [MS-XLS] with short texts)."""

    def record(kind: int, data: bytes) -> bytes:
        return struct.pack("<HH", kind, len(data)) + data

    cells = b""
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            at = struct.pack("<HHH", i, j, 0)
            if isinstance(cell, str) and cell:
                cells += record(0x0204, at + struct.pack("<H", len(cell)) + cell.encode("latin-1"))
            elif cell not in (None, ""):
                cells += record(0x0203, at + struct.pack("<d", cell))
    end = record(0x000A, b"")
    sheet = record(0x0809, struct.pack("<HHHH", 0x0500, 0x0010, 0, 0))
    size = struct.pack("<HHHHH", 0, len(rows), 0, max(map(len, rows)), 0)
    sheet += record(0x0200, size) + cells + end
    begin = record(0x0809, struct.pack("<HHHH", 0x0500, 0x0005, 0, 0))
    named = b"One"
    place = len(begin) + 4 + 7 + len(named) + len(end)
    listed = record(0x0085, struct.pack("<IHB", place, 0, len(named)) + named)
    return a_compound(path, Book=begin + listed + end + sheet)
