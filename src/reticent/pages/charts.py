"""Charts as inline SVG: pure functions from plain data to markup.

Every chart is an image with a title and a description in words, drawn twice: for a page, and for a
phone, where names stand above their bars and letters are as large. Colours come from the page's
style sheet by class, and nothing is told by colour alone: shapes, dashes and labels say it too.
Texts are cut to the room they have, by an estimate of their width, with the whole text as a
tooltip; long lists are cut with a note of how much was left out.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from importlib import resources
from itertools import accumulate, pairwise
from typing import Any, Literal, ParamSpec

from markupsafe import Markup

from reticent.data.texts import is_unfit

WIDTH = 560  # pixels of every chart; pages may scale it down
NARROW = 340  # the same on a phone
MOST_ROWS = 60
_MOST_POINTS = 300  # of a line; beyond that nobody sees a difference
_SIZE = 13  # pixels of text
_BOLD = 1.15  # how much wider bold text is
_TINY, _HUGE = 1e-100, 1e100  # beyond, floats run out before a chart does
_drawn_at: ContextVar[int] = ContextVar("drawn_at", default=WIDTH)
_Given = ParamSpec("_Given")


class Chart(Markup):
    """An image, and beside it the same for a phone."""

    narrow = Markup("")


def _for_phones_too(draw: Callable[_Given, Markup]) -> Callable[_Given, Markup]:
    """Draw a chart as wide as a page, and beside it as wide as a phone."""

    @wraps(draw)
    def both(*given: _Given.args, **named: _Given.kwargs) -> Markup:
        chart = Chart(draw(*given, **named))
        before = _drawn_at.set(NARROW)
        try:
            chart.narrow = draw(*given, **named)
        finally:
            _drawn_at.reset(before)
        return chart

    return both


def _is_narrow() -> bool:
    return _drawn_at.get() == NARROW


@dataclass(frozen=True, slots=True)
class Row:
    """A value in an outline; `depth` says how far it stands below the first."""

    label: str
    records: int | None
    depth: int = 0
    kind: Literal["shown", "opened", "hidden"] = "shown"


@dataclass(frozen=True, slots=True)
class Span:
    """An interval that a column shows."""

    label: str  # as in "[20,30)"
    low: float
    high: float
    records: int


@dataclass(frozen=True, slots=True)
class Series:
    """A line of a chart."""

    name: str
    points: Sequence[tuple[float, float]]
    dashed: bool = False
    between: Sequence[tuple[float, float, float]] = ()  # x, and between what it lies there


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of a chart; the one that matters is drawn in the accent colour."""

    name: str
    value: float
    matters: bool = False


@dataclass(frozen=True, slots=True)
class Pair:
    """A value as it was, what is shown of it, or both: how many records had it and show it."""

    label: str
    depth: int
    before: int | None
    after: int | None
    kind: Literal["value", "more", "hidden", "missing"] = "value"


@dataclass(frozen=True, slots=True)
class Knot:
    """A box of a branching drawing; those nearer to the first stand before those further away."""

    way: str  # what leads here; nothing for the first
    label: str
    note: str
    parent: int = -1  # its place among them
    ends: bool = False  # whether nothing branches off


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


def cut_tree(title: str, tree: Mapping[str, Any], records: Mapping[str, int]) -> Markup:
    """A taxonomy down to the labels that a column shows, with how many records show each.

    `tree` is nested tables and ends at the cut; what lies below it is nobody's business here.
    """
    rows = list(_flattened(tree, records))
    rows += [Row("", records[""], 1)] if "" in records else []
    shown = sum(row.kind == "shown" for row in rows)
    opened = len(rows) - shown
    desc = f"{shown} values are shown" + (f", below {opened} that were opened." if opened else ".")
    return outline(title, desc, rows)


def _flattened(tree: Mapping[str, Any], records: Mapping[str, int]) -> Iterator[Row]:
    """The tree in the order it is drawn; nothing recurses, so depth is no limit."""
    waiting: list[tuple[str, Mapping[str, Any], int]] = [(n, below, 0) for n, below in tree.items()]
    while waiting:
        label, below, depth = waiting.pop()
        if below:
            yield Row(label, None, depth, "opened")
        else:
            yield Row(label, records.get(label, 0), depth)
        waiting += [(name, inner, depth + 1) for name, inner in reversed([*below.items()])]


