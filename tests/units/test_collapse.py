"""Equal rows counted once, against Python's own counter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reticent.data.collapse import Distinct, distinct

Rows = Sequence[tuple[int, ...]]


def collapsed(rows: Rows, sizes: list[int], kind: Any = np.int64) -> Distinct:
    columns = [np.array([row[j] for row in rows], dtype=kind) for j in range(len(sizes))]
    return distinct(columns, sizes)


def counted(found: Distinct) -> list[tuple[tuple[int, ...], int]]:
    rows = zip(*(column.tolist() for column in found.columns), strict=True)
    return list(zip(rows, found.counts.tolist(), strict=True))


# Sizes around powers of two, so that words fill to the last bit, spill over, or need no bit at all.
sizes = st.lists(
    st.sampled_from([1, 2, 3, 4, 5, 255, 256, 257, 2**16, 2**31, 2**32 - 1, 2**32]),
    min_size=1,
    max_size=7,
)


@st.composite
def tables(draw: st.DrawFn) -> tuple[Rows, list[int]]:
    bounds = draw(sizes)
    cells = [
        st.one_of(st.sampled_from([0, size - 1, size // 2]), st.integers(0, size - 1))
        for size in bounds
    ]
    pool = draw(st.lists(st.tuples(*cells), min_size=1, max_size=5))
    return draw(st.lists(st.sampled_from(pool), max_size=20)), bounds


@given(tables())
@example(([(2**32 - 1, 2**32 - 1)] * 2, [2**32, 2**32]))  # one word, full to the last bit
@example(([(2**32 - 1, 2**32 - 1, 1), (0, 0, 0)], [2**32, 2**32, 2]))  # one bit too many
@example(([(0, 2**32 - 1), (0, 0)], [1, 2**32]))  # a column that needs no bit
@example(([(0, 0), (0, 0)], [1, 1]))
def test_counts_what_a_counter_counts(case: tuple[Rows, list[int]]) -> None:
    rows, bounds = case
    assert counted(collapsed(rows, bounds)) == sorted(Counter(rows).items())


@given(tables())
def test_columns_keep_their_type(case: tuple[Rows, list[int]]) -> None:
    rows, bounds = case
    found = collapsed(rows, bounds, np.uint32)
    assert all(column.dtype == np.uint32 for column in found.columns)
    assert found.counts.dtype == np.int64
    assert int(found.counts.sum()) == len(rows)
    assert (found.counts > 0).all()


@pytest.mark.parametrize("bounds", [[3], [2**32, 2**32], [2**32] * 5])
def test_no_rows(bounds: list[int]) -> None:
    found = collapsed([], bounds)
    assert [len(column) for column in found.columns] == [0] * len(bounds)
    assert found.counts.tolist() == []


def test_order_is_that_of_the_first_column_first() -> None:
    wide = [(1, 2**31, 0), (0, 2**31 + 1, 2**31), (1, 0, 2**31), (0, 2**31 + 1, 5)]
    found = counted(collapsed(wide, [2, 2**32, 2**32]))
    assert [row for row, _ in found] == sorted(wide)


def test_input_is_left_as_it_was() -> None:
    columns = [np.array([3, 1, 3], dtype=np.uint8), np.array([0, 2, 0], dtype=np.uint8)]
    distinct(columns, [4, 3])
    assert [column.tolist() for column in columns] == [[3, 1, 3], [0, 2, 0]]


@pytest.mark.parametrize("bits", [[8, 8], [20, 20, 20], [30, 30, 30]])
def test_many_rows(bits: list[int]) -> None:
    rng = np.random.default_rng(7)
    columns = [rng.integers(0, 2**width, 20_000, dtype=np.int64) >> (width - 4) for width in bits]
    columns = [column << (width - 4) for column, width in zip(columns, bits, strict=True)]
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    found = distinct(columns, [2**width for width in bits])
    assert counted(found) == sorted(Counter(rows).items())
