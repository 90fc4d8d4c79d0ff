"""Taxonomies made from the values of a column: by prefix, by date, by intervals, or to fill in.

Intervals may have several levels; every border of a coarser level is one of the finer level. The
values are people's, so messages count them and show none.
"""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from fractions import Fraction
from itertools import groupby, pairwise

from reticent.data.scales import has_year
from reticent.data.taxonomy import UNASSIGNED, Taxonomy, from_rows, refuse
from reticent.data.texts import number_text
from reticent.errors import listed

_MOST_BINS = 10_000  # intervals of one level


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
        do = "tell another --date-format" if date_format else "tell --date-format, as %d.%m.%Y"
        refuse(f"{len(bad)} of the {len(texts)} values are no dates {form}", do=do, values=bad)
    # A day written in another way gets no second name: a node with one child is a wasted step.
    rows = [
        [text, *([day] if timed else []), day[:7], day[:4], root]
        for (day, timed), text in sorted((day, text) for text, day in days.items() if day)
    ]
    return _made(rows, "write all values as days or all as times, or choose another root")


def by_bins(
    values: Iterable[str],
    edges: Sequence[str | float],
    decimal: str = ".",
    *,
    coarser: Sequence[Sequence[str | float]] = (),
    levels: int = 1,
) -> Taxonomy:
    """Group numbers by the intervals between edges; intervals without a value are left out.

    `coarser`: edges of the levels above; or so many `levels`, each of two neighbours of the finer.

    >>> by_bins(["17", "18", "70"], [0, 18, 65, 120.0]).rows()[1]
    ('18', '[18,65)', '[0,120]')
    >>> by_bins(["17", "70"], [0, 18, 30, 65, 120], coarser=[[0, 30, 120]]).rows()[0]
    ('17', '[0,18)', '[0,30)', '[0,120]')
    """
    steps = [_bounds(level, decimal) for level in (edges, *coarser)]
    steps.sort(key=len, reverse=True)
    bounds = steps[0]
    for finer, other in pairwise(steps):
        _refuse_crossing(finer, other)
    numbers = _numbers(values, decimal)
    outside = [text for number, text in numbers if not bounds[0] <= number <= bounds[-1]]
    if outside:
        what = f"{len(outside)} of the {len(numbers)} values lie outside {_interval(bounds)}"
        refuse(what, do="widen the first or the last edge", values=outside)
    return _binned(numbers, _stepped(steps, levels))


def by_equal(
    values: Iterable[str],
    count: int,
    decimal: str = ".",
    *,
    coarser: Sequence[int] = (),
    levels: int = 1,
) -> Taxonomy:
    """Group numbers by `count` intervals of equal width between the smallest and the largest.

    These two are data and become part of labels; the edges of `by_bins` need not be. `coarser`:
    how many intervals the levels above have; each number divides the one before.

    >>> [row[1] for row in by_equal(["0", "2", "5"], 2).rows()]
    ['[0,2.5)', '[0,2.5)', '[2.5,5]']
    >>> by_equal(["0", "2", "8"], 4, coarser=[2]).rows()[1]
    ('2', '[2,4)', '[0,4)', '[0,8]')
    """
    counts = sorted({count, *coarser}, reverse=True)
    if counts[-1] < 1:
        refuse("there must be at least one interval")
    for finer, other in pairwise(counts):
        if finer % other:
            refuse(
                f"{finer} intervals of equal width do not make {other}: some would be cut",
                do="let each number divide the one before, as 20,10,5",
            )
    numbers = _numbers(values, decimal)
    low, high = (Fraction(repr(number)) for number, _ in (numbers[0], numbers[-1]))
    # Exact until the last moment: adding up a float step would print 0.30000000000000004.
    steps = []
    for parts in counts:
        exact = (low + (high - low) * step / parts for step in range(parts + 1))
        bounds = sorted({_shortest(edge) for edge in exact})
        steps.append(bounds if len(bounds) > 1 else bounds * 2)
    return _binned(numbers, _stepped(steps, levels))


def by_width(
    values: Iterable[str],
    widths: Sequence[str | float],
    decimal: str = ".",
    *,
    levels: int = 1,
) -> Taxonomy:
    """Group numbers by intervals of some width; several widths make levels, each a multiple.

    Borders are multiples of the widths, the outermost ones of the widest: they are nobody's values.

    >>> by_width(["17", "34", "52"], [5, 20]).rows()[1]
    ('34', '[30,35)', '[20,40)', '[0,60]')
    """
    read = [_number(str(width), decimal if isinstance(width, str) else ".") for width in widths]
    wide = sorted({Fraction(repr(width)) for width in read if width is not None})
    if not wide or None in read or wide[0] <= 0:
        refuse("widths are numbers above 0")
    for finer, other in pairwise(wide):
        if (other / finer).denominator > 1:
            refuse(
                f"{number_text(_shortest(other))} is no multiple of "
                f"{number_text(_shortest(finer))}, so intervals would be cut",
                do="let each width be a multiple of the one before, as 5,10,50",
            )
    numbers = _numbers(values, decimal)
    least, most = (Fraction(repr(number)) for number, _ in (numbers[0], numbers[-1]))
    low = math.floor(least / wide[-1]) * wide[-1]
    high = max(math.ceil(most / wide[-1]) * wide[-1], low + wide[-1])
    if (high - low) / wide[0] > _MOST_BINS:
        refuse(f"there would be more than {_MOST_BINS:,} intervals", do="choose a larger width")
    steps = []
    for width in wide:
        parts = int((high - low) / width)
        steps.append([_shortest(low + width * step) for step in range(parts + 1)])
    return _binned(numbers, _stepped(steps, levels))


