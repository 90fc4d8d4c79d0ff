"""What an owner brings: from a database as from a file, and what is said of how it is written."""

from __future__ import annotations

import csv
import json
import sqlite3
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from joint.owners_at_work import Owners
from reticent.errors import InputError
from reticent.files.tabular import Reading
from reticent.joint.experiment import integrate
from reticent.joint.owner import own_records
from reticent.joint.policy import JointPolicy
from reticent.releases.folder import digest
from terminal import finished, run

POLICY = JointPolicy.from_data(
    {
        "id": "Id",
        "owners": {"bank": {"columns": ["Job", "Age"]}, "card": {"columns": ["Sex"]}},
        "attributes": {"Job": {"mask": "suppress"}, "Age": {"mask": "discretize"}, "Sex": {"mask": "suppress"}},
        "anonymity": [{"over": ["Job", "Age", "Sex"], "k": 3}],
    }
)  # fmt: skip
PEOPLE = [(f"p{n:02}", ["cook", "clerk", None][n % 3], n % 5) for n in range(40)]
CARD = pa.table({"Id": [f"p{n:02}" for n in range(38)], "Sex": ["f", "m"] * 19})


def database(folder: Path, people: list[tuple[Any, ...]] = PEOPLE) -> str:
    """Two tables in a file, in an order of their own; one column of it is of no use to anybody."""
    with sqlite3.connect(folder / "own.db") as made:
        made.execute("CREATE TABLE people (Note BLOB, Job TEXT, Id TEXT, Age INTEGER)")
        rows = [(b"\x00", job, who, age) for who, job, age in reversed(people)]
        made.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", rows)
        made.execute("CREATE TABLE other (Id TEXT)")
    made.close()
    return f"sqlite:///{folder / 'own.db'}"


def test_a_table_of_a_database_is_as_good_as_a_file(tmp_path: Path) -> None:
    file = pa.table({"Id": [p[0] for p in PEOPLE], "Job": [p[1] for p in PEOPLE],
                     "Age": [p[2] for p in PEOPLE]})  # fmt: skip
    url, reading = database(tmp_path), Reading(table="people")
    first, again = (own_records(url, POLICY, "bank", reading) for _ in range(2))
    assert first.digest == again.digest  # or nobody could resume
    by_file = integrate(POLICY, {"bank": file, "card": CARD})["bank"]
    found = integrate(POLICY, {"bank": url, "card": CARD}, readings={"bank": reading})["bank"]
    assert found.table.to_pydict() == by_file.table.to_pydict()
    assert found.joint.not_common == 2


def test_ids_of_a_database_are_ids(tmp_path: Path) -> None:
    """Equal rows, which a database counts as one, are as many records."""
    people = [*PEOPLE, PEOPLE[0], ("p01", "pilot", 3), (None, "cook", 2)]
    with pytest.raises(InputError) as raised:
        own_records(database(tmp_path, people), POLICY, "bank", Reading(table="people"))
    assert "4 records share an id" in str(raised.value)
    assert "1 record without an id" in str(raised.value)
    assert "on row" not in str(raised.value)  # which a database has not


@pytest.mark.parametrize(
    ("table", "said"), [("persons", "no table"), (None, "which of its tables")]
)
def test_a_database_that_does_not_say_which(tmp_path: Path, table: str | None, said: str) -> None:
    with pytest.raises(InputError, match=said):
        own_records(database(tmp_path), POLICY, "bank", Reading(table=table))


def test_only_databases_have_tables() -> None:
    with pytest.raises(InputError, match="only databases have tables"):
        own_records(CARD, POLICY, "card", Reading(table="people"))


def test_columns_that_a_database_has_not(tmp_path: Path) -> None:
    policy = POLICY.model_copy(update={"id": "Ident"})
    with pytest.raises(InputError, match="Ident"):
        own_records(database(tmp_path), policy, "bank", Reading(table="people"))


