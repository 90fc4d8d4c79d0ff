"""The same job with Reticent and with what one would pick instead, side by side.

    python benchmarks/peers/compare.py [--k 10,20,50,100] [--scale 1,4] [--runs 1] [--only TOOL,…]

Every tool masks Adult in fresh processes of its own: start, read a CSV file, anonymize, write a CSV
file. Every release is then recounted by `score.py`, by `reticent verify` and by pycanon, which must
agree, and scored by classifiers. A peer that is not installed is skipped with a message. What is
compared, and what that leaves out: `README.md`.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from statistics import median
from typing import Any

# This process imports neither NumPy nor pandas: a child's peak memory starts at its parent's,
# because Linux carries it across fork and exec.

HERE = Path(__file__).resolve().parent
REPO = HERE.parent.parent
EXPAND, JOBS, SCORE = HERE.parent / "expand.py", HERE / "jobs.py", HERE / "score.py"
ARX_JOB = HERE / "ArxJob.java"

QUASI = ["sex", "age", "race", "marital-status", "education"]
QUASI += ["native-country", "workclass", "occupation"]
NUMERIC = "age"
CLASS, PART = "class", "part"
ADULT_ROWS, TRAINING_ROWS = 45_222, 30_162
WARM_ROWS = 2_000
NOTHING_BACK = 3  # the exit code of a tool that ended well and returned no table
UNMODIFIED = "unmodified"
PATIENCE = 3600.0  # seconds for a process that is known to end


Words = list[str | Path]  # of a command


class Skipped(Exception):
    """The public data sets are not on this machine."""


class Failed(Exception):
    """A step of our own ended badly; the text says how."""


# --- Processes --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ended:
    """A process that ended, well or badly."""

    code: int
    seconds: float  # from before its start until after its end
    cpu: float  # seconds on all cores together, which other work on the machine changes little
    peak_mb: float
    said: str
    complained: str
    stopped: bool = False  # by us, at the time limit

    @property
    def reason(self) -> str:
        """The last line it said: where the reason stands."""
        lines = (self.complained.strip() or self.said.strip() or "it said nothing").splitlines()
        return lines[-1].strip()


def run(words: Sequence[str | Path], limit: float) -> Ended:
    """Run a process to its end, or stop it and all it started after `limit` seconds."""
    # Files instead of pipes: nobody reads while wait4 waits, and a full pipe would block.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        process = subprocess.Popen(
            [str(word) for word in words],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        timer = threading.Timer(limit, os.killpg, (process.pid, signal.SIGKILL))
        timer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        finally:
            timer.cancel()
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)  # Popen must not wait for it again
        said, complained = contents(out), contents(err)
    unit = 1e6 if sys.platform == "darwin" else 1e6 / 1024  # macOS counts bytes, Linux KiB
    return Ended(
        process.returncode,
        seconds,
        usage.ru_utime + usage.ru_stime,
        usage.ru_maxrss / unit,
        said,
        complained,
        stopped=process.returncode == -signal.SIGKILL and seconds >= limit,
    )


def contents(file: Any) -> str:
    file.seek(0)
    return str(file.read().decode("utf-8", errors="replace"))


def answer(*words: str | Path) -> str:
    """What a process of our own says; it must end well."""
    ended = run(words, limit=PATIENCE)
    if ended.code:
        raise Failed(f"{Path(words[1]).name}: {ended.reason}")
    return ended.said.strip()


# --- Tables -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Table:
    """A table to mask, as a file; columns that are no quasi-identifiers are kept as they are."""

    path: Path
    rows: int
    kept: tuple[str, ...]

    @property
    def has_parts(self) -> bool:
        return PART in self.kept

    def piece(self, name: str, wanted: Callable[[int], bool]) -> Table:
        """Some of its rows, chosen by number, as a table of their own."""
        path = self.path.with_name(f"{self.path.stem}-{name}.csv")
        with self.path.open(encoding="utf-8") as source, path.open("w", encoding="utf-8") as target:
            target.write(next(source))
            lines = [line for number, line in enumerate(source) if wanted(number)]
            target.writelines(lines)
        return Table(path, len(lines), self.kept)


def expanded(work: Path, copies: int) -> Table:
    """Adult's complete records and `copies` - 1 variations of each."""
    rows = ADULT_ROWS * copies
    path = work / f"adult-{rows}.csv"
    said = answer(sys.executable, EXPAND, "adult", "-o", path, "--rows", str(rows))
    if said.startswith("skipped: "):
        raise Skipped(said.removeprefix("skipped: "))
    return Table(path, rows, (CLASS,))


