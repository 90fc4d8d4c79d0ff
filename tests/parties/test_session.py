"""Owners that meet, talk, are killed and resume, all in memory."""

from __future__ import annotations

import errno
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from parties_at_hand import CALM, QUICK, Ask, Bend, Scene, Told, conversation, one_round, sums
from reticent.errors import InputError, PartyError, Stopped, Unsatisfiable
from reticent.parties.channel import Arrival, Trouble
from reticent.parties.exchange import Exchange, Failure
from reticent.parties.links import Talk
from reticent.parties.messages import (
    FAILED,
    LATE,
    NO_INTRODUCTION,
    NOT_RESUMED,
    OUT_OF_TIME,
    PARTED,
    PROTOCOL,
    REASONS,
    SILENT,
    STOPPED,
    UNFIT,
    UNREACHABLE,
    Farewell,
    Hello,
    SignOfLife,
    decode,
    encode,
    is_reason,
)
from reticent.parties.session import Deadlines, Decided, Session
from reticent.parties.state import State
from reticent.parties.transcript import Transcript, entries_in

LAST = 9  # frames that an owner of two sends in the toy conversation, at most


@pytest.mark.parametrize("owners", [("bank", "card"), ("bank", "card", "shop")])
def test_owners_talk(tmp_path: Path, owners: tuple[str, ...]) -> None:
    scene = Scene(tmp_path, owners, CALM)
    assert scene.all_play() == dict.fromkeys(owners, sums(*owners))
    for name in owners:
        folder = tmp_path / f"{name}-1.run"
        assert folder.stat().st_mode & 0o777 == 0o700
        assert {p.stat().st_mode & 0o777 for p in folder.rglob("*") if p.is_file()} == {0o600}


def test_a_large_message_goes_in_parts(tmp_path: Path) -> None:
    padding = bytes(range(256)) * 40_000  # 10 MB, three parts

    def flow(session: Session) -> object:
        def work() -> object:
            if session.me == "bank":
                session.send("card", Told(1, padding))
                return session.receive("card", Ask).round
            assert session.receive("bank", Told).padding == padding
            session.send("bank", Ask(7))
            return 7

        return session.step("large", work)

    found = Scene(tmp_path, deadlines=CALM).all_play(bank={"flow": flow}, card={"flow": flow})
    assert found == {"bank": 7, "card": 7}


@pytest.mark.parametrize("position", range(LAST + 1))
@pytest.mark.parametrize("who", ["bank", "card"])
def test_a_killed_owner_resumes(tmp_path: Path, who: str, position: int) -> None:
    scene = Scene(tmp_path, deadlines=CALM)
    found = killed_and_resumed(scene, {who: position})
    assert found == {"bank": sums("bank", "card"), "card": sums("bank", "card")}


@pytest.mark.slow
@pytest.mark.parametrize("position", range(1, 14, 2))
@pytest.mark.parametrize("who", ["bank", "shop"])
def test_a_killed_owner_of_three_resumes(tmp_path: Path, who: str, position: int) -> None:
    owners = ("bank", "card", "shop")
    scene = Scene(tmp_path, owners, CALM)
    found = killed_and_resumed(scene, {who: position})
    assert found == dict.fromkeys(owners, sums(*owners))


@pytest.mark.slow
@pytest.mark.parametrize("positions", [(2, 2), (3, 5), (5, 3), (6, 7), (7, 1)])
def test_all_owners_are_killed_and_resume(tmp_path: Path, positions: tuple[int, int]) -> None:
    scene = Scene(tmp_path, deadlines=CALM)
    found = killed_and_resumed(scene, dict(zip(scene.owners, positions, strict=True)))
    assert found == {"bank": sums("bank", "card"), "card": sums("bank", "card")}


