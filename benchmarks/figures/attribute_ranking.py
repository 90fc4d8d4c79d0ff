"""Fung 2007, §4.4.1: attributes ranked by the root of a tree, which is removed before the next.

The ranking says which attributes a masking must hurt. The other experiments use the paper's order.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from datasets import CLASS, DATA_SETS, DataSet
from experiment import Claim, Kept, each, run, unmasked, weka, write_arff
from reticent.evidence import classify
from reticent.trees.learner import TreeOptions, train


def root(data: DataSet, columns: list[str], classifier: str) -> str | None:
    """The attribute that a tree asks first, learnt on the training records."""
    test = data.for_testing()
    table = unmasked(data)
    coded = classify.coded(table.take(~test), table.take(test), columns, CLASS, seed=1)
    if classifier == "j48":
        with tempfile.TemporaryDirectory() as place:
            path = Path(place, "train.arff")
            write_arff(path, coded, [f.codes for f in coded.features], coded.classes)
            said = weka("j48", "-t", str(path), "-no-cv")
        names = "|".join(sorted(map(re.escape, columns), key=len, reverse=True))
        found = re.search(rf"^({names}) (?:=|<|>)", said, re.MULTILINE)
        return found[1] if found else None
    tree = train(
        coded.features, coded.classes, coded.labels, TreeOptions(max_depth=1, confidence=None)
    )
    return None if tree.root.split is None else columns[tree.root.split.column]


def ranking(job: tuple[str, bool, int, str]) -> list[str]:
    """The first attributes of a data set in the order of their importance."""
    name, categorical, length, classifier = job
    data = DATA_SETS[name]()
    left = data.categorical if categorical else data.attributes
    found: list[str] = []
    while len(found) < length:
        best = root(data, left, classifier)
        if best is None:
            break
        found.append(best)
        left = [name for name in left if name != best]
    return found


def experiment(classifier: str = "tree") -> list[Claim]:
    kept = Kept("attribute_ranking", classifier)
    jobs = []
    for name, load in DATA_SETS.items():
        data = load()
        jobs.append((name, False, len(data.top), classifier))
        jobs.append((name, True, len(data.top_categorical), classifier))
    claims, rows = [], []
    for job, ours in zip(jobs, each(ranking, jobs), strict=True):
        name, categorical, length, _ = job
        data = DATA_SETS[name]()
        paper = data.top_categorical if categorical else data.top
        which = "categorical" if categorical else "all"
        rows += [
            (name, which, rank + 1, paper[rank], ours[rank] if rank < len(ours) else "")
            for rank in range(length)
        ]
        common = len(set(paper) & set(ours))
        claims.append(
            Claim(
                f"{name}, top {length} of {which} attributes",
                ", ".join(paper),
                f"{common} of {length} the same: {', '.join(ours)}",
                None,
            )
        )
    kept.table(["data", "attributes", "rank", "paper", "ours"], rows)
    return kept.claims(claims)


if __name__ == "__main__":
    run(experiment)
