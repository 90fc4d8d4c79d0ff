"""The two ends of a connection of the TCP channel, as its event loop drives them.

    frame = length (4 bytes, big-endian, 1 to 8 MiB) | content

A frame longer than allowed is refused when its length has come, before anything is set aside for
it. Of a peer whose frames are not taken fast enough nothing more is read, and a peer that does not
take what it is sent loses its connection: so memory stays bounded.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from reticent.parties.channel import LARGEST_FRAME, Arrival

GREETING = b"reticent 1"
_HEADER = 4
_MOST_WAITING = 64 * 1024 * 1024  # bytes that wait on either side before a link is held or ended


_SAME = "install the same version at all owners."


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds: for a call to be answered, for a frame that has begun, for the last words."""

    call: float = 5.0
    frame: float = 30.0
    unheard: float = 15.0  # how long sent bytes may stay unacknowledged by the other machine
    close: float = 2.0


class Refused(Exception):
    """Somebody answers, but it is not the peer."""

    def __init__(self, words: str, hopeless: bool, do: str = "") -> None:
        super().__init__(words)
        self.hopeless, self.do = hopeless, do


class Inbox:
    """What has arrived and was not taken yet; readers are held while it is too much."""

    def __init__(self) -> None:
        self._arrivals: queue.SimpleQueue[Arrival | None] = queue.SimpleQueue()
        self._bytes = 0
        self._held: list[Accepted] = []
        self._lock = threading.Lock()

    def put(self, arrival: Arrival | None, source: Accepted | None = None) -> None:
        """Add something, and hold its source when there is too much."""
        with self._lock:
            self._bytes += len(arrival.frame) if arrival else 0
            if source and self._bytes > _MOST_WAITING and source not in self._held:
                self._held.append(source)
                source.hold()
        self._arrivals.put(arrival)

    def get(self, timeout: float) -> Arrival | None:
        """Take what came first; None when the time is out or there will be no more."""
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


class Outgoing:
    """The way from this owner to one peer: what waits to go over the connection of the moment."""

    def __init__(self, name: str, inbox: Inbox, loop: asyncio.AbstractEventLoop) -> None:
        self.name = name
        self.call: Call | None = None
        self.taken_up = False
        self._inbox, self._loop = inbox, loop
        self._is_open = self._full = self._awake = False
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._lock = threading.Lock()

    def begin(self) -> Call:
        """Get ready for a new connection."""
        self.reset()
        self.call = Call(self, self._loop)
        return self.call

    def reset(self) -> None:
        """Give up the connection, and what waits for it."""
        with self._lock:
            self._is_open = self.taken_up = self._full = self._awake = False
            self._waiting.clear()
            self._bytes = 0
        if self.call and self.call.transport:
            self.call.transport.abort()
        self.call = None

    def opened(self) -> None:
        """The peer has answered; it is for the sender to take the link up."""
        with self._lock:
            self._is_open, self.taken_up = True, False
        self._inbox.put(Arrival(self.name, kind="open"))

    def send(self, frame: bytes) -> bool:
        """Called by any thread."""
        with self._lock:
            if not (self._is_open and self.taken_up):
                return False
            self._waiting.append(len(frame).to_bytes(_HEADER) + frame)
            self._bytes += len(frame) + _HEADER
            too_much = self._bytes > _MOST_WAITING
            self._is_open = not too_much
            wake = not self._awake
            self._awake = True
        if too_much:
            self._loop.call_soon_threadsafe(self._give_up)
        elif wake:
            self._loop.call_soon_threadsafe(self.flush)
        return not too_much

    def flush(self) -> None:
        """Hand everything that waits to the connection, until it is full."""
        while True:
            with self._lock:
                if self._full or not self._waiting:
                    self._awake = self._full  # while full, the connection wakes us
                    return
                frames = b"".join(self._waiting) if len(self._waiting) > 1 else self._waiting[0]
                self._waiting.clear()
                self._bytes = 0
            if self.call and self.call.transport:
                self.call.transport.write(frames)

    def set_full(self, full: bool) -> None:
        """The connection takes no more for now, or takes more again."""
        with self._lock:
            self._full = full
        if not full:
            self.flush()

    def close(self) -> asyncio.Future[str] | None:
        """Send what waits and end; what to wait for, if there was a connection."""
        if not (self._is_open and self.call and self.call.transport):
            return None
        self.set_full(False)
        self._is_open = False
        self.call.transport.close()
        return self.call.lost

    def _give_up(self) -> None:
        if self.call:
            self.call.give_up(" because it does not take what it is sent")


