"""One tree over tables that join: how long it takes, beside building the join and a tree on it.

    python benchmarks/join_tree_speed.py [--only mondial,chain,linear,deep] [--csv FILE]

    case      tables                                                   bar
    mondial   Mondial's 12, from CSV files; both versions              III within 1 s
    chain     Xu 2008, fig. 8: k tables of 1,000 records               k = 5: 200 times faster
    linear    the same chain, 100,000 records each, depth at most 8    linear in k
    deep      k = 6 of 100,000 records, no limit of depth              600 s and 4 GB

The product's side is all of `train`: reading, coding, counting, growing, pruning. The other side is
DuckDB's join of the same tables and scikit-learn's entropy tree on it, grown until leaves are pure
or, where a depth is said, as deep; texts are coded before they are joined, and split as numbers,
which spares it columns of zeros and ones. Both sit in processes of their own, one after the other,
and each has learnt a small chain before, so that nothing is compiled or imported on the clock.
Seconds are of the processor, over all threads; the product's are medians of `--runs`. Memory is the
most that the process held. What memory cannot hold is not run but estimated, in proportion to
rows · columns · log2 rows of the longest chain that was, and marked so.

The chain is the paper's: groups of Poisson(4) records in each table, one join value for a group,
5 numbers and 5 texts of 20 values a table; a record has as many numbers in the upper half of their
range as its group has, and the class is whether at least half of all numbers are. Half of the
classes of "deep, noise" are drawn at random instead: no tree tells those but by memory, and so it
grows as deep as it gets.
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parent / "figures"))

from datasets import NoData
from mondial import CLASS, JOINS, Mondial

NUMBERS = TEXTS = 5  # columns of each kind, in each table of a chain
PARTNERS = 4  # records of a group, on average
SLOW = 5.0  # seconds; what takes longer is run once
MATRICES = 4  # the join as columns, as a matrix, and what the tree makes of it

Tables = Mapping[str, pa.Table]


@dataclass(frozen=True, slots=True)
class Chain:
    """Tables T1, …, Tk, each of which joins with the next."""

    k: int
    records: int
    depth: int | None = None
    noise: float = 0.0  # the share of classes that are drawn at random

    def schema(self) -> dict[str, Any]:
        return {
            "class": "T1.class",
            "tables": {f"T{t}": {} for t in range(1, self.k + 1)},
            "joins": [{"left": f"T{t}.J", "right": f"T{t + 1}.J"} for t in range(1, self.k)],
            "grow": {} if self.depth is None else {"max_depth": self.depth},
        }

    def tables(self) -> Tables:
        """The paper's generator, §3.4.1."""
        rng = np.random.default_rng([3, self.k, self.records])
        groups, half = self.records // PARTNERS, min(self.records, 10_000) // 2
        count = self.k * NUMBERS
        group = np.repeat(np.arange(groups), rng.poisson(PARTNERS, groups))
        high = rng.integers(0, count + 1, groups)  # so many numbers are in the upper half
        upper = rng.random((groups, count)).argsort(axis=1).argsort(axis=1) < high[:, None]
        label = np.where(2 * high >= count, "Yes", "No")[group]
        drawn = rng.random(len(group)) < self.noise
        label[drawn] = rng.choice(["Yes", "No"], drawn.sum())
        words = np.array([f"v{value:02}" for value in range(20)])
        found = {}
        for t in range(self.k):
            columns = {"J": group}
            for j in range(NUMBERS):
                low = rng.integers(1, half + 1, len(group))
                columns[f"n{j}"] = low + half * upper[group, t * NUMBERS + j]
            for j in range(TEXTS):
                columns[f"t{j}"] = words[rng.integers(0, 20, len(group))]
            if t == 0:
                columns["class"] = label
            order = rng.permutation(len(group))
            found[f"T{t + 1}"] = pa.table({n: pa.array(c[order]) for n, c in columns.items()})
        return found


@dataclass(frozen=True, slots=True)
class Took:
    """What one side needed."""

    seconds: float  # of the processor
    megabytes: int
    rows: int  # of the join
    leaves: int
    stages: Mapping[str, float]
    estimated: bool = False


