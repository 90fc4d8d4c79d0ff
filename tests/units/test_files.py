"""Tables in and out: what is read, what is refused, and that no message tells a cell."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reticent
from at_hand import SECRET, file_of, policy_of, refusal, table_file
from reticent.data.columns import Table
from reticent.errors import InputError, ReticentError
from reticent.files import delimited
from reticent.files.delimited import Dialect, _quotes_are_plain, look, stream_csv
from reticent.files.tabular import Reading, from_arrow, is_made_up, paths_of, read, suffix_of

CELLS = [("Cook", "a,b;c\td|e"), ("Clerk", 'said "no"'), ("Böss", "line\nbreak"), ("", " x ")]


def rows_of(table: Table) -> list[tuple[str | None, ...]]:
    columns = [column.cells().to_pylist() for column in table.columns.values()]
    return list(zip(*columns, strict=True))


def refused(
    folder: Path, content: str | bytes, *said: str, name: str = "table.csv", **how: Any
) -> ReticentError:
    path = file_of(folder, content, name)
    return refusal(lambda: read(path, Reading(**how)), *said)


def as_csv(rows: list[Any], names: list[str], delimiter: str = ",") -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerow(names)
    writer.writerows(rows)
    return text.getvalue()


# --- CSV: delimiters, quotes, line ends ----------------------------------------------------------


@pytest.mark.parametrize("told", [False, True])
@pytest.mark.parametrize("quoted", [False, True])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters(tmp_path: Path, delimiter: str, quoted: bool, told: bool) -> None:
    names = ["Job", "Note"]
    rows = CELLS if quoted else [("Cook", "1.5"), ("Clerk", "")]
    plain = "".join(delimiter.join(line) + "\n" for line in (names, *rows))
    path = file_of(tmp_path, as_csv(rows, names, delimiter) if quoted else plain)
    table = read(path, Reading(delimiter=delimiter if told else None))
    assert (list(table.columns), rows_of(table), table.notes) == (names, rows, ())


def test_the_suffix_or_a_told_delimiter_wins(tmp_path: Path) -> None:
    path = file_of(tmp_path, "a,b\tc,d\n1,2\t3,4\n", "table.tsv")
    assert rows_of(read(path)) == [("1,2", "3,4")]
    path = file_of(tmp_path, "a,b:c\n1,2:3\n")
    assert rows_of(read(path, Reading(delimiter=":"))) == [("1,2", "3")]


WRITTEN: dict[str, tuple[str, list[tuple[str, ...]]]] = {
    "decimal commas do not mislead the sniffing": (
        "Pay;Tax\n1,5;0,5\n2,5;0,7\n", [("1,5", "0,5"), ("2,5", "0,7")]
    ),
    "quotes": (
        'a,b\n"x,y","say ""hi"""\n5" pipe,plain\n"","two\nlines"\n',
        [("x,y", 'say "hi"'), ('5" pipe', "plain"), ("", "two\nlines")],
    ),
    "single quotes around a whole column are quotes": (
        "a,b\n'x',2\n'y',3\n", [("x", "2"), ("y", "3")]
    ),
    "single quotes protect delimiters": ("a,b\n'x,1',2\n'y',3\n", [("x,1", "2"), ("y", "3")]),
    "cells are verbatim": (
        "a,b\n 01 ,NA\nnull,NaN\n1.50,#N/A\n", [(" 01 ", "NA"), ("null", "NaN"), ("1.50", "#N/A")]
    ),
    "blank lines are no rows": ("\n\na,b\n\n1,2\n\n3,4\n\n\n", [("1", "2"), ("3", "4")]),
    "cells below leading blank lines are verbatim": (
        "\nZip,Note\n01234,NA\n1.50,\n", [("01234", "NA"), ("1.50", "")]
    ),
    "one column": ('a\nx\n\n""\n y\n', [("x",), ("",), (" y",)]),
    "odd line separators inside cells": (
        "a,b\nx\u2028y,1\nz\x0bq\x0c\x1c\x85,2\n",
        [("x\u2028y", "1"), ("z\x0bq\x0c\x1c\x85", "2")],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("content", "rows"), WRITTEN.values(), ids=WRITTEN)
def test_what_is_written(tmp_path: Path, content: str, rows: list[tuple[str, ...]]) -> None:
    assert rows_of(read(file_of(tmp_path, content))) == rows


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends(tmp_path: Path, end: str, last: bool) -> None:
    path = file_of(tmp_path, end.join(["a,b", "1,2", "3,4"]) + (end if last else ""))
    assert rows_of(read(path)) == [("1", "2"), ("3", "4")]


MANY_NAMES = [f"column {i}" for i in range(200)]
LONG_NAMES = [f"{i} " + "long name " * 50 for i in range(200)]  # 100 KB, as in survey exports


@pytest.mark.parametrize(
    ("content", "names", "cells"),
    [
        ('"first\nline","b ""x"""\n1,2\n', ["first\nline", 'b "x"'], "12"),
        ('\ufeff"first\nline",b\n1,2\n', ["first\nline", "b"], "12"),
        (as_csv(["x" * 200], MANY_NAMES, ";"), MANY_NAMES, "x" * 200),
        (",".join(LONG_NAMES) + "\n" + ",".join("x" * 200) + "\n", LONG_NAMES, "x" * 200),
    ],
    ids=["line breaks", "a byte order mark", "200 columns", "longer than the part that is sniffed"],
)  # fmt: skip
def test_headers(tmp_path: Path, content: str, names: list[str], cells: str) -> None:
    table = read(file_of(tmp_path, content))
    assert list(table.columns) == names
    assert rows_of(table) == [tuple(cells)]


