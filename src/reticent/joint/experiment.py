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

from reticent.errors import InputError
from reticent.files.tabular import Reading, frame_kind, to_frame
from reticent.joint.flow import JointTable, Wishes, joint_table
from reticent.joint.owner import own_records
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
    wishes = {owner: Wishes(max_steps=max_steps) for owner in data}
    found = together(JointPolicy.of(policy), data, wishes=wishes, readings=readings)
    return {owner: _handed_back(recounted(joint), data[owner]) for owner, joint in found.items()}


def _handed_back(release: JointRelease, data: Any) -> JointRelease:
    kind = None if isinstance(data, str | Path) else frame_kind(data)
    return release if kind is None else replace(release, frame=to_frame(release.table, data, kind))


def together(
    policy: JointPolicy,
    data: Mapping[str, Any],
    *,
    wishes: Mapping[str, Wishes] | None = None,
    readings: Mapping[str, Reading] | None = None,
    deadlines: Deadlines | None = None,
) -> dict[str, JointTable]:
    """Let all owners talk; the joint table as each of them has it."""
    if {*data} != {*policy.owners}:
        raise InputError(
            f"there must be data of each owner: {', '.join(policy.owners)}", where=policy.name
        )
    # What one owner cannot read keeps nobody waiting.
    own = {
        owner: own_records(data[owner], policy, owner, (readings or {}).get(owner))
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
