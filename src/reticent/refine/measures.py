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
    A_v(X)         smallest[v]        its value if v were refined, where that is below A(X)
    C_v(X)         over[v]/under[v]   its value if v were refined, where that is above C(X)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Protocol

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


class Measure(Protocol):
    """What the loop needs to know about one promise."""

    promise: Promise
    attributes: frozenset[int]  # the columns of its `over`
    heeds: frozenset[int]  # the columns whose refinement may change it
    lasting: bool  # whether a candidate that breaks it once breaks it for good

    @property
    def value(self) -> int | Fraction:
        """The promise's value on the table as shown now."""

    @property
    def cells(self) -> int:
        """How much there is to count at most: rows times columns."""

    def holds(self, promise: Promise | None = None) -> bool:
        """Whether the table as shown now keeps it, or the same with another threshold."""

    def valid(self, slots: Slots, promise: Promise | None = None) -> NDArray[np.bool_]:
        """Which candidates would keep it, or the same promise with another threshold."""

    def loss(self, slots: Slots) -> NDArray[np.float64]:
        """How much each candidate would take away from it; never negative."""

    def bits(self, slots: Slots) -> NDArray[np.float64]:
        """The same as a factor, in bits: 1 halves the smallest group or doubles a confidence."""

    def forecast(self, slots: Slots) -> Forecast:
        """What candidates would make of it; of those ruled out, as it was when they were."""

    def recall(self, slots: Slots, forecast: Forecast) -> None:
        """Go back to an earlier forecast for candidates that nobody counts any more."""

    def begin(self) -> None:
        """Look at every candidate for the first time."""

    def forget(self, slot: int) -> None:
        """Hear that a candidate is about to be refined."""

    def reveal(self, reveal: Reveal) -> None:
        """Hear of a refinement that `cuts` already shows."""


