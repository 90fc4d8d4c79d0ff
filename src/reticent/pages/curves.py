"""Curves: lines over two axes, from plain numbers to markup."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from markupsafe import Markup

from reticent.pages.drawing import (
    BOLD,
    WIDTH,
    drawn_at,
    for_phones_too,
    image,
    is_narrow,
    number,
    px,
    stroke,
    width_of,
    written,
)

_MOST_POINTS = 300  # of a line; beyond that nobody sees a difference
_TINY, _HUGE = 1e-100, 1e100  # beyond, floats run out before a chart does


@dataclass(frozen=True, slots=True)
class Series:
    """A line of a chart."""

    name: str
    points: Sequence[tuple[float, float]]
    dashed: bool = False
    between: Sequence[tuple[float, float, float]] = ()  # x, and between what it lies there


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


@for_phones_too
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
    y_most: float | None = None,
) -> Markup:
    """Lines over two axes, each named in a legend and, where there is room, at its end.

    `y_most` is on the upward axis in any case, so that charts can be compared.
    """
    width = drawn_at.get()
    kept = [(s, _drawable(s.points, x_log=x_log, y_log=y_log)) for s in series]
    points = [point for _, some in kept for point in some]
    bands = [[_drawable([(x, y) for x, *ends in s.between for y in [ends[i]]], x_log=x_log,
                        y_log=y_log) for i in (0, 1)] for s in series]  # fmt: skip
    if not points:
        empty = written(width / 2, 40, "nothing to draw", width, anchor="middle", cls="quiet")
        return image(title, "There is nothing to draw.", 80, [empty])
    names = max(BOLD * width_of(s.name) for s in series)
    left, right, top, bottom = 58.0, width - min(names, 200) - 16, 56.0, 236.0
    if is_narrow():
        left, right = 52.0, width - 16.0
    across = _Axis([x for x, _ in points], left, right, log=x_log, ticks=x_ticks)
    across.end = right = min(right, width - width_of(number(across.ticks[-1])) / 2 - 2)
    ground = [0.0] if from_zero and not y_log else []
    ground += [] if y_most is None else [y_most]
    beside = [y for both in bands for edge in both for _, y in edge]
    upward = _Axis([*(y for _, y in points), *beside, *ground], bottom, top, log=y_log)
    parts = [*_grid(across, upward)]
    for i, (lows, highs) in enumerate(bands):
        around = [(across(x), upward(y)) for x, y in [*lows, *reversed(highs)]]
        if around:
            edge = "L".join(f"{px(x)} {px(y)}" for x, y in around)
            parts.append(stroke(f"band line{i % 4}", f"M{edge}z"))
    ends = []
    for i, (one, some) in enumerate(kept):
        places = [(across(x), upward(y)) for x, y in some]
        if places:
            parts.append(_line(i, one, "L".join(f"{px(x)} {px(y)}" for x, y in places)))
            ends.append((places[-1][1], i, one.name))
        if len(places) <= 24 and not one.dashed:
            parts += [_marker(i, x, y) for x, y in places]
    parts += [] if is_narrow() else _named(ends, right + 8, bottom)
    parts.append(written(0, 14, title, width, cls="strong"))
    parts.append(written(0, 38, y_label, width, cls="quiet"))
    parts.append(written(right, bottom + 36, x_label, right, anchor="end", cls="quiet"))
    legend, height = _legend(series, bottom + 58)
    ends_at = [(one.name, *map(number, (*some[0], *some[-1]))) for one, some in kept if some]
    said = [f"{name}: from {y0} at {x0} to {y1} at {x1}." for name, x0, y0, x1, y1 in ends_at]
    return image(title, " ".join(said), height, [*parts, *legend])


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
        yield stroke("grid", f"M{px(across.start)} {px(y)}H{px(across.end)}")
        yield written(across.start - 7, y + 4, number(tick), 60, anchor="end", cls="tick")
    last = -math.inf
    for tick in across.ticks:
        x, half = across(tick), width_of(number(tick)) / 2
        yield stroke("rule", f"M{px(x)} {px(bottom)}v4")
        if not is_narrow() or x - half > last + 6:
            last = x + half
            yield written(x, bottom + 18, number(tick), 2 * half + 1, anchor="middle", cls="tick")
    yield stroke("rule", f"M{px(across.start)} {px(bottom)}H{px(across.end)}")


def _line(i: int, series: Series, places: str) -> Markup:
    return stroke(f"line line{i % 4}" + (" dashed" if series.dashed else ""), f"M{places}")


def _marker(i: int, x: float, y: float) -> Markup:
    """A dot, square, diamond or triangle: each line has its own."""
    shapes = (
        f"M{px(x - 3)} {px(y)}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0",
        f"M{px(x - 3)} {px(y - 3)}h6v6h-6z",
        f"M{px(x)} {px(y - 4)}l4 4l-4 4l-4 -4z",
        f"M{px(x)} {px(y - 4)}l4 7h-8z",
    )
    return stroke(f"marker line{i % 4}", shapes[i % 4])


def _named(ends: Sequence[tuple[float, int, str]], x: float, bottom: float) -> Iterator[Markup]:
    """The lines' names beside their ends, pushed apart where they would overlap."""
    ends = sorted(ends)
    places = list(accumulate((y for y, _, _ in ends), lambda last, y: max(y, last + 15)))
    up = max(places[-1] - bottom, 0)  # the axis has its numbers there
    for y, (_, i, name) in zip(places, ends, strict=True):
        room = (WIDTH - x) / BOLD
        yield written(x, max(y - up, 0) + 4, name, room, cls=f"name line{i % 4}")


def _legend(series: Sequence[Series], y: float) -> tuple[list[Markup], float]:
    """The lines' names with a sample of each, in as many rows as they need; and where that ends."""
    parts, x, width = [], 8.0, drawn_at.get()
    for i, one in enumerate(series):
        room = min(width_of(one.name) + 4, width - 40 if is_narrow() else width / 2)
        if x > 8 and x + 28 + room > width:
            x, y = 8.0, y + 20
        parts.append(_line(i, one, f"{px(x)} {px(y - 4)}h22"))
        parts += [] if one.dashed else [_marker(i, x + 11, y - 4)]
        parts.append(written(x + 28, y, one.name, room, cls="quiet"))
        x += 28 + room + 18
    return parts, y + 10


def uncertainty(error: float, tested: int | None) -> str:
    """Two standard errors of an error rate, in points; empty if nobody said how many were tested.

    >>> uncertainty(0.15, 1600)
    '1.8'
    """
    return f"{200 * math.sqrt(error * (1 - error) / tested):.1f}" if tested else ""
