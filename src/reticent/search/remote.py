"""Engines elsewhere, asked over HTTP: OpenSearch or Elasticsearch, and SearXNG.

    opensearch    POST ADDRESS/_search    {"size", "query": {"multi_match": …}}   all in one answer
    searxng       GET ADDRESS/search      ?q=…&format=json&pageno=1               page by page

Such an engine gets the query and what its address holds, and nothing else: no cookie, no profile,
the same words about who asks from everybody. No redirect is followed, no proxy asked: the query
goes where the address says or nowhere. What comes back is not trusted: it is bounded in time and
size, and marks of HTML are taken out of it.
"""

from __future__ import annotations

import base64
import contextlib
import json
import math
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import unescape
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from types import MappingProxyType
from typing import Any, Literal, get_args
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

from reticent.errors import EngineError, InputError, did_you_mean
from reticent.search.engines import FoundPage, SearchEngine, with_title

EngineKind = Literal["opensearch", "searxng"]
TIMEOUT = 10.0  # seconds from connecting to the last byte; of several addresses each has as many
_MOST_BYTES = 32 << 20  # of an answer
_MOST_LETTERS = 20_000  # of each title and of each text that are read
_MOST_PAGES = 20  # of results that SearXNG is asked for
_SAFE = "/%:@!$&'()*+,;=~"  # signs that may stand in a path as they are

# Fields of documents in OpenSearch have any names; these are what they are mostly called.
_PLACES = ("url", "uri", "link", "href", "permalink", "path", "place", "file")
_TITLES = ("title", "name", "subject", "headline", "heading")
_TEXTS = ("text", "content", "body", "description", "abstract", "summary", "snippet", "excerpt")


def engine_at(
    url: str, *, kind: EngineKind | None = None, timeout: float = TIMEOUT
) -> SearchEngine:
    """The engine at an address; of which kind it is shows in that, or in what it says of itself."""
    known = get_args(EngineKind)
    if kind is not None and kind not in known:
        raise InputError(
            f'"{kind}" is no kind of engine', where="the kind of an engine",
            do=f"{did_you_mean(kind, known)} Known are {', '.join(known)}.".strip(),
        )  # fmt: skip
    if not 0 < timeout < math.inf:
        raise InputError("this time is no number of seconds above 0", where="timeout")
    return HttpEngine(_Address.of(url), kind, timeout)


class HttpEngine:
    """An engine that is asked over HTTP."""

    language: str | None = None  # nobody knows of which its pages are

    def __init__(self, address: _Address, kind: EngineKind | None, timeout: float) -> None:
        """Take what `engine_at` made of an address."""
        self.address, self.timeout = address, timeout
        self.kind = kind or address.kind()

    def ask(self, query: str, top: int) -> list[FoundPage]:
        """The best pages for a query, in the engine's order."""
        query = query.encode("utf-8", "replace").decode()  # what is no text cannot be sent
        if self.kind is None:
            self.kind = self._guessed()
        pages = (
            self._by_one(query, top) if self.kind == "opensearch" else self._by_pages(query, top)
        )
        return _falling(pages[:top])

    def _guessed(self) -> EngineKind:
        """Ask the address itself, without a query: OpenSearch speaks JSON, SearXNG shows a page."""
        answer = self._heard(self.address, None, anything=True)
        return "opensearch" if isinstance(answer, dict) else "searxng"

    def _by_one(self, query: str, top: int) -> list[FoundPage]:
        body = {"size": top, "query": {"multi_match": {"query": query, "lenient": True}}}
        answer = self._heard(self.address.at("_search"), json.dumps(body).encode())
        hits = answer.get("hits")
        found = hits.get("hits") if isinstance(hits, dict) else None
        if not isinstance(found, list):
            raise self._strange("there are no results in its answer")
        return [_hit(one) for one in found if isinstance(one, dict)]

    def _by_pages(self, query: str, top: int) -> list[FoundPage]:
        found: dict[str, FoundPage] = {}
        for number in range(1, _MOST_PAGES + 1):
            said = {"q": query, "format": "json", "pageno": str(number)}
            try:
                answer = self._heard(self.address.at("search", said), None)
            except EngineError:
                if not found:
                    raise
                break  # many allow so many requests a minute: what has come is an answer, too
            results = answer.get("results")
            if not isinstance(results, list):
                raise self._strange("there are no results in its answer")
            before = len(found)
            for one in results:
                if isinstance(one, dict) and (page := _result(one)).place:
                    found.setdefault(page.place, page)
            if len(found) >= top or len(found) == before:
                break
        return [*found.values()]

    def _heard(self, address: _Address, body: bytes | None, anything: bool = False) -> Any:
        """What an address says to one request; of `anything` but JSON, None."""
        try:
            status, said, elsewhere = _requested(address, body, self.timeout)
        except TimeoutError:
            raise EngineError(
                f"it did not answer within {self.timeout:g} seconds", where=address.shown(),
                do="try again, or choose another engine.",
            ) from None  # fmt: skip
        except (OSError, HTTPException, ValueError) as error:
            raise EngineError(
                f"it cannot be reached: {_reason(error)}", where=address.shown(),
                do="look at the address, and whether the engine runs.",
            ) from None  # fmt: skip
        if anything and 300 <= status < 500:
            return None
        if status != 200:
            raise EngineError(
                _SAYS.get(status, f"it answered with {status}"), where=address.shown(),
                do=_REMEDIES.get(status, "").format(elsewhere=elsewhere) or _LOOK,
            )  # fmt: skip
        if said is None:
            raise self._strange(f"its answer is larger than {_MOST_BYTES >> 20} MB")
        try:
            answer = json.loads(said)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict) and not anything:
            raise self._strange("its answer is no JSON")
        return answer

    def _strange(self, what: str) -> EngineError:
        return EngineError(
            what, where=self.address.shown(),
            do="look at the address; it has to be one of OpenSearch, Elasticsearch or SearXNG.",
        )  # fmt: skip


