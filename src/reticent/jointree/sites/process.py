"""One site's part, as a process of its own: what `reticent tree … --party` does.

How it meets the others, survives kills and lets no model appear that not all agreed on:
`reticent.parties.participation`. A model stands with what one needs to look at it again:

    model.json   splits.json   schema.toml   site.json   certificates/   transcript/
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from reticent.data.columns import Table, encode
from reticent.errors import InputError, Problem, did_you_mean, refuse
from reticent.files.output import check_free, refuse_inputs, whole_file, whole_folder, write_text
from reticent.files.sheets import sheet, write, write_table
from reticent.files.tabular import ARROW
from reticent.jointree.classification import unfit_notes
from reticent.jointree.model import (
    MODEL,
    SPLITS,
    JoinTree,
    Question,
    read_model,
    write_model,
)
from reticent.jointree.report import shape
from reticent.jointree.schema import JoinSchema
from reticent.jointree.sites.audit import CERTIFICATES, SCHEMA, SITE
from reticent.jointree.sites.descending import (
    MOST_RECORDS,
    NamedRecords,
    descend,
    named_records,
    read_own,
    refuse_hidden,
)
from reticent.jointree.sites.experiment import model_at
from reticent.jointree.sites.flow import SiteTree, site_tree
from reticent.jointree.sites.layout import SiteLayout
from reticent.jointree.tables import load_some
from reticent.parties.participation import Agree, Participation, RunEnd, Undertaking
from reticent.parties.settings import PartySettings
from reticent.parties.state import TRANSCRIPT, State
from reticent.parties.tally import WireFacts, wire_facts
from reticent.parties.wire import Conversation
from reticent.progress import Watch
from reticent.releases.facts import seconds
from reticent.releases.folder import as_json
from reticent.releases.places import format_asked
from reticent.releases.policyfile import toml_key
from reticent.releases.spoken import Spoken
from reticent.sources.addresses import data_of
from reticent.sources.arrival import inputs, parse
from reticent.version import __version__

_HOLDS = (MODEL, SPLITS, SCHEMA, SITE, CERTIFICATES, TRANSCRIPT)
_TOLD_NOTHING_YET = ("our tables", "labels of the class", "columns that join")
_MEETING = "meeting: who is there, and with which schema"
_SAID_IN = {
    "labels of the class": "labels of the class",
    "columns that join": "what columns that join hold",
    "common values": "blinded join values, and how many there are",
    "standing": "which common values have rows in the join",
    "sums": "first sums by common value",
    "all counts": "joined rows by class",
    "node": "best splits compared under encryption, and which part of the sums each branch takes",
    "ready": "digests of the model",
    "what is asked": "digests of the model and of the records",
    "level": "which branch each record takes",
}


def _said_in(step: str) -> str:
    kind = step.partition(" of join ")[0].rstrip("0123456789").rstrip()
    return _SAID_IN.get(kind, step)


@dataclass(frozen=True, slots=True)
class SiteOptions:
    """What somebody asks of one run, besides the settings."""

    output: str | None = None
    resume: bool = False
    force: bool = False


@dataclass(frozen=True, slots=True, repr=False)
class TrainedAtSite(Spoken):
    """A tree of several sites, as one of them has it, and how it came to it."""

    schema: JoinSchema = field(repr=False)
    site: str
    tree: JoinTree = field(repr=False)
    table_rows: Mapping[str, int]  # of this site's tables
    common: tuple[tuple[str, str, int], ...]  # columns that join, and how many values both have
    splits: int  # before pruning
    compared: int
    wire: WireFacts = field(repr=False)
    seconds: Mapping[str, float] = field(repr=False)
    notes: tuple[str, ...] = field(default=(), repr=False)
    unconfirmed: tuple[str, ...] = ()
    needed_by: tuple[str, ...] = ()
    output: str | None = None

    def summary(self) -> dict[str, Any]:
        """What ``tree train --party --json`` prints."""
        return {
            "class": self.tree.target,
            "site": self.site,
            "sites": list(self.tree.sites),
            "tables": dict(self.table_rows),
            "joins": [
                {"left": left, "right": right, "common_values": count}
                for left, right, count in self.common
            ],
            **shape(self.tree),
            "own_questions": sum(isinstance(n.asks, Question) for n in self.tree.root.walk()),
            "splits_before_pruning": self.splits,
            "comparisons": self.compared,
            "min_count": self.tree.min_count,
            **_parted(self),
        }

    def _says(self, words: Any) -> str:
        said: str = words.trained(self)
        return said


@dataclass(frozen=True, slots=True, repr=False)
class ClassifiedAtSite(Spoken):
    """The classes of records that all sites sent down their tree."""

    site: str
    table: pa.Table = field(repr=False)
    classes: tuple[str, ...]
    told: tuple[int, ...]  # how many records each class has
    levels: int
    wire: WireFacts = field(repr=False)
    seconds: Mapping[str, float] = field(repr=False)
    notes: tuple[str, ...] = field(default=(), repr=False)
    unconfirmed: tuple[str, ...] = ()
    needed_by: tuple[str, ...] = ()
    output: str | None = None

    def summary(self) -> dict[str, Any]:
        """What ``tree classify --party --json`` prints."""
        return {
            "site": self.site,
            "records": self.table.num_rows,
            "levels": self.levels,
            "classes": list(self.told),  # in the order of the model's
            **_parted(self),
        }

    def _says(self, words: Any) -> str:
        said: str = words.classified(self)
        return said


def _parted(found: TrainedAtSite | ClassifiedAtSite) -> dict[str, Any]:
    return {
        "messages": found.wire.messages,
        "bytes_sent": dict(found.wire.bytes_sent),
        "bytes_received": dict(found.wire.bytes_received),
        "resumed": found.wire.resumed,
        "unconfirmed": list(found.unconfirmed),
        "needed_by": list(found.needed_by),
        "output": found.output,
        "seconds": seconds(found.seconds),
    }


Begin = Callable[[SiteLayout, str, Sequence[str]], None]


def train(
    party: str | Path,
    options: SiteOptions | None = None,
    watch: Watch | None = None,
    warn: Begin = lambda layout, site, notes: None,
) -> TrainedAtSite:
    """Grow one tree together with the other sites.

    Before we meet them, `warn` is told what they will learn, and what was assumed in reading.
    """
    return _Training(PartySettings.load(party), options or SiteOptions(), watch or Watch()).run(
        warn
    )


class _Site:
    """One site, its tables and its part in a run."""

    def __init__(
        self, settings: PartySettings, options: SiteOptions, watch: Watch, output: Path,
        digest: bytes = b"", words: str = "", harmless: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.settings, self.options, self.output = settings, options, output
        self.schema = JoinSchema.load(settings.schema_file)
        self.layout = SiteLayout.of(self.schema)
        agreement = self.layout.agreement
        self.part = Participation(
            settings, replace(agreement, digest=digest or agreement.digest), output, watch,
            resume=options.resume, words=words, harmless=harmless,
        )  # fmt: skip
        self.clock = self.part.clock
        self.reading = self.schema.reads(settings.reading.told())
        self.mine = self.layout.tables_of(settings.owner)
        self.data = _own_data(settings, self.schema, [self.schema.names[t] for t in self.mine])

    def files(self) -> list[Path]:
        """The files that the run reads."""
        sources = [self.data.get(self.schema.names[t]) for t in self.mine]
        told = [source if source else self.schema.data(name)
                for source, name in zip(sources, (self.schema.names[t] for t in self.mine),
                                        strict=True)]  # fmt: skip
        return [self.settings.schema_file, *(path for one in told for path in inputs(one))]

    def wire(self, state: State) -> WireFacts:
        """What went over the wire so far."""
        return wire_facts(state, self.layout.sites, self.settings.owner, _said_in, _MEETING)


def _own_data(
    settings: PartySettings, schema: JoinSchema, mine: Sequence[str]
) -> dict[str, str]:  # fmt: skip
    """Where the tables of this site stand; others' are none of our business."""
    told = settings.data if isinstance(settings.data, dict) else {}
    refuse(
        Problem(
            f'the table "{name}" is not of this site' if name in schema.tables
            else f'there is no table "{name}" in the schema',
            where=f"{settings.name}, [data]",
            do=did_you_mean(name, mine) or f"the tables of this site are {', '.join(mine)}.",
        )
        for name in told
        if name not in mine
    )  # fmt: skip
    refuse(
        Problem(
            f'nobody says where the table "{name}" stands', where=f"{settings.name}, [data]",
            do=f'add  {toml_key(name)} = "…".',
        )
        for name in mine
        if name not in told and schema.tables[name].path is None
    )  # fmt: skip
    return {name: data_of(source, settings.folder) for name, source in told.items()}


