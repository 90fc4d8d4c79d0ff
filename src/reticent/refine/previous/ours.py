"""Our side: rows in groups, and what the columns show of them that link earlier releases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy, deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.data.collapse import Codes, distinct
from reticent.data.linking import number_rows
from reticent.refine.cuts import Cuts
from reticent.refine.previous.kernels import gather, pack
from reticent.refine.previous.theirs import Ints


@dataclass(frozen=True, slots=True)
class LinkingColumn:
    """A column of ours that links: masked, or released as it is."""

    attribute: int  # among the masked columns; -1 if it is released as it is
    codes: Codes | None = None  # then its rows,
    texts: tuple[str | None, ...] = ()  # and what they hold


class Ours:
    """Our rows as far as they differ in something that counts, each once."""

    def __init__(
        self,
        cuts: Cuts,
        over: Sequence[int],
        links: Sequence[LinkingColumn],
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
        fixed = {i: link for i, link in enumerate(links) if link.codes is not None}
        columns: list[Any] = [cuts.domains[a].codes for a in self.attributes]
        columns += [link.codes for link in fixed.values()]
        sizes = [cuts.domains[a].size for a in self.attributes]
        sizes += [max(len(link.texts), 1) for link in fixed.values()]
        if marks is not None:
            columns, sizes = [*columns, marks], [*sizes, mark_count + 1]
        if groups is not None:
            columns, sizes = [groups[0], *columns], [groups[1], *sizes]
        if not columns:
            columns, sizes = [np.zeros(len(cuts.domains[0].codes), dtype=np.uint8)], [1]
        found = distinct(columns, sizes, cuts.counts if weights is None else weights)
        held = [column.astype(np.int64) for column in found.columns]
        known = held.pop(0) if groups is not None else None
        self.leaf = {a: held[i] + int(cuts.offset[a]) for i, a in enumerate(self.attributes)}
        self.fixed = dict(zip(fixed, held[len(self.attributes) :], strict=False))
        self.counts = found.counts.astype(np.int64)
        self.marks = held[-1] if marks is not None else np.zeros_like(self.counts)
        self.mark_count = mark_count
        self.group = np.zeros_like(self.counts) if known is None else known  # equal in `over`
        self.group_count = 1 if groups is None else groups[1]
        self.texts = [self._texts(link) for link in links]  # all that a column can ever show
        self.widths = [max(len(texts), 1) for texts in self.texts]
        self.number = [{text: i for i, text in enumerate(texts)} for texts in self.texts]

    def _texts(self, link: LinkingColumn) -> list[str | None]:
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
        if column in self.fixed:
            return self.fixed[column][rows]
        attribute = self.links[column].attribute
        first = int(self.cuts.offset[attribute])
        return self.by_leaf(column)[0][self.leaf[attribute][rows] - first]

    def by_leaf(self, column: int) -> tuple[Ints, Ints]:
        """What a linking column shows of its leaves, and would show, each of them refined."""
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


@dataclass(frozen=True, slots=True)
class Cells:
    """Rows of some groups: which, what their linking columns show, what they count for."""

    group: Ints  # groups as they are, or as a candidate would make them
    labels: list[Ints]  # by linking column, the numbers of its texts
    marks: Ints
    weights: Ints

    def collapsed(self, sizes: Sequence[int], *more: Ints) -> tuple[Cells, list[Ints]]:
        """Equal ones once; `more`: columns by which they differ besides."""
        columns = [self.group, self.marks, *self.labels, *more]
        widths = [width_of(self.group), width_of(self.marks), *sizes, *map(width_of, more)]
        (group, marks, *rest), counts = _counted(columns, widths, self.weights)
        labels = list(rest[: len(self.labels)])
        return Cells(group, labels, marks, counts), list(rest[len(self.labels) :])

    def pick(self, at: Ints) -> Cells:
        """Some of them, in some order."""
        labels = [column[at] for column in self.labels]
        return Cells(self.group[at], labels, self.marks[at], self.weights[at])


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
        pack(keys, column, width)
    room = 1 << 12
    while True:
        table, sums = np.full(room, -1, dtype=np.int64), np.zeros(room, dtype=np.int64)
        if gather(keys, weights, table, sums) >= 0:
            break
        room = max(8 * room, 1 << len(keys).bit_length() + 1)  # most are not equal, then
    held = np.flatnonzero(table >= 0)
    held = held[np.argsort(table[held])]
    unpacked, rest = [], table[held]
    for width in reversed(widths):
        unpacked.append(rest % width)
        rest = rest // width
    return unpacked[::-1], sums[held]


def width_of(codes: Ints) -> int:
    """One more than the largest code."""
    return int(codes.max(initial=0)) + 1
