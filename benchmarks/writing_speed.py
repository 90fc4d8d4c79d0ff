"""A release in every format it is written in: processor seconds and peak memory.

    python benchmarks/writing_speed.py [--rows 1000000] [--csv FILE]

A drawn table of eight columns (two of intervals, two texts masked value by value or kept, a number,
a date) is released by the command as somebody gives it, in a process of its own, single pass, as
Parquet, CSV, CSV with decimal commas, and a workbook. Counting the written file is part of each.
"cells by xlsxwriter" writes the same cells one by one by the library, a tenth of them, times ten.
Processor seconds of all cores, which a busy machine hardly changes.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from basket_speed import run

POLICY = """
keep = ["Income", "Seen", "Ill"]
[attributes.Age]
mask = "discretize"
range = [0, 120]
[attributes.Hours]
mask = "discretize"
range = [0, 120]
[attributes.City]
mask = "suppress"
[[anonymity]]
over = ["Age", "Hours", "Job", "City", "Sex"]
k = 20
[goal]
search = "greedy"
"""
COMMAS = '[writing]\ndecimal = ","\nbom = true\n'
BY_CELLS = """
import sys, xlsxwriter
import pyarrow.csv as pcsv
table = pcsv.read_csv(sys.argv[1])
rows = zip(*(column.to_pylist() for column in table.slice(0, table.num_rows // 10).columns))
book = xlsxwriter.Workbook(sys.argv[2], {"constant_memory": True})
sheet = book.add_worksheet("Data")
for i, row in enumerate(rows):
    for j, cell in enumerate(row):
        if isinstance(cell, float):
            sheet.write_number(i, j, cell)
        else:
            sheet.write_string(i, j, str(cell))
book.close()
"""


def drawn(rows: int) -> pa.Table:
    """A table like those that people have."""
    rng = np.random.default_rng(1)
    return pa.table(
        {
            "Age": rng.integers(18, 90, rows),
            "Hours": rng.integers(0, 60, rows),
            "Job": rng.choice([f"job {i}" for i in range(40)], rows),
            "City": rng.choice([f"city {i}" for i in range(300)], rows),
            "Sex": rng.choice(["f", "m"], rows),
            "Income": np.round(rng.lognormal(10, 0.5, rows), 2),
            "Seen": pa.array(rng.integers(18000, 19000, rows).astype("int32"), pa.date32()),
            "Ill": rng.choice(["y", "n", "?"], rows),
        }
    )


def main() -> None:
    """Measure, print and keep."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--rows", type=int, default=1_000_000)
    asked.add_argument("--csv", type=Path)
    given = asked.parse_args()
    found = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        pq.write_table(drawn(given.rows), place / "in.parquet")
        (place / "usual.toml").write_text(POLICY)
        (place / "commas.toml").write_text(POLICY + COMMAS)
        command = [sys.executable, "-c", "from reticent.front import main; main()", "release"]
        jobs = {"parquet": "usual", "csv": "usual", "csv with commas": "commas", "xlsx": "usual"}
        for job, policy in jobs.items():
            out = place / f"{job.replace(' ', '-')}.{job.split()[0]}"
            how = ["-p", str(place / f"{policy}.toml"), "-o", str(out), "--force", "--json"]
            took = run([*command, str(place / "in.parquet"), *how], 1)
            found.append((job, took.processor, took.megabytes, out.stat().st_size / 1e6))
        by_cells = [sys.executable, "-c", BY_CELLS, str(place / "csv.csv"), str(place / "x.xlsx")]
        took = run(by_cells, 1)
        found.append(("cells by xlsxwriter", 10 * took.processor, took.megabytes, 0))
    head = ("job", "rows", "processor", "megabytes", "file megabytes")
    rows = [(job, given.rows, f"{s:.1f}", f"{m:.0f}", f"{size:.1f}") for job, s, m, size in found]
    for row in (head, *rows):
        print("  ".join(str(cell).ljust(20) for cell in row))
    if given.csv:
        with given.csv.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([head, *rows])


if __name__ == "__main__":
    main()
