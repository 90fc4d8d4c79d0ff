"""Rows on their way out: order, printing, and files that appear whole or not at all."""

from __future__ import annotations

import csv
import errno
import gzip
import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from at_hand import mode, refusal
from reticent.files import output, sheets
from reticent.files.output import whole_file, whole_folder
from reticent.files.sheets import Sheet, sheet, write, write_parts
from reticent.files.tabular import from_arrow, read

Row = tuple[str, ...]
Then = Callable[[], object] | None


def sheet_of(table: pa.Table, order: str = "sorted") -> Sheet:
    return sheet(list(from_arrow(table).columns.values()), order=order)


def sheet_of_rows(rows: Sequence[Row], order: str = "sorted") -> Sheet:
    columns = zip(*rows, strict=True)
    return sheet_of(pa.table({f"c{i}": list(cells) for i, cells in enumerate(columns)}), order)


def printed(found: Sheet, folder: Path, suffix: str = ".csv") -> str:
    path = folder / f"out{suffix}"
    write(found, path, suffix)
    content = path.read_bytes()
    return (gzip.decompress(content) if suffix.endswith(".gz") else content).decode()


def parsed(text: str, delimiter: str = ",") -> list[Row]:
    return [tuple(row) for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)]


def hidden(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


# --- order ---------------------------------------------------------------------------------------

text = st.text(
    st.one_of(
        st.sampled_from("\"',;\t\n\r \\*ab\ufeff\u2028\x00"),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=6,
)
tables = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.tuples(*[text] * width), min_size=1, max_size=12)
)


def test_rows_are_sorted_by_code_point_column_by_column(tmp_path: Path) -> None:
    rows = ["b2", "a10", "B1", "ä0", "a9", ",z", "😀", "ﬀ"]
    cells = [("", "z") if row == ",z" else (row[0], row[1:]) for row in rows]
    got = parsed(printed(sheet_of_rows(cells), tmp_path))[1:]
    assert ["".join(row) for row in got] == ["z", "B1", "a10", "a9", "b2", "ä0", "ﬀ", "😀"]


def test_numbers_and_times_are_sorted_as_printed(tmp_path: Path) -> None:
    table = pa.table({"n": [10, 9, None, -1], "x": [0.5, 10.0, 2.0, float("nan")]})
    assert printed(sheet_of(table), tmp_path).splitlines() == ["n,x", ",2", "-1,", "10,0.5", "9,10"]


def test_input_order_is_kept_where_asked(tmp_path: Path) -> None:
    rows = [("b",), ("a",), ("b",), ("",)]
    assert parsed(printed(sheet_of_rows(rows, "input"), tmp_path))[1:] == rows


@given(rows=tables, data=st.data())
def test_sorted_output_does_not_tell_the_order_of_input(
    rows: list[Row], data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(rows))
    with TemporaryDirectory() as folder:
        first = printed(sheet_of_rows(rows), Path(folder))
        assert printed(sheet_of_rows(shuffled), Path(folder)) == first


typed_cells = {
    "text": (pa.string(), st.one_of(st.none(), st.sampled_from(["", "a", "b"]))),
    "float": (pa.float64(), st.sampled_from([None, float("nan"), 0.0, -0.0, 1.0, 1.5])),
    "int": (pa.int64(), st.sampled_from([None, 1, 10, 2])),
    "time": (pa.timestamp("ns"), st.sampled_from([None, 0, 1, 1000])),
}


@settings(max_examples=60)
@given(kinds=st.lists(st.sampled_from(list(typed_cells)), min_size=1, max_size=3), data=st.data())
def test_typed_rows_are_sorted_by_printed_cell_whatever_their_order(
    kinds: list[str], data: st.DataObject
) -> None:
    """Null and an empty text, or null and NaN, print the same: neither may hold the rows apart."""
    columns = [typed_cells[kind][1] for kind in kinds]
    rows = data.draw(st.lists(st.tuples(*columns), min_size=1, max_size=6))
    other = data.draw(st.permutations(rows))
    with TemporaryDirectory() as folder:
        texts = []
        for given_rows in (rows, other):
            cells = zip(*given_rows, strict=True)
            table = pa.table(
                {
                    f"c{i}": pa.array(list(column), typed_cells[kind][0])
                    for i, (kind, column) in enumerate(zip(kinds, cells, strict=True))
                }
            )
            texts.append(printed(sheet_of(table), Path(folder)))
        lines = parsed(texts[0])[1:]
        assert lines == sorted(lines)
        assert texts[0] == texts[1]


