"""What sites tell each other besides blinded join values and comparisons, and how it is written.

Sums travel as whole numbers of as few bytes as the largest of them needs, or as floats of eight
where records weigh what has no common measure, rounded to so many bits as comparisons of splits
need. There is one way only to write some sums: whatever can be written in several ways could carry
what nobody may know.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from reticent.jointree.propagation import WORD, Vectors
from reticent.jointree.tables import JoinContent
from reticent.parties.wire import Message

Width = Annotated[int, msgspec.Meta(ge=0, le=4096)]  # bytes of a number; 0 is a float
Label = Annotated[str, msgspec.Meta(max_length=1_000_000)]
_LONG = 8
MOST_SUMS = 2**20  # parts in one message; what is more goes in several
BITS = 36  # of a float that is told; whatever has more carries what no sum needs
ALIKE = 2.0 ** (6 - BITS)  # how far sums may be from each other, rounded at a few sites


class Unfit(ValueError):
    """These bytes are no such sums; it does not tell them."""


class ClassLabels(Message, frozen=True):
    """The site of the class to all: every label that stands in its column, in order."""

    labels: list[Label]


class JoinColumns(Message, frozen=True):
    """To the other side of a join: what its columns hold, and whether the file says so."""

    holds: list[tuple[JoinContent | None, bool]]


class Standing(Message, frozen=True):
    """To the other side of a join: a bit for each common value, whether rows stand behind it."""

    bits: bytes


class Sums(Message, frozen=True):
    """To the other side of a join: sums by common value that stands, and by class."""

    width: Width
    numbers: bytes


class TotalCounts(Message, frozen=True):
    """The site of the class to all: all joined rows by class, in parts of one."""

    numbers: str
    unit: Annotated[int, msgspec.Meta(ge=1)]
    counts: Sums


class NodeSplit(Message, frozen=True):
    """The winner to all: joined rows by branch and class, and the block where the split begins.

    No counts say that no site has a split that gains anything.
    """

    block: Annotated[int, msgspec.Meta(ge=0, lt=2**20)] = 0
    counts: Sums = Sums(1, b"")


class PartSums(Message, frozen=True):
    """To the other side of a join: of the sums of a node, the parts of its branches.

    Branch by branch, and of each the common values that stand in the node, in order: whether the
    branch holds any of its joined rows, and of those that it does how many of each class. Many of
    them go in several messages of so many lines each, but the last.
    """

    standing: bytes
    parts: Sums
    withheld: bool = False  # as too few records stand behind some; then there are none


class SplitFits(Message, frozen=True):
    """To all: whether enough records stand behind everything that this site would have told."""

    fits: bool


def rounded(numbers: Vectors) -> Vectors:
    """The same as it is told: of floats the leading bits alone.

    >>> float(rounded(np.array([1 / 3]))[0]).hex(), rounded(np.array([7, 2**60 + 1])).tolist()
    ('0x1.5555555560000p-2', [7, 1152921504606846977])
    """
    if numbers.dtype != np.float64:
        return numbers
    parts, exponents = np.frexp(numbers)
    found: Vectors = np.ldexp(np.rint(np.ldexp(parts, BITS)), exponents - BITS)
    return found


def alike(one: Any, other: Any, *, floats: bool) -> bool:
    """Whether sums are the same; up to rounding, where they are floats."""
    if not floats:
        return [*map(int, one)] == [*map(int, other)]
    one, other = np.asarray(one, np.float64), np.asarray(other, np.float64)
    return bool((abs(one - other) <= ALIKE * np.maximum(one, other)).all())


def packed(numbers: Vectors) -> Sums:
    r"""Sums as they travel, line by line; floats are rounded.

    >>> packed(np.array([[1, 300]]))
    Sums(width=2, numbers=b'\x01\x00,\x01')
    """
    if numbers.dtype == np.float64:
        return Sums(0, rounded(numbers).astype("<f8").tobytes())
    width = width_of(int(numbers.max(initial=0)))
    if width <= _LONG:
        whole = np.ascontiguousarray(numbers.astype("<u8")).view(np.uint8)
        return Sums(width, whole.reshape(-1, _LONG)[:, :width].tobytes())
    return Sums(width, b"".join(int(n).to_bytes(width, "little") for n in numbers.ravel()))


def width_of(most: int) -> int:
    """In how many bytes a number stands."""
    return max(1, (most.bit_length() + 7) // 8)


def unpacked(told: Sums, lines: int, classes: int) -> Vectors:
    """Sums that were told, if they are so many and written as they must be."""
    size = lines * classes
    if len(told.numbers) != size * (told.width or _LONG):
        raise Unfit
    if not told.width:
        floats = np.frombuffer(told.numbers, "<f8").astype(np.float64).reshape(lines, classes)
        if not (np.isfinite(floats).all() and (floats >= 0).all() and not np.signbit(floats).any()):
            raise Unfit
        if (rounded(floats) != floats).any():
            raise Unfit
        return floats
    found = _whole(told, size).reshape(lines, classes)
    if told.width != width_of(int(found.max(initial=0))):
        raise Unfit
    return found


def _whole(told: Sums, size: int) -> NDArray[Any]:
    width = told.width
    if width < _LONG:
        every = np.zeros((size, _LONG), np.uint8)
        every[:, :width] = np.frombuffer(told.numbers, np.uint8).reshape(size, width)
        return every.view("<u8").ravel().astype(np.int64)
    ends = range(width, size * width + 1, width)
    numbers = [int.from_bytes(told.numbers[end - width : end], "little") for end in ends]
    found = np.zeros(size, object)
    found[:] = numbers
    return found.astype(np.int64) if max(numbers, default=0) < WORD else found


def packed_parts(lines: Vectors) -> PartSums:
    """Parts of sums as they travel: of most values few branches hold a part."""
    some = np.asarray((lines > 0).any(axis=1))
    return PartSums(packed_bits(some), packed(lines[some]))


def unpacked_parts(told: PartSums, lines: int, classes: int) -> Vectors:
    """Parts that were told, if they are so many and written as they must be."""
    some = unpacked_bits(told.standing, lines)
    numbers = unpacked(told.parts, int(some.sum()), classes)
    if not (numbers > 0).any(axis=1).all():
        raise Unfit
    found = np.zeros((lines, classes), numbers.dtype)
    found[some] = numbers
    return found


WITHHELD = PartSums(b"", Sums(1, b""), withheld=True)


def most_lines(classes: int) -> int:
    """Of how many lines of sums one message tells at the most."""
    return max(1, MOST_SUMS // classes)


def lines_told(lines: int, classes: int) -> list[int]:
    """Of how many lines each message tells, all together of `lines`."""
    most = most_lines(classes)
    return [min(most, lines - start) for start in range(0, lines, most)]


def regrouped(blocks: Iterable[Vectors], size: int) -> Iterator[Vectors]:
    """The same lines, so many at a time; the last may be fewer.

    >>> [len(block) for block in regrouped([np.zeros((3, 2)), np.zeros((4, 2))], 5)]
    [5, 2]
    """
    waiting: list[Vectors] = []
    room = size
    for block in blocks:
        rest = block
        while len(rest):
            waiting.append(rest[:room])
            room -= len(waiting[-1])
            rest = rest[len(waiting[-1]) :]
            if not room:
                yield np.concatenate(waiting)
                waiting, room = [], size
    if waiting:
        yield np.concatenate(waiting)


def packed_bits(some: NDArray[np.bool_]) -> bytes:
    """Yes and no, a bit each."""
    return np.packbits(some).tobytes()


def unpacked_bits(content: bytes, count: int) -> NDArray[np.bool_]:
    """The same back again, if they are so many and nothing stands behind them."""
    if len(content) != -(-count // 8):
        raise Unfit
    every = np.unpackbits(np.frombuffer(content, np.uint8))
    if every[count:].any():
        raise Unfit
    return every[:count].astype(bool)
