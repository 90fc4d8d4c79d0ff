"""Earlier releases about the same people: read, checked, and laid beside the table to release.

Whoever has an earlier release joins it with the new one by the columns that both publish. What is
wrong between the two is found here, all of it at once, before any search.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from reticent import folder
from reticent.arriving import read
from reticent.errors import InputError, Problem, did_you_mean, listed, quoted
from reticent.prepare import Prepared
from reticent.privacy.promises import Anonymity, ours, theirs
from reticent.privacy.rejoin import Meeting, Published
from reticent.privacy.verify import absent_values
from reticent.table.collapse import distinct
from reticent.table.files import Reading
from reticent.table.linking import Branches, Link, Linked, Plain, Spans, Values, point_reader
from reticent.table.schema import Column, Table, kind_of, scale_of, trimmed, without_missing
from reticent.table.taxonomy import Taxonomy

if TYPE_CHECKING:
    from reticent.policy import Policy


@dataclass(frozen=True, slots=True)
class Earlier:
    """A release that is out."""

    name: str
    table: Table  # missing values are null
    published: tuple[str, ...]
    marker: str  # what it shows where it suppresses
    taxonomies: Mapping[str, Taxonomy]  # as far as it tells them

    @property
    def where(self) -> str:
        """How messages call it."""
        return f"[previous.{self.name}], {self.table.name}"


def load(
    policy: Policy, reading: Reading | None = None, *, whole: bool = True
) -> dict[str, Earlier]:
    """Read the earlier releases that a policy declares; all problems at once.

    `whole`: columns that were never published must be there, too.
    """
    found, problems = {}, []
    for name, previous in policy.previous.items():
        try:
            path = policy.folder / previous.path
            found[name] = _read(name, path, previous.drop, policy, reading or Reading(), whole)
        except InputError as error:
            place = f"{policy.name}, [previous.{name}]"
            tell = f"a path is relative to the policy; --previous {name}=PATH names another."
            problems += [
                replace(p, where=f"{place}, {p.where}", do=p.do or tell) for p in error.problems
            ]
    if problems:
        raise InputError(problems)
    return found


def _read(
    name: str, path: Path, dropped: tuple[str, ...], policy: Policy, reading: Reading, whole: bool
) -> Earlier:
    told = folder.told(path)
    # It has a delimiter and an encoding of its own.
    own = Reading(None, None, None, reading.decimal, reading.date_format)
    counted = {c for p in policy.anonymity for c in theirs(p.of, name)}
    table, _ = read(folder.published(path), own, set(dropped) - counted)
    if not table.rows:
        raise InputError("the table has no rows", where=table.name)
    lacking = [column for column in dropped if column not in table.known]
    if lacking and whole:
        raise InputError(
            f"it has no column {quoted(lacking)}", where=table.name,
            do=did_you_mean(lacking[0], list(table.columns)) or f"it has {quoted(table.columns)}.",
        )  # fmt: skip
    columns = table.columns
    if policy.trim:
        columns = {n: trimmed(column) for n, column in columns.items()}
    marker = told.marker or policy.marker
    missing = [text for text in policy.missing_values if text != marker]  # it hides, but is there
    columns = {n: without_missing(c, missing) for n, c in columns.items()}
    published = tuple(n for n in columns if n not in dropped)
    return Earlier(name, replace(table, columns=columns), published, marker, told.taxonomies)


def meeting(
    policy: Policy,
    taxonomies: Mapping[str, Taxonomy],
    earlier: Mapping[str, Earlier],
    columns: Sequence[str],
    reading: Reading | None = None,
) -> Meeting:
    """What the verifier is told of earlier releases; `columns`: those of the new table."""
    fixed = {name for name, attribute in policy.attributes.items() if attribute.intervals}
    return Meeting(
        {
            name: Published(
                tuple(one.table.columns), partial(_cells, one.table), one.published, one.marker,
                {column: _above(tree) for column, tree in one.taxonomies.items()},
            )
            for name, one in earlier.items()
        },
        tuple(column for column in columns if column not in policy.drop),
        {name: _above(taxonomy) for name, taxonomy in taxonomies.items()},
        frozenset(fixed),
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


def _above(taxonomy: Taxonomy) -> dict[str, str]:
    """Every label with the one above it; the root is its own."""
    labels = taxonomy.labels
    return {label: labels[max(taxonomy.parents[i], 0)] for i, label in enumerate(labels)}


def beside(prepared: Prepared, earlier: Mapping[str, Earlier]) -> Prepared:
    """Lay earlier releases beside a table, or say everything that keeps them apart."""
    if not earlier:
        return prepared
    problems = [
        *_unknown_columns(prepared, earlier),
        *_unknown_attributes(prepared, earlier),
        *_idle_pairs(prepared, earlier),
    ]
    linked = {}
    for name, one in earlier.items():
        try:
            linked[name] = Linked(name, one.table, list(_links(prepared, one)))
        except InputError as error:
            problems += error.problems
        else:
            problems += _outside(linked[name], one)
    if problems:
        raise InputError(list(dict.fromkeys(problems)))
    problems = [*_one_sided(prepared, linked), *_absent(prepared, earlier)]
    for name in linked:
        problems += _strangers(prepared, linked[name], earlier[name])
    if problems:
        raise InputError(problems)
    told = meeting(
        prepared.policy, prepared.taxonomies, earlier, prepared.table.known, prepared.reading
    )
    warnings = (*prepared.warnings, *_idle(prepared, earlier))
    return replace(prepared, earlier=linked, meeting=told, warnings=warnings)


def neighbours(prepared: Prepared, output: Path) -> Prepared:
    """Warn of releases beside the new one that publish some of its columns and are not named.

    Two releases of one kind are mostly about the same people, and somebody will have both.
    """
    named = {(prepared.policy.folder / one.path).resolve()
             for one in prepared.policy.previous.values()}  # fmt: skip
    released = set(prepared.roles.released)
    beside: dict[str, list[str]] = {}
    for place in sorted(output.absolute().parent.iterdir()):
        if place.resolve() in {*named, output.resolve()} or not folder.is_release(place):
            continue
        if shared := [name for name in folder.columns_in(place) if name in released]:
            beside[place.name] = shared
    if not beside:
        return prepared
    shared = list(dict.fromkeys(name for names in beside.values() for name in names))
    one = len(beside) == 1
    aside = (
        f"the release{'' if one else 's'} {listed(list(beside))} {'stands' if one else 'stand'} "
        f"beside this one and {'publishes' if one else 'publish'} {quoted(shared)}, too: whoever "
        f"has both can join them. If {'it is' if one else 'they are'} about the same people, name "
        f"{'it' if one else 'them'} in [previous], or with --previous."
    )
    return replace(prepared, asides=(aside,))


# --- who may be whom -----------------------------------------------------------------------------


def _links(prepared: Prepared, earlier: Earlier) -> Iterator[Link]:
    """The columns of ours that tell which rows of an earlier release may be the same person's."""
    policy = prepared.policy
    problems: list[Problem] = []
    pairs = [tuple(pair.items()) for pair in policy.inconsistent]
    pairs += [(second, first) for first, second in pairs]
    for name in prepared.roles.released:
        values: Values | None = None
        joins = policy.attributes[name].join if name in policy.attributes else True
        if name in earlier.published and joins:
            try:
                values = _values(prepared, earlier, name)
            except InputError as error:
                problems += error.problems
                continue
        apart = tuple(
            (mine, _meaning(prepared, earlier, name), column,
             _meaning(prepared, earlier, column), theirs_)
            for (own, mine), (column, theirs_) in pairs
            if own == name and column in earlier.published and column != name
        )  # fmt: skip
        if values or apart:
            yield Link(name, values, apart)
    if problems:
        raise InputError(problems)


