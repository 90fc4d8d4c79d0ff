"""Earlier releases about the same people: read, checked, and laid beside the table to release.

Whoever has an earlier release joins it with the new one by the columns that both publish. What is
wrong between the two is found here, all of it at once, before any search.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from reticent.data.collapse import distinct
from reticent.data.columns import Column, Table, kind_of, trimmed, without_missing
from reticent.data.linking import Branches, Link, Linked, Plain, Spans, Values, point_reader
from reticent.data.taxonomy import Taxonomy
from reticent.errors import InputError, Problem, did_you_mean, listed, quoted
from reticent.files.tabular import Reading
from reticent.privacy.promises import Anonymity, columns_of, ours, theirs
from reticent.privacy.rejoin import Meeting, Published
from reticent.privacy.verify import absent_values
from reticent.releases import folder as release_folder
from reticent.sources.arrival import read
from reticent.tables import folder
from reticent.tables.prepare import Prepared

if TYPE_CHECKING:
    from reticent.tables.policy import Policy


_INTERVAL = re.compile(r"\[[^,\[\]()]+,[^,\[\]()]+[\])]")


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


@dataclass(frozen=True, slots=True)
class Side:
    """A table that is to be released, or was, as far as earlier releases meet it."""

    policy: Policy
    table: Table  # missing values are null
    released: tuple[str, ...]
    taxonomies: Mapping[str, Taxonomy]
    reading: Reading
    learnt: frozenset[str]  # columns whose intervals the search finds
    whole: bool = True  # columns that are counted and not published are at hand

    @classmethod
    def published(
        cls, policy: Policy, table: Table, taxonomies: Mapping[str, Taxonomy], reading: Reading
    ) -> Side:
        """A table that is out."""
        missing = [text for text in policy.missing_values if text != policy.marker]
        columns = {n: without_missing(c, missing) for n, c in table.columns.items()}
        released = tuple(name for name in table.known if name not in policy.drop)
        cleaned = replace(table, columns=columns)
        learnt = frozenset(
            name
            for name in columns_of(policy.promises)[0] & columns.keys()
            if _may_be_learnt(policy, name)
            and any(_INTERVAL.fullmatch(text or "") for text in columns[name].texts())
        )
        return cls(policy, cleaned, released, taxonomies, reading, learnt, whole=False)


def _may_be_learnt(policy: Policy, name: str) -> bool:
    """Whether a search may have found the intervals of a column."""
    attribute = policy.attributes.get(name)
    if attribute is None or attribute.mask is None:
        return True
    return attribute.mask == "discretize" and not attribute.intervals


def load(
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
    if changed := list(release_folder.altered(path)):
        raise InputError(changed)
    told = folder.told(path)
    # It has a delimiter and an encoding of its own.
    own = Reading(None, None, None, reading.decimal, reading.date_format)
    counted = {c for p in policy.anonymity for c in theirs(p.of, name)}
    table, _ = read(release_folder.published(path), own, set(dropped) - counted)
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
    fixed = {
        name: are_times(attribute.intervals)
        for name, attribute in policy.attributes.items()
        if attribute.intervals
    }
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


def _above(taxonomy: Taxonomy) -> dict[str, str]:
    """Every label with the one above it; the root is its own."""
    labels = taxonomy.labels
    return {label: labels[max(taxonomy.parents[i], 0)] for i, label in enumerate(labels)}


def beside(prepared: Prepared, earlier: Mapping[str, Earlier]) -> Prepared:
    """Lay earlier releases beside a table, or say everything that keeps them apart."""
    if not earlier:
        return prepared
    side = Side(
        prepared.policy, prepared.cleaned, prepared.roles.released, prepared.taxonomies,
        prepared.reading,
        frozenset(d.name for d in prepared.domains if d.mask == "discretize" and not d.bins),
    )  # fmt: skip
    linked, warnings = check(side, earlier)
    told = meeting(
        prepared.policy, prepared.taxonomies, earlier, prepared.table.known, prepared.reading
    )
    warnings = (*prepared.warnings, *warnings)
    return replace(prepared, earlier=linked, meeting=told, warnings=warnings)


def check(side: Side, earlier: Mapping[str, Earlier]) -> tuple[dict[str, Linked], tuple[str, ...]]:
    """See how a table meets earlier releases, or say everything that keeps them apart.

    Also says what is declared and changes nothing.
    """
    problems = [
        *unknown_columns(side.policy, earlier, whole=side.whole),
        *_unknown_attributes(side, earlier),
        *_idle_pairs(side, earlier),
        *_vague_pairs(side, earlier),
    ]
    linked = {}
    for name, one in earlier.items():
        try:
            linked[name] = Linked(name, one.table, list(_links(side, one)))
        except InputError as error:
            problems += error.problems
        else:
            problems += _outside(linked[name], one)
    if problems:
        raise InputError(list(dict.fromkeys(problems)))
    problems = [*_one_sided(side, linked), *_absent(side, earlier)]
    for name in linked:
        problems += _strangers(side, linked[name], earlier[name])
    if problems:
        raise InputError(problems)
    notes = (f"{one.where}: {note}" for one in earlier.values() for note in one.table.notes)
    return linked, (*notes, *_idle(side, earlier))


def neighbours(prepared: Prepared, output: Path) -> Prepared:
    """Warn of releases beside the new one that publish some of its columns and are not named.

    Two releases of one kind are mostly about the same people, and somebody will have both.
    """
    named = {path.resolve() for path in prepared.policy.earlier}
    released = set(prepared.roles.released)
    beside: dict[str, list[str]] = {}
    for place in sorted(_beside(output)):
        here = place.resolve()
        if here == output.resolve() or not release_folder.is_release(place):
            continue
        if any(here == path or here in path.parents for path in named):
            continue
        if shared := [name for name in folder.columns_in(place) if name in released]:
            beside[place.name] = shared
    if not beside:
        return prepared
    shared = list(dict.fromkeys(name for names in beside.values() for name in names))
    one, *more = beside
    aside = (
        f"the releases {listed(list(beside))} stand beside this one and publish some of "
        f"{quoted(shared)}, too: whoever has them can join them. If they are about the same "
        "people, name them in [previous], or with --previous."
    )
    if not more:
        aside = (
            f"the release {one} stands beside this one and publishes {quoted(shared)}, too: "
            "whoever has both can join them. If it is about the same people, name it in "
            "[previous], or with --previous."
        )
    return replace(prepared, asides=(aside,))


def _beside(output: Path) -> list[Path]:
    try:
        return list(output.absolute().parent.iterdir())
    except OSError:  # a folder that may be written to, and not looked into
        return []


# --- who may be whom -----------------------------------------------------------------------------


def _links(side: Side, earlier: Earlier) -> Iterator[Link]:
    """The columns of ours that tell which rows of an earlier release may be the same person's."""
    policy = side.policy
    problems: list[Problem] = []
    pairs = [tuple(pair.items()) for pair in policy.inconsistent]
    pairs += [(second, first) for first, second in pairs]
    for name in side.released:
        values: Values | None = None
        joins = policy.attributes[name].join if name in policy.attributes else True
        if name in earlier.published and joins:
            try:
                values = _values(side, earlier, name)
            except InputError as error:
                problems += error.problems
                continue
        apart = tuple(
            (mine, _meaning(side, earlier, name), column,
             _meaning(side, earlier, column), theirs_)
            for (own, mine), (column, theirs_) in pairs
            if own == name and column in earlier.published and column != name
        )  # fmt: skip
        if values or apart:
            yield Link(name, values, apart)
    if problems:
        raise InputError(problems)


