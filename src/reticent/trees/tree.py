"""What a grown tree is: nodes with counts and splits, how it predicts, and how it reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.data.columns import Column
from reticent.data.scales import kind_of, scale_of


@dataclass(frozen=True, slots=True)
class Feature:
    """A column that a tree may split on, every cell a code in the order of its values."""

    name: str
    codes: NDArray[Any]  # codes[row] is an index into `values`; -1 is missing
    values: Sequence[Any]  # distinct and rising: numbers (or ticks of a clock), texts by code point
    number: bool
    labels: Sequence[Any] = ()  # how values are shown, where that is not as themselves

    @classmethod
    def of(cls, column: Column, *, number: bool | None = None, **format: Any) -> Feature:
        """A column of a table as a feature; numbers and times if `number`, or if it holds such."""
        if number is None:
            number = kind_of(column, **format) not in ("text", "boolean")
        if number:
            scale = scale_of(column, **format)
            points = scale.points.tolist()
            labels = () if scale.kind == "number" else [scale.label(point) for point in points]
            return cls(column.name, scale.rank[column.codes], points, True, labels)
        texts = column.texts()
        known = sorted(text for text in texts if text is not None)
        at = {text: code for code, text in enumerate(known)}
        return cls(column.name, _look_up(texts, at)[column.codes], known, False)

    def code(self, column: Column, **format: Any) -> NDArray[np.int64]:
        """Cells of another table in the codes of this one: see `Tree.predict`."""
        if not self.number:
            at = {text: code for code, text in enumerate(self.values)}
            return _look_up(column.texts(), at)[column.codes]
        scale = scale_of(column, **format)
        place = np.append(np.searchsorted(self.values, scale.points), -1)  # rank -1 is missing
        found: NDArray[np.int64] = place[scale.rank][column.codes]
        return found

    def label(self, code: int) -> Any:
        """How a value is shown."""
        return (self.labels or self.values)[code]


def _look_up(texts: Sequence[str | None], at: Mapping[str, int]) -> NDArray[np.int64]:
    return np.array([-1 if text is None else at.get(text, -1) for text in texts], np.int64)


@dataclass(frozen=True, slots=True)
class Split:
    """A question asked of one column: up to this number, this one value, or which of these."""

    column: int
    codes: tuple[int, ...]  # one for numbers and for one against the rest; else one a branch
    default: int  # the branch of missing and unseen values


@dataclass(eq=False, slots=True)
class TreeNode:
    """Records that met, and how they part again; a leaf if they do not."""

    counts: NDArray[np.int64]  # records by class
    split: Split | None = None
    branches: list[TreeNode] = field(default_factory=list)

    @property
    def winner(self) -> int:
        """The class of most records; of equals, the first."""
        return int(np.argmax(self.counts))

    @property
    def errors(self) -> int:
        """How many records are of another class."""
        return int(self.counts.sum() - self.counts.max(initial=0))

    def walk(self) -> list[TreeNode]:
        """The node and all below it, parents first."""
        found = [self]
        for node in found:  # grows while it is read
            found.extend(node.branches)
        return found


@dataclass(frozen=True, slots=True)
class Tree:
    """A decision tree over columns of codes."""

    features: tuple[Feature, ...]  # as trained, without their rows
    classes: tuple[str, ...]
    root: TreeNode

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the nodes as a list, as a deep tree would be one call in another."""
        nodes = self.root.walk()
        place = {id(node): number for number, node in enumerate(nodes)}
        flat = [(n.counts, n.split, [place[id(b)] for b in n.branches]) for n in nodes]
        return _unpickled, (self.features, self.classes, flat)

    @property
    def leaves(self) -> int:
        """How many leaves it has."""
        return sum(not node.branches for node in self.root.walk())

    def predict(self, columns: Sequence[NDArray[Any]], rows: int) -> NDArray[np.int64]:
        """The class of each row, as an index into `classes`.

        `columns` hold codes of the features' values. A text that was not there in training is
        coded as a missing one, -1; a number as the first that is not smaller.
        """
        return self._answer(columns, [node.winner for node in self._leaves()], rows)

    def chances(self, columns: Sequence[NDArray[Any]], rows: int) -> NDArray[np.float64]:
        """The share of each class in the leaf that a row comes to."""
        shares = np.array([node.counts / max(node.counts.sum(), 1) for node in self._leaves()])
        found: NDArray[np.float64] = shares[self._answer(columns, range(len(shares)), rows)]
        return found

    def _leaves(self) -> list[TreeNode]:
        return [node for node in self.root.walk() if not node.branches]

    def _answer(
        self, columns: Sequence[NDArray[Any]], answers: Sequence[int], rows: int
    ) -> NDArray[np.int64]:
        """Send all rows down together, a node at a time, and write each leaf's answer on them."""
        answer_of = {id(leaf): answer for leaf, answer in zip(self._leaves(), answers, strict=True)}
        found = np.empty(rows, np.int64)
        waiting = [(self.root, np.arange(rows))]
        while waiting:
            node, here = waiting.pop()
            if node.split is None:
                found[here] = answer_of[id(node)]
                continue
            taken = self._branch(node.split, columns[node.split.column][here])
            order = np.argsort(taken, kind="stable")  # once, however many branches there are
            ends = np.cumsum(np.bincount(taken, minlength=len(node.branches)))
            for branch, some in zip(node.branches, np.split(here[order], ends[:-1]), strict=True):
                if len(some):
                    waiting.append((branch, some))
        return found

    def _branch(self, split: Split, codes: NDArray[Any]) -> NDArray[Any]:
        feature = self.features[split.column]
        if len(split.codes) > 1:
            way = np.full(len(feature.values) + 1, split.default)  # the last is where -1 looks
            way[list(split.codes)] = np.arange(len(split.codes))
            taken: NDArray[Any] = way[codes]
            return taken
        asked = codes > split.codes[0] if feature.number else codes != split.codes[0]
        return np.where(codes < 0, split.default, asked)

    def text(self) -> str:
        """The tree as indented lines: a leaf says its class, its records and how many it errs on.

        Deep trees are why nodes wait on a list instead of calling each other.
        """
        if not self.root.branches:
            return self._leaf(self.root)
        lines = []
        waiting = list(reversed(self._lines(self.root, 0)))
        while waiting:
            depth, question, node = waiting.pop()
            says = "" if node.branches else f": {self._leaf(node)}"
            lines.append("|  " * depth + question + says)
            waiting.extend(reversed(self._lines(node, depth + 1)))
        return "\n".join(lines)

    def _leaf(self, node: TreeNode) -> str:
        wrong = f"/{node.errors}" if node.errors else ""
        return f"{self.classes[node.winner]} ({node.counts.sum()}{wrong})"

    def _lines(self, node: TreeNode, depth: int) -> list[tuple[int, str, TreeNode]]:
        questions = self._questions(node.split) if node.split else ()
        return [(depth, q, branch) for q, branch in zip(questions, node.branches, strict=True)]

    def _questions(self, split: Split) -> Iterator[str]:
        feature = self.features[split.column]
        signs = ("≤", ">") if feature.number else ("=", "≠")
        if len(split.codes) > 1:
            yield from (f"{feature.name} = {feature.label(code)}" for code in split.codes)
        else:
            yield from (f"{feature.name} {s} {feature.label(split.codes[0])}" for s in signs)

    def plain(self) -> dict[str, Any]:
        """The tree as JSON holds it: a list of nodes, the root first, branches by position.

        A list, because JSON readers give up on trees a thousand levels deep.
        """
        nodes = self.root.walk()
        place = {id(node): number for number, node in enumerate(nodes)}
        return {
            "classes": list(self.classes),
            "columns": [
                {"name": f.name, "kind": "number" if f.number else "category"}
                for f in self.features
            ],
            "nodes": [
                {"counts": node.counts.tolist(), "class": self.classes[node.winner]}
                | self._asked(node)
                | ({"branches": [place[id(b)] for b in node.branches]} if node.branches else {})
                for node in nodes
            ],
        }

    def _asked(self, node: TreeNode) -> dict[str, Any]:
        if node.split is None:
            return {}
        feature = self.features[node.split.column]
        values = [feature.label(code) for code in node.split.codes]
        asked: dict[str, Any] = {"values": values}
        if len(values) == 1:
            asked = {"at_most" if feature.number else "equals": values[0]}
        return {"column": feature.name, **asked, "default": node.split.default}


def _unpickled(features: Any, classes: Any, flat: Sequence[tuple[Any, Any, list[int]]]) -> Tree:
    nodes = [TreeNode(counts, split) for counts, split, _ in flat]
    for node, (_, _, branches) in zip(nodes, flat, strict=True):
        node.branches = [nodes[number] for number in branches]
    return Tree(features, classes, nodes[0])
