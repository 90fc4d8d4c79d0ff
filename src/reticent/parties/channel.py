"""How frames get to the other owners and back: what a session needs of a network.

A link leads from one owner to another, one way. It loses nothing and keeps the order as long as it
is open; when it breaks, what was under way may be lost. So a link that opens (again) is announced
to its sender, and takes nothing until the sender has taken it up: only then can it send again, and
first, what had not been acknowledged.
"""

from __future__ import annotations

import queue
import threading
from dataclasses import dataclass, field
from typing import Literal, Protocol

from reticent.errors import InputError

LARGEST_FRAME = 8 * 1024 * 1024  # bytes


@dataclass(frozen=True, slots=True)
class Arrival:
    """What a channel has to tell: a frame of a peer, or something about the link to it."""

    peer: str
    frame: bytes = b""
    kind: Literal["frame", "open", "fault"] = "frame"
    why: str = ""  # of a fault: what the peer did that no owner does


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a peer cannot be reached right now."""

    what: str
    hopeless: bool = False  # waiting does not help: somebody must change a certificate
    do: str = ""  # what helps


class Channel(Protocol):
    """The links to all peers. Nothing here waits for a peer, but `receive` for as long as told."""

    def send(self, to: str, frame: bytes) -> bool:
        """Hand over a frame; False if the link is not open, or not taken up since it opened."""

    def take_up(self, peer: str) -> None:
        """Let frames go over a link that has opened."""

    def receive(self, timeout: float) -> Arrival | None:
        """What comes next, from anybody; None when the time is out."""

    def trouble(self, peer: str) -> Trouble | None:
        """Why this peer cannot be reached right now, if it cannot."""

    def close(self) -> None:
        """Deliver what can be delivered soon, and end."""


@dataclass(slots=True)
class _Way:
    """One direction between two owners of a hub."""

    cut: bool = False
    taken_up: bool = False


@dataclass(slots=True)
class MemoryHub:
    """Owners in one process: who is there now, and whose links are cut."""

    names: tuple[str, ...]
    _ways: dict[tuple[str, str], _Way] = field(default_factory=dict)
    _here: dict[str, MemoryChannel] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def channel(self, name: str) -> MemoryChannel:
        """Let an owner in; one that was here before (and died) is replaced."""
        if name not in self.names:
            raise InputError(f"there is no owner {name} at this hub")
        with self._lock:
            channel = self._here[name] = MemoryChannel(self, name)
            for other in self._here:
                self._open(name, other)
                self._open(other, name)
        return channel

    def cut(self, one: str, other: str) -> None:
        """Cut the links between two owners; what is sent meanwhile is lost."""
        with self._lock:
            for pair in ((one, other), (other, one)):
                self._ways[pair] = _Way(cut=True)

    def join(self, one: str, other: str) -> None:
        """Let the links between two owners open again."""
        with self._lock:
            for pair in ((one, other), (other, one)):
                self._ways[pair] = _Way()
                self._open(*pair)

    def _open(self, sender: str, to: str) -> None:
        way = self._ways.setdefault((sender, to), _Way())
        if sender != to and sender in self._here and to in self._here and not way.cut:
            way.taken_up = False
            self._here[sender].arrivals.put(Arrival(to, kind="open"))

    def _leave(self, channel: MemoryChannel) -> None:
        with self._lock:
            if self._here.get(channel.name) is channel:
                del self._here[channel.name]

    def _take_up(self, sender: MemoryChannel, to: str) -> None:
        with self._lock:
            if self._here.get(sender.name) is sender:
                self._ways[sender.name, to].taken_up = True

    def _carry(self, sender: MemoryChannel, to: str, frame: bytes) -> bool:
        with self._lock:
            way, there = self._ways.get((sender.name, to)), self._here.get(to)
            gone = self._here.get(sender.name) is not sender
            if gone or there is None or way is None or way.cut or not way.taken_up:
                return False
            there.arrivals.put(Arrival(sender.name, bytes(frame)))
            return True

    def _trouble(self, sender: str, to: str) -> Trouble | None:
        with self._lock:
            if self._ways.get((sender, to), _Way()).cut:
                return Trouble("the connection was lost")
            return None if to in self._here else Trouble("it is not there")


class MemoryChannel:
    """One owner's end of a hub."""

    def __init__(self, hub: MemoryHub, name: str) -> None:
        self.name = name
        self.arrivals: queue.SimpleQueue[Arrival | None] = queue.SimpleQueue()
        self._hub = hub

    def send(self, to: str, frame: bytes) -> bool:
        """See `Channel`."""
        return self._hub._carry(self, to, frame)

    def take_up(self, peer: str) -> None:
        """See `Channel`."""
        self._hub._take_up(self, peer)

    def receive(self, timeout: float) -> Arrival | None:
        """See `Channel`."""
        try:
            return self.arrivals.get(timeout=timeout) if timeout > 0 else self.arrivals.get_nowait()
        except queue.Empty:
            return None

    def trouble(self, peer: str) -> Trouble | None:
        """See `Channel`."""
        return self._hub._trouble(self.name, peer)

    def close(self) -> None:
        """See `Channel`."""
        self._hub._leave(self)
        self.arrivals.put(None)  # whoever waits need not wait longer
