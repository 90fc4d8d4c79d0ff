"""Tables in and out: files, folders and globs of them, and data frames.

Reading turns cells into codes at the door (Arrow's CSV reader builds the dictionaries while it
parses; the same passes over text cost three to four times as much). Messages about a file name
lines and counts, never cells, so the library's own error texts, which quote rows, stay behind.
"""

from __future__ import annotations

import csv
import glob
import io
import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from reticent.errors import SHOWN, InputError, Problem, did_you_mean, listed, quoted
from reticent.table.schema import Column, Table, encode, smallest

CSV = (".csv", ".tsv", ".txt", ".data", ".csv.gz", ".tsv.gz")
ARROW = (".arrow", ".feather", ".ipc")
SUFFIXES = (*CSV, ".parquet", *ARROW)
_DELIMITERS = ",;\t|"
_BLOCK = 4 << 20  # 4 MB: 1 MB blocks were a fifth slower, 16 MB ones no faster
_HEAD = 1 << 16


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read a file where its looks do not say; None means look."""

    delimiter: str | None = None
    quote: str | None = None
    encoding: str | None = None
    decimal: str = "."
    date_format: str | None = None


def suffix_of(path: Path) -> str:
    """The suffix that tells a format, ``.csv.gz`` included; empty where there is none.

    >>> suffix_of(Path("A.CSV.gz")), suffix_of(Path("release"))
    ('.csv.gz', '')
    """
    name = path.name.lower()
    return max((s for s in SUFFIXES if name.endswith(s)), key=len, default="")


def paths_of(data: str | Path) -> list[Path]:
    """The files behind a file name, a folder or a glob."""
    path = Path(data)
    if "://" in str(data):
        raise InputError("databases cannot be read", where=str(data), do="export to a file.")
    if path.is_dir():
        found = sorted(p for p in path.iterdir() if p.is_file() and suffix_of(p))
    elif path.exists():
        return [path]
    elif glob.has_magic(str(data)):
        found = sorted(Path(name) for name in glob.glob(str(data)) if Path(name).is_file())
    else:
        near = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        raise InputError("there is no such file", where=str(data), do=did_you_mean(path.name, near))
    if not found:
        raise InputError(f"no data file ({', '.join(SUFFIXES)}) is here", where=str(data))
    if len({suffix_of(p) for p in found}) > 1:
        raise InputError(f"the {len(found)} files here have different formats", where=str(data))
    return found


@dataclass(frozen=True, slots=True)
class Parsed:
    """A table as Arrow parsed it, not yet taken into codes."""

    name: str
    arrow: pa.Table
    notes: tuple[str, ...] = ()  # what was assumed in reading it
    coded: bool = False  # whether our own CSV reader made its dictionaries

    def table(self) -> Table:
        """Take it into codes."""
        return replace(from_arrow(self.arrow, self.name, coded=self.coded), notes=self.notes)


def parse(data: str | Path, reading: Reading | None = None) -> Parsed:
    """Parse one file, or several that share their columns."""
    reading = reading or Reading()
    notes: list[str] = []
    parts: list[pa.Table] = []
    for path in paths_of(data):
        part = _read_arrow(path, reading, notes)
        if parts and part.column_names != parts[0].column_names:
            raise InputError(
                "its columns are not those of the first file",
                where=str(path),
                do=f"the first file has {quoted(parts[0].column_names)}.",
            )
        parts.append(part)
    try:
        whole = parts[0] if len(parts) == 1 else pa.concat_tables(parts)
    except pa.ArrowInvalid:
        raise InputError("its files give one column different types", where=str(data)) from None
    coded = suffix_of(paths_of(data)[0]) in CSV
    return Parsed(str(data), whole, tuple(dict.fromkeys(notes)), coded)


def read(data: str | Path, reading: Reading | None = None) -> Table:
    """Read one file, or several that share their columns, into codes."""
    return parse(data, reading).table()


def from_arrow(table: pa.Table, name: str = "data", *, coded: bool = False) -> Table:
    """Encode an Arrow table; if `coded`, its dictionaries are taken over as they are."""
    names = table.column_names
    if len(set(names)) < len(names):
        twice = sorted({n for n in names if names.count(n) > 1})
        raise InputError(f"column names repeat: {quoted(twice)}", where=name)
    if not names:
        raise InputError("the table has no columns", where=name)
    columns = {}
    for column in names:
        cells = table.column(column)
        columns[column] = _from_reader(column, cells) if coded else encode(column, cells)
    return Table(name, columns, table.num_rows)


def _from_reader(name: str, cells: pa.ChunkedArray) -> Column:
    """Take over what the CSV reader coded, block by block, straight into one small array.

    Its dictionaries hold no nulls, no value twice and none that does not occur. Arrow's own way
    of joining them rewrites every code at 4 bytes first: 0.12 s and 36 MB for a million rows.
    """
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


_CELL = pa.dictionary(pa.int32(), pa.large_string())


def _read_arrow(path: Path, reading: Reading, notes: list[str]) -> pa.Table:
    suffix = suffix_of(path)
    try:
        return _read_csv(path, reading, notes) if suffix in CSV else read_typed(path, suffix)
    except OSError as error:
        if isinstance(error, pa.ArrowException) or error.strerror is None:
            raise InputError(f"this is not a readable {suffix} file", where=str(path)) from None
        raise InputError(f"cannot read it: {error.strerror}", where=str(path)) from None
    except pa.ArrowException:
        raise InputError(f"this is not a readable {suffix} file", where=str(path)) from None


def read_typed(path: Path, suffix: str, *, all_it_carries: bool = False) -> pa.Table:
    """Read a Parquet or Arrow file.

    With all it carries: dictionaries as they are stored, and the metadata of the file as that of
    the schema.
    """
    if suffix == ".parquet":
        import pyarrow.parquet as pq

        names = pq.read_schema(path).names if all_it_carries else None
        with pq.ParquetFile(path, read_dictionary=names) as file:
            table, told = file.read(), file.metadata.metadata
    else:
        with pa.memory_map(str(path)) as source:
            reader = _open_arrow(source)
            table, told = reader.read_all(), getattr(reader, "metadata", None)
    if not all_it_carries:
        return table
    return table.replace_schema_metadata({**(told or {}), **(table.schema.metadata or {})})


def _open_arrow(source: Any) -> Any:
    import pyarrow.ipc as ipc

    try:
        return ipc.open_file(source)
    except pa.ArrowInvalid:
        source.seek(0)
        return ipc.open_stream(source)


# --- CSV -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one CSV file is written."""

    delimiter: str
    quote: str
    encoding: str
    header: tuple[str, ...]


