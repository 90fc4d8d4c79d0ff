"""Spreadsheets at the door: what their cells become, which sheet is meant, what is said."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import reticent
from at_hand import SECRET
from reticent.errors import InputError
from reticent.files.tabular import Reading, parse
from spreadsheets_at_hand import a_workbook, an_old_workbook, an_open_document

HEADER: Sequence[Any] = ["Zip", "Job", "Age", "Sex"]
ROWS: list[Sequence[Any]] = [
    [f"00{i % 3}", ("nurse", "cook")[i % 2], 20 + i % 9, "mf"[i // 3 % 2]] for i in range(36)
]
POLICY = {
    "keep": ["Zip"], "anonymity": [{"over": ["Job", "Age", "Sex"], "k": 4}],
    "attributes": {"Age": {"mask": "discretize"}},
}  # fmt: skip


def as_csv(path: Path) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([HEADER, *ROWS])
    return path


def cells(path: Path, **reading: Any) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = parse(path, Reading(**reading)).arrow.to_pydict()
    return found


def of_column(path: Path, *column: Any) -> pa.ChunkedArray:
    rows = [["A", "id"], *([cell, i] for i, cell in enumerate(column))]
    return parse(a_workbook(path / "t.xlsx", {"One": rows})).arrow["A"]


@pytest.mark.parametrize(
    ("column", "kind", "found"),
    [
        ((39, 40.0, None), pa.int64(), [39, 40, None]),
        ((39, 0.5), pa.float64(), [39.0, 0.5]),
        ((2.0**53, 1), pa.float64(), [2.0**53, 1.0]),
        (("007", None), pa.large_string(), ["007", None]),
        (("007", 39), pa.large_string(), ["007", "39"]),
        ((date(2020, 1, 31), None), pa.date32(), [date(2020, 1, 31), None]),
        (
            (date(2020, 1, 31), datetime(2020, 2, 1, 12, 30)),
            pa.timestamp("us"),
            [datetime(2020, 1, 31), datetime(2020, 2, 1, 12, 30)],
        ),
        ((date(2020, 1, 31), "never"), pa.large_string(), ["2020-01-31", "never"]),
        ((time(12, 30),), pa.time64("us"), [time(12, 30)]),
        ((timedelta(hours=30),), pa.duration("us"), [timedelta(hours=30)]),
        ((True, False), pa.bool_(), [True, False]),
        ((True, "no", 1), pa.large_string(), ["TRUE", "no", "1"]),
        ((None, None), pa.null(), [None, None]),
    ],
)
def test_cells(
    tmp_path: Path, column: tuple[Any, ...], kind: pa.DataType, found: list[Any]
) -> None:
    read = of_column(tmp_path, *column)
    assert read.type == kind
    assert read.to_pylist() == found


def test_kinds_that_differ_from_block_to_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reticent.files.workbooks._BLOCK", 2)
    assert of_column(tmp_path, 1, None, 2.5, "x", None, None, True, True).to_pylist() == [
        "1", None, "2.5", "x", None, None, "TRUE", "TRUE",
    ]  # fmt: skip
    assert of_column(tmp_path, None, None, 2, 3).type == pa.int64()
    days = of_column(tmp_path, date(2020, 1, 1), date(2020, 1, 2), datetime(2020, 1, 3, 4))
    assert days.type == pa.timestamp("us")


def test_every_format_makes_the_same_release(tmp_path: Path) -> None:
    rows = [HEADER, *ROWS]
    made = [
        as_csv(tmp_path / "t.csv"),
        a_workbook(tmp_path / "t.xlsx", {"One": rows}),
        an_open_document(tmp_path / "t.ods", rows),
        an_old_workbook(tmp_path / "t.xls", rows),
    ]
    misnamed = tmp_path / "export.csv"
    misnamed.write_bytes(made[1].read_bytes())
    outputs: list[bytes] = []
    for engine, path in [*((None, path) for path in (*made, misnamed)), ("duckdb", made[1])]:
        output = tmp_path / f"out{len(outputs)}.csv"
        result = reticent.release(path, POLICY, output=output, engine=engine)
        assert result.proof.holds
        outputs.append(output.read_bytes())
    assert len(set(outputs)) == 1


def test_several_files_are_one_table(tmp_path: Path) -> None:
    cells: list[Sequence[Any]] = [[1, None, "x"], [0.5, date(2020, 1, 1), 7]]
    for i, row in enumerate(cells):
        a_workbook(tmp_path / f"{i}.xlsx", {"One": [["A", "B", "C"], row]})
    assert parse(tmp_path).arrow.to_pydict() == {
        "A": [1.0, 0.5], "B": [None, date(2020, 1, 1)], "C": ["x", "7"],
    }  # fmt: skip


def test_a_table_anywhere_on_its_sheet(tmp_path: Path) -> None:
    rows: list[Sequence[Any]] = [
        [], ["", "Report of the clinic"], [], ["", "Job", "Age", "", "Sex"],
        ["", "cook", 39, "", "m"], [], ["", "nurse", 51, "", "f"], ["", "nurse", 52, "", ""],
    ]  # fmt: skip
    path = a_workbook(tmp_path / "t.xlsx", {"One": rows, "Two": []})
    found = parse(path)
    assert found.arrow.to_pydict() == {
        "Job": ["cook", "nurse", "nurse"], "Age": [39, 51, 52], "Sex": ["m", "f", None],
    }  # fmt: skip
    assert "header was found in row 4" in " ".join(found.notes)
    assert cells(path, header_row=5)["cook"] == ["nurse", "nurse"]


def test_a_header_of_merged_cells_loses_no_row(tmp_path: Path) -> None:
    rows: list[list[Any]] = [
        ["Who", "Found"],
        ["a", "b", None, None],
        ["c", "x", "y", "z"],
        ["d", 1, 2, 3],
    ]
    found = parse(a_workbook(tmp_path / "t.xlsx", {"One": rows}, merged=["B1:D1"]))
    assert found.arrow["Who"].to_pylist() == ["a", "c", "d"]
    assert 'called "unnamed 3", "unnamed 4"; --header-row' in " ".join(found.notes)


def test_cells_that_are_lost_are_told(tmp_path: Path) -> None:
    rows: list[Sequence[Any]] = [["A", "B"], ["=1+1", 1], ["#N/A", 2], [3, 3]]
    found = parse(a_workbook(tmp_path / "t.xlsx", {"One": rows}))
    assert found.arrow["A"].to_pylist() == [None, None, 3]
    told = " ".join(found.notes)
    assert "1 cell with an error" in told
    assert "1 formula without a saved value" in told


def test_which_sheet(tmp_path: Path) -> None:
    one, two = [["A"], ["1"]], [["B"], ["2"]]
    both = a_workbook(tmp_path / "t.xlsx", {"X": one, "Y": two, "Z": [["C"]]}, hidden=["Y"])
    assert [*cells(both, sheet="Y")] == ["B"]
    assert [*cells(a_workbook(tmp_path / "u.xlsx", {"X": one, "Y": two}, hidden=["Y"]))] == ["A"]
    ours = a_workbook(tmp_path / "v.xlsx", {"Data": one, "Promises": two})
    assert [*cells(ours)] == ["A"]
    assert 'sheet "Data" alone is read' in " ".join(parse(ours).notes)


def test_baskets_in_a_workbook_are_released_as_parquet(tmp_path: Path) -> None:
    rows: list[Sequence[Any]] = [
        ["Who", "Bought"],
        *([f"p{i}", item] for i in range(9) for item in ("bread", "milk")),
    ]
    path = a_workbook(tmp_path / "t.xlsx", {"One": rows})
    policy = {"format": "long", "private": ["milk"], "h": 1.0, "k": 2, "p": 1}
    reticent.transactions.release(path, policy, output=tmp_path / "out")
    assert (tmp_path / "out/public/data.parquet").exists()
    with pytest.raises(InputError, match="xlsx files cannot be written"):
        reticent.transactions.release(path, policy, output=tmp_path / "out.xlsx")


def _several(path: Path) -> Any:
    return parse(a_workbook(path / "t.xlsx", {"X": [["A"], [SECRET]], "Y": [["B"], [SECRET]]}))


def _no_such(path: Path) -> Any:
    return parse(a_workbook(path / "t.xlsx", {"Xs": [["A"], [SECRET]]}), Reading(sheet="X"))


def _empty(path: Path) -> Any:
    return parse(a_workbook(path / "t.xlsx", {"X": [], "Y": [[SECRET]]}, hidden=["Y"]))


def _cut(path: Path) -> Any:
    whole = a_workbook(path / "t.xlsx", {"X": [["A"], [SECRET]]})
    whole.write_bytes(whole.read_bytes()[:900])
    return parse(whole)


def _spoilt(path: Path) -> Any:
    whole = an_old_workbook(path / "t.xls", [["A"], [SECRET]])
    whole.write_bytes(whole.read_bytes()[:1600].ljust(5000, b"\xff"))
    return parse(whole)


def _no_row(path: Path) -> Any:
    return parse(a_workbook(path / "t.xlsx", {"X": [["A"], [SECRET]]}), Reading(header_row=9))


def _of_csv(path: Path) -> Any:
    (path / "t.csv").write_text(f"A\n{SECRET}\n")
    return parse(path / "t.csv", Reading(sheet="X"))


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (_several, '2 sheets that hold something: "X", "Y"'),
        (_no_such, 'no sheet "X"'),
        (_empty, 'hidden: "Y"'),
        (_cut, "cut off or damaged"),
        (_spoilt, "not a readable .xls file"),
        (_no_row, "no row 9"),
        (_of_csv, "only spreadsheets have sheets"),
    ],
)
def test_refusals(tmp_path: Path, read: Callable[[Path], Any], said: str) -> None:
    with pytest.raises(InputError) as error:
        read(tmp_path)
    assert said in error.value.text(show_values=True)
    assert SECRET not in error.value.text(show_values=True)