def shown_values(title: str, values: Sequence[Row]) -> Markup:
    """The values that a column shows one by one, and how many records hide theirs."""
    shown = sum(row.kind == "shown" for row in values)
    hidden = sum(row.records or 0 for row in values if row.kind == "hidden")
    desc = f"{shown} values are shown; {number(hidden)} records hide theirs."
    return outline(title, desc, values)


@_for_phones_too
def outline(title: str, desc: str, rows: Sequence[Row]) -> Markup:
    """Labels one below the other, indented by depth, each with a bar of its records."""
    width, narrow = _drawn_at.get(), _is_narrow()
    drawn, step = rows[:MOST_ROWS], 42 if narrow else 24
    deepest = max((row.depth for row in drawn), default=0)
    indent = min(18.0, 120 / max(deepest, 1))
    largest = max((row.records or 0 for row in rows), default=0) or 1
    left, right = 276, width - 84
    parts: list[Markup] = []
    path: list[float] = []  # where the labels above the one drawn stand
    for i, row in enumerate(drawn):
        x, y = 8 + row.depth * indent, 14 + i * step
        path = [*path[: row.depth], y]
        if row.depth and len(path) > row.depth:
            parts.append(_path("rule", f"M{_n(x - indent)} {_n(path[-2] + 5)}V{y}H{_n(x - 5)}"))
        parts.append(_sign(row.kind, x, y))
        room = (width - 76 if narrow else left - 12) - x - 12
        parts.append(_text(x + 12, y + 4.5, row.label or "(missing)", room, cls=row.kind))
        if row.records is not None:
            start, full = (x + 12, width - 14 - x) if narrow else (left, right - left)
            length = max(full * row.records / largest, 1.5 if row.records else 0)
            high = (y + 12, 9) if narrow else (y - 6, 12)
            parts.append(_box(start, high[0], length, high[1], cls=f"bar {row.kind}", rx=2))
            parts.append(_text(width - 2, y + 4.5, number(row.records), 120, anchor="end"))
    height = 14 + len(drawn) * step
    if len(rows) > len(drawn):
        parts.append(_text(8, height + 4, f"… and {number(len(rows) - len(drawn))} more", width))
        height += step
    kinds = [kind for kind in _MEANING if any(row.kind == kind for row in drawn)]
    if kinds == ["shown"]:  # then there is nothing to tell apart
        return _image(title, desc, height, parts)
    x = 8.0
    for kind in kinds:
        if x > 8 and x + 12 + _wide(_MEANING[kind]) > width:
            x, height = 8.0, height + 20
        parts.append(_sign(kind, x, height + 6))
        parts.append(_text(x + 12, height + 10.5, _MEANING[kind], width, cls="quiet"))
        x += 36 + _wide(_MEANING[kind])
    return _image(title, desc, height + 22, parts)


_MEANING = {"shown": "shown", "opened": "opened into those below it", "hidden": "hidden"}


def _sign(kind: str, x: float, y: float) -> Markup:
    """Full, hollow or crossed out: to be told apart without colour."""
    if kind == "hidden":
        return _path("sign hidden", f"M{_n(x - 4)} {_n(y - 4)}h8v8h-8zl8 8m-8 0l8 -8")
    return _tag("circle", cls=f"sign {kind}", cx=_n(x), cy=_n(y), r="4.5")


@_for_phones_too
def interval_bar(title: str, spans: Sequence[Span]) -> Markup:
    """The intervals that a column shows, end to end; to scale unless some would vanish."""
    drawn = spans[:MOST_ROWS]
    ends, to_scale = _ends(drawn)
    left, room, top, thick = 6.0, _drawn_at.get() - 12.0, 4, 34
    xs = [left + room * end for end in ends]
    parts = []
    for i, span in enumerate(drawn):
        wide = xs[i + 1] - xs[i]
        segment = _box(xs[i] + 0.75, top, max(wide - 1.5, 0.5), thick, cls=f"span odd{i % 2}", rx=3)
        count = number(span.records)
        parts.append(Markup("<g>{}{}</g>").format(_tooltip(f"{span.label}: {count}"), segment))
        if _wide(count) + 6 < wide:
            middle = (xs[i] + xs[i + 1]) / 2
            parts.append(_text(middle, top + 21.5, count, wide, cls="on", anchor="middle"))
    parts += _edges(drawn, xs, top + thick)
    notes = [] if to_scale else ["not to scale"]
    notes += [f"{number(len(spans) - len(drawn))} more not drawn"] if len(spans) > MOST_ROWS else []
    height = top + thick + 26
    if notes:
        parts.append(_text(left, height + 12, "; ".join(notes), room, cls="quiet"))
        height += 18
    return _image(title, f"{len(spans)} intervals are shown.", height, parts)


