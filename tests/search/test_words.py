"""Texts as terms: what a word is, how languages are told, how long texts fall into parts."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.errors import InputError
from reticent.search.words import (
    Language,
    guessed_language,
    languages,
    parts,
    stop_words_in,
    words_of,
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("a I x", []),  # one letter is no word
        ("R2D2 2R2 42 4th", ["r2d2"]),  # a run that begins with a digit is none at all
        ("can't re-do_it", ["can", "re", "do", "it"]),
        ("ÜBUNG Straße ﬁn", ["übung", "straße", "ﬁn"]),
        ("e\u0301te\u0301", ["été"]),  # composed
        ("Kran\u00adken\u00adhaus", ["krankenhaus"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("北京 ok", ["北京", "ok"]),
        ("x² e² no₂", ["x²", "e²", "no₂"]),
        ("snake_case_2", ["snake", "case"]),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert words_of(text) == words


@given(st.text())
def test_what_a_word_is(text: str) -> None:
    for word in words_of(text):
        assert len(word) > 1
        assert word[0].isalpha()
        assert words_of(word) == [word]


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_the_quick_way_is_the_same(text: str) -> None:
    assert words_of(text) == [w for w in words_of(text + " é") if w != "é"]


@given(st.integers(0, 3000))
def test_parts(count: int) -> None:
    words = [str(i) for i in range(count)]
    cut = parts(words)
    assert [word for part in cut for word in part] == words
    if count <= 450:
        assert len(cut) == 1
    else:
        assert all(len(part) == 300 for part in cut[:-1])
        assert 150 <= len(cut[-1]) < 450


def test_languages_stem_and_drop_stop_words() -> None:
    assert Language("english").terms("The runners were running to conferences") == [
        "runner", "run", "confer",
    ]  # fmt: skip
    assert Language("german").terms("Die Übungen und das Üben") == ["ubung", "uben"]
    assert Language("none").terms("The the") == ["the", "the"]
    assert Language("english", ["Runner", "x y"]).terms("the runner's shoe") == ["shoe"]
    assert not Language("turkish").has_stop_words
    assert Language("turkish", ["ve"]).has_stop_words


def test_every_language_is_there() -> None:
    assert {"english", "german", "french", "russian", "arabic"} <= {*languages()}
    for name in languages():
        assert Language(name).terms("Alpha")


def test_a_typo_is_told() -> None:
    with pytest.raises(InputError, match='Did you mean "german"'):
        Language("germann")


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (
            "this is a letter to all of you about the weather and what we do when it rains",
            "english",
        ),
        ("das ist ein Brief an euch alle über das Wetter und was wir tun wenn es regnet", "german"),
        (
            "ceci est une lettre pour vous sur le temps et ce que nous faisons dans la pluie",
            "french",
        ),
        ("esta es una carta para todos sobre el tiempo y lo que hacemos cuando llueve", "spanish"),
        ("badminton soccer search", "english"),  # nothing shows one
        ("", "english"),
    ],
)
def test_a_language_is_guessed(text: str, language: str) -> None:
    assert guessed_language([words_of(text)]).name == language


def test_a_language_is_that_of_most_texts_not_of_the_longest() -> None:
    german = words_of("das ist ein Brief an euch alle über das Wetter und was wir tun " * 3)
    english = words_of("this is a letter to you all on the weather and what we do " * 20)
    assert guessed_language([english, *[german] * 2, english, *[german] * 2]).name == "german"
    assert guessed_language([german, *[english] * 2]).name == "english"


def test_a_second_language_is_told() -> None:
    german = words_of("das ist ein Brief an euch alle über das Wetter und was wir tun " * 3)
    english = words_of("this is a letter to you all on the weather and what we do " * 3)
    danish = words_of("det er et brev til jer alle om vejret og hvad vi gør når det regner " * 3)
    assert guessed_language([german] * 3 + [english]).others == ("english",)
    assert guessed_language([german] * 30 + [english]).others == ()  # too few of them
    assert guessed_language([danish] * 4).others == ()  # which is much like Norwegian
    assert guessed_language([german, ["tea"] * 40]).others == ()  # what shows none


def test_stop_words_of_a_file(tmp_path: Path) -> None:
    place = tmp_path / "stop.txt"
    place.write_text("\ufeffFoo, bar\nÉté\n", encoding="utf-8")
    assert stop_words_in(place) == ["foo", "bar", "été"]
    place.write_bytes(b"\xff\xfe")
    for path in (place, tmp_path / "none", tmp_path):
        with pytest.raises(InputError, match="stop words cannot be read"):
            stop_words_in(path)
