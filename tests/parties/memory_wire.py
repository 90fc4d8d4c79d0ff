"""Owners in one process: each a thread, every message still made into bytes and read again."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from reticent.errors import PartyError, ReticentError
from reticent.parties.wire import M, Message

T = TypeVar("T")
Tamper = Callable[[str, str, Message], "Message | bytes"]
_GONE = b""
_PATIENCE = 60  # seconds


def honest(sender: str, to: str, message: Message) -> Message:
    return message


@dataclass
class MemoryWire:
    """What one owner sees; `received` keeps all that came, for tests of what it may learn."""

    me: str
    owners: tuple[str, ...]
    queues: Mapping[tuple[str, str], queue.Queue[bytes]]  # from, to
    tamper: Tamper = honest
    received: list[tuple[str, Message]] = field(default_factory=list)

    def send(self, to: str, message: Message) -> None:
        changed = self.tamper(self.me, to, message)
        content = changed if isinstance(changed, bytes) else msgspec.msgpack.encode(changed)
        self.queues[self.me, to].put(content)

    def receive(self, of: str, kind: type[M]) -> M:
        content = self.queues[of, self.me].get(timeout=_PATIENCE)
        if content == _GONE:
            raise PartyError("it is gone", where=f"owner {of}")
        try:
            message = msgspec.msgpack.decode(content, type=kind)
        except msgspec.DecodeError:
            raise self.refuse(of, f"it sent something else than {kind.__name__}") from None
        self.received.append((of, message))
        return message

    def refuse(self, of: str, what: str) -> PartyError:
        return PartyError(what, where=f"owner {of}, step test", why="it broke the protocol.")

    def leave(self) -> None:
        for owner in self.owners:
            if owner != self.me:
                self.queues[self.me, owner].put(_GONE)


def wires(*owners: str, tamper: Tamper = honest) -> dict[str, MemoryWire]:
    queues: dict[tuple[str, str], queue.Queue[bytes]] = {
        (sender, to): queue.Queue() for sender in owners for to in owners if sender != to
    }
    return {owner: MemoryWire(owner, owners, queues, tamper) for owner in owners}


def together(at: Mapping[str, MemoryWire], act: Callable[[MemoryWire], T]) -> dict[str, T]:
    """What every owner gets; the first error that is no mere echo of another's, if any."""
    results: dict[str, T] = {}
    errors: dict[str, Exception] = {}

    def run(wire: MemoryWire) -> None:
        try:
            results[wire.me] = act(wire)
        except Exception as error:
            errors[wire.me] = error
            wire.leave()

    threads = [threading.Thread(target=run, args=(wire,), name=wire.me) for wire in at.values()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise next((e for e in errors.values() if not is_echo(e)), next(iter(errors.values())))
    assert all(q.empty() for wire in at.values() for q in wire.queues.values()), "unread messages"
    return results


def is_echo(error: Exception) -> bool:
    return isinstance(error, ReticentError) and "is gone" in str(error)


def received(wire: MemoryWire, kind: type[M]) -> list[Any]:
    return [message for _, message in wire.received if type(message) is kind]