def _ends(spans: Sequence[Span]) -> tuple[list[float], bool]:
    """Where intervals begin and end, as shares of the whole; evenly if one would be a hair."""
    low, high = (spans[0].low, spans[-1].high) if spans else (0.0, 1.0)
    whole = high - low
    if spans and math.isfinite(whole) and whole > 0:
        ends = [*((span.low - low) / whole for span in spans), 1.0]
        if min(b - a for a, b in pairwise(ends)) * WIDTH >= 4:
            return ends, True
    return [i / max(len(spans), 1) for i in range(len(spans) + 1)], len(spans) < 2


def _edges(spans: Sequence[Span], xs: Sequence[float], y: float) -> Iterator[Markup]:
    """The ends of intervals as far as there is room, the outermost first."""
    if not spans:
        return
    # "[0.5,1.5)", or with decimal commas "[0,5; 1,5)"
    bounds = [
        span.label.strip("[]()").partition("; " if "; " in span.label else ",") for span in spans
    ]
    names = [*(low for low, _, _ in bounds), bounds[-1][2]]
    width = _drawn_at.get()
    names = [_fit(printable(name), width / 3) for name in names]
    order = [0, len(xs) - 1, *range(1, len(xs) - 1)]
    taken: list[tuple[float, float]] = []
    for i in order:
        half = _wide(names[i]) / 2
        x = min(max(xs[i], half + 2), width - half - 2)
        yield _path("rule", f"M{_n(xs[i])} {_n(y)}v5")
        if all(x + half + 8 < a or x - half - 8 > b for a, b in taken):
            taken.append((x - half, x + half))
            yield _text(x, y + 18, names[i], width, anchor="middle")


@_for_phones_too
def bars(
    title: str,
    x_label: str,
    rows: Sequence[Bar],
    *,
    reference: tuple[str, float] | None = None,
    share: bool = False,
) -> Markup:
    """Horizontal bars, and a dashed line to compare them with; `share` prints percentages."""
    width, narrow = _drawn_at.get(), _is_narrow()
    left, right, top, step = 190, width - 56, 26 if reference else 6, 30
    if narrow:  # names above their bars, and numbers at the end of their line
        left, right, step = 2, width - 2, 44
    largest = max([bar.value for bar in rows] + [reference[1] if reference else 0.0]) or 1.0
    said = [f"{100 * bar.value:.1f} %" if share else number(bar.value) for bar in rows]
    said = [text.replace("100.0", "100") for text in said]  # which has no room
    parts: list[Markup] = []
    for i, bar in enumerate(rows):
        y = top + i * step
        length = (right - left) * bar.value / largest
        kind, weight = ("bar shown", "strong") if bar.matters else ("bar plain", "")
        if narrow:
            room = (width - 70) / _BOLD
            parts.append(_text(left, y + 14, bar.name, room, cls=weight))
            parts.append(_box(left, y + 20, max(length, 1), 14, cls=kind, rx=2))
            parts.append(_text(right, y + 14, said[i], 64, anchor="end", cls=weight))
            continue
        parts.append(_text(left - 10, y + 17, bar.name, left - 12, anchor="end", cls=weight))
        parts.append(_box(left, y + 4, max(length, 1), 18, cls=kind, rx=2))
        parts.append(_text(left + length + 7, y + 17, said[i], 56, cls=weight))
    bottom = top + len(rows) * step
    parts += [] if narrow else [_path("rule", f"M{left} {top - 2}V{bottom + 2}")]
    if reference:
        x = left + (right - left) * reference[1] / largest
        parts.append(_path("reference", f"M{_n(x)} {top - 6}V{bottom + 4}"))
        anchor = "end" if x > width / 2 else "start"
        parts.append(_text(x, top - 11, reference[0], width / 2, anchor=anchor, cls="quiet"))
    parts.append(_text(left, bottom + 20, x_label, right - left, cls="quiet"))
    told = [f"{bar.name}: {value}" for bar, value in zip(rows, said, strict=True)]
    return _image(title, "; ".join(told) + ".", bottom + 28, parts)


