"""What a sweep of a table comes to; its folder is that of every sweep (`releases.sweeping`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from reticent.errors import many
from reticent.releases.about import About
from reticent.releases.spoken import Spoken
from reticent.releases.sweeping import SweptPoints, folder_name

# What every point of a sweep of a table has, and a file that its whole release has.
TABLE_POINTS = SweptPoints(
    ("k", "at-most"),
    ("threshold", "kept", "steps", "distortion", "groups", "reidentified", "shows", "cuts"),
    "recoding.json",
)


@dataclass(frozen=True, slots=True, repr=False)
class Sweep(Spoken):
    """What a range of thresholds costs."""

    threshold: str  # "k" or "at_most"
    points: tuple[Mapping[str, Any], ...]  # the loosest first
    floor: Mapping[str, Any]  # what depends on no threshold: BE, UE, RE, majority
    resumed: int  # points that an earlier run had done
    output: str
    warnings: tuple[str, ...]
    promises: tuple[str, ...]  # in words, with the swept threshold open
    told: tuple[str, ...]  # the same for people: of many columns the first
    rows: int
    seed: int
    notes: tuple[str, ...] = ()  # what was assumed in reading the table
    about: About = field(default_factory=About)  # what the policy says of itself

    def folder_of(self, point: Mapping[str, Any]) -> str:
        """Where the release of a point stands."""
        return folder_name(self.threshold, Fraction(str(point["threshold"])))

    def summary(self) -> dict[str, Any]:
        """What ``sweep --json`` prints."""
        return {
            "threshold": self.threshold,
            "promises": list(self.promises),
            "rows": self.rows,
            "seed": self.seed,
            "points": [dict(point) for point in self.points],
            **self.floor,
            "resumed": self.resumed,
            "output": self.output,
            "warnings": list(self.warnings),
        }

    def __repr__(self) -> str:
        return f"<Sweep: {self.threshold} at {many(len(self.points), 'threshold')}>"

    def _says(self, words: Any) -> str:
        said: str = words.sweep(self)
        return said
