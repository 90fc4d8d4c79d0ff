"""The commands for baskets: ``reticent transactions …``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.errors import InputError, many
from reticent.front.command import Data, Output, PolicyPath, Say, command, watching

if TYPE_CHECKING:
    from reticent.privacy.coherence import Exposed
    from reticent.transactions import Evaluation, Release, Risk, Verdict
    from reticent.transactions.policy import Policy, Roles

app = typer.Typer(
    help="Baskets and click streams: nobody is singled out by a few known items.",
    no_args_is_help=True,
)


Known = Annotated[int, typer.Option(min=1, help="Items that somebody may know, at most.")]


@command(app, "release")
def release(say: Say, reading: Any, data: Data, policy: PolicyPath, output: Output) -> None:
    """Suppress items so that baskets keep the promise of a policy."""
    from reticent import transactions

    with watching(say, stoppable=False) as watch:
        found = transactions.release(
            data, policy, output=output, reading=reading, force=say.force, watch=watch
        )
    _warn(say, found.roles, *found.original.notes)
    say.note(*(f"Warning: {w}" for w in found.warnings))
    say.result(_release(found), found.summary())


@command(app, "verify")
def verify(
    say: Say,
    reading: Any,
    data: Annotated[str, typer.Argument(metavar="RELEASE", help="A released file or folder.")],
    policy: PolicyPath,
) -> None:
    """Look for a set of items that breaks the promise, without the original."""
    from reticent import transactions
    from reticent.transactions import report

    with watching(say, stoppable=False) as watch:
        found = transactions.verify(data, policy, reading=reading, watch=watch)
    _warn(say, found.roles, only="private")  # public ones may all be suppressed
    said = report.verify_summary(found, names=say.show_values)
    say.result(_verdict(found, names=say.show_values), said, good=found.holds is True)
    if found.holds is not True:
        raise typer.Exit(2 if found.holds is None else 1)


@command(app, "risk")
def risk(
    say: Say,
    reading: Any,
    data: Data,
    policy: PolicyPath,
    known: Known = 3,
    chart: Annotated[
        Path | None, typer.Option(metavar="FILE.svg", help="Draw it into this file.")
    ] = None,
) -> None:
    """Show how many people a few known items single out, as the baskets are."""
    from reticent import transactions
    from reticent.table.output import check_free, whole_file

    if chart is not None:
        if chart.suffix != ".svg":
            raise InputError("the chart is an .svg file", where=str(chart))
        check_free(chart, force=say.force)
    with watching(say, stoppable=False) as watch:
        found = transactions.risk(data, policy, most=known, reading=reading, watch=watch)
    if chart is not None:
        with whole_file(chart, force=say.force) as path:
            path.write_text(found.chart(), encoding="utf-8")
    _warn(say, found.roles)
    say.result(_risk(found), found.summary())


@command(app, "evaluate")
def evaluate(
    say: Say,
    reading: Any,
    original: Annotated[str, typer.Argument(metavar="ORIGINAL", help="The baskets as they were.")],
    released: Annotated[str, typer.Argument(metavar="RELEASE", help="A released file or folder.")],
    policy: PolicyPath,
    known: Known = 3,
) -> None:
    """Measure what a release of baskets costs and what it stops."""
    from reticent import transactions

    with watching(say, stoppable=False) as watch:
        found = transactions.evaluate(
            original, released, policy, most=known, reading=reading, watch=watch
        )
    _warn(say, found.roles)
    say.result(_evaluation(found), found.summary())


@command(app, "schema")
def schema(say: Say) -> None:
    """Print the JSON schema of these policies, for editors."""
    from reticent.transactions.policy import schema

    print(json.dumps(schema(), indent=1))


def _warn(say: Say, roles: Roles, *notes: str, only: str = "") -> None:
    """Say what a policy names and no item is called; with items that may be meant, if asked."""
    names = roles.hints if say.show_values else roles.warnings
    say.note(*notes, *(f"Warning: {text}" for text in names if text.startswith(only)))


# --- in words ------------------------------------------------------------------------------------


def _release(found: Release) -> str:
    from reticent.front.render import table

    gone, items = int(found.gone.sum()), len(found.original.names)
    lines = [
        f"{many(found.released.transactions, 'transaction')} released; {gone:,} of {items:,} "
        f"items suppressed, {float(found.loss):.2%} of all occurrences.",
        "",
        f"Kept, and recounted: {found.policy.promise.text}.",
        "",
        table(
            ["", "before", "after"],
            [
                ["items", items, len(found.released.names)],
                ["occurrences", found.original.occurrences, found.released.occurrences],
                *([["nuggets", *found.nuggets]] if found.nuggets else []),
            ],
        ),
    ]
    tried = found.summary()["tried"]
    if len({*tried.values()}) > 1:
        what = "nuggets" if found.policy.utility == "itemsets" else "occurrences"
        rows = [
            [f"{name} (released)" if name == found.search.method else name, f"{lost:.2%}"]
            for name, lost in tried.items()
        ]
        lines += ["", table(["method", f"{what} lost"], rows)]
    if found.output:
        lines += ["", f"Written to {found.output}, after recounting the promise on it."]
    return "\n".join(lines)


def _verdict(found: Verdict, *, names: bool) -> str:
    finding = found.finding
    lines = [
        f"{many(found.transactions, 'transaction')}, "
        f"{many(found.occurrences, 'occurrence')} of items."
    ]
    if finding.holds:
        lines.append(f"The promise holds: {finding.promise.text}.")
    elif finding.holds is None:
        lines.append(
            f"Not decided: {finding.promise.text}; there are too many sets of items to look at "
            "them all."
        )
    else:
        lines += [f"BROKEN: {finding.promise.text}.", *_breaking(found, names=names)]
    return "\n".join([*(f"ALTERED: {problem.text()}" for problem in found.altered), *lines])


def _breaking(found: Verdict, *, names: bool) -> Iterator[str]:
    """What breaks a promise, and which part of it."""
    finding = found.finding
    assert finding.breaking is not None
    assert finding.support is not None
    size = len(finding.breaking)
    who = f"Knowing {many(size, 'public item')}" if size else "Knowing nothing"
    yield f"  {who} leaves {many(finding.support, 'transaction')}, k = {finding.promise.k:,}."
    sure = finding.confidence
    if sure is not None and sure > finding.promise.h:
        yield f"  {float(sure):.1%} of them hold the same private item, h = {finding.promise.h}."
    if not names:
        yield "  Items are hidden because they may be personal; --show-values shows them."
        return
    if size:
        yield "  Known: " + ", ".join(str(found.names[i]) for i in finding.breaking)
    if sure is not None and sure > finding.promise.h and finding.inferred is not None:
        yield f"  Told: {found.names[finding.inferred]}"


def _risk(found: Risk) -> str:
    return (
        f"{many(found.transactions, 'transaction')}, {many(found.items, 'item')}: "
        f"{int(found.roles.public.sum()):,} public, {int(found.roles.private.sum()):,} private.\n\n"
        + _levels(found.levels, found.policy, found.roles, found.transactions)
    )


def _levels(levels: Sequence[Exposed], policy: Policy, roles: Roles, transactions: int) -> str:
    from reticent.front.render import table

    def share(count: int | None) -> str:
        return "not counted" if count is None else f"{count:,} ({count / max(transactions, 1):.1%})"

    sure = policy.promise.h < 1 and bool(roles.private.any())
    head = ["known items", "unique", f"among fewer than {policy.k}"]
    head += [f"above {policy.promise.h} sure", "largest confidence"] if sure else []
    rows = [
        [level.known, share(level.unique), share(level.small)]
        + ([share(level.sure), level.largest] if sure else [])
        for level in levels
    ]
    return table(head, rows)


def _evaluation(found: Evaluation) -> str:
    from reticent.front.render import table

    def lost(pair: tuple[int, int]) -> str:
        return f"{(pair[0] - pair[1]) / max(pair[0], 1):.2%}"

    kept = [
        ["items", *found.items, lost(found.items)],
        ["occurrences", *found.occurrences, lost(found.occurrences)],
        [f"itemsets in {found.support:,} or more", *found.nuggets, lost(found.nuggets)],
    ]
    others = [
        [name, f"{facts['occurrences']:.2%}", f"{facts['nuggets']:.2%}"]
        for name, facts in found.baselines.items()
    ]
    ours = ["this release", lost(found.occurrences), lost(found.nuggets)]
    return "\n".join(
        [
            f"{many(found.transactions, 'transaction')}.",
            "",
            table(["", "before", "after", "lost"], kept),
            "",
            "People at risk, before:",
            _levels(found.before, found.policy, found.roles, found.transactions),
            "",
            "and after:",
            _levels(found.after, found.policy, found.roles, found.transactions),
            "",
            table(["way", "occurrences lost", "itemsets lost"], [ours, *others]),
        ]
    )
