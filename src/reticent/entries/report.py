"""What the flows for single entries come to, and what there is to say of it, as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from reticent.data.columns import Table
from reticent.entries import asked as asking
from reticent.entries.original import Original
from reticent.entries.policy import EntryPolicy
from reticent.errors import Problem, many
from reticent.files.tabular import Reading
from reticent.privacy import entries as verifier
from reticent.privacy.entries import EntryExposure, EntryFinding
from reticent.privacy.words import percent
from reticent.releases.facts import Facts, seconds
from reticent.releases.spoken import Spoken

if TYPE_CHECKING:
    from reticent.suppress.entries.search import Hidden

_BEFORE = 2_000_000_000  # work spent on what requests alone would leave open, beside a release


@dataclass(frozen=True, repr=False)
class EntryRelease(Spoken):
    """A table without what would have told on those who asked, and the verifier's word."""

    original: Original = field(repr=False)
    search: Hidden = field(repr=False)
    released: Table = field(repr=False)  # the rows as they are published
    finding: EntryFinding | None = field(default=None, repr=False)
    seconds: Mapping[str, float] = field(default_factory=dict, repr=False)
    table: Any = field(default=None, repr=False)  # the released rows, in the kind that came in
    output: str | None = None
    reading: Reading = field(default_factory=Reading, repr=False)
    utility: Mapping[str, Any] | None = field(default=None, repr=False)

    @property
    def policy(self) -> EntryPolicy:
        """What was asked for."""
        return self.original.policy

    @property
    def warnings(self) -> tuple[str, ...]:
        """What looks as if it were not meant."""
        bare = self._bare()
        told = f"{many(len(bare), 'record', 'records')} of those who asked "
        told += "shows no condition any more" if len(bare) == 1 else "show no condition any more"
        said = [f"{told}: {asking.by_number(bare)}."] if bare else []
        return (*self.original.warnings, *said)

    def _bare(self) -> list[int]:
        """Whose conditions are all empty now, of those who asked and showed some before."""
        hidden, empty = self.original.hidden(self.search)[:, :-1], self.original.empty[:, :-1]
        who = self.original.who(self.original.codes.values)
        found = who & (hidden | empty).all(axis=1) & ~empty.all(axis=1)
        return [int(record) for record in np.flatnonzero(found)]

    @property
    def rows(self) -> int:
        """How many records there are."""
        return self.original.table.rows

    @property
    def requests(self) -> int:
        """How many records asked for their entry to be hidden."""
        return len(self.original.asked.records)

    @property
    def hidden(self) -> dict[str, int]:
        """How many entries of each column were hidden, besides those that were asked for."""
        names = self.original.roles.entries
        counts = np.bincount(self.search.columns, minlength=len(names))
        return dict(zip(names, counts.tolist(), strict=True))

    @property
    def loss(self) -> Fraction:
        """The share of all entries that were hidden besides those that were asked for."""
        entries = self.rows * len(self.original.roles.entries)
        return Fraction(len(self.search.records), max(entries, 1))

    @property
    def stopped_early(self) -> bool:
        """Whether the search was asked to end: less might have been hidden."""
        return self.search.stopped_early

    @cached_property
    def before(self) -> EntryFinding:
        """What the requests alone would have left open."""
        published, truth = self.original.requests_alone()
        return verifier.recount(
            published, self.policy.promise, self.original.asked.records, truth, budget=_BEFORE
        )

    def summary(self) -> dict[str, Any]:
        """What ``entries release --json`` prints."""
        return release_summary(facts(self))

    def _says(self, words: Any) -> str:
        said: str = words.release(facts(self))
        return said


@dataclass(frozen=True, slots=True, repr=False)
class EntryRisk(Spoken):
    """What a table with nothing but the requests hidden would tell."""

    original: Original = field(repr=False)
    finding: EntryFinding

    @property
    def requests(self) -> int:
        """How many records asked for their entry to be hidden."""
        return len(self.original.asked.records)

    def summary(self) -> dict[str, Any]:
        """What ``entries risk --json`` prints."""
        return risk_summary(self)

    def _says(self, words: Any) -> str:
        said: str = words.risk(self)
        return said


@dataclass(frozen=True, slots=True, repr=False)
class EntryVerdict(Spoken):
    """What the verifier says of a table that somebody hands over as a release."""

    policy: EntryPolicy
    rows: int
    requests: int
    finding: EntryFinding | None  # None: the table is not one of these records
    problems: tuple[Problem, ...]  # what is not as it was, or should not be there
    beside_original: bool
    unseen: int = 0  # marked entries that are empty, where only the original tells since when
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # what was assumed in reading

    @property
    def holds(self) -> bool | None:
        """Whether the promise is kept; None: nobody can tell from this."""
        if self.problems or self.finding is None or self.finding.visible:
            return False
        if self.beside_original:
            return self.finding.holds
        return True if self.finding.holds and not self.unseen else None

    def summary(self) -> dict[str, Any]:
        """What ``entries verify --json`` prints."""
        return verify_summary(self)

    def _says(self, words: Any) -> str:
        said: str = words.verdict(self)
        return said


