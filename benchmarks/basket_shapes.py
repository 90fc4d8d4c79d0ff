"""Transactions for benchmarks and figures: real ones, their private copies, and generated ones."""

from __future__ import annotations

import csv
import gzip
import os
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("RETICENT_DATA") or HERE.parent.parent / "shared" / "data")
NAMES = ("connect", "retail", "mushroom", "msweb", "groceries", "epub")
COPY = "private:"  # begins the names of private copies
Rows = list[list[str]]


def rows_of(name: str) -> Rows:
    """The transactions of a data set."""
    if name in ("connect", "retail", "mushroom"):
        with gzip.open(DATA / name / f"{name}.dat.gz", "rt") as file:
            return [sorted(set(line.split())) for line in file]
    if name == "groceries":
        with open(DATA / name / "groceries.csv", encoding="utf-8", newline="") as file:
            return [sorted({item.replace(" ", "_") for item in row}) for row in csv.reader(file)]
    if name == "epub":
        with open(DATA / name / "epub.csv", encoding="utf-8", newline="") as file:
            return [sorted(set(row[-1].split())) for row in list(csv.reader(file))[1:]]
    visits: list[set[str]] = []
    with open(DATA / name / "anonymous-msweb.data", encoding="latin-1") as file:
        for line in file:
            if line.startswith("C"):
                visits.append(set())
            elif line.startswith("V"):
                visits[-1].add(line.split(",")[1])
    return [sorted(visit) for visit in visits]


def private_copies(rows: Sequence[Sequence[str]]) -> list[str]:
    """A private item for each: a copy of its most frequent item of support below one half."""
    held = Counter(item for row in rows for item in row)
    copies = []
    for row in rows:
        rare = [item for item in row if 2 * held[item] < len(rows)]
        copies.append(COPY + (min(rare, key=lambda item: (-held[item], item)) if rare else "s*"))
    return copies


def public_items(rows: Sequence[Sequence[str]], share: float, seed: int) -> list[str]:
    """A seeded random choice of items."""
    items = sorted({item for row in rows for item in row})
    if share >= 1:
        return items
    return sorted(random.Random(seed).sample(items, round(share * len(items))))


def generated(rows: Sequence[Sequence[str]], count: int, seed: int = 1) -> Iterator[str]:
    """Lines of a basket file of the same shape, however long.

    Each begins as one of the given baskets; three items in ten are replaced by any, drawn by their
    support. So lengths, supports and what goes together are as they were, and most baskets are new.
    """
    rng = np.random.default_rng(seed)
    names, flat = np.unique([item for row in rows for item in row], return_inverse=True)
    starts = np.cumsum([0, *map(len, rows)])
    for first in range(0, count, 100_000):
        chosen = rng.integers(len(rows), size=min(100_000, count - first))
        sizes = (starts[1:] - starts[:-1])[chosen]
        ends = np.cumsum(sizes)
        items = flat[np.arange(ends[-1]) + np.repeat(starts[chosen] - (ends - sizes), sizes)]
        other = rng.random(len(items)) < 0.3
        items[other] = flat[rng.integers(len(flat), size=int(other.sum()))]
        texts = names[items]
        for low, high in zip(ends - sizes, ends, strict=True):
            yield " ".join(texts[low:high])
