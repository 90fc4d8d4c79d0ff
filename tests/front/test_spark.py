"""A real Spark, on two cores: what it releases is what memory releases."""

from __future__ import annotations

import gzip
import os
import random
import shutil
import subprocess
import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import reticent
from at_hand import table_file as written
from reticent import InputError, Policy
from reticent.data.texts import texts
from reticent.files import sheets, tabular
from reticent.files.delimited import Reading, look, pieces_of
from reticent.sources import engines
from reticent.sources.means import Means
from reticent.sources.opening import opened

pytest.importorskip("pyspark", reason="PySpark is not installed")
pytestmark = [
    pytest.mark.net,
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java 17"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support:FutureWarning"),
    # Sockets that Spark leaves to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

ROWS = 240


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "700m")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "Asia/Tokyo")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def patients(seed: int, *, typed: bool) -> pa.Table:
    """People with all that is hard on engines: nulls, NaN, umlauts, names that differ in case."""
    rng = random.Random(seed)

    def some(*choices: Any) -> list[Any]:
        return [rng.choice(choices) for _ in range(ROWS)]

    columns = {
        "Job": pa.array(some("Bäcker", "Koch", "Jurist", " Koch", "", None)),
        "job": pa.array(some("x", "X", None)),
        "Age": pa.array(some(20, 30, 41, 52, 63, None), pa.int32()),
        "Sick": pa.array(some("flu", "HIV", "none")),
        "Kept text": pa.array(
            some("", "x", " ä ", 'a"b', "c,d", "two\nlines", "\u3000z", "Z", None)
        ),
    }
    if typed:
        moments = [datetime(2020, 1, 1) + timedelta(hours=rng.randrange(9000)) for _ in range(ROWS)]
        columns |= {
            "Amount": pa.array(
                some(None, 1.5, 2.0, 10.0, -3.25, 1e20, 12345678.5, 1e-5, float("nan"), 0.1)
            ),
            "Short": pa.array(some(0.1, 7.0, None), pa.float32()),
            "Cents": pa.array(some(Decimal("1.10"), Decimal("-20.00"), None), pa.decimal128(12, 2)),
            "Tiny": pa.array(some(0, 200, None), pa.uint8()),
            "When": pa.array(moments, pa.timestamp("us")),
            "Zoned": pa.array(moments, pa.timestamp("us", "Europe/Berlin")),
            "Fine": pa.array(moments, pa.timestamp("ns")),
            "Day": pa.array([m.date() for m in moments]),
            "Yes": pa.array(some(True, False, None)),
        }
    return pa.table(columns)


def policy(**more: Any) -> Policy:
    given: dict[str, Any] = {
        "keep": "*",
        "attributes": {
            "Job": {"mask": "suppress"},
            "Age": {"mask": "discretize"},
            "job": {"mask": "suppress"},
        },
        "anonymity": [{"over": ["Job", "job", "Age"], "k": 12}],
        "confidence": [{"over": ["Job", "Age"], "sensitive": {"Sick": ["HIV"]}, "at_most": "4/5"}],
    }
    return Policy.model_validate(given | more)


def same(data: Any, told: Policy, out: Path, spark: Any, suffix: str = ".parquet") -> None:
    """Release in memory and by Spark, and compare all there is."""
    files, traces, alone = [], [], []
    for name, engine in {"memory": "memory", "spark": spark}.items():
        target = out / f"{name}{suffix}"
        release = reticent.release(data, told, output=target, engine=engine)
        alone.append(release.proof.singled_out)
        files.append(target.read_bytes())
        traces.append(list(release.trace()))
    assert traces[0] == traces[1]
    assert files[0] == files[1]
    assert alone[0] == alone[1]


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kept columns do not come along, and are taken as they stand."""
    monkeypatch.setattr(engines, "_SAMPLE", 4)
    monkeypatch.setattr(engines, "_MOST_PLACES", 1)
    monkeypatch.setattr("reticent.data.columns.LONG", 0)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kept columns do not come along, but their values are known; rows come in small groups."""
    monkeypatch.setattr(engines, "_SAMPLE", 4)
    monkeypatch.setattr("reticent.data.columns.LONG", 0)
    monkeypatch.setattr(engines, "_WORD", 5)
    monkeypatch.setattr(sheets, "ROW_GROUP", 16)


