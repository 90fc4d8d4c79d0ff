"""Each way to suppress items, against the definition of moles."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import count as counting

import numpy as np
import pytest

from naive import itemsets
from naive import transactions as naive
from reticent.suppress.baskets import methods
from reticent.suppress.baskets.methods import ItemSearch
from reticent.suppress.baskets.worth import Itemsets, Occurrences
from reticent.suppress.sets import Budget, GaveUp, Halt, Sets
from transactions_at_hand import known, nuggets

METHODS = ("greedy", "levels", "grow", "best")


def left(case: naive.Case, gone: set[int]) -> set[naive.Items]:
    """The moles that are there without some items."""
    rows = tuple(row - gone for row in case.rows)
    return naive.moles(naive.Case(rows, case.private, case.k, case.h, case.p))


def assert_minimal(case: naive.Case, gone: set[int]) -> None:
    """No mole is left, and no item could be released."""
    assert not left(case, gone)
    for item in gone:
        assert any(item in mole for mole in left(case, gone - {item}))


def search(case: naive.Case, halt: Halt | None = None) -> ItemSearch:
    found = known(case)
    return ItemSearch(found, case.k, case.h, case.p, Occurrences(found.supports()), halt)


def halts() -> Iterator[Halt]:
    """Of a search that is asked to stop at the first point, at the second, and so on to its end."""
    halt = Halt(heard=True)
    for points in counting():
        if not halt.heard:
            return
        left = iter(range(points))
        halt = Halt(lambda left=left: next(left, None) is None)  # type: ignore[misc]
        yield halt


def cases(seeds: range) -> list[naive.Case]:
    made = [naive.random_case(random.Random(seed), sure=bool(seed % 2)) for seed in seeds]
    return [case for case in made if case.feasible()]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_coherent_and_minimal(method: str) -> None:
    gone_in_all = 0
    for case in cases(range(2000, 2300)):
        found = search(case).run(method)
        assert_minimal(case, set(found.removed.gone))
        assert found.lost == (naive_cost(case, found.removed.gone),)
        gone_in_all += len(found.removed.gone)
    assert gone_in_all > 200


def naive_cost(case: naive.Case, gone: tuple[int, ...]) -> int:
    held = Counter(item for row in case.rows for item in row)
    return sum(held[item] for item in gone)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_that_keeps_itemsets(method: str) -> None:
    """Coherent and minimal as well, and what it loses is counted from the definition."""
    gone_in_all = 0
    for seed in range(150):
        problem = itemsets.random_problem(seed)
        case, wanted = problem.case, problem.nuggets()
        if not case.feasible():
            continue
        table = known(case, itemsets.PUBLIC)
        worth = Itemsets(nuggets(problem), np.array(problem.among_all), table.supports())
        found = ItemSearch(table, case.k, case.h, case.p, worth).run(method)
        gone = found.removed.gone
        assert_minimal(case, set(gone))
        taken = {problem.among_all[item] for item in gone}
        assert found.lost[0] == sum(bool(nugget & taken) for nugget in wanted)
        if method == "best":
            assert found.lost == min(found.tried.values())
        gone_in_all += len(gone)
    assert gone_in_all > 100


@pytest.mark.parametrize("method", METHODS)
def test_without_room_for_all_moles(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Moles are then looked for where they matter, and the result is as safe and as minimal."""
    monkeypatch.setattr(methods, "_AT_ONCE", Budget(sets=3, work=200))
    monkeypatch.setattr(methods, "_FRESH", Budget(sets=2, work=200))
    monkeypatch.setattr(ItemSearch, "mine_all", lambda self, budget: False)
    for case in cases(range(2300, 2450)):
        found = search(case).run(method)
        assert found.complete == (case.p == 1)
        assert_minimal(case, set(found.removed.gone))


