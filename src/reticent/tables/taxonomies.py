"""Taxonomies beside the tables they are for: checked, or made from the values of a column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reticent.errors import InputError, refuse
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
    from reticent.files.taxonomies import load, still_open

    found = load(Path(path), unfinished=True)
    if (data is None) != (column is None):
        raise InputError("a table and a column go together", where="taxonomy check")
    problems = [problem] if (problem := still_open(found, Path(path))) else []
    if data is not None and column is not None:
        try:
            generalized(_column(data, column, reading, means), found, "*", str(path))
        except InputError as uncovered:
            problems += uncovered.problems
    refuse(problems)
    return found


def make_taxonomy(
    data: Any,
    column: str,
    *,
    output: str | Path,
    prefix: str | None = None,
    date: bool = False,
    bins: str | Sequence[str] | None = None,
    equal: int | str | None = None,
    width: str | None = None,
    skeleton: bool = False,
    keep: str | Path | None = None,
    levels: int | None = None,
    write_delimiter: str | None = None,
    bom: bool = False,
    reading: Reading | None = None,
    force: bool = False,
    **means: Any,
) -> Taxonomy:
    """Make a taxonomy from the values of a column, in one of six ways.

    Several lists of `bins`, several numbers in `equal` or `width`, or a number of `levels` make
    several levels. A `skeleton` has a mark in the place of each group, to be filled in; the rows of
    an earlier one to `keep` stay as they are.
    """
    from reticent.data import taxonomy_making as making
    from reticent.data.taxonomy import from_rows
    from reticent.files.output import check_free, refuse_inputs
    from reticent.files.tabular import Reading
    from reticent.files.taxonomies import load, save_rows

    bins = [bins] if isinstance(bins, str) else [*(bins or ())]
    ways = [prefix is not None, date, bool(bins), equal is not None, width is not None, skeleton]
    if sum(ways) != 1:
        raise InputError("choose one of --prefix, --date, --bins, --equal, --width and --skeleton")
    if levels is not None and (prefix is not None or date):
        raise InputError(
            "--levels goes with --bins, --equal, --width and --skeleton",
            do="--prefix 1,2,3  has a level a number;  --date  has months and years.",
        )
    if keep is not None and not skeleton:
        raise InputError("--keep goes with --skeleton", do="rules make all rows anew.")
    check_free(Path(output), force=force)
    refuse_inputs([Path(output)], inputs(data))
    reading = reading or Reading()
    decimal, steps = reading.form["decimal"], 1 if levels is None else levels
    values = [text for text in _column(data, column, reading, means).texts() if text is not None]
    if skeleton:
        earlier = None if keep is None else load(Path(keep), unfinished=True)
        rows = making.skeleton(values, steps, keep=earlier)
        bom = bom or not all(cell.isascii() for row in rows for cell in row)
        made = from_rows(rows, str(output))
        save_rows(rows, Path(output), sign=write_delimiter or ",", bom=bom, force=force)
        return made
    if prefix is not None:
        made = making.by_prefix(values, [int(n) for n in _listed(prefix, "--prefix", int)])
    elif date:
        made = making.by_date(values, reading.date_format)
    elif bins:
        finest, *others = (_listed(edges, "--bins", float) for edges in bins)
        made = making.by_bins(values, finest, decimal, coarser=others, levels=steps)
    elif width is not None:
        widths = _listed(width, "--width", float)
        made = making.by_width(values, widths, decimal, levels=steps)
    else:
        count, *fewer = (int(n) for n in _listed(str(equal), "--equal", int))
        made = making.by_equal(values, count, decimal, coarser=fewer, levels=steps)
    save_rows(made.rows(), Path(output), sign=write_delimiter or ",", bom=bom, force=force)
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
