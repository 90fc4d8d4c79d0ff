"""Recount every promise on a published table, from its cells alone.

Plain SQL on DuckDB, slow and obvious beside the engines, and sharing no line with them. It knows
what a masked cell may look like (a taxonomy label, a suppressed value or the marker, an interval,
an empty cell for a disclosed missing value) and takes groups by equality of cells, whatever their
level.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pyarrow as pa

from reticent.data.memory import spill_folder
from reticent.data.texts import texts
from reticent.errors import Broken, InputError, Problem, many, quoted, refuse
from reticent.privacy.floors import Floor, FloorFinding
from reticent.privacy.identifying import forbidden, forms, looks_like
from reticent.privacy.people import PeopleInBoth
from reticent.privacy.promises import Anonymity, Confidence, Promise, ours
from reticent.privacy.published import PublishedCells
from reticent.privacy.rejoin import Meeting, Queries, Rejoined, columns_of, text_of
from reticent.privacy.rejoin_fast import FastJoin
from reticent.privacy.singled import SingledOut

_ALONE = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
_PRINT_AS_THEY_ARE = {
    "BOOLEAN", "DATE", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT",
    "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
}  # fmt: skip
_ALIKE = {  # cells that differ and print alike
    "VARCHAR": "coalesce({}, '')",
    "FLOAT": "CASE WHEN isnan({0}) THEN NULL ELSE {0} END",  # nullif misses those of Parquet
    "DOUBLE": "CASE WHEN isnan({0}) THEN NULL ELSE {0} END",
}
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")
# Its own reader of intervals: it shares none with those whose labels it judges.
_INTERVAL = re.compile(r"\[(?P<low>[^,\[\]()]+),(?P<high>[^,\[\]()]+)(?P<end>[\])])")
_COMMA_INTERVAL = re.compile(r"(\[)([^;\[\]()]+)(?:; )([^;\[\]()]+)([\])])")
_COMMA_NUMBER = re.compile(r"-?(\d+(,\d+)?([eE][+-]?\d+)?|inf)")


@dataclass(frozen=True, slots=True)
class PromiseFinding:
    """What recounting one promise gave."""

    promise: Promise
    holds: bool | None  # None: the file lacks a column that the promise counts
    value: int | Fraction | None  # the smallest group, or the largest confidence
    groups: int = 0
    rows: int = 0  # records in groups (or inferences) that break the promise


@dataclass(frozen=True, slots=True)
class OriginalMatch:
    """How a release compares with the table that it is said to be made from."""

    records: int  # of the original, without those that a missing value keeps out
    strange: int  # released records that the original does not give
    lacking: int  # records of the original that are not released,
    may_lack: int  # and how many of them the policy lets go
    compared: tuple[str, ...] = ()  # by which columns,
    absent: tuple[str, ...] = ()  # and which are not here to be compared

    @property
    def matches(self) -> bool:
        """Whether the release can be made from it."""
        return not self.strange and self.lacking <= self.may_lack


@dataclass(frozen=True, slots=True)
class Proof:
    """The verifier's word on one table."""

    rows: int
    findings: tuple[PromiseFinding, ...]
    leftovers: tuple[Problem, ...] = ()  # columns or hidden content that must not be there
    warnings: tuple[str, ...] = ()  # what breaks no promise but should be looked at
    singled_out: SingledOut | None = None  # by what no promise covers
    floors: tuple[FloorFinding, ...] = ()  # how fine single columns are
    original: OriginalMatch | None = None  # where somebody handed it over
    people: tuple[PeopleInBoth, ...] = ()  # who are in earlier releases, too

    @property
    def mismatch(self) -> bool:
        """Whether it was made from another table than the one handed over, or was changed."""
        return self.original is not None and not self.original.matches

    @property
    def holds(self) -> bool:
        """Whether nothing was found that breaks the policy; uncheckable promises aside."""
        kept = all(f.holds is not False for f in self.findings)
        return kept and not self.leftovers and all(one.holds for one in self.floors)

    @property
    def verdict(self) -> bool | None:
        """The same; None where some promise could not be checked."""
        return None if self.holds and (self.unchecked or self.mismatch) else self.holds

    @property
    def unchecked(self) -> tuple[PromiseFinding, ...]:
        """The promises that this file alone cannot show."""
        return tuple(f for f in self.findings if f.holds is None)


