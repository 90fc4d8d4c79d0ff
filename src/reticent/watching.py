"""How a flow tells its caller how far it is, and hears that it should stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Watch:
    """What a flow calls on its way; without anything, nobody watches."""

    stage: Callable[[str], None] = lambda name: None
    step: Callable[[int, Sequence[int | Fraction]], None] = lambda number, values: None
    stop: Callable[[], bool] = lambda: False
    rows: Callable[[int, int], None] = lambda done, of: None  # rows of a stage, so far and in all
    started: Callable[[], None] = lambda: None  # from here on, stopping still gives a release
