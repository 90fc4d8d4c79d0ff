"""What `party check` says: who can be reached, both ways, and whether all want the same."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass

from reticent.errors import InputError, few
from reticent.parties.identity import Identity, PeerCertificate
from reticent.parties.messages import PROTOCOL, Hello, printable, short
from reticent.parties.rollcall import Presence, roll_call
from reticent.parties.settings import Agreement, PartySettings
from reticent.parties.tcp import Peer, TcpChannel, names_by_digest, place_of
from reticent.version import __version__

_CLOCKS_DIFFER = 300  # seconds, from which on people should look at them


@dataclass(frozen=True, slots=True)
class RollCall:
    """What one owner found out about all others."""

    mine: Hello
    fingerprint: str  # of our own certificate
    pinned: Mapping[str, str]  # fingerprints by peer
    present: Mapping[str, Presence]
    agreement: Agreement

    @property
    def good(self) -> bool:
        """Whether a run could begin."""
        return all(map(_is_good, self.present.values()))

    def facts(self) -> dict[str, object]:
        """For programs."""
        offers = self.agreement.offers
        return {
            "owner": self.mine.sender,
            "fingerprint": self.fingerprint,
            "run": self.mine.run_name,
            "policy": self.mine.policy.hex(),
            "hands_over": {owner: dict(offered) for owner, offered in offers.items()},
            "peers": [self._facts_of(name) for name in self.present],
        }

    def _facts_of(self, name: str) -> dict[str, object]:
        peer = self.present[name]
        return {
            "owner": name,
            "good": _is_good(peer),
            "fingerprint": self.pinned[name],
            "reached": peer.reached,
            "reached_us": peer.hello is not None,
            "problems": [*filter(None, [peer.trouble and peer.trouble.what, peer.differs])],
            "version": printable(peer.hello.product) if peer.hello else None,
            "clock_ahead": round(peer.ahead, 1) if peer.hello else None,
        }

    def text(self) -> str:
        """For people."""
        lines = [
            f'This owner: {self.mine.sender}, run "{self.mine.run_name}", '
            f"version {self.mine.product}, policy {short(self.mine.policy)} …",
            f"  fingerprint {self.fingerprint}",
        ]
        for name in self.present:
            lines += ["", *self._lines_of(name)]
        lines += ["", f"What each owner hands over, {self.agreement.of_whom}:"]
        for owner, offered in self.agreement.offers.items():
            said = "; ".join(f"{words}: {few(names)}" for words, names in offered.items())
            lines.append(f"  {owner}: {said}")
        lines.append(self.agreement.between)
        return "\n".join(lines)

    def _lines_of(self, name: str) -> list[str]:
        peer = self.present[name]
        trouble = peer.trouble.what if peer.trouble else "it does not answer"
        called = "it has reached us" if peer.hello else "it has not reached us"
        lines = [
            f"{name}: {'ready' if _is_good(peer) else 'NOT READY'}",
            f"  fingerprint {self.pinned[name]}",
            f"  from here: {'reached' if peer.reached else trouble}; from there: {called}",
        ]
        if peer.trouble and peer.trouble.do:
            lines.append(f"  Do:  {peer.trouble.do}")
        if peer.hello:
            version, policy = printable(peer.hello.product), short(peer.hello.policy)
            lines.append(f"  version {version}, policy {policy} …")
        if peer.differs:
            lines.append(f"  {peer.differs}")
        if peer.do:
            lines.append(f"  Do:  {peer.do}")
        if abs(peer.ahead) >= _CLOCKS_DIFFER:
            way = "ahead of" if peer.ahead > 0 else "behind"
            lines.append(f"  Warning: its clock is {abs(peer.ahead):,.0f} seconds {way} ours.")
        return lines


def _is_good(peer: Presence) -> bool:
    return bool(peer.reached and peer.hello and not peer.differs)


def call_roll(settings: PartySettings, agreement: Agreement) -> RollCall:
    """Greet all peers, and wait for their greetings until all are known or the time is out."""
    settings.refuse_unlike(agreement)
    identity, peers = parties_of(settings)
    offers = {words: list(names) for words, names in agreement.offers[settings.owner].items()}
    mine = Hello(
        protocol=PROTOCOL, product=__version__, purpose="check", sender=settings.owner,
        run_name=settings.run_title, policy=agreement.digest, nonce=secrets.token_bytes(32),
        epoch=0, resumes=False, finished=0, clock=time.time(), offers=offers,
    )  # fmt: skip
    channel = TcpChannel(identity, settings.listen, peers)
    try:
        present = roll_call(channel, mine, tuple(peers), settings.meet_timeout)
    finally:
        channel.close()
    pinned = {name: peer.certificate.fingerprint for name, peer in peers.items()}
    return RollCall(mine, identity.certificate.fingerprint, pinned, present, agreement)


def parties_of(settings: PartySettings) -> tuple[Identity, dict[str, Peer]]:
    """Who we are and who the peers are, as the settings say; what they say wrong names the file."""
    _see_address(settings.listen, f"{settings.name}, listen")
    identity = Identity.load(settings.path(settings.identity))
    peers, files = {}, {}
    for name, peer in settings.peers.items():
        _see_address(peer.address, f"{settings.name}, [peers.{name}], address")
        files[name] = str(settings.path(peer.certificate))
        certificate = PeerCertificate.load(settings.path(peer.certificate))
        peers[name] = Peer(peer.address, certificate)
    names_by_digest(identity, peers, f"{settings.name}, ", files)
    return identity, peers


def _see_address(address: str, where: str) -> None:
    """Refuse what is no address, or one that leaves the port to the system."""
    _, port = place_of(address, where)
    if not port:
        raise InputError(
            f'"{address}" names no port', where=where,
            why="at 0 the system would choose one, and nobody else knew it.",
            do='write a port from 1 to 65535, as "0.0.0.0:7001".',
        )  # fmt: skip
