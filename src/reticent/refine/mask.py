"""From cuts to recodings: what every value of a masked column is shown as."""

from __future__ import annotations

from collections.abc import Collection

from reticent.data.encode import MISSING, Domain
from reticent.data.recode import Interval, Recoding, as_python
from reticent.data.taxonomy import Taxonomy
from reticent.data.texts import shortest
from reticent.refine.cuts import Cuts


def recoding(
    cuts: Cuts,
    attribute: int,
    *,
    refined: Collection[str] = (),
    taxonomy: Taxonomy | None = None,
    decimal: str = ".",
    date_format: str | None = None,
) -> Recoding:
    """Read off how one column is shown; `refined` are the labels that were opened in it."""
    domain = cuts.domains[attribute]
    position, labels = cuts.labels(attribute)
    if taxonomy is not None:
        return _by_taxonomy(domain, taxonomy, refined)
    if domain.scale is None:
        shown = {
            value: labels[position[code]]
            for code, value in enumerate(domain.leaves)
            if value != MISSING and labels[position[code]] != domain.marker
        }
        disclosed = domain.holds_missing and labels[position[-1]] == MISSING
        missing = MISSING if disclosed else domain.marker
        return Recoding(domain.name, domain.mask, shown, (), "text", missing, domain.marker)
    return _by_interval(cuts, attribute, refined, decimal, date_format)


def _by_taxonomy(domain: Domain, taxonomy: Taxonomy, refined: Collection[str]) -> Recoding:
    """Every leaf, seen or not, is shown as the first label on its path that was not opened."""
    shown: list[int] = [0] * len(taxonomy.labels)
    for node in range(1, len(shown)):  # pre-order: a parent comes before its children
        above = shown[taxonomy.parents[node]]
        is_open = above == taxonomy.parents[node] and taxonomy.labels[above] in refined
        shown[node] = node if is_open else above
    labels = {taxonomy.labels[leaf]: taxonomy.labels[shown[leaf]] for leaf in taxonomy.leaves}
    labels = {shortest(leaf): label for leaf, label in labels.items()} | labels
    root = taxonomy.labels[0]
    disclosed = root in refined and domain.holds_missing
    missing = MISSING if disclosed else root
    return Recoding(domain.name, domain.mask, labels, (), "text", missing, None)


def _by_interval(
    cuts: Cuts, attribute: int, refined: Collection[str], decimal: str, date_format: str | None
) -> Recoding:
    domain = cuts.domains[attribute]
    assert domain.scale is not None
    count = len(domain.scale.points)
    nodes = sorted(
        (node for slot, node in cuts.shown.items() if cuts.attribute_of(slot) == attribute),
        key=lambda node: node.low,
    )
    missing = next((n.label for n in nodes if n.low <= count < n.high), domain.marker)
    nodes = [node for node in nodes if node.low < min(node.high, count)]
    if domain.bins and domain.interval(0, count) in refined:  # bins that no row holds open too
        edges = list(domain.bins)
        labels = [domain.bin_label(i) for i in range(len(edges) - 1)]
    else:
        inner = [domain.border(node.low) for node in nodes[1:]]
        edges = [domain.ends[0], *inner, domain.ends[1]] if nodes and domain.ends else []
        labels = [domain.printed(node) for node in nodes]
    intervals = [
        Interval(as_python(low), as_python(high), i == len(labels) - 1, label)
        for i, (low, high, label) in enumerate(zip(edges[:-1], edges[1:], labels, strict=True))
    ]
    return Recoding(
        domain.name, domain.mask, {}, tuple(intervals), domain.scale.kind, missing,
        domain.marker, decimal, date_format,
    )  # fmt: skip
