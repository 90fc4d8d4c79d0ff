"""Was a run what runs are? A transcript, replayed word by word, whatever the owners talked about.

    replay        the whole: meetings, epochs, chains, parts, the order of steps (`delivered`)
    Said          all that was said in one step; a script takes it word by word, link by link
    common_ids    the script of an intersection (`intersection`)
    winner_of     the script of a comparison among all owners (`comparison`)
    all_ready     the scripts of the end (`agreeing`): what all are ready for,
    let_go        and that it is decided

A caller knows the names of all steps in their order, and plays one script for each. A script reads
like the conversation itself and takes every message that it has to hold; what it does not take was
not due, and what it would take and is not there is missing. So it is fixed which messages come in
which step, how many of them, on which link and in which order.

What a resume made void was said again later. So it must be, link by link, the beginning of what was
said then: the same words, or fresh randomness in the same place (`fresh` names such kinds).

What stays free, since nothing says what it should be: random numbers, and what is made of them; how
often an owner was restarted, and at most two steps by which it was ahead of the others; of an
interrupted run, which of a few reasons was given. `docs/methods/joint-releases.md` lists it.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from reticent.parties import agreeing, comparison, group, intersection
from reticent.parties.delivered import NOT_AGAIN, Attendance, Delivered, Leak, Link, Word
from reticent.parties.messages import Envelope, Violation, decode
from reticent.parties.transcript import Entry, Fault
from reticent.parties.wire import M, Message

COMMON_IDS: tuple[type[Message], ...] = (
    intersection.IdCount, intersection.BlindedIds, intersection.BlindedBack,
    intersection.CommonDigest, intersection.FullyBlinded, intersection.CommonCount,
    intersection.Unblinding, intersection.Nonce, intersection.AllIdsDigest,
)  # fmt: skip
COMPARISON: tuple[type[Message], ...] = (
    comparison.EncryptedBits, comparison.HiddenDifferences, comparison.ZeroAmongThem,
    comparison.PairOutcome, comparison.PairWinner,
)  # fmt: skip
_POINTS = (
    intersection.BlindedIds, intersection.BlindedBack, intersection.FullyBlinded,
    intersection.Unblinding, comparison.EncryptedBits, comparison.HiddenDifferences,
)  # fmt: skip
_FRESH = (
    *_POINTS, intersection.CommonDigest, intersection.Nonce, intersection.AllIdsDigest,
    comparison.ZeroAmongThem,
)  # fmt: skip
_Point = TypeVar(
    "_Point", intersection.BlindedIds, intersection.BlindedBack, intersection.FullyBlinded,
    intersection.Unblinding,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Audited:
    """What an audit found."""

    owner: str
    entries: int
    messages: int  # whose content was held against what came of the run
    fault: Fault | None = None
    came: str = "the release"  # of the run

    @property
    def text(self) -> str:
        """The finding in words."""
        if self.fault is None:
            return (
                f"{self.entries:,} entries of the transcript of {self.owner}: each follows the one "
                f"before it, and all that {self.messages:,} messages say follows from {self.came}."
            )
        if not self.fault.entry:
            return f"The transcript of {self.owner}: {self.fault.what}."
        return f"Entry {self.fault.entry:,} of the transcript of {self.owner}: {self.fault.what}."


class Said:
    """All that was said in one step, link by link; a script takes it word by word."""

    def __init__(
        self, step: str, me: str, owners: Sequence[str], words: Mapping[Link, Sequence[Word]],
        later: Mapping[Link, int], decided: Collection[Link] = (),
    ) -> None:  # fmt: skip
        """`later`: where the link goes on after this step.

        `decided`: the links on which a meeting told how the run ends.
        """
        self.step, self.me, self.owners = step, me, tuple(owners)
        self._told = {receiver for _, receiver in decided}  # how the run ends, at a meeting
        self._left = {link: list(reversed(said)) for link, said in words.items()}
        self._later = later
        self._last: dict[str, int] = {}  # by sender

    def sees(self, sender: str, receiver: str) -> bool:
        """Whether a link is ours, so that the transcript has what was said on it."""
        return self.me in (sender, receiver)

    def next(self, sender: str, receiver: str, kind: type[M]) -> M:
        """Take the next message of a link, which must be of this kind."""
        left = self._left.get((sender, receiver))
        if not left:
            missing = f"something that {sender} had to say in {self.step} is missing"
            raise Leak(self._later.get((sender, receiver), 0), missing)
        word = left.pop()
        self._last[sender] = word.entry
        if not isinstance(word.message, kind):
            raise self.undue(sender, word.entry)
        return word.message

    def tells(self, sender: str, kind: type[M], owners: Sequence[str] = ()) -> M:
        """Take a message that an owner sends to all others: the same words to each."""
        first: M | None = None
        for receiver in owners or self.owners:
            if receiver != sender and self.sees(sender, receiver):
                message = self.next(sender, receiver, kind)
                if first is not None and message != first:
                    raise self.refuse(sender)
                first = message
        assert first is not None
        return first

    def everybody(self, kind: type[M]) -> dict[str, M]:
        """Take what each owner tells all others."""
        return self.among(self.owners, kind)

    def among(self, owners: Sequence[str], kind: type[M]) -> dict[str, M]:
        """Take what each of some owners, of whom we are one, tells the others of them."""
        return {owner: self.tells(owner, kind, owners) for owner in owners}

    def heard_later(self, sender: str, receiver: str) -> bool:
        """Whether nothing is left on a link, and the receiver heard at a meeting how it ended."""
        return not self._left.get((sender, receiver)) and receiver in self._told

    def begins_with(self, kind: type[Message]) -> bool:
        """Whether the first word on some link is of this kind."""
        return any(left and isinstance(left[-1].message, kind) for left in self._left.values())

    def refuse(self, sender: str) -> Leak:
        """What the last message of an owner says does not follow; raise it."""
        what = f"what {sender} says in {self.step} does not follow from what came of the run"
        return Leak(self._last.get(sender, 0), what)

    def undue(self, sender: str, entry: int) -> Leak:
        """A message that nobody had to send."""
        return Leak(entry, f"what {sender} says in {self.step} was not due there")

    def end(self) -> None:
        """See that nothing is left."""
        for (sender, _), left in self._left.items():
            if left:
                raise self.undue(sender, left[-1].entry)


Script = Callable[[Said], None]


def steps_named(entries: Sequence[Entry]) -> set[str]:
    """The names of all steps in which anything was said."""
    found = set()
    for entry in entries:
        if entry.direction != "note":
            try:
                word = decode(entry.frame)
            except Violation:
                continue
            if isinstance(word, Envelope):
                found.add(word.step)
    return found


def replay(
    entries: Sequence[Entry],
    attendance: Attendance,
    steps: Sequence[str],
    kinds: Sequence[type[Message]],
    play: Script,
    fresh: Sequence[type[Message]] = (),
    ahead: int = 2,
) -> int:
    """Hold a transcript against what such a run may say; how many messages there were.

    `steps`: the names of all of them, in their order; by at most so many is anybody `ahead` of the
    others: one that all talk in, and those before in which an owner says nothing to some. `play`
    is given what was said in each, in that order, takes it, and raises `Said.refuse` for what does
    not follow. `kinds`: of all messages; `fresh`: those of the caller that may differ when they are
    said again after a resume.
    """
    delivered = Delivered(attendance, tuple(steps), _decoder(kinds), ahead)
    for number, entry in enumerate(entries, 1):
        delivered.hear(number, entry)
    delivered.end()
    me, owners = attendance.me, attendance.agreement.owners
    valid = delivered.valid()
    for at, step in enumerate(steps):
        later = _first_entries(valid[at + 1 :])
        said = Said(step, me, owners, valid[at], later, delivered.decided)
        play(said)
        said.end()
    void = delivered.said_again(valid)
    for before, after in void:
        _see_same(before, after, (*_FRESH, *fresh))
    return len(void) + sum(len(words) for links in valid for words in links.values())


def _see_same(word: Word, again: Word, fresh: Sequence[type[Message]]) -> None:
    """See that what was said before a resume was said after it, or is as random as that."""
    leak, message, other = Leak(word.entry, NOT_AGAIN), word.message, again.message
    if message is None:
        if not again.body.startswith(word.body):
            raise leak
    elif type(message) is not type(other):
        raise leak
    elif isinstance(message, _POINTS):
        for name in message.__struct_fields__:
            count = len(getattr(other, name)) // group.POINT_BYTES
            if not _are_points(getattr(message, name), count):
                raise leak
    elif type(message) not in fresh and word.body != again.body:
        raise leak


def _decoder(kinds: Sequence[type[Message]]) -> Callable[[bytes], Any]:
    return msgspec.msgpack.Decoder(functools.reduce(operator.or_, kinds)).decode


def _first_entries(steps: Sequence[Mapping[Link, Sequence[Word]]]) -> dict[Link, int]:
    found: dict[Link, int] = {}
    for links in steps:
        for link, words in links.items():
            found.setdefault(link, words[0].entry)
    return found


def _are_points(content: bytes, count: int) -> bool:
    """Whether bytes are so many points of the group, and nothing else."""
    try:
        group.checked_all(group.apart(content, count))
    except group.NoPoint:
        return False
    return True


# Scripts of the conversations that all systems share.


def common_ids(
    said: Said, ids: Sequence[str], *, chunk: int = intersection.CHUNK
) -> Mapping[str, int]:
    """An intersection, private or of aligned ids, as we saw it; how many ids each owner brought.

    `ids`: our common ones, in the agreed order.
    """
    if said.begins_with(intersection.Nonce):
        return _aligned(said, ids)
    sizes = {owner: told.count for owner, told in said.everybody(intersection.IdCount).items()}
    for owner, size in sizes.items():
        if size < len(ids):
            raise said.refuse(owner)
    ring = _Points(said, said.owners, sizes, len(ids), chunk)
    if len(said.owners) > 2:
        ring.many()
    elif ring.two() != len(ids):
        raise said.refuse(said.owners[-1])
    return sizes


def common_values(
    said: Said, pair: Sequence[str], *, chunk: int = intersection.CHUNK
) -> tuple[Mapping[str, int], int]:
    """A private intersection of two owners, us among them: how many each and both brought."""
    told = said.among(pair, intersection.IdCount)
    sizes = {owner: one.count for owner, one in told.items()}
    return sizes, _Points(said, tuple(pair), sizes, 0, chunk).two()


def _aligned(said: Said, ids: Sequence[str]) -> Mapping[str, int]:
    nonces = [one.nonce for one in said.everybody(intersection.Nonce).values()]
    contents = [text.encode("utf-8", "surrogatepass") for text in ids]
    _, digest = intersection.keyed_order(nonces, contents)
    for owner, told in said.everybody(intersection.AllIdsDigest).items():
        if told.digest != digest:
            raise said.refuse(owner)
    return dict.fromkeys(said.owners, len(ids))


def all_ready(said: Said, digest: bytes) -> None:
    """Each tells all what it is ready for; who was gone may hear later how it ended."""
    for sender in said.owners:
        for receiver in said.owners:
            if sender == receiver or not said.sees(sender, receiver):
                continue
            if receiver == said.me and said.heard_later(sender, receiver):
                continue
            if said.next(sender, receiver, agreeing.Ready).digest != digest:
                raise said.refuse(sender)


def let_go(said: Said) -> None:
    """The first owner says go to each, or tells it how it ended at a later meeting."""
    first = said.owners[0]
    for owner in said.owners[1:]:
        if said.sees(first, owner) and not said.heard_later(first, owner):
            said.next(first, owner, agreeing.Go)


@dataclass(frozen=True, slots=True)
class _Points:
    """Lists of points, of known lengths, on the links that are ours."""

    said: Said
    owners: tuple[str, ...]
    sizes: Mapping[str, int]
    common: int
    chunk: int

    def two(self) -> int:
        """Each list goes to the other and comes back; a digest of what is in both, and how many."""
        back: list[set[bytes]] = []
        for sender, receiver in (self.owners, self.owners[::-1]):
            returned: list[bytes] = []
            for at in range(0, max(self.sizes.values()), self.chunk):
                self._piece(sender, receiver, intersection.BlindedIds, at, self.sizes[sender])
                returned += self._piece(
                    sender, receiver, intersection.BlindedBack, at, self.sizes[receiver]
                )
            back.append(self._once(sender, returned))
        common = sorted(back[0] & back[1])
        digest = hashlib.sha256(b"".join(common)).digest()
        for owner, told in self.said.among(self.owners, intersection.CommonDigest).items():
            if told.digest != digest:
                raise self.said.refuse(owner)
        return len(common)

    def many(self) -> None:
        """Round, together at the first owner, and round again, once for every receiver."""
        owners, first = self.owners, self.owners[0]
        after = [*owners[1:], first]
        for hop in range(len(owners) - 1):
            for place, owner in enumerate(owners):
                size = self.sizes[owners[place - hop]]
                self._list(owner, after[place], intersection.BlindedIds, size)
        for place, owner in enumerate(owners[1:], 1):
            self._list(owner, first, intersection.FullyBlinded, self.sizes[after[place]])
        if self.said.tells(first, intersection.CommonCount).count != self.common:
            raise self.said.refuse(first)
        for receiver in owners:
            way = intersection.way_back(owners, receiver)
            for sender, to in itertools.pairwise(way):
                self._list(sender, to, intersection.Unblinding, self.common)

    def _list(self, sender: str, to: str, kind: type[_Point], size: int) -> None:
        if self.said.sees(sender, to):
            pieces = (self._piece(sender, to, kind, at, size) for at in range(0, size, self.chunk))
            self._once(sender, [point for piece in pieces for point in piece])

    def _piece(self, sender: str, to: str, kind: type[_Point], at: int, size: int) -> list[bytes]:
        if at >= size:
            return []
        content = self.said.next(sender, to, kind).points
        count = min(self.chunk, size - at)
        if not _are_points(content, count):
            raise self.said.refuse(sender)
        return group.apart(content, count)

    def _once(self, sender: str, points: Sequence[bytes]) -> set[bytes]:
        if len(found := {*points}) < len(points):
            raise self.said.refuse(sender)
        return found


def winner_of(said: Said) -> str:
    """A comparison among all owners, as we saw it; who won."""
    champion, *challengers = said.owners
    for challenger in challengers:
        champion = _pair(said, champion, challenger)
    return champion


_CIPHERTEXTS = 2 * (comparison.BITS + 1)  # points: two of each


def _pair(said: Said, holder: str, challenger: str) -> str:
    watching = [owner for owner in said.owners if owner not in (holder, challenger)]
    if not said.sees(holder, challenger):
        by_holder = said.next(holder, said.me, comparison.PairWinner).winner
        if by_holder not in (holder, challenger):
            raise said.refuse(holder)
        if said.next(challenger, said.me, comparison.PairWinner).winner != by_holder:
            raise said.refuse(challenger)
        return by_holder
    bits = said.next(holder, challenger, comparison.EncryptedBits)
    if not (_are_points(bits.public, 1) and _are_points(bits.ciphertexts, _CIPHERTEXTS)):
        raise said.refuse(holder)
    hidden = said.next(challenger, holder, comparison.HiddenDifferences)
    if not _are_points(hidden.ciphertexts, _CIPHERTEXTS):
        raise said.refuse(challenger)
    said.next(holder, challenger, comparison.ZeroAmongThem)
    outcome = said.next(challenger, holder, comparison.PairOutcome)
    winner = holder if outcome.holder_wins else challenger
    for owner in watching:
        if said.next(said.me, owner, comparison.PairWinner).winner != winner:
            raise said.refuse(said.me)
    return winner
