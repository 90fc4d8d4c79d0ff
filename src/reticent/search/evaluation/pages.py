"""The page of an evaluation: what telling more is worth, whom it helps, and whom it harms."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from reticent.pages import curves
from reticent.pages.page import page
from reticent.search.evaluation.experiment import FORMS, FUSIONS, GROUPS, Group, QueryForm
from reticent.search.evaluation.report import CurvePoint, EvaluatedSearch, few
from reticent.search.ranking import Fusion

WHO: dict[Group, str] = {
    "own": "one interest",
    "own, by branch": "one interest, by branch",
    "other": "somebody else's profile",
    "several": "three interests",
    "several, by branch": "three interests, by branch",
}
ASKED: dict[QueryForm, str] = {
    "one": "one word",
    "two": "two words",
    "whole": "whole queries",
    "whole, α": "whole queries, α as for short ones",
}
BY: dict[Fusion, str] = {"ranks": "ranks", "scores": "scores"}
QUARTER = "0.25"


def evaluation_page(found: EvaluatedSearch) -> str:
    """All of a page."""
    return page(
        "search/templates/evaluation.html",
        {
            "collections": list(found.parts),
            "documents": found.documents,
            "queries": found.queries,
            "language": found.language,
            "runs": found.runs,
            "notes": list(found.notes),
            "curves": [(ASKED[form], curve_chart(found, form)) for form in ("one", "two")],
            "whole": [_row(one) for one in _points(found, "1")],
            "quarter": [_row(one) for one in _points(found, QUARTER)],
            "lines": [
                (WHO[one.group], ASKED[one.form], BY[one.fusion], _row(one)) for one in found.curve
            ],
            "gains": [_clustering(one) for one in found.gains if one.ratio == 1],
        },
    )


def curve_chart(found: EvaluatedSearch, form: QueryForm) -> Markup:
    """Gain in AP over the share of a profile that is told, with intervals of one of the lines."""
    series = []
    for group in _DRAWN:
        line = found.line(group, form, "ranks")
        points = [(0.0, 0.0), *((one.reached, one.gain.mean) for one in line)]
        around = [(0.0, 0.0, 0.0), *((one.reached, one.gain.low, one.gain.high) for one in line)]
        between = around if group == "own" else ()
        series.append(curves.Series(WHO[group], points, between=between))
    return curves.lines(
        f"Gain over the engine, {ASKED[form]}, fused by ranks",
        "share of the profile that is told", "AP, more than the engine's", series,
    )  # fmt: skip


_DRAWN: tuple[Group, ...] = ("own", "several", "several, by branch", "other")


def _points(found: EvaluatedSearch, ratio: str) -> list[CurvePoint]:
    every = [
        found.point(group, form, fusion, ratio)
        for form in FORMS
        for group in GROUPS
        for fusion in FUSIONS
    ]
    return [one for one in every if one is not None]


def _row(one: CurvePoint) -> dict[str, Any]:
    return {
        "who": WHO[one.group],
        "asked": ASKED[one.form],
        "by": BY[one.fusion],
        "ratio": f"{float(one.ratio):.0%}",
        "reached": f"{one.reached:.0%}",
        "engine": f"{one.engine:.3f}",
        "gain": f"{one.gain.mean:+.3f}",
        "between": f"{one.gain.low:+.3f} to {one.gain.high:+.3f}{few(one.users)}",
        "better": f"{one.better:.0%}",
        "worse": f"{one.worse:.0%}",
        "sure": f"{one.above_zero} of {one.clusterings}",
    }


def _clustering(one: Any) -> dict[str, Any]:
    return {
        "seed": one.seed,
        "who": WHO[one.group],
        "asked": ASKED[one.form],
        "by": BY[one.fusion],
        "users": one.users,
        "queries": one.queries,
        "engine": f"{one.engine:.3f}",
        "gain": f"{one.gain.mean:+.3f}",
        "between": f"{one.gain.low:+.3f} to {one.gain.high:+.3f}",
    }