def skeleton(
    values: Iterable[str], levels: int = 1, root: str = "*", keep: Taxonomy | None = None
) -> list[list[str]]:
    """Rows to be filled in: each value, by name, with a mark where its groups belong.

    The mark is ?, or more of them where a value is called so, and in the same way the root. How
    often a value occurs shows nowhere. `keep`: rows that are filled in already come first, as they
    are, with their root.

    >>> skeleton(["nurse", "Arzt", "nurse"])
    [['Arzt', '?', '*'], ['nurse', '?', '*']]
    >>> skeleton(["nurse", "Arzt"], keep=from_rows([["nurse", "care", "any"]], "example"))
    [['nurse', 'care', 'any'], ['Arzt', '?', 'any']]
    """
    if levels < 1:
        refuse("there must be at least one level of groups")
    there = [] if keep is None else [[*row] for row in keep.rows()]
    values = [*values]
    while keep is None and root in values:
        root += "*"
    root = root if keep is None else keep.labels[0]
    known = {} if keep is None else keep.leaf_of
    texts = [text for text in _distinct(values) if text not in known]
    groups = {root, *(() if keep is None else keep.labels)}
    if clash := [text for text in texts if text in groups]:
        what = f"{len(clash)} of the values {'is' if len(clash) == 1 else 'are'} also the label of"
        refuse(
            f"{what} a group or of the root", do="rename the group in what is kept", values=clash
        )
    numbers = {text: _number(text, ".") for text in texts}
    if all(number is not None for number in numbers.values()):
        texts.sort(key=lambda text: (numbers[text], text))
    else:
        texts.sort(key=lambda text: (_plain(text), text))
    mark = UNASSIGNED
    while mark in numbers or mark in known:
        mark += UNASSIGNED
    return there + [[text, *[mark] * levels, root] for text in texts]


def _plain(text: str) -> str:
    """A text as people look for it: Äpfel stand beside Apfel."""
    spelt = unicodedata.normalize("NFKD", text)
    return "".join(sign for sign in spelt if not unicodedata.combining(sign)).casefold()


def _bounds(edges: Sequence[str | float], decimal: str) -> list[float]:
    read = [_number(str(edge), decimal if isinstance(edge, str) else ".") for edge in edges]
    bounds = [bound for bound in read if bound is not None]
    if not 2 <= len(bounds) == len(edges) or any(low >= high for low, high in pairwise(bounds)):
        refuse("edges must be at least two numbers, each larger than the one before")
    return bounds


def _refuse_crossing(finer: Sequence[float], coarser: Sequence[float]) -> None:
    """Intervals that stand above others hold them whole."""
    known = {*finer}
    strange = [number_text(bound) for bound in coarser if bound not in known]
    ends = [number_text(finer[i]) for i in (0, -1) if finer[i] != coarser[i]]
    if strange:
        refuse(
            f"intervals would be cut: {listed(strange)} {'is' if len(strange) == 1 else 'are'} "
            f"among the edges of a coarser level, and not of the finer one",
            do="give each level all edges of the coarser ones",
        )
    if ends:
        refuse(
            f"a coarser level ends elsewhere: {listed(ends)} of the finer one "
            f"{'is' if len(ends) == 1 else 'are'} missing there",
            do="give all levels the same first and last edge",
        )


def _stepped(steps: list[list[float]], levels: int) -> list[list[float]]:
    """So many levels: those that are given, or each of two neighbours of the finer one."""
    if levels < 1:
        refuse("there must be at least one level of intervals")
    if levels == 1:
        return steps
    if len(steps) > 1:
        refuse("the levels are given already", do="leave out their number, or all but the finest")
    while len(steps) < levels:
        finer = steps[-1]
        if len(finer) < 4:
            refuse(
                f"there are {len(steps)} levels in it, and not {levels}: the next is all there is",
                do="give more intervals, or ask for fewer levels",
            )
        steps.append([*finer[:-1:2], finer[-1]])
    return steps


def _shortest(edge: Fraction) -> float:
    return int(edge) if edge.denominator == 1 else float(edge)


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


def _binned(numbers: list[tuple[float, str]], steps: Sequence[Sequence[float]]) -> Taxonomy:
    """A tree of intervals; `steps`: the borders of each level, the finest first."""
    root = _interval(steps[0])
    labels = []
    for bounds in steps:
        bins = [_interval(pair, ")") for pair in pairwise(bounds)]
        bins[-1] = _interval(bounds[-2:])
        labels.append(
            [bins[min(bisect_right(bounds, number), len(bins)) - 1] for number, _ in numbers]
        )
    rows = [[text, *path, root] for (_, text), *path in zip(numbers, *labels, strict=True)]
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
