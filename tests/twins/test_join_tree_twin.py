"""A tree over joins against its naive twin, which builds the join: equal node by node."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from at_hand import some_or_many
from naive import join_tree as naive
from reticent.data.columns import Table, without_missing
from reticent.errors import InputError
from reticent.files.tabular import from_arrow
from reticent.jointree.classification import classify, joined_rows
from reticent.jointree.learning import grown
from reticent.jointree.model import JoinNode, model_of
from reticent.jointree.propagation import propagate, total
from reticent.jointree.schema import JoinSchema
from reticent.jointree.tables import code

WORDS = ["b", "a", "B", "é", "10", "x y", "🙂"]
SHAPES = ("star", "chain", "tree")


def random_case(seed: int) -> tuple[naive.Tables, dict[str, Any]]:
    """Draw tables that join, small enough that their join can be built, and how to grow."""
    rng = random.Random(seed)
    k = rng.choices([1, 2, 3, 4, 5], [1, 4, 6, 4, 2])[0]
    shape = rng.choice(SHAPES)
    above = [0, *(rng.randrange(t) if shape == "tree" else 0 if shape == "star" else t - 1
                  for t in range(1, k))]  # fmt: skip
    root = rng.randrange(k)
    edges = _from(root, [(above[t], t) for t in range(1, k)])
    keys = [
        (parent, table, [f"j{table}{parent}{i}" for i in range(rng.choice([1, 1, 1, 2]))])
        for parent, table in edges
    ]
    sizes = {1: 40, 2: 25, 3: 15, 4: 10, 5: 7}
    domains = {name: rng.choice([1, 2, 3, 4, 6]) for *_, names in keys for name in names}
    data = naive.Tables([], [], [], [], [], root)
    for parent, table, names in keys:
        keep = rng.random() < 0.3
        data.joins.append(naive.Join(parent, table, names, names, keep))
    classes = rng.sample(WORDS, rng.choices([1, 2, 3], [1, 8, 3])[0])
    for t in range(k):
        n = rng.choice([1, rng.randint(1, sizes[k]), *[sizes[k]] * 6])
        joins = [name for p, c, names in keys if t in (p, c) for name in names]
        columns: dict[str, list[Any]] = {
            name: [rng.randrange(domains[name]) for _ in range(n)] for name in joins
        }
        if rng.random() < 0.4:
            for name in joins:
                columns[name] = [None if rng.random() < 0.2 else v for v in columns[name]]
        columns = {
            name: [None if v is None else f"v{v}" for v in cells] for name, cells in columns.items()
        }
        kinds = {}
        for i in range(rng.choice([0, 1, 2, 2, 3])):
            kind = rng.choice(["number", "category"])
            domain: list[Any] = [-1.5, 0, 2, 3.25, 7] if kind == "number" else WORDS
            used = rng.sample(domain, rng.randint(1, 4))
            gaps = rng.choice([0, 0, 0.2, 0.6])
            cells = [None if rng.random() < gaps else rng.choice(used) for _ in range(n)]
            if kind == "number" or any(c is not None and c != "10" for c in cells):
                kinds[f"c{i}"] = kind
                columns[f"c{i}"] = cells
        if t == root:
            gone = rng.choice([0, 0, 0.2])
            columns["class"] = [
                None if rng.random() < gone else rng.choice(classes) for _ in range(n)
            ]
        data.names.append(f"t{t}")
        data.rows.append([dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
                         if columns else [{} for _ in range(n)])  # fmt: skip
        data.copies.append([1] * n)
        data.kinds.append(kinds)
    rules = {
        "splits": rng.choice(["binary", "multiway"]),
        "criterion": rng.choice(["gain", "gain ratio"]),
        "weight": rng.choice(["row", "row", "record"]),
        "min_rows": rng.choice([1, 2, 2, 4]),
        "prune": rng.random() < 0.3,
        "max_depth": rng.choice([*[None] * 9, 0, 1, 3]),
    }
    _reshape(random.Random(seed * 7 + 1), data)
    return data, rules


def _reshape(rng: random.Random, data: naive.Tables) -> None:
    """Draw what else joins can be: of other names, over one column, written another way."""

    def rename(table: int, names: dict[str, str]) -> None:
        data.rows[table] = [
            {names.get(c, c): v for c, v in row.items()} for row in data.rows[table]
        ]

    if rng.random() < 0.5:
        for join in data.joins:
            rename(join.table, {name: f"x{name}" for name in join.far})
            join.far = [f"x{name}" for name in join.far]
    for table in range(len(data.names)):
        ways = [join for join in data.joins if join.parent == table and len(join.near) == 1]
        own = [join.far for join in data.joins if join.table == table and len(join.far) == 1]
        shared = (own or [join.near for join in ways])[:1]
        for join in ways if rng.random() < 0.3 else []:
            if join.near not in shared:
                gone = join.near[0]
                rows = data.rows[table]
                data.rows[table] = [{c: v for c, v in row.items() if c != gone} for row in rows]
                join.near = [*shared[0]]
    if rng.random() < 0.5:
        data.written = rng.sample(range(len(data.joins)), len(data.joins))
        for join in data.joins:
            join.swapped = rng.random() < 0.5
    for table, rows in enumerate(data.rows):
        if rng.random() < 0.3:
            columns = [name for name in rows[0] if name != data.cls and rng.random() < 0.6]
            if columns:
                data.asked[table] = columns[::-1]


def _from(root: int, pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same edges, each seen from the root, nearer ones first."""
    found: list[tuple[int, int]] = []
    reached = [root]
    for at in reached:
        for a, b in pairs:
            for near, far in ((a, b), (b, a)):
                if near == at and far not in reached:
                    found.append((near, far))
                    reached.append(far)
    return found


