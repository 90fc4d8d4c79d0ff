"""The fewest entries that keep hidden entries safe, by an integer program: for small tables.

Records that are alike in everything are of one kind. A variable says of each kind and each set of
its entries how many of its records hide just that set; so who fits a pattern, and who follows a
rule, are sums of variables. A rule p → s is safe if

    own <= min_support    or    own <= min_confidence · support    or    nobody shows p any more

where the last can only happen if people who asked may hide conditions. Two binary variables choose;
all coefficients are whole numbers. Rules are all those of people who asked, unsafe or not, for
hiding conditions makes rules about other values stronger. There are 2^columns sets for a kind: a
few columns are enough to be slow.

What may be left out, and is: entries that no person who asked shows, and with others those that no
such person with the same value shows. Hiding them makes no rule safer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_matrix

from reticent.suppress.entries.search import CONDITIONS, OWN, SENSITIVE, Partial, RuleLimits

Ints = NDArray[np.int64]
Row = dict[int, int]  # variable → coefficient


@dataclass(frozen=True, slots=True)
class Optimum:
    """The fewest entries, or what is known of their number."""

    bound: int  # no choice has fewer
    solved: bool  # this one has no more
    records: Ints
    columns: Ints
    possible: bool = True  # whether any choice is safe

    def __len__(self) -> int:
        return len(self.records)


@dataclass(frozen=True, slots=True)
class _Kind:
    """Records that are alike."""

    records: Ints
    row: tuple[int, ...]
    truth: int
    asked: bool
    sets: list[frozenset[int]]  # of entries that may be hidden together; the first is empty
    first: int  # the variable of the first set

    def showing(self, columns: Collection[int]) -> Iterator[int]:
        """The variables of those that hide none of some entries."""
        for i, gone in enumerate(self.sets):
            if gone.isdisjoint(columns):
                yield self.first + i


def fewest(
    partial: Partial, limits: RuleLimits, regions: Collection[str], seconds: float = 60.0
) -> Optimum:
    """The fewest entries of some regions that can be hidden so that no rule is unsafe."""
    return _Program(partial, limits, regions).solve(seconds)


class _Program:
    def __init__(self, partial: Partial, limits: RuleLimits, regions: Collection[str]) -> None:
        self.partial, self.limits, self.regions = partial, limits, regions
        self.width = partial.conditions.shape[1]
        self.over, self.under = limits.share(len(partial.truth))
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.cost: list[int] = []
        self.rows: list[tuple[Row, float, float]] = []
        self.kinds = self._kinds()
        self.cells = np.array([kind.row for kind in self.kinds], np.int64)
        for kind in self.kinds:
            every = {kind.first + i: 1 for i in range(len(kind.sets))}
            self.rows.append((every, len(kind.records), len(kind.records)))
        for pattern, value in sorted(self._rules()):  # in no order of a hash
            self._keep_safe(pattern, value)

    # --- variables -------------------------------------------------------------------------------

    def _variable(self, most: int, cost: int = 0) -> int:
        self.lower.append(0)
        self.upper.append(most)
        self.cost.append(cost)
        return len(self.cost) - 1

    def _kinds(self) -> list[_Kind]:
        partial = self.partial
        alike: dict[tuple[object, ...], list[int]] = {}
        for record, row in enumerate(partial.conditions.tolist()):
            truth, asked = int(partial.truth[record]), bool(partial.asked[record])
            key = (*row, truth, asked, *partial.fixed[record].tolist())
            alike.setdefault(key, []).append(record)
        people = np.flatnonzero(partial.asked)
        shown = {
            (int(partial.truth[t]), j, int(partial.conditions[t, j]))
            for t in people
            for j in range(self.width)
        }
        found = []
        for records in alike.values():
            may = [j for j in range(self.width + 1) if self._may_go(records[0], j, shown)]
            sets = [frozenset(s) for size in range(len(may) + 1) for s in combinations(may, size)]
            first = len(self.cost)
            for some in sets:
                self._variable(len(records), len(some))
            one = records[0]
            row = tuple(partial.conditions[one].tolist())
            asked, truth = bool(partial.asked[one]), int(partial.truth[one])
            found.append(_Kind(np.array(records), row, truth, asked, sets, first))
        return found

    def _may_go(self, record: int, column: int, shown: set[tuple[int, int, int]]) -> bool:
        partial = self.partial
        if partial.fixed[record, column] or partial.truth[record] < 0:
            return False
        truth, asked = int(partial.truth[record]), bool(partial.asked[record])
        if column == self.width:
            wanted = any(value == truth for value, _, _ in shown)
            return not asked and wanted and SENSITIVE in self.regions
        code = int(partial.conditions[record, column])
        if code < 0 or (OWN if asked else CONDITIONS) not in self.regions:
            return False
        return asked or (truth, column, code) in shown

    # --- rules -----------------------------------------------------------------------------------

    def _rules(self) -> set[tuple[tuple[tuple[int, int], ...], int]]:
        found = set()
        most = self.limits.max_pattern or self.width
        for kind in self.kinds:
            shown = [(j, code) for j, code in enumerate(kind.row) if code >= 0]
            if kind.asked:
                for size in range(1, min(most, len(shown)) + 1):
                    found |= {(p, kind.truth) for p in combinations(shown, size)}
        return found

    def _keep_safe(self, pattern: tuple[tuple[int, int], ...], value: int) -> None:
        columns = [j for j, _ in pattern]
        fits = (self.cells[:, columns] == [code for _, code in pattern]).all(axis=1)
        fitting = [self.kinds[i] for i in np.flatnonzero(fits).tolist()]
        own, support, gone = Row(), Row(), []
        moves, firm, followers = False, 0, 0
        for kind in fitting:
            free = any(not some.isdisjoint(columns) for some in kind.sets)
            moves |= free
            support |= dict.fromkeys(kind.showing(columns), 1)
            if kind.asked:
                if kind.truth == value:
                    gone.append((kind, free))
            elif kind.truth == value:
                own |= dict.fromkeys(kind.showing([*columns, self.width]), 1)
                followers += len(kind.records)
            if not free and (kind.asked or kind.truth != value):
                firm += len(kind.records)
        least = self.limits.min_support
        if followers <= least:
            return
        if not moves:
            fit = sum(len(kind.records) for kind in fitting)
            self.rows.append((own, -np.inf, max(self.over * fit // self.under, least)))
            return
        # Bounds that are always kept, so that a chosen alternative switches the others off.
        most = max((self.under - self.over) * followers - self.over * firm, 0)
        weak = self._variable(1)  # 1: it is the support that keeps the rule safe
        confidence = {v: self.under * own.get(v, 0) - self.over for v in support}
        confidence[weak] = -most
        small = {**own, weak: followers - least}
        slack = 0
        if all(free for _, free in gone):
            slack = 1
            exposed = self._variable(1)  # 0: nobody shows the pattern any more
            for kind, _ in gone:
                some = dict.fromkeys(kind.showing(columns), 1)
                self.rows.append(({**some, exposed: -len(kind.records)}, -np.inf, 0))
            confidence[exposed] = most
            small[exposed] = followers - least
        self.rows.append((confidence, -np.inf, most * slack))
        self.rows.append((small, -np.inf, followers + slack * (followers - least)))

    # --- answers ---------------------------------------------------------------------------------

    def solve(self, seconds: float) -> Optimum:
        """Ask for the cheapest values of all variables."""
        at = [i for i, (row, _, _) in enumerate(self.rows) for _ in row]
        which = [v for row, _, _ in self.rows for v in row]
        what = [c for row, _, _ in self.rows for c in row.values()]
        shape = len(self.rows), len(self.cost)
        table = coo_matrix((np.array(what, float), (at, which)), shape=shape).tocsr()
        none = np.zeros(0, np.int64)
        found = milp(
            np.array(self.cost, float), integrality=np.ones(len(self.cost)),
            bounds=Bounds(self.lower, self.upper),
            constraints=LinearConstraint(
                table, [low for _, low, _ in self.rows], [high for _, _, high in self.rows]
            ),
            options={"time_limit": seconds, "mip_rel_gap": 0},
        )  # fmt: skip
        if found.status == 2:
            return Optimum(0, True, none, none, possible=False)
        dual = found.mip_dual_bound
        bound = 0 if dual is None or not np.isfinite(dual) else int(np.ceil(dual - 1e-6))
        if found.x is None:
            return Optimum(bound, False, none, none)
        records, columns = self._spread(np.rint(found.x).astype(np.int64))
        return Optimum(bound, found.status == 0 and bound == len(records), records, columns)

    def _spread(self, numbers: Ints) -> tuple[Ints, Ints]:
        """Entries behind the numbers; of each kind the lowest records hide most."""
        found: list[tuple[int, int]] = []
        for kind in self.kinds:
            left = kind.records.tolist()
            for i in range(len(kind.sets) - 1, 0, -1):
                count = int(numbers[kind.first + i])
                found += [(record, j) for record in left[:count] for j in sorted(kind.sets[i])]
                left = left[count:]
        entries = np.array(found, np.int64).reshape(-1, 2)
        return entries[:, 0], entries[:, 1]
