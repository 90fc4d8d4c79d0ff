"""Write `commands.md` from the commands' own help; `make docs` runs this."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer import Context
from typer.main import get_command

from reticent.front.cli import app

RETICENT = Path(sys.executable).with_name("reticent")

PROGRESS = """
`--progress json` is for programs that run a command: on the error stream, each line that is a JSON
object tells how far it is, with the seconds since its stage began and what a terminal shows:
`{"stage": "refine", "step": 12, "seconds": 1.4, "text": "…"}` or
`{"stage": "write", "done": 300, "of": 1000, "seconds": 0.8, "text": "…"}`.
A stage is told as it begins, and then at most five times a second. What others will learn, which
`integrate` says before anything is sent, is the stage `told`; in words it is a message, which
`--quiet` leaves out, as all but failures. Every other line is a message.
The last line, however the command ends, is `{"stage": "done", "exit": 0}` with its exit code.
SIGTERM ends a command: it exits with 143, and has written nothing unless it says so. SIGINT is
Ctrl-C: once a search has something that is safe to publish, it ends in a release of that (compiled
loops are heard when they return); anything else, or a second one, ends with 130.
"""


def names(group: Any = None, before: str = "") -> Iterator[str]:
    """Every command, subcommands included."""
    group = group or get_command(app)
    for name in group.list_commands(Context(group)):
        command = group.commands[name]
        if hasattr(command, "commands"):
            yield from names(command, f"{before}{name} ")
        else:
            yield before + name


def main() -> None:
    """Ask each command for its help and write the page."""
    page = "# Commands\n\nEach command's own `--help`. Exit codes: 0 done and verified; 1 a "
    page += "`verify` found a violation; 2 bad input, or not decidable; 3 no release can keep the "
    page += (
        "policy; 4 another owner failed, or broke the rules, or a search engine elsewhere did not "
    )
    page += "answer; 70 a fault of the program "
    page += "(nothing written); 130 stopped by the user.\n"
    page += PROGRESS
    for name in names():
        done = subprocess.run(
            [RETICENT, *name.split(), "--help"],
            capture_output=True,
            text=True,
            check=True,
            env={"COLUMNS": "100", "PATH": ""},
        )
        page += f"\n## reticent {name}\n\n```text\n{done.stdout.strip()}\n```\n"
    Path(__file__).with_name("commands.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
