"""A line chart as SVG, without a plotting library.

It stands alone: a chart of `reticent.pages` takes its colours from the style sheet of the page.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 690, 360
LEFT, RIGHT, TOP, BOTTOM = 56, 500, 44, 310
COLOURS = ("#1b6ca8", "#c1440e", "#2e7d32", "#6a3d9a", "#8d6e00", "#555555")
SHAPES = ("circle", "square", "diamond")  # nothing is told by colour alone


@dataclass(frozen=True, slots=True)
class Series:
    """A line of a chart."""

    name: str
    points: Sequence[tuple[float, float]]
    dashed: bool = False


def lines(
    title: str, x_label: str, y_label: str, series: Sequence[Series], *, x_log: bool = False
) -> str:
    """Lines over two axes, each named at its end."""
    xs = [x for one in series for x, _ in one.points]
    ys = [y for one in series for _, y in one.points]
    x_ticks = _steps_of_ten(xs) if x_log else _round_steps(min(xs), max(xs))
    y_ticks = _round_steps(min(ys), max(ys))
    across = _scale(min(xs), max(xs), LEFT, RIGHT, math.log if x_log else float)
    up = _scale(min(min(ys), y_ticks[0]), max(max(ys), y_ticks[-1]), BOTTOM, TOP, float)
    parts = [_text(LEFT, 20, title, weight="bold"), _text(LEFT, 36, y_label, fill="#555555")]
    for tick in y_ticks:
        parts.append(_line(LEFT, up(tick), RIGHT, up(tick), "#dddddd"))
        parts.append(_text(LEFT - 6, up(tick) + 4, f"{tick:g}", anchor="end"))
    for tick in (tick for tick in x_ticks if min(xs) <= tick <= max(xs)):
        parts.append(_line(across(tick), BOTTOM, across(tick), BOTTOM + 5, "#555555"))
        parts.append(_text(across(tick), BOTTOM + 18, f"{tick:,g}", anchor="middle"))
    parts.append(_text(RIGHT, BOTTOM + 38, x_label, anchor="end", fill="#555555"))
    parts += [_drawn(i, one, across, up) for i, one in enumerate(series)]
    parts += _named(series, up)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}" role="img" font-family="sans-serif" font-size="12">'
        f"<title>{escape(title)}</title>"
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>' + "\n".join(parts) + "</svg>\n"
    )


def _scale(
    low: float, high: float, start: float, end: float, bend: Callable[[float], float]
) -> Callable[[float], float]:
    width = (bend(high) - bend(low)) or 1.0
    return lambda value: start + (end - start) * (bend(value) - bend(low)) / width


def _round_steps(low: float, high: float) -> list[float]:
    """About five round numbers that span a range."""
    rough = (high - low) / 5 or 1.0
    ten = 10 ** math.floor(math.log10(rough))
    step = next(size * ten for size in (1, 2, 5, 10) if size * ten >= rough)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(n * step, 10) for n in range(first, last + 1)]


def _steps_of_ten(values: Sequence[float]) -> list[float]:
    """1, 2 and 5 times the powers of ten inside a range."""
    low, high = min(values), max(values)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [size * 10.0**p for p in powers for size in (1, 2, 5) if low <= size * 10.0**p <= high]


def _drawn(
    i: int, one: Series, across: Callable[[float], float], up: Callable[[float], float]
) -> str:
    places = [(across(x), up(y)) for x, y in one.points]
    colour = COLOURS[i % len(COLOURS)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dashes = ' stroke-dasharray="6 4"' if one.dashed else ""
    drawn = f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>'
    if not one.dashed:
        drawn += "".join(_mark(SHAPES[i % len(SHAPES)], x, y, colour) for x, y in places)
    return drawn


def _mark(shape: str, x: float, y: float, colour: str) -> str:
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'
    turn = f' transform="rotate(45 {x:.1f} {y:.1f})"' if shape == "diamond" else ""
    return f'<rect x="{x - 3:.1f}" y="{y - 3:.1f}" width="6" height="6" fill="{colour}"{turn}/>'


def _named(series: Sequence[Series], up: Callable[[float], float]) -> list[str]:
    """The names at the ends of the lines, moved apart where these meet."""
    ends = sorted((up(one.points[-1][1]), i) for i, one in enumerate(series))
    places: list[float] = []
    for y, _ in ends:
        places.append(max(y, places[-1] + 15) if places else y)
    over = max(0.0, places[-1] - BOTTOM)
    return [
        _text(RIGHT + 10, y - over + 4, series[i].name, fill=COLOURS[i % len(COLOURS)])
        for y, (_, i) in zip(places, ends, strict=True)
    ]


def _text(
    x: float, y: float, text: str, *, anchor: str = "start", fill: str = "#222222", weight: str = ""
) -> str:
    bold = f' font-weight="{weight}"' if weight else ""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} fill="{fill}"{bold}>{escape(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    place = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {place} stroke="{colour}"/>'
