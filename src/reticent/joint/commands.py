"""The commands of several owners: ``reticent party …`` and ``reticent integrate``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.terminal.command import (
    OwnPolicy,
    Released,
    Say,
    command,
    refuse_without,
    watching,
)

if TYPE_CHECKING:
    from reticent.joint.policy import JointPolicy

app = typer.Typer(help="Several owners: who we are, and who can be reached.", no_args_is_help=True)
STAGES = {
    "meet": "waiting for the others",
    "intersect": "finding the records that all have",
    "encode": "fitting the policy to our columns",
    "share": "telling and hearing columns",
    "refine": "revealing in turns",
    "agree": "agreeing to let it appear",
    "part": "seeing the others off",
}
PartyFile = Annotated[Path, typer.Argument(metavar="PARTY.toml", help="An owner's own settings.")]


@command(app, "verify")
def verify(say: Say, reading: Any, data: Released, policy: OwnPolicy = None) -> None:
    """Recount every promise on a joint release."""
    from reticent.joint.flow import verify as recount
    from reticent.releases.folder import own_policy
    from reticent.tables import text
    from reticent.tables.report import proof_facts, verify_summary

    with watching(say, STAGES, stoppable=False) as watch:
        proof = recount(data, policy or own_policy(data), reading=reading, watch=watch)
    say.note(*(f"Warning: {warning}" for warning in proof.warnings))
    told = proof_facts(proof)
    say.verdict(text.verdict(told), verify_summary(told), proof.verdict)


def integrate(
    say: Say,
    party: PartyFile,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="OUT", help="The release folder.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a run that was interrupted.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Find the common records, and tell nothing else.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Release again with the same owners.")
    ] = False,
    max_steps: Annotated[
        int | None, typer.Option(min=0, help="Let all owners stop after so many steps.")
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(min=0, help="Let all owners stop after so many seconds.")
    ] = None,
) -> None:
    """Make one release together with other owners, none of whom shows its rows."""
    refuse_without("parties")
    from reticent.joint import text
    from reticent.joint.process import DryRun, IntegrateOptions
    from reticent.joint.process import integrate as run
    from reticent.joint.report import held_by_facts

    options = IntegrateOptions(
        output, resume, dry_run, again, max_steps, time_limit, force=say.force
    )
    stopping = "all owners write the release so far. Press Ctrl-C again to write nothing."
    with watching(say, STAGES, stopping=stopping) as watch:

        def warn(policy: JointPolicy, notes: Sequence[str]) -> None:
            say.note(*notes)
            if not dry_run:  # which sends nothing of it, and says so at its end
                say.beforehand("told", text.before(policy))

        found = run(party, options, watch, warn)
    if isinstance(found, DryRun):
        facts = {
            "owner": found.owner,
            "common": found.common,
            "ids_brought": dict(found.brought),
            "left_out": found.left_out,
            "ids_held_by": held_by_facts(found.held_by),
            "hands_over": {name: dict(told) for name, told in found.hands_over.items()},
        }
        say.result(text.dry_run(found), facts)
        return
    say.note(*(f"Warning: {warning}" for warning in found.warnings))
    say.note(*text.after(found), *found.troubles)
    say.result(text.release(found), found.summary())
