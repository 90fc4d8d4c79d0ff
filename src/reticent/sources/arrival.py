"""Data on their way in: what somebody handed over, as a table that can be searched.

Either all of it, or, where it does not fit in memory, as much as is counted of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reticent.errors import InputError
from reticent.sources.addresses import file_of, is_url, without_password

if TYPE_CHECKING:
    from reticent.data.columns import Table
    from reticent.files.tabular import Parsed, Reading
    from reticent.progress import Clock
    from reticent.sources.engines import RowSource
    from reticent.sources.means import Means


def means_of(
    engine: Any = None,
    memory_limit: int | str | None = None,
    engine_options: Mapping[str, str] | None = None,
    table: str | None = None,
) -> Means:
    """What to count a table with, from what somebody asked for."""
    from reticent.sources.means import ENGINES, Means, bytes_of

    if isinstance(engine, str) and engine not in ENGINES:
        raise InputError(
            f'there is no engine "{engine}"', where="--engine", do=f"use {', '.join(ENGINES)}."
        )
    limit = None if memory_limit is None else bytes_of(str(memory_limit))
    return Means(engine, limit, dict(engine_options or {}), table)


def at_hand(
    data: Any,
    reading: Reading | None,
    means: Means,
    clock: Clock,
    ends: ExitStack,
    counting: Callable[[RowSource], Table],
    spare: Collection[str] | None = (),
) -> tuple[Table, str, RowSource | None]:
    """A table in memory: all of it, or what is to be counted of one that does not fit.

    Nobody needs the `spare` columns; None: those that cannot be understood.
    """
    from reticent.files.tabular import frame_kind
    from reticent.sources.means import elsewhere

    with clock.stage("read"):
        if not elsewhere(data, means):
            return *read(data, reading, spare), None
        from reticent.sources.opening import opened

        source = ends.enter_context(opened(data, reading, means, clock.watch.rows))
    with clock.stage("collapse"):
        kind = "file" if isinstance(data, str | Path) else frame_kind(data) or "far away"
        return counting(source), kind, source


def read(
    data: Any, reading: Reading | None = None, spare: Collection[str] | None = ()
) -> tuple[Table, str]:
    """Read files or take over a data frame; also says which kind of table it was."""
    parsed, kind = parse(data, reading)
    return parsed.table(spare), kind


def parse(data: Any, reading: Reading | None = None) -> tuple[Parsed, str]:
    """The same, not yet taken into codes."""
    from reticent.files import tabular

    if is_url(data):
        raise InputError(
            "databases are read by release, verify, risk, init, policy check and taxonomy alone",
            where=without_password(data), do="give a file, or a release made from the database.",
        )  # fmt: skip
    if isinstance(data, str | Path):
        return tabular.parse(data, reading), "file"
    kind = tabular.frame_kind(data)
    if kind is None:
        raise InputError(
            f"a {type(data).__name__} is no table",
            do="give a path, or a pandas, Polars, PyArrow or DuckDB table.",
        )
    return tabular.parse_frame(data, kind), kind


def inputs(data: Any) -> list[Path]:
    """The files of a table; or their folder: what appears there would be read the next time."""
    from reticent.files.tabular import paths_of

    if is_url(data):
        return [database] if (database := file_of(data)) else []
    if not isinstance(data, str | Path):
        return []
    return [Path(data)] if Path(data).is_dir() else paths_of(data)


def taken(
    data: Any,
    reading: Reading | None,
    means: Mapping[str, Any],
    taking: Callable[[RowSource], Table],
) -> Table:
    """A table; of one that does not fit in memory, or stands in a database, what is taken of it."""
    from reticent.progress import Clock, Watch

    with ExitStack() as ends:
        clock = Clock(Watch())
        told = {"table": reading.table} if reading and not means.get("table") else {}
        found = means_of(**{**means, **told})
        return at_hand(data, reading, found, clock, ends, taking, None)[0]
