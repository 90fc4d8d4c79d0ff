"""What an attacker could do with a table as it is, before anything is masked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.data.collapse import Codes, distinct
from reticent.privacy.promises import Anonymity, Confidence, Promise

LEVELS = ("0.1", "0.3", "0.5", "0.7", "0.9")  # confidences that `risk` counts inferences above


@dataclass(frozen=True, slots=True)
class Exposure:
    """How far a table is from one promise."""

    promise: Promise
    value: int | Fraction  # the smallest group, or the largest confidence
    groups: int
    breaking: int  # records in groups too small, or inferences too sure
    above: dict[str, int]  # confidence only: inferences above each level
    worst: tuple[tuple[tuple[int, ...], int | Fraction], ...]
    # the riskiest groups, worst first: their codes over `over`, and their size or confidence


@dataclass(frozen=True, slots=True)
class Known:
    """What an attacker is assumed to know: the columns of an `over`, as codes."""

    columns: tuple[Codes, ...]
    sizes: tuple[int, ...]
    counts: NDArray[np.int64] | None = None  # records a row stands for; None: one each


def small_groups(
    promise: Anonymity, known: Known, of: tuple[Codes, int] | None, *, worst: int = 0
) -> Exposure:
    """Measure an anonymity promise on unmasked columns."""
    if of is None:
        found = distinct(known.columns, known.sizes, known.counts)
        groups, sizes, records = found.columns, found.counts, found.counts
    else:
        marked = distinct([*known.columns, of[0]], [*known.sizes, of[1] + 1], known.counts)
        starts = _group_starts(marked.columns[:-1])
        sizes = np.add.reduceat((marked.columns[-1] > 0).astype(np.int64), starts)
        records = np.add.reduceat(marked.counts, starts)
        groups = tuple(column[starts] for column in marked.columns[:-1])
    order = _lowest(sizes, worst)
    small = sizes < promise.k
    return Exposure(
        promise,
        int(sizes.min()),
        len(sizes),
        int(records[small].sum()),
        {},
        tuple(
            (tuple(int(column[row]) for column in groups), int(sizes[row]))
            for row in order[sizes[order] < promise.k].tolist()
        ),
    )


def sure_inferences(
    promise: Confidence, known: Known, sensitive: Sequence[tuple[Codes, int]], *, worst: int = 0
) -> Exposure:
    """Measure a confidence promise on unmasked columns.

    An inference is a pair of a group that occurs and a sensitive value; it counts as above a level
    if its confidence is larger.
    """
    largest, breaking, count = Fraction(0), 0, 0
    above = dict.fromkeys(LEVELS, 0)
    picked: list[tuple[Fraction, tuple[int, ...]]] = []
    for marks, mark_count in sensitive:
        marked = distinct([*known.columns, marks], [*known.sizes, mark_count + 1], known.counts)
        starts = _group_starts(marked.columns[:-1])
        wholes = np.repeat(
            np.add.reduceat(marked.counts, starts), np.diff(starts, append=len(marked.counts))
        )
        rows = np.flatnonzero(marked.columns[-1] > 0)
        parts, wholes = marked.counts[rows], wholes[rows]
        count = len(starts)
        breaking += _count_above(parts, wholes, promise.at_most)
        for level in LEVELS:
            above[level] += _count_above(parts, wholes, Fraction(level))
        # Floats only shortlist: confidences equal up to rounding are compared exactly.
        for i in _lowest(-(parts / wholes), max(worst, 64)).tolist():
            confidence = Fraction(int(parts[i]), int(wholes[i]))
            largest = max(largest, confidence)
            if confidence > promise.at_most:
                picked.append((confidence, tuple(int(c[rows[i]]) for c in marked.columns[:-1])))
    picked.sort(key=lambda pair: -pair[0])
    surest: dict[tuple[int, ...], int | Fraction] = {}
    for confidence, group in picked:
        surest.setdefault(group, confidence)
    return Exposure(promise, largest, count, breaking, above, tuple(surest.items())[:worst])


def _lowest(numbers: NDArray[Any], count: int) -> NDArray[np.int64]:
    """The positions of the `count` lowest numbers, lowest first, ties in order.

    Sorting all of a million groups for twenty of them took longer than counting them.
    """
    if not 0 < count < len(numbers):
        return np.argsort(numbers, kind="stable")[:count]
    limit = np.partition(numbers, count)[count]
    low = np.flatnonzero(numbers < limit)
    low = np.concatenate([low, np.flatnonzero(numbers == limit)[: count - len(low)]])
    return low[np.argsort(numbers[low], kind="stable")]


def _count_above(parts: NDArray[np.int64], wholes: NDArray[np.int64], level: Fraction) -> int:
    """How many parts exceed the level; in integers, of any size if need be."""
    if level.denominator < 2**31 and (not len(wholes) or int(wholes.max()) < 2**31):
        return int((parts * level.denominator > wholes * level.numerator).sum())
    pairs = zip(parts.tolist(), wholes.tolist(), strict=True)
    return sum(part * level.denominator > whole * level.numerator for part, whole in pairs)


def _group_starts(columns: Sequence[Codes]) -> NDArray[np.int64]:
    """Where each run of equal rows begins, in sorted columns."""
    first = np.zeros(len(columns[0]), dtype=bool)
    first[:1] = True
    for column in columns:
        first[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(first)
