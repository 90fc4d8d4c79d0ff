"""Engines elsewhere, by small servers that speak as they do; and those that do not."""

from __future__ import annotations

import base64
import gzip
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any, get_args
from urllib.parse import parse_qs, urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from hypothesis import given
from hypothesis import strategies as st

from at_hand import refusal
from reticent.errors import EngineError, InputError
from reticent.search import remote
from reticent.search.engines import FoundPage
from reticent.search.exposing import ExposedProfile
from reticent.search.ranking import answer
from reticent.search.remote import EngineKind, engine_at

SECRET = "zqterm"
Speaks = Callable[["Asked"], tuple[int, dict[str, str], bytes]]


@dataclass
class Asked:
    """One request as a server got it."""

    method: str
    path: str
    said: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes


@dataclass
class Engine:
    """A server, and what it was asked."""

    url: str
    asked: list[Asked] = field(default_factory=list)


@pytest.fixture
def serving() -> Iterator[Callable[..., Engine]]:
    running: list[ThreadingHTTPServer] = []

    def start(speaks: Speaks, certificate: Path | None = None) -> Engine:
        class Handler(BaseHTTPRequestHandler):
            def _all(self) -> None:
                parts = urlsplit(self.path)
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                asked = Asked(
                    self.command, parts.path, parse_qs(parts.query), dict(self.headers), body
                )
                engine.asked.append(asked)
                status, headers, said = speaks(asked)
                self.send_response(status)
                for pair in {"Content-Length": str(len(said)), **headers}.items():
                    self.send_header(*pair)
                self.end_headers()
                self.wfile.write(said)

            do_GET = do_POST = _all

            def log_message(self, *given: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, *given: object) -> None:
                """Who hangs up is heard on the other side."""

        server = Server(("127.0.0.1", 0), Handler)
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        scheme = "https" if certificate else "http"
        engine = Engine(f"{scheme}://127.0.0.1:{server.server_port}")
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        running.append(server)
        return engine

    yield start
    for server in running:
        server.shutdown()
        server.server_close()


def said(data: object, status: int = 200, **headers: str) -> tuple[int, dict[str, str], bytes]:
    return status, {"Content-Type": "application/json", **headers}, json.dumps(data).encode()


# --- OpenSearch ----------------------------------------------------------------------------------


def opensearch(asked: Asked) -> tuple[int, dict[str, str], bytes]:
    """As OpenSearch 2 and Elasticsearch 8 answer."""
    if asked.path != "/mails/_search":
        return said({"mails": {"aliases": {}, "mappings": {}, "settings": {}}})
    hits = [
        {"_index": "mails", "_id": "1", "_score": 7.5,
         "_source": {"url": "https://a.example/1", "title": "<em>Jaguars</em> &amp; cats",
                     "content": "A <b>jaguar</b> runs<script>alert(1)</script>.", "year": 2001}},
        {"_index": "mails", "_id": "2", "_score": 3.25,
         "_source": {"subject": "Cars", "from": {"name": "Ann"}, "tags": ["red", "fast"]}},
        {"_index": "mails", "_id": "3", "_score": 1.0},
    ]  # fmt: skip
    found = {"total": {"value": 3, "relation": "eq"}, "max_score": 7.5, "hits": hits}
    return said(
        {"took": 3, "timed_out": False, "_shards": {"total": 1, "failed": 0}, "hits": found}
    )


@pytest.mark.net
@pytest.mark.parametrize("path", ["/mails", "/mails/", "/mails/_search"])
def test_opensearch(serving: Callable[[Speaks], Engine], path: str) -> None:
    engine = serving(opensearch)
    found = engine_at(engine.url + path).ask("jaguar", 50)
    assert found == [
        FoundPage("https://a.example/1", "Jaguars & cats", "Jaguars & cats\nA jaguar runs.", 7.5),
        FoundPage("mails/2", "Cars", "Cars\nAnn\nred\nfast", 3.25),
        FoundPage("mails/3", "", "", 1.0),
    ]
    last = engine.asked[-1]
    assert (last.method, last.path, last.said) == ("POST", "/mails/_search", {})
    assert json.loads(last.body) == {
        "size": 50, "query": {"multi_match": {"query": "jaguar", "lenient": True}},
    }  # fmt: skip


@pytest.mark.net
def test_the_kind_is_asked_once_and_without_the_query(
    serving: Callable[[Speaks], Engine],
) -> None:
    for speaks, path in ((opensearch, "/mails"), (searxng, "")):
        engine = serving(speaks)
        there = engine_at(engine.url + path)
        there.ask(SECRET, 3)
        there.ask(SECRET, 3)
        assert SECRET not in f"{engine.asked[0]}"
        assert [asked.path for asked in engine.asked].count(path or "/") == 1


