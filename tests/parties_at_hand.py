"""Owners that talk about very little, and links that fail at a chosen frame."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from reticent.errors import PartyError
from reticent.parties.channel import Arrival, Channel, MemoryHub, Trouble
from reticent.parties.messages import Acknowledgement, Envelope, Farewell, Hello, SignOfLife, decode
from reticent.parties.session import Deadlines, Session
from reticent.parties.state import State
from reticent.parties.wire import Message

QUICK = Deadlines(meet=0.6, step=0.5, life=0.05)  # where nobody comes who could be in time
CALM = Deadlines(meet=30, step=30, life=0.2)  # nobody waits so long, whatever the machine does
LOST = 0.3  # seconds that an owner waits whose patience is lost
POLICY = bytes(range(32))
WORTH = {"bank": 5, "card": 70, "shop": 900}
ROUNDS = 2


class Ask(Message, frozen=True):
    round: int


class Answer(Message, frozen=True):
    value: int


class Told(Message, frozen=True):
    total: int
    padding: bytes = b""


def conversation(session: Session) -> list[int]:
    """The first owner asks all others, adds up what they answer, and tells them the sum."""
    return [
        session.step(f"round {number}: sum", partial(one_round, session, number))
        for number in range(1, ROUNDS + 1)
    ]


def one_round(session: Session, number: int) -> int:
    first, *others = session.owners
    if session.me != first:
        asked = session.receive(first, Ask)
        session.send(first, Answer(WORTH[session.me] * asked.round))
        return session.receive(first, Told).total
    for other in others:
        session.send(other, Ask(number))
    total = WORTH[first] * number
    total += sum(session.receive(other, Answer).value for other in others)
    for other in others:
        session.send(other, Told(total))
    return total


def sums(*owners: str) -> list[int]:
    total = sum(WORTH[name] for name in owners)
    return [total * number for number in range(1, ROUNDS + 1)]


def kind_of(frame: bytes) -> str:
    """What a frame is, for tests that bend the fifth envelope or the first hello."""
    match decode(frame):
        case Hello():
            return "hello"
        case Envelope():
            return "message"
        case Acknowledgement():
            return "acknowledgement"
        case SignOfLife():
            return "life"
        case Farewell():
            return "farewell"


Bend = Callable[[str, bytes, str, int], list[bytes]]
"""What to send instead of a frame: to whom, the frame, its kind, how many of the kind before it."""


@dataclass
class Bent:
    """A channel whose frames are bent on their way out; it can die, and then neither speaks nor hears."""

    inner: Channel
    bend: Bend = lambda to, frame, kind, before: [frame]
    die_before: int = (
        -1
    )  # the how many-th frame (hello, message, acknowledgement) is not sent any more
    die_done: bool = False  # instead of saying that all is done
    dead: threading.Event = field(default_factory=threading.Event)
    sent: int = 0
    counts: dict[str, int] = field(default_factory=dict)

    def send(self, to: str, frame: bytes) -> bool:
        if self.dead.is_set():
            return False
        kind = kind_of(frame)
        if kind not in ("life", "farewell"):
            if self.sent == self.die_before:
                self.die()
                return False
            self.sent += 1
        elif kind == "farewell" and self.die_done:
            self.die()
            return False
        before = self.counts[kind] = self.counts.get(kind, -1) + 1
        went = [self.inner.send(to, other) for other in self.bend(to, frame, kind, before)]
        return all(went)

    def die(self) -> None:
        self.dead.set()
        self.inner.close()

    def take_up(self, peer: str) -> None:
        self.inner.take_up(peer)

    def receive(self, timeout: float) -> Arrival | None:
        arrival = self.inner.receive(timeout)
        return Arrival("nobody", kind="fault", why="dead") if self.dead.is_set() else arrival

    def trouble(self, peer: str) -> Trouble | None:
        return self.inner.trouble(peer)

    def close(self) -> None:
        self.inner.close()


@dataclass
class Scene:
    """Owners at one hub, each in a thread of its own."""

    folder: Path
    owners: tuple[str, ...] = ("bank", "card")
    deadlines: Deadlines = QUICK
    hub: MemoryHub = field(init=False)
    sessions: dict[str, Session] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.hub = MemoryHub(self.owners)

    def state(self, name: str, *, resumes: bool = False, lives: int = 1, **other: Any) -> State:
        told: dict[str, Any] = {"run_name": "2026-11", "me": name, "owners": self.owners}
        told |= {"policy": POLICY} | other
        make = State.resume if resumes else State.begin
        return make(self.folder / f"{name}-{lives}.run", **told)

    def channel(self, name: str) -> Channel:
        return self.hub.channel(name)

    def lose_patience(self, name: str) -> None:
        """An owner waits no longer than a moment from now on: something has gone wrong.

        So no deadline passes before that on a machine that is busy with something else.
        """
        session = self.sessions[name]
        with session._exchange.changed:
            session._deadlines = replace(session._deadlines, meet=LOST, step=LOST)
            session._exchange.changed.notify_all()

    def play(
        self, name: str, *, bend: Bend | None = None, die_before: int = -1,
        die_done: bool = False, flow: Callable[[Session], Any] = conversation, resumes: bool = False, lives: int = 1,
        deadlines: Deadlines | None = None, product: str = "0.1.0", **other: Any,
    ) -> Any:  # fmt: skip
        """One owner's whole run; the result, or the error it ended with."""
        bent = Bent(self.channel(name), die_before=die_before, die_done=die_done)
        if bend:
            bent.bend = bend
        state = self.state(name, resumes=resumes, lives=lives, **other)
        told = {"resumes": resumes, "product": product}
        try:
            with Session(bent, state, deadlines=deadlines or self.deadlines, **told) as session:  # type: ignore[arg-type]
                self.sessions[name] = session
                found = session.run(flow)
            return PartyError("dead") if bent.dead.is_set() else found
        except Exception as error:
            return error

    def all_play(self, **special: dict[str, Any]) -> dict[str, Any]:
        """All owners at once; what each ended with."""
        with ThreadPoolExecutor(len(self.owners)) as pool:
            runs = {
                name: pool.submit(self.play, name, **special.get(name, {})) for name in self.owners
            }
            return {name: run.result(timeout=60) for name, run in runs.items()}
