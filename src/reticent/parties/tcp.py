"""The channel over TCP and TLS 1.3.

Every owner listens and calls every peer. Frames to a peer go over the connection this owner made,
frames from it come over the one that the peer made; so each connection is one link, and whoever
sends is the one who notices that it broke and calls again, with growing pauses, until closed.

After the handshake the side that was called says one greeting: in TLS 1.3 the caller's handshake
ends before its certificate has been judged, so only the greeting tells "accepted" from "refused".

    frame = length (4 bytes, big-endian, 1 to 8 MiB) | content

All of it runs in one thread of its own with an event loop; frames change hands by queues. A frame
longer than allowed is refused when its length has come, before anything is set aside for it. Of a
peer whose frames are not taken fast enough nothing more is read, so memory stays bounded.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import socket
import ssl
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from reticent.errors import InputError
from reticent.parties.channel import LARGEST_FRAME, Arrival, Trouble
from reticent.parties.identity import Identity, PeerCertificate, fingerprint

GREETING = b"reticent 1"
_HEADER = 4
_MOST_WAITING = 64 * 1024 * 1024  # bytes that wait on either side before a link is held or ended
_PAUSES = (0.05, 0.1, 0.2, 0.5, 1.0)  # seconds between calls; the last one over and over


@dataclass(frozen=True, slots=True)
class Peer:
    """Where a peer listens and by what it is known."""

    address: str  # host:port
    certificate: PeerCertificate


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds: for a call to be answered, for a frame that has begun, for the last words."""

    call: float = 5.0
    frame: float = 30.0
    unheard: float = 15.0  # how long sent bytes may stay unacknowledged by the other machine
    close: float = 2.0


def place_of(address: str, where: str) -> tuple[str, int]:
    """Host and port of an address.

    >>> place_of("card.example:7002", "[peers.card]"), place_of("[::1]:7002", "[peers.card]")
    (('card.example', 7002), ('::1', 7002))
    """
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise InputError(
            f'"{address}" is no address', where=where, do='write host:port, as "0.0.0.0:7001".'
        )
    return host, int(port)


