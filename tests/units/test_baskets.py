"""Baskets in and out: what is read, what is refused, how they are arranged, and that none is lost."""

from __future__ import annotations

import csv
import gzip
import io
from codecs import BOM_UTF8 as BOM
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from at_hand import SECRET, public_data, refusal
from reticent.data import memory
from reticent.data.baskets import Baskets
from reticent.files import delimited, sheets
from reticent.files.basket_files import Form, handed_back, paths_of, read, suffix_of, taken, write
from reticent.files.output import whole_file
from reticent.files.tabular import Reading

OURS = Reading(delimiter=",", quote='"', encoding="utf-8")  # as we write


def file_of(folder: Path, content: str | bytes, name: str = "shop.dat") -> Path:
    path = folder / name
    data = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def rows_of(baskets: Baskets) -> list[list[str]]:
    names = baskets.names.to_pylist()
    assert names == sorted(set(names))
    assert (baskets.supports() > 0).all()
    ends = baskets.starts.tolist()
    rows = [baskets.items[a:b].tolist() for a, b in pairwise(ends)]
    assert all(row == sorted(set(row)) for row in rows)
    return [[names[item] for item in row] for row in rows]


def ids_of(baskets: Baskets) -> list[Any]:
    assert baskets.ids is not None
    return list(baskets.ids.to_pylist())


def basket(folder: Path, content: str | bytes, name: str = "shop.dat", **how: Any) -> Any:
    return rows_of(read(file_of(folder, content, name), "basket", Reading(**how)))


def long(folder: Path, content: str | bytes, name: str = "shop.csv") -> Baskets:
    return read(file_of(folder, content, name), "long")


def of(rows: Sequence[Any]) -> Baskets:
    return taken(rows)[0]


def written(baskets: Baskets, form: Form, suffix: str) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder, "out")
        write(baskets, path, form, suffix)
        return path.read_bytes()


# --- basket files --------------------------------------------------------------------------------


def test_a_line_is_a_transaction(tmp_path: Path) -> None:
    assert basket(tmp_path, "b a\nc\n\n  \nb\n") == [["a", "b"], ["c"], [], [], ["b"]]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends(tmp_path: Path, end: str, last: bool) -> None:
    content = end.join(["a b", "", "c"]) + (end if last else "")
    assert basket(tmp_path, content) == [["a", "b"], [], ["c"]]


def test_a_final_newline_starts_nothing_but_a_blank_line_is_something(tmp_path: Path) -> None:
    assert basket(tmp_path, "\n") == [[]]
    assert basket(tmp_path, "\n\n") == [[], []]
    assert basket(tmp_path, " ") == [[]]
    assert basket(tmp_path, "a\n ") == [["a"], []]


def test_blanks_are_spaces_and_tabs_and_nothing_else(tmp_path: Path) -> None:
    content = " a\t\t b \u00a0x\u2028y\x0bz\x0c\x1c\x85\n"
    assert basket(tmp_path, content) == [["a", "b", "\u00a0x\u2028y\x0bz\x0c\x1c\x85"]]


def test_an_item_counts_once_a_line(tmp_path: Path) -> None:
    found = read(file_of(tmp_path, "b a b a\na\n"), "basket")
    assert rows_of(found) == [["a", "b"], ["a"]]
    assert (found.transactions, found.occurrences) == (2, 3)
    assert found.supports().tolist() == [2, 1]
    assert found.sizes().tolist() == [2, 1]


def test_items_are_numbered_by_code_point(tmp_path: Path) -> None:
    found = read(file_of(tmp_path, "10 9 Z a \ud7ff \U0001f600 \uffff ä\n".encode()), "basket")
    assert found.names.to_pylist() == ["10", "9", "Z", "a", "ä", "\ud7ff", "\uffff", "\U0001f600"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
@pytest.mark.parametrize("packed", ["", ".gz"])
def test_encodings(tmp_path: Path, encoding: str, packed: str) -> None:
    path = file_of(tmp_path, "Käse Öl\r\nBrot\r\n".encode(encoding), f"shop.dat{packed}")
    found = read(path, "basket")
    assert rows_of(found) == [["Käse", "Öl"], ["Brot"]]
    assert found.notes == (
        (
            f"{path} is not UTF-8 and was read as Latin-1; --encoding, or [reading], tells otherwise.",
        )
        if encoding == "latin-1"
        else ()
    )


def test_a_file_that_turns_out_to_be_latin_1_half_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delimited, "_HEAD", 8)
    monkeypatch.setattr(delimited, "_LINES_BLOCK", 8)
    found = read(file_of(tmp_path, "Brot Wein\n" * 5 + "Käse\n", "a.dat"), "basket")
    assert found.notes == ()
    other = file_of(tmp_path, ("Brot Wein\n" * 5 + "Käse\n").encode("latin-1"), "b.dat")
    assert rows_of(read(other, "basket")) == rows_of(found)
    assert len(read(other, "basket").notes) == 1
    refusal(lambda: read(other, "basket", Reading(encoding="utf-8")), "not utf-8 text")