@dataclass(frozen=True, slots=True)
class VerifierRules:
    """What the verifier knows of a policy: no more than what it reads in a published table."""

    promises: tuple[Promise, ...]
    labels: Mapping[str, frozenset[str] | None]  # masked column → its labels; None: any text
    intervals: Mapping[str, tuple[Any, ...]]  # masked column of intervals → its range or bins
    fixed: frozenset[str]  # those of them whose bins are fixed
    marker: str
    dropped: frozenset[str]
    expected: frozenset[str]  # columns that some promise needs and the policy publishes
    missing_values: frozenset[str] = frozenset()
    missing_allowed: bool = True
    meeting: Meeting = dataclasses.field(default_factory=Meeting)  # with earlier releases
    commas: frozenset[str] = frozenset()  # columns of numbers written with a decimal comma
    floors: tuple[Floor, ...] = ()  # columns that are published no finer than a rule says
    spellings: Mapping[str, frozenset[str]] = dataclasses.field(default_factory=dict)
    """Of columns whose values may be shown as they are: spellings that stand for another value."""
    rule: str | None = None  # which forbids cells of some forms


def verify(
    source: PublishedCells, rules: VerifierRules, *, memory_limit: int | None = None
) -> Proof:
    """Recount every promise on a published table, in so many bytes of memory if told."""
    _refuse_lacking(rules, source)
    with reading_cells(source, memory_limit) as database:
        counted = _Counted(database, source, rules)
        floors = tuple(_how_fine(counted, one, rules) for one in rules.floors)
        finer = {one.floor.column for one in floors if not one.holds}  # which says enough
        refuse(_foreign_labels(counted, rules, finer))
        findings = tuple(_recount(counted, promise, rules) for promise in rules.promises)
        leftovers = (
            *_still_there(rules, source), *_forbidden(database, source, rules), *counted.unmerged
        )  # fmt: skip
        return Proof(counted.rows, findings, leftovers, floors=floors)


def alone(source: PublishedCells, names: Sequence[str], *, memory_limit: int | None = None) -> int:
    """How many published records no other equals in some columns, as they print."""
    with reading_cells(source, memory_limit) as database:
        cells = [f"c{source.names.index(name)}" for name in names]
        told = database.sql(f"SELECT {', '.join(cells)} FROM {source.sql} LIMIT 0")
        kinds = dict(zip(cells, map(str, told.types), strict=True))
        printed = ", ".join(_ALIKE.get(kinds[cell], "{}").format(cell) for cell in cells)
        [(count,)] = database.sql(
            f"SELECT count(*) FROM (SELECT 1 FROM {source.sql} GROUP BY {printed} "
            "HAVING count(*) = 1)"
        ).fetchall()
        return int(count)


@contextmanager
def reading_cells(source: PublishedCells, memory_limit: int | None) -> Iterator[Any]:
    """A database that reads published cells; what it says of them is put in our words."""
    import duckdb

    try:
        with spill_folder() as spill, duckdb.connect(config=_ALONE) as database:
            database.execute(f"SET temp_directory = {text_of(str(spill))}")
            if not source.hidden:  # which stand beside rows by their order
                database.execute("SET preserve_insertion_order = false")
            database.execute("SET TimeZone = 'UTC'")
            if memory_limit:
                database.execute(f"SET memory_limit = '{memory_limit}B'")
            for name, table in source.tables.items():
                database.register(name, table)
            yield database
    except duckdb.InterruptException:
        raise
    except (duckdb.OutOfMemoryException, duckdb.IOException, duckdb.InvalidInputException) as error:
        raise InputError(  # whose words quote rows
            f"the table cannot be recounted ({type(error).__name__})",
            do="check that there is room for it in memory and on the disk.",
        ) from None
    except duckdb.Error as error:
        raise Broken(
            f"the table cannot be recounted ({type(error).__name__})",
            why="the verifier asked for something that makes no sense: a fault of this program.",
            do="please report it, with the policy but without the data.",
        ) from None


