"""What an evaluation comes to: how good the order of results is, for whom, at which share told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from reticent.releases.facts import seconds
from reticent.releases.spoken import Spoken
from reticent.search.evaluation.experiment import (
    FORMS,
    FUSIONS,
    GROUPS,
    AskedQuery,
    ClusteringRun,
    Group,
    QueryForm,
)
from reticent.search.evaluation.measuring import (
    MeanWithInterval,
    mean_over_users,
    over_clusterings,
)
from reticent.search.ranking import Fusion

RATIOS = tuple(
    Fraction(percent, 100) for percent in (5, 10, 15, 20, 25, 30, 40, 50, 60, 75, 100)
)  # fmt: skip
FEW = 10  # users of whom an interval says little
_SAME = 1e-9  # of two APs


@dataclass(frozen=True, slots=True)
class ClusteringGain:
    """What the users of one clustering gained."""

    group: Group
    form: QueryForm
    fusion: Fusion
    ratio: Fraction  # of the profile, that was asked for
    seed: int
    users: int
    queries: int
    engine: float  # AP
    gain: MeanWithInterval
    better: float  # share of queries
    worse: float


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The same over all clusterings."""

    group: Group
    form: QueryForm
    fusion: Fusion
    ratio: Fraction
    reached: float  # the ratio that came of it, on average
    queries: int
    engine: float
    gain: MeanWithInterval
    better: float
    worse: float
    users: int  # of the clustering with the fewest
    above_zero: int  # clusterings whose interval is
    below_zero: int
    clusterings: int


@dataclass(frozen=True, slots=True, repr=False)
class EvaluatedSearch(Spoken):
    """What telling a part of a profile is worth, on one collection."""

    parts: Sequence[str]
    documents: int
    queries: int
    language: str
    ratios: tuple[Fraction, ...]
    runs: tuple[ClusteringRun, ...] = field(repr=False)
    gains: tuple[ClusteringGain, ...] = field(repr=False)
    curve: tuple[CurvePoint, ...] = field(repr=False)
    seconds: Mapping[str, float] = field(repr=False)
    notes: tuple[str, ...] = ()
    output: str | None = None

    def point(
        self, group: Group, form: QueryForm, fusion: Fusion, ratio: Fraction | float | str = 1
    ) -> CurvePoint | None:
        """One point of the curve; None where nobody asked that."""
        at = Fraction(str(ratio))
        return next(
            (
                one
                for one in self.curve
                if (one.group, one.form, one.fusion, one.ratio) == (group, form, fusion, at)
            ),
            None,
        )

    def line(self, group: Group, form: QueryForm, fusion: Fusion) -> list[CurvePoint]:
        """A curve, from what is told least to what is told most."""
        return [
            one for one in self.curve if (one.group, one.form, one.fusion) == (group, form, fusion)
        ]

    def summary(self) -> dict[str, Any]:
        """All there is to say: a collection is nobody's private data."""
        return {
            "collection": list(self.parts),
            "documents": self.documents,
            "judged_queries": self.queries,
            "language": self.language,
            "clusterings": [
                {
                    "seed": run.seed, "users": run.users, "users_with_three_interests": run.several,
                    "folds": run.trials, "folds_left_out": run.left_out,
                }
                for run in self.runs
            ],
            "curve": [point_data(one) for one in self.curve],
            "seconds": seconds(self.seconds),
            "output": self.output,
        }  # fmt: skip

    def _says(self, words: Any) -> str:
        said: str = words.evaluated(self)
        return said


def point_data(one: CurvePoint) -> dict[str, Any]:
    """A point as plain data."""
    return {
        "group": one.group,
        "form": one.form,
        "fusion": one.fusion,
        "ratio": float(one.ratio),
        "reached": round(one.reached, 4),
        "queries": one.queries,
        "engine_ap": round(one.engine, 4),
        "gain": round(one.gain.mean, 4),
        "low": round(one.gain.low, 4),
        "high": round(one.gain.high, 4),
        "better": round(one.better, 4),
        "worse": round(one.worse, 4),
        "clusterings": one.clusterings,
        "above_zero": one.above_zero,
        "below_zero": one.below_zero,
    }


