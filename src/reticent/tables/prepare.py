"""What a policy means for one table: roles settled, missing values decided, columns encoded.

Everything that can be wrong between a policy and a table is found here, before any search, and all
of it is reported at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from reticent.data import memory
from reticent.data.collapse import Codes
from reticent.data.columns import Column, Table, respelled, smallest, trimmed, without_missing
from reticent.data.door import Door
from reticent.data.encode import Domain, discretized, generalized, suppressed
from reticent.data.linking import Linked, number_rows
from reticent.data.scales import kind_of
from reticent.data.spellings import padded, written_differently
from reticent.data.taxonomy import Taxonomy
from reticent.data.texts import is_text
from reticent.errors import InputError, Problem, few, many, quoted, refuse
from reticent.files.tabular import Reading
from reticent.privacy.identifying import identifying
from reticent.privacy.people import PeopleInBoth
from reticent.privacy.promises import (
    Anonymity,
    Confidence,
    Promise,
    Theirs,
    columns_of,
    implied,
    ours,
)
from reticent.privacy.rejoin import Meeting
from reticent.privacy.verify import absent_values
from reticent.tables.attributes import Attribute
from reticent.tables.drafts.identifiers import named_as
from reticent.tables.policy import Policy, Roles

_RULED_AGE = 90  # years from which on a rule lets nobody's age be told
_MANY_VALUES = 5_000  # a suppressed column from which on a search can take long
_AS_ITS_CELLS_TELL = Attribute(join=True)
_MOST_CLASS_COUNTS = 100_000_000  # counts of 8 bytes each


@dataclass(frozen=True, slots=True)
class Prepared:
    """A table and a policy that fit each other."""

    policy: Policy
    reading: Reading
    roles: Roles
    table: Table  # as it will be published where it is not masked: trimmed, but "?" stays "?"
    cleaned: Table  # missing values are null
    domains: tuple[Domain, ...]  # masked columns, in tie order
    taxonomies: dict[str, Taxonomy]
    rows_in: int  # before records with missing values were left out
    door: Door = field(default_factory=Door)  # what became of its cells as they were taken in
    asides: tuple[str, ...] = ()  # warnings of what stands around; no page keeps them
    earlier: Mapping[str, Linked] = field(default_factory=dict)  # releases it may be joined with,
    meeting: Meeting | None = None  # what the verifier is told of them,
    odd: tuple[str, ...] = ()  # and what a steward should hear of them
    unmet: tuple[str, ...] = ()  # what the policy says of spellings, and nothing of them is there
    people: tuple[PeopleInBoth, ...] = ()  # how many people they share with the table

    @property
    def warnings(self) -> tuple[str, ...]:
        """What breaks no promise but should be looked at."""
        high = _ages_hardly_in_years(self.policy, self.table)
        return (*_warnings(self), *high, *self.unmet, *self.odd)

    @property
    def foreseen(self) -> tuple[str, ...]:
        """What a steward should hear before anything is released."""
        alike = nearly_unique(self.table, self.roles)
        named = _named_as_identifiers(self.policy, self.roles)
        return (*self.policy.emptiness, *named, *alike, *self.warnings)

    @property
    def spellings(self) -> tuple[str, ...]:
        """Values that seem to be one, column by column; for their owner's eyes alone."""
        columns = (self.table.columns.get(name) for name in self.roles.released)
        return tuple(
            f'Column "{column.name}" writes in several ways: {", ".join(map(repr, group))}.'
            for column in columns if column is not None
            for group in written_differently(column)
        )  # fmt: skip

    @property
    def classes(self) -> tuple[Codes, int] | None:
        """The class of every row; codes in order of their text, so that row order is no matter."""
        if self.roles.class_ is None:
            return None
        column = self.cleaned.columns[self.roles.class_]
        order = np.argsort(np.array(column.texts(), dtype=object), kind="stable")
        rank = np.empty(len(order), dtype=column.codes.dtype)
        rank[order] = np.arange(len(order))
        return memory.look_up(rank, column.codes), len(order)

    def form(self, name: str) -> dict[str, Any]:
        """How numbers and times of a masked column are written."""
        return form_of(self.policy.attributes.get(name), self.reading)

    def attributes(self, promise: Promise, foreign: Sequence[str] = ()) -> list[int]:
        """The positions of the columns of a promise's `over`; those of other owners come last."""
        names = [*(domain.name for domain in self.domains), *foreign]
        return sorted(names.index(name) for name in ours(promise.over))

    def implied(self) -> dict[int, int]:
        """Which promises another one already keeps."""
        columns = {name: self.cleaned.columns[name] for name in self.roles.sensitive}
        for name in (n for p in self.policy.confidence for n in p.sensitive):
            if isinstance(name, Theirs):
                columns[name] = self.earlier[name.release].table.columns[name.column]
        values = {n: [text for text in c.texts() if text is not None] for n, c in columns.items()}
        return implied(self.policy.promises, values)

    def sensitive_marks(self, promise: Confidence) -> list[tuple[Codes, int]]:
        """For each sensitive column, its sensitive values as 1, 2, … and 0 for all others."""
        return [
            value_marks(self.cleaned.columns[name], promise.sensitive[name])
            for name in ours(promise.sensitive)
        ]

    def of_marks(self, promise: Anonymity) -> tuple[Codes, int] | None:
        """Each combination of the `of` columns as 1, 2, …; 0 where a part of it is missing.

        None: everybody has a record of their own, or records are what is counted.
        """
        marks = people_marks([self.cleaned.columns[name] for name in ours(promise.of)])
        return None if marks and marks[1] == self.table.records else marks