def apart(tried: Sequence[float], *, log: bool = False) -> list[float]:
    """The thresholds that can stand below an axis without touching: first, last and some between.

    >>> apart([2, 3, 4, 50, 1000], log=True)
    [2, 4, 50, 1000]
    """
    if not tried:
        return []
    scale = [math.log(x) if log else x for x in tried]
    least = (scale[-1] - scale[0]) / 10
    kept = [0]
    for i in range(1, len(tried)):
        if scale[i] - scale[kept[-1]] >= least:
            kept.append(i)
    if kept[-1] != len(tried) - 1:
        kept[-1 if len(kept) > 1 else len(kept) :] = [len(tried) - 1]
    return [tried[i] for i in kept]


@_for_phones_too
def pairs(title: str, rows: Sequence[Pair]) -> Markup:
    """Values before and after below each other, a bar for each side that a row has."""
    width, narrow = _drawn_at.get(), _is_narrow()
    step, top, left, right = 26, 24, 236, width - 140
    if narrow:  # labels above their bars
        step, left, right = 42, 2, width - 2
    largest = max((max(row.before or 0, row.after or 0) for row in rows), default=0) or 1
    parts = [*_sides(left), _text(width - 72, 12, "before", 70, cls="quiet", anchor="end")]
    parts.append(_text(width - 2, 12, "after", 66, cls="quiet", anchor="end"))
    for i, row in enumerate(rows):
        x, y = 8 + row.depth * 18, top + i * step
        label = {"missing": "(missing)", "hidden": f"{row.label} (hidden)"}.get(row.kind, row.label)
        looks = {"hidden": "hidden", "more": "quiet", "value": "", "missing": "quiet"}[row.kind]
        room = width - 142 if narrow else left - 12
        parts.append(_text(x, y + 16, label, room - x, cls=looks))
        sides = [("plain", row.before), ("hidden" if row.kind == "hidden" else "shown", row.after)]
        told = [(look, count) for look, count in sides if count is not None]
        high = 16 / max(len(told), 1)
        start = x if narrow else left
        for at, (look, count) in enumerate(told):
            length = max((right - start) * count / largest, 1.5 if count else 0)
            over = y + (22 if narrow else 4) + at * high
            parts.append(_box(start, over, length, high - 1, cls=f"bar {look}", rx=1))
        for end, records in ((width - 72, row.before), (width - 2, row.after)):
            if records is not None:
                parts.append(_text(end, y + 16, number(records), 66, anchor="end"))
    height = top + len(rows) * step + 2
    parts += [] if narrow else [_path("rule", f"M{left} {top}V{height}")]
    return _image(title, "Records before and after, value by value.", height, parts)


def _sides(x: float) -> Iterator[Markup]:
    """What bars before and after look like."""
    for name, look in (("before", "plain"), ("after", "shown")):
        yield _box(x, 3, 10, 10, cls=f"bar {look}", rx=1)
        yield _text(x + 15, 12, name, 80, cls="quiet")
        x += 80


@_for_phones_too
def histogram(
    title: str,
    edges: Sequence[float],
    counts: Sequence[int],
    steps: Sequence[tuple[float, float, int, str]],
) -> Markup:
    """Counts as bars, and intervals drawn over them: areas are records, for both alike."""
    left, top, high, room = 6.0, 24, 110.0, _drawn_at.get() - 12.0
    low, whole = edges[0], edges[-1] - edges[0]
    least = min(b - a for a, b in pairwise(edges))  # an interval of one number is as wide
    drawn = [(a, max(b, a + least), n, label) for a, b, n, label in steps]
    heights = [n / (b - a) for (a, b), n in zip(pairwise(edges), counts, strict=True)]
    tallest = max([*heights, *(n / (b - a) for a, b, n, _ in drawn)], default=0) or 1.0

    def x(value: float) -> float:
        return left + room * min(max((value - low) / whole, 0.0), 1.0)

    parts = [*_sides(left)]
    for (a, b), tall, count in zip(pairwise(edges), heights, counts, strict=True):
        rise = max(high * tall / tallest, 1.5 if count else 0)
        wide = max(x(b) - x(a) - 1, 0.5)
        parts.append(_box(x(a) + 0.5, top + high - rise, wide, rise, cls="bar plain", rx=1))
    for a, b, count, label in drawn:
        y = top + high - high * count / (b - a) / tallest
        outline = f"M{_n(x(a))} {_n(top + high)}V{_n(y)}H{_n(x(b))}V{_n(top + high)}"
        told = _tooltip(f"{label}: {number(count)}")
        parts.append(Markup("<g>{}{}</g>").format(told, _path("step", outline)))
    parts.append(_path("rule", f"M{_n(left)} {_n(top + high)}H{_n(left + room)}"))
    spans = [Span(label, a, b, n) for a, b, n, label in drawn]
    parts += _edges(spans, [x(a) for a, *_ in drawn] + [x(drawn[-1][1])], top + high)
    desc = "; ".join(f"{label}: {number(count)}" for *_, count, label in steps[:MOST_ROWS])
    return _image(title, f"Intervals after: {desc}.", top + high + 24, parts)


