"""Documents of one shape out of files and folders, and reasons for what is skipped."""

from __future__ import annotations

import os
import signal
import sys
import zlib
from pathlib import Path

import pytest

from at_hand import SECRET, refusal
from reading_at_hand import a_pdf, only, put, read, skipped
from reticent.errors import Stopped
from reticent.progress import Watch
from reticent.search.documents import (
    PersonalDocument,
    SkippedFile,
    UnreadableText,
    readers,
    reading,
    texts,
)
from reticent.search.documents.reading import read_documents
from reticent.search.index import update_index
from reticent.search.words import Language


@pytest.fixture(autouse=True)
def _here(work: Path) -> None:
    """Each test has an empty folder."""


# --- texts and pages ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["note.txt", "NOTE.TXT", "README", "talk.rst", "paper.tex"])
def test_text_files(name: str) -> None:
    found = only(put(name, "Badminton on Monday."))
    assert found == PersonalDocument(name, Path(name).stem, "Badminton on Monday.", "text")


@pytest.mark.parametrize(
    ("content", "title"),
    [
        ("# The season #\n\nRows and rows.", "The season"),
        ("---\ntitle: 'The season'\n---\nRows.", "The season"),
        ("intro\n\n## Later\n", "Later"),
        ("#no heading", "notes"),
    ],
)
def test_markdown_is_named_by_its_heading(content: str, title: str) -> None:
    assert only(put("notes.md", content)).title == title


@pytest.mark.parametrize(
    "content",
    [
        "Übung für später".encode(),
        b"\xef\xbb\xbf" + "Übung für später".encode(),
        "Übung für später".encode("utf-16"),
        b"\xfe\xff" + "Übung für später".encode("utf-16-be"),
        "Übung für später".encode("utf-32"),
        "Übung für später".encode("cp1252"),
    ],
)
def test_texts_in_many_codes(content: bytes) -> None:
    assert only(put("a.txt", content)).text == "Übung für später"


def test_one_broken_place_does_not_make_a_text_latin() -> None:
    assert only(put("a.txt", "Übung".encode() * 20 + b"\xc3 end")).text.count("Übung") == 20


def test_codes_that_no_text_is_written_in() -> None:
    for charset in ("punycode", "idna", "unicode_escape", "zlib", "rot13", "\0", "ü", "nothing"):
        assert texts.decoded(b"caf\xe9 \\q", charset) == "café \\q"
    assert texts.decoded("そう".encode("iso-2022-jp"), "ISO-2022-JP") == "そう"
    assert texts.decoded("Привет, мир".encode("koi8-r"), "koi8-r") == "Привет, мир"


def test_addresses_are_no_text() -> None:
    text = "See www.example.org/a?b=c, https://x.example/deep/er#f (ftp://y.example/z) or mailto:ann.b+c@mail.example.org!"
    assert only(put("a.txt", text)).text.split() == ["See", "(", ")", "or", "!"]
    link = "[a walk](https://example.org/walk) by <bob@example.org>"
    assert only(put("a.md", link)).text.split() == ["[a", "walk](", ")", "by", "<", ">"]


def test_pages() -> None:
    page = """<!doctype html><html><head><title>A  walk</title><style>p {color: red}</style></head><body>
    <script>var hidden</script><noscript>hidden</noscript><template><p>hidden</p></template><!-- hidden -->
    <h1>Hills</h1><p>Half<b>bold</b> word &amp; more<br>below<ul><li>one<li>two</ul><svg><title>hidden</title></svg>
    <a href="http://hidden.example">here</a></body></html>"""
    found = only(put("walk.html", page))
    assert (found.title, found.kind) == ("A walk", "page")
    assert found.text.split("\n") == [
        "A walk", "Hills", "Halfbold word & more", "below", "one", "two", "here",
    ]  # fmt: skip


def test_a_page_without_a_title_goes_by_its_heading_or_file() -> None:
    assert only(put("a.html", "<h1>Hills</h1>far away")).title == "Hills"
    assert only(put("b.htm", "far away")).title == "b"


