"""From a schema to a tree, what the tree is worth on records that it has not seen, and its use.

The tree is grown from all records. Where a test is asked for, a second one is grown without the
records that are set aside, and classifies them: by records or, since records that share a join
value also share what they join with, by whole groups of records that are equal in some column.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from reticent.data.columns import Table, encode
from reticent.errors import InputError, many
from reticent.files.output import check_free, refuse_inputs, whole_file, whole_folder
from reticent.files.sheets import sheet, write, write_table
from reticent.files.tabular import ARROW, SUFFIXES, Reading
from reticent.jointree.classification import (
    ClassifiedRecords,
    classify_tables,
    list_joined,
    read_asked,
    refuse_private,
    unfit_notes,
)
from reticent.jointree.learning import grown
from reticent.jointree.model import MODEL, JoinTree, model_of, read_model, write_model
from reticent.jointree.propagation import EmptyJoin, propagate
from reticent.jointree.report import JoinClasses, JoinTest, TrainedTree
from reticent.jointree.schema import JoinSchema
from reticent.jointree.tables import CodedTables, class_codes, code, load, room_of, standing
from reticent.progress import Clock, Watch
from reticent.releases.places import format_asked
from reticent.sources.arrival import inputs, means_of

_TYPED = (".parquet", *ARROW)
_ONE_PLACE = "min_count is kept between private sites; here all tables stand in one place."
_AT_ONCE = 1 << 17  # records whose lines are written together
_HERE = "The schema names sites; all of their tables were read here, as those of one place."
_A_COUNT = 24  # bytes of a row and class: its vectors, those of its branches, and scratch
_FEW = 100  # classes that are none too many
_OWN = ("class", "share", "rows")  # columns of classes.csv besides the ids


def train(
    schema: JoinSchema | Mapping[str, Any] | str | Path,
    tables: Mapping[str, Any] | None = None,
    test: float | None = None,
    test_by: str | None = None,
    seed: int = 0,
    watch: Watch | None = None,
    *,
    output: str | Path | None = None,
    force: bool = False,
    reading: Reading | None = None,
    engine: Mapping[str, Any] | None = None,
) -> TrainedTree:
    """Grow one tree over tables that join, and test it if asked to.

    `tables` stand in for the paths of the schema: data frames, or whatever a path can be. `test`:
    the share of records (or of groups of records equal in `test_by`) to set aside. `output`: a
    folder for the model. `engine`: see `reticent.sources.arrival.means_of`.
    """
    schema = JoinSchema.of(schema)
    reading = schema.reads(reading)
    share = _share(test, test_by)
    clock = Clock(watch or Watch())
    if output is not None:
        _check_model(output, schema, tables or {}, force=force)
    with clock.stage("read"):
        also = [test_by] if test_by is not None else []
        loaded = load(
            schema, tables, reading, whole=share is not None, also=also, engine=engine,
            watch=clock.watch,
        )  # fmt: skip
    with clock.stage("count"):
        coded = code(schema, loaded, reading=reading)
        _refuse_too_many_classes(schema, coded, engine or {})
        rules = schema.grow.options()
        joined = propagate(coded, schema.grow.weight)
    with clock.stage("grow"):
        root = grown(joined, rules, clock.watch.nodes)
        tree = model_of(joined, root, schema)
    tested = None
    if share is not None:
        with clock.stage("test"):
            tested = _tested(schema, loaded, share, test_by, seed, reading)
    if output is not None:
        with clock.stage("write"):
            save(tree, output, force=force)
    notes = [] if schema.grow.min_count is None else [_ONE_PLACE]
    notes += [*(note for table in loaded for note in table.notes), *coded.notes, *coded.unlike]
    notes += [_HERE] if any(entry.site for entry in schema.tables.values()) else []
    at = coded.root
    every = sum(map(int, coded.tables[at].counts))
    inside = joined.coded.tables[at].counts[joined.rows[at]]
    return TrainedTree(
        schema, tree, every, int(inside.sum()), joined.joined,
        {name: table.records for name, table in zip(schema.names, loaded, strict=True)},
        tuple(dict.fromkeys(notes)),
        dict(clock.seconds), tested, None if output is None else str(output),
    )  # fmt: skip


def _refuse_too_many_classes(
    schema: JoinSchema, coded: CodedTables, engine: Mapping[str, Any]
) -> None:
    """Refuse counts by class that do not fit: mostly the class is a column that names records."""
    rows, labels = sum(table.rows for table in coded.tables), len(coded.labels)
    takes = rows * labels * _A_COUNT
    if labels < _FEW or takes <= room_of(means_of(**engine)):
        return
    records = sum(map(int, coded.tables[coded.root].counts))
    unique = 2 * labels > records
    raise InputError(
        f"the class has {labels:,} labels for {many(records, 'record')}, and counts by class would "
        f"take about {takes / 10**9:.1f} GB", where=f'{schema.name}, class, "{schema.class_}"',
        why="every row of every table holds its joined rows of each class."
        + (" Hardly any two records share a class, so nothing can be learnt." if unique else ""),
        do="name a column with fewer values as  class, or put values of this one together.",
    )  # fmt: skip


def save(tree: JoinTree, output: str | Path, *, force: bool = False) -> None:
    """Write a model to a folder of its owner's alone, which appears whole or not at all."""
    with whole_folder(Path(output), force=force, holds=[MODEL], private=True) as folder:
        write_model(tree, folder)


