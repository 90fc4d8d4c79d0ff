"""Borders between two values against all that could stand there, tried one after the other."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import borders
from reticent.data.borders import border_label
from reticent.data.columns import encode
from reticent.data.scales import Scale, scale_of


def scale(cells: Sequence[Any], kind: pa.DataType | None = None) -> Scale:
    return scale_of(encode("Age", pa.array(cells, kind)))


def label(left: Any, right: Any, kind: pa.DataType | None = None) -> str:
    """The border between two values, as it is printed."""
    if isinstance(left, int):  # no type of Arrow's holds all of them
        left, right = str(left), str(right)
    return border_label(scale([left, right], kind), 1)


@pytest.mark.parametrize(
    ("left", "right", "wanted"),
    [
        (37.2, 44.9, "40"),
        (37, 38, "38"),
        (17, 44, "30"),
        (5, 25, "10"),
        (95, 120, "100"),
        (99, 1001, "1000"),
        (-5, 3, "0"),
        (-44.9, -37.2, "-40"),
        (-3, 0, "0"),
        (0.1, 0.30000000000000004, "0.2"),
        (0.3, 0.30000000000000004, "0.30000000000000004"),
        (1e-7, 3.5e-7, "2e-07"),
        (0.5, 1e300, "1e+300"),
        (1.5, 3e22, "2e+22"),
        (5e-324, 1.5e-323, "1e-323"),
        (2**53, 2**53 + 1, "9007199254740993"),
        (10**30, 10**30 + 5_000_007, "1000000000000000000000003000000"),
        (Decimal("12.34"), Decimal("12.99"), "12.7"),
        ("1234.5", "1310", "1300"),
        (date(1948, 3, 5), date(1951, 7, 1), "1950-01-01"),
        (date(1948, 3, 5), date(1948, 9, 1), "1948-07-01"),
        (date(1948, 1, 5), date(1948, 2, 20), "1948-02-01"),
        (date(1948, 2, 5), date(1948, 2, 9), "1948-02-07"),
        (datetime(2020, 1, 31, 22), datetime(2020, 2, 3, 7), "2020-02-01T00:00:00"),
        (datetime(2020, 1, 30, 22, 10), datetime(2020, 1, 31), "2020-01-31T00:00:00"),
        (datetime(2020, 1, 30, 9, 10), datetime(2020, 1, 30, 13, 2), "2020-01-30T11:00:00"),
        (datetime(1960, 1, 30, 9, 10), datetime(1960, 1, 30, 9, 11), "1960-01-30T09:11:00"),
    ],
)  # fmt: skip
def test_borders_read_well(left: Any, right: Any, wanted: str) -> None:
    assert label(left, right) == wanted


def check_number(left: float, right: float) -> None:
    at = Fraction(label(left, right))
    assert borders.parts(left, right, at)
    assert borders.digits(at) == borders.fewest_digits(left, right)
    if max(borders.digits(borders.printed(n)) for n in (left, right)) < 16:
        read = type(right)
        assert read(at) == read(borders.shortest(left, right))


whole = st.one_of(st.integers(-200, 200), st.integers(-(2**70), 2**70))
broken = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-100, 100),
    st.integers(-5_000, 5_000).map(lambda n: n / 100),
)


@given(st.lists(whole, min_size=2, max_size=2, unique=True))
@settings(max_examples=300, deadline=None, derandomize=True, database=None)
def test_no_shorter_decimal_parts_two_whole_numbers(pair: list[int]) -> None:
    check_number(*sorted(pair))


@given(st.lists(broken.map(lambda n: n + 0.0), min_size=2, max_size=2, unique=True))
@settings(max_examples=300, deadline=None, derandomize=True, database=None)
def test_no_shorter_decimal_parts_two_floats(pair: list[float]) -> None:
    if not all(n.is_integer() for n in pair):  # else they are whole numbers
        check_number(*sorted(pair))


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 3))
@settings(max_examples=300, deadline=None, derandomize=True, database=None)
def test_floats_that_touch_are_told_apart(left: float, apart: int) -> None:
    right = left
    for _ in range(apart):
        right = math.nextafter(right, math.inf)
    if math.isfinite(right) and not (left.is_integer() and right.is_integer()):
        check_number(left, right)


@given(st.lists(st.datetimes(), min_size=2, max_size=2, unique=True), st.booleans())
@settings(max_examples=200, deadline=None, derandomize=True, database=None)
def test_times_are_parted_by_the_coarsest_start(pair: list[datetime], near: bool) -> None:
    left, right = sorted(pair)
    if near:  # far from each other there is always a year
        right = min(
            right, left + timedelta(microseconds=random.Random(str(left)).randrange(1, 10**11))
        )
    found = datetime.fromisoformat(label(left, right, pa.timestamp("us")))
    assert left < found <= right
    assert found in borders.starts(left, right)
    days = [moment.date() for moment in (left, right)]
    if days[0] < days[1]:
        found = datetime.fromisoformat(label(days[0], days[1], pa.date32()))
        midnights = [datetime(day.year, day.month, day.day) for day in days]
        assert found in borders.starts(midnights[0], midnights[1])
