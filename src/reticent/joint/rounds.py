"""The search of several owners: rounds in lock-step, each of them one conversation.

Every owner runs the loop of engine 1 over its own columns (`reticent.refine.engine`). Where one
table would take its best candidate, owners find who has the best of all, by a secure comparison of
keys, and the winner tells which records go to which part. All of a round is one step of the
session, so that an owner that was killed goes on after the last round that all have.

Source: Fung 2007, chapter 7, for two owners; scores and ties as in one table.

What is told: before each round, whether anybody wants to stop, which is a step of its own, so that
what was revealed before a kill is never stopped away after it; then who won; of the winner's
candidate the parts that hold records, with their labels, and the part of each record. Nobody's key
is told. An owner without a candidate plays 0, one whose best candidate has the score 0 plays 1: if
the winner played 0, it says that the search is over.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from reticent.data.keys import key
from reticent.errors import many
from reticent.joint.policy import JointPolicy
from reticent.parties.comparison import ComparisonKey, highest
from reticent.parties.wire import Conversation, Message, others
from reticent.progress import Watch
from reticent.refine.engine import Choice, highest_score
from reticent.refine.foreign import NoPartition, Partition
from reticent.tables.search.greedy import Search

Count = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]
Label = Annotated[str, msgspec.Meta(max_length=1_000_000)]


class RoundBegins(Message, frozen=True):
    """To all: whether this owner wants to stop here, with what is revealed so far."""

    stop: bool


class Revealed(Message, frozen=True):
    """The winner to all: which records go where; no column says that nothing is left to reveal."""

    column: str = ""
    record: Count = 0
    labels: tuple[Label, ...] = ()
    parts: bytes = b""


@dataclass(slots=True)
class Rounds:
    """One owner's part in the search."""

    session: Conversation
    policy: JointPolicy
    search: Search
    watch: Watch
    max_steps: int | None = None  # the smallest that any owner asked for
    deadline: float | None = None  # of this owner, by `time.monotonic`
    secret: ComparisonKey = field(default_factory=ComparisonKey.fresh, repr=False)
    partitions: list[Partition] = field(default_factory=list)  # of all steps, in their order
    seconds: list[float] = field(default_factory=list)  # of each round
    stopped_early: bool = False

    def run(self) -> None:
        """Search until nothing is left to reveal, or all have agreed to stop."""
        # The loop itself must not stop by our wish alone: the others would go on.
        alone = replace(self.watch, stop=lambda: False)
        self.search.run(alone, choose=self.choose)

    def choose(self, slots: Any, scores: Any) -> Choice:
        """The next step of all owners."""
        number = len(self.partitions) + 1
        if len(self.partitions) == self.max_steps:
            # Whether anything was left to reveal is asked once more, and not revealed.
            self.stopped_early = self._is_left(slots, scores)
            return None
        begun = time.monotonic()
        self.watch.tell(self._so_far(number))
        best = highest_score(slots, scores)
        plays = 0 if best is None else int(key(scores[best])) + 1
        if self.session.step(f"before round {number}", self._agree_to_stop):
            self.stopped_early = True
            return None
        winner, column, record, labels, parts = self.session.step(
            f"round {number}", lambda: self._round(number, plays, slots, best)
        )
        self.seconds.append(time.monotonic() - begun)
        if not column:
            return None
        if winner == self.session.me:
            assert best is not None
            self.partitions.append(self.search.cuts.telling(int(slots[best])))
            return best
        partition = self._heard(winner, Revealed(column, record, tuple(labels), parts))
        self.partitions.append(partition)
        return partition

    def _so_far(self, number: int) -> str:
        took = ""
        if self.seconds:
            took = f", {sum(self.seconds) / len(self.seconds):.1f} s a round"
        return f"round {number}, {many(len(self.partitions), 'step')} so far{took}"

    def _round(
        self, number: int, plays: int, slots: Any, best: int | None
    ) -> tuple[str, str, int, Sequence[str], bytes]:
        """Who wins, and what it reveals."""
        # Begun again, a comparison is another sight of the same keys.
        self.session.attempt(f"round {number}")
        winner = highest(self.session, plays, self.secret)
        if winner != self.session.me:
            told = self.session.receive(winner, Revealed)
            if told.column:
                self._heard(winner, told)  # refused here, before anybody writes it down
        else:
            told = Revealed()
            if best is not None:
                told = packed(self.search.cuts.telling(int(slots[best])))
            for owner in others(self.session):
                self.session.send(owner, told)
        return winner, told.column, told.record, told.labels, told.parts

    def _agree_to_stop(self) -> bool:
        late = self.deadline is not None and time.monotonic() >= self.deadline
        wanted = bool(self.watch.stop()) or late
        for owner in others(self.session):
            self.session.send(owner, RoundBegins(wanted))
        for owner in others(self.session):
            wanted |= self.session.receive(owner, RoundBegins).stop
        return wanted

    def _is_left(self, slots: Any, scores: Any) -> bool:
        """Whether any owner still has a candidate."""

        def ask() -> bool:
            for owner in others(self.session):
                self.session.send(owner, RoundBegins(len(slots) > 0))
            heard = [
                self.session.receive(owner, RoundBegins).stop for owner in others(self.session)
            ]
            return len(slots) > 0 or any(heard)

        return bool(self.session.step("whether anything is left", ask))

    def _heard(self, winner: str, told: Revealed) -> Partition:
        """What another owner revealed, if it could have."""
        if told.column not in self.policy.owners[winner].columns:
            raise self.session.refuse(winner, "it reveals a column that it does not have")
        if told.column not in self.policy.joint_roles.masked:
            raise self.session.refuse(winner, "it reveals a column that is not masked")
        try:
            partition = self._unpacked(told)
            self.search.cuts.heard(partition)
        except NoPartition as why:
            raise self.session.refuse(winner, f"what it reveals {why}") from None
        return partition

    def _unpacked(self, told: Revealed) -> Partition:
        shown = next(c.shown for c in self.search.cuts.foreign if c.name == told.column)
        if not told.record < len(shown):
            raise NoPartition("names a record that does not exist")
        members = int((shown == shown[told.record]).sum())
        return Partition(
            told.column, told.record, unpacked(told.parts, members, len(told.labels)), told.labels
        )


