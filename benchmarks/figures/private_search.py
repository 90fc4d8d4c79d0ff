"""What a profile is worth to its owner, how much of it has to be told, and what does better.

    python benchmarks/figures/private_search.py [--only curve|tried]

Source: paper 003, ch. 5, says that most of the gain is there with 20 to 30 % of a profile. There is
no public collection of personal documents with judged queries, so users are simulated (`reticent
search evaluate`, whose protocol and numbers these are) on the union of Cranfield, CISI and Medline.

    curve    gain in AP over the share that is told; clusterings 11 to 18, earlier ones were seen
    tried    what else might do better: chosen on one half of the users, reported on the other

**Halves.** Users of different clusterings are made of the same queries, so they cannot be dealt out
at random: half of the clusters of one clustering more (seed 10) are one half of the queries, and a
user belongs to the half that most of the user's queries belong to; of these only that half's count.

**What was tried**, all with whole profiles:

    sqrt of weights             a term that stands in many places of the tree counts less
    best branch                 of the branches below the root the one that is most alike (cosine)
                                to the engine's own first ten results
    all branches, by fit        the sum of all of them, weighed by the square of that likeness
    terms of the first ten      each term's weight times the share of the first ten that have it
    best of six profiles        documents dealt to six groups by k-means, a profile of each, and
                                the one most alike to the first ten
    six profiles, by fit        the sum of all six, weighed by that, squared, and by how many
                                documents of each have the query's words
    the right interest          nobody can know it: what an ideal choice would give
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datasets import NoData, folder
from experiment import RESULTS, Claim, Kept
from reticent.pages.drawing import standalone
from reticent.search.evaluation.experiment import FUSIONS, Group, QueryForm, SearchExperiment
from reticent.search.evaluation.flow import SEEDS, evaluate
from reticent.search.evaluation.judged import JudgedCollection, read_judged
from reticent.search.evaluation.measuring import (
    MeanWithInterval,
    average_precision,
    mean_over_users,
    over_clusterings,
)
from reticent.search.evaluation.pages import ASKED, WHO, curve_chart
from reticent.search.evaluation.report import RATIOS, EvaluatedSearch, gain_data, point_data
from reticent.search.evaluation.shelf import fused
from reticent.search.evaluation.users import (
    SimulatedUser,
    UserTrial,
    simulated_users,
    trials_of,
    users_of_several,
)
from reticent.search.exposing import exposure_levels, exposure_of
from reticent.search.index import LocalIndex, update_index
from reticent.search.profile import Profile
from reticent.search.ranking import Fusion
from reticent.search.words import Language

COLLECTIONS = ("cisi", "cranfield", "medline")
HALVES_SEED = 10  # of the clustering whose clusters are dealt to halves
GROUPS, LEAST = 6, 5  # of documents; documents of a group that is worth a profile
FIRST = 10  # results that tell what a query is about
ALPHAS = (Fraction(3, 10), Fraction(2, 5), Fraction(1, 2))
Vector = NDArray[np.float64]


def experiment(classifier: str = "tree") -> list[Claim]:
    """The curve alone; `classifier` is other experiments'."""
    found = evaluate(folder_of_three())
    kept = Kept("private_search")
    write_rows("private_search-curve.csv", map(point_data, found.curve))
    write_rows("private_search-clusterings.csv", map(gain_data, found.gains))
    forms: tuple[QueryForm, ...] = ("one", "two")
    for form in forms:
        chart = curve_chart(found, form)
        kept.path(".svg", form).write_text(standalone(chart), encoding="utf-8")
    write_rows("private_search-whom.csv", whom(found))
    for run in found.runs:
        print(f"seed {run.seed}: {run.users} users, {run.trials} folds, {run.left_out} left out")
    return kept.claims(list(claims(found)))


def folder_of_three() -> Path:
    """The data sets' folder, where it has the three."""
    for name in COLLECTIONS:
        if not (folder() / name).is_dir():
            raise NoData(f"{folder() / name} is not there: set RETICENT_DATA")
    return folder()


