"""One search for many thresholds, for as long as they go the same way: what a sweep does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from reticent.errors import Stopped, Unsatisfiable
from reticent.tables.search.greedy import Found, Search

if TYPE_CHECKING:
    from reticent.privacy.promises import Promise
    from reticent.progress import Watch
    from reticent.refine.measures import Forecast
    from reticent.tables.policy import Policy
    from reticent.tables.prepare import Prepared


def search_together(
    prepared: Prepared, policies: Sequence[Policy], watch: Watch
) -> Iterator[tuple[int, Found | Unsatisfiable]]:
    """Search under policies that differ in one kind of threshold, the loosest first.

    What a step gains and costs depends on no threshold; a threshold only forbids steps. So all of
    them go the same way until the loosest takes a step that another may not take or, with that
    choice gone, would not take. From there the others go on from a copy. Every result is what
    a greedy search finds under that policy alone (test_sweep_laws).
    """
    waiting = list(_starts(prepared, policies, watch))
    while waiting:
        if watch.stop():
            raise Stopped("stopped between two searches")
        engine, riders = waiting.pop()
        if isinstance(engine, Unsatisfiable):
            yield riders[0].position, engine
            continue
        leader, *others = riders
        riding = _Riding(engine, others)
        if engine.run(watch, choose=riding.choose):
            raise Stopped("stopped between two releases")
        riding.part([[rider] for rider in riding.riders])  # same cuts, but their stops differ
        waiting += riding.left
        yield leader.position, engine.found()


def _starts(
    prepared: Prepared, policies: Sequence[Policy], watch: Watch
) -> Iterator[tuple[Search | Unsatisfiable, list[_Rider]]]:
    """Searches to begin with: one for all policies under which the same promises are implied."""
    together: dict[object, list[_Rider]] = {}
    for position, policy in enumerate(policies):
        implied = replace(prepared, policy=policy).implied()
        promises = [p for i, p in enumerate(policy.promises) if i not in implied]
        apart = position if policy.releases else -1  # a step may mend what it would break now
        riders = together.setdefault((apart, tuple(sorted(implied.items()))), [])
        riders.append(_Rider(position, policy, promises))
    for riders in together.values():
        engine = Search(replace(prepared, policy=riders[0].policy))
        feasible = []
        for rider in riders:
            broken = engine.broken(rider.promises)
            if broken:
                yield Unsatisfiable(broken), [rider]
            else:
                feasible.append(rider)
        if feasible:
            engine.begin(watch)
            yield engine, feasible


@dataclass(slots=True)
class _Rider:
    """A policy whose search has gone the same way as a looser one's so far."""

    position: int
    policy: Policy
    promises: list[Promise]  # one a measure
    stops: list[tuple[Any, int, list[Forecast]]] = field(default_factory=list)
    # candidates that it had to rule out: which, after how many steps, and what they would do

    def allowed(self, engine: Search, slots: Any) -> Any:
        """Which candidates it may still choose."""
        valid = np.ones(len(slots), dtype=bool)
        for measure, promise in zip(engine.measures, self.promises, strict=True):
            valid &= measure.valid(slots, promise)
        known = [stopped for stopped, _, _ in self.stops]
        fresh = slots[~valid & ~np.isin(slots, np.concatenate([[-1], *known]))]
        if len(fresh):
            told = [measure.forecast(fresh) for measure in engine.measures]
            self.stops.append((fresh, engine.cuts.reveals, told))
        return valid


class _Riding:
    """The choice of a search that others ride along with, until they would choose otherwise."""

    def __init__(self, engine: Search, riders: list[_Rider]) -> None:
        self.engine = engine
        self.riders = riders
        self.left: list[tuple[Search, list[_Rider]]] = []

    def choose(self, slots: Any, scores: Any) -> int | None:
        """Choose for the leader; whoever would choose otherwise goes on alone, with a copy."""
        from reticent.refine.engine import highest_score

        winner = highest_score(slots, scores)
        if winner is None:
            return None
        leaving: dict[int | None, list[_Rider]] = {}
        for rider in self.riders:
            valid = rider.allowed(self.engine, slots)
            own = highest_score(slots[valid], scores[valid])
            own = None if own is None else int(np.flatnonzero(valid)[own])
            if own != winner:
                leaving.setdefault(own, []).append(rider)
        self.part(leaving.values())
        return winner

    def part(self, groups: Iterable[list[_Rider]]) -> None:
        """Let groups of riders go on by themselves, each with a copy of the search."""
        for group in groups:
            self.left.append((_copy_for(self.engine, group[0]), group))
            self.riders = [rider for rider in self.riders if rider not in group]


def _copy_for(engine: Search, rider: _Rider) -> Search:
    """A search as it stands, to go on under a stricter policy."""
    twin = engine.copy()
    twin.prepared = replace(engine.prepared, policy=rider.policy)
    for measure, promise in zip(twin.measures, rider.promises, strict=True):
        measure.promise = promise
    for slots, reveals, told in rider.stops:
        twin.cuts.drop(slots)
        twin.cuts.stopped[slots] = reveals
        for measure, forecast in zip(twin.measures, told, strict=True):
            measure.recall(slots, forecast)
    rider.stops = []
    return twin
