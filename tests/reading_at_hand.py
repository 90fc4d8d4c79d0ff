"""What tests of reading have at hand: files that are written, and what is read of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from at_hand import SECRET
from reticent.search.documents import PersonalDocument, SkippedFile
from reticent.search.documents.reading import read_documents


def read(*places: str | Path) -> list[PersonalDocument]:
    """What is read where nothing is skipped."""
    found = list(read_documents(places))
    assert not [one for one in found if isinstance(one, SkippedFile)]
    return [one for one in found if isinstance(one, PersonalDocument)]


def only(place: str | Path) -> PersonalDocument:
    (document,) = read(place)
    return document


def skipped(place: str | Path) -> str:
    """Why the only file of a place is skipped."""
    (one,) = read_documents([place])
    assert isinstance(one, SkippedFile)
    assert SECRET not in one.reason
    return one.reason


def put(name: str, content: str | bytes) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def a_pdf(*pages: str, title: str = "") -> bytes:
    """A PDF file with a line on each page; readers repair its missing table of places."""
    kids = " ".join(f"{10 + 2 * i} 0 R" for i in range(len(pages)))
    parts = [
        f"1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>endobj",
        "3 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj",
        f"4 0 obj<</Title({title})>>endobj",
    ]
    for i, text in enumerate(pages):
        drawn = f"BT /F 12 Tf 20 100 Td ({text}) Tj ET"
        parts += [
            f"{10 + 2 * i} 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]"
            f"/Resources<</Font<</F 3 0 R>>>>/Contents {11 + 2 * i} 0 R>>endobj",
            f"{11 + 2 * i} 0 obj<</Length {len(drawn)}>>stream\n{drawn}\nendstream endobj",
        ]
    return "\n".join(["%PDF-1.4", *parts, "trailer<</Root 1 0 R/Info 4 0 R>>", "%%EOF\n"]).encode()


def a_history(
    name: str,
    pages: Sequence[tuple[str | None, str | None]],
    table: str = "moz_places",
    mode: str = "delete",
    **columns: int,
) -> Path:
    """The file of a browser that visited these pages."""
    path = put(name, b"")
    counts = {"visit_count": 1, "hidden": 0} | columns
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA journal_mode = {mode}")
        database.execute(
            f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, url, title, visit_count INTEGER, hidden INTEGER)"
        )
        database.executemany(
            f"INSERT INTO {table} (url, title, visit_count, hidden) VALUES (?, ?, ?, ?)",
            [(*page, *counts.values()) for page in pages],
        )
        database.commit()
    return path
