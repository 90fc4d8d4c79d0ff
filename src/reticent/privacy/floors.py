"""How fine single columns are shown at most, whatever a search would reveal: rules for cells.

`Coarsen` is what a policy says, and says it in words. Whether a published cell is as coarse as
that is decided here, too, by a reader of its own: it shares none with `reticent.data.door`, which
makes cells coarse.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from reticent.errors import many
from reticent.privacy.promises import Cell, Record

_QUESTION = (
    "is a question that only you can answer: the year of the latest date in the data, less 90. "
    "Whoever was born then or before may be over 89"
)
_NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)?([eE][+-]?[0-9]{1,3})?")
_INTERVAL = re.compile(r"\[(?P<low>[^,;\[\]()]+)[,;] ?(?P<high>[^,;\[\]()]+)[\])]")


class Coarsen(Record):
    """How fine the cells of a column are taken in and shown at most.

    >>> Coarsen(year=True, oldest=1936).text("Birth")
    'Birth is told by its year alone, 1936 and before together'
    """

    year: Literal[True] | None = Field(
        default=None, description="true: of dates and times, their years."
    )
    oldest: int | None = Field(
        default=None, ge=1, le=9999, strict=True,
        description='With year: this year and all before are shown as one, "1936 or earlier".',
    )  # fmt: skip
    top: int | None = Field(
        default=None, ge=1, le=999_999_999, strict=True,
        description='Numbers from here on, and above the one before, are one: "90 or older".',
    )  # fmt: skip
    digits: int | None = Field(
        default=None, ge=1, le=8, strict=True, description="Of postcodes, so many first digits."
    )
    length: int = Field(
        default=5, ge=2, le=9, strict=True,
        description="With digits: how many a whole postcode has; zeros lost in front come back.",
    )  # fmt: skip
    small: tuple[Cell, ...] = Field(
        default=(), description="With digits: regions too small to be shown, which become zeros."
    )

    @model_validator(mode="before")
    @classmethod
    def _of_a_word(cls, given: Any) -> Any:
        if given == "year":
            return {"year": True}
        if isinstance(given, str):
            raise ValueError('write "year", { top = 90 } or { digits = 3 }')
        if isinstance(given, Mapping) and isinstance(given.get("oldest"), str):
            raise ValueError(f'oldest = "{given["oldest"]}" {_QUESTION}')
        return given

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> Self:
        if sum(key is not None for key in (self.year, self.top, self.digits)) != 1:
            raise ValueError("give one of year, top and digits")
        if self.oldest is not None and not self.year:
            raise ValueError("oldest goes with year")
        if (self.small or self.length != 5) and self.digits is None:
            raise ValueError("small and length go with digits")
        if self.digits is not None and self.digits >= self.length:
            raise ValueError("digits must be fewer than a whole postcode has")
        odd = [one for one in self.small if not (one.isdecimal() and len(one) == self.digits)]
        if odd:
            raise ValueError(f"each of small has {self.digits} digits, in quotes")
        return self

    def parts(self, bounds: Sequence[Any]) -> bool:
        """Whether fixed bins would part what is to be shown as one."""
        inner = [end for end in bounds[1:-1] if isinstance(end, int | float)]
        if self.top is not None:
            return any(end > self.top for end in inner)
        return self.oldest is not None and any(end <= self.oldest for end in inner)

    def text(self, column: str) -> str:
        """What a release promises of a column."""
        if self.year:
            said = f"{column} is told by its year alone"
            return said if self.oldest is None else f"{said}, {self.oldest} and before together"
        if self.top is not None:
            return f"{column} is told up to {self.top - 1}, all above together"
        said = f"{column} is told by its first {self.digits} digits"
        if not self.small:
            return said
        return f"{said}, those of {many(len(self.small), 'small region')} as {self.zeros}"

    @property
    def zeros(self) -> str:
        """What small regions are shown as."""
        return "0" * (self.digits or 0)

    def allows(self, cell: str) -> bool:
        """Whether a cell that nobody masked is as coarse as this."""
        if self.year:
            if self.oldest is not None and cell == f"{self.oldest} or earlier":
                return True
            known = re.fullmatch("[0-9]{4}", cell) is not None
            return known and (self.oldest is None or int(cell) > self.oldest)
        if self.top is not None:
            number = _number(cell)
            return cell == f"{self.top} or older" or (number is not None and number <= self.top - 1)
        return re.fullmatch(f"[0-9]{{{self.digits}}}", cell) is not None and cell not in self.small


@dataclass(frozen=True, slots=True)
class Floor:
    """A column that is published no finer than a rule says."""

    column: str
    coarsen: Coarsen
    edges: tuple[Any, ...] | None = None  # where it is masked by intervals: its range or bins
    above: frozenset[str] = frozenset()  # labels of its taxonomy with others below them

    @property
    def text(self) -> str:
        """What is promised."""
        return self.coarsen.text(self.column)

    def allows(self, cell: str) -> bool:
        """Whether a published cell is as coarse as the rule says."""
        if self.edges is not None and (match := _INTERVAL.fullmatch(cell)):
            closed = cell.endswith("]")
            return self._allows_between(_number(match["low"]), _number(match["high"]), closed)
        return cell in self.above or self.coarsen.allows(cell)

    def _allows_between(self, low: Fraction | None, high: Fraction | None, closed: bool) -> bool:
        """Whether an interval parts none of those that are to be shown as one.

        The rule's own number stands for all of them; the ends of a range may lie beyond.
        """
        if low is None or high is None:
            return False
        ends = [_number(str(end)) for end in self.edges or ()]
        if self.coarsen.top is not None:
            return low <= self.coarsen.top and (high <= self.coarsen.top or high in ends[-1:])
        oldest = self.coarsen.oldest
        if oldest is None:
            return True
        return high >= oldest + (not closed) and (low >= oldest or low in ends[:1])


@dataclass(frozen=True, slots=True)
class FloorFinding:
    """What the verifier saw of one such column."""

    floor: Floor
    values: int  # that are finer than allowed
    rows: int  # that show one

    @property
    def holds(self) -> bool:
        """Whether every cell is as coarse as it must be."""
        return not self.values


def _number(text: str) -> Fraction | None:
    text = text.strip()
    if not _NUMBER.fullmatch(text) or len(text) > 40:
        return None
    whole, _, power = text.replace(",", ".").lower().partition("e")
    return Fraction(whole) * Fraction(10) ** int(power or 0)
