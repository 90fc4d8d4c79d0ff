"""The flows for single entries: what happens between a command and its answer.

    read ─► who asked ─► what else to hide ─► write beside ─► recount ─► rename

Rows keep their order: the attacker of this promise knows whose record is whose. Whatever is not
hidden comes out as it was, cell by cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reticent import folder as release_folder
from reticent.arriving import inputs, parse
from reticent.arriving import read as read_table
from reticent.entries import asked as asking
from reticent.entries.asked import Asked
from reticent.entries.policy import Policy, Roles
from reticent.errors import Broken, InputError, Problem, Unsatisfiable, listed, many, quoted
from reticent.privacy import entries as verifier
from reticent.privacy.entries import Altered, Finding, Published
from reticent.table.files import Reading, carriers, from_arrow, to_frame
from reticent.table.schema import Column, Table, blanked, without_missing
from reticent.watching import Clock, Watch

if TYPE_CHECKING:
    from reticent.suppress.entries import Hidden

Mask = NDArray[np.bool_]
Codes = NDArray[np.int32]
_BEFORE = 2_000_000_000  # work spent on what requests alone would leave open, beside a release


@dataclass(frozen=True)
class Original:
    """A table as it came, and who asked for what."""

    policy: Policy
    table: Table
    roles: Roles
    asked: Asked
    warnings: tuple[str, ...]

    @cached_property
    def codes(self) -> Published:
        """Its entries as codes, -1 for what is empty."""
        columns = [_codes(self.cleaned(name)) for name in self.roles.entries]
        return Published(np.column_stack(columns[:-1]), columns[-1])

    def cleaned(self, name: str) -> Column:
        """A column as it is counted: what means missing is missing; cells are compared exactly."""
        told = self.policy.missing_values if name in self.roles.entries else ()
        return without_missing(self.table.columns[name], told)

    def hidden(self, search: Hidden) -> Mask:
        """All that a search hides, and what was asked for: by record and column."""
        found = np.zeros(self.asked.fixed.shape, np.bool_)
        found[search.records, search.columns] = True
        found[self.asked.records, -1] = True
        return found

    def allowed(self) -> Mask:
        """What may be hidden, where it is not marked to be published."""
        who = self.who(self.codes.values)[:, None]
        regions = self.policy.may_hide
        others = "conditions-of-others" in regions
        own = "conditions-of-sensitive" in regions
        width = self.asked.fixed.shape[1] - 1
        conditions = np.repeat((who & own) | (~who & others), width, axis=1)
        return np.column_stack([conditions, who | ("sensitive-of-others" in regions)])

    def who(self, truth: Codes) -> Mask:
        """Whose sensitive entry is to be hidden, as far as there is one."""
        found = np.zeros(len(truth), np.bool_)
        found[self.asked.records] = True
        return found & (truth >= 0)

    def requests_alone(self) -> tuple[Published, Codes]:
        """The table with nothing but the requests hidden, and what they hide."""
        codes = self.codes
        values = codes.values.copy()
        values[self.asked.records] = -1
        return Published(codes.conditions, values), codes.values[self.asked.records]


def _codes(column: Column) -> Codes:
    codes = column.codes.astype(np.int32)
    return codes if column.missing is None else np.where(codes == column.missing, -1, codes)


@dataclass(frozen=True)
class Release:
    """A table without what would have told on those who asked, and the verifier's word."""

    original: Original = field(repr=False)
    search: Hidden = field(repr=False)
    finding: Finding | None = field(default=None, repr=False)
    seconds: Mapping[str, float] = field(default_factory=dict, repr=False)
    table: Any = field(default=None, repr=False)  # the released rows, in the kind that came in
    output: str | None = None
    reading: Reading = field(default_factory=Reading, repr=False)
    utility: Mapping[str, Any] | None = field(default=None, repr=False)

    @property
    def policy(self) -> Policy:
        """What was asked for."""
        return self.original.policy

    @property
    def warnings(self) -> tuple[str, ...]:
        """What looks as if it were not meant."""
        return self.original.warnings

    @property
    def rows(self) -> int:
        """How many records there are."""
        return self.original.table.rows

    @property
    def requests(self) -> int:
        """How many records asked for their entry to be hidden."""
        return len(self.original.asked.records)

    @property
    def hidden(self) -> dict[str, int]:
        """How many entries of each column were hidden, besides those that were asked for."""
        names = self.original.roles.entries
        counts = np.bincount(self.search.columns, minlength=len(names))
        return dict(zip(names, counts.tolist(), strict=True))

    @property
    def loss(self) -> Fraction:
        """The share of all entries that were hidden besides those that were asked for."""
        entries = self.rows * len(self.original.roles.entries)
        return Fraction(len(self.search.records), max(entries, 1))

    @cached_property
    def before(self) -> Finding:
        """What the requests alone would have left open."""
        published, truth = self.original.requests_alone()
        return verifier.recount(
            published, self.policy.promise, self.original.asked.records, truth, budget=_BEFORE
        )

    @cached_property
    def released(self) -> Table:
        """The rows as they are published."""
        table, roles = self.original.table, self.original.roles
        gone = self.original.hidden(self.search)
        at = {name: i for i, name in enumerate(roles.entries)}
        columns = {
            name: blanked(table.columns[name], gone[:, at[name]])
            if name in at
            else table.columns[name]
            for name in roles.released
        }
        return Table(table.name, columns, table.rows)

    def summary(self) -> dict[str, Any]:
        """What ``entries release --json`` prints."""
        from reticent.entries import report

        return report.release_summary(self)

    def _repr_html_(self) -> str:
        from reticent.entries import report

        return report.html(self)


