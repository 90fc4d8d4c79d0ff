"""Single entries at the command line and from Python, end to end."""

from __future__ import annotations

import html
import json
import os
import signal
from collections import Counter
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from at_hand import contents, refusal, rows_of, save, written
from entries_at_hand import JOBS, NAMES, POLICY, people, table
from reticent import entries
from reticent.entries import pages, report, text
from reticent.errors import InputError
from reticent.files.tabular import read_typed
from terminal import answer, interrupted_everywhere, run

ALL = ["sensitive-of-others", "conditions-of-others", "conditions-of-sensitive"]


def toml(**keys: Any) -> str:
    return entries.Policy.of(POLICY | keys).canonical()


@pytest.fixture
def here(work: Path) -> Path:
    """A folder with a table, requests and a policy."""
    save("in.csv", NAMES, people())
    (work / "requests.csv").write_text("record\n2\n5\n40\n")
    (work / "p.toml").write_text(toml(requests="requests.csv"))
    return work


def is_hidden_part(before: list[list[Any]], after: list[list[Any]]) -> bool:
    """Whether a table differs from another by nothing but empty cells."""
    cells = zip(before, after, strict=True)
    return all(a in ("", None, b) for x, y in cells for b, a in zip(x, y, strict=True))


# --- release -------------------------------------------------------------------------------------


@pytest.mark.parametrize("region", ALL)
def test_every_region(region: str) -> None:
    found = entries.release(table(), POLICY | {"may_hide": region, "min_support": 1})
    assert entries.verify(found.table, found.policy, original=table()).holds
    where = {
        (int(r), int(c)) for r, c in zip(found.search.records, found.search.columns, strict=True)
    }
    asked = {1, 4, 39}
    kind: Any = {
        "sensitive-of-others": lambda r, c: c == 2 and r not in asked,
        "conditions-of-others": lambda r, c: c < 2 and r not in asked,
        "conditions-of-sensitive": lambda r, c: c < 2 and r in asked,
    }[region]
    assert where
    assert all(kind(r, c) for r, c in where)


@pytest.mark.parametrize("strategy", ["max-descendant", "random", "random-max"])
def test_every_strategy_is_repeatable(strategy: str) -> None:
    keys = {"strategy": strategy, "seed": 3, "may_hide": "conditions-of-others"}
    one, two = (entries.release(table(), POLICY | keys) for _ in range(2))
    assert one.table.equals(two.table)
    assert one.finding is not None
    assert one.finding.holds


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz", ".parquet", ".arrow"])
def test_formats(suffix: str, here: Path) -> None:
    rows = table(code=pa.array([f"{i:04d}" for i in range(120)]))
    path = written(pl.DataFrame(rows), here / f"big{suffix}", suffix)
    (here / "p.toml").write_text(toml(keep=["age", "code"]))
    out = here / f"out{suffix}"
    run("entries", "release", path, "-p", "p.toml", "-o", out)
    run("entries", "verify", out, "-p", "p.toml", "--original", path)
    run("entries", "verify", out, "-p", "p.toml", "--original", "in.csv", code=2)  # no "code" there
    run("entries", "release", path, "-p", "p.toml", "-o", here / "folder")
    assert (here / f"folder/public/data{suffix}").exists()
    run("entries", "verify", here / "folder", "-p", "p.toml", "--original", path)


def frames() -> dict[str, Any]:
    arrow = table(born=pa.array([1_000_000_007 * i for i in range(120)], pa.int64()))
    return {"pandas": arrow.to_pandas(), "polars": pl.from_arrow(arrow), "lazy": pl.from_arrow(arrow).lazy(),  # type: ignore[union-attr]
            "pyarrow": arrow, "duckdb": duckdb.from_arrow(arrow)}  # fmt: skip


@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy", "pyarrow", "duckdb"])
def test_frames_come_back_as_they_came(kind: str) -> None:
    data = frames()[kind]
    keys = {"conditions": ["sex", "school", "born"], "may_hide": "conditions-of-sensitive"}
    found = entries.release(data, POLICY | keys)
    assert type(found.table) is type(data)
    assert entries.verify(found.table, POLICY | keys, original=data).holds
    if kind == "pandas":
        assert str(found.table["age"].dtype) == "int64"


