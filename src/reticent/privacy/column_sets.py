"""What singles people out: every set of up to three columns, and how many records it tells apart.

A set of columns singles out a record that no other record equals in all of them. It is *minimal* if
it singles out somebody and none of its proper subsets singles out as many: each of its columns
counts, so taking one away, or making it coarser, helps. (For sets that tell everybody apart this is
a minimal key. Minimal sample uniques, of SUDA, are about one record each; here the set is what a
steward can change.) Cells are compared as they print; a missing one is a value of its own.

A pair is counted by sorting rows that are in order of one column by the other, a third column by
what it adds to runs of equal rows: about 20 and 5 ms a million rows. Rows that stand alone already
are left out. What all sets would cost is known after the pairs; where that is more than `_WORK`,
sets are those of the columns with the most values, as many of these as can be counted, and the
result says so. The number of steps decides that, never the time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import wait
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.data import memory
from reticent.data.columns import Column, Counts, without_missing
from reticent.privacy.column_set_loops import alone_in_runs, placed, runs_of_two

LISTED = 50  # sets
_WORK = 10_000_000_000  # rows looked at: less than a minute on two processors
_A_PAIR = 5  # looks at a row that counting a pair takes
_A_CALL = 4_000  # looks that take as long as going to and fro for one set
_THREADS = 2
_PATIENCE = 0.2  # seconds between two words about how far it is


@dataclass(frozen=True, slots=True)
class CountedColumn:
    """What one column tells."""

    name: str
    distinct: int  # values, without the missing one
    missing: int  # records
    unique_rows: int  # records whose value nobody else has


@dataclass(frozen=True, slots=True)
class CountedSet:
    """What a set of columns tells."""

    columns: tuple[str, ...]
    unique_rows: int  # records that no other equals in these columns
    groups: int
    minimal: bool


@dataclass(frozen=True, slots=True)
class ColumnSets:
    """The columns of a table, and its sets of columns that single out most."""

    rows: int
    columns: tuple[CountedColumn, ...]
    sets: tuple[CountedSet, ...]  # at most `LISTED`, those that single out most first
    minimal: tuple[CountedSet, ...]  # the same of those that are minimal
    pairs_of: int  # of so many columns, those with the most values, all pairs were counted,
    triples_of: int  # and of so many all sets of three

    @property
    def whole(self) -> bool:
        """Whether every set was counted."""
        return min(self.pairs_of, self.triples_of) == len(self.columns)


def column_sets(
    columns: Mapping[str, Column],
    rows: int,
    counts: Counts | None = None,
    *,
    keys: Mapping[str, int] | None = None,
    order: Sequence[str] = (),
    told: Callable[[int, int], None] = lambda done, of: None,
    stop: Callable[[], bool] = lambda: False,
    work: int = _WORK,
) -> ColumnSets:
    """Count them all; `counts`: how many records each row stands for, if not one.

    `keys` are further columns, in which no two records are equal: nothing is left to be counted of
    the sets they are in, so it is enough to know how many records miss a value of each. `order`:
    all columns in the order of the table, if there are any. `told` hears how many looks at rows are
    done, and of how many.
    """
    keys, order = keys or {}, order or [*columns]
    known = {name: without_missing(column) for name, column in columns.items()}
    at = [order.index(name) for name in known]
    ranked = _Ranked.of(list(known.values()), at, rows, counts)
    pairs_of = ranked.affordable_pairs(work // 2)
    plan = _Counting(ranked, pairs_of, told, stop)
    triples_of = pairs_of
    if _triples(pairs_of) * max(rows, _A_CALL) > work:
        plan.count(pairs_of, 0)
        triples_of = plan.affordable_triples(work)
    plan.count(pairs_of, triples_of)
    records = rows if counts is None else int(counts.sum())
    told_of = {c.name: _told_of(known[c.name], c, counts) for c in ranked}
    for name, missing in keys.items():
        told_of[name] = CountedColumn(name, records - missing, missing, records)
    found = plan.tallies(order)
    found.add_keys([order.index(name) for name in keys], records)
    return ColumnSets(
        records, tuple(told_of[name] for name in order), found.best(), found.best(minimal=True),
        pairs_of + len(keys), triples_of + len(keys),
    )  # fmt: skip


def _triples(columns: int) -> int:
    return columns * (columns - 1) * (columns - 2) // 6


@dataclass(frozen=True, slots=True)
class _Coded:
    """A column as it is counted."""

    name: str
    at: int  # its place in the table
    codes: NDArray[np.unsignedinteger[Any]]
    starts: NDArray[np.int64]  # of each value among rows in its order; -1 if one record has it
    groups: int
    alone: int  # records whose value nobody else has

    @classmethod
    def of(cls, at: int, column: Column, counts: Counts | None) -> _Coded:
        codes, size = column.codes, len(column.values)
        rows = np.bincount(codes, minlength=size)
        many = rows > 1
        if counts is not None:
            many |= np.bincount(codes[counts > 1], minlength=size) > 0
        repeated = np.where(many, rows, 0)
        starts = np.where(many, np.cumsum(repeated) - repeated, -1)
        return cls(column.name, at, codes, starts, size, size - int(many.sum()))

    @property
    def repeated(self) -> int:
        """Rows whose value is that of some other record."""
        return len(self.codes) - self.alone

    def in_order(self, kind: Any) -> NDArray[Any]:
        """The rows that do not stand alone, in the order of their values."""
        into = memory.empty(len(self.codes), kind)
        return into[: placed(self.codes, self.starts.copy(), into)]


class _Ranked(tuple[_Coded, ...]):
    """Columns, those with the most values first."""

    several: NDArray[np.bool_]
    rows: int

    @classmethod
    def of(
        cls, columns: Sequence[Column], at: Sequence[int], rows: int, counts: Counts | None
    ) -> _Ranked:
        coded = [_Coded.of(i, column, counts) for i, column in zip(at, columns, strict=True)]
        found = cls(sorted(coded, key=lambda c: (-c.groups, c.at)))
        found.several = np.zeros(0, np.bool_) if counts is None else np.asarray(counts > 1)
        found.rows = rows
        return found

    def affordable_pairs(self, work: int) -> int:
        """Of how many columns all pairs can be counted."""
        left, count = work, 0
        for i in range(len(self)):
            each = [_A_PAIR * max(column.repeated, _A_CALL) for column in self[:i]]
            left -= sum(each)
            if left < 0:
                break
            count = i + 1
        return count


@dataclass(slots=True)
class _Tallies:
    """Sets by the places of their columns, with what was counted of each."""

    names: Sequence[str]
    keys: list[NDArray[np.int64]] = field(default_factory=list)  # n × 3 places, -1 where none is
    alone: list[NDArray[np.int64]] = field(default_factory=list)
    groups: list[NDArray[np.int64]] = field(default_factory=list)
    minimal: list[NDArray[np.bool_]] = field(default_factory=list)

    def add(self, keys: Any, alone: Any, groups: Any, best_below: Any) -> None:
        """Some sets of one size; `best_below`: the most that a proper subset of each tells."""
        places = np.sort(np.asarray(keys, np.int64).reshape(len(alone), -1), axis=1)
        wide = np.full((len(places), 3), -1, np.int64)
        wide[:, : places.shape[1]] = places
        told = np.asarray(alone, np.int64)
        self.keys.append(wide)
        self.alone.append(told)
        self.groups.append(np.asarray(groups, np.int64))
        self.minimal.append(told > np.asarray(best_below, np.int64))

    def add_keys(self, places: Sequence[int], records: int) -> None:
        """All sets with a column in which no two records are equal, as far as one may be listed.

        They all tell everybody apart, so the smaller ones come first.
        """
        every, found = range(len(self.names)), 0
        for size in (1, 2, 3):
            if places and found < LISTED:
                sets = [s for s in combinations(every, size) if not {*s}.isdisjoint(places)]
                same = [records] * len(sets)
                self.add(sets, same, same, [0 if size == 1 else records] * len(sets))
                found += len(sets)

    def best(self, *, minimal: bool = False) -> tuple[CountedSet, ...]:
        """Those that single out most records, then the smaller, then in the order of columns."""
        keys, alone = np.concatenate(self.keys), np.concatenate(self.alone)
        groups, marks = np.concatenate(self.groups), np.concatenate(self.minimal)
        wanted = np.flatnonzero((alone > 0) & marks if minimal else alone > 0)
        if len(wanted) > LISTED:
            least = np.partition(alone[wanted], -LISTED)[-LISTED]
            wanted = wanted[alone[wanted] >= least]
        some = keys[wanted]
        size = (some >= 0).sum(axis=1)
        order = np.lexsort((some[:, 2], some[:, 1], some[:, 0], size, -alone[wanted]))
        return tuple(
            CountedSet(
                tuple(self.names[place] for place in keys[i] if place >= 0),
                int(alone[i]), int(groups[i]), bool(marks[i]),
            )
            for i in wanted[order[:LISTED]].tolist()
        )  # fmt: skip


class _Counting:
    """Pairs and sets of three, counted column by column."""

    def __init__(
        self,
        columns: _Ranked,
        pairs_of: int,
        told: Callable[[int, int], None],
        stop: Callable[[], bool],
    ) -> None:
        self.columns, self.told, self.stop = columns, told, stop
        shape = (pairs_of, pairs_of)
        self.alone, self.groups, self.left = (np.zeros(shape, np.int64) for _ in range(3))
        self.triples: dict[tuple[int, int], tuple[NDArray[np.int64], NDArray[np.int64]]] = {}
        self.kind = np.uint32 if columns.rows < 2**32 else np.int64
        self.done = 0

    def count(self, pairs_of: int, triples_of: int) -> None:
        """All pairs of the first so many columns, and all sets of three of the first so many."""
        due = sum(
            _A_PAIR * max(self.columns[i].repeated, _A_CALL) * (pairs_of - i - 1)
            for i in range(pairs_of)
        )
        due += _triples(triples_of) * max(self.columns.rows, _A_CALL)
        self.done = 0
        firsts = partial(self._with_first, pairs_of, triples_of)
        if memory.is_mapped() or self.columns.rows < _A_CALL:
            for i in range(pairs_of - 1):
                firsts(i)
                self.told(min(self.done, due), due)
            return
        pool = memory.Threads(_THREADS)
        try:
            for one in [pool.submit(firsts, i) for i in range(pairs_of - 1)]:
                while not one.done():
                    wait([one], _PATIENCE)
                    self.told(min(self.done, due), due)
                one.result()
        except BaseException:
            self.stop = lambda: True  # or threads would go on counting
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def affordable_triples(self, work: int) -> int:
        """Of how many columns all sets of three can be counted, the pairs being known."""
        left, count = work, 0
        for k in range(len(self.left)):
            left -= int(np.maximum(np.triu(self.left[:k, :k], 1), 0).sum())
            left -= _A_CALL * (k * (k - 1) // 2)
            if left < 0:
                break
            count = k + 1
        return count

    def _with_first(self, pairs_of: int, triples_of: int, i: int) -> None:
        """All sets whose first column is this one, but for the column itself."""
        columns, first = self.columns, self.columns[i]
        rows = first.in_order(self.kind)
        into = memory.empty(columns.rows, self.kind)  # the second column's places are of all rows
        ends = memory.empty(len(rows), np.int64)
        for j in range(i + 1, pairs_of):
            if self.stop():
                return
            second = columns[j]
            alone, kept, runs = runs_of_two(
                rows, first.codes, second.codes, second.starts, second.starts.copy(),
                columns.several, into, ends,
            )  # fmt: skip
            self.alone[i, j] = first.alone + alone
            self.groups[i, j] = first.alone + alone + runs
            self.left[i, j] = kept
            self.done += _A_PAIR * max(first.repeated, _A_CALL)
            if j < triples_of - 1:
                self._thirds(i, j, triples_of, (into[:kept], ends, runs))
                self.done += (triples_of - j - 1) * max(columns.rows, _A_CALL)

    def _thirds(self, i: int, j: int, last: int, runs: tuple[Any, Any, int]) -> None:
        before, others = int(self.alone[i, j]), range(j + 1, last)
        alone = np.full(len(others), before, np.int64)
        groups = alone.copy()
        for at, k in enumerate(others):
            if not runs[2]:
                break
            if self.stop():
                return
            third = self.columns[k]
            if third.groups == 1:  # as all that follow; the same value everywhere adds nothing
                groups[at:] = self.groups[i, j]
                break
            seen = np.zeros(third.groups, np.int64)
            more, parts = alone_in_runs(*runs, third.codes, self.columns.several, seen)
            alone[at] += more
            groups[at] += parts
        if alone.any():  # nobody asks for sets that single nobody out
            self.triples[i, j] = (alone, groups)

    def tallies(self, names: Sequence[str]) -> _Tallies:
        """All that was counted."""
        found = _Tallies(names)
        columns, at = self.columns, np.array([c.at for c in self.columns])
        single = np.array([c.alone for c in columns])
        found.add(at, single, [c.groups for c in columns], np.zeros(len(at)))
        if len(self.alone) > 1:
            i, j = np.triu_indices(len(self.alone), 1)
            below = np.maximum(single[i], single[j])
            found.add(np.stack([at[i], at[j]], 1), self.alone[i, j], self.groups[i, j], below)
        for (first, second), (alone, groups) in self.triples.items():
            k = np.arange(second + 1, second + 1 + len(alone))
            below = np.maximum(self.alone[first, k], self.alone[second, k])
            below = np.maximum(below, self.alone[first, second])
            places = np.broadcast_to(at[[first, second]], (len(k), 2))
            found.add(np.column_stack([places, at[k]]), alone, groups, below)
        return found


def _told_of(column: Column, coded: _Coded, counts: Counts | None) -> CountedColumn:
    gap, missing = column.missing, 0
    if gap is not None:
        here = column.codes == gap
        missing = int(here.sum() if counts is None else counts[here].sum())
    return CountedColumn(column.name, coded.groups - (gap is not None), missing, coded.alone)