@pytest.mark.parametrize("sign", ["x", "x\n"])
def test_very_long_cells(tmp_path: Path, sign: str) -> None:
    cell = sign * (9_000_000 // len(sign))
    path = file_of(tmp_path, f'a,b\n1,"{cell}"\n2,y\n')
    assert rows_of(read(path)) == [("1", cell), ("2", "y")]


def test_cells_too_long_for_any_block_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file_of(tmp_path, "a,b\n1,2\n")

    def always_too_long(*given: Any, **how: Any) -> None:
        raise pa.ArrowInvalid(f"straddling object straddles two block boundaries {SECRET}")

    monkeypatch.setattr(pcsv, "read_csv", always_too_long)
    refusal(lambda: read(path))


cells = st.text(
    st.one_of(
        st.sampled_from("\"',;|\t\n\r \\*ab\ufeff\u2028\x00"),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=6,
)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(1, 3).flatmap(
        lambda width: st.lists(st.tuples(*[cells] * width), min_size=1, max_size=6)
    ),
    delimiter=st.sampled_from(",;\t|"),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    packed=st.booleans(),
)
def test_any_quoted_cells_are_read_as_written(
    rows: list[tuple[str, ...]], delimiter: str, encoding: str, packed: bool
) -> None:
    names = ["a", "b", "c"][: len(rows[0])]
    content = as_csv(rows, names, delimiter).encode(encoding)
    with TemporaryDirectory() as folder:
        path = file_of(
            Path(folder), gzip.compress(content, 1) if packed else content,
            "t.csv.gz" if packed else "t.csv",
        )  # fmt: skip
        assert rows_of(read(path)) == rows


@settings(max_examples=150, deadline=None)
@given(
    content=st.one_of(
        st.binary(max_size=60),
        st.text(st.sampled_from("ab,;\"\n\r'\t "), max_size=40).map(str.encode),
        st.binary(max_size=40).map(lambda data: b"a,b\n1,2\n" + data),
    ),
    name=st.sampled_from(["t.csv", "t.tsv", "t.csv.gz", "t.parquet", "t.arrow"]),
)
def test_any_bytes_give_a_table_or_an_input_error(content: bytes, name: str) -> None:
    with TemporaryDirectory() as folder:
        path = file_of(Path(folder), content, name)
        try:
            table = read(path)
        except InputError:
            return
        assert all(len(column.codes) == table.rows for column in table.columns.values())


# --- CSV: encodings ------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("many", [1, 30_000])
def test_encodings_that_are_recognised(tmp_path: Path, encoding: str, many: int) -> None:
    content = "Größe,Job\n" + "ü,Köchin\n" * many + "日本,😀\n"
    table = read(file_of(tmp_path, content.encode(encoding)))
    assert list(table.columns) == ["Größe", "Job"]
    assert rows_of(table)[-2:] == [("ü", "Köchin"), ("日本", "😀")]
    assert table.rows == many + 1
    assert table.notes == ()


@pytest.mark.parametrize(
    ("encoding", "cell"),
    [(told, "€") for told in ("utf-16-be", "utf-16-le", "utf-32", "cp1252", "iso-8859-15")]
    + [("latin-1", "é")],  # which needs no note if it is told
)
def test_encodings_that_are_told(tmp_path: Path, encoding: str, cell: str) -> None:
    path = file_of(tmp_path, f"Größe,b\n{cell},2\n".encode(encoding))
    table = read(path, Reading(encoding=encoding))
    assert list(table.columns) == ["Größe", "b"]
    assert rows_of(table) == [(cell, "2")]
    assert table.notes == ()


@pytest.mark.parametrize("many", [1, 30_000])
@pytest.mark.parametrize("packed", [False, True])
def test_latin_1_is_recognised_and_said(tmp_path: Path, many: int, packed: bool) -> None:
    content = ("a,b\n" + "x,2\n" * many + "é,3\n").encode("latin-1")
    name = "table.csv.gz" if packed else "table.csv"
    table = read(file_of(tmp_path, gzip.compress(content) if packed else content, name))
    assert rows_of(table)[-1] == ("é", "3")
    assert len(table.notes) == 1
    assert "Latin-1" in table.notes[0]
    assert "é" not in table.notes[0]


@pytest.mark.parametrize("header", ["Größe,b", "é,b", "ä,ö"])
def test_latin_1_names_in_a_long_file(tmp_path: Path, header: str) -> None:
    content = (header + "\n" + "x,2\n" * 30_000).encode("latin-1")
    table = read(file_of(tmp_path, content))
    assert (list(table.columns), table.rows) == (header.split(","), 30_000)


@pytest.mark.parametrize("many", [1, 30_000])
@pytest.mark.parametrize("told", ["utf-8", "ascii", "utf-16"])
def test_a_wrong_encoding_told_is_an_error(tmp_path: Path, told: str, many: int) -> None:
    content = ("a,b\n" + f"{SECRET},2\n" * many + "é,3\n").encode("latin-1")
    refused(tmp_path, content, f"not {told} text", "--encoding", encoding=told)


@pytest.mark.parametrize("told", ["klingon", "base64", "utf-88"])
def test_an_unknown_encoding_is_an_error(tmp_path: Path, told: str) -> None:
    error = refused(tmp_path, "a,b\n1,2\n", told, encoding=told)
    assert error.problems[0].where == "--encoding"


# --- CSV: what is refused ------------------------------------------------------------------------


def test_ragged_rows_are_all_listed(tmp_path: Path) -> None:
    content = f"a,b\n{SECRET}\n1,2\n\n{SECRET},2,3\n5,6\n7,8,9,\n"
    error = refused(tmp_path, content, str(tmp_path / "table.csv"), "--delimiter")
    where = [problem.where.rpartition(", ")[2] for problem in error.problems]
    assert where == ["line 2", "line 5", "line 7"]
    assert [problem.what for problem in error.problems] == [
        f"{cells} cells where the header has 2" for cells in (1, 3, 4)
    ]


def test_ragged_rows_are_shown_up_to_ten(tmp_path: Path) -> None:
    content = "a,b\n" + "1,2\n" * 5 + f"{SECRET}\n" * 25
    error = refused(tmp_path, content, "line 7:", "line 16:", "… and 15 more problems.")
    assert len(error.problems) == 25
    assert "line 17:" not in str(error)


BREAKS = f'a,b\n"two\n{SECRET}",2\n"{SECRET}\r\n\n"\n'.encode()


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (BREAKS, 4),
        (gzip.compress(BREAKS), 4),
        *(
            (f"a,b\né,1\n{SECRET}é\n".encode(name), 3)
            for name in ("latin-1", "utf-16", "utf-8-sig")
        ),
        (b"a,b\n" + b"1,2\n" * 1_200_000 + SECRET.encode(), 1_200_002),  # in a second block
    ],
    ids=["quoted breaks", "packed", "latin-1", "utf-16", "utf-8-sig", "far down"],
)
def test_lines_of_ragged_rows(tmp_path: Path, content: bytes, line: int) -> None:
    name = "table.csv.gz" if content.startswith(b"\x1f\x8b") else "table.csv"
    [problem] = refused(tmp_path, content, name=name).problems
    assert problem.where.endswith(f", line {line}")


