"""Who is there: every owner says hello once, and nothing of a run is begun.

What `reticent party check` asks. An owner that is in a run already is seen as well, and takes no
notice.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from reticent.parties.channel import Arrival, Channel, Trouble
from reticent.parties.exchange import compare
from reticent.parties.messages import Hello, Violation, decode, encode

_LOOK = 0.2  # seconds between looks at links that may have turned out hopeless
_GRACE = 1.0  # seconds in which a peer whose certificate is of no use can call, and be told so


@dataclass(slots=True)
class Presence:
    """What is known of one peer."""

    reached: bool = False  # it answers where it should
    hello: Hello | None = None  # it called, and this is what it said
    ahead: float = 0.0  # seconds by which its clock was ahead of ours when that came
    differs: str = ""  # what does not fit: another version, run or policy
    do: str = ""  # what helps then
    trouble: Trouble | None = None  # why it could not be reached


def roll_call(
    channel: Channel, mine: Hello, peers: tuple[str, ...], timeout: float
) -> dict[str, Presence]:
    """Wait until all peers are known both ways, or the time is out; the channel stays open."""
    found = {peer: Presence() for peer in peers}
    hopeless: dict[str, float] = {}
    end = time.monotonic() + timeout
    while (now := time.monotonic()) < end:
        for peer in peers:
            if (trouble := channel.trouble(peer)) and trouble.hopeless:
                hopeless.setdefault(peer, now)
        if all(
            (presence.reached and presence.hello) or now >= hopeless.get(peer, now) + _GRACE
            for peer, presence in found.items()
        ):
            break
        if arrival := channel.receive(min(_LOOK, end - now)):
            _note(channel, mine, arrival, found[arrival.peer])
    for peer, presence in found.items():
        presence.trouble = None if presence.reached else channel.trouble(peer)
    return found


def _note(channel: Channel, mine: Hello, arrival: Arrival, presence: Presence) -> None:
    if arrival.kind == "open":
        channel.take_up(arrival.peer)
        presence.reached = channel.send(arrival.peer, encode(mine))
        return
    try:
        if arrival.kind == "fault":
            raise Violation(arrival.why)
        word = decode(arrival.frame)
        if isinstance(word, Hello):
            presence.hello, presence.ahead = word, word.clock - time.time()
            presence.differs = presence.do = ""
            compare(word, mine, arrival.peer)
    except Violation as violation:
        presence.differs, presence.do = str(violation), violation.do
