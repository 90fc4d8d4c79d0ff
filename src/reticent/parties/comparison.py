"""Who of several owners has the highest key, while nobody learns another's key.

Two owners compare two keys bit by bit under encryption; both learn who wins and nothing else. More
than two play a tournament of such pairs, so that who beat whom becomes known to all.

Source: Damgård, Geisler, Krøigaard 2007 ("Efficient and secure comparison for on-line auctions"),
their comparison of bits, with exponential ElGamal in the place of their own cipher: over a group of
prime order no key takes long to make, and all that is asked of a plaintext is whether it is 0.

    paper        here
    A, B         challenger, holder (of the secret key)
    x, y         their keys: 0 ≤ key < 2**bits. Compared are 2x and 2y + 1, which are never equal,
                 so a tie goes to the holder and does not show
    E(m)         Ciphertext(r·G, m·G + r·P) under the public point P = secret·G
    s            coin: 1 or -1, drawn by the challenger
    c_i          s + x_i - y_i + 3·Σ_{j>i} (x_j ⊕ y_j), bits from the highest down

Above the first bit that differs c_i is s; below it, at least 3 - 2; at it, s + x_i - y_i. So at
most one c_i is 0, and one is iff 2x < 2y + 1 (coin 1) or 2x > 2y + 1 (coin -1). All c_i lie within
-2 … 3·bits + 2, so that none else is 0 modulo the group's order.

What is seen. The challenger sees ciphertexts. The holder decrypts each c_i times a random scalar,
in random order: elements spread evenly and at most one 0, whatever x is; and whether there is a 0
is as likely as not, by the coin (test_what_the_holder_decrypts_tells_nothing_of_the_key).
Re-randomising is needed on top: without it a ciphertext's first half is a sum of the holder's own
random numbers, times the scalar, and the quotient of the two halves would betray the bits of x.

Owners are taken to follow the protocol. One that does not can encrypt what is no bit and read more
than an outcome out of the answer, or out of whether the run goes on.

Cost at 40 bits: 35 ms of processor time for both sides together, 6 kB sent; two thirds of it are
the challenger's 123 multiplications and 82 checks.

Where we differ from the paper: the coin is on the challenger's side alone, the outcome is told and
not shared, and a tie has a winner (2x against 2y + 1), since owners have an order.
"""

from __future__ import annotations

import functools
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from reticent.parties import group
from reticent.parties.group import GroupPoint, NoPoint, Scalar
from reticent.parties.wire import Message, Wire, others

BITS = 40  # of a score's key


class Ciphertext(NamedTuple):
    """An encrypted number. Sums of ciphertexts encrypt sums of numbers."""

    mask: GroupPoint  # r·G
    body: GroupPoint  # m·G + r·P

    def add(self, other: Ciphertext) -> Ciphertext:
        """Encrypts the sum."""
        return Ciphertext(group.plus(self.mask, other.mask), group.plus(self.body, other.body))

    def subtract(self, other: Ciphertext) -> Ciphertext:
        """Encrypts the difference."""
        return Ciphertext(group.minus(self.mask, other.mask), group.minus(self.body, other.body))


@dataclass(frozen=True, slots=True)
class ComparisonKey:
    """What a holder encrypts with; made once a run, never kept longer."""

    public: GroupPoint
    secret: Scalar = field(repr=False)

    @classmethod
    def fresh(cls) -> ComparisonKey:
        """A new one, from the operating system's randomness."""
        secret = group.random_scalar()
        return cls(group.base_times(secret), secret)


class EncryptedBits(Message, frozen=True):
    """Holder to challenger: its public point, and the bits of 2y + 1, the highest first."""

    public: bytes
    ciphertexts: bytes


class HiddenDifferences(Message, frozen=True):
    """Challenger to holder: every c_i times a random scalar, in random order."""

    ciphertexts: bytes