def claims(found: EvaluatedSearch) -> Iterator[Claim]:
    """What was to be shown, and what came out."""
    for fusion in FUSIONS:
        one = found.point("own", "one", fusion)
        assert one is not None
        yield Claim(
            f"One ambiguous word, whole profile, by {fusion}: gain over the engine",
            "bar: interval above 0 in 7 of 8",
            f"{said(one.gain)}, above 0 in {one.above_zero} of {one.clusterings}",
            one.above_zero >= one.clusterings - 1,
        )
    whole = found.point("own", "whole", "ranks")
    assert whole is not None
    yield Claim(
        "Whole queries, defaults", "bar: no harm beyond -0.005", said(whole.gain),
        whole.gain.mean >= -0.005,
    )  # fmt: skip
    forms: tuple[QueryForm, ...] = ("one", "two")
    groups: tuple[Group, ...] = ("several", "several, by branch")
    for group in groups:
        for form in forms:
            several = found.point(group, form, "ranks")
            assert several is not None
            yield Claim(
                f"{WHO[group]}, {ASKED[form]}", "bar: no harm",
                f"{said(several.gain)}, above 0 in {several.above_zero} of {several.clusterings}, "
                f"below in {several.below_zero}",
                several.below_zero == 0,
            )  # fmt: skip
    for fusion in FUSIONS:
        for form in forms:
            shares = kept_shares(found, form, fusion, Fraction(1, 4))
            mean = float(np.mean(shares))
            yield Claim(
                f"{ASKED[form]}, by {fusion}: share of the gain that a quarter keeps",
                "most of it",
                f"{mean:.0%} on average, {min(shares):.0%} to {max(shares):.0%}",
                mean > 0.5,
            )


BANDS = ((0.0, 0.1), (0.1, 0.3), (0.3, 0.6), (0.6, 1.0))  # of the engine's own AP


def whom(found: EvaluatedSearch) -> Iterator[dict[str, Any]]:
    """Gains by the collection that a query is of, and by how well the engine answers it alone."""
    queries = read_judged(folder_of_three()).queries
    rows = [
        (one.form, queries[one.query].name.split("/")[0], one.engine, one.found[0, -1] - one.engine)
        for run in found.runs
        for one in run.asked
        if one.group == "own" and one.form in ("one", "two")
    ]
    for form in ("one", "two"):
        for name in (*COLLECTIONS, "all"):
            for low, high in (*BANDS, (0.0, 1.0)):
                some = [
                    (engine, gain)
                    for asked, of, engine, gain in rows
                    if asked == form and name in (of, "all") and low <= engine
                    and (engine < high or high == 1)
                ]  # fmt: skip
                if some:
                    engine, gain = np.mean(some, axis=0)
                    yield {
                        "form": form, "collection": name, "engine_ap_from": low,
                        "engine_ap_below": high, "queries": len(some),
                        "engine_ap": f"{engine:.4f}", "gain": f"{gain:+.4f}",
                        "better": f"{np.mean([g > 1e-9 for _, g in some]):.4f}",
                        "worse": f"{np.mean([g < -1e-9 for _, g in some]):.4f}",
                    }  # fmt: skip


def kept_shares(
    found: EvaluatedSearch, form: QueryForm, fusion: Fusion, ratio: Fraction
) -> list[float]:
    """Of every clustering's gain with the whole profile, the share that is there with a part."""
    gain = {
        (one.seed, one.ratio): one.gain.mean
        for one in found.gains
        if (one.group, one.form, one.fusion) == ("own", form, fusion)
    }
    return [gain[run.seed, ratio] / gain[run.seed, Fraction(1)] for run in found.runs]


def said(gain: MeanWithInterval) -> str:
    return f"{gain.mean:+.3f} ({gain.low:+.3f} to {gain.high:+.3f})"


def write_rows(name: str, rows: Any) -> None:
    RESULTS.mkdir(exist_ok=True)
    every = list(rows)
    with (RESULTS / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*every[0]], lineterminator="\n")
        writer.writeheader()
        writer.writerows(every)


# --- What else was tried -------------------------------------------------------------------------