@_for_phones_too
def scale(
    title: str, ends: tuple[str, str], after: tuple[str, float], before: tuple[str, float] | None
) -> Markup:
    """Where something stands between nothing and the worst; shares beyond stand at the end."""
    left, room, y = 6.0, _drawn_at.get() - 12.0, 24
    at = left + room * min(max(after[1], 0.0), 1.0)
    parts = [
        _box(left, y, room, 12, cls="track", rx=2),
        _box(left, y, max(at - left, 2.0), 12, cls="bar shown", rx=2),
        _beneath(at, 14, after[0], "strong"),
    ]
    below = y + 28
    if before:
        x = left + room * min(max(before[1], 0.0), 1.0)
        parts += [
            _path("reference", f"M{_n(x)} {y - 4}V{y + 18}"),
            _beneath(x, below + 2, before[0]),
        ]
        below += 18
    parts.append(_text(left, below + 2, ends[0], room, cls="quiet"))
    if _wide(ends[0]) + _wide(ends[1]) + 8 > room:
        below += 18
    parts.append(_text(left + room, below + 2, ends[1], room, cls="quiet", anchor="end"))
    told = f"{after[0]}" + (f"; {before[0]}" if before else "")
    return _image(title, f"From {ends[0]} to {ends[1]}: {told}.", below + 8, parts)


def _beneath(x: float, y: float, text: str, cls: str = "") -> Markup:
    """A text centred at a place, as far as there is room."""
    width = _drawn_at.get()
    half = min(_wide(text) * (_BOLD if cls else 1), width - 4) / 2
    x = min(max(x, half + 2), width - half - 2)
    return _text(x, y, text, 2 * half + 1, cls=cls, anchor="middle")


@_for_phones_too
def lines(
    title: str,
    x_label: str,
    y_label: str,
    series: Sequence[Series],
    *,
    x_log: bool = False,
    y_log: bool = False,
    x_ticks: Sequence[float] = (),
    from_zero: bool = True,
) -> Markup:
    """Lines over two axes, each named in a legend and, where there is room, at its end."""
    width = _drawn_at.get()
    kept = [(s, _drawable(s.points, x_log=x_log, y_log=y_log)) for s in series]
    points = [point for _, some in kept for point in some]
    bands = [[_drawable([(x, y) for x, *ends in s.between for y in [ends[i]]], x_log=x_log,
                        y_log=y_log) for i in (0, 1)] for s in series]  # fmt: skip
    if not points:
        empty = _text(width / 2, 40, "nothing to draw", width, anchor="middle", cls="quiet")
        return _image(title, "There is nothing to draw.", 80, [empty])
    names = max(_BOLD * _wide(s.name) for s in series)
    left, right, top, bottom = 58.0, width - min(names, 200) - 16, 56.0, 236.0
    if _is_narrow():
        left, right = 52.0, width - 16.0
    across = _Axis([x for x, _ in points], left, right, log=x_log, ticks=x_ticks)
    ground = [0.0] if from_zero and not y_log else []
    beside = [y for both in bands for edge in both for _, y in edge]
    upward = _Axis([*(y for _, y in points), *beside, *ground], bottom, top, log=y_log)
    parts = [*_grid(across, upward)]
    for i, (lows, highs) in enumerate(bands):
        around = [(across(x), upward(y)) for x, y in [*lows, *reversed(highs)]]
        if around:
            edge = "L".join(f"{_n(x)} {_n(y)}" for x, y in around)
            parts.append(_path(f"band line{i % 4}", f"M{edge}z"))
    ends = []
    for i, (one, some) in enumerate(kept):
        places = [(across(x), upward(y)) for x, y in some]
        if places:
            parts.append(_line(i, one, "L".join(f"{_n(x)} {_n(y)}" for x, y in places)))
            ends.append((places[-1][1], i, one.name))
        if len(places) <= 24 and not one.dashed:
            parts += [_marker(i, x, y) for x, y in places]
    parts += [] if _is_narrow() else _named(ends, right + 8, bottom)
    parts.append(_text(0, 14, title, width, cls="strong"))
    parts.append(_text(0, 38, y_label, width, cls="quiet"))
    parts.append(_text(right, bottom + 36, x_label, right, anchor="end", cls="quiet"))
    legend, height = _legend(series, bottom + 58)
    ends_at = [(one.name, *map(number, (*some[0], *some[-1]))) for one, some in kept if some]
    said = [f"{name}: from {y0} at {x0} to {y1} at {x1}." for name, x0, y0, x1, y1 in ends_at]
    return _image(title, " ".join(said), height, [*parts, *legend])


