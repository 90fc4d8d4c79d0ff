"""Comparing keys: who wins, what each role can read, and what ends a run."""

from __future__ import annotations

import random
import secrets
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.memory_wire import MemoryWire, received, together, wires
from parties.points_at_hand import NO_POINTS
from reticent.errors import PartyError
from reticent.parties import comparison, group
from reticent.parties.comparison import (
    Ciphertext,
    ComparisonKey,
    EncryptedBits,
    HiddenDifferences,
    PairOutcome,
    PairWinner,
    ZeroAmongThem,
    bits_of,
)
from reticent.parties.group import GroupPoint
from reticent.parties.wire import Message

KEYS = st.integers(0, 2**40 - 1)


def decrypted(own: ComparisonKey, ciphertext: Ciphertext) -> GroupPoint:
    return group.minus(ciphertext.body, group.times(own.secret, ciphertext.mask))


def multiple(number: int) -> GroupPoint:
    return group.base_times(group.scalar(number)) if number else group.NEUTRAL


def ciphertexts(content: bytes) -> list[Ciphertext]:
    points = [group.checked(point) for point in group.apart(content, len(content) // 32)]
    return list(map(Ciphertext, points[::2], points[1::2]))


def winner_of(keys: dict[str, int], **options: Any) -> str:
    at = wires(*keys)
    found = together(at, lambda wire: comparison.highest(wire, keys[wire.me], **options))
    (winner,) = set(found.values())
    return winner


# Who wins


@pytest.mark.parametrize("bits", [1, 3, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("coin", [1, -1])
def test_every_pair_of_short_keys(bits: int, coin: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "choice", lambda sides: coin)
    pairs = [(held, challenging) for held in range(2**bits) for challenging in range(2**bits)]

    def play(wire: MemoryWire) -> list[str]:
        mine = wire.owners.index(wire.me)
        return [comparison.highest(wire, pair[mine], bits=bits) for pair in pairs]

    wanted = ["first" if held >= challenging else "second" for held, challenging in pairs]
    assert together(wires("first", "second"), play) == {"first": wanted, "second": wanted}


@settings(max_examples=12)
@given(KEYS, KEYS)
def test_long_keys(held: int, challenging: int) -> None:
    wanted = "first" if held >= challenging else "second"
    assert winner_of({"first": held, "second": challenging}) == wanted


@settings(max_examples=8)
@given(KEYS, st.sampled_from([-1, 0, 1]), st.integers(0, 39))
def test_long_keys_that_are_close(key: int, more: int, place: int) -> None:
    other = min(max(key + more * 2**place, 0), 2**40 - 1)
    wanted = "first" if key >= other else "second"
    assert winner_of({"first": key, "second": other}) == wanted


@settings(max_examples=25)
@given(st.lists(st.integers(0, 7), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_tournament_is_won_by_the_first_of_the_highest(
    keys: list[int], shuffle: random.Random
) -> None:
    names = [f"owner {place}" for place in range(len(keys))]
    shuffle.shuffle(names)  # the order of owners counts, not that of their names
    by_name = dict(zip(names, keys, strict=True))
    assert winner_of(by_name, bits=3) == max(names, key=by_name.__getitem__)


@pytest.mark.parametrize("key", [-1, 2**40, 2**41 + 12345])
def test_a_key_out_of_range_is_our_mistake(key: int) -> None:
    with pytest.raises(ValueError, match="40 bits") as caught:
        comparison.highest(wires("first", "second")["first"], key)
    assert str(key) not in str(caught.value)


# What each role can read


def test_what_the_challenger_gets_decrypts_to_the_bits_of_the_doubled_key() -> None:
    own, key = ComparisonKey.fresh(), 0b1011_0010
    at = wires("first", "second")
    mine = {"first": own, "second": ComparisonKey.fresh()}
    together(at, lambda wire: comparison.highest(wire, key, mine[wire.me]))
    kinds = [type(message) for _, message in at["second"].received]
    assert kinds == [EncryptedBits, ZeroAmongThem]
    (sent,) = received(at["second"], EncryptedBits)
    assert sent.public == own.public
    plain = [decrypted(own, ciphertext) for ciphertext in ciphertexts(sent.ciphertexts)]
    assert plain == [multiple(bit) for bit in bits_of(2 * key + 1, 41)]


def test_no_ciphertext_comes_twice() -> None:
    own = ComparisonKey.fresh()
    found = [one for _ in range(4) for one in comparison.encrypt_bits(own, [0, 1] * 20)]
    assert len({point for ciphertext in found for point in ciphertext}) == 2 * len(found)


@pytest.mark.parametrize("coin", [1, -1])
def test_differences_are_what_the_formula_says(coin: int) -> None:
    own = ComparisonKey.fresh()
    rng = random.Random(coin)
    for _ in range(6):
        x, y = (bits_of(rng.randrange(2**7), 7) for _ in range(2))
        wanted = [
            coin + x[i] - y[i] + 3 * sum(a ^ b for a, b in zip(x[:i], y[:i], strict=True))
            for i in range(7)
        ]
        found = comparison.differences(x, comparison.encrypt_bits(own, y), coin)
        assert [decrypted(own, c) for c in found] == [multiple(number) for number in wanted]


def read_by_holder(held: int, challenging: int, bits: int, runs: int) -> list[list[GroupPoint]]:
    """What the holder decrypts, run by run."""
    own, at = ComparisonKey.fresh(), wires("first", "second")
    keys = {"first": held, "second": challenging}

    def play(wire: MemoryWire) -> None:
        for _ in range(runs):
            comparison.highest(wire, keys[wire.me], own, bits=bits)

    together(at, play)
    kinds = [type(message) for _, message in at["first"].received]
    assert kinds == [HiddenDifferences, PairOutcome] * runs
    sent = received(at["first"], HiddenDifferences)
    return [[decrypted(own, c) for c in ciphertexts(one.ciphertexts)] for one in sent]


@pytest.mark.parametrize(("held", "challenging"), [(9, 9), (9, 0), (9, 15), (0, 1), (8, 7)])
def test_what_the_holder_decrypts_tells_nothing_of_the_key(held: int, challenging: int) -> None:
    """At most one 0, at an even place, in half of all runs; all else is spread evenly.

    120 runs of 5 numbers. Bounds are five standard deviations: a right program fails once in a
    million runs or so.
    """
    runs, count = 120, 5
    plain = read_by_holder(held, challenging, 4, runs)
    small = {multiple(number) for number in range(-60, 61) if number}
    zeros = [place for one in plain for place, p in enumerate(one) if p == group.NEUTRAL]
    assert max(one.count(group.NEUTRAL) for one in plain) == 1
    assert abs(len(zeros) - runs / 2) < 5 * (runs / 4) ** 0.5  # the coin
    even, spread = len(zeros) / count, (len(zeros) / count * (1 - 1 / count)) ** 0.5
    assert all(abs(Counter(zeros)[place] - even) < 5 * spread for place in range(count))
    rest = [p for one in plain for p in one if p != group.NEUTRAL]
    assert not small.intersection(rest)
    assert len(set(rest)) == len(rest)
    for bit in range(8):
        ones = sum(p[3] >> bit & 1 for p in rest)
        assert abs(ones - len(rest) / 2) < 5 * (len(rest) / 4) ** 0.5


def test_hiding_breaks_the_tie_between_the_two_halves() -> None:
    """Times a scalar alone, m·(first half) would be r·(what is decrypted), for the r it knows."""
    own, number = ComparisonKey.fresh(), 5
    randomness = group.random_scalar()
    body = group.base_times(group.product_plus(randomness, own.secret, number))
    ciphertext = Ciphertext(group.base_times(randomness), body)
    assert decrypted(own, ciphertext) == multiple(number)
    hidden = comparison.hide(own.public, ciphertext)
    left = group.times(group.scalar(number), hidden.mask)
    assert left != group.times(randomness, decrypted(own, hidden))


def test_hiding_keeps_a_zero_alone() -> None:
    own = ComparisonKey.fresh()
    encrypted = comparison.encrypt_bits(own, [0, 1])
    assert [comparison.is_zero(own, c) for c in encrypted] == [True, False]
    hidden = [comparison.hide(own.public, c) for c in encrypted]
    assert [comparison.is_zero(own, c) for c in hidden] == [True, False]
    assert not {*hidden[0], *hidden[1]} & {*encrypted[0], *encrypted[1]}


def test_whoever_was_not_in_a_pair_hears_its_winner_alone() -> None:
    keys = {"a": 3, "b": 7, "c": 5, "d": 6}
    at = wires(*keys)
    together(at, lambda wire: comparison.highest(wire, keys[wire.me], bits=3))
    heard = {name: [m.winner for m in received(at[name], PairWinner)] for name in keys}
    assert heard == {"a": ["b"] * 4, "b": [], "c": ["b"] * 4, "d": ["b"] * 4}
    ours = {EncryptedBits, HiddenDifferences, ZeroAmongThem, PairOutcome, PairWinner}
    assert {type(m) for wire in at.values() for _, m in wire.received} == ours


def test_a_key_pair_does_not_show_its_secret() -> None:
    own = ComparisonKey.fresh()
    assert repr(own.secret) not in repr(own)
    assert own.secret.hex() not in repr(own)


# What ends a run


def replaced(message: Message, name: str, value: object) -> Message:
    return msgspec.structs.replace(message, **{name: value})


def with_point(content: bytes, point: bytes, at: int = 3) -> bytes:
    return content[: 32 * at] + point + content[32 * (at + 1) :]


def fault(kind: type[Message], name: str, change: Callable[[Any], object]) -> Any:
    def tamper(sender: str, to: str, message: Message) -> Message:
        if type(message) is not kind or sender == "c":
            return message
        return replaced(message, name, change(getattr(message, name)))

    return tamper


BITS_OR_DIFFERENCES = [(EncryptedBits, "first"), (HiddenDifferences, "second")]


def refused(tamper: Any, by: str, *names: str) -> str:
    names = names or ("first", "second")
    keys = dict(zip(names, (123_456_789_012, 987_654_321_098, 5), strict=False))
    with pytest.raises(PartyError, match=f"owner {by}") as caught:
        together(wires(*names, tamper=tamper), lambda wire: comparison.highest(wire, keys[wire.me]))
    assert not [key for key in keys.values() if str(key) in str(caught.value) and key > 5]
    return str(caught.value)


@pytest.mark.parametrize(("kind", "by"), BITS_OR_DIFFERENCES)
@pytest.mark.parametrize("why", NO_POINTS)
def test_a_point_that_is_none(kind: type[Message], by: str, why: str) -> None:
    change = fault(kind, "ciphertexts", lambda content: with_point(content, NO_POINTS[why]))
    assert "no point" in refused(change, by)


@pytest.mark.parametrize("point", [NO_POINTS["order 8"], b"", b"\1" * 31])
def test_a_public_point_that_is_none(point: bytes) -> None:
    assert "no point" in refused(fault(EncryptedBits, "public", lambda public: point), "first")


@pytest.mark.parametrize(("kind", "by"), BITS_OR_DIFFERENCES)
@pytest.mark.parametrize("less", [1, 32, 64, 41 * 64, -64])
def test_too_few_or_too_many(kind: type[Message], by: str, less: int) -> None:
    change = fault(
        kind, "ciphertexts", lambda content: content[less:] if less > 0 else content + content[:64]
    )
    assert "41 ciphertexts" in refused(change, by)


def test_ciphertexts_that_cancel() -> None:
    """The challenger's highest bit is 1, so that it takes three times the first from the second."""

    def forged(content: bytes) -> bytes:
        first, _, *rest = ciphertexts(content)
        turned = Ciphertext(group.NEUTRAL, group.NEUTRAL).subtract(first.add(first).add(first))
        return group.joined(point for c in (first, turned, *rest) for point in c)

    assert "cancel" in refused(fault(EncryptedBits, "ciphertexts", forged), "first")


def test_more_than_one_zero() -> None:
    own = ComparisonKey.fresh()
    zero = group.joined(comparison.encrypt_bits(own, [0])[0])
    change = fault(HiddenDifferences, "ciphertexts", lambda content: content[:-128] + zero + zero)
    with pytest.raises(PartyError, match=r"owner second.*more than one"):
        together(
            wires("first", "second", tamper=change),
            lambda wire: comparison.highest(wire, 5, own),
        )


def test_statements_that_differ() -> None:
    def lie(sender: str, to: str, message: Message) -> Message:
        if sender == "second" and isinstance(message, PairWinner):
            return PairWinner("first")
        return message

    assert "different winners" in refused(lie, "second", "first", "second", "third")


def test_a_winner_that_did_not_play() -> None:
    change = fault(PairWinner, "winner", lambda winner: "third")
    assert "did not play" in refused(change, "first", "first", "second", "third")


def with_unknown_field(message: Message) -> bytes:
    return msgspec.msgpack.encode(msgspec.to_builtins(message, builtin_types=[bytes]) | {"x": 1})


def garbage(message: Message) -> bytes:
    return b"\x00garbage"


def another_kind(message: Message) -> Message:
    return ZeroAmongThem(True) if isinstance(message, PairWinner) else PairWinner("first")


@pytest.mark.parametrize(
    ("kind", "by"),
    [
        *BITS_OR_DIFFERENCES,
        (ZeroAmongThem, "first"),
        (PairOutcome, "second"),
        (PairWinner, "first"),
    ],
)
@pytest.mark.parametrize("spoil", [with_unknown_field, garbage, another_kind])
def test_garbage_unknown_fields_and_other_messages(
    kind: type[Message], by: str, spoil: Callable[[Message], Message | bytes]
) -> None:
    def tamper(sender: str, to: str, message: Message) -> Message | bytes:
        return spoil(message) if type(message) is kind else message

    assert kind.__name__ in refused(tamper, by, "first", "second", "third")
