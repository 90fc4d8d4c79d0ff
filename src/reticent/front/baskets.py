"""The commands for baskets: ``reticent transactions …``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.errors import InputError
from reticent.front.command import Data, Output, PolicyPath, Say, command, watching

if TYPE_CHECKING:
    from reticent.privacy.coherence import Exposed
    from reticent.transactions import Evaluation, Release, Risk, Verdict

app = typer.Typer(
    help="Baskets and click streams: nobody is singled out by a few known items.",
    no_args_is_help=True,
)


@command(app, "release")
def release(say: Say, reading: Any, data: Data, policy: PolicyPath, output: Output) -> None:
    """Suppress items so that baskets keep the promise of a policy."""
    from reticent import transactions

    with watching(say, stoppable=False) as watch:
        found = transactions.release(
            data, policy, output=output, reading=reading, force=say.force, watch=watch
        )
    say.note(*found.original.notes, *(f"Warning: {w}" for w in found.warnings))
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

    with watching(say, stoppable=False) as watch:
        found = transactions.verify(data, policy, reading=reading, watch=watch)
    say.note(*(f"Warning: {w}" for w in found.warnings))
    say.result(_verdict(found, names=say.show_values), found.summary())
    if found.holds is not True:
        raise typer.Exit(2 if found.holds is None else 1)


@command(app, "risk")
def risk(
    say: Say,
    reading: Any,
    data: Data,
    policy: PolicyPath,
    known: Annotated[int, typer.Option(min=1, help="Items that somebody may know, at most.")] = 3,
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
    say.note(*(f"Warning: {w}" for w in found.warnings))
    say.result(_risk(found), found.summary())


@command(app, "evaluate")
def evaluate(
    say: Say,
    reading: Any,
    original: Annotated[str, typer.Argument(metavar="ORIGINAL", help="The baskets as they were.")],
    released: Annotated[str, typer.Argument(metavar="RELEASE", help="A released file or folder.")],
    policy: PolicyPath,
) -> None:
    """Measure what a release of baskets costs and what it stops."""
    from reticent import transactions

    with watching(say, stoppable=False) as watch:
        found = transactions.evaluate(original, released, policy, reading=reading, watch=watch)
    say.note(*(f"Warning: {w}" for w in found.warnings))
    say.result(_evaluation(found), found.summary())


@command(app, "schema")
def schema(say: Say) -> None:
    """Print the JSON schema of these policies, for editors."""
    from reticent.transactions.policy import schema

    print(json.dumps(schema(), indent=1))


# --- in words ------------------------------------------------------------------------------------


def _release(found: Release) -> str:
    from reticent.front.render import table

    gone, items = int(found.gone.sum()), len(found.original.names)
    lines = [
        f"{found.released.transactions:,} transactions released; {gone:,} of {items:,} items "
        f"suppressed, {float(found.loss):.2%} of all occurrences.",
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
    if len(tried) > 1:
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
    counted = f"{found.transactions:,} transactions, {found.occurrences:,} occurrences of items."
    if finding.holds:
        return f"{counted}\nThe promise holds: {finding.promise.text}."
    if finding.holds is None:
        return (
            f"{counted}\nNot decided: {finding.promise.text}; there are too many sets of items to "
            "look at them all."
        )
    assert finding.breaking is not None
    size = len(finding.breaking)
    what = f"a set of {size} public {'item' if size == 1 else 'items'}" if size else "nothing known"
    lines = [
        counted,
        f"BROKEN: {finding.promise.text}.",
        f"  {what[:1].upper()}{what[1:]} leaves {finding.support:,} transactions"
        + (f", {float(finding.confidence):.1%} of which" if finding.confidence else "")
        + (" share a private item." if finding.confidence else "."),
    ]
    if names and finding.breaking:
        lines.append("  Items: " + ", ".join(str(found.names[i]) for i in finding.breaking))
    elif finding.breaking:
        lines.append("  Items are hidden because they may be personal; --show-values shows them.")
    return "\n".join(lines)


def _risk(found: Risk) -> str:
    return (
        f"{found.transactions:,} transactions, {found.items:,} items: {found.public:,} public, "
        f"{found.private:,} private.\n\n" + _levels(found.levels, found.policy, found.transactions)
    )


def _levels(levels: Sequence[Exposed], policy: Any, transactions: int) -> str:
    from reticent.front.render import table

    def share(count: int | None) -> str:
        return "not counted" if count is None else f"{count:,} ({count / max(transactions, 1):.1%})"

    sure = policy.promise.h < 1
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
            f"{found.transactions:,} transactions.",
            "",
            table(["", "before", "after", "lost"], kept),
            "",
            "People at risk, before:",
            _levels(found.before, found.policy, found.transactions),
            "",
            "and after:",
            _levels(found.after, found.policy, found.transactions),
            "",
            table(["way", "occurrences lost", "itemsets lost"], [ours, *others]),
        ]
    )