class _Counted(Queries):
    """The table ``counted``: equal rows of the columns that matter, made in one pass."""

    def __init__(self, database: Any, source: PublishedCells, rules: VerifierRules) -> None:
        super().__init__(database)
        wanted = {name for promise in rules.promises for name in ours(columns_of(promise))}
        wanted |= rules.meeting.linking(rules.promises) | {one.column for one in rules.floors}
        if rules.rule and not source.is_read_again:
            wanted |= {*source.names}
        self.column = {n: f"c{i}" for i, n in enumerate(source.names) if n in wanted}
        spelt = [n for n in source.names if n in rules.spellings and n not in source.hidden]
        beside = [f"c{source.names.index(n)}" for n in spelt if n not in self.column]
        cells = ", ".join([*self.column.values(), *beside]) or "0 AS nothing"
        whole = ""
        if source.hidden and "POSITIONAL" in source.sql:  # a shorter side would be filled up
            whole = "WHERE here IS NOT NULL AND there IS NOT NULL"
        if source.counts is None and self._differ(source, rules, whole):
            each = f"SELECT {cells}, 1::BIGINT AS n FROM {source.sql} {whole}"
        else:
            count = f"sum({source.counts})" if source.counts else "count(*)"
            each = f"SELECT {cells}, {count} AS n FROM {source.sql} {whole} GROUP BY ALL"
        database.execute(f"CREATE TEMP TABLE counted AS {each}")
        places = {name: f"c{source.names.index(name)}" for name in spelt}
        self.unmerged = [*self._unmerged(places, rules)]
        if beside:
            only = ", ".join([*self.column.values(), "sum(n) AS n"])
            self.make("counted_alone", f"SELECT {only} FROM counted GROUP BY ALL")
            database.execute("DROP TABLE counted; ALTER TABLE counted_alone RENAME TO counted")
        self._print_cells(rules)
        self.beside: Rejoined | None = None
        self.rows = int(self.ask("SELECT coalesce(sum(n), 0) FROM counted")[0][0])
        self.people = frozenset(
            name for name, cells in source.people.items() if self._are_people(cells, rules)
        )

    def _unmerged(self, places: Mapping[str, str], rules: VerifierRules) -> Iterator[Problem]:
        """Cells that are written as none may be any more."""
        for name, cell in places.items():
            spellings = ", ".join(map(text_of, sorted(rules.spellings[name])))
            [(rows,)] = self.ask(
                f"SELECT coalesce(sum(n), 0) FROM counted WHERE CAST({cell} AS VARCHAR) "
                f"IN ({spellings})"
            )
            if rows:
                yield Problem(
                    f'{many(int(rows), "row")} of column "{name}" '
                    f"{'shows' if rows == 1 else 'show'} a spelling that stands for another value",
                    do="merge the spellings as  same  says.",
                )

    def _are_people(self, cells: Any, rules: VerifierRules) -> bool:
        """Whether some cells are one for each row, all there, and all different."""
        self.database.register("people", pa.table({"who": cells}))
        there = _is_present("CAST(who AS VARCHAR)", rules)
        [(rows, people)] = self.ask(
            f"SELECT count(*), count(DISTINCT who) FILTER (WHERE {there}) FROM people"
        )
        self.database.unregister("people")
        return self.rows == int(rows) == int(people)

    def _differ(self, source: PublishedCells, rules: VerifierRules, whole: str) -> bool:
        """Whether hardly two rows are equal, as a column that tells people apart is counted.

        Then looking for equal ones takes longer than all the rest.
        """
        counted = {n for p in rules.promises if isinstance(p, Anonymity) for n in ours(p.of)}
        cells = [f"approx_count_distinct({self.column[n]})" for n in counted if n in self.column]
        if not cells or source.tables:  # what comes as a stream comes once
            return False
        [(most, rows)] = self.ask(
            f"SELECT greatest({', '.join(cells)}, 0), count(*) FROM {source.sql} {whole}"
        )
        return int(most) > 0.8 * int(rows)

    def _print_cells(self, rules: VerifierRules) -> None:
        """Turn cells of typed files into texts, and decimal commas into points, each cell once."""
        kinds = {name: kind for name, kind, *_ in self.ask("DESCRIBE counted")}
        cells, joins = [], []
        for name, column in self.column.items():
            text = kinds[column] == "VARCHAR"
            if text or kinds[column] in _PRINT_AS_THEY_ARE:
                values = self._said_with_points(name, column, rules) if text else None
                if values is None:
                    cells.append(f"CAST({column} AS VARCHAR) AS {column}")
                    continue
            else:
                shown = self.database.sql(f"SELECT DISTINCT {column} FROM counted").to_arrow_table()
                shown = shown.column(0).combine_chunks()
                values = pa.table({"value": shown, "printed": pa.array(texts(shown), pa.string())})
            self.database.register(f"texts_{column}", values)
            cells.append(f"texts_{column}.printed AS {column}")
            joins.append(
                f"JOIN texts_{column} ON counted.{column} IS NOT DISTINCT FROM texts_{column}.value"
            )
        if not joins and all(kinds[column] == "VARCHAR" for column in self.column.values()):
            return
        self.make(
            "counted_texts",
            f"SELECT {', '.join(cells)}, sum(n) AS n FROM counted {' '.join(joins)} GROUP BY ALL",
        )
        self.database.execute("DROP TABLE counted; ALTER TABLE counted_texts RENAME TO counted")

    def _said_with_points(self, name: str, column: str, rules: VerifierRules) -> Any:
        """What cells with decimal commas mean; nothing where a column has none.

        They are counted by what stands in the file: so two that mean the same are refused.
        """
        intervals, numbers = name in rules.intervals, name in rules.commas
        if not intervals and not numbers:
            return None
        sign = "%;%" if intervals else "%,%"
        odd = f"SELECT 1 FROM counted WHERE {column} LIKE '{sign}' LIMIT 1"
        if not self.ask(odd):
            return None
        cells = [cell for (cell,) in self.ask(f"SELECT DISTINCT {column} FROM counted")]
        if numbers and not all(not cell or _COMMA_NUMBER.fullmatch(cell) for cell in cells):
            return None
        said = [
            cell and (cell.replace(",", ".") if numbers else _interval_with_points(cell))
            for cell in cells
        ]
        if len({*said}) < len({*cells}):
            raise InputError(
                "intervals are written in two ways", where=f'column "{name}"',
                why="whoever sees them can tell records apart that are counted as alike.",
                do="write all of them with one decimal sign.",
            )  # fmt: skip
        return pa.table(
            {"value": pa.array(cells, pa.string()), "printed": pa.array(said, pa.string())}
        )

    def rejoined(self, rules: VerifierRules) -> Rejoined:
        """The same beside earlier releases."""
        if self.beside is None:
            missing = sorted(rules.missing_values | {""})
            self.beside = Rejoined(
                self.database, rules.meeting, self.column, self.people, missing, rules.marker
            )
        return self.beside

    def list(self, names: Iterable[str]) -> str:
        """Columns as SQL lists them."""
        return ", ".join(self.column[name] for name in names)


