"""Where the header stands: in the first row that is not blank, or below the lines of a title.

Programs that export tables write what they are about above them. A plain table must never lose a
row to a guess, so a row further down is the header only where nothing else can be meant:

- it has a text in every column that is used below it (but the first, which may hold the names of
  rows), all of them different, none found again in its own column;
- a blank row parts it from those above, or some column holds numbers or dates below it and nothing
  else;
- every row above it is blank, or fills one cell alone, the first if no blank row follows; above a
  blank row, a row may also hold two cells such as "From" and a date, or "By:" and a name.

A row with two names is no title, whatever stands below: some tables name fewer columns than they
have. Nor is one of two columns, unless it is cut short, as no row of a table is.

Where there is no header, the first record is taken for one, and its cells are names of columns, for
everybody to see. So a header that holds numbers or dates, as its columns do, is doubted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date
from itertools import pairwise
from typing import Any

from reticent.errors import InputError, remedy

LOOKED_AT = 100  # rows
_DEEPEST = 30  # rows of titles


def header_at(rows: Sequence[Sequence[Any]]) -> int:
    """The place of the header among the first rows; that of the first one if in doubt.

    >>> header_at([["Patients of 2024"], [], ["Job", "Age"], ["nurse", "39"], ["cook", "51"]])
    2
    >>> header_at([["Job", ""], ["nurse", "night"], ["cook", "day"]])
    0
    """
    rows = rows[:LOOKED_AT]
    filled = [[i for i, cell in enumerate(row) if _holds(cell)] for row in rows]
    first = next((at for at, places in enumerate(filled) if places), 0)
    for at in range(first + 1, min(len(rows), first + _DEEPEST + 1)):
        parted = not filled[at - 1]
        above = [i for i in range(first, at) if filled[i]]
        if not all(_is_title(rows[i], filled[i], rows[at], filled[at], parted) for i in above):
            continue
        below = [(row, places) for row, places in zip(rows, filled, strict=True)][at + 1 :]
        below = [(row, places) for row, places in below if places]
        if _is_header(rows[at], filled[at], below, parted=parted):
            return at
    return first


def _is_title(
    row: Sequence[Any],
    places: Sequence[int],
    header: Sequence[Any],
    named: Sequence[int],
    parted: bool,
) -> bool:
    """Whether a row above what may be a header can be nothing but a part of a title."""
    if len(named) < 2:
        return False
    if len(places) == 1 and len(row) < len(header):
        return True
    if len(named) < 3 or len(places) > 2:
        return False
    if len(places) == 1:
        return parted or places[0] <= named[0]
    key, value = (row[i] for i in places)
    return parted and isinstance(key, str) and (key.rstrip().endswith(":") or _counts(value))


def _is_header(
    row: Sequence[Any],
    places: Sequence[int],
    below: Sequence[tuple[Sequence[Any], Sequence[int]]],
    *,
    parted: bool,
) -> bool:
    names = [row[i] for i in places]
    if not below or len({*names}) < len(names) or not all(map(_names_something, names)):
        return False
    used = {i for _, filled in below for i in filled}
    if not used <= {0, *places} or len(below[0][0]) != len(row):
        return False
    if 2 * max(len(filled) for _, filled in below[:10]) <= len(places):  # more of the title
        return False
    columns = {i: [cells[i] for cells, filled in below if i in filled] for i in places}
    if any(row[i] in cells for i, cells in columns.items()):
        return False
    return parted or any(cells and all(map(_counts, cells)) for cells in columns.values())


def _holds(cell: Any) -> bool:
    return bool(cell.strip()) if isinstance(cell, str) else cell is not None


def _names_something(cell: Any) -> bool:
    return isinstance(cell, str) and any(map(str.isalpha, cell))


def _counts(cell: Any) -> bool:
    """Whether a cell is a number, a date or the like."""
    if not isinstance(cell, str):
        return not isinstance(cell, bool)
    return any(map(str.isdigit, cell)) and not any(map(str.isalpha, cell))


# --- a record in place of a header ---------------------------------------------------------------

_NUMBER = re.compile(r"[+-]?(\d+|\d{1,3}([., ']\d{3})+)([.,]\d+)?( ?%)?")
_DATE = re.compile(
    r"(\d{4}-\d{1,2}-\d{1,2}|\d{4}[./]\d{1,2}[./]\d{1,2}|\d{1,2}[./-]\d{1,2}[./-]\d{2,4})([ T].*)?"
)
_YEAR = re.compile(r"(18|19|20)\d\d")


class DoubtedHeader(str):
    """What is said of a header that may be a record."""

    is_record: bool  # whether it hardly can be anything else
    where: str


def doubted(rows: Sequence[Sequence[Any]], where: str) -> DoubtedHeader | None:
    """What is said of the header, the first of some rows, if cells of it look like those below it.

    Years over what are no years, and numbers that count on (a program that has no names writes 0,
    1, 2 …), may be names; two other numbers or dates hardly are.

    >>> doubted([["Ann", "25", "1940-01-06"], ["Bob", "31", "1951-11-30"]], "a.csv").is_record
    True
    >>> doubted([["Land", "2019", "2020"], ["A", "31", "4.5"]], "a.csv").is_record
    False
    >>> doubted([["Job", "Age"], ["cook", "31"]], "a.csv")
    """
    header, below = rows[0] if rows else [], rows[1:LOOKED_AT]
    kinds = {i: _kind_of(cell) for i, cell in enumerate(header)}
    found = [i for i, kind in kinds.items() if kind and _is_of(kind, _cells_at(i, below))]
    if not found:
        return None
    rest = [i for i in found if not _may_be_year(header[i], _cells_at(i, below))]
    said = DoubtedHeader(
        f"Warning: {where}: {len(found)} of {len(header)} cells of the header look like the "
        "numbers or dates below them. If the table has no header, this is a record, whose cells "
        f"would be public as names: add a line with names above it. If they are names, "
        f"{remedy('--header-row, or header_row in [reading],', 'header_row in [reading]')} says so."
    )
    said.where = where
    said.is_record = len(rest) > 1 and not _count_on([header[i] for i in rest])
    return said


def refuse_records(notes: Iterable[str]) -> None:
    """Refuse to publish a table one of whose files hardly has a header, by what is said of it."""
    for note in notes:
        if isinstance(note, DoubtedHeader) and note.is_record:
            by = remedy("--header-row N, or header_row", "header_row")
            raise InputError(
                "at least two cells of the header are numbers or dates, as those below them are",
                where=note.where,
                why="if the table has no header, its first record would be public, as names.",
                do=f"add a line with names above it. If these are names, say  {by} = N  in "
                "[reading], with the row that they stand in.",
            )


def _cells_at(place: int, rows: Sequence[Sequence[Any]]) -> list[Any]:
    return [row[place] for row in rows if place < len(row) and _holds(row[place])]


def _kind_of(cell: Any) -> str:
    """Whether a cell is a number or a date; empty if it is neither."""
    if not isinstance(cell, str):
        number = isinstance(cell, int | float) and not isinstance(cell, bool)
        return "number" if number else "date" if isinstance(cell, date) else ""
    text = cell.strip()
    return "number" if _NUMBER.fullmatch(text) else "date" if _DATE.fullmatch(text) else ""


def _is_of(kind: str, cells: Sequence[Any]) -> bool:
    """Whether nearly all cells are of a kind: some may say that nobody knows."""
    return 0 < len(cells) <= 1.25 * sum(_kind_of(cell) == kind for cell in cells)


def _may_be_year(name: Any, cells: Sequence[Any]) -> bool:
    def is_year(cell: Any) -> bool:
        return _YEAR.fullmatch(str(cell).strip().removesuffix(".0")) is not None

    return is_year(name) and not all(map(is_year, cells))


def _count_on(names: Sequence[Any]) -> bool:
    """Whether names are whole numbers that go on in equal steps; of two, by one."""
    texts = [str(name).strip().removesuffix(".0") for name in names]
    if not all(re.fullmatch(r"-?\d{1,9}", text) for text in texts):
        return False
    steps = {int(after) - int(before) for before, after in pairwise(texts)}
    return len(steps) == 1 and (steps == {1} or (len(texts) > 2 and steps != {0}))
