"""(h,k,p)-coherence of transactions: recounted from the data, and what raw data expose.

A transaction holds items; an item is public (an attacker may know it), private (to protect) or
neither. For every set of at most p public items that some transaction holds, the empty set
included: at least k transactions hold it, and no private item is in more than a fraction h of
those. Source: Xu 2008, chapter 4.

| paper | here | |
| --- | --- | --- |
| D | `Baskets` | transactions, as numbers |
| β, a mole | a breaking set | public items that somebody may know |
| Sup(β) | support | how many transactions hold all of it: the size of its cohort |
| Pr(s given β) | confidence | the share of the cohort that holds the private item s |

How a recount goes, and why it mostly ends soon:

1. The empty set is looked at.
2. A set has at least the support of any transaction that holds it. If at least k hold each whole
   transaction, no set of any size is too rare. Equal transactions are counted once.
3. Otherwise, and if p is limited, all sets of up to p items are walked through.
4. For confidences, if h < 1, the walk asks for each private item, but only where enough of a cohort
   hold it: h times the smallest support is the least that can break anything.

Where transactions are dense, the walk goes over bits (`sets.bits` lists what it need not look at).
Cost: exponential in the worst case. So there is a budget of work, in items and words looked at,
never in seconds, and an honest None where it does not suffice.

This is the verifier of coherent releases. It shares no line with the search for them, but
for how loops are compiled and a processor's own instructions for bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

from reticent.errors import many
from reticent.privacy.promises import Record, Share, no_more_than
from reticent.privacy.words import NOTHING, measured

BUDGET = 20_000_000_000  # items and words looked at: about a minute
_ROOM_FOR_BITS = 2**28  # bytes; no larger table of bits is ever made
_TOO_FEW_FOR_BITS = 256  # items in transactions; to lay out bits for fewer takes too long
_BEYOND_CACHE = 2**22  # items in transactions; of more, one first item is looked at after the other
_ANY_NUMBER = 2**31  # items in a set
_PLENTY = 2**62  # a larger budget would not fit the loops' numbers

Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Coherence(Record):
    """Whoever knows a few public items finds enough people who hold them, and is sure of nothing.

    >>> Coherence(h=0.5, k=3, p=2).text
    'whoever knows up to 2 public items of somebody finds at least 3 transactions that hold them,
    and no private item in more than 1/2 of those'
    """

    kind: ClassVar[Literal["coherence"]] = "coherence"
    h: Share = Field(description='The largest confidence allowed, above 0: 0.8 or "4/5".')
    k: int = Field(ge=1, strict=True, description="The smallest cohort allowed.")
    p: int | None = Field(
        default=None,
        ge=1,
        strict=True,
        description="How many items may be known; None: any number.",
    )

    @field_validator("h")
    @classmethod
    def _above_zero(cls, h: Fraction) -> Fraction:
        if h == 0:
            raise ValueError("a confidence of 0 would forbid the private items altogether")
        return h

    @property
    def text(self) -> str:
        """The promise in words."""
        known = "any public items" if self.p is None else f"up to {self.p} public items"
        known = "one public item" if self.p == 1 else known
        found = "1 transaction that holds" if self.k == 1 else f"{self.k:,} transactions that hold"
        sure = "" if self.h == 1 else f", and no private item in more than {self.h} of those"
        them = "it" if self.p == 1 else "them"
        return f"whoever knows {known} of somebody finds at least {found} {them}{sure}"

    @property
    def plain_words(self) -> str:
        """The promise for people who decide about a release, without statistics.

        >>> Coherence(h=1, k=20, p=3).plain_words
        'Whoever knows up to 3 items of somebody finds at least 20 baskets with them.'
        """
        known = "any items" if self.p is None else f"up to {self.p} items"
        known = "one item" if self.p == 1 else known
        sure = f", and cannot be more than {measured(self.h)} sure of any private item"
        return (
            f"Whoever knows {known} of somebody finds at least {many(self.k, 'basket')} with "
            f"{'it' if self.p == 1 else 'them'}{sure if self.h < 1 else ''}."
        )

    def in_the_field(self, smallest: int | None = None) -> str:
        """The promise in the words of the field, and the smallest cohort that was found.

        >>> Coherence(h=0.8, k=3, p=2).in_the_field(4)
        '(h, k, p)-coherence with h = 80 %, k = 3 and p = 2 over the public items; smallest cohort:
        4 baskets'
        >>> Coherence(h=1, k=3, p=2).in_the_field()
        'kᵐ-anonymity with k = 3 and m = 2 over the public items, which is (h, k, p)-coherence with
        h = 100 %'
        """
        known = "unlimited" if self.p is None else str(self.p)
        said = f"(h, k, p)-coherence with h = {measured(self.h)}, k = {self.k:,} and p = {known}"
        said += " over the public items"
        if self.h == 1:
            said = (
                f"kᵐ-anonymity with k = {self.k:,} and m = {known} over the public items, which is "
                "(h, k, p)-coherence with h = 100 %"
            )
        return said if smallest is None else f"{said}; smallest cohort: {many(smallest, 'basket')}"

    def among(self, *, private: bool) -> Coherence:
        """What it comes to among items: where none is private, nobody can be sure of one."""
        return self if private else self.model_copy(update={"h": Fraction(1)})

    @property
    def emptiness(self) -> str:
        """Why it protects nobody; no text if it does.

        >>> Coherence(h=1, k=1).emptiness
        'a k of 1 promises nothing where nobody limits how sure one may be of a private item:
        whoever knows some items may find one person. Ask for k = 2 or more, or for h below 1.'
        """
        if self.k > 1 or self.h < 1:
            return ""
        return (
            f"a k of 1 {NOTHING} where nobody limits how sure one may be of a private item: "
            "whoever knows some items may find one person. Ask for k = 2 or more, or for h below 1."
        )

    def facts(self) -> dict[str, Any]:
        """What it is about, as reports for programs have it."""
        p = "unlimited" if self.p is None else self.p
        return {"kind": self.kind, "h": str(self.h), "k": self.k, "p": p}


@dataclass(frozen=True, slots=True)
class RoledBaskets:
    """Transactions: number t holds items[starts[t]], …, items[starts[t + 1] - 1], ascending."""

    starts: Numbers
    items: NDArray[np.int32]  # 0, …, len(public) - 1; each at most once in a transaction
    public: Mask  # by item
    private: Mask  # by item; an item may be neither, but not both

    def __post_init__(self) -> None:
        from reticent.privacy.sets import rows as loops

        if len(self.public) != len(self.private) or (self.public & self.private).any():
            raise ValueError("every item is public, private or neither")
        starts = self.starts
        rising = len(starts) > 0 and starts[0] == 0 and not (starts[1:] < starts[:-1]).any()
        if not rising or starts[-1] != len(self.items):
            raise ValueError("starts must rise from 0 to the number of items")
        if len(self) >= 2**31:
            raise ValueError("at most 2,147,483,647 transactions can be recounted")
        fault = loops.first_fault(starts, self.items, len(self.public))
        if fault >= 0:
            raise ValueError(f"transaction {fault}: its items must be known and ascending")

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def size(self) -> int:
        """What it takes to read them once."""
        return len(self) + len(self.items)


@dataclass(frozen=True, slots=True)
class BasketFinding:
    """What a recount gave."""

    promise: Coherence
    holds: bool | None  # None: not decided within the budget
    work: int  # items and words looked at
    breaking: tuple[int, ...] | None = None  # a set that breaks it
    support: int | None = None  # of that set
    confidence: Fraction | None = None  # the largest in its cohort
    inferred: int | None = None  # the private item it is about
    smallest: int | None = None  # if it holds, for any number of known items: the smallest support


def recount(baskets: RoledBaskets, promise: Coherence, *, budget: int = BUDGET) -> BasketFinding:
    """Decide from the transactions alone whether they keep a promise.

    If not, the finding has one breaking set. No part of it breaks the promise, unless the budget
    ran out over that. Here items 0 to 2 are public and 3 is private:

    >>> rows = [[0, 1], [0, 1, 3], [0, 2], [1, 2]]
    >>> starts, items = np.cumsum([0, *map(len, rows)]), np.concatenate(rows).astype(np.int32)
    >>> public = np.array([True, True, True, False])
    >>> found = recount(RoledBaskets(starts, items, public, ~public), Coherence(h=1, k=2))
    >>> found.holds, found.breaking, found.support, found.confidence
    (False, (0, 2), 1, Fraction(0, 1))
    """
    rows = _BasketRows(baskets, baskets.public)
    search = _BreakingSearch(rows, promise, budget)
    found = search.breaking(promise.p)
    if found is None:
        holds = None if search.tired else True
        smallest = search.smallest if holds and promise.p is None else None
        return BasketFinding(promise, holds, search.work, smallest=smallest)
    found = search.smallest_part(found)
    support, tallies = rows.holders(found)
    surest = int(tallies.argmax()) if tallies.any() else None
    return BasketFinding(
        promise,
        False,
        search.work,
        tuple(sorted(rows.names[found].tolist())),
        support,
        Fraction(0) if surest is None else Fraction(int(tallies[surest]), support),
        None if surest is None else int(rows.suspects[surest]),
    )


class _BasketRows:
    """What transactions show of the chosen items: equal ones are one row, in dictionary order."""

    def __init__(self, baskets: RoledBaskets, chosen: Mask) -> None:
        from reticent.privacy.sets import rows as loops

        self.baskets = baskets
        supports = loops.tally(baskets.items, len(chosen))
        order = np.argsort(supports, kind="stable")
        self.names: Numbers = order[chosen[order] & (supports[order] > 0)]  # by rising support
        self.suspects: Numbers = np.flatnonzero(baskets.private & (supports > 0))
        starts, items = loops.renumbered(baskets.starts, baskets.items, self._numbers(self.names))
        keys = loops.first_items(starts, items, max(1, len(self.names).bit_length()))
        order = np.argsort(keys, kind="stable")
        loops.in_dictionary_order(starts, items, keys, order)
        self.table, self._row_of = loops.grouped(starts, items, order)
        self.weights: Numbers = self.table[2]
        self.longest = int(np.diff(self.table[0]).max(initial=0))

    def _numbers(self, names: Numbers) -> Numbers:
        numbers = np.full(len(self.baskets.public), -1)
        numbers[names] = np.arange(len(names))
        return numbers

    @cached_property
    def lists(self) -> Any:
        """Where each item stands."""
        return _lists(self.table, len(self.names))

    @cached_property
    def bags(self) -> Any:
        """Which private items each row holds, and how often."""
        from reticent.privacy.sets import rows as loops

        numbers, here = self._numbers(self.suspects), self.baskets
        counts = len(self.weights), len(self.suspects)
        return loops.bagged(here.starts, here.items, numbers, self._row_of, *counts)

    @property
    def no_bags(self) -> Any:
        """The same, as if nobody held any."""
        nothing = np.zeros(0, np.int64)
        return np.zeros(len(self.weights) + 1, np.int64), nothing.astype(np.int32), nothing

    def holders(self, chosen: Numbers) -> tuple[int, Numbers]:
        """How many transactions hold all the chosen items, and each private item beside them."""
        from reticent.privacy.sets import rows as loops

        tallies = np.zeros(len(self.suspects), np.int64)
        return int(loops.holders(self.table, self.bags, chosen, tallies)), tallies


def _lists(table: Any, count: int) -> Any:
    from reticent.privacy.sets import rows as loops

    starts, items, _ = table
    row_of = np.empty(len(items), np.int32)
    places = np.empty(len(items), np.int32 if len(items) < 2**31 else np.int64)
    return row_of, loops.places_of(starts, items, count, row_of, places), places


class _BreakingSearch:
    """The search for one breaking set, within a budget."""

    def __init__(self, rows: _BasketRows, promise: Coherence, budget: int) -> None:
        self.rows, self.promise = rows, promise
        self.budget = min(budget, _PLENTY)
        self.work = rows.baskets.size
        self.tired = False
        self.smallest = 0  # support of all sets asked for, at least; known once the search is over
        limit = no_more_than(promise.h, len(rows.baskets))
        self.over, self.under = limit.numerator, limit.denominator
        self.private = len(rows.suspects) if promise.h < 1 else 0

    @property
    def left(self) -> int:
        """The budget that is left."""
        return self.budget - self.work

    def breaks(self, support: int, tallies: Numbers) -> bool:
        """Whether a set with this support, and so many of each private item, breaks the promise."""
        most = int(tallies.max(initial=0))
        return support < self.promise.k or most * self.under > self.over * support

    def smallest_part(self, found: Numbers) -> Numbers:
        """Of a breaking set, a part that breaks the promise while no part of that does.

        It does not suffice to try without each single item: with still fewer, one may be surer
        again. If the budget does not suffice for that, the set breaks the promise all the same.
        """
        found = np.sort(found)
        while len(found):
            for item in found[::-1]:  # the commonest first: they are least likely the reason
                if self.breaks(*self.rows.holders(found[found != item])):
                    found = found[found != item]
            chosen = np.zeros(len(self.rows.baskets.public), bool)
            chosen[self.rows.names[found]] = True
            inner = _BreakingSearch(_BasketRows(self.rows.baskets, chosen), self.promise, self.left)
            part = inner.breaking(len(found) - 1)
            self.work += inner.work
            if part is None:
                break
            found = found[np.sort(part)]  # both are numbered by rising support
        return found

    def breaking(self, most: int | None) -> Numbers | None:
        """A breaking set of at most so many items, by number in the rows; None: none was found."""
        rows, empty = self.rows, np.zeros(0, np.int64)
        self.smallest = int(rows.weights.sum())
        tallies = rows.holders(empty)[1] if self.private else empty
        if self.breaks(self.smallest, tallies):
            return empty
        if most == 0 or not len(rows.names):
            return None
        self.tired = self.left < 0
        return None if self.tired else self._among_sets(most)

    def _among_sets(self, most: int | None) -> Numbers | None:
        from reticent.privacy.sets import walk as loops
        from reticent.privacy.sets.bits import FOUND, TIRED

        rows, k = self.rows, self.promise.k
        closing = most is None or most >= rows.longest
        limit = _ANY_NUMBER if most is None or closing else most
        bags = rows.bags if self.private else rows.no_bags
        rule, floors = (self.over, 0, self.under - self.over), np.zeros(len(bags[1]), np.int64)
        end, row, length, self.smallest, work = loops.whole_rows(
            rows.table, rows.lists, bags, self.private, k, rule, limit, self.left, floors
        )
        self.work += work
        if end == FOUND:
            start = rows.table[0][row]
            return np.asarray(rows.table[1][start : start + length], np.int64)
        if end == TIRED:
            self.tired = closing or self.left < 0
            floors, self.smallest = floors[:0], k
            found = None
            if not self.tired:
                found = self._walk(rows.no_bags, floors, 0, (k, 1, k, 0, 0, limit), closing=False)
            if found is not None or self.tired:
                return found
        if not self.private:
            return None
        least = self.smallest * self.over // self.under + 1
        return self._walk(bags, floors, self.private, (k, *rule, least, limit), closing=closing)

    def _walk(
        self, bags: Any, floors: Numbers, private: int, ask: tuple[int, ...], *, closing: bool
    ) -> Numbers | None:
        """Walk through the sets: at once, or through those with one rarest item after the other."""
        from reticent.privacy.sets import rows as loops
        from reticent.privacy.sets.walk import is_dense

        rows, (*asked, most) = self.rows, ask
        whole = rows.table, rows.lists, bags, floors
        width, entries = len(rows.names), len(rows.table[1])
        shape = width, len(rows.weights), entries, max(1, private), most
        dense = is_dense(shape, closing, (_ROOM_FOR_BITS, _TOO_FEW_FOR_BITS))
        if dense or entries <= _BEYOND_CACHE or most == 1:
            return self._run(whole, private, ask, closing=closing)
        found = self._run(whole, private, (*asked, 1), closing=False)
        row_of, begins, places = rows.lists
        number = np.full(width, -1)
        for item in range(width):
            if found is not None or self.tired:
                break
            here = places[begins[item] : begins[item + 1]]
            names, table, held, rest = loops.behind(rows.table, row_of, here, bags, floors, number)
            part = table, _lists(table, len(names)), held, rest
            found = self._run(part, private, (*asked, most - 1), closing=closing)
            if found is not None:
                found = np.concatenate([[item], names[found]])
        return found

    def _run(
        self, rows: tuple[Any, ...], private: int, ask: tuple[int, ...], *, closing: bool
    ) -> Numbers | None:
        """The same, of `rows`: a table, where its items stand, bags and floors."""
        from reticent.privacy.sets import walk as loops
        from reticent.privacy.sets.bits import FOUND, TIRED

        out = np.empty(len(rows[1][1]) + 1, np.int64)
        room = _ROOM_FOR_BITS, _TOO_FEW_FOR_BITS
        end, length, work = loops.walk(*rows, private, ask, closing, room, self.left, out)
        self.work += work
        self.tired = end == TIRED
        return out[:length] if end == FOUND else None


@dataclass(frozen=True, slots=True)
class BasketExposure:
    """What somebody can do who knows up to so many public items of a person.

    People are transactions. None: not counted within the budget.
    """

    known: int
    unique: int | None  # people whom some such set singles out
    small: int | None  # people in a cohort of fewer than k
    sure: int | None  # people in a cohort of which more than h hold the same private item
    largest: Fraction | None  # the largest such share

    @property
    def counted(self) -> bool:
        """Whether the budget sufficed."""
        return self.largest is not None


def exposure(
    baskets: RoledBaskets, promise: Coherence, *, most: int = 4, budget: int = BUDGET
) -> tuple[BasketExposure, ...]:
    """Count what transactions expose as they are, for 0, 1, …, `most` known public items.

    Of the promise, h and k are used. Three people hold 0 and 1, 0 and 1, 0 and 2; the first of them
    holds the private item 3, too:

    >>> starts, items = np.array([0, 3, 5, 7]), np.array([0, 1, 3, 0, 1, 0, 2], np.int32)
    >>> public = np.array([True, True, True, False])
    >>> baskets = RoledBaskets(starts, items, public, ~public)
    >>> for level in exposure(baskets, Coherence(h=0.4, k=2), most=1):
    ...     print(level.known, level.unique, level.small, level.sure, level.largest)
    0 0 0 0 1/3
    1 1 1 2 1/2
    """
    from reticent.privacy.sets import marks as loops

    rows, h = _BasketRows(baskets, baskets.public), promise.h
    k = min(promise.k, len(baskets) + 1)
    total, tallies = rows.holders(np.zeros(0, np.int64))
    surest = np.array([tallies.max(initial=0), max(total, 1)])
    settled = loops.UNIQUE * (total == 1) | loops.SMALL * (total < k)
    settled |= loops.SURE * (Fraction(*surest.tolist()) > h)
    people = total * (settled & np.array([loops.UNIQUE, loops.SMALL, loops.SURE]) > 0)
    possible = loops.UNIQUE * (rows.weights == 1) | loops.SMALL * (rows.weights < k)
    possible |= loops.SURE * (h < 1 and len(tallies) > 0)
    open_to = (possible & ~settled).astype(np.uint8)
    limit = no_more_than(h, total)
    left, levels = min(budget, _PLENTY) - baskets.size, []
    for known in range(most + 1):
        if 0 < known <= rows.longest and left >= 0:
            ask = known, k, limit.numerator, limit.denominator
            left -= loops.mark(
                rows.table, rows.lists, rows.bags, len(tallies), ask, open_to, people, surest, left
            )
        if left >= 0:
            unique, small, sure = people.tolist()
            levels.append(BasketExposure(known, unique, small, sure, Fraction(*surest.tolist())))
        else:  # a level is counted to its end or not at all
            levels.append(BasketExposure(known, None, None, None, None))
    return tuple(levels)
