"""Fung 2007, figures 4.11 and 5.6: how the time grows from 200,000 records to a million.

Adult is enlarged by `benchmarks/expand.py`. Like the paper's, times are without reading and
writing: encode, refine and mask. They are also without the recount of every promise, which the
paper's program did not do; the whole command, with all of it, is timed at a million records. The
paper's machines were Pentium IVs of 2.6 and 3 GHz with 1 GB.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from datasets import ADULT, ADULT_NUMBERS, HERE, adult, folder
from experiment import Claim, Kept, anonymized, bounded, command_seconds, run
from reticent.pages.curves import Series
from reticent.tables.report import Release
from several_templates import requirements

SIZES = (200_000, 400_000, 600_000, 800_000, 1_000_000)
SETS = 10  # of the paper's 30 random sets of templates
K = 50
AT_MOST = "0.9"
SENSITIVE = "marital-status"
OTHERS = tuple(name for name in ADULT if name not in ADULT_NUMBERS and name != SENSITIVE)
Groups = Sequence[Sequence[str]]


def enlarged(kind: str, place: Path) -> Path:
    """A million records; with the same seed a short table is the beginning of a long one."""
    path = place / f"{kind}.csv"
    words = [sys.executable, HERE.parent / "expand.py", kind, "--rows", SIZES[-1], "-o", path]
    where = {**os.environ, "RETICENT_DATA": str(folder())}
    subprocess.run([*map(str, words)], check=True, env=where)
    return path


def anonymous(table: pa.Table, groups: Groups) -> Release:
    return anonymized(table, groups, K, generalize=True)


def confident(table: pa.Table, groups: Groups) -> Release:
    return bounded(table, groups, {SENSITIVE: adult().rarest_half(SENSITIVE)}, AT_MOST)


def processing(release: Release) -> float:
    """The seconds that the paper counts."""
    return sum(release.seconds[stage] for stage in ("encode", "refine", "mask"))


Method = Callable[[pa.Table, Groups], Release]


def curve(method: Method, table: pa.Table, sets: Sequence[Groups]) -> list[tuple[float, float]]:
    """The mean seconds over sets of templates, by records."""
    method(table.slice(0, 10_000), sets[0])  # the first run of a process loads
    found = []
    for rows in SIZES:
        part = table.slice(0, rows)
        taken = [processing(method(part, groups)) for groups in sets]
        found.append((rows / 1000, float(np.mean(taken))))
    return found


CASES: dict[str, tuple[str, Method, str, list[Groups]]] = {
    "k = 50, all 14 attributes": ("adult14", anonymous, "80 s", [[ADULT]]),
    "k = 50, several templates": (
        "adult14", anonymous, "more than 80 s", [*requirements(ADULT)[:SETS]],
    ),
    "h = 90 %, 7 attributes": ("adult8cat", confident, "150 s, with files 192 s", [[OTHERS]]),
    "h = 90 %, several templates": (
        "adult8cat", confident, "276 s, with files 318 s",
        [*requirements(OTHERS, count=(3, 6), length=(2, 5))[:SETS]],
    ),
}  # fmt: skip


def experiment(classifier: str = "tree") -> list[Claim]:
    kept = Kept("scalability")
    curves, claims = [], []
    with tempfile.TemporaryDirectory() as place:
        files = {kind: enlarged(kind, Path(place)) for kind in ("adult14", "adult8cat")}
        for name, (kind, method, paper, sets) in CASES.items():
            table = pa.csv.read_csv(files[kind])
            found = curve(method, table, sets)
            whole = command_seconds(files[kind], method(table.slice(0, 10_000), sets[0]))
            curves.append(Series(name, found))
            taken = found[-1][1]
            bar = float(paper.removeprefix("more than ").split()[0])
            ours = f"{taken:.1f} s, whole command {whole:.1f} s"
            claims.append(Claim(f"1,000,000 records, {name}", paper, ours, whole < bar))
    rows = [(one.name, int(1000 * x), f"{y:.3f}") for one in curves for x, y in one.points]
    kept.table(["promise", "records", "seconds"], rows)
    kept.chart("Time without reading and writing", "thousand records", curves, y_label="seconds")
    return kept.claims(claims)


if __name__ == "__main__":
    run(experiment)
