"""The commands of private search: ``reticent profile …`` and ``reticent search …``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from reticent.errors import InputError
from reticent.terminal.command import Say, command, refuse_without, watching

if TYPE_CHECKING:
    from reticent.search.exposing import ProfileExposure
    from reticent.search.profile import Profile

profile_app = typer.Typer(
    help="A person's interests, and how much of them may be told.",
    no_args_is_help=True,
)
search_app = typer.Typer(
    help="An index, and results in the order of a person's interests.",
    no_args_is_help=True,
)
_BY_CTRL_C = 130  # the way in which a server ends, and no failure of it
STAGES = {
    "read": "reading documents",
    "index": "reading and indexing documents",
    "ask": "asking what simulated users ask",
    "grow": "growing the tree of interests",
    "write": "writing",
}
Documents = Annotated[
    list[str],
    typer.Argument(
        metavar="DOCS…",
        help="Files, and folders with all below: texts, pages, PDF, mail, histories of browsers.",
    ),
]
PrivateProfile = Annotated[
    Path, typer.Argument(metavar="PROFILE", help="What profile build wrote.")
]
LanguageName = Annotated[
    str | None,
    typer.Option(
        "--language", metavar="NAME",
        help="Of the documents: english, german, …; none takes words as they are. Else guessed.",
    ),
]  # fmt: skip
Ratio = Annotated[
    str | None,
    typer.Option("--ratio", metavar="R", help="Tell at most this share of what a profile says."),
]
MinDetail = Annotated[
    str | None,
    typer.Option(
        "--min-detail", metavar="M", help="Instead: tell what at least this share is about."
    ),
]
Hide = Annotated[
    list[str] | None,
    typer.Option("--hide", metavar="TERM", help="Tell no interest with this word; repeatable."),
]


@command(profile_app, "build")
def build(
    say: Say,
    documents: Documents,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="PROFILE", help="The file to write.")
    ],
    keywords: Annotated[
        str, typer.Option(metavar="N|all", help="Terms of a document at most, most frequent first.")
    ] = "20",
    minsup: Annotated[
        int | None,
        typer.Option(min=1, help="Documents that make an interest; else 5, and one in a hundred."),
    ] = None,
    delta: Annotated[
        str, typer.Option(metavar="D", help="How far terms overlap that are one interest.")
    ] = "0.6",
    language: LanguageName = None,
    stop_words: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Further words that say nothing.")
    ] = None,
) -> None:
    """Make a profile of interests from documents. It stays here, for its owner alone."""
    refuse_without("search")
    from reticent.search import text
    from reticent.search.flow import build_profile

    with watching(say, STAGES, stoppable=False) as watch:
        found = build_profile(
            documents, keywords=_keywords(keywords), minsup=minsup, delta=delta,
            language=language, stop_words=stop_words, watch=watch, output=output,
            force=say.force,
        )  # fmt: skip
    say.note(*text.skipped(found.texts.skipped))
    say.result(text.built(found), found.summary())
    sys.stdout.flush()
    say.note(*found.notes)


def _keywords(given: str) -> int | None:
    if given == "all":
        return None
    if not given.isascii() or not given.isdigit() or not 0 < int(given[:9]) == int(given[:10]):
        raise InputError(
            f'"{given}" is no number of terms', where="--keywords", do="give 20, or all.",
        )  # fmt: skip
    return int(given)


@command(profile_app, "show")
def show(
    say: Say,
    profile: PrivateProfile,
    depth: Annotated[int | None, typer.Option(min=1, help="How many levels to show.")] = None,
    ratio: Ratio = None,
    min_detail: MinDetail = None,
    hide: Hide = None,
    html: Annotated[
        Path | None, typer.Option(metavar="PAGE", help="Write a page that shows it instead.")
    ] = None,
) -> None:
    """Show a profile, and what would be told of it with --ratio or --min-detail."""
    refuse_without("search")
    from reticent.search import text
    from reticent.search.exposing import hidden_nodes
    from reticent.search.profile_file import read_profile

    found = read_profile(profile)
    exposure, hidden = None, frozenset[int]()
    if ratio is not None or min_detail is not None:
        exposure = _exposure(found, ratio, min_detail, hide, "profile show")
    elif hide:  # nothing would be told: the tree is shown without it
        hidden = hidden_nodes(found, hide)
    if html is not None:
        _write_page(say, found, exposure, hidden, html, profile, depth)
    elif say.json:
        say.text(text.tree_line(found, exposure, depth, hidden))
    else:
        say.result(text.shown(found, exposure, depth, _how(ratio, min_detail), hidden), None)


def _write_page(
    say: Say,
    found: Profile,
    exposure: ProfileExposure | None,
    hidden: frozenset[int],
    html: Path,
    profile: Path,
    depth: int | None,
) -> None:
    from reticent.files.output import refuse_inputs
    from reticent.search import report
    from reticent.search.pages import write_page

    if depth is not None:
        raise InputError(
            "a page shows all levels, which open one by one", where="--depth", do="leave it out."
        )
    refuse_inputs([html], [profile])
    write_page(found, exposure, html, hidden=hidden, force=say.force)
    say.result(f"Wrote {html}, for your eyes alone.", {**report.shape(found), "output": str(html)})


@command(profile_app, "expose")
def expose(
    say: Say,
    profile: PrivateProfile,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="EXPOSED", help="The file to write.")
    ],
    ratio: Ratio = None,
    min_detail: MinDetail = None,
    hide: Hide = None,
) -> None:
    """Write the part of a profile that may leave. It says what that tells."""
    refuse_without("search")
    from reticent.search import report, text
    from reticent.search.flow import write_exposed
    from reticent.search.profile_file import read_profile

    found = _exposure(read_profile(profile), ratio, min_detail, hide, "profile expose")
    write_exposed(found, output, profile=profile, force=say.force)
    told = report.preview(found, steps=False)
    say.result(
        text.exposed(told, output, _how(ratio, min_detail)), report.exposed_data(told, output)
    )


def _exposure(
    profile: Profile,
    ratio: str | None,
    min_detail: str | None,
    hide: list[str] | None,
    where: str,
) -> ProfileExposure:
    from reticent.search.exposing import expose

    if (ratio is None) == (min_detail is None):
        raise InputError(
            "one of --ratio and --min-detail says how much is told", where=where,
            do="give  --ratio 0.25  or  --min-detail 0.1.",
        )  # fmt: skip
    return expose(profile, ratio=ratio, min_detail=min_detail, hide=hide or ())


def _how(ratio: str | None, min_detail: str | None) -> str:
    if ratio is not None:
        return f"With --ratio {ratio}: "
    return f"With --min-detail {min_detail}: " if min_detail is not None else ""


@command(search_app, "index")
def index(
    say: Say,
    documents: Documents,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="INDEX", help="The folder of the index.")
    ],
    language: LanguageName = None,
) -> None:
    """Make an index of documents, or bring one up to date. It holds these and no others."""
    refuse_without("search")
    from reticent.search import text
    from reticent.search.flow import index_texts

    with watching(say, STAGES, stoppable=False) as watch:
        found = index_texts(documents, output, language=language, watch=watch, force=say.force)
    say.note(*text.skipped(found.texts.skipped), *found.notes)
    say.result(text.indexed(found), found.summary())


@command(search_app, "query")
def query(
    say: Say,
    asked: Annotated[
        list[str], typer.Argument(metavar="QUERY…", help="What to look for, in a word or several.")
    ],
    index: Annotated[
        str | None, typer.Option(metavar="INDEX", help="Where: what search index wrote.")
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Or: OpenSearch, Elasticsearch or SearXNG; it gets the query, and no more.",
        ),
    ] = None,
    profile: Annotated[
        Path | None, typer.Option(metavar="EXPOSED", help="What profile expose wrote.")
    ] = None,
    alpha: Annotated[
        str | None,
        typer.Option(metavar="A", help="How much the profile counts, 0 to 1; else by the query."),
    ] = None,
    top: Annotated[int, typer.Option(help="Results asked of the engine, and put in order.")] = 50,
    fusion: Annotated[
        Literal["ranks", "scores"], typer.Option(help="What of both sides is put together.")
    ] = "ranks",
    language: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="With --engine: of its pages and the profile; english."),
    ] = None,
) -> None:
    """Search in the order of the engine and of an exposed profile."""
    refuse_without("search")
    from reticent.search import flow, report, text

    found = flow.query(
        " ".join(asked), index=index, engine=engine, profile=profile, alpha=alpha, top=top,
        fusion=fusion, language=language,
    )  # fmt: skip
    say.result(
        text.answered(found, personal=profile is not None, elsewhere=engine is not None),
        report.answer_data(found),
    )


@command(search_app, "serve")
def serve(
    say: Say,
    index: Annotated[
        str | None, typer.Option(metavar="INDEX", help="What search index wrote.")
    ] = None,
    profile: Annotated[
        Path | None,
        typer.Option(metavar="PROFILE", help="What profile build wrote; it stays in this process."),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Instead or besides: an engine elsewhere, which gets the queries."
        ),
    ] = None,
    port: Annotated[int, typer.Option(help="0 takes any that is free.")] = 0,
    address: Annotated[
        str, typer.Option(help="Where to listen: on this machine alone.")
    ] = "127.0.0.1",
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Let other machines reach it, by TLS.")
    ] = False,
    certificate: Annotated[Path | None, typer.Option(metavar="PEM", help="For TLS.")] = None,
    key: Annotated[
        Path | None, typer.Option(metavar="PEM", help="Of the certificate, without a password.")
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST", help="A name of this machine in the certificate; repeatable."),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of the engine's pages, for programs; english."),
    ] = None,
) -> None:
    """Serve a page to search with and without a profile. Ctrl-C ends it."""
    refuse_without("search")
    from reticent.search import text
    from reticent.search.served import ServedAt
    from reticent.search.served import serve as run
    from reticent.serving.server import ServingPlace
    from reticent.terminal import signals

    place = ServingPlace(address, port, tuple(name or ()), allow_remote, certificate, key)

    def announce(at: ServedAt) -> None:
        say.note(*at.notes)
        if say.quiet and not say.json:
            say.text(f"{at.url}\n")  # without it, nobody could reach the page
        say.result(text.served(at), at.data())
        sys.stdout.flush()

    run(
        index, profile=profile, engine=engine, place=place, language=language, announce=announce
    )  # fmt: skip
    if signals.exit_code() != _BY_CTRL_C:
        raise typer.Exit(signals.exit_code())


@command(search_app, "evaluate")
def evaluate(
    say: Say,
    collection: Annotated[
        Path,
        typer.Argument(metavar="COLLECTION", help="Documents, queries and what answers them."),
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FOLDER", help="Where to write.")
    ],
    seeds: Annotated[
        str | None, typer.Option(metavar="N,N,…", help="Clusterings into users; else 11 to 18.")
    ] = None,
    ratios: Annotated[
        str | None,
        typer.Option(metavar="R,R,…", help="Shares of a profile to tell; else from 0.05 to 1."),
    ] = None,
    language: LanguageName = None,
) -> None:
    """Measure what telling a part of a profile is worth. Users are made of judged queries."""
    refuse_without("search")
    refuse_without("sklearn")
    from reticent.search.evaluation import flow, text

    given: dict[str, Any] = {}
    if seeds is not None:
        given["seeds"] = _numbers(seeds)
    if ratios is not None:
        given["ratios"] = ratios.split(",")
    with watching(say, STAGES, stoppable=False) as watch:
        found = flow.evaluate(
            collection, output, language=language, watch=watch, force=say.force, **given
        )
    say.note(*found.notes)
    say.result(text.evaluated(found), found.summary())


def _numbers(given: str) -> list[int]:
    parts = [part.strip() for part in given.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise InputError(
            "seeds are whole numbers from 0 on", where="--seeds", do="give  --seeds 11,12."
        )
    return [int(part) for part in parts]