def packed(partition: Partition) -> Revealed:
    """A partition as it travels: a bit for each record where there are two parts, else bytes.

    >>> told = packed(Partition("Job", 4, np.array([0, 1, 1]), ("a", "b")))
    >>> told.parts, unpacked(told.parts, 3, 2).tolist()
    (b'`', [0, 1, 1])
    """
    parts = len(partition.labels)
    content = b""
    if parts == 2:
        content = np.packbits(partition.parts.astype(np.uint8)).tobytes()
    elif parts > 2:
        content = partition.parts.astype(_width(parts)).tobytes()
    return Revealed(partition.column, partition.record, partition.labels, content)


def unpacked(content: bytes, records: int, parts: int) -> NDArray[np.int64]:
    """The part of each record; refuses what has another length than so many records take."""
    if parts < 2:
        expected = 0
    else:
        expected = -(-records // 8) if parts == 2 else records * np.dtype(_width(parts)).itemsize
    if not parts or len(content) != expected:
        raise NoPartition("is not about each record of the value once")
    if parts == 1:
        return np.zeros(records, dtype=np.int64)
    if parts == 2:
        bits = np.unpackbits(np.frombuffer(content, np.uint8), count=records)
        return bits.astype(np.int64)
    return np.frombuffer(content, _width(parts)).astype(np.int64)


def _width(parts: int) -> str:
    """The smallest numbers that tell so many parts apart, the same on every machine."""
    return "u1" if parts <= 2**8 else "<u2" if parts <= 2**16 else "<u4"
