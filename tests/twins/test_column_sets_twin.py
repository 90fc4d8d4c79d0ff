"""Sets of columns counted in runs of equal rows against counting each by its definition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from at_hand import some_or_many
from naive.column_sets import naive_column_sets
from reticent.data.columns import encode
from reticent.privacy import column_sets as counting
from reticent.privacy.column_sets import LISTED, ColumnSets, column_sets


@st.composite
def tables(draw: Any) -> dict[str, list[int | None]]:
    rows = draw(st.integers(1, 30))
    spans = draw(st.lists(st.sampled_from([1, 2, 5, 30]), min_size=1, max_size=6))
    cells = [st.one_of(st.none(), st.integers(0, span)) for span in spans]
    return {
        f"c{j}": draw(st.lists(cell, min_size=rows, max_size=rows)) for j, cell in enumerate(cells)
    }


def encoded(table: Mapping[str, Sequence[int | None]]) -> dict[str, Any]:
    return {name: encode(name, pa.array(cells, pa.int64())) for name, cells in table.items()}


def told(found: ColumnSets, *, minimal: bool = False) -> list[dict[str, Any]]:
    sets = found.minimal if minimal else found.sets
    return [asdict(one) | {"columns": [*one.columns]} for one in sets]


@settings(max_examples=25, deadline=None)
@given(tables(), st.data())
def test_as_by_the_definition(table: dict[str, list[int | None]], data: Any) -> None:
    rows = len(table["c0"])
    found = column_sets(encoded(table), rows)
    expected = naive_column_sets(table)
    assert told(found) == expected[:LISTED]
    assert told(found, minimal=True) == [one for one in expected if one["minimal"]][:LISTED]
    assert found.whole
    assert found.rows == rows
    for one, cells in zip(found.columns, table.values(), strict=True):
        values = [cell for cell in cells if cell is not None]
        assert (one.distinct, one.missing) == (len(set(values)), rows - len(values))
    # Rows that stand for several records are these records.
    counts = np.array(data.draw(st.lists(st.integers(1, 2), min_size=rows, max_size=rows)))
    each = {
        n: [c for c, k in zip(t, counts, strict=True) for _ in range(k)] for n, t in table.items()
    }
    assert column_sets(encoded(table), rows, counts) == column_sets(
        encoded(each), int(counts.sum())
    )


@pytest.mark.parametrize("width", some_or_many(5, 2, 60))
def test_columns_that_tell_everybody_apart_need_not_be_at_hand(width: int) -> None:
    table = {f"c{j}": [(i * (j + 2)) % (2 + j % 5) for i in range(9)] for j in range(width)}
    keys = {"id": [*range(9)], "name": [None, *range(8)]}
    table = {"id": keys["id"], **table, "name": keys["name"]}
    here = {name: column for name, column in encoded(table).items() if name not in keys}
    found = column_sets(here, 9, keys={"id": 0, "name": 1}, order=[*table])
    assert found == column_sets(encoded(table), 9)
    assert told(found) == naive_column_sets(table)[:LISTED]


def test_two_threads() -> None:
    rng = np.random.default_rng(5)
    table = {f"c{j}": rng.integers(0, 3 + j, 5_000).tolist() for j in range(9)}
    assert told(column_sets(encoded(table), 5_000)) == naive_column_sets(table)[:LISTED]


def test_work_is_bounded_and_the_result_says_so() -> None:
    table = {f"c{j}": [i % (2 + j % 9) for i in range(11)] for j in range(40)}
    every = naive_column_sets(table)
    ranked = sorted(table, key=lambda name: -len(set(table[name])))
    for work, all_pairs in [(35_000_000, True), (20_000_000, False)]:
        found = column_sets(encoded(table), 11, work=work)
        assert not found.whole
        assert 2 < found.triples_of < 40
        assert (found.pairs_of == 40) == all_pairs
        among = {1: 40, 2: found.pairs_of, 3: found.triples_of}
        counted = [
            one for one in every if {*one["columns"]} <= {*ranked[: among[len(one["columns"])]]}
        ]
        assert told(found) == counted[:LISTED]
    assert counting._WORK >= 575 * 10**6  # a million rows of 15 columns are counted whole