def schema_of(data: naive.Tables, rules: dict[str, Any]) -> JoinSchema:
    def side(table: int, columns: list[str]) -> list[str]:
        return [f"{data.names[table]}.{column}" for column in columns]

    grow = {name: value for name, value in rules.items() if value is not None}
    joins = []
    for number in data.written or range(len(data.joins)):
        join = data.joins[number]
        sides = side(join.parent, join.near), side(join.table, join.far)
        left, right = sides[::-1] if join.swapped else sides
        kept = {"keep": "left"} if join.keep else {}
        joins.append({"left": left, "right": right, **kept})
    tables = [{"candidates": data.asked[t]} if t in data.asked else {}
              for t in range(len(data.names))]  # fmt: skip
    return JoinSchema.from_data({
        "class": f"{data.names[data.root]}.class", "grow": grow, "joins": joins,
        "tables": dict(zip(data.names, tables, strict=True)),
    })  # fmt: skip


def tables_of(data: naive.Tables) -> list[Table]:
    found = []
    for name, rows, copies, kinds in zip(
        data.names, data.rows, data.copies, data.kinds, strict=True
    ):
        columns = {
            c: pa.array(
                [row[c] for row in rows], pa.float64() if kinds.get(c) == "number" else pa.string()
            )
            for c in rows[0]
        }
        table = from_arrow(pa.table(columns), name)
        cleared = {c: without_missing(column) for c, column in table.columns.items()}
        found.append(replace(table, columns=cleared, counts=np.array(copies, np.int64)))
    return found


def plain(node: JoinNode, data: naive.Tables, classes: tuple[str, ...]) -> naive.Node:
    """A node of the product in the twin's words."""
    counts = [Fraction(n) for n in node.counts]
    found: naive.Node = {"counts": counts, "class": classes[node.winner]}
    if node.asks is None:
        return found
    asks = node.asks
    name = {"at_most": "at_most", "is": "equals", "by": "values"}[asks.test]
    values = list(asks.values) if asks.test == "by" else asks.values[0]
    test = {"table": data.names.index(asks.table), "column": asks.column, name: values}
    below = [plain(branch, data, classes) for branch in node.branches]
    return {**found, "test": test, "missing": asks.missing, "branches": below}


def check(seed: int, data: naive.Tables, rules: dict[str, Any]) -> str:
    """Grow both trees and compare them; says what numbers the product took."""
    schema = schema_of(data, rules)
    expected = naive.tree(data, **rules)
    labels = {row["class"] for row in data.rows[data.root]} - {None}
    if expected is None or not labels:
        with pytest.raises(InputError, match=r"the join is empty|no record has a class"):
            propagate(code(schema, tables_of(data)), rules["weight"])
        return "empty"
    joined = propagate(code(schema, tables_of(data)), rules["weight"])
    sums = [total(vectors).tolist() for vectors in joined.vectors]
    assert all(line == sums[0] for line in sums), seed
    model = model_of(joined, grown(joined, schema.grow.options()), schema)
    assert plain(model.root, data, model.classes) == expected, seed
    return joined.numbers


@pytest.mark.parametrize("part", some_or_many(0, 1, 2, 3))
def test_a_tree_over_a_join_is_the_one_over_its_rows(part: int) -> None:
    seen = {check(seed, *random_case(seed)) for seed in range(part * 100, part * 100 + 100)}
    assert seen == {"int64", "empty"}


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_a_tree_over_a_join_is_the_one_over_its_rows_a_thousand_times(part: int) -> None:
    for seed in range(1000 + part * 400, 1400 + part * 400):
        check(seed, *random_case(seed))


def with_many_copies(seed: int, most: int) -> tuple[naive.Tables, dict[str, Any]]:
    """The same with rows that stand for so many records that the join has more than 2^62 rows."""
    data, rules = random_case(seed)
    rng = random.Random(seed)
    copies = [[rng.choice([1, rng.randrange(1, most)]) for _ in rows] for rows in data.rows]
    return replace(data, copies=copies), {**rules, "weight": "row", "min_rows": 2}