@pytest.mark.usefixtures("many")
def test_parquet_with_many_values(tmp_path: Path, spark: Any) -> None:
    data = written(patients(1, typed=True), tmp_path / "data [1].parquet")
    same(data, policy(trim=True), tmp_path, spark)


@pytest.mark.usefixtures("few")
def test_parquet_with_few_values(tmp_path: Path, spark: Any) -> None:
    table = patients(2, typed=True).drop(["Short", "Cents", "When", "Day", "Yes"])
    same(written(table, tmp_path / "data.parquet"), policy(), tmp_path, spark)


@pytest.mark.parametrize("text", ["multi-line", "latin-1", "packed"])
def test_csv(text: str, tmp_path: Path, spark: Any, request: pytest.FixtureRequest) -> None:
    table = patients(3, typed=False)
    data = written(table, tmp_path / "data.csv")
    if text == "latin-1":
        table = table.drop(["Kept text"]).append_column("Kept text", pa.array(["ß", ""] * 120))
        cells = written(table, data).read_text(encoding="utf-8").replace('"', "").replace(",", ";")
        data.write_bytes(b"\n" + cells.replace("\n", "\r\n").encode("latin-1"))
    if text == "packed":
        data.with_suffix(".csv.gz").write_bytes(gzip.compress(data.read_bytes()))
        data = data.with_suffix(".csv.gz")
    if text == "multi-line":
        request.getfixturevalue("many")
    same(data, policy(trim=text == "multi-line"), tmp_path, spark, ".csv")


def test_a_title_and_columns_without_a_name(tmp_path: Path, spark: Any) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    lines = [f";{'ab'[i % 2]};{i % 3}\n" for i in range(60)]
    for name in ("one", "two"):
        text = f'Of "{name}\n\n;Job;\n' + "".join(lines)
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    told = policy(
        drop=["unnamed 1"], keep=["unnamed 3"], attributes={}, confidence=[],
        anonymity=[{"over": ["Job"], "k": 2}], reading={"header_row": 3, "delimiter": ";"},
    )  # fmt: skip
    same(folder, told, tmp_path, spark, ".csv")
    typed = pa.table([["x", "y"] * 9, ["a", "b", "b"] * 6, [1, 2] * 9], names=["", "Job", " "])
    same(written(typed, tmp_path / "data.parquet"), told, tmp_path, spark)
    frame = spark.createDataFrame(typed.rename_columns(["a", "b", "c"])).toDF("", "Job", " ")
    found = reticent.release(frame, told)
    assert found.sheet.arrow() == reticent.release(typed, told).sheet.arrow()
    assert "are called" in found.prepared.table.notes[0]


@pytest.mark.usefixtures("many")
def test_rows_left_out_and_a_hidden_column(tmp_path: Path, spark: Any) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    for seed in (2, 3):
        table = patients(seed, typed=False)
        kept = table.column("Kept text").fill_null("-")
        table = table.drop(["Kept text"]).append_column("Kept text", kept)
        person = pa.array([f"p{i // 2}" for i in range(ROWS)])
        written(table.append_column("Person", person), folder / f"{seed}.parquet")
    told = policy(
        missing="drop", suppress_records="1/5", keep=["Kept text"], drop=["Person"],
        anonymity=[{"over": ["Job", "job", "Age"], "k": 9, "of": ["Person"]}],
    )  # fmt: skip
    same(folder, told, tmp_path, spark)


def test_data_frames(tmp_path: Path, spark: Any) -> None:
    """Spark's own, with views of the user's beside ours; and those in memory, lent to Spark."""
    table = patients(4, typed=True).select(["Job", "job", "Age", "Sick", "Amount", "Zoned"])
    data = written(table, tmp_path / "data.parquet")
    spark.conf.set("spark.sql.caseSensitive", "true")
    frame = spark.read.parquet(str(data))
    spark.range(3).createOrReplaceTempView("source")
    same_rows = []
    for given, engine in ((data, "memory"), (frame, None), (table, spark)):
        target = tmp_path / "out.parquet"
        reticent.release(given, policy(), output=target, engine=engine, force=True)
        same_rows.append(target.read_bytes())
    assert same_rows[0] == same_rows[1] == same_rows[2]
    assert [t.name for t in spark.catalog.listTables()] == ["source"]
    assert spark.table("source").count() == 3
    assert spark.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
    assert spark.getActiveSession() is not None  # and nobody stopped it


