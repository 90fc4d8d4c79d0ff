"""The commands for tables that join: ``reticent tree …``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from reticent import jointree
from reticent.errors import InputError
from reticent.terminal.command import Output, Say, command, refuse_without, watching

app = typer.Typer(
    help="Tables that join: one decision tree over all of them, and the join is never built.",
    no_args_is_help=True,
)
STAGES = {
    "read": "reading the tables",
    "count": "counting joined rows",
    "grow": "growing the tree",
    "test": "testing on records set aside",
    "classify": "sending records down the tree",
    "meet": "waiting for the other sites",
    "intersect": "finding the join values that both sides have",
    "agree": "agreeing to let it appear",
    "part": "waiting for the others to end",
}
SchemaPath = Annotated[
    Path | None,
    typer.Argument(metavar="[SCHEMA.toml]", help="Tables, their joins and the class."),
]
Party = Annotated[
    Path | None,
    typer.Option(
        metavar="PARTY.toml", help="Instead: this site's settings, where tables stay at sites."
    ),
]
Resume = Annotated[
    bool, typer.Option("--resume", help="With --party: go on with a run that was interrupted.")
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="What tree train wrote.")]


@command(app, "train")
def train(
    say: Say,
    reading: Any,
    means: dict[str, Any],
    schema: SchemaPath = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="MODEL", help="The folder to write.")
    ] = None,
    test: Annotated[
        float | None,
        typer.Option(metavar="FRACTION", help="Also test, on this share of records set aside."),
    ] = None,
    test_by: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Set aside whole groups of records equal in it."),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed sets the same records aside.")] = 0,
    party: Party = None,
    resume: Resume = False,
) -> None:
    """Grow one decision tree over tables that join, from counts; it is no anonymised release."""
    from reticent.jointree import text

    asked = {"--test": test is not None, "--test-by": test_by is not None, "--seed": seed}
    if party is not None:
        _refuse_idle("several sites", {"SCHEMA.toml": schema, **asked, **_engine(means)})
        _train_at_site(say, party, output, resume=resume)
        return
    _refuse_idle("one site", {"--resume": resume})
    if schema is None or output is None:
        raise InputError(
            "a schema and -o MODEL are needed", where="tree train",
            do="write  reticent tree train SCHEMA.toml -o MODEL,  or give  --party PARTY.toml.",
        )  # fmt: skip

    if means.pop("table") is not None:
        raise InputError(
            "which table of a database it is stands in the schema", where="--table",
            do='write  table = "…"  beside its path.',
        )  # fmt: skip
    with watching(say, STAGES, stoppable=False) as watch:
        found = jointree.train(
            schema, test=test, test_by=test_by, seed=seed, watch=watch, output=output,
            force=say.force, reading=reading, engine=means,
        )  # fmt: skip
    say.note(*found.notes)
    say.result(text.trained(found, show_values=say.show_values), found.summary())


@command(app, "classify")
def classify(
    say: Say,
    reading: Any,
    means: dict[str, Any],
    model: Model,
    output: Output,
    schema: SchemaPath = None,
    rows: Annotated[
        str | None,
        typer.Option(metavar="DATA", help="New records of the class's table, instead of its own."),
    ] = None,
    joined: Annotated[
        bool, typer.Option("--joined", help="A line for every joined row; at most a million.")
    ] = False,
    majority: Annotated[
        bool,
        typer.Option("--majority", help="Records that join with nothing get the largest class."),
    ] = False,
    party: Party = None,
    records: Annotated[
        str | None,
        typer.Option(metavar="IDS", help="With --party: records by the ids of all tables."),
    ] = None,
    most_records: Annotated[
        int, typer.Option(min=1, help="With --party: refuse to classify more.")
    ] = 10_000,
    resume: Resume = False,
) -> None:
    """Give every record of the class's table its class, by all rows that it joins with."""
    from reticent.jointree import text

    if party is not None:
        asked = {"SCHEMA.toml": schema, "--rows": rows, "--joined": joined, "--majority": majority}
        _refuse_idle("several sites", {**asked, **_engine(means)})
        _classify_at_site(say, party, model, records, output, most_records, resume=resume)
        return
    _refuse_idle("one site", {"--resume": resume, "--records": records})
    if schema is None:
        raise InputError(
            "a schema is needed", where="tree classify",
            do="write  reticent tree classify MODEL SCHEMA.toml -o classes.csv.",
        )  # fmt: skip

    if rows is None and means.pop("table") is not None:
        raise InputError(
            "it says which table of a database --rows is, and there is none", where="--table",
            do='leave it out; for tables of the schema write  table = "…"  beside their path.',
        )  # fmt: skip
    with watching(say, STAGES, stoppable=False) as watch:
        found = jointree.classify(
            model, schema, rows=rows, joined=joined, majority=majority, output=output,
            force=say.force, reading=reading, engine=means, watch=watch,
        )  # fmt: skip
    say.note(*found.notes)
    say.result(text.classified(found), found.summary())


