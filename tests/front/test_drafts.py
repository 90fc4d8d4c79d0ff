"""`reticent init`: what a draft says of a table, and that the unedited draft singles nobody out."""

from __future__ import annotations

import csv
import os
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reticent
from at_hand import public_data, rows_of, save
from reticent import Policy
from terminal import answer, run

pytestmark = pytest.mark.usefixtures("work")
PHONE = "0171 5550123"


def drafted(
    names: Sequence[str], rows: Sequence[Sequence[str]], *options: str, fits: int | None = 0
) -> str:
    """Draft a policy, and see that it is one, for this table; give its text."""
    save("table.csv", names, rows, quoting=csv.QUOTE_ALL)
    run("init", "table.csv", "-o", "draft.toml", "--force", *options)
    run("policy", "check", "draft.toml")
    run("policy", "check", "draft.toml", "table.csv", code=fits)
    return Path("draft.toml").read_text(encoding="utf-8")


def policy_for(
    names: Sequence[str], rows: Sequence[Sequence[str]], class_: str | None = None
) -> Policy:
    """The same, without a look at how it fits: odd tables are asked for that."""
    save("table.csv", names, rows, quoting=csv.QUOTE_ALL)
    reticent.draft("table.csv", class_=class_, output="draft.toml", force=True)
    return Policy.load("draft.toml")


