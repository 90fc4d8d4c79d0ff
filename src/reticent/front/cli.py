"""The command line: each command parses, calls one function and prints one report."""

from __future__ import annotations

import contextlib
import gc
import inspect
import json
import os
import signal
import sys
import time
import traceback
import typing
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent import __version__
from reticent.errors import InputError, ReticentError, Stopped
from reticent.front import signals

if TYPE_CHECKING:
    from reticent.table.files import Reading
    from reticent.watching import Watch

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


# --- what all commands share ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Say:
    """How a command talks: results on stdout, everything else on stderr."""

    json: bool = False
    quiet: bool = False
    show_values: bool = False
    force: bool = False
    debug: bool = False

    def result(self, text: str, data: Any) -> None:
        """Print the answer, in words or for machines."""
        if self.json:
            _print(json.dumps(data, ensure_ascii=False))
        elif not self.quiet:
            _print(text)

    def note(self, *texts: str) -> None:
        """Tell something besides the answer."""
        if not self.quiet:
            for text in texts:
                _print(text, sys.stderr)

    def failure(self, error: ReticentError) -> None:
        """Say what went wrong; to machines as well."""
        if self.json:
            problems = [problem.text(show_values=self.show_values) for problem in error.problems]
            _print(json.dumps({"error": type(error).__name__, "problems": problems}))
        _print(error.text(show_values=self.show_values), sys.stderr)


def _print(text: str, stream: Any = None) -> None:
    """Print; a reader who has gone, or a full disk behind a pipe, changes no result."""
    with contextlib.suppress(OSError, ValueError):
        print(text, file=stream)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"reticent {__version__}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
]
_COMMON: dict[str, Any] = {
    "json": Annotated[bool, typer.Option("--json", help="Print a machine-readable answer.")],
    "quiet": Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")],
    "show_values": Annotated[
        bool, typer.Option("--show-values", help="Let messages show cell values.")
    ],
    "force": Annotated[bool, typer.Option("--force", help="Replace an output that exists.")],
    "debug": Annotated[bool, typer.Option("--debug", help="Show where an error came from.")],
    "version": Version,
}
_READING: dict[str, Any] = {
    "delimiter": Annotated[str | None, typer.Option(help="CSV: what parts cells.")],
    "encoding": Annotated[str | None, typer.Option(help="CSV: utf-8, latin-1, utf-16, …")],
    "decimal": Annotated[str, typer.Option(help="CSV: the decimal sign, . or ,")],
    "date_format": Annotated[str | None, typer.Option(help="CSV: dates, such as %d.%m.%Y")],
}


_MEANS: dict[str, Any] = {
    "engine": Annotated[
        str | None,
        typer.Option(metavar="memory|duckdb|spark", help="What counts the rows; else by size."),
    ],
    "engine_option": Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting of the engine.")
    ],
    "memory_limit": Annotated[
        str | None, typer.Option(metavar="2GB", help="How much memory to take at most.")
    ],
    "table": Annotated[str | None, typer.Option(help="The table, where DATA is a database.")],
}


def command(group: typer.Typer, name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a command: its own options, those common to all, and its failures' exit codes.

    A parameter `say` receives the common options, `reading` those about reading files, `means`
    those about what reads them.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        hints = typing.get_type_hints(function, include_extras=True)
        own = list(inspect.signature(function).parameters.values())
        reads = any(p.name == "reading" for p in own)
        chooses = any(p.name == "means" for p in own)
        extra = {**(_MEANS if chooses else {}), **(_READING if reads else {}), **_COMMON}
        defaults = {**dict.fromkeys([*_MEANS, *_READING]), "decimal": "."}

        def run(**given: Any) -> None:
            say = Say(**{key: given.pop(key) for key in _COMMON if key != "version"})
            given.pop("version")
            with _failing_well(say):
                if reads:
                    given["reading"] = _reading(**{key: given.pop(key) for key in _READING})
                if chooses:
                    given["means"] = _means(**{key: given.pop(key) for key in _MEANS})
                function(say=say, **given)

        only = inspect.Parameter.KEYWORD_ONLY
        kept = [p for p in own if p.name not in ("say", "reading", "means")]
        shown = [p.replace(kind=only, annotation=hints[p.name]) for p in kept]
        shown += [
            inspect.Parameter(key, only, default=defaults.get(key, False), annotation=kind)
            for key, kind in extra.items()
        ]
        run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in shown}
        run.__doc__ = function.__doc__
        group.command(name)(run)
        return function

    return register


