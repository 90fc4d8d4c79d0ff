"""Tables in databases are released as the same tables in files are."""

from __future__ import annotations

import gc
import json
import shutil
import socket
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import reticent
from at_hand import refusal
from reticent import InputError, Policy
from reticent.sample import make
from reticent.sources import engines
from reticent.sources.addresses import without_password
from terminal import finished, run, start

POLICY: dict[str, Any] = {
    "class": "Income",
    "drop": ["Name"],
    "keep": ["City", "Hours"],
    "anonymity": [{"over": ["Age", "Sex", "Education"], "k": 25}],
    "attributes": {"Age": {"mask": "discretize", "range": [0, 120]}},
}


@pytest.fixture(scope="module")
def census() -> pa.Table:
    table = make("census", rows=3_000, seed=5)
    chosen = table.select(["Name", "Age", "Sex", "Education", "Income"])
    numbers = pa.array([i * 7 % 61 for i in range(table.num_rows)])
    city = pa.array([["Köln", "Århus", "", None, "O'Fallon"][i % 5] for i in range(len(numbers))])
    return chosen.append_column("Hours", numbers).append_column("City", city)


def rows_of(path: str | Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return found


def as_files(census: pa.Table, tmp_path: Path) -> list[dict[str, Any]]:
    pq.write_table(census, tmp_path / "census.parquet")
    out = tmp_path / "from-file.parquet"
    reticent.release(tmp_path / "census.parquet", POLICY, output=out, engine="memory")
    return rows_of(out)


def into_sqlite(table: pa.Table, path: Path, name: str = "people of 1994") -> str:
    with sqlite3.connect(path) as database:
        kinds = ("INTEGER" if pa.types.is_integer(kind) else "TEXT" for kind in table.schema.types)
        columns = ", ".join(f'"{n}" {k}' for n, k in zip(table.column_names, kinds, strict=True))
        database.execute(f'CREATE TABLE "{name}" ({columns})')
        marks = ", ".join("?" * table.num_columns)
        cells = [tuple(row.values()) for row in table.to_pylist()]
        database.executemany(f'INSERT INTO "{name}" VALUES ({marks})', cells)
    return f"sqlite:///{path}"


@pytest.fixture(params=["counted", "streamed"])
def few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether kept columns are counted, or come over row by row."""
    if request.param == "streamed":
        monkeypatch.setattr(engines, "_SAMPLE", 4)
        monkeypatch.setattr("reticent.data.columns.LONG", 0)
    return bool(request.param == "counted")


@pytest.mark.usefixtures("few")
def test_sqlite(census: pa.Table, tmp_path: Path) -> None:
    want = as_files(census, tmp_path)
    url = into_sqlite(census, tmp_path / "census.db")
    out = tmp_path / "out.parquet"
    reticent.release(url, POLICY, output=out, table="people of 1994")
    assert rows_of(out) == want


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ibis's own, about DuckDB
def test_expressions_of_ibis(census: pa.Table, tmp_path: Path) -> None:
    import ibis

    want = as_files(census, tmp_path)
    out = tmp_path / "out.parquet"
    into_sqlite(census, tmp_path / "census.db")
    kept = ibis.sqlite.connect(tmp_path / "census.db").table("people of 1994")
    files = ibis.duckdb.connect().read_parquet(tmp_path / "census.parquet")
    for table in (kept.filter(kept.Age > 0), files, files.filter(files.Age > 0)):
        reticent.release(table, POLICY, output=out, force=True)
        assert rows_of(out) == want
    connection = kept.get_backend()
    reticent.release(connection, POLICY, table="people of 1994", output=out, force=True)
    assert rows_of(out) == want
    with pytest.raises(InputError, match='Did you mean "people of 1994"'):
        reticent.release(connection, POLICY, table="people of 1949")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ibis's own, about DuckDB
def test_duckdb_file_and_tables_of_ibis(census: pa.Table, tmp_path: Path) -> None:
    import ibis

    want = as_files(census, tmp_path)
    path = tmp_path / "census.duckdb"
    with duckdb.connect(str(path)) as database:
        database.register("rows", census)
        database.execute("CREATE SCHEMA old; CREATE TABLE old.people AS SELECT * FROM rows")
    out = tmp_path / "out.parquet"
    reticent.release(f"duckdb:///{path}", POLICY, output=out, table="old.people")
    assert rows_of(out) == want
    table = ibis.duckdb.connect(path, read_only=True).table("people", database="old")
    reticent.release(table, POLICY, output=out, force=True)
    assert rows_of(out) == want


def test_a_released_table_in_a_database_can_be_recounted(census: pa.Table, tmp_path: Path) -> None:
    want = pa.Table.from_pylist(as_files(census, tmp_path))
    url = into_sqlite(want, tmp_path / "out.db", "released")
    proof = reticent.verify(url, POLICY, table="released")
    assert proof.holds
    assert proof.rows == census.num_rows
    strict = {**POLICY, "anonymity": [{**POLICY["anonymity"][0], "k": 2_000}]}
    assert not reticent.verify(url, strict, table="released").holds


@pytest.mark.parametrize(
    "url",
    [
        "postgres://me:12/s3cret@host/db",
        "postgres://me:s3cret/x@host:5432/db",
        "postgres://host/db?password=s3cret",
        "postgres://host/db;password=s3cret",
        "postgres://me:s3cret#@[host/db",
    ],
)
def test_no_password_is_shown(url: str) -> None:
    assert "s3cret" not in without_password(url)
    assert "s3cret" not in str(refusal(lambda: reticent.release(url, POLICY, table="x")))


def test_sqlite_holds_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE t (Day DATE, Yes BOOLEAN, Sum DECIMAL(9,2), Mixed INTEGER)")
        rows = [(f"2024-01-{i % 9 + 1:02d}", i % 2, i / 4 + 0.1, 1) for i in range(40)]
        database.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    policy = {"keep": "*", "anonymity": [{"over": ["Day"], "k": 3}]}
    out = tmp_path / "out.csv"
    reticent.release(f"sqlite:///{path}", policy, output=out, table="t")
    sums = [line.split(",")[-2] for line in out.read_text().splitlines()[1:]]
    assert sorted(map(float, sums)) == pytest.approx([i / 4 + 0.1 for i in range(40)])
    with sqlite3.connect(path) as database:
        database.execute("UPDATE t SET Mixed = 2.75 WHERE rowid = 1")
    with pytest.raises(InputError, match='"Mixed" holds values of several kinds'):
        reticent.release(f"sqlite:///{path}", policy, output=out, table="t", force=True)
    fewer = {**policy, "drop": ["Mixed"]}
    reticent.release(f"sqlite:///{path}", fewer, output=out, table="t", force=True)
    assert "cannot be released" in reticent.draft(f"sqlite:///{path}", table="t")


def test_what_is_wrong_with_a_database(work: Path) -> None:
    into_sqlite(make("census", rows=50, seed=1).slice(0, 50).select(range(7)), work / "a.db")
    (work / "p.toml").write_text('keep = "*"\n[[anonymity]]\nover = ["Sex"]\nk = 2\n')

    def refused(*words: str) -> str:
        answer = run("release", *words, "-p", "p.toml", "-o", "out.parquet", code=2)
        assert not Path("out.parquet").exists()
        return answer.stderr

    assert "--table takes one of people of 1994" in refused("sqlite:///a.db")
    assert "Did you mean" in refused("sqlite:///a.db", "--table", "people of 1995")
    assert "there is no such file" in refused("sqlite:///b.db", "--table", "x")
    assert not Path("b.db").exists()
    assert 'databases "mysql" cannot be read' in refused("mysql://me:secret@h/x", "--table", "x")
    said = refused("postgres://me:secret@127.0.0.1:1/x", "--table", "x")
    assert "secret" not in said
    assert "cannot be read" in said


# --- PostgreSQL --------------------------------------------------------------------------------


def server() -> str | None:
    """Where PostgreSQL's own programs are, if they are installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return str(found[-1].parent) if found else None


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    bin_ = server()
    if bin_ is None:
        pytest.skip("PostgreSQL's server is not installed (Debian: postgresql)")
    pytest.importorskip("psycopg", reason='pip install "reticent[postgres]"')
    place = tmp_path_factory.mktemp("postgres")
    as_user: list[str] = []
    if subprocess.run(["id", "-u"], capture_output=True, text=True).stdout.strip() == "0":
        if shutil.which("runuser") is None:
            pytest.skip("PostgreSQL refuses to run as root, and there is no runuser")
        for folder in (place, *place.parents):
            if folder.owner() == "root" and str(folder).startswith("/tmp/"):
                folder.chmod(0o755)
        shutil.chown(place, "postgres")
        as_user = ["runuser", "-u", "postgres", "--"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = place / "data"
    init = [*as_user, f"{bin_}/initdb", "-D", str(data), "-U", "steward", "-A", "trust",
            "-E", "UTF8", "--locale=C.UTF-8"]  # fmt: skip
    subprocess.run(init, check=True, capture_output=True)
    options = f"-p {port} -k {place} -c listen_addresses=127.0.0.1 -c fsync=off"
    control = [*as_user, f"{bin_}/pg_ctl", "-D", str(data), "-w", "-o", options]
    subprocess.run([*control, "-l", str(place / "log"), "start"], check=True, capture_output=True)
    try:
        yield f"postgres://steward@127.0.0.1:{port}/postgres"
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], check=False, capture_output=True)


