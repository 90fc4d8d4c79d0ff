"""What somebody learns who links the unmasked table, or the masked one, with earlier releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from reticent.data.collapse import distinct
from reticent.data.columns import Column
from reticent.data.linking import Linked
from reticent.data.recode import Recoding
from reticent.privacy.promises import Anonymity, Promise, ours
from reticent.privacy.risk import LEVELS, Exposure
from reticent.refine.cuts import Cuts
from reticent.refine.measures import exceed
from reticent.refine.previous.kernels import count_matches
from reticent.refine.previous.measure import worst_of_each
from reticent.tables.prepare import Prepared, equal_rows
from reticent.tables.previous.plan import LinkPlan


def exposed(prepared: Prepared, promise: Promise, *, worst: int = 0) -> Exposure | None:
    """Measure a promise about earlier releases on the unmasked table, group by group of ours.

    What counts of a group is the worst that somebody finds who links it. None where our table alone
    tells as much.
    """
    counts = prepared.table.counts
    plan = LinkPlan(prepared, Cuts((), counts), promise)
    if plan.ours_alone:
        return None
    over = [prepared.cleaned.columns[name] for name in ours(promise.over)]
    rows = prepared.table.rows
    group, number = equal_rows(over, rows)
    ways = plan.ways((), (group, number))
    least = isinstance(promise, Anonymity)
    found = np.zeros((len(ways), 2, number), dtype=np.int64)
    for values, way in zip(found, ways, strict=True):
        way.look_at_all((), ahead=False)
        values[:, way.outlook.group] = way.outlook.over, way.outlook.under
    over_, under = worst_of_each([(one[0], one[1]) for one in found], smallest=least)
    ratio = over_ / under
    order = np.argsort(ratio if least else -ratio, kind="stable")[: max(worst, 64)].tolist()
    value = [Fraction(int(over_[g]), int(under[g])) for g in order]  # floats only shortlist
    breaks = (
        (over_ < promise.k)
        if isinstance(promise, Anonymity)
        else exceed(over_, under, promise.at_most)
    )
    first, sums = np.zeros((2, number), dtype=np.int64)
    first[group] = np.arange(rows)
    np.add.at(sums, group, 1 if counts is None else counts)
    return Exposure(
        promise,
        int(min(value)) if least else max(value),
        number,
        int(sums[breaks].sum()) if least else int(breaks.sum()),
        {} if least else {lv: int(exceed(over_, under, Fraction(lv)).sum()) for lv in LEVELS},
        tuple(
            (tuple(int(c.codes[first[g]]) for c in over), int(v) if least else v)
            for g, v in zip(order[:worst], value, strict=False)
            if breaks[g]
        ),
    )


@dataclass(frozen=True, slots=True)
class LinkedRelease:
    """How well records of ours can be found in an earlier release."""

    release: str
    records: int  # of theirs
    columns: tuple[str, ...]  # that link the two
    before: float  # how many of theirs a record of ours may be, on average, unmasked
    now: float  # and as it is shown


def linked_releases(
    prepared: Prepared, recodings: Mapping[str, Recoding]
) -> tuple[LinkedRelease, ...]:
    """How well a masked table can be linked with each earlier release that a promise names."""
    found = []
    for name in prepared.policy.releases:
        linked = prepared.earlier[name]
        columns = [prepared.cleaned.columns[link.column] for link in linked.links]
        shown = [
            recodings[column.name].apply(column)[0] if column.name in recodings else column
            for column in columns
        ]
        records = int(linked.counts.sum())
        by = tuple(link.column for link in linked.links if link.values)
        averages = [_mean_matches(prepared, linked, each) for each in (columns, shown)]
        found.append(LinkedRelease(name, records, by, *averages))
    return tuple(found)


def _mean_matches(prepared: Prepared, linked: Linked, columns: Sequence[Column]) -> float:
    if not columns:
        return float(linked.counts.sum())
    sizes = [max(len(column.values), 1) for column in columns]
    rows = distinct([column.codes for column in columns], sizes, prepared.table.counts)
    tuples, sets = linked.sets([c.texts() for c in columns], rows.columns)
    found = np.zeros(len(rows.counts), dtype=np.int64)
    count_matches(tuples, sets, linked.counts.astype(np.int64), found)
    return float((found * rows.counts).sum() / rows.counts.sum())