def facts(release: EntryRelease) -> Facts:
    """All there is to say of a release; in public no value, and no record by its number or id."""
    policy = release.policy
    holds = release.finding.holds if release.finding else None
    public = {
        **policy.about.told(),
        "rows": release.rows,
        "requests": release.requests,
        "hidden": {"entries": len(release.search.records), "columns": release.hidden},
        "removal_rate": round(float(release.loss), 6),
        "stopped_early": release.stopped_early,
        "templates": [policy.promise.facts() | {"holds": holds}],
        "note": "The promise was recounted on the released rows, with the original beside them.",
    }
    private = {
        "promise": policy.promise.text,
        "empty": bool(policy.promise.emptiness),
        "loss": percent(release.loss, "%"),
        "may_hide": list(policy.may_hide),
        "method": release.search.method,
        "unsafe_rules": {"before": release.search.rules, "after": 0},
        "warnings": list(release.warnings),
        "output": release.output,
        "seconds": seconds(release.seconds),
    }
    return Facts(public, private)


_SUMMARY = (
    "rows", "requests", "hidden", "removal_rate", "may_hide", "method", "unsafe_rules",
    "stopped_early", "templates", "warnings", "output", "seconds",
)  # fmt: skip


def release_summary(told: Facts) -> dict[str, Any]:
    """What ``entries release --json`` prints."""
    summary = {key: told.all[key] for key in _SUMMARY}
    [template] = told.public["templates"]
    kept = {key: value for key, value in template.items() if key != "holds"}
    return summary | {"templates": [kept | {"verified": template["holds"]}]}


def reasons(release: EntryRelease) -> Iterator[dict[str, Any]]:
    """What was hidden where, and which rule about whom forced it; for the owner's eyes.

    A search that was stopped early does not know of every entry whether a rule forces it.
    """
    names = release.original.roles.entries
    search = release.search
    for record, column, reason in zip(
        search.records.tolist(), search.columns.tolist(), search.reasons, strict=True
    ):
        yield {
            "record": record + 1,
            "column": names[column],
            "for_request": reason and reason[0] + 1,
            "rule": reason and [names[i] for i in reason[1]],
        }


def exposures(original: Original, finding: EntryFinding) -> list[dict[str, Any]]:
    """Who could be told on, the surest first; for the owner's eyes."""
    worst = sorted(finding.exposed, key=lambda one: (-one.confidence, -one.own, one.record))
    return [exposure(one, original.roles.conditions) for one in worst]


def exposure(one: EntryExposure, conditions: tuple[str, ...]) -> dict[str, Any]:
    """A record and the strongest rule about it: which columns it starts from, and its counts."""
    return {
        "record": one.record + 1,
        "rules": one.rules,
        "columns": [conditions[i] for i in one.columns],
        "support": one.support,
        "own": one.own,
        "confidence": str(one.confidence),
    }


def counted(finding: EntryFinding) -> dict[str, Any]:
    """What a recount gave, without saying of whom."""
    return {
        "exposed": len(finding.exposed),
        "unsafe_rules": finding.unsafe,
        "largest_confidence": None if finding.largest is None else str(finding.largest),
        "complete": finding.complete,
    }


def risk_summary(risk: EntryRisk) -> dict[str, Any]:
    """What ``entries risk --json`` prints."""
    return {
        "rows": risk.original.table.rows,
        "requests": risk.requests,
        "templates": [
            risk.original.policy.promise.facts()
            | {"holds": risk.finding.holds}
            | counted(risk.finding)
        ],
        "riskiest": exposures(risk.original, risk.finding),
        "warnings": list(risk.original.warnings),
    }


def verify_summary(verdict: EntryVerdict) -> dict[str, Any]:
    """What ``entries verify --json`` prints."""
    finding = verdict.finding
    record = verdict.policy.promise.facts() | {"holds": verdict.holds}
    records: dict[str, list[int]] = {}
    if finding is not None:
        record |= counted(finding)
        told = "exposed_records" if verdict.beside_original else "undecided_records"
        records[told] = [one.record + 1 for one in finding.exposed]
        records["visible_records"] = [number + 1 for number in finding.visible]
    return {
        "rows": verdict.rows,
        "requests": verdict.requests,
        "holds": verdict.holds,
        "original": verdict.beside_original,
        "tried": "true values" if verdict.beside_original else "every value",
        "templates": [record],
        **records,
        "marks_not_checkable": verdict.unseen,
        "altered": [problem.text() for problem in verdict.problems],
        "warnings": list(verdict.warnings),
    }
