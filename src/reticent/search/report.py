"""What making a profile, showing it and searching come to, as plain data.

Nothing of a profile is for everybody but what its owner chose to expose.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

from reticent.errors import listed, many
from reticent.releases.facts import seconds
from reticent.releases.spoken import Spoken
from reticent.search.documents import SkippedFile
from reticent.search.exposing import ExposureLevel, ProfileExposure, exposure_levels
from reticent.search.profile import Profile, ProfileNode
from reticent.search.ranking import RankedPage, SearchAnswer

_NEARLY_ALL = 0.05  # a weight below this: nine documents of ten, or more
_STEPS = 20  # of a slider, in a preview that cannot be moved


@dataclass(frozen=True, slots=True)
class ReadTexts:
    """What was read of the places that somebody named."""

    kinds: Mapping[str, int]  # documents of each kind, in people's words
    skipped: tuple[SkippedFile, ...]

    @property
    def documents(self) -> int:
        """How many there were in all."""
        return sum(self.kinds.values())

    def data(self) -> dict[str, Any]:
        """The whole of it as plain data."""
        told = [{"place": one.place, "reason": one.reason} for one in self.skipped]
        return {"read": dict(self.kinds), "skipped": told}


@dataclass(frozen=True, slots=True, repr=False)
class BuiltProfile(Spoken):
    """A profile, and what it was made from."""

    profile: Profile
    texts: ReadTexts
    wordless: int  # parts of documents without a term
    guessed: bool  # whether the language was
    seconds: Mapping[str, float] = field(repr=False)
    notes: tuple[str, ...] = ()
    output: str | None = None

    def summary(self) -> dict[str, Any]:
        """What there is to say, without a term."""
        return {
            **self.texts.data(),
            "documents": self.profile.documents,
            "without_terms": self.wordless,
            **shape(self.profile),
            "language": self.profile.language,
            "language_guessed": self.guessed,
            "keywords": self.profile.keywords if self.profile.keywords is not None else "all",
            "minsup": self.profile.minsup,
            "delta": str(self.profile.delta),
            "seconds": seconds(self.seconds),
            "output": self.output,
        }

    def _says(self, words: Any) -> str:
        said: str = words.built(self)
        return said


def shape(profile: Profile) -> dict[str, int]:
    """How large a profile is."""
    nodes = levels = 0
    above: Sequence[ProfileNode] = profile.nodes
    while above:
        nodes, levels = nodes + len(above), levels + 1
        above = [child for node in above for child in node.children]
    return {"interests": nodes, "levels": levels}


# --- before anything leaves ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ToldInterest:
    """One line of what would be exposed, as its reader will understand it."""

    label: str  # as it leaves
    words: str  # stems by the words that their person writes
    weight: float
    share: float  # of all documents, as the weight tells it; of several interests, of all together
    interests: int = 1  # that have this label; their weights leave as one sum


@dataclass(frozen=True, slots=True)
class SliderStep:
    """What changes as a person tells a little more."""

    most: Fraction  # the ratio that is asked for
    ratio: float  # the one that is reached
    min_detail: Fraction
    adds: tuple[str, ...]  # interests in people's words
    told: int  # interests by then


@dataclass(frozen=True, slots=True)
class ExposurePreview:
    """What would leave, what that says, and what more or less of it would say."""

    exposure: ProfileExposure
    interests: tuple[ToldInterest, ...]
    kept: int  # interests that are not told
    more: ExposureLevel | None  # what comes next
    less: ExposureLevel | None  # what goes first
    steps: tuple[SliderStep, ...]


def preview(exposure: ProfileExposure, *, steps: bool = True) -> ExposurePreview:
    """What a person should see before anything leaves; `steps`, with those of the slider."""
    profile = exposure.profile
    shares: defaultdict[str, Fraction] = defaultdict(Fraction)
    counts: Counter[str] = Counter()
    for node in exposure.nodes:
        shares[node.label] += node.support / profile.documents
        counts[node.label] += 1
    told = [
        ToldInterest(label, profile.worded(label), weight, float(shares[label]), counts[label])
        for label, weight in exposure.exposed.terms
    ]
    told.sort(key=lambda one: (-one.share, one.words, one.label))
    levels = exposure_levels(profile, exposure.hidden)
    above = [level for level in levels if {*map(id, level.nodes)} <= exposure.told]
    rest = levels[len(above) :]
    return ExposurePreview(
        exposure, tuple(told), shape(profile)["interests"] - len(exposure.told),
        rest[0] if rest else None, above[-1] if above else None,
        tuple(_steps(profile, levels)) if steps else (),
    )  # fmt: skip


def counted(found: ExposurePreview) -> str:
    """How many interests would be told, and under how many names, where some share one."""
    interests, names = len(found.exposure.told), len(found.interests)
    return many(interests, "interest") + (
        f" under {many(names, 'name')}" if names < interests else ""
    )


def decimals(support: Fraction) -> str:
    """Shares of documents, as people read a number; exact text is for programs.

    >>> decimals(Fraction(191, 12)), decimals(Fraction(1, 30)), decimals(Fraction(1500))
    ('15.9', '0.033', '1,500')
    """
    if support.denominator == 1:
        return f"{support.numerator:,}"
    return f"{float(support):,.1f}" if support >= 1 else f"{float(support):.2g}"


def first_step(level: ExposureLevel) -> str:
    """What telling anything at all takes, as an option that does."""
    if not level.ratio:
        return "any ratio above 0 tells something"
    least = max(math.ceil(100 * Fraction(level.ratio)), 1) / 100
    return f"the first step tells {level.ratio:.1%}: --ratio {least:g}"


def remarks(found: ExposurePreview) -> Iterator[str]:
    """What the numbers of a preview do not say by themselves."""
    profile = found.exposure.profile
    shares: dict[str, Fraction] = {}  # each name by the interest under it that has the largest
    for node in found.exposure.nodes:
        share = node.support / profile.documents
        if -math.log10(share) < _NEARLY_ALL:
            name = profile.worded(node.label)
            shares[name] = max(share, shares.get(name, share))
    for words, rule in (
        ([name for name in shares if shares[name] == 1], "all of your documents: any"),
        ([name for name in shares if shares[name] < 1], "nearly all of your documents: a small"),
    ):
        if words:
            yield (
                f"{listed(words)} {'stands' if len(words) == 1 else 'stand'} in {rule} ratio above "
                f"0 tells {'it' if len(words) == 1 else 'them'}; --hide WORD keeps "
                f"{'it' if len(words) == 1 else 'them'}."
            )
    if hidden := len(found.exposure.hidden):
        some, whose = ("is", "its") if hidden == 1 else ("are", "their")
        yield (
            f"{many(hidden, 'interest')} {some} hidden by name, and never told. The percentage "
            f"counts {whose} documents as others: it may reach 100 with something hidden."
        )


def _steps(profile: Profile, levels: Sequence[ExposureLevel]) -> Iterator[SliderStep]:
    """What each twentieth of the profile adds, where it adds something."""
    marks = [Fraction(step, _STEPS) for step in range(_STEPS + 1)]
    ratios = [level.ratio for level in levels]  # which rise
    upto = [bisect_right(ratios, mark) for mark in marks]
    for step, (before, after) in enumerate(pairwise(upto), 1):
        if after > before:
            added = [node.label for level in levels[before:after] for node in level.nodes]
            yield SliderStep(
                Fraction(step, _STEPS), levels[after - 1].ratio, levels[after - 1].min_detail,
                tuple(map(profile.worded, added)),
                sum(len(level.nodes) for level in levels[:after]),
            )  # fmt: skip


def exposed_data(found: ExposurePreview, output: str) -> dict[str, Any]:
    """What leaves, and beside it how much that is, as plain data."""
    return {
        "exposed": found.exposure.exposed.data(),
        "interests": len(found.exposure.told),
        "kept": found.kept,
        "output": output,
    }


# --- searching -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, repr=False)
class IndexedTexts(Spoken):
    """What an index holds now, and what was read for it."""

    texts: ReadTexts
    documents: int
    added: int
    changed: int
    removed: int
    unchanged: int
    language: str
    guessed: bool
    seconds: Mapping[str, float] = field(repr=False)
    output: str = ""
    notes: tuple[str, ...] = ()

    def summary(self) -> dict[str, Any]:
        """What there is to say, without a word of any document."""
        return {
            **self.texts.data(),
            "documents": self.documents,
            "added": self.added,
            "changed": self.changed,
            "removed": self.removed,
            "unchanged": self.unchanged,
            "language": self.language,
            "language_guessed": self.guessed,
            "seconds": seconds(self.seconds),
            "output": self.output,
        }

    def _says(self, words: Any) -> str:
        said: str = words.indexed(self)
        return said


def page_data(one: RankedPage) -> dict[str, Any]:
    """A result as plain data."""
    return {
        "rank": one.rank,
        "engine_rank": one.engine_rank,
        "profile_rank": one.profile_rank,
        "place": one.page.place,
        "title": one.page.title,
        "because": [list(pair) for pair in one.because],
    }


def answer_data(found: SearchAnswer) -> dict[str, Any]:
    """An answer as plain data."""
    return {
        "alpha": float(found.alpha),
        "fusion": found.fusion,
        "results": [page_data(one) for one in found.pages],
    }
