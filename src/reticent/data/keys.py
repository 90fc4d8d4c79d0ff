"""Scores as whole numbers, so that everybody who compares finds the same best.

The key of a score is the score rounded to 30 significant bits, as an integer of 40: two scores that
are equal on paper and differ in their last digits have one key, unless the border between two keys
runs just there. Keys are totally ordered, so the
best of all is the best among the bests of any parts, whoever holds them and in whatever order they
are looked at. (A rule such as "better by more than a billionth" is not like that: of 1, 1 + 0.8e-9
and 1 + 1.6e-9 it takes the last if all are looked at in a row, and the first if the last two are
compared beforehand.)

What stands first in tie order wins among equal keys.
"""

# The loops below read like their compiled form; typing NumPy scalars would not.
# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

from __future__ import annotations

import numpy as np

from reticent.compiling import compiled

UNREAL = 0x7FF << 29  # the key of infinity; those of what is no number lie above


@compiled
def key(score):
    """The score's 64-bit pattern without its last 23 bits, rounded; its sign stays.

    >>> key(0.0), key(1.0) == key(1 + 1e-13), key(1.0) < key(1 + 1e-8), key(-1.0) == -key(1.0)
    (0, True, True, True)
    """
    pattern = np.float64(abs(score)).view(np.int64)
    rounded = (pattern + (1 << 22)) >> 23
    return -rounded if score < 0 else rounded


@compiled
def first_best(scores):
    """The position of the first score with the largest key.

    >>> first_best(np.array([0.2, 0.5, 0.5 + 1e-13])), first_best(np.array([-3.0, -2.0]))
    (1, 1)
    """
    best = 0
    largest = key(scores[0])
    for i in range(1, len(scores)):
        # A larger key needs a larger score, and so most keys need not be made (of what is no number
        # nothing is true, and it gets one): a third of the time.
        if not scores[i] <= scores[best] and key(scores[i]) > largest:
            largest = key(scores[i])
            best = i
    return best
