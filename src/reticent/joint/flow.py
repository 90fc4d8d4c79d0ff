"""Several owners, one table: the conversation from the first word to the joint table.

    meet ─► common records ─► check what can be checked alone ─► share ─► rounds ─► rest
         ─► the joint table, recounted ─► ready, go, done

Every step has the same name at every owner and is written down when it is done, so that an owner
that was killed goes on from the last one that all have (`reticent.parties.session`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from reticent.data.columns import Column, Table
from reticent.data.encode import MISSING
from reticent.errors import InputError, Unsatisfiable
from reticent.files.tabular import Reading
from reticent.joint.owner import OwnRecords, fitted_part
from reticent.joint.policy import JointPolicy
from reticent.joint.rounds import Count, Rounds
from reticent.joint.sharing import agree_on_class, exchange_columns, exchange_labels
from reticent.parties.intersection import align, intersect
from reticent.parties.wire import Conversation, Message, others
from reticent.privacy.promises import Anonymity, Promise
from reticent.progress import Clock, Watch
from reticent.refine.engine import Step
from reticent.refine.foreign import Partition
from reticent.releases.kinds import JOINT
from reticent.tables.prepare import Prepared, value_marks
from reticent.tables.report import TableVerdict
from reticent.tables.search.greedy import Found, Search
from reticent.version import __version__


@dataclass(frozen=True, slots=True)
class Wishes:
    """What one owner asks of a run, besides the policy."""

    aligned: bool = False  # ids are said to be the same, in any order
    most_ids: int = 500_000
    max_steps: int | None = None
    deadline: float | None = None  # by `time.monotonic`


class Limit(Message, frozen=True):
    """To all: after how many steps this owner wants to stop."""

    max_steps: Count | None


@dataclass(frozen=True, slots=True)
class JointTable:
    """The joint table, and how one owner came to it."""

    policy: JointPolicy
    owner: str
    prepared: Prepared = field(repr=False)  # this owner's part
    columns: tuple[Column, ...] = field(repr=False)  # of the joint table, in agreed order
    found: Found = field(repr=False)  # by this owner's engine
    partitions: tuple[Partition, ...] = field(repr=False)  # every step, as all know it
    labels: Mapping[str, str] = field(repr=False)  # of masked columns that stayed as they were
    order: tuple[int, ...] = field(repr=False)  # which of this owner's records are the common ones
    sizes: Mapping[str, int]  # how many ids each owner brought
    held_by: Mapping[tuple[str, ...], int]
    not_common: int  # records of this owner, besides those that were left out
    stopped_early: bool
    round_seconds: tuple[float, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()  # what was assumed in reading this owner's records
    left_out: int = 0  # records of this owner that miss a value, and took no part

    @property
    def steps(self) -> tuple[Step, ...]:
        """What was revealed; of others' steps without what they were worth."""
        return self.found.steps

    @property
    def records(self) -> int:
        """How many people all owners have."""
        return len(self.order)


