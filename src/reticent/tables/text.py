"""Reports as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from reticent.errors import SHOWN, few, many, quoted
from reticent.privacy.words import about_percent, joined, percent
from reticent.tables.sweep_matrix import MEANINGS, SIGNS, ShownMatrix
from reticent.terminal.text import MOST, cell, columns_table, composed, table

if TYPE_CHECKING:
    from reticent.releases.facts import Facts
    from reticent.tables.evaluation import Evaluation
    from reticent.tables.singling import SinglingOut
    from reticent.tables.sweep_folder import Sweep


def release(told: Facts) -> str:
    """What a release did, on one screen."""
    public, private = told.public, told.private
    rare, missing = public["left_out"], private["incomplete"]
    lines = [
        f"{many(public['rows'], 'row')} released after {many(public['steps'], 'refinement')}"
        + (f"; {many(missing, 'record')} with missing values left out" if missing else "")
        + (f"; {many(rare, 'rare record')} left out, so that others can show more" if rare else "")
        + ("; stopped early, more could be revealed" if public["stopped_early"] else "")
        + ".",
    ]
    promised = [
        [
            promise["short"],
            before,
            promise["value"],
            promise["nothing"] or ("yes" if promise["holds"] else "NO"),
        ]
        for promise, before in zip(public["promises"], private["before"], strict=True)
    ]
    if promised:
        lines += ["", table(["promise", "before", "after", "verified"], promised)]
    if public["coarse"]:
        coarse = [[one["says"], "yes" if one["holds"] else "NO"] for one in public["coarse"]]
        lines += ["", _first(["every cell", "verified"], coarse)]
    shown = [
        [name, column["mask"], len(column["values"]), _few(column["values"])]
        for name, column in public["attributes"].items()
    ]
    if shown:
        telling = [len(column["values"]) for column in public["attributes"].values()]
        lines += ["", columns_table(["column", "mask", "values", "shown as"], shown, telling)]
    if private["held_back"]:
        held = [f"{one['says']} {one['do']}" for one in private["held_back"]]
        more = [f"… and {many(len(held) - SHOWN, 'more such column')}."] * (len(held) > SHOWN)
        lines += ["", *held[:SHOWN], *more]
    if private["alternatives"]:
        lines += ["", _alternatives(private)]
    lines += _people(private)
    if private["output"]:
        lines += ["", f"Written to {private['output']}, after recounting every promise on it."]
    return composed(lines)


def _first(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table, of very many rows the first."""
    if len(rows) <= MOST:
        return table(head, rows)
    more = f"… and {len(rows) - MOST:,} more, which the report lists."
    return composed([table(head, rows[:MOST]), more])


def _alternatives(private: Mapping[str, Any]) -> str:
    """Other cuts that keep the same promises, beside the one released."""
    errors = private["error"] is not None
    rows = [["released", _percent(private["error"]), "-", "-"]]
    for other in private["alternatives"]:
        changed = [*other["finer"], *(f"{name} (otherwise)" for name in other["otherwise"])]
        told = [few(names) or "-" for names in (changed, other["coarser"])]
        rows.append([f"--alternative {other['alternative']}", _percent(other["error"]), *told])
    heads = ["other cuts that keep the same promises", "error", "finer", "coarser"]
    if not errors:
        heads, rows = [heads[0], *heads[2:]], [[row[0], *row[2:]] for row in rows]
    return table(heads, rows) + (
        "\nErrors are a tree's, estimated; a small difference says nothing." if errors else ""
    )


def _few(labels: Sequence[str], width: int = 60) -> str:
    shown: list[str] = []
    for label in labels:
        text = label or "(missing)"
        if shown and len("  ".join([*shown, text])) > width:
            return "  ".join(shown) + "  …"
        shown.append(text)
    return "  ".join(shown)


def risk(told: Facts) -> str:
    """How far an unmasked table is from its promises."""
    lines = [f"{many(told.private['rows'], 'row')}, before masking.", ""]
    if not told.private["promises"]:
        lines.append(
            "The policy promises nothing about groups of people. What singles them out is counted "
            "without a policy:  reticent risk DATA"
        )
    for promise in told.private["promises"]:
        lines.append(promise["short"])
        asked = promise["about"]["asked"]
        if promise["is_count"]:
            lines.append(
                f"  {many(promise['groups'], 'group')}, the smallest of {promise['value']:,}; "
                f"{many(promise['breaking'], 'record stands', 'records stand')} in groups below "
                f"{asked}."
            )
        else:
            above = ", ".join(f"{n:,} above {level}" for level, n in promise["above"].items())
            lines.append(
                f"  the surest inference has confidence {cell(promise['value'])}; "
                f"{many(promise['breaking'], 'inference is', 'inferences are')} above {asked} "
                f"({above})."
            )
    return composed([*lines, *_people(told.private)])


