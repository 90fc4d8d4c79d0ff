"""How the values of a column are printed, and which of two texts are one number."""

from __future__ import annotations

import math
import re
import unicodedata
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

CANONICAL = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$"


def is_text(kind: pa.DataType) -> bool:
    """Whether cells of a type are texts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_number(kind: pa.DataType) -> bool:
    """Whether cells of a type are numbers."""
    whole = pa.types.is_integer(kind)
    return bool(whole or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def texts(values: pa.Array) -> list[str | None]:
    """The shortest text of each value, as taxonomies and sensitive values are matched.

    >>> texts(pa.array([39.0, 0.5, None])), texts(pa.array([True]))
    (['39', '0.5', None], ['true'])
    """
    kind = values.type
    if is_text(kind):
        return list(values.to_pylist())
    if pa.types.is_timestamp(kind):
        return _timestamp_texts(values)
    if pa.types.is_date(kind):  # through days: Python's own dates end at the year 9999
        days = values.cast(pa.date32()).cast(pa.int32()).to_pylist()
        return [None if day is None else str(np.datetime64(day, "D")) for day in days]
    if pa.types.is_duration(kind) and kind.unit == "ns":
        return [None if n is None else f"{n}ns" for n in values.cast(pa.int64()).to_pylist()]
    if pa.types.is_time(kind):  # whatever its unit: a file may know another one
        clock = values.cast(pa.string()).to_pylist()
        return [t and (t.rstrip("0").rstrip(".") if "." in t else t) for t in clock]
    return [None if value is None else _text(value) for value in values.to_pylist()]


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return None if math.isnan(value) else number_text(value)
    if isinstance(value, Decimal):  # never 1E-8
        return format(value, "f")
    return value.isoformat() if isinstance(value, date) else str(value)


def number_text(value: float | int) -> str:
    """Integers without a point, other numbers as Python's repr.

    >>> number_text(18.0), number_text(0.1), number_text(7)
    ('18', '0.1', '7')
    """
    if isinstance(value, int) or (math.isfinite(value) and float(value).is_integer()):
        return str(int(value))
    return repr(float(value))


def shortest(text: str) -> str:
    """How a number written in two ways meets itself.

    >>> shortest("39.0"), shortest("039")
    ('39', '039')
    """
    if not re.fullmatch(CANONICAL, text):
        return text
    value = float(text)
    return number_text(value) if abs(value) < 2**53 else text


_UNFIT = {"Cc", "Cs", "Cn"}  # control signs, halves of characters, and what is none yet
TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # of direction


def is_unfit(sign: str) -> bool:
    """Whether a sign may not be shown: it has no form, or changes what stands around it."""
    return sign in TURNS or unicodedata.category(sign) in _UNFIT


def one_line(text: str) -> str:
    r"""A text as part of a line: nothing in it ends the line, speaks to a terminal or turns it.

    >>> one_line("a\nb\x1b[2J"), one_line("Grüße")
    ('a b�[2J', 'Grüße')
    """
    if text.isprintable():
        return text
    told = (" " if sign.isspace() and sign not in "\x1c\x1d\x1e\x1f" else sign for sign in text)
    return "".join("\ufffd" if is_unfit(sign) else sign for sign in told)


def _timestamp_texts(values: pa.Array) -> list[str | None]:
    """Timestamps in ISO form, with all the digits that they have."""
    unit, zone = values.type.unit, "+00:00" if values.type.tz is not None else ""
    shown: list[str | None] = []
    for tick in values.cast(pa.int64()).to_pylist():
        if tick is None:
            shown.append(None)
            continue
        text = str(np.datetime64(tick, unit))
        whole, _, digits = text.partition(".")
        digits = digits if digits.strip("0") else ""
        digits = digits[:6] if digits[6:].strip("0") == "" else digits
        shown.append(whole + ("." + digits.ljust(6, "0") if digits else "") + zone)
    return shown