def _values(side: Side, earlier: Earlier, name: str) -> Values:
    """How the values of a common column meet."""
    found = _meaning(side, earlier, name)
    mine, other = side.table.columns[name], earlier.table.columns[name]
    if not isinstance(found, Plain):
        marker = side.policy.marker
        odd = [text for text in mine.texts() if text != marker and not found.knows(text)]
        if odd:
            tree = isinstance(found, Branches)
            raise InputError(
                Problem(
                    f"{len(odd)} values of this column are "
                    + ("not in its taxonomy" if tree else "neither points nor intervals"),
                    where=f'column "{name}"',
                    why=f"nobody could say whom they match in release {earlier.name}.",
                    do="give the whole taxonomy in  [attributes],  with all leaves."
                    if tree
                    else "tell --date-format and --decimal, or name missing_values.",
                    values=tuple(map(str, odd)),
                )
            )
    learnt = name in side.learnt
    markers = {side.policy.marker, earlier.marker}
    both = all(_continuous(side, column, markers) for column in (mine, other))
    if isinstance(found, Plain) and not _declared(side, name) and (learnt or both):
        raise InputError(
            "both tables publish this column, and it is continuous",
            where=f'column "{name}"',
            why=f"somebody may join release {earlier.name} by it.",
            do="give it fixed  intervals,  or say  join = false  if nobody can.",
        )
    return found


