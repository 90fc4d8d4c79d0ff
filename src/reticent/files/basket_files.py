"""Baskets at the door: files, data frames, Python's sets and sparse matrices, in and out.

Two formats. In a *basket* file every line is a transaction, blank lines too, its items separated by
blanks: spaces or tabs, several of them counting as one; or by a sign (`basket_lines`). In a *long*
table every row is an id and an item; a row without an item stands for a transaction that may have
no other. Cells of long tables are taken verbatim, blanks at their edges included, as those of all
tables are.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from numbers import Integral
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from reticent.data.baskets import Baskets, Ints, Part, made
from reticent.data.columns import Column, smallest, without_missing
from reticent.data.memory import runs
from reticent.errors import InputError, Problem, did_you_mean, quoted, refuse
from reticent.files import basket_lines, sheets, tabular
from reticent.files.delimited import Reading, read_lines
from reticent.files.formats import refuse_no_text

Form = Literal["basket", "long"]
Columns = tuple[str, str]  # of id and item
_AT_ONCE = 1 << 22  # rows looked at together
_SEPARATORS = r"[ \t\r\n\x00]"  # what no item can hold where blanks part them


def suffixes(form: Form) -> tuple[str, ...]:
    """The ends of names that tell a format."""
    return tabular.LINES if form == "basket" else tabular.SUFFIXES


def paths_of(data: str | Path, form: Form) -> list[Path]:
    """The files behind a name, a folder or a glob."""
    return tabular.paths_of(data, suffixes(form))


def suffix_of(path: Path, form: Form) -> str:
    """The suffix that tells a format; empty where a name tells none.

    >>> suffix_of(Path("retail.dat.gz"), "basket"), suffix_of(Path("retail.dat.gz"), "long")
    ('.dat.gz', '')
    """
    return tabular.suffix_of(path, suffixes(form))


def read(
    data: str | Path,
    form: Form,
    reading: Reading | None = None,
    suffix: str | None = None,
    columns: Columns | None = None,
) -> Baskets:
    """Read a file, or several one after the other.

    `columns` names the id and the item of a long table; in one of two columns, the id is the first.
    `suffix` tells its format where its name does not.
    """
    reading = reading or Reading()
    if form == "long":
        _refuse_separator(reading)
        return _from_long(tabular.parse(data, reading, suffix), columns)
    tabular.refuse_sheet(data, reading)
    otherwise = 'leave it out, or write rows of id and item and set  format = "long".'
    if reading.delimiter not in (None, " ", "\t"):
        said = "the items of a basket file are separated by blanks"
        sign = reading.delimiter
        other = f'if that sign parts items, say  separator = "{sign}";  if not, '
        known = other if sign in basket_lines.SIGNS else ""
        raise InputError(said, where="--delimiter", do=known + otherwise)
    if reading.header_row is not None:
        raise InputError("a basket file has no header", where="--header-row", do=otherwise)
    notes: list[str] = []
    parts: list[Part] = []
    for path in paths_of(data, form):
        if tabular.suffix_of(path) in (".parquet", *tabular.ARROW):
            raise InputError("this is a table", where=str(path), do='set  format = "long".')
        refuse_no_text(path, reading.encoding)
        parts += read_lines(path, reading, notes, partial(_parts, path, reading, notes))
    return made(str(data), parts, notes=notes)


def _refuse_separator(reading: Reading) -> None:
    if basket_lines.sign_of(reading.separator):
        raise InputError(
            "only lines of items have a separator", where="--separator",
            do='leave it out, or set  format = "basket"; cells of a table are parted by  '
            "--delimiter.",
        )  # fmt: skip


def _parts(path: Path, reading: Reading, notes: list[str], blocks: Iterator[str]) -> list[Part]:
    """The transactions of one file of lines."""
    if not (sign := basket_lines.sign_of(reading.separator)):
        return [_cut(text) for text in blocks]
    lines = basket_lines.SeparatedLines(str(path), sign)
    parts = lines.parts(blocks)
    notes += lines.notes()
    return parts


def _cut(text: str) -> Part:
    """Cut lines into items, by arrays: a hundred million of them take seven seconds."""
    data = np.frombuffer(text.encode(), np.uint8)
    ends_line = data == ord("\n")
    blank = (data == ord(" ")) | (data == ord("\t")) | ends_line
    edges = np.flatnonzero(np.diff(blank, prepend=True))
    begins, ends = edges[0::2], edges[1::2]
    offsets = np.concatenate([[0], np.cumsum(ends - begins)])
    texts = pa.py_buffer(offsets), pa.py_buffer(data[~blank])
    coded = pa.LargeStringArray.from_buffers(len(begins), *texts).dictionary_encode()
    before = np.searchsorted(begins, np.flatnonzero(ends_line))
    numbers = np.arange(len(before), dtype=smallest(len(before)))
    rows = np.repeat(numbers, np.diff(before, prepend=0))
    return Part(rows, coded.indices.to_numpy(), coded.dictionary, len(before))


def _from_long(parsed: tabular.Parsed, columns: Columns | None = None) -> Baskets:
    name, known, notes = parsed.name, parsed.arrow.column_names, list(parsed.notes)
    tabular.refuse_twice(known, name)
    columns = _two_of(known, columns, name)
    if others := tuple(column for column in known if column not in columns):
        notes.append(f"{name}: neither read nor released: {quoted(others)}.")
    table = replace(parsed, arrow=parsed.arrow.select(columns)).table()
    headed = not parsed.coded
    del parsed  # of a hundred million rows, two gigabytes
    id_, item = (without_missing(column) for column in table.columns.values())
    rows, ids = _by_first_row(id_, name)
    held, items, texts = _present(item)
    if not headed:
        _refuse_headless(columns, ids, texts, name)
    part = Part(rows[held], items, texts, len(ids))
    return replace(made(name, [part], ids=ids, columns=columns, notes=notes), others=others)


def _two_of(known: Sequence[str], columns: Columns | None, name: str) -> Columns:
    """The columns of id and item: those that are named, or the only two.

    An index that came along without a name is neither, where there are two others.
    """
    refuse(
        Problem(
            f'there is no column "{column}"', where=name,
            do=did_you_mean(column, known) or f"the table has {quoted(known)}.",
        )
        for column in columns or ()
        if column not in known
    )  # fmt: skip
    given = [column for column in known if not tabular.is_made_up(column)]
    found = columns or (given if len(given) == 2 else known)
    if len(found) == 2:
        return found[0], found[1]
    if len(known) < 2:
        raise InputError(
            f"the table has {len(known)} of two columns", where=name,
            why="one is the id of a transaction, the other an item.",
            do='give both, or set  format = "basket"  if every line is a transaction.',
        )  # fmt: skip
    raise InputError(
        f"the table has {len(known)} columns: {quoted(known)}", where=name,
        why="one is the id of a transaction and one an item, and nobody said which.",
        do='name them in the policy, as  columns = { basket = "id", item = "item" }.',
    )  # fmt: skip


def _refuse_headless(columns: Sequence[str], ids: pa.Array, items: pa.Array, name: str) -> None:
    """A file without a header would give its first row away as the names of its columns."""
    import pyarrow.compute as pc

    def among(text: str, values: pa.Array) -> bool:
        plain = values.cast(pa.large_string())
        return bool(pc.any(pc.equal(plain, pa.scalar(text, plain.type))).as_py())

    try:
        float(columns[0])
    except ValueError:
        if not among(columns[0], ids) and not among(columns[1], items):
            return
    raise InputError(
        "its first row looks like an id and an item, and not like the names of two columns",
        where=name, do="begin the file with a line such as  id,item.",
    )  # fmt: skip


def _by_first_row(column: Column, name: str) -> tuple[NDArray[np.integer], pa.Array]:
    """The transaction of every row, and the ids of transactions in order of their first rows."""
    if (gap := column.missing) is not None:
        missing = int((column.codes == gap).sum())
        raise InputError(
            f"{missing} of {len(column.codes)} rows have no id{column.seen([gap])}",
            where=f'{name}, column "{column.name}"',
            why="nobody can tell which transaction they belong to.",
            do="give them one, or leave them out.",
        )
    count = len(column.values)
    first = np.empty(count, np.int64)
    for low in reversed(range(0, len(column.codes), _AT_ONCE)):  # the last one assigned stays
        codes = column.codes[low : low + _AT_ONCE]
        first[codes[::-1]] = np.arange(low, low + len(codes))[::-1]
    order = np.argsort(first)
    number = np.empty(count, smallest(max(count, 1)))
    number[order] = np.arange(count)
    return number[column.codes], column.values.take(pa.array(order))


def _present(column: Column) -> tuple[NDArray[np.bool_] | slice, NDArray[np.integer], pa.Array]:
    """Which rows have a value, which one, and each value as text."""
    texts = pa.array(column.texts(), pa.large_string())
    if (gap := column.missing) is None:
        return slice(None), column.codes, texts
    held = column.codes != gap
    codes = column.codes[held]
    return held, codes - (codes > gap), texts.drop_null()


# --- from Python, and back -----------------------------------------------------------------------


def taken(
    data: Any, names: Sequence[str | int] | None = None, columns: Columns | None = None
) -> tuple[Baskets, str]:
    """Take over what Python holds; also says what kind of thing it was, to hand back the same.

    That is a long data frame, a sparse matrix (a row is a transaction, a column an item, called by
    `names` or by its number from 0, and what is not zero is there), or a list, or anything else to
    go through, of sets of texts or whole numbers.

    >>> baskets, kind = taken([{"b", "a"}, [], ("a", "a")])
    >>> baskets.texts().to_pylist(), kind
    (['a b', '', 'a'], 'sets')
    """
    if type(data).__module__.startswith("scipy.sparse") and hasattr(data, "tocsr"):
        return _from_sparse(data, names), "sparse"
    if names is not None:
        raise InputError("only the columns of a sparse matrix take names", where="names")
    if kind := tabular.frame_kind(data):
        return _from_long(tabular.parse_frame(data, kind), columns), kind
    if isinstance(data, np.ndarray):
        raise InputError(
            "an array can be read in two ways", where="data",
            do="give  scipy.sparse.csr_array(data)  if its columns are items, "
            "data.tolist()  if its cells are.",
        )  # fmt: skip
    if isinstance(data, str | bytes) or not isinstance(data, Iterable):
        raise InputError(
            f"a {type(data).__name__} holds no transactions", where="data",
            do="give a list of sets, a data frame of ids and items, or a sparse matrix.",
        )  # fmt: skip
    return _from_sets(data), "sets"


def handed_back(
    baskets: Baskets, kind: str, like: Any = None, names: Sequence[str | int] | None = None
) -> Any:
    """The same kind of thing that came in: a data frame, a list of sets or a sparse matrix.

    A matrix has the columns of the one that came in; those of items that are gone have no entry,
    and all other entries are 1: how many of an item somebody bought is nobody's business.
    """
    if kind == "sets":
        return _as_sets(baskets)
    if kind == "sparse":
        return _as_sparse(baskets, like, names)
    table = pa.concat_tables([sheet.arrow() for sheet in _sheets(baskets)])
    return tabular.to_frame(table, like, kind)


def _from_sets(data: Iterable[Any]) -> Baskets:
    number: dict[Any, int] = {}
    codes: list[int] = []
    sizes: list[int] = []
    for transaction in data:
        items = _items(transaction, len(sizes) + 1)
        codes += [number.setdefault(item, len(number)) for item in items]
        sizes.append(len(items))
    rows = np.repeat(np.arange(len(sizes)), sizes)
    part = Part(rows, np.array(codes, np.int64), _texts(list(number), "data"), len(sizes))
    numbers = bool(number) and not any(isinstance(item, str) for item in number)
    return made("data", [part], numbers=numbers)


def _items(transaction: Any, row: int) -> list[Any]:
    """The items of one transaction, if it is a collection of items."""
    if isinstance(transaction, str | bytes):
        raise InputError(
            "this is a text, not a set of items", where=f"data, transaction {row}",
            why="its letters would be taken for items.", do="give  text.split()  or  [text].",
        )  # fmt: skip
    if not isinstance(transaction, Iterable):
        raise InputError(
            f"a {type(transaction).__name__} is no set of items",
            where=f"data, transaction {row}", do="give every transaction as a set or a list.",
        )  # fmt: skip
    items = list(transaction)
    for kind in set(map(type, items)):
        if not issubclass(kind, str | Integral) or issubclass(kind, bool):
            raise InputError(
                f"a {kind.__name__} is no item", where=f"data, transaction {row}",
                do="give texts or whole numbers.",
            )  # fmt: skip
    return items


def _texts(names: Sequence[str | int], where: str) -> pa.Array:
    texts = [name if isinstance(name, str) else str(int(name)) for name in names]
    if "" in texts:
        raise InputError("an empty text is no item", where=where, do="leave it out.")
    try:
        return pa.array(texts, pa.large_string())
    except UnicodeError:
        raise InputError(
            "an item holds half a character, which no file can hold", where=where,
            why="it was decoded in a wrong way.", do="decode its text anew.",
        ) from None  # fmt: skip


def _as_sets(baskets: Baskets) -> list[set[Any]]:
    names: list[Any] = baskets.names.to_pylist()
    if baskets.numbers:
        names = [int(name) for name in names]
    items = [names[item] for item in baskets.items.tolist()]
    starts = baskets.starts.tolist()
    return [set(items[start:end]) for start, end in pairwise(starts)]


def _from_sparse(data: Any, names: Sequence[str | int] | None) -> Baskets:
    if data.ndim != 2:
        raise InputError(f"the matrix has {data.ndim} dimensions", where="data", do="give two.")
    matrix = data.tocsr(copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    count, width = matrix.shape
    columns, items = np.unique(matrix.indices, return_inverse=True)
    texts = _names_of(width, names).take(pa.array(columns))
    rows = np.repeat(np.arange(count), np.diff(matrix.indptr))
    return made("data", [Part(rows, items, texts, count)])


def _names_of(width: int, names: Sequence[str | int] | None) -> pa.Array:
    """The items that the columns of a matrix stand for."""
    texts = _texts(range(width) if names is None else list(names), "names")
    if len(texts) != width:
        raise InputError(f"{len(texts)} names for {width} columns", where="names")
    if len(texts.unique()) < width:
        raise InputError("some columns have the same name", where="names", do="rename them.")
    return texts


def _as_sparse(baskets: Baskets, like: Any, names: Sequence[str | int] | None) -> Any:
    import pyarrow.compute as pc
    from scipy import sparse

    width = like.shape[1]
    column = pc.index_in(baskets.names, _names_of(width, names)).to_numpy()
    ones = np.ones(baskets.occurrences, like.dtype)
    cells = ones, column[baskets.items], baskets.starts
    make = sparse.csr_array if isinstance(like, sparse.sparray) else sparse.csr_matrix
    matrix = make(cells, (baskets.transactions, width))
    matrix.sort_indices()
    return matrix.asformat(like.format)


# --- files out -----------------------------------------------------------------------------------


def write(
    baskets: Baskets,
    path: Path,
    form: Form,
    suffix: str,
    told: sheets.Told = lambda done: None,
    separator: str | None = None,
) -> None:
    """Write baskets in the format that `form` and `suffix` name, whatever `path` is called.

    Items stand in order of code point. `told` hears how many lines or rows are written.
    `separator` parts the items of lines; blanks where there is none.
    """
    if form == "long":
        sheets.write(_sheets(baskets), path, suffix, told)
        return
    sign = basket_lines.sign_of(separator)
    _refuse_unwritable(baskets, sign)
    if sign:
        baskets = replace(baskets, names=basket_lines.printed(baskets.names, sign))
    with sheets.opened(path, suffix) as file:
        for first, last in runs(baskets.starts):
            text = _lines(baskets.texts(first, last, sign or " "))
            if not first and text.startswith(BOM_UTF8):
                file.write(BOM_UTF8)  # or an item that begins so would lose it to the next reader
            file.write(text)
            told(last)


def _lines(texts: pa.Array) -> bytes:
    import pyarrow.compute as pc

    whole = pa.LargeListArray.from_arrays(pa.array([0, len(texts)], pa.int64()), texts)
    lines: pa.Array = pc.binary_join(whole, pa.scalar("\n", texts.type))
    return bytes(lines[0].as_buffer()) + b"\n"


def _refuse_unwritable(baskets: Baskets, sign: str) -> None:
    import pyarrow.compute as pc

    if sign:
        odd = basket_lines.unprintable(baskets.names)
        said, why = "a line break or a zero", "a line of a basket file is a basket."
        do = "rename them, or write rows of id and item (.csv, .parquet)."
    else:
        odd = baskets.names.filter(pc.match_substring_regex(baskets.names, _SEPARATORS))
        said = "a blank, a line break or a zero"
        why = "a basket file separates items by blanks, so they would fall apart."
        do = 'set  separator = ",",  rename them, or write rows of id and item (.csv, .parquet).'
    if len(odd):
        raise InputError(
            f"{len(odd)} of {len(baskets.names)} items hold {said}", where=baskets.name,
            why=why, do=do, values=tuple(odd.to_pylist()),
        )  # fmt: skip


def _sheets(baskets: Baskets) -> Iterator[sheets.Sheet]:
    """Rows of id and item, so many at a time; an empty transaction has one, without an item."""
    starts, items = _with_gaps(baskets)
    values = pa.concat_arrays([baskets.names, pa.nulls(1, baskets.names.type)])
    for low in range(0, len(items), sheets.ROW_GROUP):
        high = min(low + sheets.ROW_GROUP, len(items))
        first = int(np.searchsorted(starts, low, side="right")) - 1
        last = int(np.searchsorted(starts, high, side="left"))
        ends = np.clip(starts[first : last + 1], low, high)
        ids, count = baskets.ids, last - first
        ids = pa.array(np.arange(count) + first + 1) if ids is None else ids.slice(first, count)
        yield sheets.Sheet(
            baskets.columns,
            (
                np.repeat(np.arange(count, dtype=np.uint32), ends[1:] - ends[:-1]),
                items[low:high],
            ),
            (ids, values),
            np.ones(high - low, np.int64),
        )


def _with_gaps(baskets: Baskets) -> tuple[Ints, NDArray[np.uint32]]:
    """Where each transaction starts, and its items: in one without any, a number beyond all."""
    items = baskets.items.view(np.uint32)
    empty = baskets.sizes() == 0
    if not empty.any():
        return baskets.starts, items
    items = np.insert(items, baskets.starts[:-1][empty], len(baskets.names))
    return baskets.starts + np.concatenate([[0], np.cumsum(empty)]), items
