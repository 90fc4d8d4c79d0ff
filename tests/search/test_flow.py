"""From documents to profiles and indexes: what counts, and what is told of it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from at_hand import file_of, refusal
from reticent.search import flow
from reticent.search.documents import PersonalDocument, SkippedFile
from reticent.search.words import LOOKED_AT


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[PersonalDocument | SkippedFile]:
    """What is found wherever one looks."""
    found: list[PersonalDocument | SkippedFile] = []

    def read(places: Any, watch: Any = None) -> Iterator[PersonalDocument | SkippedFile]:
        yield from found

    monkeypatch.setattr(flow, "read_documents", read)
    return found


def texts(*said: str) -> list[PersonalDocument]:
    return [PersonalDocument(f"{i}.txt", "", text) for i, text in enumerate(said)]


def test_a_stem_is_told_by_its_commonest_word(given: list[Any]) -> None:
    given += texts("conferences conference", "conference sails", "sailing, a sail", "sail sailing")
    found = flow.build_profile("x", minsup=1, language="english").profile
    assert found.words["confer"] == "conference"
    assert found.words["sail"] == "sail"  # as often as sailing, and first
    assert {term for node in found.walk() for term in node.terms} == {*found.words}


def test_long_texts_are_several_documents_and_wordless_ones_none(given: list[Any]) -> None:
    given += texts("boat " * 1040, "the and of", "17 4711", "")
    found = flow.build_profile("x", minsup=1, language="english")
    assert (found.profile.documents, found.wordless) == (3, 3)
    assert found.texts.documents == 4


def test_a_language_is_guessed_from_the_first_documents(given: list[Any]) -> None:
    few = "der Preis und die Übung sind nicht teuer " * (LOOKED_AT // 8 + 1)
    given += texts(few, *["the price of the exercise is not high"] * 50)
    found = flow.build_profile("x", minsup=1)
    assert (found.profile.language, found.guessed) == ("german", True)
    assert found.texts.documents == 51


def test_a_second_language_is_told_unless_one_was_chosen(given: list[Any], tmp_path: Path) -> None:
    german, english = "das ist ein Brief an euch alle über das Meer", "this is what you do at sea"
    given += texts(*[german] * 3, english)
    for found in (flow.build_profile("x", minsup=1), flow.index_texts("x", tmp_path / "index")):
        assert "seems to be english; all are read as german" in found.notes[0]
    assert not flow.build_profile("x", minsup=1, language="german").notes


def test_a_title_alone_is_no_term(given: list[Any]) -> None:
    """Readers put into the text what is said in a title; a file's name is none of it."""
    given.append(PersonalDocument("secret.txt", "secret", "boats"))
    found = flow.build_profile("x", minsup=1, language="none").profile
    assert [node.label for node in found.walk()] == ["boats"]


def test_languages_without_stop_words_are_told(given: list[Any]) -> None:
    given += texts("yazı ve yelken", "yazı ve deniz")
    found = flow.build_profile("x", minsup=2, language="turkish")
    assert "--stop-words FILE" in found.notes[0]


def test_what_was_skipped_is_told_by_reason(given: list[Any], tmp_path: Path) -> None:
    given += [SkippedFile(f"{i}.bin", "broken") for i in range(3)]
    for make in (
        lambda: flow.build_profile([tmp_path, tmp_path]),
        lambda: flow.index_texts([tmp_path, tmp_path], tmp_path / "index"),
    ):
        refusal(make, "2 places", "0 documents read, 3 files skipped: 3 broken.")
    refusal(lambda: flow.build_profile([]), "nothing to read")
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("wrong", [{"keywords": 0}, {"minsup": 0}, {"delta": 2}, {"delta": "x"}])
def test_numbers_are_checked_before_anything_is_read(
    wrong: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flow, "read_documents", None)
    refusal(lambda: flow.build_profile("x", **wrong), "--")


def test_a_tree_that_grows_too_large_names_numbers_that_help(
    given: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reticent.search.profile._MOST_NODES", 1)
    given += texts("boat harbour sail tide", "boat bread", "bread knee", "boat", "bread") * 3
    for minsup, keywords, do in ((3, 20, 2), (4, None, 2), (3, 3, 1)):
        build = partial(flow.build_profile, "x", language="none")
        refusal(
            partial(build, minsup=minsup, keywords=keywords),
            f"--keywords {do}, or --minsup {2 * minsup}",
        )


def test_an_output_is_checked_before_anything_is_read(tmp_path: Path) -> None:
    place = file_of(tmp_path, "x", "taken.json")
    refusal(lambda: flow.build_profile(tmp_path / "none", output=place), "exists already")
    refusal(lambda: flow.build_profile(place, output=place, force=True), "an input")
