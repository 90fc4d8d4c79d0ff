"""What a refinement does to a promise about the join with earlier releases.

Earlier releases are out and cannot change. Whoever has them puts every row of ours beside every row
of theirs that may belong to the same person (`reticent.table.linking`), and knows the columns of
the promise's `over` on both sides. The join is never built. Rows of ours that show the same, and
rows of theirs that look the same, are counted once on each side:

    paper           here
    |P1| · |P2|     weights of our cells times amounts of a vector; summed by joined group, x
    a(x), a(x, y)   `joins.smallest_products`, `joins.largest_shares`
    P1 matches P2   a cell goes with one vector: all that is behind the keys it allows

A *group* holds the rows of ours that show the same in `over`. A *cell* is what is left of a group
once rows are counted once that allow the same keys. A *vector* says what stands behind such keys:
groups of theirs, and how many records. Many cells share one vector, and it is made once.

Where the promise is about one side only and `over` holds every column that links the two, the join
changes nothing: in a joined group there is one cell on each side, and all of it. Then it is
measured on our table alone, or is a constant (`reticent.searching` sees to that). Everywhere else
a refinement can also mend a promise (lemmas 6.2.1 and 6.2.2 of the thesis claim too much): it takes
away matches. So no candidate is ruled out for good, and what each would do is kept by group: a
reveal changes the groups that it touches and no other.

Source: Fung 2007, chapter 6.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.errors import InputError
from reticent.privacy.promises import Anonymity, Promise
from reticent.refine import joins
from reticent.refine.cuts import Cuts, Reveal
from reticent.refine.measures import Forecast, Slots
from reticent.table.collapse import Codes, distinct
from reticent.table.linking import Bits, Linked, keys_in, number_rows

Ints = NDArray[np.int64]
_UNSEEN = np.iinfo(np.int64).max
_AT_ONCE = 1 << 22  # cells that are laid out at a time


@dataclass(frozen=True, slots=True)
class Shown:
    """A column of ours that links: masked, or released as it is."""

    attribute: int  # among the masked columns; -1 if it is released as it is
    codes: Codes | None = None  # then its rows,
    texts: tuple[str | None, ...] = ()  # and what they hold


@dataclass(frozen=True, slots=True)
class Beside:
    """One earlier release, as a promise sees it."""

    linked: Linked
    columns: tuple[int, ...]  # which of our linking columns each of its links is
    groups: Ints  # by row of theirs: equal in the promise's columns of theirs
    group_count: int
    marks: Codes | None = None  # what the promise counts of theirs: 1, 2, …; 0 is none
    mark_count: int = 0


class Vectors:
    """What stands behind the keys of one earlier release: groups of theirs, marks and counts."""

    def __init__(self, beside: Beside, *, merged: str = "") -> None:
        """`merged`: groups of theirs that no promise can tell apart are taken for one.

        "alike": whose keys are the same, in the same proportion; "least": of those, the smallest;
        "support": whose keys are the same.
        """
        self.linked, self.columns = beside.linked, beside.columns
        self.mark_count = beside.mark_count
        marks = beside.marks if beside.marks is not None else np.zeros(1, dtype=np.uint8)
        rows = beside.linked.table.rows
        marks = marks if len(marks) == rows else np.zeros(rows, dtype=np.uint8)
        keys = beside.linked.key_of_row
        sizes = [len(beside.linked.counts), beside.group_count, beside.mark_count + 1]
        counts = beside.linked.table.counts
        found = distinct([keys, beside.groups, marks], sizes, counts)
        key, group, mark = (column.astype(np.int64) for column in found.columns)
        amount = found.counts.astype(np.int64)
        self.group_count = beside.group_count
        if merged:
            keep, amount, group, self.group_count = _merged(key, group, amount, merged)
            key, group, mark, amount = key[keep], group[keep], mark[keep], amount[keep]
        self.group, self.mark, self.amount = group, mark, amount
        self.begins = np.searchsorted(key, np.arange(len(beside.linked.counts) + 1))

    def behind(self, bits: Bits) -> tuple[Ints, Ints, Ints]:
        """Groups, marks and counts behind some keys; groups ascend."""
        keys = keys_in(bits, len(self.begins) - 1)
        at = _ranges(self.begins[keys], self.begins[keys + 1])
        group, mark, amount = self.group[at], self.mark[at], self.amount[at]
        width = int(self.mark.max(initial=0)) + 1
        number = group * width + mark
        order = np.argsort(number, kind="stable")
        number, amount = number[order], amount[order]
        first = np.flatnonzero(np.diff(number, prepend=-1))
        added = np.add.reduceat(amount, first) if len(first) else amount
        return number[first] // width, number[first] % width, added


def _ranges(starts: Ints, ends: Ints) -> Ints:
    """The numbers from each start up to its end, one run after the other."""
    sizes = ends - starts
    shift = np.repeat(starts - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes)
    return np.asarray(np.arange(int(sizes.sum())) + shift, dtype=np.int64)


def _merged(
    key: Ints, group: Ints, amount: Ints, how: str
) -> tuple[NDArray[np.int64], Ints, Ints, int]:
    """Groups of theirs with the same keys as one of them: which cells stay, and as what."""
    order = np.lexsort([key, group])
    k, g, n = key[order], group[order], amount[order]
    first = np.flatnonzero(np.diff(g, prepend=-1))
    sizes = np.diff(first, append=len(g))
    number = np.repeat(np.arange(len(first)), sizes)
    scale = np.gcd.reduceat(n, first)
    shape = np.ones_like(n) if how == "support" else n // scale[number]
    # Two random sums shortlist; what they call equal is compared.
    rng = np.random.default_rng(1)
    hashes = []
    for _ in range(2):
        odd = rng.integers(1, 2**63, 3, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        mixed = (k.astype(np.uint64) + odd[2]) * odd[0]
        mixed ^= (mixed >> np.uint64(29)) + shape.astype(np.uint64) * odd[1]
        mixed *= odd[0]
        hashes.append(np.add.reduceat(mixed ^ (mixed >> np.uint64(32)), first))
    _, where, same = np.unique(
        np.stack([*hashes, sizes.astype(np.uint64)], axis=1),
        axis=0, return_index=True, return_inverse=True,
    )  # fmt: skip
    same = same.reshape(-1)
    if how == "least":
        by_scale = np.lexsort([scale, same])
        where = by_scale[np.flatnonzero(np.diff(same[by_scale], prepend=-1))]
    model = where[same]  # for each group, the one that stands for it
    at = first[model][number] + (np.arange(len(g)) - first[number])
    if not (np.array_equal(k[at], k) and np.array_equal(shape[at], shape)):
        return np.arange(len(key)), amount, group, int(group.max(initial=-1)) + 1
    stay = np.zeros(len(first), dtype=bool)
    stay[where] = True
    kept = np.sort(order[stay[number]])
    to = np.zeros(int(group.max(initial=-1)) + 1, dtype=np.int64)
    to[g[first]] = same
    told = amount.copy()
    if how != "least":
        told[order] = shape
    return kept, told, to[group], len(where)


class Ours:
    """Our rows as far as they differ in something that counts, each once."""

    def __init__(
        self,
        cuts: Cuts,
        over: Sequence[int],
        links: Sequence[Shown],
        marks: Codes | None = None,
        mark_count: int = 0,
        groups: tuple[Ints, int] | None = None,
        weights: Ints | None = None,
    ) -> None:
        """`groups`: what is known of `over`, where nothing of it is masked.

        `weights`: how many each row counts for, if not as many as it has records.
        """
        self.cuts, self.links = cuts, tuple(links)
        linking = {link.attribute for link in links if link.attribute >= 0}
        self.attributes = tuple(sorted({*over, *linking}))
        fixed = [link for link in links if link.codes is not None]
        columns: list[Any] = [cuts.domains[a].codes for a in self.attributes]
        columns += [link.codes for link in fixed]
        sizes = [cuts.domains[a].size for a in self.attributes]
        sizes += [max(len(link.texts), 1) for link in fixed]
        if marks is not None:
            columns, sizes = [*columns, marks], [*sizes, mark_count + 1]
        if groups is not None:
            columns, sizes = [groups[0], *columns], [groups[1], *sizes]
        if not columns:
            columns, sizes = [np.zeros(_rows(cuts), dtype=np.uint8)], [1]
        found = distinct(columns, sizes, cuts.counts if weights is None else weights)
        held = [column.astype(np.int64) for column in found.columns]
        known = held.pop(0) if groups is not None else None
        self.leaf = {a: held[i] + int(cuts.offset[a]) for i, a in enumerate(self.attributes)}
        self.fixed = held[len(self.attributes) : len(self.attributes) + len(fixed)]
        self.counts = found.counts.astype(np.int64)
        self.marks = held[-1] if marks is not None else np.zeros_like(self.counts)
        self.mark_count = mark_count
        self.group = np.zeros_like(self.counts) if known is None else known  # equal in `over`
        self.group_count = 1 if groups is None else groups[1]
        self.texts = [self._texts(link) for link in links]  # all that a column can ever show
        self.number = [{text: i for i, text in enumerate(texts)} for texts in self.texts]

    def _texts(self, link: Shown) -> list[str | None]:
        if link.attribute < 0:
            return list(link.texts)
        domain = self.cuts.domains[link.attribute]
        labels = [*domain.leaves, domain.marker]
        waiting = [] if domain.root is None else [domain.root]
        while waiting:
            node = waiting.pop()
            labels.append(node.label)
            waiting += node.children
        return list(dict.fromkeys(label or None for label in labels))

    def __deepcopy__(self, memo: dict[int, Any]) -> Ours:
        """The rows in their groups as they are."""
        twin = copy(self)
        twin.cuts, twin.group = deepcopy(self.cuts, memo), self.group.copy()
        return twin

    def shown(self, column: int, rows: Ints) -> Ints:
        """What a linking column shows of some rows: the numbers of texts."""
        link = self.links[column]
        if link.attribute < 0:
            before = [one for one in self.links[:column] if one.attribute < 0]
            return self.fixed[len(before)][rows]
        first = int(self.cuts.offset[link.attribute])
        return self._by_leaf(column)[0][self.leaf[link.attribute][rows] - first]

    def if_refined(self, column: int) -> Ints:
        """What a linking column would show of its leaves, each of them refined."""
        return self._by_leaf(column)[1]

    def _by_leaf(self, column: int) -> tuple[Ints, Ints]:
        cuts, attribute, number = self.cuts, self.links[column].attribute, self.number[column]
        first, bottom = cuts.span(attribute)
        domain = cuts.domains[attribute]
        if domain.root is None:
            alone = np.array([number[leaf or None] for leaf in domain.leaves], dtype=np.int64)
            disclosed = cuts.current[first:bottom] == np.arange(first, bottom)
            return np.where(disclosed, alone, number[domain.marker]), alone
        now = np.zeros(bottom - first, dtype=np.int64)
        then = np.zeros(bottom - first, dtype=np.int64)
        for slot in np.unique(cuts.current[first:bottom]).tolist():
            node = cuts.shown[slot]
            now[node.low : node.high] = then[node.low : node.high] = number[node.label or None]
            for part in node.children if cuts.live[slot] else ():
                then[part.low : part.high] = number[part.label or None]
        return now, then

    def split(self, attribute: int, touched: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Split touched groups by what a column shows now; says which groups hold their rows."""
        rows = np.flatnonzero(touched[self.group])
        shown = self.cuts.current[self.leaf[attribute][rows]]
        number, count = number_rows(
            [self.group[rows], shown], [self.group_count, self.cuts.none + 1]
        )
        old = np.zeros(count, dtype=np.int64)
        old[number] = self.group[rows]
        leads = np.diff(old, prepend=-1) != 0  # the first part of a group keeps its number
        new = np.where(leads, old, self.group_count - 1 + np.cumsum(~leads))
        self.group[rows] = new[number]
        self.group_count += int((~leads).sum())
        changed = np.zeros(self.group_count, dtype=bool)
        changed[new] = True
        return changed


