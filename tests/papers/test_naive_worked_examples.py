"""The worked examples, number for number, on the naive twin."""

from fractions import Fraction

import pytest

from naive.refine import Anon, Conf, Infeasible, Result, refine
from papers.tables import customers, patients, workers


def values(result: Result) -> list[str]:
    return [step["value"] for step in result.steps]


def shown(result: Result, name: str) -> set[str]:
    return {labels[name] for labels in result.labels}


def test_patients_with_one_template() -> None:
    rows, attrs = patients()
    result = refine(rows, attrs, [Anon(("Job", "Sex"), 4)], cls="Class")
    assert len(rows) == 34
    assert values(result) == ["ANY_Job", "Blue_Collar", "White_Collar", "ANY_Sex", "Technical"]
    first = result.steps[0]
    assert first["step"] == 1
    assert first["attribute"] == "Job"
    assert first["into"] == ["Blue_Collar", "White_Collar"]
    assert first["info_gain"] == pytest.approx(0.27159096, abs=5e-9)
    assert first["privacy_loss"] == 18
    assert first["score"] == pytest.approx(0.014294, abs=5e-7)
    assert first["templates"] == [16]
    jobs = {"Non_Technical", "Carpenter", "Electrician", "Manager", "Professional"}
    assert shown(result, "Job") == jobs
    assert shown(result, "Sex") == {"M", "F"}
    assert set(result.labels[0]) == {"Job", "Sex"}  # no template holds Age: it is not masked
    assert result.steps[-1]["templates"] == [4]


def test_patients_with_two_templates() -> None:
    rows, attrs = patients()
    templates = [Anon(("Job", "Sex"), 4), Anon(("Sex", "Age"), 11)]
    result = refine(rows, attrs, templates, cls="Class")
    assert values(result) == ["[30,44]", "ANY_Job", "Blue_Collar", "White_Collar", "Technical"]
    first = result.steps[0]
    assert first["attribute"] == "Age"
    assert first["into"] == ["[30,37)", "[37,44]"]
    assert first["info_gain"] == pytest.approx(0.358444, abs=5e-7)
    assert first["score"] == pytest.approx(0.015585, abs=5e-7)
    jobs = {"Non_Technical", "Carpenter", "Electrician", "Manager", "Professional"}
    assert shown(result, "Job") == jobs
    assert shown(result, "Sex") == {"ANY_Sex"}
    assert shown(result, "Age") == {"[30,37)", "[37,44]"}
    assert result.steps[-1]["templates"] == [4, 12]


def test_score_beats_pure_gain() -> None:
    rows, attrs = workers()
    result = refine(rows, attrs, [Anon(("Education", "Sex", "Work_Hrs"), 4)], cls="Class")
    assert values(result) == ["ANY_Sex", "[30,40]"]
    assert result.steps[0]["score"] == pytest.approx(0.018275, abs=5e-7)
    assert result.steps[1]["into"] == ["[30,40)", "[40,40]"]
    assert shown(result, "Education") == {"ANY_Education"}
    assert shown(result, "Sex") == {"M", "F"}
    assert result.steps[-1]["templates"] == [6]


def bankruptcy(at_most: Fraction) -> Conf:
    return Conf(("Job", "Country"), {"Bankruptcy": ["Discharged"]}, at_most)


def test_customers() -> None:
    rows, attrs = customers()
    result = refine(rows, attrs, [bankruptcy(Fraction(3, 4))], cls="Class")
    assert len(rows) == 24
    assert values(result) == ["Cook", "Artist", "Doctor", "US", "France"]
    assert [step["attribute"] for step in result.steps] == ["Job"] * 3 + ["Country"] * 2
    assert result.steps[0]["into"] == ["Cook", "*"]
    assert shown(result, "Job") == {"Cook", "Artist", "Doctor", "*"}
    assert shown(result, "Country") == {"US", "France", "*"}
    hidden = {
        (r["Job"], r["Country"])
        for r, s in zip(rows, result.labels, strict=True)
        if s["Job"] == "*"
    }
    assert hidden == {("Trader", "UK"), ("Trader", "Canada"), ("Clerk", "Canada")}
    assert result.steps[-1]["templates"] == [Fraction(1, 2)]


def test_customers_at_the_limit() -> None:
    rows, attrs = customers()
    result = refine(rows, attrs, [bankruptcy(Fraction(5, 24))], cls="Class")
    assert result.steps == []
    assert all(labels == {"Job": "*", "Country": "*"} for labels in result.labels)
    with pytest.raises(Infeasible):
        refine(rows, attrs, [bankruptcy(Fraction(5, 24) - Fraction(1, 10**12))], cls="Class")
