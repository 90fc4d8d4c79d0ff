"""Borders between two neighbouring values, found by trying them in the order of the definition."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction

Number = int | float


def printed(number: Number) -> Fraction:
    """What a number says as it is printed."""
    return Fraction(repr(number))


def parts(left: Number, right: Number, at: Fraction) -> bool:
    """Whether a border, read as the numbers of a column are, leaves both on their sides."""
    read = float(at) if isinstance(right, float) else at
    return bool(left < read <= right)


def decimals(left: Number, right: Number) -> Iterator[list[Fraction]]:
    """All multiples of a power of ten that part two numbers, the largest power first.

    The first three powers that have any: those of a smaller one are a hundred times as many.
    """
    ends = [Decimal(repr(n)) for n in (left, right)]
    highest = max(n.adjusted() for n in ends) + 1
    lowest = min(int(n.as_tuple().exponent) for n in ends) - 1
    powers = 0
    for power in range(highest, lowest - 1, -1):
        unit = Fraction(10) ** power
        first = math.floor(printed(left) / unit)
        last = min(math.floor(printed(right) / unit), first + 1_000)
        found = [n * unit for n in range(first + 1, last + 1) if parts(left, right, n * unit)]
        if found:
            yield found
            powers += 1
            if powers == 3:
                return


def digits(number: Fraction) -> int:
    """How many significant digits a decimal has; 0 has one."""
    while number.denominator > 1:
        number *= 10
    return len(str(abs(int(number))).rstrip("0")) or 1


def fewest_digits(left: Number, right: Number) -> int:
    """The fewest digits by which two numbers can be parted."""
    return min(digits(at) for found in decimals(left, right) for at in found)


def shortest(left: Number, right: Number) -> Fraction:
    """Of the multiples of the largest power, 0 before others, the nearest to the middle."""
    if parts(left, right, Fraction(0)):
        return Fraction(0)
    found = next(decimals(left, right))
    middle = (printed(left) + printed(right)) / 2
    return min(found, key=lambda at: (abs(at - middle), at))


def starts(left: datetime, right: datetime) -> list[datetime]:
    """The starts of years in (left, right]; if there are none, of quarters, months, days, …."""
    months = [
        datetime(year, month, 1)
        for year in range(left.year, right.year + 1)
        for month in range(1, 13)
        if left < datetime(year, month, 1) <= right
    ]
    for every in (12, 3, 1):
        if found := [at for at in months if (at.month - 1) % every == 0]:
            return found
    midnight = datetime(left.year, left.month, left.day)
    for unit in (
        timedelta(days=1), timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=1),
        timedelta(milliseconds=1),
    ):  # fmt: skip
        first = (left - midnight) // unit + 1
        count = (right - midnight) // unit - first + 1
        if count > 0:
            return [midnight + (first + i) * unit for i in range(min(count, 100))]
    return [right]
