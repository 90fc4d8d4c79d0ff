"""Frames in memory and over TLS on the loopback: order, bounds, cuts, and why nobody answers."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.x509.oid import NameOID

from parties_net_at_hand import HASTE, NetScene, expired, frames, free_ports, taken_up
from reticent.errors import InputError
from reticent.parties import identity as identities
from reticent.parties.channel import LARGEST_FRAME, Arrival, MemoryHub, Trouble
from reticent.parties.identity import Identity, PeerCertificate, make
from reticent.parties.tcp import Peer, TcpChannel

# Who is hung up on while it shakes hands leaves a half-made transport of asyncio to the collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def test_frames_in_memory_wait_for_a_link_to_be_taken_up() -> None:
    hub = MemoryHub(("bank", "card"))
    bank = hub.channel("bank")
    assert bank.trouble("card") == Trouble("it is not there")
    assert not bank.send("card", b"too early")
    card = hub.channel("card")
    assert bank.receive(0) == Arrival("card", kind="open")
    assert not bank.send("card", b"not taken up")
    bank.take_up("card")
    assert bank.send("card", b"one")
    assert bank.send("card", b"two")
    assert card.receive(0) == Arrival("bank", kind="open")
    assert [card.receive(0), card.receive(1)] == [Arrival("bank", b"one"), Arrival("bank", b"two")]
    assert card.receive(0) is None
    hub.cut("bank", "card")
    assert bank.trouble("card") == Trouble("the connection was lost")
    assert not bank.send("card", b"lost")
    hub.join("bank", "card")
    assert not bank.send("card", b"not taken up again")
    assert bank.receive(0) == Arrival("card", kind="open")
    card.close()
    assert bank.trouble("card") == Trouble("it is not there")
    with pytest.raises(InputError, match="no owner shop"):
        hub.channel("shop")


@contextmanager
def both(scene: NetScene) -> Iterator[tuple[TcpChannel, TcpChannel]]:
    bank, card = scene.channel("bank"), scene.channel("card")
    try:
        taken_up(bank, "card")
        taken_up(card, "bank")
        yield bank, card
    finally:
        bank.close()
        card.close()


def until(true: Callable[[], bool], seconds: float = 5) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.01)


@pytest.mark.net
def test_frames_of_all_sizes_come_in_order(tmp_path: Path) -> None:
    with both(NetScene(tmp_path)) as (bank, card):
        sizes = [1, 2, 100, 16_384, 16_385, 1_000_000, LARGEST_FRAME, 1]
        for size in sizes:
            assert bank.send("card", bytes([size % 251]) * size)
        heard = frames(card)
        for size in sizes:
            assert next(heard) == bytes([size % 251]) * size
        assert bank.trouble("card") is None
        for frame in (b"", bytes(LARGEST_FRAME + 1)):
            with pytest.raises(ValueError, match="1 to 8,388,608 bytes"):
                bank.send("card", frame)


@pytest.mark.net
def test_last_words_are_delivered(tmp_path: Path) -> None:
    with both(NetScene(tmp_path)) as (bank, card):
        for number in range(100):
            bank.send("card", bytes([number]) * 10_000)
        bank.close()
        heard = frames(card)
        assert [next(heard)[0] for _ in range(100)] == list(range(100))


@pytest.mark.net
def test_a_reader_that_takes_nothing_holds_the_sender_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reticent.parties.connections._MOST_WAITING", 1_000_000)
    scene = NetScene(tmp_path)
    with both(scene) as (bank, card):
        sent = 0
        while sent < 400 and bank.send("card", sent.to_bytes(4) + bytes(100_000)):
            sent += 1
            if sent % 5 == 0:
                time.sleep(0.005)
        until(lambda: card.inbox._bytes > 900_000)
        assert (
            card.inbox._bytes < 2_500_000
        )  # the rest waits in buffers of the system, or is refused
        heard = frames(card)
        assert [int.from_bytes(next(heard)[:4]) for _ in range(5)] == list(range(5))


@pytest.mark.net
def test_a_peer_that_comes_later_is_reached(tmp_path: Path) -> None:
    scene = NetScene(tmp_path)
    bank = scene.channel("bank")
    until(lambda: "connection refused" in str(bank.trouble("card")))
    card = scene.channel("card")
    taken_up(bank, "card")
    assert bank.send("card", b"hello")
    assert next(frames(card)) == b"hello"
    card.close()
    until(lambda: bank.trouble("card") is not None)
    again = scene.channel("card")
    taken_up(bank, "card")
    assert bank.send("card", b"again")
    assert next(frames(again)) == b"again"
    again.close()
    bank.close()


def answered(channel: TcpChannel) -> bool:
    return "not answered yet" not in str(channel.trouble("card"))


@pytest.mark.net
def test_why_a_peer_cannot_be_reached(tmp_path: Path) -> None:
    bank = make("bank", tmp_path / "bank")
    card = make("card", tmp_path / "card").certificate
    (silent_port, closed_port) = free_ports(2)
    addresses = {
        "refused": (f"127.0.0.1:{closed_port}", "nobody listens at .* \\(connection refused\\)"),
        "unknown": ("no-such-host.invalid:7001", "there is no host no-such-host.invalid"),
        "silent": (f"127.0.0.1:{silent_port}", "does not answer"),
    }
    with socket.create_server(("127.0.0.1", silent_port)):
        for address, words in addresses.values():
            peers = {"card": Peer(address, card)}
            channel = TcpChannel(bank, "127.0.0.1:0", peers, HASTE)
            until(partial(answered, channel))
            trouble = channel.trouble("card")
            channel.close()
            assert trouble
            assert not trouble.hopeless
            with pytest.raises(AssertionError, match=words):
                raise AssertionError(trouble.what)


@pytest.mark.net
def test_what_answers_may_speak_something_else(tmp_path: Path) -> None:
    bank = make("bank", tmp_path / "bank")
    card = make("card", tmp_path / "card").certificate
    with socket.create_server(("127.0.0.1", 0)) as server:
        peers = {"card": Peer(f"127.0.0.1:{server.getsockname()[1]}", card)}
        channel = TcpChannel(bank, "127.0.0.1:0", peers, HASTE)
        connection, _ = server.accept()
        connection.sendall(b"SSH-2.0-OpenSSH_9.6\r\n")
        until(lambda: "does not speak TLS 1.3" in str(channel.trouble("card")))
        connection.close()
        channel.close()


@pytest.mark.net
def test_a_wrong_certificate_is_told_on_both_sides(tmp_path: Path) -> None:
    scene = NetScene(tmp_path)
    other = make("card", tmp_path / "intruder")  # the same name says nothing
    bank = scene.channel("bank")
    listen = f"127.0.0.1:{scene.ports['card']}"
    intruder = TcpChannel(other, listen, scene.peers("card"), HASTE)
    until(lambda: bool((found := bank.trouble("card")) and found.hopeless))
    until(lambda: bool((found := intruder.trouble("bank")) and found.hopeless))
    assert "shows another certificate than the one pinned for it" in str(bank.trouble("card"))
    assert "does not accept the certificate of this owner" in str(intruder.trouble("bank"))
    assert not bank.send("card", b"secret")
    assert intruder.receive(0) is None
    bank.close()
    intruder.close()


@pytest.mark.net
def test_an_expired_certificate_is_told_on_both_sides(tmp_path: Path) -> None:
    old = expired("card", tmp_path / "old")
    scene = NetScene(tmp_path, identities={"card": old})
    bank, card = scene.channel("bank"), scene.channel("card")
    until(lambda: bool((found := bank.trouble("card")) and found.hopeless))
    until(lambda: bool((found := card.trouble("bank")) and found.hopeless))
    assert f"its certificate has expired on {old.certificate.until:%Y-%m-%d}" in str(
        bank.trouble("card")
    )
    assert "the certificate of this owner has expired" in str(card.trouble("bank"))
    bank.close()
    card.close()


@pytest.mark.net
def test_who_shows_no_certificate_gets_no_greeting(tmp_path: Path) -> None:
    scene = NetScene(tmp_path)
    bank = scene.channel("bank")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with (
        socket.create_connection(("127.0.0.1", scene.ports["bank"])) as plain,
        context.wrap_socket(plain) as secure,
        pytest.raises(ssl.SSLError, match="CERTIFICATE_REQUIRED"),
    ):
        secure.recv(100)
    bank.close()


def test_an_older_tls_is_refused_whoever_speaks_it(tmp_path: Path) -> None:
    scene = NetScene(tmp_path)
    bank = scene.channel("bank")
    old = scene.identities["card"].dialling(scene.identities["bank"].certificate)
    old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_2
    with (
        socket.create_connection(("127.0.0.1", scene.ports["bank"])) as plain,
        pytest.raises(ssl.SSLError, match="PROTOCOL_VERSION"),
    ):
        old.wrap_socket(plain)
    bank.close()
    for context in (old, bank._contexts["card"]):
        assert context.verify_mode is ssl.CERT_REQUIRED
    assert bank._contexts["card"].minimum_version is ssl.TLSVersion.TLSv1_3


def test_only_the_pinned_certificate_itself_is_a_peer(tmp_path: Path) -> None:
    """One that the pinned key has signed is trusted by TLS, where that key may sign; not by us."""
    scene = NetScene(tmp_path)
    signing, other = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    pin = signed("card", signing, signing, ca=True)
    child = signed("card", other, signing, ca=False)
    der = pin.public_bytes(serialization.Encoding.DER)
    pinned = PeerCertificate("card", der, pin.not_valid_after_utc, signing.public_key())
    with pytest.raises(InputError, match="not made by"):
        PeerCertificate.of(pin, "here")
    folder = tmp_path / "child"
    folder.mkdir()
    identities._write(folder / "key.pem", identities._pem(other), 0o600)
    pem = child.public_bytes(serialization.Encoding.PEM)
    identities._write(folder / "certificate.pem", pem, 0o644)
    mallory = Identity(
        folder, other, replace(pinned, der=child.public_bytes(serialization.Encoding.DER))
    )
    bank = TcpChannel(
        scene.identities["bank"], f"127.0.0.1:{scene.ports['bank']}",
        {"card": Peer(f"127.0.0.1:{scene.ports['card']}", pinned)}, HASTE,
    )  # fmt: skip
    listening = TcpChannel(
        mallory, f"127.0.0.1:{scene.ports['card']}",
        {"bank": Peer(f"127.0.0.1:{scene.ports['bank']}", scene.identities["bank"].certificate)},
        HASTE,
    )  # fmt: skip
    try:
        until(lambda: (found := bank.trouble("card")) is not None and found.hopeless)
        trouble = bank.trouble("card")
        assert trouble is not None
        assert "another certificate" in trouble.what
        assert listening.trouble("bank") is not None  # it was not greeted
        assert listening.receive(0.2) is None
    finally:
        listening.close()
        bank.close()


def signed(
    name: str, key: Ed25519PrivateKey, by: Ed25519PrivateKey, *, ca: bool
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "card")])
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder(issuer, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        .sign(by, None)
    )


@contextmanager
def raw(scene: NetScene, name: str = "card", to: str = "bank") -> Iterator[ssl.SSLSocket]:
    """A peer with the right certificate that sends what it likes."""
    context = scene.identities[name].dialling(scene.identities[to].certificate)
    with (
        socket.create_connection(("127.0.0.1", scene.ports[to])) as plain,
        context.wrap_socket(plain) as secure,
    ):
        secure.settimeout(5)
        assert secure.recv(100) == b"reticent 1"
        yield secure


@pytest.mark.net
@pytest.mark.parametrize("header", [b"\0\0\0\0", b"\0\x80\0\1", b"\xff\xff\xff\xff", b"GET "])
def test_an_oversized_frame_is_a_fault_before_it_is_read(tmp_path: Path, header: bytes) -> None:
    scene = NetScene(tmp_path)
    bank = scene.channel("bank")
    with raw(scene) as card:
        card.sendall((5).to_bytes(4) + b"hello" + header)
        assert bank.receive(5) == Arrival("card", b"hello")
        fault = bank.receive(5)
        assert fault
        assert (fault.peer, fault.kind) == ("card", "fault")
        assert "8,388,608 are allowed" in fault.why
        with pytest.raises((ssl.SSLError, ConnectionError, AssertionError)):
            assert card.recv(1)
    bank.close()


@pytest.mark.net
@pytest.mark.parametrize("ends", [True, False])
def test_a_frame_that_is_begun_and_not_ended_ends_its_connection(
    tmp_path: Path, ends: bool
) -> None:
    """Truncated, or so slow that nobody waits: the next connection starts with a whole frame."""
    scene = NetScene(tmp_path)
    bank = scene.channel("bank")
    with raw(scene) as card:
        card.sendall((500).to_bytes(4) + b"half")
        if not ends:
            with pytest.raises((ssl.SSLError, ConnectionError, AssertionError)):
                assert card.recv(1)
    with raw(scene) as card:
        card.sendall((5).to_bytes(4) + b"whole")
        assert bank.receive(5) == Arrival("card", b"whole")
    bank.close()


@pytest.mark.net
def test_a_second_connection_of_a_peer_ends_the_first(tmp_path: Path) -> None:
    scene = NetScene(tmp_path)
    bank = scene.channel("bank")
    with raw(scene) as first, raw(scene) as second:
        with pytest.raises((ssl.SSLError, ConnectionError, AssertionError)):
            assert first.recv(1)
        second.sendall((3).to_bytes(4) + b"two")
        assert bank.receive(5) == Arrival("card", b"two")
    bank.close()


@pytest.mark.net
def test_settings_that_cannot_work_are_refused(tmp_path: Path) -> None:
    scene = NetScene(tmp_path)
    bank = scene.channel("bank")
    with pytest.raises(InputError, match="cannot listen there"):
        scene.channel("bank")
    own = scene.identities["bank"].certificate
    with pytest.raises(InputError, match="card and this owner have the same certificate"):
        TcpChannel(scene.identities["bank"], "127.0.0.1:0", {"card": Peer("127.0.0.1:1", own)})
    for address in ("127.0.0.1", ":7001", "host:port", "host:70000"):
        with pytest.raises(InputError, match="is no address"):
            TcpChannel(scene.identities["bank"], address, {})
    bank.close()
