"""The two pages of a release: what everybody may see, and what its owner alone should.

The public page tells nothing that the released rows, the policy and its taxonomies down to the cut
do not tell: no value that is hidden, no group as it was before, and of the numbers counted on the
original only the errors of a classifier, over hundreds of records.
The policy on it is written anew, because a comment may hold anything, and ends its inline
taxonomies at the cut; it still checks the release with ``reticent verify``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from reticent.errors import FEW, many
from reticent.pages import charts, curves
from reticent.pages.page import MOST, command, page, usefulness
from reticent.privacy import words
from reticent.privacy.promises import Anonymity, ours
from reticent.tables import report

if TYPE_CHECKING:
    from reticent.tables.attributes import Attribute
    from reticent.tables.report import Release

_MOST_KNOWN = 12  # columns of the table of riskiest groups
_MOST_CHARTS = 6  # promises whose way is drawn; columns of the step table
_AT_ONCE = 20  # columns that a page draws one below the other; more of them unfold
_MOST_PARTS = 6  # parts of one value that a table lists

_ROLES = {
    "class": "Released as it is: what the data are meant to predict.",
    "sensitive": "Released as it is: what nobody may infer of a person.",
    "keep": "Released as it is.",
}


def public(release: Release) -> str:
    """The report that may be published.

    `release.utility` may hold the errors of a classifier that learnt from the table as it was
    (``BE``), from the release (``AE``) and without the masked columns (``UE``), that of always
    guessing the largest class (``majority``), and ``classifier``, ``train``, ``test`` and ``how``;
    or a ``reason``.
    """
    facts = release.facts().public
    return page("tables/templates/public.html", {**facts, **_shared(release), **_public(release)})


def private(release: Release) -> str:
    """The report for the owner: the riskiest groups, every step, and why it went no further."""
    facts = release.facts().all
    return page("tables/templates/private.html", facts | _shared(release) | _private(release))


def _shared(release: Release) -> dict[str, Any]:
    previous = "".join(f" --previous {one.release}=PATH" for one in release.meets)
    # Steps that ran out of time are asked for by their number.
    steps = str(len(release.steps)) if release.stopped_early else None
    options = {"--max-steps": steps, **release.asked}
    told = release.prepared.reading.besides(release.prepared.policy.reading.told())
    some = _uncheckable(release)
    check = f"reticent verify public/ --policy policy.toml{previous}"
    return {
        "about": release.prepared.policy.about,
        "command": command("reticent release", told, options) + previous,
        "check": check + (" --skip-uncheckable" if some else ""),
        "all_columns": not some,
        "meets": release.meets,
    }


def _uncheckable(release: Release) -> bool:
    """Whether some promise counts a column that nobody publishes."""
    prepared = release.prepared
    shown = set(prepared.roles.released)
    for name, one in prepared.policy.previous.items():
        if name in prepared.earlier:
            columns = prepared.earlier[name].table.columns
            shown |= {f"{name}.{column}" for column in columns if column not in one.drop}
    return any(not set(promise.of) <= shown for promise in prepared.policy.anonymity)


# --- what everybody may see ----------------------------------------------------------------------


def _public(release: Release) -> dict[str, Any]:
    cuts = release.cuts
    masked = [_masked(release, d.name, cuts[d.name]) for d in release.prepared.domains]
    said = {column["name"]: column["says"] for column in masked}
    quiet = [column for column in masked if column["quiet"]]
    released = release.prepared.roles.released
    for one in release.proof.floors:  # masked ones were made coarse first, and told so above
        said.setdefault(one.floor.column, f"Made coarser: {one.floor.text}.")
    kept = [n for n in released if report.role(release, n) == "keep" and n not in said]
    columns = [
        {"name": name, "says": said.get(name) or _ROLES[report.role(release, name)]}
        for name in released
    ]
    untold = {*(column["name"] for column in quiet), *(kept if len(kept) > FEW else ())}
    target = release.prepared.policy.class_
    reason = "the policy names no class to predict" if target is None else "nobody asked for it"
    return {
        "columns": columns,
        "listed": [column for column in columns if column["name"] not in untold],
        "masked": masked,
        "recoded": _recoded(release),
        "telling": [column for column in masked if not column["quiet"]],
        "quiet": quiet,
        "many_kept": kept if len(kept) > FEW else [],
        "at_once": _AT_ONCE,
        "utility": usefulness(release.utility, target, reason),
        "policy": _policy(release),
        "own_utility": callable(release.prepared.policy.goal.utility),
        "counted": sorted(
            {
                name
                for promise in release.prepared.policy.anonymity
                for name in promise.of
                if name not in release.prepared.roles.released
            }
        ),
    }


_RECODED = {
    "generalize": "generalization along hierarchies, subtree by subtree",
    "discretize": "discretization into intervals",
    "suppress": "suppression of values",
}


def _recoded(release: Release) -> str:
    """How cells were changed, in the words of the field."""
    masks = {domain.mask for domain in release.prepared.domains}
    said = "global recoding"
    if how := [told for mask, told in _RECODED.items() if mask in masks]:
        said += f", by {words.joined(how)}"
    left = release.left_out.count if release.left_out else 0
    return f"{said}; record suppression: {many(left, 'record')}" if left else said


def _policy(release: Release) -> str:
    """The policy without comments, folders and labels below the cut."""
    policy, taxonomies = release.prepared.policy, release.prepared.taxonomies

    def shown(name: str, attribute: Attribute) -> Attribute:
        tree: Any = attribute.taxonomy
        if isinstance(tree, str):
            tree = Path(tree).name
        elif tree is not None:
            tree = report.as_far_as_shown(taxonomies[name], release.recodings.get(name))
        return attribute.model_copy(update={"taxonomy": tree})

    attributes = {name: shown(name, attribute) for name, attribute in policy.attributes.items()}
    previous = {
        name: one.model_copy(update={"path": one.path and Path(one.path).name})
        for name, one in policy.previous.items()
    }
    return policy.model_copy(update={"attributes": attributes, "previous": previous}).canonical()


def _masked(release: Release, name: str, cut: Sequence[str]) -> dict[str, Any]:
    """How one masked column is shown, in words, as a chart and as a table."""
    records = release.sheet.tally(name)
    recoding, marker = release.recodings[name], release.prepared.policy.marker
    labels = {release.as_written(recoding.mask, label): records[label] for label in cut}
    title = f"What {name} shows"
    rows = [
        charts.Row(label, n, 0, _shown(recoding.mask, label, marker)) for label, n in labels.items()
    ]
    spans = [
        charts.Span(
            release.as_written(recoding.mask, i.label),
            float(i.low),
            float(i.high),
            records.get(i.label, 0),
        )
        for i in recoding.intervals
        if i.label != marker
    ]
    if recoding.mask == "generalize":
        tree = report.as_far_as_shown(release.prepared.taxonomies[name], recoding)
        chart = charts.cut_tree(title, tree, labels)
    elif spans:
        chart = charts.interval_bar(title, spans)
    else:
        chart = charts.shown_values(title, rows)
    return {
        "name": name,
        "says": _shown_in_words(recoding.mask, labels, marker, release.sheet.rows),
        "quiet": max(labels.values(), default=0) == release.sheet.rows,
        "chart": chart,
        "rows": rows[:MOST],
        "more": max(len(rows) - MOST, 0),
    }


def _shown(mask: str, label: str, marker: str) -> Any:
    return "hidden" if label == marker and mask != "generalize" else "shown"


def _shown_in_words(mask: str, labels: Mapping[str, int], marker: str, rows: int) -> str:
    hidden = labels.get(marker, 0) if mask != "generalize" else 0
    missing = labels.get("", 0)
    shown = len(labels) - (hidden > 0) - (missing > 0)
    what = {"generalize": "term", "discretize": "interval", "suppress": "value"}[mask]
    if hidden == rows:
        return f"Hidden for every record: each shows “{marker}”."
    if max(labels.values()) == rows:
        same = max(labels, key=labels.__getitem__) or "(missing)"
        return f"Every record shows the same {what}, “{same}”: it tells nobody from another."
    said = f"Shown as {'one' if shown == 1 else f'{shown:,}'} {what}{'s' if shown != 1 else ''}"
    said += f"; {hidden:,} of {rows:,} records show “{marker}” instead" if hidden else ""
    return said + (f"; {missing:,} of {rows:,} records have none." if missing else ".")


# --- what stays with the owner -------------------------------------------------------------------


def _private(release: Release) -> dict[str, Any]:
    searched = report.searched_promises(release)
    return {
        "exposures": [
            {"before": e.value, "breaking": e.breaking, "groups": e.groups} for e in release.before
        ],
        "riskiest": [
            risk
            | {
                "values": [words.brief(value) for _, value in exposure.worst],
                "known": ours(exposure.promise.over)[:_MOST_KNOWN],
                "more_known": max(len(ours(exposure.promise.over)) - _MOST_KNOWN, 0),
            }
            for risk, exposure in zip(report.riskiest(release), release.before, strict=True)
        ],
        "in_full": report.shown_in_full(release),
        "trace": [
            {
                "made": step,
                "into": _first(step.into, _MOST_PARTS),
                "values": [words.brief(value) for value in step.values[:_MOST_CHARTS]],
            }
            for step in release.steps[:MOST]
        ],
        "traced": [position + 1 for position in searched[:_MOST_CHARTS]],
        "untraced": max(len(searched) - _MOST_CHARTS, 0),
        "ways": _ways(release, searched),
        "most": MOST,
        "at_once": _AT_ONCE,
        "ends": _ends(release, searched),
        "stopped": len(release.limits),
        "stoppers": [
            {"number": position + 1, "count": int(forecast.breaks.sum())}
            for position, forecast in zip(searched, release.limits.forecasts, strict=True)
        ],
    }


def _first(labels: Sequence[str], most: int) -> dict[str, Any]:
    """The first labels of a list, and how many more there are."""
    return {"labels": labels[:most], "more": max(len(labels) - most, 0)}


def _ways(release: Release, searched: Sequence[int]) -> list[Markup]:
    """The way of each promise through the steps, and of the information gained."""
    steps = release.steps
    if not steps:
        return []
    drawn = []
    for measure, position in enumerate(searched[:_MOST_CHARTS]):
        promise = release.prepared.policy.promises[position]
        values = [float(step.values[measure]) for step in steps]
        asked = float(Fraction(promise.asked))
        count = isinstance(promise, Anonymity)
        drawn.append(
            curves.lines(
                f"Promise {position + 1} over the steps",
                "steps made",
                "smallest group" if count else "largest confidence",
                [
                    curves.Series("kept", list(enumerate(values, 1))),
                    curves.Series("asked", [(1, asked), (len(steps), asked)], dashed=True),
                ],
                y_log=count and min(values) > 0 and max(values) > 20 * min(values),
            )
        )
    gained = list(enumerate(accumulate(step.info_gain for step in steps), 1))
    unit = "bits" if release.prepared.policy.utility == "classification" else "utility"
    drawn.append(
        curves.lines(
            "Information over the steps", "steps made",
            f"{unit}, each step’s gain added up", [curves.Series("gained", gained)],
        )
    )  # fmt: skip
    return drawn


def _ends(release: Release, searched: Sequence[int]) -> list[dict[str, Any]]:
    """For each column: what became of its values, and what ruled out the rest."""
    promises, limits = release.prepared.policy.promises, release.limits
    found = []
    left = 10 * MOST  # rows that all columns together may take
    for attribute, domain in enumerate(release.prepared.domains):
        fates = limits.fates(attribute)
        most = min(MOST, left)
        stops = [
            {
                "value": stop.value,
                "into": _first(stop.into, _MOST_PARTS),
                "after": stop.after,
                "why": [
                    f"promise {searched[m] + 1}: {promises[searched[m]].would_break(value)}"
                    for m, value in stop.broken
                ],
            }
            for stop in islice(limits.stops(attribute), most)
        ]
        left -= len(stops)
        found.append(
            {
                "name": domain.name,
                "mask": domain.mask,
                "counts": {fate: len(slots) for fate, slots in fates.items()},
                "stops": stops,
                "more": len(fates["stopped"]) - len(stops),
                "idle": {
                    "labels": [limits.label(slot) for slot in fates["idle"][:_MOST_PARTS].tolist()],
                    "more": max(len(fates["idle"]) - _MOST_PARTS, 0),
                },
            }
        )
    return found