def _engine(means: dict[str, Any]) -> dict[str, Any]:
    """Options about engines, as they are given."""
    return {f"--{name.replace('_', '-')}": given for name, given in means.items()}


def _refuse_idle(whom: str, asked: dict[str, Any]) -> None:
    """Refuse options that say nothing of a run of one site, or of several."""
    if idle := [name for name, given in asked.items() if given]:
        raise InputError(
            f"this says nothing where {whom} {'is' if whom == 'one site' else 'are'} asked: "
            f"{', '.join(idle)}",
            where="--party" if whom == "several sites" else "tree", do="leave it out.",
        )  # fmt: skip


def _train_at_site(say: Any, party: Path, output: str | None, *, resume: bool) -> None:
    refuse_without("parties")
    from reticent.jointree.sites import text
    from reticent.jointree.sites.process import SiteOptions
    from reticent.jointree.sites.process import train as run

    options = SiteOptions(output, resume, force=say.force)
    with watching(say, STAGES, stoppable=False) as watch:
        found = run(party, options, watch, partial(_warn, say))
    say.note(*found.notes, *text.after(found, "the model"))
    say.result(text.trained(found, show_values=say.show_values), found.summary())


def _classify_at_site(
    say: Any, party: Path, model: Path, records: str | None, output: str, most: int, *, resume: bool
) -> None:
    refuse_without("parties")
    from reticent.jointree.sites import text
    from reticent.jointree.sites.process import SiteOptions
    from reticent.jointree.sites.process import classify as run

    if records is None:
        raise InputError(
            "nobody says which records", where="--party",
            do="give  --records IDS,  a file with the ids of all tables, the same at every site.",
        )  # fmt: skip
    options = SiteOptions(output, resume, force=say.force)
    with watching(say, STAGES, stoppable=False) as watch:
        found = run(
            party, model, records, options, most=most, watch=watch, warn=partial(_noted, say)
        )
    say.note(*found.notes, *text.after(found, "the file"))
    say.result(text.classified(found), found.summary())


def _noted(say: Any, layout: Any, site: str, notes: Sequence[str]) -> None:
    say.note(*notes)


def _warn(say: Any, layout: Any, site: str, notes: Sequence[str]) -> None:
    """Say what was assumed in reading, and what the others will learn."""
    from reticent.jointree.sites import text

    say.note(*notes)
    if say.progress != "json":  # lines of progress for programs are objects
        say.note(*text.before(layout, site))


@command(app, "show")
def show(
    say: Say,
    model: Model,
    dot: Annotated[bool, typer.Option("--dot", help="Print it for Graphviz.")] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="PAGE", help="Write a page with the tree drawn.")
    ] = None,
) -> None:
    """Show a tree: its questions, its classes, and how many joined rows each node has."""
    from reticent.jointree import report, text
    from reticent.jointree.model import read_model

    if dot and (html is not None or say.json):
        raise InputError(
            "--dot is one of three ways to show a tree", where="tree show",
            do="give --dot, --html or --json.",
        )  # fmt: skip
    tree = read_model(model)
    if html is not None:
        from reticent.jointree.pages import write_page

        write_page(tree, html, model, force=say.force)
        say.result(f"Wrote {html}. It shows values and counts of the tables.",
                   {**report.shape(tree), "output": str(html)})  # fmt: skip
    elif dot:
        say.text(text.dot(tree))
    elif say.json:
        say.text(text.json_line(tree))
    elif not say.quiet:
        say.result(text.shown(tree), None)


@command(app, "schema")
def schema(say: Say) -> None:
    """Print the JSON schema of these schema files, for editors."""
    say.text(json.dumps(jointree.Schema.json_schema(), indent=1) + "\n")
