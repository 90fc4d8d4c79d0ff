"""A person's interests as a tree of terms, general ones above special ones.

Source: the thesis *Preserving individual privacy* (paper 003), 5.2.1, algorithms Split and BuildUP.

    D, D(t)     documents, those with the term t            rows of a node's table, one of its rows
    S(n)        documents that support a node               `documents` of a node
    Sup(n)      the sum of their shares                     `support`, an exact fraction
    minsup, δ   documents that make a term an interest;     `minsup`, `delta`
                how far two terms must overlap

A document has one share at the root and divides it equally among the children that hold it, level
by level. So a share is always 1/m for a whole m, and what a node carries of each document is m.

**Where we differ from the paper.** It leaves open which of several earlier terms a term joins: the
first, in order, and overlaps are asked of all of them before narrower meanings are
(`test_the_order_of_the_two_rules`). Overlaps are counted within the node that is split.

Cost: a node with d documents and f frequent terms takes one product of an f × d matrix of zeros and
ones with itself. 10,000 documents of 200 words: see benchmarks/search_speed.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.errors import InputError
from reticent.releases.spoken import Spoken
from reticent.search.words import NONE

KEYWORDS, DELTA = 20, Fraction(3, 5)
_LEAST, _ONE_IN = 5, 100  # documents that a term must stand in, and their share of all

_MOST_NODES = 1_000_000  # of a tree; a node takes about 300 bytes
_FACTORIAL_FITS = 20  # terms of a document; as many children in all its levels: 20! < 2 ** 63

Ones = NDArray[np.bool_]  # a row a term, a column a document: whether it stands there
Terms = NDArray[np.intp]  # by their place in the alphabet
Parts = NDArray[np.int64] | NDArray[np.object_]  # m of each document's share 1/m


@dataclass(frozen=True, slots=True)
class ProfileNode:
    """An interest: its terms, the first one first, and the interests that are part of it."""

    terms: tuple[str, ...]
    support: Fraction
    children: tuple[ProfileNode, ...] = ()

    @property
    def label(self) -> str:
        """Its terms as one name, the latest in front."""
        return "/".join(reversed(self.terms))

    @property
    def others(self) -> Fraction:
        """What no child covers, where there are children; a leaf has no others beside it."""
        return left_by(self.support, self.children) if self.children else Fraction(0)

    def walk(self) -> Iterator[ProfileNode]:
        """The node and all below it, each before its children."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(node.children)


def left_by(support: Fraction, nodes: Sequence[ProfileNode]) -> Fraction:
    """What is left of a support beside some nodes that share it."""
    return support - sum((node.support for node in nodes), Fraction(0))


@dataclass(frozen=True, slots=True)
class Profile(Spoken):
    """A person's interests. It is private: what may be told of it, `exposing` says."""

    documents: int  # |D|, those with a term
    nodes: tuple[ProfileNode, ...] = field(repr=False)  # the children of the root
    language: str
    keywords: int | None  # terms of a document at most; None: all of them
    minsup: int
    delta: Fraction
    words: Mapping[str, str] = field(default_factory=dict, repr=False)  # how people write a stem

    @property
    def others(self) -> Fraction:
        """What no node covers."""
        return left_by(Fraction(self.documents), self.nodes)

    def walk(self) -> Iterator[ProfileNode]:
        """All nodes, each before its children."""
        for node in self.nodes:
            yield from node.walk()

    def worded(self, label: str) -> str:
        """A label as people write it: each stem by its commonest word."""
        return "/".join(self.words.get(term, term) for term in label.split("/"))

    def _says(self, words: Any) -> str:
        said: str = words.shown(self, None, None)
        return said


def keywords_of(terms: Sequence[str], most: int | None = KEYWORDS) -> list[str]:
    """The most frequent terms of a document; of equally frequent ones, first in the alphabet.

    >>> keywords_of(["soccer", "ronaldo", "soccer", "goal"], most=2)
    ['soccer', 'goal']
    """
    counts = Counter(terms)
    return sorted(counts, key=lambda term: (-counts[term], term))[:most]


