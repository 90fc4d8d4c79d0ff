"""Rules that give hidden entries back, straight from their definition, over lists of dictionaries."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

Record = dict[int, int]  # column → value; what is hidden is not there
Pattern = frozenset[tuple[int, int]]  # of (column, value)


@dataclass(frozen=True)
class Case:
    """A published table, and what is to be kept from those who count in it."""

    records: tuple[Record, ...]
    sensitive: int  # the sensitive column; those before it are the conditions
    truth: dict[int, int | None] | None  # by asked record; None: nothing to hide
    asked: tuple[int, ...]
    min_support: int
    min_confidence: Fraction
    max_pattern: int | None


@dataclass(frozen=True)
class Rule:
    """If somebody has all of a pattern, then this value, too."""

    pattern: Pattern
    value: int
    support: int
    own: int

    @property
    def columns(self) -> tuple[int, ...]:
        return tuple(sorted(column for column, _ in self.pattern))

    @property
    def confidence(self) -> Fraction:
        return Fraction(self.own, self.support)


def has(record: Record, pattern: Pattern) -> bool:
    return all(record.get(column) == value for column, value in pattern)


def patterns_of(case: Case, t: int) -> Iterator[Pattern]:
    """The non-empty sets of condition values that a record shows."""
    shown = [(column, case.records[t][column]) for column in sorted(case.records[t])]
    shown = [(column, value) for column, value in shown if column != case.sensitive]
    most = len(shown) if case.max_pattern is None else min(case.max_pattern, len(shown))
    for size in range(1, most + 1):
        yield from map(frozenset, combinations(shown, size))


def values_of(case: Case, t: int) -> set[int]:
    """What rules may point to: the true value, or any where it is not known."""
    if case.truth is None:
        return {r[case.sensitive] for r in case.records if case.sensitive in r}
    value = case.truth[t]
    return set() if value is None else {value}


def rules_of(case: Case, t: int) -> list[Rule]:
    """All rules of an asked record, safe or not."""
    found = []
    for pattern in patterns_of(case, t):
        sharing = [r for r in case.records if has(r, pattern)]
        for value in values_of(case, t):
            own = sum(r.get(case.sensitive) == value for r in sharing)
            found.append(Rule(pattern, value, len(sharing), own))
    return found


def counts(rule: Rule, case: Case) -> bool:
    return rule.own > case.min_support


def is_unsafe(rule: Rule, case: Case) -> bool:
    return counts(rule, case) and rule.confidence > case.min_confidence


def unsafe_rules(case: Case) -> dict[int, list[Rule]]:
    """By asked record, those without any left out."""
    found = {t: [r for r in rules_of(case, t) if is_unsafe(r, case)] for t in sorted(case.asked)}
    return {t: rules for t, rules in found.items() if rules}


def strongest(rules: list[Rule]) -> Rule:
    return min(rules, key=lambda r: (-r.confidence, -r.own, len(r.pattern), r.columns, r.value))


def visible(case: Case) -> list[int]:
    return [t for t in sorted(case.asked) if case.sensitive in case.records[t]]


def is_safe(case: Case) -> bool:
    return not unsafe_rules(case) and not visible(case)


def largest(case: Case) -> Fraction | None:
    """The largest confidence of a rule that enough follow."""
    rules = [rule for t in case.asked for rule in rules_of(case, t) if counts(rule, case)]
    return max((rule.confidence for rule in rules), default=None)


def arrays(case: Case) -> tuple[Any, Any, Any, Any]:
    """Conditions, values, asked, truth, as numbers."""
    shape = len(case.records), case.sensitive + 1
    cells = np.full(shape, -1, np.int32)
    for t, record in enumerate(case.records):
        for column, value in record.items():
            cells[t, column] = value
    truth = None
    if case.truth is not None:
        true = (case.truth[t] for t in case.asked)
        truth = np.array([-1 if value is None else value for value in true], np.int32)
    return cells[:, :-1], cells[:, -1], np.array(case.asked, np.int64), truth


def random_case(rng: random.Random, *, columns: int | None = None) -> Case:
    """A small table with everything that can happen in one."""
    width = rng.randint(1, 6) if columns is None else columns
    size = rng.randint(1, 40)
    sizes = [rng.choice([1, 2, 2, 3, 4]) for _ in range(width)]
    offset = rng.choice([0, 0, 300])  # codes that need more than a byte
    kinds, loyal = rng.randint(1, 4), rng.choice([0.0, 0.5, 0.8])
    gaps, silence = rng.choice([0, 0.1, 0.4]), rng.choice([0, 0.1, 0.3])
    full: list[Record] = []
    for _ in range(size):
        record = {j: rng.randrange(sizes[j]) + offset for j in range(width)}
        fitting = record[0] % kinds if rng.random() < loyal else rng.randrange(kinds)
        full.append({**record, width: fitting})
    asked = rng.sample(range(size), min(size, rng.randint(0, 5)))
    true: dict[int, int | None] = {t: full[t][width] for t in asked}
    records = []
    for t, record in enumerate(full):
        kept = {j: value for j, value in record.items() if j < width and rng.random() >= gaps}
        if (t not in true and rng.random() >= silence) or rng.random() < 0.01:
            kept[width] = record[width]
        records.append(kept)
    for t in asked:
        if rng.random() < 0.05:
            true[t] = rng.choice([None, kinds + 5])  # it had none; nobody else shows it
    return Case(
        tuple(records),
        width,
        None if rng.random() < 0.25 else true,
        tuple(asked),
        rng.choice([0, 0, 1, 2, 3, 8]),
        rng.choice([Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(2, 3), Fraction(4, 5)]),
        rng.choice([None, None, 1, 2, 3, width, width + 1]),
    )
