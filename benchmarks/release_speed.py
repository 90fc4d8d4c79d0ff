"""Time `reticent release` beside the floor: Polars reading and writing the same file.

    python benchmarks/release_speed.py [--only a1,a4,b,c,d,t,adult,help] [--pairs 7] [--csv FILE]

Each case alternates fresh processes of the floor and of the command, since one floor run varies by
half. The floor is timed inside its process, after the import of Polars; the command is timed from
outside, so that start-up, verification and writing count. `README.md` states the bars.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

# This process imports neither NumPy nor Polars, and makes the tables in a process of their own: a
# child's peak memory starts at its parent's, because Linux carries it across fork and exec.

EXPAND = Path(__file__).resolve().with_name("expand.py")
SEED = 1
MILLION = 1_000_000
ADULT_ROWS = 45_222
MEMORY_BAR = 600  # MB at 1M records
GROWTH = 1.1  # "flat" and "does not grow" allow a tenth, the noise of a median
STEPS = (50, 100, 200, 400)

FLOOR = """
import sys, time
import polars
start = time.perf_counter()
polars.read_csv(sys.argv[1]).write_csv(sys.argv[2])
print(time.perf_counter() - start)
"""


class Failed(Exception):
    """A process ended badly, or answered what cannot be used."""


class Skipped(Exception):
    """The case needs data that this machine does not have."""


# --- Processes --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ended:
    """A process that ended well."""

    seconds: float  # from before its start until after its end
    peak_mb: float
    stdout: str


def run(*command: str | Path) -> Ended:
    """Run a process to its end; `Failed` shows what it said if it ended badly."""
    words = [str(word) for word in command]
    # Files instead of pipes: nobody reads while wait4 waits, and a full pipe would block.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        try:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        except OSError as error:
            raise Failed(f"cannot start {words[0]}: {error.strerror}") from error
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            process.wait()
            raise
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)  # Popen must not wait for it again
        said, complained = contents(out), contents(err)
    if process.returncode:
        text = complained.strip() or said.strip() or "(it said nothing)"
        raise Failed(f"exit code {process.returncode} of: {' '.join(words)}\n{indented(text)}")
    unit = MILLION if sys.platform == "darwin" else MILLION / 1024  # macOS counts bytes, Linux KiB
    return Ended(seconds, usage.ru_maxrss / unit, said)


def contents(file: Any) -> str:
    file.seek(0)
    return str(file.read().decode("utf-8", errors="replace"))


def indented(text: str, most: int = 30) -> str:
    """The last lines, where the reason stands."""
    return "\n".join("    " + line for line in text.splitlines()[-most:])


# --- What is run ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Table:
    """A generated table and its policy."""

    rows: int
    data: Path
    policy: Path


@dataclass(slots=True)
class Release:
    """Runs of `reticent release` on one table with the same options."""

    table: Table
    seconds: list[float] = field(default_factory=list)
    peaks_mb: list[float] = field(default_factory=list)
    stages: list[dict[str, float]] = field(default_factory=list)
    steps: int = 0

    def stage(self, name: str) -> float:
        found = [stages[name] for stages in self.stages if name in stages]
        if not found:
            raise Failed(f'no stage "{name}" in seconds; there are: {", ".join(self.stages[0])}')
        return median(found)

    def medians(self) -> dict[str, float]:
        return {name: self.stage(name) for name in self.stages[0]}

    def line(self, case: str, pairs: int) -> Line:
        return Line(
            case=case,
            rows=self.table.rows,
            pairs=pairs,
            command_s=median(self.seconds),
            peak_mb=max(self.peaks_mb),
            steps=self.steps,
            stages=self.medians(),
        )

    def staged(self) -> float:
        """Median of the time inside stages: the work after start-up."""
        return median(sum(stages.values()) for stages in self.stages)


@dataclass(frozen=True, slots=True)
class Bench:
    """The settings of one run of this script."""

    command: Path
    work: Path
    pairs: int

    @property
    def masked(self) -> Path:
        """What the command writes."""
        return self.work / "masked.csv"

    @property
    def copied(self) -> Path:
        """What the floor writes."""
        return self.work / "copied.csv"

    def table(self, kind: str, rows: int) -> Table:
        """Make a table and its policy, or take the table of an earlier run of this generator."""
        version = f"{zlib.crc32(EXPAND.read_bytes()):08x}"
        data = self.work / f"{kind}-{rows}-{SEED}-{version}.csv"
        # The policy holds paths into the data folder, which may have moved: never an old one.
        policy = data.with_suffix(".toml")
        words: list[str | Path] = [kind, "--policy", policy]
        if not data.exists():
            words += ["-o", data, "--rows", str(rows), "--seed", str(SEED)]
        said = run(sys.executable, EXPAND, *words).stdout.strip()
        if said.startswith("skipped: "):
            raise Skipped(said.removeprefix("skipped: "))
        return Table(rows, data, policy)

    def floor(self, table: Table) -> float:
        self.copied.unlink(missing_ok=True)
        return float(run(sys.executable, "-c", FLOOR, table.data, self.copied).stdout)

    def release(self, runs: Release, *options: str) -> None:
        """Run the command once more and note what it took."""
        table = runs.table
        self.masked.unlink(missing_ok=True)
        paths: list[str | Path] = [table.data, "--policy", table.policy, "-o", self.masked]
        ended = run(self.command, "release", *paths, "--json", *options)
        summary = parsed(ended.stdout, table)
        stages = {str(name): float(value) for name, value in summary["seconds"].items()}
        stages.pop("total", None)  # a sum is no stage
        runs.stages.append(stages)
        runs.seconds.append(ended.seconds)
        runs.peaks_mb.append(ended.peak_mb)
        runs.steps = int(summary["steps"])

    def warm(self, table: Table, *options: str) -> None:
        """The first run ever compiles, and puts the file in the page cache: not counted."""
        self.release(Release(table), *options)


def parsed(text: str, table: Table) -> dict[str, Any]:
    """The summary of a release, checked: the time of a wrong release means nothing."""
    try:
        summary = json.loads(text)
        missing = {"rows_in", "rows_out", "steps", "templates", "seconds"}
        missing -= summary.keys()
    except (ValueError, AttributeError) as error:
        raise Failed(f"--json printed no JSON object:\n{indented(text)}") from error
    if missing:
        raise Failed(f"the summary lacks {', '.join(sorted(missing))}")
    if not summary["rows_in"] == summary["rows_out"] == table.rows:
        raise Failed(
            f"{table.rows} records, but {summary['rows_in']} in and {summary['rows_out']} out"
        )
    if not all(template.get("verified") is True for template in summary["templates"]):
        raise Failed("a template was not verified")
    return dict(summary)


# --- What is said -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table; what a case does not measure is None."""

    case: str
    rows: int | None = None
    pairs: int = 0
    floor_s: float | None = None
    command_s: float | None = None
    ratio_of_medians: float | None = None
    median_of_ratios: float | None = None
    peak_mb: float | None = None
    steps: int | None = None
    stages: dict[str, float] = field(default_factory=dict)

    def cells(self) -> list[str]:
        return [
            self.case,
            shown(self.rows, ",d"),
            shown(self.floor_s, ".3f"),
            shown(self.command_s, ".3f"),
            shown(self.ratio_of_medians, ".2f"),
            shown(self.median_of_ratios, ".2f"),
            shown(self.peak_mb, ".0f"),
            shown(self.steps, "d"),
            " ".join(f"{name} {seconds:.3f}" for name, seconds in self.stages.items()),
        ]


