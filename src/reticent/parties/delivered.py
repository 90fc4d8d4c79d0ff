"""How words were carried in a run: a transcript from the first entry to the last.

Who met, with what; which epochs there were, and where each began; that every envelope is numbered,
chained and of a step that is due, and every message whole. What the messages say is for `auditing`,
which is given them by step and link.

What a resume made void was said again later. So it must be, link by link, the beginning of what was
said then: the same words, or fresh randomness in the same place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from reticent.parties.messages import (
    LARGEST_PART,
    PROTOCOL,
    START,
    Envelope,
    Farewell,
    Hello,
    Resumption,
    Violation,
    decode,
    digest_of,
    encode,
    is_reason,
    run_id,
)
from reticent.parties.settings import Agreement
from reticent.parties.transcript import Entry
from reticent.parties.wire import Message

_MOST_RESTARTS = 1000  # of one owner, before the others hear of it
_MEETING = "meeting"
Link = tuple[str, str]  # from, to
NOT_AGAIN = "what was said here before a resume was not said again"


class Leak(Exception):
    """What an entry says does not follow; entry 0: something is missing."""

    def __init__(self, entry: int, what: str) -> None:
        super().__init__(what)
        self.entry, self.what = entry, what


@dataclass(frozen=True, slots=True)
class Attendance:
    """With what all owners must have come, and whose transcript it is."""

    me: str
    agreement: Agreement
    product: str  # the version that all used
    agreed: bytes = b""  # the digest of what came of the run


@dataclass(frozen=True, slots=True)
class Word:
    """A message in a transcript."""

    entry: int  # of its last part
    message: Message | None  # None if parts of it never came
    body: bytes


@dataclass(slots=True)
class _OnLink:
    """Where a link stands within an epoch."""

    number: int = 0
    before: bytes = START
    at: int = 0  # the step
    open: tuple[int, int] = (1, 1)  # part and parts of the last envelope
    entry: int = 0  # of that one
    body: bytes = b""  # of the parts so far


@dataclass(slots=True)
class Delivered:
    """What carries words: read once from the first entry to the last."""

    attendance: Attendance
    steps: tuple[str, ...]
    read: Callable[[bytes], Any]
    ahead: int  # by at most so many steps is anybody ahead of the others
    hellos: dict[str, Hello] = field(default_factory=dict)  # the last of each owner
    greeted: dict[Link, tuple[Hello, int]] = field(default_factory=dict)  # and how often we had
    announced: int = 0  # how many hellos of ours there were
    ended: set[tuple[Link, int, int, int]] = field(default_factory=set)
    decided: set[Link] = field(default_factory=set)  # where a hello says that it is decided
    epoch: int = -1  # the one in which messages may go; -1: none
    starts: dict[int, int] = field(default_factory=dict)  # by epoch: its first step
    finished: list[tuple[int, int]] = field(default_factory=list)  # entry; still to be compared
    links: dict[Link, _OnLink] = field(default_factory=dict)  # of this epoch
    words: dict[tuple[int, int], dict[Link, list[Word]]] = field(default_factory=dict)

    @property
    def owners(self) -> tuple[str, ...]:
        """All owners, in the order of the policy."""
        return self.attendance.agreement.owners

    def hear(self, number: int, entry: Entry) -> None:
        """One entry after the other."""
        if entry.direction == "note":
            self._note(number, entry.frame)
            return
        me, peer = self.attendance.me, entry.peer
        if peer not in self.owners or peer == me:
            raise Leak(number, "it is from or for somebody who is no owner")
        link = (me, peer) if entry.direction == "sent" else (peer, me)
        try:
            word = decode(entry.frame)
        except Violation as violation:
            raise Leak(number, str(violation)) from None
        if encode(word) != entry.frame:
            raise Leak(number, "it says something besides its message")
        match word:
            case Hello():
                self._meet(number, link, word)
            case Envelope():
                self._open(number, link, word)
            case Farewell():
                self._part(number, link, word)
            case _:
                raise Leak(number, "no transcript has signs of life or acknowledgements")

    def end(self) -> None:
        """See that nothing hangs in the air."""
        self._compare_finished(len(self.steps))
        self._close()

    # Meeting and parting.

    def _meet(self, number: int, link: Link, hello: Hello) -> None:
        sender, due = link[0], self.attendance
        if hello.sender != sender:
            raise Leak(number, "an owner introduces itself by another name")
        if (hello.protocol, hello.product, hello.purpose) != (PROTOCOL, due.product, "run"):
            raise Leak(number, "an owner came with another version, or for something else")
        if hello.policy != due.agreement.digest:
            raise Leak(number, "an owner came with another policy")
        offers = {role: [*names] for role, names in due.agreement.offers[sender].items()}
        if encode(hello.offers) != encode(offers):
            raise Leak(number, "an owner offers other columns than the policy says")
        mine = self.hellos.get(due.me, hello)
        known = self.hellos.get(sender, hello)
        if (known.nonce, hello.run_name) != (hello.nonce, mine.run_name):
            raise Leak(number, "an owner came back for another run")
        if hello.agreed not in (None, due.agreed):
            raise Leak(number, "an owner says that something else was agreed on")
        if hello.agreed is not None:
            self.decided.add(link)
        if hello.clock or hello.resumes != (hello.epoch > 0):
            raise Leak(number, "an owner says more than who it is")
        self._count_hello(number, link, hello)
        highest = max((one.epoch for one in self.hellos.values()), default=0)
        if hello.epoch > highest + _MOST_RESTARTS or hello.finished > len(self.steps):
            raise Leak(number, "an owner says more than where it stands")
        if hello != self.hellos.get(sender):
            # Said again to an owner that was restarted, it is as old as the epoch that is over.
            self.finished.append((number, hello.finished))
        self.hellos[sender] = hello
        if sender == due.me and hello.epoch > self.epoch:
            self._close()
        if self._all_stand_at(0):
            self._begin(number, 0, 0)

    def _count_hello(self, number: int, link: Link, hello: Hello) -> None:
        """An owner introduces itself once an epoch, and again to one that was restarted."""
        before, announced = self.greeted.get(link, (hello, -1))
        mine = link[0] == self.attendance.me
        known = self.hellos.get(link[0])
        if mine and (known is None or hello.epoch > known.epoch):
            self.announced += 1
        elif mine and hello != known:
            raise Leak(number, "we introduced ourselves in several ways")
        if link in self.greeted and hello.epoch <= before.epoch:
            again = not mine and hello == before and announced < self.announced
            if not again:
                raise Leak(number, "an owner introduced itself twice")
        self.greeted[link] = hello, self.announced

    def _note(self, number: int, content: bytes) -> None:
        """What owners write down when they go on after a resume; other notes say nothing."""
        try:
            note = msgspec.msgpack.decode(content, type=Resumption)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return
        stands = [hello.finished for hello in self.hellos.values()]
        if not self._all_stand_at(note.epoch) or note.finished != min(stands):
            raise Leak(number, "the owners did not agree to go on there")
        if note.epoch <= max(self.starts, default=-1):
            raise Leak(number, "the run went on in an epoch that was over")
        self._begin(number, note.epoch, note.finished)

    def _all_stand_at(self, epoch: int) -> bool:
        met = [self.hellos[owner].epoch for owner in self.owners if owner in self.hellos]
        return len(met) == len(self.owners) and {*met} == {epoch}

    def _begin(self, number: int, epoch: int, start: int) -> None:
        if epoch in self.starts:
            return
        if start < max(self.starts.values(), default=0):
            raise Leak(number, "the run went back behind what all had")
        self._compare_finished(start)
        self._close()
        self.epoch, self.starts[epoch] = epoch, start

    def _compare_finished(self, start: int) -> None:
        """Nobody is far ahead of the others, or of where all begin."""
        for number, finished in self.finished:
            if abs(finished - start) > self.ahead:
                raise Leak(number, "an owner says more than where it stands")
        self.finished.clear()

    def _close(self) -> None:
        """No message goes any more, until all have met again; what never came whole stays so."""
        for link, on in self.links.items():
            if on.body:
                last = self.words.setdefault((self.epoch, on.at), {}).setdefault(link, [])
                last.append(Word(on.entry, None, on.body))
        self.links.clear()
        self.epoch = -1

    def _part(self, number: int, link: Link, word: Farewell) -> None:
        sender = link[0]
        if sender not in self.hellos or word.epoch != self.hellos[sender].epoch:
            raise Leak(number, "somebody ended a run that it was not in")
        again = (link, self.announced, word.epoch, word.code)
        if again in self.ended:
            raise Leak(number, "somebody ended the run twice")
        self.ended.add(again)
        if word.code == 0:
            well = not word.why and not word.about and word.step in (self.steps[-1], _MEETING)
            if not well:
                raise Leak(number, "somebody ended the run with other words than that it is done")
        elif (
            word.step not in (*self.steps, _MEETING)
            or word.about not in ("", *self.owners)
            or (word.why and not is_reason(word.why))
        ):
            raise Leak(number, "somebody ended the run with words that nobody can check")

    # Messages.

    def _open(self, number: int, link: Link, envelope: Envelope) -> None:
        """See that an envelope is numbered, chained and of a step that is due."""
        if (envelope.sender, envelope.receiver) != link:
            raise Leak(number, "a message is of, or for, another owner")
        if self.epoch < 0 or envelope.epoch != self.epoch:
            raise Leak(number, "a message came before all owners had met")
        if (envelope.protocol, envelope.run) != (PROTOCOL, self._run()):
            raise Leak(number, "a message is of another run")
        on = self.links.setdefault(link, _OnLink(at=self.starts[self.epoch]))
        if (envelope.number, envelope.previous) != (on.number + 1, on.before):
            raise Leak(number, "a message does not follow the one before it")
        if envelope.step not in self.steps:
            raise Leak(number, "a message is of a step that no run has")
        at, (part, parts) = self.steps.index(envelope.step), on.open
        if at < on.at:
            raise Leak(number, "a message is of a step that was over")
        due = (on.at, part + 1, parts) if part < parts else (at, 1, envelope.parts)
        full = envelope.part < envelope.parts
        size = len(envelope.body)
        sized = size == LARGEST_PART if full else size > 0 or not on.body
        if (
            (at, envelope.part, envelope.parts) != due
            or envelope.part > envelope.parts
            or not sized
        ):
            raise Leak(number, "the parts of a message do not fit together")
        on.number, on.before, on.at = envelope.number, digest_of(encode(envelope)), at
        on.entry, on.open = number, (envelope.part, envelope.parts)
        on.body += envelope.body
        if not full:
            self._add(number, link, on)

    def _add(self, number: int, link: Link, on: _OnLink) -> None:
        body, on.body = on.body, b""
        try:
            message = self.read(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise Leak(number, "it is no message of this protocol") from None
        if encode(message) != body:
            raise Leak(number, "it says something besides its message")
        said = self.words.setdefault((self.epoch, on.at), {}).setdefault(link, [])
        said.append(Word(number, message, body))

    def _run(self) -> bytes:
        name = self.hellos[self.attendance.me].run_name
        return run_id(name, [(owner, self.hellos[owner].nonce) for owner in self.owners])

    # What counted in the end, and what did not.

    def _bound(self, epoch: int) -> int:
        """The first step of an epoch that a resume made void."""
        later = [start for other, start in self.starts.items() if other > epoch]
        return min(later, default=len(self.steps))

    def valid(self) -> list[dict[Link, list[Word]]]:
        """By step, what was said in it for good."""
        found: list[dict[Link, list[Word]]] = [{} for _ in self.steps]
        for (epoch, at), links in self.words.items():
            if at < self._bound(epoch):
                found[at] = links
        return found

    def said_again(self, valid: Sequence[Mapping[Link, Sequence[Word]]]) -> list[tuple[Word, Word]]:
        """Every message that a resume made void, beside what was said in its place later."""
        found: list[tuple[Word, Word]] = []
        for epoch in self.starts:
            bound = self._bound(epoch)
            by_link: dict[Link, list[tuple[int, Word]]] = {}
            for (other, at), links in sorted(self.words.items()):
                for link, words in links.items() if other == epoch and at >= bound else ():
                    by_link.setdefault(link, []).extend((at, word) for word in words)
            for link, void in by_link.items():
                later = range(bound, len(valid))
                again = [(at, word) for at in later for word in valid[at].get(link, ())]
                if [at for at, _ in void] != [at for at, _ in again[: len(void)]]:
                    raise Leak(void[0][1].entry, NOT_AGAIN)
                found += [(one, other) for (_, one), (_, other) in zip(void, again, strict=False)]
        return found
