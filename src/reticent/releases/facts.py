"""What a flow has to say, as plain data: facts once, and three voices that speak of them.

Terminal text, JSON and pages of a release are made from the same facts; none of them gathers its
own. What everybody may know stands apart from what is for the owner's eyes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts by name."""

    public: Mapping[str, Any]  # nothing that the release itself does not tell
    private: Mapping[str, Any]

    @property
    def all(self) -> dict[str, Any]:
        """Everything, for the owner."""
        return {**self.public, **self.private}


def seconds(spent: Mapping[str, float]) -> dict[str, float]:
    """Seconds by stage, as summaries print them."""
    return {stage: round(time, 4) for stage, time in spent.items()}
