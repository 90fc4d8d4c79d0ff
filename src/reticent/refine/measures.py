"""What a refinement does to each promise, from counts kept group by group.

This is the seam *what is measured*: the loop asks a measure what every candidate would leave of
its promise and tells it what was revealed; whether the groups behind it are those of one table or
of a join is the measure's own business.

Splitting a group can only make the smallest part smaller and the largest confidence larger, so
each candidate keeps a running extreme: only groups that changed are looked at again, and a
candidate that breaks a promise once breaks it for good (the promise is anti-monotone).

    paper          here
    A(X), C(X)     Measure.value      the promise's value on the table as shown now
    A_v(X)         smallest[v]        its value if v were refined, where that is below A(X)
    C_v(X)         over[v]/under[v]   its value if v were refined, where that is above C(X)
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from reticent.privacy.promises import Anonymity, Confidence, Promise
from reticent.refine import kernels
from reticent.refine.cuts import Cuts, Reveal
from reticent.table.collapse import Codes, distinct

Slots = NDArray[np.int64]
_UNSEEN = np.iinfo(np.int64).max


class Measure(Protocol):
    """What the loop needs to know about one promise."""

    promise: Promise
    attributes: frozenset[int]  # the columns of its `over`

    @property
    def value(self) -> int | Fraction:
        """The promise's value on the table as shown now."""

    def holds(self) -> bool:
        """Whether the table as shown now keeps the promise."""

    def valid(self, slots: Slots) -> NDArray[np.bool_]:
        """Which candidates would keep it."""

    def loss(self, slots: Slots) -> NDArray[np.float64]:
        """How much each candidate would take away from it; never negative."""

    def begin(self) -> None:
        """Look at every candidate for the first time."""

    def reveal(self, reveal: Reveal) -> None:
        """Hear of a refinement that `cuts` already shows."""


