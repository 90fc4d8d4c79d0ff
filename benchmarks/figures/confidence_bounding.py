"""Fung 2007, figures 5.3-5.5: what bounding the confidence of inferences costs a classifier.

Only categorical attributes. N of them are sensitive: the top ones, or random ones (30 sets). The
rarer half of their values must not be inferred from all other attributes with more confidence
than h, and what would help to is suppressed. Errors are means over h.

A value that more than h of all records hold can be inferred from nothing at all, whatever is
suppressed: no release keeps that promise. The paper does not say what it did then. Here such
values are left out of the promise at that h; the CSV files say how many.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from datasets import CLASS, DATA_SETS, DataSet
from experiment import (
    SPLITS,
    Claim,
    Errors,
    Kept,
    bounded,
    each,
    errors,
    level,
    run,
    shown,
    span,
    unmasked,
)  # fmt: skip
from reticent.pages.curves import Series

LEVELS = {
    "Adult": ("0.1", "0.3", "0.5", "0.7", "0.9"),
    "CRX": ("0.5", "0.7", "0.9"),
    "German": ("0.3", "0.5", "0.7", "0.9"),
}
RANDOM = 30
Names = tuple[str, ...]
Job = tuple[str, Names, str]  # data set, sensitive attributes, classifier


@dataclass(frozen=True, slots=True)
class Suppressed:
    """The error of releases at every level, and how many promises could not be made."""

    se: Errors
    promises: int
    impossible: int


@dataclass(frozen=True, slots=True)
class Point:
    """The errors of one set size; each on the papers' split and as a mean over several."""

    kind: str  # "Top" or "Ran"
    size: int
    be: Errors
    se: Errors
    re: Errors
    promises: int
    impossible: int

    def cells(self) -> list[object]:
        both = [error for pair in zip(self.be, self.se, self.re, strict=True) for error in pair]
        return [self.kind, self.size, *both, self.promises, self.impossible]


def removed(job: Job) -> Errors:
    """The error without the sensitive attributes: RE, and BE if there are none."""
    name, sensitive, classifier = job
    data = DATA_SETS[name]()
    left = [column for column in data.categorical if column not in sensitive]
    return errors(data, unmasked(data), left, classifier)


def suppressed(job: Job) -> Suppressed:
    """SE, and what it was about."""
    name, sensitive, classifier = job
    data = DATA_SETS[name]()
    table = data.table.select([*data.categorical, CLASS])
    over = [column for column in data.categorical if column not in sensitive]
    promises = sum(len(data.rarest_half(column)) for column in sensitive)
    found, kept = [], 0
    for at_most in LEVELS[name]:
        bound = bounds(data, sensitive, at_most)
        view = shown(bounded(table, [over], bound, at_most)) if bound else unmasked(data)
        found.append(errors(data, view, data.categorical, classifier))
        kept += sum(map(len, bound.values()))
    asked = promises * len(LEVELS[name])
    return Suppressed(mean(found), asked, asked - kept)


def bounds(data: DataSet, sensitive: Names, at_most: str) -> dict[str, list[str]]:
    """The values of each attribute that can be promised to be hard to infer."""
    asked = {column: data.rarest_half(column) for column in sensitive}
    kept = {column: keepable(data, column, values, at_most) for column, values in asked.items()}
    return {column: values for column, values in kept.items() if values}


def keepable(data: DataSet, column: str, values: list[str], at_most: str) -> list[str]:
    """The values that few enough of all records hold."""
    counts = Counter(data.table.column(column).to_pylist())
    return [v for v in values if Fraction(counts[v], data.table.num_rows) <= Fraction(at_most)]


def mean(found: list[Errors]) -> Errors:
    one, several = zip(*found, strict=True)
    return float(np.mean(one)), float(np.mean(several))


def sets_of(data: DataSet, classifier: str) -> dict[tuple[str, int], list[Names]]:
    """The sets of sensitive attributes, by kind and size."""
    sizes = range(1, len(data.top_categorical) + 1)
    sets = {("Top", size): [data.top_categorical[:size]] for size in sizes}
    if classifier != "tree":  # a second opinion is slow, and the random sets are many
        return sets
    for size in sizes:
        rng = np.random.default_rng([5, size])
        drawn = [rng.choice(data.categorical, size, replace=False) for _ in range(RANDOM)]
        sets["Ran", size] = [tuple(sorted(map(str, names))) for names in drawn]
    return sets


