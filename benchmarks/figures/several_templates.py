"""Fung 2007, figure 4.8: many small templates against the single one over all their attributes.

30 requirements are drawn: 3 to 7 templates, all of the same length between 2 and 9, from the 14
attributes of Adult; k = 100. Categories are generalized.
"""

from __future__ import annotations

import numpy as np

from datasets import ADULT, adult
from experiment import Claim, Kept, anonymized, each, error, run, shown
from reticent.pages.charts import Series

K = 100
REQUIREMENTS = 30
Template = tuple[str, ...]


def requirements(
    attributes: tuple[str, ...],
    count: tuple[int, int] = (3, 7),
    length: tuple[int, int] = (2, 9),
    seed: int = 48,
) -> list[list[Template]]:
    """Random sets of templates; within a set all are of the same length and none repeats."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(REQUIREMENTS):
        templates, size = rng.integers(*count, endpoint=True), rng.integers(*length, endpoint=True)
        drawn = [
            tuple(sorted(map(str, rng.choice(attributes, size, replace=False))))
            for _ in range(templates)
        ]
        found.append(list(dict.fromkeys(drawn)))
    return found


def united(templates: list[Template]) -> Template:
    return tuple(sorted({name for template in templates for name in template}))


def masked(job: tuple[list[Template], str]) -> tuple[float, float]:
    """The error under several templates, and under the single one that unites them."""
    templates, classifier = job
    data = adult()
    both = (templates, [united(templates)])
    views = [shown(anonymized(data.table, groups, K, generalize=True)) for groups in both]
    test = data.for_testing()
    multi, single = (error(view, test, data.attributes, classifier) for view in views)
    return multi, single


def experiment(classifier: str = "tree") -> list[Claim]:
    kept = Kept("several_templates", classifier)
    drawn = requirements(ADULT)
    found = each(masked, [(templates, classifier) for templates in drawn])
    kept.table(
        ["templates", "length", "attributes", "multi AE", "single AE"],
        [
            (len(templates), len(templates[0]), len(united(templates)), multi, single)
            for templates, (multi, single) in zip(drawn, found, strict=True)
        ],
    )
    by_single = sorted(found, key=lambda both: both[::-1])
    kept.chart(
        f"Adult: several templates against the one that unites them, k = {K}",
        "requirements, by the error under the single template",
        [
            Series("single", [(i + 1, single) for i, (_, single) in enumerate(by_single)]),
            Series("several", [(i + 1, multi) for i, (multi, _) in enumerate(by_single)]),
        ],
    )
    lower = sum(multi <= single for multi, single in found)
    gain = float(np.mean([single - multi for multi, single in found]))
    worst = max(multi - single for multi, single in found)
    return kept.claims(
        [
            Claim(
                "Adult, several templates no worse than one, k = 100",
                "all of 30",
                f"{lower} of {REQUIREMENTS}; mean gain {gain:.1f}, worst loss {worst:.1f}",
                lower == REQUIREMENTS,
            )
        ]
    )


if __name__ == "__main__":
    run(experiment)
