"""From a schema to a tree, and what the tree is worth on records that it has not seen.

The tree is grown from all records. Where a test is asked for, a second one is grown without the
records that are set aside, and classifies them: by records or, since records that share a join
value also share what they join with, by whole groups of records that are equal in some column.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.data.columns import Table
from reticent.errors import InputError
from reticent.files.tabular import Reading
from reticent.jointree.classification import ClassifiedRecords, classify_tables
from reticent.jointree.learning import grown
from reticent.jointree.model import JoinTree, model_of
from reticent.jointree.propagation import propagate
from reticent.jointree.schema import JoinSchema
from reticent.jointree.tables import class_codes, code, load
from reticent.progress import Clock, Watch


@dataclass(frozen=True, slots=True)
class JoinTest:
    """How a tree did on records that were set aside; shares are of those that join."""

    records: int  # set aside, with a class
    joining: int  # of them, those that join with something
    groups: int  # of equal values in `by`, or as many as there are records
    by: str | None
    seed: int
    right: int  # records whose class was told
    right_rows: int  # joined rows whose class was told
    rows: int  # joined rows in all
    right_majority: int  # if every record got the class of most records it was trained with
    right_alone: int | None  # by a tree over the class's table alone; None where it has no columns

    @property
    def coverage(self) -> float:
        """The share of records that join with something."""
        return self.joining / self.records if self.records else 0.0

    @property
    def accuracy(self) -> float:
        """The share of joining records whose class was told."""
        return self._of(self.right)

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


@dataclass(frozen=True, slots=True)
class TrainedTree:
    """A tree over tables that join, what it was grown from, and how it did."""

    schema: JoinSchema
    tree: JoinTree
    records: int  # of the class's table, with a class
    joining: int  # of them, those that stand in the join
    rows: int  # of the join
    table_rows: Mapping[str, int]  # records of each table
    notes: tuple[str, ...]  # what was assumed in reading the tables
    seconds: Mapping[str, float]
    test: JoinTest | None = None

    @property
    def coverage(self) -> float:
        """The share of records that stand in the join."""
        return self.joining / self.records


def train(
    schema: JoinSchema | Mapping[str, Any] | str | Path,
    tables: Mapping[str, Any] | None = None,
    test: float | None = None,
    test_by: str | None = None,
    seed: int = 0,
    watch: Watch | None = None,
    *,
    reading: Reading | None = None,
    engine: Mapping[str, Any] | None = None,
) -> TrainedTree:
    """Grow one tree over tables that join, and test it if asked to.

    `tables` stand in for the paths of the schema: data frames, or whatever a path can be. `test`:
    the share of records (or of groups of records equal in `test_by`) to set aside. `engine`: see
    `reticent.sources.arrival.means_of`.
    """
    schema = JoinSchema.of(schema)
    share = _share(test, test_by)
    clock = Clock(watch or Watch())
    with clock.stage("read"):
        also = [test_by] if test_by is not None else []
        loaded = load(
            schema, tables, reading, whole=share is not None, also=also, engine=engine,
            watch=clock.watch,
        )  # fmt: skip
    with clock.stage("count"):
        coded = code(schema, loaded, reading=reading)
        rules = schema.grow.options()
        joined = propagate(coded, schema.grow.weight)
    with clock.stage("grow"):
        root = grown(joined, rules)
        tree = model_of(joined, root, schema.class_, schema.grow.weight)
    tested = None
    if share is not None:
        with clock.stage("test"):
            tested = _tested(schema, loaded, share, test_by, seed, reading)
    at = coded.root
    every = sum(map(int, coded.tables[at].counts))
    inside = joined.coded.tables[at].counts[joined.rows[at]]
    return TrainedTree(
        schema, tree, every, int(inside.sum()), joined.joined,
        {name: table.records for name, table in zip(schema.names, loaded, strict=True)},
        tuple(dict.fromkeys(note for table in loaded for note in table.notes)),
        dict(clock.seconds), tested,
    )  # fmt: skip


def _share(test: float | None, test_by: str | None) -> float | None:
    if test is None:
        if test_by is not None:
            raise InputError(
                "nobody says how much to set aside", where="--test-by", do="give  --test 0.3  too."
            )
        return None
    if not isinstance(test, int | float) or isinstance(test, bool) or not 0 < test < 1:
        raise InputError(
            "the share to set aside lies between 0 and 1", where="--test", do="give 0.3."
        )
    return float(test)


# --- records set aside ---------------------------------------------------------------------------


def _tested(
    schema: JoinSchema,
    tables: Sequence[Table],
    share: float,
    by: str | None,
    seed: int,
    reading: Reading | None,
) -> JoinTest:
    root, target = schema.target
    _, classes = class_codes(tables[root].columns[target])
    aside, groups = _set_aside(tables[root], classes >= 0, share, by, seed)
    coded = code(schema, tables, among=~aside, reading=reading)
    joined = propagate(coded, schema.grow.weight)
    rules = schema.grow.options()
    tree = model_of(joined, grown(joined, rules), schema.class_, schema.grow.weight)
    found = classify_tables(tree, schema, tables, reading)
    told = aside & (classes >= 0)
    here = told & (found.winners >= 0)
    right = found.counts[np.flatnonzero(here), classes[here]]
    alone = _alone(schema, tables, aside, reading)
    inside = joined.rows[root]
    trained = np.bincount(joined.coded.classes[inside], joined.coded.tables[root].counts[inside])
    return JoinTest(
        records=int(told.sum()), joining=int(here.sum()), groups=groups, by=by, seed=seed,
        right=int((found.winners[here] == classes[here]).sum()),
        right_rows=sum(map(int, right.tolist())),
        rows=sum(found.rows[i] for i in np.flatnonzero(here).tolist()),
        right_majority=int((classes[here] == np.argmax(trained)).sum()),
        right_alone=None if alone is None else int((alone.winners[here] == classes[here]).sum()),
    )  # fmt: skip


def _set_aside(
    table: Table, told: NDArray[np.bool_], share: float, by: str | None, seed: int
) -> tuple[NDArray[np.bool_], int]:
    """Which records are for testing, and how many groups they make; one of each kind at least.

    Every record without a value in `by` is a group of its own.
    """
    rows = np.flatnonzero(told)
    group = rows
    if by is not None:
        column = table.columns[by]
        missing = column.missing
        codes = column.codes.astype(np.int64)
        own = len(column.values) + np.arange(table.rows)
        group = np.where(codes == (-1 if missing is None else missing), own, codes)[rows]
    kinds = np.unique(group)
    if len(kinds) < 2:
        raise InputError(
            "there are fewer than two groups of records with a class, and none can be set aside",
            where="--test" if by is None else f"--test-by {by}", do="test by another column.",
        )  # fmt: skip
    count = min(max(math.floor(share * len(kinds) + 0.5), 1), len(kinds) - 1)
    chosen = random.Random(seed).sample(kinds.tolist(), count)
    aside = np.zeros(table.rows, dtype=bool)
    aside[rows[np.isin(group, np.array(chosen, np.int64))]] = True
    return aside, count


def _alone(
    schema: JoinSchema, tables: Sequence[Table], aside: NDArray[np.bool_], reading: Reading | None
) -> ClassifiedRecords | None:
    """What the class's table tells by itself."""
    root, _ = schema.target
    name = schema.names[root]
    candidates = schema.candidates(root, tables[root].known)
    if not candidates:
        return None
    entry = {"ids": list(schema.tables[name].ids), "candidates": candidates}
    grow = schema.grow.model_dump(exclude_none=True, exclude={"min_count"})
    single = JoinSchema.from_data({"class": schema.class_, "tables": {name: entry}, "grow": grow})
    coded = code(single, [tables[root]], among=~aside, reading=reading)
    joined = propagate(coded, single.grow.weight)
    tree = model_of(joined, grown(joined, single.grow.options()), schema.class_)
    return classify_tables(tree, single, [tables[root]], reading)