def sniff(path: Path, reading: Reading) -> Dialect:
    """Work out how a CSV file is written from its first lines and what was told."""
    with _open(path, "rb") as file:
        head = file.read(_HEAD)
        ended = not file.read(1)
    if not head.strip(b"\xef\xbb\xbf \t\r\n"):
        raise InputError("the file is empty", where=str(path), do="give a header and rows.")
    encoding = reading.encoding or _encoding(head)
    try:
        text = head.decode(encoding, errors="strict" if ended else "ignore")
    except LookupError:
        raise InputError(f'there is no encoding "{encoding}"', where="--encoding") from None
    except UnicodeDecodeError:
        if reading.encoding:
            raise _undecodable(path, encoding) from None
        encoding, text = "latin-1", head.decode("latin-1")
    text = text.removeprefix("\ufeff")
    lines = text.splitlines()[: 100 if ended else -1] or [text]
    delimiter = reading.delimiter or _delimiter(path, lines)
    quote = reading.quote or _quote(lines, delimiter)
    header = next(csv.reader(io.StringIO(text), delimiter=delimiter, quotechar=quote))
    _check_header(path, header)
    return Dialect(delimiter, quote, encoding, tuple(header))


def _encoding(head: bytes) -> str:
    return "utf-16" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"


def _delimiter(path: Path, lines: Sequence[str]) -> str:
    """The sign that cuts most lines into equally many pieces; the header decides a tie."""
    if ".tsv" in path.name.lower():
        return "\t"

    def merit(sign: str) -> tuple[int, int, int]:
        counts = [len(row) for row in csv.reader(lines, delimiter=sign) if row]
        agree = sum(count == counts[0] for count in counts) if counts and counts[0] > 1 else 0
        return (agree, counts[0] if counts else 0, -_DELIMITERS.index(sign))

    return max(_DELIMITERS, key=merit)


