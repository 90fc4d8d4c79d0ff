"""Sheets with cells so far away that reading all up to them would end the process."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter

import reticent
from at_hand import refusal
from reticent.files.tabular import parse
from spreadsheets_at_hand import an_open_document

ROWS: list[list[Any]] = [["Job", "Age"], ["cook", 39], ["nurse", 51]]
EMPTY = '<table:table-cell table:number-columns-repeated="{}"/>'
HELD = '<table:table-cell table:number-columns-repeated="{}" office:value-type="float" office:value="1"/>'


def a_sheet(path: Path, row: int, column: int, cell: object) -> Path:
    book = xlsxwriter.Workbook(path)
    sheet = book.add_worksheet("One")
    for i, cells in enumerate(ROWS):
        sheet.write_row(i, 0, cells)
    sheet.write(row, column, cell, book.add_format({"bold": True}))
    book.close()
    return path


def rewritten(path: Path, part: str, old: str, new: str) -> Path:
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    parts[part] = re.sub(old, new, parts[part])
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return path


@pytest.mark.parametrize(
    ("row", "column", "place"),
    [(1048575, 16383, "row 1,048,576 and column XFD"), (1048575, 30, "row 1,048,576 and column AE"),
     (9999, 16383, "row 10,000 and column XFD")],
)  # fmt: skip
def test_a_stray_cell_is_refused(tmp_path: Path, row: int, column: int, place: str) -> None:
    path = a_sheet(tmp_path / "t.xlsx", row, column, "x")
    assert f'sheet "One": its cells reach to {place}, and' in str(refusal(lambda: parse(path)))
    part = "xl/worksheets/sheet1.xml"
    rewritten(path, part, r'<row r="\d+"', "<row")  # cells tell where they are
    rewritten(path, part, r'<dimension ref="[^"]*"/>', '<dimension ref="A1:B3"/>')
    assert f"its cells reach to {place}, and" in str(refusal(lambda: parse(path)))


def test_a_stray_cell_beside_the_data_of_a_release_is_refused(tmp_path: Path) -> None:
    policy = {"attributes": {"A": {"mask": "suppress"}}, "anonymity": [{"over": ["A"], "k": 2}]}
    for far in ("Data", "Promises"):
        with xlsxwriter.Workbook(tmp_path / f"{far}.xlsx") as book:
            for name in ("Data", "Promises"):
                sheet = book.add_worksheet(name)
                sheet.write_column(0, 0, ["A", "x", "x"])
                if name == far:
                    sheet.write(1048575, 16383, "x")
        found = refusal(lambda path=book.filename: reticent.verify(path, policy))  # type: ignore[misc]
        assert f'sheet "{far}": its cells reach to row 1,048,576' in str(found)


def test_cells_without_a_place_or_a_value(tmp_path: Path) -> None:
    path = a_sheet(tmp_path / "t.xlsx", 1048575, 16383, None)  # bold, but empty
    assert parse(path).arrow.to_pydict() == {"Job": ["cook", "nurse"], "Age": [39, 51]}
    path = a_sheet(tmp_path / "u.xlsx", 2, 1, 51)
    rewritten(path, "xl/worksheets/sheet1.xml", r'(<c|<row) r="\w+"', r"\1")
    assert parse(path).arrow.to_pydict() == {"Job": ["cook", "nurse"], "Age": [39, 51]}


@pytest.mark.parametrize(
    ("row", "cells", "refused"),
    [
        (1048570, EMPTY.format(16384), False),  # as LibreOffice ends its sheets
        (1048570, EMPTY.format(16383) + HELD.format(1), True),
        (1048570, HELD.format(16384), True),
        (999_999_999, HELD.format(2), True),
        (2, HELD.format(2), False),
    ],
)
def test_cells_that_stand_for_many(tmp_path: Path, row: int, cells: str, refused: bool) -> None:
    path = an_open_document(tmp_path / "t.ods", ROWS)
    rows = f'<table:table-row table:number-rows-repeated="{row}">{cells}</table:table-row>'
    rewritten(path, "content.xml", "</table:table>", rows + "</table:table>")
    if refused:
        assert 'sheet "One": its cells reach to row' in str(refusal(lambda: parse(path)))
    else:
        assert parse(path).arrow.num_rows == (4 if row == 2 else 2)
