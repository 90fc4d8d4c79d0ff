"""Sums over the groups of all masked columns together: what a cut is worth as a whole.

A promise is about its worst group, and `measures` keep extremes. Here every group counts: how many
look alike, or how well each tells the class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.data import memory
from reticent.data.collapse import Codes
from reticent.refine import kernels
from reticent.refine.cuts import Cuts, Reveal
from reticent.refine.measures import Groups, scratch, together

_TELLING = 100_000  # records in a sample by which classes are told
_REMEMBERED = 1 << 16  # logarithms of longer products are computed


class Totals(ABC):
    """What each candidate would take off a sum over the groups of all masked columns together.

    Unlike a promise's extreme, a sum changes with every group, so what a group contributes is taken
    back before it is split. All is whole numbers: nothing is left over, whatever the order.
    """

    scratch: list[list[NDArray[np.int64]]]  # of each of two threads

    def __init__(
        self,
        cuts: Cuts,
        marks: Codes | None = None,
        mark_count: int = 0,
        *,
        most: int | None = None,
    ) -> None:
        columns = range(len(cuts.domains) + len(cuts.foreign))
        self.groups = Groups(cuts, columns, marks, mark_count, most=most)
        self.drops = np.zeros(cuts.none + 1, dtype=np.int64)
        self.cells = self.groups.cells
        self.saved = 0  # taken off so far

    def begin(self) -> None:
        """Count the parts of every candidate."""
        self._scan(1, split=False)

    def forget(self, reveal: Reveal) -> None:
        """Take back what the groups contribute that are about to be split."""
        if reveal.told is None:
            self.saved += int(self.drops[reveal.slot])
        self.groups.touch(reveal)
        self._scan(-1, split=False)

    def reveal(self, reveal: Reveal) -> None:
        """Split groups, and add what their parts contribute."""
        if reveal.parts and not reveal.discloses:
            self.drops[list(reveal.parts)] = 0
        self._scan(1, split=True)

    def _scan(self, sign: int, *, split: bool) -> None:
        scans = self.groups.scans(split=split)
        found = [self.drops, *(np.zeros_like(self.drops) for _ in scans[1:])]
        together(self._count, scans, self.scratch, [sign, sign], found)
        for other in found[1:]:
            self.drops += other

    @abstractmethod
    def _count(self, scan: kernels.Scan, scratch: Any, sign: int, drops: NDArray[np.int64]) -> None:
        """Add what the groups of a scan contribute to every candidate's drop."""


class SquaredGroups(Totals):
    """Discernibility: the sum of squared group sizes."""

    def __init__(self, cuts: Cuts) -> None:
        super().__init__(cuts)
        self.scratch = scratch()

    def _count(self, scan: kernels.Scan, scratch: Any, sign: int, drops: NDArray[np.int64]) -> None:
        kernels.scan_squares(scan, sign, drops)


class ClassBits(Totals):
    """The bits it takes to tell the class of every record to somebody who sees its group.

    The classes of a group are told one by one, each in -log2 p bits for a chance p that starts out
    alike for all classes and learns from those told already: (so many of this class so far + 1) /
    (so many so far + how many classes there are). A group that is split must be learnt anew in
    each part, which costs bits: a split pays only if its parts really differ. So the sum says
    how well records to come can be told, and not only those at hand (Rissanen 1984).

    A hundred thousand records tell as well as millions which split saves most, in a tenth of the
    time: at a million records and 14 columns, a search took 3.8 s more with all of them. So a
    search that goes many ways may ask a sample (`sampled`). One that goes a single way asks all
    records: which of them stand in a sample depends on every column, and of several owners nobody
    has them all.
    """

    def __init__(self, cuts: Cuts, classes: Codes, class_count: int, *, sampled: bool) -> None:
        told = memory.look_up(np.arange(1, class_count + 1, dtype=np.int32), classes)
        super().__init__(cuts, told, class_count, most=_TELLING if sampled else None)
        slots, marks = cuts.none + 1, class_count + 2
        self.scratch = scratch(slots, marks, marks)  # inside by slot, begins and sums by mark
        self.records = int(self.groups.weights.sum(dtype=np.int64))
        self.whole = (_rising_bits(class_count, self.records), class_count)
        self.each = (_rising_bits(1, self.records), 1)

    def _count(self, scan: kernels.Scan, scratch: Any, sign: int, drops: NDArray[np.int64]) -> None:
        kernels.scan_code(scan, *scratch, *self.whole, *self.each, sign, drops)


def _rising_bits(first: int, count: int) -> NDArray[np.int64]:
    """log2 of first · (first + 1) · …, for up to `count` factors or as many as are worth a table.

    >>> (_rising_bits(1, 4) / kernels.UNITS).round(3)
    array([0.   , 0.   , 1.   , 2.585, 4.585])
    """
    factors = first + np.arange(min(count, _REMEMBERED), dtype=np.float64)
    bits = np.concatenate([[0.0], np.cumsum(np.log2(factors))])
    return np.round(bits * kernels.UNITS).astype(np.int64)