def test_greedy_is_the_papers() -> None:
    """The order is that of a loop over all minimal moles, as defined."""
    for case in cases(range(2500, 2650)):
        moles, order = naive.minimal(naive.moles(case)), []
        held = Counter(item for row in case.rows for item in row)
        while moles:
            scores = {
                item: (
                    frozenset({item}) in moles,
                    Fraction(sum(item in mole for mole in moles), held[item]),
                    -item,
                )
                for item in {item for mole in moles for item in mole}
            }
            order.append(max(scores, key=lambda item: scores[item]))
            moles = {mole for mole in moles if order[-1] not in mole}
        assert list(search(case).run("greedy").removed.order) == order


def test_grow_keeps_frequent_items_first() -> None:
    for case in cases(range(2650, 2750)):
        held = Counter(item for row in case.rows for item in row)
        gone = set(held)
        for item in sorted(held, key=lambda item: (-held[item], item)):
            if not left(case, gone - {item}):
                gone.remove(item)
        assert set(search(case).run("grow").removed.gone) == gone


def test_best_is_no_worse_than_any() -> None:
    better = 0
    for seed in range(25):
        rng = random.Random(seed)
        likely = [rng.uniform(0.1, 0.6) for _ in range(24)]
        rows = [frozenset(i for i in range(24) if rng.random() < likely[i]) for _ in range(200)]
        case = naive.Case(tuple(rows), (frozenset(),) * 200, 12, Fraction(1), 3)
        found = known(case, 24)
        worth = Occurrences(found.supports())
        best, *others = (
            ItemSearch(found, case.k, case.h, case.p, worth).run(method).lost
            for method in ("best", *METHODS[:3])
        )
        assert best <= min(others)
        better += best < min(others)
    assert better  # and swaps are not there for nothing


def test_who_wants_all_moles_and_cannot_have_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "_PATIENT", Budget(sets=0, work=0))
    case = next(c for c in cases(range(2500, 2600)) if len(naive.moles(c)) > 20 and c.p != 1)
    found = search(case).run("greedy")
    assert found.method == "levels"
    assert_minimal(case, set(found.removed.gone))


def test_who_cannot_know(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is called safe because nobody had the time to look."""
    case = next(c for c in cases(range(2500, 2600)) if len(naive.moles(c)) > 20 and c.p != 1)
    found = search(case)
    nothing = Sets(np.zeros(1, np.int64), np.zeros(0, np.int32), complete=False)
    monkeypatch.setattr(methods, "minimal_moles", lambda *a, **k: nothing)
    for method in METHODS:
        with pytest.raises(GaveUp):
            found.run(method)


@pytest.mark.parametrize("room", [True, False])
@pytest.mark.parametrize("method", METHODS)
def test_stopped_at_any_point(method: str, room: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the first safe choice on, a search that is told to stop has one; it is not minimal."""
    if not room:
        monkeypatch.setattr(methods, "_AT_ONCE", Budget(sets=3, work=200))
        monkeypatch.setattr(methods, "_HOPELESS", Budget(sets=3, work=200))
        monkeypatch.setattr(methods, "_PATIENT", Budget(sets=10, work=10**9))
    early = 0
    for case in cases(range(2700, 2730)):
        whole = search(case).run(method)
        assert not whole.stopped_early
        for halt in halts():
            safe: list[bool] = []
            halt.started = lambda safe=safe: safe.append(True)  # type: ignore[misc]
            try:
                found = search(case, halt).run(method)
            except GaveUp:
                assert halt.heard
                assert not safe
                continue
            assert safe
            assert not left(case, set(found.removed.gone))
            assert found.lost >= whole.lost or method == "best"
            assert found.stopped_early == halt.heard
            early += found.stopped_early
        assert found == whole
    assert early or (room and method != "best")


def test_stopped_where_itemsets_are_kept() -> None:
    early = 0
    for seed in range(2800, 2830):
        problem = itemsets.random_problem(seed)
        case = problem.case
        if not case.feasible():
            continue
        table = known(case, itemsets.PUBLIC)
        worth = Itemsets(nuggets(problem), np.array(problem.among_all), table.supports())
        for halt in halts():
            try:
                found = ItemSearch(table, case.k, case.h, case.p, worth, halt).run("best")
            except GaveUp:
                assert halt.heard
                continue
            assert not left(case, set(found.removed.gone))
            early += found.stopped_early
    assert early > 20
