"""The engine set up for one prepared table: its measures, its goal, and how long to search."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from reticent.data.encode import MISSING
from reticent.errors import Problem, Unsatisfiable
from reticent.privacy.promises import Anonymity

if TYPE_CHECKING:
    from reticent.data.recode import Recoding
    from reticent.privacy.promises import Promise
    from reticent.progress import Watch
    from reticent.refine.engine import Choose, Step
    from reticent.refine.limits import Limits
    from reticent.refine.measures import Measure
    from reticent.refine.scores import Score
    from reticent.tables.prepare import Prepared


@dataclass(frozen=True, slots=True)
class Effort:
    """When a search ends, if not because nothing is left to reveal."""

    max_steps: int | None = None  # of one search, which then looks for no second way
    deadline: float | None = None  # by `time.monotonic`, for everything
    seconds: float | None = None  # that a thorough search goes on looking for better cuts,
    rounds: int | None = None  # or so many times

    def shared_by(self, searches: int) -> Effort:
        """The same for each of several searches, which share its seconds."""
        return self if self.seconds is None else replace(self, seconds=self.seconds / searches)


UNBOUNDED = Effort()


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

    @property
    def bare(self) -> int:
        """How many suppressed columns show nothing but who has no value."""
        told = self.recodings.values()
        return sum(r.mask == "suppress" and not r.labels and r.missing == MISSING for r in told)


class Search:
    """The engine, set up for one prepared table."""

    def __init__(
        self,
        prepared: Prepared,
        *,
        score: Score | None = None,
        measured: bool = False,
        may_lose: int = 0,
        foreign: Sequence[str] = (),
    ) -> None:
        """`score`: another than the policy's; `measured`: say what the cut is worth in the end.

        `may_lose`: so many records need not be in groups that are large enough. `foreign`: masked
        columns of other owners, of which the table holds nothing.
        """
        from reticent.refine.cuts import Cuts
        from reticent.refine.foreign import ForeignColumn
        from reticent.refine.measures import LargestConfidence, LeavingOut, SmallestGroup
        from reticent.refine.scores import Usefulness

        assert not (foreign and (may_lose or prepared.policy.releases))  # of one table alone
        self.prepared = prepared
        self.implied = prepared.implied()
        shown = [ForeignColumn(name, prepared.table.rows) for name in foreign]
        self.cuts = Cuts(prepared.domains, prepared.table.counts, shown)
        self.measures: list[Measure] = []
        for position, promise in enumerate(prepared.policy.promises):
            if position in self.implied:
                continue
            attributes = prepared.attributes(promise, foreign)
            if promise.releases and (linked := self._linked(promise, attributes)):
                self.measures.append(linked)
            elif isinstance(promise, Anonymity):
                marks = prepared.of_marks(promise)
                self.measures.append(SmallestGroup(promise, self.cuts, attributes, marks))
            else:
                sensitive = prepared.sensitive_marks(promise)
                # Smaller groups are left out for promises about the same columns; of others,
                # nobody knows which groups that leaves.
                same = [p for p in prepared.policy.anonymity if {*p.over} == {*promise.over}]
                least = max((p.k for p in same if not p.of), default=0) if may_lose else 0
                self.measures.append(
                    LargestConfidence(promise, self.cuts, attributes, sensitive, least=least)
                )
        self.may_lose = may_lose
        if may_lose:
            groups = [m for m in self.measures if isinstance(m, SmallestGroup)]
            others = [m for m in self.measures if not isinstance(m, SmallestGroup)]
            self.measures = [LeavingOut(groups, may_lose), *others]
        self.goal = Usefulness(
            self.cuts, prepared.policy.utility, *(prepared.classes or ()),
            score=score or prepared.policy.goal.score, measured=measured,
            sampled=prepared.policy.goal.search == "thorough" and not foreign,
        )  # fmt: skip
        self.steps: list[Step] = []

    def _linked(self, promise: Promise, over: list[int]) -> Measure | None:
        """The measure of a promise about earlier releases; None if our table tells as much.

        That is so where `over` holds every column that links the tables, on both sides: then in a
        linked group there is one group of ours, and all of it.
        """
        from reticent.refine.previous.measure import Settled, WithPrevious
        from reticent.tables.previous.plan import LinkPlan

        plan = LinkPlan(self.prepared, self.cuts, promise)
        if plan.ours_alone:
            return None
        if plan.one_sided and plan.about_theirs:
            return Settled(promise, self.cuts, over, plan.settled())
        return WithPrevious(promise, self.cuts, over, plan.ways(over))

    def begin(self, watch: Watch) -> None:
        """Look at the most masked table, which must keep every promise."""
        from reticent.refine.engine import begin

        self.refuse_infeasible()
        watch.started()
        self.losses = begin(self.cuts, self.measures, self.goal)

    def run(self, watch: Watch, effort: Effort = UNBOUNDED, choose: Choose | None = None) -> bool:
        """Refine until nothing is left to reveal, or it is time to stop; says which."""
        from reticent.refine.engine import candidates, refine

        if not self.cuts.domains and choose is None:
            return False  # nothing is masked, here or elsewhere: the policy says how fine cells are
        steps = refine(self.cuts, self.measures, self.goal, self.losses, choose=choose)
        while True:
            late = effort.deadline is not None and time.monotonic() >= effort.deadline
            if watch.stop() or late or len(self.steps) == effort.max_steps:
                return bool(len(candidates(self.cuts, self.measures)))
            step = next(steps, None)
            if step is None:
                return bool(len(candidates(self.cuts, self.measures)))
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
            promise.infeasible(measure.value)
            for measure, promise in zip(self.measures, promises, strict=True)
            if not measure.holds(promise)
        ]

    def recodings(self) -> dict[str, Recoding]:
        """How every masked column is shown, as far as the search came."""
        from reticent.refine.mask import recoding

        refined: dict[str, set[str]] = {}
        for step in self.steps:
            refined.setdefault(step.attribute, set()).add(step.value)
        return {
            domain.name: recoding(
                self.cuts,
                attribute,
                refined=refined.get(domain.name, ()),
                taxonomy=self.prepared.taxonomies.get(domain.name),
                **self.prepared.form(domain.name),
            )
            for attribute, domain in enumerate(self.prepared.domains)
        }
