"""Cutting a tree back to what should pay on records to come: C4.5's pessimistic estimate.

A leaf with e errors among n records is expected to err more often on new ones: as often as the
upper end of a confidence interval around e / n. A subtree whose leaves together promise no fewer
errors than a single leaf in its place becomes that leaf.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from reticent.trees.tree import TreeNode

# The standard normal's upper quantiles as C4.5 tables them; between two, a straight line.
_LEVELS = (0.0, 0.001, 0.005, 0.01, 0.05, 0.10, 0.20, 0.40, 1.00)
_QUANTILES = (4.0, 3.09, 2.58, 2.33, 1.65, 1.28, 0.84, 0.25, 0.00)
_NEARLY = 1e-9  # by which equal estimates may differ


def prune(root: TreeNode, confidence: float = 0.25, unit: int = 1) -> None:
    """Replace, from the leaves up, every subtree that promises no fewer errors than a leaf.

    Counts are in parts of a record, so many to one, where `unit` is not 1.
    """
    promised: dict[int, float] = {}  # errors to come, by id of the nodes not yet accounted for
    nodes = root.walk()
    counts = np.array([node.counts for node in nodes])
    records = counts.sum(axis=1)  # of all nodes at once: one by one took longer than all the rest
    errors = records - counts.max(axis=1, initial=0)
    seen = zip(nodes, records.tolist(), errors.tolist(), strict=True)
    for node, count, wrong in reversed([*seen]):
        alone = expected_errors(count / unit, wrong / unit, confidence)
        below = sum(promised.pop(id(branch)) for branch in node.branches)
        # Equal estimates differ in their last digits, the more so the more records there are.
        if not node.branches or alone <= below * (1 + _NEARLY):
            node.split, node.branches = None, []
            below = alone
        promised[id(node)] = below


def expected_errors(records: float, errors: float, confidence: float = 0.25) -> float:
    """The errors to expect of a leaf on as many new records, pessimistically.

    Records may weigh less than one; between no error and one, the estimate is a straight line.

    >>> round(expected_errors(6, 0), 3), round(expected_errors(16, 1), 3)
    (1.238, 2.507)
    """
    if not records:
        return 0.0
    if errors < 1:
        # Not 1 - exp(…): of a billion records, that leaves seven digits.
        none = -records * math.expm1(math.log(confidence) / records)
        one = expected_errors(records, 1, confidence) if errors else 0.0
        return none + errors * (one - none)
    seen = errors + 0.5
    if seen >= records:
        return errors + 0.67 * (records - errors)
    z2 = quantile(confidence) ** 2
    spread = math.sqrt(z2 * (seen * (1 - seen / records) + z2 / 4))
    return records * (seen + z2 / 2 + spread) / (records + z2)


@cache
def quantile(confidence: float) -> float:
    """How many standard deviations the estimate lies above what was seen.

    >>> round(quantile(0.25), 4)
    0.6925
    """
    at = next(i for i, level in enumerate(_LEVELS) if confidence <= level) or 1
    low, high = _LEVELS[at - 1 : at + 1]
    share = (confidence - low) / (high - low)
    return _QUANTILES[at - 1] + share * (_QUANTILES[at] - _QUANTILES[at - 1])