HEADS = ["case", "rows", "floor s", "command s", "ratio", "med. of r.", "peak MB", "steps"]
HEADS += ["stages s"]


def shown(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def print_table(lines: Sequence[Line]) -> None:
    rows = [HEADS, *(line.cells() for line in lines)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADS) - 1)]
    for row in rows:
        numbers = [cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:], strict=True)]
        print("  ".join([row[0].ljust(widths[0]), *numbers, row[-1]]))


def verdict(what: str, measured: float, bar: float, unit: str) -> str:
    word = "met   " if measured <= bar else "MISSED"
    return f"{word}  {what}: {measured:.3g}{unit}, bar {bar:.3g}{unit}"


def append_csv(path: Path, lines: Iterable[Line]) -> None:
    names = list(Line.__dataclass_fields__)
    new = not path.exists() or not path.stat().st_size
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(names)
        for line in lines:
            cells = [getattr(line, name) for name in names]
            writer.writerow(json.dumps(cell) if isinstance(cell, dict) else cell for cell in cells)


# --- Cases ------------------------------------------------------------------------------------


@dataclass(slots=True)
class Results:
    """What the cases found, in the order they ran."""

    lines: list[Line] = field(default_factory=list)
    verdicts: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def growth_per_row(self, small: str, large: str) -> float | None:
        """How much more a record of the large case costs than one of the small.

        Start-up is shared by more records there and would hide a growth, so the time inside the
        stages counts as well, and the larger of both answers.
        """
        found = {line.case: line for line in self.lines if line.rows and line.command_s}
        if small not in found or large not in found:
            return None
        whole = [(found[case].command_s or 0) / (found[case].rows or 1) for case in (small, large)]
        staged = [
            sum(found[case].stages.values()) / (found[case].rows or 1) for case in (small, large)
        ]
        return max(whole[1] / whole[0], staged[1] / staged[0])


