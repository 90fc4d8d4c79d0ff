"""Columns as small integers, and tables of them.

A column is read once into codes; everything else — trimming, missing values, numbers, dates,
labels — is decided on its distinct values, so it costs what the domain is large and not what the
table is long. What the values mean as numbers or times is for `reticent.data.scales` to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from reticent.data import memory
from reticent.data.texts import is_text, texts
from reticent.errors import InputError, listed

Codes = NDArray[np.unsignedinteger[Any]]
Counts = NDArray[np.int64]
LONG = 1_000_000  # records: beyond, masked columns alone tell which cut is better


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table, every cell a code."""

    name: str
    codes: Codes  # codes[row] is an index into `values`
    values: pa.Array  # distinct values, each occurring; a missing one is null, at most once
    numbered: bool = True  # whether rows stand as they do in the file

    @property
    def missing(self) -> int | None:
        """The code of the missing value, where one occurs."""
        if not self.values.null_count:
            return None
        return int(np.flatnonzero(np.asarray(self.values.is_null()))[0])

    def texts(self) -> list[str | None]:
        """The shortest text of each distinct value; None for the missing one."""
        return texts(self.values)

    def cells(self) -> pa.Array:
        """Every cell as its text."""
        if is_text(self.values.type):  # a million of them are not for Python
            return self.values.cast(pa.string()).take(pa.array(self.codes))
        return pa.array(self.texts(), pa.string()).take(pa.array(self.codes))

    def rows_of(self, codes: Iterable[int], most: int = 3) -> list[int]:
        """The first rows, counted from 1, that hold one of `codes`."""
        wanted = np.zeros(len(self.values), dtype=bool)
        wanted[list(codes)] = True
        return [int(row) + 1 for row in np.flatnonzero(wanted[self.codes])[:most]]

    def seen(self, codes: Iterable[int]) -> str:
        """Where some values stand first, as the end of a message; nothing if nobody knows."""
        return f"; first seen on rows {listed(self.rows_of(codes))}" if self.numbered else ""

    def take(self, rows: NDArray[np.bool_]) -> Column:
        """The column with only the rows marked true, and no value that they do not hold."""
        kept = replace(self, codes=self.codes[rows])
        used = np.zeros(len(self.values), dtype=bool)
        used[kept.codes] = True
        if used.all():
            return kept
        compact = np.where(used, np.cumsum(used) - 1, 0).astype(smallest(max(used.sum(), 1)))
        return replace(kept, codes=compact[kept.codes], values=self.values.filter(pa.array(used)))


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of equal length, in order, with the name they go by in messages.

    A row is one record, or stands for several that are equal in all columns there are.
    """

    name: str
    columns: Mapping[str, Column]
    rows: int
    notes: tuple[str, ...] = ()  # what was assumed in reading it
    counts: Counts | None = None  # counts[row]: how many records it stands for; None: one each
    at: NDArray[np.int64] | None = None  # where its rows stood when counted; None: as they stand
    names: tuple[str, ...] = ()  # of all columns, where some are not at hand
    about: Mapping[str, int] = field(default_factory=dict)  # distinct values of those, roughly

    @property
    def known(self) -> list[str]:
        """The names of all its columns, at hand or not."""
        return list(self.names or self.columns)

    @property
    def records(self) -> int:
        """How many records its rows stand for."""
        return self.rows if self.counts is None else int(self.counts.sum())

    @property
    def long(self) -> bool:
        """Whether it is too long for the columns released as they are to tell which cut is best."""
        return self.records > LONG

    def pick(self, rows: NDArray[np.int64]) -> Table:
        """A table of single records, one for each row named; a row may be named again."""
        once = np.zeros(self.rows, dtype=bool)
        once[rows] = True
        kept = self.take(once)
        at = (np.cumsum(once) - 1)[np.sort(rows)]
        columns = {n: replace(c, codes=c.codes[at]) for n, c in kept.columns.items()}
        return replace(self, columns=columns, rows=len(rows), counts=None, at=None)

    def count(self, rows: NDArray[np.bool_]) -> int:
        """How many records the rows marked true stand for."""
        return int(rows.sum() if self.counts is None else self.counts[rows].sum())

    def take(self, rows: NDArray[np.bool_]) -> Table:
        """The table with only the rows marked true."""
        kept = {name: column.take(rows) for name, column in self.columns.items()}
        counts = None if self.counts is None else self.counts[rows]
        at = self.at
        if counts is not None:
            at = np.flatnonzero(rows) if at is None else at[rows]
        return replace(self, columns=kept, rows=int(rows.sum()), counts=counts, at=at)


def smallest(count: int) -> type[np.unsignedinteger[Any]]:
    """The smallest unsigned integer type that can count to `count` exclusively."""
    return next(
        kind for kind in (np.uint8, np.uint16, np.uint32) if count <= int(np.iinfo(kind).max) + 1
    )


def encode(name: str, cells: pa.ChunkedArray | pa.Array) -> Column:
    """Read an Arrow column of any plain type into codes."""
    import pyarrow.compute as pc

    if pa.types.is_dictionary(cells.type):  # a user's categories: may hold unused or repeated ones
        cells = decoded(cells)
    if pa.types.is_string_view(cells.type) or pa.types.is_string(cells.type):
        cells = cells.cast(pa.large_string())
    if not is_supported(cells.type):
        raise InputError(
            f"the type {cells.type} is not supported", where=f'column "{name}"', do="drop it."
        )
    if pa.types.is_null(cells.type):
        cells = cells.cast(pa.large_string())
    if pa.types.is_decimal32(cells.type) or pa.types.is_decimal64(cells.type):
        cells = cells.cast(pa.decimal128(cells.type.precision, cells.type.scale))
    if isinstance(cells, pa.ChunkedArray):  # dictionaries with nulls cannot be joined later
        cells = cells.combine_chunks()
    coded = pc.dictionary_encode(cells, null_encoding="encode")
    values = coded.dictionary
    codes = coded.indices.to_numpy().astype(smallest(max(len(values), 1)))
    return Column(name, codes, values)


def is_supported(kind: pa.DataType) -> bool:
    """Whether cells of a type can be taken into codes."""
    t = pa.types
    odd = (t.is_nested, t.is_binary, t.is_large_binary, t.is_fixed_size_binary, t.is_binary_view)
    extra = isinstance(kind, pa.BaseExtensionType)
    return not (extra or any(is_odd(kind) for is_odd in (*odd, t.is_interval)))


def decoded(cells: Any) -> Any:
    """Categories as plain values; Arrow cannot cast every kind of them."""
    chunks = cells.chunks if isinstance(cells, pa.ChunkedArray) else [cells]
    kind = cells.type.value_type
    if pa.types.is_string_view(kind):
        kind = pa.large_string()
    plain = [c.dictionary.cast(kind).take(c.indices) for c in chunks]
    return pa.chunked_array(plain, kind) if isinstance(cells, pa.ChunkedArray) else plain[0]


def recode(column: Column, mapping: Sequence[int] | NDArray[Any], values: pa.Array) -> Column:
    """Map every code of a column into `values`, leaving out values that none maps to.

    Each code occurs in some row, so this looks at the rows once, through a table of small integers.
    """
    to = np.asarray(mapping, dtype=np.int64)
    used = np.zeros(len(values), dtype=bool)
    used[to] = True
    if not used.all():
        to = (np.cumsum(used) - 1)[to]
        values = values.filter(pa.array(used))
    codes = memory.look_up(to.astype(smallest(max(len(values), 1))), column.codes)
    return replace(column, codes=codes, values=values)


def relabelled(column: Column, shown: Sequence[Any], kind: pa.DataType) -> Column:
    """The column with another value for each of its own; equal ones become one.

    >>> relabelled(encode("A", pa.array([4, 5, 6])), ["x", None, "x"], pa.string()).codes.tolist()
    [0, 1, 0]
    """
    at = {value: code for code, value in enumerate(dict.fromkeys(shown))}
    return recode(column, [at[value] for value in shown], pa.array(list(at), kind))


def blanked(column: Column, rows: NDArray[np.bool_]) -> Column:
    """The column with empty cells in some rows, and no value that no other row holds.

    >>> blanked(encode("A", pa.array([4, 5, 4])), np.array([True, False, False])).values.to_pylist()
    [4, 5, None]
    """
    if not rows.any():
        return column
    kept = column.take(~rows)
    values, gap = kept.values, kept.missing
    if gap is None:
        gap = len(values)
        values = pa.concat_arrays([values, pa.nulls(1, values.type)])
    codes = np.full(len(rows), gap, smallest(len(values)))
    codes[~rows] = kept.codes
    return replace(column, codes=codes, values=values)


def stacked(first: Column, second: Column) -> Column:
    """The cells of two columns below each other, as their texts.

    >>> stacked(encode("A", pa.array(["x", None])), encode("A", pa.array(["y", "x"]))).cells()
    ... # doctest: +ELLIPSIS
    <pyarrow.lib.StringArray object at ...>
    [
      "x",
      null,
      "y",
      "x"
    ]
    """
    texts = [*first.texts(), *second.texts()]
    at = {text: code for code, text in enumerate(dict.fromkeys(texts))}
    to = np.array([at[text] for text in texts], dtype=smallest(max(len(at), 1)))
    codes = np.concatenate([to[first.codes], to[len(first.values) :][second.codes]])
    return Column(first.name, codes, pa.array(list(at), pa.large_string()))


def trimmed(column: Column) -> Column:
    """The column with blanks around its texts stripped."""
    if not is_text(column.values.type):
        return column
    before = column.values.to_pylist()
    after = [None if text is None else text.strip() for text in before]
    return column if after == before else relabelled(column, after, column.values.type)


def respelled(column: Column, to: Mapping[str, str]) -> Column:
    """The column with some of its texts as others; of numbers and times, none is another.

    >>> respelled(encode("Sex", pa.array(["m", "M", "f"])), {"M": "m"}).codes.tolist()
    [0, 0, 1]
    """
    import pyarrow.compute as pc

    if not is_text(column.values.type):
        return column
    spellings = pa.array(list(to), column.values.type)
    if not pc.any(pc.is_in(column.values, spellings)).as_py():  # of a million, few are for Python
        return column
    shown = [None if text is None else to.get(text, text) for text in column.values.to_pylist()]
    return relabelled(column, shown, column.values.type)


def without_missing(column: Column, missing_values: Iterable[str] = ()) -> Column:
    """The column as it is counted: one null for all that means missing, one value for each text.

    Missing are empty cells, NaN and what was told; 0.0 and -0.0 print alike and are one value.
    """
    import pyarrow.compute as pc

    names = set(missing_values) | {""}
    if names == {""} and pa.types.is_integer(column.values.type):
        return column  # no two print alike, and none prints empty
    if is_text(column.values.type):  # all different; a million of them are not for Python
        listed = pa.array(sorted(names), column.values.type)
        if not pc.any(pc.is_in(column.values, listed)).as_py():
            return column
    known = [None if text in names else text for text in column.texts()]
    first: dict[str | None, int] = {}
    for code, text in enumerate(known):
        first.setdefault(text, code)
    if len(first) == len(known) and (None in first) == bool(column.values.null_count):
        return column
    present = [code for text, code in first.items() if text is not None]
    at = {text: i for i, text in enumerate(text for text in first if text is not None)}
    values = pa.concat_arrays(
        [column.values.take(pa.array(present, pa.int64())), pa.nulls(1, column.values.type)]
    )
    gap = len(at)
    return recode(column, [gap if text is None else at[text] for text in known], values)
