"""The other side of a join: what stands behind the keys of an earlier release.

A *vector* lists groups of theirs with what they count for. One is made for each set of keys that
somebody of ours may have, and groups that no promise can tell apart stand in it once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reticent.data.collapse import Codes, distinct
from reticent.data.linking import Bits, Linked, keys_in

Ints = NDArray[np.int64]
Vector = tuple[Ints, Ints, Ints]  # groups of theirs, marks, and counts


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

    def behind(self, bits: Bits) -> Vector:
        """Groups, marks and counts behind some keys; groups ascend."""
        keys = keys_in(bits, len(self.begins) - 1)
        at = ranges(self.begins[keys], self.begins[keys + 1])
        group, mark, amount = self.group[at], self.mark[at], self.amount[at]
        width = int(self.mark.max(initial=0)) + 1
        number = group * width + mark
        order = np.argsort(number, kind="stable")
        number, amount = number[order], amount[order]
        first = np.flatnonzero(np.diff(number, prepend=-1))
        added = np.add.reduceat(amount, first) if len(first) else amount
        return number[first] // width, number[first] % width, added


def ranges(starts: Ints, ends: Ints) -> Ints:
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


def counted_once(group: Ints, mark: Ints, *, marked: bool) -> Vector:
    """Each group of theirs once, or as often as it has different marks."""
    first = np.flatnonzero(np.diff(group, prepend=-1))
    amounts = np.ones(len(first), dtype=np.int64)
    if marked and len(first):
        amounts = np.add.reduceat((mark > 0).astype(np.int64), first)
    return group[first], np.zeros(len(first), dtype=np.int64), amounts


def side_by_side(one: Vector, other: Vector, side: Vectors, *, marked: bool) -> Vector:
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