def _recount(counted: _Counted, promise: Promise, rules: VerifierRules) -> PromiseFinding:
    if promise.releases:
        return _rejoin(counted, promise, rules)
    if any(name not in {*counted.column, *counted.people} for name in ours(columns_of(promise))):
        return PromiseFinding(promise, None, None)
    if isinstance(promise, Anonymity):
        return _smallest_group(counted, promise, rules)
    return _largest_confidence(counted, promise, rules)


def _rejoin(counted: _Counted, promise: Promise, rules: VerifierRules) -> PromiseFinding:
    rejoined = counted.rejoined(rules)
    if not rejoined.can(promise):
        return PromiseFinding(promise, None, None)
    rejoined.refuse_merged(promise)
    fast = FastJoin(rejoined, promise)
    join = fast if fast.pays else rejoined
    if isinstance(promise, Anonymity):
        smallest, groups, below = join.smallest(promise)
        return PromiseFinding(promise, smallest >= promise.k, smallest, groups, below)
    found = [join.largest(promise, name) for name in promise.sensitive]
    for name, values in promise.sensitive.items():
        if values != "*" and name in counted.column:
            _refuse_absent(counted, promise, name, values)
    sure, above = max(one[0] for one in found), sum(one[2] for one in found)
    return PromiseFinding(promise, sure <= promise.at_most, sure, found[0][1], above)


