"""What the columns of a table look like: by their names, types and counts.

Everything is decided on the distinct values of a column; how long the table is costs nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reticent.data.columns import Column, Table, without_missing
from reticent.data.scales import Kind, Scale, kind_of, scale_of
from reticent.data.texts import is_text
from reticent.errors import InputError, quoted
from reticent.files.tabular import Reading, is_made_up
from reticent.tables.drafts.words import says, says_only, says_postcode

Form = Literal[
    "odd", "unnamed", "empty", "contact", "name", "identifier", "free text", "constant", "numbered",
    "postcode", "category", "measure", "time",
]  # fmt: skip
_CATEGORIES = 12  # distinct whole numbers up to which they are categories,
_SMALL = 99  # if none is larger
_MANY = 20  # records from which on "nearly every one has a value of its own" tells something
_LONG_TEXT = 50  # characters
_MANY_WORDS = 7  # or words: a column with more than a fifth of such values has no categories
_SAMPLED = 20_000  # distinct texts that are looked into for words, dates and decimal commas
_GAPS = ("?", "NA", "N/A", "n/a", "#N/A", "null", "NULL", "None", "nan", "NaN", "-", ".", "k.A.")
_MAIL = r"[^\s@]+@[^\s@]+|\S+ ?[(\[]at[)\]]"
_LINK = r"(?i)\b(https?://|www\.)\S"
_PHONE = (  # +49 30 1234567, 030/1234567, (030) 12 34 56 7; 555-123-4567; and 123-45-6789
    r"(^|[^\d.,-])(\+|0|\()\d{1,5}[)]?[ /().-]{0,2}\d[\d /().-]{4,}\d($|[^\d.,-])"
    r"|(^|[^\d.,-])\d{3}[-. ](\d{3}[-. ]\d{4}|\d{2}-\d{4})($|[^\d.,-])"
    r"|[A-Za-z].*\b\d{3}-\d{4}\b|^\d{3}-0\d{3}$"  # 555-0123: not from 500 to 1000
)
_NO_PHONE = r"^(\d{4}-\d{2}-\d{2}.*|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}( .*)?|\d+|\d+[.,]\d+)$"
_DIGITS = r"^(0\d{8,14}|\+\d{8,14}|\d{10,15})$"  # the same without signs; no code is so long
_POSTCODE = r"^\d{4,6}$"
_UK_POSTCODE = r"^[A-Za-z]{1,2}\d[A-Za-z\d]? ?\d[A-Za-z]{2}$"
_CODE = r"^0\d{3,5}$"  # a zero in front is lost on numbers: these are codes
_DATE_FORMATS = (
    "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d",
    "%Y%m%d", "%d.%m.%y", "%d/%m/%y", "%m/%d/%y",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Look:
    """What one column looks like."""

    column: Column  # its missing values are one null
    kind: Kind
    form: Form
    rows: int  # of the table
    missing: int
    largest: int  # records that hold its most frequent value
    scale: Scale | None = None  # of numbers and times, if each of them can be read
    postcodes: tuple[int, ...] = ()  # where a taxonomy of prefixes would cut them

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.column.name

    @property
    def distinct(self) -> int:
        """How many values it has."""
        return len(self.column.values) - int(self.column.values.null_count)

    @property
    def present(self) -> int:
        """How many records have one."""
        return self.rows - self.missing

    @property
    def words(self) -> str:
        """The column in a few words."""
        gaps = f", {self.missing} missing" if self.missing else ""
        return f"{self.kind}, {self.distinct} distinct{gaps}"


def look(table: Table, reading: Reading, gaps: Sequence[str]) -> list[Look]:
    """Look at every column of a table."""
    looks = [_look(column, table.rows, reading, gaps) for column in table.columns.values()]
    nothing = pa.nulls(0, pa.string())
    odd = [Column(name, np.zeros(0, np.uint8), nothing) for name in table.known]
    odd = [column for column in odd if column.name not in table.columns]
    return [*looks, *(Look(column, "text", "odd", table.rows, 0, 0) for column in odd)]


def _look(column: Column, rows: int, reading: Reading, gaps: Sequence[str]) -> Look:
    cleaned = without_missing(column, gaps)
    kind = kind_of(cleaned, **reading.form)
    counts = np.bincount(cleaned.codes, minlength=len(cleaned.values))
    missing = 0
    if cleaned.missing is not None:
        missing = int(counts[cleaned.missing])
        counts[cleaned.missing] = 0
    seen = Look(cleaned, kind, "category", rows, missing, int(counts.max(initial=0)))
    seen = replace(seen, scale=_scale(seen, reading))
    return replace(seen, form=_form(seen), postcodes=_postcodes(seen))


def _scale(seen: Look, reading: Reading) -> Scale | None:
    if seen.kind in ("text", "boolean") or not seen.distinct:
        return None
    try:
        return scale_of(seen.column, **reading.form)
    except InputError:
        return None


def _form(seen: Look) -> Form:
    """What a column is, the most telling first."""
    if is_made_up(seen.name):
        return "unnamed"
    if not seen.distinct:
        return "empty"
    if _reaches_somebody(seen) or says(seen.name, "contact"):
        return "contact"
    if says(seen.name, "person") or says_only(seen.name, "people"):
        return "identifier" if _numbers_people(seen) else "name"
    many = seen.distinct >= max(_MANY, seen.rows // 20)
    if many and says(seen.name, "number") and _numbers_people(seen):
        return "identifier"
    if _is_free_text(seen):
        return "free text"
    if seen.distinct == 1 and not seen.missing:
        return "constant"
    if _postcodes(seen):
        return "postcode"
    if _tells_each_apart(seen):
        return "numbered"
    if seen.kind in ("date", "timestamp"):
        return "time" if seen.scale else "category"
    if seen.scale is None or _is_few_whole_numbers(seen.scale):
        return "category"
    return "measure"


def _matches(seen: Look, pattern: str) -> pa.Array:
    return pc.match_substring_regex(seen.column.values, pattern)


def _any(found: pa.Array) -> bool:
    return bool(pc.any(found).as_py())


def _reaches_somebody(seen: Look) -> bool:
    """Whether some cell holds a phone number, a mail address or a link."""
    if seen.kind == "number" and seen.scale is not None and _is_whole(seen.scale):
        return bool(seen.scale.points[0] >= 10**9 and seen.scale.points[-1] < 10**15)
    return reached_by(seen) is not None


def reached_by(seen: Look) -> Literal["mail", "link", "phone"] | None:
    """How cells of text tell to reach somebody, if any does."""
    if not is_text(seen.column.values.type) or seen.kind != "text":
        return None
    if _any(_matches(seen, _MAIL)):
        return "mail"
    if _any(_matches(seen, _LINK)):
        return "link"
    if _any(_matches(seen, _DIGITS)):
        return "phone"
    phones = pc.and_(_matches(seen, _PHONE), pc.invert(_matches(seen, _NO_PHONE)))
    return "phone" if _any(phones) else None


def _numbers_people(seen: Look) -> bool:
    """Whether its values are numbers or codes, and no names."""
    if seen.kind == "number":
        return seen.scale is not None and _is_whole(seen.scale)
    return seen.kind == "text" and bool(pc.all(_matches(seen, r"^\S*\d\S*$")).as_py())


def _is_free_text(seen: Look) -> bool:
    if seen.kind != "text" or not is_text(seen.column.values.type):
        return False
    if says(seen.name, "text"):
        return True
    texts = [text for text in seen.column.values[:_SAMPLED].to_pylist() if text]
    sentences = sum(len(text) >= _LONG_TEXT or len(text.split()) >= _MANY_WORDS for text in texts)
    return 5 * sentences > len(texts)


def _tells_each_apart(seen: Look) -> bool:
    """Whether nearly every record has a value of its own, and not because it was measured."""
    if seen.present <= _MANY or (seen.kind == "number" and says(seen.name, "personal")):
        return False
    if seen.kind in ("text", "boolean"):
        return seen.distinct >= 0.9 * seen.present
    return seen.scale is not None and _is_whole(seen.scale) and seen.distinct == seen.present


def _is_whole(scale: Scale) -> bool:
    if scale.kind != "number":
        return False
    return scale.points.dtype.kind in "iuO" or bool((scale.points == np.rint(scale.points)).all())


def _is_few_whole_numbers(scale: Scale) -> bool:
    few = scale.kind == "number" and len(scale.points) <= _CATEGORIES and _is_whole(scale)
    return few and bool(np.abs(scale.points).max() <= _SMALL)


def _postcodes(seen: Look) -> tuple[int, ...]:
    """How many characters of a postcode, or another code of digits, make a region."""
    texts = seen.column.values.drop_null()
    if not is_text(texts.type):
        texts = pa.array([text for text in seen.column.texts() if text is not None])
    if seen.distinct < 2 or seen.kind not in ("text", "number"):
        return ()
    if bool(pc.all(pc.match_substring_regex(texts, _UK_POSTCODE)).as_py()):
        return (1, 2, 4)
    if not bool(pc.all(pc.match_substring_regex(texts, _POSTCODE)).as_py()):
        return ()
    coded = seen.kind == "text" and bool(pc.any(pc.match_substring_regex(texts, _CODE)).as_py())
    if not says_postcode(seen.name) and not coded:
        return ()
    longest = int(pc.max(pc.utf8_length(texts)).as_py())
    return tuple(range(1, longest - 1))


# --- how cells are to be read --------------------------------------------------------------------


def gaps_in(table: Table, reading: Reading) -> tuple[str, ...]:
    """Texts that mean a missing value: they stand among numbers or times, or in several columns."""
    among: dict[str, int] = {}
    for column in table.columns.values():
        if not is_text(column.values.type):
            continue
        held = [text for text in column.values.to_pylist() if text in _GAPS]
        if held:
            left = without_missing(column, held)
            readable = kind_of(left, **reading.form) != "text" and len(left.values) > 1
            for text in held:
                among[text] = among.get(text, 0) + (2 if readable else 1)
    return tuple(text for text in _GAPS if among.get(text, 0) > 1)


def read_as(table: Table, reading: Reading) -> Reading:
    """How numbers and dates of a table are written, as far as nobody told."""
    texts = [_sampled(column) for column in table.columns.values() if is_text(column.values.type)]
    commas = any(_all_of(some, r"-?\d+(,\d+)?", r"-?\d+,\d+") for some in texts)
    if reading.decimal is None and commas:
        reading = replace(reading, decimal=",")
    if reading.date_format is None:
        found = [form for some in texts for form in _date_formats(some)]
        most = max(_DATE_FORMATS, key=found.count)
        if found.count(most) > sum(map(_are_iso, texts)):  # there is one form for all columns
            reading = replace(reading, date_format=most)
    return reading


def other_dates(table: Table, reading: Reading) -> tuple[str, ...]:
    """What is asked of columns of dates that are read as texts, being in another form."""
    texts = {c.name: _sampled(c) for c in table.columns.values() if is_text(c.values.type)}
    told = reading.date_format
    other = [
        name for name, some in texts.items()
        if (_are_iso(some) if told else _date_formats(some))
        or (told and _date_formats(some) not in ([], [told]))
    ]  # fmt: skip
    if not other:
        return ()
    form = f"the form {told}" if told else "the ISO form"
    return (
        f"Warning: dates are read in {form}, and those of {quoted(other)} are in another one: they "
        "are texts here. Write all dates of the file in one form, as with 2024-01-31.",
    )


def _sampled(column: Column) -> list[str]:
    texts = column.values[:_SAMPLED].to_pylist()
    return [text for text in texts if text and text not in _GAPS]


def _all_of(texts: Iterable[str], every: str, some: str) -> bool:
    """Whether all texts are of one form, and some of a stricter one."""
    texts = list(texts)
    return all(re.fullmatch(every, text) for text in texts) and any(
        re.fullmatch(some, text) for text in texts
    )


def _date_formats(texts: Sequence[str]) -> list[str]:
    """The one format that all of some texts have; none if several fit, or no year would be told."""
    if not texts or not all(re.fullmatch(r"[\d./-]{6,10}", text) for text in texts):
        return []
    fits = [form for form in _DATE_FORMATS if all(_is_date(text, form) for text in texts)]
    return fits if len(fits) == 1 else []


def _are_iso(texts: Sequence[str]) -> bool:
    return _all_of(texts, r"\d{4}-\d\d-\d\d([T ].*)?", r".+")


def _is_date(text: str, form: str) -> bool:
    try:
        return 1850 < datetime.strptime(text, form).year < 2150
    except ValueError:
        return False
