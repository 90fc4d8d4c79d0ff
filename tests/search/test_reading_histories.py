"""Pages that somebody visited, out of the files of browsers and of Google."""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from at_hand import SECRET
from reading_at_hand import a_history, only, put, read, skipped
from reticent.search.documents import PersonalDocument, SkippedFile
from reticent.search.documents.histories import words_of_address
from reticent.search.documents.reading import read_documents

PAGES = [
    ("https://www.boats.example.org/rowing/oars.html", "Oars for rowing"),
    ("http://tea.example/green-tea", None),
    ("about:config", "Settings"),
    ("file:///home/somebody/a.txt", "a.txt"),
    ("https://[broken", "Broken"),
    ("https://ann:pass@tea.example/pots?token=77#handle", "Pots (ann@tea.example)"),
]


@pytest.fixture(autouse=True)
def _here(work: Path) -> None:
    """Each test has an empty folder."""


@pytest.fixture
def temporary(work: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files alone."""
    folder = work / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize("browser", ["moz_places", "urls"])
@pytest.mark.parametrize("name", ["places.sqlite", "History", "copy of it.bin"])
def test_visits(browser: str, name: str) -> None:
    a_history(name, PAGES, browser)
    assert read(name) == [
        PersonalDocument(
            "https://www.boats.example.org/rowing/oars.html",
            "Oars for rowing", "Oars for rowing\nboats example rowing oars", "visit",
        ),
        PersonalDocument("http://tea.example/green-tea", "tea.example", "tea green tea", "visit"),
        PersonalDocument("https://tea.example/pots?token=77", "Pots ( )", "Pots ( )\ntea pots", "visit"),
    ]  # fmt: skip


def test_pages_that_were_not_visited_are_left_out() -> None:
    a_history("History", PAGES[:2], "urls", visit_count=0)
    a_history("places.sqlite", PAGES[:2], hidden=1)
    put("BrowserHistory.json", '{"Browser History": []}')
    put("MyActivity.json", '[{"header": "Maps", "title": "Used Maps"}]')
    names = ["BrowserHistory.json", "History", "MyActivity.json", "places.sqlite"]
    assert [*read_documents(["."])] == [SkippedFile(name, "no page in it") for name in names]


def test_a_history_whose_pages_another_has_is_not_skipped() -> None:
    a_history("a/places.sqlite", PAGES[:1])
    a_history("b/History", PAGES[:1], "urls")
    assert [one.place for one in read("a", "b")] == [PAGES[0][0]]


def test_two_browsers_share_pages() -> None:
    a_history("a/places.sqlite", PAGES[:1])
    a_history("b/History", PAGES[:2], "urls")
    assert [one.place for one in read("a", "b")] == [PAGES[0][0], PAGES[1][0]]


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("https://de.wikipedia.org/wiki/Gr%C3%BCner_Tee", "wikipedia wiki Grüner Tee"),
        ("https://www.example.co.uk/a/bc/index.php", "example bc"),
        ("http://127.0.0.1:8080/notes", "notes"),
        ("https://x.org/a3f9c0/" + "q" * 30 + "/%ff%fe/tea", "tea"),
        ("https://x.org/search?q=secret#secret", "search"),
        ("https:", ""),
    ],
)
def test_words_of_addresses(address: str, words: str) -> None:
    assert words_of_address(address) == words


# --- files that browsers hold ------------------------------------------------------------------------


def everything(folder: str) -> dict[str, tuple[int, bytes]]:
    return {
        str(path): (path.stat().st_mtime_ns, path.read_bytes())
        for path in Path(folder).iterdir()
        if not path.name.endswith("-shm")  # which the writer itself keeps
    }


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_browser_that_is_closed_finds_its_file_as_it_was(mode: str, temporary: Path) -> None:
    a_history("top/places.sqlite", PAGES[:2], mode=mode)
    before = everything("top")
    assert len(read("top")) == 2
    assert everything("top") == before
    assert list(before) == [str(Path("top/places.sqlite"))]


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_browser_that_runs_is_not_disturbed(mode: str, temporary: Path) -> None:
    """What it has not yet put into its file is read, too, and the copy goes."""
    a_history("top/places.sqlite", PAGES[:1], mode=mode)
    with closing(sqlite3.connect("top/places.sqlite", isolation_level=None)) as browser:
        browser.execute("PRAGMA locking_mode = EXCLUSIVE")
        browser.execute("PRAGMA wal_autocheckpoint = 0")
        browser.execute("INSERT INTO moz_places VALUES (9, ?, ?, 1, 0)", PAGES[1])
        before = everything("top")
        found = read_documents(["top"])
        first = next(found)
        (folder,) = temporary.iterdir()
        assert folder.stat().st_mode & 0o077 == 0 or os.name != "posix"
        assert [one.place for one in (first, *found)] == [PAGES[0][0], PAGES[1][0]]
        assert everything("top") == before
    assert list(temporary.iterdir()) == []


def test_a_copy_goes_even_if_nobody_reads_on(temporary: Path) -> None:
    a_history("History", PAGES[:2], "urls")
    with closing(sqlite3.connect("History", isolation_level=None)) as browser:
        browser.execute("BEGIN EXCLUSIVE")
        found = read_documents(["History"])
        next(found)
        assert len(list(temporary.iterdir())) == 1
        found.close()  # type: ignore[attr-defined]
    assert list(temporary.iterdir()) == []


def test_other_databases() -> None:
    with closing(sqlite3.connect("cookies.sqlite")) as database:
        database.execute(f"CREATE TABLE {SECRET} (x)")
        database.commit()
    assert skipped("cookies.sqlite") == "a database, and no history of a browser"
    with closing(sqlite3.connect("endless.sqlite")) as database:
        database.execute(
            "CREATE VIEW urls AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) "
            "SELECT id, 'http://x.org' AS url, '' AS title, 1 AS visit_count, 0 AS hidden FROM n"
        )
        database.commit()
    assert skipped("endless.sqlite") == "a database, and no history of a browser"


def test_a_broken_history() -> None:
    a_history("History", PAGES * 50, "urls")
    whole = Path("History").read_bytes()
    put("History", whole[:100] + b"\xff" * 300 + whole[400:])
    assert skipped("History") == "damaged, or in use by a browser (close it)"


def test_cells_of_other_kinds() -> None:
    cells: list[Any] = [
        (b"http://x.org/tea", "Tea"),
        ("http://y.org/tea", b"\xff"),
        (7, 7),
        (None, "x"),
    ]
    a_history("History", [*cells, ("http://z.org/tea", "\0\1\2")], "urls")
    with closing(sqlite3.connect("History")) as database:
        database.execute(
            "UPDATE urls SET title = CAST(x'ff41' AS TEXT) WHERE url = 'http://y.org/tea'"
        )
        database.commit()
    assert [one.text for one in read("History")] == ["\ufffdA\ntea", "tea"]


# --- Google Takeout -------------------------------------------------------------------------------


def test_takeout_of_chrome() -> None:
    entries = [
        {"page_transition": "LINK", "title": t or "", "url": u, "time_usec": 1} for u, t in PAGES
    ]
    again = {"title": "Green tea", "url": PAGES[1][0], "time_usec": 2}
    put(
        "Takeout/BrowserHistory.json",
        json.dumps({"Browser History": [*entries, again, 7, {}]}, indent=2),
    )
    assert [(one.title, one.place) for one in read("Takeout")] == [
        ("Oars for rowing", PAGES[0][0]),
        ("Green tea", PAGES[1][0]),
        ("Pots ( )", "https://tea.example/pots?token=77"),
    ]


def test_takeout_of_activity() -> None:
    put("MyActivity.json", json.dumps([
        {"header": "Search", "title": "Searched for green tea", "titleUrl": "https://www.google.com/search?q=green+tea"},
        {"header": "YouTube", "title": "Watched Rowing for all", "titleUrl": "https://www.youtube.com/watch?v=x"},
        {"header": "Maps", "title": "Used Maps"},
        {"header": "Search", "title": None, "titleUrl": 7},
    ]))  # fmt: skip
    assert [one.text.split("\n")[0] for one in read(".")] == ["green tea", "Rowing for all"]


def test_other_json() -> None:
    assert skipped(put("a.json", json.dumps({"a": SECRET}))) == "of a kind that is not read"
    assert skipped(put("b.json", '{"Browser History": [' + SECRET)) == "damaged"
    assert skipped(put("c.json", '{"Browser History": [' + "[" * 100_000)) == "damaged"
    assert read(
        put("d.json", '{"Browser History": [{"url": "http://x.org/\\ud800", "title": "a\\ud800"}]}')
    )


def test_what_a_browser_keeps_beside_its_file_is_no_file_of_its_own() -> None:
    a_history("top/places.sqlite", PAGES[:1])
    for end in ("-shm", "-journal"):
        put(f"top/places.sqlite{end}", b"")
    put("top/lonely-wal", b"")
    one, other = read_documents(["top"])
    assert one == SkippedFile("top/lonely-wal", "empty")
    assert isinstance(other, PersonalDocument)
    assert only("top/places.sqlite").kind == "visit"
