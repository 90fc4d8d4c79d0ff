"""Earlier releases laid beside the table to release: who may be whom, and what keeps them apart.

Whoever has an earlier release links it with the new one by the columns that both publish. What is
wrong between the two is found here, all of it at once, before any search.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from reticent.data.collapse import distinct
from reticent.data.columns import Column, Table
from reticent.data.linking import Branches, Link, Linked, LinkedValues, Plain, Spans, point_reader
from reticent.data.scales import interval_ends, kind_of
from reticent.data.taxonomy import Taxonomy
from reticent.errors import Problem, did_you_mean, listed, quoted, refuse
from reticent.files.tabular import Reading
from reticent.privacy.promises import Anonymity, Theirs, columns_of, ours, theirs
from reticent.privacy.words import joined
from reticent.releases.policyfile import unknown_column
from reticent.tables.policy import Policy
from reticent.tables.prepare import Prepared, absent, cleared
from reticent.tables.previous.people import people_in_both
from reticent.tables.previous.read import Earlier, are_times, meeting


@dataclass(frozen=True, slots=True)
class NewTable:
    """The table beside which earlier releases stand: to be released, or out."""

    policy: Policy
    table: Table  # missing values are null
    published: tuple[str, ...]
    taxonomies: Mapping[str, Taxonomy]
    reading: Reading
    learnt: frozenset[str]  # columns whose intervals the search finds
    whole: bool = True  # columns that are counted and not published are at hand

    @classmethod
    def out(
        cls, policy: Policy, table: Table, taxonomies: Mapping[str, Taxonomy],
        reading: Reading | None,
    ) -> NewTable:  # fmt: skip
        """One that is out."""
        cleaned = cleared(table, policy, policy.marker)
        learnt = frozenset(
            name
            for name in columns_of(policy.promises)[0] & cleaned.columns.keys()
            if _may_be_learnt(policy, name)
            and any(interval_ends(text or "") for text in cleaned.columns[name].texts())
        )
        published = tuple(name for name in table.known if name not in policy.drop)
        told = reading or Reading()
        return cls(policy, cleaned, published, taxonomies, told, learnt, whole=False)


def _may_be_learnt(policy: Policy, name: str) -> bool:
    """Whether a search may have found the intervals of a column."""
    attribute = policy.attributes.get(name)
    if attribute is None or attribute.mask is None:
        return True
    return attribute.mask == "discretize" and not attribute.intervals


def lay_beside(prepared: Prepared, earlier: Mapping[str, Earlier]) -> Prepared:
    """Lay earlier releases beside a table, or say everything that keeps them apart."""
    new = NewTable(
        prepared.policy, prepared.cleaned, prepared.roles.released, prepared.taxonomies,
        prepared.reading,
        frozenset(d.name for d in prepared.domains if d.mask == "discretize" and not d.bins),
    )  # fmt: skip
    linked, odd = check(new, earlier)
    told = meeting(
        prepared.policy, prepared.taxonomies, earlier, prepared.table.known, prepared.reading
    )
    people = people_in_both(prepared.policy, prepared.cleaned, earlier)
    return replace(prepared, earlier=linked, meeting=told, odd=odd, people=people)


def check(
    new: NewTable, earlier: Mapping[str, Earlier]
) -> tuple[dict[str, Linked], tuple[str, ...]]:
    """See how a table meets earlier releases, or say everything that keeps them apart.

    Also says what is declared and changes nothing.
    """
    problems = [
        *unknown_columns(new.policy, earlier, whole=new.whole),
        *_unknown_attributes(new, earlier),
        *_idle_pairs(new, earlier),
        *_vague_pairs(new, earlier),
        *_finer(new, earlier),
    ]
    linked = {}
    for name, one in earlier.items():
        links = list(_links(new, one))
        problems += _merged(new, one, links)
        common = [(link.column, link.values) for link in links if link.values]
        unclear = [p for column, values in common for p in _unclear(new, one, column, values)]
        problems += unclear
        if not unclear:
            linked[name] = Linked(name, one.table, links)
            problems += _outside(linked[name], one)
    refuse(dict.fromkeys(problems))
    problems = [*_one_sided(new, linked), *_absent(new, earlier)]
    for name in linked:
        problems += _strangers(new, linked[name], earlier[name])
    refuse(problems)
    notes = (f"{one.where}: {note}" for one in earlier.values() for note in one.table.notes)
    return linked, (*notes, *_idle(new, earlier))


# --- who may be whom -----------------------------------------------------------------------------


def _links(new: NewTable, earlier: Earlier) -> Iterator[Link]:
    """The columns of ours that tell which rows of an earlier release may be the same person's."""
    pairs = [tuple(pair.items()) for pair in new.policy.inconsistent]
    pairs += [(second, first) for first, second in pairs]
    for name in new.published:
        attribute = new.policy.attributes.get(name)
        common = name in earlier.published and (attribute is None or attribute.join)
        values = _meaning(new, earlier, name) if common else None
        apart = tuple(
            (mine, _meaning(new, earlier, name), column, _meaning(new, earlier, column), other)
            for (own, mine), (column, other) in pairs
            if own == name and column in earlier.published and column != name
        )
        if values or apart:
            yield Link(name, values, apart)


