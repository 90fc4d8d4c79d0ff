"""What a release of baskets costs, what it stops, and what other ways would have cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from reticent.data.baskets import Baskets
from reticent.errors import InputError
from reticent.files.tabular import Reading
from reticent.pages.page import page_place, write_private_page
from reticent.privacy import coherence
from reticent.privacy.coherence import BasketExposure
from reticent.progress import Clock, Watch
from reticent.releases.spoken import Spoken
from reticent.sources import arrival
from reticent.transactions import folder, report
from reticent.transactions.evaluation_page import page_of
from reticent.transactions.flow import known_of, nuggets_of, read
from reticent.transactions.policy import USUAL_NUGGETS, BasketPolicy, ItemRoles, Mask
from reticent.transactions.report import MOST_KNOWN, roled


@dataclass(frozen=True, slots=True, repr=False)
class BasketEvaluation(Spoken):
    """A release beside its original; pairs are before and after."""

    policy: BasketPolicy
    transactions: int
    items: tuple[int, int]
    occurrences: tuple[int, int]
    nuggets: tuple[int, int]
    support: int  # of a nugget, in transactions
    before: tuple[BasketExposure, ...]
    after: tuple[BasketExposure, ...]
    baselines: Mapping[str, Mapping[str, float]]  # the losses of other ways
    roles: ItemRoles

    def summary(self) -> dict[str, Any]:
        """What ``transactions evaluate --json`` prints."""
        return {
            "transactions": self.transactions,
            "occurrences": report.beside(self.occurrences),
            "items": report.beside(self.items),
            "nuggets": report.beside(self.nuggets),
            "support": self.support,
            "exposed": {"before": report.levels(self.before), "after": report.levels(self.after)},
            "baselines": {name: dict(facts) for name, facts in self.baselines.items()},
            "warnings": list(self.roles.warnings),
        }

    def _says(self, words: Any) -> str:
        said: str = words.evaluation(self)
        return said


def evaluate(
    original: Any,
    released: Any,
    policy: BasketPolicy | Mapping[str, Any] | str | Path,
    *,
    most: int = MOST_KNOWN,
    names: Sequence[str | int] | None = None,
    reading: Reading | None = None,
    output: str | Path | None = None,
    force: bool = False,
    watch: Watch | None = None,
) -> BasketEvaluation:
    """Measure a release beside the baskets it was made from.

    `output` is a page for people who decide, its owner's alone; `force` lets it replace another.
    """
    clock = Clock(watch or Watch())
    policy = BasketPolicy.of(policy)
    place = None
    if output is not None:
        given = (path for one in (original, released) for path in arrival.inputs(one))
        place = page_place(output, chain(given, policy.files()), "an evaluation", force=force)
    with clock.stage("read"):
        whole, _ = read(original, policy, policy.reads(reading), names)
        opened = folder.opened_as(released, policy, reading)
        own = opened.read_as(policy.reads_released(reading))
        part, _ = read(opened.data, policy, own, names)
    gone = _gone(whole, part)
    roles = policy.roles(whole.names, original=True)
    with clock.stage("count"):
        wanted = policy.nuggets or USUAL_NUGGETS
        counted = nuggets_of(whole, wanted)

        def left(mask: Mask) -> int:
            return counted.without(np.flatnonzero(mask).tolist()).total

        promise = policy.promise
        before = coherence.exposure(roled(whole, roles), promise, most=most)
        after = coherence.exposure(roled(part, policy.roles(part.names)), promise, most=most)
    with clock.stage("compare"):
        others = {
            name: {
                "occurrences": _share(whole.supports()[mask].sum(), whole.occurrences),
                "nuggets": _share(counted.total - left(mask), counted.total),
            }
            for name, mask in _others(whole, roles, policy).items()
        }
    found = BasketEvaluation(
        policy, whole.transactions, (len(whole.names), len(part.names)),
        (whole.occurrences, part.occurrences), (counted.total, left(gone)),
        wanted.least(whole.transactions), before, after, others, roles,
    )  # fmt: skip
    if place is not None:
        write_private_page(page_of(found.summary(), before, after, policy), place, force=force)
    return found


def _share(part: int, whole: int) -> float:
    return round(int(part) / max(int(whole), 1), 6)


def _gone(whole: Baskets, part: Baskets) -> Mask:
    """The items that a release lacks; whatever it has must be as it was."""
    places = {name: place for place, name in enumerate(whole.names.to_pylist())}
    kept = [places.get(name, -1) for name in part.names.to_pylist()]
    same = part.transactions == whole.transactions and -1 not in kept
    gone = np.ones(len(whole.names), np.bool_)
    gone[kept] = False
    there, here = whole.without(gone).arranged(), part.arranged()  # in whatever order they are
    same = same and np.array_equal(there.starts, here.starts)
    if not same or not np.array_equal(there.items, here.items):
        raise InputError(
            "this is no release of these baskets: items stand in other baskets than they did",
            where=part.name,
            do="give the baskets first that the release was made from, and the same format.",
        )
    return gone


def _others(whole: Baskets, roles: ItemRoles, policy: BasketPolicy) -> dict[str, Mask]:
    """Which items other ways would suppress."""
    from reticent.suppress.baskets.methods import ItemSearch
    from reticent.suppress.baskets.worth import Occurrences
    from reticent.suppress.sets import GaveUp
    from reticent.transactions import baselines as others

    known, public = known_of(whole, roles)
    search = ItemSearch(known, policy.k, policy.promise.h, policy.p, Occurrences(known.supports()))
    found = {"k-anonymity of whole baskets": others.whole_baskets_alike(search)}
    with suppress(GaveUp):
        found = {"every item of every mole": others.every_item_of_every_mole(search)} | found
    every = np.arange(len(whole.names))
    return {name: np.isin(every, public[gone]) for name, gone in found.items()}
