"""Which public items to suppress, in all transactions, so that no mole is left.

    greedy   all minimal moles, then the item that breaks most of them for what it costs, and so on
    levels   the same for moles of two items, then of three on what is left, and so on
    grow     no item at first; then each that brings no mole, the most frequent first
    best     the cheapest of these that finish, and then swaps

All of them end in giving items back: one by one, each that brings no mole. What is known of moles
stands in a *pool*. An item that would complete one of them cannot come back, and nobody need look;
for any other the transactions that hold it are searched for a mole, unless the pool is complete.

Swaps work on the pool alone. If it is not complete, what they find is searched for moles, these
join the pool, and so on, until nothing on the pool is cheaper than what is known to be safe. So
Connect (k = 50, any number of items known) needs a few thousand of its millions of moles.

From the first give-back on there is a choice that is safe, if dear: who asks the search to stop
then gets the cheapest that is known. What has not come back by then stays away.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from reticent.suppress.baskets.moles import KnownBaskets, minimal_moles, thin_set
from reticent.suppress.baskets.worth import Worth
from reticent.suppress.engine import Removed, Threats, give_back, improve, mask, remove
from reticent.suppress.sets import Budget, GaveUp, Halt, Mask, Sets, invert

# Searches that go further are given up: seconds of work, words of bitsets looked at at a nanosecond
# or two each, and half a gigabyte of moles.
_AT_ONCE = Budget(sets=20_000_000, work=300_000_000)
_HOPELESS = Budget(sets=20_000_000, work=40_000_000)  # all moles of any size, of dense data
_PATIENT = Budget(sets=100_000_000, work=50_000_000_000)  # minutes, where nothing else will do
_A_METHOD, _A_VALUE = 1_500_000_000, 50  # work that a method may do, where others do as well
_FRESH = Budget(sets=5_000, work=100_000_000)  # moles that join the pool in one round of swaps
_FEW = Budget(sets=50_000, work=200_000_000)  # moles of all sizes, after those of a few items
_LOOK_AHEAD = 6  # how many
_SWAPPING, _SOME_SWAPS = 100_000_000, 30_000_000  # threats that swaps look at, a second's worth
_LOOKED_AT, _TOLD = 500, 20  # moles that are named to the owner of the data
_ROUNDS = 1  # of those, one after the other, that bring nothing


@dataclass(frozen=True, slots=True)
class Suppressed:
    """The items that went, and how that was found."""

    removed: Removed
    method: str  # which one found it
    lost: tuple[int, ...]
    tried: dict[str, tuple[int, ...]]  # what every method that finished would have lost
    moles: int  # that were found
    complete: bool  # whether these are all there are
    worst: tuple[tuple[tuple[int, ...], int], ...]  # the shortest of them, and who holds them
    stopped_early: bool = False  # somebody asked for it; less might do


class ItemSearch:
    """The methods, on one set of transactions and one promise."""

    def __init__(
        self, known: KnownBaskets, k: int, h: Fraction, p: int | None, worth: Worth,
        halt: Halt | None = None,
    ) -> None:  # fmt: skip
        """`worth`: what it costs to suppress items."""
        self.halt = halt or Halt()
        self.fallback: dict[str, Removed] = {}  # the first safe choice, before anything came back
        self.known, self.k, self.h, self.p, self.worth = known, k, h, p, worth
        self.begins, self.rows = invert(known.starts, known.items, known.count)
        self.supports = np.diff(self.begins)
        single = minimal_moles(known, k, h, 1)
        self.pool = Threats(single, known.count)
        self.alone = mask(single.items, known.count)  # items that are moles by themselves
        self.complete = p == 1  # whether the pool has all minimal moles
        self.costs = worth.costs()
        self.allowed = _PATIENT.work  # work that may still be done

    def run(self, method: str) -> Suppressed:
        """Items to suppress, by one method or by the best."""
        try:
            found = self._best() if method == "best" else self._by(method)
        except GaveUp:
            if not (self.halt.heard and self.fallback):
                raise
            found = self.fallback
        lost = {name: self._lost(removed) for name, removed in found.items()}
        name = min(lost, key=lambda name: lost[name])
        known = len(self.pool), self.complete, self._worst()
        return Suppressed(found[name], name, lost[name], lost, *known, self.halt.heard)

    def _by(self, method: str) -> dict[str, Removed]:
        if method == "greedy":
            found = self.greedy(_PATIENT)
            return {"levels": self.levels()} if found is None else {"greedy": found}
        return {method: getattr(self, method)()}

    def _best(self) -> dict[str, Removed]:
        dense = (
            self.p is None and self.supports.sum() > self.known.count * self.known.transactions / 10
        )
        greedy = self.greedy(_HOPELESS if dense else _AT_ONCE)
        found = {} if greedy is None else {"greedy": greedy}
        for name, method in (("levels", self.levels), ("grow", self.grow)):
            self.allowed = max(_A_METHOD, _A_VALUE * len(self.known.items))
            with suppress(GaveUp):
                found[name] = method()
        self.allowed = _PATIENT.work
        if not found:
            found["grow"] = self.grow()
        if self.halt.now():
            return found
        return found | {"swaps": self.swaps(min(found.values(), key=self._lost))}

    def _lost(self, removed: Removed) -> tuple[int, ...]:
        return self.worth.lost(mask(removed.gone, self.known.count))

    # --- the methods -----------------------------------------------------------------------------

    def greedy(self, budget: Budget) -> Removed | None:
        """The papers' way, if it can be gone."""
        self.mine_all(min(budget, _AT_ONCE, key=lambda b: b.work))  # others are glad of it, too
        asked = self.known, self.k, self.h, self.p
        order = self.worth.greedy(
            asked, lambda: self.pool if self.mine_all(budget) else None, self.halt
        )
        return None if order is None else self._give_back("greedy", order)

    def levels(self) -> Removed:
        """Sets of one item, of two, of three, and so on."""
        single = self.pool.sets.some(np.flatnonzero(np.diff(self.pool.sets.begins) == 1))
        order = self._removed(single)
        rest, size = self.pool if self.complete else None, 2
        while rest is None and (self.p is None or size <= self.p):
            self.halt.or_give_up()
            moles = self._among(order, size)
            order += self._removed(moles, order)
            if not moles.complete:
                continue  # what is left has fewer of them
            if size >= _LOOK_AHEAD or (self.p is None and not len(moles)):
                left = self._mined(order, self.p, _FEW)
                if left.complete:
                    self.pool = self.pool.and_also([left])
                    rest = Threats(left, self.known.count)
                elif not len(moles):  # longer ones than can be listed; some of them will do
                    left = self._among(order, self.p)
                    order += self._removed(left, order)
                    continue
            size += 1
        return self._give_back("levels", self._by_size(rest, order) if rest else order)

    def _by_size(self, rest: Threats, order: tuple[int, ...]) -> tuple[int, ...]:
        """Go on where all moles that are left are known."""
        sizes = np.diff(rest.sets.begins)
        for size in np.unique(sizes):
            order += self._removed(rest.sets.some(np.flatnonzero(sizes == size)), order)
        return order

    def _removed(self, moles: Sets, order: tuple[int, ...] = ()) -> tuple[int, ...]:
        """What else goes until these are broken."""
        return remove(Threats(moles, self.known.count), self.costs, order, self.halt)

    def grow(self) -> Removed:
        """No item at first; then each that brings no mole, by falling support."""
        self.halt.or_give_up()
        there = np.flatnonzero(self.supports)
        rare_first = there[np.lexsort((-there, self.supports[there]))]
        return self._give_back("grow", tuple(rare_first.tolist()))

    def swaps(self, best: Removed) -> Removed:
        """Cheaper items for some that are gone, as far as the budget goes."""
        costs, left = self.worth.added_up(), _ROUNDS
        while left and not self.halt.now():
            gone = improve(self.pool, costs, best.gone, _SWAPPING if self.complete else _SOME_SWAPS)
            if self.worth.lost(gone) >= self._lost(best):
                return best
            order = tuple(np.flatnonzero(gone).tolist())
            if self.complete:
                return self._give_back("swaps", order)
            left -= 1
            fresh = self._mined(order, self.p, _FRESH)
            self.pool = self.pool.and_also([fresh])
            if not len(fresh):
                if not fresh.complete:
                    return best
                best, left = self._give_back("swaps", order), _ROUNDS
        return best

    # --- moles -----------------------------------------------------------------------------------

    def in_mole(self, item: int) -> bool:
        """Whether an item is part of any mole."""
        return bool(self.alone[item]) or self._barred(item, mask((), self.known.count), [])

    def _worst(self) -> tuple[tuple[tuple[int, ...], int], ...]:
        """A few moles with how many transactions hold them: the shortest, then the rarest."""
        sets = self.pool.sets
        first = np.argsort(np.diff(sets.begins), kind="stable")[:_LOOKED_AT]
        held = [(mole, len(self._holders(mole))) for mole in sets.some(first)]
        return tuple(sorted(held, key=lambda pair: (len(pair[0]), pair[1], pair[0]))[:_TOLD])

    def _holders(self, items: tuple[int, ...]) -> NDArray[np.int32]:
        """The transactions that have all of these."""
        held = [self.rows[self.begins[v] : self.begins[v + 1]] for v in items]
        both: NDArray[np.int32] = held[0]
        for rows in held[1:]:
            both = np.intersect1d(both, rows, assume_unique=True)
        return both

    def mine_all(self, budget: Budget = _AT_ONCE) -> bool:
        """Fill the pool with all minimal moles, if that can be done."""
        if not self.complete:
            self.halt.or_give_up()
            moles = minimal_moles(self.known, self.k, self.h, self.p, budget=budget, halt=self.halt)
            if moles.complete:
                self.pool, self.complete = Threats(moles, self.known.count), True
        return self.complete

    def _among(self, gone: tuple[int, ...], p: int | None) -> Sets:
        """Sets among the items that are left: all, or some; they join the pool."""
        moles = self._mined(gone, p, _AT_ONCE)
        if not len(moles) and not moles.complete:
            moles = self._mined(gone, p, replace(_PATIENT, work=max(self.allowed, 0)))
        self.pool = self.pool.and_also([moles])
        return _decided(moles)

    def _mined(self, gone: tuple[int, ...], p: int | None, budget: Budget) -> Sets:
        return self._found(self.known.without(mask(gone, self.known.count)), p, budget)

    def _found(self, known: KnownBaskets, p: int | None, budget: Budget) -> Sets:
        """Sets of some transactions; for sets of any size, one if there are any."""
        if self.allowed < 0:
            raise GaveUp
        thin = thin_set(known, self.k) if p is None else None
        one = Sets(np.array([0, len(thin or ())]), np.array(thin or (), np.int32), complete=False)
        if p is None and thin is None and self.h == 1:
            return replace(one, begins=one.begins[:1], complete=True)
        if thin is not None and budget.sets == 0:
            return one
        moles = minimal_moles(known, self.k, self.h, p, budget=budget, halt=self.halt)
        self.allowed -= moles.work
        return one if thin is not None and not len(moles) else moles

    def _give_back(self, method: str, order: tuple[int, ...]) -> Removed:
        """Let items come back, the last gone first, each that brings no mole, until told to end."""
        self.fallback = self.fallback or {method: Removed(order, frozenset())}
        self.halt.started()
        if self.complete:
            return give_back(self.pool, order)
        fresh: list[Sets] = []
        removed = give_back(self.pool, order, lambda item, gone: self._stays(item, gone, fresh))
        self.pool = self.pool.and_also(fresh)
        return removed

    def _stays(self, item: int, gone: Mask, fresh: list[Sets]) -> bool:
        """Whether an item cannot come back, or nobody waits to know."""
        try:
            return self.halt.now() or self._barred(item, gone, fresh)
        except GaveUp:
            if not self.halt.heard:
                raise
            return True

    def _barred(self, item: int, gone: Mask, fresh: list[Sets]) -> bool:
        """Whether an item would be part of a mole: one is looked for where the item is held."""
        p = None if self.p is None else self.p - 1
        rows = self.rows[self.begins[item] : self.begins[item + 1]]
        held = self.known.beside(item, rows, gone)
        one = Budget(sets=0, work=max(self.allowed, 0))
        moles = _decided(self._found(held, p, one))
        if len(moles):
            whole = np.array([*moles.items[: moles.begins[1]], item], np.int32)
            fresh.append(Sets(np.array([0, len(whole)]), whole))
        return bool(len(moles))


def _decided(moles: Sets) -> Sets:
    if not len(moles) and not moles.complete:
        raise GaveUp
    return moles