@pytest.mark.parametrize("charset", ["utf-8", "windows-1251", "utf-16", "shift_jis"])
def test_pages_say_how_they_are_written(charset: str) -> None:
    page = f'<meta charset="{charset}"><p>Привет, мир</p>'.encode(charset)
    assert only(put("a.html", page)).text == "Привет, мир"


def test_a_page_that_lies_about_its_code() -> None:
    assert only(put("a.html", '<meta charset="utf-16"><p>Grüße'.encode())).text == "Grüße"
    assert only(put("b.html", '<meta charset="latin-1"><p>Grüße'.encode())).text == "Grüße"


@pytest.mark.parametrize(
    "page",
    [
        "<div>" * 300_000 + SECRET,
        "<p " + " ".join(f"a{i}" for i in range(200_000)) + ">" + SECRET,
        "<b><p>" * 50_000 + SECRET,
        "<table><tr><td>" * 50_000 + SECRET,
        "<" * 500_000 + SECRET,
        "<a " * 200_000 + SECRET,
        "<!--" * 200_000 + SECRET,
        "&" * 500_000 + SECRET,
    ],
    ids=["deep", "attributes", "bold", "tables", "angles", "open", "comments", "signs"],
)
def test_pages_made_to_take_hours_do_not(page: str) -> None:
    for one in read_documents([put("a.html", page)]):
        assert isinstance(one, PersonalDocument) or SECRET not in one.reason


def test_a_large_and_flat_page_is_read() -> None:
    page = "<table>" + "<tr><td>cell<td>other\n" * 30_000 + "</table>"
    assert only(put("a.html", page)).text.count("cell") == 30_000


# --- PDF ------------------------------------------------------------------------------------------


def test_pdf_by_pages_whatever_its_name() -> None:
    for name in ("talk.pdf", "talk.txt", "talk"):
        found = only(put(name, a_pdf("Rowing boats", "on the river", title="A talk")))
        assert (found.title, found.kind) == ("A talk", "PDF")
        assert found.text.split() == ["Rowing", "boats", "on", "the", "river"]


def test_pdf_without_text_or_whole_pages() -> None:
    assert skipped(put("scan.pdf", a_pdf(""))) == "without any text, as scans are"
    assert skipped(put("cut.pdf", a_pdf(SECRET)[:60])) == "damaged"
    assert skipped(put("other.pdf", SECRET)) == "damaged"


def test_pdf_that_wants_a_password() -> None:
    locked = a_pdf(SECRET).replace(
        b"/Info 4 0 R",
        b"/ID[<00><00>]/Encrypt<</Filter/Standard/V 1/R 2/P -4/O<" + b"11" * 32 + b">/U<" + b"22" * 32 + b">>>",
    )  # fmt: skip
    assert skipped(put("a.pdf", locked)) == "encrypted"


def endless_pdf() -> bytes:
    """A small file that asks for one drawing fifty to the power of eight times."""
    drawn = "/X Do " * 50
    forms = [
        f"{12 + i} 0 obj<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X {13 + i} 0 R>>>>"
        f"/Length {len(drawn)}>>stream\n{drawn}\nendstream endobj"
        for i in range(8)
    ]
    page = (
        a_pdf(drawn)
        .replace(b"/Font<<", b"/XObject<</X 12 0 R>>/Font<<")
        .replace(b"BT ", b"/X Do BT ")
    )
    return page.replace(b"trailer", "\n".join([*forms, "trailer"]).encode())


