"""What owners tell each other besides the rounds: whole columns, and labels at the end.

The class and the sensitive columns go to all before the search, since every owner's scores and
promises need them; kept columns, and the labels of masked columns that nothing was revealed of,
only when it has ended. The docs, `party check` and `integrate` say so before anything is sent.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

import msgspec
import numpy as np

from reticent.data.columns import Column, smallest
from reticent.errors import InputError, PartyError
from reticent.joint.owner import column_of
from reticent.parties.wire import Conversation, Message, Wire, others

Cell = Annotated[str, msgspec.Meta(max_length=16_000_000)]


class ToldColumn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One column: its distinct values as text, and which of them each record has."""

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

    nonce: Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]


class ClassDigest(Message, frozen=True):
    """Among those who have the class: a keyed digest of it, record by record."""

    digest: Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]


class ClassAgrees(Message, frozen=True):
    """One who has the class to one who does not: whether all who have it say the same."""

    agrees: bool


class Known(Message, frozen=True):
    """To all: I have seen by myself why this run cannot go on."""


def end_alike(session: Wire) -> None:
    """Let all others see by themselves why the run ends, before anybody says farewell to them.

    Who hears a farewell here knows the reason already, and need not be told another one.
    """
    with contextlib.suppress(PartyError):
        for owner in others(session):
            session.send(owner, Known())
        for owner in others(session):
            session.receive(owner, Known)


def told_columns(columns: Iterable[Column]) -> ToldColumns:
    """Columns as they travel: little end first, in as few bytes a record as the values need."""
    told = []
    for column in columns:
        width = np.dtype(smallest(max(len(column.values), 1))).newbyteorder("<")
        told.append(ToldColumn(column.name, column.texts(), column.codes.astype(width).tobytes()))
    return ToldColumns(told)


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
    width = np.dtype(smallest(max(len(told.values), 1))).newbyteorder("<")
    if len(told.codes) != records * width.itemsize:
        raise session.refuse(owner, "a column that it told is not about each record once")
    codes = np.frombuffer(told.codes, width).astype(np.int64)
    if records and int(codes.max()) >= len(told.values):
        raise session.refuse(owner, "a column that it told has a value that it did not tell")
    if len({*told.values}) < len(told.values) or len(np.unique(codes)) < len(told.values):
        raise session.refuse(owner, "a column that it told has values that no record has")
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
        end_alike(session)
        raise InputError(
            f"{', '.join(having)} do not say the same class of every common record",
            why="a record has one class; which records differ is not told.",
            do="compare the class of these owners, or let one of them contribute it.",
        )
