"""Hide single entries: how long it takes, beside reading and writing the same file.

    python benchmarks/entry_speed.py [--only NAME,…] [--runs 3] [--profile] [--csv FILE]

Every job is the command `reticent entries release` as somebody gives it, in a process of its own,
after one run that has compiled what is compiled on a machine's first run. The floor is the same
file read and written by the product's own reader and writer. "hide" and "recount" are the search
and the verifier alone, on codes in memory; `--profile` says where they spend their time. Times are
medians, memory is the most that one process held; "processor" is what all cores spent on the last
run, which a busy machine does not change.

    table     records     conditions                         requests   min_support   bar
    adult        30,000   7, those of the figures                  35            60   a few seconds
    wide         30,000   14, all of Adult but occupation       1,000            10   60 s
    million   1,000,000   10                                    1,000   2,000 and 60   60 s
    distinct  1,000,000   10, of 2 to 80 values                 1,000            60   60 s

All have a min_confidence of 0.6, and every job is one set of regions: A, sensitive entries of
others; B, conditions of others; C, conditions of those who asked; or all. The million are Adult's
records over and over, one cell in twenty redrawn from its column; the first three have occupation
as the sensitive column. The distinct ones are drawn: people belong to twelve groups, and each
column depends on the group alone. 99 % of them are the only ones of their kind.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from basket_speed import Took, run
from expand import complete_adult

SECRET = "occupation"
SEVEN = ("sex", "marital-status", "workclass", "education", "education-num", "race", "class")
TEN = (*SEVEN, "relationship", "native-country", "hours-per-week")
DRAWN = tuple(f"q{j}" for j in range(1, 11))
REGIONS = {
    "A": ["sensitive-of-others"],
    "B": ["conditions-of-others"],
    "C": ["conditions-of-sensitive"],
    "all": ["sensitive-of-others", "conditions-of-others", "conditions-of-sensitive"],
}

FLOOR = """
import sys
from pathlib import Path
from reticent.files import sheets
from reticent.files import tabular as files
table = files.read(sys.argv[1])
sheets.write(sheets.sheet([*table.columns.values()], order="input"), Path(sys.argv[2]), ".csv")
"""
ARRAYS = """
import cProfile, csv, json, pstats, sys, time, tomllib
from fractions import Fraction
from pathlib import Path
import numpy as np
from reticent.privacy.entries import Published, SafeEntries, recount
from reticent.suppress.entries.search import Limits, Partial, hide
from reticent.files import tabular as files

def codes(column):
    cells = column.codes.astype(np.int32)
    return cells if column.missing is None else np.where(cells == column.missing, -1, cells)

policy = tomllib.loads(Path(sys.argv[2]).read_text())
table = files.read(sys.argv[1])
conditions = np.column_stack([codes(table.columns[name]) for name in policy["conditions"]])
truth = codes(table.columns[policy["sensitive"]])
asked = np.zeros(len(truth), np.bool_)
with Path(sys.argv[2]).with_name(policy["requests"]).open() as file:
    asked[[int(row["record"]) - 1 for row in csv.DictReader(file)]] = True
share = Fraction(str(policy["min_confidence"]))
partial = Partial(conditions, truth, asked, np.zeros((len(truth), conditions.shape[1] + 1), bool))
limits = Limits(policy["min_support"], share)
few = Partial(conditions[:50], truth[:50], asked[:50] | (np.arange(50) < 3), partial.fixed[:50])
hide(few, Limits(0, Fraction(1, 10)), policy["may_hide"])  # compiled, and loaded
promise = SafeEntries(min_support=limits.min_support, min_confidence=share)
recount(Published(conditions[:50], truth[:50]), promise, np.arange(1), truth[:1])
profile = cProfile.Profile()
start = time.perf_counter()
if "--profile" in sys.argv:
    hidden = profile.runcall(hide, partial, limits, policy["may_hide"])
else:
    hidden = hide(partial, limits, policy["may_hide"])
searched = time.perf_counter()
cells = np.column_stack([conditions, np.where(asked, -1, truth)])
cells[hidden.records, hidden.columns] = -1
people = np.flatnonzero(asked)
found = recount(Published(cells[:, :-1], cells[:, -1]), promise, people, truth[people])
done = time.perf_counter()
assert found.holds or len(hidden.exposed), hidden
if "--profile" in sys.argv:
    pstats.Stats(profile, stream=sys.stderr).sort_stats("tottime").print_stats(12)
print(json.dumps({"hide": searched - start, "recount": done - searched, "rules": hidden.rules,
                  "hidden": len(hidden), "exposed": len(hidden.exposed)}))
