"""Releases beside earlier ones against their naive twin, which links rows pair by pair."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from at_hand import some_or_many
from naive import sequence
from naive.product import same_steps, table_of
from naive.refine import Anon, Infeasible
from naive.sequence_cases import Case, random_case, refined, world_of
from naive.sequence_product import case_policy
from reticent import InputError, Unsatisfiable, release
from reticent.privacy import rejoin_fast
from reticent.tables import masking


def in_policy_order(case: Case) -> Case:
    ordered = sorted(case.templates, key=lambda t: not isinstance(t, Anon))
    return replace(case, templates=ordered)


def compare(case: Case, place: Path) -> int:
    """Run both; returns the number of steps, or -1 where both find the policy infeasible."""
    case = in_policy_order(case)
    policy = case_policy(case, place, order="input")
    table = table_of(case.rows, case.attrs)
    try:
        expected = refined(case)
    except Infeasible:
        with pytest.raises(Unsatisfiable):
            release(table, policy)
        return -1
    found = release(table, policy)
    assert found.proof.holds
    steps = list(found.trace())
    same_steps(steps, expected.steps)
    if found.prepared.domains:
        shown = found.table.select([d.name for d in found.prepared.domains]).to_pylist()
        labels = [{name: row[name] for name in row_} for row, row_ in
                  zip(expected.labels, shown, strict=True)]  # fmt: skip
        assert [{k: v or "" for k, v in row.items()} for row in shown] == labels
    unmasked: list[dict[str, str]] = [{} for _ in case.rows]
    for exposure, template in zip(found.before, case.templates, strict=True):
        value = sequence.measure(template, case.rows, unmasked, case.earlier, world_of(case))
        assert exposure.value == value, template
    last = expected.steps[-1]["templates"] if expected.steps else []
    searched = [f for i, f in enumerate(found.proof.findings) if i not in found.implied]
    assert not last or [finding.value for finding in searched] == last
    return len(steps)


@pytest.mark.parametrize("really", [True, False], ids=["real join", "products"])
@pytest.mark.parametrize("seed", some_or_many(0, 15))
def test_beside_earlier_releases(
    seed: int, really: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also both ways of the verifier, which recounts every template of every release."""
    if not really:
        monkeypatch.setattr(rejoin_fast, "MOST_ROWS", 0)
        monkeypatch.setattr(rejoin_fast, "MOST_PEOPLE", 0)
        monkeypatch.setattr(masking, "MANY", 0)
    for offset in range(15):
        compare(random_case(random.Random(seed + offset)), tmp_path)


@pytest.mark.parametrize("seed", range(10_000, 10_015, 15))
def test_beside_earlier_releases_given_all_that_is_shown(seed: int, tmp_path: Path) -> None:
    for offset in range(15):
        case = random_case(random.Random(seed + offset))
        compare(replace(case, score="conditional"), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20_000, 20_100, 50))
def test_beside_earlier_releases_at_length(seed: int, tmp_path: Path) -> None:
    made = [compare(random_case(random.Random(seed + i)), tmp_path) for i in range(50)]
    assert max(made) > 0


@pytest.mark.parametrize("seed", range(3))
def test_people_who_are_in_one_table_only(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    told = 0
    for _ in range(60):
        case = random_case(rng)
        fewer = [replace(one, rows=one.rows[1:] or one.rows) for one in case.earlier]
        case = in_policy_order(replace(case, earlier=fewer))
        world = world_of(case)
        alone = [sequence.strangers(case.rows, one, world) for one in case.earlier]
        if not any(map(any, alone)):
            continue
        told += 1
        with pytest.raises(InputError, match="match nothing") as refusal:
            release(table_of(case.rows, case.attrs), case_policy(case, tmp_path))
        for (ours, theirs), one in zip(alone, case.earlier, strict=True):
            if ours or theirs:
                said = f"{ours} records of this table match nothing in release {one.name}"
                assert said in str(refusal.value)
                assert f"and {theirs} of its records match nothing here" in str(refusal.value)
    assert told
