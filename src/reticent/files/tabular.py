"""Tables at the door: files, folders and globs of them, and data frames, taken into codes."""

from __future__ import annotations

import glob
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from reticent.data.columns import Column, Table, encode, is_supported, smallest
from reticent.data.texts import is_text
from reticent.errors import InputError, did_you_mean, quoted
from reticent.files import formats
from reticent.files.delimited import Reading as Reading
from reticent.files.delimited import is_made_up as is_made_up
from reticent.files.delimited import named, read_csv, told_unnamed, unreadable
from reticent.files.formats import ARROW as ARROW
from reticent.files.formats import CSV as CSV
from reticent.files.formats import STATISTICS
from reticent.files.formats import WORKBOOKS as WORKBOOKS

SUFFIXES = (*CSV, ".parquet", *ARROW)  # that are written
RELEASED = (*SUFFIXES, ".xlsx")  # as a release is, besides
WHOLE = (*WORKBOOKS, *STATISTICS)  # read into memory as a whole
READABLE = (*SUFFIXES, *WHOLE)
_PLAIN = (".dat", ".basket", ".txt", ".data", ".csv")
LINES = (*_PLAIN, *(f"{suffix}.gz" for suffix in _PLAIN))  # of baskets, one a line


def suffix_of(path: Path, known: Sequence[str] = READABLE) -> str:
    """The suffix that tells a format, ``.csv.gz`` included; empty where there is none."""
    return formats.suffix_of(path, known)


def format_of(path: Path, reading: Reading | None = None, notes: list[str] | None = None) -> str:
    """The format of a file, as its suffix: by its first bytes; if they tell nothing, by its name.

    What is no table is refused, and that its name told another format is added to `notes`.
    """
    seen = [] if notes is None else notes
    told = reading.encoding if reading else None
    found = formats.format_of(path, suffix_of(path), seen, told=told)
    if not found:
        known = ", ".join(READABLE)
        raise InputError("its name tells no known format", where=str(path), do=f"known: {known}.")
    return found


def delimiter_of(suffix: str) -> str:
    """The delimiter a text format is written with."""
    return "\t" if suffix.startswith(".tsv") else ","


def paths_of(data: str | Path, known: Sequence[str] = READABLE) -> list[Path]:
    """The files behind a file name, a folder or a glob; in a folder, those of a `known` suffix."""
    path = Path(data)
    if "://" in str(data):
        raise InputError(
            "this command reads no databases", where=str(data).partition("://")[0] + "://",
            do="export the table to a file.",
        )  # fmt: skip
    if path.is_dir():
        found = sorted(p for p in path.iterdir() if p.is_file() and suffix_of(p, known))
    elif path.exists():
        return [path]
    elif glob.has_magic(str(data)):
        found = sorted(Path(name) for name in glob.glob(str(data)) if Path(name).is_file())
    else:
        near = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        raise InputError("there is no such file", where=str(data), do=did_you_mean(path.name, near))
    if not found:
        raise InputError(f"no data file ({', '.join(known)}) is here", where=str(data))
    if len(suffixes := {suffix_of(p, known) for p in found}) > 1:
        formats = ", ".join(sorted(suffixes))
        raise InputError(
            f"the {len(found)} files here have different formats: {formats}", where=str(data),
            do="give a glob for those of one format.",
        )  # fmt: skip
    return found


@dataclass(frozen=True, slots=True)
class Parsed:
    """A table as Arrow parsed it, not yet taken into codes."""

    name: str
    arrow: pa.Table
    notes: tuple[str, ...] = ()  # what was assumed in reading it
    coded: bool = False  # whether our own CSV reader made its dictionaries

    def table(self, spare: Collection[str] | None = ()) -> Table:
        """Take it into codes; see `from_arrow`."""
        found = from_arrow(self.arrow, self.name, coded=self.coded, spare=spare)
        return replace(found, notes=self.notes)


def parse(data: str | Path, reading: Reading | None = None, suffix: str | None = None) -> Parsed:
    """Parse one file, or several that share their columns; `suffix` tells a format unseen."""
    reading = reading or Reading()
    notes: list[str] = []
    parts: list[pa.Table] = []
    kinds: set[str] = set()
    for path in paths_of(data):
        kind = suffix or format_of(path, reading, notes)
        kinds.add(kind)
        part = _read_arrow(path, kind, reading, notes)
        if parts:
            refuse_others(path, part.column_names, parts[0].column_names)
            part = part.select(parts[0].column_names)  # the order of columns may differ
        parts.append(part)
    try:
        whole = _below_each_other(parts, kinds)
    except pa.ArrowInvalid:
        raise InputError("its files give one column different types", where=str(data)) from None
    return Parsed(str(data), whole, tuple(dict.fromkeys(notes)), kinds <= {*CSV})


