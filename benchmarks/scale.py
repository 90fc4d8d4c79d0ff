"""Tables from a million to a hundred million rows, beside DuckDB merely copying the same file.

    python benchmarks/scale.py [--only grow,kept,limit,files,csv,spark] [--rows 1e6,1e7,1e8]
                               [--work FOLDER]

    grow    `reticent release` of Parquet at each size; how time grows with rows
    kept    the same with a column that is kept as it is and has a million values: rows are sorted
    limit   10 million rows within 1 GB of memory, and without a limit
    files   the table of counts in mapped files instead of memory, at 10 million rows
    csv     the first 10 million rows as CSV
    spark   5 million rows, counted and sorted by a local Spark; the same rows, and what that costs

The table has ten columns: eight that are masked (two of numbers, six of texts; 1.15 million
combinations of them at 100 million rows, 4.7 million together with the others), a sensitive one
and a class. It is made by DuckDB from hashes of row numbers, so that every run has the same. Whole
commands are timed from outside, one after the other; peak memory is that of the process.
`results/scale.csv` and `scale.md` keep what was measured; a case that is run again replaces its own
lines.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from release_speed import Failed, run

RESULTS = Path(__file__).resolve().parent / "results"
PROFILES = 1_200_000
MASKED = ("Age", "Hours", "Education", "Occupation", "Marital", "Race", "Sex", "Country")
CASES = ("grow", "kept", "limit", "files", "csv", "spark")

POLICY = """\
class = "Income"
{keep}
[[anonymity]]
over = [{over}]
k = 100
[[confidence]]
over = ["Age", "Education", "Sex"]
sensitive = {{ Disease = ["HIV"] }}
at_most = 0.2
[attributes]
Age = {{ mask = "discretize", range = [0, 120] }}
Hours = {{ mask = "discretize", range = [0, 120] }}
"""

COPY = """
import sys, duckdb
database = duckdb.connect()
database.execute("SET preserve_insertion_order = false")
database.execute(f"COPY (FROM read_parquet('{sys.argv[1]}')) TO '{sys.argv[2]}' (FORMAT parquet)")
"""

FINGERPRINT = """
import sys, duckdb
rows = f"read_parquet('{sys.argv[1]}')"
print(duckdb.sql(f"SELECT count(*), sum(hash(r)::HUGEINT) FROM {rows} r").fetchall())
"""


# --- The table --------------------------------------------------------------------------------


def uniform(number: str, seed: int) -> str:
    return f"((hash({number} * 1000003 + {seed}) % 1000000007) / 1000000007.0)"


def drawn(number: str, seed: int, values: Sequence[str], skew: float) -> str:
    """One of some texts; the larger the skew, the more often the first ones."""
    listed = ", ".join(f"'{value}'" for value in values)
    return f"[{listed}][1 + floor({len(values)} * power({uniform(number, seed)}, {skew}))::INT]"


def numbered(name: str, count: int) -> list[str]:
    return [f"{name} {i:02d}" for i in range(count)]


MAKE = f"""
SET preserve_insertion_order = false;
CREATE TABLE profiles AS SELECT
    range AS p,
    17 + floor(70 * power({uniform("range", 1)}, 1.3))::INT AS Age,
    5 + 5 * floor(18 * abs({uniform("range", 2)} - 0.4))::INT AS Hours,
    {drawn("range", 3, numbered("Education", 16), 1.6)} AS Education,
    {drawn("range", 4, numbered("Occupation", 14), 1.2)} AS Occupation,
    {drawn("range", 5, numbered("Marital", 7), 1.6)} AS Marital,
    {drawn("range", 6, numbered("Race", 5), 3)} AS Race,
    CASE WHEN {uniform("range", 7)} < 0.5 THEN 'Female' ELSE 'Male' END AS Sex,
    {drawn("range", 8, numbered("Country", 41), 5)} AS Country,
    {uniform("range", 9)} AS lean
