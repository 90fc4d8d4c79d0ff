"""Rules that give a hidden entry back, and how strong each of them is in what is published.

A rule of a person whose entry is hidden: some of that person's visible conditions, followed by the
true value of the entry. It is unsafe if more than `min_support` of the records that fit it show
that value, and these are more than `min_confidence` of all that fit it. There are 2^m - 1 patterns
of a person; only those that enough records with the value fit are ever looked at, depth first, on
the distinct sets of columns in which records are like that person.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.data.collapse import ascending, distinct
from reticent.suppress.entries import fitting, matching
from reticent.suppress.sets import GaveUp, Ints, Mask, plain_share

Codes = NDArray[np.int32]
MOST_COLUMNS = 62  # sets of them are bits of a word
_BUDGET = 20_000_000_000  # entries of lists looked at: about half a minute on two cores
_A_PERSON = 2_000_000_000  # of these: 3^15 are 14 million
_MOST_RULES = 5_000_000  # unsafe ones, of one person or of all
_WAITING = 1_000_000  # that are put together before any are looked up among those found
_MOST_PAIRS = 300_000_000  # of a rule and a kind of records that fits it
_THREADS = 2
_TABLE = 15  # columns whose sets all have a place in a table
_AT_ONCE = 16  # people whom a thread compares with all rows
_ROWS = 1 << 17  # compared with all rules at a time: Ctrl-C is heard only in between


@dataclass(frozen=True, slots=True)
class RuleLimits:
    """What a rule may reach before it tells too much."""

    min_support: int
    min_confidence: Fraction
    max_pattern: int | None = None  # conditions that a rule has at most

    def share(self, records: int) -> tuple[int, int]:
        """The confidence as two numbers whose products with counts stay small."""
        return plain_share(self.min_confidence, records)


@dataclass(slots=True)
class EntryTable:
    """A table as it is published so far; people who asked have no value."""

    conditions: Codes  # a row a record, a column a condition; -1: hidden
    values: Codes  # what the sensitive column shows; -1: hidden
    truth: Codes  # what it held
    asked: Mask  # whose entry is to be protected

    @property
    def records(self) -> int:
        """How many there are."""
        return len(self.values)

    @property
    def columns(self) -> int:
        """How many conditions; the sensitive column goes by this number."""
        return int(self.conditions.shape[1])

    def hide(self, records: Ints, column: int) -> None:
        """Take entries of one column away."""
        if column == self.columns:
            self.values[records] = -1
        else:
            self.conditions[records, column] = -1


@dataclass(slots=True)
class KnownRules:
    """Rules, and what is counted of them."""

    patterns: Codes  # a row a rule; -1: says nothing of that column
    values: Codes
    numbers: Ints  # a row a rule: who fits it, who fits it and shows its value, who is exposed
    least: int
    over: int
    under: int
    tree: fitting.RuleTree | None = None
    unsafe: Mask = field(init=False)  # which of them tell too much about somebody

    def __post_init__(self) -> None:
        """Judge them, once: whatever changes a few numbers later judges these rules anew."""
        fit, own, exposed = self.numbers.T
        self.unsafe = (exposed > 0) & (own > self.least) & (own * self.under > self.over * fit)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def limits(self) -> tuple[int, int, int]:
        """What the compiled loops judge by."""
        return self.least, self.over, self.under

    @property
    def ways(self) -> fitting.RuleTree:
        """The tree of their patterns, which is grown when somebody asks for it."""
        if self.tree is None:
            self.tree = fitting.tree(self.patterns, self.values)
        return self.tree

    def too_many(self, some: NDArray[np.integer[Any]]) -> Ints:
        """How many records must not show the value any more, for each of some to be safe."""
        fit, own, _ = self.numbers[some].T
        found: Ints = own - np.maximum(self.over * fit // self.under, self.least)
        return np.maximum(found, 0)

    def too_alike(self, some: NDArray[np.integer[Any]]) -> Ints:
        """How many records with the value must not fit it any more: the papers' MinHide.

        >>> rules = KnownRules(np.zeros((1, 1), np.int32), np.zeros(1, np.int32),
        ...               np.array([[7, 5, 1]]), 0, 11, 20)
        >>> rules.too_alike(np.array([0])), rules.too_many(np.array([0]))
        (array([3]), array([2]))
        """
        fit, own, _ = self.numbers[some].T
        needed = -((self.over * fit - own * self.under) // max(self.under - self.over, 1))
        found: Ints = np.maximum(np.minimum(needed, own - self.least), 0)
        return found

    def of(self, rows: Codes, values: Codes) -> tuple[Ints, NDArray[np.int32]]:
        """For each row the rules of its value that it fits."""
        begins, rules, ends = [np.zeros(1, np.int64)], [np.zeros(0, np.int32)], 0
        for start in range(0, len(rows), _ROWS):
            part = slice(start, start + _ROWS)
            first, some = fitting.fitting(self.ways, len(self), rows[part], values[part])
            begins.append(first[1:] + ends)
            rules.append(some)
            ends += len(some)
            if ends > _MOST_PAIRS:
                raise GaveUp
        return np.concatenate(begins), np.concatenate(rules)

    def change(
        self, row: Codes, value: int, secret: int, column: int, times: int
    ) -> NDArray[np.int32]:
        """Count an entry of a record `times` more often; the rules that changed sides.

        `row`, `value`: the record with that entry; `secret`: its hidden value, or -1.
        """
        found: NDArray[np.int32] = fitting.change(
            self.ways, self.patterns, self.numbers, self.unsafe, row, value, secret, column, times,
            self.limits,
        )  # fmt: skip
        return found

    def some(self, which: Mask) -> KnownRules:
        """Those for which the mask says so."""
        return KnownRules(
            self.patterns[which], self.values[which], self.numbers[which], self.least, self.over,
            self.under,
        )  # fmt: skip

    def but_not(self, others: KnownRules) -> KnownRules:
        """Those that are not among others."""
        return self.some(~fitting.among(others.ways, self.patterns, self.values))

    def and_also(self, more: KnownRules) -> KnownRules:
        """These, then others."""
        if not len(more):
            return self
        return KnownRules(
            np.concatenate([self.patterns, more.patterns]),
            np.concatenate([self.values, more.values]),
            np.concatenate([self.numbers, more.numbers]), self.least, self.over, self.under,
        )  # fmt: skip

    @property
    def masks(self) -> Ints:
        """The columns of each rule, as bits."""
        bits = np.int64(1) << np.arange(self.patterns.shape[1])
        found: Ints = ((self.patterns >= 0) * bits).sum(axis=1)
        return found


def find(table: EntryTable, limits: RuleLimits) -> KnownRules:
    """The unsafe rules of a table, by the value that they point to, then by their codes."""
    over, under = limits.share(table.records)
    limits = replace(limits, min_support=min(limits.min_support, table.records))
    people = _people(table)
    nothing = _Found(np.zeros((0, table.columns + 1), np.int32), np.zeros((0, 2), np.int64))
    found = _search(table, people, limits, over, under) if len(people) else nothing
    exposed = np.zeros((len(found.spelt), 1), np.int64)
    rules = KnownRules(
        np.ascontiguousarray(found.spelt[:, 1:]), found.spelt[:, 0].copy(),
        np.concatenate([found.counts, exposed], axis=1), limits.min_support, over, under,
    )  # fmt: skip
    rules.numbers[:, 2] = _exposed(table, rules)
    return replace(rules)  # judged anew, now that it is known whom they expose


@dataclass(frozen=True, slots=True)
class _Found:
    """Rules on their way."""

    spelt: Codes  # a row a rule: its value, then its codes
    counts: Ints

    def __len__(self) -> int:
        return len(self.spelt)

    @classmethod
    def spell(cls, person: Codes, out: Ints) -> _Found:
        """Patterns of one person, with their codes instead of bits."""
        bits = out[:, :1] >> np.arange(len(person) - 1) & 1
        spelt = np.empty((len(out), len(person)), np.int32)
        spelt[:, 0], spelt[:, 1:] = person[0], np.where(bits == 1, person[1:], np.int32(-1))
        return cls(spelt, out[:, 1:].copy())

    def joined(self, others: Sequence[_Found]) -> _Found:
        """These and others, ascending, each once; people may share them."""
        spelt = np.concatenate([self.spelt, *(other.spelt for other in others)])
        counts = np.concatenate([self.counts, *(other.counts for other in others)])
        first = _once(spelt)
        return _Found(spelt[first], counts[first])


def _people(table: EntryTable) -> Codes:
    """The different people who asked: their value, then their conditions."""
    who = np.column_stack([table.truth[table.asked], table.conditions[table.asked]])
    return who[_once(who)] if len(who) else who


def _once(rows: Codes) -> Ints:
    """Where each different row stands, by its codes."""
    columns = [rows[:, j] + 1 for j in range(rows.shape[1])]
    found = distinct(columns, [int(column.max(initial=0)) + 1 for column in columns], which=True)
    assert found.rows is not None
    return found.rows


def _search(table: EntryTable, people: Codes, limits: RuleLimits, over: int, under: int) -> _Found:
    """All unsafe rules, each once."""
    width = table.columns
    cells = [*(table.conditions[:, j] + 1 for j in range(width)), table.values + 1]
    rows = distinct(cells, [int(cell.max(initial=0)) + 1 for cell in cells])
    columns = np.ascontiguousarray(np.stack(rows.columns[:width]).astype(np.int32) - 1)
    values = (rows.columns[width] - 1).astype(np.int32)
    most = width if limits.max_pattern is None else min(limits.max_pattern, width)

    def ask(some: Codes) -> list[tuple[_Found, int]]:
        found = []
        for person, alike in zip(some, _alike(columns, values, rows.counts, some), strict=True):
            room = 1 << 12
            while True:
                out = np.empty((min(room, _MOST_RULES), 3), np.int64)
                count, work = matching.strong_patterns(
                    *alike, width, limits.min_support, over, under, most, _A_PERSON, out
                )
                if count != matching.FULL:
                    break
                if room >= _MOST_RULES:
                    raise GaveUp
                room *= 8
            if count == matching.SPENT:
                raise GaveUp
            found.append((_Found.spell(person, out[:count]), work))
        return found

    found, waiting, left = _Found.spell(people[0], np.zeros((0, 3), np.int64)), [], _BUDGET
    with ThreadPoolExecutor(_THREADS) as pool:
        starts = range(0, len(people), _AT_ONCE)
        asked = [pool.submit(ask, people[at : at + _AT_ONCE]) for at in starts]
        try:
            # The budget is spent in the order of people: whichever thread is first, it ends alike.
            for one in asked:
                for rules, work in one.result():
                    left -= work
                    waiting.append(rules)
                    if sum(map(len, waiting)) > max(_WAITING, len(found)):
                        found, waiting = found.joined(waiting), []
                    if left < 0 or len(found) > _MOST_RULES:
                        raise GaveUp
        finally:
            for one in asked:
                one.cancel()
    found = found.joined(waiting)
    if len(found) > _MOST_RULES:
        raise GaveUp
    return found


def _alike(
    columns: Codes, values: Codes, counts: Ints, people: Codes
) -> Iterator[tuple[Ints, Ints, Ints]]:
    """For each person the sets of columns in which rows are like that person, and how many are."""
    width = len(columns)
    if width > _TABLE:
        for person in people:
            yield matching.alike(columns, values, counts, person[1:], person[0])
        return
    tables = np.zeros((len(people), 2 << width), np.int64)
    matching.tallied(columns, values, counts, people[:, 1:], people[:, 0], tables)
    for table in tables.reshape(len(people), -1, 2):
        every = table.sum(axis=1)
        every[0] = 0  # those who are not like that person at all
        held = np.flatnonzero(every)
        yield held, every[held], table[held, 1]


def _exposed(table: EntryTable, rules: KnownRules) -> Ints:
    """How many people who asked have the conditions of each rule, and its value."""
    _, some = rules.of(table.conditions[table.asked], table.truth[table.asked])
    return np.bincount(some, minlength=len(rules))


def concerned(rules: KnownRules, table: EntryTable) -> Mask:
    """Which records that show their value fit an unsafe rule that points to it."""
    found, ways = np.zeros(table.records, np.bool_), rules.some(rules.unsafe).ways
    for start in range(0, table.records, _ROWS):
        part = slice(start, start + _ROWS)
        found[part] = fitting.concerned(ways, table.conditions[part], table.values[part])
    return found


def recounted(rules: KnownRules, table: EntryTable) -> KnownRules:
    """The same rules, counted on another table."""
    order, begins = grouped([*table.conditions.T, table.values])
    first, sizes = order[begins[:-1]], np.diff(begins)
    numbers = np.zeros((len(rules), 3), np.int64)
    for start in range(0, len(first), _ROWS):
        some = first[start : start + _ROWS]
        fitting.counted(
            rules.ways, rules.values, table.conditions[some], table.values[some],
            sizes[start : start + _ROWS], numbers,
        )  # fmt: skip
    numbers[:, 2] = _exposed(table, rules)
    return replace(rules, numbers=numbers)


def grouped(columns: Sequence[NDArray[np.integer[Any]]]) -> tuple[Ints, Ints]:
    """Rows by equal cells: an order, and where each group begins in it; in a group by row."""
    cells = [column.astype(np.int64) + 1 for column in columns]
    sizes = [int(cell.max(initial=0)) + 1 for cell in cells]
    order = ascending(cells, sizes)
    new = np.zeros(len(order), np.bool_)
    new[:1] = True
    for cell in cells:
        ordered = cell[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    group = np.cumsum(new) - 1
    order = order[np.lexsort([order, group])]
    return order, np.append(np.flatnonzero(new), len(order))
