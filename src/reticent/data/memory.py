"""Where large arrays live: in memory, or in files that are mapped into it.

A table of counts may itself be larger than memory. Then its arrays are files below a spill folder,
its owner's alone, that ends with the run, and the system moves their pages in and out as they are
used. Nothing that reads or fills an array can tell the difference. The files have no names any more
once they are mapped, so that nothing is left of them whatever happens to this process.
"""

from __future__ import annotations

import mmap
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from reticent.errors import InputError

_P = ParamSpec("_P")
_T = TypeVar("_T")
_PREFIX = "reticent-spill-"
_A_THREAD = 150 * 10**6  # bytes: with less for each, sorting 3 million rows of texts failed
_PART = 1 << 21  # rows that are computed with together
_AT_ONCE = 1 << 22  # cells moved or printed together: about 100 MB with all that is made of them
SMALL = 1 << 24  # bytes: arrays below stay in memory
_mapped: ContextVar[tuple[Path, int | None] | None] = ContextVar("mapped", default=None)


@contextmanager
def mapped(place: Path, limit: int | None = None) -> Iterator[None]:
    """As long as this lasts, large arrays are made in files, and sorted within so many bytes.

    That holds for this thread, and for `Threads` that it gives work to.
    """
    before = _mapped.get()
    _mapped.set((place, limit))
    try:
        yield
    finally:
        _mapped.set(before)


def is_mapped() -> bool:
    """Whether large arrays are made in files now."""
    return _mapped.get() is not None


def empty(shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """An array to be filled."""
    kind = np.dtype(dtype)
    shape = shape if isinstance(shape, tuple) else (shape,)
    size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    where = _mapped.get()
    if where is None or not size or size < SMALL:
        return np.empty(shape, kind)
    with tempfile.TemporaryFile(dir=where[0]) as file:
        try:
            os.posix_fallocate(file.fileno(), 0, size)  # or a full disk would end the process
        except OSError:
            raise InputError(
                "there is no room left for counts that do not fit in memory", where=str(where[0]),
                do="free some space, or point TMPDIR to a larger disk; nothing was written.",
            ) from None  # fmt: skip
        pages = mmap.mmap(file.fileno(), size)
    return np.frombuffer(pages, kind).reshape(shape)


def full(shape: int | tuple[int, ...], value: int, dtype: DTypeLike) -> NDArray[Any]:
    """An array of one value."""
    array = empty(shape, dtype)
    array[...] = value
    return array


def copy(array: NDArray[Any]) -> NDArray[Any]:
    """The same array once more."""
    other = empty(array.shape, array.dtype)
    other[...] = array
    return other


def look_up(values: Any, codes: NDArray[Any]) -> NDArray[Any]:
    """``values[codes]``, a part at a time."""
    values = np.asarray(values)
    if not is_mapped():
        return np.asarray(values[codes])
    found = empty(len(codes), values.dtype)
    for part in parts(len(codes)):
        np.take(values, codes[part], out=found[part])
    return found


def database() -> Any:
    """A database that sorts and groups what does not fit in memory."""
    where = _mapped.get()
    assert where is not None
    return connect(*where)


def parts(count: int) -> Iterator[slice]:
    """Slices that cover so many rows, each small enough to be computed with."""
    for start in range(0, count, _PART):
        yield slice(start, min(start + _PART, count))


def runs(starts: NDArray[np.int64], most: int = _AT_ONCE) -> Iterator[tuple[int, int]]:
    """Rows in runs of about `most` cells, so that memory stays flat; row r begins at starts[r]."""
    first, count = 0, len(starts) - 1
    while first < count:
        last = int(np.searchsorted(starts, starts[first] + most, side="right")) - 1
        last = max(last, first + 1)
        yield first, last
        first = last


# --- what does not fit ---------------------------------------------------------------------------


@contextmanager
def spill_folder() -> Iterator[Path]:
    """A folder below ``TMPDIR``; what killed runs left there is removed."""
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        pid = left.name.removeprefix(_PREFIX).split("-")[0]
        if pid.isdecimal() and not alive(int(pid)) and os.access(left, os.W_OK):
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-") as folder:
        yield Path(folder)


def alive(pid: int) -> bool:
    """Whether there is such a process, be it somebody else's."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


class Threads(ThreadPoolExecutor):
    """Threads that see what is set for whoever gives them work, as where large arrays live."""

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Have something done in the context of this very moment."""
        return super().submit(copy_context().run, partial(fn, *args, **kwargs))


def connect(spill: Path, memory_limit: int | None = None) -> Any:
    """A database of this process alone, which fetches nothing and spills where it is told."""
    import duckdb

    limit = {"memory_limit": f"{memory_limit}B"} if memory_limit else {}
    ours = getattr(os, "sched_getaffinity", None)  # not every system has it
    threads = len(ours(0)) if ours else os.cpu_count() or 1
    if memory_limit and memory_limit < _A_THREAD * threads:
        threads = max(memory_limit // _A_THREAD, 1)
    database = duckdb.connect(
        config={
            "temp_directory": str(spill),
            "preserve_insertion_order": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "threads": str(threads),
            **limit,
        }
    )
    for setting in ("TimeZone = 'UTC'", "enable_progress_bar = true",
                    "enable_progress_bar_print = false"):  # fmt: skip
        database.execute(f"SET {setting}")
    return database
