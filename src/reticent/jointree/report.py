"""What training and classifying come to, and what there is to say of it, as plain data.

Nothing here is for everybody: a tree shows values and counts of the tables that it was grown from.
Summaries name tables, columns and counts; values stand in the model alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from reticent.jointree.model import HiddenQuestion, JoinNode, JoinTree, said
from reticent.jointree.schema import JoinSchema
from reticent.releases.facts import seconds
from reticent.releases.spoken import Spoken

if TYPE_CHECKING:
    import pyarrow as pa

_FIRST = 5  # questions that a summary names


@dataclass(frozen=True, slots=True, repr=False)
class JoinTest(Spoken):
    """How a tree did on records that were set aside; shares are of those that join."""

    records: int  # set aside, with a class
    joining: int  # of them, those that join with something
    groups: int  # of equal values in `by` that were set aside; or as many as there are records
    of_groups: int  # in all
    single: int  # of them, records without a value in `by`, each for itself
    effective: float  # groups of equal weight that would weigh as these do, of all that join
    by: str | None
    seed: int
    right: int  # records whose class was told
    right_with_others: int  # of all set aside, if those that join with nothing get the root's
    right_rows: int  # joined rows whose class was told
    rows: int  # joined rows in all
    right_majority: int  # if every record got the class of most records it was trained with
    right_alone: int | None  # by a tree over the class's table alone; None where it has no columns
    grown: bool = True  # whether there was a tree to test: some record that was left joins

    @classmethod
    def of_nothing(
        cls, records: int, joining: int, rows: int, groups: int, of_groups: int, single: int,
        by: str | None, seed: int,
    ) -> JoinTest:  # fmt: skip
        """A test without a tree, as all records that join were set aside."""
        return cls(
            records, joining, groups, of_groups, single, 0.0, by, seed, 0, 0, 0, rows, 0, None,
            grown=False,
        )  # fmt: skip

    @property
    def coverage(self) -> float:
        """The share of records that join with something."""
        return self.joining / self.records if self.records else 0.0

    @property
    def accuracy(self) -> float:
        """The share of joining records whose class was told."""
        return self._of(self.right)

    @property
    def accuracy_of_all(self) -> float:
        """The share of all set aside, if those that join with nothing get the root's class.

        Of trees that have something to say of different records, this can be compared.
        """
        return self.right_with_others / self.records if self.records else 0.0

    @property
    def row_accuracy(self) -> float:
        """The share of joined rows whose class was told."""
        return self.right_rows / self.rows if self.rows else 0.0

    @property
    def majority(self) -> float:
        """The share that one class for all would have told."""
        return self._of(self.right_majority)

    @property
    def alone(self) -> float | None:
        """The share that the class's table alone would have told."""
        return None if self.right_alone is None else self._of(self.right_alone)

    def _of(self, right: int) -> float:
        return right / self.joining if self.joining else 0.0

    def facts(self) -> dict[str, Any]:
        """All of it as plain data; a share of nothing is null."""
        tested = self.joining > 0 and self.grown
        return {
            "records": self.records,
            "joining": self.joining,
            "coverage": _share(self.coverage),
            "rows": self.rows,
            "accuracy": _share(self.accuracy) if tested else None,
            "accuracy_of_all": _share(self.accuracy_of_all) if self.grown else None,
            "row_accuracy": _share(self.row_accuracy) if tested else None,
            "majority": _share(self.majority) if tested else None,
            "target_alone": None if self.alone is None or not tested else _share(self.alone),
            "by": self.by,
            "groups": self.groups,
            "of_groups": self.of_groups,
            "single": self.single,
            "effective_groups": round(self.effective, 1) if self.grown else None,
            "seed": self.seed,
        }

    def _says(self, words: Any) -> str:
        said: str = words.tested(self)
        return said


