"""What a file is, by its first bytes: what is no table, what has the wrong name, and titles."""

from __future__ import annotations

import contextlib
import gzip
import io
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import reticent
from at_hand import SECRET
from reticent.errors import InputError
from reticent.files.formats import format_of
from reticent.files.headers import header_at
from reticent.files.tabular import Reading, parse
from spreadsheets_at_hand import a_compound, a_workbook

TABLE = "Job;Age\nnurse;39\ncook;51\nnurse;40\n"
ROWS: list[list[Any]] = [["Job", "Age"], ["nurse", 39], ["cook", 51], ["nurse", 40]]
POLICY: dict[str, Any] = {"anonymity": [{"over": ["Job"], "k": 1}], "keep": ["Age"]}


def a_zip(**files: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), content)
    return packed.getvalue()


def a_tar() -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("table.csv"))
    return packed.getvalue()


def a_parquet() -> bytes:
    packed = io.BytesIO()
    pq.write_table(pa.table({"Job": [SECRET]}), packed)
    return packed.getvalue()


BINARY = bytes(range(256)) * 3
NO_TABLES = {
    "a PDF document": b"%PDF-1.7\n" + BINARY,
    "a picture (PNG)": b"\x89PNG\r\n\x1a\n" + BINARY,
    "a picture (JPEG)": b"\xff\xd8\xff\xe0" + BINARY,
    "a picture (GIF)": b"GIF89a" + BINARY,
    "a picture (TIFF)": b"II*\0" + BINARY,
    "a picture (WebP)": b"RIFF\1\2\3\4WEBP" + BINARY,
    "a picture (BMP)": b"BM\1\2\3\4\0\0\0\0" + BINARY,
    "a text document (RTF)": b"{\\rtf1 " + SECRET.encode(),
    "an archive (zip)": a_zip(table_csv=SECRET.encode()),
    "a Word document": a_zip(word__document_xml=b"<w/>"),
    "a PowerPoint presentation": a_zip(ppt__presentation_xml=b"<p/>"),
    "an archive (zip) that is cut off": a_zip(table_csv=SECRET.encode())[:40],
    "an archive (7z)": b"7z\xbc\xaf\x27\x1c" + BINARY,
    "an archive (RAR)": b"Rar!\x1a\x07\x01\0" + BINARY,
    "an archive (tar)": a_tar(),
    "an archive (gzip) of a .parquet": gzip.compress(a_parquet()),
    "an SQLite database": b"SQLite format 3\0" + BINARY,
    "a DuckDB database": b"12345678DUCK" + BINARY,
    "a web page": b"\n<!DOCTYPE html><table><tr><td>" + SECRET.encode(),
    "a web page, as": b"<html><body>" + SECRET.encode(),
    "an XML spreadsheet": b'<?xml version="1.0"?><W xmlns="urn:schemas-microsoft-com:office:spreadsheet"/>',
    "an XML file": b'<?xml version="1.0"?><people/>',
    "a JSON file": b'[{"Job": "' + SECRET.encode() + b'"}]',
    "no text, nor any format": b"\x01\x02\xff\xfe\x04" * 100,
}  # fmt: skip


