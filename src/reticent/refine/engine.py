"""Top-down refinement: from everything masked, reveal one value at a time.

Start at the most masked table. While some refinement is valid (every promise still holds after it)
and beneficial (there is something to learn from it), perform the one of highest score. The result
is maximal: no single further refinement is both.

Source: Fung 2007, chapters 4 and 5 (algorithms TDR and TDD); Wang, Fung, Yu 2005.

    paper           here
    Cut_i, Sup_i    Cuts                 what each column shows now
    Score(v)        InfoGain(v) / (PrivLoss(v) + 1)
    InfoGain(v)     Usefulness.gains     from class counts only
    PrivLoss(v)     mean of Measure.loss over the promises about v's column

The score "conditional" has the same form: the gain given all that is shown (see `scores`), over the
mean loss in bits (`Measure.bits`) + 0.1. A factor says better than a difference what a loss means
for the steps to come: 200 records fewer are nothing to a smallest group of 10,000 and the end of
one of 210.

Cost: a reveal touches the rows that showed the revealed value, once per other column that still
has a candidate there; everything else is counts. Over a run that is O(n · m · h · m) for n distinct
rows, m columns and mean depth h.

Where we differ from the papers:

1. Groups are kept per promise, over its own columns only, and rows are collapsed over those; the
   papers link one set of partitions over all columns (TIPS). Results are the same.
2. Candidates keep a running extreme per promise, and go for good once invalid (test_refine_twin);
   but not for promises about earlier releases, which a refinement can mend (test_sequence_twin).
3. The erratum on redundant templates: `reticent.privacy.promises.implied`.
4. Scores are compared by their keys (`reticent.data.keys`), and ties are pinned: attribute order,
   then value order (test_release_laws, test_refine_twin).
5. With promises of both kinds, anonymity losses are divided by their start value, so that one kind
   does not drown the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from reticent.data.keys import UNREAL, first_best, key
from reticent.errors import Broken
from reticent.refine.cuts import Cuts
from reticent.refine.foreign import Partition
from reticent.refine.measures import Measure
from reticent.refine.scores import Floats, Score, Usefulness

Choice = int | Partition | None  # a position among the candidates, what was heard, or the end
Choose = Callable[[NDArray[np.int64], Floats], Choice]
_FREE: dict[Score, float] = {"paper": 1.0, "conditional": 0.1}  # keeps free steps from infinity


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the trace."""

    number: int
    attribute: str
    value: str
    into: tuple[str, ...]
    info_gain: float  # of another owner's step, nobody tells these three: they are 0
    privacy_loss: float
    score: float
    values: tuple[int | Fraction, ...]  # each measure's value after the step
    slot: int = -1  # the candidate, as `Cuts` knows it; -1 if it is another owner's,
    parts: tuple[int, ...] = field(default=(), compare=False)  # what it became,
    name: str = ""  # and how searches of other tables know it


def begin(cuts: Cuts, measures: Sequence[Measure], goal: Usefulness) -> Losses:
    """Offer the beneficial refinements of the most masked table, and measure each."""
    losses = Losses(cuts, measures, goal.score)
    goal.begin()
    for measure in measures:
        measure.begin()
    return losses


def refine(
    cuts: Cuts,
    measures: Sequence[Measure],
    goal: Usefulness,
    losses: Losses,
    *,
    choose: Choose | None = None,
) -> Iterator[Step]:
    """Reveal one masked value at a time, after `begin`, until no reveal keeps every promise.

    The caller draws the steps; between any two of them the table as shown keeps every promise, so
    it may stop drawing at any time. `choose` is the seam *who chooses*: alone, or agreed among
    owners. It is asked even if no candidate is left here, and ends the search by choosing nothing.
    *Who reveals* is `Cuts.perform`, the only place where a choice becomes visible: a candidate of
    ours, or what another owner told (`Cuts.telling` is what to tell others of a choice of ours).
    """
    choose = choose or highest_score
    while True:
        slots = candidates(cuts, measures)
        gains, loss = goal.gains(slots), losses(slots)
        scores = gains / (loss + losses.free)
        choice = choose(slots, scores)
        if choice is None:
            break
        if isinstance(choice, Partition):
            reveal, worth = cuts.heard(choice), (0.0, 0.0, 0.0)
        else:
            reveal = cuts.aimed(int(slots[choice]))
            worth = (float(gains[choice]), float(loss[choice]), float(scores[choice]))
        about = [measure for measure in measures if reveal.attribute in measure.heeds]
        goal.forget(reveal)
        for measure in about:
            measure.forget(reveal)
        cuts.perform(reveal)
        goal.reveal(reveal)
        for measure in about:
            measure.reveal(reveal)
        yield Step(
            cuts.reveals, reveal.column, reveal.label, reveal.into, *worth,
            tuple(measure.value for measure in measures), reveal.slot, reveal.parts, reveal.name,
        )  # fmt: skip
    # What could have become possible again, and did not; but not what a chooser left open.
    cuts.stop(np.setdiff1d(cuts.candidates(), slots))


def highest_score(slots: NDArray[np.int64], scores: Floats) -> int | None:
    """The first candidate, in tie order, of those whose scores have the largest key; or none.

    >>> highest_score(np.array([4, 7, 9]), np.array([0.2, 0.5, 0.5 + 1e-13]))
    1
    """
    if not len(slots):
        return None
    winner = int(first_best(scores))
    if abs(key(scores[winner])) >= UNREAL:  # what is no number would win every comparison
        raise Broken("the score of a refinement is no number")
    return winner


def candidates(cuts: Cuts, measures: Sequence[Measure]) -> NDArray[np.int64]:
    """The refinements that keep every promise, in tie order.

    Those that would break one are forgotten, where a promise once broken stays broken.
    """
    slots = cuts.candidates()
    valid = np.ones(len(slots), dtype=bool)
    for measure in (m for m in measures if m.lasting):
        valid &= measure.valid(slots)
    if not valid.all():
        cuts.stop(slots[~valid])
        slots = slots[valid]
    for measure in (m for m in measures if not m.lasting):
        slots = slots[measure.valid(slots)]
    return slots


class Losses:
    """PrivLoss: the mean loss over the promises whose `over` holds the candidate's column."""

    def __init__(self, cuts: Cuts, measures: Sequence[Measure], score: Score = "paper") -> None:
        self.measures = measures
        self.in_bits = score == "conditional"
        self.free = _FREE[score]
        self.offset = cuts.offset
        kinds = {measure.promise.kind for measure in measures}
        self.units = [
            float(m.value) if len(kinds) > 1 and m.promise.kind == "anonymity" else 1.0
            for m in measures
        ]
        columns = range(len(cuts.domains))
        # Which promises a column's loss is the mean of, by column.
        self.about = np.array([[a in m.attributes for a in columns] for m in measures])

    def __call__(self, slots: NDArray[np.int64]) -> Floats:
        """The loss of each candidate."""
        total = np.zeros(len(slots))
        about = self.about[:, np.searchsorted(self.offset, slots, side="right") - 1]
        for measure, unit, told in zip(self.measures, self.units, about, strict=True):
            lost = measure.bits(slots) if self.in_bits else measure.loss(slots) / unit
            total += np.where(told, lost, 0.0)
        mean: Floats = total / about.sum(axis=0)
        return mean