def test_equal_rows_are_counted(tmp_path: Path) -> None:
    found = sheet_of_rows([("a",), ("b",), ("a",), ("a",)])
    assert (found.rows, found.counts.tolist()) == (4, [3, 1])
    assert printed(found, tmp_path) == "c0\na\na\na\nb\n"


def test_selecting_columns_keeps_the_rows(tmp_path: Path) -> None:
    found = sheet_of_rows([("b", "1", "x"), ("a", "2", "y"), ("a", "1", "z")])
    assert printed(found.select(["c2", "c0"]), tmp_path) == "c2,c0\nz,a\ny,a\nx,b\n"


# --- printing ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("suffix", "delimiter"), [(".csv", ","), (".tsv", "\t"), (".csv.gz", ",")])
@settings(max_examples=80, deadline=None)
@given(rows=tables, order=st.sampled_from(["sorted", "input"]))
@example(rows=[("",)], order="sorted")
@example(rows=[("", ""), ("", "")], order="input")
@example(rows=[('"',), ('""',), ("\r",), ("\n",), ("\r\n",)], order="sorted")
def test_any_text_survives(suffix: str, delimiter: str, rows: list[Row], order: str) -> None:
    with TemporaryDirectory() as folder:
        content = printed(sheet_of_rows(rows, order), Path(folder), suffix)
        got = parsed(content, delimiter)
        assert got[0] == tuple(f"c{i}" for i in range(len(rows[0])))
        assert got[1:] == (sorted(rows) if order == "sorted" else rows)
        reread = read(Path(folder) / f"out{suffix}")
        assert reread.rows == len(rows)


@pytest.mark.parametrize(
    ("cells", "printed_text"),
    [
        (
            {"a": ["a b", "it's", 'say "hi"', "two\nlines"], "b": ["x;y", "c,d", "\t", "cr\rhere"]},
            'a,b\na b,x;y\nit\'s,"c,d"\n"say ""hi""",\t\n"two\nlines","cr\rhere"\n',
        ),
        ({'a,"b"': ["x"], "c\nd": ["y"]}, '"a,""b""","c\nd"\nx,y\n'),
        ({"a": ["x", None, ""]}, 'a\nx\n""\n""\n'),
        ({"a": [None, ""], "b": ["", "x"]}, "a,b\n,\n,x\n"),
        (
            {
                "b": [True], "n": [3], "x": [39.0], "y": [0.1], "d": pa.array([0], pa.date32()),
                "t": pa.array([0], pa.timestamp("s", "UTC")),
            },
            "b,n,x,y,d,t\ntrue,3,39,0.1,1970-01-01,1970-01-01T00:00:00+00:00\n",
        ),
        ({"a": pa.array([], pa.string()), "b": pa.array([], pa.int64())}, "a,b\n"),
    ],
    ids=["no needless quotes", "names", "an empty cell alone is no blank line",
         "empty cells beside others are bare", "types", "no rows"],
)  # fmt: skip
def test_printed_text(cells: dict[str, Any], printed_text: str, tmp_path: Path) -> None:
    table = pa.table(cells)
    assert printed(sheet_of(table, "input"), tmp_path) == printed_text
    assert read(tmp_path / "out.csv").rows == table.num_rows
    in_order = parsed(printed(sheet_of(table), tmp_path))[1:]
    assert in_order == sorted(parsed(printed_text)[1:])


def test_times_lose_no_digits(tmp_path: Path) -> None:
    table = pa.table({"t": pa.array([1_700_000_000_123_456_789], pa.timestamp("ns"))})
    assert "123456789" in printed(sheet_of(table), tmp_path)


@pytest.mark.parametrize("copies", [1, 3])
def test_more_lines_than_are_printed_at_a_time(tmp_path: Path, copies: int) -> None:
    rows = [(str(i), "x,y") for i in range(70_000)] * copies
    content = printed(sheet_of_rows(rows), tmp_path)
    assert parsed(content)[1:] == sorted(rows)


def test_one_row_repeated_beyond_a_block(tmp_path: Path) -> None:
    content = printed(sheet_of_rows([("a", "b")] * 200_000 + [("c", "d")]), tmp_path)
    assert content == "c0,c1\n" + "a,b\n" * 200_000 + "c,d\n"


