"""People who do not exist: what they are interested in, what they have read, and what they ask.

Nobody publishes personal documents with judged queries. So users are made of a collection: queries
of one kind are one user's, what answers some of them is what the user has read, and the others are
what the user asks. The simulation is part of every number that comes of it.

    cluster       k-means over sublinear tf-idf of the queries' terms; four queries or more
    fold          a fifth of a user's queries is asked, the others tell what the user has read
    personal      documents that answer one of those others, and none that is asked; at most 200
    shortened     of the four rarest words of a query, one or two that all collections use most
                  evenly: those that mean several things
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from warnings import catch_warnings, simplefilter

import numpy as np

from reticent.errors import InputError, many
from reticent.search.evaluation.judged import JudgedQuery

CLUSTERS, STARTS = 30, 5  # of k-means
LEAST_QUERIES = 4  # of a user
FOLDS = 5
LEAST_READ, MOST_READ = 10, 200  # personal documents of a fold
RAREST, LEAST_STANDS = 4, 5  # words that a short query is made of, and documents they stand in


@dataclass(frozen=True, slots=True)
class SimulatedUser:
    """Somebody with an interest or several, each a cluster of queries."""

    name: str
    seed: int  # of the clustering
    queries: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class UserTrial:
    """What a user has read, and what the same user asks."""

    user: SimulatedUser
    asked: tuple[int, ...]  # queries
    read: tuple[int, ...]  # documents, at least ten, none of which answers what is asked


def simulated_users(queries: Sequence[Sequence[str]], seed: int) -> list[SimulatedUser]:
    """Users of one clustering of queries, each told by its terms."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.feature_extraction.text import TfidfVectorizer
    from threadpoolctl import threadpool_limits

    if len(queries) < CLUSTERS:
        raise InputError(
            f"the collection is too small: {many(len(queries), 'judged query', 'judged queries')}",
            where="search evaluate", why=f"users are {CLUSTERS} clusters of queries.",
            do=f"give a collection of {CLUSTERS * LEAST_QUERIES} or more, or several in a folder.",
        )  # fmt: skip
    weighing = TfidfVectorizer(analyzer=list, sublinear_tf=True, min_df=2)
    try:
        weighed = weighing.fit_transform(queries)
    except ValueError:
        raise InputError(
            "the queries share no words", where="search evaluate",
            why="users are clusters of queries that do.", do="give a collection of more queries.",
        ) from None  # fmt: skip
    with threadpool_limits(1), catch_warnings():  # threads add up in an order of their own
        simplefilter("ignore", ConvergenceWarning)  # fewer kinds of queries: some have nobody
        found = KMeans(CLUSTERS, n_init=STARTS, random_state=seed).fit_predict(weighed)
    members = [np.flatnonzero(found == cluster).tolist() for cluster in range(CLUSTERS)]
    members = sorted(some for some in members if len(some) >= LEAST_QUERIES)
    return [SimulatedUser(f"{seed}-{i}", seed, tuple(some)) for i, some in enumerate(members, 1)]


def users_of_several(users: Sequence[SimulatedUser], interests: int = 3) -> list[SimulatedUser]:
    """The same interests, dealt out to fewer users; those that are left over are nobody's."""
    if not users:
        return []
    seed = users[0].seed
    order = np.random.default_rng([seed, interests]).permutation(len(users)).tolist()
    whole = len(order) - len(order) % interests
    groups = [order[start : start + interests] for start in range(0, whole, interests)]
    return [
        SimulatedUser(
            "+".join(users[i].name for i in sorted(group)), seed,
            tuple(query for i in sorted(group) for query in users[i].queries),
        )
        for group in groups
    ]  # fmt: skip


def trials_of(user: SimulatedUser, queries: Sequence[JudgedQuery]) -> tuple[list[UserTrial], int]:
    """The folds of a user, and how many are left out since too little was read."""
    random = np.random.default_rng([user.seed, *user.queries])
    order = random.permutation(user.queries).tolist()
    found, left_out = [], 0
    for fold in range(min(FOLDS, len(order))):
        asked = sorted(order[fold::FOLDS])
        answers = frozenset[int]().union(*(queries[i].relevant for i in asked))
        others = set(order) - set(asked)
        read = sorted(frozenset[int]().union(*(queries[i].relevant for i in others)) - answers)
        if len(read) > MOST_READ:
            read = sorted(random.choice(read, MOST_READ, replace=False).tolist())
        if len(read) < LEAST_READ:
            left_out += 1
        else:
            found.append(UserTrial(user, tuple(asked), tuple(read)))
    return found, left_out


# --- short queries -------------------------------------------------------------------------------


def stands_in(
    documents: Sequence[Sequence[str]], part_of: Sequence[int]
) -> dict[str, tuple[int, ...]]:
    """In how many documents of each collection a term stands."""
    parts = max(part_of, default=0) + 1
    counts = [Counter[str]() for _ in range(parts)]
    for terms, part in zip(documents, part_of, strict=True):
        counts[part].update(set(terms))
    every = sorted(set().union(*counts))
    return {term: tuple(count[term] for count in counts) for term in every}


def most_even(terms: Sequence[str], stands: Mapping[str, Sequence[int]]) -> list[str]:
    """Of a query's four rarest terms, those that all collections use most evenly first.

    >>> most_even(["tea", "flow", "of"], {"tea": (9, 0), "flow": (4, 4), "of": (2, 2)})
    ['flow', 'tea']
    """
    known = sorted({term for term in terms if sum(stands.get(term, ())) >= LEAST_STANDS})
    rarest = sorted(known, key=lambda term: sum(stands[term]))[:RAREST]
    return sorted(rarest, key=lambda term: -_evenness(stands[term]))


def _evenness(counts: Sequence[int]) -> float:
    """The entropy of counts, rounded so that equals are equal."""
    whole = sum(counts)
    return round(-sum(n / whole * log(n / whole) for n in counts if n), 12)
