"""A tree over tables that join, as people keep it: model.json, and indented lines.

Nodes stand in each other, as the tree is, and a tree can be thousands of levels deep where readers
of JSON give up after one. So it is written and read with nodes waiting on a list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np

from reticent.errors import InputError
from reticent.jointree.learning import features_of
from reticent.jointree.propagation import Numbers, Propagated
from reticent.trees.tree import Feature, Split, TreeNode

Count = int | Fraction | float
MODEL = "model.json"
_INDENTED = 40  # levels; a line for each of thousands would be a square of blanks
_EXACT = 2**53  # readers of JSON may round larger integers
_TESTS = ("at_most", "is", "by")
_NUMBERS = ("int64", "big integers", "float64")


@dataclass(frozen=True, slots=True)
class Question:
    """What an inner node asks of one column of one table."""

    table: str
    column: str
    test: Literal["at_most", "is", "by"]
    values: tuple[Any, ...]  # a number or ISO time; one text; or a text for each branch
    missing: int  # the branch of missing and unseen values

    @property
    def branches(self) -> int:
        """How many branches it has."""
        return len(self.values) if self.test == "by" else 2

    def words(self) -> Iterator[str]:
        """What is true in each branch."""
        name = f"{self.table}.{self.column}"
        yield from (f"{name} {self.branch_words(i)}" for i in range(self.branches))

    def branch_words(self, branch: int) -> str:
        """What is true in a branch, of the column.

        >>> Question("T", "Age", "at_most", (41,), 0).branch_words(1)
        '> 41'
        """
        if self.test == "by":
            return f"= {self.values[branch]}"
        signs = ("≤", ">") if self.test == "at_most" else ("=", "≠")
        return f"{signs[branch]} {self.values[0]}"


@dataclass(eq=False, slots=True)
class JoinNode:
    """Joined rows that met, and how they part again; a leaf if they do not."""

    counts: tuple[Count, ...]  # by class: joined rows, or weights of records
    asks: Question | None = None
    branches: list[JoinNode] = field(default_factory=list)

    @property
    def winner(self) -> int:
        """The class of most; of equals, the first."""
        return self.counts.index(max(self.counts))

    def walk(self) -> list[JoinNode]:
        """The node and all below it, parents first."""
        found = [self]
        for node in found:  # grows while it is read
            found.extend(node.branches)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class JoinTree:
    """A tree that tells the class of a record from tables that join."""

    target: str  # "table.column" of the class
    classes: tuple[str, ...]
    root: JoinNode
    weight: Literal["row", "record"] = "row"
    numbers: Numbers = "int64"
    # By table and column that some node asks for one text: all that there were in training. Others
    # are unseen, and follow the branch of missing ones.
    seen: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)

    @property
    def leaves(self) -> int:
        """How many leaves it has."""
        return sum(node.asks is None for node in self.root.walk())

    @property
    def depth(self) -> int:
        """How many questions lead to the deepest leaf."""
        found, waiting = 0, [(self.root, 0)]
        while waiting:
            node, depth = waiting.pop()
            found = max(found, depth)
            waiting += [(branch, depth + 1) for branch in node.branches]
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies and pickles go node by node into each other, and end at a thousand levels.
        return _unpickled, (self.json(),)

    def text(self) -> str:
        """The tree as indented lines: a leaf says its class, its rows and how many it errs on.

        Lines are indented up to 40 levels; further down they begin with their level.
        """
        if self.root.asks is None:
            return self.leaf_words(self.root)
        lines = []
        waiting = [*reversed(self._lines(self.root, 0))]
        while waiting:
            depth, question, node = waiting.pop()
            says = "" if node.branches else f": {self.leaf_words(node)}"
            far = f"[{depth}] " if depth > _INDENTED else ""
            lines.append("|  " * min(depth, _INDENTED) + far + question + says)
            waiting += reversed(self._lines(node, depth + 1))
        return "\n".join(lines)

    def leaf_words(self, node: JoinNode) -> str:
        """The class of a leaf, its rows and how many it errs on."""
        every, right = sum(node.counts), max(node.counts)
        wrong = f"/{said(every - right)}" if every != right else ""
        return f"{self.classes[node.winner]} ({said(every)}{wrong})"

    def _lines(self, node: JoinNode, depth: int) -> list[tuple[int, str, JoinNode]]:
        questions = node.asks.words() if node.asks else ()
        return [(depth, q, branch) for q, branch in zip(questions, node.branches, strict=True)]

    def json(self, also: Mapping[str, Any] | None = None) -> str:
        """The text of model.json: a line for every node, however deep it stands.

        `also`: more to say before the tree.
        """
        head: dict[str, Any] = {"class": self.target, "classes": self.classes}
        seen = {table: dict(columns) for table, columns in self.seen.items()}
        head |= {"weight": self.weight, "numbers": self.numbers, "seen": seen, **(also or {})}
        pieces = [_plain(head)[:-1], ', "tree": ']
        waiting: list[JoinNode | str] = [self.root]
        while waiting:
            node = waiting.pop()
            if isinstance(node, str):
                pieces.append(node)
                continue
            pieces.append("\n" + _plain(self._line(node))[:-1])
            ends: list[JoinNode | str] = []
            for branch in node.branches:
                ends += [", " if ends else ', "branches": [', branch]
            waiting += reversed([*ends, "]}" if ends else "}"])
        return "".join([*pieces, "}\n"])

    def _line(self, node: JoinNode) -> dict[str, Any]:
        counts = [_written(count) for count in node.counts]
        if node.asks is None:
            return {"class": self.classes[node.winner], "counts": counts}
        asks = node.asks
        told = list(asks.values) if asks.test == "by" else asks.values[0]
        return {
            "table": asks.table, "column": asks.column, "test": {asks.test: told},
            "missing": asks.missing, "counts": counts,
        }  # fmt: skip


def model_of(joined: Propagated, root: TreeNode, target: str, weight: Any = "row") -> JoinTree:
    """The tree that was grown, in the words of its tables."""
    features = features_of(joined)
    nodes = root.walk()
    made = [JoinNode(_counts(node, joined), _question(node.split, features)) for node in nodes]
    place = {id(node): new for node, new in zip(nodes, made, strict=True)}
    for node, new in zip(nodes, made, strict=True):
        new.branches = [place[id(branch)] for branch in node.branches]
    seen = _seen(made, joined)
    return JoinTree(target, joined.coded.labels, made[0], weight, joined.numbers, seen)


def _seen(nodes: Sequence[JoinNode], joined: Propagated) -> dict[str, dict[str, tuple[str, ...]]]:
    asked = {(n.asks.table, n.asks.column) for n in nodes if n.asks and n.asks.test == "is"}
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for table, rows in zip(joined.coded.tables, joined.rows, strict=True):
        for j, feature in enumerate(table.features):
            if (table.name, feature.name) in asked:
                codes = np.unique(table.codes[j, rows])
                texts = tuple(feature.values[code] for code in codes[codes >= 0].tolist())
                found.setdefault(table.name, {})[feature.name] = texts
    return found


def _counts(node: TreeNode, joined: Propagated) -> tuple[Count, ...]:
    counts = node.counts.tolist()
    return tuple(counts if joined.unit == 1 else (_whole(Fraction(n, joined.unit)) for n in counts))


def _whole(count: Fraction) -> int | Fraction:
    return count.numerator if count.denominator == 1 else count


def _question(split: Split | None, features: Sequence[tuple[str, Feature]]) -> Question | None:
    if split is None:
        return None
    table, feature = features[split.column]
    values = tuple(_shortest(feature.label(code)) for code in split.codes)
    test: Any = "at_most" if feature.number else "is" if len(values) == 1 else "by"
    return Question(table, feature.name, test, values, split.default)


def _shortest(value: Any) -> Any:
    """Whole numbers without a point."""
    whole = isinstance(value, float) and value.is_integer() and abs(value) < _EXACT
    return int(value) if whole else value


def said(count: Count) -> str:
    """A count as people read it.

    >>> said(1200), said(Fraction(7, 3)), said(0.5)
    ('1200', '2.333', '0.5')
    """
    return str(count) if isinstance(count, int) else f"{float(count):.3f}".rstrip("0").rstrip(".")


# --- model.json ----------------------------------------------------------------------------------


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _written(count: Count) -> int | float | str:
    """A count as JSON can hold it.

    >>> _written(7), _written(2**53 + 1), _written(Fraction(7, 3))
    (7, '9007199254740993', '7/3')
    """
    if isinstance(count, float) or (isinstance(count, int) and count <= _EXACT):
        return count
    return str(count)


def write_model(tree: JoinTree, folder: str | Path) -> None:
    """Put a model into its folder, for its owner's eyes alone: it shows values and counts."""
    path = Path(folder) / MODEL
    path.touch(mode=0o600)
    path.write_text(tree.json(), encoding="utf-8")


