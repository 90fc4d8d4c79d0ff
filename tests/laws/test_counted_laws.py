"""A table whose equal rows are counted once is the same table: same steps, same rows."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from naive.cases import random_case
from naive.product import policy_of, table_of
from reticent import Policy, Unsatisfiable
from reticent.data.collapse import distinct
from reticent.data.columns import Table
from reticent.progress import Watch
from reticent.sample import make
from reticent.sources.arrival import read
from reticent.tables.exposure import exposures
from reticent.tables.masking import arrow, mask
from reticent.tables.prepare import Prepared, prepare
from reticent.tables.search.greedy import Effort
from reticent.tables.search.judge import Judge
from reticent.tables.search.rare import find_leaving_out


def counted(table: Table) -> Table:
    """The same records, equal ones as one row."""
    columns = list(table.columns.values())
    found = distinct([c.codes for c in columns], [len(c.values) for c in columns])
    rows = {
        c.name: replace(c, codes=codes.astype(c.codes.dtype), numbered=False)
        for c, codes in zip(columns, found.columns, strict=True)
    }
    return replace(table, columns=rows, rows=len(found.counts), counts=found.counts)


def told(prepared: Prepared) -> dict[str, Any]:
    """Everything that a release of a prepared table says, but for how long it took."""
    try:
        table, found, left_out = find_leaving_out(prepared, Watch(), Effort(rounds=3))
    except Unsatisfiable as error:
        return {"error": str(error)}
    masked = mask(table, found.recodings)
    return {
        "steps": found.steps,
        "rounds": found.rounds,
        "values": found.values,
        "worth": found.worth,
        "error": found.error,
        "alternatives": [other.steps for other in found.alternatives],
        "rows": arrow(masked.rows),
        "hidden": masked.hidden and arrow(masked.hidden),
        "before": [(e.value, e.groups, e.breaking, e.above) for e in exposures(prepared, worst=5)],
        "left_out": left_out and (left_out.count, list(left_out.differences())),
        "warnings": table.warnings,
    }


def same(table: Table, policy: Policy) -> None:
    assert told(prepare(counted(table), policy)) == told(prepare(table, policy))


@pytest.mark.parametrize("seed", range(60))
def test_equal_rows_counted_once(seed: int) -> None:
    rng = random.Random(seed)
    case = random_case(rng)
    rows = [row for row in case.rows for _ in range(rng.choice([1, 1, 3]))]
    goal = {
        "utility": case.utility,
        "score": rng.choice(["paper", "conditional"]),
        "search": rng.choice(["greedy", "thorough"]),
    }
    share = rng.choice(["0", "1/5", "2/5"])
    policy = policy_of(case.attrs, case.templates, cls=case.cls, goal=goal, suppress_records=share)
    same(read(table_of(rows, case.attrs))[0], policy)


@pytest.mark.slow
@pytest.mark.parametrize("share", ["0", "0.02"])
def test_a_census(share: str) -> None:
    over = ["Age", "Education", "Occupation", "Sex"]
    table = read(make("census", rows=20_000, seed=3).select([*over, "Marital", "Income"]))[0]
    assert counted(table).rows < table.rows
    anonymity = [{"over": over, "k": 20}]
    said = {"class": "Income", "keep": "*", "suppress_records": share, "anonymity": anonymity}
    same(table, Policy.from_data(said))


def test_a_judge_draws_the_same_records() -> None:
    table = read(make("census", rows=5_000, seed=1).select(["Age", "Sex", "Marital", "Income"]))[0]
    policy = Policy.from_data(
        {"class": "Income", "keep": "*", "anonymity": [{"over": ["Age", "Sex"], "k": 5}]}
    )
    assert counted(table).rows < table.rows
    first, second = (Judge(prepare(t, policy)) for t in (table, counted(table)))
    for a, b in zip(first.leaves, second.leaves, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(first.classes, second.classes)
