"""The flows for single entries: what happens between a command and its answer.

    read ─► who asked ─► what else to hide ─► write beside ─► recount ─► rename

Rows keep their order: the attacker of this promise knows whose record is whose. Whatever is not
hidden comes out as it was, cell by cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from reticent.data.columns import Table, blanked
from reticent.data.decimals import with_points
from reticent.entries import asked as asking
from reticent.entries.checking import carried, judge, said_of
from reticent.entries.original import Original, read
from reticent.entries.policy import EntryPolicy
from reticent.entries.report import EntryRelease, EntryRisk
from reticent.errors import InputError, Problem, Stopped, Unsatisfiable, many, quoted
from reticent.files.headers import refuse_records
from reticent.files.tabular import CSV, RELEASED, Reading, from_arrow, to_frame
from reticent.files.tabular import parse as parse_file
from reticent.privacy import entries as verifier
from reticent.privacy import workbooks
from reticent.privacy.entries import EntryFinding
from reticent.progress import Clock, Watch
from reticent.releases.folder import as_written, format_of
from reticent.releases.places import Place, Spot
from reticent.releases.publish import proven, publish
from reticent.sources.arrival import inputs

if TYPE_CHECKING:
    from reticent.suppress.entries.search import Hidden


def release(
    data: Any,
    policy: EntryPolicy | Mapping[str, Any] | str | Path,
    *,
    output: str | Path | None = None,
    reading: Reading | None = None,
    force: bool = False,
    watch: Watch | None = None,
) -> EntryRelease:
    """Hide the entries that were asked for, and as few others as keep anybody from inferring them.

    `data` is a file, a folder or glob of files, or a pandas, Polars, PyArrow or DuckDB table; the
    same kind comes back as `table` of the result. With `output` it is written instead: a data file
    by its suffix, or a release folder.
    """
    clock = Clock(watch or Watch())
    policy = EntryPolicy.of(policy)
    reading = policy.reads(reading)
    place = None
    if output is not None:
        place = Place.of(output, RELEASED, inputs=[*inputs(data), *policy.files()], force=force)
    if place is not None and place.suffix:
        policy.writing.told().refuse_idle(place.suffix, place.name)
    with clock.stage("read"):
        original, kind = read(data, policy, reading)
        refuse_records(original.table.notes)
    with clock.stage("hide"):
        search = find(original, clock.watch)
    with clock.stage("mask"):
        released = without(original, search)
    result = EntryRelease(original, search, released, seconds=clock.seconds, reading=reading)
    if place is not None:
        return _publish(result, data, place, clock)
    with clock.stage("verify"):
        table = _arrow(result)
        finding = _proven(from_arrow(table), result)
    handed = table if kind == "file" else to_frame(table, data, kind)
    return replace(result, finding=finding, table=handed)


def _publish(result: EntryRelease, data: Any, place: Place, clock: Clock) -> EntryRelease:
    """Write rows beside, recount what was written, and let it appear."""
    from reticent.entries import folder
    from reticent.entries.folder import with_commas
    from reticent.files.sheets import write, write_table

    writing = result.policy.writing.told()

    def written(spot: Spot) -> None:
        _refuse_durations(result.released, spot.suffix)
        told = clock.rows(result.rows)
        if spot.suffix == ".xlsx":
            write(
                _sheet(result),
                spot.data,
                spot.suffix,
                told,
                notes=said_of(result.policy, result.rows),
            )
        elif result.original.forms and spot.suffix not in CSV:
            stored = _arrow(result, stored=spot.suffix == ".parquet")
            write_table(stored, spot.data, spot.suffix, told)
        else:
            write(_sheet(result), spot.data, spot.suffix, told, writing)

    def recount(spot: Spot, _: None) -> EntryFinding:
        if spot.suffix == ".xlsx":  # by the verifier's own reader
            table = from_arrow(workbooks.cells_of([spot.data], [*result.released.columns]))
        else:
            how = as_written(spot.suffix, writing)
            table = parse_file(spot.data, how, spot.suffix).table()
            table = with_points(table, with_commas(result, spot.suffix), intervals=False)
        return _proven(
            table, result, carried(spot.data, "file", result.policy, table.rows, spot.suffix)
        )

    def released(spot: Spot, finding: EntryFinding) -> EntryRelease:
        if spot.folder is None:
            return replace(result, finding=finding, output=place.name)
        from reticent.entries.utility import utility

        original, roles = result.original, result.original.roles
        with clock.stage("judge"):
            useful = utility(
                original.table, result.released, roles.conditions, roles.sensitive,
                original.asked.records, missing=original.policy.missing_values,
                reading=result.reading,
            )  # fmt: skip
        return replace(result, finding=finding, output=place.name, utility=useful)

    return publish(
        place,
        clock,
        usual=lambda: format_of(data, writing, RELEASED),
        write=written,
        recount=recount,
        released=released,
        contents=lambda release, spot: folder.contents(release, data, spot.suffix),
    )


def _refuse_durations(table: Table, suffix: str) -> None:
    """Refuse what would come back from a file as another type."""
    names = [n for n, c in table.columns.items() if pa.types.is_duration(c.values.type)]
    if names and suffix == ".parquet":
        raise InputError(
            f"Parquet has no durations: {quoted(names)}", where=table.name,
            do="write .arrow or .csv, or drop them.",
        )  # fmt: skip


def without(original: Original, search: Hidden) -> Table:
    """The rows as they are published: what is not hidden stands as it did."""
    table, roles = original.table, original.roles
    gone = dict(zip(roles.entries, original.hidden(search).T, strict=True))
    columns = {
        name: blanked(table.columns[name], gone[name]) if name in gone else table.columns[name]
        for name in roles.released
    }
    return Table(table.name, columns, table.rows)


def _sheet(result: EntryRelease) -> Any:
    from reticent.files.sheets import sheet

    return sheet([*result.released.columns.values()], order="input")


def _arrow(result: EntryRelease, *, stored: bool = False) -> pa.Table:
    """The rows in the types that they came in, as far as a file that they are `stored` in goes."""
    from reticent.files.sheets import formed

    table, forms = _sheet(result).arrow(), result.original.forms
    if stored:
        forms = {name: form.stored() for name, form in forms.items()}
    return formed(table, forms) if forms else table


def find(original: Original, watch: Watch) -> Hidden:
    """What to hide besides the requests."""
    from reticent.suppress.entries.rules import MOST_COLUMNS
    from reticent.suppress.entries.search import Partial, RuleLimits, hide
    from reticent.suppress.sets import GaveUp, Halt

    policy, codes, asked = original.policy, original.codes, original.asked
    if len(policy.conditions) > MOST_COLUMNS:
        raise InputError(
            f"there are {len(policy.conditions)} conditions, and at most {MOST_COLUMNS} can be "
            "looked at together",
            where=policy.name, do="name fewer conditions, and keep or drop the other columns.",
        )  # fmt: skip
    partial = Partial(codes.conditions, codes.values, original.who(codes.values), asked.fixed)
    limits = RuleLimits(policy.min_support, policy.min_confidence, policy.max_pattern)
    halt = Halt(watch.stop, watch.started)
    try:
        found = hide(partial, limits, policy.may_hide, policy.strategy, policy.seed, halt)
    except GaveUp:
        if halt.heard:
            raise Stopped("Stopped before everybody was safe; nothing was written.") from None
        raise InputError(
            "there are too many combinations of values to look at, so nobody knows which are safe",
            where=original.table.name,
            why="their number doubles with each condition column.",
            do="set max_pattern (an attacker rarely combines more than a few values), raise "
            "min_support, or name fewer conditions.",
        ) from None
    if len(found.exposed):
        _refuse_exposed(original, found.exposed.tolist())
    return found


def _refuse_exposed(original: Original, exposed: Sequence[int]) -> None:
    """Marks, or what may not be hidden at all, can make it impossible to protect somebody.

    Where conditions may be hidden, hiding one for somebody can expose somebody else, and whether
    another choice would spare both is hard to know: then only the search can be spoken for.
    """
    sure = original.policy.may_hide == ("sensitive-of-others",)
    named = dict(zip(original.asked.records.tolist(), original.asked.names, strict=True))
    marked = bool(original.asked.fixed.any())
    raise Unsatisfiable(
        f"{many(len(exposed), 'request')} "
        + ("cannot be granted, whatever else is hidden: " if sure else "could not be granted: ")
        + asking.by_number(exposed),
        where=original.policy.name,
        why=("" if sure else "no choice of entries was found that protects everybody; ")
        + "what may not be hidden gives them away"
        + (": marks to be published, and entries outside may_hide." if marked else "."),
        do=("take marks back, " if marked else "")
        + "allow more in may_hide, raise min_confidence or min_support, or set max_pattern.",
        values=tuple(named.get(record, "") for record in exposed) if original.policy.id else (),
    )


def _proven(written: Table, result: EntryRelease, carried: Sequence[Problem] = ()) -> EntryFinding:
    """What the verifier says of rows that are about to appear; nothing less than yes will do."""
    original = result.original
    name, whole = original.table.name, written.known == list(original.roles.released)
    proven(whole and written.rows == original.table.rows, name)
    judged = judge(original, written)
    holds = judged.finding.holds and judged.altered.nothing and not carried
    proven(holds, name, undecided="set max_pattern, or raise min_support")
    return judged.finding


def risk(
    data: Any,
    policy: EntryPolicy | Mapping[str, Any] | str | Path,
    *,
    reading: Reading | None = None,
    watch: Watch | None = None,
) -> EntryRisk:
    """Count what could be inferred of those who asked, were their entries alone hidden."""
    clock = Clock(watch or Watch())
    policy = EntryPolicy.of(policy)
    with clock.stage("read"):
        original, _ = read(data, policy, policy.reads(reading))
    with clock.stage("count"):
        published, truth = original.requests_alone()
        finding = verifier.recount(published, policy.promise, original.asked.records, truth)
    return EntryRisk(original, finding)


def check(
    policy: EntryPolicy | Mapping[str, Any] | str | Path,
    data: Any = None,
    *,
    reading: Reading | None = None,
    watch: Watch | None = None,
) -> tuple[str, ...]:
    """Look for every problem of a policy and its lists, and of their fit to a table if given.

    Returns what is worth a look all the same.
    """
    policy = EntryPolicy.of(policy)
    if data is None:
        asking.check(policy)
        return policy.emptiness
    with Clock(watch or Watch()).stage("read"):
        return read(data, policy, policy.reads(reading))[0].warnings
