"""How a flow tells its caller how far it is, and hears that it should stop."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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
    nodes: Callable[[int], None] = lambda count: None  # of a tree that grows, so far
    tell: Callable[[str], None] = lambda words: None  # more about the stage that has begun


class Clock:
    """Seconds spent in each stage."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count what is done inside as one stage."""
        self.watch.stage(name)
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    def rows(self, of: int) -> Callable[[int], None]:
        """Tell how many rows of a stage are done."""
        return lambda done: self.watch.rows(min(done, max(of, 1)), max(of, 1))
