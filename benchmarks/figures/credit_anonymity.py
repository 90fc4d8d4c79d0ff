"""Fung 2007, figure 4.9: k-anonymity over the top attributes of two small credit data sets.

The mask is learnt on all records and does not depend on the split.
"""

from __future__ import annotations

from datasets import DATA_SETS
from experiment import (
    SPLITS,
    Claim,
    Errors,
    Kept,
    anonymized,
    each,
    errors,
    level,
    run,
    shown,
    unmasked,
)  # fmt: skip
from reticent.pages.curves import Series

TOPS = (5, 7, 9)
KS = {
    "CRX": (20, 40, 60, 80, 100, 150, 200, 250, 300, 400, 500, 600),
    "German": (20, 40, 60, 80, 100, 150, 200, 300, 400, 500, 600, 800, 1000),
}


def base(job: tuple[str, int, str]) -> Errors:
    name, top, classifier = job
    data = DATA_SETS[name]()
    left = [column for column in data.attributes if column not in data.top[:top]]
    return errors(data, unmasked(data), left, classifier)


def masked(job: tuple[str, int, int, str]) -> Errors:
    name, top, k, classifier = job
    data = DATA_SETS[name]()
    view = shown(anonymized(data.table, [data.top[:top]], k))
    return errors(data, view, data.attributes, classifier)


def measure(name: str, classifier: str, kept: Kept) -> dict[tuple[int, int], tuple[float, ...]]:
    """All errors of one data set by attributes and k: BE, AE and UE, each with its mean."""
    be, *ues = each(base, [(name, top, classifier) for top in (0, *TOPS)])
    ue = dict(zip(TOPS, ues, strict=True))
    jobs = [(name, top, k, classifier) for top in TOPS for k in KS[name]]
    found: dict[tuple[int, int], tuple[float, ...]] = {}
    for (_, top, k, _), ae in zip(jobs, each(masked, jobs), strict=True):
        found[top, k] = (*be, *ae, *ue[top])
    heads = ["top", "k", "BE", "BE mean", "AE", "AE mean", "UE", "UE mean"]
    kept.table(heads, [(*at, *errors) for at, errors in found.items()], name.lower())
    curves = [Series(f"Top{top}", [(k, found[top, k][3]) for k in KS[name]]) for top in TOPS]
    kept.chart(
        f"{name}, suppress and discretize: mean error of {SPLITS} splits by k",
        "k",
        [*curves, level(KS[name], be[1], "BE"), level(KS[name], ue[7][1], "UE Top7")],
        part=name.lower(),
        x_log=True,
    )
    return found


def claims(
    name: str, found: dict[tuple[int, int], tuple[float, ...]], last: int, be: float, ue: float
) -> list[Claim]:
    """What the paper says of Top7 for k up to `last`."""
    said = []
    for which, how in ((0, "one split"), (1, f"mean of {SPLITS}")):
        rows = [found[7, k] for k in KS[name] if k <= last]
        most = max(row[2 + which] - row[which] for row in rows)
        mine = f"BE {rows[0][which]:.1f}, UE {rows[0][4 + which]:.1f}"
        said.append(
            Claim(
                f"{name} Top7, {how}: AE-BE, k 20-{last}",
                f"< 4 (BE {be}, UE {ue})",
                f"at most {most:.1f} ({mine})",
                most < 4,
            )
        )
    return said


def experiment(classifier: str = "tree") -> list[Claim]:
    kept = Kept("credit_anonymity", classifier)
    crx, german = (measure(name, classifier, kept) for name in KS)
    return kept.claims(
        [*claims("CRX", crx, 300, 15.4, 42), *claims("German", german, 100, 28.8, 36)]
    )


if __name__ == "__main__":
    run(experiment)