@pytest.mark.parametrize("who", ["bank", "card", "shop"])
def test_the_others_stay_for_one_that_is_killed_at_its_end(tmp_path: Path, who: str) -> None:
    owners = ("bank", "card", "shop")
    scene = Scene(tmp_path, owners, CALM)
    found = killed_and_resumed(scene, {who: -1}, at_the_end=True)
    assert found == dict.fromkeys(owners, sums(*owners))


@pytest.mark.slow
def test_an_owner_is_killed_again_and_again(tmp_path: Path) -> None:
    scene = Scene(tmp_path, deadlines=CALM)
    found = killed_and_resumed(scene, {"card": 4}, again=(0, 1, 2, 3))
    assert found == {"bank": sums("bank", "card"), "card": sums("bank", "card")}


def killed_and_resumed(
    scene: Scene, positions: dict[str, int], again: tuple[int, ...] = (), at_the_end: bool = False
) -> dict[str, Any]:
    """Play, but kill some owners before a frame, and let them resume at once."""

    def lives(name: str) -> Any:
        if name not in positions:
            return scene.play(name)
        found = scene.play(name, die_before=positions[name], die_done=at_the_end)
        for position in again:
            assert isinstance(found, PartyError)
            found = scene.play(name, die_before=position, resumes=True)
        # A position after the last frame kills nobody.
        return scene.play(name, resumes=True) if isinstance(found, PartyError) else found

    results: dict[str, Any] = {}
    threads = [
        threading.Thread(target=lambda name=name: results.update({name: lives(name)}))
        for name in scene.owners
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results


def test_finished_steps_are_not_repeated(tmp_path: Path) -> None:
    scene = Scene(tmp_path, deadlines=CALM)
    done: list[tuple[str, str]] = []

    def flow(session: Session) -> list[int]:
        first = session.step("first", lambda: done.append((session.me, "first")) or [1])  # type: ignore[func-returns-value]
        return [*first, *conversation(session)]

    found: dict[str, Any] = {}

    def card() -> None:
        scene.play("card", flow=flow, die_before=5)
        found["card"] = scene.play("card", flow=flow, resumes=True)

    thread = threading.Thread(target=card)
    thread.start()
    found["bank"] = scene.play("bank", flow=flow)
    thread.join(30)
    assert found["card"] == found["bank"] == [1, *sums("bank", "card")]
    assert sorted(done) == [("bank", "first"), ("card", "first")]


def test_steps_of_another_name_are_refused(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    state = scene.state("bank")
    state.finish("first", [1, (2, 3)])
    assert state.result(0, "first") == [1, [2, 3]]
    with pytest.raises(InputError, match='was "first", now it is "second"'):
        state.result(0, "second")
    state.close()


def test_something_may_be_begun_again_three_times_only(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    state = scene.state("bank")
    for _ in range(2):
        state.attempt("round 1: comparison", 3)
    state.attempt("round 2: comparison", 3)
    state.close()
    state = scene.state("bank", resumes=True)
    for _ in range(2):
        state.attempt("round 1: comparison", 3)
    with pytest.raises(PartyError, match="round 1: comparison: it was interrupted 4 times"):
        state.attempt("round 1: comparison", 3)
    state.close()


@pytest.mark.slow
def test_a_run_that_dies_in_the_same_step_is_ended(tmp_path: Path) -> None:
    scene = Scene(tmp_path, deadlines=CALM)

    def flow(session: Session) -> object:
        def work() -> int:
            session.attempt("round 1: comparison")
            return one_round(session, 1)

        return session.step("round 1: sum", work)

    found: dict[str, Any] = {}

    def card() -> None:
        scene.play("card", flow=flow, die_before=4)
        # More lives than four: on a busy machine one may end before its attempt has begun.
        for _ in range(40):
            found["card"] = scene.play("card", flow=flow, die_before=4, resumes=True)
            if "dead" not in str(found["card"]):
                return

    thread = threading.Thread(target=card)
    thread.start()
    found["bank"] = scene.play("bank", flow=flow)
    thread.join(60)
    assert not thread.is_alive()
    for error in found.values():
        assert error.exit_code == 4
        assert "interrupted 4 times" in str(error) or "ended the run" in str(error)
    assert any("interrupted 4 times" in str(error) for error in found.values())


def test_messages_keep_their_order_from_the_first_word_on(tmp_path: Path) -> None:
    """Those that come before all have met are given before those that come after."""
    owners = ("bank", "card", "shop")

    def flow(session: Session) -> object:
        def work() -> dict[str, list[int]]:
            for number in range(40):
                for peer in session.peers:
                    session.send(peer, Told(number))
            return {
                peer: [session.receive(peer, Told).total for _ in range(40)]
                for peer in session.peers
            }

        return session.step("a stream", work)

    for turn in range(6):
        (tmp_path / str(turn)).mkdir()
        found = Scene(tmp_path / str(turn), owners, CALM).all_play(
            **{name: {"flow": flow} for name in owners}
        )
        heard = [numbers for told in found.values() for numbers in told.values()]
        assert heard == [list(range(40))] * 6


def test_two_processes_do_not_share_a_run(tmp_path: Path) -> None:
    state = Scene(tmp_path).state("bank")
    with pytest.raises(InputError, match="another process is in this run"):
        Scene(tmp_path).state("bank", resumes=True)
    state.close()
    Scene(tmp_path).state("bank", resumes=True).close()


def test_a_state_is_neither_overwritten_nor_taken_for_another(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    with pytest.raises(InputError, match="there is no run to go on with"):
        scene.state("bank", resumes=True)
    (tmp_path / "bank-1.run").mkdir()  # killed before it had written anything
    scene.state("bank").close()
    with pytest.raises(InputError, match="add --resume"):
        scene.state("bank")
    for other in ({"run_name": "2026-12"}, {"policy": bytes(32)}, {"owners": ("bank", "shop")}):
        with pytest.raises(InputError, match="the interrupted run had another"):
            scene.state("bank", resumes=True, **other)


def test_a_resume_is_noted_in_the_transcript(tmp_path: Path) -> None:
    scene = Scene(tmp_path, deadlines=CALM)
    killed_and_resumed(scene, {"card": 5})
    for name in scene.owners:
        folder = tmp_path / f"{name}-1.run" / "transcript"
        assert b"resumption" in (folder / "entries").read_bytes()
        transcript = Transcript(folder)
        assert len(transcript) > 10
        transcript.close()


@pytest.mark.slow
def test_a_busy_owner_is_waited_for(tmp_path: Path) -> None:
    """It gives signs of life for twice as long as an owner that gives none would be waited for."""
    scene = Scene(tmp_path, deadlines=Deadlines(meet=30, step=1, life=0.05))

    def busy(session: Session) -> object:
        threading.Event().wait(2)
        return conversation(session)

    assert scene.all_play(card={"flow": busy})["bank"] == sums("bank", "card")


def test_a_run_ends_at_its_limit(tmp_path: Path) -> None:
    limit = Deadlines(meet=30, step=30, limit=100, life=0.05)
    scene = Scene(tmp_path, deadlines=limit)
    found = scene.all_play(bank={"flow": out_of_time}, card={"flow": idle})
    assert found["bank"].exit_code == 4
    assert "card, round 1: sum: the run has reached its time limit of 100" in str(found["bank"])
    assert "--resume where a folder OUTPUT.run stands" in str(found["bank"])
    assert str(found["card"]).startswith(
        "bank, round 1: sum: it has reached its time limit of 100 seconds"
    )
    assert "--resume where a folder OUTPUT.run stands" in str(found["card"])


def idle(session: Session) -> object:
    """It has nothing to say until the run is over."""
    with session._exchange.changed:
        session._exchange.changed.wait_for(lambda: session._exchange.failure, 30)
    return conversation(session)


def out_of_time(session: Session) -> object:
    """All have met when the limit is near."""
    session._end = time.monotonic() + 0.1
    return conversation(session)


def raising(error: BaseException) -> Callable[[Session], object]:
    """A flow whose first step fails."""

    def fail() -> object:
        raise error

    return lambda session: session.step("round 1: sum", fail)


def mute(*kinds: str) -> Bend:
    """Whatever of these kinds is to be said, is not."""
    return lambda to, frame, kind, before: [] if kind in kinds else [frame]


def early(to: str, frame: bytes, kind: str, before: int) -> list[bytes]:
    return [encode(Farewell(0, 0, "round 1: sum"))] if kind == "message" else [frame]


LIMITED = Deadlines(meet=30, step=30, limit=2, life=0.05)
SHORT = Deadlines(meet=30, step=2, life=0.05)
HASTY = Deadlines(meet=2, step=30, life=0.05)
# How it comes to every reason after which a run may go on.
ENDINGS: dict[str, dict[str, dict[str, Any]]] = {
    UNREACHABLE: {"card": {"die_before": 4}, "bank": {"deadlines": SHORT}},
    SILENT: {"card": {"bend": mute("message", "life")}, "bank": {"deadlines": SHORT}},
    LATE: {"card": {"bend": mute("hello")}, "bank": {"deadlines": LIMITED}},
    OUT_OF_TIME: {"card": {"flow": idle}, "bank": {"flow": out_of_time, "deadlines": LIMITED}},
    NO_INTRODUCTION: {"card": {"bend": mute("hello", "life")}, "bank": {"deadlines": HASTY}},
    PARTED: {"card": {"bend": early}},
    NOT_RESUMED: {"card": {"die_before": 5}},
    STOPPED: {"card": {"flow": raising(Stopped("stopped"))}},
    FAILED: {"card": {"flow": raising(ZeroDivisionError())}},
    UNFIT: {"card": {"flow": raising(InputError("my file", where="card.csv"))}},
}


@pytest.mark.slow
def test_why_a_run_ended_that_can_go_on_is_said_in_words_that_an_audit_knows(
    tmp_path: Path,
) -> None:
    """Whatever an owner says is one of the reasons, about one of the owners; all of them occur."""
    assert {*ENDINGS} == {*REASONS}
    with ThreadPoolExecutor(len(ENDINGS)) as pool:  # most of them wait
        told = dict(
            zip(REASONS, pool.map(partial(words_at_the_end, tmp_path), REASONS), strict=True)
        )
    for reason, said in told.items():
        assert any(is_reason(word.why, [reason]) for word in said), (reason, said)
        for word in said:
            assert not word.why or is_reason(word.why), (reason, said)
            assert word.about in ("", "bank", "card", "shop")


def words_at_the_end(folder: Path, reason: str) -> list[Farewell]:
    """What stands in the transcripts of three owners whose run ended for this reason."""
    scene = Scene(folder / str(REASONS.index(reason)), ("bank", "card", "shop"), CALM)
    scene.folder.mkdir()
    with ThreadPoolExecutor(len(scene.owners)) as pool:
        for name in scene.owners:
            lives = 2 if (name, reason) == ("card", NOT_RESUMED) else 1
            pool.submit(play_often, scene, name, lives, ENDINGS[reason].get(name, {}))
    return [word for name in scene.owners for word in farewells(scene.folder / f"{name}-1.run")]


def play_often(scene: Scene, name: str, times: int, special: dict[str, Any]) -> None:
    """Play, then begin anew as if nothing had been."""
    scene.play(name, **special)
    for life in range(2, times + 1):
        scene.play(name, lives=life)


def farewells(state: Path) -> list[Farewell]:
    words = [
        decode(entry.frame)
        for entry in entries_in(state / "transcript" / "entries")
        if entry.direction != "note"
    ]
    return [word for word in words if isinstance(word, Farewell) and word.code]


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (InputError("my file", where="bank.csv"), 4, "its own data"),
        (Unsatisfiable("no release"), 3, "nothing can keep what all agreed on"),
        (Stopped("stopped"), 4, "it was stopped by its user"),
        (ZeroDivisionError(), 4, "a failure of its own"),
    ],
)  # fmt: skip
def test_who_fails_tells_the_others(
    tmp_path: Path, error: Exception, code: int, words: str
) -> None:
    """At once: the others do not wait for a deadline, and hear nothing of the file."""

    def failing(session: Session) -> object:
        def work() -> object:
            raise error

        return session.step("round 1: sum", work)

    scene = Scene(tmp_path, ("bank", "card", "shop"), CALM)
    found = scene.all_play(bank={"flow": failing})
    assert found["bank"] is error
    for name in ("card", "shop"):
        assert found[name].exit_code == code
        assert words in str(found[name])
        assert str(found[name]).startswith(
            ("bank, round 1: sum: ", "card, ", "shop, ")[: 3 if code == 3 else 1]
        )
        assert "bank.csv" not in str(found[name])


def test_all_are_told_who_failed(tmp_path: Path) -> None:
    """Two owners wait for a third: the first to lose patience tells the other whom it missed."""

    def refusing(session: Session) -> object:
        def work() -> object:
            session.receive("card", Told)
            raise session.refuse("card", "its partition is none")

        return session.step("round 1: sum", work)

    def wrong(session: Session) -> object:
        def work() -> object:
            for peer in session.peers:
                session.send(peer, Told(1))
            return session.receive("bank", Ask).round

        return session.step("round 1: sum", work)

    scene = Scene(tmp_path, ("bank", "card", "shop"), CALM)
    found = scene.all_play(
        bank={"flow": refusing}, card={"flow": wrong}, shop={"flow": conversation}
    )
    assert str(found["bank"]).startswith("card, round 1: sum: its partition is none")
    assert "because of this owner: its partition is none" in str(found["card"])
    assert str(found["shop"]).startswith("card, round 1: sum: ")  # by bank, or by card itself
    assert "ended the run because of" in str(found["shop"])
    assert "its partition is none" in str(found["shop"])
    assert {error.exit_code for error in found.values()} == {4}


def test_a_message_of_another_kind_or_step_is_refused(tmp_path: Path) -> None:
    def other_kind(session: Session) -> object:
        return session.step("round 1: sum", lambda: session.send("bank", Ask(1)))

    def other_step(session: Session) -> object:
        return session.step("round 9: sum", lambda: session.send("bank", Ask(1)))

    first, second = tmp_path / "1", tmp_path / "2"
    first.mkdir()
    second.mkdir()
    error = Scene(first, deadlines=CALM).all_play(card={"flow": other_kind})["bank"]
    assert "card, round 1: sum: its message is no Answer" in str(error)
    error = Scene(second, deadlines=CALM).all_play(card={"flow": other_step})["bank"]
    assert 'card, round 1: sum: it sent a message of the step "round 9: sum"' in str(error)


def test_the_last_word_reaches_an_owner_whose_link_was_cut(tmp_path: Path) -> None:
    """The first owner is done, but stays until what it said last is safe."""
    scene = Scene(tmp_path, deadlines=CALM)
    cut = threading.Event()

    def bend(to: str, frame: bytes, kind: str, before: int) -> list[bytes]:
        if kind == "message" and before == 3 and not cut.is_set():
            cut.set()
            scene.hub.cut("bank", "card")
            threading.Timer(0.1, scene.hub.join, ("bank", "card")).start()
        return [frame]

    found = scene.all_play(bank={"bend": bend})
    assert found == {"bank": sums("bank", "card"), "card": sums("bank", "card")}
    assert cut.is_set()


@pytest.mark.slow
@pytest.mark.parametrize("position", range(LAST))
def test_a_link_that_is_cut_for_a_while_heals(tmp_path: Path, position: int) -> None:
    scene = Scene(tmp_path, deadlines=CALM)
    frames = iter(range(1000))

    def bend(to: str, frame: bytes, kind: str, before: int) -> list[bytes]:
        if kind not in ("life", "farewell") and next(frames) == position:
            scene.hub.cut("bank", "card")
            threading.Timer(0.05, scene.hub.join, ("bank", "card")).start()
        return [frame]

    found = scene.all_play(card={"bend": bend})
    assert found == {"bank": sums("bank", "card"), "card": sums("bank", "card")}


def test_what_a_link_lost_unseen_is_sent_again(tmp_path: Path) -> None:
    """Signs of life say how much has come; what has not is sent again though no link broke."""

    def bend(to: str, frame: bytes, kind: str, before: int) -> list[bytes]:
        return [] if (kind, before) in (("message", 0), ("acknowledgement", 0)) else [frame]

    scene = Scene(tmp_path, deadlines=Deadlines(meet=5, step=5, life=0.05))
    found = scene.all_play(card={"bend": bend}, bank={"bend": bend})
    assert found == {"bank": sums("bank", "card"), "card": sums("bank", "card")}


def test_deadlines_are_those_of_the_spec() -> None:
    assert Deadlines() == Deadlines(meet=600, step=60, limit=None, life=10)
    assert QUICK.life < QUICK.step


# Runs whose end is decided.

END = bytes([7]) * 32


def decided(scene: Scene, name: str, ready: bytes = END) -> State:
    """What an owner has on its disk that decided, and was killed before it had told anybody."""
    state = scene.state(name)
    state.save(ready=ready, epoch=0)
    state.decide(needed_by=[other for other in scene.owners if other != name])
    state.close()
    return scene.state(name, resumes=True)


def answering(scene: Scene, found: dict[str, Any]) -> threading.Thread:
    """The first owner comes back, and stays until it is no longer needed."""

    def answer() -> None:
        state = decided(scene, "bank")
        with Session(scene.channel("bank"), state, deadlines=scene.deadlines) as session:
            session.come_back()
            found["late"] = session.see_off()

    thread = threading.Thread(target=answer)
    thread.start()
    return thread


@pytest.mark.slow
def test_who_was_killed_before_it_heard_asks_by_resuming(tmp_path: Path) -> None:
    """One of three is gone for good: it is not needed for an answer."""
    scene, found = Scene(tmp_path, ("bank", "card", "shop"), CALM), dict[str, Any]()
    scene.deadlines = Deadlines(meet=3, step=1, life=0.1)
    state = scene.state("card")
    state.save(ready=END)
    state.close()
    thread = answering(scene, found)
    state = scene.state("card", resumes=True)
    with Session(scene.channel("card"), state, deadlines=scene.deadlines, resumes=True) as session:
        with pytest.raises(Decided):
            session.run(conversation)
        assert state.known.agreed
        session.see_off()
    thread.join(30)
    assert found["late"] == ("shop",)


@pytest.mark.parametrize("ready", [b"", bytes([8]) * 32])
def test_a_decision_about_something_else_is_refused(tmp_path: Path, ready: bytes) -> None:
    scene, found = Scene(tmp_path, deadlines=Deadlines(meet=2, step=1, life=0.1)), dict[str, Any]()
    state = scene.state("card")
    state.save(ready=ready)
    state.close()
    thread = answering(scene, found)
    error = scene.play("card", resumes=True)
    thread.join(30)
    assert (error.exit_code, "agreed on something else than we" in str(error)) == (4, True)
    assert found["late"] == ("card",)


def test_seeing_others_off_ends_when_the_user_asks(tmp_path: Path) -> None:
    scene = Scene(tmp_path, deadlines=Deadlines(meet=60, step=60, life=0.1))
    asked = iter([False, False, True])
    with Session(scene.channel("bank"), decided(scene, "bank"), deadlines=CALM) as session:
        session.come_back()
        assert session.see_off(lambda: next(asked)) == ("card",)


def test_what_a_kill_left_of_a_forgotten_run_is_in_nobodys_way(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.state("bank").close()
    folder = tmp_path / "bank-1.run"
    (folder / "state.json").unlink()
    scene.state("bank").close()
    (folder / "state.json").unlink()
    (folder / "mine").touch()
    with pytest.raises(InputError, match="an earlier run did not end here"):
        scene.state("bank")


def test_a_state_that_cannot_be_written_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    state = Scene(tmp_path).state("bank")
    with monkeypatch.context() as patched:
        patched.setattr("reticent.parties.state.os.fsync", full)
        with pytest.raises(InputError, match="cannot write it: No space left on device"):
            state.decide()
    assert not state.known.agreed
    state.close()


class LateLink:
    """A channel whose link to the peer opens when we are about to leave."""

    def __init__(self) -> None:
        self.arrivals: queue.Queue[Arrival] = queue.Queue()
        self.opened, self.sent = False, list[bytes]()

    def send(self, to: str, frame: bytes) -> bool:
        if self.opened:
            self.sent.append(frame)
        return self.opened

    def take_up(self, peer: str) -> None:
        self.opened = True

    def receive(self, timeout: float) -> Arrival | None:
        try:
            return self.arrivals.get(timeout=timeout or 0.001)
        except queue.Empty:
            return None

    def trouble(self, peer: str) -> Trouble | None:
        return None

    def close(self) -> None:
        pass


def hello_of(owner: str) -> Hello:
    return Hello(
        protocol=PROTOCOL, product="1", purpose="run", sender=owner, run_name="one",
        policy=bytes(32), nonce=bytes(32), epoch=0, resumes=False, finished=0, clock=0, offers={},
    )  # fmt: skip


def test_who_has_not_met_us_hears_that_we_are_stopped(tmp_path: Path) -> None:
    """We have met the card, whose link reached us first; ours reaches it when we end."""
    channel, transcript = LateLink(), Transcript(tmp_path / "transcript")
    mine = hello_of("bank")
    exchange = Exchange(channel, transcript, "bank", ["card"], {}, 0.3)
    exchange.announce(mine)
    exchange.open({"card": Talk("bank", "card", b"run", 0)})
    exchange.part(Failure(KeyboardInterrupt(), "meeting"))
    opens = threading.Timer(0.2, channel.arrivals.put, [Arrival("card", kind="open")])
    opens.start()
    exchange.close()
    words = [decode(frame) for frame in channel.sent]
    assert [type(word) for word in words if not isinstance(word, SignOfLife)] == [Hello, Farewell]


def test_who_began_anew_hears_that_it_should_have_resumed(tmp_path: Path) -> None:
    """Our link was to the process that died; it reaches the new one a little later."""
    channel, transcript = LateLink(), Transcript(tmp_path / "transcript")
    exchange = Exchange(channel, transcript, "bank", ["card"], {"card": bytes([1]) * 32}, 0.3)
    exchange.announce(hello_of("bank"))
    exchange.open({"card": Talk("bank", "card", b"run", 0)})
    channel.arrivals.put(Arrival("card", kind="open"))
    with exchange.changed:
        assert exchange.changed.wait_for(lambda: channel.sent, 10)
    channel.opened = False
    channel.arrivals.put(Arrival("card", encode(hello_of("card"))))
    with exchange.changed:
        assert exchange.changed.wait_for(lambda: exchange.failure, 10)
    threading.Timer(0.6, channel.arrivals.put, [Arrival("card", kind="open")]).start()
    exchange.close()
    [last] = [word for word in map(decode, channel.sent) if isinstance(word, Farewell)]
    assert (last.code, last.about, last.why) == (4, "card", NOT_RESUMED)
