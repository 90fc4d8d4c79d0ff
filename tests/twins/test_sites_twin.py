"""Tables that stay at their sites give the tree of all tables at one, node by node."""

from __future__ import annotations

from typing import Any

import pytest

from naive import join_tree as naive
from reticent.errors import InputError
from reticent.jointree.classification import joined_rows
from reticent.jointree.learning import grown
from reticent.jointree.model import model_of
from reticent.jointree.propagation import Propagated, propagate
from reticent.jointree.schema import JoinSchema
from reticent.jointree.sites import growing
from reticent.jointree.tables import code
from sites_at_hand import (
    classified_at_sites,
    cleared,
    grown_at_sites,
    highest_in_the_open,
    model_at,
    put_together,
    random_sites,
    sited,
    with_ids,
)
from twins.test_join_tree_twin import frames_of, plain, random_case, schema_of, with_many_copies


@pytest.fixture
def in_the_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing, "highest", highest_in_the_open)


def at_one_site(schema: JoinSchema, tables: list[Any]) -> Propagated | InputError:
    try:
        return propagate(code(schema, tables), schema.grow.weight)
    except InputError as error:
        return error


def check(seed: int, case: tuple[naive.Tables, dict[str, Any]]) -> str:
    """Grow the tree at one site and at several, and compare; says what numbers it took."""
    data, _ = case
    if len(data.names) < 2:
        return "one table"
    schema, tables = random_sites(seed, case)
    joined = at_one_site(schema, tables)
    if isinstance(joined, InputError):
        with pytest.raises(InputError) as refused:
            grown_at_sites(schema, tables)
        assert refused.value.problems[0].what == joined.problems[0].what, seed
        return "empty"
    alone = model_of(
        joined, grown(joined, schema.grow.options()), schema.class_, schema.grow.weight
    )
    found = {site: model_at(tree) for site, tree in grown_at_sites(schema, tables).items()}
    root = put_together(found)
    first = next(iter(found.values()))
    assert (first.classes, first.numbers) == (alone.classes, alone.numbers), seed
    names = alone.classes
    assert plain(root, data, names) == plain(alone.root, data, names), seed
    for table, columns in alone.seen.items():
        site = schema.tables[table].site
        assert site is not None
        assert found[site].seen[table] == columns
    return joined.numbers


@pytest.mark.usefixtures("in_the_open")
@pytest.mark.parametrize("part", range(2))
def test_the_tree_of_several_sites_is_that_of_one(part: int) -> None:
    seen = {check(seed, random_case(seed)) for seed in range(part * 60, part * 60 + 60)}
    assert seen == {"int64", "empty", "one table"}


@pytest.mark.usefixtures("in_the_open")
@pytest.mark.parametrize("most", [2**25, 2**58])
def test_numbers_of_any_size_are_told(most: int) -> None:
    seen = {check(seed, with_many_copies(seed, most)) for seed in range(25)}
    assert {"int64", "big integers"} <= seen


@pytest.mark.usefixtures("in_the_open")
def test_floats_are_added_up_in_one_order() -> None:
    """Weights of records without a common measure: equal to the last bit, not only about."""
    seen = []
    for seed in range(40):
        data, rules = with_many_copies(seed, 2**30)
        seen.append(check(seed, (data, {**rules, "weight": "record"})))
    assert seen.count("float64") > 10


def test_keys_are_compared_under_encryption() -> None:
    assert {check(seed, random_case(seed)) for seed in range(6)} >= {"int64"}


# Classification ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("in_the_open")
def test_records_take_the_path_at_sites_that_their_joined_rows_take_at_one() -> None:
    rows = 0
    for seed in range(60):
        data, rules = random_case(seed)
        if len(data.names) < 2:
            continue
        schema, frames = with_ids(sited(schema_of(data, rules), seed), frames_of(data))
        tables = [cleared(frames[name], name) for name in schema.names]
        joined = at_one_site(schema, tables)
        if isinstance(joined, InputError):
            continue
        alone = model_of(joined, grown(joined, schema.grow.options()), schema.class_)
        asked = joined_rows(alone, schema, frames)
        trees = {site: model_at(tree) for site, tree in grown_at_sites(schema, tables).items()}
        ids = asked.drop_columns(["class"])
        for told in classified_at_sites(trees, schema, frames, ids).values():
            assert told == asked["class"].to_pylist(), seed
        rows += asked.num_rows
    assert rows > 1000
