"""Where large arrays live: in memory, or in files that are mapped into it.

A table of counts may itself be larger than memory. Then its arrays are files below a spill folder,
and the system moves their pages in and out as they are used. Nothing that reads or fills an array
can tell the difference. The files have no names any more once they are mapped, so that nothing
is left of them whatever happens to this process.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from reticent.data.spill import connect
from reticent.errors import InputError

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


@contextmanager
def database() -> Iterator[Any]:
    """A database that sorts and groups what does not fit in memory."""
    where = _mapped.get()
    assert where is not None
    with connect(*where) as found:
        yield found


def parts(count: int, size: int = 1 << 21) -> Iterator[slice]:
    """Slices that cover so many rows, each small enough to be computed with."""
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))
