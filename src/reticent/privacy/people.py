"""How many people two tables share: counts and words, for the owner of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reticent.errors import many
from reticent.privacy.words import joined


@dataclass(frozen=True, slots=True)
class PeopleInBoth:
    """The people of a table and of an earlier release."""

    release: str
    by: tuple[str, ...] = ()  # the columns that tell people apart; none: nothing can tell
    here: int = 0
    there: int = 0
    both: int = 0

    @property
    def same(self) -> bool:
        """Whether the two are known to be about the same people."""
        return bool(self.by) and self.here == self.there == self.both

    @property
    def text(self) -> str:
        """It in a sentence."""
        if not self.by:
            return (
                f"Nothing tells how many people are both here and in {self.release}: no column "
                "that tells people apart stands in both tables. Promises about the two take "
                "everybody to be in both."
            )
        told = f"as {joined(self.by)} {'tells' if len(self.by) == 1 else 'tell'}"
        if self.same:
            return f"{self.release} is about the same {self.here:,} people, {told}."
        return (
            f"{self.both:,} of {many(self.here, 'person', 'people')} here are in {self.release}, "
            f"too, {told}; of the {self.there:,} there, {self.there - self.both:,} are not here."
        )

    def facts(self) -> dict[str, Any]:
        """It as programs read it; null where nothing can tell."""
        counts = {"here": self.here, "there": self.there, "both": self.both}
        told = counts if self.by else dict.fromkeys(counts)
        return {"release": self.release, "by": list(self.by), **told}
