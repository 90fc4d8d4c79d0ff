"""What holds for releases written as workbooks, whatever the cells."""

from __future__ import annotations

import errno
import random
import zipfile
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import python_calamine
import xlsxwriter

import reticent
from at_hand import SECRET, refusal, some_or_many
from reticent.files import spreadsheets
from reticent.sources import arrival

ODD = [
    "=1+1", "@x", "+A", "-2", "007", "1.5", "1,5", " blank ", "a\r\nb", "tab\t", "<r><t>x</t></r>",
    "<&>\"'", "_x0041_x0042_", "_x000D_", "x\x01y", "https://a.b", "'q", "TRUE", "#N/A", "é😀", "",
    "2020-01-01", "[0,5; 1,5)", "x" * 32_767,
]  # fmt: skip
POLICY: dict[str, Any] = {
    "keep": "*",
    "attributes": {"Age": {"intervals": [0, 30.5, 120]}},
    "anonymity": [{"over": ["Age"], "k": 2}],
}


def table_of(seed: int, rows: int = 60) -> pa.Table:
    """Cells of all kinds, some of which no workbook has."""
    rng = random.Random(seed)

    def some(*values: Any, kind: Any = None) -> pa.Array:
        return pa.array([rng.choice([*values, None]) for _ in range(rows)], kind)

    moment = datetime(2020, 2, 29, 13, 5, 7, 123_000)
    return pa.table(
        {
            "Age": [rng.randrange(18, 90) for _ in range(rows)],
            "Text": some(*ODD),
            "Whole": some(1, -7, 2**53 - 1),
            "Huge": some(2**53 + 1, 5),
            "Part": some(0.1 + 0.2, 1 / 3, 1e-300, 1.7976931348623157e308, -0.0, 70.0),
            "Round": some(1.0, 70.0),
            "Infinite": some(float("inf"), 1.5, float("nan")),
            "Short": some(0.1, 2.5, kind=pa.float32()),
            "Price": some(Decimal("1.25"), Decimal("0.75"), kind=pa.decimal128(9, 2)),
            "Padded": some(Decimal("1.50"), kind=pa.decimal128(9, 2)),
            "True": some(True, False),
            "Day": some(date(1900, 3, 1), date(9999, 12, 31)),
            "Old": some(date(1850, 1, 1), date(2020, 1, 1)),
            "Time": some(moment, datetime(1999, 1, 1)),
            "Midnight": some(datetime(1999, 1, 1), datetime(2020, 5, 5)),
            "Fine": some(moment.replace(microsecond=1)),
            "Zoned": some(moment.replace(tzinfo=UTC)),
            "Clock": some(time(12, 30)),
            "Nothing": pa.nulls(rows),
        }
    )


def texts_of(table: pa.Table) -> dict[str, list[str]]:
    """The cells of a table as they print."""
    found, _ = arrival.read(table)
    return {name: [c or "" for c in col.cells().to_pylist()] for name, col in found.columns.items()}


