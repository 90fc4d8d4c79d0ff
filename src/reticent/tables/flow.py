"""The flows for one table, one screen each: what happens between a command and its answer.

    read ─► prepare ─► refine ─► mask ─► write beside ─► verify what was written ─► rename

Front ends call one function here and print one report. Heavy rooms are imported where they are
used, and while the table is being read, so that a quick question gets a quick answer.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from reticent.data.memory import Threads
from reticent.errors import InputError, Problem, quoted, refuse
from reticent.progress import Clock, Watch
from reticent.refine.loading import patience
from reticent.releases.kinds import TABLES
from reticent.sources.addresses import is_url
from reticent.sources.arrival import at_hand, inputs, means_of, parse, read
from reticent.tables.arrival import counted, fitted

if TYPE_CHECKING:
    from reticent.data.columns import Column, Table
    from reticent.files.tabular import Reading
    from reticent.privacy.people import PeopleInBoth
    from reticent.privacy.verify import Proof
    from reticent.releases.kinds import ReleaseKind
    from reticent.releases.places import Place
    from reticent.sources.engines import RowSource
    from reticent.sources.means import Means
    from reticent.tables.policy import Policy
    from reticent.tables.prepare import Prepared
    from reticent.tables.report import Release, Risk, TableVerdict
    from reticent.tables.search.greedy import Effort, Found
    from reticent.tables.singling import SinglingOut

_MOST_FILES = 10_000  # 2,000 parts take 15 s or more, each being synced to the disk


def release(
    data: Any,
    policy: Policy | Mapping[str, Any] | str | Path,
    *,
    output: str | Path | None = None,
    reading: Reading | None = None,
    force: bool = False,
    trace: str | Path | None = None,
    max_steps: int | None = None,
    time_limit: float | None = None,
    search_time: float | None = None,
    search_rounds: int | None = None,
    alternative: int = 0,
    previous: Mapping[str, str | Path] | None = None,
    rows_per_file: int | None = None,
    engine: Any = None,
    engine_options: Mapping[str, str] | None = None,
    memory_limit: int | str | None = None,
    table: str | None = None,
    watch: Watch | None = None,
) -> Release:
    """Mask a table so that it keeps every promise of the policy and no cut could be finer.

    `data` is a file, a folder or glob of files, or a pandas, Polars, PyArrow or DuckDB table; the
    same kind comes back as `table` of the result. With `output` it is written instead: a data file
    by its suffix, or a release folder. A thorough search goes on for `search_time` seconds or
    `search_rounds` rounds instead of as long as it finds right; `alternative` takes one of the
    other cuts that the report of an earlier run offers, 1, 2 or 3. `previous` tells the paths of
    earlier releases by their names, where the policy does not, or no longer, say them.

    Files that do not fit in memory, or in `memory_limit` bytes ("2GB") of it, are counted and
    written by an embedded database. `engine` says what to use whatever their size: "memory",
    "duckdb", "spark" or a Spark session.
    """
    from reticent.files.output import refuse_inputs
    from reticent.files.tabular import RELEASED
    from reticent.releases.places import Place
    from reticent.sources.means import elsewhere

    begun = time.monotonic()
    clock = Clock(watch or Watch())
    _refuse_numbers(search_time, search_rounds, rows_per_file)
    place = None
    if output is not None:
        place = Place.of(output, RELEASED, force=force, parts=rows_per_file is not None)
    _check_trace(trace, place, force)
    with ExitStack() as ends:
        beside = ends.enter_context(_beside())
        with clock.stage("read"):
            from reticent.tables.policy import Policy

            policy = Policy.of(policy).with_previous(previous or {})
            reading = policy.reads(reading, table)
            if place is not None and place.suffix:
                policy.writing.told().refuse_idle(place.suffix, place.name)
            means = means_of(engine, memory_limit, engine_options, reading.table)
            away = elsewhere(data, means)
            # Reading needs the interpreter least,
            coming = None if away else beside.submit(parse, data, reading)
            outputs = [Path(path) for path in (output, trace) if path is not None]
            refuse_inputs(outputs, [*inputs(data), *policy.files()])
            _load_engine()  # and loading the engine needs it most
            if coming is not None:
                source, (parsed, kind) = None, coming.result()
                rows = parsed.table(policy.spare)
                del parsed, coming  # four times the size of the codes taken from it
        if away:
            rows, kind, source = at_hand(
                data, reading, means, clock, ends, partial(counted, policy=policy)
            )
        with clock.stage("encode"):
            from reticent.files.headers import refuse_records
            from reticent.tables.exposure import exposures
            from reticent.tables.masking import Beyond, give_back_memory
            from reticent.tables.publish import Outlet, publish
            from reticent.tables.search.greedy import Effort
            from reticent.tables.search.rare import find_leaving_out

            refuse_records(rows.notes)
            prepared = fitted(rows, policy, reading)
            if place is not None:
                from reticent.tables.previous.neighbours import warn_of_neighbours

                prepared = warn_of_neighbours(prepared, place.path)
                prepared = _warn_of_points(prepared)
            _refuse_many_files(prepared.table.records, rows_per_file)
            if place is not None:
                _refuse_too_large(prepared, data, place, rows_per_file)
            give_back_memory()
        before = beside.submit(exposures, prepared, worst=20)
        beside.submit(_load_verifier)
        deadline = None if time_limit is None else begun + time_limit
        effort = Effort(max_steps, deadline, search_time, search_rounds)
        with clock.stage("refine"):
            clock.watch.tell(patience())
            prepared, found, left_out = find_leaving_out(
                prepared, clock.watch, effort, alternative=alternative
            )
        asked = _asked(found, effort, several=bool(prepared.policy.suppress_records))
        asked |= {"--table": "TABLE"} if means.table != policy.reading.table else {}
        asked |= {"--rows-per-file": str(rows_per_file)} if rows_per_file else {}
        outlet = Outlet(
            data, kind, place, Path(trace) if trace else None, force, rows_per_file, means, asked
        )
        return publish(
            prepared, found, before.result(), outlet, clock,
            beyond=Beyond(source, rows) if source else None, left_out=left_out,
        )  # fmt: skip


def _refuse_numbers(
    search_time: float | None, search_rounds: int | None, rows_per_file: int | None
) -> None:
    if search_rounds is not None and search_rounds < 1:
        raise InputError("search_rounds must be at least 1", where="release")
    if rows_per_file is not None and rows_per_file < 1:
        raise InputError("rows_per_file must be at least 1", where="release")
    if search_time is not None and not 0 <= search_time < math.inf:
        raise InputError("search_time must be a number of seconds", where="release")


def _check_trace(trace: str | Path | None, place: Place | None, force: bool) -> None:
    """Refuse a trace that could not be written in the end, before any work."""
    from reticent.files.output import check_free

    if trace is None:
        return
    check_free(Path(trace), force=force)
    target = Path(trace).resolve()
    if place is not None and place.path.resolve() in (target, *target.parents):
        raise InputError(
            "the trace cannot stand where the output does", where=str(trace),
            do="choose another place; a release folder holds its trace anyway.",
        )  # fmt: skip


def _warn_of_points(prepared: Prepared) -> Prepared:
    """Warn of kept texts that are numbers with a point, where others get a comma."""
    from reticent.data.scales import kind_of
    from reticent.data.texts import is_text

    if not prepared.policy.writing.told().has_commas:
        return prepared
    columns = (prepared.table.columns.get(name) for name in prepared.roles.unmasked)
    found = [
        column.name
        for column in columns
        if column is not None and is_text(column.values.type) and kind_of(column) == "number"
        and any(text and "." in text for text in column.texts())
    ]  # fmt: skip
    if not found:
        return prepared
    aside = (
        f"the numbers of {quoted(found)} keep their points, as cells of CSV come out as they were: "
        "[writing] decimal is about numbers of files that know what a number is, and intervals."
    )
    return replace(prepared, asides=(*prepared.asides, aside))


def _refuse_too_large(
    prepared: Prepared, data: Any, place: Place, rows_per_file: int | None
) -> None:
    """Refuse what no workbook can hold, as far as it is known before the search."""
    from reticent.files.tabular import RELEASED
    from reticent.releases.folder import format_of

    writing, suffix = prepared.policy.writing.told(), place.suffix
    if (suffix or format_of(data, writing, RELEASED)) != ".xlsx":
        return
    from reticent.files.spreadsheets import refuse_too_large, unfit_texts

    table, most = prepared.table, 1 - prepared.policy.suppress_records
    released = [name for name in prepared.roles.released if name in table.columns]
    rows = min(math.ceil(table.records * most), rows_per_file or table.records)
    refuse_too_large(rows, prepared.roles.released, place.name)
    refuse(
        problem
        for name in released
        if name in prepared.roles.unmasked
        for problem in unfit_texts(f'column "{name}"', table.columns[name].values, place.name)
    )


def _refuse_many_files(rows: int, rows_per_file: int | None) -> None:
    if rows_per_file and rows > _MOST_FILES * rows_per_file:
        raise InputError(
            f"that would be {-(-rows // rows_per_file):,} files", where="--rows-per-file",
            do=f"allow at least {-(-rows // _MOST_FILES):,} rows a file.",
        )  # fmt: skip


def _asked(found: Found, effort: Effort, *, several: bool) -> dict[str, str]:
    """What must be asked of the command, besides the policy, to find the same cut again.

    After several searches that ran for some seconds, there is no way to be sure.
    """
    rounds = effort.rounds if effort.seconds is None else found.rounds
    asked = {} if rounds is None else {"--search-rounds": str(rounds)}
    if effort.seconds is not None and several:  # each of which made its own number of rounds
        asked = {"--search-time": f"{effort.seconds:g}"}
    return asked | ({"--alternative": str(found.number)} if found.number else {})


@contextmanager
def _beside() -> Iterator[Threads]:
    """A second thread; whoever is interrupted does not wait for what it is doing."""
    pool = Threads(1)
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _load_engine() -> None:
    from reticent.refine.loading import load

    load()


def _load_verifier() -> None:
    import duckdb

    duckdb.connect().close()  # the first connection of a process takes longest


def verify(
    data: Any,
    policy: Policy | Mapping[str, Any] | str | Path,
    *,
    previous: Mapping[str, str | Path] | None = None,
    reading: Reading | None = None,
    engine: Any = None,
    engine_options: Mapping[str, str] | None = None,
    memory_limit: int | str | None = None,
    table: str | None = None,
    original: Any = None,
    watch: Watch | None = None,
    kind: ReleaseKind = TABLES,
) -> TableVerdict:
    """Recount every promise on a table that anybody hands over, without the original.

    `data` is a file, a release folder, a table of a database or a data frame. For `engine` and the
    like see `release`. `original`: the table as it was, which its owner needs where a promise
    counts a column that is dropped. `kind`: of a release folder, if it is no table of one owner.
    """
    from reticent.data.decimals import with_points
    from reticent.privacy import published
    from reticent.privacy import verify as verifier
    from reticent.privacy.promises import columns_of
    from reticent.privacy.singled import alone_in, singled_out
    from reticent.releases.folder import opened as opened_as
    from reticent.tables.folder import taxonomies_for, with_commas
    from reticent.tables.masking import as_text
    from reticent.tables.policy import Policy
    from reticent.tables.previous.read import meeting, read_previous
    from reticent.tables.report import TableVerdict
    from reticent.tables.rules import rules

    policy = Policy.of(policy).with_previous(previous or {})
    asked, reading = reading, policy.reads_released(reading)
    opened = opened_as(data, kind)
    means = means_of(engine, memory_limit, engine_options, table or reading.table)
    with ExitStack() as ends:
        earlier = read_previous(policy, reading, whole=False)
        shown = [one.taxonomies for one in earlier.values()]
        taxonomies = taxonomies_for(policy, opened.manifest, shown)
        meets = partial(meeting, policy, taxonomies, earlier, reading=reading)

        def counting(source: RowSource) -> Table:
            names = source.schema.names
            coarse = [one.column for one in policy.floors({})]
            wanted = meets(names).linking().union(coarse, *columns_of(policy.promises))
            if original is not None:  # then rows are compared, and not only counted
                wanted = wanted.union(name for name in names if name not in policy.drop)
            some = [name for name in names if name in wanted]
            return source.counted(some or [source.fewest(names)])

        clock = Clock(watch or Watch())
        own = opened.read_as(reading)
        rows, form, source = at_hand(opened.data, own, means, clock, ends, counting)
        given, rows = rows, _as_published(rows, policy, opened.place)
        padded = [*_differing_in_blanks(given, rows, policy)]
        commas = with_commas(policy, opened.manifest, rows.known, reading)
        met: tuple[str, ...] = ()
        if earlier:  # what cannot be compared with them is refused
            from reticent.tables.previous.check import NewTable, check

            try:
                out = with_points(rows, commas)
                met = check(NewTable.out(policy, out, taxonomies, reading), earlier)[1]
            except InputError as error:
                raise InputError([*opened.altered, *error.problems]) from None
        elsewhere = [name for name in rows.known if name not in rows.columns]
        with clock.stage("verify"):
            cells = published.from_table(as_text(rows), counts=rows.counts, unread=elsewhere)
            told = rules(policy, taxonomies, meets(rows.known), commas)
            proof = verifier.verify(cells, told, memory_limit=means.for_engine)
            roles = policy.roles_in(rows.known)
            here = {*roles.released} <= {*rows.columns}
            alone = source.alone if source and not here else alone_in(rows.columns, rows.counts)
            found = singled_out(
                alone, rows.records, roles.unmasked, sensitive=roles.sensitive, masked=roles.masked
            )
        match, findings = None, proof.findings
        people: tuple[PeopleInBoth, ...] = ()
        if original is not None:
            from reticent.tables.original import beside_original

            match, findings, people = beside_original(
                with_points(rows, commas), original, policy, taxonomies, told, findings, earlier,
                reading=asked, means=means, clock=clock,
            )  # fmt: skip
        elif earlier:
            from reticent.tables.prepare import cleared
            from reticent.tables.previous.people import people_in_both

            people = people_in_both(policy, cleared(rows, policy), earlier)
        far = [name for name in elsewhere if name in roles.released]
        forms = _forms(source, policy.rule, far) if source and policy.rule else []
        alike = found.warnings() if found else ()
        recounted = replace(proof, findings=findings)
        carried = _carried(opened.data, form, recounted, policy)
        leftovers = (*proof.leftovers, *padded, *forms, *carried, *opened.altered)
    warnings = (*policy.emptiness, *met, *alike, *opened.warnings)
    return TableVerdict(
        proof.rows, findings, leftovers, warnings, found, proof.floors, match, people
    )


def _forms(source: RowSource, rule: str, names: list[str]) -> list[Problem]:
    """Cells whose form a rule forbids, in columns that are not at hand."""
    from reticent.data.texts import is_number
    from reticent.privacy.identifying import forbidden, forms, looks_like

    problems = []
    for numbers in (False, True):
        kinds = {name: is_number(source.schema.field(name).type) for name in names}
        looked, searched = [n for n in names if kinds[n] is numbers], forms(rule, numbers=numbers)
        for name, found in zip(looked, source.looking_like(looked, searched), strict=True):
            told = looks_like(rule, name, dict(zip(searched, found, strict=True)))
            problems += [forbidden(rule, name, thing, count) for thing, count in told.items()]
    return problems


def _as_published(rows: Table, policy: Policy, place: Path | None) -> Table:
    """A table as it is compared; refused where the policy could not have published it.

    A published file is whole; a frame may be somebody's selection of columns.
    """
    from reticent.tables.prepare import without_blanks

    if not rows.rows:
        raise InputError("the table has no rows", where=rows.name)
    refuse(policy.roleless(rows.known))
    if place:
        policy.refuse_lacking(rows.known, str(place))
    return without_blanks(rows, policy)


def _differing_in_blanks(given: Table, rows: Table, policy: Policy) -> Iterator[Problem]:
    """Columns of a released table with cells that were counted as one, and are seen apart."""
    for name, column in given.columns.items():
        if name not in policy.drop and len(rows.columns[name].values) < len(column.values):
            yield Problem(
                f'column "{name}" shows values that differ in blanks around them alone',
                why="whoever sees them can tell records apart that are counted as alike.",
                do="take the blanks off, as  trim  says.",
            )


def _carried(data: Any, kind: str, proof: Proof, policy: Policy) -> list[Problem]:
    """What typed files, workbooks and data frames tell besides their cells."""
    from reticent.files.extents import refuse_far
    from reticent.files.tabular import carriers, workbooks_of
    from reticent.files.workbooks import PROMISES
    from reticent.privacy.published import baggage
    from reticent.privacy.workbooks import leftovers
    from reticent.tables.publish import said_of

    if is_url(data) or kind == "far away":
        return []
    found = [
        problem for schema, parts in carriers(data, kind) for problem in baggage(schema, parts)
    ]
    books = workbooks_of(data, kind)
    for book in books:
        refuse_far(book, ".xlsx", PROMISES)
    return [*found, *leftovers(books, proof.rows, said_of(proof, policy) if books else ())]


@overload
def risk(data: Any, policy: None = None, **how: Any) -> SinglingOut: ...


@overload
def risk(data: Any, policy: Policy | Mapping[str, Any] | str | Path, **how: Any) -> Risk: ...


def risk(
    data: Any,
    policy: Policy | Mapping[str, Any] | str | Path | None = None,
    *,
    columns: Sequence[str] | None = None,
    previous: Mapping[str, str | Path] | None = None,
    reading: Reading | None = None,
    table: str | None = None,
    watch: Watch | None = None,
    **means: Any,
) -> Risk | SinglingOut:
    """Measure every promise on an unmasked table; `means` are those of `release`: engine, ….

    Without a policy: which columns, and which sets of up to three of all or some `columns`, single
    out most records.
    """
    from reticent.tables.singling import what_singles_out

    if policy is None:
        return what_singles_out(
            data, columns=columns, reading=reading, table=table, watch=watch, **means
        )
    from reticent.tables.exposure import exposures
    from reticent.tables.policy import Policy
    from reticent.tables.report import Risk

    policy = Policy.of(policy).with_previous(previous or {})
    reading = policy.reads(reading, table)
    found = means_of(**means, table=reading.table)
    clock = Clock(watch or Watch())
    with ExitStack() as ends:
        counting = partial(counted, policy=policy)
        rows, _, _ = at_hand(data, reading, found, clock, ends, counting, policy.spare)
        prepared = fitted(rows, policy, reading)
        return Risk(prepared, exposures(prepared, worst=20))


def apply(
    release_folder: str | Path,
    data: Any,
    *,
    output: str | Path,
    reading: Reading | None = None,
    force: bool = False,
) -> dict[str, Any]:
    """Mask new rows with the cuts of an earlier release; its promise does not cover them."""
    from reticent.files import tabular
    from reticent.files.output import check_free, refuse_inputs, whole_file
    from reticent.files.sheets import sheet, write
    from reticent.files.writing import AS_USUAL
    from reticent.releases.places import format_asked
    from reticent.tables.learnt import read_learnt
    from reticent.tables.policy import Policy

    target = Path(output)
    suffix = format_asked(output, tabular.RELEASED)
    if not suffix:
        raise InputError(
            "masked rows are written as one file", where=str(output),
            do=f"give a name that ends in {', '.join(tabular.RELEASED)}.",
        )  # fmt: skip
    check_free(target, force=force)
    refuse_inputs([target], [*inputs(data), Path(release_folder) / "private" / "recoding.json"])
    learnt = read_learnt(Path(release_folder))
    kept = Path(release_folder) / "private" / "policy.toml"
    writing, rule = AS_USUAL, None
    if kept.is_file():
        policy = Policy.load(kept)
        rule = policy.rule
        reading, writing = policy.reads(reading), policy.writing.told()
    writing.refuse_idle(suffix, str(output))
    table, _ = read(data, reading)
    if not table.rows:
        raise InputError("the table has no rows", where=table.name)
    columns, strange = learnt.mask(table)
    refuse_forbidden(rule, (one for one in columns if one.name not in learnt.door.coarse))
    rows = sheet(columns, order=learnt.order)
    shown = [name for name, recoding in learnt.recodings.items() if recoding.intervals]
    with whole_file(target, force=force) as path:
        write(rows, path, suffix, writing=writing.of(shown))
    return {"rows": table.rows, "unforeseen": strange, "output": str(output), "covered": False}


def refuse_forbidden(rule: str | None, columns: Iterable[Column]) -> None:
    """Refuse further rows for cells that a rule forbids, in columns that are not coarse."""
    from reticent.privacy.identifying import identifying

    if rule:
        refuse([p for one in columns for p in identifying(rule, one.name, one.texts())])


def check(
    policy_path: str | Path,
    data: Any = None,
    *,
    previous: Mapping[str, str | Path] | None = None,
    reading: Reading | None = None,
    engine: Any = None,
    engine_options: Mapping[str, str] | None = None,
    memory_limit: int | str | None = None,
    table: str | None = None,
    watch: Watch | None = None,
) -> tuple[str, ...]:
    """Look for every problem of a policy, and of its fit to a table if one is given.

    Returns what is worth a look all the same. For `engine` and the like see `release`.
    """
    from reticent.tables.policy import Policy, PolicyError

    clock = Clock(watch or Watch())
    with ExitStack() as ends:

        def told(policy: Policy) -> tuple[Reading, Means]:
            found = policy.reads(reading, table)
            return found, means_of(engine, memory_limit, engine_options, found.table)

        try:
            policy = Policy.of(policy_path).with_previous(previous or {})
        except PolicyError as error:
            if data is None or error.rest is None:
                raise
            how = told(error.rest)
            try:
                rows, _, _ = at_hand(data, *how, clock, ends, lambda source: source.first(1))
            except InputError as other:  # it may be the policy that says how to read them
                raise InputError([*error.problems, *other.problems]) from None
            raise InputError([*error.problems, *error.rest.unknown(list(rows.columns))]) from None
        reading, means = told(policy)
        if data is None:
            policy.taxonomies()
            if policy.previous:
                from reticent.tables.previous.check import unknown_columns
                from reticent.tables.previous.read import read_previous

                earlier = read_previous(policy, reading)
                refuse(unknown_columns(policy, earlier))
            return (*policy.emptiness, *policy.undeclared())
        from reticent.tables.search.greedy import Search

        counting = partial(counted, policy=policy)
        rows, _, _ = at_hand(data, reading, means, clock, ends, counting, policy.spare)
        prepared = fitted(rows, policy, reading)
        Search(prepared).refuse_infeasible()
        return prepared.foreseen
