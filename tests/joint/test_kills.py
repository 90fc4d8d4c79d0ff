"""Owners that are killed at any moment, and go on: the same table everywhere in the end."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from joint.owners_at_work import OWNERS, POLICY, TAXONOMY, End, Owners
from kills_at_hand import COUNTS, came_through, drawn, moments_of, until_done
from terminal import finished, run

pytestmark = [pytest.mark.net, pytest.mark.slow]


@pytest.fixture(scope="module")
def moments(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """How many moments each owner has to die at."""
    owners = Owners(tmp_path_factory.mktemp("moments"))
    running = {name: owners.start(name, first=COUNTS) for name in OWNERS}
    assert {finished(process)[0] for process in running.values()} == {0}
    return {name: moments_of(owners.folder / name) for name in OWNERS}


# Ten moments; RETICENT_KILLS=100 has a hundred.
@pytest.mark.parametrize("seed", range(int(os.environ.get("RETICENT_KILLS", "10"))))
def test_a_kill_at_any_moment(tmp_path: Path, seed: int, moments: Mapping[str, int]) -> None:
    """Every third time of one owner, else of both."""
    owners = Owners(tmp_path, more={"meet_timeout": 30, "step_timeout": 30})
    deaths = drawn(seed, moments)
    history = until_done(
        owners.folder, owners.start, OWNERS, deaths, owners.see_whole_or_nothing
    )  # fmt: skip
    assert -9 in [end[0] for _, end in history] or seed % 2, history
    assert came_through(history) == {*OWNERS}, history
    owners.see_same()


def killed_in_the_end(owners: Owners, victim: str, *words: object, first: str) -> dict[str, End]:
    """All run; one of them dies on the way."""
    running = {n: owners.start(n, *words, first=first if n == victim else "") for n in OWNERS}
    return {name: finished(process) for name, process in running.items()}


DIES_AFTER_GO = """
import os, signal
from reticent.parties.state import State
finish = State.finish
def dying(self, name, result):
    finish(self, name, result)
    if name == "go":
        os.kill(os.getpid(), signal.SIGKILL)
State.finish = dying
"""
DIES_BEFORE_IT_IS_PUT_AWAY = """
import os, signal
from reticent.parties.participation import Participation
Participation._put_away = lambda *given: os.kill(os.getpid(), signal.SIGKILL)
"""
DISK_IS_FULL = """
import errno
from reticent.joint import publishing
def full(*given):
    raise OSError(errno.ENOSPC, "No space left on device")