def _rows(cuts: Cuts) -> int:
    return len(cuts.domains[0].codes)


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


@dataclass(frozen=True, slots=True)
class _Cells:
    """Rows of some groups: which, what their linking columns show, what they count for."""

    group: Ints  # groups as they are, or as a candidate would make them
    labels: list[Ints]  # by linking column, the numbers of its texts
    marks: Ints
    weights: Ints

    def collapsed(self, sizes: Sequence[int], *more: Ints) -> tuple[_Cells, list[Ints]]:
        """Equal ones once; `more`: columns by which they differ besides."""
        columns = [self.group, self.marks, *self.labels, *more]
        widths = [_width(self.group), _width(self.marks), *sizes, *map(_width, more)]
        (group, marks, *rest), counts = _counted(columns, widths, self.weights)
        labels = list(rest[: len(self.labels)])
        return _Cells(group, labels, marks, counts), list(rest[len(self.labels) :])

    def pick(self, at: Ints) -> _Cells:
        """Some of them, in some order."""
        labels = [column[at] for column in self.labels]
        return _Cells(self.group[at], labels, self.marks[at], self.weights[at])


def _counted(
    columns: Sequence[Ints], widths: Sequence[int], weights: Ints
) -> tuple[list[Ints], Ints]:
    """Equal rows once, in ascending order, and the sum of their weights.

    Most are equal, so that they are looked up and not sorted: a quarter of the time.
    """
    if math.prod(widths) >= 2**62:
        found = distinct(columns, widths, weights)
        return [np.asarray(c, dtype=np.int64) for c in found.columns], found.counts
    keys = columns[0].astype(np.int64)
    for column, width in zip(columns[1:], widths[1:], strict=True):
        joins.pack(keys, column, width)
    room = 1 << 12
    while True:
        table, sums = np.full(room, -1, dtype=np.int64), np.zeros(room, dtype=np.int64)
        if joins.gather(keys, weights, table, sums) >= 0:
            break
        room *= 8
    held = np.flatnonzero(table >= 0)
    held = held[np.argsort(table[held])]
    unpacked, rest = [], table[held]
    for width in reversed(widths):
        unpacked.append(rest % width)
        rest = rest // width
    return unpacked[::-1], sums[held]


