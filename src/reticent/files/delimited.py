"""CSV in: how a file is written, its cells as codes, and what exactly is wrong with it.

Arrow's reader builds dictionaries while it parses, on all cores; the same passes over text cost
three to four times as much. It is lenient about quotes, and its error texts quote rows. So what it
read is checked for quotes that swallow rows, and what it says is never passed on.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import mmap
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np
import pyarrow as pa

from reticent.data.scales import has_year
from reticent.errors import SHOWN, InputError, Problem, listed, quoted, refuse, remedy
from reticent.files.footers import LOOKED_AT as FOOTED
from reticent.files.footers import footers, told_footers
from reticent.files.formats import is_packed as _is_packed
from reticent.files.headers import LOOKED_AT, DoubtedHeader, doubted, header_at

_DELIMITERS = ",;\t|"
_BELOW = 3  # lines at the end that may be no rows, such as a total
_BLOCK = 4 << 20  # 4 MB: 1 MB blocks were a fifth slower, 16 MB ones no faster
_LARGEST_BLOCK = 2**31 - 1
_HEAD = 1 << 16
_TAIL = 1 << 15  # bytes in which the last rows are looked for
_STREAM_BLOCK = 2 << 20  # Arrow reads several ahead: 16 MB blocks took 300 MB more, no faster
_WORKERS_BLOCK = 16 << 20
_LINES_BLOCK = 8 << 20  # characters; blocks of 1 MB took a third longer
_WINDOW = 64 << 20
_QUOTES = 4 << 20  # bytes looked at together: of every quote, several numbers are kept
_MADE_UP = re.compile(
    r"unnamed \d+( \(\d+\))?|Unnamed: \d+(_level_\d+)?|\.\.\.\d+|__index_level_\d+__"
)
_SEPARATOR = re.compile('\ufeff?"?sep=([^"\'\\r\\n])"?\r?\n')  # a first line for Excel alone
_OLDER = {"latin-1": "Latin-1", "cp1252": "Windows-1252"}  # encodings that nobody has to tell
_WINDOWS = re.compile(rb"[\x80-\x9f]")
_NO_WINDOWS = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
_CELL = pa.dictionary(pa.int32(), pa.large_string())

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read data where their looks do not say; None: nobody told.

    >>> told = Reading(decimal=".").over(Reading(delimiter=";", decimal=","))
    >>> told.delimiter, told.decimal, told.policy_keys()
    (';', '.', {'delimiter': ';'})
    """

    delimiter: str | None = None
    quote: str | None = None
    encoding: str | None = None
    decimal: str | None = None  # else a point
    date_format: str | None = None  # else ISO dates
    sheet: str | None = None  # of a spreadsheet
    header_row: int | None = None  # the line of the header, from 1; else the first not blank
    table: str | None = None  # of a database
    labels: bool | None = None  # of a statistics package: cells as their labels; else they are
    separator: str | None = None  # of items in lines of baskets; else blanks

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        wrong = ((key, unfit(key, value)) for key, value in self._told().items())
        refuse(Problem(said, f"--{key.replace('_', '-')}") for key, said in wrong if said)

    def over(self, usual: Reading) -> Reading:
        """What is told here and, where nothing is, what is usual."""
        return replace(usual, **self._told())

    def besides(self, usual: Reading) -> Reading:
        """What has to be told to those who know what is usual."""
        told = self._told().items()
        return Reading(**{key: value for key, value in told if value != getattr(usual, key)})

    @property
    def cells(self) -> Reading:
        """What of it is about cells, in whatever file they stand."""
        return Reading(decimal=self.decimal, date_format=self.date_format)

    @property
    def form(self) -> dict[str, Any]:
        """How numbers and dates are written, as those who read them are told."""
        return {"decimal": self.decimal or ".", "date_format": self.date_format}

    def policy_keys(self) -> dict[str, Any]:
        """The keys of ``[reading]`` in a policy that say the same, in their order."""
        usual = {"decimal": ".", "labels": True}
        told = self._told().items()
        return {key: value for key, value in told if key != "quote" and value != usual.get(key)}

    def _told(self) -> dict[str, Any]:
        every = {field.name: getattr(self, field.name) for field in fields(self)}
        return {key: value for key, value in every.items() if value is not None}


