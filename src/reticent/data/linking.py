"""Which rows of two tables may belong to one person, as far as their shown values tell.

An earlier table is fixed, and what ours shows of a person changes while it is refined. So the
distinct rows of the earlier one over the columns that link the two, its *keys*, are numbered once;
and for each value that a column of ours can show, a set of bits tells the keys that it allows. A
row of ours goes with the keys that all of its columns allow.

Values are compared as they are printed, since that is all that anybody sees of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from reticent.data.collapse import Codes, distinct
from reticent.data.columns import Table
from reticent.data.scales import interval_ends
from reticent.data.taxonomy import Taxonomy
from reticent.data.texts import shortest

Bits = NDArray[np.uint64]


class LinkedValues(Protocol):
    """How printed values of one column are related; None is a missing one."""

    def meet(self, mine: str | None, theirs: str | None) -> bool:
        """Whether both can be shown for one and the same person."""

    def within(self, value: str | None, listed: str) -> bool:
        """Whether a value is the listed one, or more specific."""

    def knows(self, value: str | None) -> bool:
        """Whether it makes sense here."""


@dataclass(frozen=True, slots=True)
class Plain:
    """Values that are what they are, or suppressed."""

    hidden: tuple[str, str]  # how suppressed values are written: of ours, and of theirs

    def meet(self, mine: str | None, theirs: str | None) -> bool:
        """Equal, or one of them hidden."""
        return mine == theirs or mine == self.hidden[0] or theirs == self.hidden[1]

    def within(self, value: str | None, listed: str) -> bool:
        """Equal."""
        return value == listed

    def knows(self, value: str | None) -> bool:
        """Any text does."""
        return True


class Branches:
    """Labels of a taxonomy; a missing value stands directly below its root."""

    def __init__(self, taxonomy: Taxonomy, hidden: tuple[str, str]) -> None:
        """`hidden`: how suppressed values are written, of ours and of theirs; a label is one."""
        self.hidden = tuple(None if m in taxonomy.labels else m for m in hidden)
        self.root = taxonomy.labels[0]
        self.lines: dict[str, frozenset[str]] = {}  # label → itself and all that is above it
        for node, label in enumerate(taxonomy.labels):
            parent = taxonomy.parents[node]
            above = self.lines[taxonomy.labels[parent]] if parent >= 0 else frozenset[str]()
            self.lines[label] = above | {label}
        self.written = {shortest(label): label for label in taxonomy.labels}

    def label(self, value: str) -> str | None:
        """The label that a value is, however a number is written."""
        return value if value in self.lines else self.written.get(shortest(value))

    def meet(self, mine: str | None, theirs: str | None) -> bool:
        """On one path, or one of them hidden."""
        if (mine and mine == self.hidden[0]) or (theirs and theirs == self.hidden[1]):
            return True
        if mine is None or theirs is None:
            return mine is theirs or self.root in (mine, theirs)
        return self.within(mine, theirs) or self.within(theirs, mine)

    def within(self, value: str | None, listed: str) -> bool:
        """Below the listed one, or that one itself."""
        if value is None:
            return listed == self.root
        label = self.label(value)
        return label is not None and (self.label(listed) or listed) in self.lines[label]

    def knows(self, value: str | None) -> bool:
        """A label of theirs, or no value at all."""
        return value is None or value == self.hidden[1] or self.label(value) is not None


@dataclass(frozen=True, slots=True)
class Spans:
    """Intervals with fixed ends, or points; with missing values the root is the marker."""

    hidden: tuple[str, str]
    read: Callable[[str, bool], Any]  # a point as it is written, or an end of a printed interval
    known: dict[str, tuple[Any, Any, bool] | None] = field(default_factory=dict)

    def _span(self, value: str) -> tuple[Any, Any, bool] | None:
        """From where to where, and whether the end belongs to it; None for anything else."""
        if value not in self.known:
            ends = interval_ends(value)
            try:
                if ends:
                    low, high, closed = ends
                    self.known[value] = (self.read(low, True), self.read(high, True), closed)
                else:
                    point = self.read(value, False)
                    self.known[value] = (point, point, True)
            except ValueError:
                self.known[value] = None
        return self.known[value]

    def meet(self, mine: str | None, theirs: str | None) -> bool:
        """Overlapping, or one of them hidden."""
        if mine == self.hidden[0] or theirs == self.hidden[1]:
            return True
        if mine is None or theirs is None:
            return mine is theirs
        one, other = self._span(mine), self._span(theirs)
        if one is None or other is None:
            return mine == theirs
        start = max(one[0], other[0])  # where an overlap begins, if there is one
        return all(
            low <= start < high or (end and start == high) for low, high, end in (one, other)
        )

    def within(self, value: str | None, listed: str) -> bool:
        """Inside the listed one."""
        if value is None or value in self.hidden:
            return False
        one, whole = self._span(value), self._span(listed)
        if one is None or whole is None:
            return value == listed
        (low, high, end), (least, most, ends) = one, whole
        return bool(least <= low and (high < most or (high == most and (ends or not end))))

    def knows(self, value: str | None) -> bool:
        """An interval, a point, or no value at all."""
        return value is None or value == self.hidden[1] or self._span(value) is not None


def point_reader(kind: str, decimal: str, date_format: str | None) -> Callable[[str, bool], Any]:
    """How points of a continuous column are read: numbers, or times.

    What is `printed`, as an end of an interval, is an ISO date first of all; what came with a table
    is first of all what its reader was told.
    """

    def number(text: str, printed: bool) -> float:
        return float(text.replace(decimal, ".")) if decimal != "." else float(text)

    def moment(text: str, printed: bool) -> float:
        ways = [datetime.fromisoformat]
        if date_format is not None:
            ways.insert(1 if printed else 0, lambda text: datetime.strptime(text, date_format))
        try:
            found = ways[0](text)
        except ValueError:
            found = ways[-1](text)
        if found.tzinfo:
            found = found.astimezone(UTC)
        return (found.replace(tzinfo=None) - datetime.min).total_seconds()

    return number if kind == "number" else moment


@dataclass(frozen=True, slots=True)
class Link:
    """A column of ours that says who may be whom in an earlier table."""

    column: str  # of ours
    values: LinkedValues | None  # how it meets the column of the same name; None if there is none
    apart: tuple[tuple[str, LinkedValues, str, LinkedValues, str], ...] = ()
    # (our value, how ours are related, their column, how theirs are related, their value): not both


class Linked:
    """An earlier table, seen from the columns that link it with ours."""

    def __init__(self, name: str, table: Table, links: Sequence[Link]) -> None:
        """`table`: with missing values as null."""
        self.name, self.table, self.links = name, table, tuple(links)
        wanted = [link.column for link in links if link.values]
        wanted += [theirs for link in links for _, _, theirs, _, _ in link.apart]
        self.columns = {n: table.columns[n] for n in dict.fromkeys(wanted)}
        codes = [column.codes for column in self.columns.values()]
        sizes = [max(len(column.values), 1) for column in self.columns.values()]
        if not codes:  # nothing links the two: everybody may be anybody
            codes, sizes = [np.zeros(table.rows, dtype=np.uint8)], [1]
        found = distinct(codes, sizes, table.counts, which=True)
        self.counts = found.counts  # records with each key
        self.of_key = dict(zip(self.columns, found.columns, strict=False))
        self.key_of_row = number_rows(codes, sizes)[0]
        self.words = -(-len(self.counts) // 64)
        self.cache: dict[tuple[int, str | None], Bits] = {}
        self.places: dict[str, dict[str | None, int]] = {}

    def __deepcopy__(self, memo: object) -> Linked:
        """Itself: nothing in it changes but what it remembers."""
        return self

    @property
    def everybody(self) -> Bits:
        """All keys."""
        return _packed(np.ones(len(self.counts), dtype=bool), self.words)

    def allowed(self, link: int, shown: str | None) -> Bits:
        """The keys that a shown value of one of our columns allows."""
        asked = (link, shown)
        if asked not in self.cache:
            self.cache[asked] = self._allowed(self.links[link], shown)
        return self.cache[asked]

    def _allowed(self, link: Link, shown: str | None) -> Bits:
        ok = np.ones(len(self.counts), dtype=bool)
        if isinstance(link.values, Plain) and shown != link.values.hidden[0]:
            ok &= self._equal(link.column, shown, link.values.hidden[1])
        elif link.values:
            meet = link.values.meet
            ok &= self._where(link.column, lambda their: meet(shown, their))
        for value, ours, column, theirs, listed in link.apart:
            if ours.within(shown, value):
                ok &= ~self._where(column, lambda their, t=theirs, at=listed: t.within(their, at))  # type: ignore[misc]
        return _packed(ok, self.words)

    def _equal(self, column: str, shown: str | None, hidden: str) -> NDArray[np.bool_]:
        """The same without asking about every value: thousands may stand on either side."""
        if column not in self.places:
            texts = self.columns[column].texts()
            self.places[column] = {text: code for code, text in enumerate(texts)}
        place, codes = self.places[column], self.of_key[column]
        wanted = [place[text] for text in (shown, hidden) if text in place]
        found: NDArray[np.bool_] = np.isin(codes, wanted)
        return found

    def _where(self, column: str, test: Callable[[str | None], bool]) -> NDArray[np.bool_]:
        told = np.array([test(text) for text in self.columns[column].texts()], dtype=bool)
        found: NDArray[np.bool_] = told[self.of_key[column]]
        return found

    def sets(
        self, texts: Sequence[Sequence[str | None]], rows: Sequence[Codes]
    ) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """What each row of our linking columns allows, link by link: which of the sets of keys.

        `texts`: what the codes of each column say.
        """
        every: list[Bits] = []
        numbers = []
        for link, (said, codes) in enumerate(zip(texts, rows, strict=True)):
            numbers.append(len(every) + np.asarray(codes, dtype=np.int64))
            every += [self.allowed(link, text or None) for text in said]
        return np.stack(numbers, axis=1), np.stack(every)

    def unknown(self) -> Mapping[str, list[str]]:
        """Values of theirs that a column's taxonomy or intervals do not know."""
        found: dict[str, list[str]] = {}
        for link in self.links:
            if link.values:
                texts = self.columns[link.column].texts()
                odd = [text for text in texts if not link.values.knows(text)]
                if odd:
                    found[link.column] = [str(text) for text in odd]
        return found


