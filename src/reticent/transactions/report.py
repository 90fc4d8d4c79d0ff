"""What the flows for baskets have to say, as plain data."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from reticent.errors import many
from reticent.privacy.words import NOTHING
from reticent.releases.facts import Facts, seconds, small_table

if TYPE_CHECKING:
    from reticent.privacy.coherence import BasketExposure, BasketFinding
    from reticent.transactions.evaluation import BasketEvaluation
    from reticent.transactions.flow import BasketRelease, BasketRisk, BasketVerdict


def facts(release: BasketRelease) -> Facts:
    """All there is to say of a release; in public no item that is not there, and no exact loss."""
    original, released, promise = release.original, release.released, release.policy.promise
    whole = original.occurrences
    if release.policy.utility == "itemsets" and release.nuggets is not None:
        whole = release.nuggets[0]
    public = {
        "transactions": released.transactions,
        "items": len(released.names),
        "occurrences": released.occurrences,
        "loss_in_percent": round(100 * float(release.loss)),
        "stopped_early": release.stopped_early,
        "templates": [promise.facts() | {"verified": release.finding.holds}],
        "note": "The promise was recounted on the released transactions alone.",
    }
    private = {
        "promise": promise.text,
        "nothing": NOTHING if release.policy.promise_about(release.roles).emptiness else "",
        "items": {
            "before": len(original.names),
            "after": len(released.names),
            "suppressed": int(release.gone.sum()),
            "public": int(release.roles.public.sum()),
            "private": int(release.roles.private.sum()),
        },
        "occurrences": {"before": original.occurrences, "after": released.occurrences},
        "loss": rounded(release.loss),
        "nuggets": release.nuggets and _beside(release.nuggets),
        "method": release.search.method,
        "tried": {  # the loss of every method that finished: of nuggets, or of occurrences
            name: rounded(Fraction(lost[0], max(whole, 1)))
            for name, lost in release.search.tried.items()
        },
        "lost_what": "nuggets" if release.policy.utility == "itemsets" else "occurrences",
        "moles": {"found": release.search.moles, "all": release.search.complete},
        "warnings": [*release.roles.warnings, *release.warnings],
        "output": release.output,
        "seconds": seconds(release.seconds),
    }
    return Facts(public, private)


_SUMMARY = (
    "transactions", "items", "occurrences", "loss", "nuggets", "method", "tried", "moles",
    "stopped_early", "templates", "warnings", "output", "seconds",
)  # fmt: skip


def release_summary(told: Facts) -> dict[str, Any]:
    """What ``transactions release --json`` prints."""
    return {key: told.all[key] for key in _SUMMARY}


def rounded(share: Fraction) -> float:
    """A share as a number for people and machines."""
    return round(float(share), 6)


def suppressed(release: BasketRelease) -> list[dict[str, Any]]:
    """The items that went, in the order in which they did; for the owner's eyes."""
    supports = release.original.supports()
    names = release.original.names
    where = release.roles.public.nonzero()[0]
    return [
        {"item": str(names[int(where[item])]), "support": int(supports[where[item]])}
        for item in release.search.removed.gone
    ]


def worst(release: BasketRelease) -> list[dict[str, Any]]:
    """Sets of items that would break the promise, the shortest first; for the owner's eyes."""
    names = release.original.names
    where = release.roles.public.nonzero()[0]
    return [
        {"items": [str(names[int(where[item])]) for item in mole], "baskets": held}
        for mole, held in release.search.worst
    ]


def levels(exposed: Iterable[BasketExposure]) -> list[dict[str, Any]]:
    """What an attacker can do, by the number of items known."""
    return [
        {
            "known": level.known,
            "unique": level.unique,
            "below_k": level.small,
            "above_h": level.sure,
            "largest_confidence": None if level.largest is None else str(level.largest),
        }
        for level in exposed
    ]


def risk_summary(risk: BasketRisk) -> dict[str, Any]:
    """What ``transactions risk --json`` prints."""
    return {
        "transactions": risk.transactions,
        "items": risk.items,
        "public": int(risk.roles.public.sum()),
        "private": int(risk.roles.private.sum()),
        "templates": [risk.policy.promise.facts()],
        "levels": levels(risk.levels),
        "warnings": list(risk.roles.warnings),
    }


def verify_summary(verdict: BasketVerdict, *, names: bool = False) -> dict[str, Any]:
    """What ``transactions verify --json`` prints; with the names of items if they may be shown."""
    finding = verdict.finding
    shown: dict[str, Any] = {}
    if names and finding.breaking is not None:
        told = None if finding.inferred is None else str(verdict.names[finding.inferred])
        shown = {"known": [str(verdict.names[i]) for i in finding.breaking], "told": told}
    return {
        "transactions": verdict.transactions,
        "occurrences": verdict.occurrences,
        "holds": verdict.holds,
        "templates": [finding.promise.facts() | broken(finding) | shown],
        "altered": [problem.text() for problem in verdict.altered],
        "warnings": [
            *(text for text in verdict.roles.warnings if text.startswith("private")),
            *verdict.warnings,
        ],
    }


def broken(finding: BasketFinding) -> dict[str, Any]:
    """A verdict, and how large the set is that breaks a promise; not which items it holds."""
    found: dict[str, Any] = {"holds": finding.holds}
    if finding.breaking is not None:
        found |= {
            "breaking_items": len(finding.breaking),
            "support": finding.support,
            "confidence": None if finding.confidence is None else str(finding.confidence),
        }
    if finding.smallest is not None:
        found["smallest"] = finding.smallest
    return found


def evaluation_summary(found: BasketEvaluation) -> dict[str, Any]:
    """What ``transactions evaluate --json`` prints."""
    return {
        "transactions": found.transactions,
        "occurrences": _beside(found.occurrences),
        "items": _beside(found.items),
        "nuggets": _beside(found.nuggets),
        "support": found.support,
        "exposed": {"before": levels(found.before), "after": levels(found.after)},
        "baselines": {name: dict(facts) for name, facts in found.baselines.items()},
        "warnings": list(found.roles.warnings),
    }


def _beside(counted: tuple[int, int]) -> dict[str, Any]:
    before, after = counted
    loss = rounded(Fraction(before - after, max(before, 1)))
    return {"before": before, "after": after, "loss": loss}


def html(told: Facts) -> str:
    """A small table for notebooks."""
    items = told.private["items"]
    rows = {
        "promise": told.private["promise"],
        "verified": told.private["nothing"] or "kept",
        "items suppressed": f"{items['suppressed']:,} of {items['before']:,}",
        "occurrences lost": f"{told.private['loss']:.1%}",
    }
    early = "; stopped early, less might be suppressed" if told.public["stopped_early"] else ""
    return small_table(f"{many(told.public['transactions'], 'transaction')} released{early}", rows)
