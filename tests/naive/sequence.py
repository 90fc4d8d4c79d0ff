"""Sequential releases, read straight off their definition: rows are linked, pair by pair.

T1 is refined so that what an attacker can link it with in earlier releases keeps the templates.
Every hypothetical step masks T1 again, links everything again and counts from nothing. A candidate
that fails is tried again after each step, since a refinement of T1 can also repair a template.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from naive import refine as single
from naive.refine import (
    Anon,
    Attr,
    Conf,
    Infeasible,
    Labels,
    Result,
    Row,
    Template,
    Tree,
)

__all__ = ["Anon", "Attr", "Conf", "Earlier", "Infeasible", "NotSamePopulation", "refine"]


@dataclass(frozen=True)
class Earlier:
    """A release that cannot change any more; only this owner knows the columns of `drop`."""

    name: str
    rows: list[Row]
    drop: tuple[str, ...] = ()


@dataclass(frozen=True)
class World:
    """What decides whether two records may belong to one person."""

    trees: Mapping[str, Tree]
    continuous: frozenset[str] = frozenset()  # shown as intervals
    inconsistent: Sequence[Mapping[str, str]] = ()
    dropped: Collection[str] = ()  # columns of T1 that are never published
    no_join: Collection[str] = ()  # the policy says join = false
    marker: str = "*"


class NotSamePopulation(Exception):
    """Some records match nothing on the other side, even before masking.

    Per release: how many records of T1 match none of it, and how many of its match none of T1.
    """

    def __init__(self, counts: dict[str, tuple[int, int]]) -> None:
        super().__init__(counts)
        self.counts = counts


# Which records match ------------------------------------------------------------------------------


def path(tree: Tree, label: str) -> list[str]:
    """Return the labels from the root down to this one; nothing if the taxonomy lacks it."""
    for name, below in tree.items():
        if name == label:
            return [name]
        if rest := path(below, label):
            return [name, *rest]
    return []


def above(column: str, value: Any, world: World) -> set[Any]:
    """Return a value, what is more general, and ⊥. A missing value lies right below the root."""
    tree = world.trees.get(column)
    if tree is None:
        return {value, world.marker}
    top = set() if path(tree, world.marker) else {world.marker}  # a node may be called `*`
    if value in top:
        return top
    line = [*tree, None] if value is None else path(tree, value)
    if not line:
        raise ValueError(f"{value!r} is not in the taxonomy of {column}")
    return top.union(line)


def span(value: Any) -> tuple[float, float, bool]:
    """Read a printed interval, or a number: low, high, and whether high belongs to it."""
    if isinstance(value, str) and value.startswith("["):
        low, high = value[1:-1].split(",")
        return float(low), float(high), value.endswith("]")
    return float(value), float(value), True


def holds_point(value: Any, point: float) -> bool:
    low, high, closed = span(value)
    return low <= point < high or (closed and point == high)


def consistent(column: str, mine: Any, theirs: Any, world: World) -> bool:
    """Say whether two values lie on one path, or two intervals overlap."""
    if column not in world.continuous:
        return mine in above(column, theirs, world) or theirs in above(column, mine, world)
    if world.marker in (mine, theirs):
        return True
    if mine is None or theirs is None:  # with missing values the root is ⊥, not the full interval
        return mine is theirs
    latest = max(span(mine)[0], span(theirs)[0])  # an overlap starts where the later one does
    return holds_point(mine, latest) and holds_point(theirs, latest)


def within(column: str, value: Any, listed: str, world: World) -> bool:
    """Say whether a value is the listed one or more specific."""
    if column not in world.continuous:
        return listed in above(column, value, world)
    if value is None or value == world.marker:
        return False
    (low, high, closed), (least, most, ends) = span(value), span(listed)
    return least <= low and (high < most or (high == most and (ends or not closed)))


def contradict(mine: Row, theirs: Row, world: World) -> bool:
    """Say whether a listed pair rules the two out: one value on each side, either way round."""
    for pair in world.inconsistent:
        (a, value_a), (b, value_b) = pair.items()
        for (x, value_x), (y, value_y) in [
            ((a, value_a), (b, value_b)),
            ((b, value_b), (a, value_a)),
        ]:
            if (
                (x in mine and y in theirs)
                and within(x, mine[x], value_x, world)
                and within(y, theirs[y], value_y, world)
            ):
                return True
    return False


def common(mine: Row, theirs: Row, release: Earlier, world: World) -> list[str]:
    """Return the columns published on both sides, but for those said not to join."""
    hidden = {*world.dropped, *release.drop, *world.no_join}
    return [name for name in mine if name in theirs and name not in hidden]


def match(mine: Row, theirs: Row, release: Earlier, world: World) -> bool:
    """Say whether a record of T1, as shown, and one of an earlier release may be one person."""
    columns = common(mine, theirs, release, world)
    if not all(consistent(name, mine[name], theirs[name], world) for name in columns):
        return False
    return not contradict(
        {name: v for name, v in mine.items() if name not in world.dropped},
        {name: v for name, v in theirs.items() if name not in release.drop},
        world,
    )


def strangers(rows: list[Row], release: Earlier, world: World) -> tuple[int, int]:
    """Count the records of T1, unmasked, and of a release that match nothing on the other side."""
    return (
        sum(not any(match(r, t, release, world) for t in release.rows) for r in rows),
        sum(not any(match(r, t, release, world) for r in rows) for t in release.rows),
    )


# Linked rows, and what they give away -------------------------------------------------------------


def named(template: Template, earlier: Sequence[Earlier]) -> list[str]:
    """Return the releases that a template names; no other prefix qualifies a column."""
    columns = [*template.over, *(template.of if isinstance(template, Anon) else template.sensitive)]
    return [e.name for e in earlier if any(c.startswith(f"{e.name}.") for c in columns)]


def linked(
    rows: list[Row],
    labels: list[Labels],
    names: Collection[str],
    earlier: Sequence[Earlier],
    world: World,
) -> list[Row]:
    """Build the star join (the paper's word) of T1, as shown, with the releases of these names.

    Each linked row holds the columns of T1 and, under qualified names, those of the releases, also
    the dropped ones. The earlier releases are never matched with one another.
    """
    star = [release for release in earlier if release.name in names]
    found: list[Row] = []
    for row, shown in zip(rows, labels, strict=True):
        mine = {**row, **{name: label or None for name, label in shown.items()}}
        partners = [[t for t in e.rows if match(mine, t, e, world)] for e in star]
        for chosen in product(*partners):
            tuple_ = dict(mine)
            for release, theirs in zip(star, chosen, strict=True):
                tuple_ |= {f"{release.name}.{name}": v for name, v in theirs.items()}
            found.append(tuple_)
    return found


def measure(
    template: Template,
    rows: list[Row],
    labels: list[Labels],
    earlier: Sequence[Earlier],
    world: World,
) -> int | Fraction:
    """Return A(X) or C(X) on T1 linked with the releases the template names."""
    tuples = linked(rows, labels, named(template, earlier), earlier, world)
    return single.measure(template, tuples, tuples)


def implies(
    strong: Template,
    weak: Template,
    rows: list[Row],
    labels: list[Labels],
    earlier: Sequence[Earlier],
    world: World,
) -> bool:
    """Say whether the first template, with the same releases, makes the second one redundant."""
    names = named(strong, earlier)
    if names != named(weak, earlier):
        return False
    return single.implies(strong, weak, linked(rows, labels, names, earlier, world))


# The loop -----------------------------------------------------------------------------------------


def world_of(
    rows: list[Row],
    attrs: Sequence[Attr],
    earlier: Sequence[Earlier],
    trees: Mapping[str, Tree],
    inconsistent: Sequence[Mapping[str, str]],
    dropped: Collection[str],
    no_join: Collection[str],
    marker: str,
) -> World:
    """Gather what decides about matches, and refuse what leaves that open.

    A continuous column of both sides needs fixed intervals, or must be said not to join; and the
    values of a common column must stand in its taxonomy.
    """
    taxonomies = {a.name: a.tree for a in attrs if a.tree is not None} | dict(trees)
    fixed = {a.name for a in attrs if a.intervals}
    learnt = {a.name for a in attrs if a.mask == "discretize"} - fixed
    numbers = {name for row in rows for name, v in row.items() if isinstance(v, int | float)}
    for release in earlier:
        public = set(release.rows[0]) - set(release.drop)
        if unclear := ((learnt | numbers) - fixed - {*dropped, *no_join}) & public:
            raise ValueError(f"no intervals to join {release.name} by: {sorted(unclear)}")
    world = World(taxonomies, frozenset(learnt | fixed), inconsistent, dropped, no_join, marker)
    for release in earlier:
        for name in common(rows[0], release.rows[0], release, world):
            for value in (row[name] for row in [*rows, *release.rows]):
                consistent(name, value, value, world)  # an error if it is none of the column's
    return world


def refine(
    rows: list[Row],
    attrs: Sequence[Attr],
    templates: Sequence[Template],
    *,
    earlier: Sequence[Earlier],
    trees: Mapping[str, Tree],
    inconsistent: Sequence[dict[str, str]],
    cls: str | None,
    utility: str = "classification",
    score: str = "paper",
    marker: str = "*",
    dropped: Collection[str] = (),
    no_join: Collection[str] = frozenset(),
) -> Result:
    """Refine T1 by what it gives away when it is linked with the earlier releases."""
    world = world_of(rows, attrs, earlier, trees, inconsistent, dropped, no_join, marker)
    alone = {e.name: strangers(rows, e, world) for e in earlier}
    if any(any(pair) for pair in alone.values()):
        raise NotSamePopulation({name: pair for name, pair in alone.items() if any(pair)})
    return single.refine(
        rows,
        attrs,
        templates,
        measured=lambda t, labels: measure(t, rows, labels, earlier, world),
        implied=lambda strong, weak, labels: implies(strong, weak, rows, labels, earlier, world),
        may_mend=True,
        cls=cls,
        utility=utility,
        score=score,
        marker=marker,
    )
