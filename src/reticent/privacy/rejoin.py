"""Recount promises about a join: put the published table beside earlier releases, and count.

Like the rest of the verifier, this is SQL and shares nothing with the engines. Who may be whom is
told pair by pair of printed values, then pair by pair of rows that link the tables. Then the join
is made, every record beside every record that may be the same person's, and counted. Joins that
are too long for that are counted by `reticent.privacy.rejoin_fast`, which has to find the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import partial
from typing import Any

import pyarrow as pa

from reticent.errors import InputError, Problem, refuse
from reticent.privacy.promises import Anonymity, Confidence, Promise, ours, theirs


@dataclass(frozen=True, slots=True)
class PublishedRelease:
    """An earlier release: its cells, and which of its columns are out."""

    columns: tuple[str, ...]
    cells: Callable[[], Any]  # an Arrow table of texts
    published: tuple[str, ...]
    marker: str
    parents: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # as its manifest tells
    shown: Callable[[str], Any] | None = None  # the texts of a column as they are out


@dataclass(frozen=True, slots=True)
class Meeting:
    """What the verifier knows of how a table meets earlier ones."""

    earlier: Mapping[str, PublishedRelease] = field(default_factory=dict)
    published: tuple[str, ...] = ()  # columns of the new table
    parents: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # label → label above
    continuous: Mapping[str, bool] = field(default_factory=dict)
    """Columns that are compared as intervals, and whether they hold times."""
    apart: frozenset[str] = frozenset()  # columns that nobody can join by
    inconsistent: tuple[Mapping[str, str], ...] = ()
    date_format: str | None = None  # of texts that are no ISO dates

    def reader(self, name: str) -> Read | None:
        """How points of a continuous column are read."""
        if name not in self.continuous:
            return None
        return partial(_moment, form=self.date_format) if self.continuous[name] else _number

    def common(self, release: str) -> list[str]:
        """Columns that both tables publish and somebody may join by."""
        other = self.earlier[release].published
        return [name for name in self.published if name in other and name not in self.apart]

    def contradictions(self, release: str) -> list[tuple[str, str, str, str]]:
        """Our column and value, their column and value: never of one person."""
        other, found = self.earlier[release].published, []
        for pair in self.inconsistent:
            one, two = pair.items()
            for (mine, value), (yours, listed) in ((one, two), (two, one)):
                if mine in self.published and yours in other:
                    found.append((mine, value, yours, listed))
        return found

    def linking(self, promises: Iterable[Promise] | None = None) -> set[str]:
        """Our columns that must be at hand to recount some promises, or to look at all releases."""
        releases = set(self.earlier)
        if promises is not None:
            releases &= {name for promise in promises for name in promise.releases}
        return {
            column
            for name in releases
            for column in (*self.common(name), *(c for c, *_ in self.contradictions(name)))
        }


# --- values --------------------------------------------------------------------------------------


def _label(value: str, parents: Mapping[str, str]) -> str:
    """The label that a value is; a number may be written in another way."""
    if value in parents or (number := _number(value)) is None:
        return value
    return next((label for label in parents if _number(label) == number), value)


def _line(value: str, parents: Mapping[str, str]) -> list[str]:
    """A label and everything above it."""
    line = [_label(value, parents)]
    while (above := parents.get(line[-1])) is not None and above != line[-1]:
        line.append(above)
    return line


def _number(text: str, printed: bool = True) -> Any:
    try:
        found = Decimal(text.replace(",", "."))
    except InvalidOperation:
        return None
    return found if found.is_finite() else None


def _moment(text: str, printed: bool, form: str | None) -> Any:
    """A time; ends of printed intervals are ISO dates, cells are what their reader was told."""
    told = [lambda text: datetime.strptime(text, form)] if form else []
    iso = [datetime.fromisoformat]
    for read in iso + told if printed else told + iso:
        try:
            found = read(text)
        except ValueError:
            continue
        return found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found
    return None


Read = Callable[[str, bool], Any]  # a point, or an end that is printed; None if it is none


def _span(value: str, read: Read) -> tuple[Any, Any, bool] | None:
    """From where to where a printed interval or point reaches, and whether it holds its end."""
    printed = value[:1] == "[" and value[-1:] in "])"
    ends = value[1:-1].split(",") if printed else [value, value]
    points = [read(end, printed) for end in ends]
    if len(points) != 2 or None in points:
        return None
    return points[0], points[1], value[-1:] != ")"


def may_be_one(
    mine: str, theirs_: str, parents: Mapping[str, str] | None, read: Read | None,
    hidden: tuple[str, str],
) -> bool:  # fmt: skip
    """Whether two printed values can be shown for one person; "" is a missing one.

    `read`: how points of a continuous column are read.
    """
    known = parents or {}
    if (mine == hidden[0] and mine not in known) or (theirs_ == hidden[1] and theirs_ not in known):
        return True
    if parents is not None:
        if mine == "" or theirs_ == "":
            return mine == theirs_ or any(parents.get(text) == text for text in (mine, theirs_))
        one, two = _line(mine, parents), _line(theirs_, parents)
        return one[0] in two or two[0] in one
    if read is None or "" in (mine, theirs_):
        return mine == theirs_
    first, second = _span(mine, read), _span(theirs_, read)
    if first is None or second is None:
        return mine == theirs_
    if first[0] > second[0]:
        first, second = second, first
    return bool(second[0] < first[1] or (second[0] == first[1] and first[2]))


def is_within(
    value: str, listed: str, parents: Mapping[str, str] | None, read: Read | None
) -> bool:
    """Whether a printed value is the listed one, or more specific."""
    if parents is not None:
        if value == "":
            return parents.get(listed) == listed
        return _label(listed, parents) in _line(value, parents)
    if read is None:
        return value == listed
    one, two = _span(value, read), _span(listed, read)
    if one is None or two is None:
        return value == listed
    return bool(
        two[0] <= one[0] and (one[1] < two[1] or (one[1] == two[1] and (two[2] or not one[2])))
    )


class _Texts:
    """Texts of theirs, so that in a large tree not all of them are compared with each of ours."""

    def __init__(self, texts: Sequence[str], parents: Mapping[str, str] | None) -> None:
        self.texts, self.parents = texts, parents or {}
        self.odd = [text for text in texts if text not in self.parents]  # hidden, missing, numbers
        self.under: dict[str, list[str]] = {}
        for text in texts:
            for label in _line(text, self.parents) if text in self.parents else ():
                self.under.setdefault(label, []).append(text)
        self.known = set(texts)

    def near(self, ours_: str) -> Iterable[str]:
        """Those that may match a text of ours, and some more."""
        if ours_ not in self.parents:
            return self.texts
        above = [label for label in _line(ours_, self.parents)[1:] if label in self.known]
        return [*self.under.get(ours_, ()), *above, *self.odd]


# --- the join ------------------------------------------------------------------------------------


class Queries:
    """What is asked of one database."""

    def __init__(self, database: Any) -> None:
        """A connection of DuckDB."""
        self.database = database

    def ask(self, sql: str, given: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        found: list[tuple[Any, ...]] = self.database.execute(sql, list(given)).fetchall()
        return found

    def make(self, name: str, sql: str) -> None:
        """Keep the rows of a query for further ones."""
        self.database.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {sql}")


class Rejoined(Queries):
    """The new table in the table ``counted``, beside earlier releases."""

    def __init__(
        self,
        database: Any,
        meeting: Meeting,
        column: Mapping[str, str],
        people: frozenset[str],
        missing: Sequence[str],
        marker: str,
    ) -> None:
        """`column`: how each column of the new table is called in ``counted``.

        `people`: columns that are not there, but name another person in every row.
        """
        super().__init__(database)
        self.meeting, self.column, self.people = meeting, column, people
        self.missing, self.marker = missing, marker
        self.releases: dict[str, dict[str, str]] = {}  # release → column → name in SQL
        self.mine: dict[str, list[str]] = {}  # release → what links it, of ours
        self.yours: dict[str, list[str]] = {}  # and of theirs

    def view(self, name: str, sql: str) -> None:
        """Name the rows of a query, which is asked once, and never stored."""
        self.database.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {sql}")

    def cell(self, column: str, marker: str | None = None) -> str:
        """A cell in SQL, "" where it is missing; a marker hides a value, but is there."""
        hides = self.marker if marker is None else marker
        listed = ", ".join(text_of(text) for text in self.missing if text != hides)
        return f"CASE WHEN {column} IS NULL OR {column} IN ({listed}) THEN '' ELSE {column} END"

    def can(self, promise: Promise) -> bool:
        """Whether everything is at hand that a promise counts."""
        names = columns_of(promise)
        for release in promise.releases:
            one = self.meeting.earlier.get(release)
            if one is None or not set(theirs(names, release)) <= set(one.columns):
                return False
        mine = {*ours(names), *self.meeting.linking([promise])}
        return mine <= {*self.column, *self.people}

    def refuse_merged(self, promise: Promise) -> None:
        """Refuse to count cells as one that a release which is out shows apart.

        Those of a join, and those that its groups are told by; what is inferred or counted in them
        can be merged without hiding anything.
        """
        problems = []
        for release, i in self.lay_beside(promise.releases).items():
            one = self.meeting.earlier[release]
            told = [*theirs(promise.over, release), *self.meeting.common(release)]
            told += [their for *_, their, _ in self.meeting.contradictions(release)]
            for name in dict.fromkeys(told):
                here = {*self._distinct(f"rows{i}", self.releases[release][name])}
                out = {*one.shown(name).fill_null("").to_pylist()} if one.shown else here
                if len(here) < len(out) or (one.marker in out and one.marker not in here):
                    problems.append(
                        Problem(
                            f'cells of column "{name}" that differ would be counted as one',
                            where=f"[previous.{release}]",
                            why="that release shows them apart, to everybody who has it.",
                            do="let  same,  trim  and  missing_values  leave them apart.",
                        )
                    )
        for name in ours(promise.over):
            c = self.column[name]
            distinct = f"count(DISTINCT coalesce({c}, '')), count(DISTINCT {self.cell(c)})"
            [(out, here)] = self.ask(f"SELECT {distinct} FROM counted")
            if here < out:
                problems.append(
                    Problem(
                        f'cells of column "{name}" that differ would be counted as one',
                        why="the table shows them apart: several of them mean missing.",
                        do="show what is missing in one way.",
                    )
                )
        refuse(problems)

    def lay_beside(self, releases: Sequence[str]) -> dict[str, int]:
        """Make the tables of some releases, and tell by which number each of them goes."""
        for release in releases:
            if release not in self.releases:
                self._lay_beside(release)
        return {name: i for i, name in enumerate(self.releases) if name in releases}

    def _lay_beside(self, release: str) -> None:
        """Make the tables of one release: its rows, keys on both sides, and who may be whom."""
        number = len(self.releases)
        one = self.meeting.earlier[release]
        names = {name: f"d{i}" for i, name in enumerate(one.columns)}
        self.database.register(f"raw{number}", one.cells().rename_columns(list(names.values())))
        cells = ", ".join(f"{self.cell(d, one.marker)} AS {d}" for d in names.values())
        self.make(f"rows{number}", f"SELECT {cells} FROM raw{number}")
        self.database.unregister(f"raw{number}")
        self.releases[release] = names
        apart = self.meeting.contradictions(release)
        common = self.meeting.common(release)
        linking = dict.fromkeys((*common, *(own for own, *_ in apart)))
        mine = self.mine[release] = [self.column[name] for name in linking]
        linking = dict.fromkeys((*common, *(their for *_, their, _ in apart)))
        yours = self.yours[release] = [names[name] for name in linking]
        self.make(f"mine{number}", numbered([f"{self.cell(c)} AS {c}" for c in mine], "counted"))
        self.make(f"yours{number}", numbered(yours, f"rows{number}"))
        conditions, tables = [], [f"mine{number} AS l", f"yours{number} AS r"]
        for name in common:
            c, d, pairs = self.column[name], names[name], f"pairs{number}_{len(tables)}"
            self._match(release, name, (f"mine{number}", c), (f"yours{number}", d), pairs)
            tables.append(f"{pairs} AS p{len(tables)}")
            conditions.append(f"l.{c} = p{len(tables) - 1}.x AND r.{d} = p{len(tables) - 1}.y")
        for own, value, their, listed in apart:
            c, d = self.column[own], names[their]
            wrong = [
                self._within(f"mine{number}", c, own, value, release),
                self._within(f"yours{number}", d, their, listed, release),
            ]
            if all(wrong):
                conditions.append(f"NOT (l.{c} IN ({wrong[0]}) AND r.{d} IN ({wrong[1]}))")
        where = " AND ".join(conditions) or "true"
        self.make(
            f"meet{number}",
            f"SELECT DISTINCT l.k AS k1, r.k AS k2 FROM {', '.join(tables)} WHERE {where}",
        )

    def _known(self, name: str, release: str) -> Mapping[str, str] | None:
        found = self.meeting.parents.get(name)
        return found if found is not None else self.meeting.earlier[release].parents.get(name)

    def _distinct(self, table: str, column: str) -> list[str]:
        return [value for (value,) in self.ask(f"SELECT DISTINCT {column} FROM {table}")]

    def _match(
        self, release: str, name: str, mine: tuple[str, str], yours: tuple[str, str], table: str
    ) -> None:
        """Every pair of values of a common column that can be shown for one person."""
        parents, read = self._known(name, release), self.meeting.reader(name)
        hidden = self.marker, self.meeting.earlier[release].marker
        if parents is None and read is None:  # thousands of values, perhaps
            either = f"x = {text_of(hidden[0])} OR y = {text_of(hidden[1])}"
            self.make(
                table,
                f"SELECT x, y FROM (SELECT DISTINCT {mine[1]} AS x FROM {mine[0]}), "
                f"(SELECT DISTINCT {yours[1]} AS y FROM {yours[0]}) WHERE x = y OR {either}",
            )
            return
        others = _Texts(self._distinct(*yours), parents)
        pairs = [
            {"x": x, "y": y}
            for x in self._distinct(*mine)
            for y in others.near(x)
            if may_be_one(x, y, parents, read, hidden)
        ]
        texts = pa.schema([("x", pa.string()), ("y", pa.string())])
        self.database.register("given", pa.Table.from_pylist(pairs, texts))
        self.make(table, "SELECT x, y FROM given")
        self.database.unregister("given")

    def _within(self, table: str, column: str, name: str, listed: str, release: str) -> str:
        parents, read = self._known(name, release), self.meeting.reader(name)
        found = [
            value
            for value in self._distinct(table, column)
            if is_within(value, listed, parents, read)
        ]
        return ", ".join(map(text_of, found))

    def pairs(self, releases: Sequence[str]) -> int:
        """How many rows the join with some releases has; refuses one without any."""
        numbers = self.lay_beside(releases)
        links = {c: f"{self.cell(c)} AS {c}" for name in numbers for c in self.mine[name]}
        counts = f"SELECT {', '.join([*links.values(), 'sum(n) AS n'])} FROM counted GROUP BY ALL"
        joins = " ".join(
            f"JOIN mine{i} ON {same('keys', f'mine{i}', self.mine[name])} "
            f"JOIN (SELECT k1, sum(n) AS n FROM meet{i} JOIN (SELECT k, count(*) AS n FROM rows{i} "
            f"JOIN yours{i} ON {same(f'rows{i}', f'yours{i}', self.yours[name])} GROUP BY k) "
            f"ON k = k2 GROUP BY k1) AS behind{i} ON behind{i}.k1 = mine{i}.k"
            for name, i in numbers.items()
        )
        times = " * ".join(["keys.n", *(f"behind{i}.n::HUGEINT" for i in numbers.values())])
        [(found,)] = self.ask(f"SELECT coalesce(sum({times}), 0) FROM ({counts}) AS keys {joins}")
        if not found:
            raise InputError(
                "nobody in this table can be anybody in the earlier releases",
                where=", ".join(f"[previous.{name}]" for name in releases),
                do="check that these are the releases it was made beside.",
            )
        return int(found)

    def _join(
        self, promise: Promise, marked: Sequence[str], wanted: Sequence[str] | None = None
    ) -> str:
        """Put every record beside every record that may be the same person's.

        The table ``joined`` has a row a pair: the cells that tell its group, which are listed as
        they are called, and y, who or what is counted; NULL if a part of it is missing, or is none
        of the values `wanted`.
        """
        cells = ", ".join(f"{self.cell(c)} AS {c}" for c in self.column.values())
        self.view("records", f"SELECT {cells} FROM counted, range(n::BIGINT)")
        joined = "records"
        over = [f"records.{self.column[name]}" for name in ours(promise.over)]
        who = [who_of([f"records.{self.column[name]}" for name in ours(marked)], wanted)]
        for name, i in self.lay_beside(promise.releases).items():
            joined += (
                f" JOIN mine{i} ON {same('records', f'mine{i}', self.mine[name])}"
                f" JOIN meet{i} ON meet{i}.k1 = mine{i}.k JOIN yours{i} ON yours{i}.k = meet{i}.k2"
                f" JOIN rows{i} ON {same(f'yours{i}', f'rows{i}', self.yours[name])}"
            )
            cell = {column: f"rows{i}.{d}" for column, d in self.releases[name].items()}
            over += [cell[column] for column in theirs(promise.over, name)]
            who.append(who_of([cell[column] for column in theirs(marked, name)], wanted))
        groups = [f"{cell} AS x{i}" for i, cell in enumerate(over)]
        self.view("joined", f"SELECT {', '.join(groups)}, {' || '.join(who)} AS y FROM {joined}")
        return ", ".join(f"x{i}" for i in range(len(over)))

    def smallest(self, promise: Anonymity) -> tuple[int, int, int]:
        """The size of the smallest group, how many there are, and how many are too small."""
        groups = self._join(promise, promise.of)
        size = "count(DISTINCT y)" if promise.of else "count(*)"
        [(smallest, count, below)] = self.ask(
            f"SELECT min(size), count(*), count(*) FILTER (WHERE size < ?) "
            f"FROM (SELECT {size} AS size FROM joined GROUP BY {groups})",
            [promise.k],
        )
        return int(smallest), int(count), int(below)

    def largest(self, promise: Confidence, name: str) -> tuple[Fraction, int, int]:
        """The largest share of a value, how many groups there are, and how many are too sure."""
        listed = promise.sensitive[name]
        groups = self._join(promise, [name], None if listed == "*" else listed)
        self.make("parts", f"SELECT {groups}, y, count(*) AS part FROM joined GROUP BY ALL")
        self.make("wholes", f"SELECT {groups}, sum(part) AS whole FROM parts GROUP BY ALL")
        [(count,)] = self.ask("SELECT count(*) FROM wholes")
        every = self.ask(
            f"SELECT part, whole, count(*) FROM parts JOIN wholes USING ({groups}) "
            "WHERE y IS NOT NULL GROUP BY part, whole"
        )
        sure, above = largest_share(every, promise)
        return sure, int(count), above


def largest_share(every: Iterable[tuple[Any, ...]], promise: Confidence) -> tuple[Fraction, int]:
    """The largest of some shares, and how many are too large: each a part, a whole, how often."""
    sure = [(Fraction(int(part), int(whole)), int(times)) for part, whole, times in every]
    above = sum(times for share, times in sure if share > promise.at_most)
    return max((share for share, _ in sure), default=Fraction(0)), above


def columns_of(promise: Promise) -> tuple[str, ...]:
    """The columns that a promise counts, of all tables."""
    return *promise.over, *(promise.of if isinstance(promise, Anonymity) else promise.sensitive)


def numbered(columns: Sequence[str], table: str) -> str:
    """A query for the distinct rows of some columns, each with a number k."""
    cells = ", ".join(columns) or "1 AS z"
    return f"SELECT *, row_number() OVER () AS k FROM (SELECT DISTINCT {cells} FROM {table})"


def same(one: str, other: str, columns: Sequence[str]) -> str:
    """A condition: rows of two tables are equal in some columns."""
    return " AND ".join(f"{one}.{column} = {other}.{column}" for column in columns) or "true"


def who_of(columns: Sequence[str], wanted: Sequence[str] | None = None) -> str:
    """Those who are counted, as a text; NULL where a part is missing, or none that is wanted."""
    if not columns:
        return "''"
    missing = " OR ".join(f"({column}) = ''" for column in columns)
    if wanted is not None:
        missing += f" OR ({columns[0]}) NOT IN ({', '.join(map(text_of, wanted))})"
    text = " || ".join(f"(length({column}) || ':' || ({column}))" for column in columns)
    return f"CASE WHEN {missing} THEN NULL ELSE {text} END"


def text_of(value: str) -> str:
    """A text in SQL."""
    return "'" + value.replace("'", "''") + "'"
