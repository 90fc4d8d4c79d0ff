"""Thresholds that are searched together find what each would find alone."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from naive.cases import Case, random_case
from naive.product import case_policy, table_of
from naive.refine import Anon, Conf
from reticent.errors import InputError, Unsatisfiable
from reticent.progress import Watch
from reticent.sources.arrival import read
from reticent.tables.policy import Policy
from reticent.tables.prepare import prepare
from reticent.tables.search.greedy import Found
from reticent.tables.search.riding import search_together
from reticent.tables.search.thorough import find


def ladder(case: Case, kind: type, rng: random.Random) -> list[Policy]:
    """The case's policy under several thresholds, the loosest first."""
    if kind is Anon:
        steps: list[Any] = sorted(rng.sample(range(1, 12), rng.randint(1, 6)))
    else:
        steps = sorted({Fraction(rng.randint(1, 12), 12) for _ in range(5)}, reverse=True)
    key = "k" if kind is Anon else "at_most"
    return [
        case_policy(
            replace(
                case,
                templates=[
                    replace(t, **{key: step}) if isinstance(t, kind) else t for t in case.templates
                ],
            )
        )
        for step in steps
    ]


def told(found: Found) -> tuple[Any, ...]:
    return (
        found.steps,
        found.recodings,
        found.values,
        dict(found.implied),
        found.stopped_early,
        list(found.limits.stops()),
    )


def alone(prepared: Any, policy: Policy) -> tuple[Any, ...] | str:
    try:
        return told(find(replace(prepared, policy=policy), Watch()))
    except Unsatisfiable as error:
        return error.text()


def compare(case: Case, kind: type, rng: random.Random) -> int:
    policies = ladder(case, kind, rng)
    table, _ = read(table_of(case.rows, case.attrs))
    try:
        prepared = prepare(table, policies[0])
    except InputError:
        return 0
    together = dict(search_together(prepared, policies, Watch()))
    assert sorted(together) == list(range(len(policies)))
    for position, policy in enumerate(policies):
        found = together[position]
        ours = found.text() if isinstance(found, Unsatisfiable) else told(found)
        assert ours == alone(prepared, policy)
    return len(policies)


@pytest.mark.parametrize("kind", [Anon, Conf])
@pytest.mark.parametrize("seed", range(0, 160, 20))
def test_together_as_alone(kind: type, seed: int) -> None:
    compared = 0
    for offset in range(20):
        rng = random.Random(f"{kind.__name__} {seed + offset}")
        case = random_case(rng)
        if any(isinstance(template, kind) for template in case.templates):
            compared += compare(case, kind, rng)
    assert compared > 10
