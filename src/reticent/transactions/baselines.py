"""What other ways of making baskets safe would cost."""

from __future__ import annotations

import numpy as np

from reticent.suppress.baskets.methods import ItemSearch
from reticent.suppress.engine import mask
from reticent.suppress.sets import Mask, beside


def every_item_of_every_mole(search: ItemSearch) -> Mask:
    """Which items occur in a mole, minimal or not: the simplest way is to suppress them all."""
    known, p = search.known, search.p
    if not search.mine_all():  # one item after the other, then, and what stands beside moles
        search.levels()
    moles = search.pool.sets
    found = mask(moles.items, known.count)
    if not search.complete:
        others = np.flatnonzero((search.supports > 0) & ~found)
        found |= mask([v for v in others.tolist() if search.in_mole(v)], known.count)
    sizes = np.diff(moles.begins)
    # A shorter one can be known together with anything that stands beside it.
    small = moles.some(np.flatnonzero(sizes < (p or np.iinfo(np.int64).max)))
    beside(small.begins, small.items, known.starts, known.items, search.begins, search.rows, found)
    return found


def whole_baskets_alike(search: ItemSearch) -> Mask:
    """Which items k-anonymity of whole baskets would suppress.

    Items are kept by falling support, each after which every basket still equals k - 1 others in
    all that is kept.
    """
    gone = np.ones(search.known.count, np.bool_)
    group = np.zeros(search.known.transactions, np.int64)
    sizes = np.array([search.known.transactions])
    for item in np.argsort(-search.supports, kind="stable").tolist():
        rows = search.rows[search.begins[item] : search.begins[item + 1]]
        touched, place, inside = np.unique(group[rows], return_inverse=True, return_counts=True)
        outside = sizes[touched] - inside
        if len(rows) and (inside >= search.k).all() and (outside[outside > 0] >= search.k).all():
            gone[item] = False
            group[rows] = len(sizes) + place
            sizes[touched] = outside
            sizes = np.concatenate([sizes, inside])
    gone[search.supports == 0] = False
    return gone
