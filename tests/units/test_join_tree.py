"""A tree over tables that join: sources, options, models, classification and refusals."""

from __future__ import annotations

import json
import sqlite3
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from at_hand import refusal
from reticent.errors import InputError
from reticent.files.tabular import Reading
from reticent.jointree import flow
from reticent.jointree.classification import classify, joined_rows
from reticent.jointree.flow import classify as classified
from reticent.jointree.flow import train
from reticent.jointree.learning import source_of
from reticent.jointree.model import (
    JoinNode,
    JoinTree,
    Question,
    read_model,
    write_model,
)
from reticent.jointree.propagation import propagate
from reticent.jointree.schema import JoinSchema
from reticent.jointree.tables import class_codes, code, load
from reticent.jointree.text import trained
from reticent.progress import Watch
from reticent.sklearn import JoinTreeClassifier
from reticent.trees.tree import Split

T1 = {"J1": list("abbb"), "J2": list("xxyy"), "Class": ["C1", "C2", "C1", "C2"]}
T2 = {"J1": list("acba"), "Age": [3, 5, 4, 12]}
T3 = {"J2": list("xyx")}


def schema(**more: Any) -> dict[str, Any]:
    """The worked example; `keep`, `grow` and what else a schema holds."""
    keep = {"keep": more.pop("keep")} if "keep" in more else {}
    return {
        "class": "T1.Class",
        "tables": {"T1": {}, "T2": {}, "T3": {}},
        "joins": [
            {"left": "T1.J1", "right": "T2.J1", **keep},
            {"left": "T1.J2", "right": "T3.J2", **keep},
        ],
        **more,
    }


def frames() -> dict[str, Any]:
    return {"T1": pd.DataFrame(T1), "T2": pl.DataFrame(T2), "T3": pa.table(T3)}


def files(folder: Path) -> dict[str, str]:
    pd.DataFrame(T1).to_csv(folder / "t1.csv", index=False)
    pq.write_table(pa.table(T2), folder / "t2.parquet")
    with sqlite3.connect(folder / "t3.sqlite") as database:
        pd.DataFrame(T3).to_sql("things", database, index=False)
    database.close()
    return {"T1": "t1.csv", "T2": "t2.parquet", "T3": f"sqlite:///{folder / 't3.sqlite'}"}


def test_the_worked_example() -> None:
    read = JoinSchema.of(schema())
    joined = propagate(code(read, load(read, frames())))
    assert [v.tolist() for v in joined.vectors] == [
        [[4, 0], [0, 2], [1, 0], [0, 1]],
        [[2, 0], [1, 3], [2, 0]],  # (a,3), (b,4), (a,12); (c,5) is gone
        [[4, 2], [1, 1]],
    ]
    ages = joined.coded.tables[1].features[0].values
    source: Any = source_of(joined, read.grow.options())
    left, right = source.divide(Split(0, (list(ages).index(4),), 0))
    assert left.counts.tolist() == [3, 3]
    assert right.counts.tolist() == [2, 0]
    assert left.held[0][1].tolist() == [[2, 0], [0, 2], [1, 0], [0, 1]]


def test_tables_come_from_files_databases_and_frames_alike(tmp_path: Path) -> None:
    paths = files(tmp_path)
    tables = {name: {"path": path} for name, path in paths.items()}
    tables["T3"]["table"] = "things"
    lines = [
        'class = "T1.Class"',
        *(f"[tables.{n}]\n" + "\n".join(f'{k} = "{v}"' for k, v in t.items()) for n, t in tables.items()),
        *(f'[[joins]]\nleft = "T1.{j}"\nright = "{t}.{j}"' for j, t in (("J1", "T2"), ("J2", "T3"))),
    ]  # fmt: skip
    (tmp_path / "schema.toml").write_text("\n".join(lines), encoding="utf-8")
    stored = train(tmp_path / "schema.toml")
    held = train(schema(), frames())
    assert stored.tree.json() == held.tree.json()
    assert (held.records, held.joining, held.rows) == (4, 4, 8)
    assert held.table_rows == {"T1": 4, "T2": 4, "T3": 3}
    found = classify(held.tree, held.schema, frames())
    again = classify(stored.tree, stored.schema)
    assert found.table().equals(again.table())
    assert again.table().column_names == ["row", "class", "share", "rows"]
    assert again.rows == [4, 2, 1, 1]


def test_what_does_not_fit_is_counted_by_an_engine(tmp_path: Path) -> None:
    frame = pd.DataFrame({**T2, "note": list("wxyz")})
    frame.to_csv(tmp_path / "t2.csv", index=False)
    given = {**frames(), "T2": tmp_path / "t2.csv"}
    said = schema(tables={"T1": {}, "T2": {"candidates": ["Age"]}, "T3": {}})
    near, far = train(said, given), train(said, given, engine={"engine": "duckdb"})
    assert near.tree.json() == far.tree.json()
    assert near.table_rows == far.table_rows