class Trying:
    """One collection, asked by users of both halves."""

    def __init__(self, judged: JudgedCollection, engine: LocalIndex) -> None:
        from sklearn.feature_extraction.text import TfidfTransformer

        self.language = Language("english")
        self.asking = SearchExperiment(judged, engine, self.language, RATIOS)
        self.weighed: Any = TfidfTransformer(sublinear_tf=True).fit_transform(
            self.asking.shelf.counts
        )
        self.half = halves(self.asking.terms)

    def measured(self, seed: int) -> Iterator[dict[str, Any]]:
        """Every query of every user, in every way."""
        users = simulated_users(self.asking.terms, seed)
        by_name = {user.name: user for user in users}
        for group, some in (("own", users), ("several", users_of_several(users))):
            for user in some:
                for trial in trials_of(user, self.asking.collection.queries)[0]:
                    ways = self.ways(trial, [by_name[name] for name in user.name.split("+")])
                    for query in trial.asked:
                        if group == "several" or self.half[query] == self.half_of(user):
                            for row in self.of_query(trial, query, ways):
                                yield {
                                    "group": group, "half": int(self.half[query]),
                                    "query": query, **row,
                                }  # fmt: skip

    def half_of(self, user: SimulatedUser) -> int:
        return int(self.half[list(user.queries)].mean() >= 0.5)

    def of_query(
        self, trial: UserTrial, query: int, ways: Mapping[str, Callable[..., Vector]]
    ) -> Iterator[dict[str, Any]]:
        forms: tuple[QueryForm, ...] = ("one", "two")
        for form in forms:
            given = self.asking.results(query, form, trial.read)
            if given is None:
                continue
            pages, scores, relevant = given
            before = average_precision(relevant)
            asked = self.language.terms(self.asking.asked_as[query, form])
            vectors = np.array([way(asked, query, pages) for way in ways.values()])
            for fusion in FUSIONS:
                worth = self.asking.shelf.scores(pages, vectors, fusion)
                for name, one in zip(ways, worth, strict=True):
                    for alpha in (
                        ALPHAS if name in ("whole profile", "sqrt of weights") else ALPHAS[1:2]
                    ):
                        order = fused(one, scores, alpha, fusion)
                        yield {
                            "way": name, "alpha": float(alpha), "form": form, "fusion": fusion,
                            "seed": trial.user.seed, "user": trial.user.name,
                            "gain": average_precision(relevant[order]) - before,
                        }  # fmt: skip

    def ways(
        self, trial: UserTrial, interests: Sequence[SimulatedUser]
    ) -> dict[str, Callable[..., Vector]]:
        """Weights of terms, given a query and the engine's results for it."""
        whole, branches = self.told(self.asking.profile_of(trial.read))
        found = [
            (group, weights)
            for group in self.groups(trial.read)
            for weights in [self.told(self.asking.profile_of(group))[0]]
            if weights.any()
        ]
        profiles = np.array([weights for _, weights in found])
        stands = np.array([self.stands(group) for group, _ in found])
        right = {
            query: self.right_interest(trial, user, whole)
            for user in interests
            for query in user.queries
            if query in trial.asked
        }

        def six_by_fit(asked: Sequence[str], query: int, pages: Any) -> Vector:
            if not len(profiles):
                return whole
            columns = [self.asking.shelf.number[t] for t in asked
                       if t in self.asking.shelf.number]  # fmt: skip
            known = stands[:, columns].mean(axis=1)
            known = known / known.max() if known.any() else known
            weighed: Vector = ((known + 0.1) * self.fit(pages, profiles) ** 2) @ unit(profiles)
            return weighed

        return {
            "whole profile": lambda asked, query, pages: whole,
            "sqrt of weights": lambda asked, query, pages: np.sqrt(whole),
            "best branch": lambda asked, query, pages: self.best(pages, branches, whole),
            "all branches, by fit": lambda asked, query, pages: (
                self.fit(pages, branches) ** 2 @ branches if len(branches) else whole
            ),
            "terms of the first ten": lambda asked, query, pages: (
                whole * self.stands(pages[:FIRST])
            ),
            "best of six profiles": lambda asked, query, pages: self.best(pages, profiles, whole),
            "six profiles, by fit": six_by_fit,
            "the right interest": lambda asked, query, pages: right.get(query, whole),
        }

    def told(self, profile: Profile) -> tuple[Vector, Vector]:
        """The weights of a whole profile, and those of each branch of it."""
        levels = exposure_levels(profile)

        def vector(weights: Mapping[str, float]) -> Vector:
            found: Vector = self.asking.shelf.vectors([weights]).toarray()[0]
            return found

        exposure = exposure_of(profile, levels, frozenset())
        branches = [vector(part.weights()) for _, part in exposure.branches()]
        return vector(exposure.exposed.weights()), np.array(branches)

    def right_interest(self, trial: UserTrial, user: SimulatedUser, whole: Vector) -> Vector:
        queries = self.asking.collection.queries
        others = set(user.queries) - set(trial.asked)
        answers = frozenset[int]().union(*(queries[i].relevant for i in others))
        read = sorted(answers & set(trial.read))
        if len(others) + len(trial.asked) == len(trial.user.queries) or len(read) < LEAST:
            return whole
        return self.told(self.asking.profile_of(read))[0]

    def groups(self, read: Sequence[int]) -> list[list[int]]:
        from sklearn.cluster import KMeans
        from threadpoolctl import threadpool_limits

        if len(read) < GROUPS * LEAST:
            return []
        with threadpool_limits(1):
            dealt = KMeans(GROUPS, n_init=3, random_state=0).fit_predict(self.weighed[list(read)])
        groups = [[i for i, at in zip(read, dealt, strict=True) if at == g] for g in range(GROUPS)]
        return [group for group in groups if len(group) >= LEAST]

    def stands(self, documents: Sequence[int] | Any) -> Vector:
        """In what share of documents each term stands."""
        rows = self.asking.shelf.counts[list(documents)]
        return np.bincount(rows.indices, minlength=rows.shape[1]) / len(documents)

    def fit(self, pages: Any, several: Vector) -> Vector:
        """How alike each of several is to the first results, 1 the most."""
        alike = self.asking.shelf.scores(pages, unit(several), "scores")[:, :FIRST].sum(axis=1)
        return alike / alike.max() if alike.any() else np.ones(len(several))

    def best(self, pages: Any, several: Vector, whole: Vector) -> Vector:
        found: Vector = several[int(np.argmax(self.fit(pages, several)))] if len(several) else whole
        return found


