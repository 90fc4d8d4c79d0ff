"""A server for one person: an app's pages behind the gate, on this machine unless told otherwise.

An app is three tables: pages (GET), changes that pages make (POST of JSON, JSON back) and calls for
programs (the same, with the token), besides a few files that pages load. A path stands in one of
them or is not there at all: nothing is looked up on a disk.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import logging
import socket
import socketserver
import ssl
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

from reticent.errors import InputError, ReticentError
from reticent.serving.asking import RequestRefused, TimedSocket, WebRequest, read_head, read_json
from reticent.serving.gate import ServingGate

LOOPBACK = "127.0.0.1"
_LOG = logging.getLogger("reticent.serving")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Connection": "close",
}
_ANSWERED = 30.0  # seconds that a reader may take
_WAITED = 1.0  # for the rest of what was refused, so that the refusal arrives


@dataclass(frozen=True, slots=True)
class WebApp:
    """What is served. Handlers run in several threads at a time."""

    pages: Mapping[str, Callable[[str], str]]  # path inside, "" the first: CSRF token -> HTML
    changes: Mapping[str, Callable[[Any], Any]]  # path inside: JSON in, JSON out
    calls: Mapping[str, Callable[[Any], Any]]  # path from the root: the same, for programs
    files: Mapping[str, tuple[str, bytes]]  # path inside: media type and content


@dataclass(frozen=True, slots=True)
class ServingLimits:
    """How much of a server one may use."""

    body: int = 4_000_000  # bytes; an exposed profile of 100,000 terms takes about 2 million
    connections: int = 32  # at a time
    seconds: float = 10.0  # until a request has arrived, a TLS greeting included


@dataclass(frozen=True, slots=True)
class ServingPlace:
    """Where a server listens, and by which names it may be called."""

    address: str = LOOPBACK
    port: int = 0  # 0: any that is free
    names: tuple[str, ...] = ()  # besides the address: host names of its certificate
    allow_remote: bool = False
    certificate: Path | None = field(default=None, repr=False)
    key: Path | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        try:
            address = ipaddress.ip_address(self.address)
        except ValueError:
            raise InputError(
                f'"{self.address}" is no address in numbers', where="--address",
                do=f"give  {LOOPBACK}, or the address of a network that this machine is in.",
            ) from None  # fmt: skip
        if not 0 <= self.port <= 65_535:
            raise InputError(
                "a port lies between 0 and 65,535", where="--port",
                do="give 8080, or 0 for any that is free.",
            )  # fmt: skip
        if (self.certificate is None) != (self.key is None):
            raise InputError("a certificate and its key belong together", where="--certificate")
        if address.is_loopback:
            return
        if not (self.allow_remote and self.certificate):
            raise InputError(
                "at this address others could reach what is private here", where="--address",
                why="whoever has the address with its token sees everything that you see; "
                "the token and all that is typed would cross the network.",
                do="leave --address out; or add --allow-remote, with TLS: --certificate and --key.",
            )  # fmt: skip
        if address.is_unspecified and not self.names:
            raise InputError(
                "it is not said by which name browsers will call this machine", where="--address",
                why="a call by any other name is refused: it may be another site's.",
                do="give --name, as it stands in the certificate.",
            )  # fmt: skip

    @property
    def is_remote(self) -> bool:
        """Whether others than this machine can reach it."""
        return not ipaddress.ip_address(self.address).is_loopback

    def warnings(self) -> list[str]:
        """What somebody who serves to others must know."""
        if not self.is_remote:
            return []
        return [
            f"Serving at {self.address}, which other machines can reach. Whoever has the address "
            "below, with its token, sees and does here what you can: hand it to nobody else, by no "
            "way that others read. Everything is encrypted by TLS; check that the browser trusts "
            "the certificate."
        ]

    def context(self) -> ssl.SSLContext | None:
        """TLS, where there is a certificate."""
        if self.certificate is None or self.key is None:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            # No password is asked for: a server that waits at a prompt is none.
            context.load_cert_chain(self.certificate, self.key, password="")
        except (OSError, ValueError) as error:
            raise InputError(
                "the certificate cannot be used with this key", where=str(self.certificate),
                why=getattr(error, "reason", None) or getattr(error, "strerror", None) or "",
                do="give PEM files; the key without a password.",
            ) from None  # fmt: skip
        return context


class GuardedServer:
    """One app, served until it is closed."""

    def __init__(
        self,
        app: WebApp,
        place: ServingPlace | None = None,
        limits: ServingLimits | None = None,
    ) -> None:
        """Listen; nothing is answered before `run`."""
        self.app, self.place = app, place or ServingPlace()
        self.limits = limits or ServingLimits()
        self._tls = self.place.context()
        self._free = threading.BoundedSemaphore(self.limits.connections)
        try:
            self._sockets = _Sockets(self)
        except OSError as error:
            raise InputError(
                f"cannot listen there: {error.strerror}", where="--port",
                do="leave --port out, and any that is free is taken.",
            ) from None  # fmt: skip
        self.port = int(self._sockets.server_address[1])
        self.gate = ServingGate(self._hosts(), secure=self._tls is not None)

    @property
    def origin(self) -> str:
        """Where it is, as a browser calls it."""
        name = self.place.names[0] if self.place.names else _in_url(self.place.address)
        return f"{'https' if self._tls else 'http'}://{name}:{self.port}"

    @property
    def url(self) -> str:
        """The first address, for its user alone: the token is in it."""
        return f"{self.origin}/?token={self.gate.token}"

    def run(self) -> None:
        """Answer until somebody presses Ctrl-C or closes it; then end without a word."""
        try:
            self._sockets.serve_forever(poll_interval=0.05)
        except KeyboardInterrupt:
            pass
        finally:
            self._sockets.server_close()

    def close(self) -> None:
        """End `run`, which is another thread's."""
        self._sockets.shutdown()

    def _hosts(self) -> set[str]:
        names = {_in_url(self.place.address), *(name.lower() for name in self.place.names)}
        if not self.place.is_remote:
            names.add("localhost")
        usual = 443 if self._tls else 80
        return {f"{name}:{self.port}" for name in names} | (names if self.port == usual else set())

    # --- one connection --------------------------------------------------------------------------

    def connected(self, connection: socket.socket) -> None:
        """Begin to answer one connection, in a thread of its own; one too many is turned away."""
        if self._free.acquire(blocking=False):
            try:
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()
            except RuntimeError:  # the machine has no thread left
                self._free.release()
                connection.close()
        else:
            _LOG.warning("too many connections at a time: one was turned away")
            connection.close()

    def _answer(self, connection: socket.socket) -> None:
        try:
            with contextlib.closing(self._greeted(connection)) as stream:
                self._exchange(stream)
        except (OSError, EOFError):  # gone, too slow, or no TLS: there is nobody to tell
            connection.close()
        finally:
            self._free.release()

    def _greeted(self, connection: socket.socket) -> socket.socket:
        connection.settimeout(self.limits.seconds)
        return self._tls.wrap_socket(connection, server_side=True) if self._tls else connection

    def _exchange(self, stream: socket.socket) -> None:
        source = TimedSocket(stream, self.limits.seconds)
        head: WebRequest | None = None
        try:
            head = read_head(source)
            found = self._found(head, source)
        except RequestRefused as refused:
            found = _failed(refused.status, str(refused))
        except TimeoutError:
            found = _failed(HTTPStatus.REQUEST_TIMEOUT, "this takes too long")
        _LOG.info("%s %d", self._route(head), found.status)
        stream.settimeout(_ANSWERED)
        stream.sendall(found.bytes(with_body=head is None or head.method != "HEAD"))
        _drain(stream)

    def _found(self, head: WebRequest, source: TimedSocket) -> _Answer:
        """The answer to a request that is read so far; its body is read once the gate is passed."""
        self.gate.check_sender(head)
        if self.gate.enters(head):
            more = {"Location": self.gate.inside, "Set-Cookie": self.gate.set_cookie}
            return _Answer(HTTPStatus.SEE_OTHER, "text/plain", b"", more)
        if head.path.startswith(self.gate.inside):
            self.gate.check_browser(head)
            path, posted = head.path.removeprefix(self.gate.inside), self.app.changes
        else:
            self.gate.check_program(head)
            path, posted = head.path, self.app.calls
        if head.query:
            raise RequestRefused(HTTPStatus.BAD_REQUEST, "nothing is asked in an address: POST it")
        inside = posted is self.app.changes
        shown = inside and (path in self.app.pages or path in self.app.files)
        if not shown and path not in posted:
            raise RequestRefused(HTTPStatus.NOT_FOUND, "there is nothing here")
        if shown == (head.method == "POST"):
            allowed = "GET, HEAD" if shown else "POST"
            return _failed(HTTPStatus.METHOD_NOT_ALLOWED, "ask otherwise", {"Allow": allowed})
        if shown:
            return self._shown(path)
        given = read_json(head, source, self.limits.body)
        return _handled(lambda: _in_json(HTTPStatus.OK, posted[path](given)))

    def _shown(self, path: str) -> _Answer:
        if path in self.app.files:
            kind, content = self.app.files[path]
            return _Answer(HTTPStatus.OK, kind, content)
        text = _handled(lambda: self.app.pages[path](self.gate.csrf))
        return _Answer(HTTPStatus.OK, "text/html; charset=utf-8", text.encode("utf-8"))

    def _route(self, head: WebRequest | None) -> str:
        """What a log may tell of a request: a path of the app, and none that somebody made up."""
        if head is None:
            return "(no request)"
        path = head.path.removeprefix(self.gate.inside)
        known = path in {*self.app.pages, *self.app.files, *self.app.changes, *self.app.calls}
        method = head.method if head.method in ("GET", "HEAD", "POST") else "(other)"
        return f"{method} {path or '(page)' if known else '(elsewhere)'}"


