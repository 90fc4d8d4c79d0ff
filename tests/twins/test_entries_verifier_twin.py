"""The recount of hidden entries against its definition."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest

from naive import entries as naive
from naive.entries import Case
from reticent.privacy import entries
from reticent.privacy.entries import (
    EntryExposure,
    EntryFinding,
    PublishedEntries,
    SafeEntries,
    recount,
)

WAYS = ["as it comes", "lists", "walks"]


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "walks":
        monkeypatch.setattr(entries, "_SUMMED", 0)
    if request.param == "lists":
        monkeypatch.setattr(entries._Count, "_fits_a_list", lambda *_: True)
    return str(request.param)


def counted(case: Case) -> EntryFinding:
    conditions, values, asked, truth = naive.arrays(case)
    promise = SafeEntries(
        min_support=case.min_support,
        min_confidence=case.min_confidence,
        max_pattern=case.max_pattern,
    )
    return recount(PublishedEntries(conditions, values), promise, asked, truth)


def expected(case: Case) -> list[EntryExposure]:
    found = []
    for t, rules in naive.unsafe_rules(case).items():
        best = naive.strongest(rules)
        found.append(EntryExposure(t, len(rules), best.columns, best.value, best.support, best.own))
    return found


def compare(case: Case) -> bool:
    found = counted(case)
    assert found.complete
    assert found.visible == tuple(naive.visible(case))
    assert list(found.exposed) == expected(case)
    unsafe = [rule for rules in naive.unsafe_rules(case).values() for rule in rules]
    assert found.unsafe == len(set(unsafe))
    assert found.largest == naive.largest(case)
    assert found.holds is naive.is_safe(case)
    return bool(found.holds)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("part", range(4))
def test_recount(part: int) -> None:
    cases = [naive.random_case(random.Random(seed)) for seed in range(150 * part, 150 * part + 150)]
    verdicts = [compare(case) for case in cases]
    assert 20 < sum(verdicts) < 130


def test_the_cases_have_everything() -> None:
    cases = [naive.random_case(random.Random(seed)) for seed in range(600)]
    assert any(case.truth is None and naive.unsafe_rules(case) for case in cases)
    assert any(case.truth and None in case.truth.values() for case in cases)
    assert any(naive.visible(case) for case in cases)
    assert any(not case.asked for case in cases)
    shared = [naive.unsafe_rules(case) for case in cases]
    every = [[rule for rules in found.values() for rule in rules] for found in shared]
    assert sum(len(set(rules)) < len(rules) for rules in every) > 50
    assert sum(len(set(rules)) > 20 for rules in every) > 10


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("most", [None, 1, 2, 3, 9])
def test_more_columns(most: int | None) -> None:
    for seed in range(6):
        case = naive.random_case(random.Random(seed), columns=9)
        compare(replace(case, max_pattern=most, min_support=0))


@pytest.mark.usefixtures("way")
def test_thresholds_to_the_last_unit() -> None:
    """What is just kept, and what is just broken."""
    small = Fraction(1, 10**40)
    tried = 0
    for seed in range(200):
        case = naive.random_case(random.Random(seed))
        most = naive.largest(case)
        if most is None or naive.visible(case):
            continue
        tried += 1
        assert counted(replace(case, min_confidence=most)).holds
        assert not counted(replace(case, min_confidence=most - small)).holds
        if most < 1:
            assert counted(replace(case, min_confidence=most + small)).holds
        rules = [rule for t in case.asked for rule in naive.rules_of(case, t)]
        most_own = max(rule.own for rule in rules)
        strict = replace(case, min_confidence=Fraction(0))
        assert counted(replace(strict, min_support=most_own)).holds
        assert not counted(replace(strict, min_support=most_own - 1)).holds
    assert tried > 100
