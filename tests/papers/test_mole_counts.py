"""How many minimal moles real transactions have, all items being public."""

from __future__ import annotations

import gzip
import os
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from naive import transactions as naive
from reticent.suppress.moles import Known, minimal_moles

pytestmark = pytest.mark.data

DATA = Path(os.environ.get("RETICENT_DATA") or Path(__file__).parents[2].parent / "shared" / "data")


@cache
def known(name: str) -> Known:
    path = DATA / name / f"{name}.dat.gz"
    if not path.exists():
        pytest.skip(f"needs {path.name} in the folder of public data sets")
    with gzip.open(path, "rt") as file:
        starts, items = naive.flat([frozenset(map(int, line.split())) for line in file])
    none = np.zeros(len(starts), np.int64), np.zeros(0, np.int32), 0
    return Known(np.array(starts), np.array(items, np.int32), max(items) + 1, *none)


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
    found = minimal_moles(known(name), k, Fraction(1), p)
    assert found.complete
    assert len(found) == count
