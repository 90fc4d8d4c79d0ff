"""From a table to a draft: look, give roles, choose k, write it down with its taxonomies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from reticent.data.collapse import Codes
from reticent.data.columns import Column, Table, trimmed, without_missing
from reticent.data.linking import number_rows
from reticent.data.spellings import padded
from reticent.data.taxonomy import Taxonomy
from reticent.errors import InputError, in_one_line, quoted
from reticent.files.tabular import Reading
from reticent.progress import Watch
from reticent.sources.arrival import inputs, taken
from reticent.sources.engines import RowSource
from reticent.tables.drafts.looks import Look, gaps_in, look, other_dates, read_as
from reticent.tables.drafts.roles import (
    SINGLED_OUT,
    Guesses,
    beside_groups,
    guessed,
    smallest_part,
)
from reticent.tables.drafts.safe_harbor import RULE, RuleDraft, drafted_by_rule
from reticent.tables.drafts.words import words_of
from reticent.tables.drafts.writing import Draft

LOOKED_AT = 200_000  # rows that a draft is made from, where not all of them fit in memory
_LADDER = (10, 20, 30, 50, 100, 200, 500, 1000)  # how many share what is known of somebody
_TRIED = 50_000  # rows up to which a draft for a class is tried out


def draft(
    data: Any,
    *,
    class_: str | None = None,
    output: str | Path | None = None,
    reading: Reading | None = None,
    force: bool = False,
    show_values: bool = False,
    rule: str | None = None,
    **means: Any,
) -> str:
    """Draft a commented policy from a table, or the first rows of a long one; write it if asked.

    `class_` is what the released data will be used to predict; without it the draft has none.
    Taxonomies of postcodes are written beside the policy. `means` are those of `release`: engine,
    engine_options, memory_limit, table. `rule`: "hipaa-safe-harbor" drafts by that instead.
    """
    return draft_of(data, class_, output, reading, means, force, show_values, rule).text()


def draft_of(
    data: Any,
    class_name: str | None,
    output: str | Path | None,
    reading: Reading | None,
    means: Mapping[str, Any],
    force: bool,
    show_values: bool,
    rule: str | None = None,
) -> Draft | RuleDraft:
    """The same, before it is text."""
    from reticent.files.output import check_free, refuse_inputs, together, whole_file, write_text

    if rule not in (None, RULE):
        raise InputError(f'there is no rule "{rule}"', where="--for", do=f"use {RULE}.")
    if rule and class_name is not None:
        raise InputError(
            "a draft by a rule has no class", where="--class",
            why="nothing is masked, so nothing is chosen for its sake.",
            do="leave it away; the column is kept if the rule lets it stay.",
        )  # fmt: skip
    place = None if output is None else Path(output)
    if place is not None:
        check_free(place, force=force)
        refuse_inputs([place], inputs(data))
    at_door = AtDoor(reading or Reading(), rule is not None)
    table = taken(data, reading, means, at_door.first_rows)
    if not table.rows:
        raise InputError("the table has no rows", where=table.name)
    found: Draft | RuleDraft
    if rule:
        found = drafted_by_rule(table, at_door.reading, at_door.dates)
    else:
        found = drafted(table, at_door, class_name, place, show_values=show_values)
    if place is not None:
        with together() as appearing:
            for path, text in ({place: found.text()} | found.beside(place)).items():
                write_text(appearing.enter_context(whole_file(path, force=force)), text)
    return found


@dataclass(slots=True)
class AtDoor:
    """What is learnt of a table while its source is open."""

    reading: Reading
    rule: bool = False  # whether the draft is by a rule, which asks for all dates
    dates: dict[str, list[str]] = field(default_factory=dict)  # of all rows
    postcodes: dict[str, Column] = field(default_factory=dict)  # of all rows, where some are seen

    def first_rows(self, source: RowSource) -> Table:
        """The first rows of a table that does not fit in memory, or stands elsewhere."""
        table = source.first(LOOKED_AT)
        if table.rows < LOOKED_AT or source.rows <= LOOKED_AT:
            return table
        for ruling in drafted_by_rule(table, self.reading).rulings if self.rule else ():
            if ruling.in_years:
                column = source.counted([ruling.name]).columns[ruling.name]
                self.dates[ruling.name] = [text for text in column.texts() if text]
        seen = f"Only its first {table.rows:,} rows, of about {source.rows:,}, were looked at."
        for look_at in look(table, read_as(table, self.reading), ()):
            if (
                look_at.postcodes and not self.rule
            ):  # a taxonomy must know those of the other rows, too
                name = look_at.name
                self.postcodes[name] = without_missing(source.counted([name]).columns[name])
        return replace(table, notes=(*table.notes, seen))


def drafted(
    table: Table,
    at_door: AtDoor,
    class_name: str | None,
    place: Path | None,
    *,
    show_values: bool = False,
) -> Draft:
    """Look at a table, and decide what its draft says."""
    reading = read_as(table, at_door.reading)
    blanks = sum(table.count(padded(c)[c.codes]) for c in table.columns.values())
    if blanks:
        table = replace(table, columns={n: trimmed(c) for n, c in table.columns.items()})
    table = replace(table, notes=(*table.notes, *other_dates(table, reading)))
    gaps = gaps_in(table, reading)
    looks = look(table, reading, gaps)
    guesses = guessed(looks, class_name)
    trees = {} if place is None else _taxonomies(guesses, at_door.postcodes, place.stem)
    found = Draft(table, reading, gaps, guesses, 2, trees=trees, show_values=show_values)
    found = replace(found, padded=blanks)
    if guesses.of("class"):
        found = _for_class(found)
    if found.guesses.of("class"):
        return found
    asked = _LADDER[0] * found.guesses.rows_each
    return replace(found, k=max(2, min(asked, _most(found.guesses))))


def _taxonomies(
    guesses: Guesses, whole: Mapping[str, Column], stem: str
) -> dict[str, tuple[str, Taxonomy]]:
    """A taxonomy of prefixes for every column of postcodes, and the file that it goes to."""
    from reticent.data.taxonomy_making import by_prefix

    trees: dict[str, tuple[str, Taxonomy]] = {}
    for guess in guesses.of("masked"):
        if guess.look.form != "postcode":
            continue
        column = trimmed(whole.get(guess.name, guess.look.column))
        values = [text for text in column.texts() if text is not None]
        file = f"{stem}-{'-'.join(words_of(guess.name)) or len(trees)}.csv"
        if file in {other for other, _ in trees.values()}:
            file = file.replace(".csv", f"-{len(trees)}.csv")
        trees[guess.name] = file, by_prefix(values, guess.look.postcodes)
    return trees


# --- how many share what is known of somebody ----------------------------------------------------


def _most(guesses: Guesses) -> int:
    """The largest k with which something could still be shown."""
    people: Codes | None = None
    for guess in guesses.columns:
        if guess.name == guesses.person:
            people = guess.look.column.codes
    return max(smallest_part(guess.look, people) for guess in guesses.of("masked"))


def _for_class(found: Draft) -> Draft:
    """The smallest k of a draft that singles few people out by their class, within their group.

    If no k does, there is no class: its column is masked like the others.
    """
    [target] = found.guesses.of("class")
    if target.look.missing:
        found = replace(found, leaves_out=_with_gaps(found.guesses))
    if 2 * found.leaves_out <= found.table.rows:
        for k in (step * found.guesses.rows_each for step in _LADDER):
            if k <= found.table.rows and _is_safe(replace(found, k=k), target.look):
                why = (
                    ""
                    if k == _LADDER[0]
                    else f" Fewer, and {in_one_line(target.name)} would single people out."
                )
                return replace(found, k=k, why_k=why)
    share = f"{float(SINGLED_OUT):.0%} of all records"
    unfit = (
        f"with {quoted([target.name])} as it is, more than {share} would be alone in their group"
    )
    if 2 * found.leaves_out > found.table.rows:
        unfit = f"{quoted([target.name])} cannot be one: too many records would be left out for "
        unfit += "their gaps"
    masked = found.guesses.changed(target.name, "masked", "it singles out too many as the class")
    return replace(found, guesses=replace(masked, unfit=unfit), leaves_out=0)


def _with_gaps(guesses: Guesses) -> int:
    """How many records miss a value that matters, where the class may not be missing."""
    matter = [
        g for g in guesses.columns if g.role not in ("drop", "keep") or g.name == guesses.person
    ]
    short = np.zeros(guesses.columns[0].look.rows, dtype=bool)
    for guess in matter:
        if guess.look.column.missing is not None:
            short |= guess.look.column.codes == guess.look.column.missing
    return int(short.sum())


def _is_safe(found: Draft, target: Look) -> bool:
    """Whether a draft shows something, and singles few people out by their class.

    A table that is not too long is searched as `release` would search it; of a longer one it is
    enough to know how large groups are at least.
    """
    if found.table.rows > _TRIED:
        return beside_groups(target, found.k) <= SINGLED_OUT
    from reticent.errors import Unsatisfiable
    from reticent.tables.prepare import prepare
    from reticent.tables.search.thorough import find

    prepared = prepare(found.table, found.policy(), found.reading)
    try:
        cut = find(prepared, Watch())
    except Unsatisfiable:
        return False
    assert prepared.classes is not None
    shown = [at[domain.codes] for at, domain in zip(cut.shown, prepared.domains, strict=True)]
    sizes = [int(column.max(initial=0)) + 1 for column in shown]
    classes, count = prepared.classes
    number, groups = number_rows([*shown, classes], [*sizes, count])
    alone = int((np.bincount(number, minlength=groups) == 1).sum())
    return bool(cut.steps) and Fraction(alone, len(number)) <= SINGLED_OUT
