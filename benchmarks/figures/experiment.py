"""What the experiments share: releases, errors, work on all cores, and how results are kept.

    BE   error on unmodified data          AE, SE   error on the release
    UE   without the masked attributes     RE       without the sensitive attributes

Errors are in percent of the test records. Every release here is one of `reticent.release`, which
recounts each promise on the released rows and refuses if one is broken.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from datasets import CLASS, HERE, TAXONOMIES, DataSet, NoData, Rows
from reticent.data.columns import Table
from reticent.evidence import classify
from reticent.files.tabular import from_arrow
from reticent.pages.curves import Series, lines
from reticent.pages.drawing import standalone
from reticent.tables import flow
from reticent.tables.evidence.aligned import AlignedRows
from reticent.tables.report import Release

RESULTS = HERE / "results"
Job = TypeVar("Job")
Answer = TypeVar("Answer")

# --- Releases ---------------------------------------------------------------------------------


THE_PAPERS = {"score": "paper", "search": "greedy"}  # these are the papers' experiments


def anonymized(
    table: pa.Table,
    groups: Iterable[Sequence[str]],
    k: int,
    *,
    generalize: bool = False,
    score: str = "paper",
) -> Release:
    """Release a table so that each combination over each group is shared by k records.

    Numbers are discretized. Categories are generalized by the taxonomies that stand here, or
    suppressed.
    """
    over = [list(group) for group in groups]
    policy: dict[str, Any] = {"class": CLASS, "keep": "*", "goal": THE_PAPERS | {"score": score}}
    policy["anonymity"] = [{"over": group, "k": k} for group in over]
    if generalize:
        masked = [name for name in table.column_names if any(name in group for group in over)]
        policy["attributes"] = {name: mask_of(name) for name in masked}
    return flow.release(table, policy)


def mask_of(name: str) -> dict[str, str]:
    """How a column is masked where categories are generalized."""
    path = TAXONOMIES / f"{name}.csv"
    if path.is_file():
        return {"mask": "generalize", "taxonomy": str(path)}
    return {"mask": "discretize"}


def bounded(
    table: pa.Table,
    groups: Iterable[Sequence[str]],
    sensitive: Mapping[str, Sequence[str]],
    at_most: str,
) -> Release:
    """Release a table so that nobody infers a sensitive value from a group with more confidence.

    All masked columns are suppressed.
    """
    secret = {name: list(values) for name, values in sensitive.items()}
    promises = [{"over": list(over), "sensitive": secret, "at_most": at_most} for over in groups]
    policy = {"class": CLASS, "keep": "*", "confidence": promises, "goal": THE_PAPERS}
    return flow.release(table, policy)


def command_seconds(data: Path, release: Release) -> float:
    """The whole command under the policy of a release: start-up, reading, recount, writing."""
    with tempfile.TemporaryDirectory() as place:
        policy = Path(place, "policy.toml")
        policy.write_text(release.prepared.policy.text, encoding="utf-8")
        words = [sys.executable, "-c", "from reticent.front import main; main()", "release"]
        words += [str(data), "--policy", str(policy), "-o", str(Path(place, "masked.csv"))]
        start = time.perf_counter()
        subprocess.run(words, capture_output=True, check=True)
        return time.perf_counter() - start


# --- Errors -----------------------------------------------------------------------------------


def shown(release: Release) -> Table:
    """The released rows in the order of the original, as a classifier sees them."""
    return AlignedRows.of(release.prepared, release.recodings).view()


def unmasked(data: DataSet) -> Table:
    return from_arrow(data.table)


def error(table: Table, test: Rows, columns: Sequence[str], classifier: str = "tree") -> float:
    """Train on some records of a table, test on the others: percent wrong."""
    return 100 * wrong(table, test, columns, classifier) / int(test.sum())


Errors = tuple[float, float]  # on the papers' split, and as the mean over seeded ones
SPLITS = 10


def errors(data: DataSet, table: Table, columns: Sequence[str], classifier: str) -> Errors:
    """The error on the papers' split, and on several of the same sizes.

    A test set of 188 records has a standard error of 2.6 points, one of 15,060 of 0.3: for large
    data sets one split is enough.
    """
    one = error(table, data.for_testing(), columns, classifier)
    if table.rows > 10_000:
        return one, one
    several = [error(table, test, columns, classifier) for test in data.splits(SPLITS)]
    return one, sum(several) / SPLITS


def wrong(table: Table, test: Rows, columns: Sequence[str], classifier: str = "tree") -> int:
    """How many test records a classifier gets wrong."""
    same = _digest(table, test, columns, classifier)
    if same not in _KNOWN:
        coded = classify.coded(table.take(~test), table.take(test), columns, CLASS, seed=1)
        _KNOWN[same] = _wrong(coded, classifier)
    return _KNOWN[same]


_KNOWN: dict[bytes, int] = {}  # neighbouring thresholds often end in the same masked table


def _digest(table: Table, test: Rows, columns: Sequence[str], classifier: str) -> bytes:
    found = hashlib.blake2b(test.tobytes() + classifier.encode())
    for name in (*columns, CLASS):
        column = table.columns[name]
        found.update(repr((name, column.texts())).encode())
        found.update(column.codes.tobytes())
    return found.digest()


def _wrong(coded: classify.Coded, classifier: str) -> int:
    if classifier in WEKA and coded.features:
        return _by_weka(classifier, coded)
    found = classify.predictions("tree" if classifier in WEKA else classifier, coded)
    return int((found != coded.test_classes).sum())


WEKA = {"j48": "trees.J48", "weka bayes": "bayes.NaiveBayes"}


def _by_weka(classifier: str, coded: classify.Coded) -> int:
    """The mistakes of another program: J48 is another C4.5. All options are its defaults."""
    with tempfile.TemporaryDirectory() as place:
        train, test = Path(place, "train.arff"), Path(place, "test.arff")
        write_arff(train, coded, [feature.codes for feature in coded.features], coded.classes)
        write_arff(test, coded, coded.test, coded.test_classes)
        said = weka(classifier, "-t", str(train), "-T", str(test), "-o")
    return int(re.findall(r"Incorrectly Classified Instances +(\d+)", said)[-1])


def weka(classifier: str, *options: str) -> str:
    """Run Weka; WEKA_JAR says where it is."""
    jar = os.environ.get("WEKA_JAR", "weka.jar")
    words = ["java", "-Xmx2g", "-cp", jar, f"weka.classifiers.{WEKA[classifier]}", *options]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def write_arff(path: Path, coded: classify.Coded, columns: Any, classes: Any) -> None:
    head, cells = ["@relation table"], []
    for feature, codes in zip(coded.features, columns, strict=True):
        labels = np.array([*map(str, feature.values)], dtype=object)
        kind = "numeric"
        if not feature.number:
            labels = np.array([f"'{label}'" for label in labels], dtype=object)
            kind = "{" + ",".join(labels) + "}"
        head.append(f"@attribute '{feature.name}' {kind}")
        # A test number between two training numbers counts as the higher one; -1 is missing.
        labels = np.append(labels, "?")
        cells.append(labels[np.where(codes < 0, -1, np.minimum(codes, len(feature.values) - 1))])
    head += [f"@attribute class {{{','.join(map(repr, coded.labels))}}}", "@data"]
    cells.append(np.array([*map(repr, coded.labels)], dtype=object)[classes])
    rows = (",".join(row) for row in zip(*cells, strict=True))
    path.write_text("\n".join([*head, *rows]) + "\n", encoding="utf-8")


# --- Work -------------------------------------------------------------------------------------


def each(work: Callable[[Job], Answer], jobs: Iterable[Job]) -> list[Answer]:
    """Do jobs side by side; the answers come in the order of the jobs."""
    jobs = list(jobs)
    # Fresh processes: a fork of one that runs threads, as the engine does, may hang.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), mp_context=context) as pool:
        found = []
        # Neighbours go to the same process, which remembers what it has seen.
        for answer in pool.map(work, jobs, chunksize=max(1, len(jobs) // 12)):
            found.append(answer)
            print(f"\r{len(found)} of {len(jobs)}", end="", file=sys.stderr, flush=True)
    print("\r" + " " * 20, end="\r", file=sys.stderr)
    return found


# --- Results ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Claim:
    """What a paper says, and what came out here; None where there is nothing to compare."""

    experiment: str
    paper: str
    ours: str
    within: bool | None

    def line(self) -> str:
        said = {True: "yes", False: "NO", None: "-"}[self.within]
        return f"{self.experiment} | {self.paper} | {self.ours} | {said}"


@dataclass(frozen=True, slots=True)
class Kept:
    """Where an experiment keeps its results; a second classifier's stand beside ours."""

    name: str
    classifier: str = "tree"

    def path(self, suffix: str, part: str = "") -> Path:
        second = "" if self.classifier == "tree" else f".{self.classifier}"
        return RESULTS / f"{self.name}{'-' + part if part else ''}{second}{suffix}"

    def table(self, names: Sequence[str], rows: Iterable[Sequence[Any]], part: str = "") -> None:
        """Write a CSV file; errors are kept to a hundredth of a percent."""
        RESULTS.mkdir(exist_ok=True)
        with self.path(".csv", part).open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(names)
            for row in rows:
                writer.writerow(f"{cell:.2f}" if isinstance(cell, float) else cell for cell in row)

    def chart(
        self,
        title: str,
        x_label: str,
        series: Sequence[Series],
        *,
        part: str = "",
        y_label: str = "error, %",
        x_log: bool = False,
    ) -> None:
        drawn = lines(title, x_label, y_label, series, x_log=x_log, from_zero=False)
        self.path(".svg", part).write_text(standalone(drawn), encoding="utf-8")

    def claims(self, claims: Sequence[Claim]) -> list[Claim]:
        """Keep and print what the closing table needs."""
        self.table(list(Claim.__dataclass_fields__), map(astuple, claims), "claims")
        for claim in claims:
            print(claim.line())
        return list(claims)


Experiment = Callable[[str], list[Claim]]


def run(experiment: Experiment) -> None:
    """Run one experiment as a script."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--classifier", choices=["tree", "j48"], default="tree")
    asked = parser.parse_args()
    try:
        experiment(asked.classifier)
    except NoData as missing:
        sys.exit(str(missing))


def level(series_of: Iterable[float], error: float, name: str) -> Series:
    """A dashed line for an error that does not depend on the other axis."""
    xs = list(series_of)
    return Series(f"{name} {error:.1f}", [(xs[0], error), (xs[-1], error)], dashed=True)


def span(values: Iterable[float], form: str = ".1f") -> str:
    """The smallest and the largest of some numbers."""
    found = sorted(values)
    return f"{found[0]:{form}} to {found[-1]:{form}}"
