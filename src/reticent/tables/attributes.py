"""One column of a policy: how its cells are read at the door, and how it is masked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, field_validator, model_validator

from reticent.data.taxonomy import DEEPEST
from reticent.errors import quoted
from reticent.privacy.floors import Coarsen
from reticent.privacy.promises import Cell, Record

Mask = Literal["generalize", "suppress", "discretize"]


def _plain(value: Any) -> Any:
    """TOML floats arrive as exact decimals; outside of thresholds a float is what is meant."""
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError("a bound is a finite number, a date or a time")
    return value


def _or_the_word(schema: dict[str, Any]) -> None:
    """What editors are told of coarsen: it may be one word, too."""
    schema["anyOf"].insert(0, {"const": "year"})


Bound = Annotated[int | float | datetime | date | str, BeforeValidator(_plain)]
Tree = Annotated[
    str | dict[str, Any], WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object"}]})
]


class Attribute(Record):
    """How one column is masked, or compared with the same column of earlier releases."""

    mask: Mask | None = Field(default=None, description="generalize, suppress or discretize.")
    taxonomy: Tree | None = Field(
        default=None, description="A path relative to the policy file, or an inline nested table."
    )
    range: tuple[Bound, Bound] | None = Field(
        default=None, description="Outer bounds of a discretized column."
    )
    intervals: Annotated[tuple[Bound, ...], Field(min_length=2)] | None = Field(
        default=None, description="Fixed bins of a discretized column."
    )
    round: bool = Field(
        default=False,
        strict=True,
        description="true: learnt borders are printed as the shortest decimal that parts the same "
        "records.",
    )
    same: dict[Cell, tuple[Cell, ...]] = Field(
        default={},
        description="Values that are written in several ways: what each is, and how else it is "
        "written.",
    )
    join: bool = Field(
        default=True,
        strict=True,
        description="false: nobody can link records by it, though earlier releases have it, too.",
    )
    coarsen: Coarsen | None = Field(
        default=None,
        description='How fine its cells are at most, before all else, in any role: "year", '
        "{ top = 90 } or { digits = 3 }.",
        json_schema_extra=_or_the_word,
    )

    @model_validator(mode="before")
    @classmethod
    def _has_a_mask(cls, given: Any) -> Any:
        """What has nothing to do with masking goes without; else the place is to blame."""
        if isinstance(given, Mapping) and "mask" not in given and "intervals" in given:
            return {"mask": "discretize", **given}  # there is no other that has them
        if isinstance(given, Mapping) and not {"mask", "join", "coarsen", "same"} & given.keys():
            return {"mask": "", **given}
        return given

    @model_validator(mode="after")
    def _fits_its_mask(self) -> Self:
        if self.mask == "generalize" and self.taxonomy is None:
            raise ValueError('mask = "generalize" needs a taxonomy')
        if isinstance(self.taxonomy, dict) and _levels(self.taxonomy) > DEEPEST:
            raise ValueError("the taxonomy is nested too deeply: write it as a CSV file")
        if self.mask != "generalize" and self.taxonomy is not None:
            raise ValueError(f'a taxonomy goes with mask = "generalize", not "{self.mask}"')
        if self.mask != "discretize" and (self.range or self.intervals):
            raise ValueError(f'range and intervals go with mask = "discretize", not "{self.mask}"')
        if self.range and self.intervals:
            raise ValueError("give range or intervals, not both: intervals have their own ends")
        if self.round and self.mask != "discretize":
            raise ValueError('round goes with mask = "discretize": nothing else has borders')
        if self.round and self.intervals:
            raise ValueError("give round or intervals, not both: those given are printed as given")
        for name, bounds in (("range", self.range), ("intervals", self.intervals)):
            if bounds and not _rising(bounds):
                raise ValueError(f"the bounds of {name} must be of one kind and rise")
        if self.coarsen and self.coarsen.digits and self.mask == "discretize":
            raise ValueError('postcodes are no numbers: use mask = "suppress" or a taxonomy')
        if self.coarsen and self.intervals and self.coarsen.parts(self.intervals):
            raise ValueError("the intervals part what coarsen shows as one")
        return self

    @property
    def masked_by(self) -> Mask | None:
        """How it is masked; None: as its cells tell. Those of coarse cells do not."""
        if self.mask or self.coarsen is None:
            return self.mask
        return "suppress" if self.coarsen.digits else "discretize"

    @field_validator("same", mode="before")
    @classmethod
    def _names_values(cls, same: Any) -> Any:
        if not isinstance(same, Mapping):
            raise ValueError('say what each value is, and how else it is written: { male = ["m"] }')
        return {
            value: others if isinstance(others, list | tuple) else (others,)
            for value, others in same.items()
        }

    @field_validator("same")
    @classmethod
    def _is_said_once(cls, same: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        spellings = [text for others in same.values() for text in others]
        if "" in {*same, *spellings}:
            raise ValueError("an empty cell is no spelling: it has no value")
        if empty := [value for value, others in same.items() if not others]:
            raise ValueError(f"list how else {quoted(empty)} is written")
        if twice := sorted({text for text in spellings if spellings.count(text) > 1}):
            raise ValueError(f"{quoted(twice)} stands twice: a spelling is of one value")
        if chained := [text for text in spellings if text in same]:
            raise ValueError(f"{quoted(chained)} is a value and a spelling: list all of them once")
        return same

    @property
    def spellings(self) -> dict[str, str]:
        """What each spelling stands for."""
        return {text: value for value, others in self.same.items() for text in others}


def _levels(tree: Any) -> int:
    """How many tables stand in each other at most."""
    levels, below = 0, [tree]
    while below := [part for table in below if isinstance(table, dict) for part in table.values()]:
        levels += 1
    return levels


def _rising(bounds: Sequence[Any]) -> bool:
    try:
        return all(low < high for low, high in pairwise(bounds))
    except TypeError:
        return False
