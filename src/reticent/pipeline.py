"""The flows, one screen each: what happens between a command and its answer.

    read ─► prepare ─► refine ─► mask ─► write beside ─► verify what was written ─► rename

Front ends call one function here and print one report. Heavy rooms are imported where they are
used, and while the table is being read, so that a quick question gets a quick answer.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reticent.arriving import (
    at_hand,
    counted,
    counted_columns,
    inputs,
    means_of,
    parse,
    policy_of,
    read,
)
from reticent.errors import InputError
from reticent.publishing import Beyond, Publishing, as_text, give_back_memory, mask
from reticent.watching import Clock, Watch

if TYPE_CHECKING:
    from reticent.joining import Meets
    from reticent.leaving import LeftOut
    from reticent.policy import Policy
    from reticent.prepare import Prepared
    from reticent.privacy.risk import Exposure
    from reticent.privacy.verify import Proof
    from reticent.refine.engine import Step
    from reticent.refine.limits import Limits
    from reticent.searching import Found
    from reticent.table.engines import Source
    from reticent.table.files import Reading
    from reticent.table.recode import Recoding
    from reticent.table.schema import Table
    from reticent.table.sheets import Sheet
    from reticent.table.sources import Means


_MOST_FILES = 10_000  # 2,000 parts take 15 s or more, each being synced to the disk

_OTHER_FORMATS = {
    ".xlsx", ".xls", ".ods", ".json", ".jsonl", ".xml", ".html", ".pdf", ".zip", ".gz", ".sav",
    ".dta", ".sas7bdat", ".rds", ".toml", ".md", ".sql", ".db",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Release:
    """A masked table, how it came about, and the verifier's word on it."""

    prepared: Prepared = field(repr=False)
    sheet: Sheet = field(repr=False)
    steps: tuple[Step, ...] = field(repr=False)
    recodings: Mapping[str, Recoding] = field(repr=False)
    before: tuple[Exposure, ...] = field(repr=False)
    proof: Proof = field(repr=False)
    implied: Mapping[int, int]
    stopped_early: bool
    seconds: dict[str, float]
    limits: Limits = field(repr=False)  # why nothing more was revealed
    found: Found = field(repr=False)  # the search's own word, with the cuts that it passed over
    left_out: LeftOut | None = field(repr=False)  # records that the policy lets go
    asked: Mapping[str, str] = field(repr=False)  # options of the command that decided all this
    meets: tuple[Meets, ...] = field(
        default=(), repr=False
    )  # earlier releases it may be joined with
    table: Any = field(default=None, repr=False)  # the released rows, in the kind that came in
    output: str | None = None
    # How well a classifier learns from it: errors by name (see `pages.public`), or the reason why
    # that was not measured.
    utility: Mapping[str, Any] | None = field(default=None, kw_only=True, repr=False)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What breaks no promise but should be looked at."""
        return self.prepared.warnings

    @property
    def cuts(self) -> dict[str, list[str]]:
        """Every label that each masked column shows."""
        from reticent import report

        return report.shown_labels(self.sheet, self.recodings)

    def summary(self) -> dict[str, Any]:
        """What ``release --json`` prints."""
        from reticent import report

        return report.release_summary(self)

    def trace(self) -> Iterator[dict[str, Any]]:
        """One record a step, as ``--trace`` writes them."""
        from reticent import report

        return report.trace(self)

    def _repr_html_(self) -> str:
        from reticent import report

        return report.html(self)


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
    from reticent.table.output import refuse_inputs
    from reticent.table.sources import elsewhere

    begun = time.monotonic()
    watch = watch or Watch()
    clock = Clock(watch)
    if search_rounds is not None and search_rounds < 1:
        raise InputError("search_rounds must be at least 1", where="release")
    if rows_per_file is not None and rows_per_file < 1:
        raise InputError("rows_per_file must be at least 1", where="release")
    if search_time is not None and not 0 <= search_time < math.inf:
        raise InputError("search_time must be a number of seconds", where="release")
    means = means_of(engine, memory_limit, engine_options, table)
    _check_outputs(output, trace, force, parts=rows_per_file is not None)
    with ExitStack() as ends:
        beside = ends.enter_context(_beside())
        with clock.stage("read"):
            away = elsewhere(data, means)
            coming = None if away else beside.submit(parse, data, reading)
            # Reading needs the interpreter least,
            policy = policy_of(policy).with_previous(previous or {})
            outputs = [Path(path) for path in (output, trace) if path is not None]
            refuse_inputs(outputs, inputs(data, policy))
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
            from reticent.leaving import find_leaving_out

            prepared = prepared_beside(rows, policy, reading)
            if output is not None:
                from reticent.sequence import neighbours

                prepared = neighbours(prepared, Path(output))
            _refuse_many_files(prepared.table.records, rows_per_file)
            give_back_memory()
        before = beside.submit(exposures, prepared, worst=20)
        beside.submit(_load_verifier)
        with clock.stage("refine"):
            deadline = None if time_limit is None else begun + time_limit
            prepared, found, left_out = find_leaving_out(
                prepared, watch, max_steps=max_steps, deadline=deadline,
                search_time=search_time, search_rounds=search_rounds, alternative=alternative,
            )  # fmt: skip
        exposed = before.result()
        return publish(
            prepared, found, exposed, data, kind, clock,
            beyond=Beyond(source, rows) if source else None, means=means, left_out=left_out,
            output=output, rows_per_file=rows_per_file, force=force, trace=trace,
            asked=_asked(
                found, search_time, search_rounds, several=bool(prepared.policy.suppress_records)
            )
            | ({"--table": "TABLE"} if table else {})
            | ({"--rows-per-file": str(rows_per_file)} if rows_per_file else {}),
        )  # fmt: skip


def prepared_beside(rows: Table, policy: Policy, reading: Reading | None) -> Prepared:
    """Fit a policy to a table, and to the earlier releases that it names."""
    from reticent.prepare import prepare

    if not policy.previous:
        return prepare(rows, policy, reading)
    from reticent import sequence

    earlier = sequence.load(policy, reading)
    try:
        prepared = prepare(rows, policy, reading)
    except InputError as error:
        raise InputError([*error.problems, *sequence.unknown_columns(policy, earlier)]) from None
    return sequence.beside(prepared, earlier)


def _refuse_many_files(rows: int, rows_per_file: int | None) -> None:
    if rows_per_file and rows > _MOST_FILES * rows_per_file:
        raise InputError(
            f"that would be {-(-rows // rows_per_file):,} files", where="--rows-per-file",
            do=f"allow at least {-(-rows // _MOST_FILES):,} rows a file.",
        )  # fmt: skip


def _asked(
    found: Found, search_time: float | None, search_rounds: int | None, *, several: bool
) -> dict[str, str]:
    """What must be asked of the command, besides the policy, to find the same cut again.

    After several searches that ran for some seconds, there is no way to be sure.
    """
    rounds = found.rounds if search_time is not None else search_rounds
    asked = {} if rounds is None else {"--search-rounds": str(rounds)}
    if search_time is not None and several:  # each of which made its own number of rounds
        asked = {"--search-time": f"{search_time:g}"}
    return asked | ({"--alternative": str(found.number)} if found.number else {})


def publish(
    prepared: Prepared,
    found: Found,
    before: tuple[Exposure, ...],
    data: Any,
    kind: str,
    clock: Clock,
    *,
    beyond: Beyond | None = None,
    means: Means | None = None,
    left_out: LeftOut | None = None,
    output: str | Path | None = None,
    rows_per_file: int | None = None,
    force: bool = False,
    trace: str | Path | None = None,
    asked: Mapping[str, str] | None = None,
) -> Release:
    """Mask a table as a search found, write it, and let it appear once it is recounted.

    `beyond`: where the rows stand, if those of the prepared table are only counted ones.
    """
    from reticent.table.output import parts_in, together, whole_file, whole_folder, write_text

    with clock.stage("mask"):
        masked_rows = mask(prepared, found.recodings, beyond, parts=rows_per_file is not None)
    masked = partial(
        Release, prepared, masked_rows.sheet, found.steps, found.recodings, before,
        implied=found.implied, stopped_early=found.stopped_early, seconds=clock.seconds,
        limits=found.limits, found=found, left_out=left_out, asked=asked or {},
        meets=_meets(prepared, found),
    )  # fmt: skip
    publishing = Publishing(
        prepared, masked_rows, found.values, left_out, clock, means, rows_per_file,
        beyond.source if beyond else None,
    )  # fmt: skip
    with together() as both:  # output and trace appear together, or neither does
        tracing = whole_file(Path(trace), force=force, private=True) if trace else nullcontext()
        trace_path = both.enter_context(tracing)
        if output is None:
            result = masked(**publishing.as_frame(data, kind))
        elif suffix := _suffix(output):
            target = Path(output)
            whole = (
                whole_folder(target, force=force, holds=parts_in(target))
                if rows_per_file
                else whole_file(target, force=force)
            )
            path = both.enter_context(whole)
            result = masked(proof=publishing.write(path, suffix), output=str(output))
        else:
            from reticent import folder
            from reticent.evidence.study import utility

            suffix = folder.format_of(data)
            place = both.enter_context(whole_folder(Path(output), force=force, holds=folder.SIDES))
            data_path = folder.lay_out(place) / f"data{suffix}"
            if rows_per_file:
                data_path.mkdir()
            proof = publishing.write(data_path, suffix)
            with clock.stage("judge"):
                judged = utility(prepared, found.recodings)
            result = masked(proof=proof, output=str(output), utility=judged)
            folder.describe(result, place, data, suffix, means.table if means else None)
        if trace_path is not None:
            from reticent import report

            write_text(trace_path, report.lines(result.trace()))
    return result


def _meets(prepared: Prepared, found: Found) -> tuple[Meets, ...]:
    if not prepared.policy.joined:
        return ()
    from reticent.joining import meets

    return meets(prepared, found.recodings)


@contextmanager
def _beside() -> Iterator[ThreadPoolExecutor]:
    """A second thread; whoever is interrupted does not wait for what it is doing."""
    pool = ThreadPoolExecutor(1)
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


def exposures(prepared: Prepared, *, worst: int = 0) -> tuple[Exposure, ...]:
    """Measure every promise on the unmasked table."""
    from reticent.privacy.promises import Anonymity, ours
    from reticent.privacy.risk import Known, small_groups, sure_inferences

    found = []
    for promise in prepared.policy.promises:
        if promise.releases:
            from reticent.joining import exposed, ours_alone

            if not ours_alone(prepared, promise):
                found.append(exposed(prepared, promise, worst=worst))
                continue
        columns = [prepared.cleaned.columns[name] for name in ours(promise.over)]
        known = Known(
            tuple(c.codes for c in columns), tuple(len(c.values) for c in columns),
            prepared.table.counts,
        )  # fmt: skip
        if isinstance(promise, Anonymity):
            found.append(small_groups(promise, known, prepared.of_marks(promise), worst=worst))
        else:
            sensitive = prepared.sensitive_marks(promise)
            found.append(sure_inferences(promise, known, sensitive, worst=worst))
    return tuple(found)


def _check_outputs(
    output: str | Path | None, trace: str | Path | None, force: bool, *, parts: bool = False
) -> None:
    """Refuse outputs that could not be written in the end, before any work."""
    from reticent.table.output import check_free, parts_in

    if output is not None and _suffix(output):
        check_free(Path(output), force=force, holds=parts_in(Path(output)) if parts else ())
    elif output is not None:
        from reticent.folder import SIDES

        check_free(Path(output), force=force, holds=SIDES)
    if trace is not None:
        check_free(Path(trace), force=force)
        inside = output is not None and Path(output).resolve() in (
            Path(trace).resolve(),
            *Path(trace).resolve().parents,
        )
        if inside:
            raise InputError(
                "the trace cannot stand where the output does", where=str(trace),
                do="choose another place; a release folder holds its trace anyway.",
            )  # fmt: skip


def _suffix(output: str | Path) -> str:
    """The format of a data file; empty for a folder, which is also what ends in a slash."""
    from reticent.table.files import suffix_of

    if str(output).endswith(("/", os.sep)):
        return ""
    suffix = Path(output).suffix.lower()
    if suffix in _OTHER_FORMATS and not suffix_of(Path(output)):
        raise InputError(
            f"{suffix} files cannot be written", where=str(output),
            do="write .csv, .tsv, .csv.gz, .parquet or .arrow; a name without suffix is a folder.",
        )  # fmt: skip
    return suffix_of(Path(output))


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
    watch: Watch | None = None,
) -> Proof:
    """Recount every promise on a table that anybody hands over, without the original.

    `data` is a file, a release folder, a table of a database or a data frame. For `engine` and the
    like see `release`.
    """
    from reticent import folder, sequence
    from reticent.prepare import nearly_unique, rules
    from reticent.privacy import verify as verifier
    from reticent.privacy.promises import columns_of
    from reticent.table import files
    from reticent.table.databases import is_url
    from reticent.table.schema import trimmed

    policy = policy_of(policy).with_previous(previous or {})
    place = Path(data) if isinstance(data, str | Path) and not is_url(data) else None
    altered = list(folder.altered(place)) if place else []
    data = folder.published(place) if place else data
    means = means_of(engine, memory_limit, engine_options, table)
    with ExitStack() as ends:
        earlier = sequence.load(policy, reading, whole=False) if policy.previous else {}
        shown = [one.taxonomies for one in earlier.values()]
        taxonomies = folder.taxonomies_for(policy, place, shown)
        meets = partial(sequence.meeting, policy, taxonomies, earlier, reading=reading)

        def counting(source: Source) -> Table:
            linking = meets(source.schema.names).linking()
            return counted_columns(source, linking.union(*columns_of(policy.promises)))

        clock = Clock(watch or Watch())
        rows, kind, _ = at_hand(data, reading, means, clock, ends, counting)
        if not rows.rows:
            raise InputError("the table has no rows", where=rows.name)
        policy.refuse_roleless(rows.known)
        if place:  # a published file is whole; a frame may be somebody's selection of columns
            policy.refuse_lacking(rows.known, str(place))
        if policy.trim:
            rows = replace(rows, columns={n: trimmed(c) for n, c in rows.columns.items()})
        met: tuple[str, ...] = ()
        if earlier:
            side = sequence.Side.published(policy, rows, taxonomies, reading or files.Reading())
            try:
                _, met = sequence.check(side, earlier)
            except InputError as error:
                raise InputError([*altered, *error.problems]) from None
        elsewhere = [name for name in rows.known if name not in rows.columns]
        cells = verifier.from_table(as_text(rows), counts=rows.counts, unread=elsewhere)
        told = rules(policy, taxonomies, meets(rows.known))
        proof = verifier.verify(cells, told, memory_limit=means.for_engine)
        warnings = (
            *met,
            *nearly_unique(rows, policy.roles_in(rows.known)),
            *(folder.warnings(place) if place else ()),
        )
        far = is_url(data) or kind == "far away"
        carried = [
            problem
            for schema, parts in ([] if far else files.carriers(data, kind))
            for problem in verifier.baggage(schema, parts)
        ]
    leftovers = (*proof.leftovers, *carried, *altered)
    return replace(proof, leftovers=leftovers, warnings=warnings)


@dataclass(frozen=True, slots=True)
class Risk:
    """What an attacker could do with a table as it is."""

    prepared: Prepared = field(repr=False)
    exposures: tuple[Exposure, ...]

    def summary(self) -> dict[str, Any]:
        """What ``risk --json`` prints."""
        from reticent import report

        return report.risk_summary(self)


def risk(
    data: Any,
    policy: Policy | Mapping[str, Any] | str | Path,
    *,
    previous: Mapping[str, str | Path] | None = None,
    reading: Reading | None = None,
    engine: Any = None,
    engine_options: Mapping[str, str] | None = None,
    memory_limit: int | str | None = None,
    table: str | None = None,
    watch: Watch | None = None,
) -> Risk:
    """Measure every promise on an unmasked table; for `engine` and the like see `release`."""
    policy = policy_of(policy).with_previous(previous or {})
    means = means_of(engine, memory_limit, engine_options, table)
    clock = Clock(watch or Watch())
    with ExitStack() as ends:
        counting = partial(counted, policy=policy)
        rows, _, _ = at_hand(data, reading, means, clock, ends, counting, policy.spare)
        prepared = prepared_beside(rows, policy, reading)
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
    from reticent import folder
    from reticent.table import files
    from reticent.table.output import check_free, refuse_inputs, whole_file
    from reticent.table.sheets import sheet, write

    target = Path(output)
    suffix = files.suffix_of(target)
    if not suffix:
        raise InputError(
            "masked rows are written as one file", where=str(output),
            do=f"give a name that ends in {', '.join(files.SUFFIXES)}.",
        )  # fmt: skip
    check_free(target, force=force)
    refuse_inputs([target], [*inputs(data), Path(release_folder) / "private" / "recoding.json"])
    learnt = folder.learnt(Path(release_folder))
    table, _ = read(data, reading)
    if not table.rows:
        raise InputError("the table has no rows", where=table.name)
    columns, strange = learnt.mask(table)
    rows = sheet(columns, order=learnt.order)
    with whole_file(target, force=force) as path:
        write(rows, path, suffix)
    return {"rows": table.rows, "unforeseen": strange, "output": str(output), "covered": False}


@dataclass(frozen=True, slots=True)
class Checked:
    """A policy without problems, and what to look at all the same."""

    policy: Policy
    warnings: tuple[str, ...] = ()


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
) -> Checked:
    """Look for every problem of a policy, and of its fit to a table if one is given.

    For `engine` and the like see `release`.
    """
    from reticent.policy import PolicyError

    means = means_of(engine, memory_limit, engine_options, table)
    clock = Clock(watch or Watch())
    with ExitStack() as ends:
        try:
            policy = policy_of(policy_path).with_previous(previous or {})
        except PolicyError as error:
            if data is None or error.rest is None:
                raise
            rows, _, _ = at_hand(data, reading, means, clock, ends, lambda source: source.first(1))
            raise InputError([*error.problems, *error.rest.unknown(list(rows.columns))]) from None
        if data is None:
            policy.taxonomies()
            if policy.previous:
                from reticent import sequence

                earlier = sequence.load(policy, reading)
                if unknown := list(sequence.unknown_columns(policy, earlier)):
                    raise InputError(unknown)
            return Checked(policy, tuple(policy.undeclared()))
        from reticent.searching import Search

        counting = partial(counted, policy=policy)
        rows, _, _ = at_hand(data, reading, means, clock, ends, counting, policy.spare)
        prepared = prepared_beside(rows, policy, reading)
        Search(prepared).refuse_infeasible()
        return Checked(policy, prepared.warnings)