def column(*values: str, of: int = 40) -> list[list[str]]:
    """A table of one column, whose values take turns, and of another with two."""
    return [[values[i % len(values)], "xy"[i // 2 % 2]] for i in range(of)]


# --- real tables ---------------------------------------------------------------------------------


def singled_out(rows: Sequence[Sequence[str]], places: Sequence[int]) -> float:
    """The share of rows that are alone with what some columns say; counted one by one."""
    seen = Counter(tuple(row[place] for place in places) for row in rows)
    return sum(count == 1 for count in seen.values()) / len(rows) if places else 0.0


def untidy(table: pd.DataFrame) -> pd.DataFrame:
    """The table as a hospital would export it: with who it is about, and what was noted down."""
    draw = random.Random(1)
    people = range(len(table))
    dates = [f"{draw.randrange(1930, 2010)}-{draw.randrange(1, 13):02}-17" for _ in people]
    noted = ["stable", f"rückruf {PHONE}", "seen twice, was told to come back in two weeks"]
    return table.assign(
        **{
            "Patient name": [f"{draw.choice(['Weiß', 'Ruiz'])}, {draw.choice('ABC')}{i}" for i in people],
            "PatientId": [f"P{7919 * i % 1_000_003:07}" for i in people],
            "PLZ": [f"{draw.randrange(1067, 9999):05}" for _ in people],
            "Geburtsdatum": dates,
            "Bemerkung": [draw.choice(noted) for _ in people],
            "Ward": ["North"] * len(table),
            "Fax number": [""] * len(table),
        }
    )  # fmt: skip


def shipped(name: str) -> Callable[[], pd.DataFrame]:
    def table() -> pd.DataFrame:
        datasets = pytest.importorskip("sklearn.datasets")
        return getattr(datasets, f"load_{name}")(as_frame=True).frame

    return table


def public(name: str, **form: object) -> Callable[[], pd.DataFrame]:
    def table() -> pd.DataFrame:
        found = pd.read_csv(public_data(name), dtype=str, skipinitialspace=True, **form)
        return (
            found
            if "sep" in form and "header" not in form
            else found.rename(columns=lambda c: f"A{c}")
        )

    return table


REAL = {
    "iris": (shipped("iris"), "target"),
    "wine": (shipped("wine"), "target"),
    "breast cancer": (shipped("breast_cancer"), "target"),
    "diabetes": (shipped("diabetes"), "sex"),
    "linnerud": (shipped("linnerud"), "Chins"),
    "adult": (public("adult/adult.data", header=None, nrows=20_000), "A14"),
    "adult of ARX": (public("arx_adult/adult.csv", sep=";", nrows=20_000), "salary-class"),
    "german credit": (public("german/german.data", header=None, sep=" "), "A20"),
    "credit approval": (public("crx/crx.data", header=None), "A15"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("with_class", [False, True])
@pytest.mark.parametrize("name", REAL)
def test_the_unedited_draft_of_a_real_table_singles_nobody_out(name: str, with_class: bool) -> None:
    load, target = REAL[name]
    untidy(load()).to_csv("export.csv", index=True, sep=";", decimal=",", encoding="latin-1")
    run("init", "export.csv", "-o", "policy.toml", *(["--class", target] if with_class else []))
    run("release", "export.csv", "-p", "policy.toml", "-o", "out")
    run("verify", "out")
    for path in Path("out/public").iterdir():
        assert PHONE not in path.read_text(encoding="utf-8")
    header, *rows = rows_of("out/public/data.csv")
    policy = Policy.load("policy.toml")
    roles = policy.roles([*header, *policy.drop])
    assert {"unnamed 1", "Patient name", "PatientId", "Bemerkung", "Fax number"} <= {*roles.dropped}
    known = [*roles.kept, *([roles.class_] if roles.class_ else [])]
    assert singled_out(rows, [header.index(n) for n in (*known, *roles.sensitive)]) <= 0.05
    assert singled_out(rows, [header.index(n) for n in (*known, *roles.masked)]) <= 0.05
    assert all(promise.k >= 2 for promise in policy.anonymity)
    assert all(0 < promise.at_most < 1 for promise in policy.confidence)


# --- roles ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("people")
def test_init() -> None:
    printed = run("init", "data.csv").stdout
    assert Policy.parse(printed).drop == ("Name",)
    told = answer("init", "data.csv", "-o", "draft.toml")
    assert told == {"output": "draft.toml", "taxonomies": [], "policy": printed}
    assert Path("draft.toml").read_text() == printed
    run("init", "data.csv", "-o", "draft.toml", code=2)
    assert "draft.toml" in run("init", "data.csv", "-o", "draft.toml", "--force").stdout
    run("policy", "check", "draft.toml", "data.csv")
    run("release", "data.csv", "-p", "draft.toml", "-o", "out.csv")
    run("verify", "out.csv", "-p", "draft.toml")
    assert answer("init", "data.csv")["output"] is None


class TestRoles:
    """What each column is taken for, by its name or by its cells."""

    @pytest.mark.parametrize(
        "name",
        ["Sex", "Geschlecht", "PLZ", "Age", "Outcome", "X", "black", "female", "hispanic", "single",
         "foreign", "kids", "raza", "divorced", "urban", "Kreis", "Altersgruppe", "Kunde", "churn"],
    )  # fmt: skip
    def test_no_column_becomes_the_class_by_itself(self, name: str) -> None:
        rows = [["ab"[i % 2], "yn"[i // 3 % 2]] for i in range(60)]
        assert policy_for(["Job", name], rows).class_ is None
        text = Path("draft.toml").read_text(encoding="utf-8")
        proposed = re.search("# class = .*", text)
        assert proposed
        assert (f'"{name}"' in proposed[0]) == (name in ("Outcome", "churn"))

    def test_the_class_is_what_was_asked_for(self) -> None:
        rows = [["ab"[i % 2], "yn"[i // 3 % 2]] for i in range(60)]
        assert policy_for(["Job", "Sex"], rows, "Sex").class_ == "Sex"
        said = run("init", "table.csv", "--class", "Sexx", code=2).stderr
        assert 'Did you mean "Sex"?' in said

    def test_a_class_that_singles_people_out_is_masked(self) -> None:
        rows = [["ab"[i % 2], str(i // 2)] for i in range(60)]
        text = drafted(["Job", "Score"], rows, "--class", "Score")
        policy = Policy.parse(text)
        assert policy.class_ is None
        assert "Score" in policy.anonymity[0].over
        assert "# ? No class: " in text

    @pytest.mark.parametrize(
        ("name", "cells", "why"),
        [
            ("Name", "uv", "its name speaks of an identifier"),
            ("Land", "u", "every record has the same value, which tells nothing of anybody"),
            ("Leer", [""], "it is empty"),
        ],
    )
    def test_a_class_that_cannot_be_is_told(self, name: str, cells: str, why: str) -> None:
        text = drafted([name, "Job"], column(*cells), "--class", name)
        assert f'# ? No class: "{name}" cannot be one: {why}.' in text
        said = run("init", "table.csv", "--class", name).stderr
        assert f'Warning: no class is drafted: "{name}" cannot be one' in said
        assert name not in Policy.parse(text).attributes

    def test_k_is_larger_where_a_class_needs_it(self) -> None:
        """Of many classes each is alone in a small group; in a larger one it has company."""
        draw = random.Random(3)
        rows = [[draw.choice("abcdefgh"), draw.choice("abcdefgh"), draw.choice("pqrstu")] for _ in range(3000)]  # fmt: skip
        policy = policy_for(["A", "B", "Kind"], rows, "Kind")
        assert policy.class_ == "Kind"
        run("release", "table.csv", "-p", "draft.toml", "-o", "out.csv")
        assert singled_out(rows_of("out.csv")[1:], [0, 1, 2]) <= 0.05

    def test_records_without_a_class_are_left_out(self) -> None:
        rows = [["ab"[i % 2], "yn"[i // 3 % 2] if i % 10 else ""] for i in range(100)]
        text = drafted(["Job", "Outcome"], rows, "--class", "Outcome")
        assert 'missing = "drop"  # leaves out 10 records' in text
        run("release", "table.csv", "-p", "draft.toml", "-o", "out.csv")
        assert len(rows_of("out.csv")) == 91

    @pytest.mark.parametrize(
        "name",
        ["Name", "patientId", "Nachname", "Prénom", "Apellido", "cognome", "Patientennummer", "E-Mail",
         "Telefon", "Straße", "IBAN", "ssn", "Notes", "Bemerkung", "remarque", "Comentarios", "osservazioni",
         "opmerkingen", "observações", "Arztbrief", "annotations", "Hinweise", "Bem.", "apuntes",
         "anotaciones", "annotazioni", "aantekeningen", "Patient", "Betreuer"],
    )  # fmt: skip
    def test_who_somebody_is_and_what_was_noted_down_is_dropped(self, name: str) -> None:
        assert policy_for([name, "Job"], column("x1", "y2", "z3")).drop == (name,)

    @pytest.mark.parametrize(
        "cell",
        ["call +49 30 1234567", "(030) 123456", "555-123-4567", "a.b@example.org", "see www.example.org",
         "123-45-6789", "01765550123", "06.12.34.56.78", "555-0123", "ring 555-1234", "491765550123",
         "max (at) example.org", "max@web", "he came in on his own and left again after two hours"],
    )  # fmt: skip
    def test_cells_tell_free_text_and_how_to_reach_somebody(self, cell: str) -> None:
        assert policy_for(["Info", "Job"], column(cell, "-", "none")).drop == ("Info",)

    @pytest.mark.parametrize(
        "cell",
        [
            "01.02.2024",
            "2024-02-01",
            "10-20",
            "0.5 mg",
            "C50.9",
            "1.000.000",
            "08:30",
            "00012",
            "500-1000",
        ],
    )
    def test_dates_doses_and_codes_reach_nobody(self, cell: str) -> None:
        assert policy_for(["Info", "Job"], column(cell, "b")).drop == ()

    def test_private_columns_of_few_values_are_sensitive_with_a_promise(self) -> None:
        rows = [["ab"[i % 2], "uvw"[i % 3]] for i in range(60)]
        policy = policy_for(["Job", "Diagnosis"], rows)
        [promise] = policy.confidence
        assert dict(promise.sensitive) == {"Diagnosis": "*"}
        assert float(promise.at_most) == 0.5

    @pytest.mark.parametrize(
        "values",
        [[f"2024-01-{d:02}" for d in range(1, 29)], [str(1000 + 7 * i) for i in range(30)],
         [f"d{i}" for i in range(21)], ["yes"] * 39 + ["no"]],
        ids=["dates", "numbers", "many values", "one value"],
    )  # fmt: skip
    def test_private_columns_that_no_promise_fits_are_masked(self, values: list[str]) -> None:
        policy = policy_for(["Diagnosis", "Job"], column(*values, of=len(values) * 3))
        assert not policy.confidence
        assert "Diagnosis" in policy.anonymity[0].over

    def test_sensitive_columns_together_single_nobody_out(self) -> None:
        draw = random.Random(5)
        names = ["Job", "Diagnosis", "Drug", "Religion", "Debt"]
        rows = [["ab"[i % 2], *(draw.choice("pqrstuvwxy") for _ in names[1:])] for i in range(400)]
        text = drafted(names, rows)
        policy = Policy.parse(text)
        sensitive = [name for promise in policy.confidence for name in promise.sensitive]
        assert 1 <= len(sensitive) < 4
        assert singled_out(rows, [names.index(name) for name in sensitive]) <= 0.05
        assert "with what else is released as it is it would single out" in text

    def test_empty_and_constant_columns_are_not_masked(self) -> None:
        rows = [["", "North", "ab"[i % 2]] for i in range(40)]
        policy = policy_for(["Fax2", "Ward", "Job"], rows)
        assert (policy.drop, policy.keep) == (("Fax2",), ("Ward",))
        assert policy.anonymity[0].over == ("Job",)

    def test_nothing_to_release(self) -> None:
        save("table.csv", ["Notes"], [[f"he said {i}"] for i in range(30)])
        assert "no column that could be released" in run("init", "table.csv", code=2).stderr

    @pytest.mark.parametrize(
        "names",
        [
            ["Name"],
            ["Nachname", "Fallnummer"],
            ["Vorname", "Nachname", "Kommentar"],
            ["Patientennummer", "Versichertennummer", "Notiz"],
            ["Name", "Id"],
            ["unnamed 1", "Name"],
        ],
        ids=lambda names: " ".join(names),
    )
    @pytest.mark.parametrize("each", [1, 2, 12])
    def test_what_says_who_somebody_is_is_never_released(self, names: list[str], each: int) -> None:
        """Names and numbers that k records share are still names and numbers."""
        whose = [i // each for i in range(60)]
        cells = {"Notiz": "siehe Akte {} im Schrank", "Fallnummer": "9{:03}", "Id": "{}"}
        cells |= {"Versichertennummer": "A1234{:04}", "Patientennummer": "7{:03}"}
        rows = [[cells.get(name, name[:4] + "{}").format(who) for name in names] for who in whose]
        save("table.csv", names, rows)
        said = run("init", "table.csv", "-o", "draft.toml", code=2).stderr
        assert "no column that could be released" in said
        assert not Path("draft.toml").exists()
        save("table.csv", [*names, "Alter"], [[*row, 20 + i] for i, row in enumerate(rows)])
        run("init", "table.csv", "-o", "draft.toml")
        policy = Policy.load("draft.toml")
        assert set(policy.drop) == {*names}
        assert policy.attributes["Alter"].mask == "discretize"  # though no two are of one age


class TestPeopleInSeveralRows:
    """A panel: every person stands in several rows, which agree in what a person is."""

    @staticmethod
    def panel(name: str, people: int = 60, years: int = 5) -> tuple[list[str], list[list[str]]]:
        draw = random.Random(2)
        born = [str(draw.randrange(1940, 1990)) for _ in range(people)]
        sex = [draw.choice("mf") for _ in range(people)]
        rows = [
            [str(4711 + 13 * who), str(2000 + year), sex[who], born[who], draw.choice("pqr")]
            for who in range(people)
            for year in range(years)
        ]
        return [name, "year", "sex", "born", "job"], rows

    @pytest.mark.parametrize("name", ["nr", "PatientId", "x", "email", "ssn", "Telefon"])
    def test_people_are_counted_and_their_number_dropped(self, name: str) -> None:
        names, rows = self.panel(name)
        form = {"email": "p{}@example.org", "ssn": "123-45-{}", "Telefon": "030 55{}"}.get(
            name, "{}"
        )
        rows = [[form.format(row[0]), *row[1:]] for row in rows]
        policy = policy_for(names, rows)
        assert policy.drop == (name,)
        assert policy.anonymity[0].of == (name,)
        Path("aligned.toml").write_text('order = "input"\n' + Path("draft.toml").read_text())
        run("release", "table.csv", "-p", "aligned.toml", "-o", "out.csv")
        crowds: dict[tuple[str, ...], set[str]] = {}
        for before, after in zip(rows_of("table.csv")[1:], rows_of("out.csv")[1:], strict=True):
            crowds.setdefault(tuple(after), set()).add(before[0])
        assert len(crowds) > 1
        assert min(map(len, crowds.values())) >= policy.anonymity[0].k

    def test_names_are_never_counted(self) -> None:
        names, rows = self.panel("Surname")
        people = {row[0]: f"Mx {chr(97 + i % 26)}{chr(97 + i // 26)}" for i, row in enumerate(rows)}
        text = drafted(names, [[people[row[0]], *row[1:]] for row in rows])
        policy = Policy.parse(text)
        assert policy.drop == ("Surname",)
        assert policy.anonymity[0].of == ()
        assert policy.anonymity[0].k == 50  # ten people of five rows each
        assert "Some stand in up to 5 rows, told by their names alone" in text

    def test_places_and_measures_are_nobody(self) -> None:
        draw = random.Random(4)
        cities = {f"{code}": draw.choice("pqrs") for code in range(10115, 10175)}
        rows = [[code, cities[code], draw.choice("ab")] for code in cities for _ in range(5)]
        assert policy_for(["Zip", "City", "Job"], rows).anonymity[0].of == ()
        assert policy_for(["A", "B", "Job"], [[str(i % 30), "tf"[i % 30 == 0], "ab"[i % 2]] for i in range(600)]).drop == ()  # fmt: skip


# --- masks ---------------------------------------------------------------------------------------


class TestMasks:
    """How what is masked is masked."""

    @pytest.mark.parametrize(
        ("name", "values", "groups"),
        [
            ("Zip", ["01067", "01099", "02100", "99999"], {"0****", "010**", "021**"}),
            ("PLZ", ["1067", "1099", "2100", "9999"], {"1***", "10**"}),
            ("home", ["SW1A 1AA", "SW1A 2AB", "EC2V 7HH", "N1 9GU"], {"S*******", "SW1A****"}),
        ],
    )
    def test_postcodes_get_a_taxonomy_of_prefixes(
        self, name: str, values: list[str], groups: set[str]
    ) -> None:
        policy = policy_for([name, "Job"], column(*values, of=200))
        made = policy.attributes[name]
        assert (made.mask, made.taxonomy) == ("generalize", f"draft-{name.lower()}.csv")
        assert groups <= {label for row in rows_of(str(made.taxonomy)) for label in row}
        run("release", "table.csv", "-p", "draft.toml", "-o", "out")
        run("verify", "out")
        told = answer("init", "table.csv", "-o", "draft.toml", "--force")
        assert told["taxonomies"] == [made.taxonomy]
        assert Policy.parse(run("init", "table.csv").stdout).attributes[name].mask == "suppress"

    @pytest.mark.parametrize("values", ["01", "12345", ["0", "1", "2", "14"]])
    def test_small_whole_numbers_are_categories(self, values: Sequence[str]) -> None:
        assert policy_for(["x", "Job"], column(*values)).attributes["x"].mask == "suppress"

    @pytest.mark.parametrize(
        ("values", "ends"),
        [
            ([str(17 + i) for i in range(70)], "[0, 100]"),
            ([str(1980 + i) for i in range(40)], "[1900, 2100]"),
            ([f"0.{i:02}" for i in range(10, 90)], "[0, 1]"),
            ([f"-{i}" for i in range(1, 90)], "[-100, 0]"),
            ([f"1987-0{i % 9 + 1}-1{i % 7}" for i in range(63)], "[1980-01-01, 1990-01-01]"),
        ],
    )
    def test_measures_and_dates_get_round_intervals_with_ends_that_are_nobodys(
        self, values: list[str], ends: str
    ) -> None:
        text = drafted(["x", "Job"], column(*values, of=len(values) * 4))
        made = Policy.parse(text).attributes["x"]
        assert (made.mask, made.round) == ("discretize", True)
        assert f"range = {ends}" in text

    def test_gaps_decimal_commas_and_dates_of_other_forms_are_understood(self) -> None:
        rows = [
            [f"{i},5" if i % 9 else "NA", f"{i % 28 + 1:02}.03.1987", "?" if i % 11 else "x"]
            for i in range(100)
        ]
        text = drafted(["Dose", "Day", "Job"], rows)
        policy = Policy.parse(text)
        assert policy.missing_values == ("NA",)
        assert {made.mask for name, made in policy.attributes.items() if name != "Job"} == {
            "discretize"
        }
        assert 'decimal = ","' in text
        assert 'date_format = "%d.%m.%Y"' in text
        begin = text.index("# [writing]")
        said = text[:begin] + text[begin:].replace("# ", "", 1).replace("\n# ", "\n", 2)
        assert Policy.parse(said).writing.told().keys == ["decimal", "bom"]

    def test_of_dates_in_two_forms_most_columns_decide(self) -> None:
        rows = [[f"{1950 + i}-02-01", f"{i % 28 + 1:02}.03.1987", "xy"[i % 2]] for i in range(60)]
        text = drafted(["Seen", "Born", "Job"], rows)
        assert Policy.parse(text).attributes["Seen"].mask == "discretize"
        assert "date_format" not in text
        assert '# ? dates are read in the ISO form, and those of "Born" are in another one' in text
        text = drafted(["Seen", "Born", "Left"], [[a, b, b] for a, b, _ in rows])
        assert 'date_format = "%d.%m.%Y"' in text
        assert 'in the form %d.%m.%Y, and those of "Seen" are in another one' in text

    def test_days_that_could_be_months_are_left_to_the_steward(self) -> None:
        text = drafted(["Day", "Job"], column("01/02/1987", "03/04/1987"))
        assert "date_format" not in text

    def test_k_leaves_something_to_show(self) -> None:
        assert policy_for(["A"], [["x"], ["y"]] * 3).anonymity[0].k == 3
        assert policy_for(["A"], [["x"]] * 7 + [["y"]] * 2).anonymity[0].k == 2
        assert policy_for(["A"], [["x"], ["y"]] * 300).anonymity[0].k == 10


def test_init_shows_values_only_when_asked() -> None:
    rows = [["SECRETxyz1", str(1704 + i), f"1987-05-{17 + i}"] for i in range(5)] * 6
    names = ["Job", "Height", "Day"]
    assert not re.search("SECRETxyz1|1704|1708|1987", drafted(names, rows))
    shown = drafted(names, rows, "--show-values")
    assert "1704" in shown
    assert "1987-05-17" in shown


# --- odd tables ----------------------------------------------------------------------------------

TWO = [["a", "1"], ["b", "2"]] * 6
ODD_TABLES: dict[str, tuple[list[str], list[list[str]]]] = {
    "one row": (["A", "B"], [["x", "1"]]),
    "one column": (["A"], [["x"], ["y"]] * 3),
    "all missing": (["A", "B"], [["", ""]] * 4),
    "a class alone": (["Class"], [["y"], ["n"]] * 5),
    "an identifier and a class": (["Name", "Class"], [[f"a{i}", "yn"[i % 2]] for i in range(30)]),
    "a secret and a class": (["Diagnosis", "Class"], TWO),
    "an identifier, a secret and a class": (
        ["Name", "Diagnosis", "Class"],
        [[f"a{i}", "xy"[i % 2], "yn"[i % 3 == 0]] for i in range(30)],
    ),
    "a secret alone": (["Diagnosis"], [["x"], ["y"]] * 3),
    "a secret that nobody has": (["Diagnosis", "Age"], [["", "1"], ["", "2"]] * 3),
    "a secret that all share": (["Job", "Diagnosis", "Age"], [["c", "x", "1"]] * 5),
    "the marker as a value": (["Job", "Age", "Sex"], [["*", "1", "m"], ["a", "2", "f"]] * 5),
    "the marker as a number": (["Age", "Sex", "X"], [["1", "m", "*"], ["2", "f", ""]] * 5),
    "zones that differ": (["When", "Sex", "X"], [["2024-01-01T10:00Z", "m", ""], ["2024-01-01T10:00", "f", ""]] * 5),
    "numbers too large": (["X", "Sex", "Y"], [["1e999", "m", ""], ["3", "f", ""]] * 5),
    "digits without end": (["X", "Sex", "Y"], [["9" * 5000, "m", ""], ["3", "f", ""]] * 5),
    "times before the calendar": (["X", "Sex", "Y"], [["0001-01-01T00:00+05:00", "m", ""]] * 5),
    "a star for a name": (["*", "Age"], TWO),
    "names of keys": (["class", "drop"], TWO),
    "dots and quotes in names": (['a.b"\\', "'a'"], TWO),
    "blanks around names": ([" Age ", "Job "], TWO),
    "line breaks in names": (["Disease\nkind", "Job\r\nnow", "Age"], [["x", "c", "1"], ["y", "d", "2"]] * 5),
    "control signs in names": (["Disease\x01\x7f", "Job\x7f", "Age\x1f"], [["x", "c", "1"], ["y", "d", "2"]] * 5),
    "names in other scripts": (["Größe", "年齢", "😀"], [["x", "1", "a"], ["y", "2", "b"]] * 5),
    "truth values": (["b", "c"], [["true", "1"], ["false", "2"]] * 5),
    "many columns": ([f"c{i}" for i in range(60)], [[str(i % 7) for i in range(60)]] * 3),
}  # fmt: skip


@pytest.mark.parametrize("kind", list(ODD_TABLES))
def test_drafts_of_odd_tables_are_policies_for_them(kind: str) -> None:
    names, rows = ODD_TABLES[kind]
    policy = Policy.parse(drafted(names, rows, fits=3 if kind == "one row" else 0))
    assert policy.promises
    assert policy.roles(names)


def test_drafts_of_tables_read_as_told() -> None:
    text = drafted(
        ["Pay", "Day", "Sex"], [["1,5", "31.12.2024", "m"], ["2,5", "01.01.2024", "f"]] * 5,
        "--decimal", ",", "--date-format", "%d.%m.%Y",
    )  # fmt: skip
    assert text.count('mask = "discretize"') == 2


def test_drafts_of_typed_tables(tmp_path: Path) -> None:
    table = pa.table(
        {
            "n": [1, None, 3], "x": [0.5, float("nan"), 2.0], "b": [True, False, None],
            "d": pa.array([1, 2, None], pa.date32()), "t": pa.array([1, 2, None], pa.timestamp("s")),
            "s": ["u", "", None],
        }
    )  # fmt: skip
    pq.write_table(table, "typed.parquet")
    run("init", "typed.parquet", "-o", "draft.toml")
    run("policy", "check", "draft.toml", "typed.parquet")
    run("release", "typed.parquet", "-p", "draft.toml", "-o", "out.parquet")
    run("verify", "out.parquet", "-p", "draft.toml")


odd_cells = st.one_of(
    st.sampled_from(
        ["", "0", "1", "01", "-1.5", "1e5", "1e999", "*", "?", "NA", "true", "2024-01-01",
         "2024-01-01T10:00", "2024-01-01T10:00Z", "2024-02-30", "x", "y"]
    ),
    # Without @: a column of e-mail addresses is left out, and a table of such alone is no draft's.
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="@"), max_size=3),
)  # fmt: skip
odd_names = st.one_of(
    st.sampled_from(["Name", "Id", "Class", "Diagnosis", "Salary", "Age", "Zip", "drop", "a.b"]),
    st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=4
    ).filter(str.strip),
)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(odd_names, min_size=1, max_size=4, unique=True).flatmap(
        lambda names: st.tuples(
            st.just(names),
            st.lists(
                st.lists(odd_cells, min_size=len(names), max_size=len(names)),
                min_size=1,
                max_size=5,
            ),
        )
    ),
    st.integers(1, 6),
)
def test_drafts_of_any_table_are_policies_for_it(
    table: tuple[list[str], list[list[str]]], copies: int
) -> None:
    names, rows = table
    here = os.getcwd()
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            save("table.csv", names, rows * copies, quoting=csv.QUOTE_ALL)
            if run("init", "table.csv", code=None).exit_code == 2:  # all say who somebody is
                assert "no column that could be" in run("init", "table.csv", code=2).stderr
                return
            drafted(names, rows * copies, fits=0 if len(rows) * copies > 1 else 3)
        finally:
            os.chdir(here)