def test_told_encoding(tmp_path: Path) -> None:
    assert basket(tmp_path, "ä".encode("cp437"), encoding="cp437") == [["ä"]]
    assert basket(tmp_path, "ä b\n".encode("utf-16-le"), encoding="utf-16-le") == [["b", "ä"]]
    refusal(lambda: basket(tmp_path, "a", encoding="klingon"), "no encoding")


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_blocks_make_no_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    content = "\ufeffä b\r\n\r\nc\rb   a\n\n\nä".encode()
    whole = basket(tmp_path, content)
    assert whole == [["b", "ä"], [], ["c"], ["a", "b"], [], [], ["ä"]]
    monkeypatch.setattr(delimited, "_LINES_BLOCK", size)
    assert basket(tmp_path, content) == whole


@pytest.mark.parametrize("name", ["a.dat", "a.txt", "a.csv", "a.basket", "a.data", "a", "a.retail"])
@pytest.mark.parametrize("packed", ["", ".gz"])
def test_any_name_will_do(tmp_path: Path, name: str, packed: str) -> None:
    assert basket(tmp_path, "a b\n", name + packed) == [["a", "b"]]


def test_files_of_a_folder_follow_each_other_by_name(tmp_path: Path) -> None:
    for name, content in [("b.dat.gz", "c"), ("a.dat.gz", "z\n\n"), ("c.dat.gz", "a c\n")]:
        file_of(tmp_path, content, name)
    file_of(tmp_path, "what this is", "README.md")
    expected = [["z"], [], ["c"], ["a", "c"]]
    assert rows_of(read(tmp_path, "basket")) == expected
    assert rows_of(read(f"{tmp_path}/*.dat.gz", "basket")) == expected
    assert [path.name[0] for path in paths_of(tmp_path, "basket")] == ["a", "b", "c"]
    refusal(lambda: read(tmp_path, "long"), "no data file")
    for path in tmp_path.glob("*.gz"):
        path.unlink()
    file_of(tmp_path, "a", "a.dat")
    file_of(tmp_path, "how to read this", "notes.txt")
    refusal(lambda: read(tmp_path, "basket"), "different formats: .dat, .txt")


def test_suffixes() -> None:
    assert suffix_of(Path("a.DAT.gz"), "basket") == ".dat.gz"
    assert suffix_of(Path("a.csv.gz"), "long") == ".csv.gz"
    assert suffix_of(Path("a.parquet"), "basket") == suffix_of(Path("a"), "long") == ""


def test_one_long_line_and_many_short_ones(tmp_path: Path) -> None:
    items = [f"i{n}" for n in range(200_000)]
    assert basket(tmp_path, " ".join(items)) == [sorted(items)]
    assert basket(tmp_path, "x\n" * 200_000) == [["x"]] * 200_000


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf", b"\xff\xfe"])
def test_no_transaction(tmp_path: Path, content: bytes) -> None:
    refusal(lambda: basket(tmp_path, content), "there is no transaction")


def test_what_is_no_text(tmp_path: Path) -> None:
    packed = gzip.compress(SECRET.encode())
    assert basket(tmp_path, packed) == [[SECRET]]  # by what it is, not by its name
    damaged = file_of(tmp_path, "", "b.dat.gz")
    damaged.write_bytes(packed[:-9])
    refusal(lambda: read(damaged, "basket"), "cut off or damaged")
    refusal(lambda: basket(tmp_path, b"%PDF-1.7\n" + packed), "a PDF document")
    bare = SECRET.encode("utf-16-le")
    refusal(lambda: basket(tmp_path, bare), "--encoding")
    refusal(lambda: basket(tmp_path, b"PAR1", "a.parquet"), "this is a table")