_SAYS = {
    **dict.fromkeys((301, 302, 303, 307, 308), "it sends its visitors elsewhere"),
    400: "it does not understand the request",
    401: "it wants a name and a password",
    403: "it refuses the request",
    404: "there is nothing at this address",
    429: "it has been asked too often",
    500: "it failed (500)",
    502: "it failed (502)",
    503: "it is not ready (503)",
    504: "it failed (504)",
}
_LOOK = "look at the address, and into the engine's own log."
_REMEDIES = {
    **dict.fromkeys(
        (301, 302, 303, 307, 308),
        "give the address that answers itself{elsewhere}: the query is sent to no other.",
    ),
    401: "give them in the address: https://name:password@…",
    403: "a name and a password can stand in the address; SearXNG has to allow `json` among "
    "`search: formats:` in its settings.yml.",
    429: "wait a little.",
}


# --- addresses -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Address:
    """Where an engine is."""

    parts: SplitResult

    @classmethod
    def of(cls, url: str) -> _Address:
        try:
            parts = urlsplit(url.strip())
            whole = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
            (parts.hostname or "").encode("idna")
        except ValueError:
            whole = None
        if not whole:
            # Not said again: a password may stand in it.
            raise InputError(
                "this is no address of an engine", where="--engine",
                do="give one as https://search.example.org or http://localhost:9200/mails.",
            )  # fmt: skip
        path = quote(parts.path, safe=_SAFE).rstrip("/")
        said = urlencode(parse_qsl(parts.query, keep_blank_values=True))
        return cls(parts._replace(path=path, query=said, fragment=""))

    def kind(self) -> EngineKind | None:
        """What the path shows."""
        last = self.parts.path.rpartition("/")[2]
        return {"_search": "opensearch", "search": "searxng"}.get(last)  # type: ignore[return-value]

    def at(self, last: str, said: Mapping[str, str] = MappingProxyType({})) -> _Address:
        """The address that is asked, below this one or this one itself."""
        path = self.parts.path
        if path.rpartition("/")[2] != last:
            path += f"/{last}"
        own = parse_qsl(self.parts.query, keep_blank_values=True)
        query = urlencode([*(pair for pair in own if pair[0] not in said), *said.items()])
        return replace(self, parts=self.parts._replace(path=path, query=query))

    def shown(self) -> str:
        """The address without a password or a query."""
        return f"{self.parts.scheme}://{self.parts.netloc.rpartition('@')[2]}{self.parts.path}"

    def headers(self) -> dict[str, str]:
        """What every request says."""
        found = {"Accept": "application/json", "User-Agent": "reticent"}
        if self.parts.username is not None:
            both = f"{unquote(self.parts.username)}:{unquote(self.parts.password or '')}"
            found["Authorization"] = f"Basic {base64.b64encode(both.encode()).decode()}"
        return found


def _requested(
    address: _Address, body: bytes | None, timeout: float
) -> tuple[int, bytes | None, str]:
    """The status of an answer, what it says (None if that is too much), and where it points."""
    parts = address.parts
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=timeout)
    with contextlib.closing(connection), _ended(connection, timeout):
        headers = address.headers()
        if body is not None:
            headers["Content-Type"] = "application/json"
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("GET" if body is None else "POST", target, body, headers)
        answer = connection.getresponse()
        said = answer.read(_MOST_BYTES + 1) if answer.status == 200 else b""
        return answer.status, said if len(said) <= _MOST_BYTES else None, _points(answer)