def _drawable(
    points: Sequence[tuple[float, float]], *, x_log: bool, y_log: bool
) -> list[tuple[float, float]]:
    """The points that can be drawn, thinned where they are too many; the last one stays."""

    def fits(value: float, log: bool) -> bool:
        return _TINY < value < _HUGE if log else -_HUGE < value < _HUGE  # false for NaN

    fit = [
        (0.0 if abs(x) < _TINY else float(x), 0.0 if abs(y) < _TINY else float(y))
        for x, y in points
        if fits(x, x_log) and fits(y, y_log)
    ]
    every = -(-len(fit) // _MOST_POINTS)
    return fit if every < 2 else [*fit[:-1:every], fit[-1]]


class _Axis:
    """Where a number stands between two ends of a chart."""

    def __init__(
        self,
        numbers: Sequence[float],
        start: float,
        end: float,
        *,
        log: bool,
        ticks: Sequence[float] = (),
    ) -> None:
        self.log, self.start, self.end = log, start, end
        low, high = min(numbers), max(numbers)
        self.ticks = list(ticks) or (_decades(low, high) if log else _steps(low, high))
        self.low, self.high = min(low, self.ticks[0]), max(high, self.ticks[-1])

    def __call__(self, value: float) -> float:
        a, b, v = (math.log10(n) if self.log else n for n in (self.low, self.high, value))
        return self.start + (self.end - self.start) * (v - a) / ((b - a) or 1)


def _steps(low: float, high: float) -> list[float]:
    """Round numbers from at most `low` to at least `high`.

    >>> _steps(0.1, 0.26)
    [0.1, 0.15, 0.2, 0.25, 0.3]
    """
    spread = (high - low) or abs(high) or 1.0
    unit = 10.0 ** math.floor(math.log10(spread))
    step = next(unit * by for by in (0.2, 0.5, 1, 2) if spread / (unit * by) <= 5)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 12) for i in range(first, max(last, first + 1) + 1)]


def _decades(low: float, high: float) -> list[float]:
    """Powers of ten, and between them if there are few.

    >>> _decades(3, 900)
    [1.0, 10.0, 100.0, 1000.0]
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    every = max(1, -(-(last - first) // 6))
    if last - first > 2:
        return [10.0**e for e in range(first, last + every, every)]
    between = [by * 10.0**e for e in range(first, last + 1) for by in (1, 2, 5)]
    start = max((n for n in between if n <= low), default=10.0**first)
    end = min(n for n in between if n >= high)
    return [n for n in between if start <= n <= end]


def _grid(across: _Axis, upward: _Axis) -> Iterator[Markup]:
    bottom = upward.start
    for tick in upward.ticks:
        y = upward(tick)
        yield _path("grid", f"M{_n(across.start)} {_n(y)}H{_n(across.end)}")
        yield _text(across.start - 7, y + 4, number(tick), 60, anchor="end", cls="tick")
    last = -math.inf
    for tick in across.ticks:
        x, half = across(tick), _wide(number(tick)) / 2
        yield _path("rule", f"M{_n(x)} {_n(bottom)}v4")
        if not _is_narrow() or x - half > last + 6:
            last = x + half
            yield _text(x, bottom + 18, number(tick), 60, anchor="middle", cls="tick")
    yield _path("rule", f"M{_n(across.start)} {_n(bottom)}H{_n(across.end)}")


def _line(i: int, series: Series, places: str) -> Markup:
    return _path(f"line line{i % 4}" + (" dashed" if series.dashed else ""), f"M{places}")


def _marker(i: int, x: float, y: float) -> Markup:
    """A dot, square, diamond or triangle: each line has its own."""
    shapes = (
        f"M{_n(x - 3)} {_n(y)}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0",
        f"M{_n(x - 3)} {_n(y - 3)}h6v6h-6z",
        f"M{_n(x)} {_n(y - 4)}l4 4l-4 4l-4 -4z",
        f"M{_n(x)} {_n(y - 4)}l4 7h-8z",
    )
    return _path(f"marker line{i % 4}", shapes[i % 4])


def _named(ends: Sequence[tuple[float, int, str]], x: float, bottom: float) -> Iterator[Markup]:
    """The lines' names beside their ends, pushed apart where they would overlap."""
    ends = sorted(ends)
    places = list(accumulate((y for y, _, _ in ends), lambda last, y: max(y, last + 15)))
    up = max(places[-1] - bottom, 0)  # the axis has its numbers there
    for y, (_, i, name) in zip(places, ends, strict=True):
        room = (WIDTH - x) / _BOLD
        yield _text(x, max(y - up, 0) + 4, name, room, cls=f"name line{i % 4}")