def unfit(key: str, value: Any) -> str:
    """Why a part of `Reading` cannot be this; nothing where it can."""
    if key == "delimiter" and (len(value) != 1 or not value.isascii() or value in "\"'\r\n"):
        return "a delimiter is one ASCII character, no quote and no line end; a tab works"
    if key == "decimal" and value not in (".", ","):
        return f"a decimal sign is . or , and not {value!r}"
    if key == "date_format" and not has_year(value):
        return f'the date format "{value}" has no year'
    if key == "separator" and value not in (" ", ",", ";", "\t", "|"):
        return 'items are parted by ",", ";", "|", a tab, or blanks'
    if key == "header_row" and value < 1:
        return "lines are counted from 1"
    if key == "encoding":
        try:
            "a".encode(value)  # some codecs are no encodings of text
            codecs.getincrementaldecoder(value)
        except (LookupError, UnicodeError, ValueError):
            return f'there is no encoding "{value}"'
    return ""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one CSV file is written."""

    delimiter: str
    quote: str
    encoding: str
    header: tuple[str, ...] = ()
    lines: int = 0  # that the header takes, all lines above it included
    has_rows: bool = True
    above: int = 0  # lines that stand above the header and are no part of the table
    unnamed: tuple[str, ...] = ()  # the names of `header` that are made up
    excels: bool = False  # whether a line for Excel stands above: the sign that parts cells
    doubt: DoubtedHeader | None = None  # what is said of a header that may be a record


def read_csv(path: Path, reading: Reading, notes: list[str]) -> pa.Table:
    """Read a CSV file: every column as codes into its texts, cells verbatim."""
    with _readable(path):
        dialect = sniff(path, reading)
        try:
            table = _parse(path, dialect)
        except _NotUtf8:
            if reading.encoding:
                raise _undecodable(path, reading.encoding) from None
            dialect = sniff(path, replace(reading, encoding=_older(path)))
            table = _parse(path, dialect)
        _refuse_swallowed_rows(path, dialect, table.num_rows)
    notes += _assumed(path, dialect, reading)
    return table


def _assumed(path: Path, dialect: Dialect, reading: Reading) -> Iterator[str]:
    """What was assumed in reading a file."""
    if dialect.encoding in _OLDER and not reading.encoding:
        yield _read_as_older(path, dialect.encoding)
    if dialect.excels:
        yield f"{path}: its first line tells what parts cells, and is no part of the table."
    elif dialect.above and reading.header_row is None:
        yield told_header(path, "line", dialect.above)
    if dialect.doubt:
        yield dialect.doubt
    yield from told_unnamed(dialect.unnamed, path, found=reading.header_row is None)
    yield from told_footers(_last_rows(path, dialect), path, "line")


def _last_rows(path: Path, dialect: Dialect) -> list[tuple[int, list[str]]]:
    """The last rows, each with its line; none where they cannot be told without the others."""
    if _is_packed(path) or dialect.encoding not in ("utf-8", *_OLDER) or not dialect.has_rows:
        return []
    with _bytes(path) as view:
        begin = view.find(b"\n", len(view) - _TAIL) + 1 if len(view) > _TAIL else 0
        lines = bytes(view[begin:]).decode(dialect.encoding, "replace").splitlines()
        skipped = 0 if begin else dialect.lines
        try:
            found = [
                *csv.reader(lines[skipped:], delimiter=dialect.delimiter, quotechar=dialect.quote)
            ]
        except csv.Error:
            return []
        if len(found) != len(lines) - skipped or {*map(len, found)} - {0, len(dialect.header)}:
            return []  # a cell goes on in the next line, or had begun above
        rows = found[-FOOTED:]
        if not footers([*enumerate(rows)]):
            return []
        above = sum(1 for end in re.finditer(rb"\n", view) if end.start() < begin)
        return [*enumerate(rows, above + len(lines) - len(rows) + 1)]


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Say in our own words that a file is no text, or a broken archive of it."""
    try:
        yield
    except (EOFError, zlib.error):
        raise InputError("the archive is cut off or damaged", where=str(path)) from None
    except UnicodeError:
        raise _undecodable(path, "readable") from None
    except gzip.BadGzipFile:
        raise InputError("this is no gzip archive", where=str(path)) from None
    except OSError as error:
        raise unreadable(error, path) from None
    except csv.Error:
        raise InputError(
            "the file cannot be parsed as CSV",
            where=str(path),
            do="check that it is text, and that every quote is closed.",
        ) from None


