"""Numbers and names as sentences have them; promises speak for themselves with these."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from reticent.errors import few

NOTHING = "promises nothing"  # instead of a tick, where a promise can only be kept


def joined(names: Iterable[str], last: str = "and") -> str:
    """Names as a sentence lists them; of many, the first.

    >>> joined(["Age", "Job", "Sex"]), joined(["Age"])
    ('Age, Job and Sex', 'Age')
    """
    return few(names, last)


def percent(share: Fraction, sign: str = " %") -> str:
    """A share in percent, to two places at most; what is not nothing does not look like it.

    >>> percent(Fraction(3, 4)), percent(Fraction(1, 3)), percent(Fraction(1, 10**6), "%")
    ('75 %', '33.33 %', '<0.01%')
    """
    told = f"{float(100 * share):.2f}".rstrip("0").rstrip(".")
    return f"<0.01{sign}" if share and told == "0" else told + sign


def about_percent(share: float | None) -> str:
    """A share in whole percent; only nothing looks like nothing, and only all like all.

    >>> about_percent(0.42), about_percent(0.0001), about_percent(0.9999), about_percent(None)
    ('42 %', '<1 %', '>99 %', '–')
    """
    if share is None:
        return "–"
    told = f"{100 * share:.0f}"
    if told == "0" and share > 0:
        return "<1 %"
    return ">99 %" if told == "100" and share < 1 else f"{told} %"


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
