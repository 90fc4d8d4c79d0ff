"""Twelve people who asked: the pages about hidden entries show what happens."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from reticent import entries
from terminal import replay, shown

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples/hide_entries"
TUTORIAL = ROOT / "docs/tutorials/hide-entries.md"


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the example as a fresh checkout has it, where everything happens."""
    folder = tmp_path / "hide_entries"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("release", "census"))
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("page", [TUTORIAL, EXAMPLE / "README.md"], ids=lambda page: page.name)
def test_what_the_pages_show_is_real_output(page: Path, office: Path) -> None:
    text = page.read_text(encoding="utf-8")
    told = replay(one for one in shown(text) if not one[0].startswith(("source ", "cd ")))
    assert told["release"] == 1


def test_the_tutorial_shows_the_policy_of_the_example() -> None:
    [block] = re.findall(r"```toml\n(.*?)```", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL)
    assert block == (EXAMPLE / "policy.toml").read_text(encoding="utf-8")


def test_what_each_region_costs(office: Path) -> None:
    replay([("reticent sample census --rows 5000 -o census -q", "")])
    text = TUTORIAL.read_text(encoding="utf-8")
    rows = re.findall(r'^\| `"([a-z-]+)"`: .* \| (\d+) \|$', text, re.MULTILINE)
    assert len(rows) == 3
    for region, count in rows:
        policy = entries.Policy.load("policy.toml").model_copy(update={"may_hide": (region,)})
        found = entries.release("census/census.csv", policy)
        assert len(found.search.records) == int(count)
        assert entries.verify(found.table, policy, original="census/census.csv").holds
