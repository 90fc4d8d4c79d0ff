"""The greedy removal: take away what breaks most threats for what it costs, then give back.

A *threat* is a set of things that must not all stay. Which things these are — items of a basket,
entries of a table — is nothing to the loops here. `remove` takes the thing with the most threats
left per unit of cost, until no threat is left. `give_back` lets things come back, the last first,
wherever no threat comes back with them; after one pass nothing more can, for what holds off the
threats of a thing that stays away was asked later. `improve` swaps things for cheaper ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reticent.suppress import lists, removal
from reticent.suppress.moles import Ints, Moles, together

Mask = NDArray[np.bool_]
_SEED = 88172645463325252  # of the order in which swaps are tried
# How many threats swaps look at, for each thing of each. With a tenth of it, the optimum was found
# on Mushroom, Groceries and msweb wherever an integer program knew it.
_A_THING = 5_000


@dataclass(frozen=True, slots=True)
class Removed:
    """What was taken away."""

    order: tuple[int, ...]  # in which things went
    back: frozenset[int]  # those of them that came back

    @property
    def gone(self) -> tuple[int, ...]:
        """What stays away, in the order in which it went."""
        return tuple(thing for thing in self.order if thing not in self.back)


class Threats:
    """Sets of things, and for each thing the sets that hold it."""

    def __init__(self, sets: Moles, things: int) -> None:
        """`things`: how many there are."""
        self.sets, self.things = sets, things
        self.holders, self.of_holder = lists.invert(sets.begins, sets.items, things)

    @property
    def arrays(self) -> tuple[Ints, NDArray[np.int32], Ints, NDArray[np.int32]]:
        """What the compiled loops take."""
        return self.sets.begins, self.sets.items, self.holders, self.of_holder

    def __len__(self) -> int:
        """How many there are."""
        return len(self.sets)

    def left(self, gone: Mask) -> Ints:
        """Which ones hold nothing that is gone."""
        return np.flatnonzero(removal.missing(self.sets.begins, self.sets.items, gone) == 0)

    def and_also(self, more: Iterable[Moles]) -> Threats:
        """These and others."""
        return Threats(together([self.sets, *more]), self.things)


def remove(
    threats: Threats, costs: Ints | Callable[[Mask], Ints], gone: Iterable[int] = ()
) -> tuple[int, ...]:
    """The order in which things go until every threat is broken, after those already gone.

    `costs`: what each thing costs; or tells so, where it depends on what else is gone. Things that
    are threats alone go before all others; of equally good ones the one with the smaller number.

    >>> sets = Moles(np.array([0, 1, 3, 5]), np.array([3, 0, 1, 0, 2], np.int32))
    >>> remove(Threats(sets, 4), np.array([3, 2, 2, 1]))
    (3, 0)
    >>> remove(Threats(sets, 4), np.array([9, 2, 2, 1]))
    (3, 1, 2)
    """
    away = mask(gone, threats.things)
    order: list[int] = []
    while len(threats.left(away)):
        now = costs(away) if callable(costs) else costs
        # What costs nothing takes nothing from the others' costs: they need not be asked again.
        dear = now > 0 if callable(costs) else np.zeros(len(now), np.bool_)
        went = removal.remove(*threats.arrays, now, away, dear)
        order += went.tolist()
        away[went] = True
    return tuple(order)


def give_back(
    threats: Threats,
    order: tuple[int, ...],
    bars: Callable[[int, Mask], bool] | None = None,
) -> Removed:
    """Let things come back, the last first, each that completes no threat.

    `bars`: whether something else keeps a thing away, others being gone; asked only if need be.
    """
    if bars is None:
        back = removal.give_back(*threats.arrays, np.array(order, np.int64))
        return Removed(order, frozenset(np.array(order, np.int64)[back].tolist()))
    away, back = mask(order, threats.things), set()
    missing = removal.missing(threats.sets.begins, threats.sets.items, away)
    for thing in reversed(order):
        own = threats.of_holder[threats.holders[thing] : threats.holders[thing + 1]]
        if (missing[own] > 1).all() and not bars(thing, away):
            missing[own] -= 1
            away[thing] = False
            back.add(thing)
    return Removed(order, frozenset(back))


def improve(threats: Threats, costs: Ints, gone: Iterable[int], most: int) -> Mask:
    """What is gone after swaps that make it cheaper, if any do; `most`: looks at threats."""
    away = mask(gone, threats.things)
    work = min(most, _A_THING * len(threats.sets.items))
    removal.improve(*threats.arrays, costs.astype(np.float64), away, work, _SEED)
    return away


def mask(things: Iterable[int], count: int) -> Mask:
    """Things as a mask over all."""
    found = np.zeros(count, np.bool_)
    found[list(things)] = True
    return found
