"""The page of a profile: sound, for its owner's eyes alone, and honest about what it leaves out."""

from __future__ import annotations

import stat
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest

from at_hand import refusal
from pages_at_hand import Page
from reticent.errors import InputError
from reticent.pages.opening import MOST_NODES
from reticent.search.exposing import ProfileExposure, expose, exposure_levels, levels_within
from reticent.search.pages import profile_page, write_page
from reticent.search.profile import Profile, ProfileNode, grown
from reticent.search.text import shown

EXAMPLE = [
    "sports badminton", "ronaldo soccer sports", "sex playboy picture", "sports soccer premier",
    "research ai algorithm", "research adaptive personalized search", "fox channel sports sex",
    "msn search", "research ai network", "personalized search google research",
]  # fmt: skip
PROFILE = grown([text.split() for text in EXAMPLE], minsup=2)
MARKUP = '<script>alert("x")</script>&amp;'
ODD = "R&amp;D\x1b[31m\u009b2J\u202eevil"


def read(profile: Profile, exposure: ProfileExposure | None = None) -> Page:
    text = profile_page(profile, exposure)
    page = Page(text)
    names = [tag for tag, _ in page.tags]
    assert not {"script", "link", "iframe", "img", "object", "form"} & {*names}
    assert "default-src 'none'" in text
    assert len({*page.ids}) == len(page.ids)
    assert all(link[1:] in page.ids for link in page.links)
    assert page.headings == sorted(page.headings)
    assert "for that person's eyes alone" in page.text
    return page


def flat(*labels: tuple[str, ...], documents: int = 100) -> Profile:
    nodes = tuple(ProfileNode(terms, Fraction(5)) for terms in labels)
    return Profile(documents, nodes, "none", None, 2, Fraction(3, 5))


def test_the_worked_example_is_told_in_words_and_numbers() -> None:
    page = read(PROFILE, expose(PROFILE, min_detail="0.3"))
    assert (
        "3 interests would be told, 84.8% of what your profile says; 3 would stay here."
        in page.text
    )
    assert "about research (50%), sports (35%) and personalized/search (30%)" in page.text
    assert "personalized/search personalized/search 0.523 30 %" in page.text
    assert "the share of the profile, 0.848" in page.text
    assert "A little more" in page.text
    assert "sports 35.0%, 3.5 documents told" in page.text
    assert "soccer 20.0%, 2 documents soccer" not in page.text
    assert page.text.count(" told ") >= 3


def test_without_a_choice_it_says_how_the_profile_opens() -> None:
    page = read(PROFILE)
    assert "What would be told" not in page.text
    assert "More, or less" in page.text
    assert "reticent profile expose PROFILE --ratio" in page.text


def test_what_is_hidden_is_said_and_is_in_no_step() -> None:
    page = read(PROFILE, expose(PROFILE, ratio=1, hide=["sports"]))
    assert "2 interests are hidden by name" in page.text
    told, _, interests = page.text.partition("All interests Each")
    assert "sports" not in told
    assert "sports 35.0%, 3.5 documents hidden" in interests


def test_what_is_hidden_may_leave_all_of_the_percentage() -> None:
    """What is hidden is a leaf of the others, and a leaf it was: the entropy is the same."""
    found = expose(PROFILE, min_detail=0, hide="personalized")
    sentence = "1 interest is hidden by name, and never told. The percentage counts its"
    for text in (profile_page(PROFILE, found), shown(PROFILE, found, None)):
        assert "100.0% of what your profile says" in text
        assert sentence in text
    assert "hidden by name" not in profile_page(PROFILE, expose(PROFILE, min_detail=0))


def test_interests_under_one_name_are_counted_and_read_as_several() -> None:
    nodes = tuple(
        ProfileNode((name,), Fraction(20), (ProfileNode(("boat",), Fraction(5)),)) for name in "ab"
    )
    profile = Profile(50, nodes, "none", None, 2, Fraction(3, 5))
    found = expose(profile, ratio=1)
    text, page = shown(profile, found, None), read(profile, found)
    for said in (text, page.text):
        assert "4 interests under 3 names would be told" in said
    assert "boat 2: 2 interests, together about 20% of your documents; only the sum" in text
    assert "boat boat 2.000 2 interests, together 20 %" in page.text
    assert "boat (together 20%)" in page.text
    assert len(found.told) == 4