def against_floor(case: str, kind: str, rows: int, bar: float) -> Callable[[Bench, Results], None]:
    """A case that alternates floor and command on one table."""

    def measure(bench: Bench, results: Results) -> None:
        table = bench.table(kind, rows)
        bench.warm(table)
        runs, floors = Release(table), list[float]()
        for number in range(bench.pairs):
            if number % 2:  # neither side always finds what the other left in the caches
                bench.release(runs)
                floors.append(bench.floor(table))
            else:
                floors.append(bench.floor(table))
                bench.release(runs)
        ratios = [mine / floor for mine, floor in zip(runs.seconds, floors, strict=True)]
        of_medians, of_ratios = median(runs.seconds) / median(floors), median(ratios)
        line = replace(
            runs.line(case, bench.pairs),
            floor_s=median(floors),
            ratio_of_medians=of_medians,
            median_of_ratios=of_ratios,
        )
        results.lines.append(line)
        # The worse of the two summaries decides: a bar met by one of them only is not met.
        worse = max(of_medians, of_ratios)
        results.verdicts.append(verdict(f"{case} beside the floor", worse, bar, "x"))
        if rows == MILLION:
            peak = verdict(f"{case} peak memory", max(runs.peaks_mb), MEMORY_BAR, " MB")
            results.verdicts.append(peak)

    return measure


def by_steps(bench: Bench, results: Results) -> None:
    """Hundreds of refinements: what one costs per million records must not grow.

    Neither with the number of refinements nor with the number of records.
    """
    small, large = bench.table("correlated", MILLION), bench.table("correlated", 2 * MILLION)
    bench.warm(small, "--max-steps", str(STEPS[0]))
    every = [(steps, Release(small)) for steps in STEPS] + [(STEPS[-1], Release(large))]
    for _ in range(bench.pairs):
        for steps, runs in every:
            bench.release(runs, "--max-steps", str(steps))
            if runs.steps != steps:
                raise Failed(f"the search ended after {runs.steps} steps instead of {steps}")
    print("\nd: the refine stage, and its seconds per million records and refinement")
    print(f"{'rows':>11} {'steps':>6} {'refine s':>9} {'overall':>10} {'since the row above':>20}")
    costs, before = list[float](), (small, 0, 0.0)
    for steps, runs in every:
        table, refine = runs.table, runs.stage("refine")
        costs.append(refine / steps / table.rows * MILLION)
        added = None
        if before[0] is table:
            added = (refine - before[2]) / (steps - before[1]) / table.rows * MILLION
        before = (table, steps, refine)
        print(f"{table.rows:>11,} {steps:>6} {refine:>9.3f} {costs[-1]:>10.6f} ", end="")
        print(f"{shown(added, '.6f'):>19}")
        results.lines.append(runs.line(f"d {steps}", bench.pairs))
    more_steps, more_rows = max(costs[1:-1]) / costs[0], costs[-1] / costs[-2]
    peak = max(max(runs.peaks_mb) for _, runs in every if runs.table is small)
    results.verdicts += [
        verdict(f"d growth per refinement, {STEPS[0]} to {STEPS[-1]}", more_steps, GROWTH, "x"),
        verdict("d growth per record and refinement, 1M to 2M", more_rows, GROWTH, "x"),
        verdict("d peak memory", peak, MEMORY_BAR, " MB"),
    ]


def beside_greedy(bench: Bench, results: Results) -> None:
    """What the default search costs beside the papers' single pass, all else being the same."""
    for kind, rows in (("adult8", MILLION), ("adult14", MILLION), ("adult8cat", MILLION)):
        greedy, default = _both_searches(bench, kind, rows)
        ratios = [mine / other for mine, other in zip(default.seconds, greedy.seconds, strict=True)]
        of_medians = median(default.seconds) / median(greedy.seconds)
        results.lines += [
            greedy.line(f"t {kind} greedy", bench.pairs),
            replace(
                default.line(f"t {kind} default", bench.pairs),
                floor_s=median(greedy.seconds),
                ratio_of_medians=of_medians,
                median_of_ratios=median(ratios),
            ),
        ]
        worse = max(of_medians, median(ratios))
        results.verdicts.append(verdict(f"t {kind}, default beside greedy", worse, 3, "x"))
    _, default = _both_searches(bench, "adult", ADULT_ROWS)
    results.lines.append(default.line("t adult default", bench.pairs))
    results.verdicts.append(verdict("t adult, default", median(default.seconds), 10, " s"))