class ZeroAmongThem(Message, frozen=True):
    """Holder to challenger: whether one of them is 0."""

    found: bool


class PairOutcome(Message, frozen=True):
    """Challenger to holder: who wins, which takes the coin to know."""

    holder_wins: bool


class PairWinner(Message, frozen=True):
    """Either of a pair to all who were not in it."""

    winner: str


def highest(wire: Wire, key: int, own: ComparisonKey | None = None, *, bits: int = BITS) -> str:
    """The owner with the highest key; of several, the one that `wire.owners` lists first.

    The winner of the first pair plays against the third, and so on. The winner so far is listed
    before every challenger, so it is the holder, to whom ties go. `own` is this owner's key pair
    for the run; without one, every call has its own. Its public point goes with the bits, so that
    a comparison stands alone and can be begun again after a break.
    """
    if not 0 <= key < 2**bits:
        raise ValueError(f"a key to compare has {bits} bits")  # ours alone to get right
    own = own or ComparisonKey.fresh()
    champion, *challengers = wire.owners
    for challenger in challengers:
        if wire.me == champion:
            winner = hold(wire, challenger, key, own, bits=bits)
            tell_others(wire, (champion, challenger), winner)
        elif wire.me == challenger:
            winner = challenge(wire, champion, key, bits=bits)
            tell_others(wire, (champion, challenger), winner)
        else:
            winner = hear_winner(wire, champion, challenger)
        champion = winner
    return champion


def hold(wire: Wire, challenger: str, key: int, own: ComparisonKey, *, bits: int = BITS) -> str:
    """B's side: the winner of the pair, me unless the challenger's key is higher."""
    encrypted_bits = encrypt_bits(own, bits_of(2 * key + 1, bits + 1))
    wire.send(challenger, EncryptedBits(own.public, _packed(encrypted_bits)))
    answer = wire.receive(challenger, HiddenDifferences)
    hidden = _unpacked(wire, challenger, answer.ciphertexts, bits + 1)
    zeros = sum(is_zero(own, ciphertext) for ciphertext in hidden)
    if zeros > 1:
        raise wire.refuse(challenger, "more than one of its differences is 0")
    wire.send(challenger, ZeroAmongThem(zeros == 1))
    outcome = wire.receive(challenger, PairOutcome)
    return wire.me if outcome.holder_wins else challenger


def challenge(wire: Wire, holder: str, key: int, *, bits: int = BITS) -> str:
    """A's side: the winner of the pair, me if my key is higher than the holder's."""
    sent = wire.receive(holder, EncryptedBits)
    public = _point(wire, holder, sent.public)
    encrypted_bits = _unpacked(wire, holder, sent.ciphertexts, bits + 1)
    coin = secrets.choice((1, -1))
    plain_bits = bits_of(2 * key, bits + 1)
    try:
        hidden = [hide(public, c) for c in differences(plain_bits, encrypted_bits, coin)]
    except NoPoint:  # sums of ciphertexts that were drawn at random are never neutral
        raise wire.refuse(holder, "its ciphertexts cancel each other out") from None
    secrets.SystemRandom().shuffle(hidden)
    wire.send(holder, HiddenDifferences(_packed(hidden)))
    zero_found = wire.receive(holder, ZeroAmongThem).found
    holder_wins = zero_found == (coin == 1)
    wire.send(holder, PairOutcome(holder_wins))
    return holder if holder_wins else wire.me


def tell_others(wire: Wire, pair: tuple[str, str], winner: str) -> None:
    """Tell the winner of a pair to all who were not in it."""
    for owner in others(wire):
        if owner not in pair:
            wire.send(owner, PairWinner(winner))


def hear_winner(wire: Wire, holder: str, challenger: str) -> str:
    """The winner of a pair that I was not in, as both of it tell."""
    by_holder = wire.receive(holder, PairWinner).winner
    by_challenger = wire.receive(challenger, PairWinner).winner
    if by_holder not in (holder, challenger):
        raise wire.refuse(holder, "it names a winner that did not play")
    if by_challenger != by_holder:
        raise wire.refuse(challenger, f"it and {holder} name different winners of their pair")
    return by_holder


