"""Cells as they are taken in: what becomes of them before anything else is asked of them.

Blanks are stripped, several spellings become one, and some columns are coarsened: a date to its
year, a high age to one of all high ages, a postcode to its first digits. Whatever comes later —
roles, promises, the search, the rows that are written — knows the coarse cells alone, so nothing
can show more than they do.

Coarsening what is coarse changes nothing; a test pins it. Decided on distinct values, so it costs
what the domain is large.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from fractions import Fraction
from typing import Any, ClassVar

import pyarrow as pa

from reticent.data.columns import Column, Table, relabelled, respelled, trimmed
from reticent.data.texts import is_text
from reticent.errors import InputError, Problem, many, refuse

_YEAR = re.compile(r"[0-9]{4}")
_ISO = re.compile(  # a day, with a time or without one, or a month
    r"([0-9]{4})-([0-9]{2})(-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?"
    r"(Z|[+-][0-9]{2}:?[0-9]{2})?)?)?"
)
_TIME = r"([ T,:]+[0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?( ?[AaPp]\.?[Mm]\.?)?"
_TIME += r"( ?(Z|[+-][0-9]{2}:?[0-9]{2}))?)?"
_DAY = r"([^\W\d_]{2,10}[.]?,? )?"  # of the week
_MONTH = (
    "(?i:(jan|feb|mar|mär|mrz|mae|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)[^\\W\\d_]{0,6})"
)
_DATES = [  # forms in which the year is the number of four digits, whatever the others are
    re.compile(r"[0-9]{1,2}[./-] ?[0-9]{1,2}[./-] ?(?P<year>[0-9]{4})" + _TIME),
    re.compile(r"(?P<year>[0-9]{4})[./][0-9]{1,2}[./][0-9]{1,2}" + _TIME),
    re.compile(
        _DAY + r"[0-9]{1,2}[.]?[ /-]?[^\W\d_]{3,9}[.]?[ ,/-]{0,2}(?P<year>[0-9]{4})" + _TIME
    ),
    re.compile(
        _DAY + r"[^\W\d_]{3,9}[.]?[ -][0-9]{1,2}(st|nd|rd|th)?[ ,-]{1,2}(?P<year>[0-9]{4})" + _TIME
    ),
    re.compile(rf"{_MONTH}[.]?[ ,/-]{{0,2}}(?P<year>[0-9]{{4}})"),
    re.compile(r"(0?[1-9]|1[0-2])[/-](?P<year>[0-9]{4})"),
    re.compile(r"(?P<year>[0-9]{4})/(0[1-9]|1[0-2])"),
    re.compile(r"(?P<year>(1[89]|2[01])[0-9]{2})-([0-2][0-9]{2}|3[0-6][0-9])"),  # its days counted
]
_PLAIN_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_OR_MORE = re.compile(r"(?:>=?|≥)?\s*([0-9]+)\s*\+?")
_CODE = re.compile(r"([0-9]+)(?:\.0+)?")  # as programs write whole numbers that stand beside gaps
_LONG_CODE = re.compile(r"([0-9]+)[- ]([0-9]{4})")
_STARRED = re.compile(r"([0-9]+)[*xX]+")

Shown = Callable[[str], str | None]  # what a cell becomes; None: nobody can read it


@dataclass(frozen=True, slots=True)
class Years:
    """Dates and times as their years, the first of them as one.

    >>> shown = Years(oldest=1936).reading(())
    >>> shown("1950-03-02"), shown("1931-12-24"), shown("1950"), shown("spring")
    ('1950', '1936 or earlier', '1950', None)
    """

    rule: ClassVar[str] = "year"
    oldest: int | None = None  # this and all before are one
    date_format: str | None = None  # else ISO
    plain: bool = False  # numbers for intervals: the oldest stands for those before

    def reading(self, texts: Sequence[str]) -> Shown:
        """How one cell is coarsened, in a column that holds these."""
        together = "" if self.plain else " or earlier"

        def shown(text: str) -> str | None:
            if self.oldest is not None and text == f"{self.oldest}{together}":
                return text
            year = self._year(text.strip())
            if year is None or self.oldest is None or year > self.oldest:
                return None if year is None else f"{year:04}"
            return f"{self.oldest}{together}"

        return shown

    @property
    def unread(self) -> str:
        """What to do where dates cannot be read, before all else."""
        if self.date_format is None:
            return "say how dates are written with  date_format  in [reading]; else "
        if tells_century(self.date_format):
            return ""
        return "years of two digits may be of any century, so write them with four; else "

    def _year(self, text: str) -> int | None:
        if _YEAR.fullmatch(text):
            return int(text)
        if self.date_format and tells_century(self.date_format):
            try:
                return datetime.strptime(text, self.date_format).year
            except ValueError:
                pass
        if found := _ISO.fullmatch(text):
            return int(found[1]) if 1 <= int(found[2]) <= 12 else None
        if found := next(filter(None, (form.fullmatch(text) for form in _DATES)), None):
            return int(found["year"])
        return None


@dataclass(frozen=True, slots=True)
class Tops:
    """Numbers as they are, the highest as one.

    Whoever is 89 and a half is over 89.

    >>> shown = Tops(90).reading(())
    >>> shown("89"), shown("89.5"), shown("93"), shown("90+"), shown("old")
    ('89', '90 or older', '90 or older', '90 or older', None)
    """

    rule: ClassVar[str] = "top"
    top: int
    decimal: str = "."
    plain: bool = False  # a number for intervals, which stands for all above

    def reading(self, texts: Sequence[str]) -> Shown:
        """How one cell is coarsened, in a column that holds these."""
        together = str(self.top) if self.plain else f"{self.top} or older"

        def shown(text: str) -> str | None:
            number = self._number(text.strip())
            if number is None:
                return None if text != together else text
            return text if number <= self.top - 1 else together

        return shown

    def _number(self, text: str) -> Fraction | None:
        plain = text.replace(self.decimal, ".") if self.decimal != "." else text
        if _PLAIN_NUMBER.fullmatch(plain) and len(plain) < 50:
            whole, _, power = plain.lower().partition("e")
            return Fraction(whole) * Fraction(10) ** int(power or 0) if len(power) < 4 else None
        found = _OR_MORE.fullmatch(text)
        return Fraction(found[1]) if found and int(found[1]) >= self.top else None


@dataclass(frozen=True, slots=True)
class Prefixes:
    """Postcodes as their first digits, those of small regions as zeros.

    Programs that take codes for numbers lose the zeros in front, so shorter codes get them back.
    Where no code is longer than the first digits, these are what the column holds.

    >>> shown = Prefixes(3, small=("036",)).reading(["02139", "2139"])
    >>> shown("02139-4307"), shown("2139"), shown("03601"), shown("601"), shown("SW1A")
    ('021', '021', '000', '006', None)
    """

    rule: ClassVar[str] = "digits"
    digits: int
    small: tuple[str, ...] = ()
    length: int = 5  # of a whole code
    whole: bool | None = None  # whether the column holds whole codes; None: its cells tell

    def reading(self, texts: Sequence[str]) -> Shown:
        """How one cell is coarsened, in a column that holds these."""
        whole = self.settled(texts).whole

        def shown(text: str) -> str | None:
            first = self._first(text.strip(), bool(whole))
            return "0" * self.digits if first in self.small else first

        return shown

    def settled(self, texts: Sequence[str]) -> Prefixes:
        """The same, knowing whether the column holds whole codes."""
        if self.whole is not None:
            return self
        return replace(self, whole=any(self._is_long(text.strip()) for text in texts))

    def _is_long(self, text: str) -> bool:
        code = _CODE.fullmatch(text)
        return bool(_LONG_CODE.fullmatch(text) or (code and len(code[1]) != self.digits))

    def _first(self, text: str, whole: bool) -> str | None:
        if code := _CODE.fullmatch(text):
            found = code[1]
            if not whole and len(found) == self.digits:
                return found
            if len(found) > self.length:  # with what follows the hyphen, and without it
                found = found.zfill(self.length + 4) if len(found) <= self.length + 4 else ""
            return found.zfill(self.length)[: self.digits] if found else None
        if (code := _LONG_CODE.fullmatch(text)) and len(code[1]) <= self.length:
            return code[1].zfill(self.length)[: self.digits]
        code = _STARRED.fullmatch(text)
        return code[1] if code and len(code[1]) == self.digits else None


def tells_century(date_format: str) -> bool:
    """Whether dates of a form have all digits of their year."""
    return re.search("%[YGc]", date_format) is not None


Coarsening = Years | Tops | Prefixes
_KINDS: dict[str, Callable[..., Coarsening]] = {kind.rule: kind for kind in (Years, Tops, Prefixes)}


@dataclass(frozen=True, slots=True)
class Door:
    """What becomes of the cells of a table as it is taken in."""

    trim: bool = False
    coarse: Mapping[str, Coarsening] = field(default_factory=dict)  # by column
    missing: tuple[str, ...] = ()  # texts that stay as they are: nobody knows
    same: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By column: what each spelling stands for; decided before a cell is coarsened."""

    def changes(self, name: str) -> bool:
        """Whether a column may come out with other values than blanks around its own explain."""
        return name in self.coarse or name in self.same

    def table(self, table: Table) -> Table:
        """A table as everything else knows it; all problems at once."""
        columns: dict[str, Column] = {}
        problems: list[Problem] = []
        for name, column in table.columns.items():
            try:
                columns[name] = self.column(column)
            except InputError as error:
                problems += error.problems
        refuse(problems)
        return replace(table, columns=columns)

    def column(self, column: Column) -> Column:
        """A column as everything else knows it; refused if nobody can read a cell."""
        taken, odd = self._taken(column)
        if odd:
            one, texts = self.coarse[column.name], column.texts()
            do = "correct them, or list those that mean nobody knows in  missing_values."
            if isinstance(one, Years):
                do = one.unread + do
            raise InputError(
                Problem(
                    f"{many(len(odd), 'value')} cannot be read as {_READ_AS[one.rule]}"
                    f"{column.seen(odd)}",
                    where=f'column "{column.name}", coarsen',
                    why="what cannot be read cannot be coarsened, and may tell more.",
                    do=do,
                    values=tuple(str(texts[code]) for code in odd),
                )
            )
        return taken

    def lenient(self, column: Column) -> tuple[Column, int]:
        """The same for further rows: what nobody can read is left empty; on how many rows."""
        taken, odd = self._taken(column)
        return taken, sum(int((column.codes == code).sum()) for code in odd)

    def changes_cells(self, column: Column) -> bool:
        """Whether a column that is out already holds cells that are finer, as far as it reads."""
        return any(after is not None and before != after for before, after in self._told(column))

    def _taken(self, column: Column) -> tuple[Column, list[int]]:
        if column.name not in self.coarse:
            column = trimmed(column) if self.trim else column
            return respelled(column, self.same.get(column.name, {})), []
        told = self._told(column)
        odd = [i for i, (text, after) in enumerate(told) if after is None and text is not None]
        return relabelled(column, [after for _, after in told], pa.large_string()), odd

    def _told(self, column: Column) -> list[tuple[str | None, str | None]]:
        """Each distinct text of a coarsened column, and what becomes of it."""
        coarsening = self.coarse[column.name]
        if not is_text(column.values.type):
            coarsening = _of_typed(coarsening)
        to = self.same.get(column.name, {})
        texts = [text and text.strip() if self.trim else text for text in column.texts()]
        texts = [text and to.get(text, text) for text in texts]
        shown = coarsening.reading([text for text in texts if text and self._is_there(text)])
        return [(t, shown(t) if t and self._is_there(t) else t) for t in texts]

    def _is_there(self, text: str | None) -> bool:
        return bool(text and text.strip()) and text not in self.missing

    def settled(self, table: Table) -> Door:
        """The same for further rows of a table: what its cells told of all stays so."""
        coarse = dict(self.coarse)
        for name, one in self.coarse.items():
            if isinstance(one, Prefixes) and name in table.columns:
                column = table.columns[name]
                texts = [text for text in column.texts() if text and self._is_there(text)]
                whole = None if is_text(column.values.type) else True
                coarse[name] = replace(one, whole=whole).settled(texts)
        return replace(self, coarse=coarse)

    def plain(self) -> dict[str, Any]:
        """It as JSON keeps it."""
        return {name: {"to": one.rule, **asdict(one)} for name, one in self.coarse.items()}

    @classmethod
    def from_plain(
        cls, plain: Mapping[str, Any], *, trim: bool, missing: Sequence[str] = (),
        same: Mapping[str, Any] | None = None,
    ) -> Door:  # fmt: skip
        """The door that `plain` described."""
        spellings = {name: dict(to) for name, to in (same or {}).items()}
        return cls(trim, dict(_read_back(plain)), tuple(missing), spellings)


def _of_typed(one: Coarsening) -> Coarsening:
    """The same for numbers or times that print in one way; numbers are no first digits."""
    if isinstance(one, Prefixes):
        return replace(one, whole=True)
    return replace(one, decimal=".") if isinstance(one, Tops) else replace(one, date_format=None)


_READ_AS = {"year": "dates or years", "top": "numbers", "digits": "postcodes of digits"}


def _read_back(plain: Mapping[str, Any]) -> Iterator[tuple[str, Coarsening]]:
    for name, told in plain.items():
        keys = {k: tuple(v) if isinstance(v, list) else v for k, v in told.items() if k != "to"}
        yield name, _KINDS[told["to"]](**keys)