FROM range({PROFILES});
COPY (
    SELECT {", ".join(MASKED)},
        CASE WHEN {uniform("i", 12)} < 0.93 THEN 'none'
             ELSE {drawn("i", 13, ["none", "flu", "diabetes", "asthma", "cancer", "HIV"], 2)}
        END AS Disease,
        CASE WHEN {uniform("i", 14)} < 0.03 + 0.9 * (lean > 0.75)::INT THEN '>50K' ELSE '<=50K'
        END AS Income{{kept}}
    FROM (
        SELECT range AS i, floor({PROFILES} * power({uniform("range", 11)}, 2.2))::INT AS p
        FROM range({{rows}})
    ) JOIN profiles USING (p)
) TO '{{path}}' ({{form}});
"""


@dataclass(frozen=True, slots=True)
class Data:
    """A made table and its policy."""

    rows: int
    path: Path
    policy: Path


def made(work: Path, rows: int, *, kept: bool = False, suffix: str = ".parquet") -> Data:
    """A table of so many rows; one that is there already is taken."""
    name = f"{rows}{'-kept' if kept else ''}"
    path, policy = work / f"{name}{suffix}", work / f"{name}.toml"
    over = ", ".join(f'"{column}"' for column in MASKED)
    policy.write_text(POLICY.format(keep='keep = ["Amount"]' if kept else "", over=over))
    if not path.exists():
        form = "FORMAT parquet, ROW_GROUP_SIZE 500000" if suffix == ".parquet" else "FORMAT csv"
        amount = ", (hash(i) % 1000003)::INT AS Amount" if kept else ""
        sql = MAKE.format(rows=rows, kept=amount, path=f"{path}.part", form=form)
        run(sys.executable, "-c", "import sys, duckdb; duckdb.connect().execute(sys.argv[1])", sql)
        Path(f"{path}.part").rename(path)
    return Data(rows, path, policy)


# --- What is measured -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line:
    """One command on one table."""

    case: str
    what: str
    rows: int
    seconds: float
    peak_mb: float
    copy_s: float  # DuckDB, the same file; 0: not measured
    stages: str = ""

    @property
    def ratio(self) -> float:
        return self.seconds / self.copy_s if self.copy_s else 0.0


def copied(data: Data, work: Path) -> float:
    """Seconds that DuckDB takes to copy a file."""
    target = work / "copy.parquet"
    took = run(sys.executable, "-c", COPY, data.path, target).seconds
    target.unlink()
    return took


def released(
    case: str, what: str, data: Data, work: Path, *options: str, copy_s: float = 0.0
) -> Line:
    """The whole command, from outside; its output is left for who wants to look."""
    command = Path(sys.executable).with_name("reticent")
    target = work / f"out{data.path.suffix}"
    words = ("release", data.path, "--policy", data.policy, "-o", target, "--force", "--json")
    done = run(command, *words, *options)
    told = json.loads(done.stdout)
    if told["rows_out"] != data.rows:
        raise Failed(f"{told['rows_out']} of {data.rows} rows were released")
    stages = " ".join(f"{name} {spent:.1f}" for name, spent in told["seconds"].items())
    return Line(case, what, data.rows, done.seconds, done.peak_mb, copy_s, stages)


def fingerprint(work: Path) -> str:
    return run(sys.executable, "-c", FINGERPRINT, work / "out.parquet").stdout


def grow(work: Path, rows: Sequence[int]) -> Iterator[Line]:
    for count in rows:
        data = made(work, count)
        yield released("grow", "by size", data, work, copy_s=copied(data, work))


def kept(work: Path, rows: Sequence[int]) -> Iterator[Line]:
    for count in rows:
        data = made(work, count, kept=True)
        yield released("kept", "a million kept values", data, work, copy_s=copied(data, work))


def limit(work: Path, rows: Sequence[int]) -> Iterator[Line]:
    data = made(work, min(10**7, max(rows)))
    for what, options in (("no limit", ()), ("1 GB", ("--memory-limit", "1GB"))):
        line = released("limit", what, data, work, "--engine", "duckdb", *options)
        yield line


def files(work: Path, rows: Sequence[int]) -> Iterator[Line]:
    data = made(work, min(10**7, max(rows)))
    seen = set()
    for what in ("memory", "files"):
        options = ("--engine", "duckdb", "--engine-option", f"counts={what}")
        yield released("files", f"counts in {what}", data, work, *options)
        seen.add(fingerprint(work))
    if len(seen) != 1:
        raise Failed("counts in files gave other rows")


def from_csv(work: Path, rows: Sequence[int]) -> Iterator[Line]:
    data = made(work, min(10**7, max(rows)), suffix=".csv")
    yield released("csv", "CSV in and out", data, work, "--engine", "duckdb")


def spark(work: Path, rows: Sequence[int]) -> Iterator[Line]:
    seen = set()
    for with_kept in (False, True):
        data = made(work, min(5 * 10**6, max(rows)), kept=with_kept)
        for engine in ("duckdb", "spark"):
            what = f"{engine}, {'a kept column' if with_kept else 'no kept column'}"
            yield released("spark", what, data, work, "--engine", engine)
            seen.add((with_kept, fingerprint(work)))
    if len(seen) != 2:
        raise Failed("Spark gave other rows")


RUN: dict[str, Callable[[Path, Sequence[int]], Iterator[Line]]] = {
    "grow": grow, "kept": kept, "limit": limit, "files": files, "csv": from_csv, "spark": spark,
}  # fmt: skip


# --- What is kept -----------------------------------------------------------------------------


def exponent(lines: Sequence[Line]) -> float | None:
    """By which power of the rows the time grows, from the smallest table to the largest."""
    by_rows = sorted(lines, key=lambda line: line.rows)
    if len(by_rows) < 2 or by_rows[0].rows == by_rows[-1].rows:
        return None
    first, last = by_rows[0], by_rows[-1]
    return math.log(last.seconds / first.seconds) / math.log(last.rows / first.rows)


def table(lines: Sequence[Line]) -> str:
    """Everything measured, for people."""
    said = [
        "# From a million to a hundred million rows", "",
        "Made by `benchmarks/scale.py`, which says what was measured.", "",
        "| case | what | rows | seconds | of a copy | peak, MB | stages, s |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]  # fmt: skip
    for line in lines:
        ratio = f"{line.ratio:.1f}×" if line.ratio else "–"
        said.append(
            f"| {line.case} | {line.what} | {line.rows:,} | {line.seconds:.1f} | {ratio} "
            f"| {line.peak_mb:,.0f} | {line.stages} |"
        )
    for case in ("grow", "kept"):
        power = exponent([line for line in lines if line.case == case])
        if power is not None:
            said += ["", f"`{case}`: time grows as rows to the power of {power:.2f}."]
    return "\n".join(said) + "\n"


def remembered() -> list[Line]:
    path = RESULTS / "scale.csv"
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Line(
                row["case"], row["what"], int(row["rows"]), float(row["seconds"]),
                float(row["peak_mb"]), float(row["copy_s"]), row["stages"],
            )
            for row in csv.DictReader(file)
        ]  # fmt: skip


def keep(lines: Sequence[Line]) -> None:
    with (RESULTS / "scale.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(Line.__dataclass_fields__), lineterminator="\n")
        writer.writeheader()
        for line in lines:
            plain = asdict(line)
            for name in ("seconds", "peak_mb", "copy_s"):
                plain[name] = round(plain[name], 2)
            writer.writerow(plain)
    (RESULTS / "scale.md").write_text(table(lines), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Release tables of up to 100 million rows.")
    parser.add_argument("--only", default="grow,kept,limit,files,csv")
    parser.add_argument("--rows", default="1e6,1e7,1e8")
    parser.add_argument("--work", type=Path, help="where to make tables; 5 GB for 1e8 rows")
    asked = parser.parse_args()
    chosen = asked.only.split(",")
    if unknown := set(chosen) - set(CASES):
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    rows = [int(float(count)) for count in asked.rows.split(",")]
    lines = [line for line in remembered() if line.case not in chosen]
    with tempfile.TemporaryDirectory(prefix="reticent-scale-") as folder:
        for case in chosen:
            for line in RUN[case](asked.work or Path(folder), rows):
                lines.append(line)
                print(line, flush=True)
    lines.sort(key=lambda line: CASES.index(line.case))
    keep(lines)
    print(table(lines))


if __name__ == "__main__":
    main()