def _width(codes: Ints) -> int:
    return int(codes.max(initial=0)) + 1


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
        pairs = math.prod([int(ours.counts.sum()), *(b.linked.table.records for b in besides)])
        if self.by_products and not once and pairs >= 2**62:
            raise InputError(
                "the join has more pairs of records than can be counted",
                where=", ".join(beside.linked.name for beside in besides),
                do="name fewer releases in one template, or count people with  of.",
            )
        self.sides = [Vectors(beside, merged=merged) for beside in besides]
        self.vectors: dict[tuple[int, ...], tuple[Ints, Ints, Ints]] = {}
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
        now = _Cells(ours.group[rows], labels, ours.marks[rows], ours.counts[rows])
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
        self, attribute: int, cells: _Cells, leaf: Ints, *, splits: bool
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
            at = _ranges(begins[group[some]], begins[group[some] + 1])
            number = np.repeat(some, begins[group[some] + 1] - begins[group[some]])
            goes = slots[at] == candidate[number]
            wide = cells.pick(at)
            for column, labels in zip(columns, more[1:], strict=True):
                wide.labels[column] = np.where(goes, labels[at], wide.labels[column])
            into = 2 * number + goes if splits else number
            wide, _ = replace(wide, group=into).collapsed(sizes)
            back = wide.group // 2 if splits else wide.group
            yield self._measured(wide, group[back], candidate[back])

    def _measured(self, cells: _Cells, group: Ints, slot: Ints) -> Outlook:
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
        joins.worst_of(
            np.append(heads, len(order)), over[order], under[order], self.anonymity,
            best_over, best_under,
        )  # fmt: skip
        return Outlook(group[order][heads], slot[order][heads], best_over, best_under)

    def _values(self, cells: _Cells, starts: Ints) -> tuple[Ints, Ints]:
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
            joins.smallest_products(*first, cells.weights, *vector, total, seen, over)
        elif not self.theirs:
            joins.largest_shares(
                *first, cells.marks, cells.weights, *vector, total, np.zeros_like(total), seen,
                over, under,
            )  # fmt: skip
        else:
            width = max(side.mark_count for side in self.sides)
            pairs, wide = _renumbered(places * width + np.maximum(marks - 1, 0), room * width)
            joins.largest_shares_of_theirs(
                *first, cells.weights, begins, places, pairs, marks, amounts, total,
                np.zeros(wide + 1, dtype=np.int64), seen, over, under,
            )  # fmt: skip
        return over, under

    def _one_by_one(
        self, cells: _Cells, starts: Ints, tuples: Ints, begins: Ints, places: Ints, marks: Ints
    ) -> tuple[Ints, Ints]:
        """The fewest different people in the joined groups of each group of cells.

        They are laid out place by place of the other side, some places at a time.
        """
        count = len(starts) - 1
        fewest = np.full(count, _UNSEEN, dtype=np.int64)
        inside = np.repeat(np.arange(count), np.diff(starts))
        of_entry = np.repeat(np.arange(len(begins) - 1), np.diff(begins))
        often = np.bincount(tuples, minlength=len(begins) - 1)[of_entry]
        there, place_of = np.unique(places, return_inverse=True)
        total = np.bincount(place_of, often, minlength=len(there)).astype(np.int64)
        for some in _shares(total):
            kept = np.flatnonzero((place_of >= some[0]) & (place_of <= some[-1]))
            firsts = np.searchsorted(of_entry[kept], np.arange(len(begins)))
            entry = kept[_ranges(firsts[tuples], firsts[tuples + 1])]
            cell = np.repeat(np.arange(len(tuples)), np.diff(firsts)[tuples])
            mine, yours = cells.marks[cell], marks[entry]
            whole = np.ones(len(cell), dtype=bool)
            whole &= mine > 0 if self.ours.mark_count else True
            whole &= yours > 0 if self.theirs else True
            columns = [inside[cell], places[entry], np.where(whole, mine + 1, 0),
                       np.where(whole, yours + 1, 0)]  # fmt: skip
            people = distinct(columns, list(map(_width, columns)))
            group, place, who = (column.astype(np.int64) for column in people.columns[:3])
            joined, number = number_rows([group, place], [_width(group), _width(place)])
            counted = np.bincount(joined, who > 0, minlength=number).astype(np.int64)
            owner = np.zeros(number, dtype=np.int64)
            owner[joined] = group
            np.minimum.at(fewest, owner, counted)
        return fewest, np.ones(count, dtype=np.int64)

    def vector(self, labels: tuple[int, ...]) -> tuple[Ints, Ints, Ints]:
        """What stands behind the keys that shown labels allow: groups of theirs, marks, counts."""
        if labels not in self.vectors:
            self.vectors[labels] = self._vector(labels)
        return self.vectors[labels]

    def _vector(self, labels: tuple[int, ...]) -> tuple[Ints, Ints, Ints]:
        found: tuple[Ints, Ints, Ints] | None = None
        marked = False  # do releases before this one bear marks?
        for side in self.sides:
            bits = side.linked.everybody
            for link, column in enumerate(side.columns):
                bits = bits & side.linked.allowed(link, self.ours.texts[column][labels[column]])
            one = side.behind(bits)
            if self.once:  # one of ours counts once, or once with each of their marks
                one = _counted_once(*one[:2], marked=side.mark_count > 0)
            found = one if found is None else _side_by_side(found, one, side, marked=marked)
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


