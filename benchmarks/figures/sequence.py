"""Fung 2007, chapter 6: Adult released twice, and what the second release costs a classifier.

The Immigration view T2 is out as it is: marital-status, relationship, sex, native-country, race.
Now the Taxation view T1 is to follow: marital-status, relationship and sex again, by which anybody
joins the two, education, occupation, workclass and the class (set A), and in set B the six
continuous attributes as well. The join must keep the promise, and only T1 can be masked.

    BLE  unmodified T1                        XYE  ours, counting the records of T1 (Y = K1)
    RJE  T1 without the join attributes       row  ours, counting joined rows (Y = {K1, K2})
    KAE  T1 alone made k-anonymous, over all  RSE  T1 without the sensitive attributes
    XYD, KAD  the distortion of a record: levels climbed, or the share of the range

The figures are drawings, so only the numbers in the text stand beside ours. Means are over k, or h.
The paper's own search comes first; "default" is what the product does unless told otherwise.

Where the thesis is silent, or says what a policy here cannot:

1. The taxonomies are lost; ours are those of the other figures, see `adult_generalized`.
2. Which TopN set B has is not told. Here N is 3 to 7, and X always holds the join attributes. What
   stands in no X stays as it is.
3. Y = {K1, K2} counts joined rows, which is what a template without `of` counts.
4. With X over all of T1, a group counts as many records of T1 in the join as alone: Top6 of set A
   is k-anonymity of T1, to the letter. The thesis reports a benefit even there.
5. Confidence: X is T1 without Y, and T2's side of the join attributes left in it. From Top3 on all
   join attributes are in Y, no column of T2 is left in X, and a policy measures such a template on
   T1 alone; the thesis weighs each record by its matches.
6. A value that is too sure in the most masked state already can be promised to nobody; the thesis
   does not say what it did then. Such values are left out at that h, and counted.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from datasets import CLASS, adult
from experiment import (
    THE_PAPERS,
    Claim,
    Kept,
    anonymized,
    each,
    error,
    level,
    mask_of,
    run,
    shown,
    span,
)  # fmt: skip
from reticent.errors import Unsatisfiable
from reticent.files.tabular import from_arrow
from reticent.pages.curves import Series
from reticent.tables import flow
from reticent.tables.evidence.aligned import AlignedRows
from reticent.tables.evidence.loss import losses
from reticent.tables.report import Release

JOIN = ("marital-status", "relationship", "sex")
IMMIGRATION = (*JOIN, "native-country", "race")
CATEGORIES = (*JOIN, "education", "occupation", "workclass")  # as the thesis ranks them
NUMBERS = (
    "age", "capital-gain", "capital-loss", "education-num", "fnlwgt", "hours-per-week",
)  # fmt: skip
TAXATION = {"A": CATEGORIES, "B": (*NUMBERS, *CATEGORIES)}
TOPS = {"A": (3, 4, 5, 6), "B": (3, 4, 5, 6, 7)}
KS = (40, 80, 120, 160, 200)
SECRETS = (1, 2, 3, 4)
LEVELS = ("0.1", "0.3", "0.5", "0.7", "0.9")
PERSON = "person"  # a key of both tables, published by neither
THEIRS = "immigration"  # the release that is out
GOALS: dict[str, dict[str, str]] = {"paper": THE_PAPERS, "default": {}}


# --- the two tables ---------------------------------------------------------------------------


def top(view: str, size: int) -> list[str]:
    """X of T1: the top attributes by the thesis' ranking, and those that join."""
    ranked = adult().top[:7] if view == "B" else CATEGORIES
    return list(dict.fromkeys((*ranked[:size], *JOIN)))


@cache
def taxation(view: str) -> pa.Table:
    """T1, with a key."""
    return _with_key(adult().table.select([*TAXATION[view], CLASS]))


def write_immigration(path: Path) -> None:
    """T2, as it is."""
    pa.csv.write_csv(_with_key(adult().table.select(list(IMMIGRATION))), path)


def _with_key(table: pa.Table) -> pa.Table:
    keys = pa.array([f"p{row}" for row in range(table.num_rows)])
    return table.append_column(PERSON, keys)


def qualified(columns: Iterable[str]) -> list[str]:
    return [f"{THEIRS}.{name}" for name in columns]


