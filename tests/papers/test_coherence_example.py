"""The worked example of coherent transactions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from naive import transactions as naive
from reticent.suppress.coherent import Search
from reticent.suppress.moles import Known, minimal_moles
from reticent.suppress.worth import Occurrences

ROWS = ["abef", "cefg", "abg", "abfg", "abdg", "efg", "befg"]
PRIVATE = ["1", "2", "3", "2", "2", "1", "3"]
NAMES = "abcdefg"


def known() -> Known:
    starts, items = naive.flat([frozenset(map(NAMES.index, row)) for row in ROWS])
    private = np.array([int(s) for s in PRIVATE], np.int32)
    return Known(
        np.array(starts),
        np.array(items, np.int32),
        len(NAMES),
        np.arange(len(ROWS) + 1),
        private,
        4,
    )


def test_minimal_moles() -> None:
    found = minimal_moles(known(), k=3, h=Fraction(1, 2), p=3)
    said = {"".join(NAMES[i] for i in mole) for mole in found}
    assert said == {"c", "d", "ae", "af", "ag", "be", "bfg"}


def test_the_order_in_which_items_go() -> None:
    search = Search(known(), 3, Fraction(1, 2), 3, Occurrences(known().supports()))
    found = search.run("greedy")
    assert "".join(NAMES[i] for i in found.removed.order) == "cdab"
    assert not found.removed.back
