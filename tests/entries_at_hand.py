"""Tables with entries to hide: what is published of them, and whether that is safe."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from reticent.privacy.entries import PublishedEntries, SafeEntries, recount
from reticent.suppress.entries.search import (
    CONDITIONS,
    OWN,
    REGIONS,
    SENSITIVE,
    Hidden,
    Partial,
    RuleLimits,
)

Entries: TypeAlias = Iterable[tuple[int, int]]  # a record and a column
OPEN = [some for size in (1, 2, 3) for some in combinations(REGIONS, size)]


def spelt(*records: str) -> Partial:
    """A table of lines like `ab x`: conditions, a dot where one is empty, and the sensitive value.

    A question mark at the end: this person asked. A capital letter must be published.
    """
    lines = [record.rstrip("?").split() for record in records]
    cells = [[*conditions, value] for conditions, value in lines]
    codes = np.array(
        [[-1 if c == "." else ord(c.lower()) - ord("a") for c in row] for row in cells], np.int32
    )
    fixed = np.array([[c.isupper() for c in row] for row in cells])
    asked = np.array([record.endswith("?") for record in records])
    return Partial(np.ascontiguousarray(codes[:, :-1]), codes[:, -1].copy(), asked, fixed)


def listed(hidden: Hidden) -> list[tuple[int, int]]:
    """The entries, in the order in which they went."""
    return list(zip(hidden.records.tolist(), hidden.columns.tolist(), strict=True))


def allowed(table: Partial, regions: Collection[str]) -> NDArray[np.bool_]:
    """Which entries may be hidden besides those that people asked for."""
    asked = table.asked[:, None]
    conditions = np.where(asked, OWN in regions, CONDITIONS in regions)
    every = np.repeat(conditions, table.conditions.shape[1], axis=1)
    found: NDArray[np.bool_] = (
        np.column_stack([every, ~asked & (SENSITIVE in regions)]) & ~table.fixed
    )
    return found


def published(table: Partial, entries: Entries = ()) -> PublishedEntries:
    """The table without these entries, and without those that people asked for."""
    conditions = table.conditions.copy()
    values = np.where(table.asked, -1, table.truth).astype(np.int32)
    for record, column in entries:
        if column == conditions.shape[1]:
            values[record] = -1
        else:
            conditions[record, column] = -1
    return PublishedEntries(conditions, values)


def holds(table: Partial, limits: RuleLimits, entries: Entries) -> bool:
    """The verifier's word."""
    promise = SafeEntries(
        min_support=limits.min_support, min_confidence=limits.min_confidence,
        max_pattern=limits.max_pattern,
    )  # fmt: skip
    asked = np.flatnonzero(table.asked)
    found = recount(published(table, entries), promise, asked, table.truth[asked]).holds
    assert found is not None
    return found