"""


@dataclass(frozen=True, slots=True)
class Job:
    """A table, and what is asked of it."""

    table: str
    conditions: tuple[str, ...]
    requests: int
    min_support: int
    regions: str
    bar: float  # seconds

    @property
    def name(self) -> str:
        return f"{self.table} {self.min_support} {self.regions}"

    def policy(self, place: Path, records: int) -> Path:
        """Write it, with its requests beside it."""
        people = np.random.default_rng(1).choice(records, self.requests, replace=False) + 1
        lines = "".join(f"{person}\n" for person in np.sort(people).tolist())
        (place / "requests.csv").write_text(f"record\n{lines}")
        said = {
            "conditions": list(self.conditions), "sensitive": SECRET, "min_support":
            self.min_support, "min_confidence": 0.6, "may_hide": REGIONS[self.regions],
            "requests": "requests.csv", "keep": "*",
        }  # fmt: skip
        path = place / "policy.toml"
        path.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in said.items()))
        return path


def everything() -> tuple[str, ...]:
    return tuple(name for name in complete_adult("adult.data").columns if name != SECRET)


def jobs() -> list[Job]:
    return [
        Job(table, conditions, requests, support, regions, bar)
        for table, conditions, requests, support, bar in (
            ("adult", SEVEN, 35, 60, 5.0),
            ("wide", everything(), 1_000, 10, 60.0),
            ("million", TEN, 1_000, 2_000, 60.0),
            ("million", TEN, 1_000, 60, 60.0),
            ("distinct", DRAWN, 1_000, 60, 60.0),
        )
        for regions in REGIONS
    ]


def written(job: Job, place: Path) -> tuple[Path, int]:
    """The table of a job, and how many records it has."""
    path = place / f"{job.table}.csv"
    records = 1_000_000 if job.table in ("million", "distinct") else 30_000
    if job.table == "distinct" and not path.exists():
        drawn(records).write_csv(path)
    elif not path.exists():
        adult = complete_adult("adult.data").select([*job.conditions, SECRET])
        (repeated(adult, records) if records > len(adult) else adult.head(records)).write_csv(path)
    return path, records


def repeated(table: pl.DataFrame, records: int) -> pl.DataFrame:
    """A table over and over, with one cell in twenty redrawn."""
    lots = np.random.default_rng(1)
    rows = np.resize(np.arange(len(table)), records)
    columns = []
    for column in table.get_columns():
        again = lots.random(records) < 0.05
        at = np.where(again, lots.integers(0, len(table), records), rows)
        columns.append(column.gather(at))
    return pl.DataFrame(columns)


def drawn(records: int) -> pl.DataFrame:
    """Rows that hardly ever repeat, though their columns depend on each other."""
    lots = np.random.default_rng(1)
    group = lots.integers(0, 12, records)

    def column(values: int, spread: float) -> NDArray[np.int64]:
        shares = lots.dirichlet(np.full(values, spread), 12).cumsum(axis=1)
        found: NDArray[np.int64] = (lots.random(records)[:, None] > shares[group]).sum(axis=1)
        return found.clip(0, values - 1)

    sizes = (2, 4, 6, 8, 10, 12, 16, 24, 40, 80)
    columns = {name: column(size, 0.35) for name, size in zip(DRAWN, sizes, strict=True)}
    return pl.DataFrame(columns | {SECRET: column(14, 0.12)})


def measured(job: Job, place: Path, runs: int, profile: bool, floors: dict[str, float]) -> Row:
    data, records = written(job, place)
    policy, out = job.policy(place, records), place / "out.csv"
    reticent = [sys.executable, "-c", "from reticent.front import main; main()"]
    command = [*reticent, "entries", "release", str(data), "-p", str(policy), "-o", str(out)]
    if job.table not in floors:
        words = [sys.executable, "-c", FLOOR, str(data), str(place / "floor.csv")]
        floors[job.table] = run(words, runs).median
    more = ["--profile"] if profile else []
    inside = run([sys.executable, "-c", ARRAYS, str(data), str(policy), *more], 1).said
    return row(job, run([*command, "--force", "--json"], runs), inside, floors[job.table])


Row = dict[str, object]


def row(job: Job, ours: Took, inside: dict[str, object], floor: float) -> Row:
    found: Row = {
        "job": job.name,
        "seconds": round(ours.median, 2),
        "bar": job.bar,
        "floor": round(floor, 2),
        "ratio": round(ours.median / floor, 1),
        "processor": round(ours.processor, 2),
        "megabytes": round(ours.megabytes),
        "hide": round(float(str(inside["hide"])), 2),
        "recount": round(float(str(inside["recount"])), 2),
        "rules": inside["rules"],
        "hidden": inside["hidden"],
        "exposed": inside["exposed"],
    }
    print("  ".join(f"{key} {value}" for key, value in found.items()), flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="jobs whose names begin like this")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--csv", type=Path)
    asked = parser.parse_args()
    only = [part for part in asked.only.split(",") if part]
    floors: dict[str, float] = {}
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        found = [
            measured(job, Path(folder), asked.runs, asked.profile, floors)
            for job in jobs()
            if not only or any(job.name.startswith(part) for part in only)
        ]
    if asked.csv and found:
        with asked.csv.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, found[0])
            writer.writeheader()
            writer.writerows(found)


if __name__ == "__main__":
    main()
