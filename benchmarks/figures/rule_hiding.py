"""What hiding unsafe rules one at a time would cost: the baseline of tables with hidden entries.

CR of Saygin, Verykios and Clifton 2001, Using Unknowns to Prevent Discovery of Association Rules,
as Li, Shirani-Mehr and Yang 2007 use it (sections 6.1 and 6.2). It wants to change other rules as
little as it can, so it is the opposite of a cover: each rule is hidden for itself, and in records
that follow as few unsafe rules as possible.

    which rule      the longest, of these the one that most records follow, of these the first by
                    value and codes; one that has become safe in passing is left alone. 2007 does
                    not say which sequence it took; the other is `shortest_first`
    which records   those that follow the rule; of these the ones that follow fewest unsafe rules,
                    ties by record
    how many        as many as the rule needs, counted on the table as it is now
    which entry     the value; or of the rule's conditions the one that most records show

Where we differ: 2001 counts items of a transaction, and all records of a table have as many. It has
margins of safety below both thresholds, here 0. Hiding a condition makes rules about other values
stronger, so the table is searched again until it has no unsafe rule, or nothing more can be hidden.
"""

from __future__ import annotations

import numpy as np

from reticent.suppress.entries.rules import Codes, EntryTable, KnownRules, find
from reticent.suppress.entries.search import CONDITIONS, SENSITIVE, Partial, RuleLimits
from reticent.suppress.sets import Ints, Mask

__all__ = ["hide_rules"]


def hide_rules(
    partial: Partial, limits: RuleLimits, region: str, *, shortest_first: bool = False
) -> tuple[Ints, Ints]:
    """The records and columns of entries that are hidden, in the order in which they went.

    The sensitive column goes by the number of conditions. Where too much must be published, rules
    stay unsafe.

    >>> from fractions import Fraction
    >>> table = Partial(np.array([[0], [0], [0], [1]], np.int32), np.array([0, 0, 0, 1], np.int32),
    ...                 np.array([True, False, False, False]), np.zeros((4, 2), np.bool_))
    >>> hide_rules(table, RuleLimits(0, Fraction(1, 2)), "sensitive-of-others")
    (array([1]), array([1]))
    >>> hide_rules(table, RuleLimits(0, Fraction(1, 2)), "conditions-of-others")
    (array([1]), array([0]))
    """
    if region not in (SENSITIVE, CONDITIONS):
        raise ValueError(f"rules are hidden in {SENSITIVE} or {CONDITIONS}, not in {region}")
    search = _RuleHiding(partial, limits, region == SENSITIVE, 1 if shortest_first else -1)
    while search.round():
        pass
    none = np.zeros(0, np.int64)
    return np.concatenate([none, *search.records]), np.concatenate([none, *search.columns])


class _RuleHiding:
    """A table on its way to being safe."""

    def __init__(self, partial: Partial, limits: RuleLimits, values: bool, way: int) -> None:
        self.partial, self.limits, self.values, self.way = partial, limits, values, way
        shown = np.where(partial.asked, -1, partial.truth).astype(np.int32)
        self.table = EntryTable(partial.conditions.copy(), shown, partial.truth, partial.asked)
        self.followed = np.zeros(len(shown), np.int64)  # by record, how many rules of this round
        self.records: list[Ints] = []
        self.columns: list[Ints] = []

    def round(self) -> bool:
        """Hide all rules that are unsafe now; whether that was of any use."""
        rules = find(self.table, self.limits)
        self.followed = self._followed(rules, np.arange(self.table.records))
        sizes, own = (rules.patterns >= 0).sum(axis=1), rules.numbers[:, 1]
        before = len(self.records)
        for rule in np.lexsort([-own, self.way * sizes]).tolist():
            self._hide(rules, rule)
        return len(self.records) > before

    def _hide(self, rules: KnownRules, rule: int) -> None:
        """Hide one rule, if it is still unsafe."""
        table, pattern = self.table, rules.patterns[rule]
        columns = np.flatnonzero(pattern >= 0)
        fits = np.ones(table.records, np.bool_)
        for j in columns.tolist():
            fits &= table.conditions[:, j] == pattern[j]
        follow = fits & (table.values == rules.values[rule])
        rules.numbers[rule, :2] = fits.sum(), follow.sum()
        needs = rules.too_many if self.values else rules.too_alike
        needed = int(needs(np.array([rule]))[0])
        if not needed:
            return
        if self.values:
            open_ = np.flatnonzero(follow & ~self.partial.fixed[:, table.columns])
            self._take(self._fewest(rules, open_)[:needed], table.columns)
            return
        for column in self._commonest(columns, pattern):
            open_ = np.flatnonzero(follow & ~self.partial.fixed[:, column])
            some = self._fewest(rules, open_)[:needed]
            self._take(some, column)
            follow[some] = False
            needed -= len(some)

    def _fewest(self, rules: KnownRules, records: Ints) -> Ints:
        """Records, those first that follow fewest of the rules."""
        # As long as no condition is hidden, a record that shows its value follows what it did.
        some = self.followed[records] if self.values else self._followed(rules, records)
        return records[np.argsort(some, kind="stable")]

    def _followed(self, rules: KnownRules, records: Ints) -> Ints:
        """How many of the rules each record follows."""
        begins, _ = rules.of(self.table.conditions[records], self.table.values[records])
        return np.diff(begins)

    def _commonest(self, columns: Ints, pattern: Codes) -> list[int]:
        """Columns of a rule by how many records show what it asks for, most first."""
        shown: Mask = self.table.conditions[:, columns] == pattern[columns]
        found: list[int] = columns[np.argsort(-shown.sum(axis=0), kind="stable")].tolist()
        return found

    def _take(self, records: Ints, column: int) -> None:
        if len(records):
            self.records.append(records)
            self.columns.append(np.full(len(records), column))
            self.table.hide(records, column)
