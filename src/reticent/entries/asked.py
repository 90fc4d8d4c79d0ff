"""Who asked for what: requests and marks, found in a table by record number or id."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.data.columns import Column, without_missing
from reticent.entries.policy import EntryPolicy, EntryRoles
from reticent.errors import InputError, Problem, did_you_mean, listed, many, quoted, refuse
from reticent.files import tabular
from reticent.files.output import csv_text

Cells = Sequence[str | None]


@dataclass(frozen=True, slots=True)
class Asked:
    """Requests and marks of one table; records count from 0."""

    records: NDArray[np.int64]  # whose sensitive entry must be hidden: rising, each once
    fixed: NDArray[np.bool_]  # by record, and column of `EntryRoles.entries`: must be published
    names: tuple[str, ...]  # of those records, as the requests call them
    marks: tuple[tuple[str, str], ...]  # record and column, as they were given
    warnings: tuple[str, ...] = ()


def find(policy: EntryPolicy, roles: EntryRoles, rows: int, ids: Column | None) -> Asked:
    """Look up whoever requests and marks name; all that is wrong with them is said at once.

    `ids`: the column by whose values records are called; without it they go by their numbers.
    """
    problems: list[Problem] = []
    warnings: list[str] = []
    known, how = _by_its_number(rows) if ids is None else _by_id(ids, problems, warnings)

    def look_up(cells: Cells, where: str, what: str) -> list[int]:
        """The record of each cell, -1 where it names none."""
        found = [known(cell or "") for cell in cells]
        problems.extend(_nowhere(found, cells, where, what, how))
        return found

    (asked,), where = _listed(policy, "requests", ("record",), problems)
    (marked, columns), at = _listed(policy, "publish", ("record", "column"), problems)
    records, places = look_up(asked, where, "requests"), look_up(marked, at, "marks")
    entries = {name: i for i, name in enumerate(roles.entries)}
    problems += _unmarkable(columns, at, roles)
    fixed = np.zeros((rows, len(entries)), np.bool_)
    for record, column in zip(places, columns, strict=True):
        if record >= 0 and column in entries:
            fixed[record, entries[column]] = True
    named = {record: name for record, name in zip(records, asked, strict=True) if record >= 0}
    both = [record for record in sorted(named) if fixed[record, -1]]
    if both:
        problems.append(
            Problem(
                f"{many(len(both), 'record is', 'records are')} both requested and marked to be "
                f'published in "{roles.sensitive}": {by_number(both)}',
                where=at, do="take the request or the mark back.",
                values=tuple(str(named[record]) for record in both) if ids is not None else (),
            )
        )  # fmt: skip
    refuse(problems)
    if len(named) < len(asked):
        more = many(len(asked) - len(named), "request repeats", "requests repeat")
        warnings.append(f"{more} an earlier one, and counts once.")
    if not named:
        warnings.append("nobody asked for anything: there are no requests.")
    rising = sorted(named)
    return Asked(
        np.array(rising, np.int64),
        fixed,
        tuple(str(named[record]) for record in rising),
        tuple((str(r), str(c)) for r, c in zip(marked, columns, strict=True)),
        tuple(warnings),
    )


def check(policy: EntryPolicy) -> None:
    """Refuse lists that cannot be read, as far as they tell without a table."""
    problems: list[Problem] = []
    _listed(policy, "requests", ("record",), problems)
    _listed(policy, "publish", ("record", "column"), problems)
    refuse(problems)


def by_number(records: Sequence[int]) -> str:
    """Records as messages call them.

    >>> by_number([3, 7]), by_number([11])
    ('records 4, 8', 'record 12')
    """
    return f"record{'s' * (len(records) > 1)} {listed([f'{r + 1:,}' for r in records])}"


def _listed(
    policy: EntryPolicy, key: str, names: Sequence[str], problems: list[Problem]
) -> tuple[list[Cells], str]:
    """The columns of a list of requests or marks, and how messages call it."""
    given = getattr(policy, key) or ()
    if not isinstance(given, str):
        rows = [(row,) if isinstance(row, str) else row for row in given]
        return [[row[i] for row in rows] for i in range(len(names))], f"{policy.name}, {key}"
    try:
        return _read(policy, key, given, names), str(policy.folder / given)
    except InputError as error:
        problems += error.problems
    return [[] for _ in names], str(policy.folder / given)


def _read(policy: EntryPolicy, key: str, given: str, names: Sequence[str]) -> list[Cells]:
    path = policy.folder / given
    if not path.exists():
        near = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
        hint = did_you_mean(path.name, near) or "a path is relative to the policy file."
        raise InputError(f"there is no file {path}", where=f"{policy.name}, {key}", do=hint)
    parsed = tabular.parse(path)
    called = {name.strip().lower(): name for name in parsed.arrow.column_names}
    if lacking := [name for name in names if name not in called]:
        raise InputError(  # what stands there instead may be somebody's id
            f"it has no column {quoted(lacking)}", where=str(path),
            do=f"its first line must say  {','.join(names)}.",
        )  # fmt: skip
    table = parsed.table(None)
    return [table.columns[called[name]].cells().to_pylist() for name in names]


def _by_its_number(rows: int) -> tuple[Callable[[str], int], str]:
    """Which record a cell names, -1 for none, and how they are called."""

    def record(cell: str) -> int:
        cell = cell.strip()
        is_number = cell.isascii() and cell.isdigit() and len(cell) < 19
        return int(cell) - 1 if is_number and 1 <= int(cell) <= rows else -1

    return record, f"records are numbered from 1 to {rows:,}, without the header; or set  id."


def _by_id(
    column: Column, problems: list[Problem], warnings: list[str]
) -> tuple[Callable[[str], int], str]:
    """The same by what a column says of them."""
    column = without_missing(column)
    gap, how = column.missing, f'records are named by the values of column "{column.name}".'
    counts = np.bincount(column.codes, minlength=len(column.values))
    if gap is not None:
        warnings.append(
            f"{many(int(counts[gap]), 'record has', 'records have')} no "
            f'"{column.name}", so nobody can ask for them.'
        )
        counts[gap] = 0
    twice = np.flatnonzero(counts > 1).tolist()
    texts = column.texts()
    if twice:
        problems.append(
            Problem(
                f"{len(twice):,} of its values name several records{column.seen(twice)}",
                where=f'column "{column.name}"',
                why="nobody could say whose entry is asked for.",
                do="take a column with another value in each row, or no id.",
                values=tuple(str(texts[code]) for code in twice),
            )
        )
    first = np.full(len(column.values), -1, np.int64)
    first[column.codes[::-1]] = np.arange(len(column.codes))[::-1]
    at = {text: int(first[code]) for code, text in enumerate(texts) if text is not None}
    return (lambda cell: at.get(cell, -1)), how


def _nowhere(
    found: Sequence[int], cells: Cells, where: str, what: str, do: str
) -> Iterator[Problem]:
    """What names no record: where it stands, and never what it says."""
    lost = [row for row, record in enumerate(found) if record < 0]
    if lost:
        yield Problem(
            f"{len(lost):,} of {len(found):,} {what} name no record of the table{_rows(lost)}",
            where=where, do=do, values=tuple(cells[row] or "" for row in lost),
        )  # fmt: skip


def _unmarkable(columns: Cells, where: str, roles: EntryRoles) -> Iterator[Problem]:
    """Marks on columns that are not published, or not there; what is kept is published anyway."""
    known = {*roles.entries, *roles.kept}
    lost = [row for row, name in enumerate(columns) if name not in known]
    if lost:
        hints = [did_you_mean(columns[row] or "", known) for row in lost]
        yield Problem(
            f"{len(lost):,} of {len(columns):,} marks name no column that is published"
            f"{_rows(lost)}",
            where=where,
            do=next(filter(None, hints), f"those that may be marked: {quoted(roles.entries)}."),
            values=tuple(columns[row] or "" for row in lost),
        )


def _rows(lost: Sequence[int]) -> str:
    return f"; row{'s' * (len(lost) > 1)} {listed([row + 1 for row in lost])} of the list"


def as_csv(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A list of requests or marks as a file."""
    return csv_text([names, *rows])