def in_parts(table: Table) -> Table:
    """Adult itself with a column that tells training from test rows; the training rows lead."""
    path = table.path.with_name("adult-parts.csv")
    with table.path.open(encoding="utf-8") as source, path.open("w", encoding="utf-8") as target:
        target.write(next(source).rstrip("\n") + f",{PART}\n")
        for number, line in enumerate(source):
            part = "train" if number < TRAINING_ROWS else "test"
            target.write(line.rstrip("\n") + f",{part}\n")
    return Table(path, table.rows, (*table.kept, PART))


def hierarchies() -> Path:
    """ARX's value hierarchies for Adult: one row a leaf, which Reticent reads as they are."""
    data = Path(os.environ.get("RETICENT_DATA") or REPO.parent / "shared" / "data").absolute()
    folder = data / "arx_adult"
    if not folder.is_dir():
        raise Skipped(
            f"{folder} is not there; set RETICENT_DATA to the folder that holds arx_adult"
        )
    return folder


# --- Tools ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Job:
    """One table to be masked once."""

    table: Table
    k: int
    folder: Path  # for what is made on the way

    @property
    def out(self) -> Path:
        return self.folder / "released.csv"


@dataclass(frozen=True, slots=True)
class Plan:
    """The commands of a job, and what they leave behind."""

    commands: list[Words]
    released: Path  # what the promise covers
    later: tuple[Path, ...] = ()  # rows masked with the same cuts
    promised_rows: int | None = None  # None: all


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    version: str
    plan: Callable[[Job], Plan]
    scales: bool = True  # takes part in the runs over growing tables


@dataclass(frozen=True, slots=True)
class Setting:
    """The programs and folders of this run."""

    reticent: Path
    peers_python: Path
    hierarchies: Path
    work: Path
    limit: float
    runs: int
    pycanon: str | None = None  # its version


def quoted(text: str | Path) -> str:
    return json.dumps(str(text), ensure_ascii=False)


def listed(names: Iterable[str]) -> str:
    return "[" + ", ".join(map(quoted, names)) + "]"


def promise(k: int) -> str:
    return f"[[anonymity]]\nover = {listed(QUASI)}\nk = {k}\n"


def policy(setting: Setting, job: Job, with_class: bool, left_out: str = "0") -> Path:
    """A policy for Reticent, which may leave out a share of the records.

    With the class, cuts aim at predicting it and ages are cut where that helps: what our users do.
    Without, it gets exactly what anjana and ARX get, a hierarchy for every column and no class.
    """
    kept = [name for name in job.table.kept if not (with_class and name == CLASS)]
    lines = [f"keep = {listed(kept)}", f"suppress_records = {left_out}"]
    lines += [f"class = {quoted(CLASS)}"] * with_class
    for name in QUASI:
        lines.append(f"\n[attributes.{quoted(name)}]")
        if with_class and name == NUMERIC:
            lines.append('mask = "discretize"\nrange = [0, 100]')
        else:
            taxonomy = setting.hierarchies / f"adult_hierarchy_{name}.csv"
            lines.append(f'mask = "generalize"\ntaxonomy = {quoted(taxonomy)}')
    path = job.folder / "policy.toml"
    path.write_text("\n".join(lines) + "\n\n" + promise(job.k), encoding="utf-8")
    return path


def reticent(setting: Setting, with_class: bool, left_out: str = "0") -> Callable[[Job], Plan]:
    def plan(job: Job) -> Plan:
        options: Words = [
            "-p",
            policy(setting, job, with_class, left_out),
            "-o",
            job.out,
            "--quiet",
            "--force",
        ]
        return Plan([[setting.reticent, "release", job.table.path, *options]], job.out)

    return plan


