"""How long to search."""

from __future__ import annotations

from dataclasses import dataclass, replace


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
