"""Simulated users: the same ones every time, and nobody has read what answers their questions."""

from __future__ import annotations

import pytest

from reticent.errors import InputError
from reticent.search.evaluation.judged import JudgedQuery
from reticent.search.evaluation.users import (
    MOST_READ,
    SimulatedUser,
    most_even,
    simulated_users,
    stands_in,
    trials_of,
    users_of_several,
)

TOPICS = [f"topic{i}" for i in range(30)]
QUERIES = [[topic, topic, f"word{i % 7}"] for i in range(6) for topic in TOPICS]


def test_queries_of_one_kind_are_one_user() -> None:
    found = simulated_users(QUERIES, 11)
    assert found == simulated_users(QUERIES, 11)
    assert found != simulated_users(QUERIES, 12)  # which tells at least whose seed it is
    asked = [{QUERIES[i][0] for i in user.queries} for user in found]
    assert sorted(asked, key=str) == sorted(({topic} for topic in TOPICS), key=str)
    assert [user.name for user in found[:2]] == ["11-1", "11-2"]


def test_small_clusters_are_nobody() -> None:
    found = simulated_users(QUERIES[:119], 11)
    assert sorted(len(user.queries) for user in found) == [4] * 29


@pytest.mark.parametrize(
    ("queries", "said"), [(QUERIES[:29], "29 judged queries"), ([[str(i)] for i in range(40)], "share no")]
)  # fmt: skip
def test_collections_that_are_too_small_are_refused(queries: list[list[str]], said: str) -> None:
    with pytest.raises(InputError, match=said):
        simulated_users(queries, 11)


def test_three_interests_are_three_clusters_used_once() -> None:
    users = [SimulatedUser(f"7-{i}", 7, (2 * i, 2 * i + 1)) for i in range(8)]
    found = users_of_several(users)
    assert found == users_of_several(users)
    assert [len(user.queries) for user in found] == [6, 6]
    asked = [query for user in found for query in user.queries]
    assert len(set(asked)) == len(asked)
    assert all(user.name.count("+") == 2 for user in found)
    assert users_of_several([]) == []


def answered_by(*relevant: range) -> list[JudgedQuery]:
    return [JudgedQuery(str(i), "", frozenset(some)) for i, some in enumerate(relevant)]


def test_folds_by_hand() -> None:
    """Five queries, one a fold; two share answers, and one is answered by many documents."""
    queries = answered_by(range(4), range(2, 6), range(10, 14), range(20, 24), range(30, 300))
    found, left_out = trials_of(SimulatedUser("1-1", 1, (0, 1, 2, 3, 4)), queries)
    assert (found, left_out) == trials_of(SimulatedUser("1-1", 1, (0, 1, 2, 3, 4)), queries)
    assert left_out == 0
    assert sorted(trial.asked for trial in found) == [(0,), (1,), (2,), (3,), (4,)]
    by_query = {trial.asked[0]: trial.read for trial in found}
    assert len(by_query[0]) == MOST_READ  # of 282
    assert list(by_query[4]) == [*range(6), *range(10, 14), *range(20, 24)]
    for trial in found:
        assert not queries[trial.asked[0]].relevant & {*trial.read}
        assert [*trial.read] == sorted({*trial.read})


def test_who_has_read_little_is_left_out() -> None:
    queries = answered_by(range(3), range(3, 6), range(6, 9), range(9, 13))
    found, left_out = trials_of(SimulatedUser("1-1", 1, (0, 1, 2, 3)), queries)
    assert left_out == 1  # of 13 documents, nine are read by whom the last query is asked
    assert sorted(trial.asked for trial in found) == [(0,), (1,), (2,)]
    many, none = trials_of(
        SimulatedUser("1-1", 1, tuple(range(12))),
        answered_by(*[range(i * 9, i * 9 + 9) for i in range(12)]),
    )
    assert none == 0
    assert sorted(len(trial.asked) for trial in many) == [2, 2, 2, 3, 3]


def test_what_a_short_query_is_made_of() -> None:
    documents = [["flow", "tea"]] * 3 + [["flow"]] * 3 + [["tea"]] * 3 + [["rare"]] * 4
    stands = stands_in(documents, [0] * 3 + [1] * 3 + [0] * 3 + [1] * 4)
    assert stands == {"flow": (3, 3), "rare": (0, 4), "tea": (6, 0)}
    assert most_even(["tea", "rare", "flow", "flow", "unknown"], stands) == ["flow", "tea"]
    even = {"a": (50, 50), "b": (9, 1), "c": (8, 2), "d": (7, 3), "e": (6, 5), "f": (3, 3)}
    assert most_even(list(even), even) == ["f", "d", "c", "b"]  # neither a nor e: of the rarest
    assert most_even(["a", "b", "e"], even) == ["a", "e", "b"]