def _below_each_other(parts: Sequence[pa.Table], kinds: Collection[str]) -> pa.Table:
    """The rows of several files; where each cell has a type of its own, so has a whole column."""
    if len(parts) == 1:
        return parts[0]
    if not {*kinds} <= {*WHOLE}:
        return pa.concat_tables(parts)
    from reticent.files.cells import joined

    names = parts[0].column_names
    return pa.table({n: joined([c for part in parts for c in part[n].chunks]) for n in names})


def refuse_sheet(data: object, reading: Reading) -> None:
    """Refuse the name of a sheet where there are none."""
    if reading.sheet is not None:
        raise InputError(
            "only spreadsheets have sheets, and this is none", where=str(data),
            do="leave out  sheet  in [reading].",
        )  # fmt: skip


def refuse_others(path: Path, names: Sequence[str], first: Sequence[str]) -> None:
    """Refuse a file that does not share the columns of the first one."""
    if set(names) != set(first):
        raise InputError(
            "its columns are not those of the first file", where=str(path),
            do=f"the first file has {quoted(first)}.",
        )  # fmt: skip


def refuse_twice(names: Sequence[str], where: str, do: str = "") -> None:
    """Refuse columns of one name."""
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise InputError(f"column names repeat: {quoted(twice)}", where=where, do=do)


def read(data: str | Path, reading: Reading | None = None) -> Table:
    """Read one file, or several that share their columns, into codes."""
    return parse(data, reading).table()


def from_arrow(
    table: pa.Table, name: str = "data", *, coded: bool = False, spare: Collection[str] | None = ()
) -> Table:
    """Encode an Arrow table; if `coded`, its dictionaries are taken over as they are.

    Nobody needs the `spare` columns, so they are left out, and may hold anything; None: all those
    that cannot be encoded.
    """
    names = table.column_names
    refuse_twice(names, name)
    if not names:
        raise InputError("the table has no columns", where=name)
    columns = {}
    for column in names:
        cells = table.column(column)
        unneeded = not is_supported(cells.type) if spare is None else column in spare
        if not unneeded:
            columns[column] = _from_reader(column, cells) if coded else encode(column, cells)
    return Table(
        name, columns, table.num_rows, names=tuple(names) if len(columns) < len(names) else ()
    )


def _from_reader(name: str, cells: pa.ChunkedArray) -> Column:
    """Take over what the CSV reader coded, block by block, straight into one small array.

    Its dictionaries hold no nulls, no value twice and none that does not occur. Arrow's own way
    of joining them rewrites every code at 4 bytes first: 0.12 s and 36 MB for a million rows.
    """
    if sum(len(chunk.dictionary) for chunk in cells.chunks) > len(cells) // 2:
        # Hardly any value stands twice: Arrow looks them up in a third of the time.
        plain = pa.chunked_array([chunk.dictionary_decode() for chunk in cells.chunks])
        return encode(name, plain)
    number: dict[str, int] = {}
    mappings = [
        [number.setdefault(value, len(number)) for value in chunk.dictionary.to_pylist()]
        for chunk in cells.chunks
    ]
    kind = smallest(max(len(number), 1))
    codes = np.empty(len(cells), dtype=kind)
    at = 0
    for chunk, mapping in zip(cells.chunks, mappings, strict=True):
        to = np.array(mapping, dtype=kind)
        codes[at : at + len(chunk)] = to[chunk.indices.to_numpy()]
        at += len(chunk)
    return Column(name, codes, pa.array(number, pa.large_string()))


def _read_arrow(path: Path, suffix: str, reading: Reading, notes: list[str]) -> pa.Table:
    if suffix in WORKBOOKS:
        from reticent.files.workbooks import read_workbook

        return read_workbook(path, suffix, reading, notes)
    refuse_sheet(path, reading)
    if suffix in STATISTICS:
        from reticent.files.statistics import read_statistics

        table = read_statistics(path, suffix, reading, notes)
        return table.rename_columns(names_of(table.column_names, path, notes))
    try:
        if suffix in CSV:
            return read_csv(path, reading, notes)
        table = read_typed(path, suffix)
        return table.rename_columns(names_of(table.column_names, path, notes))
    except (OSError, pa.ArrowException) as error:
        raise unreadable(error, path, f"{suffix} file") from None


