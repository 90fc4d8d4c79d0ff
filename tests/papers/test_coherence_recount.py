"""Coherent releases of real transactions, recounted; and what the raw ones expose.

Private items are made as in the paper (4.5.1): each transaction gets a private copy of its most
frequent item of a support below one half, or one special item if it has none.
"""

from __future__ import annotations

import gzip
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from at_hand import public_data
from reticent.privacy.coherence import Coherence, RoledBaskets, exposure, recount

pytestmark = pytest.mark.data


@cache
def rows_of(name: str) -> list[list[int]]:
    """Items as numbers, in code point order of their names; the private one is the last."""
    path = public_data(f"{name}/{name}.{'csv' if name == 'groceries' else 'dat.gz'}")
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    between = "," if name == "groceries" else None
    rows = [sorted(set(line.strip().split(between))) for line in data.decode().splitlines()]
    often = Counter(item for row in rows for item in row)
    number = {item: i for i, item in enumerate(sorted(often))}
    found = []
    for row in rows:
        rare = [item for item in row if 2 * often[item] < len(rows)]
        private = number[max(rare, key=often.__getitem__)] if rare else len(number)
        found.append([*(number[item] for item in row), len(number) + private])
    return found


@cache
def raw(name: str) -> RoledBaskets:
    rows = rows_of(name)
    starts = np.cumsum([0, *map(len, rows)])
    items = np.array([item for row in rows for item in row], np.int32)
    public = np.arange(items.max() + 1) < 1 + max(row[-2] for row in rows)
    return RoledBaskets(starts, items, public, ~public)


def part(whole: RoledBaskets, kept: Any, people: Any) -> RoledBaskets:
    """What some of the transactions hold of the public items that are kept."""
    row_of = np.repeat(np.arange(len(whole)), np.diff(whole.starts))
    shown = (kept | whole.private)[whole.items] & people[row_of]
    sizes = np.bincount(row_of[shown], minlength=len(whole))[people]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return RoledBaskets(starts, whole.items[shown], whole.public, whole.private)


def grown(whole: RoledBaskets, promise: Coherence) -> Any:
    """Items kept one after the other, the commonest first, while they bring nothing that breaks.

    Sets with an item are sets of one item less among those who hold it.
    """
    kept, less = np.zeros(len(whole.public), bool), promise
    if promise.p is not None and promise.p > 1:
        less = promise.model_copy(update={"p": promise.p - 1})
    row_of = np.repeat(np.arange(len(whole)), np.diff(whole.starts))
    for item in public_items(whole):
        people = np.zeros(len(whole), bool)
        people[row_of[whole.items == item]] = True
        known = kept & (promise.p != 1)
        kept[item] = recount(part(whole, known, people), less).holds
    return kept


def public_items(whole: RoledBaskets) -> list[int]:
    """The commonest first."""
    often = np.bincount(whole.items, minlength=len(whole.public)) * whole.public
    return [int(item) for item in np.argsort(-often, kind="stable")[: np.count_nonzero(often)]]


@pytest.mark.parametrize(
    ("name", "k", "h", "p"),
    [
        ("connect", 50, "1", None),
        ("connect", 100, "0.5", None),
        ("connect", 50, "0.8", 3),
        ("mushroom", 20, "1", 3),
        ("mushroom", 50, "0.8", None),
        ("mushroom", 100, "0.5", 5),
        ("groceries", 20, "0.8", 3),
        ("groceries", 20, "1", 1),
    ],
)
def test_releases(name: str, k: int, h: str, p: int | None) -> None:
    whole, promise = raw(name), Coherence(h=Fraction(h), k=k, p=p)
    everybody = np.ones(len(whole), bool)
    kept = grown(whole, promise)
    assert kept.any()
    assert recount(part(whole, kept, everybody), promise).holds
    for item in [item for item in public_items(whole) if not kept[item]][:5]:
        more = kept.copy()
        more[item] = True
        found = recount(part(whole, more, everybody), promise)
        assert found.holds is False
        assert found.breaking is not None
        assert item in found.breaking
        assert p is None or len(found.breaking) <= p
        cohort = [row for row in rows_of(name) if set(found.breaking) <= set(row)]
        private = Counter(row[-1] for row in cohort)
        assert found.support == len(cohort)
        assert found.confidence == Fraction(max(private.values()), len(cohort))
        assert len(cohort) < k or found.confidence > promise.h


@pytest.mark.parametrize(
    ("name", "unique", "small"),
    [
        ("groceries", [0, 2, 897, 3251], [0, 223, 4687, 6005]),
        ("mushroom", [0, 0, 5, 17], [0, 45, 616, 1776]),
        ("retail", [0, 2078, 69553, 74058], [0, 33814, 79253, 79843]),
        ("connect", [0, 0, 9, 976], [0, 54, 2860, 29189]),
    ],
)
def test_exposure(name: str, unique: list[int], small: list[int]) -> None:
    levels = exposure(raw(name), Coherence(h=Fraction(1, 2), k=20), most=3)
    assert [level.unique for level in levels] == unique
    assert [level.small for level in levels] == small


@pytest.mark.parametrize("name", ["groceries", "mushroom"])
def test_exposure_by_pairs(name: str) -> None:
    """The same for up to two known items, with a table of all pairs."""
    rows = [row[:-1] for row in rows_of(name)]
    known = [[*combinations(row, 1), *combinations(row, 2)] for row in rows]
    often = Counter(items for held in known for items in held)
    rarest = [min(often[items] for items in held) for held in known]
    level = exposure(raw(name), Coherence(h=Fraction(1), k=20), most=2)[2]
    assert level.unique == sum(fewest == 1 for fewest in rarest)
    assert level.small == sum(fewest < 20 for fewest in rarest)
