"""The papers' worked examples, number for number, through the product and on its naive twin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest

import reticent
from at_hand import refusal
from naive.product import policy_of, same_steps, table_of
from naive.refine import Anon, Conf, Infeasible, Template, gain, node, refine
from papers.tables import Table, customers, job_tree, patients, sex_tree, workers
from reticent import Policy, Release, Unsatisfiable


def release(table: Table, templates: Sequence[Template], **more: Any) -> Release:
    """Release one of the papers' tables, as the twin does; what comes out verifies on its own."""
    rows, attrs = table
    policy = policy_for(table, templates, **more)
    found = reticent.release(table_of(rows, attrs), policy)
    twin = refine(rows, attrs, templates, cls="Class")
    same_steps(list(found.trace()), twin.steps)
    labels = Counter(tuple(row[name] for name in found.cuts) for row in twin.labels)
    shown = zip(*(found.table.column(name).to_pylist() for name in found.cuts), strict=True)
    assert Counter(shown) == labels
    again = reticent.verify(found.table, policy)
    assert again.holds
    assert again.findings == found.proof.findings
    assert again.rows == found.table.num_rows == len(rows)
    return found


def policy_for(table: Table, templates: Sequence[Template], **more: Any) -> Policy:
    used = {name for template in templates for name in template.over}
    attrs = [attr for attr in table[1] if attr.name in used]
    goal = {"score": "paper", "search": "greedy"} | more.pop("goal", {})
    return policy_of(attrs, templates, cls="Class", goal=goal, **more)


def told(found: Release) -> list[tuple[str, str, list[str], list[int | str]]]:
    """Each step: what was refined, into what, and every template's value after it."""
    return [
        (s["attribute"], s["value"], s["into"], [t["value"] for t in s["templates"]])
        for s in found.trace()
    ]


def shown(found: Release) -> dict[str, set[str]]:
    return {name: set(labels) for name, labels in found.cuts.items()}


def untouched(found: Release, table: Table, names: Sequence[str]) -> bool:
    """Whether columns that are not masked come out with the rows they came in with."""
    before = Counter(tuple(row[name] for name in names) for row in table[0])
    after = Counter(tuple(row[name] for name in names) for row in found.table.to_pylist())
    return before == after


# Thesis, table 4.1: 34 patients -------------------------------------------------------------------

JOBS = {"Non_Technical", "Carpenter", "Electrician", "Manager", "Professional"}


def test_thesis_table_4_1() -> None:
    found = release(patients(), [Anon(("Job", "Sex"), 4)])
    assert told(found) == [
        ("Job", "ANY_Job", ["Blue_Collar", "White_Collar"], [16]),
        ("Job", "Blue_Collar", ["Non_Technical", "Technical"], [7]),
        ("Job", "White_Collar", ["Manager", "Professional"], [7]),
        ("Sex", "ANY_Sex", ["M", "F"], [4]),
        ("Job", "Technical", ["Carpenter", "Electrician"], [4]),
    ]
    first = found.steps[0]
    assert first.info_gain == pytest.approx(0.27159096, abs=5e-9)
    assert first.privacy_loss == 18
    assert first.score == pytest.approx(0.014294, abs=5e-7)
    assert shown(found) == {"Job": JOBS, "Sex": {"M", "F"}}
    assert [f.value for f in found.proof.findings] == [4]
    assert not found.stopped_early
    assert untouched(found, patients(), ["Age", "Class"])  # no template holds Age


