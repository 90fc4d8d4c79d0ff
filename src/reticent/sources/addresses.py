"""What tells that a table stands in a database, without opening or importing anything."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

_FILES = {"sqlite", "duckdb"}  # databases that are a file


def is_url(data: Any) -> bool:
    """Whether some data are a database.

    >>> is_url("postgres://me@here/clinic"), is_url("patients.csv")
    (True, False)
    """
    return isinstance(data, str) and re.match(r"[a-z][a-z0-9+]*://", data) is not None


def is_ibis_table(data: Any) -> bool:
    """Whether some data are a table of Ibis, without importing it."""
    return type(data).__module__.startswith("ibis.expr.types") and hasattr(data, "get_backend")


def is_ibis_connection(data: Any) -> bool:
    """Whether some data are a database that Ibis is connected with, without importing it."""
    return type(data).__module__.startswith("ibis.backends") and hasattr(data, "list_tables")


def without_password(url: str) -> str:
    """A database's address as it may be shown and kept.

    >>> without_password("postgres://me:secret@here:5432/clinic?sslkey=x")
    'postgres://here:5432/clinic'
    """
    scheme, _, rest = url.partition("://")
    shown = re.split(r"[?#;]", rest.rpartition("@")[2])[0]  # whatever stands before the last @
    return f"{scheme}://{shown}"


def file_of(url: str) -> Path | None:
    """The file that a database is, if it is one.

    >>> file_of("sqlite:///clinic.db"), file_of("sqlite:////data/clinic.db")
    (PosixPath('clinic.db'), PosixPath('/data/clinic.db'))
    """
    scheme, _, rest = url.partition("://")
    return Path(unquote(rest.removeprefix("/"))) if scheme in _FILES else None


def shown_name(data: Any) -> str:
    """Some data as messages may call them.

    >>> shown_name("postgres://me:secret@here/clinic"), shown_name("patients.csv")
    ('postgres://here/clinic', 'patients.csv')
    """
    return without_password(data) if is_url(data) else str(data)


def data_of(named: str, folder: Path) -> str:
    """The data that a file in a folder names, from wherever somebody stands.

    >>> data_of("own.csv", Path("/srv/bank")), data_of("sqlite:///own.db", Path("/srv/bank"))
    ('/srv/bank/own.csv', 'sqlite:////srv/bank/own.db')
    """
    if not is_url(named):
        return str(folder / named)
    path = file_of(named)
    if path is None or path.is_absolute():
        return named
    return f"{named.partition('://')[0]}:///{quote(str(folder / path))}"
