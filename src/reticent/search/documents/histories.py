"""Pages that somebody visited, as browsers and Google keep them: titles and addresses, no pages.

A browser's file is never written to, and nothing is left beside it: it is opened for reading only,
and one that a running browser holds, or that has changes waiting beside it, is copied to a private
folder, which goes when it has been read.
"""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from reticent.search.documents import UnreadableText, texts

MOST_BYTES = 2_000_000_000  # of a browser's file
_MOST_VISITS = 2_000_000
_MOST_OF_ONE = 4_000  # letters of a title or an address

_DATABASE = b"SQLite format 3\0"
_SAYS_WAL = slice(18, 20)  # bytes of the head that say where changes are written first
# Firefox and its kin; Chrome, Edge and theirs. Pages that were only parts of others are hidden.
_TABLES = ("moz_places", "urls")
_COLUMNS = {"id", "url", "title", "visit_count", "hidden"}
_BESIDE = ("-wal", "-journal")
KEPT_BESIDE = (*_BESIDE, "-shm")  # parts of a database, by the ends of their names

_OF_TAKEOUT = re.compile(rb'\s*(?:\{\s*"Browser History"\s*:\s*\[|\[\s*\{\s*"header"\s*:)')
# What Google says that was done; in other languages than English it stays part of the title.
_DONE = re.compile(
    r"(?:searched for|visited|watched|viewed(?: area around)?|listened to|liked|used|read|"
    r"installed|directions to)\s+", re.I,
)  # fmt: skip
_SAYS_NOTHING = {
    "asp", "aspx", "co", "com", "de", "en", "htm", "html", "index", "jsp", "mobile", "org", "php",
    "shtml", "www", "xhtml",
}  # fmt: skip
_LONGEST_WORD = 20


class VisitedPage(NamedTuple):
    """One page: where it is, what it is called, and both in words."""

    address: str
    title: str
    text: str


def is_database(head: bytes) -> bool:
    """Whether a file that begins so is a database as browsers keep theirs."""
    return head.startswith(_DATABASE)


def is_takeout(head: bytes) -> bool:
    """Whether a file that begins so is a history that Google hands out."""
    return _OF_TAKEOUT.match(head) is not None


def in_browser(path: Path) -> Iterator[VisitedPage]:
    """The pages in a browser's file, in the order in which they were first visited."""
    try:
        with _opened(path) as database:
            table = next((name for name in _TABLES if _holds_pages(database, name)), None)
            if table is None:
                raise UnreadableText("a database, and no history of a browser")
            rows = database.execute(
                f"SELECT substr(url, 1, {_MOST_OF_ONE + 1}), substr(title, 1, {_MOST_OF_ONE}) "
                f"FROM {table} WHERE visit_count > 0 AND hidden = 0 "
                f"ORDER BY id LIMIT {_MOST_VISITS}"
            )
            for address, title in rows:
                yield from _visited(address, title)
    except sqlite3.Error:  # its words may hold what is in the file
        raise UnreadableText("damaged, or in use by a browser (close it)") from None


def in_takeout(data: bytes) -> Iterator[VisitedPage]:
    """The pages in a file that Google hands out, one for each address."""
    try:
        found: Any = json.loads(data)
    except (ValueError, RecursionError):
        raise UnreadableText("damaged") from None
    if isinstance(found, dict):
        found = found.get("Browser History")
    if not isinstance(found, list):
        raise UnreadableText("damaged")
    titles: dict[str, str] = {}
    for entry in found:
        if isinstance(entry, dict):
            address = entry.get("url", entry.get("titleUrl"))
            title = entry.get("title")
            if isinstance(address, str):
                named = _DONE.sub("", title, 1) if isinstance(title, str) else ""
                titles[address] = titles.get(address) or named
    for address, title in titles.items():
        yield from _visited(address, title)


def _visited(address: object, title: object) -> Iterator[VisitedPage]:
    """A page, if it is one of the web and there is a word to say of it."""
    if not isinstance(address, str) or len(address) > _MOST_OF_ONE:
        return
    try:
        parts = urlsplit(address)
        named = texts.legible(texts.one_title(title) if isinstance(title, str) else "").strip()
    except (ValueError, UnreadableText):
        return
    if parts.scheme in ("http", "https"):
        # Without what opens it to somebody (name:password@), and without the place within it.
        whole = parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="").geturl()
        text = "\n".join(part for part in (named, words_of_address(address)) if part)
        if text:
            yield VisitedPage(texts.printable(whole), named or parts.hostname or "", text)


def words_of_address(address: str) -> str:
    """The words in the names of a site and of a page in it, not what was asked for there.

    >>> words_of_address("https://www.boats.example.org/rowing/2024/two-oars_77.html?id=4#top")
    'boats example rowing two oars'
    """
    parts = urlsplit(address)
    names = (parts.hostname or "").split(".")[:-1]
    words = re.findall(r"[^\W_]+", " ".join([*names, unquote(parts.path)]))
    said = (word for word in words if word.isalpha() and 1 < len(word) <= _LONGEST_WORD)
    return " ".join(word for word in said if word.lower() not in _SAYS_NOTHING)


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A database for reading; a copy of one that cannot be read where it is, as it is."""
    beside = [Path(f"{path}{end}") for end in _BESIDE]
    waiting = [one for one in beside if one.is_file() and one.stat().st_size]
    if not waiting and _can_be_read(path):
        with closing(_connected(path, _how(path))) as database:
            yield database
        return
    with TemporaryDirectory(prefix="reticent-") as folder:  # which nobody else may enter
        for one in (path, *waiting):
            shutil.copyfile(one, Path(folder, one.name))
        with closing(_connected(Path(folder, path.name), "mode=rw")) as database:
            yield database


def _how(path: Path) -> str:
    """One that writes changes beside itself is opened as what never changes: there are none.

    Otherwise the library would make files beside it, only to read.
    """
    with path.open("rb") as file:
        return "mode=ro&immutable=1" if 2 in file.read(32)[_SAYS_WAL] else "mode=ro"


def _can_be_read(path: Path) -> bool:
    """Whether no program keeps it for itself."""
    try:
        with closing(_connected(path, _how(path))) as database:
            database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        return False
    return True


def _connected(path: Path, how: str) -> sqlite3.Connection:
    database = sqlite3.connect(
        f"{path.resolve().as_uri()}?{how}", uri=True, timeout=0, isolation_level=None
    )
    database.text_factory = lambda data: data.decode("utf-8", "replace")
    database.execute("PRAGMA trusted_schema = OFF")
    return database


def _holds_pages(database: sqlite3.Connection, table: str) -> bool:
    """Whether there is such a table, a real one: no view that works something out."""
    is_real = database.execute(
        "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ? AND rootpage > 0", [table]
    ).fetchone()
    columns = {str(row[1]) for row in database.execute(f"PRAGMA table_info({table})")}
    return is_real is not None and columns >= _COLUMNS
