"""The command line: answers, JSON shapes, exit codes, and what is written when."""

from __future__ import annotations

import csv
import ctypes
import hashlib
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

import reticent
from reticent import Policy
from reticent.data import taxonomy as taxonomies
from reticent.files import tabular as table_files
from reticent.front.cli import app
from reticent.privacy import verify as verifier
from reticent.sources import arrival
from reticent.tables import flow
from reticent.terminal import signals
from terminal import run

JOBS = ("Cook", "Clerk", "Boss")
POLICY = """\
drop = ["Name"]
[attributes.Job]
mask = "generalize"
taxonomy = { ANY = { Low = ["Cook", "Clerk"], Boss = {} } }
[attributes.Age]
mask = "discretize"
range = [0, 100]
[[anonymity]]
over = ["Job", "Age"]
k = 3
[[confidence]]
over = ["Job"]
sensitive = { Sick = ["y"] }
at_most = 0.9
"""
COUNTED = """\
drop = ["Name"]
keep = ["Age", "Sick"]
[[anonymity]]
over = ["Job"]
k = 3
of = ["Name"]
[[anonymity]]
over = ["Job"]
k = 2
"""


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a table and policies, where everything happens."""
    monkeypatch.chdir(tmp_path)
    lines = [f"N{i},{JOBS[i % 3]},{20 + i % 5},{'yn'[i % 4 == 0]}\n" for i in range(40)]
    Path("data.csv").write_text("Name,Job,Age,Sick\n" + "".join(lines))
    Path("policy.toml").write_text(POLICY)
    Path("counted.toml").write_text(COUNTED)
    return tmp_path


def answer(*given: object, code: int = 0) -> Any:
    """What a command prints for machines: one line of JSON and nothing else."""
    result = run(*given, "--json", code=code)
    assert result.stdout.count("\n") == 1
    return json.loads(result.stdout)


def release(*given: object, code: int = 0) -> Result:
    return run("release", "data.csv", "--policy", "policy.toml", *given, code=code)


def files(folder: Path | str = ".") -> set[str]:
    root = Path(folder)
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


@pytest.fixture
def before() -> set[str]:
    return {"data.csv", "policy.toml", "counted.toml"}


def rows_of(path: Path | str) -> list[list[str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def mode(path: Path | str) -> int:
    return stat.S_IMODE(Path(path).stat().st_mode)


# --- what all commands share ---------------------------------------------------------------------

COMMANDS = [
    ["release"], ["verify"], ["risk"], ["apply"], ["init"], ["sample"],
    ["policy", "check"], ["policy", "schema"],
    ["taxonomy", "check"], ["taxonomy", "show"], ["taxonomy", "make"],
]  # fmt: skip


def test_version() -> None:
    want = f"reticent {reticent.__version__}\n"
    assert run("--version").stdout == want
    for command in COMMANDS:
        assert run(*command, "--version").stdout == want


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_names_the_common_options(command: Sequence[str]) -> None:
    text = run(*command, "--help").stdout
    common = ("json", "quiet", "show-values", "force", "debug", "progress", "version")
    for option in (f"--{name}" for name in common):
        assert option in text


@pytest.mark.parametrize(
    "given",
    [
        [], ["nonsense"], ["release"], ["release", "data.csv"], ["risk", "data.csv", "--nonsense"],
        ["release", "data.csv", "-p", "policy.toml", "-o", "o.csv", "--max-steps", "-1"],
        ["release", "data.csv", "-p", "policy.toml", "-o", "o.csv", "--max-steps", "many"],
        ["release", "data.csv", "-p", "policy.toml", "-o", "o.csv", "--time-limit", "-1"],
        ["taxonomy", "make", "data.csv", "--column", "Age", "--equal", "0", "-o", "t.csv"],
        ["policy"], ["taxonomy"],
    ],
)  # fmt: skip
def test_wrong_usage_is_exit_2(given: list[str], before: set[str]) -> None:
    run(*given, code=2)
    assert files() == before


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--delimiter", "xx"], "--delimiter"),
        (["--decimal", ";"], "--decimal"),
        (["--encoding", "klingon"], "--encoding"),
    ],
)
def test_wrong_reading_options(options: list[str], said: str, before: set[str]) -> None:
    assert said in release("-o", "out.csv", *options, code=2).stderr
    assert files() == before


def test_reading_options(work: Path) -> None:
    content = "Größe\tTag\n1,5\t31.12.2024\n2,5\t01.01.2024\n".encode("latin-1")
    Path("told.csv").write_bytes(content)
    Path("told.toml").write_text('[[anonymity]]\nover = ["Größe", "Tag"]\nk = 1\n')
    options = ["--delimiter", "tab", "--decimal", ",", "--date-format", "%d.%m.%Y"]
    run(
        "release", "told.csv", "-p", "told.toml", "-o", "out.csv", *options, "--encoding", "latin-1"
    )
    head, *rows = rows_of("out.csv")
    assert head == ["Größe", "Tag"]
    assert {cell for row in rows for cell in row} <= {
        "[1.5,2.5]", "[1.5,2.5)", "[2.5,2.5]", "[2024-01-01,2024-12-31]",
        "[2024-01-01,2024-12-31)", "[2024-12-31,2024-12-31]",
    }  # fmt: skip


def test_what_was_assumed_is_said_on_stderr() -> None:
    Path("latin.csv").write_bytes("A,B\né,x\né,y\n".encode("latin-1"))
    Path("latin.toml").write_text('keep = ["B"]\n[[anonymity]]\nover = ["A"]\nk = 2\n')
    said = run("release", "latin.csv", "-p", "latin.toml", "-o", "out.csv")
    assert "Latin-1" in said.stderr
    assert "Latin-1" not in said.stdout
    quiet = run("release", "latin.csv", "-p", "latin.toml", "-o", "out2.csv", "--quiet")
    assert (quiet.stdout, quiet.stderr) == ("", "")


def test_failures_for_machines_and_for_people() -> None:
    result = run("risk", "none.csv", "-p", "policy.toml", "--json", code=2)
    told = json.loads(result.stdout)
    assert told["error"] == "InputError"
    assert len(told["problems"]) == 1
    assert "none.csv" in told["problems"][0]
    assert "none.csv" in result.stderr
    plain = run("risk", "none.csv", "-p", "policy.toml", code=2)
    assert plain.stdout == ""
    quiet = run("risk", "none.csv", "-p", "policy.toml", "--quiet", code=2)
    assert "none.csv" in quiet.stderr


def test_a_fault_of_ours_is_exit_70_and_shows_no_traceback(
    monkeypatch: pytest.MonkeyPatch, before: set[str]
) -> None:
    def broken(*given: Any, **how: Any) -> Any:
        raise RuntimeError("SECRETxyz1")

    monkeypatch.setattr(flow, "release", broken)
    result = release("-o", "out.csv", code=70)
    assert "RuntimeError" in result.stderr
    assert "SECRETxyz1" not in result.output
    assert files() == before


def test_debug_shows_where_but_not_what(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: Any, **how: Any) -> Any:
        raise RuntimeError("SECRET" + "xyz1")  # in two: a traceback shows lines of code

    monkeypatch.setattr(flow, "release", broken)
    given = ["release", "data.csv", "-p", "policy.toml", "-o", "out.csv", "--debug"]
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 70
    assert "File " in result.stderr
    assert "SECRETxyz1" not in result.output
    shown = CliRunner().invoke(app, [*given, "--show-values"])
    assert "SECRETxyz1" in shown.stderr


def test_stopped_before_anything_is_exit_130(
    monkeypatch: pytest.MonkeyPatch, before: set[str]
) -> None:
    def interrupted(*given: Any, **how: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(table_files, "parse", interrupted)
    assert "Stopped" in release("-o", "out.csv", code=130).stderr
    assert files() == before


@pytest.mark.parametrize("becomes", [ImportError, reticent.InputError, None])
@pytest.mark.parametrize(("ending", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_is_heard_whatever_a_library_makes_of_it(
    ending: int,
    code: int,
    becomes: type[Exception] | None,
    monkeypatch: pytest.MonkeyPatch,
    before: set[str],
) -> None:
    load = flow._load_engine

    def ended() -> None:
        load()
        try:
            signal.raise_signal(ending)
        except KeyboardInterrupt:
            if becomes:
                raise becomes("something else") from None

    monkeypatch.setattr(flow, "_load_engine", ended)
    assert "Stopped" in release("-o", "out.csv", code=code).stderr
    assert files() == before


def test_too_little_memory_is_said(monkeypatch: pytest.MonkeyPatch, before: set[str]) -> None:
    def too_large(*given: Any, **how: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(flow, "release", too_large)
    assert "memory" in release("-o", "out.csv", code=2).stderr
    assert files() == before


# --- release: one file ---------------------------------------------------------------------------


def test_release_json() -> None:
    told = answer("release", "data.csv", "-p", "policy.toml", "-o", "out.csv")
    assert set(told) >= {
        "rows_in", "rows_out", "steps", "stopped_early", "templates", "attributes", "output",
        "seconds",
    }  # fmt: skip
    assert (told["rows_in"], told["rows_out"], told["stopped_early"]) == (40, 40, False)
    assert told["output"] == "out.csv"
    assert isinstance(told["steps"], int)
    group, sure = told["templates"]
    assert group == {
        "kind": "anonymity", "over": ["Job", "Age"], "asked": 3, "before": 2,
        "after": group["after"], "verified": True,
    }  # fmt: skip
    assert isinstance(group["after"], int)
    assert group["after"] >= 3
    assert {k: v for k, v in sure.items() if k != "sensitive"} == {
        "kind": "confidence", "over": ["Job"], "asked": "9/10", "before": "10/13",
        "after": sure["after"], "verified": True,
    }  # fmt: skip
    assert re.fullmatch(r"\d+/\d+|[01]", sure["after"])
    assert set(told["attributes"]) == {"Job", "Age"}
    assert told["attributes"]["Job"]["mask"] == "generalize"
    shown = {row[0] for row in rows_of("out.csv")[1:]}
    assert set(told["attributes"]["Job"]["values"]) == shown
    assert told["seconds"]
    assert all(isinstance(spent, float) for spent in told["seconds"].values())


def test_release_writes_the_columns_in_order_without_the_dropped_ones() -> None:
    release("-o", "out.csv")
    head, *rows = rows_of("out.csv")
    assert head == ["Job", "Age", "Sick"]
    assert rows == sorted(rows)
    assert len(rows) == 40
    run("verify", "out.csv", "-p", "policy.toml")


def test_release_speaks_to_people_and_is_quiet_when_asked() -> None:
    text = release("-o", "out.csv").stdout
    assert "40 rows released" in text
    assert "Job, Age: at least 3 records" in text
    assert "out.csv" in text
    quiet = release("-o", "out.csv", "--force", "--quiet")
    assert (quiet.stdout, quiet.stderr) == ("", "")
    machine = release("-o", "out.csv", "--force", "--quiet", "--json")
    assert json.loads(machine.stdout)["rows_out"] == 40


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz", ".parquet", ".arrow"])
def test_release_in_every_format(suffix: str) -> None:
    release("-o", f"out{suffix}")
    table, _ = arrival.read(f"out{suffix}")
    assert (table.rows, list(table.columns)) == (40, ["Job", "Age", "Sick"])
    run("verify", f"out{suffix}", "-p", "policy.toml")


@pytest.mark.parametrize(
    "name",
    [
        "a\rb",
        "a\nb",
        "a\r\nb",
        'a"b',
        "a,b",
        "a;b",
        "a|b",
        "'a'",
        "A",
        "n",
        "c0",
        "*",
        " a ",
        "é",
        "x" * 5000,
    ],
)
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_any_column_name_survives(name: str, suffix: str) -> None:
    table = pa.table({name: ["x", "y"], "a": ["u", "v"], "N": ["p", "p"]})
    parts: dict[str, Any] = {"keep": "*", "anonymity": [{"over": ["N"], "k": 2}]}
    reticent.release(table, Policy(**parts), output=f"out{suffix}")
    found, _ = arrival.read(f"out{suffix}")
    assert list(found.columns) == [name, "a", "N"]
    assert flow.verify(f"out{suffix}", Policy(**parts)).holds


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_very_long_cells_are_written_and_recounted(suffix: str) -> None:
    table = pa.table({"A": ["x", "x"], "B": ["z" * 9_000_000, "two\nlines"]})
    parts: dict[str, Any] = {"keep": ["B"], "anonymity": [{"over": ["A"], "k": 2}]}
    found = reticent.release(table, Policy(**parts), output=f"out{suffix}")
    assert found.proof.holds


def test_the_same_input_gives_the_same_bytes() -> None:
    for suffix in (".csv", ".csv.gz", ".parquet", ".arrow"):
        for name in ("one", "two"):
            release("-o", name + suffix)
        assert Path("one" + suffix).read_bytes() == Path("two" + suffix).read_bytes()


def test_masked_columns_are_text_and_others_keep_their_type() -> None:
    table = pa.table({"A": [1, 1, 2, 2], "B": [1.5, 2.5, None, 4.5]})
    pq.write_table(table, "typed.parquet")
    Path("typed.toml").write_text('keep = ["B"]\n[[anonymity]]\nover = ["A"]\nk = 2\n')
    run("release", "typed.parquet", "-p", "typed.toml", "-o", "out.parquet")
    out = pq.read_table("out.parquet")
    assert out.schema.types == [pa.string(), pa.float64()]
    assert sorted(set(out["A"].to_pylist())) == ["[1,2)", "[2,2]"]


def test_an_output_that_exists_needs_force(before: set[str]) -> None:
    Path("out.csv").write_text("old")
    assert "--force" in release("-o", "out.csv", code=2).stderr
    assert Path("out.csv").read_text() == "old"
    release("-o", "out.csv", "--force")
    assert Path("out.csv").read_text() != "old"
    assert files() == before | {"out.csv"}


@pytest.mark.parametrize("place", ["nowhere/out.csv", "data.csv/out.csv", "nowhere/deep/out"])
def test_an_output_with_nowhere_to_go(place: str, before: set[str]) -> None:
    release("-o", place, code=2)
    assert files() == before


@pytest.mark.parametrize("place", [".", "..", "/"])
@pytest.mark.parametrize("force", [[], ["--force"]])
def test_an_output_that_is_no_name(
    place: str, force: list[str], before: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is given, nothing is lost; renaming is forbidden, should it be tried."""

    def forbidden(self: Path, target: Path) -> Path:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "rename", forbidden)
    release("-o", place, *force, code=2)
    assert files() == before


