"""The engine set up for one prepared table: its measures, its goal, and when to stop."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from reticent import report
from reticent.errors import Unsatisfiable
from reticent.privacy.promises import Anonymity

if TYPE_CHECKING:
    from reticent.pipeline import Watch
    from reticent.prepare import Prepared
    from reticent.refine.engine import Step
    from reticent.refine.limits import Limits
    from reticent.table.recode import Recoding


@dataclass(frozen=True, slots=True)
class Found:
    """What is left of a search when its groups are gone."""

    steps: tuple[Step, ...]
    recodings: dict[str, Recoding]
    implied: Mapping[int, int]
    stopped_early: bool
    values: Mapping[int, int | Fraction]  # what the engine makes of each promise it kept
    limits: Limits  # why it went no further


def search(
    prepared: Prepared, watch: Watch, *, max_steps: int | None, deadline: float | None
) -> Found:
    """Search as far as the watch lets it, and keep what a release needs."""
    from reticent.refine.limits import Limits

    engine = Search(prepared)
    stopped = engine.run(watch, max_steps=max_steps, deadline=deadline)
    kept = [i for i in range(len(prepared.policy.promises)) if i not in engine.implied]
    values = {i: measure.value for i, measure in zip(kept, engine.measures, strict=True)}
    limits = Limits(engine.cuts, engine.measures)
    return Found(tuple(engine.steps), engine.recodings(), engine.implied, stopped, values, limits)


class Search:
    """The engine, set up for one prepared table."""

    def __init__(self, prepared: Prepared) -> None:
        from reticent.refine.cuts import Cuts
        from reticent.refine.measures import LargestConfidence, SmallestGroup
        from reticent.refine.scores import Goal

        self.prepared = prepared
        self.implied = prepared.implied()
        self.cuts = Cuts(prepared.domains)
        self.measures: list[Any] = []
        for position, promise in enumerate(prepared.policy.promises):
            if position in self.implied:
                continue
            attributes = prepared.attributes(promise)
            if isinstance(promise, Anonymity):
                marks = prepared.of_marks(promise)
                self.measures.append(SmallestGroup(promise, self.cuts, attributes, marks))
            else:
                sensitive = prepared.sensitive_marks(promise)
                self.measures.append(LargestConfidence(promise, self.cuts, attributes, sensitive))
        self.goal = Goal(self.cuts, prepared.policy.utility, *(prepared.classes or ()))
        self.steps: list[Step] = []

    def run(self, watch: Watch, *, max_steps: int | None, deadline: float | None) -> bool:
        """Refine until nothing is left to reveal, or it is time to stop; says which."""
        from reticent.refine.engine import begin, candidates, refine

        self.refuse_infeasible()
        watch.started()
        begin(self.cuts, self.measures, self.goal)
        steps = refine(self.cuts, self.measures, self.goal)
        while True:
            late = deadline is not None and time.monotonic() >= deadline
            if watch.stop() or late or len(self.steps) == max_steps:
                return bool(len(candidates(self.cuts, self.measures)))
            step = next(steps, None)
            if step is None:
                return False
            self.steps.append(step)
            watch.step(step.number, step.values)

    def refuse_infeasible(self) -> None:
        """Say which promises even the most masked table breaks."""
        broken = [m for m in self.measures if not m.holds()]
        if broken:
            raise Unsatisfiable(report.infeasible(m.promise, m.value) for m in broken)

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
