"""Everything that an owner sent and received, in order, so that nobody can say later it was other.

A folder of two files: `entries`, a chained file (see `chained`), and, once the run has ended,
`head.json`: how many entries there are, the last digest, and the owner's signature over both.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec
from cryptography.exceptions import InvalidSignature

from reticent.errors import InputError
from reticent.files.output import whole_file
from reticent.parties.chained import START, ChainedFile, DoesNotFollow, Extent, entries_of
from reticent.parties.identity import Identity, PeerCertificate

ENTRIES, HEAD = "entries", "head.json"


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """One frame on its way, or a note of the owner to itself."""

    direction: Literal["sent", "received", "note"]
    peer: str
    frame: bytes


_entry = msgspec.msgpack.Decoder(Entry)
_encoded = msgspec.msgpack.Encoder().encode


class Transcript:
    """The transcript of a run that is going on."""

    def __init__(self, folder: Path) -> None:
        """Open it, or begin one; a last entry torn by a kill is cut off and noted."""
        folder.mkdir(mode=0o700, exist_ok=True)
        self.folder = folder
        self._file = ChainedFile(folder / ENTRIES)
        if self._file.torn:
            self.append("note", "", b"an entry that was being written was cut off", sync=True)

    def __len__(self) -> int:
        return len(self._file)

    def append(
        self, direction: Literal["sent", "received", "note"], peer: str, frame: bytes,
        *, sync: bool = False,
    ) -> Extent:  # fmt: skip
        """Add an entry; without `sync` it is on the disk after the next one that is synced."""
        return self._file.append(_encoded(Entry(direction, peer, frame)), sync=sync)

    def sync(self) -> None:
        """See all entries to the disk: one wait for as many as there are."""
        self._file.sync()

    def frame(self, place: Extent) -> bytes:
        """The frame of an entry, read back."""
        return _entry.decode(self._file.read(place)).frame

    def sign(self, identity: Identity) -> None:
        """Close the transcript with a signed head."""
        self._file.sync()
        count, digest = len(self._file), self._file.digest
        head = {
            "entries": count,
            "digest": digest.hex(),
            "certificate": identity.certificate.fingerprint,
            "signature": identity.sign(_statement(count, digest)).hex(),
        }
        with whole_file(self.folder / HEAD, force=True, private=True) as path:
            path.write_text(json.dumps(head, indent=2) + "\n", encoding="utf-8")

    def close(self) -> None:
        """Sync and close the file."""
        self._file.close()


def _statement(count: int, digest: bytes) -> bytes:
    return b"reticent transcript\0" + count.to_bytes(8) + digest


@dataclass(frozen=True, slots=True)
class Fault:
    """The first entry that does not follow (0: the head), and what is wrong with it."""

    entry: int
    what: str


def entries_in(path: Path) -> Iterator[Entry]:
    """The entries of a file, as far as they follow each other; more may be being written."""
    with contextlib.suppress(DoesNotFollow):
        for _, content, _ in entries_of(path):
            yield _entry.decode(content)


def read(folder: Path, certificate: PeerCertificate) -> Iterator[Entry | Fault]:
    """Every entry of a transcript, checked against the chain and the signed head.

    The last thing given is a `Fault` if there is one; a reader that saw none has seen it all.
    """
    count, digest = 0, START
    try:
        for _, content, last_digest in entries_of(folder / ENTRIES):
            count, digest = count + 1, last_digest
            yield _entry.decode(content)
    except OSError:
        raise InputError("there is no transcript here", where=str(folder)) from None
    except DoesNotFollow as fault:
        yield Fault(fault.number, "it does not follow from the entries before it")
        return
    except (msgspec.DecodeError, UnicodeDecodeError):
        yield Fault(count, "it is no entry of a transcript")
        return
    if words := _wrong_head(folder, certificate, count, digest):
        yield Fault(0, words)


class _Head(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    entries: int
    digest: str
    certificate: str
    signature: str


def _wrong_head(folder: Path, certificate: PeerCertificate, count: int, digest: bytes) -> str:
    try:
        head = msgspec.json.decode((folder / HEAD).read_bytes(), type=_Head)
        signature = bytes.fromhex(head.signature)
    except FileNotFoundError:
        return "there is no signed head: the run did not end well"
    except (OSError, msgspec.DecodeError, ValueError):
        return "the head cannot be read"
    if (head.entries, head.digest) != (count, digest.hex()):
        return f"the head was signed over {head.entries:,} entries, here are {count:,} or others"
    if head.certificate != certificate.fingerprint:
        return "the head names another certificate than that of this owner"
    try:
        certificate.public_key.verify(signature, _statement(count, digest))
    except InvalidSignature:
        return "the head was signed by somebody else, or changed after it was signed"
    return ""
