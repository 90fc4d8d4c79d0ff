"""Transcripts in which something else was said, chained and signed as an owner could that hides it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from reticent.parties.identity import Identity
from reticent.parties.messages import START, Envelope, decode, digest_of, encode
from reticent.parties.transcript import Entry, Transcript, entries_in

Change = Callable[[Envelope, Any], Any]  # an envelope and what it says: what it says instead


def kind_of(said: Any) -> str:
    return str(said["type"])


def forge(kept: Path, identity: Path, change: Change) -> None:
    """Write a transcript anew."""
    entries = list(entries_in(kept / "entries"))
    shutil.rmtree(kept)
    transcript = Transcript(kept)
    last: dict[tuple[str, str], bytes] = {}
    for entry in entries:
        transcript.append(entry.direction, entry.peer, _rewritten(entry, last, change))
    transcript.sign(Identity.load(identity))
    transcript.close()


def _rewritten(entry: Entry, last: dict[tuple[str, str], bytes], change: Change) -> bytes:
    word = None if entry.direction == "note" else decode(entry.frame)
    if not isinstance(word, Envelope):
        return entry.frame
    said = change(word, msgspec.msgpack.decode(word.body))
    body = said if isinstance(said, bytes) else encode(said)
    link = (entry.direction, entry.peer)
    frame = encode(
        msgspec.structs.replace(word, body=body, previous=last.get(link, START), step=word.step)
    )
    last[link] = digest_of(frame)
    return frame
