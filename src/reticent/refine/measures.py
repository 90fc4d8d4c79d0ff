"""What a refinement does to each promise, from counts kept group by group.

This is the seam *what is measured*: the loop asks a measure what every candidate would leave of
its promise and tells it what was revealed; whether the groups behind it are those of one table or
of several, linked, is the measure's own business.

In one table (of several see `WithPrevious`), splitting a group can only make the smallest part
smaller and the largest confidence larger, so each candidate keeps a running extreme: only
groups that changed are looked at again, and a candidate that breaks a promise once breaks it for
good (the promise is anti-monotone).

    paper          here
    A(X), C(X)     Measure.value      the promise's value on the table as shown now
    A_v(X)         over[v]            its value if v were refined, where that is below A(X)
    C_v(X)         over[v]/under[v]   its value if v were refined, where that is above C(X)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.data import memory
from reticent.data.collapse import Codes, Distinct, distinct, fit_one_word
from reticent.data.memory import Threads
from reticent.privacy.promises import Anonymity, Confidence, Promise
from reticent.refine import kernels
from reticent.refine.cuts import Cuts, Reveal

Slots = NDArray[np.int64]
_UNSEEN = np.iinfo(np.int64).max
TWO_THREADS = 50_000  # rows in a step from which on a second thread pays


@dataclass(frozen=True, slots=True)
class Forecast:
    """What some candidates would make of one promise."""

    breaks: NDArray[np.bool_]
    over: NDArray[np.int64]  # the value; of a confidence, its numerator
    under: NDArray[np.int64] | None = None

    def value(self, i: int) -> int | Fraction:
        """What the candidate at position `i` would leave of it."""
        over = int(self.over[i])
        return over if self.under is None else Fraction(over, int(self.under[i]))


class Measure(ABC):
    """What the loop needs to know about one promise."""

    promise: Promise
    attributes: frozenset[int]  # the columns of its `over`
    heeds: frozenset[int]  # the columns whose refinement may change it
    records: int
    cells: int  # how much there is to count at most: rows times columns
    lasting = True  # whether a candidate that breaks it once breaks it for good
    value: int | Fraction  # the promise's value on the table as shown now
    over: NDArray[np.int64]  # by candidate, its value after that; of a confidence, its numerator,
    under: NDArray[np.int64] | None = None  # and its denominator

    def holds(self, promise: Promise | None = None) -> bool:
        """Whether the table as shown now keeps it, or the same with another threshold."""
        return (promise or self.promise).kept_with(self.value)

    def valid(self, slots: Slots, promise: Promise | None = None) -> NDArray[np.bool_]:
        """Which candidates would keep it, or the same promise with another threshold."""
        asked = promise or self.promise
        if isinstance(asked, Anonymity):
            return np.asarray(self.over[slots] >= asked.k)
        assert self.under is not None
        return ~exceed(self.over[slots], self.under[slots], asked.at_most)

    def loss(self, slots: Slots) -> NDArray[np.float64]:
        """A(X) - A_v(X) or C_v(X) - C(X): what each candidate would take away; never negative."""
        lost = self._after(slots) - float(self.value)
        return np.maximum(-lost if isinstance(self.promise, Anonymity) else lost, 0.0)

    def bits(self, slots: Slots) -> NDArray[np.float64]:
        """The same as a factor, in bits: 1 halves the smallest group or doubles a confidence.

        What was nothing at all counts as half a record.
        """
        anonymity = isinstance(self.promise, Anonymity)
        least = 0.5 if anonymity else 1 / (2 * self.records)
        before = np.log2(max(float(self.value), least))
        after = np.log2(np.maximum(self._after(slots), least))
        return np.asarray(np.maximum(before - after if anonymity else after - before, 0.0))

    def _after(self, slots: Slots) -> NDArray[np.float64]:
        over = self.over[slots].astype(np.float64)
        return over if self.under is None else over / self.under[slots]

    def forecast(self, slots: Slots) -> Forecast:
        """What candidates would make of it; of those ruled out, as it was when they were."""
        under = None if self.under is None else self.under[slots]
        return Forecast(~self.valid(slots), self.over[slots], under)

    def recall(self, slots: Slots, forecast: Forecast) -> None:
        """Go back to an earlier forecast for candidates that nobody counts any more."""
        self.over[slots] = forecast.over
        if self.under is not None and forecast.under is not None:
            self.under[slots] = forecast.under

    @abstractmethod
    def begin(self) -> None:
        """Look at every candidate for the first time."""

    def forget(self, reveal: Reveal) -> None:  # noqa: B027 - not all have something to do
        """Hear of a refinement that is about to be performed."""

    @abstractmethod
    def reveal(self, reveal: Reveal) -> None:
        """Hear of a refinement that `cuts` already shows."""


def exceed(over: Slots, under: Slots, most: Fraction) -> NDArray[np.bool_]:
    """Which fractions, none of them above 1, exceed a bound, decided in integers."""
    if most.denominator < 2**31 and under.max(initial=0) < 2**31:  # products stay below 2**62
        return np.asarray(over * most.denominator > under * most.numerator)
    share = over / under  # rounded ones only shortlist
    above = share > float(most)
    for i in np.flatnonzero(np.abs(share - float(most)) < 1e-9).tolist():
        above[i] = int(over[i]) * most.denominator > int(under[i]) * most.numerator
    return np.asarray(above)


class Groups:
    """The groups of equal shown values over some columns, as runs of collapsed rows.

    Columns of other owners stand in no row: groups are split by them as others tell, record by
    record. So with such columns in the table every record is a row, and its number goes with it.
    """

    def __init__(
        self,
        cuts: Cuts,
        attributes: Sequence[int],
        marks: Codes | None = None,
        mark_count: int = 0,
        *,
        most: int | None = None,
    ) -> None:
        """`most`: of more records than that, take so many evenly spaced ones in their order."""
        self.cuts = cuts
        self.attributes = own = tuple(a for a in attributes if a < len(cuts.domains))
        domains = [cuts.domains[a] for a in own]
        columns: list[Codes] = [domain.codes for domain in domains]
        sizes = [domain.size for domain in domains]
        marked = marks is not None
        if marks is not None:  # marks lead, so that rows of the one first group ascend in them
            columns, sizes = [marks, *columns], [mark_count + 1, *sizes]
        if cuts.foreign:
            found = _each_record(columns, len(cuts.foreign[0].shown), marked=marked)
        elif marked or fit_one_word(sizes):
            found = distinct(columns, sizes, cuts.counts)
        else:  # rows this wide are hardly ever equal, and slow to collapse: 0.15 s a million
            counts = cuts.counts
            once = np.ones(len(columns[0]), dtype=np.int64) if counts is None else counts
            found = Distinct(tuple(columns), once)
        # How much there is to count, at most: rows that can differ times columns. It is not told
        # by the rows at hand, which are fewer where equal ones are counted once already.
        records = int(found.counts.sum())
        assert most is None or not cuts.foreign  # a sample would lose the numbers of records
        most = records if most is None else min(records, most)
        self.cells = min(most, math.prod(sizes)) * len(own)
        found = _thinned(found, most)
        codes = found.columns[1:] if marked else found.columns
        kept = () if found.rows is None else (found.rows,)  # the column after all others
        kind = np.uint16 if max(cuts.none, len(kept) and records) < 2**16 else np.uint32
        whole_words = 8 // np.dtype(kind).itemsize
        padded = -(-(len(own) + len(kept)) // whole_words) * whole_words
        self.rows = memory.full((len(found.counts), padded), 0, kind)
        offsets = [*(cuts.offset[attribute] for attribute in own), *(0 for _ in kept)]
        for j, (offset, column) in enumerate(zip(offsets, (*codes, *kept), strict=True)):
            np.add(column, kind(offset), out=self.rows[:, j], casting="unsafe", dtype=kind)
        count = len(self.rows)
        small = count < 2**31
        few = int(found.counts.sum()) < 2**31
        self.weights = memory.empty(count, np.int32 if few else np.int64)
        self.weights[...] = found.counts
        self.marks = memory.empty(count if marked else 0, np.int32)
        if marked:
            self.marks[...] = found.columns[0]
        self.spares = self._spares()
        self.end_of = memory.full(count, count, np.int32 if small else np.int64)
        self.starts = memory.full(count, 0, self.end_of.dtype)  # groups to look at, `found` of them
        self.ends = memory.full(count, count, self.end_of.dtype)  # where each ends
        self.found = 1  # everything is masked: one group
        self.total = count  # rows in them
        self.column = -1  # the column that is refined,
        self.foreign = -1  # and which of the foreign ones that is, if it is one
        self.scratch = scratch(cuts.none + 1, cuts.none + 1)  # tally, touched

    def _spares(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Room to sort rows in."""
        words, weights, marks = (
            memory.empty(array.shape, array.dtype)
            for array in (self.words, self.weights, self.marks)
        )
        return words, weights, marks

    def __deepcopy__(self, memo: dict[int, Any]) -> Groups:
        """The groups as they are, where there is room for them."""
        twin = copy(self)
        memo[id(self)] = twin
        twin.cuts = deepcopy(self.cuts, memo)
        for name in ("rows", "weights", "marks", "end_of", "starts", "ends"):
            setattr(twin, name, memory.copy(getattr(self, name)))
        twin.spares = twin._spares()
        twin.scratch = deepcopy(self.scratch)
        return twin

    @property
    def words(self) -> NDArray[np.uint64]:
        """The same rows as whole words: a view that a copied search must not copy apart."""
        return self.rows.view(np.uint64)

    def touch(self, reveal: Reveal) -> None:
        """Find the groups that show a value which is about to be refined."""
        self.foreign = reveal.attribute - len(self.cuts.domains)
        own = self.foreign < 0
        self.column = self.attributes.index(reveal.attribute) if own else len(self.attributes)
        self.found, self.total = kernels.list_groups(
            self.rows, self.end_of, self.column, self.showing, reveal.shown, self.starts, self.ends
        )

    @property
    def showing(self) -> NDArray[np.int64]:
        """What the cells of the refined column show; of a foreign one, what records do."""
        return self.cuts.current if self.foreign < 0 else self.cuts.foreign[self.foreign].shown

    def all_found(self) -> kernels.Scan:
        """All groups found, as they are."""
        return self.scan(0, 0, self.found, split=False)

    def scans(self, *, split: bool) -> list[kernels.Scan]:
        """Scans of the groups found: of all, or two of about equal rows for two threads."""
        cut = self.found
        if self.total >= TWO_THREADS and self.found > 1:
            cut = kernels.share(self.starts, self.ends, self.found, self.total)
        scans = [self.scan(0, 0, cut, split=split)]
        return scans if cut == self.found else [*scans, self.scan(1, cut, self.found, split=split)]

    def scan(self, thread: int, first: int, last: int, *, split: bool) -> kernels.Scan:
        """Some of the groups found, as a loop looks at them."""
        cuts, which = self.cuts, slice(first, last)
        tally, touched = self.scratch[thread]
        sizes, seen = tally, touched
        if split and self.foreign >= 0:  # its values are no slots
            shown = len(cuts.foreign[self.foreign].labels)
            sizes, seen = np.zeros((2, shown), dtype=np.int64)
        return kernels.Scan(
            self.rows, self.words, self.weights, self.marks, *self.spares, self.end_of,
            len(self.attributes), self.starts[which], self.ends[which], split, self.column,
            self.showing, cuts.current, cuts.children, cuts.live, cuts.lows, cuts.highs,
            cuts.bottoms, tally, touched, sizes, seen,
        )  # fmt: skip


