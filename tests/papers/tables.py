"""The tables of the worked examples, as rows, attributes in tie order, and nested taxonomies."""

from __future__ import annotations

import csv

from naive.refine import Attr, Row, Tree
from terminal import ROOT

Table = tuple[list[Row], list[Attr]]


def shipped(name: str) -> list[Row]:
    """The records of a table among the examples."""
    with open(ROOT / "examples" / name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def job_tree() -> Tree:
    return {
        "ANY_Job": {
            "Blue_Collar": {
                "Non_Technical": {"Janitor": {}, "Mover": {}},
                "Technical": {"Carpenter": {}, "Electrician": {}},
            },
            "White_Collar": {"Manager": {}, "Professional": {"Engineer": {}, "Lawyer": {}}},
        }
    }


def sex_tree() -> Tree:
    return {"ANY_Sex": {"M": {}, "F": {}}}


def education_tree() -> Tree:
    return {"ANY_Education": {"8th": {}, "9th": {}, "10th": {}}}


def patients() -> Table:
    """Return 34 patients: Job, Sex and Age, classes Y and N."""
    rows = [{**row, "Age": int(row["Age"])} for row in shipped("patients/patients.csv")]
    attrs = [
        Attr("Job", "generalize", tree=job_tree()),
        Attr("Sex", "generalize", tree=sex_tree()),
        Attr("Age", "discretize"),
    ]
    return rows, attrs


def workers() -> Table:
    """Return 40 workers on whom the score and the pure gain choose differently."""
    lines = [
        ("10th", "M", 40, "Y", 20),
        ("10th", "M", 30, "N", 4),
        ("9th", "M", 30, "N", 2),
        ("9th", "F", 30, "N", 4),
        ("9th", "F", 40, "N", 6),
        ("8th", "F", 30, "N", 2),
        ("8th", "F", 40, "N", 2),
    ]
    names = ("Education", "Sex", "Work_Hrs", "Class")
    rows = [dict(zip(names, cells, strict=True)) for *cells, count in lines for _ in range(count)]
    attrs = [
        Attr("Education", "generalize", tree=education_tree()),
        Attr("Sex", "generalize", tree=sex_tree()),
        Attr("Work_Hrs", "discretize"),
    ]
    return rows, attrs


def customers() -> Table:
    """Return 24 bank customers: Job and Country without taxonomies, Child, Bankruptcy, G and B."""
    return shipped("bank_customers/customers.csv"), [
        Attr("Job", "suppress"),
        Attr("Country", "suppress"),
    ]
