"""Every example folder releases and verifies, and the two papers' tables end where they should."""

import subprocess
import sys
from pathlib import Path

import pytest

import reticent
from reticent import sample, transactions

ROOT = Path(__file__).parent.parent
FOLDERS = sorted(path.parent for path in (ROOT / "examples").glob("*/policy.toml"))
# Baskets and single entries have data that are made, and commands of their own.
TABLES = [folder for folder in FOLDERS if folder.name not in ("baskets", "hide_entries")]


def test_there_are_examples() -> None:
    found = [folder.name for folder in FOLDERS]
    assert found == ["bank_customers", "baskets", "hide_entries", "patients"]


@pytest.mark.parametrize("folder", TABLES, ids=lambda folder: folder.name)
def test_example_is_released_and_verified(folder: Path, tmp_path: Path) -> None:
    data = folder / f"{folder.name.rpartition('_')[2]}.csv"
    reticent.release(data, folder / "policy.toml", output=tmp_path / "out")
    assert reticent.verify(tmp_path / "out", folder / "policy.toml").holds


def test_baskets_are_released_and_verified(tmp_path: Path) -> None:
    policy = ROOT / "examples/baskets/policy.toml"
    baskets = sample.make("baskets", 20_000, seed=2)
    found = transactions.release(baskets, policy, output=tmp_path / "out")
    assert not found.warnings  # every pattern means something
    assert found.roles.private.sum() == len(sample.PRIVATE_ITEMS)
    assert transactions.verify(tmp_path / "out", policy).holds
    assert not transactions.verify(baskets, policy).holds


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