def _legend(series: Sequence[Series], y: float) -> tuple[list[Markup], float]:
    """The lines' names with a sample of each, in as many rows as they need; and where that ends."""
    parts, x, width = [], 8.0, _drawn_at.get()
    for i, one in enumerate(series):
        room = min(_wide(one.name) + 4, width - 40 if _is_narrow() else width / 2)
        if x > 8 and x + 28 + room > width:
            x, y = 8.0, y + 20
        parts.append(_line(i, one, f"{_n(x)} {_n(y - 4)}h22"))
        parts += [] if one.dashed else [_marker(i, x + 11, y - 4)]
        parts.append(_text(x + 28, y, one.name, room, cls="quiet"))
        x += 28 + room + 18
    return parts, y + 10


@_for_phones_too
def branching(title: str, desc: str, knots: Sequence[Knot]) -> Markup:
    """Boxes that branch from left to right, each below the words that lead to it.

    On a phone they stand one below the other, each further in than the one that it branches off.
    """
    below: list[list[int]] = [[] for _ in knots]
    level = [0] * len(knots)
    for i, knot in enumerate(knots[1:], 1):
        below[knot.parent].append(i)
        level[i] = level[knot.parent] + 1
    step, high, top = 62.0, 36.0, 20.0
    ys = [0.0] * len(knots)
    order, waiting = [], [0]
    while waiting:
        order.append(waiting.pop())
        waiting += reversed(below[order[-1]])
    if _is_narrow():
        return _image(title, desc, top + len(order) * step, [*_indented(knots, order, level)])
    ends = [i for i in order if not below[i]]
    for row, i in enumerate(ends):
        ys[i] = top + row * step
    for i in reversed(range(len(knots))):
        if below[i]:
            ys[i] = (ys[below[i][0]] + ys[below[i][-1]]) / 2
    across = WIDTH / (max(level, default=0) + 1)
    wide = across - 22
    parts: list[Markup] = []
    for i, knot in enumerate(knots):
        x, y = level[i] * across + 2, ys[i]
        if i:
            start, middle = x - 22 - (across - 22 - wide), ys[knot.parent] + high / 2
            parts.append(_path("rule", f"M{_n(start)} {_n(middle)}h9V{_n(y + high / 2)}H{_n(x)}"))
            parts.append(_text(x + 2, y - 5, knot.way, wide, cls="quiet"))
        kind = "end" if knot.ends else "fork"
        parts.append(_box(x, y, wide, high, cls=f"box {kind}", rx=10 if knot.ends else 2))
        parts.append(_text(x + 7, y + 15, knot.label, (wide - 12) / _BOLD, cls="strong"))
        parts.append(_text(x + 7, y + 30, knot.note, wide - 12, cls="quiet"))
    return _image(title, desc, top + len(ends) * step - step + high + 4, parts)