def read_model(place: str | Path) -> JoinTree:
    """Read a model from its folder, or from the file itself."""
    path = Path(place) / MODEL if Path(place).is_dir() else Path(place)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise InputError(
            "there is no model that can be read", where=str(path),
            do="give the folder that  reticent tree train  wrote.",
        ) from None  # fmt: skip
    try:
        return _model(_parsed(text))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError):
        raise InputError(
            "this is no model of a tree over tables, or it is damaged", where=str(path),
            do="train it again.",
        ) from None  # fmt: skip


def _unpickled(text: str) -> JoinTree:
    return _model(_parsed(text))


def _model(data: Any) -> JoinTree:
    classes = tuple(data["classes"])
    _check(classes and all(isinstance(label, str) for label in classes))
    _check(list(classes) == sorted(set(classes)))
    _check(isinstance(data["class"], str) and data["weight"] in ("row", "record"))
    _check(data["numbers"] in _NUMBERS)
    root = JoinNode(())
    waiting = [(root, data["tree"])]
    while waiting:
        node, told = waiting.pop()
        node.counts = tuple(map(_read_count, told["counts"]))
        _check(len(node.counts) == len(classes))
        if "test" not in told:
            _check(told["class"] == classes[node.winner])
            continue
        node.asks = _read_question(told)
        below = told["branches"]
        _check(isinstance(below, list) and len(below) == node.asks.branches)
        node.branches = [JoinNode(()) for _ in below]
        waiting += zip(node.branches, below, strict=True)
    seen = {
        table: {column: tuple(texts) for column, texts in columns.items()}
        for table, columns in data["seen"].items()
    }
    asked = [node.asks for node in root.walk() if node.asks and node.asks.test == "is"]
    known = {(t, c): {*texts} for t, columns in seen.items() for c, texts in columns.items()}
    _check(all(isinstance(text, str) for texts in known.values() for text in texts))
    _check(all(asks.values[0] in known[asks.table, asks.column] for asks in asked))
    return JoinTree(data["class"], classes, root, data["weight"], data["numbers"], seen)


