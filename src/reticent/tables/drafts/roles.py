"""Which role each column of a draft gets, and why: what singles people out is masked or dropped.

A column that nothing speaks for is masked, not kept. Two rules hold for every draft (see `safe`):
columns released as they are tell at most one record in twenty from all others, among themselves;
and so do the class and the kept ones beside the masked ones, in groups of k records.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from reticent.data.collapse import Codes
from reticent.data.linking import number_rows
from reticent.errors import InputError, did_you_mean, quoted
from reticent.tables.drafts.looks import Form, Look
from reticent.tables.drafts.words import says

Role = Literal["class", "drop", "keep", "sensitive", "masked"]
SINGLED_OUT = Fraction(1, 20)  # of all records, at most, by what is released as it is
_FEW = 20  # values of a sensitive column, or of a class
_COMMON = 0.9  # a value that so many share leaves nothing to be promised about all values
_MANY = 20  # people from which on a number may stand for each
_ROWS_EACH = 100  # records of one person, on average, at most
_BY_CHANCE = 1e-6
_DROPPED: dict[Form, str] = {
    "odd": "values of its kind cannot be released",
    "unnamed": "it has no name: most likely the row numbers of another program",
    "empty": "it is empty",
    "contact": "its name or its cells tell how to reach somebody",
    "name": "its name speaks of an identifier",
    "identifier": "its name speaks of an identifier",
    "free text": "free text may hold anything, and nobody can mask it value by value",
    "numbered": "nearly every record has a value of its own",
}


@dataclass(frozen=True, slots=True)
class Guess:
    """A role proposed for one column, and why."""

    look: Look
    role: Role
    reason: str

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.look.name


@dataclass(frozen=True, slots=True)
class Guesses:
    """A role for every column, and who is counted."""

    columns: tuple[Guess, ...]
    person: str | None = None  # the column that tells people apart who stand in several rows
    unfit: str = ""  # why the class that was asked for is none
    rows_each: int = 1  # of a person at most, where only a name tells whose they are

    def of(self, role: Role) -> list[Guess]:
        """The columns of one role, in the order of the table."""
        return [guess for guess in self.columns if guess.role == role]

    def changed(self, name: str, role: Role, reason: str) -> Guesses:
        """The same with another role for one column."""
        columns = (
            replace(guess, role=role, reason=reason) if guess.name == name else guess
            for guess in self.columns
        )
        return replace(self, columns=tuple(columns))


def guessed(looks: Sequence[Look], class_name: str | None = None) -> Guesses:
    """Propose a role for every column."""
    if class_name is not None and class_name not in {seen.name for seen in looks}:
        raise InputError(
            f'there is no column "{class_name}"', where="--class",
            do=did_you_mean(class_name, (seen.name for seen in looks))
            or f"the table has {quoted(seen.name for seen in looks)}.",
        )  # fmt: skip
    person = _person(looks)
    named = [] if person else [seen for seen in looks if seen.form == "name" and _repeats(seen)]
    rows_each = max((seen.largest for seen in named if _settles(seen, looks)), default=1)
    columns = tuple(Guess(seen, *_role(seen, class_name, person)) for seen in looks)
    lost = [g for g in columns if g.name == class_name and g.role != "class"]
    unfit = f'"{class_name}" cannot be one: {lost[0].reason}' if lost else ""
    return safe(_promising(Guesses(columns, person, unfit, rows_each)))


def _role(seen: Look, class_name: str | None, person: str | None) -> tuple[Role, str]:
    if seen.form in _DROPPED:
        return "drop", _DROPPED[seen.form]
    if seen.name == person:
        return "drop", "the same value in several rows tells whose they are"
    if seen.name == class_name and seen.form != "constant":
        return "class", "the released data will be used to predict it"
    if seen.form == "constant":
        return "keep", "every record has the same value, which tells nothing of anybody"
    if seen.form == "category" and says(seen.name, "private"):
        if seen.distinct > _FEW:
            return "masked", "its name speaks of something private; it has too many values to bound"
        if seen.largest > _COMMON * seen.rows:
            return "masked", "its name speaks of something private; nearly all share one value"
        return "sensitive", "its name speaks of something private"
    return "masked", "somebody outside may know it about a person"


def _promising(guesses: Guesses) -> Guesses:
    """A policy must promise something about somebody: mask what is there, if nothing else is.

    What is dropped stays dropped, but for what is empty: a name that k people share is a name.
    """
    if guesses.of("masked"):
        return guesses
    for role in ("keep", "class", "sensitive", "drop"):
        some = [g for g in guesses.of(role) if role != "drop" or g.look.form == "empty"]
        for guess in some:
            guesses = guesses.changed(guess.name, "masked", "there is nothing else to mask")
        if some:
            return replace(guesses, person=None)
    raise InputError(
        "there is no column that could be released", where="init",
        why="each names or numbers people, is free text, tells how to reach somebody, or is of a "
        "kind that cannot be.",
        do="if a title stands above its header, say  --header-row N;  if cells are cut at another "
        "sign,  --delimiter;  if a column names nobody, give it another name.",
    )  # fmt: skip


# --- people in several rows ----------------------------------------------------------------------


def _person(looks: Sequence[Look]) -> str | None:
    """The column whose values repeat, and identify rows that otherwise differ; never a name.

    By its name, or because it settles what is known of a person: whenever it repeats, some other
    column, of several values, repeats with it, which chance would not do once in a million tables.
    A mail address or a phone number tells a person, too, if it does.
    """
    numbers = ("category", "measure", "numbered", "contact")
    fit = [seen for seen in looks if seen.form in ("identifier", *numbers) and _repeats(seen)]
    fit = [seen for seen in fit if not _is_about_people(seen) and not says(seen.name, "text")]
    named = [seen for seen in fit if seen.form == "identifier"]
    even = [seen for seen in fit if seen.largest <= max(5 * seen.present / seen.distinct, 10)]
    settling = (seen for seen in even if seen not in named and _settles(seen, looks))
    best = max([*named, *settling], key=lambda seen: (seen in named, seen.distinct), default=None)
    return None if best is None else best.name


def _is_about_people(seen: Look) -> bool:
    return any(says(seen.name, topic) for topic in ("personal", "place", "time", "private", "goal"))


def _repeats(seen: Look) -> bool:
    """Whether a few records each, and not nearly all at once, share a number or a code."""
    again = seen.present - seen.distinct
    if seen.distinct < _MANY or again < max(_MANY, seen.rows // 20):
        return False
    mean = seen.present / seen.distinct
    return mean <= _ROWS_EACH and seen.largest <= 20 * mean


def _settles(person: Look, looks: Sequence[Look]) -> bool:
    whole = person.scale is not None and person.scale.points.dtype.kind in "iu"
    if not whole and person.kind != "text":
        return False
    again = person.present - person.distinct
    others = [seen for seen in looks if seen.name != person.name and seen.distinct > 1]
    settled = [seen for seen in others if _settled_by(person, seen, again)]
    return 0 < len(settled) < len(others)


def _settled_by(person: Look, other: Look, again: int) -> bool:
    """Whether whoever shares the person's value shares the other, too, and not by chance."""
    if other.distinct >= person.distinct or not len(other.column.codes):
        return False
    shares = np.bincount(other.column.codes) / other.rows
    if float((shares**2).sum()) ** again > _BY_CHANCE:
        return False
    both = [person.column.codes, other.column.codes]
    return number_rows(both, [len(person.column.values), len(other.column.values)])[1] == len(
        person.column.values
    )


