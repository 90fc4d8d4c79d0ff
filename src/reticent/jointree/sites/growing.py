"""Splits between sites: who has the best of a node, and which part of the others' rows it takes.

Source: Xu 2008, chapter 3: secure decision trees, and split propagation.

At a node each site finds the best split of its own tables. Whose key is the highest comes out under
encryption (`reticent.parties.comparison`); the winner tells the joined rows by branch and class,
which all nodes of a tree show, and keeps the question to itself. Then sums go over the joins from
its block to all others: for each common join value that stands in the node, and for each branch
that is not a leaf already, how many joined rows of each class. What they are parts of, the other
side knows from its own rows: the sums over a join are the same on both sides.

Where we differ from the paper: gains are compared and not sent to a coordinator; of the branches of
a node one is not told, being what is left; branches that are leaves are counted and nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.jointree import kernels
from reticent.jointree.learning import (
    Held,
    JoinLoops,
    add_exactly,
    branch_rows,
    part_of,
    shared_exactly,
    short,
    ways_from,
)
from reticent.jointree.propagation import Propagated, Vectors, records_behind
from reticent.jointree.sites.layout import Crossing, SiteLayout
from reticent.jointree.sites.relay import too_few
from reticent.jointree.sites.words import (
    ALIKE,
    WITHHELD,
    NodeSplit,
    PartSums,
    SplitFits,
    Sums,
    Unfit,
    alike,
    lines_told,
    most_lines,
    packed,
    packed_parts,
    regrouped,
    rounded,
    unpacked,
    unpacked_parts,
)
from reticent.parties.comparison import ComparisonKey, highest
from reticent.parties.wire import Conversation, others
from reticent.progress import Watch
from reticent.trees.learner import TreeOptions
from reticent.trees.tree import Split

Heard = tuple[int, bytes, int, bytes]  # over which join, and what PartSums holds
Record = tuple[list[str], int, int, bytes, list[Heard]]
NO_BLOCK = 0


@dataclass(frozen=True, slots=True)
class SiteSplit(Split):
    """A question of some site; of other sites' questions nothing but this is known here."""

    site: str = ""
    number: int = 0  # of all splits of the tree, from 1 on
    ways: int = 0  # how many branches it has


@dataclass(slots=True)
class Division:
    """How a node parts: joined rows by branch, and this site's rows of the branches that go on."""

    block: int
    counts: Vectors
    opened: list[int]  # the branches that are no leaves for sure
    parts: list[list[Held]]  # of these, by table
    heard: list[Heard] = field(default_factory=list)  # by join, as it was told
    fits: bool = True  # whether all that this site needs to go on was told, by it and to it
    withheld: set[str] = field(default_factory=set)  # the sites that could not tell, as seen here


class SiteNodes:
    """What all nodes share at one site: its tables, whom it talks to, how many splits there are."""

    def __init__(
        self,
        talk: Conversation,
        layout: SiteLayout,
        joined: Propagated,
        rules: TreeOptions,
        watch: Watch,
    ) -> None:
        self.talk, self.layout, self.watch = talk, layout, watch
        self.coded = joined.coded
        self.loops = JoinLoops(joined, rules)
        self.least = layout.schema.grow.min_count
        self.secret = ComparisonKey.fresh()
        self.nodes = self.splits = self.compared = 0
        self.compare_seconds = 0.0  # in comparisons, waiting for the others included
        mine = {table for table, site in enumerate(layout.site_of) if site == talk.me}
        own = [join for join in joined.coded.joins if join.parent in mine and join.table in mine]
        self.ways = {table: ways_from(table, own) for table in mine}

    def keys(self, way: Crossing, table: int) -> NDArray[np.int32]:
        """The join values of a table's rows, by a join that leads to another site."""
        join = self.coded.joins[way.join]
        return join.of_parent if table == join.parent else join.of_table

    def is_mine(self, table: int) -> bool:
        """Whether a table stands here."""
        return self.layout.site_of[table] == self.talk.me

    # Sums by join value, without touching more of the scratch than a node holds.

    def sums(self, keys: NDArray[np.int32], held: Held, values: NDArray[np.int32]) -> Vectors:
        """The sums of some rows, for these join values, which are all that they have."""
        if held[1].dtype == object:
            return add_exactly(keys, held, values)
        scratch = self.loops.carrier.whole
        kernels.add_up(keys, *held, scratch)
        found: Vectors = scratch[values]
        scratch[values] = 0
        return found

    def carried(
        self, keys: NDArray[np.int32], end: Held, values: NDArray[np.int32], whole: Vectors,
        part: Vectors, how: int,
    ) -> Held:  # fmt: skip
        """What a branch leaves of a table, from its parts of the sums over a join."""
        if end[1].dtype == object:
            return shared_exactly(keys, end, values, whole.astype(object), part.astype(object))
        scratch = self.loops.carrier
        scratch.whole[values], scratch.part[values] = whole, part
        found: Held = kernels.carry(keys, *end, scratch.whole, scratch.part, how)
        scratch.whole[values] = scratch.part[values] = 0
        return found

    def spread(
        self, start: int, held: Sequence[Held], parts: Sequence[list[Held]], how: int
    ) -> None:
        """Divide the other tables of a block as its first one was."""
        for way in self.ways[start]:
            self.loops.carrier.along(way, held, parts, how)