def test_typed_columns_keep_their_types_beside_nulls() -> None:
    """Of a pandas frame too: floats would round large numbers."""
    large = 2**60 + 1
    frame = pd.DataFrame(
        {
            "n": [large] * 6 + [2] * 4,
            "yes": [True] * 6 + [False] * 4,
            "small": np.array([7] * 6 + [8] * 4, np.uint8),
            "day": pd.to_datetime(["2020-01-01"] * 6 + ["2021-01-01"] * 4),
            "x": [0.1] * 6 + [0.2] * 4,
            "s": [1] * 6 + [2] * 4,
        }
    )
    policy = {
        "conditions": ["n", "yes", "small", "day", "x"], "sensitive": "s", "requests": [1],
        "min_support": 1, "min_confidence": 0.5, "may_hide": "conditions-of-sensitive",
    }  # fmt: skip
    found = entries.release(frame, policy).table
    assert found.iloc[0].isna().all()
    assert [str(kind) for kind in found.dtypes[:3]] == ["Int64", "boolean", "UInt8"]
    assert str(found["s"].dtype) == "Int64"
    assert found["n"].tolist()[1:6] == [large] * 5
    typed = entries.release(pa.Table.from_pandas(frame), policy).table
    assert typed.schema.field("day").type == pa.timestamp(frame["day"].dt.unit)
    assert typed.schema.field("n").type == pa.int64()
    assert typed["x"].null_count == 1
    assert entries.verify(found, policy, original=frame).holds


DAYS = [date(2020, 1, 1), date(2021, 1, 1)] * 3
CLOCK = [time(1, 2, 3), time(4)] * 3
MOMENTS = [datetime(2020, 1, 1, 3), datetime(2021, 1, 1)] * 3
TYPED: dict[str, pa.Array] = {
    "large": pa.array(["a", "b"] * 3, pa.large_string()),
    "view": pa.array(["a", "b"] * 3, pa.string_view()),
    "categories": pa.array(["a", "b"] * 3).dictionary_encode(),
    "small codes": pa.array(["a", "b"] * 3).cast(pa.dictionary(pa.int8(), pa.string())),
    "views as categories": pa.DictionaryArray.from_arrays(
        pa.array([1, 0] * 3, pa.int8()), pa.array(["b", "a"], pa.string_view())
    ),
    "numbers as categories": pa.array([10, 9] * 3).dictionary_encode(),
    "truths as categories": pa.array([True, False] * 3).dictionary_encode(),
    "nothing": pa.nulls(6),
    "decimals": pa.array([Decimal("1.50"), Decimal("2.50")] * 3, pa.decimal32(5, 2)),
    "half": pa.array([1.5, 2.5] * 3, pa.float16()),
    "zoned": pa.array(MOMENTS, pa.timestamp("us", "Europe/Berlin")),
    "seconds": pa.array(MOMENTS, pa.timestamp("s")),
    "nanoseconds": pa.array(MOMENTS, pa.timestamp("ns")),
    "clock in seconds": pa.array(CLOCK, pa.time32("s")),
    "clock": pa.array(CLOCK, pa.time64("ns")),
    "days": pa.array(DAYS, pa.date32()),
    "days in milliseconds": pa.array(DAYS, pa.date64()),
}
IN_PARQUET = {  # which has no such types
    "seconds": pa.timestamp("ms"), "clock in seconds": pa.time32("ms"),
    "days in milliseconds": pa.date32(), "numbers as categories": pa.int64(),
    "view": pa.large_string(), "views as categories": pa.dictionary(pa.int8(), pa.string()),
    "truths as categories": pa.bool_(),
}  # fmt: skip
PLAIN: dict[str, Any] = {
    "conditions": "c", "sensitive": "s", "requests": [1], "min_support": 0, "min_confidence": 0.3,
    "may_hide": "conditions-of-sensitive",
}  # fmt: skip


@pytest.mark.parametrize("name", TYPED)
def test_every_arrow_type_stays(name: str, here: Path) -> None:
    cells = TYPED[name]
    came = pa.table({"c": cells, "s": pa.array(["x", "y"] * 3, pa.large_string())})
    found = entries.release(came, PLAIN)
    assert found.table.schema == came.schema
    assert found.table["c"].to_pylist() == [None, *came["c"].to_pylist()[1:]]
    for suffix in (".arrow", ".parquet"):
        out = here / f"out{suffix}"
        entries.release(came, PLAIN, output=out)
        wanted = IN_PARQUET.get(name, cells.type) if suffix == ".parquet" else cells.type
        assert read_typed(out, suffix).schema.field("c").type == wanted
        assert entries.verify(out, PLAIN, original=came).holds


