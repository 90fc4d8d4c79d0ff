"""The greedy removal: take away what breaks most threats for what it costs, then give back.

A *threat* is a set of things of which too many must not stay: one of them has to go, or as many as
it `needs`. Which things these are — items of a basket, records with an entry to hide — is nothing
to the loops here; there may be several of a kind. `remove` takes the thing that helps most threats
per unit of cost, until no threat is left. `give_back` lets things come back, the last first,
wherever no threat comes back with them; after one pass nothing more can, for what holds off the
threats of a thing that stays away was asked later. `improve` swaps things for cheaper ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reticent.suppress import removal
from reticent.suppress.sets import Halt, Ints, Mask, Sets, invert, together

_SEED = 88172645463325252  # of the order in which swaps are tried
# How many threats swaps look at, for each thing of each. With a tenth of it, the optimum was found
# on Mushroom, Groceries and msweb wherever an integer program knew it.
_A_THING = 5_000


@dataclass(frozen=True, slots=True)
class Removed:
    """What was taken away."""

    order: tuple[int, ...]  # in which things went; of several of a kind each for itself
    back: frozenset[int]  # places in that order: what came back

    @property
    def gone(self) -> tuple[int, ...]:
        """What stays away, in the order in which it went."""
        return tuple(thing for at, thing in enumerate(self.order) if at not in self.back)


class Threats:
    """Sets of things, and for each thing the sets that hold it."""

    def __init__(
        self,
        sets: Sets,
        things: int,
        needs: Ints | None = None,
        room: Ints | None = None,
        holders: tuple[Ints, NDArray[np.int32]] | None = None,
    ) -> None:
        """`things`: how many kinds there are, `room`: of each; `needs`: what each set must lose.

        `holders`: the sets of each thing, if somebody has them.
        """
        self.sets, self.things = sets, things
        self.needs = np.ones(len(sets), np.int64) if needs is None else needs
        self.room = np.ones(things, np.int64) if room is None else room
        self.holders: Ints
        self.of_holder: NDArray[np.int32]
        self.holders, self.of_holder = holders or invert(sets.begins, sets.items, things)

    @property
    def arrays(self) -> tuple[Ints, NDArray[np.int32], Ints, NDArray[np.int32]]:
        """What the compiled loops take."""
        return self.sets.begins, self.sets.items, self.holders, self.of_holder

    def __len__(self) -> int:
        """How many there are."""
        return len(self.sets)

    def missing(self, gone: Ints | Mask) -> Ints:
        """How many things each has lost."""
        found: Ints = removal.missing(self.sets.begins, self.sets.items, gone.astype(np.int64))
        return found

    def and_also(self, more: Iterable[Sets]) -> Threats:
        """These and others, all of which must lose one thing of single ones."""
        return Threats(together([self.sets, *more]), self.things)


def remove(
    threats: Threats,
    costs: Ints | Callable[[Mask], Ints],
    gone: Iterable[int] = (),
    halt: Halt | None = None,
) -> tuple[int, ...]:
    """The order in which things go until every threat is broken that can be, after those gone.

    `costs`: what each thing costs; or tells so, where it depends on what else is gone. Things that
    are threats alone go before all others; of equally good ones the one with the smaller number.

    >>> sets = Sets(np.array([0, 1, 3, 5]), np.array([3, 0, 1, 0, 2], np.int32))
    >>> remove(Threats(sets, 4), np.array([3, 2, 2, 1]))
    (3, 0)
    >>> remove(Threats(sets, 4), np.array([9, 2, 2, 1]))
    (3, 1, 2)
    >>> remove(Threats(sets, 4, np.array([2, 1, 3]), np.array([1, 1, 9, 2])), np.ones(4, np.int64))
    (3, 3, 0, 2, 2)
    """
    away = np.bincount(np.array(list(gone), np.int64), minlength=threats.things)
    order: list[int] = []
    while True:
        if halt is not None:
            halt.or_give_up()
        needs, room = threats.needs - threats.missing(away), threats.room - away
        if not (needs > 0).any():
            return tuple(order)
        now = costs(away > 0) if callable(costs) else costs
        # What costs nothing takes nothing from the others' costs: they need not be asked again.
        dear = now > 0 if callable(costs) else np.zeros(len(now), np.bool_)
        went, often = removal.remove(*threats.arrays, now, needs, room, dear)
        if not len(went):
            return tuple(order)
        order += np.repeat(went, often).tolist()
        away = threats.room - room


def give_back(
    threats: Threats, order: tuple[int, ...], bars: Callable[[int, Mask], bool] | None = None
) -> Removed:
    """Let things come back, the last first, each that completes no threat.

    `bars`: whether something else keeps a thing away, others being gone; asked only if need be.
    """
    away, back = mask(order, threats.things), set()
    lost = threats.missing(np.bincount(np.array(order, np.int64), minlength=threats.things))
    spare = lost - threats.needs  # how many more than it needs each has lost
    for at in range(len(order) - 1, -1, -1):
        thing = order[at]
        own = threats.of_holder[threats.holders[thing] : threats.holders[thing + 1]]
        if (spare[own] > 0).all() and not (bars and bars(thing, away)):
            spare[own] -= 1
            away[thing] = False
            back.add(at)
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
