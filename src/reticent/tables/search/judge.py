"""How well a class can be told from a table masked in one way or another, before it is published.

The same records are masked in every way that is compared, divided into the same parts, and each
part is told by a tree that learnt from the others: so no way is praised for what it memorized, and
two ways differ by what they do and not by chance. Records count, not their order in the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from reticent.data.collapse import Distinct, distinct
from reticent.data.encode import Domain
from reticent.evidence.classify import are_numbers
from reticent.tables.prepare import Prepared
from reticent.trees.learner import train
from reticent.trees.tree import Feature

Bits = NDArray[np.bool_]
Codes = NDArray[np.int64]
_PARTS = 3
_RECORDS = 30_000  # to judge by: enough to tell errors 0.4 points apart
_CELLS = 600_000  # of wide tables fewer records: with 60 columns more, all would take 8 s
_MOST_TEXTS = 1_000  # a kept column with more tells a tree nothing, and takes long to sort


class Judge:
    """The records of one table, ready to be masked and told."""

    def __init__(self, prepared: Prepared) -> None:
        assert prepared.classes is not None
        self.domains = prepared.domains
        classes, self.class_count = prepared.classes
        others = list(_others(prepared))
        columns = [domain.codes for domain in prepared.domains]
        columns += [feature.codes + 1 for feature in others]  # -1 is missing
        sizes = [domain.size for domain in prepared.domains]
        sizes += [len(feature.values) + 1 for feature in others]
        rng = np.random.default_rng(1)
        most = min(_RECORDS, _CELLS // max(len(columns), 1))
        # Equal records are alike: which of them is taken makes no difference.
        counts = prepared.table.counts
        found = distinct([*columns, classes], [*sizes, self.class_count], counts, which=True)
        self.taken = taken = _drawn(found, most, rng, spaced=prepared.table.long)
        self.part = rng.permutation(len(taken)) % _PARTS
        self.leaves = [domain.codes[taken].astype(np.int64) for domain in prepared.domains]
        self.others = [Feature(f.name, f.codes[taken], f.values, f.number) for f in others]
        self.classes: Codes = np.asarray(classes)[taken].astype(np.int64)

    def wrong(self, masked: Sequence[Codes], out: Bits | None = None) -> Bits:
        """Which records are told wrong, if each leaf of each masked column is shown as this.

        Rows of the table that are left out can still be asked about, but not learnt from.
        """
        learnt = np.ones(len(self.classes), dtype=bool) if out is None else ~out[self.taken]
        features = [
            _masked(domain, shown[leaves])
            for domain, leaves, shown in zip(self.domains, self.leaves, masked, strict=True)
            if shown.max(initial=0) > 0
        ]
        features += self.others
        wrong = np.empty(len(self.classes), dtype=bool)
        labels = [f"{number:06d}" for number in range(self.class_count)]
        for part in range(_PARTS):
            test = self.part == part
            rest = ~test & learnt
            known = [Feature(f.name, f.codes[rest], f.values, f.number) for f in features]
            known, classes, weights = _collapsed(known, self.classes[rest])
            tree = train(known, classes, labels, weights=weights)
            told = tree.predict([f.codes[test] for f in features], int(test.sum()))
            wrong[test] = told != self.classes[test]
        return wrong


def _drawn(
    found: Distinct, most: int, rng: np.random.Generator, *, spaced: bool
) -> NDArray[np.int64]:
    """The rows of some records; of a long table evenly spaced ones, which takes no room."""
    ends = np.cumsum(found.counts)
    records = int(ends[-1])
    if spaced:
        drawn = (2 * np.arange(most) + 1) * records // (2 * most)
    else:
        drawn = np.sort(rng.permutation(records)[:most])
    assert found.rows is not None
    rows: NDArray[np.int64] = found.rows[np.searchsorted(ends, drawn, side="right")]
    return rows


def _others(prepared: Prepared) -> Iterator[Feature]:
    """The columns released as they are, as far as a tree can use them.

    Of a long table they are not all at hand where it does not fit in memory, so they do not
    count where it does.
    """
    if prepared.table.long:
        return
    form = prepared.reading.form
    for name in (*prepared.roles.kept, *prepared.roles.sensitive):
        column = prepared.cleaned.columns[name]
        number = are_numbers([column], **form)
        if number or len(column.values) <= _MOST_TEXTS:
            yield Feature.of(column, number=number, **form)


def _masked(domain: Domain, codes: Codes) -> Feature:
    count = int(codes.max(initial=0)) + 1
    number = domain.scale is not None
    values = tuple(range(count)) if number else tuple(f"{code:06d}" for code in range(count))
    return Feature(domain.name, codes, values, number)


def _collapsed(
    features: list[Feature], classes: Codes
) -> tuple[list[Feature], Codes, NDArray[np.int64]]:
    """Equal records as one with a weight: masked tables have few that differ."""
    columns = [*(f.codes.astype(np.int64) + 1 for f in features), classes]
    found = distinct(columns, [int(column.max(initial=0)) + 1 for column in columns])
    *codes, kept = found.columns
    fewer = [
        Feature(f.name, code.astype(np.int64) - 1, f.values, f.number)
        for f, code in zip(features, codes, strict=True)
    ]
    return fewer, kept.astype(np.int64), found.counts


def clearly_fewer(this: Bits, than: Bits, *, errors: float) -> bool:
    """Whether fewer records are told wrong, by more than so many standard errors.

    >>> than = np.arange(1000) < 200
    >>> [clearly_fewer(np.arange(1000) < n, than, errors=2) for n in (150, 195, 198)]
    [True, True, False]
    """
    saved = int(than.sum()) - int(this.sum())
    return saved > errors * float(np.sqrt((this != than).sum()))
