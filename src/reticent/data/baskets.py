"""Transactions as sets of small integers: what they are, and the order in which they are released.

A transaction is what somebody bought, clicked on or was treated for: a set of items. Items are
numbered by code point of their names, so that ascending numbers are the order of print. How
baskets come in and go out is the matter of `basket_files`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from reticent.data.columns import smallest
from reticent.data.memory import runs
from reticent.errors import InputError

Ints = NDArray[np.int64]
Items = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Baskets:
    """Transactions in order, each with its items."""

    name: str  # that they go by in messages
    names: pa.Array  # of items, as 64-bit text, ascending by code point; every one occurs
    starts: Ints  # transaction t has items[starts[t] : starts[t + 1]], each once, ascending
    items: Items
    ids: pa.Array | None = None  # one for each transaction; None: 1, 2, …
    columns: tuple[str, str] = ("id", "item")  # the names of both in long tables
    numbers: bool = False  # whether items came as Python's numbers, and go back as such
    notes: tuple[str, ...] = ()  # what was assumed in reading them
    others: tuple[str, ...] = ()  # columns of a long table that nobody reads

    def __post_init__(self) -> None:
        assert self.starts[0] == 0
        assert self.starts[-1] == len(self.items)
        assert self.ids is None or len(self.ids) == self.transactions

    @property
    def transactions(self) -> int:
        """How many there are, empty ones included."""
        return len(self.starts) - 1

    @property
    def occurrences(self) -> int:
        """How many items all transactions have together."""
        return len(self.items)

    def sizes(self) -> Ints:
        """How many items each transaction has."""
        return np.diff(self.starts)

    def supports(self) -> Ints:
        """How many transactions have each item; never 0."""
        return np.bincount(self.items, minlength=len(self.names))

    def without(self, gone: NDArray[np.bool_]) -> Baskets:
        """The same without the items marked true; transactions stay, even those left empty.

        The others are numbered anew: nothing that is handed on knows even the name of what is gone.
        """
        number = np.cumsum(~gone, dtype=np.int32) - 1
        lost = gone[self.items]
        return replace(
            self,
            names=self.names.filter(pa.array(~gone)),
            starts=self.starts - np.searchsorted(np.flatnonzero(lost), self.starts),
            items=number[self.items[~lost]],
        )

    def arranged(self) -> Baskets:
        """The same by number of items, then by text; numbered 1, 2, … instead of by their ids.

        >>> rows = Part(np.array([0, 1, 1, 3]), np.array([0, 1, 0, 1]), pa.array(["a", "b"]), 4)
        >>> made("data", [rows]).arranged().texts().to_pylist()
        ['', 'a', 'b', 'a b']
        """
        order = self.order()
        sizes = self.sizes()[order]
        starts = _ends(sizes)
        shift = self.starts[order] - starts[:-1]
        items = np.empty_like(self.items)
        for first, last in runs(starts):
            low, high = starts[first], starts[last]
            at = np.arange(low, high) + np.repeat(shift[first:last], sizes[first:last])
            items[low:high] = self.items[at]
        return replace(self, starts=starts, items=items, ids=None)

    def order(self) -> Ints:
        """The transactions by number of items, then by text with blanks between, by code point.

        Different ones that print alike, as items may hold blanks, are told apart by their items:
        their order in the input must not show. Equal ones stay in order.
        """
        sizes = self.sizes()
        kind = smallest(int(sizes.max()) + 1)  # short integers are sorted by digits, which is quick
        rows = np.argsort(sizes.astype(kind), kind="stable")
        ends = np.flatnonzero(np.diff(sizes[rows])) + 1
        by_text = _may_differ(self.names)
        return np.concatenate(
            [self._of_one_size(part, int(sizes[part[0]]), by_text) for part in np.split(rows, ends)]
        )

    def _of_one_size(self, rows: Ints, size: int, by_text: bool) -> Ints:
        import pyarrow.compute as pc

        if len(rows) == 1 or not size:
            return rows
        windows = np.lib.stride_tricks.sliding_window_view(self.items, size)
        items = windows[self.starts[rows]]
        order = np.lexsort(_packed(items, len(self.names))[::-1])
        if by_text:
            starts = np.arange(0, items.size + 1, size)
            texts = _joined(self.names, starts, items[order].ravel())
            order = order[pc.sort_indices(texts).to_numpy()]  # those that print alike stay in order
        return rows[order]

    def texts(self, first: int = 0, last: int | None = None, between: str = " ") -> pa.Array:
        """Transactions `first`, …, `last` - 1 as they are printed: items with a blank between."""
        starts = self.starts[first : None if last is None else last + 1]
        items = self.items[starts[0] : starts[-1]]
        return _joined(self.names, starts - starts[0], items, between)


def _joined(names: pa.Array, starts: Ints, items: Items, between: str = " ") -> pa.Array:
    import pyarrow.compute as pc

    words = pa.LargeListArray.from_arrays(pa.array(starts), names.take(pa.array(items)))
    return pc.binary_join(words, pa.scalar(between, names.type))


def _packed(items: Items, count: int) -> list[Ints]:
    """Rows of equally many items as a few numbers each, which compare as they do."""
    bits = max((count - 1).bit_length(), 1)
    together = 63 // bits
    keys = []
    for first in range(0, items.shape[1], together):
        key = items[:, first].astype(np.int64)
        for column in items[:, first + 1 : first + together].T:
            key <<= bits
            key |= column
        keys.append(key)
    return keys


def _may_differ(names: pa.Array) -> bool:
    """Whether texts of equally many items may stand in another order than the items themselves.

    Of two names that differ inside both, the order is theirs. It is also if one begins with the
    other and goes on with a character above the blank that follows the shorter one in print. Names
    that begin with another stand behind it, those that go on with the lowest character first.

    >>> _may_differ(pa.array(["milk", "milk 2%"])), _may_differ(pa.array(["milk", "milky way"]))
    (True, False)
    """
    return any(
        longer.startswith(name) and longer[len(name)] <= " "
        for name, longer in pairwise(names.to_pylist())
    )


# --- how they are made ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Part:
    """Some transactions as they were found: pairs of a transaction and an item, in any order."""

    rows: NDArray[np.integer]  # pair i: transaction rows[i] < count holds names[items[i]]
    items: NDArray[np.integer]
    names: pa.Array  # in any order; may repeat; every one occurs
    count: int  # of transactions, empty ones included


def made(
    name: str,
    parts: Sequence[Part],
    *,
    ids: pa.Array | None = None,
    columns: tuple[str, str] = ("id", "item"),
    numbers: bool = False,
    notes: Sequence[str] = (),
) -> Baskets:
    """Baskets from parts that follow each other: items numbered by name, and once a transaction."""
    if not sum(part.count for part in parts):
        raise InputError(
            "there is no transaction", where=name, do="give one a line, or rows of id and item."
        )
    names, numbers_of = _united([part.names for part in parts])
    found = [_tidied(part, number) for part, number in zip(parts, numbers_of, strict=True)]
    starts = _ends(np.concatenate([sizes for sizes, _ in found]))
    items = np.concatenate([items for _, items in found])
    told = tuple(dict.fromkeys(notes))
    return Baskets(name, names, starts, items, ids, columns, numbers, told)


def _united(found: Sequence[pa.Array]) -> tuple[pa.Array, list[Items]]:
    """All names once, ascending, and the number that each of those found has among them."""
    import pyarrow.compute as pc

    coded = pa.concat_arrays([names.cast(pa.large_string()) for names in found]).dictionary_encode()
    order = pc.sort_indices(coded.dictionary)  # bytes of UTF-8 rise with code points
    rank = np.empty(len(order), np.int32)
    rank[order.to_numpy()] = np.arange(len(order))
    ends = np.cumsum([len(names) for names in found])
    return coded.dictionary.take(order), np.split(rank[coded.indices.to_numpy()], ends[:-1])


def _tidied(part: Part, number: Items) -> tuple[Ints, Items]:
    """How many items each transaction has, and which, each once and ascending."""
    pairs = part.rows.astype(np.int64)
    pairs <<= 32
    pairs |= number[part.items]
    if not (pairs[1:] > pairs[:-1]).all():
        pairs.sort(kind="stable")  # mostly in order already: a quarter of the time of quicksort
        pairs = pairs[np.concatenate([[True], pairs[1:] != pairs[:-1]])]
    items = pairs.astype(np.int32)  # which leaves the upper half behind
    pairs >>= 32
    return np.bincount(pairs, minlength=part.count), items


def _ends(sizes: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
