"""The rows of an original behind those of a release, told from the labels that the release shows.

A release may count people by a column that it drops. Its owner still has that column, beside rows
that are not masked and stand in another order. So every row of the original is masked once more,
from nothing but what stands in the released columns, by code that knows no search and no recoding:

    a taxonomy     the one released label on the way from the value to the root
    suppression    the value itself if some released cell shows it, else the marker
    intervals      the one released interval that holds the point
    missing        an empty cell if there is one; else the root or the marker

If the masked rows are the released ones, each as often, then the original is the one that this
release was made from, and what it counts stands beside every row. Rows that the policy lets go may
be lacking; where only some of several rows that look alike are, nobody can tell which, and numbers
of people are known from below and above. Any other difference says that original and release do not
belong together, or that one of them was changed.
"""

from __future__ import annotations

import dataclasses
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pyarrow as pa

from reticent.data.columns import Column, Counts
from reticent.data.texts import is_text, shortest
from reticent.privacy.promises import Anonymity
from reticent.privacy.published import PublishedCells, from_table
from reticent.privacy.verify import (
    OriginalMatch,
    PromiseFinding,
    VerifierRules,
    ends_of,
    reading_cells,
    verify,
)

_CELL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True, slots=True)
class MaskedHow:
    """What a policy says of a masked column."""

    column: Column  # of the original, what means missing being missing
    lines: Mapping[str, tuple[str, ...]] | None = None  # leaf → the labels from it to the root
    continuous: bool | None = None  # None: told by what is shown
    decimal: str = "."  # how its texts are written
    date_format: str | None = None


@dataclass(frozen=True, slots=True)
class OriginalRows:
    """An original, as far as it is compared."""

    plain: Mapping[str, Column]  # columns released as they are
    masked: Mapping[str, MaskedHow]
    counted: Mapping[str, Column]  # columns that are dropped and counted, missing ones being null
    records: int
    counts: Counts | None  # records that a row stands for; None: one each
    may_lack: int  # records that a release may leave out


def recount_beside(
    released: pa.Table, counts: Any, original: OriginalRows, rules: VerifierRules,
    findings: Sequence[PromiseFinding], *, memory_limit: int | None = None,
) -> tuple[OriginalMatch, tuple[PromiseFinding, ...]]:  # fmt: skip
    """Compare a release with its original, and recount what it alone does not show."""
    beside = _Beside.of(released, counts, original, rules)
    names, people = list(released.column_names), list(original.counted)
    with reading_cells(beside.cells, memory_limit) as database:
        match, alike = _matched(database, beside.width, original)
        open_findings = [f for f in findings if f.holds is None]
        if not match.matches or not open_findings:
            return match, tuple(findings)
        if alike:
            bounds = _Bounds(database, beside.width, names, people, rules)
            return match, tuple(bounds.told(f) if f.holds is None else f for f in findings)
        rows = database.sql(
            f"SELECT images.* FROM images SEMI JOIN released USING ({_cells(beside.width)})"
        ).to_arrow_table()
    here = rows.select(range(beside.width)).rename_columns(names)
    hidden = rows.select(range(beside.width, rows.num_columns - 1)).rename_columns(people)
    told = dataclasses.replace(
        rules, promises=tuple(f.promise for f in open_findings), labels={}
    )  # labels were looked at
    proof = verify(
        from_table(here, hidden=hidden, counts=rows.column("n")), told, memory_limit=memory_limit
    )
    again = iter(proof.findings)
    return match, tuple(next(again) if f.holds is None else f for f in findings)


def _cells(width: int) -> str:
    return ", ".join(f"c{i}" for i in range(width))


def _matched(database: Any, width: int, original: OriginalRows) -> tuple[OriginalMatch, int]:
    """How the two compare; and how many kinds of rows are there in part."""
    cells = _cells(width)
    database.execute(
        f"""
        CREATE TEMP TABLE kinds AS
        SELECT {cells}, coalesce(made, 0) AS made, coalesce(given, 0) AS given
        FROM (SELECT {cells}, sum(n) AS made FROM images GROUP BY ALL)
        FULL JOIN (SELECT {cells}, sum(n) AS given FROM released GROUP BY ALL) USING ({cells})
        """
    )
    [(strange, lacking, alike)] = database.execute(
        "SELECT sum(greatest(given - made, 0)), sum(greatest(made - given, 0)), "
        "count(*) FILTER (given > 0 AND given < made) FROM kinds"
    ).fetchall()
    found = OriginalMatch(original.records, int(strange), int(lacking), original.may_lack)
    return found, int(alike)


@dataclass(frozen=True, slots=True)
class _Beside:
    """Both tables as the database reads them: released cells, and images with what is counted."""

    cells: PublishedCells
    width: int

    @classmethod
    def of(
        cls, released: pa.Table, counts: Any, original: OriginalRows, rules: VerifierRules
    ) -> _Beside:
        names = list(released.column_names)
        given = [_filled(released.column(name)) for name in names]
        made = [
            _image(original.masked[name], cells, rules.marker)
            if name in original.masked
            else _filled(original.plain[name].cells())
            for name, cells in zip(names, given, strict=True)
        ]
        keys = [f"c{i}" for i in range(len(names))]
        more = [column.cells() for column in original.counted.values()]
        rows = len(made[0])
        ones = pa.array([1] * rows if original.counts is None else original.counts, pa.int64())
        each = pa.array([1] * released.num_rows if counts is None else counts, pa.int64())
        tables = {
            "released": pa.table([*given, each], [*keys, "n"]),
            "images": pa.table([*made, *more, ones], [*keys, *_people(len(more)), "n"]),
        }
        return cls(PublishedCells("images", tuple(keys), tables), len(keys))