@pytest.mark.parametrize("most", [2**18, 2**25, 2**58])
def test_numbers_of_any_size_are_exact(most: int) -> None:
    seen = {check(seed, *with_many_copies(seed, most)) for seed in range(80)} - {"empty"}
    assert seen == {"int64", "big integers"}


def close(found: naive.Node, wanted: naive.Node) -> bool:
    """Whether two trees are equal up to rounding."""
    counts = zip(found["counts"], wanted["counts"], strict=True)
    same = all(abs(a - b) <= 1e-9 * max(a, b) for a, b in counts)
    same = same and found["class"] == wanted["class"] and found.get("test") == wanted.get("test")
    below = [found.get("branches", []), wanted.get("branches", [])]
    return same and len(below[0]) == len(below[1]) and all(map(close, *below))


def test_records_whose_parts_have_no_common_measure_weigh_floats() -> None:
    floats = others = 0  # of floats, ties may fall either way
    for seed in range(80):
        data, rules = with_many_copies(seed, 2**25)
        rules["weight"] = "record"
        data = replace(data, copies=[[1] * len(c) if t == data.root else c
                                     for t, c in enumerate(data.copies)])  # fmt: skip
        expected = naive.tree(data, **rules)
        if expected is None:
            continue
        schema = schema_of(data, rules)
        joined = propagate(code(schema, tables_of(data)), "record")
        model = model_of(joined, grown(joined, schema.grow.options()), schema)
        floats += joined.numbers == "float64"
        others += not close(plain(model.root, data, model.classes), expected)
    assert floats > 30
    assert others < 3


@pytest.mark.slow
@pytest.mark.parametrize("most", [2**14, 2**18, 2**22, 2**30, 2**45, 2**58])
def test_numbers_of_any_size_are_exact_a_thousand_times(most: int) -> None:
    for seed in range(100, 500):
        check(seed, *with_many_copies(seed, most))


# Classification ----------------------------------------------------------------------------------


def frames_of(data: naive.Tables) -> dict[str, pa.Table]:
    def kind(column: str, kinds: dict[str, str]) -> pa.DataType:
        return pa.float64() if kinds.get(column) == "number" else pa.string()

    return {
        name: pa.table({c: pa.array([row[c] for row in rows], kind(c, kinds)) for c in rows[0]})
        for name, rows, kinds in zip(data.names, data.rows, data.kinds, strict=True)
    }


def strangers(seed: int, data: naive.Tables) -> list[naive.Cells]:
    """New records: join values and cells of others, and such that nobody has seen."""
    rng = random.Random(seed)
    own, kinds = data.rows[data.root], data.kinds[data.root]
    new: dict[str, list[Any]] = {
        c: [None, *((-9.5, 2.5) if kinds.get(c) == "number" else ("new",))] for c in own[0]
    }
    return [
        {c: rng.choice([*(row[c] for row in own), *new[c]]) for c in own[0] if c != "class"}
        for _ in range(12)
    ]


def check_classes(seed: int) -> int:
    """Classify records and strangers by both; says how many joined rows there were."""
    data, rules = random_case(seed)
    expected = naive.tree(data, **rules)
    if expected is None:
        return 0
    schema = schema_of(data, rules)
    joined = propagate(code(schema, tables_of(data)), rules["weight"])
    model = model_of(joined, grown(joined, schema.grow.options()), schema)
    root = data.names[data.root]
    rows = 0
    for records in (data.rows[data.root], strangers(seed, data)):
        kinds = data.kinds[data.root]
        table = pa.table({
            c: pa.array([r[c] for r in records], pa.float64() if kinds.get(c) == "number" else pa.string())
            for c in records[0]
        })  # fmt: skip
        if not records[0]:
            continue
        frames = {**frames_of(data), root: table}
        found = classify(model, schema, frames)
        wanted = naive.classified(expected, data, records, rules["weight"])
        got = zip(found.classes, found.shares, found.rows, strict=True)
        assert list(got) == wanted, seed
        listing = joined_rows(model, schema, frames)
        assert listing.num_rows == sum(found.rows), seed
        told = [
            (int(r), c)
            for r, c in zip(
                listing[f"{root}.row"].to_pylist(), listing["class"].to_pylist(), strict=True
            )
        ]
        for i, (_, share, every) in enumerate(wanted):
            classes = [c for r, c in told if r == i + 1]
            most = max((classes.count(c) for c in model.classes), default=0)
            assert len(classes) == every, seed
            assert share is None or most / every == share, seed
        rows += sum(found.rows)
    return rows


def test_records_are_classified_as_their_joined_rows_vote() -> None:
    assert sum(check_classes(seed) for seed in range(60)) > 2_000


@pytest.mark.slow
def test_records_are_classified_as_their_joined_rows_vote_a_thousand_times() -> None:
    for seed in range(1000, 3000):
        check_classes(seed)
