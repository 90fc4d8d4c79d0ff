"""What simulated users get of an engine, and of an engine that knows a part of their profile.

    own       a user asks, and tells of the user's own profile
    other     the same, with the profile of somebody else: what a wrong profile does
    several   users with three interests in one profile
    by branch the same, where each branch of a profile counts by how much the engine's first
              results speak of it, as on the page that searches

    one, two  the query cut down to its most ambiguous words
    whole     the query as it was asked, α as people get it, which is 0 beyond two words
    whole, α  the query as it was asked, α as for short ones: why it is 0

Of an engine's results the user's own documents are taken out, and the first 50 of the rest ordered
anew. Where none of these is relevant, or all are, no order is better than another: left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reticent.search.engines import SearchEngine
from reticent.search.evaluation.judged import JudgedCollection
from reticent.search.evaluation.measuring import Floats, average_precision
from reticent.search.evaluation.shelf import Ints, TermShelf, fused
from reticent.search.evaluation.users import (
    MOST_READ,
    UserTrial,
    most_even,
    simulated_users,
    stands_in,
    trials_of,
    users_of_several,
)
from reticent.search.exposing import exposure_levels, exposure_of, levels_within
from reticent.search.profile import KEYWORDS, Profile, grown, keywords_of
from reticent.search.ranking import ALPHA, SHORT, TOP, Fusion
from reticent.search.words import Language, parts, words_of

Group = Literal["own", "own, by branch", "other", "several", "several, by branch"]
QueryForm = Literal["one", "two", "whole", "whole, α"]
GROUPS: tuple[Group, ...] = ("own", "own, by branch", "other", "several", "several, by branch")
FORMS: tuple[QueryForm, ...] = ("one", "two", "whole", "whole, α")
FUSIONS: tuple[Fusion, ...] = ("ranks", "scores")
_STRANGER = 97  # a seed of its own, for whose profile is taken instead


@dataclass(frozen=True, slots=True)
class AskedQuery:
    """What came of one query of one user, for each fusion and each share of a profile."""

    group: Group
    form: QueryForm
    seed: int
    user: str
    query: int
    engine: float  # AP of the engine's order
    found: NDArray[np.float64] = field(repr=False)  # AP: a row a fusion, a column a ratio


@dataclass(frozen=True, slots=True)
class ClusteringRun:
    """One clustering: its users and what they got."""

    seed: int
    users: int
    several: int  # users with three interests
    trials: int
    left_out: int  # folds of one interest with too little to read
    reached: Mapping[Group, tuple[float, ...]]  # for each ratio asked, the mean of those that came
    asked: tuple[AskedQuery, ...]


class SearchExperiment:
    """A collection and an engine over it, ready for users."""

    def __init__(
        self,
        collection: JudgedCollection,
        engine: SearchEngine,
        language: Language,
        ratios: Sequence[Fraction],
    ) -> None:
        """Take everything apart once that all users share."""
        self.collection, self.ratios = collection, tuple(ratios)
        texts = [words_of(f"{one.title}\n{one.text}") for one in collection.documents]
        terms = [language.terms(words) for words in texts]
        self.shelf = TermShelf(terms)
        self.keywords = [
            [keywords_of(found) for part in parts(words) if (found := language.terms(part))]
            for words in texts
        ]
        self.language = language.name
        self.terms = [language.terms(query.text) for query in collection.queries]
        place = {one.place: i for i, one in enumerate(collection.documents)}
        stands = stands_in(terms, collection.part_of)
        self.asked_as: dict[tuple[int, QueryForm], str] = {}
        self._answers: dict[tuple[int, QueryForm], tuple[Ints, Floats]] = {}
        self._alpha: dict[tuple[int, QueryForm], Fraction] = {}
        for i, query in enumerate(collection.queries):
            for form, words in _forms(query.text, language, stands):
                # Further down than anybody looks: what a user has read is taken out of it.
                pages = engine.ask(words, TOP + MOST_READ)
                places = np.array([place[page.place] for page in pages], dtype=np.intp)
                scores = np.array([page.score for page in pages], dtype=np.float64)
                self.asked_as[i, form] = words
                self._answers[i, form] = places, scores
                short = form != "whole" or 0 < len(self.terms[i]) <= SHORT
                self._alpha[i, form] = ALPHA if short else Fraction(0)

    def run(
        self, seed: int, tell: Callable[[int, int], None] = lambda at, of: None
    ) -> ClusteringRun:
        """Everything that the users of one clustering ask."""
        users = simulated_users(self.terms, seed)
        with_three = users_of_several(users)
        dealt = [trials_of(user, self.collection.queries) for user in users]
        trials = [trial for some, _ in dealt for trial in some]
        several = [t for user in with_three for t in trials_of(user, self.collection.queries)[0]]
        asked: list[AskedQuery] = []
        told = [self._told(trial.read) for trial in trials]
        for i, (trial, other) in enumerate(zip(trials, _strangers(trials), strict=True)):
            asked += self._asked("own", trial, told[i].whole)
            asked += self._asked("own, by branch", trial, told[i].branches)
            asked += self._asked("other", trial, told[other].whole)
            tell(i, len(trials) + len(several))
        of_several = []
        for i, trial in enumerate(several):
            one = self._told(trial.read)
            of_several.append(one.ratios)
            asked += self._asked("several", trial, one.whole)
            asked += self._asked("several, by branch", trial, one.branches)
            tell(len(trials) + i, len(trials) + len(several))
        own, three = self._mean([one.ratios for one in told]), self._mean(of_several)
        reached: dict[Group, tuple[float, ...]] = {
            group: three if group.startswith("several") else own for group in GROUPS
        }
        return ClusteringRun(
            seed, len(users), len(with_three), len(trials), sum(out for _, out in dealt),
            reached, tuple(asked),
        )  # fmt: skip

    def _mean(self, ratios: Sequence[Sequence[float]]) -> tuple[float, ...]:
        return tuple(map(float, np.mean(ratios, axis=0))) if ratios else (0.0,) * len(self.ratios)

    def results(
        self, query: int, form: QueryForm, read: Sequence[int]
    ) -> tuple[Ints, Floats, NDArray[np.bool_]] | None:
        """Documents as the engine orders them, its scores, and which are relevant.

        None where there is no such query, or no order is better than another.
        """
        if (query, form) not in self._answers:
            return None
        pages, scores = self._answers[query, form]
        unread = ~np.isin(pages, read)
        pages, scores = pages[unread][:TOP], scores[unread][:TOP]
        answers = self.collection.queries[query].relevant
        relevant = np.array([page in answers for page in pages.tolist()], dtype=np.bool_)
        return (pages, scores, relevant) if relevant.any() and not relevant.all() else None

    def profile_of(self, read: Sequence[int]) -> Profile:
        """The profile of somebody who has read this."""
        documents = [terms for i in read for terms in self.keywords[i]]
        return grown(documents, language=self.language, keywords=KEYWORDS)

    def _told(self, read: Sequence[int]) -> _ToldParts:
        """What is told of somebody who has read this, at each ratio."""
        profile = self.profile_of(read)
        levels = exposure_levels(profile)
        found = _ToldParts([], [], [])
        for most in self.ratios:
            exposure = exposure_of(profile, levels_within(levels, most), frozenset())
            exposed = exposure.exposed
            found.whole.append([exposed.weights()])
            found.branches.append([part.weights() for _, part in exposure.branches()])
            found.ratios.append(exposed.ratio)
        return found

    def _asked(
        self, group: Group, trial: UserTrial, told: Sequence[Sequence[Mapping[str, float]]]
    ) -> Iterator[AskedQuery]:
        """What a user gets for each query that this fold asks."""
        several = [self.shelf.vectors(parts) for parts in told]
        for query in trial.asked:
            for form in FORMS:
                given = self.results(query, form, trial.read)
                if given is None:
                    continue
                pages, scores, relevant = given
                vectors = np.array([self.shelf.fitted(pages, parts) for parts in several])
                found = np.empty((len(FUSIONS), len(told)))
                for row, fusion in enumerate(FUSIONS):
                    for column, worth in enumerate(self.shelf.scores(pages, vectors, fusion)):
                        order = fused(worth, scores, self._alpha[query, form], fusion)
                        found[row, column] = average_precision(relevant[order])
                yield AskedQuery(
                    group, form, trial.user.seed, trial.user.name, query,
                    average_precision(relevant), found,
                )  # fmt: skip


class _ToldParts(NamedTuple):
    """Weights of terms at each ratio: as one profile, and of each branch; and what came of it."""

    whole: list[list[dict[str, float]]]
    branches: list[list[dict[str, float]]]
    ratios: list[float]


def _forms(
    query: str, language: Language, stands: Mapping[str, Sequence[int]]
) -> Iterator[tuple[QueryForm, str]]:
    """A query as it is, and cut down to one or two of its words."""
    first: dict[str, str] = {}
    for word in words_of(query):
        first.setdefault(language[word], word)
    best = most_even([term for term in first if term], stands)
    if best:
        yield "one", first[best[0]]
    if len(best) > 1:
        yield "two", f"{first[best[0]]} {first[best[1]]}"
    if any(first):
        yield "whole", query
        yield "whole, α", query


def _strangers(trials: Sequence[UserTrial]) -> list[int]:
    """For each trial one of another user; its own where there is no other user."""
    seed = trials[0].user.seed if trials else 0
    random = np.random.default_rng([_STRANGER, seed])
    found = []
    for i, trial in enumerate(trials):
        others = [j for j, other in enumerate(trials) if other.user != trial.user]
        found.append(int(random.choice(others)) if others else i)
    return found