def _smallest_group(counted: _Counted, promise: Anonymity, rules: VerifierRules) -> PromiseFinding:
    size = "sum(n)"
    if parts := [name for name in promise.of if name not in counted.people]:
        present = " AND ".join(_is_present(counted.column[name], rules) for name in parts)
        each = "sum(n)" if parts != [*promise.of] else f"count(DISTINCT ({counted.list(parts)}))"
        size = f"coalesce({each} FILTER (WHERE {present}), 0)"
    [(smallest, groups, below)] = counted.ask(
        f"""
        WITH groups AS (
            SELECT {size} AS size, sum(n) AS records
            FROM counted GROUP BY {counted.list(promise.over)}
        )
        SELECT min(size), count(*), coalesce(sum(records) FILTER (WHERE size < ?), 0) FROM groups
        """,
        [promise.k],
    )
    return PromiseFinding(
        promise, int(smallest) >= promise.k, int(smallest), int(groups), int(below)
    )


def _largest_confidence(
    counted: _Counted, promise: Confidence, rules: VerifierRules
) -> PromiseFinding:
    largest, above, groups = Fraction(0), 0, 0
    over = counted.list(promise.over)
    same = " AND ".join(
        f"parts.{c} IS NOT DISTINCT FROM wholes.{c}"
        for c in (counted.column[name] for name in promise.over)
    )
    for name, values in promise.sensitive.items():
        column = counted.column[name]
        wanted = _is_present(column, rules)
        if values != "*":
            _refuse_absent(counted, promise, name, values)
            wanted += f" AND {column} IN ({', '.join(map(text_of, values))})"
        counted.make("wholes", f"SELECT {over}, sum(n) AS whole FROM counted GROUP BY ALL")
        counted.make(
            "parts",
            f"SELECT {over}, {column} AS value, sum(n) AS part FROM counted WHERE {wanted} "
            "GROUP BY ALL",
        )
        counted.make(
            "pairs",
            "SELECT part, whole, count(*) AS times "
            f"FROM parts JOIN wholes ON {same} GROUP BY part, whole",
        )
        [(groups,)] = counted.ask("SELECT count(*) FROM wholes")
        above += _above(counted, promise.at_most)
        # Floats only shortlist here; the largest is found, and the promise judged, exactly.
        top = counted.ask(
            "SELECT part, whole FROM pairs "
            "WHERE part / whole >= (SELECT max(part / whole) FROM pairs) - 1e-9"
        )
        largest = max([largest, *(Fraction(int(part), int(whole)) for part, whole in top)])
    return PromiseFinding(promise, above == 0, largest, int(groups), above)


def _above(counted: _Counted, most: Fraction) -> int:
    """How many inferences are surer than allowed; in Python where SQL's integers end."""
    if most.denominator < 10**15:
        broken = f"part * {most.denominator}::HUGEINT > whole * {most.numerator}::HUGEINT"
        [(found,)] = counted.ask(f"SELECT coalesce(sum(times), 0) FROM pairs WHERE {broken}")
        return int(found)
    every = counted.ask("SELECT part, whole, times FROM pairs")
    return sum(int(n) for part, whole, n in every if Fraction(int(part), int(whole)) > most)


