"""Trees of labels, from the values of a column up to one root that says nothing.

A taxonomy tells by which words a value may be replaced. Data stewards keep them as CSV without a
header, one row a leaf, written from leaf to root; nested TOML and JSON say the same:

    Janitor,Blue,ANY        ANY = { Blue = ["Janitor", "Mover"], Clerk = {} }
    Mover,Blue,ANY
    Clerk,ANY

Both are first taken down as a sketch (who stands under whom, and where that was said) and checked
as a whole, so that a user hears of all mistakes at once. Nodes are numbered in pre-order, children
in order of first appearance: this is the tie order of the engines, so the same file gives the same
release. Nothing here recurses; depth is no limit. Where a label could be two things:

1. A label repeated in neighbouring cells is one node (``A;A;*`` is ``A;*``), a row given twice is
   one leaf, and a row of empty cells is a blank line.
2. A label that comes back further up its own row is a cycle. A leaf under which something else
   stands is an error, because values that hold it would have no leaf.
3. Each row must reach the root, even where the rest of its path is known from another row.

Labels are the policy's and appear in messages.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import groupby, pairwise
from typing import NoReturn

from reticent.data.texts import number_text
from reticent.errors import SHOWN, InputError, Problem, listed

UNASSIGNED = "?"  # in the place of a group, or more of them: a steward has not filled it in yet
DEEPEST = 300  # levels of nested tables; Python's readers of JSON and TOML give up below a thousand


@dataclass(frozen=True, slots=True)
class Taxonomy:
    """A tree of labels; nodes are numbered in pre-order and node 0 is the root.

    >>> jobs = from_nested({"ANY": {"Blue": ["Janitor", "Mover"], "Clerk": {}}}, "example")
    >>> jobs.labels
    ('ANY', 'Blue', 'Janitor', 'Mover', 'Clerk')
    >>> jobs.parents, jobs.leaves, jobs.children(0)
    ((-1, 0, 1, 1, 0), (2, 3, 4), (1, 4))
    """

    labels: tuple[str, ...]  # by node; none empty, no two equal
    parents: tuple[int, ...]  # by node; parents[0] == -1
    leaves: tuple[int, ...] = field(init=False, repr=False, compare=False)  # in pre-order
    leaf_of: dict[str, int] = field(init=False, repr=False, compare=False)  # leaves only
    node_of: dict[str, int] = field(init=False, repr=False, compare=False)  # all labels
    _children: tuple[tuple[int, ...], ...] = field(init=False, repr=False, compare=False)
    _depths: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        node_of = {label: node for node, label in enumerate(self.labels)}
        if len(node_of) < len(self.labels) or "" in node_of:
            refuse("the labels of a taxonomy must differ, and none may be empty")
        if len(self.labels) != len(self.parents) or self.parents[:1] != (-1,):
            refuse("a taxonomy needs a label and a parent for each node, and -1 for the root's")
        if any("\ud800" <= sign <= "\udfff" for sign in set("".join(self.labels))):
            refuse("a label of the taxonomy holds half a character")  # no file could hold it
        below: list[list[int]] = [[] for _ in self.labels]
        depths, path = [0], [0]  # path: from the root to the node before
        for node, parent in enumerate(self.parents[1:], start=1):
            while path and path[-1] != parent:
                path.pop()
            if not path:
                refuse(f"node {node} of the taxonomy is out of pre-order")
            below[parent].append(node)
            depths.append(len(path))
            path.append(node)
        leaves = tuple(node for node, children in enumerate(below) if not children)
        object.__setattr__(self, "leaves", leaves)
        object.__setattr__(self, "leaf_of", {self.labels[node]: node for node in leaves})
        object.__setattr__(self, "node_of", node_of)
        object.__setattr__(self, "_children", tuple(map(tuple, below)))
        object.__setattr__(self, "_depths", tuple(depths))

    def children(self, node: int) -> tuple[int, ...]:
        """Give the nodes directly under a node."""
        return self._children[node]

    def depth(self, node: int) -> int:
        """Count the steps from the root down to a node."""
        return self._depths[node]

    def unassigned(self) -> list[str]:
        """The leaves that stand under a group of the name ?, which nobody has named yet.

        >>> from_rows([["Cook", "Hand", "*"], ["Clerk", "?", "*"]], "example").unassigned()
        ['Clerk']
        """
        open_ = [False] * len(self.labels)
        for node, parent in enumerate(self.parents):
            group = parent >= 0 and bool(self._children[node])  # the root may be called so
            marked = group and not self.labels[node].strip(UNASSIGNED)
            open_[node] = marked or (parent >= 0 and open_[parent])
        return [self.labels[leaf] for leaf in self.leaves if open_[leaf]]

    @property
    def mark(self) -> str:
        """What stands in the place of groups that nobody has named yet."""
        groups = (self.labels[node] for node in range(1, len(self.labels)) if self._children[node])
        return next((label for label in groups if not label.strip(UNASSIGNED)), UNASSIGNED)

    def nested(self) -> dict[str, dict[str, object]]:
        """Give the tree as tables in tables; a leaf is an empty one."""
        tables: list[dict[str, object]] = [{} for _ in self.labels]
        for node, parent in enumerate(self.parents[1:], start=1):
            tables[parent][self.labels[node]] = tables[node]
        return {self.labels[0]: tables[0]}

    def with_below(self, other: Taxonomy) -> Taxonomy:
        """The tree, and below its leaves what another one has there.

        >>> here = from_nested({"*": {"old": {}, "young": {}}}, "here")
        >>> there = from_nested({"*": {"old": {"70": {}}, "odd": {}}}, "there")
        >>> here.with_below(there).nested()
        {'*': {'old': {'70': {}}, 'young': {}}}
        """
        labels: list[str] = []
        parents: list[int] = []
        waiting = [(self, 0, -1)]  # a tree, a node of it, and the parent that it will have
        while waiting:
            tree, node, parent = waiting.pop()
            label, below = tree.labels[node], tree.children(node)
            if tree is self and not below and label in other.node_of:
                tree, below = other, other.children(other.node_of[label])
            waiting += [
                (tree, child, len(labels))
                for child in reversed(below)
                if tree is self or tree.labels[child] not in self.node_of
            ]
            labels.append(label)
            parents.append(parent)
        return Taxonomy(tuple(labels), tuple(parents))

    def rows(self) -> list[tuple[str, ...]]:
        """Give one row a leaf, in pre-order, each from leaf to root."""
        rows = []
        for node in self.leaves:
            row = []
            while node >= 0:
                row.append(self.labels[node])
                node = self.parents[node]
            rows.append(tuple(row))
        return rows


def from_rows(rows: Iterable[Sequence[str]], where: str) -> Taxonomy:
    """Grow a taxonomy from rows that lead from a leaf to the root.

    >>> from_rows([["Janitor", "Blue", "ANY"], ["Clerk", "ANY"]], "example").labels
    ('ANY', 'Blue', 'Janitor', 'Clerk')
    """
    sketch = Sketch(where, unit="row")
    for number, row in enumerate(rows, start=1):
        sketch.add_row(number, row)
    return sketch.tree()


def from_nested(tree: Mapping[str, object], where: str) -> Taxonomy:
    """Grow a taxonomy from nested tables; a leaf is an empty table or a label in a list.

    >>> from_nested({"*": {"young": [17, 17.5], "old": {}}}, "example").rows()
    [('17', 'young', '*'), ('17.5', 'young', '*'), ('old', '*')]
    """
    sketch = Sketch(where)
    sketch.add_nested(tree)
    return sketch.tree()


def render(taxonomy: Taxonomy, *, most: int | None = None) -> str:
    """Draw the tree, one label a line; `most` stops after so many labels and counts the rest.

    >>> print(render(from_nested({"ANY": {"Blue": ["Janitor", "Mover"], "Clerk": {}}}, "example")))
    ANY
    ├── Blue
    │   ├── Janitor
    │   └── Mover
    └── Clerk
    """
    lines: list[str] = []
    indents = [""]  # indents[d] stands before a node of depth d + 1
    for node, label in enumerate(taxonomy.labels[:most]):
        shown = label if label.isprintable() else repr(label)  # no line breaks, no terminal codes
        if node:
            last = taxonomy.children(taxonomy.parents[node])[-1] == node
            del indents[taxonomy.depth(node) :]
            shown = f"{indents[-1]}{'└── ' if last else '├── '}{shown}"
            indents.append(indents[-1] + ("    " if last else "│   "))
        lines.append(shown)
    left = len(taxonomy.labels) - len(lines)
    return "\n".join([*lines, f"… and {left} more labels"] if left else lines)


@dataclass(slots=True)
class Sketch:
    """Who stands under whom, as a file says it, before it is known to be a tree."""

    where: str
    unit: str = "line"
    above: dict[str, dict[str, int]] = field(default_factory=dict)  # child, parent: first line
    roots: dict[str, int] = field(default_factory=dict)  # label: first line, 0 if there are none
    leaves: dict[str, int] = field(default_factory=dict)
    found: list[tuple[int, Problem]] = field(default_factory=list)
    split: int = 0  # rows of more than one cell

    def add_row(self, line: int, cells: Sequence[str]) -> None:
        """Take down a row from leaf to root, unless it is wrong in itself."""
        end = len(cells)
        self.split += end > 1
        while end and not cells[end - 1]:
            end -= 1
        path = [label for label, _ in groupby(cells[:end])]
        if "" in path:
            what = f"cell {cells.index('') + 1} is empty, but a later one is not"
            self.note(line, what, "fill the cell or remove it")
        elif len(set(path)) < len(path):
            again = next(label for place, label in enumerate(path) if label in path[:place])
            self.note(
                line, f"a cycle: {in_quotes(again)} stands above itself", "rename one of them"
            )
        elif path:
            self.leaves.setdefault(path[0], line)
            self.roots.setdefault(path[-1], line)
            for child, parent in pairwise(path):
                self.above.setdefault(child, {}).setdefault(parent, line)

    def add_nested(self, tree: object) -> None:
        """Take down nested tables, level by level."""
        if not isinstance(tree, Mapping):
            return self.note(0, "a taxonomy is a table with one key, its root")
        waiting: deque[tuple[str, object]] = deque([("", tree)])  # "" is above the root
        while waiting:
            parent, below = waiting.popleft()
            under = f" under {in_quotes(parent)}" if parent else ""
            if not isinstance(below, Mapping | list | tuple):
                self.note(0, f"there is neither a table nor a list{under}")
                continue
            if parent and not below:
                self.leaves.setdefault(parent, 0)
            for key in below:
                label = _label(key)
                if not label:
                    what = "neither text nor a number" if label is None else "empty"
                    self.note(0, f"a label{under} is {what}")
                    continue
                if not parent:
                    self.roots.setdefault(label, 0)
                elif label != parent:
                    self.above.setdefault(label, {}).setdefault(parent, 0)
                waiting.append((label, below[key] if isinstance(below, Mapping) else ()))

    def note(self, line: int, what: str, do: str = "", why: str = "") -> None:
        """Keep a problem with its place."""
        where = f"{self.where}, {self.unit} {line}" if line else self.where
        self.found.append((line, Problem(what, where, why, do)))

    def tree(self) -> Taxonomy:
        """Give the finished tree, or raise all that stands in the way."""
        self.check()
        if self.found:
            self.found.sort(key=lambda item: item[0])
            raise InputError(problem for _, problem in self.found)
        below: dict[str, list[str]] = {}
        for child, (parent,) in self.above.items():
            below.setdefault(parent, []).append(child)
        labels: list[str] = []
        parents: list[int] = []
        waiting = [(label, -1) for label in self.roots]
        while waiting:
            label, above = waiting.pop()
            waiting += [(child, len(labels)) for child in reversed(below.get(label, ()))]
            labels.append(label)
            parents.append(above)
        return Taxonomy(tuple(labels), tuple(parents))

    def check(self) -> None:
        """Find what only shows when all rows are known."""
        if not self.roots and not self.found:
            self.note(0, "there are no labels in it")
        if len(self.roots) > 1:
            rows = "end every row in the same label, cut cells by , or ; and leave out a header"
            do = rows if any(self.roots.values()) else "put everything under one root"
            self.note(*self.several(self.roots, "there are", "roots"), do)
        self.check_cycles()  # takes their links out, so that a cycle is not blamed again below
        inner: dict[str, int] = {}  # label: the first line that has something under it
        for label, parents in self.above.items():
            for parent, line in parents.items():
                inner[parent] = min(line, inner.get(parent, line))
            if len(parents) > 1:
                do = "keep one of them, or give the label to one node only"
                self.note(*self.several(parents, f"{in_quotes(label)} has", "parents"), do)
        for label, line in self.leaves.items():
            if label in inner:
                both = f"a leaf{self.at(line)} and a parent{self.at(inner[label])}"
                why = "a value that is shown as it is needs a leaf, with nothing under it"
                do = "give the parent another label, or drop the row of the leaf"
                self.note(max(line, inner[label]), f"{in_quotes(label)} is both {both}", do, why)

    def check_cycles(self) -> None:
        """Find cycles across rows, up to the number of problems that are shown anyway."""
        # One parent each and a root without any: every path climbs to the root, none turns back.
        single = all(len(parents) == 1 for parents in self.above.values())
        if single and self.above.keys().isdisjoint(self.roots):
            return
        for _ in range(SHOWN):
            try:
                return TopologicalSorter(self.above).prepare()
            except CycleError as error:
                loop: list[str] = error.args[1]  # each above the next; the last is the first
            line = max(self.above[child].pop(parent) for parent, child in pairwise(loop))
            do = "let each path lead upwards to the root"
            self.note(line, f"a cycle: {' above '.join(map(in_quotes, loop))}", do)

    def several(self, labels: Mapping[str, int], start: str, noun: str) -> tuple[int, str]:
        """Say which labels stand where there should be one, and on which line that began."""
        shown = [in_quotes(label) + self.at(line) for label, line in labels.items()]
        return sorted(labels.values())[1], f"{start} {len(labels)} {noun}: {listed(shown)}"

    def at(self, line: int) -> str:
        """Give the line in brackets, where there are lines."""
        return f" ({self.unit} {line})" if line else ""


def refuse(what: str, where: str = "", do: str = "", values: Iterable[str] = ()) -> NoReturn:
    """Raise one problem."""
    raise InputError(what, where=where, do=do, values=values) from None


def in_quotes(label: str) -> str:
    """A label as messages show it."""
    return f'"{label}"' if label.isprintable() else repr(label)


def _label(key: object) -> str | None:
    if isinstance(key, str):
        return key
    if isinstance(key, float) and not math.isfinite(key):
        return None
    return number_text(key) if isinstance(key, int | float) and not isinstance(key, bool) else None
