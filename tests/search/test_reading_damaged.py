"""Damaged files of every kind: whatever bytes come, there is a document or a reason, and no more."""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Iterator
from email.message import EmailMessage
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from at_hand import SECRET, some_or_many
from reading_at_hand import a_history, a_pdf
from reticent.search.documents import PersonalDocument, SkippedFile
from reticent.search.documents.readers import APART
from reticent.search.documents.reading import read_documents


@pytest.fixture(autouse=True, scope="module")
def _one_process() -> Iterator[None]:
    with APART.kept():
        yield


PAGES = [(f"https://{SECRET}.example.org/{SECRET}/{i}", f"{SECRET} {i}") for i in range(40)]
NAMES = [
    "a.txt",
    "a.md",
    "a.html",
    "a.pdf",
    "a.eml",
    "a.mbox",
    "History",
    "a.json",
    "Mail/cur/1",
    "a",
]


@cache
def whole(name: str) -> bytes:
    """A good file of this name."""
    message = EmailMessage()
    message["Subject"] = f"Grüße {SECRET}"
    message.set_content(f"Schöne {SECRET}", cte="quoted-printable")
    message.add_alternative(f"<p>{SECRET}</p>", subtype="html")
    message.add_attachment(a_pdf(SECRET), maintype="application", subtype="pdf", filename=SECRET)
    for number, part in enumerate(message.walk()):
        if part.is_multipart():
            part.set_boundary(f"part{number}")  # the usual one is random
    page = f"<title>{SECRET}</title><meta charset=latin-1><p {SECRET}=1>{SECRET}<br>&amp;<script>{SECRET}"
    mark = b"From x@y Mon Jan  3 10:00:00 2022\n"
    if name == "History":
        with tempfile.TemporaryDirectory() as folder:
            return a_history(str(Path(folder, name)), PAGES, "urls").read_bytes()
    return {
        "a.html": page.encode(),
        "a.pdf": a_pdf(SECRET, SECRET, title=SECRET),
        "a.eml": bytes(message),
        "Mail/cur/1": bytes(message),
        "a.mbox": (mark + bytes(message) + b"\n") * 2,
        "a.json": json.dumps({"Browser History": [{"url": u, "title": t} for u, t in PAGES]}).encode(),
    }.get(name, f"# {SECRET}\n\nÜbung https://{SECRET}.org".encode())  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn, name: str) -> bytes:
    """A good file with some bytes changed, cut out, doubled, or put in from another kind of file."""
    data = bytearray(whole(name))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        until = min(len(data), at + draw(st.integers(0, 40)))
        kind = draw(st.sampled_from(["cut", "end", "double", "other", "any"]))
        if kind == "end":
            del data[at:]
        elif kind == "double":
            data[at:at] = data[at:until] * draw(st.sampled_from([1, 2, 500]))
        elif kind == "other":
            data[at:until] = whole(draw(st.sampled_from(NAMES)))[at % 7 : at % 7 + 900]
        else:
            data[at:until] = b"" if kind == "cut" else draw(st.binary(max_size=40))
    return bytes(data)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("examples", some_or_many(15, 1_000))
def test_damaged_files_give_documents_or_reasons(
    name: str, examples: int, work: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    path = work / name
    for part in ("Mail/cur", "Mail/new"):
        (work / part).mkdir(parents=True)
    for other in NAMES:
        whole(other)  # outside of what is drawn

    @settings(max_examples=examples, deadline=None, database=None, derandomize=True,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(damaged(name) | st.binary(max_size=200))
    def survives(data: bytes) -> None:
        path.write_bytes(data)
        for one in read_documents([path]):
            if isinstance(one, SkippedFile):
                assert SECRET not in one.place + one.reason
                assert one.reason.isprintable()
            else:
                assert isinstance(one, PersonalDocument)
                for text in (one.place, one.title, one.text):
                    text.encode()

    survives()
    assert SECRET not in caplog.text


@pytest.mark.parametrize("name", NAMES)
def test_the_good_files_are_read(name: str, work: Path) -> None:
    path = work / name
    for part in ("Mail/cur", "Mail/new"):
        (work / part).mkdir(parents=True)
    path.write_bytes(whole(name))
    found = list(read_documents([path]))
    assert found
    assert all(
        isinstance(one, PersonalDocument) and SECRET.lower() in one.text.lower() for one in found
    )
