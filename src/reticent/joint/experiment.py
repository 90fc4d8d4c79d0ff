"""All owners in one process, each a thread: for experiments, and for tests of the conversation.

Nothing is left out: ids are intersected and keys compared under encryption, and every message is
made into bytes, numbered, written into a transcript and acknowledged, as between machines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from reticent.errors import InputError, Problem, did_you_mean, refuse
from reticent.files.tabular import Reading, frame_kind, to_frame
from reticent.joint.flow import JointTable, Wishes, joint_table
from reticent.joint.owner import OwnRecords, own_records
from reticent.joint.policy import JointPolicy
from reticent.joint.publishing import recounted
from reticent.joint.report import JointRelease
from reticent.parties.experiment import play_together
from reticent.parties.session import Deadlines
from reticent.progress import Clock, Watch


def integrate(
    policy: JointPolicy | Mapping[str, Any] | str | Path,
    data: Mapping[str, Any],
    *,
    max_steps: int | None = None,
    readings: Mapping[str, Reading] | None = None,
) -> dict[str, JointRelease]:
    """Release together what lies with several owners, all of them in this process.

    `data`: the table of each owner, by name: files or data frames. The release as each owner has
    it; `table` holds the same in all of them, as the kind of data frame that the owner brought.
    """
    shared = JointPolicy.of(policy)
    _refuse_others(shared, data)
    wishes = {owner: Wishes(max_steps=max_steps) for owner in data}
    found = together(shared, data, wishes=wishes, readings=readings)
    return {owner: _handed_back(recounted(joint), data[owner]) for owner, joint in found.items()}


def _handed_back(release: JointRelease, data: Any) -> JointRelease:
    kind = None if isinstance(data, str | Path) else frame_kind(data)
    return release if kind is None else replace(release, frame=to_frame(release.table, data, kind))


def _refuse_others(policy: JointPolicy, data: Any) -> None:
    """Refuse data that are not of each owner once."""
    owners = ", ".join(f'"{name}": …' for name in policy.owners)
    if not isinstance(data, Mapping):
        raise InputError(
            f"data are the tables of all owners by name; what is given is a {type(data).__name__}",
            where="data", do=f"give  {{{owners}}}.",
        )  # fmt: skip
    refuse(
        Problem(
            f"there is no owner {name}", where=f"data, {policy.name}",
            do=did_you_mean(str(name), policy.owners) or f"give  {{{owners}}}.",
        )
        for name in data
        if name not in policy.owners
    )  # fmt: skip
    if {*data} != {*policy.owners}:
        raise InputError(
            f"there must be data of each owner: {', '.join(policy.owners)}", where=policy.name
        )


def _own_records(data: Any, policy: JointPolicy, owner: str, reading: Reading | None) -> OwnRecords:
    """What an owner brings; what is wrong with it says whose it is."""
    try:
        return own_records(data, policy, owner, reading)
    except InputError as error:
        raise InputError(
            replace(problem, where=f"{owner}: {problem.where}".removesuffix(": "))
            for problem in error.problems
        ) from None


def together(
    policy: JointPolicy,
    data: Mapping[str, Any],
    *,
    wishes: Mapping[str, Wishes] | None = None,
    readings: Mapping[str, Reading] | None = None,
    deadlines: Deadlines | None = None,
) -> dict[str, JointTable]:
    """Let all owners talk; the joint table as each of them has it."""
    _refuse_others(policy, data)
    # What one owner cannot read keeps nobody waiting.
    own = {
        owner: _own_records(data[owner], policy, owner, (readings or {}).get(owner))
        for owner in policy.owners
    }
    flows = {
        owner: partial(
            joint_table, policy=policy, own=own[owner], reading=(readings or {}).get(owner),
            clock=Clock(Watch()), wishes=(wishes or {}).get(owner, Wishes()),
        )
        for owner in policy.owners
    }  # fmt: skip
    return play_together(policy.agreement, flows, deadlines=deadlines)
