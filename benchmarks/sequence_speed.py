"""Time `reticent release` after an earlier release, beside Polars reading both and writing one.

    python benchmarks/sequence_speed.py [--rows 1000000] [--pairs 5] [--only CASE,…]

The million records of `adult8cat` (`expand.py`) are split into two views of the same people, as
chapter 6 of Fung 2007 does with Adult: T1 has a key, six attributes and the class, T2 five
attributes, three of them T1's. Both stand in CSV files, and T2 is out as it is. As in
`release_speed.py`, commands are timed from outside, start-up, recount and writing included, and
floor and command take turns; the floor is timed inside its process, after the import of Polars.

    case        promise about the join                                         bar    thesis
    anonymity   k = 40 records of T1 over all columns of both                  10x    885 s
    kept        the same, and the key of T1 is published                       -      -
    confidence  education's rarer half at most 90 % sure, by all other columns 10x    -
    top1        marital-status' rarer half at most 90 % sure, by the others    30x    83 s
                of T1; it joins, and stands outside `over`
    outside     as anonymity, but sex, which joins, stands outside `over`      30x    -

Each release must stay within 500 MB beyond what the same command takes for a thousand records.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from release_speed import (
    EXPAND,
    MILLION,
    SEED,
    Bench,
    Failed,
    Line,
    Release,
    Skipped,
    Table,
    append_csv,
    positive,
    print_table,
    run,
    verdict,
)

# Like `release_speed.py`, this process imports neither NumPy nor Polars; `split` runs in another.

HERE = Path(__file__).resolve().parent
TAXONOMIES = HERE / "figures" / "taxonomies"
SMALL = 1000  # records; what is left of the memory is the imports'
MEMORY_BAR = 500  # MB beyond the imports
KEY, SECRET_OF_T1, SECRET_JOIN = "person", "education", "marital-status"
JOIN = ("marital-status", "relationship", "sex")
OWN = ("education", "occupation", "workclass")
THEIRS = ("native-country", "race")
RAREST = {  # the rarer half of the values, rounded down
    "marital-status": ["Married-AF-spouse", "Married-spouse-absent", "Widowed"],
    "education": [
        "Preschool", "1st-4th", "5th-6th", "Doctorate", "12th", "9th", "Prof-school", "7th-8th",
    ],
}  # fmt: skip

SPLIT = """
import sys
import polars
rows, source, first, second = int(sys.argv[1]), *sys.argv[2:5]
table = polars.read_csv(source, infer_schema=False).head(rows)
key = polars.format("p{}", polars.int_range(polars.len())).alias("person")
table.select(key, *sys.argv[5].split(","), "class").write_csv(first)
table.select(*sys.argv[6].split(",")).write_csv(second)
"""

FLOOR = """
import sys, time
import polars
start = time.perf_counter()
polars.read_csv(sys.argv[2])
polars.read_csv(sys.argv[1]).write_csv(sys.argv[3])
print(time.perf_counter() - start)
"""


# --- policies ---------------------------------------------------------------------------------


def listed(names: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


def over(own: Sequence[str], theirs: Sequence[str]) -> str:
    return f"over = {listed([*own, *(f't2.{name}' for name in theirs)])}\n"


def anonymity(without: str = "") -> str:
    own = [name for name in (*JOIN, *OWN) if name != without]
    theirs = [name for name in (*JOIN, *THEIRS) if name != without]
    return f'[[anonymity]]\n{over(own, theirs)}of = ["{KEY}"]\nk = 40\n'


def confidence(secret: str, theirs: Sequence[str]) -> str:
    own = [name for name in (*JOIN, *OWN) if name != secret]
    hidden = f'sensitive = {{ "{secret}" = {listed(RAREST[secret])} }}\n'
    rest = "at_most = 0.9\nallow_absent = true\n"  # a thousand records have not every value
    return f"[[confidence]]\n{over(own, theirs)}{hidden}{rest}"


@dataclass(frozen=True, slots=True)
class Case:
    """A promise, how much of the floor it may take, and whether the key is published."""

    template: str
    bar: float | None
    key: str = "drop"

    def policy(self, earlier: Path, goal: str) -> str:
        masked = [name for name in (*JOIN, *OWN) if f'"{name}"' in self.template.split("\n")[1]]
        attributes = [
            f'[attributes.{name}]\nmask = "generalize"\ntaxonomy = "{TAXONOMIES / name}.csv"\n'
            for name in masked
        ]
        others = [name for name in (*JOIN, *OWN) if f'"{name}"' not in self.template]
        keep = [*others, *([KEY] if self.key == "keep" else [])]
        drop = f'drop = ["{KEY}"]\n' if self.key == "drop" else ""
        head = f'class = "class"\nkeep = {listed(keep)}\n{drop}'
        previous = f'[previous.t2]\npath = "{earlier}"\n'
        return "\n".join([head, *attributes, previous, self.template, goal])


CASES = {
    "anonymity": Case(anonymity(), 10),
    "kept": Case(anonymity(), None, "keep"),
    "confidence": Case(confidence(SECRET_OF_T1, (*JOIN, *THEIRS)), 10),
    "top1": Case(confidence(SECRET_JOIN, ("relationship", "sex")), 30),
    "outside": Case(anonymity(without="sex"), 30),
}
GOALS = {"greedy": '[goal]\nscore = "paper"\nsearch = "greedy"\n', "default": ""}


# --- tables -----------------------------------------------------------------------------------


def views(bench: Bench, rows: int) -> tuple[Path, Path]:
    """T1 and T2, or those of an earlier run."""
    whole = bench.table("adult8cat", rows).data
    version = f"{zlib.crc32(EXPAND.read_bytes() + SPLIT.encode()):08x}"
    first, second = (bench.work / f"sequence-{t}-{rows}-{SEED}-{version}.csv" for t in ("t1", "t2"))
    if not (first.exists() and second.exists()):
        parts = [path.with_suffix(".part") for path in (first, second)]
        columns = [",".join((*JOIN, *OWN)), ",".join((*JOIN, *THEIRS))]
        run(sys.executable, "-c", SPLIT, str(rows), whole, *parts, *columns)
        for part, path in zip(parts, (first, second), strict=True):
            part.replace(path)
    return first, second


def prepared(bench: Bench, name: str, rows: int, goal: str) -> tuple[Table, Path]:
    """The table of a case with its policy, and the earlier release."""
    first, second = views(bench, rows)
    policy = bench.work / f"sequence-{name}-{rows}.toml"
    policy.write_text(CASES[name].policy(second, goal), encoding="utf-8")
    return Table(rows, first, policy), second


# --- measuring --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Measured:
    """A case, and whether it stays within its bars."""

    line: Line
    outside: float  # seconds that belong to no stage: start-up, and the end
    imports_mb: float
    verdicts: tuple[str, ...]


def floor(bench: Bench, table: Table, earlier: Path) -> float:
    bench.copied.unlink(missing_ok=True)
    ended = run(sys.executable, "-c", FLOOR, table.data, earlier, bench.copied)
    return float(ended.stdout)


def imports(bench: Bench, name: str, goal: str) -> float:
    """The memory that the command takes for next to no records.

    They are people of both views, so that a short table is no smaller join with strangers.
    """
    small, _ = prepared(bench, name, SMALL, goal)
    runs = Release(small)
    for _ in range(2):  # the first one may compile
        bench.release(runs)
    return runs.peaks_mb[-1]


def measure(bench: Bench, name: str, rows: int, goal: str) -> Measured:
    table, earlier = prepared(bench, name, rows, goal)
    little = imports(bench, name, goal)
    bench.warm(table)
    runs, floors = Release(table), list[float]()
    for number in range(bench.pairs):
        if number % 2:
            bench.release(runs)
            floors.append(floor(bench, table, earlier))
        else:
            floors.append(floor(bench, table, earlier))
            bench.release(runs)
    ratios = [mine / other for mine, other in zip(runs.seconds, floors, strict=True)]
    of_medians, of_ratios = median(runs.seconds) / median(floors), median(ratios)
    line = replace(
        runs.line(name, bench.pairs),
        floor_s=median(floors),
        ratio_of_medians=of_medians,
        median_of_ratios=of_ratios,
    )
    beyond, bar = max(runs.peaks_mb) - little, CASES[name].bar
    verdicts = [verdict(f"{name} memory beyond the imports", beyond, MEMORY_BAR, " MB")]
    if bar:
        beside = verdict(f"{name} beside the floor", max(of_medians, of_ratios), bar, "x")
        verdicts.insert(0, beside)
    return Measured(
        line,
        median(t - sum(s.values()) for t, s in zip(runs.seconds, runs.stages, strict=True)),
        little,
        (
            *(
                [verdict(f"{name} beside the floor", max(of_medians, of_ratios), bar, "x")]
                if bar
                else []
            ),
            verdict(f"{name} memory beyond the imports", beyond, MEMORY_BAR, " MB"),
        ),
    )


def where(measured: Measured) -> str:
    """Where the time of a case goes, the longest first."""
    line = measured.line
    shares = {**line.stages, "outside the stages": measured.outside}
    whole = sum(shares.values())  # of medians, so not quite the median of the whole
    longest = sorted(shares.items(), key=lambda share: -share[1])
    said = [f"{stage} {seconds:.2f} s ({seconds / whole:.0%})" for stage, seconds in longest]
    return f"{line.case}: {', '.join(said)}"


# --- command ----------------------------------------------------------------------------------


def cases(text: str) -> list[str]:
    wanted = [case.strip() for case in text.split(",")]
    unknown = [case for case in wanted if case not in CASES]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown: {unknown}; there are {', '.join(CASES)}")
    return wanted


def main() -> int:
    script = Path(sys.executable).parent / "reticent"
    work = Path(tempfile.gettempdir()) / "reticent-benchmarks"
    parser = argparse.ArgumentParser(description="Time a release after an earlier one.")
    parser.add_argument("--only", type=cases, default=list(CASES), metavar="CASE,…")
    parser.add_argument("--rows", type=positive, default=MILLION, help="of each table")
    parser.add_argument("--pairs", type=positive, default=5, help="runs of each side (default 5)")
    parser.add_argument("--search", choices=list(GOALS), default="greedy")
    parser.add_argument("--work", type=Path, default=work, help="folder that keeps the tables")
    parser.add_argument("--csv", type=Path, help="append the results to this file")
    parser.add_argument("--command", type=Path, default=script, help="another console script")
    asked = parser.parse_args()

    asked.work.mkdir(parents=True, exist_ok=True)
    print(f"{os.cpu_count()} CPUs, Python {sys.version.split()[0]}, medians of {asked.pairs} runs")
    bench = Bench(asked.command, asked.work, asked.pairs)
    found, failures = list[Measured](), 0
    try:
        for name in asked.only:
            print(f"{name} …", file=sys.stderr, flush=True)
            try:
                found.append(measure(bench, name, asked.rows, GOALS[asked.search]))
            except Failed as reason:
                failures += 1
                print(f"{name} failed: {reason}", file=sys.stderr)
    except Skipped as reason:
        print(f"skipped: {reason}")
    finally:
        bench.masked.unlink(missing_ok=True)
        bench.copied.unlink(missing_ok=True)
    if found:
        print()
        print_table([each.line for each in found])
        print("\nwhere the time goes")
        print(*(where(each) for each in found), sep="\n")
        imports_mb = ", ".join(f"{each.line.case} {each.imports_mb:.0f}" for each in found)
        print(f"\nMB for {SMALL:,} records: {imports_mb}\n")
        print(*(said for each in found for said in each.verdicts), sep="\n")
    if asked.csv and found:
        lines = [replace(each.line, case=f"{each.line.case}, {asked.search}") for each in found]
        append_csv(asked.csv, lines)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
