"""Masked rows on their way out: written beside their place, recounted, and only then there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from reticent.data.memory import spill_folder
from reticent.errors import InputError, Problem, refuse
from reticent.files.output import whole_file, write_text
from reticent.files.sheets import LINES, ROW_GROUP, Sheet, write, write_parts
from reticent.files.tabular import (
    CSV,
    RELEASED,
    WORKBOOKS,
    carriers,
    from_arrow,
    parse,
    schema_of,
    to_frame,
)
from reticent.files.writing import Writing
from reticent.privacy import published, workbooks
from reticent.privacy import verify as verifier
from reticent.privacy.published import baggage
from reticent.privacy.singled import Alone, alone_in, singled_out
from reticent.privacy.verify import Proof
from reticent.privacy.words import NOTHING, measured
from reticent.progress import Clock
from reticent.releases.folder import Contents, as_json_lines, as_written, format_of
from reticent.releases.notes import KeptPromise, notes
from reticent.releases.places import Place, Spot
from reticent.releases.publish import proven
from reticent.releases.publish import publish as publish_at
from reticent.tables.masking import Beyond, Masked, arrow, as_text, give_back_memory, mask
from reticent.tables.report import Release, TableVerdict
from reticent.tables.rules import rules

if TYPE_CHECKING:
    from reticent.privacy.risk import Exposure
    from reticent.sources.engines import RowSource
    from reticent.sources.means import Means
    from reticent.tables.policy import Policy
    from reticent.tables.prepare import Prepared
    from reticent.tables.previous.exposure import LinkedRelease
    from reticent.tables.search.greedy import Found
    from reticent.tables.search.rare import LeftOut


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

    def usual(self, prepared: Prepared) -> str:
        """The suffix of a folder's data."""
        return format_of(self.data, prepared.policy.writing.told(), RELEASED)

    def is_workbook(self, prepared: Prepared) -> bool:
        """Whether workbooks are written, which a cluster cannot."""
        suffix = self.place and (self.place.suffix or self.usual(prepared))
        return suffix in WORKBOOKS


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
        parts = outlet.rows_per_file is not None and not outlet.is_workbook(prepared)
        masked = mask(prepared, found.recodings, beyond, parts=parts)
    source = beyond.source if beyond else None
    publishing = _Publishing(prepared, masked, found, before, left_out, outlet, clock, source)
    if outlet.place is None:
        release = publishing.framed()
        if outlet.trace is not None:
            with whole_file(outlet.trace, force=outlet.force, private=True) as path:
                write_text(path, _trace(release))
        return release
    return publish_at(
        outlet.place,
        clock,
        usual=partial(outlet.usual, prepared),
        write=publishing.write,
        recount=publishing.recount,
        released=publishing.released,
        contents=publishing.contents,
        beside={} if outlet.trace is None else {outlet.trace: _trace},
    )