@contextlib.contextmanager
def _ended(connection: HTTPConnection, timeout: float) -> Iterator[None]:
    """Connect, and hang up when time is over: a socket's own clock begins anew with every byte."""
    start = time.monotonic()
    connection.connect()
    line: socket.socket = connection.sock
    left = start + timeout - time.monotonic()
    over = threading.Event()

    def hang_up() -> None:
        over.set()
        with contextlib.suppress(OSError):
            line.shutdown(socket.SHUT_RDWR)

    clock = threading.Timer(max(left, 0.0), hang_up)
    clock.daemon = True
    clock.start()
    try:
        yield
    except (OSError, HTTPException, ValueError):
        if over.is_set():
            raise TimeoutError from None
        raise
    finally:
        clock.cancel()
    if over.is_set():
        raise TimeoutError


def _reason(error: Exception) -> str:
    """What went wrong, without words that came over the wire."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message})"
    if isinstance(error, ssl.SSLError):
        return "it does not speak TLS as it should"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return "it does not speak HTTP as it should"


def _points(answer: HTTPResponse) -> str:
    """Where an answer sends to, without what may repeat the query."""
    with contextlib.suppress(ValueError):
        parts = urlsplit(answer.headers.get("Location", ""))
        if parts.scheme in ("http", "https") and re.fullmatch(r"[\w.:\[\]-]{1,100}", parts.netloc):
            return f" (perhaps {parts.scheme}://{parts.netloc})"
    return ""


# --- results -------------------------------------------------------------------------------------


def _hit(one: Mapping[str, Any]) -> FoundPage:
    """A result of OpenSearch."""
    source = one.get("_source")
    fields = source if isinstance(source, dict) else {}
    named = _first(fields, _PLACES) or f"{one.get('_index', '')}/{one.get('_id', '')}"
    title = _plain(_first(fields, _TITLES))
    texts = [text for name in _TEXTS for text in _strings(fields.get(name))]
    texts = texts or [text for text in _strings(fields) if text != named]
    return _page(named, title, "\n".join(map(_plain, texts)), one.get("_score"))


def _result(one: Mapping[str, Any]) -> FoundPage:
    """A result of SearXNG."""
    place, title, text = (
        value if isinstance(value := one.get(name), str) else ""
        for name in ("url", "title", "content")
    )
    return _page(place, _plain(title), _plain(text), one.get("score"))


def _page(place: str, title: str, text: str, score: object) -> FoundPage:
    known = math.nan
    if isinstance(score, int | float):
        with contextlib.suppress(OverflowError):  # a whole number may be larger than any float
            known = float(score)
    return FoundPage(place, title, with_title(title, text[:_MOST_LETTERS]), known)


def _falling(pages: Sequence[FoundPage]) -> list[FoundPage]:
    """Results with scores that fall with their order: the engine's, or where they do not, ranks."""
    scores = [page.score for page in pages]
    if all(math.isfinite(score) for score in scores) and scores == sorted(scores, reverse=True):
        return [*pages]
    return [replace(page, score=float(len(pages) - i)) for i, page in enumerate(pages)]


def _first(fields: Mapping[str, Any], names: Sequence[str]) -> str:
    return next((text for name in names for text in _strings(fields.get(name))), "")


def _strings(value: object) -> list[str]:
    """All texts in a value, in their order."""
    found: list[str] = []
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, dict | list):
            waiting += [*(one.values() if isinstance(one, dict) else one)][::-1]
    return found


# A sign that a tag begins with is in no other: so nothing is read twice, whatever somebody sends.
_TAG = re.compile(r"<([a-zA-Z/!?][^<>]*)>")
_HIDDEN = re.compile(r"(?:script|style)\b", re.IGNORECASE)  # is what stands between such tags
# Numbers are short: `html.unescape` alone stumbles over long ones.
_REFERENCE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")


def _plain(text: str) -> str:
    """The beginning of a text, without marks of HTML, which many engines put around words.

    >>> _plain("<b>Jaguars</b> &amp; other cats: 3 < 4")
    'Jaguars & other cats: 3 < 4'
    """
    text = text[:_MOST_LETTERS]
    if "<" not in text and "&" not in text:
        return text
    words, at, hidden = list[str](), 0, False
    for tag in _TAG.finditer(text):
        if not hidden:
            words.append(text[at : tag.start()])
        at = tag.end()
        hidden = _HIDDEN.match(tag[1]) is not None
    if not hidden:
        words.append(text[at:])
    return _REFERENCE.sub(lambda found: unescape(found[0]), "".join(words))