def _each_record(columns: Sequence[Codes], records: int, *, marked: bool) -> Distinct:
    """Every record as a row of its own; in ascending order of marks, if those lead."""
    order = np.argsort(columns[0], kind="stable") if marked else np.arange(records)
    once = np.ones(records, dtype=np.int64)
    return Distinct(tuple(column[order] for column in columns), once, order)


def _thinned(found: Distinct, most: int) -> Distinct:
    """Evenly spaced records of collapsed rows.

    They stand in the order of their codes, so that every part of the table is there in proportion,
    and the order of the file is no matter.

    >>> rows = Distinct((np.array([0, 1, 2]),), np.array([5, 1, 6]))
    >>> thin = _thinned(rows, 4)
    >>> thin.columns[0].tolist(), thin.counts.tolist()
    ([0, 2], [2, 2])
    """
    ends = np.cumsum(found.counts)
    records = int(ends[-1]) if len(ends) else 0
    if records <= most:
        return found
    taken = (2 * np.arange(most) + 1) * records // (2 * most)
    counts = np.bincount(np.searchsorted(ends, taken, side="right"), minlength=len(ends))
    kept = counts > 0
    return Distinct(tuple(column[kept] for column in found.columns), counts[kept])


_second_thread = Threads(1)


def together(
    count: Callable[..., None], scans: Sequence[kernels.Scan], *parts: Sequence[Any]
) -> None:
    """Split what is to be split and count, with the first of each part; with the next beside it."""

    def looked_at(scan: kernels.Scan, *part: Any) -> None:
        if scan.split:
            kernels.split_groups(scan)
        count(scan, *part)

    first, *others = zip(scans, *parts, strict=False)
    beside = [_second_thread.submit(looked_at, *other) for other in others]
    looked_at(*first)
    for future in beside:
        future.result()


