"""Recount a released table, and measure what a classifier still learns from it.

    python score.py ORIGINAL RELEASED [LATER …] --quasi a,b --hierarchies FOLDER [--errors]

RELEASED is what the promise of k covers; LATER holds further rows masked by the same cuts. Prints
one JSON object. Nothing here is Reticent's but the tree: the recount is a dictionary of tuples.

Records that a tool left out count as records with every quasi-identifier masked, so that nobody
wins by dropping what is hard to predict. With --errors the tables have a column `part`: classifiers
learn from the masked "train" rows and are tested on the masked "test" rows. Three of them:

    tree     Reticent's C4.5-style tree on the labels as they stand
    labels   scikit-learn's tree on one 0/1 column per label
    values   scikit-learn's tree on one 0/1 column per original value, 1 where the label still
             allows it, and on the two ends of an age label; overlapping labels lose nothing here
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from reticent.sklearn import TreeClassifier

Codes = npt.NDArray[np.float32]

CLASS, PART, NUMERIC = "class", "part", "age"
MASKED = "*"
LEAF = 20  # smallest leaf of scikit-learn's tree, the same for every table


def rows_of(path: Path, columns: Sequence[str]) -> Iterable[tuple[str, ...]]:
    """The cells of some columns, row by row, in their order here."""
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            yield tuple(row[name] for name in columns)


# --- Recount ----------------------------------------------------------------------------------


def recount(released: Path, original_rows: int, quasi: Sequence[str]) -> dict[str, Any]:
    """Count groups. A record masked in every column is a suppressed one, and forms no group."""
    groups = Counter(rows_of(released, quasi))
    smallest_written = min(groups.values())
    groups.pop((MASKED,) * len(quasi), None)
    shown = sum(groups.values())
    return {
        "groups": len(groups),
        "smallest": min(groups.values(), default=0),
        "smallest_written": smallest_written,
        "suppressed": 1 - shown / original_rows,
    }


def left_out(original: pd.DataFrame, released: pd.DataFrame, kept: list[str]) -> pd.DataFrame:
    """The records that were dropped, every quasi-identifier masked."""
    missing = Counter(original[kept].itertuples(index=False, name=None))
    missing.subtract(released[kept].itertuples(index=False, name=None))
    if min(missing.values()) < 0:
        raise SystemExit("the release has records that the original has not")
    table = pd.DataFrame(list(missing.elements()), columns=kept)
    return table.assign(**{name: MASKED for name in original.columns if name not in kept})


# --- Codes ------------------------------------------------------------------------------------


def leaves_below(path: Path) -> dict[str, set[str]]:
    """Label -> the original values it may stand for."""
    below: dict[str, set[str]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for leaf, *labels in csv.reader(file, delimiter=";"):
            for label in [leaf, *labels]:
                below.setdefault(label, set()).add(leaf)
    return below


def ends(label: str) -> tuple[int, int]:
    """The smallest and largest whole number under a label: 39, 35-39, [35,40) or [35,40]."""
    if label == MASKED:
        return 0, 120
    numbers = [int(number) for number in re.findall(r"\d+", label)]
    return numbers[0], numbers[-1] - label.endswith(")")


def allowed(label: str, below: dict[str, set[str]], leaves: list[str]) -> list[bool]:
    """Which values a label allows: a node of the hierarchy, or several values in a row."""
    parts = [label] if label in below else label.split(",")
    values = set[str]().union(*(below[part] for part in parts))
    return [leaf in values for leaf in leaves]


def value_codes(column: pd.Series, hierarchy: Path) -> Codes:
    numbers, labels = pd.factorize(column)
    if column.name == NUMERIC:
        each: list[Any] = [ends(label) for label in labels]
    else:
        below = leaves_below(hierarchy)
        leaves = sorted(set[str]().union(*below.values()))
        each = [allowed(label, below, leaves) for label in labels]
    coded: Codes = np.array(each, dtype=np.float32)[numbers]
    return coded


# --- Errors -----------------------------------------------------------------------------------


def sklearn_error(codes: Any, classes: npt.NDArray[Any], train: npt.NDArray[np.bool_]) -> float:
    model = DecisionTreeClassifier(min_samples_leaf=LEAF, random_state=0)
    model.fit(codes[train], classes[train])
    return float(np.mean(model.predict(codes[~train]) != classes[~train]))


def tree_error(
    table: pd.DataFrame, classes: npt.NDArray[Any], train: npt.NDArray[np.bool_]
) -> float:
    model = TreeClassifier().fit(table[train], classes[train])
    return float(np.mean(model.predict(table[~train]) != classes[~train]))


def with_numbers(table: pd.DataFrame) -> pd.DataFrame:
    """Ages that nobody masked are numbers to a classifier."""
    if table[NUMERIC].str.fullmatch(r"\d+").all():
        return table.assign(**{NUMERIC: table[NUMERIC].astype(int)})
    return table


def label_codes(table: pd.DataFrame) -> Any:
    """One 0/1 column per label; numbers stay numbers."""
    numeric = [name for name in table.columns if name == NUMERIC and table[name].dtype.kind == "i"]
    names = [name for name in table.columns if name not in numeric]
    encoder = OneHotEncoder(sparse_output=not numeric)
    codes = encoder.fit_transform(table[names])
    return np.column_stack([codes, table[numeric]]) if numeric else codes.tocsr()


def errors(table: pd.DataFrame, quasi: list[str], folder: Path) -> dict[str, Any]:
    classes = table[CLASS].to_numpy(dtype=object)
    train = (table[PART] == "train").to_numpy()
    features = with_numbers(table[quasi])
    values = [value_codes(table[q], folder / f"adult_hierarchy_{q}.csv") for q in quasi]
    commonest = Counter(classes[train]).most_common(1)[0][0]
    return {
        "tree": tree_error(features, classes, train),
        "labels": sklearn_error(label_codes(features), classes, train),
        "values": sklearn_error(np.column_stack(values), classes, train),
        "majority": float(np.mean(classes[~train] != commonest)),
    }


def read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def main() -> int:
    parser = argparse.ArgumentParser(description="Recount and score a released table.")
    parser.add_argument("original", type=Path)
    parser.add_argument("released", type=Path, nargs="+")
    parser.add_argument("--rows", type=int, help="rows that the promise covers (default: all)")
    parser.add_argument("--quasi", type=lambda text: text.split(","), required=True)
    parser.add_argument("--hierarchies", type=Path, required=True)
    parser.add_argument("--errors", action="store_true")
    asked = parser.parse_args()
    rows = asked.rows or sum(1 for _ in rows_of(asked.original, asked.quasi[:1]))
    found = recount(asked.released[0], rows, asked.quasi)
    if asked.errors:
        original = read(asked.original)
        kept = [name for name in original.columns if name not in asked.quasi]
        released = pd.concat([read(path) for path in asked.released])
        table = pd.concat([released, left_out(original, released, kept)], ignore_index=True)
        found |= errors(table, asked.quasi, asked.hierarchies)
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
