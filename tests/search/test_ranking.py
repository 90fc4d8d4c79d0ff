"""Results in the order of a profile and of an engine, from the definition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.errors import InputError
from reticent.search.engines import FoundPage
from reticent.search.exposing import ExposedProfile
from reticent.search.ranking import Fusion, answer, fitted, ranked, usual_alpha
from reticent.search.words import Language

NONE = Language("none")


def pages(*texts: str) -> list[FoundPage]:
    return [FoundPage(f"p{i}", "", text, 10.0 - i) for i, text in enumerate(texts)]


def order(found: Sequence[FoundPage], weights: dict[str, float], alpha: str, fusion: Fusion) -> str:
    shown = ranked(found, weights, NONE, Fraction(alpha), fusion)
    return "".join(one.page.place[1:] for one in shown)


def test_by_hand() -> None:
    found = pages("tea tea", "run shoe", "run run", "none")
    weights = {"run": 1.0, "shoe": 0.5}  # scores 0, 1.5, 2, 0; so places 3, 2, 1, 4
    assert order(found, weights, "0", "ranks") == "0123"
    assert order(found, weights, "1", "ranks") == "2103"
    # 0.4: 0.4·3 + 0.6·1 = 1.8; 0.8 + 1.2 = 2; 0.4 + 1.8 = 2.2; 1.6 + 2.4 = 4
    assert order(found, weights, "2/5", "ranks") == "0123"
    assert order(found, weights, "1/2", "ranks") == "0123"  # all three 2: ties to the engine
    assert order(found, weights, "3/5", "ranks") == "2103"  # 2.2, 2, 1.8


def test_scores_by_hand() -> None:
    """Two results of equal length: tf saturates as n·2.2/(n + 1.2)."""
    found = [
        FoundPage("p0", "", "sea sea sea run", 1.0),
        FoundPage("p1", "", "run run run sea", 0.0),
    ]
    shown = ranked(found, {"run": 2.0}, NONE, Fraction(1, 2), "scores")
    assert [one.profile_score for one in shown] == pytest.approx(
        [2 * 1 * 2.2 / (1 + 1.2), 2 * 3 * 2.2 / (3 + 1.2)]
    )
    assert [one.page.place for one in shown] == ["p0", "p1"]  # ½ each: a tie, to the engine
    assert order(found, {"run": 2.0}, "51/100", "scores") == "10"


texts = st.lists(st.sampled_from(["aa", "bb", "cc", "dd"]), max_size=6).map(" ".join)
shares = st.sampled_from(["0", "1/3", "2/5", "1"])


@given(st.lists(texts, max_size=8), shares)
def test_ranks_are_those_of_the_definition(given: list[str], alpha: str) -> None:
    weights = {"aa": 1.0, "bb": 0.25}
    found = pages(*given)
    score = [sum(weights.get(word, 0) for word in text.split()) for text in given]
    up = {i: 1 + sum(s > score[i] or (s == score[i] and j < i) for j, s in enumerate(score))
          for i in range(len(given))}  # fmt: skip
    share = Fraction(alpha)
    merit = [(share * up[i] + (1 - share) * (i + 1), i) for i in range(len(given))]
    shown = ranked(found, weights, NONE, share)
    assert [one.page.place for one in shown] == [f"p{i}" for _, i in sorted(merit)]
    assert [one.rank for one in shown] == [*range(1, len(given) + 1)]
    assert all(one.profile_rank == up[one.engine_rank - 1] for one in shown)


@given(st.lists(texts, max_size=8), shares, st.sampled_from(["ranks", "scores"]))
def test_laws(given: list[str], alpha: str, fusion: Fusion) -> None:
    found = pages(*given)
    shown = ranked(found, {"aa": 1.0}, NONE, Fraction(alpha), fusion)
    assert sorted(one.engine_rank for one in shown) == [*range(1, len(given) + 1)]
    as_given = [one.page for one in ranked(found, {}, NONE, Fraction(alpha), fusion)]
    assert as_given == found  # who tells nothing gets what the engine gives
    for one in shown:
        assert dict(one.because).get("aa", 0) == one.page.text.split().count("aa")


def test_a_document_said_in_other_forms_is_found() -> None:
    english = Language("english")
    [one] = ranked(pages("The runners ran; running, runs."), {"run": 1.0}, english, Fraction(1))
    assert one.because == (("run", 2),)


@dataclass
class Shelf:
    """An engine of a few pages that remembers what it was asked."""

    found: list[FoundPage]
    language: str | None = "english"
    asked: list[tuple[str, int]] = field(default_factory=list)

    def ask(self, query: str, top: int) -> list[FoundPage]:
        self.asked.append((query, top))
        return self.found[:top]


EXPOSED = ExposedProfile((("run", 1.0),), 0.5, 0.1)


def test_the_engine_hears_the_query_and_nothing_else() -> None:
    shelf = Shelf(pages("tea", "running", "runs run"))
    found = answer(shelf, "pitch", EXPOSED, top=7)
    assert shelf.asked == [("pitch", 7)]
    assert found.alpha == Fraction(2, 5)
    assert len(found.pages) == 3


def test_long_queries_say_what_they_mean() -> None:
    shelf = Shelf(pages("tea", "running"))
    for query, alpha in (("pitch", 2), ("sea pitch", 2), ("of the sea pitch", 2), ("a b c", 0),
                         ("what is a boat to me", 2), ("sea 1 2 3", 2), ("the who", 0), ("747", 0),
                         ("sea pitch tar", 0), ("…", 0)):  # fmt: skip
        assert usual_alpha(query, Language("english")) == Fraction(alpha, 5), query
        assert answer(shelf, query, EXPOSED).alpha == Fraction(alpha, 5)
    assert answer(shelf, "sea pitch tar", EXPOSED, alpha="0.4").alpha == Fraction(2, 5)


def test_without_a_profile_nothing_moves() -> None:
    found = answer(Shelf(pages("tea", "running")), "pitch")
    assert found.alpha == 0
    assert [one.rank for one in found.pages] == [one.engine_rank for one in found.pages]


def test_what_makes_no_sense_is_refused() -> None:
    shelf = Shelf([])
    for query, options in (("", {}), (" \n", {}), ("x", {"top": 0}), ("x", {"top": 10**9}),
                           ("x", {"alpha": 2}), ("x", {"alpha": "y"})):  # fmt: skip
        with pytest.raises(InputError):
            answer(shelf, query, EXPOSED, **options)
    assert shelf.asked == []


# --- several interests ---------------------------------------------------------------------------

SEA, TEA = {"sea": 3.0, "sail": 4.0}, {"tea": 2.0}


def test_of_several_interests_counts_what_the_first_results_speak_of() -> None:
    """By hand: three results of two words each, so that one of a word is worth 1."""
    found = pages("pitch sail", "pitch sea", "pitch tea")
    # Sea: (4 + 3) / 5 = 1.4; tea: 2 / 2 = 1, which is 5/7 of it, and squared 25/49.
    weights = fitted([SEA, TEA], found, NONE)
    assert weights == pytest.approx({"sea": 3, "sail": 4, "tea": 2 * 25 / 49})
    assert fitted([TEA, SEA], found, NONE) == pytest.approx(weights)
    shared = fitted([SEA, {"sea": 1.0}], found, NONE)  # sea alone: 1, again 25/49
    assert shared == pytest.approx({"sea": 3 + 25 / 49, "sail": 4})


def test_only_the_first_ten_say_what_a_query_is_about() -> None:
    found = pages(*["pitch sea"] * 10, *["pitch tea"] * 30)
    assert fitted([SEA, TEA], found, NONE) == SEA


def test_where_results_speak_of_no_interest_all_count_alike() -> None:
    both = {**SEA, **TEA}
    assert fitted([SEA, TEA], pages("pitch"), NONE) == both
    assert fitted([SEA, TEA], [], NONE) == both
    assert fitted([SEA, {}], pages("sea"), NONE) == SEA


@given(st.lists(texts, max_size=8))
def test_a_single_interest_stays_as_it_is(given: list[str]) -> None:
    assert fitted([SEA], pages(*given), NONE) == SEA
    assert fitted([], pages(*given), NONE) == {}


def test_several_profiles_of_one_person() -> None:
    """Four teas weigh more than a sea and a sail, but results speak of sailing."""
    shelf = Shelf(pages("pitch sea sail", "pitch tea tea tea tea", "pitch sea sail sail", "pitch"))
    sailing = ExposedProfile((("sail", 1.0), ("sea", 1.0)), 0.5, 0.1)
    drinking = ExposedProfile((("tea", 1.0),), 0.5, 0.1)
    as_one = ExposedProfile((*sailing.terms, *drinking.terms), 0.5, 0.1)

    def places(exposed: ExposedProfile | list[ExposedProfile]) -> str:
        found = answer(shelf, "pitch", exposed, alpha=1)
        return "".join(one.page.place[1:] for one in found.pages)

    assert places(as_one) == places([as_one]) == "1203"
    assert places([sailing, drinking]) == places([drinking, sailing]) == "2013"
    assert shelf.asked == [("pitch", 50)] * 4  # once each, and with nothing of a profile
    assert answer(shelf, "pitch", []).alpha == 0
    assert answer(shelf, "pitch", [ExposedProfile((), 0.0, None)]).alpha == 0
    assert answer(shelf, "pitch", [sailing, drinking]).alpha == Fraction(2, 5)