def _packed(flags: NDArray[np.bool_], words: int) -> Bits:
    padded = np.zeros(words * 64, dtype=bool)
    padded[: len(flags)] = flags
    return np.packbits(padded, bitorder="little").view(np.uint64)


def keys_in(bits: Bits, count: int) -> NDArray[np.int64]:
    """The numbers of the keys in a set."""
    return np.flatnonzero(np.unpackbits(bits.view(np.uint8), bitorder="little")[:count])


def number_rows(columns: Sequence[Codes], sizes: Sequence[int]) -> tuple[NDArray[np.int64], int]:
    """Number the distinct rows of some columns in ascending order; also how many there are.

    >>> number_rows([np.array([1, 0, 1]), np.array([2, 0, 2])], [2, 3])[0].tolist()
    [1, 0, 1]
    """
    number = columns[0].astype(np.int64)
    count = int(sizes[0])
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        if count * int(size) >= 2**62:
            _, number = np.unique(number, return_inverse=True)
            count = int(number.max(initial=-1)) + 1
        number = number * int(size) + column
        count *= int(size)
    if count > 4 * len(number) + 1024:
        found, number = np.unique(number, return_inverse=True)
        return number.astype(np.int64), len(found)
    held = np.zeros(count, dtype=bool)
    held[number] = True
    place = np.cumsum(held) - 1
    return place[number], int(held.sum())
