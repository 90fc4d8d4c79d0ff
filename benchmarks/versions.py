"""Two checkouts side by side: the processor time of the same commands, one after the other.

    python benchmarks/versions.py OLD_CHECKOUT [NEW_CHECKOUT] [--pairs 15] [--only CASE,…]

Each command is a fresh process of the same interpreter with one checkout's `src` in front; both
take turns, so that whatever else the machine does hits both alike. What counts is user and system
time of the process, start-up included; the median of the ratios pair by pair is held against 1.05.
A first run of each, which compiles, is not counted. The tables are invented: no data set is needed.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
RUN = "from reticent.front import main; main()"
BAR = 1.05
CENSUS = "demo/census.csv -p demo/policy.toml"
CASES = {
    "release": f"release {CENSUS} -o out.csv --force",
    "folder": f"release {CENSUS} -o out --force",
    "sequence": "release clinic/patients-2026.csv -p clinic/policy-2026.toml -o next.csv --force",
    "baskets": "transactions release market/baskets.csv -p market/policy.toml -o shown --force",
    "entries": "entries release demo/census.csv -p entries.toml -o hidden --force",
    "verify": f"verify kept -p {CENSUS.split()[-1]}",
    "help": "--help",
}
ENTRIES = """conditions = ["Sex", "Education", "Marital"]
sensitive = "Income"
keep = "*"
requests = [1, 20, 300, 4000]
min_support = 20
min_confidence = 0.6
"""


def spent(checkout: Path, words: str) -> float:
    """Processor seconds of one command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", RUN, *words.split()], check=True, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": str(checkout / "src")},
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def prepared(checkout: Path) -> None:
    """Tables and policies, in the current folder."""
    spent(checkout, "sample census --rows 45222 -o demo")
    spent(checkout, "sample baskets --rows 200000 -o market")
    clinic = ROOT / "examples" / "clinic_twice"
    for path in (*clinic.glob("*.csv"), *clinic.glob("*.toml")):
        Path("clinic").mkdir(exist_ok=True)
        Path("clinic", path.name).write_bytes(path.read_bytes())
    first = "release clinic/patients-2025.csv -p clinic/policy-2025.toml -o clinic/release-2025"
    spent(checkout, first)
    spent(checkout, f"release {CENSUS} -o kept")
    Path("entries.toml").write_text(ENTRIES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path, nargs="?", default=ROOT)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--only", default=",".join(CASES))
    given = parser.parse_args()
    old, new = given.old.resolve(), given.new.resolve()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        prepared(new)
        print(f"{'command':10} {'old s':>7} {'new s':>7} {'ratio':>7}   of {given.pairs} pairs")
        for name in given.only.split(","):
            for checkout in (old, new):
                spent(checkout, CASES[name])  # which compiles
            pairs = []
            for turn in range(given.pairs):
                order = (old, new) if turn % 2 else (new, old)
                times = {checkout: spent(checkout, CASES[name]) for checkout in order}
                pairs.append((times[old], times[new]))
            ratio = median(after / before for before, after in pairs)
            before, after = (median(side) for side in zip(*pairs, strict=True))
            missed = "" if ratio <= BAR else f"   above {BAR}"
            print(f"{name:10} {before:7.2f} {after:7.2f} {ratio:7.3f}{missed}", flush=True)
        os.chdir("/")


if __name__ == "__main__":
    main()