TRACE_KEYS = [
    "step", "attribute", "value", "into", "info_gain", "privacy_loss", "score", "templates",
]  # fmt: skip


def trace_of(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def test_trace() -> None:
    told = answer(
        "release", "data.csv", "-p", "policy.toml", "-o", "out.csv", "--trace", "trace.jsonl"
    )
    steps = trace_of("trace.jsonl")
    assert len(steps) == told["steps"] > 0
    assert mode("trace.jsonl") == 0o600
    for number, step in enumerate(steps, 1):
        assert list(step) == TRACE_KEYS
        assert step["step"] == number
        assert step["attribute"] in ("Job", "Age")
        assert len(step["into"]) >= 2
        assert all(isinstance(step[key], float) for key in ("info_gain", "privacy_loss", "score"))
        group, sure = step["templates"]
        assert group["kind"] == "anonymity"
        assert (group["asked"], sure["asked"]) == (3, "9/10")
        assert isinstance(group["value"], int)
        assert re.fullmatch(r"\d+/\d+|[01]", sure["value"])
    last = [template["value"] for template in steps[-1]["templates"]]
    assert last == [template["after"] for template in told["templates"]]


def test_trace_of_the_34_patients() -> None:
    """The line that the format is shown by, from the table it is taken from."""
    people = [
        ("Janitor", "M", 0, 3), ("Mover", "M", 0, 4), ("Carpenter", "M", 2, 3),
        ("Electrician", "F", 3, 1), ("Manager", "F", 8, 2), ("Engineer", "M", 4, 0),
        ("Engineer", "F", 3, 0), ("Lawyer", "F", 1, 0),
    ]  # fmt: skip
    with open("patients.csv", "w", encoding="utf-8") as file:
        file.write("Job,Sex,Class\n")
        for job, sex, yes, no in people:
            file.write(f"{job},{sex},Y\n" * yes + f"{job},{sex},N\n" * no)
    Path("patients.toml").write_text(
        'class = "Class"\n[attributes.Job]\nmask = "generalize"\n'
        "taxonomy = { ANY_Job = { Blue_Collar = { Non_Technical = ['Janitor', 'Mover'], "
        "Technical = ['Carpenter', 'Electrician'] }, White_Collar = { Manager = {}, "
        "Professional = ['Engineer', 'Lawyer'] } } }\n"
        '[attributes.Sex]\nmask = "generalize"\ntaxonomy = { ANY_Sex = ["M", "F"] }\n'
        '[[anonymity]]\nover = ["Job", "Sex"]\nk = 4\n[[anonymity]]\nover = ["Sex"]\nk = 2\n'
        '[goal]\nscore = "paper"\nsearch = "greedy"\n'
    )
    told = answer(
        "release", "patients.csv", "-p", "patients.toml", "-o", "o.csv", "--trace", "t.jsonl"
    )
    first = trace_of("t.jsonl")[0]
    assert [first[key] for key in TRACE_KEYS[:4]] == [
        1, "Job", "ANY_Job", ["Blue_Collar", "White_Collar"],
    ]  # fmt: skip
    assert first["info_gain"] == pytest.approx(0.27159096, abs=5e-9)
    assert first["privacy_loss"] == 18.0
    assert first["score"] == pytest.approx(0.01429426, abs=5e-9)
    assert first["templates"][0] == {"kind": "anonymity", "value": 16, "asked": 4}
    assert first["templates"][1]["implied_by"] == 1  # shown, though dropped from the search
    line = Path("t.jsonl").read_text().splitlines()[0]
    digits = re.search(r'"info_gain": 0\.(\d+)', line)
    assert digits
    assert len(digits[1]) >= 9
    assert told["templates"][1]["verified"] is True


def test_trace_shows_disclosed_values_and_intervals() -> None:
    Path("s.csv").write_text("A,B\n" + "x,1\nx,2\ny,3\ny,4\nz,5\n" * 2)
    Path("s.toml").write_text(
        '[[anonymity]]\nover = ["A"]\nk = 2\n[[anonymity]]\nover = ["B"]\nk = 4\n'
    )
    run("release", "s.csv", "-p", "s.toml", "-o", "o.csv", "--trace", "t.jsonl")
    steps = trace_of("t.jsonl")
    values = [step for step in steps if step["attribute"] == "A"]
    assert all(step["into"] == [step["value"], "*"] for step in values)
    interval = next(step for step in steps if step["attribute"] == "B")
    assert interval["value"] == "[1,5]"
    assert len(interval["into"]) == 2


@pytest.mark.parametrize("trace", ["out.csv", "./out.csv"])
def test_a_trace_may_not_take_the_place_of_the_output(trace: str, before: set[str]) -> None:
    release("-o", "out.csv", "--trace", trace, code=2)
    assert files() == before


def test_a_trace_that_exists_is_found_before_any_work(before: set[str]) -> None:
    Path("trace.jsonl").write_text("old")
    release("-o", "out.csv", "--trace", "trace.jsonl", code=2)
    release("-o", "out.csv", "--trace", "nowhere/trace.jsonl", code=2)
    assert Path("trace.jsonl").read_text() == "old"
    assert files() == before | {"trace.jsonl"}


@pytest.mark.parametrize(
    ("options", "steps"), [(["--max-steps", "0"], 0), (["--max-steps", "1"], 1), (["--time-limit", "0"], 0)]
)  # fmt: skip
def test_stopping_early_is_said(options: list[str], steps: int) -> None:
    given = ["release", "data.csv", "-p", "policy.toml", "-o"]
    told = answer(*given, "out.csv", *options)
    assert (told["steps"], told["stopped_early"]) == (steps, True)
    run("verify", "out.csv", "-p", "policy.toml")
    assert "stopped early" in run(*given, "out2.csv", *options).stdout


def test_enough_steps_are_no_early_stop() -> None:
    whole = answer("release", "data.csv", "-p", "policy.toml", "-o", "out.csv")
    again = answer(
        "release", "data.csv", "-p", "policy.toml", "-o", "out2.csv", "--max-steps", whole["steps"]
    )
    assert (again["steps"], again["stopped_early"]) == (whole["steps"], False)
    assert Path("out.csv").read_bytes() == Path("out2.csv").read_bytes()


# --- release: what cannot be kept, and our own faults --------------------------------------------


def test_an_infeasible_group_is_exit_3_with_what_would_pass(before: set[str]) -> None:
    Path("policy.toml").write_text(POLICY.replace("k = 3", "k = 41"))
    result = release("-o", "out.csv", "--json", code=3)
    told = json.loads(result.stdout)
    assert told["error"] == "Unsatisfiable"
    assert "k = 41" in result.stderr
    assert "40 rows" in result.stderr
    assert "lower k to 40" in result.stderr
    assert files() == before


def test_an_infeasible_confidence_is_exit_3_with_what_would_pass(before: set[str]) -> None:
    Path("policy.toml").write_text(POLICY.replace("0.9", '"1/2"'))
    result = release("-o", "out/", code=3)
    assert "3/4" in result.stderr  # 30 of 40 are y
    assert 'at_most to "3/4"' in result.stderr
    assert files() == before
    Path("policy.toml").write_text(POLICY.replace("0.9", '"3/4"'))
    release("-o", "out/")


def test_all_infeasible_templates_are_told(before: set[str]) -> None:
    Path("policy.toml").write_text(POLICY.replace("0.9", "0.1").replace("k = 3", "k = 99"))
    told = json.loads(release("-o", "out.csv", "--json", code=3).stdout)
    assert len(told["problems"]) == 2
    assert files() == before


def test_counted_people_can_be_too_few(before: set[str]) -> None:
    Path("counted.toml").write_text(COUNTED.replace("k = 3", "k = 41"))
    said = run("release", "data.csv", "-p", "counted.toml", "-o", "out.csv", code=3)
    assert "40 distinct values of Name" in said.stderr
    assert files() == before


@pytest.mark.parametrize("place", ["out.csv", "out.parquet", "out.csv.gz", "out/"])
@pytest.mark.parametrize("old", [False, True])
def test_what_the_verifier_refuses_is_not_written(
    place: str, old: bool, before: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if old:
        release("-o", place)
    was = {name: Path(name).read_bytes() for name in files()}
    honest = verifier.verify

    def refusing(source: Any, rules: Any, **how: Any) -> Any:
        proof = honest(source, rules, **how)
        broken = replace(proof.findings[0], holds=False)
        return replace(proof, findings=(broken, *proof.findings[1:]))

    monkeypatch.setattr(verifier, "verify", refusing)
    result = release("-o", place, "--force", "--trace", "trace.jsonl", code=70)
    assert "verifier refused" in result.stderr
    assert {name: Path(name).read_bytes() for name in files()} == was
    assert not list(Path().glob(".*"))


def test_a_release_that_loses_rows_is_refused(
    monkeypatch: pytest.MonkeyPatch, before: set[str]
) -> None:
    honest = verifier.verify
    monkeypatch.setattr(
        verifier, "verify", lambda *given, **how: replace(honest(*given, **how), rows=39)
    )  # fmt: skip
    release("-o", "out.csv", code=70)
    assert files() == before


# --- release: folders ----------------------------------------------------------------------------

PUBLIC = {f"public/{n}" for n in ("data.csv", "report.html", "report.json", "manifest.json")}
PRIVATE = {
    f"private/{n}"
    for n in (
        "report.html", "policy.toml", "recoding.json", "trace.jsonl", "stopped.jsonl", "risk.json",
        "alternatives.json",
        "input.json",
    )
}  # fmt: skip


@pytest.mark.parametrize("place", ["out", "out/"])
def test_folder_contents(place: str, before: set[str]) -> None:
    release("-o", place)
    assert files("out") == PUBLIC | PRIVATE
    assert {name for name in files() if not name.startswith("out/")} == before


def test_folder_permissions() -> None:
    mask = os.umask(0o022)
    try:
        release("-o", "out")
    finally:
        os.umask(mask)
    assert mode("out/private") == 0o700
    assert all(mode(path) == 0o600 for path in Path("out/private").iterdir())
    assert mode("out/public") == 0o755
    assert all(mode(path) == 0o644 for path in Path("out/public").iterdir())


def test_folder_manifest_and_private_side() -> None:
    release("-o", "out", "--trace", "trace.jsonl")
    release("-o", "out.csv")
    manifest = json.loads(Path("out/public/manifest.json").read_text(encoding="utf-8"))
    assert manifest["rows"] == 40
    assert [column["name"] for column in manifest["columns"]] == ["Job", "Age", "Sick"]
    assert [column["role"] for column in manifest["columns"]] == ["masked", "masked", "sensitive"]
    for name, told in manifest["files"].items():
        content = Path("out/public", name).read_bytes()
        assert told["sha256"] == hashlib.sha256(content).hexdigest()
        assert told["bytes"] == len(content)
    assert {"data.csv", "report.html", "report.json"} == set(manifest["files"])
    assert Path("out/public/data.csv").read_bytes() == Path("out.csv").read_bytes()
    assert Path("out/private/policy.toml").read_text() == POLICY
    assert Path("out/private/trace.jsonl").read_text() == Path("trace.jsonl").read_text()
    source = json.loads(Path("out/private/input.json").read_text())
    [digest] = [told["sha256"] for told in source["files"].values()]
    assert digest == hashlib.sha256(Path("data.csv").read_bytes()).hexdigest()
    report = json.loads(Path("out/public/report.json").read_text())
    assert report["rows"] == 40
    assert "before" not in json.dumps(report)


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".arrow"])
def test_folder_data_have_the_format_of_the_input(suffix: str) -> None:
    table = pa.table({"A": ["x", "x", "y", "y"], "B": [1, 2, 3, 4]})
    Path("p.toml").write_text('keep = ["B"]\n[[anonymity]]\nover = ["A"]\nk = 2\n')
    reticent.release(table, "p.toml", output=f"in{suffix}")
    run("release", f"in{suffix}", "-p", "p.toml", "-o", "out")
    assert (Path("out/public") / f"data{suffix}").exists()
    run("verify", "out", "-p", "p.toml")


