"""A draft as a commented policy file; lines marked with ? are questions for the steward."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from reticent.data.columns import Table
from reticent.data.scales import Scale
from reticent.data.spellings import most_frequent, written_differently
from reticent.data.taxonomy import Taxonomy
from reticent.errors import in_one_line, many, visible
from reticent.files.tabular import Reading
from reticent.files.taxonomies import as_csv
from reticent.releases.about import about_draft
from reticent.releases.policyfile import toml_key, toml_lines, toml_value
from reticent.tables.attributes import Attribute
from reticent.tables.drafts.roles import Guess, Guesses, Role, class_candidates
from reticent.tables.policy import Policy

_WITH_TAXONOMY = 'mask = "generalize"  and  taxonomy = "file.csv"'
_FEW = 4  # values that need no taxonomy
_CANDIDATES = 5  # columns that are proposed as the class


_WRITING = """\
# [writing]  # ? Is the release for an Excel that expects commas and semicolons, too?
# decimal = ","  # intervals are written [0,5; 1,5), and cells are parted by semicolons
# bom = true
"""


def asked(notes: Iterable[str]) -> Iterator[str]:
    """What was assumed in reading, as a draft says it: what may be wrong is a question."""
    for note in notes:
        yield f"? {note.removeprefix('Warning: ')}" if note.startswith("Warning: ") else note


@dataclass(frozen=True, slots=True)
class Draft:
    """What a draft says."""

    table: Table
    reading: Reading
    gaps: tuple[str, ...]  # texts that mean a missing value
    guesses: Guesses
    k: int
    why_k: str = ""
    trees: Mapping[str, tuple[str, Taxonomy]] = field(
        default_factory=dict
    )  # by column, with a file
    leaves_out: int = 0  # records that miss the class or another value, where they cannot stay
    show_values: bool = False
    padded: int = 0  # cells with blanks around them

    def text(self) -> str:
        """The policy."""
        read = self.reading.policy_keys()
        parts = [
            self._head(),
            "".join(f"{line}\n" for line in self._columns()),
            f"[reading]  # how the file is written\n{toml_lines(read)}" if read else "",
            _WRITING if self.reading.decimal == "," else "",
            *(self._attribute(guess) for guess in self.guesses.of("masked")),
            *(self._unmasked(guess) for key in ("keep", "class") for guess in self.guesses.of(key)),
            self._anonymity(),
            *(self._confidence(guess) for guess in self.guesses.of("sensitive")),
            about_draft(),
        ]
        return visible("\n".join(part for part in parts if part))

    def policy(self) -> Policy:
        """The policy as a release would read it."""
        told = Policy.parse(self.text())
        trees = {
            name: Attribute(mask="generalize", taxonomy=tree.nested())
            for name, (_, tree) in self.trees.items()
        }
        return told.model_copy(update={"attributes": told.attributes | trees})

    def beside(self, place: Path) -> dict[Path, str]:
        """The files that the policy needs beside it."""
        return {place.with_name(file): as_csv(tree) for file, tree in self.trees.values()}

    def _head(self) -> str:
        table = self.table
        said = [
            f"Drafted from {in_one_line(table.name)}: {table.rows} "
            f"{'row' if table.rows == 1 else 'rows'}, {len(table.known)} columns.",
            *asked(table.notes),
            "It is a start, not advice: lines marked  ?  are questions only you can answer.",
        ]
        return "".join(f"# {line}\n" for line in said)

    def _columns(self) -> Iterator[str]:
        yield from self._class()
        for key, question in _QUESTIONS.items():
            if found := self.guesses.of(key):
                yield f"{key} = ["
                yield from (f"  {toml_value(g.name)},  # {g.look.words}: {g.reason}" for g in found)
                yield f"]\n# ? {question}\n"
            elif key == "keep":
                yield f"keep = []\n# ? {question}"
        if (marker := self._marker()) != "*":
            yield f"marker = {toml_value(marker)}  # the data hold * themselves"
        if self.leaves_out:
            yield (
                f'missing = "drop"  # leaves out {many(self.leaves_out, "record")} with gaps: one '
                "without a class is of no use"
            )
        elif any(guess.look.missing for guess in self.guesses.columns):
            yield 'missing = "value"  # or "drop": leave out records with gaps; or "error"'
        if self.padded:
            cells = many(self.padded, "cell")
            yield f"trim = true  # {cells} with blanks around what they hold"
        if self.gaps:
            gaps = toml_value(list(self.gaps))
            yield f"missing_values = {gaps}  # ? Do these mean that nobody knows?"

    def _class(self) -> Iterator[str]:
        for guess in self.guesses.of("class"):
            yield f"class = {toml_value(guess.name)}  # {guess.look.words}: {guess.reason}\n"
            return
        if self.guesses.unfit:
            yield f"# ? No class: {self.guesses.unfit}."
        found = list(class_candidates(self.guesses))
        perhaps = ", ".join(toml_value(guess.name) for guess in found[:_CANDIDATES])
        yield '# class = "…"  # ? What will the released data be used to predict, if anything?' + (
            f" Perhaps {perhaps}." if perhaps else ""
        )
        yield "# The class is released as it is:  reticent init --class NAME  drafts for it.\n"

    def _marker(self) -> str:
        """A marker that no masked column holds."""
        held = {text for g in self.guesses.of("masked") for text in g.look.column.texts()}
        stars = 1
        while "*" * stars in held:
            stars += 1
        return "*" * stars

    def _attribute(self, guess: Guess) -> str:
        seen = guess.look
        lines = [f"[attributes.{toml_key(guess.name)}]  # {seen.words}: {guess.reason}"]
        if seen.form in ("measure", "time") and seen.scale is not None:
            lines += ['mask = "discretize"', "round = true", *self._range(seen.scale)]
        elif guess.name in self.trees:
            file = toml_value(self.trees[guess.name][0])
            lines += ['mask = "generalize"', f"taxonomy = {file}  # by their first characters"]
        else:
            lines += ['mask = "suppress"', *self._hint(guess)]
        lines += self._same(guess)
        return "".join(f"{line}\n" for line in lines)

    def _unmasked(self, guess: Guess) -> str:
        """What an attribute that nobody masks could say, if anything."""
        said = "\n".join(self._same(guess))
        return f"# [attributes.{toml_key(guess.name)}]\n{said}\n" if said else ""

    def _same(self, guess: Guess) -> Iterator[str]:
        """A line for values that are written in several ways; they are told if somebody asks."""
        column = guess.look.column
        groups = written_differently(column)
        if not groups:
            return
        values = many(sum(map(len, groups)), "value")
        yield f"# ? {values} look like {len(groups)}, in several spellings. Are they the same?"
        if not self.show_values:
            yield "# same = {…}  # --show-values drafts it, with these values"
            return
        same = {}
        for group in groups:
            first = most_frequent(column, group)
            same[first] = [text for text in group if text != first]
        yield f"# same = {toml_value(same)}"

    def _range(self, scale: Scale) -> Iterator[str]:
        ends = _outwards(scale)
        if ends:
            low, high = map(toml_value, ends)
            yield f"range = [{low}, {high}]  # rounded outwards: the real ends may be one person's"
        else:
            yield "# range = […, …]  # ? Without it the real smallest and largest are published."
        if self.show_values:
            yield f"# It holds {scale.label(scale.points[0])} to {scale.label(scale.points[-1])}."

    def _hint(self, guess: Guess) -> Iterator[str]:
        if guess.look.postcodes:
            yield "# These are postcodes: with -o, init writes a taxonomy of their prefixes, too."
        elif guess.look.kind == "text" and guess.look.distinct > _FEW:
            yield f"# ? Is there a taxonomy? Then {_WITH_TAXONOMY} keep more."
            yield "#   `reticent taxonomy make … --skeleton` begins one."

    def _anonymity(self) -> str:
        over = ", ".join(toml_value(guess.name) for guess in self.guesses.of("masked"))
        text = (
            f"[[anonymity]]\nover = [{over}]\nk = {self.k}  "
            f"# ? How many people must share whatever is known of one?{self.why_k}\n"
        )
        if self.guesses.rows_each > 1:
            rows = self.guesses.rows_each
            text += (
                f"# ? Some stand in up to {rows} rows, told by their names alone: k counts rows.\n"
                "# Name a number of theirs by  of = […],  and ask for fewer.\n"
            )
        if self.guesses.person is not None:
            person = toml_value(self.guesses.person)
            text += f"of = [{person}]  # some stand in several rows: people are counted, not rows\n"
        return text

    def _confidence(self, guess: Guess) -> str:
        over = ", ".join(toml_value(masked.name) for masked in self.guesses.of("masked"))
        bound = _bound(Fraction(guess.look.largest, guess.look.rows))
        return (
            f"[[confidence]]  # {toml_value(guess.name)}: {guess.look.words}; {guess.reason}\n"
            f"over = [{over}]\n"
            f'sensitive = {{ {toml_key(guess.name)} = "*" }}  # ? Or only some values: ["…"]\n'
            f"at_most = {bound}  # ? How sure may anybody be? The commonest value set this; list "
            "the harmful ones to ask for less.\n"
        )


_QUESTIONS: dict[Role, str] = {
    "drop": "Is each of these of no use to those who get the data?",
    "keep": "Which masked columns can nobody outside know about a person? Move them here.",
}


def _bound(largest: Fraction) -> Decimal:
    """How sure anybody may be: one half, or a step above the commonest value; never certain.

    >>> _bound(Fraction(1, 3)), _bound(Fraction(7, 10)), _bound(Fraction(9, 10))
    (Decimal('0.5'), Decimal('0.75'), Decimal('0.95'))
    """
    steps = math.floor(20 * largest) + 1
    return max(Decimal("0.5"), Decimal(steps) / 20)


def _outwards(scale: Scale) -> tuple[Any, Any] | None:
    """Ends outside of all values, but for 0: of two digits at most, or decades.

    They are as far apart as the next power of ten above what the values are apart, or further.
    """
    low, high = scale.points[0], scale.points[-1]
    if scale.kind != "number":
        first, last = (date.fromisoformat(scale.label(end)[:10]) for end in (low, high))
        if first.year < 20 or last.year > 9980:
            return None
        begins = date(first.year // 10 * 10, 1, 1)
        begins = begins.replace(year=begins.year - 10) if begins == first else begins
        return begins, date(last.year // 10 * 10 + 10, 1, 1)
    least, most = (Decimal(str(end)) for end in (low, high))
    width = most - least or abs(least) or Decimal(1)
    coarse = max(abs(least), abs(most)).adjusted() - 1
    step = Decimal(10) ** max(math.ceil(width.log10()), coarse)
    down = (least / step).to_integral_value(ROUND_FLOOR) * step
    up = (most / step).to_integral_value(ROUND_CEILING) * step
    down = down - step if down == least and down != 0 else down
    up = up + step if up == most and up != 0 else up
    return _plain(down), _plain(up)


def _plain(end: Decimal) -> int | float:
    return int(end) if end == end.to_integral_value() else float(end)