def reticent_train_only(setting: Setting) -> Callable[[Job], Plan]:
    """Cuts learnt from the training rows alone, then applied to the test rows."""

    def plan(job: Job) -> Plan:
        half = job.table.rows * TRAINING_ROWS // ADULT_ROWS
        train = job.table.piece("train", lambda number: number < half)
        test = job.table.piece("test", lambda number: number >= half)
        folder, later = job.folder / "release", job.folder / "later.csv"
        release: Words = [setting.reticent, "release", train.path, "-p", policy(setting, job, True)]
        apply: Words = [
            setting.reticent,
            "apply",
            folder,
            test.path,
            "-o",
            later,
            "--quiet",
            "--force",
        ]
        commands = [[*release, "-o", folder, "--quiet", "--force"], apply]
        return Plan(commands, folder / "public" / "data.csv", (later,), train.rows)

    return plan


def peer(setting: Setting, name: str, *options: str | Path) -> Callable[[Job], Plan]:
    def plan(job: Job) -> Plan:
        words: Words = [setting.peers_python, JOBS, name, job.table.path, job.out]
        words += ["--quasi", ",".join(QUASI), "--k", str(job.k), *options]
        return Plan([words], job.out)

    return plan


def arx(setting: Setting, limit: float, aim: str) -> Callable[[Job], Plan]:
    def plan(job: Job) -> Plan:
        words: Words = ["java", "-cp", os.environ["ARX_CLASSPATH"], ARX_JOB]
        words += [job.table.path, job.out, setting.hierarchies, str(job.k), str(limit), aim]
        return Plan([[*words, ",".join(QUASI), ",".join(job.table.kept)]], job.out)

    return plan


def peer_version(setting: Setting, name: str) -> str | None:
    if not setting.peers_python.exists():
        print(f"{name} skipped: {setting.peers_python} is not there; `make peers` sets it up")
        return None
    ended = run([setting.peers_python, JOBS, "version", name], setting.limit)
    if ended.code:
        print(f"{name} skipped: not installed in {setting.peers_python.parent.parent}")
        return None
    return ended.said.strip()


def arx_version() -> str | None:
    """The version in the name of the jar; None where there is no ARX."""
    if not os.environ.get("ARX_CLASSPATH"):
        print("ARX skipped: set ARX_CLASSPATH to its jar (with dependencies) to compare it too")
        return None
    if not shutil.which("java"):
        print("ARX skipped: no java on the path")
        return None
    found = re.search(r"arx-(\d[\d.]*\d)", os.environ["ARX_CLASSPATH"])
    return found.group(1) if found else "?"


def tools(setting: Setting) -> list[Tool]:
    """Every tool that is here, each with the settings a user would try."""
    own = answer(setting.reticent, "--version").split()[-1]
    found = [
        Tool("reticent", own, reticent(setting, True)),
        Tool("reticent, 5 %", own, reticent(setting, True, "0.05"), scales=False),
        Tool("reticent, train only", own, reticent_train_only(setting), scales=False),
        Tool("reticent, no class", own, reticent(setting, False), scales=False),
    ]
    if version := peer_version(setting, "anonypy"):
        found.append(Tool("anonypy", version, peer(setting, "anonypy")))
    if version := peer_version(setting, "anjana"):
        for percent in ("0", "5"):
            options: Words = ["--hierarchies", setting.hierarchies, "--suppress", percent]
            job = peer(setting, "anjana", *options)
            found.append(Tool(f"anjana, {percent} %", version, job, scales=percent == "5"))
    if version := arx_version():
        found.append(Tool("ARX, 5 %", version, arx(setting, 0.05, "loss")))
        job = arx(setting, 0.05, "class")
        found.append(Tool("ARX, 5 %, class", version, job, scales=False))
    return found