def test_categories_tell_nothing_of_what_is_hidden() -> None:
    """Neither that a hidden one was there, nor, by their order, where it stood."""
    jobs = ["nurse", "baker", "pilot", "never"]  # in the order in which they were met
    ranks = ["low", "middle", "high", "never"]
    frame = pd.DataFrame(
        {
            "c": pd.Categorical(["z", "b", "a", "z", "a", "z"], categories=["z", "b", "a"]),
            "rank": pd.Categorical(["high", "low"] * 3, categories=ranks, ordered=True),
            "s": pd.Categorical(["nurse", "pilot", "baker", "nurse", "baker", "nurse"], jobs),
        }
    )
    policy = PLAIN | {"conditions": ["c", "rank"], "requests": [1, 2]}
    found = entries.release(frame, policy).table
    assert found["c"].isna().tolist() == [True, False, False, False, False, False]
    assert found["c"].cat.categories.tolist() == ["a", "b", "z"]
    assert found["rank"].dtype == pd.CategoricalDtype(["low", "high"], ordered=True)
    assert found["s"].cat.categories.tolist() == ["baker", "nurse"]
    assert entries.verify(found, policy, original=frame).holds


@pytest.mark.parametrize(
    "kind", ["string", "string[pyarrow]", "object", "str", "Float64", "Int16", "float[pyarrow]"]
)
def test_pandas_types_stay(kind: str) -> None:
    cells = ["a", "b"] * 3 if kind in ("string", "string[pyarrow]", "object", "str") else [1, 2] * 3
    frame = pd.DataFrame({"c": pd.Series(cells, dtype=kind), "s": ["x", "y"] * 3})
    found = entries.release(frame, PLAIN).table
    assert found["c"].dtype == frame["c"].dtype
    assert found["c"].isna().tolist() == [True] + [False] * 5


def test_an_index_is_no_column_and_stays_behind() -> None:
    frame = pd.DataFrame(
        {"c": ["a", "b"] * 3, "s": ["x", "y"] * 3}, index=[f"Ann {i}" for i in range(6)]
    )
    found = entries.release(frame, PLAIN).table
    assert found.index.equals(pd.RangeIndex(6))
    assert entries.verify(found, PLAIN, original=frame).holds
    assert not entries.verify(found.set_axis(frame.index), PLAIN, original=frame).holds


def test_durations_are_no_parquet(here: Path) -> None:
    rows = table(wait=pa.array([timedelta(seconds=i) for i in range(120)]))
    policy = POLICY | {"keep": ["age", "wait"]}
    parquet = partial(entries.release, rows, policy, output=here / "out.parquet")
    refusal(parquet, "Parquet has no durations")
    entries.release(rows, policy, output=here / "out.arrow")
    assert entries.verify(here / "out.arrow", policy, original=rows).holds


def test_what_is_dropped_may_be_of_any_type() -> None:
    odd = pa.array([[1], [2]] * 3)
    came = pa.table({"c": ["a", "b"] * 3, "s": ["x", "y"] * 3, "odd": odd})
    policy = PLAIN | {"drop": "odd"}
    found = entries.release(came, policy).table
    assert entries.verify(found, policy, original=came).holds
    for column in ("c", "s"):
        spoilt = found.set_column(found.column_names.index(column), column, odd)
        assert entries.verify(spoilt, policy, original=came).holds is False
        refusal(partial(entries.verify, spoilt, policy), f'the file lacks "{column}"')


def test_a_folder_keeps_what_its_owner_needs(here: Path) -> None:
    (here / "must.csv").write_text("record,column\n3,job\n7,sex\n")
    (here / "p.toml").write_text(
        "# Ann asked\n" + toml(requests="requests.csv", publish="must.csv")
    )
    for name in ("out/", "two"):
        run("entries", "release", "in.csv", "-p", "p.toml", "-o", name)
    public, private = here / "out/public", here / "out/private"
    assert {path.name for path in private.iterdir()} == {
        "report.html", "policy.toml", "requests.csv", "must-publish.csv", "hidden.jsonl",
        "risk.json", "input.json",
    }  # fmt: skip
    run("entries", "verify", "out", "-p", "out/private/policy.toml", "--original", "in.csv")
    lines = [json.loads(line) for line in (private / "hidden.jsonl").read_text().splitlines()]
    assert len(lines) == json.loads((public / "report.json").read_text())["hidden"]["entries"]
    assert all(set(line) == {"record", "column", "for_request", "rule"} for line in lines)
    assert all(line["for_request"] in (2, 5, 40) for line in lines)
    assert contents(public) == contents("two/public")


