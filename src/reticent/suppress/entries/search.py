"""Which entries to hide besides those that people asked for, so that no rule gives these back.

Three regions may be open, and any of them alone suffices where nothing must be published:

    others' sensitive    the value of records that fit a rule and show what it points to: each that
                         goes takes one from the rule's support. Threats that must lose several
                         records of a kind, which the engine knows.
    others' conditions   records with the value no longer fit: the papers' graph of rules
    own conditions       a rule whose conditions a person no longer shows does not concern that
                         person: threats that must lose one entry

Hiding a condition takes a record from whatever it fits, so rules about other values become
stronger: the table is searched again until it has no unsafe rule. What was ever unsafe stays known.
At last entries come back, the last first, until none can; the rule that bars an entry is the reason
why it is hidden. Once everybody is protected, whoever asks the search to stop gets the best choice
so far: what has not come back, or not for sure, stays hidden.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from random import Random

import numpy as np
from numpy.typing import NDArray

from reticent.suppress.engine import Threats, remove
from reticent.suppress.entries import fitting
from reticent.suppress.entries.graph import Graph
from reticent.suppress.entries.matching import smallest
from reticent.suppress.entries.rules import (
    MOST_COLUMNS,
    Codes,
    EntryTable,
    KnownRules,
    RuleLimits,
    find,
    recounted,
)
from reticent.suppress.entries.steps import HidingStep, Kinds, OthersValues, Own, StepSource
from reticent.suppress.sets import GaveUp, Halt, Ints, Mask, Sets, invert

__all__ = ["REGIONS", "STRATEGIES", "Hidden", "Partial", "RuleLimits", "hide"]

SENSITIVE, CONDITIONS, OWN = REGIONS = (
    "sensitive-of-others", "conditions-of-others", "conditions-of-sensitive",
)  # fmt: skip
STRATEGIES = ("max-descendant", "random", "random-max")
_ENTRIES = 1 << 16  # that may come back at a time: Ctrl-C is heard only in between
_ROUNDS = 20  # to spare people whom hiding for others exposes


@dataclass(frozen=True, slots=True)
class Partial:
    """A table, who asked, and what must be published."""

    conditions: Codes  # a row a record, a column a condition; codes, -1: empty
    truth: Codes  # the sensitive column; -1: empty
    asked: Mask  # whose sensitive entry is to be hidden, and is not empty
    fixed: Mask  # a row a record, a column a condition, and the sensitive one: must be published


@dataclass(frozen=True, slots=True)
class Hidden:
    """What was hidden besides what people asked for."""

    records: Ints  # of each entry, in the order in which they went
    columns: Ints  # the sensitive one goes by the number of conditions
    # For each a request, and the conditions of its rule; None: nobody waited to know.
    reasons: tuple[tuple[int, tuple[int, ...]] | None, ...]
    exposed: Ints  # people who cannot be protected, as too much must be published
    rules: int  # that were unsafe before
    method: str  # which regions were used, and how
    stopped_early: bool = False  # somebody asked for it; less might do

    def __len__(self) -> int:
        return len(self.records)

    @property
    def cost(self) -> tuple[int, int]:
        """What makes one worse than another: people exposed, then entries hidden."""
        return len(self.exposed), len(self)


def hide(
    partial: Partial,
    limits: RuleLimits,
    regions: Collection[str],
    strategy: str = "max-descendant",
    seed: int = 1,
    halt: Halt | None = None,
) -> Hidden:
    """Find few entries to hide so that no rule is unsafe.

    >>> from fractions import Fraction
    >>> table = Partial(np.array([[0], [0], [0], [1]], np.int32), np.array([0, 0, 0, 1], np.int32),
    ...                 np.array([True, False, False, False]), np.zeros((4, 2), np.bool_))
    >>> found = hide(table, RuleLimits(0, Fraction(1, 2)), ["sensitive-of-others"])
    >>> found.records.tolist(), found.columns.tolist(), found.reasons
    ([1], [1], ((0, (0,)),))
    """
    if partial.conditions.shape[1] > MOST_COLUMNS:
        raise GaveUp
    halt = halt or Halt()
    first = EntrySearch(partial, limits, strategy, seed, halt)
    plans = [*_plans(regions)]

    def fresh() -> EntrySearch:
        return EntrySearch(partial, limits, strategy, seed, halt, first.first)

    # To look for rules once more is dear: first what a plan hides if no other rule shows up.
    guesses = [fresh().guess(*plan) if len(plans) > 1 else (0, 0) for plan in plans]
    best: Hidden | None = None
    for guess, plan in sorted(zip(guesses, plans, strict=True), key=lambda pair: pair[0]):
        # If somebody is exposed, a plan that promises no better may still do better.
        if best is None or len(best.exposed) or guess < best.cost:
            try:
                found = _again(fresh(), plan)
            except GaveUp:
                if not halt.heard or best is None or len(best.exposed):
                    raise
                break
            best = found if best is None or found.cost < best.cost else best
    assert best is not None
    return replace(best, stopped_early=halt.heard)


def _again(search: EntrySearch, plan: tuple[tuple[str, ...], str | None]) -> Hidden:
    """Follow a plan; where people stay exposed, once more without what exposes them.

    A condition that was hidden for one person takes a record from what another is compared with.
    Another choice for the first may spare the second; whether there is one is hard to know.
    """
    best: Hidden | None = None
    for _ in range(_ROUNDS):
        found = search.run(*plan)
        best = found if best is None or found.cost < best.cost else best
        if not len(found.exposed) or not search.harmful.any():
            break
        partial = replace(search.partial, fixed=search.partial.fixed | search.harmful)
        search = EntrySearch(
            partial, search.limits, search.strategy, search.seed, search.halt, search.first
        )
    assert best is not None
    return best


def _plans(regions: Collection[str]) -> Iterator[tuple[tuple[str, ...], str | None]]:
    """Which regions to use together, and one more if they do not suffice.

    Others' conditions are not needed beside their sensitive entries: hiding such an entry instead
    does as much for every rule. They are where these must be published.
    """
    spare = CONDITIONS if CONDITIONS in regions else None
    main = SENSITIVE if SENSITIVE in regions else spare
    spare = None if main == spare else spare
    if main is None:
        yield (OWN,), None
    elif OWN not in regions:
        yield (main,), spare
    else:
        yield (main, OWN), spare
        yield (main,), spare
        yield (OWN,), spare


class EntrySearch:
    """A table on its way to being safe."""

    def __init__(
        self, partial: Partial, limits: RuleLimits, strategy: str, seed: int,
        halt: Halt | None = None, known: KnownRules | None = None,
    ) -> None:  # fmt: skip
        """`known`: the unsafe rules of the table as it is, if somebody has found them."""
        self.partial, self.limits, self.strategy = partial, limits, strategy
        self.seed, self.random, self.halt = seed, Random(seed), halt or Halt()
        values = np.where(partial.asked, -1, partial.truth).astype(np.int32)
        self.table = EntryTable(partial.conditions.copy(), values, partial.truth, partial.asked)
        self.first = find(self.table, limits) if known is None else known
        self.rules = _copied(self.first)
        self.harmful = np.zeros(partial.fixed.shape, np.bool_)  # what exposes somebody after all
        self.records: list[Ints] = []
        self.columns: list[Ints] = []

    def run(self, regions: tuple[str, ...], spare: str | None) -> Hidden:
        """Hide until nothing is unsafe, then give back."""
        before = len(self.rules)
        while True:
            self._hide(regions, spare)
            if regions == (SENSITIVE,) and spare is None:
                break  # no other rule can have become unsafe
            fresh = find(self.table, self.limits).but_not(self.rules)
            if not len(fresh):
                break
            self.rules = self.rules.and_also(fresh)
        records, columns = self._entries()
        exposed = self._exposed()
        if len(exposed):
            self.halt.or_give_up()
            self._blame(records, columns)
        else:
            self.halt.started()
        gone, why = self._give_back(records, columns, sure=regions == (SENSITIVE,) and not spare)
        kept = np.flatnonzero(gone)
        asking = {rule: self._asking(rule) for rule in np.unique(why[kept]).tolist() if rule >= 0}
        reasons = tuple(
            (record if self.partial.asked[record] else asking[rule][0], asking[rule][1])
            if rule >= 0
            else None
            for record, rule in zip(records[kept].tolist(), why[kept].tolist(), strict=True)
        )
        method = " and ".join(regions)
        return Hidden(records[kept], columns[kept], reasons, exposed, before, method)

    def guess(self, regions: tuple[str, ...], spare: str | None) -> tuple[int, int]:
        """The cost of a result, if no rule becomes unsafe that is not yet known."""
        self._hide(regions, spare)
        exposed = self._exposed()
        gone, _ = self._give_back(*self._entries(), sure=True)
        return len(exposed), int(gone.sum())

    # --- hiding ----------------------------------------------------------------------------------

    def _hide(self, regions: tuple[str, ...], spare: str | None) -> None:
        """Make all rules safe that are known, as far as regions allow.

        Sources know what was unsafe when they were made. Hiding conditions makes others so, about
        other values: as long as anything was hidden, that is no reason to give up.
        """
        before = -1
        while self.rules.unsafe.any() and (hidden := sum(map(len, self.records))) > before:
            self.halt.or_give_up()
            before = hidden
            if regions == (SENSITIVE,):
                self._hide_values()
            elif regions == (OWN,):
                self._hide_own()
            else:
                self._mixed([self._source(region) for region in regions])
            if spare is not None and self.rules.unsafe.any():
                self._mixed([self._source(spare)])

    def _source(self, region: str) -> StepSource:
        seen = self.table, self.rules, self.partial.fixed
        if region == CONDITIONS:
            return Graph(*seen, self.strategy, self.random)
        return OthersValues(*seen) if region == SENSITIVE else Own(*seen)

    def _hide_values(self) -> None:
        """Others' sensitive entries: each unsafe rule must lose a number of records."""
        kinds = Kinds(self.table, self.rules, self.partial.fixed)
        every = np.arange(len(self.rules))
        needs = np.where(self.rules.unsafe, self.rules.too_many(every), 0)
        held = kinds.begins, kinds.rules
        sets = Sets(*invert(*held, len(self.rules)))
        threats = Threats(sets, len(kinds), needs, kinds.room, held)
        order = np.array(remove(threats, np.ones(len(kinds), np.int64), halt=self.halt), np.int64)
        self._take(kinds.lowest(order), self.table.columns)
        self.rules.numbers[:, 1] -= threats.missing(np.bincount(order, minlength=len(kinds)))
        self.rules = replace(self.rules)  # which judges them anew

    def _hide_own(self) -> None:
        """Own conditions: each unsafe rule of a person must lose one of its entries."""
        people = np.flatnonzero(self.partial.asked)
        unsafe = self.rules.unsafe
        begins, rules = self.rules.of(self.table.conditions[people], self.partial.truth[people])
        width = self.table.columns
        sets: list[list[int]] = []
        masks = self.rules.masks
        for i, person in enumerate(people.tolist()):
            held = rules[begins[i] : begins[i + 1]]
            open_ = ~self.partial.fixed[person]
            for mask in smallest(masks[held[unsafe[held]]]).tolist():
                entries = [i * width + j for j in range(width) if mask >> j & 1 and open_[j]]
                if entries:
                    sets.append(entries)
        packed = Sets(
            np.cumsum([0, *map(len, sets)]), np.array([e for s in sets for e in s], np.int32)
        )
        things = len(people) * width
        for entry in remove(Threats(packed, things), np.ones(things, np.int64), halt=self.halt):
            self.halt.or_give_up()
            person = entry // width
            self._hide_some(people[person : person + 1], entry % width)

    def _mixed(self, sources: list[StepSource]) -> None:
        """The step that makes most rules safe for each entry that it hides; ties to the first."""
        while self.rules.unsafe.any():
            self.halt.or_give_up()
            steps = [step for source in sources if (step := source.next()) is not None]
            if not steps:
                return
            changed = self.hide_step(max(steps, key=lambda step: step.worth))
            for source in sources:
                source.heard(changed)

    def hide_step(self, step: HidingStep) -> Ints:
        """Hide what a step says; the rules that changed sides, ascending."""
        flipped = [self._hide_some(records, step.column) for records in step.take()]
        changed, often = np.unique(np.concatenate(flipped), return_counts=True)
        turned: Ints = changed[often % 2 == 1]  # one that changed sides twice is where it was
        return turned

    def _hide_some(self, records: Ints, column: int) -> NDArray[np.int32]:
        """Hide one entry of each of some records that are alike; the rules that changed sides."""
        record = int(records[0])
        table, rules = self.table, self.rules
        secret = int(table.truth[record]) if table.asked[record] else -1
        row, value = table.conditions[record].copy(), int(table.values[record])
        flipped = rules.change(row, value, secret, column, -len(records))
        self._take(records, column)
        return flipped

    def _take(self, records: Ints, column: int) -> None:
        self.records.append(records)
        self.columns.append(np.full(len(records), column))
        self.table.hide(records, column)

    # --- giving back -----------------------------------------------------------------------------

    def _entries(self) -> tuple[Ints, Ints]:
        """All that was hidden, in its order."""
        none = np.zeros(0, np.int64)
        return np.concatenate([none, *self.records]), np.concatenate([none, *self.columns])

    def _give_back(self, records: Ints, columns: Ints, *, sure: bool) -> tuple[Mask, Ints]:
        """Which entries stay hidden, and the rule that bars each; `sure`: all rules are known."""
        width = self.table.columns
        cells = self.partial.conditions[records, np.minimum(columns, width - 1)]
        cells = np.where(columns == width, self.partial.truth[records], cells)
        while True:
            table, rules = self.table, _copied(self.rules)
            conditions, values = table.conditions.copy(), table.values.copy()
            gone, why, some = np.ones(len(records), np.bool_), np.full(len(records), -1), True
            while some and not self.halt.now():
                some = False
                for end in range(len(records), 0, -_ENTRIES):
                    if self.halt.now():
                        break
                    some |= fitting.give_back(
                        rules.ways, rules.patterns, rules.numbers, rules.unsafe, conditions, values,
                        table.truth, table.asked, records, columns, cells, gone, why, rules.limits,
                        end - 1, max(end - _ENTRIES, 0),
                    )  # fmt: skip
            if self.halt.now() and not sure:  # whether rules that nobody knows bar some takes long
                return np.ones(len(records), np.bool_), np.full(len(records), -1)
            after = EntryTable(conditions, values, table.truth, table.asked)
            if sure or not len(fresh := find(after, self.limits).but_not(rules)):
                self.table = after
                return gone, why
            # Some that nobody knew became unsafe: they are counted where all are still hidden.
            self.rules = self.rules.and_also(recounted(fresh, self.table))

    def _exposed(self) -> Ints:
        people = np.flatnonzero(self.partial.asked)
        begins, rules = self.rules.of(self.table.conditions[people], self.partial.truth[people])
        unsafe = np.append(np.cumsum(self.rules.unsafe[rules]), 0)
        counted = np.where(begins[1:] > 0, unsafe[begins[1:] - 1], 0)
        return people[np.diff(counted, prepend=0) > 0]

    def _blame(self, records: Ints, columns: Ints) -> None:
        """Which hidden conditions would weaken a rule that stayed unsafe."""
        rules = self.rules
        for rule in np.flatnonzero(rules.unsafe).tolist():
            pattern = rules.patterns[rule]
            said = np.flatnonzero(pattern >= 0)
            fits = (self.partial.conditions[records][:, said] == pattern[said]).all(axis=1)
            others = self.table.values[records] != rules.values[rule]
            some = fits & others & np.isin(columns, said)
            self.harmful[records[some], columns[some]] = True

    def _asking(self, rule: int) -> tuple[int, tuple[int, ...]]:
        """The first person that a rule points to, and its conditions."""
        pattern, value = self.rules.patterns[rule], self.rules.values[rule]
        columns = np.flatnonzero(pattern >= 0)
        people = np.flatnonzero(self.partial.asked & (self.partial.truth == value))
        fits = (self.table.conditions[people][:, columns] == pattern[columns]).all(axis=1)
        return int(people[np.argmax(fits)]), tuple(columns.tolist())


def _copied(rules: KnownRules) -> KnownRules:
    return replace(rules, numbers=rules.numbers.copy())
