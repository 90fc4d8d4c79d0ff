"""Several sites, one tree: the conversation from the first word to the tree, as each site has it.

    labels of the class ─► columns that join ─► common join values ─► rows that stand ─► first sums
         ─► node by node: who splits, and which part of the others' rows it takes ─► pruning

Every step has the same name at every site and is written down when it is done, so that a site that
was killed goes on from the last one that all have (`reticent.parties.session`). Steps between two
sites are empty ones at all others.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from reticent.data.columns import Table
from reticent.errors import InputError, PartyError, refuse
from reticent.files.tabular import Reading
from reticent.jointree.propagation import Propagated, propagate
from reticent.jointree.sites.growing import SiteNodes, site_rows
from reticent.jointree.sites.layout import SiteLayout
from reticent.jointree.sites.relay import SiteRelay
from reticent.jointree.sites.words import ClassLabels, JoinColumns
from reticent.jointree.tables import (
    JoinContent,
    JoinKind,
    JoinText,
    class_codes,
    code,
    join_kinds,
    join_values,
    unlike_sides,
)
from reticent.parties.intersection import MOST_IDS, HowFar, intersect
from reticent.parties.wire import Conversation, M, Message, others
from reticent.progress import Clock
from reticent.trees.learner import grow
from reticent.trees.prune import prune
from reticent.trees.tree import TreeNode


@dataclass(frozen=True, slots=True)
class SiteTree:
    """The tree, as one site has it: of other sites' questions it knows whose they are."""

    layout: SiteLayout
    site: str
    joined: Propagated = field(repr=False)  # of this site's tables
    root: TreeNode = field(repr=False)
    common: Mapping[int, int]  # values that a join has in common, by its number, of joins from here
    splits: int  # before pruning
    compared: int  # how often two keys were


def site_tree(
    talk: Conversation,
    layout: SiteLayout,
    tables: Sequence[Table | None],
    clock: Clock,
    reading: Reading | None = None,
    most: int = MOST_IDS,
) -> SiteTree:
    """Talk until every site holds its sight of the same tree; others' tables are None here."""
    schema, watch = layout.schema, clock.watch
    digest = _digest(tables)
    if talk.step("our tables", lambda: digest) != digest:
        raise InputError(
            "our data have changed since the run was interrupted", where=schema.name,
            why="the others were told of rows as they were.",
            do="go on with the data that it began with, or remove the folder to give it up.",
        )  # fmt: skip
    with clock.stage("meet"):
        labels = _labels(talk, layout, tables)
        _compare_columns(talk, layout, tables)
    with clock.stage("intersect"):
        common = _common_values(talk, layout, tables, most, watch.rows)
    with clock.stage("count"):
        coded = code(schema, tables, reading=reading, labels=labels, common=common)
        relay = SiteRelay(talk, layout, len(labels), schema.grow.min_count)
        joined = propagate(coded, schema.grow.weight, relay)
    with clock.stage("grow"):
        rules = schema.grow.options().of_unit(joined.unit)
        nodes = SiteNodes(talk, layout, joined, rules, watch)
        root = grow(site_rows(nodes, joined), rules)
        if rules.confidence is not None:
            prune(root, rules.confidence, joined.unit)
    clock.seconds["compare"] = nodes.compare_seconds
    clock.seconds["grow"] -= nodes.compare_seconds
    sizes = {join: len(values) for join, values in common.items()}
    return SiteTree(layout, talk.me, joined, root, sizes, nodes.splits, nodes.compared)


def _digest(tables: Sequence[Table | None]) -> str:
    """By which the same tables are known again."""
    found = hashlib.sha256()
    for table in tables:
        for name, column in () if table is None else table.columns.items():
            found.update(repr((name, column.texts())).encode("utf-8", "surrogatepass"))
            found.update(column.codes.astype("<u4").tobytes())
        if table is not None and table.counts is not None:
            found.update(table.counts.astype("<i8").tobytes())
    return found.hexdigest()


