"""Commands as somebody at a terminal gives them, run in this process."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import count as counting
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from reticent.front.cli import app
from reticent.suppress.sets import Halt

ROOT = Path(__file__).parent.parent
SHELL = ("cat", "cut", "grep", "head", "ls", "printf", "sort", "tail", "uniq")


def run(*given: object, code: int | None = 0) -> Result:
    """Run a command, and see that it ends as expected, if anything is, and without a traceback."""
    result = CliRunner().invoke(app, [str(part) for part in given])
    assert code in (None, result.exit_code), (result.stdout, result.stderr, result.exception)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output
    return result


def shown(text: str) -> Iterator[tuple[str, str]]:
    """The commands of a page, each with what it is said to print."""
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for command, printed in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            yield command, printed.rstrip()


def lines(text: str) -> list[str]:
    """Without the blanks that tools put at either end of a line."""
    return [line.strip() for line in text.strip().splitlines()]


def replay(commands: Iterable[tuple[str, str]]) -> Counter[str]:
    """Run commands in the current folder, and see that each prints what it is said to.

    Returns how often each command of reticent was run.
    """
    code, told = 0, Counter[str]()
    for command, expected in commands:
        words = shlex.split(command)
        if words[0] == "reticent":
            result = CliRunner().invoke(app, words[1:])
            code = result.exit_code
            # Warnings come first on a terminal.
            assert lines(result.stderr + result.stdout) == lines(expected), command
            told[words[2] if words[1] in ("transactions", "entries", "tree") else words[1]] += 1
        elif command == "echo $?":
            assert expected == str(code)
        elif words[0] == "rm":
            shutil.rmtree(words[-1])
        elif words[0] == "python":
            done = subprocess.run(
                [sys.executable, *words[1:]], check=True, capture_output=True, text=True
            )
            assert lines(done.stdout) == lines(expected), command
        elif words[0] in SHELL:
            if not all(map(shutil.which, SHELL)):
                continue
            done = subprocess.run(
                command, shell=True, check=True, capture_output=True, text=True,
                env={**os.environ, "LC_ALL": "C"},
            )  # fmt: skip
            assert lines(done.stdout) == lines(expected), command
        else:
            assert words[0] in ("cd", "source"), command
    return told


def table_of(text: str, head: str) -> list[list[str]]:
    """The rows of a page's table below a line that begins like this."""
    below = text.partition(f"\n{head}")[2].splitlines()[2:]
    rows = [line.strip("| ").split(" | ") for line in below[: below.index("")]]
    return [[cell.strip() for cell in row] for row in rows]


def answer(*given: object, code: int = 0) -> Any:
    """What a command prints for machines: one line of JSON and nothing else."""
    result = run(*given, "--json", code=code)
    assert result.stdout.count("\n") == 1
    return json.loads(result.stdout)


def interrupted_everywhere(patch: pytest.MonkeyPatch, *given: object) -> Iterator[Result]:
    """Run a search with Ctrl-C at its first point of rest, at its second, and so on to its end.

    Nothing is written until there is something safe; from then on a release always is. Points of
    the main thread are counted: those of others come in any order, and it hears of them later.
    """
    ask, codes, early = Halt.now, list[int](), True
    for point in counting():
        asked = counting()

        def now(self: Halt, point: int = point, asked: Any = asked) -> bool:
            alone = threading.current_thread() is threading.main_thread()
            if alone and next(asked) == point:
                signal.raise_signal(signal.SIGINT)
            return ask(self)

        with patch.context() as inner:
            inner.setattr(Halt, "now", now)
            said = run(*given, "--json", code=None)
        codes.append(said.exit_code)
        assert said.exit_code in (0, 130)
        assert Path("out").exists() == (said.exit_code == 0)
        if said.exit_code == 0:
            early = json.loads(said.stdout)["stopped_early"]
            report = json.loads(Path("out/public/report.json").read_text(encoding="utf-8"))
            assert report["stopped_early"] == early
            yield said
            shutil.rmtree("out")
        if not early:
            break
    assert codes == sorted(codes, reverse=True)
    assert codes.count(0) > 2


def start(*given: object, program: list[str] | None = None, **how: Any) -> subprocess.Popen[str]:
    """Start a process to which Ctrl-C means what it means at a terminal."""
    program = program or [str(Path(sys.executable).with_name("reticent"))]
    return subprocess.Popen(
        [*program, *map(str, given)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler), **how,
    )  # fmt: skip


def finished(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """The exit code of a process that ended without a traceback, and what it printed."""
    try:
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()  # nothing, to one that has ended
    assert "Traceback" not in err
    return process.returncode, out, err
