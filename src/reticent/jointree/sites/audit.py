"""Whether all that was said in a training follows from the model and the sums that are told.

A transcript holds every word that a site sent and received. What knows no tree is replayed by
`reticent.parties.auditing`. What sites say, step by step, to whom, and what it is held against:

    our tables           nobody says anything
    labels of the class  its site to all: those of the model
    columns that join    the sides of each join, each to the other: what each column holds
    common values of     its two sides: an intersection; how many values are common
      join J
    standing of join J,  up, then down: a bit for each common value; down, of those that stood up
      up / down
    sums of join J, up   a number for each value that stands
    all counts           the site of the class to all: those of the model's root
    sums of join J,      a line for each value that stands, a multiple of what went up; together
      down               the counts of the root
    node N               a comparison; its winner to all: counts of branches, which add up to the
                         node's; over each join a part of each sum of the node for each branch that
                         goes on, many of them in several messages; with min_count, whether all
                         could tell what was due
    ready                each to all: the digest of the model
    go                   the first to all

Of joins between two other sites we see nothing, and hold nothing against them. In the end the tree
that was told is pruned, and must be the model's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.errors import InputError
from reticent.jointree.model import MODEL, JoinNode, JoinTree, read_model
from reticent.jointree.propagation import Vectors, missing_tables
from reticent.jointree.schema import JoinSchema
from reticent.jointree.sites.descending import refuse_hidden
from reticent.jointree.sites.growing import Division, may_withhold
from reticent.jointree.sites.layout import Crossing, SiteLayout
from reticent.jointree.sites.words import (
    ALIKE,
    WITHHELD,
    ClassLabels,
    JoinColumns,
    NodeSplit,
    PartSums,
    SplitFits,
    Standing,
    Sums,
    TotalCounts,
    Unfit,
    alike,
    lines_told,
    packed,
    packed_parts,
    regrouped,
    unpacked,
    unpacked_bits,
    unpacked_parts,
)
from reticent.parties.agreeing import Go, Ready
from reticent.parties.auditing import (
    COMMON_IDS,
    COMPARISON,
    Audited,
    Said,
    all_ready,
    common_values,
    let_go,
    replay,
    steps_named,
    winner_of,
)
from reticent.parties.delivered import Attendance, Leak
from reticent.parties.identity import PeerCertificate
from reticent.parties.state import TRANSCRIPT
from reticent.parties.transcript import Entry, Fault, read
from reticent.parties.wire import Message
from reticent.trees.learner import TreeOptions
from reticent.trees.prune import prune
from reticent.trees.tree import TreeNode

MESSAGES: tuple[type[Message], ...] = (
    *COMMON_IDS, *COMPARISON, ClassLabels, JoinColumns, Standing, Sums, TotalCounts, NodeSplit,
    PartSums, SplitFits, Ready, Go,
)  # fmt: skip
_KINDS = ("number", "time", "text", None)


SCHEMA, SITE, CERTIFICATES = "schema.toml", "site.json", "certificates"  # beside a model


def audit(folder: str | Path) -> Audited:
    """Hold the transcript beside a model against the model."""
    place = Path(folder)
    model = read_model(place)
    if not model.sites:
        raise InputError(
            "this is a model of one site: nobody was told anything", where=str(place),
            do="give a model that  reticent tree train --party  wrote.",
        )  # fmt: skip
    schema = JoinSchema.load(place / SCHEMA)
    try:
        told = json.loads((place / SITE).read_text("utf-8"))
        site, product = str(told["site"]), str(told["made_by"]).removeprefix("reticent ")
        digest = hashlib.sha256((place / MODEL).read_bytes()).digest()
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(
            "this is no folder that `reticent tree train --party` made, or not all of it",
            where=str(place), do="give the whole folder of the model.",
        ) from None  # fmt: skip
    layout = SiteLayout.of(schema)
    if site not in layout.sites or model.sites != layout.sites:
        raise InputError(
            "its files do not fit each other", where=str(place),
            why="they are of several models, or were changed.",
            do="give the folder as  reticent tree train --party  wrote it.",
        )  # fmt: skip
    refuse_hidden(model, site, str(place))
    certificate = PeerCertificate.load(place / CERTIFICATES / f"{site}.pem")
    entries: list[Entry] = []
    for one in read(place / TRANSCRIPT, certificate):
        if isinstance(one, Fault):
            return Audited(site, len(entries), 0, one, "the model")
        entries.append(one)
    named = steps_named(entries)
    nodes = sum(name.startswith("node ") for name in named)
    run = TrainingRun(layout, model, digest, site, nodes)
    attendance = Attendance(site, layout.agreement, product, digest)
    # Sites that a step does not concern go on to the next one.
    ahead = 2 + (len(run.steps) - nodes if len(layout.sites) > 2 else 0)
    try:
        messages = replay(entries, attendance, run.steps, MESSAGES, run.play, ahead=ahead)
    except Leak as leak:
        return Audited(site, len(entries), 0, Fault(leak.entry, leak.what), "the model")
    return Audited(site, len(entries), messages, None, "the model")


@dataclass(eq=False, slots=True)
class _ToldNode:
    """A node as it was told, and its sums over the joins that we see."""

    tree: TreeNode
    depth: int
    sums: Mapping[int, Vectors]  # by join: of the values that stand in the node
    site: str = ""
    number: int = 0


@dataclass(slots=True)
class TrainingRun:
    """A training, as the model tells it; each step takes what had to be said in it."""

    layout: SiteLayout
    model: JoinTree
    digest: bytes  # of the model
    me: str
    nodes: int  # how many steps were about nodes
    common: dict[int, int] = field(default_factory=dict)  # values of a join that we see
    standing: dict[tuple[int, bool], NDArray[np.bool_]] = field(default_factory=dict)
    upward: dict[int, Vectors] = field(default_factory=dict)
    downward: dict[int, Vectors] = field(default_factory=dict)
    unit: int = 1
    waiting: list[_ToldNode] = field(default_factory=list)
    told: dict[int, _ToldNode] = field(default_factory=dict)  # by id of the tree's node
    root: _ToldNode | None = None
    splits: int = 0

    @property
    def steps(self) -> tuple[str, ...]:
        """The names of all steps, in their order."""
        crossing = [j for j in range(len(self.layout.edges)) if self.layout.crosses(j)]
        up, down = (
            [f"join {j + 1}, up" for j in reversed(crossing)],
            [f"join {j + 1}, down" for j in crossing],
        )
        return (
            "our tables", "labels of the class", "columns that join",
            *(f"common values of join {j + 1}" for j in crossing),
            *(f"standing of {way}" for way in (*up, *down)),
            *(f"sums of {way}" for way in up),
            "all counts",
            *(f"sums of {way}" for way in down),
            *(f"node {n}" for n in range(1, self.nodes + 1)),
            "ready", "go",
        )  # fmt: skip

    def play(self, said: Said) -> None:
        """Take what was said in a step, and hold it against the model."""
        scripts: Mapping[str, Callable[[Said], None]] = {
            "our tables": lambda said: None,
            "labels of the class": self._labels,
            "columns that join": self._columns,
            "common values": self._common,
            "standing": self._standing,
            "sums": self._sums,
            "all counts": self._counts,
            "node": self._node,
            "ready": self._ready,
            "go": let_go,
        }
        kind = said.step.partition(" of join ")[0].rstrip("0123456789").rstrip()
        scripts[kind](said)

    # Before the tree.

    def _labels(self, said: Said) -> None:
        site = self.layout.site_of[self.layout.schema.root]
        if said.tells(site, ClassLabels).labels != [*self.model.classes]:
            raise said.refuse(site)

    def _columns(self, said: Said) -> None:
        for join, edge in enumerate(self.layout.edges):
            if not self.layout.crosses(join):
                continue
            for table, other in (edge.ends, edge.ends[::-1]):
                sender, receiver = self.layout.site_of[table], self.layout.site_of[other]
                if not said.sees(sender, receiver):
                    continue
                holds = said.next(sender, receiver, JoinColumns).holds
                fits = len(holds) == len(edge.columns) and all(
                    kind in _KINDS and not (typed and kind in ("text", None))
                    for kind, typed in holds
                )
                if not fits:
                    raise said.refuse(sender)

    def _join(self, said: Said) -> int:
        return int(said.step.partition(" of join ")[2].partition(",")[0]) - 1

    def _ends(self, join: int, up: bool) -> tuple[str, str]:
        near, far = (self.layout.site_of[table] for table in self.layout.edges[join].ends)
        return (far, near) if up else (near, far)

    def _common(self, said: Said) -> None:
        join = self._join(said)
        if said.sees(*self._ends(join, up=True)):
            pair = [site for site in said.owners if site in self._ends(join, up=True)]
            _, self.common[join] = common_values(said, pair)

    def _standing(self, said: Said) -> None:
        join, up = self._join(said), said.step.endswith("up")
        sender, receiver = self._ends(join, up)
        if not said.sees(sender, receiver):
            return
        table = self.layout.edges[join].table
        count = self.common[join] + (table in missing_tables(self.layout.edges))
        try:
            some = unpacked_bits(said.next(sender, receiver, Standing).bits, count)
        except Unfit:
            raise said.refuse(sender) from None
        if not up and (some & ~self.standing[join, True]).any():
            raise said.refuse(sender)
        self.standing[join, up] = some

    def _sums(self, said: Said) -> None:
        join, up = self._join(said), said.step.endswith("up")
        sender, receiver = self._ends(join, up)
        if not said.sees(sender, receiver):
            return
        told = said.next(sender, receiver, Sums)
        values = self.standing[join, False]
        classes = 1 if up else len(self.model.classes)
        try:
            sums = unpacked(told, int(values.sum()), classes)
        except Unfit:
            raise said.refuse(sender) from None
        due = self._floats and not up  # how often rows stand behind a value is a whole number
        if (not told.width) != due or packed(sums) != told or not (sums > 0).any(axis=1).all():
            raise said.refuse(sender)
        if up:
            table = self.layout.edges[join].table
            lone = table in missing_tables(self.layout.edges) and bool(values[-1:].any())
            if lone and sums[-1, 0] != 1:  # of the row that misses everything there is one
                raise said.refuse(sender)
            self.upward[join] = sums
            return
        if not self._floats:
            whole = sums % np.where(self.upward[join] == 0, 1, self.upward[join])
            if (whole != 0).any():
                raise said.refuse(sender)
        if not alike(sums.sum(axis=0), self._counted, floats=self._floats):
            raise said.refuse(sender)
        self.downward[join] = sums

    @property
    def _floats(self) -> bool:
        return self.model.numbers == "float64"

    def _is_whole(self, counts: Sequence[Any]) -> bool:
        """Whether counts are those of the model's root."""
        return self._are(counts, self.model.root)

    def _are(self, counts: Sequence[Any], node: JoinNode) -> bool:
        if self._floats:
            return [*counts] == [float(n) for n in node.counts]
        return [Fraction(n, self.unit) for n in counts] == [Fraction(n) for n in node.counts]

    def _counts(self, said: Said) -> None:
        site = self.layout.site_of[self.layout.schema.root]
        told = said.tells(site, TotalCounts)
        try:
            counts = unpacked(told.counts, 1, len(self.model.classes))
        except Unfit:
            raise said.refuse(site) from None
        self.unit = told.unit
        by_row = self.model.weight == "row" or self._floats
        follows = (
            told.numbers == self.model.numbers
            and (not told.counts.width) == self._floats
            and packed(counts) == told.counts
            and (told.unit == 1 or not by_row)
            and self._is_whole(counts[0].tolist())
            and all(count % 1 == 0 for count in counts[0].tolist())
        )
        if not follows:
            raise said.refuse(site)
        self._counted = counts[0]

    _counted: Any = None

    # Node by node.

    @property
    def _rules(self) -> TreeOptions:
        return self.layout.schema.grow.options().of_unit(self.unit)

    def _closed(self, counts: Sequence[Any], depth: int) -> bool:
        """Whether a node is a leaf, whatever anybody could ask."""
        rules = self._rules
        few = sum(counts) < rules.min_rows
        return few or sum(map(bool, counts)) < 2 or depth == rules.max_depth

    def _begin(self) -> None:
        if self.root is None:
            self.root = _ToldNode(TreeNode(self._counted), 0, dict(self.downward))
            self.told[id(self.root.tree)] = self.root
            if not self._closed(self._counted.tolist(), 0):
                self.waiting.append(self.root)

    def _node(self, said: Said) -> None:
        self._begin()
        if not self.waiting:
            raise Leak(0, f"there was no {said.step}")
        node = self.waiting.pop()
        while True:
            winner = winner_of(said)
            told = said.tells(winner, NodeSplit)
            if told == NodeSplit():
                return
            branches = self._branches(said, winner, told, node)
            opened = [b for b in branches if not self._closed(b.tree.counts.tolist(), b.depth)]
            withheld = set[str]()
            if opened:
                withheld = self._parts(said, told.block, node, branches, opened)
            if self.layout.schema.grow.min_count is None:
                break
            fits = {site: one.fits for site, one in said.everybody(SplitFits).items()}
            division = Division(told.block, np.empty(0), [*range(len(opened))], [])
            division.withheld |= withheld
            for site, fit in fits.items():
                mine = site == said.me and site in withheld
                allowed = mine or may_withhold(self.layout, division, site, said.me)
                if fit == (site in withheld) or not (fit or allowed):
                    raise said.refuse(site)
            if all(fits.values()):
                break
        self.splits += 1
        node.site, node.number = winner, self.splits
        node.tree.branches = [branch.tree for branch in branches]
        self.told |= {id(branch.tree): branch for branch in branches}
        self.waiting += opened

    def _branches(
        self, said: Said, winner: str, told: NodeSplit, node: _ToldNode
    ) -> list[_ToldNode]:
        """The branches of a split, by what the winner told of them."""
        classes = len(self.model.classes)
        lines = len(told.counts.numbers) // (classes * (told.counts.width or 8))
        try:
            counts = unpacked(told.counts, lines, classes)
        except Unfit:
            raise said.refuse(winner) from None
        blocks = {self.layout.blocks[t] for t in self.layout.tables_of(winner)}
        adds_up = alike(counts.sum(axis=0), node.tree.counts, floats=self._floats)
        same = packed(counts) == told.counts and (not told.counts.width) == self._floats
        fits = lines > 1 and told.block in blocks and same
        if not (fits and adds_up and (counts > 0).any(axis=1).all()):
            raise said.refuse(winner)
        return [_ToldNode(TreeNode(line), node.depth + 1, {}) for line in counts]

    def _parts(
        self, said: Said, block: int, node: _ToldNode, branches: Sequence[_ToldNode],
        opened: Sequence[_ToldNode],
    ) -> set[str]:  # fmt: skip
        """Take the parts that went over joins of ours; which sites withheld some."""
        withheld = set[str]()
        sums: list[dict[int, Vectors]] = [{} for _ in opened]
        for way in self.layout.ways_from(block):
            sender, receiver = self.layout.site_of[way.start], self.layout.site_of[way.end]
            if not said.sees(sender, receiver):
                continue
            try:
                parts = self._divided(said, way, node, branches, opened)
            except Unfit:
                raise said.refuse(sender) from None
            if parts is None:
                withheld.add(sender)
                continue
            for one, part in zip(sums, parts, strict=True):
                one[way.join] = part
        for branch, one in zip(opened, sums, strict=True):
            branch.sums = one
        return withheld

    def _divided(
        self, said: Said, way: Crossing, node: _ToldNode, branches: Sequence[_ToldNode],
        opened: Sequence[_ToldNode],
    ) -> list[Vectors] | None:  # fmt: skip
        """The sums of each branch that goes on, over one join; nothing, if they are withheld."""
        whole = left = node.sums[way.join]
        lines, classes = whole.shape
        told = len(opened) - (len(opened) == len(branches) and not self._floats)
        sender, receiver = self.layout.site_of[way.start], self.layout.site_of[way.end]
        first = said.next(sender, receiver, PartSums)
        if first == WITHHELD and self.layout.schema.grow.min_count is not None:
            return None

        def heard() -> Iterator[Vectors]:
            for number, size in enumerate(lines_told(told * lines, classes)):
                word = said.next(sender, receiver, PartSums) if number else first
                sums = unpacked_parts(word, size, classes)
                if packed_parts(sums) != word or (not word.parts.width) != self._floats:
                    raise Unfit
                yield sums

        each = regrouped(heard(), lines)
        found = []
        for number, branch in enumerate(opened):
            part = left if number == told else next(each)
            left = left - part
            slack = ALIKE * whole if self._floats else 0 * whole
            if (part < 0).any() or (left < -slack).any():
                raise Unfit
            if not alike(part.sum(axis=0), branch.tree.counts, floats=self._floats):
                raise Unfit
            # Further down only those values are told of that still stand.
            found.append(part[(part > 0).any(axis=1)])
        return found

    # The end.

    def _ready(self, said: Said) -> None:
        self._begin()
        if self.waiting:
            raise Leak(0, "it ends before all nodes had been talked about")
        all_ready(said, self.digest)
        assert self.root is not None
        if self._rules.confidence is not None:
            prune(self.root.tree, self._rules.confidence, self.unit)
        self._see_same()

    def _see_same(self) -> None:
        """See that the model is the tree that was told."""
        assert self.root is not None
        waiting = [(self.root.tree, self.model.root)]
        while waiting:
            told, kept = waiting.pop()
            same = self._are(told.counts.tolist(), kept) and len(told.branches) == len(
                kept.branches
            )
            if told.branches and same:
                known, asks = self.told[id(told)], kept.asks
                same = asks is not None and (asks.site, asks.split) == (known.site, known.number)
            if not same:
                raise Leak(0, "the tree that was told is not that of the model")
            waiting += zip(told.branches, kept.branches, strict=True)
