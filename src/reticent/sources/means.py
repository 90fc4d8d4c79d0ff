"""Where a table stands, and whether it fits in memory."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
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
    batches_of,
    count_rows,
    frame_kind,
    parse,
    parse_frame,
    paths_of,
    refuse_others,
    refuse_twice,
    schema_of,
    suffix_of,
)
from reticent.sources.databases import (
    InDatabase,
    is_ibis_connection,
    is_ibis_table,
    is_url,
    table_at,
    table_of,
    without_password,
)
from reticent.sources.duckdb import Embedded, Standing, Stream, sql_name
from reticent.sources.engines import Progress, RowSource
from reticent.sources.spark_session import is_spark, session_for

ENGINES = ("memory", "duckdb", "spark")
_LEAST = 400 * 10**6  # bytes: less than the program and its libraries take themselves
_OURSELVES = 250 * 10**6  # of them, before the first row is read
_COUNTS = "counts"  # an option of every engine: where the table of counts is
_COUNTED = 200  # bytes that a counted row takes while it is searched
_SLOW = 2 * 10**9  # bytes in memory from which on it is faster to count rows first
_SHARE = 0.7  # of the memory that is free may be used without being told


@dataclass(frozen=True, slots=True)
class Means:
    """What to read and count a table with: an engine, and how much memory it may take."""

    engine: Any = None  # one of ENGINES, a Spark session, or None: by the size of the table
    memory_limit: int | None = None  # bytes of this whole process
    options: Mapping[str, str] = field(default_factory=dict)  # of the engine
    table: str | None = None  # of a database

    @property
    def for_engine(self) -> int | None:
        """How much of the limit is left for an embedded engine."""
        if self.memory_limit is None:
            return None
        return max((self.memory_limit - _OURSELVES) // 2, 10**8)


def bytes_of(text: str) -> int:
    """A size in words.

    >>> bytes_of("2GB"), bytes_of("1.5 GiB")
    (2000000000, 1610612736)
    """
    from pydantic import ByteSize, TypeAdapter

    try:
        if not re.fullmatch(r"[\d.]+\s*\w*", text.strip()):
            raise ValueError  # pydantic would read the 1 of 1,5GB
        size = int(TypeAdapter(ByteSize).validate_python(text))
    except ValueError:
        raise InputError(
            f'"{text}" is no size', where="--memory-limit", do="write 2GB or 800MB."
        ) from None
    if size < _LEAST:
        raise InputError(
            f"{text} is less than the program takes itself", where="--memory-limit",
            do=f"give at least {_LEAST // 10**6}MB.",
        )  # fmt: skip
    return size


def elsewhere(data: Any, means: Means) -> bool:
    """Whether the rows of a table are to be counted where they stand, and not in memory."""
    _refuse_idle(data, means)
    if is_url(data) or is_ibis_table(data) or is_ibis_connection(data):
        return True
    if means.engine is not None:
        return bool(means.engine != "memory")
    if means.options:  # are of an engine
        return True
    if not isinstance(data, str | Path):
        return is_spark(data, "DataFrame")
    return needed(data) > min(means.memory_limit or int(_SHARE * free_memory()), _SLOW)


def _refuse_idle(data: Any, means: Means) -> None:
    """Refuse what would change nothing: whoever said it expects something."""
    if means.table is not None and not (is_url(data) or is_ibis_connection(data)):
        raise InputError("only databases have tables", where="--table", do="leave it out.")
    if is_url(data) and isinstance(means.engine, str) and means.engine != "duckdb":
        raise InputError(
            f"a database counts its own rows, and not {means.engine}", where="--engine",
            do="leave it out.",
        )  # fmt: skip
    if means.engine != "memory":
        return
    if means.options:
        raise InputError("memory has no settings", where="--engine-option", do="leave it out.")
    path = isinstance(data, str | Path) and not is_url(data)
    if path and means.memory_limit and needed(data) > means.memory_limit:
        raise InputError(
            f"in memory this table takes about {needed(data) / 10**9:.1f} GB",
            where="--memory-limit", do="raise the limit, or leave --engine out.",
        )  # fmt: skip


def needed(data: str | Path) -> int:
    """About how many bytes it takes to hold the rows of some files in memory.

    Measured at a million rows of 10 columns: four times a CSV file, 60 bytes a cell of Parquet.
    """
    import pyarrow.parquet as pq

    size = 0
    for path in paths_of(data):
        suffix = suffix_of(path)
        if suffix == ".parquet":
            try:
                told = pq.read_metadata(path)
            except (pa.ArrowException, OSError):
                return 0  # reading it will say what is wrong
            size += told.num_rows * told.num_columns * 60
        else:
            size += path.stat().st_size * (30 if suffix.endswith(".gz") else 4)
    return size


def free_memory() -> int:
    """Bytes that this process may still take, as far as the system says."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    try:
        told = Path("/proc/meminfo").read_text(encoding="ascii")
        found += [int(line.split()[1]) * 1024 for line in told.splitlines() if "Available" in line]
    except OSError:
        pass
    for name in ("memory.max", "memory/memory.limit_in_bytes"):  # of a container
        path = Path("/sys/fs/cgroup") / name
        if path.is_file() and (text := path.read_text(encoding="ascii").strip()).isdigit():
            found.append(int(text))
    return min(found)


