"""How files that people open are written: what parts cells, the decimal sign, the mark in front."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from reticent.data.decimals import is_fractional, with_commas
from reticent.errors import Problem, refuse
from reticent.files.tabular import CSV, delimiter_of

DELIMITERS = (",", ";", "\t", "|")
BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Writing:
    r"""How tables are written where somebody said so; what nobody told is as usual.

    >>> european = Writing(decimal=",")
    >>> european.delimiter_for(".csv"), european.delimiter_for(".tsv.gz")
    (';', '\t')
    """

    delimiter: str | None = None
    decimal: str | None = None
    bom: bool = False
    intervals: frozenset[str] = frozenset()  # the columns that show intervals

    def of(self, intervals: Collection[str]) -> Writing:
        """The same for a table whose columns show intervals."""
        return replace(self, intervals=frozenset(intervals))

    @property
    def has_commas(self) -> bool:
        """Whether the decimal sign is a comma."""
        return self.decimal == ","

    def delimiter_for(self, suffix: str) -> str:
        """What parts the cells of a text format; where commas stand in numbers, a semicolon."""
        usual = delimiter_of(suffix)
        return self.delimiter or (";" if self.has_commas and usual == "," else usual)

    def shown(self, name: str, values: pa.Array) -> pa.Array:
        """The values of a column as they are written."""
        return with_commas(values, intervals=name in self.intervals) if self.has_commas else values

    def numbers(self, schema: pa.Schema) -> list[str]:
        """The columns whose cells are written with another sign than they have inside."""
        return [f.name for f in schema if is_fractional(f.type)] if self.has_commas else []

    def told_for(self, suffix: str) -> dict[str, Any]:
        """What readers of a file must know; nothing where it is written as usual."""
        if not self.keys:
            return {}
        if suffix not in CSV:
            return {"decimal": self.decimal} if self.has_commas else {}
        delimiter, decimal = self.delimiter_for(suffix), self.decimal or "."
        return {"delimiter": delimiter, "decimal": decimal, "bom": self.bom}

    @property
    def keys(self) -> list[str]:
        """What is to be written otherwise than usual."""
        told = {"delimiter": self.delimiter, "decimal": self.has_commas, "bom": self.bom}
        return [key for key, given in told.items() if given]

    def idle(self, suffix: str) -> list[str]:
        """Its keys that mean nothing in a format."""
        text = suffix in CSV
        tabs = suffix.startswith(".tsv") and self.delimiter not in (None, "\t")
        means = {"delimiter": text and not tabs, "decimal": text or suffix == ".xlsx", "bom": text}
        return [key for key in self.keys if not means[key]]

    def refuse_idle(self, suffix: str, where: str) -> None:
        """Refuse a file in a format in which some key means nothing."""
        refuse(self._unmeant(suffix, where))

    def _unmeant(self, suffix: str, where: str) -> Iterator[Problem]:
        for key in self.idle(suffix):
            said = f"the cells of {suffix} files are not parted by that sign"
            if key != "delimiter" or not suffix.startswith(".tsv"):
                said = f"{suffix} files have no {_CALLED[key]} of their own"
            yield Problem(
                f"[writing] {key} means nothing here: {said}", where=where,
                do=f"leave {key} out, or write .csv.",
            )  # fmt: skip


_CALLED = {"delimiter": "delimiter", "decimal": "decimal sign", "bom": "byte order mark"}
AS_USUAL = Writing()
