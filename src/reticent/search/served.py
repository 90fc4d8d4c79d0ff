"""A page to search with and without one's interests side by side, and a door for programs.

Both orders come of one answer of an engine, which gets the query alone: a profile is held against
results in this process, whatever part of it is chosen, and leaves it by no way. The page moves the
slider and hides interests on the private profile; programs send an exposed one (`POST /search`).

Nothing of it is kept: what is hidden, and how much is told, the page says with every request. The
last results are, so that a slider that moves asks no engine again and again.
"""

from __future__ import annotations

import shlex
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from importlib import resources
from itertools import dropwhile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from reticent.errors import InputError, many
from reticent.pages.drawing import printable
from reticent.pages.page import MOST, page
from reticent.search.engines import FoundPage, SearchEngine
from reticent.search.exposing import (
    ExposedProfile,
    ProfileExposure,
    exposed_beside,
    nodes_with,
    share_of,
)
from reticent.search.pages import changes, says
from reticent.search.profile import Profile
from reticent.search.ranking import TOP, RankedPage, SearchAnswer, answer
from reticent.search.report import answer_data, preview, shape
from reticent.search.words import USUAL, Language
from reticent.serving.server import GuardedServer, ServingPlace, WebApp

if TYPE_CHECKING:
    from reticent.search.remote import EngineKind

SHARE = 25  # of a hundred: where the slider stands at first
_LONGEST_QUERY = 1000
_SNIPPET = 240
_PAGE_KEYS = {"q", "engine", "share", "hide", "alpha", "fusion"}


@dataclass(frozen=True, slots=True)
class ServedAt:
    """Where a page is served, for its user alone."""

    url: str = field(repr=False)  # the first address: the token is in it
    token: str = field(repr=False)
    search: str  # where programs ask
    notes: tuple[str, ...]

    def data(self) -> dict[str, Any]:
        """The whole of it as plain data."""
        return {"url": self.url, "token": self.token, "search": self.search}


@dataclass(frozen=True, slots=True)
class AskedEngine:
    """An engine that a page asks, and to whom queries go."""

    engine: SearchEngine
    host: str | None = None  # None: to nobody, it is on this machine
    state: Callable[[], object] = lambda: None  # another one: what it gave is no answer any more

    @property
    def says(self) -> str:
        """What leaves this machine, and what does not."""
        if self.host is None:
            return "What you type and what is found stay on this machine: the index is here."
        return (
            f"What you type goes to {self.host}, and nothing of your profile does: results are put "
            "into your order here."
        )


def serve(
    index: str | Path | None = None,
    *,
    profile: str | Path | Profile | None = None,
    engine: str | None = None,
    kind: EngineKind | None = None,
    place: ServingPlace | None = None,
    port: int = 0,
    language: str | None = None,
    announce: Callable[[ServedAt], None],
) -> None:
    """Serve a page to search, until Ctrl-C.

    `index`: a folder of `search index`. `engine`: the address of another engine, asked in its
    place, or beside it. `language`: of its pages, where it does not tell. `place`: where to listen;
    at any free port of this machine, unless it says otherwise.
    """
    from reticent.search.profile_file import read_profile

    place = place or ServingPlace(port=port)
    engines = list(_engines(index, engine, kind))
    if profile is not None and not isinstance(profile, Profile):
        profile = read_profile(profile)
    served = ServedSearch(engines, profile=profile, language=language)
    server = GuardedServer(served.app(), place)
    notes = [*place.warnings(), *(one.says for one in engines)]
    announce(ServedAt(server.url, server.gate.token, f"{server.origin}/search", tuple(notes)))
    server.run()


def _engines(
    index: str | Path | None, address: str | None, kind: EngineKind | None
) -> Iterator[AskedEngine]:
    if index is None and address is None:
        raise InputError(
            "there is nothing to search in", where="search serve",
            do="give --index with a folder that  reticent search index  made, or --engine.",
        )  # fmt: skip
    if address is not None:
        from reticent.search.remote import engine_at

        yield AskedEngine(engine_at(address, kind=kind), host_of(address))
    if index is not None:
        from reticent.search.index import LatestIndex

        latest = LatestIndex(index)
        yield AskedEngine(latest, state=latest.state)


def host_of(address: str) -> str:
    """Who gets the queries: the host of an address, without a name or password in it.

    >>> host_of("https://me:secret@search.example:8443/index/_search?key=1")
    'search.example:8443'
    """
    return urlsplit(address).netloc.rpartition("@")[2]


