"""Sites as processes: the same model at all, as one site would grow it, or none at any."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import csv

from kills_at_hand import ALL_DONE, COUNTS, came_through, dies_at, drawn, moments_of, until_done
from reticent import jointree
from reticent.jointree.model import JoinTree, Question, read_model
from reticent.jointree.schema import JoinSchema
from sites.sites_at_hand import put_together
from sites.sites_at_work import Sites, schema_of
from terminal import finished, run

pytestmark = pytest.mark.net
THREE = {"visit": "clinic", "ward": "works", "meal": "kitchen"}
TRAIN = ("train", "--party", "party.toml")
NEEDLES = ("vneedle", "wneedle", "mneedle", "roastneedle")


def alone(sites: Sites) -> JoinTree:
    """What one site grows that has all tables."""
    schema = JoinSchema.parse(schema_of(sites.site_of, sites.grow))
    return jointree.train(schema, dict(sites.tables)).tree


def plain(node: Any) -> Any:
    asks = node.asks and (node.asks.table, node.asks.column, node.asks.test, node.asks.values,
                          node.asks.missing)  # fmt: skip
    return asks, node.counts, [plain(branch) for branch in node.branches]


@pytest.mark.parametrize("site_of", [{"visit": "clinic", "ward": "works", "meal": "works"}, THREE],
                         ids=["two", "three"])  # fmt: skip
def test_sites_grow_the_tree_of_one(tmp_path: Path, site_of: Mapping[str, str]) -> None:
    sites = Sites(tmp_path, site_of)
    ends = sites.train("--json")
    assert [end[0] for end in ends.values()] == [0] * len(sites.names), ends
    sites.see_same()
    trees = {name: read_model(sites.out(name)) for name in sites.names}
    owners = {n.asks.site for tree in trees.values() for n in tree.root.walk() if n.asks}
    assert len(owners) > 1
    for name in sites.names:
        told = json.loads(ends[name][1])
        assert told["comparisons"] >= told["splits_before_pruning"] > 0
        assert told["messages"] > 20
        everything = ends[name][1] + ends[name][2]
        assert not [needle for needle in NEEDLES if needle in everything]
        shown = run("tree", "show", sites.out(name)).stdout
        for table, column in (("visit", "age"), ("ward", "beds"), ("meal", "kind")):
            asked = any(isinstance(n.asks, Question) and n.asks.table == table
                        for n in trees[name].root.walk())  # fmt: skip
            assert (f"{table}.{column}" in shown) == asked
            assert not asked or site_of[table] == name
        others = {table for table, site in site_of.items() if site != name}
        kept = sites.out(name)
        files = [p for p in kept.rglob("*") if p.is_file() and p.name != "schema.toml"]
        content = b"".join(path.read_bytes() for path in files)
        for table in others:
            for column in ("age", "beds", "kind"):
                if column in sites.tables[table].column_names:
                    assert f'"{column}"'.encode() not in content
        assert b"needle" not in content or name != "clinic"
    assert plain(put_together(trees)) == plain(alone(sites).root)


def test_records_are_classified_by_all(tmp_path: Path) -> None:
    sites = Sites(tmp_path)
    assert {end[0] for end in sites.train().values()} == {0}
    tree = alone(sites)
    joined = jointree.classify(
        tree,
        JoinSchema.parse(schema_of(sites.site_of, sites.grow)),
        dict(sites.tables),
        joined=True,
    ).table.slice(0, 40)
    for name in sites.names:
        csv.write_csv(joined.drop_columns(["class"]), sites.folder / name / "ids.csv")
    asked = ("classify", "--party", "party.toml", "out", "--records", "ids.csv", "-o")
    ends = sites.all(*asked, "classes.csv", "--json")
    assert {end[0] for end in ends.values()} == {0}, ends
    for name in sites.names:
        found = csv.read_csv(sites.folder / name / "classes.csv")
        assert found.column_names == joined.column_names
        assert found["class"].to_pylist() == joined["class"].to_pylist()
        assert json.loads(ends[name][1])["records"] == 40
        (sites.folder / name / "classes.csv").unlink()
    # Another order at one of them, too many, and a row that nobody has.
    csv.write_csv(joined.drop_columns(["class"])[::-1], sites.folder / "works" / "ids.csv")
    ends = sites.all(*asked, "classes.csv")
    assert {end[0] for end in ends.values()} == {4}
    assert "other records, or in another order" in ends["clinic"][2]
    end = finished(sites.start("clinic", *asked, "classes.csv", "--most-records", "39"))
    assert end[0] == 2
    assert "--most-records 40" in end[2]
    strange = joined.drop_columns(["class"]).to_pylist()
    strange[3]["ward.w"] = "nobody"
    for name in sites.names:
        csv.write_csv(pa.Table.from_pylist(strange), sites.folder / name / "ids.csv")
    ends = sites.all(*asked, "classes.csv")
    assert (ends["works"][0], ends["clinic"][0]) == (2, 4), ends
    assert 'line 5 names no row of the table "ward"' in ends["works"][2]
    assert not [*sites.folder.glob("*/classes.csv")]


def test_too_few_records_end_it_before_any_split(tmp_path: Path) -> None:
    sites = Sites(tmp_path, grow={"min_count": 50})
    ends = sites.train()
    assert {end[0] for end in ends.values()} == {3}, ends
    assert "fewer than min_count = 50 records" in ends["works"][2] + ends["clinic"][2]
    sites.see_nothing()


def test_another_schema_or_other_tables_are_refused(tmp_path: Path) -> None:
    sites = Sites(tmp_path, more={"meet_timeout": 60})
    text = schema_of(sites.site_of, {"prune": False, "max_depth": 5})
    (sites.folder / "works" / "schema.toml").write_text(text)
    ends = sites.train()
    assert {end[0] for end in ends.values()} == {4}
    assert "another one" in ends["clinic"][2]
    sites.agree_on(schema_of(sites.site_of, sites.grow).replace("ward.beds", "x"))
    party = sites.folder / "clinic" / "party.toml"
    party.write_text(party.read_text().replace("[data]", '[data]\nward = "ward.csv"'))
    end = finished(sites.start("clinic", "train", "--party", "party.toml"))
    assert end[0] == 2
    assert 'the table "ward" is not of this site' in end[2]
    sites.see_nothing()


def test_an_interrupted_site_ends_all(tmp_path: Path) -> None:
    """Ctrl-C amid the nodes; both go on from there."""
    sites = Sites(tmp_path, more={"meet_timeout": 60, "step_timeout": 60})
    first = dies_at(70).replace("SIGKILL", "SIGINT")
    running = {name: sites.start(name, *TRAIN, first=first * (name == "works"))
               for name in sites.names}  # fmt: skip
    ends = {name: finished(process) for name, process in running.items()}
    assert (ends["works"][0], ends["clinic"][0]) == (130, 4), ends
    assert "go on with --resume" in " ".join(ends["works"][2].split())
    sites.see_nothing()
    assert {end[0] for end in sites.train("--resume").values()} == {0}
    sites.see_same()


@pytest.mark.slow
def test_who_resumes_with_other_data_ends_all_and_all_can_go_on(tmp_path: Path) -> None:
    sites = Sites(tmp_path, more={"meet_timeout": 60, "step_timeout": 60})
    clinic = sites.start("clinic", *TRAIN, first=dies_at(70))
    works = sites.start("works", *TRAIN)
    assert finished(clinic)[0] == -9
    data = sites.folder / "clinic" / "visit.csv"
    before = data.read_text()
    data.write_text(before.replace('"yes"', '"no"', 3))
    code, _, said = finished(sites.start("clinic", *TRAIN, "--resume"))
    assert (code, "our data have changed" in said) == (2, True), said
    code, _, said = finished(works)
    assert (code, "--resume where a folder OUTPUT.run stands" in " ".join(said.split())) == (
        4,
        True,
    )
    data.write_text(before)
    assert {end[0] for end in sites.train("--resume").values()} == {0}
    sites.see_same()


READY_FOR_ANOTHER = """
from reticent.jointree.sites import process
process._digest = lambda folder: bytes(32)
"""


def test_a_site_that_is_ready_for_another_model_gets_none(tmp_path: Path) -> None:
    sites = Sites(tmp_path, more={"meet_timeout": 60, "step_timeout": 60})
    running = {name: sites.start(name, *TRAIN, first=READY_FOR_ANOTHER * (name == "works"))
               for name in sites.names}  # fmt: skip
    ends = {name: finished(process) for name, process in running.items()}
    assert {end[0] for end in ends.values()} == {4}, ends
    said = " ".join(ends["clinic"][2].split())
    assert "what it is ready for is not ours" in said
    assert "works, ready" in said
    sites.see_nothing()


@pytest.fixture(scope="module")
def moments(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """How many moments each site has to die at."""
    sites = Sites(tmp_path_factory.mktemp("moments"))
    running = {name: sites.start(name, *TRAIN, first=COUNTS) for name in sites.names}
    assert {finished(process)[0] for process in running.values()} == {0}
    return {name: moments_of(sites.folder / name) for name in sites.names}


# Four moments; RETICENT_KILLS=100 has a hundred.
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(max(4, int(os.environ.get("RETICENT_KILLS", "4")))))
def test_a_kill_at_any_moment(tmp_path: Path, seed: int, moments: Mapping[str, int]) -> None:
    sites = Sites(tmp_path, more={"meet_timeout": 30, "step_timeout": 30})

    def start(name: str, *words: object, first: str = "") -> subprocess.Popen[str]:
        return sites.start(name, *TRAIN, *words, first=first)

    history = until_done(
        sites.folder, start, sites.names, drawn(seed, moments), sites.see_whole_or_nothing
    )
    assert came_through(history) == {*sites.names}, history
    sites.see_same()
    trees = {name: read_model(sites.out(name)) for name in sites.names}
    assert plain(put_together(trees)) == plain(alone(sites).root)


DIES_WHEN_ALL_BUT_FORGOTTEN = """
import os, shutil, signal
remove = shutil.rmtree
def dying(path, *given, **named):
    if ".out.run." in str(path):
        os.kill(os.getpid(), signal.SIGKILL)
    remove(path, *given, **named)
shutil.rmtree = dying
"""


def test_a_kill_when_all_is_done_leaves_nothing_to_do(tmp_path: Path) -> None:
    """Its run was all but gone: it says so, and what was left of it goes."""
    sites = Sites(tmp_path, more={"meet_timeout": 60, "step_timeout": 60})
    running = {name: sites.start(name, *TRAIN, first=DIES_WHEN_ALL_BUT_FORGOTTEN * (name == "works"))
               for name in sites.names}  # fmt: skip
    ends = {name: finished(process) for name, process in running.items()}
    assert (ends["clinic"][0], ends["works"][0]) == (0, -9), ends
    place = sites.folder / "works"
    assert [path for path in place.iterdir() if path.name.startswith(".out.run.")]
    code, _, said = finished(sites.start("works", *TRAIN, "--resume"))
    assert (code, ALL_DONE in " ".join(said.split())) == (2, True), said
    sites.see_same()
