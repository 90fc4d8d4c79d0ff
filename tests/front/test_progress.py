"""How far a command is, as somebody at a terminal sees it and as a program reads it."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from reticent import Watch, front
from reticent.tables import flow
from reticent.terminal import progress, signals
from terminal import run, start

POLICY = """\
keep = ["Sick"]
[attributes.Job]
mask = "generalize"
taxonomy = { ANY = { Low = ["Cook", "Clerk"], Boss = {} } }
[[anonymity]]
over = ["Job"]
k = 3
"""
ASKED = ("--progress", "json")


@pytest.fixture(autouse=True)
def data(work: Path) -> None:
    lines = [f"{('Cook', 'Clerk', 'Boss')[i % 3]},{'yn'[i % 4 == 0]}\n" for i in range(40)]
    Path("data.csv").write_text("Job,Sick\n" + "".join(lines))
    Path("policy.toml").write_text(POLICY)


def told(text: str) -> list[dict[str, Any]]:
    """The objects among the lines; others are messages."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def release(*given: object, code: int = 0) -> Any:
    return run("release", "data.csv", "-p", "policy.toml", "-o", "out", *given, code=code)


# --- lines of JSON -------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [ASKED, ("--progress=json",), ("--quiet", *ASKED)])
def test_every_stage_is_a_line_and_the_end_is_the_last(asked: tuple[str, ...]) -> None:
    result = release(*asked, "--json")
    events = told(result.stderr)
    assert len(events) == result.stderr.count("\n")
    assert events[-1] == {"stage": "done", "exit": 0}
    stages = [event["stage"] for event in events[:-1]]
    wanted = ["read", "encode", "refine", "compare cuts", "mask", "write", "verify", "judge"]
    wanted.append("describe")
    assert list(dict.fromkeys(stages)) == wanted
    for event in events[:-1]:
        assert set(event) <= {"stage", "step", "done", "of", "seconds", "text"}
        assert event["seconds"] >= 0
        assert event["text"]
    assert json.loads(result.stdout)["rows_out"] == 40


def test_without_being_asked_a_pipe_hears_nothing() -> None:
    for asked in ((), ("--progress", "auto"), ("--progress", "none")):
        assert release("--force", *asked).stderr == ""


@pytest.mark.parametrize(
    "words",
    [
        "risk data.csv -p policy.toml",
        "policy check policy.toml data.csv",
        "policy schema",
        "init data.csv",
        "sample clinic -o clinic.csv",
    ],
)
def test_every_command_tells_its_end(words: str) -> None:
    assert told(run(*words.split(), *ASKED).stderr)[-1] == {"stage": "done", "exit": 0}


def test_a_sweep_tells_which_release_it_is_at() -> None:
    result = run(
        "sweep", "data.csv", "-p", "policy.toml", "-o", "swept", "--k", "2,5", *ASKED, "--quiet"
    )
    at = [event["text"] for event in told(result.stderr) if event["stage"] == "release"]
    assert at[1::2] == ["releasing (k-2, 1 of 2)", "releasing (k-5, 2 of 2)"]


def raising(error: BaseException) -> Callable[..., Any]:
    def fail(*given: Any, **how: Any) -> Any:
        raise error

    return fail


def ended_by(number: int) -> Callable[..., Any]:
    return lambda *given, **how: signal.raise_signal(number)


@pytest.mark.parametrize(
    ("code", "instead"),
    [
        (70, raising(RuntimeError("SECRETxyz1"))),
        (2, raising(MemoryError())),
        (130, raising(KeyboardInterrupt())),
        (130, ended_by(signal.SIGINT)),
        (143, ended_by(signal.SIGTERM)),
    ],
)
def test_every_end_is_told(
    code: int, instead: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flow, "_load_engine", instead)
    result = release(*ASKED, code=code)
    last = result.stderr.splitlines()[-1]
    assert json.loads(last) == {"stage": "done", "exit": code}
    assert "SECRETxyz1" not in result.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("release none.csv -p policy.toml -o out", 2),
        ("release data.csv -p policy.toml -o out --nonsense", 2),
        ("release data.csv -p policy.toml", 2),
        ("nonsense", 2),
        ("release data.csv -p harsh.toml -o out", 3),
        ("verify data.csv -p fine.toml", 1),
    ],
)
def test_refusals_are_told_as_ever_and_the_end_besides(words: str, code: int) -> None:
    Path("harsh.toml").write_text(POLICY.replace("k = 3", "k = 41"))
    Path("fine.toml").write_text('[[anonymity]]\nover = ["Job", "Sick"]\nk = 30\n')
    without = run(*words.split(), code=code)
    result = run(*words.split(), *ASKED, code=code)
    *before, last = result.stderr.splitlines()
    assert json.loads(last) == {"stage": "done", "exit": code}
    assert [line for line in before if not line.startswith("{")] == without.stderr.splitlines()
    assert result.stdout == without.stdout


def test_no_line_holds_a_cell() -> None:
    cells = [f"SECRET{i % 4}" for i in range(40)]
    Path("data.csv").write_text("Job,Sick\n" + "".join(f"{cell},{cell}\n" for cell in cells))
    Path("policy.toml").write_text(
        'keep = ["Sick"]\n[attributes.Job]\nmask = "suppress"\n[[anonymity]]\nover = ["Job"]\nk = 3\n'
    )
    assert "SECRET" not in release(*ASKED, "--engine", "duckdb").stderr


# --- one source, two voices ----------------------------------------------------------------------


