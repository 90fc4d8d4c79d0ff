"""A server on this machine, and requests of every kind, odd ones included."""

from __future__ import annotations

import json
import re
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from reticent.serving.server import GuardedServer, ServingLimits, ServingPlace, WebApp


@dataclass(frozen=True)
class Told:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def data(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode("utf-8")


class Visitor:
    """Somebody with a connection, who may come in as a browser does."""

    def __init__(self, server: GuardedServer, context: ssl.SSLContext | None = None) -> None:
        self.server, self.context = server, context
        self.host = server.origin.partition("//")[2]
        self.cookie = self.csrf = ""

    def raw(self, *sent: bytes) -> bytes:
        """Send bytes, and read what comes until the end."""
        address = (self.server.place.address, self.server.port)
        plain = socket.create_connection(address, timeout=60)
        with (
            self.context.wrap_socket(plain, server_hostname="localhost") if self.context else plain
        ) as stream:
            for one in sent:
                stream.sendall(one)
            found = b""
            while piece := stream.recv(65_536):
                found += piece
            return found

    def ask(
        self, method: str, path: str, body: bytes = b"", /, **headers: str | None
    ) -> Told:  # fmt: skip
        """One request; headers with _ for -, and None for one that is left out."""
        given = merged({"Host": self.host}, headers)
        if body or method == "POST":
            usual = {"Content-Length": str(len(body)), "Content-Type": "application/json"}
            given = merged(usual, given)
        lines = [f"{name}: {value}" for name, value in given.items() if value is not None]
        head = "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""])
        return told(self.raw(head.encode("latin-1") + body))

    def come_in(self) -> Told:
        """Open the first address, and go where it leads."""
        first = self.ask("GET", self.server.url.removeprefix(self.server.origin))
        assert first.status == 303, first
        self.cookie = first.headers["set-cookie"].partition(";")[0]
        page = self.get("")
        self.csrf = re.findall(r'name="csrf" content="([^"]+)"', page.text)[0]
        return page

    def get(self, path: str, **more: str | None) -> Told:
        given = merged({"Cookie": self.cookie}, more)
        return self.ask("GET", self.server.gate.inside + path, **given)

    def post(self, path: str, given: Any, **more: str | None) -> Told:
        """What the page's own script sends."""
        usual: dict[str, str | None] = {
            "Cookie": self.cookie, "Origin": self.server.origin, "Sec-Fetch-Site": "same-origin",
            "X-Reticent-CSRF": self.csrf,
        }  # fmt: skip
        body = given if isinstance(given, bytes) else json.dumps(given).encode()
        return self.ask("POST", self.server.gate.inside + path, body, **merged(usual, more))

    def call(self, path: str, given: Any, **more: str | None) -> Told:
        """What a program sends."""
        usual: dict[str, str | None] = {"Authorization": f"Bearer {self.server.gate.token}"}
        body = given if isinstance(given, bytes) else json.dumps(given).encode()
        return self.ask("POST", path, body, **merged(usual, more))


def merged(
    usual: Mapping[str, str | None], more: Mapping[str, str | None]
) -> dict[str, str | None]:
    """Headers by one spelling, the later ones instead of the earlier."""
    every = [*usual.items(), *more.items()]
    return {name.replace("_", "-").lower(): value for name, value in every}


def told(found: bytes) -> Told:
    head, _, body = found.partition(b"\r\n\r\n")
    first, *lines = head.decode("ascii").split("\r\n")
    pairs = (line.split(": ", 1) for line in lines)
    return Told(int(first.split()[1]), {name.lower(): value for name, value in pairs}, body)


@contextmanager
def served(
    app: WebApp, place: ServingPlace | None = None, limits: ServingLimits | None = None
) -> Iterator[GuardedServer]:
    """A server that runs while this lasts."""
    server = GuardedServer(app, place, limits)
    running = threading.Thread(target=server.run)
    running.start()
    try:
        yield server
    finally:
        server.close()
        running.join(5)
        assert not running.is_alive()