class TcpChannel:
    """All links of one owner."""

    def __init__(
        self, identity: Identity, listen: str, peers: Mapping[str, Peer],
        patience: Patience = Patience(),
    ) -> None:  # fmt: skip
        """Listen, and begin to call everybody."""
        self.patience = patience
        self.inbox = _Inbox()
        self._troubles: dict[str, Trouble | None] = {
            name: Trouble("it has not answered yet") for name in peers
        }
        self._names = _by_digest(identity, peers)
        self._links = {name: _Link(self, name, peer) for name, peer in peers.items()}
        self._accepted: dict[str, _Accepted] = {}
        self._contexts = {name: identity.dialling(peer.certificate) for name, peer in peers.items()}
        self._places = {n: place_of(p.address, f"[peers.{n}]") for n, p in peers.items()}
        self.loop = asyncio.new_event_loop()
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
                lambda: _Accepted(self), *place, ssl=context,
                ssl_handshake_timeout=self.patience.call, ssl_shutdown_timeout=1,
            )  # fmt: skip
        except OSError as error:
            raise InputError(
                f"cannot listen there: {error.strerror or error}",
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
                why = await cast("asyncio.Future[str]", link.lost)
                self._troubles[name] = Trouble(f"the connection was lost{why}")
            except (OSError, TimeoutError, _Refused) as error:
                # A connection that was lost a moment ago says more than that nobody answers now
                # only until the peer has been called again.
                self._troubles[name] = self._told(error, link)
            link.reset()
            await asyncio.sleep(_PAUSES[min(failures, len(_PAUSES) - 1)])
            failures += 1

    async def _reach(self, link: _Link) -> None:
        transport, _ = await self.loop.create_connection(
            lambda: link.begin(self.loop), *self._places[link.name],
            ssl=self._contexts[link.name], server_hostname="",
            ssl_handshake_timeout=self.patience.call, ssl_shutdown_timeout=1,
        )  # fmt: skip
        _tune(transport, self.patience)
        if _digest(transport) != link.peer.certificate.digest:
            transport.abort()
            raise _Refused("it shows another certificate than the one pinned for it", True)
        await cast("asyncio.Future[None]", link.greeted)

    def _told(self, error: Exception, link: _Link) -> Trouble:
        at = link.peer.address
        pinned = link.peer.certificate
        match error:
            case _Refused():
                return Trouble(str(error), error.hopeless)
            case ssl.SSLCertVerificationError(verify_code=10):
                return Trouble(f"its certificate has expired on {pinned.until:%Y-%m-%d}", True)
            case ssl.SSLCertVerificationError(verify_code=9):
                return Trouble("its certificate is not valid yet: a clock is wrong", True)
            case ssl.SSLCertVerificationError():
                return Trouble(
                    f"{at} shows another certificate than the one pinned for it "
                    f"({pinned.fingerprint[:19]} …)", True,
                )  # fmt: skip
            case ssl.SSLError(reason=str(reason)) if "ALERT_CERTIFICATE_EXPIRED" in reason:
                return Trouble("it says that the certificate of this owner has expired", True)
            case ssl.SSLError(reason=str(reason)) if "CERT" in reason or "_CA" in reason:
                return Trouble("it does not accept the certificate of this owner", True)
            case ssl.SSLError():
                return Trouble(f"what answers at {at} does not speak TLS 1.3")
            case socket.gaierror():
                return Trouble(f"there is no host {self._places[link.name][0]}")
            case ConnectionRefusedError():
                return Trouble(f"nobody listens at {at} (connection refused)")
            case TimeoutError():
                return Trouble(f"{at} does not answer")
            case ConnectionError():
                return Trouble(f"{at} ended the connection before it was made")
        return Trouble(f"{at} cannot be reached ({getattr(error, 'strerror', '') or 'no reason'})")

    def accepted(self, connection: _Accepted, transport: asyncio.Transport) -> str:
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
        waiting = [link.lost for link in self._links.values() if link.close() and link.lost]
        for call in self._calls:
            call.cancel()
        for connection in self._accepted.values():
            connection.end()
        if waiting:
            await asyncio.wait(waiting, timeout=self.patience.close)
        for link in self._links.values():
            if link.transport:
                link.transport.abort()
        await asyncio.sleep(0)


async def _cancel_all() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


class _Refused(Exception):
    def __init__(self, words: str, hopeless: bool) -> None:
        super().__init__(words)
        self.hopeless = hopeless


def _by_digest(identity: Identity, peers: Mapping[str, Peer]) -> dict[bytes, str]:
    found = {identity.certificate.digest: "this owner"}
    for name, peer in peers.items():
        if other := found.get(peer.certificate.digest):
            raise InputError(
                f"{name} and {other} have the same certificate", where=f"[peers.{name}]",
                why="they could not be told apart.", do="give each peer its own certificate.",
            )  # fmt: skip
        found[peer.certificate.digest] = name
    del found[identity.certificate.digest]
    return found


def _digest(transport: asyncio.BaseTransport) -> bytes:
    shown = transport.get_extra_info("ssl_object").getpeercert(binary_form=True)
    return bytes.fromhex(fingerprint(shown or b"").replace(" ", ""))


def _tune(transport: asyncio.BaseTransport, patience: Patience) -> None:
    connection = transport.get_extra_info("socket")
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        # Without it, a cable that is pulled shows after a quarter of an hour.
        unheard = int(patience.unheard * 1000)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, unheard)


class _Inbox:
    """What has arrived and was not taken yet; readers are held while it is too much."""

    def __init__(self) -> None:
        self._arrivals: queue.SimpleQueue[Arrival | None] = queue.SimpleQueue()
        self._bytes = 0
        self._held: list[_Accepted] = []
        self._lock = threading.Lock()

    def put(self, arrival: Arrival | None, source: _Accepted | None = None) -> None:
        with self._lock:
            self._bytes += len(arrival.frame) if arrival else 0
            if source and self._bytes > _MOST_WAITING and source not in self._held:
                self._held.append(source)
                source.hold()
        self._arrivals.put(arrival)

    def get(self, timeout: float) -> Arrival | None:
        try:
            arrival = self._arrivals.get(timeout > 0, max(timeout, 0))
        except queue.Empty:
            return None
        if arrival is None:
            return None
        with self._lock:
            self._bytes -= len(arrival.frame)
            free = self._held if self._bytes <= _MOST_WAITING // 2 else []
            if free:
                self._held = []
        for source in free:
            source.go_on()
        return arrival


