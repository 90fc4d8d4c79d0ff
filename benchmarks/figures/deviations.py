"""Why two figures of chapter 5 come out otherwise here; not in the paper.

CRX, random sensitive attributes: SE over every set of one to four attributes instead of 30 drawn
ones. In some sets A9, which tells most about the class, would by itself give a sensitive value
away at h = 50 %, so that no release at all may show it.

German, RE - SE: the paper does not say how it split the records; so over many splits.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np

from confidence_bounding import LEVELS, Names, Suppressed, bounds, removed, suppressed
from datasets import CLASS, DataSet, crx, german
from experiment import Claim, Errors, Kept, bounded, each, error, run, shown, span, unmasked

TELLING = "A9"
DRAWN, DRAWS = 30, 10_000
SPLITS = 60


def betrayed(data: DataSet, sensitive: Names, at_most: str) -> bool:
    """Whether the telling attribute alone gives a sensitive value away."""
    told = data.table.column(TELLING).to_pylist()
    size = Counter(told)
    for column in sensitive:
        both = Counter(zip(told, data.table.column(column).to_pylist(), strict=True))
        for value in data.rarest_half(column):
            if any(Fraction(both[t, value], size[t]) > Fraction(at_most) for t in size):
                return True
    return False


def random_sets(kept: Kept) -> list[Claim]:
    """SE - BE of every set, and how seldom 30 random sets a size stay below the paper's bound."""
    data = crx()
    sets: list[Names] = [
        names for size in (1, 2, 3, 4) for names in combinations(sorted(data.categorical), size)
    ]
    jobs = [("CRX", names, kept.classifier) for names in sets]
    be: Errors = removed(("CRX", (), kept.classifier))
    found: list[Suppressed] = each(suppressed, jobs)
    costs = np.array([one.se for one in found]) - np.array(be)
    forced = np.array([betrayed(data, names, "0.5") and TELLING not in names for names in sets])
    kept.table(
        ["sensitive", "A9 must be hidden at 50 %", "SE-BE", "SE-BE mean"],
        [
            (" ".join(names), "yes" if must else "no", *map(float, cost))
            for names, must, cost in zip(sets, forced, costs, strict=True)
        ],
        "crx",
    )
    rng = np.random.default_rng(7)
    sizes = np.array([len(names) for names in sets])
    largest = [
        max(rng.choice(costs[sizes == size, 0], DRAWN).mean() for size in (1, 2, 3, 4))
        for _ in range(DRAWS)
    ]
    below = 100 * float((np.array(largest) < 1.1).mean())
    return [
        Claim(
            f"CRX, {forced.sum()} of {len(sets)} sets in which A9 must be hidden at 50 %: SE-BE",
            "not told", f"{span(costs[forced, 0])}, mean {costs[forced, 0].mean():.1f}", None,
        ),
        Claim(
            "CRX, all other sets: SE-BE",
            "not told", f"{span(costs[~forced, 0])}, mean {costs[~forced, 0].mean():.1f}", None,
        ),
        Claim("CRX, draws of 30 sets a size that stay below 1.1", "1 of 1", f"{below:.1f} %", None),
    ]  # fmt: skip


def gains(job: tuple[int, str]) -> list[float]:
    """RE - SE of the top attributes of German, on each of many splits."""
    size, classifier = job
    data = german()
    sensitive = data.top_categorical[:size]
    table = data.table.select([*data.categorical, CLASS])
    over = [column for column in data.categorical if column not in sensitive]
    views = [
        shown(bounded(table, [over], bounds(data, sensitive, at_most), at_most))
        for at_most in LEVELS["German"]
    ]
    found = []
    for test in data.splits(SPLITS):
        re = error(unmasked(data), test, over, classifier)
        se = np.mean([error(view, test, data.categorical, classifier) for view in views])
        found.append(re - float(se))
    return found


def many_splits(kept: Kept) -> list[Claim]:
    jobs = [(size, kept.classifier) for size in range(1, len(german().top_categorical) + 1)]
    mean = np.mean(each(gains, jobs), axis=0)
    kept.table(["split", "RE-SE, mean over N"], list(enumerate(map(float, mean))), "german")
    reached = int((mean >= 4.3).sum())
    said = f"{mean.mean():.1f}, standard deviation {mean.std(ddof=1):.1f}; {reached} reach 4.3"
    return [Claim(f"German TopN, each of {SPLITS} splits: RE-SE", "4.3 on average", said, None)]


def experiment(classifier: str = "tree") -> list[Claim]:
    kept = Kept("deviations", classifier)
    return kept.claims([*random_sets(kept), *many_splits(kept)])


if __name__ == "__main__":
    run(experiment)
