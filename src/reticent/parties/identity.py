"""Who an owner is: a key, a certificate it signed itself, and those of its peers, pinned.

There is no authority and no host name to trust. Owners hand each other their certificates by a way
they trust, or read the fingerprints aloud; a connection counts when the other side shows exactly
such a certificate and proves to hold its key (TLS 1.3, on both sides).
"""

from __future__ import annotations

import hashlib
import os
import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from reticent.errors import InputError
from reticent.files.output import whole_folder
from reticent.parties.settings import unfit_name

KEY, CERTIFICATE = "key.pem", "certificate.pem"
_LARGEST = 64 * 1024  # bytes of a certificate or key file; ours have less than a thousand
_EARLIER = timedelta(hours=1)  # clocks of two owners differ a little


def make(name: str, folder: Path, days: int = 730) -> Identity:
    """Make a key and a certificate for an owner, in a new folder that appears whole."""
    if why := unfit_name(name):
        raise InputError(why, where=repr(name[:64]))
    if not 1 <= days <= 36_500:
        raise InputError("a certificate can be valid for 1 to 36,500 days", where=f"days = {days}")
    if folder.exists():
        raise InputError(
            "the folder exists already", where=str(folder),
            why="a key that is replaced is lost, and peers know its certificate.",
            do="choose another name, or remove the folder yourself.",
        )  # fmt: skip
    key = Ed25519PrivateKey.generate()
    certificate = _self_signed(name, key, datetime.now(UTC) - _EARLIER, timedelta(days=days))
    with whole_folder(folder, force=False) as place:
        _write(place / KEY, _pem(key), 0o600)
        _write(place / CERTIFICATE, certificate.public_bytes(serialization.Encoding.PEM), 0o644)
    return Identity.load(folder)


def _self_signed(
    name: str, key: Ed25519PrivateKey, begin: datetime, valid: timedelta
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    return (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + _EARLIER + valid)
        # It vouches for nobody else: a certificate signed with a peer's key is not that peer.
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage(both), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, None)
    )


def _pem(key: Ed25519PrivateKey) -> bytes:
    encoding, kind = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return key.private_bytes(encoding, kind, serialization.NoEncryption())


def _write(path: Path, content: bytes, mode: int) -> None:
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode), "wb") as file:
        file.write(content)


def fingerprint(certificate: bytes) -> str:
    """The SHA-256 of a certificate (DER), in groups as people read them aloud.

    >>> fingerprint(b"abc")[:24]
    'BA78 16BF 8F01 CFEA 4141'
    """
    digits = hashlib.sha256(certificate).hexdigest().upper()
    return " ".join(digits[start : start + 4] for start in range(0, 64, 4))


