"""What went over the wire in a run, counted from its transcript."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from reticent.parties.messages import Envelope, Resumption, Violation, decode
from reticent.parties.state import TRANSCRIPT, State
from reticent.parties.transcript import ENTRIES, entries_in


@dataclass(frozen=True, slots=True)
class WireFacts:
    """What went over the wire, in counts."""

    bytes_sent: Mapping[str, int] = field(default_factory=dict)  # by peer
    bytes_received: Mapping[str, int] = field(default_factory=dict)
    messages: int = 0  # both ways
    by_words: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # messages, and bytes
    resumed: int = 0  # how often the run was resumed


def wire_facts(
    state: State, owners: Sequence[str], me: str, said_in: Callable[[str], str], meeting: str
) -> WireFacts:
    """What went over the wire so far; `said_in` puts into words what is said in a step."""
    sent = {owner: 0 for owner in owners if owner != me}
    received, messages, resumed = dict(sent), 0, 0
    by_words: dict[str, tuple[int, int]] = {}
    state.transcript.sync()
    for entry in entries_in(state.folder / TRANSCRIPT / ENTRIES):
        if entry.direction == "note":
            resumed += _is_resumption(entry.frame)
            continue
        by_peer = sent if entry.direction == "sent" else received
        by_peer[entry.peer] += len(entry.frame)
        try:
            word = decode(entry.frame)
        except Violation:
            continue
        is_message = isinstance(word, Envelope)
        words = said_in(word.step) if isinstance(word, Envelope) else meeting
        known, size = by_words.get(words, (0, 0))
        by_words[words] = known + is_message, size + len(entry.frame)
        messages += is_message
    return WireFacts(sent, received, messages, by_words, resumed)


def _is_resumption(frame: bytes) -> bool:
    try:
        msgspec.msgpack.decode(frame, type=Resumption)
    except msgspec.DecodeError:
        return False
    return True
