"""How much of a profile may be told, measured, and nothing besides: the exposed part.

Source: the thesis *Preserving individual privacy* (paper 003), 5.2.2.

    minDetail   an interest is told if its share of all documents is at least this
    expRatio    the entropy of the exposed tree's leaves, as a share of the whole tree's
    w           log10(|D| / Sup): what an engine gets beside each label

**Where we differ from the paper.** Its example of expRatio prints 69 %; by its own formula it is
84.8 % (`test_the_worked_example`). Of all that, only labels and weights leave, rounded to three
decimals: in full, they would tell how many documents a person has. A ratio of 0 tells nothing,
where the formula would tell what stands in every document, since that has no entropy.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import Any

from reticent.data.texts import one_line
from reticent.errors import InputError, Problem, refuse
from reticent.releases.spoken import Spoken
from reticent.search.profile import Profile, ProfileNode
from reticent.search.words import Language

DECIMALS = 3
_KEYS = {"terms", "ratio", "min_detail"}  # of an exposed profile: these, and no other
_MOST_TERMS, _LONGEST_LABEL = 100_000, 100_000
_ROOT = 0  # the id of no node
_VAST = re.compile(r"[eE][-+]?[\d_]{4,}")  # exponents that fill the memory with digits
_SHARES = {"--min-detail": "0.1", "--alpha": "0.4", "--delta": "0.6"}  # that one may well give
_WEIGHTS = 1_000_000.0  # no weight is larger: that of one document among a billion is 9


@dataclass(frozen=True, slots=True)
class ExposedProfile(Spoken):
    """What leaves a person's machine: labels with weights, and how much of the profile that is."""

    terms: tuple[tuple[str, float], ...]  # by code point
    ratio: float
    min_detail: float | None  # None: nothing is exposed

    def _says(self, words: Any) -> str:
        said: str = words.told(self)
        return said

    @classmethod
    def of(cls, given: Any, where: str = "exposed profile") -> ExposedProfile:
        """Take one as JSON has it, and refuse whatever has more or less in it."""
        if isinstance(given, cls):
            return given
        problem = _problem(given)
        if problem:
            raise InputError(
                f"this is no exposed profile: {problem}", where=where,
                do="make one by  reticent profile expose.",
            )  # fmt: skip
        terms = tuple((label, float(weight)) for label, weight in given["terms"])
        detail = given["min_detail"]
        return cls(terms, float(given["ratio"]), None if detail is None else float(detail))

    @classmethod
    def load(cls, path: str | Path) -> ExposedProfile:
        """Read one from a file."""
        try:
            given = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"cannot read it: {error.strerror}", where=str(path)) from None
        except (ValueError, RecursionError):
            given = None
        if isinstance(given, Mapping) and given.get("reticent") == "profile":
            raise InputError(
                "this is a whole profile, which stays with its owner", where=str(path),
                do="choose what to tell of it:  "
                "reticent profile expose PROFILE --ratio 0.25 -o exposed.json.",
            )  # fmt: skip
        return cls.of(given, str(path))

    def data(self) -> dict[str, Any]:
        """The whole of it as plain data."""
        return {
            "terms": [list(pair) for pair in self.terms],
            "ratio": self.ratio,
            "min_detail": self.min_detail,
        }

    def weights(self) -> dict[str, float]:
        """The weight of every single term: that of its label, or the sum over its labels."""
        found: defaultdict[str, float] = defaultdict(float)
        for label, weight in self.terms:
            for term in label.split("/"):
                found[term] += weight
        return dict(found)


def _problem(given: Any) -> str:
    """What is wrong with a profile that somebody sends, without a word of what is in it."""
    if not isinstance(given, Mapping) or set(given) != _KEYS:
        return 'it is an object with "terms", "ratio" and "min_detail", and nothing else'
    terms = given["terms"]
    if not isinstance(terms, list) or len(terms) > _MOST_TERMS:
        return '"terms" is a list of labels with weights'
    pairs = all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in terms)
    if not pairs or not all(_is_label(pair[0]) and _is_number(pair[1]) for pair in terms):
        return '"terms" holds pairs of a label and a weight'
    if not _is_number(given["ratio"], 1):
        return '"ratio" lies between 0 and 1'
    if not (given["min_detail"] is None or _is_number(given["min_detail"], 1)):
        return '"min_detail" lies between 0 and 1, or is null'
    return ""