def test_a_delimiter_has_no_meaning(tmp_path: Path) -> None:
    assert basket(tmp_path, "a b", delimiter="\t") == [["a", "b"]]
    refusal(lambda: basket(tmp_path, "a,b", delimiter=","), "separated by blanks")


def test_missing_files_and_databases(tmp_path: Path) -> None:
    file_of(tmp_path, "a")
    refusal(lambda: read(tmp_path / "shop.dta", "basket"), 'mean "shop.dat"')
    refusal(lambda: read(f"postgres://u:{SECRET}@h/d", "basket"), "no databases")


# --- long tables ---------------------------------------------------------------------------------


def test_rows_of_id_and_item(tmp_path: Path) -> None:
    found = long(tmp_path, "who,what\n7,b\n3,whole milk\n7,a\n3,whole milk\n7,b\n")
    assert rows_of(found) == [["a", "b"], ["whole milk"]]
    assert ids_of(found) == ["7", "3"]  # by first row
    assert found.columns == ("who", "what")
    assert found.notes == ()


def test_a_row_without_an_item(tmp_path: Path) -> None:
    found = long(tmp_path, 'id,item\n1,\n2,a\n2,\n3,""\n3,\n')
    assert rows_of(found) == [[], ["a"], []]
    assert rows_of(long(tmp_path, "id,item\n1,\n")) == [[]]


def test_an_index_without_a_name_is_neither_id_nor_item(tmp_path: Path) -> None:
    found = long(tmp_path, ";id;item\n0;1;a\n1;1;b\n")
    assert rows_of(found) == [["a", "b"]]
    assert 'neither read nor released: "unnamed 1".' in found.notes[1]
    assert rows_of(long(tmp_path, "id;item;\n1;a;x\n1;b;x\n")) == [["a", "b"]]
    assert rows_of(long(tmp_path, "id;;item\n1;x;a\n1;x;b\n")) == [["a", "b"]]
    assert rows_of(long(tmp_path, ";item\n1;a\n1;b\n")) == [["a", "b"]]  # it must be the id


def test_further_columns_are_ignored_and_told(tmp_path: Path) -> None:
    path = file_of(tmp_path, "price;item;day;id\n2,5;a;x;1\n", "shop.csv")
    found = read(path, "long", columns=("id", "item"))
    assert rows_of(found) == [["a"]]
    assert found.columns == ("id", "item")
    assert found.others == ("price", "day")
    assert found.notes == (f'{path}: neither read nor released: "price", "day".',)


def test_columns_that_nobody_names_or_that_are_not_there(tmp_path: Path) -> None:
    path = file_of(tmp_path, f"person,mood,day\n1,{SECRET},x\n", "shop.csv")
    frame = pa.table({"person": ["1"], "mood": [SECRET], "day": ["x"]})
    for take in (partial(read, path, "long"), partial(taken, frame)):
        refusal(
            take,
            'the table has 3 columns: "person", "mood", "day"',
            'columns = { basket = "id", item = "item" }',
        )
        refusal(
            partial(take, columns=("persn", "zzz")),
            'there is no column "persn"', 'Did you mean "person"?',
            'there is no column "zzz"', 'the table has "person", "mood", "day".',
        )  # fmt: skip
    lone = pa.table({"mood": ["a"]})
    refusal(partial(taken, lone), "1 of two columns")
    refusal(partial(taken, lone, columns=("id", "mood")), 'no column "id"')
    swapped = pa.table({"mood": ["a", "b"], "person": ["1", "1"]})
    assert rows_of(taken(swapped, columns=("person", "mood"))[0]) == [["a", "b"]]


