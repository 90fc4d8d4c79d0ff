"""Does everything that was said in a run follow from the joint table? What `party audit` asks.

A transcript holds every word that an owner sent and received. Apart from ciphertexts, blinded ids
and random numbers, which tell nothing without a secret, each of them must be what the joint table
in the agreed order, the order of steps, the policy and the certificates already say: a column that
the policy hands over, cell by cell; a partition that puts no two records apart that show the same
in the end; labels that the table shows, or that were refined later; the digest of what was
published. Whatever else had been said would be a leak, and is named by the number of its entry.

Entries that a resume made void are passed over: they were said again.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from reticent.data.encode import MISSING
from reticent.errors import InputError
from reticent.joint import publishing, rounds, sharing
from reticent.joint.flow import Limit
from reticent.joint.policy import JointPolicy
from reticent.parties import comparison, group, intersection
from reticent.parties.identity import PeerCertificate
from reticent.parties.messages import (
    START,
    Envelope,
    Farewell,
    Hello,
    Resumption,
    Violation,
    decode,
    digest_of,
    run_id,
)
from reticent.parties.transcript import Entry, Fault, read
from reticent.refine.foreign import ForeignColumn, NoPartition, Partition
from reticent.releases.folder import published

CERTIFICATES, AGREED, TRACE, TRANSCRIPT = "certificates", "agreed.csv", "trace.jsonl", "transcript"
_BEFORE = ("our records", "common records", "what all accept", "class", "shared columns")
_LEFT = "whether anything is left"
_AFTER = ("labels", "kept columns", "ready", "go")

_Said = (
    intersection.IdCount | intersection.BlindedIds | intersection.BlindedBack
    | intersection.CommonDigest | intersection.FullyBlinded | intersection.CommonCount
    | intersection.Unblinding | intersection.Nonce | intersection.AllIdsDigest
    | comparison.EncryptedBits | comparison.HiddenDifferences | comparison.ZeroAmongThem
    | comparison.PairOutcome | comparison.PairWinner | rounds.RoundBegins | rounds.Revealed
    | sharing.ToldColumns | sharing.ToldLabels | sharing.ClassNonce | sharing.ClassDigest
    | sharing.ClassAgrees | Limit | publishing.Ready | publishing.Go
)  # fmt: skip
_said = msgspec.msgpack.Decoder(_Said).decode
_encoded = msgspec.msgpack.Encoder().encode
_POINTS = (
    intersection.BlindedIds, intersection.BlindedBack, intersection.FullyBlinded,
    intersection.Unblinding,
)  # fmt: skip
_RANDOM = (
    intersection.Nonce, intersection.AllIdsDigest, intersection.CommonDigest, sharing.ClassNonce,
    sharing.ClassDigest, comparison.ZeroAmongThem,
)  # fmt: skip


class _Leak(Exception):
    """What an entry says does not follow."""


@dataclass(frozen=True, slots=True)
class Audited:
    """What an audit found."""

    owner: str
    entries: int
    messages: int  # whose content was held against the table
    fault: Fault | None = None

    @property
    def text(self) -> str:
        """The finding in words."""
        if self.fault is None:
            return (
                f"{self.entries:,} entries of the transcript of {self.owner}: each follows the one "
                f"before it, and all that {self.messages:,} messages say follows from the release."
            )
        if not self.fault.entry:
            return f"The transcript of {self.owner}: {self.fault.what}."
        return f"Entry {self.fault.entry:,} of the transcript of {self.owner}: {self.fault.what}."


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
    certificate = PeerCertificate.load(place / "private" / CERTIFICATES / f"{release.owner}.pem")
    entries: list[Entry] = []
    for one in read(place / "private" / TRANSCRIPT, certificate):
        if isinstance(one, Fault):
            return Audited(release.owner, len(entries), 0, one)
        entries.append(one)
    steps = release.steps(bounded=any(_LEFT.encode() in entry.frame for entry in entries))
    replay = _Replay(release, steps, _void_steps(entries))
    for number, entry in enumerate(entries, 1):
        try:
            replay.hear(entry)
        except _Leak as leak:
            return Audited(release.owner, len(entries), replay.messages, Fault(number, str(leak)))
    if release.missing(replay):
        fault = Fault(0, "it ends before all that was released had been said")
        return Audited(release.owner, len(entries), replay.messages, fault)
    return Audited(release.owner, len(entries), replay.messages)


@dataclass(frozen=True, slots=True)
class _Release:
    """What an owner keeps of a release, as far as words are held against it."""

    owner: str
    policy: JointPolicy
    names: tuple[str, ...]
    cells: Mapping[str, list[str]]  # of the joint table, in the agreed order
    trace: Sequence[Mapping[str, str]]  # owner, attribute and value of every step
    manifest: bytes  # its digest
    records: int

    @classmethod
    def of(cls, place: Path) -> _Release:
        private = place / "private"
        policy = JointPolicy.load(private / "policy.toml")
        try:
            with (private / AGREED).open(encoding="utf-8", newline="") as file:
                head, *rows = list(csv.reader(file))
            trace = [json.loads(line) for line in (private / TRACE).read_text("utf-8").splitlines()]
            told = json.loads((private / "input.json").read_text("utf-8"))
            manifest = (place / "public" / "manifest.json").read_bytes()
            with published(place).open(encoding="utf-8", newline="") as file:
                released = list(csv.reader(file))
            owner, columns = str(told["owner"]), released[0]
            cells = {name: [row[i] for row in rows] for i, name in enumerate(head)}
            same = sorted(released[1:]) == sorted(row[1:] for row in rows)
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
        if not same:
            raise InputError(
                f"{AGREED} and the released data do not hold the same rows", where=str(place),
                why="they are of several releases, or were changed.",
                do="see what  reticent verify  says of it.",
            )  # fmt: skip
        del cells[head[0]]  # the ids
        return cls(owner, policy, names, cells, steps, hashlib.sha256(manifest).digest(), len(rows))

    def steps(self, *, bounded: bool) -> tuple[str, ...]:
        """The names of all steps of such a run; `bounded`: it ended after as many as asked for."""
        asked = len(self.trace) + (not bounded)  # the last round says that nothing is left
        told = (f"round {number}" for number in range(1, asked + 1))
        return (*_BEFORE, *told, *([_LEFT] if bounded else []), *_AFTER)

    def missing(self, replay: _Replay) -> bool:
        """Whether something was released that nobody said."""
        return replay.revealed != len(self.trace) or not replay.agreed


def _void_steps(entries: Sequence[Entry]) -> dict[int, int]:
    """For each epoch, how many of its steps counted in the end; later ones were said again."""
    found: dict[int, int] = {}
    for entry in entries:
        if entry.direction == "note":
            try:
                note = msgspec.msgpack.decode(entry.frame, type=Resumption)
            except msgspec.DecodeError:
                continue
            for epoch in range(note.epoch):
                found[epoch] = min(found.get(epoch, note.finished), note.finished)
    return found


@dataclass(slots=True)
class _Replay:
    """The run, as the transcript tells it."""

    release: _Release
    steps: tuple[str, ...]
    valid_steps: Mapping[int, int]  # by epoch; all of an epoch that is not here
    messages: int = 0
    revealed: int = 0
    agreed: bool = False
    hellos: dict[str, Hello] = field(default_factory=dict)
    previous: dict[tuple[str, str, int], tuple[int, bytes]] = field(default_factory=dict)
    begun: dict[tuple[str, str, int], bytes] = field(default_factory=dict)  # parts so far
    columns: dict[str, ForeignColumn] = field(default_factory=dict)
    told_steps: dict[str, rounds.Revealed] = field(default_factory=dict)  # by round

    def hear(self, entry: Entry) -> None:
        """Hold one entry against the release."""
        if entry.direction == "note":
            return
        if entry.peer not in self.release.policy.owners:
            raise _Leak("it is from or for somebody who is no owner")
        try:
            word = decode(entry.frame)
        except Violation as violation:
            raise _Leak(str(violation)) from None
        if isinstance(word, Hello):
            self._meet(entry, word)
        elif isinstance(word, Envelope):
            self._open(entry, word)
        elif isinstance(word, Farewell) and (word.code or word.why or word.about):
            raise _Leak("somebody ended the run with other words than that it is done")

    def _meet(self, entry: Entry, hello: Hello) -> None:
        me = self.release.owner
        if hello.sender != (me if entry.direction == "sent" else entry.peer):
            raise _Leak("an owner introduces itself by another name")
        if hello.policy != self.release.policy.digest:
            raise _Leak("an owner came with another policy")
        if hello.offers != self.release.policy.handed_over(hello.sender):
            raise _Leak("an owner offers other columns than the policy says")
        if hello.agreed not in (None, self.release.manifest):
            raise _Leak("an owner says that something else was agreed on")
        known = self.hellos.setdefault(hello.sender, hello)
        if (known.nonce, known.run_name) != (hello.nonce, hello.run_name):
            raise _Leak("an owner came back for another run")

    def _open(self, entry: Entry, envelope: Envelope) -> None:
        """See that a message is numbered and chained, and hold it against the release if whole."""
        me, sent = self.release.owner, entry.direction == "sent"
        ends = (me, entry.peer) if sent else (entry.peer, me)
        if (envelope.sender, envelope.receiver) != ends:
            raise _Leak("a message is of, or for, another owner")
        if envelope.run != self._run():
            raise _Leak("a message is of another run")
        link = (entry.direction, entry.peer, envelope.epoch)
        number, before = self.previous.get(link, (0, START))
        if (envelope.number, envelope.previous) != (number + 1, before):
            raise _Leak("a message does not follow the one before it")
        self.previous[link] = (envelope.number, digest_of(entry.frame))
        body = self.begun.pop(link, b"") + envelope.body
        if envelope.part < envelope.parts:
            self.begun[link] = body
            return
        steps = self.steps
        if envelope.step not in steps:
            raise _Leak("a message is of a step that no run has")
        if steps.index(envelope.step) >= self.valid_steps.get(envelope.epoch, len(steps)):
            return  # a resume made it void
        try:
            message = _said(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise _Leak("it is no message of this protocol") from None
        if _encoded(message) != body:
            raise _Leak("it says something besides its message")
        self.messages += 1
        self._judge(envelope.sender, envelope.step, message)

    def _run(self) -> bytes:
        owners = self.release.policy.owners
        if len(self.hellos) < len(owners):
            raise _Leak("a message came before all owners had met")
        name = self.hellos[self.release.owner].run_name
        return run_id(name, [(owner, self.hellos[owner].nonce) for owner in owners])

    def _judge(self, sender: str, step: str, message: Any) -> None:
        """Whether a message says what the release already says."""
        match message:
            case intersection.CommonCount(count):
                follows = count == self.release.records
            case comparison.EncryptedBits(public, ciphertexts):
                follows = _are_points(public, 1) and _are_points(ciphertexts, _CIPHERTEXTS)
            case comparison.HiddenDifferences(ciphertexts):
                follows = _are_points(ciphertexts, _CIPHERTEXTS)
            case comparison.PairWinner(winner):
                follows = winner in self.release.policy.owners
            case comparison.PairOutcome():
                follows = step.startswith("round ")
            case rounds.RoundBegins():
                follows = step.startswith("round ") or step == _LEFT
            case rounds.Revealed():
                follows = self._reveal(sender, step, message)
            case sharing.ToldColumns(columns):
                follows = all(self._are_cells(sender, step, column) for column in columns)
            case sharing.ToldLabels(labels):
                follows = all(
                    self.release.policy.owner_of(name) == sender
                    and {*self.release.cells.get(name, ())} == {label}
                    for name, label in labels.items()
                )
            case Limit(max_steps):  # a number that says nothing would be room for one that does
                follows = max_steps is None or max_steps >= len(self.release.trace)
            case sharing.ClassAgrees(agrees):
                follows = agrees
            case publishing.Ready(digest):
                follows = digest == self.release.manifest
                self.agreed = True
            case _ if isinstance(message, _POINTS):
                follows = _are_points(message.points, len(message.points) // group.POINT_BYTES)
            case _:  # sizes, random numbers, keyed digests, go
                follows = isinstance(message, (*_RANDOM, intersection.IdCount, publishing.Go))
        if not follows:
            raise _Leak(f"what {sender} says in {step} does not follow from the release")

    def _are_cells(self, sender: str, step: str, told: sharing.ToldColumn) -> bool:
        """Whether a column that was told is that of the joint table, and could be told then."""
        roles = self.release.policy.joint_roles
        early = {*roles.sensitive, *filter(None, [roles.class_])}
        allowed = early if step == "shared columns" else {*roles.kept}
        if told.name not in allowed or self.release.policy.owner_of(told.name) != sender:
            return False
        width = sharing.width_of(len(told.values))
        if len(told.codes) != self.release.records * width.itemsize:
            return False
        codes = np.frombuffer(told.codes, width).tolist()
        if {*codes} != {*range(len(told.values))}:
            return False
        return [told.values[code] or "" for code in codes] == self.release.cells[told.name]

    def _reveal(self, sender: str, step: str, told: rounds.Revealed) -> bool:
        """Whether a partition is one of the steps, and tells no more than the table shows."""
        if not told.column:
            return self.revealed == len(self.release.trace) and told == rounds.Revealed()
        if step in self.told_steps:  # another owner is told the same words
            return self.told_steps[step] == told
        self.told_steps[step] = told
        if self.revealed >= len(self.release.trace):
            return False
        line = self.release.trace[self.revealed]
        self.revealed += 1
        if (line["attribute"], line["owner"]) != (told.column, sender):
            return False
        name = told.column
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
        return self._labels_are_known(name, self.revealed, told.labels)

    def _labels_are_known(self, name: str, step: int, labels: Sequence[str]) -> bool:
        """Whether each label is shown in the table, or was refined by a later step."""
        shown = {*self.release.cells[name], MISSING, self.release.policy.marker}
        refined = {
            other["value"] for other in self.release.trace[step:] if other["attribute"] == name
        }
        return {*labels} <= shown | refined


_CIPHERTEXTS = 2 * (comparison.BITS + 1)  # points: two of each


def _are_points(content: bytes, count: int) -> bool:
    """Whether bytes are so many points of the group, and nothing else."""
    try:
        group.checked_all(group.apart(content, count))
    except group.NoPoint:
        return False
    return True
