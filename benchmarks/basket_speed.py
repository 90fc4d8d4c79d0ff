"""Release and verify baskets: how long it takes, beside reading and writing the same file.

    python benchmarks/basket_speed.py [--only NAME,…] [--runs 3] [--big 10000000] [--csv FILE]

Every job is the command as somebody gives it, in a process of its own, after one run that has
compiled what is compiled on a machine's first run. All items are public, and each basket has one
private item besides: a copy of its most frequent item of support below one half (`basket_shapes`).
The floor is the same file read and written by the product's own reader and writer, arranged as a
release is; times are medians, memory is the most that one process held.

    job           data            promise                               bar
    release       Connect         k = 100, any items known, h = 50 %    10 s, loss 40.7 to 41.5 %
                  Connect         k = 50, any, h = 80 %                 10 s
                  Connect         k = 50, any, h = 100 %                10 s, loss 25.9 %
                  Retail          k = 20, any, h = 100 %                 5 s
    itemsets      Connect         k = 50, any, nuggets at 40 %           5 s
                  Retail          k = 20, any, nuggets at 1 %           20 s
    nuggets       Connect         339,915,255 at 40 %                    2 s, without reading
    verify        six data sets   what `release` made of them            3 s
    big           10 million      Retail's shape, k = 20, 3 known       600 s, 8 GB
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
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from basket_shapes import NAMES, generated, private_copies, rows_of

HERE = Path(__file__).resolve().parent
UNLIMITED = "unlimited"

FLOOR = """
import sys
from pathlib import Path
from reticent.files import baskets as basket_files
read = basket_files.read(sys.argv[1], "basket")
basket_files.write(read.arranged(), Path(sys.argv[2]), "basket", ".dat")
"""
NUGGETS = """
import json, sys, time
from reticent.suppress.baskets.nuggets import find_nuggets
from reticent.files import baskets as basket_files
baskets = basket_files.read(sys.argv[1], "basket")
find_nuggets(baskets.starts[:50], baskets.items[: baskets.starts[49]], len(baskets.names), 9)
start = time.perf_counter()
least = -(-4 * baskets.transactions // 10)
found = find_nuggets(baskets.starts, baskets.items, len(baskets.names), least).total
print(json.dumps({"seconds": time.perf_counter() - start, "nuggets": found}))
"""


@dataclass(frozen=True, slots=True)
class Job:
    """A release, and how long it may take."""

    name: str
    data: str
    bar: float  # seconds
    policy: dict[str, object] = field(default_factory=dict)


def promise(k: int, h: float, p: int | str = UNLIMITED, **more: object) -> dict[str, object]:
    private = ["private:*"] if h < 1 else []
    return {"private": private, "h": h, "k": k, "p": p, **more}


JOBS = (
    Job("release connect 100 50 %", "connect", 10, promise(100, 0.5)),
    Job("release connect 50 80 %", "connect", 10, promise(50, 0.8)),
    Job("release connect 50 100 %", "connect", 10, promise(50, 1)),
    Job("release connect 400 100 %", "connect", 10, promise(400, 1)),
    Job("release retail 20 100 %", "retail", 5, promise(20, 1)),
    Job("itemsets connect 50 40 %", "connect", 5, promise(50, 1, utility="itemsets", nuggets=0.4)),
    Job("itemsets retail 20 1 %", "retail", 20, promise(20, 1, utility="itemsets", nuggets=0.01)),
)


def toml(policy: dict[str, object]) -> str:
    plain = {k: v for k, v in policy.items() if k != "nuggets"}
    lines = [f"{key} = {json.dumps(value)}" for key, value in plain.items()]
    if "nuggets" in policy:
        lines.append(f"nuggets = {{ support = {policy['nuggets']} }}")
    return "\n".join(lines) + "\n"


@dataclass(slots=True)
class Took:
    """What runs of one job needed."""

    seconds: list[float] = field(default_factory=list)
    megabytes: float = 0
    processor: float = 0  # seconds of the last run, of all cores
    said: dict[str, object] = field(default_factory=dict)

    @property
    def median(self) -> float:
        return median(self.seconds)


def run(command: list[str], runs: int) -> Took:
    """Run a command some times, and once before."""
    took = Took()
    for i in range(runs + 1 if runs > 1 else 1):
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        said = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        spent = time.perf_counter() - start
        if status:
            sys.exit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
        if i or runs == 1:
            took.seconds.append(spent)
        took.said = json.loads(said) if said.strip() else {}
        took.processor = used.ru_utime + used.ru_stime
        took.megabytes = max(took.megabytes, used.ru_maxrss / 1024)
    return took


def written(name: str, place: Path, private: bool) -> Path:
    """A data set as a basket file; with private copies, or without."""
    path = place / f"{name}{'-private' if private else ''}.dat"
    if not path.exists():
        rows = rows_of(name)
        copies = private_copies(rows) if private else None
        lines = (" ".join([*row, copies[i]] if copies else row) for i, row in enumerate(rows))
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def jobs(place: Path, runs: int, only: list[str]) -> list[dict[str, object]]:
    found = []
    reticent = str(Path(sys.executable).parent / "reticent")
    for job in JOBS:
        if only and not any(job.name.startswith(part) for part in only):
            continue
        data = written(job.data, place, bool(job.policy["private"]))
        policy, out = place / "policy.toml", place / "out.dat"
        policy.write_text(toml(job.policy))
        ours = run(
            [reticent, "transactions", "release", str(data), "-p", str(policy), "-o", str(out),
             "--force", "--json"], runs,
        )  # fmt: skip
        floor = run([sys.executable, "-c", FLOOR, str(data), str(place / "floor.dat")], runs)
        found.append(row(job.name, ours, job.bar, floor.median, loss_of(ours.said, job)))
    return found


def loss_of(said: dict[str, object], job: Job) -> float | None:
    """In percent of what the policy wants to keep; private copies are not counted."""
    counted = said.get("nuggets") or said.get("occurrences")
    if not isinstance(counted, dict):
        return None
    copies = int(str(said["transactions"])) if job.policy["private"] else 0
    before, after = int(counted["before"]) - copies, int(counted["after"]) - copies
    return round(100 * (before - after) / before, 3)


def verifying(place: Path, runs: int) -> list[dict[str, object]]:
    """What releases of all data sets take to be verified."""
    found = []
    reticent = str(Path(sys.executable).parent / "reticent")
    for name in NAMES:
        for h, p in ((1, UNLIMITED), (0.5, UNLIMITED), (0.8, 3), (1, 5)):
            data = written(name, place, h < 1)
            policy, out = place / "policy.toml", place / "out.dat"
            policy.write_text(toml(promise(20, h, p)))
            given = ["-p", str(policy), "--json"]
            command = [reticent, "transactions", "release", str(data), "-o", str(out), "--force"]
            done = subprocess.run([*command, *given], capture_output=True, text=True)
            if done.returncode == 3:
                continue  # some private item is too common for any release
            if done.returncode:
                sys.exit(done.stderr)
            ours = run([reticent, "transactions", "verify", str(out), *given], runs)
            floor = run([sys.executable, "-c", FLOOR, str(out), str(place / "floor.dat")], runs)
            found.append(row(f"verify {name} {h:.0%} {p}", ours, 3, floor.median, None))
    return found


def row(
    job: str, ours: Took, bar: float, floor: float | None, loss: float | None
) -> dict[str, object]:
    found: dict[str, object] = {
        "job": job,
        "seconds": round(ours.median, 2),
        "bar": bar,
        "floor": None if floor is None else round(floor, 2),
        "ratio": None if floor is None else round(ours.median / floor, 1),
        "megabytes": round(ours.megabytes),
        "loss": loss,
    }
    print("  ".join(f"{key} {value}" for key, value in found.items()), flush=True)
    return found


def nuggets(place: Path, runs: int) -> list[dict[str, object]]:
    data = written("connect", place, False)
    took = run([sys.executable, "-c", NUGGETS, str(data)], runs)
    assert took.said["nuggets"] == 339_915_255
    took.seconds = [float(str(took.said["seconds"]))]
    return [row("nuggets connect 40 %", took, 2, None, None)]


def big(place: Path, count: int) -> list[dict[str, object]]:
    """A file that is made for it."""
    data, out, policy = place / "big.dat", place / "out.dat", place / "policy.toml"
    with data.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in generated(rows_of("retail"), count))
    policy.write_text(toml(promise(20, 1, 3)))
    reticent = str(Path(sys.executable).parent / "reticent")
    command = [reticent, "transactions", "release", str(data), "-p", str(policy), "-o", str(out)]
    ours = run([*command, "--force", "--json"], 1)
    floor = run([sys.executable, "-c", FLOOR, str(data), str(place / "floor.dat")], 1)
    said = ours.said["occurrences"]
    assert isinstance(said, dict)
    loss = round(100 * (said["before"] - said["after"]) / said["before"], 3)
    return [row(f"big {count:,}", ours, 600, floor.median, loss)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="jobs whose names begin like this")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--big", type=int, default=0, help="so many generated transactions, too")
    parser.add_argument("--csv", type=Path)
    asked = parser.parse_args()
    only = [part for part in asked.only.split(",") if part]
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        place = Path(folder)
        found = jobs(place, asked.runs, only)
        if not only or "nuggets" in only:
            found += nuggets(place, asked.runs)
        if not only or "verify" in only:
            found += verifying(place, asked.runs)
        if asked.big:
            found += big(place, asked.big)
    if asked.csv and found:
        with asked.csv.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, found[0])
            writer.writeheader()
            writer.writerows(found)


if __name__ == "__main__":
    main()