def test_pdf_made_to_take_hours_does_not() -> None:
    for name, content in (
        ("a.pdf", a_pdf("one")),
        ("b.pdf", endless_pdf()),
        ("c.pdf", a_pdf("two")),
    ):
        put(name, content)
    found = read_documents(["."])
    next(found)  # so that its process has started
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readers, "SECONDS", 0.3)
        assert next(found) == SkippedFile("b.pdf", "taking too long to be read")
    assert [one.text for one in found if isinstance(one, PersonalDocument)] == ["two"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory has no bound that holds")
def test_pdf_made_to_take_all_memory_does_not() -> None:
    drawn = zlib.compress(b"BT /F 12 Tf (hello world) Tj ET " * 9_000_000, 9)
    large = a_pdf("").split(b"/Length")[0] + b"/Length %d/Filter/FlateDecode>>stream\n" % len(drawn)
    put("a.pdf", large + drawn + b"\nendstream endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n")
    assert skipped("a.pdf") == "damaged, or too large to be read"


CHILDREN = Path("/proc/thread-self/children")


def processes() -> list[str]:
    """Those that this one has started and that are still there."""
    return CHILDREN.read_text(encoding="ascii").split()


@pytest.mark.skipif(not CHILDREN.exists(), reason="processes are listed elsewhere, or nowhere")
def test_no_process_is_left_behind() -> None:
    before = processes()
    for name in "abc":
        put(f"{name}.pdf", a_pdf("one"))
    first, second = read_documents(["."]), read_documents(["."])
    next(first), next(second), next(first)
    assert len(processes()) == len(before) + 1  # which both share
    first.close()  # type: ignore[attr-defined]
    (started,) = set(processes()) - set(before)
    os.kill(int(started), signal.SIGKILL)
    assert next(second) == SkippedFile("b.pdf", "damaged, or too large to be read")
    assert isinstance(next(second), PersonalDocument)
    assert list(second) == []
    assert processes() == before


# --- what is skipped ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.txt", b"", "empty"),
        ("a.md", b" \n\t ", "empty"),
        ("a.html", b"<p> </p>", "empty"),
        ("a.txt", bytes(range(32)) * 40, "of a kind that is no text"),
        ("README", b"\x7fELF\0\0\0\1" * 9, "of a kind that is no text"),
        ("a.PNG", b"\x89PNG", "a picture, sound or film"),
        ("a.zip", b"PK", "packed, and not unpacked"),
        ("a.docx", b"PK", "of an office format (saved as PDF or text, it is read)"),
        ("a.xyz", b"words", "of a kind that is not read"),
    ],
)
def test_what_is_of_no_use(name: str, content: bytes, reason: str) -> None:
    assert skipped(put(name, content)) == reason


def test_what_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_BYTES", 2_000_000)
    with Path("a.txt").open("wb") as file:
        file.truncate(2_000_001)
    assert skipped("a.txt") == "larger than 2 MB"
    monkeypatch.setattr(texts, "MOST_LETTERS", 10)
    assert skipped(put("b.txt", "eleven signs")) == "too long"
    with pytest.raises(UnreadableText, match="too long"):
        texts.pdf(a_pdf("eleven signs"))


def test_no_byte_of_a_file_is_in_what_documents_show() -> None:
    assert SECRET not in repr(only(put("a.md", f"# {SECRET}\n{SECRET}")))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_what_is_no_file() -> None:
    os.mkfifo("pipe")
    assert skipped("pipe") == "neither a file nor a folder"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="everything may be read")
def test_what_may_not_be_read() -> None:
    put("a.txt", "words").chmod(0)
    assert skipped("a.txt") == "not allowed to be read"


def test_places_that_are_not_there_are_named_all_together() -> None:
    put("a.txt", "words")
    refusal(lambda: read_documents(["no.txt", "a.txt", "none/"]), "no.txt", "none", "no such")


# --- folders --------------------------------------------------------------------------------------


def test_folders_in_the_order_of_names() -> None:
    for name in ("b.txt", "a/z.txt", "a/B.txt", "c/d/e/f.txt", "a.txt"):
        put(f"top/{name}", "words")
    order = ["a/B.txt", "a/z.txt", "a.txt", "b.txt", "c/d/e/f.txt"]
    assert [one.place for one in read("top")] == [str(Path("top", name)) for name in order]
    assert [one.place for one in read("top/b.txt", "top")][:2] == ["top/b.txt", "top/a/B.txt"]
    assert len(read("top", "top", "top/a")) == 5  # each once


