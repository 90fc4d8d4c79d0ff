"""The engine set up for one prepared table: its measures, its goal, and when to stop."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from reticent import report
from reticent.errors import Problem, Stopped, Unsatisfiable
from reticent.privacy.promises import Anonymity

if TYPE_CHECKING:
    from reticent.policy import Policy
    from reticent.prepare import Prepared
    from reticent.privacy.promises import Promise
    from reticent.refine.engine import Choose, Step
    from reticent.refine.limits import Limits
    from reticent.refine.measures import Forecast, Measure
    from reticent.refine.scores import Score
    from reticent.table.recode import Recoding
    from reticent.watching import Watch


@dataclass(frozen=True, slots=True)
class Found:
    """What is left of a search when its groups are gone."""

    steps: tuple[Step, ...]
    recodings: dict[str, Recoding]
    implied: Mapping[int, int]
    stopped_early: bool
    values: Mapping[int, int | Fraction]  # what the engine makes of each promise it kept
    limits: Limits  # why it went no further
    shown: tuple[Any, ...]  # what each leaf of each masked column is shown as: equal or not
    worth: float  # of the cut; of two cuts of one table, the larger is better
    error: float | None = None  # of a tree that learns from it, if that was looked at
    rounds: int = 1  # how many searches it was chosen from
    number: int = 0  # among the alternatives that a search offers; 0 is the one it takes
    alternatives: tuple[Found, ...] = ()  # clearly different cuts that were found as well


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
        waiting += riding.left
        waiting += riding.leave_all()
        yield leader.position, engine.found()


def _starts(
    prepared: Prepared, policies: Sequence[Policy], watch: Watch
) -> Iterator[tuple[Search | Unsatisfiable, list[_Rider]]]:
    """Searches to begin with: one for all policies under which the same promises are implied."""
    together: dict[object, list[_Rider]] = {}
    for position, policy in enumerate(policies):
        implied = replace(prepared, policy=policy).implied()
        promises = [p for i, p in enumerate(policy.promises) if i not in implied]
        apart = position if policy.joined else -1  # a step may mend what it would break now
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

    def choose(self, slots: Any, scores: Any) -> int:
        """Choose for the leader; whoever would choose otherwise goes on alone, with a copy."""
        from reticent.refine.engine import highest_score

        winner = highest_score(slots, scores)
        leaving: dict[int, list[_Rider]] = {}
        for rider in self.riders:
            valid = rider.allowed(self.engine, slots)
            own = -1  # nothing left to choose
            if valid.any():
                own = int(np.flatnonzero(valid)[highest_score(slots[valid], scores[valid])])
            if own != winner:
                leaving.setdefault(own, []).append(rider)
        self._part(list(leaving.values()))
        return winner

    def leave_all(self) -> list[tuple[Search, list[_Rider]]]:
        """Copies for those who rode to the end: their stops differ, though their cuts do not."""
        self.left = []
        self._part([[rider] for rider in self.riders])
        return self.left

    def _part(self, groups: list[list[_Rider]]) -> None:
        for group in groups:
            self.left.append((self.engine.copy_for(group[0]), group))
            self.riders = [rider for rider in self.riders if rider not in group]


def _left_out_below(promise: Promise, prepared: Prepared) -> int:
    """The size below which a group of a promise is left out for the sake of another promise.

    Known where both are about the same columns; elsewhere groups are others.
    """
    same = [p.k for p in prepared.policy.anonymity if not p.of and set(p.over) == set(promise.over)]
    return max(same, default=0)


class Search:
    """The engine, set up for one prepared table."""

    def __init__(
        self,
        prepared: Prepared,
        *,
        score: Score | None = None,
        measured: bool = False,
        may_lose: int = 0,
    ) -> None:
        """`score`: another than the policy's; `measured`: say what the cut is worth in the end.

        `may_lose`: so many records need not be in groups that are large enough.
        """
        from reticent.refine.cuts import Cuts
        from reticent.refine.measures import LargestConfidence, LeavingOut, SmallestGroup
        from reticent.refine.scores import Goal

        self.prepared = prepared
        self.implied = prepared.implied()
        self.cuts = Cuts(prepared.domains, prepared.table.counts)
        self.measures: list[Any] = []
        for position, promise in enumerate(prepared.policy.promises):
            if position in self.implied:
                continue
            attributes = prepared.attributes(promise)
            if promise.releases and (joined := self._joined(promise, attributes)):
                self.measures.append(joined)
            elif isinstance(promise, Anonymity):
                marks = prepared.of_marks(promise)
                self.measures.append(SmallestGroup(promise, self.cuts, attributes, marks))
            else:
                sensitive = prepared.sensitive_marks(promise)
                least = _left_out_below(promise, prepared) if may_lose else 0
                self.measures.append(
                    LargestConfidence(promise, self.cuts, attributes, sensitive, least=least)
                )
        self.may_lose = may_lose
        if may_lose:
            groups = [m for m in self.measures if isinstance(m, SmallestGroup)]
            others = [m for m in self.measures if not isinstance(m, SmallestGroup)]
            self.measures = [LeavingOut(groups, may_lose), *others]
        self.goal = Goal(
            self.cuts, prepared.policy.utility, *(prepared.classes or ()),
            score=score or prepared.policy.goal.score, measured=measured,
        )  # fmt: skip
        self.steps: list[Step] = []

    def _joined(self, promise: Promise, over: list[int]) -> Measure | None:
        """The measure of a promise about a join; None if our table alone tells as much.

        That is so where `over` holds every column that links the tables, on both sides: then in a
        joined group there is one group of ours, and all of it.
        """
        from reticent.joining import JoinPlan
        from reticent.refine.sequence import Joined, Settled

        plan = JoinPlan(self.prepared, self.cuts, promise)
        if plan.ours_alone:
            return None
        if plan.one_sided and plan.about_theirs:
            return Settled(promise, plan.settled(), over)
        return Joined(promise, self.cuts, over, plan.ways(over))

    def begin(self, watch: Watch) -> None:
        """Look at the most masked table, which must keep every promise."""
        from reticent.refine.engine import begin

        self.refuse_infeasible()
        watch.started()
        self.losses = begin(self.cuts, self.measures, self.goal)

    def run(
        self,
        watch: Watch,
        *,
        max_steps: int | None = None,
        deadline: float | None = None,
        choose: Choose | None = None,
    ) -> bool:
        """Refine until nothing is left to reveal, or it is time to stop; says which."""
        from reticent.refine.engine import candidates, refine

        steps = refine(self.cuts, self.measures, self.goal, self.losses, choose=choose)
        while True:
            late = deadline is not None and time.monotonic() >= deadline
            if watch.stop() or late or len(self.steps) == max_steps:
                return bool(len(candidates(self.cuts, self.measures)))
            step = next(steps, None)
            if step is None:
                return False
            self.steps.append(step)
            watch.step(step.number, step.values)

    def copy(self) -> Search:
        """The search as it stands, to go on from here twice."""
        twin = copy(self)
        parts = (self.cuts, self.measures, self.goal, self.losses)
        asked = self.goal.utility  # may be anybody's own, and not ours to copy
        twin.cuts, twin.measures, twin.goal, twin.losses = deepcopy(parts, {id(asked): asked})
        twin.steps = list(self.steps)
        return twin

    def copy_for(self, rider: _Rider) -> Search:
        """The search as it stands, to go on under a stricter policy."""
        twin = self.copy()
        twin.prepared = replace(self.prepared, policy=rider.policy)
        for measure, promise in zip(twin.measures, rider.promises, strict=True):
            measure.promise = promise
        for slots, reveals, told in rider.stops:
            twin.cuts.drop(slots)
            twin.cuts.stopped[slots] = reveals
            for measure, forecast in zip(twin.measures, told, strict=True):
                measure.recall(slots, forecast)
        rider.stops = []
        return twin

    def found(self, *, stopped_early: bool = False) -> Found:
        """What a release needs of the search."""
        from reticent.refine.limits import Limits

        kept = [i for i in range(len(self.prepared.policy.promises)) if i not in self.implied]
        values = {}
        if not self.may_lose:  # else it is another table that keeps the promises
            values = {i: measure.value for i, measure in zip(kept, self.measures, strict=True)}
        limits = Limits(self.cuts, self.measures)
        shown = tuple(self.cuts.labels(attribute)[0] for attribute in range(len(self.cuts.domains)))
        return Found(
            tuple(self.steps), self.recodings(), self.implied, stopped_early, values, limits,
            shown, self.goal.worth,
        )  # fmt: skip

    def refuse_infeasible(self) -> None:
        """Say which promises even the most masked table breaks."""
        if broken := self.broken([measure.promise for measure in self.measures]):
            raise Unsatisfiable(broken)

    def broken(self, promises: Sequence[Promise]) -> list[Problem]:
        """Which promises, one a measure, the table as shown now breaks."""
        return [
            report.infeasible(promise, measure.value)
            for measure, promise in zip(self.measures, promises, strict=True)
            if not measure.holds(promise)
        ]

    def recodings(self) -> dict[str, Recoding]:
        """How every masked column is shown, as far as the search came."""
        from reticent.refine.mask import recoding

        refined: dict[str, set[str]] = {}
        for step in self.steps:
            refined.setdefault(step.attribute, set()).add(step.value)
        reading = self.prepared.reading
        return {
            domain.name: recoding(
                self.cuts,
                attribute,
                refined=refined.get(domain.name, ()),
                taxonomy=self.prepared.taxonomies.get(domain.name),
                decimal=reading.decimal,
                date_format=reading.date_format,
            )
            for attribute, domain in enumerate(self.prepared.domains)
        }
