"""Joins with earlier releases where texts could be taken for something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import reticent
from reticent import InputError, Unsatisfiable
from reticent.table.delimited import Reading


def table(**columns: list[Any]) -> pa.Table:
    return pa.table(columns)


def saved(path: Path, **columns: list[Any]) -> dict[str, str]:
    pq.write_table(table(**columns), path)
    return {"path": str(path)}


SUPPRESSED = {"mask": "suppress"}


def test_a_marker_that_also_means_missing_still_hides(tmp_path: Path) -> None:
    """What the earlier release hides may be anybody, whatever the policy calls missing."""
    old = table(J=["u"] * 3 + ["v", "w", None, None], R=["r"] * 3 + ["z", "r", "r", "r"])
    earlier: dict[str, Any] = {
        "marker": "?", "keep": ["R"], "attributes": {"J": SUPPRESSED},
        "anonymity": [{"over": ["J"], "k": 2}],
    }  # fmt: skip
    reticent.release(old, earlier, output=tmp_path / "old")
    new = table(J=["u"] * 3 + [None] * 4, Q=["x"] * 7, C=["1", "1", "2", "1", "1", "1", "2"])
    policy: dict[str, Any] = {
        "keep": "*", "class": "C", "previous": {"a": {"path": str(tmp_path / "old")}},
        "attributes": {"J": SUPPRESSED, "Q": SUPPRESSED},
        "anonymity": [{"over": ["J", "Q", "a.R", "a.J"], "k": 4}],
    }  # fmt: skip
    plain = reticent.release(new, policy)
    told = reticent.release(new, {**policy, "missing_values": ["?"]})
    assert told.before[0].value == plain.before[0].value == 3
    assert told.table.equals(plain.table)


@pytest.mark.parametrize("of", [["a.Id", "b.Pid"], ["b.Pid", "a.Id"]])
def test_people_counted_in_two_releases_one_of_which_misses_them(
    of: list[str], tmp_path: Path
) -> None:
    a = saved(tmp_path / "a.parquet", J=["u", "u", "v", "v"], Id=[None, None, "1", "2"])
    b = saved(tmp_path / "b.parquet", J=["u", "u", "v", "v"], Pid=["1", "2", "3", "4"])
    new = table(J=["u", "u", "v", "v"], Q=["x", "y", "x", "y"])
    policy: dict[str, Any] = {
        "keep": "*", "previous": {"a": {**a, "drop": ["Id"]}, "b": {**b, "drop": ["Pid"]}},
        "attributes": {"Q": SUPPRESSED}, "anonymity": [{"over": ["Q"], "of": of, "k": 4}],
    }  # fmt: skip
    assert reticent.release(new, policy).proof.findings[0].value == 4
    policy["anonymity"][0]["k"] = 5
    with pytest.raises(Unsatisfiable):
        reticent.release(new, policy)


def test_more_pairs_than_can_be_counted_are_refused(tmp_path: Path) -> None:
    old = saved(tmp_path / "old.parquet", R=["r"] * 60_000)
    new = table(Q=["x", "y"] * 30_000)
    policy: dict[str, Any] = {
        "previous": dict.fromkeys(("a", "b", "c"), old),
        "anonymity": [{"over": ["Q", "a.R", "b.R", "c.R"], "k": 1000}],
    }
    with pytest.raises(InputError, match="more pairs of records than can be counted"):
        reticent.release(new, policy)
    policy["anonymity"][0]["over"] = ["Q", "a.R", "b.R"]
    assert reticent.release(new, policy).proof.findings[0].value == 30_000 * 60_000**2


def test_a_value_that_is_another_tables_marker_is_a_value(tmp_path: Path) -> None:
    old = table(J=["u", "v", "w"] + ["*"] * 5, R=["s"] * 8)
    earlier: dict[str, Any] = {
        "marker": "#", "keep": ["J"], "attributes": {"R": SUPPRESSED},
        "anonymity": [{"over": ["R"], "k": 2}],
    }  # fmt: skip
    reticent.release(old, earlier, output=tmp_path / "old")
    new = table(J=["u", "v", "w"], Q=["x", "y", "x"])
    policy: dict[str, Any] = {
        "previous": {"a": {"path": str(tmp_path / "old")}},
        "attributes": {
            "J": {"mask": "generalize", "taxonomy": {"ANY": {"E": ["u", "w"], "v": {}}}},
            "Q": SUPPRESSED,
        },
        "anonymity": [{"over": ["Q", "a.R"], "k": 1}, {"over": ["J"], "k": 1}],
    }
    with pytest.raises(InputError, match="neither in its taxonomy"):
        reticent.release(new, policy)


def test_dates_in_the_words_of_the_files(tmp_path: Path) -> None:
    days = [f"{day:02d}.0{month}.2020" for month in (1, 5, 8) for day in (2, 9, 11)]
    bins = ["2020-01-01", "2020-04-01", "2020-07-01", "2020-12-31"]
    reading = Reading(date_format="%d.%m.%Y")
    dates = {"mask": "discretize", "intervals": bins}
    first: dict[str, Any] = {
        "keep": "*", "attributes": {"Day": dates}, "anonymity": [{"over": ["Day"], "k": 3}],
    }  # fmt: skip
    (tmp_path / "old.csv").write_text("\n".join(["Day,R", *(f"{day},r" for day in days)]) + "\n")
    reticent.release(tmp_path / "old.csv", first, output=tmp_path / "old", reading=reading)
    (tmp_path / "new.csv").write_text("\n".join(["Day,Q", *(f"{day},q" for day in days)]) + "\n")
    for path in ("old", "old.csv"):
        policy: dict[str, Any] = {
            "attributes": {"Day": dates}, "previous": {"a": {"path": str(tmp_path / path)}},
            "keep": ["Q"], "anonymity": [{"over": ["Day", "a.Day", "a.R"], "k": 3}],
        }  # fmt: skip
        found = reticent.release(tmp_path / "new.csv", policy, reading=reading)
        assert found.proof.holds
        assert found.meets[0].columns == ("Day",)