# --- Results ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table; what is not measured is None."""

    table: str  # errors, scale or check
    tool: str
    version: str = ""
    k: int | None = None
    rows: int | None = None
    runs: int | None = None
    seconds: float | None = None
    cpu_seconds: float | None = None
    peak_mb: float | None = None
    tree_error: float | None = None
    sklearn_labels_error: float | None = None
    sklearn_values_error: float | None = None
    groups: int | None = None
    smallest: int | None = None
    suppressed: float | None = None  # share of the records
    verdict: str = ""

    def cells(self) -> list[str]:
        errors = (self.tree_error, self.sklearn_labels_error, self.sklearn_values_error)
        return [
            self.tool,
            self.version,
            shown(self.k, "d"),
            shown(self.rows, ",d"),
            shown(self.seconds, ".2f"),
            shown(self.cpu_seconds, ".2f"),
            shown(self.peak_mb, ".0f"),
            *(shown(error, ".2%") for error in errors),
            shown(self.groups, ",d"),
            shown(self.smallest, ",d"),
            shown(self.suppressed, ".1%"),
            self.verdict,
        ]


HEADS = ["tool", "version", "k", "rows", "s", "cpu s", "peak MB", "tree", "labels", "values"]
HEADS += ["groups", "smallest", "left out", "verdict"]
LEFT = {"tool", "version", "verdict"}


def shown(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def print_table(title: str, lines: Sequence[Line]) -> None:
    rows = [HEADS, *(line.cells() for line in lines)]
    filled = [i for i in range(len(HEADS)) if any(row[i] not in "-" for row in rows[1:])]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADS))]
    print(f"\n{title}")
    for row in rows:
        cells = [
            row[i].ljust(widths[i]) if HEADS[i] in LEFT else row[i].rjust(widths[i]) for i in filled
        ]
        print("  ".join(cells).rstrip())


