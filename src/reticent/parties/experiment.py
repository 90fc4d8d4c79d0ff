"""All owners in one process, each a thread: for experiments, and for tests of conversations.

Nothing is left out: every message is made into bytes, numbered, written into a transcript and
acknowledged, as between machines.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from reticent.errors import PartyError
from reticent.parties.channel import MemoryHub
from reticent.parties.session import Deadlines, Session
from reticent.parties.settings import Agreement
from reticent.parties.state import State

R = TypeVar("R")


def play_together(
    agreement: Agreement,
    flows: Mapping[str, Callable[[Session], R]],
    *,
    deadlines: Deadlines | None = None,
    folder: Path | None = None,
) -> dict[str, R]:
    """Let all owners talk, each by its flow; what each comes to, or the first one's error.

    `folder`: where their state stays, transcripts among it, instead of being removed.
    """
    hub = MemoryHub(agreement.owners)
    with tempfile.TemporaryDirectory(prefix="reticent-") as temporary:

        def play(owner: str) -> R:
            state = State.begin(
                (folder or Path(temporary)) / f"{owner}.run", run_name="experiment", me=owner,
                owners=agreement.owners, policy=agreement.digest,
            )  # fmt: skip
            session = Session(
                hub.channel(owner), state, deadlines=deadlines or Deadlines(),
                offers=agreement.offers[owner],
            )  # fmt: skip
            with session:
                return session.run(flows[owner])

        with ThreadPoolExecutor(len(agreement.owners)) as pool:
            running = {owner: pool.submit(play, owner) for owner in agreement.owners}
            failures = [future.exception() for future in running.values()]
    # Whoever failed first told the others, who say so: the cause is worth more.
    told = [error for error in failures if error is not None]
    if told:
        raise next((error for error in told if not isinstance(error, PartyError)), told[0])
    return {owner: future.result() for owner, future in running.items()}
