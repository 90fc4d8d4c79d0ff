"""Rows below a table that are no records: a total, a source, a remark.

Nothing marks them, and a record may be short, too. So they are pointed out and not left out, where
one of the last rows fills one cell or two and hardly any other is so empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from reticent.errors import listed, many

LOOKED_AT = 100  # rows
_MOST = 3  # rows below a table
_FEW = 2  # cells that such a row fills
_SAYING = (
    "summe", "gesamt", "insgesamt", "total", "sum", "quelle", "source", "stand:", "stand ", "somme",
    "fuente", "fonte", "suma", "somma", "anmerkung", "hinweis", "note:", "totaal", "bron", "©", "*",
)  # fmt: skip


def told_footers(
    rows: Sequence[tuple[int, Sequence[Any]]], where: object, row: str
) -> Iterator[str]:
    """What is said of the last of some rows, each with its number, if they hardly are records."""
    if found := footers(rows):
        these = f"{row} {found[0]}" if len(found) == 1 else f"{row}s {listed(found)}"
        few, width = many(_FEW, "cell"), max(len(cells) for _, cells in rows)
        yield (
            f"Warning: {where}: {these}, at the end, "
            f"{'has' if len(found) == 1 else 'have'} at most {few} filled of {width}, and "
            f"{'counts as a record' if len(found) == 1 else 'count as records'}. If it is a total, "
            "a source or a remark, take it away."
        )


def footers(rows: Sequence[tuple[int, Sequence[Any]]]) -> list[int]:
    """The numbers of the last rows that hardly are records.

    >>> table = [(i, ["a", 1, 2, 3]) for i in range(2, 6)]
    >>> footers([*table, (6, ["Total", "", "", 12]), (7, []), (8, ["Source: X", "", "", ""])])
    [6, 8]
    >>> footers(table)
    []
    """
    held: list[tuple[int, list[Any], bool]] = []
    parted = False
    for number, row in rows:
        cells = [
            cell
            for cell in row
            if (cell.strip() if isinstance(cell, str) else cell) not in ("", None)
        ]
        if cells:
            held.append((number, cells, parted))
        parted = not cells
    for depth in range(min(_MOST, len(held) - 2), 0, -1):
        least = min(len(cells) for _, cells, _ in held[:-depth])
        below, apart = held[-depth:], False
        said = []
        for _, cells, parted in below:
            apart = apart or parted
            said.append(_is_footer(cells, least, parted=apart))
        if all(said):
            return [number for number, _, _ in below]
    return []


def _is_footer(cells: Sequence[Any], least: int, *, parted: bool) -> bool:
    """Whether a row of so few cells is none, where others fill so many at least."""
    filled = len(cells)
    if filled > _FEW or filled >= least:
        return False
    saying = isinstance(cells[0], str) and cells[0].strip().casefold().startswith(_SAYING)
    return parted or saying or (least > _FEW and 2 * filled <= least)
