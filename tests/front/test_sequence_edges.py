"""Joins with earlier releases where texts could be taken for something else."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import reticent
from at_hand import refusal
from reticent import Policy, Unsatisfiable
from reticent.files.delimited import Reading


def table(**columns: list[Any]) -> pa.Table:
    return pa.table(columns)


def saved(path: str, **columns: list[Any]) -> dict[str, str]:
    pq.write_table(table(**columns), path)
    return {"path": path}


pytestmark = pytest.mark.usefixtures("work")
SUPPRESSED = {"mask": "suppress"}


def test_a_marker_that_also_means_missing_still_hides() -> None:
    """What the earlier release hides may be anybody, whatever the policy calls missing."""
    old = table(J=["u"] * 3 + ["v", "w", None, None], R=["r"] * 3 + ["z", "r", "r", "r"])
    earlier: dict[str, Any] = {
        "marker": "?", "keep": ["R"], "attributes": {"J": SUPPRESSED},
        "anonymity": [{"over": ["J"], "k": 2}],
    }  # fmt: skip
    reticent.release(old, earlier, output="old")
    new = table(J=["u"] * 3 + [None] * 4, Q=["x"] * 7, C=["1", "1", "2", "1", "1", "1", "2"])
    policy: dict[str, Any] = {
        "keep": "*", "class": "C", "previous": {"a": {"path": "old"}},
        "attributes": {"J": SUPPRESSED, "Q": SUPPRESSED},
        "anonymity": [{"over": ["J", "Q", "a.R", "a.J"], "k": 4}],
    }  # fmt: skip
    plain = reticent.release(new, policy)
    told = reticent.release(new, {**policy, "missing_values": ["?"]})
    assert told.before[0].value == plain.before[0].value == 3
    assert told.table.equals(plain.table)


@pytest.mark.parametrize("of", [["a.Id", "b.Pid"], ["b.Pid", "a.Id"]])
def test_people_counted_in_two_releases_one_of_which_misses_them(of: list[str]) -> None:
    a = saved("a.parquet", J=["u", "u", "v", "v"], Id=[None, None, "1", "2"])
    b = saved("b.parquet", J=["u", "u", "v", "v"], Pid=["1", "2", "3", "4"])
    new = table(J=["u", "u", "v", "v"], Q=["x", "y", "x", "y"])
    policy: dict[str, Any] = {
        "keep": "*", "previous": {"a": {**a, "drop": ["Id"]}, "b": {**b, "drop": ["Pid"]}},
        "attributes": {"Q": SUPPRESSED}, "anonymity": [{"over": ["Q"], "of": of, "k": 4}],
    }  # fmt: skip
    assert reticent.release(new, policy).proof.findings[0].value == 4
    policy["anonymity"][0]["k"] = 5
    refusal(lambda: reticent.release(new, policy), kind=Unsatisfiable)


def test_more_pairs_than_can_be_counted_are_refused() -> None:
    old = saved("old.parquet", R=["r"] * 60_000)
    new = table(Q=["x", "y"] * 30_000)
    policy: dict[str, Any] = {
        "previous": dict.fromkeys(("a", "b", "c"), old),
        "anonymity": [{"over": ["Q", "a.R", "b.R", "c.R"], "k": 1000}],
    }
    refusal(lambda: reticent.release(new, policy), "more pairs of records than can be counted")
    policy["anonymity"][0]["over"] = ["Q", "a.R", "b.R"]
    assert reticent.release(new, policy).proof.findings[0].value == 30_000 * 60_000**2


def test_a_value_that_is_another_tables_marker_is_a_value() -> None:
    old = table(J=["u", "v", "w"] + ["*"] * 5, R=["s"] * 8)
    earlier: dict[str, Any] = {
        "marker": "#", "keep": ["J"], "attributes": {"R": SUPPRESSED},
        "anonymity": [{"over": ["R"], "k": 2}],
    }  # fmt: skip
    reticent.release(old, earlier, output="old")
    new = table(J=["u", "v", "w"], Q=["x", "y", "x"])
    policy: dict[str, Any] = {
        "previous": {"a": {"path": "old"}},
        "attributes": {
            "J": {"mask": "generalize", "taxonomy": {"ANY": {"E": ["u", "w"], "v": {}}}},
            "Q": SUPPRESSED,
        },
        "anonymity": [{"over": ["Q", "a.R"], "k": 1}, {"over": ["J"], "k": 1}],
    }
    refusal(lambda: reticent.release(new, policy), "neither in its taxonomy")


def test_dates_in_the_words_of_the_files() -> None:
    days = [f"{day:02d}.0{month}.2020" for month in (1, 5, 8) for day in (2, 9, 11)]
    bins = ["2020-01-01", "2020-04-01", "2020-07-01", "2020-12-31"]
    reading = Reading(date_format="%d.%m.%Y")
    dates = {"mask": "discretize", "intervals": bins}
    first: dict[str, Any] = {
        "keep": "*", "attributes": {"Day": dates}, "anonymity": [{"over": ["Day"], "k": 3}],
    }  # fmt: skip
    Path("old.csv").write_text("\n".join(["Day,R", *(f"{day},r" for day in days)]) + "\n")
    reticent.release("old.csv", first, output="old", reading=reading)
    Path("new.csv").write_text("\n".join(["Day,Q", *(f"{day},q" for day in days)]) + "\n")
    for path in ("old", "old.csv"):
        policy: dict[str, Any] = {
            "attributes": {"Day": dates}, "previous": {"a": {"path": path}},
            "keep": ["Q"], "anonymity": [{"over": ["Day", "a.Day", "a.R"], "k": 3}],
        }  # fmt: skip
        found = reticent.release("new.csv", policy, reading=reading)
        assert found.proof.holds
        assert found.meets[0].columns == ("Day",)


DAYS = {"mask": "discretize", "intervals": ["2019-01-01", "2020-01-01", "2021-01-01"]}


@pytest.mark.parametrize("form", [None, "%d.%m.%Y", "%m/%Y", "%Y%m%d"])
def test_a_pair_rules_out_times_however_they_are_written(form: str | None) -> None:
    """Of those who may live at 1, all have HIV, as Flu is ruled out for whoever was there in 2019."""
    written = {"2019": "2019-05-01", "2020": "2020-06-01"}
    if form:
        written = {y: datetime.fromisoformat(day).strftime(form) for y, day in written.items()}
    old = f"D,Zip\n{written['2019']},1\n{written['2020']},2\n{written['2020']},2\n"
    Path("old.csv").write_text(old)
    Path("new.csv").write_text("T,K,Q\nHIV,k,a\nFlu,k,a\nFlu,k,a\n")
    policy: dict[str, Any] = {
        "previous": {"old": {"path": "old.csv"}}, "keep": ["K"],
        "attributes": {"D": DAYS}, "inconsistent": [{"T": "Flu", "D": "[2019-01-01,2020-01-01)"}],
        "confidence": [{"over": ["Q", "old.Zip"], "sensitive": {"T": ["HIV"]}, "at_most": "1/2"}],
    }  # fmt: skip
    reading = Reading(date_format=form)
    refusal(lambda: reticent.release("new.csv", policy, reading=reading), kind=Unsatisfiable)
    proof = reticent.verify("new.csv", policy, reading=reading)
    assert proof.findings[0].value == 1
    assert not proof.holds


@pytest.mark.parametrize("form", ["%d.%m.%Y", "%m/%Y"])
def test_times_of_both_sides_meet_however_they_are_written(form: str) -> None:
    days = [datetime(2019, 5, 1), datetime(2020, 6, 1), datetime(2019, 7, 1), datetime(2020, 8, 1)]
    lines = [day.strftime(form) for day in days]
    Path("new.csv").write_text("D,Q\n" + "".join(f"{day},a\n" for day in lines))
    Path("old.csv").write_text("D,Zip\n" + "".join(f"{day},1\n" for day in lines))
    policy: dict[str, Any] = {
        "previous": {"old": {"path": "old.csv"}}, "attributes": {"D": DAYS},
        "anonymity": [{"over": ["D", "Q", "old.D", "old.Zip"], "k": 2}],
    }  # fmt: skip
    reading = Reading(date_format=form)
    found = reticent.release("new.csv", policy, reading=reading)
    assert found.proof.findings[0].value == 2


@pytest.mark.parametrize(("age", "listed"), [({"range": [0, 100]}, "[0,50)"), ({}, "5")])
def test_a_pair_about_learnt_intervals_is_refused(age: dict[str, Any], listed: str) -> None:
    old = saved("old.parquet", St=["married", "single"], Zip=["1", "2"])
    new = table(Age=[5, 20, 60, 80], Q=["a", "b", "a", "b"], C=["x", "y", "x", "y"])
    policy: dict[str, Any] = {
        "previous": {"old": old}, "class": "C", "inconsistent": [{"Age": listed, "St": "married"}],
        "attributes": {"Age": {"mask": "discretize", **age}},
        "anonymity": [{"over": ["Age", "Q", "old.Zip"], "k": 1}],
    }  # fmt: skip
    refusal(lambda: reticent.release(new, policy), "which intervals of column")


def test_printed_intervals_of_ours_meet_those_of_theirs() -> None:
    old = saved("old.parquet", Age=["[0,5)", "[5,20]"], Zip=["1", "1"])
    new = table(Age=["[0,10)", "[10,20]"], Q=["a", "a"])
    policy: dict[str, Any] = {
        "previous": {"old": old}, "keep": ["Age"], "attributes": {"Age": {"intervals": [0, 10, 20]}},
        "anonymity": [{"over": ["Q", "old.Zip"], "k": 3}],
    }  # fmt: skip
    assert reticent.release(new, policy).proof.findings[0].value == 3
    odd = table(Age=["[0,10)", "old"], Q=["a", "a"])
    refusal(lambda: reticent.release(odd, policy), "neither points nor intervals")


@pytest.mark.parametrize("most", [2_000_000, 0], ids=["real join", "products"])
def test_groups_that_break_a_promise_are_counted_one_by_one(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reticent.privacy.rejoin_fast.MOST_ROWS", most)
    old = saved("old.parquet", J=["u"] * 11, Zip=["1"] + ["2"] * 10)
    policy: dict[str, Any] = {
        "previous": {"old": old}, "anonymity": [{"over": ["Q", "J", "old.J", "old.Zip"], "k": 20}],
    }  # fmt: skip
    [found] = reticent.verify(table(J=["u"] * 4, Q=["a"] * 4), policy).findings
    assert (found.value, found.groups, found.rows) == (4, 2, 1)


def test_people_one_of_whom_has_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reticent.tables.masking.MANY", 0)
    new = table(Id=["?", *map(str, range(29))], Q=["a", "b", "c"] * 10)
    policy: dict[str, Any] = {
        "drop": ["Id"], "missing_values": ["?"],
        "anonymity": [{"over": ["Q"], "of": ["Id"], "k": 2}],
    }  # fmt: skip
    assert reticent.release(new, policy, output="out.csv").proof.findings[0].value == 9


def test_a_folder_that_nobody_may_look_into_is_no_neighbour(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("closed").mkdir()
    looks = Path.is_file

    def is_file(path: Path) -> bool:
        if "closed" in path.parts:
            raise PermissionError
        return looks(path)

    monkeypatch.setattr(Path, "is_file", is_file)
    policy = {"anonymity": [{"over": ["Q"], "k": 1}]}
    assert reticent.release(table(Q=["a"]), policy, output="out").proof.holds


def test_what_a_kept_policy_names_is_found_from_where_it_lies() -> None:
    for name in ("policies", "trees"):
        Path(name).mkdir()
    Path("trees/q.csv").write_text("a,ANY\nb,ANY\n")
    policy = (
        '[attributes.Q]\nmask = "generalize"\ntaxonomy = "../trees/q.csv"\n'
        '[[anonymity]]\nover = ["Q"]\nk = 1\n'
    )
    Path("policies/p.toml").write_text(policy)
    new = table(Q=["a", "b"])
    reticent.release(new, "policies/p.toml", output="out")
    again = reticent.release(new, "out/private/policy.toml")
    assert again.proof.holds


@pytest.mark.slow
def test_many_people_in_three_releases_are_counted_by_whom_they_may_be() -> None:
    """50,000 to the fourth is more than can be counted; the join has far fewer pairs."""
    keys = [f"k{i % 5000}" for i in range(50_000)]
    old = saved("old.parquet", K=keys, R=["r", "s"] * 25_000)
    new = table(K=keys, Q=["x", "y"] * 25_000)
    policy: dict[str, Any] = {
        "keep": ["K"], "previous": dict.fromkeys(("a", "b", "c"), old),
        "anonymity": [{"over": ["Q", "a.R", "b.R", "c.R"], "k": 1000}],
    }  # fmt: skip
    found = reticent.release(new, policy).proof.findings[0]
    assert found.value == 2500 * 10**4  # who is x has an even key, and with it r, ten times


def test_columns_of_theirs_may_have_a_taxonomy_though_no_template_names_them() -> None:
    old = saved("old.parquet", Zip=["1", "2"])
    policy: dict[str, Any] = {
        "previous": {"old": old}, "anonymity": [{"over": ["Q"], "k": 1}],
        "attributes": {"Zip": {"mask": "generalize", "taxonomy": {"Z": ["1", "2"]}}},
    }  # fmt: skip
    found = reticent.release(table(Q=["a", "b"]), policy)
    assert "no template names a column of it" in found.prepared.warnings[0]


def test_a_release_named_by_its_data_is_no_stranger() -> None:
    plain: dict[str, Any] = {"keep": ["R"], "anonymity": [{"over": ["J"], "k": 1}]}
    reticent.release(table(J=["u", "v"], R=["r", "r"]), plain, output="old")
    policy: dict[str, Any] = {
        "previous": {"a": {"path": "old/public/data.parquet"}},
        "anonymity": [{"over": ["J", "a.J", "a.R"], "k": 1}],
    }  # fmt: skip
    found = reticent.release(table(J=["u", "v"]), policy, output="new")
    assert not found.prepared.asides


def test_days_before_months_are_read_as_told() -> None:
    """The fifth of November is no eleventh of May, though it could be written so."""
    Path("old.csv").write_text("Born,Zip\n2001-05-11,z1\n2001-20-02,z2\n2001-20-02,z2\n")
    Path("new.csv").write_text("Born,C\n2001-05-11,a\n2001-20-02,b\n2001-20-02,b\n")
    policy: dict[str, Any] = {
        "class": "C", "previous": {"old": {"path": "old.csv"}},
        "attributes": {"Born": {"intervals": ["2001-01-01", "2001-06-01", "2002-01-01"]}},
        "anonymity": [{"over": ["Born", "old.Born", "old.Zip"], "k": 2}],
    }  # fmt: skip
    reading = Reading(date_format="%Y-%d-%m")
    found = reticent.release("new.csv", policy, output="out", reading=reading)
    assert not found.steps  # who was born in November would be alone
    assert reticent.verify("out", policy, reading=reading).holds


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_release_that_no_template_names_is_looked_at_all_the_same(engine: str) -> None:
    old = saved("old.parquet", City=["u", "v"], R=["r", "s"])
    pq.write_table(table(City=["u", "v"] * 5, Job=["a", "b"] * 5), "new.parquet")
    policy: dict[str, Any] = {
        "keep": ["City"], "previous": {"old": old}, "anonymity": [{"over": ["Job"], "k": 2}],
        "inconsistent": [{"City": "u", "R": "s"}],
    }  # fmt: skip
    reticent.release("new.parquet", policy, output="out", engine=engine)
    assert reticent.verify("out", policy, engine=engine).holds


@pytest.mark.parametrize(
    ("values", "attribute", "pair"),
    [
        (["[unknown]", "Cook"], {"mask": "suppress"}, "Cook"),
        (["[unknown]", "Cook"], None, "Cook"),
        (["5", "40"], {"mask": "generalize",
                       "taxonomy": {"A": {"[0,18)": ["5"], "[18,99]": ["40"]}}}, "[0,18)"),
    ],
)  # fmt: skip
def test_what_looks_like_an_interval_and_is_none(
    values: list[str], attribute: dict[str, Any] | None, pair: str
) -> None:
    old = saved("old.parquet", Cond=["x", "y"], J=values)
    policy: dict[str, Any] = {
        "previous": {"old": old}, "inconsistent": [{"J": pair, "Cond": "x"}],
        "attributes": {"J": attribute} if attribute else {},
        "anonymity": [{"over": ["J", "old.J", "old.Cond"], "k": 1}],
    }  # fmt: skip
    new = table(J=[values[1], values[1], values[0]])
    if pair == "[0,18)":
        policy["inconsistent"] = [{"J": pair, "Cond": "y"}]
        new = table(J=values)
    else:
        old_cells = {"Cond": ["x", "y", "y"], "J": [values[0], values[1], values[1]]}
        policy["previous"] = {"old": saved("old.parquet", **old_cells)}
    found = reticent.release(new, policy, output="out")
    assert found.proof.holds
    assert reticent.verify("out", policy).holds


def test_columns_that_nobody_publishes_may_be_spoken_of() -> None:
    old = saved("old.parquet", J=["u", "v"], R=["r", "r"])
    policy: dict[str, Any] = {
        "drop": ["Pay"], "previous": {"old": {**old, "drop": ["Id"]}},
        "attributes": {"Pay": {"intervals": [0, 10]}, "Id": {"mask": "suppress"}},
        "anonymity": [{"over": ["J", "old.J", "old.R"], "k": 1}],
    }  # fmt: skip
    whole = saved("whole.parquet", J=["u", "v"], R=["r", "r"], Id=["1", "2"])
    ours: dict[str, Any] = {**policy, "previous": {"old": {**whole, "drop": ["Id"]}}}
    reticent.release(table(J=["u", "v"], Pay=[1, 2]), ours, output="out")
    assert reticent.verify("out", policy).holds


def test_an_earlier_manifest_tells_the_tree_of_a_column_that_only_joins() -> None:
    Path("j.csv").write_text("u,E,ANY\nv,E,ANY\nw,ANY\n")
    tree = {"mask": "generalize", "taxonomy": "j.csv"}
    first = Policy.from_data(
        {"keep": ["R"], "attributes": {"J": tree}, "anonymity": [{"over": ["J"], "k": 1}]}
    )
    second = Policy.from_data(
        {
            "keep": ["J"], "attributes": {"J": tree},
            "previous": {"a": {"path": "old"}},
            "anonymity": [{"over": ["Q", "a.R"], "k": 1}],
        }
    )  # fmt: skip
    for name, policy in (("first.toml", first), ("second.toml", second)):
        Path(name).write_text(policy.canonical())
    old = table(J=["u", "v", "w"], R=["r", "r", "s"])
    reticent.release(old, "first.toml", output="old")
    new = table(J=["u", "v", "w"], Q=["x", "x", "y"])
    reticent.release(new, "second.toml", output="new")
    Path("j.csv").unlink()
    assert reticent.verify("new", "second.toml").holds


def test_a_kept_policy_finds_its_way_behind_links() -> None:
    Path("deep/er").mkdir(parents=True)
    Path("link").symlink_to("deep/er")
    saved("old.parquet", J=["u", "v"], R=["r", "r"])
    policy = '[previous.old]\npath = "old.parquet"\n[[anonymity]]\nover = ["J", "old.J", "old.R"]\nk = 1\n'
    Path("p.toml").write_text(policy)
    place = Path("link/out")
    reticent.release(table(J=["u", "v"]), "p.toml", output=place)
    assert reticent.verify(place, place / "private" / "policy.toml").holds
