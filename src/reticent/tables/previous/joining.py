"""From a promise about a join to how it is counted: which columns link, what each side bears."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from reticent.data.collapse import Codes, distinct
from reticent.data.columns import Column
from reticent.data.linking import Linked, number_rows
from reticent.privacy.promises import Anonymity, Promise, ours, theirs
from reticent.privacy.risk import LEVELS, Exposure, Known, small_groups, sure_inferences
from reticent.refine.cuts import Cuts
from reticent.refine.previous import kernels
from reticent.refine.previous.counting import Way
from reticent.refine.previous.ours import Ours, Shown
from reticent.refine.previous.theirs import Beside
from reticent.tables.prepare import people_marks, value_marks

if TYPE_CHECKING:
    from reticent.data.recode import Recoding
    from reticent.tables.prepare import Prepared


class JoinPlan:
    """How a promise about the join with earlier releases is to be measured."""

    def __init__(self, prepared: Prepared, cuts: Cuts, promise: Promise) -> None:
        self.prepared, self.cuts, self.promise = prepared, cuts, promise
        self.linked = [prepared.earlier[name] for name in promise.releases]
        marked = promise.of if isinstance(promise, Anonymity) else tuple(promise.sensitive)
        self.ours = ours(marked)
        self.theirs = {name: theirs(marked, name) for name in promise.releases}
        bearing = [name for name, columns in self.theirs.items() if columns]
        self.about_ours = bool(self.ours) and not bearing
        self.about_theirs = not self.ours and len(bearing) == 1
        known = ours(promise.over)
        self.one_sided = all(
            link.column in known
            and all(column in theirs(promise.over, one.name) for _, _, column, _, _ in link.apart)
            and (not link.values or link.column in theirs(promise.over, one.name))
            for one in self.linked
            for link in one.links
        )

    @property
    def ours_alone(self) -> bool:
        """Whether our table alone tells as much as the join does."""
        return self.one_sided and self.about_ours and bool(ours(self.promise.over))

    def settled(self) -> int | Fraction:
        """The value of a promise about one earlier release, which nothing of ours can change."""
        [name] = [name for name, columns in self.theirs.items() if columns]
        table = self.prepared.earlier[name].table
        columns = [table.columns[n] for n in theirs(self.promise.over, name)]
        known = Known(
            tuple(c.codes for c in columns) or (np.zeros(table.rows, dtype=np.uint8),),
            tuple(len(c.values) for c in columns) or (1,), table.counts,
        )  # fmt: skip
        marked = [table.columns[column] for column in self.theirs[name]]
        if isinstance(self.promise, Anonymity):
            return small_groups(self.promise, known, people_marks(marked)).value
        listed = [self.promise.sensitive[n] for n in self.promise.sensitive]
        marks = [value_marks(c, values) for c, values in zip(marked, listed, strict=True)]
        return sure_inferences(self.promise, known, marks).value

    def ways(
        self, over: Sequence[int], groups: tuple[NDArray[np.int64], int] | None = None
    ) -> list[Way]:
        """One way to count, or one for each sensitive column.

        `groups`: rows of ours that are known to be equal in `over`, if it is not masked.
        """
        promise, cleaned = self.promise, self.prepared.cleaned
        names = list(dict.fromkeys(link.column for one in self.linked for link in one.links))
        links = [self._shown(name) for name in names]
        if isinstance(promise, Anonymity):
            mine = people_marks([cleaned.columns[name] for name in self.ours])
            besides = [
                self._beside(one, names, people_marks(self._columns(one.name, self.theirs)))
                for one in self.linked
            ]
            counts = self.prepared.table.counts
            if mine is not None and _stand_once(*mine, counts):  # they need not be told apart
                weights = ((mine[0] > 0) * (1 if counts is None else counts)).astype(np.int64)
                rows = Ours(self.cuts, over, links, groups=groups, weights=weights)
                return [Way(rows, besides, anonymity=True, once=True)]
            rows = Ours(self.cuts, over, links, *_some(mine), groups)
            return [Way(rows, besides, anonymity=True)]
        ways = []
        for name, listed in promise.sensitive.items():
            mine = value_marks(cleaned.columns[name], listed) if name in self.ours else None
            besides = []
            for one in self.linked:
                column = theirs([name], one.name)
                marks = value_marks(one.table.columns[column[0]], listed) if column else None
                besides.append(self._beside(one, names, marks))
            ways.append(
                Way(Ours(self.cuts, over, links, *_some(mine), groups), besides, anonymity=False)
            )
        return ways

    def _columns(self, release: str, of: Mapping[str, Sequence[str]]) -> list[Column]:
        return [self.prepared.earlier[release].table.columns[name] for name in of[release]]

    def _shown(self, name: str) -> Shown:
        masked = [domain.name for domain in self.cuts.domains]
        if name in masked:
            return Shown(masked.index(name))
        column = self.prepared.cleaned.columns[name]
        return Shown(-1, column.codes, tuple(column.texts()))

    def _beside(self, one: Linked, names: Sequence[str], marks: tuple[Codes, int] | None) -> Beside:
        columns = [one.table.columns[name] for name in theirs(self.promise.over, one.name)]
        groups = np.zeros(one.table.rows, dtype=np.int64), 1
        if columns:
            sizes = [max(len(column.values), 1) for column in columns]
            groups = number_rows([column.codes for column in columns], sizes)
        mine = tuple(names.index(link.column) for link in one.links)
        return Beside(one, mine, *groups, *_some(marks))


def ours_alone(prepared: Prepared, promise: Promise) -> bool:
    """Whether a promise about a join can be measured on our table alone."""
    return JoinPlan(prepared, Cuts(()), promise).ours_alone


@dataclass(frozen=True, slots=True)
class Meets:
    """How a table meets an earlier release."""

    release: str
    records: int  # of theirs
    columns: tuple[str, ...]  # by which the two are joined
    before: float  # how many of theirs a record of ours may be, on average, unmasked
    now: float  # and as it is shown


def meets(prepared: Prepared, recodings: Mapping[str, Recoding]) -> tuple[Meets, ...]:
    """How a masked table meets each earlier release that a promise names."""
    found = []
    for name in prepared.policy.joined:
        linked = prepared.earlier[name]
        columns = [prepared.cleaned.columns[link.column] for link in linked.links]
        shown = [
            recodings[column.name].apply(column)[0] if column.name in recodings else column
            for column in columns
        ]
        records = int(linked.counts.sum())
        by = tuple(link.column for link in linked.links if link.values)
        means = [_candidates(prepared, linked, each) for each in (columns, shown)]
        found.append(Meets(name, records, by, *means))
    return tuple(found)


def _candidates(prepared: Prepared, linked: Linked, columns: Sequence[Column]) -> float:
    if not columns:
        return float(linked.counts.sum())
    sizes = [max(len(column.values), 1) for column in columns]
    rows = distinct([column.codes for column in columns], sizes, prepared.table.counts)
    tuples, sets = linked.sets([c.texts() for c in columns], rows.columns)
    found = np.zeros(len(rows.counts), dtype=np.int64)
    kernels.candidates(tuples, sets, linked.counts.astype(np.int64), found)
    return float((found * rows.counts).sum() / rows.counts.sum())


def exposed(prepared: Prepared, promise: Promise, *, worst: int = 0) -> Exposure:
    """Measure a promise about a join on the unmasked table, group by group of ours.

    What counts of a group is the worst that somebody finds who joins it.
    """
    over = [prepared.cleaned.columns[name] for name in ours(promise.over)]
    rows, counts = prepared.table.rows, prepared.table.counts
    group, number = np.zeros(rows, dtype=np.int64), 1
    if over:
        sizes = [max(len(column.values), 1) for column in over]
        group, number = number_rows([column.codes for column in over], sizes)
    ways = JoinPlan(prepared, Cuts((), counts), promise).ways((), (group, number))
    least = isinstance(promise, Anonymity)
    found = np.zeros((2, len(ways), number), dtype=np.int64)
    for i, way in enumerate(ways):
        way.look_at(np.ones(number, dtype=bool), (), ahead=False)
        found[:, i, way.outlook.group] = way.outlook.over, way.outlook.under
    over_, under = np.zeros((2, number), dtype=np.int64)
    starts = np.arange(0, len(ways) * number + 1, len(ways))
    kernels.worst_of(starts, found[0].T.ravel(), found[1].T.ravel(), least, over_, under)
    ratio = over_ / under
    order = np.argsort(ratio if least else -ratio, kind="stable")[: max(worst, 64)].tolist()
    value = [Fraction(int(over_[g]), int(under[g])) for g in order]  # floats only shortlist
    breaks = (
        (over_ < promise.k)
        if isinstance(promise, Anonymity)
        else _above(over_, under, promise.at_most)
    )
    first, sums = np.zeros((2, number), dtype=np.int64)
    first[group] = np.arange(rows)
    np.add.at(sums, group, 1 if counts is None else counts)
    return Exposure(
        promise,
        int(min(value)) if least else max(value),
        number,
        int(sums[breaks].sum()) if least else int(breaks.sum()),
        {} if least else {lv: int(_above(over_, under, Fraction(lv)).sum()) for lv in LEVELS},
        tuple(
            (tuple(int(c.codes[first[g]]) for c in over), int(v) if least else v)
            for g, v in zip(order[:worst], value, strict=False)
            if breaks[g]
        ),
    )


def _above(over: NDArray[np.int64], under: NDArray[np.int64], most: Fraction) -> NDArray[np.bool_]:
    """Which fractions exceed a bound, exactly."""
    above = over / under > float(most)
    for i in np.flatnonzero(np.abs(over / under - float(most)) < 1e-9).tolist():
        above[i] = int(over[i]) * most.denominator > int(under[i]) * most.numerator
    return np.asarray(above)


def _stand_once(marks: Codes, count: int, counts: NDArray[np.int64] | None) -> bool:
    """Whether no two records have the same mark."""
    per_mark = np.bincount(marks, counts, minlength=count + 1)
    return bool(per_mark[1:].max(initial=0) <= 1)


def _some(marks: tuple[Codes, int] | None) -> tuple[Codes | None, int]:
    """Marks and their number; where everybody's are missing there is still something to count."""
    return (None, 0) if marks is None else (marks[0], max(marks[1], 1))