def value_marks(column: Column, listed: Literal["*"] | Sequence[str]) -> tuple[Codes, int]:
    """Rows by which of some values they hold, as 1, 2, …, and 0 for any other; "*": every value."""
    texts = column.texts()
    wanted = {t for t in texts if t is not None} if listed == "*" else {*listed}
    held = [text in wanted for text in texts]
    number = np.cumsum(held)
    small = np.where(held, number, 0).astype(smallest(int(number[-1]) + 1))
    return memory.look_up(small, column.codes), int(number[-1])


def people_marks(columns: Sequence[Column]) -> tuple[Codes, int] | None:
    """Each combination of some columns as 1, 2, …; 0 where a part of it is missing."""
    if not columns:
        return None
    if len(columns) == 1:
        known = ~np.asarray(columns[0].values.is_null())
        to = np.where(known, np.cumsum(known), 0)
        marks = memory.look_up(to.astype(np.uint32), columns[0].codes)
        return marks, int(to.max(initial=0))
    present = np.logical_and.reduce([_present(column) for column in columns])
    number, count = equal_rows([replace(c, codes=c.codes[present]) for c in columns], 0)
    marks = np.zeros(len(present), dtype=np.int64)
    marks[present] = number + 1
    return marks, count


def equal_rows(columns: Sequence[Column], rows: int) -> tuple[NDArray[np.int64], int]:
    """The groups of rows that are equal in some columns, and how many; without columns, all are."""
    if not columns:
        return np.zeros(rows, dtype=np.int64), 1
    sizes = [max(len(column.values), 1) for column in columns]
    return number_rows([column.codes for column in columns], sizes)


def _present(column: Column) -> NDArray[np.bool_]:
    missing = column.missing
    if missing is None:
        return np.ones(len(column.codes), dtype=bool)
    return np.asarray(column.codes != missing)


def prepare(table: Table, policy: Policy, reading: Reading | None = None) -> Prepared:
    """Fit a policy to a table, or say everything that keeps them apart."""
    reading = reading or Reading()
    if table.rows == 0:
        raise InputError(
            "the table has no rows", where=table.name, do="there is nothing to release."
        )
    return fit(table, policy, *_fit(policy, table.known), reading)