def test_what_is_printed_for_sorting_is_what_is_released() -> None:
    from reticent.sources.spark import _printer

    numbers = [0.1, -0.0, 39.0, 1e15, 1e16, 1e300, 1e-7, float("inf"), float("nan"), None, 2**-44]
    decimals = [Decimal("1.10"), Decimal("0E-10"), Decimal("1E-7"), None]
    for values in (pa.array(numbers), pa.array(decimals, pa.decimal128(30, 10))):
        printed = [_printer()(value) for value in values.to_pylist()]
        assert printed == [text or "" for text in texts(values)]


# --- written by the workers ----------------------------------------------------------------------


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".tsv.gz"])
def test_parts_are_the_sorted_rows(suffix: str, tmp_path: Path, spark: Any) -> None:
    from reticent.data.columns import Column, encode
    from reticent.sources.engines import RowRecoding, ShownColumn, Untouched
    from reticent.sources.spark import Spark

    table = patients(5, typed=True)
    data = written(table, tmp_path / "data.parquet")
    with opened(data, None, Means(spark), lambda done, of: None) as source:
        assert isinstance(source, Spark)
        source.session.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
        job = encode("Job", table.column("Job"))
        masked = Column("Job", (job.codes % 2).astype("uint8"), pa.array(["A", "Ä"]))
        amount = Untouched(source.key("Amount"), pa.float64())
        recoding = RowRecoding(
            {"Job": ShownColumn.of(source.key("Job"), job, masked), "Amount": amount},
            order=("Job", "Amount"), told=("Job", "Amount"),
        )  # fmt: skip
        whole = tmp_path / f"whole{suffix}"
        sheets.write(source.recoded(recoding, 16), whole, suffix)
        parts = source.write_parts(recoding, tmp_path / "out", suffix)
        again = list(source.counted_parts(tmp_path / "out", suffix, ["Job"]))
    assert len(parts) > 1
    assert sorted((tmp_path / "out").iterdir()) == parts
    assert [part.name for part in parts][:2] == [f"part-00000{suffix}", f"part-00001{suffix}"]
    rows = [
        tabular.read_typed(p, suffix) if suffix == ".parquet" else tabular.parse(p).arrow
        for p in (whole, *parts)
    ]
    cells = [[str(row) for row in table.to_pylist()] for table in rows]
    assert cells[0] == [row for part in cells[1:] for row in part]
    counted = {row["Job"]: row["n"] for batch in again for row in batch.to_pylist()}
    assert counted == dict(Counter(masked.cells().to_pylist()))


