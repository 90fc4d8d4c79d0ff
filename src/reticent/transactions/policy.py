"""What a steward promises about baskets, and which items play which part.

    format = "long"
    private = ["hiv-self-test", "antidepressant"]
    h = 0.2
    k = 20
    p = 3

Items are named, or meant by patterns (``*``, ``?``, ``[a-z]``). One that is private and public is
private; what neither says is neither: nobody knows it, and nobody minds.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from reticent.errors import SHOWN, InputError, Problem, did_you_mean, nearest, quoted
from reticent.files.tabular import Reading
from reticent.privacy.coherence import Coherence
from reticent.privacy.promises import Record, Share
from reticent.releases import policyfile
from reticent.releases.about import About
from reticent.releases.kinds import BASKETS, ReleaseKind
from reticent.releases.policyfile import Names

Mask = NDArray[np.bool_]
Method = Literal["best", "greedy", "levels", "grow"]
_UNLIMITED = "unlimited"
_SIGNS = "*?["  # what makes a name a pattern


def _size(given: Any) -> Any:
    """A number of items; None stands for any."""
    if given is None or given == _UNLIMITED:
        return None
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise ValueError(f'write a whole number from 1 on, or "{_UNLIMITED}"')
    return given


def _threshold(given: Any) -> Fraction:
    """How frequent something must be: a share below 1, or a number of transactions."""
    try:
        number = Fraction(str(given) if isinstance(given, float | Decimal) else given)
    except (TypeError, ValueError, ZeroDivisionError):
        raise ValueError("write a share, as 0.01, or a number of transactions, as 500") from None
    if isinstance(given, bool) or number <= 0 or (number >= 1 and number.denominator > 1):
        raise ValueError("write a share between 0 and 1, or a whole number of transactions")
    return number


def _shown(size: int | None) -> int | str:
    return _UNLIMITED if size is None else size


Size = Annotated[
    int | None,
    BeforeValidator(_size),
    PlainSerializer(_shown),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1}, {"const": _UNLIMITED}]}),
]
Threshold = Annotated[
    Fraction,
    BeforeValidator(_threshold),
    PlainSerializer(lambda number: int(number) if number.denominator == 1 else str(number)),
    WithJsonSchema({"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "string"}]}),
]


def _sign(given: Any) -> Any:
    sign = "\t" if given == "tab" else given
    if sign not in (" ", ",", ";", "\t", "|"):
        raise ValueError('write ",", ";", "|" or "tab"; leave it out where blanks part items')
    return sign


Separator = Annotated[
    Literal[" ", ",", ";", "\t", "|"],
    BeforeValidator(_sign),
    WithJsonSchema({"enum": [" ", ",", ";", "|", "tab", "\t"]}),
]


class Nuggets(Record):
    """Itemsets that a release should keep: the frequent ones, over all items."""

    support: Threshold = Field(
        description="Below 1 a share of all transactions, else a number of them."
    )
    size: Size = Field(default=None, description='How many items they have at most; "unlimited".')

    def least(self, transactions: int) -> int:
        """How many transactions must hold one.

        >>> Nuggets(support=0.4).least(67_557), Nuggets(support=4).least(7)
        (27023, 4)
        """
        share = self.support * transactions if self.support < 1 else self.support
        return max(int(-(-share // 1)), 1)


USUAL_NUGGETS = Nuggets(support=Fraction(1, 100))  # counted where a policy names none


class BasketColumns(Record):
    """The two columns of a long table; others are neither read nor released."""

    basket: str = Field(description="The column that says which transaction a row belongs to.")
    item: str = Field(description="The column of items.")

    @model_validator(mode="after")
    def _are_two(self) -> Self:
        if self.basket == self.item:
            raise ValueError("a transaction and its items stand in two columns")
        return self


class BasketPolicy(policyfile.PolicyFile):
    """What nobody may infer from baskets.

    >>> policy = BasketPolicy(private=["s*"], h=0.5, k=3, p=3)
    >>> policy.promise.text.partition(" finds ")[0]
    'whoever knows up to 3 public items of somebody'
    """

    model_config = ConfigDict(title="Policy")
    kind: ClassVar[ReleaseKind] = BASKETS
    parts: ClassVar[Mapping[str, type[BaseModel]]] = {
        "about": About,
        "nuggets": Nuggets,
        "columns": BasketColumns,
        "reading": policyfile.FileReading,
    }

    format: Literal["basket", "long"] = Field(
        default="basket",
        description="One transaction a line, items separated by blanks; or a table of id and item.",
    )
    columns: BasketColumns | None = Field(
        default=None, description="Which columns of a long table are read, if it has more than two."
    )
    separator: Separator = Field(
        default=" ", description='What parts the items of a line: "," ";" "|" "tab"; else blanks.'
    )
    private: Names = Field(description="Names or patterns of items to protect; [] for none.")
    public: Names = Field(
        default=("*",), description="Names or patterns of items that somebody may know."
    )
    allow_absent: bool = Field(
        default=False, strict=True, description="A private name may occur in no transaction."
    )
    h: Share | None = Field(
        default=None, description='The largest confidence in a private item: 0.5 or "1/2".'
    )
    k: int = Field(ge=1, strict=True, description="How many transactions share what is known.")
    p: Size = Field(default=None, description='How many items are known at most; "unlimited".')
    utility: Literal["items", "itemsets"] = Field(
        default="items", description="What should be kept: occurrences of items, or nuggets."
    )
    nuggets: Nuggets | None = Field(default=None, description="Which itemsets are nuggets.")
    method: Method = Field(default="best", description="How items to suppress are found.")
    order: Literal["sorted", "input"] = Field(
        default="sorted", description="Input order links transactions to where they came from."
    )
    reading: policyfile.FileReading = policyfile.FileReading()

    @field_validator("private", "public")
    @classmethod
    def _are_names(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        if "" in patterns:
            raise ValueError("an item has a name")
        return tuple(dict.fromkeys(patterns))

    @field_validator("h")
    @classmethod
    def _above_zero(cls, h: Fraction | None) -> Fraction | None:
        if h == 0:
            raise ValueError("a confidence of 0 allows no private item at all: leave them out")
        return h

    @model_validator(mode="after")
    def _belongs_together(self) -> Self:
        if self.format == "basket" and self.reading.model_dump(exclude_defaults=True).keys() - {
            "encoding"
        }:
            raise ValueError(
                "of [reading], lines of items have an encoding alone; what parts items is "
                'separator = ",", above it; a table of id and item is  format = "long"'
            )
        if self.private and self.h is None:
            raise ValueError("private items need h, the largest confidence in one of them")
        if self.utility == "itemsets" and self.nuggets is None:
            raise ValueError('utility = "itemsets" needs nuggets, as  { support = 0.01 }')
        if self.columns and self.format != "long":
            raise ValueError('only a table has columns: set  format = "long"')
        if self.separator != " " and self.format == "long":
            raise ValueError(
                'only lines have a separator: set  format = "basket", or, for a table,  '
                f"[reading]  delimiter = {policyfile.toml_value(self.separator)}"
            )
        return self

    def reads(self, told: Reading | None, table: str | None = None) -> Reading:
        """How baskets are read: as somebody tells who asks, and else as the policy says."""
        return super().reads(self._parted(told), table)

    def reads_released(self, told: Reading | None) -> Reading:
        """How released ones are read: their items are parted as those of the input."""
        return super().reads_released(self._parted(told))

    def _parted(self, told: Reading | None) -> Reading:
        usual = Reading(separator=self.separator if self.format == "basket" else None)
        return (told or Reading()).over(usual)

    @classmethod
    def contradictions(cls, data: Mapping[str, Any], where: str) -> Iterator[Problem]:
        """A separator is about what is released, too, so it is no part of how a file is read."""
        if isinstance(data.get("reading"), Mapping) and "separator" in data["reading"]:
            yield Problem(
                "the separator of items stands outside [reading]", where=where,
                why="what is released is parted by it, too.",
                do='write  separator = ","  above the first section.',
            )  # fmt: skip

    @property
    def promised(self) -> list[str]:
        """What it promises, in words."""
        return [self.promise.text]

    @property
    def in_the_field(self) -> list[str]:
        """What it promises, in the words of the field."""
        return [self.promise.in_the_field()]

    @property
    def two_columns(self) -> tuple[str, str] | None:
        """The columns of id and item, if they are named."""
        return (self.columns.basket, self.columns.item) if self.columns else None

    @property
    def promise(self) -> Coherence:
        """What is promised."""
        return Coherence(h=Fraction(1) if self.h is None else self.h, k=self.k, p=self.p)

    def canonical(self) -> str:
        """The policy as TOML without the comments of its file.

        >>> policy = BasketPolicy(private="s*", h="1/3", k=3, nuggets={"support": 4})
        >>> print(policy.canonical(), end="")
        private = ["s*"]
        h = "1/3"
        k = 3
        nuggets = { support = 4 }
        """
        return policyfile.canonical_lines(
            {"private": [], **self.model_dump(mode="python", exclude_defaults=True)}
        )

    def with_threshold(self, key: str, level: int | Fraction | None) -> BasketPolicy:
        """The same policy with another k, h or p.

        >>> policy = BasketPolicy(private=[], k=3, p=2).with_threshold("k", 7)
        >>> policy.canonical().splitlines()[1:]
        ['k = 7', 'p = 2']
        """
        policy = self.model_copy(update={key: level})
        policy._text = None
        return policy

    def parted_by(self, separator: str | None) -> BasketPolicy:
        """The same policy for lines whose items a sign parts, whatever it said itself.

        >>> BasketPolicy(private=[], k=3).parted_by(",").canonical().splitlines()
        ['private = []', 'separator = ","', 'k = 3']
        """
        if separator is None or separator == self.separator or self.format == "long":
            return self
        policy = self.model_copy(update={"separator": separator})
        unsaid = "separator" not in self.model_fields_set and self._text is not None
        line = f"separator = {policyfile.toml_value(separator)}  # as --separator said\n"
        policy._text = f"{line}{self._text}" if unsaid else None
        return policy

    def roles(self, names: pa.Array | Sequence[str], *, original: bool = False) -> ItemRoles:
        """Who plays which part among the items of some transactions.

        `original`: these are as they were, so that a private name which is not there is misspelt,
        and refused. What is released may lack any item.
        """
        texts = names.to_pylist() if isinstance(names, pa.Array) else list(names)
        private, no_private = _meant(self.private, texts)
        public, no_public = _meant(self.public, texts)
        absent = [name for name in no_private if not _is_pattern(name)]
        if self.allow_absent:
            no_private = [pattern for pattern in no_private if _is_pattern(pattern)]
        elif original and absent:
            raise InputError(self._absent(absent, texts))
        lost = [
            *((f'private: "{p}" matches no item, so it protects nothing.', p) for p in no_private),
            *((f'public: "{p}" matches no item.', p) for p in no_public),
        ]
        warnings = [said for said, _ in lost[:SHOWN]]
        hints = [f"{said} {did_you_mean(p, texts)}".rstrip() for said, p in lost[:SHOWN]]
        if len(lost) > SHOWN:
            hints.append(f"{len(lost) - SHOWN:,} more names or patterns match no item.")
            warnings.append(hints[-1])
        return ItemRoles(public & ~private, private, tuple(warnings), tuple(hints))

    def protects(self, names: Sequence[str]) -> bool:
        """Whether one of some names is that of a private item."""
        return bool(_meant(self.private, names)[0].any())

    def _absent(self, names: Sequence[str], items: Sequence[str]) -> Problem:
        """Private names that no item has; items that may be meant are personal, and kept apart."""
        near = [item for name in names if (item := nearest(name, items))]
        return Problem(
            f"no transaction holds the private {quoted(names)}",
            where=f"{self.name}, private",
            why="a misspelt name protects nothing.",
            do="correct the spelling, or say  allow_absent = true."
            + (" The values are items spelt nearly so." if near else ""),
            values=tuple(dict.fromkeys(near)),
        )

    def promise_about(self, roles: ItemRoles | None = None) -> Coherence:
        """What it comes to, among some items if they are known."""
        private = bool(self.private) if roles is None else bool(roles.private.any())
        return self.promise.among(private=private)

    def shown_with(self, names: Sequence[str]) -> BasketPolicy:
        """The policy without names of items that are not there: a release does not tell them.

        It still means the same there. Patterns stay: they name nobody's items.
        """
        there = {*names}
        update = {
            key: tuple(p for p in patterns if p in there or _is_pattern(p))
            for key, patterns in (("private", self.private), ("public", self.public))
        }
        return self.model_copy(update=update)


@dataclass(frozen=True, slots=True)
class ItemRoles:
    """What items are to an attacker."""

    public: Mask  # may be known
    private: Mask  # must not be told
    warnings: tuple[str, ...]  # about names that no item has
    hints: tuple[str, ...]  # the same, with items that may be meant: they may be personal


def _is_pattern(text: str) -> bool:
    return any(sign in text for sign in _SIGNS)


def _meant(patterns: Sequence[str], names: Sequence[str]) -> tuple[Mask, list[str]]:
    """Which names are meant, the very name or one that a pattern fits; and what means none."""
    places = {name: place for place, name in enumerate(names)}
    meant, nothing = np.zeros(len(names), np.bool_), []
    for pattern in patterns:
        hits = [places[pattern]] if pattern in places else []
        if _is_pattern(pattern):
            fits = re.compile(fnmatch.translate(pattern)).match
            hits += [place for place, name in enumerate(names) if fits(name)]
        meant[hits] = True
        if not hits and pattern != "*":
            nothing.append(pattern)
    return meant, nothing
