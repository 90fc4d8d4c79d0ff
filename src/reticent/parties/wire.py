"""What a protocol sees of the other owners: typed messages to them and from them."""

from __future__ import annotations

from typing import Protocol, TypeVar

import msgspec

from reticent.errors import PartyError


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=True):
    """What one owner says to another; each protocol declares its own kinds in its own file."""


M = TypeVar("M", bound=msgspec.Struct)


class Wire(Protocol):
    """The way to all other owners, for one conversation."""

    @property
    def me(self) -> str:
        """The name of this owner."""

    @property
    def owners(self) -> tuple[str, ...]:
        """All owners, this one included, in the policy's order."""

    def send(self, to: str, message: msgspec.Struct) -> None:
        """Say something to another owner."""

    def receive(self, of: str, kind: type[M]) -> M:
        """The next message of another owner, which must be of this kind."""

    def refuse(self, of: str, what: str) -> PartyError:
        """The error for a message that can be read but breaks the protocol; raise it."""
