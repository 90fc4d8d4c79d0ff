"""Rows masked as a search found, at once or as they are read again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from reticent.privacy.promises import columns_of

if TYPE_CHECKING:
    from reticent.data.columns import Column, Table
    from reticent.data.recode import Recoding
    from reticent.files.sheets import Sheet
    from reticent.sources import engines
    from reticent.sources.engines import RowSource
    from reticent.tables.prepare import Prepared

_MOST_JOINS = 20  # for the sake of kept columns: 200 took a minute
MANY = 10_000  # records, each of another person, that the verifier need not tell apart


@dataclass(frozen=True, slots=True)
class Beyond:
    """Rows that stand elsewhere, and the table that counts them."""

    source: RowSource
    counted: Table


# Opens rows for one reading, as one sheet or as many of so many rows each.
Rows = Callable[[int], "Sheet | Iterator[Sheet]"]


@dataclass(frozen=True, slots=True)
class Masked:
    """Rows to publish, and beside them the columns that are counted but not published."""

    sheet: Sheet  # of every released column whose values are known
    rows: Rows  # all of them
    hidden: Rows | None  # beside them, row by row
    people: Mapping[str, Any] = field(default_factory=dict)  # cells that differ from row to row
    recoding: engines.RowRecoding | None = None  # by which a cluster can write them itself


def mask(
    prepared: Prepared,
    recodings: Mapping[str, Recoding],
    beyond: Beyond | None = None,
    *,
    parts: bool = False,
) -> Masked:
    """Mask a table; `beyond`: where its rows stand, if it only counts them.

    `parts`: they will be written as several files, which a cluster can do itself.
    """
    from reticent.files.sheets import sheet

    _, _, of = columns_of(prepared.policy.promises)
    unpublished = sorted(of - set(prepared.roles.released))
    people = {} if beyond else _people(prepared, unpublished)
    unpublished = [name for name in unpublished if name not in people]
    released = [n for n in prepared.roles.released if n in prepared.table.columns]
    order = prepared.policy.order
    columns = {
        name: recodings[name].apply(prepared.cleaned.columns[name])[0]
        if name in recodings
        else prepared.table.columns[name]
        for name in (*released, *unpublished)
    }
    everything = len(released) == len(prepared.roles.released)
    far = beyond is not None and beyond.source.write_parts is not None and parts
    if beyond is None or (everything and order == "sorted" and not far):
        whole = sheet(
            [columns[name] for name in released], order=order, counts=prepared.table.counts,
            hidden=[columns[name] for name in unpublished],
        )  # fmt: skip
        shown, hidden = whole.select(released), whole.select(unpublished)
        return Masked(
            shown, lambda size: shown, (lambda size: hidden) if unpublished else None, people
        )
    shown = sheet(
        [columns[name] for name in released], order="sorted", counts=prepared.table.counts
    )
    recoding = _recoding(prepared, columns, beyond)
    return Masked(
        shown,
        lambda size: beyond.source.recoded(recoding, size),
        (lambda size: beyond.source.recoded(replace(recoding, told=tuple(unpublished)), size))
        if unpublished
        else None,
        recoding=recoding if far and not unpublished else None,
    )


def _people(prepared: Prepared, columns: Sequence[str]) -> dict[str, Any]:
    """Those columns of a long table that name another person in every row.

    Then each row is a person, and nobody needs to stand beside his own: ordering a million rows and
    their names, and reading them side by side, took two seconds.
    """
    table, found = prepared.table, {}
    for name in columns if table.rows > MANY else ():
        column = table.columns[name]
        all_there = prepared.cleaned.columns[name].missing is None
        if all_there and len(column.values) == table.rows == table.records:
            found[name] = column.values.take(pa.array(column.codes))
    return found


def _recoding(
    prepared: Prepared, columns: Mapping[str, Column], beyond: Beyond
) -> engines.RowRecoding:
    """How an engine is to show every row: column by column, but for those that are left out."""
    from reticent.sources import engines

    source, counted = beyond.source, beyond.counted
    gone = np.zeros(counted.rows, dtype=bool)
    here: Any = slice(None)  # all rows are released
    if prepared.table.at is not None:
        here = prepared.table.at
        gone[:] = True
        gone[here] = False
    shown = {}
    for name, column in columns.items():
        raw = replace(counted.columns[name], codes=counted.columns[name].codes[here])
        shown[name] = engines.ShownColumn.of(source.key(name), raw, column)
    door, released = prepared.policy.door(prepared.reading), prepared.roles.released
    unknown = [name for name in released if name not in shown]
    return engines.RowRecoding(
        shown
        | {
            name: source.shown(name, door, counted=i < _MOST_JOINS)
            for i, name in enumerate(unknown)
        },
        order=released, told=released,
        gone=engines.rows_of(counted, gone, source.key) if gone.any() else None,
        sorted=prepared.policy.order == "sorted",
    )  # fmt: skip


def as_text(table: Table) -> Any:
    """An Arrow table with every cell as its text: what the verifier compares."""
    return pa.table({name: column.cells() for name, column in table.columns.items()})


def arrow(rows: Rows) -> Any:
    """Rows as one Arrow table."""
    from reticent.files.sheets import ROW_GROUP, Sheet

    found = rows(ROW_GROUP)
    if isinstance(found, Sheet):
        return found.arrow()
    return pa.concat_tables([sheet.arrow() for sheet in found]).combine_chunks()


def give_back_memory() -> None:
    """Have Arrow return what it keeps for later: 80 MB after reading a million rows."""
    pa.default_memory_pool().release_unused()