def test_cells_are_verbatim(tmp_path: Path) -> None:
    found = long(tmp_path, 'id,item\n 1, a \n1, a \n 1," "\n01,"x ""y"", z\nw"\n')
    assert rows_of(found) == [[" ", " a "], [" a "], ['x "y", z\nw']]
    assert ids_of(found) == [" 1", "1", "01"]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz", ".tsv.gz"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_long_texts(tmp_path: Path, suffix: str, encoding: str) -> None:
    sign = "\t" if ".tsv" in suffix else ";"
    content = f"id{sign}item\r\n1{sign}Käse\r\n2{sign}Öl\r\n".encode(encoding)
    found = long(tmp_path, content, f"shop{suffix}")
    assert rows_of(found) == [["Käse"], ["Öl"]]
    assert len(found.notes) == (encoding == "latin-1")


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_typed_tables(tmp_path: Path, suffix: str) -> None:
    cells = {"id": [2.0, 1.5, 2.0, 9.0], "item": [10, 9, None, None], "more": [[1]] * 4}
    path = tmp_path / f"shop{suffix}"
    save = pq.write_table if suffix == ".parquet" else feather.write_feather
    save(pa.table(cells), path)
    two = "id", "item"
    found = read(path, "long", columns=two)
    assert rows_of(found) == [["10"], ["9"], []]
    assert ids_of(found) == [2.0, 1.5, 9.0]
    assert len(found.notes) == 1
    assert rows_of(
        read(path.rename(tmp_path / "x"), "long", suffix=suffix, columns=two)
    ) == rows_of(found)


def test_rows_without_an_id(tmp_path: Path) -> None:
    rows = "".join(f"1,{SECRET}\n,{SECRET}\n" for _ in range(5))
    said = 'shop.csv, column "who": 5 of 10 rows have no id; first seen on rows 2, 4, 6'
    refusal(lambda: long(tmp_path, f"who,what\n{rows}"), said)
    for ids in ([1.0, float("nan")], [None, "a"], ["", "b"]):
        frame = pa.table({"id": ids, "item": [SECRET] * 2})
        refusal(partial(taken, frame), "1 of 2 rows have no id")


def test_too_few_columns_or_rows(tmp_path: Path) -> None:
    refusal(lambda: long(tmp_path, f"id\n{SECRET}\n"), "1 of two columns")
    refusal(lambda: long(tmp_path, "id,item\n"), "there is no transaction")
    refusal(lambda: long(tmp_path, ""), "the file is empty")
    refusal(lambda: taken(pa.table({})), "0 of two columns")
    refusal(lambda: long(tmp_path, "id,item\n", "a.dat"), "no known format")


# --- from Python, and back -----------------------------------------------------------------------


def test_sets_lists_and_tuples() -> None:
    given = [{"b", "a"}, ["c", "c"], ("a",), frozenset(), (name for name in "ba")]
    found, kind = taken(iter(given))
    assert rows_of(found) == [["a", "b"], ["c"], ["a"], [], ["a", "b"]]
    assert handed_back(found, kind) == [{"a", "b"}, {"c"}, {"a"}, set(), {"a", "b"}]


def test_whole_numbers_go_back_as_such() -> None:
    found, kind = taken([{10, 9}, np.array([9, 9]), [-3]])
    assert rows_of(found) == [["10", "9"], ["9"], ["-3"]]
    assert handed_back(found, kind) == [{9, 10}, {9}, {-3}]
    mixed, kind = taken([{1, "1", "a"}])
    assert rows_of(mixed) == [["1", "a"]]
    assert handed_back(mixed, kind) == [{"1", "a"}]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ([["a"], SECRET], "transaction 2: this is a text"),
        ([SECRET.encode()], "transaction 1: this is a text"),
        (pa.table({"only": [SECRET]}), "1 of two columns"),
        ([{"a"}, {"a"}, 7], "transaction 3: a int is no set"),
        ([[SECRET, 1.5]], "transaction 1: a float is no item"),
        ([[1], [True]], "transaction 2: a bool is no item"),
        ([[SECRET, None]], "a NoneType is no item"),
        ([[[SECRET]]], "a list is no item"),
        ([[""]], "an empty text is no item"),
        ([["\ud800"]], "half a character"),
        ([], "there is no transaction"),
        (SECRET, "a str holds no transactions"),
        (7, "a int holds no transactions"),
        (np.eye(2), "in two ways"),
    ],
)
def test_what_holds_no_transactions(given: Any, reason: str) -> None:
    refusal(lambda: taken(given), reason)


FRAMES: dict[str, Callable[[pa.Table], Any]] = {
    "pandas": lambda table: table.to_pandas(),
    "polars": pl.DataFrame,
    "lazy": lambda table: pl.DataFrame(table).lazy(),
    "pyarrow": lambda table: table,
    "duckdb": duckdb.from_arrow,
}