# --- releases ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Job:
    """One release: of which view, over how many top attributes, how strict, and how searched."""

    earlier: str  # the file of T2
    classifier: str
    view: str
    size: int
    level: str
    how: str = "paper"
    counted: str = "records"  # or "rows", of the join


@dataclass(frozen=True, slots=True)
class Cost:
    """What a release cost."""

    error: float
    categories: float  # distortion of a record
    numbers: float
    joins_hidden: bool  # every join attribute shows its topmost value only
    impossible: int  # sensitive values that could not be promised
    seconds: float

    @property
    def distortion(self) -> float:
        return self.categories + self.numbers


def cost(release: Release, job: Job, seconds: float, impossible: int = 0) -> Cost:
    wrong = error(shown(release), adult().for_testing(), TAXATION[job.view], job.classifier)
    columns = losses(AlignedRows.of(release.prepared, release.recodings))["columns"]
    lost = {name: float(each["distortion"]) for name, each in columns.items()}
    labels = release.cuts
    return Cost(
        wrong,
        sum(lost[name] for name in lost if name in CATEGORIES),
        sum(lost[name] for name in lost if name in NUMBERS),
        all(len(labels.get(name, ("as", "is"))) == 1 for name in JOIN),
        impossible,
        seconds,
    )


def sequential(job: Job, masked: Sequence[str], **promises: Any) -> Release:
    """Release T1 after T2."""
    policy = {
        "class": CLASS,
        "keep": "*",
        "drop": [PERSON],
        "goal": GOALS[job.how],
        "attributes": {name: mask_of(name) for name in masked},
        "previous": {THEIRS: {"path": job.earlier, "drop": [PERSON]}},
        **promises,
    }
    return flow.release(taxation(job.view), policy)


def anonymous(job: Job) -> Cost:
    """X is the top attributes of T1 and all of T2."""
    masked = top(job.view, job.size)
    template: dict[str, Any] = {"over": [*masked, *qualified(IMMIGRATION)], "k": int(job.level)}
    if job.counted == "records":
        template["of"] = [PERSON]
    begun = time.perf_counter()
    release = sequential(job, masked, anonymity=[template])
    return cost(release, job, time.perf_counter() - begun)


def alone(job: Job) -> Cost:
    """T1 as if there were no T2, over all its attributes."""
    begun = time.perf_counter()
    table = taxation(job.view).drop_columns([PERSON])
    release = anonymized(table, [TAXATION[job.view]], int(job.level), generalize=True)
    return cost(release, job, time.perf_counter() - begun)


def confident(job: Job) -> Cost:
    """Y is the top categories of T1, their rarer half; X the rest, as both tables tell it."""
    secret = {name: adult().rarest_half(name) for name in CATEGORIES[: job.size]}
    begun = time.perf_counter()
    try:
        release, left = bounded(job, secret), secret
    except Unsatisfiable:
        left = {name: [v for v in secret[name] if can_hide(job, name, v)] for name in secret}
        release = bounded(job, {name: values for name, values in left.items() if values})
    impossible = sum(map(len, secret.values())) - sum(map(len, left.values()))
    return cost(release, job, time.perf_counter() - begun, impossible)


def bounded(job: Job, secret: dict[str, list[str]]) -> Release:
    hidden = CATEGORIES[: job.size]
    masked = [name for name in TAXATION[job.view] if name not in hidden]
    over = [*masked, *qualified(name for name in JOIN if name not in hidden)]
    template = {"over": over, "sensitive": secret, "at_most": job.level}
    return sequential(job, masked, confidence=[template])


def can_hide(job: Job, name: str, value: str) -> bool:
    """Whether the most masked state hides a value."""
    try:
        bounded(job, {name: [value]})
    except Unsatisfiable:
        return False
    return True


# --- results ----------------------------------------------------------------------------------


def mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found)


def base(view: str, classifier: str, without: Sequence[str] = ()) -> float:
    """The error on unmodified data, or on what is left of them."""
    left = [name for name in TAXATION[view] if name not in without]
    return error(from_arrow(taxation(view)), adult().for_testing(), left, classifier)


