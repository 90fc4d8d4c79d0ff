"""Tables that stay at their sites give the tree of all tables at one, node by node."""

from __future__ import annotations

import random
from typing import Any

import pytest

from naive import join_tree as naive
from reticent.errors import InputError, Unsatisfiable
from reticent.jointree.classification import joined_rows
from reticent.jointree.learning import grown
from reticent.jointree.model import model_of
from reticent.jointree.propagation import Propagated, propagate
from reticent.jointree.schema import JoinSchema
from reticent.jointree.sites import growing, words
from reticent.jointree.sites.experiment import model_at
from reticent.jointree.sites.layout import Crossing, SiteLayout
from reticent.jointree.sites.words import ALIKE
from reticent.jointree.tables import code
from sites.sites_at_hand import (
    classified_at_sites,
    cleared,
    grown_again,
    grown_at_sites,
    highest_in_the_open,
    put_together,
    random_sites,
    sited,
    with_ids,
    with_min_count,
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
    alone = model_of(joined, grown(joined, schema.grow.options()), schema)
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
@pytest.mark.parametrize(
    "part", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 8))]
)
def test_the_tree_of_several_sites_is_that_of_one(part: int) -> None:
    seen = {check(seed, random_case(seed)) for seed in range(part * 60, part * 60 + 60)}
    assert seen == {"int64", "empty", "one table"}


@pytest.mark.usefixtures("in_the_open")
@pytest.mark.parametrize("most", [2**25, 2**58])
def test_numbers_of_any_size_are_told(most: int) -> None:
    seen = {check(seed, with_many_copies(seed, most)) for seed in range(25)}
    assert {"int64", "big integers"} <= seen


def same_up_to_rounding(found: naive.Node, wanted: naive.Node) -> bool:
    """Whether two trees ask the same, and count the same but for what rounding takes."""
    counts = zip(found["counts"], wanted["counts"], strict=True)
    same = all(abs(a - b) <= ALIKE * max(a, b) for a, b in counts)
    same = same and found.get("test") == wanted.get("test")
    below = [found.get("branches", []), wanted.get("branches", [])]
    return same and len(below[0]) == len(below[1]) and all(map(same_up_to_rounding, *below))


@pytest.mark.usefixtures("in_the_open")
def test_floats_are_told_rounded_and_give_the_same_tree() -> None:
    """Weights of records without a common measure: what ties on paper may fall either way."""
    floats = others = 0
    for seed in range(60):
        data, rules = with_many_copies(seed, 2**30)
        if len(data.names) < 2:
            continue
        schema, tables = random_sites(seed, (data, {**rules, "weight": "record"}))
        joined = at_one_site(schema, tables)
        if isinstance(joined, InputError) or joined.numbers != "float64":
            continue
        alone = model_of(joined, grown(joined, schema.grow.options()), schema)
        found = {site: model_at(tree) for site, tree in grown_at_sites(schema, tables).items()}
        trees = [plain(root, data, alone.classes) for root in (put_together(found), alone.root)]
        floats += 1
        others += not same_up_to_rounding(*trees)
    assert floats > 20
    assert others < 3


@pytest.mark.usefixtures("in_the_open")
@pytest.mark.parametrize("most", [1, 7])
def test_sums_go_in_as_many_messages_as_it_takes(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(words, "MOST_SUMS", most)
    seen = {check(seed, random_case(seed)) for seed in range(40)}
    seen |= {check(seed, with_many_copies(seed, 2**58)) for seed in range(10)}
    assert {"int64", "big integers"} <= seen


@pytest.mark.usefixtures("in_the_open")
def test_what_was_told_is_read_from_notes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "MOST_SUMS", 5)
    compared = 0
    for seed in range(30):
        data, rules = random_case(seed)
        if len(data.names) < 2:
            continue
        schema, tables = random_sites(seed, (data, rules))
        if isinstance(at_one_site(schema, tables), InputError):
            continue
        first, again = grown_again(schema, tables)
        for site, tree in first.items():
            assert model_at(again[site]).json() == model_at(tree).json(), seed
            compared += tree.splits > 0
    assert compared > 20


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
        alone = model_of(joined, grown(joined, schema.grow.options()), schema)
        asked = joined_rows(alone, schema, frames)
        trees = {site: model_at(tree) for site, tree in grown_at_sites(schema, tables).items()}
        ids = asked.drop_columns(["class"])
        for told in classified_at_sites(trees, schema, frames, ids).values():
            assert told == asked["class"].to_pylist(), seed
        rows += asked.num_rows
    assert rows > 1000


# Too few records behind what is told --------------------------------------------------------------


def few_told(
    here: naive.Weighed, parts: list[naive.Weighed], way: Crossing, layout: SiteLayout, least: int
) -> bool:
    """Whether somebody would be told of fewer records of the sender's table than `least`."""
    edge = layout.edges[way.join]
    by = edge.columns_of(way.start)
    root, target = layout.schema.target
    for part in parts:
        records: dict[Any, set[str]] = {}
        for row, _ in part:
            if (record := row[way.start, "id"]) is not None:
                value = tuple(row[way.start, name] for name in by) if _meets(row, edge) else None
                records.setdefault((value, row[root, target]), set()).add(record)
        if any(len(some) < least for some in records.values()):
            return True
    return False


