"""Which of my ids all other owners have too, in an order that all owners share.

Ids are hashed to points; an owner blinds a point by multiplying it with a secret of its own, fresh
for the run. Blinding commutes: once all owners have blinded it, a point is the same for the same id
whoever brought it, and without all secrets nobody can tell which id that is (decisional
Diffie-Hellman; Meadows 1986, Huberman, Franklin and Hogg 1999). The agreed order of the common
records is that of their fully blinded points, so it is random, the same at all owners, and another
one in the next run.

Two owners. Each sends its points, blinded, in a random order of its own; the peer blinds them again
and returns them in the same order. So each knows its own points and the other's, twice blinded.

Three and more. Lists go round the owners: each blinds and shuffles what the one before it sends.
Nobody can follow its own points through the others' shuffles, or it would learn with whom of the
others it shares which id. The fully blinded lists meet at the first owner, which finds what is in
all of them. These points, sorted, go round again, once for every receiver: all but the receiver
take their secrets off, so that owner j gets H(id) times its own secret, and recognises it.

What is seen: all sizes, and which of the own ids all others have; the first owner of three or more
also sees how many ids any of the others share (`CommonIds.held_by`), not which.

Cost: an owner multiplies once for every id that any owner brings, and for the way back of three and
more once for every common id and other owner; 100 µs each, on all cores. Lists travel in chunks:
while one is computed the next one is on its way.

Against an owner that does not follow the protocol this is no proof: whoever brings made-up ids
learns which of them exist. Semi-honest owners are the model; what is checked here (sizes, points,
repetitions) is what an honest owner's mistake or a broken wire would show.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, TypeVar

import msgspec

from reticent.errors import InputError, PartyError, many
from reticent.parties import group
from reticent.parties.group import GroupPoint, NoPoint, Scalar
from reticent.parties.messages import Digest
from reticent.parties.wire import Message, Wire, others

MOST_IDS = 500_000
CHUNK = 16_384  # points in a message: half a megabyte, two seconds of work
HowFar = Callable[[int, int], None]  # points done, of how many
Natural = Annotated[int, msgspec.Meta(ge=0)]


@dataclass(frozen=True, slots=True)
class CommonIds:
    """What an owner learns."""

    order: tuple[int, ...] = field(repr=False)  # where my ids stand: in the agreed record order
    sizes: Mapping[str, int]  # how many ids each owner brought
    # How many ids exactly these owners have; seen by the first of three or more, else empty.
    held_by: Mapping[tuple[str, ...], int] = field(default_factory=dict)


class IdCount(Message, frozen=True):
    """To all: how many ids I bring."""

    count: Natural


class BlindedIds(Message, frozen=True):
    """A chunk of a list that somebody is to blind as well."""

    points: bytes


class BlindedBack(Message, frozen=True):
    """Of two: a chunk of the receiver's own list, blinded by me too, in its order."""

    points: bytes


class CommonDigest(Message, frozen=True):
    """Of two: SHA-256 of all common points, in the agreed order."""

    digest: Digest


class FullyBlinded(Message, frozen=True):
    """To the first of three and more: a chunk of a list that all have blinded."""

    points: bytes


class CommonCount(Message, frozen=True):
    """From the first of three and more: how many ids are common."""

    count: Natural


class Unblinding(Message, frozen=True):
    """A chunk of the common points on their way back to one receiver."""

    points: bytes


class Nonce(Message, frozen=True):
    """To all: my part of a key for digests."""

    nonce: Digest


class AllIdsDigest(Message, frozen=True):
    """To all: the keyed digest of all my ids."""

    digest: Digest


def intersect(
    wire: Wire,
    ids: Sequence[str],
    *,
    most: int = MOST_IDS,
    chunk: int = CHUNK,
    told: HowFar = lambda done, of: None,
) -> CommonIds:
    """Find which of my ids all owners have, and agree on their order.

    `told` hears how many points I have blinded, of how many; the way back of three and more is not
    among them, since nobody knows before how many are common. `chunk` is the same at all owners.
    """
    if len(wire.owners) < 2:
        raise ValueError("one owner alone has nothing to intersect")
    contents = _distinct(ids)
    sizes = announce(wire, len(contents), most)
    meet = _two if len(wire.owners) == 2 else _many
    return meet(_Run(wire, sizes, group.random_scalar(), chunk, told), contents)


