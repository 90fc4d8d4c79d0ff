"""Tables with entries to hide: what is published of them, and whether that is safe."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from naive.entries import Case
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
NAMES = ["sex", "school", "job", "age"]
JOBS = ["baker", "nurse", "clerk", "pilot"]
POLICY: dict[str, Any] = {
    "conditions": ["sex", "school"], "sensitive": "job", "min_support": 3, "min_confidence": 0.5,
    "requests": [2, 5, 40], "keep": ["age"],
}  # fmt: skip
OPEN = [some for size in (1, 2, 3) for some in combinations(REGIONS, size)]


def people(rows: int = 120, seed: int = 4) -> list[tuple[str, str, str, int]]:
    """Records in which school nearly tells the job."""
    rng = random.Random(seed)
    found = []
    for _ in range(rows):
        school = rng.randrange(4)
        job = JOBS[school] if rng.random() < 0.8 else rng.choice(JOBS)
        found.append((rng.choice("fm"), f"S{school}", job, rng.randrange(20, 70)))
    return found


def table(rows: int = 120, **more: Any) -> pa.Table:
    columns = zip(*people(rows), strict=True)
    return pa.table(dict(zip(NAMES, columns, strict=True)) | more)


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


def figure_2() -> Partial:
    """Li, Shirani-Mehr and Yang 2007: nine records, two of whom asked; a dot stands nowhere else."""
    rows = ("abc", "abc", "abc", "ab.", "abd", "a.d", ".bd", ".bd", "..d")
    codes = [
        [10 + 3 * i + j if cell == "." else "abcd".index(cell) for j, cell in enumerate(row)]
        for i, row in enumerate(rows)
    ]
    truth, asked = np.array([0] * 8 + [1], np.int32), np.isin(np.arange(9), (0, 4))
    return Partial(np.array(codes, np.int32), truth, asked, np.zeros((9, 4), np.bool_))


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


def defined(table: Partial, limits: RuleLimits, entries: Entries = ()) -> Case:
    """The same as the definition takes it."""
    shown = published(table, entries)
    records = tuple(
        {j: int(code) for j, code in enumerate([*row, value]) if code >= 0}
        for row, value in zip(shown.conditions.tolist(), shown.values.tolist(), strict=True)
    )
    asked = tuple(np.flatnonzero(table.asked).tolist())
    return Case(
        records, table.conditions.shape[1], {t: int(table.truth[t]) for t in asked}, asked,
        limits.min_support, limits.min_confidence, limits.max_pattern,
    )  # fmt: skip


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