publishing.write = full
"""


@pytest.mark.parametrize("victim", OWNERS)
@pytest.mark.parametrize("death", [DIES_AFTER_GO, DIES_BEFORE_IT_IS_PUT_AWAY], ids=["go", "done"])
def test_who_was_killed_after_go_needs_nobody(tmp_path: Path, victim: str, death: str) -> None:
    owners = Owners(tmp_path, more={"meet_timeout": 6, "step_timeout": 4})
    running = {n: owners.start(n, first=death if n == victim else "") for n in OWNERS}
    ends = {name: finished(process) for name, process in running.items()}
    [other] = {*OWNERS} - {victim}
    assert (ends[victim][0], ends[other][0]) == (-9, 0), ends
    assert death == DIES_BEFORE_IT_IS_PUT_AWAY or victim in ends[other][2], ends
    code, _, said = finished(owners.start(victim, "--resume"))
    assert code == 0, said
    owners.see_same()


@pytest.mark.parametrize("victim", OWNERS)
def test_a_full_disk_at_one_owner(tmp_path: Path, victim: str) -> None:
    owners = Owners(tmp_path, more={"step_timeout": 6})
    running = {n: owners.start(n, first=DISK_IS_FULL if n == victim else "") for n in OWNERS}
    ends = {name: finished(process) for name, process in running.items()}
    [other] = {*OWNERS} - {victim}
    assert (ends[victim][0], ends[other][0]) == (2, 4), ends
    owners.see_nothing()


@pytest.mark.parametrize("victim", OWNERS)
def test_an_older_release_is_not_taken_for_the_new_one(tmp_path: Path, victim: str) -> None:
    owners = Owners(tmp_path, more={"step_timeout": 4})
    assert {end[0] for end in owners.integrate().values()} == {0}
    before = owners.public("card")
    owners.agree_on(POLICY.replace("k = 6", "k = 40"))
    words = ("--force", "--again")
    ends = killed_in_the_end(owners, victim, *words, first=DIES_AFTER_GO)
    assert ends[victim][0] == -9, ends
    code, _, said = finished(owners.start(victim, "--resume", *words))
    assert code == 0, said
    owners.see_same()
    assert owners.public("card") != before
    for name in OWNERS:
        run("party", "audit", owners.out(name))


OTHER_TREE = TAXONOMY.replace("White", "Weiss").replace("Blue", "Blau")
DIES_AFTER_ROUND_1 = DIES_AFTER_GO.replace('"go"', '"round 1"')
OTHER_VERSION = """
import reticent.version
reticent.version.__version__ = "0.0.0"
"""


@pytest.mark.parametrize("change", ["taxonomy", "version"])
@pytest.mark.parametrize("death", [DIES_AFTER_ROUND_1, DIES_AFTER_GO], ids=["round", "go"])
def test_nothing_else_appears_than_was_agreed(tmp_path: Path, death: str, change: str) -> None:
    """What an owner would make its table of has changed before it resumes."""
    owners = Owners(tmp_path, more={"step_timeout": 4})
    ends = killed_in_the_end(owners, "bank", first=death)
    assert (ends["bank"][0], ends["card"][0]) == (-9, 4 if death == DIES_AFTER_ROUND_1 else 0)
    tree = owners.folder / "bank" / "job.csv"
    tree.write_text(OTHER_TREE if change == "taxonomy" else TAXONOMY)
    first = OTHER_VERSION if change == "version" else ""
    if death == DIES_AFTER_GO:
        code, _, said = finished(owners.start("bank", "--resume", first=first))
    else:
        other = owners.start("card", "--resume", first=first)
        code, _, said = finished(owners.start("bank", "--resume", first=first))
        assert finished(other)[0] in (2, 4)
    assert (code, "have changed since the run was interrupted" in said) == (2, True), said
    assert not owners.out("bank").exists()
    tree.write_text(TAXONOMY)
    again = [name for name in OWNERS if (owners.folder / name / "out.run").exists()]
    running = [owners.start(name, "--resume") for name in again]
    assert [finished(process)[0] for process in running] == [0] * len(again)
    owners.see_same()


NO_ROOM_FOR_THE_TRANSCRIPT = """
import errno
from reticent.parties import participation
def full(*given, **named):
    raise OSError(errno.ENOSPC, "No space left on device")
participation.shutil.copytree = full
"""
NO_ROOM_FOR_THE_HEAD = """
from reticent.errors import InputError
from reticent.parties.transcript import Transcript
def full(*given):
    raise InputError("cannot write it: No space left on device")
Transcript.sign = full
"""


@pytest.mark.parametrize("fault", [NO_ROOM_FOR_THE_TRANSCRIPT, NO_ROOM_FOR_THE_HEAD])
def test_what_fails_when_the_table_stands_is_a_note(tmp_path: Path, fault: str) -> None:
    owners = Owners(tmp_path)
    ends = killed_in_the_end(owners, "card", first=fault)
    assert [end[0] for end in ends.values()] == [0, 0], ends
    assert "--resume then keeps it" in ends["card"][2]
    assert owners.public("bank") == owners.public("card")
    code, _, said = finished(owners.start("card", "--resume"))
    assert code == 0, said
    owners.see_same()
    run("party", "audit", owners.out("card"))


NO_ROOM = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({bytes}, {bytes}))
"""


