"""How linked rows are counted: our cells, each beside the vector that it goes with."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reticent.data.linking import number_rows
from reticent.errors import InputError
from reticent.refine.previous.kernels import (
    count_matches,
    fewest_people,
    largest_shares,
    largest_shares_of_theirs,
    smallest_products,
    worst_of,
)
from reticent.refine.previous.ours import Cells, Ours, width_of
from reticent.refine.previous.theirs import (
    Ints,
    Vector,
    Vectors,
    counted_once,
    ranges,
    side_by_side,
)

_AT_ONCE = 1 << 22  # cells that are laid out at a time


class Outlook(NamedTuple):
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
        return Outlook(*(column[kept] for column in self))

    @staticmethod
    def together(parts: Sequence[Outlook]) -> Outlook:
        """All of them."""
        return Outlook(*map(np.concatenate, zip(*parts, strict=True)))


def _pairs(ours: Ours, sides: Sequence[Vectors]) -> float:
    """How many pairs of records are linked; to refine takes pairs away, and adds none."""
    rows = np.arange(len(ours.counts))
    found = ours.counts.astype(np.float64)
    for side in sides:
        linked, behind = side.linked, np.zeros(len(rows), dtype=np.int64)
        if side.columns:
            texts, shown = [], []
            for column in side.columns:  # most of what it can show it does not show now
                now, codes = np.unique(ours.shown(column, rows), return_inverse=True)
                texts.append([ours.texts[column][i] for i in now.tolist()])
                shown.append(codes)
            count_matches(*linked.sets(texts, shown), linked.counts.astype(np.int64), behind)
        else:
            behind += linked.counts.sum()
        found *= behind
    return float(found.sum())


class Way:
    """One way to count a promise: our rows with their marks, beside the earlier releases."""

    def __init__(
        self, ours: Ours, sides: Sequence[Vectors], *, anonymity: bool, once: bool = False
    ) -> None:
        """`once`: rows of ours count people who stand in one row each."""
        self.ours, self.sides, self.anonymity, self.once = ours, list(sides), anonymity, once
        self.theirs = any(side.mark_count for side in sides)  # do they bear marks?
        marked = ours.mark_count > 0
        # A sum of products counts rows, and people who stand in one row each. Whoever may stand in
        # several rows is counted one by one.
        self.by_products = once or not anonymity or (not marked and not self.theirs)
        if self.by_products and not once and _pairs(ours, sides) >= 2**62:
            raise InputError(
                "the join has more pairs of records than can be counted",
                where=", ".join(side.linked.name for side in sides),
                do="name fewer releases in one template"
                + (", or count people with  of." if anonymity else "."),
            )
        for side in sides if not self.theirs else ():
            if not anonymity:
                side.merge("alike")
            else:  # of who is counted, it matters only whether they meet a group at all
                side.merge("support" if once or marked else "least")
        self.vectors: dict[tuple[int, ...], Vector] = {}
        self.outlook = Outlook(*np.zeros((4, 0), dtype=np.int64))

    def __deepcopy__(self, memo: dict[int, Any]) -> Way:
        """The same with rows in their groups as they are; the other side never changes."""
        twin = copy(self)
        twin.ours = deepcopy(self.ours, memo)
        return twin

    def look_at_all(self, over: Collection[int], *, ahead: bool) -> None:
        """Measure every group."""
        self.look_at(np.ones(self.ours.group_count, dtype=bool), over, ahead=ahead)

    def look_at(self, touched: NDArray[np.bool_], over: Collection[int], *, ahead: bool) -> None:
        """Measure some groups as they are and, looking `ahead`, as candidates would make them."""
        ours = self.ours
        rows = np.flatnonzero(touched[ours.group])
        labels = [ours.shown(column, rows) for column in range(len(ours.links))]
        now = Cells(ours.group[rows], labels, ours.marks[rows], ours.counts[rows])
        cells, _ = now.collapsed(ours.widths)
        found = [self._measured(cells, cells.group, np.full_like(cells.group, -1))]
        for attribute in ours.attributes if ahead else ():
            first, bottom = ours.cuts.span(attribute)
            if not ours.cuts.live[first : bottom + 1].any():
                continue
            cells, [leaf] = now.collapsed(ours.widths, ours.leaf[attribute][rows] - first)
            found += self._refined(attribute, cells, leaf + first, splits=attribute in over)
        self.outlook = Outlook.together([self.outlook.without(touched), *found])

    def _refined(
        self, attribute: int, cells: Cells, leaf: Ints, *, splits: bool
    ) -> Iterator[Outlook]:
        """What the candidates of a column would make of groups, as far as these show them.

        `splits`: the column is in `over`. A group of 5 records from UK, 2 from FR and 4 from US:

            its column    shows of them        candidate   would make of the group
            tree          Europe, Europe, US   Europe      UK 5, FR 2, US 4: one group
            tree, over    Europe, Europe; -    Europe      UK 5 | FR 2: US is in another group
            value         ⊥, ⊥, ⊥              UK          UK 5, ⊥ 2 + 4: one group
            value, over   ⊥, ⊥, ⊥              UK          UK 5 | ⊥ 2 + 4; and so for FR and US
        """
        ours, cuts = self.ours, self.ours.cuts
        alone = cuts.domains[attribute].root is None  # each value is a candidate of its own
        slot = np.where(cuts.current[leaf] == leaf, -1, leaf) if alone else cuts.current[leaf]
        slot = np.where((slot >= 0) & cuts.live[slot], slot, -1)  # by cell; -1: it can show no more
        if not (slot >= 0).any():
            return
        then = {
            column: ours.by_leaf(column)[1][leaf - int(cuts.offset[attribute])]
            for column, link in enumerate(ours.links)
            if link.attribute == attribute
        }
        if splits and not alone:
            yield self._in_parts(cells, slot, cuts.children[leaf], then)
        else:
            yield from self._beside_others(cells, slot, then, splits=splits)

    def _in_parts(self, cells: Cells, slot: Ints, part: Ints, then: Mapping[int, Ints]) -> Outlook:
        """All rows of a group show the same value, and go into its parts."""
        own = np.flatnonzero(slot >= 0)
        chosen = cells.pick(own)
        for column, labels in then.items():
            chosen.labels[column] = labels[own]
        number, group, candidate = _numbered(chosen.group, part[own], slot[own])
        parts, _ = replace(chosen, group=number).collapsed(self.ours.widths)
        return self._measured(parts, group[parts.group], candidate[parts.group])

    def _beside_others(
        self, cells: Cells, slot: Ints, then: Mapping[int, Ints], *, splits: bool
    ) -> Iterator[Outlook]:
        """Other rows of a group stay what they are: they stand beside each candidate of it."""
        # Leaves matter no more, only what is shown of them now and then: far fewer cells.
        cells, (slot, *labels) = cells.collapsed(self.ours.widths, slot + 1, *then.values())
        for group, candidate, pair, at in _with_all_cells(cells.group, slot - 1):
            goes = slot[at] - 1 == candidate[pair]
            wide = cells.pick(at)
            for column, refined in zip(then, labels, strict=True):
                wide.labels[column] = np.where(goes, refined[at], wide.labels[column])
            # Where the group is split, those who go are one part of it and all others another.
            into = 2 * pair + goes if splits else pair
            wide, _ = replace(wide, group=into).collapsed(self.ours.widths)
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
        worst_of(
            np.append(heads, len(order)), over[order], under[order], self.anonymity,
            best_over, best_under,
        )  # fmt: skip
        return Outlook(group[order][heads], slot[order][heads], best_over, best_under)

    def _values(self, cells: Cells, starts: Ints) -> tuple[Ints, Ints]:
        """The worst value of the linked groups of each group of cells."""
        none = np.zeros_like(cells.group)
        tuples, count = number_rows(cells.labels or [none], self.ours.widths or [1])
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
            smallest_products(*first, cells.weights, *vector, total, seen, over)
        elif not self.theirs:
            largest_shares(
                *first, cells.marks, cells.weights, *vector, total, np.zeros_like(total), seen,
                over, under,
            )  # fmt: skip
        else:
            width = max(side.mark_count for side in self.sides)
            pairs, wide = _renumbered(places * width + np.maximum(marks - 1, 0), room * width)
            largest_shares_of_theirs(
                *first, cells.weights, begins, places, pairs, marks, amounts, total,
                np.zeros(wide + 1, dtype=np.int64), seen, over, under,
            )  # fmt: skip
        return over, under

    def _one_by_one(
        self, cells: Cells, starts: Ints, tuples: Ints, begins: Ints, places: Ints, marks: Ints
    ) -> tuple[Ints, Ints]:
        """The fewest different people in the linked groups of each group of cells."""
        mine = cells.marks if self.ours.mark_count else np.ones_like(cells.group)
        yours = marks if self.theirs else np.ones_like(places)
        people, room = _renumbered(places * width_of(yours) + yours, self.places * width_of(yours))
        places, groups = _renumbered(places, self.places)
        fewest = np.zeros(len(starts) - 1, dtype=np.int64)
        total, seen = np.zeros((2, groups + 1), dtype=np.int64)
        last = np.zeros(room + 1, dtype=np.int64)
        fewest_people(
            starts, tuples, mine, begins, places, people, yours, total, seen, last, fewest
        )
        return fewest, np.ones_like(fewest)

    def vector(self, labels: tuple[int, ...]) -> Vector:
        """What stands behind the keys that shown labels allow: groups of theirs, marks, counts."""
        if labels in self.vectors:
            return self.vectors[labels]
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
        self.vectors[labels] = found
        return found

    @property
    def places(self) -> int:
        """How many groups of theirs there can be, of all releases together."""
        return math.prod(max(side.group_count, 1) for side in self.sides)


def _numbered(group: Ints, by: Ints, slot: Ints) -> tuple[Ints, Ints, Ints]:
    """Number cells by their group and something else; of each number, its group and candidate."""
    number, count = number_rows([group, by], [width_of(group), width_of(by)])
    of_group, candidate = np.zeros((2, count), dtype=np.int64)
    of_group[number], candidate[number] = group, slot
    return number, of_group, candidate


def _with_all_cells(group: Ints, slot: Ints) -> Iterator[tuple[Ints, Ints, Ints, Ints]]:
    """Each group with each of its candidates, and beside every such pair all cells of the group.

    There may be many, so that they come in runs: group and candidate of each pair, then by cell the
    pair and where the cell stands. In group 0, two cells are of candidates and the third of none:

    >>> [run] = _with_all_cells(np.array([0, 0, 0, 1]), np.array([7, 8, -1, 7]))
    >>> for numbers in run:
    ...     print(numbers)
    [0 0 1]
    [7 8 7]
    [0 0 0 1 1 1 2]
    [0 1 2 0 1 2 3]
    """
    own = slot >= 0
    _, groups, candidates = _numbered(group[own], slot[own], slot[own])
    begins = np.searchsorted(group, np.arange(width_of(group) + 1))
    sizes = begins[groups + 1] - begins[groups]
    run = (np.cumsum(sizes) - sizes) // _AT_ONCE
    for number in np.unique(run):
        some = np.flatnonzero(run == number)
        pair = np.repeat(np.arange(len(some)), sizes[some])
        starts = begins[groups[some]]
        yield groups[some], candidates[some], pair, ranges(starts, starts + sizes[some])


def _renumbered(numbers: Ints, most: int) -> tuple[Ints, int]:
    """Numbers as they are or, where scratch room for all would be too much, those that occur."""
    if most <= max(4 * len(numbers), 1 << 20):
        return numbers, most
    found, inverse = np.unique(numbers, return_inverse=True)
    return inverse.astype(np.int64), len(found)
