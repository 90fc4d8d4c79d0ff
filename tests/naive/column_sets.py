"""Every set of up to three columns, counted by its definition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any


def naive_column_sets(table: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """The sets that single somebody out, as `risk --json` lists them, without an end."""
    found: list[dict[str, Any]] = []
    alone: dict[tuple[str, ...], int] = {}
    names = list(table)
    for size in (1, 2, 3):
        for names_of_set in combinations(names, size):
            groups = Counter(zip(*(table[name] for name in names_of_set), strict=True))
            unique = sum(count == 1 for count in groups.values())
            alone[names_of_set] = unique
            within = [alone[s] for k in range(1, size) for s in combinations(names_of_set, k)]
            record = {"columns": [*names_of_set], "unique_rows": unique, "groups": len(groups)}
            found.append(record | {"minimal": unique > max(within, default=0)})
    found.sort(key=lambda one: (-one["unique_rows"], len(one["columns"])))  # sorting is stable
    return [one for one in found if one["unique_rows"]]
