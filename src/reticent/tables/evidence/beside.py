"""Every masked column before and after: its values beside what is shown of them.

What is told here stood in the table as it was, so it is for the owner's eyes alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from reticent.data.columns import Column
from reticent.data.decimals import comma_interval
from reticent.data.encode import MISSING, Domain
from reticent.data.recode import Recoding
from reticent.data.scales import Scale, interval_ends, kind_of, scale_of
from reticent.errors import InputError
from reticent.pages.charts import Pair
from reticent.tables.evidence.aligned import AlignedRows
from reticent.tables.evidence.loss import hidden, share_shown
from reticent.tables.prepare import Prepared

Kind = Literal["value", "more", "hidden", "missing"]
_BINS = 40  # of the values as they were
_MOST_GROUPS = 10  # of what is shown
_MOST_PARTS = 15  # values as they were, over all groups
_PARTS = 4  # of one group
_CROWDED = 0.5  # of the records at one value: then a picture to scale would show only that
_DAY = 86_400_000_000  # microseconds
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")


@dataclass(frozen=True, slots=True)
class Centre:
    """The middle of a column and how far its values spread around it."""

    mean: float
    spread: float  # the standard deviation
    median: float
    records: int  # that have a number


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of values as they were, and the intervals that are shown, on one axis."""

    edges: Sequence[float]
    counts: Sequence[int]  # counts[i]: records from edges[i] to edges[i + 1]
    steps: Sequence[tuple[float, float, int, str]]  # from, to, records, label


@dataclass(frozen=True, slots=True)
class ColumnBeside:
    """A masked column before and after."""

    name: str
    mask: str
    records: int
    shows: float  # the share of what it told
    hidden: int  # records that show nothing
    missing: tuple[int, int]  # records without a value, before and after
    values: int  # distinct values before
    groups: int  # and after
    scale: Scale | None
    centres: tuple[Centre, Centre | None] | None  # of numbers and dates
    rows: tuple[Pair, ...] = ()
    histogram: Histogram | None = None
    of_all: Centre | None = None  # of the whole table, where records are left out of the release

    def point(self, value: float) -> str:
        """A number on the column's scale, as people read it."""
        assert self.scale is not None
        if self.scale.kind == "number":
            return number_text(value)
        return self.scale.label(round(value)).partition("T")[0]

    @property
    def whole(self) -> bool:
        """Whether it is of whole numbers, or of days."""
        return self.scale is not None and is_whole(self.scale)

    def length(self, value: float) -> str:
        """A distance on the column's scale."""
        assert self.scale is not None
        if self.scale.kind == "number":
            return number_text(value)
        days = value if self.scale.kind == "date" else value / _DAY
        return f"{number_text(days)} days"


def is_whole(scale: Scale) -> bool:
    """Whether a column can only have whole numbers, or days, between the ends of an interval."""
    points = _floats(scale.points.tolist()) if scale.kind != "timestamp" else None
    return points is not None and bool((points == np.floor(points)).all())


def number_text(value: float) -> str:
    """A measured number to four significant digits.

    >>> number_text(38.5816), number_text(1077.6), number_text(0.000123456)
    ('38.58', '1,078', '0.0001235')
    """
    if not value:
        return "0"
    digits = 3 - math.floor(math.log10(abs(value)))
    if digits > 9 or digits < -12:
        return f"{value:.4g}"
    told = f"{round(value, max(digits, 0)):,.{max(digits, 0)}f}"
    return told.rstrip("0").rstrip(".") if "." in told else told


def beside(masked: AlignedRows, whole: Prepared | None = None) -> tuple[ColumnBeside, ...]:
    """Every masked column before and after, in tie order.

    Both sides are of the records that are released; `whole` is the table with those left out.
    """
    prepared = masked.prepared
    found: Iterable[ColumnBeside] = (
        _beside(domain, prepared.cleaned.columns[domain.name], masked.columns[domain.name],
                masked.recodings[domain.name], prepared.form(domain.name))
        for domain in prepared.domains
    )  # fmt: skip
    if whole is not None and whole.table.rows > prepared.table.rows:
        found = (replace(one, of_all=_of_all(one, whole)) for one in found)
    commas = prepared.policy.writing.decimal == ","
    return tuple(_with_commas(one) if commas else one for one in found)


def _of_all(column: ColumnBeside, whole: Prepared) -> Centre | None:
    """The middle of a column of the whole table."""
    if column.centres is None or column.scale is None:
        return None
    cells = whole.cleaned.columns[column.name]
    try:
        scale = scale_of(cells, **whole.form(column.name))
    except InputError:  # what is left out may be no number
        return None
    points = _floats(scale.points.tolist()) if scale.kind == column.scale.kind else None
    return None if points is None else _centre(points, _of_points(scale, cells))