def test_thesis_table_4_1_with_two_templates() -> None:
    found = release(patients(), [Anon(("Job", "Sex"), 4), Anon(("Sex", "Age"), 11)])
    assert told(found) == [
        ("Age", "[30,44]", ["[30,37)", "[37,44]"], [34, 12]),
        ("Job", "ANY_Job", ["Blue_Collar", "White_Collar"], [16, 12]),
        ("Job", "Blue_Collar", ["Non_Technical", "Technical"], [7, 12]),
        ("Job", "White_Collar", ["Manager", "Professional"], [7, 12]),
        ("Job", "Technical", ["Carpenter", "Electrician"], [4, 12]),
    ]
    first = found.steps[0]
    assert first.info_gain == pytest.approx(0.358444, abs=5e-7)
    assert first.privacy_loss == 22
    assert first.score == pytest.approx(0.015585, abs=5e-7)
    assert shown(found) == {"Job": JOBS, "Sex": {"ANY_Sex"}, "Age": {"[30,37)", "[37,44]"}}
    assert [f.value for f in found.proof.findings] == [4, 12]
    assert found.implied == {}


def test_thesis_table_4_1_with_more_than_all_patients() -> None:
    caught = refusal(lambda: release(patients(), [Anon(("Job", "Sex"), 35)]), kind=Unsatisfiable)
    [problem] = caught.problems
    assert "⟨{Job, Sex}, k = 35⟩" in problem.what
    assert "34" in problem.what
    assert "lower k to 34" in problem.do
    found = release(patients(), [Anon(("Job", "Sex"), 34)])  # what it says would pass does
    assert told(found) == []
    assert shown(found) == {"Job": {"ANY_Job"}, "Sex": {"ANY_Sex"}}


def test_nothing_to_count_leaves_no_threshold_to_advise() -> None:
    rows, attrs = patients()
    rows = [{**row, "Person": None} for row in rows]
    counted = [Anon(("Job", "Sex"), 1, of=("Person",))]
    [problem] = refusal(lambda: release((rows, attrs), counted), kind=Unsatisfiable).problems
    assert "k = 1" in problem.what
    assert "0 distinct values of Person" in problem.what
    assert "lower k to 0" not in problem.do  # no policy can say that: k is at least 1


# Thesis, table 4.3: 40 workers, on whom the score and the pure gain choose differently ------------


def test_thesis_table_4_3() -> None:
    found = release(workers(), [Anon(("Education", "Sex", "Work_Hrs"), 4)])
    assert told(found) == [
        ("Sex", "ANY_Sex", ["M", "F"], [14]),
        ("Work_Hrs", "[30,40]", ["[30,40)", "[40,40]"], [6]),
    ]
    assert found.steps[0].score == pytest.approx(0.018275, abs=5e-7)
    education, everyone = {"ANY_Education"}, {"M", "F"}
    hours = {"[30,40)", "[40,40]"}
    assert shown(found) == {"Education": education, "Sex": everyone, "Work_Hrs": hours}
    assert [f.value for f in found.proof.findings] == [6]


def test_thesis_table_4_3_pure_gain_would_choose_education() -> None:
    rows, attrs = workers()
    roots = {}
    for attr in attrs[:2]:
        assert attr.tree is not None
        [(label, below)] = attr.tree.items()
        root = node(label, below)
        roots[attr.name] = gain(rows, attr, root, root.kids, "Class")
    found = release(workers(), [Anon(("Education", "Sex", "Work_Hrs"), 4)])
    assert roots["Education"] > roots["Sex"] == pytest.approx(found.steps[0].info_gain)


# ICDM, table 1: 24 bank customers -----------------------------------------------------------------


def discharged(at_most: str) -> Conf:
    return Conf(("Job", "Country"), {"Bankruptcy": ["Discharged"]}, Fraction(at_most))


def test_icdm_table_1() -> None:
    found = release(customers(), [discharged("3/4")])
    assert told(found) == [
        ("Job", "Cook", ["Cook", "*"], ["1/4"]),
        ("Job", "Artist", ["Artist", "*"], ["5/16"]),
        ("Job", "Doctor", ["Doctor", "*"], ["1/2"]),
        ("Country", "US", ["US", "*"], ["1/2"]),
        ("Country", "France", ["France", "*"], ["1/2"]),
    ]
    assert shown(found) == {
        "Job": {"Cook", "Artist", "Doctor", "*"},
        "Country": {"US", "France", "*"},
    }
    assert [f.value for f in found.proof.findings] == [Fraction(1, 2)]
    assert found.summary()["templates"][0]["after"] == "1/2"
    assert found.summary()["templates"][0]["before"] == "4/5"
    assert untouched(found, customers(), ["Child", "Bankruptcy", "Class"])