def _counted_once(group: Ints, mark: Ints, *, marked: bool) -> tuple[Ints, Ints, Ints]:
    """Each group of theirs once, or as often as it has different marks."""
    first = np.flatnonzero(np.diff(group, prepend=-1))
    amounts = np.ones(len(first), dtype=np.int64)
    if marked and len(first):
        amounts = np.add.reduceat((mark > 0).astype(np.int64), first)
    return group[first], np.zeros(len(first), dtype=np.int64), amounts


def _side_by_side(
    one: tuple[Ints, Ints, Ints], other: tuple[Ints, Ints, Ints], side: Vectors, *, marked: bool
) -> tuple[Ints, Ints, Ints]:
    """Every group of one release with every group of another: these two are never joined.

    `marked`: whether the one counts marks, though perhaps none stands here.
    """
    left = np.repeat(np.arange(len(one[0])), len(other[0]))
    right = np.tile(np.arange(len(other[0])), len(one[0]))
    marks = one[1][left] if side.mark_count == 0 else other[1][right]
    if side.mark_count and marked:  # somebody is known by both
        width = side.mark_count + 1
        both = (one[1][left] > 0) & (other[1][right] > 0)
        marks = np.where(both, one[1][left] * width + other[1][right], 0)
    places = one[0][left] * max(side.group_count, 1) + other[0][right]
    return places, marks, one[2][left] * other[2][right]


