"""What masking took away, whoever the data are for: distortion, hidden entries, discernibility.

What a column still shows is told as a share of what it told: see `share_shown`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reticent.data.collapse import Codes, distinct
from reticent.data.columns import Column
from reticent.data.encode import Domain, DomainNode
from reticent.data.recode import Recoding
from reticent.tables.evidence.aligned import AlignedRows


def losses(masked: AlignedRows) -> dict[str, Any]:
    """All of it, per record and per column."""
    prepared = masked.prepared
    rows = prepared.table.rows
    columns = {}
    for domain in prepared.domains:
        shown = masked.columns[domain.name]
        columns[domain.name] = {
            "distortion": distortion(domain, shown, masked.recodings[domain.name]) / rows,
            "hidden": hidden(domain, shown),
            "worst": worst(domain) / rows,
            "shows": round(share_shown(domain.codes, shown.codes), 9),
        }
    return {
        "distortion": sum(column["distortion"] for column in columns.values()),
        "worst": sum(column["worst"] for column in columns.values()),
        "hidden": sum(column["hidden"] for column in columns.values()),
        "entries": rows * len(columns),
        "discernibility": {
            "before": discernibility([prepared.cleaned.columns[name] for name in masked.columns]),
            "after": discernibility(list(masked.columns.values())),
        },
        "columns": columns,
    }


def distortion(domain: Domain, masked: Column, recoding: Recoding) -> float:
    """The distortion of one column, summed over its records.

    A generalized value counts the levels it climbed in its taxonomy, an interval its share of the
    whole range, a suppressed value 1.
    """
    labels = [text or "" for text in masked.texts()]
    pairs = domain.codes.astype(np.int64) * len(labels) + masked.codes
    found, counts = np.unique(pairs, return_counts=True)
    climbs = domain.mask == "generalize"
    costs: Any = _climbed(domain, labels) if climbs else _shares(domain, labels, recoding)
    total = 0.0
    for pair, count in zip(found.tolist(), counts.tolist(), strict=True):
        leaf, label = divmod(pair, len(labels))
        total += costs[(leaf, labels[label]) if climbs else labels[label]] * count
    return total


def worst(domain: Domain) -> float:
    """The distortion of a column that shows nothing to any record, summed over its records."""
    if domain.mask != "generalize" or domain.root is None:
        return len(domain.codes) * (1.0 if domain.root is None else domain.share(domain.root))
    depths = np.zeros(domain.size)
    waiting = [(domain.root, 0)]
    while waiting:
        node, depth = waiting.pop()
        waiting.extend((child, depth + 1) for child in node.children)
        if not node.children and node.low < node.high:
            depths[node.low] = depth
    return float(depths @ np.bincount(domain.codes, minlength=domain.size))


def _climbed(domain: Domain, labels: Sequence[str]) -> Mapping[tuple[int, str], float]:
    """How many levels lie between each leaf and the shown labels above it."""
    assert domain.root is not None
    shown = set(labels)
    levels: dict[tuple[int, str], float] = {}
    waiting: list[tuple[DomainNode, tuple[str, ...]]] = [(domain.root, ())]
    while waiting:
        node, above = waiting.pop()
        path = (*above, node.label)
        waiting.extend((child, path) for child in node.children)
        if not node.children and node.low < node.high:
            for climbed, label in enumerate(reversed(path)):
                if label in shown:
                    levels.setdefault((node.low, label), float(climbed))
    return levels


def _shares(domain: Domain, labels: Sequence[str], recoding: Recoding) -> dict[Any, float]:
    """Each interval's share of the range; 1 for the marker, 0 for a value shown as it is."""
    shares: dict[Any, float] = dict.fromkeys(labels, 0.0)
    if domain.ends is not None:
        whole = domain.ends[1] - domain.ends[0]
        for interval in recoding.intervals:
            shares[interval.label] = float((interval.high - interval.low) / whole) if whole else 0.0
    return shares | {domain.marker: 1.0}


def hidden(domain: Domain, masked: Column) -> int:
    """How many entries of a column show nothing but the marker or the root of their taxonomy."""
    nothing = {domain.marker, domain.root.label if domain.root else domain.marker}
    codes = [code for code, text in enumerate(masked.texts()) if text in nothing]
    return int(np.isin(masked.codes, codes).sum())


def shares_shown(masked: AlignedRows) -> dict[str, float]:
    """How much each masked column shows of what it told."""
    return {
        domain.name: round(share_shown(domain.codes, masked.columns[domain.name].codes), 9)
        for domain in masked.prepared.domains
    }


def share_shown(before: Codes, after: Codes) -> float:
    """The share of a column's information that is left once its values are grouped.

    Information is the entropy of the values over the records: about how many questions with yes or
    no it takes to find out a record's value. 1: every value can still be told from the others; 0:
    all records show the same, as they do where there was but one value. Grouping further never
    raises it.

    >>> share_shown(np.array([0, 1, 2, 3]), np.array([0, 0, 1, 1]))
    0.5
    """
    told = information(before)
    return information(after) / told if told else 0.0


def information(codes: Codes) -> float:
    """The entropy of the values of a column, in bits; of equal counts in any order the same."""
    counts = np.bincount(codes)
    shares = (counts[counts > 0] / len(codes)).tolist()
    return abs(math.fsum(share * math.log2(share) for share in shares))  # no minus zero


def discernibility(columns: Sequence[Column]) -> int:
    """The sum over records of how many records look the same in these columns."""
    counts = distinct([c.codes for c in columns], [len(c.values) for c in columns]).counts
    return int(counts @ counts) if counts.max() < 2**31 else int((counts.astype(object) ** 2).sum())
