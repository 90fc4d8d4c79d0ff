"""Every example folder releases and verifies, and the two papers' tables end where they should."""

import subprocess
import sys
from pathlib import Path

import pytest

import reticent

ROOT = Path(__file__).parent.parent
FOLDERS = sorted(path.parent for path in (ROOT / "examples").glob("*/policy.toml"))


def test_there_are_examples() -> None:
    assert [folder.name for folder in FOLDERS] == ["bank_customers", "patients"]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_example_is_released_and_verified(folder: Path, tmp_path: Path) -> None:
    data = folder / f"{folder.name.rpartition('_')[2]}.csv"
    reticent.release(data, folder / "policy.toml", output=tmp_path / "out")
    assert reticent.verify(tmp_path / "out", folder / "policy.toml").holds


def test_bank_customers_hide_traders_and_clerks() -> None:
    folder = ROOT / "examples/bank_customers"
    found = reticent.release(folder / "customers.csv", folder / "policy.toml")
    assert [step.value for step in found.steps] == ["Cook", "Artist", "Doctor", "US", "France"]
    assert found.cuts == {
        "Job": ["*", "Artist", "Cook", "Doctor"],
        "Country": ["*", "France", "US"],
    }


@pytest.mark.net
def test_demo_runs(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "examples/demo.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "holds" in done.stdout
    assert (tmp_path / "demo/release/public/data.csv").exists()