def test_a_name_that_ends_in_a_slash_is_a_folder() -> None:
    release("-o", "july.csv/")
    assert Path("july.csv").is_dir()
    assert "public/data.csv" in files("july.csv")


def test_replacing_a_folder(before: set[str]) -> None:
    release("-o", "out", "--max-steps", "0")
    old = Path("out/public/data.csv").read_bytes()
    release("-o", "out", code=2)
    assert Path("out/public/data.csv").read_bytes() == old
    Path("out/public/mine.txt").write_text("added by hand")
    release("-o", "out", "--force")
    assert Path("out/public/data.csv").read_bytes() != old
    assert files("out") == PUBLIC | PRIVATE
    assert not list(Path().glob(".*"))


@pytest.mark.parametrize("inside", ["data.csv", "policy.toml", "deep/other.txt"])
def test_force_does_not_remove_what_is_no_release(inside: str) -> None:
    """Only a release folder may be swapped out whole: anything else may be somebody's work."""
    Path("mine/deep").mkdir(parents=True)
    Path("mine/deep/other.txt").write_text("precious")
    data, policy = "data.csv", "policy.toml"
    if inside != "deep/other.txt":
        Path(inside).rename(Path("mine") / inside)
    data = f"mine/{data}" if inside == data else data
    policy = f"mine/{policy}" if inside == policy else policy
    run("release", data, "-p", policy, "-o", "mine", "--force", code=2)
    assert (Path("mine") / inside).exists()


