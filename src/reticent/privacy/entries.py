"""Safe entries: no association rule of a published table gives a hidden entry back.

A table has condition columns and one sensitive column; some people asked that their sensitive entry
be hidden, and other entries may be hidden, too, to protect these. An attacker counts rules in what
is published and applies them to such a record. A rule p → s of record t takes a pattern p, some of
the condition values that t still shows, to its true value s. It is unsafe if both

    supp(p ∪ s) > minsupp    and    supp(p ∪ s) / supp(p) > minconf.

All published records count. A hidden entry matches nothing: so t itself is in supp(p), and not in
supp(p ∪ s). The table is safe if no rule of a protected record is unsafe. Source: Li,
Shirani-Mehr and Yang 2007, Protecting Individual Information Against Inference Attacks in Data
Publishing, sections 2.1 and 2.2.

| paper | here | |
| --- | --- | --- |
| t, a sensitive record | asked | somebody asked that its sensitive entry be hidden |
| t[S] | truth | what the entry was |
| p, a condition pattern | columns | those of the values that t shows and p takes |
| supp(p) | support | published records that have p |
| supp(p ∪ s) | own | those of them that show s |
| conf(r) | confidence | own / support |
| minsupp, minconf | `min_support`, `min_confidence` | |

How a recount goes:

1. Equal published rows are counted once, ordered by sensitive value; so are asked records that show
   the same conditions: a profile.
2. Each row agrees with a profile in some columns: a set of bits. How many records agree in at least
   a set of columns is a sum over its supersets, made for all sets at once, one column after the
   other; over all rows this is supp(p), over those with value s it is supp(p ∪ s).
3. A profile that shows too many columns for that, or of which only small patterns are asked for, is
   walked through pattern by pattern, as long as more than minsupp of them show s.
4. Two profiles share the rules over values they have in common. Such a rule counts once, with the
   first of them: it is part of their agreement, so again one sum over supersets tells all.

Cost: columns · (rows + 2^columns) for a profile and a value, or a walk that can take much longer.
So there is a budget of work, in cells and patterns looked at, never in seconds.

This is the verifier of tables with hidden entries. It shares no line with the search for them,
but for how loops are compiled and a processor's own instructions for bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import comb
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from reticent.data.collapse import distinct
from reticent.errors import many
from reticent.privacy.promises import Record, Share, no_more_than
from reticent.privacy.words import measured, percent

BUDGET = 200_000_000_000  # cells and patterns looked at: about a minute
_SUMMED = 22  # columns of a profile; of more, a list of all patterns takes too long
_STEP = 6  # a row that a walk looks at takes as long as so many cells
_FIRST = 10  # places of altered cells that are named
_PLENTY = 2**62  # a larger budget would not fit the loops' numbers

Codes = NDArray[np.int32]
Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]


class SafeEntries(Record):
    """Nobody can tell a hidden entry from how often its value goes with what its record shows.

    >>> SafeEntries(min_support=60, min_confidence=0.6, max_pattern=3).text
    'whoever looks for records that share up to 3 of the values that a protected record shows finds
    its hidden value in at most 60 of them, or in at most 60% of them'
    """

    kind: ClassVar[Literal["entries"]] = "entries"
    min_support: int = Field(
        ge=0, strict=True, description="A rule that at most so many records follow is no evidence."
    )
    min_confidence: Share = Field(description='The largest confidence allowed: 0.6 or "3/5".')
    max_pattern: int | None = Field(
        default=None,
        ge=1,
        strict=True,
        description="How many values a rule may start from; None: any number.",
    )

    @property
    def text(self) -> str:
        """The promise in words."""
        shared = "any" if self.max_pattern is None else f"up to {self.max_pattern}"
        shared = "one" if self.max_pattern == 1 else shared
        return (
            f"whoever looks for records that share {shared} of the values that a protected record "
            f"shows {self._finds}"
        )

    def plain_words(self, sensitive: str) -> str:
        """The promise for people who decide about a release, without statistics.

        >>> SafeEntries(min_support=60, min_confidence=0.6, max_pattern=2).plain_words("job")
        'Whoever compares somebody who asked with others who share up to 2 of their values finds
        their job in at most 60 % of them, or in at most 60 records.'
        """
        if self.min_confidence == 1:
            return f"Only what was asked for is hidden: others may give away their {sensitive}."
        shared = "any" if self.max_pattern is None else f"up to {self.max_pattern}"
        shared = "one" if self.max_pattern == 1 else shared
        few, most = self.min_support, measured(self.min_confidence)
        who = f"Whoever compares somebody who asked with others who share {shared} of their values"
        if self.min_confidence == 0:
            least = f"at most {few:,}" if few else "none"
            return f"{who} finds their {sensitive} in {least} of them."
        also = f", or in at most {many(few, 'record')}" if few else ""
        return f"{who} finds their {sensitive} in at most {most} of them{also}."

    @property
    def in_the_field(self) -> str:
        """The promise in the words of the field.

        >>> SafeEntries(min_support=60, min_confidence=0.6).in_the_field
        'local suppression: of the entries asked for (primary), and of others (secondary) until no
        association rule about those who asked has a support above 60 and a confidence above 60 %'
        """
        said = "local suppression: of the entries asked for (primary)"
        if self.min_confidence == 1:
            return said
        few = f"a support above {self.min_support:,} and " if self.min_support else ""
        most = f"of up to {self.max_pattern} conditions " if self.max_pattern else ""
        return (
            f"{said}, and of others (secondary) until no association rule {most}about those who "
            f"asked has {few}a confidence above {measured(self.min_confidence)}"
        )

    @property
    def emptiness(self) -> str:
        """Why it promises nothing beyond the requests; no text if it does."""
        if self.min_confidence < 1:
            return ""
        return "min_confidence = 1 allows every inference, so requests are all that is hidden."

    def facts(self) -> dict[str, Any]:
        """What it is about, as reports for programs have it."""
        return {
            "kind": self.kind,
            "min_support": self.min_support,
            "min_confidence": str(self.min_confidence),
            "max_pattern": "unlimited" if self.max_pattern is None else self.max_pattern,
        }

    @property
    def _finds(self) -> str:
        """How often somebody may find a hidden value among such records."""
        few, share = self.min_support, self.min_confidence
        if share == 1:
            return "may find its hidden value in all of them"
        parts = [f"in at most {few:,} of them"] if few else []
        if share:
            exact = "" if 10_000 % share.denominator == 0 else f" ({share})"
            parts.append(f"in at most {percent(share, '%')}{exact} of them")
        return f"finds its hidden value {', or '.join(parts) or 'in none of them'}"


@dataclass(frozen=True, slots=True)
class PublishedEntries:
    """A table as it is published: a code for each entry, -1 where it is hidden or empty."""

    conditions: Codes  # by record and column
    values: Codes  # the sensitive column, by record

    def __post_init__(self) -> None:
        if self.conditions.ndim != 2 or self.values.shape != self.conditions.shape[:1]:
            raise ValueError("conditions have a row, and values an entry, for each record")
        if len(self) >= 2**31:
            raise ValueError("at most 2,147,483,647 records can be recounted")
        if min(self.conditions.min(initial=-1), self.values.min(initial=-1)) < -1:
            raise ValueError("codes are numbers from 0, or -1 for what is hidden")

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True)
class EntryExposure:
    """A record with unsafe rules, and the strongest of them.

    That is the one with the highest confidence, then support, then the fewest columns, then the
    first ones, then (where the truth is not known) the first value.
    """

    record: int  # from 0 on, as everywhere here
    rules: int  # unsafe ones that point at it
    columns: tuple[int, ...]  # where the values stand that the strongest starts from
    value: int  # the code it points to
    support: int  # records that share these values
    own: int  # those of them that show the value

    @property
    def confidence(self) -> Fraction:
        """The share of those that show the value."""
        return Fraction(self.own, self.support)


@dataclass(frozen=True, slots=True)
class EntryFinding:
    """What a recount gave."""

    promise: SafeEntries
    holds: bool | None  # None: not decided within the budget
    exposed: tuple[EntryExposure, ...]  # by record
    unsafe: int  # different unsafe rules; records may share one
    largest: Fraction | None  # confidence of any rule that more than min_support records follow
    visible: tuple[int, ...]  # asked records whose entry is published all the same
    complete: bool  # False: the budget was spent, and there may be more than is counted here
    work: int  # cells and patterns looked at


def recount(
    published: PublishedEntries,
    promise: SafeEntries,
    asked: Numbers,
    truth: Codes | None,
    *,
    budget: int = BUDGET,
) -> EntryFinding:
    """Decide from what is published whether the entries of the asked records are safe.

    `truth` has the true value of each asked record: a code as in `published.values`, one that
    nobody shows any more, or -1 where there was nothing to hide. None: it is not known, and each
    value that somebody shows is tried for each of them.

    Record 0 is hidden; of three records with its first value, two show value 7:

    >>> conditions = np.array([[1, 0], [1, 2], [1, 0], [3, 0]], np.int32)
    >>> published = PublishedEntries(conditions, np.array([-1, 7, 7, 8], np.int32))
    >>> promise = SafeEntries(min_support=1, min_confidence=0.5)
    >>> found = recount(published, promise, np.array([0]), np.array([7], np.int32))
    >>> found.holds, found.unsafe, found.largest
    (False, 1, Fraction(2, 3))
    >>> found.exposed[0].columns, found.exposed[0].own, found.exposed[0].support
    ((0,), 2, 3)
    """
    _check(published, asked, truth)
    visible = np.sort(asked[published.values[asked] >= 0])
    rows = _EntryRows(published)
    found = _Count(rows, promise, min(budget, _PLENTY))
    for profile in _profiles(published, asked, truth, rows.values):
        found.add(profile)
    broken = bool(found.exposed) or len(visible) > 0
    return EntryFinding(
        promise,
        False if broken else None if found.tired else True,
        tuple(found.exposed[record] for record in sorted(found.exposed)),
        found.unsafe,
        found.largest,
        tuple(visible.tolist()),
        not found.tired,
        found.work,
    )


def _check(published: PublishedEntries, asked: Numbers, truth: Codes | None) -> None:
    inside = (asked >= 0) & (asked < len(published))
    if asked.ndim != 1 or not inside.all() or len(np.unique(asked)) < len(asked):
        raise ValueError("asked must name records of the table, each once")
    if truth is not None and truth.shape != asked.shape:
        raise ValueError("the truth is known of each asked record, or of none")


@dataclass(frozen=True, slots=True)
class _Profile:
    """Asked records that show the same conditions."""

    conditions: Codes  # what they show, -1 where they show nothing
    records: dict[int, list[int]] = field(default_factory=dict)  # by the value to be tried


def _profiles(
    published: PublishedEntries, asked: Numbers, truth: Codes | None, values: Iterable[int]
) -> list[_Profile]:
    """The different profiles of asked records, by first record; only values that are published."""
    known = set(values)
    found: dict[bytes, _Profile] = {}
    for i in np.argsort(asked).tolist():
        conditions = published.conditions[asked[i]]
        profile = found.setdefault(conditions.tobytes(), _Profile(conditions))
        for value in sorted(known) if truth is None else known & {int(truth[i])}:
            profile.records.setdefault(value, []).append(int(asked[i]))
    return list(found.values())


class _EntryRows:
    """The different rows of a published table, ordered by sensitive value."""

    def __init__(self, published: PublishedEntries) -> None:
        columns = [published.values, *published.conditions.T]
        sizes = [int(column.max(initial=-1)) + 2 for column in columns]
        kind = np.uint8 if max(sizes) <= 2**8 else np.uint32
        cells = [(column.astype(np.int64) + 1).astype(kind) for column in columns]  # 0: hidden
        found = distinct(cells, sizes)
        self.cells = np.empty((len(columns) - 1, len(found.counts)), kind)
        for line, column in zip(self.cells, found.columns[1:], strict=True):
            line[:] = column
        self.weights = found.counts.astype(np.int32)
        values, *where = np.unique(found.columns[0], return_index=True, return_counts=True)
        runs = zip(values.tolist(), *(part.tolist() for part in where), strict=True)
        self.values = {value - 1: slice(at, at + size) for value, at, size in runs if value}
        self.often = {value: int(found.counts[run].sum()) for value, run in self.values.items()}

    def __len__(self) -> int:
        return len(self.weights)


@dataclass(frozen=True, slots=True)
class _Judged:
    """The rules of one profile to one value, of which there are some."""

    unsafe: int
    fresh: int  # unsafe ones that no earlier profile has
    columns: tuple[int, ...]  # of the strongest
    own: int
    support: int


class _Count:
    """What was found in the profiles so far, within a budget."""

    def __init__(self, rows: _EntryRows, promise: SafeEntries, budget: int) -> None:
        self.rows, self.most, self.budget = rows, promise.max_pattern, budget
        self.exposed: dict[int, EntryExposure] = {}
        self.unsafe = 0
        self.largest: Fraction | None = None
        self.work, self.tired = rows.cells.size, False
        records = int(rows.weights.sum(dtype=np.int64))
        limit = no_more_than(promise.min_confidence, records)
        self.least = min(promise.min_support, records)
        self.over, self.under = limit.numerator, limit.denominator
        self._earlier: dict[int, list[Codes]] = {}  # profiles with unsafe rules, by value

    def add(self, profile: _Profile) -> None:
        """Look at all rules of one more profile."""
        shown = np.flatnonzero(profile.conditions >= 0)
        values = [value for value in profile.records if self.rows.often[value] > self.least]
        if self.tired or not values or not len(shown):
            return
        most = min(len(shown), self.most or len(shown))
        judge = self._summed if self._fits_a_list(len(shown), most) else self._walked
        for value, judged in judge(profile.conditions, shown, values, most):
            self._note(value, judged, profile.records[value])
            if judged.unsafe:
                self._earlier.setdefault(value, []).append(profile.conditions)

    def _fits_a_list(self, width: int, most: int) -> bool:
        """Whether a list of all patterns takes less work than the longest walk through them."""
        if width > _SUMMED:
            return False
        patterns = sum(comb(width, size) for size in range(1, most + 1))
        return width << width <= _STEP * patterns * len(self.rows) or most == width

    def _note(self, value: int, judged: _Judged, records: list[int]) -> None:
        confidence = Fraction(judged.own, judged.support)
        self.largest = max(confidence, self.largest or confidence)
        self.unsafe += judged.fresh
        for record in records if judged.unsafe else ():
            fresh = EntryExposure(
                record, judged.unsafe, judged.columns, value, judged.support, judged.own
            )
            known = self.exposed.get(record)
            if known is not None:  # to another value
                rules = known.rules + fresh.rules
                fresh = replace(min(known, fresh, key=_by_strength), rules=rules)
            self.exposed[record] = fresh

    def _summed(
        self, conditions: Codes, shown: Numbers, values: list[int], most: int
    ) -> Iterator[tuple[int, _Judged]]:
        """Judge the rules of a profile by lists of all its patterns."""
        from reticent.privacy import patterns as loops

        rows, width = self.rows, len(shown)
        self.work += width * (len(rows) + (1 + len(values) << width))
        self.tired = self.work > self.budget
        if self.tired:
            return
        masks = np.empty(len(rows), np.uint32)
        support, own, before = np.empty((3, 1 << width), np.int32)
        rule = support, most, self.least, self.over, self.under
        loops.agreements(rows.cells, shown, self._codes(conditions, shown), masks)
        loops.supports(masks, rows.weights, support)
        for value in values:
            run = rows.values[value]
            loops.supports(masks[run], rows.weights[run], own)
            unsafe, best = loops.judged(own, *rule)
            earlier = self._shared(value, conditions, shown) if unsafe else np.empty(0, bool)
            shared = 0
            if len(earlier):
                alike = np.unique(earlier @ (1 << np.arange(width)[::-1])).astype(np.uint32)
                loops.supports(alike, np.ones(len(alike), np.int32), before)
                shared, _ = loops.judged(np.where(before, own, 0), *rule)
                self.work += earlier.size + (width << width)
            if best:
                columns = [int(shown[i]) for i in range(width) if best >> (width - 1 - i) & 1]
                ours = int(own[best]), int(support[best])
                yield value, _Judged(unsafe, unsafe - shared, tuple(columns), *ours)

    def _walked(
        self, conditions: Codes, shown: Numbers, values: list[int], most: int
    ) -> Iterator[tuple[int, _Judged]]:
        """Judge the rules of a profile one after the other."""
        from reticent.privacy import patterns as loops

        rows, best = self.rows, np.empty(most, np.int64)
        for value in values:
            run, everybody = rows.values[value], np.arange(len(rows), dtype=np.uint32)
            earlier = self._shared(value, conditions, shown)
            unsafe, fresh, size, own, support, work = loops.walked(
                rows.cells, rows.weights, shown, self._codes(conditions, shown),
                everybody[run].copy(), everybody, most, self.least, self.over, self.under,
                earlier, (self.budget - self.work) // _STEP, best,
            )  # fmt: skip
            self.work += _STEP * work
            self.tired = self.work > self.budget
            if size:
                columns = tuple(shown[best[:size]].tolist())
                yield value, _Judged(unsafe, fresh, columns, own, support)
            if self.tired:
                return

    def _codes(self, conditions: Codes, shown: Numbers) -> NDArray[Any]:
        """What a profile shows, as the rows have it."""
        return (conditions[shown].astype(np.int64) + 1).astype(self.rows.cells.dtype)

    def _shared(self, value: int, conditions: Codes, shown: Numbers) -> Mask:
        """By earlier profile with unsafe rules to a value: which of the shown ones it has, too."""
        earlier = self._earlier.get(value, [])
        if not earlier:
            return np.empty((0, len(shown)), bool)
        shared: Mask = np.stack(earlier)[:, shown] == conditions[shown]
        return shared


def _by_strength(rule: EntryExposure) -> tuple[object, ...]:
    return -rule.confidence, -rule.support, len(rule.columns), rule.columns, rule.value


@dataclass(frozen=True, slots=True)
class Places:
    """Some entries of a table: how many, and where the first ten are, as (record, column)."""

    count: int
    first: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Altered:
    """What hiding must not do to a table; no entry is counted twice.

    The sensitive column is the last: its number is that of the condition columns.
    """

    changed: Places  # shows another value than before
    appeared: Places  # shows a value where there was none
    marked: Places  # is hidden, although it must be published
    forbidden: Places  # is hidden, although only others may be

    @property
    def nothing(self) -> bool:
        """Whether all is as it should be."""
        every = self.changed, self.appeared, self.marked, self.forbidden
        return not any(places.count for places in every)


def altered(
    before: PublishedEntries, after: PublishedEntries, fixed: Mask, allowed: Mask
) -> Altered:
    """Compare a published table with its original, record by record.

    Both have the same codes. `fixed` says of each entry, by record and column, the sensitive one
    last, whether it must be published; `allowed`, whether it may be hidden. What was empty before
    need not be published.

    >>> before = PublishedEntries(np.array([[0, 5], [1, 5]], np.int32), np.array([2, 3], np.int32))
    >>> after = PublishedEntries(np.array([[0, -1], [1, 6]], np.int32), np.array([-1, 3], np.int32))
    >>> fixed, allowed = np.zeros((2, 3), bool), np.ones((2, 3), bool)
    >>> fixed[0, 2] = True
    >>> found = altered(before, after, fixed, allowed)
    >>> found.changed, found.marked, found.forbidden.count
    (Places(count=1, first=((1, 1),)), Places(count=1, first=((0, 2),)), 0)
    """
    was, now = (np.column_stack([table.conditions, table.values]) for table in (before, after))
    if was.shape != now.shape:
        raise ValueError("both tables must have the same records and columns")
    if fixed.shape != was.shape or allowed.shape != was.shape:
        raise ValueError("marks stand by record and column, the sensitive one last")
    empty, hidden = was < 0, now < 0
    lost = hidden & ~empty
    return Altered(
        changed=_places((was != now) & ~empty & ~hidden),
        appeared=_places(empty & ~hidden),
        marked=_places(lost & fixed),
        forbidden=_places(lost & ~fixed & ~allowed),
    )


def _places(entries: Mask) -> Places:
    first = np.flatnonzero(entries.any(axis=1))[:_FIRST]
    named = [(int(record), int(j)) for record in first for j in np.flatnonzero(entries[record])]
    return Places(int(entries.sum()), tuple(named[:_FIRST]))