def scratch(*sizes: int) -> list[list[NDArray[np.int64]]]:
    """What each of two threads counts with: arrays of some sizes."""
    return [[np.zeros(size, dtype=np.int64) for size in sizes] for _ in range(2)]


class SmallestGroup(Measure):
    """Anonymity: the smallest group, in records or in distinct `of` values."""

    def __init__(
        self,
        promise: Anonymity,
        cuts: Cuts,
        attributes: Sequence[int],
        of: tuple[Codes, int] | None = None,
    ) -> None:
        self.promise: Anonymity = promise
        self.attributes = self.heeds = frozenset(attributes)
        self.groups = Groups(cuts, attributes, *(of or ()))
        self.cells = self.groups.cells
        self.records = int(self.groups.weights.sum(dtype=np.int64))
        self.value = of[1] if of else self.records
        self.over = np.full(cuts.none + 1, _UNSEEN, dtype=np.int64)
        self.scratch = scratch(*[cuts.none + 1] * (3 if of else 0))  # held, alone, latest
        self.runs = [0, 0]  # of each thread: how often it has counted distinct marks

    def begin(self) -> None:
        """Count the parts of every candidate."""
        self._scan(split=False)

    def forget(self, reveal: Reveal) -> None:
        """Find the groups that are about to be split."""
        self.groups.touch(reveal)

    def reveal(self, reveal: Reveal) -> None:
        """Split groups, and count the parts of candidates in them."""
        if reveal.told is None:
            self.value = min(self.value, int(self.over[reveal.slot]))
            if not reveal.discloses:
                self.over[list(reveal.parts)] = _UNSEEN
        self._scan(split=True)
        if reveal.told is not None:  # nobody forecast it here
            self.value = min(self.value, kernels.smallest_group(self.groups.all_found()))

    def _scan(self, *, split: bool) -> None:
        scans = self.groups.scans(split=split)
        found = [self.over, *(np.full_like(self.over, _UNSEEN) for _ in scans[1:])]
        together(self._count, scans, self.scratch, range(2), found)
        for other in found[1:]:
            np.minimum(self.over, other, out=self.over)

    def _count(
        self, scan: kernels.Scan, scratch: Any, thread: int, smallest: NDArray[np.int64]
    ) -> None:
        """Lower `smallest` to parts, in records or in distinct marks."""
        if len(self.groups.marks):
            run = kernels.scan_distinct(scan, *scratch, self.runs[thread], smallest)
            self.runs[thread] = run
        else:
            kernels.scan_records(scan, smallest)


