"""What a protocol sees of the other owners: names, typed messages, and a way to refuse one.

A protocol is plain code that reads like the conversation. It declares its messages as kinds of
`Message` in its own file, sends them and waits for them. Numbers, acknowledgements, deadlines and
transcripts are the business of whoever carries them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import msgspec

from reticent.errors import PartyError


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """What one owner tells another; its kind travels with it, unknown fields are refused."""


M = TypeVar("M", bound=Message)
R = TypeVar("R")


class Wire(Protocol):
    """One owner's connection to all others, for one run."""

    @property
    def me(self) -> str:
        """The owner whose wire it is."""

    @property
    def owners(self) -> tuple[str, ...]:
        """All owners, this one included, in the order of the policy."""

    def send(self, to: str, message: Message) -> None:
        """Hand a message over; it waits for no one, and messages to one owner keep their order."""

    def receive(self, of: str, kind: type[M]) -> M:
        """The next message of an owner; anything but this kind is a PartyError that names it."""

    def refuse(self, of: str, what: str) -> PartyError:
        """The error for a message that can be read but breaks the protocol: the caller raises it.

        It names the owner and the step. `what` never holds a private value.
        """


class Conversation(Wire, Protocol):
    """A wire whose steps are written down: a session, or what is left of one that is over."""

    def step(self, name: str, work: Callable[[], R]) -> R:
        """Do one step and write down what it came to, or give what it came to before a kill."""

    def attempt(self, name: str, most: int = 3) -> None:
        """Count that something begins which must not be begun often, kills included."""


def others(wire: Wire) -> tuple[str, ...]:
    """Everybody but me, in the order of the policy."""
    return tuple(owner for owner in wire.owners if owner != wire.me)
