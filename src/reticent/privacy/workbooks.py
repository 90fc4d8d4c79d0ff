"""The verifier's own look at a workbook: the cells of its data, and what else it carries.

It shares no line with those who write and read workbooks. What a release says of itself stands in
plain sight on the sheet of promises; whatever else a workbook can carry may tell what cells hide.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

import pyarrow as pa

from reticent.data.texts import number_text
from reticent.errors import InputError, Problem, listed, many, quoted
from reticent.privacy.workbook_parts import LookedAtPart

_DATA, _PROMISES = "Data", "Promises"
_BLOCK = 1 << 15
_SCANNED = 1 << 20
_PLAIN_PARTS = re.compile(
    r"\[Content_Types\]\.xml|_rels/\.rels|docProps/(core|app)\.xml|xl/workbook\.xml"
    r"|xl/_rels/workbook\.xml\.rels|xl/(styles|sharedStrings|calcChain)\.xml"
    r"|xl/theme/theme\d*\.xml|xl/worksheets/sheet\d+\.xml"
)
_OTHER_PARTS = (  # what people call those that no release has
    ("comments on cells", r"xl/(threadedC|c)omments.*|xl/persons/.*|xl/drawings/vml.*"),
    ("pictures", r"xl/(media|drawings|charts)/.*"),
    ("macros", r"xl/vba.*"),
    ("links to other files", r"xl/externalLinks/.*|xl/worksheets/_rels/.*"),
    ("caches", r"xl/(pivot\w*|queryTables|connections\.xml).*"),
    ("properties", r"docProps/.*|customXml/.*"),
    ("settings of a printer", r"xl/printerSettings/.*"),
)
_OURS = {"created": "2000-01-01T00:00:00Z", "modified": "2000-01-01T00:00:00Z"}
_FILTER = "_xlnm._FilterDatabase"
_CELLS = (  # as we write them: a million rows are looked at in seconds
    rb'<c/>|<c(?: s="\d{1,3}")? t="inlineStr"><is><t xml:space="preserve">[^<]*+</t></is></c>'
    rb'|<c(?: s="\d{1,3}")?(?: t="b")?><v>[-+.0-9eE]++</v></c>'
)
_ROWS = re.compile(rb"(?:<row>(?:" + _CELLS + rb")*+</row>)*+")
_ROW_END = b"</row>"
_BLANK_ROW = re.compile(rb"<row>(?:<c/>)*+</row>")
_MADE_BY = re.compile(r"reticent \d[\w.+]{0,30}", re.ASCII)
_MEASURED = re.compile(r"[\d,]{1,20}|<?[\d.]{1,9} %( \(\d{1,20}/\d{1,20}\))?", re.ASCII)
_UNKNOWN = "not measured"  # nobody can count it on this file alone

Said = Sequence[Sequence[str]]  # rows of the sheet of promises


def cells_of(paths: Sequence[Path], names: Sequence[str]) -> pa.Table:
    """The cells of the data in released workbooks, as texts; blank ones are empty."""
    parts = [part for path in paths for part in _parts(path, names)]
    empty = pa.table({name: pa.array([], pa.large_string()) for name in names})
    return pa.concat_tables(parts) if parts else empty


def _parts(path: Path, names: Sequence[str]) -> Iterator[pa.Table]:
    import python_calamine as calamine

    with open(path, "rb") as file, calamine.CalamineWorkbook.from_filelike(file) as book:
        rows = book.get_sheet_by_name(_DATA).iter_rows()
        header = [str(cell) for cell in next(rows)]
        if header != [*names]:
            raise InputError(
                "the header of the data is not that of the release", where=str(path),
                do="get the release again from its owner.",
            )  # fmt: skip
        blocks = []
        times: set[int] = set()  # columns of times: at midnight, a cell alone looks like a date
        while block := [*islice(rows, _BLOCK)]:
            columns = [list(column) for column in zip(*block, strict=True)]
            times |= {j for j, c in enumerate(columns) if datetime in {*map(type, c)}}
            blocks.append([_packed(column) for column in columns])
    for columns in blocks:
        yield pa.table(
            [_texts(column, clock=j in times) for j, column in enumerate(columns)], [*names]
        )


def _packed(cells: list[Any]) -> Any:
    """Cells in less room, where all of them are of one kind."""
    kinds = {*map(type, cells)}
    packed = {str: pa.large_string(), float: pa.float64(), date: pa.date32()}
    (kind, *others) = kinds
    return cells if others or kind not in packed else pa.array(cells, packed[kind])


def _texts(cells: Any, *, clock: bool) -> pa.Array:
    if isinstance(cells, pa.Array):
        if pa.types.is_large_string(cells.type):
            return cells
        cells = cells.to_pylist()
    return pa.array([_text(cell, clock=clock) for cell in cells], pa.large_string())


def _text(cell: Any, *, clock: bool) -> str:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, int | float):
        return number_text(cell)
    if clock and type(cell) is date:
        return f"{cell.isoformat()}T00:00:00"
    return cell.isoformat() if isinstance(cell, date | time) else str(cell)


# --- what it carries besides ---------------------------------------------------------------------


def leftovers(paths: Sequence[Path], rows: int, said: Said) -> Iterator[Problem]:
    """What workbooks tell besides the cells that are counted and the promises that are kept.

    `rows`: how many were counted, of all of them; `said`: what each may say of itself, as the
    policy and the recount have it.
    """
    shown = 0
    for path in paths:
        where = str(path)
        try:
            with zipfile.ZipFile(path) as archive:
                found = _LookedAtBook(archive, where)
                yield from found.leftovers()
                shown += found.rows - 1  # below the header
            if found.sheets == [_DATA, _PROMISES]:
                yield from _other_promises(path, said)
        except (zipfile.BadZipFile, OSError, LookupError, ValueError, RuntimeError, zlib.error):
            yield Problem("the workbook is damaged", where=where, do="get it again.")
            return
    if paths and shown != rows:
        yield Problem(
            f"{many(shown, 'row')} stand below the header, and {rows:,} were counted",
            where=f"{paths[0]}, sheet {_DATA}", why="lines above a header are shown, too.",
            do="publish the file as it was released.",
        )  # fmt: skip


def _other_promises(path: Path, said: Said) -> Iterator[Problem]:
    """Rows of the sheet of promises that say something else than the policy and the recount."""
    import python_calamine as calamine

    with open(path, "rb") as file, calamine.CalamineWorkbook.from_filelike(file) as book:
        rows = book.get_sheet_by_name(_PROMISES).iter_rows()
        found = [[_text(cell, clock=False) for cell in row] for row in rows]
    nothing: Sequence[str] = ()
    pairs = zip_longest(found, said, fillvalue=nothing)
    wrong = [i for i, (row, due) in enumerate(pairs, 1) if not _says(row, due)]
    if wrong:
        yield Problem(
            f"the sheet {_PROMISES} says something else than the policy and the recount in "
            f"{'row' if len(wrong) == 1 else 'rows'} {listed(wrong)}",
            where=str(path), why="whoever reads it relies on it.",
            do="verify by the policy of the release, or publish the file as it was released.",
        )  # fmt: skip


def _says(row: Sequence[str], due: Sequence[str]) -> bool:
    """Whether a row says what it should; what nobody can count here may be any number."""
    cells = [*zip_longest(row, due, fillvalue="")]
    if due[:1] == ("Made by",):  # by which version it was, nobody can count
        (label, meant), (maker, _), *cells = [*cells, ("", "")]
        return label == meant and bool(_MADE_BY.fullmatch(maker)) and not any(a for a, _ in cells)
    return all(
        text == meant or (meant == _UNKNOWN and bool(_MEASURED.fullmatch(text)))
        for text, meant in cells
    )


class _LookedAtBook:
    """What the parts of a workbook hold, each looked at once."""

    def __init__(self, archive: zipfile.ZipFile, where: str) -> None:
        self._archive, self._where = archive, where
        names = archive.namelist()
        self._names = frozenset(names)
        self._twice = len(names) - len(self._names)
        self._others = [name for name in self._names if not _PLAIN_PARTS.fullmatch(name)]
        self._parts = {name: self._looked_at(name) for name in names if name not in self._others}
        book = self._parts["xl/workbook.xml"]
        self.sheets = book.named("sheet")
        self._book = [given for name, given in book.elements if name == "sheet"]
        self._labels = book.named("definedName")
        links = self._parts["xl/_rels/workbook.xml.rels"].elements
        targets = {given.get("Id"): given.get("Target", "") for _, given in links}
        self._places = [self._place(targets[one.get("r:id")]) for one in self._book]
        data = self.sheets.index(_DATA) if _DATA in self.sheets else 0
        self.rows = self._parts[self._places[data]].rows

    def _place(self, target: str) -> str:
        return target.removeprefix("/") if target.startswith("/") else f"xl/{target}"

    def _looked_at(self, name: str) -> LookedAtPart:
        if name.startswith("xl/worksheets/"):
            own = LookedAtPart(name, self._names)
            if self._is_ours(name, own):
                return own
        part = LookedAtPart(name, self._names)
        for text in self._blocks(name):
            part.look(text)
        part.look(b"", last=True)
        return part

    def _blocks(self, name: str) -> Iterator[bytes]:
        with self._archive.open(name) as file:
            while block := file.read(_SCANNED):
                yield block

    def _is_ours(self, name: str, part: LookedAtPart) -> bool:
        """Look at a sheet whose cells are as we write them: as a whole, and not at each."""
        blocks = self._blocks(name)
        head, begin, rest = next(blocks, b"").partition(b"<sheetData>")
        if not begin:
            return False
        part.look(head + begin)
        while b"</sheetData>" not in rest:
            whole = rest.rfind(_ROW_END) + len(_ROW_END)
            if whole >= len(_ROW_END):
                if not _ROWS.fullmatch(rest, 0, whole):
                    return False
                part.rows += _shown_rows(rest[:whole])
                rest = rest[whole:]
            if not (more := next(blocks, b"")):
                return False
            rest += more
        body, end, tail = rest.partition(b"</sheetData>")
        if not _ROWS.fullmatch(body):
            return False
        part.rows += _shown_rows(body)
        part.look(end + tail)
        for text in blocks:
            part.look(text)
        part.look(b"", last=True)
        return True

    def leftovers(self) -> Iterator[Problem]:
        """What is told besides the cells."""
        odd = Counter[str]()
        for name in self._others:
            odd[next((w for w, form in _OTHER_PARTS if re.fullmatch(form, name)), "parts")] += 1
        for part in self._parts.values():
            odd += part.odd
        sheets = {name for name in self._parts if name.startswith("xl/worksheets/")}
        odd["sheets that are listed nowhere"] += len(sheets - {*self._places})
        odd["parts of the same name"] += self._twice
        if kinds := sorted(+odd):
            yield Problem(
                f"the workbook carries what no cell shows: {listed(kinds)}", where=self._where,
                why="what stands there may be what was masked.",
                do="publish the file as it was released, or copy the cells alone into a new one.",
            )  # fmt: skip
        if self._archive.comment or any(one.comment for one in self._archive.infolist()):
            yield Problem("the archive has a comment", where=self._where, do="write it without.")
        yield from self._of_book()
        yield from self._of_properties()
        yield from self._of_sheets()

    def _of_book(self) -> Iterator[Problem]:
        others = [name for name in self.sheets if name not in (_DATA, _PROMISES)]
        if others and len(self.sheets) > 1:
            yield Problem(
                f"the workbook has other sheets: {quoted(others)}", where=self._where,
                why="nobody looks there for what the data may not show.", do="remove them.",
            )  # fmt: skip
        if any(one.get("state", "visible") != "visible" for one in self._book):
            yield Problem("a sheet of the workbook is hidden", where=self._where, do="remove it.")
        if names := [name for name in self._labels if name != _FILTER]:
            yield Problem(
                f"the workbook has names for something: {many(len(names), 'name')}",
                where=self._where, why="a name may stand for a value or a formula that no cell "
                "shows.", do="remove them.",
            )  # fmt: skip

    def _of_properties(self) -> Iterator[Problem]:
        told = []
        for name, part in self._parts.items():
            if name.startswith("docProps/"):
                told += [key for key, text in part.said.items() if _OURS.get(key) != text]
        if told:
            yield Problem(
                f"the workbook tells of its making: {quoted(sorted(told))}", where=self._where,
                why="who made a file, and when, is no part of a release.",
                do="publish the file as it was released, or remove its properties.",
            )  # fmt: skip

    def _of_sheets(self) -> Iterator[Problem]:
        hidden = sum(part.hidden for part in self._parts.values())
        formulas = sum(part.formulas for part in self._parts.values())
        if hidden:
            yield Problem(
                f"{many(hidden, 'row or group of columns', 'rows or groups of columns')} are "
                "hidden", where=self._where, why="they are published all the same.",
                do="show them, or remove them.",
            )  # fmt: skip
        if formulas:
            yield Problem(
                f"{many(formulas, 'cell')} hold formulas", where=self._where,
                why="a formula may tell more than the value that it shows.",
                do="keep the values alone.",
            )  # fmt: skip
        held = sum(part.texts for part in self._parts.values())
        shown = set[int]().union(*(self._parts[name].shown for name in self._places))
        if spare := held - len(shown):
            yield Problem(
                f"the workbook carries {many(spare, 'text')} that no cell shows",
                where=self._where, why="they tell which values the masked cells hide.",
                do="copy the cells alone into a new workbook.",
            )  # fmt: skip


def _shown_rows(text: bytes) -> int:
    """How many rows show something."""
    return text.count(b"<row>") - len(_BLANK_ROW.findall(text))
