"""Published cells: where the verifier reads them, and what a typed file carries besides them.

Categories that nobody shows any more, an index of a data frame or metadata of the source tell what
no cell does.
"""

from __future__ import annotations

import dataclasses
import glob
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from reticent.errors import Problem
from reticent.privacy.rejoin import text_of

_TYPES_ONLY = {
    b"ARROW:schema", b"PARQUET:field_id",
    b"_PL_CATEGORICAL", b"_PL_CATEGORICAL2", b"_PL_ENUM_VALUES", b"_PL_ENUM_VALUES2",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PublishedCells:
    """Where published cells are read from: SQL over columns named c0, c1, … in table order.

    Columns go by position because names may differ only in case, which SQL would not see.
    """

    sql: str
    names: tuple[str, ...]
    tables: Mapping[str, Any]  # the Arrow tables, or streams of rows, that `sql` names
    hidden: tuple[str, ...] = ()  # the last of `names`: counted, but not published
    counts: str | None = None  # the column that tells how many records a row stands for
    unread: tuple[str, ...] = ()  # columns that are there, and of no interest but for that
    people: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Arrow arrays of cells that are counted but not published, and are said to differ from row to
    row, so that it makes no difference which row each belongs to."""

    @property
    def is_read_again(self) -> bool:
        """Whether its rows can be read twice; a stream comes once."""
        return all(isinstance(table, pa.Table) for table in self.tables.values())


def from_csv(
    paths: Sequence[Path], names: Sequence[str], *, delimiter: str = ",", packed: bool = False,
    longest: int = 0, hidden: Any = None,
) -> PublishedCells:  # fmt: skip
    """Published cells in CSV files; `hidden` columns stand beside their rows, in their order."""
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(names)))
    files = ", ".join(text_of(str(path)) for path in paths)
    # Nothing is guessed. The reader's buffers grow with the longest line it must hold: 0.25 s a
    # run for 100 MB.
    sql = (
        f"read_csv([{files}], columns = {{{columns}}}, auto_detect = false, "
        f"header = true, delim = {text_of(delimiter)}, quote = '\"', escape = '\"', "
        f"encoding = 'utf-8', compression = '{'gzip' if packed else 'none'}', "
        f"max_line_size = {max(longest + 1000, 2_000_000)}, hive_partitioning = false)"
    )
    return _with_hidden(PublishedCells(sql, tuple(names), {}), hidden)


def from_typed(
    paths: Sequence[Path], *, parquet: bool, hidden: Any = None, name: str = "cells"
) -> PublishedCells:
    """Published cells in Parquet or Arrow files, which are read as they are counted."""
    import pyarrow.dataset as ds

    rows = ds.dataset([str(path) for path in paths], format="parquet" if parquet else "ipc")
    names = rows.schema.names
    patterns = any(map(glob.has_magic, map(str, paths)))  # DuckDB would look for other files
    if parquet and not patterns and len({name.lower() for name in names}) == len(names):
        in_quotes = ('"' + column.replace('"', '""') + '"' for column in names)
        cells = ", ".join(f"{column} AS c{i}" for i, column in enumerate(in_quotes))
        files = ", ".join(text_of(str(path)) for path in paths)
        sql = f"(SELECT {cells} FROM read_parquet([{files}], hive_partitioning = false))"
        return _with_hidden(PublishedCells(sql, tuple(names), {}), hidden)
    columns = {f"c{i}": ds.field(column) for i, column in enumerate(names)}
    scanner = rows.scanner(columns=columns)
    return _with_hidden(PublishedCells(name, tuple(names), {name: scanner}), hidden)


def _with_hidden(source: PublishedCells, hidden: Any) -> PublishedCells:
    """The same rows with further columns beside them: an Arrow table, or a Parquet file."""
    if hidden is None:
        return source
    if isinstance(hidden, Path):
        more = from_typed([hidden], parquet=True, name="hidden_cells")
        shift = len(source.names)
        cells = ", ".join(f"c{i} AS c{shift + i}" for i in range(len(more.names)))
        beside, tables, names = f"(SELECT {cells} FROM {more.sql})", more.tables, more.names
    else:
        keys = [f"c{len(source.names) + i}" for i in range(hidden.num_columns)]
        beside, names = "hidden_columns", tuple(hidden.column_names)
        tables = {"hidden_columns": hidden.rename_columns(keys)}
    here, there = (
        f"(SELECT *, 1 AS here FROM {source.sql})",
        f"(SELECT *, 1 AS there FROM {beside})",
    )
    return PublishedCells(
        f"{here} POSITIONAL JOIN {there}", (*source.names, *names),
        {**source.tables, **tables}, tuple(names), source.counts,
    )  # fmt: skip


def from_table(
    table: Any, *, hidden: Any = None, counts: Any = None, unread: Sequence[str] = ()
) -> PublishedCells:
    """Published cells in an Arrow table of text, `hidden` columns beside them.

    `counts`: how many records each row stands for, if not one; `unread`: further columns.
    """
    if isinstance(hidden, Path):
        return _with_hidden(from_table(table, counts=counts), hidden)
    names = list(table.column_names)
    columns = [table.column(i) for i in range(table.num_columns)]
    if hidden is not None:
        columns += [hidden.column(i) for i in range(hidden.num_columns)]
    keys = [f"c{i}" for i in range(len(columns))]
    if counts is not None:
        columns, keys = [*columns, counts], [*keys, "records"]
    whole = type(table).from_arrays(columns, names=keys)
    more = tuple(hidden.column_names) if hidden is not None else ()
    told = None if counts is None else "records"
    return PublishedCells("cells", (*names, *more), {"cells": whole}, more, told, tuple(unread))


def from_counts(batches: Iterator[Any], names: Sequence[str]) -> PublishedCells:
    """Published cells that somebody else read and counted: columns in order, then their counts."""
    first = next(batches)
    keys = [*(f"c{i}" for i in range(len(names))), "records"]
    schema = pa.schema(list(zip(keys, first.schema.types, strict=True)))
    rows = (pa.RecordBatch.from_arrays(b.columns, schema=schema) for b in chain([first], batches))
    reader = pa.RecordBatchReader.from_batches(schema, rows)
    return PublishedCells("cells", tuple(names), {"cells": reader}, counts="records")


def baggage(schema: Any, parts: Iterable[Any]) -> list[Problem]:
    """What Arrow tables carry besides their cells: metadata, indexes, unused categories.

    `parts`: the tables one after the other; a category counts as shown if any of them shows it.
    """
    carried: dict[str, set[Any]] = {}
    shown: dict[str, set[Any]] = {}
    for part in parts:
        for name in part.column_names:
            if pa.types.is_dictionary(part.schema.field(name).type):
                for chunk in part.column(name).chunks:
                    values = chunk.dictionary.to_pylist()
                    used = chunk.indices.unique().to_pylist()
                    carried.setdefault(name, set()).update(values)
                    shown.setdefault(name, set()).update(values[i] for i in used if i is not None)
    found = []
    if _told(schema.metadata):
        found.append(Problem("the file carries metadata of its source", do="write it without."))
    for field in schema:
        if _told(field.metadata):
            found.append(Problem(f'column "{field.name}" carries metadata of its source'))
        if field.name.startswith("__index_level_"):
            found.append(Problem(f'column "{field.name}" is the index of a data frame'))
        if carried.get(field.name, set()) - shown.get(field.name, set()) - {None}:
            found.append(
                Problem(
                    f'column "{field.name}" carries categories that no row shows',
                    why="they tell which values the masked cells hide.",
                    do="write the column as plain text.",
                )
            )
    return found


def _told(metadata: Any) -> bool:
    """Whether metadata tell more than types; categories are looked at in the cells."""
    return any(
        key not in _TYPES_ONLY and not (key == b"pandas" and _is_plain_index(value))
        for key, value in (metadata or {}).items()
    )


def _is_plain_index(told: bytes) -> bool:
    """Whether what pandas writes into files tells of no index but the count of rows."""
    try:
        described = json.loads(told)
        indexes, notes = described["index_columns"], described.get("attributes")
    except (ValueError, KeyError, TypeError, AttributeError):
        return False
    return not notes and all(
        isinstance(i, dict) and i.get("kind") == "range" and i.get("name") is None
        and i.get("start") == 0 and i.get("step") == 1
        for i in indexes
    )  # fmt: skip
