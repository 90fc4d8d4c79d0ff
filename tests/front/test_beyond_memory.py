"""What somebody at a terminal sees of tables that do not fit in memory."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import reticent
from at_hand import refusal
from reticent.data import memory
from reticent.files import delimited, sheets
from reticent.sources import duckdb as embedded
from reticent.sources import engines, means
from terminal import run, start

SECRET = "Geheimrat"  # a value that no message may show
POLICY = """\
class = "Käuft"
keep = ["Bemerkung"]
[attributes.Alter]
mask = "discretize"
range = [0, 120]
[[anonymity]]
over = ["Alter", "Beruf", "Ort am Fluß"]
k = 5
"""


@pytest.fixture(autouse=True)
def data(work: Path) -> None:
    Path("policy.toml").write_text(POLICY, encoding="utf-8")
    rng = np.random.default_rng(3)
    lines = ["Alter;Beruf;Ort am Fluß;Bemerkung;Käuft"]
    for i in range(400):
        job = rng.choice(["Köchin", "Schmied", "Bäcker", SECRET], p=[0.5, 0.3, 0.19, 0.01])
        place = rng.choice(["Köln", "Ulm"])
        note = f'"sagt ""{i % 7}""; sonst nichts"' if i % 3 else ""
        buys = "ja" if rng.random() < (0.8 if job == "Köchin" else 0.2) else "nein"
        lines.append(f"{rng.integers(18, 90)};{job};{place};{note};{buys}")
    Path("daten.csv").write_text("\n".join(lines) + "\n", encoding="latin-1")


def release(*words: object, code: int = 0) -> Any:
    return run("release", "daten.csv", "-p", "policy.toml", *words, code=code)


PLAIN: dict[str, Any] = {"keep": "*", "anonymity": [{"over": ["A"], "k": 2}]}


def both(data: Path | str, policy: dict[str, Any] | str, suffix: str = ".csv") -> None:
    """The same bytes, whatever counts."""
    for engine in ("memory", "duckdb"):
        reticent.release(data, policy, output=f"{engine}{suffix}", engine=engine, force=True)
    assert Path(f"memory{suffix}").read_bytes() == Path(f"duckdb{suffix}").read_bytes()


def test_a_german_file_whatever_counts_it() -> None:
    release("-o", "a.csv", "--engine", "memory", "--trace", "a.jsonl")
    said = release("-o", "b.csv", "--engine", "duckdb", "--trace", "b.jsonl")
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()
    assert Path("a.jsonl").read_bytes() == Path("b.jsonl").read_bytes()
    assert "was read as Latin-1" in said.stderr


def test_the_choice_goes_by_size(monkeypatch: pytest.MonkeyPatch) -> None:
    told = json.loads(release("-o", "a.csv", "--json").stdout)
    assert "collapse" not in told["seconds"]
    monkeypatch.setattr(means, "free_memory", lambda: 10_000)
    told = json.loads(release("-o", "b.csv", "--json").stdout)
    assert "collapse" in told["seconds"]
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()


def test_a_memory_limit_is_a_size() -> None:
    release("-o", "a.csv", "--memory-limit", "1.5 GB")
    cases = {"much": "no size", "3 XB": "no size", "1,5GB": "no size", "10MB": "at least 400MB"}
    for wrong, words in cases.items():
        said = release("-o", "b.csv", "--memory-limit", wrong, code=2)
        assert words in said.stderr
    assert not Path("b.csv").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--engine", "dukdb"), 'there is no engine "dukdb"'),
        (("--engine-option", "counts"), "a setting is KEY=VALUE"),
        (("--engine", "duckdb", "--engine-option", "foo=bar"), 'no setting "foo"'),
        (("--engine", "memory", "--engine-option", "counts=files"), "memory has no settings"),
        (("--table", "x"), "only databases have tables"),
        (
            ("--engine", "duckdb", "--engine-option", "counts=heaven"),
            'counts cannot be in "heaven"',
        ),
    ],
)
def test_wrong_words(words: tuple[str, ...], said: str) -> None:
    assert said in release("-o", "a.csv", *words, code=2).stderr
    assert not Path("a.csv").exists()


def test_folders_of_parts() -> None:
    release("-o", "parts.csv", "--rows-per-file", 150)
    release("-o", "whole.csv")
    parts = sorted(Path("parts.csv").iterdir())
    assert [part.name for part in parts] == [f"part-{i:05d}.csv" for i in range(3)]
    lines = [part.read_text(encoding="utf-8").splitlines() for part in parts]
    assert [len(part) - 1 for part in lines] == [150, 150, 100]
    together = [lines[0][0], *(line for part in lines for line in part[1:])]
    assert together == Path("whole.csv").read_text(encoding="utf-8").splitlines()
    run("verify", "parts.csv", "-p", "policy.toml")
    # Replaced as a whole, and only if nothing else stands there.
    assert "exists already" in release("-o", "parts.csv", "--rows-per-file", 90, code=2).stderr
    release("-o", "parts.csv", "--rows-per-file", 200, "--force")
    assert len(list(Path("parts.csv").iterdir())) == 2
    Path("parts.csv/mine.txt").write_text("mine")
    said = release("-o", "parts.csv", "--rows-per-file", 200, "--force", code=2)
    assert "holds other things" in said.stderr


def test_a_file_for_every_few_rows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reticent.tables.flow._MOST_FILES", 10)
    said = release("-o", "parts.csv", "--rows-per-file", 39, code=2).stderr
    assert "11 files" in said
    assert "at least 40 rows a file" in said
    release("-o", "parts.csv", "--rows-per-file", 40)
    assert len(list(Path("parts.csv").iterdir())) == 10


def test_a_release_folder_of_parts_is_checked_file_by_file() -> None:
    release("-o", "out", "--rows-per-file", 150)
    manifest = json.loads(Path("out/public/manifest.json").read_text(encoding="utf-8"))
    assert [name for name in manifest["files"] if name.startswith("data.csv/")] == [
        f"data.csv/part-{i:05d}.csv" for i in range(3)
    ]
    run("verify", "out", "-p", "policy.toml")
    part = Path("out/public/data.csv/part-00001.csv")
    part.write_text(part.read_text(encoding="utf-8").replace("nein", "Nein"), encoding="utf-8")
    assert "is not the file" in run("verify", "out", "-p", "policy.toml", code=1).output
    release("-o", "out", "--rows-per-file", 150, "--force")
    shutil.copy(part, part.with_name("part-00009.csv"))
    assert "is none of the files" in run("verify", "out", "-p", "policy.toml", code=1).output
    part.with_name("part-00009.csv").unlink()
    run("verify", "out/public", "-p", "policy.toml")
    part.unlink()
    assert "is missing" in run("verify", "out/public", "-p", "policy.toml", code=1).output


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"44;{SECRET};Ulm;", "line 402"),
        (f'44;{SECRET};Ulm;"offen;ja', "does not close"),
        (f"44;{SECRET};Ulm;x;ja\n500;{SECRET};Ulm;x;ja", "lie outside 0 to 120"),
    ],
)
def test_broken_rows_are_told_without_their_cells(line: str, said: str) -> None:
    with open("daten.csv", "a", encoding="latin-1") as file:
        file.write(line + "\n")
    found = release("-o", "a.csv", "--engine", "duckdb", code=2)
    assert said in found.stderr
    assert SECRET not in found.output
    assert not Path("a.csv").exists()
    assert not list(Path(tempfile.gettempdir()).glob(f"reticent-spill-{os.getpid()}-*"))


def test_a_file_that_is_cut_off() -> None:
    pq.write_table(pa.table({"A": ["x", "y"] * 50}), "a.parquet")
    Path("a.parquet").write_bytes(Path("a.parquet").read_bytes()[:-20])
    Path("p.toml").write_text('[[anonymity]]\nover = ["A"]\nk = 2\n')
    words = ("release", "a.parquet", "-p", "p.toml", "-o", "b.parquet", "--engine", "duckdb")
    assert "not a readable" in run(*words, code=2).stderr


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (duckdb.IOException(f"No space left on device, {SECRET}"), "no room left"),
        (duckdb.OutOfMemoryException(SECRET), "memory limit is too small"),
        (duckdb.IOException(SECRET), "cannot be read"),
    ],
)
def test_what_the_database_says_is_not_passed_on(
    error: Exception, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(reader: Any) -> Any:
        raise error

    monkeypatch.setattr(embedded, "_next_batch", failing)
    found = release("-o", "a.csv", "--engine", "duckdb", code=2)
    assert said in found.stderr
    assert SECRET not in found.output
    assert not Path("a.csv").exists()


def test_a_table_that_changes_in_the_meantime(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = engines.in_batches

    def fewer(batches: Any, size: int) -> Any:
        return (batch.slice(1) for batch in honest(batches, size))

    monkeypatch.setattr(embedded, "in_batches", fewer)
    Path("policy.toml").write_text('order = "input"\n' + POLICY, encoding="utf-8")
    found = release("-o", "a.csv", "--engine", "duckdb", code=2)
    assert "seems to have changed" in found.stderr
    assert not Path("a.csv").exists()


def test_names_that_a_database_would_take_for_others(tmp_path: Path) -> None:
    """A pattern that finds another file, and a folder that looks like a partition."""
    policy = {"anonymity": [{"over": ["Job"], "k": 2}]}
    few, many = pa.table({"Job": ["a", "b"] * 10}), pa.table({"Job": ["c", "d"] * 40})
    (tmp_path / "Job=z").mkdir()
    for name in ("b[1].parquet", "Job=z/in.parquet"):
        pq.write_table(many, name)
        pq.write_table(few, "b1.parquet")
        found = [
            reticent.release(name, policy, output=f"{engine}.parquet", engine=engine, force=True)
            for engine in ("memory", "duckdb")
        ]
        assert [release.proof.rows for release in found] == [80, 80]
        assert Path("memory.parquet").read_bytes() == Path("duckdb.parquet").read_bytes()
        assert reticent.verify(name, policy, engine="duckdb").rows == 80
    reticent.release("b1.parquet", policy, output="Job=z/out.parquet")
    assert set(pq.ParquetFile("Job=z/out.parquet").read()["Job"].to_pylist()) == {"a", "b"}


def test_lost_rows_are_noticed_beside_hidden_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = sheets.write

    def half(rows: Any, path: Path, suffix: str, *more: Any) -> None:
        honest(rows, path, suffix, *more)
        if path.name != "hidden.parquet":
            whole = pq.ParquetFile(path).read()
            pq.write_table(whole.slice(0, 20), path, store_schema=False)

    monkeypatch.setattr("reticent.tables.publish.write", half)
    table = pa.table({"Job": ["a", "b"] * 20, "Id": list(range(40))})
    policy = {"drop": ["Id"], "anonymity": [{"over": ["Job"], "k": 5, "of": ["Id"]}]}
    pq.write_table(table, "in.parquet")
    with pytest.raises(reticent.ReticentError):
        reticent.release("in.parquet", policy, output="out.parquet")
    assert not Path("out.parquet").exists()


MOMENTS = [1, 10**18 + 1, None, -5] * 10
ODD: dict[str, list[pa.Array]] = {
    "a long cell": [pa.array(["x" * 3_000_000, *(str(i) for i in range(39))])],
    "two zeros, which are one value to an engine": [pa.array([0.0, -0.0, 1.5, 2.5] * 10)],
    "times that Python cannot hold": [
        pa.array(MOMENTS, pa.timestamp("ns")), pa.array(MOMENTS, pa.timestamp("ns", "UTC")),
        pa.array([2**31 - 1, -(2**31), None, 0] * 10, pa.int32()).cast(pa.date32()),
    ],
    "small decimals": [
        pa.array([Decimal(n).scaleb(-8) for n in (0, 1, 12, 10**8, 5)] * 8).cast(pa.decimal128(18, 8))
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "order", "places"),  # of so many a column is not counted, but comes row by row
    [*zip(ODD, ["sorted", "input", "sorted", "sorted"], [1, 0, 0, 2], strict=True)],
)
def test_kept_columns_of_odd_values(
    kind: str, order: str, places: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)  # as on the command line
    if places:
        monkeypatch.setattr(engines, "_SAMPLE", 4)
        monkeypatch.setattr(engines, "_MOST_PLACES", places)
        monkeypatch.setattr("reticent.data.columns.LONG", 0)
    kept = {f"c{i}": cells for i, cells in enumerate(ODD[kind])}
    pq.write_table(pa.table({"A": ["x", "y"] * 20, **kept}), "odd.parquet")
    both("odd.parquet", {**PLAIN, "order": order})
    assert ("0.00000001" in Path("duckdb.csv").read_text()) == (kind == "small decimals")


def test_a_full_disk_below_mapped_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int, start: int, size: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr("os.posix_fallocate", full)
    words = ("-o", "a.csv", "--engine", "duckdb", "--engine-option", "counts=files")
    assert "no room left" in release(*words, code=2).stderr
    assert not Path("a.csv").exists()


def test_types_that_no_engine_carries() -> None:
    spans = pa.array([1, 2, 3], pa.duration("s"))
    pq.write_table(pa.table({"A": ["x", "x", "x"], "B": spans}), "a.parquet")
    Path("p.toml").write_text('keep = ["B"]\n[[anonymity]]\nover = ["A"]\nk = 2\n')
    words = ("release", "a.parquet", "-p", "p.toml", "-o", "b.parquet", "--engine", "duckdb")
    assert 'columns "B" hold values of a kind' in run(*words, code=2).stderr


# --- other processes ---------------------------------------------------------------------------


@pytest.fixture
def long_table() -> Path:
    """Six million rows: they take seconds to count."""
    duckdb.execute(
        "COPY (SELECT range % 9973 AS A, hash(range) % 100003 AS B, hash(range + 1) % 1009 AS C "
        "FROM range(6000000)) TO 'long.parquet'"
    )
    Path("long.toml").write_text('[[anonymity]]\nover = ["A", "B", "C"]\nk = 2\n')
    return Path("long.parquet")


def beside(spill: Path) -> dict[str, Any]:
    """For a process whose temporary files are there, and which has a group of its own."""
    return {"env": {**os.environ, "TMPDIR": str(spill)}, "start_new_session": True}


def counting(table: Path) -> tuple[subprocess.Popen[str], Path]:
    """A run whose engine has begun, and where it spills."""
    spill = Path("spill").resolve()
    spill.mkdir()
    words = ("release", table, "-p", "long.toml", "-o", "out.parquet", "--engine", "duckdb")
    process = start(*words, **beside(spill))
    end = time.monotonic() + 60
    while not list(spill.glob("reticent-spill-*")):
        assert time.monotonic() < end
        time.sleep(0.05)
    time.sleep(0.7)
    return process, spill


@pytest.mark.net
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ended_while_rows_are_counted(ending: int, long_table: Path, tmp_path: Path) -> None:
    process, spill = counting(long_table)
    os.killpg(process.pid, ending)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + ending, said
    assert "nothing was written" in said
    assert not list(spill.iterdir())
    assert not list(tmp_path.glob("*out.parquet*"))


@pytest.mark.net
def test_the_next_run_clears_what_a_killed_one_left(long_table: Path) -> None:
    process, spill = counting(long_table)
    left = next(iter(spill.iterdir()))
    assert left.stat().st_mode & 0o077 == 0  # its owner's alone
    process.kill()
    process.communicate()
    assert list(spill.iterdir())
    next_one = start(
        "release", "daten.csv", "-p", "policy.toml", "-o", "b.csv", "--engine", "duckdb",
        **beside(spill),
    )  # fmt: skip
    _, said = next_one.communicate(timeout=120)
    assert next_one.returncode == 0, said
    assert not list(spill.iterdir())
    assert Path("b.csv").exists()


def test_whatever_is_asked_of_a_table_it_need_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A draft, a check and a taxonomy from a table in memory, and from one that is too large."""

    def told() -> list[str]:
        run("taxonomy", "make", "daten.csv", "--column", "Beruf", "--prefix", "1", "-o", "t.csv",
            "--force")  # fmt: skip
        run("taxonomy", "check", "t.csv", "daten.csv", "--column", "Beruf")
        wrong = run("taxonomy", "check", "t.csv", "daten.csv", "--column", "Berufe", code=2)
        assert 'id you mean "Beruf"' in wrong.stderr
        draft = run("init", "daten.csv").stdout
        checked = run("policy", "check", "policy.toml", "daten.csv").stdout
        return [Path("t.csv").read_text(encoding="utf-8"), draft, checked]

    here = told()
    monkeypatch.setattr(means, "free_memory", lambda: 10_000)
    assert told() == here
    monkeypatch.setattr("reticent.tables.drafts.flow.LOOKED_AT", 50)
    assert "# Only its first 50 rows, of about " in run("init", "daten.csv").stdout
    Path("policy.toml").write_text("kk = 3\n" + POLICY.replace("Ort am", "Ort an"))
    said = run("policy", "check", "policy.toml", "daten.csv", code=2).stderr
    assert "kk" in said
    assert 'id you mean "Ort am Fluß"' in said


