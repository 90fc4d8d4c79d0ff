"""Fung 2007, table 5.3: how many inferences the unmasked data sets allow above 10, …, 90 %.

TopN attributes are sensitive, and of each the rarer half of the values; an inference is a pair of a
combination of all other categorical attributes that occurs and a sensitive value.
"""

from __future__ import annotations

import reticent
from datasets import CLASS, DATA_SETS
from experiment import Claim, Kept, each, run
from reticent.pages.curves import Series
from reticent.tables.policy import Policy

PAPER = {
    "CRX": (40, 27, 15, 8, 6),
    "German": (496, 337, 174, 162, 161),
    "Adult": (1333, 786, 365, 324, 318),  # does not follow from the rule that the paper states
}
RULE_GIVES = {"Adult": (1992, 1238, 640, 537, 494)}
LEVELS = (10, 30, 50, 70, 90)


def counted(name: str) -> tuple[int, ...]:
    """What `reticent risk` counts above each level."""
    data = DATA_SETS[name]()
    sensitive = data.top_categorical
    promise = {
        "over": [column for column in data.categorical if column not in sensitive],
        "sensitive": {column: data.rarest_half(column) for column in sensitive},
        "at_most": "1/2",
    }
    policy = Policy.model_validate({"class": CLASS, "keep": "*", "confidence": [promise]})
    [template] = reticent.risk(data.table, policy).summary()["templates"]
    return tuple(template["above"].values())


def experiment(classifier: str = "tree") -> list[Claim]:
    kept = Kept("inference_counts")
    found = dict(zip(PAPER, each(counted, PAPER), strict=True))
    rows = [
        (name, h, *pair)
        for name in PAPER
        for h, *pair in zip(LEVELS, PAPER[name], found[name], strict=True)
    ]
    kept.table(["data", "h", "paper", "ours"], rows)
    drawn = [Series(name, list(zip(LEVELS, found[name], strict=True))) for name in PAPER]
    kept.chart("Inferences above a confidence, unmasked", "h, %", drawn, y_label="inferences")
    claims = []
    for name, paper in PAPER.items():
        said, ours = (" ".join(map(str, counts)) for counts in (paper, found[name]))
        same = found[name] == paper
        if not same and found[name] == RULE_GIVES.get(name):
            said += ", against its own rule"
        size = len(DATA_SETS[name]().top_categorical)
        claims.append(Claim(f"{name} Top{size}, inferences above h", said, ours, same))
    return kept.claims(claims)


if __name__ == "__main__":
    run(experiment)
