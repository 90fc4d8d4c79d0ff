"""The commands for tables that join: ``reticent tree …``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from reticent import jointree
from reticent.errors import InputError
from reticent.terminal.command import Output, Say, command, watching

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
}
SchemaPath = Annotated[
    Path, typer.Argument(metavar="SCHEMA.toml", help="Tables, their joins and the class.")
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="What tree train wrote.")]


@command(app, "train")
def train(
    say: Say,
    reading: Any,
    means: dict[str, Any],
    schema: SchemaPath,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="MODEL", help="The folder to write.")
    ],
    test: Annotated[
        float | None,
        typer.Option(metavar="FRACTION", help="Also test, on this share of records set aside."),
    ] = None,
    test_by: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Set aside whole groups of records equal in it."),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed sets the same records aside.")] = 0,
) -> None:
    """Grow one decision tree over tables that join, from counts; it is no anonymised release."""
    from reticent.jointree import text

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
    schema: SchemaPath,
    output: Output,
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
) -> None:
    """Give every record of the class's table its class, by all rows that it joins with."""
    from reticent.jointree import text

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
