"""Cells that name a person or a day by their form alone: what a rule forbids.

Each sign is a regular expression that fits a whole cell, in the common part of Python's words and
of SQL's. It takes what has such a form for what it looks like; what has another form, nobody sees.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from reticent.errors import Problem, many

SIGNS: Mapping[str, Mapping[str, str]] = {
    "hipaa-safe-harbor": {
        "a date with its day": (
            r"\[?[0-9]{4}-[0-9]{2}-[0-9]{2}([T ,;].*)?|[0-9]{4}[./][0-9]{1,2}[./][0-9]{1,2}( .*)?"
            r"|[0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{4}( .*)?"
        ),
        "an e-mail address": r".*[^\s@]@[^\s@]+\.[^\s@]+.*",
        "a web address": r".*([Hh][Tt][Tt][Pp][Ss]?://|[Ww][Ww][Ww]\.)[^\s].*",
        "an IP address": r"([0-9]{1,3}\.){3}[0-9]{1,3}|([0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}",
        "a social security number": r"[0-9]{3}-[0-9]{2}-[0-9]{4}",
    }
}
RULED = {
    "hipaa-safe-harbor": "no other cell has the form of a date with its day, of an e-mail, web or "
    "IP address, or of a social security number"
}


def identifying(rule: str | None, column: str, texts: Iterable[str | None]) -> Iterator[Problem]:
    """What the distinct cells of a column look like that a rule forbids.

    >>> [p.what for p in identifying("hipaa-safe-harbor", "Seen", ["2019-05-31", "2019", None])]
    ['column "Seen" holds a date with its day in 1 cell']
    """
    if rule is None:
        return
    known = [text for text in texts if text]
    for thing, sign in SIGNS[rule].items():
        form = re.compile(sign)
        if found := sum(form.fullmatch(text) is not None for text in known):
            yield forbidden(rule, column, thing, many(found, "cell"))


def forbidden(rule: str, column: str, thing: str, where: str) -> Problem:
    """The problem of such cells."""
    return Problem(
        f'column "{column}" holds {thing} in {where}',
        where=f"rule {rule}",
        why="the rule lets no such thing stay, and its form says what it is.",
        do='drop the column, or say  coarsen = "year"  where it holds dates.',
    )
