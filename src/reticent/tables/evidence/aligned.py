"""A table beside itself as a release shows it, row by row.

Released rows are sorted, so no row of a release can be told to be a row of the original. But labels
can be read off a release, and masking the original with them gives the released rows in the
original's order: then the same records can be measured masked and unmasked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.data.collapse import distinct
from reticent.data.columns import Column, Table, trimmed, without_missing
from reticent.data.recode import Recoding, read_off
from reticent.data.scales import shortest
from reticent.errors import InputError, quoted
from reticent.evidence.classify import as_numbers
from reticent.tables.prepare import Prepared, part_of


@dataclass(frozen=True, slots=True)
class AlignedRows:
    """A prepared table and its masked columns, row by row."""

    prepared: Prepared
    recodings: Mapping[str, Recoding]
    columns: Mapping[str, Column]

    @classmethod
    def of(cls, prepared: Prepared, recodings: Mapping[str, Recoding]) -> AlignedRows:
        """Mask a prepared table."""
        return cls(prepared, recodings, recoded(prepared.cleaned, recodings))

    def view(self) -> Table:
        """The table for classifiers: masked columns as shown, intervals as their middles."""
        return for_classifiers(self.prepared.cleaned, self.recodings)

    def further(self, table: Table, needed: Iterable[str]) -> Table:
        """Further records, cleaned as the original was."""
        lacking = [name for name in needed if name not in table.columns]
        if lacking or not table.rows:
            raise InputError(
                f"it lacks {quoted(lacking)}" if lacking else "the table has no rows",
                where=table.name,
            )
        policy = self.prepared.policy
        columns = table.columns
        if policy.trim:
            columns = {name: trimmed(column) for name, column in columns.items()}
        columns = {n: without_missing(c, policy.missing_values) for n, c in columns.items()}
        return replace(table, columns=columns)


def recoded(table: Table, recodings: Mapping[str, Recoding]) -> dict[str, Column]:
    """The masked columns of a table."""
    return {name: recoding.apply(table.columns[name])[0] for name, recoding in recodings.items()}


def for_classifiers(table: Table, recodings: Mapping[str, Recoding]) -> Table:
    """A table with its masked columns as shown, intervals as their middles."""
    masked = recoded(table, recodings)
    masked = {name: as_numbers(column, recodings[name]) for name, column in masked.items()}
    return replace(table, columns={**table.columns, **masked})


def aligned(prepared: Prepared, released: Table) -> AlignedRows:
    """The original masked as its release shows; refused if that does not give the released rows."""
    shown = {}
    for name in prepared.roles.released:
        column = released.columns[name]
        shown[name] = without_missing(trimmed(column) if prepared.policy.trim else column)
    recodings = {
        domain.name: read_off(
            domain,
            {text or "" for text in shown[domain.name].texts()},
            taxonomy=prepared.taxonomies.get(domain.name),
            decimal=prepared.reading.decimal,
            date_format=prepared.reading.date_format,
        )
        for domain in prepared.domains
    }
    try:
        masked = AlignedRows.of(prepared, recodings)
    except InputError:  # a value without a place
        masked = None
    expected = {} if masked is None else {**prepared.table.columns, **masked.columns}
    ours = [without_missing(expected[name]) for name in shown] if masked else []
    if masked and released.rows < prepared.table.rows and prepared.policy.suppress_records:
        out = left_out(ours, list(shown.values()))
        most = prepared.policy.suppress_records * prepared.table.rows
        if out is not None and out.sum() <= most:
            return AlignedRows.of(part_of(prepared, ~out), recodings)
    if masked is None or not same_rows(ours, list(shown.values())):
        raise InputError(
            "this is no release of that table under that policy: masking the original as it "
            "shows does not give its rows",
            where=released.name,
            do="give the table and the policy that the release was made with.",
        )
    return masked


def same_rows(first: Sequence[Column], second: Sequence[Column]) -> bool:
    """Whether two tables of the same columns hold the same rows, in whatever order."""
    if len(first[0].codes) != len(second[0].codes):
        return False
    codes, sizes = _coded_alike(first, second)
    one, other = (distinct(coded, sizes) for coded in codes)
    return np.array_equal(one.counts, other.counts) and all(
        np.array_equal(a, b) for a, b in zip(one.columns, other.columns, strict=True)
    )


def left_out(first: Sequence[Column], second: Sequence[Column]) -> NDArray[np.bool_] | None:
    """Which rows of a table another one lacks; of equal rows the first. None if it has others."""
    codes, sizes = _coded_alike(first, second)
    rows = len(first[0].codes)
    number = np.zeros(rows + len(second[0].codes), dtype=np.int64)
    for one, other, size in zip(*codes, sizes, strict=True):
        number = number * size + np.concatenate([one, other])
        number = np.unique(number, return_inverse=True)[1].reshape(-1)
    kinds = int(number.max()) + 1
    lacking = np.bincount(number[:rows], minlength=kinds)
    lacking -= np.bincount(number[rows:], minlength=kinds)
    if (lacking < 0).any():
        return None
    order = np.argsort(number[:rows], kind="stable")
    ordered = number[:rows][order]
    place = np.arange(rows) - np.searchsorted(ordered, ordered)
    out = np.zeros(rows, dtype=bool)
    out[order] = place < lacking[ordered]
    return out


def _coded_alike(
    first: Sequence[Column], second: Sequence[Column]
) -> tuple[tuple[list[Any], list[Any]], list[int]]:
    """The rows of two tables in the same codes, and how many codes each column has."""
    codes: tuple[list[Any], list[Any]] = ([], [])
    sizes = []
    for a, b in zip(first, second, strict=True):
        at: dict[str | None, int] = {}
        for column, coded in ((a, codes[0]), (b, codes[1])):
            texts = (text and shortest(text) for text in column.texts())
            to = np.array([at.setdefault(text, len(at)) for text in texts], np.int64)
            coded.append(to[column.codes])
        sizes.append(len(at))
    return codes, sizes
