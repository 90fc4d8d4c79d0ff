"""Who may ask: this person's own browser, and programs that were given the token.

A page on this machine is reachable for every other site that the same browser has open, and for
every other user of the machine. So there is a secret of 256 bits in the first address that the
command prints; it is exchanged for a cookie at once, and the browser is sent on to an address
without it. What each guard is for:

    Host                    a foreign name that suddenly points at this machine (DNS rebinding)
    Origin, Sec-Fetch-Site  other sites that send something here from the same browser
    cookie                  everybody else on this machine; scripts cannot read it, and no other
                            site can have it sent (HttpOnly, SameSite=Strict)
    the room's own path     servers at other ports: cookies go to all ports of a host, but only
                            below their path, which has a random part
    CSRF token              whatever may be wrong with all of these: a change needs a second secret,
                            that stands in the page alone
    Authorization: Bearer   programs; they have the token itself and no cookie. A browser sends no
                            such header for another site without asking first, which is refused
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable
from http import HTTPStatus

from reticent.serving.asking import RequestRefused, WebRequest

CSRF_HEADER = "x-reticent-csrf"
_ENTRY = re.compile(r"token=([A-Za-z0-9_-]{1,200})")
_METHODS = ("GET", "HEAD", "POST")


class ServingGate:
    """The guards of one server, and the secrets that it was started with."""

    def __init__(self, hosts: Iterable[str], *, secure: bool) -> None:
        """Take the hosts by which it may be called, as a browser writes them."""
        self.hosts, self.secure = frozenset(hosts), secure
        self.token = secrets.token_urlsafe(32)  # of the first address, and of programs
        self.csrf = secrets.token_urlsafe(32)
        self.inside = f"/{secrets.token_urlsafe(12)}/"  # where pages are
        self._cookie = secrets.token_urlsafe(32)
        self._name = f"reticent_{secrets.token_hex(4)}"  # other servers have theirs, too

    @property
    def set_cookie(self) -> str:
        """What gives the cookie to a browser that came with the token."""
        secure = "; Secure" if self.secure else ""
        return f"{self._name}={self._cookie}; Path={self.inside}; HttpOnly; SameSite=Strict{secure}"

    def check_sender(self, head: WebRequest) -> None:
        """Refuse what another site may have sent, and methods that nobody needs."""
        host = head.headers.get("host", "").lower()
        if host not in self.hosts:
            raise RequestRefused(HTTPStatus.MISDIRECTED_REQUEST, "this is another host")
        if head.method not in _METHODS:
            raise RequestRefused(HTTPStatus.NOT_IMPLEMENTED, "there is GET, HEAD and POST")
        origin = f"{'https' if self.secure else 'http'}://{host}"
        if head.headers.get("origin", origin).lower() != origin:
            raise RequestRefused(HTTPStatus.FORBIDDEN, "this comes from another site")
        site = head.headers.get("sec-fetch-site", "same-origin")
        if site != "same-origin" and not (site == "none" and head.method != "POST"):
            raise RequestRefused(HTTPStatus.FORBIDDEN, "this comes from another site")

    def enters(self, head: WebRequest) -> bool:
        """Whether this is the first address, with the right token."""
        if head.path != "/" or head.method != "GET":
            return False
        given = _ENTRY.fullmatch(head.query)
        if given and not _same(given[1], self.token):
            raise RequestRefused(HTTPStatus.UNAUTHORIZED, "this token is of another run")
        return bool(given)

    def check_browser(self, head: WebRequest) -> None:
        """Refuse a browser without the cookie, and a change without the second secret."""
        pairs = [pair.strip() for pair in head.headers.get("cookie", "").split(";")]
        own = [pair.partition("=")[2] for pair in pairs if pair.startswith(f"{self._name}=")]
        if not own or not all(_same(value, self._cookie) for value in own):
            raise _unknown()
        if head.method == "POST":
            if "origin" not in head.headers:  # every browser sends it with a change
                raise RequestRefused(HTTPStatus.FORBIDDEN, "it is not said where this comes from")
            if not _same(head.headers.get(CSRF_HEADER, ""), self.csrf):
                raise RequestRefused(HTTPStatus.FORBIDDEN, "the page is of another run: reload it")

    def check_program(self, head: WebRequest) -> None:
        """Refuse a program without the token."""
        scheme, _, given = head.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not _same(given.strip(), self.token):
            raise _unknown()


def _same(given: str, secret: str) -> bool:
    """Whether two are equal, in a time that does not tell how much of them is."""
    return secrets.compare_digest(given.encode(), secret.encode())


def _unknown() -> RequestRefused:
    return RequestRefused(
        HTTPStatus.UNAUTHORIZED, "open the address that the command printed, with its token"
    )
