"""The page of a sweep: what a range of thresholds costs, drawn and as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from reticent.errors import few
from reticent.pages import curves, drawing
from reticent.pages.page import MOST, page
from reticent.privacy import words
from reticent.tables.sweep_matrix import MEANINGS, SIGNS, ShownMatrix

if TYPE_CHECKING:
    from reticent.tables.sweep_folder import Sweep

_NAMES = {
    "tree": "decision tree",
    "bayes": "naive Bayes",
    "boosting": "gradient boosting",
    "regression": "logistic regression",
}


_DEEPEST = 38  # percent of the accent colour: text on it stays readable


def page_of(swept: Sweep) -> str:
    """The report of a sweep; it shows counts and errors, and no value of anybody."""
    by_k = swept.threshold == "k"
    kept = [point for point in swept.points if "infeasible" not in point]
    shares = [(x, 100 * share) for x, share in _along(swept, "reidentified")]
    found = curves.Series("found", shares)
    tested = swept.floor.get("tested")
    errors = [_error(e) for _, some in _along(swept, "errors") for e in some.values()]
    return page(
        "tables/templates/sweep.html",
        {
            "by_k": by_k,
            "threshold": "k" if by_k else "at most",
            "points": [_row(swept, point) for point in swept.points],
            "about": swept.about,
            "kept": len(kept),
            "cost": plot(swept),
            "risk": _drawn(swept, "Records found by threshold", "of all records, in %", [found]),
            "promises": list(zip(swept.told, swept.promises, strict=True)),
            "rows": swept.rows,
            "seed": swept.seed,
            "reason": swept.floor.get("reason"),
            "tested": tested,
            "unsure": curves.uncertainty(max(errors), tested) if errors else "",
            "target": swept.floor.get("class"),
            "classifiers": [_NAMES[name] for name in swept.floor.get("errors", {})],
            "floor": _floor(swept.floor),
            "majority": swept.floor.get("majority"),
            "warnings": swept.warnings,
            "matrix": _matrix(swept),
        },
    )


def _matrix(swept: Sweep) -> dict[str, Any]:
    """How much each column shows under each threshold, as cells that are shaded and say it."""
    matrix = ShownMatrix.of(swept.points)
    used = dict.fromkeys(how for _, _, hows in matrix.rows for how in hows if how)
    return {
        "spans": [*zip(matrix.spans, matrix.turns, strict=True)],
        "rows": [
            (
                name,
                [
                    {
                        "shade": round(_DEEPEST * (share or 0)),
                        "text": words.about_percent(share),
                        "sign": SIGNS.get(how, ""),
                        "turn": turn,
                    }
                    for share, how, turn in zip(shares, hows, matrix.turns, strict=True)
                ],
            )
            for name, shares, hows in matrix.rows[:MOST]
        ],
        "more": max(len(matrix.rows) - MOST, 0),
        "hidden": few(matrix.hidden),
        "whole": few(matrix.whole),
        "still": words.joined(matrix.still) if matrix.still else "",
        "signs": [(SIGNS[how], MEANINGS[how]) for how in used],
    }


def plot(swept: Sweep) -> Markup:
    """Privacy against error; against distortion where no class is told."""
    errors = swept.floor.get("errors", {})
    if not errors:
        lost = [curves.Series("distortion", _along(swept, "distortion"))]
        return _drawn(swept, "Distortion by threshold", "per record", lost)
    series = []
    for name, plain in list(errors.items())[:4]:
        points = [(x, 100 * _error(found[name])) for x, found in _along(swept, "errors")]
        series.append(curves.Series("released" if len(errors) == 1 else _NAMES[name], points))
        if len(errors) == 1:
            ends = [point[0] for point in (points[0], points[-1])] if points else []
            series += [
                curves.Series(label, [(x, 100 * plain[view]) for x in ends], dashed=True)
                for label, view in (("unmodified", "BE"), ("columns left out", "UE"))
            ]
            guess = 100 * swept.floor["majority"]
            series.append(curves.Series("largest class", [(x, guess) for x in ends], dashed=True))
    return _drawn(swept, "Error by threshold", "wrong, in %", series)


def _drawn(swept: Sweep, title: str, y_label: str, series: Sequence[curves.Series]) -> Markup:
    by_k = swept.threshold == "k"
    label = "smallest group allowed, k" if by_k else "confidence allowed"
    tried = sorted({x for one in series for x, _ in one.points})
    return curves.lines(
        title, label, y_label, series, x_log=by_k, x_ticks=curves.apart(tried, log=by_k)
    )


def _along(swept: Sweep, key: str) -> list[tuple[float, Any]]:
    found = [
        (float(Fraction(str(point["threshold"]))), point[key])
        for point in swept.points
        if key in point
    ]
    return sorted(found, key=lambda pair: pair[0])


def _row(swept: Sweep, point: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "threshold": point["threshold"],
        "infeasible": "infeasible" in point,
        "link": f"{swept.folder_of(point)}/public/report.html",
        "kept": ", ".join(_found(value) for value in point.get("kept", ())),
        **{key: point.get(key) for key in ("steps", "groups", "reidentified", "distortion")},
        "errors": [_error(found) for found in point.get("errors", {}).values()],
    }


def _found(value: int | str | None) -> str:
    """A measured value, confidences in percent."""
    if value is None or isinstance(value, int):
        return drawing.number(value or 0)
    return f"{float(100 * Fraction(value)):.1f} %"


def _error(found: Mapping[str, float]) -> float:
    return found["AE"] if "AE" in found else found["SE"]


def _floor(floor: Mapping[str, Any]) -> Sequence[tuple[str, list[float | None]]]:
    """What depends on no threshold, a line each."""
    errors = floor.get("errors", {})
    views = {
        "BE": "the table as it was",
        "UE": "masked columns left out",
        "RE": "sensitive columns left out",
    }
    return [
        (name, [found.get(view) for found in errors.values()])
        for view, name in views.items()
        if any(view in found for found in errors.values())
    ]