def test_packed_output_is_the_same_every_time(tmp_path: Path) -> None:
    found = sheet_of_rows([("a",), ("b",)])
    for name in ("one.csv.gz", "two.csv.gz"):
        write(found, tmp_path / name, ".csv.gz")
    first = (tmp_path / "one.csv.gz").read_bytes()
    assert (tmp_path / "two.csv.gz").read_bytes() == first
    assert b"one" not in first  # neither the name nor the time of writing is in it
    assert first[4:8] == b"\0\0\0\0"


def loaded_table() -> pa.Table:
    """A table that carries all that a file may not: metadata, an index, unused categories."""
    cells = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array(["x", "y", "SECRETxyz1"]))
    fields = [
        pa.field("a", pa.string(), metadata={"source": "SECRETxyz1"}),
        pa.field("c", cells.type),
        pa.field("n", pa.int64()),
    ]
    schema = pa.schema(fields, metadata={"pandas": "SECRETxyz1"})
    return pa.table([pa.array(["u", None, "v"]), cells, pa.array([1, 2, None])], schema=schema)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".feather"])
def test_typed_files_carry_nothing_but_cells(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    write(sheet_of(loaded_table()), path, suffix)
    assert b"SECRETxyz1" not in path.read_bytes()
    if suffix == ".parquet":
        assert pq.read_metadata(path).metadata is None
        table = pq.read_table(path)
    else:
        with pa.OSFile(str(path)) as source:
            table = pa.ipc.open_file(source).read_all()
    assert table.schema.metadata is None
    assert all(field.metadata is None for field in table.schema)
    assert table.schema.types == [pa.string(), pa.string(), pa.int64()]
    assert table.to_pydict() == {"a": [None, "u", "v"], "c": ["y", "x", "x"], "n": [2, 1, None]}


# --- whole or not at all -------------------------------------------------------------------------


def put(path: Path, content: str = "new", *, then: Then = None, **how: Any) -> None:
    with whole_file(path, **{"force": False} | how) as temporary:
        temporary.write_text(content)
        assert temporary.parent == path.parent  # the same folder, so that renaming is one step
        assert temporary.name.startswith(".")
        assert mode(temporary) == 0o600
        if then:
            then()


def fill(folder: Path, content: str) -> None:
    (folder / "inner").mkdir()
    (folder / "inner" / "file").write_text(content)


def put_folder(path: Path, content: str, *, force: bool = False, then: Then = None) -> None:
    with whole_folder(path, force=force, holds=["inner"]) as temporary:
        assert mode(temporary) == 0o700
        fill(temporary, content)
        if then:
            then()


def holds_only(path: Path, content: str) -> None:
    """The file or folder stands there, filled with this, and nothing temporary beside it."""
    assert (path / "inner" / "file" if path.is_dir() else path).read_text() == content
    assert hidden(path.parent) == []


def never() -> None:
    raise AssertionError("nobody should come here")


either = pytest.mark.parametrize("write", [put, put_folder])


@either
def test_an_output_appears_when_the_block_ends_and_needs_force_if_it_exists(
    tmp_path: Path, write: Any
) -> None:
    path = tmp_path / "out.csv"

    def not_yet() -> None:
        assert not path.exists()

    write(path, "new", then=not_yet)
    holds_only(path, "new")
    refusal(lambda: write(path, "newer", then=never), "--force", str(path))
    holds_only(path, "new")
    write(path, "newer", force=True)
    holds_only(path, "newer")


@pytest.mark.parametrize("failure", [RuntimeError("x"), KeyboardInterrupt(), MemoryError()])
@pytest.mark.parametrize("old", [False, True])
@either
def test_a_failed_block_leaves_what_was_there(
    tmp_path: Path, write: Any, failure: BaseException, old: bool
) -> None:
    path = tmp_path / "out.csv"
    if old:
        write(path, "old")

    def fail() -> None:
        raise failure

    with pytest.raises(type(failure)):
        write(path, "half", force=True, then=fail)
    assert list(tmp_path.iterdir()) == [path] * old
    if old:
        holds_only(path, "old")


def test_an_output_that_appears_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    refusal(lambda: put(path, then=lambda: path.write_text("somebody else's")))
    holds_only(path, "somebody else's")


@either
def test_a_folder_that_does_not_exist(tmp_path: Path, write: Any) -> None:
    path = tmp_path / "none" / "out.csv"
    refusal(lambda: write(path, "", force=True, then=never), str(path.parent))
    assert list(tmp_path.iterdir()) == []


@either
def test_a_folder_that_cannot_be_written_to(
    tmp_path: Path, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid():
        tmp_path.chmod(0o500)
    else:  # root may write anywhere
        monkeypatch.setattr(os, "access", lambda *given: False)
    try:
        refusal(lambda: write(tmp_path / "out.csv", "", force=True), "cannot be written to")
    finally:
        tmp_path.chmod(0o700)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_stands_where_a_file_should_go(tmp_path: Path) -> None:
    put_folder(tmp_path / "out.csv", "precious")
    refusal(lambda: put(tmp_path / "out.csv", force=True))
    holds_only(tmp_path / "out.csv", "precious")


@pytest.mark.parametrize("link", [False, True])
def test_a_folder_may_replace_a_file_or_a_link(tmp_path: Path, link: bool) -> None:
    path = tmp_path / "out"
    if link:
        put_folder(tmp_path / "real", "old")
        path.symlink_to("real")
    else:
        path.write_text("old")
    put_folder(path, "new", force=True)
    holds_only(path, "new")


def no_space(*given: Any, **how: Any) -> Any:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".arrow"])
def test_a_full_disk_is_told_and_leaves_nothing(tmp_path: Path, suffix: str) -> None:
    """Written through to a device that is always full."""
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    found = sheet_of_rows([(str(i), "x" * 50) for i in range(20_000)])

    def into() -> None:
        with whole_file(tmp_path / f"out{suffix}", force=False) as temporary:
            temporary.unlink()
            temporary.symlink_to("/dev/full")
            write(found, temporary, suffix)

    refusal(into, f"out{suffix}", "space")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("owner", "step"), [(os, "fsync"), (Path, "replace"), (os, "open")])