def are_times(bounds: Sequence[Any]) -> bool:
    """Whether the ends of intervals are times, and not numbers.

    >>> are_times([0, 50.5]), are_times(["2019-01-01", "2020-01-01"])
    (False, True)
    """
    if not isinstance(bounds[0], str):
        return not isinstance(bounds[0], int | float)
    return kind_of(Column("", np.zeros(1, np.uint8), pa.array(bounds[:1]))) != "number"


def _declared(side: Side, name: str) -> bool:
    """Whether the policy says that a column is not continuous."""
    attribute = side.policy.attributes.get(name)
    return attribute is not None and attribute.mask in ("suppress", "generalize")


def _continuous(side: Side, column: Column, markers: Collection[str]) -> bool:
    """Whether a column holds numbers, times or intervals of them, as far as it shows anything."""
    shown = [text for text in column.texts() if text is not None and text not in markers]
    intervals = shown and all(text.startswith("[") and "," in text for text in shown)
    reading = side.reading
    kind = kind_of(column, decimal=reading.decimal, date_format=reading.date_format)
    return bool(intervals) or kind not in ("text", "boolean")


def _meaning(side: Side, earlier: Earlier, name: str) -> Values:
    """How printed values of a column are related, by the policy or the release itself."""
    policy, hidden = side.policy, (side.policy.marker, earlier.marker)
    attribute = policy.attributes.get(name)
    taxonomy = side.taxonomies.get(name) or earlier.taxonomies.get(name)
    if taxonomy is not None:
        return Branches(taxonomy, hidden)
    if attribute is not None and attribute.intervals:
        reading = side.reading
        kind = "date" if are_times(attribute.intervals) else "number"
        return Spans(hidden, point_reader(kind, reading.decimal, reading.date_format))
    return Plain(hidden)


# --- what can be wrong ---------------------------------------------------------------------------


def unknown_columns(
    policy: Policy, earlier: Mapping[str, Earlier], *, whole: bool = True
) -> Iterator[Problem]:
    """Columns of theirs that promises name, and that are not there or were never published.

    `whole`: those that are only counted must be there, too.
    """
    for promise in policy.promises:
        for release in (name for name in promise.releases if name in earlier):
            one = earlier[release]
            shown = theirs(promise.over, release)
            counted: tuple[str, ...] = ()
            if isinstance(promise, Anonymity):
                counted = theirs(promise.of, release) if whole else ()
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


def _unknown_attributes(side: Side, earlier: Mapping[str, Earlier]) -> Iterator[Problem]:
    known = {*side.table.known, *(n for one in earlier.values() for n in one.table.known)}
    if not side.whole:
        known |= {
            *side.policy.drop,
            *(n for one in side.policy.previous.values() for n in one.drop),
        }
    for name in side.policy.attributes:
        if name not in known:
            yield Problem(
                f'there is no column "{name}"', where=f"{side.policy.name}, attributes",
                do=did_you_mean(name, sorted(known)) or f"the table has {quoted(sorted(known))}.",
            )  # fmt: skip


def _idle_pairs(side: Side, earlier: Mapping[str, Earlier]) -> Iterator[Problem]:
    """Pairs of values that rule nothing out, as one of the columns stands nowhere."""
    own = side.released
    for i, pair in enumerate(side.policy.inconsistent, 1):
        first, second = pair
        if not any(
            (first in own and second in one.published) or (second in own and first in one.published)
            for one in earlier.values()
        ):
            known = {*own, *(name for one in earlier.values() for name in one.published)}
            guesses = [did_you_mean(name, sorted(known)) for name in pair if name not in known]
            yield Problem(
                f"no release has one of {quoted(list(pair))} where this table has the other",
                where=f"{side.policy.name}, [[inconsistent]] {i}",
                do=next(filter(None, guesses), "")
                or "name published columns, one of this table and one of an earlier release.",
            )


