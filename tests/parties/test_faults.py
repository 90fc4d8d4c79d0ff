"""A peer that dies, falls silent or breaks the protocol, at every frame of a small conversation.

Every owner ends by its deadline, with one error of exit code 4 that names the peer and the step.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from at_hand import some_or_many
from parties_at_hand import CALM, LOST, Bend, Scene, Told, sums
from reticent.errors import PartyError
from reticent.parties.messages import Acknowledgement, Farewell, Hello, decode, encode
from reticent.parties.session import Deadlines, Session

MESSAGES = range(2)  # that card sends to bank
FRAMES = range(8)  # that either sends to the other, at most: hello, messages, acknowledgements


@pytest.mark.parametrize("position", [0, *some_or_many(3, *sorted({*FRAMES} - {0, 3}))])
@pytest.mark.parametrize(("dead", "alive"), [("card", "bank"), ("bank", "card")])
def test_a_peer_that_dies(tmp_path: Path, dead: str, alive: str, position: int) -> None:
    scene = Scene(tmp_path, deadlines=CALM)

    def play_and_die() -> None:
        scene.play(dead, die_before=position)
        # Where it had nothing more to say it did not die, and the other needs it no more.
        while alive not in scene.sessions:
            time.sleep(0.01)
        scene.lose_patience(alive)

    error = beside(play_and_die, lambda: scene.play(alive))
    if isinstance(error, list):  # it had all it needed
        assert error == sums("bank", "card")
        return
    assert error.exit_code == 4
    assert str(error).startswith((f"{dead}, round", f"{dead}, meeting"))
    assert "it cannot be reached: it is not there" in str(error)


def test_a_peer_that_never_comes(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    error = scene.play("bank")
    assert error.exit_code == 4
    assert str(error).startswith("card, meeting: it cannot be reached: it is not there")


def test_all_peers_that_never_come_are_named(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ("bank", "card", "shop"))
    error = scene.play("bank")
    assert [problem.where for problem in error.problems] == ["card, meeting", "shop, meeting"]


@pytest.mark.slow
@pytest.mark.parametrize("position", MESSAGES)
def test_a_peer_that_falls_silent(tmp_path: Path, position: int) -> None:
    """It is connected, but gives neither its message nor a sign of life."""
    mute: list[bool] = []
    scene = Scene(tmp_path, deadlines=CALM)

    def bend(to: str, frame: bytes, kind: str, before: int) -> list[bytes]:
        if (kind, before) == ("message", position):
            mute.append(True)
            scene.lose_patience("bank")
        return [] if mute else [frame]

    found = scene.all_play(card={"bend": bend})
    assert str(found["bank"]).startswith(
        f"card, round {position + 1}: sum: no message and no sign of life came for {LOST} seconds"
    )
    assert found["card"].exit_code == 4


def test_a_link_that_is_cut_for_good(tmp_path: Path) -> None:
    scene = Scene(tmp_path, deadlines=CALM)

    def bend(to: str, frame: bytes, kind: str, before: int) -> list[bytes]:
        if (kind, before) == ("message", 1):
            scene.hub.cut("bank", "card")
            for name in scene.owners:
                scene.lose_patience(name)
        return [frame]

    found = scene.all_play(card={"bend": bend})
    for name, other in (("bank", "card"), ("card", "bank")):
        assert found[name].exit_code == 4
        words = f"{other}, round 2: sum: it cannot be reached: the connection was lost"
        assert str(found[name]).startswith(words)


def bent(change: Callable[[Any, bytes], list[bytes]], kind: str = "message", at: int = 1) -> Bend:
    """Change one frame of a kind on its way, or all of them (-1)."""

    def bend(to: str, frame: bytes, of: str, before: int) -> list[bytes]:
        return change(decode(frame), frame) if (of, at) in ((kind, before), (kind, -1)) else [frame]

    return bend


def field(**changes: object) -> Callable[[Any, bytes], list[bytes]]:
    return lambda word, frame: [encode(msgspec.structs.replace(word, **changes))]


def more(**fields: object) -> Callable[[Any, bytes], list[bytes]]:
    return lambda word, frame: [encode(msgspec.msgpack.decode(frame) | fields)]


BROKEN: dict[str, tuple[Callable[[Any, bytes], list[bytes]], str]] = {
    "garbage": (lambda word, frame: [b"\xc1 garbage"], "no message of the protocol"),
    "empty map": (lambda word, frame: [encode({})], "no message of the protocol"),
    "truncated": (lambda word, frame: [frame[:-3]], "no message of the protocol"),
    "too long": (lambda word, frame: [frame + b"\0"], "no message of the protocol"),
    "deep": (lambda word, frame: [b"\x91" * 100_000], "no message of the protocol"),
    "unknown field": (more(row=3), "no message of the protocol"),
    "unknown frame": (more(frame="bribe"), "no message of the protocol"),
    "wrong type": (more(number="two"), "no message of the protocol"),
    "negative": (more(number=-1), "no message of the protocol"),
    "huge number": (more(number=2**60), "no message of the protocol"),
    "other version": (more(protocol=2, spice=1), "it speaks version 2 of the protocol"),
    "other version, same shape": (field(protocol=9), "it speaks version 9 of the protocol"),
    "other run": (field(run=bytes(32)), "it is in another run"),
    "later epoch": (field(epoch=4), "before it had introduced itself"),
    "other sender": (field(sender="shop"), "in another owner's name"),
    "other receiver": (field(receiver="shop"), "in another owner's name or for another"),
    "gap": (field(number=3), "out of order: number 3 came when 2 was due"),
    "number again, other content": (field(number=1), "it sent message 1 twice, with other content"),
    "other history": (field(previous=bytes(32)), "does not follow from the one it sent before"),
    "part of nothing": (field(part=2, parts=3), "parts of its message do not fit together"),
    "part beyond": (field(part=1, parts=10**6), "parts of its message do not fit together"),
    "reordered": (
        lambda word, frame: [
            encode(msgspec.structs.replace(word, number=word.number + 1)), frame,
        ],
        "out of order",
    ),
    "false acknowledgement": (
        lambda word, frame: [encode(Acknowledgement(0, 40, bytes(32))), frame],
        "it acknowledged a message that was never sent",
    ),
    "false digest": (
        lambda word, frame: [encode(Acknowledgement(0, 1, bytes(32))), frame],
        "it acknowledged a message that was never sent",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", BROKEN)
@pytest.mark.parametrize("owners", [("bank", "card"), ("bank", "card", "shop")])
def test_a_peer_that_breaks_the_protocol(
    tmp_path: Path, fault: str, owners: tuple[str, ...]
) -> None:
    change, words = BROKEN[fault]
    scene = Scene(tmp_path, owners, CALM)
    start = time.monotonic()
    found = scene.all_play(card={"bend": bent(change)})
    assert time.monotonic() - start < CALM.step  # nobody waits for a deadline
    assert {error.exit_code for error in found.values()} == {4}
    assert str(found["bank"]).startswith("card, round 2: sum: ")
    assert words in str(found["bank"])
    assert "because of this owner" in str(found["card"])
    if len(owners) > 2:
        assert str(found["shop"]).startswith("card, round 2: sum: ")


@pytest.mark.slow
@pytest.mark.parametrize("position", MESSAGES)
@pytest.mark.parametrize("kind", ["message", "hello", "acknowledgement"])
def test_the_same_again_has_no_effect(tmp_path: Path, kind: str, position: int) -> None:
    change = bent(lambda word, frame: [frame, frame, frame], kind, position)
    found = Scene(tmp_path, deadlines=CALM).all_play(card={"bend": change})
    assert found == {"bank": sums("bank", "card"), "card": sums("bank", "card")}


def test_an_old_message_again_has_no_effect(tmp_path: Path) -> None:
    kept: list[bytes] = []

    def bend(to: str, frame: bytes, kind: str, before: int) -> list[bytes]:
        if kind == "message":
            kept.append(frame)
        return [frame, *kept] if kind == "message" else [frame]

    found = Scene(tmp_path, deadlines=CALM).all_play(card={"bend": bend})
    assert found == {"bank": sums("bank", "card"), "card": sums("bank", "card")}


@pytest.mark.parametrize(
    ("special", "words"),
    [
        ({"product": "9.9"}, "it runs version 9.9 (protocol 1), this owner 0.1.0 (protocol 1)"),
        ({"run_name": "2027"}, 'it came for the run "2027", this owner for "2026-11"'),
        ({"policy": bytes(32)}, "its policy is another one (digest 0000 0000 …, here 0001 0203 …)"),
        ({"bend": bent(field(protocol=8), "hello", -1)}, "(protocol 8)"),
        ({"bend": bent(more(protocol=8, mood="good"), "hello", -1)}, "it speaks version 8"),
        ({"bend": bent(field(sender="shop"), "hello", -1)}, 'it calls itself "shop"'),
        ({"bend": bent(more(mood="good"), "hello", -1)}, "no message of the protocol"),
    ],
)
def test_a_peer_that_came_for_something_else(
    tmp_path: Path, special: dict[str, Any], words: str
) -> None:
    found = Scene(tmp_path, deadlines=CALM).all_play(card=special)
    assert {error.exit_code for error in found.values()} == {4}
    assert str(found["bank"]).startswith("card, meeting: ")
    assert words in str(found["bank"])
    assert str(found["card"]).startswith("bank, meeting: ")


@pytest.mark.parametrize("position", some_or_many(4, 3, 5, 6))
def test_a_peer_restarted_without_resuming(tmp_path: Path, position: int) -> None:
    scene = Scene(tmp_path, deadlines=CALM)
    found: list[Any] = []

    def card() -> Any:
        scene.play("card", die_before=position)
        found.append(scene.play("card", lives=2))

    error = beside(card, lambda: scene.play("bank"))
    assert error.exit_code == 4
    assert str(error).startswith("card, round ")
    assert "it was restarted without resuming" in str(error)
    assert "restarted without resuming" in str(found[0])


def beside(other: Callable[[], Any], mine: Callable[[], Any]) -> Any:
    thread = threading.Thread(target=other)
    thread.start()
    try:
        return mine()
    finally:
        thread.join(30)
        assert not thread.is_alive()


def test_a_peer_that_parts_too_early(tmp_path: Path) -> None:
    change = bent(lambda word, frame: [encode(Farewell(0, 0, "round 2: sum"))])
    found = Scene(tmp_path, deadlines=CALM).all_play(card={"bend": change})
    assert str(found["bank"]).startswith("card, round 2: sum: it has ended its run")
    assert found["card"].exit_code == 4


def test_words_of_a_peer_are_printed_harmlessly(tmp_path: Path) -> None:
    change = bent(lambda word, frame: [encode(Farewell(4, 0, "\x1b[2Jround", "", "\x1b]0;x\x07"))])
    found = Scene(tmp_path, deadlines=CALM).all_play(card={"bend": change})
    assert "card, ?[2Jround: it ended the run after a failure of its own: ?]0;x?" in str(
        found["bank"]
    )


def test_a_peer_that_sends_more_than_anybody_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reticent.parties.links._MOST_INCOMING", 1_000)

    def flow(session: Session) -> Any:
        def work() -> int:
            for number in range(100):
                session.send("bank", Told(number, bytes(100)))
            return 1

        return session.step("round 1: sum", work)

    def busy(session: Session) -> Any:
        """Takes nothing until too much has come: else it would refuse the first for its kind."""
        exchange = session._exchange
        with exchange.changed:
            assert exchange.changed.wait_for(lambda: exchange.failure, 30)
        return session.step("round 1: sum", lambda: session.receive("card", Told))

    found = Scene(tmp_path, deadlines=CALM).all_play(bank={"flow": busy}, card={"flow": flow})
    assert "it sent more than 1,000 bytes ahead of what is due" in str(found["bank"])


def test_a_full_disk_is_told_as_ones_own_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.pwrite

    def write(file: int, content: bytes, offset: int) -> int:
        if b"round 2" in bytes(content) and "reticent" in threading.current_thread().name:
            raise OSError(28, "No space left on device")
        return real(file, content, offset)

    monkeypatch.setattr(os, "pwrite", write)
    found = Scene(tmp_path, deadlines=CALM).all_play()
    codes = sorted(error.exit_code for error in found.values())
    assert codes in ([2, 2], [2, 4])
    assert any("No space left on device" in str(error) for error in found.values())


def test_errors_say_what_to_do(tmp_path: Path) -> None:
    error = Scene(tmp_path, deadlines=Deadlines(meet=0.1, step=0.1, life=0.05)).play("bank")
    assert isinstance(error, PartyError)
    hello = Hello(
        protocol=1, product="", purpose="run", sender="card", run_name="", policy=bytes(32),
        nonce=bytes(32), epoch=0, resumes=False, finished=0, clock=0.0, offers={"kept": ["Balance"]},
    )  # fmt: skip
    assert decode(encode(hello)) == hello
