"""What all commands share: how they talk, fail, show how far they are, and hear Ctrl-C."""

from __future__ import annotations

import contextlib
import inspect
import json
import sys
import traceback
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from reticent.errors import InputError, ReticentError, Stopped, only_in_reading, visible
from reticent.terminal import progress, signals
from reticent.version import __version__

if TYPE_CHECKING:
    from reticent.files.tabular import Reading
    from reticent.progress import Watch

_MOST_NOTES = 20  # of one kind; --json and pages have all


@dataclass(frozen=True, slots=True)
class Say:
    """How a command talks: results on stdout, everything else on stderr."""

    json: bool = False
    quiet: bool = False
    show_values: bool = False
    force: bool = False
    debug: bool = False
    progress: str = "auto"

    def result(self, text: str, data: Any, *, good: bool = True) -> None:
        """Print the answer, in words or for machines; one that is not good is never kept quiet."""
        if self.json:
            _print(json.dumps(data, ensure_ascii=False))
        elif not self.quiet:
            _print(text)
        elif not good:
            _print(text, sys.stderr)

    def text(self, text: str) -> None:
        """Print a text that is asked for as it is."""
        print(visible(text), end="")

    def verdict(
        self, text: str, data: Any, holds: bool | None, *, accept_undecided: bool = False
    ) -> None:
        """Print what a verifier says, and end as it says."""
        from reticent.releases.publish import exit_code

        code = exit_code(holds, accept_undecided=accept_undecided)
        self.result(text, data, good=not code)
        if code:
            raise typer.Exit(code)

    def note(self, *texts: str) -> None:
        """Tell something besides the answer: of very many things the first."""
        more = len(texts) - _MOST_NOTES
        self._tell([*texts[:_MOST_NOTES], *([f"… and {more:,} more."] if more > 0 else [])])

    def _tell(self, lines: Sequence[str]) -> None:
        if not self.quiet:
            for line in lines:
                _print(line, sys.stderr)

    def beforehand(self, stage: str, lines: Sequence[str]) -> None:
        """Tell what somebody must know before it is done; to programs as an object of progress."""
        if self.progress == "json":
            progress.said(stage, "\n".join(lines))
        else:
            self._tell(lines)

    def failure(self, error: ReticentError) -> None:
        """Say what went wrong; to machines as well."""
        if self.json:
            problems = [problem.text(show_values=self.show_values) for problem in error.problems]
            _print(json.dumps({"error": type(error).__name__, "problems": problems}))
        _print(error.text(show_values=self.show_values), sys.stderr)


