"""A file that only grows, each entry bound to all before it by a chain of digests.

    entry = length of the content (4 bytes, big-endian) | seal of it (4) | content | digest (32)
    digest = SHA-256(digest of the entry before | content); before the first: 32 zero bytes
    seal = the first bytes of SHA-256(digest of the entry before | length)

The seal tells a length that was changed from one whose content was still to come.

Whoever opens it again after a kill finds all entries that were synced. A last entry that was being
written is cut off; anything else that does not follow is an error that names the entry.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from reticent.errors import InputError

START = bytes(32)
_sync = getattr(os, "fdatasync", os.fsync)  # not every system has the first
_LENGTH, _SEAL, _DIGEST = 4, 4, 32
_HEADER = _LENGTH + _SEAL
LARGEST = 2**32 - 1  # bytes of one entry, as its header can tell them


@dataclass(frozen=True, slots=True)
class Extent:
    """Where the content of an entry stands."""

    offset: int
    size: int


class DoesNotFollow(Exception):
    """An entry is not what the chain says it must be."""

    def __init__(self, number: int, torn: bool) -> None:
        super().__init__(f"entry {number}")
        self.number = number
        self.torn = torn  # nothing stands after it: it may have been cut off while being written


class Unwritable(InputError):
    """The system does not take what is to be written: most often, the disk is full."""

    def with_remedy(self, more: str) -> Self:
        """The same with what comes after mending it, which its owner alone knows."""
        found = [replace(p, do=f"{p.do.removesuffix('.')}, {more}") for p in self.problems]
        return type(self)(found)


def entries_of(path: Path) -> Iterator[tuple[Extent, bytes, bytes]]:
    """Every entry of a file: where it stands, its content and its digest; each one is checked."""
    digest, number, offset = START, 1, 0
    whole = path.stat().st_size
    with path.open("rb") as file:
        while header := file.read(_HEADER):
            size = int.from_bytes(header[:_LENGTH])
            end = offset + _HEADER + size + _DIGEST
            if len(header) < _HEADER:
                raise DoesNotFollow(number, torn=True)
            if header != _sealed(size, digest):
                file.seek(offset)  # a machine that lost its power may leave zeros at the end
                raise DoesNotFollow(number, torn=not file.read().strip(b"\0"))
            if end > whole:
                raise DoesNotFollow(number, torn=True)
            content = file.read(size)
            digest = hashlib.sha256(digest + content).digest()
            if file.read(_DIGEST) != digest:
                file.seek(offset)  # a machine that lost its power may leave zeros at the end
                raise DoesNotFollow(number, torn=end == whole or not file.read().strip(b"\0"))
            yield Extent(offset + _HEADER, size), content, digest
            number, offset = number + 1, end


def _sealed(size: int, before: bytes) -> bytes:
    """The header of an entry of so many bytes."""
    length = size.to_bytes(_LENGTH)
    return length + hashlib.sha256(before + length).digest()[:_SEAL]


class ChainedFile:
    """Such a file, open for writing; safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        """Open the file, or make it; a torn last entry is cut off, and `torn` says so."""
        self.path = path
        self.places: list[Extent] = []
        self.digest = START
        self._digests: list[bytes] = []
        self.torn = False
        self._lock = threading.Lock()
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise self._unwritable(error) from None
        try:
            for place, _, digest in entries_of(path):
                self._note(place, digest)
        except DoesNotFollow as fault:
            if not fault.torn:
                os.close(self._file)
                raise InputError(
                    f"entry {fault.number} does not follow from those before it", where=str(path),
                    why="it was changed after it was written.", do="start a new run.",
                ) from None  # fmt: skip
            self.torn = True
            os.ftruncate(self._file, self.size)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self.places)

    @property
    def size(self) -> int:
        """How many bytes the entries take."""
        return self.places[-1].offset + self.places[-1].size + _DIGEST if self.places else 0

    def append(self, content: bytes, *, sync: bool) -> Extent:
        """Add an entry at the end, and see it to the disk if asked to."""
        if len(content) > LARGEST:
            raise ValueError(f"an entry holds at most {LARGEST:,} bytes")
        with self._lock:
            digest = hashlib.sha256(self.digest + content).digest()
            place = Extent(self.size + _HEADER, len(content))
            self._write(_sealed(len(content), self.digest) + content + digest)
            self._note(place, digest)
        if sync:
            self.sync()
        return place

    def read(self, place: Extent) -> bytes:
        """The content of an entry."""
        content = os.pread(self._file, place.size, place.offset)
        if len(content) != place.size:
            raise InputError("the file has become shorter", where=str(self.path))
        return content

    def cut(self, count: int) -> None:
        """Keep the first entries only."""
        with self._lock:
            del self.places[count:], self._digests[count:]
            self.digest = self._digests[-1] if self._digests else START
            os.ftruncate(self._file, self.size)
        self.sync()

    def sync(self) -> None:
        """See everything written so far to the disk."""
        try:
            _sync(self._file)
        except OSError as error:
            raise self._unwritable(error) from None

    def close(self) -> None:
        """Sync and close."""
        if self._file >= 0:
            os.ftruncate(self._file, self.size)  # what an interrupted write left
            self.sync()
            os.close(self._file)
            self._file = -1

    def _write(self, content: bytes) -> None:
        # At its place, not where the last write ended: one that was interrupted, by a full disk or
        # by Ctrl-C, must not leave half an entry before the next.
        left, offset = memoryview(content), self.size
        try:
            while left:
                count = os.pwrite(self._file, left, offset)
                left, offset = left[count:], offset + count
        except OSError as error:
            raise self._unwritable(error) from None

    def _unwritable(self, error: OSError) -> InputError:
        return Unwritable(
            f"cannot write it: {error.strerror}", where=str(self.path), do="free some space."
        )

    def _note(self, place: Extent, digest: bytes) -> None:
        self.places.append(place)
        self._digests.append(digest)
        self.digest = digest