def joint_table(
    session: Conversation,
    policy: JointPolicy,
    own: OwnRecords,
    wishes: Wishes,
    clock: Clock,
    reading: Reading | None = None,
    before_telling: Callable[[], None] = lambda: None,
) -> JointTable:
    """Talk until every owner holds the same joint table.

    `before_telling` is called, after a resume once more, before the first value leaves us.
    """
    me, watch = session.me, clock.watch
    records = _known_again(policy, own, reading)
    if session.step("our records", lambda: records) != records:
        raise InputError(
            "our data, how they are read, our taxonomies or the version of Reticent have changed "
            "since the run was interrupted", where=own.table.name,
            why="the others were told of records as they were.",
            do="go on with the data that it began with, or remove the folder to give it up.",
        )  # fmt: skip
    with clock.stage("intersect"):
        order, sizes, held_by = common_records(session, own, wishes, watch)
    with clock.stage("encode"):
        # What is wrong with our own columns is told before anything of them is sent.
        table, ids = see_alone(policy, own, order, reading)
    having = [name for name, one in policy.owners.items() if policy.class_ in one.columns]
    with clock.stage("share"):
        most = session.step("what all accept", lambda: _smallest(session, wishes))
        mine = table.columns.get(policy.class_ or "")
        before_telling()
        session.step("class", lambda: agree_on_class(session, having, mine))
        shared = _columns(session, "shared columns", policy, table, shared_by(policy))
    with clock.stage("encode"):
        prepared, foreign = fitted_part(policy, me, table, shared, ids, reading)
        search = Search(prepared, foreign=foreign)
        search.begin(watch)
    with clock.stage("refine"):
        rounds = Rounds(session, policy, search, watch, most, wishes.deadline)
        rounds.run()
    with clock.stage("share"):
        labels = _labels(session, policy, search, rounds.partitions)
        kept = _columns(session, "kept columns", policy, table, kept_by(policy))
    told = {**table.columns, **shared, **kept, **_shown(search, labels)}
    return JointTable(
        policy, me, prepared, tuple(told[name] for name in policy.columns),
        search.found(stopped_early=rounds.stopped_early), tuple(rounds.partitions), labels,
        tuple(order), sizes, {tuple(names): count for names, count in held_by},
        len(own.ids) - len(order), rounds.stopped_early, tuple(rounds.seconds),
        own.notes, own.left_out,
    )  # fmt: skip


def _known_again(policy: JointPolicy, own: OwnRecords, reading: Reading | None) -> str:
    """A digest of all from which an owner would make the same joint table once more."""
    parts = (own.digest, policy.trees(own.owner), reading or Reading(), __version__)
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()


def verify(
    data: Any,
    policy: JointPolicy | Mapping[str, Any] | str | Path,
    *,
    reading: Reading | None = None,
    watch: Watch | None = None,
) -> TableVerdict:
    """Recount every promise on a joint release, as anybody can who holds its public side."""
    from reticent.tables.flow import verify as recount

    alone = JointPolicy.of(policy).alone()
    return recount(data, alone, reading=reading, watch=watch, kind=JOINT)


def check(
    policy_path: str | Path, data: Any = None, *, reading: Reading | None = None,
    watch: Watch | None = None,
) -> tuple[str, ...]:  # fmt: skip
    """Look for every problem of a joint policy; how it fits data, each owner sees in a run."""
    policy = JointPolicy.load(policy_path)
    if data is not None:
        raise InputError(
            "a policy of several owners is checked without data", where=policy.name,
            why="nobody has the data of all owners.",
            do="each owner's own are checked by  reticent integrate PARTY.toml --dry-run  before "
            "it calls anybody; once the others are there, a dry run tells each who is common.",
        )  # fmt: skip
    return policy.emptiness


def common_records(
    session: Conversation, own: OwnRecords, wishes: Wishes, watch: Watch
) -> tuple[Sequence[int], dict[str, int], list[tuple[Sequence[str], int]]]:
    """Which of our records all have, in the agreed order; how many each brought."""

    def work() -> Any:
        if wishes.aligned:
            found = align(session, own.ids)
        else:
            found = intersect(session, own.ids, most=wishes.most_ids, told=watch.rows)
        return found.order, dict(found.sizes), [*found.held_by.items()]

    order, sizes, held_by = session.step("common records", work)
    return order, sizes, held_by


def _smallest(session: Conversation, wishes: Wishes) -> int | None:
    """The fewest steps that any owner wants."""
    for owner in others(session):
        session.send(owner, Limit(wishes.max_steps))
    asked = [session.receive(owner, Limit).max_steps for owner in others(session)]
    return min((most for most in [wishes.max_steps, *asked] if most is not None), default=None)


def see_alone(
    policy: JointPolicy, own: OwnRecords, order: Sequence[int], reading: Reading | None
) -> tuple[Table, list[str]]:
    """Our common records and their ids, if they fit the policy as far as one owner can tell."""
    if not order:
        raise InputError(
            "the owners have no record in common", where=f'column "{policy.id}"',
            why="ids are compared as text, so 00123 and 123 are two.",
            do="see that all owners write the same ids in the same way, leading zeros included.",
        )  # fmt: skip
    table, ids = own.common(order), [own.ids[row] for row in order]
    fitted_part(policy, own.owner, table, {}, ids, reading)
    _refuse_infeasible(policy, table)
    return table, ids


