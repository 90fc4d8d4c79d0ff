"""First sums between sites: which rows stand, how many joined rows lie behind, and of what class.

Each site runs the sweeps of `reticent.jointree.propagation` over its own tables. Where a join leads
to another site, what it has added up is a message to that site and to no other. Both sides know
which common values stand once the first sweep is over, so sums are told of these alone, in their
order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from reticent.errors import Unsatisfiable, many
from reticent.jointree.propagation import (
    _HIGHEST,
    _KINDS,
    WORD,
    Behind,
    RootCounts,
    Vectors,
)
from reticent.jointree.sites.layout import SiteLayout
from reticent.jointree.sites.words import (
    Standing,
    Sums,
    TotalCounts,
    Unfit,
    alike,
    packed,
    packed_bits,
    unpacked,
    unpacked_bits,
)
from reticent.parties.wire import Conversation, M, Message, others


@dataclass(slots=True)
class SiteRelay:
    """A `JoinRelay` by which sums get to other sites."""

    talk: Conversation
    layout: SiteLayout
    classes: int
    min_count: int | None = None
    standing_values: dict[int, NDArray[np.bool_]] = field(default_factory=dict)  # by join
    upward: dict[int, Vectors] = field(default_factory=dict)  # what went up, of these
    counts: RootCounts | None = None

    def standing(self, join: int, up: bool, some: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """See `JoinRelay`."""
        told = self._over(join, up, "standing", Standing, lambda: Standing(packed_bits(some)))
        if told is not None:
            try:
                some = unpacked_bits(told.bits, len(some))
            except Unfit:
                raise self._unfit(join, up) from None
        if not up:
            self.standing_values[join] = some
        return some

    def sums(self, join: int, up: bool, sums: Vectors, behind: Behind) -> Vectors:
        """See `JoinRelay`."""
        values = np.flatnonzero(self.standing_values[join])

        def say() -> Sums:
            self._refuse_few(join, behind()[values])
            return packed(sums[values])

        told = self._over(join, up, "sums", Sums, say)
        if told is None:
            heard = sums[values]
        else:
            try:
                heard = unpacked(told, len(values), 1 if up else self.classes)
                self._refuse_unlike(join, up, heard)
            except Unfit:
                raise self._unfit(join, up) from None
        if up:
            self.upward[join] = heard
        if told is None:
            return sums
        found = np.zeros((len(sums), heard.shape[1]), heard.dtype if up else sums.dtype)
        found[values] = heard
        return found

    def _refuse_unlike(self, join: int, up: bool, heard: Vectors) -> None:
        """Refuse sums that cannot be: of another kind, too large, or not of all joined rows."""
        if not (heard > 0).any(axis=1).all():
            raise Unfit
        if up:
            # How often rows stand behind a value is a whole number, whatever they weigh.
            if heard.dtype == np.float64 or int(heard.max(initial=0)) >= _HIGHEST:
                raise Unfit
            return
        assert self.counts is not None
        numbers, counts = self.counts.numbers, list(self.counts.counts)
        if (heard.dtype == np.float64) != (numbers == "float64"):
            raise Unfit
        if numbers == "float64":
            if not alike(heard.sum(axis=0), counts, floats=True):
                raise Unfit
            return
        every = [sum(column) for column in zip(*heard.tolist(), strict=True)]
        whole = (heard.astype(object) % self.upward[join].astype(object) == 0).all()
        if every != counts or not whole:
            raise Unfit

    def root(self, told: Callable[[], RootCounts]) -> RootCounts:
        """See `JoinRelay`."""
        site = self.layout.site_of[self.layout.schema.root]

        def work() -> tuple[str, int, int, bytes]:
            if site == self.talk.me:
                own = told()
                counts = np.array(own.counts, _KINDS[own.numbers]).reshape(1, -1)
                said = TotalCounts(own.numbers, own.unit, packed(counts))
                for other in others(self.talk):
                    self.talk.send(other, said)
            else:
                said = self.talk.receive(site, TotalCounts)
                self._counts_of(site, said)
            return said.numbers, said.unit, said.counts.width, said.counts.numbers

        numbers, unit, width, content = self.talk.step("all counts", work)
        self.counts = self._counts_of(site, TotalCounts(numbers, unit, Sums(width, content)))
        return self.counts

    def _counts_of(self, site: str, said: TotalCounts) -> RootCounts:
        try:
            if said.numbers not in _KINDS or (said.numbers == "float64") != (not said.counts.width):
                raise Unfit
            counts = unpacked(said.counts, 1, self.classes)[0].tolist()
            every, parts = sum(counts), self.layout.schema.grow.weight == "record"
            if said.numbers == "int64" and every >= WORD:
                raise Unfit
            if (said.unit != 1 or said.numbers == "float64") and not parts:
                raise Unfit
            if any(count % 1 for count in counts):  # so many records
                raise Unfit
        except Unfit:
            raise self.talk.refuse(site, "its counts of classes are none") from None
        # How many joined rows there are, whatever they weigh, is for the site of the class alone;
        # here it says whether there are any.
        joined = sum(counts) if said.unit == 1 and said.counts.width else int(sum(counts) > 0)
        return RootCounts(said.numbers, said.unit, joined, tuple(counts))  # type: ignore[arg-type]

    def _over(
        self, join: int, up: bool, what: str, kind: type[M], say: Callable[[], M]
    ) -> M | None:
        """Let one message go over a join; what came, if it came to this site from another."""
        if not self.layout.crosses(join):
            return None
        start, end = self._sites(join, up)

        def work() -> bytes | None:
            if start == self.talk.me:
                self.talk.send(end, say())
            elif end == self.talk.me:
                return _encoded(self.talk.receive(start, kind))
            return None

        name = f"{what} of join {join + 1}, {'up' if up else 'down'}"
        heard = self.talk.step(name, work)
        return None if heard is None else _decoded(heard, kind)

    def _sites(self, join: int, up: bool) -> tuple[str, str]:
        near, far = (self.layout.site_of[table] for table in self.layout.edges[join].ends)
        return (far, near) if up else (near, far)

    def _unfit(self, join: int, up: bool) -> Exception:
        return self.talk.refuse(
            self._sites(join, up)[0], f"its sums of join {join + 1} do not fit the common values"
        )

    def _refuse_few(self, join: int, records: NDArray[np.int64]) -> None:
        few = too_few(records, self.min_count)
        if few:
            raise Unsatisfiable(
                f"behind {few:,} of {many(len(records), 'common join value')} stand fewer than "
                f"min_count = {self.min_count} records of this site's table"
                + (" in some class" if records.shape[1] > 1 else ""),
                where=self.layout.edges[join].place,
                why="the other site would be told their number, before any split.",
                do="lower min_count at all sites, or leave out rare join values.",
            )  # fmt: skip


def too_few(records: NDArray[np.int64], least: int | None) -> int:
    """Of how many join values too few records would be told, in some class, and not none."""
    if least is None:
        return 0
    return int(((records > 0) & (records < least)).any(axis=1).sum())


def _encoded(message: Message) -> bytes:
    import msgspec

    return msgspec.msgpack.encode(message)


def _decoded(content: bytes, kind: type[M]) -> M:
    import msgspec

    return msgspec.msgpack.decode(content, type=kind)
