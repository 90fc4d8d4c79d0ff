"""What masked columns show, as numbers: for models that take nothing else.

    label                           ordinal                     midpoint
    interval                        0, 1, 2, … rising           half way between its ends
    label of a taxonomy             0, 1, 2, … in pre-order     as ordinal
    value beside suppressed ones    0, 1, 2, … by code point    as ordinal
    marker, root: it tells nothing  -1                          middle of the whole range, else -1
    missing, and shown to be so     NaN                         NaN

The numbers follow from the cut alone, not from the rows that are masked: a label that no fitted row
shows has one, too. What the fitted table did not hold is shown as what tells nothing, as it is in
text, so that a number out of range does not end in a gap that most models refuse. Of dates and
timestamps the midpoint is in days since 1970.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa

from reticent.data.recode import Interval, Recoding
from reticent.data.scales import UNIX_DAY
from reticent.errors import InputError

Output = Literal["text", "ordinal", "midpoint"]
NOTHING_TOLD = -1
_TICKS = 24 * 3600 * 1_000_000  # microseconds of a day


def coded(recoding: Recoding, output: Output) -> dict[str, float]:
    """The number of every label that a column can show."""
    if output == "midpoint" and recoding.intervals:
        return _midpoints(recoding)
    if recoding.intervals:
        labels = [interval.label for interval in recoding.intervals]
    else:
        labels = list(dict.fromkeys(recoding.labels.values()))  # in the order of a taxonomy
        labels = sorted(labels) if recoding.mask == "suppress" else labels
    told = [label for label in labels if label != recoding.other]
    nothing = {} if recoding.other is None else {recoding.other: NOTHING_TOLD}
    return {**nothing, **{label: code for code, label in enumerate(told)}}


def _midpoints(recoding: Recoding) -> dict[str, float]:
    """As "[0,100]" of the fully masked column is 50, so is what shows nothing of its range."""
    first, last = recoding.intervals[0], recoding.intervals[-1]
    whole = replace(first, high=last.high)
    told = {one.label: midpoint(one, recoding.kind) for one in recoding.intervals}
    nothing = {} if recoding.other is None else {recoding.other: midpoint(whole, recoding.kind)}
    return nothing | told


def midpoint(interval: Interval, kind: str) -> float:
    """Half way between the ends that an interval is printed with; of times, in days since 1970.

    >>> midpoint(Interval(20, 35, False, "[20,35)"), "number")
    27.5
    """
    middle = (Fraction(interval.low) + Fraction(interval.high)) / 2
    if kind == "date":
        middle -= UNIX_DAY
    return float(middle / _TICKS if kind == "timestamp" else middle)


def as_numbers(labels: pa.Array, codes: Mapping[str, float]) -> pa.Array:
    """Labels by their numbers; missing ones, and those without a number, as NaN."""
    shown = labels.dictionary_encode()
    known = [codes.get(label, np.nan) for label in shown.dictionary.to_pylist()]
    at = shown.indices.fill_null(len(known)).to_numpy(zero_copy_only=False)
    return pa.array(np.array([*known, np.nan], dtype=np.float64)[at])


def check_output(output: Any) -> None:
    """Refuse what is no kind of output."""
    if output not in get_args(Output):
        raise InputError(
            'output must be "text", "ordinal" or "midpoint"', where="Masker",
            why="it says whether masked columns are labels or numbers.",
        )  # fmt: skip
