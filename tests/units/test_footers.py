"""Rows below a table are pointed out, and counted all the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import xlsxwriter

from at_hand import refusal
from reticent.files.tabular import read
from reticent.sources.opening import streamed

HEADER = ["Job", "Sex", "Age", "Pay"]
ROWS: list[list[Any]] = [["cook", "m", 30 + i, 900 + i] for i in range(6)]
EMPTY = ["", "", "", ""]
BELOW: dict[str, tuple[list[list[Any]], str]] = {
    "nothing": ([], ""),
    "a source": ([["Quelle: KIS", "", "", ""]], "8"),
    "a total": ([["Summe", "", "", 5415]], "8"),
    "both, apart": ([["Summe", "", "", 5415], EMPTY, ["Quelle: KIS", "", "", ""]], "s 8, 10"),
    "a record with a gap": ([["cook", "", 40, 900]], ""),
    "gaps above, too": ([["cook", "", "", ""], ROWS[0], ["cook", "", "", ""]], ""),
}


@pytest.mark.parametrize("name", BELOW)
@pytest.mark.parametrize("suffix", [".csv", ".xlsx"])
def test_rows_below_a_table(tmp_path: Path, name: str, suffix: str) -> None:
    below, told = BELOW[name]
    rows = [HEADER, *ROWS, *below]
    path = tmp_path / f"in{suffix}"
    if suffix == ".csv":
        path.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    else:
        with xlsxwriter.Workbook(str(path)) as book:
            sheet = book.add_worksheet()
            for at, cells in enumerate(rows):
                sheet.write_row(at, 0, cells)
    table = read(path)
    notes: list[str] = []
    streamed(path, None, notes)
    assert [*table.notes] == notes
    said = [note for note in notes if note.startswith("Warning: ")]
    assert len(said) == bool(told)
    if told:
        row = "line" if suffix == ".csv" else "row"
        assert f": {row}{told if told[0] == 's' else f' {told}'}, at the end" in said[0]
        assert not any(cell in said[0] for cell in ("KIS", "Summe", "5415"))
    assert (
        table.rows == len(rows) - 1 - (suffix == ".xlsx") * below.count(EMPTY) or suffix == ".csv"
    )


def test_a_footer_of_a_long_file_is_told_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("a,b,c,d\n" + "1,2,3,4\n" * 20_000 + "Total,,,9\n")
    assert "line 20002, at the end" in " ".join(read(path).notes)
    path.write_text("a,b,c,d\n" + '"1",2,3,"x\ny"\n' * 9000 + "Total,,,9\n")
    assert not read(path).notes  # cells of several lines are not taken apart


def test_a_damaged_workbook_is_no_archive_to_unpack(tmp_path: Path) -> None:
    path = tmp_path / "in.xlsx"
    with xlsxwriter.Workbook(str(path)) as book:
        book.add_worksheet().write_row(0, 0, ["a", "b"])
    path.write_bytes(path.read_bytes().replace(b"xl/workbook.xml", b"xl/wOrkbook.xml"))
    said = str(refusal(lambda: read(path)))
    assert "damaged" in said
    assert "unpack" not in said
