"""The worked example of joint releases: two owners of 34 records, over the runtime in memory.

Thesis, table 7.1 and examples 7.3.1 and 7.3.2.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import reticent
from reticent.joint.experiment import integrate
from reticent.joint.policy import JointPolicy
from reticent.joint.report import JointRelease, trace

LINES = [  # Sex, Job, Salary; how many of class Y and N
    ("M", "Janitor", 30, 0, 3),
    ("M", "Mover", 32, 0, 4),
    ("M", "Carpenter", 35, 2, 3),
    ("F", "Technician", 37, 3, 1),
    ("F", "Manager", 42, 4, 2),
    ("F", "Manager", 44, 3, 0),
    ("M", "Accountant", 44, 3, 0),
    ("F", "Accountant", 44, 3, 0),
    ("M", "Lawyer", 44, 2, 0),
    ("F", "Lawyer", 44, 1, 0),
]
ROWS = [
    (sex, job, salary, told)
    for sex, job, salary, yes, no in LINES
    for told in ["Y"] * yes + ["N"] * no
]
JOBS = {
    "ANY_Job": {
        "Blue_Collar": {
            "Non_Technical": ["Janitor", "Mover"],
            "Technical": ["Carpenter", "Technician"],
        },
        "White_Collar": {"Manager": {}, "Professional": ["Accountant", "Lawyer"]},
    }
}
SCORES = ["paper", "conditional"]


def policy(score: str) -> JointPolicy:
    return JointPolicy.from_data(
        {
            "id": "SSN",
            "class": "Class",
            "goal": {"score": score},
            "owners": {
                "A": {"columns": ["Class", "Sex"]},
                "B": {"columns": ["Class", "Job", "Salary"]},
            },
            "attributes": {
                "Sex": {"mask": "generalize", "taxonomy": {"ANY_Sex": ["M", "F"]}},
                "Job": {"mask": "generalize", "taxonomy": JOBS},
                "Salary": {"mask": "discretize", "range": [1, 99]},
            },
            "anonymity": [{"over": ["Sex", "Job"], "k": 4}, {"over": ["Sex", "Salary"], "k": 11}],
        }
    )


def joined() -> pa.Table:
    sex, job, salary, told = (list(cells) for cells in zip(*ROWS, strict=True))
    ids = [str(number) for number in range(1, len(ROWS) + 1)]
    return pa.table({"SSN": ids, "Class": told, "Sex": sex, "Job": job, "Salary": salary})


def owners(score: str) -> dict[str, JointRelease]:
    table = joined()
    data = {name: table.select(["SSN", *one.columns]) for name, one in policy(score).owners.items()}
    data["B"] = data["B"].take(list(range(len(ROWS)))[::-1])  # in an order of its own
    return integrate(policy(score), data)


def steps(lines: Any, own: set[str]) -> list[tuple[Any, ...]]:
    """What was revealed, and of one's own columns also what it was worth."""
    return [
        (
            line["attribute"], sorted(line["into"]), [told["value"] for told in line["templates"]],
            *(
                (line["value"], line["info_gain"], line["privacy_loss"], line["score"])
                if line["attribute"] in own
                else ()
            ),
        )
        for line in lines
    ]  # fmt: skip


def test_the_table_is_that_of_the_thesis() -> None:
    assert len(ROWS) == 34
    assert {salary for _, _, salary, _ in ROWS[:12]} == {30, 32, 35}
    assert {salary for _, _, salary, _ in ROWS[12:]} == {37, 42, 44}


@pytest.mark.parametrize("score", SCORES)
def test_thesis_examples_7_3_1_and_7_3_2(score: str) -> None:
    """Salary is split first, at 37; B tells A who goes where: records 1 to 12, and 13 to 34."""
    found = owners(score)
    for name, places in (("A", range(1, 35)), ("B", range(34, 0, -1))):
        joint = found[name].joint
        first = joint.partitions[0]
        assert (first.column, first.labels) == ("Salary", ("[1,37)", "[37,99]"))
        part_of = {
            places[row]: part for row, part in zip(joint.order, first.parts.tolist(), strict=True)
        }
        left = {number for number, part in part_of.items() if first.labels[part] == "[1,37)"}
        assert left == {*range(1, 13)}
        assert {*part_of} - left == {*range(13, 35)}


@pytest.mark.parametrize("score", SCORES)
def test_every_step_is_that_of_a_release_of_the_joined_table(score: str) -> None:
    alone = reticent.release(joined(), policy(score).alone())
    found = owners(score)
    for name, release in found.items():
        own = {*policy(score).owners[name].columns}
        assert steps(trace(release), own) == steps(alone.trace(), own), name
        assert release.proof.holds
        assert release.table.equals(alone.table.select(release.table.column_names)), name
    assert len(alone.steps) > 2
    assert min(line["templates"][0]["value"] for line in alone.trace()) >= 4
    assert min(line["templates"][1]["value"] for line in alone.trace()) >= 11