class Call(asyncio.Protocol):
    """One connection that this owner makes; frames go out, the greeting comes in."""

    def __init__(self, link: Outgoing, loop: asyncio.AbstractEventLoop) -> None:
        self.transport: asyncio.Transport | None = None
        self.greeted: asyncio.Future[None] = loop.create_future()
        self.lost: asyncio.Future[str] = loop.create_future()
        # A future that nobody came to wait for must not complain.
        self.greeted.add_done_callback(lambda future: future.cancelled() or future.exception())
        self._link = link
        self._heard = b""

    def give_up(self, why: str = "") -> None:
        """Let whoever waits for the end know it."""
        if not self.lost.done():
            self.lost.set_result(why)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio, as the other methods of this class."""
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Take the greeting, and nothing else."""
        self._heard = (self._heard + data)[: len(GREETING) + 1]
        if self._heard == GREETING and not self.greeted.done():
            self.greeted.set_result(None)
        elif not GREETING.startswith(self._heard):
            self.connection_lost(Refused("what answers is no owner of this version", False, _SAME))

    def connection_lost(self, exc: Exception | None) -> None:
        """The end, by either side."""
        if not self.greeted.done():
            self.greeted.set_exception(exc or ConnectionResetError())
        self.give_up()

    def pause_writing(self) -> None:
        """Only the connection of the moment has a say."""
        if self._link.call is self:
            self._link.set_full(True)

    def resume_writing(self) -> None:
        """And here."""
        if self._link.call is self:
            self._link.set_full(False)


class Accepted(asyncio.Protocol):
    """A connection that a peer made: frames come in, the greeting goes out."""

    def __init__(
        self,
        who: Callable[[Accepted, asyncio.Transport], str],
        inbox: Inbox,
        loop: asyncio.AbstractEventLoop,
        patience: Patience,
    ) -> None:
        """`who` tells which peer a connection is from; nothing if from none."""
        self._who, self._inbox, self._loop, self._patience = who, inbox, loop, patience
        self._transport: asyncio.Transport | None = None
        self._peer = ""
        self._heard = bytearray()
        self._late: asyncio.TimerHandle | None = None

    def hold(self) -> None:
        """Read nothing more for now."""
        if self._transport:
            self._transport.pause_reading()

    def go_on(self) -> None:
        """Called by any thread."""
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            self._loop.call_soon_threadsafe(self._read_on)

    def _read_on(self) -> None:
        if self._transport and not self._transport.is_closing():
            self._transport.resume_reading()

    def end(self) -> None:
        """Hang up."""
        if self._late:
            self._late.cancel()
        if self._transport:
            self._transport.abort()
            self._transport = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See who it is, and greet."""
        self._transport = cast("asyncio.Transport", transport)
        self._peer = self._who(self, self._transport)
        if self._peer:
            self._transport.write(GREETING)
        else:
            self.end()

    def data_received(self, data: bytes) -> None:
        """Take in what came, as far as it makes whole frames."""
        if not self._transport:
            return
        self._heard += data
        begun = self._next_frames()
        if self._late and not begun:
            self._late.cancel()
            self._late = None
        elif begun:
            # It may take long to send, but not to begin and then fall silent.
            if self._late:
                self._late.cancel()
            self._late = self._loop.call_later(self._patience.frame, self.end)

    def _next_frames(self) -> bool:
        """Pass on all frames that are complete; whether another one has begun."""
        start = 0
        while len(self._heard) - start >= _HEADER:
            size = int.from_bytes(self._heard[start : start + _HEADER])
            if not 1 <= size <= LARGEST_FRAME:
                words = f"it announced a frame of {size:,} bytes; {LARGEST_FRAME:,} are allowed"
                self._inbox.put(Arrival(self._peer, kind="fault", why=words))
                self.end()
                return False
            if len(self._heard) - start < _HEADER + size:
                break
            frame = bytes(memoryview(self._heard)[start + _HEADER : start + _HEADER + size])
            self._inbox.put(Arrival(self._peer, frame), self)
            if self._late:  # a new frame has a new time
                self._late.cancel()
                self._late = None
            start += _HEADER + size
        del self._heard[:start]
        return bool(self._heard)

    def connection_lost(self, exc: Exception | None) -> None:
        """The end, by either side."""
        self.end()
