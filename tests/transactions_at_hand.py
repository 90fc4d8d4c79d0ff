"""Transactions as the engine takes them: of random cases, and of the public data sets."""

from __future__ import annotations

import gzip
import random
from functools import cache

import numpy as np

from at_hand import public_data
from naive import coherence, itemsets
from naive import transactions as naive
from reticent.privacy.coherence import RoledBaskets
from reticent.suppress.baskets.diagrams import Family
from reticent.suppress.baskets.moles import KnownBaskets
from reticent.suppress.baskets.nuggets import find_nuggets


def known(case: naive.Case, count: int = 8) -> KnownBaskets:
    """A random case; it has `count` public items, and four private ones."""
    starts, items = naive.flat(case.rows)
    private_starts, private = naive.flat(case.private)
    return KnownBaskets(
        np.array(starts), np.array(items, np.int32), count,
        np.array(private_starts), np.array(private, np.int32), 4,
    )  # fmt: skip


def roled(case: naive.Case, seed: int) -> tuple[RoledBaskets, coherence.Coded]:
    """A random case as the verifier takes it, and what its items are called there."""
    coded = coherence.coded(case, random.Random(seed))
    return RoledBaskets(coded.starts, coded.items, coded.public, coded.private), coded


def nuggets(problem: itemsets.Problem) -> Family:
    """What should be kept of a random problem."""
    starts, items = naive.flat(problem.rows)
    found = find_nuggets(
        np.array(starts), np.array(items, np.int32), itemsets.ALL, problem.least, problem.longest
    )
    assert found is not None
    return found


@cache
def real(name: str) -> KnownBaskets:
    """A public data set; all of its items are public."""
    with gzip.open(public_data(f"{name}/{name}.dat.gz"), "rt") as file:
        starts, items = naive.flat([frozenset(map(int, line.split())) for line in file])
    none = np.zeros(len(starts), np.int64), np.zeros(0, np.int32), 0
    return KnownBaskets(np.array(starts), np.array(items, np.int32), max(items) + 1, *none)
