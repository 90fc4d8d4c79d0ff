"""Cells that carry types of their own, one by one, as columns of one type each.

Spreadsheets and statistics packages keep every number as a float. A column of one kind of cells
keeps that kind, whole numbers being integers; one of several is taken as the texts that it shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from types import NoneType
from typing import Any

import numpy as np
import pyarrow as pa

from reticent.data.texts import is_text, number_text, texts


def of_one_kind(cells: Sequence[Any]) -> pa.Array:
    """Cells as what they are, if they are of one kind; as texts otherwise."""
    known = [None if cell == "" else cell for cell in cells]
    kinds = {*map(type, known)} - {NoneType}
    if not kinds:
        return pa.nulls(len(known))
    if kinds == {str}:
        return pa.array(known, pa.large_string())
    if kinds == {bool}:
        return pa.array(known, pa.bool_())
    if kinds <= {int, float}:
        return pa.array([None if n is None else float(n) for n in known], pa.float64())
    if kinds == {date}:
        return pa.array(known, pa.date32())
    if kinds <= {date, datetime}:
        days = (datetime(d.year, d.month, d.day) if type(d) is date else d for d in known)
        return pa.array(days, pa.timestamp("us"))
    if kinds == {time}:
        return pa.array(known, pa.time64("us"))
    if kinds == {timedelta}:
        return pa.array(known, pa.duration("us"))
    return pa.array([None if cell is None else as_shown(cell) for cell in known], pa.large_string())


def joined(parts: Sequence[pa.Array]) -> pa.ChunkedArray:
    """One column of its parts, as texts if these are of several kinds."""
    kinds = {part.type for part in parts if not pa.types.is_null(part.type)}
    if not kinds:
        return pa.chunked_array([pa.nulls(sum(map(len, parts)))])
    if kinds == {pa.date32(), pa.timestamp("us")}:
        kinds = {pa.timestamp("us")}
    if kinds == {pa.int64(), pa.float64()}:  # of several files
        kinds = {pa.float64()}
    kind = kinds.pop() if len(kinds) == 1 else pa.large_string()
    if is_text(kind):
        parts = [part if part.type == kind else pa.array(_texts(part), kind) for part in parts]
    whole = pa.chunked_array([part.cast(kind) for part in parts], kind)
    return _as_integers(whole) if pa.types.is_floating(kind) else whole


def _as_integers(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whole numbers as integers, if all are: a spreadsheet has no others than floats."""
    for chunk in cells.chunks:
        numbers = chunk.drop_null().to_numpy(zero_copy_only=False)
        if not (np.abs(numbers) < 2**53).all() or (np.floor(numbers) != numbers).any():
            return cells
    return cells.cast(pa.int64())


def _texts(cells: pa.Array) -> list[str | None]:
    if pa.types.is_boolean(cells.type):
        return [None if cell is None else as_shown(cell) for cell in cells.to_pylist()]
    return texts(cells)


def as_shown(cell: Any) -> str:
    """A cell as a spreadsheet shows it where it gives no form.

    >>> as_shown(39.0), as_shown(True), as_shown(date(2020, 1, 31))
    ('39', 'TRUE', '2020-01-31')
    """
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, int | float):
        return number_text(cell)
    return cell.isoformat() if isinstance(cell, date | time) else str(cell)
