"""How many nuggets real transactions have."""

from __future__ import annotations

import gzip
import os
from fractions import Fraction
from math import ceil
from pathlib import Path

import numpy as np
import pytest

from naive import transactions as naive
from reticent.suppress.itemsets import remove_for_itemsets
from reticent.suppress.moles import Known, minimal_moles
from reticent.suppress.nuggets import find_nuggets

pytestmark = pytest.mark.data

DATA = Path(os.environ.get("RETICENT_DATA") or Path(__file__).parents[2].parent / "shared" / "data")


def known(name: str) -> Known:
    path = DATA / name / f"{name}.dat.gz"
    if not path.exists():
        pytest.skip(f"needs {path.name} in the folder of public data sets")
    with gzip.open(path, "rt") as file:
        starts, items = naive.flat([frozenset(map(int, line.split())) for line in file])
    none = np.zeros(len(starts), np.int64), np.zeros(0, np.int32), 0
    return Known(np.array(starts), np.array(items, np.int32), max(items) + 1, *none)


@pytest.mark.parametrize(
    ("name", "percent", "count"),
    [
        ("connect", 40, 339_915_255),  # the paper's 52,218,553,280 counts many of them often
        ("connect", 60, 21_250_671),
        ("retail", 1, 159),
    ],
)
def test_nuggets(name: str, percent: int, count: int) -> None:
    table = known(name)
    least = ceil(Fraction(percent * table.transactions, 100))
    found = find_nuggets(table.starts, table.items, table.count, least)
    assert found is not None
    assert found.total == count


@pytest.mark.parametrize(("k", "p"), [(10, None), (50, 4)])
def test_no_mole_is_left(k: int, p: int | None) -> None:
    table = known("retail")
    nuggets = find_nuggets(table.starts, table.items, table.count, 882)
    assert nuggets is not None
    found = remove_for_itemsets(table, k, Fraction(1), p, nuggets, np.arange(table.count))
    assert found.complete
    kept = ~np.isin(table.items, found.order)
    starts = np.concatenate([[0], np.cumsum(kept)])[table.starts]
    private = table.private_starts, table.private, table.private_count
    left = Known(starts, table.items[kept], table.count, *private)
    assert not len(minimal_moles(left, k, Fraction(1), p))