@dataclass(frozen=True, slots=True)
class Anonymity:
    """All that was found of one view, each as a mean over k."""

    view: str
    ble: float
    rje: float
    found: dict[tuple[int, str, str, str], Cost]  # by size, k, how, counted
    kept_alone: dict[str, Cost]  # by k

    def costs(self, size: int, how: str = "paper", counted: str = "records") -> list[Cost]:
        return [self.found[size, str(k), how, counted] for k in KS]

    def errors(self, how: str = "paper", counted: str = "records") -> list[float]:
        return [mean(c.error for c in self.costs(n, how, counted)) for n in TOPS[self.view]]

    @property
    def kae(self) -> float:
        return mean(c.error for c in self.kept_alone.values())

    @property
    def kad(self) -> float:
        return mean(c.distortion for c in self.kept_alone.values())

    def rows(self) -> Iterable[list[Any]]:
        for size in TOPS[self.view]:
            for k in map(str, KS):
                one, otherwise, row = (
                    self.found[size, k, how, counted]
                    for how, counted in (
                        ("paper", "records"), ("default", "records"), ("paper", "rows"),
                    )
                )  # fmt: skip
                ka = self.kept_alone[k]
                yield [
                    size, int(k), self.ble, self.rje, ka.error, one.error, row.error,
                    otherwise.error, ka.categories, ka.numbers, one.categories, one.numbers,
                    max(one.seconds, row.seconds), otherwise.seconds,
                ]  # fmt: skip

    def draw(self, kept: Kept) -> None:
        sizes = TOPS[self.view]
        kept.chart(
            f"Set {self.view}, anonymity: mean error over k",
            "top attributes of T1 in X",
            [
                level(sizes, self.rje, "RJE"),
                level(sizes, self.kae, "KAE"),
                Series("XYE, papers' search", list(zip(sizes, self.errors(), strict=True))),
                Series("XYE", list(zip(sizes, self.errors("default"), strict=True))),
                level(sizes, self.ble, "BLE"),
            ],
            part=f"anonymity-{self.view.lower()}",
        )


ANONYMITY = [
    "top", "k", "BLE", "RJE", "KAE", "XYE", "XYE row", "XYE default", "KAD categories",
    "KAD numbers", "XYD categories", "XYD numbers", "seconds", "seconds default",
]  # fmt: skip
CONFIDENCE = [
    "top", "h", "BLE", "RJE", "RSE", "XYE", "XYE default", "impossible", "seconds",
    "seconds default",
]  # fmt: skip


def measure_anonymity(view: str, earlier: str, classifier: str, kept: Kept) -> Anonymity:
    jobs = [
        Job(earlier, classifier, view, size, str(k), how, counted)
        for how, counted in (("paper", "records"), ("paper", "rows"), ("default", "records"))
        for size in TOPS[view]
        for k in KS
    ]
    costs = {
        (job.size, job.level, job.how, job.counted): one
        for job, one in zip(jobs, each(anonymous, jobs), strict=True)
    }
    plain = [Job(earlier, classifier, view, 0, str(k)) for k in KS]
    found = Anonymity(
        view,
        base(view, classifier),
        base(view, classifier, JOIN),
        costs,
        {j.level: c for j, c in zip(plain, each(alone, plain), strict=True)},
    )
    kept.table(ANONYMITY, found.rows(), f"anonymity-{view.lower()}")
    found.draw(kept)
    return found


@dataclass(frozen=True, slots=True)
class Confidence:
    """The same of the other promise, with means over h."""

    view: str
    ble: float
    rje: float
    rse: dict[int, float]
    found: dict[tuple[int, str, str], Cost]  # by size, h, how

    def errors(self, how: str = "paper") -> list[float]:
        return [mean(self.found[n, h, how].error for h in LEVELS) for n in SECRETS]

    def rows(self) -> Iterable[list[Any]]:
        for size in SECRETS:
            for h in LEVELS:
                ours = self.found[size, h, "paper"]
                otherwise = self.found[size, h, "default"]
                yield [
                    size, h, self.ble, self.rje, self.rse[size], ours.error, otherwise.error,
                    ours.impossible, ours.seconds, otherwise.seconds,
                ]  # fmt: skip

    def draw(self, kept: Kept) -> None:
        kept.chart(
            f"Set {self.view}, confidence: mean error over h",
            "top attributes of T1 that are sensitive",
            [
                level(SECRETS, self.rje, "RJE"),
                Series("RSE", [(size, self.rse[size]) for size in SECRETS]),
                Series("XYE, papers' search", list(zip(SECRETS, self.errors(), strict=True))),
                Series("XYE", list(zip(SECRETS, self.errors("default"), strict=True))),
                level(SECRETS, self.ble, "BLE"),
            ],
            part=f"confidence-{self.view.lower()}",
        )