def _read_question(told: Mapping[str, Any]) -> Question:
    [(test, value)] = told["test"].items()
    values = tuple(value) if test == "by" else (value,)
    number = test == "at_most" and not isinstance(values[0], str)
    _check(test in _TESTS and isinstance(told["table"], str) and isinstance(told["column"], str))
    _check(all(type(v) in ((int, float) if number else (str,)) for v in values))
    _check(test != "by" or len(values) > 1)
    asks = Question(told["table"], told["column"], test, values, told["missing"])
    _check(type(asks.missing) is int and 0 <= asks.missing < asks.branches)
    return asks


def _read_count(told: Any) -> Count:
    if isinstance(told, str):
        _check(re.fullmatch(r"\d+(/[1-9]\d*)?", told))
        return _whole(Fraction(told))
    _check(type(told) in (int, float) and told >= 0)
    count: Count = told
    return count


def _check(true: object) -> None:
    if not true:
        raise ValueError


_TOKEN = re.compile(r'[\s]*(?:([{}\[\]:,])|("(?:[^"\\]|\\.)*")|([^\s{}\[\]:,"]+))')


def _parsed(text: str) -> Any:
    """What JSON says, however deep it is."""
    outer: list[Any] = []  # what is open, with its name in what it stands in
    names: list[str | None] = []
    done: list[Any] = []
    at, name, end = 0, None, len(text.rstrip())
    expects_name = False
    while at < end:
        found = _TOKEN.match(text, at)
        _check(found)
        assert found is not None
        at = found.end()
        sign = found[1]
        if sign in ("{", "["):
            outer.append({} if sign == "{" else [])
            names.append(name)
            name, expects_name = None, sign == "{"
            continue
        if sign == ":":
            _check(name is not None)
            expects_name = False
            continue
        if sign == ",":
            _check(outer)
            expects_name = isinstance(outer[-1], dict)
            continue
        if sign:
            value, name = outer.pop(), names.pop()
            _check(isinstance(value, dict) == (sign == "}"))
        else:
            value = json.loads(found[2] or found[3])
            if expects_name:
                _check(isinstance(value, str))
                name, expects_name = value, False
                continue
        _put(outer[-1] if outer else done, name, value)
        name, expects_name = None, False
    _check(len(done) == 1 and not outer)
    return done[0]


def _put(into: Any, name: str | None, value: Any) -> None:
    if isinstance(into, dict):
        _check(name is not None and name not in into)
        into[name] = value
    else:
        into.append(value)
