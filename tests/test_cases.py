r"""Every text file below tests/cases is a test: files, commands, and all that comes of them.

To add a test, add a file; `make cases` fills in what comes of its commands, for review. By line:

    # words for whoever reads it
    given people               the files in tests/cases/given/people are there
    --- policy.toml            a file; its lines follow, up to an empty one or the next sign
    $ reticent risk data.csv   a command; 2$ instead of $ if its exit code is 2
    ! Warning: ...             what it says on stderr
    | 40 rows.                 what it prints
    + out/public: data.csv     files that it wrote or changed
    - old.csv                  files that it removed

`reticent` runs in this process, after the shell commands before it, if any
(`printf 'a,b\n1,2\n' > t.csv && reticent ...`). Other commands run in a shell, and their files are
not listed, nor is what an index holds under random names. What is not written in a case did not
happen: all is compared to the letter. Only three things vary, and are replaced: the times in
`"seconds": {...}` by 0, the version after `reticent ` by VERSION, and the temporary folder by HERE.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest
from typer.testing import CliRunner

from at_hand import contents
from reticent import __version__
from reticent.front.cli import app

CASES = Path(__file__).parent / "cases"
FILES = sorted(path for path in CASES.rglob("*.txt") if "given" not in path.parts)
COMMAND = re.compile(r"(\d*)\$ (.+)")
OURS = re.compile(r"(?:(.+) && )?reticent(?: (.*))?")
RANDOM = re.compile(r"(^|/)g-[0-9a-f]{8}/")
SECONDS = re.compile(r'(?<="seconds": \{)[^}]*')


def steps(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each line that says what to do, with the lines that belong to it."""
    head, body = "# ", list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        in_file = head.startswith("--- ")
        begins = not line or line.startswith("--- ") or COMMAND.fullmatch(line)
        if begins or (not in_file and line.startswith(("# ", "given "))):
            yield head, body
            head, body = line, []
        elif in_file or (COMMAND.fullmatch(head) and re.match("[!|+-]( |$)", line)):
            body.append(line)
        else:
            raise ValueError(f"line {number} means nothing where it stands: {line}")
    yield head, body


def played(text: str, here: Path) -> str:
    """A case with what really comes of its commands; they run in `here`, the current folder."""
    told = list[str]()
    for head, body in list(steps(text))[1:]:
        command = COMMAND.fullmatch(head)
        if command:
            code, body = outcome(command[2], here)
            head = f"{code or ''}$ {command[2]}"
        elif head.startswith("--- "):
            (here / head[4:]).parent.mkdir(parents=True, exist_ok=True)
            (here / head[4:]).write_text("".join(f"{line}\n" for line in body), encoding="utf-8")
        elif head.startswith("given "):
            shutil.copytree(CASES / "given" / head[6:], here, dirs_exist_ok=True)
        told += [head, *body]
    assert any(map(COMMAND.fullmatch, told)), "a case without a command"
    return "\n".join(told) + "\n"


def outcome(command: str, here: Path) -> tuple[int, list[str]]:
    """The exit code of a command, and all that it says and does to files."""
    ours = OURS.fullmatch(command)
    shell = ours[1] if ours else command
    if shell:
        env = {**os.environ, "LC_ALL": "C"}
        done = subprocess.run(shell, shell=True, capture_output=True, text=True, env=env)
        if not ours:
            return done.returncode, [
                *marked("!", done.stderr, here),
                *marked("|", done.stdout, here),
            ]
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), command
    before = contents(here)
    assert ours
    result = CliRunner().invoke(app, shlex.split(ours[2] or ""))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    said = marked("!", result.stderr, here) + marked("|", result.stdout, here)
    after = contents(here)
    written = {path for path in after if after[path] != before.get(path)}
    return result.exit_code, [*said, *listed("+", written), *listed("-", before.keys() - after)]


def marked(sign: str, text: str, here: Path) -> list[str]:
    """Lines of output as they stand in a case."""
    text = SECONDS.sub(lambda found: re.sub(r"\d+\.\d+", "0", found[0]), text)
    text = text.replace(f"reticent {__version__}", "reticent VERSION").replace(str(here), "HERE")
    return [f"{sign} {line}" if line else sign for line in text.splitlines()]


def listed(sign: str, paths: set[str]) -> Iterator[str]:
    """A line for each folder that files are in."""
    named = [Path(path) for path in paths if not RANDOM.search(path)]
    for folder, group in groupby(sorted(named), key=lambda path: path.parent):
        names = " ".join(path.name for path in group)
        yield f"{sign} {names}" if folder == Path() else f"{sign} {folder}: {names}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(CASES))[:-4])
def test_case(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    text = path.read_text(encoding="utf-8")
    found = played(text, tmp_path)
    if os.environ.get("RETICENT_REWRITE_CASES") == "1":
        path.write_text(found, encoding="utf-8")
    else:
        assert found == text


RIGHT = """\
# A table of two rows.
--- t.csv
A
x
y

$ reticent init t.csv -o p.toml --quiet
+ p.toml
2$ rm t.csv && reticent init t.csv
! t.csv: there is no such file
$ wc -l < p.toml | tr -d ' '
| 23
"""


def test_a_case_is_compared_to_the_letter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is changed in what is expected is put right, so the case would have failed."""
    lines = RIGHT.splitlines(keepends=True)
    outcomes = [i for i, line in enumerate(lines) if line[0] in "!|+2"]
    wrong = ["".join(lines[:i] + lines[i + 1 :]) for i in outcomes if lines[i][0] != "2"]
    wrong += [RIGHT.replace("no such", "such a"), RIGHT.replace("2$", "$"), RIGHT + "- t.csv\n"]
    for number, text in enumerate([RIGHT, *wrong]):
        here = tmp_path / str(number)
        here.mkdir()
        monkeypatch.chdir(here)
        assert played(text, here) == RIGHT
    assert len({RIGHT, *wrong}) == 7


@pytest.mark.parametrize(
    "text",
    [
        "-- t.csv\nA\n", "$reticent init\n", "$ ls\n> t.csv\n", "| 13\n", "#x\n", "x$ ls\n",
        "\n! x\n",
    ],
)  # fmt: skip
def test_a_case_with_a_typo_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="means nothing where it stands"):
        played(text, tmp_path)


def test_a_case_without_a_command_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="without a command"):
        played("# A table.\n--- t.csv\nA\n", tmp_path)


def test_only_what_varies_is_replaced(tmp_path: Path) -> None:
    text = (
        f'{{"rows": 0.5, "seconds": {{"read": 0.25}}}} {tmp_path}/a reticent {__version__} in 0.5'
    )
    assert marked("|", text, tmp_path) == [
        '| {"rows": 0.5, "seconds": {"read": 0}} HERE/a reticent VERSION in 0.5'
    ]
