"""Processes that die at a moment of their run, and go on until each has what it came for."""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from terminal import finished

End = tuple[int, str, str]  # exit code, stdout, stderr
# A moment is a message that is kept, a file that comes or goes. Those of a folder that is removed
# are told by their names alone.
MOMENTS = """
import os, re, signal, sys
from pathlib import Path
from reticent.parties.transcript import Transcript
passed = []
def moment():
    passed.append(None)
    if {counts}:
        Path("moments").write_text(str(len(passed)))
    if len(passed) == {number}:
        os.kill(os.getpid(), signal.SIGKILL)
append = Transcript.append
def appending(self, *given, **named):
    moment()
    return append(self, *given, **named)
Transcript.append = appending
FILES = ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir")
def seen(event, given):
    inside = event in ("os.remove", "os.rmdir") and given[1] != -1
    if event in FILES and (inside or re.match(r"(.*/)?[.]?out([./]|$)", str(given[0]))):
        moment()
sys.addaudithook(seen)
"""
COUNTS = MOMENTS.format(number=0, counts=True)
ALL_DONE = "if the output is of that run, all is done"


def dies_at(number: int) -> str:
    """What lets a process die at this moment, from 1."""
    return MOMENTS.format(number=number, counts=False)


def moments_of(folder: Path) -> int:
    """How many moments a run had whose `first` was COUNTS."""
    return int((folder / "moments").read_text())


def drawn(seed: int, counts: Mapping[str, int]) -> dict[str, int]:
    """When each is to die; every third time one of them lives, every second time one dies late."""
    rng = random.Random(seed)
    found = {name: rng.randrange(1, count + 1) for name, count in counts.items()}
    late = rng.choice([*counts])
    if seed % 2:
        found[late] = rng.randrange(counts[late] - 20, counts[late] + 1)
    if seed % 3 == 0:
        del found[rng.choice([name for name in counts if not (seed % 2 and name == late)])]
    return found


def until_done(
    folder: Path,
    start: Callable[..., subprocess.Popen[str]],
    names: Sequence[str],
    moments: Mapping[str, int],
    see: Callable[[], None],
) -> list[tuple[str, End]]:
    """Kill some at such moments, let whoever ended unwell resume at once, and `see` what stands.

    Returns how all ended, one after the other. One that died when nothing was left to do is told.
    """
    deaths = {name: dies_at(number) for name, number in moments.items()}
    running = {name: start(name, first=deaths.get(name, "")) for name in names}
    history: list[tuple[str, End]] = []
    end = time.monotonic() + 300
    while running:
        assert time.monotonic() < end, history
        time.sleep(0.02)
        for name in [name for name, process in running.items() if process.poll() is not None]:
            history.append((name, finished(running.pop(name))))
            see()
            code, _, said = history[-1][1]
            done = code == 0 or ALL_DONE in " ".join(said.split())
            if not done and [ended for ended, _ in history].count(name) < 5:
                place = folder / name
                state = (place / "out.run" / "state.json").exists()
                resumes = state or ((place / "out").exists() and not (place / "out.run").exists())
                running[name] = start(name, *(["--resume"] if resumes else []))
    return history


def came_through(history: Sequence[tuple[str, End]]) -> set[str]:
    """Who has what it came for, at the end of such a history."""
    for name, (code, _, said) in history:
        assert code in (0, 2, 4, -9), (name, said)
        assert code in (0, -9) or said.strip(), name
    return {name for name, (code, _, said) in history
            if code == 0 or ALL_DONE in " ".join(said.split())}  # fmt: skip