# --- verify --------------------------------------------------------------------------------------


def test_verify_json() -> None:
    release("-o", "out")
    told = answer("verify", "out", "-p", "policy.toml")
    assert told["rows"] == 40
    group, sure = told["templates"]
    assert (group["kind"], group["over"], group["asked"], group["holds"]) == (
        "anonymity", ["Job", "Age"], 3, True,
    )  # fmt: skip
    assert (sure["kind"], sure["asked"], sure["holds"]) == ("confidence", "9/10", True)
    assert isinstance(group["after"], int)
    assert isinstance(sure["after"], str)
    made = answer("release", "data.csv", "-p", "policy.toml", "-o", "again.csv")
    for template, said in zip(told["templates"], made["templates"], strict=True):
        assert template["after"] == said["after"]


@pytest.mark.parametrize("name", ["out.csv", "out.parquet", "out.arrow", "out.csv.gz", "out"])
def test_verify_takes_whatever_release_wrote(name: str) -> None:
    release("-o", name)
    text = run("verify", name, "-p", "policy.toml").stdout
    assert text.count("holds") == 2
    assert "40 rows recounted" in text
    quiet = run("verify", name, "-p", "policy.toml", "--quiet")
    assert (quiet.stdout, quiet.stderr) == ("", "")


@pytest.mark.parametrize("name", ["report.html", "report.json"])
def test_verify_misses_a_report(name: str) -> None:
    release("-o", "out")
    Path("out/public", name).unlink()
    assert f"{name} is missing" in run("verify", "out", "-p", "policy.toml", code=1).stdout
    run("verify", "out/public/data.csv", "-p", "policy.toml")


def test_verify_takes_the_data_inside_a_folder() -> None:
    release("-o", "out")
    run("verify", "out/public/data.csv", "-p", "policy.toml")
    run("verify", "out/public/data.csv", "-p", "out/private/policy.toml")


def test_a_violation_is_exit_1() -> None:
    release("-o", "out.csv")
    Path("strict.toml").write_text(POLICY.replace("k = 3", "k = 30"))
    told = answer("verify", "out.csv", "-p", "strict.toml", code=1)
    assert [template["holds"] for template in told["templates"]] == [False, True]
    assert "BROKEN" in run("verify", "out.csv", "-p", "strict.toml", code=1).stdout
    quiet = run("verify", "out.csv", "-p", "strict.toml", "--quiet", code=1)
    assert quiet.stdout == ""
    assert "BROKEN" in quiet.stderr


@pytest.mark.parametrize("k", [3, 40])
def test_uncheckable_templates(k: int) -> None:
    """Without the column that is counted: not decidable, unless skipped or broken elsewhere."""
    Path("out.csv").write_text("Job,Age,Sick\n" + "a,1,y\n" * 5 + "b,2,n\n" * 5)
    Path("counted.toml").write_text(COUNTED.replace("k = 2", f"k = {k}"))
    told = answer("verify", "out.csv", "-p", "counted.toml", code=2 if k == 3 else 1)
    assert [template["holds"] for template in told["templates"]] == [None, k == 3]
    skipping = run(
        "verify", "out.csv", "-p", "counted.toml", "--skip-uncheckable", code=0 if k == 3 else 1
    )
    assert "not checkable" in skipping.stdout


def test_the_counted_column_is_used_where_it_is_there() -> None:
    kept = COUNTED.replace('drop = ["Name"]\nkeep = ["Age", "Sick"]', 'keep = "*"')
    Path("kept.toml").write_text(kept)
    rows = [f"P{i % 2},{'ab'[i % 2]},1,y\n" for i in range(10)]
    Path("out.csv").write_text("Name,Job,Age,Sick\n" + "".join(rows))
    told = answer("verify", "out.csv", "-p", "kept.toml", code=1)
    assert [template["after"] for template in told["templates"]] == [1, 5]
    assert [template["holds"] for template in told["templates"]] == [False, True]