def _values(prepared: Prepared, earlier: Earlier, name: str) -> Values:
    """How the values of a common column meet."""
    found = _meaning(prepared, earlier, name)
    mine, other = prepared.cleaned.columns[name], earlier.table.columns[name]
    if isinstance(found, Branches):
        odd = [text for text in mine.texts() if not found.knows(text)]
        if odd:
            raise InputError(
                Problem(
                    f"its taxonomy does not know {len(odd)} values of this column",
                    where=f'column "{name}"',
                    why=f"nobody could say whom they match in release {earlier.name}.",
                    do="give the whole taxonomy in  [attributes],  with all leaves.",
                    values=tuple(map(str, odd)),
                )
            )
    learnt = any(domain.scale for domain in prepared.domains if domain.name == name)
    both = _continuous(prepared, mine) and _continuous(prepared, other)
    if isinstance(found, Plain) and not _declared(prepared, name) and (learnt or both):
        raise InputError(
            "both tables publish this column, and it is continuous",
            where=f'column "{name}"',
            why=f"somebody may join release {earlier.name} by it.",
            do="give it fixed  intervals,  or say  join = false  if nobody can.",
        )
    return found


def _declared(prepared: Prepared, name: str) -> bool:
    """Whether the policy says that a column is not continuous."""
    attribute = prepared.policy.attributes.get(name)
    return attribute is not None and attribute.mask in ("suppress", "generalize")


