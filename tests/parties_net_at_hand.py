"""Owners with real certificates on real sockets."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from parties_at_hand import Scene
from reticent.parties import identity as identities
from reticent.parties.connections import Patience
from reticent.parties.identity import Identity, PeerCertificate
from reticent.parties.tcp import Peer, TcpChannel

HASTE = Patience(call=1.0, frame=0.3, unheard=2.0, close=1.0)


def expired(name: str, folder: Path) -> Identity:
    """An identity whose certificate ended yesterday."""
    key = Ed25519PrivateKey.generate()
    begin = datetime.now(UTC) - timedelta(days=10)
    certificate = identities._self_signed(name, key, begin, timedelta(days=9))
    folder.mkdir()
    identities._write(folder / "key.pem", identities._pem(key), 0o600)
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    identities._write(folder / "certificate.pem", pem, 0o644)
    return Identity(folder, key, PeerCertificate.of(certificate, "here"))


def free_ports(count: int) -> list[int]:
    """Ports of the loopback that nobody uses now."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]


@dataclass
class NetScene(Scene):
    """The same owners over TLS on the loopback."""

    patience: Patience = HASTE
    identities: dict[str, Identity] = field(default_factory=dict)
    ports: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.owners:
            if name not in self.identities:
                self.identities[name] = identities.make(name, self.folder / f"{name}-identity")
        self.ports = dict(zip(self.owners, free_ports(len(self.owners)), strict=True))

    def peers(self, name: str) -> dict[str, Peer]:
        return {
            other: Peer(f"127.0.0.1:{self.ports[other]}", self.identities[other].certificate)
            for other in self.owners
            if other != name
        }

    def channel(self, name: str) -> TcpChannel:
        listen = f"127.0.0.1:{self.ports[name]}"
        return TcpChannel(self.identities[name], listen, self.peers(name), self.patience)


def taken_up(channel: TcpChannel, *peers: str) -> None:
    """Wait until all links of a channel are open, and take them up."""
    for _ in peers:
        arrival = channel.receive(5)
        assert arrival
        assert arrival.kind == "open"
        channel.take_up(arrival.peer)


def frames(channel: TcpChannel, timeout: float = 5) -> Iterator[bytes]:
    """What arrives, links that open again taken up on the way."""
    while arrival := channel.receive(timeout):
        if arrival.kind == "open":
            channel.take_up(arrival.peer)
        elif arrival.kind == "frame":
            yield arrival.frame
