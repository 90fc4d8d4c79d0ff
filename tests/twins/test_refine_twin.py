"""The engine against its naive twin: equal step for step, number for number, label for label."""

import random
from dataclasses import replace

import pytest

from at_hand import some_or_many
from naive.cases import Case, random_case
from naive.product import case_policy, same_steps, table_of
from naive.refine import Anon, Attr, Infeasible, Result, refine
from reticent import Release, Unsatisfiable, release


def in_policy_order(case: Case) -> Case:
    """The product lists anonymity before confidence; the order of values in a trace follows."""
    ordered = sorted(case.templates, key=lambda t: not isinstance(t, Anon))
    return replace(case, templates=ordered)


def released(case: Case) -> Release:
    return release(table_of(case.rows, case.attrs), case_policy(case, order="input"))


def compare(case: Case) -> int:
    """Run both; returns the number of steps, or -1 where both find the policy infeasible."""
    case = in_policy_order(case)
    try:
        expected = refine(**vars(case))
    except Infeasible:
        with pytest.raises(Unsatisfiable):
            released(case)
        return -1
    found = released(case)
    assert found.proof.holds
    steps = list(found.trace())
    same_steps(steps, expected.steps)
    compare_stops(found, expected)
    shown = found.table.select([a.name for a in case.attrs]).to_pylist()
    assert [{k: v or "" for k, v in row.items()} for row in shown] == expected.labels
    return len(steps)


def conditional(case: Case) -> Case:
    return replace(case, score="conditional")


def compare_stops(found: Release, expected: Result) -> None:
    """Both rule out the same refinements, after the same step, for the same reason."""
    assert {
        (stop.attribute, stop.value): {
            "after": stop.after, "broken": dict(stop.broken), "into": list(stop.into),
        }
        for stop in found.limits.stops()
    } == expected.stopped  # fmt: skip


@pytest.mark.parametrize("seed", [0, 20, 40, 60, 80, *some_or_many(100, *range(120, 300, 20))])
def test_engine_equals_twin(seed: int) -> None:
    for offset in range(20):
        compare(random_case(random.Random(seed + offset)))


@pytest.mark.parametrize("seed", [10_000, *some_or_many(10_020, *range(10_040, 10_160, 20))])
def test_engine_equals_twin_given_all_that_is_shown(seed: int) -> None:
    for offset in range(20):
        compare(conditional(random_case(random.Random(seed + offset))))


def test_two_threads_find_what_one_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reticent.refine.measures.TWO_THREADS", 0)
    for seed in range(5000, 5030):
        compare(random_case(random.Random(seed)))
        compare(conditional(random_case(random.Random(seed))))


def test_long_products_are_computed_as_well_as_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reticent.refine.totals._REMEMBERED", 3)
    for seed in range(7000, 7030):
        compare(conditional(random_case(random.Random(seed))))


def test_rows_too_wide_to_collapse_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reticent.refine.measures.fit_one_word", lambda sizes: False)
    for seed in range(6000, 6030):
        compare(random_case(random.Random(seed)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1400, 200))
def test_engine_equals_twin_on_many_more(seed: int) -> None:
    cases = [random_case(random.Random(seed + offset)) for offset in range(120)]
    steps = [compare(case) for case in cases + [conditional(case) for case in cases[:30]]]
    assert max(steps) > 5  # the cases are not all trivial


def test_ties_go_to_the_attribute_listed_first() -> None:
    rows = [{"A": x, "B": x, "C": x} for x in "aabb"]
    attrs = [Attr("B", "suppress"), Attr("A", "suppress")]
    case = Case(rows, attrs, [Anon(("A", "B"), 2)], "C", "classification")
    compare(case)
    found = released(case)
    assert [step.attribute for step in found.steps][:1] == ["B"]
