"""What a tree over joined tables tells of records it has not seen, beside tools that aggregate.

    python benchmarks/figures/join_tree.py [--only Mondial-II,…] [--work FOLDER] [--peers]

Source: Xu 2008, §3.4.1, says "60 %" for the target table alone and "97.7 %" for the join of
Mondial's 12 tables, and not how that was measured. Trained and tested on the same joined rows, a
tree remembers; dealt at random, joined rows of one country stand on both sides. Here folds are by
country (player, day), the class is told of records and not of joined rows, and each number stands
beside what one class for all and the target table alone would have told.

    by row, by record    our tree: every joined row weighs the same, or every record does
    ", kept"             joins keep their left side, so that no record is lost
    coverage             the share of records that join; an inner join tells nothing of the others,
                         and those get the class of the tree's root
    effective            how many countries carry the weight of the joined rows (inverse Simpson)
    join only            each task twice: the records that join, and all of them

Numbers are shares of the task's records whose class was told, means over the times that records
were dealt to folds; `spread` is the range of "by record". `--peers` runs featuretools and getML
(`join_tree_peers.py`) in .venv-jointrees and .venv-getml, where these are; what they told last
stays in --work. Baseball and flights come from PyPI, and are left out without .venv-jointrees.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datasets import HERE, NoData
from experiment import RESULTS
from join_tasks import Task, baseball_tasks, flight_tasks, mondial_tasks
from reticent.jointree.classification import classify_tables
from reticent.jointree.learning import grown
from reticent.jointree.model import model_of
from reticent.jointree.propagation import propagate
from reticent.jointree.schema import JoinSchema
from reticent.jointree.tables import class_codes, code, load

PEERS = {"featuretools": ".venv-jointrees", "getml": ".venv-getml"}
WAYS = {
    "by row": ("inner", 'weight = "row"'),
    "by record": ("inner", 'weight = "record"'),
    "by row, kept": ("left", 'weight = "row"'),
    "by record, kept": ("left", 'weight = "record"'),
}
HEADS = ("task", "records", "groups", "coverage", "effective", "majority", "target alone",
         *WAYS, "spread", "featuretools + forest", "getML + XGBoost")  # fmt: skip
Folds = NDArray[np.int64]


def tasks(work: Path, only: Sequence[str]) -> Iterator[Task]:
    python = HERE.parents[1] / PEERS["featuretools"] / "bin/python"
    sources: dict[str, Any] = {
        "Mondial-II": lambda: mondial_tasks("II"),
        "Mondial-III": lambda: mondial_tasks("III"),
        "Hall of fame": lambda: baseball_tasks(work / "baseball"),
        "Late flights": lambda: flight_tasks(work / "flights"),
    }
    if not (work / "flights").is_dir() and python.is_file():
        subprocess.run([python, HERE / "join_tree_peers.py", "export", work], check=True)
    for name, source in sources.items():
        if not only or name in only:
            try:
                yield from source()
            except (NoData, FileNotFoundError) as problem:
                print(f"{name}: {problem}")


def place_of(work: Path, task: Task) -> Path:
    return work / task.name.replace(", ", "-").replace(" ", "-")


# --- Our trees --------------------------------------------------------------------------------


def told(schema: JoinSchema, repeated: Sequence[Folds]) -> list[float]:
    """The share of records told right, for each dealing of the folds."""
    tables = load(schema, whole=True)
    root, target = schema.target
    _, classes = class_codes(tables[root].columns[target])
    found = []
    for folds in repeated:
        right = 0
        for fold in np.unique(folds):
            test = folds == fold
            joined = propagate(code(schema, tables, among=~test), schema.grow.weight)
            root_node = grown(joined, schema.grow.options())
            tree = model_of(joined, root_node, schema)
            answers = classify_tables(tree, schema, tables, majority=True)
            winners = np.where(answers.winners < 0, tree.root.winner, answers.winners)
            right += int((winners[test] == classes[test]).sum())
        found.append(right / len(classes))
    return found


def by_majority(labels: Sequence[str], folds: Folds) -> float:
    """The class of most records of the other folds, the first of equals."""
    names = np.array(labels)
    right = 0
    for fold in np.unique(folds):
        counts = Counter(names[folds != fold].tolist())
        most = min(counts, key=lambda label: (-counts[label], label))
        right += int((names[folds == fold] == most).sum())
    return right / len(names)


# --- Others -----------------------------------------------------------------------------------


def run_peers(places: Sequence[Path]) -> None:
    for peer, environment in PEERS.items():
        python = HERE.parents[1] / environment / "bin/python"
        if python.is_file():
            words = [python, HERE / "join_tree_peers.py", peer, *places]
            subprocess.run(list(map(str, words)), check=True)
        else:
            print(f"{peer}: no {environment}; see README.md")


def by_peer(path: Path, labels: Sequence[str]) -> float | None:
    """What a peer told last; None if it did not."""
    if not path.is_file():
        return None
    with path.open(encoding="utf-8", newline="") as file:
        rows = [*csv.reader(file)][1:]
    return float((np.array(rows) == np.array(labels)[:, None]).mean())


# --- All of it --------------------------------------------------------------------------------


def measured(task: Task, place: Path) -> dict[str, Any]:
    labels, weights = task.labels(), task.joined_rows()
    repeated = [np.array(task.folds(seed)) for seed in range(task.repeats)]
    found: dict[str, Any] = {
        "task": task.name, "records": len(labels), "groups": len(set(task.groups)),
        "coverage": sum(weight > 0 for weight in weights) / len(labels),
        "effective": round(task.effective_groups(weights), 1),
        "majority": float(np.mean([by_majority(labels, folds) for folds in repeated])),
    }  # fmt: skip
    if task.tables[task.target].candidates:
        path = place / "alone.toml"
        path.write_text(task.schema(alone=True), encoding="utf-8")
        found["target alone"] = float(np.mean(told(JoinSchema.of(path), repeated)))
    for way, (keep, grow) in WAYS.items():
        path = place / "schema.toml"
        path.write_text(task.schema(keep, grow), encoding="utf-8")
        shares = told(JoinSchema.of(path), repeated)
        found[way] = float(np.mean(shares))
        if way == "by record" and len(shares) > 1:
            found["spread"] = f"{min(shares):.3f}-{max(shares):.3f}"
    for name, peer in zip(HEADS[-2:], PEERS, strict=True):
        share = by_peer(place / f"{peer}.csv", labels)
        if share is not None:
            found[name] = share
    return found


def as_text(cell: Any) -> str:
    return f"{cell:.3f}" if isinstance(cell, float) and cell <= 1 else str(cell)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="some sources of tasks")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "reticent-joins")
    parser.add_argument("--peers", action="store_true", help="run the other tools, too")
    asked = parser.parse_args()
    asked.work.mkdir(parents=True, exist_ok=True)
    every = [*tasks(asked.work, [name for name in asked.only.split(",") if name])]
    for task in every:
        task.write(place_of(asked.work, task))
    if asked.peers:
        run_peers([place_of(asked.work, task) for task in every])
    rows: list[Mapping[str, str]] = []
    for task in every:
        found = measured(task, place_of(asked.work, task))
        rows.append({name: as_text(cell) for name, cell in found.items()})
        print("  ".join(f"{name} {cell}" for name, cell in rows[-1].items()), flush=True)
    if not asked.only:
        with (RESULTS / "join_tree.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, HEADS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