def _indented(
    knots: Sequence[Knot], order: Sequence[int], level: Sequence[int]
) -> Iterator[Markup]:
    """Boxes one below the other; from the left edge of each a line leads to those below it."""
    step, high, top, width = 62.0, 36.0, 20.0, _drawn_at.get()
    inwards = min(18.0, 150 / max(1, *level))
    rows = {i: top + row * step for row, i in enumerate(order)}
    for i in order:
        knot, x, y = knots[i], 2 + level[i] * inwards, rows[i]
        if i:
            start, above = 2 + level[knot.parent] * inwards + inwards / 2, rows[knot.parent] + high
            yield _path("rule", f"M{_n(start)} {_n(above)}V{_n(y + high / 2)}H{_n(x)}")
            yield _text(x + 2, y - 5, knot.way, width - x - 4, cls="quiet")
        kind = "end" if knot.ends else "fork"
        wide = width - x - 2
        yield _box(x, y, wide, high, cls=f"box {kind}", rx=10 if knot.ends else 2)
        yield _text(x + 7, y + 15, knot.label, (wide - 12) / _BOLD, cls="strong")
        yield _text(x + 7, y + 30, knot.note, wide - 12, cls="quiet")


# --- the pieces ----------------------------------------------------------------------------------


def uncertainty(error: float, tested: int | None) -> str:
    """Two standard errors of an error rate, in points; empty if nobody said how many were tested.

    >>> uncertainty(0.15, 1600)
    '1.8'
    """
    return f"{200 * math.sqrt(error * (1 - error) / tested):.1f}" if tested else ""


def standalone(chart: Markup) -> str:
    """A chart as a file of its own: it takes its styles along."""
    style = (resources.files("reticent.pages") / "style.css").read_text(encoding="utf-8")
    colours = style[: style.index("* { box-sizing")].replace(":root", "svg")
    looks = "\n".join(line for line in style.splitlines() if line.startswith(".chart "))
    ground = "svg { background: var(--paper); }"
    head, rest = str(chart).split(">", 1)
    return f"{head}><style>{colours}{looks}\n{ground}</style>{rest}\n"


def _image(title: str, desc: str, height: float, parts: Sequence[Markup]) -> Markup:
    return Markup(
        '<svg class="{}" role="img" xmlns="http://www.w3.org/2000/svg" '
        'viewBox="0 0 {} {}" width="{}" height="{}"><title>{}</title><desc>{}</desc>{}</svg>'
    ).format(
        "chart narrow" if _is_narrow() else "chart", _drawn_at.get(), _n(height),
        _drawn_at.get(), _n(height), printable(title), printable(desc),
        Markup("").join(parts),
    )  # fmt: skip


def _tag(name: str, *, cls: str, **values: str) -> Markup:
    attributes = Markup("").join(Markup(' {}="{}"').format(k, v) for k, v in values.items())
    return Markup('<{} class="{}"{}/>').format(name, cls, attributes)


def _path(cls: str, d: str) -> Markup:
    return _tag("path", cls=cls, d=d)


def _box(x: float, y: float, wide: float, high: float, *, cls: str, rx: float) -> Markup:
    return _tag("rect", cls=cls, x=_n(x), y=_n(y), width=_n(wide), height=_n(high), rx=_n(rx))


def _text(
    x: float, y: float, text: str, room: float, *, cls: str = "", anchor: str = "start"
) -> Markup:
    """A line of text, cut to the room it has; the whole of it is its tooltip."""
    text = printable(text)
    short = _fit(text, room)
    tooltip = Markup("") if short == text else _tooltip(text)
    return Markup('<text class="{}" x="{}" y="{}" text-anchor="{}">{}{}</text>').format(
        cls, _n(x), _n(y), anchor, tooltip, short
    )


def _tooltip(text: str) -> Markup:
    return Markup("<title>{}</title>").format(printable(text[:500]))


def _n(value: float) -> str:
    """A coordinate, to a tenth of a pixel: enough for the eye, and the same bytes everywhere.

    >>> _n(12.0), _n(0.123)
    ('12', '0.1')
    """
    return f"{value:.1f}".removesuffix(".0")


def _wide(text: str) -> float:
    """About how many pixels a text takes."""
    return sum(_SIZE if unicodedata.east_asian_width(s) in "WF" else _SIZE * 0.55 for s in text)


def _fit(text: str, room: float) -> str:
    if _wide(text[: WIDTH // 4]) <= room and len(text) <= WIDTH // 4:
        return text
    kept = text[: WIDTH // 4]
    while kept and _wide(kept) > room - _SIZE:
        kept = kept[:-1]
    return kept.rstrip() + "…"
