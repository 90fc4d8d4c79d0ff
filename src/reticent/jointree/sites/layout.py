"""Which tables stand at which site, and how sums by join value get from one site to the next.

Tables of one site that join each other make a *block*. Inside of it nothing is told. A split
begins in one block and goes over the joins that leave it to the next, and so on to all others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from reticent.errors import Problem, refuse
from reticent.jointree.schema import JoinEdge, JoinSchema
from reticent.parties.settings import Agreement, unfit_name
from reticent.releases.policyfile import toml_lines


@dataclass(frozen=True)
class Crossing:
    """A join between tables of two sites, one way."""

    join: int  # its number among the schema's edges
    start: int  # tables
    end: int


@dataclass(frozen=True)
class SiteLayout:
    """Where the tables of a schema stand, seen from nowhere."""

    schema: JoinSchema
    edges: tuple[JoinEdge, ...]
    site_of: tuple[str, ...]  # by table

    @classmethod
    def of(cls, schema: JoinSchema) -> SiteLayout:
        """The layout of a schema in which every table has a site."""
        refuse(_problems(schema))
        sites = tuple(str(entry.site) for entry in schema.tables.values())
        return cls(schema, tuple(schema.edges), sites)

    @cached_property
    def sites(self) -> tuple[str, ...]:
        """All sites, as the schema lists them: of equal splits the first one's wins."""
        return tuple(dict.fromkeys(self.site_of))

    def tables_of(self, site: str) -> list[int]:
        """The tables of a site."""
        return [table for table, owner in enumerate(self.site_of) if owner == site]

    def crosses(self, join: int) -> bool:
        """Whether a join leads from one site to another."""
        near, far = self.edges[join].ends
        return self.site_of[near] != self.site_of[far]

    @cached_property
    def blocks(self) -> tuple[int, ...]:
        """The block of each table, as the number of its first one."""
        found = list(range(len(self.site_of)))
        for number, edge in enumerate(self.edges):
            if not self.crosses(number):
                one, other = sorted(found[t] for t in edge.ends)
                found = [one if block == other else block for block in found]
        return tuple(found)

    def ways_from(self, block: int) -> list[Crossing]:
        """The joins between sites that lead from one block to all others, nearer ones first."""
        found: list[Crossing] = []
        reached = [block]
        for at in reached:  # grows while it is read
            for number, edge in enumerate(self.edges):
                for start, end in (edge.ends, edge.ends[::-1]):
                    ends = self.blocks[start], self.blocks[end]
                    if self.crosses(number) and ends[0] == at and ends[1] not in reached:
                        found.append(Crossing(number, start, end))
                        reached.append(ends[1])
        return found

    def handed_over(self, site: str) -> dict[str, list[str]]:
        """What others learn of a site's columns, in words."""
        found: dict[str, list[str]] = {}
        root, target = self.schema.target
        if self.site_of[root] == site:
            found["every label of the class"] = [f"{self.schema.names[root]}.{target}"]
        common, counted = [], []
        for number, edge in enumerate(self.edges):
            if self.crosses(number):
                for table in edge.ends:
                    if self.site_of[table] == site:
                        name = self.schema.names[table]
                        common += [f"{name}.{column}" for column in edge.columns_of(table)]
                        counted.append(name)
        found["join values that both sides have, to that side"] = common
        found["counts by class and join value, at every node, to that side"] = [
            *dict.fromkeys(counted)
        ]
        return {words: [*dict.fromkeys(names)] for words, names in found.items()}

    @cached_property
    def digest(self) -> bytes:
        """What sites compare: the schema without what is each site's own."""
        plain = self.schema.model_dump(mode="python", by_alias=True)
        own = {"path", "table"}
        plain["tables"] = {
            name: {key: value for key, value in entry.items() if key not in own}
            for name, entry in plain["tables"].items()
        }
        text = toml_lines({key: _written(value) for key, value in plain.items()})
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()

    @property
    def agreement(self) -> Agreement:
        """The schema as those see it who carry words between sites."""
        offers = {site: self.handed_over(site) for site in self.sites}
        return Agreement(
            self.sites, self.digest, offers, "besides the tree with its counts",
            "Where few records stand behind a join value, counts tell of single ones.",
        )  # fmt: skip


def _written(value: object) -> object:
    """What TOML can say, without keys that say nothing."""
    if isinstance(value, Mapping):
        return {key: _written(below) for key, below in value.items() if below is not None}
    if isinstance(value, list | tuple):
        return [_written(item) for item in value]
    return value


def _problems(schema: JoinSchema) -> Iterator[Problem]:
    """What a schema lacks that several sites share."""
    sites: Sequence[str] = [entry.site or "" for entry in schema.tables.values()]
    for name, entry in schema.tables.items():
        where = f"{schema.name}, [tables.{name}]"
        if entry.site is None:
            yield Problem(
                "nobody says at which site this table stands", where=where, do='add  site = "…".'
            )
        elif why := unfit_name(entry.site):
            yield Problem(why.replace("an owner", "a site"), where=f"{where}, site")
    if len({*sites}) < 2:
        yield Problem(
            "one site alone has nobody to talk to", where=schema.name,
            do="name several sites, or train with  reticent tree train SCHEMA.toml.",
        )  # fmt: skip
