"""How a masked column turns its values into what is shown.

A recoding is all that is left of a search when it ends. It masks the table it was learnt on, later
rows of the same kind, and can be kept as JSON beside a release.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from reticent.data.columns import Column, relabelled
from reticent.data.encode import MISSING, Domain
from reticent.data.scales import Scale, interval_ends, scale_of
from reticent.data.taxonomy import Taxonomy
from reticent.data.texts import shortest
from reticent.errors import InputError


@dataclass(frozen=True, slots=True)
class Interval:
    """A run of points that is shown as one label."""

    low: Any  # on the column's scale
    high: Any
    closed: bool  # whether `high` belongs to it
    label: str


@dataclass(frozen=True, slots=True)
class Recoding:
    """What each value of one column is shown as."""

    column: str
    mask: str
    labels: Mapping[str, str]  # value → label; empty for intervals
    intervals: tuple[Interval, ...]  # rising
    kind: str  # what intervals are of: number, date or timestamp; else "text"
    missing: str | None  # how a missing value is shown; None: as `other`
    other: str | None  # how a value not foreseen is shown; None: it is an error
    decimal: str = "."
    date_format: str | None = None

    def apply(self, column: Column) -> tuple[Column, int]:
        """Mask a column; also says how many rows held a value not foreseen."""
        shown, strange = self._intervals(column) if self.intervals else self._values(column)
        rows = int(np.isin(column.codes, strange).sum()) if strange else 0
        return relabelled(column, shown, pa.large_string()), rows

    def _values(self, column: Column) -> tuple[list[str | None], list[int]]:
        shown: list[str | None] = []
        strange = []
        for code, text in enumerate(column.texts()):
            label = self._missing() if text is None else self._label(text)
            if label is None and text is not None:
                label = self.other
                if self.mask != "suppress":  # there, hidden values and new ones look alike
                    strange.append(code)
            shown.append(label or None)
        if strange and self.other is None:
            texts = column.texts()
            raise InputError(
                f"{len(strange)} values have no place in the taxonomy{column.seen(strange)}",
                where=f'column "{self.column}"',
                do="correct them, or release again with a taxonomy that covers them.",
                values=tuple(str(texts[code]) for code in strange),
            )
        return shown, strange

    def _label(self, text: str) -> str | None:
        label = self.labels.get(text)
        return self.labels.get(shortest(text)) if label is None else label

    def _intervals(self, column: Column) -> tuple[list[str | None], list[int]]:
        scale = scale_of(column, decimal=self.decimal, date_format=self.date_format)
        if scale.kind != self.kind and len(scale.points):
            raise InputError(
                f"this column holds {scale.kind}s where {self.kind}s were masked before",
                where=f'column "{self.column}"',
            )
        at = _places(scale.points, [interval.low for interval in self.intervals])
        points = scale.points.tolist()  # Python compares numbers of all kinds exactly
        shown: list[str | None] = []
        strange = []
        for code, rank in enumerate(scale.rank.tolist()):
            if rank < 0:
                shown.append(self._missing() or None)
                continue
            interval, point = self.intervals[at[rank]], points[rank]
            reaches = point < interval.high or (interval.closed and point == interval.high)
            if at[rank] >= 0 and reaches:
                shown.append(interval.label)
            else:
                strange.append(code)
                shown.append(self.other)
        return shown, strange

    def _missing(self) -> str | None:
        return self.other if self.missing is None else self.missing

    def plain(self) -> dict[str, Any]:
        """The recoding as JSON holds it."""
        told = {name: getattr(self, name) for name in _told()}
        intervals = [[i.low, i.high, i.closed, i.label] for i in self.intervals]
        return told | {"labels": dict(self.labels), "intervals": intervals}

    @classmethod
    def from_plain(cls, column: str, plain: Mapping[str, Any]) -> Recoding:
        """The recoding that `plain` gave."""
        intervals = tuple(Interval(*interval) for interval in plain["intervals"])
        told = {name: plain[name] for name in _told()} | {"intervals": intervals}
        return cls(column, **told)


def _told() -> list[str]:
    """What JSON holds of a recoding: all but the column, which it stands under."""
    return [field.name for field in fields(Recoding) if field.name != "column"]


def read_off(
    domain: Domain,
    shown: Collection[str],
    *,
    taxonomy: Taxonomy | None = None,
    decimal: str = ".",
    date_format: str | None = None,
) -> Recoding:
    """How a column must have been recoded, from the labels that its release shows.

    A missing cell is shown as the empty label. Where labels leave a value no place, the recoding
    shows it as None or calls it unforeseen: the release is none of this table then.
    """
    missing = MISSING if MISSING in shown else domain.marker
    if taxonomy is not None:
        above: set[str] = set()  # labels that were opened: those above the lowest one shown
        for row in taxonomy.rows():
            lowest = next((i for i, label in enumerate(row) if label in shown), len(row))
            above.update(row[lowest + 1 :])
        labels: dict[str, str] = {}
        for row in taxonomy.rows():  # the first label from the root that was not opened
            label = next(label for label in (*reversed(row), row[0]) if label not in above)
            labels |= {shortest(row[0]): label, row[0]: label}
        root = taxonomy.labels[0]
        missing = MISSING if MISSING in shown else root
        return Recoding(domain.name, domain.mask, labels, (), "text", missing, None)
    if domain.scale is None:
        disclosed = {value: value for value in domain.leaves if value and value in shown}
        return Recoding(domain.name, domain.mask, disclosed, (), "text", missing, domain.marker)
    intervals = [
        _interval(label, domain.scale) for label in shown if label not in (MISSING, domain.marker)
    ]
    found = sorted((i for i in intervals if i is not None), key=lambda interval: interval.low)
    return Recoding(
        domain.name, domain.mask, {}, tuple(found), domain.scale.kind, missing, domain.marker,
        decimal, date_format,
    )  # fmt: skip


def at_values(recoding: Recoding, scale: Scale) -> Recoding:
    """The same intervals with every border between two of them at the next value that occurs.

    That is where the search cut, wherever the border is printed.
    """
    lows = [interval.low for interval in recoding.intervals[1:]]
    inner = scale.points[np.searchsorted(scale.points, lows)].tolist()
    first, last = recoding.intervals[0], recoding.intervals[-1]
    moved = zip(recoding.intervals, [first.low, *inner], [*inner, last.high], strict=True)
    return replace(
        recoding, intervals=tuple(replace(i, low=low, high=high) for i, low, high in moved)
    )


def _interval(label: str, scale: Scale) -> Interval | None:
    """An interval from its label, such as ``[20,35)``; None if it is none of this scale."""
    ends = interval_ends(label)
    if ends is None:
        return None
    try:
        return Interval(_end(ends[0], scale), _end(ends[1], scale), ends[2], label)
    except ValueError:
        return None


def _end(text: str, scale: Scale) -> Any:
    if scale.kind != "number":
        return scale.read(text)
    if not re.fullmatch(r"-?\d+(\.\d+)?(e[+-]?\d+)?", text):  # not "nan", say
        raise ValueError("no number")
    return int(text) if text.lstrip("-").isdigit() else float(text)


def _places(points: NDArray[Any], lows: Sequence[Any]) -> Any:
    """In which interval each point lies: the last whose low end is not above it; -1 if none.

    NumPy compares whole numbers with fractions as floats, which beyond 2**53 is not exact; Python
    compares them exactly.
    """
    if len({type(low) for low in lows}) == 1 and points.dtype != object:
        bounds = np.array(lows)
        if bounds.dtype == points.dtype:
            return np.searchsorted(bounds, points, side="right") - 1
    return [bisect_right(lows, point) - 1 for point in points.tolist()]


def as_python(point: Any) -> Any:
    """NumPy's numbers as Python's."""
    return point.item() if isinstance(point, np.generic) else point