def _check_model(
    output: str | Path, schema: JoinSchema, tables: Mapping[str, Any], *, force: bool
) -> None:
    format_asked(output, (), form="; a model is a folder")
    check_free(Path(output), force=force, holds=[MODEL])
    refuse_inputs([Path(output)], _inputs(schema, tables))


def _inputs(schema: JoinSchema, tables: Mapping[str, Any]) -> list[Path]:
    """The files that a run reads; what is not there will be told when it is read."""
    places = [
        standing(schema, name, tables) for name in schema.names if _stands(schema, name, tables)
    ]
    return [*schema.files(), *(path for place in places for path in inputs(place))]


def _stands(schema: JoinSchema, name: str, tables: Mapping[str, Any]) -> bool:
    return tables.get(name) is not None or schema.tables[name].path is not None


# --- use -----------------------------------------------------------------------------------------


def classify(
    model: JoinTree | TrainedTree | str | Path,
    schema: JoinSchema | Mapping[str, Any] | str | Path,
    tables: Mapping[str, Any] | None = None,
    rows: Any = None,
    *,
    joined: bool = False,
    majority: bool = False,
    output: str | Path | None = None,
    force: bool = False,
    reading: Reading | None = None,
    engine: Mapping[str, Any] | None = None,
    watch: Watch | None = None,
) -> JoinClasses:
    """Give every record of the class's table its class, by all rows that it joins with.

    `rows` are new records, instead of those of the schema; `tables` as in `train`. Records that
    join with nothing get the largest class if `majority`. `joined`: one line for every joined row
    instead, if there are at most a million. `output`: a file for them.
    """
    schema = JoinSchema.of(schema)
    reading = schema.reads(reading)
    given = dict(tables or {})
    if rows is not None:
        given[schema.names[schema.root]] = rows
    tree = model_in(model)
    refuse_private(tree, str(model) if isinstance(model, str | Path) else schema.name)
    _refuse_idle(schema, given, joined=joined, majority=majority)
    clock = Clock(watch or Watch())
    suffix = "" if output is None else _check_classes(output, model, schema, given, force=force)
    with clock.stage("read"):
        read = read_asked(
            tree, schema, given, reading, engine, every_row=joined, watch=clock.watch
        )  # fmt: skip
    with clock.stage("classify"):
        found = classify_tables(tree, schema, read, reading, majority=majority)
        lines = list_joined(tree, schema, read, reading) if joined else None
    if output is not None:
        with clock.stage("write"):
            _write(found if lines is None else lines, Path(output), suffix, force=force)
    told = found.told
    if lines is not None:
        count = Counter(lines["class"].to_pylist())
        told = tuple(count[label] for label in tree.classes)
    return JoinClasses(
        found if lines is None else lines, tree.classes, found.records,
        int((found.winners >= 0).sum()), found.joined, told, joined, majority,
        tuple(dict.fromkeys([*(n for table in read for n in table.notes),
                             *unfit_notes(tree, schema, read, reading)])),
        dict(clock.seconds), None if output is None else str(output),
    )  # fmt: skip


def model_in(model: JoinTree | TrainedTree | str | Path) -> JoinTree:
    """A tree, wherever it comes from."""
    if isinstance(model, TrainedTree):
        return model.tree
    return model if isinstance(model, JoinTree) else read_model(model)


def _refuse_idle(
    schema: JoinSchema, given: Mapping[str, Any], *, joined: bool, majority: bool
) -> None:
    unknown = sorted(set(given) - set(schema.tables))
    if unknown:
        raise InputError(f'there is no table "{unknown[0]}" in the schema', where=schema.name)
    if joined and majority:
        raise InputError(
            "every joined row has a class of its own", where="--majority",
            do="leave out --majority, or --joined.",
        )  # fmt: skip
    root = schema.names[schema.root]
    if not joined and (taken := [c for c in schema.tables[root].ids if c in _OWN]):
        raise InputError(
            f'the id "{taken[0]}" has the name of a column of the result',
            where=f"{schema.name}, [tables.{root}], ids", do="give the column another name.",
        )  # fmt: skip
    schema.refuse_nowhere([*given])


def _check_classes(
    output: str | Path, model: Any, schema: JoinSchema, given: Mapping[str, Any], *, force: bool
) -> str:
    suffix = format_asked(output)
    if not suffix:
        raise InputError(
            "classes are written as one file", where=str(output),
            do=f"give a name that ends in {', '.join(SUFFIXES)}.",
        )  # fmt: skip
    check_free(Path(output), force=force)
    models = [Path(model)] if isinstance(model, str | Path) else []
    refuse_inputs([Path(output)], [*models, *_inputs(schema, given)])
    return suffix