@pytest.mark.parametrize("seed", some_or_many(0, 1, 2, 3))
def test_a_workbook_gives_back_the_same_cells(seed: int, tmp_path: Path) -> None:
    """And is the same file twice, whatever the hour; one that somebody handed over verifies."""
    table = table_of(seed)
    for name in ("a.xlsx", "b.xlsx"):
        release = reticent.release(table, POLICY, output=tmp_path / name)
    assert (tmp_path / "a.xlsx").read_bytes() == (tmp_path / "b.xlsx").read_bytes()
    meant = texts_of(reticent.release(table, POLICY).table)
    found, _ = arrival.read(tmp_path / "a.xlsx")
    assert {
        n: [c or "" for c in col.cells().to_pylist()] for n, col in found.columns.items()
    } == meant
    kinds = {name: str(column.values.type) for name, column in found.columns.items()}
    typed = {n: k for n, k in kinds.items() if "string" not in k}
    assert typed == {
        "Whole": "int64", "Part": "double", "Round": "int64", "Short": "double", "Price": "double",
        "True": "bool", "Day": "date32[day]", "Time": "timestamp[us]",
    }  # fmt: skip
    proof = reticent.verify(tmp_path / "a.xlsx", POLICY)
    assert proof.holds
    assert proof.findings == release.proof.findings
    with zipfile.ZipFile(tmp_path / "a.xlsx") as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml").decode()
        assert b"2000-01-01T00:00:00Z" in archive.read("docProps/core.xml")
    assert "<f" not in sheet
    assert "<hyperlink" not in sheet
    with python_calamine.CalamineWorkbook.from_path(str(tmp_path / "a.xlsx")) as book:
        assert book.sheet_names == ["Data", "Promises"]
        head, promise, *rest = book.get_sheet_by_name("Promises").to_python()
    assert head == ["Promise", "Asked", "Found", "Verified"]
    worst = release.proof.findings[0].value
    assert promise == [
        "Everybody shares Age with at least 1 other.",
        "at least 2",
        f"{worst}",
        "yes",
    ]
    assert ["Rows", "60", "", ""] in rest
    assert [path.name for path in tmp_path.iterdir() if path.name[0] == "."] == []


def test_a_spreadsheet_is_released_as_one(tmp_path: Path) -> None:
    """In, out, later rows, a second release beside it, measured beside the original; mixed forms."""
    data = table_of(5).select(["Age", "Whole", "Short", "Day"])
    reticent.release(data, {**POLICY, "anonymity": [{"over": ["Age"], "k": 1}]},
                     output=tmp_path / "usual.csv")  # fmt: skip
    book = xlsxwriter.Workbook(str(tmp_path / "in.xlsx"))
    sheet = book.add_worksheet("May")
    for j, name in enumerate(data.column_names):
        sheet.write_column(0, j, [name, *(str(c) if name == "Day" and c else c
                                          for c in data[name].to_pylist())])  # fmt: skip
    book.close()
    european = {**POLICY, "writing": {"decimal": ","}}
    for policy, label in ((POLICY, "[0,30.5)"), (european, "[0; 30,5)")):
        place = tmp_path / ("european" if policy is european else "usual")
        release = reticent.release(tmp_path / "in.xlsx", policy, output=place)
        path = place / "public" / "data.xlsx"
        assert reticent.verify(place, policy).findings == release.proof.findings
        assert reticent.verify(path, POLICY).findings == release.proof.findings
        found, _ = arrival.read(path)
        assert label in found.columns["Age"].texts()
        assert str(found.columns["Short"].values.type) == "double"
        reticent.apply(place, tmp_path / "in.xlsx", output=place.with_suffix(".xlsx"))
        later, _ = arrival.read(place.with_suffix(".xlsx"))
        assert {n: c.texts() for n, c in later.columns.items()} == {
            n: c.texts() for n, c in found.columns.items()
        }
        assert reticent.evaluate(tmp_path / "in.xlsx", place, policy).proof.holds
        second = {
            "drop": ["Whole", "Short", "Day"],
            "attributes": POLICY["attributes"],
            "anonymity": [{"over": ["Age", "t1.Age"], "k": 2}],
            "previous": {"t1": {"path": str(place)}},
        }
        reticent.release(tmp_path / "in.xlsx", second, output=tmp_path / f"{place.name}2.xlsx")