def _refuse_absent(
    counted: _Counted, promise: Confidence, column: str, values: Sequence[str]
) -> None:
    """A listed value that never occurs is more likely a typing error than a promise."""
    if promise.allow_absent:
        return
    found = counted.ask(f"SELECT DISTINCT {counted.column[column]} FROM counted")
    absent = [value for value in values if (value,) not in found]
    if absent:
        raise InputError(absent_values(column, absent))


def absent_values(column: str, absent: Sequence[str]) -> Problem:
    """The problem of sensitive values that never occur."""
    return Problem(
        f'sensitive values {quoted(absent)} never occur in column "{column}"',
        where="[[confidence]] sensitive",
        why="a typing error would silently remove protection.",
        do="correct them, or say  allow_absent = true  in the template.",
    )


def _is_present(column: str, rules: VerifierRules) -> str:
    """SQL for "this cell is not missing"."""
    missing = ", ".join(map(text_of, sorted(rules.missing_values | {""})))
    return f"({column} IS NOT NULL AND {column} NOT IN ({missing}))"


def _refuse_lacking(rules: VerifierRules, source: PublishedCells) -> None:
    """What the policy publishes must be there; what is only counted may have been dropped."""
    named = rules.expected | {one.column for one in rules.floors}
    lacking = sorted(named - {*source.names, *source.unread})
    if lacking:
        raise InputError(
            f"the table lacks {quoted(lacking)}",
            why="the policy is about these columns.",
            do="give the whole released table, and the policy it was made with.",
        )


def _foreign_labels(
    counted: _Counted, rules: VerifierRules, known: Collection[str] = ()
) -> Iterator[Problem]:
    """Every masked cell must be something the policy can show; not said twice of `known`."""
    for column, labels in rules.labels.items():
        if column in known:
            continue
        shown = counted.ask(
            f"SELECT {counted.column[column]}, sum(n) FROM counted GROUP BY 1 ORDER BY 1"
        )
        foreign = [(cell, n) for cell, n in shown if not _may_show(cell, column, labels, rules)]
        if foreign:
            rows = sum(int(n) for _, n in foreign)
            yield Problem(
                f"{many(len(foreign), 'label')}, on {many(rows, 'row')}, "
                f"{'is' if len(foreign) == 1 else 'are'} none "
                "that the policy can show: no node, interval, value or marker",
                where=f'column "{column}"',
                why="groups of such labels say nothing about the promise.",
                do="check that this is the policy the table was masked with.",
                values=tuple(str(cell) for cell, _ in foreign),
            )


def _may_show(
    cell: str | None, column: str, labels: frozenset[str] | None, rules: VerifierRules
) -> bool:
    if cell is None or cell == "":
        return rules.missing_allowed
    if column in rules.intervals:
        return cell == rules.marker or _is_interval(
            cell, rules.intervals[column], column in rules.fixed
        )
    return labels is None or cell in labels


def _interval_with_points(cell: str) -> str:
    """An interval whose borders have decimal commas as one that has points; others stay."""
    match = _COMMA_INTERVAL.fullmatch(cell)
    if match is None:
        return cell
    ends = (
        match[i].replace(",", ".") if _COMMA_NUMBER.fullmatch(match[i]) else match[i]
        for i in (2, 3)
    )
    return f"[{','.join(ends)}{match[4]}"


def ends_of(label: str) -> tuple[Any, Any, bool] | None:
    """From where to where an interval reaches, and whether it holds its end; None if it is none."""
    match = _INTERVAL.fullmatch(_interval_with_points(label))
    if match is None:
        return None
    low, high = _point(match["low"]), _point(match["high"])
    if low is None or high is None or isinstance(low, Fraction) != isinstance(high, Fraction):
        return None
    return low, high, match["end"] == "]"


