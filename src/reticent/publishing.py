"""Rows on their way out: masked, written beside their place, recounted, and only then there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reticent.errors import Broken, InputError, Problem

if TYPE_CHECKING:
    from reticent.leaving import LeftOut
    from reticent.prepare import Prepared
    from reticent.privacy import verify as verifier
    from reticent.privacy.verify import Proof
    from reticent.table import engines
    from reticent.table.engines import Source
    from reticent.table.recode import Recoding
    from reticent.table.schema import Column, Table
    from reticent.table.sheets import Sheet
    from reticent.table.sources import Means
    from reticent.watching import Clock

_MOST_JOINS = 20  # for the sake of kept columns: 200 took a minute
MANY = 10_000  # records, each of another person, that the verifier need not tell apart


@dataclass(frozen=True, slots=True)
class Beyond:
    """Rows that stand elsewhere, and the table that counts them."""

    source: Source
    counted: Table


# Opens rows for one reading, as one sheet or as many of so many rows each.
Rows = Callable[[int], "Sheet | Iterator[Sheet]"]


@dataclass(frozen=True, slots=True)
class Masked:
    """Rows to publish, and beside them the columns that are counted but not published."""

    sheet: Sheet  # of every released column whose values are known
    rows: Rows  # all of them
    hidden: Rows | None  # beside them, row by row
    people: Mapping[str, Any] = field(default_factory=dict)  # cells that differ from row to row
    recoding: engines.Recoding | None = None  # by which a cluster can write them itself


def mask(
    prepared: Prepared,
    recodings: Mapping[str, Recoding],
    beyond: Beyond | None = None,
    *,
    parts: bool = False,
) -> Masked:
    """Mask a table; `beyond`: where its rows stand, if it only counts them.

    `parts`: they will be written as several files, which a cluster can do itself.
    """
    from reticent.privacy.promises import columns_of
    from reticent.table.sheets import sheet

    _, _, of = columns_of(prepared.policy.promises)
    unpublished = sorted(of - set(prepared.roles.released))
    people = {} if beyond else _people(prepared, unpublished)
    unpublished = [name for name in unpublished if name not in people]
    released = [n for n in prepared.roles.released if n in prepared.table.columns]
    order = prepared.policy.order
    columns = {
        name: recodings[name].apply(prepared.cleaned.columns[name])[0]
        if name in recodings
        else prepared.table.columns[name]
        for name in (*released, *unpublished)
    }
    everything = len(released) == len(prepared.roles.released)
    far = beyond is not None and beyond.source.write_parts is not None and parts
    if beyond is None or (everything and order == "sorted" and not far):
        whole = sheet(
            [columns[name] for name in released], order=order, counts=prepared.table.counts,
            hidden=[columns[name] for name in unpublished],
        )  # fmt: skip
        shown, hidden = whole.select(released), whole.select(unpublished)
        return Masked(
            shown, lambda size: shown, (lambda size: hidden) if unpublished else None, people
        )
    shown = sheet(
        [columns[name] for name in released], order="sorted", counts=prepared.table.counts
    )
    recoding = _recoding(prepared, columns, beyond)
    return Masked(
        shown,
        lambda size: beyond.source.recoded(recoding, size),
        (lambda size: beyond.source.recoded(replace(recoding, told=tuple(unpublished)), size))
        if unpublished
        else None,
        recoding=recoding if far and not unpublished else None,
    )


def _people(prepared: Prepared, columns: Sequence[str]) -> dict[str, Any]:
    """Those columns of a long table that name another person in every row.

    Then each row is a person, and nobody needs to stand beside his own: ordering a million rows and
    their names, and reading them side by side, took two seconds.
    """
    import pyarrow as pa

    table, found = prepared.table, {}
    for name in columns if table.rows > MANY else ():
        column = table.columns[name]
        all_there = prepared.cleaned.columns[name].missing is None
        if all_there and len(column.values) == table.rows == table.records:
            found[name] = column.values.take(pa.array(column.codes))
    return found


def _recoding(
    prepared: Prepared, columns: Mapping[str, Column], beyond: Beyond
) -> engines.Recoding:
    """How an engine is to show every row: column by column, but for those that are left out."""
    import numpy as np

    from reticent.table import engines

    source, counted = beyond.source, beyond.counted
    gone = np.zeros(counted.rows, dtype=bool)
    here: Any = slice(None)  # all rows are released
    if prepared.table.at is not None:
        here = prepared.table.at
        gone[:] = True
        gone[here] = False
    shown = {}
    for name, column in columns.items():
        raw = replace(counted.columns[name], codes=counted.columns[name].codes[here])
        shown[name] = engines.Shown.of(source.key(name), raw, column)
    trim, released = prepared.policy.trim, prepared.roles.released
    unknown = [name for name in released if name not in shown]
    return engines.Recoding(
        shown
        | {
            name: source.shown(name, trim=trim, counted=i < _MOST_JOINS)
            for i, name in enumerate(unknown)
        },
        order=released, told=released,
        gone=engines.rows_of(counted, gone, source.key) if gone.any() else None,
        sorted=prepared.policy.order == "sorted",
    )  # fmt: skip


def as_text(table: Table, names: Sequence[str] | None = None) -> Any:
    """An Arrow table of some columns with every cell as its text: what the verifier compares."""
    import pyarrow as pa

    names = list(table.columns) if names is None else list(names)
    return pa.table([table.columns[name].cells() for name in names], names=names)


@dataclass(frozen=True, slots=True)
class Publishing:
    """Masked rows on their way out: nothing leaves unless the verifier has recounted it."""

    prepared: Prepared
    masked: Masked
    values: Mapping[int, int | Fraction]  # what the engine makes of the promises
    left_out: LeftOut | None
    clock: Clock
    means: Means | None = None
    rows_per_file: int | None = None
    source: Source | None = None
    longest: list[int] = field(default_factory=list)  # no line that was written is longer

    def _seen(self, rows: Sheet | Iterator[Sheet]) -> Sheet | Iterator[Sheet]:
        """Rows on their way out; of those that come sheet by sheet, note how long they are."""
        from reticent.table.sheets import Sheet

        return rows if isinstance(rows, Sheet) else self._measured(rows)

    def _measured(self, sheets: Iterator[Sheet]) -> Iterator[Sheet]:
        for sheet in sheets:
            self.longest[:] = [max([sheet.longest, *self.longest])]
            yield sheet

    def as_frame(self, data: Any, kind: str) -> dict[str, Any]:
        """The rows as the kind of table that came in, and their proof."""
        from reticent.privacy.verify import baggage, from_table
        from reticent.table.files import from_arrow, to_frame

        with self.clock.stage("verify"):
            table = arrow(self.masked.rows)
            hidden = self.masked.hidden and as_text(from_arrow(arrow(self.masked.hidden)))
            source = from_table(as_text(from_arrow(table)), hidden=hidden)
            source = replace(source, people=self.masked.people)
            proof = self._proven(self._recount(source, baggage(table.schema, [table])))
        return {"proof": proof, "table": table if kind == "file" else to_frame(table, data, kind)}

    def write(self, path: Path, suffix: str) -> Proof:
        """Write the rows, then recount the promises on the bytes just written."""
        from reticent.table.files import CSV
        from reticent.table.sheets import LINES, ROW_GROUP, write, write_parts
        from reticent.table.spill import spill_folder

        if self.masked.recoding is not None:
            return self._written_far_away(self.masked.recoding, path, suffix)
        with self.clock.stage("write"):
            paths = [path]
            of = max(self._rows_due(), 1)

            def told(done: int) -> None:
                self.clock.watch.rows(min(done, of), of)

            if self.rows_per_file is None:
                size = LINES if suffix in CSV else ROW_GROUP
                write(self._seen(self.masked.rows(size)), path, suffix, told)
            else:
                paths = write_parts(
                    lambda size: self._seen(self.masked.rows(size)),
                    path, suffix, self.rows_per_file, told,
                )  # fmt: skip
            give_back_memory()
        with self.clock.stage("verify"), spill_folder() as spill:
            hidden = None
            if self.masked.hidden:
                hidden = spill / "hidden.parquet"
                write(self.masked.hidden(ROW_GROUP), hidden, ".parquet")
            source, carried = self._written(paths, suffix, hidden)
            return self._proven(self._recount(replace(source, people=self.masked.people), carried))

    def _written_far_away(self, recoding: engines.Recoding, place: Path, suffix: str) -> Proof:
        """Have a cluster write the rows, and count what it wrote."""
        from reticent.privacy.verify import baggage, from_counts
        from reticent.table.files import CSV, schema_of

        assert self.source is not None
        assert self.source.write_parts is not None
        assert self.source.counted_parts is not None
        with self.clock.stage("write"):
            paths = self.source.write_parts(recoding, place, suffix)
        with self.clock.stage("verify"):
            names = self.prepared.roles.released
            typed = [] if suffix in CSV else [schema_of(path, suffix) for path in paths]
            carried = [p for schema in typed for p in baggage(schema, [])]
            wanted = [name for name in names if name in self.masked.sheet.names]
            cells = from_counts(self.source.counted_parts(place, suffix, wanted), wanted)
            return self._proven(self._recount(cells, carried))

    def _written(
        self, paths: Sequence[Path], suffix: str, hidden: Path | None
    ) -> tuple[verifier.Source, list[Problem]]:
        """The cells of a file, and what it carries besides."""
        import pyarrow as pa

        from reticent.privacy.verify import baggage, from_csv, from_table, from_typed
        from reticent.table.files import CSV, Reading, carriers, from_arrow, parse
        from reticent.table.sheets import delimiter_of

        if suffix not in CSV:
            source = from_typed(paths, parquet=suffix == ".parquet", hidden=hidden)
            # Categories are looked for where a file is not too long to be read once more.
            looked = [
                (schema, groups if self.source is None else iter(()))
                for path in paths
                for schema, groups in carriers(path, "file", suffix)
            ]
            return source, [p for schema, groups in looked for p in baggage(schema, groups)]
        released = self.prepared.roles.released
        if any(
            set("\r\n") & set(name) for name in released
        ):  # not every reader takes such a header
            tables = [as_text(from_arrow(parse(f, Reading(), suffix).arrow)) for f in paths]
            return from_table(pa.concat_tables(tables), hidden=hidden), []
        longest = max([self.masked.sheet.longest, *self.longest])
        source = from_csv(
            paths, released, delimiter=delimiter_of(suffix), packed=suffix.endswith(".gz"),
            longest=longest, hidden=hidden,
        )  # fmt: skip
        return source, []

    def _recount(self, source: verifier.Source, carried: Sequence[Problem]) -> Proof:
        from reticent.prepare import rules
        from reticent.privacy.verify import verify

        limit = self.means.for_engine if self.means else None
        told = rules(self.prepared.policy, self.prepared.taxonomies, self.prepared.meeting)
        proof = verify(source, told, memory_limit=limit)
        return replace(proof, leftovers=(*proof.leftovers, *carried))

    def _proven(self, proof: Proof) -> Proof:
        agreed = all(proof.findings[i].value == value for i, value in self.values.items())
        complete = not proof.unchecked and proof.rows == self._rows_due()
        if self.source is not None and not (complete and agreed):
            raise InputError(
                "what was written is not what was counted, so it was thrown away",
                where=self.source.name, why="the table seems to have changed in the meantime.",
                do="release it again while nobody writes to it, or a copy of it.",
            )  # fmt: skip
        if not (proof.holds and complete and agreed):
            raise Broken(
                "the verifier refused the masked table, so nothing was written",
                why="search and verifier disagree, which is a fault of this program.",
                do="please report it, with the policy but without the data.",
            )
        return proof

    def _rows_due(self) -> int:
        """How many rows must be there: all, but for those that may be left out, if so many may."""
        if self.left_out is None:
            return self.prepared.table.records
        records = self.left_out.before.table.records
        most = self.prepared.policy.suppress_records * records
        return records - self.left_out.count if self.left_out.count <= most else -1


def arrow(rows: Rows) -> Any:
    """Rows as one Arrow table."""
    import pyarrow as pa

    from reticent.table.sheets import ROW_GROUP, Sheet

    found = rows(ROW_GROUP)
    if isinstance(found, Sheet):
        return found.arrow()
    return pa.concat_tables([sheet.arrow() for sheet in found]).combine_chunks()


def give_back_memory() -> None:
    """Have Arrow return what it keeps for later: 80 MB after reading a million rows."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