def _people(private: Mapping[str, Any]) -> list[str]:
    """How many people are in earlier releases, too."""
    said = [one["text"] for one in private["people"]]
    return ["", *said] if said else []


_NAMED = 5  # columns that a sentence lists
_LINES = 20  # columns, or sets of them, that a terminal shows
MINIMAL = (
    "A set is minimal if it singles somebody out and no set within it singles out as many: "
    "each of its columns counts."
)
MISSING = "A missing cell counts as a value of its own."


def singling_out(found: SinglingOut) -> str:
    """Which columns, and which small sets of them, tell most records from all others."""
    counted = found.counted
    columns = [
        [one.name, one.distinct, one.missing, one.unique_rows, share_of(found.share(one))]
        for one in counted.columns[:_LINES]
    ]
    lines = [
        f"{many(counted.rows, 'record')}, {many(len(counted.columns), 'column')}.",
        *who_stands_alone(found),
        "",
        table(["column", "values", "missing", "only one with it", "share"], columns),
    ]
    if more := len(counted.columns) - len(columns):
        lines.append(f"and {many(more, 'more column')}")
    if counted.minimal:
        sets = [
            [", ".join(one.columns), one.unique_rows, share_of(found.share(one)), one.groups]
            for one in counted.minimal[:_LINES]
        ]
        lines += ["", table(["who knows", "finds", "share", "groups"], sets), ""]
        lines.append(f"{MINIMAL} Others are left out here.")
    return composed([*lines, MISSING, *not_counted(found)])


def share_of(share: Fraction) -> str:
    """A share of all records in percent; what is not everybody does not look like it.

    >>> share_of(Fraction(1)), share_of(Fraction(999_999, 1_000_000))
    ('100 %', '>99.99 %')
    """
    told = percent(share)
    return ">99.99 %" if share < 1 and told == "100 %" else told


def who_stands_alone(found: SinglingOut) -> Iterator[str]:
    """The first things to know."""
    rows, minimal = found.counted.rows, found.counted.minimal
    if sure := [one.name for one in found.counted.columns if one.unique_rows == rows]:
        told = "tells" if len(sure) == 1 else "tell, each alone,"
        yield f"{quoted(sure, _NAMED)} {told} every record from all others."
    several = [one for one in minimal if len(one.columns) > 1] or list(minimal)
    if not several:
        yield "No set of up to three columns singles out anybody."
    elif len(several[0].columns) > 1 or not sure:
        best, share = several[0], share_of(found.share(several[0]))
        one = best.unique_rows == 1
        verb = "is the only one with its" if one else "are the only ones with their"
        yield f"{share} of the {many(rows, 'record')} {verb} {joined(best.columns)}."


def not_counted(found: SinglingOut) -> Iterator[str]:
    """What was left out, and what to do about it."""
    counted = found.counted
    if found.odd:
        one = len(found.odd) == 1
        holds, were = ("holds", "was") if one else ("hold", "were")
        names = quoted(found.odd, _NAMED)
        yield f"{names} {holds} values that cannot be compared, and {were} left out."
    if counted.whole:
        return
    columns, pairs = len(counted.columns), ""
    if counted.pairs_of < columns:
        pairs = f"pairs were counted of the {counted.pairs_of} with the most values, "
    yield (
        f"{columns} columns have too many sets to count them all: {pairs}sets of three of the "
        f"{counted.triples_of} with the most values. --column NAME, once for each, counts those "
        "that you name."
    )


def evaluation(found: Evaluation) -> str:
    """What a release costs and what it stops, on one screen."""
    lines = [f"{many(found.rows, 'record')}, compared with their release.", ""]
    if found.left_out:
        left = found.rows - found.left_out
        lines[0] = (
            f"{many(left, 'record')}, compared with their release; {found.left_out:,} of "
            f"{found.rows:,} are left out of it, and before, too, is without them."
        )
    lines += _errors(found.classification)
    lost, apart = found.loss, found.loss["discernibility"]
    lines += [
        f"Detail hidden: {about_percent(_of_worst(lost))} of the worst, which is to hide every "
        f"masked value (distortion {lost['distortion']:.3f} of {lost['worst']:.3f} per record); "
        f"{lost['hidden']:,} of {lost['entries']:,} masked entries show nothing at all.",
        f"Records that look like each record, added up (discernibility): {apart['before']:,} "
        f"before, {apart['after']:,} after.",
        "",
        *_related(found.relations),
        *_attacks(found.attack),
    ]
    if not lines[-1]:
        lines.pop()
    return composed(lines)


