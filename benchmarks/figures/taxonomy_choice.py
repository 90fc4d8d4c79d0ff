"""What one taxonomy can do: relationship grouped in three ways, everything else the same.

Not in the paper, whose taxonomies are lost. All three have its 6 leaves and 3 levels.
"""

from __future__ import annotations

from datasets import CLASS, TAXONOMIES, adult
from experiment import THE_PAPERS, Claim, Kept, each, error, level, run, shown, span, unmasked
from reticent.pages.curves import Series
from reticent.tables import flow

KS = (20, 60, 100, 180, 300, 500, 1000)
TOP = 9
GROUPINGS: dict[str, dict[str, list[str]]] = {
    "family or not": {
        "Family": ["Husband", "Wife", "Own-child", "Other-relative"],
        "No family": ["Not-in-family", "Unmarried"],
    },
    "couple or not": {
        "Couple": ["Husband", "Wife"],
        "Other": ["Own-child", "Other-relative", "Not-in-family", "Unmarried"],
    },
    "three groups": {
        "Couple": ["Husband", "Wife"],
        "Other relation": ["Own-child", "Other-relative"],
        "No relation": ["Not-in-family", "Unmarried"],
    },
}


def masked(job: tuple[str, int, str]) -> float:
    """The error on a release under one of the groupings."""
    grouping, k, classifier = job
    data = adult()
    over = data.top[:TOP]
    attributes: dict[str, dict[str, object]] = {
        name: {"mask": "generalize", "taxonomy": str(TAXONOMIES / f"{name}.csv")}
        for name in over
        if name not in data.continuous
    }
    attributes["relationship"]["taxonomy"] = {"Any relationship": GROUPINGS[grouping]}
    policy = {"class": CLASS, "keep": "*", "anonymity": [{"over": list(over), "k": k}]}
    more = {"attributes": attributes, "goal": THE_PAPERS}
    release = flow.release(data.table, {**policy, **more})
    return error(shown(release), data.for_testing(), data.attributes, classifier)


def experiment(classifier: str = "tree") -> list[Claim]:
    kept = Kept("taxonomy_choice", classifier)
    jobs = [(grouping, k, classifier) for grouping in GROUPINGS for k in KS]
    found = {job[:2]: ae for job, ae in zip(jobs, each(masked, jobs), strict=True)}
    kept.table(["relationship", "k", "AE"], [(*at, ae) for at, ae in found.items()])
    data = adult()
    be = error(unmasked(data), data.for_testing(), data.attributes, classifier)
    kept.chart(
        f"Adult Top{TOP}: error by k under three groupings of relationship",
        "k",
        [
            *(Series(g, [(k, found[g, k]) for k in KS]) for g in GROUPINGS),
            level(KS, be, "BE"),
        ],
        x_log=True,
    )
    claims = []
    for grouping in GROUPINGS:
        ours = span(found[grouping, k] for k in KS)
        claims.append(
            Claim(f"Adult Top{TOP}, relationship: {grouping}", "not told", f"AE {ours} %", None)
        )
    return kept.claims(claims)


if __name__ == "__main__":
    run(experiment)