def measure_confidence(view: str, earlier: str, classifier: str, kept: Kept) -> Confidence:
    jobs = [
        Job(earlier, classifier, view, size, h, how)
        for how in GOALS
        for size in SECRETS
        for h in LEVELS
    ]
    costs = each(confident, jobs)
    found = Confidence(
        view,
        base(view, classifier),
        base(view, classifier, JOIN),
        {size: base(view, classifier, CATEGORIES[:size]) for size in SECRETS},
        {(j.size, j.level, j.how): c for j, c in zip(jobs, costs, strict=True)},
    )
    kept.table(CONFIDENCE, found.rows(), f"confidence-{view.lower()}")
    found.draw(kept)
    return found


# --- what the thesis says ---------------------------------------------------------------------


def bases(view: str, ble: float, rje: float) -> list[Claim]:
    paper = {"A": (17.5, 22.3), "B": (14.7, 17.3)}[view]
    return [
        Claim(f"Sequential {view}: BLE", f"{paper[0]} %", f"{ble:.1f} %", ble <= paper[0] + 0.05),
        Claim(f"Sequential {view}: RJE, no join attributes", f"{paper[1]} %", f"{rje:.1f} %", None),
    ]


def anonymity_a(found: Anonymity) -> list[Claim]:
    what = "Sequential A, anonymity, k 40-200"
    ours, default = found.errors(), found.errors("default")
    most, most_default = max(ours) - found.ble, max(default) - found.ble
    lost = [a - b for a, b in zip(ours, found.errors(counted="rows"), strict=True)]
    benefits = [found.kad - mean(c.distortion for c in found.costs(n)) for n in TOPS["A"]]
    return [
        Claim(f"{what}: XYE-BLE", "at most 0.9", f"at most {most:.1f}", round(most, 1) <= 0.9),
        Claim(
            f"{what}: XYE-BLE, default search",
            "at most 0.9",
            f"at most {most_default:.1f}",
            round(most_default, 1) <= 0.9,
        ),
        Claim(f"{what}: XYE-XYE(row)", "at most 0.2", f"at most {max(lost):.1f}", max(lost) <= 0.2),
        Claim(
            f"{what}: RJE-XYE",
            "3.9 to 4.9",
            span(found.rje - e for e in ours),
            round(found.rje - max(ours), 1) >= 3.9,
        ),
        Claim(f"{what}: KAE", "18.4 %", f"{found.kae:.1f} %", None),
        Claim(f"{what}: KAD", "9.23", f"{found.kad:.2f}", None),
        Claim(
            f"{what}: KAD-XYD, Top6 to Top3", "1 to 7.16", span(benefits, ".2f"),
            min(benefits) >= 1,
        ),
    ]  # fmt: skip


def anonymity_b(found: Anonymity) -> list[Claim]:
    what = "Sequential B, anonymity, k 40-200"
    ours, default = found.errors(), found.errors("default")
    cost, otherwise = mean(ours) - found.ble, mean(default) - found.ble
    lost = [a - b for a, b in zip(ours, found.errors(counted="rows"), strict=True)]
    every = [c for n in TOPS["B"] for c in found.costs(n)]
    hidden = sum(c.joins_hidden for c in every)
    parts = [
        mean(getattr(c, part) for c in found.kept_alone.values())
        - mean(getattr(c, part) for c in every)
        for part in ("categories", "numbers")
    ]
    return [
        Claim(f"{what}: XYE-BLE, mean", "0.75", f"{cost:.2f}", cost <= 0.75),
        Claim(f"{what}: XYE-BLE, mean, default search", "0.75",
              f"{otherwise:.2f}", otherwise <= 0.75),
        Claim(f"{what}: XYE-XYE(row)", "0", span(lost), max(map(abs, lost)) < 0.05),
        Claim(f"{what}: join attributes all masked", "always", f"{hidden} of {len(every)}", None),
        Claim(f"{what}: KAE, mean", "18.2 %", f"{found.kae:.1f} %", None),
        Claim(f"{what}: KAE-XYE", "more than in A", span(found.kae - e for e in ours), None),
        Claim(f"{what}: RJE-XYE", "less than in A", span(found.rje - e for e in ours), None),
        Claim(f"{what}: KAD-XYD, categories", "very significant", f"{parts[0]:.2f}", None),
        Claim(f"{what}: KAD-XYD, numbers", "very significant", f"{parts[1]:.2f}", None),
    ]  # fmt: skip