@pytest.mark.parametrize("old", [False, True])
def test_a_disk_that_fills_up_at_any_step(
    tmp_path: Path, owner: Any, step: str, old: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out.csv"
    if old:
        path.write_text("old")
    with monkeypatch.context() as patch:
        patch.setattr(owner, step, no_space)
        refusal(lambda: put(path, force=True), "No space left on device")
    assert [(file, file.read_text()) for file in tmp_path.iterdir()] == [(path, "old")] * old


@pytest.mark.parametrize("at", [1, 2])
def test_a_swap_of_folders_that_fails_is_undone(
    tmp_path: Path, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out"
    put_folder(path, "old")
    rename, calls = Path.rename, []

    def failing(self: Path, target: Path) -> Path:
        calls.append(self)
        return no_space() if len(calls) == at else rename(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", failing)
        refusal(lambda: put_folder(path, "new", force=True))
    holds_only(path, "old")


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o027, 0o077])
def test_outputs_heed_the_umask_without_a_touch_and_private_ones_are_nobody_elses(
    mask: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = os.umask(mask)
    try:
        with monkeypatch.context() as patch:
            patch.delattr(os, "umask")  # to ask for it is to change it, for all threads
            put(tmp_path / "file")
            put(tmp_path / "private", private=True)
            put_folder(tmp_path / "folder", "x")
    finally:
        os.umask(before)
    assert mode(tmp_path / "file") == 0o666 & ~mask
    assert mode(tmp_path / "private") == 0o600
    assert mode(tmp_path / "folder") == 0o777 & ~mask
    assert hidden(tmp_path) == []


def test_each_thread_records_what_it_wrote(tmp_path: Path) -> None:
    def work(name: str) -> list[Path]:
        with output.recorded() as written:
            for part in "ab":
                put(tmp_path / f"{name}{part}", name)
        return written

    with output.recorded() as ours, ThreadPoolExecutor(4) as pool:
        found = list(pool.map(work, "1234"))
        work("5")
    assert found == [[tmp_path / f"{name}{part}" for part in "ab"] for name in "1234"]
    assert ours == []  # whoever is nearest records


# --- what killed runs leave ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def dead_pid() -> int:
    """The number of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def leave(folder: Path, name: str, pid: int, what: str = "tmp", *, is_folder: bool = False) -> Path:
    path = folder / f".{name}.{pid}-0123abcd.reticent-{what}"
    if is_folder:
        path.mkdir()
        fill(path, "left")
    else:
        path.write_text("left")
    return path


@pytest.mark.parametrize("name", ["out.csv", "a.b-[1]*.csv"])
@pytest.mark.parametrize("is_folder", [False, True])
def test_what_dead_runs_left_is_removed(
    tmp_path: Path, dead_pid: int, is_folder: bool, name: str
) -> None:
    leave(tmp_path, name, dead_pid, is_folder=is_folder)
    put(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("is_folder", [False, True])
def test_what_living_runs_use_is_kept(tmp_path: Path, is_folder: bool) -> None:
    living = leave(tmp_path, "out", os.getppid(), is_folder=is_folder)
    other = leave(tmp_path, "out", 1)  # belongs to root, and lives
    put_folder(tmp_path / "out", "new")
    assert living.exists()
    assert other.exists()


def test_other_names_are_left_alone(tmp_path: Path, dead_pid: int) -> None:
    other = leave(tmp_path, "another.csv", dead_pid)
    plain = tmp_path / ".out.csv.swp"
    plain.write_text("an editor's")
    put(tmp_path / "out.csv")
    assert other.exists()
    assert plain.exists()


def test_a_process_tells_its_own_from_those_of_one_that_had_its_number(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    left = leave(tmp_path, path.name, os.getpid())
    with whole_file(path, force=False) as temporary:
        assert not left.exists()
        output.repair(path)
        temporary.write_text("new")
    assert path.read_text() == "new"


def test_an_interrupted_swap_is_repaired_and_needs_force(tmp_path: Path, dead_pid: int) -> None:
    """Killed between the two renames: the old folder stands aside, the new one is not in."""
    path = tmp_path / "out"
    for repair in (lambda: output.repair(path), lambda: refusal(lambda: put_folder(path, "new"))):
        leave(tmp_path, "out", dead_pid, "old", is_folder=True)
        leave(tmp_path, "out", dead_pid, "tmp", is_folder=True)
        repair()
        holds_only(path, "left")
        shutil.rmtree(path)


def test_a_swap_that_only_lacked_the_last_step_is_finished(tmp_path: Path, dead_pid: int) -> None:
    """Killed before the old folder was removed: the new one is in and stays."""
    path = tmp_path / "out"
    path.mkdir()
    fill(path, "new")
    leave(tmp_path, "out", dead_pid, "old", is_folder=True)
    output.repair(path)
    holds_only(path, "new")


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".tsv", ".parquet", ".arrow"])
@pytest.mark.parametrize("group", [1, 3, 4, 100])
def test_rows_that_come_in_several_sheets_make_the_same_file(
    suffix: str, group: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sheets, "ROW_GROUP", group)
    names = ["A", "B"]
    cells = [pa.array(["x", None, "ä", "x", "x", "", "x"]), pa.array([1, 2, None, 1, 1, 5, 9])]
    columns = list(from_arrow(pa.table(cells, names)).columns.values())
    counts = np.array([3, 1, 2, 1, 1, 4, 1])
    whole = sheet(columns, order="sorted", counts=counts)
    pieces = list(whole.pieces(group))
    assert [piece.rows for piece in pieces[:-1]] == [group] * (len(pieces) - 1)
    assert sum(piece.rows for piece in pieces) == whole.rows == 13
    for name, rows in (("whole", whole), ("pieces", iter(pieces))):
        write(rows, tmp_path / f"{name}{suffix}", suffix)
    first, second = ((tmp_path / f"{name}{suffix}").read_bytes() for name in ("whole", "pieces"))
    assert first == second


def test_many_texts_are_written_as_they_occur(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sheets, "_FEW", 2)
    texts = ["z", None, "b", "a", "b", "c"]
    write(sheet_of(pa.table({"A": texts}), "input"), tmp_path / "a.parquet", ".parquet")
    assert pq.read_table(tmp_path / "a.parquet")["A"].to_pylist() == texts


def test_files_of_about_so_many_rows(tmp_path: Path) -> None:
    whole = sheet_of(pa.table({"A": list(range(10))}), "input")
    for per_file, rows in ((4, [4, 4, 2]), (5, [5, 5]), (10, [10]), (99, [10])):
        place = tmp_path / str(per_file)
        place.mkdir()
        paths = write_parts(lambda size: whole, place, ".parquet", per_file)
        assert [pq.read_metadata(path).num_rows for path in paths] == rows
        assert sorted(place.iterdir()) == paths
