"""Data on their way in: what somebody handed over, as a table that can be searched.

Either all of it, or, where it does not fit in memory, as much as is counted of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reticent.errors import InputError

if TYPE_CHECKING:
    from reticent.policy import Policy
    from reticent.table.engines import Source
    from reticent.table.files import Parsed, Reading
    from reticent.table.schema import Table
    from reticent.table.sources import Means
    from reticent.watching import Clock


def means_of(
    engine: Any = None,
    memory_limit: int | str | None = None,
    engine_options: Mapping[str, str] | None = None,
    table: str | None = None,
) -> Means:
    """What to count a table with, from what somebody asked for."""
    from reticent.table.sources import ENGINES, Means, bytes_of

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
    counting: Callable[[Source], Table],
    spare: Collection[str] | None = (),
) -> tuple[Table, str, Source | None]:
    """A table in memory: all of it, or what is to be counted of one that does not fit.

    Nobody needs the `spare` columns; None: those that cannot be understood.
    """
    from reticent.table.files import frame_kind
    from reticent.table.sources import elsewhere, opened

    with clock.stage("read"):
        if not elsewhere(data, means):
            return *read(data, reading, spare), None
        source = ends.enter_context(opened(data, reading, means, clock.watch.rows))
    with clock.stage("collapse"):
        kind = "file" if isinstance(data, str | Path) else frame_kind(data) or "far away"
        return counting(source), kind, source


def counted(source: Source, policy: Policy) -> Table:
    """The rows of a table that stands elsewhere, equal ones counted once.

    Columns that are released as they are come along if rows still repeat with them; a short table
    comes as a whole, since all of it tells which cut is best.
    """
    from reticent.evidence.judge import LONG
    from reticent.privacy.promises import columns_of

    roles = policy.roles(source.schema.names)
    over, sensitive, of = columns_of(policy.promises)
    needed = {*over, *sensitive, *of, *([roles.class_] if roles.class_ else [])}
    names = [name for name in source.schema.names if name in needed]
    every = [n for n in source.schema.names if n in needed or n in roles.kept]
    if policy.previous or source.hardly_longer(every, names):  # kept columns may link to others
        names = every
    table = source.counted(names)
    if len(names) < len(every) and table.records <= LONG:
        table = source.counted(every)
    unknown = [name for name in every if name not in table.columns]
    return replace(table, about=source.about_distinct(unknown))


def policy_of(policy: Policy | Mapping[str, Any] | str | Path) -> Policy:
    """A policy, wherever it comes from."""
    from reticent.policy import Policy

    return Policy.of(policy)


def read(
    data: Any, reading: Reading | None = None, spare: Collection[str] | None = ()
) -> tuple[Table, str]:
    """Read files or take over a data frame; also says which kind of table it was."""
    parsed, kind = parse(data, reading)
    return parsed.table(spare), kind


def parse(data: Any, reading: Reading | None = None) -> tuple[Parsed, str]:
    """The same, not yet taken into codes."""
    from reticent.table import files
    from reticent.table.databases import is_url, without_password

    if is_url(data):
        raise InputError(
            "databases are read by release, verify, risk, init, policy check and taxonomy alone",
            where=without_password(data), do="give a file, or a release made from the database.",
        )  # fmt: skip
    if isinstance(data, str | Path):
        return files.parse(data, reading), "file"
    kind = files.frame_kind(data)
    if kind is None:
        raise InputError(
            f"a {type(data).__name__} is no table",
            do="give a path, or a pandas, Polars, PyArrow or DuckDB table.",
        )
    return files.parse_frame(data, kind), kind


def inputs(data: Any, policy: Policy | None = None) -> list[Path]:
    """The files that a run reads."""
    from reticent.table.databases import file_of, is_url
    from reticent.table.files import paths_of

    files = paths_of(data) if isinstance(data, str | Path) and not is_url(data) else []
    if is_url(data) and (database := file_of(data)):
        files = [database]
    return [*files, *(policy.files() if policy else ())]


def counted_columns(source: Source, columns: set[str]) -> Table:
    """Some columns of a table that stands elsewhere, and how many values others have."""
    names = source.schema.names
    table = source.counted([name for name in names if name in columns])
    others = [name for name in names if name not in columns]
    return replace(table, about=source.about_distinct(others))
