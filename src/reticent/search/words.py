"""How texts become terms: words in lower case, without stop words, each cut down to its stem.

A word is a run of letters and digits that begins with a letter, two or more long. Both sides of a
search go through here, a person's documents and the results that they are held against, so that a
term of a profile is found wherever its word stands in another form.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from reticent.errors import InputError, did_you_mean

NONE = "none"  # the language of texts whose words are taken as they are
USUAL = "english"  # of texts that show no language
_ASCII_RUN = re.compile(r"[a-z0-9]+")
_SOFT_HYPHEN = "\u00ad"  # it is only there for breaking lines
LOOKED_AT = 20_000  # words, to guess a language
_ENOUGH = 50  # words of a text that tell its language
_LEAST_SHARE = 0.05  # of stop words, in texts of some language; in English mail 0.35 to 0.45
_A_PART = 10  # one in so many texts: worth telling that they are in another language
WHOLE, PART, REST = 450, 300, 150  # words of a text that stays whole, of a part, of the last part

# The Snowball project's stop words for English (BSD-3-Clause). A word with an apostrophe falls into
# runs, and so do these. The other languages' lists of that project stand in tantivy, where the
# English one is another's, of 33 words: too short for mail.
_ENGLISH = """
i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her
hers herself it its itself they them their theirs themselves what which who whom this that these
those am is are was were be been being have has had having do does did doing would should could
ought i'm you're he's she's it's we're they're i've you've we've they've i'd you'd he'd she'd we'd
they'd i'll you'll he'll she'll we'll they'll isn't aren't wasn't weren't hasn't haven't hadn't
doesn't don't didn't won't wouldn't shan't shouldn't can't cannot couldn't mustn't let's that's
who's what's here's there's when's where's why's how's a an the and but if or because as until
while of at by for with about against between into through during before after above below to from
up down in out on off over under again further then once here there when where why how all any both
each few more most other some such no nor not only own same so than too very can will
"""
_WITH_STOP_WORDS = (
    "danish", "dutch", USUAL, "finnish", "french", "german", "hungarian", "italian", "norwegian",
    "portuguese", "russian", "spanish", "swedish",
)  # fmt: skip


def words_of(text: str) -> list[str]:
    """The words of a text, in lower case and in order, stop words and all.

    >>> words_of("Zum 3com-Preis: die U2-Übung, 2 a.m.")
    ['zum', 'preis', 'die', 'u2', 'übung']
    """
    return [run for run in runs_of(text) if is_word(run)]


def runs_of(text: str) -> list[str]:
    """Every run of letters and digits in a text, in lower case: words, numbers, single letters."""
    if text.isascii():
        return _ASCII_RUN.findall(text.lower())
    whole = unicodedata.normalize("NFC", text.replace(_SOFT_HYPHEN, "").lower())
    return _run().findall(whole)


def is_word(run: str) -> bool:
    """Whether a run is a word."""
    return len(run) > 1 and run[0].isalpha()


@cache
def _run() -> re.Pattern[str]:
    """A run in any script: signs that belong to the letter before them, as vowels in Hindi, too."""
    marks = [c for c in range(0x300, 0x10000) if unicodedata.category(chr(c)).startswith("M")]
    among = set(marks)
    starts = [c for c in marks if c - 1 not in among]
    ends = [c for c in marks if c + 1 not in among]
    inside = "".join(f"{chr(a)}-{chr(b)}" for a, b in zip(starts, ends, strict=True))
    return re.compile(rf"(?:[^\W_][{inside}]*)+")


def parts(words: Sequence[str]) -> list[Sequence[str]]:
    """Cut a long text into parts of 300 words, each of which counts as a document.

    >>> [len(part) for part in parts(["w"] * 1040)], len(parts(["w"] * 450))
    ([300, 300, 440], 1)
    """
    if len(words) <= WHOLE:
        return [words]
    starts = list(range(0, len(words), PART))
    if len(words) - starts[-1] < REST:
        starts.pop()
    return [words[a:b] for a, b in zip(starts, [*starts[1:], len(words)], strict=True)]


class Language(dict[str, str]):
    """The term of every word, worked out once; "" of a stop word, which is none.

    >>> english = Language("english")
    >>> english.terms("the conferences, and what they confer")
    ['confer', 'confer']
    >>> Language("none").terms("The neuro network")
    ['the', 'neuro', 'network']
    """

    def __init__(self, name: str = USUAL, stop_words: Iterable[str] = ()) -> None:
        """Take a language by its name, and further stop words."""
        super().__init__()
        self.name = _known(name)
        self.stop_words = frozenset(word for one in stop_words for word in words_of(one))
        self.has_stop_words = name in (NONE, *_WITH_STOP_WORDS) or bool(self.stop_words)
        self._stem: Callable[[str], str] = str if name == NONE else _stemmer(name).stemWord
        self._is_stop = (lambda word: False) if name == NONE else _stop_test(name)

    def __missing__(self, word: str) -> str:
        stops = word in self.stop_words or self._is_stop(word)
        self[word] = term = "" if stops else self._stem(word)
        return term

    def terms(self, text: str | Sequence[str]) -> list[str]:
        """The terms of a text or of its words, in order, as often as they stand there."""
        words = words_of(text) if isinstance(text, str) else text
        return [term for word in words if (term := self[word])]


def languages() -> list[str]:
    """The languages whose stems are known."""
    import snowballstemmer

    own = {"porter", "dutch_porter"}  # ways of stemming, not languages
    return sorted(set(snowballstemmer.algorithms()) - own)


def _known(name: str) -> str:
    if name != NONE and name not in languages():
        raise InputError(
            f'"{name}" is no language whose stems are known', where="--language",
            do=f"{did_you_mean(name, languages())} Known are {', '.join(languages())}; "
            f'"{NONE}" takes words as they are.'.strip(),
        )  # fmt: skip
    return name


def _stemmer(name: str) -> Any:
    """PyStemmer where it is installed: twenty times as fast; both give the same stems."""
    import snowballstemmer

    return snowballstemmer.stemmer(name)


@cache
def _stop_test(name: str) -> Callable[[str], bool]:
    """Whether a word of this language says nothing of what a text is about."""
    if name == USUAL:
        return frozenset(words_of(_ENGLISH)).__contains__
    if name not in _WITH_STOP_WORDS:
        return frozenset[str]().__contains__
    analyzer = _dropping(name)
    return lambda word: not analyzer.analyze(word)


def _dropping(name: str) -> Any:
    """What drops the stop words of a language out of a text."""
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    rule = (
        Filter.custom_stopword(words_of(_ENGLISH)) if name == USUAL else Filter.stopword(name)
    )  # fmt: skip
    return TextAnalyzerBuilder(Tokenizer.simple()).filter(rule).build()


@dataclass(frozen=True, slots=True)
class GuessedLanguage:
    """What texts are in, most of them, and what else a good part of them is in."""

    name: str
    others: tuple[str, ...] = ()


def guessed_language(texts: Iterable[Sequence[str]]) -> GuessedLanguage:
    """The language whose stop words make up most of some texts, given by their words.

    Texts count by how many they are, not by how long: one long letter decides nothing.

    >>> guessed_language([["der", "preis", "und", "die", "übung"]]).name
    'german'
    """
    droppings = {name: _dropping(name) for name in _WITH_STOP_WORDS}
    shares: list[tuple[int, dict[str, float]]] = []  # of stop words, and what the text counts
    looked_at = 0
    for words in filter(None, texts):
        every, count = " ".join(words), len(words)
        share = {name: 1 - len(one.analyze(every)) / count for name, one in droppings.items()}
        shares.append((min(count, _ENOUGH), share))
        looked_at += count
        if looked_at >= LOOKED_AT:
            break
    counted = sum(weight for weight, _ in shares)
    best = max(_WITH_STOP_WORDS, key=lambda name: sum(w * share[name] for w, share in shares))
    if sum(weight * share[best] for weight, share in shares) <= _LEAST_SHARE * counted:
        best = USUAL
    votes = Counter[str]()
    for weight, share in shares:
        own = max(_WITH_STOP_WORDS, key=lambda name: share[name])
        if share[own] > max(2 * share[best], 2 * _LEAST_SHARE):  # and not one much like it
            votes[own] += weight
    others = sorted(name for name, weight in votes.items() if _A_PART * weight >= counted)
    return GuessedLanguage(best, tuple(others))


def stop_words_in(path: str | Path) -> list[str]:
    """The words of a file, however they stand in it."""
    try:
        return words_of(Path(path).read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            "the stop words cannot be read", where=str(path),
            why=getattr(error, "strerror", None) or "it is no UTF-8 text.",
            do="give a text file of words.",
        ) from None  # fmt: skip
