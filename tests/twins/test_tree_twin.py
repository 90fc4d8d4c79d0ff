"""The decision tree against its naive twin: equal node for node, count for count, row for row."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from at_hand import some_or_many
from naive.tree import Columns, Row, leaf, tree, unfolded
from reticent.sklearn import TreeClassifier

CLASS = "the class"
# 🙂 comes before ｚ in UTF-16 but not by code point; "10" and "9" are texts and not numbers
WORDS = ["b", "a", "B", "a b", "10", "9", "é", "ß", "ｚ", "🙂", "日本", "yes", "nan"]
NUMBERS: list[list[Any]] = [
    [7],
    [0, 1],
    list(range(-3, 4)),
    list(range(18, 66)),
    [0.1, 0.2, 0.30000000000000004, 0.3, -1.5, 2.0, 1e-300, 1e300],
    [0.1 * i for i in range(12)],
]


@dataclass(frozen=True)
class Case:
    """A table to learn from, rows to classify, and the options."""

    rows: list[Row]
    columns: Columns
    strangers: list[Row]  # they may show texts and numbers that the rows do not have
    options: dict[str, Any]


def random_column(rng: random.Random, n: int) -> tuple[str, list[Any], list[Any]]:
    """Return a kind, n cells, and what a stranger may show instead."""
    kind = rng.choice(["number", "category"])
    domain = rng.choice(NUMBERS) if kind == "number" else WORDS
    used = rng.sample(domain, min(len(domain), rng.choice([1, 2, 2, 3, 4, 6, 6, 12])))
    skew = rng.choice([1.0, 1.0, 0.5])
    cells = rng.choices(used, [skew**i for i in range(len(used))], k=n)
    gaps = rng.choices([0, 0.1, 0.4, 0.9, 1], [8, 4, 2, 1, 1])[0]
    if rng.random() < 0.2:
        cells.sort()
    others = domain if kind == "category" else [*domain, -1e9, 1e9, 0.25]
    return kind, [None if rng.random() < gaps else cell for cell in cells], [*others, None]


def random_classes(rng: random.Random, rows: list[Row]) -> list[str | None]:
    """Draw the class at random, or let it follow some columns with some noise."""
    names = rng.sample(
        ["yes", "no", "Maybe", "é", "10"], rng.choices([1, 2, 3, 4], [1, 8, 6, 4])[0]
    )
    causes = rng.sample(list(rows[0]), min(rng.randint(0, 3), len(rows[0])))
    noise = rng.choice([0, 0.1, 0.3]) if causes else 1.0
    rule: dict[tuple[str, ...], str] = {}
    classes: list[str | None] = []
    for row in rows:
        key = tuple(str(row[name]) for name in causes)
        told = rule.setdefault(key, names[len(rule) % len(names)])
        classes.append(rng.choice(names) if rng.random() < noise else told)
    return classes


def random_options(rng: random.Random) -> dict[str, Any]:
    return {
        "splits": rng.choice(["multiway", "binary"]),
        "criterion": rng.choice(["c4.5", "gain ratio", "gain"]),
        "min_rows": rng.choices([2, 1, 3, 6, 1000], [10, 2, 3, 3, 1])[0],
        "max_depth": rng.choices([None, 0, 1, 2, 3], [12, 1, 1, 2, 3])[0],
        # None prunes nothing; at 1 leaf and subtree often tie
        "confidence": rng.choice([None] * 6 + [0.25, 0.25, 0.0314, 0.1, 0.5, 0.9, 1]),
    }


def random_case(rng: random.Random, most: int = 40) -> Case:
    n = rng.choice([rng.randint(1, 8), rng.randint(8, most), most, most])
    columns: Columns = {}
    cells: dict[str, list[Any]] = {}
    domains: dict[str, list[Any]] = {}
    for i in range(rng.choice([1, 2, 3, 3, 4, 4, 5, 6])):
        name = f"Q{9 - i}"  # the order of the columns is not the order of their names
        if columns and rng.random() < 0.15:  # a twin of an earlier column: everything ties
            old = rng.choice(list(columns))
            columns[name], cells[name], domains[name] = columns[old], cells[old], domains[old]
        else:
            columns[name], cells[name], domains[name] = random_column(rng, n)
    rows = [{name: cells[name][i] for name in columns} for i in range(n)]
    strangers = [{name: rng.choice(domains[name]) for name in columns} for _ in range(5)]
    for row, told in zip(rows, random_classes(rng, rows), strict=True):
        row[CLASS] = told
    if rng.random() < 0.3:  # duplicates: whole records from a small pool
        rows = [dict(row) for row in rng.choices(rows[: rng.randint(1, n)], k=n)]
    rng.shuffle(rows)
    return Case(rows, columns, strangers, random_options(rng))


def frame_of(rows: list[Row], columns: Columns) -> pd.DataFrame:
    """Build what the product reads: numbers with NaN, texts with None."""
    made = {}
    for name, kind in columns.items():
        cells = [row[name] for row in rows]
        if kind == "category":
            made[name] = pd.Series(cells, dtype=object)
        elif all(isinstance(cell, int) for cell in cells):
            made[name] = pd.Series(cells, dtype="int64")
        else:
            made[name] = pd.Series([np.nan if c is None else c for c in cells], dtype="float64")
    return pd.DataFrame(made)


def size(node: dict[str, Any]) -> int:
    return 1 + sum(size(kid) for kid in node.get("branches", ()))


def compare(case: Case) -> int:
    """Learn and classify with both; returns the number of nodes."""
    expected = tree(case.rows, case.columns, CLASS, **case.options)
    found = TreeClassifier(**case.options)
    found.fit(frame_of(case.rows, case.columns), [row[CLASS] for row in case.rows])
    assert unfolded(found.tree_.plain()) == expected, case

    asked = [*case.rows, *case.strangers]
    seen = {name: {row[name] for row in case.rows} for name in case.columns}
    leaves = [leaf(expected, seen, row) for row in asked]
    frame = frame_of(asked, case.columns)
    assert list(found.predict(frame)) == [node["class"] for node in leaves], case
    shares = [[count / sum(node["counts"]) for count in node["counts"]] for node in leaves]
    np.testing.assert_allclose(found.predict_proba(frame), shares, rtol=1e-12)
    return size(expected["root"])


@pytest.mark.parametrize("start", [0, 200, *some_or_many(400, *range(600, 2000, 200))])
def test_tree_equals_twin(start: int) -> None:
    nodes = [compare(random_case(random.Random(seed))) for seed in range(start, start + 200)]
    assert max(nodes) > 20  # the cases are not all trivial
    assert min(nodes) == 1


@pytest.mark.slow
@pytest.mark.parametrize("start", range(10_000, 12_000, 500))
def test_tree_equals_twin_on_many_more(start: int) -> None:
    for seed in range(start, start + 500):
        compare(random_case(random.Random(seed)))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(50_000, 50_080, 20))
def test_tree_equals_twin_on_larger_tables(start: int) -> None:
    for seed in range(start, start + 20):
        compare(random_case(random.Random(seed), most=400))


cells = {
    "number": st.one_of(st.none(), st.integers(-2, 2), st.floats(-1e6, 1e6, width=32)),
    "category": st.one_of(st.none(), st.sampled_from(WORDS[:4])),
}


@st.composite
def small_cases(draw: st.DrawFn) -> Case:
    """Cases that shrink: what fails here fails on the smallest table that can."""
    kinds = draw(st.lists(st.sampled_from(sorted(cells)), min_size=1, max_size=3))
    columns = {f"Q{i}": kind for i, kind in enumerate(kinds)}
    stranger = st.fixed_dictionaries({name: cells[kind] for name, kind in columns.items()})
    row = st.fixed_dictionaries(
        {**{name: cells[kind] for name, kind in columns.items()}, CLASS: st.sampled_from("abcd")}
    )
    options = st.fixed_dictionaries(
        {
            "splits": st.sampled_from(["multiway", "binary"]),
            "criterion": st.sampled_from(["gain ratio", "gain"]),
            "min_rows": st.integers(1, 4),
            "max_depth": st.one_of(st.none(), st.integers(0, 3)),
            "confidence": st.sampled_from([None, 0.25, 0.05, 0.6]),
        }
    )
    rows = draw(st.lists(row, min_size=1, max_size=12))
    return Case(rows, columns, draw(st.lists(stranger, max_size=3)), draw(options))


@given(case=small_cases())
@settings(max_examples=200, deadline=None, derandomize=True, database=None)
def test_tree_equals_twin_on_cases_that_shrink(case: Case) -> None:
    compare(case)


def test_rows_without_a_class_are_left_out() -> None:
    for seed in range(20):
        rng = random.Random(seed)
        case = random_case(rng)
        extra = [{**row, CLASS: None} for row in rng.choices(case.rows, k=5)]
        mixed = rng.sample([*case.rows, *extra], len(case.rows) + 5)
        labels = pd.Series([row[CLASS] for row in mixed], dtype=object)
        found = TreeClassifier(**case.options).fit(frame_of(mixed, case.columns), labels)
        expected = tree(case.rows, case.columns, CLASS, **case.options)
        assert unfolded(found.tree_.plain()) == expected
        assert tree(mixed, case.columns, CLASS, **case.options) == expected


def test_texts_of_any_kind_of_column_are_categories() -> None:
    """Object, string and categorical columns hold the same texts and give the same tree."""
    case = random_case(random.Random(3))
    plain = []
    for dtype in (object, "string", "category"):
        frame = frame_of(case.rows, case.columns)
        for name, kind in case.columns.items():
            if kind == "category":
                frame[name] = frame[name].astype(dtype)
        found = TreeClassifier(**case.options).fit(frame, [row[CLASS] for row in case.rows])
        plain.append(found.tree_.plain())
    assert plain[0] == plain[1] == plain[2]
