"""The commands for baskets: ``reticent transactions …``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent import transactions
from reticent.errors import InputError
from reticent.terminal.command import (
    Data,
    Output,
    OwnPolicy,
    PolicyPath,
    Released,
    Say,
    command,
    watching,
)

if TYPE_CHECKING:
    from reticent.transactions.policy import ItemRoles

app = typer.Typer(
    help="Baskets and click streams: nobody is singled out by a few known items.",
    no_args_is_help=True,
)
STAGES = {
    "release": "releasing",
    "search": "looking for what must go",
    "compare": "comparing it with the original",
}


Separator = Annotated[
    str | None,
    typer.Option(metavar="SIGN", help='Lines: what parts items: "," ";" "|" tab; else blanks.'),
]
Known = Annotated[int, typer.Option(min=1, help="Items that somebody may know, at most.")]


@command(app, "init")
def init(
    say: Say,
    reading: Any,
    data: Data,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="POLICY", help="Default: print it.")
    ] = None,
    basket: Annotated[
        str | None, typer.Option(metavar="NAME", help="A table: the column of baskets.")
    ] = None,
    item: Annotated[
        str | None, typer.Option(metavar="NAME", help="A table: the column of items.")
    ] = None,
    separator: Separator = None,
) -> None:
    """Draft a commented policy from baskets, and tell what its promise costs.

    The draft names the items that it calls private, and no others without --show-values.
    """
    from reticent.transactions.drafting import draft_of

    told = _parted(reading, separator)
    with watching(say, STAGES, stoppable=False) as watch:
        found = draft_of(data, output, basket, item, told, say.force, say.show_values, watch)
    if not found.private:
        say.note(
            "Warning: no item is called private, as "
            + ("those whose names speak of it are in too many baskets" if found.common
               else "no name speaks of it")
            + "; so the draft promises crowds, and not that nothing is inferred."
        )  # fmt: skip
    if output is None and not say.json:
        say.text(found.text())
        return
    say.result(
        f"Drafted {output}; look for the lines marked  ?",
        {"output": str(output) if output else None, **found.facts()},
    )


@command(app, "release")
def release(
    say: Say,
    reading: Any,
    data: Data,
    policy: PolicyPath,
    output: Output,
    separator: Separator = None,
) -> None:
    """Suppress items so that baskets keep the promise of a policy."""
    from reticent.transactions import report, text

    with watching(say, STAGES) as watch:
        found = transactions.release(
            data,
            policy,
            output=output,
            reading=_parted(reading, separator),
            force=say.force,
            watch=watch,
        )
    _warn(say, found.roles, *found.original.notes)
    say.note(*(f"Warning: {w}" for w in found.warnings))
    told = report.facts(found)
    say.result(text.release(told), report.release_summary(told))


@command(app, "verify")
def verify(
    say: Say,
    reading: Any,
    data: Released,
    policy: OwnPolicy = None,
    separator: Separator = None,
) -> None:
    """Look for a set of items that breaks the promise, without the original."""
    from reticent.releases.folder import own_policy
    from reticent.transactions import report, text

    policy = policy or own_policy(data)
    with watching(say, STAGES, stoppable=False) as watch:
        found = transactions.verify(data, policy, reading=_parted(reading, separator), watch=watch)
    _warn(say, found.roles, only="private")  # public ones may all be suppressed
    say.note(*(f"Warning: {text}" for text in found.warnings))
    said = report.verify_summary(found, names=say.show_values)
    say.verdict(text.verdict(found, names=say.show_values), said, found.holds)


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
    separator: Separator = None,
) -> None:
    """Show how many people a few known items single out, as the baskets are."""
    from reticent.files.output import check_free, whole_file
    from reticent.transactions import text

    if chart is not None:
        if chart.suffix != ".svg":
            raise InputError("the chart is an .svg file", where=str(chart))
        check_free(chart, force=say.force)
    with watching(say, STAGES, stoppable=False) as watch:
        found = transactions.risk(
            data, policy, most=known, reading=_parted(reading, separator), watch=watch
        )
    if chart is not None:
        with whole_file(chart, force=say.force) as path:
            path.write_text(found.chart(), encoding="utf-8")
    _warn(say, found.roles, *found.notes)
    say.result(text.risk(found), found.summary())


@command(app, "evaluate")
def evaluate(
    say: Say,
    reading: Any,
    original: Annotated[str, typer.Argument(metavar="ORIGINAL", help="The baskets as they were.")],
    released: Released,
    policy: PolicyPath,
    known: Known = 3,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PAGE.html",
            help="Also write a page for people who decide; it is yours alone.",
        ),
    ] = None,
    separator: Separator = None,
) -> None:
    """Measure what a release of baskets costs and what it stops."""
    from reticent.transactions import text

    with watching(say, STAGES, stoppable=False) as watch:
        found = transactions.evaluate(
            original, released, policy, most=known, reading=_parted(reading, separator),
            output=output, force=say.force, watch=watch,
        )  # fmt: skip
    _warn(say, found.roles)
    written = f"\n\nWritten to {output}." if output else ""
    say.result(text.evaluation(found) + written, found.summary())


@command(app, "sweep")
def sweep(
    say: Say,
    reading: Any,
    data: Data,
    policy: PolicyPath,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FOLDER", help="Where to write, or go on.")
    ],
    k: Annotated[
        str | None, typer.Option("--k", metavar="2,5,10,…", help="Smallest crowds to try.")
    ] = None,
    at_most: Annotated[
        str | None,
        typer.Option("--at-most", "--h", metavar="0.2,0.4,…", help="Largest confidences to try."),
    ] = None,
    p: Annotated[
        str | None,
        typer.Option("--p", metavar="1,2,3,…", help="Known items to try; unlimited is one."),
    ] = None,
    separator: Separator = None,
) -> None:
    """Release baskets under a range of thresholds, and measure each; goes on if interrupted.

    A threshold replaces the k, h or p of the policy. Publish one of the releases at most.
    """
    from reticent.transactions import text

    with watching(say, STAGES, stopping="releases that are done are kept.") as watch:
        found = transactions.sweep(
            data, policy, output=output, k=_numbers(k, "--k"), at_most=_listed(at_most),
            p=_numbers(p, "--p"), reading=_parted(reading, separator), force=say.force,
            watch=watch,
        )  # fmt: skip
    _warn(say, found.roles, *found.notes)
    said = {*found.roles.warnings}
    say.note(*(f"Warning: {w}" for w in found.warnings if w not in said))
    say.result(text.sweep(found), found.summary())


def _listed(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


def _numbers(text: str | None, option: str) -> Any:
    parts = _listed(text)
    if parts is None:
        return None
    anything = {"unlimited"} if option == "--p" else set()
    if not all(part in anything or (part.isdecimal() and len(part) < 19) for part in parts):
        raise InputError(f"write whole numbers, as in  {option} 1,2,3", where=option)
    return [part if part in anything else int(part) for part in parts]


def _parted(reading: Any, separator: str | None) -> Any:
    """How to read, and what parts the items of lines."""
    named = {"tab": "\t", "\\t": "\t", "blank": " ", "": " "}.get(separator or "", separator)
    return reading if separator is None else replace(reading, separator=named)


def _warn(say: Say, roles: ItemRoles, *notes: str, only: str = "") -> None:
    """Say what a policy names and no item is called; with items that may be meant, if asked."""
    names = roles.hints if say.show_values else roles.warnings
    say.note(*notes, *(f"Warning: {text}" for text in names if text.startswith(only)))