def test_icdm_table_1_at_the_limit_discloses_nothing() -> None:
    found = release(customers(), [discharged("5/24")])
    assert told(found) == []
    assert shown(found) == {"Job": {"*"}, "Country": {"*"}}
    assert [f.value for f in found.proof.findings] == [Fraction(5, 24)]
    assert not found.stopped_early


@pytest.mark.parametrize("at_most", ["4/24", "0.2083333333333333", "0"])
def test_icdm_table_1_below_the_limit_is_infeasible(at_most: str) -> None:
    caught = refusal(lambda: release(customers(), [discharged(at_most)]), kind=Unsatisfiable)
    [problem] = caught.problems
    assert "{Job, Country} → Bankruptcy" in problem.what
    assert f"at most {Fraction(at_most)}" in problem.what
    assert "confidence 5/24" in problem.what  # measured, and …
    assert '"5/24"' in problem.do  # … the strictest that would pass
    assert caught.exit_code == 3
    with pytest.raises(Infeasible):
        refine(*customers(), [discharged(at_most)], cls="Class")


def test_every_infeasible_template_is_named() -> None:
    templates: list[Template] = [Anon(("Job",), 25), Anon(("Job",), 24), discharged("1/5")]
    caught = refusal(lambda: release(customers(), templates), kind=Unsatisfiable)
    said = [problem.what for problem in caught.problems]
    assert len(said) == 2  # the second one holds
    assert "k = 25" in said[0]
    assert "at most 1/5" in said[1]


# Redundant templates ------------------------------------------------------------------------------


def course_of(found: Release) -> list[tuple[Any, ...]]:
    return [(s.attribute, s.value, s.info_gain, s.privacy_loss, s.score) for s in found.steps]


@pytest.mark.parametrize("k", [1, 3, 4])
def test_a_weaker_anonymity_over_fewer_columns_is_implied(k: int) -> None:
    strong = Anon(("Job", "Sex"), 4)
    alone = release(patients(), [strong])
    for templates, weak in [([Anon(("Job",), k), strong], 0), ([strong, Anon(("Job",), k)], 1)]:
        found = release(patients(), templates)
        assert found.implied == {weak: 1 - weak}
        # Counted in the mean, an implied template would halve the privacy loss of Job.
        assert course_of(found) == course_of(alone)
        # It leaves the search, not the check, the trace or the report.
        assert [f.holds for f in found.proof.findings] == [True, True]
        for step in found.trace():
            assert "implied_by" in step["templates"][weak]
            assert "implied_by" not in step["templates"][1 - weak]
        assert "implied_by" in found.summary()["templates"][weak]


def test_thesis_theorem_4_1_1_erratum() -> None:
    """Printed with k ≥ k', the theorem would drop the larger k over fewer columns; it must stay."""
    strong = Anon(("Job", "Sex"), 4)
    alone = release(patients(), [strong])
    assert min(Counter(alone.table.column("Job").to_pylist()).values()) == 4
    found = release(patients(), [strong, Anon(("Job",), 5)])
    assert found.implied == {}
    assert min(Counter(found.table.column("Job").to_pylist()).values()) >= 5
    assert all(step["templates"][1]["value"] >= 5 for step in found.trace())


def test_a_chain_of_implied_templates_leaves_the_strongest() -> None:
    templates = [Anon(("Job",), 2), Anon(("Job", "Sex"), 4), Anon(("Sex", "Job"), 3)]
    found = release(patients(), templates)
    assert found.implied == {0: 1, 2: 1}
    assert course_of(found) == course_of(release(patients(), [templates[1]]))


EVERY = ["Current", "Never", "Discharged"]


