"""What singles people out in a table that nobody has described: the flow, and its facts.

No policy is asked for, and no cell is told: columns have names, and sets of columns have counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from reticent.errors import InputError, Problem, did_you_mean, refuse
from reticent.privacy.column_sets import ColumnSets, CountedColumn, CountedSet, column_sets
from reticent.progress import Clock, Watch
from reticent.releases.spoken import Spoken
from reticent.sources.arrival import at_hand, means_of

if TYPE_CHECKING:
    from reticent.data.columns import Table
    from reticent.files.tabular import Reading
    from reticent.sources.engines import RowSource

_MANY = 500_000  # values of a column; fewer are no burden


@dataclass(frozen=True, slots=True, repr=False)
class SinglingOut(Spoken):
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

    def share(self, one: CountedColumn | CountedSet) -> Fraction:
        """The share of records that a column or a set singles out."""
        return Fraction(one.unique_rows, self.counted.rows)

    def _says(self, words: Any) -> str:
        said: str = words.singling_out(self)
        return said


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
    keys: dict[str, int] = {}
    with ExitStack() as ends:
        counting = partial(_counted_of, columns, keys)
        rows, _, _ = at_hand(data, reading, means, clock, ends, counting, None)
        if not rows.rows:
            raise InputError("the table has no rows", where=rows.name)
        _refuse_unknown(columns, rows.known, rows.name)
        wanted = [n for n in rows.known if columns is None or n in columns]
        odd = [name for name in wanted if name not in rows.columns and name not in keys]
        kept = {name: rows.columns[name] for name in wanted if name in rows.columns}
        if not kept:
            raise InputError("no column holds values that can be compared", where=rows.name)
        rows = as_read(replace(rows, columns=kept))
        with clock.stage("sets"):
            found = column_sets(
                rows.columns, rows.rows, rows.counts, keys=keys,
                order=[n for n in wanted if n not in odd], told=clock.watch.rows,
            )  # fmt: skip
    return SinglingOut(found, tuple(odd), rows.notes)


def _counted_of(columns: Sequence[str] | None, keys: dict[str, int], source: RowSource) -> Table:
    """Equal rows of a table that stands elsewhere, counted once, in all columns or in some.

    Columns in which no two rows are equal stay there, or no row would equal another: `keys` hears
    of them, and how many rows lack a value of each.
    """
    _refuse_unknown(columns, source.schema.names, source.name)
    names = source.comparable(columns or source.schema.names)
    about = source.about_distinct(names)
    many = [name for name in names if about[name] > max(_MANY, 0.9 * source.rows)]
    rest = [name for name in names if name not in many] or names[:1]
    table = source.counted(rest)
    for name in (name for name in many if name not in rest):
        if source.alone([name]) == table.records:
            keys[name] = source.lacking(name)
    if any(name not in rest and name not in keys for name in many):
        table = source.counted([name for name in names if name not in keys])
    return replace(table, names=tuple(source.schema.names))


def _refuse_unknown(columns: Sequence[str] | None, known: Sequence[str], where: str) -> None:
    refuse(
        Problem(f'there is no column "{name}"', where=where, do=did_you_mean(name, known))
        for name in dict.fromkeys(columns or ())
        if name not in known
    )
