"""A first policy for a table nobody has described yet: guesses with reasons, questions marked.

The draft errs on the safe side: a column that nothing speaks for is masked, not kept. It says what
each column looks like by type and counts, never by values, unless asked to.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from reticent.data.columns import Column, Table, without_missing
from reticent.data.scales import Kind, Scale, kind_of, scale_of
from reticent.errors import InputError
from reticent.files.tabular import Reading
from reticent.releases.policyfile import toml_value
from reticent.sources.arrival import inputs, taken
from reticent.sources.engines import RowSource

_LOOKED_AT = 200_000  # rows that a draft is made from, where not all of them fit in memory
_IDENTIFIES = re.compile(
    r"(^|[_\W])(id|ids|uuid|guid|ssn|nhs|mrn|iban|name|surname|forename|email|e-?mail|phone|tel|"
    r"telefon|handy|mobile|fax|address|street|url|ip)($|[_\W])|(Id|ID|Name|Email|Phone)$",
    re.IGNORECASE,
)
_SENSITIVE = re.compile(
    r"diagnos|icd|disease|illness|condition|hiv|test.?result|drug|medic|treat|religio|politic|union|"
    r"sexual|criminal|convict|bankrupt|debt|salary|wage|disab|genetic",
    re.IGNORECASE,
)
_CLASS = re.compile(r"class|target|label|outcome|churn|default|approved|income", re.IGNORECASE)


def draft(
    data: Any,
    *,
    output: str | Path | None = None,
    reading: Reading | None = None,
    force: bool = False,
    show_values: bool = False,
    **means: Any,
) -> str:
    """Draft a commented policy from a table, or the first rows of a long one; write it if asked.

    `means` are those of `release`: engine, engine_options, memory_limit, table.
    """
    from reticent.files.output import check_free, refuse_inputs, whole_file

    if output is not None:
        check_free(Path(output), force=force)
        refuse_inputs([Path(output)], inputs(data))
    table = taken(data, reading, means, _first_rows)
    if not table.rows:
        raise InputError("the table has no rows", where=table.name)
    text = drafted(table, reading or Reading(), show_values=show_values)
    if output is not None:
        with whole_file(Path(output), force=force) as path:
            path.write_text(text, encoding="utf-8")
    return text


def _first_rows(source: RowSource) -> Table:
    found = source.first(_LOOKED_AT)
    if found.rows == _LOOKED_AT < source.rows:
        told = f"Only its first {found.rows:,} rows, of about {source.rows:,}, were looked at."
        found = replace(found, notes=(*found.notes, told))
    return found


@dataclass(frozen=True, slots=True)
class Guess:
    """What one column looks like, and the role proposed for it."""

    name: str
    kind: Kind
    distinct: int
    missing: int
    role: str  # class, drop, sensitive or masked
    reason: str
    largest: float  # the share of its most frequent value

    @property
    def looks(self) -> str:
        """The column in a few words."""
        gaps = f", {self.missing} missing" if self.missing else ""
        return f"{self.kind}, {self.distinct} distinct{gaps}"


def guess(table: Table, reading: Reading) -> list[Guess]:
    """Look at every column and propose a role."""
    looked = [_look(column, table.rows, reading) for column in table.columns.values()]
    target = _target(looked)
    odd = [name for name in table.known if name not in table.columns]
    why = "values of its kind cannot be released"
    looked += [Guess(name, "text", 0, 0, "drop", why, 0.0) for name in odd]
    why = "few values, and it stands where a target usually does"
    return [replace(g, role="class", reason=why) if g.name == target else g for g in looked]


def _look(column: Column, rows: int, reading: Reading) -> Guess:
    cleaned = without_missing(column)
    kind = kind_of(cleaned, **reading.form)
    counts = np.bincount(cleaned.codes, minlength=len(cleaned.values))
    gaps = 0 if cleaned.missing is None else int(counts[cleaned.missing])
    distinct = len(cleaned.values) - (gaps > 0)
    if cleaned.missing is not None:
        counts[cleaned.missing] = 0
    largest = float(counts.max(initial=0)) / max(rows, 1)
    role, reason = _role(cleaned.name, kind, distinct, rows - gaps)
    return Guess(cleaned.name, kind, distinct, gaps, role, reason, largest)


def _role(name: str, kind: Kind, distinct: int, present: int) -> tuple[str, str]:
    if _IDENTIFIES.search(name):
        return "drop", "its name speaks of an identifier"
    if kind in ("text", "boolean") and present > 20 and distinct >= 0.9 * present:
        return "drop", "nearly every record has a value of its own"
    if kind == "number" and present > 20 and distinct == present:
        return "drop", "every record has a number of its own"
    if _SENSITIVE.search(name):
        return "sensitive", "its name speaks of something private"
    return "masked", "somebody outside may know it about a person"


def _target(looked: Sequence[Guess]) -> str | None:
    """The column most likely to be predicted: by its name, else the last one with few values."""
    fit = [g for g in looked if 2 <= g.distinct <= 20 and not g.missing and g.role == "masked"]
    named = [g.name for g in fit if _CLASS.search(g.name)]
    if named:
        return named[-1]
    return fit[-1].name if fit and fit[-1] is looked[-1] else None


def drafted(table: Table, reading: Reading, *, show_values: bool = False) -> str:
    """Write a commented policy; lines marked with ? are questions for the steward."""
    guesses = guess(table, reading)
    by_role: dict[str, list[Guess]] = {}
    for g in guesses:
        by_role.setdefault(g.role, []).append(g)
    if "masked" not in by_role:  # a policy must promise something about somebody
        role = next(role for role in ("class", "sensitive", "drop") if role in by_role)
        by_role["masked"] = by_role.pop(role)
    parts = [
        _head(table, reading),
        _columns(by_role, _marker(table, by_role["masked"])),
        *(_attribute(g, table, reading, show_values) for g in by_role["masked"]),
        _promises(by_role, table.rows),
    ]
    return "\n".join(part for part in parts if part)


def _head(table: Table, reading: Reading) -> str:
    told = {
        "--delimiter": reading.delimiter, "--encoding": reading.encoding,
        "--decimal": None if reading.decimal == "." else reading.decimal,
        "--date-format": reading.date_format,
    }  # fmt: skip
    options = " ".join(f"{option} {value!r}" for option, value in told.items() if value)
    return (
        f"# Drafted from {table.name}: {table.rows} rows, {len(table.columns)} columns.\n"
        + (f"# Read with {options}: tell later commands the same.\n" if options else "")
        + "".join(f"# {note}\n" for note in table.notes)
        + "# It is a start, not advice: lines marked  ?  are questions only you can answer.\n"
    )


def _marker(table: Table, masked: Sequence[Guess]) -> str:
    """A marker that no masked column holds."""
    held = {text for g in masked for text in table.columns[g.name].texts()}
    stars = 1
    while "*" * stars in held:
        stars += 1
    return "*" * stars


def _columns(by_role: dict[str, list[Guess]], marker: str) -> str:
    lines = []
    for g in by_role.get("class", []):
        lines.append(f"class = {toml_value(g.name)}  # {g.looks}: {g.reason}")
        lines.append("# ? Is this what the released data will be used to predict?\n")
    if by_role.get("drop"):
        lines.append("drop = [")
        lines += [f"  {toml_value(g.name)},  # {g.looks}: {g.reason}" for g in by_role["drop"]]
        lines.append("]\n# ? Is each of these of no use to those who get the data?\n")
    lines.append("keep = []")
    lines.append("# ? Which masked columns can nobody outside know about a person? Move them here.")
    if marker != "*":
        lines.append(f"marker = {toml_value(marker)}  # the data hold * themselves")
    if any(g.missing for group in by_role.values() for g in group):
        lines.append('missing = "value"  # or "drop": leave out records with gaps; or "error"')
    return "\n".join(lines) + "\n"


def _attribute(g: Guess, table: Table, reading: Reading, show_values: bool) -> str:
    head = f"[attributes.{toml_value(g.name)}]  # {g.looks}: {g.reason}"
    scale = _scale(table.columns[g.name], g.kind, reading)
    if scale is None:
        return (
            f'{head}\nmask = "suppress"\n{_looks_like(table.columns[g.name])}'
            '# ? Is there a taxonomy? Then  mask = "generalize"  and  taxonomy = "file.csv"  '
            "keep more.\n"
        )
    ends = "[…, …]"
    if show_values:
        ends = f"[{scale.label(scale.points[0])}, {scale.label(scale.points[-1])}]"
    return (
        f'{head}\nmask = "discretize"\n'
        f"# range = {ends}  # ? Without it the real smallest and largest values are published.\n"
    )


_FORMS = {
    r"\d{1,2}\.\d{1,2}\.\d{4}": "dates such as 24.12.2025: read them with --date-format %d.%m.%Y",
    r"\d{1,2}/\d{1,2}/\d{4}": "dates such as 24/12/2025: read them with --date-format %d/%m/%Y",
    r"-?\d+,\d+": "numbers with a decimal comma: read them with --decimal ,",
    r"-?(0|[1-9]\d*)(\.\d+)?": 'numbers with gaps: name what means one, as missing_values = ["?"]',
}


def _looks_like(column: Column) -> str:
    """A question about text that is mostly something else."""
    texts = [text for text in column.texts() if text]
    for pattern, words in _FORMS.items():
        if sum(bool(re.fullmatch(pattern, text)) for text in texts) > 0.7 * len(texts):
            return f"# ? Most values look like {words}.\n"
    return ""


def _scale(column: Column, kind: Kind, reading: Reading) -> Scale | None:
    """The scale of a continuous column, if every value of it can be read."""
    if kind in ("text", "boolean"):
        return None
    try:
        return scale_of(without_missing(column), **reading.form)
    except InputError:
        return None


def _promises(by_role: dict[str, list[Guess]], rows: int) -> str:
    over = ", ".join(toml_value(g.name) for g in by_role["masked"])
    text = (
        f"[[anonymity]]\nover = [{over}]\nk = {max(1, min(10, rows))}  "
        "# ? How many people must share whatever is known of one?\n"
    )
    for g in by_role.get("drop", []):
        if 1 < g.distinct < 0.9 * (rows - g.missing):
            of = toml_value(g.name)
            text += f"# of = [{of}]  # ? Several records of one person? Count persons.\n"
    for g in by_role.get("sensitive", []):
        bound = min(1.0, max(0.5, math.ceil(20 * g.largest + 1) / 20))
        text += (
            f"\n[[confidence]]  # {toml_value(g.name)}: {g.looks}; {g.reason}\nover = [{over}]\n"
            f'sensitive = {{ {toml_value(g.name)} = "*" }}  # ? Or only some values: ["…"]\n'
            f"at_most = {bound:g}  # ? How sure may anybody be? The commonest value set this; "
            "list the harmful ones to ask for less.\n"
        )
    return text
