"""Taxonomies made from the values of a column: by prefix, by date, by intervals.

The values are people's, so messages count them and show none.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from fractions import Fraction
from itertools import groupby, pairwise

from reticent.data.scales import has_year
from reticent.data.taxonomy import Taxonomy, from_rows, refuse
from reticent.data.texts import number_text


def by_prefix(
    values: Iterable[str], lengths: Sequence[int], root: str = "*", pad: str = "*"
) -> Taxonomy:
    """Group codes by their first characters, padded to the length of the longest code.

    >>> by_prefix(["01234", "01277", "09999"], [1, 3]).rows()[0]
    ('01234', '012**', '0****', '*')
    """
    if not lengths or min(lengths) < 1 or len(pad) != 1:
        refuse("prefixes need lengths from 1 up, and one character to pad with")
    texts = _distinct(values)
    # One width for all: padded to the length of each code, one prefix would be several nodes.
    width = max(map(len, texts))
    cuts = sorted(set(lengths), reverse=True)
    rows = [[text, *(text[:cut].ljust(width, pad) for cut in cuts), root] for text in texts]
    return _made(rows, "choose another root or padding")


def by_date(values: Iterable[str], date_format: str | None = None, root: str = "*") -> Taxonomy:
    """Group days by month and year, and timestamps first by day.

    >>> by_date(["2024-05-01T08:30", "2024-05-01T09:15"]).rows()[0]
    ('2024-05-01T08:30', '2024-05-01', '2024-05', '2024', '*')
    >>> by_date(["31.12.1999"], "%d.%m.%Y").rows()
    [('31.12.1999', '1999-12', '1999', '*')]
    """
    if date_format is not None and not has_year(date_format):
        refuse(f'the date format "{date_format}" has no year')
    texts = _distinct(values)
    days = {text: _day(text, date_format) for text in texts}
    bad = [text for text in texts if days[text] is None]
    if bad:
        form = f'of the form "{date_format}"' if date_format else "in ISO form"
        refuse(f"{len(bad)} of the {len(texts)} values are no dates {form}", values=bad)
    # A day written in another way gets no second name: a node with one child is a wasted step.
    rows = [
        [text, *([day] if timed else []), day[:7], day[:4], root]
        for (day, timed), text in sorted((day, text) for text, day in days.items() if day)
    ]
    return _made(rows, "write all values as days or all as times, or choose another root")


def by_bins(values: Iterable[str], edges: Sequence[str | float], decimal: str = ".") -> Taxonomy:
    """Group numbers by the intervals between edges; intervals without a value are left out.

    >>> by_bins(["17", "18", "70"], [0, 18, 65, 120.0]).rows()[1]
    ('18', '[18,65)', '[0,120]')
    """
    read = [_number(str(edge), decimal if isinstance(edge, str) else ".") for edge in edges]
    bounds = [bound for bound in read if bound is not None]
    if not 2 <= len(bounds) == len(edges) or any(low >= high for low, high in pairwise(bounds)):
        refuse("edges must be at least two numbers, each larger than the one before")
    numbers = _numbers(values, decimal)
    outside = [text for number, text in numbers if not bounds[0] <= number <= bounds[-1]]
    if outside:
        what = f"{len(outside)} of the {len(numbers)} values lie outside {_interval(bounds)}"
        refuse(what, do="widen the first or the last edge", values=outside)
    return _binned(numbers, bounds)


def by_equal(values: Iterable[str], count: int, decimal: str = ".") -> Taxonomy:
    """Group numbers by `count` intervals of equal width between the smallest and the largest.

    These two are data and become part of labels; the edges of `by_bins` need not be.

    >>> [row[1] for row in by_equal(["0", "2", "5"], 2).rows()]
    ['[0,2.5)', '[0,2.5)', '[2.5,5]']
    """
    if count < 1:
        refuse("there must be at least one interval")
    numbers = _numbers(values, decimal)
    low, high = (Fraction(repr(number)) for number, _ in (numbers[0], numbers[-1]))
    # Exact until the last moment: adding up a float step would print 0.30000000000000004.
    exact = (low + (high - low) * step / count for step in range(count + 1))
    bounds = sorted({int(edge) if edge.denominator == 1 else float(edge) for edge in exact})
    return _binned(numbers, bounds if len(bounds) > 1 else bounds * 2)


def _number(text: str, decimal: str) -> float | None:
    # Whole numbers stay int: as floats, large ones would fall together.
    text = text.strip() if decimal == "." else text.strip().replace(".", "?").replace(decimal, ".")
    if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text, re.ASCII):
        return None
    number = float(text)
    return None if math.isinf(number) else int(text) if text.lstrip("+-").isdigit() else number


def _numbers(values: Iterable[str], decimal: str) -> list[tuple[float, str]]:
    texts = _distinct(values)
    numbers = [(_number(text, decimal), text) for text in texts]
    bad = [text for number, text in numbers if number is None]
    if bad:
        refuse(f"{len(bad)} of the {len(texts)} values are no numbers", values=bad)
    return sorted((number, text) for number, text in numbers if number is not None)


def _day(text: str, date_format: str | None) -> tuple[str, bool] | None:
    """Read the day of a date or timestamp, in ISO form, and whether it has a time as well."""
    try:
        if date_format is not None:
            timed = re.search("%[HIpMSfcX]", date_format) is not None
            return datetime.strptime(text, date_format).date().isoformat(), timed
        try:
            return date.fromisoformat(text).isoformat(), False
        except ValueError:
            return datetime.fromisoformat(text).date().isoformat(), True
    except (ValueError, re.error):  # strptime builds a pattern, and not every format makes one
        return None


def _distinct(values: Iterable[str]) -> list[str]:
    texts = sorted(set(values))  # sorted, so that the order of rows does not show
    if not texts or not texts[0]:
        refuse("a taxonomy is made of at least one value, and of none that is missing")
    return texts


def _binned(numbers: list[tuple[float, str]], bounds: Sequence[float]) -> Taxonomy:
    bins = [_interval(pair, ")") for pair in pairwise(bounds)]
    bins[-1] = _interval(bounds[-2:])
    places = [min(bisect_right(bounds, number), len(bins)) - 1 for number, _ in numbers]
    root = _interval(bounds)
    rows = [[text, bins[at], root] for at, (_, text) in zip(places, numbers, strict=True)]
    return from_rows(rows, "intervals")


def _interval(bounds: Sequence[float], close: str = "]") -> str:
    return f"[{number_text(bounds[0])},{number_text(bounds[-1])}{close}"


def _made(rows: list[list[str]], do: str) -> Taxonomy:
    # Checked here, because what `from_rows` says of a clash would show the value.
    root = rows[0][-1]
    if not root or any(root in row[1:-1] for row in rows):
        refuse("the root needs a label that no group has", do="choose another root")
    paths = [[label for label, _ in groupby(row)] for row in rows]
    groups = {label for path in paths for label in path[1:]} | {root}
    clash = [path[0] for path in paths if path[0] in groups]
    if clash:
        what = f"{len(clash)} of the {len(rows)} values are also the label of a group"
        refuse(what, do=do, values=clash)
    return from_rows(paths, "values")
