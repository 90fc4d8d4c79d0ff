"""Which columns tell something of each other, before masking and after.

**The measure.** How much two columns tell of each other is their mutual information I over the
records, less what chance alone would add: about f / 2N nats in N records, of r and c values with
f = (r - 1)(c - 1), times q = 1 + (Σ1/p - 1)(Σ1/p' - 1) / 6Nf where some values are rare (Miller
1955; Williams 1976). As √(1 - exp(-2I)) it is on the scale of a correlation (Linfoot 1957), whose
end depends on how many values there are; so it is told as a share of what the same comes to for the
most that the two could tell: the smaller of their entropies, less the same chance. That is 0 where
neither says anything of the other, and 1 just where one gives the other away, however few values
they have. It knows neither directions nor straight lines, so it serves numbers, dates and words.

**What is counted.** Every pair of released columns, over all records; only where that were more
than `_MOST_VISITS` cells, over a sample of the records drawn by the seed. Columns are brought to
few levels first, fewer in short tables, so that chance can be told from what is there: numbers and
dates to at most ten groups of about equally many records, words to at most the 19 commonest values
and the rest. Of a masked column the levels before are those of the values split further by what is
shown of them; so what it shows is a grouping of what it was, and tells no more than that. What it
tells is a share of the most that the columns could tell as they were.

**A relation** is a pair of at least `LEAST` that stands out of chance, too: 2NI / q is larger than
chi square with f degrees of freedom is once in 30,000 times (Wilson and Hilferty 1931).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.data.columns import Column
from reticent.data.encode import Domain
from reticent.data.scales import Scale, kind_of, scale_of
from reticent.errors import InputError
from reticent.tables.evidence.aligned import AlignedRows

LEAST = 0.1  # from which on two columns count as related
AS_BEFORE = 0.9  # of its strength, from which on a relation counts as kept
_MOST_LISTED = 50
_MOST_VISITS = 2_000_000_000  # records times pairs: about ten seconds
_GROUPS = 10  # of numbers and dates
_LEVELS = 20
_A_CELL = 20  # records there should be for a cell of two columns' levels
_RARE = 200  # a level has at least one record in so many, the rest apart
_SURE = 4.0  # standard deviations
_MOST_CHANCE = 2.0

Levels = NDArray[np.int64]
Relation = tuple[tuple[str, str], float, float, bool]  # columns, before, after, still one


@dataclass(frozen=True, slots=True)
class Levelled:
    """A column in few levels, and which of them masking leaves together."""

    name: str
    codes: NDArray[np.int16]  # codes[record] < size
    size: int
    shown: Levels | None = None  # shown[level]: what is shown of it; None: itself


def relations(masked: AlignedRows, *, seed: int = 1) -> dict[str, Any]:
    """What became of the relations between released columns."""
    prepared = masked.prepared
    names = prepared.roles.released
    rows, pairs = prepared.table.rows, len(names) * (len(names) - 1) // 2
    few = max(_MOST_VISITS // max(pairs, 1), 2)
    drawn = None
    if few < rows:
        drawn = np.sort(np.random.default_rng(seed).choice(rows, few, replace=False))
    domains = {domain.name: domain for domain in prepared.domains}
    columns = [
        levelled(prepared.cleaned.columns[name], domains.get(name), masked.columns.get(name), drawn,
                 **prepared.form(name))
        for name in names
    ]  # fmt: skip
    found = strengths(columns)
    kept = sum(after >= AS_BEFORE * before for _, before, after, _ in found)
    lost = sum(not still for *_, still in found)
    gone = {name for name, shown in masked.columns.items() if len(shown.values) < 2}
    changed = [one for one in found if one[2] < AS_BEFORE * one[1]]
    changed.sort(key=lambda one: round(one[2] - one[1], 9))  # stable: else in column order
    return {
        "records": rows if drawn is None else few,
        "pairs": pairs,
        "threshold": LEAST,
        "related": len(found),
        "kept": kept,
        "weaker": len(changed) - lost,
        "lost": lost,
        "hidden": sum(not still and not gone.isdisjoint(pair) for pair, _, _, still in found),
        "most": _listed(changed),
        # Where a column is hidden, all it told is lost with it; these are lost besides.
        "most_shown": _listed([one for one in changed if gone.isdisjoint(one[0])]),
    }


def _listed(changed: Sequence[Relation]) -> list[dict[str, Any]]:
    return [
        {"columns": list(pair), "before": round(before, 6), "after": round(after, 6)}
        for pair, before, after, _ in changed[:_MOST_LISTED]
    ]


def strengths(columns: Sequence[Levelled]) -> list[Relation]:
    """The pairs that are related: how strongly before and after, and whether they still are."""
    found = []
    kept = [_grouping(column) for column in columns]
    for i, first in enumerate(columns):
        codes = first.codes.astype(np.int64)
        for j in range(i + 1, len(columns)):
            second = columns[j]
            cells = first.size * second.size
            counts = np.bincount(codes * second.size + second.codes, minlength=cells)
            table = counts.reshape(first.size, second.size).astype(float)
            counted = told_by(table)
            before, related = strength(counted, counted.most)
            if not related:
                continue
            after, still = before, True
            if first.shown is not None or second.shown is not None:
                after, still = strength(told_by(kept[i].T @ table @ kept[j]), counted.most)
                still = still or after >= AS_BEFORE * before
            pair = (first.name, second.name)
            found.append((pair, before, min(after, before), still))
    return found


def _grouping(column: Levelled) -> NDArray[np.float64]:
    """Which level is shown as which, as a matrix to multiply counts with."""
    shown = np.arange(column.size) if column.shown is None else column.shown
    matrix = np.zeros((column.size, int(shown.max(initial=0)) + 1))
    matrix[np.arange(column.size), shown] = 1.0
    return matrix


@dataclass(frozen=True, slots=True)
class MutualInformation:
    """What two columns tell of each other, in nats and less what chance adds."""

    told: float
    most: float  # that they could tell
    sure: bool  # more than chance would


def strength(counted: MutualInformation, most: float) -> tuple[float, bool]:
    """How much two columns tell of each other, of the most they could, and whether for sure.

    >>> def of(*counts):
    ...     counted = told_by(np.array(counts, float))
    ...     return strength(counted, counted.most)
    >>> of([500, 0], [0, 500]), of([250, 250], [250, 250]), of([30, 0, 0], [0, 30, 40])
    ((1.0, True), (0.0, False), (1.0, True))
    """
    if counted.told <= 0 or most <= 0:
        return 0.0, False
    found = math.sqrt(min(math.expm1(-2 * counted.told) / math.expm1(-2 * most), 1.0))
    found = round(found, 9)  # what is all is not a little less by how floats add up
    return found, bool(counted.sure and found >= LEAST)


def told_by(table: NDArray[np.float64]) -> MutualInformation:
    """What rows and columns of a table of counts tell of each other."""
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    total = rows.sum()
    freedom = (np.count_nonzero(rows) - 1) * (np.count_nonzero(columns) - 1)
    if not freedom:
        return MutualInformation(0.0, 0.0, False)
    sides = _spread(rows), _spread(columns)
    raw = (sum(sides) - _spread(table)) / total + math.log(total)
    rare = (_rarity(rows) - 1) * (_rarity(columns) - 1) / (6 * total * freedom)
    times = min(1 + rare, _MOST_CHANCE)
    chance = times * freedom / (2 * total)
    step = 2 / (9 * freedom)
    sure = 2 * total * raw / times > freedom * (1 - step + _SURE * math.sqrt(step)) ** 3
    entropy = min(sides) / total + math.log(total)
    return MutualInformation(raw - chance, entropy - chance, bool(sure))


def _spread(counts: NDArray[np.float64]) -> float:
    counts = counts[counts > 0]
    return -float((counts * np.log(counts)).sum())


def _rarity(counts: NDArray[np.float64]) -> float:
    """The sum of 1 / p: how many values there were if all were as rare as they are on average."""
    return float(counts.sum() * (1 / counts[counts > 0]).sum())


# --- levels --------------------------------------------------------------------------------------


def levelled(
    column: Column,
    domain: Domain | None,
    shown: Column | None,
    drawn: NDArray[np.int64] | None = None,
    **form: Any,
) -> Levelled:
    """A column in few levels; of a masked one, split by what is shown of its values."""
    if domain is None or shown is None:
        codes = _few(column, **form)
        codes = codes if drawn is None else codes[drawn]
        return Levelled(column.name, codes.astype(np.int16), int(codes.max(initial=0)) + 1)
    before = _few(column, domain.scale, **form)
    after = _commonest(shown)
    if drawn is not None:
        before, after = before[drawn], after[drawn]
    count = int(after.max(initial=0)) + 1
    held, codes = np.unique(before * count + after, return_inverse=True)
    return Levelled(column.name, codes.astype(np.int16), len(held), held % count)


def _few(column: Column, scale: Scale | None = None, **form: Any) -> Levels:
    """The levels of a column as it is."""
    if scale is None and kind_of(column, **form) in ("number", "date", "timestamp"):
        with suppress(InputError):  # what cannot be read counts as words
            scale = scale_of(column, **form)
    if scale is None:
        return _commonest(column)
    counts = np.bincount(column.codes, minlength=len(column.values))
    present = scale.rank >= 0
    of_points = np.zeros(len(scale.points), np.int64)
    np.add.at(of_points, scale.rank[present], counts[present])
    most, rare = _bounds(len(column.codes))
    if len(scale.points) > most or of_points.min(initial=rare) < rare:
        below = np.cumsum(of_points) - of_points  # the tenth that a point begins in
        to = below * min(_GROUPS, most) // max(int(of_points.sum()), 1)
    else:
        to = np.arange(len(scale.points))
    gaps = len(column.codes) - int(of_points.sum())
    gap = int(to.max(initial=-1)) + 1 if gaps >= rare else 0
    found: Levels = np.where(present, np.append(to, gap)[scale.rank], gap)[column.codes]
    return found.astype(np.int64)


def _commonest(column: Column) -> Levels:
    """The commonest values as levels, and one for the rest; of equal counts by their text."""
    counts = np.bincount(column.codes, minlength=len(column.values)).tolist()
    most, rare = _bounds(len(column.codes))
    often = [code for code, count in enumerate(counts) if count >= rare]
    if len(often) == len(counts) <= most:
        return column.codes.astype(np.int64)
    texts = column.texts()
    often.sort(key=lambda code: (-counts[code], texts[code] or ""))
    kept = often[: most - 1]
    to = np.full(len(counts), len(kept))
    to[kept] = np.arange(len(kept))
    return to[column.codes].astype(np.int64)


def _bounds(records: int) -> tuple[int, int]:
    """How many levels a column may have, and how many records one of them has at least."""
    return min(max(math.isqrt(records // _A_CELL), 2), _LEVELS), -(-records // _RARE)