@pytest.mark.parametrize("name", ["table.csv", "table", "table.xlsx"])
@pytest.mark.parametrize("said", NO_TABLES)
def test_what_is_no_table(tmp_path: Path, said: str, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(NO_TABLES[said])
    with pytest.raises(InputError) as error:
        parse(path)
    text = error.value.text(show_values=True)
    assert f"this is {said}" in text
    assert SECRET not in text


@pytest.mark.parametrize(
    ("stream", "said"),
    [
        ("EncryptedPackage", "encrypted with a password"),
        ("WordDocument", "a Word document"),
        ("Something", "a file of Office"),
    ],
)
def test_what_a_compound_file_holds(tmp_path: Path, stream: str, said: str) -> None:
    path = a_compound(
        tmp_path / "table.xlsx", **{"Other": b"", "And": b"", "One": b"", stream: b""}
    )
    with pytest.raises(InputError, match=said):
        parse(path)


OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
MAGICS = [
    OFFICE, b"PK\x03\x04", b"\x1f\x8b\x08", b"\xff\xff\xff\xff", b"PAR1\x01", b"RIFF", b"ORC\x01", b"BM",
    b"<?xml", b"\xff\xfe", b"$FL2@(#)", b"{", *(content[:60] for content in NO_TABLES.values()),
]  # fmt: skip


@settings(
    max_examples=200, deadline=5000, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@example(OFFICE, b"", 9, 0)
@example(OFFICE, bytes(504), 9, 0)
@example(OFFICE, bytes(504), 12, 0)
@given(
    st.sampled_from(MAGICS),
    st.binary(max_size=600),
    st.integers(0, 255),
    st.sampled_from([0, 3, 600, 1 << 17]),
)
def test_whatever_follows_a_magic(
    tmp_path: Path, magic: bytes, rest: bytes, shift: int, more: int
) -> None:
    """It is of some format, or refused; and soon, also where a chain leads round."""
    content = bytearray(magic + rest)
    if magic == OFFICE and len(content) > 51:
        content[30:32] = shift.to_bytes(2, "little")
        content[48:52] = bytes(4)
    (tmp_path / "t.xls").write_bytes(bytes(content) + bytes(more))
    for named in (".xls", ".csv"):
        with contextlib.suppress(InputError):
            assert format_of(tmp_path / "t.xls", named, [])


@settings(
    max_examples=150, deadline=5000, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(
    st.lists(st.tuples(st.integers(0, 1500), st.integers(0, 255)), min_size=1, max_size=30),
    st.integers(0, 1500),
)
def test_whatever_befalls_an_archive(tmp_path: Path, hits: list[tuple[int, int]], cut: int) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet" * 3)
        archive.writestr("META-INF/manifest.xml", "<manifest/>" * 9)
    content = bytearray(packed.getvalue())
    for at, byte in hits:
        content[at % len(content)] = byte
    content[:4] = b"PK\x03\x04"
    for data in (content, content[: 4 + cut]):
        (tmp_path / "t.ods").write_bytes(data)
        with contextlib.suppress(InputError):
            assert format_of(tmp_path / "t.ods", ".ods", [])


@pytest.mark.parametrize("rest", [b"", bytes(504), bytes(22) + b"\x09" + bytes(5000)])
def test_office_files_that_are_cut_off(tmp_path: Path, rest: bytes) -> None:
    (tmp_path / "a.xls").write_bytes(OFFICE + rest)
    with pytest.raises(InputError, match="a file of Office that is cut off or damaged"):
        parse(tmp_path / "a.xls")


@pytest.mark.parametrize("name", ["table.csv", "table.parquet", "table.xlsx"])
def test_an_empty_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(InputError, match="the file is empty"):
        parse(tmp_path / name)


def test_headers_that_look_like_formats_are_headers(tmp_path: Path) -> None:
    for header in ("ORC", "BMI", "PAR1", "RDX3", "BZh", "[id]", "<age", "GIF89a"):
        (tmp_path / "t.csv").write_text(f"{header},Age\nx,1\ny,2\n")
        assert parse(tmp_path / "t.csv").arrow.column_names == [header, "Age"]


def content(form: str, folder: Path) -> bytes:
    if form == ".csv":
        return TABLE.encode()
    if form == ".csv.gz":
        return gzip.compress(TABLE.encode())
    if form == ".xlsx":
        return a_workbook(folder / "made.xlsx", {"One": ROWS}).read_bytes()
    table = pa.table({"Job": [row[0] for row in ROWS[1:]], "Age": [row[1] for row in ROWS[1:]]})
    packed = io.BytesIO()
    if form == ".parquet":
        pq.write_table(table, packed)
    else:
        with pa.ipc.new_file(packed, table.schema) as file:
            file.write_table(table)
    return packed.getvalue()


@pytest.mark.parametrize(
    "form",
    [
        ".xlsx",
        *(
            pytest.param(s, marks=pytest.mark.slow)
            for s in (".csv", ".csv.gz", ".parquet", ".arrow")
        ),
    ],
)
def test_a_file_is_read_as_what_it_is_everywhere(tmp_path: Path, form: str) -> None:
    found = set()
    (tmp_path / "made").mkdir()
    for name in ("t.csv", "t.csv.gz", "t.xlsx", "t.parquet", "t.arrow"):
        path = tmp_path / name
        path.write_bytes(content(form, tmp_path / "made"))
        for engine in (None, "duckdb") if name in ("t.csv", "t.parquet") else (None,):
            output = tmp_path / "out.csv"
            result = reticent.release(path, POLICY, output=output, engine=engine)
            assert result.proof.holds
            found.add(output.read_text())
            alike = name.endswith(form) or (".csv" in form and ".csv" in name)
            assert (
                any("read as what it is" in note for note in result.prepared.table.notes) != alike
            )
            output.unlink()
    assert len(found) == 1


PLAIN = {  # no line of these is a title
    "plain": "Job,Age\nnurse,39\n",
    "texts": "Job,Shift\nnurse,night\ncook,day\n",
    "blank line below the header": "Job,Shift\n\nnurse,night\ncook,day\n",
    "a header with gaps": "Job,,\nnurse,night,x\ncook,day,y\n",
    "an unnamed first column": ",Job,Age\n1,nurse,39\n2,cook,51\n",
    "one column": "Job\nnurse\n\ncook\n",
    "no rows": "Job,Age\n",
    "a first row of texts": "A,B\nx,y\n1,2\n",
    "two names of four": "Who,Found,,\na,b,,\nc,cough,fever,rash\nd,1,2,3\ne,4,5,6\n",
    "two names and a blank line": "Who,Found,,\n\na,b,,\nc,cough,fever,rash\nd,1,2,3\n",
    "two names right above a blank line": "Who,Found,,\n\na,cough,fever,rash\nd,1,2,3\n",
    "a group of names": ",Found,,\nWho,cough,fever,rash\nd,1,2,3\n",
    "one name of two": "Job,\nnurse,night\ncook,3\nmaid,4\n",
    "two tables": "Who,Age,,\na,39,,\n\nJob,Ward,Bed,Room\nx,1,2,3\n",
}
TITLED = {
    "with delimiters": ("Report;;\n;;\nJob;Age;Sex\nnurse;39;m\ncook;51;f\n", 3),
    "without": ("Report of 2024\n\nJob;Age;Sex\nnurse;39;m\ncook;51;f\n", 3),
    "close": ("Report, of Smith\nJob;Age\nnurse;39\ncook;51\n", 2),
    "several": ("Clinic;;;\nMade by:;Anna;;\n;;;\nId;Job;Age;Sex\n1;a;39;m\n2;b;51;f\n", 4),
    "from and to": (
        "Klinik Süd;;;\nStand: 2024;;;\nVon;01.01.2024;;\n;;;\nId;Job;Age;Sex\n1;a;39;m\n2;b;51;f\n",
        5,
    ),
    "from and to, cut short": ("Von;1.1.2024\n\nId;Job;Age;Sex\n1;a;39;m\n2;b;51;f\n", 3),
    "in the middle": (";Klinik;;\n;;;\nId;Job;Age;Sex\n1;a;39;m\n2;b;51;f\n", 3),
    "of several lines": ('"Report\nof 2024"\n\nJob;Age\nnurse;39\ncook;51\n', 4),
    "a separator for Excel": ("sep=;\nJob;Age\nnurse;x\ncook;y\n", 2),
    "row names": ("Report of 2024\n\n;Job;Age\n1;nurse;39\n2;cook;51\n", 3),
}


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_table_has_no_title(tmp_path: Path, name: str) -> None:
    (tmp_path / "t.csv").write_text(PLAIN[name])
    found, told = parse(tmp_path / "t.csv"), parse(tmp_path / "t.csv", Reading(header_row=1))
    assert found.arrow.column_names == told.arrow.column_names
    assert (
        found.arrow.num_rows
        == told.arrow.num_rows
        == PLAIN[name].replace("\n\n", "\n").count("\n") - 1
    )


@pytest.mark.parametrize("name", TITLED)
def test_a_header_below_a_title(tmp_path: Path, name: str) -> None:
    text, line = TITLED[name]
    path = tmp_path / "t.csv"
    path.write_text(text)
    found = parse(path)
    assert found.arrow.num_rows == 2
    assert {"Job", "Age"} <= {*found.arrow.column_names}
    told = (
        "first line tells what parts cells"
        if "Excel" in name
        else f"header was found in line {line};"
    )
    assert told in " ".join(found.notes)
    assert parse(path, Reading(header_row=line)).arrow.equals(found.arrow)
    outputs = []
    for engine in (None, "duckdb"):
        reticent.release(path, POLICY | {"keep": "*"}, output=tmp_path / "o.csv", engine=engine)
        outputs.append((tmp_path / "o.csv").read_text())
        (tmp_path / "o.csv").unlink()
    assert outputs[0] == outputs[1]
    assert outputs[0].count("\n") == 3


def test_a_total_below_is_no_header() -> None:
    rows = [["Job", "Age"], *([f"j{i % 3}", str(i)] for i in range(50)), ["", ""], ["Total", "51"]]
    assert header_at(rows) == 0