@dataclass(slots=True)
class SiteRows:
    """The joined rows of one node, as far as the tables of this site hold them."""

    nodes: SiteNodes
    held: Sequence[Held]  # by table; others' have no rows
    counts: NDArray[Any]
    depth: int
    division: Division | None = None

    def classes(self) -> NDArray[Any]:
        """See `RecordSource`."""
        return self.counts

    def divide(self, split: Split) -> Sequence[SiteRows]:
        """See `RecordSource`; who divides how has come out with who had the best split."""
        division = self.division
        assert division is not None
        self.held, self.division = (), None
        parts: list[list[Held]] = [[] for _ in division.counts]
        for branch, part in zip(division.opened, division.parts, strict=True):
            parts[branch] = [*map(short, part)]
        return [
            SiteRows(self.nodes, part, line, self.depth + 1)
            for part, line in zip(parts, division.counts, strict=True)
        ]

    def best(self, rules: TreeOptions) -> SiteSplit | None:
        """The best split of all sites, in one step of the conversation."""
        nodes = self.nodes
        nodes.nodes += 1
        done: list[tuple[Division | None, Split | None]] = []

        def work() -> Record:
            winners, division, split = self._converse(f"node {nodes.nodes}")
            done.append((division, split))
            if division is None:
                return winners, NO_BLOCK, 1, b"", []
            told = packed(division.counts)
            return winners, division.block, told.width, told.numbers, division.heard

        nodes.watch.tell(f"node {nodes.nodes}, {nodes.splits} splits so far")
        record = nodes.talk.step(f"node {nodes.nodes}", work)
        nodes.compared += len(record[0]) * (len(nodes.talk.owners) - 1)
        self.division, split = done[0] if done else self._repeated(record)
        if self.division is None:
            return None
        nodes.splits += 1
        winner = record[0][-1]
        own = split or Split(-1, (), 0)
        return SiteSplit(
            own.column, own.codes, own.default, winner, nodes.splits, len(self.division.counts)
        )  # fmt: skip

    # The conversation about a node.

    def _converse(self, name: str) -> tuple[list[str], Division | None, Split | None]:
        """Who wins, how the node parts, and by which split if it is ours."""
        nodes, talk = self.nodes, self.nodes.talk
        # Begun again, a comparison is another sight of the same keys.
        talk.attempt(name)
        refused: list[tuple[int, int]] = []
        winners: list[str] = []
        while True:
            key, split = self._best_that_fits(refused)
            begun = time.perf_counter()
            winners.append(highest(talk, key, nodes.secret))
            nodes.compare_seconds += time.perf_counter() - begun
            mine = winners[-1] == talk.me
            division = self._divided(winners[-1], split if mine else None, self._hear, self._tell)
            if division is None or nodes.least is None or self._all_fit(division):
                return winners, division, split if mine else None
            if mine:
                assert split is not None
                refused.append((split.column, split.codes[0]))

    def _repeated(self, record: Record) -> tuple[Division | None, Split | None]:
        """The same as it was written down, with nobody being asked again."""
        winners, block, width, content, heard = record
        refused: list[tuple[int, int]] = []
        split = None
        for winner in winners:
            split = None
            if winner == self.nodes.talk.me:
                _, split = self._best_that_fits(refused)
                if split is not None:
                    refused.append((split.column, split.codes[0]))
        if not content:
            return None, None
        at: dict[int, Iterator[PartSums]] = {}
        for join in {join for join, *_ in heard}:
            told = [PartSums(b, Sums(w, n)) for j, b, w, n in heard if j == join]
            at[join] = iter(told)
        known = NodeSplit(block, Sums(width, content))
        return self._divided(
            winners[-1], split, lambda way: next(at[way.join]), lambda way, said: None, known
        ), split

    def _best_that_fits(
        self, refused: list[tuple[int, int]]
    ) -> tuple[int, Split | None]:  # fmt: skip
        """The best split of this site of which it may tell what must be told."""
        nodes = self.nodes
        while True:
            key, split = nodes.loops.best(self.held, refused)
            if split is None or nodes.least is None:
                return key, split
            division = self._own(split)
            block = division.block
            leaving = [w for w in nodes.layout.ways_from(block) if self._in_block(w.start, block)]
            if all(self._may_tell(way, division) for way in leaving):
                return key, split
            refused.append((split.column, split.codes[0]))

    def _in_block(self, table: int, block: int) -> bool:
        return self.nodes.layout.blocks[table] == block

    def _all_fit(self, division: Division) -> bool:
        """Whether every site could tell what was to be told; else the split is no candidate."""
        talk = self.nodes.talk
        for other in others(talk):
            talk.send(other, SplitFits(talk.me not in division.withheld))
        heard = [other for other in others(talk) if not talk.receive(other, SplitFits).fits]
        for other in heard:
            # A no that has no reason would bring out the next best split, and the one after it.
            if not may_withhold(self.nodes.layout, division, other, talk.me):
                raise talk.refuse(other, "it says that it told too little, and told all")
        if silent := division.withheld - {talk.me, *heard}:
            raise talk.refuse(min(silent), "it told nothing, and says that it told all")
        return not heard and talk.me not in division.withheld

    def _hear(self, way: Crossing) -> PartSums:
        return self.nodes.talk.receive(self.nodes.layout.site_of[way.start], PartSums)

    def _tell(self, way: Crossing, said: PartSums) -> None:
        self.nodes.talk.send(self.nodes.layout.site_of[way.end], said)

    # How the node parts.

    def _divided(
        self,
        winner: str,
        split: Split | None,
        hear: Callable[[Crossing], PartSums],
        tell: Callable[[Crossing, PartSums], None],
        known: NodeSplit | None = None,
    ) -> Division | None:
        """Divide this site's rows as the winner says, and pass on what others need for theirs."""
        nodes, talk = self.nodes, self.nodes.talk
        if winner == talk.me:
            division = None if split is None else self._own(split)
            if known is None:
                said = NodeSplit()
                if division is not None:
                    said = NodeSplit(division.block, packed(division.counts))
                for other in others(talk):
                    talk.send(other, said)
        else:
            division = self._others(winner, known or talk.receive(winner, NodeSplit))
        if division is None or not division.opened:
            return division
        for way in nodes.layout.ways_from(division.block):
            if nodes.is_mine(way.start):
                for part in self._said(way, division):
                    tell(way, part)
            elif nodes.is_mine(way.end):
                self._take(way, division, hear)
        return division

    def _own(self, split: Split) -> Division:
        """A division by a split of ours, as far as the block goes in which it begins."""
        nodes = self.nodes
        t = nodes.loops.owner(split.column)
        taken, counts = nodes.loops.take(self.held, split)
        division = self._begun(nodes.layout.blocks[t], rounded(counts))
        here = branch_rows(taken, len(counts))
        for branch, part in zip(division.opened, division.parts, strict=True):
            part[t] = part_of(self.held[t], here[branch])
        if division.opened:
            nodes.spread(t, self.held, division.parts, nodes.loops.how(self.counts.tolist()))
        return division

    def _others(self, winner: str, told: NodeSplit) -> Division | None:
        """A division by a split of another site, before anything is known of our rows."""
        nodes = self.nodes
        if not told.counts.numbers:
            return None
        classes = len(self.counts)
        lines = len(told.counts.numbers) // ((told.counts.width or 8) * classes)
        try:
            if (not told.counts.width) != nodes.loops.floats:
                raise Unfit
            counts = unpacked(told.counts, lines, classes)
            blocks = {nodes.layout.blocks[t] for t in nodes.layout.tables_of(winner)}
            whole = self.counts.tolist()
            if lines < 2 or told.block not in blocks or not _add_up(counts, whole):
                raise Unfit
        except Unfit:
            raise nodes.talk.refuse(winner, "its split does not divide the node") from None
        return self._begun(told.block, counts.astype(self.counts.dtype))

    def _begun(self, block: int, counts: Vectors) -> Division:
        lines = [*enumerate(counts.tolist())]
        opened = [b for b, line in lines if not self.nodes.loops.closed(line, self.depth + 1)]
        return Division(block, counts, opened, [[*self.held] for _ in opened])

    def _told_branches(self, division: Division) -> list[int]:
        """Which of the open branches are told: one is what is left, where all are open."""
        # What is left of floats would be nothing, or nearly nothing: who knows?
        every = len(division.opened) == len(division.counts) and not self.nodes.loops.floats
        return [*range(len(division.opened) - every)]

    def _values(self, way: Crossing, table: int) -> NDArray[np.int32]:
        """The common values that stand in the node, by a join: the same on both sides."""
        found: NDArray[np.int32] = np.unique(self.nodes.keys(way, table)[self.held[table][0]])
        return found

    def _said(self, way: Crossing, division: Division) -> Iterator[PartSums]:
        """What the other side of a join must know; nothing, where that would be too much."""
        if not division.fits or not self._may_tell(way, division):
            division.fits = False
            division.withheld.add(self.nodes.talk.me)
            yield WITHHELD
            return
        nodes, t = self.nodes, way.start
        keys, values = nodes.keys(way, t), self._values(way, t)
        told = [division.parts[i][t] for i in self._told_branches(division)]
        sums = (nodes.sums(keys, held, values) for held in told)
        yield from map(packed_parts, regrouped(sums, most_lines(len(self.counts))))

    def _may_tell(self, way: Crossing, division: Division) -> bool:
        """Whether enough records of ours stand behind each sum that the other side would know."""
        nodes, t = self.nodes, way.start
        if nodes.least is None or not division.opened:
            return True
        join, keys = nodes.coded.joins[way.join], nodes.keys(way, t)
        # What is left of a sum is known, too: of branches that are leaves, or not told.
        known = [*(part[t] for part in division.parts), rest_of(self.held[t], division.parts, t)]
        return not any(
            too_few(records_behind(nodes.coded, t, keys, *held, join.values), nodes.least)
            for held in known
        )

    def _take(
        self, way: Crossing, division: Division, hear: Callable[[Crossing], PartSums]
    ) -> None:
        """Divide a table of ours by what is told over a join, then the rest of its block."""
        nodes, t, site = self.nodes, way.end, self.nodes.layout.site_of[way.start]
        keys, values = nodes.keys(way, t), self._values(way, t)
        whole, how = nodes.sums(keys, self.held[t], values), nodes.loops.how(self.counts.tolist())

        def heard() -> Iterator[Vectors]:
            told = len(self._told_branches(division)) * len(values)
            for number, lines in enumerate(lines_told(told, len(self.counts))):
                said = hear(way)
                sums = said.parts
                division.heard.append((way.join, said.standing, sums.width, sums.numbers))
                if said == WITHHELD and not number and nodes.least is not None:
                    division.fits = False
                    division.withheld.add(site)
                    return
                if said.withheld or (not sums.width) != nodes.loops.floats:
                    raise Unfit
                yield unpacked_parts(said, lines, len(self.counts))

        try:
            parts = self._parts(division, regrouped(heard(), len(values)), whole)
            for branch, part in enumerate(parts):
                if division.fits:
                    division.parts[branch][t] = nodes.carried(
                        keys, self.held[t], values, whole, part, how
                    )
        except Unfit:
            what = f"its parts of join {way.join + 1} are not those of the node"
            raise nodes.talk.refuse(site, what) from None
        if division.fits:
            nodes.spread(t, self.held, division.parts, how)

    def _parts(
        self, division: Division, told: Iterator[Vectors], whole: Vectors
    ) -> Iterator[Vectors]:
        """Of the sums of a node over a join, the part of each open branch."""
        floats, left = self.nodes.loops.floats, whole
        slack = ALIKE * whole if floats else np.zeros_like(whole)
        for number, branch in enumerate(division.opened):
            part = left if number == len(self._told_branches(division)) else next(told, None)
            if part is None:  # it is withheld
                return
            if whole.dtype != object and part.dtype == object:
                raise Unfit
            left = left - part
            if (part < 0).any() or (left < -slack).any():
                raise Unfit
            if not alike(part.sum(axis=0), division.counts[branch], floats=floats):
                raise Unfit
            if floats:  # all of a sum is all of it here, whatever the sender's was when rounded
                part = np.where(abs(part - whole) <= slack, whole, part)
            yield part.astype(whole.dtype)


