"""Arrays in files are arrays; what is sorted there is what would be sorted in memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reticent.data import memory
from reticent.data.collapse import distinct
from reticent.data.memory import Threads, alive, connect, spill_folder


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(memory, "SMALL", 0)
    return tmp_path


def test_arrays_in_files_leave_nothing_behind(files: Path) -> None:
    with memory.mapped(files):
        assert memory.is_mapped()
        array = memory.full((3, 4), 7, np.int32)
        array[1, 2] = 5
        other = memory.copy(array)
        array[0, 0] = 0
        assert other.tolist() == [[7, 7, 7, 7], [7, 7, 5, 7], [7, 7, 7, 7]]
        assert not os.listdir(files)  # they have no names
        assert memory.empty(0, np.int8).shape == (0,)
        codes = np.array([2, 0, 2], np.uint8)
        assert memory.look_up(np.array([10, 20, 30]), codes).tolist() == [30, 10, 30]
    assert not memory.is_mapped()
    assert array[1, 2] == 5  # and outlive their folder


def test_small_arrays_stay_in_memory(tmp_path: Path) -> None:
    with memory.mapped(tmp_path):
        assert memory.empty(10, np.int64).base is None
        assert memory.empty(memory.SMALL, np.int64).base is not None


@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_rows_are_collapsed_in_files_as_in_memory(data: st.DataObject, files: Path) -> None:
    rows = data.draw(st.integers(1, 40))
    sizes = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    columns = [
        np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=rows, max_size=rows)), np.uint8)
        for n in sizes
    ]
    counts = None
    if data.draw(st.booleans()):
        counts = np.array(data.draw(st.lists(st.integers(1, 9), min_size=rows, max_size=rows)))
    want = distinct(columns, sizes, counts, which=True)
    with memory.mapped(files):
        found = distinct(columns, sizes, counts, which=True)
    for a, b in zip((*want.columns, want.counts), (*found.columns, found.counts), strict=True):
        assert a.tolist() == b.tolist()
    assert found.rows is not None
    for kept, column in zip(found.columns, columns, strict=True):
        assert column[found.rows].tolist() == kept.tolist()


def test_each_thread_has_its_own_room_and_hands_it_on(files: Path) -> None:
    inside, seen = threading.Barrier(2, timeout=60), {}

    def work(name: str, place: Path | None) -> None:
        with memory.mapped(place) if place else nullcontext(), Threads(2) as pool:
            inside.wait()
            seen[name] = [memory.is_mapped(), *pool.map(lambda _: memory.is_mapped(), range(4))]
            inside.wait()

    threads = [
        threading.Thread(target=work, args=given) for given in (("files", files), ("memory", None))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {"files": [True] * 5, "memory": [False] * 5}
    assert not memory.is_mapped()


def test_only_folders_of_runs_that_are_gone_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    numbers = {process.pid: False, os.getpid(): True, os.getppid(): True, 10**30: False}
    assert {pid: alive(pid) for pid in numbers} == numbers
    for pid in numbers:
        (tmp_path / f"reticent-spill-{pid}-x").mkdir()
    (tmp_path / "reticent-spill-own-x").mkdir()
    with spill_folder() as ours:
        assert ours.parent == tmp_path
    kept = {f"reticent-spill-{name}-x" for name in (os.getpid(), os.getppid(), "own")}
    assert set(os.listdir(tmp_path)) == kept


def test_a_system_that_knows_of_no_affinity_has_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    with connect(tmp_path) as database:
        [threads] = database.sql("SELECT current_setting('threads')").fetchall()
    assert threads == (os.cpu_count(),)