def announce(wire: Wire, count: int, most: int) -> dict[str, int]:
    """Tell all how many ids I bring, and hear of theirs."""
    for owner in others(wire):
        wire.send(owner, IdCount(count))
    sizes = {wire.me: count}
    for owner in others(wire):
        sizes[owner] = wire.receive(owner, IdCount).count
        if sizes[owner] > most:
            what = f"it brings {sizes[owner]:,} ids, more ids than the {most:,} that are allowed"
            raise with_remedy(
                wire.refuse(owner, f"{what} (most_ids)"),
                "ask its owner what it brings; if that is right, raise  most_ids  here.",
            )
    return {owner: sizes[owner] for owner in wire.owners}


def with_remedy(error: PartyError, do: str) -> PartyError:
    """The same error with what to do about it."""
    error.problems = tuple(replace(problem, do=do) for problem in error.problems)
    error.args = (error.text(),)
    return error


@dataclass(slots=True)
class _Run:
    """What every step of one intersection needs."""

    wire: Wire
    sizes: Mapping[str, int]
    secret: Scalar = field(repr=False)  # drawn for this run, used in no other
    chunk: int
    told: HowFar
    blinded: int = 0  # points so far

    def blind_ids(self, contents: Sequence[bytes]) -> list[GroupPoint]:
        """Hash ids of mine and blind them."""
        return self._count(group.hashed_times_all(self.secret, contents))

    def blind(self, of: str, points: Sequence[bytes]) -> list[GroupPoint]:
        """Blind what another owner sent."""
        return self._count(multiples(self.wire, of, self.secret, points))

    def _count(self, points: list[GroupPoint]) -> list[GroupPoint]:
        self.blinded += len(points)
        self.told(self.blinded, sum(self.sizes.values()))
        return points


# Two owners


def _two(run: _Run, contents: Sequence[bytes]) -> CommonIds:
    """Chunk by chunk: mine to the peer, the peer's blinded and returned, mine back again."""
    wire, chunk = run.wire, run.chunk
    (peer,) = others(wire)
    mine, theirs = run.sizes[wire.me], run.sizes[peer]
    rows = _shuffled(range(mine))
    asked = receive_chunks(run, peer, BlindedIds, theirs)
    returned = receive_chunks(run, peer, BlindedBack, mine)
    my_points: list[GroupPoint] = []  # twice blinded, in the order of `rows`
    their_points: list[GroupPoint] = []  # twice blinded
    for at in range(0, max(mine, theirs), chunk):
        if at < mine:
            blinded = run.blind_ids([contents[row] for row in rows[at : at + chunk]])
            wire.send(peer, BlindedIds(group.joined(blinded)))
        if at < theirs:
            twice_blinded = run.blind(peer, next(asked))
            wire.send(peer, BlindedBack(group.joined(twice_blinded)))
            their_points += twice_blinded
        if at < mine:
            my_points += checked(wire, peer, next(returned))
    row_of = dict(zip(my_points, rows, strict=True))
    agreed = sorted(row_of.keys() & set(their_points))
    agree_on_common(wire, peer, agreed)
    return CommonIds(tuple(row_of[point] for point in agreed), run.sizes)


def agree_on_common(wire: Wire, peer: str, agreed: Sequence[GroupPoint]) -> None:
    """See that both found the same; a digest of blinded points tells nothing new."""
    digest = hashlib.sha256(group.joined(agreed)).digest()
    wire.send(peer, CommonDigest(digest))
    if wire.receive(peer, CommonDigest).digest != digest:
        raise wire.refuse(peer, "it found other common ids than we did")


# Three owners and more


def _many(run: _Run, contents: Sequence[bytes]) -> CommonIds:
    """Once round to blind and shuffle, together at the first owner, once round to unblind."""
    my_points = [point for few in chunks(contents, run.chunk) for point in run.blind_ids(few)]
    fully_blinded = pass_round(run, my_points)
    if run.wire.me == run.wire.owners[0]:
        common, held_by = find_common(run, fully_blinded)
        start_back(run, common)
        rows = pass_back(run, my_points, len(common))
        return CommonIds(rows, run.sizes, held_by)
    rows = pass_back(run, my_points, hand_over(run, fully_blinded))
    return CommonIds(rows, run.sizes)


