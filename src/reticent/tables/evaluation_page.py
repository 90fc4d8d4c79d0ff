"""The page of `evaluate`: a release beside the table as it was, for people who decide about it.

It shows what stood in the table, so it is its owner's; nothing on it asks for statistics. Whatever
is measured stands on a scale that says what the worst would be, with a sentence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from markupsafe import Markup

from reticent.errors import few, many
from reticent.pages import charts, curves, drawing
from reticent.pages.page import MOST, page
from reticent.privacy import words
from reticent.releases.about import About
from reticent.tables.evidence.beside import ColumnBeside

CLASSIFIERS = {
    "tree": "decision tree",
    "bayes": "naive Bayes",
    "boosting": "gradient boosting",
    "regression": "logistic regression",
}
_MOST_DRAWN = 40  # columns; the others stand in a table
_MOST_RELATIONS = 15


def page_of(
    told: Mapping[str, Any],
    columns: Sequence[ColumnBeside],
    untouched: Sequence[str],
    about: About,
    seed: int,
) -> str:
    """The page, from what ``evaluate --json`` prints and the columns beside each other."""
    hidden = [column.name for column in columns if not column.shows]
    same = [c.name for c in columns if c.shows == 1 and not c.hidden] + list(untouched)
    changed = [c for c in columns if c.name not in {*hidden, *same}]
    masked = [c for c in columns if c.name not in same]
    loss = told["loss"]
    records = told["rows"] - told["left_out"]
    return page(
        "tables/templates/evaluation.html",
        {
            "about": about,
            "rows": told["rows"],
            "records": records,
            "lost_share": words.percent(Fraction(told["left_out"], told["rows"] or 1)),
            "verified": told["verified"],
            "loss": _loss(loss),
            "drawn": [
                _drawn(column, loss["columns"][column.name]) for column in changed[:_MOST_DRAWN]
            ],
            "listed": [_numbers(c, loss["columns"][c.name]) for c in masked[:MOST]],
            "not_drawn": max(len(changed) - _MOST_DRAWN, 0),
            "not_listed": max(len(masked) - MOST, 0),
            "hidden": _names(hidden, columns),
            "same": _names(same, columns),
            "relations": _relations(told["relations"]),
            "classification": _errors(told["classification"]),
            "linkage": [_linkage(one, records) for one in told["attack"]["linkage"]],
            "inference": [_inference(one) for one in told["attack"]["inference"]],
            "prediction": [_prediction(one) for one in told["attack"]["prediction"]],
            "seed": seed,
            "warnings": told["warnings"],
        },
    )


def _names(names: Sequence[str], columns: Sequence[ColumnBeside]) -> dict[str, Any]:
    return {"count": len(names), "all": few(names)}


def _points(difference: float) -> str:
    """A difference of shares in points of a hundred."""
    told = f"{abs(100 * difference):.1f}"
    return f"{told} {'point' if told == '1.0' else 'points'}"


# --- what was taken away -------------------------------------------------------------------------


def _loss(loss: Mapping[str, Any]) -> dict[str, Any]:
    share = loss["distortion"] / loss["worst"] if loss["worst"] else 0.0
    apart = loss["discernibility"]
    return {
        "share": words.about_percent(share),
        "entries": loss["entries"],
        "hidden": loss["hidden"],
        "hidden_share": words.about_percent(loss["hidden"] / (loss["entries"] or 1)),
        "apart": [drawing.number(apart[side]) for side in ("before", "after")],
        "scale": charts.scale(
            "Detail that is hidden",
            ("nothing hidden", "everything hidden"),
            (f"this release: {words.about_percent(share)}", share),
            None,
        ),
    }


def _drawn(column: ColumnBeside, loss: Mapping[str, Any]) -> dict[str, Any]:
    """A column with its picture, and what it says in a sentence."""
    title = f"{column.name} before and after"
    if column.histogram:
        shape = column.histogram
        chart = charts.histogram(title, shape.edges, shape.counts, shape.steps)
    else:
        chart = charts.pairs(title, column.rows)
    return _numbers(column, loss) | {"chart": chart, "says": _says(column)}


def _says(column: ColumnBeside) -> str:
    things = "groups" if column.mask == "generalize" else "values"
    if column.mask == "discretize":
        things = "intervals"
    groups = column.groups - (0 < column.hidden < column.records)
    are = f"{things[:-1]} is" if groups == 1 else f"{things} are"
    values = many(column.values, "different value was", "different values were")
    said = f"{values} there; {drawing.number(groups)} {are} shown"
    if column.hidden:
        share = words.about_percent(column.hidden / column.records)
        hide = many(column.hidden, "record shows", "records show")
        said += f", and {hide} nothing ({share})"
    before, after = column.missing
    if before:
        said += f"; {many(before, 'record')} had no value"
        said += ", as one can see" if after == before else ", which is hidden"
    return said + "."


def _numbers(column: ColumnBeside, loss: Mapping[str, Any]) -> dict[str, Any]:
    """A column's line in a table: what it shows, and its middle before and after."""
    share = loss["distortion"] / loss["worst"] if loss["worst"] else 0.0
    return {
        "name": column.name,
        "shows": words.about_percent(column.shows),
        "hidden": words.about_percent(column.hidden / max(column.records, 1)),
        "distortion": words.about_percent(share),
        "centres": _centres(column),
        "ends": [pair for name, *pair in _centres(column) if name != "median"] or [("–", "–")] * 2,
        "told": _told(column),
    }