def _with_commas(column: ColumnBeside) -> ColumnBeside:
    """A column whose intervals are named as a file with decimal commas does."""
    if column.mask != "discretize":
        return column
    rows = tuple(replace(row, label=comma_interval(row.label)) for row in column.rows)
    drawn = column.histogram
    if drawn is not None:
        steps = [(a, b, count, comma_interval(label)) for a, b, count, label in drawn.steps]
        drawn = replace(drawn, steps=steps)
    return replace(column, rows=rows, histogram=drawn)


def _beside(
    domain: Domain, before: Column, after: Column, recoding: Recoding, form: Mapping[str, Any]
) -> ColumnBeside:
    scale = domain.scale
    if scale is None and kind_of(before, **form) in ("number", "date", "timestamp"):
        with suppress(InputError):
            scale = scale_of(before, **form)
    histogram = _histogram(domain, after, recoding) if len(after.values) > 1 else None
    return ColumnBeside(
        domain.name,
        domain.mask,
        len(before.codes),
        share_shown(domain.codes, after.codes),
        hidden(domain, after),
        (_missing(before), _missing(after)),
        len(before.values) - before.values.null_count,
        len(after.values) - after.values.null_count,
        scale,
        _centres(domain, scale, before, after, recoding),
        () if histogram else tuple(_rows(domain, before, after, recoding)),
        histogram,
    )


def _missing(column: Column) -> int:
    gap = column.missing
    return 0 if gap is None else int((column.codes == gap).sum())


# --- groups and their values ---------------------------------------------------------------------


