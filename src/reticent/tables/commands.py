"""The commands for tables: ``reticent release`` and its like."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from reticent.errors import InputError, listed, many
from reticent.terminal.command import (
    Data,
    Earlier,
    Output,
    PolicyPath,
    Released,
    Say,
    command,
    named_paths,
    watching,
)

app = typer.Typer()
taxonomy_app = typer.Typer(help="Check, show or make a taxonomy.", no_args_is_help=True)
app.add_typer(taxonomy_app, name="taxonomy")


STAGES = {
    "collapse": "counting equal rows",
    "encode": "fitting the policy to the table",
    "refine": "looking for what can be revealed",
    "compare cuts": "looking for better cuts",
    "release": "releasing",
    "sets": "counting sets of columns",
    "learn": "masking as learnt on the training records alone",
    "tree": "growing decision trees",
    "bayes": "training naive Bayes",
    "boosting": "training gradient boosting",
    "regression": "training logistic regression",
}


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
    from reticent.tables import flow

    with watching(say, STAGES) as watch:
        found = flow.release(
            data, policy, output=output, reading=reading, force=say.force, trace=trace,
            max_steps=max_steps, time_limit=time_limit, search_time=search_time,
            search_rounds=search_rounds, alternative=alternative, previous=named_paths(previous),
            rows_per_file=rows_per_file, watch=watch, **means,
        )  # fmt: skip
    from reticent.tables import report, text  # only now: reading starts sooner without them

    warnings = (*found.warnings, *found.prepared.asides)
    say.note(*found.prepared.table.notes, *(f"Warning: {w}" for w in warnings))
    say.note(*(found.prepared.spellings if say.show_values else ()))
    told = found.facts()
    say.result(text.release(told), report.release_summary(told))


def verify(
    say: Say,
    reading: Any,
    data: str,
    policy: Path,
    previous: Sequence[str] | None = None,
    skip_uncheckable: bool = False,
    original: str | None = None,
    **means: Any,
) -> None:
    """Recount every promise on a released table: ``reticent verify``, of a table."""
    from reticent.tables import flow, report, text

    with watching(say, STAGES, stoppable=False) as watch:
        found = flow.verify(
            data, policy, previous=named_paths(previous), original=original, reading=reading,
            watch=watch, **means,
        )  # fmt: skip
    say.note(*(f"Warning: {w}" for w in found.warnings))
    told = report.proof_facts(found)
    holds, said = told.public["holds"], report.verify_summary(told)
    skip = skip_uncheckable and not found.mismatch
    say.verdict(text.verdict(told), said, holds, accept_undecided=skip)


@command(app, "risk")
def risk(
    say: Say,
    reading: Any,
    means: dict[str, Any],
    data: Data,
    policy: Annotated[
        Path | None,
        typer.Option("--policy", "-p", metavar="P", help="Default: what singles people out."),
    ] = None,
    previous: Earlier = None,
    column: Annotated[
        list[str] | None,
        typer.Option("--column", metavar="NAME", help="Look for sets of these columns alone."),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="PAGE.html", help="Write a page for the owner."),
    ] = None,
) -> None:
    """Show what an attacker could do with a table as it is.

    Without a policy: which columns, and which small sets of them, single people out. With one: how
    far the table is from each promise.
    """
    from reticent.tables import risk_page

    if policy is None and previous:
        raise InputError("earlier releases are about promises", where="--previous", do="add -p P.")
    if policy is not None and column and page is None:
        raise InputError(
            "columns are chosen for what singles people out, which a policy's promises are not",
            where="--column", do="leave it out, leave out the policy, or ask for a page with  -o.",
        )  # fmt: skip
    if page is not None:
        risk_page.refuse_place(page, data, policy, force=say.force)
    with watching(say, STAGES, stoppable=False) as watch:
        found = risk_page.risks(
            data, policy, columns=column, previous=named_paths(previous),
            singling_too=page is not None, reading=reading, watch=watch, **means,
        )  # fmt: skip
        if page is not None:
            risk_page.write(found, page, data, force=say.force)
    say.note(*found.notes)
    if page is not None:
        say.note(f"Written to {page}, a page for the owner of the data.")
    say.result(found.text, found.summary)


@command(app, "apply")
def apply(
    say: Say,
    reading: Any,
    folder: Annotated[Path, typer.Argument(metavar="RELEASE_FOLDER", help="Made by release.")],
    data: Annotated[str, typer.Argument(metavar="NEW_DATA", help="More rows of the same kind.")],
    output: Output,
) -> None:
    """Mask new rows with the cuts of a release; its promise does not cover them."""
    from reticent.tables import flow

    done = flow.apply(folder, data, output=output, reading=reading, force=say.force)
    strange = "".join(
        f"\n{many(rows, 'row')} of column {name} held a value not foreseen, which was suppressed."
        for name, rows in done["unforeseen"].items()
    )
    say.result(
        f"{many(done['rows'], 'row')} masked and written to {output}.{strange}\n"
        "The promise covers the released table alone, not these rows: verify them if it must.",
        done,
    )


@command(app, "evaluate")
def evaluate(
    say: Say,
    reading: Any,
    original: Annotated[str, typer.Argument(metavar="ORIGINAL", help="The table as it was.")],
    released: Released,
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
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PAGE.html",
            help="Also write a page for people who decide; it shows the table as it was.",
        ),
    ] = None,
    previous: Earlier = None,
) -> None:
    """Measure what a release costs and what it stops."""
    from reticent.tables import evaluation, text

    with watching(say, STAGES, stoppable=False) as watch:
        found = evaluation.evaluate(
            original, released, policy, test=test, folds=folds, seed=seed,
            classifiers=_listed(classifiers),
            population=population, previous=named_paths(previous), reading=reading,
            output=output, force=say.force, watch=watch,
        )  # fmt: skip
    say.note(*found.notes, *(f"Warning: {warning}" for warning in found.warnings))
    written = f"\n\nWritten to {output}. It shows the table as it was: keep it." if output else ""
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
        str | None, typer.Option("--k", metavar="2,5,10,…", help="Smallest groups to try.")
    ] = None,
    at_most: Annotated[
        str | None, typer.Option(metavar="0.2,0.4,…", help="Largest confidences to try.")
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
    from reticent.tables import sweeps, text

    with watching(say, STAGES, stopping="releases that are done are kept.") as watch:
        found = sweeps.sweep(
            data, policy, output=output, k=_whole_numbers(k), at_most=_listed(at_most), seed=seed,
            classifiers=_listed(classifiers), previous=named_paths(previous), reading=reading,
            force=say.force, watch=watch,
        )  # fmt: skip
    say.note(*found.notes, *(f"Warning: {warning}" for warning in found.warnings))
    say.result(text.sweep(found), found.summary())


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
    class_: Annotated[
        str | None,
        typer.Option("--class", metavar="NAME", help="What the released data shall predict."),
    ] = None,
    rule: Annotated[
        str | None,
        typer.Option(
            "--for", metavar="hipaa-safe-harbor", help="By the 18 identifiers of a rule instead."
        ),
    ] = None,
) -> None:
    """Draft a commented policy from a table."""
    from reticent.tables.drafts.flow import draft_of
    from reticent.tables.drafts.safe_harbor import NOT_SETTLED, RuleDraft

    found = draft_of(data, class_, output, reading, means, say.force, say.show_values, rule)
    text = found.text()
    say.note(*found.table.notes)
    if isinstance(found, RuleDraft):
        say.note("\n".join(NOT_SETTLED))
    elif found.guesses.unfit:
        say.note(f"Warning: no class is drafted: {found.guesses.unfit}.")
    if output is None and not say.json:
        say.text(text)
        return
    beside = [str(path) for path in found.beside(output)] if output else []
    also = f", with {listed(beside)}" if beside else ""
    say.result(
        f"Drafted {output}{also}; look for the lines marked  ?",
        {"output": str(output) if output else None, "taxonomies": beside, "policy": text},
    )


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
    from reticent.tables import taxonomies

    found = taxonomies.check_taxonomy(taxonomy, data, column, reading=reading, **means)
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
    from reticent.data.taxonomy import DEEPEST, render
    from reticent.files.taxonomies import load

    tree = load(taxonomy, unfinished=True)
    if say.json and (deepest := max(map(len, tree.rows()))) > DEEPEST:
        raise InputError(f"{deepest:,} levels are too many for JSON", where=str(taxonomy))
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
        list[str] | None,
        typer.Option(metavar="0,18,30,…", help="By fixed intervals; again for a coarser level."),
    ] = None,
    equal: Annotated[
        str | None, typer.Option(metavar="20,5", help="By so many intervals; several make levels.")
    ] = None,
    width: Annotated[
        str | None,
        typer.Option(metavar="5,20", help="By intervals so wide, from 0 on; several make levels."),
    ] = None,
    levels: Annotated[
        int | None,
        typer.Option(min=1, help="So many levels: of two neighbours each, or to be filled in."),
    ] = None,
    skeleton: Annotated[
        bool, typer.Option("--skeleton", help="A row a value, with ? where you write its group.")
    ] = False,
    keep: Annotated[
        Path | None,
        typer.Option(metavar="TAX", help="A skeleton: what of it is filled in already, as it is."),
    ] = None,
    write_delimiter: Annotated[
        str | None, typer.Option(metavar=";", help="What parts cells of the taxonomy; a comma.")
    ] = None,
    bom: Annotated[
        bool, typer.Option("--bom", help="Begin with the mark by which Excel knows UTF-8.")
    ] = False,
) -> None:
    """Make a taxonomy from the values of a column, or a skeleton of one to fill in."""
    from reticent.tables import taxonomies

    found = taxonomies.make_taxonomy(
        data, column, output=output, prefix=prefix, date=date, bins=bins, equal=equal, width=width,
        skeleton=skeleton, keep=keep, levels=levels, write_delimiter=write_delimiter, bom=bom,
        reading=reading, force=say.force, **means,
    )  # fmt: skip
    waiting = len(found.unassigned())
    ask = (
        f"\nWrite a group in the place of each {found.mark};  reticent taxonomy check {output}  "
        "counts those that are left."
    )
    say.result(
        f"{output}: {many(len(found.leaves), 'leaf', 'leaves')} below {found.labels[0]}."
        + (ask if waiting else ""),
        {"output": output, "leaves": len(found.leaves), "labels": len(found.labels)}
        | ({"unassigned": waiting} if waiting else {}),
    )