def _refuse_infeasible(policy: JointPolicy, table: Table) -> None:
    """Say which promises even the most masked table breaks, as far as we can count."""
    broken = []
    for promise in policy.promises:
        value = _most_masked(policy, promise, table)
        if value is not None and not promise.kept_with(value):
            broken.append(promise.infeasible(value))
    if broken:
        raise Unsatisfiable(broken)


def _most_masked(policy: JointPolicy, promise: Promise, table: Table) -> int | Fraction | None:
    """The value of a promise while everything is masked; None if others hold what it counts."""
    if isinstance(promise, Anonymity):
        return table.rows
    shares = []
    for name in promise.sensitive:
        if name in table.columns:
            marks, _ = value_marks(_cleared(policy, table.columns[name]), promise.sensitive[name])
            counts = np.bincount(marks, minlength=2)
            shares.append(Fraction(int(counts[1:].max(initial=0)), table.rows))
    return max(shares, default=None)


def _cleared(policy: JointPolicy, column: Column) -> Column:
    from reticent.data.columns import without_missing

    return without_missing(column, policy.missing_values)


def shared_by(policy: JointPolicy) -> dict[str, list[str]]:
    """Who tells which columns before the search: the class, by its first owner, and sensitive."""
    roles = policy.joint_roles
    names = {*roles.sensitive, *filter(None, [roles.class_])}
    return _by_owner(policy, names)


def kept_by(policy: JointPolicy) -> dict[str, list[str]]:
    """Who tells which columns at the end."""
    return _by_owner(policy, {*policy.joint_roles.kept})


def _by_owner(policy: JointPolicy, names: set[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {owner: [] for owner in policy.owners}
    for name in policy.columns:
        if name in names:
            found[policy.owner_of(name)].append(name)
    return found


def _columns(
    session: Conversation,
    step: str,
    policy: JointPolicy,
    table: Table,
    by_owner: Mapping[str, Sequence[str]],
) -> dict[str, Column]:
    """Columns of others, told in one step; after a resume, as they were written down."""
    mine = [table.columns[name] for name in by_owner[session.me]]

    def work() -> list[tuple[str, list[str | None], bytes]]:
        heard = exchange_columns(session, mine, by_owner, table.rows)
        return [
            (name, column.texts(), column.codes.astype("<u4").tobytes())
            for name, column in heard.items()
        ]

    return {
        name: Column(
            name, np.frombuffer(codes, "<u4"), pa.array(values, pa.large_string()), numbered=False
        )
        for name, values, codes in session.step(step, work)
    }


def _labels(
    session: Conversation, policy: JointPolicy, search: Search, partitions: Sequence[Partition]
) -> dict[str, str]:
    """How the masked columns are shown of which nothing was revealed, of all owners."""
    revealed = {partition.column for partition in partitions}
    untouched = [name for name in policy.joint_roles.masked if name not in revealed]
    by_owner = _by_owner(policy, set(untouched))
    mine = {}
    for attribute, domain in enumerate(search.cuts.domains):
        if domain.name in untouched:
            [label] = search.cuts.by_record(attribute)[1]
            mine[domain.name] = label
    mine = {name: mine[name] for name in by_owner[session.me]}
    heard = session.step("labels", lambda: exchange_labels(session, mine, by_owner))
    found = {**mine, **heard}
    return {name: found[name] for name in untouched}


def _shown(search: Search, labels: Mapping[str, str]) -> dict[str, Column]:
    """Every masked column of the joint table, as it is shown."""
    cuts = search.cuts
    found: dict[str, tuple[Any, Sequence[str | None]]] = {
        domain.name: cuts.by_record(attribute) for attribute, domain in enumerate(cuts.domains)
    }
    for column in cuts.foreign:
        position, shown = column.by_record()
        found[column.name] = (position, [labels[column.name]] if shown == [None] else shown)
    return {
        name: Column(
            name,
            position.astype(np.uint32),
            pa.array([None if text == MISSING else text for text in shown], pa.large_string()),
            numbered=False,
        )
        for name, (position, shown) in found.items()
    }
