"""The decimal comma: numbers, and borders of intervals, as they are written where it is used.

Inside, a border has a point and an interval is ``[0.5,1.5)``. Only on the way into a file for
people, and out of one, are the two forms turned into each other, one cell for one cell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

import pyarrow as pa

from reticent.data.columns import Column, Table, relabelled
from reticent.data.texts import is_text, texts
from reticent.errors import InputError

_POINTED = re.compile(r"\[([^,;\[\]()]+),([^,;\[\]()]+)([\])])")
_WITH_COMMAS = re.compile(r"\[([^;\[\]()]+); ([^;\[\]()]+)([\])])")
_NUMBER = r"-?\d+(?:{}\d+)?(?:[eE][+-]?\d+)?"
_POINT_NUMBER = re.compile(_NUMBER.format(r"\."))
_COMMA_NUMBER = re.compile(f"{_NUMBER.format(',')}|-?inf")  # as unbounded numbers are written


def is_fractional(kind: pa.DataType) -> bool:
    """Whether cells of a type may have a decimal sign."""
    return bool(pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def comma_number(text: str) -> str:
    """A number with a comma; any other text stays.

    >>> comma_number("1.5"), comma_number("2020-01-01"), comma_number("1e-07")
    ('1,5', '2020-01-01', '1e-07')
    """
    return text.replace(".", ",") if _POINT_NUMBER.fullmatch(text) else text


def _point_number(text: str) -> str:
    return text.replace(",", ".") if _COMMA_NUMBER.fullmatch(text) else text


def comma_interval(label: str) -> str:
    """An interval whose borders have commas; any other label stays.

    >>> comma_interval("[0.5,1.5)"), comma_interval("[20,35]"), comma_interval("*")
    ('[0,5; 1,5)', '[20; 35]', '*')
    """
    match = _POINTED.fullmatch(label)
    if match is None:
        return label
    return f"[{comma_number(match[1])}; {comma_number(match[2])}{match[3]}"


def point_interval(label: str) -> str:
    """The same interval as we know it.

    >>> point_interval("[0,5; 1,5)"), point_interval("[20; 35]"), point_interval("[0.5,1.5)")
    ('[0.5,1.5)', '[20,35]', '[0.5,1.5)')
    """
    match = _WITH_COMMAS.fullmatch(label)
    if match is None:
        return label
    return f"[{_point_number(match[1])},{_point_number(match[2])}{match[3]}"


def with_commas(values: pa.Array, *, intervals: bool) -> pa.Array:
    """The cells of a column that is written with decimal commas.

    Texts stay as they are, but for those of a column of `intervals`.
    """
    if is_text(values.type):
        return _each(values.to_pylist(), comma_interval) if intervals else values
    return _each(texts(values), comma_number) if is_fractional(values.type) else values


def _each(cells: Iterable[str | None], said: Callable[[str], str]) -> pa.Array:
    return pa.array([None if cell is None else said(cell) for cell in cells], pa.large_string())


def with_points(table: Table, numbers: Collection[str] = (), *, intervals: bool = True) -> Table:
    """A table that was perhaps written with decimal commas, as we know it.

    That is so of intervals, if any are looked for, and of columns that somebody says to be
    `numbers`. Two cells of a column that come to the same are refused: groups are counted by what
    is to be seen.
    """
    columns = {
        name: _with_points(column, number=name in numbers, where=table.name)
        if intervals or name in numbers
        else column
        for name, column in table.columns.items()
    }
    return replace(table, columns=columns)


def _with_points(column: Column, *, number: bool, where: str) -> Column:
    if not is_text(column.values.type) or not _may_have_commas(column.values, number=number):
        return column
    cells = column.values.to_pylist()
    known: Sequence[str | None] = [cell and point_interval(cell) for cell in cells]
    if number and all(not cell or _COMMA_NUMBER.fullmatch(cell) for cell in cells):
        known = [cell and _point_number(cell) for cell in cells]
    if known == cells:
        return column
    if len({*known}) < len({*cells}):
        raise InputError(
            "intervals are written in two ways", where=f'{where}, column "{column.name}"',
            why="whoever sees them can tell records apart that are counted as alike.",
            do="write all of them with one decimal sign.",
        )  # fmt: skip
    return relabelled(column, known, pa.large_string())


def _may_have_commas(values: pa.Array, *, number: bool) -> bool:
    import pyarrow.compute as pc

    found = pc.any(pc.match_substring_regex(values, "," if number else r"^\[.*; .*[)\]]$"))
    return bool(found.as_py())
