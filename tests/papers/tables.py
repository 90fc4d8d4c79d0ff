"""The tables of the worked examples, as rows, attributes in tie order, and nested taxonomies."""

from typing import Any

from naive.refine import Attr, Row, Tree

Table = tuple[list[Row], list[Attr]]


def expand(columns: tuple[str, ...], classes: tuple[str, str], lines: list[Any]) -> list[Row]:
    """Turn (values…, count of the first class, count of the second) into records."""
    return [
        {**dict(zip(columns, values, strict=True)), "Class": label}
        for *values, first, second in lines
        for label, count in zip(classes, (first, second), strict=True)
        for _ in range(count)
    ]


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
    lines = [
        ("Janitor", "M", 30, 0, 3),
        ("Mover", "M", 32, 0, 4),
        ("Carpenter", "M", 35, 2, 3),
        ("Electrician", "F", 37, 3, 1),
        ("Manager", "F", 42, 4, 2),
        ("Manager", "F", 44, 4, 0),
        ("Engineer", "M", 44, 4, 0),
        ("Engineer", "F", 44, 3, 0),
        ("Lawyer", "F", 44, 1, 0),
    ]
    attrs = [
        Attr("Job", "generalize", tree=job_tree()),
        Attr("Sex", "generalize", tree=sex_tree()),
        Attr("Age", "discretize"),
    ]
    return expand(("Job", "Sex", "Age"), ("Y", "N"), lines), attrs


def workers() -> Table:
    """Return 40 workers on whom the score and the pure gain choose differently."""
    lines = [
        ("10th", "M", 40, 20, 0),
        ("10th", "M", 30, 0, 4),
        ("9th", "M", 30, 0, 2),
        ("9th", "F", 30, 0, 4),
        ("9th", "F", 40, 0, 6),
        ("8th", "F", 30, 0, 2),
        ("8th", "F", 40, 0, 2),
    ]
    attrs = [
        Attr("Education", "generalize", tree=education_tree()),
        Attr("Sex", "generalize", tree=sex_tree()),
        Attr("Work_Hrs", "discretize"),
    ]
    return expand(("Education", "Sex", "Work_Hrs"), ("Y", "N"), lines), attrs


def customers() -> Table:
    """Return 24 bank customers: Job and Country without taxonomies, Child, Bankruptcy, G and B."""
    lines = [
        ("Cook", "US", "No", "Current", 0, 4),
        ("Artist", "France", "No", "Current", 1, 3),
        ("Doctor", "US", "Yes", "Never", 4, 2),
        ("Trader", "UK", "No", "Discharged", 4, 0),
        ("Trader", "UK", "No", "Never", 1, 0),
        ("Trader", "Canada", "No", "Never", 1, 0),
        ("Clerk", "Canada", "No", "Never", 3, 0),
        ("Clerk", "Canada", "No", "Discharged", 1, 0),
    ]
    attrs = [Attr("Job", "suppress"), Attr("Country", "suppress")]
    columns = ("Job", "Country", "Child", "Bankruptcy")
    return expand(columns, ("G", "B"), lines), attrs
