"""Reports about single entries as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from reticent.entries import report
from reticent.entries.asked import by_number
from reticent.errors import few, many
from reticent.terminal.text import composed, table

if TYPE_CHECKING:
    from reticent.entries.report import EntryRisk, EntryVerdict
    from reticent.releases.facts import Facts

_EMPTY = "Nothing is promised beyond the requests"
_TOO_MANY = "there are too many rules to look at them all."


def release(told: Facts) -> str:
    """What a release did, on one screen."""
    public, private = told.public, told.private
    entries = public["hidden"]["entries"]
    lines = [
        f"{many(public['rows'], 'row')} released; {many(public['requests'], 'request')} granted, "
        f"{many(entries, 'further entry', 'further entries')} hidden, {private['loss']} of all"
        + ("; stopped early, less might be hidden." if public["stopped_early"] else "."),
        "",
        f"{_EMPTY if private['empty'] else 'Kept, and recounted'}: {private['promise']}.",
        "",
        f"{many(private['unsafe_rules']['before'], 'unsafe rule', 'different unsafe rules')} "
        "before, none after.",
    ]
    if entries:
        rows = [[name, count] for name, count in public["hidden"]["columns"].items() if count]
        lines += ["", table(["column", "hidden besides"], rows)]
    if private["output"]:
        lines += ["", f"Written to {private['output']}, after recounting the promise on it."]
    return composed(lines)


def verdict(found: EntryVerdict) -> str:
    """The verifier's word."""
    promise, finding = found.policy.promise.text, found.finding
    lines = [f"ALTERED: {problem.text()}" for problem in found.problems]
    lines.append(f"{many(found.rows, 'row')}, {many(found.requests, 'request')}.")
    if finding is None:
        return composed([*lines, "Nothing was counted: these are not the rows of the original."])
    if finding.visible:
        lines.append(
            f"BROKEN: {many(len(finding.visible), 'requested entry', 'requested entries')} "
            f"can be seen: {by_number(finding.visible)}."
        )
    if finding.holds:
        empty = bool(found.policy.promise.emptiness)
        lines.append(f"{_EMPTY if empty else 'The promise holds'}: {promise}.")
    elif found.beside_original and finding.exposed:
        told = [report.exposure(one, found.policy.conditions) for one in finding.exposed]
        lines += [f"BROKEN: {promise}.", _exposures(told)]
    elif finding.exposed:
        lines.append(
            f"Not decided: {promise}. {many(len(finding.exposed), 'record')} did not stand the "
            "test; give --original to know."
        )
    elif finding.holds is None:
        lines.append(f"Not decided: {promise}; {_TOO_MANY}")
    if finding.exposed and not finding.complete:
        lines.append(f"There may be more: {_TOO_MANY}")
    if found.unseen:
        lines.append(
            f"Not checkable: {many(found.unseen, 'entry', 'entries')} marked to be published "
            f"{'is' if found.unseen == 1 else 'are'} empty; --original tells whether they were so."
        )
    if not found.beside_original:
        lines.append(
            "Without the original every value was tried for every request, a stricter test; cells "
            "and the order of rows were compared with nothing."
        )
    return composed(lines)


def _exposures(told: Sequence[dict[str, Any]]) -> str:
    """Who is told on, and by what; columns and counts, no values."""
    most = 10
    rows = [
        [f"{one['record']:,}", one["rules"], few(one["columns"]), one["own"], one["support"]]
        for one in told[:most]
    ]
    shown = table(["record", "unsafe rules", "the surest starts from", "right for", "of"], rows)
    return shown + (f"\n… and {len(told) - most:,} more." if len(told) > most else "")


def risk(found: EntryRisk) -> str:
    """What requests alone would leave open."""
    finding, original = found.finding, found.original
    surest = finding.largest
    lines = [
        f"{many(original.table.rows, 'row')}, {many(found.requests, 'request')}.",
        "",
        f"Asked for: {original.policy.promise.text}.",
        "",
        f"With nothing else hidden, {many(len(finding.exposed), 'request')} could be told, by "
        f"{many(finding.unsafe, 'unsafe rule', 'different unsafe rules')}"
        + ("" if surest is None else f"; the surest is right in {float(surest):.1%}")
        + ".",
    ]
    if not finding.complete:
        lines.append(f"There may be more: {_TOO_MANY}")
    if finding.exposed:
        lines += ["", _exposures(report.exposures(original, finding))]
    return composed(lines)