def unreadable(error: Exception, path: str | Path, what: str = "file") -> InputError:
    """Why something cannot be read, in the system's words or in ours: Arrow's may quote a cell."""
    reason = None if isinstance(error, pa.ArrowException) else getattr(error, "strerror", None)
    said = f"this is not a readable {what}" if reason is None else f"cannot read it: {reason}"
    return InputError(said, where=str(path))


# --- how a file is written -----------------------------------------------------------------------


def sniff(path: Path, reading: Reading) -> Dialect:
    """Work out how a CSV file is written from its first lines and what was told."""
    head, ended = _begun(path)
    if not head.strip(b"\xef\xbb\xbf\xff\xfe \t\r\n"):
        raise InputError("the file is empty", where=str(path), do="give a header and rows.")
    encoding, text = _decoded(path, head, ended, reading.encoding)
    trusted = reading.header_row is not None
    if excels := not trusted and (told := _SEPARATOR.match(text)):
        reading = replace(reading, delimiter=reading.delimiter or told[1], header_row=2)
    above = (reading.header_row or 1) - 1
    text = "".join(itertools.islice(io.StringIO(text, newline=""), above, None))
    lines = text.removeprefix("\ufeff").splitlines()
    lines = [line for line in lines[: 200 if ended else -1] or lines if line.strip()][:100]
    single = '"' not in text and len(lines) > 1 and not reading.quote
    quotes = "'\"" if single else reading.quote or '"'
    delimiter, quote = _signs(path, lines, reading.delimiter, quotes, told=reading.header_row)
    rows, begins = _first_rows(text, ended, delimiter, quote)
    at = header_at(rows)
    if reading.header_row is None and at > 0 and any(map(_is_filled, rows[:at])):  # a title
        above = begins[at]
        reading = replace(reading, header_row=above + 1)
    found = Dialect(delimiter, quote, encoding, above=above, excels=bool(excels))
    found = _with_header(path, found, reading)
    doubt = None if trusted else doubted(rows[at:], f"{path}, line {found.lines}")
    return replace(found, doubt=doubt)


def _first_rows(
    text: str, ended: bool, delimiter: str, quote: str
) -> tuple[list[list[str]], list[int]]:
    """The first rows of a text, as far as they can be read, and in which line each begins."""
    lines = text.removeprefix("\ufeff").splitlines(keepends=True)
    reader = csv.reader(lines[: 200 if ended else -1], delimiter=delimiter, quotechar=quote)
    rows: list[list[str]] = []
    begins = [0]
    try:
        for row in itertools.islice(reader, LOOKED_AT):
            rows.append(row)
            begins.append(reader.line_num)
    except csv.Error:  # who reads it says what is wrong
        return [], [0]
    return rows, begins


def _is_filled(row: Sequence[str]) -> bool:
    return any(cell.strip() for cell in row)


def _begun(path: Path) -> tuple[bytes, bool]:
    """The first part of a file of text, and whether that is all of it."""
    with _open(path, "rb") as file:
        head = file.read(_HEAD)
        ended = not file.read(1)
    return head, ended


def _decoded(path: Path, head: bytes, ended: bool, told: str | None) -> tuple[str, str]:
    """The encoding, and the first part of the file in it."""
    bom = head[:2] in (b"\xff\xfe", b"\xfe\xff")
    encoding = told or ("utf-16" if bom else "utf-8")
    try:
        return encoding, codecs.getincrementaldecoder(encoding)().decode(head, final=ended)
    except UnicodeError:
        if told or bom:
            raise _undecodable(path, encoding) from None
    encoding = _older(path)
    return encoding, head.decode(encoding)


