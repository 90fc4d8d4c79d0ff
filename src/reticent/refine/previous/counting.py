"""How a promise about a join is counted: our cells, each beside the vector that it goes with."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.data.linking import number_rows
from reticent.errors import InputError
from reticent.refine.previous import kernels
from reticent.refine.previous.ours import Cells, Ours, width_of
from reticent.refine.previous.theirs import (
    Beside,
    Ints,
    Vector,
    Vectors,
    counted_once,
    ranges,
    side_by_side,
)

_AT_ONCE = 1 << 22  # cells that are laid out at a time


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is known of groups: of each as it is, and of what each candidate would make of it.

    A value is a number over 1, or the two parts of a fraction.
    """

    group: Ints
    slot: Ints  # the candidate; -1: the group as it is
    over: Ints
    under: Ints

    def without(self, groups: NDArray[np.bool_]) -> Outlook:
        """The same but for some groups."""
        kept = ~groups[self.group]
        return Outlook(self.group[kept], self.slot[kept], self.over[kept], self.under[kept])

    @staticmethod
    def together(parts: Sequence[Outlook]) -> Outlook:
        """All of them."""
        names = ("group", "slot", "over", "under")
        return Outlook(*(np.concatenate([getattr(part, n) for part in parts]) for n in names))


_NOTHING = Outlook(*(np.zeros(0, dtype=np.int64) for _ in range(4)))


def _pairs(ours: Ours, besides: Sequence[Beside]) -> float:
    """How many pairs of records the join has; to refine takes pairs away, and adds none."""
    rows = np.arange(len(ours.counts))
    found = ours.counts.astype(np.float64)
    for beside in besides:
        linked, behind = beside.linked, np.zeros(len(rows), dtype=np.int64)
        if beside.columns:
            texts, shown = [], []
            for column in beside.columns:  # most of what it can show it does not show now
                now, codes = np.unique(ours.shown(column, rows), return_inverse=True)
                texts.append([ours.texts[column][i] for i in now.tolist()])
                shown.append(codes)
            kernels.candidates(*linked.sets(texts, shown), linked.counts.astype(np.int64), behind)
        else:
            behind += linked.counts.sum()
        found *= behind
    return float(found.sum())