@pytest.mark.parametrize(
    "content",
    [
        f'a,b\n1,2\n3,"{SECRET}\n4,5\n', f'a,b\n"{SECRET},2\n3,4\n',
        f'a,b\n1,2\n3,4\n5,"{SECRET}', f'a\n"{SECRET}\n', f'"a,b\n1,{SECRET}\n3,4\n',
        f'a,"b\n1,{SECRET}\n3,4\n', f'"a,b\n1,{SECRET}\n' + "3,4\n" * 50_000,
        "a,b\n" + "1,2\n" * 50_000 + f'3,"{SECRET}\n' + "4,5\n" * 50_000,
    ],
    ids=["last row", "first cell", "at the end", "one column", "header", "header 2", "long", "far"],
)  # fmt: skip
def test_a_quote_that_never_closes_swallows_no_rows(tmp_path: Path, content: str) -> None:
    refused(tmp_path, content, str(tmp_path / "table.csv"))


def test_column_names_that_repeat_are_told_at_once(tmp_path: Path) -> None:
    error = refused(
        tmp_path, f"a,b,a,,b, ,a\n{SECRET},2,3,4,5,6,7\n", "line 1",
        '2 column names repeat: "a" at 1, 3, 7; "b" at 2, 5',
    )  # fmt: skip
    assert len(error.problems) == 1


TITLED = [
    ("\n", 'Report "Q3, of 5" things\n\nby; me\n', "utf-8"),
    ("\r\n", '"never closed\r\n', "utf-8"),
    ("\r", "a\r\rb\r", "utf-8"),
    ("\n", "Käufe;;;\x0b\x85\n", "latin-1"),
    ("\n", "\ufeffKäufe\n", "utf-8"),
    ("\r\n", "Käufe\r\n", "utf-16"),
]


@pytest.mark.parametrize(("end", "title", "encoding"), TITLED)
@pytest.mark.parametrize("head", ['"A",B', '"A\nA",B'])
@pytest.mark.parametrize("packed", [False, True])
def test_a_header_below_a_title(
    tmp_path: Path, end: str, title: str, encoding: str, head: str, packed: bool
) -> None:
    text = title + head + end + f'1,"x{end}""y"{end}{end}' + f"2,z{end}" * 3
    content = text.encode(encoding)
    name = "table.csv.gz" if packed else "table.csv"
    path = file_of(tmp_path, gzip.compress(content) if packed else content, name)
    line = len(list(io.StringIO(title, newline=""))) + 1
    how = Reading(header_row=line, encoding=encoding)
    table = read(path, how)
    assert list(table.columns) == [head.split('"')[1], "B"]
    assert rows_of(table) == [("1", f'x{end}"y'), *[("2", "z")] * 3]
    dialect = look(path, how, [])
    [batch] = stream_csv(path, dialect, ["B"])
    assert batch.column(0).to_pylist() == [f'x{end}"y', "z", "z", "z"]