def fit(
    table: Table, policy: Policy, roles: Roles, taxonomies: dict[str, Taxonomy], reading: Reading
) -> Prepared:
    """The same where it is settled what each column is for; of others, nothing is there."""
    door = policy.door(reading)
    shown = door.table(table)
    shown, cleaned = _decide_missing(shown, cleared(shown, policy), policy, roles)
    problems = [*_one_spelling(table, policy)]
    fine = {*roles.released} - {*door.coarse}
    for name in (name for name in cleaned.columns if name in fine):
        problems.extend(identifying(policy.rule, name, cleaned.columns[name].texts()))
    for promise in policy.confidence:
        for name in ours(promise.sensitive):
            if name in cleaned.columns:
                problems.extend(absent(promise, name, cleaned.columns[name]))
    domains = []
    for name in roles.masked:
        try:
            domains.append(domain_of(cleaned.columns[name], policy, taxonomies, reading))
        except InputError as error:
            problems.extend(error.problems)
    problems.extend(_too_many_classes(cleaned, roles, domains))
    refuse(problems)
    return Prepared(
        policy, reading, roles, shown, cleaned, tuple(domains), taxonomies, table.records,
        door.settled(table), unmet=tuple(unmet_spellings(table, policy)),
    )  # fmt: skip


def without_blanks(table: Table, policy: Policy) -> Table:
    """A table without blanks around its texts, where the policy says so."""
    if not policy.trim:
        return table
    return replace(table, columns={n: trimmed(c) for n, c in table.columns.items()})


def as_meant(table: Table, policy: Policy) -> Table:
    """The same, and each value in one spelling, where the policy says what they are."""
    table = without_blanks(table, policy)
    to = {n: a.spellings for n, a in policy.attributes.items() if a.same and n in table.columns}
    columns = {name: respelled(table.columns[name], spelt) for name, spelt in to.items()}
    return replace(table, columns={**table.columns, **columns}) if columns else table


def _one_spelling(table: Table, policy: Policy) -> Iterator[Problem]:
    """Columns that the policy lists spellings of, and that have one of each value by their type."""
    for name, attribute in policy.attributes.items():
        column = table.columns.get(name)
        if not attribute.same or column is None or is_text(column.values.type):
            continue
        if len(column.values) > column.values.null_count:
            yield Problem(
                "its cells are no texts, and each value has one spelling",
                where=f'{policy.name}, attribute "{name}", same',
                do="leave same out, or make the column one of texts.",
            )


def unmet_spellings(table: Table, policy: Policy) -> Iterator[str]:
    """Spellings that no cell has."""
    for name, attribute in policy.attributes.items():
        if attribute.same and name in table.columns:
            column = table.columns[name]
            held = set((trimmed(column) if policy.trim else column).texts())
            if lacking := len(attribute.spellings.keys() - held):
                yield (
                    f'column "{name}": {many(lacking, "spelling")} of {len(attribute.spellings)} '
                    "that  same  lists do not occur; look for blanks and case."
                )


def cleared(table: Table, policy: Policy, marker: str | None = None) -> Table:
    """A table with its missing values as null; a marker hides a value, but is there."""
    missing = [text for text in policy.missing_values if text != marker]
    columns = {n: without_missing(column, missing) for n, column in table.columns.items()}
    return replace(table, columns=columns)


def part_of(prepared: Prepared, rows: NDArray[np.bool_]) -> Prepared:
    """Some rows of a prepared table, masked as the whole is; what stands around it stays there.

    How a column is masked where the policy does not say is told from all of its values; without the
    only text of a column, what is left may look like numbers.
    """
    masks = {d.name: Attribute(mask=d.mask) for d in prepared.domains if d.mask != "generalize"}
    told = {n: a for n, a in prepared.policy.attributes.items() if a.mask or n not in masks}
    named = {n: told.get(n) or masks[n] for n in prepared.roles.masked}
    settled = prepared.policy.model_copy(update={"attributes": {**named, **told}})
    part = prepare(prepared.table.take(rows), settled, prepared.reading)
    return replace(prepared, table=part.table, cleaned=part.cleaned, domains=part.domains)