class _Training:
    def __init__(self, settings: PartySettings, options: SiteOptions, watch: Watch) -> None:
        output = settings.output_of(options.output)
        format_asked(str(output), (), form="; a model is a folder")
        self.site = _Site(settings, options, watch, output, harmless=_TOLD_NOTHING_YET)
        self.options, self.output = options, output

    def run(self, warn: Begin) -> TrainedAtSite:
        site = self.site
        agreed = site.part.decided_before()
        stands = bool(agreed) and _digest(self.output) == agreed
        if not stands:
            check_free(self.output, force=self.options.force, holds=_HOLDS)
            refuse_inputs([self.output], site.files())
        with site.clock.stage("read"):
            tables = load_some(
                site.schema, site.mine, site.data, site.reading, watch=site.clock.watch,
                as_named=True,
            )  # fmt: skip
        notes = [note for table in tables if table is not None for note in table.notes]
        work = Undertaking(
            partial(self._appear, tables), partial(self._appeared, tables), self.output,
            "The model",
        )  # fmt: skip
        begin = partial(warn, site.layout, site.settings.owner, [*dict.fromkeys(notes)])
        return _ended(site.part.take_part(work, agreed, stands=stands, begin=begin))

    def _appear(
        self, tables: Sequence[Table | None], talk: Conversation, state: State, agree: Agree
    ) -> TrainedAtSite:
        site = self.site
        tree = self._tree(tables, talk)
        model = model_at(tree)
        with whole_folder(
            self.output, force=self.options.force, holds=_HOLDS, private=True
        ) as folder:
            write_model(model, folder)
            write_text(folder / SCHEMA, site.schema.text)
            told = {"site": site.settings.owner, "made_by": f"reticent {__version__}"}
            write_text(folder / SITE, as_json(told))
            (folder / CERTIFICATES).mkdir()
            for name, pem in site.part.certificates.items():
                (folder / CERTIFICATES / f"{name}.pem").write_bytes(pem)
            agree(_digest(folder))
        return self._result(tree, model, tables, state)

    def _appeared(
        self, tables: Sequence[Table | None], talk: Conversation, state: State
    ) -> TrainedAtSite:
        return self._result(self._tree(tables, talk), read_model(self.output), tables, state)

    def _tree(self, tables: Sequence[Table | None], talk: Conversation) -> SiteTree:
        site = self.site
        most = site.settings.most_ids
        return site_tree(talk, site.layout, tables, site.clock, site.reading, most)

    def _result(
        self, tree: SiteTree, model: JoinTree, tables: Sequence[Table | None], state: State
    ) -> TrainedAtSite:
        site = self.site
        names = site.schema.names
        rows = {names[t]: table.records for t, table in enumerate(tables) if table is not None}
        common = []
        for join, count in tree.common.items():
            edge = site.layout.edges[join]
            near, far = (
                ", ".join(f"{names[t]}.{c}" for c in edge.columns_of(t)) for t in edge.ends
            )
            common.append((near, far, count))
        return TrainedAtSite(
            site.schema, site.settings.owner, model, rows, tuple(common), tree.splits,
            tree.compared, site.wire(state), dict(site.clock.seconds), output=str(self.output),
        )  # fmt: skip