@pytest.mark.net
def test_a_database_as_the_party_file_names_it(tmp_path: Path) -> None:
    """Its file stands beside the party file, wherever the command is typed."""
    owners = Owners(tmp_path)
    from_files = owners.integrate()
    assert {code for code, _, _ in from_files.values()} == {0}, from_files
    before = owners.public("bank")["data.csv"]
    with sqlite3.connect(tmp_path / "bank" / "own.db") as made:
        made.execute("CREATE TABLE people (SSN TEXT, Job TEXT, Balance TEXT, Class TEXT)")
        rows = [(p["SSN"], p["Job"], p["Balance"], p["Class"]) for p in owners.rows[:-20]]
        made.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", rows)
    made.close()
    party = tmp_path / "bank" / "party.toml"
    said = party.read_text().replace('data = "own.csv"', 'data = "sqlite:///own.db"')
    party.write_text(said + '\n[reading]\ntable = "people"\n')
    ends = owners.integrate("--force")
    assert {code for code, _, _ in ends.values()} == {0}, ends
    assert owners.public("bank")["data.csv"] == before
    told = json.loads((owners.out("bank") / "private" / "input.json").read_text())
    assert told["database"].endswith("own.db")
    assert digest(owners.out("bank") / "public" / "manifest.json")


WRITTEN = {  # how own.csv is written, and what is said of it
    "latin": ("SSN,Sex,Limit,Diagnosis\n1,M\xe4nnlich,3,flu\n".encode("latin-1"), "encoding in [reading]"),
    "no text": (b"SSN,S\x00ex\n1,2\n", "encoding in [reading]"),
    "ragged": (b"SSN,Sex,Limit,Diagnosis\n1,M,3,4,flu\n", "delimiter in [reading]"),
    "not a number": (b"SSN,Sex,Limit,Diagnosis\n1,M,\"3,5\",flu\n2,M,4,flu\n", "decimal = "),
}  # fmt: skip


@pytest.mark.net
@pytest.mark.parametrize("written", WRITTEN)
def test_advice_names_no_option_that_the_command_has_not(tmp_path: Path, written: str) -> None:
    owners = Owners(tmp_path, more={"meet_timeout": 1, "step_timeout": 10})
    content, said = WRITTEN[written]
    (tmp_path / "card" / "own.csv").write_bytes(content)
    if written == "not a number":  # which is seen once the common records are known
        owners.bring("bank", [{**owners.rows[0], "SSN": n} for n in ("1", "2")])
        told = owners.integrate()["card"]
    else:
        told = finished(owners.start("card"))
    assert told[0] in (2, 4), told
    assert said in " ".join(told[2].split()), told
    for option in ("--encoding", "--delimiter", "--header-row", "--decimal", "--date-format"):
        assert option not in told[2]


NUMBERS = pa.table({"Id": pa.array([*range(38)]), "Sex": ["f", "m"] * 19})
TEXTS = pa.table({"Id": [str(n) for n in range(40)], "Job": ["cook", "clerk"] * 20,
                  "Age": [n % 5 for n in range(40)]})  # fmt: skip


def test_ids_that_are_numbers_at_one_owner_are_told() -> None:
    """There, and to whoever calls from Python; whoever has texts need not look."""
    found = integrate(POLICY, {"bank": TEXTS, "card": NUMBERS})
    [note] = found["card"].notes
    assert 'the ids in "Id" are no texts (int64), and are compared as they print' in note
    assert "00123 for 123" in note
    assert not found["bank"].notes
    assert found["card"].joint.records == 38


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
def test_ids_that_print_alike_are_one_id(kind: pa.DataType) -> None:
    """Told by the owner, with its file's name, before it meets anybody."""
    ids = pa.array([0.0, -0.0, 1.5, 2.0], kind)
    texts = {str(text) for text in pa.array(["0", "-0"]).to_pylist()}
    with pytest.raises(InputError, match='column "Id": 2 records share an id') as raised:
        own_records(pa.table({"Id": ids, "Sex": ["f", "m"] * 2}), POLICY, "card")
    assert not texts & {*str(raised.value).split()}


SETTINGS = {  # a line of the party file, another one, and what is said
    "listen": ('listen = "127.0.0.1:', 'listen = "here:port', "party.toml, listen: ", "host:port"),
    "peer": ('address = "127.0.0.1:', 'address = "there', "[peers.card], address: ", "host:port"),
    "certificate": (
        "../card/identity", "identity", "[peers.card]: card and this owner have",
        "name the file that card handed over, its own certificate: identity/certificate.pem holds "
        "that of this owner",
    ),
    "ids": ('run = "one"', 'run = "one"\nids = "alligned"', "party.toml, ids: ", "aligned"),
}  # fmt: skip


