"""A site that says what cannot be: one error at the honest one, naming the site and the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from parties.memory_wire import Tamper
from reticent.errors import PartyError
from reticent.jointree.model import JoinTree
from reticent.jointree.schema import JoinSchema
from reticent.jointree.sites import growing
from reticent.jointree.sites.descending import AskedRecords, TakenBranches
from reticent.jointree.sites.experiment import model_at
from reticent.jointree.sites.words import (
    ClassLabels,
    JoinColumns,
    NodeSplit,
    PartSums,
    SplitFits,
    Standing,
    Sums,
    TotalCounts,
    packed,
)
from reticent.parties.agreeing import Go
from reticent.parties.intersection import CommonDigest
from reticent.parties.wire import Message
from sites.sites_at_hand import (
    classified_at_sites,
    cleared,
    grown_at_sites,
    highest_in_the_open,
    with_min_count,
)
from sites.sites_at_work import schema_of, without_common_measure

SCHEMA = JoinSchema.of({
    "class": "visit.ill",
    "tables": {
        "visit": {"site": "clinic", "ids": ["v"]},
        "ward": {"site": "works", "ids": ["w"]},
    },
    "joins": [{"left": "visit.ward", "right": "ward.name"}],
    "grow": {"prune": False},
})  # fmt: skip
FRAMES = {
    "visit": pa.table({
        "v": [f"v{i}" for i in range(12)], "ward": list("aabbccddeeff"),
        "age": [3, 5, 3, 5, 8, 9, 8, 9, 1, 2, 3, 4], "ill": list("ynynyynnynyn"),
    }),
    "ward": pa.table({
        "w": [f"w{i}" for i in range(10)], "name": list("abcdefabcd"),
        "beds": [3, 8, 5, 1, 9, 4, 7, 2, 6, 3], "kind": list("xyxyxyyxxy"),
    }),
}  # fmt: skip
Lie = Callable[[Any], Message]


@pytest.fixture(autouse=True)
def _in_the_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing, "highest", highest_in_the_open)


def lying(sender: str, kind: type[Message], lie: Lie) -> tuple[Tamper, list[Message]]:
    """Let a site lie once, in its first message of this kind that a lie changes."""
    told: list[Message] = []

    def tamper(me: str, to: str, message: Message) -> Message:
        if me == sender and isinstance(message, kind) and not told:
            changed = lie(message)
            if changed != message:
                told.append(changed)
                return changed
        return message

    return tamper, told


def replaced(**changes: Any) -> Lie:
    return lambda message: msgspec.structs.replace(message, **changes)


def counts(change: Callable[[Any], Any]) -> Lie:
    """Change the counts of the branches of a split."""

    def lie(message: NodeSplit) -> Message:
        if not message.counts.numbers:
            return message
        lines = len(message.counts.numbers) // (2 * message.counts.width)
        every = np.frombuffer(message.counts.numbers, np.uint8).reshape(lines, 2).astype(np.int64)
        return msgspec.structs.replace(message, counts=packed(change(every)))

    return lie


def parts(change: Callable[[Any], Any]) -> Lie:
    """Change the parts that are told of a node."""

    def lie(message: PartSums) -> Message:
        told = message.parts
        lines = np.frombuffer(told.numbers, np.uint8).reshape(-1, 2).astype(np.int64)
        return msgspec.structs.replace(message, parts=packed(change(lines)))

    return lie


LIES: list[tuple[str, type[Message], Lie, str]] = [
    ("clinic", ClassLabels, replaced(labels=["y", "n"]), "labels of the class are not in order"),
    ("clinic", ClassLabels, replaced(labels=[]), "labels of the class are not in order"),
    ("works", JoinColumns, replaced(holds=[]), "it has other columns that join"),
    ("works", CommonDigest, replaced(digest=bytes(32)), "other common ids"),
    ("works", Standing, replaced(bits=b""), "do not fit the common values"),
    ("works", Standing, replaced(bits=b"\xff"), "do not fit the common values"),
    ("works", Standing, replaced(bits=b"\xfc\0"), "do not fit the common values"),
    ("works", Sums, replaced(numbers=b"\1\1\1\1\1"), "do not fit the common values"),
    ("works", Sums, replaced(numbers=b"\0\1\1\1\1\1"), "do not fit the common values"),
    ("works", Sums, replaced(width=2, numbers=b"\1\0" * 6), "do not fit the common values"),
    ("clinic", Sums, replaced(numbers=bytes(12)), "do not fit the common values"),
    ("clinic", TotalCounts, replaced(numbers="int8"), "counts of classes are none"),
    ("clinic", TotalCounts, replaced(numbers="float64"), "counts of classes are none"),
    ("clinic", TotalCounts, replaced(counts=Sums(1, b"\1")), "counts of classes are none"),
    ("clinic", TotalCounts, replaced(unit=7), "counts of classes are none"),
    ("clinic", TotalCounts, replaced(counts=packed(np.array([[2**70, 1]], object))),
     "counts of classes are none"),
    ("works", Sums, replaced(width=0, numbers=np.full(6, 1e308).tobytes()), "do not fit"),
    ("works", Sums, replaced(width=8, numbers=b"\0" * 7 + b"\x60" + bytes(40)), "do not fit"),
    ("clinic", Sums, lambda m: Sums(m.width, m.numbers[::-1]), "do not fit the common values"),
    ("works", NodeSplit, lambda m: NodeSplit(
        m.block, Sums(0, np.frombuffer(m.counts.numbers, np.uint8).astype(float).tobytes())
    ) if m.counts.numbers else m, "does not divide the node"),
    ("works", NodeSplit, replaced(block=7), "does not divide the node"),
    ("works", NodeSplit, replaced(block=0), "does not divide the node"),
    ("works", NodeSplit, counts(lambda every: every + 1), "does not divide the node"),
    ("works", NodeSplit, counts(lambda every: every[:1]), "does not divide the node"),
    ("works", NodeSplit, counts(lambda every: np.array([[0, 0], every.sum(axis=0)])),
     "does not divide the node"),
    ("works", PartSums, parts(lambda lines: lines[:-1]), "are not those of the node"),
    ("works", PartSums, parts(lambda lines: lines + 1), "are not those of the node"),
    ("works", PartSums, parts(lambda lines: lines * 300), "are not those of the node"),
    ("works", PartSums, parts(lambda lines: lines[::-1]), "are not those of the node"),
    ("works", PartSums, replaced(standing=b""), "are not those of the node"),
    ("clinic", ClassLabels, lambda m: JoinColumns([]), "something else than ClassLabels"),
    ("works", Sums, lambda m: Standing(b""), "something else than Sums"),
    ("clinic", TotalCounts, lambda m: m.counts, "something else than TotalCounts"),
    ("works", NodeSplit, lambda m: SplitFits(True), "something else than NodeSplit"),
    ("works", PartSums, lambda m: Go(), "something else than PartSums"),
    ("works", PartSums, replaced(withheld=True, standing=b"", parts=Sums(1, b"")),
     "are not those of the node"),
]  # fmt: skip

SAID_IN: dict[type[Message], str] = {
    ClassLabels: "labels of the class", JoinColumns: "columns that join",
    CommonDigest: "common values of join 1", Standing: "standing of join 1", Sums: "sums of join 1",
    TotalCounts: "all counts", NodeSplit: "node ", PartSums: "node ",
}  # fmt: skip


@pytest.mark.parametrize(("site", "kind", "lie", "said"), LIES)
def test_a_lie_ends_training(site: str, kind: type[Message], lie: Lie, said: str) -> None:
    tamper, told = lying(site, kind, lie)
    tables = [cleared(FRAMES[name], name) for name in SCHEMA.names]
    with pytest.raises(PartyError) as refused:
        grown_at_sites(SCHEMA, tables, tamper)
    assert told
    assert said in str(refused.value)
    where = str(refused.value.problems[0].where)
    assert f"{site}, {SAID_IN[kind]}" in where


def finer(message: Any) -> Any:
    """The same with a bit more at the end of a float than anybody tells."""
    inner = next((n for n in ("parts", "counts") if hasattr(message, n)), "")
    told = getattr(message, inner) if inner else message
    bits = np.frombuffer(told.numbers, "<u8").copy() if told.width == 0 else np.zeros(0)
    if not bits.any():
        return message
    bits[np.flatnonzero(bits)[0]] |= np.uint64(1 << 10)
    told = msgspec.structs.replace(told, numbers=bits.tobytes())
    return msgspec.structs.replace(message, **{inner: told}) if inner else told


@pytest.mark.parametrize(
    ("site", "kind", "said"),
    [
        ("clinic", TotalCounts, "counts of classes are none"),
        ("clinic", Sums, "do not fit the common values"),
        ("clinic", NodeSplit, "does not divide the node"),
        ("clinic", PartSums, "are not those of the node"),
    ],
)
def test_a_float_of_more_bits_than_are_told_ends_training(
    site: str, kind: type[Message], said: str
) -> None:
    data, grow = without_common_measure(), {"weight": "record", "max_depth": 3}
    schema = JoinSchema.parse(
        schema_of({"visit": "clinic", "ward": "works", "meal": "works"}, grow)
    )
    tables = [cleared(data[name], name) for name in schema.names]
    tamper, told = lying(site, kind, finer)
    with pytest.raises(PartyError, match=said):
        grown_at_sites(schema, tables, tamper)
    assert told


def honest_trees() -> dict[str, JoinTree]:
    tables = [cleared(FRAMES[name], name) for name in SCHEMA.names]
    return {site: model_at(tree) for site, tree in grown_at_sites(SCHEMA, tables).items()}


ASKED = pa.table({"visit.v": ["v1", "v7", "v3"], "ward.w": ["w0", "w3", "w7"]})


def test_records_are_classified_together() -> None:
    found = classified_at_sites(honest_trees(), SCHEMA, FRAMES, ASKED)
    assert found["clinic"] == found["works"]
    assert {*found["clinic"]} <= {"y", "n"}


@pytest.mark.parametrize(
    ("kind", "lie", "said"),
    [
        (AskedRecords, replaced(model=bytes(32)), "it has another model"),
        (AskedRecords, replaced(records=bytes(32)), "it is to classify other records"),
        (TakenBranches, replaced(branches=b""), "not those of its questions"),
        (TakenBranches, lambda m: TakenBranches(b"\x09" * len(m.branches)), "not those of its"),
    ],
)
@pytest.mark.parametrize("site", ["clinic", "works"])
def test_a_lie_ends_classification(site: str, kind: type[Message], lie: Lie, said: str) -> None:
    tamper, told = lying(site, kind, lie)
    with pytest.raises(PartyError) as refused:
        classified_at_sites(honest_trees(), SCHEMA, FRAMES, ASKED, tamper)
    assert told
    assert said in str(refused.value)


def test_what_a_peer_says_of_a_column_is_one_of_three_words() -> None:
    told = msgspec.msgpack.encode({"type": "JoinColumns", "holds": [["\x1b[31mEVIL", False]]})
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(told, type=JoinColumns)


def test_a_no_without_a_reason_is_a_lie() -> None:
    """It would bring out the second best split of a node, and the third."""
    schema = with_min_count(SCHEMA, 1)
    tamper, told = lying("clinic", SplitFits, replaced(fits=False))
    tables = [cleared(FRAMES[name], name) for name in SCHEMA.names]
    with pytest.raises(PartyError, match="told too little, and told all"):
        grown_at_sites(schema, tables, tamper)
    assert told
