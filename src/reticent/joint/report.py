"""What a joint release has to say, as plain data: the same at every owner, and each owner's own."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from reticent.data.decimals import comma_interval
from reticent.data.encode import MISSING
from reticent.data.scales import interval_ends
from reticent.files.writing import Writing
from reticent.parties.tally import WireFacts
from reticent.refine.foreign import ForeignColumn
from reticent.releases.facts import Facts, seconds
from reticent.releases.spoken import Spoken
from reticent.tables.report import TableVerdict, plain, promise_facts, template_facts

if TYPE_CHECKING:
    from reticent.files.sheets import Sheet
    from reticent.joint.flow import JointTable
    from reticent.joint.policy import JointPolicy


_SAID_IN = {  # steps of a conversation: what is said in them
    "common records": "blinded ids, and how many there are",
    "what all accept": "after how many steps to stop",
    "class": "whether all who have the class say the same",
    "shared columns": "the class and sensitive columns",
    "before round": "whether anybody wants to stop",
    "round": "best steps compared under encryption, and which records each step moves where",
    "whether anything is left": "whether anything is left to reveal",
    "labels": "what masked columns are called of which nothing was revealed",
    "kept columns": "kept columns",
    "ready": "digests of what is to be published",
}
MEETING = "meeting: who is there, and under which policy"


def writing_of(policy: JointPolicy, shown: Mapping[str, Collection[str | None]]) -> Writing:
    """How the table is written; which columns show intervals is seen by all that they have `shown`.

    So owners see it alike: what a column without a mask of its own holds, its owner alone knows.
    """
    intervals = []
    for name in policy.joint_roles.masked:
        attribute = policy.attributes.get(name)
        labels = {*shown[name]} - {None, MISSING, policy.marker}
        may = attribute is None or attribute.masked_by in (None, "discretize")
        if may and labels and all(interval_ends(label or "") for label in labels):
            intervals.append(name)
    return policy.writing.told().of(intervals)


def labels_in(sheet: Sheet) -> dict[str, Collection[str | None]]:
    """What every column of rows on their way out shows."""
    return {name: sheet.column(name).texts() for name in sheet.names}


def said_in(step: str) -> str:
    """What is said in a step of a conversation, in words."""
    kind = step.rstrip("0123456789").rstrip()  # of rounds there are many
    return _SAID_IN.get(kind, step)


@dataclass(frozen=True, slots=True, repr=False)
class JointRelease(Spoken):
    """A joint table, how one owner came to it, and the verifier's word on it."""

    joint: JointTable = field(repr=False)
    sheet: Sheet = field(repr=False)
    proof: TableVerdict = field(repr=False)
    seconds: Mapping[str, float]
    wire: WireFacts = field(default_factory=WireFacts, repr=False)
    unconfirmed: tuple[str, ...] = ()  # owners that did not say that theirs is there
    needed_by: tuple[str, ...] = ()  # of these, who may have to hear from us that all were ready
    troubles: tuple[str, ...] = ()  # what went wrong after it had appeared
    output: str | None = None
    frame: Any = field(default=None, repr=False)  # the rows, as the kind of data that came in

    @property
    def warnings(self) -> tuple[str, ...]:
        """What breaks no promise but should be looked at."""
        policy = self.joint.policy
        return (*policy.emptiness, *self.proof.warnings)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was assumed in reading this owner's records."""
        return self.joint.notes

    @property
    def table(self) -> Any:
        """The released rows."""
        return self.sheet.arrow() if self.frame is None else self.frame

    def facts(self) -> Facts:
        """All there is to say of it."""
        return Facts(_public(self), _private(self))

    def summary(self) -> dict[str, Any]:
        """What ``integrate --json`` prints."""
        told = self.facts()
        return {**public_report(told), **told.private}

    def _says(self, words: Any) -> str:
        said: str = words.release(self)
        return said


def _public(release: JointRelease) -> dict[str, Any]:
    joint, policy = release.joint, release.joint.policy
    implied = joint.found.implied
    roles = policy.joint_roles
    singled = release.proof.singled_out
    written = writing_of(policy, labels_in(release.sheet))
    commas = written.intervals if written.has_commas else frozenset()
    return {
        **policy.about.told(),
        "rows": release.sheet.rows,
        "owners": {name: list(owner.columns) for name, owner in policy.owners.items()},
        "columns": [{"name": name, "role": _role(release, name)} for name in policy.columns],
        "steps": len(joint.partitions),
        "stopped_early": joint.stopped_early,
        "promises": [
            promise_facts(finding, i + 1, implied[i] + 1 if i in implied else 0)
            for i, finding in enumerate(release.proof.findings)
        ],
        "attributes": {
            name: {
                "owner": policy.owner_of(name),
                "mask": policy.attributes[name].mask if name in policy.attributes else None,
                "shown": {
                    comma_interval(label) if name in commas else label: count
                    for label, count in release.sheet.tally(name).items()
                },
            }
            for name in roles.masked
        },
        "singled_out": singled.facts() if singled else None,
        "warnings": list(release.warnings),
    }


