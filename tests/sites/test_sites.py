"""Tables at several sites: the worked example, layouts, and what sites refuse of each other."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from at_hand import refusal
from reticent.errors import InputError
from reticent.jointree.model import HiddenQuestion, Question, write_model
from reticent.jointree.pages import tree_page
from reticent.jointree.schema import JoinSchema
from reticent.jointree.sites.experiment import grown_together, train_at_sites
from reticent.jointree.sites.layout import SiteLayout
from reticent.jointree.sites.words import Sums, Unfit, packed, packed_bits, unpacked, unpacked_bits
from reticent.jointree.text import dot
from terminal import run

T1 = {"J1": list("abbb"), "J2": list("xxyy"), "Class": ["C1", "C2", "C1", "C2"]}
T2 = {"J1": list("acba"), "Age": [3, 5, 4, 12]}
T3 = {"J2": list("xyx")}
TABLES = {"T1": pa.table(T1), "T2": pa.table(T2), "T3": pa.table(T3)}


def schema(sites: str = "abc", **more: Any) -> dict[str, Any]:
    return {
        "class": "T1.Class",
        "tables": {f"T{i + 1}": {"site": site} for i, site in enumerate(sites)},
        "joins": [{"left": "T1.J1", "right": "T2.J1"}, {"left": "T1.J2", "right": "T3.J2"}],
        **more,
    }


@pytest.mark.parametrize("sites", ["abc", "abb", "aab"])
def test_the_worked_example_over_a_whole_session(sites: str) -> None:
    layout = SiteLayout.of(JoinSchema.of(schema(sites, grow={"prune": False})))
    found = grown_together(layout, TABLES)
    first = {tree.site: tree.joined for tree in found.values()}
    assert first["a"].vectors[0].tolist() == [[4, 0], [0, 2], [1, 0], [0, 1]]
    assert first[sites[1]].vectors[1].tolist() == [[2, 0], [1, 3], [2, 0]]  # ages 3, 4, 12
    assert first[sites[2]].vectors[2].tolist() == [[4, 2], [1, 1]]
    for tree in found.values():
        assert tree.joined.counts.tolist() == [5, 3]
        assert tree.root.counts.tolist() == [5, 3]
        strange = [t for t, site in enumerate(sites) if site != tree.site]
        assert all(len(tree.joined.rows[t]) == 0 for t in strange)


def test_each_site_sees_its_own_questions_alone() -> None:
    trees = train_at_sites(schema(grow={"prune": False}), TABLES)
    asks = {site: tree.root.asks for site, tree in trees.items()}
    assert isinstance(asks["b"], Question)
    assert asks["a"] == asks["c"] == HiddenQuestion("b", 1, 2)
    assert trees["a"].json() == trees["b"].json() == trees["c"].json()
    for word in ("Age", "at_most", "missing"):
        assert word not in trees["a"].json()
    assert "Age" in trees["b"].own_splits()
    assert "Age" not in trees["a"].own_splits()
    assert "split 1 of b, branch 1" in trees["a"].text()


# Layouts ------------------------------------------------------------------------------------------


def test_a_site_whose_tables_lie_apart_has_two_blocks() -> None:
    chain = JoinSchema.of({
        "class": "x.c", "tables": {"x": {"site": "a"}, "z": {"site": "a"}, "y": {"site": "b"}},
        "joins": [{"left": "x.k", "right": "y.k"}, {"left": "y.l", "right": "z.l"}],
    })  # fmt: skip
    layout = SiteLayout.of(chain)
    assert layout.blocks == (0, 1, 2)
    assert [(way.start, way.end) for way in layout.ways_from(1)] == [(1, 2), (2, 0)]
    assert layout.handed_over("a") == {
        "every label of the class": ["x.c"],
        "join values that both sides have, to that side": ["x.k", "z.l"],
        "counts by class and join value, at every node, to that side": ["x", "z"],
    }


def test_what_is_each_sites_own_does_not_count_as_difference() -> None:
    def digest(**more: Any) -> bytes:
        told = schema()
        told["tables"]["T1"] |= more
        return SiteLayout.of(JoinSchema.of(told)).digest

    assert digest() == digest(path="somewhere.csv") == digest(path="sqlite:///x.db", table="t")
    assert digest() != digest(candidates=["J1"])
    assert SiteLayout.of(JoinSchema.of(schema("abb"))).digest != digest()


def test_sites_that_cannot_be() -> None:
    def told(sites: list[str | None]) -> str:
        tables = {f"T{i + 1}": {} if s is None else {"site": s} for i, s in enumerate(sites)}
        return str(refusal(lambda: SiteLayout.of(JoinSchema.of({**schema(), "tables": tables}))))

    assert "nobody says at which site" in told(["a", None, "b"])
    assert "one site alone has nobody to talk to" in told(["a", "a", "a"])
    assert "1 to 64 letters" in told(["a", "b c", "d"])
    assert "do not stand together" in told(["a", "b", "a"])


# What travels -------------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [0, 1, 255, 256, 2**32, 2**61, 2**62, 2**64, 10**40])
def test_sums_come_back_as_they_went(most: int) -> None:
    numbers = np.array([[most, 0], [most // 2, 1]], object)
    numbers = numbers if most >= 2**62 else numbers.astype(np.int64)
    told = packed(numbers)
    back = unpacked(told, 2, 2)
    assert back.tolist() == numbers.tolist()
    assert back.dtype == numbers.dtype
    longer = Sums(
        told.width + 1, b"".join(int(n).to_bytes(told.width + 1, "little") for n in numbers.ravel())
    )
    for bad in (longer, Sums(told.width, told.numbers + b"\0"), Sums(told.width, told.numbers[1:])):
        with pytest.raises(Unfit):
            unpacked(bad, 2, 2)


def test_a_number_is_written_in_one_way_only() -> None:
    with pytest.raises(Unfit):
        unpacked(Sums(2, b"\x01\x00"), 1, 1)
    for floats in ([np.nan], [-1.0], [-0.0], [np.inf]):
        with pytest.raises(Unfit):
            unpacked(Sums(0, np.array(floats).tobytes()), 1, 1)
    assert unpacked_bits(packed_bits(np.array([True, False, True])), 3).tolist() == [
        True,
        False,
        True,
    ]
    with pytest.raises(Unfit):
        unpacked_bits(b"\xff", 3)


def test_columns_that_cannot_be_equal_are_told_at_both() -> None:
    tables = {
        **TABLES,
        "T2": pa.table({"J1": [1, 2], "Age": [3, 4]}),
        "T3": pa.table({"J2": ["x"]}),
    }
    tables["T1"] = pa.table({**T1, "J1": pa.array(list("abbb"))})
    with pytest.raises(InputError, match=r'"T1\.J1" holds texts and "T2\.J1" holds numbers'):
        train_at_sites(schema(), tables)


def test_records_weigh_parts_at_all_sites() -> None:
    trees = train_at_sites(schema(grow={"weight": "record", "prune": False}), TABLES)
    for tree in trees.values():
        assert tree.root.counts == (2, 2)
        assert all(isinstance(n, (int, Fraction)) for node in tree.root.walk() for n in node.counts)


def test_a_page_of_one_site_shows_whose_questions_the_others_are() -> None:
    trees = train_at_sites(schema(grow={"prune": False}), TABLES)
    page = tree_page(trees["a"])
    assert "of 3 sites" in page
    assert "split 1 of b" in page
    assert "not told" in page
    assert "Age" not in page
    assert "Age" in tree_page(trees["b"])
    assert "Age" not in dot(trees["a"])


def test_what_is_left_of_a_sum_is_held_against_min_count() -> None:
    """A leaf is not told; but whoever knows the whole and the rest knows it."""
    told = {
        "class": "visit.ill", "tables": {"visit": {"site": "clinic"}, "ward": {"site": "works"}},
        "joins": [{"left": "visit.ward", "right": "ward.name"}],
    }  # fmt: skip
    tables = {
        "visit": pa.table({
            "ward": ["a"] * 10 + ["b"] * 12, "ill": list("nnnnyyyyyy") + list("nnnyyy") * 2,
            "age": [1] + [5] * 3 + [5] * 6 + [5] * 12,  # one is young, and well
        }),
        "ward": pa.table({"name": ["a"] * 3 + ["b"] * 3, "beds": [1, 1, 1, 2, 2, 2]}),
    }  # fmt: skip

    def ages_told(grow: dict[str, Any]) -> int:
        """Questions about the age with a branch that goes on, so that sums are told."""
        tree = train_at_sites({**told, "grow": grow}, tables)["clinic"]
        asked = [n for n in tree.root.walk() if isinstance(n.asks, Question)]
        ages = [n for n in asked if n.asks is not None and n.asks.column == "age"]
        return sum(any(branch.branches for branch in node.branches) for node in ages)

    grow = {"prune": False, "max_depth": 3}
    assert ages_told(grow)
    assert not ages_told({**grow, "min_count": 3})


def test_joins_of_others_are_not_said_to_be_empty() -> None:
    told = {
        "class": "x.c",
        "joins": [{"left": "x.k", "right": "y.k"}, {"left": "y.l", "right": "z.l"}],
        "tables": {"x": {"site": "a"}, "y": {"site": "b"}, "z": {"site": "c"}},
    }
    tables = {
        "x": pa.table({"k": ["p", "q"], "c": ["n", "y"]}),
        "y": pa.table({"k": ["r"], "l": ["s"]}), "z": pa.table({"l": ["s"]}),
    }  # fmt: skip
    with pytest.raises(InputError, match="the join is empty") as refused:
        train_at_sites(told, tables)
    assert '"y" and "z"' not in str(refused.value)


SITED = """
class = "T1.Class"
[tables.T1]
site = "a"
[tables.T2]
site = "b"
[tables.T3]
site = "c"
[[joins]]
left = "T1.J1"
right = "T2.J1"
[[joins]]
left = "T1.J2"
right = "T3.J2"
"""


def test_a_schema_of_sites_without_a_party_says_what_is_missing(tmp_path: Path) -> None:
    asked = tmp_path / "schema.toml"
    asked.write_text(SITED)
    said = run("tree", "train", asked, "-o", tmp_path / "model", code=2).stderr
    words = " ".join(said.split())
    assert "these tables stay at their sites, and --party is missing: T1, T2, T3" in words
    assert "give --party PARTY.toml instead of the schema" in words


def test_a_model_of_sites_is_classified_by_all(tmp_path: Path) -> None:
    write_model(train_at_sites(schema(grow={"prune": False}), TABLES)["a"], tmp_path)
    asked = tmp_path / "schema.toml"
    asked.write_text(SITED)
    said = run("tree", "classify", tmp_path, asked, "-o", tmp_path / "c.csv", code=2).stderr
    words = " ".join(said.split())
    assert "a tree of several sites, which keep what it asks to themselves" in words
    assert "--party PARTY.toml MODEL --records IDS.csv" in words