def _centres(column: ColumnBeside) -> list[tuple[str, str, str]]:
    if column.centres is None:
        return []
    before, after = column.centres
    found = []
    for name, key, say in (
        ("mean", "mean", column.point),
        ("median", "median", column.point),
        ("spread (standard deviation)", "spread", column.length),
    ):
        told = "–" if after is None else say(getattr(after, key))
        found.append((name, say(getattr(before, key)), told))
    return found


def _told(column: ColumnBeside) -> str:
    """From what the middles are computed."""
    if column.centres is None or column.centres[1] is None:
        return ""
    counted = column.centres[1].records
    of_all = ""
    if column.of_all is not None:
        mean = column.point(column.of_all.mean)
        of_all = (
            f"Before is of the records that are released; of the whole table the mean was {mean}. "
        )
    middles = ""
    if column.mask != "suppress":
        numbers = column.whole and column.scale is not None and column.scale.kind == "number"
        middle = "the middle of the whole numbers in it" if numbers else "its middle"
        middles = f"Afterwards an interval counts as {middle}. "
    if counted < column.centres[0].records:
        middles += f"Only the {many(counted, 'record')} that show a number count afterwards."
    return (of_all + middles).strip()


# --- relations -----------------------------------------------------------------------------------


def _relations(found: Mapping[str, Any]) -> dict[str, Any]:
    related = found["related"]
    lost = found["lost"] + found["weaker"]
    return {
        **found,
        "threshold": words.about_percent(found["threshold"]),
        "scale": charts.scale(
            "Relations that are weaker or gone",
            ("all as before", "all weaker or gone"),
            (f"this release: {drawing.number(lost)} of {drawing.number(related)}", lost / related),
            None,
        )
        if related
        else None,
        "listed": _pairs(found, "most"),
        "shown": _pairs(found, "most_shown") if found["most_shown"] != found["most"] else [],
        "more": max(lost - _MOST_RELATIONS, 0),
    }


def _pairs(found: Mapping[str, Any], key: str) -> list[dict[str, str]]:
    return [
        {
            "columns": words.joined(one["columns"]),
            "before": words.about_percent(one["before"]),
            "after": words.about_percent(one["after"])
            if one["after"] >= found["threshold"]
            else "none",
        }
        for one in found[key][:_MOST_RELATIONS]
    ]


# --- errors --------------------------------------------------------------------------------------

_VIEWS = {
    "BE": "the table as it was",
    "masked": "this release",
    "learnt_on_training": "cuts learnt on training",
    "UE": "masked columns left out",
    "RE": "sensitive ones left out",
}