@pytest.mark.parametrize("bytes", [3_000, 20_000, 60_000])
def test_a_full_disk_says_whether_one_can_go_on(tmp_path: Path, bytes: int) -> None:
    """Early on nothing is kept to go on with; later it is."""
    owners = Owners(tmp_path, more={"step_timeout": 6})
    ends = killed_in_the_end(owners, "card", first=NO_ROOM.format(bytes=bytes))
    assert (ends["card"][0], ends["bank"][0]) == (2, 4), ends
    assert "free some space" in ends["card"][2]
    kept = (owners.folder / "card" / "out.run").exists()
    assert ("--resume" in ends["card"][2]) == kept, ends
    owners.see_nothing()


def test_who_wants_fewer_steps_says_so_before_a_kill(tmp_path: Path) -> None:
    """The others go on: they hear nothing of it."""
    owners = Owners(tmp_path)
    bank = owners.start("bank", "--max-steps", "5", first=DIES_AFTER_ROUND_1)
    card = owners.start("card")
    assert finished(bank)[0] == -9
    code, _, said = finished(owners.start("bank", "--resume", "--max-steps", "1"))
    assert (code, "--max-steps 1 comes too late: all agreed on 5 steps" in said) == (2, True), said
    ends = {"bank": finished(owners.start("bank", "--resume", "--max-steps", "5"))}
    ends["card"] = finished(card)
    assert [end[0] for end in ends.values()] == [0, 0], ends
    owners.see_same()


OUT_OF_TIME = """
import time
from reticent.parties.session import Session
step = Session.step
def late(self, name, work):
    if name == "before round 2":
        self._end = time.monotonic()
    return step(self, name, work)
Session.step = late
"""


def test_a_run_goes_on_after_its_time_limit(tmp_path: Path) -> None:
    """The other owner hears whose limit it was; what was said of it is what runs say."""
    owners = Owners(tmp_path, more={"time_limit": 100})
    ends = killed_in_the_end(owners, "card", first=OUT_OF_TIME)
    assert [end[0] for end in ends.values()] == [4, 4], ends
    said = {name: " ".join(end[2].split()) for name, end in ends.items()}
    assert "bank, round 1: the run has reached its time limit of 100 seconds" in said["card"], said
    assert "card, round 1: it has reached its time limit of 100 seconds" in said["bank"], said
    assert all("with --resume where a folder OUTPUT.run stands" in words for words in said.values())
    owners.see_nothing()
    assert {end[0] for end in owners.integrate("--resume").values()} == {0}
    owners.see_same()


def test_a_run_goes_on_after_an_owner_began_anew_by_mistake(tmp_path: Path) -> None:
    owners = Owners(tmp_path)
    bank = owners.start("bank")
    assert finished(owners.start("card", first=DIES_AFTER_ROUND_1))[0] == -9
    anew = finished(owners.start("card", "-o", "elsewhere"))
    ends = {"bank": finished(bank), "card": anew}
    assert [end[0] for end in ends.values()] == [4, 4], ends
    assert "it was restarted without resuming" in ends["bank"][2]
    assert all("with --resume where a folder" in " ".join(end[2].split()) for end in ends.values())
    assert {end[0] for end in owners.integrate("--resume").values()} == {0}
    owners.see_same()


COMPUTES_LONG = """
import time
from reticent.joint import process
before = process.joint_table
def slow(*given, **named):
    time.sleep(8)
    return before(*given, **named)
process.joint_table = slow
"""


def test_signs_of_life_come_as_often_as_they_are_waited_for(tmp_path: Path) -> None:
    owners = Owners(tmp_path, more={"step_timeout": 3})
    ends = killed_in_the_end(owners, "card", first=COMPUTES_LONG)
    assert [end[0] for end in ends.values()] == [0, 0], ends
    owners.see_same()
