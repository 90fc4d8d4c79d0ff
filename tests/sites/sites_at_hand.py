"""Tables at several sites, all in this process, and what each of them has in the end."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import msgspec
import pyarrow as pa

from naive import join_tree as naive
from parties.memory_wire import MemoryWire, Tamper, honest, together, wires
from reticent.data.columns import Table, without_missing
from reticent.errors import PartyError
from reticent.files.tabular import from_arrow
from reticent.jointree.model import JoinTree, Question
from reticent.jointree.schema import JoinSchema
from reticent.jointree.sites.descending import MOST_RECORDS, descend, named_records
from reticent.jointree.sites.flow import SiteTree, site_tree
from reticent.jointree.sites.layout import SiteLayout
from reticent.parties.wire import Message, Wire
from reticent.progress import Clock, Watch
from twins.test_join_tree_twin import schema_of, tables_of

R = TypeVar("R")


@dataclass
class PlainTalk(MemoryWire):
    """A conversation that nothing interrupts."""

    steps: list[str] = field(default_factory=list)

    def step(self, name: str, work: Callable[[], R]) -> R:
        self.steps.append(name)
        return work()

    def attempt(self, name: str, most: int = 3) -> None:
        pass

    def refuse(self, of: str, what: str) -> PartyError:
        return PartyError(what, where=f"{of}, {self.steps[-1]}")


@dataclass
class Written(PlainTalk):
    """A conversation whose steps are written down, or read from there: then nobody is asked."""

    results: list[Any] = field(default_factory=list)
    over: bool = False

    def step(self, name: str, work: Callable[[], R]) -> R:
        self.steps.append(name)
        if not self.over:
            self.results.append(msgspec.msgpack.encode(work()))
        read: R = msgspec.msgpack.decode(self.results[len(self.steps) - 1])
        return read

    def send(self, to: str, message: Message) -> None:
        assert not self.over
        super().send(to, message)


class PlainKey(Message, frozen=True):
    key: int


def highest_in_the_open(wire: Wire, key: int, own: Any = None, *, bits: int = 40) -> str:
    """What comparisons under encryption come to, for cases that are many."""
    for owner in wire.owners:
        if owner != wire.me:
            wire.send(owner, PlainKey(key))
    keys = {owner: key if owner == wire.me else wire.receive(owner, PlainKey).key
            for owner in wire.owners}  # fmt: skip
    return max(wire.owners, key=lambda owner: keys[owner])


def sited(schema: JoinSchema, seed: int) -> JoinSchema:
    """The same schema, its tables dealt to two to five sites, or to as many as there are tables."""
    rng = random.Random(seed)
    names = schema.names
    count = min(len(names), rng.choice([2, 2, 3, 4, 5]))
    ends = sorted(rng.sample(range(1, len(names)), count - 1))
    site_of = [f"s{sum(end <= t for end in ends)}" for t in range(len(names))]
    tables = {
        name: entry.model_copy(update={"site": site})
        for (name, entry), site in zip(schema.tables.items(), site_of, strict=True)
    }
    return schema.model_copy(update={"tables": tables})


def talks(layout: SiteLayout, tamper: Tamper = honest) -> dict[str, PlainTalk]:
    at = wires(*layout.sites, tamper=tamper)
    return {name: PlainTalk(wire.me, wire.owners, wire.queues, tamper) for name, wire in at.items()}


def own_tables(layout: SiteLayout, site: str, tables: list[Any]) -> list[Any]:
    return [table if layout.site_of[t] == site else None for t, table in enumerate(tables)]


def grown_at_sites(
    schema: JoinSchema, tables: list[Any], tamper: Tamper = honest
) -> dict[str, SiteTree]:
    layout = SiteLayout.of(schema)

    def act(talk: Any) -> SiteTree:
        return site_tree(talk, layout, own_tables(layout, talk.me, tables), Clock(Watch()))

    return together(talks(layout, tamper), act)


def grown_again(
    schema: JoinSchema, tables: list[Any]
) -> tuple[dict[str, SiteTree], dict[str, SiteTree]]:
    """The trees, and what each site makes of its own notes when it was killed at the end."""
    layout = SiteLayout.of(schema)
    at = {name: Written(talk.me, talk.owners, talk.queues, talk.tamper)
          for name, talk in talks(layout).items()}  # fmt: skip

    def act(talk: Any) -> SiteTree:
        return site_tree(talk, layout, own_tables(layout, talk.me, tables), Clock(Watch()))

    first = together(at, act)
    for talk in at.values():
        talk.over, talk.steps = True, []
    return first, {name: act(talk) for name, talk in at.items()}


def put_together(trees: dict[str, JoinTree]) -> Any:
    """The tree that comes out when all sites lay their questions on the table."""
    [first, *others] = trees.values()
    assert all(other.json() == first.json() for other in others)
    nodes = {site: tree.root.walk() for site, tree in trees.items()}
    for number, node in enumerate(next(iter(nodes.values()))):
        if node.asks is not None:
            own = nodes[node.asks.site][number].asks
            for site, every in nodes.items():
                assert isinstance(every[number].asks, Question) == (site == node.asks.site)
            node.asks = own
    return first.root


def with_ids(
    schema: JoinSchema, frames: dict[str, pa.Table]
) -> tuple[JoinSchema, dict[str, pa.Table]]:
    """The same with an id for every row of every table."""
    named = {
        name: frame.append_column("id", pa.array([f"{name}-{i}" for i in range(frame.num_rows)]))
        for name, frame in frames.items()
    }
    tables = {
        name: entry.model_copy(update={"ids": ("id",)}) for name, entry in schema.tables.items()
    }
    return schema.model_copy(update={"tables": tables}), named


def with_min_count(schema: JoinSchema, least: int) -> JoinSchema:
    grow = schema.grow.model_copy(update={"min_count": least})
    return schema.model_copy(update={"grow": grow})


def classified_at_sites(
    trees: dict[str, JoinTree],
    schema: JoinSchema,
    frames: dict[str, pa.Table],
    asked: pa.Table,
    tamper: Tamper = honest,
) -> dict[str, list[str]]:
    layout = SiteLayout.of(schema)
    tables = [cleared(frames[name], name) for name in schema.names]

    def act(talk: Any) -> list[str]:
        records = named_records(layout, asked, "ids.csv", MOST_RECORDS)
        own = own_tables(layout, talk.me, tables)
        tree = trees[talk.me]
        found = descend(talk, layout, tree, records, own, "ids.csv", Watch())
        return [tree.classes[winner] for winner in found.tolist()]

    return together(talks(layout, tamper), act)


def cleared(frame: pa.Table, name: str) -> Table:
    table = from_arrow(frame, name)
    return replace(table, columns={c: without_missing(v) for c, v in table.columns.items()})


def random_sites(
    seed: int, case: tuple[naive.Tables, dict[str, Any]]
) -> tuple[JoinSchema, list[Any]]:
    data, rules = case
    return sited(schema_of(data, rules), seed), tables_of(data)
