"""Earlier releases about the same people, as they are read and as the verifier is told of them."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from reticent.data.columns import Column, Table
from reticent.data.decimals import with_points
from reticent.data.scales import kind_of
from reticent.data.taxonomy import Taxonomy
from reticent.errors import InputError, did_you_mean, quoted, refuse
from reticent.files.tabular import Reading
from reticent.privacy.promises import ours, theirs
from reticent.privacy.rejoin import Meeting, PublishedRelease
from reticent.releases import folder as release_folder
from reticent.sources.arrival import read
from reticent.tables import folder
from reticent.tables.policy import Policy
from reticent.tables.prepare import as_meant, cleared


@dataclass(frozen=True, slots=True)
class Earlier:
    """A release that is out."""

    name: str
    table: Table  # missing values are null
    published: tuple[str, ...]
    marker: str  # what it shows where it suppresses
    taxonomies: Mapping[str, Taxonomy]  # as far as it tells them
    made_from: Table | None = None  # with its owner, who has that still: for ids alone
    shown: Table | None = None  # as it is out, its cells as they were read

    @property
    def where(self) -> str:
        """How messages call it."""
        return f"[previous.{self.name}], {self.table.name}"

    def merges(self, name: str) -> bool:
        """Whether cells of a column that everybody can tell apart are one in `table`.

        One spelling for another is a name for the same; two for one hide what is seen.
        """
        after = self.table.columns[name]
        before = self.shown.columns[name] if self.shown else after
        if before is after:
            return False
        out, counted = ({text or "" for text in column.texts()} for column in (before, after))
        return len(counted) < len(out) or (self.marker in out and self.marker not in counted)


def read_previous(
    policy: Policy, reading: Reading | None = None, *, whole: bool = True
) -> dict[str, Earlier]:
    """Read the earlier releases that a policy declares; all problems at once.

    `whole`: columns that were never published must be there, too.
    """
    found, problems = {}, []
    for name, previous in policy.previous.items():
        try:
            if previous.path is None:
                raise InputError("nobody says where it stands", where="path")
            path = policy.folder / previous.path
            found[name] = _read_one(name, path, previous.drop, policy, reading or Reading(), whole)
        except InputError as error:
            place = f"{policy.name}, [previous.{name}]"
            tell = f"a path is relative to the policy; --previous {name}=PATH names another."
            problems += [
                replace(p, where=f"{place}, {p.where}", do=p.do or tell) for p in error.problems
            ]
    refuse(problems)
    return found


def _read_one(
    name: str, path: Path, dropped: tuple[str, ...], policy: Policy, reading: Reading, whole: bool
) -> Earlier:
    refuse(release_folder.altered(path))  # of whatever kind, it is a table
    manifest = release_folder.manifest_of(path)
    told = folder.told(manifest)
    counted = {c for p in policy.anonymity for c in (*theirs(p.of, name), *ours(p.of))}
    data = release_folder.published(path)
    written = release_folder.reading_in(data, manifest).over(reading.cells)
    shown, _ = read(data, written, set(dropped) - counted)
    commas = folder.with_commas(policy, manifest, shown.columns, reading)
    table = with_points(shown, commas)
    if not table.rows:
        raise InputError("the table has no rows", where=table.name)
    lacking = [column for column in dropped if column not in table.known]
    if lacking and whole:
        raise InputError(
            f"it has no column {quoted(lacking)}", where=table.name,
            do=did_you_mean(lacking[0], list(table.columns)) or f"it has {quoted(table.columns)}.",
        )  # fmt: skip
    marker = told.marker or policy.marker
    published = tuple(n for n in table.columns if n not in dropped)
    table = cleared(as_meant(table, policy), policy, marker)
    made_from = None if counted <= table.columns.keys() else _made_from(path, counted)
    return Earlier(name, table, published, marker, told.taxonomies, made_from, shown)


def _made_from(place: Path, counted: Collection[str]) -> Table | None:
    """What is counted of the table that a release folder was made from.

    That is so if its private side says where it still is, and it has not changed since.
    """
    kept = place / "private" / "policy.toml"
    with suppress(InputError, OSError, LookupError, StopIteration, TypeError, ValueError):
        told = json.loads((place / "private" / "input.json").read_text(encoding="utf-8"))
        [(name, one)] = told["files"].items()
        here = next(file for file in (Path(name), place.parent / name) if file.is_file())
        if release_folder.digest(here) == one["sha256"]:
            policy = Policy.load(kept)
            table, _ = read(here, policy.reads(None), None)
            ids = {name: table.columns[name] for name in table.columns if name in counted}
            table = replace(table, columns=ids)
            return cleared(as_meant(table, policy), policy)
    return None


def meeting(
    policy: Policy,
    taxonomies: Mapping[str, Taxonomy],
    earlier: Mapping[str, Earlier],
    columns: Sequence[str],
    reading: Reading | None = None,
) -> Meeting:
    """What the verifier is told of earlier releases; `columns`: those of the new table."""
    fixed = {
        name: are_times(attribute.intervals)
        for name, attribute in policy.attributes.items()
        if attribute.intervals
    }
    return Meeting(
        {
            name: PublishedRelease(
                tuple(one.table.columns), partial(_cells, one.table), one.published, one.marker,
                {column: _above(tree) for column, tree in one.taxonomies.items()},
                partial(_shown, one.shown or one.table),
            )
            for name, one in earlier.items()
        },
        tuple(column for column in columns if column not in policy.drop),
        {name: _above(taxonomy) for name, taxonomy in taxonomies.items()},
        fixed,
        frozenset(name for name, attribute in policy.attributes.items() if not attribute.join),
        policy.inconsistent,
        reading.date_format if reading else None,
    )  # fmt: skip


def _cells(table: Table) -> pa.Table:
    return pa.table(
        {
            name: pa.DictionaryArray.from_arrays(
                pa.array(column.codes.astype(np.int32)), pa.array(column.texts(), pa.string())
            )
            for name, column in table.columns.items()
        }
    )


def _shown(table: Table, name: str) -> pa.Array:
    return pa.array(table.columns[name].texts(), pa.string())


def _above(taxonomy: Taxonomy) -> dict[str, str]:
    """Every label with the one above it; the root is its own."""
    labels = taxonomy.labels
    return {label: labels[max(taxonomy.parents[i], 0)] for i, label in enumerate(labels)}


def are_times(bounds: Sequence[Any]) -> bool:
    """Whether the ends of intervals are times, and not numbers.

    >>> are_times([0, 50.5]), are_times(["2019-01-01", "2020-01-01"])
    (False, True)
    """
    if not isinstance(bounds[0], str):
        return not isinstance(bounds[0], int | float)
    return kind_of(Column("", np.zeros(1, np.uint8), pa.array(bounds[:1]))) != "number"