@pytest.mark.net
def test_at_most_so_many(serving: Callable[[Speaks], Engine]) -> None:
    engine = serving(opensearch)
    assert len(engine_at(engine.url + "/mails", kind="opensearch").ask("jaguar", 2)) == 2


# --- SearXNG -------------------------------------------------------------------------------------


def searxng(asked: Asked) -> tuple[int, dict[str, str], bytes]:
    """As SearXNG answers, with 10 results a page of 34, one of them twice."""
    if asked.path != "/search":
        return 200, {"Content-Type": "text/html"}, b"<!DOCTYPE html><title>SearXNG</title>"
    page = int(asked.said["pageno"][0])
    results = [
        {"url": f"https://a.example/{i}", "title": f"Page {i}", "content": "about <b>jaguars</b>…",
         "engine": "duckduckgo", "engines": ["duckduckgo"], "positions": [1], "category": "general",
         "score": 1.0 / (i + 1), "template": "default.html", "parsed_url": ["https", "a", "", "", "", ""]}
        for i in range(10 * page - 10 - (page == 3), min(10 * page, 34))
    ]  # fmt: skip
    return said({
        "query": asked.said["q"][0], "number_of_results": 0, "results": results, "answers": [],
        "corrections": [], "infoboxes": [], "suggestions": ["jaguar car"], "unresponsive_engines": [],
    })  # fmt: skip


@pytest.mark.net
def test_searxng_page_by_page(serving: Callable[[Speaks], Engine]) -> None:
    engine = serving(searxng)
    found = engine_at(engine.url).ask("jaguar", 25)
    assert [page.place for page in found] == [f"https://a.example/{i}" for i in range(25)]
    assert found[0] == FoundPage(found[0].place, "Page 0", "Page 0\nabout jaguars…", 1.0)
    assert [asked.path for asked in engine.asked] == ["/", "/search", "/search", "/search"]
    assert engine.asked[1].said == {"q": ["jaguar"], "format": ["json"], "pageno": ["1"]}
    engine.asked.clear()
    assert len(engine_at(engine.url + "/search").ask("jaguar", 500)) == 34
    assert len(engine.asked) == 5  # the fifth is empty


@pytest.mark.net
def test_what_came_before_a_refusal_counts(serving: Callable[[Speaks], Engine]) -> None:
    def limited(asked: Asked) -> tuple[int, dict[str, str], bytes]:
        return searxng(asked) if asked.said["pageno"] == ["1"] else said({}, 429)

    assert len(engine_at(serving(limited).url + "/search").ask("jaguar", 25)) == 10


@pytest.mark.net
def test_what_an_address_says_is_kept(serving: Callable[[Speaks], Engine]) -> None:
    engine = serving(searxng)
    port = urlsplit(engine.url).port
    there = engine_at(
        f"http://ann:p%40ss@127.0.0.1:{port}/search?language=de&q=old&format=csv&x=&y=a b"
    )
    there.ask("jaguar & car", 5)
    [asked] = engine.asked
    assert asked.said == {
        "language": ["de"], "y": ["a b"], "q": ["jaguar & car"], "format": ["json"], "pageno": ["1"],
    }  # fmt: skip
    assert asked.headers["Authorization"] == f"Basic {base64.b64encode(b'ann:p@ss').decode()}"


# --- both ----------------------------------------------------------------------------------------


