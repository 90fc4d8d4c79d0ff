"""Columns of other owners: what every record shows of them, and nothing behind it.

An owner hears of another's refinement as a partition: of the records that showed one value, which
go to which part. So a foreign column has no leaves, no candidates and no slots. It is a number for
every record, equal where records show the same, and a label for every number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


class NoPartition(ValueError):
    """What was told is no partition of the records that show a value; says why."""


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """A refinement as other owners hear of it."""

    column: str
    record: int  # the first record that shows the refined value: so the value needs no name
    parts: NDArray[np.integer[Any]]  # the part of every record that shows it, in their order
    labels: tuple[str, ...]  # of the parts, each of which holds a record


class ForeignColumn:
    """What records show of a column that lies with another owner."""

    def __init__(self, name: str, records: int) -> None:
        self.name = name
        self.shown: NDArray[np.int64] = np.zeros(records, dtype=np.int64)  # by record, a number,
        self.labels: list[str | None] = [None]  # and by number, its label; at first nobody knows it

    def check(self, told: Partition) -> int:
        """The number of the value that is refined; refuses what is no partition of its records."""
        if not 0 <= told.record < len(self.shown):
            raise NoPartition("names a record that does not exist")
        number = int(self.shown[told.record])
        members = np.flatnonzero(self.shown == number)
        if members[0] != told.record:
            raise NoPartition("names a value by a record that is not its first")
        if len(told.parts) != len(members):
            raise NoPartition("is not about each record of the value once")
        held = np.unique(told.parts)
        if not np.array_equal(held, np.arange(len(told.labels))):
            raise NoPartition("has a part without a record, or a record without a part")
        if len({*told.labels}) < len(told.labels):
            raise NoPartition("gives two parts one label")
        others = {self.labels[other] for other in np.unique(self.shown) if other != number}
        if others & {*told.labels}:
            raise NoPartition("gives a part the label of another value")
        return number

    def divide(self, told: Partition) -> None:
        """Let the records of a value show its parts."""
        members = np.flatnonzero(self.shown == self.shown[told.record])
        self.shown[members] = told.parts.astype(np.int64) + len(self.labels)
        self.labels += told.labels

    def by_record(self) -> tuple[NDArray[np.int64], list[str | None]]:
        """What each record shows: positions into a list of labels; None as long as nobody told."""
        numbers, position = np.unique(self.shown, return_inverse=True)
        return position.astype(np.int64), [self.labels[number] for number in numbers.tolist()]
