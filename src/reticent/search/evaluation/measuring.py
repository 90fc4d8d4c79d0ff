"""How good an order of results is, and how sure that is.

AP          the mean of i/rank over the relevant results, the i-th of them at that rank
gain        AP of an order less AP of the engine's, the mean over all queries that were asked
interval    from resampling whole users, 95 %: what one user asks is alike, and no fresh proof
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

SAMPLES, SURE = 2000, 0.95
_BOOTSTRAP = 5  # a seed of its own

Floats = NDArray[np.float64]


def average_precision(relevant: ArrayLike) -> float:
    """Of results in order, each relevant or not; 0 if none is.

    >>> average_precision([True, False, True])  # 1/1 and 2/3
    0.8333
    """
    ranks = np.flatnonzero(np.asarray(relevant, dtype=bool)) + 1
    return float(np.mean(np.arange(1, len(ranks) + 1) / ranks)) if len(ranks) else 0.0


@dataclass(frozen=True, slots=True)
class MeanWithInterval:
    """A mean, and between what it lies for 95 of a hundred draws of users."""

    mean: float
    low: float
    high: float

    @property
    def above_zero(self) -> bool:
        """Whether chance in who the users are does not explain it."""
        return self.low > 0


def mean_over_users(values: ArrayLike, users: ArrayLike, seed: int = 0) -> MeanWithInterval:
    """The mean of values, one a query, and its interval over the users who asked.

    >>> mean_over_users([1.0, 1.0, 1.0], [7, 7, 8])
    MeanWithInterval(mean=1.0, low=1.0, high=1.0)
    """
    of_values = np.asarray(values, dtype=np.float64)
    if not len(of_values):
        nothing = float("nan")
        return MeanWithInterval(nothing, nothing, nothing)
    _, user = np.unique(np.asarray(users), return_inverse=True)
    sums, counts = np.bincount(user, of_values), np.bincount(user)
    random = np.random.default_rng([_BOOTSTRAP, seed])
    drawn = random.integers(0, len(sums), (SAMPLES, len(sums)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.quantile(means, [(1 - SURE) / 2, (1 + SURE) / 2])
    return MeanWithInterval(float(of_values.mean()), float(low), float(high))


def over_clusterings(found: Sequence[MeanWithInterval]) -> MeanWithInterval:
    """Of several clusterings, the mean of each number.

    They are made of the same queries. So several of them are no more users, and the interval is as
    wide as that of one of them.
    """
    if not found:
        nothing = float("nan")
        return MeanWithInterval(nothing, nothing, nothing)
    means = np.mean([[one.mean, one.low, one.high] for one in found], axis=0)
    return MeanWithInterval(*map(float, means))
