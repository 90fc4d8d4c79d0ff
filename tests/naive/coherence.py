"""Coherence and exposure of transactions straight from their definitions, over Python sets."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from naive.transactions import Case, Items, minimal, moles, subsets

PRIVATE = 4  # private items of a case


def coherent(case: Case) -> bool:
    return case.feasible() and not moles(case)


def without(case: Case, gone: Iterable[int]) -> Case:
    """The case with items suppressed everywhere."""
    return replace(case, rows=tuple(row - frozenset(gone) for row in case.rows))


def release(case: Case) -> tuple[Case, list[int]]:
    """What is left once enough items are suppressed, and which those are."""
    gone: list[int] = []
    while found := minimal(moles(without(case, gone))):
        often = Counter(item for mole in found for item in mole)
        gone.append(max(sorted(often), key=often.__getitem__))
    return without(case, gone), gone


def cohort(known: Items, case: Case) -> tuple[int, Fraction, set[int]]:
    """How many hold a set, the largest share of a private item among them, and which it is."""
    held = [case.private[t] for t, row in enumerate(case.rows) if known <= row]
    often = Counter(item for items in held for item in items)
    most = max(often.values(), default=0)
    return len(held), Fraction(most, max(len(held), 1)), {s for s in often if often[s] == most}


def exposed(case: Case, most: int) -> list[tuple[int, int, int, Fraction]]:
    """For 0, 1, …, `most` known items: people unique, in small and in sure cohorts; how sure."""
    unique, small, sure, largest = set(), set(), set(), Fraction(0)
    levels = []
    for size in range(most + 1):
        for person, row in enumerate(case.rows):
            for known in subsets(row, range(size, size + 1)):
                count, share, _ = cohort(known, case)
                unique |= {person} if count == 1 else set()
                small |= {person} if count < case.k else set()
                sure |= {person} if share > case.h else set()
                largest = max(largest, share)
        levels.append((len(unique), len(small), len(sure), largest))
    return levels


@dataclass(frozen=True)
class Coded:
    """A case as arrays, its items numbered at random, among items that are neither."""

    starts: Any
    items: Any
    public: Any
    private: Any
    names: dict[int, int]  # number → item of the case, private ones after the public ones


def coded(case: Case, rng: random.Random) -> Coded:
    width = max((max(row, default=-1) for row in case.rows), default=-1) + 1
    total = width + PRIVATE + 3  # the last three are neither
    number = rng.sample(range(total), total)
    starts, items = [0], []
    for row, private in zip(case.rows, case.private, strict=True):
        held = {*row, *(width + s for s in private), width + PRIVATE + rng.randrange(3)}
        items += sorted(number[item] for item in held)
        starts.append(len(items))
    public, private_mask = np.zeros(total, bool), np.zeros(total, bool)
    public[number[:width]] = True
    private_mask[number[width : width + PRIVATE]] = True
    names = {number[item]: item for item in range(width + PRIVATE)}
    return Coded(np.array(starts), np.array(items, np.int32), public, private_mask, names)