def usual_minsup(documents: int) -> int:
    """How many documents make a term an interest: one in a hundred, and five at least.

    >>> usual_minsup(60), usual_minsup(1001)
    (5, 11)
    """
    return max(_LEAST, -(-documents // _ONE_IN))


def grown(
    documents: Sequence[Sequence[str]],
    *,
    minsup: int | None = None,
    delta: Fraction = DELTA,
    language: str = NONE,
    keywords: int | None = None,
    grows: Callable[[int], None] = lambda nodes: None,
) -> Profile:
    """The profile of somebody with these documents, each told by its distinct terms.

    `grows` hears of how many nodes there are so far.

    >>> found = grown([["sea", "sail"], ["sea"], ["tea"], ["tea"]], minsup=2)
    >>> [(node.label, str(node.support)) for node in found.walk()]
    [('sea', '2'), ('tea', '2')]
    """
    least = usual_minsup(len(documents)) if minsup is None else minsup
    nodes = grow(documents, least, delta, grows)
    return Profile(len(documents), nodes, language, keywords, least, delta)


def grow(
    documents: Sequence[Sequence[str]],
    minsup: int,
    delta: Fraction = DELTA,
    grows: Callable[[int], None] = lambda nodes: None,
) -> tuple[ProfileNode, ...]:
    """The children of the root, from the distinct terms of each document.

    >>> [(node.label, node.support) for node in grow([["a", "b"], ["b", "a"], ["c"]], minsup=2)]
    [('b/a', Fraction(2, 1))]
    """
    counts = Counter(term for terms in documents for term in terms)
    names = sorted(term for term in counts if counts[term] >= minsup)
    number = {term: i for i, term in enumerate(names)}
    ones: Ones = np.zeros((len(names), len(documents)), dtype=np.bool_)
    for column, terms in enumerate(documents):
        ones[[number[term] for term in terms if term in number], column] = True
    longest = max(map(len, documents), default=0)
    few = longest <= _FACTORIAL_FITS
    whole = np.ones(len(documents), dtype=np.int64 if few else object)
    return _Growth(names, minsup, delta, grows, longest).split(ones, np.arange(len(names)), whole)


@dataclass(slots=True)
class _Growth:
    """What all splits of one profile share."""

    names: Sequence[str]  # of terms, in alphabetical order
    minsup: int
    delta: Fraction
    grows: Callable[[int], None]
    longest: int  # terms of a document
    nodes: int = 0  # so far

    def split(self, ones: Ones, terms: Terms, parts: Parts) -> tuple[ProfileNode, ...]:
        """The children of a node: `ones` of its documents, and of terms that no ancestor has."""
        counts = np.count_nonzero(ones, axis=1)
        frequent = counts >= self.minsup
        ones, terms, counts = ones[frequent], terms[frequent], counts[frequent]
        if not len(terms):
            return ()
        groups = self._grouped(ones, counts)
        self.nodes += len(groups)
        if self.nodes > _MOST_NODES:
            raise InputError(
                f"the tree of interests grows beyond {_MOST_NODES:,} nodes",
                where="profile build", why="documents share so many terms that all combine.",
                do="take fewer terms of each, or ask that more documents make an interest: "
                f"--keywords {max(min(KEYWORDS, self.longest // 2), 1)}, or "
                f"--minsup {2 * self.minsup}.",
            )  # fmt: skip
        self.grows(self.nodes)
        # One row a child, one column a document: whether the child holds it.
        holds = np.array([ones[group.every].any(axis=0) for group in groups])
        divided = parts * np.maximum(np.count_nonzero(holds, axis=0), 1)
        children = []
        for group, inside in zip(groups, holds, strict=True):
            left = np.ones(len(terms), dtype=np.bool_)
            left[group.label] = False
            own = divided[inside]
            below = self.split(ones[left][:, inside], terms[left], own)
            label = tuple(self.names[terms[i]] for i in group.label)
            children.append(ProfileNode(label, _sum_of_shares(own), below))
        return tuple(sorted(children, key=lambda node: (-node.support, node.label)))

    def _grouped(self, ones: Ones, counts: NDArray[np.intp]) -> list[_Group]:
        """Which terms start a child, mean the same as its first one, or something narrower."""
        # Packed, since what two terms share is then counted 64 documents at a time; and counted
        # with first terms alone, of which there are few where a tree is large.
        bits = _packed(ones)
        count: list[int] = counts.tolist()
        above, below = self.delta.as_integer_ratio()
        groups: list[_Group] = []
        for t in np.argsort(-counts, kind="stable").tolist():  # of equals, the alphabet's first
            limit = above * count[t]  # what narrower terms share; those that mean the same, more
            near = [group for group in groups if below * group.shared[t] > limit]
            same = (
                group
                for group in near
                if below * group.shared[t]
                > above * (count[t] + count[group.label[0]] - group.shared[t])
            )
            joined = next(same, None)
            if joined is not None:
                joined.label.append(t)
            elif near:
                joined = near[0]
            else:
                joined = _Group([t], np.bitwise_count(bits & bits[t]).sum(axis=1).tolist())
                groups.append(joined)
            joined.every.append(t)
        return groups


@dataclass(frozen=True, slots=True)
class _Group:
    """Terms of one child: those of its label, and all of them."""

    label: list[int]
    shared: list[int]  # documents that the first of them has in common with each term
    every: list[int] = field(default_factory=list)


def _packed(ones: Ones) -> NDArray[np.uint64]:
    """Rows of bits, 64 in a number."""
    some = np.packbits(ones, axis=1)
    return np.pad(some, ((0, 0), (0, -some.shape[1] % 8))).view(np.uint64)


def _sum_of_shares(parts: Parts) -> Fraction:
    """Exactly, and with one fraction: few of a node's shares differ."""
    different, counts = np.unique(parts, return_counts=True)
    whole = lcm(*different.tolist())
    pairs = zip(counts.tolist(), different.tolist(), strict=True)
    return Fraction(sum(count * (whole // part) for count, part in pairs), whole)