def pass_round(run: _Run, my_points: Sequence[GroupPoint]) -> list[GroupPoint]:
    """Send all lists round; what I hold in the end is the one of the owner after me, fully blinded.

    All lists travel at once, so that all owners are busy all the time. A list is sent on when it
    has arrived whole: chunks shuffled one by one could be followed.
    """
    wire, owners = run.wire, run.wire.owners
    place = owners.index(wire.me)
    before, after = owners[place - 1], owners[(place + 1) % len(owners)]
    held = _shuffled(my_points)
    for hop in range(1, len(owners)):
        send_chunks(run, after, BlindedIds, held)
        arriving: list[GroupPoint] = []
        for few in receive_chunks(run, before, BlindedIds, run.sizes[owners[place - hop]]):
            arriving += run.blind(before, few)
        held = _shuffled(arriving)
    return held


def find_common(
    run: _Run, held: Sequence[GroupPoint]
) -> tuple[list[GroupPoint], dict[tuple[str, ...], int]]:
    """The first owner: which points are in all lists, sorted, and how many in which of them.

    Every other owner hands over the list that it holds, which is that of the owner after it.
    """
    wire, owners = run.wire, run.wire.owners
    brought_by: dict[GroupPoint, int] = dict.fromkeys(held, 1 << 1)  # a bit for every owner
    for place in range(1, len(owners)):
        sender, of_whom = owners[place], (place + 1) % len(owners)
        for few in receive_chunks(run, sender, FullyBlinded, run.sizes[owners[of_whom]]):
            for point in checked(wire, sender, few):
                brought_by[point] = brought_by.get(point, 0) | 1 << of_whom
    held_by = {
        tuple(owner for place, owner in enumerate(owners) if bits >> place & 1): seen
        for bits, seen in sorted(Counter(brought_by.values()).items())
    }
    everybody = (1 << len(owners)) - 1
    return sorted(point for point, bits in brought_by.items() if bits == everybody), held_by


def hand_over(run: _Run, held: Sequence[GroupPoint]) -> int:
    """Any other owner: give the first one what I hold; how many it finds common."""
    first = run.wire.owners[0]
    send_chunks(run, first, FullyBlinded, held)
    count = run.wire.receive(first, CommonCount).count
    if count > min(run.sizes.values()):
        raise run.wire.refuse(first, "it finds more common ids than an owner brought")
    return count


def start_back(run: _Run, common: Sequence[GroupPoint]) -> None:
    """The first owner: send the common points on their way to every owner, me among them."""
    wire = run.wire
    for owner in others(wire):
        wire.send(owner, CommonCount(len(common)))
    without_mine = group.times_all(group.inverse(run.secret), common)
    for receiver in wire.owners:
        points = common if receiver == wire.me else without_mine
        send_chunks(run, way_back(wire.owners, receiver)[1], Unblinding, points)


def pass_back(run: _Run, my_points: Sequence[GroupPoint], count: int) -> tuple[int, ...]:
    """Take my secret off what goes to others; then where my ids stand, from what comes to me.

    That is my secret times H(id), as I made it at the start, in the agreed order.
    """
    wire, owners = run.wire, run.wire.owners
    off = group.inverse(run.secret)
    for receiver in others(wire) if wire.me != owners[0] else ():
        way = way_back(wire.owners, receiver)
        before, after = (way[way.index(wire.me) + step] for step in (-1, 1))
        for few in receive_chunks(run, before, Unblinding, count):
            unblinded = multiples(wire, before, off, few)
            wire.send(after, Unblinding(group.joined(unblinded)))
    last = way_back(wire.owners, wire.me)[-2]
    returned = [point for few in receive_chunks(run, last, Unblinding, count) for point in few]
    row_of: dict[bytes, int] = {point: row for row, point in enumerate(my_points)}
    if not row_of.keys() >= set(returned):
        raise wire.refuse(last, "it returned points that are not ours")
    return tuple(row_of[point] for point in returned)


def way_back(owners: Sequence[str], receiver: str) -> list[str]:
    """Whom the common points pass on their way to a receiver.

    It starts at the first owner and ends at the receiver, who may be the first owner too.
    """
    first, *rest = owners
    return [first, *(owner for owner in rest if owner != receiver), receiver]


# The same ids at all owners