def _both_searches(bench: Bench, kind: str, rows: int) -> tuple[Release, Release]:
    """A table released greedily and as the default does, in turns."""
    table = bench.table(kind, rows)
    policy = table.policy.with_suffix(".default.toml")
    text = table.policy.read_text(encoding="utf-8")
    policy.write_text(text.partition("[goal]")[0], encoding="utf-8")
    both = Release(table), Release(replace(table, policy=policy))
    for runs in both:
        bench.warm(runs.table)
    for number in range(bench.pairs):
        for runs in both if number % 2 else both[::-1]:
            bench.release(runs)
    return both


def adult_itself(bench: Bench, results: Results) -> None:
    """The 45,222 complete records of Adult: under a second after start-up."""
    table = bench.table("adult", ADULT_ROWS)
    bench.warm(table)
    runs = Release(table)
    for _ in range(bench.pairs):
        bench.release(runs)
    whole, staged = median(runs.seconds), runs.staged()
    results.lines.append(runs.line("adult", bench.pairs))
    outside = f" ({whole - staged:.3f} s outside the stages)"  # start-up, if stages leave no gap
    results.verdicts.append(verdict("adult after start-up", staged, 1.0, " s") + outside)


def help_page(bench: Bench, results: Results) -> None:
    run(bench.command, "--help")
    ended = [run(bench.command, "--help") for _ in range(bench.pairs)]
    seconds, peak = median(each.seconds for each in ended), max(each.peak_mb for each in ended)
    results.lines.append(Line("help", pairs=bench.pairs, command_s=seconds, peak_mb=peak))
    results.verdicts.append(verdict("--help", seconds, 0.4, " s"))


CASES: dict[str, Callable[[Bench, Results], None]] = {
    "help": help_page,
    "adult": adult_itself,
    "a1": against_floor("a1", "adult8", MILLION, 5),
    "a4": against_floor("a4", "adult8", 4 * MILLION, 3),
    "b": against_floor("b", "adult14", MILLION, 5),
    "c": against_floor("c", "adult8cat", MILLION, 5),
    "d": by_steps,
    "t": beside_greedy,
}


def measure_all(bench: Bench, chosen: Sequence[str]) -> Results:
    results = Results()
    for case in chosen:
        print(f"{case} …", file=sys.stderr, flush=True)
        try:
            CASES[case](bench, results)
        except Skipped as reason:
            print(f"{case} skipped: {reason}")
        except Failed as reason:
            results.failures.append(f"{case} failed: {reason}")
            print(results.failures[-1], file=sys.stderr)
    growth = results.growth_per_row("a1", "a4")
    if growth is not None:
        results.verdicts.append(verdict("growth of time per row, 1M to 4M", growth, GROWTH, "x"))
    return results


# --- Command ----------------------------------------------------------------------------------


def cases(text: str) -> list[str]:
    wanted = [case.strip() for case in text.split(",")]
    unknown = [case for case in wanted if case not in CASES]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown: {unknown}; there are {', '.join(CASES)}")
    return [case for case in CASES if case in wanted]


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number


def main() -> int:
    script = Path(sys.executable).parent / "reticent"
    work = Path(tempfile.gettempdir()) / "reticent-benchmarks"
    parser = argparse.ArgumentParser(description="Time `reticent release` beside the floor.")
    parser.add_argument("--only", type=cases, default=list(CASES), metavar="CASE,…")
    parser.add_argument("--pairs", type=positive, default=7, help="runs of each side (default 7)")
    parser.add_argument("--work", type=Path, default=work, help="folder that keeps the tables")
    parser.add_argument("--csv", type=Path, help="append the results to this file")
    parser.add_argument("--command", type=Path, default=script, help="another console script")
    asked = parser.parse_args()

    asked.work.mkdir(parents=True, exist_ok=True)
    print(f"{os.cpu_count()} CPUs, Python {sys.version.split()[0]}, medians of {asked.pairs} runs")
    bench = Bench(asked.command, asked.work, asked.pairs)
    try:
        results = measure_all(bench, asked.only)
    finally:  # only the generated tables are worth keeping
        bench.masked.unlink(missing_ok=True)
        bench.copied.unlink(missing_ok=True)
    if results.lines:
        print()
        print_table(results.lines)
        print()
    print(*results.verdicts, sep="\n")
    if asked.csv:
        append_csv(asked.csv, results.lines)
    return 1 if results.failures else 0


if __name__ == "__main__":
    sys.exit(main())