def test_labels_that_the_policy_cannot_show_are_exit_2() -> None:
    error = run("verify", "data.csv", "-p", "policy.toml", code=2)
    assert 'column "Age": 5 labels, on 40 rows' in error.stderr
    Path("odd.csv").write_text(
        "Job,Age,Sick\n" + 'Queen,"[0,100]",y\n' * 5 + 'ANY,"[0,100)",n\n' * 5
    )
    told = run("verify", "odd.csv", "-p", "policy.toml", code=2)
    assert 'column "Job": 1 labels, on 5 rows' in told.stderr
    assert "Queen" not in told.output
    assert "Queen" in run("verify", "odd.csv", "-p", "policy.toml", "--show-values", code=2).stderr


def test_lacking_columns_are_exit_2() -> None:
    Path("less.csv").write_text("Job,Sick\n" + "ANY,y\n" * 10)
    assert '"Age"' in run("verify", "less.csv", "-p", "policy.toml", code=2).stderr
    Path("none.csv").write_text("Job,Age,Sick\n")
    assert "no rows" in run("verify", "none.csv", "-p", "policy.toml", code=2).stderr


def test_a_dropped_column_that_is_still_there_is_a_violation() -> None:
    release("-o", "out.csv")
    head, *rows = rows_of("out.csv")
    with open("more.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([[*head, "Name"], *([*row, "x"] for row in rows)])
    told = answer("verify", "more.csv", "-p", "policy.toml", code=1)
    assert all(template["holds"] for template in told["templates"])
    assert "Name" in run("verify", "more.csv", "-p", "policy.toml", code=1).stdout


def test_what_typed_files_carry_is_a_violation() -> None:
    release("-o", "out.parquet")
    frame = pd.read_parquet("out.parquet")
    frame.to_parquet("plain.parquet")  # pandas describes a plain count of rows in the metadata
    run("verify", "plain.parquet", "-p", "policy.toml")
    frame.attrs["source"] = "the hospital's own table"
    frame.to_parquet("attrs.parquet")
    run("verify", "attrs.parquet", "-p", "policy.toml", code=1)
    frame.set_index("Sick").to_parquet("index.parquet")
    run("verify", "index.parquet", "-p", "policy.toml", code=1)
    table = pq.read_table("out.parquet")
    codes = pa.array([0] * 40, pa.int32())
    jobs = pa.DictionaryArray.from_arrays(codes, pa.array(["ANY", "Queen"]))
    with pa.OSFile("cats.arrow", "wb") as sink:
        cats = table.set_column(0, "Job", jobs)
        with pa.ipc.new_file(sink, cats.schema) as writer:
            writer.write_table(cats)
    said = run("verify", "cats.arrow", "-p", "policy.toml", code=1)
    assert "categories" in said.output
    assert "Queen" not in said.output


# --- risk ----------------------------------------------------------------------------------------


def bank_of_24() -> None:
    lines = [
        ("Cook,US,No,Current", 0, 4), ("Artist,France,No,Current", 1, 3),
        ("Doctor,US,Yes,Never", 4, 2), ("Trader,UK,No,Discharged", 4, 0),
        ("Trader,UK,No,Never", 1, 0), ("Trader,Canada,No,Never", 1, 0),
        ("Clerk,Canada,No,Never", 3, 0), ("Clerk,Canada,No,Discharged", 1, 0),
    ]  # fmt: skip
    with open("bank.csv", "w", encoding="utf-8") as file:
        file.write("Job,Country,Child,Bankruptcy,Class\n")
        for cells, good, bad in lines:
            file.write(f"{cells},G\n" * good + f"{cells},B\n" * bad)
    Path("bank.toml").write_text(
        'class = "Class"\nkeep = ["Child"]\n[[anonymity]]\nover = ["Job", "Country"]\nk = 5\n'
        '[[confidence]]\nover = ["Job", "Country"]\n'
        'sensitive = { Bankruptcy = ["Discharged"] }\nat_most = 0.75\n'
        '[[confidence]]\nover = ["Country"]\nsensitive = { Bankruptcy = "*" }\nat_most = "3/5"\n'
    )


def test_risk_json_of_the_24_customers() -> None:
    bank_of_24()
    told = answer("risk", "bank.csv", "-p", "bank.toml")
    assert told["rows"] == 24
    group, sure, every = told["templates"]
    # Trader in Canada is alone; cooks, artists and clerks are 4 each.
    assert group == {
        "kind": "anonymity", "over": ["Job", "Country"], "asked": 5, "smallest": 1,
        "records_below": 13, "groups": 6,
    }  # fmt: skip
    assert {"kind", "over", "asked", "largest", "inferences_above", "above"} <= set(sure)
    assert (sure["asked"], sure["largest"], sure["inferences_above"]) == ("3/4", "4/5", 1)
    assert sure["above"] == {"0.1": 2, "0.3": 1, "0.5": 1, "0.7": 1, "0.9": 0}
    # US: Current 4/10, Never 6/10; France: Current 1; UK: 4/5, 1/5; Canada: Never 4/5, 1/5
    assert (every["largest"], every["inferences_above"]) == ("1", 3)
    assert every["above"] == {"0.1": 7, "0.3": 5, "0.5": 4, "0.7": 3, "0.9": 1}


def test_risk_speaks_to_people() -> None:
    text = run("risk", "data.csv", "-p", "policy.toml").stdout
    assert "the smallest of 2" in text
    assert "10 records stand in groups below 3" in text
    quiet = run("risk", "data.csv", "-p", "policy.toml", "--quiet")
    assert (quiet.stdout, quiet.stderr) == ("", "")


def test_risk_needs_a_policy_that_fits() -> None:
    Path("other.toml").write_text(POLICY.replace('"Name"', '"Nmae"'))
    told = run("risk", "data.csv", "-p", "other.toml", code=2)
    assert 'Did you mean "Name"?' in told.stderr
    assert 'no role: "Name"' in told.stderr


# --- apply ---------------------------------------------------------------------------------------


def test_apply() -> None:
    release("-o", "out")
    told = answer("apply", "out", "data.csv", "-o", "again.csv")
    assert told == {"rows": 40, "unforeseen": {}, "output": "again.csv", "covered": False}
    assert Path("again.csv").read_bytes() == Path("out/public/data.csv").read_bytes()
    Path("new.csv").write_text("Name,Job,Age,Sick\nX,Cook,22,y\nY,Boss,101,n\nZ,,,\n")
    text = run("apply", "out", "new.csv", "-o", "new-masked.csv").stdout
    assert "not these rows" in text
    assert "1 rows of column Age" in text
    rows = rows_of("new-masked.csv")
    assert rows[0] == ["Job", "Age", "Sick"]
    assert ["Boss", "*", "n"] in rows


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["out", "new.csv", "-o", "data.csv"], "--force"),
        (["out", "new.csv", "-o", "folder/"], "one file"),
        (["out", "none.csv", "-o", "x.csv"], "no such file"),
        (["nothing", "new.csv", "-o", "x.csv"], "no release folder"),
        (["data.csv", "new.csv", "-o", "x.csv"], "no release folder"),
        (["out", "other.csv", "-o", "x.csv"], 'lacks "Job", "Age"'),
        (["out", "queen.csv", "-o", "x.csv"], "no place in the taxonomy"),
    ],
)
def test_apply_refuses(given: list[str], said: str) -> None:
    release("-o", "out")
    Path("new.csv").write_text("Name,Job,Age,Sick\nX,Cook,22,y\n")
    Path("other.csv").write_text("Name,Sick\nX,y\n")
    Path("queen.csv").write_text("Name,Job,Age,Sick\nX,Queen,22,y\n")
    was = files()
    result = run("apply", *given, code=2)
    assert said in result.stderr
    assert "Queen" not in result.output
    assert files() == was


def test_apply_to_a_folder_of_another_version() -> None:
    release("-o", "out")
    path = Path("out/private/recoding.json")
    path.write_text(path.read_text().replace('"format": 1', '"format": 99'))
    assert "another version" in run("apply", "out", "data.csv", "-o", "x.csv", code=2).stderr
    path.write_text("{")
    run("apply", "out", "data.csv", "-o", "x.csv", code=2)
    assert not Path("x.csv").exists()


