"""The graph of others' conditions, against looking at every node before each step."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import pytest

from at_hand import some_or_many
from reticent.suppress.entries import placing
from reticent.suppress.entries.graph import Graph
from reticent.suppress.entries.search import EntrySearch, Partial, RuleLimits

Rank: TypeAlias = tuple[int, int, list[int], int]


def random_search(seed: int) -> EntrySearch:
    """Many values that depend on the conditions: what is hidden for one makes others unsafe."""
    rng = random.Random(seed)
    records, width = rng.randint(20, 120), rng.randint(2, 4)
    rows = [[rng.randrange(3) for _ in range(width)] for _ in range(records)]
    truth = [row[0] if rng.random() < 0.5 else rng.randrange(4) for row in rows]
    asked = np.array([rng.random() < 0.2 for _ in range(records)])
    fixed = np.array([[rng.random() < 0.1 for _ in range(width + 1)] for _ in range(records)])
    table = Partial(np.array(rows, np.int32), np.array(truth, np.int32), asked, fixed)
    return EntrySearch(
        table, RuleLimits(rng.choice([0, 2]), Fraction(rng.randint(2, 5), 10)), "max-descendant", 1
    )


@pytest.mark.parametrize("seed", [0, *some_or_many(80, 20, 40, 60, 100)])
def test_the_best_node_comes_first(seed: int) -> None:
    steps = 0
    for offset in range(20):
        search = random_search(seed + offset)
        seen = search.table, search.rules, search.partial.fixed
        graph = Graph(*seen, search.strategy, search.random)
        while search.rules.unsafe.any():
            found, node = graph.places, int(placing.first(graph.places))
            count = int(found.used[placing.NODES])
            below = [
                sum(
                    found.values[n] == search.rules.values[r]
                    and all(c in (-1, d) for c, d in zip(pattern, found.cells[n], strict=True))
                    for r, pattern in enumerate(search.rules.patterns)
                    if search.rules.unsafe[r]
                )
                for n in range(count)
            ]
            assert found.gains[:count].tolist() == below
            waiting = [n for n in range(count) if found.spots[n] >= 0 and below[n]]

            def rank(n: int, below: list[int] = below, found: placing.NodePlaces = found) -> Rank:
                columns = np.flatnonzero(found.cells[n] >= 0).tolist()
                return -below[n], -len(columns), columns, n

            assert node == (min(waiting, key=rank) if waiting else -1)
            step = graph.next()
            if step is None:
                break
            graph.heard(search.hide_step(step))
            steps += 1
            for row, records in graph.standing():
                said = np.flatnonzero(row >= 0)
                assert (search.table.conditions[records][:, said] == row[said]).all()
    assert steps > 50
