"""Masked columns as trees over small integers.

Every masked column gets leaf codes numbered so that each value it can ever show — a taxonomy node,
a suppressed value, an interval — is one contiguous run of codes. Engines then need no labels, and
tie order (taxonomy order, code point order, lower bound) is simply the order of the codes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from reticent.data import memory
from reticent.data.borders import border_label, rounded_border
from reticent.data.columns import Codes, Column, smallest
from reticent.data.scales import Scale, scale_of
from reticent.data.taxonomy import Taxonomy
from reticent.data.texts import shortest
from reticent.errors import InputError

MISSING = ""  # how a disclosed missing value is printed


@dataclass(frozen=True, slots=True, eq=False)
class DomainNode:
    """One value a masked column can show, and what it can be refined into."""

    label: str  # as the search knows it; `Domain.printed` tells how it is shown
    low: int  # the leaf codes below it are low, …, high - 1; none if no row holds one
    high: int
    children: tuple[DomainNode, ...] = ()
    learnt: bool = False  # an interval whose cut point is still to be found

    def __deepcopy__(self, memo: object) -> DomainNode:
        """Itself: nothing in it changes, and a search that is copied may be large."""
        return self


@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """A masked column: its rows as leaf codes, and the tree above the leaves."""

    name: str
    mask: Literal["generalize", "suppress", "discretize"]
    codes: Codes  # codes[row] < size
    size: int
    marker: str
    root: DomainNode | None  # None where values are suppressed
    leaves: tuple[str, ...] = ()  # suppressed values by code
    scale: Scale | None = None  # intervals: the points, and the outer ends
    ends: tuple[Any, Any] | None = None
    bins: tuple[Any, ...] = ()  # the edges of fixed intervals
    rounded: bool = False  # learnt intervals are shown with borders that read well

    def __deepcopy__(self, memo: object) -> Domain:
        """Itself, as nothing in it changes."""
        return self

    @property
    def holds_missing(self) -> bool:
        """Whether some row misses its value; the code of a missing value is the last."""
        if self.root is None:
            return self.leaves[-1:] == (MISSING,)
        return any(
            child.label == MISSING and child.low < child.high for child in self.root.children
        )

    def interval(self, low: int, high: int, *, rounded: bool = False) -> str:
        """Print the learnt interval of codes low, …, high - 1."""
        assert self.scale is not None
        assert self.ends is not None
        scale, ends = self.scale, self.ends

        def border(code: int) -> str:
            return border_label(scale, code) if rounded else scale.label(scale.points[code])

        start = scale.label(ends[0]) if low == 0 else border(low)
        if high == len(scale.points):
            return f"[{start},{scale.label(ends[1])}]"
        return f"[{start},{border(high)})"

    def printed(self, node: DomainNode) -> str:
        """How a node is shown to people.

        A search knows intervals by values that occur, so that it goes the same way whatever is
        printed: how far a rounded border reaches depends on which records are there.
        """
        if not self.rounded or node.label in (self.marker, MISSING):
            return node.label
        return self.interval(node.low, node.high, rounded=True)

    def border(self, code: int) -> Any:
        """Where what is shown of the values from `code` on begins: those below it go left."""
        assert self.scale is not None
        return rounded_border(self.scale, code) if self.rounded else self.scale.points[code]

    def share(self, node: DomainNode) -> float:
        """How much of its column a node covers: of the range, or of the other values that occur.

        The marker above "missing" and the full interval tells nothing and covers it all; "missing"
        hides nothing and covers none. Borders are values that occur, however they are printed.
        """
        if self.scale is None:
            return (node.high - node.low - 1) / (self.size - 1) if self.size > 1 else 0.0
        if self.ends is None or node.label == self.marker or (self.bins and node.children):
            return 1.0
        if node.label == MISSING:
            return 0.0
        points = self.scale.points
        if self.bins:
            edges = {self.bin_label(i): pair for i, pair in enumerate(pairwise(self.bins))}
            low, high = edges[node.label]
        else:
            low = self.ends[0] if node.low == 0 else points[node.low]
            high = self.ends[1] if node.high >= len(points) else points[node.high]
        whole = self.ends[1] - self.ends[0]
        return float((high - low) / whole) if whole else 0.0

    def bin_label(self, i: int) -> str:
        """Print the fixed bin number `i`."""
        assert self.scale is not None
        low, high = self.scale.label(self.bins[i]), self.scale.label(self.bins[i + 1])
        return f"[{low},{high}" + ("]" if i == len(self.bins) - 2 else ")")


def suppressed(column: Column, marker: str) -> Domain:
    """Encode a column whose values are shown or suppressed one by one, in code point order."""
    texts = column.texts()
    _refuse_marker(column, texts, marker)
    values = sorted({text for text in texts if text is not None})
    if None in texts:
        values.append(MISSING)
    at = {value: code for code, value in enumerate(values)}
    mapping = [at[MISSING if text is None else text] for text in texts]
    return Domain(
        column.name, "suppress", _map(column, mapping, len(values)), len(values), marker,
        root=None, leaves=tuple(values),
    )  # fmt: skip


def generalized(column: Column, taxonomy: Taxonomy, marker: str, where: str) -> Domain:
    """Encode a column along its taxonomy; a value that is no leaf is an error."""
    texts = column.texts()
    leaf_of = {shortest(label): node for label, node in taxonomy.leaf_of.items()}
    leaf_of |= taxonomy.leaf_of
    nodes = [
        -1 if text is None else leaf_of.get(text, leaf_of.get(shortest(text), -2)) for text in texts
    ]
    uncovered = [code for code, node in enumerate(nodes) if node == -2]
    if uncovered:
        raise InputError(
            f"the taxonomy has no leaf for {len(uncovered)} of the "
            f"{len(texts) - (None in texts)} values found in column "
            f'"{column.name}"{column.seen(uncovered)}',
            where=where,
            why="a value without a place in the taxonomy cannot be generalised.",
            do='add them under a parent, or set  mask = "suppress"  for this attribute.',
            values=tuple(str(texts[code]) for code in uncovered),
        )
    held = set(nodes)
    codes = {node: code for code, node in enumerate(n for n in taxonomy.leaves if n in held)}
    size = len(codes) + (-1 in held)
    codes[-1] = len(codes)
    root = _grow(taxonomy, codes, missing=-1 in held)
    mapping = [codes[node] for node in nodes]
    return Domain(column.name, "generalize", _map(column, mapping, size), size, marker, root)


def discretized(
    column: Column,
    marker: str,
    where: str,
    *,
    limits: Sequence[Any] | None = None,
    bins: Sequence[Any] | None = None,
    rounded: bool = False,
    decimal: str = ".",
    date_format: str | None = None,
) -> Domain:
    """Encode a continuous column, its intervals learnt within `limits` or fixed by `bins`.

    `rounded`: learnt borders are printed so that they read well.
    """
    _refuse_marker(column, column.texts(), marker)
    scale = scale_of(column, decimal=decimal, date_format=date_format)
    bounds = _bounds(scale, limits or bins, where)
    if bounds:
        _refuse_outside(column, scale, bounds[0], bounds[-1], where)
    count = len(scale.points)
    missing = bool((scale.rank < 0).any())
    ends = None
    if bounds or count:  # else every value is missing, and there is no interval to print
        ends = (bounds[0], bounds[-1]) if bounds else (scale.points[0], scale.points[-1])
    codes = np.where(scale.rank < 0, count, scale.rank)
    domain = Domain(
        column.name, "discretize", _map(column, codes, count + missing), count + missing, marker,
        root=None, scale=scale, ends=ends, rounded=rounded,
    )  # fmt: skip
    if missing and ends and domain.interval(0, count) == marker:
        raise InputError(
            f'the marker "{marker}" is also the label of the full interval', where=where,
            do='choose another with  marker = "…".',
        )  # fmt: skip
    if bins:
        return _fixed(domain, scale, bounds, missing)
    whole = DomainNode(domain.interval(0, count), 0, count, learnt=True) if ends else None
    return replace(domain, root=_with_missing(whole, count, marker, missing))


def _fixed(domain: Domain, scale: Scale, bounds: Sequence[Any], missing: bool) -> Domain:
    """A flat tree over fixed bins; codes stay those of the single points."""
    domain = replace(domain, bins=tuple(bounds))
    count = len(scale.points)
    exact = [_exact(scale, bound, math.ceil) for bound in bounds[1:-1]]
    inner = [int(np.searchsorted(scale.points, bound)) for bound in exact]
    edges = [0, *inner, count]
    children = tuple(
        DomainNode(domain.bin_label(i), edges[i], edges[i + 1]) for i in range(len(bounds) - 1)
    )
    whole = DomainNode(domain.interval(0, count), 0, count, children)
    return replace(domain, root=_with_missing(whole, count, domain.marker, missing))


def _with_missing(whole: DomainNode | None, count: int, marker: str, missing: bool) -> DomainNode:
    """With missing values the root is the marker above "missing" and the full interval."""
    if not missing:
        assert whole is not None
        return whole
    children = (DomainNode(MISSING, count, count + 1), *([whole] if whole else []))
    return DomainNode(marker, 0, count + 1, children)


def _grow(taxonomy: Taxonomy, codes: dict[int, int], *, missing: bool) -> DomainNode:
    """Build nodes from the leaves up; in pre-order a child's number is above its parent's."""
    count = len(taxonomy.labels)
    low = [0] * count
    high = [0] * count
    seen = 0
    for node in range(count):
        low[node] = seen
        seen += node in codes
        high[node] = seen
    below: list[list[DomainNode]] = [[] for _ in range(count)]
    for node in range(count - 1, 0, -1):
        children = tuple(reversed(below[node]))
        end = max(high[node], children[-1].high) if children else high[node]
        high[node] = end
        below[taxonomy.parents[node]].append(
            DomainNode(taxonomy.labels[node], low[node], end, children)
        )
    children = tuple(reversed(below[0]))
    if missing:
        if not children:  # the only leaf is the root itself
            children = (DomainNode(taxonomy.labels[0], 0, seen),)
        children = (*children, DomainNode(MISSING, seen, seen + 1))
    return DomainNode(taxonomy.labels[0], 0, seen + missing, children)


def _map(column: Column, mapping: Any, size: int) -> Codes:
    return memory.look_up(np.asarray(mapping, dtype=smallest(max(size, 1))), column.codes)


def _bounds(scale: Scale, bounds: Sequence[Any] | None, where: str) -> list[Any]:
    try:
        return [scale.read(bound) for bound in bounds or ()]
    except ValueError as error:
        raise InputError(
            f"a bound does not fit the column, which holds {scale.kind}s", where=where,
            do=f"write each bound as {error}.",
        ) from None  # fmt: skip


def _exact(scale: Scale, bound: Any, rounded: Callable[[float], int]) -> Any:
    """A bound for whole numbers as a whole number: floats beyond 2**53 would compare inexactly."""
    whole = scale.kind == "number" and scale.points.dtype.kind in "iO"
    return rounded(bound) if whole and isinstance(bound, float) else bound


def _refuse_marker(column: Column, texts: Sequence[str | None], marker: str) -> None:
    if marker in texts:
        raise InputError(
            f'the marker "{marker}" occurs as a value{column.seen([texts.index(marker)])}',
            where=f'column "{column.name}"',
            why="a suppressed value could not be told from it.",
            do='choose another with  marker = "…",  or name it in missing_values.',
        )


def _refuse_outside(column: Column, scale: Scale, low: Any, high: Any, where: str) -> None:
    outside = scale.points < _exact(scale, low, math.ceil)
    outside |= scale.points > _exact(scale, high, math.floor)
    codes = np.flatnonzero((scale.rank >= 0) & np.append(outside, False)[scale.rank])
    if len(codes):
        texts = column.texts()
        raise InputError(
            f"{len(codes)} distinct values lie outside {scale.label(low)} to "
            f"{scale.label(high)}{column.seen(codes)}",
            where=where,
            do="widen the range, or correct the data.",
            values=tuple(str(texts[code]) for code in codes),
        )