# --- init ----------------------------------------------------------------------------------------


def drafted(names: Sequence[str], rows: Sequence[Sequence[str]], *options: str) -> str:
    """Draft a policy, and see that it is one, for this table; give its text."""
    with open("table.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([names, *rows])
    run("init", "table.csv", "-o", "draft.toml", "--force", *options)
    reading = [option for option in options if option != "--show-values"]
    run("policy", "check", "draft.toml")
    run("policy", "check", "draft.toml", "table.csv", *reading)
    return Path("draft.toml").read_text(encoding="utf-8")


def test_init() -> None:
    printed = run("init", "data.csv").stdout
    assert Policy.parse(printed).drop == ("Name",)
    told = answer("init", "data.csv", "-o", "draft.toml")
    assert told == {"output": "draft.toml", "policy": printed}
    assert Path("draft.toml").read_text() == printed
    run("init", "data.csv", "-o", "draft.toml", code=2)
    assert "draft.toml" in run("init", "data.csv", "-o", "draft.toml", "--force").stdout
    run("policy", "check", "draft.toml", "data.csv")
    run("release", "data.csv", "-p", "draft.toml", "-o", "out.csv")
    run("verify", "out.csv", "-p", "draft.toml")
    assert answer("init", "data.csv")["output"] is None


def test_init_shows_values_only_when_asked() -> None:
    rows = [["SECRETxyz1", str(1700 + i), "2024-05-17"] for i in range(5)]
    assert not re.search("SECRETxyz1|170|2024", drafted(["Job", "Height", "Day"], rows))
    shown = drafted(["Job", "Height", "Day"], rows, "--show-values")
    assert "1700" in shown
    assert "2024-05-17" in shown


TWO = [["a", "1"], ["b", "2"]] * 6
ODD_TABLES: dict[str, tuple[list[str], list[list[str]]]] = {
    "one row": (["A", "B"], [["x", "1"]]),
    "one column": (["A"], [["x"], ["y"]] * 3),
    "all missing": (["A", "B"], [["", ""]] * 4),
    "a class alone": (["Class"], [["y"], ["n"]] * 5),
    "identifiers alone": (["Name", "Id"], [[f"a{i}", str(i)] for i in range(30)]),
    "an identifier and a class": (["Name", "Class"], [[f"a{i}", "yn"[i % 2]] for i in range(30)]),
    "a secret and a class": (["Diagnosis", "Class"], TWO),
    "an identifier, a secret and a class": (
        ["Name", "Diagnosis", "Class"],
        [[f"a{i}", "xy"[i % 2], "yn"[i % 3 == 0]] for i in range(30)],
    ),
    "a secret alone": (["Diagnosis"], [["x"], ["y"]] * 3),
    "a secret that nobody has": (["Diagnosis", "Age"], [["", "1"], ["", "2"]] * 3),
    "a secret that all share": (["Job", "Diagnosis", "Age"], [["c", "x", "1"]] * 5),
    "the marker as a value": (["Job", "Age", "Sex"], [["*", "1", "m"], ["a", "2", "f"]] * 5),
    "the marker as a number": (["Age", "Sex", "X"], [["1", "m", "*"], ["2", "f", ""]] * 5),
    "zones that differ": (["When", "Sex", "X"], [["2024-01-01T10:00Z", "m", ""], ["2024-01-01T10:00", "f", ""]] * 5),
    "numbers too large": (["X", "Sex", "Y"], [["1e999", "m", ""], ["3", "f", ""]] * 5),
    "digits without end": (["X", "Sex", "Y"], [["9" * 5000, "m", ""], ["3", "f", ""]] * 5),
    "times before the calendar": (["X", "Sex", "Y"], [["0001-01-01T00:00+05:00", "m", ""]] * 5),
    "a star for a name": (["*", "Age"], TWO),
    "names of keys": (["class", "drop"], TWO),
    "dots and quotes in names": (['a.b"\\', "'a'"], TWO),
    "blanks around names": ([" Age ", "Job "], TWO),
    "line breaks in names": (["Disease\nkind", "Job\r\nnow", "Age"], [["x", "c", "1"], ["y", "d", "2"]] * 5),
    "control signs in names": (["Disease\x01\x7f", "Job\x7f", "Age\x1f"], [["x", "c", "1"], ["y", "d", "2"]] * 5),
    "names in other scripts": (["Größe", "年齢", "😀"], [["x", "1", "a"], ["y", "2", "b"]] * 5),
    "truth values": (["b", "c"], [["true", "1"], ["false", "2"]] * 5),
    "many columns": ([f"c{i}" for i in range(60)], [[str(i % 7) for i in range(60)]] * 3),
}  # fmt: skip


@pytest.mark.parametrize("kind", list(ODD_TABLES))
def test_drafts_of_odd_tables_are_policies_for_them(kind: str) -> None:
    names, rows = ODD_TABLES[kind]
    policy = Policy.parse(drafted(names, rows))
    assert policy.promises
    assert policy.roles(names)


def test_drafts_of_tables_read_as_told() -> None:
    text = drafted(
        ["Pay", "Day", "Sex"], [["1,5", "31.12.2024", "m"], ["2,5", "01.01.2024", "f"]] * 5,
        "--decimal", ",", "--date-format", "%d.%m.%Y",
    )  # fmt: skip
    assert text.count('mask = "discretize"') == 2


def test_drafts_of_typed_tables(tmp_path: Path) -> None:
    table = pa.table(
        {
            "n": [1, None, 3], "x": [0.5, float("nan"), 2.0], "b": [True, False, None],
            "d": pa.array([1, 2, None], pa.date32()), "t": pa.array([1, 2, None], pa.timestamp("s")),
            "s": ["u", "", None],
        }
    )  # fmt: skip
    pq.write_table(table, "typed.parquet")
    run("init", "typed.parquet", "-o", "draft.toml")
    run("policy", "check", "draft.toml", "typed.parquet")
    run("release", "typed.parquet", "-p", "draft.toml", "-o", "out.parquet")
    run("verify", "out.parquet", "-p", "draft.toml")


odd_cells = st.one_of(
    st.sampled_from(
        ["", "0", "1", "01", "-1.5", "1e5", "1e999", "*", "?", "NA", "true", "2024-01-01",
         "2024-01-01T10:00", "2024-01-01T10:00Z", "2024-02-30", "x", "y"]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=3),
)  # fmt: skip
odd_names = st.one_of(
    st.sampled_from(["Name", "Id", "Class", "Diagnosis", "Salary", "Age", "Zip", "drop", "a.b"]),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4).filter(str.strip),
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(odd_names, min_size=1, max_size=4, unique=True).flatmap(
        lambda names: st.tuples(
            st.just(names),
            st.lists(
                st.lists(odd_cells, min_size=len(names), max_size=len(names)),
                min_size=1,
                max_size=5,
            ),
        )
    ),
    st.integers(1, 6),
)
def test_drafts_of_any_table_are_policies_for_it(
    table: tuple[list[str], list[list[str]]], copies: int
) -> None:
    names, rows = table
    here = os.getcwd()
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            drafted(names, rows * copies)
        finally:
            os.chdir(here)


def test_init_refuses() -> None:
    Path("empty.csv").write_text("A,B\n")
    assert "no rows" in run("init", "empty.csv", code=2).stderr
    assert "no such file" in run("init", "none.csv", code=2).stderr
    run("init", "data.csv", "-o", "nowhere/draft.toml", code=2)


# --- policy --------------------------------------------------------------------------------------


def test_policy_check() -> None:
    told = answer("policy", "check", "policy.toml")
    assert told == {
        "promises": [
            "every combination of Job, Age is shared by at least 3 records",
            "nobody who knows Job is more than 9/10 sure of a sensitive value of Sick",
        ],
        "warnings": [],
    }
    text = run("policy", "check", "policy.toml", "data.csv").stdout
    assert "valid policy and fits data.csv" in text
    assert run("policy", "check", "policy.toml", "--quiet").stdout == ""


