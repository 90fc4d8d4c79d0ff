"""Owners that are killed at any moment, and go on: the same table everywhere in the end."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from joint.owners_at_work import OWNERS, End, Owners
from terminal import finished

pytestmark = [pytest.mark.net, pytest.mark.slow]


def killed_once(owners: Owners, rng: random.Random) -> list[dict[str, End]]:
    """Kill one owner at some moment, let whoever ended unwell resume; how all ended, each time."""
    victim = rng.choice(OWNERS)
    running = {name: owners.start(name) for name in OWNERS}
    time.sleep(rng.uniform(0.3, 3.5))
    running[victim].kill()
    running[victim].communicate()
    history: list[dict[str, End]] = []
    ends: dict[str, End] = {}
    for _ in range(4):
        for name in OWNERS:
            if name in running and running[name].returncode is None and name != victim:
                continue
            if name in ends and ends[name][0] == 0:
                continue
            begun = (owners.folder / name / "out.run").exists()
            if owners.out(name).exists() and not begun:
                ends[name] = (0, "", "")
                continue
            known = (owners.folder / name / "out.run" / "state.json").exists()
            running[name] = owners.start(name, *(["--resume"] if known else []))
        victim = ""
        for name in OWNERS:
            if ends.get(name, (1,))[0] != 0:
                ends[name] = finished(running[name])
        history.append(dict(ends))
        if all(end[0] == 0 for end in ends.values()):
            break
    return history


def see_whole(owners: Owners, history: list[dict[str, End]]) -> None:
    for ends in history:
        for name in OWNERS:
            code, _, said = ends[name]
            assert code in (0, 2, 4), said
            assert code == 0 or said.strip(), name
    assert [history[-1][name][0] for name in OWNERS] == [0, 0], history
    owners.see_same()


@pytest.mark.parametrize("seed", range(12))
def test_a_kill_at_any_moment(tmp_path: Path, seed: int) -> None:
    owners = Owners(tmp_path, more={"meet_timeout": 8, "step_timeout": 8})
    see_whole(owners, killed_once(owners, random.Random(seed)))


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
from reticent.joint import process
process._Owner._put_away = lambda *given: os.kill(os.getpid(), signal.SIGKILL)
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