class _Sockets(socketserver.TCPServer):
    """Takes connections, and hands them on."""

    allow_reuse_address = True
    request_queue_size = 32

    def __init__(self, server: GuardedServer) -> None:
        self._server = server
        place = server.place
        self.address_family = socket.AF_INET6 if ":" in place.address else socket.AF_INET
        super().__init__((place.address, place.port), socketserver.BaseRequestHandler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._server.connected(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        _LOG.error("a connection could not be taken")  # not with a traceback: it holds addresses


# --- answers -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Answer:
    status: HTTPStatus
    kind: str
    body: bytes
    more: Mapping[str, str] = field(default_factory=dict)

    def bytes(self, *, with_body: bool = True) -> bytes:
        headers = {
            **_HEADERS,
            "Content-Type": self.kind,
            "Content-Length": str(len(self.body)),
            **self.more,
        }
        lines = [f"HTTP/1.1 {self.status.value} {self.status.phrase}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        head = "\r\n".join([*lines, "", ""]).encode("ascii")
        return head + self.body if with_body else head


def _in_json(status: HTTPStatus, data: Any, more: Mapping[str, str] | None = None) -> _Answer:
    text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    return _Answer(status, "application/json", text.encode("utf-8", "replace"), more or {})


def _failed(status: HTTPStatus, what: str, more: Mapping[str, str] | None = None) -> _Answer:
    """One shape for all that goes wrong."""
    return _in_json(status, {"error": what}, more)


Handled = TypeVar("Handled")


def _handled(work: Callable[[], Handled]) -> Handled:
    """What a handler gives; its failures as refusals, and faults without a word of their data."""
    try:
        return work()
    except RequestRefused:
        raise
    except ReticentError as error:
        status = _STATUS.get(error.exit_code, HTTPStatus.INTERNAL_SERVER_ERROR)
        raise RequestRefused(status, error.text()) from None
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        _LOG.error("%s in %s:%s", type(error).__name__, Path(last.filename).name, last.lineno)
        raise RequestRefused(
            HTTPStatus.INTERNAL_SERVER_ERROR, "this failed, and the fault is ours"
        ) from None


_STATUS = {2: HTTPStatus.BAD_REQUEST, 4: HTTPStatus.BAD_GATEWAY}


def _drain(stream: socket.socket) -> None:
    """Let the other side read to the end: closed over unread bytes, it would lose its answer."""
    stream.settimeout(_WAITED)
    end = time.monotonic() + _WAITED
    with contextlib.suppress(OSError):
        stream.shutdown(socket.SHUT_WR)
        while time.monotonic() < end and stream.recv(65_536):
            pass


def _in_url(address: str) -> str:
    return f"[{address}]" if ":" in address else address.lower()
