"""Rows on their way out: sorted, printed, written whole or not at all.

A sheet is what is about to be published: columns of codes into printed (or typed) values, and how
often each row stands. Where rows repeat, each distinct line is printed once.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import re
import secrets
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from reticent.errors import InputError
from reticent.table.collapse import Codes, distinct
from reticent.table.files import ARROW
from reticent.table.schema import Column, texts

_LINES = 1 << 16  # lines printed at a time: about 5 MB of text, so memory stays flat


@dataclass(frozen=True, slots=True)
class Sheet:
    """Rows ready to be written."""

    names: tuple[str, ...]
    columns: tuple[Codes, ...]
    values: tuple[pa.Array, ...]
    counts: NDArray[np.int64]  # how often each row stands; never 0

    @property
    def rows(self) -> int:
        """How many rows are written."""
        return int(self.counts.sum())

    @property
    def longest(self) -> int:
        """No printed line has more bytes than this."""
        longest = (max((len(t or "") for t in texts(values)), default=0) for values in self.values)
        return sum(8 * length + 4 for length in longest)

    def select(self, names: Sequence[str]) -> Sheet:
        """The sheet with only these columns, rows as they stand."""
        at = [self.names.index(name) for name in names]
        return Sheet(
            tuple(names),
            tuple(self.columns[i] for i in at),
            tuple(self.values[i] for i in at),
            self.counts,
        )

    def tally(self, name: str) -> dict[str, int]:
        """How many rows show each value of a column, as printed; what nobody shows is left out."""
        at = self.names.index(name)
        cells = texts(self.values[at])
        counts = np.bincount(self.columns[at], weights=self.counts, minlength=len(cells))
        found: dict[str, int] = {}
        for cell, count in zip(cells, counts.astype(np.int64).tolist(), strict=True):
            if count:
                found[cell or ""] = found.get(cell or "", 0) + count
        return found

    def arrow(self) -> pa.Table:
        """The rows as an Arrow table that carries nothing but its cells."""
        repeats = np.repeat(np.arange(len(self.counts)), self.counts)
        cells = [
            _plain(values.take(pa.array(codes[repeats])))
            for codes, values in zip(self.columns, self.values, strict=True)
        ]
        return pa.table(dict(zip(self.names, cells, strict=True)))


def _plain(cells: pa.Array) -> pa.Array:
    """Text of our own reader is 64-bit text inside; everybody expects the ordinary one."""
    fits = pa.types.is_large_string(cells.type) and cells.nbytes < 2**31
    return cells.cast(pa.string()) if fits else cells


def sheet(
    columns: Sequence[Column], *, order: str, counts: NDArray[np.int64] | None = None
) -> Sheet:
    """Arrange columns for output: sorted by printed cell from the left, or as they came.

    `counts`: how often each row stands; once if not told.
    """
    if order == "input":
        codes = tuple(column.codes for column in columns)
        names, values = (tuple(c.name for c in columns), tuple(c.values for c in columns))
        once = np.ones(len(codes[0]), dtype=np.int64)
        return Sheet(names, codes, values, once if counts is None else counts)
    ranked = [_by_printed_cell(column) for column in columns]
    keys = [column.codes if rank is None else rank[column.codes] for column, rank in ranked]
    alike = [i for i, (_, rank) in enumerate(ranked) if rank is not None]
    keys += [ranked[i][0].codes for i in alike]  # only to tell apart what prints alike
    sizes = [len(column.values) for column, _ in ranked]
    found = distinct(keys, sizes + [sizes[i] for i in alike], counts)
    columns_out: list[Codes] = list(found.columns[: len(ranked)])
    for i, column in zip(alike, found.columns[len(ranked) :], strict=True):
        columns_out[i] = column
    return Sheet(
        tuple(column.name for column, _ in ranked),
        tuple(columns_out),
        tuple(column.values for column, _ in ranked),
        found.counts,
    )


def _by_printed_cell(column: Column) -> tuple[Column, Codes | None]:
    """Renumber codes so that they rise with the printed cell, by code point; missing prints empty.

    Bytes of UTF-8 rise with code points, so Arrow's order of text is the order wanted. Where two
    values print alike (null and empty text, 0.0 and -0.0) also says the rank of each code's cell.
    """
    import pyarrow.compute as pc

    if pa.types.is_string(column.values.type) or pa.types.is_large_string(column.values.type):
        printed = column.values
    else:
        printed = pa.array(texts(column.values), pa.string())
    printed = pc.fill_null(printed, "")
    rank = None
    if pc.count_distinct(printed).as_py() == len(printed):
        order = pc.sort_indices(printed).to_numpy()
    else:
        cells, values = printed.to_pylist(), column.values.to_pylist()
        ranks = {cell: i for i, cell in enumerate(sorted(set(cells)))}
        order = np.array(sorted(range(len(cells)), key=lambda i: (cells[i], repr(values[i]))))
        rank = np.array([ranks[cells[i]] for i in order], dtype=column.codes.dtype)
    to = np.empty(len(order), dtype=column.codes.dtype)
    to[order] = np.arange(len(order))
    return Column(column.name, to[column.codes], column.values.take(pa.array(order))), rank


# --- printing ------------------------------------------------------------------------------------


def write(sheet: Sheet, path: Path, suffix: str) -> None:
    """Write a sheet to `path` in the format that `suffix` names."""
    if suffix == ".parquet":
        import pyarrow.parquet as pq

        pq.write_table(sheet.arrow(), path, compression="zstd", store_schema=False)
    elif suffix in ARROW:
        table = sheet.arrow()
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    elif suffix.endswith(".gz"):
        with (
            open(path, "wb") as raw,
            gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as file,
        ):
            _print(sheet, file, suffix)
    else:
        with open(path, "wb") as file:
            _print(sheet, file, suffix)


def write_text(path: Path, text: str) -> None:
    """Write text and see it to the disk."""
    path.write_text(text, encoding="utf-8")
    _sync(path)


def delimiter_of(suffix: str) -> str:
    """The delimiter a text format is written with."""
    return "\t" if suffix.startswith(".tsv") else ","


def _print(sheet: Sheet, file: IO[bytes] | gzip.GzipFile, suffix: str) -> None:
    import pyarrow.compute as pc

    delimiter = delimiter_of(suffix)
    file.write((delimiter.join(_quoted(n, delimiter) for n in sheet.names) + "\n").encode())
    last = len(sheet.names) - 1
    cells = [
        _printed(values, delimiter, "\n" if j == last else delimiter, lone=not last)
        for j, values in enumerate(sheet.values)
    ]
    nothing = pa.scalar("", pa.large_string())

    def lines(block: slice) -> pa.Buffer:
        pieces = [
            column.take(pa.array(codes[block]))
            for column, codes in zip(cells, sheet.columns, strict=True)
        ]
        printed = pc.binary_join_element_wise(*pieces, nothing) if len(pieces) > 1 else pieces[0]
        counts = sheet.counts[block]
        if counts.max() > 1:
            printed = printed.take(pa.array(np.repeat(np.arange(len(counts)), counts)))
        return _characters(printed)

    # Two threads print while the writer writes; Arrow lets go of the interpreter lock.
    with ThreadPoolExecutor(2) as pool:
        for buffer in pool.map(lines, _blocks(sheet.counts)):
            file.write(buffer)


def _blocks(counts: NDArray[np.int64]) -> Iterator[slice]:
    """Runs of rows that print as about `_LINES` lines each."""
    ends = np.cumsum(counts)
    start = 0
    while start < len(counts):
        done = ends[start - 1] if start else 0
        stop = max(int(np.searchsorted(ends, done + _LINES, side="right")), start + 1)
        yield slice(start, stop)
        start = stop


def _characters(text: pa.Array) -> pa.Buffer:
    offsets = np.frombuffer(text.buffers()[1], dtype=np.int64)[text.offset :][: len(text) + 1]
    return text.buffers()[2].slice(int(offsets[0]), int(offsets[-1] - offsets[0]))


def _printed(values: pa.Array, delimiter: str, end: str, *, lone: bool) -> pa.Array:
    """Each value as its cell and what ends it.

    A lone column quotes its empty cells: a blank line would be no row at all.
    """
    empty = '""' if lone else ""
    printed = [(_quoted(text, delimiter) if text else empty) + end for text in texts(values)]
    return pa.array(printed, pa.large_string())


def _quoted(text: str, delimiter: str) -> str:
    if delimiter in text or '"' in text or "\n" in text or "\r" in text:
        return '"' + text.replace('"', '""') + '"'
    return text


# --- whole or not at all -------------------------------------------------------------------------

_LEFTOVER = re.compile(r"\.(?P<name>.+)\.(?P<pid>\d+)-[0-9a-f]{8}\.reticent-(?P<what>tmp|old)")


def check_free(path: Path, *, force: bool, holds: Collection[str] = ()) -> None:
    """Refuse an output that exists (unless forced) or has nowhere to go, before any work.

    A folder is replaced only by one that `holds` everything it has: nothing else may be lost.
    """
    if path.name in ("", ".", ".."):
        raise InputError("this is no name for an output", where=str(path), do="give a new name.")
    repair(path)
    if not path.parent.is_dir():
        raise InputError(
            f"there is no folder {path.parent}", where=str(path), do="create it first."
        )
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise InputError("this is no ordinary file", where=str(path), do="choose another name.")
    if path.exists() and not force:
        raise InputError(
            "the output exists already", where=str(path), do="choose another name or add --force."
        )
    if path.is_dir() and not {other.name for other in path.iterdir()} <= set(holds):
        raise InputError(
            "the folder holds other things, so it is not replaced",
            where=str(path),
            why="they would be lost.",
            do="choose another name.",
        )
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"the folder {path.parent} cannot be written to", where=str(path))


def refuse_inputs(outputs: Iterable[Path], inputs: Iterable[Path]) -> None:
    """Refuse to write over what the same run reads, whatever --force says."""
    read = {path.resolve() for path in inputs}
    for output in outputs:
        place = output.resolve()
        if any(path == place or place in path.parents for path in read):
            raise InputError(
                "this is, or holds, an input of the same run",
                where=str(output),
                why="it would be lost.",
                do="choose another name.",
            )


def repair(path: Path) -> None:
    """Clear away what killed runs left beside `path`, and finish an interrupted swap of folders."""
    if not path.parent.is_dir():
        return
    for other in sorted(path.parent.iterdir()):
        match = _LEFTOVER.fullmatch(other.name)
        if match and match["name"] == path.name:
            clear_leftover(other)


def is_leftover(path: Path) -> bool:
    """Whether a path has the name of something that a killed run may have left."""
    return _LEFTOVER.fullmatch(path.name) is not None


def clear_leftover(path: Path) -> None:
    """Remove what a killed run left, or put it back where its swap was interrupted."""
    match = _LEFTOVER.fullmatch(path.name)
    if not match or path in _ours:
        return
    pid = int(match["pid"])  # in containers a later run may have the number of a killed one
    if pid != os.getpid() and _alive(pid):
        return
    target = path.with_name(match["name"])
    if match["what"] == "old" and not target.exists():
        path.rename(target)
    elif path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


_ours: set[Path] = set()  # temporary names of this very process


def _beside(path: Path, what: str) -> Path:
    name = f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.reticent-{what}"
    _ours.add(path.with_name(name))
    return path.with_name(name)


@contextlib.contextmanager
def whole_file(path: Path, *, force: bool, private: bool = False) -> Iterator[Path]:
    """A temporary file that becomes `path` if the block ends well, and nothing otherwise."""
    check_free(path, force=force)
    temporary = _beside(path, "tmp")
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        yield temporary
        _sync(temporary)
        if not private:
            temporary.chmod(0o666 & ~_umask())
        check_free(path, force=force)
        temporary.replace(path)
        _sync(path.parent)
    except OSError as error:
        raise _unwritable(path, error) from None
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def whole_folder(path: Path, *, force: bool, holds: Collection[str] = ()) -> Iterator[Path]:
    """A temporary folder, its owner's alone, that becomes `path` if the block ends well.

    `holds` names what it will hold; see `check_free`.
    """
    check_free(path, force=force, holds=holds)
    temporary, old = _beside(path, "tmp"), _beside(path, "old")
    try:
        temporary.mkdir(mode=0o700)
        yield temporary
        for file in sorted(temporary.rglob("*")):
            _sync(file)
        check_free(path, force=force, holds=holds)
        if path.exists():
            path.rename(old)
        temporary.chmod(0o777 & ~_umask())
        temporary.rename(path)
        _sync(path.parent)
        remove(old)
    except OSError as error:
        raise _unwritable(path, error) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if old.exists() and not path.exists():
            old.rename(path)


def remove(path: Path) -> None:
    """Remove a folder, a file or a link to one, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(
        f"cannot write it: {error.strerror or 'the system refused'}", where=str(path),
        do="free some space or choose another place; nothing was left behind.",
    )  # fmt: skip


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