def alone(job: Callable[..., Took], *said: Any) -> Took | None:
    """Do a job in a process of its own; None where memory did not hold it."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        try:
            return pool.submit(job, *said).result()
        except (BrokenProcessPool, MemoryError):
            return None


def held() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


# --- This product -----------------------------------------------------------------------------


def by_counts(task: Chain | Path, runs: int) -> Took:
    """Train `runs` times; the median, and the memory of all."""
    from reticent.jointree.flow import train

    small = Chain(3, 200, 3)
    train(small.schema(), small.tables())
    if isinstance(task, Chain):
        schema: Any = task.schema()
        tables: Tables | None = task.tables()
    else:
        schema, tables = task, None
        train(schema)
    before, spent = held(), []
    for _ in range(runs):
        start = time.process_time()
        made = train(schema, tables)
        spent.append(time.process_time() - start)
        if spent[0] > SLOW:
            break
    return Took(statistics.median(spent), max(held(), before), made.rows,
                leaves_of(made.tree.root), dict(made.seconds))  # fmt: skip


def leaves_of(root: Any) -> int:
    waiting, found = [root], 0
    while waiting:
        branches = waiting.pop().branches
        waiting.extend(branches)
        found += not branches
    return found


# --- The join, and a tree on it ---------------------------------------------------------------


def by_join(task: Chain | Path, runs: int) -> Took:
    """Build the join with DuckDB, as one matrix, and grow scikit-learn's tree on it."""
    import duckdb
    from sklearn.tree import DecisionTreeClassifier

    database = duckdb.connect()
    join_and_learn(database, Chain(3, 200, 3), DecisionTreeClassifier)
    spent, found = [], None
    for _ in range(runs):
        start = time.process_time()
        found = join_and_learn(database, task, DecisionTreeClassifier)
        spent.append(time.process_time() - start - found.stages["generate"])
        if spent[0] > SLOW:
            break
    assert found is not None
    return replace(found, seconds=statistics.median(spent), megabytes=held())


def join_and_learn(database: Any, task: Chain | Path, tree: Any) -> Took:
    stages: dict[str, float] = {}
    clock = time.process_time()

    def stage(name: str) -> None:
        nonlocal clock
        now = time.process_time()
        stages[name] = now - clock
        clock = now

    if isinstance(task, Chain):
        tables, label, depth = task.tables(), "class", task.depth
        joins = [((f"T{t}", "J"), (f"T{t + 1}", "J")) for t in range(1, task.k)]
        candidates = {name: [c for c in table.column_names if c not in ("J", label)]
                      for name, table in tables.items()}  # fmt: skip
        stage("generate")
    else:
        stage("generate")
        said = json.loads(task.with_name("task.json").read_text(encoding="utf-8"))
        candidates, label, depth = said["candidates"], said["class"], None
        joins = [((near, left), (far, right)) for (near, left), (far, right) in
                 ([end.split(".") for end in pair] for pair in said["joins"])]  # fmt: skip
        tables = {name: database.read_csv(str(task.with_name(f"{name}.csv"))).to_arrow_table()
                  for name in candidates}  # fmt: skip
    stage("read")
    target = next(iter(tables))
    chosen = [f'"{target}"."{label}"']
    for name, table in tables.items():
        coded = {c: numbers(table[c]) for c in candidates[name]}
        keys = {end[1] for pair in joins for end in pair if end[0] == name}
        coded |= {f"key {c}": table[c] for c in keys}
        if name == target:
            coded[label] = pa.array(table[label].combine_chunks().dictionary_encode().indices)
        database.register(name, pa.table(coded))
        chosen += [f'"{name}"."{c}"' for c in candidates[name]]
    source = f'"{target}"'
    for (near, left), (far, right) in joins:
        source += f' JOIN "{far}" ON "{near}"."key {left}" = "{far}"."key {right}"'
    columns = database.execute(f"SELECT {', '.join(chosen)} FROM {source}").fetchnumpy()
    stage("join")
    every = [np.ma.filled(column, np.nan) for column in columns.values()]
    columns = None
    classes = every.pop(0)
    matrix = np.empty((len(classes), len(every)), np.float32)
    for j in range(matrix.shape[1]):
        matrix[:, j] = every.pop(0)  # a column is let go as soon as it is copied
    stage("matrix")
    learnt = tree(criterion="entropy", max_depth=depth, random_state=0).fit(matrix, classes)
    stage("tree")
    for name in tables:
        database.unregister(name)
    return Took(0.0, 0, len(classes), int(learnt.get_n_leaves()), stages)


def numbers(column: Any) -> pa.Array:
    """Numbers as floats of 32 bits; texts, and whatever else there is, by their rank."""
    column = column.combine_chunks()
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return column.cast(pa.float32(), safe=False)
    texts = column.cast(pa.string())
    ranks = {text: rank for rank, text in enumerate(sorted(set(texts.drop_null().to_pylist())))}
    return pa.array([ranks.get(text) for text in texts.to_pylist()], pa.float32())


def joined(task: Chain | Path, columns: int, rows: int, runs: int, last: Took | None,
           last_columns: int) -> Took | None:  # fmt: skip
    """The other side, or what it would take if memory holds no such join."""
    needed = rows * columns * 4 * MATRICES
    if needed < available():
        found = alone(by_join, task, runs)
        if found is not None:
            return found
    if last is None:
        return None
    work = rows * columns * np.log2(rows)
    done = last.rows * last_columns * np.log2(last.rows)
    return Took(last.seconds * work / done, needed >> 20, rows, 0, {}, estimated=True)


def available() -> int:
    """Memory that is free, in bytes."""
    for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 8 << 30


# --- Cases ------------------------------------------------------------------------------------


Line = dict[str, Any]


