"""What a file is, by its first bytes: names are given by people, and people rename files.

A table is read by what it is, whatever its name says, and what is no table is said to be none.
"""

from __future__ import annotations

import gzip
import lzma
import re
import struct
import zipfile
import zlib
from codecs import getincrementaldecoder
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NoReturn

from reticent.errors import InputError

CSV = (".csv", ".tsv", ".txt", ".data", ".csv.gz", ".tsv.gz")
ARROW = (".arrow", ".feather", ".ipc")
STATISTICS = (".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt")
WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
_HEAD = 1 << 12
_BEGIN = 1 << 20  # of a part of an archive, which may be endless
_ZIPPED = b"PK\x03\x04"
_PACKED = b"\x1f\x8b"
_COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # Office before 2007, and Office with a password

_DAMAGED = (  # what reading a zip archive may come to
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError, EOFError, RuntimeError, ValueError,
    OverflowError, struct.error,
)  # fmt: skip

_EXPORT = "save the table in it as .xlsx or .csv, and give that."
_UNPACK = "unpack it, and give the table in it."
_Told = tuple[tuple[bytes, str, str], ...]  # first bytes, what they tell, what to do
_PRINTABLE: _Told = (
    (b"%PDF-", "a PDF document", "ask for the file that the table was made from."),
    (b"{\\rtf", "a text document (RTF)", _EXPORT),
    (b"%!PS", "a page for a printer (PostScript)", _EXPORT),
    (b"RDX3\n", "a file of R", "write its table by  write.csv(x, row.names = FALSE)  in R."),
)
_OTHERS: _Told = (
    (b"\x89PNG\r\n\x1a\n", "a picture (PNG)", ""),
    (b"\xff\xd8\xff", "a picture (JPEG)", ""),
    (b"GIF87a", "a picture (GIF)", ""),
    (b"GIF89a", "a picture (GIF)", ""),
    (b"II*\0", "a picture (TIFF)", ""),
    (b"MM\0*", "a picture (TIFF)", ""),
    (b"7z\xbc\xaf\x27\x1c", "an archive (7z)", _UNPACK),
    (b"Rar!\x1a\x07", "an archive (RAR)", _UNPACK),
    (b"BZh", "an archive (bzip2)", _UNPACK),
    (b"\xfd7zXZ\0", "an archive (xz)", _UNPACK),
    (b"\x28\xb5\x2f\xfd", "an archive (zstd)", _UNPACK),
    (b"PK\x05\x06", "an empty archive (zip)", ""),
    (b"SQLite format 3\0", "an SQLite database", "give it as  sqlite:///NAME  with --table."),
    (b"\x89HDF", "an HDF5 file", "save its table as Parquet or CSV, and give that."),
    (b"ORC", "an ORC file", "save its table as Parquet, and give that."),
    (b"Obj\x01", "an Avro file", "save its table as Parquet, and give that."),
    (b"FEA1", "a Feather file of the first version", "save its table as Parquet, and give that."),
)
_STATISTICS = (
    (b"$FL2@(#)", ".sav"),
    (b"$FL3@(#)", ".zsav"),
    (b"<stata_dta>", ".dta"),
    (b"HEADER RECORD*******LIB", ".xpt"),
    (bytes(12) + b"\xc2\xea\x81\x60\xb3\x14\x11\xcf", ".sas7bdat"),
)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x19\x1c-\x1f]")
_PAGES = re.compile(rb"<(!doctype html|html|head|body|meta|table|style)\b", re.IGNORECASE)
_JSON = re.compile(rb'(\{\s*("|\}|$)|\[\s*(\{|\[|"[^"\]]*"\s*:|$))')
_DOCUMENTS = {  # what the names in a zip archive begin with
    "word/": "a Word document",
    "ppt/": "a PowerPoint presentation",
    "visio/": "a Visio drawing",
    "Index/": "a document of Numbers, Pages or Keynote",
}
_STREAMS = {  # of a compound file, in the order in which they tell most
    "EncryptedPackage": "encrypted",
    "Workbook": ".xls",
    "Book": ".xls",
    "WordDocument": "a Word document",
    "PowerPoint Document": "a PowerPoint presentation",
}


def suffix_of(path: Path, known: Collection[str]) -> str:
    """The suffix that tells a format, ``.csv.gz`` included; empty where there is none.

    >>> suffix_of(Path("A.CSV.gz"), CSV), suffix_of(Path("release"), CSV)
    ('.csv.gz', '')
    """
    name = path.name.lower()
    return max((s for s in known if name.endswith(s)), key=len, default="")


