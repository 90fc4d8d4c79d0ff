"""Common ids: the same as of plain sets, in one order, and what each owner gets to see."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.memory_wire import MemoryWire, honest, received, together, wires
from parties.points_at_hand import NO_POINTS
from reticent.errors import InputError, PartyError
from reticent.parties import group
from reticent.parties.group import Scalar
from reticent.parties.intersection import (
    AllIdsDigest,
    BlindedBack,
    BlindedIds,
    CommonCount,
    CommonDigest,
    CommonIds,
    FullyBlinded,
    IdCount,
    Nonce,
    Unblinding,
    align,
    intersect,
)
from reticent.parties.wire import Message

NAMES = ("bank", "card", "clinic", "district", "employer")
Lists = Mapping[str, Sequence[str]]


def common(ids: Lists, *, tamper: Any = honest, **options: Any) -> dict[str, CommonIds]:
    at = wires(*ids, tamper=tamper)
    return together(at, lambda wire: intersect(wire, ids[wire.me], **options))


def shown(ids: Lists, found: Mapping[str, CommonIds]) -> list[str]:
    """The common ids in the agreed order, which all owners must share."""
    (order,) = {tuple(ids[name][row] for row in one.order) for name, one in found.items()}
    return list(order)


def numbered(*ranges: range) -> dict[str, list[str]]:
    names = NAMES[: len(ranges)]
    return {name: [f"id {i}" for i in r] for name, r in zip(names, ranges, strict=True)}


# What is common


ids_of_one = st.lists(st.sampled_from([*"abcdefghij", "", "é", "00123", "123"]), unique=True)


@settings(max_examples=12)
@pytest.mark.parametrize("owners", [2, 3, 5])
@given(st.data())
def test_as_plain_sets_have_it(owners: int, data: st.DataObject) -> None:
    drawn = data.draw(st.lists(ids_of_one, min_size=owners, max_size=owners))
    ids = dict(zip(NAMES, drawn, strict=False))
    found = common(ids, chunk=data.draw(st.sampled_from([1, 3, 100])))
    order = shown(ids, found)
    assert sorted(order) == sorted(set.intersection(*map(set, drawn)))
    sizes = {name: len(mine) for name, mine in ids.items()}
    assert all(one.sizes == sizes for one in found.values())
    assert all(list(one.sizes) == list(ids) for one in found.values())
    everything = set().union(*map(set, drawn))
    held = Counter(tuple(n for n in ids if text in ids[n]) for text in everything)
    assert found["bank"].held_by == (held if owners > 2 else {})
    assert not any(one.held_by for name, one in found.items() if name != "bank")


@pytest.mark.parametrize("chunk", [64, 1000])
@pytest.mark.parametrize("owners", [2, 3])
def test_lists_of_several_chunks_on_all_cores(owners: int, chunk: int) -> None:
    ids = numbered(*[range(40 * place, 240 + 20 * place) for place in range(owners)])
    found = common(ids, chunk=chunk)
    assert set(shown(ids, found)) == set.intersection(*map(set, ids.values()))


@pytest.mark.slow
@pytest.mark.parametrize(("owners", "count"), [(2, 20_000), (4, 3_000)])
def test_long_lists(owners: int, count: int) -> None:
    ids = numbered(*[range(500 * place, count) for place in range(owners)])
    found = common(ids)
    assert set(shown(ids, found)) == set.intersection(*map(set, ids.values()))


@pytest.mark.parametrize("owners", [2, 3])
def test_nothing_in_common_and_nothing_at_all(owners: int) -> None:
    apart = numbered(*[range(9 * place, 9 * place + 5) for place in range(owners)])
    assert shown(apart, common(apart, chunk=2)) == []
    empty = apart | {"card": []}
    assert shown(empty, common(empty, chunk=2)) == []
    without = numbered(*[range(0)] * owners)
    assert shown(without, common(without)) == []


def test_one_owner_alone_is_our_mistake() -> None:
    with pytest.raises(ValueError, match="alone"):
        common(numbered(range(3)))


def test_ids_are_compared_as_text() -> None:
    ids = {"bank": ["123", "e\u0301", "\ud800", "x "], "card": ["00123", "é", "\ud800", "x"]}
    assert shown(ids, common(ids)) == ["\ud800"]


@pytest.mark.parametrize("owners", [2, 3])
def test_another_run_has_another_order(owners: int) -> None:
    ids = numbered(*[range(12)] * owners)
    assert len({tuple(shown(ids, common(ids))) for _ in range(4)}) == 4


@pytest.mark.parametrize("owners", [2, 3])
def test_how_far_it_is_is_told(owners: int) -> None:
    ids = numbered(*[range(10 + place) for place in range(owners)])
    heard: list[tuple[int, int]] = []
    at = wires(*ids)

    def listen(done: int, of: int) -> None:
        heard.append((done, of))

    def act(wire: MemoryWire) -> CommonIds:
        if wire.me == "card":
            return intersect(wire, ids[wire.me], chunk=4, told=listen)
        return intersect(wire, ids[wire.me], chunk=4)

    together(at, act)
    every = sum(map(len, ids.values()))
    assert heard == sorted(heard)
    assert heard[-1] == (every, every)
    assert {of for _, of in heard} == {every}


# What is seen


@pytest.fixture
def secret_of(monkeypatch: pytest.MonkeyPatch) -> dict[str, Scalar]:
    """The secrets that owners draw, known to the test; an owner is a thread of its name."""
    known = {name: group.random_scalar() for name in NAMES}
    monkeypatch.setattr(group, "random_scalar", lambda: known[threading.current_thread().name])
    return known


def run(ids: Lists, chunk: int = 1000) -> dict[str, MemoryWire]:
    at = wires(*ids)
    together(at, lambda wire: intersect(wire, ids[wire.me], chunk=chunk))
    return at


def points(wire: MemoryWire, *kinds: type[Message]) -> list[list[bytes]]:
    """The lists of points that an owner received, message by message."""
    found = [message for kind in kinds for message in received(wire, kind)]
    return [group.apart(one.points, len(one.points) // 32) for one in found]


def blinded(ids: Sequence[str], *secrets: Scalar) -> list[bytes]:
    found: list[bytes] = [group.hashed(text.encode()) for text in ids]
    for secret in secrets:
        found = list(group.times_all(secret, found))
    return found


LISTS = (BlindedIds, BlindedBack, FullyBlinded, Unblinding)


@pytest.mark.parametrize("owners", [2, 3, 5])
def test_nobody_gets_a_point_without_a_secret_on_it(owners: int) -> None:
    ids = numbered(*[range(place, 12 + place) for place in range(owners)])
    plain = {point for mine in ids.values() for point in blinded(mine)}
    for wire in run(ids, chunk=5).values():
        got = {point for few in points(wire, *LISTS) for point in few}
        assert got
        assert not got & plain


def test_two_owners_get_each_other_s_points_blinded_and_their_own_twice(
    secret_of: dict[str, Scalar],
) -> None:
    ids = numbered(range(20), range(5, 30))
    at, (a, b) = run(ids), (secret_of["bank"], secret_of["card"])
    (theirs,), (back,) = points(at["bank"], BlindedIds), points(at["bank"], BlindedBack)
    assert set(theirs) == set(blinded(ids["card"], b))
    assert set(back) == set(blinded(ids["bank"], a, b))
    assert [type(m) for _, m in at["bank"].received] == [
        IdCount, BlindedIds, BlindedBack, CommonDigest,
    ]  # fmt: skip
    # A list comes in no order of its owner's file, and goes back in the order that it came in.
    assert theirs != blinded(ids["card"], b)
    (sent,) = points(at["card"], BlindedIds)
    assert back == group.times_all(b, sent)


def test_three_owners_see_what_is_said_of_them(secret_of: dict[str, Scalar]) -> None:
    ids = numbered(range(20), range(5, 30), range(10, 40))
    both = ids["clinic"][:10]  # 10 … 19 are common
    at = run(ids)
    a, b, c = (secret_of[name] for name in ids)
    wanted = {
        "bank": [
            *(blinded(ids["clinic"], c), blinded(ids["card"], b, c)),  # to blind
            *(blinded(ids["clinic"], a, b, c), blinded(ids["bank"], a, b, c)),  # met at the first
            blinded(both, a),
        ],
        "card": [
            *(blinded(ids["bank"], a), blinded(ids["clinic"], a, c)),
            *(blinded(both, a, b, c), blinded(both, b, c), blinded(both, b)),
        ],
        "clinic": [
            *(blinded(ids["card"], b), blinded(ids["bank"], a, b)),
            *(blinded(both, a, c), blinded(both, b, c), blinded(both, c)),
        ],
    }
    for name, lists in wanted.items():
        got = sorted(map(sorted, points(at[name], *LISTS)))
        assert got == sorted(map(sorted, lists)), name


def test_nobody_can_follow_its_own_points(secret_of: dict[str, Scalar]) -> None:
    """What comes back to the first owner is in another order than it sent."""
    ids = numbered(range(20), range(20), range(20))
    at = run(ids)
    sent = points(at["card"], BlindedIds)[0]
    whole = group.times_all(secret_of["clinic"], group.times_all(secret_of["card"], sent))
    came = points(at["bank"], FullyBlinded)
    assert set(whole) in [set(few) for few in came]
    assert list(whole) not in came


def test_secrets_are_fresh_in_every_run() -> None:
    ids = numbered(range(5), range(5))
    seen = [point for _ in range(3) for few in points(run(ids)["bank"], *LISTS) for point in few]
    assert len(set(seen)) == len(seen)


# What ends a run


def at_first(kind: type[Message], by: str, change: Callable[[Any], Any]) -> Any:
    """Change the first message of a kind that an owner sends."""
    left = [None]

    def tamper(sender: str, to: str, message: Message) -> Any:
        if type(message) is kind and sender == by and left:
            left.pop()
            return change(message)
        return message

    return tamper


def refused(owners: int, tamper: Any, by: str, **options: Any) -> str:
    ids = numbered(*[range(70_000 + place, 70_010 + place) for place in range(owners)])
    with pytest.raises(PartyError, match=f"owner {by}") as caught:
        common(ids, tamper=tamper, chunk=4, **options)
    assert "70" not in str(caught.value)
    return str(caught.value)


PLACES = [  # how many owners, a kind of list, who sends it
    (2, BlindedIds, "bank"), (2, BlindedBack, "card"), (3, BlindedIds, "bank"),
    (3, BlindedIds, "clinic"), (3, FullyBlinded, "card"), (3, Unblinding, "bank"),
    (3, Unblinding, "card"), (3, Unblinding, "clinic"),
]  # fmt: skip


@pytest.mark.parametrize(("owners", "kind", "by"), PLACES)
@pytest.mark.parametrize("why", NO_POINTS)
def test_a_point_that_is_none(owners: int, kind: Any, by: str, why: str) -> None:
    change = at_first(kind, by, lambda m: kind(m.points[:64] + NO_POINTS[why] + m.points[96:]))
    words = refused(owners, change, by)
    assert "no point" in words or "not ours" in words


@pytest.mark.parametrize(("owners", "kind", "by"), PLACES)
@pytest.mark.parametrize(
    "wrong", [lambda p: p[32:], lambda p: p + p[:32], lambda p: b"", lambda p: p[1:]]
)
def test_a_chunk_of_another_length(owners: int, kind: Any, by: str, wrong: Any) -> None:
    change = at_first(kind, by, lambda m: kind(wrong(m.points)))
    assert "did not send 4 points" in refused(owners, change, by)


@pytest.mark.parametrize(("owners", "kind", "by"), PLACES)
def test_a_point_that_comes_twice(owners: int, kind: Any, by: str) -> None:
    change = at_first(kind, by, lambda m: kind(m.points[:64] + m.points[:64]))
    at = wires(*NAMES[:owners], tamper=change)
    ids = numbered(*[range(10)] * owners)
    with pytest.raises(PartyError, match=f"owner {by}.*twice"):
        together(at, lambda wire: intersect(wire, ids[wire.me], chunk=4))


@pytest.mark.parametrize(("owners", "kind", "by"), PLACES)
@pytest.mark.parametrize("spoil", ["unknown field", "garbage", "another kind"])
def test_garbage_unknown_fields_and_other_messages(
    owners: int, kind: Any, by: str, spoil: str
) -> None:
    def change(message: Message) -> Message | bytes:
        if spoil == "unknown field":
            fields = msgspec.to_builtins(message, builtin_types=[bytes])
            return msgspec.msgpack.encode(fields | {"x": 1})
        return b"\x00garbage" if spoil == "garbage" else IdCount(3)

    assert kind.__name__ in refused(owners, at_first(kind, by, change), by)


@pytest.mark.parametrize("owners", [2, 3])
@pytest.mark.parametrize("count", [11, 10**12])
def test_more_ids_than_allowed(owners: int, count: int) -> None:
    change = at_first(IdCount, "card", lambda m: IdCount(count))
    assert "more ids than the 10" in refused(owners, change, "card", most=10)


@pytest.mark.parametrize("owners", [2, 3])
@pytest.mark.parametrize("count", [-1, 2.5, "3", None])
def test_a_size_that_is_none(owners: int, count: Any) -> None:
    change = at_first(IdCount, "card", lambda m: IdCount(count))
    assert "IdCount" in refused(owners, change, "card")


@pytest.mark.parametrize("count", [11, -1])
def test_more_in_common_than_there_is(count: int) -> None:
    refused(3, at_first(CommonCount, "bank", lambda m: CommonCount(count)), "bank")


def test_two_that_find_different_ids() -> None:
    change = at_first(CommonDigest, "card", lambda m: CommonDigest(bytes(32)))
    assert "other common ids" in refused(2, change, "card")


@pytest.mark.parametrize("owners", [2, 3])
def test_ids_that_repeat_are_counted_not_told(owners: int) -> None:
    ids = numbered(*[range(4)] * owners) | {"card": ["marked", "x", "marked", "marked"]}
    with pytest.raises(InputError, match="2 ids of 4") as caught:
        common(ids)
    assert "marked" not in str(caught.value)


# The same ids everywhere


def aligned(ids: Lists, tamper: Any = honest) -> dict[str, CommonIds]:
    return together(wires(*ids, tamper=tamper), lambda wire: align(wire, ids[wire.me]))


@given(ids_of_one, st.integers(2, 4), st.randoms(use_true_random=False))
def test_aligned_ids_get_one_order(mine: list[str], owners: int, shuffle: Any) -> None:
    ids = {name: shuffle.sample(mine, len(mine)) for name in NAMES[:owners]}
    found = aligned(ids)
    assert sorted(shown(ids, found)) == sorted(mine)
    assert all(one.sizes == dict.fromkeys(ids, len(mine)) for one in found.values())


def test_aligned_ids_have_another_order_in_another_run() -> None:
    ids = numbered(range(12), range(12))
    assert len({tuple(shown(ids, aligned(ids))) for _ in range(4)}) == 4


@pytest.mark.parametrize(
    "theirs", [[], ["1", "2"], ["1", "2", "4"], ["1", "2", "3", "4"], ["12", "3"]]
)
@pytest.mark.parametrize("owners", [2, 3])
def test_ids_that_are_not_aligned(theirs: list[str], owners: int) -> None:
    ids = {name: ["1", "2", "3"] for name in NAMES[:owners]} | {"card": theirs}
    at = wires(*ids)
    errors: dict[str, str] = {}

    def act(wire: MemoryWire) -> None:
        try:
            align(wire, ids[wire.me])
        except InputError as error:
            errors[wire.me] = str(error)

    together(at, act)
    assert set(errors) == set(ids)  # all of them, and all alike
    assert len(set(errors.values())) == 1
    assert "do not hold the same ids" in errors["bank"]


@pytest.mark.parametrize("change", [lambda m: Nonce(b"short"), lambda m: AllIdsDigest(bytes(32))])
def test_a_part_of_the_key_that_is_none(change: Any) -> None:
    with pytest.raises(PartyError, match="owner card"):
        aligned(numbered(range(3), range(3)), at_first(Nonce, "card", change))