def _of_worst(lost: Mapping[str, Any]) -> float:
    return float(lost["distortion"] / lost["worst"]) if lost["worst"] else 0.0


def _related(found: Mapping[str, Any]) -> Iterator[str]:
    if not found["related"]:
        yield "No two released columns told anything of each other before."
        yield ""
        return
    yield (
        f"Of {many(found['related'], 'pair')} of columns that told of each other, {found['kept']} "
        f"still do as before, {found['weaker']} less, {found['lost']} nothing any more."
    )
    rows = [
        [" and ".join(one["columns"]), *(about_percent(one[side]) for side in _SIDES)]
        for one in found["most"][:_PAIRS]
    ]
    if rows:
        yield table(["those that lost most", *_SIDES], rows)
    yield ""


_PAIRS = 5
_VIEWS = {
    "BE": "the table as it was",
    "AE": "the release",
    "SE": "the release",
    "learnt_on_training": "a mask learnt on training only",
    "UE": "masked columns left out",
    "RE": "sensitive columns left out",
}


def _errors(found: Mapping[str, Any] | None) -> Iterator[str]:
    if found is None:
        return
    if "reason" in found:
        yield f"Classification of {found['class']}: not measured, {found['reason']}."
        yield ""
        return
    how = f"on {found['tested']:,} records that training did not see"
    if found["rounds"] > 1:
        how += f", in {found['rounds']} folds"
    errors = found["classifiers"]
    first = next(iter(errors.values()))
    views = [view for view in _VIEWS if view in first and not (view == "SE" and "AE" in first)]
    rows = [
        [_VIEWS[view], *(_percent(each.get(view)) for each in errors.values())] for view in views
    ]
    rows.append(["always the largest class", *[_percent(found["majority"])] * len(errors)])
    yield f"How often {found['class']} is told wrong, {how}:"
    yield table(["learnt from", *errors], rows)
    yield ""


def _attacks(found: Mapping[str, Any]) -> Iterator[str]:
    for record in found["linkage"]:
        known = any(
            record[side]["journalist_mean"] != record[side]["prosecutor_mean"] for side in _SIDES
        )
        yield f"Who knows {few(record['over'])}:"
        rows = [
            [name, *(_one_in(name, record[side][key]) for side in ("before", "after"))]
            for name, key in _LINKAGE.items()
            if known or "register" not in name
        ]
        yield table(["", "before", "after"], rows)
        yield ""
    for record in found["inference"]:
        yield f"How sure of {few(record['sensitive'])} from {few(record['over'])}:"
        rows = [
            ["at worst", *(cell(Fraction(record[s]["largest"])) for s in _SIDES)],
            ["on average, of who has one", *(_percent(record[s]["of_holders"]) for s in _SIDES)],
        ]
        yield table(["", "before", "after"], rows)
        yield ""
    for record in found["prediction"]:
        yield (
            f"A tree that guesses {record['sensitive']} from {few(record['over'])} is right "
            f"for {_percent(record['before'])} before and {_percent(record['after'])} after; "
            f"always guessing the commonest value is right for {_percent(record['base'])}."
        )


def sweep(found: Sweep) -> str:
    """Every threshold of a sweep, a line each."""
    errors = list(found.floor.get("errors", {}))
    rows = []
    for point in found.points:
        line = [str(point["threshold"])]
        if "infeasible" in point:
            rows.append([*line, "no release", *["-"] * (4 + len(errors))])
            continue
        wrong = [point["errors"][name] for name in errors]
        rows.append(
            [
                *line,
                ", ".join(_kept(value) for value in point["kept"]),
                point["steps"],
                point["groups"],
                f"{point['reidentified']:.2%}",
                f"{point['distortion']:.3f}",
                *(_percent(error.get("AE", error.get("SE"))) for error in wrong),
            ]
        )
    head = [found.threshold, "kept", "steps", "groups", "re-identified", "distortion", *errors]
    lines = [table(head, rows), *_matrix(found)]
    for name, plain in found.floor.get("errors", {}).items():
        told = ", ".join(f"{_percent(rate)} with {_VIEWS[view]}" for view, rate in plain.items())
        lines.append(f"\n{name}, to compare with: {told}.")
    out = [f"{p['left_out']:,} at {p['threshold']}" for p in found.points if "left_out" in p]
    if out:
        lines.append(
            f"\nRare records left out: {', '.join(out)}. The lines of the table are about the "
            "others, the errors to compare with about everybody."
        )
    if found.resumed:
        lines.append(f"\n{found.resumed} of these had been done before.")
    if "reason" in found.floor:
        lines.append(f"\nNo classifier was trained: {found.floor['reason']}.")
    lines.append(
        f"\nWritten to {found.output}; open report.html there. Publish one of these releases at "
        "most: two of them can be joined."
    )
    return composed(lines)


