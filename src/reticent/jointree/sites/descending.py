"""Records that all sites send down their tree together.

A record is one row of each table, named by the ids of all tables: ids are no secret among the
sites. Level by level, whose question a record has come to says which branch it takes, to all; each
site can then tell in which node it stands. Nothing else is said: the path and the class.

Whether the rows that somebody puts together would join is nobody's business here: they are asked
what the tree asks, each at its site.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from reticent.data.columns import Table
from reticent.data.texts import shortest
from reticent.errors import InputError, Problem, many, quoted, refuse
from reticent.files.tabular import Reading
from reticent.jointree import kernels
from reticent.jointree.classification import TEST_KINDS, AskedColumn, asked_columns
from reticent.jointree.model import HiddenQuestion, JoinNode, JoinTree, Question
from reticent.jointree.propagation import missing_tables
from reticent.jointree.schema import JoinSchema
from reticent.jointree.sites.layout import SiteLayout
from reticent.jointree.tables import choosing, form_of, read_columns, standing
from reticent.parties.wire import Conversation, Message, others
from reticent.progress import Watch

MOST_RECORDS = 10_000  # in one run, unless somebody asks for more
Digest = Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]


class AskedRecords(Message, frozen=True):
    """To all: digests of my model and of the records that I am to classify."""

    model: Digest
    records: Digest


class TakenBranches(Message, frozen=True):
    """A site to all: the branch of each record that stands at one of its questions, in order."""

    branches: bytes


@dataclass(frozen=True, slots=True)
class NamedRecords:
    """Records by the ids of all tables, in the order of their file."""

    columns: tuple[tuple[int, str], ...]  # table and name of each column
    names: tuple[str, ...]  # the same as table.column
    cells: tuple[tuple[str | None, ...], ...]  # by column
    rows: int

    @property
    def digest(self) -> bytes:
        """By which sites see that all ask for the same."""
        text = json.dumps([self.columns, self.cells], ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()

    def of(self, table: int) -> list[tuple[str | None, ...]]:
        """The ids of one table, record by record, as their shortest texts."""
        own = [
            [None if cell is None else shortest(cell) for cell in cells]
            for (t, _), cells in zip(self.columns, self.cells, strict=True)
            if t == table
        ]
        return [*zip(*own, strict=True)]


def named_records(layout: SiteLayout, table: pa.Table, where: str, most: int) -> NamedRecords:
    """The records of a file with a column for each id of each table."""
    schema = layout.schema
    refuse(
        Problem(
            f'the table "{name}" has no ids, and cannot take part', where=schema.name,
            why="a record is named by the ids of all tables.",
            do=f'add  ids = ["…"]  to [tables.{name}], and train again.',
        )
        for name, entry in schema.tables.items()
        if not entry.ids
    )  # fmt: skip
    wanted = {
        f"{name}.{column}": (t, column)
        for t, (name, entry) in enumerate(schema.tables.items())
        for column in entry.ids
    }
    told = table.column_names
    if {*told} != {*wanted} or len(told) != len(wanted):
        raise InputError(
            f"its columns are not the ids of all tables: {quoted([*wanted])}", where=where,
            do="name each as  table.column,  once.",
        )  # fmt: skip
    if not table.num_rows:
        raise InputError("it holds no records", where=where, do="name at least one.")
    if table.num_rows > most:
        raise InputError(
            f"it holds {many(table.num_rows, 'record')}, and at most {most:,} are classified in a "
            "run",
            where=where, why="each of them tells all sites its path through the tree.",
            do=f"--most-records {table.num_rows}  at every site allows them.",
        )  # fmt: skip
    cells = [tuple(c or None for c in table[name].cast(pa.string()).to_pylist()) for name in wanted]
    return NamedRecords(tuple(wanted.values()), tuple(wanted), tuple(cells), table.num_rows)


def places_of(
    layout: SiteLayout, records: NamedRecords, t: int, table: Table, where: str
) -> NDArray[np.int64]:
    """The row of a table that each record names; -1 for one that is missing behind a left join."""
    names = layout.schema.tables[layout.schema.names[t]].ids
    columns = [table.columns[name] for name in names]
    texts = [
        [None if text is None else shortest(text) for text in column.texts()] for column in columns
    ]
    cells = [[known[code] for code in column.codes.tolist()]
             for known, column in zip(texts, columns, strict=True)]  # fmt: skip
    at: dict[tuple[str | None, ...], int] = {}
    twice: set[tuple[str | None, ...]] = set()
    for row, named in enumerate(zip(*cells, strict=True)):
        if at.setdefault(named, row) != row:
            twice.add(named)
    asked = records.of(t)
    may_miss = t in missing_tables(layout.edges)
    gone = [may_miss and not any(named) for named in asked]
    unknown = [i for i, named in enumerate(asked) if named not in at and not gone[i]]
    shared = [i for i, named in enumerate(asked) if named in twice and not gone[i]]
    problems = []
    for rows, what, do in (
        (unknown, "names no row of", "see that all sites have the same file, and the right one."),
        (shared, "names several rows of", "give each row an id of its own."),
    ):
        if rows:
            lines = ", ".join(str(i + 2) for i in rows[:3])
            first = f"line {lines}" if len(rows) == 1 else f"{len(rows):,} lines (first: {lines})"
            verb = what if len(rows) == 1 else what.replace("names", "name")
            problems.append(
                Problem(f'{first} {verb} the table "{layout.schema.names[t]}"', where=where, do=do)
            )
    refuse(problems)
    return np.array([-1 if miss else at[n] for n, miss in zip(asked, gone, strict=True)], np.int64)


def read_own(
    tree: JoinTree,
    schema: JoinSchema,
    mine: Collection[int],
    given: Mapping[str, Any],
    reading: Reading | None = None,
    watch: Watch | None = None,
) -> list[Table | None]:
    """Of this site's tables the ids and what the tree asks about; None in the place of others."""
    asked = asked_columns(tree)
    tables: list[Table | None] = []
    problems: list[Problem] = []
    for t, name in enumerate(schema.names):
        wanted = {c for table, c in asked if table == name} | {*schema.tables[name].ids}
        data = standing(schema, name, given) if t in mine else None
        tables.append(
            data and read_columns(
                schema, t, data, choosing(schema, name, wanted, problems, given.get(name)), reading,
                in_order=True, watch=watch,
            )
        )  # fmt: skip
    refuse(problems)
    return tables


