"""What a table tells: every promise measured, on the table as it is or on some rows of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reticent.data.collapse import Codes
from reticent.privacy.promises import Anonymity, Promise, ours
from reticent.privacy.risk import Exposure, Known, small_groups, sure_inferences
from reticent.tables.prepare import Prepared


def exposures(prepared: Prepared, *, worst: int = 0) -> tuple[Exposure, ...]:
    """Measure every promise on the unmasked table."""
    found = []
    for promise in prepared.policy.promises:
        if promise.releases:
            from reticent.tables.previous.exposure import exposed

            if linked := exposed(prepared, promise, worst=worst):
                found.append(linked)
                continue
        columns = [prepared.cleaned.columns[name] for name in ours(promise.over)]
        codes, sizes = [c.codes for c in columns], [len(c.values) for c in columns]
        found.append(measured(prepared, promise, codes, sizes, worst=worst))
    return tuple(found)


def measured(
    prepared: Prepared,
    promise: Promise,
    codes: Sequence[Codes],
    sizes: Sequence[int],
    rows: Any = slice(None),
    *,
    worst: int = 0,
) -> Exposure:
    """Measure a promise on some rows of the columns of its `over`, as they are or as shown."""
    counts = prepared.table.counts
    known = Known(
        tuple(column[rows] for column in codes),
        tuple(sizes),
        None if counts is None else counts[rows],
    )
    if isinstance(promise, Anonymity):
        of = prepared.of_marks(promise)
        return small_groups(promise, known, of and (of[0][rows], of[1]), worst=worst)
    marks = [(marks[rows], count) for marks, count in prepared.sensitive_marks(promise)]
    return sure_inferences(promise, known, marks, worst=worst)