def test_what_is_wrong_below_a_title_is_told_by_its_line(tmp_path: Path) -> None:
    error = refused(tmp_path, f"x,y,z\n\nA,B\n1,2\n{SECRET}\n", header_row=3)
    assert "line 5: 1 cells where the header has 2" in str(error)
    error = refused(tmp_path, f'x"\nA,B\n1,"{SECRET}\n2,3\n', header_row=2)
    assert "above line 5" in str(error)


@pytest.mark.parametrize(
    ("line", "said"),
    [(5, "there is no line 5"), (90, "there is no line 90"), (2, "line 2 is blank"),
     (3, "line 3: no column has a name"), (0, "counted from 1"), (-1, "counted from 1")],
)  # fmt: skip
def test_a_line_that_is_no_header(tmp_path: Path, line: int, said: str) -> None:
    assert said in str(refused(tmp_path, f"{SECRET}\n\n , \nA,B\n", header_row=line))


def test_a_header_that_was_told_is_not_looked_for(tmp_path: Path) -> None:
    path = file_of(tmp_path, "\n\nA\n1\n")
    assert list(read(path).columns) == ["A"]
    assert "line 1 is blank" in str(refusal(lambda: read(path, Reading(header_row=1))))
    both = tmp_path / "several"
    both.mkdir()
    for name, title in (("a", "of May"), ("b", "of June, twice")):
        file_of(both, f"{title}\nA,B\n{name},2\n", f"{name}.csv")
    assert rows_of(read(both, Reading(header_row=2))) == [("a", "2"), ("b", "2")]


def test_a_sheet_is_for_spreadsheets(tmp_path: Path) -> None:
    assert "only spreadsheets" in str(refused(tmp_path, f"A\n{SECRET}\n", sheet="x"))


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"delimiter": ";;"}, "--delimiter: a delimiter is one ASCII character"),
        ({"delimiter": ""}, "--delimiter"), ({"delimiter": "§"}, "--delimiter"),
        ({"delimiter": '"'}, "--delimiter"), ({"delimiter": "\n"}, "--delimiter"),
        ({"decimal": ";"}, "--decimal: a decimal sign is . or ,"),
        ({"encoding": "klingon"}, '--encoding: there is no encoding "klingon"'),
        ({"encoding": "rot13"}, "--encoding"), ({"encoding": "undefined"}, "--encoding"),
        ({"date_format": "%d.%m."}, '--date-format: the date format "%d.%m." has no year'),
        ({"header_row": 0}, "--header-row: lines are counted from 1"),
    ],
)  # fmt: skip
def test_what_cannot_be_told(told: dict[str, Any], said: str) -> None:
    assert said in str(refusal(lambda: Reading(**told)))


def test_what_is_told_wins_key_by_key() -> None:
    usual = Reading(";", None, "latin-1", ",", "%d.%m.%Y", None, 3, "t")
    told = Reading(encoding="utf-8", decimal=".", header_row=1).over(usual)
    assert told == Reading(";", None, "utf-8", ".", "%d.%m.%Y", None, 1, "t")
    assert told.besides(usual) == Reading(encoding="utf-8", decimal=".", header_row=1)
    assert usual.cells == Reading(decimal=",", date_format="%d.%m.%Y")
    keys = ["delimiter", "encoding", "decimal", "date_format", "header_row", "table"]
    assert list(usual.policy_keys()) == keys
    assert list(told.policy_keys()) == [
        "delimiter", "encoding", "date_format", "header_row", "table",
    ]  # fmt: skip
    assert Reading(quote="'").policy_keys() == {} == Reading().policy_keys()


# --- columns without a name -----------------------------------------------------------------------


def test_columns_without_a_name_go_by_their_position(tmp_path: Path) -> None:
    path = file_of(tmp_path, ",A, ,unnamed 1\n1,2,3,4\n")
    table = read(path)
    assert list(table.columns) == ["unnamed 1 (2)", "A", "unnamed 3", "unnamed 1"]
    assert rows_of(table) == [("1", "2", "3", "4")]
    said = 'columns without a name are called "unnamed 1 (2)", "unnamed 3"'
    [note] = table.notes
    assert note.startswith(f"{path}: {said}; --header-row, or")
    notes: list[str] = []
    assert look(path, Reading(), notes).header == tuple(table.columns)
    assert notes == list(table.notes)
    assert [is_made_up(name) for name in table.columns] == [True, False, True, True]


@pytest.mark.parametrize("head", [",", ' ,""', '""', " "])
def test_a_header_without_any_name_is_refused(tmp_path: Path, head: str) -> None:
    cells = ",".join([SECRET] * (head.count(",") + 1))
    assert "no column has a name" in str(refused(tmp_path, f"{head}\n{cells}\n"))


