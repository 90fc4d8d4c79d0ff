"""Li, Shirani-Mehr and Yang 2007, figure 2: nine records, two of whom asked."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from entries_at_hand import figure_2
from reticent.suppress.entries.graph import Graph
from reticent.suppress.entries.rules import KnownRules
from reticent.suppress.entries.search import REGIONS, STRATEGIES, EntrySearch, RuleLimits, hide

NODES = {  # MinHide and ExactMatch
    "abc": (1, 2), "abd": (0, 0), "ab": (1, 1), "ac": (1, 0), "ad": (0, 1), "bc": (1, 0),
    "bd": (1, 2), "a": (2, 0), "b": (3, 0), "c": (1, 0), "d": (1, 0),
}  # fmt: skip


def spelt(pattern: list[int]) -> str:
    return "".join("abcd"[code] for code in pattern if code >= 0)


def test_every_node() -> None:
    search = EntrySearch(figure_2(), RuleLimits(0, Fraction("0.55")), "max-descendant", 1)
    unsafe = {spelt(row.tolist()): i for i, row in enumerate(search.rules.patterns)}
    needs = search.rules.too_alike(np.arange(len(search.rules)))
    assert {name: int(needs[i]) for name, i in unsafe.items()} == {
        name: hide for name, (hide, _) in NODES.items() if hide
    }
    seen = search.table, search.rules, search.partial.fixed
    graph = Graph(*seen, search.strategy, search.random)
    exact = {spelt(row.tolist()): len(records) for row, records in graph.standing()}
    assert exact == {name: match for name, (_, match) in NODES.items() if match}


def test_a_rule_that_needs_none() -> None:
    safe = KnownRules(
        np.zeros((1, 1), np.int32), np.zeros(1, np.int32), np.array([[3, 1, 1]]), 0, 11, 20
    )
    assert safe.too_alike(np.array([0])).tolist() == [0]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_is_hidden(strategy: str) -> None:
    limits = RuleLimits(0, Fraction("0.55"))
    hidden = [len(hide(figure_2(), limits, [region], strategy)) for region in REGIONS]
    assert hidden[:2] == [2, 7]
    assert len(hide(figure_2(), limits, REGIONS[:2], strategy)) == 2
