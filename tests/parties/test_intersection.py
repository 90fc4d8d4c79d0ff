"""Common ids: the same as of plain sets, in one order, and what each owner gets to see."""

from __future__ import annotations

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
@pytest.mark.parametrize("owners", [2, 4])
def test_long_lists(owners: int) -> None:
    ids = numbered(*[range(500 * place, 20_000) for place in range(owners)])
    found = common(ids)
    assert set(shown(ids, found)) == set.intersection(*map(set, ids.values()))


@pytest.mark.parametrize("owners", [2, 3])
def test_nothing_in_common_and_nothing_at_all(owners: int) -> None:
    apart = numbered(*[range(9 * place, 9 * place + 5) for place in range(owners)])
    assert shown(apart, common(apart, chunk=2)) == []
    empty = apart | {"card": []}
    assert shown(empty, common(empty, chunk=2)) == []
    assert shown(dict.fromkeys(empty, []), common(dict.fromkeys(empty, []))) == []


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


def recorded(ids: Lists, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, dict[str, Scalar]]:
    """The wires after a run, with the secrets of all owners."""
    secrets_of: dict[str, Scalar] = {}
    at = wires(*ids)

    def act(wire: MemoryWire) -> CommonIds:
        secrets_of[wire.me] = group.random_scalar()
        return intersect(wire, ids[wire.me], chunk=1000)

    import threading

    by_thread: dict[int, str] = {}

    def drawn() -> Scalar:
        name = by_thread[threading.get_ident()]
        return secrets_of[name]

    draw = group.random_scalar
    secrets_of.update({name: draw() for name in ids})

    def act_known(wire: MemoryWire) -> CommonIds:
        by_thread[threading.get_ident()] = wire.me
        return intersect(wire, ids[wire.me], chunk=1000)

    monkeypatch.setattr(group, "random_scalar", drawn)
    together(at, act_known)
    return at, secrets_of