class Clock:
    """A time that passes as it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setattr(progress, "time", clock := Clock())
    return clock


def test_a_stage_is_told_at_once_and_the_rest_now_and_then(clock: Clock) -> None:
    events: list[dict[str, Any]] = []
    shown = progress.Progress(events.append, {"refine": "looking"})
    shown.stage("refine")
    for number in range(1, 10_001):  # of a second
        clock.now += 0.0001
        shown.step(number, [3, 0.5])
    shown.stage("write")
    shown.tell("")
    shown.tell("a word")
    clock.now += 2
    shown.rows(0, 1000)
    shown.rows(400, 1000)
    shown.rows(500, 1000)
    shown.stage("own")
    assert events[0] == {"stage": "refine", "seconds": 0.0, "text": "looking"}
    steps, rest = events[1:-4], events[-4:]
    assert 4 <= len(steps) <= 5
    assert all(event["text"].startswith("revealing: ") for event in steps)
    assert steps[0]["step"] == pytest.approx(2000, abs=2)
    assert rest == [
        {"stage": "write", "seconds": 0.0, "text": "writing"},
        {"stage": "write", "seconds": 0.0, "text": "writing (a word)"},
        {
            "stage": "write", "done": 400, "of": 1000, "seconds": 2.0,
            "text": "writing: 40%, 200 rows a second, about 3 s left",
        },
        {"stage": "own", "seconds": 0.0, "text": "own"},
    ]  # fmt: skip


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("quiet", [False, True])
@pytest.mark.parametrize("how", ["auto", "json", "none"])
def test_a_bar_shows_where_somebody_looks(
    how: str, quiet: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", screen := Screen())
    monkeypatch.setenv("TERM", "xterm")
    with progress.shown(how, {"refine": "looking for it"}, quiet=quiet) as shown:
        shown.stage("refine")
        time.sleep(0.2)
    shown.stage("late")
    said = screen.getvalue()
    assert "late" not in said
    if how == "json":
        assert told(said) == [{"stage": "refine", "seconds": 0.0, "text": "looking for it"}]
    elif how == "auto" and not quiet:
        assert "looking for it" in said
        assert "{" not in said
    else:
        assert said == ""


@pytest.mark.parametrize("stream", [None, "closed", "full"])
def test_a_reader_who_has_gone_changes_nothing(
    stream: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(io.StringIO):
        def write(self, text: str, /) -> int:
            raise BrokenPipeError

    gone = Full()
    if stream == "closed":
        gone.close()
    monkeypatch.setattr(sys, "stderr", gone if stream else None)
    with progress.shown("json", {}, quiet=False) as shown:
        shown.stage("read")
    progress.ended(ASKED, 0)


def test_ctrl_c_asks_once_and_then_ends() -> None:
    said: list[str] = []
    before = signal.getsignal(signal.SIGINT)
    with signals.asking(lambda: said.append("stopping")) as asked:
        with pytest.raises(KeyboardInterrupt):  # there is nothing to write yet
            signal.raise_signal(signal.SIGINT)
        asked.start()
        signal.raise_signal(signal.SIGINT)
        assert (asked.stop, said) == (True, ["stopping"])
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    signals.heard.clear()
    assert signal.getsignal(signal.SIGINT) == before


def test_python_hears_the_same(tmp_path: Path) -> None:
    heard: list[str] = []
    watch = Watch(stage=heard.append, tell=lambda words: heard.append(f"({words})"))
    flow.release("data.csv", "policy.toml", watch=watch)
    assert heard[:3] == ["read", "encode", "refine"]


@pytest.mark.parametrize(
    ("words", "lean"),
    [
        ("release data.csv -p policy.toml -o out", True),
        ("verify out -p policy.toml", True),
        ("entries release data.csv", True),
        ("transactions risk data.dat", True),
        ("release data.csv --engine spark", False),
        ("release data.csv --engine=spark", False),
        ("risk sqlite:///data.db --table t", False),
        ("evaluate data.csv out", False),
        ("transactions evaluate data.dat out", False),
        ("init data.csv", True),
        ("policy check policy.toml", True),
        ("new-one", False),
        ("", False),
    ],
)
def test_only_quick_commands_do_without_pandas(words: str, lean: bool) -> None:
    assert front._is_lean(words.split()) is lean


# --- real processes ------------------------------------------------------------------------------


@pytest.fixture
def waiting() -> Iterator[Any]:
    """A release that waits for its table."""
    os.mkfifo("pipe.csv")
    words = ["release", "pipe.csv", "-p", "policy.toml", "-o", "out", *ASKED]
    with start(*words) as process:
        yield process
        process.kill()


@pytest.mark.net
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_program_follows_a_command_and_ends_it(waiting: Any, number: int, code: int) -> None:
    first = json.loads(waiting.stderr.readline())
    assert first["stage"] == "read"
    waiting.send_signal(number)
    out, err = waiting.communicate(timeout=120)
    assert (waiting.returncode, out) == (code, "")
    assert "Stopped; nothing was written." in err
    assert json.loads(err.splitlines()[-1]) == {"stage": "done", "exit": code}
    assert not Path("out").exists()


@pytest.mark.net
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_one_that_is_ended_while_it_loads_tells_so(number: int, code: int) -> None:
    program = f"""
import signal, sys
class Ending:
    def find_spec(name, path=None, target=None):
        if name == "reticent.front.cli":
            signal.raise_signal({int(number)})
sys.meta_path.insert(0, Ending)
from reticent.front import main
main()
"""
    command = [sys.executable, "-c", program]
    with start("risk", "data.csv", "-p", "policy.toml", *ASKED, program=command) as process:
        out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (code, "")
    assert told(err) == [{"stage": "done", "exit": code}]
    assert err.count("\n") == 1
