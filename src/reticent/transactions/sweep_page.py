"""The page of a sweep of baskets: what a range of thresholds costs, drawn and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from reticent.pages import curves
from reticent.pages.page import page

if TYPE_CHECKING:
    from reticent.transactions.sweep_folder import BasketSweep

CALLED = {"k": "k", "at_most": "h", "p": "p"}  # what is swept, as policies write it
_AXES = {
    "k": "baskets that share what is known, k",
    "at_most": "confidence allowed, h",
    "p": "items that somebody knows, p",
}


def page_of(swept: BasketSweep) -> str:
    """The report of a sweep; it shows counts, and no item of anybody."""
    kept = [point for point in swept.points if "infeasible" not in point]
    return page(
        "transactions/templates/sweep.html",
        {
            "threshold": CALLED[swept.threshold],
            "promise": swept.promise,
            "floor": swept.floor,
            "points": list(_rows(swept)),
            "about": swept.about,
            "kept": len(kept),
            "cost": plot(swept),
            "risk": _risk(swept),
            "unlimited": any(point["threshold"] == "unlimited" for point in kept),
            "warnings": swept.warnings,
        },
    )


def plot(swept: BasketSweep) -> Markup:
    """What goes, by threshold."""
    whole = swept.floor
    series = [
        curves.Series("occurrences", _shares(swept, "occurrences", whole["occurrences"])),
        curves.Series("items", _shares(swept, "suppressed", whole["items"], lost=True)),
    ]
    if whole["nuggets"]:
        series.append(curves.Series("itemsets", _shares(swept, "nuggets", whole["nuggets"])))
    return _drawn(swept, "What goes, by threshold", "lost, in %", series)


def _risk(swept: BasketSweep) -> Markup:
    """Whom three known items still single out."""
    whole, before = swept.floor["transactions"], swept.floor["unique"]
    after = [
        (x, 100 * point["unique"] / max(whole, 1))
        for x, point in _along(swept)
        if point["unique"] is not None
    ]
    series = [curves.Series("released", after)]
    if before is not None and after:
        ends = dict.fromkeys((after[0][0], after[-1][0]))
        share = 100 * before / max(whole, 1)
        series.append(curves.Series("as they were", [(x, share) for x in ends], dashed=True))
    return _drawn(swept, "Baskets told apart by three items", "of all baskets, in %", series)


def _drawn(swept: BasketSweep, title: str, y_label: str, series: Sequence[curves.Series]) -> Markup:
    log = swept.threshold == "k"
    tried = sorted({x for one in series for x, _ in one.points})
    return curves.lines(
        title, _AXES[swept.threshold], y_label, series, x_log=log,
        x_ticks=curves.apart(tried, log=log),
    )  # fmt: skip


def _shares(
    swept: BasketSweep, key: str, whole: int, *, lost: bool = False
) -> list[tuple[float, float]]:
    """The share that is lost: counted as that, or as what is left."""
    return [
        (x, 100 * (point[key] if lost else whole - point[key]) / max(whole, 1))
        for x, point in _along(swept)
    ]


def _along(swept: BasketSweep) -> list[tuple[float, Mapping[str, Any]]]:
    """Points by threshold; any number of known items has no place on an axis of numbers."""
    found = [
        (float(Fraction(str(point["threshold"]))), point)
        for point in swept.points
        if "infeasible" not in point and point["threshold"] != "unlimited"
    ]
    return sorted(found, key=lambda pair: pair[0])


def _rows(swept: BasketSweep) -> Iterator[dict[str, Any]]:
    for point in swept.points:
        yield {
            "threshold": point["threshold"],
            "infeasible": "infeasible" in point,
            "undecided": "undecided" in point,
            "link": f"{swept.folder_of(point)}/public/report.html",
            "change": change(point),
            "same": point.get("same", False),
            **{key: point.get(key) for key in ("suppressed", "occurrences", "nuggets", "unique")},
        }


def change(point: Mapping[str, Any]) -> str:
    """What happens between the looser release and this one."""
    if "same" not in point:
        return ""
    if point["same"]:
        return "nothing"
    back = f", {point['back']:,} back" if point["back"] else ""
    return f"{point['more']:,} more gone{back}"
