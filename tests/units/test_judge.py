"""How well a cut tells the class, against trees that are grown from nothing."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from naive.cases import random_case
from naive.product import case_policy, table_of
from naive.tree import Columns, Row, leaf, tree
from reticent import Policy
from reticent.progress import Watch
from reticent.sources.arrival import read
from reticent.tables.prepare import Prepared, prepare
from reticent.tables.search.greedy import Effort, Search
from reticent.tables.search.judge import Judge, clearly_fewer

CLASS = "the class"


@cache
def survey(rows: int = 150) -> pa.Table:
    rng = np.random.default_rng(2)
    age = rng.integers(18, 80, rows)
    job = rng.choice(["cook", "clerk", "nurse", "judge"], rows)
    yes = rng.random(rows) < 0.1 + 0.4 * (age > 50) + 0.4 * (job == "nurse")
    pay = (rng.integers(10, 60, rows) + 20 * yes).astype(float)
    gaps = rng.random((2, rows)) < 0.2
    return pa.table(
        {
            "Age": age,
            "Job": job,
            "Ward": pa.array(rng.choice(["a", "b", "c"], rows), mask=gaps[0]),
            "Pay": pa.array(pay, mask=gaps[1]),
            "Class": np.where(yes, "yes", "no"),
        }
    )


def rules(**more: Any) -> Policy:
    said: dict[str, Any] = {
        "class": "Class",
        "keep": "*",
        "attributes": {"Age": {"mask": "discretize", "range": [0, 100]}},
        "anonymity": [{"over": ["Age", "Job"], "k": 8}],
    }
    return Policy.model_validate(said | more)


def prepared_of(table: pa.Table, policy: Policy | None = None) -> Prepared:
    return prepare(read(table)[0], policy or rules())


def cuts_on_the_way(prepared: Prepared) -> list[tuple[Any, ...]]:
    """What a search shows after each of its steps, from nothing to all that it may."""
    found = []
    search = Search(prepared)
    search.begin(Watch())
    found.append(search.found().shown)
    while search.run(Watch(), Effort(max_steps=len(search.steps) + 1)):
        found.append(search.found().shown)
    return [*found, search.found().shown]


def seen_by(judge: Judge, shown: tuple[Any, ...]) -> tuple[list[Row], Columns]:
    """The judge's records as a tree may see them, as far as the judge's codes say."""
    columns: Columns = {}
    cells: dict[str, list[Any]] = {}
    for domain, leaves, labels in zip(judge.domains, judge.leaves, shown, strict=True):
        number = domain.scale is not None
        columns[domain.name] = "number" if number else "category"
        codes = labels[leaves].tolist()
        cells[domain.name] = codes if number else [f"{code:06d}" for code in codes]
    for other in judge.others:
        columns[other.name] = "number" if other.number else "category"
        cells[other.name] = [None if c < 0 else other.values[c] for c in other.codes.tolist()]
    cells[CLASS] = [f"{c:06d}" for c in judge.classes.tolist()]
    count = len(judge.classes)
    return [{name: column[i] for name, column in cells.items()} for i in range(count)], columns


def wrong_naively(judge: Judge, shown: tuple[Any, ...]) -> list[bool]:
    """Let every part be told by a tree that has seen the others."""
    rows, columns = seen_by(judge, shown)
    wrong = [False] * len(rows)
    for part in range(3):
        known = [row for row, own in zip(rows, judge.part, strict=True) if own != part]
        grown = tree(known, columns, CLASS)
        seen = {name: {row[name] for row in known} for name in columns}
        for i, row in enumerate(rows):
            if judge.part[i] == part:
                wrong[i] = leaf(grown, seen, row)["class"] != row[CLASS]
    return wrong


def many_only_in_all(judge: Judge, shown: tuple[Any, ...]) -> bool:
    """Whether some column has few texts for its records in one part's training, but not in all.

    Texts that training lacks count for whether a column has many, which a tree that never heard of
    them cannot know.
    """
    rows, columns = seen_by(judge, shown)
    for part in range(3):
        known = [row for row, own in zip(rows, judge.part, strict=True) if own != part]
        for name in (name for name, kind in columns.items() if kind == "category"):
            there = len({row[name] for row in known} - {None})
            feature = next((f for f in judge.others if f.name == name), None)
            at = [domain.name for domain in judge.domains]
            every = len(feature.values) if feature else int(shown[at.index(name)].max()) + 1
            if there < 0.3 * len(known) <= every:
                return True
    return False


def test_each_part_is_told_by_a_tree_that_learnt_from_the_others() -> None:
    prepared = prepared_of(survey())
    judge = Judge(prepared)
    cuts = cuts_on_the_way(prepared)
    assert len(cuts) > 3
    for shown in cuts:
        assert judge.wrong(shown).tolist() == wrong_naively(judge, shown)
    errors = [int(judge.wrong(shown).sum()) for shown in cuts]
    assert errors[-1] < errors[0]


@pytest.mark.parametrize("seed", range(0, 150, 15))
def test_judge_equals_its_twin_on_random_cases(seed: int) -> None:
    """Few records, ties, missing values, classes that only one part has."""
    tried = 0
    for offset in range(15):
        case = random_case(random.Random(40_000 + seed + offset))
        if case.cls is None or len(case.rows) < 3:
            continue
        prepared = prepared_of(table_of(case.rows, case.attrs), case_policy(case))
        judge = Judge(prepared)
        rng = np.random.default_rng(seed + offset)
        for _ in range(3):  # any labels will do: nobody asks here whether a promise is kept
            shown = tuple(np.sort(rng.integers(0, 3, d.size)) for d in prepared.domains)
            if many_only_in_all(judge, shown):
                continue
            assert judge.wrong(shown).tolist() == wrong_naively(judge, shown)
            tried += 1
    assert tried > 5


def test_the_parts_are_of_equal_size_and_hold_every_record_once() -> None:
    prepared = prepared_of(survey())
    judge = Judge(prepared)
    assert np.bincount(judge.part).tolist() == [50, 50, 50]
    rows, _ = seen_by(judge, tuple(np.arange(d.size) for d in prepared.domains))
    ages = sorted(set(survey().column("Age").to_pylist()))
    jobs = sorted(set(survey().column("Job").to_pylist()))
    named = Counter(
        (ages[r["Age"]], jobs[int(r["Job"])], r["Ward"], r["Pay"], ["no", "yes"][int(r[CLASS])])
        for r in rows
    )
    assert named == Counter(tuple(row.values()) for row in survey().to_pylist())


def test_a_large_table_is_judged_by_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reticent.tables.search.judge._RECORDS", 60)
    prepared = prepared_of(survey())
    judge = Judge(prepared)
    assert len(judge.part) == len(judge.classes) == 60
    whole = cuts_on_the_way(prepared)[-1]
    assert judge.wrong(whole).tolist() == wrong_naively(judge, whole)


def test_neither_the_order_of_the_rows_nor_asking_twice_is_any_matter() -> None:
    prepared = prepared_of(survey())
    shown = cuts_on_the_way(prepared)[-1]
    first = Judge(prepared)
    assert np.array_equal(first.wrong(shown), first.wrong(shown))
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(survey().num_rows)
        again = Judge(prepared_of(survey().take(pa.array(order))))
        assert seen_by(again, shown) == seen_by(first, shown)
        assert np.array_equal(again.part, first.part)
        assert np.array_equal(again.wrong(shown), first.wrong(shown))


def test_columns_with_many_texts_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"n{i}" for i in range(150)]
    table = survey().append_column("Name", pa.array(names))
    table = table.append_column("Number", pa.array(range(150)))
    judge = Judge(prepared_of(table))
    assert [f.name for f in judge.others] == ["Ward", "Pay", "Name", "Number"]
    monkeypatch.setattr("reticent.tables.search.judge._MOST_TEXTS", 149)
    judge = Judge(prepared_of(table))
    assert [f.name for f in judge.others] == ["Ward", "Pay", "Number"]  # a number may have many
    shown = cuts_on_the_way(prepared_of(table))[-1]
    assert judge.wrong(shown).tolist() == wrong_naively(judge, shown)


def test_sensitive_columns_tell_as_kept_ones_do_and_dropped_ones_do_not() -> None:
    policy = rules(
        keep=["Pay"], confidence=[{"over": ["Job"], "sensitive": {"Ward": "*"}, "at_most": 0.9}]
    )
    assert {f.name for f in Judge(prepared_of(survey(), policy)).others} == {"Pay", "Ward"}
    policy = rules(keep=["Pay"], drop=["Ward"])
    assert [f.name for f in Judge(prepared_of(survey(), policy)).others] == ["Pay"]


@pytest.mark.parametrize(
    "cells",
    [
        pytest.param(pa.nulls(150, pa.string()), id="all missing texts"),
        pytest.param(pa.nulls(150, pa.float64()), id="all missing numbers"),
        pytest.param(pa.nulls(150), id="nothing at all"),
        pytest.param(pa.array([None] * 149 + ["x"]), id="all but one missing"),
        pytest.param(pa.array([None, 1.5] * 75), id="numbers with gaps"),
        pytest.param(pa.array(["", "x", None] * 50), id="empty texts"),
        pytest.param(pa.array([True, False, None] * 50), id="truths"),
        pytest.param(pa.array([0, 1, None] * 50, pa.timestamp("s")), id="times"),
        pytest.param(pa.array(["7", "x", "8"] * 50), id="numbers and a text"),
    ],
)
def test_kept_columns_of_any_kind_can_be_judged(cells: pa.Array) -> None:
    table = survey().append_column("Odd", cells)
    prepared = prepared_of(table)
    judge = Judge(prepared)
    shown = cuts_on_the_way(prepared)[-1]
    assert judge.wrong(shown).tolist() == wrong_naively(judge, shown)


def test_without_anything_to_learn_from_the_largest_class_is_told() -> None:
    table = survey().select(["Job", "Class"])
    prepared = prepared_of(table, rules(attributes={}, anonymity=[{"over": ["Job"], "k": 150}]))
    judge = Judge(prepared)
    nothing = (np.zeros(4, dtype=np.int64),)
    assert judge.wrong(nothing).tolist() == wrong_naively(judge, nothing)
    common = Counter(table.column("Class").to_pylist()).most_common(1)[0][1]
    assert int(judge.wrong(nothing).sum()) == 150 - common


@pytest.mark.parametrize("rows", [1, 2, 3, 4])
def test_very_few_records_can_be_judged(rows: int) -> None:
    prepared = prepared_of(
        survey().slice(0, rows), rules(anonymity=[{"over": ["Age", "Job"], "k": 1}])
    )
    judge = Judge(prepared)
    shown = tuple(np.arange(d.size) for d in prepared.domains)
    wrong = judge.wrong(shown)
    assert len(wrong) == rows
    if rows > 2:  # else some tree has nothing to learn from
        assert wrong.tolist() == wrong_naively(judge, shown)


# --- clearly fewer --------------------------------------------------------------------------------


def bits(*at: int, size: int = 400) -> Any:
    found = np.zeros(size, dtype=bool)
    found[list(at)] = True
    return found


def test_neither_equal_errors_nor_more_are_fewer() -> None:
    some = bits(*range(20))
    assert not clearly_fewer(some, some, errors=0)
    assert not clearly_fewer(some, some, errors=1)
    assert not clearly_fewer(bits(*range(20, 40)), some, errors=1)
    assert not clearly_fewer(bits(*range(21)), bits(*range(20)), errors=0)
    assert not clearly_fewer(bits(*range(300)), bits(), errors=1)


@pytest.mark.parametrize(("only_this", "only_that", "errors", "clear"), [
    (0, 1, 1, False),  # one record is one standard error, and more than that is asked
    (0, 2, 1, True),  # 2 > √2
    (0, 4, 2, False),  # 4 = 2·√4
    (0, 5, 2, True),  # 5 > 2·√5
    (10, 20, 1, True),  # 10 > √30
    (10, 20, 2, False),  # 10 < 2·√30
    (100, 130, 2, False),
    (100, 131, 2, True),  # 31 > 2·√231
])  # fmt: skip
def test_only_records_told_differently_count(
    only_this: int, only_that: int, errors: int, clear: bool
) -> None:
    """A sign test: records that both tell right, or both wrong, say nothing."""
    this = bits(*range(only_this))
    that = bits(*range(only_this, only_this + only_that))
    assert clearly_fewer(this, that, errors=errors) == clear
    both = bits(*range(300, 400))
    assert clearly_fewer(this | both, that | both, errors=errors) == clear
    longer = np.zeros(5_000, dtype=bool)
    assert clearly_fewer(np.append(this, longer), np.append(that, longer), errors=errors) == clear