class LargestConfidence(Measure):
    """Confidence: the largest share of one sensitive value in any group."""

    def __init__(
        self,
        promise: Confidence,
        cuts: Cuts,
        attributes: Sequence[int],
        sensitive: Sequence[tuple[Codes, int]],
        *,
        least: int = 0,
    ) -> None:
        """`sensitive`: for each sensitive column its values as marks 1, 2, …, 0 for all others.

        `least`: groups with fewer records will be left out, and do not count.
        """
        self.least = least
        self.promise: Promise = promise
        self.attributes = self.heeds = frozenset(attributes)
        self.parts = [Groups(cuts, attributes, marks, count) for marks, count in sensitive]
        self.cells = sum(groups.cells for groups in self.parts)
        slots, marks = cuts.none + 1, max(count for _, count in sensitive) + 2
        self.over = np.zeros(slots, dtype=np.int64)
        self.under: NDArray[np.int64] = np.ones(slots, dtype=np.int64)
        # Inside by slot, begins and sums by mark, waiting.
        self.scratch = scratch(slots, marks, marks, slots)
        self.value = max(map(_largest_share, self.parts))
        self.records = int(self.parts[0].weights.sum(dtype=np.int64))

    def begin(self) -> None:
        """Count the parts of every candidate."""
        for groups in self.parts:
            self._scan(groups, split=False)

    def forget(self, reveal: Reveal) -> None:
        """Find the groups that are about to be split."""
        for groups in self.parts:
            groups.touch(reveal)

    def reveal(self, reveal: Reveal) -> None:
        """Split groups, and count the parts of candidates in them."""
        if reveal.told is None:
            after = Fraction(int(self.over[reveal.slot]), int(self.under[reveal.slot]))
            self.value = max(self.value, after)
            if not reveal.discloses:
                parts = list(reveal.parts)
                self.over[parts], self.under[parts] = 0, 1
        for groups in self.parts:
            self._scan(groups, split=True)
            if reveal.told is not None:  # nobody forecast it here
                _, begins, sums, _ = self.scratch[0]
                found = kernels.largest_confidence(groups.all_found(), begins, sums)
                self.value = max(self.value, Fraction(*map(int, found)))

    def _scan(self, groups: Groups, *, split: bool) -> None:
        scans = groups.scans(split=split)
        found = [(self.over, self.under)]
        found += [(np.zeros_like(self.over), np.ones_like(self.under)) for _ in scans[1:]]

        def count(scan: kernels.Scan, scratch: Any, fraction: Any) -> None:
            kernels.scan_confidence(scan, *scratch, self.least, *fraction)

        together(count, scans, self.scratch, found)
        for over, under in found[1:]:
            larger = over * self.under > self.over * under
            self.over[larger], self.under[larger] = over[larger], under[larger]


