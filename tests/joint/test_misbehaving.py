"""An owner that says what cannot be: one error at the honest owner, naming the peer and the step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from parties.memory_wire import together as talking
from parties.memory_wire import wires
from reticent.errors import PartyError
from reticent.joint.experiment import together
from reticent.joint.policy import JointPolicy
from reticent.joint.rounds import Revealed
from reticent.joint.sharing import ToldColumn, ToldColumns, ToldLabels
from reticent.parties.agreeing import Ready, exchange_ready
from reticent.parties.session import Session
from reticent.parties.wire import Message

POLICY = JointPolicy.from_data(
    {
        "id": "ID",
        "class": "Class",
        "keep": ["Note"],
        "owners": {
            "bank": {"columns": ["Job", "Class"]},
            "card": {"columns": ["Sex", "Pet", "Town", "Ill", "Note"]},
        },
        "attributes": {name: {"mask": "suppress"} for name in ("Job", "Sex", "Pet", "Town")},
        "anonymity": [{"over": ["Job", "Pet"], "k": 2}, {"over": ["Town"], "k": 16}],
        "confidence": [{"over": ["Sex"], "sensitive": {"Ill": "*"}, "at_most": 0.9}],
    }
)
ROWS = range(16)
DATA = {
    "bank": {
        "ID": [f"p{n}" for n in ROWS],
        "Job": ["cook", "clerk"] * 8,
        "Class": ["yes"] * 8 + ["no"] * 8,
    },
    "card": {
        "ID": [f"p{n}" for n in ROWS],
        "Sex": ["F"] * 8 + ["M"] * 4 + ["X"] * 4,  # revealed in two steps
        "Pet": (["cat"] * 4 + ["dog"] * 2 + ["cow"] * 2) * 2,
        "Town": [f"t{n % 4}" for n in ROWS],
        "Ill": ["flu", "none", "cold", "none"] * 4,
        "Note": [f"n{n % 3}" for n in ROWS],
    },
}
Lie = Callable[[Any], Message]


def tables() -> dict[str, Any]:
    import pyarrow as pa

    return {owner: pa.table(columns) for owner, columns in DATA.items()}


def lying(patch: pytest.MonkeyPatch, kind: type[Message], lie: Lie) -> list[Message]:
    """Let the card lie once, in its first message of this kind that says anything."""
    honest, told = Session.send, list[Message]()

    def send(self: Session, to: str, message: Message) -> None:
        if self.me == "card" and isinstance(message, kind) and not told:
            changed = lie(message)
            if changed != message:
                told.append(changed)
                message = changed
        honest(self, to, message)

    patch.setattr(Session, "send", send)
    return told


def revealed(**changes: Any) -> Lie:
    return lambda message: (
        msgspec.structs.replace(message, **changes) if message.column else message
    )


def column(**changes: Any) -> Lie:
    def lie(message: ToldColumns) -> ToldColumns:
        first, *rest = message.columns
        return ToldColumns([msgspec.structs.replace(first, **changes), *rest])

    return lie


def renumbered(message: ToldColumns) -> ToldColumns:
    """The same column, its values in another order than that of the records: that of a file."""
    first, *rest = message.columns
    last = len(first.values) - 1
    codes = bytes(last - code for code in first.codes)
    return ToldColumns([ToldColumn(first.name, first.values[::-1], codes), *rest])


def test_nobody_lies() -> None:
    """Without a lie they agree, and the card reveals something: there is something to lie about."""
    found = together(POLICY, tables())
    assert [partition.column for partition in found["bank"].partitions][:1] == ["Sex"]
    assert "Town" in found["bank"].labels


LIES: dict[str, tuple[type[Message], Lie, str, str]] = {
    "a record nobody has": (Revealed, revealed(record=99), "round 1", "does not exist"),
    "not the first record": (Revealed, revealed(record=3), "round 1", "not its first"),
    "too short": (Revealed, revealed(parts=b"\xff"), "round 1", "each record"),
    "too long": (Revealed, revealed(parts=b"\xff" * 3), "round 1", "each record"),
    "no parts": (Revealed, revealed(labels=(), parts=b""), "round 1", "each record"),
    "a part without a record": (Revealed, revealed(parts=b"\x00\x00"), "round 1", "without a"),
    "a part that has no label": (
        Revealed, revealed(labels=("a", "b", "c"), parts=bytes([9] * 16)), "round 1", "without a",
    ),
    "one label twice": (Revealed, revealed(labels=("F", "F")), "round 1", "one label"),
    "our column": (Revealed, revealed(column="Job"), "round 1", "does not have"),
    "no such column": (Revealed, revealed(column="Nose"), "round 1", "does not have"),
    "a column that is not masked": (Revealed, revealed(column="Ill"), "round 1", "not masked"),
    "no column told": (ToldColumns, lambda m: ToldColumns([]), "shared columns", "other columns"),
    "another column": (ToldColumns, column(name="Note"), "shared columns", "other columns"),
    "one column too many": (
        ToldColumns, lambda m: ToldColumns([*m.columns, ToldColumn("X", ["a"], bytes(16))]),
        "shared columns", "other columns",
    ),
    "codes out of range": (ToldColumns, column(codes=b"\x09" * 16), "shared columns", "not tell"),
    "too few codes": (ToldColumns, column(codes=b"\x00"), "shared columns", "each record"),
    "values in an order of its own": (ToldColumns, renumbered, "shared columns", "another order"),
    "values twice": (ToldColumns, column(values=["a", "a", "b"]), "shared columns", "no record"),
    "a value of nobody": (ToldColumns, column(codes=bytes(16)), "shared columns", "no record"),
    "labels of others": (ToldLabels, lambda m: ToldLabels({"Job": "x"}), "labels", "other columns"),
    "no labels": (ToldLabels, lambda m: ToldLabels({}), "labels", "other columns"),
    "another message": (Revealed, lambda m: ToldLabels({}), "round 1", "no Revealed"),
}  # fmt: skip


@pytest.mark.parametrize("name", LIES)
def test_a_lie_ends_the_run(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    kind, lie, step, what = LIES[name]
    told = lying(monkeypatch, kind, lie)
    with pytest.raises(PartyError) as raised:
        together(POLICY, tables())
    assert told
    [problem] = raised.value.problems
    assert problem.where == f"card, {step}"
    assert what in problem.what


def test_the_label_of_another_value(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: dict[str, list[str]] = {}

    def lie(message: Revealed) -> Revealed:
        before = shown.setdefault(message.column, [])
        others = [label for label in before if label not in ("*", *message.labels)]
        before.extend(message.labels)
        if not others:
            return message
        return msgspec.structs.replace(message, labels=(others[0], *message.labels[1:]))

    told = lying(monkeypatch, Revealed, lie)
    with pytest.raises(PartyError, match="label of another value") as raised:
        together(POLICY, tables())
    assert told
    [problem] = raised.value.problems
    assert problem.where.startswith("card, round ")


def test_a_table_that_is_another() -> None:
    def tamper(sender: str, to: str, message: Message) -> Message:
        return Ready(bytes(32)) if sender == "card" else message

    with pytest.raises(PartyError, match="is not ours") as raised:
        talking(wires("bank", "card", tamper=tamper), lambda wire: exchange_ready(wire, b"x" * 32))
    assert "card" in str(raised.value)