def release(
    data: Any,
    policy: Policy | Mapping[str, Any] | str | Path,
    *,
    output: str | Path | None = None,
    reading: Reading | None = None,
    force: bool = False,
    watch: Watch | None = None,
) -> Release:
    """Hide the entries that were asked for, and as few others as keep anybody from inferring them.

    `data` is a file, a folder or glob of files, or a pandas, Polars, PyArrow or DuckDB table; the
    same kind comes back as `table` of the result. With `output` it is written instead: a data file
    by its suffix, or a release folder.
    """
    from reticent.table.output import refuse_inputs

    clock = Clock(watch or Watch())
    policy = Policy.of(policy)
    suffix = release_folder.checked_output(output, force=force)
    if output is not None:
        refuse_inputs([Path(output)], [*inputs(data), *policy.files()])
    with clock.stage("read"):
        original, kind = read(data, policy, reading)
    with clock.stage("hide"):
        search = find(original)
    result = Release(original, search, seconds=clock.seconds, reading=reading or Reading())
    if output is not None:
        return _publish(result, data, Path(output), suffix, force, clock)
    with clock.stage("verify"):
        table = _sheet(result).arrow()
        finding = _proven(from_arrow(table), result)
    handed = table if kind == "file" else to_frame(table, data, kind)
    return replace(result, finding=finding, table=handed)


def _publish(
    result: Release, data: Any, output: Path, suffix: str, force: bool, clock: Clock
) -> Release:
    """Write rows beside, recount what was written, and let it appear."""
    from reticent.entries import folder
    from reticent.evidence.entries import utility
    from reticent.table.files import parse as parse_file
    from reticent.table.sheets import write

    def usual() -> str:
        return release_folder.format_of(data)

    with release_folder.appearing(output, suffix, usual, force=force) as place:
        with clock.stage("write"):
            rows = max(result.rows, 1)

            def told(done: int) -> None:
                clock.watch.rows(min(done, rows), rows)

            write(_sheet(result), place.data, place.suffix, told)
        with clock.stage("verify"):
            own = release_folder.as_written(place.suffix)
            written = parse_file(place.data, own, place.suffix).table()
            finding = _proven(written, result, _carried(place.data, "file", place.suffix))
        result = replace(result, finding=finding, output=str(output))
        if place.folder is not None:
            with clock.stage("judge"):
                original = result.original
                judged = utility(
                    original.table, result.released, original.roles.conditions,
                    original.roles.sensitive, original.asked.records,
                    missing=original.policy.missing_values, reading=result.reading,
                )  # fmt: skip
            with clock.stage("describe"):
                folder.describe(replace(result, utility=judged), place.folder, place.data, data)
    return result


