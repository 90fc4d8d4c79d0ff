"""What is true of every release, whatever the table, the taxonomies and the policy.

Each law is one function; all of them run over the same random cases. A law judges by the original
rows and the released cells alone: nothing of the engine is asked whether the engine is right.
"""

from __future__ import annotations

import random
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import reticent
from at_hand import refusal, some_or_many
from naive.cases import Case, random_case
from naive.product import case_policy, is_feasible, keeps, labels_of, table_of
from naive.refine import (
    Attr,
    Infeasible,
    Labels,
    Part,
    Template,
    mask,
    measure,
    start_state,
    trials,
)
from reticent import Policy, Release, Unsatisfiable

MARKER = "*"
INTERVAL = re.compile(r"\[(-?[0-9.e-]+),(-?[0-9.e-]+)([\])])")


def release(case: Case, *, order: str = "input", **more: Any) -> Release:
    policy = case_policy(case, order=order)
    return reticent.release(table_of(case.rows, case.attrs), policy, **more)


# --- the laws -------------------------------------------------------------------------------------


def passes_the_verifier(case: Case, rng: random.Random) -> None:
    """An independent recount of the released table finds every promise kept."""
    found = release(case, order=rng.choice(["sorted", "input"]))
    proof = reticent.verify(found.table, case_policy(case))
    assert proof.holds
    assert not proof.unchecked  # nothing here is dropped
    assert not proof.leftovers
    assert proof.findings == found.proof.findings
    assert proof.rows == len(case.rows)


def could_not_be_finer(case: Case, rng: random.Random) -> None:
    """No single further refinement is both valid and beneficial."""
    labels = labels_of(case, release(case).table)
    state = {attr.name: list(parts_shown(case, attr, labels)) for attr in case.attrs}
    assert mask(case.rows, state) == labels
    assert keeps(case, labels)
    target = case.cls if case.utility == "classification" else None
    for attr, _, value, _, further in trials(case.rows, case.attrs, state, case.cls, target):
        then = mask(case.rows, further)
        assert not keeps(case, then), (attr.name, value)


def row_order_does_not_matter(case: Case, rng: random.Random) -> None:
    """Shuffled rows come to the same steps and the same table."""
    first = release(case, order="sorted")
    shuffled = release(replace(case, rows=rng.sample(case.rows, len(case.rows))), order="sorted")
    assert shuffled.table.equals(first.table)
    assert path_of(shuffled) == path_of(first)
    assert shuffled.proof == first.proof


def same_input_same_bytes(case: Case, rng: random.Random) -> None:
    """What is written twice is written byte for byte the same."""
    order = rng.choice(["sorted", "input"])
    suffix = rng.choice([".csv", ".csv", ".csv", ".csv.gz", ".parquet", ".arrow"])
    with tempfile.TemporaryDirectory() as folder:
        once, twice = (Path(folder) / f"{i}{suffix}" for i in (1, 2))
        release(case, order=order, output=once)
        release(case, order=order, output=twice)
        assert once.read_bytes() == twice.read_bytes()
        assert reticent.verify(once, case_policy(case)).holds


def stopping_early_gives_the_first_steps(case: Case, rng: random.Random) -> None:
    """With `max_steps` the run is cut off, not changed, and what it gives is valid."""
    whole = release(case)
    most = rng.randint(0, len(whole.steps) + 1)
    part = release(case, max_steps=most)
    assert part.steps == whole.steps[:most]
    assert part.stopped_early == (most < len(whole.steps))
    assert reticent.verify(part.table, case_policy(case)).holds
    labels = labels_of(case, part.table)
    assert_covered(case, labels)
    if part.steps:
        wanted = [measure(t, case.rows, labels) for t in needed_in_order(case, part)]
        assert list(part.steps[-1].values) == wanted


def labels_cover_their_values(case: Case, rng: random.Random) -> None:
    """A masked cell says something true of the original one; other cells come out as they were."""
    found = release(case)
    assert_covered(case, labels_of(case, found.table))
    masked = {attr.name for attr in case.attrs}
    for name in found.table.column_names:
        if name not in masked:
            assert found.table.column(name).to_pylist() == [row[name] for row in case.rows]
    assert found.table.column_names == list(case.rows[0])


LAWS = [
    passes_the_verifier,
    could_not_be_finer,
    row_order_does_not_matter,
    same_input_same_bytes,
    stopping_early_gives_the_first_steps,
    labels_cover_their_values,
]
Law = Callable[[Case, random.Random], None]


def obey(law: Law, seed: int) -> None:
    """Try a law on one case; a case that no release can satisfy has to be told so."""
    rng = random.Random(seed)
    case = random_case(rng)
    if is_feasible(case):
        law(case, rng)
    else:
        refusal(lambda: release(case), kind=Unsatisfiable)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("seeds", some_or_many(range(24), range(24, 90)))