def _trace(release: Release) -> str:
    return as_json_lines(release.trace())


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
    before: tuple[Exposure, ...]
    left_out: LeftOut | None
    outlet: Outlet
    clock: Clock
    source: RowSource | None
    foretold: list[Proof] = field(default_factory=list)  # what the file itself says it keeps
    said: list[Sequence[str]] = field(default_factory=list)  # and in which words

    def framed(self) -> Release:
        """The release as the kind of table that came in."""
        outlet, masked = self.outlet, self.masked
        with self.clock.stage("verify"):
            table = arrow(masked.rows)
            hidden = masked.hidden and as_text(from_arrow(arrow(masked.hidden)))
            cells = published.from_table(as_text(from_arrow(table)), hidden=hidden)
            proof = self._proven(
                replace(cells, people=masked.people), baggage(table.schema, [table])
            )
            proof = self._looked_at(proof, partial(verifier.alone, cells))
        frame = table if outlet.kind == "file" else to_frame(table, outlet.data, outlet.kind)
        return self._release(proof, table=frame)

    def released(self, spot: Spot, proof: Proof) -> Release:
        """The release at its place, and how useful it is, if there is a report to say so."""
        judged = None
        if spot.folder is not None:
            from reticent.tables.evidence.study import utility

            with self.clock.stage("judge"):
                judged = utility(self.prepared, self.found.recodings)
        assert self.outlet.place is not None
        told = self._writing.told_for(spot.suffix)
        if self._commas(spot.suffix):
            told["numbers"] = sorted(self._commas(spot.suffix))
        return self._release(proof, output=self.outlet.place.name, utility=judged, writing=told)

    def _release(self, proof: Proof, **more: Any) -> Release:
        from reticent.tables.held_back import held_back

        meets: tuple[LinkedRelease, ...] = ()
        if self.prepared.policy.releases:
            from reticent.tables.previous.exposure import linked_releases

            meets = linked_releases(self.prepared, self.found.recodings)
        return Release(
            self.prepared, self.masked.sheet, self.found, self.before, TableVerdict.of(proof),
            self.clock.seconds, self.left_out, self.outlet.asked, meets,
            tuple(held_back(self.prepared, self.found)), **more,
        )  # fmt: skip

    def contents(self, release: Release, spot: Spot) -> Contents:
        """What stands beside the data of a release folder."""
        from reticent.tables.folder import contents

        assert spot.folder is not None
        table = self.outlet.means.table if self.outlet.means else None
        return contents(release, self.outlet.data, spot.folder / "private", table)

    def write(self, spot: Spot) -> Written:
        """Write the rows as one file, as several, or have a cluster do it."""
        if self.masked.recoding is not None:
            assert self.source is not None
            assert self.source.write_parts is not None
            return Written(
                self.source.write_parts(self.masked.recoding, spot.data, spot.suffix, self._writing)
            )
        longest = [self.masked.sheet.longest]

        def rows(size: int) -> Sheet | Iterator[Sheet]:
            """Rows, and of those that come sheet by sheet, how long they are."""
            found = self.masked.rows(size)
            return found if isinstance(found, Sheet) else _measured(found, longest)

        beside = self._notes() if spot.suffix in WORKBOOKS else ()
        told = self.clock.rows(self._rows_due())
        if self.outlet.rows_per_file is None:
            size = LINES if spot.suffix in CSV else ROW_GROUP
            write(rows(size), spot.data, spot.suffix, told, self._writing, beside)
            paths = [spot.data]
        else:
            paths = write_parts(
                rows,
                spot.data,
                spot.suffix,
                self.outlet.rows_per_file,
                told,
                self._writing,
                beside,
            )
        give_back_memory()
        return Written(paths, max(longest))

    @property
    def _writing(self) -> Writing:
        """How the policy says that files are written, and which columns show intervals."""
        shown = [domain.name for domain in self.prepared.domains if domain.mask == "discretize"]
        return self.prepared.policy.writing.told().of(shown)

    def _commas(self, suffix: str) -> frozenset[str]:
        """The columns of numbers whose decimal sign is a comma in the file."""
        if suffix not in CSV:
            return frozenset()
        sheet = self.masked.sheet
        known = dict(zip(sheet.names, (values.type for values in sheet.values), strict=True))
        elsewhere = {} if self.source is None else {f.name: f.type for f in self.source.schema}
        names = self.prepared.roles.released
        kinds = {name: known.get(name, elsewhere.get(name)) for name in names}
        return frozenset(self._writing.numbers(pa.schema([*kinds.items()])))

    def _notes(self) -> list[Sequence[str]]:
        """What a workbook says of its data: every promise, and what rows about to be written give.

        What is counted on the file must be the same, or nothing appears.
        """
        rows = self.masked.rows(ROW_GROUP)
        hidden = self.masked.hidden and as_text(from_arrow(arrow(self.masked.hidden)))
        if isinstance(rows, Sheet) and hidden is None:
            names = rows.names
            cells = published.from_table(
                pa.table({name: rows.column(name).cells() for name in names}), counts=rows.counts
            )
        else:
            table = as_text(from_arrow(arrow(self.masked.rows)))
            cells = published.from_table(table, hidden=hidden)
        self.foretold.append(self._proven(replace(cells, people=self.masked.people), ()))
        proof = self.foretold[-1]
        self.said.extend(said_of(proof, self.prepared.policy))
        return self.said

    def recount(self, spot: Spot, written: Written) -> Proof:
        """Recount the promises on the bytes just written."""
        if self.masked.recoding is not None:
            return self._recount_far_away(spot, written)
        with spill_folder() as spill:
            hidden = None
            if self.masked.hidden:
                hidden = spill / "hidden.parquet"
                write(self.masked.hidden(ROW_GROUP), hidden, ".parquet")
            cells, carried = self._read(written, spot.suffix, hidden)
            cells = replace(cells, people=self.masked.people)
            proof = self._proven(cells, carried, self._commas(spot.suffix))

        def alone(names: Sequence[str]) -> int:
            cells, _ = self._read(written, spot.suffix, None)
            return verifier.alone(cells, names, memory_limit=self._memory_limit)

        return self._looked_at(proof, alone)

    def _recount_far_away(self, spot: Spot, written: Written) -> Proof:
        """Have a cluster count what it wrote."""
        assert self.source is not None
        assert self.source.counted_parts is not None
        names = self.prepared.roles.released
        typed = [] if spot.suffix in CSV else [schema_of(p, spot.suffix) for p in written.paths]
        carried = [p for schema in typed for p in baggage(schema, [])]
        coarse = {one.column for one in self.prepared.policy.floors({})}
        coarse |= {*names} if self.prepared.policy.rule else set()
        wanted = [name for name in names if name in coarse or name in self.masked.sheet.names]
        counts = self.source.counted_parts(spot.data, spot.suffix, wanted, self._writing)
        cells = published.from_counts(counts, wanted)
        proof = self._proven(cells, carried, self._commas(spot.suffix))
        counter = self.source.alone_in_parts
        assert counter is not None
        return self._looked_at(
            proof, lambda names: counter(spot.data, spot.suffix, names, self._writing)
        )

    def _looked_at(self, proof: Proof, alone: Alone) -> Proof:
        """The same with what no promise covers; `alone`: a counter of rows that stand elsewhere."""
        roles, sheet = self.prepared.roles, self.masked.sheet
        if {*roles.released} <= {*sheet.names}:
            alone = alone_in({name: sheet.column(name) for name in sheet.names}, sheet.counts)
        found = singled_out(
            alone, proof.rows, roles.unmasked, sensitive=roles.sensitive, masked=roles.masked
        )
        warnings = found.warnings() if found else ()
        return replace(proof, singled_out=found, warnings=(*proof.warnings, *warnings))

    def _read(
        self, written: Written, suffix: str, hidden: Path | None
    ) -> tuple[published.PublishedCells, list[Problem]]:
        """The cells of a file, and what it carries besides."""
        paths = written.paths
        if suffix in WORKBOOKS:
            table = workbooks.cells_of(paths, self.prepared.roles.released)
            carried = [*workbooks.leftovers(paths, table.num_rows, self.said)]
            return published.from_table(table, hidden=hidden), carried
        if suffix not in CSV:
            source = published.from_typed(paths, parquet=suffix == ".parquet", hidden=hidden)
            # Categories are looked for where a file is not too long to be read once more.
            looked = [
                (schema, groups if self.source is None else iter(()))
                for path in paths
                for schema, groups in carriers(path, "file", suffix)
            ]
            return source, [p for schema, groups in looked for p in baggage(schema, groups)]
        released = self.prepared.roles.released
        if set("\r\n") & set("".join(released)):  # not every reader takes such a header
            reading = as_written(suffix, self._writing)
            tables = [as_text(from_arrow(parse(f, reading, suffix).arrow)) for f in paths]
            return published.from_table(pa.concat_tables(tables), hidden=hidden), []
        source = published.from_csv(
            paths, released, delimiter=self._writing.delimiter_for(suffix),
            packed=suffix.endswith(".gz"), longest=written.longest, hidden=hidden,
        )  # fmt: skip
        return source, []

    def _proven(
        self,
        cells: published.PublishedCells,
        carried: Sequence[Problem],
        commas: frozenset[str] = frozenset(),
    ) -> Proof:
        """What the verifier counts; nothing less than all that the search found will do."""
        prepared = self.prepared
        told = rules(prepared.policy, prepared.taxonomies, prepared.meeting, commas)
        proof = verifier.verify(cells, told, memory_limit=self._memory_limit)
        proof = replace(proof, leftovers=(*proof.leftovers, *carried))
        if prepared.policy.rule:  # what nobody masks may not have been looked at before
            refuse(proof.leftovers)
        agreed = all(proof.findings[i].value == value for i, value in self.found.values.items())
        complete = not proof.unchecked and proof.rows == self._rows_due()
        if self.source is not None and not (complete and agreed):
            raise InputError(
                "what was written is not what was counted, so it was thrown away",
                where=self.source.name, why="the table seems to have changed in the meantime.",
                do="release it again while nobody writes to it, or a copy of it.",
            )  # fmt: skip
        agreed = agreed and all(proof.findings == one.findings for one in self.foretold)
        proven(proof.holds and complete and agreed)
        return proof

    @property
    def _memory_limit(self) -> int | None:
        return self.outlet.means.for_engine if self.outlet.means else None

    def _rows_due(self) -> int:
        """How many rows must be there: all, but for those that may be left out, if so many may."""
        if self.left_out is None:
            return self.prepared.table.records
        records = self.left_out.before.table.records
        most = self.prepared.policy.suppress_records * records
        return records - self.left_out.count if self.left_out.count <= most else -1


def said_of(proof: Proof, policy: Policy) -> list[Sequence[str]]:
    """What a workbook says of rows of which this was recounted."""
    told = [
        KeptPromise(
            f.promise.plain_words, f.promise.bound, measured(f.value),
            NOTHING if f.promise.emptiness else "yes",
        )
        for f in proof.findings
    ]  # fmt: skip
    told += [KeptPromise(f"{one.floor.text}.", "", "") for one in proof.floors]
    return notes(told, policy.about, proof.rows)


def _measured(sheets: Iterator[Sheet], longest: list[int]) -> Iterator[Sheet]:
    """Sheets on their way out, noting how long their lines are."""
    for sheet in sheets:
        longest.append(sheet.longest)
        yield sheet