def _quote(lines: Sequence[str], delimiter: str) -> str:
    """Single quotes count only where a whole column wears them and no double quote stands."""
    if any('"' in line for line in lines) or len(lines) < 2:
        return '"'
    rows = [line.split(delimiter) for line in lines[1:] if line]
    worn = (
        all(len(cell) > 1 and cell[0] == cell[-1] == "'" for cell in cells)
        for cells in zip(*rows, strict=False)
    )
    return "'" if any(worn) else '"'


def _check_header(path: Path, header: Sequence[str]) -> None:
    problems = []
    twice = sorted({name for name in header if header.count(name) > 1} - {""})
    if twice:
        at = {name: [i for i, n in enumerate(header, 1) if n == name] for name in twice}
        places = "; ".join(f'"{name}" at {listed(at[name])}' for name in twice[:SHOWN])
        problems.append(
            Problem(
                f"{len(twice)} column names repeat: {places}",
                where=f"{path}, line 1",
                why="a policy could not say which one it means.",
                do="rename them.",
            )
        )
    unnamed = [i for i, name in enumerate(header, 1) if not name.strip()]
    if unnamed:
        problems.append(
            Problem(
                f"columns without a name: number {listed(unnamed)}",
                where=f"{path}, line 1",
                do="name them in the header.",
            )
        )
    if problems:
        raise InputError(problems)


def _open(path: Path, mode: str, **how: Any) -> Any:
    if path.name.lower().endswith(".gz"):
        import gzip

        return gzip.open(path, mode, **how)
    return open(path, mode, **how)


def _read_csv(path: Path, reading: Reading, notes: list[str]) -> pa.Table:
    dialect = sniff(path, reading)
    try:
        table = _parse(path, dialect)
    except _NotUtf8:
        if reading.encoding:
            raise _undecodable(path, reading.encoding) from None
        dialect = replace(dialect, encoding="latin-1")
        header = sniff(path, replace(reading, encoding="latin-1")).header
        dialect = replace(dialect, header=header)
        table = _parse(path, dialect)
    if dialect.encoding == "latin-1" and not reading.encoding:
        notes.append(f"{path} is not UTF-8 and was read as Latin-1; --encoding tells otherwise.")
    return table


class _NotUtf8(Exception):
    pass


def _parse(path: Path, dialect: Dialect) -> pa.Table:
    import pyarrow.csv as pcsv

    block = _BLOCK
    while True:
        source = pa.input_stream(str(path)) if path.name.lower().endswith(".gz") else str(path)
        try:
            return pcsv.read_csv(
                source,
                read_options=pcsv.ReadOptions(
                    block_size=block,
                    encoding=dialect.encoding,
                    column_names=list(dialect.header),
                    skip_rows_after_names=0,
                    skip_rows=_header_lines(path, dialect),
                ),
                parse_options=pcsv.ParseOptions(
                    delimiter=dialect.delimiter,
                    quote_char=dialect.quote,
                    newlines_in_values=_may_hold_newlines(path, dialect.quote),
                ),
                convert_options=pcsv.ConvertOptions(
                    column_types=dict.fromkeys(dialect.header, _CELL),
                    strings_can_be_null=False,
                    quoted_strings_can_be_null=False,
                ),
            )
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:
            reason = str(error)
        # The library's text quotes a row, so it is only ever read here, never passed on.
        if "straddling" in reason and block < 1 << 30:
            block *= 8
            continue
        if "UTF8" in reason or "codec" in reason:
            raise _NotUtf8 from None
        if "Empty CSV" in reason:
            return pa.table({name: pa.array([], _CELL) for name in dialect.header})
        raise InputError(_ragged(path, dialect)) from None


