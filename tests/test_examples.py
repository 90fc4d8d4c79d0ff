"""Every example releases and verifies; its pages show what happens.

The two papers' tables end where they should.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import reticent
from reticent import entries, sample, transactions
from terminal import ROOT, replay, shown

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
    assert "of each of 800 whom both have" in done.stdout
    assert "Reading a tidal current  (was 3)" in done.stdout
    assert "knee" not in (tmp_path / "demo/exposed.json").read_text(encoding="utf-8")
    assert (tmp_path / "demo/release/public/data.csv").exists()


# --- pages ---------------------------------------------------------------------------------------

ASKED = ROOT / "docs/tutorials/hide-entries.md"
TWICE = ROOT / "docs/tutorials/a-second-release.md"
OWN = ROOT / "docs/tutorials/your-own-file.md"


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Goes to a copy of an example as a fresh checkout has it, where everything happens."""

    def copy(name: str) -> None:
        made = shutil.ignore_patterns("release*", "census", "__pycache__")
        monkeypatch.chdir(shutil.copytree(ROOT / "examples" / name, tmp_path / name, ignore=made))

    return copy


@pytest.mark.parametrize(
    ("page", "example", "told"),
    [
        (TWICE, "clinic_twice", {"release": 3, "verify": 2}),
        (ROOT / "examples/clinic_twice/README.md", "clinic_twice", {"release": 3, "verify": 2}),
        (OWN, "own_file", {"init": 1, "policy": 1, "release": 2, "verify": 1}),
        (ASKED, "hide_entries", {"release": 1}),
        (ROOT / "examples/hide_entries/README.md", "hide_entries", {"release": 1}),
    ],
    ids=lambda part: f"{part.parent.name}/{part.name}" if isinstance(part, Path) else "",
)
def test_what_the_pages_show_is_real_output(
    page: Path, example: str, told: dict[str, int], copied: Callable[[str], None]
) -> None:
    copied(example)
    assert replay(shown(page.read_text(encoding="utf-8"))).items() >= told.items()


@pytest.mark.parametrize(
    ("tutorial", "policy"),
    [
        (TWICE, "clinic_twice/policy-2026.toml"),
        (OWN, "own_file/edited.toml"),
        (ASKED, "hide_entries/policy.toml"),
    ],
)
def test_a_tutorial_shows_the_policy_of_its_example(tutorial: Path, policy: str) -> None:
    [block] = re.findall(r"```toml\n(.*?)```", tutorial.read_text(encoding="utf-8"), re.DOTALL)
    assert block == (ROOT / "examples" / policy).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["clinic_twice", "own_file"])
def test_data_of_examples_are_made_by_their_scripts(name: str, tmp_path: Path) -> None:
    folder = ROOT / "examples" / name
    subprocess.run([sys.executable, folder / "make_data.py", tmp_path], check=True)
    made = [path.name for path in tmp_path.iterdir()]
    assert made
    assert [(tmp_path / n).read_bytes() == (folder / n).read_bytes() for n in made] == [True] * len(
        made
    )


def test_the_draft_of_the_untidy_export_tells_no_phone_number(
    copied: Callable[[str], None],
) -> None:
    copied("own_file")
    replay(shown(OWN.read_text(encoding="utf-8")))
    assert b"5550123" in Path("export.csv").read_bytes()
    for path in (path for path in Path("release/public").iterdir() if path.is_file()):
        assert b"5550123" not in path.read_bytes()


def test_what_each_region_costs(copied: Callable[[str], None]) -> None:
    copied("hide_entries")
    replay([("reticent sample census --rows 5000 -o census -q", "")])
    text = ASKED.read_text(encoding="utf-8")
    rows = re.findall(r'^\| `"([a-z-]+)"`: .* \| (\d+) \|$', text, re.MULTILINE)
    assert len(rows) == 3
    for region, count in rows:
        policy = entries.Policy.load("policy.toml").model_copy(update={"may_hide": (region,)})
        found = entries.release("census/census.csv", policy)
        assert len(found.search.records) == int(count)
        assert entries.verify(found.table, policy, original="census/census.csv").holds
