"""A Spark session to work in: beside somebody's, or one of our own that ends with the run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from reticent.errors import InputError

_SETTINGS = {
    "spark.sql.caseSensitive": "true",  # names of columns may differ in case only
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(1 << 16),
    "spark.sql.legacy.parquet.nanosAsLong": "true",  # Spark has no nanoseconds, but whole numbers
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.files.ignoreCorruptFiles": "false",  # rows must not go missing
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",  # or rows it cannot weigh would be sent around
}
_DEFAULTS = {
    "spark.app.name": "reticent",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
_INSTALL = 'pip install "reticent[spark]"  and Java 17; `java -version` must find it.'


def is_spark(thing: Any, name: str) -> bool:
    """Whether something is Spark's class of this name, without importing Spark."""
    kinds = type(thing).__mro__
    return any(k.__name__ == name and k.__module__.startswith("pyspark.sql") for k in kinds)


@contextmanager
def session_for(data: Any, engine: Any, options: Mapping[str, str], memory: int) -> Iterator[Any]:
    """The session to read a table in; `memory` bytes for one that nobody gave anything.

    A data frame lives in its own session and nowhere else. Beside any other session a new one is
    opened, on the same cluster. One that we start ourselves ends with us.
    """
    # Spark wants pandas to be there, even where nobody uses it, and speaks up if it is a new one.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support", FutureWarning)
    if odd := [name for name in options if not name.startswith("spark.")]:
        raise InputError(
            f'Spark has no option "{odd[0]}"', where="--engine-option",
            do="write  spark.executor.memory=4g;  all of them begin with spark.",
        )  # fmt: skip
    if is_spark(data, "DataFrame"):
        if options:
            raise _not_settable(next(iter(options)), "the session of a data frame")
        yield data.sparkSession
    elif is_spark(engine, "SparkSession"):
        yield _beside(engine, options)
    elif engine != "spark":
        raise InputError(
            f"a {type(engine).__name__} is no engine", where="engine",
            do='use "memory", "duckdb", "spark" or a Spark session.',
        )  # fmt: skip
    elif (active := _active()) is not None:
        yield _beside(active, options)
    else:
        with _started(options, memory) as session:
            known = session.conf
            yield _beside(session, {k: v for k, v in options.items() if known.isModifiable(k)})


def _active() -> Any:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise InputError("Spark is not installed", where="--engine spark", do=_INSTALL) from None
    return SparkSession.getActiveSession()


def _beside(session: Any, options: Mapping[str, str]) -> Any:
    """A session with settings and views of our own, on the same cluster."""
    own = session.newSession() if hasattr(session, "newSession") else session
    for name, value in options.items():
        if not own.conf.isModifiable(name):
            raise _not_settable(name, "a session that runs already")
        try:
            own.conf.set(name, value)
        except Exception:
            refusal = InputError(
                f'Spark does not take this value of "{name}"', where="--engine-option",
                do="see its page of settings.",
            )  # fmt: skip
            raise refusal from None
    for name, value in _SETTINGS.items():
        own.conf.set(name, value)
    return own


def _not_settable(name: str, where: str) -> InputError:
    return InputError(
        f'"{name}" cannot be set in {where}', where="--engine-option",
        do="set it where that session is made.",
    )  # fmt: skip


@contextmanager
def _started(options: Mapping[str, str], memory: int) -> Iterator[Any]:
    """A session of our own.

    Its Java process says nothing to anybody: in the middle of a failure it would quote cells.
    """
    home = os.environ.get("JAVA_HOME")
    if not shutil.which("java", path=os.path.join(home, "bin") if home else None):
        raise InputError("Spark needs Java, and there is none", where="--engine spark", do=_INSTALL)
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    conf = SparkConf(loadDefaults=False).setAll([*_DEFAULTS.items(), *options.items()])
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    gateway = None
    try:
        with _default_memory(memory):
            gateway = launch_gateway(conf, silent)
        known = SparkConf(_jvm=gateway.jvm).setAll(conf.getAll())  # with the user's defaults
        known.setIfMissing("spark.master", os.environ.get("MASTER", "local[*]"))
        context = SparkContext(conf=known, gateway=gateway)
        context.setLogLevel("OFF")
        if context.master.startswith("local") and "PYSPARK_PYTHON" not in os.environ:
            context.pythonExec = sys.executable  # some other one may have no PyArrow
        session = SparkSession(context)
    except Exception as error:
        _end(gateway)
        told = f"Spark does not start ({type(error).__name__})"
    else:
        try:
            yield session
        finally:
            session.stop()
            _end(gateway)
        return
    raise InputError(
        told, where="--engine spark",
        do="check each --engine-option, the address of the cluster, and that Java is 17 or newer.",
    )  # fmt: skip


def _end(gateway: Any) -> None:
    """Let the Java process go; whoever starts Spark next gets one that speaks again."""
    from pyspark import SparkContext

    if gateway is None:
        return
    with suppress(Exception):
        gateway.shutdown()
    if gateway.proc is not None:
        gateway.proc.stdin.close()  # which is what it waits for
        with suppress(subprocess.TimeoutExpired):
            gateway.proc.wait(10)
    SparkContext._gateway = SparkContext._jvm = None


@contextmanager
def _default_memory(memory: int) -> Iterator[None]:
    """What Spark takes for itself where neither options nor its own files say."""
    name = "SPARK_DRIVER_MEMORY"  # the last place where Spark looks
    told = os.environ.get(name)
    os.environ[name] = told or f"{max(memory >> 20, 512)}m"
    try:
        yield
    finally:
        if told is None:
            del os.environ[name]