def test_policy_check_tells_every_problem_of_the_fit() -> None:
    Path("bad.toml").write_text(
        'keep = ["Nmae"]\n[attributes.Job]\nmask = "generalize"\ntaxonomy = "none.csv"\n'
        '[[anonymity]]\nover = ["Job", "Agee"]\nk = 3\n'
    )
    told = json.loads(run("policy", "check", "bad.toml", "data.csv", "--json", code=2).stdout)
    said = "\n".join(told["problems"])
    for part in ('"Nmae"', '"Agee"', "no role", "none.csv"):
        assert part in said
    Path("bad.toml").write_text(
        'drop = ["Name"]\n[attributes.Job]\nmask = "generalize"\ntaxonomy = { ANY = ["Cook"] }\n'
        '[attributes.Age]\nmask = "discretize"\nrange = [21, 22]\n'
        '[[confidence]]\nover = ["Job", "Age"]\nsensitive = { Sick = ["Y"] }\nat_most = 0.9\n'
    )
    told = json.loads(run("policy", "check", "bad.toml", "data.csv", "--json", code=2).stdout)
    assert len(told["problems"]) == 3


def test_policy_check_looks_at_taxonomies_without_data() -> None:
    Path("bad.toml").write_text(
        '[attributes.Job]\nmask = "generalize"\ntaxonomy = "none.csv"\n'
        '[[anonymity]]\nover = ["Job"]\nk = 3\n'
    )
    assert "none.csv" in run("policy", "check", "bad.toml", code=2).stderr
    run("policy", "check", "none.toml", code=2)
    run("policy", "check", ".", code=2)


def test_policy_schema() -> None:
    from reticent.tables.policy import schema

    assert json.loads(run("policy", "schema").stdout) == schema()


# --- taxonomy ------------------------------------------------------------------------------------


def test_taxonomy_make_by_prefix_and_check_and_show() -> None:
    Path("zip.csv").write_text("Zip\n01234\n01277\n09999\n\n")
    told = answer(
        "taxonomy", "make", "zip.csv", "--column", "Zip", "--prefix", "1,3", "-o", "t.csv"
    )
    assert told == {"output": "t.csv", "leaves": 3, "labels": 7}
    assert rows_of("t.csv")[0] == ["01234", "012**", "0****", "*"]
    checked = answer("taxonomy", "check", "t.csv", "zip.csv", "--column", "Zip")
    assert checked == {"leaves": 3, "labels": 7, "root": "*"}
    assert run("taxonomy", "show", "t.csv").stdout.splitlines()[:3] == ["*", "└── 0****", "    ├── 012**"]  # fmt: skip
    assert answer("taxonomy", "show", "t.csv")["*"]["0****"]["012**"] == {"01234": {}, "01277": {}}


@pytest.mark.parametrize(
    ("cells", "options", "row"),
    [
        (["2024-05-01", "2023-01-31"], ["--date"], ["2023-01-31", "2023-01", "2023", "*"]),
        (
            ["01.05.2024", "31.01.2023"],
            ["--date", "--date-format", "%d.%m.%Y"],
            ["31.01.2023", "2023-01", "2023", "*"],
        ),
        (["5", "17", "18"], ["--bins", "0,18,65"], ["5", "[0,18)", "[0,65]"]),
        (["0", "2", "5"], ["--equal", "2"], ["0", "[0,2.5)", "[0,5]"]),
    ],
)
def test_taxonomy_make(cells: list[str], options: list[str], row: list[str]) -> None:
    Path("table.csv").write_text("A;B\n" + "".join(f"{cell};x\n" for cell in cells) + ";y\n")
    run("taxonomy", "make", "table.csv", "--column", "A", *options, "-o", "t.csv")
    assert rows_of("t.csv")[0] == row
    run("taxonomy", "check", "t.csv", "table.csv", "--column", "A")


def test_taxonomies_made_serve_a_policy() -> None:
    run("taxonomy", "make", "data.csv", "--column", "Age", "--bins", "0,22,100", "-o", "age.csv")
    Path("p.toml").write_text(
        'keep = "*"\n[attributes.Age]\nmask = "generalize"\ntaxonomy = "age.csv"\n'
        '[[anonymity]]\nover = ["Age"]\nk = 10\n'
    )
    run("release", "data.csv", "-p", "p.toml", "-o", "out")
    run("verify", "out", "-p", "p.toml")
    assert {row[2] for row in rows_of("out/public/data.csv")[1:]} == {"[0,22)", "[22,100]"}


def test_taxonomy_check_counts_what_is_not_covered() -> None:
    Path("t.csv").write_text("Cook,ANY\nClerk,ANY\n")
    given = ["taxonomy", "check", "t.csv", "data.csv", "--column", "Job"]
    told = run(*given, code=2)
    assert "no leaf for 1 of the 3 values" in told.stderr
    assert "rows 3, 6, 9" in told.stderr
    assert "Boss" not in told.output
    assert "Boss" in run(*given, "--show-values", code=2).stderr
    quiet = json.loads(run(*given, "--json", code=2).stdout)
    assert "Boss" not in json.dumps(quiet)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["make", "data.csv", "--column", "Age", "-o", "t.csv"], "choose one"),
        (["make", "data.csv", "--column", "Age", "--date", "--equal", "2", "-o", "t.csv"], "choose one"),
        (["make", "data.csv", "--column", "Agee", "--equal", "2", "-o", "t.csv"], 'Did you mean "Age"?'),
        (["make", "data.csv", "--column", "Age", "--bins", "0,x", "-o", "t.csv"], "--bins"),
        (["make", "data.csv", "--column", "Age", "--prefix", "a", "-o", "t.csv"], "--prefix"),
        (["make", "data.csv", "--column", "Age", "--prefix", "0", "-o", "t.csv"], "prefixes"),
        (["make", "data.csv", "--column", "Age", "--bins", "0,22", "-o", "t.csv"], "2 of the 5 values lie outside"),
        (["make", "data.csv", "--column", "Job", "--equal", "2", "-o", "t.csv"], "3 of the 3 values are no numbers"),
        (["make", "data.csv", "--column", "Job", "--date", "-o", "t.csv"], "3 of the 3 values are no dates"),
        (["make", "data.csv", "--column", "Age", "--equal", "2", "-o", "t.json"], ".csv"),
        (["make", "data.csv", "--column", "Age", "--equal", "2", "-o", "data.csv"], "--force"),
        (["check", "t.csv", "data.csv"], "go together"),
        (["check", "none.csv"], "none.csv"),
        (["show", "none.csv"], "none.csv"),
        (["show", "data.xml"], "data.xml"),
    ],
)  # fmt: skip
def test_taxonomy_refuses(given: list[str], said: str) -> None:
    if "check" in given:
        Path("t.csv").write_text("Cook,ANY\n")
    was = files()
    assert said in run("taxonomy", *given, code=2).stderr
    assert files() == was


def test_taxonomy_make_replaces_only_under_force() -> None:
    given = ["taxonomy", "make", "data.csv", "--column", "Age", "--equal", "2", "-o", "t.csv"]
    run(*given)
    run(*given, code=2)
    run(*given, "--force")
    assert len(taxonomies.load(Path("t.csv")).leaves) == 5


# --- sample --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["census", "bank", "clinic", "baskets"])
@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".csv.gz"])
def test_sample_files(kind: str, suffix: str) -> None:
    told = answer("sample", kind, "--rows", 50, "--seed", 3, "-o", f"one{suffix}")
    assert told == {"written": [f"one{suffix}"]}
    run("sample", kind, "--rows", 50, "--seed", 3, "-o", f"two{suffix}")
    run("sample", kind, "--rows", 50, "--seed", 4, "-o", f"three{suffix}")
    one, two, three = (Path(f"{name}{suffix}").read_bytes() for name in ("one", "two", "three"))
    assert one == two != three
    assert arrival.read(f"one{suffix}")[0].rows == 50
    run("sample", kind, "-o", f"one{suffix}", code=2)


