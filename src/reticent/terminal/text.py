"""Tables as text for a terminal, and texts that are put together of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from reticent.errors import few
from reticent.releases.spoken import ComposedText, TextTable
from reticent.releases.spoken import cell as cell


def composed(parts: Iterable[str]) -> ComposedText:
    """Lines of a text below each other, tables among them, which stay tables in notebooks."""
    return ComposedText(parts)


MOST = 20  # columns that have a line of their own; files hold what is said of the others


def columns_table(head: Sequence[str], rows: Sequence[Sequence[Any]], shown: Sequence[Any]) -> str:
    """A line a column; of very many those that show something, and the others by their names.

    `shown`: of each column how many values it shows; the name comes first in its row.

    >>> names = [f"q{i}" for i in range(1, 301)]
    >>> print(columns_table(["column", "values"], [[n, 1] for n in names], [1] * 300))
    Nothing is shown of: q1, q2, q3 and 297 more.
    """
    if len(rows) <= MOST:
        return table(head, rows)
    telling = [row for row, values in zip(rows, shown, strict=True) if values > 1]
    quiet = [str(row[0]) for row, values in zip(rows, shown, strict=True) if values <= 1]
    lines = [table(head, telling[:MOST])] if telling else []
    if more := len(telling) - MOST:
        lines += [f"… and {more:,} more columns, which report.json tells."] if more > 0 else []
    return composed([*lines, *([f"Nothing is shown of: {few(quiet)}."] if quiet else [])])


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Columns aligned, numbers to the right.

    >>> print(table(["promise", "k"], [["a", 4], ["bc", 12]]))
    promise   k
    a         4
    bc       12
    """
    return TextTable(head, rows)
