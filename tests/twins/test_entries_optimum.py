"""How few entries suffice: all sets of them against an integer program; the search has no fewer.

Beside them the baseline that hides one rule after the other: safe and allowed, too.
"""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from entries_at_hand import (
    OPEN,
    Entries,
    allowed,
    defined,
    figure_2,
    holds,
    listed,
    published,
    spelt,
)
from naive.entries import is_safe
from reticent.privacy.entries import altered
from reticent.suppress.entries.search import (
    CONDITIONS,
    OWN,
    REGIONS,
    SENSITIVE,
    STRATEGIES,
    Partial,
    RuleLimits,
    hide,
)
from rule_hiding import hide_rules

pytest.importorskip("scipy")

from entry_optimum import fewest


def random_table(rng: random.Random, most: int, share: float) -> tuple[Partial, RuleLimits]:
    """A few records, some of whom asked; `share` of the entries must be published."""
    records, width = rng.randint(3, most), rng.randint(1, 3)
    cells = [[rng.choice([-1, 0, 0, 0, 0, 0, 1, 1]) for _ in range(width)] for _ in range(records)]
    truth = np.array([rng.choice([0, 0, 0, 0, 1, 1]) for _ in range(records)], np.int32)
    asked = np.array([rng.random() < 0.3 for _ in range(records)])
    asked[rng.randrange(records)] = True
    fixed = np.array([[rng.random() < share for _ in range(width + 1)] for _ in range(records)])
    fixed[asked, width] = False
    confidence = Fraction(rng.randint(0, 7), 10)
    limits = RuleLimits(rng.choice([0, 0, 0, 1]), confidence, rng.choice([None, None, None, 2]))
    return Partial(np.array(cells, np.int32), truth, asked, fixed), limits


def safe(table: Partial, limits: RuleLimits, entries: Entries) -> bool:
    """By the definition."""
    return is_safe(defined(table, limits, entries))


def by_trying(table: Partial, limits: RuleLimits, open_: np.ndarray) -> int | None:
    """The least number of entries that suffice; None where all of them do not."""
    there = np.column_stack([table.conditions, table.truth]) >= 0
    entries = [(int(r), int(j)) for r, j in zip(*np.nonzero(open_ & there), strict=True)]
    for size in range(len(entries) + 1):
        if any(safe(table, limits, some) for some in combinations(entries, size)):
            return size
    return None


@pytest.mark.parametrize("share", [0, 0.1, 0.4])
@pytest.mark.parametrize("seed", [1, 2])
def test_all_sets_of_entries(seed: int, share: float) -> None:
    """The integer program finds as few as the best of all sets; `hide` never fewer."""
    some = impossible = 0
    for number in range(12):
        rng = random.Random(100 * seed + number)
        table, limits = random_table(rng, 5, share)
        for regions in OPEN:
            open_ = allowed(table, regions)
            least, found = by_trying(table, limits, open_), fewest(table, limits, regions)
            hidden = hide(table, limits, regions, rng.choice(STRATEGIES))
            assert found.possible == (least is not None) == (not len(hidden.exposed))
            if least is None:
                impossible += 1
                continue
            entries = list(zip(found.records.tolist(), found.columns.tolist(), strict=True))
            assert len(found) == least
            assert found.solved
            assert safe(table, limits, entries)
            assert all(open_[entry] for entry in entries)
            assert len(hidden) >= least
            some += least
    assert some
    assert share < 0.4 or impossible


def test_the_papers_example() -> None:
    """Figure 2 of Li 2007: two entries of the sensitive column, or seven others, are the least."""
    limits = RuleLimits(0, Fraction(11, 20))
    assert [len(fewest(figure_2(), limits, [region])) for region in REGIONS] == [2, 7, 6]


