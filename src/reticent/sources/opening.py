"""Rows that stand elsewhere, opened to be counted there: long files, frames, databases, Spark."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from reticent.data import memory as room
from reticent.data.columns import decoded
from reticent.data.memory import spill_folder
from reticent.errors import InputError
from reticent.files.delimited import Dialect, Reading, about_rows, look, stream_csv, unreadable
from reticent.files.tabular import (
    CSV,
    WHOLE,
    Parsed,
    batches_of,
    count_rows,
    format_of,
    frame_kind,
    names_of,
    parse,
    parse_frame,
    paths_of,
    refuse_others,
    refuse_sheet,
    refuse_twice,
    schema_of,
)
from reticent.sources.addresses import (
    is_ibis_connection,
    is_ibis_table,
    is_url,
    shown_name,
    without_password,
)
from reticent.sources.databases import InDatabase, table_at, table_of
from reticent.sources.duckdb import Embedded, Standing, Stream, sql_name
from reticent.sources.engines import Progress, RowSource, plain_schema
from reticent.sources.means import ENGINES, OURSELVES, SHARE, Means, free_memory
from reticent.sources.spark_session import is_spark, session_for

_COUNTS = "counts"  # an option of every engine: where the table of counts is
_COUNTED = 200  # bytes that a counted row takes while it is searched


@contextmanager
def opened(
    data: Any, reading: Reading | None, means: Means, progress: Progress
) -> Iterator[RowSource]:
    """A table where it stands, for as long as its engine is needed."""
    notes: list[str] = []
    if is_url(data) and reading:
        refuse_sheet(shown_name(data), reading)
    with ExitStack() as ends:
        spill = ends.enter_context(spill_folder())
        name = str(data) if isinstance(data, str | Path) else "data"
        if is_ibis_connection(data):
            data = table_of(data, means.table, means.table_told_by)
        elif is_url(data):
            name = without_password(data)
            data = table_at(data, means.table, means.table_told_by, spill, means.for_engine)
            if is_ibis_table(data):  # of a connection that is ours
                ends.callback(data.get_backend().disconnect)
        limit = means.for_engine
        source: RowSource
        if is_ibis_table(data):
            source = InDatabase(name, data, spill=spill, memory_limit=limit, progress=progress)
        elif is_spark(data, "DataFrame") or means.engine not in (None, *ENGINES[:2]):
            memory = limit or free_memory() // 2
            options = {name: told for name, told in means.options.items() if name != _COUNTS}
            session = ends.enter_context(session_for(data, means.engine, options, memory))
            source = _on_spark(data, reading or Reading(), session, notes, progress)
        else:
            schema, rows, standing = _rows_of(data, reading or Reading(), notes)
            source = Embedded(
                name, schema, rows, spill=spill, standing=standing,
                memory_limit=limit, progress=progress,
            )  # fmt: skip
        ends.callback(source.close)
        refuse_twice(source.schema.names, name)
        source.notes = tuple(dict.fromkeys(notes))
        _make_room(source, means, spill, ends)
        yield source


def streamed(
    data: Any, reading: Reading | None, notes: list[str]
) -> tuple[str, pa.Schema, int, Stream]:
    """Files or a frame, to be read in the order of their rows: name, columns, about how many rows.

    What is assumed in reading them is added to `notes`.
    """
    schema, rows, standing = _rows_of(data, reading or Reading(), notes)
    name = str(data) if isinstance(data, str | Path) else "data"
    refuse_twice(schema.names, name)
    if not isinstance(standing, list):
        return name, schema, rows, standing
    paths = standing  # of Parquet, which DuckDB would read by itself, in any order

    def stream(names: Sequence[str]) -> pa.RecordBatchReader:
        batches = (batch for path in paths for batch in batches_of(path, ".parquet", names))
        return _plain_batches(schema, names, batches)

    return name, schema, rows, stream


def _make_room(source: RowSource, means: Means, spill: Path, ends: ExitStack) -> None:
    """See to it that the table of counts has room: in memory or, if it is too long, in files."""
    asked = means.options.get(_COUNTS, "auto")
    if asked not in ("auto", "memory", "files"):
        raise InputError(
            f'counts cannot be in "{asked}"', where="--engine-option", do="say memory or files."
        )
    if isinstance(source, Embedded) and (odd := [n for n in means.options if n != _COUNTS]):
        raise InputError(
            f'DuckDB has no setting "{odd[0]}" here', where="--engine-option", do="counts=files."
        )
    budget = means.memory_limit or int(SHARE * free_memory())

    def make_room(rows: int) -> None:
        if asked == "files" or (asked == "auto" and rows * _COUNTED > budget - OURSELVES):
            ends.enter_context(room.mapped(spill, means.for_engine))

    source.make_room = make_room


def _on_spark(
    data: Any, reading: Reading, session: Any, notes: list[str], progress: Progress
) -> RowSource:
    from reticent.sources import spark

    if is_spark(data, "DataFrame"):
        names = names_of(data.columns, "data", notes)
        return spark.of_frame(session, data, names, progress=progress)
    if not isinstance(data, str | Path):
        schema, rows, stream = _frame(data, notes)
        return spark.of_arrow(session, schema, rows, stream, progress=progress)
    paths, name = paths_of(data), str(data)
    if (suffix := _one_format(paths, reading, notes)) in WHOLE:
        schema, rows, stream = _parsed(parse(data, reading), notes)
        return spark.of_arrow(session, schema, rows, stream, progress=progress)
    refuse_sheet(data, reading)
    if suffix in CSV:
        dialects = _dialects(paths, reading, notes)
        return spark.of_csv(session, paths, dialects, name, progress=progress)
    schema, rows, _ = _typed(paths, name, suffix, notes)
    if suffix != ".parquet":
        raise InputError(f"Spark reads no {suffix} files", where=name, do="give Parquet or CSV.")
    return spark.of_parquet(session, paths, schema, rows, name, progress=progress)


def _rows_of(data: Any, reading: Reading, notes: list[str]) -> tuple[pa.Schema, int, Standing]:
    """The columns of a table, about how many rows it has, and how to read them."""
    if not isinstance(data, str | Path):
        return _frame(data, notes)
    paths = paths_of(data)
    suffix = _one_format(paths, reading, notes)
    if suffix in WHOLE:
        return _parsed(parse(data, reading), notes)
    refuse_sheet(data, reading)
    if suffix in CSV:
        return _csv(paths, reading, notes)
    return _typed(paths, str(data), suffix, notes)


def _one_format(paths: list[Path], reading: Reading, notes: list[str]) -> str:
    """The format that files have, whatever their names say."""
    found = [format_of(path, reading, notes) for path in paths]
    for path, suffix in zip(paths, found, strict=True):
        if (suffix in CSV) != (found[0] in CSV) or (suffix not in CSV and suffix != found[0]):
            raise InputError("its files have different formats", where=str(path), do="give one.")
    return found[0]


def _parsed(parsed: Parsed, notes: list[str]) -> tuple[pa.Schema, int, Stream]:
    """Rows that are in memory, for an engine to count all the same."""
    notes += parsed.notes
    arrow, schema = parsed.arrow, plain_schema(parsed.arrow.schema)

    def stream(names: Sequence[str]) -> pa.RecordBatchReader:
        return _plain_batches(schema, names, arrow.select(list(names)).to_reader())

    return schema, arrow.num_rows, stream


def _dialects(paths: list[Path], reading: Reading, notes: list[str]) -> list[Dialect]:
    dialects = [look(path, reading, notes) for path in paths]
    for path, dialect in zip(paths, dialects, strict=True):
        refuse_others(path, dialect.header, dialects[0].header)
    return dialects


def _csv(paths: list[Path], reading: Reading, notes: list[str]) -> tuple[pa.Schema, int, Stream]:
    dialects = _dialects(paths, reading, notes)
    schema = pa.schema([(name, pa.string()) for name in dialects[0].header])

    def stream(names: Sequence[str]) -> pa.RecordBatchReader:
        both = zip(paths, dialects, strict=True)
        batches = (batch for path, how in both for batch in stream_csv(path, how, names))
        return _plain_batches(schema, names, batches)

    return schema, sum(map(about_rows, paths)), stream


def _typed(
    paths: list[Path], name: str, suffix: str, notes: list[str]
) -> tuple[pa.Schema, int, Standing]:
    try:
        schemas = [schema_of(path, suffix) for path in paths]
        rows = sum(count_rows(path, suffix) for path in paths)
    except (pa.ArrowException, OSError) as error:
        raise unreadable(error, name) from None
    kinds = []
    for path, one in zip(paths, schemas, strict=True):
        names = names_of(one.names, path, notes)
        refuse_twice(names, name)
        kinds.append(dict(zip(names, one.types, strict=True)))
        refuse_others(path, names, [*kinds[0]])
        if [kinds[-1][n] for n in kinds[0]] != [*kinds[0].values()]:
            raise InputError("its files give one column different types", where=name)
    schema = plain_schema(pa.schema(kinds[0].items()))
    alike = len({name.lower() for name in schema.names}) < len(schema.names)
    patterns = any(map(glob.has_magic, map(str, paths)))  # DuckDB would look for other files
    if suffix == ".parquet" and not alike and not patterns and schema.names == schemas[0].names:
        return schema, rows, paths

    def stream(names: Sequence[str]) -> pa.RecordBatchReader:
        batches = (batch for path in paths for batch in batches_of(path, suffix, names))
        return _plain_batches(schema, names, batches)

    return schema, rows, stream


def _frame(data: Any, notes: list[str]) -> tuple[pa.Schema, int, Stream]:
    kind = frame_kind(data)
    if kind is None:
        raise InputError(
            f"a {type(data).__name__} is no table",
            do="give a path, a database table, or a pandas, Polars, PyArrow or DuckDB table.",
        )
    if kind == "duckdb":  # runs its query again for each pass, and holds no rows
        schema = data.limit(0).to_arrow_table().schema
        called = names_of(schema.names, "data", notes)
        own = dict(zip(called, map(sql_name, schema.names), strict=True))
        schema = pa.schema(zip(called, schema.types, strict=True))

        def pull(names: Sequence[str]) -> pa.RecordBatchReader:
            return data.project(", ".join(own[name] for name in names)).to_arrow_reader()

        rows = int(data.count("*").fetchall()[0][0])
    else:
        parsed = parse_frame(data, kind)
        arrow, schema, rows = parsed.arrow, parsed.arrow.schema, parsed.arrow.num_rows
        notes += parsed.notes

        def pull(names: Sequence[str]) -> pa.RecordBatchReader:
            return arrow.select(list(names)).to_reader()

    plain = plain_schema(schema)
    return plain, rows, lambda names: _plain_batches(plain, names, pull(names))


def _plain_batches(schema: pa.Schema, names: Sequence[str], batches: Any) -> pa.RecordBatchReader:
    chosen = pa.schema([schema.field(name) for name in names])

    def plainly(batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = [decoded(c) if pa.types.is_dictionary(c.type) else c for c in batch.columns]
        cells = [column.cast(kind) for column, kind in zip(columns, chosen.types, strict=True)]
        return pa.RecordBatch.from_arrays(cells, schema=chosen)

    return pa.RecordBatchReader.from_batches(chosen, map(plainly, batches))
