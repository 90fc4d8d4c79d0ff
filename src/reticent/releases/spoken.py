"""Results that say themselves in Python: as their command does, and in notebooks as markup.

Both are made of the words of the terminal, so they tell what it tells and nothing else: no cell of
a table that is not released. A notebook shows a result whenever it ends a cell: what is long is
shortened there, and nothing has a colour of its own, so that it can be read on light and on dark.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from importlib import import_module
from itertools import groupby
from typing import Any

from reticent.errors import in_one_line, many

_MOST_ROWS = 25  # of a table, and lines of a text
_LONGEST = 400  # characters of a line, or of a cell
_HEADLINE = 100


class Spoken:
    """What a flow comes to. `_says` is handed the words of its own room, the module ``text``."""

    __slots__ = ()

    def _says(self, words: Any) -> str:
        raise NotImplementedError

    def _said(self) -> str:
        room = type(self).__module__.rpartition(".")[0]
        return self._says(import_module(f"{room}.text"))

    def __str__(self) -> str:
        return str(self._said())

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {_headline(self._said())}>"

    def _repr_html_(self) -> str:
        return markup(self._said())


def _headline(text: str) -> str:
    """The first line that is no table."""
    parts = [part for part in getattr(text, "parts", (text,)) if part.strip()]
    first = next((part for part in parts if not isinstance(part, TextTable)), str(parts[0]))
    return _short(first.strip().partition("\n")[0].rstrip(".:"), _HEADLINE)


def markup(text: str) -> str:
    """A text as a fragment of HTML that needs nothing else; its tables become tables.

    >>> markup("1 < 2")
    '<div style="overflow-x:auto"><pre>1 &lt; 2</pre></div>'
    """
    inside = "".join(_blocks(text)) if isinstance(text, ComposedText) else _plain(text)
    return f'<div style="overflow-x:auto">{inside}</div>'


def _blocks(text: ComposedText) -> Iterator[str]:
    first = True
    for is_table, parts in groupby(text.parts, lambda part: isinstance(part, TextTable)):
        if is_table:
            yield from map(_table, parts)
            first = False
            continue
        for paragraph in "\n".join(parts).split("\n\n"):
            if paragraph.strip():
                said = html.escape(_shortened(paragraph.strip("\n")))
                if first:
                    opening, line, rest = said.partition("\n")
                    said = f"<b>{opening}</b>{line}{rest}"
                yield f'<p style="white-space:pre-wrap">{said}</p>'
                first = False


def _plain(text: str) -> str:
    return f"<pre>{html.escape(_shortened(text))}</pre>"


def _table(part: str) -> str:
    assert isinstance(part, TextTable)
    sides = ["right" if numeric(column) else "left" for column in zip(*part.rows, strict=True)]
    sides = sides or ["left"] * len(part.head)
    rows = [_row("td", row, sides) for row in part.rows[:_MOST_ROWS]]
    if more := len(part.rows) - len(rows):
        rows.append(f'<tr><td colspan="{len(sides)}">and {many(more, "more", "more")}</td></tr>')
    head = _row("th", part.head, sides)
    body = f"<thead>{head}</thead><tbody>{''.join(rows)}</tbody>"
    return f'<table style="margin:0 0 1em">{body}</table>'


def _row(tag: str, values: tuple[Any, ...], sides: list[str]) -> str:
    cells = zip(values, sides, strict=True)
    return "<tr>{}</tr>".format(
        "".join(
            f'<{tag} style="text-align:{side};white-space:pre-wrap">'
            f"{html.escape(_short(cell(value), _LONGEST))}</{tag}>"
            for value, side in cells
        )
    )


def _shortened(text: str) -> str:
    lines = text.split("\n")
    shown = [_short(line, _LONGEST) for line in lines[:_MOST_ROWS]]
    more = len(lines) - len(shown)
    return "\n".join([*shown, *([f"… and {many(more, 'more line')}"] if more else [])])


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


# --- what it is made of --------------------------------------------------------------------------


class ComposedText(str):
    """A text of several parts, each one or more lines, that are remembered beside it.

    It is printed as any text is; notebooks make tables of those of its parts that are some.
    """

    parts: tuple[str, ...]

    def __new__(cls, parts: Iterable[str]) -> ComposedText:
        """Put parts below each other; those of a part that is composed itself are taken over."""
        flat = tuple(piece for part in parts for piece in getattr(part, "parts", (part,)))
        composed = super().__new__(cls, "\n".join(flat))
        composed.parts = flat
        return composed

    def __add__(self, more: str) -> str:
        """Further lines keep what is a table one; what goes on in the last line does not."""
        if not more:
            return self
        return ComposedText([self, more[1:]]) if more.startswith("\n") else str(self) + more

    def __radd__(self, before: str) -> str:
        """The same of lines above."""
        above = before.endswith("\n")
        return ComposedText([before[:-1], self]) if above else before + str(self)


class TextTable(ComposedText):
    """A table as a terminal shows it, which still knows its cells."""

    head: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def __new__(cls, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> TextTable:
        """Align columns, numbers to the right."""
        made = str.__new__(cls, _aligned(head, rows))
        made.head, made.rows, made.parts = tuple(head), tuple(map(tuple, rows)), (made,)
        return made


def _aligned(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    cells = [list(head), *[[cell(value) for value in row] for row in rows]]
    widths = [max(len(row[j]) for row in cells) for j in range(len(head))]
    right = [numeric(row[j] for row in rows) for j in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in cells
    )


def numeric(values: Iterable[Any]) -> bool:
    """Whether cells of a column are numbers, as far as there are any."""
    return all(isinstance(value, int | Fraction) or value is None for value in values)


def cell(value: Any) -> str:
    """A value as a table shows it."""
    if value is None:
        return "-"
    if isinstance(value, Fraction) and value.denominator > 1:
        return f"{value} ({float(value):.1%})"
    return (
        f"{value:,}"
        if isinstance(value, int) and not isinstance(value, bool)
        else in_one_line(str(value))
    )