def test_a_page_without_what_is_hidden_and_without_a_choice() -> None:
    hidden = expose(PROFILE, ratio=1, hide="sports").hidden
    text = profile_page(PROFILE, hidden=hidden)
    assert "2 interests are hidden by name, and in no step" in text
    assert "What would be told" not in text


def test_nothing_is_told_for_different_reasons() -> None:
    assert "more special than that" in read(PROFILE, expose(PROFILE, ratio=0)).text
    every = [node.terms[0] for node in PROFILE.nodes]
    assert "every interest is hidden" in read(PROFILE, expose(PROFILE, ratio=1, hide=every)).text
    bare = flat()
    assert "has no interest in it" in read(bare, expose(bare, ratio=1)).text
    assert "No interest: no word stands in enough" in read(bare).text


def test_a_ratio_of_nothing_tells_nothing_and_any_other_what_is_everywhere() -> None:
    found = grown([["boat", "sea"], ["boat", "sail"]] * 2, minsup=2)
    assert not expose(found, ratio="0.0").told
    assert not levels_within(exposure_levels(found), Fraction(0))  # which evaluations ask
    assert "any ratio above 0 tells something" in read(found, expose(found, ratio=0)).text
    little = expose(found, ratio="0.01")
    assert little.exposed.terms == (("boat", 0.0),)
    sentence = "boat stands in all of your documents: any ratio above 0 tells it; --hide WORD keeps"
    assert sentence in read(found, little).text
    assert sentence in shown(found, little, None)
    assert "stands in all" not in read(PROFILE, expose(PROFILE, ratio=1)).text
    nodes = (ProfileNode(("boat",), Fraction(91)), ProfileNode(("sea",), Fraction(9)))
    most = Profile(100, nodes, "none", None, 2, Fraction(3, 5))
    assert "boat stands in nearly all" in shown(most, expose(most, ratio=1), None)


def test_the_first_step_that_tells_something_is_named() -> None:
    for text in (
        profile_page(PROFILE, expose(PROFILE, ratio="0.25")),
        shown(PROFILE, expose(PROFILE, ratio="0.25"), None),
    ):
        assert "more special than that (the first step tells 44.0%: --ratio 0.45)" in text
    assert expose(PROFILE, ratio="0.45").told


def test_stems_stand_beside_the_words_that_people_write() -> None:
    nodes = (ProfileNode(("confer",), Fraction(5)),)
    profile = Profile(10, nodes, "english", 20, 5, Fraction(3, 5), {"confer": "conference"})
    page = read(profile, expose(profile, ratio=1))
    assert "conference confer 0.301 50 %" in page.text


@pytest.mark.parametrize("odd", [MARKUP, ODD, "Grüße", "日本", "a" * 3000, "🦆"])
def test_a_term_is_a_text_and_nothing_else(odd: str) -> None:
    profile = flat((odd,), ("plain", f"{odd}2"))
    text = profile_page(profile, expose(profile, ratio=1))
    read(profile, expose(profile, ratio=1))
    assert "<script" not in text
    assert not {*text} & {*"\x1b\u009b\u202e"}
    assert ("Grüße" in text) == (odd == "Grüße")


def test_terms_of_one_label_may_stand_in_several_lines() -> None:
    """A label of many terms would push numbers out of a narrow window."""
    profile = flat(("one", "two<b>", "three"), ("other",))
    text = profile_page(profile, expose(profile, ratio=1))
    assert "three/<wbr>two&lt;b&gt;/<wbr>one" in text
    assert "three/two<b>/one" in read(profile, expose(profile, ratio=1)).text


def test_a_large_profile_makes_a_page_that_says_what_it_leaves_out() -> None:
    profile = flat(*((f"t{i:05}",) for i in range(5000)), documents=30_000)
    page = read(profile, expose(profile, ratio=1))
    assert f"{MOST_NODES:,} of 5,000 interests are on this page" in page.text
    assert "And 4,800 more names" in page.text
    assert "4,000 more interests not on this page" in page.text
    assert len(profile_page(profile)) < 400_000


def test_it_is_its_owners_alone_and_replaces_nothing(tmp_path: Path) -> None:
    place = tmp_path / "page.html"
    exposure = expose(PROFILE, ratio="1/4")
    write_page(PROFILE, exposure, place)
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert place.read_text(encoding="utf-8") == profile_page(PROFILE, exposure)
    assert "exists" in str(refusal(partial(write_page, PROFILE, None, place), kind=InputError))
    write_page(PROFILE, None, place, force=True)
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert place.read_text(encoding="utf-8") == profile_page(PROFILE)