def _vague_pairs(side: Side, earlier: Mapping[str, Earlier]) -> Iterator[Problem]:
    """Pairs of which nobody can say what they rule out, as intervals are not told."""
    trees = {*side.taxonomies, *(name for one in earlier.values() for name in one.taxonomies)}
    for i, pair in enumerate(side.policy.inconsistent, 1):
        for name, value in pair.items():
            if name in trees or not _may_be_learnt(side.policy, name):
                continue
            if name in side.learnt or _INTERVAL.fullmatch(value):
                yield Problem(
                    f'nobody can say which intervals of column "{name}" this rules out',
                    where=f"{side.policy.name}, [[inconsistent]] {i}",
                    do=f'give it fixed  intervals  in  [attributes."{name}"].',
                )


def _occurs(side: Side, earlier: Mapping[str, Earlier], name: str, value: str) -> bool:
    """Whether a value stands in some table, in a taxonomy, or is an interval."""
    tables = [side.table, *(one.table for one in earlier.values())]
    columns = [table.columns[name] for table in tables if name in table.columns]
    trees = [side.taxonomies, *(one.taxonomies for one in earlier.values())]
    attribute = side.policy.attributes.get(name)
    return (
        any(value in column.texts() for column in columns)
        or any(value in tree[name].labels for tree in trees if name in tree)
        or bool(attribute and attribute.intervals)
    )


def _idle(side: Side, earlier: Mapping[str, Earlier]) -> Iterator[str]:
    """What is said of earlier releases, and changes nothing."""
    masked = set() if side.whole else columns_of(side.policy.promises)[0]
    for i, pair in enumerate(side.policy.inconsistent, 1):
        for name, value in pair.items():
            if name not in masked and not _occurs(side, earlier, name, value):
                yield (
                    f'[[inconsistent]] {i} rules nothing out: column "{name}" has no value '
                    f'"{value}".'
                )
    for name in earlier:
        if name not in side.policy.joined:
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


def _one_sided(side: Side, linked: Mapping[str, Linked]) -> Iterator[Problem]:
    """A common column stands in an `over` from both sides, or from neither."""
    for place, promise in side.policy.places():
        for release in promise.releases:
            common = [link.column for link in linked[release].links if link.values]
            mine, other = ours(promise.over), theirs(promise.over, release)
            odd = [name for name in common if (name in mine) != (name in other)]
            if odd:
                sides = [f"{release}.{n}" if n in other else n for n in odd]
                yield Problem(
                    f"{listed(sides)} joins the tables, and only one side of it stands here",
                    where=f"{side.policy.name}, {place}, over",
                    why="the more specific of the two decides what is known.",
                    do="list it from both sides, or from neither.",
                )


def _absent(side: Side, earlier: Mapping[str, Earlier]) -> Iterator[Problem]:
    """Sensitive values of theirs that do not occur."""
    for promise in side.policy.confidence:
        for release in promise.releases:
            for name, wanted in promise.sensitive.items():
                if wanted == "*" or promise.allow_absent or not theirs([name], release):
                    continue
                texts = earlier[release].table.columns[theirs([name], release)[0]].texts()
                if absent := [value for value in wanted if value not in texts]:
                    yield absent_values(name, absent)


def _strangers(side: Side, linked: Linked, earlier: Earlier) -> Iterator[Problem]:
    """Records that match nothing on the other side, even before anything is masked."""
    from reticent.refine.previous.kernels import matched

    if not linked.links:
        return
    columns = [side.table.columns[link.column] for link in linked.links]
    found = distinct(
        [c.codes for c in columns], [max(len(c.values), 1) for c in columns], side.table.counts
    )
    tuples, sets = linked.sets([column.texts() for column in columns], found.columns)
    mine = np.zeros(len(found.counts), dtype=bool)
    other = np.zeros(linked.words, dtype=np.uint64)
    matched(tuples, sets, mine, other)
    bits = np.unpackbits(other.view(np.uint8), bitorder="little")[: len(linked.counts)]
    alone = int(found.counts[~mine].sum()), int(linked.counts[bits == 0].sum())
    if any(alone):
        only = "leave those out who are not in the earlier release"
        if not alone[0]:
            only = "take those in who are only in the earlier release, which is out"
        yield Problem(
            f"{alone[0]:,} records of this table match nothing in release {earlier.name}, and "
            f"{alone[1]:,} of its records match nothing here",
            where=earlier.where,
            why="the two are not about the same people, or do not say the same of them.",
            do=f"{only}, or correct taxonomies and [[inconsistent]].",
        )