class Joined:
    """A promise about the join of our table with earlier releases."""

    lasting = False  # a candidate that breaks it now may keep it after another step

    def __init__(
        self, promise: Promise, cuts: Cuts, over: Sequence[int], ways: Sequence[Way]
    ) -> None:
        """`ways`: one, or one for each sensitive column."""
        self.promise, self.cuts, self.ways = promise, cuts, list(ways)
        self.attributes = frozenset(over)
        self.heeds = frozenset(over).union(*(way.ours.attributes for way in ways))
        self.anonymity = isinstance(promise, Anonymity)
        self.records = _rows(cuts) if cuts.counts is None else int(cuts.counts.sum())
        for way in self.ways:
            way.look_at(np.ones(1, dtype=bool), self.attributes, ahead=False)
        self._settle()

    @property
    def value(self) -> int | Fraction:
        """The promise's value on the join as it is now."""
        return self._now[0] if self.anonymity else Fraction(*self._now)

    @property
    def cells(self) -> int:
        """How much there is to count at most."""
        return sum(len(w.ours.counts) * max(len(w.ours.attributes), 1) for w in self.ways)

    def holds(self, promise: Promise | None = None) -> bool:
        """Whether the join keeps it now."""
        asked = promise or self.promise
        if isinstance(asked, Anonymity):
            return bool(self.value >= asked.k)
        return bool(self.value <= asked.at_most)

    def valid(self, slots: Slots, promise: Promise | None = None) -> NDArray[np.bool_]:
        """Which candidates keep it, as things stand."""
        asked = promise or self.promise
        if isinstance(asked, Anonymity):
            return np.asarray(self.over[slots] >= asked.k)
        most = asked.at_most
        share = self.over[slots] / self.under[slots]
        valid = share <= float(most)
        for i in np.flatnonzero(np.abs(share - float(most)) < 1e-9).tolist():
            over, under = int(self.over[slots[i]]), int(self.under[slots[i]])
            valid[i] = over * most.denominator <= under * most.numerator
        return np.asarray(valid)

    def loss(self, slots: Slots) -> NDArray[np.float64]:
        """How much each candidate would take away; nothing if it would give."""
        after = self.over[slots] / self.under[slots]
        lost = float(self.value) - after if self.anonymity else after - float(self.value)
        return np.asarray(np.maximum(lost, 0.0))

    def bits(self, slots: Slots) -> NDArray[np.float64]:
        """The same as a factor, in bits."""
        least = 0.5 if self.anonymity else 1 / (2 * self.records)
        after = np.log2(np.maximum(self.over[slots] / self.under[slots], least))
        now = math.log2(max(float(self.value), least))
        return np.asarray(np.maximum(now - after if self.anonymity else after - now, 0.0))

    def forecast(self, slots: Slots) -> Forecast:
        """What candidates would make of it."""
        under = None if self.anonymity else self.under[slots]
        return Forecast(~self.valid(slots), self.over[slots], under)

    def recall(self, slots: Slots, forecast: Forecast) -> None:
        """Go back to an earlier forecast."""
        self.over[slots] = forecast.over
        if forecast.under is not None:
            self.under[slots] = forecast.under

    def begin(self) -> None:
        """Look at every candidate for the first time."""
        for way in self.ways:
            touched = np.ones(way.ours.group_count, dtype=bool)
            way.look_at(touched, self.attributes, ahead=True)
        self._settle()

    def forget(self, slot: int) -> None:
        """Nothing to take back."""

    def reveal(self, reveal: Reveal) -> None:
        """Split groups if the column is in `over`, and look at all that the reveal touched."""
        for way in self.ways:
            ours = way.ours
            leaf = ours.leaf[reveal.attribute]
            inside = (leaf >= reveal.low) & (leaf < reveal.high)
            touched = np.zeros(ours.group_count, dtype=bool)
            touched[ours.group[inside]] = True
            if reveal.attribute in self.attributes:
                changed = ours.split(reveal.attribute, touched)
                changed[: len(touched)] |= touched
                touched = changed
            way.look_at(touched, self.attributes, ahead=True)
        self._settle()

    def _settle(self) -> None:
        """From groups to the promise: its value now, and what each candidate would leave of it."""
        found = [_extremes(way, self.cuts.none + 1) for way in self.ways]
        over, under = found[0]
        for more in found[1:]:
            pairs = np.stack([over, more[0]], axis=1).ravel(), np.stack([under, more[1]], 1).ravel()
            over, under = np.zeros((2, len(over)), dtype=np.int64)
            starts = np.arange(0, 2 * len(over) + 1, 2)
            joins.worst_of(starts, *pairs, self.anonymity, over, under)
        self._now = int(over[-1]), int(under[-1])
        self.over, self.under = over[:-1], under[:-1]


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
    joins.after_each(
        begins[1:], group, *value, worst_first, ratio, way.anonymity,
        np.full(way.ours.group_count, -2, dtype=np.int64), over, under,
    )  # fmt: skip
    return over, under


