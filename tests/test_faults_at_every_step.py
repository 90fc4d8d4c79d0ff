"""Whatever an owner does wrong, at whatever step of a joint release or of a tree at two sites: the
other one ends with an error that names it and the step, and has written nothing.

Two owners as the commands play them, but for the network: their channel is in memory, and what one
of them says is bent on its way out.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parties_at_hand import Bend, Bent
from reticent.errors import PartyError
from reticent.joint import process as joint
from reticent.joint.process import IntegrateOptions
from reticent.jointree.sites import process as sites
from reticent.jointree.sites.process import SiteOptions
from reticent.parties import participation
from reticent.parties.agreeing import Go, Ready
from reticent.parties.channel import MemoryHub
from reticent.parties.exchange import Exchange
from reticent.parties.identity import Identity, make
from reticent.parties.messages import Envelope, decode, encode
from reticent.parties.session import Session
from reticent.parties.wire import Message
from sites.sites_at_work import Sites

POLICY = """
id = "Id"
class = "Class"
keep = ["Note"]
[owners.bank]
columns = ["Job", "Class"]
[owners.card]
columns = ["Sex", "Pet", "Ill", "Note", "Class"]
[attributes.Job]
mask = "suppress"
[attributes.Sex]
mask = "suppress"
[attributes.Pet]
mask = "suppress"
[[anonymity]]
over = ["Job", "Sex"]
k = 2
[[anonymity]]
over = ["Pet"]
k = 16
[[confidence]]
over = ["Sex"]
sensitive = { Ill = "*" }
at_most = 0.9
"""
ROWS = range(16)
DATA = {
    "bank": ["Id,Job,Class", *(f"p{n},{'xy'[n % 2]},{'ab'[n // 8]}" for n in ROWS)],
    "card": [
        "Id,Sex,Pet,Ill,Note,Class",
        *(f"p{n},{'FFMX'[n // 4]},t{n % 4},{'uvwv'[n % 4]},n{n % 3},{'ab'[n // 8]}" for n in ROWS),
    ],
}
Change = Callable[[Envelope, bytes], list[bytes]]


def _lay_joint(folder: Path) -> None:
    for name, other in (("bank", "card"), ("card", "bank")):
        home = folder / name
        home.mkdir()
        make(name, home / "identity")
        (home / "data.csv").write_text("\n".join(DATA[name]) + "\n")
        (home / "joint.toml").write_text(POLICY)
        (home / "party.toml").write_text(
            f'name = "{name}"\nlisten = "127.0.0.1:7001"\npolicy = "joint.toml"\n'
            f'data = "data.csv"\nrun = "one"\nmeet_timeout = 60\nstep_timeout = 60\n'
            f'[peers.{other}]\naddress = "127.0.0.1:7002"\n'
            f'certificate = "../{other}/identity/certificate.pem"\n'
        )


def _integrate(party: Path, output: str) -> object:
    return joint.integrate(party, IntegrateOptions(output=output, max_steps=1, again=True))


def _lay_sites(folder: Path) -> None:
    more = {"meet_timeout": 60, "step_timeout": 60}
    Sites(folder, grow={"prune": False, "max_depth": 2}, more=more)


def _train(party: Path, output: str) -> object:
    return sites.train(party, SiteOptions(output=output))


@dataclass(frozen=True)
class Talk:
    """What two owners do together."""

    owners: tuple[str, str]
    liars: Mapping[str, str]  # by step: who says something in it, and says it wrongly
    lay: Callable[[Path], None]  # makes the owners' folders, with all that they bring
    play: Callable[[Path, str], object]  # the party file and the output of one of them

    def cast(self, step: str) -> tuple[str, str]:
        """Who lies in a step, and who does not."""
        liar = self.liars[step]
        [honest] = {*self.owners} - {liar}
        return liar, honest


JOINT = Talk(("bank", "card"), {
    **dict.fromkeys((
        "common records", "what all accept", "class", "shared columns", "before round 1", "round 1",
        "whether anything is left", "labels", "kept columns", "ready",
    ), "card"),
    "go": "bank",
}, _lay_joint, _integrate)  # fmt: skip
TREES = Talk(("clinic", "works"), {
    **dict.fromkeys((
        "common values of join 1", "standing of join 1, up", "sums of join 1, up", "node 1",
        "node 2", "ready",
    ), "works"),
    **dict.fromkeys((
        "columns that join", "standing of join 1, down", "all counts", "sums of join 1, down",
        "node 3", "go",
    ), "clinic"),
}, _lay_sites, _train)  # fmt: skip
AT_EVERY_STEP = pytest.mark.parametrize(
    ("talk", "step"),
    [pytest.param(talk, step, id=f"{talk.owners[0]}-{step}")
     for talk in (JOINT, TREES) for step in talk.liars],
    indirect=["talk"],
)  # fmt: skip


@pytest.fixture(scope="module")
def talk(request: pytest.FixtureRequest) -> Talk:
    found: Talk = request.param
    return found


@pytest.fixture(scope="module")
def homes(talk: Talk, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("owners")
    talk.lay(folder)
    return folder


@dataclass
class Stage:
    """Both owners at one hub; one of them is not as it should be."""

    talk: Talk
    homes: Path
    outputs: Path
    hub: MemoryHub
    bend: Mapping[str, Bend] = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)  # the last of each owner
    channels: dict[str, Bent] = field(default_factory=dict)

    def channel(self, identity: Identity, listen: str, peers: object) -> Bent:
        """In the place of one over TCP."""
        name = identity.certificate.name
        bent = self.channels[name] = Bent(self.hub.channel(name))
        bent.bend = self.bend.get(name, bent.bend)
        return bent

    def session(self, *given: Any, **named: Any) -> Session:
        made = Session(*given, **named)
        self.sessions[made.me] = made
        return made

    def run(self, name: str, output: str = "out") -> Any:
        """What one owner has in the end, or the error that it ended with."""
        place = self.outputs / name
        place.mkdir(exist_ok=True)
        try:
            return self.talk.play(self.homes / name / "party.toml", str(place / output))
        except Exception as error:
            return error

    def await_step(self, name: str, step: str) -> None:
        """Wait until an owner is in a step: what it notices there, it notices in that one."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if name in self.sessions and self.sessions[name]._exchange.step == step:
                return
            time.sleep(0.002)
        raise AssertionError(f"{name} never came to {step}")

    def lose_patience(self, name: str) -> None:
        """An owner waits no longer than a moment from now on."""
        session = self.sessions[name]
        with session._exchange.changed:
            session._deadlines = replace(session._deadlines, step=0.3)
            session._exchange.changed.notify_all()

    def go_wrong(self, step: str, change: Change) -> tuple[Any, Any]:
        """Let the second word of an owner in a run that is of this step be another one.

        What both ended with, the honest one first.
        """
        liar, honest = self.talk.cast(step)
        done: list[str] = []

        def bend(to: str, frame: bytes, kind: str, before: int) -> list[bytes]:
            word = decode(frame)
            if done or not isinstance(word, Envelope) or word.step != step or word.number == 1:
                return [frame]
            done.append(step)
            self.await_step(honest, step)
            return change(word, frame)

        self.bend = {liar: bend}
        found, other = self.both(honest, liar)
        assert done
        return found, other

    def both(self, *names: str) -> list[Any]:
        """What all owners come to, in this order."""
        with ThreadPoolExecutor(len(names)) as pool:
            return list(pool.map(self.run, names, timeout=90))

    def see_nothing(self, name: str) -> None:
        """Nothing was written at an owner but what a resume needs."""
        assert {path.name for path in (self.outputs / name).iterdir()} <= {"out.run"}


