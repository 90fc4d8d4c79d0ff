"""The commands of several owners: ``reticent party …`` and ``reticent integrate``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.errors import InputError
from reticent.terminal.command import Output, OwnPolicy, Released, Say, command, watching

if TYPE_CHECKING:
    from reticent.joint.policy import JointPolicy

app = typer.Typer(help="Several owners: who we are, and who can be reached.", no_args_is_help=True)
_NEEDED = {"cryptography", "msgspec", "nacl"}
STAGES = {
    "meet": "waiting for the others",
    "intersect": "finding the records that all have",
    "encode": "fitting the policy to our columns",
    "share": "telling and hearing columns",
    "refine": "revealing in turns",
    "agree": "agreeing to let it appear",
}
PartyFile = Annotated[Path, typer.Argument(metavar="PARTY.toml", help="An owner's own settings.")]


def _refuse_without_extra() -> None:
    """Say how to install what owners need to talk, where it is not there."""
    from importlib.util import find_spec

    if lacking := sorted(name for name in _NEEDED if find_spec(name) is None):
        raise InputError(
            f"owners who talk need libraries that are not installed: {', '.join(lacking)}",
            do='install them with  pip install "reticent[parties]".',
        )


@command(app, "init")
def init(
    say: Say,
    name: Annotated[str, typer.Argument(metavar="NAME", help="This owner's name in the policy.")],
    output: Output,
    days: Annotated[int, typer.Option(help="How long the certificate is valid.")] = 730,
) -> None:
    """Make a key, which stays here, and a certificate to hand to the peers."""
    _refuse_without_extra()
    from reticent.parties import identity

    made = identity.make(name, Path(output), days)
    certificate = made.folder / identity.CERTIFICATE
    printed = made.certificate.fingerprint
    say.result(
        f"Made {made.folder / identity.KEY}, which nobody else may see, and {certificate}.\n"
        f"Hand {certificate} to every peer, and let them compare its fingerprint with you, by "
        f"phone for example:\n  {printed}",
        {
            "name": name,
            "key": str(made.folder / identity.KEY),
            "certificate": str(certificate),
            "fingerprint": printed,
            "valid_until": made.certificate.until.isoformat(),
        },
    )


@command(app, "check")
def check(say: Say, party: PartyFile) -> None:
    """See who can be reached, both ways, and that all want the same; the peers check, too."""
    _refuse_without_extra()
    from reticent.joint.policy import JointPolicy
    from reticent.parties.check import call_roll
    from reticent.parties.settings import PartySettings

    settings = PartySettings.load(party)
    policy = JointPolicy.load(settings.path(settings.policy))
    with watching(say, STAGES, stoppable=False) as watch:
        watch.stage("meet")
        found = call_roll(settings, policy.agreement)
    say.result(found.text(), found.facts(), good=found.good)
    if not found.good:
        raise typer.Exit(4)


@command(app, "audit")
def audit(
    say: Say,
    folder: Annotated[
        Path, typer.Argument(metavar="RELEASE_FOLDER", help="A joint release, of its owner.")
    ],
) -> None:
    """Hold all that was said in a run against what was released: nothing else may have been."""
    _refuse_without_extra()
    from reticent.joint.audit import audit as hold

    found = hold(folder)
    fault = found.fault and {"entry": found.fault.entry, "what": found.fault.what}
    facts = {
        "owner": found.owner,
        "entries": found.entries,
        "messages": found.messages,
        "holds": found.fault is None,
        "fault": fault,
    }
    say.verdict(found.text, facts, found.fault is None)


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
    _refuse_without_extra()
    from reticent.joint import text
    from reticent.joint.process import DryRun, IntegrateOptions
    from reticent.joint.process import integrate as run

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
            "hands_over": {name: dict(told) for name, told in found.hands_over.items()},
        }
        say.result(text.dry_run(found), facts)
        return
    say.note(*(f"Warning: {warning}" for warning in found.warnings))
    if found.unconfirmed:
        say.note(
            f"{', '.join(found.unconfirmed)} did not say that the release has appeared there; "
            "--resume there finishes it."
        )
    say.result(text.release(found), found.summary())
