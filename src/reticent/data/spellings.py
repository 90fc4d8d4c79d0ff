"""Values that somebody wrote in several ways: with blanks around them, in other case or signs.

A table counts what is written. Two spellings of one value are two values: groups look smaller than
they are, and a cut parts what belongs together. Nothing is merged unasked: that they mean the same
is for their owner to say.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reticent.data.columns import Column
from reticent.data.texts import is_text

_MOST = 10_000  # distinct values; with more, a column is no list of categories


def padded(column: Column) -> NDArray[np.bool_]:
    """Which values of a column have blanks around them.

    >>> import pyarrow as pa
    >>> from reticent.data.columns import encode
    >>> padded(encode("A", pa.array(["m ", "m", None]))).tolist()
    [True, False, False]
    """
    import pyarrow.compute as pc

    if not is_text(column.values.type):
        return np.zeros(len(column.values), dtype=bool)
    differs = pc.not_equal(pc.utf8_trim_whitespace(column.values), column.values)
    return np.asarray(pc.fill_null(differs, False))


def written_differently(column: Column) -> list[list[str]]:
    """The values of a column that differ in case, blanks or the form of signs alone, by groups.

    >>> import pyarrow as pa
    >>> from reticent.data.columns import encode
    >>> written_differently(encode("A", pa.array(["m", "f", "M", "M  "])))
    [['m', 'M', 'M  ']]
    """
    if not is_text(column.values.type) or len(column.values) > _MOST:
        return []
    groups: dict[str, list[str]] = {}
    for text in column.values.drop_null().to_pylist():
        groups.setdefault(_heard(text), []).append(text)
    return [group for heard, group in groups.items() if heard and len(group) > 1]


def _heard(text: str) -> str:
    """What a text says, however it is written."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    shown = (sign for sign in plain if unicodedata.category(sign) != "Cf")  # joiners, soft hyphens
    return unicodedata.normalize("NFKC", " ".join("".join(shown).split()))


def most_frequent(column: Column, group: Sequence[str]) -> str:
    """The spelling that most rows have; of several, the first by code point."""
    counts = np.bincount(column.codes, minlength=len(column.values))
    at = {text: int(counts[i]) for i, text in enumerate(column.values.to_pylist())}
    return min(group, key=lambda text: (-at[text], text))
