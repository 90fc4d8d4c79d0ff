"""Taxonomy files: CSV with a row a leaf, TOML or JSON in; CSV out.

The values are people's, so messages name lines and labels that the file itself holds.
"""

from __future__ import annotations

import csv
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from io import StringIO
from pathlib import Path

from reticent.data.taxonomy import Sketch, Taxonomy, in_quotes, refuse
from reticent.errors import InputError, Problem, many
from reticent.files.output import whole_file

_SIGNS = ";,"  # that part cells


def load(path: Path, *, unfinished: bool = False) -> Taxonomy:
    """Read a taxonomy from a .csv, .toml or .json file.

    One with values that nobody has put into a group yet is refused, unless it may be `unfinished`.
    """
    found = _loaded(path)
    if not unfinished and (problem := still_open(found, path)):
        raise InputError(problem)
    return found


def still_open(taxonomy: Taxonomy, path: Path) -> Problem | None:
    """What is to be filled in, if anything."""
    waiting = len(taxonomy.unassigned())
    if not waiting:
        return None
    return Problem(
        f"{waiting:,} of {many(len(taxonomy.leaves), 'value')} "
        f'{"stands" if waiting == 1 else "stand"} under "{taxonomy.mark}", so nobody has put '
        f"{'it' if waiting == 1 else 'them'} into a group yet",
        where=str(path), why="a release would show them together, as if they had one in common.",
        do=f"write a group in the place of each {taxonomy.mark}.",
    )  # fmt: skip


def _loaded(path: Path) -> Taxonomy:
    where, kind = str(path), path.suffix.lower()
    if path.is_dir():
        refuse("this is a folder, not a file", where)
    if kind not in (".csv", ".toml", ".json"):
        refuse("this is no kind of taxonomy file", where, "give a .csv, .toml or .json file")
    try:
        data = path.read_bytes()
    except OSError as error:
        refuse(f"cannot be read: {error.strerror}", where)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if kind != ".csv" or data[:2] in (b"\xff\xfe", b"\xfe\xff"):  # these two begin UTF-16
            line = data.count(b"\n", 0, error.start) + 1
            refuse("this is not UTF-8", f"{where}, line {line}", "save the file as UTF-8")
        text = data.decode("latin-1")
    return _from_csv(text, where) if kind == ".csv" else _from_text(text, kind, where)


def save(taxonomy: Taxonomy, path: Path, *, force: bool = True) -> None:
    """Write a taxonomy as CSV from leaf to root; a crash leaves the old file or the new one."""
    save_rows(taxonomy.rows(), path, force=force)


def save_rows(
    rows: Iterable[Sequence[str]],
    path: Path,
    *,
    sign: str = ",",
    bom: bool = False,
    force: bool = True,
) -> None:
    """The same of rows, parted by a sign; `bom`: with the mark by which Excel knows UTF-8."""
    if path.suffix.lower() != ".csv":
        refuse("taxonomies are written as CSV", str(path), "let the name end in .csv")
    if sign not in _SIGNS:
        refuse('the cells of a taxonomy are parted by "," or ";"', "--write-delimiter")
    text = "".join(_csv_line(row, sign) for row in rows)
    with whole_file(path, force=force) as temporary:
        encoding = "utf-8-sig" if bom else "utf-8"
        temporary.write_text(text, encoding=encoding, newline="")


def as_csv(taxonomy: Taxonomy) -> str:
    """A taxonomy as the text of a CSV file, one row a leaf."""
    return "".join(map(_csv_line, taxonomy.rows()))


def _from_csv(text: str, where: str) -> Taxonomy:
    """Read CSV by each separator that occurs in it, and keep the reading that makes a tree.

    If both do, fewer quotes left in labels tell of fewer cuts in wrong places, and more nodes of
    more structure; the semicolon wins ties, since people choose it where labels such as ``[0,18)``
    hold commas. If neither does, the one found in more rows has its mistakes told.
    """
    readings: list[tuple[tuple[bool, int, int], Taxonomy | InputError]] = []
    for sign in [sign for sign in _SIGNS if sign in text] or ",":
        sketch = _csv_sketch(text, sign, where)
        try:
            tree = sketch.tree()
            quotes = sum(label.count('"') for label in tree.labels)
            readings.append(((True, -quotes, len(tree.labels)), tree))
        except InputError as error:
            readings.append(((False, 0, sketch.split), error))
    best = max(readings, key=lambda reading: reading[0])[1]
    if isinstance(best, InputError):
        raise best
    return best


def _csv_sketch(text: str, sign: str, where: str) -> Sketch:
    sketch = Sketch(where)
    reader = csv.reader(StringIO(text, newline=""), delimiter=sign, strict=True)
    while True:
        line = reader.line_num + 1  # where the row begins: quoted cells may run over several lines
        try:
            sketch.add_row(line, next(reader))
        except StopIteration:
            return sketch
        except csv.Error:
            do = 'close a quoted cell right before the separator; a quote inside it is ""'
            sketch.note(line, "the quotes in this row do not match", do)


def _csv_line(row: Sequence[str], sign: str = ",") -> str:
    # A row that begins with a quoted cell cannot be cut at the other sign, so no reader is misled.
    # The csv module would leave \r bare; a bare U+FEFF at the start would be taken for a BOM.
    other = _SIGNS.replace(sign, "")
    risky = "" if other in "".join(row) else f'[{sign}"\r\n\ufeff]'
    cells = [
        '"' + cell.replace('"', '""') + '"' if re.search(risky, cell) else cell for cell in row
    ]
    return sign.join(cells) + "\n"


def _from_text(text: str, kind: str, where: str) -> Taxonomy:
    sketch = Sketch(where)

    def table(pairs: list[tuple[str, object]]) -> dict[str, object]:
        # The json module keeps the last of two equal keys and loses what stood under the first.
        for key, times in Counter(key for key, _ in pairs).items():
            if times > 1:
                sketch.note(0, f"{in_quotes(key)} is given {times} times in one table")
        return dict(pairs)

    if not text.strip():
        return sketch.tree()  # which says that there are no labels; JSON would expect a value
    try:
        toml = kind == ".toml"
        tree = tomllib.loads(text) if toml else json.loads(text, object_pairs_hook=table)
    except RecursionError:
        refuse("the tables are nested too deeply", where, "write it as CSV")
    except ValueError as error:
        lines = re.findall(r"line (\d+)", str(error)) or [text.rstrip().count("\n") + 1]
        refuse(f"this is not {kind[1:].upper()}: {error}", f"{where}, line {lines[-1]}")
    sketch.add_nested(tree)
    return sketch.tree()