def _labels(
    talk: Conversation, layout: SiteLayout, tables: Sequence[Table | None]
) -> Sequence[str]:  # fmt: skip
    """Every label of the class, by code point, as its site tells all."""
    root, target = layout.schema.target
    site = layout.site_of[root]

    def work() -> list[str]:
        if (own := tables[root]) is None:
            heard = talk.receive(site, ClassLabels).labels
            if not heard or heard != sorted({*heard}):
                raise talk.refuse(site, "its labels of the class are not in order")
            return heard
        labels = [*class_codes(own.columns[target])[0]]
        if not labels:
            raise InputError(
                "no record has a class", where=f'{own.name}, column "{target}"',
                do="name another column as  class.",
            )  # fmt: skip
        for other in others(talk):
            talk.send(other, ClassLabels(labels))
        return labels

    return talk.step("labels of the class", work)


def _compare_columns(
    talk: Conversation, layout: SiteLayout, tables: Sequence[Table | None]
) -> None:
    """See that columns of both sides of a join can be equal."""

    def work() -> dict[str, list[tuple[JoinContent | None, bool]]]:
        own = {}
        for number, edge in enumerate(layout.edges):
            for table, other in (edge.ends, edge.ends[::-1]):
                if layout.crosses(number) and (held := tables[table]) is not None:
                    own[number] = join_kinds(edge, table, held)
                    holds = [(kind.holds, kind.typed) for kind in own[number]]
                    talk.send(layout.site_of[other], JoinColumns(holds))
        return {str(n): talk.receive(_peer(layout, n, talk.me), JoinColumns).holds for n in own}

    heard = talk.step("columns that join", work)
    for number, told in heard.items():
        edge = layout.edges[int(number)]
        [table] = [t for t in edge.ends if tables[t] is not None]
        held = tables[table]
        assert held is not None
        mine, theirs = join_kinds(edge, table, held), [JoinKind(*kind) for kind in told]
        if len(theirs) != len(mine):
            raise talk.refuse(_peer(layout, int(number), talk.me), "it has other columns that join")
        near, far = (mine, theirs) if table == edge.parent else (theirs, mine)
        refuse(unlike_sides(layout.schema, edge, near, far))


def _peer(layout: SiteLayout, join: int, me: str) -> str:
    """The site on the other side of a join."""
    [other] = {layout.site_of[table] for table in layout.edges[join].ends} - {me}
    return other


def _common_values(
    talk: Conversation,
    layout: SiteLayout,
    tables: Sequence[Table | None],
    most: int,
    told: HowFar,
) -> dict[int, list[JoinText]]:
    """Of each join with another site the values that both sides have, in their order as texts."""
    found = {}
    for number, edge in enumerate(layout.edges):
        if not layout.crosses(number):
            continue
        mine = [table for table in edge.ends if tables[table] is not None]
        values: list[JoinText] = []
        if mine:
            _, values = join_values(edge, mine[0], tables[mine[0]])

        def work(
            number: int = number, values: list[JoinText] = values, here: bool = bool(mine)
        ) -> list[int]:
            if not here:
                return []
            pair = _Pair(talk, _peer(layout, number, talk.me))
            ids = [json.dumps(value, ensure_ascii=False) for value in values]
            return [*intersect(pair, ids, most=most, told=told).order]

        order = talk.step(f"common values of join {number + 1}", work)
        if mine:
            # By their texts, which both sides know now: the order in which one site would count.
            found[number] = sorted(values[at] for at in order)
    return found


@dataclass(frozen=True, slots=True)
class _Pair:
    """The wire between two sites, in the order of all."""

    talk: Conversation
    peer: str

    @property
    def me(self) -> str:
        return self.talk.me

    @property
    def owners(self) -> tuple[str, ...]:
        return tuple(site for site in self.talk.owners if site in (self.talk.me, self.peer))

    def send(self, to: str, message: Message) -> None:
        self.talk.send(to, message)

    def receive(self, of: str, kind: type[M]) -> M:
        return self.talk.receive(of, kind)

    def refuse(self, of: str, what: str) -> PartyError:
        return self.talk.refuse(of, what)
