"""Their side: what stands behind the keys of an earlier release.

A *vector* lists groups of theirs with what they count for. One is made for each set of keys that
somebody of ours may have, and groups that no promise can tell apart stand in it once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reticent.data.collapse import Codes, distinct
from reticent.data.linking import Bits, Linked, keys_in

Ints = NDArray[np.int64]
Vector = tuple[Ints, Ints, Ints]  # groups of theirs, marks, and counts


class Vectors:
    """What stands behind the keys of one earlier release, as far as a promise counts it."""

    def __init__(
        self,
        linked: Linked,
        columns: tuple[int, ...],
        groups: Ints,
        group_count: int,
        marks: Codes | None = None,
        mark_count: int = 0,
    ) -> None:
        """`columns`: which of our linking columns each link is.

        By row of theirs, `groups`: equal in the promise's columns of theirs; and `marks`: what it
        counts of theirs, as 1, 2, …, where 0 is none.
        """
        self.linked, self.columns = linked, columns
        self.group_count, self.mark_count = group_count, mark_count
        marks = np.zeros(linked.table.rows, dtype=np.uint8) if marks is None else marks
        sizes = [len(linked.counts), group_count, mark_count + 1]
        found = distinct([linked.key_of_row, groups, marks], sizes, linked.table.counts)
        key, self.group, self.mark = (column.astype(np.int64) for column in found.columns)
        self.amount = found.counts.astype(np.int64)
        self.begins = np.searchsorted(key, np.arange(len(linked.counts) + 1))

    def merge(self, how: str) -> None:
        """Take groups of theirs for one that no promise can tell apart.

        "alike": whose keys are the same, in the same proportion; "least": of those, the smallest;
        "support": whose keys are the same.
        """
        key = np.repeat(np.arange(len(self.begins) - 1), np.diff(self.begins))
        keep, amount, group, self.group_count = _merged(key, self.group, self.amount, how)
        self.group, self.mark, self.amount = group[keep], self.mark[keep], amount[keep]
        self.begins = np.searchsorted(key[keep], np.arange(len(self.begins)))

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


def _merged(key: Ints, group: Ints, amount: Ints, how: str) -> tuple[Ints, Ints, Ints, int]:
    """Groups of theirs with the same keys as one of them: which cells stay, and as what.

    Group 1 has half as many records as group 0 behind each key, so that it has the same shape:

    >>> key, group, amount = np.array([[0, 0, 0, 1, 1], [0, 1, 2, 0, 1], [6, 3, 3, 4, 2]])
    >>> kept, amounts, groups, count = _merged(key, group, amount, "alike")
    >>> kept.tolist(), amounts[kept].tolist(), bool(groups[0] == groups[1]), count
    ([0, 2, 3], [3, 1, 2], True, 2)
    """
    order = np.lexsort([key, group])
    k, g, n = key[order], group[order], amount[order]
    first = np.flatnonzero(np.diff(g, prepend=-1))  # where each group begins
    sizes = np.diff(first, append=len(g))
    number = np.repeat(np.arange(len(first)), sizes)
    scale = np.gcd.reduceat(n, first)
    shape = np.ones_like(n) if how == "support" else n // scale[number]
    # Groups have keys in any number, and comparing each with each would take the square of their
    # number. Two random sums shortlist; what they call equal is compared.
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
    if how == "least":  # of groups with one shape, the smallest decides: none can be smaller
        by_scale = np.lexsort([scale, same])
        where = by_scale[np.flatnonzero(np.diff(same[by_scale], prepend=-1))]
    model = where[same]  # for each group, the one that stands for it
    at = first[model][number] + (np.arange(len(g)) - first[number])
    if not (np.array_equal(k[at], k) and np.array_equal(shape[at], shape)):
        # Two sums were equal by chance: nothing is merged, which takes longer and counts the same.
        return np.arange(len(key)), amount, group, int(group.max(initial=-1)) + 1
    stay = np.zeros(len(first), dtype=bool)
    stay[where] = True
    kept = np.sort(order[stay[number]])
    renumbered = np.zeros(int(group.max(initial=-1)) + 1, dtype=np.int64)
    renumbered[g[first]] = same
    amounts = amount.copy()
    if how != "least":  # a share is the same of any multiple; so is who stands there at all
        amounts[order] = shape
    return kept, amounts, renumbered[group], len(where)


def counted_once(group: Ints, mark: Ints, *, marked: bool) -> Vector:
    """Each group of theirs once, or as often as it has different marks."""
    first = np.flatnonzero(np.diff(group, prepend=-1))
    amounts = np.ones(len(first), dtype=np.int64)
    if marked and len(first):
        amounts = np.add.reduceat((mark > 0).astype(np.int64), first)
    return group[first], np.zeros(len(first), dtype=np.int64), amounts


def side_by_side(one: Vector, other: Vector, side: Vectors, *, marked: bool) -> Vector:
    """Every group of one release with every group of another: these two are never linked.

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
