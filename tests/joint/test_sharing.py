"""What is told of a column: its cells in the agreed order, and nothing of how a file has them."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from reticent.joint.owner import own_records
from reticent.joint.policy import JointPolicy
from reticent.joint.sharing import ToldColumns, told_codes, told_columns

POLICY = JointPolicy.from_data(
    {
        "id": "Id",
        "keep": ["Day", "Note", "Own"],
        "owners": {"bank": {"columns": ["Day", "Note", "Own"]}, "card": {"columns": ["Sex"]}},
        "attributes": {"Sex": {"mask": "suppress"}},
        "anonymity": [{"over": ["Sex"], "k": 2}],
    }
)
ROWS = 40


def told_of(file_order: list[int]) -> ToldColumns:
    """What the bank tells, whose file has the same people in some order."""
    cells = {
        "Id": [f"p{n}" for n in file_order],
        "Day": [None if n % 7 == 3 else n % 5 for n in file_order],  # numbers, and gaps
        "Note": [f"n{n % 3}" for n in file_order],
        "Own": [f"x{n}" for n in file_order],  # of each another: the list of values is an order
    }
    own = own_records(pa.table(cells), POLICY, "bank")
    agreed = random.Random(0).sample(range(ROWS), ROWS - 6)  # by person; six are not common
    table = own.common([file_order.index(person) for person in agreed])
    return told_columns(table.columns.values())


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_a_file_is_not_told(seed: int) -> None:
    orders = [random.Random(seed).sample(range(ROWS), ROWS), [*range(ROWS)]]
    first, second = map(told_of, orders)
    assert first == second
    for column in first.columns:
        codes = told_codes(column, ROWS - 6).tolist()
        assert [*dict.fromkeys(codes)] == [*range(len(column.values))]