class Way:
    """One way to count a promise: our rows with their marks, beside the earlier releases."""

    def __init__(
        self, ours: Ours, besides: Sequence[Beside], *, anonymity: bool, once: bool = False
    ) -> None:
        """`once`: rows of ours count people who stand in one row each."""
        self.ours, self.anonymity, self.once = ours, anonymity, once
        self.theirs = any(beside.mark_count for beside in besides)  # do they bear marks?
        marked = ours.mark_count > 0
        # A sum of products counts rows, and people who stand in one row each. Whoever may stand in
        # several rows is counted one by one.
        self.by_products = once or not anonymity or (not marked and not self.theirs)
        merged = "alike"
        if anonymity:  # of who is counted, it matters only whether they meet a group at all
            merged = "support" if once or marked else "least"
        if self.theirs:
            merged = ""
        if self.by_products and not once and _pairs(ours, besides) >= 2**62:
            raise InputError(
                "the join has more pairs of records than can be counted",
                where=", ".join(beside.linked.name for beside in besides),
                do="name fewer releases in one template"
                + (", or count people with  of." if anonymity else "."),
            )
        self.sides = [Vectors(beside, merged=merged) for beside in besides]
        self.vectors: dict[tuple[int, ...], Vector] = {}
        self.outlook = _NOTHING

    def __deepcopy__(self, memo: dict[int, Any]) -> Way:
        """The same with rows in their groups as they are; the other side never changes."""
        twin = copy(self)
        twin.ours = deepcopy(self.ours, memo)
        return twin

    def look_at(self, touched: NDArray[np.bool_], over: Iterable[int], *, ahead: bool) -> None:
        """Measure some groups as they are and, looking `ahead`, as candidates would make them."""
        ours = self.ours
        rows = np.flatnonzero(touched[ours.group])
        sizes = [max(len(texts), 1) for texts in ours.texts]
        labels = [ours.shown(column, rows) for column in range(len(ours.links))]
        now = Cells(ours.group[rows], labels, ours.marks[rows], ours.counts[rows])
        cells, _ = now.collapsed(sizes)
        found = [self._measured(cells, cells.group, np.full_like(cells.group, -1))]
        for attribute in ours.attributes if ahead else ():
            first, bottom = ours.cuts.span(attribute)
            if not ours.cuts.live[first : bottom + 1].any():
                continue
            cells, [leaf] = now.collapsed(sizes, ours.leaf[attribute][rows] - first)
            found += self._refined(attribute, cells, leaf + first, splits=attribute in over)
        kept = np.zeros(ours.group_count, dtype=bool)
        kept[: len(touched)] = touched
        self.outlook = Outlook.together([self.outlook.without(kept), *found])

    def _refined(
        self, attribute: int, cells: Cells, leaf: Ints, *, splits: bool
    ) -> Iterator[Outlook]:
        """What the candidates of a column would make of groups, as far as these show them."""
        cuts, texts = self.ours.cuts, self.ours.texts
        sizes = [max(len(known), 1) for known in texts]
        alone = cuts.domains[attribute].root is None  # each value is a candidate of its own
        slot = np.where(cuts.current[leaf] == leaf, -1, leaf) if alone else cuts.current[leaf]
        slot = np.where((slot >= 0) & cuts.live[slot], slot, -1)
        part = leaf if alone else cuts.children[leaf]
        if not (slot >= 0).any():
            return
        later = {
            column: self.ours.if_refined(column)[leaf - int(cuts.offset[attribute])]
            for column, link in enumerate(self.ours.links)
            if link.attribute == attribute
        }
        if splits and not alone:  # all rows of a group show the same value, and go into its parts
            kept = np.flatnonzero(slot >= 0)
            chosen = cells.pick(kept)
            for column, labels in later.items():
                chosen.labels[column] = labels[kept]
            number, count = number_rows(
                [chosen.group, part[kept]], [self.ours.group_count, cuts.none + 1]
            )
            group, candidate = np.zeros((2, count), dtype=np.int64)
            group[number], candidate[number] = chosen.group, slot[kept]
            parts, _ = replace(chosen, group=number).collapsed(sizes)
            yield self._measured(parts, group[parts.group], candidate[parts.group])
            return
        # Other rows of a group stay what they are: they stand beside each candidate of it.
        columns = list(later)
        cells, more = cells.collapsed(sizes, slot + 1, *later.values())
        slots = more[0] - 1
        own = np.flatnonzero(slots >= 0)
        pair, pairs = number_rows(
            [cells.group[own], slots[own]], [self.ours.group_count, cuts.none + 1]
        )
        group, candidate = np.zeros((2, pairs), dtype=np.int64)
        group[pair], candidate[pair] = cells.group[own], slots[own]
        begins = np.searchsorted(cells.group, np.arange(self.ours.group_count + 1))
        for some in _shares(begins[group + 1] - begins[group]):
            at = ranges(begins[group[some]], begins[group[some] + 1])
            number = np.repeat(some, begins[group[some] + 1] - begins[group[some]])
            goes = slots[at] == candidate[number]
            wide = cells.pick(at)
            for column, labels in zip(columns, more[1:], strict=True):
                wide.labels[column] = np.where(goes, labels[at], wide.labels[column])
            into = 2 * number + goes if splits else number
            wide, _ = replace(wide, group=into).collapsed(sizes)
            back = wide.group // 2 if splits else wide.group
            yield self._measured(wide, group[back], candidate[back])

    def _measured(self, cells: Cells, group: Ints, slot: Ints) -> Outlook:
        """Measure groups of cells; the worst of those that one candidate makes of a group."""
        first = np.flatnonzero(np.diff(cells.group, prepend=-1))
        starts = np.append(first, len(cells.group))
        over, under = self._values(cells, starts)
        group, slot = group[first], slot[first]
        order = np.lexsort([slot, group])
        heads = np.flatnonzero(
            (np.diff(group[order], prepend=-1) != 0) | (np.diff(slot[order], prepend=-2) != 0)
        )
        best_over, best_under = np.zeros((2, len(heads)), dtype=np.int64)
        kernels.worst_of(
            np.append(heads, len(order)), over[order], under[order], self.anonymity,
            best_over, best_under,
        )  # fmt: skip
        return Outlook(group[order][heads], slot[order][heads], best_over, best_under)

    def _values(self, cells: Cells, starts: Ints) -> tuple[Ints, Ints]:
        """The worst value of the joined groups of each group of cells."""
        widths = [max(len(texts), 1) for texts in self.ours.texts]
        none = np.zeros_like(cells.group)
        tuples, count = number_rows(cells.labels or [none], widths or [1])
        model = np.zeros(count, dtype=np.int64)
        model[tuples] = np.arange(len(tuples))
        labels = [column[model].tolist() for column in cells.labels]
        vectors = [self.vector(one) for one in (zip(*labels, strict=True) if labels else [()])]
        begins = np.cumsum([0, *(len(vector[0]) for vector in vectors)])
        places, marks, amounts = (np.concatenate(part) for part in zip(*vectors, strict=True))
        if not self.by_products:
            return self._one_by_one(cells, starts, tuples, begins, places, marks)
        places, room = _renumbered(places, self.places)
        over, under = np.zeros(len(starts) - 1, np.int64), np.ones(len(starts) - 1, np.int64)
        total, seen = np.zeros((2, room + 1), dtype=np.int64)
        first = (starts, tuples)
        vector = (begins, places, amounts)
        if self.anonymity:
            kernels.smallest_products(*first, cells.weights, *vector, total, seen, over)
        elif not self.theirs:
            kernels.largest_shares(
                *first, cells.marks, cells.weights, *vector, total, np.zeros_like(total), seen,
                over, under,
            )  # fmt: skip
        else:
            width = max(side.mark_count for side in self.sides)
            pairs, wide = _renumbered(places * width + np.maximum(marks - 1, 0), room * width)
            kernels.largest_shares_of_theirs(
                *first, cells.weights, begins, places, pairs, marks, amounts, total,
                np.zeros(wide + 1, dtype=np.int64), seen, over, under,
            )  # fmt: skip
        return over, under

    def _one_by_one(
        self, cells: Cells, starts: Ints, tuples: Ints, begins: Ints, places: Ints, marks: Ints
    ) -> tuple[Ints, Ints]:
        """The fewest different people in the joined groups of each group of cells."""
        mine = cells.marks if self.ours.mark_count else np.ones_like(cells.group)
        yours = marks if self.theirs else np.ones_like(places)
        people, room = _renumbered(places * width_of(yours) + yours, self.places * width_of(yours))
        places, groups = _renumbered(places, self.places)
        fewest = np.zeros(len(starts) - 1, dtype=np.int64)
        total, seen = np.zeros((2, groups + 1), dtype=np.int64)
        last = np.zeros(room + 1, dtype=np.int64)
        kernels.fewest_people(
            starts, tuples, mine, begins, places, people, yours, total, seen, last, fewest
        )
        return fewest, np.ones_like(fewest)

    def vector(self, labels: tuple[int, ...]) -> Vector:
        """What stands behind the keys that shown labels allow: groups of theirs, marks, counts."""
        if labels not in self.vectors:
            self.vectors[labels] = self._vector(labels)
        return self.vectors[labels]

    def _vector(self, labels: tuple[int, ...]) -> Vector:
        found: Vector | None = None
        marked = False  # do releases before this one bear marks?
        for side in self.sides:
            bits = side.linked.everybody
            for link, column in enumerate(side.columns):
                bits = bits & side.linked.allowed(link, self.ours.texts[column][labels[column]])
            one = side.behind(bits)
            if self.once:  # one of ours counts once, or once with each of their marks
                one = counted_once(*one[:2], marked=side.mark_count > 0)
            found = one if found is None else side_by_side(found, one, side, marked=marked)
            marked |= side.mark_count > 0
        assert found is not None
        return found

    @property
    def places(self) -> int:
        """How many groups of theirs there can be, of all releases together."""
        return math.prod(max(side.group_count, 1) for side in self.sides)


def _shares(sizes: Ints) -> Iterator[Ints]:
    """The positions of some sizes, in runs whose sum is not too large."""
    if not len(sizes):
        return
    run = (np.cumsum(sizes) - sizes) // _AT_ONCE
    for number in np.unique(run):
        yield np.flatnonzero(run == number)


def _renumbered(numbers: Ints, most: int) -> tuple[Ints, int]:
    """Numbers as they are or, where scratch room for all would be too much, those that occur."""
    if most <= max(4 * len(numbers), 1 << 20):
        return numbers, most
    found, inverse = np.unique(numbers, return_inverse=True)
    return inverse.astype(np.int64), len(found)
