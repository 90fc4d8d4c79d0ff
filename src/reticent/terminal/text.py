"""Tables as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Columns aligned, numbers to the right.

    >>> print(table(["promise", "k"], [["a", 4], ["bc", 12]]))
    promise   k
    a         4
    bc       12
    """
    cells = [list(head), *[[cell(value) for value in row] for row in rows]]
    widths = [max(len(row[j]) for row in cells) for j in range(len(head))]
    right = [
        all(isinstance(row[j], int | Fraction) or row[j] is None for row in rows)
        for j in range(len(head))
    ]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in cells
    )


def cell(value: Any) -> str:
    """A value as a table shows it."""
    if value is None:
        return "-"
    if isinstance(value, Fraction) and value.denominator > 1:
        return f"{value} ({float(value):.1%})"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
