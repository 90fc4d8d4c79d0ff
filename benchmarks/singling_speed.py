"""What singles people out: how long `reticent risk DATA` takes without a policy.

    python benchmarks/singling_speed.py [--only NAME,…] [--runs 1] [--csv FILE]

Every job is the command in a process of its own, reading included, after one run that has compiled
what is compiled on a machine's first run. "Processor" is what all cores spent, which a busy machine
does not change; memory is the most that the process held.

    mixed      1,000,000 × 15    2 to 500,000 values a column: pairs single most people out soon
    alike      1,000,000 × 15    60 values each: hardly anybody is alone, so all 575 sets are long
    id         1,000,000 × 15    an id, and 14 columns of 2 to 20,000 values
    embedded   the same          counted by the embedded database, with 1 GB of memory
    wide          10,000 × 300   12 values each: 4.5 million sets, of which not all are counted

The bar is 20 s of wall time for a million rows of 15 columns on two cores that are otherwise idle.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from basket_speed import Took, run

COMMAND = [sys.executable, "-c", "from reticent.front import main; main()", "risk"]
MIXED = [2, 2, 5, 9, 16, 16, 7, 42, 50, 73, 100, 120, 1000, 20_000]
JOBS: dict[str, tuple[int, list[int], list[str]]] = {
    "mixed": (1_000_000, [*MIXED, 500_000], []),
    "alike": (1_000_000, [60] * 15, []),
    "id": (1_000_000, [0, *MIXED], []),
    "embedded": (1_000_000, [0, *MIXED], ["--engine", "duckdb", "--memory-limit", "1GB"]),
    "wide": (10_000, [12] * 300, []),
}


def drawn(rows: int, spans: list[int]) -> pl.DataFrame:
    """Columns of so many values, the small ones more frequent; of none, all differ."""
    rng = np.random.default_rng(1)
    columns = [
        (rng.random(rows) ** 2 * span).astype(np.int64) if span else np.arange(rows)
        for span in spans
    ]
    return pl.DataFrame({f"c{i}": column for i, column in enumerate(columns)})


def measured(job: str, place: Path, runs: int) -> tuple[int, int, Took]:
    """One job."""
    rows, spans, how = JOBS[job]
    path = place / f"{rows}-{len(spans)}-{max(spans)}-{min(spans)}.csv"
    if not path.exists():
        drawn(rows, spans).write_csv(path)
    return rows, len(spans), run([*COMMAND, str(path), "--json", *how], runs)


def main() -> None:
    """Measure, print and keep."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--only", default=",".join(JOBS))
    asked.add_argument("--runs", type=int, default=1)
    asked.add_argument("--csv", type=Path)
    given = asked.parse_args()
    table: list[tuple[str, ...]] = [
        ("job", "rows", "columns", "seconds", "processor", "megabytes", "triples of")
    ]
    with tempfile.TemporaryDirectory() as folder:
        for job in given.only.split(","):
            rows, columns, took = measured(job, Path(folder), given.runs)
            among = took.said.get("counted", {"triples_among": columns})
            assert isinstance(among, dict)
            line = (took.median, took.processor, took.megabytes)
            cells = (job, rows, columns, *(f"{n:.1f}" for n in line), among["triples_among"])
            table.append(tuple(map(str, cells)))
            print("  ".join(cell.ljust(10) for cell in map(str, cells)), flush=True)
    if given.csv:
        with given.csv.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(table)


if __name__ == "__main__":
    main()