def _is_label(given: Any) -> bool:
    return isinstance(given, str) and 0 < len(given) <= _LONGEST_LABEL and all(given.split("/"))


def _is_number(given: Any, most: float = _WEIGHTS) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool) and 0 <= given <= most


# --- what may be told ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, repr=False)
class ProfileExposure(Spoken):
    """Which nodes of a profile are told. It is private; `exposed` is what leaves."""

    profile: Profile
    told: frozenset[int]  # ids of nodes: of equal ones in two places, one may be told alone
    hidden: frozenset[int]  # those that a person hides by name, and all below them
    min_detail: Fraction | None
    ratio: float

    @property
    def nodes(self) -> list[ProfileNode]:
        """The nodes that are told, each before its children."""
        return [node for node in self.profile.walk() if id(node) in self.told]

    @property
    def exposed(self) -> ExposedProfile:
        """What leaves: labels and weights, rounded."""
        return self._of(self.nodes)

    def branches(self) -> Iterator[tuple[ProfileNode, ExposedProfile]]:
        """The same for every interest below the root by itself."""
        for top in self.profile.nodes:
            if id(top) in self.told:
                yield top, self._of([node for node in top.walk() if id(node) in self.told])

    def _of(self, nodes: Iterable[ProfileNode]) -> ExposedProfile:
        weights: defaultdict[str, list[float]] = defaultdict(list)
        for node in nodes:
            weights[node.label].append(math.log10(self.profile.documents / node.support))
        pairs = [(label, round(math.fsum(weights[label]), DECIMALS)) for label in sorted(weights)]
        detail = None if self.min_detail is None else round(float(self.min_detail), DECIMALS)
        return ExposedProfile(tuple(pairs), round(self.ratio, DECIMALS), detail)

    def _says(self, words: Any) -> str:
        said: str = words.would_be_told(self)
        return said


def expose(
    profile: Profile,
    *,
    ratio: Fraction | float | str | None = None,
    min_detail: Fraction | float | str | None = None,
    hide: Iterable[str] | str = (),
) -> ProfileExposure:
    """Choose what to tell of a profile: by a share of what it says, or by how special a term is.

    `hide`: a word or several, whose interests are never told, nor anything below them.
    """
    if (ratio is None) == (min_detail is None):
        raise InputError(
            "one of --ratio and --min-detail says how much is told", where="profile expose",
            do="give  --ratio 0.25  or  --min-detail 0.1.",
        )  # fmt: skip
    hidden = hidden_nodes(profile, hide)
    levels = exposure_levels(profile, hidden)
    if min_detail is not None:
        least = share_of("--min-detail", min_detail)
        count = sum(level.min_detail >= least for level in levels)
        return exposure_of(profile, levels[:count], hidden, least)
    return exposure_of(profile, levels_within(levels, share_of("--ratio", ratio)), hidden)


def exposed_beside(
    profile: Profile, hidden: frozenset[int], ratio: Fraction | float | str
) -> ProfileExposure:
    """As much as a share allows, where the nodes that are hidden are at hand."""
    levels = exposure_levels(profile, hidden)
    return exposure_of(profile, levels_within(levels, share_of("--ratio", ratio)), hidden)


def levels_within(levels: Sequence[ExposureLevel], most: Fraction) -> Sequence[ExposureLevel]:
    """As many levels as a share allows; where none is allowed, none, whatever they say."""
    count = len(levels) if most else 0
    while count and Fraction(levels[count - 1].ratio) > most:
        count -= 1
    return levels[:count]


def exposure_of(
    profile: Profile,
    told: Sequence[ExposureLevel],
    hidden: frozenset[int],
    least: Fraction | None = None,
) -> ProfileExposure:
    """What the first levels tell together; `least`, a minDetail that somebody asked for."""
    ids = frozenset(id(node) for level in told for node in level.nodes)
    if told and least is None:
        least = told[-1].min_detail
    return ProfileExposure(profile, ids, hidden, least, told[-1].ratio if told else 0.0)


@dataclass(frozen=True, slots=True)
class ExposureLevel:
    """What is told at one minDetail and at no larger one, and how much it is with all above."""

    min_detail: Fraction
    nodes: tuple[ProfileNode, ...] = field(repr=False)
    ratio: float