def write_csv(path: Path, lines: Sequence[Line]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(each.name for each in fields(Line))
        for line in lines:
            cells = asdict(line).values()
            writer.writerow(f"{cell:.4f}" if isinstance(cell, float) else cell for cell in cells)


# --- Measuring --------------------------------------------------------------------------------


def fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def failure(ended: Ended, limit: float) -> str | None:
    """Why there is no release, in a few words; None if there is one."""
    if ended.stopped:
        return f"stopped after {limit:.0f} s"
    if ended.code == NOTHING_BACK:
        return "gave nothing back"
    return f"FAILED: {ended.reason[:80]}" if ended.code else None


@dataclass(slots=True)
class Runs:
    """Repeated runs of one job."""

    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    peaks_mb: list[float] = field(default_factory=list)
    failed: str | None = None

    def add(self, plan: Plan, limit: float) -> None:
        ended = []
        for words in plan.commands:
            ended.append(run(words, limit))
            if failed := failure(ended[-1], limit):
                self.failed = failed
                break
        self.seconds.append(sum(each.seconds for each in ended))
        self.cpu.append(sum(each.cpu for each in ended))
        self.peaks_mb.append(max(each.peak_mb for each in ended))


VERIFY, PYCANON = "reticent verify", "pycanon"


def checkers(setting: Setting, released: Path, job: Job) -> dict[str, Words]:
    """Two strangers who count groups: `reticent verify`, and pycanon if it is here.

    The policy for `verify` names no masks, so that any tool's labels are just labels.
    """
    check = job.folder / "check.toml"
    check.write_text(f"keep = {listed(job.table.kept)}\n\n{promise(job.k)}", encoding="utf-8")
    found: dict[str, Words] = {
        VERIFY: [setting.reticent, "verify", released, "-p", check, "--json"]
    }
    if setting.pycanon:
        over = ["--quasi", ",".join(QUASI)]
        found[PYCANON] = [setting.peers_python, JOBS, "pycanon", released, *over]
    return found


def smallest_said(ended: Ended) -> int:
    """The smallest group that a checker found; `verify` ends with 1 where a promise is broken."""
    try:
        said = json.loads(ended.said)
        return int(said if isinstance(said, int) else said["templates"][0]["after"])
    except (ValueError, LookupError) as error:
        raise Failed(f"a checker said: {ended.reason}") from error


def recounts(setting: Setting, plan: Plan, job: Job) -> dict[str, int]:
    words = checkers(setting, plan.released, job)
    return {name: smallest_said(run(command, PATIENCE)) for name, command in words.items()}


def verdict(found: dict[str, Any], others: dict[str, int], k: int) -> str:
    differing = [name for name, smallest in others.items() if smallest != found["smallest_written"]]
    if differing:
        return f"COUNTS DIFFER: {found['smallest_written']} here, not by {', '.join(differing)}"
    if 0 < found["smallest"] < k:
        return f"PROMISE BROKEN: a group of {found['smallest']}"
    return "holds" if found["smallest"] else "nothing shown"


def score(setting: Setting, job: Job, plan: Plan) -> dict[str, Any]:
    words: Words = [sys.executable, SCORE, job.table.path, plan.released, *plan.later]
    words += ["--quasi", ",".join(QUASI), "--hierarchies", setting.hierarchies]
    words += ["--rows", str(plan.promised_rows or job.table.rows)]
    words += ["--errors"] * job.table.has_parts
    return dict(json.loads(answer(*words)))


def measure(setting: Setting, tool: Tool, table: Table, k: int) -> Line:
    """Mask a table with a tool, recount what came out, and score it."""
    print(f"{tool.name}, k = {k}, {table.rows:,} rows …", file=sys.stderr, flush=True)
    runs = Runs()
    while len(runs.seconds) < setting.runs and not runs.failed:
        job = Job(table, k, fresh(setting.work / "job"))
        plan = tool.plan(job)
        # A tool that finished once is not stopped in a repeat because the machine was busy.
        runs.add(plan, PATIENCE if runs.seconds else setting.limit)
    line = Line(
        "errors" if table.has_parts else "scale",
        tool.name,
        tool.version,
        k,
        table.rows,
        len(runs.seconds),
        median(runs.seconds),
        median(runs.cpu),
        max(runs.peaks_mb),
    )
    if runs.failed:
        return replace(line, verdict=runs.failed)
    try:
        found, others = score(setting, job, plan), recounts(setting, plan, job)
    except Failed as reason:
        return replace(line, verdict=f"FAILED: {reason}")
    return replace(
        line,
        tree_error=found.get("tree"),
        sklearn_labels_error=found.get("labels"),
        sklearn_values_error=found.get("values"),
        groups=found["groups"],
        smallest=found["smallest"],
        suppressed=found["suppressed"],
        verdict=verdict(found, others, k),
    )


def baselines(setting: Setting, table: Table) -> list[Line]:
    """The errors without masking, and of always guessing the commoner class."""
    job = Job(table, 1, fresh(setting.work / "job"))
    found = score(setting, job, Plan([], table.path))
    line = Line(
        "errors",
        UNMODIFIED,
        rows=table.rows,
        tree_error=found["tree"],
        sklearn_labels_error=found["labels"],
        sklearn_values_error=found["values"],
        groups=found["groups"],
        smallest=found["smallest"],
    )
    majority = found["majority"]
    guess = Line(
        "errors",
        "majority class",
        rows=table.rows,
        tree_error=majority,
        sklearn_labels_error=majority,
        sklearn_values_error=majority,
    )
    return [line, guess]


def warm(setting: Setting, tool: Tool, table: Table) -> None:
    """The first run of any tool compiles or fills caches: once, uncounted, on a short table."""
    short = table.piece("short", lambda number: number % (table.rows // WARM_ROWS) == 0)
    Runs().add(tool.plan(Job(short, 50, fresh(setting.work / "job"))), setting.limit)


def compare(setting: Setting, chosen: Sequence[Tool], ks: Sequence[int]) -> list[Line]:
    table = in_parts(expanded(setting.work, 1))
    for tool in chosen:
        warm(setting, tool, table)
    lines = baselines(setting, table)
    for k in ks:
        lines += [measure(setting, tool, table, k) for tool in chosen]
    return lines


def grow(setting: Setting, chosen: Sequence[Tool], copies: Sequence[int], k: int) -> list[Line]:
    """Larger and larger tables; a tool that was stopped at one is spared the next."""
    lines: list[Line] = []
    stopped = set[str]()
    for number in copies:
        table = expanded(setting.work, number)
        for tool in chosen:
            if tool.scales and tool.name not in stopped:
                lines.append(measure(setting, tool, table, k))
                if lines[-1].verdict.startswith("stopped"):
                    stopped.add(tool.name)
    return lines


def checking(setting: Setting, copies: Sequence[int]) -> list[Line]:
    """How long the two checkers take to say how anonymous the unmasked tables are."""
    lines: list[Line] = []
    own = answer(setting.reticent, "--version").split()[-1]
    versions = {VERIFY: own, PYCANON: setting.pycanon or ""}
    for number in copies:
        table = expanded(setting.work, number)
        job = Job(table, 2, fresh(setting.work / "job"))
        for name, words in checkers(setting, table.path, job).items():
            ended = [run(words, setting.limit) for _ in range(setting.runs)]
            line = Line(
                "check",
                name,
                versions[name],
                rows=table.rows,
                runs=setting.runs,
                seconds=median(each.seconds for each in ended),
                cpu_seconds=median(each.cpu for each in ended),
                peak_mb=max(each.peak_mb for each in ended),
                smallest=smallest_said(ended[-1]),
            )
            lines.append(line)
    return lines


# --- Command ----------------------------------------------------------------------------------


def numbers(text: str) -> list[int]:
    found = [int(part) for part in text.split(",") if part.strip()]
    if any(number < 1 for number in found):
        raise argparse.ArgumentTypeError("every number must be 1 or more")
    return sorted(found)


def arguments() -> argparse.Namespace:
    script = Path(sys.executable).parent / "reticent"
    work = Path(tempfile.gettempdir()) / "reticent-peers"
    python = REPO / ".venv-peers" / "bin" / "python"
    parser = argparse.ArgumentParser(description="Reticent beside its peers, on the same job.")
    parser.add_argument("--k", type=numbers, default=[10, 20, 50, 100], metavar="K,…")
    parser.add_argument("--scale", type=numbers, default=[1, 4], metavar="COPIES,…")
    parser.add_argument("--scale-k", type=int, default=50, metavar="K")
    parser.add_argument("--only", default="", metavar="TOOL,…", help="tools whose name begins so")
    parser.add_argument("--runs", type=int, default=1, help="runs of each job; medians count")
    parser.add_argument("--limit", type=float, default=300, help="seconds until a tool is stopped")
    parser.add_argument("--peers-python", type=Path, default=python)
    parser.add_argument("--command", type=Path, default=script, help="another `reticent`")
    parser.add_argument("--work", type=Path, default=work, help="folder for tables on the way")
    parser.add_argument("--csv", type=Path, help="write the results to this file")
    return parser.parse_args()


def is_our_fault(line: Line) -> bool:
    """Reticent failed, or the counts differ; that a peer fails is a finding like any other."""
    broken = line.verdict.startswith(("FAILED", "PROMISE", "stopped", "gave"))
    return line.verdict.startswith("COUNTS") or (line.tool.startswith("reticent") and broken)


def main() -> int:
    asked = arguments()
    asked.work.mkdir(parents=True, exist_ok=True)
    try:
        setting = Setting(
            asked.command, asked.peers_python, hierarchies(), asked.work, asked.limit, asked.runs
        )
        setting = replace(setting, pycanon=peer_version(setting, "pycanon"))
        begins = tuple(part.strip() for part in asked.only.split(","))
        chosen = [tool for tool in tools(setting) if tool.name.startswith(begins)]
        errors = compare(setting, chosen, asked.k) if asked.k else []
        scale = grow(setting, chosen, asked.scale, asked.scale_k)
        check = checking(setting, asked.scale)
    except Skipped as reason:
        print(f"skipped: {reason}")
        return 0
    titles = {
        "Adult, training and test rows masked together": errors,
        "Growing tables": scale,
        "Counting the groups of the unmasked tables": check,
    }
    for title, lines in titles.items():
        if lines:
            print_table(title, lines)
    if asked.csv:
        write_csv(asked.csv, [*errors, *scale, *check])
    return int(any(is_our_fault(line) for line in [*errors, *scale]))


if __name__ == "__main__":
    sys.exit(main())
