"""The draft by the 18 identifiers of a rule: what it recognizes, and that it ends in a release."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import reticent
from at_hand import file_of, refusal, some_or_many
from reticent import Policy
from reticent.data.columns import Table, encode
from reticent.files.tabular import Reading
from reticent.privacy.identifying import seen_in
from reticent.sklearn import Masker
from reticent.tables.drafts.identifiers import IDENTIFIERS, named_as
from reticent.tables.drafts.safe_harbor import RULE, drafted_by_rule, small_regions
from reticent.tables.flow import apply

ODD = """\
Patientenname;Geburtsdatum;Alter;PLZ;Straße;E-Mail;Aufnahme;Entlassungsmonat;Fallnummer;Bundesland;Landkreis;Geschlecht;Diagnose;Bemerkung;IP;Kennzeichen
Müller;03.02.1929;91;2139;Hauptstr. 1;a@b.de;01.05.2019;5;A-1;Hessen;Kassel;m;I10;kam spät;10.0.0.1;B-XY 1
Schmidt;unbekannt;74;02139-4307;Weg 2;;02.05.2019;5;A-2;Hessen;Fulda;w;I10;ok;10.0.0.2;
Weiß;12.12.1960;;03601;Platz 3;c@d.de;03.06.2020;6;A-3;Bayern;Hof;m;E11;;10.0.0.3;
Groß;12.12.1970;49;unbekannt;Platz 4;e@d.de;03.06.2020;6;A-4;Bayern;Hof;w;Q87.1;;10.0.0.4;
"""


def drafted(data: Any) -> str:
    return reticent.draft(data, rule=RULE)


def fates(**columns: list[Any]) -> dict[str, tuple[str, str]]:
    """What becomes of columns, and as which identifier."""
    rows = len(next(iter(columns.values())))
    cells = {**columns, "Kept": [1.5] * rows}
    table = Table("t", {n: encode(n, pa.array(c)) for n, c in cells.items()}, rows)
    found = drafted_by_rule(table, Reading())
    return {
        r.name: (r.fate, r.identifier.letter if r.identifier else "")
        for r in found.rulings
        if r.name != "Kept"
    }


def test_an_odd_table_is_drafted_released_and_verified(tmp_path: Path) -> None:
    path = file_of(tmp_path, ODD)
    text = reticent.draft(path, rule=RULE, output=tmp_path / "p.toml")
    policy = Policy.load(tmp_path / "p.toml")
    assert '(H) medical record numbers: "Fallnummer"' in text
    assert "(D) telephone numbers: none found" in text
    assert all(str(one) in text for one in IDENTIFIERS)
    assert set(policy.drop) == {
        "Patientenname", "Straße", "E-Mail", "Entlassungsmonat", "Fallnummer", "Landkreis",
        "Bemerkung", "IP", "Kennzeichen",
    }  # fmt: skip
    released = reticent.release(path, policy, output=tmp_path / "out/")
    assert released.proof.holds
    page = (tmp_path / "out/public/report.html").read_text("utf-8")
    assert "Made coarser: PLZ is told by its first 3 digits" in page
    assert "45 CFR 164.514(b)(2)" in page
    assert "there would be no release. It also looked" in " ".join(page.split())
    assert "everything is still masked" not in (tmp_path / "out/private/report.html").read_text()
    rows = pd.read_csv(tmp_path / "out/public/data.csv", dtype=str, keep_default_na=False)
    assert sorted(rows["Geburtsdatum"]) == ["1930 or earlier", "1960", "1970", "unbekannt"]
    assert sorted(rows["PLZ"]) == ["000", "021", "021", "unbekannt"]
    assert sorted(rows["Alter"]) == ["", "49", "74", "90 or older"]
    assert sorted(rows["Aufnahme"]) == ["2019", "2019", "2020", "2020"]
    assert reticent.verify(tmp_path / "out", policy).holds
    assert not reticent.verify(path, policy).holds


@pytest.mark.parametrize(
    ("name", "cells", "fate"),
    [
        ("Zip", [2139, 90210, 501], ("coarsen", "B")),
        ("ZIP_CODE", ["02139", "SW1A", "K1A"], ("drop", "B")),
        ("postcode", ["SW1A 1AA", "M1 1AE", "B33 8TH"], ("drop", "B")),
        ("DischargeDate", ["02/03/2019", "2/14/2019", "N/A"], ("coarsen", "C")),
        ("seen", ["2019-05-31 10:00", "2019-06-01 11:30", "2020-01-01 00:00"], ("coarsen", "C")),
        ("dod", ["2019-05-31", "2019-06-01", "5/4/22"], ("drop", "C")),
        ("dod", ["3-Feb-2019", "14-MAR-2019", "1-Jan-2020"], ("coarsen", "C")),
        ("BirthYear", ["1931", "1950", "1960"], ("coarsen", "C")),
        ("Year of visit", [2019, 2019, 2020], ("coarsen", "C")),
        ("admit_month", ["5", "6", "12"], ("drop", "C")),
        ("seen at", ["10:30", "11:45", "09:10"], ("drop", "C")),
        ("AgeGroup", ["0-17", "18-64", "65+"], ("drop", "C")),
        ("age_months", [3, 1100, 400], ("coarsen", "C")),
        ("Telefon", ["1", "2", "3"], ("drop", "D")),
        ("reach", ["555-123-4567", "555-123-4568", "555-123-4569"], ("drop", "D")),
        ("Fax", ["1", "2", "3"], ("drop", "E")),
        ("x", ["a@b.org", "c@d.org", None], ("drop", "F")),
        ("email_address", ["-", "-", "-"], ("drop", "F")),
        ("s", ["123-45-6789", "987-65-4321", None], ("drop", "G")),
        ("Social Security No", [1, 2, 3], ("drop", "G")),
        ("MRN", [11, 12, 13], ("drop", "H")),
        ("Versichertennummer", ["A1", "A2", "A3"], ("drop", "I")),
        ("IBAN", ["A", "B", "C"], ("drop", "J")),
        ("Driver's license", ["A", "B", "C"], ("drop", "K")),
        ("VIN", ["A", "B", "C"], ("drop", "L")),
        ("device_serial", ["A", "B", "C"], ("drop", "M")),
        ("Homepage", ["A", "B", "C"], ("drop", "N")),
        ("from", ["10.0.0.1", "10.0.0.2", "10.0.0.3"], ("drop", "O")),
        ("fingerprint", ["A", "B", "C"], ("drop", "P")),
        ("Foto", ["A", "B", "C"], ("drop", "Q")),
        ("barcode", ["A", "B", "C"], ("drop", "R")),
        ("City", ["A", "B", "B"], ("drop", "B")),
        ("latitude", [1.5, 2.5, 3.5], ("drop", "B")),
        ("State", ["MA", "MA", "NY"], ("keep", "")),
        ("Country", ["US", "US", "DE"], ("keep", "")),
        ("vehicle", ["car"] * 20 + ["bus"] * 20, ("drop", "L")),
        ("number_of_visits", [1, 2, 3, 4] * 10, ("keep", "")),
        ("num_children", [1, 2, 3, 4] * 10, ("keep", "")),
        ("num_id", [1, 2, 3, 4] * 10, ("drop", "R")),
        ("visit number", [1, 2, 3, 4] * 10, ("drop", "R")),
        ("state_license", ["MA1", "NY2"] * 20, ("drop", "K")),
        ("cost", [10.5, 11.5, 12.25], ("keep", "")),
        ("code", [f"k{i}" for i in range(40)], ("drop", "R")),
        ("Remarks", ["came late", "ok", "left early"], ("drop", "R")),
        ("Surname", ["A", "B", "C"], ("drop", "A")),
        ("mother", ["A", "B", "C"], ("drop", "A")),
        ("Empty", [None, None, None], ("drop", "")),
    ],
)
def test_columns_are_recognized_by_their_names_and_cells(
    name: str, cells: list[Any], fate: tuple[str, str]
) -> None:
    assert fates(**{name: cells})[name] == fate


@pytest.mark.parametrize(
    ("name", "letter"),
    [
        ("MRN", "H"), ("Account", "J"), ("Plate", "L"), ("Member ID", "I"), ("VIN", "L"),
        ("Fingerprint", "P"), ("device serial", "M"), ("Passport", "K"), ("Photo", "Q"),
        ("ID", "R"), ("patient key", "R"), ("SSN", "G"),
    ],
)  # fmt: skip
def test_named_identifiers_are_dropped_however_few_there_are(name: str, letter: str) -> None:
    for cells in (["A", "B", "C"] * 200, [1, 2, 3] * 200):
        assert fates(**{name: cells})[name] == ("drop", letter)


NAMED = """
A: Spouse Partner Child Children Kids Provider Nurse Surgeon Emergency_contact Alias Attending_physician
B: School Ward Clinic Site FIPS Location Region
D: Cell
G: Soc_Sec ss#
H: Chart encounter Case
I: HICN MBI
J: Acct CreditCard
K: DL Registration
M: S/N
Q: headshot
R: Code
"""
PLACES = ["Ann Lee", "Bob Ray", "Cid Moe"]


@pytest.mark.parametrize("line", NAMED.strip().splitlines())
def test_names_that_speak_of_an_identifier_drop_a_column(line: str) -> None:
    letter, names = line.split(": ")
    for name in (name.replace("_", " ") for name in names.split()):
        for cells in (PLACES, PLACES * 20, [*PLACES, "yes"]):
            assert fates(**{name: cells})[name] == ("drop", letter), name


@pytest.mark.parametrize(
    ("name", "cells", "fate"),
    [
        ("Children", [0, 1, 2, 2], "keep"),
        ("Spouse", ["yes", "no", "no", "no"], "keep"),
        ("Died", ["yes", "no", "no", "no"], "keep"),
        ("Discharge", ["home", "home", "other", "other"], "keep"),
        ("Number of clinic visits", [4, 5, 60, 7], "keep"),
        ("white cell count", [4.5, 5.5, 6.5, 7.5], "keep"),
        ("Glucose mg/dl", [80, 90, 100, 110], "keep"),
        ("ICD code", ["I10", "I10", "E11", "E11"], "keep"),
        ("CLM_FROM_DT", [44500, 44501, 44501, 44502], "drop"),
        ("AdmitDt", [1.7e9, 1.6e9, 1.5e9, 1.6e9], "drop"),
        ("DischDt", ["d17", "d18", "d18", "d19"], "drop"),
        ("Onset", [44500, 44501, 44501, 44502], "drop"),
        ("Discharge", ["May", "June", "June", "July"], "drop"),
        ("Kids", [0, 1, 2, 2], "keep"),
        ("Deceased", ["day 17", "day 18", "no", "no"], "drop"),
        ("Stadt", ["Fulda", "Hof", "Hof", "Hof"], "drop"),
    ],
)  # fmt: skip
def test_counts_answers_and_measures_stay_and_days_by_name_do_not(
    name: str, cells: list[Any], fate: str
) -> None:
    assert fates(**{name: cells})[name][0] == fate


@pytest.mark.parametrize(
    "name", ["bdate", "D.O.B", "Bday", "BDate", "yrborn", "byear", "Jahrgang", "x"]
)
def test_years_of_birth_are_told_up_to_some_year(name: str) -> None:
    data = pa.table({name: [1915, 1950, 1990], "Visit": ["2019-01-01"] * 3})
    text = drafted(data)
    assert text.count("oldest = 1929") == 2
    released = reticent.release(data, Policy.parse(text))
    assert released.table[name].to_pylist()[0] == "1929 or earlier"


LOOKS = """\
R 3f2504e0-4f89-11d3-9a0c-0305e82c3301
R 5d41402abc4b2a76b9719d911017c592
M 00:1B:44:11:3A:B7
M 001b.4411.3ab7
M 490154203237518
L 1HGCM82633A004352
O 2001:0db8:0000:0000:0000:0000:0000:0001
O fe80::1
G 123-45-6789
G 123456789
D (617) 555-0101
D 6175550101
D +16175550101
J 4111 1111 1111 1111
J DE89370400440532013000
I 1EG4-TE5-MK73
B 42.3601, -71.0589
A Dr. Lee
A Lee, Ann
R A-10293
C 2019-W05
"""


@pytest.mark.parametrize("line", LOOKS.splitlines())
def test_cells_that_look_like_an_identifier_drop_a_column(line: str) -> None:
    letter, cell = line[0], line[2:]
    last = "2" if cell[-1] != "2" else "3"
    other = f"{cell[:-1]}{last if cell[-1].isdigit() else 'e'}"
    columns = {"Qx": [cell, other], "Qy": [cell, other] * (6 if letter != "A" else 1)}
    for name, cells in columns.items():
        assert fates(**{name: cells})[name] == ("drop", letter)


def test_numbers_of_five_digits_are_postcodes_where_the_name_hints_at_places() -> None:
    cells = [60601, 60602, 60602]
    assert fates(**{"home area": cells})["home area"] == ("drop", "B")
    text = drafted(pa.table({"Qx": cells, "Y": [1.5, 2.5, 3.5]}))
    assert '"Qx",  # number, 2 distinct: ? whole numbers of five digits: postcodes?' in text


def test_what_all_records_share_is_a_question() -> None:
    text = drafted(pa.table({"Sex": ["m", "m"], "Study": ["heart", "heart"], "Y": [1.5, 2.5]}))
    assert text.count("? every record has the same value") == 2


@pytest.mark.parametrize(
    ("name", "cells", "top", "asks"),
    [
        ("Age on day of admission", [97, 101, 34], 90, True),
        ("Age at 30 day follow-up", [97, 101, 34], 90, True),
        ("Age_at_month_12", [97, 101, 34], 90, True),
        ("AgeAtDay0", ["97", "101", "34"], 90, True),
        ("age_days", [97, 101, 34, 999], 90, True),
        ("Age", [97, 101, 34], 90, False),
        ("PTAGE", [97, 101, 34], 90, False),
        ("yrs old", [97, 101, 34], 90, False),
        ("Age", [97, 101, 999], 90, True),
        ("age in days", [33000, 34000, 12], 32850, True),
        ("Alter in Monaten", [1100, 900, 12], 1080, True),
        ("agemonths", [1100, 900, 12], 1080, True),
    ],
)
def test_ages_are_in_years_unless_names_and_values_say_otherwise(
    name: str, cells: list[Any], top: int, asks: bool
) -> None:
    data = pa.table({name: cells, "Sex": ["m", "f", "d", "d"][: len(cells)]})
    text = drafted(data)
    assert f"coarsen = {{ top = {top} }}" in text
    [said] = [line for line in text.splitlines() if line.startswith("[attributes")]
    assert ("?" in said) is asks
    released = reticent.release(data, Policy.parse(text))
    assert released.proof.holds
    assert top > 90 or not {"97", "101"} & {*map(str, released.table[name].to_pylist())}


def test_who_tells_ages_up_to_a_number_that_nobody_reaches_is_warned() -> None:
    data = pa.table({"Age": [97, 34], "Days": [33000, 12]})
    policy = Policy.of(
        {"rule": RULE, "attributes": {n: {"coarsen": {"top": 32850}} for n in ("Age", "Days")},
         "keep": "*"}
    )  # fmt: skip
    [said] = [w for w in reticent.release(data, policy).warnings if "ages are told" in w]
    assert 'column "Age": ages are told up to 32849, and nobody reaches 32850' in said


def test_who_may_be_over_89_is_told_by_the_latest_date_or_asked() -> None:
    births = ["1931-02-03", "1950-01-01"]
    told = drafted(pa.table({"Birth": births, "Visit": ["2019-01-01", "9999-12-31"]}))
    assert "oldest = 1929" in told
    asked = drafted(pa.table({"Birth": births, "Sex": ["m", "f"]}))
    refusal(lambda: Policy.parse(asked), 'attribute "Birth", coarsen', "only you can answer")
    later = pa.table({"Birth": births, "Visit": ["2019-01-01"] * 2, "Age": [92, 74]})
    assert "oldest = 1931" in drafted(later)  # ages are as of later than any date
    assert "Which is right" not in drafted(later)
    young = later.set_column(0, "Birth", pa.array(["2010-02-03", "1950-01-01"]))
    asks = "# ? By an age, somebody born in 2010 is over 89; but the latest date, in "
    assert f'{asks}"Visit", is of 2019.' in drafted(young)
    assert "oldest = 2010" in drafted(young)
    assert "may be over 89." not in drafted(young)
    expiry = pa.table({"Birth": births, "Valid until": ["2090-01-01", "2019-01-01"]})
    assert "# ? Most dates of birth are of 2000 or before" in drafted(expiry)


def test_of_a_long_table_all_dates_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reticent.tables.drafts.flow.LOOKED_AT", 2)
    visits = ["2001-01-01", "2002-01-01", "2019-01-01"]
    table = pa.table({"Birth": ["1931-02-03", "1950-01-01", "1950-01-01"], "Visit": visits})
    pq.write_table(table, tmp_path / "t.parquet")
    told = reticent.draft(tmp_path / "t.parquet", rule=RULE, engine="duckdb")
    assert "oldest = 1929" in told


def test_no_draft_tells_a_cell_of_the_table(tmp_path: Path) -> None:
    told = drafted(file_of(tmp_path, ODD))
    cells = {cell for line in ODD.splitlines()[1:] for cell in line.split(";") if len(cell) > 3}
    assert not [cell for cell in cells - {"unbekannt"} if cell in told]


# How programs write days and parts of dates; and whether the year can be read for sure.
DAYS = {
    "%m/%d/%y": False, "{d.month}/{d.day}/%y": False, "%m/%d/%y 23:05": False, "%d-%b-%y": False,
    "%d%b%y": False, "%d %b %y": False, "%b %d '%y": False, "%m/%d": False, "%b-%y": False,
    "%d.%m.%y": False, "%d.%m.": False, "%y%m%d": False, "%d%m%Y": False, "%Y%m": False,
    "%b-%d-%Y": True, "%a %b %d %Y": True, "%A, %B %d, %Y": True, "%d/%b/%Y:23:05": True,
    "%Y-%j": True, "%B %Y": True, "%Y%m%d": True, "%d%b%Y": True, "%B %d, %Y": True,
    "%d. %B %Y": True, "%m/%Y": True, "%Y-%m": True, "%Y-%m-%dT%H:%M:%SZ": True,
}  # fmt: skip


@pytest.mark.parametrize(("form", "is_read"), DAYS.items())
def test_no_form_of_dates_is_kept(form: str, is_read: bool, tmp_path: Path) -> None:
    days = [datetime(2019, 1, 5) + timedelta(days=37 * i) for i in range(30)]
    cells = [day.strftime(form.format(d=day)) for day in days]
    assert fates(Seen=cells)["Seen"] == ("coarsen" if is_read else "drop", "C")
    lines = "".join(f'"{cell}",I10\n' for cell in cells)
    path = file_of(tmp_path, f"Seen,Dx\n{lines}")
    reticent.draft(path, rule=RULE, output=tmp_path / "p.toml")
    policy = Policy.load(tmp_path / "p.toml")
    table = reticent.release(path, policy).table
    shown = {*table.column("Seen").to_pylist()} if is_read else set()
    assert shown == ({str(day.year) for day in days} if is_read else set())
    assert [*seen_in(RULE, "A", ["x", *cells])] == ["a date"]


@pytest.mark.parametrize(
    "cell",
    [
        "I10", "120/80", "1.5", "2019", "10:30", "1-2 tablets", "0-17", "65+", "2/3", "20/40",
        "1234-5", "50-00-0", "0002-1433-80", "99213", "1934 or earlier", "90 or older", "500-1000",
        "[0.5,1.5)", "[1900,1950]", "Grade 3 may follow", "Marlboro 20", "v1.2.3", "12,345.67",
        "(10; 20]", "1e-05", "type 2 diabetes", "5-FU", "2019-2024", "22298006", "stage 2 nov",
    ],
)  # fmt: skip
def test_what_has_no_form_of_an_identifier_may_stay(cell: str) -> None:
    assert seen_in(RULE, "A", ["x", cell]) == {}


def test_digits_without_signs_are_told_by_their_column() -> None:
    dates = ["20220504", "19991231"]
    assert seen_in(RULE, "A", dates) == {"a date": 2}
    assert seen_in(RULE, "A", [*dates, "20221399"]) == {}  # some are none
    assert seen_in(RULE, "Visit date", [*dates, "20221399"]) == {"a date": 2}
    numbers = pa.table({"A": [20220504, 19991231], "B": ["x", "y"]})
    assert not reticent.verify(numbers, Policy.of({"rule": RULE, "keep": "*"})).holds
    assert seen_in(RULE, "Grade", ["1/2", "02/03"]) == {}


@pytest.mark.parametrize("engine", some_or_many("memory", "duckdb"))
@pytest.mark.parametrize(
    "cell",
    [
        "March 5, 2024", "5/4/22 23:05", "220504", "a@b.org", "10.0.0.1", "ssn 078-05-1120",
        *some_or_many(
            "617-555-0101", "2019-05-31", "seen 03/05/2024", "www.b.org", "2001:db8::1",
            "123-45-6789", "078051120", "call +49 30 1234567", "00:1A:2B:3C:4D:5E",
        ),
    ],
)  # fmt: skip
def test_the_rule_forbids_cells_of_some_forms(engine: str, cell: str, tmp_path: Path) -> None:
    policy = Policy.of({"rule": RULE, "keep": "*"})
    pq.write_table(pa.table({"A": ["x", cell], "B": [1, 2]}), tmp_path / "t.parquet")
    path = tmp_path / "t.parquet"
    error = refusal(
        lambda: reticent.release(path, policy, output=tmp_path / "o.csv", engine=engine), "rule"
    )
    assert cell not in str(error)
    proof = reticent.verify(path, policy, engine=engine)
    assert not proof.holds
    assert 'column "A" holds' in proof.leftovers[0].what
    assert reticent.release(pa.table({"B": [1, 2]}), policy).proof.holds


def test_the_rule_forbids_such_cells_in_later_rows_too(tmp_path: Path) -> None:
    policy = Policy.of({"rule": RULE, "keep": "*"})
    table, later = pa.table({"A": ["x", "y"]}), pa.table({"A": ["x", "on 5/4/22"]})
    reticent.release(table, policy, output=tmp_path / "out/")
    pq.write_table(later, tmp_path / "later.parquet")
    refusal(
        lambda: apply(tmp_path / "out", tmp_path / "later.parquet", output=tmp_path / "o.csv"),
        "holds a date",
    )
    assert not (tmp_path / "o.csv").exists()
    masker = Masker(policy).fit(table.to_pandas())
    assert len(masker.transform(table.to_pandas())) == 2
    refusal(lambda: masker.transform(later.to_pandas()), "holds a date")


def test_the_rule_is_verified_in_a_database(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "t.db")) as database:
        database.execute("CREATE TABLE t (A TEXT, B INTEGER)")
        database.execute("INSERT INTO t VALUES ('on 5/4/22', 20220504), ('x', 19991231)")
        database.commit()
    policy = Policy.of({"rule": RULE, "keep": "*"})
    proof = reticent.verify(f"sqlite:///{tmp_path}/t.db", policy, table="t")
    assert [one.what for one in proof.leftovers] == [
        'column "A" holds a date in 1 cell',
        'column "B" holds a date in 2 cells',
    ]


def test_what_a_draft_by_a_rule_cannot_do_is_refused() -> None:
    table = pa.table({"Name": ["A", "B"], "Age": [1, 2]})
    refusal(lambda: reticent.draft(table, rule="gdpr"), 'no rule "gdpr"')
    refusal(lambda: reticent.draft(table, rule=RULE, class_="Age"), "has no class")
    refusal(lambda: drafted(pa.table({"Name": ["A", "B"]})), "no column that could be released")
    finer = (
        f'rule = "{RULE}"\nkeep = "*"\nattributes = {{ Zip = {{ coarsen = {{ digits = 4 }} }} }}'
    )
    refusal(lambda: Policy.parse(finer), "three digits")


def test_the_small_regions_are_the_17_of_the_guidance() -> None:
    told = small_regions()
    assert len({*told["prefixes"]}) == 17
    assert all(len(one) == 3 and one.isdecimal() for one in told["prefixes"])
    assert told["census"] == 2000
    assert [one.letter for one in named_as("Patientenname")] == ["A"]


def test_who_keeps_what_the_rule_names_is_told(tmp_path: Path) -> None:
    """The steward has the last word, and is reminded of it."""
    table = pa.table({"Vehicle": ["car", "bus"], "Sex": ["m", "f"]})
    pq.write_table(table, tmp_path / "t.parquet")
    (tmp_path / "p.toml").write_text(f'rule = "{RULE}"\nkeep = "*"\n')
    warned = reticent.tables.check(tmp_path / "p.toml", tmp_path / "t.parquet")
    assert '"Vehicle" of vehicle identifiers and plates' in warned[0]
    assert "Sex" not in warned[0]


def test_masks_do_not_show_days_under_the_rule() -> None:
    table = pa.table({"Seen": ["2019-05-31", "2019-06-30"] * 5})
    masked = Policy.of(
        {"rule": RULE, "anonymity": [{"over": ["Seen"], "k": 2}],
         "attributes": {"Seen": {"mask": "discretize"}}}
    )  # fmt: skip
    refusal(lambda: reticent.release(table, masked), "holds a date")
    shown = pa.table({"Seen": ["[2019-05-31,2019-06-30)", "[2019-06-30,2019-06-30]"] * 5})
    assert "holds a date" in reticent.verify(shown, masked).leftovers[0].what
    years = masked.model_copy(
        update={"attributes": Policy.of({"keep": [], "rule": RULE, "attributes": {
            "Seen": {"mask": "discretize", "coarsen": "year"}}}).attributes}
    )  # fmt: skip
    assert reticent.release(table, years).proof.holds
