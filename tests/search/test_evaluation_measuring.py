"""How good an order is, by hand; and the same order as in a search."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.search.engines import FoundPage
from reticent.search.evaluation.measuring import (
    MeanWithInterval,
    average_precision,
    mean_over_users,
    over_clusterings,
)
from reticent.search.evaluation.shelf import TermShelf, fused
from reticent.search.ranking import Fusion, fitted, ranked
from reticent.search.words import Language


def test_average_precision_by_hand() -> None:
    assert average_precision([False, True, True, False, True]) == pytest.approx(
        (1 / 2 + 2 / 3 + 3 / 5) / 3
    )
    assert average_precision([True, True, False]) == 1
    assert average_precision([False, False]) == 0
    assert average_precision([]) == 0


def test_an_interval_is_about_users_and_not_about_queries() -> None:
    values = [0.2] * 50 + [0.0] * 50
    many = mean_over_users(values, range(100))
    few = mean_over_users(values, [0] * 50 + [1] * 50)
    assert many.mean == few.mean == pytest.approx(0.1)
    assert (few.low, few.high) == pytest.approx((0.0, 0.2))
    assert 0.07 < many.low < 0.1 < many.high < 0.13
    assert many.above_zero
    assert not few.above_zero
    assert mean_over_users(values, range(100)) == many


def test_clusterings_are_no_further_users() -> None:
    found = [MeanWithInterval(0.1, 0.0, 0.2), MeanWithInterval(0.3, 0.2, 0.4)]
    both = over_clusterings(found)
    assert (both.mean, both.low, both.high) == pytest.approx((0.2, 0.1, 0.3))
    assert np.isnan(over_clusterings([]).mean)
    assert np.isnan(mean_over_users([], []).mean)


texts = st.lists(st.sampled_from(["aa", "bb", "cc", "dd"]), max_size=6)
weighed = st.dictionaries(
    st.sampled_from(["aa", "bb", "zz"]), st.integers(0, 3000).map(lambda w: w / 1000)
)


@given(
    st.lists(texts, min_size=1, max_size=8), weighed, st.sampled_from(["0", "1/3", "2/5", "1"]),
    st.sampled_from(["ranks", "scores"]), st.lists(st.integers(0, 3), min_size=8, max_size=8),
)  # fmt: skip
def test_the_same_order_as_in_a_search(
    documents: list[list[str]], weights: dict[str, float], alpha: str, fusion: Fusion, by: list[int]
) -> None:
    """Pages whose merits differ by rounding alone may change places."""
    scores = sorted((float(score) for score in by[: len(documents)]), reverse=True)
    pages = [
        FoundPage(str(i), "", " ".join(terms), score)
        for i, (terms, score) in enumerate(zip(documents, scores, strict=True))
    ]
    shown = ranked(pages, weights, Language("none"), Fraction(alpha), fusion)
    shelf = TermShelf([["other"], *documents])
    found = np.arange(1, len(documents) + 1)
    [ours] = shelf.scores(found, shelf.vectors([weights]).toarray(), fusion)
    by_engine = sorted(shown, key=lambda one: one.engine_rank)
    assert list(ours) == pytest.approx([one.profile_score for one in by_engine])
    exact = np.array([one.profile_score for one in by_engine])
    # What is within rounding of an equal is an equal here.
    if len({*np.round(exact, 9)}) == len({*exact}):
        order = fused(exact, np.array(scores), Fraction(alpha), fusion)
        assert [str(i) for i in order] == [one.page.place for one in shown]


@given(st.lists(texts, min_size=1, max_size=14), st.lists(weighed, max_size=4))
def test_several_interests_as_in_a_search(
    documents: list[list[str]], several: list[dict[str, float]]
) -> None:
    pages = [FoundPage(str(i), "", " ".join(terms), 1.0) for i, terms in enumerate(documents)]
    shelf = TermShelf([["aa", "bb", "zz"], *documents])  # as all who read documents of a shelf
    ours = shelf.fitted(np.arange(1, len(documents) + 1), shelf.vectors(several))
    together = fitted(several, pages, Language("none"))
    assert list(ours) == pytest.approx(list(shelf.vectors([together]).toarray()[0]))