def _fit(policy: Policy, columns: Sequence[str]) -> tuple[Roles, dict[str, Taxonomy]]:
    """Roles and taxonomies, with the problems of both in one error."""
    problems: list[Problem] = []
    try:
        roles = policy.roles(columns)
    except InputError as error:
        problems.extend(error.problems)
    try:
        taxonomies = policy.taxonomies()
    except InputError as error:
        problems.extend(error.problems)
    refuse(problems)
    return roles, taxonomies


def _decide_missing(
    table: Table, cleaned: Table, policy: Policy, roles: Roles
) -> tuple[Table, Table]:
    """Refuse, leave out or accept records that miss a value that matters."""
    _, sensitive, of = columns_of(policy.promises)
    classes = {roles.class_} if roles.class_ else set()
    matter = {*roles.masked, *sensitive, *of, *classes}
    short = [column for name, column in cleaned.columns.items() if name in matter]
    short = [column for column in short if column.missing is not None]
    refused = [c for c in short if policy.missing == "error" or c.name == roles.class_]
    if refused and policy.missing != "drop":
        raise InputError(
            Problem(
                f"{table.count(~_present(column))} rows have no value"
                f"{column.seen([column.missing or 0])}",
                where=f'column "{column.name}"',
                why='missing = "error" refuses them.'
                if policy.missing == "error"
                else "a record without a class cannot serve the classification goal.",
                do='fill them, or leave such records out with  missing = "drop".',
            )
            for column in refused
        )
    if policy.missing != "drop" or not short:
        return table, cleaned
    kept = np.ones(table.rows, dtype=bool)
    for column in short:
        kept &= _present(column)
    if not kept.any():
        raise InputError(
            'missing = "drop" leaves no record: each misses some value', where=table.name,
            do='use  missing = "value",  or drop the columns that are mostly empty.',
        )  # fmt: skip
    return table.take(kept), cleaned.take(kept)


def _too_many_classes(table: Table, roles: Roles, domains: Sequence[Domain]) -> Iterator[Problem]:
    """Class counts are kept for every value of every masked column: refuse what cannot be kept."""
    if roles.class_ is None:
        return
    count = len(table.columns[roles.class_].values)
    if count * sum(domain.size for domain in domains) > _MOST_CLASS_COUNTS:
        yield Problem(
            f"{count} distinct values are too many for a class",
            where=f'column "{roles.class_}"',
            why="a class has a few values; this looks like a quantity or an identifier.",
            do="group its values first, or keep the column and name no class.",
        )


def absent(promise: Confidence, name: str, column: Column) -> Iterator[Problem]:
    """Sensitive values of a column that do not occur, unless the promise allows it."""
    listed = promise.sensitive[name]
    if listed != "*" and not promise.allow_absent:
        held = set(column.texts())
        if lacking := [value for value in listed if value not in held]:
            yield absent_values(name, lacking)


def domain_of(
    column: Column, policy: Policy, taxonomies: Mapping[str, Taxonomy], reading: Reading
) -> Domain:
    """A masked column, encoded as the policy says."""
    where = f'{policy.name}, attribute "{column.name}"'
    attribute = policy.attributes.get(column.name, _AS_ITS_CELLS_TELL)
    form = form_of(attribute, reading)
    mask = attribute.masked_by
    if mask is None:
        told = kind_of(column, **form)
        mask = "suppress" if told in ("text", "boolean") else "discretize"
    if mask == "suppress":
        return suppressed(column, policy.marker)
    if mask == "generalize":
        return generalized(column, taxonomies[column.name], policy.marker, where)
    return discretized(
        column, policy.marker, where, limits=attribute.range, bins=attribute.intervals,
        rounded=attribute.round, **form,
    )  # fmt: skip


def form_of(attribute: Attribute | None, reading: Reading) -> dict[str, Any]:
    """How numbers and times of a masked column are written; years are no dates."""
    if attribute is not None and attribute.coarsen and attribute.coarsen.year:
        return Reading().form
    return reading.form


