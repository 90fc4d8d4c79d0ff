"""How many minimal moles real transactions have, all items being public."""

from __future__ import annotations

from fractions import Fraction

import pytest

from reticent.suppress.baskets.moles import minimal_moles
from transactions_at_hand import real

pytestmark = pytest.mark.data


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
