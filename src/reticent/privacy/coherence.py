"""(h,k,p)-coherence of transactions: recounted from the data, and what raw data are exposed to.

A transaction holds items; an item is public (an attacker may know it), private (to protect) or
neither. For every set of at most p public items that some transaction holds, the empty set
included: at least k transactions hold it, and no private item is in more than a fraction h of
those. Source: Xu 2008, chapter 4, definitions of (h,k,p)-coherence and moles.

| paper | here | |
| --- | --- | --- |
| D | `Baskets` | transactions, as numbers |
| β | a set, `breaking` | public items that somebody may know |
| Sup(β) | support | transactions that hold all of it, its *cohort* |
| Pr(s given β) | confidence | the share of the cohort that holds the private item s |
| mole | a set that breaks the promise | |

How a recount goes, and why it ends soon:

1. The empty set is looked at.
2. A set has at least the support of any transaction that holds it. If at least k hold each whole
   transaction, no set of any size is too small. Equal transactions are counted once.
3. Otherwise, and if p is limited, all sets up to p items are walked through, the rarest item first.
4. For confidences, h < 1, the same walk asks for each private item, but only where enough of a
   cohort hold it: h times the smallest support is the least that can break anything.

Cost: exponential in the worst case, so there is a budget of work (items and words looked at, never
seconds), and an honest None where it does not suffice.

This is the verifier of coherent releases. It shares nothing with the search for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

from reticent.privacy.promises import Record, Share

BUDGET = 20_000_000_000  # items and words looked at: less than a minute, usually
_ROOM_FOR_BITS = 2**28  # bytes; larger tables of bits are never made
_BEYOND_CACHE = 2**22  # occurrences of items; more are walked through one first item at a time

_ANY = 2**31  # items: more than a set can have

Numbers = NDArray[np.int64]
_NOBODY = np.zeros(0, np.int64)


class Coherence(Record):
    """Whoever knows a few public items of somebody finds enough like them, and is sure of nothing.

    >>> Coherence(h=0.5, k=3, p=2).text
    'whoever knows up to 2 public items finds at least 3 transactions with them and no private item
    in more than 1/2 of those'
    """

    h: Share = Field(description='The largest confidence allowed, above 0: 0.8 or "4/5".')
    k: int = Field(ge=1, strict=True, description="The smallest cohort allowed.")
    p: int | None = Field(
        default=None, ge=1, strict=True, description="How many items are known; None: any number."
    )

    @field_validator("h")
    @classmethod
    def _above_zero(cls, h: Fraction) -> Fraction:
        if h == 0:
            raise ValueError("a confidence of 0 allows no private item at all: suppress them")
        return h

    @property
    def kind(self) -> Literal["coherence"]:
        """The word for it in reports."""
        return "coherence"

    @property
    def text(self) -> str:
        """The promise in words."""
        known = "any public items" if self.p is None else f"up to {self.p} public items"
        sure = "" if self.h == 1 else f" and no private item in more than {self.h} of those"
        return f"whoever knows {known} finds at least {self.k} transactions with them{sure}"


@dataclass(frozen=True, slots=True)
class Baskets:
    """Transactions: number t holds items[starts[t]], …, items[starts[t + 1] - 1], ascending."""

    starts: Numbers
    items: NDArray[np.int32]  # 0, …, len(public) - 1; each at most once in a transaction
    public: NDArray[np.bool_]  # by item
    private: NDArray[np.bool_]  # by item; an item may be neither, but not both

    def __post_init__(self) -> None:
        from reticent.privacy import coherence_kernels as kernels

        starts, items = self.starts, self.items
        if len(starts) == 0 or starts[0] != 0 or starts[-1] != len(items) or _falls(starts):
            raise ValueError("starts must rise from 0 to the number of items")
        if len(self.public) != len(self.private) or (self.public & self.private).any():
            raise ValueError("every item is public, private or neither")
        fault = kernels.first_fault(starts, items, len(self.public))
        if fault >= 0:
            raise ValueError(f"transaction {fault}: items must be known numbers, ascending")

    def __len__(self) -> int:
        return len(self.starts) - 1


def _falls(starts: Numbers) -> bool:
    return bool((starts[1:] < starts[:-1]).any())


@dataclass(frozen=True, slots=True)
class Finding:
    """What a recount gave."""

    promise: Coherence
    holds: bool | None  # None: not decided within the budget
    work: int  # items and words looked at
    breaking: tuple[int, ...] | None = (
        None  # items of a set that breaks it, without which none does
    )
    support: int | None = None  # transactions that hold that set
    confidence: Fraction | None = None  # the largest share of those that hold one private item
    inferred: int | None = None  # that private item
    smallest: int | None = None  # if it holds for any number of items: the smallest support


def recount(baskets: Baskets, promise: Coherence, *, budget: int = BUDGET) -> Finding:
    """Decide from the transactions alone whether they keep a promise.

    Items 0 to 2 are public, 3 is private. Only one transaction holds 0 and 2:

    >>> rows = [[0, 1], [0, 1, 3], [0, 2], [1]]
    >>> starts, items = np.cumsum([0, *map(len, rows)]), np.concatenate(rows).astype(np.int32)
    >>> public = np.array([True, True, True, False])
    >>> baskets = Baskets(starts, items, public, ~public)
    >>> found = recount(baskets, Coherence(h=1, k=2))
    >>> found.holds, found.breaking, found.support
    (False, (2,), 1)
    """
    search = _Search(_Rows(baskets, baskets.public), promise, budget)
    found = search.breaking(promise.p)
    if found is None:
        holds = None if search.tired else True
        smallest = search.smallest if holds and promise.p is None else None
        return Finding(promise, holds, search.work, smallest=smallest)
    known = _smallest_part(baskets, search, search.rows.names[found])
    rows = _Rows(baskets, _only(known, baskets))
    support, tallies = rows.holders(np.arange(len(known)))
    surest = int(tallies.argmax()) if tallies.any() else None
    return Finding(
        promise,
        False,
        search.work,
        tuple(sorted(known.tolist())),
        support,
        Fraction(0) if surest is None else Fraction(int(tallies[surest]), support),
        None if surest is None else int(rows.suspects[surest]),
    )


def _smallest_part(baskets: Baskets, search: _Search, known: Numbers) -> Numbers:
    """Of a breaking set, a part that breaks the promise while no part of that does.

    It does not suffice to try without each single item: a part of a part may be surer again.
    """
    while len(known):
        rows = _Rows(baskets, _only(known, baskets))
        kept = np.arange(len(known))
        for item in kept[::-1]:  # the commonest first: they are the least likely to be the reason
            if search.breaks(*rows.holders(kept[kept != item])):
                kept = kept[kept != item]
        known = rows.names[kept]
        rows = _Rows(baskets, _only(known, baskets))
        inner = _Search(rows, search.promise, search.budget - search.work)
        found = inner.breaking(len(known) - 1)
        search.work += inner.work
        if found is None:  # or out of budget: the set breaks all the same
            break
        known = rows.names[found]
    return known


def _only(known: Numbers, baskets: Baskets) -> NDArray[np.bool_]:
    chosen = np.zeros(len(baskets.public), bool)
    chosen[known] = True
    return chosen


class _Rows:
    """What transactions show of the chosen items: equal ones are one row, in dictionary order."""

    def __init__(self, baskets: Baskets, chosen: NDArray[np.bool_]) -> None:
        from reticent.privacy import coherence_kernels as kernels

        self.kernels = kernels
        self.baskets = baskets
        self.supports = kernels.tally(baskets.items, len(chosen))
        order = np.argsort(self.supports, kind="stable")
        self.names: Numbers = order[chosen[order] & (self.supports[order] > 0)]  # by rising support
        starts, items = kernels.renumbered(baskets.starts, baskets.items, self._numbers(self.names))
        keys = kernels.first_items(starts, items, max(1, len(self.names).bit_length()))
        order = np.argsort(keys, kind="stable")
        kernels.in_dictionary_order(starts, items, keys, order)
        starts, items, weights, self.row_of_transaction = kernels.grouped(starts, items, order)
        self.table = starts, items, weights
        self.longest = int(np.diff(starts).max(initial=0))
        self.suspects: Numbers = np.flatnonzero(baskets.private & (self.supports > 0))

    def _numbers(self, names: Numbers) -> Numbers:
        numbers = np.full(len(self.supports), -1)
        numbers[names] = np.arange(len(names))
        return numbers

    @cached_property
    def lists(self) -> tuple[Any, ...]:
        """Where each item stands."""
        return _lists(self.kernels, self.table, len(self.names))

    @cached_property
    def bags(self) -> tuple[Any, ...]:
        """Which private items each row holds, and how often."""
        here = self.baskets
        return self.kernels.bagged(
            here.starts, here.items, self._numbers(self.suspects), self.row_of_transaction,
            len(self.table[2]), len(self.suspects),
        )  # fmt: skip

    @property
    def no_bags(self) -> tuple[Any, ...]:
        """The same as if nobody held any."""
        starts = np.zeros(len(self.table[2]) + 1, np.int64)
        return starts, np.zeros(0, np.int32), np.zeros(0, np.int64)

    def holders(self, chosen: Numbers) -> tuple[int, Numbers]:
        """How many transactions hold all the chosen items, and how often each private item."""
        tallies = np.zeros(len(self.suspects), np.int64)
        return int(self.kernels.holders(self.table, self.bags, chosen, tallies)), tallies


def _lists(kernels: Any, table: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    starts, items, _ = table
    narrow = np.int32 if len(items) < 2**31 else np.int64
    row_of, places = np.empty(len(items), np.int32), np.empty(len(items), narrow)
    return row_of, kernels.places_of(starts, items, count, row_of, places), places


class _Search:
    """The search for one breaking set, within a budget."""

    def __init__(self, rows: _Rows, promise: Coherence, budget: int) -> None:
        self.rows, self.promise, self.budget = rows, promise, budget
        self.work = len(rows.baskets) + len(rows.baskets.items)
        self.tired = False
        self.smallest = 0  # no set that was asked for has less support, once that is known
        limit = _no_more_than(promise.h, len(rows.baskets))
        self.over, self.under = limit.numerator, limit.denominator
        self.sure = promise.h < 1 and len(rows.suspects) > 0
        self.bags = rows.bags if self.sure else rows.no_bags

    def breaks(self, support: int, tallies: Numbers) -> bool:
        """Whether a set with this support, and so many of each private item, breaks the promise."""
        most = int(tallies.max(initial=0))
        return support < self.promise.k or most * self.under > self.over * support

    def breaking(self, most: int | None) -> Numbers | None:
        """A breaking set of at most so many items; None if there is none or it was too much work."""
        rows = self.rows
        everybody = int(rows.table[2].sum())
        if self.breaks(everybody, rows.holders(np.zeros(0, np.int64))[1] if self.sure else _NOBODY):
            return np.zeros(0, np.int64)
        if most == 0 or not len(rows.names):
            self.smallest = everybody
            return None
        self.tired = self.work > self.budget
        return None if self.tired else self._among_sets(most)

    def _among_sets(self, most: int | None) -> Numbers | None:
        kernels, rows, k = self.rows.kernels, self.rows, self.promise.k
        closing = most is None or most >= rows.longest
        limit = _ANY if closing or most is None else most
        sure = self.over, 0, self.under - self.over
        floors = np.zeros(len(self.bags[1]), np.int64)
        private = len(rows.suspects) if self.sure else 0
        end, row, length, self.smallest, work = kernels.whole_rows(
            rows.table,
            rows.lists,
            self.bags,
            private,
            k,
            sure,
            limit,
            self.budget - self.work,
            floors,
        )
        self.work += work
        if end == kernels.FOUND:
            start = rows.table[0][row]
            return rows.table[1][start : start + length].astype(np.int64)
        if end == kernels.TIRED:
            if closing or self.work > self.budget:
                self.tired = True
                return None
            floors, self.smallest = floors[:0], k
            ask = k, 1, k, 0, 0, limit
            found = self._walk(rows.no_bags, floors, 0, ask, closing=False)
            if found is not None or self.tired:
                return found
        if not self.sure:
            return None
        least = self.smallest * self.over // self.under + 1
        return self._walk(self.bags, floors, private, (k, *sure, least, limit), closing=closing)

    def _walk(
        self, bags: Any, floors: Numbers, private: int, ask: tuple[int, ...], *, closing: bool
    ) -> Numbers | None:
        """Walk through the sets, all at once, or what is behind one first item after the other."""
        rows, kernels = self.rows, self.rows.kernels
        entries, width = len(rows.table[1]), len(rows.names)
        whole = kernels.is_dense(
            width, len(rows.table[2]), entries, max(1, private), closing, _ROOM_FOR_BITS
        )
        *asked, most = ask
        if whole or entries <= _BEYOND_CACHE or most == 1:
            return self._run(rows.table, rows.lists, bags, floors, private, ask, closing)
        found = self._run(rows.table, rows.lists, bags, floors, private, (*asked, 1), False)
        row_of, begins, places = rows.lists
        number = np.full(width, -1)
        for item in range(width):
            if found is not None or self.tired:
                break
            here = places[begins[item] : begins[item + 1]]
            names, *part, rest = kernels.behind(rows.table, row_of, here, bags, floors, number)
            table, held = part
            lists = _lists(kernels, table, len(names))
            found = self._run(table, lists, held, rest, private, (*asked, most - 1), closing)
            if found is not None:
                found = np.concatenate([[item], names[found]])
        return found

    def _run(
        self, table: Any, lists: Any, bags: Any, floors: Numbers, private: int,
        ask: tuple[int, ...], closing: bool,
    ) -> Numbers | None:  # fmt: skip
        kernels = self.rows.kernels
        out = np.empty(len(lists[1]) + 1, np.int64)
        end, length, work = kernels.walk(
            table, lists, bags, floors, private, ask, closing, _ROOM_FOR_BITS,
            self.budget - self.work, out,
        )  # fmt: skip
        self.work += work
        self.tired = end == kernels.TIRED
        return out[:length] if end == kernels.FOUND else None


@dataclass(frozen=True, slots=True)
class Exposed:
    """What somebody can do who knows up to so many public items of a person.

    People are transactions. None: not counted within the budget.
    """

    known: int
    unique: int | None  # people whom some set of that size singles out
    small: int | None  # people in a cohort smaller than k
    sure: int | None  # people in a cohort of which more than h hold the same private item
    largest: Fraction | None  # the largest such share

    @property
    def counted(self) -> bool:
        """Whether the budget sufficed."""
        return self.largest is not None


def exposure(
    baskets: Baskets, promise: Coherence, *, most: int = 4, budget: int = BUDGET
) -> tuple[Exposed, ...]:
    """Count what transactions as they are expose, for 0, 1, …, `most` known public items.

    Of the promise, h and k are used. Three people, who hold 0 and 1, 0 and 1, 0 and 2; the first
    holds the private item 3, too:

    >>> starts, items = np.array([0, 3, 5, 7]), np.array([0, 1, 3, 0, 1, 0, 2], np.int32)
    >>> public = np.array([True, True, True, False])
    >>> for level in exposure(Baskets(starts, items, public, ~public), Coherence(h=0.4, k=2), most=1):
    ...     print(level.known, level.unique, level.small, level.sure, level.largest)
    0 0 0 0 1/3
    1 1 1 2 1/2
    """
    rows = _Rows(baskets, baskets.public)
    kernels, weights, suspects = rows.kernels, rows.table[2], len(rows.suspects)
    limit = _no_more_than(promise.h, len(baskets))
    total, tallies = rows.holders(_NOBODY)
    surest = np.array([tallies.max(initial=0), max(total, 1)])
    settled = kernels.UNIQUE * (total == 1) | kernels.SMALL * (total < promise.k)
    settled |= kernels.SURE * (Fraction(*surest.tolist()) > promise.h)
    people = np.array([total * bool(settled & bit) for bit in (1, 2, 4)])
    open_to = kernels.UNIQUE * (weights == 1) | kernels.SMALL * (weights < promise.k)
    open_to |= kernels.SURE * (promise.h < 1 and suspects > 0)
    open_to = (open_to & ~settled).astype(np.uint8)
    left, found = budget - len(baskets) - len(baskets.items), []
    for known in range(most + 1):
        if 0 < known <= rows.longest and left >= 0:
            ask = known, promise.k, limit.numerator, limit.denominator
            left -= kernels.mark(
                rows.table, rows.lists, rows.bags, suspects, ask, open_to, people, surest, left
            )
        if left >= 0:
            found.append(Exposed(known, *people.tolist(), Fraction(*surest.tolist())))
        else:  # a level is counted to its end or not at all
            found.append(Exposed(known, None, None, None, None))
    return tuple(found)


def _no_more_than(h: Fraction, count: int) -> Fraction:
    """The largest fraction up to h whose denominator is at most `count`, and at least 1.

    Shares of at most `count` transactions exceed both or neither, and its numbers are small: no
    product overflows.

    >>> _no_more_than(Fraction("0.3333333333333333333"), 100)
    Fraction(33, 100)
    """
    near = h.limit_denominator(max(count, 1))
    if near <= h:
        return near
    over, under = near.numerator, near.denominator
    before = pow(over, -1, under) if under > 1 else 0  # over · before is 1 more than a multiple
    under_before = count - (count - before) % under
    return Fraction((over * under_before - 1) // under, under_before)