def _print(text: str, stream: Any = None) -> None:
    """Print; a reader who has gone, or a full disk behind a pipe, changes no result.

    Names of columns and files are anybody's: none of them commands the terminal.
    """
    text = visible(text)
    with contextlib.suppress(OSError, ValueError):
        try:
            print(text, file=stream)
        except UnicodeEncodeError:  # a name of a file, or a terminal that knows few letters
            print(text.encode("ascii", "backslashreplace").decode(), file=stream)


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
    "progress": Annotated[
        Literal["auto", "json", "none"],
        typer.Option("--progress", help="How far it is: a bar, or lines of JSON for programs."),
    ],
    "version": Version,
}
_READING: dict[str, Any] = {
    "delimiter": Annotated[str | None, typer.Option(help="CSV: what parts cells.")],
    "encoding": Annotated[str | None, typer.Option(help="CSV: utf-8, latin-1, utf-16, …")],
    "decimal": Annotated[str | None, typer.Option(help="CSV: the decimal sign, . or ,")],
    "date_format": Annotated[str | None, typer.Option(help="CSV: dates, such as %d.%m.%Y")],
    "header_row": Annotated[
        int | None, typer.Option(min=1, help="The row of the header, below a title.")
    ],
    "sheet": Annotated[str | None, typer.Option(help="Which sheet of a spreadsheet.")],
    "labels": Annotated[
        bool | None,
        typer.Option("--labels/--codes", help="SPSS, Stata, SAS: what coded cells are read as."),
    ],
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


class Commands(TyperGroup):
    """All commands; a program that asked for progress hears of every end, of bad usage too."""

    def main(self, *given: Any, **how: Any) -> Any:
        """Run one."""
        words = given[0] if given else how.get("args")
        try:
            return super().main(*given, **how)
        except SystemExit as leaving:
            code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
            progress.ended(sys.argv[1:] if words is None else words, code)
            raise SystemExit(code) from None


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
        defaults = {**dict.fromkeys([*_MEANS, *_READING]), "progress": "auto"}

        def run(**given: Any) -> None:
            say = Say(**{key: given.pop(key) for key in _COMMON if key != "version"})
            given.pop("version")
            with _failing_well(say), contextlib.nullcontext() if reads else only_in_reading():
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


def _reading(delimiter: str | None, **others: Any) -> Reading:
    from reticent.files.tabular import Reading

    named = {"tab": "\t", "\\t": "\t"}.get(delimiter or "", delimiter)
    return Reading(named, **others)


def _means(engine_option: Sequence[str] | None, **others: Any) -> dict[str, Any]:
    """What a flow takes to choose what reads its rows."""
    options = dict(option.partition("=")[::2] for option in engine_option or ())
    if "" in options or any("=" not in option for option in engine_option or ()):
        raise InputError("a setting is KEY=VALUE", where="--engine-option")
    return {**others, "engine_options": options}


@contextmanager
def _failing_well(say: Say) -> Iterator[None]:
    """Turn every failure into a message and an exit code; no traceback, no cell, reaches a user."""
    from reticent.files.output import recorded

    with recorded() as written:
        try:
            with signals.hearing():
                yield
        except Stopped as stopped:
            say.failure(stopped)
            raise typer.Exit(signals.exit_code()) from None
        except (typer.Exit, BrokenPipeError):
            raise
        except (KeyboardInterrupt, Exception) as error:
            raise typer.Exit(_failed(say, error, written)) from None


def _failed(say: Say, error: BaseException, written: Sequence[Path]) -> int:
    """Say what went wrong; the exit code."""
    if signals.heard or isinstance(error, KeyboardInterrupt):  # libraries have own words for it
        paths = " and ".join(map(str, written))  # all the same: it was too late to stop
        was = f"{paths} {'was' if len(written) == 1 else 'were'}" if written else "nothing was"
        say.failure(Stopped(f"Stopped; {was} written."))
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


def _trace(say: Say, error: BaseException) -> None:
    """Where an error came from: lines of code only, as its words may quote a cell."""
    if say.debug:
        _print("".join(traceback.format_tb(error.__traceback__)), sys.stderr)
        words = f": {error}" if say.show_values else ""
        _print(f"{type(error).__name__}{words}", sys.stderr)


_STOPPING = "writing the release so far. Press Ctrl-C again to write nothing."


@contextmanager
def watching(
    say: Say,
    stages: Mapping[str, str] | None = None,
    *,
    stoppable: bool = True,
    stopping: str = _STOPPING,
) -> Iterator[Watch]:
    """Show how far a flow is, and hear Ctrl-C: once to stop and write, twice to stop at once.

    `stages` are words for the stages of this flow alone.
    """
    from reticent.progress import Watch

    told = progress.shown(say.progress, stages or {}, quiet=say.quiet)
    with signals.asking(lambda: say.note(f"Stopping: {stopping}")) as asked, told as shown:
        yield Watch(
            shown.stage, shown.step, rows=shown.rows, nodes=shown.nodes, tell=shown.tell,
            stop=lambda: asked.stop, started=asked.start if stoppable else lambda: None,
        )  # fmt: skip


# --- arguments of several commands ---------------------------------------------------------------

Data = Annotated[str, typer.Argument(metavar="DATA", help="A file, a folder or a glob of files.")]
Earlier = Annotated[
    list[str] | None,
    typer.Option("--previous", metavar="NAME=PATH", help="Where an earlier release stands."),
]
Released = Annotated[str, typer.Argument(metavar="RELEASE", help="A released file or folder.")]
PolicyPath = Annotated[Path, typer.Option("--policy", "-p", metavar="P", help="A policy file.")]
Output = Annotated[str, typer.Option("--output", "-o", metavar="OUT", help="Where to write.")]
OwnPolicy = Annotated[
    Path | None,
    typer.Option("--policy", "-p", metavar="P", help="Default: the one kept in its folder."),
]


def named_paths(given: Sequence[str] | None) -> dict[str, str]:
    """Earlier releases by name."""
    named = dict(one.partition("=")[::2] for one in given or ())
    if "" in {*named, *named.values()} or any("=" not in one for one in given or ()):
        raise InputError("an earlier release is NAME=PATH", where="--previous")
    if len(named) < len(given or ()):
        raise InputError("one release has two paths", where="--previous")
    return named


# What each extra installs, by the names that are imported, and what cannot be done without.
_EXTRAS = {
    "parties": ("owners who talk need", {"cryptography", "msgspec", "nacl"}),
    "search": ("private search needs", {"pypdfium2", "selectolax", "snowballstemmer", "tantivy"}),
    "sklearn": ("simulated users need", {"sklearn"}),
}


def refuse_without(extra: str) -> None:
    """Say how to install the libraries of an extra, where they are not there."""
    from importlib.util import find_spec

    needing, libraries = _EXTRAS[extra]
    if lacking := sorted(name for name in libraries if find_spec(name) is None):
        raise InputError(
            f"{needing} libraries that are not installed: {', '.join(lacking)}",
            do=f'install them with  pip install "reticent[{extra}]".',
        )
