"""Counts of nuggets and of all moles, the removal that weighs them, and their definitions."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from naive import itemsets as slow
from naive import transactions as naive
from reticent.suppress.baskets import diagrams
from reticent.suppress.baskets.diagrams import Family
from reticent.suppress.baskets.itemsets import Present, RemovalOrder, _Scores, remove_for_itemsets
from reticent.suppress.baskets.moles import KnownBaskets, minimal_moles
from reticent.suppress.baskets.nuggets import distinct_rows, find_nuggets, frequent_sets
from reticent.suppress.sets import Budget
from transactions_at_hand import known, nuggets


def removed(problem: slow.Problem, most_work: int = 10**8, alone: int = 10**8) -> RemovalOrder:
    case, among_all = problem.case, np.array(problem.among_all)
    return remove_for_itemsets(
        known(case, slow.PUBLIC), case.k, case.h, case.p, nuggets(problem), among_all,
        most_work=most_work, most_work_alone=alone,
    )  # fmt: skip


def fine_sets(table: KnownBaskets, case: naive.Case) -> Family:
    """Non-moles, as the removal counts them."""
    supports = table.supports()
    alone = minimal_moles(table, case.k, case.h, 1).items
    wanted = np.setdiff1d(np.flatnonzero(supports), alone)
    rows = distinct_rows(table.starts, table.items, supports, wanted)
    moles = minimal_moles(table, case.k, case.h, case.p) if case.h < 1 else None
    return frequent_sets(rows, slow.PUBLIC, case.k, case.p, Budget(10**8), moles)


@pytest.mark.parametrize("first", range(0, 300, 100))
def test_moles_with_one_item_and_with_two(first: int) -> None:
    largest = 0
    for seed in range(first, first + 100):
        case = slow.random_problem(seed).case
        if not case.feasible():
            continue
        bad, table = naive.moles(case), known(case, slow.PUBLIC)
        fine, supports = fine_sets(table, case), table.supports()
        rows = distinct_rows(table.starts, table.items, supports, np.flatnonzero(supports))
        present = Present(rows, case.p or slow.PUBLIC, Budget(10**8))
        rank, there = rows.rank.tolist(), np.ones(len(rows.rank), np.bool_)
        of_each, good = present.of_each(np.arange(len(rank))), fine.per_item()
        for x, item in enumerate(rank):
            assert of_each[x] - good[item] == slow.with_all(bad, item)
            counts, without = present.counts(x, there), fine.without([item]).per_item()
            assert counts.total == of_each[x]
            for y, other in enumerate(rank):
                both = counts.of_item[y] - (good[other] - without[other])
                assert x == y or both == slow.with_all(bad, item, other)
        largest = max(largest, *map(len, bad), 0)
    assert largest > 4


@pytest.mark.parametrize("first", range(0, 500, 100))
def test_the_order_in_which_items_go(first: int) -> None:
    steps = Counter[bool]()
    for seed in range(first, first + 100):
        problem = slow.random_problem(seed)
        if problem.case.feasible():
            found, wanted = removed(problem), slow.greedy(problem)
            assert found.complete
            assert list(found.order) == wanted
            steps[problem.case.h < 1] += len(wanted)
    assert min(steps.values()) > 100


@pytest.mark.parametrize(("p", "order"), [(None, (2, 0)), (3, (2, 0)), (2, (0,))])
def test_an_item_beside_a_mole(p: int | None, order: tuple[int, ...]) -> None:
    """Of those with 0 and 1, three in five have the private item; of those with 2, too, half."""
    rows = ["012", "012", "01", "01", "01", "0", "0", "1", "1"]
    sets = tuple(frozenset(map(int, row)) for row in rows)
    private = tuple(frozenset({0} if row in (0, 2, 3) else ()) for row in range(len(rows)))
    case = naive.Case(sets, private, 2, Fraction(1, 2), p)
    problem = slow.Problem(case, sets, tuple(range(slow.PUBLIC)), least=3, longest=None)
    assert removed(problem) == RemovalOrder(order, complete=True)
    assert slow.greedy(problem) == list(order)


def test_diagrams_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    made = diagrams.Diagrams.__init__

    def small(self: diagrams.Diagrams, *arguments: int, **options: int) -> None:
        made(self, *arguments, **options)  # type: ignore[arg-type]
        self._nodes = self._nodes[:4].copy()
        self._stack = self._stack[:1].copy()
        self._make_tables()

    monkeypatch.setattr(diagrams.Diagrams, "__init__", small)
    for seed in range(40):
        problem = slow.random_problem(seed)
        if problem.case.feasible():
            assert list(removed(problem).order) == slow.greedy(problem)


def test_items_alone_that_nobody_counts_go_by_number() -> None:
    differ = 0
    for seed in range(1, 200, 2):
        problem = slow.random_problem(seed)
        if not problem.case.feasible():
            continue
        exact, plain = removed(problem).order, removed(problem, alone=0).order
        alone = [item for item in exact if naive.violates(frozenset({item}), problem.case)]
        costs = nuggets(problem).per_item()
        first = sorted(alone, key=lambda item: (costs[problem.among_all[item]] > 0, item))
        assert plain == (*first, *exact[len(alone) :])
        differ += plain != exact
    assert differ


def test_too_much_work() -> None:
    cut_short = 0
    for seed in range(60):
        problem = slow.random_problem(seed)
        if not problem.case.feasible():
            continue
        whole = removed(problem)
        for most_work in [0, 100, 1000, 3000]:
            some = removed(problem, most_work)
            assert set(some.order) <= set(whole.order)
            assert some.complete <= (set(some.order) == set(whole.order))
            cut_short += not some.complete
    assert cut_short > 60


def test_exact_fractions_decide() -> None:
    scores = _Scores(3)
    scores.set(0, 2**80, 3)
    scores.set(1, 2**80 + 1, 3)
    scores.set(2, 2 * (2**80 + 1), 6)
    assert scores.best() == [1, 2]
    scores.set(1, 0, 1)
    scores.set(2, 0, 1)
    assert scores.best() == [0]


@pytest.mark.parametrize("rows", [(), (frozenset[int](),) * 3, (frozenset({2}),) * 3])
def test_nobody_and_nothing(rows: tuple[naive.Items, ...]) -> None:
    case = naive.Case(rows, tuple(frozenset[int]() for _ in rows), 2, Fraction(1, 2), None)
    problem = slow.Problem(case, rows, tuple(range(slow.PUBLIC)), least=2, longest=None)
    assert removed(problem) == RemovalOrder((), complete=True)


# --- nuggets -------------------------------------------------------------------------------------


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
def test_no_nuggets(rows: list[naive.Items]) -> None:
    starts, items = naive.flat(rows)
    found = find_nuggets(np.array(starts), np.array(items, np.int32), 4, least_support=2)
    assert found is not None
    assert found.total == 0
    assert found.without([2]).per_item() == [0] * 4