def bits_of(number: int, bits: int) -> list[int]:
    """The bits of a number, the highest first.

    >>> bits_of(6, 4)
    [0, 1, 1, 0]
    """
    return [number >> place & 1 for place in reversed(range(bits))]


def encrypt_bits(own: ComparisonKey, bits: Sequence[int]) -> list[Ciphertext]:
    """B: each bit under my own key; knowing the secret, m·G + r·P is one multiple of G."""
    encrypted = []
    for bit in bits:
        randomness = group.random_scalar()
        body = group.base_times(group.product_plus(randomness, own.secret, bit))
        encrypted.append(Ciphertext(group.base_times(randomness), body))
    return encrypted


def differences(
    bits: Sequence[int], encrypted_bits: Sequence[Ciphertext], coin: int
) -> Iterator[Ciphertext]:
    """A: every c_i = s + x_i - y_i + 3·Σ_{j>i} (x_j ⊕ y_j), from the highest bit down.

    x_j is known, so x_j ⊕ y_j is y_j or 1 - y_j: a known part, which stays a plain number until the
    end, and an encrypted one, to which y_j is added or from which it is taken. Both take the same
    time, and additions are seven times cheaper than one multiplication by 3.
    """
    known_multiples = _multiples(3 * len(bits) + 2)
    unequal_above = Ciphertext(group.NEUTRAL, group.NEUTRAL)  # its encrypted part
    ones_above = 0  # its known part
    for bit, encrypted_bit in zip(bits, encrypted_bits, strict=True):
        thrice = unequal_above.add(unequal_above).add(unequal_above)
        mask, body = thrice.subtract(encrypted_bit)
        known = coin + bit + 3 * ones_above
        yield Ciphertext(mask, group.plus(body, known_multiples[known + 1]))
        take = unequal_above.subtract if bit else unequal_above.add
        unequal_above = take(encrypted_bit)
        ones_above += bit


def hide(public: GroupPoint, ciphertext: Ciphertext) -> Ciphertext:
    """A: a number times a random scalar, under fresh randomness. Only a 0 stays what it was."""
    factor, randomness = group.random_scalar(), group.random_scalar()
    return Ciphertext(
        group.plus(group.times(factor, ciphertext.mask), group.base_times(randomness)),
        group.plus(group.times(factor, ciphertext.body), group.times(randomness, public)),
    )


def is_zero(own: ComparisonKey, ciphertext: Ciphertext) -> bool:
    """B: whether 0 is encrypted, which is all that is ever decrypted."""
    return group.times(own.secret, ciphertext.mask) == ciphertext.body


@functools.cache
def _multiples(most: int) -> tuple[GroupPoint, ...]:
    """k·G at place k + 1, from -1 on; all made at once, so that which is used takes no time."""
    return tuple(
        group.base_times(group.scalar(k)) if k else group.NEUTRAL for k in range(-1, most + 1)
    )


def _packed(ciphertexts: Sequence[Ciphertext]) -> bytes:
    return group.joined(point for ciphertext in ciphertexts for point in ciphertext)


def _unpacked(wire: Wire, of: str, content: bytes, count: int) -> list[Ciphertext]:
    try:
        points = group.apart(content, 2 * count)
    except NoPoint:
        raise wire.refuse(of, f"it did not send {count} ciphertexts") from None
    checked_points = [_point(wire, of, point) for point in points]
    return list(map(Ciphertext, checked_points[::2], checked_points[1::2]))


def _point(wire: Wire, of: str, content: bytes) -> GroupPoint:
    try:
        return group.checked(content)
    except NoPoint:
        raise wire.refuse(of, "it sent something that is no point of the group") from None