def gain_data(one: ClusteringGain) -> dict[str, Any]:
    """What one clustering gained as plain data."""
    return {
        "group": one.group,
        "form": one.form,
        "fusion": one.fusion,
        "ratio": float(one.ratio),
        "seed": one.seed,
        "users": one.users,
        "queries": one.queries,
        "engine_ap": round(one.engine, 4),
        "gain": round(one.gain.mean, 4),
        "low": round(one.gain.low, 4),
        "high": round(one.gain.high, 4),
        "better": round(one.better, 4),
        "worse": round(one.worse, 4),
    }


def told(found: MeanWithInterval, users: int = FEW) -> str:
    """A gain with its interval, and of how few users that is.

    >>> told(MeanWithInterval(0.0561, 0.021, -0.0004))
    '+0.056 (+0.021 to -0.000)'
    >>> told(MeanWithInterval(0.1, 0.05, 0.2), users=3)
    '+0.100 (+0.050 to +0.200, of 3 users)'
    """
    return f"{found.mean:+.3f} ({found.low:+.3f} to {found.high:+.3f}{few(users)})"


def few(users: int) -> str:
    """What has to stand beside an interval over so few users that it is too narrow."""
    return f", of {users} users" if users < FEW else ""


def gains_of(runs: Sequence[ClusteringRun], ratios: Sequence[Fraction]) -> list[ClusteringGain]:
    """Every mean of every clustering with two users or more, and its interval over them."""
    found = []
    for run in runs:
        for group in GROUPS:
            for form in FORMS:
                asked = [one for one in run.asked if (one.group, one.form) == (group, form)]
                if len({one.user for one in asked}) > 1:  # of one user there is no interval
                    found += _gains(run, group, form, asked, ratios)
    return found


def _gains(
    run: ClusteringRun,
    group: Group,
    form: QueryForm,
    asked: Sequence[AskedQuery],
    ratios: Sequence[Fraction],
) -> list[ClusteringGain]:
    engine = np.array([one.engine for one in asked])
    users = [one.user for one in asked]
    every = np.array([one.found for one in asked])  # query, fusion, ratio
    found = []
    for row, fusion in enumerate(FUSIONS):
        for column, ratio in enumerate(ratios):
            gain = every[:, row, column] - engine
            found.append(
                ClusteringGain(
                    group, form, fusion, ratio, run.seed, len(set(users)), len(asked),
                    float(engine.mean()), mean_over_users(gain, users, run.seed),
                    float((gain > _SAME).mean()), float((gain < -_SAME).mean()),
                )
            )  # fmt: skip
    return found


def curve_of(
    gains: Sequence[ClusteringGain], runs: Sequence[ClusteringRun], ratios: Sequence[Fraction]
) -> list[CurvePoint]:
    """The means over all clusterings, point by point."""
    found = []
    for group in GROUPS:
        reached = np.mean([run.reached[group] for run in runs], axis=0)
        for form in FORMS:
            for fusion in FUSIONS:
                for column, ratio in enumerate(ratios):
                    key = (group, form, fusion, ratio)
                    some = [g for g in gains if (g.group, g.form, g.fusion, g.ratio) == key]
                    if some:
                        found.append(_point(some, float(reached[column])))
    return found


def _point(some: Sequence[ClusteringGain], reached: float) -> CurvePoint:
    first = some[0]
    return CurvePoint(
        first.group, first.form, first.fusion, first.ratio, reached,
        sum(one.queries for one in some),
        float(np.mean([one.engine for one in some])),
        over_clusterings([one.gain for one in some]),
        float(np.mean([one.better for one in some])),
        float(np.mean([one.worse for one in some])),
        min(one.users for one in some),
        sum(one.gain.low > 0 for one in some),
        sum(one.gain.high < 0 for one in some),
        len(some),
    )  # fmt: skip