def align(wire: Wire, ids: Sequence[str]) -> CommonIds:
    """Agree on an order where all owners say that they hold the same ids, and see that they do.

    Compared is one digest of all ids, under a key that takes a part from every owner. An owner that
    knows all but a few of another's ids could try out the rest on it: who cannot trust the others
    with that intersects privately.
    """
    contents = _distinct(ids)
    nonces = {wire.me: secrets.token_bytes(32)}
    for owner in others(wire):
        wire.send(owner, Nonce(nonces[wire.me]))
    for owner in others(wire):
        nonces[owner] = wire.receive(owner, Nonce).nonce
    rows, digest = keyed_order([nonces[owner] for owner in wire.owners], contents)
    for owner in others(wire):
        wire.send(owner, AllIdsDigest(digest))
    # All are heard before one complains, so that all see the same and fail alike.
    heard = [wire.receive(owner, AllIdsDigest).digest for owner in others(wire)]
    if any(theirs != digest for theirs in heard):
        raise InputError(
            "the owners do not hold the same ids",
            why="aligned ids are the same at every owner, each once, in any order.",
            do="mend the data, or intersect privately at every owner.",
        )
    return CommonIds(tuple(rows), dict.fromkeys(wire.owners, len(contents)))


def keyed_order(nonces: Sequence[bytes], contents: Sequence[bytes]) -> tuple[list[int], bytes]:
    """An order of ids that depends on their set and all owners' nonces, and its digest."""
    key = hashlib.sha256(b"".join(nonces)).digest()
    digest_of = [hmac.digest(key, b"id" + content, "sha256") for content in contents]
    rows = sorted(range(len(contents)), key=digest_of.__getitem__)
    return rows, hmac.digest(key, b"all" + b"".join(digest_of[row] for row in rows), "sha256")


# Points in chunks


_Item = TypeVar("_Item")
_Chunk = TypeVar("_Chunk", BlindedIds, BlindedBack, FullyBlinded, Unblinding)


def chunks(items: Sequence[_Item], chunk: int) -> Iterator[Sequence[_Item]]:
    """A list in pieces."""
    return (items[at : at + chunk] for at in range(0, len(items), chunk))


def send_chunks(run: _Run, to: str, kind: type[_Chunk], points: Sequence[GroupPoint]) -> None:
    """Send a list, piece by piece."""
    for few in chunks(points, run.chunk):
        run.wire.send(to, kind(group.joined(few)))


def receive_chunks(run: _Run, of: str, kind: type[_Chunk], count: int) -> Iterator[list[bytes]]:
    """A list as it comes, piece by piece: so many points, none of them twice, yet unchecked.

    An owner has every id once, and blinded points repeat only if those before them did.
    """
    seen: set[bytes] = set()
    for at in range(0, count, run.chunk):
        size = min(run.chunk, count - at)
        try:
            points = group.apart(run.wire.receive(of, kind).points, size)
        except NoPoint:
            raise run.wire.refuse(of, f"it did not send {many(size, 'point')}") from None
        seen.update(points)
        if len(seen) != at + size:
            raise run.wire.refuse(of, "it sent a point twice")
        yield points


def multiples(wire: Wire, of: str, secret: Scalar, points: Sequence[bytes]) -> list[GroupPoint]:
    """Received points times a secret; multiplying checks them."""
    try:
        return group.times_all(secret, points)
    except NoPoint:
        raise wire.refuse(of, _NO_POINT) from None


def checked(wire: Wire, of: str, points: Sequence[bytes]) -> list[GroupPoint]:
    """Received points that are only compared."""
    try:
        return group.checked_all(points)
    except NoPoint:
        raise wire.refuse(of, _NO_POINT) from None


_NO_POINT = "it sent something that is no point of the group"


def _shuffled(items: Iterable[_Item]) -> list[_Item]:
    found = list(items)
    secrets.SystemRandom().shuffle(found)
    return found


def _distinct(ids: Sequence[str]) -> list[bytes]:
    """Ids as bytes; the tables' text may hold lone surrogates, which are ids like any other."""
    contents = [text.encode("utf-8", "surrogatepass") for text in ids]
    if repeated := len(contents) - len(set(contents)):
        raise InputError(
            f"{many(repeated, 'id')} of {len(ids):,} repeated",
            why="records are told apart by their ids.",
            do="leave one record for each id.",
        )
    return contents
