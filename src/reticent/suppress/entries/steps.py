"""What can be hidden next, and what it is worth: others' sensitive entries, and own conditions.

A source looks at the table and the rules as they are, and says what to hide; the search hides it,
and tells all sources which rules changed sides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np

from reticent.suppress.entries.rules import EntryTable, KnownRules, concerned, grouped
from reticent.suppress.sets import Ints, Mask, invert

_NONE_LEFT = -(1 << 30)  # a gain that no other reaches, whatever rules become unsafe


@dataclass(frozen=True, slots=True)
class HidingStep:
    """Something that can be hidden next."""

    worth: float  # how much of rules an entry makes safe: all of one is 1
    column: int
    take: Callable[[], Sequence[Ints]]  # tells its source, and whose entries go: alike together


class StepSource(Protocol):
    """Where steps come from."""

    def next(self) -> HidingStep | None:
        """The best step that is left."""

    def heard(self, changed: Ints) -> None:
        """Some rules became safe, or unsafe."""


class Kinds:
    """Others' records that show a value which unsafe rules point to: alike in all conditions."""

    def __init__(self, table: EntryTable, rules: KnownRules, fixed: Mask) -> None:
        """Of records whose value need not be published."""
        open_ = ~table.asked & ~fixed[:, table.columns]
        records = np.flatnonzero(open_ & concerned(rules, table))
        columns = [table.conditions[records, j] for j in range(table.columns)]
        order, self._begins = grouped([*columns, table.values[records]])
        self._records = records[order]
        first = self._records[self._begins[:-1]]
        self.begins, self.rules = rules.of(table.conditions[first], table.values[first])
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

    def __init__(self, table: EntryTable, rules: KnownRules, fixed: Mask) -> None:
        """Look at the table as it is now."""
        self.rules, self.column = rules, table.columns
        self.kinds = Kinds(table, rules, fixed)
        self.taken = np.zeros(len(self.kinds), np.int64)
        begins, held = self.kinds.begins, self.kinds.rules
        self.holders, self.of_holder = invert(begins, held, len(rules))
        unsafe = np.append(0, np.cumsum(rules.unsafe[held]))
        # Small numbers, as all of them are looked at in each step.
        self.gains = (unsafe[begins[1:]] - unsafe[begins[:-1]]).astype(np.int32)

    def next(self) -> HidingStep | None:
        """The kind that fits most unsafe rules."""
        kind = int(self.gains.argmax()) if len(self.kinds) else -1
        if kind < 0 or self.gains[kind] <= 0:
            return None
        left = int(self.kinds.room[kind] - self.taken[kind])
        rules = self.kinds.rules[self.kinds.begins[kind] : self.kinds.begins[kind + 1]]
        needs = self.rules.too_many(rules[self.rules.unsafe[rules]])
        times = min(left, int(needs.min()))

        def take() -> Sequence[Ints]:
            records = self.kinds.members(kind)[self.taken[kind] :][:times]
            self.taken[kind] += times
            if times == left:
                self.gains[kind] = _NONE_LEFT
            return [records]

        return HidingStep(float((1 / needs).sum()), self.column, take)

    def heard(self, changed: Ints) -> None:
        """Count unsafe rules anew where they changed."""
        unsafe = self.rules.unsafe
        for rule in changed.tolist():
            kinds = self.of_holder[self.holders[rule] : self.holders[rule + 1]]
            self.gains[kinds] += 1 if unsafe[rule] else -1


class Own:
    """Conditions of people who asked, entry by entry."""

    def __init__(self, table: EntryTable, rules: KnownRules, fixed: Mask) -> None:
        """Look at the table as it is now."""
        self.rules, self.people = rules, np.flatnonzero(table.asked)
        begins, fit = rules.of(table.conditions[self.people], table.truth[self.people])
        self.held = [{*fit[b:e].tolist()} for b, e in pairwise(begins)]
        self.holders: dict[int, list[int]] = {}
        for person, held in enumerate(self.held):
            for rule in held:
                self.holders.setdefault(rule, []).append(person)
        self.has, unsafe = rules.patterns >= 0, rules.unsafe
        gains = [self.has[[r for r in held if unsafe[r]]].sum(axis=0) for held in self.held]
        self.gains = np.array(gains, np.int64).reshape(len(self.people), table.columns)
        self.open = ~fixed[self.people, :-1]

    def next(self) -> HidingStep | None:
        """The entry that stands in most unsafe rules of its person."""
        gains = np.where(self.open, self.gains, 0)
        if not gains.max(initial=0):
            return None
        person, column = divmod(int(gains.argmax()), gains.shape[1])
        unsafe = self.rules.unsafe
        cut = [r for r in self.held[person] if self.has[r, column]]
        shares = 1 / self.rules.numbers[[r for r in cut if unsafe[r]], 2]

        def take() -> Sequence[Ints]:
            self.held[person].difference_update(cut)
            self.gains[person] -= self.has[[r for r in cut if unsafe[r]]].sum(axis=0)
            return [self.people[person : person + 1]]

        return HidingStep(float(shares.sum()), column, take)

    def heard(self, changed: Ints) -> None:
        """Count unsafe rules anew where they changed."""
        unsafe = self.rules.unsafe
        for rule in changed.tolist():
            for person in self.holders.get(rule, ()):
                if rule in self.held[person]:
                    self.gains[person] += self.has[rule] if unsafe[rule] else -1 * self.has[rule]
