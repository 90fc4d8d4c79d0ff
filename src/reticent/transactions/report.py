"""What the flows for baskets come to, and what there is to say of it, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from reticent.data.baskets import Baskets
from reticent.errors import Problem
from reticent.files.tabular import Reading
from reticent.privacy import coherence
from reticent.privacy.coherence import BasketExposure, BasketFinding
from reticent.privacy.words import NOTHING
from reticent.releases.facts import Facts, seconds
from reticent.releases.spoken import Spoken
from reticent.transactions.policy import BasketPolicy, ItemRoles, Mask

if TYPE_CHECKING:
    from reticent.suppress.baskets.methods import Suppressed

_BEFORE = 200_000_000  # work spent on what the data expose as they are, beside a release
MOST_KNOWN = 3  # items, of that


@dataclass(frozen=True, repr=False)
class BasketRelease(Spoken):
    """Baskets without the items that would have singled somebody out, and the verifier's word."""

    policy: BasketPolicy
    original: Baskets = field(repr=False)
    roles: ItemRoles = field(repr=False)
    gone: Mask = field(repr=False)  # which items were suppressed
    search: Suppressed = field(repr=False)
    released: Baskets = field(repr=False)
    finding: BasketFinding = field(repr=False)
    nuggets: tuple[int, int] | None = None  # before, and after; if the policy asks for them
    warnings: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict, repr=False)
    table: Any = field(default=None, repr=False)  # the released baskets, in the kind that came in
    output: str | None = None
    reading: Reading = field(default_factory=Reading, repr=False)

    @property
    def suppressed(self) -> list[str]:
        """The items that went, by name; they are not for publication."""
        return [str(name) for name in self.original.names.filter(self.gone).to_pylist()]

    @property
    def loss(self) -> Fraction:
        """The share of all item occurrences that went."""
        before = self.original.occurrences
        return Fraction(before - self.released.occurrences, max(before, 1))

    @property
    def stopped_early(self) -> bool:
        """Whether the search was asked to end: less might have gone."""
        return self.search.stopped_early

    @cached_property
    def before(self) -> tuple[BasketExposure, ...]:
        """What the baskets exposed as they were."""
        return coherence.exposure(
            roled(self.original, self.roles), self.policy.promise, most=MOST_KNOWN, budget=_BEFORE
        )

    def summary(self) -> dict[str, Any]:
        """What ``transactions release --json`` prints."""
        return release_summary(facts(self))

    def _says(self, words: Any) -> str:
        said: str = words.release(facts(self))
        return said


@dataclass(frozen=True, slots=True, repr=False)
class BasketVerdict(Spoken):
    """What the verifier says of baskets that somebody hands over."""

    finding: BasketFinding
    transactions: int
    occurrences: int
    names: Any  # of all items
    roles: ItemRoles
    altered: tuple[Problem, ...] = ()  # files of a release folder that are not as they were
    warnings: tuple[str, ...] = ()  # of such a folder, and where nothing is promised

    @property
    def holds(self) -> bool | None:
        """Whether the promise is kept; None: nobody can tell within the budget."""
        return False if self.altered else self.finding.holds

    @property
    def empty(self) -> bool:
        """Whether it could only be kept."""
        return bool(self.finding.promise.among(private=bool(self.roles.private.any())).emptiness)

    def summary(self) -> dict[str, Any]:
        """What ``transactions verify --json`` prints."""
        return verify_summary(self)

    def _says(self, words: Any) -> str:
        said: str = words.verdict(self, names=False)
        return said


@dataclass(frozen=True, slots=True, repr=False)
class BasketRisk(Spoken):
    """What baskets as they are expose."""

    policy: BasketPolicy
    levels: tuple[BasketExposure, ...]
    transactions: int
    items: int
    roles: ItemRoles
    notes: tuple[str, ...] = ()  # what was assumed in reading them

    def summary(self) -> dict[str, Any]:
        """What ``transactions risk --json`` prints."""
        return risk_summary(self)

    def chart(self) -> str:
        """How many people some known items single out, as an SVG image."""
        from reticent.pages.drawing import standalone
        from reticent.transactions.charts import exposed_chart

        drawn = exposed_chart(self.levels, self.transactions, self.policy.promise)
        return standalone(drawn)

    def _says(self, words: Any) -> str:
        said: str = words.risk(self)
        return said


def roled(baskets: Baskets, roles: ItemRoles) -> coherence.RoledBaskets:
    """Baskets as the verifier sees them."""
    return coherence.RoledBaskets(baskets.starts, baskets.items, roles.public, roles.private)


def facts(release: BasketRelease) -> Facts:
    """All there is to say of a release; in public no item that is not there, and no exact loss."""
    original, released, promise = release.original, release.released, release.policy.promise
    whole = original.occurrences
    if release.policy.utility == "itemsets" and release.nuggets is not None:
        whole = release.nuggets[0]
    public = {
        **release.policy.about.told(),
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
        "nuggets": release.nuggets and beside(release.nuggets),
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


def beside(counted: tuple[int, int]) -> dict[str, Any]:
    """Two counts, and the share that was lost between them."""
    before, after = counted
    loss = rounded(Fraction(before - after, max(before, 1)))
    return {"before": before, "after": after, "loss": loss}