@pytest.mark.parametrize("kind", FRAMES)
def test_data_frames(kind: str) -> None:
    table = pa.table({"who": [7, 3, 7, 5], "what": ["b", "c", "a", None]})
    frame = FRAMES[kind](table)
    found, told = taken(frame)
    assert rows_of(found) == [["a", "b"], ["c"], []]
    back = handed_back(found, told, frame)
    assert type(back) is type(frame)
    again, _ = taken(back)
    assert again.columns == ("who", "what")
    assert ids_of(again) == [7, 3, 5]
    assert rows_of(again) == rows_of(found)
    fresh = handed_back(found.arranged(), told, frame)
    assert ids_of(taken(fresh)[0]) == [1, 2, 3]


def test_pandas_ids_and_items_of_other_types() -> None:
    frame = pd.DataFrame({"id": pd.to_datetime(["2024-01-02", "2024-01-01"]), "item": [3, 20]})
    found, kind = taken(frame)
    assert rows_of(found) == [["3"], ["20"]]
    assert handed_back(found, kind, frame)["id"].tolist() == frame["id"].tolist()


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_sparse_matrices(make: Any) -> None:
    dense = np.zeros((3, 12))
    dense[0, [10, 2]], dense[2, 2] = 5, -1
    matrix = make(dense)
    found, kind = taken(matrix)
    assert rows_of(found) == [["10", "2"], [], ["2"]]
    back = handed_back(found, kind, matrix)
    assert type(back) is type(matrix)
    assert back.dtype == matrix.dtype
    assert (back.toarray() == (dense != 0)).all()
    less = handed_back(found.without(np.array([True, False])), kind, matrix)
    assert less.shape == matrix.shape
    assert less.sum() == 2


def test_sparse_matrices_with_names() -> None:
    matrix = sparse.csr_array([[1, 0, 1], [0, 1, 0]])
    names: list[str | int] = ["z", "y", 7]
    found, kind = taken(matrix, names)
    assert rows_of(found) == [["7", "z"], ["y"]]
    assert (handed_back(found, kind, matrix, names) != matrix).nnz == 0


def test_zeros_that_are_stored_and_entries_that_add_up_to_zero_are_none() -> None:
    cells = [0, 1, 1, -1], ([0, 0, 1, 1], [0, 1, 0, 0])
    matrix = sparse.coo_array(cells, (2, 2))
    before = matrix.copy()
    assert rows_of(taken(matrix)[0]) == [["1"], []]
    assert matrix.nnz == before.nnz


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        ([SECRET], "1 names for 2 columns"),
        ([SECRET] * 2, "same name"),
        (["1", 1], "same name"),
        ([SECRET, ""], "empty text"),
    ],
)
def test_names_that_do_not_fit(names: list[Any], reason: str) -> None:
    refusal(lambda: taken(sparse.csr_array(np.eye(2)), names), reason)
    refusal(lambda: taken([["a"]], names), "only the columns")


def test_matrices_of_other_shapes() -> None:
    refusal(lambda: taken(sparse.coo_array([1, 0])), "1 dimensions")
    refusal(lambda: taken(sparse.csr_array((0, 3))), "no transaction")
    assert rows_of(taken(sparse.csr_array((2, 0)))[0]) == [[], []]


# --- taking items out, arranging -----------------------------------------------------------------


def test_items_taken_out_leave_their_transactions() -> None:
    found = replace(of([["a", "b"], ["b"], ["c", "a"], []]), ids=pa.array([4, 3, 2, 1]))
    less = found.without(np.array([False, True, False]))
    assert rows_of(less) == [["a"], [], ["a", "c"], []]
    assert less.names.to_pylist() == ["a", "c"]
    assert less.ids is found.ids
    none = less.without(np.ones(2, bool))
    assert rows_of(none) == [[], [], [], []]
    assert rows_of(none.arranged()) == [[], [], [], []]
    assert rows_of(found.without(np.zeros(3, bool))) == rows_of(found)


def test_arranged_by_size_then_text() -> None:
    given = [["b", "c"], ["10"], [], ["9"], ["a", "d"], ["2"], ["10", "9"]]
    found = replace(of(given), ids=pa.array(range(7)))
    assert found.order().tolist() == [2, 1, 5, 3, 6, 4, 0]
    arranged = found.arranged()
    assert arranged.texts().to_pylist() == ["", "10", "2", "9", "10 9", "a d", "b c"]
    assert arranged.ids is None


def test_different_transactions_that_print_alike_do_not_tell_their_order() -> None:
    given = [["a", "b c"], ["a b", "c"], ["a", "b c"]]
    first = of(given).arranged()
    assert rows_of(first) == rows_of(of(given[::-1]).arranged())
    assert of(given).order().tolist() == [0, 2, 1]


