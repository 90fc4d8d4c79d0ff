"""The command line: the commands of every kind of release, and those that serve them all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from reticent.errors import InputError
from reticent.front.party import register
from reticent.releases.kinds import JOINT, KINDS, OTHERS, ReleaseKind
from reticent.sources.addresses import shown_name
from reticent.terminal.command import (
    Commands,
    Earlier,
    Output,
    OwnPolicy,
    Released,
    Say,
    Version,
    command,
    named_paths,
    watching,
)

_FIRST = ("init", "policy", "taxonomy", "risk", "release", "verify", "apply", "evaluate", "sweep")


class InOrder(Commands):
    """All commands, in the order in which somebody needs them."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Those for one table first; then the groups of other kinds."""
        names = super().list_commands(ctx)
        return [*_FIRST, *(name for name in names if name not in _FIRST)]


app = typer.Typer(
    cls=InOrder,
    help="Share data about people without sharing what must stay private.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
policy_app = typer.Typer(help="Check a policy, or print its JSON schema.", no_args_is_help=True)
app.add_typer(policy_app, name="policy")


def _add(kind: ReleaseKind) -> None:
    """The commands of a kind, and the one that prints the schema of its policies."""
    group = kind.commands().app

    @command(group if kind.group else policy_app, "schema")
    def schema(say: Say) -> None:
        """Print the JSON schema of these policies, for editors."""
        say.text(json.dumps(kind.door().Policy.json_schema(), indent=1) + "\n")

    app.add_typer(group, name=kind.group or None)


register(JOINT.commands().app)
for kind in KINDS:
    _add(kind)
command(app, "integrate")(JOINT.commands().integrate)
for system in OTHERS:
    for group, its_app in system.groups.items():
        app.add_typer(getattr(system.commands(), its_app), name=group)


@app.callback()
def _root(version: Version = False) -> None:
    """Share data about people without sharing what must stay private."""


@command(app, "verify")
def verify(
    say: Say,
    reading: Any,
    means: dict[str, Any],
    data: Released,
    policy: OwnPolicy = None,
    previous: Earlier = None,
    skip_uncheckable: Annotated[
        bool, typer.Option("--skip-uncheckable", help="Accept what this file alone cannot show.")
    ] = False,
    original: Annotated[
        str | None,
        typer.Option(metavar="DATA", help="The table as it was, for what a release cannot show."),
    ] = None,
) -> None:
    """Recount every promise on a release of any kind, without the original.

    Of a release of entries, and where a promise on a table counts a column that is dropped, only
    the owner can recount it, with --original.
    """
    from reticent.releases.folder import own_policy, told_kind
    from reticent.releases.policyfile import kind_in

    policy = policy or own_policy(data)
    kind = told_kind(data) or kind_in(policy)
    asked = {"previous": previous, "skip_uncheckable": skip_uncheckable, "original": original}
    options = _options(kind, asked | means, where=shown_name(data))
    kind.commands().verify(say, reading, data, policy, **options)


def _options(kind: ReleaseKind, asked: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The options that say something of a kind of release; nobody gives others for nothing."""
    idle = [name for name, given in asked.items() if given and name not in kind.options]
    if idle:
        named = ", ".join(f"--{name.replace('_', '-')}" for name in idle)
        raise InputError(
            f"it is about {kind.name}, of which these options say nothing", where=where,
            do=f"leave out {named}.",
        )  # fmt: skip
    return {name: given for name, given in asked.items() if name in kind.options}


@command(policy_app, "check")
def policy_check(
    say: Say,
    reading: Any,
    means: dict[str, Any],
    policy: Annotated[Path, typer.Argument(metavar="POLICY", help="A policy file.")],
    data: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="The table it is for.")
    ] = None,
    previous: Earlier = None,
) -> None:
    """Report every problem of a policy, and of its fit to data: a table, baskets or entries."""
    from reticent.releases.policyfile import kind_in

    kind = kind_in(policy)
    earlier = named_paths(previous) if previous else None
    options = _options(kind, {"previous": earlier, **means}, where=str(policy))
    with watching(say, kind.commands().STAGES, stoppable=False) as watch:
        warnings = kind.door().check(policy, data, reading=reading, watch=watch, **options)
    say.note(*(f"Warning: {w}" for w in warnings))
    promising = kind.door().Policy.load(policy)
    said = "\n".join(f"  {text}" for text in promising.promised_in_brief)
    if field := promising.in_the_field:
        said += "\nIn the field's words:\n" + "\n".join(f"  {text}" for text in field)
    fits = f" and fits {shown_name(data)}" if data else ""
    say.result(
        f"{policy} is a valid policy{fits}. It promises:\n{said}",
        {"promises": promising.promised, "warnings": list(warnings)},
    )


@command(app, "sample")
def sample(
    say: Say,
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help="census, bank, clinic, baskets or mail.")
    ],
    output: Output,
    rows: Annotated[int | None, typer.Option(help="How many; else 1000 rows, or 60 mails.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed makes the same rows.")] = 1,
) -> None:
    """Make invented data to try things on; into a folder, with a policy for them."""
    from reticent.sample import make_sample

    written = make_sample(kind, rows, seed, output=output, force=say.force)
    say.result("\n".join(f"Wrote {path}" for path in written), {"written": written})