@pytest.mark.net
def test_an_engine_hears_the_query_and_nothing_else(
    serving: Callable[[Speaks], Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    exposed = ExposedProfile((("zqprofile", 1.0),), 0.5, 0.1)
    for speaks, path in ((opensearch, "/mails/_search"), (searxng, "/search")):
        engine = serving(speaks)
        found = answer(engine_at(engine.url + path), "jaguar", exposed, top=3)
        assert len(found.pages) == 3
        for asked in engine.asked:
            assert "zqprofile" not in f"{asked}"
            assert {*asked.headers} <= {
                "Host", "Accept", "Accept-Encoding", "User-Agent", "Content-Type", "Content-Length",
            }  # fmt: skip
            assert asked.headers["User-Agent"] == "reticent"
            assert "cookie" not in f"{asked}".lower()


@pytest.mark.net
@pytest.mark.parametrize("kind", ["opensearch", "searxng"])
def test_empty_answers(serving: Callable[[Speaks], Engine], kind: Any) -> None:
    empty = {"hits": {"total": {"value": 0}, "max_score": None, "hits": []}, "results": []}
    assert engine_at(serving(lambda asked: said(empty)).url, kind=kind).ask("jaguar", 5) == []


@pytest.mark.net
def test_scores_that_do_not_fall_are_ranks(serving: Callable[[Speaks], Engine]) -> None:
    for scores in (
        (None, None, None),
        (1, 2, 3),
        (1e999, 1, 0),
        (10**400, 1, 0),
        ("x", True, 0),
        (3, None, 1),
    ):
        results = [{"url": f"u{i}", "title": "", "score": s} for i, s in enumerate(scores)]
        hits = {"hits": [{"_id": f"{i}", "_score": s} for i, s in enumerate(scores)]}
        engine = serving(plain(json.dumps({"results": results, "hits": hits}).encode()))
        for kind in get_args(EngineKind):
            found = engine_at(engine.url, kind=kind).ask("jaguar", 5)
            assert [page.score for page in found] == [3.0, 2.0, 1.0]


@pytest.mark.net
def test_odd_results_are_read_as_far_as_they_go(serving: Callable[[Speaks], Engine]) -> None:
    odd: list[Any] = [None, 7, [], {}, {"url": 5}, {"url": "u", "title": None, "content": ["x"]}]
    engine = serving(lambda asked: said({"results": odd}))
    assert [page.place for page in engine_at(engine.url, kind="searxng").ask("a", 9)] == ["u"]
    hits = [None, {}, {"_source": [1]}, {"_id": 5, "_source": {"title": {"a": {"b": ["deep"]}}}}]
    engine = serving(lambda asked: said({"hits": {"hits": hits}}))
    found = engine_at(engine.url, kind="opensearch").ask("\ud800 a", 9)
    assert [page.title for page in found] == ["", "", "deep"]


@given(st.text() | st.text("<>!-[]/&#;x1a \"'"))
def test_any_text_gives_text(text: str) -> None:
    assert len(remote._plain(text)) <= 2 * len(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("see <![foo[ bar", "see <![foo[ bar"),
        ("a<STYLE x=1>b<i>c</style>d<br/>e", "acde"),
        ("a<script>b", "a"),
        ("1 <2> 3 <> </ <a", "1 <2> 3 <> </ <a"),
        ("<!-- no -->a<!DOCTYPE html>b<?x?>", "ab"),
        ("&lt;b&gt; &#252;&#xFC; &nosuch; &#" + "1" * 5000 + ";", None),
    ],
)
def test_marks_are_taken_out(text: str, words: str | None) -> None:
    assert remote._plain(text) == (words or f"<b> üü &nosuch; &#{'1' * 5000};")


@pytest.mark.parametrize("sign", ["<a ", "<", "<script>", "<!--", "<![", "&#1", "&a", "</", "a"])
def test_marks_cost_no_more_than_they_are_long(sign: str) -> None:
    start = time.process_time()
    title = remote._result({"url": "u", "title": "<a" + sign * 2_000_000, "content": ""}).title
    assert len(title) <= remote._MOST_LETTERS
    remote._hit({"_source": {"texts": [sign * 20_000] * 20}})
    assert time.process_time() - start < 3  # it is some hundredths; quadratic, it is minutes


def plain(body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Speaks:
    return lambda asked: (status, headers or {}, body)


REFUSALS: dict[str, tuple[Speaks, str]] = {
    "401": (plain(b"", 401), "wants a name and a password"),
    "403": (plain(b"", 403), "refuses the request"),
    "404": (plain(b"", 404), "nothing at this address"),
    "418": (plain(b"", 418), "answered with 418"),
    "429": (plain(b"", 429), "asked too often"),
    "500": (plain(SECRET.encode(), 500), "it failed"),
    "503": (plain(b"", 503), "not ready"),
    "redirect": (
        lambda asked: (302, {"Location": f"https://evil.example/?q={SECRET}"}, b""),
        r"sends its visitors elsewhere[^$]*perhaps https://evil.example\)",
    ),
    "html": (plain(b"<html>zqterm</html>"), "no JSON"),
    "list": (plain(b"[]"), "no JSON"),
    "nothing": (plain(b""), "no JSON"),
    "deep": (plain(b"[" * 200_000), "no JSON"),
    "latin": (plain(b'{"results": "\xe9"}'), "no JSON"),
    "packed": (plain(gzip.compress(b"{}"), 200, {"Content-Encoding": "gzip"}), "no JSON"),
    "short": (plain(b'{"results"', 200, {"Content-Length": "500"}), "no JSON|did not answer"),
    "other": (plain(b'{"error": "zqterm"}'), "no results in its answer"),
    "odd": (plain(b'{"results": {}, "hits": []}'), "no results in its answer"),
}


@pytest.mark.net
@pytest.mark.parametrize("kind", ["opensearch", "searxng"])
@pytest.mark.parametrize("why", REFUSALS)
def test_failures_are_told_without_the_query(
    serving: Callable[[Speaks], Engine], why: str, kind: Any
) -> None:
    speaks, words = REFUSALS[why]
    engine = serving(speaks)
    url = engine.url.replace("//", "//ann:zqpassword@") + "/x?key=zqkey"
    there = engine_at(url, kind=kind, timeout=10)
    with pytest.raises(EngineError, match=words) as caught:
        there.ask(SECRET, 5)
    assert caught.value.exit_code == 4
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert "zq" not in str(caught.value)
    assert engine.url.partition("//")[2] in str(caught.value)
    assert all(asked.path.startswith("/x/") for asked in engine.asked)  # nobody followed anything


@pytest.mark.net
def test_a_huge_answer_is_not_read_on(
    serving: Callable[[Speaks], Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "_MOST_BYTES", 1 << 20)
    engine = serving(plain(b"[" * (1 << 20) + b"]"))
    with pytest.raises(EngineError, match="larger than 1 MB"):
        engine_at(engine.url, kind="searxng").ask("jaguar", 5)


def raw(speak: Callable[[socket.socket], object]) -> str:
    """An address where somebody speaks who is no web server."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with listening:
            line, _ = listening.accept()
            with line:
                line.recv(1 << 16)
                speak(line)

    threading.Thread(target=serve, daemon=True).start()
    return f"http://127.0.0.1:{listening.getsockname()[1]}/search"


@pytest.mark.net
def test_who_does_not_answer() -> None:
    def slowly(line: socket.socket) -> None:
        """A byte now and then: never silent for long."""
        try:
            for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + b"[" * 1000:
                line.sendall(bytes([byte]))
                time.sleep(0.05)
        except OSError:
            pass

    done = threading.Event()
    for speak in (slowly, lambda line: done.wait(30)):
        start = time.monotonic()
        with pytest.raises(EngineError, match=r"did not answer within 0\.3 seconds"):
            engine_at(raw(speak), timeout=0.3).ask("jaguar", 5)
        assert time.monotonic() - start < 5  # all of it takes 50
    done.set()


@pytest.mark.net
def test_connecting_is_of_the_same_time(
    serving: Callable[[Speaks], Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[float] = []
    timer, connect = threading.Timer, HTTPConnection.connect

    def connected(connection: HTTPConnection) -> None:
        connect(connection)
        time.sleep(0.1)

    def noted(seconds: float, act: Callable[[], None]) -> threading.Timer:
        left.append(seconds)
        return timer(seconds, act)

    monkeypatch.setattr(HTTPConnection, "connect", connected)
    monkeypatch.setattr(threading, "Timer", noted)
    engine_at(serving(searxng).url, kind="searxng", timeout=30).ask("jaguar", 5)
    assert len(left) == 1
    assert left[0] < 29.95


@pytest.mark.net
def test_who_speaks_otherwise() -> None:
    for words in (b"", b"SSH-2.0-x\r\n", b"HTTP/1.1 200 OK\r\nA: " + b"x" * 100_000):
        with pytest.raises(EngineError, match="cannot be reached"):
            engine_at(raw(lambda line, w=words: line.sendall(w))).ask("jaguar", 5)  # type: ignore[misc]


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """One for 127.0.0.1 that nobody but itself vouches for, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "engine")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(1))
        .not_valid_after(now + timedelta(1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    place = tmp_path / "engine.pem"
    place.write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        + made.public_bytes(Encoding.PEM)
    )
    return place


@pytest.mark.net
def test_a_certificate_has_to_be_trusted(
    serving: Callable[..., Engine], certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = serving(searxng, certificate)
    with pytest.raises(EngineError, match="certificate is not trusted") as caught:
        engine_at(engine.url + "/search").ask("jaguar", 5)
    assert "_ssl.c" not in str(caught.value)
    assert engine.asked == []
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert len(engine_at(engine.url + "/search").ask("jaguar", 5)) == 5
    with pytest.raises(EngineError, match="does not speak TLS"):
        engine_at(serving(searxng).url.replace("http:", "https:")).ask("jaguar", 5)


@pytest.mark.net
def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    with pytest.raises(EngineError, match="cannot be reached: Connection refused"):
        engine_at(f"https://127.0.0.1:{port}").ask("jaguar", 5)


@pytest.mark.parametrize(
    "url",
    ["", "localhost:9200", "ftp://a.example", "file:///etc/passwd", "http://", "http://[::1",
     "http://a:b", "http://ann:zqpassword@", "javascript:alert(1)", "http://" + "a" * 300],
)  # fmt: skip
def test_no_address(url: str) -> None:
    error = refusal(lambda: engine_at(url))
    assert "no address of an engine" in str(error)
    assert "zq" not in str(error)


def test_no_kind() -> None:
    with pytest.raises(InputError, match='Did you mean "searxng"'):
        engine_at("http://a.example", kind="searx")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no number of seconds"):
        engine_at("http://a.example", timeout=0)
