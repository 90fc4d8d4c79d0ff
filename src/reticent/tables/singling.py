"""What singles people out in a table that nobody has described: the flow, its facts, its words.

No policy is asked for, and no cell is told: columns have names, and sets of columns have counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from reticent.errors import InputError, Problem, did_you_mean, many, quoted, refuse
from reticent.privacy.column_sets import ColumnSets, column_sets
from reticent.privacy.words import joined, percent
from reticent.progress import Clock, Watch
from reticent.sources.arrival import at_hand, means_of
from reticent.terminal.text import table as text_table

if TYPE_CHECKING:
    from reticent.data.columns import Table
    from reticent.files.tabular import Reading
    from reticent.sources.engines import RowSource

_NAMED = 5  # columns that a sentence lists
_LINES = 20  # columns, or sets, that a terminal shows
MINIMAL = (
    "A set is minimal if it singles somebody out and no set within it singles out as many: "
    "each of its columns counts."
)
MISSING = "A missing cell counts as a value of its own."


@dataclass(frozen=True, slots=True)
class SinglingOut:
    """Which columns, and which small sets of them, tell most records from all others."""

    counted: ColumnSets = field(repr=False)
    odd: tuple[str, ...] = ()  # columns whose cells cannot be compared
    notes: tuple[str, ...] = field(default=(), repr=False)  # what was assumed in reading

    def summary(self) -> dict[str, Any]:
        """What ``risk --json`` prints without a policy."""
        counted = self.counted
        among = {"pairs_among": counted.pairs_of, "triples_among": counted.triples_of}
        return {
            "rows": counted.rows,
            "columns": [asdict(column) for column in counted.columns],
            "sets": [asdict(one) | {"columns": list(one.columns)} for one in counted.sets],
            **({} if counted.whole else {"counted": among}),
        }

    @property
    def sentences(self) -> tuple[str, ...]:
        """The first things to know."""
        return (*self._alone(), *self._together())

    def _alone(self) -> list[str]:
        rows = self.counted.rows
        sure = [c.name for c in self.counted.columns if c.unique_rows == rows]
        if not sure:
            return []
        told = "tells" if len(sure) == 1 else "tell, each alone,"
        return [f"{quoted(sure, _NAMED)} {told} every record from all others."]

    def _together(self) -> list[str]:
        rows, found = self.counted.rows, self.counted.minimal
        several = [one for one in found if len(one.columns) > 1] or list(found)
        if not several:
            return ["No set of up to three columns singles out anybody."]
        best = several[0]
        if len(best.columns) == 1 and best.unique_rows == rows:
            return []
        verb = (
            "is the only one with its" if best.unique_rows == 1 else "are the only ones with their"
        )
        share = percent(Fraction(best.unique_rows, rows))
        return [f"{share} of the {many(rows, 'record')} {verb} {joined(best.columns)}."]

    @property
    def limits(self) -> tuple[str, ...]:
        """What was left out, and what to do about it."""
        said = []
        counted = self.counted
        if self.odd:
            verb = "holds" if len(self.odd) == 1 else "hold"
            said.append(
                f"{quoted(self.odd, _NAMED)} {verb} values that cannot be compared, and "
                f"{'was' if len(self.odd) == 1 else 'were'} left out."
            )
        if not counted.whole:
            pairs = (
                ""
                if counted.pairs_of == len(counted.columns)
                else (f"pairs were counted of the {counted.pairs_of} with the most values, ")
            )
            said.append(
                f"{len(counted.columns)} columns have too many sets to count them all: {pairs}sets "
                f"of three of the {counted.triples_of} with the most values. --column NAME, once "
                "for each, counts those that you name."
            )
        return tuple(said)

    def __str__(self) -> str:
        """All of it on one screen."""
        counted = self.counted
        lines = [
            f"{many(counted.rows, 'record')}, {many(len(counted.columns), 'column')}.",
            *self.sentences,
            "",
            text_table(
                ["column", "values", "missing", "only one with it", "share"],
                [
                    [one.name, one.distinct, one.missing, one.unique_rows, self.share(one)]
                    for one in counted.columns[:_LINES]
                ],
            ),
        ]
        if len(counted.columns) > _LINES:
            lines.append(f"and {many(len(counted.columns) - _LINES, 'more column')}")
        if counted.minimal:
            shown = counted.minimal[:_LINES]
            rows = [
                [", ".join(one.columns), one.unique_rows, self.share(one), one.groups]
                for one in shown
            ]
            head = ["who knows", "finds", "share", "groups"]
            lines += ["", text_table(head, rows), "", MINIMAL, "Others are left out here."]
        return "\n".join([*lines, MISSING, *self.limits])

    def share(self, one: Any) -> str:
        """The share of records that a column or a set singles out."""
        return percent(Fraction(one.unique_rows, self.counted.rows))


def what_singles_out(
    data: Any,
    *,
    columns: Sequence[str] | None = None,
    reading: Reading | None = None,
    engine: Any = None,
    engine_options: Mapping[str, str] | None = None,
    memory_limit: int | str | None = None,
    table: str | None = None,
    watch: Watch | None = None,
    as_read: Callable[[Table], Table] = lambda rows: rows,
) -> SinglingOut:
    """Count the sets of a table's columns, or of some; for `engine` and the like see `release`.

    `as_read`: what becomes of the table first, as where a policy says what is a missing cell.
    """
    told = table or (reading.table if reading else None)
    means = means_of(engine, memory_limit, engine_options, told)
    clock = Clock(watch or Watch())
    with ExitStack() as ends:
        counting = partial(_counted_of, columns)
        rows, _, _ = at_hand(data, reading, means, clock, ends, counting, None)
        if not rows.rows:
            raise InputError("the table has no rows", where=rows.name)
        _refuse_unknown(columns, rows.known, rows.name)
        wanted = [n for n in rows.known if columns is None or n in columns]
        odd = [name for name in wanted if name not in rows.columns]
        kept = {name: rows.columns[name] for name in wanted if name in rows.columns}
        if not kept:
            raise InputError("no column holds values that can be compared", where=rows.name)
        rows = as_read(replace(rows, columns=kept))
        with clock.stage("sets"):
            found = column_sets(rows.columns, rows.rows, rows.counts, told=clock.watch.rows)
    return SinglingOut(found, tuple(odd), rows.notes)


def _counted_of(columns: Sequence[str] | None, source: RowSource) -> Table:
    """Equal rows of a table that stands elsewhere, counted once, in all columns or in some."""
    _refuse_unknown(columns, source.schema.names, source.name)
    return source.counted(source.comparable(columns or source.schema.names))


def _refuse_unknown(columns: Sequence[str] | None, known: Sequence[str], where: str) -> None:
    refuse(
        Problem(f'there is no column "{name}"', where=where, do=did_you_mean(name, known))
        for name in dict.fromkeys(columns or ())
        if name not in known
    )