ODD = st.text("ab \t\n\r\x01\x1f!", min_size=1, max_size=4) | st.text(
    st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3
)


@given(st.lists(st.sets(ODD, max_size=5), min_size=1, max_size=20))
def test_arranging_is_sorting_of_texts(rows: list[set[str]]) -> None:
    found = of(rows)
    texts = [(len(row), " ".join(row), row, at) for at, row in enumerate(rows_of(found))]
    assert found.order().tolist() == [at for *_, at in sorted(texts)]
    assert rows_of(found.arranged()) == [row for _, _, row, _ in sorted(texts)]
    assert found.texts().to_pylist() == [text for _, text, _, _ in texts]
    assert found.texts(1, 3).to_pylist() == [text for _, text, _, _ in texts[1:3]]


def test_arranging_wide_transactions_over_many_items() -> None:
    rng = np.random.default_rng(1)
    for count, size in [(3, 2), (70_000, 9), (300, 300)]:
        rows = [rng.choice(count, size, replace=False).tolist() for _ in range(60)] * 2
        found = of([*rows, *([row[:-1] for row in rows])])
        texts = [(text.count(" "), text) for text in found.texts().to_pylist()]
        assert [(t.count(" "), t) for t in found.arranged().texts().to_pylist()] == sorted(texts)


def test_runs_are_short_and_cover_everything() -> None:
    starts = np.cumsum([0, 0, 3, 9, 0, 1, 1, 0])
    assert list(memory.runs(starts, 4)) == [(0, 2), (2, 3), (3, 7)]
    assert list(memory.runs(starts, 100)) == [(0, 7)]


def test_long_work_in_runs_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    found = of([rng.choice(50, rng.integers(0, 9)).tolist() for _ in range(300)])
    expected = rows_of(found.arranged()), written(found, "basket", ".dat")
    monkeypatch.setattr(memory.runs, "__defaults__", (16,))
    assert (rows_of(found.arranged()), written(found, "basket", ".dat")) == expected


# --- files out -----------------------------------------------------------------------------------


def test_basket_text() -> None:
    found = of([["b", "a"], [], ["ä"]])
    assert written(found, "basket", ".dat") == "a b\n\nä\n".encode()
    packed = written(found, "basket", ".dat.gz")
    assert gzip.decompress(packed) == "a b\n\nä\n".encode()
    assert packed == written(found, "basket", ".dat.gz")
    assert packed[3:8] == bytes(5)  # neither name nor time


def test_long_text() -> None:
    found = replace(of([["b", 'a,"x'], [], ["c"]]), ids=pa.array(["x", "y z", "w"]))
    assert written(found, "long", ".csv") == b'id,item\nx,"a,""x"\nx,b\ny z,\nw,c\n'
    fresh = replace(found, ids=None, columns=("who", "what, if any"))
    assert written(fresh, "long", ".csv").startswith(b'who,"what, if any"\n1,')
    assert written(fresh, "long", ".tsv").splitlines()[1:] == [
        b'1\t"a,""x"',
        b"1\tb",
        b"2\t",
        b"3\tc",
    ]
    packed = written(fresh, "long", ".csv.gz")
    assert gzip.decompress(packed) == written(fresh, "long", ".csv")
    assert packed == written(fresh, "long", ".csv.gz")


def test_typed_files_hold_numbers_and_nulls_and_no_other_name() -> None:
    found = of([["b", "gone"], ["gone"]]).without(np.array([False, True]))
    for suffix in (".parquet", ".arrow"):
        data = written(found, "long", suffix)
        assert b"gone" not in data
        source = io.BytesIO(data)
        table = pq.read_table(source) if suffix == ".parquet" else feather.read_table(source)
        assert table.schema.types == [pa.int64(), pa.string()]
        assert table.to_pydict() == {"id": [1, 2], "item": ["b", None]}


@pytest.mark.parametrize("sign", [" ", "\t", "\n", "\r", "\0"])
def test_items_that_a_basket_file_cannot_hold(sign: str) -> None:
    found = of([["a", f"{SECRET}{sign}b"]])
    error = refusal(lambda: written(found, "basket", ".dat"), "1 of 2 items hold a blank")
    assert SECRET in error.text(show_values=True)