def _meets(row: naive.Joined, edge: Any) -> bool:
    """Whether a joined row has a partner behind a join, and is not one that misses everything."""
    return row[edge.table, "id"] is not None


def told_of(
    node: Any,
    here: naive.Weighed,
    data: naive.Tables,
    layout: SiteLayout,
    rules: Any,
    depth: int = 0,
) -> list[tuple[naive.Weighed, list[naive.Weighed], Crossing]]:
    """Everything that is told while a tree is grown: sums of parts, over which join."""
    if node.asks is None:
        return []
    asks = node.asks
    name = {"at_most": "at_most", "is": "equals", "by": "values"}[asks.test]
    values = list(asks.values) if asks.test == "by" else asks.values[0]
    t = data.names.index(asks.table)
    parts, _ = naive.divide(here, {"table": t, "column": asks.column, name: values})
    root, target = layout.schema.target
    opened = [
        part for part in parts
        if len({row[root, target] for row, _ in part}) > 1
        and sum(weight for _, weight in part) >= rules["min_rows"]
        and depth + 1 != rules["max_depth"]
    ]  # fmt: skip
    shut = [row for part in parts if not any(part is one for one in opened) for row in part]
    told = [*opened, *([shut] if shut else [])]  # what is left of a sum is known, too
    found = [(here, told, way) for way in layout.ways_from(layout.blocks[t]) if opened]
    for branch, part in zip(node.branches, parts, strict=True):
        found += told_of(branch, part, data, layout, rules, depth + 1)
    return found


def crowded_case(seed: int) -> tuple[naive.Tables, dict[str, Any]]:
    """Few join values, and many rows behind each of them."""
    rng = random.Random(seed)
    sizes = rng.choice([[60, 12], [12, 60], [40, 9, 8], [9, 40, 8]])
    data = naive.Tables([], [], [], [], [])
    for t, size in enumerate(sizes):
        ends = [f"j{t}"] if t else [f"j{u}" for u in range(1, len(sizes))]
        kinds = {"c0": "number", "c1": "category"}
        rows = [
            {**{name: rng.choice("ab") for name in ends}, "c0": rng.randrange(4), "c1": rng.choice("xy")}
            | ({"class": rng.choice("nop") if rng.random() < 0.1 else "p"} if t == 0 else {})
            for _ in range(size)
        ]  # fmt: skip
        for row in rows:
            if t == 0 and row["c0"] in (2, 3) and rng.random() < 0.8:
                row["class"] = "n"
        data.names.append(f"t{t}")
        data.rows.append(rows)
        data.copies.append([1] * size)
        data.kinds.append(kinds)
        if t:
            data.joins.append(naive.Join(0, t, [f"j{t}"], [f"j{t}"], rng.random() < 0.3))
    rules = {"splits": rng.choice(["binary", "multiway"]), "criterion": "gain", "weight": "row",
             "min_rows": 2, "prune": False, "max_depth": 4}  # fmt: skip
    return data, rules


@pytest.mark.usefixtures("in_the_open")
@pytest.mark.parametrize(
    ("least", "cases"),
    [(2, 60), *(pytest.param(least, 220, marks=pytest.mark.slow) for least in (2, 3))],
)
def test_nobody_is_told_of_fewer_records_than_min_count(least: int, cases: int) -> None:
    refused = others = checked = 0
    for seed in range(cases):
        data, rules = crowded_case(seed) if seed % 2 else random_case(seed)
        rules = {**rules, "prune": False, "weight": "row"}
        if len(data.names) < 2:
            continue
        plain_schema, frames = with_ids(sited(schema_of(data, rules), seed), frames_of(data))
        tables = [cleared(frames[name], name) for name in plain_schema.names]
        if isinstance(at_one_site(plain_schema, tables), InputError):
            continue
        schema = with_min_count(plain_schema, least)
        for name, rows in zip(data.names, data.rows, strict=True):
            for i, row in enumerate(rows):
                row["id"] = f"{name}-{i}"
        layout = SiteLayout.of(schema)
        every = naive.join_of(data, "row")
        first = [
            Crossing(join, *ends) for join, edge in enumerate(layout.edges) if layout.crosses(join)
            for ends in (edge.ends[::-1], edge.ends)
        ]  # fmt: skip
        try:
            found = {site: model_at(tree) for site, tree in grown_at_sites(schema, tables).items()}
        except Unsatisfiable:
            assert any(few_told(every, [every], way, layout, least) for way in first), seed
            refused += 1
            continue
        root = put_together(found)
        assert next(iter(found.values())).min_count == least
        down = [way for way in first if way.start == layout.edges[way.join].parent]
        assert not any(few_told(every, [every], way, layout, least) for way in down), seed
        for here, parts, way in told_of(root, every, data, layout, rules):
            assert not few_told(here, parts, way, layout, least), seed
            checked += 1
        alone = at_one_site(plain_schema, tables)
        assert not isinstance(alone, InputError)
        free = model_of(alone, grown(alone, schema.grow.options()), schema)
        others += plain(root, data, free.classes) != plain(free.root, data, free.classes)
    assert refused > cases // 11
    assert checked > cases // 11
    assert others > 0
