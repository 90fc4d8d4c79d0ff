"""Does everything that was said in a run follow from the joint table? What `party audit` asks.

A transcript holds every word that an owner sent and received. What knows no table is replayed by
`reticent.parties.auditing`: who met, numbers, chains, parts, the intersection, the comparisons.
What owners who release together say, step by step, to whom, and what it is held against:

    our records         nobody says anything
    common records      an intersection: as many points as ids, as many common ones as records
    what all accept     each to all: after how many steps to stop, which is what the run did
    class               who has it among each other: nonces, digests; to the others: it agrees
    shared columns      each to all: its class and sensitive columns, cell by cell the table's
    before round N      each to all: whether to stop; nobody, unless the run ended there
    round N             a comparison; its winner to all: the N-th step of the trace, a partition
                        that puts no two records apart that show the same in the end, with labels
                        that the table shows or that a later step refined
    whether anything    each to all, after as many steps as were asked for: whether more could have
      is left           been revealed, which is what the report says
    labels              each to all: what its masked columns show that no step touched
    kept columns        each to all: cell by cell the table's
    ready               each to all: the digest of what was published
    go                  the first to all

Before that, agreed.csv and all certificates must be those that this owner signed, and public/ what
its manifest says: the transcript binds the cells of agreed.csv and their order, and no id, which
nobody ever says.

Each message is taken once, in its place; one that nobody had to send is as much a leak as one that
says something else. Whatever does not follow is named by the number of its entry.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from cryptography.exceptions import InvalidSignature

from reticent.data.decimals import comma_interval
from reticent.data.encode import MISSING
from reticent.errors import InputError
from reticent.files.writing import AS_USUAL, Writing
from reticent.joint import rounds, sharing
from reticent.joint.flow import Limit, kept_by, shared_by
from reticent.joint.folder import AGREED, SIGNED, certificate_of, signed_statement
from reticent.joint.policy import JointPolicy
from reticent.joint.report import writing_of
from reticent.parties import agreeing
from reticent.parties.auditing import (
    COMMON_IDS,
    COMPARISON,
    Audited,
    Said,
    all_ready,
    common_ids,
    let_go,
    replay,
    steps_named,
    winner_of,
)
from reticent.parties.delivered import Attendance, Leak
from reticent.parties.identity import PeerCertificate
from reticent.parties.transcript import Entry, Fault, read
from reticent.parties.wire import Message
from reticent.refine.foreign import ForeignColumn, NoPartition, Partition
from reticent.releases.folder import altered, digest, published

TRACE, TRANSCRIPT = "trace.jsonl", "transcript"
_BEFORE = ("our records", "common records", "what all accept", "class", "shared columns")
_LEFT = "whether anything is left"
_AFTER = ("labels", "kept columns", "ready", "go")
MESSAGES: tuple[type[Message], ...] = (
    *COMMON_IDS, *COMPARISON, Limit, sharing.ClassNonce, sharing.ClassDigest, sharing.ClassAgrees,
    sharing.ToldColumns, rounds.RoundBegins, rounds.Revealed, sharing.ToldLabels,
    agreeing.Ready, agreeing.Go,
)  # fmt: skip
# Said again after a resume they may differ: random numbers, and wishes that may have changed.
_FRESH = (sharing.ClassNonce, sharing.ClassDigest, rounds.RoundBegins, Limit)


def audit(folder: str | Path) -> Audited:
    """Hold the transcript of a release folder against what was released."""
    place = Path(folder)
    if not (place / "private").is_dir():
        raise InputError(
            "this is no joint release as its owner has it", where=str(folder),
            why="what was said is held against what stands in its folder private.",
            do="give the release folder, which holds public/ and private/.",
        )  # fmt: skip
    release = _Release.of(place)
    certificate = PeerCertificate.load(place / "private" / certificate_of(release.owner))
    if changed := _changed(place, release, certificate):
        return Audited(release.owner, 0, 0, Fault(0, changed))
    entries: list[Entry] = []
    for one in read(place / "private" / TRANSCRIPT, certificate):
        if isinstance(one, Fault):
            return Audited(release.owner, len(entries), 0, one)
        entries.append(one)
    attendance = Attendance(
        release.owner, release.policy.agreement, release.product, release.manifest
    )
    run = _JointRun(release, release.steps(steps_named(entries)))
    try:
        messages = replay(entries, attendance, run.steps, MESSAGES, run.play, _FRESH)
    except Leak as leak:
        return Audited(release.owner, len(entries), 0, Fault(leak.entry, leak.what))
    return Audited(release.owner, len(entries), messages)


def _rows(path: Path, writing: Writing = AS_USUAL) -> list[list[str]]:
    csv.field_size_limit(1 << 30)  # a kept text may be long
    with path.open(encoding="utf-8-sig" if writing.bom else "utf-8", newline="") as file:
        return list(csv.reader(file, delimiter=writing.delimiter_for(".csv"), strict=True))


def _written(rows: list[list[str]], names: Sequence[str], writing: Writing) -> list[list[str]]:
    """Rows as they are released: with decimal commas in intervals, if these are asked for."""
    if not writing.has_commas:
        return rows
    shown = [name in writing.intervals for name in names]
    return [
        [comma_interval(c) if commas else c for c, commas in zip(row, shown, strict=True)]
        for row in rows
    ]


def _changed(place: Path, release: _Release, certificate: PeerCertificate) -> str:
    """Which file is no longer what appeared, in words; nothing if all are."""
    for problem in altered(place):
        return problem.what
    if not release.same:
        return f"{AGREED} and the released data do not hold the same rows"
    private, signed = place / "private", "the one that this owner signed when the table appeared"
    names = {AGREED, *map(certificate_of, release.policy.owners)}
    try:
        told = json.loads((private / SIGNED).read_text("utf-8"))
        digests = {str(name): str(found) for name, found in told["files"].items()}
        signature = bytes.fromhex(told["signature"])
        certificate.public_key.verify(signature, signed_statement(digests))
        intact = {*digests} == names
    except InvalidSignature:
        intact = False
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        intact = False  # it is none at all
    if not intact:
        return f"{SIGNED} is not {signed}"
    for name in sorted(names):
        if not (private / name).is_file() or digest(private / name) != digests[name]:
            return f"{name} is not {signed}"
    return ""


@dataclass(frozen=True, slots=True)
class _Release:
    """What an owner keeps of a release, as far as words are held against it."""

    owner: str
    policy: JointPolicy
    ids: tuple[str, ...]  # of this owner, in the agreed order
    cells: Mapping[str, list[str]]  # of the joint table, in the agreed order
    trace: Sequence[Mapping[str, str]]  # owner, attribute and value of every step
    manifest: bytes  # its digest
    product: str  # the version that made it
    brought: int  # how many ids this owner brought
    stopped_early: bool
    same: bool  # whether agreed.csv and the released data hold the same rows

    @property
    def records(self) -> int:
        """How many people all owners have."""
        return len(self.ids)

    @classmethod
    def of(cls, place: Path) -> _Release:
        private = place / "private"
        policy = JointPolicy.load(private / "policy.toml")
        try:
            head, *rows = _rows(private / AGREED)
            trace = [json.loads(line) for line in (private / TRACE).read_text("utf-8").splitlines()]
            told = json.loads((private / "input.json").read_text("utf-8"))
            manifest = (place / "public" / "manifest.json").read_bytes()
            product = str(json.loads(manifest)["made_by"]).removeprefix("reticent ")
            report = json.loads((place / "public" / "report.json").read_text("utf-8"))
            stopped_early = bool(report["stopped_early"])
            known = {name: {row[i] for row in rows} for i, name in enumerate(head)}
            writing = writing_of(policy, known)
            released = _rows(published(place), writing)
            owner, columns = str(told["owner"]), released[0]
            brought = int(told["not_common"]) + len(rows)
            cells = {name: [row[i] for row in rows] for i, name in enumerate(head)}
            agreed = _written([row[1:] for row in rows], head[1:], writing)
            same = sorted(released[1:]) == sorted(agreed)
            words = ("owner", "attribute", "value")
            steps = [{word: str(step[word]) for word in words} for step in trace]
        except (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError, csv.Error):
            raise InputError(
                "this is no folder that `reticent integrate` made, or not all of it",
                where=str(place), do="give the whole release folder, its private side included.",
            ) from None  # fmt: skip
        names = tuple(head[1:])
        if owner not in policy.owners or names != policy.columns or columns != head[1:]:
            raise InputError(
                "its files do not fit each other", where=str(place),
                why="they are of several releases, or were changed.",
                do="give a release folder as  reticent integrate  wrote it.",
            )  # fmt: skip
        ids = tuple(cells.pop(head[0]))
        return cls(
            owner, policy, ids, cells, steps, hashlib.sha256(manifest).digest(), product, brought,
            stopped_early, same,
        )  # fmt: skip

    def steps(self, named: set[str]) -> tuple[str, ...]:
        """The names of all steps of such a run, of which these were named in the transcript."""
        count = len(self.trace)
        told = [f"{words}round {n}" for n in range(1, count + 1) for words in ("before ", "")]
        if _LEFT in named:  # it ended after as many as asked for
            told.append(_LEFT)
        else:  # the last round says that nothing is left, unless somebody stopped before it
            told.append(f"before round {count + 1}")
            if f"round {count + 1}" in named:
                told.append(f"round {count + 1}")
        return (*_BEFORE, *told, *_AFTER)


@dataclass(slots=True)
class _JointRun:
    """The run, as the release tells it; each step takes what had to be said in it."""

    release: _Release
    steps: tuple[str, ...]
    columns: dict[str, ForeignColumn] = field(default_factory=dict)

    def play(self, said: Said) -> None:
        """Take what was said in a step, and hold it against the release."""
        kind = said.step.rstrip("0123456789").rstrip()
        scripts: Mapping[str, Callable[[Said], None]] = {
            "our records": lambda said: None,
            "common records": self._common_records,
            "what all accept": self._limits,
            "class": self._class,
            "shared columns": lambda said: self._columns(said, shared_by(self.release.policy)),
            "before round": self._before_round,
            "round": self._round,
            _LEFT: self._left,
            "labels": self._labels,
            "kept columns": lambda said: self._columns(said, kept_by(self.release.policy)),
            "ready": lambda said: all_ready(said, self.release.manifest),
            "go": let_go,
        }
        scripts[kind](said)

    def _common_records(self, said: Said) -> None:
        sizes = common_ids(said, self.release.ids)
        if sizes[said.me] != self.release.brought:
            raise said.refuse(said.me)

    def _limits(self, said: Said) -> None:
        """Whoever gives a number gives one that the run kept; the smallest is where it ended."""
        made, bounded = len(self.release.trace), _LEFT in self.steps
        given = {owner: told.max_steps for owner, told in said.everybody(Limit).items()}
        asked = {owner: most for owner, most in given.items() if most is not None}
        for owner, most in asked.items():
            if most < made + (not bounded):
                raise said.refuse(owner)
        if bounded and made not in asked.values():
            raise said.refuse(next(iter(asked), said.me))

    def _class(self, said: Said) -> None:
        policy = self.release.policy
        having = [name for name, one in policy.owners.items() if policy.class_ in one.columns]
        if len(having) < 2:
            return
        if said.me not in having:
            for owner in having:
                if not said.next(owner, said.me, sharing.ClassAgrees).agrees:
                    raise said.refuse(owner)
            return
        said.among(having, sharing.ClassNonce)
        digests = said.among(having, sharing.ClassDigest)
        for owner, told in digests.items():
            if told != digests[said.me]:
                raise said.refuse(owner)
        for owner in said.owners:
            if owner not in having and not said.next(said.me, owner, sharing.ClassAgrees).agrees:
                raise said.refuse(said.me)

    def _columns(self, said: Said, due: Mapping[str, Sequence[str]]) -> None:
        for owner, told in said.everybody(sharing.ToldColumns).items():
            if [column.name for column in told.columns] != [*due[owner]]:
                raise said.refuse(owner)
            if not all(map(self._are_cells, told.columns)):
                raise said.refuse(owner)

    def _are_cells(self, told: sharing.ToldColumn) -> bool:
        """Whether a column that was told is that of the joint table."""
        try:
            codes = sharing.told_codes(told, self.release.records).tolist()
        except sharing.NoColumn:
            return False
        return [told.values[code] or "" for code in codes] == self.release.cells[told.name]

    def _before_round(self, said: Said) -> None:
        """Nobody stops the run, unless it ended there."""
        wanted = [told.stop for told in said.everybody(rounds.RoundBegins).values()]
        if any(wanted) != (said.step.removeprefix("before ") not in self.steps):
            raise said.refuse(said.me)

    def _left(self, said: Said) -> None:
        left = [told.stop for told in said.everybody(rounds.RoundBegins).values()]
        if any(left) != self.release.stopped_early:
            raise said.refuse(said.me)

    def _round(self, said: Said) -> None:
        winner, number = winner_of(said), int(said.step.removeprefix("round "))
        told = said.tells(winner, rounds.Revealed)
        if number > len(self.release.trace):
            follows = told == rounds.Revealed() and not self.release.stopped_early
        else:
            follows = self._reveals(winner, number, told)
        if not follows:
            raise said.refuse(winner)

    def _reveals(self, winner: str, number: int, told: rounds.Revealed) -> bool:
        """Whether a partition is a step of the trace, and tells no more than the table shows."""
        line, name = self.release.trace[number - 1], told.column
        if (line["attribute"], line["owner"]) != (name, winner):
            return False
        column = self.columns.setdefault(name, ForeignColumn(name, self.release.records))
        if not told.record < self.release.records:
            return False
        members = np.flatnonzero(column.shown == column.shown[told.record])
        try:
            parts = rounds.unpacked(told.parts, len(members), len(told.labels))
            partition = Partition(name, told.record, parts, told.labels)
            column.check(partition)
        except NoPartition:
            return False
        if rounds.packed(partition) != told:  # spare bits could carry something
            return False
        shown_in_the_end = [self.release.cells[name][int(row)] for row in members]
        part_of: dict[str, int] = {}
        for label, part in zip(shown_in_the_end, parts.tolist(), strict=True):
            if part_of.setdefault(label, part) != part:
                return False  # finer than the table
        column.divide(partition)
        return self._labels_are_known(name, number, told.labels)

    def _labels_are_known(self, name: str, step: int, labels: Sequence[str]) -> bool:
        """Whether each label is shown in the table, or was refined by a later step."""
        shown = {*self.release.cells[name], MISSING, self.release.policy.marker}
        refined = {
            other["value"] for other in self.release.trace[step:] if other["attribute"] == name
        }
        return {*labels} <= shown | refined

    def _labels(self, said: Said) -> None:
        """What all records show of a masked column that no step touched."""
        policy, cells = self.release.policy, self.release.cells
        masked = {*policy.joint_roles.masked} - {line["attribute"] for line in self.release.trace}
        for owner, told in said.everybody(sharing.ToldLabels).items():
            due = [c for c in policy.columns if c in masked and policy.owner_of(c) == owner]
            if [*told.labels] != due:
                raise said.refuse(owner)
            if any({*cells[name]} != {label} for name, label in told.labels.items()):
                raise said.refuse(owner)
