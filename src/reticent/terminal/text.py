"""Tables as text for a terminal, and texts that are put together of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from reticent.releases.spoken import ComposedText, TextTable
from reticent.releases.spoken import cell as cell


def composed(parts: Iterable[str]) -> ComposedText:
    """Lines of a text below each other, tables among them, which stay tables in notebooks."""
    return ComposedText(parts)


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Columns aligned, numbers to the right.

    >>> print(table(["promise", "k"], [["a", 4], ["bc", 12]]))
    promise   k
    a         4
    bc       12
    """
    return TextTable(head, rows)
