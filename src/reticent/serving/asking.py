"""A request, read within bounds: what is too large, too slow or odd is refused before it is read.

One request a connection, HTTP/1.0 or 1.1. Only what browsers and programs really send is
understood; of two readings of a request none is taken (no chunks, no header twice, no folded line).
"""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from reticent.errors import ReticentError

_MOST_HEAD, _MOST_HEADERS = 16_384, 64
_DEEPEST = 100  # objects and lists inside each other
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_TARGET = re.compile(r"/[!-~]*")
_LENGTH = re.compile(r"\d{1,15}")


class RequestRefused(ReticentError):
    """A request that is not answered as it wishes; its words go back to whoever asked."""

    exit_code = 2

    def __init__(self, status: HTTPStatus, what: str) -> None:
        super().__init__(what)
        self.status = status


@dataclass(frozen=True, slots=True)
class WebRequest:
    """The head of a request; what stands in it may be private, and is in no repr."""

    method: str
    path: str = field(repr=False)
    query: str = field(repr=False)  # what stands behind the question mark
    headers: Mapping[str, str] = field(repr=False)  # by lower-case name


class TimedSocket:
    """What comes out of a socket until a moment: slow senders do not buy time byte by byte."""

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        self._socket, self._end = connection, time.monotonic() + seconds
        self._kept = b""

    def head(self) -> bytes:
        """All until the first empty line."""
        found = b""
        while (end := found.find(b"\r\n\r\n")) < 0:
            if len(found) > _MOST_HEAD:
                raise RequestRefused(
                    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "the head is too large"
                )
            found += self._more()
        self._kept = found[end + 4 :]
        return found[:end]

    def body(self, length: int) -> bytes:
        """So many bytes after the head."""
        pieces, have = [self._kept], len(self._kept)
        while have < length:
            pieces.append(self._more())
            have += len(pieces[-1])
        return b"".join(pieces)[:length]

    def _more(self) -> bytes:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._socket.settimeout(left)
        found = self._socket.recv(65_536)
        if not found:
            raise ConnectionAbortedError
        return found


def read_head(source: TimedSocket) -> WebRequest:
    """The head of a request, or a refusal."""
    try:
        first, *lines = source.head().decode("ascii").split("\r\n")
    except UnicodeDecodeError:
        raise _bad("the head is not ASCII") from None
    method, _, rest = first.partition(" ")
    target, _, version = rest.partition(" ")
    if not (_NAME.fullmatch(method) and _TARGET.fullmatch(target)):
        raise _bad("the first line is not one of HTTP")
    if version not in ("HTTP/1.0", "HTTP/1.1"):
        raise RequestRefused(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, "speak HTTP/1.1")
    if len(lines) > _MOST_HEADERS:
        raise RequestRefused(
            HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "there are too many headers"
        )
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        name, value = name.lower(), value.strip(" \t")
        odd = not colon or not _NAME.fullmatch(name) or name in headers
        if odd or not value.replace("\t", " ").isprintable():
            raise _bad("a header is odd, or there twice")
        headers[name] = value
    path, _, query = target.partition("?")
    return WebRequest(method, path, query, headers)


def read_json(head: WebRequest, source: TimedSocket, most: int) -> Any:
    """The body of a request: JSON of so many bytes at most."""
    if "transfer-encoding" in head.headers or "content-encoding" in head.headers:
        raise RequestRefused(HTTPStatus.NOT_IMPLEMENTED, "send the body as it is")
    length = head.headers.get("content-length", "")
    if not _LENGTH.fullmatch(length):
        raise RequestRefused(HTTPStatus.LENGTH_REQUIRED, "say how long the body is")
    if int(length) > most:
        raise RequestRefused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the body is too large")
    kind = head.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RequestRefused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send application/json")
    try:
        return parsed(source.body(int(length)))
    except (ValueError, RecursionError):
        raise _bad("the body is no JSON that can be used") from None


def parsed(body: bytes) -> Any:
    """Strict JSON: no key twice, no number beyond all, no half characters, not too deep."""
    found = json.loads(
        body.decode("utf-8"), object_pairs_hook=_once, parse_constant=_never, parse_float=_finite
    )
    waiting = [(found, 0)]
    while waiting:
        one, depth = waiting.pop()
        if depth > _DEEPEST:
            raise ValueError
        if isinstance(one, str):
            one.encode("utf-8")  # which half a character cannot be
        elif isinstance(one, dict):
            waiting += [(part, depth + 1) for pair in one.items() for part in pair]
        elif isinstance(one, list):
            waiting += [(part, depth + 1) for part in one]
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _never(word: str) -> Any:
    raise ValueError


def _finite(text: str) -> float:
    found = float(text)
    if found in (float("inf"), float("-inf")):
        raise ValueError
    return found


def _bad(what: str) -> RequestRefused:
    return RequestRefused(HTTPStatus.BAD_REQUEST, what)
