"""The commands for single entries: ``reticent entries …``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from reticent import entries
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

app = typer.Typer(
    help="Single entries: the rest of a table does not give back what somebody asked to hide.",
    no_args_is_help=True,
)
STAGES = {"hide": "looking for what else to hide"}


@command(app, "release")
def release(say: Say, reading: Any, data: Data, policy: PolicyPath, output: Output) -> None:
    """Hide what people asked to hide, and what would give it back."""
    from reticent.entries import report, text

    with watching(say, STAGES) as watch:
        found = entries.release(
            data, policy, output=output, reading=reading, force=say.force, watch=watch
        )
    say.note(*found.original.table.notes, *(f"Warning: {text}" for text in found.warnings))
    told = report.facts(found)
    say.result(text.release(told), report.release_summary(told))


@command(app, "verify")
def verify(
    say: Say,
    reading: Any,
    data: Released,
    policy: OwnPolicy = None,
    original: Annotated[
        str | None,
        typer.Option(metavar="DATA", help="The table as it was; it alone knows what is hidden."),
    ] = None,
) -> None:
    """Look for a rule that tells a hidden entry, and for cells that were changed."""
    from reticent.entries import text
    from reticent.releases.folder import own_policy

    policy = policy or own_policy(data)
    with watching(say, STAGES, stoppable=False) as watch:
        found = entries.verify(data, policy, original=original, reading=reading, watch=watch)
    say.note(*found.notes, *(f"Warning: {text}" for text in found.warnings))
    say.verdict(text.verdict(found), found.summary(), found.holds)


@command(app, "risk")
def risk(say: Say, reading: Any, data: Data, policy: PolicyPath) -> None:
    """Show whose entry could be told if nothing but the requests were hidden."""
    from reticent.entries import text

    with watching(say, STAGES, stoppable=False) as watch:
        found = entries.risk(data, policy, reading=reading, watch=watch)
    say.note(*found.original.table.notes, *(f"Warning: {w}" for w in found.original.warnings))
    say.result(text.risk(found), found.summary())
