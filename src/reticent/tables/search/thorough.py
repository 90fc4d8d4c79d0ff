"""Many maximal cuts instead of one: what ``search = "thorough"`` does.

A greedy search never looks back: what its first steps spend is gone. So several searches are made,
and the best cut of all is taken:

1. as greedy does, under the policy's score, and under the other one;
2. *give back*: the steps of the best cut so far but for those of one column, then on without that
   column, and with it only when nothing else is left. Columns that cost most privacy come first;
   of one that shows nothing yet, all steps come first instead;
3. once no column is worth giving back: every column weighted at random, from a fixed seed, and
   then again as in 2.

Which cut is better is told by its worth (`Usefulness.worth`): bits saved in telling the class,
squares, or records made more specific, whatever the utility. The one that is released is chosen
among the best by how well a tree that learns from it tells records that it has not seen
(`tables.search.judge`). The papers' cut stays unless another errs less by two standard errors,
or by one if its worth is higher, too; then the policy's greedy cut stays in the same way: on
small tables the fewest errors are mostly good luck. But a cut that shows of some suppressed column
only who has no value, which tells next to nothing, gives way to one that errs no more often and
does not.

A number of rounds that depends on the table alone gives the same cut on every machine; a number of
seconds need not. Two rounds run side by side, and count in their order.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from reticent.data.memory import Threads
from reticent.errors import InputError
from reticent.progress import Watch
from reticent.tables.search.greedy import UNBOUNDED, Effort, Found, Search

if TYPE_CHECKING:
    from reticent.refine.engine import Step
    from reticent.refine.scores import Score
    from reticent.tables.prepare import Prepared

_ROUNDS = 24
_FEWEST_ROUNDS = 3
_CELLS = 20_000_000  # of all rounds together: beyond, fewer rounds
_RATED = 40_000_000  # candidates of all steps of all rounds together
_ONE_BY_ONE = 2_000_000  # cells
_LONGEST = 10, 500  # a round of more steps than so many times the first's, and than so many, ends
_FINALISTS = 4
FEWEST_TO_JUDGE = 100  # records; with fewer, an error tells one cut from another by chance alone
_FIRST_OF_ALL = 1e9
_THE_OTHER: dict[str, Score] = {"paper": "conditional", "conditional": "paper"}


def find(
    prepared: Prepared,
    watch: Watch,
    effort: Effort = UNBOUNDED,
    *,
    may_lose: int = 0,
    way: Sequence[Step] = (),
) -> Found:
    """Search for a maximal cut as the policy says.

    A search that may only make so many steps looks for no second way, and one that is stopped, or
    reaches its deadline, gives what it has. `may_lose`: see `Search`. `way`: steps of another
    search to make first, as far as they are there.
    """
    thorough = prepared.policy.goal.search == "thorough" and effort.max_steps is None
    origin = Search(prepared, measured=thorough, may_lose=may_lose)
    origin.begin(watch)
    first = origin.copy() if thorough else origin
    ahead = (first.cuts.slot_of(*step) for step in _steps_of(way))
    guide = partial(_choose, ahead, _Plan(), first.cuts.offset)
    if first.run(watch, effort, choose=guide if way else None):
        return first.found(stopped_early=True)
    if not thorough or not first.steps:
        return first.found()
    exploring = _Exploring(origin, watch, effort)
    if not way and not may_lose:
        exploring.defended = "paper"
    return exploring.best(_trip(first, origin.goal.score))


def chosen(found: Found, number: int) -> Found:
    """The cut found, or one of those beside it, with the others beside that."""
    if not number:
        return found
    known = {other.number: other for other in found.alternatives}
    if number not in known:
        have = ", ".join(map(str, known))
        raise InputError(
            f"there is no alternative {number}", where="release",
            do=f"take one of {have}." if have else "the search found this one cut only.",
        )  # fmt: skip
    beside = [found, *(other for other in found.alternatives if other is not known[number])]
    return replace(
        known[number],
        rounds=found.rounds,
        alternatives=tuple(replace(other, alternatives=()) for other in beside),
    )


@dataclass(frozen=True, slots=True)
class _Plan:
    """A way to search: some candidates first, some columns last, others preferred."""

    ahead: tuple[int, ...] = ()
    last: int = -1
    weights: Any = None
    first: int = -1  # the column before all others, if that is all there is to it
    score: Score | None = None


@dataclass(frozen=True, slots=True)
class _Trip:
    """A maximal cut and how it was reached."""

    found: Found
    score: Score | None  # that it was greedily found by
    columns: tuple[int, ...]  # of each step

    @property
    def telling(self) -> frozenset[int]:
        """The columns that show anything."""
        return frozenset(self.columns)

    @property
    def worth(self) -> int:
        """What it tells, as a key: the same in whatever order it was added up."""
        from reticent.data.keys import key

        return int(key(self.found.worth))

    def same(self, other: _Trip) -> bool:
        """Whether both show the same."""
        return all(map(np.array_equal, self.found.shown, other.found.shown))


def _trip(search: Search, score: Score | None = None) -> _Trip:
    columns = tuple(search.cuts.attribute_of(step.slot) for step in search.steps)
    return _Trip(search.found(), score, columns)


class _Exploring:
    """Rounds of searches from one beginning."""

    def __init__(self, origin: Search, watch: Watch, effort: Effort) -> None:
        self.origin = origin
        self.columns = len(origin.cuts.domains)
        self.watch = watch
        now = time.monotonic()
        timed = None if effort.seconds is None else now + effort.seconds
        self.end = min((end for end in (effort.deadline, timed) if end is not None), default=None)
        self.rounds = effort.rounds
        self.timed = timed is not None
        self.made = 1
        self.longest: int | None = None  # steps of a round
        self.first_of_all: dict[int, _Trip | None] = {}
        self.defended: Score | None = None  # whose greedy cut stays if none is clearly better

    def best(self, first: _Trip) -> Found:
        """Explore, then let the best of what was found be judged."""
        self.watch.stage("compare cuts")
        if self.rounds is None:
            self.rounds = sys.maxsize if self.timed else _rounds(self.origin, len(first.columns))
        times, least = _LONGEST  # 9,000 steps of one number after the other told nothing, in 90 s
        self.longest = max(times * len(first.columns), least)
        trips = [first]
        # The steps of a large table run on two threads themselves, and two copies take room; a
        # user's own utility may not be ready for two.
        alone = _cells(self.origin) > _ONE_BY_ONE or callable(self.origin.goal.utility)
        with Threads(1 if alone else 2) as pool:
            plans = self._plans(trips)
            while pair := list(islice(plans, min(2, self.rounds - self.made))):
                for trip in pool.map(self._travel, pair):
                    if trip is None and self._over():  # as if it had not begun
                        break
                    self.made += 1
                    if trip is not None and not any(trip.same(known) for known in trips):
                        trips.append(trip)
                if self._over():
                    break
        return self._chosen(first, trips[1:])

    def _over(self) -> bool:
        late = self.end is not None and time.monotonic() >= self.end
        return late or self.watch.stop()

    def _plans(self, trips: list[_Trip]) -> Iterator[_Plan]:
        """What to try next; knows what came out so far from `trips`."""
        yield _Plan(score=_THE_OTHER[self.origin.goal.score])
        again = 0
        while True:
            best = max(trips, key=lambda trip: trip.worth)
            for column in self._dearest(best):
                yield self._give_back(best, column)
            if max(trip.worth for trip in trips) > best.worth:
                continue
            again += 1
            weights = np.exp(np.random.default_rng([7, again]).normal(size=self.columns))
            yield _Plan(weights=weights)

    def _dearest(self, trip: _Trip) -> list[int]:
        """The columns, those first whose steps lost most."""
        lost = dict.fromkeys(range(self.columns), 0.0)
        for column, step in zip(trip.columns, trip.found.steps, strict=True):
            lost[column] += step.privacy_loss
        return sorted(lost, key=lambda column: (column not in trip.telling, -lost[column]))

    def _give_back(self, trip: _Trip, column: int) -> _Plan:
        if column not in trip.telling:
            weights = np.ones(self.columns)
            weights[column] = _FIRST_OF_ALL
            return _Plan(weights=weights, first=column)
        steps = zip(trip.columns, trip.found.steps, strict=True)
        return _Plan(ahead=tuple(step.slot for c, step in steps if c != column), last=column)

    def _travel(self, plan: _Plan) -> _Trip | None:
        """One search to its end; None if there was no time for it, or it took too many steps."""
        if plan.first in self.first_of_all:
            return self.first_of_all[plan.first]  # which leads to the same whatever is best
        if plan.score:
            lose = self.origin.may_lose
            search = Search(self.origin.prepared, score=plan.score, measured=True, may_lose=lose)
            search.begin(Watch())
        else:
            search = self.origin.copy()
        guide = partial(_choose, iter(plan.ahead), plan, search.cuts.offset)
        effort = Effort(max_steps=self.longest, deadline=self.end)
        stopped = search.run(Watch(stop=self.watch.stop), effort, choose=guide)
        trip = None if stopped else _trip(search, plan.score)
        if plan.first >= 0:
            self.first_of_all[plan.first] = trip
        return trip

    def _chosen(self, first: _Trip, others: list[_Trip]) -> Found:
        """The cut to release, with the clearly different ones beside it."""
        ranked = sorted(others, key=lambda trip: -trip.worth)
        defended = [trip for trip in ranked if trip.score and trip.score == self.defended]
        finalists = [*defended, first]
        finalists += _different(first, [t for t in ranked if all(t is not d for d in defended)])
        prepared = self.origin.prepared
        if prepared.policy.utility != "classification":
            best = max(
                finalists, key=lambda trip: (trip.worth, -trip.found.bare)
            )  # ties: the first
        elif prepared.table.records < FEWEST_TO_JUDGE:
            best = first
        else:
            best, finalists = _judged(prepared, finalists)
        others = [trip for trip in finalists if trip is not best]
        others.sort(key=lambda trip: (trip.found.error or 0.0, -trip.worth))
        different = enumerate(_different(best, others, 3, nearly=False), 1)
        rest = tuple(replace(trip.found, number=number) for number, trip in different)
        return replace(best.found, rounds=self.made, alternatives=rest)


def _judged(prepared: Prepared, trips: Sequence[_Trip]) -> tuple[_Trip, list[_Trip]]:
    """The one with the fewest errors, if it is clearly better than those before; all, judged."""
    from reticent.tables.search.judge import Judge, clearly_fewer

    judge = Judge(prepared)
    # One after the other: trees are made of short steps, which two threads make twice as long.
    wrong = [judge.wrong(trip.found.shown) for trip in trips]
    best = 0
    count, bare = [int(told.sum()) for told in wrong], [trip.found.bare for trip in trips]
    fewest = min(range(len(trips)), key=lambda i: (count[i], bare[i]))
    for at in [1, fewest] if len(trips) > 1 else []:
        # Two signs need be less sure than one.
        errors = 1 if trips[at].worth > trips[best].worth else 2
        if clearly_fewer(wrong[at], wrong[best], errors=errors):
            best = at
    fuller = [i for i in range(len(trips)) if count[i] <= count[best] and bare[i] < bare[best]]
    best = min(fuller, key=lambda i: (bare[i], count[i]), default=best)
    judged = [
        replace(trip, found=replace(trip.found, error=float(told.mean())))
        for trip, told in zip(trips, wrong, strict=True)
    ]
    return judged[best], judged


def _different(
    best: _Trip, ranked: Sequence[_Trip], most: int = _FINALISTS, *, nearly: bool = True
) -> list[_Trip]:
    """Trips that let other columns tell something; and the first, though `nearly` the same."""
    chosen: list[_Trip] = []
    for trip in ranked:
        seen = {best.telling, *(other.telling for other in chosen)}
        if (nearly and trip is ranked[0]) or trip.telling not in seen:
            chosen.append(trip)
    return chosen[:most]


def _rounds(search: Search, steps: int) -> int:
    """How many rounds a table of this size, searched in so many steps, gets."""
    rated = max(steps * search.cuts.none, 1)  # every step rates what its column still offers
    return max(_FEWEST_ROUNDS, min(_ROUNDS, _CELLS // max(_cells(search), 1), _RATED // rated))


def _cells(search: Search) -> int:
    """How much a search has to count."""
    totals = search.goal.totals
    cells = sum(measure.cells for measure in search.measures) + (totals.cells if totals else 0)
    return int(cells)


def _steps_of(way: Sequence[Step]) -> Iterator[tuple[str, str, str]]:
    """Steps by name; those of intervals with the widest one of their column."""
    widest: dict[str, str] = {}
    for step in way:
        if step.name.startswith("["):
            widest.setdefault(step.attribute, step.name)
        yield step.attribute, step.name, widest.get(step.attribute, "")


def _choose(ahead: Iterator[int], plan: _Plan, offset: Any, slots: Any, scores: Any) -> int | None:
    """The next candidate on a planned way, as far as they are there, or else the best."""
    from reticent.refine.engine import highest_score

    for wanted in ahead:
        at = int(np.searchsorted(slots, wanted))
        if at < len(slots) and slots[at] == wanted:
            return at
    columns = np.searchsorted(offset, slots, side="right") - 1
    if plan.weights is not None:
        scores = scores * plan.weights[columns]
    early = np.flatnonzero(columns != plan.last)
    if 0 < len(early) < len(slots):
        best = highest_score(slots[early], scores[early])
        return None if best is None else int(early[best])
    return highest_score(slots, scores)