def _header_lines(path: Path, dialect: Dialect) -> int:
    """How many lines the header takes; a quoted name may hold line breaks."""
    with _open(path, "rt", encoding=dialect.encoding, newline="") as file:
        reader = csv.reader(file, delimiter=dialect.delimiter, quotechar=dialect.quote)
        next(reader)
        return reader.line_num


def _may_hold_newlines(path: Path, quote: str) -> bool:
    """Whether a quote stands anywhere: without one, blocks can be cut at any line end (faster)."""
    if path.name.lower().endswith(".gz") or path.stat().st_size == 0:
        return True
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        return view.find(quote.encode()) >= 0


def _ragged(path: Path, dialect: Dialect) -> list[Problem]:
    """Name the lines that have too few or too many cells."""
    want = len(dialect.header)
    problems = []
    try:
        for line, count in _row_widths(path, dialect):
            if count != want:
                problems.append(
                    Problem(f"{count} cells where the header has {want}", f"{path}, line {line}")
                )
    except (csv.Error, UnicodeDecodeError):
        problems.append(Problem("the file cannot be parsed as CSV", where=str(path)))
    if not problems:
        return [
            Problem(
                f"the file cannot be parsed as CSV with delimiter {dialect.delimiter!r} and "
                f"quote {dialect.quote!r}",
                where=str(path),
                do="check for a quote that never closes; --delimiter and --encoding can be told.",
            )
        ]
    hint = f"cells are cut at {dialect.delimiter!r}; quote cells that hold it, or use --delimiter."
    problems[0] = replace(problems[0], do=hint)
    return problems


def _row_widths(path: Path, dialect: Dialect) -> Iterator[tuple[int, int]]:
    csv.field_size_limit(1 << 30)
    with _open(path, "rt", encoding=dialect.encoding, newline="") as file:
        reader = csv.reader(file, delimiter=dialect.delimiter, quotechar=dialect.quote)
        start = 1
        for row in reader:
            if row:
                yield start, len(row)
            start = reader.line_num + 1


def _undecodable(path: Path, encoding: str) -> InputError:
    return InputError(
        f"the file is not {encoding} text",
        where=str(path),
        do="tell its real one with --encoding, for example latin-1 or utf-16.",
    )


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
    if kind == "pandas":
        data = data.reset_index(drop=True).set_axis([str(n) for n in data.columns], axis=1)
    return Parsed("data", _arrow_of(data, kind))


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

    try:
        table = pa.Table.from_pandas(data)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # whose words quote a cell
        mixed = [n for n in data.columns if not _fits_one_type(data[n])]
        raise InputError(
            f"columns {quoted(map(str, mixed))} mix values of several types",
            where="data",
            do="turn each into one type, for example with  astype(str).",
        ) from None
    plain = data.index.equals(pd.RangeIndex(len(data))) and data.index.name is None
    return table.select(range(len(data.columns))).replace_schema_metadata(None) if plain else table


def _fits_one_type(cells: Any) -> bool:
    try:
        pa.array(cells, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return False
    return True


def typed(data: Any, kind: str) -> Iterator[pa.Table]:
    """The Arrow tables behind typed files or a data frame, with all that they carry."""
    if kind == "file":
        for path in paths_of(data):
            if suffix_of(path) not in CSV:
                yield read_typed(path, suffix_of(path), all_it_carries=True)
    else:
        yield _arrow_of(data, kind)


def to_frame(table: pa.Table, like: Any, kind: str) -> Any:
    """Hand a table back as the kind of data frame that came in."""
    if kind == "pandas":
        return table.to_pandas()
    if kind == "polars":
        import polars as pl

        frame: Any = pl.from_arrow(table)
        return frame.lazy() if hasattr(like, "collect") else frame
    if kind == "duckdb":
        import duckdb

        return duckdb.from_arrow(table)
    return table
