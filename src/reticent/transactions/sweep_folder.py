"""What a sweep of baskets comes to; its folder is that of every sweep (`releases.sweeping`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from reticent.releases.about import About
from reticent.releases.spoken import Spoken
from reticent.releases.sweeping import SweptPoints, folder_name
from reticent.transactions.policy import ItemRoles

BASKET_POINTS = SweptPoints(
    ("k", "at-most", "p"),
    ("threshold", "suppressed", "occurrences", "loss", "nuggets", "unique"),
    "suppressed.json",
)


def point_folder(swept: str, threshold: int | Fraction | None) -> str:
    """Where the release of a threshold stands.

    >>> point_folder("at_most", Fraction(1, 5)), point_folder("p", None)
    ('at-most-0.2', 'p-unlimited')
    """
    return "p-unlimited" if threshold is None else folder_name(swept, threshold)


@dataclass(frozen=True, slots=True, repr=False)
class BasketSweep(Spoken):
    """What a range of thresholds costs."""

    threshold: str  # "k", "at_most" or "p"
    points: tuple[Mapping[str, Any], ...]  # the loosest first
    floor: Mapping[str, Any]  # what depends on no threshold
    promise: str  # in words, with the swept threshold open
    resumed: int  # points that an earlier run had done
    output: str
    roles: ItemRoles
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # what was assumed in reading the baskets
    about: About = field(default_factory=About)  # what the policy says of itself

    def folder_of(self, point: Mapping[str, Any]) -> str:
        """Where the release of a point stands."""
        told = point["threshold"]
        return point_folder(self.threshold, None if told == "unlimited" else Fraction(str(told)))

    def summary(self) -> dict[str, Any]:
        """What ``transactions sweep --json`` prints."""
        return {
            "threshold": self.threshold,
            "promise": self.promise,
            **self.floor,
            "points": [dict(point) for point in self.points],
            "resumed": self.resumed,
            "output": self.output,
            "warnings": list(self.warnings),
        }

    def _says(self, words: Any) -> str:
        said: str = words.sweep(self)
        return said