def is_packed(path: Path) -> bool:
    """Whether a file is a gzip archive, whatever its name says."""
    with open(path, "rb") as file:
        return file.read(2) == _PACKED


def format_of(path: Path, named: str, notes: list[str], *, told: str | None = None) -> str:
    """The format of a file whose name says it is `named`; another one than that is noted.

    `told`: its encoding. Files that are no tables are refused, texts without a known name, too.
    """
    try:
        with open(path, "rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return named  # who reads it says what the matter is
    packed = head[:2] == _PACKED
    if packed:
        head = _unpacked(path)
    found = _told_by(path, head, packed=packed)
    if packed and found:
        _refuse(path, f"an archive (gzip) of a {found} file", _UNPACK)
    if not found:
        _refuse_other_text(path, head, told)
        if named in CSV or not named:
            return named
        found = ".csv" if _is_text(head) else named
        if not head and not packed:
            raise InputError("the file is empty", where=str(path), do="give a header and rows.")
    if _family(found) != _family(named):
        notes.append(f"{path} is read as what it is: {_called(found)}.")
        return found
    return named


def refuse_no_text(path: Path, told: str | None = None) -> None:
    """Refuse a file that is no text: what it is instead, and what to do."""
    notes: list[str] = []
    if _family(found := format_of(path, ".csv", notes, told=told)) != ".csv":
        raise InputError(
            f"this is {_called(found)}, and no text", where=str(path),
            do="give lines of text; or, where each row has one item,  format = \"long\".",
        )  # fmt: skip


def _family(suffix: str) -> str:
    for family in (CSV, ARROW, (".xlsx", ".xlsm"), (".sav", ".zsav")):
        if suffix in family:
            return family[0]
    return suffix


def _called(suffix: str) -> str:
    if suffix in CSV:
        return "CSV"
    if suffix in WORKBOOKS:
        return f"a spreadsheet ({suffix})"
    if suffix in STATISTICS:
        return f"a file of a statistics package ({suffix})"
    return {".parquet": "Parquet", ".arrow": "Arrow"}.get(suffix, f"a {suffix} file")


def _refuse(path: Path, what: str, do: str = "") -> NoReturn:
    raise InputError(
        f"this is {what}, and no table", where=str(path),
        do=do or "give the table as a file: CSV, Parquet, a spreadsheet, …",
    )  # fmt: skip


def _unpacked(path: Path) -> bytes:
    """The first bytes in a gzip archive; nothing of one that is broken, as its reader says so."""
    try:
        with gzip.open(path, "rb") as file:
            return file.read(_HEAD)
    except (OSError, EOFError, zlib.error):
        return b""


def _told_by(path: Path, head: bytes, *, packed: bool) -> str:
    """The format that the first bytes tell, if they tell one; refused if it is no table's."""
    for magic, what, do in _PRINTABLE:
        if head.startswith(magic):
            _refuse(path, what, do)
    for magic, suffix in _STATISTICS:
        if head.startswith(magic):
            return suffix
    if b"SPSSPORT" in head[:600]:
        return ".por"
    if not _CONTROL.search(head):  # or a column called ORC would be one
        return ""
    for magic, what, do in _OTHERS:
        if head.startswith(magic):
            _refuse(path, what, do)
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        _refuse(path, "a picture (WebP)")
    if head[4:12] in (b"ftypheic", b"ftypheix", b"ftypmif1", b"ftypavif"):
        _refuse(path, "a picture (HEIC)")
    if head[:2] == b"BM" and head[6:10] == bytes(4):
        _refuse(path, "a picture (BMP)")
    if head[257:262] == b"ustar":
        _refuse(path, "an archive (tar)", _UNPACK)
    if head[8:12] == b"DUCK":
        _refuse(path, "a DuckDB database", "give it as  duckdb:///NAME  with --table.")
    if head[0] in range(102, 116) and head[1] in (1, 2) and head[2:4] == b"\x01\0":
        return ".dta"  # before Stata 13
    if head.startswith(b"PAR1"):
        return ".parquet"
    if head.startswith(b"ARROW1") or _begins_stream(head):
        return ".arrow"
    if head.startswith(_ZIPPED):
        return ".zip" if packed else _in_zip(path)
    if head.startswith(_COMPOUND):
        return "Office" if packed else _in_compound(path)
    return ""


def _begins_stream(head: bytes) -> bool:
    """Whether an Arrow stream begins: its schema's length follows a mark, and its version that."""
    size = int.from_bytes(head[4:8], "little")
    return head[:4] == b"\xff\xff\xff\xff" and 0 < size < 1 << 24 and size % 8 == 0


def _in_zip(path: Path) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            kind = _begin_of(archive, "mimetype")
            parts = _begin_of(archive, "META-INF/manifest.xml")
    except _DAMAGED:
        _refuse(path, "an archive (zip) that is cut off or damaged", "get the file once more.")
    if "xl/workbook.bin" in names:
        return ".xlsb"
    if "xl/workbook.xml" in names or any(re.fullmatch(r"xl/workbook\d*\.xml", n) for n in names):
        return ".xlsx"
    if kind.startswith(b"application/vnd.oasis.opendocument.spreadsheet"):
        if b"encryption-data" in parts:
            refuse_encrypted(path)
        return ".ods"
    if kind.startswith(b"application/vnd.oasis.opendocument"):
        _refuse(path, "a document of LibreOffice", _EXPORT)
    for start, what in _DOCUMENTS.items():
        if any(name.startswith(start) for name in names):
            _refuse(path, what, _EXPORT)
    if any(name.startswith(("xl/", "[Content_Types]", "docProps/", "_rels/")) for name in names):
        _refuse(path, "a file of Office that is damaged", "get the file once more.")
    _refuse(path, "an archive (zip)", _UNPACK)


def _begin_of(archive: zipfile.ZipFile, name: str) -> bytes:
    """How a file in an archive begins; nothing of one that is not there."""
    try:
        part = archive.getinfo(name)
    except KeyError:
        return b""
    with archive.open(part) as file:
        return file.read(_BEGIN)


def _in_compound(path: Path) -> str:
    """What a compound file of Office holds, by the names in its directory."""
    names = set(_names_in_compound(path))
    if not names - {""}:
        _refuse(path, "a file of Office that is cut off or damaged", "get the file once more.")
    what = next((what for name, what in _STREAMS.items() if name in names), "a file of Office")
    if what == "encrypted":
        refuse_encrypted(path)
    if what != ".xls":
        _refuse(path, what, _EXPORT)
    return what


def refuse_encrypted(path: Path) -> NoReturn:
    """Refuse a file of Office that has a password."""
    raise InputError(
        "this file is encrypted with a password", where=str(path),
        do="open it, save it without a password (File, Info, Protect), and give that.",
    )  # fmt: skip


def _names_in_compound(path: Path) -> Iterator[str]:
    """The names in the directory of a compound file, sector by sector (MS-CFB, 2.2 to 2.6)."""
    data = path.read_bytes()

    def number(at: int) -> int:
        return int.from_bytes(data[at : at + 4], "little")

    size = {9: 512, 12: 4096}.get(int.from_bytes(data[30:32], "little"))
    if size is None:  # there are no others
        return
    sector, seen = number(48), set[int]()
    while (sector + 1) * size < len(data) and sector not in seen:
        for at in range((sector + 1) * size, (sector + 2) * size, 128):
            length = int.from_bytes(data[at + 64 : at + 66], "little")
            yield data[at : at + max(min(length, 64) - 2, 0)].decode("utf-16-le", "replace")
        seen.add(sector)
        entries = size // 4
        if sector // entries >= 109:  # tables of sectors beyond the header's: not for a directory
            return
        sector = number((number(76 + 4 * (sector // entries)) + 1) * size + 4 * (sector % entries))


def _refuse_other_text(path: Path, head: bytes, told: str | None) -> None:
    """Refuse texts that are no tables, and bytes that are no text."""
    begin = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if begin.startswith(b"<?xml") and b"office:spreadsheet" in begin:
        _refuse(path, "an XML spreadsheet of Excel 2003", "open it, and save it as .xlsx.")
    if _PAGES.match(begin) or (begin.startswith(b"<?xml") and b"<html" in begin.lower()):
        _refuse(
            path, "a web page, as many programs write for Excel", "open it, and save it as .xlsx."
        )
    if begin.startswith(b"<?xml"):
        _refuse(path, "an XML file", "export the table as CSV, or " + _EXPORT)
    if _JSON.match(begin):
        _refuse(path, "a JSON file", "write its records as CSV or Parquet, and give that.")
    signs = sum(1 for byte in head if byte < 32 and byte not in b"\t\n\r\f\x00\x1a\x1b")
    if not told and 20 * signs > len(head) > 0 and not _is_encoded(head):
        _refuse(path, "no text, nor any format that is known here")


def _is_encoded(head: bytes) -> bool:
    """Whether bytes are a text by their encoding, however odd its signs."""
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return True
    try:
        getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return True


def _is_text(head: bytes) -> bool:
    """Whether bytes may be lines of text: those of a broken Parquet file are not."""
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return True
    return b"\n" in head.replace(b"\r", b"\n") and not _CONTROL.search(head)
