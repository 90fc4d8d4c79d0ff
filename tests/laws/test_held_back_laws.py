"""When a column shows nothing for the sake of those who miss its value, and only then, it is said."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import reticent
from at_hand import some_or_many
from naive.cases import Case, random_case
from naive.product import case_policy, is_feasible, labels_of, table_of
from naive.refine import Attr, Labels, holds, mask, measure, refinements, start
from reticent import Release
from reticent.tables import text


def told_naively(case: Case, found: Release, attr: Attr) -> set[str]:
    """Refinements of a hidden column that only those who miss it ruled out, by the definition."""
    column = [row[attr.name] for row in case.rows]
    parts = dict(refinements(attr, start(attr, column, "*"), case.rows, case.cls, "*"))
    table, policy = table_of(case.rows, case.attrs), case_policy(case, order="input")
    wanted = set()
    for stop in found.limits.stops():
        if stop.attribute != attr.name or not stop.value:
            continue
        then = reticent.release(table, policy, max_steps=stop.after)
        shown = mask(case.rows, {attr.name: list(parts[stop.value])})
        labels: list[Labels] = [
            {**a, **b} for a, b in zip(labels_of(case, then.table), shown, strict=True)
        ]
        broken = [t for t in case.templates if not holds(t, measure(t, case.rows, labels))]
        assert broken
        rest = [i for i, cell in enumerate(column) if cell is not None]
        others = [case.rows[i] for i in rest], [labels[i] for i in rest]
        if all(holds(t, measure(t, *others)) for t in broken):
            wanted.add(stop.value)
    return wanted


@pytest.mark.parametrize("seeds", some_or_many(range(50), range(50, 600)))
def test_it_is_said_where_it_is_true(seeds: range) -> None:
    said = silent = 0
    for seed in seeds:
        case = random_case(random.Random(seed))
        if not is_feasible(case):
            continue
        found = reticent.release(table_of(case.rows, case.attrs), case_policy(case, order="input"))
        told = {one.column: one for one in found.held_back}
        for attr in case.attrs:
            hidden = len({labels[attr.name] for labels in labels_of(case, found.table)}) == 1
            missed = any(row[attr.name] is None for row in case.rows)
            wanted = told_naively(case, found, attr) if hidden and missed else set()
            assert (told[attr.name].value in wanted) if attr.name in told else not wanted
            said += attr.name in told
            silent += hidden and missed and not wanted
    assert said > 2
    assert silent > 2


MASKS: dict[str, dict[str, Any]] = {
    "learnt": {"mask": "discretize", "range": [0, 100]},
    "fixed": {"intervals": [0, 50, 100]},
    "tree": {"mask": "generalize", "taxonomy": {"ANY": ["10", "20", "80"]}},
}


def survey(missing: int, ages: list[str]) -> pa.Table:
    age = [None if i < missing else ages[i % len(ages)] for i in range(300)]
    return pa.table({"Age": age, "Sex": ["f", "m"] * 150, "Ill": ["no", "no", "yes"] * 100})


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("missing", [0, 1, 3, 60])
def test_a_few_who_miss_it_keep_a_column_hidden(mask: str, missing: int, tmp_path: Path) -> None:
    policy: dict[str, Any] = {
        "keep": ["Ill"],
        "attributes": {"Age": MASKS[mask]},
        "anonymity": [{"over": ["Age", "Sex"], "k": 10}],
    }
    found = reticent.release(survey(missing, ["10", "20", "80"]), policy, output=tmp_path / "out")
    printed = text.release(found.facts())
    page = (tmp_path / "out/private/report.html").read_text()
    lines = (tmp_path / "out/private/stopped.jsonl").read_text().splitlines()
    marked = [stop for stop in map(json.loads, lines) if "for_missing" in stop]
    if missing in (0, 60):
        assert not found.summary()["held_back"]
        assert "shows nothing because" not in printed + page
        assert not marked
        return
    [one] = found.summary()["held_back"]
    assert (one["column"], one["missing"]) == ("Age", missing)
    assert [(stop["attribute"], stop["for_missing"]) for stop in marked] == [("Age", missing)]
    who = "1 record misses it" if missing == 1 else "3 records miss it"
    assert f'"Age" shows nothing because {who}: a group of {missing} would be left' in printed
    assert 'missing = "drop",  or allow  suppress_records.' in printed
    assert who in page
    public = "".join(p.read_text() for p in (tmp_path / "out/public").glob("report*"))
    assert "held_back" not in public
    assert "miss it" not in public
    for remedy in ({"missing": "drop"}, {"suppress_records": 0.02, "goal": {"search": "greedy"}}):
        shown = reticent.release(survey(missing, ["10", "20", "80"]), {**policy, **remedy})
        assert len(shown.cuts["Age"]) > 1
        assert not shown.held_back


def test_a_suppressed_column_of_one_value_and_none_says_so_too() -> None:
    table = pa.table({"Pet": ["cat"] * 97 + [None] * 3, "Sex": ["f", "m"] * 50})
    found = reticent.release(table, {"anonymity": [{"over": ["Pet"], "k": 10}], "keep": ["Sex"]})
    assert [one.value for one in found.held_back] == ["cat"]
    three = pa.table({"Pet": ["cat"] * 50 + ["dog"] * 47 + [None] * 3})
    found = reticent.release(three, {"anonymity": [{"over": ["Pet"], "k": 10}]})
    assert not found.held_back  # it shows the cats


def test_leaving_out_is_no_remedy_against_inferences() -> None:
    policy: dict[str, Any] = {
        "attributes": {"Age": MASKS["learnt"]},
        "confidence": [{"over": ["Age"], "sensitive": {"Ill": ["yes"]}, "at_most": 0.5}],
        "keep": ["Sex"],
    }
    table = survey(0, ["10", "20", "80"])
    ages = [None if i == 2 else age for i, age in enumerate(table.column("Age").to_pylist())]
    found = reticent.release(table.set_column(0, "Age", pa.array(ages)), policy)
    [one] = found.held_back
    assert one.do == 'Fill them, or leave them out with  missing = "drop".'
    assert "1 record misses it" in one.says
