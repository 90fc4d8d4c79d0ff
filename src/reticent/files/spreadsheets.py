"""Spreadsheets out: released rows as one sheet of a workbook, and what is said of them as another.

xlsxwriter makes the workbook. The rows of the data are printed here, each distinct cell once and
whole lines by Arrow: cell by cell, a million rows of eight columns took the library 32 s, and now
the whole release takes 13. A cell is a text, a number, a truth or a time, and never a formula or a
link, whatever it looks like. A column keeps its type only if every cell of it comes back as the
same; else all of it is text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from reticent.data.texts import is_text, texts
from reticent.errors import InputError, Problem, refuse
from reticent.files.output import working_folder
from reticent.files.workbooks import DATA, PROMISES

if TYPE_CHECKING:
    from xlsxwriter import Workbook

    from reticent.files.writing import Writing

MOST_ROWS = 1_048_576  # with the header
MOST_COLUMNS = 16_384
_LONGEST = 32_767  # UTF-16 units of a text
_EXACT = 2**53
_CREATED = datetime(2000, 1, 1)  # nobody learns when, and the same release is the same file
_DAY = 86_400_000_000  # microseconds
_EPOCH = 25_569  # days from that of spreadsheets to 1970
_FIRST, _LAST = (
    -25_508,
    2_932_896,
)  # 1 March 1900, before which days are counted wrong; the year 9999
_ESCAPED = re.compile("_(?=x[0-9A-Fa-f]{4}_)")
_NO_CELL = "[\ufffe\uffff]"
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f]")
_WIDTHS = (8, 60)  # of columns, in letters
_FORMS = {"date": "yyyy-mm-dd", "time": "yyyy-mm-dd hh:mm:ss.000"}
_OPTIONS = {
    "constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False,
    "strings_to_numbers": False,
}  # fmt: skip

Note = Sequence[str]  # a row of the second sheet


def refuse_too_large(rows: int, names: Sequence[str], where: str) -> None:
    """Refuse what no sheet has room for."""
    refuse(_too_large(rows, names, where))


def _too_large(rows: int, names: Sequence[str], where: str) -> Iterator[Problem]:
    do = "write .csv or .parquet."
    if rows >= MOST_ROWS:
        yield Problem(
            f"{rows:,} rows do not fit: a sheet of a workbook has room for {MOST_ROWS - 1:,} below "
            "its header", where=where, do=f"write .csv or .parquet, or several files by "
            f"--rows-per-file {MOST_ROWS - 1}.",
        )  # fmt: skip
    if len(names) > MOST_COLUMNS:
        yield Problem(
            f"{len(names):,} columns do not fit: a sheet of a workbook has room for "
            f"{MOST_COLUMNS:,}", where=where, do=do,
        )  # fmt: skip
    yield from unfit_texts("the header", pa.array(names), where)


def unfit_texts(what: str, values: pa.Array, where: str) -> Iterator[Problem]:
    """What cells of a workbook cannot hold."""
    import pyarrow.compute as pc

    if not is_text(values.type) or not len(values):
        return
    do = "write .csv or .parquet, or drop the column."
    lengths = pc.utf8_length(values)
    near = values.filter(pc.greater(lengths, _LONGEST // 2)).to_pylist()
    long = sum(len(text.encode("utf-16-le", "surrogatepass")) > 2 * _LONGEST for text in near)
    if long:
        yield Problem(
            f"{long} different texts of {what} have more than {_LONGEST:,} letters, which is all "
            "that a cell of a workbook holds", where=where, do=do,
        )  # fmt: skip
    if pc.any(pc.match_substring_regex(values, _NO_CELL)).as_py():
        yield Problem(
            f"{what} holds signs that no workbook can (U+FFFE or U+FFFF)", where=where, do=do
        )


@dataclass(frozen=True, slots=True)
class _CellStyles:
    """The numbers of cell styles."""

    head: int
    of: Mapping[str, int]


def write_workbook(
    sheets: Sequence[Any],
    path: Path,
    told: Callable[[int], None],
    writing: Writing,
    notes: Sequence[Note],
    lines_of: Callable[[Any, Sequence[pa.Array]], Iterator[pa.Buffer]],
) -> None:
    """Write sheets of rows as one sheet of a workbook, and beside it notes, if there are any.

    `lines_of` prints the rows of a sheet, of what each column prints for each of its values.
    """
    names, rows = sheets[0].names, sum(sheet.rows for sheet in sheets)
    where = str(path)
    refuse_too_large(rows, names, where)
    by_column = [
        _SheetCells.of(name, [sheet.values[j] for sheet in sheets], writing)
        for j, name in enumerate(names)
    ]
    refuse(chain.from_iterable(cells.unfit(where) for cells in by_column))
    _refuse_blank_rows(sheets, by_column, where)
    with working_folder(path) as folder, _opened(path, folder) as book:
        styles = _CellStyles(
            _index(book, {"bold": True}),
            {kind: _index(book, {"num_format": form}) for kind, form in _FORMS.items()},
        )
        data = book.add_worksheet(DATA)
        data.freeze_panes(1, 0)
        data.autofilter(0, 0, rows, len(names) - 1)
        for j, cells in enumerate(by_column):
            data.set_column(j, j, cells.width)
        file = _rows_file(data, rows, len(names))
        head = (_text_cell(name, styles.head) for name in names)
        file.write(f"<row>{''.join(head)}</row>".encode())
        done = 0
        for sheet in sheets:
            printed = [
                cells.printed(values, styles, j == 0, j == len(names) - 1)
                for j, (cells, values) in enumerate(zip(by_column, sheet.values, strict=True))
            ]
            for buffer in lines_of(sheet, printed):
                file.write(buffer)
            done += sheet.rows
            told(done)
        if notes:
            _write_notes(book, notes)


@contextmanager
def _opened(path: Path, folder: Path) -> Iterator[Workbook]:
    """A workbook that is closed in the end; what is open of it, whatever happens."""
    from xlsxwriter import Workbook
    from xlsxwriter.exceptions import FileCreateError

    book = Workbook(str(path), {**_OPTIONS, "tmpdir": str(folder)})
    book.use_zip64()
    book.set_properties({"created": _CREATED})
    try:
        yield book
        book.close()
    except FileCreateError as error:
        raise error.args[0] from None
    finally:
        for sheet in book.worksheets():
            sheet._opt_close()


def _index(book: Workbook, form: dict[str, Any]) -> int:
    return int(book.add_format(form)._get_xf_index())


def _rows_file(sheet: Any, last: int, columns: int) -> Any:
    """Where xlsxwriter keeps the rows of a sheet until its end: row 0 to the last go there."""
    sheet.dim_rowmin, sheet.dim_rowmax = 0, last
    sheet.dim_colmin, sheet.dim_colmax = 0, columns - 1
    sheet.row_data_fh.flush()
    return sheet.row_data_fh.buffer


def _write_notes(book: Workbook, notes: Sequence[Note]) -> None:
    """Write notes: the first row, and the first of two cells, are said to be names."""
    sheet = book.add_worksheet(PROMISES)
    plain = _index(book, {"text_wrap": True, "valign": "top"})
    bold = _index(book, {"bold": True, "text_wrap": True, "valign": "top"})
    width = max(map(len, notes))
    sheet.set_column(0, 0, 60)
    sheet.set_column(1, width - 1, 24)
    file = _rows_file(sheet, len(notes) - 1, width)
    for i, row in enumerate(notes):
        cells = (
            _text_cell(text[: _LONGEST // 2], bold if not i or (len(row) == 2 and not j) else plain)
            for j, text in enumerate(row)
        )
        file.write(f"<row>{''.join(cells)}</row>".encode())


def _refuse_blank_rows(sheets: Sequence[Any], by_column: Sequence[_SheetCells], where: str) -> None:
    """Refuse rows without any cell: whoever reads a sheet leaves them out."""
    for sheet in sheets:
        gone = np.ones(len(sheet.counts), dtype=bool)
        for codes, values in zip(sheet.columns, sheet.values, strict=True):
            blank = np.array([not text for text in texts(values)], dtype=bool)
            gone &= blank[codes]
            if not gone.any():
                break
        if gone.any():
            rows = int(sheet.counts[gone].sum())
            raise InputError(
                f"{rows:,} rows show nothing in any column, and in a sheet these would be no rows",
                where=where, do="write .csv or .parquet.",
            )  # fmt: skip


# --- the cells of a column -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _SheetCells:
    """How the cells of one column are written: as what they are, or as texts."""

    name: str
    kind: str  # number, truth, date, time or text
    values: Sequence[pa.Array]  # as they are written, sheet by sheet
    intervals: bool
    writing: Writing

    @classmethod
    def of(cls, name: str, every: Sequence[pa.Array], writing: Writing) -> _SheetCells:
        """Look at all values of a column."""
        once = list({id(values): values for values in every}.values())
        kinds = {_kind_of(values) for values in once} - {""}
        kind = kinds.pop() if len(kinds) == 1 else "text"
        if kind == "time" and all(_is_midnight(values) for values in once):
            kind = "text"  # as dates they would come back
        return cls(name, kind, once, name in writing.intervals, writing)

    def unfit(self, where: str) -> Iterator[Problem]:
        """Why they cannot be written."""
        for values in self.values:
            yield from unfit_texts(f'column "{self.name}"', values, where)

    @property
    def width(self) -> int:
        """How many letters wide the column is to be."""
        import pyarrow.compute as pc

        longest = len(self.name) + 3  # a filter stands beside
        for values in self.values:
            if self.kind in _FORMS:
                longest = max(longest, len(_FORMS[self.kind]))
            elif is_text(values.type):
                longest = max(longest, pc.max(pc.utf8_length(values)).as_py() or 0)
            else:
                longest = max([longest, *(len(text) for text in texts(values) if text)])
        least, most = _WIDTHS
        return min(max(longest + 1, least), most)

    def printed(self, values: pa.Array, styles: _CellStyles, first: bool, last: bool) -> pa.Array:
        """Each value as its cell; with what begins a row in the first column, and ends it."""
        begin, end = "<row>" if first else "", "</row>" if last else ""
        cells = (f"{begin}{cell}{end}" for cell in self._each(values, styles))
        return pa.array(cells, pa.large_string())

    def _each(self, values: pa.Array, styles: _CellStyles) -> Iterator[str]:
        if self.kind == "number":
            return (
                "<c/>" if text is None else f"<c><v>{text}</v></c>"
                for text in map(_number, values.to_pylist())
            )
        if self.kind == "truth":
            return (
                "<c/>" if truth is None else f'<c t="b"><v>{truth:d}</v></c>'
                for truth in values.to_pylist()
            )
        if self.kind in _FORMS:
            style = styles.of[self.kind]
            return (
                "<c/>" if day is None else f'<c s="{style}"><v>{day!r}</v></c>'
                for day in _serials(values)
            )
        shown = self.writing.shown(self.name, values) if self.intervals else values
        return (_text_cell(text) for text in texts(shown))


def _text_cell(text: str | None, style: int = 0) -> str:
    if not text:
        return "<c/>"
    if "_x" in text:
        text = _ESCAPED.sub("_x005F_", text)
    if not text.isprintable():
        text = _CONTROL.sub(lambda sign: f"_x{ord(sign[0]):04X}_", text)
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    styled = f' s="{style}"' if style else ""
    return f'<c{styled} t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'


def _kind_of(values: pa.Array) -> str:
    """What values are written as; nothing of values that are all missing."""
    kind = values.type
    if not values.drop_null():
        return ""
    if pa.types.is_boolean(kind):
        return "truth"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        exact = all(
            _comes_back(v, text) for v, text in zip(values.to_pylist(), texts(values), strict=True)
        )
        return "number" if exact else "text"
    if pa.types.is_date(kind):
        days = values.cast(pa.date32()).cast(pa.int32()).to_pylist()
        return "date" if all(d is None or _FIRST <= d <= _LAST for d in days) else "text"
    if pa.types.is_timestamp(kind) and kind.tz is None:
        return "time" if all(_is_shown(tick) for tick in _ticks(values)) else "text"
    return "text"


def _comes_back(value: Any, text: str | None) -> bool:
    """Whether a number reads as before: a workbook keeps floats."""
    if text is None:
        return True
    if isinstance(value, int):
        return abs(value) <= _EXACT
    if not math.isfinite(value):
        return False
    return isinstance(value, float) or _number(float(value)) == text


def _number(value: Any) -> str | None:
    """A number so that the same float is read; zero has no sign, as nowhere in a release."""
    if value is None or value != value:
        return None
    number = float(value)
    return str(int(number)) if number.is_integer() and abs(number) <= _EXACT else repr(number)


def _ticks(values: pa.Array) -> list[int | None]:
    """Nanoseconds, or what the unit of timestamps makes of them."""
    per = {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}[values.type.unit]
    found = values.cast(pa.int64()).to_pylist()
    return [None if tick is None else tick * per for tick in found]


def _is_shown(tick: int | None) -> bool:
    """Whether a time comes back: to the millisecond, and since days are counted right."""
    if tick is None:
        return True
    return tick % 10**6 == 0 and _FIRST <= tick // (_DAY * 1000) <= _LAST


def _is_midnight(values: pa.Array) -> bool:
    return pa.types.is_null(values.type) or all(
        tick is None or tick % (_DAY * 1000) == 0 for tick in _ticks(values)
    )


def _serials(values: pa.Array) -> Iterator[int | float | None]:
    """Dates and times as a spreadsheet counts them: in days."""
    if pa.types.is_null(values.type):
        return iter([None] * len(values))
    if pa.types.is_date(values.type):
        days = values.cast(pa.date32()).cast(pa.int32()).to_pylist()
        return (None if day is None else day + _EPOCH for day in days)
    return (
        None if tick is None else (tick // 1000 + _EPOCH * _DAY) / _DAY for tick in _ticks(values)
    )