def _continuous(prepared: Prepared, column: Column) -> bool:
    """Whether a column holds numbers, times or intervals of them, as far as it shows anything."""
    shown = [text for text in column.texts() if text is not None and text != prepared.policy.marker]
    intervals = shown and all(text.startswith("[") and "," in text for text in shown)
    reading = prepared.reading
    kind = kind_of(column, decimal=reading.decimal, date_format=reading.date_format)
    return bool(intervals) or kind not in ("text", "boolean")


def _meaning(prepared: Prepared, earlier: Earlier, name: str) -> Values:
    """How printed values of a column are related, by the policy or the release itself."""
    policy, hidden = prepared.policy, (prepared.policy.marker, earlier.marker)
    attribute = policy.attributes.get(name)
    taxonomy = prepared.taxonomies.get(name) or earlier.taxonomies.get(name)
    if taxonomy is not None:
        return Branches(taxonomy, hidden)
    if attribute is not None and attribute.intervals:
        own = prepared.cleaned.columns.get(name)
        reading = prepared.reading
        kind = "number"
        if own is not None:
            kind = scale_of(own, decimal=reading.decimal, date_format=reading.date_format).kind
        return Spans(hidden, point_reader(kind, reading.decimal, reading.date_format))
    return Plain(hidden)


# --- what can be wrong ---------------------------------------------------------------------------


def _unknown_columns(prepared: Prepared, earlier: Mapping[str, Earlier]) -> Iterator[Problem]:
    """Columns of theirs that promises name, and that are not there or were never published."""
    for promise in prepared.policy.promises:
        for release in promise.releases:
            one = earlier[release]
            shown = theirs(promise.over, release)
            counted: tuple[str, ...] = ()
            if isinstance(promise, Anonymity):
                counted = theirs(promise.of, release)
            else:
                shown += theirs(promise.sensitive, release)
            for column in dict.fromkeys((*shown, *counted)):
                if column not in one.table.known:
                    yield Problem(
                        f'there is no column "{column}"', where=one.where,
                        do=did_you_mean(column, list(one.table.columns))
                        or f"it has {quoted(one.table.columns)}.",
                    )  # fmt: skip
                elif column in shown and column not in one.published:
                    yield Problem(
                        f'column "{column}" was never published, as  drop  says', where=one.where,
                        why="nobody can know people by it.", do="it can be counted by  of  only.",
                    )  # fmt: skip


def _unknown_attributes(prepared: Prepared, earlier: Mapping[str, Earlier]) -> Iterator[Problem]:
    known = {*prepared.table.known, *(n for one in earlier.values() for n in one.table.columns)}
    for name in prepared.policy.attributes:
        if name not in known:
            yield Problem(
                f'there is no column "{name}"', where=f"{prepared.policy.name}, attributes",
                do=did_you_mean(name, sorted(known)) or f"the table has {quoted(sorted(known))}.",
            )  # fmt: skip


def _idle_pairs(prepared: Prepared, earlier: Mapping[str, Earlier]) -> Iterator[Problem]:
    """Pairs of values that rule nothing out, as one of the columns stands nowhere."""
    own = prepared.roles.released
    for i, pair in enumerate(prepared.policy.inconsistent, 1):
        first, second = pair
        if not any(
            (first in own and second in one.published) or (second in own and first in one.published)
            for one in earlier.values()
        ):
            yield Problem(
                f"no release has one of {quoted(list(pair))} where this table has the other",
                where=f"{prepared.policy.name}, [[inconsistent]] {i}",
                do="name published columns, one of this table and one of an earlier release.",
            )