def _older(path: Path) -> str:
    """The encoding of a text that is not UTF-8: Windows-1252 where only that has a sign for all.

    Latin-1 has no signs at 0x80 to 0x9F, where Windows has the euro, dashes and curly quotes.
    """
    windows = False
    with _open(path, "rb") as file:
        for block in iter(lambda: file.read(_STREAM_BLOCK), b""):
            if _NO_WINDOWS.search(block):
                return "latin-1"
            windows = windows or _WINDOWS.search(block) is not None
    return "cp1252" if windows else "latin-1"


def _signs(
    path: Path, lines: Sequence[str], delimiter: str | None, quotes: str, *, told: int | None
) -> tuple[str, str]:
    """The delimiter and quote that cut most lines into equally many cells; ties to the first.

    Lines of a title do not count; if the header's line is `told`, there are none.
    Single quotes count only where every row has some and no double one stands.
    """
    delimiters = delimiter or ("\t" if ".tsv" in path.name.lower() else _DELIMITERS)

    def merit(signs: tuple[str, str]) -> tuple[int, int]:
        delimiter, quote = signs
        opened = (f"{delimiter}'" in delimiter + line for line in lines[1:])
        if quote == "'" and not all(opened):
            return (-1, 0)
        try:
            rows = [*csv.reader(lines, delimiter=delimiter, quotechar=quote)]
        except csv.Error:
            return (-1, 0)
        widths = [len(row) for row in (rows if told else rows[header_at(rows) :])]
        wide = bool(widths) and widths[0] > 1
        return (sum(width == widths[0] for width in widths) if wide else 0, wide and widths[0])

    every = [(delimiter, quote) for quote in quotes for delimiter in delimiters]
    best = max(every, key=merit)
    return best if merit(best) > (0, 0) else (delimiters[0], quotes[-1])


def _with_header(path: Path, dialect: Dialect, reading: Reading) -> Dialect:
    """Read the row that was told, or the first that is not blank, as names."""
    with _rows(path, dialect, strict=True) as rows:
        if reading.header_row is None:
            header = next((row for row in rows if row), None)
        else:
            header = next(itertools.islice(rows, dialect.above, None), None)
            _refuse_no_header(path, header, reading.header_row)
        if header is None:
            raise InputError("the file is empty", where=str(path), do="give a header and rows.")
        lines = rows.line_num
        try:
            has_rows = any(True for row in rows if row)
        except csv.Error:
            has_rows = True  # what is wrong with it is found below, with its line
    refuse(_wrong_names(header, f"{path}, line {lines}"))
    names, unnamed = named(header)
    return replace(dialect, header=names, lines=lines, has_rows=has_rows, unnamed=unnamed)


def _refuse_no_header(path: Path, header: Sequence[str] | None, line: int) -> None:
    """Refuse a line that was told to be the header, and is none."""
    if not header:
        said = f"there is no line {line}" if header is None else f"line {line} is blank"
        raise InputError(
            f"{said}, where the header should be", where=str(path),
            do=f"correct {remedy('--header-row, or header_row', 'header_row')} in [reading].",
        )  # fmt: skip


def _zero_bytes(where: str) -> Problem:
    """Why a file with zero bytes is not read where none can be meant."""
    return Problem(
        "there are zero bytes in it, so it is no text, or in another encoding",
        where=where, do=f"tell its encoding {_by_encoding()} [reading]: utf-16-le, for example.",
    )  # fmt: skip


def _wrong_names(header: Sequence[str], where: str) -> Iterator[Problem]:
    if "\0" in "".join(header):
        yield _zero_bytes(where)
        return
    twice = sorted({name for name in header if header.count(name) > 1 and name.strip()})
    if twice:
        at = {name: [i for i, n in enumerate(header, 1) if n == name] for name in twice}
        places = "; ".join(f'"{name}" at {listed(at[name])}' for name in twice[:SHOWN])
        yield Problem(
            f"{len(twice)} column names repeat: {places}", where,
            why="a policy could not say which one it means.", do="rename them.",
        )  # fmt: skip
    if not any(name.strip() for name in header):
        yield Problem("no column has a name", where, do="name them in the header.")