class Groups:
    """The groups of equal shown values over some columns, as runs of collapsed rows."""

    def __init__(
        self, cuts: Cuts, attributes: Sequence[int], marks: Codes | None = None, mark_count: int = 0
    ) -> None:
        self.cuts = cuts
        self.attributes = tuple(attributes)
        kind = np.uint16 if cuts.none < 2**16 else np.uint32
        domains = [cuts.domains[a] for a in attributes]
        columns: list[Codes] = [domain.codes for domain in domains]
        sizes = [domain.size for domain in domains]
        marked = marks is not None
        if marks is not None:  # marks lead, so that rows of the one first group ascend in them
            columns, sizes = [marks, *columns], [mark_count + 1, *sizes]
        found = distinct(columns, sizes)
        codes = found.columns[1:] if marked else found.columns
        whole_words = 8 // np.dtype(kind).itemsize
        padded = -(-len(attributes) // whole_words) * whole_words
        self.rows = np.zeros((len(found.counts), padded), dtype=kind)
        for j, (attribute, column) in enumerate(zip(attributes, codes, strict=True)):
            self.rows[:, j] = column
            self.rows[:, j] += kind(cuts.offset[attribute])
        small = int(found.counts.sum()) < 2**31
        self.weights = found.counts.astype(np.int32) if small else found.counts
        self.marks = found.columns[0].astype(np.int32) if marked else np.empty(0, np.int32)
        count = len(self.weights)
        self.words = self.rows.view(np.uint64)
        self.spares = tuple(np.empty_like(a) for a in (self.words, self.weights, self.marks))
        small_enough = np.int32 if count < 2**31 else np.int64
        self.starts = np.zeros(count, dtype=small_enough)
        self.ends = np.full(count, count, dtype=small_enough)
        self.count = 1  # groups; one while everything is masked
        self.changed = np.zeros(count, dtype=small_enough)
        self.moved = np.ones(count, dtype=np.bool_)
        self.found = 1  # changed groups
        self.column = -1  # the column that was refined last
        self.touched = np.empty(cuts.none + 1, dtype=np.int64)
        self.tally = np.zeros(cuts.none + 1, dtype=np.int64)

    def split(self, reveal: Reveal) -> None:
        """Split the groups that showed the refined value."""
        self.column = self.attributes.index(reveal.attribute)
        self.count, self.found = kernels.split(
            self.rows, self.words, self.weights, self.marks, self.starts, self.ends, self.count,
            self.column, reveal.low, reveal.high, reveal.value, reveal.bottom, self.cuts.current,
            *self.spares, self.tally, self.touched, self.changed, self.moved,
        )  # fmt: skip

    def affected(self, slot: int) -> None:
        """Find the groups that refining a candidate would touch, without splitting them."""
        self.column = self.attributes.index(self.cuts.attribute_of(slot))
        shown = self.cuts.current[self.rows[self.starts[: self.count], self.column]]
        groups = np.flatnonzero(shown == self.cuts.current[slot])
        self.found = len(groups)
        self.changed[: self.found] = groups
        self.moved[: self.found] = True

    @property
    def scan(self) -> tuple[Any, ...]:
        """What every scan needs, in the kernels' order."""
        cuts = self.cuts
        return (
            len(self.attributes), self.starts, self.ends, self.changed, self.moved, self.found,
            self.column, cuts.current, cuts.children, cuts.live, cuts.lows, cuts.highs,
            cuts.bottoms, self.tally,
        )  # fmt: skip


class SmallestGroup:
    """Anonymity: the smallest group, in records or in distinct `of` values."""

    def __init__(
        self,
        promise: Anonymity,
        cuts: Cuts,
        attributes: Sequence[int],
        of: tuple[Codes, int] | None = None,
    ) -> None:
        self.promise = promise
        self.attributes = frozenset(attributes)
        self.groups = Groups(cuts, attributes, *(of or ()))
        self.distinct = of is not None
        self.value = of[1] if of else int(self.groups.weights.sum())
        self.smallest = np.full(cuts.none + 1, _UNSEEN, dtype=np.int64)
        scratch = cuts.none + 1 if self.distinct else 0
        self.scratch = [np.zeros(scratch, dtype=np.int64) for _ in range(3)]

    def holds(self) -> bool:
        """Whether the smallest group is large enough now."""
        return self.value >= self.promise.k

    def valid(self, slots: Slots) -> NDArray[np.bool_]:
        """Which candidates leave every group large enough."""
        return self.smallest[slots] >= self.promise.k

    def loss(self, slots: Slots) -> NDArray[np.float64]:
        """A(X) - A_v(X)."""
        return np.maximum(self.value - self.smallest[slots], 0).astype(np.float64)

    def begin(self) -> None:
        """Count the parts of every candidate."""
        self._scan()

    def reveal(self, reveal: Reveal) -> None:
        """Split groups, and count the parts of candidates in them."""
        self.value = min(self.value, int(self.smallest[reveal.slot]))
        if reveal.value < 0:
            self.smallest[list(reveal.parts)] = _UNSEEN
        self.groups.split(reveal)
        self._scan()

    def _scan(self) -> None:
        groups = self.groups
        if self.distinct:
            kernels.scan_distinct(
                groups.rows, groups.marks, *groups.scan, *self.scratch, self.smallest
            )
        else:
            kernels.scan_records(groups.rows, groups.weights, *groups.scan, self.smallest)


class LargestConfidence:
    """Confidence: the largest share of one sensitive value in any group."""

    def __init__(
        self,
        promise: Confidence,
        cuts: Cuts,
        attributes: Sequence[int],
        sensitive: Sequence[tuple[Codes, int]],
    ) -> None:
        """`sensitive`: for each sensitive column its values as marks 1, 2, …, 0 for all others."""
        self.promise = promise
        self.attributes = frozenset(attributes)
        self.parts = [Groups(cuts, attributes, marks, count) for marks, count in sensitive]
        self.over = np.zeros(cuts.none + 1, dtype=np.int64)
        self.under = np.ones(cuts.none + 1, dtype=np.int64)
        self.inside = np.zeros(cuts.none + 1, dtype=np.int64)
        self.waiting = np.zeros(cuts.none + 1, dtype=np.int64)
        most = max(count for _, count in sensitive) + 2
        self.begins, self.sums = np.zeros(most, dtype=np.int64), np.zeros(most, dtype=np.int64)
        self.value = max(map(_largest_share, self.parts))
        self.small = max(int(p.weights.sum()) for p in self.parts) < 2**31

    def holds(self) -> bool:
        """Whether no confidence is too large now."""
        return self.value <= self.promise.at_most

    def valid(self, slots: Slots) -> NDArray[np.bool_]:
        """Which candidates leave no confidence too large, decided in integers."""
        most = self.promise.at_most
        if self.small and most.denominator < 2**31:  # products stay below 2**62
            return np.asarray(
                self.over[slots] * most.denominator <= self.under[slots] * most.numerator
            )
        exact = [Fraction(int(self.over[s]), int(self.under[s])) <= most for s in slots]
        return np.array(exact, dtype=bool)

    def loss(self, slots: Slots) -> NDArray[np.float64]:
        """C_v(X) - C(X)."""
        return np.maximum(self.over[slots] / self.under[slots] - float(self.value), 0.0)

    def begin(self) -> None:
        """Count the parts of every candidate."""
        self._scan()

    def reveal(self, reveal: Reveal) -> None:
        """Split groups, and count the parts of candidates in them."""
        after = Fraction(int(self.over[reveal.slot]), int(self.under[reveal.slot]))
        self.value = max(self.value, after)
        if reveal.value < 0:
            parts = list(reveal.parts)
            self.over[parts], self.under[parts] = 0, 1
        for groups in self.parts:
            groups.split(reveal)
        self._scan()

    def _scan(self) -> None:
        for groups in self.parts:
            kernels.scan_confidence(
                groups.rows, groups.weights, groups.marks, *groups.scan,
                self.inside, self.begins, self.sums, self.waiting, self.over, self.under,
            )  # fmt: skip


def _largest_share(groups: Groups) -> Fraction:
    """The confidence of the most frequent sensitive value when everything is masked."""
    per_mark = np.zeros(max(int(groups.marks.max()) + 1, 2), dtype=np.int64)
    np.add.at(per_mark, groups.marks, groups.weights)
    return Fraction(int(per_mark[1:].max()), int(groups.weights.sum()))


class SquaredGroups:
    """Discernibility: the sum of squared group sizes over all masked columns together."""

    def __init__(self, cuts: Cuts) -> None:
        self.groups = Groups(cuts, range(len(cuts.domains)))
        self.drops = np.zeros(cuts.none + 1, dtype=np.int64)

    def begin(self) -> None:
        """Count the parts of every candidate."""
        self._scan(1)

    def forget(self, slot: int) -> None:
        """Take back what the groups that a candidate touches contribute, before it is refined."""
        self.groups.affected(slot)
        self._scan(-1)

    def reveal(self, reveal: Reveal) -> None:
        """Split groups, and add what their parts contribute."""
        if reveal.value < 0:
            self.drops[list(reveal.parts)] = 0
        self.groups.split(reveal)
        self._scan(1)

    def _scan(self, sign: int) -> None:
        groups = self.groups
        kernels.scan_squares(groups.rows, groups.weights, *groups.scan, sign, self.drops)
