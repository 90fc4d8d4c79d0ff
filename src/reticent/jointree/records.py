"""Records in the order of their file, where the file does not fit in memory.

Classes are told record by record, so those of the class's table cannot be counted by an engine as
other tables are. Their columns come in batches, and what stays of each cell is a small number:
which of its column's values it is or, of columns that a tree asks, between which thresholds it
lies. Where even that is too much, there is a message instead of a machine that stands still.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from reticent.data.columns import Column, Table, encode, smallest, without_missing
from reticent.errors import InputError

Alike = Callable[[Column], NDArray[np.int64]]  # of each distinct value, what alone matters of it
_A_VALUE = 150  # bytes that a distinct value takes while it can be looked up
_A_RECORD = 24  # bytes that a record takes while equal ones are counted once


class _Cells:
    """A column as its batches come."""

    def __init__(self, name: str, alike: Alike | None, *, once: bool) -> None:
        self.name, self.alike, self.once = name, alike, once
        self.number: dict[Any, int] = {}
        self.values: list[pa.Array] = []
        self.codes: list[NDArray[Any]] = []

    def add(self, cells: pa.Array) -> int:
        """Take in some more cells; how many bytes that took, about."""
        column = without_missing(encode(self.name, cells))
        if not self.once:  # hardly any value stands twice
            self.values.append(column.values.take(pa.array(column.codes)))
            return int(self.values[-1].nbytes) + 4 * len(cells)
        keys = column.texts() if self.alike is None else self.alike(column).tolist()
        fresh = []
        for i, key in enumerate(keys):
            if key not in self.number:
                self.number[key] = len(self.number)
                fresh.append(i)
        self.values.append(column.values.take(pa.array(fresh, pa.int64())))
        to = np.array([self.number[key] for key in keys], smallest(max(len(self.number), 1)))
        self.codes.append(to[column.codes])
        return int(self.values[-1].nbytes + self.codes[-1].nbytes) + _A_VALUE * len(fresh)

    def column(self, kind: pa.DataType) -> Column:
        """All of it."""
        values = (
            pa.concat_arrays(self.values) if self.values else encode("", pa.nulls(0, kind)).values
        )
        codes = self.codes if self.once else [np.arange(len(values), dtype=np.uint32)]
        return Column(self.name, np.concatenate(codes) if codes else np.empty(0, np.uint8), values)


def records_in_order(
    name: str,
    schema: pa.Schema,
    batches: Callable[[Sequence[str]], pa.RecordBatchReader],
    wanted: Sequence[str],
    *,
    alike: Mapping[str, Alike] | None = None,
    single: Collection[str] = (),
    room: int,
    told: Callable[[int], None] = lambda done: None,
) -> Table:
    """Some columns of a table, every record for itself, as far as they have `room`, in bytes.

    Of columns in `alike` one value stands for all that it cannot tell apart; in `single` ones
    hardly any value stands twice.
    """
    columns = {c: _Cells(c, (alike or {}).get(c), once=c not in single) for c in wanted}
    done = held = 0
    for batch in batches(wanted):
        done += batch.num_rows
        held += sum(columns[c].add(batch.column(c)) for c in wanted)
        told(done)
        if held + _A_RECORD * done > room:
            raise InputError(
                "its records do not fit in memory, not even as small numbers", where=name,
                why="classes are told record by record, so all of the class's table are held.",
                do="raise --memory-limit, or do without --test; to classify, give parts as --rows.",
            )  # fmt: skip
    kinds = {c: schema.field(c).type for c in wanted}
    found = {c: cells.column(kinds[c]) for c, cells in columns.items()}
    return Table(name, found, done, names=tuple(schema.names))