def _is_interval(cell: str, bounds: Sequence[Any], fixed: bool) -> bool:
    """Whether a label is an interval that a policy with these bounds can show."""
    match = _INTERVAL.fullmatch(cell)
    ends = [_point(match["low"]), _point(match["high"])] if match else []
    if match is None or None in ends:
        return False
    closed = match["end"] == "]"
    edges = [_point(bound) for bound in bounds]
    try:
        if not (ends[0] < ends[1] or (closed and ends[0] == ends[1])):
            return False
        if not edges:
            return True
        if fixed:
            pairs = [*pairwise(edges), (edges[0], edges[-1])]
            return tuple(ends) in pairs and closed == (ends[1] == edges[-1])
        # The largest point may itself be a cut point: [2,3) and [3,3].
        return bool(edges[0] <= ends[0] and ends[1] <= edges[1] and closed <= (ends[1] == edges[1]))
    except TypeError:  # a number among dates, or the other way round
        return False


def _point(end: Any) -> Any:
    """An end of an interval, or a bound of a policy, as something that can be compared."""
    if isinstance(end, str):
        if _NUMBER.fullmatch(end):
            return Fraction(end)
        try:
            end = datetime.fromisoformat(end)
        except ValueError:
            return None
    if isinstance(end, datetime):
        return end.astimezone(UTC).replace(tzinfo=None) if end.tzinfo else end
    if isinstance(end, date):
        return datetime(end.year, end.month, end.day)
    return Fraction(repr(end)) if isinstance(end, float) else Fraction(end)


def _how_fine(counted: _Counted, floor: Floor, rules: VerifierRules) -> FloorFinding:
    """Look at every cell of a column that is to be coarse; what is missing tells nothing."""
    column = counted.column[floor.column]
    shown = counted.ask(f"SELECT {column}, sum(n) FROM counted GROUP BY 1")
    nothing = {"", rules.marker, *rules.missing_values}
    finer = [
        int(n) for cell, n in shown
        if cell is not None and cell.strip() not in nothing and not floor.allows(cell)
    ]  # fmt: skip
    return FloorFinding(floor, len(finer), sum(finer))


_NUMBERS = (  # types of DuckDB, with what may follow
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER",
    "UBIGINT", "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL",
)  # fmt: skip


def _forbidden(database: Any, source: PublishedCells, rules: VerifierRules) -> Iterator[Problem]:
    """Cells whose form a rule forbids, in columns that nobody looked at before."""
    if rules.rule is None:
        return
    looked_at = {*source.hidden, *rules.dropped, *(one.column for one in rules.floors)}
    columns = {f"c{i}": n for i, n in enumerate(source.names) if n not in looked_at}
    place, weight = (source.sql, "1") if source.is_read_again else ("counted", "n")
    kinds = database.sql(f"SELECT * FROM {place} LIMIT 0")
    typed = dict(zip(kinds.columns, map(str, kinds.types), strict=True))
    wanted = {
        c: forms(rules.rule, numbers=typed[c].startswith(_NUMBERS))
        for c in columns
        if typed[c] != "BOOLEAN"
    }
    cells = [
        f"coalesce(sum({weight}) FILTER (WHERE regexp_matches(CAST({c} AS VARCHAR), "
        f"{text_of(form)})), 0)"
        for c, searched in wanted.items()
        for form in searched
    ]
    if not cells:
        return
    [told] = database.sql(f"SELECT {', '.join(cells)} FROM {place}").fetchall()
    found = iter(told)
    for column, searched in wanted.items():
        counts = {form: int(next(found)) for form in searched}
        for thing, count in looks_like(rules.rule, columns[column], counts).items():
            yield forbidden(rules.rule, columns[column], thing, count)


def _still_there(rules: VerifierRules, source: PublishedCells) -> Iterable[Problem]:
    for name in (*source.names, *source.unread):
        if name in rules.dropped and name not in source.hidden:
            yield Problem(
                f'column "{name}" is published although the policy drops it',
                do="remove it from the table.",
            )
