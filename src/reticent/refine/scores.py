"""How useful a refinement is: information gain, cut points, and the other utilities.

    score = "paper"          InfoGain(v): what v's parts tell about the class of the records that
                             show v, whatever else is shown of them
    score = "conditional"    the bits that v saves in telling the class of every record, given all
                             that its masked columns show already (`ClassBits`); where it
                             saves none, a millionth of InfoGain(v)

Under the paper's score a second column that tells the same as a first gains as much again, and a
cut far down a column as much as one at its top. InfoGain needs only how often each class occurs
under each leaf of a column; the groups behind `conditional` are counted like those of a promise.
Without a class, both scores take what the utility says; but where the paper counts the records that
become more specific, "conditional" counts how much more specific they become: by how much less of
their column (of its values, or of its range) they cover. Entropies are in bits; a gain below 1e-12
is rounding and counts as 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from reticent.data import memory
from reticent.data.collapse import Codes
from reticent.data.encode import DomainNode
from reticent.data.keys import first_best
from reticent.errors import InputError
from reticent.refine import kernels
from reticent.refine.cuts import Cuts, Reveal
from reticent.refine.totals import ClassBits, SquaredGroups, Totals

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Score = Literal["paper", "conditional"]
_NOTHING = 1e-12  # bits
_MOST_WORTH = 1e250  # of a utility that somebody wrote: whatever weighs it, it stays a number
_NO_BITS_SAVED = 1e-6  # what InfoGain counts where it would take more bits, not fewer


@dataclass(frozen=True, slots=True)
class Candidate:
    """What a utility written by a user is asked about."""

    attribute: str
    value: str  # the value to refine; for a suppressed one, the value to disclose
    parts: tuple[tuple[str, Counts], ...]  # label and records by class of each part
    records: int  # the records it touches


Utility = str | Callable[[Candidate], float]


class Usefulness:
    """The utility of every candidate, kept up to date from class counts."""

    def __init__(
        self,
        cuts: Cuts,
        utility: Utility,
        classes: Codes | None = None,
        class_count: int = 1,
        *,
        score: Score = "paper",
        measured: bool = False,
        sampled: bool = False,
    ) -> None:
        """`measured`: keep count of `worth`, whatever the score; `sampled`: see `ClassBits`."""
        self.cuts = cuts
        self.utility = utility
        self.score = score
        self.has_class = classes is not None
        slots = cuts.none + 1
        by_class = np.zeros((slots + 1, class_count), dtype=np.int64)
        for attribute, domain in enumerate(cuts.domains):
            first, bottom = cuts.span(attribute)
            for part in memory.parts(len(domain.codes)):
                cell: Any = domain.codes[part].astype(np.int64)
                if classes is not None:
                    cell *= class_count
                    cell += classes[part]
                each = None if cuts.counts is None else cuts.counts[part]
                counts = np.bincount(cell, each, minlength=domain.size * class_count)
                by_class[first + 1 : bottom + 1] += counts.astype(np.int64).reshape(
                    domain.size, class_count
                )
        # before[s] counts the records of every leaf slot below s, by class.
        self.before: Counts = np.cumsum(by_class, axis=0)
        self.gain: Floats = np.zeros(slots)
        self.hidden: dict[int, Counts] = {}  # suppressed column → classes of its ⊥ records
        self.alike: dict[int, tuple[NDArray[np.int64], Counts]] = {}
        self.worths: dict[int, float] = {}  # candidate → what it is worth, if not its gain
        self.gained = 0.0
        self.totals: Totals | None = None
        if utility == "discernibility":
            self.totals = SquaredGroups(cuts)
        elif utility == "classification" and (measured or score == "conditional"):
            assert classes is not None
            self.totals = ClassBits(cuts, classes, class_count, sampled=sampled)

    def count(self, low: int, high: int) -> Counts:
        """How many records of each class lie under the slots low, …, high - 1."""
        counted: Counts = self.before[high] - self.before[low]
        return counted

    def begin(self) -> None:
        """Offer every value of the most masked state that can and should be refined."""
        for slot in list(self.cuts.shown):
            self._offer(slot)
        for attribute, domain in enumerate(self.cuts.domains):
            if domain.root is None:
                self.cuts.offer_values(attribute)
                self.hidden[attribute] = self.count(*self.cuts.span(attribute))
                self._rate_values(attribute)
        if self.totals:
            self.totals.begin()

    def forget(self, reveal: Reveal) -> None:
        """Hear of a refinement that is about to be performed."""
        if reveal.told is None:
            self.gained += self.worths.pop(reveal.slot, float(self.gain[reveal.slot]))
        if self.totals:
            self.totals.forget(reveal)

    @property
    def worth(self) -> float:
        """What all refinements together gained; of two cuts of a table, the larger is better."""
        return self.gained if self.totals is None else float(self.totals.saved)

    def reveal(self, reveal: Reveal) -> None:
        """Offer and rate what a refinement opened."""
        if reveal.discloses:
            self.hidden[reveal.attribute] -= self.count(reveal.slot, reveal.slot + 1)
            self._rate_values(reveal.attribute)
        else:
            for slot in reveal.parts:
                self._offer(slot)
        if self.totals:
            self.totals.reveal(reveal)

    def gains(self, slots: NDArray[np.int64]) -> Floats:
        """The utility of candidates."""
        if self.totals is None or (self.score == "paper" and self.utility == "classification"):
            return self.gain[slots]
        drops = self.totals.drops[slots].astype(np.float64)
        if not isinstance(self.totals, ClassBits):
            return drops
        saved = drops / (kernels.UNITS * self.totals.records)
        return np.where(saved > 0, saved, _NO_BITS_SAVED * self.gain[slots])

    def _beneficial(self, touched: Counts) -> bool:
        """Under classification, records of one class gain nothing from being told apart."""
        return self.utility != "classification" or int((touched > 0).sum()) > 1

    def _offer(self, slot: int) -> None:
        """Make a tree value a candidate if it can be refined, holds records and should be."""
        node = self.cuts.shown[slot]
        first = slot - node.low
        touched = self.count(slot, first + node.high)
        if not touched.sum() or not self._beneficial(touched):
            return
        parts = self._cut(slot, node) if node.learnt else node.children
        if not parts:
            return
        self.cuts.offer(slot, parts)
        counts = [self.count(first + part.low, first + part.high) for part in parts]
        attribute = self.cuts.attribute_of(slot)
        if self.utility == "classification":
            self.gain[slot] = information_gain(touched, np.array(counts))
        elif callable(self.utility):
            labels = [part.label for part in parts]
            self.gain[slot] = self._ask(attribute, node.label, labels, counts)
        else:  # by how much less of their column the records cover, all together
            domain = self.cuts.domains[attribute]
            spared = [domain.share(node) - domain.share(part) for part in parts]
            worth = sum(int(n.sum()) * share for n, share in zip(counts, spared, strict=True))
            self.worths[slot] = worth
            self.gain[slot] = worth if self.score == "conditional" else touched.sum()

    def _rate_values(self, attribute: int) -> None:
        """Rate the disclosure of each value of a suppressed column, or offer none any more."""
        first, bottom = self.cuts.span(attribute)
        live = first + np.flatnonzero(self.cuts.live[first:bottom])
        if not len(live):
            return
        hidden = self.hidden[attribute]
        if not self._beneficial(hidden):
            self.cuts.drop(live)
            return
        if self.utility == "classification":
            alike, kinds = self._alike(attribute)
            self.gain[live] = _two_part_gains(hidden, kinds)[alike[live - first]]
            return
        counts = self.before[live + 1] - self.before[live]
        if callable(self.utility):
            domain = self.cuts.domains[attribute]
            for slot, count in zip(live.tolist(), counts, strict=True):
                labels = [domain.leaves[slot - first], domain.marker]
                self.gain[slot] = self._ask(attribute, labels[0], labels, [count, hidden - count])
        else:  # the same: what stays hidden could be one value fewer
            shown = counts.sum(axis=1)
            values = int((self.cuts.current[first:bottom] == bottom).sum())
            others = max(self.cuts.domains[attribute].size - 1, 1)
            narrowed = (shown * (values - 1) + (int(hidden.sum()) - shown)) / others
            self.worths.update(zip(live.tolist(), narrowed.tolist(), strict=True))
            self.gain[live] = narrowed if self.score == "conditional" else shown

    def _alike(self, attribute: int) -> tuple[NDArray[np.int64], Counts]:
        """The distinct class counts among a column's values, and which of them each value has.

        A large domain has few: 100,000 values of a few records each are rated in microseconds.
        """
        if attribute not in self.alike:
            first, bottom = self.cuts.span(attribute)
            counts = np.diff(self.before[first : bottom + 1], axis=0)
            kinds, alike = np.unique(counts, axis=0, return_inverse=True)
            self.alike[attribute] = (alike.reshape(-1), kinds)
        return self.alike[attribute]

    def _ask(
        self, attribute: int, value: str, labels: Sequence[str], counts: Sequence[Counts]
    ) -> float:
        assert callable(self.utility)
        name = self.cuts.domains[attribute].name
        parts = tuple(zip(labels, counts, strict=True))
        touched = sum(int(count.sum()) for count in counts)
        worth = float(self.utility(Candidate(name, value, parts, touched)))
        if not abs(worth) < _MOST_WORTH:
            raise InputError(
                f"the utility of a refinement must be a number, below {_MOST_WORTH:g} in size",
                where=f'attribute "{name}"',
                do="let the function return an ordinary number for every candidate.",
            )
        return worth

    def _cut(self, slot: int, node: DomainNode) -> tuple[DomainNode, ...]:
        """Cut a learnt interval in two; nothing if it holds a single point."""
        if node.high - node.low < 2:
            return ()
        # Each code occurs, so every point but the first cuts off a non-empty left side.
        counts = np.diff(self.before[slot : slot + node.high - node.low + 1], axis=0)
        left = np.cumsum(counts, axis=0)[:-1]
        whole = counts.sum(axis=0)
        if self.has_class:
            at = int(first_best(_two_part_gains(whole, left)))
        else:
            at = int(np.argmin(np.abs(whole.sum() - 2 * left.sum(axis=1))))
        point = node.low + at + 1
        domain = self.cuts.domains[self.cuts.attribute_of(slot)]
        return (
            DomainNode(domain.interval(node.low, point), node.low, point, learnt=True),
            DomainNode(domain.interval(point, node.high), point, node.high, learnt=True),
        )


def entropy(counts: Counts) -> Any:
    """Entropy in bits of counts along the last axis; 0 for no records.

    >>> entropy(np.array([4, 4])).item(), entropy(np.array([3, 0])).item()
    (1.0, 0.0)
    """
    total = counts.sum(axis=-1, keepdims=True)
    share = counts / np.maximum(total, 1)
    log = np.log2(share, out=np.zeros_like(share), where=share > 0)
    # Adding 0 turns the -0.0 of a single class into 0.0.
    return -(share * log).sum(axis=-1) + 0.0


def information_gain(whole: Counts, parts: Counts) -> float:
    """E(R_v) - Σ |R_c| / |R_v| · E(R_c)."""
    weight = parts.sum(axis=1) / whole.sum()
    gain = float(entropy(whole) - (weight * entropy(parts)).sum())
    return gain if gain >= _NOTHING else 0.0


def _two_part_gains(whole: Counts, first: Counts) -> Floats:
    """The gain of splitting `whole` into each row of `first` and what is left."""
    rest = whole - first
    total = whole.sum()
    parts = first.sum(axis=1) * entropy(first) + rest.sum(axis=1) * entropy(rest)
    gains = entropy(whole) - parts / total
    cleaned: Floats = np.where(gains >= _NOTHING, gains, 0.0)
    return cleaned
