"""An owner dies between any two events from ready to the end, and the other one has left before it
comes back: whoever was killed resumes, then whoever kept its state, and both have the same table.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from joint.owners_at_work import LOSES_PATIENCE, OWNERS, THREE, End, Owners
from terminal import finished, run

pytestmark = [pytest.mark.net, pytest.mark.slow]

# Moments are counted from the one before an owner writes down what it is ready for. What is kept in
# its state and transcript is a moment, and so are renames, putting away and forgetting.
DIES_IN_THE_END = """
import os, re, signal, sys
from reticent.joint import process
from reticent.parties.participation import Participation
from reticent.parties.state import State
from reticent.parties.transcript import Transcript
left, begun = [{number}], []
def moment():
    if begun:
        left[0] -= 1
        if left[0] == 0:
            open("../died", "x").close()
            os.kill(os.getpid(), signal.SIGKILL)
def before(kind, name):
    true = getattr(kind, name)
    def dying(*given, **named):
        if named.get("ready"):
            begun.append(True)
        moment()
        return true(*given, **named)
    setattr(kind, name, dying)
for kind, name in ((State, "save"), (State, "finish"), (Transcript, "append"),
                   (Participation, "_put_away"), (State, "forget")):
    before(kind, name)
sys.addaudithook(lambda event, given: moment()
    if event == "os.rename" and re.match(r"(.*/)?[.]?out([./]|$)", str(given[0])) else None)
"""
LAST = 22  # no owner of two has so many
# Every second one of each owner; with RETICENT_KILLS=100 (`make kills`) every one.
STEP = 1 if int(os.environ.get("RETICENT_KILLS", "10")) >= 100 else 2


def patient(owners: Owners, seconds: int, step: int = 3) -> None:
    """How long all wait for the others to start, and for each other then."""
    for name in owners.columns:
        path = owners.folder / name / "party.toml"
        text = re.sub(r"meet_timeout = \d+\n", f"meet_timeout = {seconds}\n", path.read_text())
        path.write_text(re.sub(r"step_timeout = \d+\n", f"step_timeout = {step}\n", text))


def die_in_the_end(owners: Owners, victim: str, number: int) -> dict[str, End]:
    """One dies, and the others do not wait long for it: how all ended."""
    deaths = dict.fromkeys(owners.columns, LOSES_PATIENCE)
    deaths[victim] = DIES_IN_THE_END.format(number=number)
    running = {name: owners.start(name, first=first) for name, first in deaths.items()}
    return {name: finished(process) for name, process in running.items()}


def with_state(owners: Owners) -> list[str]:
    return [name for name in owners.columns if (owners.folder / name / "out.run").exists()]


@pytest.mark.parametrize(
    ("victim", "number"),
    [(victim, n) for i, victim in enumerate(OWNERS) for n in range(1 + i % STEP, LAST + 1, STEP)],
)
def test_every_window_ends_in_one_table(tmp_path: Path, victim: str, number: int) -> None:
    owners = Owners(tmp_path, more={"meet_timeout": 30, "step_timeout": 10})
    ends = die_in_the_end(owners, victim, number)
    owners.see_whole_or_nothing()
    [other] = {*OWNERS} - {victim}
    if ends[victim][0] == 0:
        assert number > 8, "nobody died"
        owners.see_same()
        return
    assert number < LAST, "there are more moments"
    assert (ends[victim][0], ends[other][0] in (0, 4)) == (-9, True), ends
    patient(owners, 4)
    code, _, said = finished(owners.start(victim, "--resume"))
    owners.see_whole_or_nothing()
    assert code in (0, 4), said
    if code == 4 and ends[other][0] == 0:  # it cannot know, and is told how it can
        assert f"{victim} did not say" in ends[other][2]
        assert "--resume there and here" in ends[other][2]
        assert "may stand elsewhere" in said
        assert with_state(owners) == [*OWNERS]
    patient(owners, 15, 6)  # both start at the same time, and a busy machine is slow to
    running = {name: owners.start(name, "--resume") for name in with_state(owners)}
    later = {name: finished(process) for name, process in running.items()}
    assert {end[0] for end in later.values()} <= {0}, (ends, code, said, later)
    assert owners.public("bank") == owners.public("card")
    # Who has decided, and cannot know that all have heard it, stays ready to answer.
    assert with_state(owners) in ([], ["bank"])
    for name in OWNERS:
        assert run("verify", owners.out(name)).exit_code == 0
        audited = run("party", "audit", owners.out(name))
        assert audited.exit_code == 0, audited.output
    owners.see_no_leftovers()


@pytest.mark.parametrize(("victim", "number"), [("bank", 6), ("card", 3), ("clinic", 5)])
def test_one_of_three_dies_in_the_end(tmp_path: Path, victim: str, number: int) -> None:
    """An owner that has all it needs is gone when another one asks; the first one answers alone."""
    more = {"meet_timeout": 30, "step_timeout": 10}
    owners = Owners(tmp_path, more=more, columns=THREE)
    ends = die_in_the_end(owners, victim, number)
    assert ends[victim][0] == -9, ends
    patient(owners, 15, 6)
    for _ in range(2):
        running = {name: owners.start(name, "--resume") for name in with_state(owners)}
        ends = {name: finished(process) for name, process in running.items()}
    assert {end[0] for end in ends.values()} <= {0}, ends
    assert owners.public("bank") == owners.public("card") == owners.public("clinic")
    assert with_state(owners) in ([], ["bank"])
