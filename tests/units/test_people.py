"""How many people are in both tables, against sets of what their cells say."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from at_hand import policy_of
from reticent.data.columns import Table, encode
from reticent.tables.previous.people import people_in_both
from reticent.tables.previous.read import Earlier

Cells = Sequence[Any]


def of_cells(first: Cells, second: Cells, kind: pa.DataType) -> Table:
    ids = pa.array(first).cast(kind)
    columns = {"A": encode("A", ids), "B": encode("B", pa.array(second, pa.string()))}
    return Table("t", columns, len(first))


@pytest.mark.parametrize("of", [["A"], ["A", "B"]])
def test_people_as_sets_tell_them(of: list[str]) -> None:
    """One id that is a number here and a text there is one person; who lacks an id is nobody."""
    rng = random.Random(1)
    policy = policy_of(drop=["A", "B"], keep=["C"], anonymity=[{"over": ["Q"], "k": 2, "of": of}])
    for _ in range(30):
        drawn = [
            ([rng.choice([None, *range(7)]) for _ in range(8)], rng.choices([None, "x", "y"], k=8))
            for _ in range(2)
        ]
        here, there = (
            of_cells(*one, k) for one, k in zip(drawn, (pa.int64(), pa.string()), strict=True)
        )
        sets = [{row[: len(of)] for row in zip(*one, strict=True)} for one in drawn]
        mine, others = ({row for row in rows if None not in row} for rows in sets)
        [found] = people_in_both(policy, here, {"z": Earlier("z", there, (), "*", {})})
        assert (found.here, found.there, found.both) == (len(mine), len(others), len(mine & others))
        assert found.same == (mine == others)
