"""Owners that are killed at any moment, and go on: the same table everywhere in the end."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from joint.owners_at_work import DIES_AT, OWNERS, End, Owners
from terminal import finished

pytestmark = [pytest.mark.net, pytest.mark.slow]


MOMENTS = 140  # of a run: every message that is kept, every file and folder that comes or goes


def killed(owners: Owners, moments: Mapping[str, int]) -> list[tuple[str, End]]:
    """Kill owners at such moments, and let whoever ended unwell resume at once; how all ended."""
    deaths = {name: DIES_AT.format(number=number) for name, number in moments.items()}
    running = {name: owners.start(name, first=deaths.get(name, "")) for name in OWNERS}
    history: list[tuple[str, End]] = []
    while running:
        time.sleep(0.02)
        for name in [name for name, process in running.items() if process.poll() is not None]:
            history.append((name, finished(running.pop(name))))
            owners.see_whole_or_nothing()
            if history[-1][1][0] != 0 and [ended for ended, _ in history].count(name) < 5:
                known = (owners.folder / name / "out.run" / "state.json").exists()
                running[name] = owners.start(name, *(["--resume"] if known else []))
    return history


# Ten moments; RETICENT_KILLS=100 has a hundred.
@pytest.mark.parametrize("seed", range(int(os.environ.get("RETICENT_KILLS", "10"))))
def test_a_kill_at_any_moment(tmp_path: Path, seed: int) -> None:
    """Every third time of one owner, else of both."""
    rng = random.Random(seed)
    moments = {name: rng.randrange(1, MOMENTS) for name in OWNERS}
    if seed % 3 == 0:
        del moments[rng.choice(OWNERS)]
    owners = Owners(tmp_path, more={"meet_timeout": 8, "step_timeout": 8})
    history = killed(owners, moments)
    assert [end[0] for _, end in history].count(-9) == len(moments), history
    for name, (code, _, said) in history:
        assert code in (0, 2, 4, -9), (name, said)
        assert code in (0, -9) or said.strip(), name
    assert {name for name, end in history if end[0] == 0} == {*OWNERS}, history
    owners.see_same()


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