@pytest.mark.net
def test_postgres(few: bool, postgres: str, census: pa.Table, tmp_path: Path) -> None:
    import psycopg

    want = as_files(census, tmp_path)
    with psycopg.connect(postgres, autocommit=True) as database:
        database.execute("DROP TABLE IF EXISTS patients")
        kinds = ["text", "bigint", "text", "text", "text", "bigint", "text"]
        named = zip(census.column_names, kinds, strict=True)
        columns = ", ".join(f'"{name}" {kind}' for name, kind in named)
        database.execute(f"CREATE TABLE patients ({columns})".encode())
        with database.cursor().copy("COPY patients FROM STDIN") as copy:
            for row in census.to_pylist():
                copy.write_row(tuple(row.values()))
    out = tmp_path / "out.parquet"
    found = reticent.release(postgres, POLICY, output=out, table="patients")
    assert rows_of(out) == want
    assert found.summary()["rows_in"] == census.num_rows
    if few:
        again = tmp_path / "again.parquet"
        by_command(postgres, "patients", again)
        assert rows_of(again) == want
        with pytest.raises(InputError, match="Did you mean"):
            reticent.release(postgres, POLICY, output=again, table="patient", force=True)
    gc.collect()  # a connection that nobody closed would speak up here


def test_a_policy_for_a_database(census: pa.Table, tmp_path: Path) -> None:
    """It is drafted, checked and given a taxonomy there; what needs every row in memory says so."""
    where = (into_sqlite(census, tmp_path / "census.db"), "--table", "people of 1994")
    draft, tree = tmp_path / "draft.toml", tmp_path / "ages.csv"
    run("init", *where, "-o", draft)
    assert "3000 rows, 7 columns" in draft.read_text(encoding="utf-8")
    run("policy", "check", draft, *where)
    run("taxonomy", "make", *where, "--column", "Age", "--equal", "4", "-o", tree)
    run("taxonomy", "check", tree, *where, "--column", "Age")
    run("release", *where, "-p", draft, "-o", tmp_path / "out")
    told = json.loads((tmp_path / "out/private/input.json").read_text(encoding="utf-8"))
    assert (told["rows"], told["table"]) == (3000, "people of 1994")
    assert told["database"].endswith("census.db")
    page = (tmp_path / "out/public/report.html").read_text(encoding="utf-8")
    assert "--table TABLE" in page
    said = run("evaluate", where[0], tmp_path / "out", "-p", draft, code=2).stderr
    assert "databases are read by" in said


@pytest.mark.net
def test_sqlite_by_a_command(census: pa.Table, tmp_path: Path) -> None:
    url = into_sqlite(census, tmp_path / "census.db")
    out = tmp_path / "out.parquet"
    by_command(url, "people of 1994", out)
    assert rows_of(out) == as_files(census, tmp_path)


def by_command(url: str, table: str, out: Path) -> None:
    """In a process of its own, which imports as little as it can."""
    policy = out.with_suffix(".toml")
    policy.write_text(Policy.from_data(POLICY).canonical(), encoding="utf-8")
    code, _, said = finished(start("release", url, "--table", table, "-p", policy, "-o", out))
    assert code == 0, said
