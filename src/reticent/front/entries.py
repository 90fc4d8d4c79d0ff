"""The commands for single entries: ``reticent entries …``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.errors import many
from reticent.front.command import Data, Output, PolicyPath, Say, command, watching

if TYPE_CHECKING:
    from reticent.entries import Release, Risk, Verdict

app = typer.Typer(
    help="Single entries: the rest of a table does not give back what somebody asked to hide.",
    no_args_is_help=True,
)


@command(app, "release")
def release(say: Say, reading: Any, data: Data, policy: PolicyPath, output: Output) -> None:
    """Hide what people asked to hide, and what would give it back."""
    from reticent import entries

    with watching(say, stoppable=False) as watch:
        found = entries.release(
            data, policy, output=output, reading=reading, force=say.force, watch=watch
        )
    say.note(*found.original.table.notes, *(f"Warning: {text}" for text in found.warnings))
    say.result(_release(found), found.summary())


@command(app, "verify")
def verify(
    say: Say,
    reading: Any,
    data: Annotated[str, typer.Argument(metavar="RELEASE", help="A released file or folder.")],
    policy: PolicyPath,
    original: Annotated[
        str | None,
        typer.Option(metavar="DATA", help="The table as it was; it alone knows what is hidden."),
    ] = None,
) -> None:
    """Look for a rule that tells a hidden entry, and for cells that were changed."""
    from reticent import entries

    with watching(say, stoppable=False) as watch:
        found = entries.verify(data, policy, original=original, reading=reading, watch=watch)
    say.note(*found.notes, *(f"Warning: {text}" for text in found.warnings))
    say.result(_verdict(found), found.summary(), good=found.holds is True)
    if found.holds is not True:
        raise typer.Exit(2 if found.holds is None else 1)


@command(app, "risk")
def risk(say: Say, reading: Any, data: Data, policy: PolicyPath) -> None:
    """Show whose entry could be told if nothing but the requests were hidden."""
    from reticent import entries

    with watching(say, stoppable=False) as watch:
        found = entries.risk(data, policy, reading=reading, watch=watch)
    say.note(*found.original.table.notes, *(f"Warning: {w}" for w in found.original.warnings))
    say.result(_risk(found), found.summary())


@command(app, "schema")
def schema(say: Say) -> None:
    """Print the JSON schema of these policies, for editors."""
    from reticent.entries.policy import schema

    print(json.dumps(schema(), indent=1))


# --- in words ------------------------------------------------------------------------------------

_TOO_MANY = "there are too many rules to look at them all."


def _release(found: Release) -> str:
    from reticent.front.render import table
    from reticent.privacy.promises import percent

    entries = len(found.search.records)
    lines = [
        f"{many(found.rows, 'row')} released; {many(found.requests, 'request')} granted, "
        f"{many(entries, 'further entry', 'further entries')} hidden, {percent(found.loss)} "
        "of all.",
        "",
        f"Kept, and recounted: {found.policy.promise.text}.",
        "",
        f"{many(found.search.rules, 'unsafe rule', 'different unsafe rules')} before, none after.",
    ]
    if entries:
        rows = [[name, count] for name, count in found.hidden.items() if count]
        lines += ["", table(["column", "hidden besides"], rows)]
    if found.output:
        lines += ["", f"Written to {found.output}, after recounting the promise on it."]
    return "\n".join(lines)


def _verdict(found: Verdict) -> str:
    from reticent.entries.asked import by_number

    promise, finding = found.policy.promise.text, found.finding
    lines = [f"ALTERED: {problem.text()}" for problem in found.problems]
    lines.append(f"{many(found.rows, 'row')}, {many(found.requests, 'request')}.")
    if finding is None:
        return "\n".join([*lines, "Nothing was counted: these are not the rows of the original."])
    if finding.visible:
        lines.append(
            f"BROKEN: {many(len(finding.visible), 'requested entry', 'requested entries')} "
            f"can be seen: {by_number(finding.visible)}."
        )
    if finding.holds:
        lines.append(f"The promise holds: {promise}.")
    elif found.beside_original and finding.exposed:
        lines += [f"BROKEN: {promise}.", *_exposed(found)]
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
    return "\n".join(lines)


def _exposed(found: Verdict) -> Iterator[str]:
    """Who is told on, and by what; columns and counts, no values."""
    from reticent.entries import report
    from reticent.front.render import table

    assert found.finding is not None
    conditions = found.policy.conditions
    told = [report.exposure(one, conditions) for one in found.finding.exposed]
    yield _exposures(told, table)


def _exposures(told: Sequence[dict[str, Any]], table: Any) -> str:
    most = 10
    rows = [
        [f"{one['record']:,}", one["rules"], ", ".join(one["columns"]), one["own"], one["support"]]
        for one in told[:most]
    ]
    shown = table(["record", "unsafe rules", "the surest starts from", "right for", "of"], rows)
    return str(shown) + (f"\n… and {len(told) - most:,} more." if len(told) > most else "")


def _risk(found: Risk) -> str:
    from reticent.entries import report
    from reticent.front.render import table

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
        lines += ["", _exposures(report.exposures(original, finding), table)]
    return "\n".join(lines)
