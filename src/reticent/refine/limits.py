"""Why the search went no further: what each value that stayed masked would have broken.

A candidate that would break a promise is dropped for good, and from then on nobody counts it. So
what the measures knew of it last is what ruled it out, and the search only notes when. This record
therefore costs one number a slot; labels are made when somebody asks for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from reticent.data.encode import DomainNode
from reticent.refine.cuts import Cuts
from reticent.refine.measures import Measure

Fate = Literal["revealed", "stopped", "idle", "open"]
FATES: tuple[Fate, ...] = get_args(Fate)


@dataclass(frozen=True, slots=True)
class Stop:
    """A refinement that was not made, and why."""

    attribute: str
    value: str
    into: tuple[str, ...]
    after: int  # how many steps had been made when it was ruled out
    broken: tuple[tuple[int, int | Fraction], ...]  # which measures, and their value after it


class Limits:
    """What became of every value that some column still shows, or still hides.

    - revealed: as fine as it gets;
    - stopped: refining it would have broken a promise;
    - idle: there is nothing to learn from refining it;
    - open: it could still be refined, had the search not been stopped.
    """

    def __init__(self, cuts: Cuts, measures: Sequence[Measure]) -> None:
        self.cuts = cuts
        self.slots = np.flatnonzero(cuts.stopped >= 0)  # in tie order
        self.forecasts = [measure.forecast(self.slots) for measure in measures]

    def __len__(self) -> int:
        return len(self.slots)

    def stops(self, attribute: int | None = None) -> Iterator[Stop]:
        """What was ruled out, of one column or of all, in tie order."""
        if attribute is None:
            for one in range(len(self.cuts.domains)):
                yield from self.stops(one)
            return
        domain, span = self.cuts.domains[attribute], self.cuts.span(attribute)
        first, last = np.searchsorted(self.slots, span).tolist()
        slots = self.slots[first:last]
        after = self.cuts.stopped[slots].tolist()
        for i, slot in enumerate(slots.tolist()):
            label, node = self.label(slot), self.cuts.shown.get(slot)
            into = map(domain.printed, node.children) if node else (label, domain.marker)
            broken = (
                (measure, what.value(first + i))
                for measure, what in enumerate(self.forecasts)
                if what.breaks[first + i]
            )
            yield Stop(domain.name, label, tuple(into), after[i], tuple(broken))

    def label(self, slot: int) -> str:
        """The value that goes by a slot."""
        attribute = self.cuts.attribute_of(slot)
        domain, node = self.cuts.domains[attribute], self.cuts.shown.get(slot)
        if node is not None:
            return domain.printed(node)
        return domain.leaves[slot - int(self.cuts.offset[attribute])]

    def fates(self, attribute: int) -> dict[Fate, NDArray[np.int64]]:
        """The values of one column by what became of them."""
        cuts = self.cuts
        if cuts.domains[attribute].root is None:
            slots = np.arange(*cuts.span(attribute))
            fine = cuts.current[slots] == slots
        else:
            shown = self._shown[attribute]
            slots = np.array([slot for slot, _ in shown], dtype=np.int64)
            # A tree value without parts is as fine as it gets; an interval of one point has none.
            whole = [not n.children and (not n.learnt or n.high - n.low < 2) for _, n in shown]
            fine = np.array(whole, dtype=bool)
        # The first that is true decides, so a value ruled out is not taken for an idle one.
        states = [fine, cuts.stopped[slots] >= 0, ~cuts.live[slots], cuts.live[slots]]
        fate = np.argmax(states, axis=0)
        return {name: slots[fate == i] for i, name in enumerate(FATES)}

    @cached_property
    def _shown(self) -> list[list[tuple[int, DomainNode]]]:
        found: list[list[tuple[int, DomainNode]]] = [[] for _ in self.cuts.domains]
        for slot, node in sorted(self.cuts.shown.items(), key=lambda pair: pair[0]):
            found[self.cuts.attribute_of(slot)].append((slot, node))
        return found
