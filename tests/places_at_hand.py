"""Folders in which commands are run, with tables that several files of tests share."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

GIVEN = Path(__file__).parent / "cases/given"  # tables that cases and tests share


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, where everything happens."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def people(work: Path) -> Path:
    """Forty records in data.csv, policy.toml, and counted.toml, by which names are counted."""
    return Path(shutil.copytree(GIVEN / "people", work, dirs_exist_ok=True))


@pytest.fixture
def baskets(work: Path) -> Path:
    """The worked example: seven baskets in in.dat, and p.toml."""
    return Path(shutil.copytree(GIVEN / "baskets", work, dirs_exist_ok=True))


@pytest.fixture
def slow_table(work: Path) -> list[str]:
    """What to say of a table that takes 30,000 steps: half a minute, if nobody stops it."""
    with open("slow.csv", "w", encoding="utf-8") as file:
        file.write("A,B\n")
        file.writelines(f"v{i // 2},{'yn'[i % 2]}\n" for i in range(60_000))
    Path("slow.toml").write_text('keep = ["B"]\n[[anonymity]]\nover = ["A"]\nk = 2\n')
    return ["slow.csv", "-p", "slow.toml"]
