"""Mine minimal moles beside frequent-itemset miners on the same transactions, in one run.

    python benchmarks/moles.py [--pairs 5] [--only CASE,…] [--peer NAME] [--csv FILE]

All items are public and h = 100 %. A frequent-itemset miner with support k finds what is *no* mole;
the moles are what lies just beyond, so it is the nearest job that others do. Every side runs in a
process of its own; reading is not timed on either side, and one run goes before, as ours compiles
on a machine's first run. pyfim only counts its sets (its spectrum by size and support); mlxtend has
no way to count, and lists them.

    case      transactions  k    p           peers                          bar
    connect   67,557        50   5           pyfim fpgrowth                 no slower
    retail    88,162        20   unlimited   pyfim eclat, mlxtend fpgrowth  3x, 1/15

The peers live in `.venv-peers` (`make peers` makes it); those that are not there are skipped.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("RETICENT_DATA") or HERE.parent.parent / "shared" / "data")
LONGEST = 600  # seconds
PEERS = HERE.parent / ".venv-peers" / "bin" / "python"

READ = """
import gzip, json, sys, time
with gzip.open(sys.argv[1], "rt") as file:
    rows = [sorted(set(map(int, line.split()))) for line in file]
k, p = int(sys.argv[2]), int(sys.argv[3])
"""
OURS = """
import numpy
from fractions import Fraction
from reticent.suppress.baskets.moles import Known, minimal_moles
none = numpy.zeros(len(rows) + 1, numpy.int64), numpy.zeros(0, numpy.int32), 0
items = numpy.array([item for row in rows for item in row], numpy.int32)
known = Known(numpy.cumsum([0, *map(len, rows)]), items, int(items.max()) + 1, *none)
few = Known(known.starts[:51], items[: known.starts[50]], known.count, none[0][:51], *none[1:])
minimal_moles(few, 3, Fraction(1), 4)  # the loops, loaded
start = time.perf_counter()
found = len(minimal_moles(known, k, Fraction(1), p or None))
print(json.dumps([time.perf_counter() - start, found]))
"""
PYFIM = """
import fim
start = time.perf_counter()
found = fim.{algorithm}(rows, target="s", supp=-k, zmin=1, zmax=p or 1000, report="=")
print(json.dumps([time.perf_counter() - start, int(sum(count for _, _, count in found))]))
"""
MLXTEND = """
import pandas
from mlxtend.frequent_patterns import fpgrowth
from mlxtend.preprocessing import TransactionEncoder
from collections import Counter
often = {item for item, count in Counter(i for row in rows for i in row).items() if count >= k}
rows = [[item for item in row if item in often] for row in rows]
encoder = TransactionEncoder().fit(rows)
table = pandas.DataFrame(encoder.transform(rows), columns=encoder.columns_)
start = time.perf_counter()
found = len(fpgrowth(table, min_support=k / len(rows), max_len=p or None))
print(json.dumps([time.perf_counter() - start, found]))
"""


@dataclass(frozen=True, slots=True)
class Peer:
    """Another miner, and how long ours may take beside it."""

    name: str
    script: str
    bar: float


@dataclass(frozen=True, slots=True)
class Case:
    """A job."""

    data: str
    k: int
    p: int  # 0: unlimited
    peers: tuple[Peer, ...]


CASES = {
    "connect": Case("connect", 50, 5, (
        Peer("pyfim fpgrowth", PYFIM.format(algorithm="fpgrowth"), 1.0),
    )),
    "retail": Case("retail", 20, 0, (
        Peer("pyfim eclat", PYFIM.format(algorithm="eclat"), 3.0),
        Peer("mlxtend fpgrowth", MLXTEND, 1 / 15),
    )),
}  # fmt: skip


class Skipped(Exception):
    """A side that is not there."""


def run(python: Path, script: str, case: Case) -> tuple[float, int | None]:
    """Seconds, and how many sets were found; None if it was not done in the longest time."""
    path = DATA / case.data / f"{case.data}.dat.gz"
    if not path.exists():
        raise Skipped(f"no {path.name} in the folder of public data sets")
    if not python.exists():
        raise Skipped("no .venv-peers; `make peers` makes it")
    given = [str(python), "-c", READ + script, str(path), str(case.k), str(case.p)]
    try:
        ended = subprocess.run(given, capture_output=True, text=True, check=False, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return LONGEST, None
    if ended.returncode:
        raise Skipped(ended.stderr.strip().splitlines()[-1])
    seconds, found = json.loads(ended.stdout.splitlines()[-1])
    return seconds, found


def measure(name: str, pairs: int, wanted: str) -> list[list[str]]:
    case = CASES[name]
    ours = Path(sys.executable)
    run(ours, OURS, case)  # compiles, if nobody did
    lines = []
    for peer in (peer for peer in case.peers if wanted in peer.name):
        turns = pairs if "mlxtend" not in peer.name else 1  # a minute and more each
        mine, theirs = [], []
        try:
            for _ in range(turns):
                mine.append(run(ours, OURS, case))
                theirs.append(run(PEERS, peer.script, case))
        except Skipped as reason:
            print(f"{name}, {peer.name} skipped: {reason}")
            continue
        one, other = median(s for s, _ in mine), median(s for s, _ in theirs)
        found = theirs[0][1]
        verdict = "met" if one <= peer.bar * other else "MISSED" if found else "not known"
        more, less = ("", "") if found else (">", "<")  # than we waited
        lines.append([
            name, f"{case.k}", f"{case.p or 'unlimited'}", peer.name, f"{one:.3f}",
            f"{more}{other:.3f}", f"{less}{one / other:.3f}", f"{peer.bar:.3f}", verdict,
            f"{mine[0][1]}", f"{found or ''}",
        ])  # fmt: skip
    return lines


HEADS = (
    "case", "k", "p", "peer", "ours_s", "peer_s", "ratio", "bar", "verdict", "moles", "frequent",
)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description="Mine moles beside other miners.")
    parser.add_argument("--pairs", type=int, default=5, help="runs of each side (default 5)")
    parser.add_argument("--only", default=",".join(CASES), metavar="CASE,…")
    parser.add_argument("--peer", default="", help="only those with this in their name")
    parser.add_argument("--csv", type=Path, help="write the results to this file")
    asked = parser.parse_args()
    print(f"{os.cpu_count()} CPUs, Python {sys.version.split()[0]}, medians of {asked.pairs} runs")
    lines = []
    for name in asked.only.split(","):
        try:
            lines += measure(name, asked.pairs, asked.peer)
        except Skipped as reason:
            print(f"{name} skipped: {reason}")
    widths = [max(len(row[i]) for row in [HEADS, *lines]) for i in range(len(HEADS))]
    for row in [HEADS, *lines]:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)))
    if asked.csv and lines:
        with asked.csv.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([HEADS, *lines])
    return 0


if __name__ == "__main__":
    sys.exit(main())