def _write(found: ClassifiedRecords | pa.Table, path: Path, suffix: str, *, force: bool) -> None:
    """Write classes, for their owner's eyes alone; as numbers where a format has such."""
    typed = suffix in _TYPED
    with whole_file(path, force=force, private=True) as place:
        if typed:
            table = found if isinstance(found, pa.Table) else found.table(typed=True)
            write_table(table, place, suffix)
            return
        pieces = iter([found]) if isinstance(found, pa.Table) else found.pieces(_AT_ONCE)
        columns = ([encode(name, part[name]) for name in part.column_names] for part in pieces)
        write((sheet(each, order="input") for each in columns), place, suffix)


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
    group = _groups(tables[root], by)
    aside, chosen = _set_aside(group, classes >= 0, share, by, seed)
    told = aside & (classes >= 0)
    coded = code(schema, tables, among=~aside, reading=reading)
    of_groups = len(np.unique(group[classes >= 0]))
    single = 0 if by is None else int((told_by_none(tables[root], by) & (classes >= 0)).sum())
    rules = schema.grow.options()
    try:
        joined = propagate(coded, schema.grow.weight)
    except EmptyJoin:  # all that joins was set aside
        every = propagate(code(schema, tables, reading=reading), schema.grow.weight)
        found = classify_tables(
            model_of(every, grown(every, rules), schema), schema, tables, reading
        )
        joining = told & (found.winners >= 0)
        return JoinTest.of_nothing(
            int(told.sum()), int(joining.sum()), every.joined, chosen, of_groups, single, by, seed
        )
    tree = model_of(joined, grown(joined, rules), schema)
    found = classify_tables(tree, schema, tables, reading)
    rows, winners = found.rows, found.winners  # each is worked out for all records at once
    here = told & (winners >= 0)
    right = found.counts[np.flatnonzero(here), classes[here]]
    alone = _alone(schema, tables, aside, reading)
    inside = joined.rows[root]
    trained = np.bincount(joined.coded.classes[inside], joined.coded.tables[root].counts[inside])
    return JoinTest(
        records=int(told.sum()), joining=int(here.sum()), groups=chosen,
        single=single,
        of_groups=of_groups,
        effective=_effective(group, classes >= 0, rows, schema.grow.weight), by=by, seed=seed,
        right=int((winners[here] == classes[here]).sum()),
        right_with_others=int(
            (np.where(here, winners, tree.root.winner)[told] == classes[told]).sum()
        ),
        right_rows=sum(map(int, right.tolist())),
        rows=sum(rows[i] for i in np.flatnonzero(here).tolist()),
        right_majority=int((classes[here] == np.argmax(trained)).sum()),
        right_alone=None if alone is None else int((alone.winners[here] == classes[here]).sum()),
    )  # fmt: skip


def told_by_none(table: Table, by: str) -> NDArray[np.bool_]:
    """Which records have no value in `by`, so that each is a group of its own."""
    column = table.columns[by]
    none = -1 if column.missing is None else column.missing
    missing: NDArray[np.bool_] = column.codes.astype(np.int64) == none
    return missing


def _groups(table: Table, by: str | None) -> NDArray[np.int64]:
    """The group of each record; every one without a value in `by` is a group of its own."""
    if by is None:
        return np.arange(table.rows)
    column = table.columns[by]
    own = len(column.values) + np.arange(table.rows)
    return np.where(told_by_none(table, by), own, column.codes.astype(np.int64))


def _set_aside(
    group: NDArray[np.int64], told: NDArray[np.bool_], share: float, by: str | None, seed: int
) -> tuple[NDArray[np.bool_], int]:
    """Which records are for testing, and how many groups they make; one of each kind at least."""
    kinds = np.unique(group[told])
    if len(kinds) < 2:
        raise InputError(
            "there are fewer than two groups of records with a class, and none can be set aside",
            where="--test" if by is None else f"--test-by {by}", do="test by another column.",
        )  # fmt: skip
    count = min(max(math.floor(share * len(kinds) + 0.5), 1), len(kinds) - 1)
    chosen = random.Random(seed).sample(kinds.tolist(), count)
    return told & np.isin(group, np.array(chosen, np.int64)), count


def _effective(
    group: NDArray[np.int64], told: NDArray[np.bool_], joined: Sequence[int], weight: str
) -> float:
    """How many groups of equal weight weigh as these do: (Σ w)² / Σ w², as Kish counts samples."""
    weights: Counter[int] = Counter()
    for at, rows, has_class in zip(group.tolist(), joined, told.tolist(), strict=True):
        if has_class and rows:
            weights[at] += rows if weight == "row" else 1
    squares = sum(w * w for w in weights.values())
    return sum(weights.values()) ** 2 / squares if squares else 0.0


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
    tree = model_of(joined, grown(joined, single.grow.options()), single)
    return classify_tables(tree, single, [tables[root]], reading)