A, B, C = REGIONS
FEWEST = [  # regions; support, confidence; the least number; the table
    # A rule is safe, too, once no more records follow it than may.
    ([A], 2, "0", 3,
     "abb x, acb x?, baa x?, acb x, aaa x, caa x, baa x, aac x, acb x"),
    ([A], 3, "0.5", 3,
     "aab x, aba x?, caa x, cba x, aba x, aab x, aaa x, aba x, abc x?, bac x?, cba x, aab x"),
    ([B, C], 1, "0.2", 2, "aa x, ba x, ba x?, bb x?, ba x"),
    ([B, C], 2, "0.3", 2, "ab x, ab x, bb x, ab x?, ac x, bb x, ac x?"),
    # As many at once as the first rule needs, no more: then something else may do better.
    ([A, C], 2, "0.4", 2, "cb x?, aa x, aa x, aa x, bb x, ab x?, ab x, ab x"),
    ([A, C], 2, "0.4", 2, "aa x, aa x, ca x?, ab x, aa x?, ac x, aa x"),
    ([B], 0, "0.3", 3, "ba y, ba y, bb x, ba x?, ba y?"),
    # The step that makes most rules safe for each entry that it hides, whichever region it is of.
    ([A, C], 0, "0.3", 2, "b x, a x?, b x?, b x, a x?, a x"),
    ([A, C], 0, "0", 2, "ca x?, aa x, ba x, cb x?, cb x"),
    ([A, C], 0, "0", 2, "aa x, bc x?, ba x, aa x, ba x?"),
    ([A, C], 0, "0.2", 2, "b y, a x?, b y?, b x, a x, b x?, a x, b x"),
    ([B, C], 0, "0.1", 2, "aa x, ba x, aa x?, ab x?"),
    ([B, C], 0, "0.1", 3, "ba x?, aa x, bc x, ba x?, ca x, ca x"),
    ([B, C], 0, "0", 4, "aa x, ac x?, ac x, ba x, ab x?, aa x?"),
    # One region alone may do better than both, step by step.
    ([A, C], 0, "0.1", 2, "aa x, aa x?, ab x, ba x"),
    # The node with most unsafe rules, the condition that stands in most of these.
    ([B], 0, "0.4", 1, "aba y, aac x, aaa x?, baa x?, caa x"),
    ([B], 0, "0.6", 3, "aa x, aa x, aa x?, ca x?, ac x?, ca y?, aa x, aa x, ac x"),
    ([B, C], 0, "0", 2, "ca x?, cb x?, cb x, ab x"),
    ([B, C], 0, "0.1", 2, "aa x, aa x?, ab x, ca x?"),
    ([B, C], 0, "0", 5, "aab x?, aaa x, bca x?, aaa x, bca x?, bba x"),
]  # fmt: skip


@pytest.mark.parametrize(("regions", "support", "confidence", "least", "lines"), FEWEST)
def test_as_few_as_can_be(
    regions: list[str], support: int, confidence: str, least: int, lines: str
) -> None:
    """Tables on which the right next step leads to the optimum, and others do not."""
    table, limits = spelt(*lines.split(", ")), RuleLimits(support, Fraction(confidence))
    hidden = hide(table, limits, regions)
    assert len(hidden) == len(fewest(table, limits, regions)) == least
    assert holds(table, limits, listed(hidden))


@pytest.mark.parametrize("region", [SENSITIVE, CONDITIONS])
def test_rules_hidden_one_by_one(region: str) -> None:
    """Safe where anything is, and only what may be hidden is."""
    some = 0
    for seed in range(150):
        rng = random.Random(seed)
        table, limits = random_table(rng, 25, rng.choice([0, 0, 0.2]))
        shortest = rng.random() < 0.3
        records, columns = hide_rules(table, limits, region, shortest_first=shortest)
        entries = list(zip(records.tolist(), columns.tolist(), strict=True))
        assert len({*entries}) == len(entries)
        before, after = published(table), published(table, entries)
        assert altered(before, after, table.fixed, allowed(table, (region,))).nothing
        if not table.fixed.any():
            assert holds(table, limits, entries)
        some += len(entries)
    assert some


def test_rules_are_not_hidden_in_peoples_own_conditions() -> None:
    table, limits = random_table(random.Random(1), 5, 0)
    with pytest.raises(ValueError, match="not in conditions-of-sensitive"):
        hide_rules(table, limits, OWN)
