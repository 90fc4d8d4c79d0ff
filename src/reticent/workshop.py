"""The flows around a release: a first policy, taxonomies, invented data to try things on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reticent.arriving import at_hand, inputs, means_of
from reticent.errors import InputError, did_you_mean, quoted
from reticent.watching import Clock, Watch

if TYPE_CHECKING:
    from reticent.table.engines import Source
    from reticent.table.files import Reading
    from reticent.table.schema import Column, Table
    from reticent.table.taxonomy import Taxonomy

_LOOKED_AT = 200_000  # rows that a draft is made from, where not all of them fit in memory


def draft(
    data: Any,
    *,
    output: str | Path | None = None,
    reading: Reading | None = None,
    force: bool = False,
    show_values: bool = False,
    **means: Any,
) -> str:
    """Draft a commented policy from a table, or the first rows of a long one; write it if asked.

    `means` are those of `release`: engine, engine_options, memory_limit, table.
    """
    from reticent import drafting
    from reticent.table.files import Reading
    from reticent.table.output import check_free, refuse_inputs, whole_file

    if output is not None:
        check_free(Path(output), force=force)
        refuse_inputs([Path(output)], inputs(data))
    table = _taken(data, reading, means, _first_rows)
    if not table.rows:
        raise InputError("the table has no rows", where=table.name)
    text = drafting.draft(table, reading or Reading(), show_values=show_values)
    if output is not None:
        with whole_file(Path(output), force=force) as path:
            path.write_text(text, encoding="utf-8")
    return text


def _taken(
    data: Any, reading: Reading | None, means: Mapping[str, Any], taking: Callable[[Source], Table]
) -> Table:
    """A table; of one that does not fit in memory, or stands in a database, what is taken of it."""
    with ExitStack() as ends:
        clock = Clock(Watch())
        return at_hand(data, reading, means_of(**means), clock, ends, taking, None)[0]


def _first_rows(source: Source) -> Table:
    found = source.first(_LOOKED_AT)
    if found.rows == _LOOKED_AT < source.rows:
        told = f"Only its first {found.rows:,} rows, of about {source.rows:,}, were looked at."
        found = replace(found, notes=(*found.notes, told))
    return found


def check_taxonomy(
    path: str | Path,
    data: Any = None,
    column: str | None = None,
    *,
    reading: Reading | None = None,
    **means: Any,
) -> Taxonomy:
    """Look for every problem of a taxonomy, and for values of a column that it does not cover."""
    from reticent.table.encode import generalized
    from reticent.table.taxonomy import load

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
    from reticent.table import making, taxonomy
    from reticent.table.files import Reading
    from reticent.table.output import check_free, refuse_inputs

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
        made = making.by_bins(values, _listed(bins, "--bins", float), reading.decimal)
    else:
        made = making.by_equal(values, equal or 1, reading.decimal)
    taxonomy.save(made, Path(output))
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
    from reticent.table.schema import without_missing

    def taken(source: Source) -> Table:
        return source.counted([name]) if name in source.schema.names else source.first(1)

    table = _taken(data, reading, means, taken)
    if name not in table.columns:
        raise InputError(
            f'there is no column "{name}"', where=table.name,
            do=did_you_mean(name, table.columns) or f"it has {quoted(table.columns)}.",
        )  # fmt: skip
    return without_missing(table.columns[name])


def make_sample(
    kind: str, rows: int, seed: int, *, output: str | Path, force: bool = False
) -> list[str]:
    """Write invented data: as one file, or into a folder together with a policy for it."""
    from reticent import sample
    from reticent.table.files import from_arrow, suffix_of
    from reticent.table.output import check_free, whole_file, whole_folder
    from reticent.table.sheets import sheet, write

    target = Path(output)
    suffix = "" if str(output).endswith("/") else suffix_of(target)
    text, taxonomies = sample.policy(kind)
    files = {"policy.toml": text, **taxonomies}
    holds = (f"{kind}.csv", *files)
    check_free(target, force=force, holds=() if suffix else holds)
    table = sample.make(kind, rows, seed)
    whole = sheet(list(from_arrow(table).columns.values()), order="input")
    if suffix:
        with whole_file(target, force=force) as path:
            write(whole, path, suffix)
        return [str(target)]
    with whole_folder(target, force=force, holds=holds) as folder:
        write(whole, folder / f"{kind}.csv", ".csv")
        for name, content in files.items():
            (folder / name).write_text(content, encoding="utf-8")
    return [str(target / name) for name in holds]
