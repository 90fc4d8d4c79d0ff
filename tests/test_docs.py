"""What the documentation shows is what happens."""

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from reticent import Policy, __version__, entries, release, transactions
from reticent.sample import make_sample
from terminal import replay, run, shown

ROOT = Path(__file__).parent.parent
RETICENT = Path(sys.executable).with_name("reticent")
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = sorted((ROOT / "examples").rglob("README.md"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *EXAMPLES]


def blocks(text: str, kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize("commands", [["risk", "release"], ["evaluate"]], ids=" ".join)
def test_the_readme_shows_real_output(work: Path, commands: list[str]) -> None:
    (work / "demo").mkdir()
    make_sample("census", 20000, 1, output="demo/people")  # what the demo makes
    if commands == ["evaluate"]:
        release("demo/people/census.csv", "demo/people/policy.toml", output="mine")
    shown = next(b for b in blocks(README, "console") if f"reticent {commands[0]} " in b)
    runs = re.findall(r"^\$ reticent (.*?)\n(.*?)(?=^\$ |\Z)", shown, re.DOTALL | re.MULTILINE)
    assert [words.split()[0] for words, _ in runs] == commands
    for words, expected in runs:
        done = subprocess.run(
            [RETICENT, *shlex.split(words)], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == expected.strip()


def test_three_steps_of_the_readme_work_on_a_table_of_patients(work: Path) -> None:
    make_sample("clinic", 1000, 1, output="patients.csv")
    commands = re.findall(r"^\$ reticent ([^#\n]*)", blocks(README, "console")[2], re.MULTILINE)
    assert len(commands) == 3
    for words in commands:
        subprocess.run([RETICENT, *shlex.split(words)], capture_output=True, check=True)
    assert (work / "release/public/data.csv").exists()


@pytest.mark.usefixtures("work")
def test_baskets_in_the_readme_are_real_output() -> None:
    section = README.partition("\n## Baskets and click streams\n")[2].partition("\n## ")[0]
    assert replay(shown(section)) == {"sample": 1, "release": 1}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_toml_blocks_are_policies(page: Path) -> None:
    for block in blocks(page.read_text(encoding="utf-8"), "toml"):
        told = tomllib.loads(block)
        if "conditions" in told:
            entries.Policy.parse(block)
        else:
            (transactions.Policy if "private" in told else Policy).parse(block)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / link).exists(), f"{page.name} links to {link}"


def test_every_command_is_in_the_reference() -> None:
    reference = (ROOT / "docs/reference/commands.md").read_text(encoding="utf-8")
    names = re.findall(r"^## reticent (.*)$", reference, re.MULTILINE)
    groups: dict[str, set[str]] = {name.split()[0]: set() for name in names}
    for name in names:
        groups[name.split()[0]] |= {*name.split()[1:]}
    for command in (*groups, ""):  # help of the whole lists all commands, of a group all of its
        said = run(*command.split(), "--help").stdout.partition("Commands:")[2]
        listed = {*re.findall(r"^  ([a-z]+) ", said, re.MULTILINE)}
        assert listed == (groups[command] if command else {*groups}), (
            "make docs brings it up to date"
        )
    for name in names:
        done = run(*name.split(), "--help")
        section = reference.partition(f"## reticent {name}\n")[2].partition("\n## ")[0]
        # Layout is the library's and may change with it; what can be said may not.
        for option in set(re.findall(r"--[a-z-]+", done.stdout)):
            assert option in section, f"make docs brings {name} up to date"


def test_changelog_knows_this_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\d\S*)", changelog, re.MULTILINE)[0] == __version__


def test_make_prints_help() -> None:
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    done = subprocess.run(["make", "-C", ROOT], capture_output=True, text=True, check=True)
    for target in ("demo", "test", "check", "bench"):
        assert f"make {target}" in done.stdout
