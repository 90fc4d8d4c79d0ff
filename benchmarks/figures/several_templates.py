"""Fung 2007, figure 4.8: many small templates against the single one over all their attributes.

30 requirements are drawn: 3 to 7 templates, all of the same length between 2 and 9, from the 14
attributes of Adult; k = 100. Categories are generalized.

What the single template allows, the several allow as well: they can only do worse because the
search, which takes the best step and never looks back, goes another way. To tell the promise from
the way, a third release goes the single template's way to its end, and on from there as far as the
several templates let it. And both are searched again with the score "conditional", which counts
the loss of privacy as a factor and not in records.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from datasets import ADULT, adult
from experiment import Claim, Kept, anonymized, each, error, run, shown
from reticent.data.columns import Table
from reticent.pages.curves import Series
from reticent.progress import Watch
from reticent.refine.engine import highest_score
from reticent.tables.evidence.aligned import AlignedRows
from reticent.tables.report import Release
from reticent.tables.search.greedy import Search

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


def masked(job: tuple[list[Template], str]) -> list[float]:
    """The errors under several templates, under their union, and going the union's way first.

    Then the first two again, with the other score.
    """
    templates, classifier = job
    data = adult()
    several, single, otherwise, single_otherwise = (
        anonymized(data.table, groups, K, generalize=True, score=score)
        for score in ("paper", "conditional")
        for groups in (templates, [united(templates)])
    )
    views = [shown(several), shown(single), continued(single, several)]
    views += [shown(otherwise), shown(single_otherwise)]
    test = data.for_testing()
    return [error(view, test, data.attributes, classifier) for view in views]


def continued(single: Release, several: Release) -> Table:
    """All steps of one release, and then those that the promises of the other still allow."""
    way: list[int] = []
    _walk(Search(single.prepared), way)
    # Both mask the same columns in the same order, so a candidate has the same slot in both.
    search = Search(several.prepared)
    _walk(search, [], way)
    return AlignedRows.of(several.prepared, search.recodings()).view()


def _walk(search: Search, taken: list[int], first: Sequence[int] = ()) -> None:
    """Search to the end, along given candidates first, and note which were taken."""
    ahead = list(first)

    def choose(slots: Any, scores: Any) -> int | None:
        known = slots.tolist().index(ahead.pop(0)) if ahead else None
        winner = highest_score(slots, scores) if known is None else known
        if winner is not None:
            taken.append(int(slots[winner]))
        return winner

    search.begin(Watch())
    search.run(Watch(), choose=choose)


def experiment(classifier: str = "tree") -> list[Claim]:
    kept = Kept("several_templates", classifier)
    drawn = requirements(ADULT)
    found = each(masked, [(templates, classifier) for templates in drawn])
    kept.table(
        [
            "templates",
            "length",
            "attributes",
            "multi AE",
            "single AE",
            "single first AE",
            "conditional multi AE",
            "conditional single AE",
        ],
        [
            (len(templates), len(templates[0]), len(united(templates)), *errors)
            for templates, errors in zip(drawn, found, strict=True)
        ],
    )
    by_single = sorted(found, key=lambda errors: (errors[1], errors[0]))
    kept.chart(
        f"Adult: several templates against the one that unites them, k = {K}",
        "requirements, by the error under the single template",
        [
            Series(name, [(i + 1, errors[which]) for i, errors in enumerate(by_single)])
            for which, name in ((1, "single"), (0, "several"), (2, "several, single's way first"))
        ],
    )
    what = "Adult, several templates no worse than one, k = 100"
    lower, said = compared([(errors[0], errors[1]) for errors in found])
    _, then = compared([(errors[2], errors[1]) for errors in found])
    _, otherwise = compared([(errors[3], errors[4]) for errors in found])
    return kept.claims(
        [
            Claim(what, "all of 30", said, lower == REQUIREMENTS),
            Claim(f"{what}, going the one's way first", "not tried", then, None),
            Claim(f"{what}, score conditional", "not tried", otherwise, None),
        ]
    )


def compared(errors: list[tuple[float, float]]) -> tuple[int, str]:
    """In how many cases the first error is no higher than the second, and all of it in words."""
    gains = [single - multi for multi, single in errors]
    lower = sum(gain >= 0 for gain in gains)
    mean, worst = float(np.mean(gains)), max(-gain for gain in gains)
    return lower, f"{lower} of {len(gains)}; mean gain {mean:.1f}, worst loss {worst:.1f}"


if __name__ == "__main__":
    run(experiment)