def test_files_are_cut_where_no_cell_is(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("A,B\n" + "".join(f"{i},ä\n" for i in range(50)) + "\n\n", encoding="utf-8")
    pieces = pieces_of(path, look(path, Reading(), []), 40)
    cut = path.read_bytes()
    assert len(pieces) > 5
    assert b"".join(cut[p.start : p.start + (p.size or 0)] for p in pieces) == cut
    assert all(cut[p.start : p.start + (p.size or 0)].endswith(b"\n") for p in pieces)
    path.write_text('A,B\n1,"x\ny"\n', encoding="utf-8")
    assert [p.size for p in pieces_of(path, look(path, Reading(), []), 2)] == [None]


# --- what goes wrong -----------------------------------------------------------------------------


def test_rows_as_they_came_are_refused(tmp_path: Path, spark: Any) -> None:
    data = written(patients(6, typed=False), tmp_path / "data.parquet")
    with pytest.raises(InputError, match="Spark keeps no order of rows"):
        reticent.release(data, policy(order="input"), output=tmp_path / "o.csv", engine=spark)


def test_errors_are_in_our_words(tmp_path: Path, spark: Any) -> None:
    table = patients(7, typed=False).drop(["Kept text"])
    ragged = written(table, tmp_path / "ragged.csv")
    ragged.write_text(ragged.read_text() + '"SECRET","x"\n')
    damaged = written(table, tmp_path / "damaged.parquet")
    whole = bytearray(damaged.read_bytes())
    whole[4:400] = b"SECRET" * 66
    damaged.write_bytes(whole)
    hidden = tmp_path / "some"
    hidden.mkdir()
    for name in ("_hidden", "seen"):
        written(table, hidden / f"{name}.parquet")
    arrow = written(table, tmp_path / "data.arrow")
    for data, words in {
        ragged: "2 cells where the header has 4",
        damaged: "Spark cannot read the rows",
        hidden: "Spark reads 240 rows where there are 480",
        arrow: "Spark reads no .arrow files",
    }.items():
        with pytest.raises(InputError, match=words) as told:
            reticent.release(data, policy(), engine=spark)
        assert "SECRET" not in "".join(traceback.format_exception(told.value))
    with pytest.raises(InputError, match="a list is no engine"):
        reticent.release(hidden, policy(), engine=[])


ALONE = """
import sys, reticent
from pathlib import Path
policy = reticent.Policy.load(sys.argv[2])
options = dict(pair.split("=") for pair in sys.argv[4:])
reticent.release(sys.argv[1], policy, output=sys.argv[3], engine="spark", engine_options=options)
from pyspark import SparkContext
print(SparkContext._active_spark_context, SparkContext._gateway)
"""


def test_a_session_of_our_own(tmp_path: Path) -> None:
    data = written(patients(8, typed=False), tmp_path / "data.csv")
    told = tmp_path / "policy.toml"
    told.write_text(
        'keep = "*"\n[attributes.Job]\nmask = "suppress"\n[[anonymity]]\nover = ["Job"]\nk = 30\n'
    )
    reticent.release(data, told, output=tmp_path / "memory.csv")
    options = [
        "spark.master=local[2]",
        "spark.driver.memory=700m",
        "spark.sql.shuffle.partitions=2",
    ]
    run = subprocess.run(  # a process in which nobody has started Spark
        [sys.executable, "-c", ALONE, str(data), str(told), str(tmp_path / "spark.csv"), *options],
        env={k: v for k, v in os.environ.items() if k != "PYSPARK_PYTHON"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert run.stdout == "None None\n"
    assert not run.stderr
    assert (tmp_path / "spark.csv").read_bytes() == (tmp_path / "memory.csv").read_bytes()
    words = ["release", data, "-p", told, "-o", tmp_path / "command.csv", "--engine", "spark"]
    words += [word for option in options for word in ("--engine-option", option)]
    command = [str(Path(sys.executable).with_name("reticent")), *map(str, words)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "command.csv").read_bytes() == (tmp_path / "memory.csv").read_bytes()


def test_settings_that_spark_does_not_take(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reticent.sources import spark_session

    data = written(patients(9, typed=False), tmp_path / "data.parquet")
    for option, value, words in (
        ("memory", "2g", 'Spark has no option "memory"'),
        ("spark.sql.shuffle.partitions", "plenty", "Spark does not take this value"),
        ("spark.driver.memory", "2g", "cannot be set in a session that runs already"),
    ):
        with pytest.raises(InputError, match=words):
            reticent.release(data, policy(), engine=spark, engine_options={option: value})
    with (
        pytest.raises(InputError, match="Spark does not start"),
        spark_session._started({"spark.driver.memory": "plenty"}, 10**9),
    ):
        pass
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with (
        pytest.raises(InputError, match=r"needs Java[^$]*reticent\[spark\]"),
        spark_session._started({}, 10**9),
    ):
        pass
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(InputError, match=r"not installed[^$]*reticent\[spark\]"):
        reticent.release(data, policy(), engine="spark")


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_a_cluster_writes_and_counts_its_own_parts(suffix: str, spark: Any, tmp_path: Path) -> None:
    data = written(patients(3, typed=False), tmp_path / f"data{suffix}")
    here = reticent.release(data, policy(), output=tmp_path / f"whole{suffix}", engine="memory")
    parts = tmp_path / f"parts{suffix}"
    found = reticent.release(data, policy(), output=parts, engine=spark, rows_per_file=1)
    assert found.proof.holds
    assert found.proof.rows == ROWS
    assert found.proof.singled_out == here.proof.singled_out
    assert {path.name[:5] for path in parts.iterdir()} == {"part-"}
    read = [tabular.parse(path).arrow for path in (tmp_path / f"whole{suffix}", parts)]
    assert read[0].to_pylist() == read[1].to_pylist()
    assert reticent.verify(parts, policy()).holds
