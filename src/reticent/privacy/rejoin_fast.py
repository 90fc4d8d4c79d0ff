"""The fast path of `reticent.privacy.rejoin`: joins that are too long to be made, counted.

Equal rows are joined once, with the product of their numbers; people who stand in one row each are
added up; and groups of theirs that cannot be told apart are taken for one. The plain join says what
is right: this finds the same, on small joins too (`tests/twins/test_rejoin_twin.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from reticent.privacy.promises import Anonymity, Confidence, Promise, ours, theirs
from reticent.privacy.rejoin import Rejoined, largest_share, numbered, same, who_of

MOST_ROWS = 2_000_000  # of a join that is really made
MOST_PEOPLE = 10_000  # who are told apart although each stands in one row only


class FastJoin:
    """What one promise counts, of a table beside earlier releases."""

    def __init__(self, beside: Rejoined, promise: Promise) -> None:
        self.beside = beside
        self.numbers = beside.lay_beside(promise.releases)
        self.pairs = beside.pairs(promise.releases)
        self.number = "BIGINT" if self.pairs < 2**62 else "HUGEINT"  # holds as many as there are
        self.once = isinstance(promise, Anonymity) and self._stand_once(ours(promise.of))

    def _stand_once(self, who: Sequence[str]) -> bool:
        """Whether there are many who are counted, and each stands in one row of ours only."""
        if any(name in self.beside.people for name in who):
            return True
        if not who:
            return False
        cells = [self.beside.cell(self.beside.column[name]) for name in who]
        [(records, people)] = self.beside.ask(
            f"SELECT coalesce(sum(n), 0), count(DISTINCT ({', '.join(cells)})) FROM counted "
            f"WHERE {who_of(cells)} IS NOT NULL"
        )
        return int(records) == int(people) > MOST_PEOPLE

    @property
    def pays(self) -> bool:
        """Whether the join is too long to be made, or only numbers of people are at hand."""
        return self.once or self.pairs > MOST_ROWS

    def smallest(self, promise: Anonymity) -> tuple[int, int, int]:
        """The size of the smallest group, how many there are, and how many are too small."""
        smallest, groups, below = self._sizes(promise, "least")
        if below:  # larger groups were counted with the least that is like them
            smallest, groups, below = self._sizes(promise, "same")
        return smallest, groups, below

    def _sizes(self, promise: Anonymity, merged: str) -> tuple[int, int, int]:
        how = "support" if ours(promise.of) else merged
        groups = self._join(promise, promise.of, how)
        size = "count(DISTINCT y)" if promise.of and not self.once else "sum(n)"
        [(smallest, count, below)] = self.beside.ask(
            f"""
            WITH groups AS (SELECT {size} AS size, any_value(f) AS f FROM joined GROUP BY {groups})
            SELECT min(size), sum(f), coalesce(sum(f) FILTER (WHERE size < ?), 0) FROM groups
            """,
            [promise.k],
        )
        return int(smallest), int(count), int(below)

    def largest(self, promise: Confidence, name: str) -> tuple[Fraction, int, int]:
        """The largest share of a value, how many groups there are, and how many are too sure."""
        listed = promise.sensitive[name]
        groups = self._join(promise, [name], "alike", None if listed == "*" else listed)
        self.beside.make(
            "parts",
            f"SELECT {groups}, y, sum(n)::{self.number} AS part, any_value(f) AS f FROM joined "
            f"GROUP BY {groups}, y",
        )
        self.beside.make(
            "wholes",
            f"SELECT {groups}, sum(part)::{self.number} AS whole, any_value(f) AS f FROM parts "
            f"GROUP BY {groups}",
        )
        [(count,)] = self.beside.ask("SELECT sum(f) FROM wholes")
        every = self.beside.ask(
            f"SELECT part, whole, sum(wholes.f) AS times FROM parts JOIN wholes USING ({groups}) "
            "WHERE y IS NOT NULL GROUP BY part, whole"
        )
        sure, above = largest_share(every, promise)
        return sure, int(count), above

    def _join(
        self, promise: Promise, marked: Sequence[str], how: str, wanted: Sequence[str] | None = None
    ) -> str:
        """Say what ``joined`` is, and list the columns that tell its groups.

        `wanted`: the values that count, others being all alike. The table has the columns x (our
        group), x0, x1, … (theirs), y (who or what is counted; NULL if a part of it is missing), n
        (how many pairs of records it stands for) and f (how many groups of theirs look like this
        one). `how` groups of theirs are merged: see `_merge`.
        """
        self._gather_ours(promise, marked, wanted)
        for release, i in self.numbers.items():
            self._gather_theirs(release, i, promise, marked, wanted)
        alone = any(theirs(marked, release) for release in self.numbers)
        self._multiply(None if alone else how)
        return ", ".join(["x", *(f"x{i}" for i in self.numbers.values())])

    def _gather_ours(
        self, promise: Promise, marked: Sequence[str], wanted: Sequence[str] | None
    ) -> None:
        """Make the table ``ours``: equal rows of ours once.

        Of people who stand in one row each, only their number is kept.
        """
        beside = self.beside
        cells = {beside.column[name]: 0 for name in ours(promise.over)}
        links = {c: 0 for release in self.numbers for c in beside.mine[release]}
        columns = [f"{beside.cell(c)} AS {c}" for c in {**cells, **links}]
        known = [beside.cell(beside.column[n]) for n in ours(marked) if n not in beside.people]
        who, count = who_of(known, wanted), "sum(n)"
        if self.once:
            who, count = "''", f"coalesce(sum(n) FILTER (WHERE {who_of(known)} IS NOT NULL), 0)"
        self._group_equal([*columns, f"{who} AS y", f"{count} AS n"], "counted", cells)
        keys = [f"mine{i}.k AS k_{i}" for i in self.numbers.values()]
        joins = " ".join(
            f"JOIN mine{i} ON {same('equal_rows', f'mine{i}', beside.mine[release])}"
            for release, i in self.numbers.items()
        )
        beside.make(
            "ours",
            f"SELECT groups.k AS x, y, {', '.join(keys)}, sum(n) AS n FROM equal_rows {joins} "
            f"JOIN groups ON {same('equal_rows', 'groups', list(cells))} GROUP BY ALL",
        )

    def _gather_theirs(
        self, release: str, i: int, promise: Promise, marked: Sequence[str],
        wanted: Sequence[str] | None,
    ) -> None:  # fmt: skip
        """Make the table of one release, ``theirs0`` or so: equal rows of theirs once."""
        names = self.beside.releases[release]
        over = {names[name]: 0 for name in theirs(promise.over, release)}
        links = self.beside.yours[release]
        who = who_of([names[name] for name in theirs(marked, release)], wanted)
        columns = {**over, **dict.fromkeys(links, 0)}
        self._group_equal([*columns, f"{who} AS y", "count(*) AS n"], f"rows{i}", over)
        self.beside.make(
            f"theirs{i}",
            f"SELECT groups.k AS x, y, yours{i}.k AS k, sum(n)::BIGINT AS n, 1 AS f "
            f"FROM equal_rows JOIN groups ON {same('equal_rows', 'groups', list(over))} "
            f"JOIN yours{i} ON {same('equal_rows', f'yours{i}', links)} GROUP BY ALL",
        )

    def _group_equal(self, columns: Sequence[str], table: str, over: Iterable[str]) -> None:
        """Make the tables ``equal_rows``, and ``groups`` of those that are equal in `over`."""
        self.beside.make("equal_rows", f"SELECT {', '.join(columns)} FROM {table} GROUP BY ALL")
        self.beside.make("groups", numbered(list(over), "equal_rows"))

    def _multiply(self, merged: str | None) -> None:
        """Put equal rows beside equal rows, once."""
        numbers = self.numbers.values()
        for i in numbers:  # what stands behind a key of ours, before releases are multiplied
            if merged:
                self._merge(f"theirs{i}", "k", merged)
            counted = "'' AS y, count(DISTINCT y)" if self.once else f"y, sum(n)::{self.number}"
            self.beside.make(
                f"behind{i}",
                f"SELECT k1, x, {counted} AS n, any_value(f) AS f FROM meet{i} "
                f"JOIN theirs{i} ON k = k2 GROUP BY ALL",
            )
            if merged:  # keys of theirs that we do not tell apart make more groups alike
                self._merge(f"behind{i}", "k1", merged)
        joined = " ".join(
            ["ours", *(f"JOIN behind{i} ON behind{i}.k1 = ours.k_{i}" for i in numbers)]
        )
        groups = ", ".join(f"behind{i}.x AS x{i}" for i in numbers)
        times = " * ".join([f"ours.n::{self.number}", *(f"behind{i}.n" for i in numbers)])
        folds = " * ".join(["1", *(f"behind{i}.f" for i in numbers)])
        # Of `once`: one of ours counts once in each group of theirs, or with each person there.
        who = "''" if self.once else " || ".join(["ours.y", *(f"behind{i}.y" for i in numbers)])
        self.beside.view(
            "joined",
            f"SELECT ours.x, {groups}, {who} AS y, {times} AS n, {folds} AS f FROM {joined}",
        )

    def _merge(self, table: str, key: str, how: str) -> None:
        """Take groups of theirs for one whose keys are the same, in the same proportions ("alike").

        Of those, the smallest ("least"), or only equal ones ("same"), or whatever the proportions
        ("support").
        """
        shape = {"support": "1", "same": "a"}.get(how, "a // g")
        self.beside.make(
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
        self.beside.make(
            table,
            f"SELECT t.x, t.y, t.{key}, (sum(t.n) // any_value({scale}))::{self.number} AS n, "
            f"any_value(p.f) AS f FROM {table} AS t JOIN profiles AS p ON p.x = t.x "
            "WHERE p.place = 1 GROUP BY ALL",
        )