UNNAMED = pa.table([["u", "v"], ["x", "x"], ["p", "q"]], names=["", "A", " "])


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize(
    "data",
    [
        ".parquet", ".arrow", UNNAMED, pl.DataFrame(UNNAMED.to_pydict()),
        pd.DataFrame([["u", "x", "p"], ["v", "x", "q"]], columns=[None, "A", float("nan")]),
        pd.DataFrame([["u", "x", "p"], ["v", "x", "q"]], columns=[None, "A", None]),
    ],
    ids=["parquet", "arrow", "pyarrow", "polars", "pandas", "pandas twice"],
)  # fmt: skip
def test_typed_columns_without_a_name(tmp_path: Path, engine: str, data: Any) -> None:
    if isinstance(data, str):
        path = tmp_path / f"in{data}"
        if data == ".parquet":
            pq.write_table(UNNAMED, path)
        else:
            with pa.ipc.new_file(path, UNNAMED.schema) as file:
                file.write_table(UNNAMED)
        data = path
    policy = policy_of(
        drop=["unnamed 1"], keep=["unnamed 3"], anonymity=[{"over": ["A"], "k": 2}]
    )  # fmt: skip
    found = reticent.release(data, policy, engine=engine)
    assert 'are called "unnamed 1", "unnamed 3".' in found.prepared.table.notes[0]
    assert found.sheet.arrow().to_pydict() == {"A": ["x", "x"], "unnamed 3": ["p", "q"]}
    assert reticent.verify(found.table, policy).holds


def test_a_query_with_a_column_without_a_name() -> None:
    data = duckdb.sql("SELECT 'x' AS A, i AS \" \" FROM range(2) AS t(i)")
    policy = policy_of(keep=["unnamed 2"], anonymity=[{"over": ["A"], "k": 2}])
    for engine in ("memory", "duckdb"):
        found = reticent.release(data, policy, engine=engine)
        assert found.sheet.arrow()["unnamed 2"].to_pylist() == [0, 1]


def test_names_that_differ_in_case_or_blanks_are_different(tmp_path: Path) -> None:
    table = read(file_of(tmp_path, "a,A, a\n1,2,3\n"))
    assert list(table.columns) == ["a", "A", " a"]


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\r\n", b" \t\n"])
@pytest.mark.parametrize("packed", [False, True])
def test_empty_files(tmp_path: Path, content: bytes, packed: bool) -> None:
    name = "table.csv.gz" if packed else "table.csv"
    data = gzip.compress(content) if packed else content
    refused(tmp_path, data, "the file is empty", name=name)


@pytest.mark.parametrize("content", ["a,b\n", "a,b\r\n", "a,b", "a,b\n\n\n", '"a","b"\n'])
def test_a_header_alone_is_a_table_without_rows(tmp_path: Path, content: str) -> None:
    path = file_of(tmp_path, content)
    table = read(path)
    assert (list(table.columns), table.rows) == (["a", "b"], 0)
    policy = policy_of(keep=["a"], anonymity=[{"over": ["b"], "k": 1}])
    refusal(lambda: reticent.release(path, policy), "no rows")


# --- which files ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        ("a.csv", ".csv"), ("A.CSV", ".csv"), ("a.b.tsv", ".tsv"), ("a.csv.gz", ".csv.gz"),
        ("a.parquet", ".parquet"), ("a.arrow", ".arrow"), ("a.xlsx", ".xlsx"), ("a.docx", ""), ("release", ""),
        ("a.csv.bak", ""),
    ],
)  # fmt: skip
def test_suffixes(name: str, suffix: str) -> None:
    assert suffix_of(Path(name)) == suffix


def test_a_missing_file_gets_a_hint(tmp_path: Path) -> None:
    file_of(tmp_path, "a\n1\n", "patients.csv")
    said = "there is no such file"
    refusal(lambda: read(tmp_path / "patient.csv"), said, 'Did you mean "patients.csv"?')
    refusal(lambda: read(tmp_path / "nowhere" / "patients.csv"), said)


def test_folders_and_globs_are_one_table(tmp_path: Path) -> None:
    for i in range(3):
        file_of(tmp_path, f"a,b\n{i},x\n", f"part-{i}.csv")
    file_of(tmp_path, "not a table", "README.md")
    file_of(tmp_path, "a,b\n9,x\n", ".part.csv.123-0123abcd.reticent-tmp")
    want = [("0", "x"), ("1", "x"), ("2", "x")]
    assert rows_of(read(tmp_path)) == want
    assert rows_of(read(str(tmp_path / "part-*.csv"))) == want
    assert rows_of(read(str(tmp_path / "part-[12].csv"))) == want[1:]
    assert [path.name for path in paths_of(tmp_path)] == ["part-0.csv", "part-1.csv", "part-2.csv"]
    # A name that looks like a glob is first of all a name.
    path = file_of(tmp_path, "a\n1\n", "part[1].csv")
    assert rows_of(read(path)) == [("1",)]


def test_each_file_of_a_folder_is_sniffed_for_itself(tmp_path: Path) -> None:
    file_of(tmp_path, "a,b\n1,ü\n", "1.csv")
    file_of(tmp_path, "a;b\r\n2;ü\r\n".encode("latin-1"), "2.csv")
    table = read(tmp_path)
    assert rows_of(table) == [("1", "ü"), ("2", "ü")]
    assert len(table.notes) == 1


def test_files_that_do_not_belong_together(tmp_path: Path) -> None:
    file_of(tmp_path, f"a,b\n{SECRET},2\n", "1.csv")
    file_of(tmp_path, f"b,c\n{SECRET},2\n", "2.csv")
    refusal(lambda: read(tmp_path), "2.csv", 'the first file has "a", "b"')
    file_of(tmp_path, "a\tb\n1\t2\n", "3.tsv")
    refusal(lambda: read(tmp_path), "different formats")
    (tmp_path / "typed").mkdir()
    for cell in (1, SECRET):
        table_file(pa.table({"a": [cell]}), tmp_path / "typed" / f"{cell}.parquet")
    refusal(lambda: read(tmp_path / "typed"), "different types")


