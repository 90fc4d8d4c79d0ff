"""The command line: each command parses, calls one function and prints one report."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from reticent.errors import InputError
from reticent.front import baskets, entries
from reticent.front.command import (
    Data,
    NotNeeded,
    Output,
    PolicyPath,
    Say,
    Version,
    command,
    watching,
)

app = typer.Typer(
    help="Share data about people without sharing what must stay private.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
policy_app = typer.Typer(help="Check a policy, or print its JSON schema.", no_args_is_help=True)
taxonomy_app = typer.Typer(help="Check, show or make a taxonomy.", no_args_is_help=True)
app.add_typer(policy_app, name="policy")
app.add_typer(taxonomy_app, name="taxonomy")
app.add_typer(baskets.app, name="transactions")
app.add_typer(entries.app, name="entries")


def _let_in(data: str, means: dict[str, Any]) -> None:
    """Spark, and what Ibis reads databases with, do need pandas."""
    if means["engine"] == "spark" or "://" in data:
        NotNeeded.let_in()


@app.callback()
def _root(version: Version = False) -> None:
    """Share data about people without sharing what must stay private."""


Earlier = Annotated[
    list[str] | None,
    typer.Option("--previous", metavar="NAME=PATH", help="Where an earlier release stands."),
]


def _previous(given: Sequence[str] | None) -> dict[str, str]:
    """Earlier releases by name."""
    named = dict(one.partition("=")[::2] for one in given or ())
    if "" in {*named, *named.values()} or any("=" not in one for one in given or ()):
        raise InputError("an earlier release is NAME=PATH", where="--previous")
    if len(named) < len(given or ()):
        raise InputError("one release has two paths", where="--previous")
    return named


@command(app, "release")
def release(
    say: Say,
    reading: Any,
    means: dict[str, Any],
    data: Data,
    policy: PolicyPath,
    output: Output,
    trace: Annotated[
        Path | None, typer.Option(help="Write every step to this .jsonl file.")
    ] = None,
    max_steps: Annotated[
        int | None, typer.Option(min=0, help="Stop after so many steps of one search.")
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(min=0, help="Stop searching so many seconds after the start.")
    ] = None,
    search_time: Annotated[
        float | None, typer.Option(min=0, help="Look for better cuts for so many seconds.")
    ] = None,
    search_rounds: Annotated[
        int | None, typer.Option(min=1, help="Look for better cuts so many times.")
    ] = None,
    alternative: Annotated[
        int, typer.Option(min=0, help="Take another of the cuts found: 1, 2 or 3 of the report.")
    ] = 0,
    previous: Earlier = None,
    rows_per_file: Annotated[
        int | None, typer.Option(min=1, help="Write a folder of files of about so many rows.")
    ] = None,
) -> None:
    """Mask a table so that it keeps every promise of a policy."""
    from reticent import pipeline

    _let_in(data, means)
    with watching(say) as watch:
        found = pipeline.release(
            data, policy, output=output, reading=reading, force=say.force, trace=trace,
            max_steps=max_steps, time_limit=time_limit, search_time=search_time,
            search_rounds=search_rounds, alternative=alternative, previous=_previous(previous),
            rows_per_file=rows_per_file, watch=watch, **means,
        )  # fmt: skip
    from reticent.front import render  # only now: a release starts to read sooner without it

    warnings = (*found.prepared.warnings, *found.prepared.asides)
    say.note(*found.prepared.table.notes, *(f"Warning: {w}" for w in warnings))
    say.result(render.release(found), found.summary())


@command(app, "verify")
def verify(
    say: Say,
    reading: Any,
    means: dict[str, Any],
    data: Annotated[str, typer.Argument(metavar="RELEASE", help="A released file or folder.")],
    policy: PolicyPath,
    previous: Earlier = None,
    skip_uncheckable: Annotated[
        bool, typer.Option("--skip-uncheckable", help="Accept what this file alone cannot show.")
    ] = False,
) -> None:
    """Recount every promise on a released table, without the original."""
    from reticent import pipeline, report
    from reticent.front import render

    _let_in(data, means)
    with watching(say, stoppable=False) as watch:
        found = pipeline.verify(
            data, policy, previous=_previous(previous), reading=reading, watch=watch, **means
        )
    say.note(*(f"Warning: {w}" for w in found.warnings))
    code = 1 if not found.holds else 2 if found.unchecked and not skip_uncheckable else 0
    say.result(render.proof(found), report.verify_summary(found), good=not code)
    if code:
        raise typer.Exit(code)


@command(app, "risk")
def risk(
    say: Say,
    reading: Any,
    means: dict[str, Any],
    data: Data,
    policy: PolicyPath,
    previous: Earlier = None,
) -> None:
    """Show what an attacker could do with a table as it is."""
    from reticent import pipeline
    from reticent.front import render

    _let_in(data, means)
    with watching(say, stoppable=False) as watch:
        found = pipeline.risk(
            data, policy, previous=_previous(previous), reading=reading, watch=watch, **means
        )
    say.note(*found.prepared.table.notes, *(f"Warning: {w}" for w in found.prepared.warnings))
    say.result(render.risk(found), found.summary())


@command(app, "apply")
def apply(
    say: Say,
    reading: Any,
    folder: Annotated[Path, typer.Argument(metavar="RELEASE_FOLDER", help="Made by release.")],
    data: Annotated[str, typer.Argument(metavar="NEW_DATA", help="More rows of the same kind.")],
    output: Output,
) -> None:
    """Mask new rows with the cuts of a release; its promise does not cover them."""
    from reticent import pipeline

    done = pipeline.apply(folder, data, output=output, reading=reading, force=say.force)
    strange = "".join(
        f"\n{rows:,} rows of column {name} held a value not foreseen, which was suppressed."
        for name, rows in done["unforeseen"].items()
    )
    say.result(
        f"{done['rows']:,} rows masked and written to {output}.{strange}\n"
        "The promise covers the released table alone, not these rows: verify them if it must.",
        done,
    )


@command(app, "evaluate")
def evaluate(
    say: Say,
    reading: Any,
    original: Annotated[str, typer.Argument(metavar="ORIGINAL", help="The table as it was.")],
    released: Annotated[str, typer.Argument(metavar="RELEASE", help="A released file or folder.")],
    policy: PolicyPath,
    folds: Annotated[
        int | None, typer.Option(min=2, help="Test on each of so many parts in turn.")
    ] = None,
    test: Annotated[
        str | None, typer.Option(metavar="FILE", help="Test on the rows of another table.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Which third, or which folds.")] = 1,
    classifiers: Annotated[
        str | None,
        typer.Option(
            metavar="tree,…", help="Of tree, bayes, boosting, regression; all that are installed."
        ),
    ] = None,
    population: Annotated[
        str | None, typer.Option(metavar="FILE", help="A register for the journalist's view.")
    ] = None,
    previous: Earlier = None,
) -> None:
    """Measure what a release costs and what it stops."""
    NotNeeded.let_in()
    from reticent import evaluating
    from reticent.front import render

    with watching(say, stoppable=False) as watch:
        found = evaluating.evaluate(
            original, released, policy, test=test, folds=folds, seed=seed,
            classifiers=_listed(classifiers),
            population=population, previous=_previous(previous), reading=reading, watch=watch,
        )  # fmt: skip
    say.note(*found.notes, *(f"Warning: {warning}" for warning in found.warnings))
    say.result(render.evaluation(found), found.summary())


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
        str | None,
        typer.Option("--k", metavar="2,5,10,…", help="Smallest groups to try."),
    ] = None,
    at_most: Annotated[
        str | None,
        typer.Option(metavar="0.2,0.4,…", help="Largest confidences to try."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Which third of the records tests.")] = 1,
    classifiers: Annotated[
        str | None,
        typer.Option(metavar="tree,…", help="Of tree, bayes, boosting, regression; tree alone."),
    ] = None,
    previous: Earlier = None,
) -> None:
    """Release a table under a range of thresholds, and measure each; goes on if interrupted.

    A threshold replaces that of every promise of its kind. Publish one of the releases at most.
    """
    NotNeeded.let_in()
    from reticent import sweeping
    from reticent.front import render

    with watching(say, stopping="releases that are done are kept.") as watch:
        found = sweeping.sweep(
            data, policy, output=output, k=_whole_numbers(k), at_most=_listed(at_most), seed=seed,
            classifiers=_listed(classifiers), previous=_previous(previous), reading=reading,
            force=say.force, watch=watch,
        )  # fmt: skip
    say.note(*found.notes, *(f"Warning: {warning}" for warning in found.warnings))
    say.result(render.sweep(found), found.summary())


def _listed(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


def _whole_numbers(text: str | None) -> list[int] | None:
    parts = _listed(text)
    if parts is None:
        return None
    if not all(part.isdecimal() and len(part) < 19 for part in parts):
        raise InputError("write whole numbers, as in  --k 2,5,10", where="--k")
    return [int(part) for part in parts]


@command(app, "init")
def init(
    say: Say,
    reading: Any,
    means: dict[str, Any],
    data: Data,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="POLICY", help="Default: print it.")
    ] = None,
) -> None:
    """Draft a commented policy from a table."""
    from reticent import workshop

    _let_in(data, means)
    text = workshop.draft(
        data, output=output, reading=reading, force=say.force, show_values=say.show_values,
        **means,
    )  # fmt: skip
    if output is None and not say.json:
        print(text, end="")
    else:
        where = str(output) if output else None
        say.result(
            f"Drafted {output}; look for the lines marked  ?", {"output": where, "policy": text}
        )


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
    from reticent import forms

    _let_in(data or "", means)
    with watching(say, stoppable=False) as watch:
        if forms.kind_in(policy) == "tables":
            from reticent import pipeline

            checked = pipeline.check(
                policy, data, previous=_previous(previous), reading=reading, watch=watch, **means
            )
            warnings, promises = checked.warnings, [p.text for p in checked.policy.promises]
        else:
            if previous or any(means.values()):
                raise InputError(
                    "it is about no table that is masked as a whole", where=str(policy),
                    do="leave out --previous, --engine, --memory-limit and --table.",
                )  # fmt: skip
            warnings, promises = _checked_otherwise(policy, data, reading, watch)
    say.note(*(f"Warning: {w}" for w in warnings))
    said = "\n".join(f"  {text}" for text in promises)
    fits = f" and fits {data}" if data else ""
    say.result(
        f"{policy} is a valid policy{fits}. It promises:\n{said}",
        {"promises": promises, "warnings": list(warnings)},
    )


def _checked_otherwise(
    path: Path, data: str | None, reading: Any, watch: Any
) -> tuple[tuple[str, ...], list[str]]:
    """The same for policies about baskets or entries."""
    from reticent import entries, forms, transactions

    room: Any = transactions if forms.kind_in(path) == "baskets" else entries
    policy = room.Policy.load(path)
    return room.check(policy, data, reading=reading, watch=watch), [policy.promise.text]


@command(policy_app, "schema")
def policy_schema(say: Say) -> None:
    """Print the JSON schema of policies, for editors."""
    from reticent.policy import schema

    print(json.dumps(schema(), indent=1))


@command(taxonomy_app, "check")
def taxonomy_check(
    say: Say,
    reading: Any,
    means: dict[str, Any],
    taxonomy: Annotated[Path, typer.Argument(metavar="TAX", help="A taxonomy file.")],
    data: Annotated[str | None, typer.Argument(metavar="[DATA]", help="A table.")] = None,
    column: Annotated[str | None, typer.Option(help="The column of the table it is for.")] = None,
) -> None:
    """Report every problem of a taxonomy, and which values of a column it does not cover."""
    from reticent import workshop

    _let_in(data or "", means)
    found = workshop.check_taxonomy(taxonomy, data, column, reading=reading, **means)
    covers = f" It covers every value of column {column}." if column else ""
    say.result(
        f"{taxonomy} is a valid taxonomy: {len(found.leaves)} leaves, "
        f"{len(found.labels)} labels, root {found.labels[0]}.{covers}",
        {"leaves": len(found.leaves), "labels": len(found.labels), "root": found.labels[0]},
    )


@command(taxonomy_app, "show")
def taxonomy_show(
    say: Say, taxonomy: Annotated[Path, typer.Argument(metavar="TAX", help="A taxonomy file.")]
) -> None:
    """Draw a taxonomy as a tree."""
    from reticent.table.taxonomy import load, render

    tree = load(taxonomy)
    say.result(render(tree), tree.nested())


@command(taxonomy_app, "make")
def taxonomy_make(
    say: Say,
    reading: Any,
    means: dict[str, Any],
    data: Data,
    column: Annotated[str, typer.Option(help="The column to make it for.")],
    output: Output,
    prefix: Annotated[
        str | None, typer.Option(metavar="1,2,3", help="By leading characters, as for ZIP codes.")
    ] = None,
    date: Annotated[bool, typer.Option("--date", help="Day, month, year.")] = False,
    bins: Annotated[
        str | None, typer.Option(metavar="0,18,30,…", help="By fixed intervals.")
    ] = None,
    equal: Annotated[int | None, typer.Option(min=1, help="By so many intervals.")] = None,
) -> None:
    """Make a taxonomy from the values of a column."""
    from reticent import workshop

    _let_in(data, means)
    found = workshop.make_taxonomy(
        data, column, output=output, prefix=prefix, date=date, bins=bins, equal=equal,
        reading=reading, force=say.force, **means,
    )  # fmt: skip
    say.result(
        f"{output}: {len(found.leaves)} leaves below {found.labels[0]}.",
        {"output": output, "leaves": len(found.leaves), "labels": len(found.labels)},
    )


@command(app, "sample")
def sample(
    say: Say,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="census, bank, clinic or baskets.")],
    output: Output,
    rows: Annotated[int, typer.Option(help="How many.")] = 1000,
    seed: Annotated[int, typer.Option(help="The same seed makes the same rows.")] = 1,
) -> None:
    """Make invented data to try things on; into a folder, with a policy for them."""
    from reticent import workshop

    written = workshop.make_sample(kind, rows, seed, output=output, force=say.force)
    say.result("\n".join(f"Wrote {path}" for path in written), {"written": written})


def main() -> None:
    """Run the command line, and leave as soon as everything is said.

    Taking the interpreter down tidily costs 0.2 to 0.3 s after a large table, for nothing: files
    are synced and renamed by now, and no thread has anything left to do.
    """
    gc.disable()  # a command is short, and imports alone would be swept a dozen times
    sys.meta_path.insert(0, NotNeeded)
    try:
        app()
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    else:
        code = 0
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, full or none
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