def _sheet(result: Release) -> Any:
    from reticent.table.sheets import sheet

    return sheet([*result.released.columns.values()], order="input")


def find(original: Original) -> Hidden:
    """What to hide besides the requests."""
    from reticent.suppress.entries import Limits, Partial, TooMany, hide

    policy, codes, asked = original.policy, original.codes, original.asked
    partial = Partial(codes.conditions, codes.values, original.who(codes.values), asked.fixed)
    limits = Limits(policy.min_support, policy.min_confidence, policy.max_pattern)
    try:
        found = hide(partial, limits, policy.may_hide, policy.strategy, policy.seed)
    except TooMany:
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
    """Marks, or what may not be hidden at all, can make it impossible to protect somebody."""
    named = dict(zip(original.asked.records.tolist(), original.asked.names, strict=True))
    marked = bool(original.asked.fixed.any())
    raise Unsatisfiable(
        Problem(
            f"{many(len(exposed), 'request')} cannot be granted, whatever else is hidden: "
            + asking.by_number(exposed),
            where=original.policy.name,
            why="what may not be hidden gives them away"
            + (": marks to be published, and entries outside may_hide." if marked else "."),
            do=("take marks back, " if marked else "")
            + "allow more in may_hide, raise min_confidence or min_support, or set max_pattern.",
            values=tuple(named.get(record, "") for record in exposed) if original.policy.id else (),
        )
    )


def _proven(written: Table, result: Release, carried: Sequence[Problem] = ()) -> Finding:
    """What the verifier says of rows that are about to appear; nothing less than yes will do."""
    original = result.original
    if written.known != list(original.roles.released) or written.rows != original.table.rows:
        raise _refused(original)
    judged = judge(original, written)
    if judged.finding.holds is None:
        raise InputError(
            "the verifier could not decide, within its budget, whether the release is safe",
            where=original.table.name, do="set max_pattern, or raise min_support; nothing was "
            "written.",
        )  # fmt: skip
    if not judged.finding.holds or judged.altered or carried:
        raise _refused(original)
    return judged.finding


