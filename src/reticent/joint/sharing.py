"""What owners tell each other besides the rounds: whole columns, and labels at the end.

The class and the sensitive columns go to all before the search, since every owner's scores and
promises need them; kept columns, and the labels of masked columns that nothing was revealed of,
only when it has ended. The docs, `party check` and `integrate` say so before anything is sent.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from reticent.data.columns import Column, smallest
from reticent.errors import InputError
from reticent.joint.owner import column_of
from reticent.parties.messages import Digest
from reticent.parties.wire import Conversation, Message, others

Cell = Annotated[str, msgspec.Meta(max_length=16_000_000)]


class ToldColumn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One column: its distinct values as text, and which of them each record has.

    Values stand in the order of the first record that has them, as `by_first_record` numbers them:
    the order in which an owner's file has them is nobody's business.
    """

    name: str
    values: list[Cell | None]
    codes: bytes


class ToldColumns(Message, frozen=True):
    """To all: columns of the sender, in the agreed order of records."""

    columns: list[ToldColumn]


class ToldLabels(Message, frozen=True):
    """To all: how masked columns of the sender are shown of which nothing was revealed."""

    labels: dict[str, str]


class ClassNonce(Message, frozen=True):
    """Among those who have the class: a part of the key of a digest."""

    nonce: Digest


class ClassDigest(Message, frozen=True):
    """Among those who have the class: a keyed digest of it, record by record."""

    digest: Digest


class ClassAgrees(Message, frozen=True):
    """One who has the class to one who does not: whether all who have it say the same."""

    agrees: bool


def width_of(values: int) -> np.dtype[Any]:
    """How codes of so many values travel: the same on every machine."""
    kind: Any = smallest(max(values, 1))
    width: np.dtype[Any] = np.dtype(kind).newbyteorder("<")
    return width


def by_first_record(codes: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The codes that records have, in the order of their first record, and each record's place.

    >>> codes, places = by_first_record(np.array([7, 3, 7, 0]))
    >>> codes.tolist(), places.tolist()
    ([7, 3, 0], [0, 1, 0, 2])
    """
    found, first, place = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return found[order].astype(np.int64), rank[place]


def told_columns(columns: Iterable[Column]) -> ToldColumns:
    """Columns as they travel: little end first, in as few bytes a record as the values need."""
    told = []
    for column in columns:
        codes, places = by_first_record(column.codes)
        texts = column.texts()
        content = places.astype(width_of(len(codes))).tobytes()
        told.append(ToldColumn(column.name, [texts[code] for code in codes.tolist()], content))
    return ToldColumns(told)


def told_codes(told: ToldColumn, records: int) -> NDArray[np.int64]:
    """The value of each record, as a place among those told; NoColumn says what cannot be."""
    width = width_of(len(told.values))
    if len(told.codes) != records * width.itemsize:
        raise NoColumn("is not about each record once")
    codes = np.frombuffer(told.codes, width).astype(np.int64)
    if records and int(codes.max()) >= len(told.values):
        raise NoColumn("has a value that it did not tell")
    used, places = by_first_record(codes)
    if len({*told.values}) < len(told.values) or len(used) < len(told.values):
        raise NoColumn("has values that no record has")
    if not np.array_equal(places, codes):
        raise NoColumn("has its values in another order than that of the records")
    return codes


class NoColumn(ValueError):
    """What was told is no column; says why."""


def exchange_columns(
    session: Conversation,
    mine: Sequence[Column],
    expected: Mapping[str, Sequence[str]],
    records: int,
) -> dict[str, Column]:
    """Tell all others some columns, and hear theirs: `expected`, by owner."""
    for owner in others(session):
        session.send(owner, told_columns(mine))
    heard: dict[str, Column] = {}
    for owner in others(session):
        told = session.receive(owner, ToldColumns)
        if [column.name for column in told.columns] != [*expected.get(owner, ())]:
            raise session.refuse(owner, "it told other columns than the policy says")
        for column in told.columns:
            heard[column.name] = _received(session, owner, column, records)
    return heard


def _received(session: Conversation, owner: str, told: ToldColumn, records: int) -> Column:
    try:
        codes = told_codes(told, records)
    except NoColumn as why:
        raise session.refuse(owner, f"a column that it told {why}") from None
    return column_of(told.name, told.values, codes)


def exchange_labels(
    session: Conversation, mine: Mapping[str, str], expected: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """Tell all others how untouched columns are shown, and hear theirs: `expected`, by owner."""
    for owner in others(session):
        session.send(owner, ToldLabels(dict(mine)))
    heard: dict[str, str] = {}
    for owner in others(session):
        labels = session.receive(owner, ToldLabels).labels
        if [*labels] != [*expected.get(owner, ())]:
            raise session.refuse(owner, "it told labels of other columns than it should")
        heard |= labels
    return heard


def agree_on_class(session: Conversation, having: Sequence[str], mine: Column | None) -> None:
    """See that all owners who have the class say the same of every record.

    Compared is one keyed digest of all records, so that nobody hears which ones differ.
    """
    if len(having) < 2:
        return
    if mine is None:
        heard = [session.receive(owner, ClassAgrees).agrees for owner in having]
        agreed = all(heard)
    else:
        peers = [owner for owner in having if owner != session.me]
        nonces = {session.me: secrets.token_bytes(32)}
        for owner in peers:
            session.send(owner, ClassNonce(nonces[session.me]))
        for owner in peers:
            nonces[owner] = session.receive(owner, ClassNonce).nonce
        secret = hashlib.sha256(b"".join(nonces[owner] for owner in having)).digest()
        cells = msgspec.msgpack.encode(mine.cells().to_pylist())
        digest = hmac.digest(secret, b"class" + cells, "sha256")
        for owner in peers:
            session.send(owner, ClassDigest(digest))
        heard_digests = {session.receive(owner, ClassDigest).digest for owner in peers}
        agreed = heard_digests == {digest}
        for owner in session.owners:
            if owner not in having:
                session.send(owner, ClassAgrees(agreed))
    if not agreed:
        raise InputError(
            f"{', '.join(having)} do not say the same class of every common record",
            why="a record has one class; which records differ is not told.",
            do="compare the class of these owners, or let one of them contribute it.",
        )