@pytest.mark.slow
def test_several_files_and_other_engines(tmp_path: Path) -> None:
    """Wherever rows are counted, the file is the same; one with decimal commas, too."""
    table = table_of(7).drop_columns(["Clock"])
    pq.write_table(table, tmp_path / "in.parquet")
    reticent.release(table, POLICY, output=tmp_path / "parts.xlsx", rows_per_file=25)
    assert len(list((tmp_path / "parts.xlsx").iterdir())) == 3
    assert reticent.verify(tmp_path / "parts.xlsx", POLICY).holds
    for engine in ("memory", "duckdb"):
        reticent.release(
            tmp_path / "in.parquet", POLICY, output=tmp_path / f"{engine}.xlsx", engine=engine
        )
        european = {**POLICY, "writing": {"decimal": ",", "bom": True}}
        reticent.release(
            tmp_path / "in.parquet", european, output=tmp_path / f"{engine}.csv", engine=engine
        )
    for suffix in (".xlsx", ".csv"):
        first, second = (tmp_path / f"{engine}{suffix}" for engine in ("memory", "duckdb"))
        assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"Text": ["x" * 32_768] * 4}, "more than 32,767 letters"),
        ({"Text": ["😀" * 16_384] * 4}, "more than 32,767 letters"),
        ({"Text": ["a\ufffe"] * 4}, "signs that no workbook can"),
        ({f"c{i}": ["x"] * 4 for i in range(20)}, "21 columns do not fit"),
        ({"Text": ["x"] * 40}, "40 rows do not fit"),
    ],
)
def test_what_no_workbook_can_hold(
    table: dict[str, Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused before the search."""
    monkeypatch.setattr(spreadsheets, "MOST_ROWS", 40)
    monkeypatch.setattr(spreadsheets, "MOST_COLUMNS", 20)
    rows = len(next(iter(table.values())))
    data = pa.table({"Age": [20] * rows, **table})
    monkeypatch.setattr("reticent.tables.search.rare.find_leaving_out", None)
    refusal(lambda: reticent.release(data, POLICY, output=tmp_path / "x.xlsx"), said)
    assert list(tmp_path.iterdir()) == []


def test_rows_that_show_nothing_are_no_rows_of_a_sheet(tmp_path: Path) -> None:
    data = pa.table({"Age": [20, 20, None, None]})
    refusal(lambda: reticent.release(data, POLICY, output=tmp_path / "x.xlsx"), "2 rows show")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()]
)
def test_nothing_is_left_of_what_could_not_be_written(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def full(*given: Any, **more: Any) -> None:
        seen.append(sorted(path.name for path in tmp_path.rglob("*")))
        raise error

    monkeypatch.setattr("zipfile.ZipFile.write", full)
    expected = KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else reticent.InputError
    with pytest.raises(expected):
        reticent.release(table_of(1), POLICY, output=tmp_path / "x.xlsx")
    assert len(seen[0]) > 3  # of the library's own: all of them in one folder
    assert sum(name.endswith("reticent-tmp") for name in seen[0]) == 2
    assert list(tmp_path.iterdir()) == []


def _commented(book: Any, sheet: Any) -> None:
    sheet.write_comment(0, 0, "was 17")


def _hidden_column(book: Any, sheet: Any) -> None:
    sheet.set_column(3, 3, None, None, {"hidden": True})


def _hidden_row(book: Any, sheet: Any) -> None:
    sheet.set_row(1, None, None, {"hidden": True})


def _hidden_sheet(book: Any, sheet: Any) -> None:
    book.add_worksheet("Original").hide()


def _named(book: Any, sheet: Any) -> None:
    book.define_name("Secret", "=17")


def _signed(book: Any, sheet: Any) -> None:
    book.set_properties({"author": "N. N.", "company": "Clinic"})


def _formula(book: Any, sheet: Any) -> None:
    sheet.write_formula(1, 1, '=IF("Kurt"="Kurt","x","x")', None, "x")


def _custom(book: Any, sheet: Any) -> None:
    book.set_custom_property("Source", "patients.xlsx")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (None, ""),
        (_commented, "carries what no cell shows"),
        (_hidden_column, "are hidden"),
        (_hidden_row, "are hidden"),
        (_hidden_sheet, "other sheets"),
        (_named, "names for something"),
        (_signed, "tells of its making"),
        (_formula, "hold formulas"),
        (_custom, "carries what no cell shows"),
    ],
)
def test_what_a_workbook_carries_besides_is_found(
    change: Callable[[Any, Any], None] | None, said: str, tmp_path: Path
) -> None:
    book = xlsxwriter.Workbook(str(tmp_path / "x.xlsx"))
    book.set_properties({"created": datetime(2000, 1, 1)})
    sheet = book.add_worksheet("Data")
    for i, row in enumerate([["Age", "Text"], *[["[0,30.5)", "x"]] * 3]):
        sheet.write_row(i, 0, row)
    if change is not None:
        change(book, sheet)
    book.close()
    proof = reticent.verify(tmp_path / "x.xlsx", {**POLICY, "keep": ["Text"]})
    assert any(said in problem.what for problem in proof.leftovers) is bool(said)
    assert proof.holds is not bool(said)


def test_texts_that_no_cell_shows_are_found(tmp_path: Path) -> None:
    """As categories of a Parquet file are: programs keep texts apart from the cells."""
    book = xlsxwriter.Workbook(str(tmp_path / "x.xlsx"))
    book.set_properties({"created": datetime(2000, 1, 1)})
    sheet = book.add_worksheet("Data")
    for i, row in enumerate([["Age", "Text"], *[["[0,30.5)", "x"]] * 3]):
        sheet.write_row(i, 0, row)
    book.close()
    with (
        zipfile.ZipFile(tmp_path / "x.xlsx") as old,
        zipfile.ZipFile(tmp_path / "y.xlsx", "w") as new,
    ):
        for name in old.namelist():
            text = old.read(name)
            new.writestr(name, text.replace(b"</sst>", b"<si><t>17</t></si></sst>"))
    proof = reticent.verify(tmp_path / "y.xlsx", {**POLICY, "keep": ["Text"]})
    assert ["carries 1 text that no cell shows" in p.what for p in proof.leftovers] == [True]


TITLED = {**POLICY, "about": {"title": "A"}}


def edited(path: Path, part: str, change: Callable[[str], str]) -> Path:
    """A workbook whose part was edited by hand."""
    changed = path.with_name("edited.xlsx")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            text = old.read(name).decode()
            new.writestr(name, change(text) if name == part else text)
    return changed


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("released") / "x.xlsx"
    table = pa.table({"Age": [20, 21, 50, 51], "Text": ["x", "y ", "<z>", "x"], "N": [1, 2, 3, 4]})
    reticent.release(table, TITLED, output=path)
    return path


SHEET, SECOND, STYLES = (
    "xl/worksheets/sheet1.xml", "xl/worksheets/sheet2.xml", "xl/styles.xml",
)  # fmt: skip
ROW = "<row>" + 2 * f'<c t="inlineStr"><is><t xml:space="preserve">{SECRET}</t></is></c>' + "</row>"
TITLE = f'<row><c t="inlineStr"><is><t>{SECRET}</t></is></c></row><row></row>'
NONE = "carries what no cell shows"


@pytest.mark.parametrize(
    ("part", "old", "new", "said"),
    [
        (SHEET, "</worksheet>", f"<headerFooter><oddHeader>{SECRET}</oddHeader></headerFooter></worksheet>", NONE),
        (SHEET, "</t></is>", f"</t><rPh sb='0' eb='1'><t>{SECRET}</t></rPh></is>", NONE),
        (SHEET, ">x</t></is>", f">x</t><t>{SECRET}</t></is>", NONE),
        (SHEET, "<v>", f"<is><t>{SECRET}</t></is><v>", NONE),
        (SHEET, "<sheetData>", f"<!-- {SECRET} --><sheetData>", NONE),
        (SHEET, "</row>", f"<!-- {SECRET} --></row>", NONE),
        (SHEET, "</row>", f"<?x {SECRET}?></row>", NONE),
        (SHEET, "</row>", f"{SECRET}</row>", NONE),
        (SHEET, "</sheetData>", f"</sheetData><sheetData>{ROW}</sheetData>", NONE),
        (SHEET, "<autoFilter", f"{ROW}<autoFilter", NONE),
        (SHEET, "<autoFilter", f"<dataValidations><dataValidation><formula1>{SECRET}</formula1></dataValidation></dataValidations><autoFilter", NONE),
        (SHEET, "<autoFilter ", f'<autoFilter name="{SECRET}" ', NONE),
        (SHEET, "<row>", f'<row spans="1:2" secret="{SECRET}">', NONE),
        (SHEET, "</row></sheetData>", '<c r="B5" t="inlineStr"><is><t>x</t></is></c></row></sheetData>', NONE),
        (SHEET, "<sheetData>", f"<sheetData>{TITLE}", "were counted"),
        (SHEET, "<row>", '<row ht="0" customHeight="1">', "are hidden"),
        (SHEET, "<c s=", '<c secret="Anna" s=', NONE),
        (STYLES, 'val="Calibri"', f'val="{SECRET}"', NONE),
        (STYLES, 'formatCode="yyyy-mm-dd"', f"formatCode='&quot;{SECRET}&quot;'", NONE),
        (STYLES, "</styleSheet>", f"<dxfs><x>{SECRET}</x></dxfs></styleSheet>", NONE),
        ("xl/workbook.xml", "<calcPr", f"<fileSharing userName='{SECRET}'/><calcPr", NONE),
        ("docProps/app.xml", "Worksheets", SECRET, NONE),
        ("docProps/app.xml", "<Company></Company>", f"<Company>{SECRET}</Company>", "of its making"),
        ("docProps/core.xml", "<dc:creator>", f"<dc:creator>{SECRET}", "of its making"),
        ("_rels/.rels", "docProps/core.xml", f"file:///{SECRET}", NONE),
        ("[Content_Types].xml", "application/xml", f"application/{SECRET}", NONE),
        ("xl/theme/theme1.xml", 'name="Office Theme"', f'name="{SECRET}"', NONE),
        (SECOND, "at least 2", "at least 99", "in row 2"),
        (SECOND, "</sheetData>", f"{ROW}</sheetData>", "in row 7"),
        (SECOND, "reticent 0", f"{SECRET} 0", "in row 6"),
        (SECOND, ">A<", ">B<", "in row 4"),
        (SECOND, ">yes<", ">no<", "in row 2"),
        (SECOND, "</worksheet>", f"<headerFooter><oddHeader>{SECRET}</oddHeader></headerFooter></worksheet>", NONE),
    ],
)  # fmt: skip
def test_whatever_somebody_adds_by_hand_is_found(
    part: str, old: str, new: str, said: str, released: Path
) -> None:
    """Wherever it stands; and what it says is not told."""
    with zipfile.ZipFile(released) as archive:
        assert old in archive.read(part).decode()
    path = edited(released, part, lambda text: text.replace(old, new, 1))
    proof = reticent.verify(path, TITLED)
    told = [problem.text(show_values=True) for problem in proof.leftovers]
    assert any(said in text for text in told), told
    assert not proof.holds
    assert SECRET not in str(told)


def test_harmless_parts_of_other_programs_are_no_leftovers(released: Path) -> None:
    """Fonts, styles and places of cells, as programs write that open a workbook and save it."""
    schemas = (
        'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" mc:Ignorable="x14ac" '
        'xmlns:x14ac="http://schemas.microsoft.com/office/spreadsheetml/2009/9/ac"'
    )

    def placed(text: str) -> str:
        for row in range(1, 6):
            text = text.replace("<row>", f'<row r="{row}" spans="1:3" x14ac:dyDescent="0.25">', 1)
        return text.replace("<worksheet", f"<worksheet {schemas}", 1)

    assert reticent.verify(edited(released, SHEET, placed), TITLED).holds
    font = edited(released, STYLES, lambda t: t.replace('val="Calibri"', 'val="Liberation Sans"'))
    assert reticent.verify(font, TITLED).holds
    [other] = reticent.verify(released, POLICY).leftovers  # whose title is it?
    assert "something else than the policy and the recount in rows 4, 5, 6" in other.what
