"""What the verifier says of a released table: beside its original, or alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from reticent.data.columns import Column, Table, without_missing
from reticent.data.decimals import with_points
from reticent.entries import asked as asking
from reticent.entries.original import Codes, Mask, Original, codes_of, places, read
from reticent.entries.policy import EntryPolicy
from reticent.entries.report import EntryVerdict
from reticent.errors import InputError, Problem, many, quoted, refuse
from reticent.files.tabular import Reading, carriers, workbooks_of
from reticent.privacy import entries as verifier
from reticent.privacy.entries import Altered, EntryFinding, PublishedEntries
from reticent.progress import Clock, Watch
from reticent.releases import policyfile
from reticent.releases.folder import Opened, opened
from reticent.releases.kinds import ENTRIES
from reticent.releases.notes import KeptPromise, notes
from reticent.sources.arrival import parse


@dataclass(frozen=True, slots=True)
class Judged:
    """What the verifier says of a table beside its original."""

    finding: EntryFinding
    altered: Altered
    columns: tuple[str, ...]  # of which cells were compared


def judge(original: Original, written: Table) -> Judged:
    """Recount the promise, and compare cell by cell; columns are told by name anew."""
    policy, roles, asked = original.policy, original.roles, original.asked
    columns = (*roles.conditions, *roles.kept, roles.sensitive)
    width = len(roles.conditions)
    kept = np.zeros((len(asked.fixed), len(roles.kept)), np.bool_)

    def wider(mask: Mask) -> Mask:
        return np.column_stack([mask[:, :width], kept, mask[:, width:]])

    def both(names: Sequence[str], seen: Callable[[Column], Column]) -> list[PublishedEntries]:
        pairs = [_beside(*(seen(t.columns[n]) for t in (original.table, written))) for n in names]
        return [
            PublishedEntries(np.column_stack(codes[:-1]), codes[-1])
            for codes in zip(*pairs, strict=True)
        ]

    # Compared as they stand: a text that means missing hides nothing in the place of another.
    was, now = both(columns, without_missing)
    before, after = both(roles.entries, original.as_counted)
    truth = before.values[asked.records]
    return Judged(
        verifier.recount(after, policy.promise, asked.records, truth),
        verifier.altered(was, now, wider(asked.fixed), wider(original.allowed())),
        columns,
    )


def _beside(before: Column, after: Column) -> tuple[Codes, Codes]:
    """Two columns in codes of the first; texts that it does not have are numbered on."""
    known = {text: code for code, text in enumerate(before.texts()) if text is not None}
    more = len(before.values)
    to = np.array(
        [-1 if t is None else known.get(t, more + i) for i, t in enumerate(after.texts())] or [-1],
        np.int32,
    )
    return codes_of(before), to[after.codes]


def said_of(policy: EntryPolicy, rows: int) -> list[Sequence[str]]:
    """What a workbook says of its data; it appears only if its recount says so, too."""
    text = policy.promise.text
    return notes([KeptPromise(f"{text[:1].upper()}{text[1:]}.", "", "")], policy.about, rows)


def carried(
    data: Any, kind: str, policy: EntryPolicy, rows: int, suffix: str | None = None
) -> list[Problem]:
    """What typed files, workbooks and data frames tell besides their cells."""
    from reticent.privacy.published import baggage
    from reticent.privacy.workbooks import leftovers

    looked = carriers(data, kind, suffix)
    found = [problem for schema, parts in looked for problem in baggage(schema, parts)]
    books = workbooks_of(data, kind, suffix)
    return [*found, *leftovers(books, rows, said_of(policy, rows))]


def verify(
    data: Any,
    policy: EntryPolicy | Mapping[str, Any] | str | Path,
    *,
    original: Any = None,
    reading: Reading | None = None,
    watch: Watch | None = None,
) -> EntryVerdict:
    """Recount the promise on a table that anybody hands over.

    The `original` alone holds the true values, and tells what was changed. Without it every value
    is tried for everybody who asked: a table that stands this is safe, of any other nobody can say.
    `reading` is about the original, or, without one, about the table itself.
    """
    clock = Clock(watch or Watch())
    policy = EntryPolicy.of(policy)
    with clock.stage("read"):
        place = opened(data, ENTRIES)
        own = policy.reads_released(None if original is not None else reading)
        parsed, kind = parse(place.data, place.read_as(own))
        table = parsed.table(None)
        known = None if original is None else read(original, policy, policy.reads(reading))[0]
        if known is None and not table.rows:
            raise InputError("the table has no rows", where=table.name)
        table = with_points(
            table, _with_commas(policy, place, table, known, reading), intervals=False
        )
    problems = [
        *place.altered,
        *_strangers(policy, table, known),
        *carried(place.data, kind, policy, table.rows),
    ]
    with clock.stage("verify"):
        if known is None:
            found = _alone(policy, table, problems, place.warnings)
        else:
            found = _beside_original(known, table, problems, (*known.warnings, *place.warnings))
    notes = (*(known.table.notes if known else ()), *table.notes)
    return replace(found, notes=tuple(dict.fromkeys(notes)))


def _with_commas(
    policy: EntryPolicy, place: Opened, table: Table, known: Original | None,
    reading: Reading | None,
) -> Collection[str]:  # fmt: skip
    """The columns of numbers that are written with a decimal comma.

    The manifest says so, or the original. Else the policy does: of columns that look so.
    """
    if place.manifest:
        return [str(name) for name in place.manifest.get("writing", {}).get("numbers", ())]
    told = policy.writing.told()
    if known is not None:
        columns = known.table.columns.items()
        return told.numbers(pa.schema([(name, column.values.type) for name, column in columns]))
    came_so = policy.reads_released(reading).decimal == ","
    return table.columns if told.has_commas and not came_so else ()


def _strangers(policy: EntryPolicy, table: Table, original: Original | None) -> Iterator[Problem]:
    """Columns that should not be there."""
    dropped = policy.roles_in(table.known).dropped
    known = table.known if original is None else original.table.known
    kinds = (
        ([name for name in table.known if name in dropped], "the policy drops {}"),
        (policy.roleless(table.known), "the policy has no role for {}"),
        (
            [n for n in table.known if n not in known and n not in policy.roleless(table.known)],
            "the original does not have {}",
        ),
    )
    for names, why in kinds:
        if names:
            told = why.format("it" if len(names) == 1 else "them")
            yield Problem(f"{quoted(names)} should not be here: {told}", where=table.name)


def _alone(
    policy: EntryPolicy, table: Table, problems: list[Problem], warnings: tuple[str, ...]
) -> EntryVerdict:
    """A table without its original."""
    refuse(policyfile.lacking(policy.lacking([*table.columns]), table.name))
    if policy.id and policy.id not in table.columns:
        raise InputError(
            f'nobody can tell who asked: the table has no column "{policy.id}"', where=table.name,
            why="requests name records by it, and it was not released.",
            do="give --original, whose rows are in the same order.",
        )  # fmt: skip
    roles = policy.roles_in(table.known)
    asked = asking.find(policy, roles, table.rows, table.columns[policy.id] if policy.id else None)
    shown = Original(policy, table, roles, asked)
    finding = verifier.recount(shown.codes, policy.promise, asked.records, None)
    empty = asked.fixed & shown.empty
    return EntryVerdict(
        policy, table.rows, len(asked.records), finding, tuple(problems), False,
        int(empty.sum()), (*asked.warnings, *policy.emptiness, *warnings),
    )  # fmt: skip


def _beside_original(
    original: Original, table: Table, problems: list[Problem], warnings: tuple[str, ...]
) -> EntryVerdict:
    policy, requests = original.policy, len(original.asked.records)
    lacking = [name for name in original.roles.released if name not in table.columns]
    if lacking:
        problems.append(Problem(f"it lacks {quoted(lacking)}", where=table.name))
    if table.rows != original.table.rows:
        said = f"it has {table.rows:,} rows, and the original {original.table.rows:,}"
        problems.append(Problem(said, where=table.name))
    if lacking or table.rows != original.table.rows:
        return EntryVerdict(policy, table.rows, requests, None, tuple(problems), True, 0, warnings)
    judged = judge(original, table)
    problems += _differences(judged, table.name)
    return EntryVerdict(
        policy, table.rows, requests, judged.finding, tuple(problems), True, 0, warnings
    )


def _differences(judged: Judged, where: str) -> list[Problem]:
    """What differs from the original and should not."""
    found = judged.altered
    kinds = (
        (found.changed, "entry holds", "entries hold", "another value than in the original"),
        (found.appeared, "entry was", "entries were", "empty in the original, and not here"),
        (found.marked, "entry is", "entries are", "marked to be published, and hidden"),
        (found.forbidden, "entry is", "entries are", "hidden that may not be"),
    )
    return [
        Problem(
            f"{many(wrong.count, one, several)} {what}: "
            + places(wrong.first, wrong.count, judged.columns),
            where=where,
        )
        for wrong, one, several, what in kinds
        if wrong.count
    ]
