"""From what a person has to a profile, from a profile to what may leave, and from a query to pages.

Texts are read one after the other and leave behind the terms that count, so that memory holds
words and never all texts. In which language they are is guessed from the first of them.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any

from reticent.errors import InputError, many
from reticent.files.output import check_free, refuse_inputs, whole_file, write_text
from reticent.progress import Clock, Watch
from reticent.search.documents import PersonalDocument, SkippedFile
from reticent.search.documents.reading import read_documents
from reticent.search.engines import SearchEngine
from reticent.search.exposing import ExposedProfile, ProfileExposure, share_of
from reticent.search.index import LocalIndex, language_in, update_index
from reticent.search.profile import DELTA, KEYWORDS, Profile, grown, keywords_of
from reticent.search.profile_file import write_profile
from reticent.search.ranking import TOP, Fusion, SearchAnswer, answer
from reticent.search.remote import engine_at
from reticent.search.report import BuiltProfile, IndexedTexts, ReadTexts
from reticent.search.words import (
    LOOKED_AT,
    GuessedLanguage,
    Language,
    guessed_language,
    parts,
    stop_words_in,
    words_of,
)

Places = Sequence[str | Path] | str | Path


def build_profile(
    places: Places,
    *,
    keywords: int | None = KEYWORDS,
    minsup: int | None = None,
    delta: Fraction | float | str = DELTA,
    language: str | None = None,
    stop_words: str | Path | None = None,
    watch: Watch | None = None,
    output: str | Path | None = None,
    force: bool = False,
) -> BuiltProfile:
    """Make the profile of somebody from documents: files, folders of them, mailboxes, histories.

    `keywords`: terms of a document at most; None takes all. `language`: guessed unless told.
    `stop_words`: a file with further words that say nothing. `output`: a file for the profile.
    """
    places = _listed(places)
    _check_numbers(keywords, minsup)
    overlap = share_of("--delta", delta)
    further = stop_words_in(stop_words) if stop_words is not None else []
    chosen = Language(language, further) if language is not None else None
    if output is not None:
        _check_output(output, [*places, *([] if stop_words is None else [stop_words])], force=force)
    guessed = GuessedLanguage("")
    clock = Clock(watch or Watch())
    with clock.stage("read"):
        texts = _TextsRead(output)
        documents: Iterable[PersonalDocument] = texts.of(places, clock.watch)
        if chosen is None:
            guessed, documents = _guessed(documents)
            chosen = Language(guessed.name, further)
        terms = _TermsCounted(chosen, keywords)
        for document in documents:
            terms.take(document.text)
    if not terms.documents:
        raise texts.nothing("document with a word that says something", places)
    with clock.stage("grow"):
        profile = grown(
            terms.documents, minsup=minsup, delta=overlap, language=chosen.name, keywords=keywords,
            grows=clock.watch.nodes,
        )  # fmt: skip
        profile = replace(profile, words=terms.written(profile))
    if output is not None:
        with clock.stage("write"):
            write_profile(profile, output, force=force)
    return BuiltProfile(
        profile, texts.told(), terms.wordless, language is None, dict(clock.seconds),
        (*_notes(profile, chosen), *_other_languages(guessed)),
        None if output is None else str(output),
    )  # fmt: skip


def write_exposed(
    exposure: ProfileExposure,
    output: str | Path,
    *,
    profile: str | Path | None = None,
    force: bool = False,
) -> None:
    """Write what leaves, and nothing else, into a file; never over the `profile` it is of."""
    if profile is not None:
        refuse_inputs([Path(output)], [Path(profile)])
    with whole_file(Path(output), force=force, private=True) as place:
        write_text(place, json.dumps(exposure.exposed.data(), ensure_ascii=False) + "\n")


# --- searching -----------------------------------------------------------------------------------


def index_texts(
    places: Places,
    output: str | Path,
    *,
    language: str | None = None,
    watch: Watch | None = None,
    force: bool = False,
) -> IndexedTexts:
    """Make an index of documents, or bring one up to date; `force` makes it anew.

    `language`: that of the index that is there, and of a new one guessed unless told.
    """
    places = _listed(places)
    refuse_inputs([Path(output)], [Path(path) for path in places if not Path(path).is_dir()])
    known = language
    if known is None and not force:
        known = language_in(output)
    chosen = Language(known) if known is not None else None
    guessed = GuessedLanguage("")
    clock = Clock(watch or Watch())
    with clock.stage("index"):
        texts = _TextsRead(output)
        documents: Iterable[PersonalDocument] = texts.some_of(places, clock.watch)
        if chosen is None:
            guessed, documents = _guessed(documents)
            chosen = Language(guessed.name)
        found = update_index(output, documents, chosen, force=force, watch=clock.watch)
    return IndexedTexts(
        texts.told(), found.documents, found.added, found.changed, found.removed, found.unchanged,
        chosen.name, known is None, dict(clock.seconds), str(output),
        tuple(_other_languages(guessed)),
    )  # fmt: skip


def query(
    asked: str,
    *,
    index: str | Path | None = None,
    engine: str | None = None,
    profile: ExposedProfile | Mapping[str, Any] | str | Path | None = None,
    alpha: Fraction | float | str | None = None,
    top: int = TOP,
    fusion: Fusion = "ranks",
    language: str | None = None,
) -> SearchAnswer:
    """Ask an index, or an engine by its address, and order what it gives by an exposed profile.

    The engine gets the query and nothing of the profile. `language`: of its pages; english unless
    told. An index knows its own.
    """
    exposed = None
    if isinstance(profile, str | Path):
        exposed = ExposedProfile.load(profile)
    elif profile is not None:
        exposed = ExposedProfile.of(profile)
    if (index is None) == (engine is None):
        raise InputError(
            "one of --index and --engine says where to search", where="search query",
            do="give  --index INDEX  or  --engine URL.",
        )  # fmt: skip
    if engine is None:
        if language is not None:
            raise InputError(
                "an index knows its language", where="--language", do="leave it out."
            )  # fmt: skip
        found: SearchEngine = LocalIndex.open(index or "")
        spoken = None
    else:
        spoken = None if language is None else Language(language)
        found = engine_at(engine)
    return answer(found, asked, exposed, alpha=alpha, top=top, fusion=fusion, language=spoken)


# --- reading -------------------------------------------------------------------------------------


@dataclass(slots=True)
class _TextsRead:
    """What comes of some places: documents on their way through, and what is to be told of them."""

    besides: str | Path | None = None  # what is written meanwhile, perhaps below a place
    kinds: Counter[str] = field(default_factory=Counter)
    skipped: list[SkippedFile] = field(default_factory=list)

    def of(self, places: Sequence[str | Path], watch: Watch) -> Iterator[PersonalDocument]:
        """All documents, one after the other."""
        own = None if self.besides is None else os.path.abspath(self.besides)
        for found in read_documents(places, watch=watch):
            if own is not None and f"{os.path.abspath(found.place)}/".startswith(f"{own}/"):
                continue
            if isinstance(found, SkippedFile):
                self.skipped.append(found)
            else:
                self.kinds[found.kind] += 1
                yield found

    def some_of(self, places: Sequence[str | Path], watch: Watch) -> Iterator[PersonalDocument]:
        """The same, and where there is nothing at all, a refusal: an index would be emptied."""
        yield from self.of(places, watch)
        if not self.kinds:
            raise self.nothing("document", places)

    def told(self) -> ReadTexts:
        """All that is to be told of it."""
        return ReadTexts(dict(self.kinds), tuple(self.skipped))

    def nothing(self, what: str, places: Sequence[str | Path]) -> InputError:
        """Why nothing comes of these places."""
        read, skipped = sum(self.kinds.values()), len(self.skipped)
        reasons = Counter(one.reason for one in self.skipped).most_common(3)
        of_it = ": " + "; ".join(f"{n:,} {why}" for why, n in reasons) if reasons else ""
        return InputError(
            f"there is no {what}",
            where=str(places[0]) if len(places) == 1 else many(len(places), "place"),
            why=f"{many(read, 'document')} read, {many(skipped, 'file')} skipped{of_it}.",
            do="name other files or folders.",
        )


def _guessed(
    documents: Iterable[PersonalDocument],
) -> tuple[GuessedLanguage, Iterable[PersonalDocument]]:
    """The language that the first documents are in, and all documents."""
    coming = iter(documents)
    ahead, heard, words = list[PersonalDocument](), list[list[str]](), 0
    for document in coming:
        ahead.append(document)
        heard.append(words_of(document.text))
        words += len(heard[-1])
        if words >= LOOKED_AT:
            break
    return guessed_language(heard), chain(ahead, coming)


@dataclass(slots=True)
class _TermsCounted:
    """The terms of each document that count, and how often people write each word."""

    language: Language
    most: int | None
    documents: list[list[str]] = field(default_factory=list)
    wordless: int = 0
    words: Counter[str] = field(default_factory=Counter)

    def take(self, text: str) -> None:
        words = words_of(text)
        self.words.update(words)
        for part in parts(words):
            terms = keywords_of(self.language.terms(part), self.most)
            if terms:
                self.documents.append(terms)
            else:
                self.wordless += 1

    def written(self, profile: Profile) -> dict[str, str]:
        """Each term of a profile by its commonest word; of equally common ones, the first."""
        asked = {term for node in profile.walk() for term in node.terms}
        best: dict[str, tuple[int, str]] = {}
        for word, count in self.words.items():
            if (term := self.language[word]) in asked:
                best[term] = min(best.get(term, (0, word)), (-count, word))
        return {term: word for term, (_, word) in best.items()}


# --- refusing ------------------------------------------------------------------------------------


def _listed(places: Places) -> list[str | Path]:
    found = [places] if isinstance(places, str | Path) else [*places]
    if not found:
        raise InputError(
            "there is nothing to read", where="documents",
            do="name files, or folders of them.",
        )  # fmt: skip
    return found


def _check_numbers(keywords: int | None, minsup: int | None) -> None:
    for option, given in (("--keywords", keywords), ("--minsup", minsup)):
        if given is not None and given < 1:
            raise InputError("this number is 1 or more", where=option, do="give another, or none.")


def _check_output(output: str | Path, inputs: Sequence[str | Path], *, force: bool) -> None:
    """Refuse an output that is read; one beside what is read, in its folder, is fine."""
    refuse_inputs([Path(output)], [Path(path) for path in inputs if not Path(path).is_dir()])
    check_free(Path(output), force=force)


def _notes(profile: Profile, language: Language) -> Iterator[str]:
    if not language.has_stop_words:
        yield (
            f"No stop words are known for {language.name}: words that say nothing count as terms. "
            "--stop-words FILE gives some."
        )
    if not profile.nodes:
        yield (
            f"No word stands in {many(profile.minsup, 'document')} or more, so there is no "
            "interest. More documents help, or a smaller --minsup."
        )


def _other_languages(guessed: GuessedLanguage) -> Iterator[str]:
    if guessed.others:
        yield (
            f"Part of the texts seems to be {' or '.join(guessed.others)}; all are read as "
            f"{guessed.name}. Each language for itself, by --language, tells more."
        )
