"""The commands of several owners, whatever they do together: ``reticent party …``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reticent.joint.commands import PartyFile
from reticent.terminal.command import Output, Say, command, refuse_without, watching

if TYPE_CHECKING:
    from reticent.parties.settings import Agreement, PartySettings

_STAGES = {"meet": "waiting for the others"}


def register(app: typer.Typer) -> None:
    """Put them before those that the group has of its own."""
    own, app.registered_commands = app.registered_commands, []
    for name, function in (("init", init), ("check", check), ("audit", audit)):
        command(app, name)(function)
    app.registered_commands += own


def _agreement(settings: PartySettings) -> Agreement:
    """What all owners must have agreed on: a policy, or a schema of tables that join."""
    if settings.tables_file is not None:
        from reticent.jointree.schema import JoinSchema
        from reticent.jointree.sites.layout import SiteLayout

        return SiteLayout.of(JoinSchema.load(settings.schema_file)).agreement
    from reticent.joint.policy import JointPolicy

    return JointPolicy.load(settings.policy_file).agreement


def init(
    say: Say,
    name: Annotated[str, typer.Argument(metavar="NAME", help="This owner's name in the policy.")],
    output: Output,
    days: Annotated[int, typer.Option(help="How long the certificate is valid.")] = 730,
) -> None:
    """Make a key, which stays here, and a certificate to hand to the peers."""
    refuse_without("parties")
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


def check(say: Say, party: PartyFile) -> None:
    """See who can be reached, both ways, and that all want the same; the peers check, too."""
    refuse_without("parties")
    from reticent.parties.check import call_roll
    from reticent.parties.settings import PartySettings

    settings = PartySettings.load(party)
    agreement = _agreement(settings)
    with watching(say, _STAGES, stoppable=False) as watch:
        watch.stage("meet")
        found = call_roll(settings, agreement)
    say.result(found.text(), found.facts(), good=found.good)
    if not found.good:
        raise typer.Exit(4)


def audit(
    say: Say,
    folder: Annotated[
        Path,
        typer.Argument(metavar="RELEASE_FOLDER", help="A joint release, or a model of several."),
    ],
) -> None:
    """Hold all that was said in a run against what came of it: nothing else may have been."""
    refuse_without("parties")
    if (folder / "model.json").exists():
        from reticent.jointree.sites.audit import audit as hold
    else:
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