def test_the_public_side_tells_of_nobody(here: Path) -> None:
    """No hidden value, no record, no id, no comment; the private side has what an owner needs."""
    rows = [(f"person-{i}", *row) for i, row in enumerate(people())]
    rows[1] = ("person-1", "m", "S1", "xylophonist", 50)
    save(here / "ids.csv", ["Id", "sex", "school", "job", "age"], rows)
    lists = {"requests": ["person-1", "person-4"], "publish": [("person-9", "job")]}
    given = POLICY | lists | {"id": "Id"}
    (here / "p.toml").write_text("# Mister Secret asked\n" + entries.Policy.of(given).canonical())
    said = run("entries", "release", "ids.csv", "-p", "p.toml", "-o", "out")
    texts = [said.output, *(path.read_text() for path in (here / "out/public").iterdir())]
    for word in ("xylophonist", "person-", "Secret"):
        assert not any(word in text for text in texts)
    assert "person-4" in (here / "out/private/requests.csv").read_text()
    assert "Id" not in (here / "out/public/data.csv").read_text()
    assert 'column "Id" is not released' in said.stderr
    run("entries", "verify", "out", "-p", "out/private/policy.toml", "--original", "ids.csv")


def test_pages_say_what_happened(here: Path) -> None:
    run("entries", "release", "in.csv", "-p", "p.toml", "-o", "out")
    public = (here / "out/public/report.html").read_text()
    private = (here / "out/private/report.html").read_text()
    assert "finds their job in at most 50 % of them" in public
    assert "of them, or in at most" in public
    assert "reticent entries verify" in public
    assert "reticent entries release DATA" in private
    assert "Riskiest requests" in private
    assert "A decision tree that learns to predict job" in private
    assert "decision tree" not in public
    for page in (public, private):
        assert "None" not in page
        assert page.count("<section") == page.count("</section>")


def test_odd_names_and_dialects(here: Path) -> None:
    names = ["größte Höhe", "Art der Schule", "Beruf, jetzt", "äge"]
    save(here / "odd.csv", names, people(), delimiter=";", encoding="latin-1")
    keys = {"conditions": names[:2], "sensitive": names[2], "keep": [names[3]]}
    (here / "p.toml").write_text(toml(**keys), encoding="utf-8")
    said = run("entries", "release", "odd.csv", "-p", "p.toml", "-o", "out.csv")
    assert "read as Latin-1" in said.stderr
    assert rows_of("out.csv")[0] == names
    for command in (["risk", "odd.csv"], ["verify", "out.csv", "--original", "odd.csv"]):
        assert "odd.csv is not UTF-8" in run("entries", *command, "-p", "p.toml").stderr
    told = ("--delimiter", ";", "--encoding", "latin-1")  # about the original
    run("entries", "verify", "out.csv", "-p", "p.toml", "--original", "odd.csv", *told)
    run("entries", "release", "odd.csv", "-p", "p.toml", "-o", "out", *told)
    assert "--encoding latin-1" in (here / "out/public/report.html").read_text()


def test_one_column_of_conditions_and_nothing_kept(here: Path) -> None:
    rows = [["a", "x"]] * 3 + [["", "y"]] * 3
    save(here / "two.csv", ["p", "s"], rows)
    keys = {"conditions": "p", "sensitive": "s", "keep": [], "requests": [1, 4], "min_support": 0}
    (here / "p.toml").write_text(toml(**keys))
    run("entries", "release", "two.csv", "-p", "p.toml", "-o", "out.csv")
    assert is_hidden_part(rows_of("two.csv"), rows_of("out.csv"))
    run("entries", "verify", "out.csv", "-p", "p.toml", "--original", "two.csv")


