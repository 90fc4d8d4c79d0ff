"""Write `commands.md` from the commands' own help; `make docs` runs this."""

import subprocess
import sys
from pathlib import Path

from reticent.front.cli import app

RETICENT = Path(sys.executable).with_name("reticent")


def names() -> list[str]:
    """Every command, subcommands included."""
    found = [str(command.name) for command in app.registered_commands]
    for group in app.registered_groups:
        assert group.typer_instance is not None
        found += [f"{group.name} {c.name}" for c in group.typer_instance.registered_commands]
    return found


def main() -> None:
    """Ask each command for its help and write the page."""
    page = "# Commands\n\nEach command's own `--help`. Exit codes: 0 done and verified; 1 a "
    page += "`verify` found a violation; 2 bad input, or not decidable; 3 no release can keep the "
    page += "policy; 70 a fault of the program (nothing written); 130 stopped by the user.\n"
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