@contextmanager
def opened(
    data: Any, reading: Reading | None, means: Means, progress: Progress
) -> Iterator[RowSource]:
    """A table where it stands, for as long as its engine is needed."""
    notes: list[str] = []
    with ExitStack() as ends:
        spill = ends.enter_context(spill_folder())
        name = str(data) if isinstance(data, str | Path) else "data"
        if is_ibis_connection(data):
            data = table_of(data, means.table)
        elif is_url(data):
            name = without_password(data)
            data = table_at(data, means.table, spill, means.for_engine)
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
    budget = means.memory_limit or int(_SHARE * free_memory())

    def make_room(rows: int) -> None:
        if asked == "files" or (asked == "auto" and rows * _COUNTED > budget - _OURSELVES):
            ends.enter_context(room.mapped(spill, means.for_engine))

    source.make_room = make_room


def _on_spark(
    data: Any, reading: Reading, session: Any, notes: list[str], progress: Progress
) -> RowSource:
    from reticent.sources import spark

    if is_spark(data, "DataFrame"):
        return spark.of_frame(session, data, progress=progress)
    if not isinstance(data, str | Path):
        schema, rows, stream = _frame(data)
        return spark.of_arrow(session, schema, rows, stream, progress=progress)
    paths, name = paths_of(data), str(data)
    if (suffix := suffix_of(paths[0])) in CSV:
        dialects = _dialects(paths, reading, notes)
        return spark.of_csv(session, paths, dialects, name, progress=progress)
    schema, rows, _ = _rows_of(data, reading, notes)
    if suffix != ".parquet":
        raise InputError(f"Spark reads no {suffix} files", where=name, do="give Parquet or CSV.")
    return spark.of_parquet(session, paths, schema, rows, name, progress=progress)


def _rows_of(data: Any, reading: Reading, notes: list[str]) -> tuple[pa.Schema, int, Standing]:
    """The columns of a table, about how many rows it has, and how to read them."""
    if not isinstance(data, str | Path):
        return _frame(data)
    paths = paths_of(data)
    suffix = suffix_of(paths[0])
    if not suffix:
        parse(data, reading)  # says what is wrong with the name
    if suffix in CSV:
        return _csv(paths, reading, notes)
    return _typed(paths, str(data), suffix)


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


def _typed(paths: list[Path], name: str, suffix: str) -> tuple[pa.Schema, int, Standing]:
    try:
        schemas = [schema_of(path, suffix) for path in paths]
        rows = sum(count_rows(path, suffix) for path in paths)
    except (pa.ArrowException, OSError) as error:
        raise unreadable(error, name) from None
    first = schemas[0]
    for path, one in zip(paths, schemas, strict=True):
        refuse_others(path, one.names, first.names)
        if [one.field(n).type for n in first.names] != first.types:
            raise InputError("its files give one column different types", where=name)
    schema = plain_schema(first)
    alike = len({name.lower() for name in schema.names}) < len(schema.names)
    patterns = any(map(glob.has_magic, map(str, paths)))  # DuckDB would look for other files
    if suffix == ".parquet" and not alike and not patterns:
        return schema, rows, paths

    def stream(names: Sequence[str]) -> pa.RecordBatchReader:
        batches = (batch for path in paths for batch in batches_of(path, suffix, names))
        return _plain_batches(schema, names, batches)

    return schema, rows, stream


def _frame(data: Any) -> tuple[pa.Schema, int, Stream]:
    kind = frame_kind(data)
    if kind is None:
        raise InputError(
            f"a {type(data).__name__} is no table",
            do="give a path, a database table, or a pandas, Polars, PyArrow or DuckDB table.",
        )
    if kind == "duckdb":  # runs its query again for each pass, and holds no rows

        def pull(names: Sequence[str]) -> pa.RecordBatchReader:
            return data.project(", ".join(map(sql_name, names))).to_arrow_reader()

        schema = data.limit(0).to_arrow_table().schema
        rows = int(data.count("*").fetchall()[0][0])
    else:
        arrow = parse_frame(data, kind).arrow
        schema, rows = arrow.schema, arrow.num_rows

        def pull(names: Sequence[str]) -> pa.RecordBatchReader:
            return arrow.select(list(names)).to_reader()

    plain = plain_schema(schema)
    return plain, rows, lambda names: _plain_batches(plain, names, pull(names))


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The same columns with text as ordinary text, and categories as their values."""
    return pa.schema([(field.name, _plain(field.type)) for field in schema])


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return _plain(kind.value_type)
    text = pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return pa.string() if text or pa.types.is_null(kind) else kind


def _plain_batches(schema: pa.Schema, names: Sequence[str], batches: Any) -> pa.RecordBatchReader:
    chosen = pa.schema([schema.field(name) for name in names])

    def plainly(batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = [decoded(c) if pa.types.is_dictionary(c.type) else c for c in batch.columns]
        cells = [column.cast(kind) for column, kind in zip(columns, chosen.types, strict=True)]
        return pa.RecordBatch.from_arrays(cells, schema=chosen)

    return pa.RecordBatchReader.from_batches(chosen, map(plainly, batches))
