"""What the flows for baskets have to say, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from reticent.pages.notebook import small_table

if TYPE_CHECKING:
    from reticent.privacy.coherence import BasketExposure, BasketFinding, Coherence
    from reticent.transactions.evaluation import BasketEvaluation
    from reticent.transactions.flow import BasketRelease, BasketRisk, BasketVerdict


def about(promise: Coherence) -> dict[str, Any]:
    """What was promised."""
    p = "unlimited" if promise.p is None else promise.p
    return {"kind": promise.kind, "h": str(promise.h), "k": promise.k, "p": p}


def release_summary(release: BasketRelease) -> dict[str, Any]:
    """What ``transactions release --json`` prints."""
    original, released = release.original, release.released
    return {
        "transactions": released.transactions,
        "items": {
            "before": len(original.names),
            "after": len(released.names),
            "suppressed": int(release.gone.sum()),
            "public": int(release.roles.public.sum()),
            "private": int(release.roles.private.sum()),
        },
        "occurrences": {"before": original.occurrences, "after": released.occurrences},
        "loss": rounded(release.loss),
        "nuggets": nuggets(release.nuggets),
        "method": release.search.method,
        "tried": tried(release),
        "moles": {"found": release.search.moles, "all": release.search.complete},
        "stopped_early": release.stopped_early,
        "templates": [about(release.policy.promise) | {"verified": release.finding.holds}],
        "warnings": [*release.roles.warnings, *release.warnings],
        "output": release.output,
        "seconds": {name: round(spent, 3) for name, spent in release.seconds.items()},
    }


def tried(release: BasketRelease) -> dict[str, float]:
    """The loss of every method that finished: of nuggets, or of occurrences."""
    if release.policy.utility == "itemsets" and release.nuggets is not None:
        whole = release.nuggets[0]
    else:
        whole = release.original.occurrences
    return {
        name: rounded(Fraction(lost[0], max(whole, 1)))
        for name, lost in release.search.tried.items()
    }


def nuggets(counted: tuple[int, int] | None) -> dict[str, Any] | None:
    """Nuggets before and after."""
    if counted is None:
        return None
    before, after = counted
    return {
        "before": before,
        "after": after,
        "loss": rounded(Fraction(before - after, max(before, 1))),
    }


def rounded(share: Fraction) -> float:
    """A share as a number for people and machines."""
    return round(float(share), 6)


def public(release: BasketRelease) -> dict[str, Any]:
    """The report that may be published: no item that is not there, and no exact loss."""
    return {
        "transactions": release.released.transactions,
        "items": len(release.released.names),
        "occurrences": release.released.occurrences,
        "loss_in_percent": round(100 * float(release.loss)),
        "stopped_early": release.stopped_early,
        "templates": [about(release.policy.promise) | {"verified": release.finding.holds}],
        "note": "The promise was recounted on the released transactions alone.",
    }


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
        "templates": [about(risk.policy.promise)],
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
        "templates": [about(finding.promise) | broken(finding) | shown],
        "altered": [problem.text() for problem in verdict.altered],
        "warnings": [text for text in verdict.roles.warnings if text.startswith("private")],
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


def _beside(counted: tuple[int, int]) -> Mapping[str, Any]:
    before, after = counted
    loss = rounded(Fraction(before - after, max(before, 1)))
    return {"before": before, "after": after, "loss": loss}


def html(release: BasketRelease) -> str:
    """A small table for notebooks."""
    rows = {
        "promise": release.policy.promise.text,
        "verified": "kept",
        "items suppressed": f"{int(release.gone.sum()):,} of {len(release.original.names):,}",
        "occurrences lost": f"{float(release.loss):.1%}",
    }
    early = "; stopped early, less might be suppressed" if release.stopped_early else ""
    return small_table(f"{release.released.transactions:,} transactions released{early}", rows)