def measure(name: str, classifier: str, kept: Kept) -> list[Point]:
    sets = sets_of(DATA_SETS[name](), classifier)
    jobs = [(name, names, classifier) for names in sorted({n for s in sets.values() for n in s})]
    be, *res = each(removed, [(name, (), classifier), *jobs])
    re = {job[1]: error for job, error in zip(jobs, res, strict=True)}
    se = {job[1]: error for job, error in zip(jobs, each(suppressed, jobs), strict=True)}
    points = [
        Point(
            kind, size, be, mean([se[names].se for names in some]),
            mean([re[names] for names in some]),
            sum(se[names].promises for names in some), sum(se[names].impossible for names in some),
        )
        for (kind, size), some in sets.items()
    ]  # fmt: skip
    heads = ["sets", "N", "BE", "SE", "RE", "BE mean", "SE mean", "RE mean"]
    kept.table(
        [*heads, "promises", "impossible"], [point.cells() for point in points], name.lower()
    )
    for kind in dict.fromkeys(point.kind for point in points):
        draw(name, [point for point in points if point.kind == kind], kept)
    return points


def draw(name: str, points: list[Point], kept: Kept) -> None:
    kind = points[0].kind
    how = "" if name == "Adult" else f" and {SPLITS} splits"
    kept.chart(
        f"{name}, {kind}N sensitive: mean error over h{how}",
        "N",
        [
            Series("RE", [(point.size, point.re[1]) for point in points]),
            Series("SE", [(point.size, point.se[1]) for point in points]),
            level([point.size for point in points], points[0].be[1], "BE"),
        ],
        part=f"{name.lower()}-{kind.lower()}",
    )


def claims(name: str, points: list[Point]) -> list[Claim]:
    """What the paper says of the top attributes, on one split and over several."""
    top = [point for point in points if point.kind == "Top"]
    said = []
    for which, how in enumerate(["one split"] if name == "Adult" else ["one split", "mean of 10"]):
        costs = [point.se[which] - point.be[which] for point in top]
        gains = [point.re[which] - point.se[which] for point in top]
        paper, within = VERDICTS[name](costs, gains)
        mine = f"at most {max(costs):.1f} (BE {top[0].be[which]:.1f})"
        said.append(Claim(f"{name} TopN, {how}: SE-BE", paper[0], mine, within[0]))
        spread = f"{min(gains):.1f} to {max(gains):.1f}, mean {np.mean(gains):.1f}"
        said.append(Claim(f"{name} TopN, {how}: RE-SE", paper[1], spread, within[1]))
    return [*said, *random_claims(name, points)]


def random_claims(name: str, points: list[Point]) -> list[Claim]:
    """What the paper says of random attributes: a number for CRX, a word for the others."""
    said = []
    chosen = [point for point in points if point.kind == "Ran"]
    for which, how in enumerate(["one split", "mean of 10"]):
        if not chosen or (name == "Adult" and which):
            break
        cost = max(point.se[which] - point.be[which] for point in chosen)
        gains = [point.re[which] - point.se[which] for point in chosen]
        paper, within = ("< 1.1", cost < 1.1) if name == "CRX" else ("similar to TopN", None)
        mine = f"at most {cost:.1f} (RE-SE {span(gains)})"
        said.append(Claim(f"{name} RanN, {how}: SE-BE", paper, mine, within))
    return said


Verdict = tuple[tuple[str, str], tuple[bool | None, bool | None]]


def _adult(costs: list[float], gains: list[float]) -> Verdict:
    return ("< 0.8 (BE 17.6)", "up to about 6"), (max(costs) < 0.8, max(gains) >= 5.5)


def _crx(costs: list[float], gains: list[float]) -> Verdict:
    return ("< 1.1 (BE 15.4)", "10.1 to 31.3"), (max(costs) < 1.1, min(gains) >= 10.1)


def _german(costs: list[float], gains: list[float]) -> Verdict:
    """The paper gives SE in words: close to RE, which is 36, for Top1, then about 31."""
    said = ("about 7 for Top1, then 2 (BE 28.8)", "4.3 on average")
    return said, (max(costs) <= 7 and max(costs[1:]) <= 2.5, float(np.mean(gains)) >= 4.3)


VERDICTS = {"Adult": _adult, "CRX": _crx, "German": _german}


def experiment(classifier: str = "tree") -> list[Claim]:
    kept = Kept("confidence_bounding", classifier)
    found = {name: measure(name, classifier, kept) for name in LEVELS}
    return kept.claims([claim for name in found for claim in claims(name, found[name])])


if __name__ == "__main__":
    run(experiment)