@dataclass(frozen=True, slots=True)
class PeerCertificate:
    """The certificate of an owner, as others know it."""

    name: str  # the subject's; what counts is whose certificate the settings say it is
    der: bytes
    until: datetime
    public_key: Ed25519PublicKey

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read one certificate; an expired one is read too, and fails where it is used."""
        try:
            found = x509.load_pem_x509_certificates(_read(path, "certificate"))
        except ValueError:
            raise InputError(
                "this is no certificate in PEM form", where=str(path),
                do=f"ask the peer for its {CERTIFICATE}.",
            ) from None  # fmt: skip
        if len(found) != 1:
            raise InputError(
                f"the file holds {len(found)} certificates", where=str(path), why="a peer has one.",
                do=f"ask the peer for its {CERTIFICATE} alone.",
            )  # fmt: skip
        return cls.of(found[0], str(path))

    @classmethod
    def of(cls, certificate: x509.Certificate, where: str) -> Self:
        """Take a parsed certificate, if it is one that `make` could have made."""
        key = certificate.public_key()
        names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        try:
            certificate.verify_directly_issued_by(certificate)
        except (InvalidSignature, ValueError, TypeError):
            names = []
        if not isinstance(key, Ed25519PublicKey) or len(names) != 1 or _vouches(certificate):
            raise InputError(
                "this certificate was not made by `reticent party init`", where=where,
                why="owners know each other by self-signed certificates with Ed25519 keys.",
                do=f"ask the peer for its {CERTIFICATE}.",
            )  # fmt: skip
        der = certificate.public_bytes(serialization.Encoding.DER)
        return cls(str(names[0].value), der, certificate.not_valid_after_utc, key)

    @property
    def digest(self) -> bytes:
        """What the presented certificate is compared by."""
        return hashlib.sha256(self.der).digest()

    @property
    def fingerprint(self) -> str:
        """The same, for people."""
        return fingerprint(self.der)


def _vouches(certificate: x509.Certificate) -> bool:
    """Whether a certificate could sign others: TLS would then trust those as well."""
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return True


@dataclass(frozen=True, slots=True)
class Identity:
    """The key and certificate of this owner."""

    folder: Path
    key: Ed25519PrivateKey
    certificate: PeerCertificate

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read both, and refuse what peers would refuse or others could have read."""
        again = "make a new one with `reticent party init` and give the certificate to the peers."
        path = folder / KEY
        content = _read(path, "key")
        if path.stat().st_mode & 0o077:
            raise InputError(
                "others on this machine may read the key", where=str(path),
                why="who has read it can speak in this owner's name.",
                do=f"if nobody has, `chmod 600 {path}`; else {again}",
            )  # fmt: skip
        try:
            key = serialization.load_pem_private_key(content, None)
        except (ValueError, TypeError):
            key = None
        if not isinstance(key, Ed25519PrivateKey):
            raise InputError("this is no Ed25519 key without a password", where=str(path), do=again)
        certificate = PeerCertificate.load(folder / CERTIFICATE)
        raw = (serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        if key.public_key().public_bytes(*raw) != certificate.public_key.public_bytes(*raw):
            raise InputError(
                f"{KEY} and {CERTIFICATE} do not belong together", where=str(folder), do=again
            )
        if certificate.until <= datetime.now(UTC):
            raise InputError(
                f"the certificate has expired on {certificate.until:%Y-%m-%d}",
                where=str(folder / CERTIFICATE), do=again,
            )  # fmt: skip
        return cls(folder, key, certificate)

    @property
    def name(self) -> str:
        """Whom the certificate names."""
        return self.certificate.name

    def sign(self, statement: bytes) -> bytes:
        """Sign something so that whoever has the certificate can tell."""
        return self.key.sign(statement)

    def dialling(self, peer: PeerCertificate) -> ssl.SSLContext:
        """How to call this one peer: it alone is trusted."""
        return self._context(ssl.PROTOCOL_TLS_CLIENT, [peer])

    def listening(self, peers: Iterable[PeerCertificate]) -> ssl.SSLContext:
        """How to be called by these peers; compare digests to know which one it is."""
        context = self._context(ssl.PROTOCOL_TLS_SERVER, peers)
        context.num_tickets = 0  # a resumed TLS session would show no certificate
        context.sslobject_class = _SaysWhy
        return context

    def _context(self, protocol: int, peers: Iterable[PeerCertificate]) -> ssl.SSLContext:
        context = ssl.SSLContext(protocol)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_cert_chain(self.folder / CERTIFICATE, self.folder / KEY)
        for peer in peers:
            context.load_verify_locations(cadata=peer.der)
        return context


class _SaysWhy(ssl.SSLObject):
    """A handshake that fails by telling the other side why.

    asyncio ends the connection at once when a handshake fails, and the alert that says "your
    certificate has expired" is never sent. Here the failure first looks like a wait for more, in
    which asyncio sends what there is to send; it is raised when the other side answers by hanging
    up, or at the latest when the time for the handshake is over.
    """

    _failure: ssl.SSLError | None = None

    def do_handshake(self) -> None:
        if self._failure:
            raise self._failure
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError as failure:
            self._failure = failure
            raise ssl.SSLWantReadError from None


def _read(path: Path, what: str) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except FileNotFoundError:
        raise InputError(
            f"there is no such {what}", where=str(path), do="give its place, or make it first."
        ) from None
    except OSError as error:
        raise InputError(f"cannot read the {what}: {error.strerror}", where=str(path)) from None
    if len(content) > _LARGEST:
        raise InputError(f"this is too long to be a {what}", where=str(path))
    return content
