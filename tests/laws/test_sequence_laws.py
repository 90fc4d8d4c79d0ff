"""What holds for releases beside earlier ones, whatever the tables."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import reticent
from naive import sequence
from naive.product import table_of
from naive.refine import Anon, Template
from naive.sequence_cases import Case, random_case, random_walk, world_of
from naive.sequence_product import case_policy
from reticent import Unsatisfiable


def is_monotone(case: Case, template: Template) -> bool:
    """Where the spec guarantees that refining never helps.

    `over` holds all that links, on both sides, and what is counted lies in one table. Linked rows
    lie in both, so a promise without `of` is not meant.
    """
    names = sequence.named(template, case.earlier)
    counted = template.of if isinstance(template, Anon) else tuple(template.sensitive)
    sides = {next((n for n in names if c.startswith(f"{n}.")), "") for c in counted}
    if len(sides) != 1:
        return False
    world = world_of(case)
    for release in (one for one in case.earlier if one.name in names):
        common = sequence.common(case.rows[0], release.rows[0], release, world)
        pairs = {name for pair in case.inconsistent for name in pair}
        mine = [n for n in {*common, *pairs} if n in case.rows[0] and n not in case.dropped]
        theirs = [n for n in {*common, *pairs} if n in release.rows[0] and n not in release.drop]
        if not {*mine, *(f"{release.name}.{n}" for n in theirs)} <= set(template.over):
            return False
    return True


@pytest.mark.parametrize("seed", range(0, 100, 100))
def test_what_is_guaranteed_never_gets_better(seed: int) -> None:
    """By blind walks from everything masked; the same promise, on our table alone, is as bad."""
    seen = 0
    for offset in range(100):
        rng = random.Random(seed + offset)
        case = random_case(rng)
        world = world_of(case)
        masked = [a for a in case.attrs if any(a.name in t.over for t in case.templates)]
        for template in case.templates:
            names = sequence.named(template, case.earlier)
            if not names or not is_monotone(case, template):
                continue
            seen += 1
            before = None
            for labels in random_walk(rng, case, masked):
                value = sequence.measure(template, case.rows, labels, case.earlier, world)
                if before is not None:
                    worse = value <= before if isinstance(template, Anon) else value >= before
                    assert worse, (seed + offset, template)
                before = value
    assert seen >= 5


@pytest.mark.parametrize("seed", range(500, 540, 20))
def test_no_release_could_show_more(seed: int, tmp_path: Path) -> None:
    """Whatever would be refined beyond the release breaks a promise, or is of no use."""
    for offset in range(20):
        case = random_case(random.Random(seed + offset))
        policy = case_policy(case, tmp_path, order="input")
        try:
            found = reticent.release(table_of(case.rows, case.attrs), policy)
        except Unsatisfiable:
            continue
        assert found.proof.holds
        final = {stop.attribute: 0 for stop in found.limits.stops()}
        for stop in found.limits.stops():
            final[stop.attribute] += 1
            assert stop.broken, (seed + offset, stop)
        for at, domain in enumerate(found.prepared.domains):
            fates = found.limits.fates(at)
            assert not len(fates["open"])
            assert len(fates["stopped"]) == final.get(domain.name, 0)


@pytest.mark.parametrize("seed", range(700, 712))
def test_the_order_of_rows_is_no_matter(seed: int, tmp_path: Path) -> None:
    case = random_case(random.Random(seed))
    policy = case_policy(case, tmp_path)
    table = table_of(case.rows, case.attrs)
    try:
        one = reticent.release(table, policy)
    except Unsatisfiable:
        return
    backwards = table.take(pa.array(range(table.num_rows - 1, -1, -1)))
    for release in case.earlier:
        path = tmp_path / f"{release.name}.parquet"
        rows = pq.read_table(path)
        pq.write_table(rows.take(pa.array(range(rows.num_rows - 1, -1, -1))), path)
    two = reticent.release(backwards, policy)
    assert one.table.equals(two.table)
    assert list(one.trace()) == list(two.trace())


def test_a_refinement_can_mend_a_promise(tmp_path: Path) -> None:
    """The thesis says it cannot (lemma 6.2.2); where a linking column stands outside `over` it can.

    With places masked, 10 of 11 linked rows are of somebody who is sick. Told apart, the sick meet
    one record, and who is healthy meets a thousand.
    """
    old = pa.table({"Place": ["X"] + ["Y"] * 1000, "Zip": ["1"] * 1001})
    pq.write_table(old, tmp_path / "old.parquet")
    table = pa.table({"Place": ["X"] * 10 + ["Y"], "Sick": ["yes"] * 10 + ["no"]})
    policy = {
        "previous": {"old": {"path": str(tmp_path / "old.parquet")}},
        "attributes": {"Place": {"mask": "generalize", "taxonomy": {"ANY": ["X", "Y"]}}},
        "anonymity": [{"over": ["Place"], "k": 1}],
        "confidence": [{"over": ["old.Zip"], "sensitive": {"Sick": ["yes"]}, "at_most": "10/11"}],
    }
    masked = reticent.release(table, policy, max_steps=0)
    assert masked.proof.findings[1].value == Fraction(10, 11)
    assert reticent.release(table, policy).proof.findings[1].value == Fraction(1, 101)


def test_what_breaks_a_promise_now_may_keep_it_later(tmp_path: Path) -> None:
    """Linked rows are counted on both sides: a small group can vanish, as nobody matches it."""
    pq.write_table(pa.table({"J": ["UK"] * 3 + ["FR"]}), tmp_path / "old.parquet")
    table = pa.table({"J": ["UK"] + ["FR"] * 3, "Q": ["a"] + ["b"] * 3})
    policy = {
        "previous": {"old": {"path": str(tmp_path / "old.parquet")}},
        "attributes": {
            "J": {"mask": "generalize", "taxonomy": {"ANY": ["UK", "FR"]}},
            "Q": {"mask": "suppress"},
        },
        "anonymity": [{"over": ["J", "Q", "old.J"], "k": 3}],
        "goal": {"search": "greedy", "score": "paper"},
    }
    found = reticent.release(table, policy)
    assert [step.attribute for step in found.steps] == ["J", "Q", "Q"]
    assert found.proof.findings[0].value == 3
