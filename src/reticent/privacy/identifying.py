"""Cells that name a person or a day by their form alone: what a rule forbids.

Each sign is a regular expression that is searched for in a cell, in the common part of what Arrow,
DuckDB, Python, Java and PostgreSQL know: no flags, nothing that looks ahead. It takes what has such
a form for what it looks like; what has another form, nobody sees. Whoever reads dates to make them
coarser reads them with words of their own; nothing is shared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from reticent.errors import Problem, many

_MONTHS = (
    "january", "januar", "jan", "jänner", "jän", "february", "februar", "feber", "feb", "march",
    "märz", "maerz", "mrz", "mär", "mar", "april", "apr", "may", "mai", "june", "juni", "jun",
    "july", "juli", "jul", "august", "aug", "september", "sept", "sep", "october", "oktober",
    "oct", "okt", "november", "nov", "december", "dezember", "dec", "dez",
)  # fmt: skip
_IN_SENTENCES = [word for word in _MONTHS if len(word) > 4 or word in ("june", "juni", "july")]


def _words(words: Iterable[str]) -> str:
    """Any of some words, in capitals or not."""
    return f"({'|'.join(''.join(f'[{c.upper()}{c}]' for c in word) for word in words)})"


_START, _END = "(^|[^0-9])", "([^0-9]|$)"  # of digits
_ALONE = "([^0-9./-]|[.]([^0-9]|$)|$)"  # the end of what no more numbers are joined to
_MONTH, _LONG_MONTH = f"(^|[^A-Za-z]){_words(_MONTHS)}", _words(_IN_SENTENCES)
_M, _D = "(0?[1-9]|1[0-2])", "(0?[1-9]|[12][0-9]|3[01])"
_MM, _DD = "(0[1-9]|1[0-2])", "(0[1-9]|[12][0-9]|3[01])"
_OF_DAY = r"([Ss][Tt]|[Nn][Dd]|[Rr][Dd]|[Tt][Hh]|\.)?"
_YYYY, _SHORT = "(18|19|20|21)[0-9]{2}", "['’]?[0-9]{2}"
_YEAR = f"([0-9]{{4}}|{_SHORT})"
_BETWEEN = "[-. /,]{0,3}"
_DATE = "|".join(
    [
        # within longer text: 2022-05-04, 5/4/2022, 04.05.22
        rf"{_START}[0-9]{{4}}[-./] ?[0-9]{{1,2}}[-./] ?[0-9]{{1,2}}{_END}",
        rf"{_START}[0-9]{{1,2}}[-./] ?[0-9]{{1,2}}[-./] ?[0-9]{{4}}{_END}",
        rf"(^|[^0-9./-]){_D}[-./] ?{_D}[-./] ?{_SHORT}{_ALONE}",
        # 04 May 22, 5th of March 2024, 4. Mai 2022, May-04-2022, May 4 '22, May 4 23:05, May 2022
        rf"{_START}{_D}{_OF_DAY}{_BETWEEN}([Oo]f )?{_words(_MONTHS)}{_BETWEEN}{_YEAR}{_END}",
        rf"{_MONTH}{_BETWEEN}{_D}{_OF_DAY}[-. /,]{{1,3}}{_YEAR}{_END}",
        rf"{_MONTH}[. ]{{1,2}}{_D},? [0-9]{{1,2}}:[0-9]{{2}}",
        rf"{_MONTH}{_BETWEEN}([Oo]f )?([0-9]{{4}}|['’][0-9]{{2}}){_END}",
        # 4 April, April 4th, 05/2022, 2022-W18
        rf"{_START}{_D}{_OF_DAY} ?([Oo]f )?{_LONG_MONTH}([^A-Za-z]|$)",
        rf"(^|[^A-Za-z]){_LONG_MONTH} {_D}{_OF_DAY}{_END}",
        rf"(^|[^0-9/]){_M}/ ?{_YYYY}{_END}",
        rf"{_START}{_YYYY}-?[Ww][0-5][0-9]",
        # alone: 4 May, May-04, May-22, 2022-05, 05-2022, 2022-124, 04.05.
        rf"^{_D}{_OF_DAY}{_BETWEEN}{_words(_MONTHS)}\.?$",
        rf"^{_words(_MONTHS)}{_BETWEEN}({_SHORT}|{_D}){_OF_DAY}$",
        rf"^{_YYYY}[-/]{_MM}$|^{_MM}-{_YYYY}$|^{_YYYY}[-/][0-3][0-9]{{2}}$|^{_D}\.{_M}\.$",
    ]
)
_NUMBER = r"^[+-]?[0-9]+([.,][0-9]+)?$"
_WHOLE = r"([.,]0+)?$"  # the end of a number that a program wrote with a point
_PHONE = "|".join(
    [
        rf"{_START}(\([0-9]{{3}}\) ?|[0-9]{{3}}[-. ])[0-9]{{3}}[-. ][0-9]{{4}}{_END}",
        r"^[2-9][0-9]{2}-0[0-9]{3}$",
        rf"\+[0-9]{{1,3}}[ (/-]{{1,3}}[0-9][0-9 ()/.-]{{5,}}[0-9]|\+[0-9]{{8,15}}{_END}",
        rf"(^|[^0-9.,/-])\(?0[0-9]{{1,4}}\)?[ /-]{{1,3}}([1-9][0-9]{{4,}}"
        rf"|[0-9]{{2,3}}( [0-9]{{1,4}}){{1,4}}){_END}",
    ]
)
_HEX = "[0-9A-Fa-f]{1,4}"
_IP = (
    r"(^|[^0-9.])([0-9]{1,3}\.){3}[0-9]{1,3}([^0-9.]|\.[^0-9]|\.?$)"
    rf"|(^|[^0-9A-Za-z:])({_HEX}:){{7}}{_HEX}([^0-9A-Za-z:]|$)"
    rf"|(^|[^0-9A-Za-z:])({_HEX}(:{_HEX}){{0,6}})?::({_HEX}:){{0,6}}{_HEX}([^0-9A-Za-z:]|$)"
    rf"|(^|[^0-9A-Za-z:]){_HEX}(:{_HEX}){{0,6}}::([^0-9A-Za-z:]|$)"
)
_NAMED_DATES = "date|datum|fecha|birth|geburt|dob"


@dataclass(frozen=True, slots=True)
class Sign:
    """A form of cells, and what it is taken for."""

    thing: str
    form: str
    among: str = ""  # it tells something if all cells of this form have it, or, in a column that is
    named: str = ""  # called like this, half of them

    def tells(self, column: str, counts: Mapping[str, int]) -> bool:
        """Whether the cells of a column look like it, of which so many have each form."""
        here = counts.get(self.form, 0)
        if not self.among or not here:
            return here > 0
        others = counts[self.among]
        called = self.named and re.search(self.named, column.lower())
        return 2 * here >= others if called else here >= others


DATE, MAIL, WEB, IP, MAC, PHONE, SSN = (
    "a date", "an e-mail address", "a web address", "an IP address", "a hardware address",
    "a telephone number", "a social security number",
)  # fmt: skip
_SIGNS: Mapping[str, tuple[Sign, ...]] = {
    "hipaa-safe-harbor": (
        Sign(DATE, _DATE),
        Sign(
            DATE, rf"^({_DD}/{_MM}|{_MM}/{_DD})$", "^[0-9]{1,2}/[0-9]{1,2}$", _NAMED_DATES
        ),
        Sign(
            DATE,
            rf"^({_YYYY}{_MM}{_DD}|{_DD}{_MM}{_YYYY}|{_MM}{_DD}{_YYYY}|{_YYYY}[0-3][0-9]{{2}}"
            rf"|[0-9]{{2}}{_MM}{_DD}|{_DD}{_MM}[0-9]{{2}}|{_MM}{_DD}[0-9]{{2}}|{_YYYY}{_MM})"
            + _WHOLE,
            _NUMBER,
            _NAMED_DATES,
        ),
        Sign(MAIL, r"[^\s@]@[^\s@]+\.[^\s@]"),
        Sign(WEB, r"([Hh][Tt][Tt][Pp][Ss]?|[Ff][Tt][Pp])://[^\s]|[Ww][Ww][Ww]\.[^\s]"),
        Sign(IP, _IP),
        Sign(MAC, "(^|[^0-9A-Za-z])([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}([^0-9A-Za-z]|$)"),
        Sign(PHONE, _PHONE),
        Sign(
            PHONE, r"^(1?[2-9][0-9]{2}[2-9][0-9]{6}|0[1-9][0-9]{7,11})" + _WHOLE, _NUMBER
        ),
        Sign(SSN, r"(^|[^0-9-])[0-9]{3}[- ][0-9]{2}[- ][0-9]{4}([^0-9]|$)"),
        Sign(SSN, "^[0-9]{9}" + _WHOLE, _NUMBER),
    )
}  # fmt: skip
RULED = {
    "hipaa-safe-harbor": "cells that were not made coarser have none of these forms, alone or "
    "within longer text: dates in digits parted by points, dashes or slashes, or "
    "with English or German names of months (with a year of four or two digits, a month and its "
    "year, a day and its month, weeks and days of a year), e-mail, web, IP and hardware addresses, "
    "telephone numbers with their signs, social security numbers with dashes; nor are all numbers "
    "of a column dates without signs, of nine digits, or ones that could be dialled; other forms "
    "were not looked for"
}


def forms(rule: str, *, numbers: bool = False) -> tuple[str, ...]:
    """What to search for in cells; or in those that are numbers by their type."""
    told = [sign for sign in _SIGNS[rule] if not numbers or sign.among == _NUMBER]
    searched = [form for sign in told for form in (sign.form, sign.among) if form]
    return tuple(dict.fromkeys(searched))


def looks_like(rule: str, column: str, counts: Mapping[str, int]) -> dict[str, int]:
    """What the cells of a column look like, and at least how many, by how many have each form."""
    found: dict[str, int] = {}
    for sign in _SIGNS[rule]:
        if sign.tells(column, counts):
            found[sign.thing] = max(found.get(sign.thing, 0), counts[sign.form])
    return found


def seen_in(rule: str, column: str, texts: Iterable[str | None]) -> dict[str, int]:
    """What some distinct cells look like, and how many."""
    known = pa.array([text for text in texts if text], pa.large_string())
    counts = {
        form: int(pc.sum(pc.match_substring_regex(known, form)).as_py() or 0)
        for form in (forms(rule) if len(known) else ())
    }
    return looks_like(rule, column, counts)


def identifying(rule: str | None, column: str, texts: Iterable[str | None]) -> Iterator[Problem]:
    """What the distinct cells of a column look like that a rule forbids.

    >>> [p.what for p in identifying("hipaa-safe-harbor", "Seen", ["on 5/31/19", "2019", None])]
    ['column "Seen" holds a date in 1 cell']
    """
    for thing, count in (seen_in(rule, column, texts) if rule else {}).items():
        yield forbidden(rule or "", column, thing, count)


def forbidden(rule: str, column: str, thing: str, count: int) -> Problem:
    """The problem of such cells."""
    return Problem(
        f'column "{column}" holds {thing} in {many(count, "cell")}',
        where=f"rule {rule}",
        why="the rule lets no such thing stay, and its form says what it is.",
        do='drop the column, or say  coarsen = "year"  where it holds dates.',
    )
