"""A table beside itself as a release shows it, row by row.

Released rows are sorted, so no row of a release can be told to be a row of the original. But labels
can be read off a release, and masking the original with them gives the released rows in the
original's order: then the same records can be measured masked and unmasked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from reticent.data.columns import Column, Table, without_missing
from reticent.data.linking import number_rows
from reticent.data.recode import Recoding, read_off
from reticent.data.texts import shortest
from reticent.errors import InputError, quoted
from reticent.evidence.classify import as_numbers
from reticent.tables.prepare import Prepared, cleared, part_of, without_blanks


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
        return cleared(policy.door(self.prepared.reading).table(table), policy)


def told(table: Table, name: str) -> Table:
    """The records that have a value of some column."""
    column = table.columns[name]
    return table if column.missing is None else table.take(column.codes != column.missing)


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
    columns = without_blanks(released, prepared.policy).columns
    shown = {name: without_missing(columns[name]) for name in prepared.roles.released}
    recodings = {
        domain.name: read_off(
            domain,
            {text or "" for text in shown[domain.name].texts()},
            taxonomy=prepared.taxonomies.get(domain.name),
            **prepared.form(domain.name),
        )
        for domain in prepared.domains
    }
    out = None
    with suppress(InputError):  # a value without a place
        masked = AlignedRows.of(prepared, recodings)
        expected = {**prepared.table.columns, **masked.columns}
        out = left_out([without_missing(expected[name]) for name in shown], [*shown.values()])
    most = prepared.policy.suppress_records * prepared.table.rows
    if out is None or out.sum() > most:
        raise InputError(
            "this is no release of that table under that policy: masking the original as it "
            "shows does not give its rows",
            where=released.name,
            do="give the table and the policy that the release was made with.",
        )
    return AlignedRows.of(part_of(prepared, ~out), recodings) if out.any() else masked


def left_out(first: Sequence[Column], second: Sequence[Column]) -> NDArray[np.bool_] | None:
    """Which rows of a table another one lacks; of equal rows the first. None if it has others."""
    rows = len(first[0].codes)
    number, kinds = number_rows(*_coded_alike(first, second))
    lacking = np.bincount(number[:rows], minlength=kinds)
    lacking -= np.bincount(number[rows:], minlength=kinds)
    if (lacking < 0).any():
        return None
    out = np.zeros(rows, dtype=bool)
    if lacking.any():
        order = np.argsort(number[:rows], kind="stable")
        ordered = number[:rows][order]
        place = np.arange(rows) - np.searchsorted(ordered, ordered)
        out[order] = place < lacking[ordered]
    return out


def _coded_alike(
    first: Sequence[Column], second: Sequence[Column]
) -> tuple[list[NDArray[np.int64]], list[int]]:
    """The rows of two tables below each other, column by column, and how many codes each has."""
    codes, sizes = [], []
    for columns in zip(first, second, strict=True):
        at: dict[str | None, int] = {}
        coded = []
        for column in columns:
            texts = (text and shortest(text) for text in column.texts())
            to = np.array([at.setdefault(text, len(at)) for text in texts], np.int64)
            coded.append(to[column.codes])
        codes.append(np.concatenate(coded))
        sizes.append(len(at))
    return codes, sizes