def line(case: str, what: str, ours: Took | None, theirs: Took | None, bar: str = "") -> Line:
    found: Line = {"case": case, "what": what, "bar": bar}
    if ours is None:
        return {**found, "bar": f"{bar}: out of memory"}
    found |= {"joined rows": ours.rows, "seconds": round(ours.seconds, 3), "MB": ours.megabytes,
              "leaves": ours.leaves}  # fmt: skip
    if theirs is not None:
        found |= {
            "join + tree, s": round(theirs.seconds, 2),
            "of which join": round(theirs.stages["join"], 2) if theirs.stages else "",
            "join + tree, MB": theirs.megabytes,
            "its leaves": theirs.leaves or "",
            "ratio": round(theirs.seconds / ours.seconds, 1),
            "estimated": "yes" if theirs.estimated else "",
        }
    return found


def mondial(runs: int) -> Iterator[Line]:
    for version in ("II", "III"):
        data = Mondial.read(version)
        with tempfile.TemporaryDirectory() as folder:
            schema = data.write(Path(folder))
            candidates = {name: data.candidates(name) for name in data.columns}
            said = {"class": CLASS, "joins": JOINS, "candidates": candidates}
            schema.with_name("task.json").write_text(json.dumps(said), encoding="utf-8")
            ours = alone(by_counts, schema, runs)
            columns = sum(map(len, candidates.values()))
            theirs = joined(schema, columns, data.size().rows, runs, None, 0)
        bar = ""
        if version == "III":
            bar = "1 s: " + ("met" if ours and ours.seconds < 1 else "MISSED")
            gigabytes = data.size().rows * columns * 8 / 1e9
            bar += f"; the join would be {gigabytes:.0f} GB" if theirs is None else ""
        yield line("mondial", f"Mondial-{version}", ours, theirs, bar)


def chain(runs: int) -> Iterator[Line]:
    last, last_columns = None, 0
    for k in (3, 4, 5, 6, 10):
        task, columns = Chain(k, 1000), k * (NUMBERS + TEXTS)
        ours = alone(by_counts, task, runs)
        theirs = None
        if ours is not None and k < 10:
            theirs = joined(task, columns, ours.rows, runs, last, last_columns)
            if theirs is not None and not theirs.estimated:
                last, last_columns = theirs, columns
        bar = ""
        if k == 5 and ours is not None and theirs is not None:
            met = theirs.seconds >= 200 * ours.seconds
            bar = "200 times: " + ("met" if met else "MISSED")
        yield line("chain", f"k = {k}", ours, theirs, bar)


def linear(runs: int) -> Iterator[Line]:
    ks, seconds = [], []
    for k in range(2, 9):
        ours = alone(by_counts, Chain(k, 100_000, 8), runs)
        yield line("linear", f"k = {k}", ours, None)
        if ours is not None:
            ks.append(k)
            seconds.append(ours.seconds)
    slope, start = np.polyfit(ks, seconds, 1)
    fit = np.polyval([slope, start], ks)
    left = ((np.array(seconds) - fit) ** 2).sum()
    known = 1 - left / ((np.array(seconds) - np.mean(seconds)) ** 2).sum()
    told = f"R² {known:.4f}: " + ("met" if known >= 0.98 else "MISSED")
    said = f"{start:.2f} s and {slope:.2f} s a table"
    yield {"case": "linear", "what": said.replace("-", "−"), "bar": told}


def deep(runs: int) -> Iterator[Line]:
    for what, noise in (("k = 6", 0.0), ("k = 6, noise", 0.5)):
        ours = alone(by_counts, Chain(6, 100_000, None, noise), 1)
        met = ours is not None and ours.seconds < 600 and ours.megabytes < 4096
        yield line("deep", what, ours, None, "600 s, 4 GB: " + ("met" if met else "MISSED"))


CASES = {"mondial": mondial, "chain": chain, "linear": linear, "deep": deep}
HEADS = ("case", "what", "joined rows", "seconds", "MB", "leaves", "join + tree, s",
         "of which join", "join + tree, MB", "its leaves", "ratio", "estimated", "bar")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default=",".join(CASES), help="some cases")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--csv", type=Path)
    asked = parser.parse_args()
    lines: list[Line] = []
    for name in asked.only.split(","):
        try:
            for one in CASES[name](asked.runs):
                lines.append(one)
                told(one)
                keep(lines, asked.csv)
        except NoData as problem:
            print(f"{name}: {problem}")


def told(one: Line) -> None:
    parts = [f"{one['case']:8} {one['what']:14}"]
    if "seconds" in one:
        parts.append(f"{one['joined rows']:>17,} rows {one['seconds']:8.3f} s {one['MB']:5} MB")
    if "ratio" in one:
        about = "about " if one["estimated"] else ""
        parts.append(f"join + tree {about}{one['join + tree, s']} s, {one['ratio']} times")
    print("  ".join([*parts, one["bar"]]), flush=True)


def keep(lines: Sequence[Line], path: Path | None) -> None:
    if path is not None:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, HEADS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(lines)


if __name__ == "__main__":
    main()
