"""What a published table must not carry besides the cells it promises, and what it must show.

Columns that were dropped or that nobody decided about, labels that no cut can show, and what typed
tables hold apart from their cells: categories that no row shows, an index, notes of the source.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import reticent
from at_hand import refusal
from reticent import InputError, Policy

MARKER = "*"
PEOPLE = {
    "Name": ["Ann", "Bob", "Cid", "Dan"],
    "Job": ["Cook", "Cook", "Clerk", "Clerk"],
    "Age": [31, 35, 52, 58],
    "Ill": ["yes", "no", "no", "yes"],
}
POLICY: dict[str, Any] = {
    "drop": ["Name"],
    "keep": ["Ill"],
    "attributes": {"Age": {"mask": "discretize", "range": [0, 100]}},
    "anonymity": [{"over": ["Job", "Age"], "k": 2}],
}
HIDDEN = "Astronaut"  # a value that no released row shows


def people() -> pa.Table:
    """A released table without anything left to find."""
    table = reticent.release(pa.table(PEOPLE), policy()).table
    assert reticent.verify(table, policy()).holds
    return table


def policy(**more: Any) -> Policy:
    return Policy.model_validate(POLICY | more)


def leftovers(data: Any, asked: Policy | None = None) -> list[str]:
    """What the verifier says must not be there; it refuses for that and for nothing else."""
    proof = reticent.verify(data, asked or policy())
    assert all(finding.holds for finding in proof.findings)
    assert proof.holds == (not proof.leftovers)
    return [problem.what for problem in proof.leftovers]


def test_a_dropped_column_that_is_back_is_a_violation() -> None:
    table = people()
    for cells in (PEOPLE["Name"], ["", "", "", ""], [None, None, None, None]):
        [said] = leftovers(table.append_column("Name", pa.array(cells, pa.string())))
        assert '"Name"' in said


def test_a_counted_column_that_is_dropped_may_not_be_back_either() -> None:
    counting = policy(anonymity=[{"over": ["Job"], "k": 2, "of": ["Name"]}], keep=["Ill", "Age"])
    found = reticent.release(pa.table(PEOPLE), counting)
    assert found.table.column_names == ["Job", "Age", "Ill"]
    assert [f.value for f in found.proof.findings] == [2]
    [said] = leftovers(found.table.append_column("Name", pa.array(PEOPLE["Name"])), counting)
    assert '"Name"' in said


def test_a_column_without_a_role_is_an_error() -> None:
    """What nobody decided about must not slip into a release, nor past the check of one."""
    table = people().append_column("Phone", pa.array(["1", "2", "3", "4"]))
    refusal(lambda: reticent.verify(table, policy()), '"Phone"')
    assert leftovers(table, policy(keep="*")) == []


def test_an_empty_masked_cell_needs_missing_values_to_be_allowed() -> None:
    table = people()
    table = table.set_column(0, "Job", pa.array([None, None, "Cook", "Cook"], pa.string()))
    assert reticent.verify(table, policy()).holds
    for missing in ("drop", "error"):
        with pytest.raises(InputError, match="none that the policy can show"):
            reticent.verify(table, policy(missing=missing))


NOTHING = ["[a,b)", "[50,20)", "[50,50)", "[nan,100]", "[0,inf]"]
BEYOND = ["[-10,50)", "[50,200]", "[2001-01-01,2002-01-01)"]


@pytest.mark.parametrize("label", NOTHING + BEYOND)
def test_an_interval_that_holds_nothing_or_is_beyond_the_range_is_foreign(label: str) -> None:
    table = people().set_column(1, "Age", pa.array([label] * 4))
    refusal(lambda: reticent.verify(table, policy()), '"Age"')


@pytest.mark.parametrize("label", ["[0,30)", "[40,45)", "[40,100)", "[0,40]"])
def test_fixed_bins_are_the_only_intervals(label: str) -> None:
    """Fixed bins are a flat taxonomy: its nodes are the bins and the whole range."""
    asked = policy(attributes={"Age": {"mask": "discretize", "intervals": [0, 40, 100]}})
    for node in ("[0,40)", "[40,100]", "[0,100]", MARKER):
        table = people().set_column(1, "Age", pa.array([node] * 4))
        assert leftovers(table, asked) == []
    table = people().set_column(1, "Age", pa.array([label] * 4))
    refusal(lambda: reticent.verify(table, asked), '"Age"')


def test_metadata_of_the_source() -> None:
    table = people()
    assert leftovers(table.replace_schema_metadata({"source": "ward 7"})) != []
    fields = [field.with_metadata({"source": "ward 7"}) for field in table.schema]
    said = leftovers(table.cast(pa.schema(fields)))
    assert len(said) == table.num_columns
    assert leftovers(table.replace_schema_metadata(None)) == []


def test_a_data_frame_of_pandas_carries_nothing_by_itself() -> None:
    frame = people().to_pandas()
    assert leftovers(frame) == []
    found = reticent.release(pd.DataFrame(PEOPLE), policy())
    assert isinstance(found.table, pd.DataFrame)
    assert leftovers(found.table) == []


@pytest.mark.parametrize(
    "index",
    [
        pd.Index([17, 4, 8, 15]),
        pd.Index(PEOPLE["Name"]),
        pd.Index(PEOPLE["Name"], name="Name"),
        pd.Index(["a", "b", "c", "d"], name="Phone"),
    ],
)
def test_an_index_of_pandas_is_refused(index: Any) -> None:
    assert leftovers(people().to_pandas().set_axis(index)) != []


def test_the_index_of_the_source_does_not_come_out() -> None:
    found = reticent.release(pd.DataFrame(PEOPLE, index=[17, 4, 8, 15]), policy())
    assert list(found.table.index) == [0, 1, 2, 3]
    assert list(found.table.columns) == ["Job", "Age", "Ill"]


def test_categories_of_pandas_and_arrow() -> None:
    table, frame = people(), people().to_pandas()
    jobs, cells = sorted(set(frame["Job"])), table.column("Job")
    assert leftovers(frame.assign(Job=pd.Categorical(frame["Job"], jobs))) == []
    assert leftovers(table.set_column(0, "Job", cells.dictionary_encode())) == []
    for hidden in (
        frame.assign(Job=pd.Categorical(frame["Job"], [*jobs, HIDDEN])),
        table.set_column(0, "Job", with_hidden_category(cells)),
    ):
        [said] = leftovers(hidden)
        assert '"Job"' in said
        assert HIDDEN not in said


def with_hidden_category(cells: pa.ChunkedArray) -> pa.Array:
    coded = cells.combine_chunks().dictionary_encode()
    values = pa.concat_arrays([coded.dictionary, pa.array([HIDDEN])])
    return pa.DictionaryArray.from_arrays(coded.indices, values)


def test_categories_are_those_of_the_whole_column() -> None:
    """A column in chunks shares its dictionary; each chunk need not show all of it."""
    table = people()
    whole = table.set_column(0, "Job", table.column("Job").dictionary_encode())
    chunks = pa.concat_tables([whole.slice(i, 1) for i in range(4)])
    assert chunks.column("Job").num_chunks == 4
    assert leftovers(chunks) == []
    hidden = table.set_column(0, "Job", with_hidden_category(table.column("Job")))
    assert leftovers(pa.concat_tables([hidden.slice(i, 1) for i in range(4)])) != []


def test_categories_of_polars() -> None:
    frame = pl.DataFrame(people())
    assert leftovers(frame) == []
    jobs = sorted(set(frame["Job"]))
    for kind in (pl.Categorical(), pl.Enum(jobs)):
        assert leftovers(frame.with_columns(pl.col("Job").cast(kind))) == []
    assert leftovers(frame.with_columns(pl.col("Job").cast(pl.Enum([*jobs, HIDDEN])))) != []


def written(table: pa.Table, path: Path, metadata: dict[str, str] | None = None) -> Path:
    """Write a table as anybody might: with a schema or without, with notes of their own."""
    if path.suffix == ".arrow":
        with (
            pa.OSFile(str(path), "wb") as sink,
            pa.ipc.new_file(sink, table.schema, metadata=metadata) as writer,
        ):
            writer.write_table(table)
        return path
    with pq.ParquetWriter(
        path, table.schema, compression="none", store_schema="bare" not in path.name
    ) as writer:
        writer.write_table(table)
        if metadata:
            writer.add_key_value_metadata(metadata)
    return path


@pytest.mark.parametrize("name", ["data.arrow", "data.parquet", "bare.parquet"])
def test_what_typed_files_carry(tmp_path: Path, name: str) -> None:
    """Whatever stands in the bytes of a file and in none of its cells is refused."""
    table = people()
    path = written(table, tmp_path / name)
    assert leftovers(path) == []
    cells = table.column("Job")
    path = written(table.set_column(0, "Job", cells.dictionary_encode()), path)
    assert leftovers(path) == []
    path = written(table.set_column(0, "Job", with_hidden_category(cells)), path)
    assert HIDDEN.encode() in path.read_bytes()
    assert leftovers(path) != []


@pytest.mark.parametrize("name", ["data.arrow", "data.parquet"])
def test_what_files_of_polars_carry(tmp_path: Path, name: str) -> None:
    frame, path = pl.DataFrame(people()), tmp_path / name
    jobs = sorted(set(frame["Job"]))
    kinds = {pl.String(): True, pl.Enum(jobs): True, pl.Enum([*jobs, HIDDEN]): False}
    for kind, fine in kinds.items():
        table = frame.with_columns(pl.col("Job").cast(kind))
        if path.suffix == ".arrow":
            table.write_ipc(path)
        else:
            table.write_parquet(path, compression="uncompressed")
        assert (HIDDEN.encode() not in path.read_bytes()) == fine
        assert (leftovers(path) == []) == fine


@pytest.mark.parametrize("name", ["data.arrow", "data.parquet", "bare.parquet"])
def test_notes_in_the_foot_of_typed_files(tmp_path: Path, name: str) -> None:
    path = written(people(), tmp_path / name, {"source": HIDDEN})
    assert HIDDEN.encode() in path.read_bytes()
    assert leftovers(path) != []


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".arrow"])
def test_files_of_our_own_carry_nothing(tmp_path: Path, suffix: str) -> None:
    frame = pd.DataFrame(PEOPLE, index=[17, 4, 8, 15])
    frame["Job"] = pd.Categorical(frame["Job"], ["Cook", "Clerk", HIDDEN])
    frame["Ill"] = pd.Categorical(frame["Ill"], ["yes", "no", HIDDEN])
    source = pa.Table.from_pandas(frame).replace_schema_metadata({"source": HIDDEN})
    source = source.drop_columns(["__index_level_0__"])
    path = tmp_path / f"out{suffix}"
    for data in (frame, source):
        reticent.release(data, policy(), output=path, force=True)
        assert HIDDEN.encode() not in path.read_bytes()
        assert leftovers(path) == []