def exposure_levels(profile: Profile, hidden: frozenset[int] = frozenset()) -> list[ExposureLevel]:
    """How a profile opens as minDetail falls, from the most general interests to all of them.

    A node has no larger support than the one above it, so its own share says when it is told.
    """
    whole = _exact_entropies(profile, frozenset())
    most = whole[-1][1] if whole else 0.0
    return [
        ExposureLevel(
            nodes[0].support / profile.documents, nodes, entropy / most if most else 0.0
        )
        for nodes, entropy in (_exact_entropies(profile, hidden) if hidden else whole)
    ]  # fmt: skip


_UNIT = 2**1074  # of every double a whole number of them is made


def _exact_entropies(
    profile: Profile, hidden: frozenset[int]
) -> list[tuple[tuple[ProfileNode, ...], float]]:
    """The nodes of each level, and what the leaves of all told by then say, in decimal digits.

    A node that is told takes its support from the rest of the node above it, and only these two
    pieces change. Their sum is kept exactly, so that it does not matter in which order they came.
    """
    above: dict[int, int] = {}
    every: list[ProfileNode] = []
    for node in profile.walk():  # each before its children
        every.append(node)
        above.update((id(child), id(node)) for child in node.children)
    shown = [node for node in every if id(node) not in hidden]
    shown.sort(key=lambda node: -node.support)  # of equals, the one above first
    rest = {id(node): node.support for node in shown}
    rest[_ROOT] = Fraction(profile.documents)

    def piece(support: Fraction) -> int:
        share = float(support / profile.documents)
        over, below = (-share * math.log10(share) if share else 0.0).as_integer_ratio()
        return over * (_UNIT // below)

    total = piece(rest[_ROOT])
    levels = []
    for _, same in groupby(shown, key=lambda node: node.support):
        nodes = tuple(same)
        for node in nodes:
            parent = above.get(id(node), _ROOT)
            total += piece(node.support) - piece(rest[parent])
            rest[parent] -= node.support
            total += piece(rest[parent])
        levels.append((nodes, max(total, 0) / _UNIT))
    return levels


def share_of(option: str, given: Fraction | float | str | None) -> Fraction:
    """A share between 0 and 1, exactly as it is written.

    >>> share_of("--ratio", 0.25)
    Fraction(1, 4)
    """
    text = str(given)
    try:
        found = Fraction(-1 if _VAST.search(text) else text)
    except (ValueError, ZeroDivisionError):
        found = Fraction(-1)
    if not 0 <= found <= 1:
        raise InputError(
            "this share lies between 0 and 1", where=option, do=_share_remedy(option, text)
        )
    return found


def _share_remedy(option: str, text: str) -> str:
    """What to write instead; a number is repeated, and nothing else is."""
    number = re.fullmatch(r"(\d{1,9})(?:([.,])(\d{1,9}))?\s*(%?)", text.strip(), re.ASCII)
    if number:
        ones, mark, tenths, percent = number.groups(default="")
        meant = Fraction(f"{ones}.{tenths or 0}") / (100 if percent else 1)
        how = "as a share, without the percent" if percent else "with a point, not a comma"
        if meant <= 1 and (percent or mark == ","):
            return f"write it {how}: {float(meant):g}."
    return f"give {_SHARES.get(option, '0.25')}."


def hidden_nodes(profile: Profile, hide: Iterable[str] | str) -> frozenset[int]:
    """The nodes that have one of these words in their label, and all below them."""
    language = Language(profile.language)
    words = [hide] if isinstance(hide, str) else list(hide)
    if not all(word.strip() for word in words):
        raise InputError(
            "there is no word to hide", where="--hide", do="give one, or leave --hide out."
        )
    terms = {word: {*language.terms(word)} or {word} for word in words}
    known = {term for node in profile.walk() for term in node.terms}
    refuse(
        Problem(  # the word was given with the command: it may be repeated
            f'no interest has the word "{one_line(word)}"', where="--hide",
            do="see  reticent profile show  for those that there are.",
        )
        for word in words
        if not terms[word] <= known
    )  # fmt: skip
    return nodes_with(profile, (term for found in terms.values() for term in found))


def nodes_with(profile: Profile, terms: Iterable[str]) -> frozenset[int]:
    """The nodes that have one of these terms in their label, and all below them."""
    asked = frozenset(terms)
    tops = [node for node in profile.walk() if not asked.isdisjoint(node.terms)]
    return frozenset(id(node) for top in tops for node in top.walk())