def named(names: Iterable[Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of columns as texts, and which of them are made up: from where a column stands.

    >>> named([None, "unnamed 3", ""])
    (('unnamed 1', 'unnamed 3', 'unnamed 3 (2)'), ('unnamed 1', 'unnamed 3 (2)'))
    """
    given = [None if isinstance(name, float) and name != name else name for name in names]
    texts = ["" if name is None else str(name) for name in given]
    made: dict[int, str] = {}
    for place in (i for i, text in enumerate(texts) if not text.strip()):
        name, more = f"unnamed {place + 1}", 2
        while name in texts:
            name, more = f"unnamed {place + 1} ({more})", more + 1
        made[place] = name
    return tuple(made.get(i, text) for i, text in enumerate(texts)), tuple(made.values())


def told_unnamed(unnamed: Sequence[str], where: object, *, found: bool = False) -> Iterator[str]:
    """What is said of columns that got a name; several may mean that another row is the header."""
    if unnamed:
        said = "a column without a name is" if len(unnamed) == 1 else "columns without a name are"
        by = remedy("--header-row, or header_row in [reading],", "header_row in [reading]")
        also = f"; {by} tells if their names stand in another row" if len(unnamed) > 1 else ""
        yield f"{where}: {said} called {quoted(unnamed)}{also if found else ''}."


def told_header(where: object, row: str, at: int) -> str:
    """What is said of a header that was found below a title."""
    by = remedy("--header-row, or header_row in [reading],", "header_row in [reading]")
    return (
        f"{where}: the header was found in {row} {at + 1}; what stands above it was taken for a "
        f"title. {by} tells otherwise."
    )


def is_made_up(name: str) -> bool:
    """Whether a program called a column so, that had no name: ours, pandas or R.

    >>> is_made_up("unnamed 1"), is_made_up("Unnamed: 0"), is_made_up("...1"), is_made_up("Age")
    (True, True, True, False)
    """
    return _MADE_UP.fullmatch(name) is not None


# --- its cells -----------------------------------------------------------------------------------


class _NotUtf8(Exception):
    pass


def _parse(path: Path, dialect: Dialect) -> pa.Table:
    import pyarrow.csv as pcsv

    if not dialect.has_rows:
        return pa.table({name: pa.array([], _CELL) for name in dialect.header})
    block = _BLOCK
    while True:
        try:
            return pcsv.read_csv(_source(path), **_options(path, dialect, block, _CELL))
        except (pa.ArrowInvalid, UnicodeError) as error:
            reason = _cause(error)
        if _is_too_long(reason) and block < _LARGEST_BLOCK:
            block = min(8 * block, _LARGEST_BLOCK)
            continue
        _refuse(path, dialect, reason)


def _source(path: Path) -> Any:
    if _is_packed(path):
        return pa.input_stream(str(path), compression="gzip")
    return pa.OSFile(str(path))  # of a name that ends in .gz, Arrow would believe it


def _options(path: Path, dialect: Dialect, block: int, cell: pa.DataType) -> dict[str, Any]:
    import pyarrow.csv as pcsv

    how = _how(path, dialect, block, cell)
    return {
        "read_options": pcsv.ReadOptions(**how["read"]),
        "parse_options": pcsv.ParseOptions(**how["parse"]),
        "convert_options": pcsv.ConvertOptions(**how["convert"]),
    }


def _how(path: Path, dialect: Dialect, block: int, cell: pa.DataType) -> dict[str, dict[str, Any]]:
    """How Arrow is to read a file: nothing is guessed, and cells are texts."""
    return {
        "read": {
            "block_size": block,
            "encoding": dialect.encoding,
            "column_names": list(dialect.header),
            "skip_rows": dialect.lines,
        },
        "parse": {
            "delimiter": dialect.delimiter,
            "quote_char": dialect.quote,
            "newlines_in_values": _holds_quotes(path, dialect),
        },
        "convert": {
            "column_types": dict.fromkeys(dialect.header, cell),
            "strings_can_be_null": False,
            "quoted_strings_can_be_null": False,
        },
    }


def _cause(error: Exception) -> str:
    """What Arrow has against a file, without the row that it quotes."""
    return re.split(r"columns, got \d+", str(error))[0]


def _is_too_long(reason: str) -> bool:
    return "straddling" in reason or "Could not skip" in reason


def _refuse(path: Path, dialect: Dialect, reason: str) -> NoReturn:
    """Say what is wrong with a file that Arrow refused."""
    if "UTF8" in reason or "codec" in reason:
        raise _NotUtf8 from None
    if _holds_quotes(path, dialect):
        _count_strictly(path, dialect)  # a quote may be what tears the rows
    raise InputError(_ragged(path, dialect)) from None


# --- one batch of rows after the other -----------------------------------------------------------


def look(path: Path, reading: Reading, notes: list[str]) -> Dialect:
    """How a file too long for memory is written; refused if its quotes can be read in two ways.

    It is read in three passes more than a short one is: for its encoding, and for its quotes. That
    takes a second for each gigabyte.
    """
    with _readable(path):
        dialect = sniff(path, reading)
        if dialect.encoding == "utf-8" and not reading.encoding and not _is_utf8(path):
            dialect = sniff(path, replace(reading, encoding=_older(path)))
        notes += _assumed(path, dialect, reading)
        if _holds_quotes(path, dialect) and not _quotes_are_plain(path, dialect):
            _count_strictly(path, dialect)
    return dialect


def read_lines(
    path: Path, reading: Reading, notes: list[str], take: Callable[[Iterator[str]], Result]
) -> Result:
    """What `take` makes of a text that is no CSV, given some lines at a time, whole ones.

    All lines end in a line feed, the last one too. Where a file turns out not to be UTF-8 only
    half way, `take` begins anew.
    """
    with _readable(path):
        encoding, _ = _decoded(path, *_begun(path), reading.encoding)
        try:
            taken = take(_whole_lines(path, encoding))
        except UnicodeError:
            if reading.encoding or encoding != "utf-8":
                raise _undecodable(path, encoding) from None
            encoding = _older(path)
            taken = take(_whole_lines(path, encoding))
    if encoding in _OLDER and not reading.encoding:
        notes.append(_read_as_older(path, encoding))
    return taken


def _whole_lines(path: Path, encoding: str) -> Iterator[str]:
    with _open(path, "rt", encoding=encoding) as file:  # which makes line feeds of all line ends
        mark = "\ufeff"  # stands before the first line, if anywhere
        while block := file.read(_LINES_BLOCK):
            block = (block + file.readline()).removeprefix(mark)
            mark = ""
            if "\0" in block:
                raise InputError(_zero_bytes(str(path)))
            if block:
                yield block if block.endswith("\n") else block + "\n"


def about_rows(path: Path) -> int:
    """About how many rows a file has, from its first lines and its size."""
    with _open(path, "rb") as file:
        head = file.read(_HEAD)
    size = path.stat().st_size * (8 if _is_packed(path) else 1)
    return size * (head.count(b"\n") or 1) // max(len(head), 1)


def _is_utf8(path: Path) -> bool:
    with _open(path, "rb") as file:
        blocks = iter(lambda: file.read(_STREAM_BLOCK), b"")
        try:
            for _ in codecs.iterdecode(blocks, "utf-8"):
                pass
        except UnicodeDecodeError:
            return False
    return True


def stream_csv(path: Path, dialect: Dialect, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The cells of some columns as texts, batch by batch."""
    import pyarrow.csv as pcsv

    if not dialect.has_rows:
        return
    block, done = _STREAM_BLOCK, 0
    with _readable(path):
        while True:
            options = _options(path, dialect, block, pa.string())
            options["convert_options"].include_columns = list(names)
            again = done  # rows that were handed over before a line was too long for its block
            try:
                for batch in pcsv.open_csv(_source(path), **options):
                    fresh = batch.slice(min(again, batch.num_rows))
                    again -= batch.num_rows - fresh.num_rows
                    if fresh.num_rows:
                        yield fresh
                        done += fresh.num_rows
                return
            except (pa.ArrowInvalid, UnicodeError) as error:
                reason = _cause(error)
            if not _is_too_long(reason) or block >= _LARGEST_BLOCK:
                break
            block = min(block * 16, _LARGEST_BLOCK)
        try:
            _refuse(path, dialect, reason)
        except _NotUtf8:
            raise _undecodable(path, dialect.encoding) from None


@dataclass(frozen=True, slots=True)
class Piece:
    """Some whole lines of a file, and how Arrow is to read them."""

    path: Path
    start: int
    size: int | None  # bytes; None: the whole file
    how: dict[str, dict[str, Any]]  # plain, as Arrow's own options do not survive being sent


def pieces_of(path: Path, dialect: Dialect, size: int = _WINDOW) -> list[Piece]:
    """A file cut at ends of lines into pieces of about `size` bytes, for workers to share.

    Where a quote stands, a line may end inside a cell, and where characters have two bytes, inside
    one of them; such a file stays whole.
    """
    if not dialect.has_rows:
        return []
    first = _how(path, dialect, _WORKERS_BLOCK, pa.string())
    plain = codecs.lookup(dialect.encoding).name in ("utf-8", "iso8859-1", "ascii", "cp1252")
    if not plain or _holds_quotes(path, dialect):
        return [Piece(path, 0, None, first)]
    later = first | {"read": first["read"] | {"skip_rows": 0}}
    with _bytes(path) as view:
        ends = [0]
        while ends[-1] < len(view):
            cut = view.find(b"\n", ends[-1] + size) + 1
            ends.append(cut or len(view))
    return [
        Piece(path, start, end - start, later if start else first)
        for start, end in itertools.pairwise(ends)
    ]


def _holds_quotes(path: Path, dialect: Dialect) -> bool:
    """Whether a quote stands anywhere: without one, blocks can be cut at any line end (faster)."""
    if _is_packed(path):
        return True
    with _bytes(path) as view:
        return view.find(dialect.quote.encode()) >= 0


def _refuse_swallowed_rows(path: Path, dialect: Dialect, rows: int) -> None:
    """Refuse a quote that never closes, or closes in the middle of a cell: rows would be lost."""
    if not _holds_quotes(path, dialect) or _quotes_are_plain(path, dialect):
        return
    if dialect.has_rows and _count_strictly(path, dialect) != rows:
        raise InputError(
            "the quotes in this file can be read in two ways", where=str(path),
            do='quote cells that hold a quote, and double that quote: ""',
        )  # fmt: skip


def _count_strictly(path: Path, dialect: Dialect) -> int:
    """Count the rows below the header, refusing quotes that do not close where their cell ends."""
    with _rows(path, dialect, strict=True) as reader:
        try:
            return sum(1 for row in reader if row) - 1
        except csv.Error:
            raise InputError(
                f"a quote that opens above line {reader.line_num + 1} does not close where its "
                "cell ends",
                where=str(path),
                why="it would swallow the rows that follow.",
                do='close it, or double a quote that is part of a cell: ""',
            ) from None


def _quotes_are_plain(path: Path, dialect: Dialect) -> bool:
    """Whether quotes pair up at the edges of cells, as nearly every writer leaves them.

    Of quotes in order, each first one must follow the edge of a cell and each second one must be
    followed by one; a doubled quote closes and opens at once. 10 ms for a million quoted cells,
    where Python's strict reader needs two seconds. Long files are looked at through a window.
    """
    if _is_packed(path) or dialect.encoding not in ("utf-8", *_OLDER):
        return False
    edges = np.zeros(256, dtype=bool)
    edges[[ord(sign) for sign in (dialect.delimiter, "\n", "\r", dialect.quote)]] = True
    inside, last = False, -2  # whether a quote is open, and where the last one closed
    with _bytes(path) as view:
        data = np.frombuffer(view, dtype=np.uint8)
        start = 3 if data[:3].tobytes() == codecs.BOM_UTF8 else 0
        ends = itertools.islice(re.finditer(rb"\r\n?|\n", view), dialect.above)
        first = max((end.end() for end in ends), default=0)  # the header's byte
        try:
            for begin in range(first, len(data), _QUOTES):
                at = begin + np.flatnonzero(data[begin : begin + _QUOTES] == ord(dialect.quote))
                opens, closes = at[int(inside) :: 2], at[1 - int(inside) :: 2]
                before = edges[data[opens - 1]] | (opens == start)
                beyond = np.minimum(closes + 1, len(data) - 1)
                after = edges[data[beyond]] | (closes == len(data) - 1)
                if not (before.all() and after.all()):
                    return False
                closed = closes if inside else np.concatenate([[last], closes])
                doubled = data[opens - 1] == ord(dialect.quote)
                if (doubled & (opens > start) & (opens - 1 != closed[: len(opens)])).any():
                    return False
                inside ^= bool(len(at) % 2)
                last = int(closes[-1]) if len(closes) else last
            return not inside
        finally:
            del data  # or the map could not be closed


def _ragged(path: Path, dialect: Dialect) -> list[Problem]:
    """Name the lines that have too few or too many cells."""
    want = len(dialect.header)
    problems = []
    start, since = 1, 0  # rows since the first one that does not fit
    with _rows(path, dialect) as rows:
        for row in rows:
            if row and len(row) != want:
                what = f"{len(row)} cells where the header has {want}"
                problems.append(Problem(what, f"{path}, line {start}"))
            since += bool(row and problems)
            start = rows.line_num + 1
    if not problems:
        raise csv.Error
    hint = f"cells are cut at {dialect.delimiter!r}; quote cells that hold it, or tell the right "
    hint += remedy("one by --delimiter, or in [reading].", "delimiter in [reading].")
    if want == 1:
        hint += " If the header stands below a title, tell its line "
        hint += remedy("by --header-row, or there.", "there, as header_row.")
    elif since <= _BELOW:
        hint += " If they stand below the table, such as a total or a source, take them away."
    problems[0] = replace(problems[0], do=hint)
    return problems


def _by_encoding() -> str:
    return remedy("by --encoding, or in", "in")


def _read_as_older(path: Path, encoding: str) -> str:
    by = remedy("--encoding, or [reading],", "encoding in [reading]")
    return f"{path} is not UTF-8 and was read as {_OLDER[encoding]}; {by} tells otherwise."


def _undecodable(path: Path, encoding: str) -> InputError:
    return InputError(
        f"the file is not {encoding} text",
        where=str(path),
        do=f"tell its real encoding {_by_encoding()} [reading]: latin-1 or utf-16, for example.",
    )


# --- opening -------------------------------------------------------------------------------------


def _open(path: Path, mode: str, **how: Any) -> Any:
    if _is_packed(path):
        return gzip.open(path, mode, **how)
    return open(path, mode, **how)


@contextmanager
def _bytes(path: Path) -> Iterator[mmap.mmap]:
    with open(path, "rb") as file:
        view = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        try:
            yield view
        finally:
            with suppress(BufferError):  # an interrupted caller may still hold a part of it
                view.close()


@contextmanager
def _rows(path: Path, dialect: Dialect, *, strict: bool = False) -> Iterator[Any]:
    """Python's own reader over the file: slow, exact, and it knows line numbers."""
    csv.field_size_limit(1 << 30)
    encoding = "utf-8-sig" if codecs.lookup(dialect.encoding).name == "utf-8" else dialect.encoding
    with _open(path, "rt", encoding=encoding, newline="") as file:
        assert isinstance(file, io.TextIOBase)
        for _ in itertools.islice(file, dialect.above):
            pass
        # What stands above the header counts as blank lines.
        lines = itertools.chain(itertools.repeat("\n", dialect.above), file)
        yield csv.reader(lines, delimiter=dialect.delimiter, quotechar=dialect.quote, strict=strict)
