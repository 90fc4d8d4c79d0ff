"""Owners that are killed at any moment, and go on: the same table everywhere in the end."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from joint.owners_at_work import OWNERS, End, Owners
from reticent.parties.state import State
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
            resume = ["--resume"] if (owners.folder / name / "out.run" / "state.json").exists() else []
            running[name] = owners.start(name, *resume)
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
