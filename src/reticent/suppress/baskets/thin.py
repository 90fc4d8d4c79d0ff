"""Whether any set of items, however large, is held by too few: a question that is quickly answered.

A set is held by at least as many transactions as any whole transaction that holds it. So if nobody
has a *thin* transaction, one that fewer than k hold, there is no such set; and if somebody has, a
part of it that cannot be made smaller is a minimal mole. That takes polynomial time, where the
search through all sets may never end: 31 baskets, each of 194 of 200 items, have more minimal moles
than anybody can list.
"""

from __future__ import annotations

import numpy as np

from reticent.suppress import lists
from reticent.suppress.baskets.moles import Known
from reticent.suppress.baskets.nuggets import distinct_rows


def thin_set(known: Known, k: int) -> tuple[int, ...] | None:
    """A set that fewer than k transactions hold, and of which every part is held by more.

    >>> starts, items = np.array([0, 2, 4, 7]), np.array([0, 1, 0, 1, 0, 1, 2], np.int32)
    >>> known = Known(starts, items, 3, np.zeros(4, np.int64), np.zeros(0, np.int32), 0)
    >>> thin_set(known, 2), thin_set(known, 1)
    ((2,), None)
    """
    supports = known.supports()
    rows = distinct_rows(known.starts, known.items, supports, np.flatnonzero(supports))
    begins, holders = lists.invert(rows.starts, rows.items, len(rows.rank))
    table = rows.starts, rows.items, rows.weights, begins, holders
    row = lists.thin_row(*table, k)
    if row < 0:
        return None
    kept = rows.items[rows.starts[row] : rows.starts[row + 1]]
    for item in kept[::-1]:  # frequent items first: rare ones are why
        fewer = kept[kept != item]
        if len(fewer) and lists.held_by(*table, fewer, k) < k:
            kept = fewer
    return tuple(sorted(rows.rank[kept].tolist()))