def _private(release: JointRelease) -> dict[str, Any]:
    joint = release.joint
    others = {n: joint.policy.handed_over(n) for n in joint.policy.owners if n != joint.owner}
    return {
        "owner": joint.owner,
        "common": joint.records,
        "not_common": joint.not_common,
        "left_out": joint.left_out,
        "ids_brought": dict(joint.sizes),
        "ids_held_by": held_by_facts(joint.held_by),
        "told_others": joint.policy.handed_over(joint.owner),
        "heard_of_others": others,
        "rounds": len(joint.round_seconds),
        "messages": release.wire.messages,
        "said": [
            {"words": words, "messages": messages, "bytes": size}
            for words, (messages, size) in release.wire.by_words.items()
        ],
        "bytes_sent": dict(release.wire.bytes_sent),
        "bytes_received": dict(release.wire.bytes_received),
        "resumed": release.wire.resumed,
        "unconfirmed": list(release.unconfirmed),
        "needed_by": list(release.needed_by),
        "output": release.output,
        "seconds": seconds(release.seconds),
    }


def held_by_facts(held_by: Mapping[tuple[str, ...], int]) -> list[dict[str, Any]]:
    """How many ids exactly some owners have, as the first of three or more sees it."""
    return [{"owners": list(owners), "ids": count} for owners, count in held_by.items()]


def _role(release: JointRelease, name: str) -> str:
    roles = release.joint.policy.joint_roles
    if name == roles.class_:
        return "class"
    if name in roles.masked:
        return "masked"
    return "sensitive" if name in roles.sensitive else "keep"


def public_report(told: Facts) -> dict[str, Any]:
    """The report that may be published; the same at every owner."""
    facts = told.public
    return {
        **{key: facts[key] for key in ("about",) if key in facts},
        **{key: facts[key] for key in ("rows", "owners", "steps", "stopped_early")},
        "templates": [
            template_facts(promise) | {"groups": promise["groups"]} for promise in facts["promises"]
        ],
        **{key: facts[key] for key in ("attributes", "singled_out", "warnings")},
        "note": "The templates were recounted on the released rows, by every owner.",
    }


def trace(release: JointRelease) -> Iterator[dict[str, Any]]:
    """One record a step; of others' steps without what they were worth, which nobody told."""
    joint = release.joint
    promises = joint.policy.promises
    searched = [i for i in range(len(promises)) if i not in joint.found.implied]
    own = {*joint.policy.owners[joint.owner].columns}
    for step in joint.steps:
        worth = {
            "info_gain": step.info_gain,
            "privacy_loss": step.privacy_loss,
            "score": step.score,
        }
        yield {
            "step": step.number,
            "owner": joint.policy.owner_of(step.attribute),
            "attribute": step.attribute,
            "value": step.value,
            "into": list(step.into),
            **(worth if step.attribute in own else {}),
            "templates": [
                {"kind": promises[i].kind, "value": plain(value), "asked": promises[i].asked}
                for i, value in zip(searched, step.values, strict=True)
            ],
        }


def shown_trees(joint: JointTable) -> dict[str, dict[str, Any]]:
    """Of every generalized column the labels that were shown on the way, each below what it was.

    It is made from what all owners know, and so is the same at all of them. What the root is called
    is told only where it is still shown.
    """
    found: dict[str, dict[str, Any]] = {}
    policy = joint.policy
    for name in policy.joint_roles.masked:
        attribute = policy.attributes.get(name)
        if attribute is not None and attribute.mask == "generalize":
            found[name] = _tree(joint, name)
    return found


def _tree(joint: JointTable, name: str) -> dict[str, Any]:
    column = ForeignColumn(name, joint.records)
    top: dict[str, Any] = {}
    below: dict[str | None, dict[str, Any]] = {None: top}
    for partition in joint.partitions:
        if partition.column != name:
            continue
        refined = below[column.labels[int(column.shown[partition.record])]]
        for label in partition.labels:
            if label != MISSING:
                refined[label] = below[label] = {}
        column.divide(partition)
    root = joint.labels.get(name, "ANY")
    while root in below:
        root += "*"
    return {root: top}
