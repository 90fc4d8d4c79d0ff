"""What the distinct values of a column mean: numbers, dates, times.

Text stays text until somebody asks for a scale: a ZIP code ``01234`` keeps its zero.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from reticent.data.columns import Column
from reticent.data.texts import CANONICAL, is_text, number_text
from reticent.errors import InputError, remedy

Kind = Literal["text", "boolean", "number", "date", "timestamp"]

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_DATE = r"^\d{4}-\d{2}-\d{2}$"
_TIMESTAMP = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?$"
_INTERVAL = re.compile(r"\[([^,\[\]()]+),([^,\[\]()]+)([\])])")
_LONGEST_NUMBER = 1000  # characters
_EPOCH = datetime(1970, 1, 1)
UNIX_DAY = _EPOCH.toordinal()  # of 1970-01-01, on a scale of dates


def kind_of(column: Column, *, decimal: str = ".", date_format: str | None = None) -> Kind:
    """What a column counts as when nobody said.

    That is text unless every cell is a canonical number, an ISO date or timestamp, or fits the
    date format told.
    """
    kind = column.values.type
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    if pa.types.is_date(kind):
        return "date"
    if pa.types.is_timestamp(kind):
        return "timestamp"
    present = column.values.drop_null()
    if not is_text(kind) or not len(present):
        return "text"
    canonical = CANONICAL if decimal == "." else CANONICAL.replace(r"\.", re.escape(decimal))
    if _all_match(present, canonical):
        return "number"
    if date_format or _all_match(present, _TIMESTAMP):
        if not all(_is_time(text, date_format) for text in present.to_pylist()):
            return "text"
        if date_format:  # one without a time of day gives dates
            return "timestamp" if re.search("%[HIMSfcX]", date_format) else "date"
        return "date" if _all_match(present, _DATE) else "timestamp"
    return "text"


def _all_match(values: pa.Array, pattern: str) -> bool:
    import pyarrow.compute as pc

    return bool(pc.all(pc.match_substring_regex(values, pattern)).as_py())


def has_year(date_format: str) -> bool:
    """Whether dates of a form tell their year."""
    return re.search("%[YyGcx]", date_format) is not None


def _parse_time(text: str, date_format: str | None) -> datetime:
    return datetime.strptime(text, date_format) if date_format else datetime.fromisoformat(text)


@dataclass(frozen=True, slots=True)
class Scale:
    """The distinct values of a continuous column in rising order."""

    kind: Kind
    points: NDArray[Any]  # strictly rising: numbers, days or microseconds
    rank: NDArray[np.int64]  # rank[code] is the position in `points`; -1 for missing
    zoned: bool = False  # timestamps carry an offset and are shown in UTC

    def label(self, point: Any) -> str:
        """How a point is printed as the end of an interval."""
        if self.kind == "date":
            return date.fromordinal(int(point)).isoformat()
        if self.kind == "timestamp":
            moment = _EPOCH + timedelta(microseconds=int(point))
            return moment.isoformat() + ("+00:00" if self.zoned else "")
        return number_text(point.item() if isinstance(point, np.generic) else point)

    def read(self, bound: Any) -> Any:
        """A bound written in a policy, on this scale; a ValueError says what was expected."""
        if self.kind == "number":
            if isinstance(bound, int | float) and not isinstance(bound, bool):
                return bound
            raise ValueError("a number")
        wanted = "an ISO date" if self.kind == "date" else "an ISO timestamp"
        try:
            moment = datetime.fromisoformat(bound) if isinstance(bound, str) else bound
        except ValueError:
            raise ValueError(wanted) from None
        if isinstance(moment, date) and not isinstance(moment, datetime):
            moment = datetime(moment.year, moment.month, moment.day)
        if not isinstance(moment, datetime):
            raise ValueError(wanted)
        return moment.toordinal() if self.kind == "date" else _microseconds(moment)


def interval_ends(label: str) -> tuple[str, str, bool] | None:
    """The ends of an interval as it is printed, and whether the upper one belongs to it.

    >>> interval_ends("[20,35)"), interval_ends("[35,40]"), interval_ends("35")
    (('20', '35', False), ('35', '40', True), None)
    """
    match = _INTERVAL.fullmatch(label)
    return (match[1], match[2], match[3] == "]") if match else None


def scale_of(column: Column, *, decimal: str = ".", date_format: str | None = None) -> Scale:
    """Read a column as numbers, dates or timestamps; say which rows cannot be read."""
    kind = kind_of(column, decimal=decimal, date_format=date_format)
    arrow = column.values.type
    if not is_text(arrow) and kind in ("text", "boolean"):
        raise InputError(
            f"the type {arrow} is neither a number nor a time",
            where=f'column "{column.name}"',
            do='use  mask = "suppress"  or a taxonomy.',
        )
    zoned = False
    if kind == "text" and _mostly_times(column, date_format):
        _refuse_non_times(column, date_format)
        raise AssertionError("a column of times counts as text")
    if is_text(arrow) and kind in ("text", "number"):
        kind, ticks = "number", _numbers_from_text(column, decimal)
    elif kind == "number":
        ticks = _numbers(column)
    elif kind == "date":
        ticks = _days(column, date_format)
    else:
        ticks = _moments(column, date_format)
        zoned = _is_zoned(column, date_format)
    present = np.array([tick is not None for tick in ticks], dtype=bool)
    points, rank = np.unique(_as_array([t for t in ticks if t is not None]), return_inverse=True)
    ranks = np.full(len(ticks), -1, dtype=np.int64)
    ranks[present] = rank
    return Scale(kind, points, ranks, zoned)


def blurred(column: Column, scale: Scale, *, decimal: str = ".") -> int:
    """How many values differ from another one and still are the same point of their scale.

    Points are 64-bit floats where some are no whole numbers, and microseconds; 1.0 and 1 do not
    differ.

    >>> from reticent.data.columns import encode
    >>> column = encode("A", pa.array(["9007199254740993", "9007199254740992", "0.5", "0.50"]))
    >>> blurred(column, scale_of(column))
    1
    """
    if len(scale.points) == len(column.values.drop_null()):
        return 0
    exact = zip(scale.rank.tolist(), _exactly(column, scale.kind, decimal), strict=True)
    return len({pair for pair in exact if pair[0] >= 0}) - len(scale.points)


def _exactly(column: Column, kind: Kind, decimal: str) -> list[Any]:
    """What tells values of one point apart."""
    values = column.values
    if pa.types.is_timestamp(values.type):
        found: list[Any] = values.cast(pa.int64()).to_pylist()
        return found
    if not is_text(values.type):
        return [Decimal(v) if isinstance(v, float) else v for v in values.to_pylist()]
    if kind == "number":
        cells = [text and text.strip().replace(decimal, ".") for text in values.to_pylist()]
        return [cell and Decimal(cell) for cell in cells]
    finer = [text and re.search(r"\.\d{6}(\d+)", text) for text in values.to_pylist()]
    return [digits and digits[1].rstrip("0") for digits in finer]


def points_of(
    column: Column, *, times: bool, decimal: str = ".", date_format: str | None = None
) -> list[Any]:
    """Each distinct value as a number or, of `times`, in microseconds; None for what is neither.

    Where a scale is known already, a cell that does not fit it is no reason to refuse a table.

    >>> from reticent.data.columns import encode
    >>> points_of(encode("A", pa.array(["7", "x", "0.5", None])), times=False)
    [7, None, 0.5, None]
    """
    values, kind = column.values, column.values.type
    if is_text(kind):
        read = time_of if times else _number_or_none
        other = date_format if times else decimal
        return [None if text is None else read(text, other) for text in values.to_pylist()]
    if times and pa.types.is_timestamp(kind):
        return _ticks(values)
    if times and pa.types.is_date(kind):
        days = values.cast(pa.date32()).cast(pa.int32()).to_pylist()
        return [None if day is None else day * 86_400_000_000 for day in days]
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if times or not number:
        return [None] * len(values)
    plain = values.cast(pa.float64()) if pa.types.is_decimal(kind) else values
    return [n if n is not None and math.isfinite(n) else None for n in plain.to_pylist()]


def time_of(text: str, date_format: str | None = None) -> int | None:
    """Microseconds since 1970, as if in UTC where nothing else is said; None if it is no time."""
    fits = _is_time(text, date_format)
    return _microseconds(_parse_time(text, date_format)) if fits else None


def _number_or_none(text: str, decimal: str | None) -> Any:
    cell = text.strip()
    if decimal not in (".", None):
        cell = cell.replace(".", "?").replace(decimal, ".")
    if len(cell) > _LONGEST_NUMBER or not _NUMBER.fullmatch(cell):
        return None
    number = int(cell) if cell.lstrip("+-").isdigit() else float(cell)
    return number if math.isfinite(number) else None


def _mostly_times(column: Column, date_format: str | None) -> bool:
    present = column.values.drop_null().to_pylist()
    times = sum(_is_time(text, date_format) for text in present)
    return 2 * times >= len(present) > 0 if date_format else 2 * times > len(present)


def _is_time(text: str, date_format: str | None) -> bool:
    if not date_format and not re.match(_TIMESTAMP, text):
        return False
    try:
        _microseconds(_parse_time(text, date_format))
    except (ValueError, OverflowError):
        return False
    return True


def _refuse_non_times(column: Column, date_format: str | None) -> None:
    """Say which values of a column of times are none."""
    bad = [text is not None and not _is_time(text, date_format) for text in column.texts()]
    wanted = f"dates of the form {date_format}" if date_format else "ISO dates or timestamps"
    by = remedy("--date-format, or [reading],", "date_format in [reading]")
    do = f"correct them; {by} reads other forms; missing_values names texts "
    _refuse(column, bad, wanted, do + "that mean missing.")


def _as_array(ticks: list[Any]) -> NDArray[Any]:
    """Points as the fastest array that keeps neighbours apart."""
    if all(isinstance(tick, int) for tick in ticks):
        fits = all(-(2**63) <= tick < 2**63 for tick in ticks)
        return np.array(ticks, dtype=np.int64 if fits else object)
    return np.array(ticks, dtype=np.float64)


def _numbers(column: Column) -> list[Any]:
    values = column.values
    if pa.types.is_decimal(values.type):
        values = values.cast(pa.float64())
    return _finite(column, [None if v is None or v != v else v for v in values.to_pylist()])


def _finite(column: Column, numbers: list[Any]) -> list[Any]:
    """The same numbers, none of them infinite; as integers, if all of them are whole."""
    bad = [n is not None and not math.isfinite(n) for n in numbers]
    _refuse(column, bad, "a finite number", "")
    whole = all(n is None or float(n).is_integer() for n in numbers)
    return [None if n is None else int(n) for n in numbers] if whole else numbers


def _numbers_from_text(column: Column, decimal: str) -> list[Any]:
    cells = [None if text is None else text.strip() for text in column.texts()]
    too_long = [c is not None and len(c) > _LONGEST_NUMBER for c in cells]
    _refuse(column, too_long, "a number of bearable length", "")
    if decimal != ".":  # a point would be a thousands mark: no number we can be sure of
        cells = [c if c is None else c.replace(".", "?").replace(decimal, ".") for c in cells]
    bad = [c is not None and not _NUMBER.fullmatch(c) for c in cells]
    sign = "," if decimal == "." else "."
    by = remedy(
        f"--decimal {sign} reads the other decimal sign, --date-format %d.%m.%Y other dates, or "
        "[reading] both",
        f'decimal = "{sign}" in [reading] reads the other decimal sign, date_format = "%d.%m.%Y" '
        "other dates",
    )
    hint = f'{by}; missing_values names texts that mean missing; or use  mask = "suppress".'
    _refuse(column, bad, "a number, an ISO date or an ISO timestamp", hint)
    if all(c is None or c.lstrip("+-").isdigit() for c in cells):
        return [None if c is None else int(c) for c in cells]
    return _finite(column, [None if c is None else float(c) for c in cells])


def _days(column: Column, date_format: str | None) -> list[Any]:
    """Days, counted as Python does; a calendar day beyond its reach is refused."""
    if not pa.types.is_date(column.values.type):
        cells = column.values.to_pylist()
        return [None if c is None else _parse_time(c, date_format).toordinal() for c in cells]
    days = column.values.cast(pa.date32()).cast(pa.int32()).to_pylist()
    ordinals = [None if day is None else day + UNIX_DAY for day in days]
    most = date.max.toordinal()
    bad = [day is not None and not 1 <= day <= most for day in ordinals]
    _refuse(column, bad, "a date between the years 1 and 9999", "")
    return ordinals


def _moments(column: Column, date_format: str | None) -> list[Any]:
    if pa.types.is_timestamp(column.values.type):
        ticks = _ticks(column.values)
        low, high = _microseconds(datetime.min), _microseconds(datetime.max)
        bad = [tick is not None and not low <= tick <= high for tick in ticks]
        _refuse(column, bad, "a time between the years 1 and 9999", "")
        return ticks
    parsed = [None if c is None else _parse_time(c, date_format) for c in column.texts()]
    zones = {p.tzinfo is not None for p in parsed if p is not None}
    if len(zones) > 1:
        raise InputError(
            "some timestamps carry an offset from UTC and some do not",
            where=f'column "{column.name}"',
            do="write all of them with an offset, or none.",
        )
    return [None if p is None else _microseconds(p) for p in parsed]


def _is_zoned(column: Column, date_format: str | None) -> bool:
    kind = column.values.type
    if pa.types.is_timestamp(kind):
        return kind.tz is not None
    first = next((text for text in column.texts() if text is not None), None)
    return first is not None and _parse_time(first, date_format).tzinfo is not None


def _ticks(values: pa.Array) -> list[Any]:
    """Microseconds since 1970; what a finer clock adds is cut off, towards the past."""
    per_tick = {"s": 1_000_000, "ms": 1000, "us": 1, "ns": 1}[values.type.unit]
    coarser = 1000 if values.type.unit == "ns" else 1
    whole = values.cast(pa.int64()).to_pylist()
    return [None if tick is None else tick * per_tick // coarser for tick in whole]


def _microseconds(moment: datetime) -> int:
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _refuse(column: Column, bad: Sequence[bool], wanted: str, do: str) -> None:
    """Raise if any distinct value is bad, naming rows and counts but no value."""
    codes = [code for code, is_bad in enumerate(bad) if is_bad]
    if codes:
        known = column.texts()
        found = [text for code in codes if (text := known[code]) is not None]
        raise InputError(
            f"{len(codes)} of {len(column.values)} distinct values are not {wanted}"
            f"{column.seen(codes)}",
            where=f'column "{column.name}"',
            do=do,
            values=tuple(found),
        )