def _continuous(new: NewTable, column: Column, markers: Collection[str]) -> bool:
    """Whether a column holds numbers, times or intervals of them, as far as it shows anything."""
    shown = [text for text in column.texts() if text is not None and text not in markers]
    intervals = shown and all(text.startswith("[") and "," in text for text in shown)
    return bool(intervals) or kind_of(column, **new.reading.form) not in ("text", "boolean")


def _meaning(new: NewTable, earlier: Earlier, name: str) -> LinkedValues:
    """How printed values of a column are related, by the policy or the release itself."""
    policy, hidden = new.policy, (new.policy.marker, earlier.marker)
    attribute = policy.attributes.get(name)
    taxonomy = new.taxonomies.get(name) or earlier.taxonomies.get(name)
    if taxonomy is not None:
        return Branches(taxonomy, hidden)
    if attribute is not None and attribute.intervals:
        kind = "date" if are_times(attribute.intervals) else "number"
        return Spans(hidden, point_reader(kind, **new.reading.form))
    return Plain(hidden)


# --- what can be wrong ---------------------------------------------------------------------------


def _unclear(new: NewTable, earlier: Earlier, name: str, values: LinkedValues) -> Iterator[Problem]:
    """Why nobody could say how the values of a common column meet."""
    columns = new.table.columns[name], earlier.table.columns[name]
    hidden = new.policy.marker, earlier.marker
    attribute = new.policy.attributes.get(name)
    if not isinstance(values, Plain):
        odd = [text for text in columns[0].texts() if text != hidden[0] and not values.knows(text)]
        tree = isinstance(values, Branches)
        if odd:
            yield Problem(
                f"{len(odd)} values of this column are "
                + ("not in its taxonomy" if tree else "neither points nor intervals"),
                where=f'column "{name}"',
                why=f"nobody could say whom they match in release {earlier.name}.",
                do="give the whole taxonomy in  [attributes],  with all leaves."
                if tree
                else "tell --date-format and --decimal, or name missing_values.",
                values=tuple(map(str, odd)),
            )
    elif attribute is not None and attribute.mask in ("suppress", "generalize"):
        return  # the policy says that it is not continuous
    elif name in new.learnt or all(_continuous(new, column, hidden) for column in columns):
        yield Problem(
            "both tables publish this column, and it is continuous",
            where=f'column "{name}"',
            why=f"somebody may join release {earlier.name} by it.",
            do="give it fixed  intervals,  or say  join = false  if nobody can.",
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
                    yield unknown_column(column, one.where, one.table.columns, it="it")
                elif column in shown and column not in one.published:
                    yield Problem(
                        f'column "{column}" was never published, as  drop  says', where=one.where,
                        why="nobody can know people by it.", do="it can be counted by  of  only.",
                    )  # fmt: skip


def _unknown_attributes(new: NewTable, earlier: Mapping[str, Earlier]) -> Iterator[Problem]:
    known = {*new.table.known, *(n for one in earlier.values() for n in one.table.known)}
    if not new.whole:
        known = known.union(new.policy.drop, *(p.drop for p in new.policy.previous.values()))
    for name in new.policy.attributes:
        if name not in known:
            yield unknown_column(name, f"{new.policy.name}, attributes", sorted(known))


def _idle_pairs(new: NewTable, earlier: Mapping[str, Earlier]) -> Iterator[Problem]:
    """Pairs of values that rule nothing out, as one of the columns stands nowhere."""
    own = new.published
    for i, pair in enumerate(new.policy.inconsistent, 1):
        first, second = pair
        if not any(
            (first in own and second in one.published) or (second in own and first in one.published)
            for one in earlier.values()
        ):
            known = {*own, *(name for one in earlier.values() for name in one.published)}
            guesses = [did_you_mean(name, sorted(known)) for name in pair if name not in known]
            yield Problem(
                f"no release has one of {quoted(list(pair))} where this table has the other",
                where=f"{new.policy.name}, [[inconsistent]] {i}",
                do=next(filter(None, guesses), "")
                or "name published columns, one of this table and one of an earlier release.",
            )


def _vague_pairs(new: NewTable, earlier: Mapping[str, Earlier]) -> Iterator[Problem]:
    """Pairs of which nobody can say what they rule out, as intervals are not told."""
    trees = {*new.taxonomies, *(name for one in earlier.values() for name in one.taxonomies)}
    for i, pair in enumerate(new.policy.inconsistent, 1):
        for name, value in pair.items():
            if name in trees or not _may_be_learnt(new.policy, name):
                continue
            if name in new.learnt or interval_ends(value):
                yield Problem(
                    f'nobody can say which intervals of column "{name}" this rules out',
                    where=f"{new.policy.name}, [[inconsistent]] {i}",
                    do=f'give it fixed  intervals  in  [attributes."{name}"].',
                )


def _finer(new: NewTable, earlier: Mapping[str, Earlier]) -> Iterator[Problem]:
    """Columns that are made coarse here and met earlier in cells that cannot be compared."""
    for floor in new.policy.floors(new.taxonomies):
        if not new.policy.attributes[floor.column].join:
            continue
        together = floor.coarsen.top is not None or floor.coarsen.oldest is not None
        for one in (one for one in earlier.values() if floor.column in one.published):
            finer = new.policy.door(new.reading).changes_cells(one.table.columns[floor.column])
            if finer or (floor.edges is not None and together):
                yield Problem(
                    f'column "{floor.column}" is made coarser here, and {one.where} tells it '
                    + ("more finely" if finer else "in other words"),
                    where=f'{new.policy.name}, attribute "{floor.column}", coarsen',
                    why="nobody can count who may be whom by cells that are written differently.",
                    do="coarsen that release alike, drop the column here, or say  join = false  "
                    "if nobody can know people by it.",
                )


def _merged(new: NewTable, earlier: Earlier, links: Collection[Link]) -> Iterator[Problem]:
    """Columns that tell people apart, as they are out, further than would be counted here.

    Of values that are inferred (`sensitive`) or counted (`of`) merging hides nothing: together they
    are surer than each of them, and fewer.
    """
    promises = [one for one in new.policy.promises if earlier.name in one.releases]
    if not promises:
        return
    used = [name for one in promises for name in theirs(one.over, earlier.name)]
    used += [link.column for link in links if link.values]
    used += [column for link in links for _, _, column, _, _ in link.apart]
    for name in dict.fromkeys(used):
        if name in earlier.table.columns and earlier.merges(name):
            yield Problem(
                f'column "{name}" shows cells apart that  same,  trim  or  missing_values  make '
                "one",
                where=earlier.where,
                why="that release is out as it is: whoever has it sees more than would be counted.",
                do="leave them apart in the policy, too; or, if nobody has to be counted by this "
                "column, leave it out of the promise and drop it here, or say  join = false.",
            )


def _occurs(new: NewTable, earlier: Mapping[str, Earlier], name: str, value: str) -> bool:
    """Whether a value stands in some table, in a taxonomy, or is an interval."""
    attribute = new.policy.attributes.get(name)
    sides: list[NewTable | Earlier] = [new, *earlier.values()]
    return bool(attribute and attribute.intervals) or any(
        (name in side.table.columns and value in side.table.columns[name].texts())
        or (name in side.taxonomies and value in side.taxonomies[name].labels)
        for side in sides
    )


def _idle(new: NewTable, earlier: Mapping[str, Earlier]) -> Iterator[str]:
    """What is said of earlier releases, and changes nothing."""
    masked = set() if new.whole else columns_of(new.policy.promises)[0]
    for i, pair in enumerate(new.policy.inconsistent, 1):
        for name, value in pair.items():
            if name not in masked and not _occurs(new, earlier, name, value):
                yield (
                    f'[[inconsistent]] {i} rules nothing out: column "{name}" has no value '
                    f'"{value}".'
                )
    for name in earlier:
        if name not in new.policy.releases:
            yield (
                f"release {name} is declared, but no template names a column of it: nothing is "
                "promised about joining the two."
            )


def _one_sided(new: NewTable, linked: Mapping[str, Linked]) -> Iterator[Problem]:
    """A common column stands in an `over` from both sides, or from neither."""
    for place, promise in new.policy.places():
        for release in promise.releases:
            common = [link.column for link in linked[release].links if link.values]
            mine, other = ours(promise.over), theirs(promise.over, release)
            odd = [name for name in common if (name in mine) != (name in other)]
            if odd:
                sides = [f"{release}.{n}" if n in other else n for n in odd]
                yield Problem(
                    f"{listed(sides)} joins the tables, and only one side of it stands here",
                    where=f"{new.policy.name}, {place}, over",
                    why="the more specific of the two decides what is known.",
                    do="list it from both sides, or from neither.",
                )


def _absent(new: NewTable, earlier: Mapping[str, Earlier]) -> Iterator[Problem]:
    """Sensitive values of theirs that do not occur."""
    for promise in new.policy.confidence:
        for name in promise.sensitive:
            if isinstance(name, Theirs):
                column = earlier[name.release].table.columns[name.column]
                yield from absent(promise, name, column)


def _strangers(new: NewTable, linked: Linked, earlier: Earlier) -> Iterator[Problem]:
    """Records that match nothing on the other side, even before anything is masked."""
    from reticent.refine.previous.kernels import find_matches

    if not linked.links:
        return
    columns = [new.table.columns[link.column] for link in linked.links]
    found = distinct(
        [c.codes for c in columns], [max(len(c.values), 1) for c in columns], new.table.counts
    )
    tuples, sets = linked.sets([column.texts() for column in columns], found.columns)
    mine = np.zeros(len(found.counts), dtype=bool)
    other = np.zeros(linked.words, dtype=np.uint64)
    find_matches(tuples, sets, mine, other)
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
            why="the two are not about the same people, or do not say the same of them"
            f"{_as_ids_tell(new, earlier)}.",
            do=f"{only}, or correct taxonomies and [[inconsistent]].",
        )


def _as_ids_tell(new: NewTable, earlier: Earlier) -> str:
    """How many people are in both, where somebody can tell."""
    [people] = people_in_both(new.policy, new.table, {earlier.name: earlier})
    told = f"{people.both:,} of {people.here:,} people here are there, too"
    return f"; {told}, as {joined(people.by)} tells" if people.by and new.whole else ""