def _occurs(prepared: Prepared, earlier: Mapping[str, Earlier], name: str, value: str) -> bool:
    """Whether a value stands in some table, in a taxonomy, or is an interval."""
    tables = [prepared.cleaned, *(one.table for one in earlier.values())]
    columns = [table.columns[name] for table in tables if name in table.columns]
    trees = [prepared.taxonomies, *(one.taxonomies for one in earlier.values())]
    attribute = prepared.policy.attributes.get(name)
    return (
        any(value in column.texts() for column in columns)
        or any(value in tree[name].labels for tree in trees if name in tree)
        or bool(attribute and attribute.intervals)
    )


def _idle(prepared: Prepared, earlier: Mapping[str, Earlier]) -> Iterator[str]:
    """What is said of earlier releases, and changes nothing."""
    for i, pair in enumerate(prepared.policy.inconsistent, 1):
        for name, value in pair.items():
            if not _occurs(prepared, earlier, name, value):
                yield (
                    f'[[inconsistent]] {i} rules nothing out: column "{name}" has no value '
                    f'"{value}".'
                )
    for name in earlier:
        if name not in prepared.policy.joined:
            yield (
                f"release {name} is declared, but no template names a column of it: nothing is "
                "promised about joining the two."
            )


def _outside(linked: Linked, earlier: Earlier) -> Iterator[Problem]:
    for column, values in linked.unknown().items():
        yield Problem(
            f'{len(values)} values of column "{column}" are neither in its taxonomy nor among its '
            "intervals",
            where=earlier.where,
            why="nobody could say whom they match.",
            do="complete the taxonomy in  [attributes],  or tell --date-format and --decimal.",
            values=tuple(values),
        )


def _one_sided(prepared: Prepared, linked: Mapping[str, Linked]) -> Iterator[Problem]:
    """A common column stands in an `over` from both sides, or from neither."""
    for place, promise in prepared.policy.places():
        for release in promise.releases:
            common = [link.column for link in linked[release].links if link.values]
            mine, other = ours(promise.over), theirs(promise.over, release)
            odd = [name for name in common if (name in mine) != (name in other)]
            if odd:
                sides = [f"{release}.{n}" if n in other else n for n in odd]
                yield Problem(
                    f"{listed(sides)} joins the tables, and only one side of it stands here",
                    where=f"{prepared.policy.name}, {place}, over",
                    why="the more specific of the two decides what is known.",
                    do="list it from both sides, or from neither.",
                )


def _absent(prepared: Prepared, earlier: Mapping[str, Earlier]) -> Iterator[Problem]:
    """Sensitive values of theirs that do not occur."""
    for promise in prepared.policy.confidence:
        for release in promise.releases:
            for name, wanted in promise.sensitive.items():
                if wanted == "*" or promise.allow_absent or not theirs([name], release):
                    continue
                texts = earlier[release].table.columns[theirs([name], release)[0]].texts()
                if absent := [value for value in wanted if value not in texts]:
                    yield absent_values(name, absent)


def _strangers(prepared: Prepared, linked: Linked, earlier: Earlier) -> Iterator[Problem]:
    """Records that match nothing on the other side, even before anything is masked."""
    from reticent.refine.joins import matched

    if not linked.links:
        return
    columns = [prepared.cleaned.columns[link.column] for link in linked.links]
    found = distinct(
        [c.codes for c in columns], [max(len(c.values), 1) for c in columns], prepared.table.counts
    )
    tuples, sets = linked.sets([column.texts() for column in columns], found.columns)
    mine = np.zeros(len(found.counts), dtype=bool)
    other = np.zeros(linked.words, dtype=np.uint64)
    matched(tuples, sets, mine, other)
    bits = np.unpackbits(other.view(np.uint8), bitorder="little")[: len(linked.counts)]
    alone = int(found.counts[~mine].sum()), int(linked.counts[bits == 0].sum())
    if any(alone):
        yield Problem(
            f"{alone[0]:,} records of this table match nothing in release {earlier.name}, and "
            f"{alone[1]:,} of its records match nothing here",
            where=earlier.where,
            why="the two are not about the same people, or do not say the same of them.",
            do="release only people who are in both, or correct taxonomies and [[inconsistent]].",
        )