def test_files_may_order_their_columns_differently(tmp_path: Path) -> None:
    file_of(tmp_path, "a,b\n1,2\n", "1.csv")
    file_of(tmp_path, "b,a\n4,3\n", "2.csv")
    assert rows_of(read(tmp_path)) == [("1", "2"), ("3", "4")]


def test_nothing_to_read(tmp_path: Path) -> None:
    refusal(lambda: read(tmp_path), "no data file")
    refusal(lambda: read(str(tmp_path / "*.csv")), "no data file")
    refusal(lambda: read("postgres://user@host/base"), "database")
    # An unknown format names the known ones.
    refused(tmp_path, SECRET, "table.docx", ".csv", ".parquet", name="table.docx")


# --- packed and typed files ----------------------------------------------------------------------


@pytest.mark.parametrize(("name", "delimiter"), [("t.csv.gz", ";"), ("t.tsv.gz", "\t")])
def test_packed_csv(tmp_path: Path, name: str, delimiter: str) -> None:
    content = as_csv(CELLS * 10_000, ["Job", "Note"], delimiter).encode()
    table = read(file_of(tmp_path, gzip.compress(content, 1), name))
    assert table.rows == 40_000
    assert rows_of(table)[:4] == CELLS


def broken_archives() -> dict[str, bytes]:
    lines = b"".join(b"%d,%s%d\n" % (i * 7919, SECRET.encode(), i * 104729) for i in range(20_000))
    whole = gzip.compress(b"a,b\n" + lines)
    return {
        "cut early": whole[:30],
        "cut late": whole[: len(whole) // 2],
        "spoilt early": whole[:15] + b"\0" * 10 + whole[25:],
        "spoilt late": whole[: len(whole) // 2] + b"\xff" * 20 + whole[len(whole) // 2 + 20 :],
        "spoilt end": whole[:-8] + b"\0" * 8,
    }


@pytest.mark.parametrize("how", list(broken_archives()))
def test_broken_archives_are_refused(tmp_path: Path, how: str) -> None:
    refused(tmp_path, broken_archives()[how], "table.csv.gz", name="table.csv.gz")


def test_an_archive_that_claims_to_be_text(tmp_path: Path) -> None:
    refused(tmp_path, broken_archives()["cut late"])


def typed_table() -> pa.Table:
    return pa.table(
        {
            "n": pa.array([1, None, 3], pa.int64()),
            "x": pa.array([1.5, float("nan"), 39.0]),
            "t": pa.array(["01", "", None]),
            "c": pa.array(["u", "v", "u"]).dictionary_encode(),
            "d": pa.array([0, 1, None], pa.int32()).cast(pa.date32()),
            "s": pa.array([0, 1, None], pa.int64()).cast(pa.timestamp("ns", "UTC")),
            "b": pa.array([True, None, False]),
        }
    )


TYPED_ROWS = [
    ("1", "1.5", "01", "u", "1970-01-01", "1970-01-01T00:00:00+00:00", "true"),
    (None, None, "", "v", "1970-01-02", "1970-01-01T00:00:00.000000001+00:00", None),
    ("3", "39", None, "u", None, None, "false"),
]


def streamed(table: pa.Table, path: Path) -> Path:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return path


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("t.arrow", streamed),
        *((f"t.{kind}", table_file) for kind in ("parquet", "arrow", "feather")),
    ],
)
def test_typed_files(tmp_path: Path, name: str, write: Any) -> None:
    table = read(write(typed_table(), tmp_path / name))
    assert list(table.columns) == list("nxtcdsb")
    assert rows_of(table) == TYPED_ROWS


@pytest.mark.parametrize("cells", [[1, None], ["x", None], [None, None], [0.5, float("nan")]])
def test_folders_of_typed_files_and_files_of_several_parts(
    tmp_path: Path, cells: list[Any]
) -> None:
    part = pa.table({"a": cells})
    want = rows_of(from_arrow(part)) * 2
    whole = pa.concat_tables([part, part])
    assert rows_of(from_arrow(whole)) == want
    pq.write_table(whole, tmp_path / "whole.parquet", row_group_size=2)
    assert rows_of(read(tmp_path / "whole.parquet")) == want
    assert rows_of(read(table_file(whole, tmp_path / "whole.arrow"))) == want
    (tmp_path / "parts").mkdir()
    for i in range(2):
        table_file(part, tmp_path / "parts" / f"{i}.parquet")
    assert rows_of(read(tmp_path / "parts")) == want


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.feather"])
@pytest.mark.parametrize("how", ["empty", "text", "cut", "spoilt"])
def test_typed_files_that_are_none(tmp_path: Path, name: str, how: str) -> None:
    whole = table_file(pa.table({"a": [SECRET] * 100}), tmp_path / name).read_bytes()
    middle = len(whole) // 2
    content = {
        "empty": b"",
        "text": SECRET.encode(),
        "cut": whole[:middle],
        "spoilt": whole[:20] + b"\xff" * (len(whole) - 30) + whole[-10:],
    }[how]
    refused(tmp_path, content, str(tmp_path / name), name=name)


