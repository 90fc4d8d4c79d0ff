"""Families as diagrams: counts of any size, and what is too much."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from reticent.suppress.baskets.diagrams import Diagrams, Family, most_parts
from reticent.suppress.baskets.nuggets import find_nuggets
from reticent.suppress.sets import Budget, GaveUp


def parts(rows: list[range], longest: int | None = None) -> Family:
    """Whatever is in some row."""
    starts, items = np.cumsum([0, *map(len, rows)]), np.concatenate(rows).astype(np.int32)
    found = find_nuggets(starts, items, int(items.max()) + 1, 1, longest)
    assert found is not None
    return found


@pytest.mark.parametrize("size", [20, 62, 64, 65, 100, 1100])
def test_counts_of_any_size(size: int) -> None:
    """Two rows that share half of their items."""
    half = size // 2
    found = parts([range(size), range(half, half + size)])
    assert found.total + 1 == 2 * 2**size - 2 ** (size - half)
    of_item = found.per_item()
    assert of_item[0] == 2 ** (size - 1)
    assert of_item[half] == 2 * 2 ** (size - 1) - 2 ** (size - half - 1)
    left = found.without(range(half, size))
    assert left.total + 1 == 2**half + 2**half - 1


def test_small_parts_of_long_rows() -> None:
    found = parts([range(100), range(90, 190)], longest=3)
    assert found.total == sum(2 * comb(100, i) - comb(10, i) for i in (1, 2, 3))
    assert found.per_item()[95] == sum(2 * comb(99, i) - comb(9, i) for i in (0, 1, 2))


def test_bounds() -> None:
    assert most_parts(3, 10, 10) == 3 * 2**10
    assert most_parts(3, 10, 2) == 3 * (1 + 10 + 45)


def test_equal_families_are_one() -> None:
    diagrams = Diagrams(Budget(10**6))
    one = diagrams.rows(np.array([0, 3, 5]), np.array([0, 1, 2, 1, 2], np.int32))
    other = diagrams.rows(np.array([0, 2, 5]), np.array([0, 1, 0, 1, 2], np.int32))
    assert one != other
    assert diagrams.closed(one, 3) == diagrams.closed(other, 3)
    assert diagrams.closed(one, 2) != diagrams.closed(one, 3)


def test_sets_apart_from_others() -> None:
    diagrams = Diagrams(Budget(10**6))
    family = diagrams.closed(diagrams.rows(np.array([0, 3]), np.array([0, 1, 2], np.int32)), 3)
    pair = diagrams.rows(np.array([0, 2]), np.array([0, 2], np.int32))
    assert diagrams.count(diagrams.apart(family, pair), 3, 8).of_item == [2, 3, 2]
    nothing = diagrams.rows(np.array([0]), np.array([], np.int32))
    assert diagrams.apart(family, nothing) == family


def test_too_much() -> None:
    rows = [range(i, i + 30) for i in range(60)]
    starts, items = np.cumsum([0, *map(len, rows)]), np.concatenate(rows).astype(np.int32)
    for least in (1, 2):
        assert find_nuggets(starts, items, 90, least, most_work=500) is None
    with pytest.raises(GaveUp):
        Diagrams(Budget(10**6), most_nodes=1 << 10).rows(starts, items)
