"""Columns that show nothing for the sake of the few records that miss their value.

A missing value stands directly below the root of its column, so that the first step of the column
shows who has none: a group that may be too small, though the others are many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any

from reticent.data.encode import MISSING
from reticent.errors import many
from reticent.privacy.promises import Anonymity, Promise
from reticent.tables.exposure import measured
from reticent.tables.prepare import Prepared

if TYPE_CHECKING:
    from reticent.refine.limits import Stop
    from reticent.tables.search.greedy import Found

_LOOKED_AT = 20  # of a suppressed column; with more values, others are hidden beside the missing


@dataclass(frozen=True, slots=True)
class HeldBack:
    """A column that could show something, were it not for those who miss its value."""

    column: str
    value: str  # whose refinement was ruled out
    records: int  # that miss one
    broken: tuple[tuple[Promise, int | Fraction], ...]  # by what, and its value after that
    suppresses: bool  # whether a few records may be left out already

    @property
    def says(self) -> str:
        """Why it shows nothing."""
        who = f"{many(self.records, 'record')} {'misses' if self.records == 1 else 'miss'} it"
        why = "; ".join(promise.would_break(value) for promise, value in self.broken)
        return f'"{self.column}" shows nothing because {who}: {why}.'

    @property
    def do(self) -> str:
        """What would help; records are left out for the sake of anonymity alone."""
        if not all(isinstance(promise, Anonymity) for promise, _ in self.broken):
            return 'Fill them, or leave them out with  missing = "drop".'
        allow = "raise" if self.suppresses else "allow"
        return f'Fill them, leave them out with  missing = "drop",  or {allow}  suppress_records.'


def held_back(prepared: Prepared, found: Found) -> Iterator[HeldBack]:
    """Columns that show nothing, and could show something without the records that miss a value.

    So it is if a refinement was ruled out, and on the other records would have kept every promise
    that ruled it out, the other columns showing what they showed then. Of promises about earlier
    releases nothing is said: who else would match is not counted here.
    """
    searched = [p for i, p in enumerate(prepared.policy.promises) if i not in found.implied]
    for attribute, domain in enumerate(prepared.domains):
        if found.shown[attribute].any() or not domain.holds_missing:
            continue
        missing = domain.codes == domain.size - 1
        for stop in islice(found.limits.stops(attribute), _LOOKED_AT):
            broken = tuple((searched[measure], value) for measure, value in stop.broken)
            if stop.value != MISSING and all(
                not promise.releases and _kept(prepared, found, promise, attribute, stop, ~missing)
                for promise, _ in broken
            ):
                yield HeldBack(
                    domain.name, stop.value, prepared.table.count(missing), broken,
                    bool(prepared.policy.suppress_records),
                )  # fmt: skip
                break


def _kept(
    prepared: Prepared, found: Found, promise: Promise, attribute: int, stop: Stop, rows: Any
) -> bool:
    """Whether some rows keep a promise after a refinement that was ruled out."""
    cuts, domain = found.limits.cuts, prepared.domains[attribute]
    first, _ = cuts.span(attribute)
    if domain.root is None:
        parts: Sequence[int] = [first + domain.leaves.index(stop.value)]
    else:
        parts = [first + part.low for part in domain.root.children if part.low < part.high]
    parts = [*parts, *(part for step in found.steps[: stop.after] for part in step.parts)]
    over = prepared.attributes(promise)
    shown = [cuts.after(one, parts) for one in over]
    codes = [leaves[prepared.domains[one].codes] for one, leaves in zip(over, shown, strict=True)]
    sizes = [int(leaves.max()) + 1 for leaves in shown]
    return promise.kept_with(measured(prepared, promise, codes, sizes, rows).value)