def test_column_names_of_typed_files_must_differ(tmp_path: Path) -> None:
    table = pa.table([pa.array([SECRET]), pa.array([1])], names=["a", "a"])
    refusal(lambda: from_arrow(table), 'repeat: "a"')
    refusal(lambda: from_arrow(pa.table({})), "no columns")


# A dictionary as a user makes it: nulls, and values that no row or two codes stand for. The text
# may be 64-bit text, as our own reader makes it.
@pytest.mark.parametrize("text", [pa.string(), pa.large_string()])
@pytest.mark.parametrize("index", [pa.int8(), pa.int32()])
@pytest.mark.parametrize("way", ["memory", "file"])
def test_categories_of_users(
    tmp_path: Path, text: pa.DataType, index: pa.DataType, way: str
) -> None:
    codes = pa.array([0, None, 2, 3, 4, None], index)
    values = pa.array(["x", SECRET, "y", "x", None], text)
    table = pa.table({"a": pa.DictionaryArray.from_arrays(codes, values)})
    path = tmp_path / "t.arrow"
    found = read(table_file(table, path)) if way == "file" else from_arrow(table)
    assert rows_of(found) == [("x",), (None,), ("y",), ("x",), (None,), (None,)]
    assert sorted(map(str, found.columns["a"].values.to_pylist())) == ["None", "x", "y"]


# --- data frames ---------------------------------------------------------------------------------

PEOPLE = {"Job": ["Cook", "Cook", "Clerk", "Clerk", "Boss"], "Sick": ["y", "n", "y", "n", "n"]}
POLICY = policy_of(keep=["Sick"], anonymity=[{"over": ["Job"], "k": 2}])
# One boss may not stand alone, so cooks stay hidden with the boss; of equals, Clerk came first.
MASKED = {"Job": ["*", "*", "*", "Clerk", "Clerk"], "Sick": ["n", "n", "y", "n", "y"]}
KEEP_ALL = policy_of(keep="*", anonymity=[{"over": ["Q"], "k": 1}])


def kept(data: Any) -> Any:
    """Release a table of which only column Q is masked; everything is shown in the end."""
    return reticent.release(data, KEEP_ALL).table


def test_pandas_comes_back_as_pandas() -> None:
    frame = pd.DataFrame(PEOPLE, index=pd.Index([9, 8, 7, 6, 5], name="person"))
    frame.attrs["source"] = SECRET
    out = reticent.release(frame, POLICY).table
    assert isinstance(out, pd.DataFrame)
    assert out.to_dict("list") == MASKED
    assert list(out.index) == [0, 1, 2, 3, 4]
    assert out.index.name is None
    assert not out.attrs


TABLE = pa.table(PEOPLE)
FRAMES: dict[str, tuple[Any, type]] = {
    "polars": (pl.DataFrame(PEOPLE), pl.DataFrame),
    "lazy": (pl.LazyFrame(PEOPLE), pl.LazyFrame),
    "arrow": (TABLE, pa.Table),
    "batch": (pa.RecordBatch.from_pydict(PEOPLE), pa.Table),
    "chunks": (pa.concat_tables([TABLE.slice(0, 2), TABLE.slice(2, 0), TABLE.slice(2)]), pa.Table),
    "duckdb": (duckdb.from_arrow(TABLE), duckdb.DuckDBPyRelation),
    **{suffix: (suffix, pa.Table) for suffix in (".csv", ".parquet", ".arrow")},
}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_come_back_as_they_came_and_files_as_arrow(kind: str, tmp_path: Path) -> None:
    data, comes_back = FRAMES[kind]
    if isinstance(data, str):
        data = table_file(TABLE, tmp_path / f"people{data}")
    out: Any = reticent.release(data, POLICY).table
    table = pa.table(out.lazy().collect() if kind in ("polars", "lazy") else out)
    assert isinstance(out, comes_back)
    assert table.to_pydict() == MASKED
    assert table.schema.metadata is None


@pytest.mark.parametrize("ordered", [False, True])
def test_pandas_categories_do_not_travel(ordered: bool) -> None:
    kinds = pd.CategoricalDtype(["Cook", "Clerk", "Boss", SECRET], ordered=ordered)
    frame = pd.DataFrame(PEOPLE).astype({"Job": kinds})
    frame["Sick"] = frame["Sick"].astype(pd.CategoricalDtype(["y", "n", SECRET]))
    out = reticent.release(frame, POLICY).table
    assert {name: [str(cell) for cell in out[name]] for name in out} == MASKED
    for name in out:
        assert SECRET not in str(getattr(out[name].dtype, "categories", ""))


@pytest.mark.parametrize("dtype", [pl.Categorical, pl.Enum(["Cook", "Clerk", "Boss", SECRET])])
def test_polars_categories(dtype: Any) -> None:
    frame = pl.DataFrame(PEOPLE).with_columns(pl.col("Job").cast(dtype))
    out = reticent.release(frame, POLICY).table
    assert out.to_dict(as_series=False) == MASKED


def exact(column: Any) -> list[Any]:
    """Cells as Python's own, which compare a whole number and a float without rounding."""
    cells: list[Any] = [None if pd.isna(cell) else cell for cell in column]
    return [cell.item() if hasattr(cell, "item") else cell for cell in cells]


