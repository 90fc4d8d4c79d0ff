"""The greedy removal: take away what breaks most threats for what it costs, then give back.

A *threat* is a set of things that must not all stay. Which things these are — items of a basket,
entries of a table — is nothing to the loop. It removes the thing with the most threats left per
unit of cost, until no threat is left, and then gives things back, the last first, wherever no
threat comes back with them. After one pass nothing more can be given back: threats that a thing
would bring back are held off by others that are gone, and those were asked later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reticent.suppress import kernels
from reticent.suppress.moles import Ints, Moles


@dataclass(frozen=True, slots=True)
class Removed:
    """What was taken away."""

    order: tuple[int, ...]  # in which things went
    back: frozenset[int]  # those of them that came back

    @property
    def gone(self) -> tuple[int, ...]:
        """What stays away, in the order in which it went."""
        return tuple(thing for thing in self.order if thing not in self.back)


def remove(threats: Moles, costs: Sequence[int] | Ints) -> Removed:
    """Break every threat; of equally good things the one with the smaller number goes first.

    Things that are threats alone go before all others.

    >>> threats = Moles(np.array([0, 1, 3, 5]), np.array([3, 0, 1, 0, 2], np.int32))
    >>> remove(threats, [3, 2, 2, 1])
    Removed(order=(3, 0), back=frozenset())
    >>> remove(threats, [9, 2, 2, 1]).gone
    (3, 1, 2)
    """
    spent = np.asarray(costs, np.int64)
    holders, of_holder = kernels.invert(threats.begins, threats.items, len(spent))
    order = kernels.remove(threats.begins, threats.items, holders, of_holder, spent)
    back = kernels.give_back(threats.begins, threats.items, holders, of_holder, order)
    return Removed(tuple(order.tolist()), frozenset(order[back].tolist()))


def breaks_all(threats: Moles, gone: NDArray[np.bool_]) -> bool:
    """Whether no threat is left when these things are gone."""
    if not len(threats):
        return True
    broken = np.add.reduceat(gone[threats.items].astype(np.int64), threats.begins[:-1])
    return bool((broken > 0).all())
