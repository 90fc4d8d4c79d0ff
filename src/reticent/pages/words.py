"""Promises in words that need no statistics, for people who decide about a release."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from reticent.privacy import promises
from reticent.privacy.promises import Anonymity, Confidence, Promise

_NAMED = 3  # sensitive values that a sentence lists


def joined(names: Iterable[str], last: str = "and") -> str:
    """Names as a sentence lists them.

    >>> joined(["Age", "Job", "Sex"]), joined(["Age"])
    ('Age, Job and Sex', 'Age')
    """
    *most, end = names
    return f"{', '.join(most)} {last} {end}" if most else end


def percent(share: Fraction) -> str:
    """A share as a percentage, to two places at most.

    >>> percent(Fraction(3, 4)), percent(Fraction(1, 3))
    ('75 %', '33.33 %')
    """
    return promises.percent(share, " %")


def brief(value: int | Fraction) -> str:
    """A promise's value where room is short: a count, or a percentage."""
    return f"{value:,}" if isinstance(value, int) else percent(value)


def measured(value: int | Fraction | None) -> str:
    """A promise's value: a count, or a percentage, with the fraction where that is not exact.

    >>> measured(1200), measured(Fraction(1, 3)), measured(Fraction(3, 4))
    ('1,200', '33.33 % (1/3)', '75 %')
    """
    if value is None:
        return "not measured"
    rounded = 10_000 % Fraction(value).denominator > 0
    return f"{brief(value)} ({value})" if rounded else brief(value)


def promised(promise: Promise) -> str:
    """What a promise says.

    >>> promised(Anonymity(over=["Age", "Job"], k=50))
    'Everybody shares Age and Job with at least 49 others.'
    """
    over = joined(promise.over)
    if promise.releases:
        said = _promised(promise, over)
        return f"Even joined with {joined(promise.releases)}: {said[:1].lower()}{said[1:]}"
    return _promised(promise, over)


def _promised(promise: Promise, over: str) -> str:
    if isinstance(promise, Confidence):
        what = joined((_inferred(c, v) for c, v in promise.sensitive.items()), "or")
        return f"Nobody who knows {over} can be more than {measured(promise.at_most)} sure {what}."
    if promise.of:
        return f"Knowing {over} leaves at least {promise.k:,} different {joined(promise.of)}."
    if promise.releases:
        return f"Knowing {over} leaves at least {promise.k:,} pairs of records."
    if promise.k == 1:
        return f"Groups of equal {over} may be of any size."
    others = "1 other" if promise.k == 2 else f"{promise.k - 1:,} others"
    return f"Everybody shares {over} with at least {others}."


def _inferred(column: str, values: str | Sequence[str]) -> str:
    if isinstance(values, str):
        return f"of anybody’s {column}"
    named = [f"“{value}”" for value in values[:_NAMED]]
    more = len(values) - _NAMED
    return f"that {column} is {joined([*named, *([f'one of {more} more'] * (more > 0))], 'or')}"


def found(promise: Promise, value: int | Fraction | None, groups: int) -> str:
    """What the verifier counted."""
    if value is None:
        return "This could not be counted on the released rows alone."
    where = f"the join with {joined(promise.releases)}" if promise.releases else "the released rows"
    if isinstance(value, Fraction):
        return (
            f"In {where}, {groups:,} groups can be told apart; nowhere is anybody more than "
            f"{measured(value)} sure."
        )
    of = promise.of if isinstance(promise, Anonymity) else ()
    counted = "pairs of records" if promise.releases else "records"
    counted = f"different {joined(of)}" if of else counted
    return (
        f"In {where}, {groups:,} groups can be told apart; the smallest holds {value:,} {counted}."
    )


def bound(promise: Promise) -> str:
    """What was asked, for a table.

    >>> bound(Anonymity(over=["Age"], k=50))
    'at least 50'
    """
    if isinstance(promise, Anonymity):
        return f"at least {promise.k:,}"
    return f"at most {measured(promise.at_most)}"


def would_break(promise: Promise, number: int, value: int | Fraction) -> str:
    """Why a promise ruled out a refinement.

    >>> would_break(Anonymity(over=["Age"], k=50), 1, 12)
    'promise 1: a group of 12 would be left, and 50 are asked for'
    """
    if isinstance(promise, Anonymity):
        return (
            f"promise {number}: a group of {brief(value)} would be left, and {promise.k:,} are "
            "asked for"
        )
    limit = percent(promise.at_most)
    return f"promise {number}: somebody would be {brief(value)} sure, and {limit} is the limit"
