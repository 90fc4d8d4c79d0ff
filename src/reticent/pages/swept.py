"""The page of a sweep: what a range of thresholds costs, drawn and as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from reticent.pages import charts
from reticent.pages.page import page

if TYPE_CHECKING:
    from reticent.sweeping import Sweep

_NAMES = {
    "tree": "decision tree",
    "bayes": "naive Bayes",
    "boosting": "gradient boosting",
    "regression": "logistic regression",
}


def sweep(swept: Sweep) -> str:
    """The report of a sweep; it shows counts and errors, and no value of anybody."""
    from reticent import __version__

    by_k = swept.threshold == "k"
    kept = [point for point in swept.points if "infeasible" not in point]
    return page(
        "sweep.html",
        {
            "version": __version__,
            "by_k": by_k,
            "threshold": "k" if by_k else "at most",
            "points": [_row(swept, point) for point in swept.points],
            "kept": len(kept),
            "cost": plot(swept),
            "risk": _risk(swept),
            "target": swept.floor.get("class"),
            "classifiers": [_NAMES[name] for name in swept.floor.get("errors", {})],
            "floor": _floor(swept.floor),
            "majority": swept.floor.get("majority"),
            "warnings": swept.warnings,
        },
    )


def plot(swept: Sweep) -> Markup:
    """Privacy against error; against distortion where no class is told."""
    series = []
    for name, plain in list(swept.floor.get("errors", {}).items())[:4]:
        points = [
            (x, 100 * next(v for k, v in errors[name].items() if k in ("AE", "SE")))
            for x, errors in _along(swept, "errors")
        ]
        alone = len(swept.floor["errors"]) == 1
        series.append(charts.Series("released" if alone else _NAMES[name], points))
        if alone:
            ends = [min(x for x, _ in points), max(x for x, _ in points)] if points else []
            lines = (("unmodified", plain["BE"]), ("left out", plain["UE"]))
            series += [
                charts.Series(label, [(x, 100 * rate) for x in ends], dashed=True)
                for label, rate in lines
            ]
    if series:
        return charts.lines(
            "Privacy against error", _axis(swept), "wrong, in %", series, x_log=True
        )
    lost = [charts.Series("distortion", list(_along(swept, "distortion")))]
    return charts.lines("Privacy against distortion", _axis(swept), "per record", lost, x_log=True)


def _risk(swept: Sweep) -> Markup:
    points = [(x, 100 * share) for x, share in _along(swept, "reidentified")]
    series = [charts.Series("re-identified", points)]
    return charts.lines("Privacy against linkage", _axis(swept), "in %", series, x_log=True)


def _axis(swept: Sweep) -> str:
    return "smallest group allowed, k" if swept.threshold == "k" else "confidence allowed"


def _along(swept: Sweep, key: str) -> list[tuple[float, Any]]:
    return [
        (float(Fraction(str(point["threshold"]))), point[key])
        for point in swept.points
        if key in point
    ]


def _row(swept: Sweep, point: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "threshold": point["threshold"],
        "infeasible": "infeasible" in point,
        "kept": ", ".join(str(value) for value in point.get("kept", ())),
        "steps": point.get("steps"),
        "groups": point.get("groups"),
        "reidentified": point.get("reidentified"),
        "distortion": point.get("distortion"),
        "errors": [_error(found) for found in point.get("errors", {}).values()],
    }


def _error(found: Mapping[str, float]) -> float:
    return found["AE"] if "AE" in found else found["SE"]


def _floor(floor: Mapping[str, Any]) -> Sequence[tuple[str, list[float | None]]]:
    """What depends on no threshold, a line each."""
    errors = floor.get("errors", {})
    views = {
        "BE": "learnt from the table as it was",
        "UE": "masked columns left out",
        "RE": "sensitive columns left out",
    }
    return [
        (name, [found.get(view) for found in errors.values()])
        for view, name in views.items()
        if any(view in found for found in errors.values())
    ]
