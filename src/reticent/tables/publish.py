"""Rows on their way out: masked, written beside their place, recounted, and only then there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reticent.errors import InputError, Problem
from reticent.progress import Clock
from reticent.releases.folder import Contents, as_json_lines, format_of
from reticent.releases.places import Place, Spot
from reticent.releases.publish import hand_back, proven
from reticent.releases.publish import publish as publish_at
from reticent.tables.result import Release

if TYPE_CHECKING:
    from reticent.data.columns import Column, Table
    from reticent.data.recode import Recoding
    from reticent.files.sheets import Sheet
    from reticent.privacy import verify as verifier
    from reticent.privacy.risk import Exposure
    from reticent.privacy.verify import Proof
    from reticent.sources import engines
    from reticent.sources.engines import RowSource
    from reticent.sources.means import Means
    from reticent.tables.prepare import Prepared
    from reticent.tables.previous.exposure import LinkedRelease
    from reticent.tables.search.greedy import Found
    from reticent.tables.search.rare import LeftOut

_MOST_JOINS = 20  # for the sake of kept columns: 200 took a minute
MANY = 10_000  # records, each of another person, that the verifier need not tell apart


@dataclass(frozen=True, slots=True)
class Beyond:
    """Rows that stand elsewhere, and the table that counts them."""

    source: RowSource
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
    recoding: engines.RowRecoding | None = None  # by which a cluster can write them itself


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
    from reticent.files.sheets import sheet
    from reticent.privacy.promises import columns_of

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
) -> engines.RowRecoding:
    """How an engine is to show every row: column by column, but for those that are left out."""
    import numpy as np

    from reticent.sources import engines

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
        shown[name] = engines.ShownColumn.of(source.key(name), raw, column)
    trim, released = prepared.policy.trim, prepared.roles.released
    unknown = [name for name in released if name not in shown]
    return engines.RowRecoding(
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
class Outlet:
    """Where a release goes: to a place, or back to whoever handed over a data frame."""

    data: Any  # that was handed over,
    kind: str  # and what kind of thing it was
    place: Place | None = None
    trace: Path | None = None
    force: bool = False
    rows_per_file: int | None = None
    means: Means | None = None
    asked: Mapping[str, str] = field(default_factory=dict)  # options that make it again


def publish(
    prepared: Prepared,
    found: Found,
    before: tuple[Exposure, ...],
    outlet: Outlet,
    clock: Clock,
    *,
    beyond: Beyond | None = None,
    left_out: LeftOut | None = None,
) -> Release:
    """Mask a table as a search found, write it, and let it appear once it is recounted.

    `beyond`: where the rows stand, if those of the prepared table are only counted ones.
    """
    with clock.stage("mask"):
        masked = mask(prepared, found.recodings, beyond, parts=outlet.rows_per_file is not None)
    publishing = _Publishing(
        prepared, masked, found, left_out, clock,
        outlet.means.for_engine if outlet.means else None, outlet.rows_per_file,
        beyond.source if beyond else None,
    )  # fmt: skip
    release = partial(
        Release, prepared, masked.sheet, found, before, seconds=clock.seconds, left_out=left_out,
        asked=outlet.asked, meets=_meets(prepared, found),
    )  # fmt: skip
    trace = {} if outlet.trace is None else {outlet.trace: _trace}
    if outlet.place is None:
        return hand_back(
            partial(_framed, publishing, release, outlet), beside=trace, force=outlet.force
        )
    return publish_at(
        outlet.place,
        clock,
        usual=partial(format_of, outlet.data),
        write=publishing.write,
        recount=publishing.recount,
        released=partial(_described, publishing, release, outlet),
        contents=partial(_contents, outlet),
        beside=trace,
    )


def _framed(publishing: _Publishing, release: partial[Release], outlet: Outlet) -> Release:
    """A release as the kind of table that came in."""
    from reticent.files.tabular import to_frame

    with publishing.clock.stage("verify"):
        table, proof = publishing.as_frame()
    frame = table if outlet.kind == "file" else to_frame(table, outlet.data, outlet.kind)
    return release(proof=proof, table=frame)


def _described(
    publishing: _Publishing, release: partial[Release], outlet: Outlet, spot: Spot, proof: Proof
) -> Release:
    """A release that stands somewhere, and how useful it is, if there is a report to say so."""
    judged = None
    if spot.folder is not None:
        from reticent.tables.evidence.study import utility

        with publishing.clock.stage("judge"):
            judged = utility(publishing.prepared, publishing.found.recodings)
    assert outlet.place is not None
    return release(proof=proof, output=outlet.place.name, utility=judged)


def _contents(outlet: Outlet, release: Release, spot: Spot) -> Contents:
    from reticent.tables.folder import contents

    assert spot.folder is not None
    table = outlet.means.table if outlet.means else None
    return contents(release, outlet.data, spot.folder / "private", table)


def _trace(release: Release) -> str:
    return as_json_lines(release.trace())


def _meets(prepared: Prepared, found: Found) -> tuple[LinkedRelease, ...]:
    if not prepared.policy.releases:
        return ()
    from reticent.tables.previous.exposure import linked_releases

    return linked_releases(prepared, found.recodings)


@dataclass(frozen=True, slots=True)
class Written:
    """Files that hold the rows; no line of them is longer than this."""

    paths: Sequence[Path]
    longest: int = 0


@dataclass(frozen=True, slots=True)
class _Publishing:
    """Masked rows on their way out."""

    prepared: Prepared
    masked: Masked
    found: Found
    left_out: LeftOut | None
    clock: Clock
    memory_limit: int | None
    rows_per_file: int | None
    source: RowSource | None

    def as_frame(self) -> tuple[Any, Proof]:
        """The rows as an Arrow table, and their proof."""
        from reticent.files.tabular import from_arrow
        from reticent.privacy.verify import baggage, from_table

        table = arrow(self.masked.rows)
        hidden = self.masked.hidden and as_text(from_arrow(arrow(self.masked.hidden)))
        cells = from_table(as_text(from_arrow(table)), hidden=hidden)
        cells = replace(cells, people=self.masked.people)
        return table, self._proven(cells, baggage(table.schema, [table]))

    def write(self, spot: Spot) -> Written:
        """Write the rows as one file, as several, or have a cluster do it."""
        from reticent.files.sheets import LINES, ROW_GROUP, Sheet, write, write_parts
        from reticent.files.tabular import CSV

        if self.masked.recoding is not None:
            assert self.source is not None
            assert self.source.write_parts is not None
            return Written(self.source.write_parts(self.masked.recoding, spot.data, spot.suffix))
        longest = [self.masked.sheet.longest]

        def rows(size: int) -> Sheet | Iterator[Sheet]:
            """Rows, and of those that come sheet by sheet, how long they are."""
            found = self.masked.rows(size)
            return found if isinstance(found, Sheet) else _measured(found, longest)

        told = self.clock.rows(self._rows_due())
        if self.rows_per_file is None:
            size = LINES if spot.suffix in CSV else ROW_GROUP
            write(rows(size), spot.data, spot.suffix, told)
            paths = [spot.data]
        else:
            paths = write_parts(rows, spot.data, spot.suffix, self.rows_per_file, told)
        give_back_memory()
        return Written(paths, max(longest))

    def recount(self, spot: Spot, written: Written) -> Proof:
        """Recount the promises on the bytes just written."""
        from reticent.data.memory import spill_folder
        from reticent.files.sheets import ROW_GROUP, write

        if self.masked.recoding is not None:
            return self._recount_far_away(spot, written)
        with spill_folder() as spill:
            hidden = None
            if self.masked.hidden:
                hidden = spill / "hidden.parquet"
                write(self.masked.hidden(ROW_GROUP), hidden, ".parquet")
            cells, carried = self._read(written, spot.suffix, hidden)
            return self._proven(replace(cells, people=self.masked.people), carried)

    def _recount_far_away(self, spot: Spot, written: Written) -> Proof:
        """Have a cluster count what it wrote."""
        from reticent.files.tabular import CSV, schema_of
        from reticent.privacy.verify import baggage, from_counts

        assert self.source is not None
        assert self.source.counted_parts is not None
        names = self.prepared.roles.released
        typed = [] if spot.suffix in CSV else [schema_of(p, spot.suffix) for p in written.paths]
        carried = [p for schema in typed for p in baggage(schema, [])]
        wanted = [name for name in names if name in self.masked.sheet.names]
        counts = self.source.counted_parts(spot.data, spot.suffix, wanted)
        return self._proven(from_counts(counts, wanted), carried)

    def _read(
        self, written: Written, suffix: str, hidden: Path | None
    ) -> tuple[verifier.PublishedCells, list[Problem]]:
        """The cells of a file, and what it carries besides."""
        import pyarrow as pa

        from reticent.files.sheets import delimiter_of
        from reticent.files.tabular import CSV, Reading, carriers, from_arrow, parse
        from reticent.privacy.verify import baggage, from_csv, from_table, from_typed

        paths = written.paths
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
        source = from_csv(
            paths, released, delimiter=delimiter_of(suffix), packed=suffix.endswith(".gz"),
            longest=written.longest, hidden=hidden,
        )  # fmt: skip
        return source, []

    def _proven(self, cells: verifier.PublishedCells, carried: Sequence[Problem]) -> Proof:
        """What the verifier counts; nothing less than all that the search found will do."""
        from reticent.privacy.verify import verify
        from reticent.tables.rules import rules

        prepared = self.prepared
        told = rules(prepared.policy, prepared.taxonomies, prepared.meeting)
        proof = verify(cells, told, memory_limit=self.memory_limit)
        proof = replace(proof, leftovers=(*proof.leftovers, *carried))
        agreed = all(proof.findings[i].value == value for i, value in self.found.values.items())
        complete = not proof.unchecked and proof.rows == self._rows_due()
        if self.source is not None and not (complete and agreed):
            raise InputError(
                "what was written is not what was counted, so it was thrown away",
                where=self.source.name, why="the table seems to have changed in the meantime.",
                do="release it again while nobody writes to it, or a copy of it.",
            )  # fmt: skip
        proven(proof.holds and complete and agreed)
        return proof

    def _rows_due(self) -> int:
        """How many rows must be there: all, but for those that may be left out, if so many may."""
        if self.left_out is None:
            return self.prepared.table.records
        records = self.left_out.before.table.records
        most = self.prepared.policy.suppress_records * records
        return records - self.left_out.count if self.left_out.count <= most else -1


def _measured(sheets: Iterator[Sheet], longest: list[int]) -> Iterator[Sheet]:
    """Sheets on their way out, noting how long their lines are."""
    for sheet in sheets:
        longest.append(sheet.longest)
        yield sheet


def arrow(rows: Rows) -> Any:
    """Rows as one Arrow table."""
    import pyarrow as pa

    from reticent.files.sheets import ROW_GROUP, Sheet

    found = rows(ROW_GROUP)
    if isinstance(found, Sheet):
        return found.arrow()
    return pa.concat_tables([sheet.arrow() for sheet in found]).combine_chunks()


def give_back_memory() -> None:
    """Have Arrow return what it keeps for later: 80 MB after reading a million rows."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
