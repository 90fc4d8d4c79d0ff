"""What the flows for single entries have to say, as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from reticent.errors import many
from reticent.privacy.words import percent
from reticent.releases.facts import Facts, seconds, small_table

if TYPE_CHECKING:
    from reticent.entries.checking import EntryVerdict
    from reticent.entries.flow import EntryRelease, EntryRisk
    from reticent.entries.original import Original
    from reticent.privacy.entries import EntryExposure, EntryFinding


def facts(release: EntryRelease) -> Facts:
    """All there is to say of a release; in public no value, and no record by its number or id."""
    policy = release.policy
    holds = release.finding.holds if release.finding else None
    public = {
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


def html(told: Facts) -> str:
    """A small table for notebooks."""
    rows = {
        "promise": told.private["promise"],
        "verified": "nothing beyond the requests" if told.private["empty"] else "kept",
        "requests": f"{told.public['requests']:,}",
        "further entries hidden": f"{told.public['hidden']['entries']:,} ({told.private['loss']})",
    }
    early = "; stopped early, less might be hidden" if told.public["stopped_early"] else ""
    return small_table(f"{many(told.public['rows'], 'row')} released{early}", rows)
