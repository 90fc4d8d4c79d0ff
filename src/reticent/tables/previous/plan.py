"""From a promise about earlier releases to how it is counted: what links, what each side bears."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reticent.data.collapse import Codes
from reticent.data.columns import Table
from reticent.data.linking import Linked
from reticent.privacy.promises import Anonymity, Promise, ours, theirs
from reticent.privacy.risk import Known, small_groups, sure_inferences
from reticent.refine.cuts import Cuts
from reticent.refine.previous.counting import Way
from reticent.refine.previous.ours import LinkingColumn, Ours
from reticent.refine.previous.theirs import Vectors
from reticent.tables.prepare import Prepared, equal_rows, people_marks, value_marks

Marks = tuple[Codes, int] | None  # what is counted, by row: 1, 2, …, or 0; how many; None: rows
Listed = Literal["*"] | tuple[str, ...] | None  # sensitive values; None: people are counted
RowGroups = tuple[NDArray[np.int64], int]  # by row, the number of its group; and how many there are


class LinkPlan:
    """How a promise about earlier releases is to be measured."""

    def __init__(self, prepared: Prepared, cuts: Cuts, promise: Promise) -> None:
        self.prepared, self.cuts, self.promise = prepared, cuts, promise
        self.linked = [prepared.earlier[name] for name in promise.releases]
        # Which columns are counted together, in one way after the other, and which values of them.
        self.counted: list[tuple[tuple[str, ...], Listed]]
        if isinstance(promise, Anonymity):
            self.counted = [(promise.of, None)]
        else:
            self.counted = [((name,), listed) for name, listed in promise.sensitive.items()]
        marked = [name for names, _ in self.counted for name in names]
        self.bearing = [name for name in promise.releases if theirs(marked, name)]
        self.about_ours = bool(ours(marked)) and not self.bearing
        self.about_theirs = not ours(marked) and len(self.bearing) == 1
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
        """Whether our table alone tells as much as all of them linked."""
        return self.one_sided and self.about_ours and bool(ours(self.promise.over))

    def settled(self) -> int | Fraction:
        """The value of a promise about one earlier release, which nothing of ours can change."""
        [name] = self.bearing
        table = self.prepared.earlier[name].table
        columns = [table.columns[n] for n in theirs(self.promise.over, name)]
        known = Known(
            tuple(c.codes for c in columns) or (np.zeros(table.rows, dtype=np.uint8),),
            tuple(len(c.values) for c in columns) or (1,), table.counts,
        )  # fmt: skip
        marks = [_marks(table, theirs(names, name), listed) for names, listed in self.counted]
        if isinstance(self.promise, Anonymity):
            return small_groups(self.promise, known, marks[0]).value
        return sure_inferences(self.promise, known, [one for one in marks if one]).value

    def ways(self, over: Sequence[int], groups: RowGroups | None = None) -> list[Way]:
        """One way to count, or one for each sensitive column.

        `groups`: rows of ours that are known to be equal in `over`, if it is not masked.
        """
        names = list(dict.fromkeys(link.column for one in self.linked for link in one.links))
        links = [self._linking(name) for name in names]
        anonymity, counts = isinstance(self.promise, Anonymity), self.prepared.table.counts
        ways = []
        for counted, listed in self.counted:
            mine = _marks(self.prepared.cleaned, ours(counted), listed)
            sides = [
                self._vectors(one, names, _marks(one.table, theirs(counted, one.name), listed))
                for one in self.linked
            ]
            weights = None
            if anonymity and mine is not None and _stand_once(*mine, counts):
                # They need not be told apart: a row counts for as many as it names.
                weights = ((mine[0] > 0) * (1 if counts is None else counts)).astype(np.int64)
                mine = None
            rows = Ours(self.cuts, over, links, *_some(mine), groups, weights)
            ways.append(Way(rows, sides, anonymity=anonymity, once=weights is not None))
        return ways

    def _linking(self, name: str) -> LinkingColumn:
        masked = [domain.name for domain in self.cuts.domains]
        if name in masked:
            return LinkingColumn(masked.index(name))
        column = self.prepared.cleaned.columns[name]
        return LinkingColumn(-1, column.codes, tuple(column.texts()))

    def _vectors(self, one: Linked, names: Sequence[str], marks: Marks) -> Vectors:
        columns = [one.table.columns[name] for name in theirs(self.promise.over, one.name)]
        mine = tuple(names.index(link.column) for link in one.links)
        return Vectors(one, mine, *equal_rows(columns, one.table.rows), *_some(marks))


def _marks(table: Table, names: Sequence[str], listed: Listed) -> Marks:
    """What is counted of a table: people by some columns, or listed values of one column."""
    columns = [table.columns[name] for name in names]
    if listed is None or not columns:
        return people_marks(columns)
    return value_marks(columns[0], listed)


def _stand_once(marks: Codes, count: int, counts: NDArray[np.int64] | None) -> bool:
    """Whether no two records have the same mark."""
    per_mark = np.bincount(marks, counts, minlength=count + 1)
    return bool(per_mark[1:].max(initial=0) <= 1)


def _some(marks: Marks) -> tuple[Codes | None, int]:
    """Marks and their number; where everybody's are missing there is still something to count."""
    return (None, 0) if marks is None else (marks[0], max(marks[1], 1))