def _warnings(prepared: Prepared) -> Iterator[str]:
    """What a steward should hear although it breaks no promise."""
    for domain in prepared.domains:
        if domain.root is None and domain.size > _MANY_VALUES:
            yield (
                f'column "{domain.name}" has thousands of values to disclose one by one, which '
                "can take long; a taxonomy is faster, and stopping early is always safe."
            )
    if prepared.policy.suppress_records and not prepared.policy.anonymity:
        yield "suppress_records changes nothing: records are left out for anonymity promises only."
    goal = prepared.roles.class_
    if goal is not None and len(prepared.cleaned.columns[goal].values) < 2:
        yield (
            f'column "{goal}", the class, has one value only: nothing helps to predict it, so '
            "nothing is revealed for its sake. Name no class, or another."
        )
    # Kept columns stay out: no promise counts them, and beyond memory they are not fetched.
    counted = [name for name in prepared.roles.released if name not in prepared.roles.kept]
    yield from odd_spellings(prepared.table, counted, trim=prepared.policy.trim)
    bounded = {n for n, a in prepared.policy.attributes.items() if a.range or a.intervals}
    scales = [domain.name for domain in prepared.domains if domain.scale is not None]
    open_ended = [name for name in scales if name not in bounded]
    if open_ended:
        yield (
            f"no range in the policy for {quoted(open_ended)}: a release publishes the real "
            "smallest and largest values as the ends of intervals."
        )


def odd_spellings(table: Table, names: Sequence[str], *, trim: bool) -> Iterator[str]:
    """Columns in which one value seems to be written in several ways; no value is told."""
    for name in (n for n in names if n in table.columns):
        column = table.columns[name]
        blanks = padded(column)
        if blanks.any() and not trim:
            records = table.count(blanks[column.codes])
            yield (
                f'column "{name}": {many(records, "cell")} with blanks around what they hold: '
                "other values than those without;  trim = true  takes them off."
            )
        stripped = trimmed(column) if blanks.any() else column
        if groups := written_differently(stripped):
            values = sum(map(len, groups))
            yield (
                f'column "{name}": {many(values, "value")} look like {len(groups)}, in several '
                "spellings (case, blanks or forms of signs);  same  in its attribute makes them "
                "one, and  init --show-values  drafts that."
            )


def _named_as_identifiers(policy: Policy, roles: Roles) -> Iterator[str]:
    """Columns that a rule would have dropped or coarsened by their names, and somebody did not."""
    if not policy.rule:
        return
    coarse = {name for name, one in policy.attributes.items() if one.coarsen}
    speaking = [n for n in roles.released if n not in coarse and next(named_as(n), None)]
    if speaking:
        told = few(f'"{n}" of {next(named_as(n)).title}' for n in speaking)
        yield (
            f"released, although their names speak of identifiers of the rule {policy.rule}: "
            f"{told}. See that they are none."
        )


def _ages_hardly_in_years(policy: Policy, table: Table) -> Iterator[str]:
    """Ages under a rule whose highest are one from so far up that nobody reaches it."""
    for name, one in policy.attributes.items() if policy.rule else ():
        top = one.coarsen.top if one.coarsen else None
        if top is None or top <= _RULED_AGE or name not in table.columns:
            continue
        shown = table.columns[name].texts()
        if not {str(top), f"{top} or older"} & {*shown}:
            yield (
                f'column "{name}": ages are told up to {top - 1}, and nobody reaches {top}. If '
                f"they are in years, the rule {policy.rule} asks for  "
                f"coarsen = {{ top = {_RULED_AGE} }}."
            )


def nearly_unique(table: Table, roles: Roles) -> Iterator[str]:
    """Columns released as they are that tell nearly every record from the others."""
    for name in (*roles.kept, *roles.sensitive):
        at_hand = name in table.columns
        count = len(table.columns[name].values) if at_hand else table.about.get(name, 0)
        if table.records > 1 and count >= 0.9 * table.records:
            yield (
                f'column "{name}" is released as it is, and nearly every row holds another value: '
                "it may identify people. Consider dropping it."
            )
