"""What a refinement does to a promise about our table and earlier releases together.

Earlier releases are out and cannot change. Whoever has them puts every row of ours beside every row
of theirs that may belong to the same person (`reticent.data.linking`), and knows the columns of
the promise's `over` on both sides. Those pairs are never laid out. Rows of ours that show the same,
and rows of theirs that look the same, are counted once on each side:

    paper           here
    |P1| · |P2|     weights of our cells times amounts of a vector; summed by linked group, x
    a(x), a(x, y)   `smallest_products`, `largest_shares`
    P1 matches P2   a cell goes with one vector: all that is behind the keys it allows

A *group* holds the rows of ours that show the same in `over`. A *cell* is what is left of a group
once rows are counted once that allow the same keys. A *vector* says what stands behind such keys:
groups of theirs, and how many records; a group of ours with one of theirs is a *linked group*. Many
cells share one vector, and it is made once.

Where the promise is about one side only and `over` holds every column that links the two, linking
changes nothing: in a linked group there is one cell on each side, and all of it. Then it is
measured on our table alone, or is a constant (whoever sets up the search sees to that). Elsewhere
a refinement can also mend a promise (lemmas 6.2.1 and 6.2.2 of the thesis claim too much): it takes
away matches. So no candidate is ruled out for good, and what each would do is kept by group: a
reveal changes the groups that it touches and no other.

Source: Fung 2007, chapter 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from reticent.privacy.promises import Anonymity, Promise
from reticent.refine.cuts import Cuts, Reveal
from reticent.refine.measures import Measure, Slots
from reticent.refine.previous.counting import Way
from reticent.refine.previous.kernels import after_each, worst_of
from reticent.refine.previous.theirs import Ints


class WithPrevious(Measure):
    """A promise about our table and earlier releases, linked by what they show."""

    lasting = False  # a candidate that breaks it now may keep it after another step

    def __init__(
        self, promise: Promise, cuts: Cuts, over: Sequence[int], ways: Sequence[Way]
    ) -> None:
        """`ways`: one, or one for each sensitive column."""
        self.promise, self.cuts, self.ways = promise, cuts, list(ways)
        self.attributes = frozenset(over)
        self.heeds = frozenset(over).union(*(way.ours.attributes for way in ways))
        self.anonymity = isinstance(promise, Anonymity)
        counts = cuts.counts
        self.records = len(cuts.domains[0].codes) if counts is None else int(counts.sum())
        # Each value of a suppressed column is a candidate, which leaves the others as they are.
        leaves = [len(domain.leaves) or 1 for domain in cuts.domains]
        self.cells = sum(
            len(way.ours.counts) * max(sum(leaves[a] for a in way.ours.attributes), 1)
            for way in ways
        )
        self._look_at_all(ahead=False)

    def begin(self) -> None:
        """Look at every candidate for the first time."""
        self._look_at_all(ahead=True)

    def reveal(self, reveal: Reveal) -> None:
        """Split groups if the column is in `over`, and look at all that the reveal touched."""
        for way in self.ways:
            ours = way.ours
            leaf = ours.leaf[reveal.attribute]
            inside = (leaf >= reveal.low) & (leaf < reveal.high)
            touched = np.zeros(ours.group_count, dtype=bool)
            touched[ours.group[inside]] = True
            if reveal.attribute in self.attributes:
                touched = ours.split(reveal.attribute, touched)
            way.look_at(touched, self.attributes, ahead=True)
        self._settle()

    def _look_at_all(self, *, ahead: bool) -> None:
        for way in self.ways:
            way.look_at_all(self.attributes, ahead=ahead)
        self._settle()

    def _settle(self) -> None:
        """From groups to the promise: its value now, and what each candidate would leave of it."""
        found = [_extremes(way, self.cuts.none + 1) for way in self.ways]
        over, under = worst_of_each(found, smallest=self.anonymity)
        now, self.over = int(over[-1]), over[:-1]
        self.value = now if self.anonymity else Fraction(now, int(under[-1]))
        self.under = None if self.anonymity else under[:-1]


def _extremes(way: Way, slots: int) -> tuple[Ints, Ints]:
    """The worst value over all groups: after each candidate and, last, as things are."""
    known = way.outlook
    order = np.lexsort([known.group, known.slot])
    group, slot = known.group[order], known.slot[order]
    value = (known.over[order], known.under[order])
    begins = np.searchsorted(slot, np.arange(-1, slots + 1))
    over, under = np.zeros((2, slots + 1), dtype=np.int64)
    as_is = slice(0, begins[1])
    ratio = value[0][as_is] / value[1][as_is]
    worst_first = np.argsort(ratio if way.anonymity else -ratio, kind="stable")
    after_each(
        begins[1:], group, *value, worst_first, ratio, way.anonymity,
        np.full(way.ours.group_count, -2, dtype=np.int64), over, under,
    )  # fmt: skip
    return over, under


def worst_of_each(found: Sequence[tuple[Ints, Ints]], *, smallest: bool) -> tuple[Ints, Ints]:
    """The worst at each place, of as many values as there are ways to count."""
    overs, unders = (np.stack(part, axis=1).ravel() for part in zip(*found, strict=True))
    over, under = np.zeros((2, len(found[0][0])), dtype=np.int64)
    worst_of(np.arange(0, len(overs) + 1, len(found)), overs, unders, smallest, over, under)
    return over, under


class Settled(WithPrevious):
    """A promise about earlier releases alone: nothing that we reveal changes it."""

    lasting = True

    def __init__(
        self, promise: Promise, cuts: Cuts, over: Sequence[int], value: int | Fraction
    ) -> None:
        self._constant = value
        super().__init__(promise, cuts, over, ())
        self.heeds = frozenset()

    def _settle(self) -> None:
        self.value, slots = self._constant, self.cuts.none + 1
        self.over = np.full(slots, self.value.numerator, dtype=np.int64)
        if not self.anonymity:
            self.under = np.full(slots, self.value.denominator, dtype=np.int64)

    def loss(self, slots: Slots) -> NDArray[np.float64]:
        """Nothing, without rounding."""
        return np.zeros(len(slots))

    bits = loss