def confidence_claims(found: Confidence) -> list[Claim]:
    what = f"Sequential {found.view}, confidence, h 10-90 %"
    ours = found.errors()
    removed = [found.rse[n] - e for n, e in zip(SECRETS, ours, strict=True)]
    joins = [found.rje - e for e in ours]
    rse, rje, at_most = {
        "A": ((-0.2, 5.6), (4.1, 4.5), 0.7),
        "B": ((0.1, 1.9), (0.7, 2.6), 1.1),
    }[found.view]
    word, of_tops = ("at most", max) if found.view == "A" else ("mean", mean)
    said = []
    for how in ("paper", "default"):
        errors, aside = found.errors(how), ", default search" if how == "default" else ""
        lost = of_tops(errors) - found.ble
        mine = f"{word} {lost:.1f} (XYE {span(errors)} %)"
        said.append(
            Claim(f"{what}: XYE-BLE{aside}", f"{word} {at_most}", mine, round(lost, 1) <= at_most)
        )
    low, high = rse
    said.append(Claim(f"{what}: RSE-XYE", f"{low} to {high}", span(removed), min(removed) >= low))
    low, high = rje
    said.append(Claim(f"{what}: RJE-XYE", f"{low} to {high}", span(joins), min(joins) >= low))
    impossible = sum(found.found[n, h, "paper"].impossible for n in SECRETS for h in LEVELS)
    said.append(Claim(f"{what}: values left out as impossible", "not told", str(impossible), None))
    return said


def seconds(costs: Iterable[Cost], what: str, bar: int) -> Claim:
    taken = max(one.seconds for one in costs)
    return Claim(f"{what}: seconds", f"less than {bar}", f"at most {taken:.1f}", taken < bar)


def show(names: Sequence[str], rows: Iterable[Sequence[Any]], title: str) -> None:
    """The means of a table over its second column, by its first."""
    groups: dict[Any, list[Sequence[Any]]] = {}
    for row in rows:
        groups.setdefault(row[0], []).append(row)
    columns = [0, *range(2, len(names))]
    print(f"{title}: means over {names[1]}")
    print("  ".join(names[i] for i in columns))
    for size, some in groups.items():
        means = [f"{mean(float(row[i]) for row in some):.2f}" for i in columns[1:]]
        cells = zip([str(size), *means], columns, strict=True)
        print("  ".join(cell.rjust(len(names[i])) for cell, i in cells))
    print()


def experiment(classifier: str = "tree") -> list[Claim]:
    kept = Kept("sequence", classifier)
    claims: list[Claim] = []
    with tempfile.TemporaryDirectory() as place:
        earlier = Path(place, "immigration.csv")
        write_immigration(earlier)
        for view, said in (("A", anonymity_a), ("B", anonymity_b)):
            found = measure_anonymity(view, str(earlier), classifier, kept)
            show(ANONYMITY, found.rows(), f"Set {view}, anonymity")
            claims += [*bases(view, found.ble, found.rje), *said(found)]
            claims.append(seconds(found.found.values(), f"Sequential {view}, anonymity", 30))
        for view, bar in (("A", 20), ("B", 450)):
            bound = measure_confidence(view, str(earlier), classifier, kept)
            show(CONFIDENCE, bound.rows(), f"Set {view}, confidence")
            claims += confidence_claims(bound)
            claims.append(seconds(bound.found.values(), f"Sequential {view}, confidence", bar))
    return kept.claims(claims)


if __name__ == "__main__":
    run(experiment)
