"""The worked example of coherent transactions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from naive import transactions as naive
from reticent.suppress.baskets.diagrams import Family
from reticent.suppress.baskets.itemsets import Present, remove_for_itemsets
from reticent.suppress.baskets.methods import ItemSearch
from reticent.suppress.baskets.moles import KnownBaskets, minimal_moles
from reticent.suppress.baskets.nuggets import distinct_rows, find_nuggets, frequent_sets
from reticent.suppress.baskets.worth import Itemsets, Occurrences
from reticent.suppress.sets import Budget

ROWS = ["abef", "cefg", "abg", "abfg", "abdg", "efg", "befg"]
PRIVATE = ["1", "2", "3", "2", "2", "1", "3"]
NAMES = "abcdefg"


def known() -> KnownBaskets:
    starts, items = naive.flat([frozenset(map(NAMES.index, row)) for row in ROWS])
    private = np.array([int(s) for s in PRIVATE], np.int32)
    return KnownBaskets(
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
    for worth in (
        Occurrences(known().supports()),
        Itemsets(nuggets(), np.arange(7), known().supports()),
    ):
        found = ItemSearch(known(), 3, Fraction(1, 2), 3, worth).run("greedy")
        assert "".join(NAMES[i] for i in found.removed.order) == "cdab"
        assert not found.removed.back


def nuggets() -> Family:
    """Of all items: a private one has a number after those of the public ones."""
    everything = zip(ROWS, PRIVATE, strict=True)
    rows = [frozenset([*map(NAMES.index, row), 6 + int(s)]) for row, s in everything]
    starts, items = naive.flat(rows)
    found = find_nuggets(np.array(starts), np.array(items, np.int32), 10, least_support=4)
    assert found is not None
    return found


def test_nuggets() -> None:
    found = nuggets()
    assert found.total == 9  # a, b, e, f, g, ab, bg, ef, fg
    assert found.per_item() == [2, 3, 0, 0, 2, 3, 3, 0, 0, 0]
    assert found.without([NAMES.index("b")]).total == 9 - 3


def test_the_order_in_which_items_go_for_nuggets() -> None:
    found = remove_for_itemsets(known(), 3, Fraction(1, 2), 3, nuggets(), np.arange(7))
    assert found.complete
    assert "".join(NAMES[i] for i in found.order) == "cdab"


def test_moles_that_hold_both_a_and_g() -> None:
    """Once c and d are gone: ag, afg, abg."""
    table, left = known(), np.array([i for i, name in enumerate(NAMES) if name not in "cd"])
    rows = distinct_rows(table.starts, table.items, table.supports(), left)
    a, g = (rows.rank.tolist().index(NAMES.index(name)) for name in "ag")
    both = Present(rows, 3, Budget(10**6)).counts(a, np.ones(5, np.bool_)).of_item[g]
    moles = minimal_moles(table, 3, Fraction(1, 2), 3)
    fine = frequent_sets(rows, 7, 3, 3, Budget(10**6), moles)
    good = fine.per_item()[NAMES.index("g")] - fine.without([0]).per_item()[NAMES.index("g")]
    assert both - good == 3
