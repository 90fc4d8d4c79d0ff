"""Keys and certificates: made, read back, and refused for the reason that holds."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from parties_net_at_hand import expired
from reticent.errors import InputError
from reticent.parties.identity import Identity, PeerCertificate, fingerprint, make


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("identities") / "bank"
    make("bank", folder)
    return folder


def test_an_identity_is_made_and_read_back(bank: Path) -> None:
    identity = Identity.load(bank)
    assert identity.name == "bank"
    assert (bank / "key.pem").stat().st_mode & 0o777 == 0o600
    valid = identity.certificate.until - datetime.now(UTC)
    assert timedelta(days=729) < valid <= timedelta(days=730)
    assert PeerCertificate.load(bank / "certificate.pem") == identity.certificate
    groups = identity.certificate.fingerprint.split(" ")
    assert [len(group) for group in groups] == [4] * 16
    assert identity.certificate.fingerprint == fingerprint(identity.certificate.der)


def test_the_days_of_a_certificate_can_be_chosen(tmp_path: Path) -> None:
    identity = make("bank", tmp_path / "bank", days=7)
    assert timedelta(days=6) < identity.certificate.until - datetime.now(UTC) <= timedelta(days=7)
    for days in (0, 40_000):
        with pytest.raises(InputError, match="1 to 36,500 days"):
            make("bank", tmp_path / "other", days=days)


@pytest.mark.parametrize("name", ["", "x" * 65, "two\nlines", "\x1b[2J"])
def test_a_name_must_be_one(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="the name of an owner"):
        make(name, tmp_path / "bank")


def test_an_identity_is_never_overwritten(bank: Path) -> None:
    before = (bank / "key.pem").read_bytes()
    with pytest.raises(InputError, match="exists already"):
        make("bank", bank)
    assert (bank / "key.pem").read_bytes() == before


def test_an_identity_appears_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("reticent.parties.identity._pem", broken)
    with pytest.raises(InputError, match="No space left"):
        make("bank", tmp_path / "bank")
    assert list(tmp_path.iterdir()) == []


def copy(bank: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(bank, tmp_path / "copy"))


def test_a_missing_or_broken_identity_is_told(bank: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such key"):
        Identity.load(tmp_path / "nowhere")
    folder = copy(bank, tmp_path)
    (folder / "key.pem").write_bytes(b"no key")
    with pytest.raises(InputError, match="no Ed25519 key without a password"):
        Identity.load(folder)
    (folder / "key.pem").write_bytes((bank / "key.pem").read_bytes())
    (folder / "certificate.pem").write_bytes(b"no certificate")
    with pytest.raises(InputError, match="no certificate in PEM form"):
        Identity.load(folder)
    (folder / "certificate.pem").unlink()
    with pytest.raises(InputError, match="there is no such certificate"):
        Identity.load(folder)
    (folder / "certificate.pem").write_bytes(bytes(100_000))
    with pytest.raises(InputError, match="too long to be a certificate"):
        Identity.load(folder)


def test_a_key_with_a_password_is_refused(bank: Path, tmp_path: Path) -> None:
    folder = copy(bank, tmp_path)
    secret = serialization.BestAvailableEncryption(b"secret")
    encoding, kind = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    key = Ed25519PrivateKey.generate().private_bytes(encoding, kind, secret)
    (folder / "key.pem").write_bytes(key)
    with pytest.raises(InputError, match="without a password"):
        Identity.load(folder)


def test_a_key_that_others_may_read_is_refused(bank: Path, tmp_path: Path) -> None:
    folder = copy(bank, tmp_path)
    (folder / "key.pem").chmod(0o640)
    with pytest.raises(InputError, match="chmod 600") as caught:
        Identity.load(folder)
    assert "PRIVATE" not in str(caught.value)


def test_key_and_certificate_must_belong_together(bank: Path, tmp_path: Path) -> None:
    folder = copy(bank, tmp_path)
    make("card", tmp_path / "card")
    shutil.copy(tmp_path / "card" / "certificate.pem", folder / "certificate.pem")
    with pytest.raises(InputError, match="do not belong together"):
        Identity.load(folder)


def test_an_expired_identity_is_refused_and_an_expired_peer_is_read(tmp_path: Path) -> None:
    identity = expired("bank", tmp_path / "bank")
    with pytest.raises(InputError, match="the certificate has expired on 20"):
        Identity.load(tmp_path / "bank")
    assert PeerCertificate.load(tmp_path / "bank" / "certificate.pem") == identity.certificate


def test_a_file_of_several_certificates_is_refused(bank: Path, tmp_path: Path) -> None:
    text = (bank / "certificate.pem").read_bytes()
    (tmp_path / "two.pem").write_bytes(text + text)
    with pytest.raises(InputError, match="holds 2 certificates"):
        PeerCertificate.load(tmp_path / "two.pem")
