"""Room for what does not fit in memory: folders of their owner's alone that end with the run."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")
_PREFIX = "reticent-spill-"
_A_THREAD = 150 * 10**6  # bytes: with less for each, sorting 3 million rows of texts failed


@contextmanager
def spill_folder() -> Iterator[Path]:
    """A folder below ``TMPDIR``; what killed runs left there is removed."""
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        pid = left.name.removeprefix(_PREFIX).split("-")[0]
        if pid.isdecimal() and not alive(int(pid)) and os.access(left, os.W_OK):
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-") as folder:
        yield Path(folder)


def alive(pid: int) -> bool:
    """Whether there is such a process, be it somebody else's."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


class Threads(ThreadPoolExecutor):
    """Threads that see what is set for whoever gives them work, as where large arrays live."""

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Have something done in the context of this very moment."""
        return super().submit(copy_context().run, partial(fn, *args, **kwargs))


def connect(spill: Path, memory_limit: int | None = None) -> Any:
    """A database of this process alone, which fetches nothing and spills where it is told."""
    import duckdb

    limit = {"memory_limit": f"{memory_limit}B"} if memory_limit else {}
    ours = getattr(os, "sched_getaffinity", None)  # not every system has it
    threads = len(ours(0)) if ours else os.cpu_count() or 1
    if memory_limit and memory_limit < _A_THREAD * threads:
        threads = max(memory_limit // _A_THREAD, 1)
    database = duckdb.connect(
        config={
            "temp_directory": str(spill),
            "preserve_insertion_order": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "threads": str(threads),
            **limit,
        }
    )
    for setting in ("TimeZone = 'UTC'", "enable_progress_bar = true",
                    "enable_progress_bar_print = false"):  # fmt: skip
        database.execute(f"SET {setting}")
    return database