@pytest.mark.parametrize(
    "column",
    [
        pd.array([2**53 + 1, None, -3], dtype="Int64"),
        pd.array([2**64 - 1, None, 3], dtype="UInt64"),
        pd.array([True, None, False], dtype="boolean"),
        pd.array(["u", None, ""], dtype="string"),
        pd.array([1.5, None, -0.5], dtype="Float64"),
        pd.array([2**53 + 1, 2, 3], dtype="int64"),
        pd.to_datetime(["2024-01-01T10:00:00.123456789", None, "1969-01-01T00:00:00.1"]),
        pd.to_datetime(["2024-01-01", None, "1969-07-01"]).tz_localize("Europe/Berlin"),
        pd.to_timedelta([1, None, 3], unit="s"),
        pd.array([1, None, 3], dtype=pd.ArrowDtype(pa.int8())),
    ],
    ids=lambda column: str(column.dtype),
)
def test_kept_pandas_columns_lose_nothing(column: Any) -> None:
    frame = pd.DataFrame({"Q": ["a", "b", "c"], "x": column})
    out = kept(frame)
    assert list(out["Q"]) == ["a", "b", "c"]
    assert exact(out["x"]) == exact(frame["x"])


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([2**63 - 1, None, -3]),
        pl.Series([1.5, float("nan"), None]),
        pl.Series([True, None, False]),
        pl.Series(["u", None, ""]),
        pl.Series([b"u", None, b""]).cast(pl.String),
        pl.Series(["2024-01-01", None, "1969-01-01"]).str.to_date(),
        pl.Series(["2024-01-01T10:00:00", None, "1969-01-01T00:00:00"]).str.to_datetime(),
    ],
    ids=lambda column: str(column.dtype),
)
def test_kept_polars_columns_keep_their_type(column: Any) -> None:
    frame = pl.DataFrame({"Q": ["a", "b", "c"], "x": column})
    out = kept(frame)
    assert out["x"].dtype == column.dtype
    assert repr(out["x"].to_list()) == repr(column.to_list())


def test_column_labels_of_pandas_need_not_be_text() -> None:
    out = kept(pd.DataFrame({"Q": ["a", "b"], 7: [1, 2]}))
    assert list(out.columns) == ["Q", "7"]


TEXTS = pa.array(["a", "b"])
FRAME = pd.DataFrame({"Q": ["a", "b"]})
UNUSABLE: dict[str, tuple[Any, str]] = {
    "names that repeat": (pd.DataFrame([["a", 1, SECRET]], columns=["Q", "x", "x"]), "repeat"),
    "names that print alike": (pd.DataFrame([["a", 1, SECRET]], columns=["Q", 1, "1"]), "repeat"),
    "mixed": (pd.DataFrame({"Q": ["a", "b", "c"], "x": [1, SECRET, 2.5]}), '"x"'),
    "list": (pa.table({"Q": TEXTS, "x": [[1], [2]]}), 'column "x"'),
    "struct": (pa.table({"Q": TEXTS, "x": [{"u": SECRET}, {"u": "v"}]}), 'column "x"'),
    "binary": (pa.table({"Q": TEXTS, "x": [b"u", SECRET.encode()]}), 'column "x"'),
    "large binary": (
        pa.table({"Q": TEXTS, "x": pa.array([b"u", b"v"], pa.large_binary())}), 'column "x"'
    ),
    "uuid": (
        pa.table({"Q": TEXTS, "x": pa.array([b"0" * 16, b"1" * 16], pa.uuid())}), 'column "x"'
    ),
    "period": (FRAME.assign(x=pd.period_range("2024-01", periods=2, freq="M")), 'column "x"'),
    "interval": (FRAME.assign(x=pd.interval_range(0, 2)), 'column "x"'),
    "polars list": (pl.DataFrame({"Q": ["a", "b"], "x": [[1], [2]]}), 'column "x"'),
    **{
        f"a {type(data).__name__}": (data, "no table")
        for data in (None, 5, [1, 2], {"Q": ["a"]}, pd.Series(["a"]), TEXTS)
    },
    "polars series": (pl.Series(["a"]), "no table"),
    "pandas without rows": (pd.DataFrame({"Q": []}), "no rows"),
    "polars without rows": (pl.DataFrame({"Q": []}), "no rows"),
    "arrow without rows": (pa.table({"Q": []}), "no rows"),
}  # fmt: skip


@pytest.mark.parametrize(("data", "said"), UNUSABLE.values(), ids=UNUSABLE)
def test_what_cannot_be_released_is_named_without_its_cells(data: Any, said: str) -> None:
    refusal(lambda: kept(data), said)


QUOTED = st.lists(st.sampled_from(['"', ",", "\n", "a", '""', '"b"']), min_size=1, max_size=14)


@given(cells=QUOTED, window=st.integers(1, 9))
def test_quotes_look_the_same_through_any_window(cells: list[str], window: int) -> None:
    with TemporaryDirectory() as place:
        path = Path(place) / "a.csv"
        path.write_text("".join(cells), encoding="utf-8")
        dialect = Dialect(",", '"', "utf-8")
        whole = _quotes_are_plain(path, dialect)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(delimited, "_WINDOW", window)
            assert _quotes_are_plain(path, dialect) == whole
