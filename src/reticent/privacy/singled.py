"""Records that stand alone: what columns released as they are tell, which no promise covers.

A promise is about the columns of its `over`, which are masked for its sake. Whoever knows of
somebody what stands in the others, the unmasked ones, may still find one record. Two counts say how
often: records that no other equals in all unmasked columns, and those that no other equals in the
kept ones and the class beside what the masked ones show. (A sensitive value is what somebody wants
to learn, so it is no key there.) Cells are compared as they print; a missing one prints empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from reticent.data.collapse import alone
from reticent.data.columns import Column, Counts, without_missing
from reticent.data.texts import is_text
from reticent.errors import many, quoted
from reticent.privacy.words import percent

MANY = Fraction(1, 20)  # the share of all records beyond which a steward hears of it
_CHEAP = 1_000_000  # cells looked at to say which column to mask: about 20 ms
_NAMED = 10  # columns that a sentence lists

Alone = Callable[[Sequence[str]], int]  # how many records no other equals in some columns


@dataclass(frozen=True, slots=True)
class Without:
    """What is left if one column is left out, of those the one that helps most."""

    column: str
    records: int


@dataclass(frozen=True, slots=True)
class SingledOut:
    """How many records stand alone."""

    rows: int
    unmasked: tuple[str, ...]  # columns released as they are,
    records: int  # and how many records no other equals in them
    keys: tuple[str, ...]  # those of them that are not sensitive,
    beside_masked: int  # and how many no other equals in these and the masked columns
    without: Without | None = None  # where that is cheap to find, and there are several

    def facts(self) -> dict[str, Any]:
        """Columns and counts, as reports for programs have them."""
        beside = {"columns": list(self.keys), "records": self.beside_masked}
        return {
            "unmasked": {"columns": list(self.unmasked), "records": self.records},
            "beside_masked": beside if self.keys else None,
        }

    @property
    def text(self) -> str:
        """Both counts in a sentence."""
        verb = "differs" if self.records == 1 else "differ"
        said = (
            f"{self.records:,} of {many(self.rows, 'record')} ({self._share(self.records)}) {verb} "
            f"from all others in {_names(self.unmasked)}"
        )
        if self.keys:
            these = "" if self.keys == self.unmasked else f"in {_names(self.keys)} "
            verb = "does" if self.beside_masked == 1 else "do"
            said += (
                f"; {these}beside what the masked columns show, {self.beside_masked:,} "
                f"({self._share(self.beside_masked)}) {verb}"
            )
        return f"{said}."

    def warnings(self) -> Iterator[str]:
        """What a steward should hear, if it is about many."""
        if self.blamed:
            yield (
                f"{self.text} No promise covers columns released as they are: whoever knows what "
                "stands there finds one record. Mask or drop "
                f"{'it' if len(self.blamed) == 1 else 'one of them'}, or make its values "
                f"coarser{self._helps()}."
            )

    @property
    def blamed(self) -> tuple[str, ...]:
        """The columns that single many records out; none if there are not many."""
        if _is_many(self.records, self.rows):
            return self.unmasked
        return self.keys if _is_many(self.beside_masked, self.rows) else ()

    def _helps(self) -> str:
        if self.without is None:
            return ""
        still = "still " if _is_many(self.without.records, self.rows) else ""
        return f'; without "{self.without.column}", {self.without.records:,} would {still}be left'

    def _share(self, count: int) -> str:
        return percent(Fraction(count, self.rows))


def singled_out(
    alone: Alone, rows: int, unmasked: Sequence[str], *,
    sensitive: Sequence[str], masked: Sequence[str],
) -> SingledOut | None:  # fmt: skip
    """Count the records that stand alone; None where all columns are masked."""
    if not unmasked or not rows:
        return None
    keys = [name for name in unmasked if name not in sensitive]
    keys = keys if masked or len(keys) < len(unmasked) else []  # else nothing stands beside
    records = alone(unmasked)
    everybody = records == rows and len(keys) == len(unmasked)  # whatever stands beside
    beside = rows if everybody else alone([*keys, *masked]) if keys else 0
    found = SingledOut(rows, tuple(unmasked), records, tuple(keys), beside)
    blamed, others = found.blamed, () if _is_many(records, rows) else masked
    if len(blamed) < 2 or len(blamed) * rows > _CHEAP:  # the same wherever rows stand
        return found
    left = {name: alone([*(n for n in blamed if n != name), *others]) for name in blamed}
    best = min(blamed, key=left.__getitem__)
    return replace(found, without=Without(best, left[best]))


def alone_in(columns: Mapping[str, Column], counts: Counts | None = None) -> Alone:
    """A counter over columns in memory; `counts`: how many records each row stands for."""
    printed: dict[str, Column] = {}

    def count(names: Sequence[str]) -> int:
        for name in names:
            if name not in printed:
                printed[name] = _as_printed(columns[name])
        some = [printed[name] for name in names]
        return alone([c.codes for c in some], [len(c.values) for c in some], counts)

    return count


def _as_printed(column: Column) -> Column:
    """A column with one value for each text; of others than these no two print alike."""
    if pa.types.is_floating(column.values.type):
        cells = column.values.to_numpy(zero_copy_only=False)
        alike = np.isnan(cells).sum() > 1 or (cells == 0).sum() > 1
        return without_missing(column) if alike else column
    return without_missing(column) if is_text(column.values.type) else column


def _is_many(count: int, rows: int) -> bool:
    return count > MANY * rows


def _names(names: Sequence[str]) -> str:
    return quoted(names, _NAMED)
