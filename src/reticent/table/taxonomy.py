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

Labels are the policy's and appear in messages. The values given to the makers (``by_…``) are
people's, and do not.
"""

from __future__ import annotations

import csv
import json
import math
import os
import re
import tomllib
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction
from graphlib import CycleError, TopologicalSorter
from io import StringIO
from itertools import groupby, pairwise
from pathlib import Path
from typing import NoReturn

from reticent.errors import SHOWN, InputError, Problem, listed


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
            _refuse("the labels of a taxonomy must differ, and none may be empty")
        if len(self.labels) != len(self.parents) or self.parents[:1] != (-1,):
            _refuse("a taxonomy needs a label and a parent for each node, and -1 for the root's")
        if any("\ud800" <= sign <= "\udfff" for sign in set("".join(self.labels))):
            _refuse("a label of the taxonomy holds half a character")  # no file could hold it
        below: list[list[int]] = [[] for _ in self.labels]
        depths, path = [0], [0]  # path: from the root to the node before
        for node, parent in enumerate(self.parents[1:], start=1):
            while path and path[-1] != parent:
                path.pop()
            if not path:
                _refuse(f"node {node} of the taxonomy is out of pre-order")
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

    def nested(self) -> dict[str, dict[str, object]]:
        """Give the tree as tables in tables; a leaf is an empty one."""
        tables: list[dict[str, object]] = [{} for _ in self.labels]
        for node, parent in enumerate(self.parents[1:], start=1):
            tables[parent][self.labels[node]] = tables[node]
        return {self.labels[0]: tables[0]}

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


def load(path: Path) -> Taxonomy:
    """Read a taxonomy from a .csv, .toml or .json file."""
    where, kind = str(path), path.suffix.lower()
    if path.is_dir():
        _refuse("this is a folder, not a file", where)
    if kind not in (".csv", ".toml", ".json"):
        _refuse("this is no kind of taxonomy file", where, "give a .csv, .toml or .json file")
    try:
        data = path.read_bytes()
    except OSError as error:
        _refuse(f"cannot be read: {error.strerror}", where)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if kind != ".csv" or data[:2] in (b"\xff\xfe", b"\xfe\xff"):  # these two begin UTF-16
            line = data.count(b"\n", 0, error.start) + 1
            _refuse("this is not UTF-8", f"{where}, line {line}", "save the file as UTF-8")
        text = data.decode("latin-1")
    return _from_csv(text, where) if kind == ".csv" else _from_text(text, kind, where)


def from_rows(rows: Iterable[Sequence[str]], where: str) -> Taxonomy:
    """Grow a taxonomy from rows that lead from a leaf to the root.

    >>> from_rows([["Janitor", "Blue", "ANY"], ["Clerk", "ANY"]], "example").labels
    ('ANY', 'Blue', 'Janitor', 'Clerk')
    """
    sketch = _Sketch(where, unit="row")
    for number, row in enumerate(rows, start=1):
        sketch.add_row(number, row)
    return sketch.tree()


def from_nested(tree: Mapping[str, object], where: str) -> Taxonomy:
    """Grow a taxonomy from nested tables; a leaf is an empty table or a label in a list.

    >>> from_nested({"*": {"young": [17, 17.5], "old": {}}}, "example").rows()
    [('17', 'young', '*'), ('17.5', 'young', '*'), ('old', '*')]
    """
    sketch = _Sketch(where)
    sketch.add_nested(tree)
    return sketch.tree()


def save(taxonomy: Taxonomy, path: Path) -> None:
    """Write a taxonomy as CSV from leaf to root; a crash leaves the old file or the new one."""
    if path.suffix.lower() != ".csv":
        _refuse("taxonomies are written as CSV", str(path), "let the name end in .csv")
    temporary = path.with_name(f".{path.name}.part")
    try:
        # One fixed name, so that what a killed run left behind is removed by the next.
        temporary.unlink(missing_ok=True)
        with open(temporary, "x", encoding="utf-8", newline="") as file:
            file.writelines(map(_csv_line, taxonomy.rows()))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        with suppress(OSError):  # the first error is the one to tell
            temporary.unlink()
        _refuse(f"cannot be written: {error.strerror}", str(path))


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


def by_prefix(
    values: Iterable[str], lengths: Sequence[int], root: str = "*", pad: str = "*"
) -> Taxonomy:
    """Group codes by their first characters, padded to the length of the longest code.

    >>> by_prefix(["01234", "01277", "09999"], [1, 3]).rows()[0]
    ('01234', '012**', '0****', '*')
    """
    if not lengths or min(lengths) < 1 or len(pad) != 1:
        _refuse("prefixes need lengths from 1 up, and one character to pad with")
    texts = _distinct(values)
    # One width for all: padded to the length of each code, one prefix would be several nodes.
    width = max(map(len, texts))
    cuts = sorted(set(lengths), reverse=True)
    rows = [[text, *(text[:cut].ljust(width, pad) for cut in cuts), root] for text in texts]
    return _made(rows, "choose another root or padding")


def by_date(values: Iterable[str], date_format: str | None = None, root: str = "*") -> Taxonomy:
    """Group days by month and year, and timestamps first by day.

    >>> by_date(["2024-05-01T08:30", "2024-05-01T09:15"]).rows()[0]
    ('2024-05-01T08:30', '2024-05-01', '2024-05', '2024', '*')
    >>> by_date(["31.12.1999"], "%d.%m.%Y").rows()
    [('31.12.1999', '1999-12', '1999', '*')]
    """
    if date_format is not None and not re.search("%[YyGcx]", date_format):
        _refuse(f'the date format "{date_format}" has no year')
    texts = _distinct(values)
    days = {text: _day(text, date_format) for text in texts}
    bad = [text for text in texts if days[text] is None]
    if bad:
        form = f'of the form "{date_format}"' if date_format else "in ISO form"
        _refuse(f"{len(bad)} of the {len(texts)} values are no dates {form}", values=bad)
    # A day written in another way gets no second name: a node with one child is a wasted step.
    rows = [
        [text, *([day] if timed else []), day[:7], day[:4], root]
        for (day, timed), text in sorted((day, text) for text, day in days.items() if day)
    ]
    return _made(rows, "write all values as days or all as times, or choose another root")


def by_bins(values: Iterable[str], edges: Sequence[str | float], decimal: str = ".") -> Taxonomy:
    """Group numbers by the intervals between edges; intervals without a value are left out.

    >>> by_bins(["17", "18", "70"], [0, 18, 65, 120.0]).rows()[1]
    ('18', '[18,65)', '[0,120]')
    """
    read = [_number(str(edge), decimal if isinstance(edge, str) else ".") for edge in edges]
    bounds = [bound for bound in read if bound is not None]
    if not 2 <= len(bounds) == len(edges) or any(low >= high for low, high in pairwise(bounds)):
        _refuse("edges must be at least two numbers, each larger than the one before")
    numbers = _numbers(values, decimal)
    outside = [text for number, text in numbers if not bounds[0] <= number <= bounds[-1]]
    if outside:
        what = f"{len(outside)} of the {len(numbers)} values lie outside {_interval(bounds)}"
        _refuse(what, do="widen the first or the last edge", values=outside)
    return _binned(numbers, bounds)


def by_equal(values: Iterable[str], count: int, decimal: str = ".") -> Taxonomy:
    """Group numbers by `count` intervals of equal width between the smallest and the largest.

    These two are data and become part of labels; the edges of `by_bins` need not be.

    >>> [row[1] for row in by_equal(["0", "2", "5"], 2).rows()]
    ['[0,2.5)', '[0,2.5)', '[2.5,5]']
    """
    if count < 1:
        _refuse("there must be at least one interval")
    numbers = _numbers(values, decimal)
    low, high = (Fraction(repr(number)) for number, _ in (numbers[0], numbers[-1]))
    # Exact until the last moment: adding up a float step would print 0.30000000000000004.
    exact = (low + (high - low) * step / count for step in range(count + 1))
    bounds = sorted({int(edge) if edge.denominator == 1 else float(edge) for edge in exact})
    return _binned(numbers, bounds if len(bounds) > 1 else bounds * 2)


@dataclass(slots=True)
class _Sketch:
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
            self.note(line, f"a cycle: {_quoted(again)} stands above itself", "rename one of them")
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
            under = f" under {_quoted(parent)}" if parent else ""
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
                self.note(*self.several(parents, f"{_quoted(label)} has", "parents"), do)
        for label, line in self.leaves.items():
            if label in inner:
                both = f"a leaf{self.at(line)} and a parent{self.at(inner[label])}"
                why = "a value that is shown as it is needs a leaf, with nothing under it"
                do = "give the parent another label, or drop the row of the leaf"
                self.note(max(line, inner[label]), f"{_quoted(label)} is both {both}", do, why)

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
            self.note(line, f"a cycle: {' above '.join(map(_quoted, loop))}", do)

    def several(self, labels: Mapping[str, int], start: str, noun: str) -> tuple[int, str]:
        """Say which labels stand where there should be one, and on which line that began."""
        shown = [_quoted(label) + self.at(line) for label, line in labels.items()]
        return sorted(labels.values())[1], f"{start} {len(labels)} {noun}: {listed(shown)}"

    def at(self, line: int) -> str:
        """Give the line in brackets, where there are lines."""
        return f" ({self.unit} {line})" if line else ""


def _from_csv(text: str, where: str) -> Taxonomy:
    """Read CSV by each separator that occurs in it, and keep the reading that makes a tree.

    If both do, fewer quotes left in labels tell of fewer cuts in wrong places, and more nodes of
    more structure; the semicolon wins ties, since people choose it where labels such as ``[0,18)``
    hold commas. If neither does, the one found in more rows has its mistakes told.
    """
    readings: list[tuple[tuple[bool, int, int], Taxonomy | InputError]] = []
    for sign in [sign for sign in ";," if sign in text] or ",":
        sketch = _csv_sketch(text, sign, where)
        try:
            tree = sketch.tree()
            quotes = sum(label.count('"') for label in tree.labels)
            readings.append(((True, -quotes, len(tree.labels)), tree))
        except InputError as error:
            readings.append(((False, 0, sketch.split), error))
    best = max(readings, key=lambda reading: reading[0])[1]
    if isinstance(best, InputError):
        raise best
    return best


def _csv_sketch(text: str, sign: str, where: str) -> _Sketch:
    sketch = _Sketch(where)
    reader = csv.reader(StringIO(text, newline=""), delimiter=sign, strict=True)
    while True:
        line = reader.line_num + 1  # where the row begins: quoted cells may run over several lines
        try:
            sketch.add_row(line, next(reader))
        except StopIteration:
            return sketch
        except csv.Error:
            do = 'close a quoted cell right before the separator; a quote inside it is ""'
            sketch.note(line, "the quotes in this row do not match", do)


def _csv_line(row: Sequence[str]) -> str:
    # A row that begins with a quoted cell cannot be cut at semicolons, so no reader is misled.
    # The csv module would leave \r bare; a bare U+FEFF at the start would be taken for a BOM.
    risky = "" if ";" in "".join(row) else '[,"\r\n\ufeff]'
    cells = [
        '"' + cell.replace('"', '""') + '"' if re.search(risky, cell) else cell for cell in row
    ]
    return ",".join(cells) + "\n"


def _from_text(text: str, kind: str, where: str) -> Taxonomy:
    sketch = _Sketch(where)

    def table(pairs: list[tuple[str, object]]) -> dict[str, object]:
        # The json module keeps the last of two equal keys and loses what stood under the first.
        for key, times in Counter(key for key, _ in pairs).items():
            if times > 1:
                sketch.note(0, f"{_quoted(key)} is given {times} times in one table")
        return dict(pairs)

    if not text.strip():
        return sketch.tree()  # which says that there are no labels; JSON would expect a value
    try:
        toml = kind == ".toml"
        tree = tomllib.loads(text) if toml else json.loads(text, object_pairs_hook=table)
    except RecursionError:
        _refuse("the tables are nested too deeply", where, "write it as CSV")
    except ValueError as error:
        lines = re.findall(r"line (\d+)", str(error)) or [text.rstrip().count("\n") + 1]
        _refuse(f"this is not {kind[1:].upper()}: {error}", f"{where}, line {lines[-1]}")
    sketch.add_nested(tree)
    return sketch.tree()


def _refuse(what: str, where: str = "", do: str = "", values: Iterable[str] = ()) -> NoReturn:
    raise InputError(Problem(what, where, do=do, values=tuple(values))) from None


def _quoted(label: str) -> str:
    return f'"{label}"' if label.isprintable() else repr(label)


def _label(key: object) -> str | None:
    if isinstance(key, str):
        return key
    if isinstance(key, float) and not math.isfinite(key):
        return None
    return _shortest(key) if isinstance(key, int | float) and not isinstance(key, bool) else None


def _shortest(number: float) -> str:
    # From 1e16 on, Python's repr has no point either, and is shorter than all the digits.
    whole = isinstance(number, float) and number.is_integer() and abs(number) < 1e16
    return str(int(number)) if whole else repr(number)


def _number(text: str, decimal: str) -> float | None:
    # Whole numbers stay int: as floats, large ones would fall together.
    text = text.strip() if decimal == "." else text.strip().replace(".", "?").replace(decimal, ".")
    if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text, re.ASCII):
        return None
    number = float(text)
    return None if math.isinf(number) else int(text) if text.lstrip("+-").isdigit() else number


def _numbers(values: Iterable[str], decimal: str) -> list[tuple[float, str]]:
    texts = _distinct(values)
    numbers = [(_number(text, decimal), text) for text in texts]
    bad = [text for number, text in numbers if number is None]
    if bad:
        _refuse(f"{len(bad)} of the {len(texts)} values are no numbers", values=bad)
    return sorted((number, text) for number, text in numbers if number is not None)


def _day(text: str, date_format: str | None) -> tuple[str, bool] | None:
    """Read the day of a date or timestamp, in ISO form, and whether it has a time as well."""
    try:
        if date_format is not None:
            timed = re.search("%[HIpMSfcX]", date_format) is not None
            return datetime.strptime(text, date_format).date().isoformat(), timed
        try:
            return date.fromisoformat(text).isoformat(), False
        except ValueError:
            return datetime.fromisoformat(text).date().isoformat(), True
    except (ValueError, re.error):  # strptime builds a pattern, and not every format makes one
        return None


def _distinct(values: Iterable[str]) -> list[str]:
    texts = sorted(set(values))  # sorted, so that the order of rows does not show
    if not texts or not texts[0]:
        _refuse("a taxonomy is made of at least one value, and of none that is missing")
    return texts


def _binned(numbers: list[tuple[float, str]], bounds: Sequence[float]) -> Taxonomy:
    bins = [_interval(pair, ")") for pair in pairwise(bounds)]
    bins[-1] = _interval(bounds[-2:])
    places = [min(bisect_right(bounds, number), len(bins)) - 1 for number, _ in numbers]
    root = _interval(bounds)
    rows = [[text, bins[at], root] for at, (_, text) in zip(places, numbers, strict=True)]
    return from_rows(rows, "intervals")


def _interval(bounds: Sequence[float], close: str = "]") -> str:
    return f"[{_shortest(bounds[0])},{_shortest(bounds[-1])}{close}"


def _made(rows: list[list[str]], do: str) -> Taxonomy:
    # Checked here, because what `from_rows` says of a clash would show the value.
    root = rows[0][-1]
    if not root or any(root in row[1:-1] for row in rows):
        _refuse("the root needs a label that no group has", do="choose another root")
    paths = [[label for label, _ in groupby(row)] for row in rows]
    groups = {label for path in paths for label in path[1:]} | {root}
    clash = [path[0] for path in paths if path[0] in groups]
    if clash:
        what = f"{len(clash)} of the {len(rows)} values are also the label of a group"
        _refuse(what, do=do, values=clash)
    return from_rows(paths, "values")
