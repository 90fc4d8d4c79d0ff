"""Commands about owners who talk: who we are, and whether the others can be reached."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reticent.errors import InputError
from reticent.terminal.command import Output, Say, command, watching

app = typer.Typer(help="Several owners: who we are, and who can be reached.", no_args_is_help=True)
_NEEDED = {"cryptography", "msgspec", "nacl"}
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
    with watching(say, {"meet": "waiting for the others"}, stoppable=False) as watch:
        watch.stage("meet")
        found = call_roll(settings, policy.agreement)
    say.result(found.text(), found.facts(), good=found.good)
    if not found.good:
        raise typer.Exit(4)