def _reading(
    delimiter: str | None, encoding: str | None, decimal: str, date_format: str | None
) -> Reading:
    from reticent.table.files import Reading

    if decimal not in (".", ","):
        raise InputError(f"a decimal sign is . or , and not {decimal!r}", where="--decimal")
    named = {"tab": "\t", "\\t": "\t"}.get(delimiter or "", delimiter)
    if named is not None and len(named) != 1:
        raise InputError("a delimiter is one character", where="--delimiter", do="tab works too.")
    return Reading(named, None, encoding, decimal, date_format)


def _means(engine_option: Sequence[str] | None, **others: Any) -> dict[str, Any]:
    """What a flow takes to choose what reads its rows."""
    options = dict(option.partition("=")[::2] for option in engine_option or ())
    if "" in options or any("=" not in option for option in engine_option or ()):
        raise InputError("a setting is KEY=VALUE", where="--engine-option")
    return {**others, "engine_options": options}


def _let_in(data: str, means: dict[str, Any]) -> None:
    """Spark, and what Ibis reads databases with, do need pandas."""
    if means["engine"] == "spark" or "://" in data:
        _NotNeeded.let_in()


@contextmanager
def _failing_well(say: Say) -> Iterator[None]:
    """Turn every failure into a message and an exit code; no traceback, no cell, reaches a user."""
    try:
        if output := sys.modules.get("reticent.table.output"):
            output.appeared.clear()
        with signals.hearing():
            yield
    except Stopped as stopped:
        say.failure(stopped)
        raise typer.Exit(signals.exit_code()) from None
    except (typer.Exit, BrokenPipeError):
        raise
    except (KeyboardInterrupt, Exception) as error:
        raise typer.Exit(_failed(say, error)) from None


def _failed(say: Say, error: BaseException) -> int:
    """Say what went wrong; the exit code."""
    if signals.heard or isinstance(error, KeyboardInterrupt):  # libraries have own words for it
        say.failure(Stopped(f"Stopped; {_written()} written."))
        return signals.exit_code()
    _trace(say, error)
    if isinstance(error, ReticentError):
        say.failure(error)
        return error.exit_code
    if isinstance(error, MemoryError):
        say.failure(InputError("there is not enough memory for this table"))
        return 2
    say.failure(
        ReticentError(
            f"this should not happen ({type(error).__name__})",
            do="please report it, with the output of --debug; nothing was written.",
        )
    )
    return 70


def _written() -> str:
    """What a command that was stopped has written all the same: it was too late to stop."""
    output = sys.modules.get("reticent.table.output")
    paths = [str(path) for path in output.appeared] if output else []
    return (
        f"{' and '.join(paths)} {'was' if len(paths) == 1 else 'were'}" if paths else "nothing was"
    )


def _trace(say: Say, error: BaseException) -> None:
    """Where an error came from: lines of code only, as its words may quote a cell."""
    if say.debug:
        print("".join(traceback.format_tb(error.__traceback__)), file=sys.stderr)
        words = f": {error}" if say.show_values else ""
        print(f"{type(error).__name__}{words}", file=sys.stderr)


_STOPPING = "writing the release so far. Press Ctrl-C again to write nothing."


@contextmanager
def _watching(say: Say, *, stoppable: bool = True, stopping: str = _STOPPING) -> Iterator[Watch]:
    """Progress on a terminal, and Ctrl-C: once to stop and write, twice to stop at once."""
    from reticent.watching import Watch

    state: dict[str, Any] = {"started": False, "stop": False, "stage": "", "since": 0.0}

    def interrupted(number: int, frame: Any) -> None:
        if state["stop"] or not state["started"]:
            signals.end(number)
        state["stop"] = True
        say.note(f"Stopping: {stopping}")

    before = signal.signal(signal.SIGINT, interrupted)
    shown: Any = None
    if sys.stderr and sys.stderr.isatty() and not say.quiet:
        from rich.console import Console

        shown = Console(stderr=True).status("reading")
        shown.start()

    def stage(name: str) -> None:
        signals.insist()
        state.update(stage=name, since=time.monotonic())
        if shown:
            from reticent.refine.loading import patience

            shown.update(_STAGES.get(name, name) + (patience() if name == "refine" else ""))

    def step(number: int, values: Sequence[Any]) -> None:
        if shown:
            shown.update(
                f"revealing: {number} refinements, promises at {', '.join(map(str, values))}"
            )

    def rows(done: int, of: int) -> None:
        signals.insist()
        spent = time.monotonic() - state["since"]
        if shown and done and spent > 0:
            said = _STAGES.get(state["stage"], state["stage"])
            left = (of - done) * spent / done
            shown.update(
                f"{said}: {done / of:.0%}, {done / spent:,.0f} rows a second, "
                f"about {left:.0f} s left"
            )

    try:
        yield Watch(
            stage,
            step,
            rows=rows,
            stop=lambda: bool(state["stop"]),
            started=lambda: state.update(started=stoppable),
        )
    finally:
        signal.signal(signal.SIGINT, before)
        if shown:
            shown.stop()


