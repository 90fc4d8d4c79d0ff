"""Documents as rows of numbers, so that thousands of profiles are held against them in no time.

What `reticent.search.ranking` does with the text of every result, for one query of one person, is
done here with counts of terms, once and for all. Both give the same order
(`test_the_same_order_as_in_a_search`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.search.evaluation.measuring import Floats
from reticent.search.ranking import BM25_B, BM25_K1, FIRST, Fusion

Ints = NDArray[np.intp]


class TermShelf:
    """How often each term stands in each document."""

    def __init__(self, documents: Sequence[Sequence[str]]) -> None:
        """Take each document's terms, in order or not."""
        from scipy.sparse import csr_array

        self.number: dict[str, int] = {}
        columns = [
            self.number.setdefault(term, len(self.number)) for terms in documents for term in terms
        ]
        ends = np.cumsum([0, *map(len, documents)])
        shape = (len(documents), len(self.number))
        self.counts: Any = csr_array((np.ones(len(columns)), columns, ends), shape=shape)
        self.counts.sum_duplicates()
        self.lengths = np.array([len(terms) for terms in documents], dtype=np.float64)

    def vectors(self, several: Sequence[Mapping[str, float]]) -> Any:
        """Weights by term as rows of a sparse matrix; terms of no document count nowhere."""
        from scipy.sparse import csr_array

        known = [
            [(self.number[term], weight) for term, weight in weights.items() if term in self.number]
            for weights in several
        ]
        columns = [column for row in known for column, _ in row]
        ends = np.cumsum([0, *map(len, known)])
        values = np.array([weight for row in known for _, weight in row], dtype=np.float64)
        return csr_array((values, columns, ends), shape=(len(known), len(self.number)))

    def scores(self, found: Ints, vectors: Floats, fusion: Fusion) -> Floats:
        """What results are worth by these weights: a row a vector, a column a result."""
        counts = self._tempered(found) if fusion == "scores" else self.counts[found]
        scores: Floats = (counts @ vectors.T).T
        return scores

    def fitted(self, found: Ints, several: Any) -> Floats:
        """Weights of several interests, a row each, put together as these results ask for."""
        shares = np.ones(several.shape[0])
        if len(shares) > 1:
            said = np.asarray(self._tempered(found)[:FIRST].sum(axis=0)).ravel()
            lengths = np.sqrt(several.power(2).sum(axis=1))
            fits = several @ said / np.where(lengths > 0, lengths, 1)
            shares = (fits / fits.max()) ** 2 if fits.any() else shares
        together: Floats = shares @ several
        return together

    def _tempered(self, found: Ints) -> Any:
        """BM25's tf of every term of every result."""
        counts, lengths = self.counts[found], self.lengths[found]
        mean = lengths.mean() if lengths.any() else 1.0
        damp = BM25_K1 * (1 - BM25_B + BM25_B * lengths / mean)
        rows = np.repeat(np.arange(len(found)), np.diff(counts.indptr))
        counts.data = counts.data * (BM25_K1 + 1) / (counts.data + damp[rows])
        return counts


def fused(scores: Floats, engine: Floats, alpha: Fraction, fusion: Fusion) -> Ints:
    """The new order of results that an engine gave in this one, and scored."""
    every = np.arange(len(scores))
    if fusion == "scores":
        share = float(alpha)
        return np.argsort(-(share * _scaled(scores) + (1 - share) * _scaled(engine)), kind="stable")
    place = np.empty(len(scores), dtype=np.int64)
    # Sums of weights of three decimals: equals differ by rounding alone.
    place[np.argsort(-np.round(scores, 9), kind="stable")] = every + 1
    above, below = alpha.as_integer_ratio()
    return np.argsort(above * place + (below - above) * (every + 1), kind="stable")


def _scaled(scores: Floats) -> Floats:
    """Scores on a scale from 0, the least of these, to 1; all 0 where they are equal."""
    if not len(scores) or scores.max() == scores.min():
        return np.zeros(len(scores))
    scaled: Floats = (scores - scores.min()) / (scores.max() - scores.min())
    return scaled