@pytest.mark.parametrize("kind", ["census", "bank", "clinic"])
def test_sample_folders_can_be_released(kind: str) -> None:
    told = answer("sample", kind, "--rows", 1000, "-o", "made")
    assert set(told["written"]) == {f"made/{name}" for name in files("made")}
    assert {"policy.toml", f"{kind}.csv"} <= files("made")
    run("policy", "check", "made/policy.toml", f"made/{kind}.csv")
    given = ["-p", "made/policy.toml"]
    done = answer("release", f"made/{kind}.csv", *given, "-o", "out")
    assert all(template["verified"] for template in done["templates"])
    assert done["steps"] > 0
    if kind == "clinic":  # its patients are counted, but not published
        checked = answer("verify", "out", *given, code=2)
        assert [template["holds"] for template in checked["templates"]] == [None, True]
        run("verify", "out", *given, "--skip-uncheckable")
    else:
        run("verify", "out", *given)


def test_a_sample_of_baskets_can_be_released() -> None:
    told = answer("sample", "baskets", "--rows", 1000, "-o", "made")
    assert told == {"written": ["made/baskets.csv", "made/policy.toml"]}
    assert files("made") == {"baskets.csv", "policy.toml"}
    given = ["-p", "made/policy.toml"]
    done = answer("transactions", "release", "made/baskets.csv", *given, "-o", "out")
    assert done["templates"][0]["verified"]
    assert not done["warnings"]
    assert 0 < done["items"]["suppressed"] < done["items"]["public"]
    run("transactions", "verify", "out", *given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["cencus", "-o", "x.csv"], 'Did you mean "census"?'),
        (["bank", "--rows", "0", "-o", "x.csv"], "at least one"),
        (["bank", "--seed", "-1", "-o", "x.csv"], "seed"),
        (["bank", "-o", "nowhere/x.csv"], "no folder"),
    ],
)
def test_sample_refuses(given: list[str], said: str, before: set[str]) -> None:
    assert said in run("sample", *given, code=2).stderr
    assert files() == before


# --- real processes ------------------------------------------------------------------------------


def command() -> list[str]:
    return [str(Path(sys.executable).parent / "reticent")]


def start(*given: str) -> subprocess.Popen[str]:
    """Start a process to which Ctrl-C means what it means at a terminal."""
    return subprocess.Popen(
        [*command(), *given], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip


def finished(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    try:
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()  # nothing, to one that has ended
    assert "Traceback" not in err
    return process.returncode, out, err


@pytest.fixture
def slow_table() -> list[str]:
    """A search of 30,000 steps: half a minute, if nobody stops it."""
    with open("slow.csv", "w", encoding="utf-8") as file:
        file.write("A,B\n")
        file.writelines(f"v{i // 2},{'yn'[i % 2]}\n" for i in range(60_000))
    Path("slow.toml").write_text('keep = ["B"]\n[[anonymity]]\nover = ["A"]\nk = 2\n')
    return ["release", "slow.csv", "-p", "slow.toml"]


@pytest.mark.net
def test_process_release_and_verify(before: set[str]) -> None:
    code, out, err = finished(start("release", "data.csv", "-p", "policy.toml", "-o", "out"))
    assert (code, err) == (0, "")  # progress shows on a terminal, not in a pipe
    assert "40 rows released" in out
    assert finished(start("verify", "out", "-p", "policy.toml"))[0] == 0
    assert finished(start("verify", "data.csv", "-p", "policy.toml"))[0] == 2
    code, out, err = finished(start("release", "data.csv", "-p", "policy.toml", "-o", "out"))
    assert (code, out) == (2, "")
    assert "--force" in err


@pytest.mark.net
def test_process_exit_codes() -> None:
    Path("strict.toml").write_text(POLICY.replace("k = 3", "k = 41"))
    assert finished(start("release", "data.csv", "-p", "strict.toml", "-o", "out.csv"))[0] == 3
    assert finished(start("--version"))[1] == f"reticent {reticent.__version__}\n"
    assert finished(start("nonsense"))[0] == 2
    assert finished(start("release", "data.csv", "-p", "policy.toml", "-o", "out.csv"))[0] == 0
    Path("strict.toml").write_text(POLICY.replace("k = 3", "k = 30"))
    assert finished(start("verify", "out.csv", "-p", "strict.toml"))[0] == 1


@pytest.mark.net
def test_process_whose_reader_goes_away() -> None:
    process = start("policy", "schema")
    assert process.stdout
    assert process.stderr
    process.stdout.close()
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()
    process.wait(timeout=60)


@pytest.mark.net
@pytest.mark.slow
def test_one_interrupt_writes_the_release_so_far(slow_table: list[str]) -> None:
    for wait in (2, 5, 10):  # until the search has begun
        process = start(*slow_table, "-o", "out.csv", "--json")
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
        code, out, err = finished(process)
        if code == 0:
            break
        assert code == 130
        assert not Path("out.csv").exists()
    assert code == 0
    told = json.loads(out)
    assert told["stopped_early"] is True
    assert 0 <= told["steps"] < 30_000
    assert "Stopping" in err
    run("verify", "out.csv", "-p", "slow.toml")
    assert not list(Path().glob(".*"))


@pytest.mark.net
@pytest.mark.slow
def test_two_interrupts_write_nothing(slow_table: list[str]) -> None:
    process = start(*slow_table, "-o", "out", "--json")
    time.sleep(5)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    code, out, _ = finished(process)
    if code == 0:  # both arrived as one
        assert json.loads(out)["stopped_early"] is True
        return
    assert code == 130
    assert not Path("out").exists()
    assert not list(Path().glob(".*"))


@pytest.mark.net
def test_an_interrupt_while_reading_writes_nothing(before: set[str]) -> None:
    """The table is a pipe that nobody fills, so the process surely stands at its beginning."""
    os.mkfifo("pipe.csv")
    process = start("release", "pipe.csv", "-p", "policy.toml", "-o", "out.csv")
    writer = None
    for _ in range(600):
        try:
            writer = os.open("pipe.csv", os.O_WRONLY | os.O_NONBLOCK)
            break
        except OSError:  # nobody reads yet
            time.sleep(0.05)
    assert writer is not None
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    code, out, err = finished(process)
    os.close(writer)
    assert code == 130
    assert out == ""
    assert "Stopped" in err
    os.unlink("pipe.csv")
    assert files() == before


def test_an_interrupt_that_python_must_drop_is_heard_all_the_same() -> None:
    """It falls into a callback of compiled code, where no exception can be raised."""

    callback = ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGINT))

    def work() -> None:
        with signals.hearing():
            callback()
            time.sleep(60)

    before = sys.unraisablehook
    with pytest.raises(KeyboardInterrupt):
        work()
    assert sys.unraisablehook is before
    assert signals.exit_code() == 130


@pytest.mark.net
@pytest.mark.slow
@pytest.mark.parametrize("place", ["out.csv", "out"])
def test_a_killed_run_leaves_what_the_next_one_removes(place: str, before: set[str]) -> None:
    with open("wide.csv", "w", encoding="utf-8") as file:
        file.write("A,B\n")
        file.writelines(f"{'xyz'[i % 3]},{i}{'-' * 100}\n" for i in range(200_000))
    Path("wide.toml").write_text('keep = ["B"]\n[[anonymity]]\nover = ["A"]\nk = 2\n')
    given = ["release", "wide.csv", "-p", "wide.toml", "-o", place]
    for _ in range(5):
        process = start(*given)
        while process.poll() is None and not list(Path().glob(".*.reticent-tmp")):
            time.sleep(0.002)
        process.kill()
        process.communicate()
        if not Path(place).exists():
            break
        run("release", "wide.csv", "-p", "wide.toml", "-o", place, "--force")  # too late: again
    left = list(Path().glob(".*"))
    assert len(left) == 1
    assert mode(left[0]) == (0o700 if place == "out" else 0o600)
    assert not Path(place).exists()
    assert finished(start(*given))[0] == 0
    assert not list(Path().glob(".*"))
    assert flow.verify(place, "wide.toml").holds
