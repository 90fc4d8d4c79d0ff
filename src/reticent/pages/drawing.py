"""Drawing: the pieces of SVG that charts are made of, drawn for a page and for a phone."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import wraps
from importlib import resources
from typing import ParamSpec

from markupsafe import Markup

from reticent.data.texts import is_unfit

WIDTH = 560  # pixels of every chart; pages may scale it down
NARROW = 340  # the same on a phone
SIZE = 13  # pixels of text
BOLD = 1.15  # how much wider bold text is
drawn_at: ContextVar[int] = ContextVar("drawn_at", default=WIDTH)
_Given = ParamSpec("_Given")


class Chart(Markup):
    """An image, and beside it the same for a phone."""

    narrow = Markup("")


def for_phones_too(draw: Callable[_Given, Markup]) -> Callable[_Given, Markup]:
    """Draw a chart as wide as a page, and beside it as wide as a phone."""

    @wraps(draw)
    def both(*given: _Given.args, **named: _Given.kwargs) -> Markup:
        chart = Chart(draw(*given, **named))
        before = drawn_at.set(NARROW)
        try:
            chart.narrow = draw(*given, **named)
        finally:
            drawn_at.reset(before)
        return chart

    return both


def is_narrow() -> bool:
    """Whether a chart is being drawn for a phone."""
    return drawn_at.get() == NARROW


def printable(text: str) -> str:
    """A text without what no page can hold: control signs, halves of characters, turned lines.

    >>> printable("a" + chr(0) + "b"), printable("Grüße")
    ('a�b', 'Grüße')
    """
    if text.isprintable():
        return text
    return "".join("\ufffd" if sign not in "\t\n" and is_unfit(sign) else sign for sign in text)


def number(value: float) -> str:
    """A number as people read it.

    >>> number(30162), number(0.1650), number(1234.5), number(0.0000564)
    ('30,162', '0.165', '1,234.5', '0.0000564')
    """
    if not math.isfinite(value) or 0 < abs(value) < 1e-9 or abs(value) >= 1e15:
        return f"{value:.3g}"
    if value == int(value):
        return f"{int(value):,}"
    digits = max(1, 3 - math.floor(math.log10(abs(value))))
    return f"{value:,.{digits}f}".rstrip("0").rstrip(".")


def beneath(x: float, y: float, text: str, cls: str = "") -> Markup:
    """A text centred at a place, as far as there is room."""
    width = drawn_at.get()
    half = min(width_of(text) * (BOLD if cls else 1), width - 4) / 2
    x = min(max(x, half + 2), width - half - 2)
    return written(x, y, text, 2 * half + 1, cls=cls, anchor="middle")


def standalone(chart: Markup) -> str:
    """A chart as a file of its own: it takes its styles along."""
    style = (resources.files("reticent.pages") / "style.css").read_text(encoding="utf-8")
    colours = style[: style.index("* { box-sizing")].replace(":root", "svg")
    looks = "\n".join(line for line in style.splitlines() if line.startswith(".chart "))
    ground = "svg { background: var(--paper); }"
    head, rest = str(chart).split(">", 1)
    return f"{head}><style>{colours}{looks}\n{ground}</style>{rest}\n"


def image(title: str, desc: str, height: float, parts: Sequence[Markup]) -> Markup:
    """A whole chart, with a title and a description in words."""
    return Markup(
        '<svg class="{}" role="img" xmlns="http://www.w3.org/2000/svg" '
        'viewBox="0 0 {} {}" width="{}" height="{}"><title>{}</title><desc>{}</desc>{}</svg>'
    ).format(
        "chart narrow" if is_narrow() else "chart", drawn_at.get(), px(height),
        drawn_at.get(), px(height), printable(title), printable(desc),
        Markup("").join(parts),
    )  # fmt: skip


def tag(name: str, *, cls: str, **values: str) -> Markup:
    """An element without content."""
    attributes = Markup("").join(Markup(' {}="{}"').format(k, v) for k, v in values.items())
    return Markup('<{} class="{}"{}/>').format(name, cls, attributes)


def stroke(cls: str, d: str) -> Markup:
    """A line along a path."""
    return tag("path", cls=cls, d=d)


def box(x: float, y: float, wide: float, high: float, *, cls: str, rx: float) -> Markup:
    """A rectangle; `rx` rounds its corners."""
    return tag("rect", cls=cls, x=px(x), y=px(y), width=px(wide), height=px(high), rx=px(rx))


def written(
    x: float, y: float, text: str, room: float, *, cls: str = "", anchor: str = "start"
) -> Markup:
    """A line of text, cut to the room it has; the whole of it is its tooltip."""
    text = printable(text)
    short = fitted(text, room)
    tooltip = Markup("") if short == text else tooltip_of(text)
    return Markup('<text class="{}" x="{}" y="{}" text-anchor="{}">{}{}</text>').format(
        cls, px(x), px(y), anchor, tooltip, short
    )


def tooltip_of(text: str) -> Markup:
    """What is shown where one points; the first 500 signs of it."""
    return Markup("<title>{}</title>").format(printable(text[:500]))


def px(value: float) -> str:
    """A coordinate, to a tenth of a pixel: enough for the eye, and the same bytes everywhere.

    >>> px(12.0), px(0.123)
    ('12', '0.1')
    """
    return f"{value:.1f}".removesuffix(".0")


def width_of(text: str) -> float:
    """About how many pixels a text takes."""
    return sum(SIZE if unicodedata.east_asian_width(s) in "WF" else SIZE * 0.55 for s in text)


def fitted(text: str, room: float) -> str:
    """A text cut to so many pixels."""
    if width_of(text[: WIDTH // 4]) <= room and len(text) <= WIDTH // 4:
        return text
    kept = text[: WIDTH // 4]
    while kept and width_of(kept) > room - SIZE:
        kept = kept[:-1]
    return kept.rstrip() + "…"