def _largest_share(groups: Groups) -> Fraction:
    """The confidence of the most frequent sensitive value when everything is masked."""
    per_mark = np.zeros(max(int(groups.marks.max()) + 1, 2), dtype=np.int64)
    np.add.at(per_mark, groups.marks, groups.weights)
    return Fraction(int(per_mark[1:].max()), int(per_mark.sum()))


class LeavingOut(Measure):
    """Anonymity promises together, if some records may be left out for their sake.

    A record in a group that is too small will be left out, and no refinement brings it back, so
    that what is lost only grows: a candidate that loses too many loses too many for good. A record
    in small groups of two promises counts twice, and what leaving it out does to the groups of the
    other promise is not seen here: who is left out in the end is told by recounting
    (`reticent.tables.search.rare`).
    """

    def __init__(self, measures: Sequence[SmallestGroup], most: int) -> None:
        self.measures = list(measures)
        self.promise: Promise = measures[0].promise
        self.attributes = self.heeds = frozenset[int]().union(*(m.attributes for m in measures))
        self.cells = sum(measure.cells for measure in measures)
        self.value = min(measure.value for measure in measures)  # of what is not lost
        self.over = measures[0].over
        self.most = most
        self.gone = 0
        slots = len(self.over)
        self.lost = [np.zeros(slots, dtype=np.int64) for _ in measures]
        self.scratch = scratch(*[slots] * 4)  # held, alone, latest, records
        self.run = 0

    def holds(self, promise: Promise | None = None) -> bool:
        """Whether every promise holds while everything is masked."""
        return all(measure.holds() for measure in self.measures)

    def valid(self, slots: Slots, promise: Promise | None = None) -> NDArray[np.bool_]:
        """Which candidates lose few enough."""
        return np.asarray(sum(lost[slots] for lost in self.lost) + self.gone <= self.most)

    def loss(self, slots: Slots) -> NDArray[np.float64]:
        """The mean of what each promise loses besides those that are left out."""
        return np.asarray(sum(measure.loss(slots) for measure in self.measures)) / len(self.lost)

    def bits(self, slots: Slots) -> NDArray[np.float64]:
        """The same as a factor."""
        return np.asarray(sum(measure.bits(slots) for measure in self.measures)) / len(self.lost)

    def begin(self) -> None:
        """Count the parts of every candidate."""
        for measure, lost in zip(self.measures, self.lost, strict=True):
            self._scan(measure, lost, 1, split=False)

    def forget(self, reveal: Reveal) -> None:
        """Leave out what the candidate loses, and take back what its groups contribute."""
        for measure, lost in self._about(reveal):
            self.gone += int(lost[reveal.slot])
            measure.value = min(measure.value, int(measure.over[reveal.slot]))
            measure.groups.touch(reveal)
            self._scan(measure, lost, -1, split=False)
        self.value = min(measure.value for measure in self.measures)

    def reveal(self, reveal: Reveal) -> None:
        """Split groups, and count the parts of candidates in them."""
        for measure, lost in self._about(reveal):
            if not reveal.discloses:
                lost[list(reveal.parts)] = 0
                measure.over[list(reveal.parts)] = _UNSEEN
            self._scan(measure, lost, 1, split=True)

    def _about(self, reveal: Reveal) -> Iterator[tuple[SmallestGroup, NDArray[np.int64]]]:
        for measure, lost in zip(self.measures, self.lost, strict=True):
            if reveal.attribute in measure.attributes:
                yield measure, lost

    def _scan(
        self, measure: SmallestGroup, lost: NDArray[np.int64], sign: int, *, split: bool
    ) -> None:
        def count(scan: kernels.Scan, scratch: Any) -> None:
            self.run = kernels.scan_lost(
                scan, *scratch, self.run, sign, measure.promise.k, lost, measure.over
            )

        groups = measure.groups
        together(count, [groups.scan(0, 0, groups.found, split=split)], self.scratch)