def _digest(folder: Path) -> bytes:
    """What stands in a folder, as sites compare it; nothing if there is no model."""
    try:
        return hashlib.sha256((folder / MODEL).read_bytes()).digest()
    except OSError:
        return b""


_Result = TypeVar("_Result", TrainedAtSite, ClassifiedAtSite)


def _ended(end: RunEnd[_Result]) -> _Result:
    """A result with what became of the others."""
    return replace(
        end.result, unconfirmed=end.unconfirmed, needed_by=end.needed_by,
        notes=(*end.result.notes, *end.notes),
    )  # fmt: skip


# --- classification ------------------------------------------------------------------------------


def classify(
    party: str | Path,
    model: str | Path,
    records: str | Path,
    options: SiteOptions | None = None,
    *,
    most: int = MOST_RECORDS,
    watch: Watch | None = None,
    warn: Begin = lambda layout, site, notes: None,
) -> ClassifiedAtSite:
    """Send records down a tree together with the other sites."""
    settings = PartySettings.load(party)
    return _Classifying(
        settings, options or SiteOptions(), Path(model), records, most, watch or Watch()
    ).run(warn)


class _Classifying:
    def __init__(
        self, settings: PartySettings, options: SiteOptions, model: Path, records: str | Path,
        most: int, watch: Watch,
    ) -> None:  # fmt: skip
        if options.output is None:
            raise InputError("no output is named", where=settings.name, do="say  -o classes.csv.")
        self.output = Path(options.output)
        self.suffix = format_asked(options.output)
        if not self.suffix:
            raise InputError(
                "classes are written as one file", where=options.output,
                do="give a name that ends in .csv.",
            )  # fmt: skip
        self.options, self.model, self.records_file = options, model, str(records)
        self.tree = read_model(model)
        schema = JoinSchema.load(settings.schema_file)
        layout = SiteLayout.of(schema)
        if self.tree.sites != layout.sites or {*self.tree.joins} != {*schema.written_joins}:
            raise InputError(
                "the model was not trained with this schema", where=str(model),
                do="give the schema that it was trained with.",
            )  # fmt: skip
        refuse_hidden(self.tree, settings.owner, str(model))
        told, _ = parse(self.records_file, settings.reading.told())
        self.records = named_records(layout, told.arrow, self.records_file, most)
        self.ids = told.arrow.column_names
        self.site = _Site(
            settings, options, watch, self.output, words=" (classes)",
            harmless=("what is asked",),
        )  # fmt: skip

    def run(self, warn: Begin) -> ClassifiedAtSite:
        site = self.site
        agreed = site.part.decided_before()
        stands = bool(agreed) and self._standing() == agreed
        if not stands:
            check_free(self.output, force=self.options.force)
            files = [*site.files(), self.model, Path(self.records_file)]
            refuse_inputs([self.output], files)
        with site.clock.stage("read"):
            tables = read_own(
                self.tree, site.schema, site.mine, site.data, site.reading, site.clock.watch
            )
        notes = [note for table in tables if table is not None for note in table.notes]
        work = Undertaking(
            partial(self._appear, tables), partial(self._appeared, tables), None, "The file"
        )
        notes += unfit_notes(self.tree, site.schema, tables, site.reading)
        begin = partial(warn, site.layout, site.settings.owner, [*dict.fromkeys(notes)])
        return _ended(site.part.take_part(work, agreed, stands=stands, begin=begin))

    def _standing(self) -> bytes:
        """What stands at the output, as sites compare it; nothing if it is something else."""
        try:
            return _lines_digest(parse(self.output)[0].arrow)
        except InputError:
            return b""

    def _appear(
        self, tables: Sequence[Table | None], talk: Conversation, state: State, agree: Agree
    ) -> ClassifiedAtSite:
        lines = self._lines(tables, talk)
        with whole_file(self.output, force=self.options.force, private=True) as place:
            if self.suffix in (".parquet", *ARROW):
                write_table(lines, place, self.suffix)
            else:
                columns = [encode(name, lines[name]) for name in lines.column_names]
                write(sheet(columns, order="input"), place, self.suffix)
            agree(_lines_digest(lines))
        return self._result(lines, state)

    def _appeared(
        self, tables: Sequence[Table | None], talk: Conversation, state: State
    ) -> ClassifiedAtSite:
        return self._result(self._lines(tables, talk), state)

    def _lines(self, tables: Sequence[Table | None], talk: Conversation) -> pa.Table:
        site = self.site
        with site.clock.stage("classify"):
            winners = descend(
                talk, site.layout, self.tree, self.records, tables, self.records_file,
                site.clock.watch, site.reading,
            )  # fmt: skip
        return _lines(self.records, self.ids, [self.tree.classes[w] for w in winners.tolist()])

    def _result(self, lines: pa.Table, state: State) -> ClassifiedAtSite:
        site, told = self.site, Counter(lines["class"].to_pylist())
        return ClassifiedAtSite(
            site.settings.owner, lines, self.tree.classes,
            tuple(told[label] for label in self.tree.classes), self.tree.depth, site.wire(state),
            dict(site.clock.seconds), output=str(self.output),
        )  # fmt: skip


def _lines_digest(lines: pa.Table) -> bytes:
    """By which sites see that they hold the same classes of the same records."""
    cells = {name: [cell or "" for cell in lines[name].cast(pa.string()).to_pylist()]
             for name in lines.column_names}  # fmt: skip
    text = json.dumps(sorted(cells.items()), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _lines(records: NamedRecords, names: Sequence[str], classes: Sequence[str]) -> pa.Table:
    """The ids in the order of their file, and the class of each record."""
    columns = dict(zip(records.names, records.cells, strict=True))
    cells: list[Any] = [pa.array(columns[name], pa.string()) for name in names]
    return pa.table([*cells, pa.array(classes, pa.string())], names=[*names, "class"])
