"""Where the header stands: in the first row that is not blank, or below the lines of a title.

Programs that export tables write what they are about above them. A plain table must never lose a
row to a guess, so a row further down is the header only where nothing else can be meant:

- it has a text in every column that is used below it (but the first, which may hold the names of
  rows), all of them different, none found again in its own column;
- every row above it is blank or fills at most half as many cells (or two, beside three);
- a blank row parts it from those, or some column holds numbers or dates below it and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
        above = [len(places) for places in filled[first:at] if places]
        width = len(filled[at])
        if width < 2 or max(above) > max(width // 2, min(2, width - 1)):
            continue
        below = [(row, places) for row, places in zip(rows, filled, strict=True)][at + 1 :]
        below = [(row, places) for row, places in below if places]
        parted = len(above) < at - first
        if _is_header(rows[at], filled[at], below, parted=parted):
            return at
    return first


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
