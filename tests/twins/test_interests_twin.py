"""The tree of interests, and what is told of it, against their definitions."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import interests
from naive.interests import Interest
from reticent.search.exposing import ProfileExposure, expose
from reticent.search.profile import Profile, ProfileNode, grown
from reticent.search.profile_file import read_profile, write_profile

WORDS = ["a", "ab", "b", "c", "d", "é", "f2", "g"]
SHARES = [Fraction(n, 20) for n in range(21)]
documents_of = st.lists(  # of few terms each: with minsup 1, eight of them make 100,000 nodes
    st.frozensets(st.sampled_from(WORDS), min_size=1, max_size=4), min_size=1, max_size=14
)
deltas = st.sampled_from([Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(3, 5), Fraction(1)])


def as_told(nodes: Sequence[ProfileNode]) -> tuple[Interest, ...]:
    return tuple(Interest(node.terms, node.support, as_told(node.children)) for node in nodes)


def profile_of(documents: interests.Documents, minsup: int, delta: Fraction) -> Profile:
    return grown([sorted(document) for document in documents], minsup=minsup, delta=delta)


@given(documents_of, st.integers(1, 5), deltas)
@settings(max_examples=300, deadline=None)
def test_the_tree_is_that_of_the_definition(
    documents: list[frozenset[str]], minsup: int, delta: Fraction
) -> None:
    found = profile_of(documents, minsup, delta)
    assert as_told(found.nodes) == interests.tree(documents, minsup, delta)


def topical(seed: int, documents: int) -> list[frozenset[str]]:
    """Documents about nested subjects, as people's are: long labels and several levels."""
    rng = random.Random(seed)
    found = []
    for _ in range(documents):
        subject, part = rng.randrange(4), rng.randrange(3)
        words = {f"s{subject}", f"s{subject}p{part}", f"w{rng.randrange(30)}"}
        words |= {f"s{subject}same"} if rng.random() < 0.8 else set()
        words |= {f"s{subject}p{part}x{rng.randrange(3)}" for _ in range(2)}
        words |= {f"s{rng.randrange(4)}"} if rng.random() < 0.2 else set()
        found.append(frozenset(words))
    return found


@pytest.mark.parametrize("seed", range(8))
def test_of_nested_subjects(seed: int) -> None:
    documents = topical(seed, 150)
    delta = [Fraction(3, 5), Fraction(2, 5)][seed % 2]
    found = profile_of(documents, 3, delta)
    assert as_told(found.nodes) == interests.tree(documents, 3, delta)
    assert any(len(node.terms) > 1 for node in found.walk())
    assert any(child.children for node in found.nodes for child in node.children)


def test_more_terms_than_the_quick_numbers_hold() -> None:
    documents = [frozenset(f"t{i}" for i in range(d % 3, 24, 2)) | {f"u{d}"} for d in range(9)]
    assert as_told(profile_of(documents, 8, Fraction(3, 5)).nodes) == interests.tree(
        documents, 8, Fraction(3, 5)
    )


def test_order_of_documents_and_terms_says_nothing() -> None:
    documents = topical(5, 80)
    shuffled = [sorted(document, reverse=True) for document in reversed(documents)]
    assert grown(shuffled, minsup=3).nodes == profile_of(documents, 3, Fraction(3, 5)).nodes


def told_paths(nodes: Sequence[Interest], exposure: ProfileExposure) -> set[interests.Path]:
    """Where the nodes stand that are told."""
    ids = [id(node) for node in exposure.profile.walk()]
    in_order = [*interests.paths(nodes)]
    return {path for path, one in zip(in_order, ids, strict=True) if one in exposure.told}


@given(documents_of, st.integers(1, 3), st.sampled_from(SHARES), st.sampled_from(WORDS))
@settings(max_examples=200, deadline=None)
def test_what_is_told_by_detail(
    documents: list[frozenset[str]], minsup: int, least: Fraction, hidden: str
) -> None:
    delta = Fraction(3, 5)
    nodes = interests.tree(documents, minsup, delta)
    profile = profile_of(documents, minsup, delta)
    known = {term for node in profile.walk() for term in node.terms}
    hide = {hidden} & known
    exposure = expose(profile, min_detail=least, hide=hide)
    shown = interests.told(nodes, len(documents), least, hide)
    assert told_paths(nodes, exposure) == shown
    assert exposure.ratio == pytest.approx(interests.ratio(nodes, len(documents), shown))
    exposed = exposure.exposed
    assert dict(exposed.terms) == pytest.approx(
        interests.weights(nodes, len(documents), shown), abs=0.0005001
    )
    assert [*dict(exposed.terms)] == sorted(dict(exposed.terms))


@given(documents_of, st.integers(1, 3), st.sampled_from(SHARES), st.sampled_from(WORDS))
@settings(max_examples=200, deadline=None)
def test_what_is_told_by_ratio(
    documents: list[frozenset[str]], minsup: int, most: Fraction, hidden: str
) -> None:
    """The smallest of the nodes' own shares whose ratio is small enough, by trying all."""
    nodes = interests.tree(documents, minsup, Fraction(3, 5))
    profile = profile_of(documents, minsup, Fraction(3, 5))
    hide = {hidden} & {term for node in profile.walk() for term in node.terms}
    exposure = expose(profile, ratio=most, hide=hide)
    every = interests.paths(nodes)
    free = [p for p in every if not any(hide & {*every[p[:i]].terms} for i in range(1, len(p) + 1))]
    details = sorted({every[path].support / len(documents) for path in free})
    good = []
    for detail in details:
        shown = interests.told(nodes, len(documents), detail, hide)
        if interests.ratio(nodes, len(documents), shown) <= float(most) + 1e-12:
            good.append(detail)
    wanted = min(good, default=None) if most else None  # 0 is nothing, also of no entropy
    if exposure.min_detail != wanted:  # on the line to the last digit of a float
        borders = [abs(interests.ratio(nodes, len(documents), interests.told(
            nodes, len(documents), detail, hide)) - float(most)) for detail in details]  # fmt: skip
        assert min(borders) < 1e-12
    if exposure.min_detail is None:
        assert exposure.exposed.data() == {"terms": [], "ratio": 0.0, "min_detail": None}


@given(documents_of, st.integers(1, 3))
@settings(max_examples=100, deadline=None)
def test_laws(documents: list[frozenset[str]], minsup: int) -> None:
    profile = profile_of(documents, minsup, Fraction(3, 5))
    for node in profile.walk():
        assert node.others >= 0
        inside = sum(child.support for child in node.children) + node.others
        assert inside == (node.support if node.children else 0)  # else the node is the leaf
    assert sum(node.support for node in profile.nodes) + profile.others == len(documents)
    ratios = [expose(profile, min_detail=detail).ratio for detail in SHARES]
    assert ratios == sorted(ratios, reverse=True)  # the more special, the less is told
    chosen = [expose(profile, ratio=share) for share in SHARES]
    assert all(one.ratio <= float(share) for one, share in zip(chosen, SHARES, strict=True))
    assert all(a.told <= b.told for a, b in pairwise(chosen))


def test_a_file_holds_all_of_it(tmp_path: Path) -> None:
    profile = profile_of(topical(3, 60), 2, Fraction(3, 5))
    write_profile(profile, tmp_path / "p.json")
    assert read_profile(tmp_path / "p.json") == profile