@pytest.mark.parametrize("suffix", ["csv", "parquet", "db"])
def test_records_that_do_not_fit_come_in_batches(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the class's table, too, by whatever reads them: the same classes, and the same test."""
    monkeypatch.setattr("reticent.files.delimited._STREAM_BLOCK", 1 << 10)
    n = 600
    rows = pd.DataFrame({
        "id": [f"r{i}" if i % 50 else "" for i in range(n)], "J": [f"g{i % 40}" for i in range(n)],
        "x": [i * 37 % 101 / 4 for i in range(n)], "c": ["pqr"[i % 3] if i % 7 else None for i in range(n)],
        "day": [f"2020-01-{i % 28 + 1:02}" for i in range(n)], "spare": ["s"] * n,
        "Class": ["ab"[(i * 37 % 101 > 40) ^ (i % 3 == 0) ^ (i % 28 > 20)] for i in range(n)],
    })  # fmt: skip
    other = pd.DataFrame(
        {"J": [f"g{i % 45}" for i in range(90)], "odd": [i % 2 for i in range(90)]}
    )
    said: dict[str, Any] = {
        "class": "T.Class", "tables": {"T": {"ids": ["id"], "candidates": ["x", "c", "day"]}, "U": {}},
        "joins": [{"left": "T.J", "right": "U.J"}], "grow": {"prune": False},
    }  # fmt: skip
    place = {"csv": str(tmp_path / "t.csv"), "parquet": str(tmp_path / "t.parquet"),
             "db": f"sqlite:///{tmp_path / 't.db'}"}[suffix]  # fmt: skip
    if suffix == "csv":
        rows.to_csv(place, index=False)
    elif suffix == "parquet":
        rows.to_parquet(place, row_group_size=97)
    else:
        with sqlite3.connect(tmp_path / "t.db") as database:
            rows.to_sql("t", database, index=False)
        database.close()
    held, far = {"T": rows, "U": other}, {"T": place, "U": other}
    engine = {"engine": "duckdb"}
    if suffix == "db":  # which table it is stands in a schema
        far, engine = {"U": other}, {}
        said["tables"]["T"] |= {"path": place, "table": "t"}
    near = train(said, held, 0.3)
    also = train(said, far, 0.3, engine=engine)
    assert also.tree.json() == near.tree.json()
    assert also.test == near.test
    told = [
        classified(near.tree, near.schema, given, joined=joined, engine=means).table
        for joined in (False, True)
        for given, means in ((held, None), (far, engine))
    ]
    assert told[0].equals(told[1])
    assert told[2].equals(told[3])
    if suffix != "db":
        monkeypatch.setattr("reticent.jointree.records._A_RECORD", 10**9)
        refusal(
            lambda: classified(near.tree, near.schema, far, engine=engine),
            "its records do not fit in memory", "raise --memory-limit",
        )  # fmt: skip


def test_rows_without_a_partner_stay_where_a_join_keeps_them() -> None:
    given = {
        **frames(),
        "T1": pd.DataFrame(
            {k: [*v, w] for (k, v), w in zip(T1.items(), (None, "q", "C3"), strict=True)}
        ),
    }
    lost, kept = train(schema(), given), train(schema(keep="left"), given)
    assert (lost.rows, lost.joining, lost.tree.root.counts) == (8, 4, (5, 3, 0))
    assert (kept.rows, kept.joining, kept.tree.root.counts) == (9, 5, (5, 3, 1))
    assert lost.tree.classes == kept.tree.classes == ("C1", "C2", "C3")
    assert classify(lost.tree, lost.schema, given).rows[-1] == 0
    assert classify(kept.tree, kept.schema, given).rows[-1] == 1
    listing = joined_rows(kept.tree, kept.schema, given)
    assert listing["T1.row"].to_pylist() == list("111122345")


@pytest.mark.parametrize(
    ("cells", "apart", "said"),
    [
        (["9007199254740993", "9007199254740992", "0.5", "1"], 1, "than a 64-bit float tells"),
        ([Decimal(f"12345678901234567890.{i}") for i in range(4)], 3, "than a 64-bit float tells"),
        (pd.to_datetime([f"2020-01-01T00:00:00.00000000{i}" for i in range(4)]), 3, "microsecond"),
        ([f"2020-01-01T00:00:00.00000000{i}" for i in range(4)], 3, "than a microsecond"),
        (["1.0", "1", "2.50", "2.5"], 0, ""),
        ([2**62, 2**62 + 1, 2**62 + 2, None], 0, ""),
        (pd.to_datetime(["2020-01-01 10:00", "2020-01-01 11:00"] * 2), 0, ""),
        (["2020-01-01T10:00", "2020-01-01T10:00:00", "2020-01-02", "2020-01-03"], 0, ""),
    ],
)  # fmt: skip
def test_numbers_that_are_not_kept_apart_are_told(cells: Any, apart: int, said: str) -> None:
    alone = {"class": "T.Class", "tables": {"T": {}}}
    made = train(alone, {"T": pa.table({"n": pa.array(cells), "Class": list("aabb")})})
    if not apart:
        assert made.notes == ()
        return
    [note] = made.notes
    assert note.startswith(f'T, column "n": {apart} value')
    assert said in note


def test_records_can_weigh_the_same() -> None:
    tree = train(schema(grow={"weight": "record", "prune": False}), frames()).tree
    assert tree.root.counts == (2, 2)
    assert tree.numbers == "int64"
    below = [node.counts for node in tree.root.branches]
    assert below == [(Fraction(1, 2), 0), (Fraction(3, 2), 2)]
    assert '"counts": ["3/2", 2]' in tree.json()


def test_equal_rows_are_two_records() -> None:
    twice = {
        name: pd.concat([pd.DataFrame(T1)] * 2) if name == "T1" else t
        for name, t in frames().items()
    }
    tree = train(schema(grow={"weight": "record"}), twice).tree
    assert tree.root.counts == (4, 4)


def test_times_are_split_like_numbers() -> None:
    when = pd.to_datetime(["2020-01-01", "2020-02-01", "2020-03-01", "2020-04-01"])
    table = pd.DataFrame({"when": when, "Class": ["a", "a", "b", "b"]})
    alone = {"class": "T.Class", "tables": {"T": {}}}
    for cells in (table, table.astype({"when": str})):
        tree = train({**alone, "grow": {"prune": False}}, {"T": cells}).tree
        assert tree.root.asks is not None
        assert str(tree.root.asks.values[0]).startswith("2020-02-01")
        new = pd.DataFrame({"when": ["2019-01-01", "2021-05-05 10:00", "never"]})
        told = classify(tree, JoinSchema.of(alone), {"T": new})
        assert told.classes == ["a", "b", "a"]


def test_a_cell_that_is_no_number_is_missing_in_classification(tmp_path: Path) -> None:
    alone = {"class": "T.Class", "tables": {"T": {"ids": ["id"]}}, "grow": {"prune": False}}
    rows = pd.DataFrame({"id": [1, 2, 3, 4, 5], "n": [1, 2, 3, 4, 5], "Class": list("aabbb")})
    tree = train(alone, {"T": rows}).tree
    (tmp_path / "new.csv").write_text("n,id\n1,p\n2.5,q\nx,r\n,s\n", encoding="utf-8")
    found = classify(tree, JoinSchema.of(alone), rows=str(tmp_path / "new.csv"))
    assert found.classes == ["a", "b", "b", "b"]
    assert found.table().to_pydict() == {
        "id": list("pqrs"), "class": list("abbb"), "share": ["1.000000"] * 4, "rows": ["1"] * 4,
    }  # fmt: skip


def test_classes_are_numbers_in_python_and_texts_in_csv() -> None:
    made = train(schema(), frames())
    new = pd.DataFrame({"J1": ["a", "q"], "J2": ["x", "x"]})
    found = classified(made, schema(), frames(), rows=new)
    assert found.table.to_pylist() == [
        {"row": 1, "class": "C1", "share": 1.0, "rows": 4},
        {"row": 2, "class": None, "share": None, "rows": 0},
    ]
    whole = classify(made.tree, made.schema, frames(), new)
    assert [p.to_pylist() for p in whole.pieces(1)] == [[row] for row in whole.table().to_pylist()]
    assert whole.table()["share"].to_pylist() == ["1.000000", None]
    assert (whole.joined, whole.told, found.rows, found.told) == (4, (1, 0), 4, (1, 0))
    filled = classified(made, schema(), frames(), rows=new, majority=True)
    assert (filled.told, filled.table["class"].to_pylist()) == ((2, 0), ["C1", "C1"])
    nobody = classify(made.tree, made.schema, frames(), new[:0])
    assert (nobody.table().num_rows, nobody.told, len([*nobody.pieces(5)])) == (0, (0, 0), 1)


def test_unseen_texts_follow_missing_ones() -> None:
    alone = {"class": "T.Class", "tables": {"T": {}}, "grow": {"prune": False}}
    rows = pd.DataFrame({"c": list("xxxyyz"), "Class": list("aaabbb")})
    tree = train(alone, {"T": rows}).tree
    assert tree.root.asks == Question("T", "c", "is", ("x",), 0)
    told = classify(tree, JoinSchema.of(alone), {"T": pd.DataFrame({"c": ["x", "z", "new", None]})})
    assert told.classes == ["a", "b", "a", "a"]


def test_who_joins_with_nothing_gets_no_class_unless_asked_for() -> None:
    made = train(schema(), frames())
    new = pd.DataFrame({"J1": ["a", "q", None], "J2": ["x", "x", "y"]})
    found = classify(made.tree, made.schema, frames(), new)
    assert found.table()["class"].to_pylist() == ["C1", None, None]
    assert found.table()["share"].to_pylist() == ["1.000000", None, None]
    assert found.rows == [4, 0, 0]
    filled = classify(made.tree, made.schema, frames(), new, majority=True)
    assert filled.table()["class"].to_pylist() == ["C1", "C1", "C1"]


def test_joined_rows_are_listed_by_their_ids_if_they_are_few() -> None:
    said = schema(tables={"T1": {"ids": ["id"]}, "T2": {"ids": ["Age"]}, "T3": {}})
    said["tables"]["T2"]["candidates"] = ["Age"]
    given = {**frames(), "T1": pd.DataFrame({"id": list("pqrs"), **T1})}
    made = train(said, given)
    listing = joined_rows(made.tree, made.schema, given)
    assert listing.column_names == ["T1.id", "T2.Age", "class"]
    assert listing["T1.id"].to_pylist() == list("ppppqqrs")
    assert listing["T2.Age"].to_pylist() == ["3", "3", "12", "12", "4", "4", "4", "4"]
    refusal(lambda: joined_rows(made.tree, made.schema, given, most=7), "the join has 8 rows")


def test_a_test_sets_whole_groups_aside() -> None:
    n = 60
    rows = pd.DataFrame({
        "J": [f"g{i // 3}" for i in range(n)], "x": range(n), "Class": ["ab"[i // 3 % 2] for i in range(n)],
    })  # fmt: skip
    other = pd.DataFrame({"J": [f"g{i}" for i in range(15)], "odd": [i % 2 for i in range(15)]})
    said = {
        "class": "T.Class", "tables": {"T": {}, "U": {}},
        "joins": [{"left": "T.J", "right": "U.J"}],
    }  # fmt: skip
    made = train(said, {"T": rows, "U": other}, test=0.3, test_by="J", seed=3)
    test = made.test
    assert test is not None
    assert (test.groups, test.records) == (6, 18)
    assert (test.accuracy, test.row_accuracy) == (1.0, 1.0)
    assert 0 < test.joining <= 18
    assert made.coverage == 0.75
    assert test == train(said, {"T": rows, "U": other}, test=0.3, test_by="J", seed=3).test
    single = train(said, {"T": rows, "U": other}, test=0.3).test
    assert single is not None
    assert single.records == 18
    for bad in (0, 1, 2.0, True):
        refusal(partial(train, said, {"T": rows, "U": other}, bad), "between 0 and 1")
    refusal(lambda: train(said, {"T": rows, "U": other}, test=0.5, test_by="Z"), 'no column "Z"')
    refusal(lambda: train(said, {"T": rows, "U": other}, test_by="J"), "how much to set aside")


def test_a_test_tells_of_all_records_and_of_those_without_a_group() -> None:
    """A tree that joins with few must not look better than one that answers for all."""
    rows = pd.DataFrame({
        "J": ["a", "b", "q", None] * 10, "by": [f"s{i}" if i % 4 < 2 else None for i in range(40)], "Class": list("xyyx") * 10,
    })  # fmt: skip
    given = {"T": rows, "U": pa.table({"J": ["a", "b"], "n": [1, 2]})}
    said = {
        "class": "T.Class", "tables": {"T": {"candidates": []}, "U": {}},
        "joins": [{"left": "T.J", "right": "U.J"}],
    }  # fmt: skip
    test = train(said, given, test=0.5, seed=4).test
    assert test is not None
    lost = test.records - test.joining
    assert 0 < lost < test.records
    assert test.accuracy == 1.0
    assert test.accuracy_of_all < 1.0
    assert test.right <= test.right_with_others <= test.right + lost
    assert test.facts()["accuracy_of_all"] == round(test.right_with_others / test.records, 6)
    grouped = train(said, given, test=0.5, test_by="by", seed=4).test
    assert grouped is not None
    assert (test.single, grouped.single, grouped.of_groups) == (0, 20, 40)
    assert grouped.facts()["single"] == 20


def test_growing_tells_how_many_nodes_there_are() -> None:
    told: list[int] = []
    made = train(schema(grow={"prune": False}), frames(), watch=Watch(nodes=told.append))
    assert told == [3, 5]
    assert len(made.tree.root.walk()) == 5


# What is refused ---------------------------------------------------------------------------------


def test_an_empty_join_and_a_table_without_classes_are_refused() -> None:
    nobody = {**frames(), "T3": pa.table({"J2": ["w"]})}
    refusal(lambda: train(schema(), nobody), "the join is empty")
    classless = {**frames(), "T1": pd.DataFrame({**T1, "Class": [None] * 4})}
    refusal(lambda: train(schema(), classless), "no record has a class")


@pytest.mark.parametrize(
    ("near", "form"),
    [
        (["2020-01-01 00:00:00", "2020-01-02 00:00:00"], "0000-00-00 00:00:00"),
        (["2020-01-01T00:00", "2020-01-02T00:00"], "0000-00-00T00:00"),
        (["2020-01-01", "2020-01-02"], "0000-00-00"),
    ],
)  # fmt: skip
def test_times_that_are_written_unlike_are_told_by_their_form(near: Any, form: str) -> None:
    """Both sides are times, so nothing mismatches, and no text of one equals one of the other."""
    when = pd.to_datetime(["2020-01-01", "2020-01-02"])
    given = {"A": pd.DataFrame({"j": near, "Class": ["x", "y"]}), "B": pd.DataFrame({"k": when})}
    said: dict[str, Any] = {
        "class": "A.Class", "tables": {"A": {}, "B": {}},
        "joins": [{"left": "A.j", "right": "B.k"}],
    }  # fmt: skip
    told = f'imes in "A.j" look like {form}, and in "B.k" like 0000-00-00T00:00:00'
    refusal(lambda: train(said, given), "the join is empty", told, "write times alike")
    said["joins"][0]["keep"] = "left"
    [note] = train(said, given).notes
    assert told in note
    assert "2020" not in note


def test_sites_that_play_no_part_are_told() -> None:
    tables = {name: {"site": name.lower()} for name in ("T1", "T2", "T3")}
    [note] = train(schema(tables=tables), frames()).notes
    assert "all of their tables were read here" in note
    assert train(schema(), frames()).notes == ()


@pytest.mark.parametrize(
    ("near", "far", "fits"),
    [
        ([1, 2], ["1", "2"], True),  # as a CSV file has it
        ([1.0, 2.0], [1, 2], True),
        ([1, 2], ["1", "x"], False),
        (pd.to_datetime(["2020-01-01", "2020-01-02"]), ["x", "y"], False),
        (pd.to_datetime(["2020-01-01", "2020-01-02"]), [1, 2], False),
        ([1, 2], [None, None], True),
    ],
)
def test_join_columns_of_two_types_are_refused(near: Any, far: Any, fits: bool) -> None:
    said = {
        "class": "A.Class", "tables": {"A": {}, "B": {}},
        "joins": [{"left": "A.j", "right": "B.k", "keep": "left"}],
    }  # fmt: skip
    given = {"A": pd.DataFrame({"j": near, "Class": ["x", "y"]}), "B": pd.DataFrame({"k": far})}
    if fits:
        assert train(said, given).rows >= 2
    else:
        refusal(lambda: train(said, given), '"A.j"', '"B.k"', "[[joins]] 1")


def test_unknown_columns_and_tables_are_named_all_at_once() -> None:
    given = {**frames(), "T2": pa.table({"J": [1]}), "T3": pa.table({"Z": [1]})}
    refusal(
        lambda: train(schema(), given), 'table "T2" has no column "J1"', '"T3" has no column "J2"'
    )
    refusal(lambda: train(schema(), {**frames(), "T9": pa.table({"a": [1]})}), 'no table "T9"')
    refusal(lambda: train(schema()), 'where the table "T1" stands')


def test_cells_that_no_tree_can_use_are_named_with_what_helps(tmp_path: Path) -> None:
    """Of which file they are, in which column, and how to go on: a schema has no `mask` or `drop`."""
    alone = {"class": "T.Class", "tables": {"T": {}}}
    lines = "a,b,day,Class\n1e999,1,2020-01-01T00:00Z,x\n2,1e400,2020-01-02T00:00,y\n"
    (tmp_path / "t.csv").write_text(lines, encoding="utf-8")
    error = refusal(
        lambda: train(alone, {"T": str(tmp_path / "t.csv")}),
        f'{tmp_path / "t.csv"}, column "a": 1 of 2 distinct values are not a finite number',
        'column "b"', 'column "day": some timestamps carry an offset',
        "correct them, or list the columns that may split, without it, as  candidates  in [tables.T].",
    )  # fmt: skip
    assert len(error.problems) == 3
    listed = {"class": "T.Class", "tables": {"T": {"candidates": ["a", "b"]}}}
    refusal(lambda: train(listed, {"T": str(tmp_path / "t.csv")}), "or take it off  candidates")


def test_columns_of_a_kind_that_no_tree_can_use_are_named_with_what_helps(tmp_path: Path) -> None:
    odd = pa.array([[1], [2]])
    table = pa.table({"j": odd, "z": odd, "id": odd, "Class": ["x", "y"]})
    pq.write_table(table, tmp_path / "t.parquet")
    said = {
        "class": "T.Class", "tables": {"T": {"ids": ["id"]}, "U": {}},
        "joins": [{"left": "T.j", "right": "U.j"}],
    }  # fmt: skip
    given = {"T": str(tmp_path / "t.parquet"), "U": pa.table({"j": ["x"]})}
    refusal(
        lambda: train(said, given), f'{tmp_path / "t.parquet"}, column "z": the type list',
        "make it numbers or texts, or list the columns", "or join by another column",
    )  # fmt: skip
    refusal(
        lambda: train(said, given, engine={"engine": "duckdb"}),
        "make it numbers or texts, or list the columns", "or join by another column",
    )  # fmt: skip
    whole = {"T": table.drop_columns(["j", "z"]).append_column("j", pa.array(["x", "y"])),
             "U": pa.table({"j": ["x", "y"], "n": [1, 2]})}  # fmt: skip
    made = train({**said, "grow": {"prune": False}}, whole)
    refusal(
        lambda: classify(made.tree, made.schema, whole),
        "T, column",
        "or take it off  ids  in [tables.T]",
    )


def test_a_database_without_a_table_asks_for_what_its_schema_says(tmp_path: Path) -> None:
    tables = {"T1": {}, "T2": {}, "T3": {"path": files(tmp_path)["T3"]}}
    given = {name: frame for name, frame in frames().items() if name != "T3"}
    refusal(
        lambda: train(schema(tables=tables), given), "which of its tables is meant?",
        "[tables.T3], table takes one of things.",
    )  # fmt: skip


def test_a_model_of_other_tables_is_refused() -> None:
    made = train(schema(), frames())
    other = JoinSchema.of({"class": "T1.Class", "tables": {"T1": {}}})
    refusal(lambda: classify(made.tree, other, frames()), "not trained with this schema")
    fewer = {**frames(), "T2": pa.table({"J1": ["a"]})}
    refusal(lambda: classify(made.tree, made.schema, fewer), 'has no column "Age"')


def test_a_class_of_too_many_labels_is_named_before_memory_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    n = 3000
    rows = {"j": [f"g{i % 50}" for i in range(n)], "x": [i % 7 for i in range(n)]}
    other = pa.table({"j": [f"g{i}" for i in range(50)], "y": range(50)})
    said = {
        "class": "T.c", "tables": {"T": {}, "U": {}}, "joins": [{"left": "T.j", "right": "U.j"}],
        "grow": {"max_depth": 1},
    }  # fmt: skip
    unique = {"T": pa.table({**rows, "c": range(n)}), "U": other}
    several = {"T": pa.table({**rows, "c": [i % 200 for i in range(n)]}), "U": other}
    assert train(said, several).tree.leaves
    monkeypatch.setattr("reticent.sources.means.free_memory", lambda: 6 * 10**6)
    refusal(
        lambda: train(said, unique), 'class, "T.c": the class has 3,000 labels for 3,000 records',
        "Hardly any two records share a class", "fewer values as  class",
    )  # fmt: skip
    assert "Hardly" not in str(refusal(lambda: train(said, several), "the class has 200 labels"))


# scikit-learn ------------------------------------------------------------------------------------


def test_a_grid_of_numpy_numbers_is_searched() -> None:
    from sklearn.model_selection import GridSearchCV

    X = pd.DataFrame({"J1": list("abbb") * 6, "J2": list("xxyy") * 6})
    given = {name: frame for name, frame in frames().items() if name != "T1"}
    model = JoinTreeClassifier(schema(), given)
    grid = {"min_rows": np.arange(2, 4), "max_depth": np.array([2, 3], np.int32)}
    found = GridSearchCV(model, grid, cv=2, error_score="raise").fit(X, T1["Class"] * 6)
    assert found.best_params_["min_rows"] in (2, 3)
    bad: Any
    for bad in (True, 0, 2.5):
        with pytest.raises(ValueError, match="min_rows"):
            JoinTreeClassifier(schema(), given, min_rows=bad).fit(X, T1["Class"] * 6)


def test_a_class_written_as_nothing_is_refused_clearly() -> None:
    X = pd.DataFrame({"J1": list("abbb"), "J2": list("xxyy")})
    given = {name: frame for name, frame in frames().items() if name != "T1"}
    model = JoinTreeClassifier(schema(), given)
    with pytest.raises(ValueError, match="written as an empty text"):
        model.fit(X, ["", "x", "", "x"])
    assert [*model.fit(X, np.array([None, "x", "y", "x"], object)).classes_] == ["x", "y"]


# Models ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_model_survives_its_file_however_deep_it_is(tmp_path: Path) -> None:
    root = node = JoinNode((2**70, 3))
    for i in range(5000):
        node.asks = Question("t", "c", "at_most", (i,), i % 2)
        node.branches = [JoinNode((i, 0.5)), JoinNode((Fraction(7, 3), i))]
        node = node.branches[1]
    tree = JoinTree("t.class", ("a", 'b "é'), root, "record", "float64")
    write_model(tree, tmp_path)
    again = read_model(tmp_path)
    assert again.json() == tree.json()
    assert (again.depth, again.leaves) == (5000, 5001)
    assert again.root.counts == (2**70, 3)
    assert again.text().count("\n") == 9999


def test_a_model_reads_as_the_contract_says(tmp_path: Path) -> None:
    made = train(schema(grow={"prune": False}), frames())
    data = json.loads(made.tree.json())
    assert data["classes"] == ["C1", "C2"]
    leaf = {"class": "C1", "counts": [2, 0]}
    assert data["tree"] == {
        "table": "T2", "column": "Age", "test": {"at_most": 3}, "missing": 1, "counts": [5, 3],
        "branches": [leaf, {
            "table": "T2", "column": "Age", "test": {"at_most": 4}, "missing": 0, "counts": [3, 3],
            "branches": [{"class": "C2", "counts": [1, 3]}, leaf],
        }],
    }  # fmt: skip
    assert made.tree.text() == (
        "T2.Age ≤ 3: C1 (2)\nT2.Age > 3\n|  T2.Age ≤ 4: C2 (4/1)\n|  T2.Age > 4: C1 (2)"
    )
    (tmp_path / "model.json").write_text(json.dumps(data, indent=2), encoding="utf-8")
    assert read_model(tmp_path).json() == made.tree.json()


def test_every_damage_to_a_model_is_refused(tmp_path: Path) -> None:
    text = train(schema(grow={"splits": "multiway"}), frames()).tree.json()
    place = tmp_path / "model.json"
    refusal(lambda: read_model(tmp_path), "no model that can be read")
    harm = [text[:n] for n in range(0, len(text) - 2, 7)]
    swaps = [("C2", "C0"), ('"missing": 1', '"missing": 2'), ("[5, 3]", "[5]"), ("5", "-5"), ("5", '"x"'),
             ("at_most", "about"), ('"T2"', "7"), ("row", "rows"), ("{", "[", ), ("]", "}"), ("int64", "bits"),
             ('"seen": {}', '"seen": []')]  # fmt: skip
    harm += [text.replace(a, b, 1) for a, b in swaps]
    for broken in [*harm, "", "7", "[]", "null", '{"classes": ["a"]}', text + text]:
        assert broken != text
        place.write_text(broken, encoding="utf-8")
        with pytest.raises(InputError, match="damaged"):
            read_model(tmp_path)


ASKS = {"table": "T", "column": "c", "missing": 0}


def told(test: Any, *below: Any, counts: Any = (2, 1)) -> dict[str, Any]:
    """A model as people may have written it: one question, and whatever stands below."""
    leaf = {"class": "a", "counts": [2, 1]}
    tree = {**ASKS, "test": test, "counts": counts, "branches": [*below] or [leaf, leaf]}
    return {
        "class": "T.Class", "classes": ["a", "b"], "weight": "row", "numbers": "int64",
        "seen": {"T": {"c": ["x", "y"]}}, "joins": [], "tree": tree,
    }  # fmt: skip


@pytest.mark.parametrize(
    "broken",
    [
        *({**told({"at_most": 1}), "tree": {"class": "a", "counts": [count, 0]}} for count in (
            10**400, "1" + "0" * 400, f"{10**400}/3", float("nan"), float("inf"), 1e301,
        )),
        told({"at_most": 1}, counts=[10**400, 1.5]),
        told({"at_most": 1}, counts="21"),
        *(told({"at_most": at}) for at in (float("nan"), float("inf"), "nonsense", "2020-13-01", True)),
        *(told({"by": by}) for by in (["y", "x"], ["x", "x"], "xy")),
        told({"is": "x"}, {"class": "a", "counts": [1, 0]}, told({"at_most": 1})["tree"]),
        told({"at_most": 1}, {"class": "a", "counts": [1, 0]}, told({"at_most": "2020-01-01"})["tree"]),
        {**told({"is": "x"}), "seen": {"T": {"c": "xy"}}},
        {**told({"at_most": 1}), "classes": ["a", "\ud800"]},
        {**told({"at_most": 1}), "\udfff": 1},
    ],
)  # fmt: skip
def test_what_no_training_writes_is_damage(broken: dict[str, Any], tmp_path: Path) -> None:
    """Numbers beyond all numbers, times that are none, columns asked in two ways, halves of signs."""
    place = tmp_path / "model.json"
    for whole in (told({"at_most": 10**400}), told({"at_most": "2020-01-01"}), told({"is": "x"})):
        place.write_text(json.dumps(whole), encoding="utf-8")
        assert read_model(tmp_path).leaves == 2
    place.write_text(json.dumps(broken), encoding="utf-8")
    with pytest.raises(InputError, match="damaged"):
        read_model(tmp_path)


def test_join_values_meet_by_their_shortest_text() -> None:
    said = {
        "class": "A.Class", "tables": {"A": {}, "B": {}},
        "joins": [{"left": ["A.j", "A.k"], "right": ["B.j", "B.k"]}],
    }  # fmt: skip
    a = pd.DataFrame({"j": ["39.0", "39", "007", None], "k": ["x"] * 4, "Class": list("abab")})
    b = pd.DataFrame({"j": [39.0, 7.0], "k": ["x", "x"]})
    made = train(said, {"A": a, "B": b.astype({"j": str})})
    assert made.rows == 2


def test_numbers_beyond_64_bits_are_counted_to_the_last_digit() -> None:
    k = 40
    tables = {f"t{i}": pa.table({"j": ["v"] * 4, "x": [1, 1, 2, 3]}) for i in range(k)}
    tables["t0"] = pa.table({"j": ["v"] * 4, "Class": ["a", "a", "a", "b"]})
    said = {
        "class": "t0.Class", "tables": {name: {} for name in tables},
        "joins": [{"left": "t0.j", "right": f"t{i}.j"} for i in range(1, k)],
    }  # fmt: skip
    made = train(said, tables)
    assert made.tree.numbers == "big integers"
    assert made.tree.root.counts == (3 * 4 ** (k - 1), 4 ** (k - 1))
    assert classify(made.tree, made.schema, tables).rows == [4 ** (k - 1)] * 4
    shared = train({**said, "grow": {"weight": "record"}}, tables).tree
    assert shared.numbers == "float64"
    assert shared.root.counts == (3.0, 1.0)


def test_a_test_may_set_aside_all_that_joins(tmp_path: Path) -> None:
    told = {
        "class": "A.c",
        "tables": {"A": {}, "B": {}},
        "joins": [{"left": "A.j", "right": "B.j"}],
    }
    tables = {
        "A": pa.table({"j": ["a", "x", "y", "z"], "c": ["n", "y", "n", "y"]}),
        "B": pa.table({"j": ["a", "a"], "d": [1, 2]}),
    }
    ends = [train(told, tables, test=0.5, seed=seed) for seed in range(8)]
    assert {one.test.grown for one in ends if one.test} == {True, False}
    for found in ends:
        assert found.test is not None
        facts = found.test.facts()
        if not found.test.grown:
            told_of = [facts[key] for key in ("joining", "coverage", "rows")]
            assert told_of == [1, round(1 / facts["records"], 6), 2]
            measured = ("accuracy", "accuracy_of_all", "majority", "effective_groups")
            assert [facts[key] for key in measured] == [None] * 4
            assert "there was no tree to test" in trained(found)
        assert found.rows == 2


def test_other_joins_than_in_training_are_refused() -> None:
    told = {
        "class": "A.c",
        "tables": {"A": {}, "B": {}},
        "joins": [{"left": "A.j", "right": "B.j"}],
    }
    tables = {
        "A": pa.table({"j": ["a", "b", "b"], "k": ["a", "a", "b"], "c": ["n", "y", "y"]}),
        "B": pa.table({"j": ["a", "b"], "d": [1, 2]}),
    }
    model = train(told, tables).tree
    for join in (
        {"left": "A.j", "right": "B.j", "keep": "left"},
        {"left": "A.k", "right": "B.j"},
    ):
        refusal(
            partial(classify, model, JoinSchema.of({**told, "joins": [join]}), tables),
            "other joins",
        )
    same = {"left": ["B.j"], "right": ["A.j"]}
    classify(model, JoinSchema.of({**told, "joins": [same]}), tables)


def test_a_few_texts_among_numbers_are_pointed_out() -> None:
    told = {
        "class": "A.c", "joins": [{"left": "A.j", "right": "B.j"}],
        "tables": {"A": {}, "B": {}},
    }  # fmt: skip
    cells = ["30", "15", "45", "NA"]
    tables = {
        "A": pa.table({"j": list("abab"), "x": cells, "c": list("ynyn")}),
        "B": pa.table({"j": list("ab"), "d": [1, 2]}),
    }
    said = " ".join(train(told, tables).notes)
    assert 'column "x": all of its texts but 1 value are numbers' in said
    assert "NA" not in said
    tables["A"] = tables["A"].set_column(1, "x", [["30", "none", "45", "NA"]])
    assert "are numbers" not in " ".join(train(told, tables).notes)


def test_a_column_that_new_records_lack_is_missed_in_their_file(tmp_path: Path) -> None:
    rows = pa.table({"j": ["a", "b", "a"], "x": [1, 2, 3], "c": ["y", "n", "y"]})
    told = {
        "class": "A.c",
        "tables": {"A": {}, "B": {}},
        "joins": [{"left": "A.j", "right": "B.j"}],
    }
    tables = {"A": rows, "B": pa.table({"j": ["a", "b"], "d": [1, 2]})}
    made = train(told, tables)
    place = tmp_path / "new.csv"
    place.write_text("x\n1\n")
    refusal(lambda: classified(made, told, tables, rows=str(place)), "new.csv", 'no column "j"')


def test_a_test_answers_as_classifying_does() -> None:
    """Who joins with nothing gets the root's class in both, which rows may have chosen."""
    n = 12
    a = pa.table(
        {"i": [*map(str, range(n))], "j": ["h"] + ["l"] * 7 + ["none"] * 4, "c": ["u"] + ["v"] * 11}
    )
    tables = {"A": a, "B": pa.table({"j": ["h"] * 100 + ["l"], "d": [*range(101)]})}
    told = {
        "class": "A.c", "tables": {"A": {"ids": ["i"]}, "B": {}},
        "joins": [{"left": "A.j", "right": "B.j"}],
    }  # fmt: skip
    seen = set()
    for seed in range(8):
        test = train(told, tables, test=0.4, seed=seed).test
        assert test is not None
        if not test.grown:
            continue
        _, codes = class_codes(load(JoinSchema.of(told), tables, whole=True)[0].columns["c"])
        aside, _ = flow._set_aside(np.arange(n), codes >= 0, 0.4, None, seed)
        left = a.filter(pa.array(~aside))
        model = train(told, {**tables, "A": left})
        guessed = flow.classify(model, told, tables, rows=a.filter(pa.array(aside)), majority=True)
        right = [
            g == c
            for g, c in zip(
                guessed.table["class"].to_pylist(),
                a.filter(pa.array(aside))["c"].to_pylist(),
                strict=True,
            )
        ]
        assert test.accuracy_of_all == sum(right) / len(right)
        seen.add(model.tree.classes[model.tree.root.winner])
    assert seen == {"u", "v"}


def test_a_schema_says_how_its_tables_are_written(tmp_path: Path) -> None:
    """European files: read alike in training and classification, and what is not read is told."""
    rng = [*range(40)]
    (tmp_path / "a.csv").write_text(
        "j;size;day;c\n"
        + "".join(f"{n % 4};{n},5;{n % 28 + 1:02}.03.2024;{'yn'[n > 20]}\n" for n in rng)
    )
    (tmp_path / "b.csv").write_text("j;d\n0;1\n1;2\n2;3\n3;4\n")
    told = {
        "class": "A.c", "joins": [{"left": "A.j", "right": "B.j"}],
        "tables": {"A": {"path": str(tmp_path / "a.csv")}, "B": {"path": str(tmp_path / "b.csv")}},
    }  # fmt: skip
    blind = train(told)
    said = " ".join(blind.notes)
    assert 'column "size": its texts look like numbers with a decimal comma' in said
    assert 'column "day": its texts look like dates' in said
    form = {"decimal": ",", "date_format": "%d.%m.%Y"}
    found = train({**told, "reading": form})
    assert "look like" not in " ".join(found.notes)
    assert found.tree.root.asks is not None
    assert found.tree.root.asks.test == "at_most"
    same = flow.classify(found, {**told, "reading": form})
    assert same.table["class"].to_pylist() == ["n" if n > 20 else "y" for n in rng]
    assert not same.notes
    other = flow.classify(found, told)
    assert "no cell of it is read as one: all count as missing" in " ".join(other.notes)
    wins = flow.classify(found, told, reading=Reading(decimal=",", date_format="%d.%m.%Y"))
    assert wins.table == same.table
