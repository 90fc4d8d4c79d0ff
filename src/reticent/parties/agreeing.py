"""That something appears at every owner or at none: all are ready, and the first one says go.

What it is, stands beside its place at every owner by then. Owners compare a digest of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import msgspec

from reticent.parties.wire import Message, Wire, others


class Ready(Message, frozen=True):
    """To all: what is to appear stands beside its place, and this is its digest."""

    digest: Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]


class Go(Message, frozen=True):
    """The first owner to all: everybody is ready, let it appear."""


def exchange_ready(wire: Wire, mine: bytes) -> None:
    """Tell all that we are ready, and see that they are, with the same."""
    for owner in others(wire):
        wire.send(owner, Ready(mine))
    for owner in others(wire):
        if wire.receive(owner, Ready).digest != mine:
            raise wire.refuse(owner, "what it is ready for is not ours")


def exchange_go(wire: Wire, decide: Callable[[], None]) -> None:
    """The first owner lets all others go; `decide` writes down that it is decided.

    It decides before it tells anybody. Were it killed after it had told the first and before it had
    written it down, that one would have let the table appear, and nobody else ever could.
    """
    first = wire.owners[0]
    if wire.me != first:
        wire.receive(first, Go)
        decide()
        return
    decide()
    for owner in others(wire):
        wire.send(owner, Go())
