"""A tree of interests and its entropy straight from their definitions, over Python sets."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

Documents = Sequence[frozenset[str]]


@dataclass(frozen=True)
class Interest:
    terms: tuple[str, ...]
    support: Fraction
    children: tuple[Interest, ...]


def tree(documents: Documents, minsup: int, delta: Fraction) -> tuple[Interest, ...]:
    return split(documents, dict.fromkeys(range(len(documents)), Fraction(1)), (), minsup, delta)


def split(
    documents: Documents,
    shares: Mapping[int, Fraction],
    above: tuple[str, ...],
    minsup: int,
    delta: Fraction,
) -> tuple[Interest, ...]:
    count = Counter(term for d in shares for term in documents[d] if term not in above)
    labels: list[list[str]] = []
    holding: list[set[int]] = []
    for term in sorted(count, key=lambda term: (-count[term], term)):
        if count[term] < minsup:
            continue
        own = {d for d in shares if term in documents[d]}
        firsts = [{d for d in shares if label[0] in documents[d]} for label in labels]
        same = [i for i, u in enumerate(firsts) if Fraction(len(own & u), len(own | u)) > delta]
        narrower = [i for i, u in enumerate(firsts) if Fraction(len(own & u), len(own)) > delta]
        if same:
            labels[same[0]].append(term)
            holding[same[0]] |= own
        elif narrower:
            holding[narrower[0]] |= own
        else:
            labels.append([term])
            holding.append(own)
    among = Counter(d for held in holding for d in held)
    found = []
    for label, held in zip(labels, holding, strict=True):
        below = {d: shares[d] / among[d] for d in held}
        children = split(documents, below, (*above, *label), minsup, delta)
        found.append(Interest(tuple(label), sum(below.values(), Fraction(0)), children))
    return tuple(sorted(found, key=lambda one: (-one.support, "/".join(reversed(one.terms)))))


Path = tuple[int, ...]  # to a node: the number of the child, level by level


def paths(nodes: Sequence[Interest], above: Path = ()) -> dict[Path, Interest]:
    found = {}
    for i, node in enumerate(nodes):
        found[(*above, i)] = node
        found |= paths(node.children, (*above, i))
    return found


def told(
    nodes: Sequence[Interest], documents: int, least: Fraction, hide: Collection[str] = ()
) -> set[Path]:
    """Paths of nodes that are large enough and have no hidden term, as all above them are."""
    every = paths(nodes)
    good = {
        path
        for path, node in every.items()
        if node.support / documents >= least and not set(hide) & set(node.terms)
    }
    return {path for path in good if all(path[:i] in good for i in range(1, len(path)))}


def leaves(nodes: Sequence[Interest], documents: int, shown: Collection[Path]) -> list[Fraction]:
    """Supports of what has no child that is shown, and of what shown children leave of a node."""
    every = paths(nodes)
    found = []
    for path in [(), *sorted(shown)]:
        support = every[path].support if path else Fraction(documents)
        children = [other for other in shown if other[:-1] == path]
        found.append(support - sum(every[child].support for child in children))
    return found


def entropy(supports: Sequence[Fraction], documents: int) -> float:
    shares = [float(support / documents) for support in supports if support]
    return -sum(share * math.log10(share) for share in shares)


def ratio(nodes: Sequence[Interest], documents: int, shown: Collection[Path]) -> float:
    whole = entropy(leaves(nodes, documents, paths(nodes)), documents)
    return entropy(leaves(nodes, documents, shown), documents) / whole if whole else 0.0


def weights(nodes: Sequence[Interest], documents: int, shown: Collection[Path]) -> dict[str, float]:
    found: dict[str, float] = {}
    for path in sorted(shown):
        node = paths(nodes)[path]
        label = "/".join(reversed(node.terms))
        found[label] = found.get(label, 0.0) + math.log10(documents / node.support)
    return found
