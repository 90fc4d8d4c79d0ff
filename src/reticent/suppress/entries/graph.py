"""Others' conditions: the papers' graph of rules, and which records leave which rule.

A node is what some records share with a person who asked, as much as they share with any such
person; its *descendants* are the rules over parts of it. Records with the rules' value stand at
their nodes (the papers' ExactMatch). A step takes a node, the condition that stands in most of its
unsafe rules, and as many of its records as the first of these rules needs (MinHide): they no longer
show that condition, and move to other nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from random import Random

import numpy as np

from reticent.suppress.entries import placing
from reticent.suppress.entries.rules import Codes, EntryTable, KnownRules, concerned
from reticent.suppress.entries.steps import HidingStep
from reticent.suppress.sets import Ints, Mask

_RECORDS = 1 << 17  # that find their places at a time: Ctrl-C is heard only in between


class Graph:
    """Nodes where records stand, and the steps between them."""

    def __init__(
        self, table: EntryTable, rules: KnownRules, fixed: Mask, strategy: str, random: Random
    ) -> None:
        """Look at the table as it is now."""
        self.table, self.rules, self.strategy, self.random = table, rules, strategy, random
        self.closed = (fixed[:, :-1] * (np.int64(1) << np.arange(table.columns))).sum(axis=1)
        people = np.flatnonzero(table.asked)
        people = people[np.argsort(table.truth[people], kind="stable")]
        self.people = table.conditions[people]
        last = int(table.truth.max(initial=-1))
        self.starts = np.searchsorted(table.truth[people], np.arange(last + 2))
        self.places = placing.places(table.columns, rules.unsafe, table.records)
        self.moved: Ints = np.flatnonzero(concerned(rules, table))
        self._join()

    def _join(self) -> None:
        """Let records that moved stand where they belong now, and nowhere else."""
        table, rules, records = self.table, self.rules, self.moved
        at, part = 0, 0
        while at < len(records):
            end = min(at + _RECORDS, len(records))
            at, part = placing.join(
                self.places, rules.ways, len(rules), table.conditions, table.values, self.people,
                self.starts, records[:end], at, part,
            )  # fmt: skip
            if at < end:
                self.places = placing.larger(self.places)
        self.moved = records[:0]

    def standing(self) -> Iterator[tuple[Codes, Ints]]:
        """The nodes, and the records at each."""
        places = self.places
        for node in range(int(places.used[placing.NODES])):
            found, place = [], int(places.heads[node])
            while place >= 0:
                record = int(places.records[place])
                if places.versions[place] == places.version[record]:
                    found.append(record)
                place = int(places.later[place])
            yield places.cells[node], np.array(found[::-1], np.int64)

    # --- steps -----------------------------------------------------------------------------------

    def next(self) -> HidingStep | None:
        """The next node, by the strategy that is asked for, and what to hide there."""
        rules = self.rules
        while (node := self._choose()) >= 0:
            column, worth, records, most = placing.step(
                self.places, rules.ways, rules.patterns, rules.numbers, rules.unsafe, rules.limits,
                self.closed, node,
            )  # fmt: skip
            if column >= 0:
                lowest = np.sort(records)[:most]
                return HidingStep(worth, int(column), partial(self._take, lowest))
            # Nobody stands there, or all that could be hidden must be published.
            placing.leave_out(self.places, node)
        return None

    def _choose(self) -> int:
        if self.strategy == "max-descendant":  # none of its ancestors has fewer
            return int(placing.first(self.places))
        nodes = int(self.places.used[placing.NODES])
        useful = np.flatnonzero((self.places.gains[:nodes] > 0) & (self.places.spots[:nodes] >= 0))
        if not len(useful):
            return -1
        if self.strategy == "random-max":
            sizes = np.bitwise_count(self.places.masks[useful])
            return int(self.random.choice(useful[sizes == sizes.max()].tolist()))
        # Draws until one stands below no other: each that does not is as likely as any.
        while True:
            node = int(useful[self.random.randrange(len(useful))])
            if placing.is_top(self.places, node, useful):
                return node

    def _take(self, records: Ints) -> Sequence[Ints]:
        alike: dict[bytes, list[int]] = {}  # those who stand at a node have one value
        for record, row in zip(records.tolist(), self.table.conditions[records], strict=True):
            alike.setdefault(row.tobytes(), []).append(record)
        self.moved = records
        return [np.array(some) for some in alike.values()]

    def heard(self, changed: Ints) -> None:
        """Count unsafe rules anew where they changed, and let those who moved stand elsewhere."""
        placing.heard(self.places, changed, self.rules.unsafe)
        self._join()