@pytest.fixture
def stage(talk: Talk, homes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    made = Stage(talk, homes, tmp_path, MemoryHub(talk.owners))
    monkeypatch.setattr(participation, "TcpChannel", made.channel)
    monkeypatch.setattr(participation, "Session", made.session)
    monkeypatch.setattr("os.fsync", lambda file: None)  # a disk would take most of the time
    return made


@pytest.mark.parametrize("talk", [JOINT, TREES], indirect=True)
def test_without_a_fault_both_come_to_an_end(stage: Stage) -> None:
    said: dict[str, set[str]] = {name: set() for name in stage.talk.owners}

    def listening(name: str) -> Bend:
        def listen(to: str, frame: bytes, kind: str, before: int) -> list[bytes]:
            word = decode(frame)
            if isinstance(word, Envelope):
                said[name].add(word.step)
            return [frame]

        return listen

    stage.bend = {name: listening(name) for name in said}
    for found in stage.both(*stage.talk.owners):
        assert not isinstance(found, Exception), found
    assert all(step in said[liar] for step, liar in stage.talk.liars.items())
    assert set().union(*said.values()) <= {*stage.talk.liars, "labels of the class"}


def changed(**changes: object) -> Change:
    return lambda word, frame: [encode(msgspec.structs.replace(word, **changes))]


def again(word: Envelope, frame: bytes) -> list[bytes]:
    """The number of an earlier message, and another content."""
    return [encode(msgspec.structs.replace(word, number=word.number - 1))]


FAULTS: dict[str, tuple[Change, str]] = {
    "garbage": (lambda word, frame: [b"\xc1 garbage"], "no message of the protocol"),
    "a replay": (again, "twice, with other content"),
    "another run": (changed(run=bytes(32)), "it is in another run"),
    "another version": (changed(protocol=9), "it speaks version 9 of the protocol"),
}


@AT_EVERY_STEP
@pytest.mark.parametrize("fault", FAULTS)
def test_a_frame_that_is_wrong(stage: Stage, fault: str, step: str) -> None:
    change, words = FAULTS[fault]
    see_refused(stage, step, words, *stage.go_wrong(step, change))


@AT_EVERY_STEP
def test_a_message_of_another_kind(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    liar, honest = stage.talk.cast(step)
    true, other = Session.send, Ready(bytes(32)) if step == "go" else Go()

    def send(self: Session, to: str, message: Message) -> None:
        wrong = self.me == liar and self._exchange.step == step
        true(self, to, other if wrong else message)

    monkeypatch.setattr(Session, "send", send)
    see_refused(stage, step, "its message is no ", *stage.both(honest, liar))


@AT_EVERY_STEP
def test_a_message_of_another_step(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    liar, honest = stage.talk.cast(step)
    post = Exchange.post

    def posting(self: Exchange, *given: Any) -> None:
        before = self.step
        if (self.me, before) == (liar, step):
            self.step = "round 99"
        post(self, *given)
        self.step = before

    monkeypatch.setattr(Exchange, "post", posting)
    words = 'it sent a message of the step "round 99"'
    see_refused(stage, step, words, *stage.both(honest, liar))


def see_refused(stage: Stage, step: str, words: str, found: Any, other: Any) -> None:
    """The honest owner names the other one and the step; neither has a table or a model."""
    liar, honest = stage.talk.cast(step)
    assert isinstance(found, PartyError), found
    assert found.exit_code == 4
    [problem] = found.problems
    assert problem.where == f"{liar}, {step}"
    assert words in problem.what
    stage.see_nothing(honest)
    if step == "go":  # who says it has decided before: it needs nobody any more
        assert not isinstance(other, Exception), other
    else:
        assert other.exit_code == 4
        stage.see_nothing(liar)


@pytest.mark.slow
@AT_EVERY_STEP
def test_an_owner_that_falls_silent(stage: Stage, step: str) -> None:
    liar, honest = stage.talk.cast(step)

    def mute(word: Envelope, frame: bytes) -> list[bytes]:
        stage.channels[liar].bend = lambda *said: []
        stage.lose_patience(honest)
        return []

    ends = stage.go_wrong(step, mute)
    see_refused(stage, step, "no message and no sign of life came for 0.3 seconds", *ends)


@pytest.mark.slow
@AT_EVERY_STEP
def test_an_owner_that_goes_away(stage: Stage, step: str) -> None:
    liar, honest = stage.talk.cast(step)

    def die(word: Envelope, frame: bytes) -> list[bytes]:
        stage.channels[liar].die()
        stage.lose_patience(honest)
        return []

    ends = stage.go_wrong(step, die)
    see_refused(stage, step, "it cannot be reached: it is not there", *ends)


@pytest.mark.slow
@AT_EVERY_STEP
def test_an_owner_that_begins_anew(stage: Stage, step: str) -> None:
    liar, _ = stage.talk.cast(step)
    later: list[threading.Thread] = []

    def die(word: Envelope, frame: bytes) -> list[bytes]:
        stage.channels[liar].die()
        later.append(threading.Thread(target=begin_anew))
        later[0].start()
        return []

    def begin_anew() -> None:
        stage.bend = {}
        told.append(stage.run(liar, "anew"))

    told: list[Any] = []
    ends = stage.go_wrong(step, die)
    later[0].join(60)
    shutil.rmtree(stage.outputs / liar / "anew.run", ignore_errors=True)
    see_refused(stage, step, "it was restarted without resuming", *ends)
    assert told[0].exit_code == 4