@pytest.mark.net
@pytest.mark.parametrize("setting", SETTINGS)
def test_a_wrong_setting_names_its_file_before_anything_is_said(
    tmp_path: Path, setting: str
) -> None:
    owners = Owners(tmp_path, more={"meet_timeout": 1})
    party = tmp_path / "bank" / "party.toml"
    before, after, where, remedy = SETTINGS[setting]
    assert before in party.read_text()
    party.write_text(party.read_text().replace(before, after))
    code, _, said = finished(owners.start("bank"))
    assert code == 2
    assert where in said, said
    assert remedy in said.partition("Do:")[2], said
    assert "will learn" not in said


@pytest.mark.net
def test_rows_are_added_to_no_joint_release(tmp_path: Path) -> None:
    owners = Owners(tmp_path)
    assert {code for code, _, _ in owners.integrate().values()} == {0}
    new = tmp_path / "bank" / "own.csv"
    said = run("apply", owners.out("bank"), new, "-o", tmp_path / "more.csv", code=2).stderr
    assert "this is a release of several owners, and rows are added to none of these" in said


def test_ids_that_begin_with_0_are_told_where_they_do() -> None:
    """The owner of 00123 hears of it as well as the owner of 123, and both what to do."""
    padded = pa.table({"Id": [f"{n:02}" for n in range(38)], "Sex": ["f", "m"] * 19})
    [note] = own_records(padded, POLICY, "card").notes
    assert '10 ids begin with 0 in "Id"' in note
    assert "123 for 00123" in note
    assert "Do:  ask the other owners" in note
    [other] = own_records(NUMBERS, POLICY, "card").notes
    assert "Do:  compare a few with the other owners" in other
    found = integrate(POLICY, {"bank": TEXTS, "card": padded})["card"]
    assert found.notes == (note,)
    assert found.joint.records == 28  # and the owners of 0 to 9 are lost


FITTED = JointPolicy.from_data(
    {
        "id": "Id", "class": "Class",
        "owners": {"bank": {"columns": ["Job", "Age", "Ill", "Class"]}, "card": {"columns": ["Sex"]}},
        "attributes": {
            "Job": {"mask": "generalize", "taxonomy": {"ANY": ["Cook", "Clerk"]}},
            "Age": {"mask": "discretize"}, "Sex": {"mask": "suppress"},
        },
        "anonymity": [{"over": ["Job", "Age", "Sex"], "k": 3}],
        "confidence": [{"over": ["Job"], "sensitive": {"Ill": ["HIV"]}, "at_most": 0.5}],
    }
)  # fmt: skip
GOOD: dict[str, list[str | None]] = {
    "Id": [f"p{n}" for n in range(4)], "Job": ["Cook", "Clerk"] * 2, "Age": ["1", "2.5", "3", None],
    "Ill": ["HIV", "flu"] * 2, "Class": ["a", "b"] * 2,
}  # fmt: skip
CERTAIN: dict[str, tuple[dict[str, list[str | None]], str]] = {  # whichever records are common: refused before anybody is called
    "decimal": ({"Age": ["1,5", "2,5", "3,5", None]}, "own.csv, column \"Age\": 3 of 4 distinct values"),
    "taxonomy": ({"Job": ["cook", "clerk"] * 2}, "the taxonomy has no leaf for 2 of the 2 values"),
    "sensitive": ({"Ill": ["Hiv", "flu"] * 2}, 'own.csv, column "Ill"'),
}  # fmt: skip
POSSIBLE: dict[str, tuple[dict[str, list[str | None]], str]] = {  # it depends: a note
    "decimal": ({"Age": ["1,5", "2", "3", None]}, "own.csv, column \"Age\": 1 of 4 distinct values"),
    "taxonomy": ({"Job": ["cook", "Clerk"] * 2}, "the taxonomy has no leaf for 1 of the 2 values"),
    "class": ({"Class": ["a", "b", "b", None]}, 'own.csv, column "Class": 1 record has no value'),
}  # fmt: skip


def written(folder: Path, changes: dict[str, list[str | None]]) -> Path:
    path = folder / "own.csv"
    with path.open("w", newline="") as file:
        lines = csv.writer(file)
        cells = GOOD | changes
        lines.writerow(cells)
        lines.writerows(zip(*cells.values(), strict=True))
    return path


