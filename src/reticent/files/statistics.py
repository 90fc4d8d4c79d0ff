"""Files of SPSS, Stata and SAS in: coded cells as what their labels say.

These packages keep answers as numbers, and beside them what each number means. A release is read by
people who do not have that list, so labels are what is taken, unless somebody asks for the codes.
Values that the file declares to be missing are missing, and counted in a note.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from reticent.data.texts import is_text, texts
from reticent.errors import InputError, few, many, quoted, remedy
from reticent.files.cells import joined, of_one_kind
from reticent.files.delimited import Reading, unreadable

_BLOCK = 1 << 18  # rows at a time: as Python's own cells they take many times the room
_READERS = {
    ".sav": "read_sav", ".zsav": "read_sav", ".por": "read_por", ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat", ".xpt": "read_xport",
}  # fmt: skip
_DECLARED = (".sav", ".zsav", ".dta", ".sas7bdat")  # formats whose missing values can be counted
_ENCODED = (".sav", ".zsav", ".dta", ".sas7bdat", ".xpt")

Labels = Mapping[Any, str]  # of codes


def read_statistics(path: Path, suffix: str, reading: Reading, notes: list[str]) -> pa.Table:
    """Read a file of a statistics package: cells as their labels, if that is not refused."""
    parts: dict[str, list[pa.Array]] = {}
    gone: dict[str, int] = {}
    about: Any = None
    for cells, about in _blocks(path, suffix, reading):
        for name, column in cells.items():
            parts.setdefault(name, []).append(_without_declared(name, column, about, gone))
    columns = {name: joined(part) for name, part in parts.items()}
    if gone:
        counted = few(f"{many(count, 'cell')} of {quoted([n])}" for n, count in gone.items())
        notes.append(f"{path}: in {counted} stands what the file declares missing: read as empty.")
    if reading.labels is not False:
        known = about.variable_value_labels
        for name in [name for name in columns if known.get(name)]:
            columns[name], said = _labelled(columns[name], known[name])
            notes += [f'{path}, column "{name}": {one}' for one in said]
    return pa.table(columns)


def _blocks(
    path: Path, suffix: str, reading: Reading
) -> Iterator[tuple[Mapping[str, Sequence[Any]], Any]]:
    """Some rows at a time, with what the file says of its columns."""
    try:
        import pyreadstat
    except ImportError:
        raise InputError(
            "files of SPSS, Stata and SAS need a library that is not installed: pyreadstat",
            where=str(path), do='install it with  pip install "reticent[statistics]".',
        ) from None  # fmt: skip
    how: dict[str, Any] = {"output_format": "dict"}
    if suffix in _DECLARED:
        how["user_missing"] = True
    if reading.encoding and suffix in _ENCODED:
        how["encoding"] = reading.encoding
    read = getattr(pyreadstat, _READERS[suffix])
    done = 0
    while True:
        try:
            cells, about = read(str(path), row_offset=done, row_limit=_BLOCK, **how)
        except OSError as error:
            raise unreadable(error, path) from None
        except (
            pyreadstat.ReadstatError,
            pyreadstat.PyreadstatError,
            ValueError,
            OverflowError,
        ) as error:
            raise _unread(path, suffix, error) from None  # whose words may quote a cell
        yield cells, about
        rows = len(next(iter(cells.values()), ()))
        done += rows
        if rows < _BLOCK:
            return


def _unread(path: Path, suffix: str, error: Exception) -> InputError:
    if "encoding" in str(error) or isinstance(error, UnicodeError):
        return InputError(
            "its texts are in another encoding than it says", where=str(path),
            do=f"tell it {remedy('by --encoding, or in', 'in')} [reading]: cp1252, for example.",
        )  # fmt: skip
    return InputError(f"this is not a readable {suffix} file", where=str(path))


def _without_declared(
    name: str, cells: Sequence[Any], about: Any, gone: dict[str, int]
) -> pa.Array:
    """Some cells of a column, with those empty that the file declares missing; they are counted."""
    ranges = [(one["lo"], one["hi"]) for one in about.missing_ranges.get(name, ())]
    texts_only = about.readstat_variable_types.get(name) == "string"

    def missing(cell: Any) -> bool:
        if cell is None:
            return False
        if isinstance(cell, str) != texts_only:  # the .a to .z of Stata, the .A to .Z of SAS
            return isinstance(cell, str)
        return any(_lies_between(cell, low, high) for low, high in ranges)

    if ranges or not texts_only:
        found = [missing(cell) for cell in cells]
        if count := sum(found):
            gone[name] = gone.get(name, 0) + count
            cells = [None if is_gone else c for c, is_gone in zip(cells, found, strict=True)]
    return of_one_kind(cells)


def _lies_between(cell: Any, low: Any, high: Any) -> bool:
    try:
        return bool(low <= cell <= high)
    except TypeError:  # a date, which is no code
        return False


def _labelled(cells: pa.ChunkedArray, labels: Labels) -> tuple[pa.ChunkedArray, list[str]]:
    """A column with the labels of its codes; and what is to be said of codes without one."""
    coded = pa.chunked_array(cells.combine_chunks().dictionary_encode())
    values = coded.chunk(0).dictionary if coded.num_chunks else pa.array([], cells.type)
    codes = [text or "" for text in texts(values)]
    known = {(_code(code)): label.strip() for code, label in labels.items() if label.strip()}
    named = [known.get(code) for code in codes]
    lacking = named.count(None)
    if lacking == len(named):
        return cells, []
    if not is_text(values.type) and 2 * lacking > len(named):  # 99 = "99 or older", of an age
        return cells, [
            f"{many(len(named) - lacking, 'value')} of {len(named)} {_has(len(named) - lacking)} a "
            "label, and all are taken as the numbers that they are."
        ]
    shown = [label or code for label, code in zip(named, codes, strict=True)]
    alike = {text for text in shown if shown.count(text) > 1}
    said = []
    if alike:
        shown = [
            f"{code} {text}" if text in alike and text != code else text
            for code, text in zip(codes, shown, strict=True)
        ]
        said.append(
            f"{many(sum(label in alike for label in named), 'code')} share a label with another "
            "one, and stand before it."
        )
    if lacking:
        said.append(f"{many(lacking, 'code')} of {len(codes)} without a label, taken as such.")
    if len({*shown}) < len(shown):
        return cells, ["its labels cannot be told from its codes, which are taken instead."]
    to = pa.array(shown, pa.large_string())
    taken = [to.take(chunk.indices) for chunk in coded.chunks]
    return pa.chunked_array(taken, pa.large_string()), said


def _code(code: Any) -> str:
    """A code as a column's values print."""
    [text] = texts(pa.array([code]))
    return text or ""


def _has(count: int) -> str:
    return "has" if count == 1 else "have"
