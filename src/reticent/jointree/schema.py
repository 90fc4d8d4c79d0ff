"""The file that says which tables join, where the class stands, and how the tree is grown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from reticent.errors import InputError, Problem, did_you_mean, quoted, refuse
from reticent.files.tabular import Reading
from reticent.releases.kinds import kind_of
from reticent.releases.policyfile import CellReading, Named, Names, WrittenFile, may_be_one
from reticent.sources.addresses import is_url
from reticent.trees.learner import TreeOptions

_FIT = BeforeValidator(lambda given: [given] if isinstance(given, str) else given)
Places = Annotated[tuple[Named, ...], _FIT, Field(min_length=1)]


class TableEntry(BaseModel):
    """One table: where it stands, and what its columns are for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: Named | None = Field(default=None, description="A file, folder, glob or database.")
    table: Named | None = Field(default=None, description="Which table of a database.")
    sheet: Named | None = Field(default=None, description="Which sheet of a spreadsheet.")
    ids: Names = Field(default=(), description="Columns that identify its records; never split.")
    candidates: Annotated[tuple[str, ...] | None, may_be_one] = Field(
        default=None, description="The only columns that may split; default: all others."
    )
    site: Named | None = Field(default=None, description="Who owns it, where sites are private.")


class JoinEntry(BaseModel):
    """Two tables that join where some columns are equal."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    left: Places = Field(description='"table.column", or a list of them.')
    right: Places = Field(description="As many columns of the other table.")
    keep: Literal["left"] | None = Field(
        default=None, description="left: rows on the side of the class stay without a partner."
    )


class GrowEntry(BaseModel):
    """How the tree is grown and cut back."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    splits: Literal["binary", "multiway"] = "binary"
    criterion: Literal["gain", "gain ratio"] = "gain"
    weight: Literal["row", "record"] = Field(
        default="row", description="What weighs 1: a joined row, or a record of the class's table."
    )
    min_rows: int = Field(default=2, ge=1, strict=True)
    prune: bool = Field(default=True, strict=True)
    max_depth: int | None = Field(default=None, ge=0, strict=True)
    min_count: int | None = Field(default=None, ge=1, strict=True, description="Sites only.")

    def options(self) -> TreeOptions:
        """The same, as the learner is told."""
        confidence = 0.25 if self.prune else None
        return TreeOptions(
            self.splits, self.criterion, self.min_rows, self.max_depth, confidence
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class JoinEdge:
    """A join seen from the class's table: `table` lies behind `parent`."""

    table: int
    parent: int
    columns: tuple[str, ...]  # of the table
    of_parent: tuple[str, ...]  # as many of the parent
    keeps: bool  # whether rows of the parent stay without a partner
    place: str  # in the schema file

    @property
    def ends(self) -> tuple[int, int]:
        """Both tables, the one nearer to the class first."""
        return self.parent, self.table

    def columns_of(self, table: int) -> tuple[str, ...]:
        """The columns by which one of the two joins."""
        return self.of_parent if table == self.parent else self.columns


WrittenJoin = tuple[tuple[str, ...], tuple[str, ...], bool]  # columns of both sides; keeps left


class JoinSchema(WrittenFile):
    """Tables that join, the class, and how one tree over all of them is grown.

    >>> schema = JoinSchema.from_data({
    ...     "class": "visit.ill", "tables": {"visit": {}, "ward": {}},
    ...     "joins": [{"left": "visit.ward", "right": "ward.name"}]})
    >>> schema.root, [(edge.parent, edge.table) for edge in schema.edges]
    (0, [(0, 1)])
    """

    model_config = ConfigDict(title="Schema")
    called: ClassVar[str] = "schema"
    parts: ClassVar[Mapping[str, type[BaseModel]]] = {
        "tables": TableEntry, "joins": JoinEntry, "grow": GrowEntry, "reading": CellReading,
    }  # fmt: skip

    class_: Named = Field(alias="class", description='The column to tell, as "table.column".')
    tables: dict[Named, TableEntry] = Field(min_length=1)
    joins: tuple[JoinEntry, ...] = ()
    grow: GrowEntry = GrowEntry()
    reading: CellReading = CellReading()

    @classmethod
    def of(cls, schema: JoinSchema | Mapping[str, Any] | str | Path) -> JoinSchema:
        """A schema, wherever it comes from."""
        if isinstance(schema, cls):
            return schema
        if isinstance(schema, str | Path):
            return cls.load(schema)
        if not isinstance(schema, Mapping):
            raise InputError("a schema is a file, a mapping or a Schema", where="schema")
        return cls.from_data(dict(schema))

    @classmethod
    def place(cls, loc: Sequence[Any]) -> str:
        """A place in the file, named as a reader of it would."""
        if len(loc) > 1 and loc[0] == "tables":
            return ", ".join([f"[tables.{loc[1]}]", *map(str, loc[2:])])
        if len(loc) > 1 and loc[0] == "joins" and isinstance(loc[1], int):
            return ", ".join([_join(loc[1]), *map(str, loc[2:])])
        sections = ("grow", "reading")
        return ", ".join(f"[{part}]" if part in sections else str(part) for part in loc)

    @classmethod
    def refuse_others(cls, data: Mapping[str, Any], where: str) -> None:
        """Refuse a policy: it looks as if all of its keys were wrong."""
        if not {"tables", "joins"} & data.keys() and len({*data} - {"class"}):
            meant = kind_of(data)
            raise InputError(
                f"this is a policy for {meant.name}, and no schema of tables that join",
                where=where, do=f"use it with  {meant.command}.",
            )  # fmt: skip

    @classmethod
    def contradictions(cls, data: Mapping[str, Any], where: str) -> Iterator[Problem]:
        """Tables that nobody named, joins that make no tree, sites that do not stand together."""
        tables = data.get("tables")
        if not isinstance(tables, Mapping) or not tables:
            return
        names = [*map(str, tables)]
        target = data.get("class")
        if isinstance(target, str):
            yield from _unknown(target, names, f"{where}, class")
        joins = data.get("joins", [])
        pairs = []
        for number, join in enumerate(joins if isinstance(joins, list | tuple) else ()):
            if isinstance(join, Mapping):
                found, problems = _pair(join, names, f"{where}, {_join(number)}")
                yield from problems
                pairs.append((number, found))
        whole = [(number, pair) for number, pair in pairs if pair]
        yield from _no_tree(names, whole, where, sure=len(whole) == len(pairs))
        yield from _sites(tables, where)
        yield from _idle_tables(tables, where)
        grow = data.get("grow")
        sites = [t for t in tables.values() if isinstance(t, Mapping) and t.get("site")]
        if isinstance(grow, Mapping) and grow.get("min_count") is not None and not sites:
            yield Problem(
                "min_count says something of private sites alone, and no table has a site",
                where=f"{where}, [grow]", do="leave it out.",
            )  # fmt: skip

    def reads(self, told: Reading | None) -> Reading:
        """How tables are read: as somebody tells who asks, and else as the schema says."""
        return (told or Reading()).over(self.reading.told())

    @property
    def names(self) -> list[str]:
        """The tables in tie order."""
        return list(self.tables)

    @property
    def target(self) -> tuple[int, str]:
        """The table of the class, and its column."""
        table, column = split_place(self.class_, self.names) or ("", "")
        return self.names.index(table), column

    @property
    def root(self) -> int:
        """The table that holds the class: T1 in the paper."""
        return self.target[0]

    @property
    def edges(self) -> list[JoinEdge]:
        """All joins, each table after the one that it lies behind."""
        return [*_edges(self.joins, tuple(self.names), self.root, self.name)]

    @property
    def written_joins(self) -> list[WrittenJoin]:
        """All joins as a model keeps them: by names, the side of the class first."""
        names, found = self.names, []
        for edge in self.edges:
            near, far = (
                tuple(f"{names[t]}.{column}" for column in edge.columns_of(t)) for t in edge.ends
            )
            found.append((near, far, edge.keeps))
        return found

    def joins_with(self, table: int) -> set[str]:
        """The columns by which a table joins."""
        own = [edge.columns for edge in self.edges if edge.table == table]
        own += [edge.of_parent for edge in self.edges if edge.parent == table]
        return {name for columns in own for name in columns}

    def data(self, table: str) -> str:
        """Where a table stands: relative paths start at the schema file."""
        path = self.tables[table].path
        if path is None:
            raise InputError(
                f'nobody says where the table "{table}" stands', where=self.name,
                do=f"add  path  to [tables.{table}], or hand the table over.",
            )  # fmt: skip
        return path if is_url(path) else str(self.folder / path)

    def refuse_nowhere(self, given: Sequence[str] = ()) -> None:
        """Refuse, all at once, tables of which nobody says where they stand."""
        missing = [n for n, entry in self.tables.items() if entry.path is None and n not in given]
        if away := [name for name in missing if self.tables[name].site is not None]:
            raise InputError(
                f"these tables stay at their sites, and --party is missing: {', '.join(away)}",
                where=self.name,
                do="give  --party PARTY.toml  instead of the schema, at each site; or add  path  "
                "to every table, to read them all in one place.",
            )  # fmt: skip
        refuse(
            Problem(
                f'nobody says where the table "{name}" stands',
                where=f"{self.name}, [tables.{name}]",
                do="add  path, or hand the table over.",
            )
            for name, entry in self.tables.items()
            if entry.path is None and name not in given
        )

    def candidates(self, table: int, columns: Sequence[str]) -> list[str]:
        """The columns of a table that may split, in the order of its file."""
        name = self.names[table]
        entry = self.tables[name]
        at, target = self.target
        if entry.candidates is not None:
            return [column for column in columns if column in entry.candidates]
        spare = {*entry.ids, *self.joins_with(table), *([target] if at == table else [])}
        return [column for column in columns if column not in spare]

    def needed(self, table: int, columns: Sequence[str]) -> list[str]:
        """The columns of a table that a tree is grown from, in the order of its file."""
        at, target = self.target
        wanted = {*self.candidates(table, columns), *self.joins_with(table)}
        wanted |= {target} if at == table else set()
        return [column for column in columns if column in wanted]

    def instead(self, table: int, column: str) -> str:
        """What to do about a column that cannot be used as it is."""
        place = f"[tables.{self.names[table]}]"
        if column in self.joins_with(table):
            return "join by another column"
        if (table, column) == self.target:
            return "name another column as  class"
        if column in self.tables[self.names[table]].ids:
            return f"take it off  ids  in {place}"
        if self.tables[self.names[table]].candidates is not None:
            return f"take it off  candidates  in {place}"
        return f"list the columns that may split, without it, as  candidates  in {place}"

    def strangers(self, table: int, columns: Sequence[str]) -> Iterator[Problem]:
        """What the schema says of columns that a table does not have."""
        name = self.names[table]
        entry = self.tables[name]
        at, target = self.target
        places: dict[str, str] = {}
        for edge in self.edges:
            for end, own in ((edge.table, edge.columns), (edge.parent, edge.of_parent)):
                places |= {column: edge.place for column in own if end == table}
        for key in ("ids", "candidates"):
            for column in getattr(entry, key) or ():
                places.setdefault(column, f"{self.name}, [tables.{name}], {key}")
        if at == table:
            places[target] = f"{self.name}, class"
            if target in (*entry.ids, *(entry.candidates or ())):
                yield Problem(
                    "the class is to be told, and cannot be an id or split",
                    where=f"{self.name}, [tables.{name}]", do="take it off ids and candidates.",
                )  # fmt: skip
        for column, place in places.items():
            if column not in columns:
                hint = did_you_mean(column, columns) or f"it has {quoted(columns)}."
                yield Problem(f'table "{name}" has no column "{column}"', where=place, do=hint)


@lru_cache(maxsize=16)  # asked for by every table: of a hundred that took 2 s
def _edges(
    joins: Sequence[JoinEntry], names: Sequence[str], root: int, where: str
) -> tuple[JoinEdge, ...]:
    """All joins as they are seen from the table of the class."""
    sides = []
    for number, join in enumerate(joins):
        [left, right] = [[split_place(p, names) for p in s] for s in (join.left, join.right)]
        [a, b] = [
            (names.index(s[0][0]), tuple(p[1] for p in s if p)) for s in (left, right) if s[0]
        ]
        sides.append((a, b, join.keep == "left", f"{where}, {_join(number)}"))
    found: list[JoinEdge] = []
    reached = [root]
    for at in reached:  # grows while it is read
        for a, b, keeps, place in sides:
            for near, far in ((a, b), (b, a)):
                if near[0] == at and far[0] not in reached:
                    found.append(JoinEdge(far[0], at, far[1], near[1], keeps, place))
                    reached.append(far[0])
    return tuple(found)


def split_place(place: str, tables: Sequence[str]) -> tuple[str, str] | None:
    """Table and column of ``table.column``; names of tables may hold points.

    >>> split_place("a.b.c", ["a", "a.b"]), split_place("x.c", ["a"])
    (('a.b', 'c'), None)
    """
    fits = [name for name in tables if place.startswith(f"{name}.") and len(place) > len(name) + 1]
    name = max(fits, key=len, default=None)
    return None if name is None else (name, place[len(name) + 1 :])


def _join(number: int) -> str:
    return f"[[joins]] {number + 1}"


def _unknown(place: str, tables: Sequence[str], where: str) -> Iterator[Problem]:
    if split_place(place, tables) is None:
        table, point, _ = place.partition(".")
        hint = did_you_mean(table, tables) or f"the tables are {quoted(tables)}."
        what = f'there is no table "{table}"' if point else f'"{place}" is no table.column'
        yield Problem(what, where=where, do=hint)


def _pair(
    join: Mapping[str, Any], tables: Sequence[str], where: str
) -> tuple[tuple[str, str] | None, list[Problem]]:
    """The two tables of a join, if one can tell, and what is wrong with it."""
    problems: list[Problem] = []
    ends = []
    widths = []
    for side in ("left", "right"):
        given = join.get(side)
        places = [given] if isinstance(given, str) else given
        if not isinstance(places, list | tuple) or not all(isinstance(p, str) for p in places):
            return None, problems  # said by whoever looks at forms
        for place in places:
            problems += _unknown(place, tables, f"{where}, {side}")
        found = [split_place(place, tables) for place in places]
        named = {place[0] for place in found if place}
        if len(named) > 1:
            problems.append(
                Problem(
                    f"one side of a join names columns of {len(named)} tables",
                    where=f"{where}, {side}",
                    do="a join is between two tables: write several joins.",
                )
            )
        ends.append(named.pop() if len(named) == 1 and None not in found else None)
        widths.append(len(places))
    if widths[0] != widths[1]:
        problems.append(
            Problem(
                f"left has {widths[0]} columns and right has {widths[1]}",
                where=where,
                why="columns are compared in pairs.",
                do="name as many on either side.",
            )
        )
    if ends[0] is not None and ends[0] == ends[1]:
        problems.append(
            Problem(
                f'table "{ends[0]}" joins itself',
                where=where,
                do="give its file a second name in [tables].",
            )
        )
        return None, problems
    left, right = ends
    return (left, right) if left is not None and right is not None else None, problems


def _no_tree(
    names: Sequence[str], pairs: Sequence[tuple[int, Any]], where: str, *, sure: bool
) -> Iterator[Problem]:
    """Joins that close a circle, and tables that no join reaches."""
    group = {name: {name} for name in names}
    for number, (left, right) in pairs:
        if right in group[left]:
            yield Problem(
                f'the joins are cyclic: "{left}" and "{right}" are connected already',
                where=f"{where}, {_join(number)}",
                why="a tree over joins needs exactly one way between two tables.",
                do="leave out one join; a join by several columns is one join with lists.",
            )
            continue
        both = group[left] | group[right]
        group.update(dict.fromkeys(both, both))
    parts = {id(part): part for part in group.values()}
    if sure and len(parts) > 1:
        loose = [name for name in names if name not in group[names[0]]]
        yield Problem(
            f'the joins are disconnected: nothing connects "{names[0]}" with {quoted(loose)}',
            where=where, do="add  [[joins]], or leave these tables out.",
        )  # fmt: skip


def _idle_tables(tables: Mapping[str, Any], where: str) -> Iterator[Problem]:
    for name, entry in tables.items():
        if not isinstance(entry, Mapping) or not isinstance(path := entry.get("path"), str):
            continue
        if entry.get("table") and not is_url(path):
            yield Problem(
                "only databases have tables", where=f"{where}, [tables.{name}], table",
                do='leave it out, or give a database as  path = "sqlite:///shop.db".',
            )  # fmt: skip


def _sites(tables: Mapping[str, Any], where: str) -> Iterator[Problem]:
    sites = [t.get("site") if isinstance(t, Mapping) else None for t in tables.values()]
    runs = [site for i, site in enumerate(sites) if i == 0 or site != sites[i - 1]]
    for site in dict.fromkeys(site for site in runs if site and runs.count(site) > 1):
        yield Problem(
            f'tables of the site "{site}" do not stand together', where=where,
            why="of equal splits the first table wins, and sites come one after the other.",
            do="list the tables of a site one after the other.",
        )  # fmt: skip
