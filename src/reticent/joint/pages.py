"""The two pages of a joint release: one the same at every owner, one for each owner alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reticent.joint.report import trace
from reticent.pages.page import MOST, page

if TYPE_CHECKING:
    from reticent.joint.report import JointRelease

_SAYS = {
    "class": "as it is: what the table is to predict",
    "sensitive": "as it is: nobody may infer it with too much confidence",
    "keep": "as it is",
}
_MASKS = {
    "generalize": "along a taxonomy",
    "suppress": "value by value",
    "discretize": "as intervals",
    None: "masked",
}


def public(release: JointRelease) -> str:
    """The page that may be published."""
    told = release.facts().public
    columns = [_column(release, told, one) for one in told["columns"]]
    singled = release.proof.singled_out
    return page(
        "joint/templates/public.html",
        {
            **told,
            "about": release.joint.policy.about,
            "columns": columns,
            "listed": [column for column in columns if not column["quiet"]],
            "quiet": [column["quiet"] for column in columns if column["quiet"]],
            "alone": singled.text if singled else "",
            "policy": release.joint.policy.canonical(),
        },
    )


def _column(release: JointRelease, told: Any, one: dict[str, str]) -> dict[str, Any]:
    name = one["name"]
    values = release.sheet.tally(name)
    masked = told["attributes"].get(name)
    shown = sorted(values.items(), key=lambda pair: (-pair[1], pair[0])) if masked else []
    return {
        "name": name,
        "owner": release.joint.policy.owner_of(name),
        "says": _MASKS[masked["mask"]] if masked else _SAYS[one["role"]],
        "count": len(values),
        "quiet": _quiet(name, shown) if masked and len(values) < 2 else None,
        "shown": shown[:MOST],
        "more": max(len(shown) - MOST, 0),
    }


def _quiet(name: str, shown: list[tuple[str, int]]) -> dict[str, str]:
    """A column that shows the same of everybody."""
    same = next((label for label, _ in shown), "") or "(missing)"
    return {"name": name, "says": f"Every record shows “{same}”."}


@dataclass(frozen=True, slots=True)
class RunFacts:
    """By which a page is evidence of one run: its name, and the certificates of all owners."""

    name: str
    fingerprints: Mapping[str, str]


def private(release: JointRelease, run: RunFacts | None = None) -> str:
    """The page for this owner: what went over the wire, and what the others learnt about us."""
    steps = list(trace(release))
    return page(
        "joint/templates/private.html",
        {
            **release.facts().private,
            "about": release.joint.policy.about,
            "run": run,
            "policy_digest": release.joint.policy.digest.hex(),
            "seen_by_first": release.joint.policy.seen_by_first,
            "steps": steps[:MOST],
            "more_steps": max(len(steps) - MOST, 0),
        },
    )