def test_writing_tells_how_far_it_is(tmp_path: Path) -> None:
    heard: list[int] = []
    write(of([["a"], ["b", "c"], []]), tmp_path / "a", "basket", ".dat", heard.append)
    write(of([["a"], ["b", "c"], []]), tmp_path / "a", "long", ".csv", heard.append)
    assert heard == [3, 4]


@pytest.mark.parametrize("size", [1, 7, 64])
def test_rows_are_written_in_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    found = of([["x", f"i{at % 7}", "y"][: at % 4] for at in range(100)])
    whole = written(found, "long", ".csv")
    monkeypatch.setattr(sheets, "ROW_GROUP", size)
    assert written(found, "long", ".csv") == whole
    for suffix in (".parquet", ".arrow"):
        write(found, path := tmp_path / f"shop{suffix}", "long", suffix)
        again = read(path, "long")
        same(again, found)
        assert ids_of(again) == list(range(1, 101))
    assert handed_back(found, "pyarrow")["id"][-1].as_py() == 100


@pytest.mark.parametrize("form", ["basket", "long"])
@pytest.mark.parametrize("packed", ["", ".gz"])
def test_what_is_written_can_be_read_before_it_has_its_name(
    tmp_path: Path, form: Form, packed: str
) -> None:
    found, suffix = of([["a", "b"], []]), f".csv{packed}"
    with whole_file(tmp_path / f"out{suffix}", force=False) as path:
        write(found, path, form, suffix)
        same(read(path, form, suffix=suffix), found)


def same(one: Baskets, other: Baskets) -> None:
    assert rows_of(one) == rows_of(other)
    assert one.names.to_pylist() == other.names.to_pylist()


SIGNS = [",", ";", "\t", "|"]
ITEM = st.text(st.sampled_from('ab ",;|\tä\ufeff'), min_size=1, max_size=5)


@given(st.lists(st.sets(ITEM, max_size=5), min_size=1, max_size=8), st.sampled_from(SIGNS))
def test_separated_lines_come_back(rows: list[set[str]], sign: str) -> None:
    """By our reader, and by Python's own of CSV: whatever items hold but line ends."""
    found = of(rows)
    with TemporaryDirectory() as folder:
        path = Path(folder, "shop.dat")
        write(found, path, "basket", ".dat", separator=sign)
        same(read(path, "basket", Reading(encoding="utf-8", separator=sign)), found)
        text = path.read_text(encoding="utf-8-sig" if path.read_bytes()[:3] == BOM else "utf-8")
    theirs = csv.reader(text.split("\n")[:-1], delimiter=sign, strict=True)
    assert list(theirs) == [sorted(row) for row in rows]


def naive_items(line: str, sign: str) -> list[str]:
    """What stands between signs outside quotes; blanks around it are no part of it."""
    parts, quoted = [""], False
    for letter in line:
        quoted ^= letter == '"'
        parts = [*parts, ""] if letter == sign and not quoted else [*parts[:-1], parts[-1] + letter]
    stripped = [part.strip(" \t".replace(sign, "")) for part in parts]
    bare = [p[1:-1].replace('""', '"') if p.startswith('"') else p for p in stripped]
    return sorted({item for item in bare if item})


CELL_OF_LINE = st.one_of(
    st.text(st.sampled_from("ab \t"), max_size=4), st.sampled_from(['" a,;|\tb"', ' """"  ', '""'])
)


@given(
    st.lists(st.lists(CELL_OF_LINE, max_size=5), min_size=1, max_size=6),
    st.sampled_from(SIGNS),
    st.booleans(),
)
def test_separated_lines_by_their_definition(
    lines: list[list[str]], sign: str, plain: bool
) -> None:
    text = [sign.join(cell.replace("\t", "") for cell in line) for line in lines]
    text = [line.replace('"', "") for line in text] if plain else text
    with TemporaryDirectory() as folder:
        path = file_of(Path(folder), "".join(f"{line}\n" for line in text))
        found = read(path, "basket", Reading(encoding="utf-8", separator=sign))
    assert rows_of(found) == [naive_items(line, sign) for line in text]


