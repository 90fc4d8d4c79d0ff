"""The channel over TCP and TLS 1.3.

Every owner listens and calls every peer. Frames to a peer go over the connection this owner made,
frames from it come over the one that the peer made; so each connection is one link, and whoever
sends is the one who notices that it broke and calls again, with growing pauses, until closed.

After the handshake the side that was called says one greeting: in TLS 1.3 the caller's handshake
ends before its certificate has been judged, so only the greeting tells "accepted" from "refused".

All of it runs in one thread of its own with an event loop; frames change hands by queues.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import socket
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass

from reticent.errors import InputError
from reticent.parties.channel import LARGEST_FRAME, Arrival, Trouble
from reticent.parties.connections import Accepted, Inbox, Outgoing, Patience, Refused
from reticent.parties.identity import Identity, PeerCertificate

_COMPARE = (
    "call its owner and compare fingerprints; a new certificate.pem of its own goes to the place "
    "that  certificate  names in its [peers.NAME]."
)
_PAUSES = (0.05, 0.1, 0.2, 0.5, 1.0)  # seconds between calls; the last one over and over


@dataclass(frozen=True, slots=True)
class Peer:
    """Where a peer listens and by what it is known."""

    address: str  # host:port
    certificate: PeerCertificate


def place_of(address: str, where: str) -> tuple[str, int]:
    """Host and port of an address.

    >>> place_of("card.example:7002", "[peers.card]"), place_of("[::1]:7002", "[peers.card]")
    (('card.example', 7002), ('::1', 7002))
    """
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    labels = [*host.rstrip(".").split("."), "x"] if ":" not in host else ["x"]
    named = host.isprintable() and " " not in host and all(0 < len(p) < 64 for p in labels)
    numbered = port.isascii() and port.isdigit() and len(port) < 6 and int(port) <= 65535
    if not host or not named or not numbered:
        raise InputError(
            f'"{address}" is no address', where=where, do='write host:port, as "0.0.0.0:7001".'
        )
    return host, int(port)


class TcpChannel:
    """All links of one owner."""

    def __init__(
        self, identity: Identity, listen: str, peers: Mapping[str, Peer],
        patience: Patience | None = None,
    ) -> None:  # fmt: skip
        """Listen, and begin to call everybody."""
        self.patience = patience or Patience()
        self.inbox = Inbox()
        self._troubles: dict[str, Trouble | None] = {
            name: Trouble("it has not answered yet") for name in peers
        }
        self._names = names_by_digest(identity, peers)
        self._peers = dict(peers)
        self._accepted: dict[str, Accepted] = {}
        self._contexts = {name: identity.dialling(peer.certificate) for name, peer in peers.items()}
        self._places = {n: place_of(p.address, f"[peers.{n}]") for n, p in peers.items()}
        self.loop = asyncio.new_event_loop()
        self._links = {name: Outgoing(name, self.inbox, self.loop) for name in peers}
        # Strangers who cannot shake hands are no news; everything that is has its own way out.
        self.loop.set_exception_handler(lambda loop, context: None)
        self._thread = threading.Thread(target=self._turn, name="reticent-tcp", daemon=True)
        self._thread.start()
        context = identity.listening(peer.certificate for peer in peers.values())
        try:
            begun = self._begin(place_of(listen, "listen"), context)
            self.port = asyncio.run_coroutine_threadsafe(begun, self.loop).result()
        except BaseException:
            self._stop()
            raise

    def send(self, to: str, frame: bytes) -> bool:
        """See `Channel`."""
        if not 1 <= len(frame) <= LARGEST_FRAME:
            raise ValueError(f"a frame has 1 to {LARGEST_FRAME:,} bytes")
        return self._links[to].send(frame)

    def take_up(self, peer: str) -> None:
        """See `Channel`."""
        self._links[peer].taken_up = True

    def receive(self, timeout: float) -> Arrival | None:
        """See `Channel`."""
        return self.inbox.get(timeout)

    def trouble(self, peer: str) -> Trouble | None:
        """See `Channel`."""
        return self._troubles[peer]

    def close(self) -> None:
        """See `Channel`."""
        if self._thread.is_alive():
            with contextlib.suppress(TimeoutError):
                farewell = asyncio.run_coroutine_threadsafe(self._end(), self.loop)
                farewell.result(self.patience.close + 5)
            self._stop()
            self.inbox.put(None)  # whoever waits need not wait longer

    def _turn(self) -> None:
        try:
            self.loop.run_forever()
        finally:
            self.loop.run_until_complete(_cancel_all())
            self.loop.close()

    def _stop(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()

    # What follows runs in the loop's thread.

    async def _begin(self, place: tuple[str, int], context: ssl.SSLContext) -> int:
        try:
            self._server = await self.loop.create_server(
                lambda: Accepted(self._who, self.inbox, self.loop, self.patience), *place,
                ssl=context, ssl_handshake_timeout=self.patience.call, ssl_shutdown_timeout=1,
            )  # fmt: skip
        except (OSError, UnicodeError) as error:
            raise InputError(
                f"cannot listen there: {getattr(error, 'strerror', '') or 'this is no host'}",
                where=f"listen = {place[0]}:{place[1]}",
                do="end what uses this port, or choose another and tell the peers.",
            ) from None
        self._calls = [self.loop.create_task(self._call(name)) for name in self._links]
        return int(self._server.sockets[0].getsockname()[1])

    async def _call(self, name: str) -> None:
        """Call a peer, and again whenever the connection is lost."""
        failures = 0
        while True:
            link = self._links[name]
            try:
                await asyncio.wait_for(self._reach(link), self.patience.call)
                failures, self._troubles[name] = 0, None
                link.opened()
                why = await link.call.lost if link.call else ""
                self._troubles[name] = Trouble(f"the connection was lost{why}")
            except (OSError, TimeoutError, UnicodeError, Refused) as error:
                told, before = self._told(error, link), self._troubles[name]
                if not before or told.hopeless or not before.hopeless:
                    self._troubles[name] = told  # else: the peer gave up too, for the same reason
            link.reset()
            await asyncio.sleep(_PAUSES[min(failures, len(_PAUSES) - 1)])
            failures += 1

    async def _reach(self, link: Outgoing) -> None:
        transport, call = await self.loop.create_connection(
            link.begin, *self._places[link.name],
            ssl=self._contexts[link.name], server_hostname="",
            ssl_handshake_timeout=self.patience.call, ssl_shutdown_timeout=1,
        )  # fmt: skip
        _tune(transport, self.patience)
        if _digest(transport) != self._peers[link.name].certificate.digest:
            transport.abort()
            raise Refused("it shows another certificate than the one pinned for it", True, _COMPARE)
        await call.greeted

    def _told(self, error: Exception, link: Outgoing) -> Trouble:
        at = self._peers[link.name].address
        pinned = self._peers[link.name].certificate
        match error:
            case Refused():
                return Trouble(str(error), error.hopeless, error.do)
            case ssl.SSLCertVerificationError(verify_code=10):
                return Trouble(
                    f"its certificate has expired on {pinned.until:%Y-%m-%d}", True,
                    "let its owner make a new one in a new folder and hand it to all.",
                )  # fmt: skip
            case ssl.SSLCertVerificationError(verify_code=9):
                return Trouble(
                    "its certificate is not valid yet: a clock is wrong", True,
                    "set the clock of this machine.",
                )  # fmt: skip
            case ssl.SSLCertVerificationError():
                return Trouble(
                    f"{at} shows another certificate than the one pinned for it "
                    f"({pinned.fingerprint[:19]} …)", True, _COMPARE,
                )  # fmt: skip
            case ssl.SSLError(reason=str(reason)) if "ALERT_CERTIFICATE_EXPIRED" in reason:
                return Trouble(
                    "it says that the certificate of this owner has expired", True,
                    "see the clocks; else make a new one in a new folder and hand it to all.",
                )  # fmt: skip
            case ssl.SSLError(reason=str(reason)) if "CERT" in reason or "_CA" in reason:
                return Trouble(
                    "it does not accept the certificate of this owner", True,
                    "hand its owner the certificate.pem in your identity folder: another one is "
                    "stored for you there.",
                )  # fmt: skip
            case ssl.SSLError():
                return Trouble(f"what answers at {at} does not speak TLS 1.3")
            case socket.gaierror() | UnicodeError():
                return Trouble(f"there is no host {self._places[link.name][0]}")
            case ConnectionRefusedError():
                return Trouble(f"nobody listens at {at} (connection refused)")
            case TimeoutError():
                return Trouble(f"{at} does not answer")
            case ConnectionError():
                return Trouble(f"{at} ended the connection before it was made")
        return Trouble(f"{at} cannot be reached ({getattr(error, 'strerror', '') or 'no reason'})")

    def _who(self, connection: Accepted, transport: asyncio.Transport) -> str:
        """Which peer has called; its earlier connection, if any, is over."""
        name = self._names.get(_digest(transport), "")
        if name and (earlier := self._accepted.get(name)):
            earlier.end()
        if name:
            _tune(transport, self.patience)
            self._accepted[name] = connection
        return name

    async def _end(self) -> None:
        self._server.close()
        waiting = [lost for link in self._links.values() if (lost := link.close())]
        for call in self._calls:
            call.cancel()
        for connection in self._accepted.values():
            connection.end()
        if waiting:
            await asyncio.wait(waiting, timeout=self.patience.close)
        for link in self._links.values():
            link.reset()
        await asyncio.sleep(0)


async def _cancel_all() -> None:
    loop = asyncio.get_running_loop()
    for _ in range(5):  # who is let in only now is hung up on in the next turn
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        # Strangers who are still shaking hands are known to the loop alone.
        for transport in list(getattr(loop, "_transports", {}).values()):
            transport.abort()
        await asyncio.sleep(0)


def names_by_digest(
    identity: Identity,
    peers: Mapping[str, Peer],
    where: str = "",
    files: Mapping[str, str] | None = None,
) -> dict[bytes, str]:
    """By which certificate each peer is known; refuses two that have the same."""
    found = {identity.certificate.digest: "this owner"}
    for name, peer in peers.items():
        if other := found.get(peer.certificate.digest):
            raise InputError(
                f"{name} and {other} have the same certificate", where=f"{where}[peers.{name}]",
                why="they could not be told apart.",
                do=f"name the file that {name} handed over, its own certificate"
                f"{f': {files[name]} holds that of {other}' if files else ''}.",
            )  # fmt: skip
        found[peer.certificate.digest] = name
    del found[identity.certificate.digest]
    return found


def _digest(transport: asyncio.BaseTransport) -> bytes:
    shown = transport.get_extra_info("ssl_object").getpeercert(binary_form=True)
    return hashlib.sha256(shown or b"").digest()


def _tune(transport: asyncio.BaseTransport, patience: Patience) -> None:
    connection = transport.get_extra_info("socket")
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        # Without it, a cable that is pulled shows after a quarter of an hour.
        unheard = int(patience.unheard * 1000)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, unheard)