def test_nulls_and_what_means_missing(here: Path) -> None:
    """Empty cells are hidden already, and stay as they were; so does what means missing."""
    rows = [list(map(str, row)) for row in people()]
    rows[1][2], rows[6][2], rows[8][1], rows[9][0] = "", "?", "?", ""
    save(here / "gaps.csv", NAMES, rows)
    marks = [(7, "job"), (10, "sex")]
    (here / "p.toml").write_text(toml(missing_values=["?"], publish=marks))
    said = run("entries", "release", "gaps.csv", "-p", "p.toml", "-o", "out.csv")
    assert "1 request is about entries that are empty already: record 2." in said.stderr
    assert '2 marks are on entries that are empty already: record 7 of "job"' in said.stderr
    after = rows_of("out.csv")
    assert is_hidden_part(rows_of("gaps.csv"), after)
    assert [after[7][2], after[9][1]] == ["?", "?"]
    run("entries", "verify", "out.csv", "-p", "p.toml", "--original", "gaps.csv")
    said = run("entries", "verify", "out.csv", "-p", "p.toml", code=2)
    assert "Not checkable: 2 entries marked to be published are empty" in said.stdout
    frame = pl.read_csv(here / "gaps.csv", null_values=["?", ""])
    found = entries.release(frame, POLICY)
    assert found.table["job"].null_count() == 2 + 2 + found.hidden["job"]  # a request is on a gap


def test_marks_are_published() -> None:
    marks = [(i, "job") for i in range(1, 121) if i not in (2, 5, 40)]
    found = entries.release(table(), POLICY | {"publish": marks})
    assert found.hidden["job"] == 0
    assert found.table["job"].null_count == 3
    assert found.loss > 0


# --- what cannot be ------------------------------------------------------------------------------


def test_more_conditions_than_can_be_looked_at(here: Path) -> None:
    names = [f"c{j}" for j in range(63)]
    rows = [",".join([*["x"] * 63, value]) for value in ("u", "u", "v")]
    (here / "wide.csv").write_text("\n".join([",".join([*names, "S"]), *rows]) + "\n")
    policy = {
        "conditions": names, "sensitive": "S", "min_support": 0, "min_confidence": 0.5,
        "requests": [1], "max_pattern": 1,
    }  # fmt: skip
    refusal(lambda: entries.release("wide.csv", policy), "63 conditions, and at most 62")


def test_a_support_that_nothing_reaches(here: Path) -> None:
    (here / "few.csv").write_text("a,S\nx,u\nx,u\nx,v\n")
    policy = {
        "conditions": ["a"], "sensitive": "S", "min_support": 10**21, "min_confidence": 0.5,
        "requests": [1],
    }  # fmt: skip
    assert not len(entries.release("few.csv", policy).search.records)


