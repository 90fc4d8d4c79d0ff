"""The worked example of sequential releases, number for number."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pcsv
import pytest

import reticent

T1 = (
    [("HIV", "Banker", "UK", "M", "Yes")] * 2
    + [("Eye", "Banker", "UK", "F", "Yes"), ("Eye", "Clerk", "FR", "F", "Yes")]
    + [("Allergy", "Driver", "US", "M", "No"), ("Allergy", "Engineer", "US", "M", "No")]
    + [("Allergy", "Engineer", "FR", "M", "Yes")] * 2
)
T2 = (
    [("UK", "M", "Z3")] * 2
    + [("UK", "F", "Z5"), ("FR", "F", "Z5")]
    + [("FR", "M", "Z3")] * 3
    + [("US", "M", "Z3")]
)
PLACES = {"ANY_PoB": {"Europe": ["UK", "FR"], "US": {}}}
JOBS = {"ANY_Job": ["Banker", "Clerk", "Driver", "Engineer"]}


def table(names: list[str], rows: Sequence[tuple[str, ...]]) -> pa.Table:
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


@pytest.fixture
def released(tmp_path: Path) -> Any:
    pcsv.write_csv(table(["PoB", "Sex", "Zip"], T2), tmp_path / "t2.csv")
    first = table(["Test", "Job", "PoB", "Sex", "Class"], T1)

    def release(job: dict[str, Any], **more: Any) -> reticent.Release:
        policy = {
            "class": "Class",
            "keep": ["Sex"],
            "previous": {"T2": {"path": str(tmp_path / "t2.csv")}},
            "attributes": {"PoB": {"mask": "generalize", "taxonomy": PLACES}, "Job": job},
            "confidence": [
                {
                    "over": ["Job", "PoB", "T2.PoB", "T2.Zip"],
                    "sensitive": {"Test": ["HIV"]},
                    "at_most": 0.9,
                }
            ],
            "goal": {"score": "paper", "search": "greedy"},
        }
        return reticent.release(first, policy, **more)

    return release


def test_steps_and_scores(released: Any) -> None:
    found = released({"mask": "suppress"})
    assert found.before[0].value == 1
    assert [(step.value, round(step.score, 6)) for step in found.steps] == [
        ("ANY_PoB", 0.695381),
        ("Driver", 0.293564),
        ("Clerk", 0.034511),
    ]
    assert [step.values for step in found.steps] == [(Fraction(1, 2),)] * 3
    assert found.proof.findings[0].value == Fraction(4, 8)


def test_everything_masked_it_is_4_of_12(released: Any) -> None:
    found = released({"mask": "suppress"}, max_steps=0)
    assert found.proof.findings[0].value == Fraction(4, 12)


def test_with_a_flat_taxonomy_only_places_are_refined(released: Any) -> None:
    found = released({"mask": "generalize", "taxonomy": JOBS})
    assert [step.value for step in found.steps] == ["ANY_PoB"]
    [stop] = [stop for stop in found.limits.stops() if stop.attribute == "Job"]
    assert dict(stop.broken) == {0: Fraction(1)}
