"""Charts as inline SVG: pure functions from plain data to markup.

Every chart is an image with a title and a description in words, drawn twice: for a page, and for a
phone, where names stand above their bars and letters are as large. Colours come from the page's
style sheet by class, and nothing is told by colour alone: shapes, dashes and labels say it too.
Texts are cut to the room they have, by an estimate of their width, with the whole text as a
tooltip; long lists are cut with a note of how much was left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from markupsafe import Markup

from reticent.pages.drawing import (
    BOLD,
    WIDTH,
    beneath,
    box,
    drawn_at,
    fitted,
    for_phones_too,
    image,
    is_narrow,
    number,
    printable,
    px,
    stroke,
    tag,
    tooltip_of,
    width_of,
    written,
)

MOST_ROWS = 60
_MEANING = {"shown": "shown", "opened": "opened into those below it", "hidden": "hidden"}


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


@for_phones_too
def outline(title: str, desc: str, rows: Sequence[Row]) -> Markup:
    """Labels one below the other, indented by depth, each with a bar of its records."""
    width, narrow = drawn_at.get(), is_narrow()
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
            parts.append(stroke("rule", f"M{px(x - indent)} {px(path[-2] + 5)}V{y}H{px(x - 5)}"))
        parts.append(_sign(row.kind, x, y))
        room = (width - 76 if narrow else left - 12) - x - 12
        parts.append(written(x + 12, y + 4.5, row.label or "(missing)", room, cls=row.kind))
        if row.records is not None:
            start, full = (x + 12, width - 14 - x) if narrow else (left, right - left)
            length = max(full * row.records / largest, 1.5 if row.records else 0)
            high = (y + 12, 9) if narrow else (y - 6, 12)
            parts.append(box(start, high[0], length, high[1], cls=f"bar {row.kind}", rx=2))
            parts.append(written(width - 2, y + 4.5, number(row.records), 120, anchor="end"))
    height = 14 + len(drawn) * step
    if len(rows) > len(drawn):
        parts.append(written(8, height + 4, f"… and {number(len(rows) - len(drawn))} more", width))
        height += step
    kinds = [kind for kind in _MEANING if any(row.kind == kind for row in drawn)]
    if kinds == ["shown"]:  # then there is nothing to tell apart
        return image(title, desc, height, parts)
    x = 8.0
    for kind in kinds:
        if x > 8 and x + 12 + width_of(_MEANING[kind]) > width:
            x, height = 8.0, height + 20
        parts.append(_sign(kind, x, height + 6))
        parts.append(written(x + 12, height + 10.5, _MEANING[kind], width, cls="quiet"))
        x += 36 + width_of(_MEANING[kind])
    return image(title, desc, height + 22, parts)


def _sign(kind: str, x: float, y: float) -> Markup:
    """Full, hollow or crossed out: to be told apart without colour."""
    if kind == "hidden":
        return stroke("sign hidden", f"M{px(x - 4)} {px(y - 4)}h8v8h-8zl8 8m-8 0l8 -8")
    return tag("circle", cls=f"sign {kind}", cx=px(x), cy=px(y), r="4.5")


@for_phones_too
def interval_bar(title: str, spans: Sequence[Span]) -> Markup:
    """The intervals that a column shows, end to end; to scale unless some would vanish."""
    drawn = spans[:MOST_ROWS]
    ends, to_scale = _ends(drawn)
    left, room, top, thick = 6.0, drawn_at.get() - 12.0, 4, 34
    xs = [left + room * end for end in ends]
    parts = []
    for i, span in enumerate(drawn):
        wide = xs[i + 1] - xs[i]
        segment = box(xs[i] + 0.75, top, max(wide - 1.5, 0.5), thick, cls=f"span odd{i % 2}", rx=3)
        count = number(span.records)
        parts.append(Markup("<g>{}{}</g>").format(tooltip_of(f"{span.label}: {count}"), segment))
        if width_of(count) + 6 < wide:
            middle = (xs[i] + xs[i + 1]) / 2
            parts.append(written(middle, top + 21.5, count, wide, cls="on", anchor="middle"))
    parts += _edges(drawn, xs, top + thick)
    notes = [] if to_scale else ["not to scale"]
    notes += [f"{number(len(spans) - len(drawn))} more not drawn"] if len(spans) > MOST_ROWS else []
    height = top + thick + 26
    if notes:
        parts.append(written(left, height + 12, "; ".join(notes), room, cls="quiet"))
        height += 18
    return image(title, f"{len(spans)} intervals are shown.", height, parts)


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
    width = drawn_at.get()
    names = [fitted(printable(name), width / 3) for name in names]
    order = [0, len(xs) - 1, *range(1, len(xs) - 1)]
    taken: list[tuple[float, float]] = []
    for i in order:
        half = width_of(names[i]) / 2
        x = min(max(xs[i], half + 2), width - half - 2)
        yield stroke("rule", f"M{px(xs[i])} {px(y)}v5")
        if all(x + half + 8 < a or x - half - 8 > b for a, b in taken):
            taken.append((x - half, x + half))
            yield written(x, y + 18, names[i], width, anchor="middle")


@for_phones_too
def bars(
    title: str,
    x_label: str,
    rows: Sequence[Bar],
    *,
    reference: tuple[str, float] | None = None,
    share: bool = False,
) -> Markup:
    """Horizontal bars, and a dashed line to compare them with; `share` prints percentages.

    Shares are drawn up to the next of a few round ones, and the label says where their axis ends.
    """
    width, narrow = drawn_at.get(), is_narrow()
    left, right, top, step = 190, width - 56, 26 if reference else 6, 30
    if narrow:  # names above their bars, and numbers at the end of their line
        left, right, step = 2, width - 2, 44
    largest = max([bar.value for bar in rows] + [reference[1] if reference else 0.0]) or 1.0
    if share:
        largest = next((end for end in _SHARES if largest <= end), largest)
        x_label += f", from 0 to {100 * largest:g} %"
    said = [f"{100 * bar.value:.1f} %" if share else number(bar.value) for bar in rows]
    said = [text.replace("100.0", "100") for text in said]  # which has no room
    parts: list[Markup] = []
    for i, bar in enumerate(rows):
        y = top + i * step
        length = (right - left) * bar.value / largest
        kind, weight = ("bar shown", "strong") if bar.matters else ("bar plain", "")
        if narrow:
            room = (width - 70) / BOLD
            parts.append(written(left, y + 14, bar.name, room, cls=weight))
            parts.append(box(left, y + 20, max(length, 1), 14, cls=kind, rx=2))
            parts.append(written(right, y + 14, said[i], 64, anchor="end", cls=weight))
            continue
        parts.append(written(left - 10, y + 17, bar.name, left - 12, anchor="end", cls=weight))
        parts.append(box(left, y + 4, max(length, 1), 18, cls=kind, rx=2))
        parts.append(written(left + length + 7, y + 17, said[i], 56, cls=weight))
    bottom = top + len(rows) * step
    parts += [] if narrow else [stroke("rule", f"M{left} {top - 2}V{bottom + 2}")]
    if reference:
        x = left + (right - left) * reference[1] / largest
        parts.append(stroke("reference", f"M{px(x)} {top - 6}V{bottom + 4}"))
        anchor = "end" if x > width / 2 else "start"
        parts.append(written(x, top - 11, reference[0], width / 2, anchor=anchor, cls="quiet"))
    parts.append(written(left, bottom + 20, x_label, right - left, cls="quiet"))
    told = [f"{bar.name}: {value}" for bar, value in zip(rows, said, strict=True)]
    return image(title, "; ".join(told) + ".", bottom + 28, parts)


_SHARES = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)  # where an axis may end


@for_phones_too
def pairs(title: str, rows: Sequence[Pair]) -> Markup:
    """Values before and after below each other, a bar for each side that a row has."""
    width, narrow = drawn_at.get(), is_narrow()
    step, top, left, right = 26, 24, 236, width - 140
    if narrow:  # labels above their bars
        step, left, right = 42, 2, width - 2
    largest = max((max(row.before or 0, row.after or 0) for row in rows), default=0) or 1
    parts = [*_sides(left), written(width - 72, 12, "before", 70, cls="quiet", anchor="end")]
    parts.append(written(width - 2, 12, "after", 66, cls="quiet", anchor="end"))
    for i, row in enumerate(rows):
        x, y = 8 + row.depth * 18, top + i * step
        label = {"missing": "(missing)", "hidden": f"{row.label} (hidden)"}.get(row.kind, row.label)
        looks = {"hidden": "hidden", "more": "quiet", "value": "", "missing": "quiet"}[row.kind]
        room = width - 142 if narrow else left - 12
        parts.append(written(x, y + 16, label, room - x, cls=looks))
        sides = [("plain", row.before), ("hidden" if row.kind == "hidden" else "shown", row.after)]
        told = [(look, count) for look, count in sides if count is not None]
        high = 16 / max(len(told), 1)
        start = x if narrow else left
        for at, (look, count) in enumerate(told):
            length = max((right - start) * count / largest, 1.5 if count else 0)
            over = y + (22 if narrow else 4) + at * high
            parts.append(box(start, over, length, high - 1, cls=f"bar {look}", rx=1))
        for end, records in ((width - 72, row.before), (width - 2, row.after)):
            if records is not None:
                parts.append(written(end, y + 16, number(records), 66, anchor="end"))
    height = top + len(rows) * step + 2
    parts += [] if narrow else [stroke("rule", f"M{left} {top}V{height}")]
    return image(title, "Records before and after, value by value.", height, parts)


def _sides(x: float) -> Iterator[Markup]:
    """What bars before and after look like."""
    for name, look in (("before", "plain"), ("after", "shown")):
        yield box(x, 3, 10, 10, cls=f"bar {look}", rx=1)
        yield written(x + 15, 12, name, 80, cls="quiet")
        x += 80


@for_phones_too
def histogram(
    title: str,
    edges: Sequence[float],
    counts: Sequence[int],
    steps: Sequence[tuple[float, float, int, str]],
) -> Markup:
    """Counts as bars, and intervals drawn over them: areas are records, for both alike."""
    left, top, high, room = 6.0, 24, 110.0, drawn_at.get() - 12.0
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
        parts.append(box(x(a) + 0.5, top + high - rise, wide, rise, cls="bar plain", rx=1))
    for a, b, count, label in drawn:
        y = top + high - high * count / (b - a) / tallest
        outline = f"M{px(x(a))} {px(top + high)}V{px(y)}H{px(x(b))}V{px(top + high)}"
        told = tooltip_of(f"{label}: {number(count)}")
        parts.append(Markup("<g>{}{}</g>").format(told, stroke("step", outline)))
    parts.append(stroke("rule", f"M{px(left)} {px(top + high)}H{px(left + room)}"))
    spans = [Span(label, a, b, n) for a, b, n, label in drawn]
    parts += _edges(spans, [x(a) for a, *_ in drawn] + [x(drawn[-1][1])], top + high)
    desc = "; ".join(f"{label}: {number(count)}" for *_, count, label in steps[:MOST_ROWS])
    return image(title, f"Intervals after: {desc}.", top + high + 24, parts)


@for_phones_too
def scale(
    title: str, ends: tuple[str, str], after: tuple[str, float], before: tuple[str, float] | None
) -> Markup:
    """Where something stands between nothing and the worst; shares beyond stand at the end."""
    left, room, y = 6.0, drawn_at.get() - 12.0, 24
    at = left + room * min(max(after[1], 0.0), 1.0)
    parts = [
        box(left, y, room, 12, cls="track", rx=2),
        box(left, y, max(at - left, 2.0), 12, cls="bar shown", rx=2),
        beneath(at, 14, after[0], "strong"),
    ]
    below = y + 28
    if before:
        x = left + room * min(max(before[1], 0.0), 1.0)
        parts += [
            stroke("reference", f"M{px(x)} {y - 4}V{y + 18}"),
            beneath(x, below + 2, before[0]),
        ]
        below += 18
    parts.append(written(left, below + 2, ends[0], room, cls="quiet"))
    if width_of(ends[0]) + width_of(ends[1]) + 8 > room:
        below += 18
    parts.append(written(left + room, below + 2, ends[1], room, cls="quiet", anchor="end"))
    told = f"{after[0]}" + (f"; {before[0]}" if before else "")
    return image(title, f"From {ends[0]} to {ends[1]}: {told}.", below + 8, parts)


@for_phones_too
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
    if is_narrow():
        return image(title, desc, top + len(order) * step, [*_indented(knots, order, level)])
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
            parts.append(stroke("rule", f"M{px(start)} {px(middle)}h9V{px(y + high / 2)}H{px(x)}"))
            parts.append(written(x + 2, y - 5, knot.way, wide, cls="quiet"))
        kind = "end" if knot.ends else "fork"
        parts.append(box(x, y, wide, high, cls=f"box {kind}", rx=10 if knot.ends else 2))
        parts.append(written(x + 7, y + 15, knot.label, (wide - 12) / BOLD, cls="strong"))
        parts.append(written(x + 7, y + 30, knot.note, wide - 12, cls="quiet"))
    return image(title, desc, top + len(ends) * step - step + high + 4, parts)


def _indented(
    knots: Sequence[Knot], order: Sequence[int], level: Sequence[int]
) -> Iterator[Markup]:
    """Boxes one below the other; from the left edge of each a line leads to those below it."""
    step, high, top, width = 62.0, 36.0, 20.0, drawn_at.get()
    inwards = min(18.0, 150 / max(1, *level))
    rows = {i: top + row * step for row, i in enumerate(order)}
    for i in order:
        knot, x, y = knots[i], 2 + level[i] * inwards, rows[i]
        if i:
            start, above = 2 + level[knot.parent] * inwards + inwards / 2, rows[knot.parent] + high
            yield stroke("rule", f"M{px(start)} {px(above)}V{px(y + high / 2)}H{px(x)}")
            yield written(x + 2, y - 5, knot.way, width - x - 4, cls="quiet")
        kind = "end" if knot.ends else "fork"
        wide = width - x - 2
        yield box(x, y, wide, high, cls=f"box {kind}", rx=10 if knot.ends else 2)
        yield written(x + 7, y + 15, knot.label, (wide - 12) / BOLD, cls="strong")
        yield written(x + 7, y + 30, knot.note, wide - 12, cls="quiet")