def bankruptcy(over: tuple[str, ...], values: list[str] | str, at_most: str) -> Conf:
    return Conf(over, {"Bankruptcy": values}, Fraction(at_most))


@pytest.mark.parametrize(("weak", "strong"), [("*", EVERY), (EVERY, "*"), ("*", "*")])
def test_a_weaker_confidence_over_fewer_columns_is_implied(weak: Any, strong: Any) -> None:
    both = ("Job", "Country")
    templates = [bankruptcy(("Job",), weak, "0.95"), bankruptcy(both, strong, "0.9")]
    found = release(customers(), templates)
    assert found.implied == {0: 1}
    assert len(found.proof.findings) == 2
    assert course_of(found) == course_of(release(customers(), [templates[1]]))
    templates = [bankruptcy(("Job",), weak, "0.85"), bankruptcy(both, strong, "0.9")]
    assert release(customers(), templates).implied == {}  # it asks for more
    templates = [bankruptcy(both, weak, "0.95"), bankruptcy(("Job",), strong, "0.9")]
    assert release(customers(), templates).implied == {}  # it is about more


@pytest.mark.parametrize(("first", "second"), [("*", EVERY), (EVERY, "*")])
def test_of_templates_that_imply_each_other_the_first_stays(first: Any, second: Any) -> None:
    over, turned = ("Job", "Country"), ("Country", "Job")
    templates = [bankruptcy(over, first, "0.9"), bankruptcy(turned, second, "0.9")]
    found = release(customers(), templates)
    assert found.implied == {1: 0}
    assert course_of(found) == course_of(release(customers(), templates[:1]))


def test_a_missing_value_is_no_part_of_a_full_list() -> None:
    rows, attrs = customers()
    rows[0]["Bankruptcy"] = None
    table = rows, attrs
    templates = [bankruptcy(("Job",), "*", "0.9"), bankruptcy(("Job",), EVERY[::-1], "0.9")]
    assert release(table, templates).implied == {1: 0}


BOTH = ("Job", "Country")
COUNTED = Anon(("Job",), 2, of=("Age",))


@pytest.mark.parametrize(
    ("table", "templates", "implied"),
    [
        (patients, [COUNTED, Anon(("Job", "Sex"), 4)], {}),  # of other things
        (patients, [COUNTED, Anon(("Job", "Sex"), 2, of=("Age",))], {0: 1}),
        # Sensitive values are compared as equal sets, not subsets.
        (customers, [bankruptcy(("Job",), EVERY[:2], "0.9"), bankruptcy(("Job",), EVERY, "0.9")], {}),
        (customers, [Anon(("Job",), 1), bankruptcy(BOTH, "*", "0.9")], {}),  # of the other kind
    ],
)  # fmt: skip
def test_what_implies_what(table: Any, templates: list[Template], implied: dict[int, int]) -> None:
    assert release(table(), templates).implied == implied


@pytest.mark.parametrize(
    "templates",
    [
        [Anon(("Job", "Sex"), 4), Anon(("Sex", "Job"), 4)],
        [Anon(("Job",), 4, of=("Age", "Class2")), Anon(("Job",), 4, of=("Class2", "Age"))],
        [
            Conf(("Job",), {"Age": ["30", "32"]}, Fraction(1, 2)),
            Conf(("Job",), {"Age": ["32", "30"]}, Fraction("0.5")),
        ],
    ],
)
def test_the_same_template_twice_is_an_error(templates: list[Template]) -> None:
    rows, attrs = patients()
    rows = [{**row, "Class2": row["Class"]} for row in rows]
    refusal(lambda: release((rows, attrs), templates), "repeats")


def test_the_trees_are_the_papers() -> None:
    jobs = node(*next(iter(job_tree().items())))
    assert jobs.values == {
        "Janitor", "Mover", "Carpenter", "Electrician", "Manager", "Engineer", "Lawyer",
    }  # fmt: skip
    assert node(*next(iter(sex_tree().items()))).values == {"M", "F"}
