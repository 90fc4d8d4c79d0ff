"""A tree over tables that join, as people keep it: model.json, and indented lines.

Nodes stand in each other, as the tree is, and a tree can be thousands of levels deep where readers
of JSON give up after one. So it is written and read with nodes waiting on a list.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from reticent.data.scales import time_of
from reticent.data.texts import one_line
from reticent.errors import InputError
from reticent.jointree.learning import features_of
from reticent.jointree.propagation import Numbers, Propagated
from reticent.jointree.schema import JoinSchema, WrittenJoin
from reticent.releases.spoken import Spoken
from reticent.trees.tree import Feature, Split, TreeNode

Count = int | Fraction | float
MODEL = "model.json"
SPLITS = "splits.json"  # what a site asks of its own tables; it stays there
_INDENTED = 40  # levels; a line for each of thousands would be a square of blanks
_EXACT = 2**53  # readers of JSON may round larger integers
_MOST = 10**300  # joined rows: training refuses more, and pages would not hold them
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
    site: str = ""  # whose question it is, and which of all, where tables stay at their sites
    split: int = 0

    @property
    def name(self) -> str:
        """What is asked about."""
        return f"{self.table}.{self.column}"

    @property
    def branches(self) -> int:
        """How many branches it has."""
        return len(self.values) if self.test == "by" else 2

    def words(self) -> Iterator[str]:
        """What is true in each branch."""
        yield from (f"{self.name} {self.branch_words(i)}" for i in range(self.branches))

    def branch_words(self, branch: int) -> str:
        """What is true in a branch, of the column.

        >>> Question("T", "Age", "at_most", (41,), 0).branch_words(1)
        '> 41'
        """
        if self.test == "by":
            return f"= {self.values[branch]}"
        signs = ("≤", ">") if self.test == "at_most" else ("=", "≠")
        return f"{signs[branch]} {self.values[0]}"


@dataclass(frozen=True, slots=True)
class HiddenQuestion:
    """What another site asks of its own tables, and tells nobody."""

    site: str
    split: int
    branches: int
    table: ClassVar[str] = ""
    column: ClassVar[str] = ""
    test: ClassVar[Literal["hidden"]] = "hidden"
    values: ClassVar[tuple[Any, ...]] = ()
    missing: ClassVar[int] = -1

    @property
    def name(self) -> str:
        """What is asked about, as far as one knows here."""
        return f"split {self.split} of {self.site}"

    def words(self) -> Iterator[str]:
        """Which branch it is."""
        yield from (f"{self.name}, {self.branch_words(i)}" for i in range(self.branches))

    def branch_words(self, branch: int) -> str:
        """Which branch it is."""
        return f"branch {branch + 1}"


@dataclass(eq=False, slots=True)
class JoinNode:
    """Joined rows that met, and how they part again; a leaf if they do not."""

    counts: tuple[Count, ...]  # by class: joined rows, or weights of records
    asks: Question | HiddenQuestion | None = None
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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class JoinTree(Spoken):
    """A tree that tells the class of a record from tables that join."""

    target: str  # "table.column" of the class
    classes: tuple[str, ...]
    root: JoinNode
    weight: Literal["row", "record"] = "row"
    numbers: Numbers = "int64"
    # By table and column that some node asks for one text: all that there were in training. Others
    # are unseen, and follow the branch of missing ones.
    seen: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    sites: tuple[str, ...] = ()  # where tables stay at their sites; then those keep what they ask
    joins: tuple[WrittenJoin, ...] = ()  # by which records were joined in training
    min_count: int | None = None  # sites told nothing of fewer records, so that others may split

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
        return _unpickled, (self.json(), self.own_splits() if self.sites else "{}")

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
            lines.append("|  " * min(depth, _INDENTED) + far + one_line(question) + says)
            waiting += reversed(self._lines(node, depth + 1))
        return "\n".join(lines)

    def leaf_words(self, node: JoinNode) -> str:
        """The class of a leaf, its rows and how many it errs on."""
        return f"{one_line(self.classes[node.winner])} {self.leaf_counts(node)}"

    def leaf_counts(self, node: JoinNode) -> str:
        """How many rows a leaf has, and how many it errs on."""
        every, right = sum(node.counts), max(node.counts)
        wrong = f"/{said(every - right)}" if every != right else ""
        return f"({said(every)}{wrong})"

    def _lines(self, node: JoinNode, depth: int) -> list[tuple[int, str, JoinNode]]:
        questions = node.asks.words() if node.asks else ()
        return [(depth, q, branch) for q, branch in zip(questions, node.branches, strict=True)]

    def json(self, also: Mapping[str, Any] | None = None) -> str:
        """The text of model.json: a line for every node, however deep it stands.

        `also`: more to say before the tree.
        """
        head: dict[str, Any] = {"class": self.target, "classes": self.classes}
        head |= {"weight": self.weight, "numbers": self.numbers}
        head |= {"sites": self.sites} if self.sites else {"seen": _plain_seen(self.seen)}
        head |= {"joins": [_plain_join(join) for join in self.joins]}
        head |= {} if self.min_count is None else {"min_count": self.min_count}
        head |= also or {}
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
        if isinstance(node.asks, HiddenQuestion) or node.asks.site:
            return {"site": node.asks.site, "split": node.asks.split, "counts": counts}
        return {**_told(node.asks), "counts": counts}

    def own_splits(self) -> str:
        """The text of splits.json: what this site asks, by number, and what it has seen."""
        asked = [node.asks for node in self.root.walk() if isinstance(node.asks, Question)]
        splits = {str(asks.split): _told(asks) for asks in asked}
        digest = hashlib.sha256(self.json().encode("utf-8", "surrogatepass")).hexdigest()
        told = {"model": digest, "splits": splits, "seen": _plain_seen(self.seen)}
        return json.dumps(told, ensure_ascii=False, indent=1) + "\n"

    def _says(self, words: Any) -> str:
        said: str = words.shown(self)
        return said


def _told(asks: Question) -> dict[str, Any]:
    told = list(asks.values) if asks.test == "by" else asks.values[0]
    return {
        "table": asks.table, "column": asks.column, "test": {asks.test: told},
        "missing": asks.missing,
    }  # fmt: skip


def _plain_join(join: WrittenJoin) -> dict[str, Any]:
    """A join as a schema would write it."""
    left, right, keeps = join
    return {"left": list(left), "right": list(right)} | ({"keep": "left"} if keeps else {})


def _plain_seen(seen: Mapping[str, Mapping[str, tuple[str, ...]]]) -> dict[str, dict[str, Any]]:
    return {table: dict(columns) for table, columns in seen.items()}


def model_of(joined: Propagated, root: TreeNode, schema: JoinSchema, site: str = "") -> JoinTree:
    """The tree that was grown, in the words of its tables.

    Of several sites one has its own questions, and of others' it knows whose they are.
    """
    features = features_of(joined)

    def asked(split: Any) -> Question | HiddenQuestion:
        if not site:
            return _question(split, features)
        if split.site != site:
            return HiddenQuestion(split.site, split.number, split.ways)
        return replace(_question(split, features), site=site, split=split.number)

    nodes = root.walk()
    made = [
        JoinNode(_counts(node, joined), None if node.split is None else asked(node.split))
        for node in nodes
    ]
    place = {id(node): new for node, new in zip(nodes, made, strict=True)}
    for node, new in zip(nodes, made, strict=True):
        new.branches = [place[id(branch)] for branch in node.branches]
    sites = dict.fromkeys(str(entry.site) for entry in schema.tables.values()) if site else ()
    return JoinTree(
        schema.class_, joined.coded.labels, made[0], schema.grow.weight, joined.numbers,
        _seen(made, joined), tuple(sites), tuple(schema.written_joins),
        schema.grow.min_count if site else None,
    )  # fmt: skip


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


def _question(split: Split, features: Sequence[tuple[str, Feature]]) -> Question:
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
    texts = {MODEL: tree.json()} | ({SPLITS: tree.own_splits()} if tree.sites else {})
    for name, text in texts.items():
        path = Path(folder) / name
        path.touch(mode=0o600)
        path.write_text(text, encoding="utf-8")


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
        data = _parsed(text)
        splits = path.with_name(SPLITS)
        own = _own_splits(splits, text) if data.get("sites") and splits.exists() else {}
        return _model(data | own)
    except (
        OSError, ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError,
        RecursionError,
    ):  # fmt: skip
        raise InputError(
            "this is no model of a tree over tables, or it is damaged", where=str(path),
            do="train it again.",
        ) from None  # fmt: skip


def _own_splits(path: Path, model: str) -> dict[str, Any]:
    """What stands in splits.json, if it belongs to the model."""
    told = json.loads(path.read_text(encoding="utf-8"))
    if told["model"] != hashlib.sha256(model.encode("utf-8", "surrogatepass")).hexdigest():
        raise InputError(
            "it belongs to another model.json", where=str(path), do="keep the two together."
        )
    return {"splits": told["splits"], "seen": told["seen"]}


def _unpickled(text: str, splits: str) -> JoinTree:
    return _model(_parsed(text) | json.loads(splits))


def _model(data: Any) -> JoinTree:
    classes = tuple(data["classes"])
    _check(classes and all(isinstance(label, str) for label in classes))
    _check(list(classes) == sorted(set(classes)))
    _check(isinstance(data["class"], str) and data["weight"] in ("row", "record"))
    _check(data["numbers"] in _NUMBERS)
    sites = tuple(data.get("sites", ()))
    _check(all(isinstance(site, str) for site in sites))
    own = data.get("splits") if sites else None
    min_count = data.get("min_count")
    _check(min_count is None or type(min_count) is int)
    root = JoinNode(())
    waiting = [(root, data["tree"])]
    while waiting:
        node, told = waiting.pop()
        _check(isinstance(told["counts"], list))
        node.counts = tuple(map(_read_count, told["counts"]))
        _check(len(node.counts) == len(classes))
        if "class" in told:
            _check(told["class"] == classes[node.winner])
            continue
        below = told["branches"]
        _check(isinstance(below, list))
        node.asks = _read_question(told, own, len(below))
        _check(len(below) == node.asks.branches)
        node.branches = [JoinNode(()) for _ in below]
        waiting += zip(node.branches, below, strict=True)
    _check_columns(root)
    seen = {
        table: {column: tuple(_list(texts)) for column, texts in columns.items()}
        for table, columns in data.get("seen", {}).items()
    }
    asked = [node.asks for node in root.walk() if node.asks and node.asks.test == "is"]
    known = {(t, c): {*texts} for t, columns in seen.items() for c, texts in columns.items()}
    _check(all(isinstance(text, str) for texts in known.values() for text in texts))
    _check(all(asks.values[0] in known[asks.table, asks.column] for asks in asked))
    joins = tuple(map(_read_join, data["joins"]))
    return JoinTree(
        data["class"], classes, root, data["weight"], data["numbers"], seen, sites, joins, min_count
    )


def _read_join(told: Mapping[str, Any]) -> WrittenJoin:
    sides = [told["left"], told["right"]]
    _check(all(isinstance(side, list) and all(isinstance(c, str) for c in side) for side in sides))
    return tuple(sides[0]), tuple(sides[1]), told.get("keep") == "left"


def _read_question(
    told: Mapping[str, Any], own: Mapping[str, Any] | None, branches: int
) -> Question | HiddenQuestion:
    """A question; with sites, what `own` says of those that are asked here."""
    if "site" not in told:
        return _read_test(told)
    site, number = told["site"], told["split"]
    _check(isinstance(site, str) and type(number) is int)
    if not own or str(number) not in own:
        return HiddenQuestion(site, number, branches)
    return replace(_read_test(own[str(number)]), site=site, split=number)


def _read_test(told: Mapping[str, Any]) -> Question:
    [(test, value)] = told["test"].items()
    values = tuple(_list(value)) if test == "by" else (value,)
    number = test == "at_most" and not isinstance(values[0], str)
    _check(test in _TESTS and isinstance(told["table"], str) and isinstance(told["column"], str))
    _check(all(type(v) in ((int, float) if number else (str,)) for v in values))
    _check(test != "by" or (len(values) > 1 and list(values) == sorted({*values})))
    _check(type(value) is not float or math.isfinite(value))
    _check(test != "at_most" or number or time_of(value) is not None)
    asks = Question(told["table"], told["column"], test, values, told["missing"])
    _check(type(asks.missing) is int and 0 <= asks.missing < asks.branches)
    return asks


def _read_count(told: Any) -> Count:
    if isinstance(told, str):
        _check(re.fullmatch(r"\d+(/[1-9]\d*)?", told))
        _check((count := Fraction(told)) <= _MOST)
        return _whole(count)
    _check(type(told) in (int, float) and told >= 0)
    _check(told <= _MOST)  # which NaN is not, either
    plain: Count = told
    return plain


def _list(told: Any) -> list[Any]:
    _check(isinstance(told, list))
    found: list[Any] = told
    return found


def _check_columns(root: JoinNode) -> None:
    """See that a column is asked in one way: codes of its cells are made for all nodes at once."""
    ways: dict[tuple[str, str], tuple[str, bool]] = {}
    for node in root.walk():
        if isinstance(node.asks, Question):
            asks = node.asks
            way = (asks.test, isinstance(asks.values[0], str))
            _check(ways.setdefault((asks.table, asks.column), way) == way)


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
            if isinstance(value, str):
                value.encode()  # half a character could not be written again
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
