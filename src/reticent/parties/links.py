"""What one owner knows of the way to one peer, in one epoch: numbers, digests, and what waits.

Nothing here sends or writes. A session asks it what an envelope must look like, and whether one
that came may have come; it is guarded by the session's lock.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from reticent.parties.chained import Extent
from reticent.parties.messages import (
    LARGEST_MESSAGE,
    LARGEST_PART,
    PROTOCOL,
    START,
    Acknowledgement,
    Envelope,
    Farewell,
    SignOfLife,
    Violation,
    digest_of,
    encode,
)

_MOST_INCOMING = LARGEST_MESSAGE + 1024 * 1024  # bytes that may wait: a message and its envelopes
_WINDOW = 16 * 1024 * 1024  # bytes on their way to a peer before more are held back
_MOST_PARTS = LARGEST_MESSAGE // LARGEST_PART


@dataclass(frozen=True, slots=True)
class Sent:
    """An envelope that was not acknowledged yet."""

    number: int
    frame: bytes
    at: float


@dataclass(frozen=True, slots=True)
class Received:
    """An envelope that was not asked for yet; its content waits in the transcript."""

    step: str
    part: int
    parts: int
    size: int
    place: Extent


@dataclass(slots=True)
class Talk:
    """All of it for one peer and one epoch."""

    me: str
    peer: str
    run: bytes
    epoch: int
    sent: int = 0
    received: int = 0
    outbox: deque[Sent] = field(default_factory=deque)
    outgoing: int = 0  # bytes in the outbox
    inbox: deque[Received] = field(default_factory=deque)
    incoming: int = 0  # bytes that wait for somebody to ask
    farewell: Farewell | None = None
    _sent_digests: list[bytes] = field(default_factory=lambda: [START])  # by number
    _received_digests: list[bytes] = field(default_factory=lambda: [START])
    _open: tuple[str, int, int] = ("", 1, 1)  # step, part and parts of the last one received

    def seal(self, step: str, part: int, parts: int, body: bytes, now: float) -> bytes:
        """The next envelope to the peer; it stays in the outbox until it is acknowledged."""
        envelope = Envelope(
            protocol=PROTOCOL, run=self.run, epoch=self.epoch, step=step, sender=self.me,
            receiver=self.peer, number=self.sent + 1, previous=self._sent_digests[-1], part=part,
            parts=parts, body=body,
        )  # fmt: skip
        frame = encode(envelope)
        self.sent += 1
        self._sent_digests.append(digest_of(frame))
        self.outbox.append(Sent(self.sent, frame, now))
        self.outgoing += len(frame)
        return frame

    def acknowledged(self, word: Acknowledgement) -> None:
        """Forget what the peer has on its disk."""
        if word.epoch != self.epoch:
            return
        if word.number > self.sent or word.digest != self._sent_digests[word.number]:
            raise Violation("it acknowledged a message that was never sent to it")
        self.settle(word.number)

    def settle(self, number: int) -> None:
        """Ask no more for an acknowledgement up to this message."""
        while self.outbox and self.outbox[0].number <= number:
            self.outgoing -= len(self.outbox.popleft().frame)

    def lost(self, sign: SignOfLife, before: float) -> bool:
        """Whether the peer lacks a message that was sent long ago, on a link that seems well."""
        waits = [sent for sent in self.outbox if sent.number > sign.received]
        return sign.epoch == self.epoch and bool(waits) and waits[0].at < before

    def admit(self, envelope: Envelope, digest: bytes, size: int) -> bool:
        """Whether an envelope of so many bytes is the next one; False for one that came again."""
        if (envelope.sender, envelope.receiver) != (self.peer, self.me):
            raise Violation("it sent a message in another owner's name or for another owner")
        if envelope.protocol != PROTOCOL:
            raise Violation(f"it speaks version {envelope.protocol} of the protocol")
        if envelope.run != self.run:
            raise Violation("it is in another run; was one of both restarted without resuming?")
        if envelope.number <= self.received:
            if digest != self._received_digests[envelope.number]:
                raise Violation(f"it sent message {envelope.number} twice, with other content")
            return False
        if envelope.number != self.received + 1:
            raise Violation(
                f"its messages are out of order: number {envelope.number} came when "
                f"{self.received + 1} was due"
            )
        if envelope.previous != self._received_digests[-1]:
            raise Violation("its message does not follow from the one it sent before")
        self._check_part(envelope)
        if self.incoming + size > _MOST_INCOMING:
            raise Violation(f"it sent more than {_MOST_INCOMING:,} bytes ahead of what is due")
        self.received += 1
        self.incoming += size
        self._received_digests.append(digest)
        self._open = (envelope.step, envelope.part, envelope.parts)
        return True

    def _check_part(self, envelope: Envelope) -> None:
        step, part, parts = self._open
        follows = (
            envelope.part == 1
            if part == parts
            else (envelope.step, envelope.part, envelope.parts) == (step, part + 1, parts)
        )
        if not follows or envelope.part > envelope.parts or envelope.parts > _MOST_PARTS:
            raise Violation("the parts of its message do not fit together")

    def acknowledgement(self) -> bytes | None:
        """What tells the peer how far its messages are safe."""
        if not self.received:
            return None
        return encode(Acknowledgement(self.epoch, self.received, self._received_digests[-1]))

    def has_room(self) -> bool:
        """Whether the peer has acknowledged enough to send it more."""
        return self.outgoing < _WINDOW

    def is_settled(self) -> bool:
        """Whether the peer has acknowledged everything."""
        return not self.outbox

    def has_message(self) -> bool:
        """Whether all parts of the next message are there."""
        return bool(self.inbox) and len(self.inbox) >= self.inbox[0].parts

    def next_message(self) -> list[Received]:
        """The parts of the next message, which must be there."""
        parts = [self.inbox.popleft() for _ in range(self.inbox[0].parts)]
        self.incoming -= sum(part.size for part in parts)
        return parts