def _people(count: int) -> list[str]:
    return [f"p{i}" for i in range(count)]


def _filled(cells: Any) -> Any:
    """Cells as a file shows them: a missing one is empty."""
    return cells.cast(pa.large_string()).fill_null("")


# --- what a value is shown as --------------------------------------------------------------------


def _image(how: MaskedHow, shown: Any, marker: str) -> Any:
    """A column of the original as this release shows it; null where it shows no such row."""
    labels = set(shown.unique().to_pylist())
    values = how.column.texts()
    if how.lines is not None:
        images = _by_taxonomy(values, how.lines, labels)
    elif how.continuous or (how.continuous is None and _are_intervals(labels - {marker}, values)):
        images = _by_intervals(how, labels, marker)
    else:
        images = [
            value if value is not None and value in labels else _hidden(value, labels, marker)
            for value in values
        ]
    return pa.array(images, pa.large_string()).take(pa.array(how.column.codes))


def _hidden(value: str | None, labels: set[str], marker: str) -> str | None:
    """What stands for a value that is not shown, if anything does."""
    if value is None and "" in labels:
        return ""
    return marker if marker in labels else None


def _by_taxonomy(
    values: Sequence[str | None], lines: Mapping[str, tuple[str, ...]], labels: set[str]
) -> list[str | None]:
    found: list[str | None] = []
    root = next(iter(lines.values()))[-1]
    for value in values:
        if value is None:
            found.append("" if "" in labels else root if root in labels else None)
            continue
        line = lines.get(value) or lines.get(shortest(value), ())
        fitting = [label for label in line if label in labels]
        found.append(fitting[0] if len(fitting) == 1 else None)
    return found


def _are_intervals(labels: set[str], values: Sequence[str | None]) -> bool:
    intervals = labels - {""}
    return bool(intervals) and not intervals & {*values} and all(map(ends_of, intervals))


def _by_intervals(how: MaskedHow, labels: set[str], marker: str) -> list[str | None]:
    told = [(ends, label) for label in labels if (ends := ends_of(label)) is not None]
    times = bool(told) and isinstance(told[0][0][0], datetime)
    alike = all(isinstance(ends[0], datetime) == times for ends, _ in told)
    told = sorted(told) if alike else []
    lows = [ends[0] for ends, _ in told]
    apart = all(one[1] <= other[0] for (one, _), (other, _) in pairwise(told))
    text = is_text(how.column.values.type)
    sign, form = (how.decimal, how.date_format) if text else (".", None)
    found: list[str | None] = []
    for value in how.column.texts():
        point = None if value is None else _time(value, form) if times else _number(value, sign)
        at = bisect_right(lows, point) - 1 if point is not None and apart else -1
        if value is not None and at >= 0:
            (_, high, closed), label = told[at]
            if point < high or (closed and point == high):
                found.append(label)
                continue
        found.append(_hidden(value, labels, marker))
    return found


def _number(text: str, decimal: str) -> Fraction | None:
    cell = text.strip()
    if decimal != ".":
        cell = cell.replace(".", "?").replace(decimal, ".")
    return Fraction(cell) if _CELL.fullmatch(cell) else None


def _time(text: str, date_format: str | None) -> datetime | None:
    try:
        found = (
            datetime.strptime(text, date_format) if date_format else datetime.fromisoformat(text)
        )
    except ValueError:
        return None
    return found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found


# --- where only some of several rows are released ------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Bounds:
    """How many people a group holds at least and at most, whoever was left out."""

    database: Any
    width: int
    names: Sequence[str]
    people: Sequence[str]
    rules: VerifierRules

    def told(self, finding: PromiseFinding) -> PromiseFinding:
        """The same promise, decided if either bound decides it."""
        promise = finding.promise
        known = {n: f"c{i}" for i, n in enumerate(self.names)}
        known |= {n: f"p{i}" for i, n in enumerate(self.people)}
        if (
            not isinstance(promise, Anonymity)
            or promise.releases
            or not {*promise.of} <= known.keys()
        ):
            return finding
        over = ", ".join(known[name] for name in promise.over)
        of = [known[name] for name in promise.of]
        here = " AND ".join(f"({cell} IS NOT NULL AND {cell} <> '')" for cell in of)
        cells = _cells(self.width)
        [(least, most, groups)] = self.database.execute(
            f"""
            WITH kept AS (SELECT * FROM images JOIN kinds USING ({cells}) WHERE given > 0),
            held AS (SELECT {over}, count(DISTINCT ({", ".join(of)})) FILTER ({here}) AS most
                     FROM kept GROUP BY ALL),
            gone AS (SELECT {over}, sum(made - given) AS lacking
                     FROM kinds WHERE given > 0 GROUP BY ALL)
            SELECT min(greatest(most - lacking, 0)), min(most), count(*)
            FROM held JOIN gone USING ({over})
            """
        ).fetchall()
        if int(least) >= promise.k:
            return PromiseFinding(promise, True, int(least), int(groups))
        if int(most) < promise.k:
            return PromiseFinding(promise, False, int(most), int(groups))
        return finding