def test_law(law: Law, seeds: range) -> None:
    for seed in seeds:
        obey(law, seed)


# --- what the released cells say ------------------------------------------------------------------


def path_of(found: Release) -> list[tuple[str, str, Sequence[str]]]:
    return [(step.attribute, step.value, step.into) for step in found.steps]


def needed_in_order(case: Case, found: Release) -> list[Template]:
    """The templates that the search kept, in the product's order: anonymity first."""
    ordered = sorted(case.templates, key=lambda t: hasattr(t, "at_most"))
    return [t for i, t in enumerate(ordered) if i not in found.implied]


def parts_shown(case: Case, attr: Attr, labels: list[Labels]) -> Iterator[Part]:
    """Read the current values of an attribute off the released labels."""
    values: dict[str, set[Any]] = {}
    for row, shown in zip(case.rows, labels, strict=True):
        values.setdefault(shown[attr.name], set()).add(row[attr.name])
    tree = {part.label: part for part in below(start_state(case.rows, case.attrs)[attr.name][0])}
    for label, held in values.items():
        if attr.mask == "suppress":
            yield Part(label, frozenset(held))
        elif label in tree:
            yield replace(tree[label], values=frozenset(held))
        else:  # a learnt interval: no tree foresaw it
            low, high, end = interval_of(label)
            yield Part(label, frozenset(held), span=(low, high, end == "]"))


def below(part: Part) -> Iterator[Part]:
    yield part
    for kid in part.kids:
        yield from below(kid)


def interval_of(label: str) -> tuple[float, float, str]:
    match = INTERVAL.fullmatch(label)
    assert match is not None, "a label that is no interval"
    return float(match[1]), float(match[2]), match[3]


def assert_covered(case: Case, labels: list[Labels]) -> None:
    for row, shown in zip(case.rows, labels, strict=True):
        for attr in case.attrs:
            assert covers(attr, shown[attr.name], row[attr.name]), attr.name


def covers(attr: Attr, label: str, value: Any) -> bool:
    """Whether a label is true of a value: itself, an ancestor, an interval around it, or hidden."""
    if attr.mask == "generalize":
        assert attr.tree is not None
        [(root, tree)] = attr.tree.items()
        if value is None:
            return label in (root, "")
        return label in path_to(value, {root: tree})
    if value is None:
        return label in (MARKER, "")
    if label == MARKER:
        return True
    if attr.mask == "suppress":
        return bool(label == value)
    low, high, end = interval_of(label)
    return bool(low <= value < high or (end == "]" and value == high))


def path_to(leaf: str, tree: dict[str, Any]) -> list[str]:
    """The labels from the root down to a leaf; empty where it is not below."""
    for label, kids in tree.items():
        if label == leaf and not kids:
            return [label]
        if path := path_to(leaf, kids):
            return [label, *path]
    return []


def test_the_naive_twin_agrees_that_a_case_is_infeasible() -> None:
    """The battery meets both kinds of case, and calls infeasible what the definition does."""
    from naive.refine import refine

    seen = {True: 0, False: 0}
    for seed in range(60):
        case = random_case(random.Random(seed))
        feasible = is_feasible(case)
        seen[feasible] += 1
        if not feasible:
            with pytest.raises(Infeasible):
                refine(**vars(case))
    assert all(seen.values())


ALIKE = [
    pytest.param(pa.array([0.0, -0.0, 1.0, 2.0]), id="signed zeros"),
    pytest.param(pa.array([1, 2, 5_000, 9_000], pa.timestamp("ns")), id="nanoseconds"),
    pytest.param(pa.array([1, 2, 5_000, 9_000], pa.time64("ns")), id="nanoseconds of a day"),
]


@pytest.mark.parametrize("cells", ALIKE)
def test_search_and_verifier_agree_on_which_values_are_distinct(cells: pa.Array) -> None:
    """Typed values may differ and still print alike; whatever counts, both must count the same."""
    table = pa.table({"Job": ["Cook", "Cook", "Clerk", "Clerk"], "Ill": cells})
    counted = {"keep": ["Ill"], "anonymity": [{"over": ["Job"], "k": 2, "of": ["Ill"]}]}
    hidden = {"confidence": [{"over": ["Job"], "sensitive": {"Ill": "*"}, "at_most": "1/2"}]}
    for said in (counted, hidden):
        policy = Policy.model_validate(said)
        found = reticent.release(table, policy)
        assert reticent.verify(found.table, policy).holds
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "out.csv"
            reticent.release(table, policy, output=path)
            assert reticent.verify(path, policy).holds
