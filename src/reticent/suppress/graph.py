"""Others' conditions: the papers' graph of rules, and which records leave which rule.

A node is what some records share with a person who asked, as much as they share with any such
person; its *descendants* are the rules over parts of it. Records with the rules' value stand at
their nodes (the papers' ExactMatch). A step takes a node, the condition that stands in most of its
unsafe rules, and as many of its records as the first of these rules needs (MinHide): they no longer
show that condition, and move to other nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from reticent.suppress import matching
from reticent.suppress.rules import Codes, Ints
from reticent.suppress.steps import Kinds, Step

if TYPE_CHECKING:
    from reticent.suppress.entries import Search

Key = tuple[int, ...]  # the value and the codes of a kind, or of a node; and what is closed


@dataclass(slots=True)
class _Kind:
    """Records with a value that are alike in all conditions, and in what must be published."""

    row: Codes
    value: int
    closed: int  # bits of conditions that must be published
    rules: Ints  # of that value, that they fit
    records: list[int] = field(default_factory=list)  # ascending
    nodes: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Node:
    """What records share with a person."""

    value: int
    columns: tuple[int, ...]
    cells: frozenset[tuple[int, int]]  # each column with its code
    rules: Ints  # its descendants, and itself
    kinds: dict[Key, None] = field(default_factory=dict)  # those that stand here


class Graph:
    """Nodes where records stand, and the steps between them."""

    def __init__(self, search: Search) -> None:
        """Look at the table as it is now."""
        self.search = search
        self.masks, self.has = search.rules.masks, search.rules.patterns >= 0
        self.kinds: dict[Key, _Kind] = {}
        self.nodes: list[_Node] = []
        self.number: dict[Key, int] = {}
        self.gains = np.zeros(64, np.int64)  # by node: unsafe rules
        self.sizes = np.zeros(64, np.int64)  # by node: columns
        self.of_rule: dict[int, list[int]] = {}
        fixed = search.partial.fixed[:, :-1]
        closed = (fixed * (np.int64(1) << np.arange(fixed.shape[1]))).sum(axis=1)
        every = Kinds(search, np.flatnonzero(search.rules.unsafe), closed)
        table = search.table
        self.people = {
            int(value): table.conditions[table.asked & (table.truth == value)]
            for value in np.unique(table.truth[table.asked])
        }
        for i in range(len(every)):
            members = every.members(i)
            one = int(members[0])
            rules = every.rules[every.begins[i] : every.begins[i + 1]].astype(np.int64)
            row, value = table.conditions[one].copy(), int(table.values[one])
            self._join(_Kind(row, value, int(closed[one]), rules), members.tolist())

    # --- records and nodes -----------------------------------------------------------------------

    def _join(self, kind: _Kind, records: list[int]) -> None:
        """Let records stand where they belong."""
        key = (kind.value, kind.closed, *kind.row.tolist())
        if key in self.kinds:
            own = self.kinds[key]
            own.records = sorted([*own.records, *records])
            return
        if not len(kind.rules):
            return
        self.kinds[key] = kind
        kind.records = records
        _, masks = matching.likest(kind.row[None], self.people[kind.value])
        for mask in masks.tolist():
            kind.nodes.append(self._node(kind, mask, key))

    def _node(self, kind: _Kind, mask: int, key: Key) -> int:
        columns = tuple(j for j in range(len(kind.row)) if mask >> j & 1)
        name = (kind.value, mask, *kind.row[list(columns)].tolist())
        if name not in self.number:
            rules = kind.rules[self.masks[kind.rules] & ~np.int64(mask) == 0]
            self.number[name] = number = len(self.nodes)
            cells = frozenset((j, int(kind.row[j])) for j in columns)
            self.nodes.append(_Node(kind.value, columns, cells, rules))
            if number == len(self.gains):
                self.gains = np.concatenate([self.gains, np.zeros_like(self.gains)])
                self.sizes = np.concatenate([self.sizes, np.zeros_like(self.sizes)])
            self.sizes[number] = len(columns)
            for rule in rules.tolist():
                self.of_rule.setdefault(rule, []).append(number)
        number = self.number[name]
        self.nodes[number].kinds[key] = None
        self.gains[number] = self.search.rules.unsafe[self.nodes[number].rules].sum()
        return number

    def _leave(self, key: Key, records: list[int]) -> _Kind:
        """Let records go from where they stand."""
        kind = self.kinds[key]
        left = {*records}
        kind.records = [record for record in kind.records if record not in left]
        if not kind.records:
            del self.kinds[key]
            for number in kind.nodes:
                del self.nodes[number].kinds[key]
                if not self.nodes[number].kinds:
                    self.gains[number] = 0
        return kind

    # --- steps -----------------------------------------------------------------------------------

    def next(self) -> Step | None:
        """The next node, by the strategy that is asked for, and what to hide there."""
        stuck: set[int] = set()
        while True:
            number = self._choose(stuck)
            if number is None:
                return None
            step = self._at(self.nodes[number])
            if step is not None:
                return step
            stuck.add(number)

    def _choose(self, stuck: set[int]) -> int | None:
        gains = self.gains[: len(self.nodes)].copy()
        gains[list(stuck)] = 0
        useful = np.flatnonzero(gains)
        if not len(useful):
            return None
        strategy = self.search.strategy
        if strategy == "max-descendant":  # none of its ancestors has fewer, or is smaller
            rank = gains[useful] * 64 + self.sizes[useful]
            best: list[int] = useful[rank == rank.max()].tolist()
            return min(best, key=lambda number: (self.nodes[number].columns, number))
        if strategy == "random-max":
            sizes = self.sizes[useful]
            largest: list[int] = useful[sizes == sizes.max()].tolist()
            return self.search.random.choice(largest)
        return self.search.random.choice(self._top(useful.tolist()))

    def _top(self, numbers: list[int]) -> list[int]:
        """Nodes that stand below no other."""
        nodes = [(number, self.nodes[number]) for number in numbers]
        return [
            number
            for number, node in nodes
            if not any(node.value == other.value and node.cells < other.cells for _, other in nodes)
        ]

    def _at(self, node: _Node) -> Step | None:
        """What to hide at a node."""
        rules = self.search.rules
        open_ = node.rules[rules.unsafe[node.rules]]
        counts = self.has[open_].sum(axis=0)
        for column in sorted(node.columns, key=lambda j: (-counts[j], j)):
            if not counts[column]:
                return None
            where = [
                (record, key)
                for key in node.kinds
                if not self.kinds[key].closed >> column & 1
                for record in self.kinds[key].records
            ]
            if where:
                return self._step(open_[self.has[open_, column]], column, where)
        return None

    def _step(self, unsafe: Ints, column: int, where: list[tuple[int, Key]]) -> Step:
        needs = self.search.rules.too_alike(unsafe)
        lowest = sorted(where)[: int(needs.min())]

        def take() -> None:
            by_kind: dict[Key, list[int]] = {}
            for record, key in lowest:
                by_kind.setdefault(key, []).append(record)
            for key, records in by_kind.items():
                kind = self._leave(key, records)
                self.search.hide_some(np.array(records), column)
                row = kind.row.copy()
                row[column] = -1
                rules = kind.rules[~self.has[kind.rules, column]]
                self._join(_Kind(row, kind.value, kind.closed, rules), records)

        return Step(float((1 / needs).sum()), take)

    def heard(self, changed: Ints) -> None:
        """Count unsafe rules anew where they changed."""
        unsafe = self.search.rules.unsafe
        for number in {n for rule in changed.tolist() for n in self.of_rule.get(rule, ())}:
            node = self.nodes[number]
            self.gains[number] = unsafe[node.rules].sum() if node.kinds else 0
