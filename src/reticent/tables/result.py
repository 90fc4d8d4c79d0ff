"""A released table: what was found, what the verifier says of it, and where it stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from reticent.tables import report

if TYPE_CHECKING:
    from reticent.data.recode import Recoding
    from reticent.files.sheets import Sheet
    from reticent.privacy.risk import Exposure
    from reticent.privacy.verify import Proof
    from reticent.refine.engine import Step
    from reticent.refine.limits import Limits
    from reticent.releases.facts import Facts
    from reticent.tables.held_back import HeldBack
    from reticent.tables.prepare import Prepared
    from reticent.tables.previous.exposure import LinkedRelease
    from reticent.tables.search.greedy import Found
    from reticent.tables.search.rare import LeftOut


@dataclass(frozen=True, slots=True)
class Release:
    """A masked table, how it came about, and the verifier's word on it."""

    prepared: Prepared = field(repr=False)
    sheet: Sheet = field(repr=False)
    found: Found = field(repr=False)  # the search's own word, with the cuts that it passed over
    before: tuple[Exposure, ...] = field(repr=False)
    proof: Proof = field(repr=False)
    seconds: dict[str, float]
    left_out: LeftOut | None = field(default=None, repr=False)  # records that the policy lets go
    # Options of the command that decided all this.
    asked: Mapping[str, str] = field(default_factory=dict, repr=False)
    meets: tuple[LinkedRelease, ...] = field(default=(), repr=False)
    held_back: tuple[HeldBack, ...] = field(default=(), repr=False)  # hidden for a few's sake
    table: Any = field(default=None, repr=False)  # the released rows, in the kind that came in
    output: str | None = None
    # How well a classifier learns from it: errors by name (see `tables.pages.public`), or the
    # reason why that was not measured.
    utility: Mapping[str, Any] | None = field(default=None, repr=False)

    @property
    def steps(self) -> tuple[Step, ...]:
        """What was revealed, one value at a time."""
        return self.found.steps

    @property
    def recodings(self) -> Mapping[str, Recoding]:
        """How each masked column is shown."""
        return self.found.recodings

    @property
    def implied(self) -> Mapping[int, int]:
        """Which promises another one already keeps."""
        return self.found.implied

    @property
    def stopped_early(self) -> bool:
        """Whether more could have been revealed."""
        return self.found.stopped_early

    @property
    def limits(self) -> Limits:
        """Why nothing more was revealed."""
        return self.found.limits

    @property
    def warnings(self) -> tuple[str, ...]:
        """What breaks no promise but should be looked at."""
        policy, proof = self.prepared.policy, self.proof
        return (*policy.emptiness, *self.prepared.warnings, *proof.warnings)

    @property
    def cuts(self) -> dict[str, list[str]]:
        """Every label that each masked column shows."""
        return report.shown_labels(self.sheet, self.recodings)

    def facts(self) -> Facts:
        """All there is to say of it, as plain data."""
        return report.facts(self)

    def summary(self) -> dict[str, Any]:
        """What ``release --json`` prints."""
        return report.release_summary(self.facts())

    def trace(self) -> Iterator[dict[str, Any]]:
        """One record a step, as ``--trace`` writes them."""
        return report.trace(self)

    def _repr_html_(self) -> str:
        return report.html(self.facts())