def _errors(found: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The errors of every classifier, drawn, with what the first says in a sentence."""
    if found is None:
        return None
    if "reason" in found:
        return dict(found)
    return {
        "class": found["class"],
        "reason": "",
        **{key: found[key] for key in ("train", "tested", "rounds")},
        "each": [_error(name, errors, found) for name, errors in found["classifiers"].items()],
    }


def _error(name: str, errors: Mapping[str, float], found: Mapping[str, Any]) -> dict[str, Any]:
    shown = errors["AE"] if "AE" in errors else errors["SE"]
    rates = {**errors, "masked": shown}
    bars = [
        charts.Bar(said, rates[view], matters=view == "masked")
        for view, said in _VIEWS.items()
        if view in rates
    ]
    bars.append(charts.Bar("always the largest class", found["majority"]))
    before, without = errors["BE"], errors["UE"]
    title = f"Share of records that a {CLASSIFIERS[name]} gets wrong"
    reference = ("the table as it was", before)
    sure = curves.uncertainty(shown, found["tested"])
    worth = without - before
    unsure = float(sure or 0) / 100
    place = (shown - before) / worth if worth > unsure else None
    return {
        "name": CLASSIFIERS[name],
        "shown": f"{100 * shown:.1f} %",
        "before": f"{100 * before:.1f} %",
        "without": f"{100 * without:.1f} %",
        "more": _points(shown - before) + (" more" if shown >= before else " fewer"),
        "alike": abs(shown - before) <= unsure,
        "unsure": sure,
        "bars": [(bar.name, f"{100 * bar.value:.1f} %") for bar in bars],
        "chart": charts.bars(title, "records told wrong", bars, reference=reference, share=True),
        "scale": None
        if place is None
        else charts.scale(
            f"What the release costs a {CLASSIFIERS[name]}",
            (f"as it was: {100 * before:.1f} %", f"masked columns left out: {100 * without:.1f} %"),
            (f"this release: {100 * shown:.1f} %", place),
            None,
        ),
    }


# --- attacks -------------------------------------------------------------------------------------


def _linkage(found: Mapping[str, Any], rows: int) -> dict[str, Any]:
    before, after = found["before"], found["after"]
    sides = [("before", before), ("after", after)]
    shares = {side: one["prosecutor_mean"] for side, one in sides}
    return {
        "over": few(found["over"], "and"),
        "of": few(found["of"], "and") if found.get("of") else "",
        "rows": rows,
        "found": {side: round(share * rows) for side, share in shares.items()},
        "alone": {side: round(one["unique"] * rows) for side, one in sides},
        "groups": [one["groups"] for _, one in sides],
        "smallest": [one["smallest"] for _, one in sides],
        "at_worst": [_chance(one["prosecutor"]) for _, one in sides],
        "register": any(one["journalist_mean"] != one["prosecutor_mean"] for _, one in sides),
        "there": [f"{100 * one['journalist_mean']:.2f} %" for _, one in sides],
        "scale": charts.scale(
            "Records whose person is found",
            ("nobody is found", "everybody is found"),
            (f"after: {_share(shares['after'])}", shares["after"]),
            (f"before: {_share(shares['before'])}", shares["before"]),
        ),
    }


def _share(share: float) -> str:
    return words.percent(Fraction(share).limit_denominator(1_000_000))


def _chance(share: float) -> str:
    """A chance as one in so many."""
    return (
        "certain" if share >= 1 else f"1 in {drawing.number(round(1 / share))}" if share else "none"
    )


def _inference(found: Mapping[str, Any]) -> dict[str, Any]:
    sure = {side: Fraction(found[side]["largest"]) for side in ("before", "after")}
    mean = {side: found[side]["of_holders"] for side in ("before", "after")}
    return {
        "over": few(found["over"], "and"),
        "sensitive": few(found["sensitive"], "and"),
        "sure": {side: words.percent(share) for side, share in sure.items()},
        "mean": {side: f"{100 * share:.1f} %" for side, share in mean.items() if share is not None},
        "scale": charts.scale(
            "How sure somebody can be at most",
            ("knows nothing", "knows for sure"),
            (f"after: {words.percent(sure['after'])}", float(sure["after"])),
            (f"before: {words.percent(sure['before'])}", float(sure["before"])),
        ),
    }


def _prediction(found: Mapping[str, Any]) -> dict[str, Any]:
    told = {key: f"{100 * found[key]:.1f} %" for key in ("before", "after", "base")}
    room = 1 - found["base"]
    chart: Markup | None = None
    if room > 0:
        places = {side: (found[side] - found["base"]) / room for side in ("before", "after")}
        chart = charts.scale(
            f"How well {found['sensitive']} is guessed",
            (f"always the commonest value: {told['base']}", "always right"),
            (f"after: {told['after']}", places["after"]),
            (f"before: {told['before']}", places["before"]),
        )
    over = few(found["over"], "and") if found["over"] else "nothing"
    return {"sensitive": found["sensitive"], "over": over, **told, "scale": chart}
