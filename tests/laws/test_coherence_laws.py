"""What holds for every recount of transactions, whatever they are."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest

from naive import coherence as naive
from naive.transactions import Case, random_case
from reticent.privacy.coherence import (
    BasketExposure,
    BasketFinding,
    Coherence,
    RoledBaskets,
    exposure,
    recount,
)
from transactions_at_hand import roled


def baskets(case: Case, seed: int) -> RoledBaskets:
    return roled(case, seed)[0]


def verdict(case: Case, seed: int) -> bool | None:
    return recount(baskets(case, seed), Coherence(h=case.h, k=case.k, p=case.p)).holds


def releases(count: int) -> list[tuple[Case, Case, list[int]]]:
    """Cases, what may be released of them, and what may not."""
    found = []
    for seed in range(count):
        case = random_case(random.Random(seed), sure=bool(seed % 2))
        if case.feasible():
            found.append((case, *naive.release(case)))
    return found


def gives_back(original: Case, case: Case, gone: list[int], rng: random.Random) -> Case:
    kept = set(gone) - ({rng.choice(gone)} if gone else set())
    return naive.without(original, kept)


def drops_a_transaction(original: Case, case: Case, gone: list[int], rng: random.Random) -> Case:
    at = rng.randrange(len(case.rows))
    rows, private = list(case.rows), list(case.private)
    del rows[at], private[at]
    return replace(case, rows=tuple(rows), private=tuple(private))


def adds_a_private_item(original: Case, case: Case, gone: list[int], rng: random.Random) -> Case:
    at, private = rng.randrange(len(case.rows)), list(case.private)
    private[at] |= {rng.randrange(naive.PRIVATE)}
    return replace(case, private=tuple(private))


def asks_for_more(original: Case, case: Case, gone: list[int], rng: random.Random) -> Case:
    return replace(case, k=case.k + 1, h=case.h * Fraction(9, 10))


@pytest.mark.parametrize(
    "mutate", [gives_back, drops_a_transaction, adds_a_private_item, asks_for_more]
)
def test_tampering_is_noticed(mutate: Callable[..., Case]) -> None:
    broken = 0
    for seed, (original, case, gone) in enumerate(releases(120)):
        rng = random.Random(seed)
        assert verdict(case, seed)
        for _ in range(3):
            changed = mutate(original, case, gone, rng)
            wanted = naive.coherent(changed)
            assert verdict(changed, seed) == wanted
            broken += not wanted
    assert broken > 5


def test_order_does_not_matter() -> None:
    for seed in range(80):
        rng = random.Random(seed)
        case = random_case(rng, sure=bool(seed % 2))
        order = rng.sample(range(len(case.rows)), len(case.rows))
        turned = replace(
            case,
            rows=tuple(case.rows[t] for t in order),
            private=tuple(case.private[t] for t in order),
        )
        assert verdict(case, seed) == verdict(turned, seed + 1)


def test_a_small_budget_decides_nothing_wrong() -> None:
    undecided = 0
    for seed, (original, case, _) in enumerate(releases(60)):
        for table in (original, case):
            promise, held = Coherence(h=table.h, k=table.k, p=table.p), baskets(table, seed)
            full = recount(held, promise)
            assert full.holds is not None
            decided: BasketFinding | None = None
            for budget in (0, *range(full.work // 4, full.work + 1, max(1, full.work // 40))):
                found = recount(held, promise, budget=budget)
                assert found.holds in (None, full.holds)
                assert decided is None or found.holds is not None
                decided = found if found.holds is not None else None
                undecided += found.holds is None
            some_item = any(table.rows)
            assert recount(held, promise, budget=0).holds is not True or not some_item
            assert recount(held, promise, budget=full.work).holds == full.holds
    assert undecided > 100


def test_a_level_is_counted_to_its_end_or_not_at_all() -> None:
    partly = 0
    for seed in range(40):
        case = random_case(random.Random(seed), sure=True)
        promise, held = Coherence(h=case.h, k=case.k), baskets(case, seed)
        full = exposure(held, promise, most=3)
        for budget in (0, 10, 100, 300, 1000, 3000, 10_000):
            levels = exposure(held, promise, most=3, budget=budget)
            counted = [level for level in levels if level.counted]
            assert tuple(counted) == full[: len(counted)]
            for level in levels[len(counted) :]:
                assert level == BasketExposure(level.known, None, None, None, None)
            partly += 0 < len(counted) < 4
    assert partly > 5


def counts(level: BasketExposure) -> list[Any]:
    return [level.unique, level.small, level.sure, level.largest]


def test_who_knows_more_sees_more_and_coherence_is_that_nobody_is_exposed() -> None:
    for seed, (original, case, _) in enumerate(releases(60)):
        for table in (original, case):
            levels = exposure(baskets(table, seed), Coherence(h=table.h, k=table.k), most=5)
            for level, more in pairwise(levels):
                assert counts(level) == [*map(min, counts(level), counts(more))]
            for level in levels[1:]:
                known = replace(table, p=level.known)
                assert verdict(known, seed) == (level.small == 0 and level.sure == 0)