@dataclass(frozen=True, slots=True, repr=False)
class TrainedTree(Spoken):
    """A tree over tables that join, what it was grown from, and how it did."""

    schema: JoinSchema = field(repr=False)
    tree: JoinTree = field(repr=False)
    records: int  # of the class's table, with a class
    joining: int  # of them, those that stand in the join
    rows: int  # of the join
    table_rows: Mapping[str, int]  # records of each table
    notes: tuple[str, ...] = field(repr=False)  # what was assumed in reading the tables
    seconds: Mapping[str, float] = field(repr=False)
    test: JoinTest | None = None
    output: str | None = None

    @property
    def coverage(self) -> float:
        """The share of records that stand in the join."""
        return self.joining / self.records

    def summary(self) -> dict[str, Any]:
        """What ``tree train --json`` prints."""
        return {
            "class": self.tree.target,
            "tables": dict(self.table_rows),
            "records": self.records,
            "joining": self.joining,
            "coverage": _share(self.coverage),
            "rows": self.rows,
            **shape(self.tree),
            "first_splits": [
                {key: one[key] for key in ("depth", "table", "column", "test")}
                for one in first_splits(self.tree)
            ],
            "test": self.test and self.test.facts(),
            "output": self.output,
            "seconds": seconds(self.seconds),
        }

    def _says(self, words: Any) -> str:
        said: str = words.trained(self)
        return said


@dataclass(frozen=True, slots=True, repr=False)
class JoinClasses(Spoken):
    """The classes of records, or of their joined rows, in the order of the class's table."""

    found: Any = field(repr=False)  # ClassifiedRecords, or the table of joined rows
    classes: tuple[str, ...]
    records: int
    joining: int  # records that join with something
    rows: int  # of the join
    told: tuple[int, ...]  # how many lines of the table each class has
    joined: bool  # whether a line is a joined row, and no record
    majority: bool  # whether records that join with nothing got the class of most
    notes: tuple[str, ...] = field(default=(), repr=False)
    seconds: Mapping[str, float] = field(default_factory=dict, repr=False)
    output: str | None = None

    @property
    def table(self) -> pa.Table:
        """One line for each: ids as texts, `share` and `rows` as numbers.

        A table is made anew each time it is asked for: a long one had better be kept.
        """
        return self.found if self.joined else self.found.table(typed=True)

    def summary(self) -> dict[str, Any]:
        """What ``tree classify --json`` prints."""
        return {
            "records": self.records,
            "joining": self.joining,
            "coverage": _share(self.joining / self.records) if self.records else None,
            "rows": self.rows,
            "lines": self.found.num_rows if self.joined else self.records,
            "joined": self.joined,
            "majority": self.majority,
            "classes": list(self.told),  # in the order of the model's
            "output": self.output,
            "seconds": seconds(self.seconds),
        }

    def _says(self, words: Any) -> str:
        said: str = words.classified(self)
        return said


def shape(tree: JoinTree) -> dict[str, Any]:
    """How large a tree is, and what its counts are."""
    nodes = tree.root.walk()
    return {
        "weight": tree.weight,
        "numbers": tree.numbers,
        "nodes": len(nodes),
        "leaves": sum(node.asks is None for node in nodes),
        "depth": tree.depth,
    }


def first_splits(tree: JoinTree, most: int = _FIRST) -> list[dict[str, Any]]:
    """The questions nearest to the root; `words` alone holds values."""
    found: list[dict[str, Any]] = []
    level = [tree.root]
    depth = 0
    while level and len(found) < most:
        for node in level:
            if node.asks is not None:
                asks, every = node.asks, sum(node.counts)
                found.append(
                    {
                        "depth": depth,
                        "table": asks.table,
                        "column": asks.column,
                        "test": asks.test,
                        "words": next(asks.words()),
                        "count": every if isinstance(every, int) else said(every),
                    }
                )
        level = [branch for node in level for branch in node.branches]
        depth += 1
    return found[:most]


def asked_columns(tree: JoinTree) -> list[tuple[str, str, int, int]]:
    """Columns that are asked: table, column, questions, and the depth of the first one.

    Of another site's nothing is known but whose they are.
    """
    count: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], int] = {}
    for node, depth in by_depth(tree):
        if node.asks is not None:
            asks = node.asks
            hidden = isinstance(asks, HiddenQuestion)
            place = (f"at {asks.site}", "not told") if hidden else (asks.table, asks.column)
            count[place] += 1
            first.setdefault(place, depth)
    places = sorted(count, key=lambda place: (-count[place], first[place], place))
    return [(*place, count[place], first[place]) for place in places]


def by_depth(tree: JoinTree) -> Iterator[tuple[JoinNode, int]]:
    """Every node with its depth, those nearer to the root first."""
    level, depth = [tree.root], 0
    while level:
        yield from ((node, depth) for node in level)
        level = [branch for node in level for branch in node.branches]
        depth += 1


def _share(share: float) -> float:
    return round(share, 6)