def test_hidden_files_are_read_only_where_they_are_named() -> None:
    for name in (".git/a.txt", ".b.txt", "c.txt~", "~$d.md", "__MACOSX/e.txt", "f.txt"):
        put(f"top/{name}", "words")
    assert [one.place for one in read("top")] == ["top/f.txt"]
    assert [one.place for one in read("top/.b.txt", "top/.git")] == ["top/.b.txt", "top/.git/a.txt"]


def test_links_lead_round_no_circle() -> None:
    put("top/in/a.txt", "words")
    try:
        Path("top/in/back").symlink_to(Path("top").resolve())
        Path("top/in/self").symlink_to("self")
        Path("top/in/gone").symlink_to("nowhere")
    except OSError:  # pragma: no cover - a system where not everybody may make links
        pytest.skip("no links here")
    found = {one.place: one for one in read_documents(["top"])}
    assert sorted(found) == ["top/in/a.txt", "top/in/gone", "top/in/self"]
    gone = found["top/in/gone"]
    assert isinstance(gone, SkippedFile)
    assert gone.reason == "not there, or a link that leads nowhere"


def test_links_out_of_a_folder_are_not_followed_unless_they_are_named() -> None:
    for name in ("top/a.txt", "top/in/b.txt", "secret/c.txt", "topper/d.txt"):
        put(name, "words")
    try:
        for name, target in (
            ("up", "../.."), ("file", "../../secret/c.txt"), ("beside", "../../topper"),
            ("within", "../a.txt"),
        ):  # fmt: skip
            Path("top/in", name).symlink_to(target)
        Path("door").symlink_to("top")
    except OSError:  # pragma: no cover - a system where not everybody may make links
        pytest.skip("no links here")
    found = list(read_documents(["top"]))
    assert [one.place for one in found if isinstance(one, PersonalDocument)] == [
        "top/a.txt", "top/in/b.txt",
    ]  # fmt: skip
    left_out = [one for one in found if isinstance(one, SkippedFile)]
    assert [one.place for one in left_out] == ["top/in/beside", "top/in/file", "top/in/up"]
    assert {one.reason for one in left_out} == {"a link that leads out of the folder"}
    assert only("top/in/file").place == "top/in/file"
    found = list(read_documents(["door"]))
    assert [one.place for one in found if isinstance(one, PersonalDocument)] == [
        "door/a.txt", "door/in/b.txt",
    ]  # fmt: skip


def test_an_index_among_documents_is_one_line() -> None:
    put("mine/a.txt", "words of mine")
    update_index(Path("mine/index"), list(read("mine")), Language("none"))
    put("mine/other/index.json", '{"articles": ["a"]}')
    put("mine/other/b.txt", "words of others")
    told = [(one.place, getattr(one, "reason", "")) for one in read_documents(["mine"])]
    assert told == [
        ("mine/a.txt", ""),
        ("mine/index", "an index, whose texts stand elsewhere"),
        ("mine/other/b.txt", ""),
        ("mine/other/index.json", "of a kind that is not read"),
    ]


@pytest.mark.skipif(os.name != "posix", reason="names are text here")
def test_names_that_are_no_text() -> None:
    Path(os.fsdecode(b"caf\xe9.txt")).write_text("words")
    assert only(".").place == "caf\ufffd.txt"


def test_a_deep_folder() -> None:
    inside = Path("/".join(["d"] * 400))
    put(str(inside / "a.txt"), "words")
    assert len(read("d")) == 1


# --- on the way -----------------------------------------------------------------------------------


def test_nothing_is_read_before_it_is_asked_for() -> None:
    put("a.txt", "one")
    later = put("b.txt", "two")
    found = read_documents(["."])
    assert next(found).place == "a.txt"
    later.write_text("changed", encoding="utf-8")
    (last,) = found
    assert isinstance(last, PersonalDocument)
    assert last.text == "changed"


def test_reading_tells_how_far_it_is_and_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_EACH", 2)
    for name in "abcde":
        put(f"{name}.txt", "words")
    told: list[str] = []
    assert len(list(read_documents(["."], watch=Watch(tell=told.append)))) == 5
    assert told == ["2 documents so far", "4 documents so far"]
    refusal(lambda: list(read_documents(["."], watch=Watch(stop=lambda: True))), kind=Stopped)
