"""How many minimal moles, all items being public, and how many nuggets real transactions have."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import numpy as np
import pytest

from reticent.suppress.baskets.itemsets import remove_for_itemsets
from reticent.suppress.baskets.moles import KnownBaskets, minimal_moles
from reticent.suppress.baskets.nuggets import find_nuggets
from transactions_at_hand import real

pytestmark = pytest.mark.data


@pytest.mark.parametrize(
    ("name", "percent", "count"),
    [
        ("connect", 40, 339_915_255),  # the paper's 52,218,553,280 counts many of them often
        ("connect", 60, 21_250_671),
        ("retail", 1, 159),
    ],
)
def test_nuggets(name: str, percent: int, count: int) -> None:
    table = real(name)
    least = ceil(Fraction(percent * table.transactions, 100))
    found = find_nuggets(table.starts, table.items, table.count, least)
    assert found is not None
    assert found.total == count


@pytest.mark.parametrize(("k", "p"), [(10, None), (50, 4)])
def test_no_mole_is_left(k: int, p: int | None) -> None:
    table = real("retail")
    nuggets = find_nuggets(table.starts, table.items, table.count, 882)
    assert nuggets is not None
    found = remove_for_itemsets(table, k, Fraction(1), p, nuggets, np.arange(table.count))
    assert found.complete
    kept = ~np.isin(table.items, found.order)
    starts = np.concatenate([[0], np.cumsum(kept)])[table.starts]
    private = table.private_starts, table.private, table.private_count
    left = KnownBaskets(starts, table.items[kept], table.count, *private)
    assert not len(minimal_moles(left, k, Fraction(1), p))


@pytest.mark.parametrize(
    ("name", "k", "p", "count"),
    [
        ("retail", 5, None, 5_011_109),  # said to be 5.01, 3.55 and 2.88 million
        ("retail", 10, None, 3_550_753),
        ("retail", 20, None, 2_882_037),
        ("connect", 50, 5, 205_416),  # and 205 thousand
    ],
)
def test_minimal_moles(name: str, k: int, p: int | None, count: int) -> None:
    found = minimal_moles(real(name), k, Fraction(1), p)
    assert found.complete
    assert len(found) == count
