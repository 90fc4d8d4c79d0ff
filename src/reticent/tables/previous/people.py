"""How many people are in both tables, as what promises count tells; for the owner alone.

Promises about a join take everybody of one table to be in the other. Whether that is so, only a
column that tells people apart can say: one that a promise counts (`of`) and that stands on both
sides, be it published or not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reticent.data.columns import Column, Table
from reticent.data.linking import number_rows
from reticent.data.texts import is_text, texts
from reticent.privacy.people import PeopleInBoth
from reticent.privacy.promises import ours, theirs
from reticent.tables.policy import Policy
from reticent.tables.previous.read import Earlier


def people_in_both(
    policy: Policy, table: Table, earlier: Mapping[str, Earlier]
) -> tuple[PeopleInBoth, ...]:
    """Of every earlier release, how many people it shares with a table; missing cells are null."""
    return tuple(_in_both(policy, table, one) for one in earlier.values())


def _in_both(policy: Policy, table: Table, one: Earlier) -> PeopleInBoth:
    by = _ids(policy, table, one)
    if not by:
        return PeopleInBoth(one.name)
    sides = (table, _with(one, by) or one.table)
    if len(by) == 1:  # a million texts are not for Python
        here, there = (_texts(side.columns[by[0]]) for side in sides)
        both = pc.sum(pc.is_in(here, value_set=there)).as_py() or 0
        return PeopleInBoth(one.name, by, len(here), len(there), both)
    mine, others = (_people(side, by) for side in sides)
    return PeopleInBoth(one.name, by, len(mine), len(others), len(mine & others))


def _ids(policy: Policy, table: Table, one: Earlier) -> tuple[str, ...]:
    """What tells people apart on both sides."""
    for promise in policy.anonymity:
        for by in (ours(promise.of), theirs(promise.of, one.name)):
            if by and {*by} <= table.columns.keys() and _with(one, by):
                return by
    return ()


def _with(one: Earlier, by: Sequence[str]) -> Table | None:
    """The earlier table, or the one that it was made from, whichever has these columns."""
    sides = [side for side in (one.table, one.made_from) if side is not None]
    return next((side for side in sides if {*by} <= side.columns.keys()), None)


def _texts(column: Column) -> pa.Array:
    """Every distinct value of a column as it prints, but for the missing one."""
    values = column.values.drop_null()
    printed = values if is_text(values.type) else pa.array(texts(values))
    return printed.cast(pa.large_string())


def _people(table: Table, by: Sequence[str]) -> set[tuple[str, ...]]:
    """Everybody of a table, by the texts of some columns; who misses one of them is nobody."""
    columns = [table.columns[name] for name in by]
    here = np.logical_and.reduce([_present(column) for column in columns])
    sizes = [max(len(column.values), 1) for column in columns]
    number, _ = number_rows([column.codes[here] for column in columns], sizes)
    first = np.unique(number, return_index=True)[1]
    printed = [column.texts() for column in columns]
    at = np.flatnonzero(here)[first]
    cells = (
        [shown[code] or "" for code in column.codes[at].tolist()]
        for shown, column in zip(printed, columns, strict=True)
    )
    return set(zip(*cells, strict=True))


def _present(column: Column) -> Any:
    missing = column.missing
    return np.ones(len(column.codes), bool) if missing is None else column.codes != missing
