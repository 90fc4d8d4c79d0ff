"""All owners in one process, each a thread: for experiments, and for tests of the conversation.

Nothing is left out: ids are intersected and keys compared under encryption, and every message is
made into bytes, numbered, written into a transcript and acknowledged, as between machines.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from reticent.errors import InputError, PartyError
from reticent.files.tabular import Reading, frame_kind, to_frame
from reticent.joint.flow import JointTable, Wishes, joint_table
from reticent.joint.owner import own_records
from reticent.joint.policy import JointPolicy
from reticent.joint.publishing import recounted
from reticent.joint.report import JointRelease
from reticent.parties.channel import MemoryHub
from reticent.parties.session import Deadlines, Session
from reticent.parties.state import State
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
    hub = MemoryHub(tuple(policy.owners))
    with tempfile.TemporaryDirectory(prefix="reticent-") as folder:

        def play(owner: str) -> JointTable:
            state = State.begin(
                Path(folder) / f"{owner}.run", run_name="experiment", me=owner,
                owners=tuple(policy.owners), policy=policy.digest,
            )  # fmt: skip
            reading = (readings or {}).get(owner)
            session = Session(
                hub.channel(owner), state, deadlines=deadlines or Deadlines(),
                offers=policy.handed_over(owner),
            )  # fmt: skip
            with session:
                flow = partial(
                    joint_table, policy=policy, own=own[owner], reading=reading,
                    clock=Clock(Watch()), wishes=(wishes or {}).get(owner, Wishes()),
                )  # fmt: skip
                return session.run(flow)

        with ThreadPoolExecutor(len(data)) as pool:
            running = {owner: pool.submit(play, owner) for owner in policy.owners}
            failures = [f.exception() for f in running.values()]
    # Whoever failed first told the others, who say so: the cause is worth more.
    told = [error for error in failures if error is not None]
    if told:
        raise next((e for e in told if not isinstance(e, PartyError)), told[0])
    return {owner: future.result() for owner, future in running.items()}
