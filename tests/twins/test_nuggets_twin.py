"""Counts of nuggets against their definition."""

from __future__ import annotations

import random

import numpy as np
import pytest

from naive import itemsets as slow
from naive import transactions as naive
from reticent.suppress.baskets.nuggets import find_nuggets
from transactions_at_hand import nuggets


@pytest.mark.parametrize("first", range(0, 300, 100))
def test_nuggets_with_each_item(first: int) -> None:
    largest = 0
    for seed in range(first, first + 100):
        problem = slow.random_problem(seed)
        found, wanted = nuggets(problem), problem.nuggets()
        gone = set(random.Random(seed).sample(range(slow.ALL), 4))
        left = {held for held in wanted if not held & gone}
        for family, sets in [(found, wanted), (found.without(gone), left)]:
            assert family.total == len(sets)
            assert family.per_item() == [slow.with_all(sets, item) for item in range(slow.ALL)]
        largest = max(largest, *map(len, wanted), 0)
    assert largest > 5


@pytest.mark.parametrize("seed", range(12))
def test_nuggets_of_many_transactions(seed: int) -> None:
    """Sets are numbers here, one bit an item, and supports add up from one item to the next."""
    rng, items = np.random.default_rng(seed), 15
    likely = rng.choice([0.15, 0.4, 0.6, 0.9], items)
    rows = rng.random((4000, items)) < likely
    rows = rows[rng.integers(0, len(rows), 4000)]  # some of them often
    support = np.bincount(rows @ (1 << np.arange(items)), minlength=1 << items)
    for item in range(items):
        halves = support.reshape(-1, 2, 1 << item)
        halves[:, 0] += halves[:, 1]
    sets = np.arange(1, 1 << items)
    least, longest = [4, 20, 100, 400][seed % 4], [None, 4, 6][seed % 3]
    wanted = sets[(support[1:] >= least) & (np.bitwise_count(sets) <= (longest or items))]
    starts = np.concatenate([[0], np.cumsum(rows.sum(1))])
    found = find_nuggets(starts, np.nonzero(rows)[1].astype(np.int32), items, least, longest)
    assert found is not None
    assert found.total == len(wanted) > items
    assert found.per_item() == [int((wanted >> item & 1).sum()) for item in range(items)]


@pytest.mark.parametrize("rows", [[], [frozenset[int]()] * 3, [frozenset({2})]])
def test_nobody_and_nothing(rows: list[naive.Items]) -> None:
    starts, items = naive.flat(rows)
    found = find_nuggets(np.array(starts), np.array(items, np.int32), 4, least_support=2)
    assert found is not None
    assert found.total == 0
    assert found.without([2]).per_item() == [0] * 4
