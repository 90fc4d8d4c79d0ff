"""What to count a table with, and whether it fits in memory."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from reticent.errors import InputError, remedy
from reticent.files.formats import is_packed
from reticent.files.tabular import WHOLE, format_of, paths_of
from reticent.sources.addresses import is_ibis_connection, is_ibis_table, is_url
from reticent.sources.spark_session import is_spark

ENGINES = ("memory", "duckdb", "spark")
_LEAST = 400 * 10**6  # bytes: less than the program and its libraries take themselves
OURSELVES = 250 * 10**6  # of them, before the first row is read
_SLOW = 2 * 10**9  # bytes in memory from which on it is faster to count rows first
SHARE = 0.7  # of the memory that is free may be used without being told


@dataclass(frozen=True, slots=True)
class Means:
    """What to read and count a table with: an engine, and how much memory it may take."""

    engine: Any = None  # one of ENGINES, a Spark session, or None: by the size of the table
    memory_limit: int | None = None  # bytes of this whole process
    options: Mapping[str, str] = field(default_factory=dict)  # of the engine
    table: str | None = None  # of a database
    table_told_by: str = ""  # by what, as messages put it: "table in the schema takes"

    @property
    def for_engine(self) -> int | None:
        """How much of the limit is left for an embedded engine."""
        if self.memory_limit is None:
            return None
        return max((self.memory_limit - OURSELVES) // 2, 10**8)


def bytes_of(text: str) -> int:
    """A size in words.

    >>> bytes_of("2GB"), bytes_of("1.5 GiB")
    (2000000000, 1610612736)
    """
    from pydantic import ByteSize, TypeAdapter

    try:
        if not re.fullmatch(r"[\d.]+\s*\w*", text.strip()):
            raise ValueError  # pydantic would read the 1 of 1,5GB
        size = int(TypeAdapter(ByteSize).validate_python(text))
    except ValueError:
        raise InputError(
            f'"{text}" is no size', where="--memory-limit", do="write 2GB or 800MB."
        ) from None
    if size < _LEAST:
        raise InputError(
            f"{text} is less than the program takes itself", where="--memory-limit",
            do=f"give at least {_LEAST // 10**6}MB.",
        )  # fmt: skip
    return size


def elsewhere(data: Any, means: Means) -> bool:
    """Whether the rows of a table are to be counted where they stand, and not in memory."""
    _refuse_idle(data, means)
    if is_url(data) or is_ibis_table(data) or is_ibis_connection(data):
        return True
    if means.engine is not None:
        return bool(means.engine != "memory")
    if means.options:  # are of an engine
        return True
    if not isinstance(data, str | Path):
        return is_spark(data, "DataFrame")
    return needed(data) > min(means.memory_limit or int(SHARE * free_memory()), _SLOW)


def _refuse_idle(data: Any, means: Means) -> None:
    """Refuse what would change nothing: whoever said it expects something."""
    if means.table is not None and not (is_url(data) or is_ibis_connection(data)):
        raise InputError(
            "only databases have tables", do="leave it out.",
            where=remedy("--table, or [reading] of the policy", "[reading], table"),
        )  # fmt: skip
    if is_url(data) and isinstance(means.engine, str) and means.engine != "duckdb":
        raise InputError(
            f"a database counts its own rows, and not {means.engine}", where="--engine",
            do="leave it out.",
        )  # fmt: skip
    if means.engine != "memory":
        return
    if means.options:
        raise InputError("memory has no settings", where="--engine-option", do="leave it out.")
    path = isinstance(data, str | Path) and not is_url(data)
    if path and means.memory_limit and needed(data) > means.memory_limit:
        raise InputError(
            f"in memory this table takes about {needed(data) / 10**9:.1f} GB",
            where="--memory-limit", do="raise the limit, or leave --engine out.",
        )  # fmt: skip


def needed(data: str | Path) -> int:
    """About how many bytes it takes to hold the rows of some files in memory.

    Measured at a million rows of 10 columns: four times a CSV file, 60 bytes a cell of Parquet, and
    as much as is packed into a spreadsheet of today.
    """
    size = 0
    for path in paths_of(data):
        suffix = format_of(path)
        if suffix == ".parquet":
            import pyarrow.parquet as pq  # 20 ms, for nothing where it is CSV

            try:
                told = pq.read_metadata(path)
            except (pa.ArrowException, OSError):
                return 0  # reading it will say what is wrong
            size += told.num_rows * told.num_columns * 60
        elif suffix in WHOLE:
            size += path.stat().st_size * (4 if suffix in (".xls", ".dta", ".xpt") else 10)
        else:
            size += path.stat().st_size * (30 if is_packed(path) else 4)
    return size


def free_memory() -> int:
    """Bytes that this process may still take, as far as the system says."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    try:
        told = Path("/proc/meminfo").read_text(encoding="ascii")
        found += [int(line.split()[1]) * 1024 for line in told.splitlines() if "Available" in line]
    except OSError:
        pass
    for name in ("memory.max", "memory/memory.limit_in_bytes"):  # of a container
        path = Path("/sys/fs/cgroup") / name
        if path.is_file() and (text := path.read_text(encoding="ascii").strip()).isdigit():
            found.append(int(text))
    with suppress(ImportError, OSError):  # of this process, as set by  ulimit -v
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            taken = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
            found.append(max(limit - taken * os.sysconf("SC_PAGE_SIZE"), 0))
    return min(found)