class Settled:
    """A promise about earlier releases alone: nothing that we reveal changes it."""

    lasting = True
    cells = 0

    def __init__(self, promise: Promise, value: int | Fraction, over: Sequence[int]) -> None:
        self.promise, self.value = promise, value
        self.attributes = frozenset(over)
        self.heeds: frozenset[int] = frozenset()

    def holds(self, promise: Promise | None = None) -> bool:
        """Whether they keep it."""
        asked = promise or self.promise
        if isinstance(asked, Anonymity):
            return bool(self.value >= asked.k)
        return bool(self.value <= asked.at_most)

    def valid(self, slots: Slots, promise: Promise | None = None) -> NDArray[np.bool_]:
        """All candidates, or none."""
        return np.full(len(slots), self.holds(promise))

    def loss(self, slots: Slots) -> NDArray[np.float64]:
        """Nothing."""
        return np.zeros(len(slots))

    bits = loss

    def forecast(self, slots: Slots) -> Forecast:
        """The same as now."""
        now = Fraction(self.value)
        over = np.full(len(slots), now.numerator, dtype=np.int64)
        under = np.full(len(slots), now.denominator, dtype=np.int64)
        single = isinstance(self.promise, Anonymity)
        return Forecast(~self.valid(slots), over, None if single else under)

    def recall(self, slots: Slots, forecast: Forecast) -> None:
        """Nothing to go back to."""

    def begin(self) -> None:
        """Nothing to look at."""

    def forget(self, slot: int) -> None:
        """Nothing to take back."""

    def reveal(self, reveal: Reveal) -> None:
        """Nothing changes."""