class Groups:
    """The groups of equal shown values over some columns, as runs of collapsed rows."""

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
        self.attributes = tuple(attributes)
        kind = np.uint16 if cuts.none < 2**16 else np.uint32
        domains = [cuts.domains[a] for a in attributes]
        columns: list[Codes] = [domain.codes for domain in domains]
        sizes = [domain.size for domain in domains]
        marked = marks is not None
        if marks is not None:  # marks lead, so that rows of the one first group ascend in them
            columns, sizes = [marks, *columns], [mark_count + 1, *sizes]
        if marked or fit_one_word(sizes):
            found = distinct(columns, sizes, cuts.counts)
        else:  # rows this wide are hardly ever equal, and slow to collapse: 0.15 s a million
            counts = cuts.counts
            once = np.ones(len(columns[0]), dtype=np.int64) if counts is None else counts
            found = Distinct(tuple(columns), once)
        # How much there is to count, at most: rows that can differ times columns. It is not told
        # by the rows at hand, which are fewer where equal ones are counted once already.
        records = len(columns[0]) if cuts.counts is None else int(cuts.counts.sum())
        most = records if most is None else min(records, most)
        self.cells = min(most, math.prod(sizes)) * len(attributes)
        found = _thinned(found, most)
        codes = found.columns[1:] if marked else found.columns
        whole_words = 8 // np.dtype(kind).itemsize
        padded = -(-len(attributes) // whole_words) * whole_words
        self.rows = memory.full((len(found.counts), padded), 0, kind)
        for j, (attribute, column) in enumerate(zip(attributes, codes, strict=True)):
            offset = kind(cuts.offset[attribute])
            np.add(column, offset, out=self.rows[:, j], casting="unsafe", dtype=kind)
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
        self.found = 1  # everything is masked: one group
        self.total = count  # rows in them
        self.column = -1  # the column that was refined last

    def _spares(self) -> tuple[NDArray[Any], ...]:
        """Room to sort rows in."""
        arrays = (self.words, self.weights, self.marks)
        return tuple(memory.empty(array.shape, array.dtype) for array in arrays)

    def __deepcopy__(self, memo: dict[int, Any]) -> Groups:
        """The groups as they are, where there is room for them."""
        twin = copy(self)
        memo[id(self)] = twin
        twin.cuts = deepcopy(self.cuts, memo)
        for name in ("rows", "weights", "marks", "end_of", "starts"):
            setattr(twin, name, memory.copy(getattr(self, name)))
        twin.spares = twin._spares()
        return twin

    @property
    def words(self) -> NDArray[np.uint64]:
        """The same rows as whole words: a view that a copied search must not copy apart."""
        return self.rows.view(np.uint64)

    def touch(self, slot: int, reveal: Reveal | None = None) -> None:
        """Find the groups that showed a value: before it is refined, or just after its reveal."""
        cuts = self.cuts
        attribute = cuts.attribute_of(slot)
        self.column = self.attributes.index(attribute)
        if reveal is not None:
            what = (reveal.low, reveal.high, reveal.value, reveal.bottom)
        elif cuts.domains[attribute].root is None:
            what = (0, 0, slot, int(cuts.current[slot]))
        else:
            what = (int(cuts.lows[slot]), int(cuts.highs[slot]), -1, -1)
        self.found, self.total = kernels.list_groups(
            self.rows, self.end_of, self.column, *what, cuts.current, self.starts
        )

    def shares(self) -> list[NDArray[Any]]:
        """The groups found, as one list, or as two of about equal rows for two threads."""
        starts = self.starts[: self.found]
        if self.total < TWO_THREADS or self.found < 2:
            return [starts]
        cut = kernels.share(starts, self.found, self.end_of, self.total)
        return [starts[:cut], starts[cut:]] if 0 < cut < self.found else [starts]

    def scan(self, starts: NDArray[Any], *, split: bool) -> tuple[Any, ...]:
        """What every scan needs, in the kernels' order."""
        cuts = self.cuts
        return (
            self.rows, self.words, self.weights, self.marks, self.end_of, *self.spares,
            len(self.attributes), starts, split, self.column,
            cuts.current, cuts.children, cuts.live, cuts.lows, cuts.highs, cuts.bottoms,
        )  # fmt: skip


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


def together(tasks: Sequence[Callable[[], None]]) -> None:
    """Run one task here and, where there are two, the other beside it."""
    beside = [_second_thread.submit(task) for task in tasks[1:]]
    tasks[0]()
    for future in beside:
        future.result()


class SmallestGroup:
    """Anonymity: the smallest group, in records or in distinct `of` values."""

    lasting = True

    def __init__(
        self,
        promise: Anonymity,
        cuts: Cuts,
        attributes: Sequence[int],
        of: tuple[Codes, int] | None = None,
    ) -> None:
        self.promise: Promise = promise
        self.attributes = self.heeds = frozenset(attributes)
        self.groups = Groups(cuts, attributes, *(of or ()))
        self.value = of[1] if of else int(self.groups.weights.sum(dtype=np.int64))
        self.smallest = np.full(cuts.none + 1, _UNSEEN, dtype=np.int64)
        kind = _MarkScratch if of else Scratch
        self.scratch = (kind(cuts.none + 1), kind(cuts.none + 1))

    @property
    def cells(self) -> int:
        """How much there is to count."""
        return self.groups.cells

    def holds(self, promise: Promise | None = None) -> bool:
        """Whether the smallest group is large enough now."""
        return (promise or self.promise).kept_with(self.value)

    def valid(self, slots: Slots, promise: Promise | None = None) -> NDArray[np.bool_]:
        """Which candidates leave every group large enough."""
        asked = promise or self.promise
        assert isinstance(asked, Anonymity)
        return self.smallest[slots] >= asked.k

    def loss(self, slots: Slots) -> NDArray[np.float64]:
        """A(X) - A_v(X)."""
        return np.maximum(self.value - self.smallest[slots], 0).astype(np.float64)

    def bits(self, slots: Slots) -> NDArray[np.float64]:
        """log2 of A(X) / A_v(X)."""
        after = np.minimum(self.smallest[slots], self.value)
        bits: NDArray[np.float64] = np.log2(self.value) - np.log2(after, dtype=np.float64)
        return bits

    def forecast(self, slots: Slots) -> Forecast:
        """A_v(X), exact wherever it is too small."""
        return Forecast(~self.valid(slots), self.smallest[slots])

    def recall(self, slots: Slots, forecast: Forecast) -> None:
        """Set A_v(X) back."""
        self.smallest[slots] = forecast.over

    def begin(self) -> None:
        """Count the parts of every candidate."""
        self._scan(split=False)

    def forget(self, slot: int) -> None:
        """Nothing to take back: a smallest part stays one."""

    def reveal(self, reveal: Reveal) -> None:
        """Split groups, and count the parts of candidates in them."""
        self.value = min(self.value, int(self.smallest[reveal.slot]))
        if reveal.value < 0:
            self.smallest[list(reveal.parts)] = _UNSEEN
        self.groups.touch(reveal.slot, reveal)
        self._scan(split=True)

    def _scan(self, *, split: bool) -> None:
        shares = self.groups.shares()
        found = [self.smallest, *(np.full_like(self.smallest, _UNSEEN) for _ in shares[1:])]
        together(
            [
                partial(scratch.smallest, self.groups.scan(starts, split=split), smallest)
                for scratch, starts, smallest in zip(self.scratch, shares, found, strict=False)
            ]
        )
        for other in found[1:]:
            np.minimum(self.smallest, other, out=self.smallest)


class Scratch:
    """What one thread needs to count records."""

    def __init__(self, slots: int) -> None:
        self.tally = np.zeros(slots, dtype=np.int64)
        self.touched = np.zeros(slots, dtype=np.int64)

    def smallest(self, scan: tuple[Any, ...], smallest: NDArray[np.int64]) -> None:
        """Lower `smallest` to parts in records."""
        kernels.scan_records(*scan, self.tally, self.touched, smallest)


class _MarkScratch(Scratch):
    """What one thread needs to count distinct marks."""

    def __init__(self, slots: int) -> None:
        super().__init__(slots)
        self.more = tuple(np.zeros(slots, dtype=np.int64) for _ in range(3))
        self.run = 0

    def smallest(self, scan: tuple[Any, ...], smallest: NDArray[np.int64]) -> None:
        """Lower `smallest` to parts in distinct marks."""
        self.run = kernels.scan_distinct(
            *scan, self.tally, self.touched, *self.more, self.run, smallest
        )


class LargestConfidence:
    """Confidence: the largest share of one sensitive value in any group."""

    lasting = True

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
        slots, marks = cuts.none + 1, max(count for _, count in sensitive) + 2
        self.over = np.zeros(slots, dtype=np.int64)
        self.under = np.ones(slots, dtype=np.int64)
        # Of each thread: tally, touched and inside by slot, begins and sums by mark, waiting.
        sizes = (slots, slots, slots, marks, marks, slots)
        self.scratch = [[np.zeros(n, dtype=np.int64) for n in sizes] for _ in range(2)]
        self.value = max(map(_largest_share, self.parts))
        self.records = int(self.parts[0].weights.sum(dtype=np.int64))
        self.small = self.records < 2**31

    @property
    def cells(self) -> int:
        """How much there is to count."""
        return sum(groups.cells for groups in self.parts)

    def holds(self, promise: Promise | None = None) -> bool:
        """Whether no confidence is too large now."""
        return (promise or self.promise).kept_with(self.value)

    def valid(self, slots: Slots, promise: Promise | None = None) -> NDArray[np.bool_]:
        """Which candidates leave no confidence too large, decided in integers."""
        asked = promise or self.promise
        assert isinstance(asked, Confidence)
        most = asked.at_most
        if self.small and most.denominator < 2**31:  # products stay below 2**62
            return np.asarray(
                self.over[slots] * most.denominator <= self.under[slots] * most.numerator
            )
        exact = [Fraction(int(self.over[s]), int(self.under[s])) <= most for s in slots]
        return np.array(exact, dtype=bool)

    def loss(self, slots: Slots) -> NDArray[np.float64]:
        """C_v(X) - C(X)."""
        return np.maximum(self.over[slots] / self.under[slots] - float(self.value), 0.0)

    def bits(self, slots: Slots) -> NDArray[np.float64]:
        """log2 of C_v(X) / C(X); a confidence that was 0 counts as that of half a record."""
        least = 1 / (2 * self.records)
        after = np.maximum(self.over[slots] / self.under[slots], least)
        before = np.maximum(float(self.value), least)
        bits: NDArray[np.float64] = np.maximum(np.log2(after) - np.log2(before), 0.0)
        return bits

    def forecast(self, slots: Slots) -> Forecast:
        """C_v(X), exact wherever it is too large."""
        return Forecast(~self.valid(slots), self.over[slots], self.under[slots])

    def recall(self, slots: Slots, forecast: Forecast) -> None:
        """Set C_v(X) back."""
        assert forecast.under is not None
        self.over[slots], self.under[slots] = forecast.over, forecast.under

    def begin(self) -> None:
        """Count the parts of every candidate."""
        for groups in self.parts:
            self._scan(groups, split=False)

    def forget(self, slot: int) -> None:
        """Nothing to take back: a largest confidence stays one."""

    def reveal(self, reveal: Reveal) -> None:
        """Split groups, and count the parts of candidates in them."""
        after = Fraction(int(self.over[reveal.slot]), int(self.under[reveal.slot]))
        self.value = max(self.value, after)
        if reveal.value < 0:
            parts = list(reveal.parts)
            self.over[parts], self.under[parts] = 0, 1
        for groups in self.parts:
            groups.touch(reveal.slot, reveal)
            self._scan(groups, split=True)

    def _scan(self, groups: Groups, *, split: bool) -> None:
        shares = groups.shares()
        found = [(self.over, self.under)]
        found += [(np.zeros_like(self.over), np.ones_like(self.under)) for _ in shares[1:]]
        together(
            [
                partial(
                    kernels.scan_confidence,
                    *groups.scan(starts, split=split),
                    *scratch,
                    self.least,
                    *fraction,
                )
                for scratch, starts, fraction in zip(self.scratch, shares, found, strict=False)
            ]
        )
        for over, under in found[1:]:
            larger = over * self.under > self.over * under
            self.over[larger], self.under[larger] = over[larger], under[larger]


def _largest_share(groups: Groups) -> Fraction:
    """The confidence of the most frequent sensitive value when everything is masked."""
    per_mark = np.zeros(max(int(groups.marks.max()) + 1, 2), dtype=np.int64)
    np.add.at(per_mark, groups.marks, groups.weights)
    return Fraction(int(per_mark[1:].max()), int(per_mark.sum()))


class LeavingOut:
    """Anonymity promises together, if some records may be left out for their sake.

    A record in a group that is too small will be left out, and no refinement brings it back, so
    that what is lost only grows: a candidate that loses too many loses too many for good. A record
    in small groups of two promises counts twice, and what leaving it out does to the groups of the
    other promise is not seen here: who is left out in the end is told by recounting
    (`reticent.tables.search.rare`).
    """

    lasting = True

    def __init__(self, measures: Sequence[SmallestGroup], most: int) -> None:
        self.measures = list(measures)
        self.promise: Promise = measures[0].promise
        self.attributes = self.heeds = frozenset[int]().union(*(m.attributes for m in measures))
        self.most = most
        self.gone = 0
        slots = len(measures[0].smallest)
        self.lost = [np.zeros(slots, dtype=np.int64) for _ in measures]
        self.scratch = [np.zeros(slots, dtype=np.int64) for _ in range(6)]
        self.run = 0

    @property
    def value(self) -> int:
        """The smallest group that is not lost, of all promises."""
        return min(measure.value for measure in self.measures)

    @property
    def cells(self) -> int:
        """How much there is to count."""
        return sum(measure.cells for measure in self.measures)

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

    def forecast(self, slots: Slots) -> Forecast:
        """Smallest groups, though it is not they that rule a candidate out."""
        return Forecast(~self.valid(slots), self.measures[0].smallest[slots])

    def recall(self, slots: Slots, forecast: Forecast) -> None:
        """Set the smallest groups back."""
        self.measures[0].smallest[slots] = forecast.over

    def begin(self) -> None:
        """Count the parts of every candidate."""
        for measure, lost in zip(self.measures, self.lost, strict=True):
            self._scan(measure, lost, 1, split=False)

    def forget(self, slot: int) -> None:
        """Leave out what the candidate loses, and take back what its groups contribute."""
        for measure, lost in self._about(slot):
            self.gone += int(lost[slot])
            measure.value = min(measure.value, int(measure.smallest[slot]))
            measure.groups.touch(slot)
            self._scan(measure, lost, -1, split=False)

    def reveal(self, reveal: Reveal) -> None:
        """Split groups, and count the parts of candidates in them."""
        for measure, lost in self._about(reveal.slot):
            if reveal.value < 0:
                lost[list(reveal.parts)] = 0
                measure.smallest[list(reveal.parts)] = _UNSEEN
            measure.groups.touch(reveal.slot, reveal)
            self._scan(measure, lost, 1, split=True)

    def _about(self, slot: int) -> Iterator[tuple[SmallestGroup, NDArray[np.int64]]]:
        attribute = self.measures[0].groups.cuts.attribute_of(slot)
        for measure, lost in zip(self.measures, self.lost, strict=True):
            if attribute in measure.attributes:
                yield measure, lost

    def _scan(
        self, measure: SmallestGroup, lost: NDArray[np.int64], sign: int, *, split: bool
    ) -> None:
        groups = measure.groups
        assert isinstance(measure.promise, Anonymity)
        self.run = kernels.scan_lost(
            *groups.scan(groups.starts[: groups.found], split=split), *self.scratch,
            self.run, sign, measure.promise.k, lost, measure.smallest,
        )  # fmt: skip