def rest_of(held: Held, parts: Sequence[Sequence[Held]], table: int) -> Held:
    """What no open branch has of a table's rows."""
    rows, vectors = held
    left = vectors.copy()
    for part in parts:
        some, shares = part[table]
        left[np.searchsorted(rows, some)] -= shares
    if left.dtype == np.float64:
        left[left < ALIKE * vectors] = 0
    return rows, left


def may_withhold(layout: SiteLayout, division: Division, site: str, me: str) -> bool:
    """Whether a site may have told too little of a split, as far as one can see at another."""
    ways = layout.ways_from(division.block) if division.opened else []
    own = [way for way in ways if layout.site_of[way.start] == site]
    if site in division.withheld:
        return True
    return any(layout.site_of[way.end] != me for way in own)


def _add_up(counts: Vectors, whole: Sequence[Any]) -> bool:
    """Whether branches hold something each, and together what the node holds."""
    floats = counts.dtype == np.float64
    lines = counts.tolist()
    sums = [sum(column) for column in zip(*lines, strict=True)]
    return all(map(any, lines)) and alike(sums, whole, floats=floats)


def site_rows(nodes: SiteNodes, joined: Propagated) -> SiteRows:
    """All joined rows, as far as the tables of this site hold them."""
    held = tuple(map(short, zip(joined.rows, joined.vectors, strict=True)))
    return SiteRows(nodes, held, joined.counts, 0)
