"""The promises a policy can make about a table, as records that explain themselves.

Anonymity ⟨X, k⟩: whatever combination of the columns X a person is known by, at least k records (or
k distinct values of the columns ``of``) share it. Confidence ⟨X → Y, h⟩: whatever combination of X
a person is known by, nobody can infer a sensitive value in Y with more than confidence h.

A promise may name columns of earlier releases, ``clinic2025.Zip``. It is then about what somebody
learns who links the table with exactly these releases.

Thresholds are exact: ``0.1`` is one tenth and never the nearest binary float, so a promise is
decided in integers everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
)

from reticent.errors import Problem, few, many
from reticent.privacy.words import NOTHING, brief, joined, measured, percent


def as_fraction(value: Any) -> Fraction:
    """Read a threshold exactly as it is written.

    >>> as_fraction(0.1), as_fraction("5/24")
    (Fraction(1, 10), Fraction(5, 24))
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal | Fraction):
        raise ValueError('write a decimal such as 0.75 or a fraction such as "3/4"')
    text = re.sub(r"\s*/\s*", "/", value.strip()) if isinstance(value, str) else value
    try:
        fraction = Fraction(repr(text) if isinstance(text, float) else text)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise ValueError('write a decimal such as 0.75 or a fraction such as "3/4"') from None
    if not 0 <= fraction <= 1:
        raise ValueError("a confidence lies between 0 and 1")
    return fraction


