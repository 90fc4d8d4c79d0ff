"""A bank and a card company on one laptop: the tutorial, played by two processes."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import reticent
from parties_net_at_hand import free_ports
from reticent.joint.policy import JointPolicy
from terminal import ROOT, finished, lines, shown

EXAMPLE = ROOT / "examples/two_owners"
TUTORIAL = ROOT / "docs/tutorials/two-owners.md"
README = ROOT / "README.md"
OWNERS = ("bank", "card")
JOINED = ("Job", "Age", "Home", "Limit")
PROGRAM = [sys.executable, "-c", "from reticent.front import main; main()"]


def copied(folder: Path) -> Path:
    """The example as a fresh checkout has it, on ports that are free."""
    made = shutil.ignore_patterns("release*", "identity", "__pycache__")
    shutil.copytree(EXAMPLE, folder, ignore=made, dirs_exist_ok=True)
    ports = dict(zip(("7001", "7002"), map(str, free_ports(2)), strict=True))
    for path in folder.glob("*/party*.toml"):
        text = re.sub(r"700[12]", lambda found: ports[found[0]], path.read_text("utf-8"))
        path.write_text(text, encoding="utf-8")
    return folder


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    """What somebody types in the folder of an owner."""
    return subprocess.Popen(
        [*PROGRAM, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip


def alone(folder: Path, *words: str, code: int = 0) -> str:
    ended, out, err = finished(start(folder, *words))
    assert ended == code, err
    return err + out


def both(folder: Path, *words: str) -> dict[str, str]:
    running = {name: start(folder / name, *words) for name in OWNERS}
    ended = {name: finished(process) for name, process in running.items()}
    assert [code for code, _, _ in ended.values()] == [0, 0], ended
    return {name: err + out for name, (_, out, err) in ended.items()}


def public(release: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (release / "public").iterdir()}


@pytest.mark.net
def test_the_tutorial_is_played(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    said: dict[str, list[str]] = {}

    def note(command: str, *told: str) -> None:
        said.setdefault(f"reticent {command}", []).extend(map(_nameless, told))

    for name in OWNERS:
        init = f"party init {name} -o identity"
        note(init, alone(folder / name, *init.split()))
    for command in (
        "party check party.toml",
        "integrate party.toml --dry-run",
        "integrate party.toml",
    ):
        note(command, *both(folder, *command.split()).values())
    note("verify release", alone(folder / "bank", "verify", "release"))
    audited = alone(folder / "bank", "party", "audit", "release")
    assert "messages say follows from the release" in audited
    assert "$ reticent party audit release" in TUTORIAL.read_text("utf-8")

    released = {name: public(folder / name / "release") for name in OWNERS}
    assert released["bank"] == released["card"]
    assert released["bank"]["data.csv"] == released_alone(folder)
    assert not [*folder.glob("*/*.run")]
    pages_are_quoted(folder)
    [(command, printed)] = [(c, t) for c, t in shown(TUTORIAL.read_text("utf-8")) if "grep" in c]
    found = subprocess.run(command.split(), cwd=folder / "bank", capture_output=True, text=True)
    assert lines(found.stdout) == lines(printed)

    # A second table of the same people: refused, and for a reason.
    note("integrate party-later.toml", alone(
        folder / "bank", "integrate", "party-later.toml", code=2
    ))  # fmt: skip
    note("integrate party-later.toml --again", *both(
        folder, "integrate", "party-later.toml", "--again"
    ).values())  # fmt: skip
    crowds = seen_twice(folder / "bank")
    below = sum(crowd for crowd in crowds.values() if crowd < 8)
    told = f"{len(crowds)} combinations, the smallest of {min(crowds.values())}, and {below} people"
    assert told in " ".join(TUTORIAL.read_text("utf-8").split())

    # One is killed in the middle.
    for name in OWNERS:
        shutil.rmtree(folder / name / "release")
        (folder / name / "identity/runs.jsonl").unlink()
    bank = start(folder / "bank", "integrate", "party.toml")
    card = start(folder / "card", "integrate", "party.toml", "--progress", "json")
    assert card.stderr
    for line in card.stderr:
        if json.loads(line)["stage"] == "refine":
            break
    card.send_signal(signal.SIGKILL)
    card.communicate()
    note("integrate party.toml", alone(folder / "card", "integrate", "party.toml", code=2))
    resumed = alone(folder / "card", "integrate", "party.toml", "--resume")
    note("integrate party.toml --resume", resumed)
    assert finished(bank)[0] == 0
    assert {name: public(folder / name / "release") for name in OWNERS} == released

    commands = [(c, t) for c, t in shown(TUTORIAL.read_text("utf-8")) if c in said]
    assert {command for command, _ in commands} == {*said}
    section = README.read_text("utf-8").partition("\n## Several owners\n")[2].partition("\n## ")[0]
    [quoted] = [(c, t) for c, t in shown(section) if c in said]
    for command, printed in [*commands, quoted]:
        assert _nameless(printed) in said[command], command


def _nameless(said: str) -> str:
    """Fingerprints are others every time."""
    return "\n".join(lines(re.sub(r"(?:[0-9A-F]{4} ){15}[0-9A-F]{4}", "FINGERPRINT", said)))


def released_alone(folder: Path) -> bytes:
    """What one owner would release who has the joined table."""
    tables = {
        name: {row["Customer"]: row for row in rows(folder / name / f"{name}.csv")}
        for name in OWNERS
    }
    policy = JointPolicy.load(folder / "bank/joint.toml")
    joined = folder / "joined.csv"
    with open(joined, "w", encoding="utf-8", newline="") as file:
        written = csv.DictWriter(file, ["Customer", *policy.columns], extrasaction="ignore")
        written.writeheader()
        for customer in tables["bank"].keys() & tables["card"].keys():
            written.writerow(tables["bank"][customer] | tables["card"][customer])
    reticent.release(joined, policy.alone(), output=folder / "alone")
    return (folder / "alone/public/data.csv").read_bytes()


def pages_are_quoted(folder: Path) -> None:
    page = (folder / "bank/release/private/report.html").read_text("utf-8")
    text = " ".join(unescape(re.sub(r"<style.*?</style>|<[^>]+>", " ", page, flags=re.S)).split())
    tutorial = " ".join(TUTORIAL.read_text("utf-8").split())
    for title in (
        "What the others learnt about us",
        "What we learnt about them",
        "What went over the wire",
        "Steps",
        "Which run this was",
    ):
        assert title in text
        assert f"**{title}**" in tutorial
    for step in json_lines(folder / "bank/release/private/trace.jsonl"):
        row = f"{step['step']} {step['owner']} {step['attribute']} {', '.join(step['into'])}"
        assert row in text
        assert f"| {row.replace(' ', ' | ', 3)} |" in tutorial
        assert ("score" in step) == (step["owner"] == "bank")


def seen_twice(owner: Path) -> Counter[tuple[str, ...]]:
    """How many people share what both releases show of them, to an owner who knows their ids."""
    later = {row["Customer"]: row for row in rows(owner / "release-later/private/agreed.csv")}
    return Counter(
        (*(row[name] for name in JOINED), later[row["Customer"]]["Age"],
         later[row["Customer"]]["Limit"])
        for row in rows(owner / "release/private/agreed.csv")
    )  # fmt: skip


def rows(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def json_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_both_have_the_same_policies_and_no_keys() -> None:
    for name in ("joint.toml", "joint-later.toml"):
        assert (EXAMPLE / "bank" / name).read_bytes() == (EXAMPLE / "card" / name).read_bytes()
        JointPolicy.load(EXAMPLE / "bank" / name)
    kept = subprocess.run(
        ["git", "-C", EXAMPLE, "ls-files"], capture_output=True, text=True, check=False
    )
    assert "identity" not in kept.stdout


def test_the_tables_are_what_the_script_invents(tmp_path: Path) -> None:
    subprocess.run([sys.executable, EXAMPLE / "make_data.py", tmp_path], check=True)
    for name in OWNERS:
        made = tmp_path / name / f"{name}.csv"
        assert made.read_bytes() == (EXAMPLE / name / f"{name}.csv").read_bytes()


def test_the_tutorial_shows_the_policy_of_its_example() -> None:
    [policy, *_] = re.findall(r"```toml\n(.*?)```", TUTORIAL.read_text("utf-8"), re.DOTALL)
    assert policy == (EXAMPLE / "bank/joint.toml").read_text("utf-8")
