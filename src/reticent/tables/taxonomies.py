"""Taxonomies beside the tables they are for: checked, or made from the values of a column."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reticent.errors import InputError
from reticent.sources.arrival import inputs, taken

if TYPE_CHECKING:
    from reticent.data.columns import Column, Table
    from reticent.data.taxonomy import Taxonomy
    from reticent.files.tabular import Reading
    from reticent.sources.engines import RowSource


def check_taxonomy(
    path: str | Path,
    data: Any = None,
    column: str | None = None,
    *,
    reading: Reading | None = None,
    **means: Any,
) -> Taxonomy:
    """Look for every problem of a taxonomy, and for values of a column that it does not cover."""
    from reticent.data.encode import generalized
    from reticent.files.taxonomies import load

    found = load(Path(path))
    if (data is None) != (column is None):
        raise InputError("a table and a column go together", where="taxonomy check")
    if data is not None and column is not None:
        generalized(_column(data, column, reading, means), found, "*", str(path))
    return found


def make_taxonomy(
    data: Any,
    column: str,
    *,
    output: str | Path,
    prefix: str | None = None,
    date: bool = False,
    bins: str | None = None,
    equal: int | None = None,
    reading: Reading | None = None,
    force: bool = False,
    **means: Any,
) -> Taxonomy:
    """Make a taxonomy from the values of a column, in one of four ways."""
    from reticent.data import taxonomy_making as making
    from reticent.files.output import check_free, refuse_inputs
    from reticent.files.tabular import Reading
    from reticent.files.taxonomies import save

    if sum([prefix is not None, date, bins is not None, equal is not None]) != 1:
        raise InputError("choose one of --prefix, --date, --bins and --equal")
    check_free(Path(output), force=force)
    refuse_inputs([Path(output)], inputs(data))
    reading = reading or Reading()
    values = [text for text in _column(data, column, reading, means).texts() if text is not None]
    if prefix is not None:
        made = making.by_prefix(values, [int(n) for n in _listed(prefix, "--prefix", int)])
    elif date:
        made = making.by_date(values, reading.date_format)
    elif bins is not None:
        made = making.by_bins(values, _listed(bins, "--bins", float), reading.form["decimal"])
    else:
        made = making.by_equal(values, equal or 1, reading.form["decimal"])
    save(made, Path(output), force=force)
    return made


def _listed(text: str, option: str, kind: type) -> list[str]:
    """The parts of a comma-separated option, each of which must read as `kind`."""
    parts = [part.strip() for part in text.split(",")]
    for part in parts:
        try:
            kind(part)
        except ValueError:
            raise InputError(f'"{part}" is no number', where=option) from None
    return parts


def _column(data: Any, name: str, reading: Reading | None, means: Mapping[str, Any]) -> Column:
    from reticent.data.columns import without_missing
    from reticent.releases.policyfile import unknown_column

    def counted(source: RowSource) -> Table:
        return source.counted([name]) if name in source.schema.names else source.first(1)

    table = taken(data, reading, means, counted)
    if name not in table.columns:
        raise InputError(unknown_column(name, table.name, table.columns, it="it"))
    return without_missing(table.columns[name])
