"""Files of SPSS, Stata and SAS at the door: labels, missing values, dates, and what is refused."""

from __future__ import annotations

import builtins
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import reticent
from at_hand import SECRET
from reticent.errors import InputError
from reticent.files.tabular import Parsed, Reading, parse

pd = pytest.importorskip("pandas")
pyreadstat = pytest.importorskip("pyreadstat")

SEX = {1: "male", 2: "female", 9: "refused"}


def spss(path: Path, columns: dict[str, list[Any]], **more: Any) -> Path:
    pyreadstat.write_sav(pd.DataFrame(columns), str(path), **more)
    return path


def a_survey(path: Path, **more: Any) -> Path:
    columns: dict[str, list[Any]] = {
        "sex": [1.0, 2.0, 9.0, 1.0], "age": [39.0, 40.0, None, 20.0], "name": ["a", "b", "", "d"],
        "day": [date(2020, 1, i + 1) for i in range(4)],
        "at": [datetime(2020, 1, 1, i, 30) for i in range(4)],
    }  # fmt: skip
    labels = {"sex": SEX}
    return spss(path, columns, variable_value_labels=labels, missing_ranges={"sex": [9]}, **more)


def labelled(path: Path, cells: list[Any], labels: dict[Any, str]) -> tuple[list[Any], str]:
    found = parse(spss(path / "t.sav", {"A": cells}, variable_value_labels={"A": labels}))
    return found.arrow["A"].to_pylist(), " ".join(found.notes)


@pytest.mark.parametrize("name", ["t.sav", "t.zsav", "t.csv"])
def test_spss(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reticent.files.statistics._BLOCK", 2)  # four rows and then none
    made = a_survey(tmp_path / "made.sav", compress=name == "t.zsav")
    path = made.rename(tmp_path / name)
    found = parse(path)
    assert found.arrow.to_pydict() == {
        "sex": ["male", "female", None, "male"], "age": [39, 40, None, 20],
        "name": ["a", "b", None, "d"], "day": [date(2020, 1, i + 1) for i in range(4)],
        "at": [datetime(2020, 1, 1, i, 30) for i in range(4)],
    }  # fmt: skip
    assert found.arrow["age"].type == pa.int64()
    assert 'in 1 cell of "sex" stands what the file declares missing' in " ".join(found.notes)
    assert parse(path, Reading(labels=False)).arrow["sex"].to_pylist() == [1, 2, None, 1]


def test_stata(tmp_path: Path) -> None:
    frame = pd.DataFrame({"sex": pd.Series([1, 2, "a", 1], dtype=object), "x": [1.5, 2, 3, 4]})
    labels = {"sex": {1: "male", 2: "female", "a": "refused"}}
    path = tmp_path / "t.dta"
    pyreadstat.write_dta(
        frame, str(path), missing_user_values={"sex": ["a"]}, variable_value_labels=labels
    )
    found = parse(path)
    assert found.arrow.to_pydict() == {
        "sex": ["male", "female", None, "male"], "x": [1.5, 2.0, 3.0, 4.0],
    }  # fmt: skip
    assert "declares missing" in " ".join(found.notes)


@pytest.mark.parametrize(("suffix", "write"), [(".xpt", "write_xport"), (".por", "write_por")])
def test_transport_files(tmp_path: Path, suffix: str, write: str) -> None:
    path = tmp_path / f"t{suffix}"
    frame = pd.DataFrame({"AGE": [39.0, None, 20.0], "JOB": ["a", "b", ""]})
    getattr(pyreadstat, write)(frame, str(path))
    assert parse(path).arrow.to_pydict() == {"AGE": [39, None, 20], "JOB": ["a", "b", None]}


def test_labels_that_two_codes_share(tmp_path: Path) -> None:
    cells, said = labelled(tmp_path, [1.0, 2.0, 3.0], {1: "yes", 2: "yes", 3: "no"})
    assert cells == ["1 yes", "2 yes", "no"]
    assert "2 codes share a label" in said
    assert "yes" not in said


def test_codes_without_a_label_and_numbers_with_one(tmp_path: Path) -> None:
    cells, said = labelled(tmp_path, [1.0, 2.0, 3.0], {1: "yes", 2: "no"})
    assert cells == ["yes", "no", "3"]
    assert "1 code of 3 without a label" in said
    cells, said = labelled(tmp_path, [39.0, 40.0, 99.0, 7.0], {99: "99 or older"})
    assert cells == [39, 40, 99, 7]
    assert "taken as the numbers" in said
    cells, said = labelled(tmp_path, [1.0, 2.0], {1: "2", 2: "1"})
    assert cells == ["2", "1"]
    cells, said = labelled(tmp_path, [1.0, 3.0], {1: "3"})
    assert cells == ["1 3", "3"]
    assert labelled(tmp_path, ["x", "y"], {"x": "Ex", "y": "Why"})[0] == ["Ex", "Why"]


def test_a_release_of_labels_ends_in_the_verifier(tmp_path: Path) -> None:
    columns: dict[str, list[Any]] = {
        "sex": [1.0, 2.0] * 12,
        "age": [30.0 + i % 4 for i in range(24)],
    }
    data = spss(tmp_path / "t.sav", columns, variable_value_labels={"sex": SEX})
    policy = {"anonymity": [{"over": ["sex", "age"], "k": 3}]}
    outputs = []
    for engine in (None, "duckdb"):
        output = tmp_path / f"{engine}.csv"
        assert reticent.release(data, policy, output=output, engine=engine).proof.holds
        outputs.append(output.read_text())
        assert reticent.verify(output, policy).holds
    assert outputs[0] == outputs[1]
    assert "male" in outputs[0]
    told = policy | {"reading": {"labels": False}}
    reticent.release(data, told, output=tmp_path / "codes/")
    assert "male" not in (tmp_path / "codes/public/data.csv").read_text()


def _cut(path: Path) -> Parsed:
    whole = a_survey(path / "t.sav")
    whole.write_bytes(whole.read_bytes()[:300])
    return parse(whole)


def _without_library(path: Path) -> Parsed:
    whole, load = a_survey(path / "t.sav"), builtins.__import__

    def lacking(name: str, *given: Any, **more: Any) -> Any:
        if name == "pyreadstat":
            raise ImportError
        return load(name, *given, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builtins, "__import__", lacking)
        return parse(whole)


def _no_file(path: Path) -> Parsed:
    (path / "t.dta").write_bytes(b"<stata_dta>" + SECRET.encode())
    return parse(path / "t.dta")


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (_cut, "not a readable .sav file"),
        (_without_library, 'pip install "reticent[statistics]"'),
        (_no_file, "not a readable .dta file"),
    ],
)
def test_refusals(tmp_path: Path, read: Any, said: str) -> None:
    with pytest.raises(InputError) as error:
        read(tmp_path)
    assert said in error.value.text(show_values=True)
    assert SECRET not in error.value.text(show_values=True)