_STAGES = {
    "read": "reading the table",
    "collapse": "counting equal rows",
    "encode": "fitting the policy to the table",
    "refine": "looking for what can be revealed",
    "compare cuts": "looking for better cuts",
    "mask": "masking",
    "judge": "measuring how useful it is",
    "write": "writing",
    "verify": "recounting every promise on what was written",
    "learn": "masking as learnt on the training records alone",
    "tree": "growing decision trees",
    "bayes": "training naive Bayes",
    "boosting": "training gradient boosting",
    "regression": "training logistic regression",
}


@app.callback()
def _root(version: Version = False) -> None:
    """Share data about people without sharing what must stay private."""


# --- commands ------------------------------------------------------------------------------------

Data = Annotated[str, typer.Argument(metavar="DATA", help="A file, a folder or a glob of files.")]
PolicyPath = Annotated[Path, typer.Option("--policy", "-p", metavar="P", help="A policy file.")]
Output = Annotated[str, typer.Option("--output", "-o", metavar="OUT", help="Where to write.")]
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
    with _watching(say) as watch:
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
    with _watching(say, stoppable=False) as watch:
        found = pipeline.verify(
            data, policy, previous=_previous(previous), reading=reading, watch=watch, **means
        )
    say.note(*(f"Warning: {w}" for w in found.warnings))
    say.result(render.proof(found), report.verify_summary(found))
    if not found.holds:
        raise typer.Exit(1)
    if found.unchecked and not skip_uncheckable:
        raise typer.Exit(2)


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
    with _watching(say, stoppable=False) as watch:
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
    _NotNeeded.let_in()
    from reticent import evaluating
    from reticent.front import render

    with _watching(say, stoppable=False) as watch:
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
    _NotNeeded.let_in()
    from reticent import sweeping
    from reticent.front import render

    with _watching(say, stopping="releases that are done are kept.") as watch:
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
    """Report every problem of a policy, and of its fit to a table."""
    from reticent import pipeline

    _let_in(data or "", means)
    with _watching(say, stoppable=False) as watch:
        checked = pipeline.check(
            policy, data, previous=_previous(previous), reading=reading, watch=watch, **means
        )
    found = checked.policy
    say.note(*(f"Warning: {w}" for w in checked.warnings))
    promises = [promise.text for promise in found.promises]
    said = "\n".join(f"  {text}" for text in promises)
    fits = f" and fits {data}" if data else ""
    say.result(f"{policy} is a valid policy{fits}. It promises:\n{said}", {"promises": promises})


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
    """Make invented data to try things on; into a folder, tables come with a policy."""
    from reticent import workshop

    written = workshop.make_sample(kind, rows, seed, output=output, force=say.force)
    say.result("\n".join(f"Wrote {path}" for path in written), {"written": written})


class _NotNeeded:
    """An import hook that finds nothing: has imports of some modules fail in this process.

    Where they are installed, Arrow loads pandas to ask whether a list is a data frame (0.12 s and
    50 MB), and Numba loads SciPy to look for a linear algebra that our loops never call (0.17 s).
    """

    modules = ("pandas", "scipy.linalg")

    @classmethod
    def let_in(cls) -> None:
        """Make them importable again, for what does need them: scikit-learn."""
        if cls in sys.meta_path:
            sys.meta_path.remove(cls)

    @classmethod
    def find_spec(cls, name: str, path: Any = None, target: Any = None) -> None:
        if name in cls.modules:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def main() -> None:
    """Run the command line, and leave as soon as everything is said.

    Taking the interpreter down tidily costs 0.2 to 0.3 s after a large table, for nothing: files
    are synced and renamed by now, and no thread has anything left to do.
    """
    gc.disable()  # a command is short, and imports alone would be swept a dozen times
    sys.meta_path.insert(0, _NotNeeded)
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
