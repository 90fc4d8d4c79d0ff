"""Rules and the rows that fit them, against comparing each with each."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from entries_at_hand import holds, listed
from reticent.suppress.entries import fitting, matching, rules, search
from reticent.suppress.entries.rules import EntryTable, KnownRules
from reticent.suppress.entries.search import REGIONS, Partial, RuleLimits, hide


def random_rules(lots: np.random.Generator, width: int, count: int) -> KnownRules:
    """Different ones: half of the cells of a few rows, so that many begin alike."""
    rows = lots.integers(0, 4, (6, width))
    patterns = rows[lots.integers(0, 6, count)]
    patterns[lots.random(patterns.shape) < 0.5] = -1
    patterns[np.arange(count), lots.integers(0, width, count)] = 1
    every = np.unique(np.column_stack([patterns, lots.choice([0, 2, 5], count)]), axis=0)
    lots.shuffle(every)
    every = every.astype(np.int32)
    numbers = lots.integers(0, 9, (len(every), 3))
    return KnownRules(np.ascontiguousarray(every[:, :-1]), every[:, -1].copy(), numbers, 1, 1, 2)


def random_rows(lots: np.random.Generator, width: int, count: int) -> rules.Codes:
    return lots.integers(-1, 6, (count, width)).astype(np.int32)  # some codes stand in no rule


def fits(found: KnownRules, rule: int, row: rules.Codes) -> bool:
    said = found.patterns[rule] >= 0
    return bool((found.patterns[rule][said] == row[said]).all())


def unsafe(found: KnownRules) -> list[bool]:
    limits = Fraction(found.over, found.under)
    return [e > 0 and own > found.least and own > limits * fit for fit, own, e in found.numbers]


@pytest.mark.parametrize("seed", range(40))
def test_who_fits_what(seed: int) -> None:
    lots = np.random.default_rng(seed)
    width = int(lots.integers(1, 7))
    found = random_rules(lots, width, int(lots.integers(1, 80)))
    rows, values = random_rows(lots, width, 30), lots.integers(-1, 8, 30).astype(np.int32)
    begins, some = found.of(rows, values)
    for i, (row, value) in enumerate(zip(rows, values, strict=True)):
        own = [r for r in range(len(found)) if found.values[r] == value and fits(found, r, row)]
        assert sorted(some[begins[i] : begins[i + 1]].tolist()) == own
    concerned = [
        any(found.values[r] == v and fits(found, r, row) for r in range(len(found)))
        for row, v in zip(rows, values, strict=True)
    ]
    assert fitting.concerned(found.ways, rows, values).tolist() == concerned


@pytest.mark.parametrize("seed", range(40))
def test_counts_of_rules(seed: int) -> None:
    lots = np.random.default_rng(seed)
    width = int(lots.integers(1, 6))
    found = random_rules(lots, width, int(lots.integers(1, 60)))
    rows, values = random_rows(lots, width, 25), lots.integers(-1, 6, 25).astype(np.int32)
    asked = lots.random(25) < 0.2
    table = EntryTable(rows, np.where(asked, -1, values).astype(np.int32), values, asked)
    again = rules.recounted(found, table)
    for r in range(len(found)):
        alike = [i for i in range(25) if fits(found, r, rows[i])]
        own = sum(table.values[i] == found.values[r] for i in alike)
        exposed = sum(asked[i] and values[i] == found.values[r] for i in alike)
        assert again.numbers[r].tolist() == [len(alike), own, exposed]
    assert again.unsafe.tolist() == unsafe(again)


@pytest.mark.parametrize("seed", range(40))
def test_one_entry_more_or_less(seed: int) -> None:
    lots = np.random.default_rng(seed)
    width = int(lots.integers(1, 6))
    found = random_rules(lots, width, int(lots.integers(1, 60)))
    for _ in range(20):
        [row], before, was = random_rows(lots, width, 1), found.numbers.copy(), found.unsafe.copy()
        value, secret = lots.permutation([-1, int(lots.integers(0, 6))]).tolist()
        column, times = int(lots.integers(0, width + (secret < 0))), int(lots.choice([-2, -1, 1]))
        changed = found.change(row, value, secret, column, times)
        for r in range(len(found)):
            takes_part = column == width or found.patterns[r, column] >= 0
            if takes_part and fits(found, r, row):
                before[r, 0] += 0 if column == width else times
                before[r, 1] += times if found.values[r] == value else 0
                before[r, 2] += times if found.values[r] == secret and column < width else 0
        assert found.numbers.tolist() == before.tolist()
        assert found.unsafe.tolist() == unsafe(found)
        assert sorted(changed.tolist()) == np.flatnonzero(was != found.unsafe).tolist()


def test_rules_that_are_known_and_others() -> None:
    lots = np.random.default_rng(3)
    every = random_rules(lots, 5, 300)
    some = every.some(np.arange(len(every)) % 3 == 0)
    other = every.but_not(some)
    assert len(some) + len(other) == len(every)
    both = some.and_also(other)
    rows = {(*p, v) for p, v in zip(every.patterns.tolist(), every.values.tolist(), strict=True)}
    assert {(*p, v) for p, v in zip(both.patterns.tolist(), both.values.tolist(), strict=True)} == (
        rows
    )
    assert len(every.but_not(both)) == 0
    strange = KnownRules(np.full((1, 5), 99, np.int32), np.array([77], np.int32), np.zeros((1, 3), int),
                    1, 1, 2)  # fmt: skip
    assert len(strange.but_not(both)) == 1


@pytest.mark.parametrize("seed", range(10))
def test_two_ways_to_compare_with_people(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lots = np.random.default_rng(seed)
    rows, truth = random_rows(lots, 5, 200), lots.integers(0, 3, 200).astype(np.int32)
    asked = lots.random(200) < 0.2
    table = EntryTable(rows, np.where(asked, -1, truth).astype(np.int32), truth, asked)
    found = rules.find(table, RuleLimits(1, Fraction(1, 3)))
    monkeypatch.setattr(rules, "_TABLE", 4)
    other = rules.find(table, RuleLimits(1, Fraction(1, 3)))
    assert len(found)
    assert np.array_equal(found.patterns, other.patterns)
    assert np.array_equal(found.values, other.values)
    assert np.array_equal(found.numbers, other.numbers)


def test_the_smallest_sets() -> None:
    lots = np.random.default_rng(5)
    for _ in range(50):
        masks = lots.integers(1, 256, lots.integers(0, 40))
        few = [
            mask
            for mask in sorted({*masks.tolist()}, key=lambda mask: (mask.bit_count(), mask))
            if not any(mask & o == o and mask != o for o in masks.tolist())
        ]
        assert matching.smallest(masks).tolist() == few


@pytest.mark.parametrize("region", REGIONS)
def test_a_table_in_parts(region: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of different rows, which need more room than there is at first."""
    lots = np.random.default_rng(7)
    latent = lots.integers(0, 6, 3_000)
    cells = np.where(
        lots.random((3_000, 6)) < 0.6, latent[:, None], lots.integers(0, 9, (3_000, 6))
    )
    truth = np.where(lots.random(3_000) < 0.7, latent, lots.integers(0, 6, 3_000)).astype(np.int32)
    asked = lots.random(3_000) < 0.02
    table = Partial(cells.astype(np.int32), truth, asked, np.zeros((3_000, 7), np.bool_))
    limits = RuleLimits(5, Fraction(1, 2))
    hidden = hide(table, limits, [region])
    assert len(hidden) > 20
    assert holds(table, limits, listed(hidden))
    monkeypatch.setattr(rules, "_ROWS", 100)
    monkeypatch.setattr(search, "_ENTRIES", 10)
    assert listed(hide(table, limits, [region])) == listed(hidden)
