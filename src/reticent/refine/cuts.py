"""What every masked column shows now, and what it could show next.

All columns share one numbering of *slots*: a column's leaf codes, shifted so that no two columns
overlap, plus one slot for its suppressed rest (⊥, "bottom"). A value that can be shown is a run of
slots and goes by the first of them. Values shown at one time never overlap, so a candidate is
known by one slot, and the order of slots is the tie order of candidates.

Columns of other owners have no slots (`reticent.refine.foreign`); they are numbered after our own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reticent.data.encode import Domain, DomainNode
from reticent.refine.foreign import ForeignColumn, NoPartition, Partition


@dataclass(frozen=True, slots=True)
class Reveal:
    """One refinement, as everybody who keeps counts needs to hear of it."""

    attribute: int
    column: str
    slot: int  # the candidate; -1 if it is another owner's
    shown: int  # the slot, or the number of a foreign value, that its records show until then
    low: int  # its slots are low, …, high - 1
    high: int
    discloses: bool  # one value of those that are suppressed; the others stay so
    parts: tuple[int, ...]  # slots of the non-empty parts
    name: str  # by which `Cuts.slot_of` finds it
    label: str  # how it was shown,
    into: tuple[str, ...]  # and what is shown now
    told: Partition | None = None  # how it was heard of, if it is another owner's


class Cuts:
    """The cut of every masked column, and its candidates."""

    def __init__(
        self,
        domains: Sequence[Domain],
        counts: NDArray[np.int64] | None = None,
        foreign: Sequence[ForeignColumn] = (),
    ) -> None:
        """`counts`: how many records each row of the domains stands for; one each if not told.

        `foreign`: columns of other owners. With them, every row is one record.
        """
        assert counts is None or not foreign
        self.domains = tuple(domains)
        self.foreign = tuple(foreign)
        self.counts = counts
        sizes = [domain.size + 1 for domain in domains]
        self.offset: NDArray[np.int64] = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.none = int(self.offset[-1])  # the slot that stands for "goes nowhere"
        slots = self.none + 1
        # current[s]: the slot of the value that rows with leaf s show now.
        self.current: NDArray[np.int64] = np.full(slots, self.none, dtype=np.int64)
        # children[s]: the slot of the part they would go to; `none` where that is no candidate.
        self.children: NDArray[np.int64] = np.full(slots, self.none, dtype=np.int64)
        # live[s]: s is a candidate, or the ⊥ of a column that still has one.
        self.live: NDArray[np.bool_] = np.zeros(slots, dtype=bool)
        self.lows: NDArray[np.int64] = np.zeros(slots, dtype=np.int64)
        self.highs: NDArray[np.int64] = np.zeros(slots, dtype=np.int64)
        self.bottoms: NDArray[np.bool_] = np.zeros(slots, dtype=bool)
        # stopped[s]: after how many reveals a promise ruled the candidate s out; -1: none did.
        self.stopped: NDArray[np.int64] = np.full(slots, -1, dtype=np.int64)
        self.places: dict[int, dict[str, int]] = {}  # of suppressed values, once asked for
        self.reveals = 0
        self.shown: dict[int, DomainNode] = {}  # slot → the tree value shown there
        for attribute, domain in enumerate(self.domains):
            first, bottom = self.span(attribute)
            if domain.root is not None:
                self._show(attribute, domain.root)
            else:
                self.current[first:bottom] = bottom
                self.lows[bottom], self.highs[bottom] = first, bottom
                self.bottoms[bottom] = True

    def span(self, attribute: int) -> tuple[int, int]:
        """The first leaf slot of a column, and its ⊥ slot just after the last."""
        return int(self.offset[attribute]), int(self.offset[attribute + 1]) - 1

    def attribute_of(self, slot: int) -> int:
        """The column a slot belongs to."""
        return int(np.searchsorted(self.offset, slot, side="right")) - 1

    def slot_of(self, name: str, label: str, whole: str = "") -> int:
        """The slot of a value that a column shows, or could disclose; -1 if there is none.

        `label`: as a search knows it. `whole`: the widest interval of the table that it is of. Its
        ends are its own: what reaches up to one of them there reaches up to our own end here.
        """
        attribute = [domain.name for domain in self.domains].index(name)
        first, bottom = self.span(attribute)
        domain = self.domains[attribute]
        if domain.root is None:
            if attribute not in self.places:
                self.places[attribute] = {value: i for i, value in enumerate(domain.leaves)}
            return first + self.places[attribute].get(label, -1 - first)
        asked, ours = label, ""
        if domain.ends is not None and not domain.bins and label != domain.marker:
            ours = domain.interval(0, len(domain.scale.points) if domain.scale else 0)
            asked = _inner_ends(label, whole)
        for slot, node in self.shown.items():
            if first <= slot < bottom:
                known = node.label
                if ours and known != domain.marker:
                    known = _inner_ends(known, ours)
                if known == asked:
                    return slot
        return -1

    def candidates(self) -> NDArray[np.int64]:
        """The live candidates, in tie order."""
        return np.flatnonzero(self.live & ~self.bottoms)

    def offer(self, slot: int, parts: Sequence[DomainNode]) -> None:
        """Make the tree value at `slot` a candidate that would be refined into `parts`."""
        first = int(self.offset[self.attribute_of(slot)])
        node = self.shown[slot]
        if parts != node.children:  # the cut point of a learnt interval is known now
            self.shown[slot] = DomainNode(node.label, node.low, node.high, tuple(parts))
        for part in parts:
            self.children[first + part.low : first + part.high] = first + part.low
        self.live[slot] = True

    def offer_values(self, attribute: int) -> None:
        """Make every value of a suppressed column a candidate."""
        first, bottom = self.span(attribute)
        self.children[first:bottom] = np.arange(first, bottom)
        self.live[first : bottom + 1] = True

    def drop(self, slots: NDArray[np.int64]) -> None:
        """Forget candidates for good; their parts are no longer counted."""
        self.live[slots] = False
        self.children[slots] = self.none
        for slot in slots.tolist():
            if slot in self.shown:
                self.children[self.lows[slot] : self.highs[slot]] = self.none
        for attribute, domain in enumerate(self.domains):
            if domain.root is None:
                first, bottom = self.span(attribute)
                self.live[bottom] = self.live[first:bottom].any()

    def stop(self, slots: NDArray[np.int64]) -> None:
        """Drop candidates that would break a promise, and note when that came out."""
        self.stopped[slots] = self.reveals
        self.drop(slots)

    def aimed(self, slot: int) -> Reveal:
        """The refinement of the candidate at `slot`, before it is performed."""
        attribute = self.attribute_of(slot)
        first, bottom = self.span(attribute)
        domain = self.domains[attribute]
        if domain.root is None:
            label = domain.leaves[slot - first]
            rest = (bottom,) if (self.current[first:bottom] == bottom).sum() > 1 else ()
            return Reveal(
                attribute, domain.name, slot, bottom, slot, slot + 1, True,
                (slot, *rest), label, label, (label, domain.marker),
            )  # fmt: skip
        node = self.shown[slot]
        return Reveal(
            attribute, domain.name, slot, slot, first + node.low, first + node.high, False,
            tuple(first + part.low for part in node.children if part.low < part.high),
            node.label, domain.printed(node), tuple(map(domain.printed, node.children)),
        )  # fmt: skip

    def heard(self, told: Partition) -> Reveal:
        """The refinement that another owner tells of, before it is performed.

        Raises `NoPartition` if it cannot be one.
        """
        names = [column.name for column in self.foreign]
        if told.column not in names:
            raise NoPartition("is about a column that others do not have")
        position = names.index(told.column)
        column = self.foreign[position]
        number = column.check(told)
        label = column.labels[number] or ""
        return Reveal(
            len(self.domains) + position, column.name, -1, number, 0, 0, False,
            (), label, label, told.labels, told,
        )  # fmt: skip

    def perform(self, reveal: Reveal) -> None:
        """Show what a refinement reveals."""
        self.reveals += 1
        if reveal.told is not None:
            self.foreign[reveal.attribute - len(self.domains)].divide(reveal.told)
        elif reveal.discloses:
            self.current[reveal.slot] = reveal.slot
            self.drop(np.array([reveal.slot]))
        else:
            node = self.shown.pop(reveal.slot)
            self.live[reveal.slot] = False
            self.children[reveal.low : reveal.high] = self.none
            for part in node.children:
                if part.low < part.high:
                    self._show(reveal.attribute, part)

    def telling(self, slot: int) -> Partition:
        """What other owners need to hear of a candidate before it is refined: who goes where.

        Parts that hold no record are not told, nor is what lies below any part.
        """
        reveal = self.aimed(slot)
        domain, first = self.domains[reveal.attribute], int(self.offset[reveal.attribute])
        leaves = first + domain.codes.astype(np.int64)
        members = np.flatnonzero(self.current[leaves] == reveal.shown)
        if reveal.discloses:
            went = (leaves[members] != slot).astype(np.int64)
            labels = reveal.into[: len(reveal.parts)]
        else:
            number = np.zeros(self.none + 1, dtype=np.int64)
            number[list(reveal.parts)] = np.arange(len(reveal.parts))
            went = number[self.children[leaves[members]]]
            held = (child for child in self.shown[slot].children if child.low < child.high)
            labels = tuple(map(domain.printed, held))
        return Partition(reveal.column, int(members[0]), went, labels)

    def by_record(self, attribute: int) -> tuple[NDArray[np.int64], list[str]]:
        """What each record shows of a column of ours: positions into a list of labels."""
        first = int(self.offset[attribute])
        leaves = first + self.domains[attribute].codes.astype(np.int64)
        slots, position = np.unique(self.current[leaves], return_inverse=True)
        labels = [self._label(attribute, slot) for slot in slots.tolist()]
        return position.astype(np.int64), labels

    def _label(self, attribute: int, slot: int) -> str:
        """How the value at a slot is shown to people."""
        first, bottom = self.span(attribute)
        domain = self.domains[attribute]
        if domain.root is not None:
            return domain.printed(self.shown[slot])
        return domain.marker if slot == bottom else domain.leaves[slot - first]

    def _show(self, attribute: int, node: DomainNode) -> None:
        first = int(self.offset[attribute])
        slot = first + node.low
        self.current[slot : first + node.high] = slot
        self.lows[slot], self.highs[slot] = slot, first + node.high
        self.shown[slot] = node

    def after(self, attribute: int, parts: Iterable[int]) -> NDArray[np.int64]:
        """What leaf codes were shown as, equal or not, when just these parts had been revealed."""
        first, bottom = self.span(attribute)
        shown = np.zeros(bottom - first, dtype=np.int64)
        shown[[part - first for part in parts if first <= part < bottom]] = 1
        begun = np.cumsum(shown)
        return begun if self.domains[attribute].root is not None else begun * shown

    def labels(self, attribute: int) -> tuple[NDArray[np.int64], list[str]]:
        """What each leaf code of a column is shown as: positions into a list of labels."""
        first, bottom = self.span(attribute)
        domain = self.domains[attribute]
        shown, position = np.unique(self.current[first:bottom], return_inverse=True)
        if domain.root is None:
            labels = [domain.marker if s == bottom else domain.leaves[s - first] for s in shown]
        else:
            labels = [self.shown[slot].label for slot in shown.tolist()]
        return position.astype(np.int64), labels


def _inner_ends(label: str, whole: str) -> str:
    """An interval without the ends that it shares with the whole.

    >>> [_inner_ends(label, "[0,90]") for label in ("[0,90]", "[0,20)", "[20,35)", "[35,90]")]
    ['..', '..20', '20..35', '35..']
    """
    low, _, high = label[1:-1].partition(",")
    outer, _, _ = whole[1:-1].partition(",")
    return f"{'' if low == outer else low}..{'' if label.endswith(']') else high}"
