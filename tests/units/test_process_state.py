"""What a server calls within its own process changes nothing of that process.

A command is a process of its own, and may do what it likes to it. Checks of policies, recounts and
pages are called by several threads at once, and give the same answers as one after the other.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from kinds_at_hand import EXAMPLES, KindExample
from reticent.data import memory
from reticent.tables import flow, pages

POLICY = """\
[attributes.Job]
mask = "generalize"
taxonomy = { ANY = { Low = ["Cook", "Clerk"], Boss = {} } }
[[anonymity]]
over = ["Job"]
k = 3
[[confidence]]
over = ["Job"]
sensitive = { Sick = ["y"] }
at_most = 0.9
"""


def state() -> dict[str, Any]:
    """What all threads of a process share, and libraries have no business with."""
    mask = os.umask(0o022)
    os.umask(mask)
    return {
        "umask": mask,
        "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "imports": [*sys.meta_path],
        "path": [*sys.path],
        "hooks": (sys.excepthook, sys.unraisablehook, threading.excepthook),
        "gc": (gc.isenabled(), gc.get_threshold()),
        "environment": dict(os.environ),
        "folder": Path.cwd(),
    }


def asked_of(example: KindExample, folder: Path) -> list[Callable[[], Any]]:
    """The same questions about any kind of release."""
    here = folder / example.kind.room
    here.mkdir()
    example.lay(here)
    with contextlib.chdir(here):
        example.make("out")
    door, policy, released = example.kind.door(), here / "p.toml", example.by_python(here)
    drawn = import_module(f"reticent.{example.kind.room}.pages")
    return [
        lambda: door.check(policy, *(here / name for name in example.fits)),
        lambda: door.verify(here / "out", policy).holds,
        lambda: drawn.public(released),
        lambda: drawn.private(released),
    ]


@pytest.fixture
def questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], Any]]:
    """What a server may be asked."""
    jobs = ("Cook", "Clerk", "Boss")
    lines = [f"{jobs[i % 3]},{'yn'[i % 4 == 0]}\n" for i in range(240)]
    data, policy, other = tmp_path / "data.csv", tmp_path / "a.toml", tmp_path / "b.toml"
    data.write_text("Job,Sick\n" + "".join(lines))
    policy.write_text(POLICY)
    other.write_text(POLICY.replace("k = 3", "k = 90"))
    release = flow.release(data, policy)
    monkeypatch.setattr(memory, "SMALL", 0)  # every array goes to files, where they are asked for

    def verified(policy: Path, **how: Any) -> Any:
        proof = flow.verify(data, policy, **how)
        return proof.rows, proof.holds, [finding.value for finding in proof.findings]

    in_files: dict[str, Any] = {"engine": "duckdb", "engine_options": {"counts": "files"}}
    return [
        lambda: flow.check(policy),
        lambda: flow.check(other, data, **in_files),
        lambda: verified(policy),
        lambda: verified(other),
        lambda: verified(policy, engine="duckdb"),
        lambda: verified(other, memory_limit="600MB", **in_files),
        lambda: pages.public(release),
        lambda: pages.private(release),
        *(question for example in EXAMPLES.values() for question in asked_of(example, tmp_path)),
    ]


def test_many_at_once_are_answered_as_one_after_the_other(
    questions: list[Callable[[], Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = state()
    with monkeypatch.context() as patch:
        for owner, name in (
            (os, "umask"), (os, "chdir"), (os, "putenv"), (os, "unsetenv"), (os, "_exit"),
            (signal, "signal"), (gc, "disable"), (gc, "freeze"),
        ):  # fmt: skip
            patch.setattr(owner, name, _forbidden(name))
        want = [question() for question in questions]
        with ThreadPoolExecutor(len(questions)) as pool:
            asked = [pool.submit(question) for _ in range(4) for question in questions]
            found = [one.result() for one in asked]
    assert found == want * 4
    assert [holds for _, holds, _ in want[2:6]] == [True, False, True, False]
    assert state() == before
    assert not memory.is_mapped()


def _forbidden(name: str) -> Callable[..., Any]:
    def fail(*given: Any, **how: Any) -> Any:
        raise AssertionError(f"{name} was called")

    return fail
