"""Where one interval is printed to end and the next to begin: ``round = true``.

A cut falls between two neighbouring values of a table. Wherever between them its border is printed,
the same records stand on either side; so a border may be chosen for how it reads, and then it need
not be a value that somebody has.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

from reticent.data.scales import Scale

_MONTHS = 12, 3, 1  # a year, a quarter, a month
_TICKS = {
    "date": (1,),  # days
    "timestamp": (86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000, 1_000, 1),  # microseconds
}


def rounded_border(scale: Scale, code: int) -> Any:
    """The roundest point above the value before `code` and not above the one at `code`."""
    left, right = scale.points[code - 1 : code + 1].tolist()
    return _decimal(left, right) if scale.kind == "number" else _calendar(scale, left, right)


def border_label(scale: Scale, code: int) -> str:
    """The same as it is printed: as any end of an interval, or shorter, as 1e+22."""
    at = rounded_border(scale, code)
    label = scale.label(at)
    return min(label, repr(at), key=len) if isinstance(at, float) else label


def _decimal(left: float, right: float) -> float:
    """The shortest decimal in (left, right]: a multiple of the largest power of ten.

    It has the fewest digits: with no multiple of ten times that power in between, all that lies in
    between begins with the same digits.

    >>> _decimal(37.2, 44.9), _decimal(37, 38), _decimal(-0.5, 3.5), _decimal(0.1, 0.125)
    (40.0, 38, 0.0, 0.11)
    """
    if isinstance(left, int) and isinstance(right, int):
        return _roundest(left, right)
    whole = 10 ** max(_decimals(left), _decimals(right))
    # Up to half way to the next float, what is printed would be read as `left` again.
    low = (Fraction(left) + Fraction(math.nextafter(left, math.inf))) / 2
    high = int(Fraction(repr(right)) * whole)
    return float(Fraction(_roundest(math.floor(low * whole), high), whole))


def _decimals(number: float) -> int:
    """How many digits it has behind the point, as Python prints it."""
    return max(-int(Decimal(repr(number)).as_tuple().exponent), 0)


def _roundest(low: int, high: int) -> int:
    if low < 0 <= high:
        return 0
    unit = 1
    while high // (10 * unit) * 10 * unit > low:
        unit *= 10
    return _multiple(low, high, unit)


def _calendar(scale: Scale, left: int, right: int) -> Any:
    """The start of a year in (left, right], or else of a quarter, a month, a day and so on."""
    low, high = _month(scale, left), _month(scale, right)
    if low < high:
        unit = next(unit for unit in _MONTHS if high // unit * unit > low)
        year, month = divmod(_multiple(low, high, unit), 12)
        return scale.read(f"{year:04}-{month + 1:02}-01")
    unit = next(unit for unit in _TICKS[scale.kind] if right // unit * unit > left)
    return _multiple(left, right, unit)


def _month(scale: Scale, point: int) -> int:
    """Months since the year 0."""
    year, month, *_ = scale.label(point).split("-")
    return 12 * int(year) + int(month) - 1


def _multiple(low: int, high: int, unit: int) -> int:
    """Of the multiples of `unit` in (low, high], the one nearest the middle, then the smaller.

    >>> _multiple(20, 90, 10), _multiple(10, 20, 10), _multiple(0, 4, 1)
    (50, 20, 2)
    """
    nearest = -((unit - low - high) // (2 * unit))
    return unit * min(max(nearest, low // unit + 1), high // unit)
