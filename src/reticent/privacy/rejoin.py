"""Recount promises about a join: put the published table beside earlier releases, and count.

Like the rest of the verifier, this is SQL and shares nothing with the engines. Who may be whom is
told pair by pair of printed values, then pair by pair of rows that link the tables. Where that
gives few enough rows, the join is really made, every record beside every record. Otherwise equal
rows are joined once, with the product of their numbers; people who stand in one row each are added
up; and groups of theirs that cannot be told apart are taken for one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import partial
from typing import Any

from reticent.errors import InputError
from reticent.privacy.promises import Anonymity, Confidence, Promise, ours, theirs

MOST_ROWS = 2_000_000  # of a join that is really made
MOST_PEOPLE = 10_000  # who are told apart although each stands in one row only


@dataclass(frozen=True, slots=True)
class Published:
    """An earlier release: its cells, and which of its columns are out."""

    columns: tuple[str, ...]
    cells: Callable[[], Any]  # an Arrow table of texts
    published: tuple[str, ...]
    marker: str
    parents: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # as its manifest tells


@dataclass(frozen=True, slots=True)
class Meeting:
    """What the verifier knows of how a table meets earlier ones."""

    earlier: Mapping[str, Published] = field(default_factory=dict)
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


class Rejoined:
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
        self.database, self.meeting, self.column = database, meeting, column
        self.people = people
        self.missing, self.marker = missing, marker
        self.releases: dict[str, dict[str, str]] = {}  # release → column → name in SQL
        self.mine: dict[str, list[str]] = {}  # release → what links it, of ours
        self.yours: dict[str, list[str]] = {}  # and of theirs
        self.number = "HUGEINT"  # what holds as many pairs of records as there are

    def ask(self, sql: str, given: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        found: list[tuple[Any, ...]] = self.database.execute(sql, list(given)).fetchall()
        return found

    def _make(self, name: str, sql: str) -> None:
        self.database.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {sql}")

    def _view(self, sql: str) -> None:
        """Let ``joined`` be the rows of a query, which is asked once, and never stored."""
        self.database.execute(f"CREATE OR REPLACE TEMP VIEW joined AS {sql}")

    def cell(self, column: str, marker: str | None = None) -> str:
        """A cell in SQL, "" where it is missing; a marker hides a value, but is there."""
        hides = self.marker if marker is None else marker
        listed = ", ".join(_text(text) for text in self.missing if text != hides)
        return f"CASE WHEN {column} IS NULL OR {column} IN ({listed}) THEN '' ELSE {column} END"

    def can(self, promise: Promise) -> bool:
        """Whether everything is at hand that a promise counts."""
        names = {*promise.over, *(promise.of if isinstance(promise, Anonymity) else ())}
        names |= set(promise.sensitive) if isinstance(promise, Confidence) else set()
        for release in promise.releases:
            one = self.meeting.earlier.get(release)
            if one is None or not set(theirs(names, release)) <= set(one.columns):
                return False
        mine = {*ours(names), *self.meeting.linking([promise])}
        return mine <= {*self.column, *self.people}

    def _lay_beside(self, release: str) -> None:
        """Make the tables of one release: its rows, keys on both sides, and who may be whom."""
        if release in self.releases:
            return
        number = len(self.releases)
        one = self.meeting.earlier[release]
        names = {name: f"d{i}" for i, name in enumerate(one.columns)}
        self.database.register(f"raw{number}", one.cells().rename_columns(list(names.values())))
        cells = ", ".join(f"{self.cell(d, one.marker)} AS {d}" for d in names.values())
        self._make(f"rows{number}", f"SELECT {cells} FROM raw{number}")
        self.database.unregister(f"raw{number}")
        self.releases[release] = names
        apart = self.meeting.contradictions(release)
        common = self.meeting.common(release)
        linking = dict.fromkeys((*common, *(own for own, *_ in apart)))
        mine = self.mine[release] = [self.column[name] for name in linking]
        linking = dict.fromkeys((*common, *(their for *_, their, _ in apart)))
        yours = self.yours[release] = [names[name] for name in linking]
        self._make(f"mine{number}", _numbered([f"{self.cell(c)} AS {c}" for c in mine], "counted"))
        self._make(f"yours{number}", _numbered(yours, f"rows{number}"))
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
        self._make(
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
            either = f"x = {_text(hidden[0])} OR y = {_text(hidden[1])}"
            self._make(
                table,
                f"SELECT x, y FROM (SELECT DISTINCT {mine[1]} AS x FROM {mine[0]}), "
                f"(SELECT DISTINCT {yours[1]} AS y FROM {yours[0]}) WHERE x = y OR {either}",
            )
            return
        others = _Texts(self._distinct(*yours), parents)
        pairs = [
            (x, y)
            for x in self._distinct(*mine)
            for y in others.near(x)
            if may_be_one(x, y, parents, read, hidden)
        ]
        self._fill(table, pairs)

    def _fill(self, table: str, pairs: Sequence[tuple[str, str]]) -> None:
        import pyarrow as pa

        cells = {
            "x": pa.array([x for x, _ in pairs], pa.string()),
            "y": pa.array([y for _, y in pairs], pa.string()),
        }
        self.database.register("given", pa.table(cells))
        self._make(table, "SELECT x, y FROM given")
        self.database.unregister("given")

    def _within(self, table: str, column: str, name: str, listed: str, release: str) -> str:
        parents, read = self._known(name, release), self.meeting.reader(name)
        found = [
            value
            for value in self._distinct(table, column)
            if is_within(value, listed, parents, read)
        ]
        return ", ".join(map(_text, found))

    def recount(self, promise: Promise) -> tuple[int | Fraction, int, int]:
        """The value of a promise, how many joined groups there are, and how many break it."""
        for release in promise.releases:
            self._lay_beside(release)
        if isinstance(promise, Anonymity):
            return self._smallest(promise)
        found = [self._largest(promise, name) for name in promise.sensitive]
        return (
            max(value for value, _, _ in found),
            found[0][1],
            sum(above for _, _, above in found),
        )

    def _join(
        self,
        promise: Promise,
        marked: Sequence[str],
        wanted: Sequence[str] | None = None,
        smallest: str = "least",
    ) -> bool:
        """Say what ``joined`` is; says whether those who are counted are added up already.

        `wanted`: the values that count, others being all alike. The table has the columns x1 (our
        group), x0_, x1_, … (theirs), y (who or what is counted; NULL if a part of it is missing), n
        (how many pairs of records it stands for) and f (how many groups of theirs look like this
        one). `smallest`: how groups are merged of which only the sizes matter, see `_merge`.
        """
        numbers = {name: list(self.releases).index(name) for name in promise.releases}
        own_y = ours(marked)
        # Equal rows of ours once; of people who stand in one row each, only their number is kept.
        y = [self.cell(self.column[name]) for name in own_y if name not in self.people]
        alone = any(theirs(marked, release) for release in promise.releases)
        once = isinstance(promise, Anonymity) and (len(y) < len(own_y) or self._once(y))
        cells = {self.column[name]: 0 for name in ours(promise.over)}
        links = {c: 0 for release in numbers for c in self.mine[release]}
        columns = [f"{self.cell(c)} AS {c}" for c in {**cells, **links}]
        who, count = _who(y, wanted), "sum(n)"
        if once:
            who, count = "''", f"coalesce(sum(n) FILTER (WHERE {_who(y)} IS NOT NULL), 0)"
        listed = ", ".join([*columns, f"{who} AS y1", f"{count} AS n"])
        self._make("equal_rows", f"SELECT {listed} FROM counted GROUP BY ALL")
        keys = [f"mine{i}.k AS k_{i}" for i in numbers.values()]
        joins = " ".join(
            f"JOIN mine{i} ON {_same('equal_rows', f'mine{i}', self.mine[release])}"
            for release, i in numbers.items()
        )
        self._make("groups", _numbered(list(cells), "equal_rows"))
        self._make(
            "ours",
            f"SELECT groups.k AS x1, y1, {', '.join(keys)}, sum(n) AS n FROM equal_rows {joins} "
            f"JOIN groups ON {_same('equal_rows', 'groups', list(cells))} GROUP BY ALL",
        )
        for release, i in numbers.items():
            names = self.releases[release]
            over = {names[name]: 0 for name in theirs(promise.over, release)}
            who = _who([names[name] for name in theirs(marked, release)], wanted)
            columns = list({**over, **dict.fromkeys(self.yours[release], 0)})
            listed = ", ".join([*columns, f"{who} AS y", "count(*) AS n"])
            self._make("equal_rows", f"SELECT {listed} FROM rows{i} GROUP BY ALL")
            self._make("groups", _numbered(list(over), "equal_rows"))
            self._make(
                f"theirs{i}",
                f"SELECT groups.k AS x, y, yours{i}.k AS k, sum(n)::BIGINT AS n, 1 AS f "
                f"FROM equal_rows JOIN groups ON {_same('equal_rows', 'groups', list(over))} "
                f"JOIN yours{i} ON {_same('equal_rows', f'yours{i}', self.yours[release])} "
                "GROUP BY ALL",
            )
        size = self._size(list(numbers.values()))
        if not size:
            raise InputError(
                "nobody in this table can be anybody in the earlier releases",
                where=", ".join(f"[previous.{name}]" for name in promise.releases),
                do="check that these are the releases it was made beside.",
            )
        self.number = "BIGINT" if size < 2**62 else "HUGEINT"
        if not once and size <= MOST_ROWS:
            self._really(list(numbers.values()))
            return False
        how = "alike" if isinstance(promise, Confidence) else "support" if own_y else smallest
        self._products(list(numbers.values()), once=once, merged=None if alone else how)
        return once

    def _size(self, numbers: Sequence[int]) -> int:
        """How many rows the real join has."""
        behind = ", ".join(
            f"(SELECT k1, sum(n) AS n{i} FROM meet{i} JOIN (SELECT k, sum(n) AS n FROM theirs{i} "
            f"GROUP BY k) ON k = k2 GROUP BY k1) AS b{i}"
            for i in numbers
        )
        times = " * ".join(["n", *(f"n{i}::HUGEINT" for i in numbers)])
        where = " AND ".join(f"b{i}.k1 = ours.k_{i}" for i in numbers)
        [(total,)] = self.ask(f"SELECT coalesce(sum({times}), 0) FROM ours, {behind} WHERE {where}")
        return int(total)

    def _really(self, numbers: Sequence[int]) -> None:
        """Put every record beside every record that may be the same person's."""
        self._make("single", "SELECT ours.* EXCLUDE n FROM ours, range(n::BIGINT)")
        for i in numbers:
            self._make(f"single{i}", f"SELECT x, y, k FROM theirs{i}, range(n::BIGINT)")
        joined = " ".join(
            ["single"]
            + [f"JOIN meet{i} ON meet{i}.k1 = single.k_{i} "
               f"JOIN single{i} ON single{i}.k = meet{i}.k2" for i in numbers]
        )  # fmt: skip
        groups = ", ".join(f"single{i}.x AS x{i}_" for i in numbers)
        who = _both(["y1", *(f"single{i}.y" for i in numbers)])
        self._view(f"SELECT x1, {groups}, {who} AS y, 1 AS n, 1 AS f FROM {joined}")

    def _products(self, numbers: Sequence[int], *, once: bool, merged: str | None) -> None:
        """Put equal rows beside equal rows, once; `merged`: see `_merge`."""
        for i in numbers:  # what stands behind a key of ours, before releases are multiplied
            if merged:
                self._merge(f"theirs{i}", "k", merged)
            counted = "'' AS y, count(DISTINCT y)" if once else f"y, sum(n)::{self.number}"
            self._make(
                f"behind{i}",
                f"SELECT k1, x, {counted} AS n, any_value(f) AS f FROM meet{i} "
                f"JOIN theirs{i} ON k = k2 GROUP BY ALL",
            )
            if merged:  # keys of theirs that we do not tell apart make more groups alike
                self._merge(f"behind{i}", "k1", merged)
        joined = " ".join(
            ["ours", *(f"JOIN behind{i} ON behind{i}.k1 = ours.k_{i}" for i in numbers)]
        )
        groups = ", ".join(f"behind{i}.x AS x{i}_" for i in numbers)
        times = " * ".join([f"ours.n::{self.number}", *(f"behind{i}.n" for i in numbers)])
        folds = " * ".join(["1", *(f"behind{i}.f" for i in numbers)])
        # Of `once`: one of ours counts once in each group of theirs, or with each person there.
        who = "''" if once else _both(["y1", *(f"behind{i}.y" for i in numbers)])
        self._view(f"SELECT x1, {groups}, {who} AS y, {times} AS n, {folds} AS f FROM {joined}")

    def _merge(self, table: str, key: str, how: str) -> None:
        """Take groups of theirs for one whose keys are the same, in the same proportions ("alike").

        Of those, the smallest ("least"), or only equal ones ("same"), or whatever the proportions
        ("support").
        """
        shape = {"support": "1", "same": "a"}.get(how, "a // g")
        self._make(
            "profiles",
            f"""
            WITH wholes AS (SELECT x, {key} AS k, sum(n) AS n, any_value(f) AS f FROM {table}
                            GROUP BY ALL),
            listed AS (SELECT x, list(k ORDER BY k) AS ks, list(n::{self.number} ORDER BY k) AS ns,
                       any_value(f) AS f FROM wholes GROUP BY x),
            scaled AS (SELECT *, list_reduce(ns, lambda a, b: gcd(a, b)) AS g FROM listed)
            SELECT x, g, row_number() OVER alike AS place, sum(f) OVER (PARTITION BY ks, shape)
                AS f FROM (SELECT x, g, f, ks, list_transform(ns, lambda a: {shape}) AS shape
                FROM scaled) WINDOW alike AS (PARTITION BY ks, shape ORDER BY g)
            """,
        )
        scale = "p.g" if how == "alike" else "1"
        self._make(
            table,
            f"SELECT t.x, t.y, t.{key}, (sum(t.n) // any_value({scale}))::{self.number} AS n, "
            f"any_value(p.f) AS f FROM {table} AS t JOIN profiles AS p ON p.x = t.x "
            "WHERE p.place = 1 GROUP BY ALL",
        )

    def _once(self, who: Sequence[str]) -> bool:
        """Whether there are many who are counted, and each stands in one row of ours only."""
        if not who:
            return False
        [(records, people)] = self.ask(
            f"SELECT coalesce(sum(n), 0), count(DISTINCT ({', '.join(who)})) FROM counted "
            f"WHERE {_who(who)} IS NOT NULL"
        )
        return int(records) == int(people) > MOST_PEOPLE

    @property
    def _groups(self) -> str:
        names = [name for name, *_ in self.ask("DESCRIBE joined")]
        return ", ".join(n for n in names if n == "x1" or (n.startswith("x") and n.endswith("_")))

    def _smallest(self, promise: Anonymity) -> tuple[int, int, int]:
        smallest, groups, below = self._sizes(promise, "least")
        if below:  # larger groups were counted with the least that is like them
            smallest, groups, below = self._sizes(promise, "same")
        return smallest, groups, below

    def _sizes(self, promise: Anonymity, merged: str) -> tuple[int, int, int]:
        added_up = self._join(promise, promise.of, smallest=merged)
        size = "count(DISTINCT y)" if promise.of and not added_up else "sum(n)"
        [(smallest, groups, below)] = self.ask(
            f"""
            WITH groups AS (SELECT {size} AS size, any_value(f) AS f FROM joined
                            GROUP BY {self._groups})
            SELECT min(size), sum(f), coalesce(sum(f) FILTER (WHERE size < ?), 0) FROM groups
            """,
            [promise.k],
        )
        return int(smallest), int(groups), int(below)

    def _largest(self, promise: Confidence, name: str) -> tuple[Fraction, int, int]:
        listed = promise.sensitive[name]
        self._join(promise, [name], None if listed == "*" else listed)
        groups = self._groups
        self._make(
            "parts",
            f"SELECT {groups}, y, sum(n)::{self.number} AS part, any_value(f) AS f FROM joined "
            f"GROUP BY {groups}, y",
        )
        self._make(
            "wholes",
            f"SELECT {groups}, sum(part)::{self.number} AS whole, any_value(f) AS f FROM parts "
            f"GROUP BY {groups}",
        )
        [(count,)] = self.ask("SELECT sum(f) FROM wholes")
        every = self.ask(
            f"SELECT part, whole, sum(wholes.f) AS times FROM parts JOIN wholes USING ({groups}) "
            "WHERE y IS NOT NULL GROUP BY part, whole"
        )
        sure = [(Fraction(int(part), int(whole)), int(times)) for part, whole, times in every]
        above = sum(times for share, times in sure if share > promise.at_most)
        return max((share for share, _ in sure), default=Fraction(0)), int(count), above


def _numbered(columns: Sequence[str], table: str) -> str:
    cells = ", ".join(columns) or "1 AS z"
    return f"SELECT *, row_number() OVER () AS k FROM (SELECT DISTINCT {cells} FROM {table})"


def _same(one: str, other: str, columns: Sequence[str]) -> str:
    return " AND ".join(f"{one}.{column} = {other}.{column}" for column in columns) or "true"


def _who(columns: Sequence[str], wanted: Sequence[str] | None = None) -> str:
    """Those who are counted, as a text; NULL where a part is missing, or none that is wanted."""
    if not columns:
        return "''"
    missing = " OR ".join(f"({column}) = ''" for column in columns)
    if wanted is not None:
        missing += f" OR ({columns[0]}) NOT IN ({', '.join(map(_text, wanted))})"
    text = " || ".join(f"(length({column}) || ':' || ({column}))" for column in columns)
    return f"CASE WHEN {missing} THEN NULL ELSE {text} END"


def _both(parts: Sequence[str]) -> str:
    """Who is counted on several sides; NULL where one of them is missing."""
    return " || ".join(parts)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