def _rows(domain: Domain, before: Column, after: Column, recoding: Recoding) -> Iterator[Pair]:
    """What is shown, the largest first or as numbers rise, and the commonest values of each."""
    labels = [MISSING if text is None else text for text in after.texts()]
    texts = [MISSING if text is None else text for text in before.texts()]
    values: dict[str, dict[str, int]] = {}
    pairs = before.codes.astype(np.int64) * len(labels) + after.codes
    found, counts = np.unique(pairs, return_counts=True)
    for pair, count in zip(found.tolist(), counts.tolist(), strict=True):
        value, label = divmod(pair, len(labels))
        values.setdefault(labels[label], {})[texts[value]] = count
    nothing = {domain.marker, domain.root.label if domain.root else domain.marker}
    last = [label for label in values if label in nothing or label == MISSING]
    place = {interval.label: at for at, interval in enumerate(recoding.intervals)}
    order = sorted(
        values.keys() - last,
        key=lambda label: (place.get(label, 0), -sum(values[label].values()), label),
    )
    groups = max(min(len(order) + len(last), _MOST_GROUPS), 1)
    parts = min(max(_MOST_PARTS // groups, 1), _PARTS)
    for label in order[:_MOST_GROUPS]:
        yield from _group(label, values[label], parts, "value")
    if rest := order[_MOST_GROUPS:]:
        records = sum(sum(values[label].values()) for label in rest)
        yield Pair(f"{len(rest):,} more", 0, records, records, "more")
    for label in sorted(last, reverse=True):
        kind: Kind = "missing" if label == MISSING else "hidden"
        yield from _group(label, values[label], parts if kind == "hidden" else 0, kind)


def _group(label: str, values: Mapping[str, int], parts: int, kind: Kind) -> Iterator[Pair]:
    records = sum(values.values())
    if [*values] == [label]:  # a value that is shown as it is
        yield Pair(label, 0, records, records, kind)
        return
    yield Pair(label, 0, None, records, kind)
    order = sorted(values, key=lambda value: (-values[value], value))
    if len(order) == parts + 1:  # "1 more" takes the same room
        parts += 1
    for value in order[:parts]:
        yield Pair(value, 1, values[value], None, "missing" if value == MISSING else "value")
    if rest := order[parts:]:
        held = sum(values[value] for value in rest)
        yield Pair(f"{len(rest):,} more", 1, held, None, "more")


# --- numbers and dates ---------------------------------------------------------------------------


def _floats(points: Sequence[Any]) -> NDArray[np.float64] | None:
    """Points as floats; None where those run out."""
    try:
        found = np.array([float(point) for point in points])
    except (OverflowError, TypeError, ValueError):
        return None
    return found if np.isfinite(found).all() and np.abs(found).max(initial=0) < 1e150 else None


def _of_points(scale: Scale, column: Column) -> NDArray[np.int64]:
    """How many records stand at each point."""
    counts = np.bincount(column.codes, minlength=len(column.values))
    present = scale.rank >= 0
    found = np.zeros(len(scale.points), np.int64)
    np.add.at(found, scale.rank[present], counts[present])
    return found


def _histogram(domain: Domain, after: Column, recoding: Recoding) -> Histogram | None:
    """Values and intervals on one axis, unless nearly all would stand at one place."""
    scale, ends = domain.scale, domain.ends
    if scale is None or ends is None or not recoding.intervals:
        return None
    intervals = [(i.low, i.high) for i in recoding.intervals]
    points = _floats(scale.points.tolist())
    bounds = _floats([*ends, *(end for pair in intervals for end in pair)])
    if points is None or bounds is None or len(points) < 2:
        return None
    counts = np.bincount(domain.codes, minlength=len(points))[: len(points)]
    low, high = bounds.min(), max(bounds.max(), points[-1])
    if counts.max() > _CROWDED * counts.sum() or not high > low:
        return None
    whole = scale.kind != "timestamp" and bool((points == np.floor(points)).all())
    if whole and high - low < _BINS:  # a bar a number
        edges = np.arange(low, high + 2)
    else:
        edges = np.linspace(low, high, _BINS + 1)
    bars, _ = np.histogram(points, edges, weights=counts)
    if bars.max() > _CROWDED * counts.sum():
        return None
    shown = dict(zip(after.texts(), np.bincount(after.codes).tolist(), strict=True))
    steps = [
        (float(i.low), max(float(i.high), float(i.low)), shown.get(i.label, 0), i.label)
        for i in recoding.intervals
    ]
    return Histogram(edges.tolist(), [round(bar) for bar in bars], steps)


def _centres(
    domain: Domain, scale: Scale | None, before: Column, after: Column, recoding: Recoding
) -> tuple[Centre, Centre | None] | None:
    """Mean, spread and median before, and as far as what is shown has numbers, after."""
    points = None if scale is None else _floats(scale.points.tolist())
    if scale is None or points is None or not len(points):
        return None
    nothing = {domain.marker, domain.root.label if domain.root else domain.marker}
    whole = is_whole(scale)
    own = dict(zip(before.texts(), scale.rank.tolist(), strict=True))
    shown = {
        text: float(points[own[text]])
        if own.get(text, -1) >= 0
        else _middle(text, scale, recoding, whole)
        for text in after.texts()
        if text and text not in nothing
    }
    if domain.mask == "generalize" and any(value is None for value in shown.values()):
        return None  # digits of codes, say: their labels are no numbers
    texts = after.texts()
    at = [code for code, text in enumerate(texts) if shown.get(text or "") is not None]
    counts = np.bincount(after.codes, minlength=len(texts))[at]
    middles = np.array([shown[texts[code] or ""] for code in at], float)
    first = _centre(points, _of_points(scale, before))
    return first, _centre(middles, counts) if len(at) > 1 else None


def _middle(label: str, scale: Scale, recoding: Recoding, whole: bool) -> float | None:
    """The number that a label stands for: itself, or the middle of an interval."""
    for interval in recoding.intervals:
        if interval.label == label:
            return _halfway(interval.low, interval.high, interval.closed, whole)
    ends = interval_ends(label)
    values = [_value(end, scale) for end in (ends[:2] if ends else (label,))]
    told = [value for value in values if value is not None]
    if len(told) < len(values):
        return None
    return _halfway(told[0], told[-1], ends[2] if ends else True, whole)


def _halfway(low: Any, high: Any, closed: bool, whole: bool) -> float:
    """The middle of an interval, or of the whole numbers in it: of [0,3) they are 0, 1 and 2.

    >>> _halfway(0, 3, False, True), _halfway(0, 3, True, True), _halfway(0, 3, False, False)
    (1.0, 1.5, 1.5)
    """
    if whole and math.isfinite(low) and math.isfinite(high):
        first, last = math.ceil(low), math.floor(high) if closed else math.ceil(high) - 1
        if first <= last:
            return float(first + last) / 2
    return float((low + high) / 2)


def _value(text: str, scale: Scale) -> float | None:
    if scale.kind == "number":
        return float(text) if _NUMBER.fullmatch(text) else None
    try:
        return float(scale.read(text))
    except ValueError:
        return None


def _centre(points: NDArray[np.float64], counts: NDArray[np.int64]) -> Centre:
    total = int(counts.sum())
    mean = float((points * counts).sum() / total)
    spread = math.sqrt(max(float((counts * (points - mean) ** 2).sum() / total), 0.0))
    order = np.argsort(points, kind="stable")
    up_to = np.cumsum(counts[order])
    middle = [
        points[order][np.searchsorted(up_to, at)] for at in ((total + 1) // 2, total // 2 + 1)
    ]
    return Centre(mean, spread, float(sum(middle) / 2), total)