class ServedSearch:
    """What the page and programs ask for; several threads may at a time."""

    def __init__(
        self,
        engines: Sequence[AskedEngine],
        *,
        profile: Profile | None = None,
        language: str | None = None,
        top: int = TOP,
    ) -> None:
        """Take engines, the first of which programs ask, and a profile, if there is one."""
        self.engines, self.profile, self.top = engines, profile, top
        self._terms = {term for node in profile.walk() for term in node.terms} if profile else set()
        self._told = language
        self._language = Language(language or engines[0].engine.language or USUAL)
        # Terms of a profile are found in pages by its own language's stems.
        self._own = Language(profile.language) if profile else None
        self._last: tuple[tuple[object, int, str], Sequence[FoundPage]] | None = None
        self._asking, self._working = threading.Lock(), threading.Lock()

    def app(self) -> WebApp:
        """The page, what it asks for, and what programs may."""
        changes: dict[str, Callable[[Any], Any]] = {"search": self.search}
        if self.profile:
            changes["preview"] = self.preview
        return WebApp({"": self.page}, changes, {"/search": self.call}, _files())

    def page(self, csrf: str) -> str:
        """The page itself: nothing of anybody is in it."""
        facts = shape(self.profile) if self.profile else {"interests": 0, "levels": 0}
        return page(
            "search/templates/serve.html",
            facts
            | {
                "csrf": csrf,
                "has_profile": self.profile is not None,
                "engines": [(one.host or "this machine", one.says) for one in self.engines],
                "share": SHARE,
            },
        )

    # --- programs --------------------------------------------------------------------------------

    def call(self, given: Any) -> dict[str, Any]:
        """Results in the order of an exposed profile: an object of "q" and "profile"."""
        _check_keys(given, {"q", "profile"})
        query = _query(given)
        if not isinstance(given["profile"], Mapping):
            raise InputError("this is no exposed profile", where="profile")
        exposed = ExposedProfile.of(given["profile"], "profile")
        pages = self._pages(0, query)
        with self._working:
            found = self._answer(pages, query, exposed, self._spoken(), None, "ranks")
        return answer_data(found)

    # --- the page --------------------------------------------------------------------------------

    def preview(self, given: Any) -> dict[str, Any]:
        """What a place of the slider would tell, and what that says."""
        _check_keys(given, {"share", "hide"})
        with self._working:
            exposure = self._exposure(given)
            found = preview(exposure, steps=False)  # the slider moves
        exposed = exposure.exposed
        told = [
            {
                "words": printable(one.words),
                "terms": one.label.split("/"),
                "share": f"{100 * one.share:.0f} %",
            }
            for one in found.interests[:MOST]
        ]
        return {
            "says": [printable(text) for text in says(found)],
            "changes": [printable(text) for text in changes(found)],
            "told": told,
            "more": len(found.interests) - len(told),
            "leaves": exposed.data() | {"terms": exposed.data()["terms"][:MOST]},
            "command": self._command(given),
        }

    def search(self, given: Any) -> dict[str, Any]:
        """Results with their places in both orders, and what moved them."""
        _check_keys(given, _PAGE_KEYS)
        query, which = _query(given), given["engine"]
        if type(which) is not int or not 0 <= which < len(self.engines):
            raise InputError("there is no such engine", where="engine")
        alpha = given["alpha"] if given["alpha"] is None else share_of("alpha", given["alpha"])
        pages = self._pages(which, query)
        with self._working:
            exposure = self._exposure(given) if self.profile else None
            exposed = exposure.exposed if exposure else None
            # Which interests a query is about is worked out here, where all of them are known.
            several = [part for _, part in exposure.branches()] if exposure else []
            found = self._answer(
                pages, query, several, self._own or self._spoken(), alpha, given["fusion"]
            )
        return {
            "results": [self._result(one) for one in found.pages],
            "says": printable(self._says(found, exposed, asked=alpha is not None)),
        }

    def _pages(self, which: int, query: str) -> Sequence[FoundPage]:
        """What an engine gives; asked again for the same, what it gave."""
        with self._asking:
            last, self._last = self._last, None
            asked = (self.engines[which].state(), which, query)
            if last is None or last[0] != asked:
                last = (asked, self.engines[which].engine.ask(query, self.top))
            self._last = last
            return last[1]

    def _spoken(self) -> Language:
        """The language of what the first engine gives; an index may be made anew in another."""
        name = self._told or self.engines[0].engine.language or USUAL
        if self._language.name != name:
            self._language = Language(name)
        return self._language

    def _answer(
        self,
        pages: Sequence[FoundPage],
        query: str,
        exposed: ExposedProfile | Sequence[ExposedProfile],
        language: Language,
        alpha: Fraction | None,
        fusion: Any,
    ) -> SearchAnswer:
        if fusion not in ("ranks", "scores"):
            raise InputError("there is ranks and scores", where="fusion")
        known = _Known(pages, language.name)
        return answer(
            known, query, exposed, alpha=alpha, top=self.top, fusion=fusion, language=language
        )

    def _exposure(self, given: Mapping[str, Any]) -> ProfileExposure:
        assert self.profile is not None
        share, hide = given["share"], given["hide"]
        if type(share) is not int or not 0 <= share <= 100:
            raise InputError("a share is a whole number of a hundred", where="share")
        if not isinstance(hide, list) or not all(isinstance(term, str) for term in hide):
            raise InputError("what is hidden is a list of terms", where="hide")
        if not self._terms.issuperset(hide):
            raise InputError("no interest has this term", where="hide")
        hidden = nodes_with(self.profile, hide)
        return exposed_beside(self.profile, hidden, Fraction(share, 100))

    def _command(self, given: Mapping[str, Any]) -> str:
        """What writes the same into a file."""
        assert self.profile is not None
        words = dict.fromkeys(self.profile.words.get(term, term) for term in given["hide"])
        hide = "".join(f" --hide {shlex.quote(printable(word))}" for word in words)
        ratio = f"{given['share'] / 100:g}"
        return f"reticent profile expose PROFILE --ratio {ratio}{hide} -o exposed.json"

    def _result(self, one: RankedPage) -> dict[str, Any]:
        found, words = one.page, self.profile.words if self.profile else {}
        # Its title stands above it already, and in Markdown as its first line, too.
        lines = found.text.splitlines()
        text = dropwhile(lambda line: line.strip("# \t") in ("", found.title.strip()), lines)
        short = " ".join(" ".join(text).split())
        return {
            "rank": one.rank,
            "engine_rank": one.engine_rank,
            "title": printable(found.title or found.place),
            "place": printable(found.place),
            "link": found.place if _is_link(found.place) else None,
            "text": printable(short[:_SNIPPET] + ("…" if len(short) > _SNIPPET else "")),
            "because": [[printable(words.get(term, term)), n] for term, n in one.because],
        }

    def _says(self, found: SearchAnswer, exposed: ExposedProfile | None, *, asked: bool) -> str:
        results = many(len(found.pages), "result")
        if not found.pages:
            return "Nothing is found."
        if exposed is None:
            return f"{results}."
        if not exposed.terms:
            return f"{results}. Nothing of your profile is used, so both orders are the same."
        if not found.alpha and not asked:
            return (
                f"{results}. Interests count for queries of one or two words, stop words and "
                "numbers aside; others keep the engine's order."
            )
        moved = sum(one.rank != one.engine_rank for one in found.pages)
        held = sum(bool(one.because) for one in found.pages)
        return (
            f"{results}, {moved:,} of them in another place; {held:,} "
            f"{'has' if held == 1 else 'have'} words of the interests that you allow."
        )