def descend(
    talk: Conversation,
    layout: SiteLayout,
    tree: JoinTree,
    records: NamedRecords,
    tables: Sequence[Table | None],
    where: str,
    watch: Watch,
    reading: Reading | None = None,
) -> NDArray[np.int64]:
    """Send records down the tree; the class of each, as an index into the labels."""
    own = _OwnAnswers(layout, tree, records, tables, where, reading)
    _agree(talk, tree, records)
    at = [tree.root] * records.rows
    for level in range(tree.depth):
        watch.rows(level, tree.depth)
        asking = dict.fromkeys(n.asks.site for n in at if n.asks is not None)
        sites = [site for site in layout.sites if site in asking]
        at = _one_level(talk, own, sites, at, f"level {level + 1}")
    return np.array([node.winner for node in at], np.int64)


def _agree(talk: Conversation, tree: JoinTree, records: NamedRecords) -> None:
    """See that all have the same model, and ask for the same records."""
    mine = AskedRecords(
        hashlib.sha256(tree.json().encode("utf-8", "surrogatepass")).digest(), records.digest
    )

    def work() -> None:
        for other in others(talk):
            talk.send(other, mine)
        for other in others(talk):
            heard = talk.receive(other, AskedRecords)
            if heard.model != mine.model:
                raise talk.refuse(other, "it has another model: of another run, or changed")
            if heard.records != mine.records:
                raise talk.refuse(other, "it is to classify other records, or in another order")

    talk.step("what is asked", work)


def _one_level(
    talk: Conversation, own: _OwnAnswers, sites: Sequence[str], at: Sequence[JoinNode], name: str
) -> list[JoinNode]:
    """Let every record that stands at a question go on by one branch."""
    standing = {
        site: [i for i, node in enumerate(at) if node.asks is not None and node.asks.site == site]
        for site in sites
    }

    def work() -> dict[str, bytes]:
        if talk.me in standing:
            said = TakenBranches(own.branches(standing[talk.me], at).astype("<u4").tobytes())
            for other in others(talk):
                talk.send(other, said)
        found = {site: talk.receive(site, TakenBranches).branches
                 for site in sites if site != talk.me}  # fmt: skip
        for site, content in found.items():
            if _read(content, [at[i] for i in standing[site]]) is None:
                raise talk.refuse(site, "the branches that it names are not those of its questions")
        return found

    heard = talk.step(name, work)
    found = [*at]
    for site, rows in standing.items():
        if site == talk.me:
            taken = own.branches(rows, at).tolist()
        else:
            taken = _read(heard[site], [at[i] for i in rows]) or []
        for i, branch in zip(rows, taken, strict=True):
            found[i] = at[i].branches[branch]
    return found


def _read(content: bytes, nodes: Sequence[JoinNode]) -> list[int] | None:
    """The branch of each record; None if these are none."""
    if len(content) != 4 * len(nodes):
        return None
    taken: list[int] = np.frombuffer(content, "<u4").tolist()
    fits = all(b < len(node.branches) for b, node in zip(taken, nodes, strict=True))
    return taken if fits else None


class _OwnAnswers:
    """What this site's tables answer to its own questions, record by record."""

    def __init__(
        self,
        layout: SiteLayout,
        tree: JoinTree,
        records: NamedRecords,
        tables: Sequence[Table | None],
        where: str,
        reading: Reading | None,
    ) -> None:
        self.asked: dict[tuple[str, str], AskedColumn] = asked_columns(tree)
        self.codes: dict[tuple[str, str], NDArray[np.int32]] = {}
        form: dict[str, Any] = form_of(reading)
        for t, table in enumerate(tables):
            if table is None:
                continue
            name = layout.schema.names[t]
            rows = places_of(layout, records, t, table, where)
            for place, column in self.asked.items():
                if place[0] == name:
                    codes = column.codes(table.columns[place[1]], form)
                    self.codes[place] = np.append(codes, -1)[rows].astype(np.int32)

    def branches(self, rows: Sequence[int], at: Sequence[JoinNode]) -> NDArray[np.int64]:
        """The branch of some records, each at a question of ours."""
        found = np.zeros(len(rows), np.int64)
        by_node: dict[int, list[int]] = {}
        for k, i in enumerate(rows):
            by_node.setdefault(id(at[i]), []).append(k)
        for some in by_node.values():
            asks = at[rows[some[0]]].asks
            assert isinstance(asks, Question)
            place = (asks.table, asks.column)
            codes = self.asked[place].places(asks)
            here = np.array([rows[k] for k in some], np.int32)
            found[some] = kernels.branches(
                self.codes[place], here, TEST_KINDS[asks.test], codes, asks.missing
            )
        return found


def refuse_hidden(tree: JoinTree, site: str, where: str) -> None:
    """Refuse a model whose own questions are not there."""
    if tree.sites and any(
        isinstance(node.asks, HiddenQuestion) and node.asks.site == site
        for node in tree.root.walk()
    ):
        raise InputError(
            "what this site asks is not there: splits.json is gone", where=where,
            do="put it beside model.json, as training wrote them.",
        )  # fmt: skip
