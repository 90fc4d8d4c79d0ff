"""The command line: answers, JSON shapes, exit codes, and what is written when."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

import reticent
from at_hand import SECRET, contents, mode, rows_of
from places_at_hand import GIVEN
from reticent import Policy
from reticent.front.cli import app
from reticent.privacy import verify as verifier
from reticent.sources import arrival
from reticent.tables import flow
from reticent.terminal import signals
from terminal import answer, finished, run, start

POLICY = (GIVEN / "people" / "policy.toml").read_text(encoding="utf-8")
pytestmark = pytest.mark.usefixtures("people")


def release(*given: object, code: int = 0) -> Result:
    return run("release", "data.csv", "--policy", "policy.toml", *given, code=code)


def files(folder: Path | str = ".") -> set[str]:
    return set(contents(folder))


@pytest.fixture
def before(people: Path) -> set[str]:
    return files(people)


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
    ("where", "error", "code", "said"),
    [
        ("reticent.tables.flow.release", RuntimeError(SECRET), 70, "RuntimeError"),
        ("reticent.tables.flow.release", MemoryError(SECRET), 2, "memory"),
        ("reticent.files.tabular.parse", KeyboardInterrupt(SECRET), 130, "Stopped"),
    ],
    ids=["ours", "memory", "interrupt"],
)
def test_what_went_wrong_is_told_without_traceback_and_values(
    where: str,
    error: BaseException,
    code: int,
    said: str,
    before: set[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*given: Any, **how: Any) -> Any:
        raise error

    monkeypatch.setattr(where, broken)
    result = release("-o", "out.csv", code=code)
    assert said in result.stderr
    assert SECRET not in result.output
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


# --- release: one file ---------------------------------------------------------------------------


ODD_NAMES = [
    "a\rb", "a\nb", "a\r\nb", 'a"b', "a,b", "a;b", "a|b", "'a'", "A", "n", "c0", "*", " a ", "é", "x" * 5000,
]  # fmt: skip


@pytest.mark.parametrize("name", ODD_NAMES)
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


def test_masked_columns_are_text_and_others_keep_their_type() -> None:
    table = pa.table({"A": [1, 1, 2, 2], "B": [1.5, 2.5, None, 4.5]})
    pq.write_table(table, "typed.parquet")
    Path("typed.toml").write_text('keep = ["B"]\n[[anonymity]]\nover = ["A"]\nk = 2\n')
    run("release", "typed.parquet", "-p", "typed.toml", "-o", "out.parquet")
    out = pq.read_table("out.parquet")
    assert out.schema.types == [pa.string(), pa.float64()]
    assert sorted(set(out["A"].to_pylist())) == ["[1,2)", "[2,2]"]


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


# --- release: what cannot be kept, and our own faults --------------------------------------------


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


# --- verify --------------------------------------------------------------------------------------


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


def test_policy_schema() -> None:

    assert json.loads(run("policy", "schema").stdout) == Policy.json_schema()


def test_taxonomies_made_serve_a_policy() -> None:
    run("taxonomy", "make", "data.csv", "--column", "Age", "--bins", "0,22,100", "-o", "age.csv")
    Path("p.toml").write_text(
        'keep = "*"\n[attributes.Age]\nmask = "generalize"\ntaxonomy = "age.csv"\n'
        '[[anonymity]]\nover = ["Age"]\nk = 10\n'
    )
    run("release", "data.csv", "-p", "p.toml", "-o", "out")
    run("verify", "out", "-p", "p.toml")
    assert {row[2] for row in rows_of("out/public/data.csv")[1:]} == {"[0,22)", "[22,100]"}


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


# --- real processes ------------------------------------------------------------------------------


@pytest.mark.net
def test_process_exit_codes_and_streams() -> None:
    release = ["release", "data.csv", "-p", "policy.toml", "-o", "out"]
    code, out, err = finished(start(*release))
    assert (code, err) == (0, "")  # progress shows on a terminal, not in a pipe
    assert "40 rows released" in out
    code, out, err = finished(start(*release))
    assert (code, out) == (2, "")
    assert "--force" in err
    Path("strict.toml").write_text(POLICY.replace("k = 3", "k = 30"))
    Path("cannot.toml").write_text(POLICY.replace("k = 3", "k = 41"))
    for words, want in {
        "verify out -p policy.toml": 0, "verify out -p strict.toml": 1, "nonsense": 2,
        "verify data.csv -p policy.toml": 2, "release data.csv -p cannot.toml -o no.csv": 3,
    }.items():  # fmt: skip
        assert finished(start(*words.split()))[0] == want, words
    assert finished(start("--version"))[1] == f"reticent {reticent.__version__}\n"


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
        process = start("release", *slow_table, "-o", "out.csv", "--json")
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
    process = start("release", *slow_table, "-o", "out", "--json")
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