@dataclass(slots=True)
class _Known:
    """An engine that has answered already."""

    pages: Sequence[FoundPage]
    language: str | None

    def ask(self, query: str, top: int) -> Sequence[FoundPage]:
        return self.pages[:top]


def _check_keys(given: Any, keys: set[str]) -> None:
    if not isinstance(given, dict) or set(given) != keys:
        named = " and ".join(f'"{key}"' for key in sorted(keys, reverse=True))
        raise InputError(f"this is an object of {named}, and of nothing else", where="request")


def _query(given: Mapping[str, Any]) -> str:
    query = given["q"]
    if not isinstance(query, str) or not query.strip():
        raise InputError("There is nothing to look for: the query is empty.")
    if len(query) > _LONGEST_QUERY:
        raise InputError(f"A query has at most {_LONGEST_QUERY:,} letters.")
    return query


def _is_link(place: str) -> bool:
    """Whether a place is a page of the web: nothing else may be clicked."""
    try:
        return urlsplit(place).scheme in ("http", "https")
    except ValueError:
        return False


def _files() -> dict[str, tuple[str, bytes]]:
    home = resources.files("reticent")
    style = home.joinpath("pages/style.css").read_bytes()
    own = home.joinpath("search/static")
    return {
        "style.css": ("text/css; charset=utf-8", style + own.joinpath("serve.css").read_bytes()),
        "serve.js": ("text/javascript; charset=utf-8", own.joinpath("serve.js").read_bytes()),
    }
