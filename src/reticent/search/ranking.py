"""Results in the order of somebody's interests and of the engine, together.

Source: the thesis *Preserving individual privacy* (paper 003), 5.2.3: UPScore, UPRank, PPRank.

    UPScore     Σ weight · tf over the terms of an exposed profile
    UPRank      the place of a result by that, 1 the best; of equals, the engine's first
    PPRank      α·UPRank + (1−α)·EngineRank: lower is better, of equals the engine's first

**Where we differ from the paper.** It has one order of ranks, and one α for all queries. `SCORES`
is the second form: weights times BM25's tf, which a word that is said twenty times does not run
away with, both sides scaled to 0..1 among the results. Queries of three words and more say by
themselves what is meant, stop words and numbers not counted: there α is 0, as every form that was
measured did harm. And who has several interests may give each as a profile of its own, as
`ProfileExposure.branches` does: each counts by how much the engine's own first results speak of it,
so that those that a query is not about leave its results alone
(docs/how-much-does-a-profile-help.md).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from reticent.errors import InputError, many
from reticent.releases.spoken import Spoken
from reticent.search.engines import FoundPage, SearchEngine
from reticent.search.exposing import ExposedProfile, share_of
from reticent.search.words import USUAL, Language

Fusion = Literal["ranks", "scores"]
ALPHA = Fraction(2, 5)
SHORT = 2  # words of a query that may mean several things
TOP, MOST = 50, 1000  # results asked of an engine
FIRST = 10  # results that tell which of several interests a query is about
BM25_K1, BM25_B = 1.2, 0.75  # how soon more of a word says no more; how much long texts pay


@dataclass(frozen=True, slots=True)
class RankedPage:
    """A result in its new place."""

    page: FoundPage
    rank: int  # from 1
    engine_rank: int
    profile_rank: int
    profile_score: float
    # Terms of the profile in it and how often, most first.
    because: tuple[tuple[str, int], ...] = field(repr=False)


@dataclass(frozen=True, slots=True, repr=False)
class SearchAnswer(Spoken):
    """Results in their new order, and how they came into it."""

    query: str = field(repr=False)
    pages: tuple[RankedPage, ...]
    alpha: Fraction
    fusion: Fusion

    def __repr__(self) -> str:
        return f"<SearchAnswer: {many(len(self.pages), 'result')}>"

    def _says(self, words: Any) -> str:
        said: str = words.answered(self, personal=self.alpha > 0)
        return said


def answer(
    engine: SearchEngine,
    query: str,
    exposed: ExposedProfile | Sequence[ExposedProfile] | None = None,
    *,
    alpha: Fraction | float | str | None = None,
    top: int = TOP,
    fusion: Fusion = "ranks",
    language: Language | None = None,
) -> SearchAnswer:
    """Ask an engine, and order what it gives by what was exposed of somebody's interests.

    The engine is asked with the query alone, and asked once. Several profiles are interests of one
    person, of which each query is about some.
    """
    if not query.strip():
        raise InputError("there is no query", where="search query", do="say what to look for.")
    if not 1 <= top <= MOST:
        raise InputError(f"this number lies between 1 and {MOST:,}", where="--top", do="give 50.")
    language = language or Language(engine.language or USUAL)
    several = [exposed] if isinstance(exposed, ExposedProfile) else exposed or ()
    if alpha is not None:
        share = share_of("--alpha", alpha)
    elif any(one.terms for one in several):
        share = usual_alpha(query, language)
    else:
        share = Fraction(0)
    found = engine.ask(query, top)
    weights = fitted([one.weights() for one in several], found, language)
    return SearchAnswer(
        query, tuple(ranked(found, weights, language, share, fusion)), share, fusion
    )


def usual_alpha(query: str, language: Language) -> Fraction:
    """How much a profile counts: for one or two words, 0.4; for more of them or none, nothing.

    Stop words and numbers do not count: they say little of what is meant.

    >>> usual_alpha("the jaguar", Language()), usual_alpha("how fast a jaguar runs", Language())
    (Fraction(2, 5), Fraction(0, 1))
    >>> usual_alpha("The Who 1967", Language())
    Fraction(0, 1)
    """
    return ALPHA if 0 < len(language.terms(query)) <= SHORT else Fraction(0)


def fitted(
    several: Sequence[Mapping[str, float]], pages: Sequence[FoundPage], language: Language
) -> Mapping[str, float]:
    """The weights of several interests together, each by how much the first results speak of it.

    How much that is, 1 for the interest that they speak of most, counts squared. A single interest
    stays as it is.
    """
    if len(several) < 2:
        return several[0] if several else {}
    known = {term: 1.0 for weights in several for term in weights}
    counts = [_counts(page.text, known, language) for page in pages]
    lengths = [len(language.terms(page.text)) for page in pages]
    said: defaultdict[str, float] = defaultdict(float)
    for one in _tempered(counts, lengths)[:FIRST]:
        for term, count in one.items():
            said[term] += count
    fits = [_likeness(weights, said) for weights in several]
    most = max(fits)
    together: defaultdict[str, float] = defaultdict(float)
    for weights, fit in zip(several, fits, strict=True):
        if fit or not most:
            for term, weight in weights.items():
                together[term] += weight * ((fit / most) ** 2 if most else 1.0)
    return dict(together)


def _likeness(weights: Mapping[str, float], said: Mapping[str, float]) -> float:
    """The cosine of an interest and what is said, but for the length of that."""
    length = math.hypot(*weights.values())
    both = math.fsum(weight * said.get(term, 0.0) for term, weight in weights.items())
    return both / length if length else 0.0


def ranked(
    pages: Sequence[FoundPage],
    weights: Mapping[str, float],
    language: Language,
    alpha: Fraction,
    fusion: Fusion = "ranks",
) -> list[RankedPage]:
    """Order an engine's results anew."""
    counts = [_counts(page.text, weights, language) for page in pages]
    if fusion == "scores":
        lengths = [len(language.terms(page.text)) for page in pages]
        scores = _saturated(counts, weights, lengths)
    else:
        scores = [sum(weights[t] * n for t, n in count.items()) for count in counts]
    every = range(len(pages))
    by_profile = sorted(every, key=lambda i: (-scores[i], i))
    place = {page: rank for rank, page in enumerate(by_profile, 1)}
    if fusion == "scores":
        ours, theirs = _scaled(scores), _scaled([page.score for page in pages])
        share = float(alpha)
        merit = [share * a + (1 - share) * b for a, b in zip(ours, theirs, strict=True)]
        order = sorted(every, key=lambda i: (-merit[i], i))
    else:
        above, below = alpha.as_integer_ratio()
        order = sorted(every, key=lambda i: (above * place[i] + (below - above) * (i + 1), i))
    return [
        RankedPage(pages[i], rank, i + 1, place[i], scores[i], _most_first(counts[i]))
        for rank, i in enumerate(order, 1)
    ]


def _counts(text: str, weights: Mapping[str, float], language: Language) -> Counter[str]:
    return Counter(term for term in language.terms(text) if term in weights)


def _most_first(counts: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def _saturated(
    counts: Sequence[Counter[str]], weights: Mapping[str, float], lengths: Sequence[int]
) -> list[float]:
    """Weights times BM25's tf, lengths measured against the mean of these results."""
    return [
        sum(weights[term] * count for term, count in sorted(one.items()))
        for one in _tempered(counts, lengths)
    ]


def _tempered(counts: Sequence[Counter[str]], lengths: Sequence[int]) -> list[dict[str, float]]:
    """BM25's tf of every term of every result."""
    mean = sum(lengths) / len(lengths) if any(lengths) else 1.0
    damp = [BM25_K1 * (1 - BM25_B + BM25_B * length / mean) for length in lengths]
    return [
        {term: n * (BM25_K1 + 1) / (n + damped) for term, n in count.items()}
        for count, damped in zip(counts, damp, strict=True)
    ]


def _scaled(scores: Sequence[float]) -> list[float]:
    """Scores on a scale from 0, the least of these, to 1; all 0 where they are equal."""
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    return [(score - low) / (high - low) if high > low else 0.0 for score in scores]
