"""What can be hidden next, and what it is worth: others' sensitive entries, and own conditions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np

from reticent.suppress.entries.rules import concerned, grouped
from reticent.suppress.sets import Ints, invert

if TYPE_CHECKING:
    from reticent.suppress.entries.search import EntrySearch

_NONE_LEFT = -(1 << 30)  # a gain that no other reaches, whatever rules become unsafe


@dataclass(frozen=True, slots=True)
class HidingStep:
    """Something that can be hidden next."""

    worth: float  # how much of rules an entry makes safe: all of one is 1
    take: Callable[[], None]


class StepSource(Protocol):
    """Where steps come from."""

    def next(self) -> HidingStep | None:
        """The best step that is left."""

    def heard(self, changed: Ints) -> None:
        """Some rules became safe, or unsafe."""


class Kinds:
    """Others' records that show a value which unsafe rules point to: alike in all conditions."""

    def __init__(self, search: EntrySearch) -> None:
        """Of records whose value need not be published."""
        table, partial = search.table, search.partial
        open_ = ~partial.asked & ~partial.fixed[:, table.columns]
        records = np.flatnonzero(open_ & concerned(search.rules, table))
        columns = [table.conditions[records, j] for j in range(table.columns)]
        order, self._begins = grouped([*columns, table.values[records]])
        self._records = records[order]
        first = self._records[self._begins[:-1]]
        self.begins, self.rules = search.rules.of(table.conditions[first], table.values[first])
        self.room = np.diff(self._begins)

    def __len__(self) -> int:
        return len(self.room)

    def members(self, kind: int) -> Ints:
        """Its records, ascending."""
        return self._records[self._begins[kind] : self._begins[kind + 1]]

    def lowest(self, order: Ints) -> Ints:
        """The records behind an order of kinds: of each its lowest first."""
        by_kind = np.argsort(order, kind="stable")
        kinds = order[by_kind]
        first = np.searchsorted(kinds, kinds)
        found = np.empty(len(order), np.int64)
        found[by_kind] = self._records[self._begins[kinds] + np.arange(len(order)) - first]
        return found


class OthersValues:
    """Others' sensitive entries, one kind of records after the other."""

    def __init__(self, search: EntrySearch) -> None:
        """Look at the table as it is now."""
        self.search = search
        self.kinds = Kinds(search)
        self.taken = np.zeros(len(self.kinds), np.int64)
        begins, rules = self.kinds.begins, self.kinds.rules
        self.holders, self.of_holder = invert(begins, rules, len(search.rules))
        unsafe = np.append(0, np.cumsum(search.rules.unsafe[rules]))
        # Small numbers, as all of them are looked at in each step.
        self.gains = (unsafe[begins[1:]] - unsafe[begins[:-1]]).astype(np.int32)

    def next(self) -> HidingStep | None:
        """The kind that fits most unsafe rules."""
        kind = int(self.gains.argmax()) if len(self.kinds) else -1
        if kind < 0 or self.gains[kind] <= 0:
            return None
        left = int(self.kinds.room[kind] - self.taken[kind])
        rules = self.kinds.rules[self.kinds.begins[kind] : self.kinds.begins[kind + 1]]
        needs = self.search.rules.too_many(rules[self.search.rules.unsafe[rules]])
        times = min(left, int(needs.min()))

        def take() -> None:
            records = self.kinds.members(kind)[self.taken[kind] :][:times]
            self.taken[kind] += times
            if times == left:
                self.gains[kind] = _NONE_LEFT
            self.search.hide_some(records, self.search.table.columns)

        return HidingStep(float((1 / needs).sum()), take)

    def heard(self, changed: Ints) -> None:
        """Count unsafe rules anew where they changed."""
        unsafe = self.search.rules.unsafe
        for rule in changed.tolist():
            kinds = self.of_holder[self.holders[rule] : self.holders[rule + 1]]
            self.gains[kinds] += 1 if unsafe[rule] else -1


class Own:
    """Conditions of people who asked, entry by entry."""

    def __init__(self, search: EntrySearch) -> None:
        """Look at the table as it is now."""
        self.search = search
        self.people = np.flatnonzero(search.partial.asked)
        conditions, truth = search.table.conditions[self.people], search.partial.truth[self.people]
        begins, rules = search.rules.of(conditions, truth)
        self.held = [{*rules[b:e].tolist()} for b, e in pairwise(begins)]
        self.holders: dict[int, list[int]] = {}
        for person, held in enumerate(self.held):
            for rule in held:
                self.holders.setdefault(rule, []).append(person)
        self.has = search.rules.patterns >= 0
        unsafe = search.rules.unsafe
        gains = [self.has[[r for r in held if unsafe[r]]].sum(axis=0) for held in self.held]
        self.gains = np.array(gains, np.int64).reshape(len(self.people), search.table.columns)
        self.open = ~search.partial.fixed[self.people, :-1]

    def next(self) -> HidingStep | None:
        """The entry that stands in most unsafe rules of its person."""
        gains = np.where(self.open, self.gains, 0)
        if not gains.max(initial=0):
            return None
        person, column = divmod(int(gains.argmax()), gains.shape[1])
        rules = self.search.rules
        unsafe = rules.unsafe
        cut = [r for r in self.held[person] if self.has[r, column]]
        shares = 1 / rules.numbers[[r for r in cut if unsafe[r]], 2]

        def take() -> None:
            self.held[person].difference_update(cut)
            self.gains[person] -= self.has[[r for r in cut if unsafe[r]]].sum(axis=0)
            self.search.hide_one(int(self.people[person]), column)

        return HidingStep(float(shares.sum()), take)

    def heard(self, changed: Ints) -> None:
        """Count unsafe rules anew where they changed."""
        unsafe = self.search.rules.unsafe
        for rule in changed.tolist():
            for person in self.holders.get(rule, ()):
                if rule in self.held[person]:
                    self.gains[person] += self.has[rule] if unsafe[rule] else -1 * self.has[rule]