def _matrix(found: Sweep) -> Iterator[str]:
    """How much each column shows, thresholds with the same release together."""
    matrix = ShownMatrix.of(found.points, joined=True)
    most = min(_SPANS, len(matrix.spans))
    listed_rows = [
        [
            name,
            *(about_percent(s) + SIGNS.get(how, "") for s, how in zip(shares, hows, strict=True)),
        ]
        for name, shares, hows in matrix.rows
    ]
    for at in range(0, len(matrix.spans) if listed_rows else 0, most):
        part = slice(at + 1, at + 1 + most)
        heads = [_COLUMNS_BY.format(found.threshold), *matrix.spans[at : at + most]]
        yield ""
        yield table(heads, [[row[0], *row[part]] for row in listed_rows[:_ROWS]])
    if len(listed_rows) > _ROWS:
        yield f"… and {len(listed_rows) - _ROWS:,} more columns; report.html and --json have all."
    if matrix.whole:
        yield f"As they were under every threshold: {few(matrix.whole)}."
    if matrix.hidden:
        yield f"Nothing is shown under any threshold of: {few(matrix.hidden)}."
    if listed_rows:
        used = dict.fromkeys(how for _, _, hows in matrix.rows for how in hows if how)
        signs = "".join(f"; {SIGNS[how]} {MEANINGS[how]}" for how in used)
        yield f"Of what a column told in the table as it was, 100 % is all of it{signs}."
    if matrix.still:
        yield f"The release is the same for {', '.join(matrix.still)}."


def _sign(how: str) -> str:
    return SIGNS.get(how, "")


_COLUMNS_BY = "what each column shows, by {}"
_ROWS = 40  # columns that a terminal lists
_SPANS = 8  # and thresholds beside each other


def _kept(value: int | str | None) -> str:
    if value is None or isinstance(value, int):
        return "-" if value is None else f"{value:,}"
    return f"{float(Fraction(value)):.1%}"


_SIDES = ("before", "after")
_LINKAGE = {
    "groups": "groups",
    "smallest group": "smallest",
    "mean group": "mean_group",
    "alone in their group": "unique",
    "found at worst": "prosecutor",
    "found in all": "prosecutor_mean",
    "found at worst, by a register": "journalist",
    "found in all, by a register": "journalist_mean",
}


def _one_in(name: str, value: float) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.1f}" if name == "mean group" else _percent(value)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}" if share >= 0.001 or not share else "<0.1%"


def _beside_original(match: Mapping[str, Any], rows: int) -> str:
    """How a release compares with the table that it is said to be made from."""
    if match["matches"]:
        out = many(match["left_out"], "record")
        left = f"; {out} left out, as the policy allows" if match["left_out"] else ""
        by = f", as far as they show {joined(match['compared'])}" if match["not_compared"] else ""
        return f"The released rows are those that the original gives{by}{left}."
    what = (
        f"{match['strange']:,} of {many(rows, 'released row')} are none that the original gives"
        if match["strange"]
        else f"{many(match['left_out'], 'record')} of the original are not released, where "
        f"{match['may_be_left_out']:,} may be left out"
    )
    return (
        f"{what}.\n  Why: the release was made from another table, or one of the two was changed "
        "since.\n  Do:  give the table that it was made from, and its policy."
    )


def verdict(told: Facts) -> str:
    """The verifier's word."""
    public, match = told.public, told.private.get("original")
    words = {True: "holds", False: "BROKEN", None: "not checkable: its `of` column is not here"}
    if match:
        words[None] = "not decidable" if match["matches"] else "not checkable"
    rows = [
        [one["short"], one["value"], one["nothing"] or words[one["holds"]]]
        for one in public["promises"]
    ]
    lines = [f"{many(public['rows'], 'row')} recounted."]
    if rows:
        lines += ["", table(["promise", "found", "verdict"], rows)]
    if coarse := [[one["says"], _how_coarse(one)] for one in public["coarse"]]:
        lines += ["", _first(["every cell", "verdict"], coarse)]
    beside = [_beside_original(match, public["rows"])] if match else []
    return composed([*lines, *public["leftovers"], *_people(told.private), *beside])


def _how_coarse(one: Mapping[str, Any]) -> str:
    """The verifier's word on the cells of one column."""
    if one["holds"]:
        return "holds"
    tell = "tells" if one["values"] == 1 else "tell"
    return f"BROKEN: {many(one['values'], 'value')} on {many(one['rows'], 'row')} {tell} more"
