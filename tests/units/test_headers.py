"""Records in place of headers, and encodings that nobody told."""

from __future__ import annotations

from pathlib import Path

import pytest

import reticent
from reticent.files.headers import DoubtedHeader
from reticent.files.tabular import Reading, read
from terminal import run

pytestmark = pytest.mark.usefixtures("work")
PEOPLE = [f"Meier {i},{20 + i % 9},m,{1950 + i % 9}-01-0{1 + i % 9},I1{i % 2}" for i in range(40)]
POLICY = '[[anonymity]]\nover = ["{}"]\nk = 2\n'


def notes_of(*lines: str, header_row: int | None = None) -> list[str]:
    Path("in.csv").write_text("\n".join([*lines, ""]), encoding="utf-8")
    return [*read("in.csv", Reading(header_row=header_row)).notes]


def doubts(*lines: str, header_row: int | None = None) -> bool | None:
    """Whether a header is taken for a record; None if it is not doubted at all."""
    found = [n for n in notes_of(*lines, header_row=header_row) if isinstance(n, DoubtedHeader)]
    return found[0].is_record if found else None


@pytest.mark.parametrize(
    ("lines", "is_record"),
    [
        (PEOPLE, True),
        (["a,b", "1,2"], None),
        (["7,x", "1,y", "2,y"], False),  # one cell alone may be a name
        (["7.5,12", "1.5,19", "2.5,18"], True),
        (["01.02.1999,12.3.2001", "02.02.1998,", "05.10.1999,1.1.2002"], True),
        (["Land,2019,2020,2022", "A,3.5,4,5", "B,1,2,NA"], False),
        (["who,1990,17", "A,1991,15", "B,1975,19"], True),  # years above years
        (["0,1,2,3", "1.5,7,9,3", "2.5,7,8,1"], False),  # as pandas writes names that are none
        (["30,60,90", "1,2,3", "1,2,4"], False),
        (["2024-01-01,2024-02-01", "1,2", "1,2"], None),  # days above counts
        (["12,13", "a,b", "c,d"], None),
        (["12,19"], None),  # nothing stands below it
    ],
)
def test_a_header_of_numbers_and_dates_is_doubted(lines: list[str], is_record: bool | None) -> None:
    assert doubts(*lines) is is_record
    assert doubts(*lines, header_row=1) is None


def test_a_record_is_not_published_as_names() -> None:
    notes_of(*PEOPLE)
    drafted = run("init", "in.csv", "-o", "p.toml").stderr
    assert drafted.startswith("Warning: in.csv, line 1: 2 of 5 cells of the header look like")
    assert "# ? in.csv, line 1: 2 of 5 cells" in Path("p.toml").read_text(encoding="utf-8")
    for engine in ("memory", "duckdb"):
        refused = run(
            "release", "in.csv", "-p", "p.toml", "-o", "o.csv", "--engine", engine, code=2
        )
        assert "at least two cells of the header are numbers or dates" in refused.stderr
        for told in (drafted, refused.stderr):
            assert not any(cell in told for cell in ("Meier", "1950", "I10"))
        assert "Warning: in.csv, line 1" in run("risk", "in.csv", "--engine", engine).stderr
    assert not Path("o.csv").exists()
    run("init", "in.csv", "-o", "p.toml", "--header-row", 1, "--force")
    assert "header_row = 1" in Path("p.toml").read_text(encoding="utf-8")
    run("release", "in.csv", "-p", "p.toml", "-o", "o.csv")


def test_years_and_numbers_that_count_on_are_names() -> None:
    notes_of("Land,2019,2020", *["A,3,4", "B,3,4"] * 3)
    Path("p.toml").write_text(
        POLICY.format("Land") + '[attributes]\nLand.mask = "suppress"\n' + "", encoding="utf-8"
    )
    text = Path("p.toml").read_text(encoding="utf-8")
    Path("p.toml").write_text('keep = ["2019", "2020"]\n' + text, encoding="utf-8")
    said = run("release", "in.csv", "-p", "p.toml", "-o", "o.csv").stderr
    assert "Warning: in.csv, line 1: 2 of 3 cells" in said
    assert reticent.verify("o.csv", "p.toml").holds


@pytest.mark.parametrize(
    ("content", "name", "called"),
    [
        (b"Preis \x80,b\n1,2\n", "Preis \u20ac", "Windows-1252"),
        (b"Preis,b\n" + b"1,2\n" * 40_000 + b"1,\x93a\x94\n", "Preis", "Windows-1252"),
        (b"Gr\xf6\xdfe,b\n1,2\n", "Gr\u00f6\u00dfe", "Latin-1"),
        (b"Gr\xf6\xdfe \x81\x80,b\n1,2\n", "Gr\u00f6\u00dfe \x81\x80", "Latin-1"),
        ("Größe €,b\n1,2\n".encode(), "Größe €", ""),
    ],
    ids=["euro", "far below", "latin", "no sign of windows", "utf-8"],
)
def test_what_only_windows_has_is_read_as_windows(content: bytes, name: str, called: str) -> None:
    Path("in.csv").write_bytes(content)
    tables = [read("in.csv")]
    from reticent.sources.opening import streamed

    notes: list[str] = []
    _, schema, _, stream = streamed("in.csv", None, notes)
    assert [*tables[0].columns] == schema.names == [name, "b"]
    assert stream(["b"]).read_all()["b"].to_pylist()[-1] == tables[0].columns["b"].texts()[-1]
    for said in (tables[0].notes, notes):
        assert [*said] == (
            [f"in.csv is not UTF-8 and was read as {called}; --encoding, or [reading], tells "
             "otherwise."] if called else []
        )  # fmt: skip
    if called == "Windows-1252" and name == "Preis \u20ac":
        told = read("in.csv", Reading(encoding="latin-1"))
        assert [*told.columns] == ["Preis \x80", "b"]


def test_a_line_for_excel_is_no_title() -> None:
    notes = notes_of("sep=;", "a;b", "1;2")
    assert notes == ["in.csv: its first line tells what parts cells, and is no part of the table."]
