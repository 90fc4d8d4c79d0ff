"""One owner as a process of its own: `python parties_owner.py '{...}'`; what it is told is `Told`.

It prints a line for every round, and at last what it ended with, as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from parties_at_hand import POLICY, Bent, one_round
from reticent.errors import ReticentError
from reticent.parties.connections import Patience
from reticent.parties.identity import Identity, PeerCertificate
from reticent.parties.session import Deadlines, Session
from reticent.parties.state import State
from reticent.parties.tcp import Peer, TcpChannel


@dataclass
class Owner:
    """All that such a process is told."""

    name: str
    folder: str  # with NAME-identity of everybody, and the state
    listen: str
    addresses: dict[str, str]  # of everybody, in the order of the policy
    rounds: int = 2
    resumes: bool = False
    die_before: int = -1
    deadlines: dict[str, float] = field(default_factory=dict)
    unheard: float = 2.0

    @property
    def peers(self) -> dict[str, Peer]:
        return {
            name: Peer(address, PeerCertificate.load(self.identity(name) / "certificate.pem"))
            for name, address in self.addresses.items()
            if name != self.name
        }

    def identity(self, name: str) -> Path:
        return Path(self.folder) / f"{name}-identity"

    def flow(self, session: Session) -> list[int]:
        return [self.round(session, number) for number in range(1, self.rounds + 1)]

    def round(self, session: Session, number: int) -> int:
        found = session.step(f"round {number}: sum", partial(one_round, session, number))
        print(f"round {number}", flush=True)  # noqa: T201
        return found

    def play(self) -> list[int]:
        patience = Patience(call=1.0, unheard=self.unheard)
        channel = TcpChannel(
            Identity.load(self.identity(self.name)), self.listen, self.peers, patience
        )
        make = State.resume if self.resumes else State.begin
        state = make(
            Path(self.folder) / f"{self.name}.run", run_name="2026-11", me=self.name,
            owners=list(self.addresses), policy=POLICY,
        )  # fmt: skip
        bent = Dying(channel, die_before=self.die_before)
        deadlines = Deadlines(**self.deadlines)
        with Session(bent, state, deadlines=deadlines, resumes=self.resumes) as session:
            return session.run(self.flow)


class Dying(Bent):
    """It dies in earnest."""

    def die(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    try:
        end: dict[str, object] = {"result": Owner(**json.loads(sys.argv[1])).play()}
    except ReticentError as error:
        end = {"error": str(error), "code": error.exit_code}
    print(json.dumps(end), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