def test_lines_longer_than_what_is_read_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that were handed over before such a line are not handed over twice."""
    monkeypatch.setattr(delimited, "_STREAM_BLOCK", 600)
    lines = Path("daten.csv").read_text(encoding="latin-1").splitlines()
    for at, letter in ((390, "b"), (200, "a"), (201, "c")):
        lines[at] = ";".join([*lines[at].split(";")[:3], letter * 20_000, "ja"])
    Path("daten.csv").write_text("\n".join(lines) + "\n", encoding="latin-1")
    both("daten.csv", "policy.toml")


def test_a_folder_where_a_kept_column_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "_SAMPLE", 4)
    monkeypatch.setattr("reticent.data.columns.LONG", 0)
    release("-o", "out", "--engine", "duckdb")
    told = json.loads(Path("out/public/report.json").read_text(encoding="utf-8"))
    assert told["utility"]["test"] > 100
    run("verify", "out", "-p", "policy.toml")


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("word", ["codec", "UTF8", "straddling"])
def test_rows_that_speak_of_errors(word: str, engine: str) -> None:
    rows = [f"x,{i}" for i in range(100)]
    Path("odd.csv").write_text("\n".join(["A,B", *rows, f"{word},1,2", ""]))
    with pytest.raises(reticent.InputError, match="line 102: 3 cells where the header has 2"):
        reticent.release("odd.csv", PLAIN, output="o.csv", engine=engine)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_an_archive_that_is_none(engine: str) -> None:
    Path("odd.csv.gz").write_text("A,B\n1,2\n1,2\n")  # is read as the text that it is
    found = reticent.release("odd.csv.gz", PLAIN, output="o.csv", engine=engine)
    assert found.proof.rows == 2


def test_arrow_files_of_every_form() -> None:
    plain = pa.array(["x", "y"] * 20)
    views = pa.array(["p", "q"], pa.string_view())
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 20, pa.uint8()), views)
    table = pa.table({"A": plain, "B": coded})
    with pa.ipc.new_stream("stream.arrow", table.schema) as stream:
        stream.write_table(table)
    with pa.ipc.new_file("file.arrow", table.schema) as file:
        file.write_table(table)
    both("stream.arrow", PLAIN)
    both("file.arrow", PLAIN)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_what_is_dropped_may_hold_anything(engine: str) -> None:
    table = pa.table({"A": ["x", "y"] * 20, "B": pa.array([[1], [2, 3]] * 20)})
    pq.write_table(table, "lists.parquet")
    found = reticent.release("lists.parquet", {**PLAIN, "drop": ["B"]}, engine=engine)
    assert found.table.column_names == ["A"]
    refusal(lambda: reticent.release("lists.parquet", PLAIN, engine=engine), "B")
    assert "cannot be released" in run("init", "lists.parquet", "--engine", engine).stdout


def test_the_public_side_alone_tells_what_was_changed() -> None:
    release("-o", "out", "--rows-per-file", 100)
    assert "--rows-per-file 100" in Path("out/private/report.html").read_text(encoding="utf-8")
    parts = sorted(Path("out/public/data.csv").iterdir())
    for place in ("out", "out/public", "out/public/data.csv"):
        run("verify", place, "-p", "policy.toml")
    parts[-1].rename("elsewhere.csv")
    for place in ("out", "out/public", "out/public/data.csv"):
        assert "is missing" in run("verify", place, "-p", "policy.toml", code=1).output
    Path("elsewhere.csv").rename(parts[-1])
    Path("out/public/raw.csv").write_text("A\n")
    assert "raw.csv is none of" in run("verify", "out/public", "-p", "policy.toml").stderr
    Path("out/public/manifest.json").unlink()
    for place in ("out", "out/public"):
        assert "manifest.json is gone" in run("verify", place, "-p", "policy.toml").stderr


def test_words_that_would_change_nothing_are_refused() -> None:
    assert "no setting" in release("-o", "o.csv", "--engine-option", "a=1", code=2).stderr
    words = ("release", "sqlite:///a.db", "--table", "t", "-p", "policy.toml", "-o", "o.csv")
    assert "counts its own rows" in run(*words, "--engine", "memory", code=2).stderr
    for wrong in (0, -5, 1000):
        with pytest.raises(reticent.InputError, match="memory-limit"):
            reticent.release("daten.csv", "policy.toml", memory_limit=wrong)


@pytest.mark.parametrize("trace", [True, False])
def test_it_is_too_late_to_stop_once_something_appears(
    trace: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Output and trace still appear together, and nobody is told that nothing was written."""
    replace = Path.replace

    def and_end(self: Path, target: Path) -> Path:
        found = replace(self, target)
        signal.raise_signal(signal.SIGTERM)
        return found

    monkeypatch.setattr(Path, "replace", and_end)
    words = ["--trace", "t.jsonl"] if trace else []
    said = release("-o", "o.csv", *words)
    assert "Stopped" not in said.stderr
    assert Path("o.csv").exists()
    assert Path("t.jsonl").exists() == trace