def names_of(columns: Iterable[Any], where: object, notes: list[str]) -> list[str]:
    """The names of columns; what those are called that have none is noted."""
    names, unnamed = named(columns)
    notes += told_unnamed(unnamed, where)
    return list(names)


def read_typed(path: Path, suffix: str) -> pa.Table:
    """Read a Parquet or Arrow file."""
    with _typed(path, suffix) as file:
        return file.read() if suffix == ".parquet" else file.read_all()


def schema_of(path: Path, suffix: str) -> pa.Schema:
    """The columns of a Parquet or Arrow file, with all metadata that it carries."""
    with _typed(path, suffix) as file:
        if suffix == ".parquet":
            schema, told = file.schema_arrow, file.metadata.metadata
        else:
            schema, told = file.schema, getattr(file, "metadata", None)
    return schema.with_metadata({**(told or {}), **(schema.metadata or {})})


def count_rows(path: Path, suffix: str) -> int:
    """How many rows a Parquet or Arrow file has."""
    with _typed(path, suffix) as file:
        if suffix == ".parquet":
            return int(file.metadata.num_rows)
        return sum(batch.num_rows for batch in _arrow_batches(file))


def batches_of(path: Path, suffix: str, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Some columns of a Parquet or Arrow file, batch by batch."""
    with _typed(path, suffix) as file:
        parquet = suffix == ".parquet"
        every, unnamed = named((file.schema_arrow if parquet else file.schema).names)
        only = None if unnamed else list(names)  # by an empty name, none can be asked for
        batches = file.iter_batches(columns=only) if parquet else _arrow_batches(file)
        for batch in batches:
            whole = batch.rename_columns(list(every)) if unnamed else batch
            yield whole.select(list(names))


def _arrow_batches(reader: Any) -> Iterator[pa.RecordBatch]:
    if hasattr(reader, "num_record_batches"):
        return (reader.get_batch(i) for i in range(reader.num_record_batches))
    return iter(reader)


@contextmanager
def _typed(path: Path, suffix: str) -> Iterator[Any]:
    """A Parquet file, or the reader of an Arrow file or stream."""
    if suffix == ".parquet":
        import pyarrow.parquet as pq

        with pq.ParquetFile(path) as file:
            yield file
        return
    with pa.memory_map(str(path)) as source:
        try:
            reader = pa.ipc.open_file(source)
        except pa.ArrowInvalid:
            source.seek(0)
            reader = pa.ipc.open_stream(source)
        yield reader


# --- data frames ---------------------------------------------------------------------------------


def frame_kind(data: Any) -> str | None:
    """Which library a data frame comes from, without importing that library."""
    home, name = type(data).__module__.partition(".")[0], type(data).__name__
    if home in ("pandas", "polars"):
        return home if name in ("DataFrame", "LazyFrame") else None
    if home == "pyarrow":
        return home if name in ("Table", "RecordBatch") else None
    if home in ("duckdb", "_duckdb") and hasattr(data, "fetchall"):
        return "duckdb"
    return "arrow" if hasattr(data, "__arrow_c_stream__") else None


def parse_frame(data: Any, kind: str) -> Parsed:
    """Take over a data frame; an index is no column and is left behind."""
    notes: list[str] = []
    if kind == "pandas":
        data = data.set_axis(names_of(data.columns, "data", notes), axis=1).reset_index(drop=True)
    table = _arrow_of(data, kind)
    table = table.rename_columns(names_of(table.column_names, "data", notes))
    return Parsed("data", table, tuple(notes))


def _arrow_of(data: Any, kind: str) -> pa.Table:
    """A data frame as Arrow, with what it carries: pandas keeps an index that is no plain count."""
    if kind == "pandas":
        return _arrow_of_pandas(data)
    if kind == "duckdb":
        arrow = data.arrow()
        return arrow.read_all() if isinstance(arrow, pa.RecordBatchReader) else arrow
    if kind == "polars" and hasattr(data, "collect"):
        return pa.table(data.collect())
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    return data if isinstance(data, pa.Table) else pa.table(data)


def _arrow_of_pandas(data: Any) -> pa.Table:
    import pandas as pd

    data = data.set_axis(list(named(data.columns)[0]), axis=1)
    refuse_twice(list(data.columns), "data", do="rename them.")
    try:
        table = pa.Table.from_pandas(data)
    except (pa.ArrowException, ValueError, TypeError):  # whose words quote a cell
        mixed = [str(n) for n in data.columns if not _fits_one_type(data[n])]
        raise InputError(
            f"columns {quoted(mixed)} hold values of several or unknown types",
            where="data",
            do="turn each into one type, for example with  astype(str).",
        ) from None
    plain = data.index.equals(pd.RangeIndex(len(data))) and data.index.name is None
    return table.select(range(len(data.columns))).replace_schema_metadata(None) if plain else table


def _fits_one_type(cells: Any) -> bool:
    try:
        pa.array(cells, from_pandas=True)
    except (pa.ArrowException, ValueError, TypeError):
        return False
    return True


def carriers(
    data: Any, kind: str, told: str | None = None
) -> Iterator[tuple[pa.Schema, Iterator[pa.Table]]]:
    """The typed files behind some data, or a data frame: a schema, and all that its cells carry.

    Files come one group of rows after the other, so that long ones take no room; `told`: the format
    of a file whose name does not tell it.
    """
    if kind == "file":
        for path in paths_of(data):
            suffix = told or format_of(path)
            if suffix in (".parquet", *ARROW):
                yield schema_of(path, suffix), _groups(path, suffix)
    else:
        table = _arrow_of(data, kind)
        yield table.schema, iter([table])


def workbooks_of(data: Any, kind: str, told: str | None = None) -> list[Path]:
    """The workbooks of the kind that we write behind some data; see `carriers`."""
    paths = paths_of(data) if kind == "file" else []
    return [path for path in paths if (told or format_of(path)) == ".xlsx"]


def _groups(path: Path, suffix: str) -> Iterator[pa.Table]:
    """Groups of rows with dictionaries as they are stored: in Parquet, those of texts."""
    if suffix == ".parquet":
        import pyarrow.parquet as pq

        schema = pq.read_schema(path)
        texts = [f.name for f in schema if is_text(f.type) or pa.types.is_dictionary(f.type)]
        with pq.ParquetFile(path, read_dictionary=texts) as file:
            for group in range(file.num_row_groups if texts else 0):
                yield file.read_row_group(group, columns=texts)
        return
    with _typed(path, suffix) as file:
        for batch in _arrow_batches(file):
            yield pa.Table.from_batches([batch])


def _to_pandas(table: pa.Table, like: Any) -> Any:
    """A pandas frame; nullable types stay, and floats do not round whole numbers beside nulls."""
    import pandas as pd

    frame = table.to_pandas()
    if not isinstance(like, pd.DataFrame):
        return frame
    kinds = dict(zip(named(like.columns)[0], like.dtypes, strict=True))
    for field in table.schema:
        kind: Any = kinds.get(field.name)
        whole = pa.types.is_integer(field.type) or pa.types.is_boolean(field.type)
        numpy = isinstance(kind, np.dtype) and kind.kind in "iub"
        if numpy and whole and table[field.name].null_count:
            name = {"b": "boolean"}.get(kind.kind, kind.name.replace("u", "U").replace("i", "I"))
            kind = pd.api.types.pandas_dtype(name)
        if kind == np.dtype(object) and is_text(field.type):
            frame[field.name] = frame[field.name].astype(object)
        elif _holds(kind, field.type):
            column = table.column(field.name).to_pandas(types_mapper=lambda _, k=kind: k)
            frame[field.name] = column
    return frame


def _holds(kind: Any, arrow: pa.DataType) -> bool:
    """Whether a nullable type of pandas is meant for what an Arrow column holds."""
    import pandas as pd

    if isinstance(kind, pd.ArrowDtype):
        return bool(kind.pyarrow_dtype == arrow)
    if isinstance(kind, pd.StringDtype):
        return is_text(arrow)
    if not isinstance(kind, pd.api.extensions.ExtensionDtype):
        return False
    letters = (
        "b" if pa.types.is_boolean(arrow)
        else "iu" if pa.types.is_integer(arrow)
        else "f" if pa.types.is_floating(arrow)
        else ""
    )  # fmt: skip
    return kind.kind in letters and hasattr(kind, "__from_arrow__")


def to_frame(table: pa.Table, like: Any, kind: str) -> Any:
    """Hand a table back as the kind of data frame that came in."""
    if kind == "pandas":
        return _to_pandas(table, like)
    if kind == "polars":
        import polars as pl

        frame: Any = pl.from_arrow(table)
        return frame.lazy() if hasattr(like, "collect") else frame
    if kind == "duckdb":
        import duckdb

        return duckdb.from_arrow(table)
    return table