# --- what singles people out ---------------------------------------------------------------------


def safe(guesses: Guesses) -> Guesses:
    """Mask sensitive columns until those released as they are single out few, among themselves."""
    while singled_out(released := [*guesses.of("class"), *guesses.of("sensitive")]) > SINGLED_OUT:
        private = [guess for guess in released if guess.role == "sensitive"]
        most = max(private or released, key=lambda guess: guess.look.distinct)
        share = f"{float(singled_out(released)):.0%} of all records"
        beside = "with what else is released as it is" if private else "as the class"
        guesses = guesses.changed(most.name, "masked", f"{beside} it would single out {share}")
        if not private:
            guesses = replace(guesses, unfit=f"{quoted([most.name])} alone singles out {share}")
    return guesses


def singled_out(columns: Sequence[Guess]) -> Fraction:
    """The share of records that some columns tell from all others."""
    if not columns:
        return Fraction(0)
    found = [guess.look.column for guess in columns]
    number, count = number_rows([c.codes for c in found], [len(c.values) for c in found])
    alone = int((np.bincount(number, minlength=count) == 1).sum())
    return Fraction(alone, max(len(number), 1))


def beside_groups(target: Look, k: int) -> Fraction:
    """The share of records, at most, that a class tells from all others of their group of k.

    In each of at most n / k groups a value of the class singles out one record at most, and where
    there are fewer values than records some value is shared.

    >>> from reticent.data.columns import encode
    >>> import pyarrow as pa
    >>> sick = Look(encode("Sick", pa.array(["y", "n"] * 50)), "text", "category", 100, 0, 50)
    >>> beside_groups(sick, 10), beside_groups(sick, 20)
    (Fraction(1, 10), Fraction(1, 20))
    """
    counts = np.bincount(target.column.codes)
    groups = target.rows // k
    alone = int(np.minimum(counts, groups).sum())
    if len(counts) < k:
        alone = min(alone, (len(counts) - 1) * groups)
    return Fraction(alone, max(target.rows, 1))


def class_candidates(guesses: Guesses) -> Iterator[Guess]:
    """What could be meant as the class: it is called so, has few values and no gaps.

    What a person is (sex, origin, age …) may be called anything, so no other column is proposed.
    """
    for guess in guesses.of("masked"):
        few = guess.look.form == "category" and 2 <= guess.look.distinct <= _FEW
        about = any(says(guess.name, t) for t in ("personal", "place", "time", "private"))
        if few and not guess.look.missing and says(guess.name, "goal") and not about:
            yield guess


def smallest_part(seen: Look, people: Codes | None) -> int:
    """The largest k with which this column alone could still show something.

    That is the smaller part that its best first step leaves, in records or in people.
    """
    counts = np.bincount(seen.column.codes, minlength=len(seen.column.values))
    if people is not None:
        sizes = [int(people.max(initial=0)) + 1, len(counts)]
        first = np.unique(number_rows([people, seen.column.codes], sizes)[0], return_index=True)[1]
        counts = np.bincount(seen.column.codes[first], minlength=len(counts))
    total = int(counts.sum())
    if seen.form in ("measure", "time"):
        if seen.missing:
            gap = seen.column.missing
            return min(int(counts[gap]), total - int(counts[gap])) if gap is not None else 0
        assert seen.scale is not None
        order = np.argsort(seen.scale.rank, kind="stable")
        left = np.cumsum(counts[order])[:-1]
        return int(np.minimum(left, total - left).max(initial=0))
    return int(np.minimum(counts, total - counts).max(initial=0))
