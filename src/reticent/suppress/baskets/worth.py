"""What suppressing items costs: their occurrences, or the frequent itemsets that go with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from reticent.suppress.baskets.diagrams import Family
from reticent.suppress.baskets.itemsets import remove_for_itemsets
from reticent.suppress.baskets.moles import KnownBaskets
from reticent.suppress.engine import Threats, mask, remove
from reticent.suppress.sets import Halt, Ints, Mask

_BITS = 40  # of a cost that loops compare; beyond, counts of itemsets lose their last digits


# The transactions that a promise is about, and its k, h and p.
PromisedBaskets = tuple[KnownBaskets, int, Fraction, int | None]


class Worth(Protocol):
    """What it costs to suppress items."""

    def lost(self, gone: Mask) -> tuple[int, ...]:
        """What all those that are gone cost together; of equal ones a second number decides."""

    def costs(self) -> Ints | Callable[[Mask], Ints]:
        """Of every item, what suppressing it costs; or tells so, given what else is gone."""

    def added_up(self) -> Ints:
        """Costs of single items that add up to those of several, or nearly."""

    def greedy(
        self, asked: PromisedBaskets, all_moles: Callable[[], Threats | None], halt: Halt
    ) -> tuple[int, ...] | None:
        """The papers' order, exactly; None if that is too much work."""


@dataclass(frozen=True, slots=True)
class Occurrences:
    """An item costs as many occurrences as it has."""

    supports: Ints

    def lost(self, gone: Mask) -> tuple[int, ...]:
        """All their occurrences."""
        return (int(self.supports[gone].sum()),)

    def costs(self) -> Ints:
        """Whatever else is gone."""
        return self.supports

    def added_up(self) -> Ints:
        """The same."""
        return self.supports

    def greedy(
        self, asked: PromisedBaskets, all_moles: Callable[[], Threats | None], halt: Halt
    ) -> tuple[int, ...] | None:
        """By the minimal moles with an item for each of its occurrences."""
        moles = all_moles()
        return None if moles is None else remove(moles, self.supports, halt=halt)


@dataclass(frozen=True, slots=True)
class Itemsets:
    """An item costs as many nuggets as hold it and nothing that is gone."""

    nuggets: Family
    numbers: Ints  # of every public item, among all items
    supports: Ints

    def lost(self, gone: Mask) -> tuple[int, ...]:
        """Nuggets, then occurrences."""
        left = self.nuggets.without(self.numbers[gone].tolist()).total
        return self.nuggets.total - left, int(self.supports[gone].sum())

    def costs(self) -> Callable[[Mask], Ints]:
        """Nuggets that are still there."""
        return self._each

    def _each(self, gone: Mask) -> Ints:
        counts = self.nuggets.without(self.numbers[gone].tolist()).per_item()
        own = [counts[number] for number in self.numbers.tolist()]
        beyond = max(max(own, default=0).bit_length() - _BITS, 0)
        return np.array([-(-count >> beyond) for count in own], np.int64)

    def added_up(self) -> Ints:
        """Nuggets first; of items with as many, those that occur less often are cheaper."""
        each = self._each(mask((), len(self.supports)))
        beyond = max(int(each.max(initial=0)).bit_length() - 30, 0)
        costs: Ints = (each >> beyond) * (1 + self.supports.max(initial=0)) + self.supports
        return costs

    def greedy(
        self, asked: PromisedBaskets, all_moles: Callable[[], Threats | None], halt: Halt
    ) -> tuple[int, ...] | None:
        """By all moles with an item for each of its nuggets."""
        found = remove_for_itemsets(*asked, self.nuggets, self.numbers, halt=halt)
        return found.order if found.complete else None