def no_more_than(h: Fraction, count: int) -> Fraction:
    """The largest fraction up to h of which the denominator is at most `count`.

    A share of so many records or transactions exceeds both or neither; but no product of these
    small numbers can overflow.

    >>> no_more_than(Fraction("0.3333333333333333333"), 100)
    Fraction(33, 100)
    """
    count = max(count, 1)
    near = h.limit_denominator(count)
    if near <= h:
        return near
    over, under = near.numerator, near.denominator
    # Its neighbour below, c/d, has over·d - under·c = 1, and d as large as it may be.
    inverse = pow(over, -1, under) if under > 1 else 0
    d = count - (count - inverse) % under
    return Fraction((over * d - 1) // under, d)


def as_text(value: Any) -> Any:
    """Read a cell value written as a number or truth value as the text a file would hold."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return str(value) if isinstance(value, int) else value


_THRESHOLD = r"^\s*\+?(\d+\s*/\s*\d+|(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)\s*$"
Cell = Annotated[str, BeforeValidator(as_text)]


def _once(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


Names = Annotated[tuple[str, ...], Field(min_length=1), AfterValidator(_once)]


def _values(listed: Any) -> Any:
    """Catch what a union of types would explain badly."""
    if listed == "*" or (isinstance(listed, list | tuple | set | frozenset) and listed):
        return tuple(listed) if listed != "*" else listed
    raise ValueError('list at least one value, as ["HIV"], or say "*" for every value')


Values = Annotated[Literal["*"] | tuple[Cell, ...], BeforeValidator(_values)]
Share = Annotated[
    Fraction,
    BeforeValidator(as_fraction),
    PlainSerializer(str, return_type=str),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": 0, "maximum": 1},
                {"type": "string", "pattern": _THRESHOLD},
            ]
        }
    ),
]


Naming = Callable[[Iterable[str]], str]  # how a sentence lists names


class Theirs(str):
    """A column of an earlier release, as a policy writes it.

    >>> zip_code = Theirs("clinic2025.Zip")
    >>> zip_code.release, zip_code.column
    ('clinic2025', 'Zip')
    """

    __slots__ = ()

    @property
    def release(self) -> str:
        """The release that published it."""
        return self.partition(".")[0]

    @property
    def column(self) -> str:
        """What it is called there."""
        return self.partition(".")[2]


def qualified(name: str, releases: Collection[str]) -> str:
    """A name as it is meant: a prefix counts only if it is a release that was declared.

    >>> type(qualified("marital.status", ["clinic2025"])).__name__
    'str'
    """
    prefix, dot, _ = name.partition(".")
    return Theirs(name) if dot and prefix in releases else name


def ours(names: Iterable[str]) -> tuple[str, ...]:
    """Those columns that are the table's own."""
    return tuple(name for name in names if not isinstance(name, Theirs))


def theirs(names: Iterable[str], release: str) -> tuple[str, ...]:
    """Those columns that are of one earlier release, as they are called there."""
    return tuple(n.column for n in names if isinstance(n, Theirs) and n.release == release)


def _beside(releases: Sequence[str]) -> str:
    return f"joined with {', '.join(releases)}, " if releases else ""


def _even_joined(said: str, releases: Sequence[str]) -> str:
    return f"Even joined with {joined(releases)}: {said[0].lower()}{said[1:]}" if releases else said


def _counted(groups: int, worst: str, releases: Sequence[str]) -> str:
    where = f"the join with {joined(releases)}" if releases else "the released rows"
    return f"In {where}, {many(groups, 'group')} can be told apart; {worst}."


def _quasi_identifiers(names: Sequence[str]) -> str:
    return f"the quasi-identifier{'s' if len(names) > 1 else ''} {joined(names)}"


def _them(names: Sequence[str]) -> str:
    return "it" if len(names) == 1 else "them"


_NOT_COUNTED = "This could not be counted on the released rows alone."
_NAMED = 3  # sensitive values that a sentence lists


def _broken_join(asked: str, releases: Sequence[str], found: str) -> Problem:
    return Problem(
        f"The fully masked table breaks {asked} once it is joined with {', '.join(releases)}: "
        f"{found}.",
        why="earlier releases are out and cannot be masked any more; the search begins with "
        "everything masked, and does not look whether revealing something would help.",
        do="release fewer columns, ask for less, or do not publish the columns that join.",
    )


def _releases(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(n.release for n in names if isinstance(n, Theirs)))


class Record(BaseModel):
    """A frozen record that knows exactly its own keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Anonymity(Record):
    """Every combination of `over` is shared by at least k records or distinct `of` values.

    >>> Anonymity(over=["Job", "Sex"], k=4).text
    'every combination of Job, Sex is shared by at least 4 records'
    """

    kind: ClassVar[Literal["anonymity"]] = "anonymity"  # the word for it in reports
    over: Names = Field(description="The columns a person may be known by.")
    k: int = Field(ge=1, strict=True, description="The smallest group allowed.")
    of: Annotated[tuple[str, ...], AfterValidator(_once)] = Field(
        default=(), description="Count distinct non-missing values of these columns, not records."
    )

    @property
    def asked(self) -> int:
        """The threshold as reports print it."""
        return self.k

    def kept_with(self, value: int | Fraction) -> bool:
        """Whether a smallest group of this size keeps it."""
        return value >= self.k

    @property
    def emptiness(self) -> str:
        """Why it protects nobody; no text if it does.

        >>> Anonymity(over=["Job", "Sex"], k=1).emptiness
        'a k of 1 over Job, Sex promises nothing: whoever knows them may find one person. Ask for
        at least 2.'
        """
        if self.k > 1:
            return ""
        return (
            f"a k of 1 over {few(self.over)} {NOTHING}: whoever knows "
            f"{_them(self.over)} may find one person. Ask for at least 2."
        )

    @property
    def text(self) -> str:
        """The promise in words, every column named."""
        return self._said(", ".join)

    @property
    def told(self) -> str:
        """The same for people: of many columns the first.

        >>> Anonymity(over=[f"q{i}" for i in range(1, 301)], k=4).told
        'every combination of q1, q2, q3 and 297 more is shared by at least 4 records'
        """
        return self._said(few)

    def _said(self, named: Naming) -> str:
        who = self._records(self.k)
        if self.of:
            who = f"{many(self.k, 'distinct value')} of {named(self.of)}"
        return (
            f"{_beside(self.releases)}every combination of {named(self.over)} is shared by at "
            f"least {who}"
        )

    @property
    def short(self) -> str:
        """The promise where room is short.

        >>> Anonymity(over=["Job", "Sex"], k=4).short
        'Job, Sex: at least 4 records'
        """
        who = f"{self.k:,} {few(self.of)}" if self.of else self._records(self.k)
        return f"{few(self.over)}: at least {who}"

    @property
    def plain_words(self) -> str:
        """The promise for people who decide about a release, without statistics.

        >>> Anonymity(over=["Age", "Job"], k=50).plain_words
        'Everybody shares Age and Job with at least 49 others.'
        """
        over = joined(self.over)
        said = f"Everybody shares {over} with at least {many(self.k - 1, 'other')}."
        if self.of or self.releases:
            said = f"Knowing {over} leaves at least {self._different(self.k)}."
        elif self.k == 1:
            said = f"Groups of equal {over} may be of any size."
        return _even_joined(said, self.releases)

    def in_the_field(self, value: int | Fraction | None = None) -> str:
        """The promise in the words of the field, and what was found.

        >>> Anonymity(over=["Age", "Job"], k=5).in_the_field(7)
        'k-anonymity with k = 5 over the quasi-identifiers Age and Job; smallest equivalence class:
        7 records'
        """
        over = _quasi_identifiers(self.over)
        said = f"k-anonymity with k = {self.k:,} over {over}"
        if self.releases:
            said = (
                f"(X, Y)-anonymity of the join with {joined(self.releases)}, with k = {self.k:,} "
                f"over {over}, counted in "
                + (f"distinct {joined(self.of)}" if self.of else "pairs of records")
            )
        elif self.of:  # an id of people, mostly; else it is l-diversity in its simplest form
            said = (
                f"(X, Y)-anonymity with k = {self.k:,}: distinct {joined(self.of)}, not records, "
                f"are counted in each equivalence class over {over}. Where they name people, that "
                "is k-anonymity of people; of a sensitive attribute, distinct l-diversity"
            )
        if value is None:
            return said
        return f"{said}; smallest equivalence class: {self._different(int(value))}"

    @property
    def bound(self) -> str:
        """What is asked, for a table."""
        return f"at least {self.k:,}"

    def counted(self, value: int | Fraction | None, groups: int) -> str:
        """What the verifier counted, in a sentence."""
        if value is None:
            return _NOT_COUNTED
        return _counted(groups, f"the smallest holds {self._different(int(value))}", self.releases)

    def would_break(self, value: int | Fraction) -> str:
        """Why it rules out a refinement.

        >>> Anonymity(over=["Age"], k=50).would_break(12)
        'a group of 12 would be left, and 50 are asked for'
        """
        are = "is" if self.k == 1 else "are"
        return f"a group of {brief(value)} would be left, and {self.k:,} {are} asked for"

    def infeasible(self, value: int | Fraction) -> Problem:
        """Why no release can keep it, and what could be kept instead."""
        asked = f"⟨{{{few(self.over)}}}, k = {self.k}⟩"
        if self.releases:
            return _broken_join(asked, self.releases, f"there is a joined group of {value}")
        counted = many(int(value), "row")
        if self.of:
            counted = f"{many(int(value), 'distinct value')} of {few(self.of)}"
        lower = f"lower k to {value} or less, or add rows." if int(value) > 1 else "add rows."
        return Problem(
            f"No release keeps {asked}: even the fully masked table is one group of {counted}.",
            do=lower if value else f"every {few(self.of)} is missing: count by another.",
        )

    def facts(self) -> dict[str, Any]:
        """What it is about, as reports for programs have it."""
        said: dict[str, Any] = {"kind": self.kind, "over": list(self.over)}
        said |= {"joined_with": list(self.releases)} if self.releases else {}
        said |= {"of": list(self.of)} if self.of else {}
        return said | {"asked": self.asked}

    def _records(self, count: int) -> str:
        """So many of what is counted, if no column is named."""
        return (
            many(count, "pair of records", "pairs of records")
            if self.releases
            else many(count, "record")
        )

    def _different(self, count: int) -> str:
        """So many of what is counted."""
        return f"{count:,} different {joined(self.of)}" if self.of else self._records(count)

    @property
    def releases(self) -> tuple[str, ...]:
        """The earlier releases it names."""
        return _releases((*self.over, *self.of))

    def among(self, releases: Collection[str]) -> Anonymity:
        """The same promise, its columns known to be of the releases they name."""
        over, of = ([qualified(n, releases) for n in names] for names in (self.over, self.of))
        return self.model_copy(update={"over": tuple(over), "of": tuple(of)})

    def same(self, values: Mapping[str, Sequence[str]]) -> object:
        """What two anonymity promises must share for one to imply the other."""
        return ("anonymity", frozenset(self.of), frozenset(self.releases))

    def implied_by(self, other: Anonymity | Confidence) -> bool:
        """Whether `other`, about the same thing, promises at least as much.

        The thesis prints this with k ≥ k' (theorem 4.1.1), which is false: large groups over
        more columns make large groups over fewer.
        """
        return (
            isinstance(other, Anonymity) and set(self.over) <= set(other.over) and self.k <= other.k
        )


class Confidence(Record):
    """Nobody may infer a sensitive value from `over` with more confidence than `at_most`.

    >>> Confidence(over=["Job"], sensitive={"Test": ["HIV"]}, at_most=0.2).text
    'nobody who knows Job is more than 1/5 sure of a sensitive value of Test'
    """

    kind: ClassVar[Literal["confidence"]] = "confidence"
    over: Names = Field(description="The columns a person may be known by.")
    sensitive: Annotated[dict[str, Values], Field(min_length=1)] = Field(
        description='Column → list of sensitive values, or "*" for every value.'
    )
    at_most: Share = Field(description='The largest confidence allowed: 0.75 or "3/4".')
    allow_absent: bool = Field(
        default=False, strict=True, description="A listed value may be absent from the data."
    )

    @property
    def asked(self) -> str:
        """The threshold as reports print it."""
        return str(self.at_most)

    def kept_with(self, value: int | Fraction) -> bool:
        """Whether a largest confidence like this keeps it."""
        return value <= self.at_most

    @property
    def emptiness(self) -> str:
        """Why it protects nobody; no text if it does."""
        if self.at_most < 1:
            return ""
        return (
            f"an at_most of 1 over {few(self.over)} {NOTHING}: whoever knows "
            f"{_them(self.over)} may be sure of {joined(self.sensitive)}. Ask for less than 1."
        )

    @property
    def text(self) -> str:
        """The promise in words, every column named."""
        return self._said(", ".join)

    @property
    def told(self) -> str:
        """The same for people: of many columns the first."""
        return self._said(few)

    def _said(self, named: Naming) -> str:
        return (
            f"{_beside(self.releases)}nobody who knows {named(self.over)} is more than "
            f"{self.at_most} sure of a sensitive value of {named(self.sensitive)}"
        )

    @property
    def short(self) -> str:
        """The promise where room is short."""
        return f"{few(self.over)} → {few(self.sensitive)}: at most {self.at_most}"

    @property
    def plain_words(self) -> str:
        """The promise for people who decide about a release, without statistics.

        >>> Confidence(over=["Job"], sensitive={"Test": ["HIV"]}, at_most=0.2).plain_words
        'Nobody who knows Job can be more than 20 % sure that Test is “HIV”.'
        """
        what = joined((_inferred(c, v) for c, v in self.sensitive.items()), "or")
        sure = f"more than {measured(self.at_most)} sure {what}."
        return _even_joined(f"Nobody who knows {joined(self.over)} can be {sure}", self.releases)

    def in_the_field(self, value: int | Fraction | None = None) -> str:
        """The promise in the words of the field, and what was found.

        It is no l-diversity: that asks for several values, and how they are mixed; this bounds each
        value that the policy lists, and lets others be as frequent as they are.

        >>> Confidence(over=["Job"], sensitive={"Test": ["HIV"]}, at_most=0.2).in_the_field()
        'a bound on attribute disclosure: in no equivalence class over the quasi-identifier Job has
        a sensitive value of Test a share above 20 %, the α of (α, k)-anonymity without its k; akin
        to l-diversity, not the same'
        """
        where = f" of the join with {joined(self.releases)}" if self.releases else ""
        said = (
            f"a bound on attribute disclosure: in no equivalence class{where} over "
            f"{_quasi_identifiers(self.over)} has a sensitive value of {joined(self.sensitive)} a "
            f"share above {measured(self.at_most)}, the α of (α, k)-anonymity without its k; akin "
            "to l-diversity, not the same"
        )
        return said if value is None else f"{said}. Largest share: {measured(value)}"

    @property
    def bound(self) -> str:
        """What is asked, for a table."""
        return f"at most {measured(self.at_most)}"

    def counted(self, value: int | Fraction | None, groups: int) -> str:
        """What the verifier counted, in a sentence."""
        if value is None:
            return _NOT_COUNTED
        sure = f"nowhere is anybody more than {measured(value)} sure"
        return _counted(groups, sure, self.releases)

    def would_break(self, value: int | Fraction) -> str:
        """Why it rules out a refinement."""
        return f"somebody would be {brief(value)} sure, and {percent(self.at_most)} is the limit"

    def infeasible(self, value: int | Fraction) -> Problem:
        """Why no release can keep it, and what could be kept instead."""
        about = f"{{{few(self.over)}}} → {few(self.sensitive)}"
        asked = f"⟨{about}, at most {self.at_most}⟩"
        if self.releases:
            return _broken_join(asked, self.releases, f"one sensitive value has confidence {value}")
        return Problem(
            f"No release keeps {asked}: even in the fully masked table one sensitive value has "
            f"confidence {value}.",
            do=f'raise at_most to "{value}" or more, or leave that value out of the template.',
        )

    def facts(self) -> dict[str, Any]:
        """What it is about, as reports for programs have it."""
        said: dict[str, Any] = {"kind": self.kind, "over": list(self.over)}
        said |= {"joined_with": list(self.releases)} if self.releases else {}
        listed = {c: v if v == "*" else list(v) for c, v in self.sensitive.items()}
        return said | {"sensitive": listed, "asked": self.asked}

    @property
    def releases(self) -> tuple[str, ...]:
        """The earlier releases it names."""
        return _releases((*self.over, *self.sensitive))

    def among(self, releases: Collection[str]) -> Confidence:
        """The same promise, its columns known to be of the releases they name."""
        over = tuple(qualified(name, releases) for name in self.over)
        sensitive = {qualified(name, releases): listed for name, listed in self.sensitive.items()}
        return self.model_copy(update={"over": over, "sensitive": sensitive})

    def same(self, values: Mapping[str, Sequence[str]]) -> object:
        """What two confidence promises must share for one to imply the other: the values."""
        return ("confidence", frozenset(self.pairs(values)), frozenset(self.releases))

    def pairs(self, values: Mapping[str, Sequence[str]]) -> set[tuple[str, str]]:
        """Every (column, sensitive value), with ``"*"`` expanded to the column's `values`."""
        return {
            (column, value)
            for column, listed in self.sensitive.items()
            for value in (values[column] if listed == "*" else listed)
        }

    def implied_by(self, other: Anonymity | Confidence) -> bool:
        """Whether `other`, about the same values, promises at least as much."""
        return (
            isinstance(other, Confidence)
            and set(self.over) <= set(other.over)
            and self.at_most >= other.at_most
        )


Promise = Anonymity | Confidence


def _inferred(column: str, values: str | Sequence[str]) -> str:
    if isinstance(values, str):
        return f"of anybody’s {column}"
    named = [f"“{value}”" for value in values[:_NAMED]]
    more = len(values) - _NAMED
    return f"that {column} is {joined([*named, *([f'one of {more} more'] * (more > 0))], 'or')}"


def implied(promises: Sequence[Promise], values: Mapping[str, Sequence[str]]) -> dict[int, int]:
    """Which promises another one already keeps: position → position of the one that implies it.

    `values` lists the non-missing values of each sensitive column. Of promises that imply each
    other the first stays.

    >>> weak, strong = Anonymity(over=["A"], k=2), Anonymity(over=["A", "B"], k=5)
    >>> implied([weak, strong], {})
    {0: 1}
    """
    subjects = [promise.same(values) for promise in promises]
    dropped: dict[int, int] = {}
    for i, promise in enumerate(promises):
        for j, other in enumerate(promises):
            if i == j or j in dropped or subjects[i] != subjects[j]:
                continue
            if promise.implied_by(other) and not (i < j and other.implied_by(promise)):
                dropped[i] = j
                break
    for i in dropped:  # what implies it may itself be implied by a third
        while dropped[i] in dropped:
            dropped[i] = dropped[dropped[i]]
    return dropped


def columns_of(promises: Iterable[Promise]) -> tuple[set[str], set[str], set[str]]:
    """The table's own columns that stand in some `over`, some `sensitive` and some `of`."""
    some = list(promises)
    over = {name for p in some for name in ours(p.over)}
    sensitive = {name for p in some if isinstance(p, Confidence) for name in ours(p.sensitive)}
    return over, sensitive, {n for p in some if isinstance(p, Anonymity) for n in ours(p.of)}
