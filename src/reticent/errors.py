"""What can go wrong, and what a user is told about it.

    ReticentError
    ├── InputError      exit 2    the data, the policy or the command cannot be used as they are
    ├── Unsatisfiable   exit 3    no release of this table can keep this promise
    ├── PartyError      exit 4    another owner vanished or broke the protocol
    ├── EngineError     exit 4    a search engine elsewhere did not answer, or not as it should
    ├── Broken          exit 70   the verifier refused our own result: our bug, nothing written
    └── Stopped         exit 130  the user stopped the run before there was anything to write

An error is a list of problems, so that a user mends a file once and not once per mistake. A problem
keeps cell values apart from its words: they are personal, and are shown only where the caller
passes ``show_values=True``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from difflib import get_close_matches

_HIDDEN = "  Values are hidden because they may be personal; --show-values shows them."
FEW = 8  # names that a sentence lists in full; of more, it lists three
SHOWN = 10  # problems, rows or values listed before "… and N more"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: where, what, why it matters and what to do."""

    what: str
    where: str = ""
    why: str = ""
    do: str = ""
    values: tuple[str, ...] = ()  # cell values behind it: hidden unless asked for

    def text(self, *, show_values: bool = False) -> str:
        """Say it in one to four lines."""
        lines = [f"{self.where}: {self.what}" if self.where else self.what]
        if self.values and show_values:
            lines.append(f"  Values: {listed([repr(value) for value in self.values])}")
        elif self.values:
            lines.append(_HIDDEN)
        if self.why:
            lines.append(f"  Why: {self.why}")
        if self.do:
            lines.append(f"  Do:  {self.do}")
        return "\n".join(lines)


class ReticentError(Exception):
    """Anything this package raises on purpose."""

    exit_code = 70

    def __init__(
        self,
        problems: str | Problem | Iterable[Problem],
        *,
        where: str = "",
        why: str = "",
        do: str = "",
        values: Iterable[str] = (),
    ) -> None:
        """Take ready problems, or the words of a single one."""
        if isinstance(problems, str):
            problems = Problem(problems, where, why, do, tuple(values))
        self.problems = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__(self.text())

    def text(self, *, show_values: bool = False) -> str:
        """All problems, the first ten in full."""
        shown = [problem.text(show_values=show_values) for problem in self.problems[:SHOWN]]
        if len(self.problems) > SHOWN:
            shown.append(f"… and {len(self.problems) - SHOWN} more problems.")
        return "\n".join(shown)


class InputError(ReticentError):
    """The data, the policy or the command cannot be used as they are."""

    exit_code = 2


def refuse(problems: Iterable[Problem]) -> None:
    """Raise all problems as one error, if there are any."""
    if found := tuple(problems):
        raise InputError(found)


class Unsatisfiable(ReticentError):
    """Even the most masked table breaks a promise of the policy."""

    exit_code = 3


class PartyError(ReticentError):
    """Another owner vanished or broke the protocol."""

    exit_code = 4


class EngineError(ReticentError):
    """A search engine elsewhere did not answer, or not as it should."""

    exit_code = 4


class Broken(ReticentError):
    """The verifier refused what an engine produced."""

    exit_code = 70


class Stopped(ReticentError):
    """The user stopped the run before there was anything to write."""

    exit_code = 130


def listed(items: Sequence[object], most: int = SHOWN) -> str:
    """Join the first few items and count the rest.

    >>> listed([3, 8, 21], most=2)
    '3, 8 and 1 more'
    """
    if len(items) <= most:
        return ", ".join(map(str, items))
    return ", ".join(map(str, items[:most])) + f" and {len(items) - most} more"


_has_options: ContextVar[bool] = ContextVar("has_options", default=True)


@contextmanager
def only_in_reading() -> Iterator[None]:
    """While this lasts, how a file is written is told in [reading] alone, and by no option."""
    before = _has_options.set(False)
    try:
        yield
    finally:
        _has_options.reset(before)


def remedy(by_option: str, in_reading: str) -> str:
    """How to tell in which way data are written: words for who has options, and for who has none.

    >>> remedy("--header-row, or [reading]", "header_row in [reading]")
    '--header-row, or [reading]'
    >>> with only_in_reading():
    ...     remedy("--header-row, or [reading]", "header_row in [reading]")
    'header_row in [reading]'
    """
    return by_option if _has_options.get() else in_reading


def many(count: int, thing: str, things: str = "") -> str:
    """A count and what is counted.

    >>> many(1, "row"), many(1200, "entry", "entries")
    ('1 row', '1,200 entries')
    """
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"


# What a terminal takes for a command, or for a change of direction: C0 and C1 but for tabs and line
# feeds, and what orders letters or ends lines by itself.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    r"""A text whose signs can all be seen; what cannot is escaped as in JSON and TOML.

    >>> print(visible("a\x1b[31m, \u202eb"))
    a\u001b[31m, \u202eb
    """
    return _UNSEEN.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)


def in_one_line(text: str) -> str:
    r"""The same of a text that has to stand in one line.

    >>> print(in_one_line("Date\nof birth"))
    Date\nof birth
    """
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def quoted(names: Iterable[str], most: int = SHOWN) -> str:
    """Column names in quotes, the first few.

    >>> quoted(["Age", "Zip code"])
    '"Age", "Zip code"'
    """
    return listed([f'"{in_one_line(name)}"' for name in names], most)


def few(names: Iterable[str], last: str = "") -> str:
    """Names as a sentence lists them: all of a few; of many the first, and how many more.

    >>> few(["Age", "Job"]), few(["Age", "Job"], "and")
    ('Age, Job', 'Age and Job')
    >>> few(f"q{i}" for i in range(1, 301))
    'q1, q2, q3 and 297 more'
    """
    every = list(names)
    if len(every) > FEW:
        return f"{', '.join(every[:3])} {last or 'and'} {len(every) - 3:,} more"
    if not last or len(every) < 2:
        return ", ".join(every)
    return f"{', '.join(every[:-1])} {last} {every[-1]}"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint at the closest known name, or nothing.

    >>> did_you_mean("Ocupation", ["Age", "Occupation"])
    'Did you mean "Occupation"?'
    """
    close = nearest(word, known)
    return f'Did you mean "{close}"?' if close else ""


def nearest(word: str, known: Iterable[str]) -> str:
    """The known name that is spelt most nearly so, if it is near; else nothing."""
    names = list(known)
    lower = {name.lower(): name for name in names}
    close = get_close_matches(word, names, n=1, cutoff=0.65) or [
        lower[name] for name in get_close_matches(word.lower(), lower, n=1, cutoff=0.65)
    ]
    return close[0] if close else ""