def test_too_many_patterns(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from reticent.suppress.entries import search
    from reticent.suppress.sets import GaveUp

    def hide(*given: Any) -> Any:
        raise GaveUp

    monkeypatch.setattr(search, "hide", hide)
    said = run("entries", "release", "in.csv", "-p", "p.toml", "-o", "out", code=2)
    assert "max_pattern" in said.stderr
    assert not (here / "out").exists()


def test_the_verifier_has_the_last_word(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a search may say: nothing unsafe, and nothing that was changed, is written."""
    from reticent.suppress.entries import search

    hide = search.hide
    none = np.array([], np.int64)

    def lazy(*given: Any) -> Any:
        return replace(hide(*given), records=none, columns=none, reasons=())

    def greedy(*given: Any) -> Any:
        found = hide(*given)
        more = np.append(found.records, 0), np.append(found.columns, 0)
        reasons = (*found.reasons, (1, (0,)))
        return replace(found, records=more[0], columns=more[1], reasons=reasons)

    (here / "p.toml").write_text(toml(may_hide=["sensitive-of-others"]))
    before = sorted(os.listdir(here))
    for wrong in (lazy, greedy):
        monkeypatch.setattr(search, "hide", wrong)
        said = run("entries", "release", "in.csv", "-p", "p.toml", "-o", "out", code=70)
        assert "refused" in said.stderr
        run("entries", "release", "in.csv", "-p", "p.toml", "-o", "out.csv", code=70)
        assert sorted(os.listdir(here)) == before


def tire(patch: pytest.MonkeyPatch, **instead: Any) -> None:
    """Let the verifier come to something else."""
    from reticent.privacy import entries as verifier

    recount = verifier.recount
    patch.setattr(verifier, "recount", lambda *given: replace(recount(*given), **instead))


def test_not_decided(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A verifier that is not done says so, and nothing is released on a guess."""
    run("entries", "release", "in.csv", "-p", "p.toml", "-o", "fine.csv")
    tire(monkeypatch, holds=None, exposed=())
    said = run("entries", "verify", "fine.csv", "-p", "p.toml", "--original", "in.csv", code=2)
    assert "too many rules" in said.stdout
    run("entries", "release", "in.csv", "-p", "p.toml", "-o", "out", code=2)
    assert not (here / "out").exists()


@pytest.mark.parametrize(
    ("stage", "times", "code"),
    [("read", 1, 130), ("hide", 1, 130), ("write", 1, 0), ("write", 2, 130), ("verify", 2, 130)],
)
def test_ctrl_c_before_a_safe_choice_or_twice_leaves_nothing(
    stage: str, times: int, code: int, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reticent.progress import Clock

    begin = Clock.stage

    def interrupted(self: Clock, name: str) -> Any:
        for _ in range(times if name == stage else 0):
            signal.raise_signal(signal.SIGINT)
        return begin(self, name)

    monkeypatch.setattr(Clock, "stage", interrupted)
    before = sorted(os.listdir(here))
    said = run("entries", "release", "in.csv", "-p", "p.toml", "-o", "out", code=code)
    if code:
        assert "nothing was written" in said.stderr
        assert sorted(os.listdir(here)) == before
    else:
        assert "stopped early" not in said.stdout  # the search was at its end
        run("entries", "verify", "out", "-p", "p.toml", "--original", "in.csv")


def test_ctrl_c_once_writes_the_release_so_far(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = ("entries", "release", "in.csv", "-p", "p.toml", "-o", "out")
    for said in interrupted_everywhere(monkeypatch, *release):
        run("entries", "verify", "out", "-p", "p.toml", "--original", "in.csv")
        early = json.loads(said.stdout)["stopped_early"]
        page = (here / "out/public/report.html").read_text()
        assert ("stopped before its end" in page) == early
        assert not early or "Stopping: writing the release so far" in said.stderr


# --- verify --------------------------------------------------------------------------------------


@pytest.mark.parametrize("region", ALL)
def test_a_text_that_means_missing_hides_nothing(region: str, here: Path) -> None:
    """Hidden entries are empty. Any other text in a cell's place is a change, whatever it means."""
    rows = [list(map(str, row)) for row in people()]
    rows[1][2] = rows[9][2] = rows[10][1] = "?"  # the first of them asked
    save(here / "gaps.csv", NAMES, rows)
    (here / "p.toml").write_text(toml(missing_values=["?"], may_hide=[region]))
    run("entries", "release", "gaps.csv", "-p", "p.toml", "-o", "out.csv")
    given = ("entries", "verify", "bad.csv", "-p", "p.toml", "--original", "gaps.csv")
    fine = rows_of("out.csv")
    save(here / "bad.csv", fine[0], fine[1:])
    run(*given)
    assert [fine[2][2], fine[10][2], fine[11][1]] == ["", "?", "?"]
    shown = next(i for i in range(12, 120) if all(fine[i]))
    for column in (0, 1, 2):
        changed = [list(row) for row in fine]
        changed[shown][column] = "?"
        save(here / "bad.csv", changed[0], changed[1:])
        said = run(*given, code=1).stdout
        assert f"1 entry holds another value than in the original: record {shown} of" in said
    changed = [list(row) for row in fine]
    changed[5][2] = "?"  # an entry that was asked for
    save(here / "bad.csv", changed[0], changed[1:])
    assert "record 5 of" in run(*given, code=1).stdout


def test_typed_files_carry_nothing_else(here: Path) -> None:
    rows = table()
    pq.write_table(rows.replace_schema_metadata({"owner": "somebody"}), here / "in.parquet")
    run("entries", "release", "in.parquet", "-p", "p.toml", "-o", "out.parquet")
    run("entries", "verify", "out.parquet", "-p", "p.toml", "--original", "in.parquet")
    out = pq.read_table(here / "out.parquet")
    pq.write_table(out.replace_schema_metadata({"owner": "somebody"}), here / "bad.parquet")
    said = run("entries", "verify", "bad.parquet", "-p", "p.toml", "--original", "in.csv", code=1)
    assert "metadata" in said.stdout


# --- risk, and what is reported ------------------------------------------------------------------


def test_everybody_at_risk_is_told(here: Path) -> None:
    (here / "many.toml").write_text(toml(requests=[*range(1, 40)]))
    found = answer("entries", "risk", "in.csv", "-p", "many.toml")
    assert found["templates"][0]["exposed"] == len(found["riskiest"]) > 20  # all of them
    worst = found["riskiest"][0]
    assert Fraction(worst["confidence"]) == Fraction(worst["own"], worst["support"])
    most = Fraction(found["templates"][0]["largest_confidence"])
    assert most >= Fraction(worst["confidence"]) > Fraction(1, 2)
    said = run("entries", "risk", "in.csv", "-p", "many.toml")
    assert not any(job in said.output for job in JOBS)


def test_a_count_that_was_ended_says_so(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where somebody is known to be exposed: there may be others."""
    tire(monkeypatch, complete=False)
    rows = rows_of("in.csv")
    for record in (2, 5, 40):
        rows[record][2] = ""
    save(here / "blank.csv", rows[0], rows[1:])
    for command in (["risk", "in.csv"], ["verify", "blank.csv", "--original", "in.csv"]):
        code = 1 if command[0] == "verify" else 0
        said = run("entries", *command, "-p", "p.toml", code=code)
        assert "There may be more: there are too many rules" in said.stdout
        told = json.loads(run("entries", *command, "-p", "p.toml", "--json", code=code).stdout)
        assert told["templates"][0]["complete"] is False


def test_schema_command() -> None:
    found = json.loads(run("entries", "schema").stdout)
    assert "may_hide" in found["properties"]


def test_lists_of_numbers_from_numpy() -> None:
    plain = entries.Policy.of(POLICY | {"requests": [2, 5], "publish": [(3, "sex")]})
    given = {"requests": [*np.array([2, 5])], "publish": [(np.int64(3), "sex")]}
    assert entries.Policy.of(POLICY | given) == plain
    with pytest.raises(InputError, match="a record is a number or an id"):
        entries.Policy.of(POLICY | {"requests": [None]})


def test_a_confidence_of_one_hides_requests_alone() -> None:
    found = entries.release(table(), POLICY | {"min_confidence": 1})
    assert found.loss == 0
    assert any("min_confidence = 1" in text for text in found.warnings)


def test_a_value_that_everybody_guesses(here: Path) -> None:
    """Whoever guesses the commonest value needs no rule: the promise says nothing about that."""
    jobs = ["baker"] * 84 + ["nurse"] * 36
    given = table().set_column(2, "job", pa.array(jobs))
    policy = POLICY | {"may_hide": "sensitive-of-others"}
    [said] = entries.release(given, policy | {"min_confidence": 0.6}).warnings
    assert 'the commonest value of "job" stands in 69.23% of its entries' in said  # 81 of 117
    assert "baker" not in said
    entries.release(
        given, policy | {"min_confidence": 0.65, "min_support": 80}, output=here / "out"
    )
    page = (here / "out/public/report.html").read_text()
    assert "One job stands in 69.23 % of the entries that are shown" in page
    assert "baker" not in page
    assert entries.release(given, policy | {"min_confidence": "9/13"}).warnings == ()
    assert entries.release(given, policy | {"requests": []}).warnings == (
        "nobody asked for anything: there are no requests.",
    )


@pytest.mark.parametrize("support", [120, 10**21])
def test_a_support_that_protects_nobody(support: int) -> None:
    for keys in ({}, {"min_confidence": 0}):
        found = entries.release(table(), POLICY | {"min_support": support} | keys)
        assert found.loss == 0
        [said] = found.warnings
        assert f"min_support = {support:,}" in said
        assert "requests are all that is hidden" in said
    most = max(Counter(table()["job"].to_pylist()).values())
    assert entries.release(table(), POLICY | {"min_support": most - 4}).warnings == ()


def test_a_little_is_not_nothing() -> None:
    """One entry of thirty thousand is hidden."""
    jobs = ["baker"] * 4 + [f"job {i}" for i in range(9996)]
    given = pa.table({"c": [*"xxxx", *map(str, range(9996))], "d": ["-"] * 10_000, "job": jobs})
    found = entries.release(
        given, PLAIN | {"conditions": ["c", "d"], "sensitive": "job", "min_confidence": 0.5}
    )
    assert len(found.search.records) == 1
    assert "&lt;0.01% of all" in found._repr_html_()
    assert "hidden, <0.01% of all" in text.release(report.facts(found))
    assert "<0.01 % of all" in html.unescape(pages.public(found))


def test_what_is_no_table() -> None:
    refusal(lambda: entries.release([1, 2, 3], POLICY))
    with pytest.raises(InputError):
        entries.release(table(), 7)  # type: ignore[arg-type]
    refusal(lambda: entries.release("postgres://nobody@nowhere/x", POLICY))
