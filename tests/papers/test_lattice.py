"""The search of the whole lattice in `benchmarks`, on tables small enough to check by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from lattice import Hierarchy, Records, best, masked, released, survey

AGE = Hierarchy.of(
    "age", [["20", "young", "*"], ["30", "young", "*"], ["50", "old", "*"], ["60", "old", "*"]]
)
SEX = Hierarchy.of("sex", [["M", "*"], ["F", "*"]])
JOB = Hierarchy.of("job", [["cook", "*"], ["clerk", "*"]])
TREES = [AGE, SEX, JOB]

# At level 1 of age: pairs, but for one old male clerk. Only the old female clerks disagree.
PEOPLE = """
20 M cook  yes
30 M cook  yes
20 F clerk no
30 F clerk no
50 M cook  no
60 M cook  no
50 F clerk yes
60 F clerk no
60 M clerk no
"""


def table(text: str) -> pa.Table:
    columns = zip(*(line.split() for line in text.split("\n") if line), strict=True)
    return pa.table(dict(zip(["age", "sex", "job", "class"], map(list, columns), strict=True)))


RECORDS = Records.of(table(PEOPLE), TREES)


def test_nobody_suppressed() -> None:
    """The lone clerk must join the old men or the old clerks, whichever a metric likes better."""
    # Old men and women: one of the women is wrong. Old cooks and clerks: one of the clerks is.
    found = best(RECORDS, 2, 0, "classification")
    assert (found.node, found.classification, found.suppressed) == ((1, 0, 1), 1, 0)
    assert found.loss == pytest.approx(100 * (1 / 3 + 0 + 1) / 3)
    assert found.discernibility == 4 + 4 + 4 + 9
    # But the two old women have no majority, and the three old clerks do.
    assert found.halved == 2
    found = best(RECORDS, 2, 0, "halved")
    assert (found.node, found.halved) == ((1, 1, 0), 1)
    # Ages alone are four groups of 2, 2, 2 and 3 as well: the first of three equals.
    found = best(RECORDS, 2, 0, "discernibility")
    assert (found.node, found.discernibility) == ((0, 1, 1), 21)


def test_one_in_nine_suppressed() -> None:
    """Leaving out the lone clerk saves most of the loss, but not the disagreement."""
    found = best(RECORDS, 2, 0.12, "loss")
    assert (found.node, found.suppressed) == ((1, 0, 0), 1)
    assert found.loss == pytest.approx(100 * (8 * (1 / 3) / 3 + 1) / 9)
    assert (found.classification, found.halved) == (2, 2.5)
    assert found.discernibility == 4 * 4 + 9
    assert best(RECORDS, 2, 0.12, "classification").node == (1, 0, 1)
    assert best(RECORDS, 2, 0.11, "loss").suppressed == 0  # 0.99 of a record is none


def test_a_release_and_a_test_table() -> None:
    release = released(table(PEOPLE), RECORDS, (1, 0, 0), 2)
    assert release.num_rows == 8
    assert {"age": "old", "sex": "M", "job": "clerk", "class": "no"} not in release.to_pylist()
    asked = masked(table("30 M clerk yes"), TREES, (1, 0, 1))  # a group that training does not have
    assert asked.to_pylist() == [{"age": "young", "sex": "M", "job": "*", "class": "yes"}]


def test_a_naive_recount() -> None:
    draw = np.random.default_rng(3)
    rows = [
        [str(draw.choice([*tree.leaves])) for tree in TREES] + [str(draw.choice(["yes", "no"]))]
        for _ in range(60)
    ]
    records = Records.of(table("\n".join(map(" ".join, rows))), TREES)
    k, node = 6, (1, 0, 0)
    label = {"20": "young", "30": "young", "50": "old", "60": "old"}
    groups = Counter((label[age], sex, job) for age, sex, job, _ in rows)
    yes = Counter((label[age], sex, job) for age, sex, job, is_yes in rows if is_yes == "yes")
    suppressed, wrong, halved, lost, squares = 0, 0, 0.0, 0.0, 0
    for group, size in groups.items():
        minority = min(yes[group], size - yes[group])
        if size < k:
            suppressed, wrong, halved = suppressed + size, wrong + size, halved + size / 2
            lost, squares = lost + size, squares + size * 60
        else:
            wrong += minority
            halved += size if 2 * minority == size else minority
            lost, squares = lost + size * (1 / 3) / 3, squares + size**2
    assert 0 < suppressed < 60
    [found] = [found for found in survey(records, [2, k])[k] if found.node == node]
    assert found.loss == pytest.approx(100 * lost / 60)
    counts = (found.suppressed, found.classification, found.halved, found.discernibility)
    assert counts == (suppressed, wrong, halved, squares)