def said_of(data: Path, folder: Path) -> tuple[str, list[str]]:
    """What is refused, and what is noted, before anybody is called; no cell is told."""
    try:
        refused, notes = "", [*own_records(data, FITTED, "bank").notes]
    except InputError as error:
        refused, notes = error.text(), []
    said = " ".join([refused, *notes]).replace(str(folder) + "/", "")
    assert not {"cook", "Hiv", "1,5", "1.5"} & {*said.replace('"', " ").split()}
    return refused.replace(str(folder) + "/", ""), [n.replace(f"{folder}/", "") for n in notes]


def test_data_that_fit_are_not_spoken_of(tmp_path: Path) -> None:
    assert said_of(written(tmp_path, {}), tmp_path) == ("", [])


@pytest.mark.parametrize("what", CERTAIN)
def test_what_fails_in_any_case_is_refused_at_home(tmp_path: Path, what: str) -> None:
    changes, words = CERTAIN[what]
    refused, _ = said_of(written(tmp_path, changes), tmp_path)
    assert words in refused


@pytest.mark.parametrize("what", POSSIBLE)
def test_what_may_fail_is_noted_at_home(tmp_path: Path, what: str) -> None:
    changes, words = POSSIBLE[what]
    refused, [note] = said_of(written(tmp_path, changes), tmp_path)
    assert not refused
    assert words in note
    assert "if a common record has such a value, the run ends" in note
    assert "show-values" not in note  # nobody would hear it


def test_what_is_left_out_for_a_gap_is_not_spoken_of(tmp_path: Path) -> None:
    data = written(tmp_path, {"Class": ["a", "b", "b", None]})
    dropping = FITTED.model_copy(update={"missing": "drop"})
    [note] = own_records(data, dropping, "bank").notes
    assert "took no part" in note
    data = written(tmp_path, {"Class": [None, "b", "b", "a"], "Age": ["1", "1,5", "2", "3"]})
    [_, note] = own_records(data, dropping, "bank").notes
    assert "1 of 3 distinct values" in note
    assert "on rows" not in note  # they are not those of the file any more


@pytest.mark.net
def test_own_mistakes_are_told_before_anybody_is_called(tmp_path: Path) -> None:
    """Alone, with nobody there to talk to: all problems, and at once."""
    owners = Owners(tmp_path, more={"meet_timeout": 60})
    (tmp_path / "bank" / "job.csv").unlink()
    code, _, said = finished(owners.start("bank", "--dry-run"))
    assert (code, "there is no taxonomy file" in said) == (2, True), said
    owners.bring("card", [{**row, "Limit": f"{row['Limit']},5"} for row in owners.rows])
    code, _, said = finished(owners.start("card"))
    assert (code, 'own.csv, column "Limit"' in said) == (2, True), said
    assert "will learn" not in said


def test_a_column_that_is_not_there_names_the_file(tmp_path: Path) -> None:
    data = written(tmp_path, {})
    data.write_text(data.read_text().replace("Job", "Jobb"))
    with pytest.raises(InputError, match=r'own\.csv has no column "Job"') as raised:
        own_records(data, FITTED, "bank")
    assert "[owners.bank]" in str(raised.value)
    assert 'Did you mean "Jobb"?' in str(raised.value)


def test_ids_that_stand_twice_are_shown_by_their_rows(tmp_path: Path) -> None:
    data = written(tmp_path, {"Id": ["p0", "p1", "p2", "p1"]})
    with pytest.raises(InputError, match="2 records share an id with another one, on rows 2, 4"):
        own_records(data, FITTED, "bank")
    data = written(tmp_path, {"Id": ["p0", "", "p2", "p3"]})
    with pytest.raises(InputError, match="1 record without an id, on row 2"):
        own_records(data, FITTED, "bank")


def test_in_one_process_every_owner_is_named(tmp_path: Path) -> None:
    twice = pa.table({"Id": ["p1", "p1"], "Sex": ["f", "m"]})
    with pytest.raises(InputError, match='card: data, column "Id": 2 records share an id'):
        integrate(POLICY, {"bank": TEXTS, "card": twice})
    with pytest.raises(InputError, match="what is given is a list") as raised:
        integrate(POLICY, [TEXTS, CARD])  # type: ignore[arg-type]
    assert '{"bank": …, "card": …}' in str(raised.value)
    with pytest.raises(InputError, match="there is no owner crad") as raised:
        integrate(POLICY, {"bank": TEXTS, "crad": CARD})
    assert 'Did you mean "card"?' in str(raised.value)