def _refused(original: Original) -> Broken:
    return Broken(
        "the verifier refused this release: it breaks the promise",
        where=original.table.name, do="please report it; nothing was written.",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Judged:
    """What the verifier says of a table beside its original."""

    finding: Finding
    altered: Altered
    columns: tuple[str, ...]  # of which cells were compared


def judge(original: Original, written: Table) -> Judged:
    """Recount the promise, and compare cell by cell; columns are told by name anew."""
    policy, roles, asked = original.policy, original.roles, original.asked
    columns = (*roles.conditions, *roles.kept, roles.sensitive)
    pairs = {name: _beside(original.cleaned(name), _cleaned(policy, roles, written, name))
             for name in columns}  # fmt: skip
    before, after = (
        Published(
            np.column_stack([pairs[name][side] for name in columns[:-1]]), pairs[columns[-1]][side]
        )
        for side in (0, 1)
    )
    width = len(roles.conditions)
    kept = np.zeros((len(asked.fixed), len(roles.kept)), np.bool_)

    def wider(mask: Mask) -> Mask:
        return np.column_stack([mask[:, :width], kept, mask[:, width:]])

    shown = Published(np.ascontiguousarray(after.conditions[:, :width]), after.values)
    truth = before.values[asked.records]
    finding = verifier.recount(shown, policy.promise, asked.records, truth)
    fixed = asked.fixed & (original_entries(before, width) >= 0)
    return Judged(
        finding, verifier.altered(before, after, wider(fixed), wider(original.allowed())), columns
    )


def original_entries(before: Published, width: int) -> Codes:
    """The codes of all entries, the sensitive ones last."""
    return np.column_stack([before.conditions[:, :width], before.values])


def _cleaned(policy: Policy, roles: Roles, table: Table, name: str) -> Column:
    told = policy.missing_values if name in roles.entries else ()
    return without_missing(table.columns[name], told)


def _beside(before: Column, after: Column) -> tuple[Codes, Codes]:
    """Two columns in codes of the first; texts that it does not have are numbered on."""
    known = {text: code for code, text in enumerate(before.texts()) if text is not None}
    more = len(before.values)
    to = np.array(
        [-1 if t is None else known.get(t, more + i) for i, t in enumerate(after.texts())] or [-1],
        np.int32,
    )
    return _codes(before), to[after.codes]


def _carried(data: Any, kind: str, suffix: str | None = None) -> list[Problem]:
    """What typed files and data frames tell besides their cells."""
    from reticent.privacy.verify import baggage

    looked = carriers(data, kind, suffix)
    return [problem for schema, parts in looked for problem in baggage(schema, parts)]


# --- what comes in -------------------------------------------------------------------------------


def read(data: Any, policy: Policy, reading: Reading | None) -> tuple[Original, str]:
    """A table with its roles and requests, and what kind of thing it was."""
    table, kind = read_table(data, reading, policy.spare)
    if not table.rows:
        raise InputError("the table has no rows", where=table.name)
    roles = policy.roles(table.known)
    asked = asking.find(policy, roles, table.rows, table.columns[policy.id] if policy.id else None)
    original = Original(policy, table, roles, asked, ())
    return replace(original, warnings=tuple(_warnings(original))), kind


def _warnings(original: Original) -> list[str]:
    """What looks as if it were not meant."""
    policy, asked, codes = original.policy, original.asked, original.codes
    said = list(asked.warnings)
    if policy.id and policy.id not in (*policy.keep, *policy.drop):
        said.append(f'column "{policy.id}" is not released: neither keep nor drop names the id.')
    if empty := asked.records[codes.values[asked.records] < 0].tolist():
        said.append(
            f"{many(len(empty), 'request is', 'requests are')} about entries that are empty "
            f"already: {asking.by_number(empty)}."
        )
    void = asked.fixed & (original_entries(codes, codes.conditions.shape[1]) < 0)
    if void.any():
        said.append(
            f"{many(int(void.sum()), 'mark is', 'marks are')} on entries that are empty already: "
            f"{_places(np.argwhere(void).tolist(), original.roles.entries)}."
        )
    if policy.min_confidence == 1:
        said.append(
            "min_confidence = 1 allows every inference, so requests are all that is hidden."
        )
    return said


def _places(places: Sequence[Sequence[int]], columns: Sequence[str]) -> str:
    return listed([f'record {record + 1:,} of "{columns[column]}"' for record, column in places])


# --- asking without writing ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the verifier says of a table that somebody hands over as a release."""

    policy: Policy
    rows: int
    requests: int
    finding: Finding | None  # None: the table is not one of these records
    problems: tuple[Problem, ...]  # what is not as it was, or should not be there
    beside_original: bool
    unseen: int = 0  # marked entries that are empty, where only the original tells since when
    warnings: tuple[str, ...] = ()

    @property
    def holds(self) -> bool | None:
        """Whether the promise is kept; None: nobody can tell from this."""
        if self.problems or self.finding is None or self.finding.visible:
            return False
        if self.beside_original:
            return self.finding.holds
        return True if self.finding.holds and not self.unseen else None

    def summary(self) -> dict[str, Any]:
        """What ``entries verify --json`` prints."""
        from reticent.entries import report

        return report.verify_summary(self)


def verify(
    data: Any,
    policy: Policy | Mapping[str, Any] | str | Path,
    *,
    original: Any = None,
    reading: Reading | None = None,
    watch: Watch | None = None,
) -> Verdict:
    """Recount the promise on a table that anybody hands over.

    The `original` alone holds the true values, and tells what was changed. Without it every value
    is tried for everybody who asked: a table that stands this is safe, of any other nobody can say.
    `reading` is about the original, or, without one, about the table itself.
    """
    from reticent.entries import folder

    clock = Clock(watch or Watch())
    policy = Policy.of(policy)
    with clock.stage("read"):
        place, own = folder.data_in(data)
        beside = Path(data) if isinstance(data, str | Path) and "://" not in str(data) else None
        altered = list(release_folder.altered(beside)) if beside else []
        parsed, kind = parse(place, own or (None if original is not None else reading))
        table = parsed.table(None)
        if not table.rows:
            raise InputError("the table has no rows", where=table.name)
        roles = policy.published(table.known, table.name)
        known = None if original is None else read(original, policy, reading)[0]
    warnings = tuple(release_folder.warnings(beside)) if beside else ()
    problems = [*altered, *_leftovers(policy, table), *_carried(place, kind)]
    with clock.stage("verify"):
        if known is None:
            return _alone(policy, table, roles, problems, warnings)
        return _beside_original(known, table, problems, (*known.warnings, *warnings))


def _leftovers(policy: Policy, table: Table) -> list[Problem]:
    """Columns that should be gone."""
    left = [name for name in table.known if name in policy.roles_in(table.known).dropped]
    if not left:
        return []
    return [Problem(f"{quoted(left)} should not be here: the policy drops it", where=table.name)]


def _alone(
    policy: Policy, table: Table, roles: Roles, problems: list[Problem], warnings: tuple[str, ...]
) -> Verdict:
    """A table without its original."""
    if policy.id and policy.id not in table.columns:
        raise InputError(
            f'nobody can tell who asked: the table has no column "{policy.id}"', where=table.name,
            why="requests name records by it, and it was not released.",
            do="give --original, whose rows are in the same order.",
        )  # fmt: skip
    asked = asking.find(policy, roles, table.rows, table.columns[policy.id] if policy.id else None)
    shown = Original(policy, table, roles, asked, ())
    codes = shown.codes
    finding = verifier.recount(codes, policy.promise, asked.records, None)
    empty = asked.fixed & (original_entries(codes, codes.conditions.shape[1]) < 0)
    return Verdict(
        policy, table.rows, len(asked.records), finding, tuple(problems), False,
        int(empty.sum()), (*asked.warnings, *warnings),
    )  # fmt: skip


def _beside_original(
    original: Original, table: Table, problems: list[Problem], warnings: tuple[str, ...]
) -> Verdict:
    policy, requests = original.policy, len(original.asked.records)
    lacking = [name for name in original.roles.released if name not in table.columns]
    foreign = [name for name in table.known if name not in original.table.known]
    if lacking or foreign:
        said = [f"it lacks {quoted(lacking)}"] * bool(lacking)
        said += [f"the original has no {quoted(foreign)}"] * bool(foreign)
        problems.append(Problem("; ".join(said), where=table.name))
    if table.rows != original.table.rows:
        problems.append(
            Problem(f"it has {table.rows:,} rows, and the original {original.table.rows:,}",
                    where=table.name)
        )  # fmt: skip
    if lacking or table.rows != original.table.rows:
        return Verdict(policy, table.rows, requests, None, tuple(problems), True, 0, warnings)
    judged = judge(original, table)
    problems += _differences(judged, table.name)
    return Verdict(policy, table.rows, requests, judged.finding, tuple(problems), True, 0, warnings)


def _differences(judged: Judged, where: str) -> list[Problem]:
    """What differs from the original and should not."""
    found = judged.altered
    kinds = {
        "hold another value than the original": found.changed,
        "were empty, and are not": found.appeared,
        "were marked to be published, and are hidden": found.unpublished,
        "were hidden that may not be": found.not_allowed,
    }
    said = [f"{count:,} entries {what}" for what, count in kinds.items() if count]
    if not said:
        return []
    first = _places(found.places, judged.columns)
    return [Problem(f"{'; '.join(said)}; the first: {first}", where=where)]


@dataclass(frozen=True, slots=True)
class Risk:
    """What a table with nothing but the requests hidden would tell."""

    original: Original = field(repr=False)
    finding: Finding

    @property
    def requests(self) -> int:
        """How many records asked for their entry to be hidden."""
        return len(self.original.asked.records)

    def summary(self) -> dict[str, Any]:
        """What ``entries risk --json`` prints."""
        from reticent.entries import report

        return report.risk_summary(self)


def risk(
    data: Any,
    policy: Policy | Mapping[str, Any] | str | Path,
    *,
    reading: Reading | None = None,
    watch: Watch | None = None,
) -> Risk:
    """Count what could be inferred of those who asked, were their entries alone hidden."""
    clock = Clock(watch or Watch())
    policy = Policy.of(policy)
    with clock.stage("read"):
        original, _ = read(data, policy, reading)
    with clock.stage("count"):
        published, truth = original.requests_alone()
        finding = verifier.recount(published, policy.promise, original.asked.records, truth)
    return Risk(original, finding)