def test_separated_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = 'whole milk, rolls/buns\t,\n\n,,\n"Nüsse, gemischt",whole milk\r\n12" pizza,,x'
    wanted = [
        ["rolls/buns", "whole milk"], [], [], ["Nüsse, gemischt", "whole milk"], ['12" pizza', "x"],
    ]  # fmt: skip
    for size in (1 << 20, 1):  # in one block, and line by line: by arrays and by patterns
        monkeypatch.setattr(delimited, "_LINES_BLOCK", size)
        found = read(file_of(tmp_path, content), "basket", Reading(separator=","))
        assert rows_of(found) == wanted
        assert "3 lines with nothing between" in found.notes[0]
        torn = partial(basket, tmp_path, f'a\n"{SECRET},b\nc,"d"e\n', separator=",")
        error = refusal(torn, "line 2", "line 3")
        assert len(error.problems) == 2
    assert basket(tmp_path, "a b,c", separator=" ") == [["a", "b,c"]]


WORD = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters=" \t\r\n\0"), min_size=1, max_size=5
)
CELL = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
IDS = st.lists(CELL, unique=True, min_size=12, max_size=12)


@given(st.lists(st.sets(WORD, max_size=6), min_size=1, max_size=12), st.sampled_from(["", ".gz"]))
def test_basket_files_come_back(rows: list[set[str]], packed: str) -> None:
    found = of(rows)
    with TemporaryDirectory() as folder:
        path = Path(folder, f"shop.dat{packed}")
        write(found, path, "basket", path.suffix)
        again = read(path, "basket", Reading(encoding="utf-8"))
        same(again, found)
        write(again, other := Path(folder, "other"), "basket", path.suffix)
        assert path.read_bytes() == other.read_bytes()


@given(
    st.lists(st.sets(CELL, max_size=6), min_size=1, max_size=12),
    IDS,
    st.sampled_from([".csv", ".csv.gz", ".parquet", ".arrow"]),
)
def test_long_files_come_back(rows: list[set[str]], ids: list[str], suffix: str) -> None:
    found = replace(of(rows), ids=pa.array(ids[: len(rows)], pa.large_string()))
    with TemporaryDirectory() as folder:
        path = Path(folder, f"shop{suffix}")
        write(found, path, "long", suffix)
        again = read(path, "long", OURS)
    same(again, found)
    assert ids_of(again) == ids[: len(rows)]


@given(st.lists(st.sets(st.integers() | WORD, max_size=6), min_size=1, max_size=12))
def test_what_python_holds_comes_back(rows: list[set[Any]]) -> None:
    found, kind = taken(rows)
    back = handed_back(found, kind)
    assert [{str(item) for item in row} for row in rows] == [set(map(str, row)) for row in back]
    same(taken(handed_back(found, "pyarrow"))[0], found)


# --- real ones -----------------------------------------------------------------------------------


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "transactions", "items", "occurrences"),
    [
        ("retail", 88_162, 16_470, 908_576),
        ("connect", 67_557, 129, 67_557 * 43),
        ("mushroom", 8_124, 119, 8_124 * 23),
    ],
)
def test_public_data_sets(
    tmp_path: Path, name: str, transactions: int, items: int, occurrences: int
) -> None:
    path = public_data(f"{name}/{name}.dat.gz")
    found = read(path, "basket")
    counted = found.transactions, len(found.names), found.occurrences
    assert counted == (transactions, items, occurrences)
    with gzip.open(path, "rt") as file:
        lines = [sorted(set(line.split())) for line in file]
    assert rows_of(found) == lines
    assert dict(zip(found.names.to_pylist(), found.supports().tolist(), strict=True)) == Counter(
        item for line in lines for item in line
    )
    texts = sorted((len(line), " ".join(line)) for line in lines)
    assert found.arranged().texts().to_pylist() == [text for _, text in texts]
    ways: list[tuple[Form, str]] = [("basket", ".dat.gz"), ("long", ".parquet"), ("long", ".csv")]
    for form, suffix in ways:
        out = tmp_path / f"out{suffix}"
        write(found, out, form, suffix)
        same(read(out, form), found)


@pytest.mark.data
def test_groceries_as_a_long_table(tmp_path: Path) -> None:
    path = public_data("groceries/groceries.csv")
    found = of([line.split(",") for line in path.read_text(encoding="utf-8").splitlines()])
    assert (found.transactions, len(found.names)) == (9_835, 169)
    texts = sorted((len(row), " ".join(row), row) for row in rows_of(found))
    arranged = found.arranged()
    assert rows_of(arranged) == [row for *_, row in texts]
    write(arranged, tmp_path / "out.csv", "long", ".csv")
    same(read(tmp_path / "out.csv", "long"), arranged)