def unit(vectors: Vector) -> Vector:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    shared: Vector = vectors / np.where(lengths > 0, lengths, 1)
    return shared


def halves(terms: Sequence[Sequence[str]]) -> NDArray[np.int64]:
    """The half of each query: whole clusters of a clustering that nothing else uses."""
    random = np.random.default_rng(HALVES_SEED)
    half = random.integers(0, 2, len(terms))
    clusters = simulated_users(terms, HALVES_SEED)
    for turn, at in enumerate(random.permutation(len(clusters)).tolist()):
        half[list(clusters[at].queries)] = turn % 2
    return half


def tried(seeds: Sequence[int] = SEEDS) -> None:
    """Chosen on half 0, reported on half 1."""
    judged = read_judged(folder_of_three())
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as place:
        update_index(Path(place) / "index", judged.documents, Language("english"))
        trying = Trying(judged, LocalIndex.open(Path(place) / "index"))
        for seed in seeds:
            rows += trying.measured(seed)
            print(f"seed {seed}", flush=True)
    write_rows("private_search-tried.csv", summarised(rows))


def summarised(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Every way's gain in each half, and how much more that is than the usual way's."""
    keys = ("group", "form", "fusion", "alpha", "way")
    query = ("group", "form", "seed", "user", "query")
    usual = {
        tuple(row[key] for key in query): row["gain"]
        for row in rows
        if (row["way"], row["fusion"], row["alpha"]) == ("whole profile", "ranks", 0.4)
    }
    by_key: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        for form in (row["form"], "both"):
            same = {**row, "form": form}
            by_key.setdefault(tuple(same[key] for key in keys), []).append(row)
    for key in sorted(by_key):
        told: dict[str, Any] = dict(zip(keys, key, strict=True))
        for half, name in enumerate(("chosen", "reported")):
            some = [row for row in by_key[key] if row["half"] == half]
            more = [
                {**row, "gain": row["gain"] - usual[tuple(row[key] for key in query)]}
                for row in some
            ]
            told[f"{name}_queries"] = len(some)
            for what, found in (("gain", over_seeds(some)), ("more", over_seeds(more))):
                told |= {
                    f"{name}_{what}": f"{found.mean:+.4f}",
                    f"{name}_{what}_low": f"{found.low:+.4f}",
                    f"{name}_{what}_high": f"{found.high:+.4f}",
                }
        yield told


def over_seeds(rows: Sequence[Mapping[str, Any]]) -> MeanWithInterval:
    means = []
    for seed in sorted({row["seed"] for row in rows}):
        some = [row for row in rows if row["seed"] == seed]
        users = [row["user"] for row in some]
        means.append(mean_over_users([row["gain"] for row in some], users, seed))
    return over_clusterings(means)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=["curve", "tried"])
    asked = parser.parse_args()
    try:
        if asked.only != "tried":
            experiment()
        if asked.only != "curve":
            tried()
    except NoData as missing:
        sys.exit(str(missing))


if __name__ == "__main__":
    main()