class _Link(asyncio.Protocol):
    """The connection this owner made to one peer, and what waits to go over it."""

    def __init__(self, channel: TcpChannel, name: str, peer: Peer) -> None:
        self.channel, self.name, self.peer = channel, name, peer
        self.transport: asyncio.Transport | None = None
        self.greeted: asyncio.Future[None] | None = None
        self.lost: asyncio.Future[str] | None = None
        self.taken_up = False
        self._is_open = self._full = self._awake = False
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._heard = b""
        self._lock = threading.Lock()

    def begin(self, loop: asyncio.AbstractEventLoop) -> _Link:
        """Get ready for a new connection."""
        self.reset()
        self.greeted, self.lost = loop.create_future(), loop.create_future()
        # A future that nobody came to wait for must not complain.
        self.greeted.add_done_callback(lambda future: future.cancelled() or future.exception())
        return self

    def reset(self) -> None:
        with self._lock:
            self._is_open = self.taken_up = self._full = self._awake = False
            self._waiting.clear()
            self._bytes, self._heard = 0, b""
        if self.transport:
            self.transport.abort()
            self.transport = None

    def opened(self) -> None:
        with self._lock:
            self._is_open, self.taken_up = True, False
        self.channel.inbox.put(Arrival(self.name, kind="open"))

    def send(self, frame: bytes) -> bool:
        """Called by any thread."""
        with self._lock:
            if not (self._is_open and self.taken_up):
                return False
            self._waiting.append(len(frame).to_bytes(_HEADER) + frame)
            self._bytes += len(frame) + _HEADER
            too_much = self._bytes > _MOST_WAITING
            if too_much:
                self._is_open = False
            wake = not self._awake
            self._awake = True
        if too_much:
            self.channel.loop.call_soon_threadsafe(self._give_up, " because it does not listen")
        elif wake:
            self.channel.loop.call_soon_threadsafe(self._flush)
        return not too_much

    def _flush(self) -> None:
        while True:
            with self._lock:
                if self._full or not self._waiting:
                    self._awake = self._full  # while full, the transport wakes us
                    return
                frames = b"".join(self._waiting) if len(self._waiting) > 1 else self._waiting[0]
                self._waiting.clear()
                self._bytes = 0
            if self.transport:
                self.transport.write(frames)

    def close(self) -> bool:
        """Send what waits and end; whether there was anything to end."""
        if not (self._is_open and self.transport):
            return False
        self._full = False
        self._flush()
        self._is_open = False
        self.transport.close()
        return True

    def _give_up(self, why: str) -> None:
        if self.lost and not self.lost.done():
            self.lost.set_result(why)

    # Called by the event loop, as asyncio.Protocol says.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._heard = (self._heard + data)[: len(GREETING) + 1]
        if self._heard == GREETING and self.greeted and not self.greeted.done():
            self.greeted.set_result(None)
        elif not GREETING.startswith(self._heard):
            self.connection_lost(_Refused("what answers is no owner of this version", False))

    def connection_lost(self, exc: Exception | None) -> None:
        if self.greeted and not self.greeted.done():
            self.greeted.set_exception(exc or ConnectionResetError())
        self._give_up("")

    def pause_writing(self) -> None:
        with self._lock:
            self._full = True

    def resume_writing(self) -> None:
        with self._lock:
            self._full = False
        self._flush()


class _Accepted(asyncio.Protocol):
    """A connection that a peer made: frames come in, the greeting goes out."""

    def __init__(self, channel: TcpChannel) -> None:
        self._channel = channel
        self._transport: asyncio.Transport | None = None
        self._peer = ""
        self._heard = bytearray()
        self._late: asyncio.TimerHandle | None = None

    def hold(self) -> None:
        if self._transport:
            self._transport.pause_reading()

    def go_on(self) -> None:
        """Called by any thread."""
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            self._channel.loop.call_soon_threadsafe(self._read_on)

    def _read_on(self) -> None:
        if self._transport and not self._transport.is_closing():
            self._transport.resume_reading()

    def end(self) -> None:
        if self._late:
            self._late.cancel()
        if self._transport:
            self._transport.abort()
            self._transport = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._peer = self._channel.accepted(self, self._transport)
        if self._peer:
            self._transport.write(GREETING)
        else:
            self.end()

    def data_received(self, data: bytes) -> None:
        if not self._transport:
            return
        self._heard += data
        begun = self._next_frames()
        if self._late and not begun:
            self._late.cancel()
            self._late = None
        elif begun and not self._late:
            # It may take long to send, but not to begin and then fall silent.
            self._late = self._channel.loop.call_later(self._channel.patience.frame, self.end)

    def _next_frames(self) -> bool:
        """Pass on all frames that are complete; whether another one has begun."""
        start = 0
        while len(self._heard) - start >= _HEADER:
            size = int.from_bytes(self._heard[start : start + _HEADER])
            if not 1 <= size <= LARGEST_FRAME:
                words = f"it announced a frame of {size:,} bytes; {LARGEST_FRAME:,} are allowed"
                self._channel.inbox.put(Arrival(self._peer, kind="fault", why=words))
                self.end()
                return False
            if len(self._heard) - start < _HEADER + size:
                break
            frame = bytes(memoryview(self._heard)[start + _HEADER : start + _HEADER + size])
            self._channel.inbox.put(Arrival(self._peer, frame), self)
            if self._late:  # a new frame has a new time
                self._late.cancel()
                self._late = None
            start += _HEADER + size
        del self._heard[:start]
        return bool(self._heard)

    def connection_lost(self, exc: Exception | None) -> None:
        self.end()
