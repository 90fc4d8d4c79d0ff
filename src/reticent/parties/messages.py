"""What crosses a link: the frames of a session, how they are sealed, read and bounded.

    Hello            the first word of each owner to each, at the start and after every resume
    Envelope         one message of a protocol, or a part of one; its digest binds the next
    Acknowledgement  this message and all before it are in the receiver's transcript, on the disk
    SignOfLife       a busy owner is there; how many messages it has received tells what was lost
    Farewell         an owner ends: it is done, or why it cannot go on

Frames are MessagePack of exactly these shapes; unknown fields, other types and whatever comes after
them are refused.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

import msgspec

PROTOCOL = 1
LONGEST_COLUMN = 2_000  # letters of a column's name
LARGEST_PART = 4 * 1024 * 1024  # bytes of a message in one envelope
LARGEST_MESSAGE = 256 * 1024 * 1024
START = bytes(32)  # what the first message of a link and epoch follows

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
Text = Annotated[str, msgspec.Meta(max_length=200)]
ColumnName = Annotated[str, msgspec.Meta(max_length=LONGEST_COLUMN)]
Digest = Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
Code = Literal[0, 2, 3, 4, 70, 130]
Count = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]
Number = Annotated[int, msgspec.Meta(ge=1, lt=2**53)]


class Frame(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="frame"):
    """The base of all frames."""


class Hello(Frame, tag="hello", frozen=True, kw_only=True):
    """Who I am, what run I came for, and where in it I stand."""

    protocol: int  # first, so that the rest may change with it
    product: Text
    purpose: Literal["run", "check"]
    sender: Name
    run_name: Text
    policy: Digest
    nonce: Digest
    epoch: Count
    resumes: bool
    finished: Count  # how many steps are in my journal
    clock: float  # seconds since 1970, where owners only look who is there; 0 in a run
    offers: dict[Text, list[ColumnName]]  # columns I would hand over, by role
    agreed: Digest | None = None  # what all were ready for, where that is decided: see `session`


class Envelope(Frame, tag="message", frozen=True, kw_only=True):
    """One message on its way, or a part of one."""

    protocol: int
    run: Digest
    epoch: Count
    step: Text
    sender: Name
    receiver: Name
    number: Number  # from 1 in each epoch, for each link
    previous: Digest  # of the envelope before on this link and in this epoch
    part: Number
    parts: Number
    body: bytes


class Acknowledgement(Frame, tag="acknowledgement", frozen=True):
    """All messages up to this one are safe."""

    epoch: Count
    number: Number
    digest: Digest


class SignOfLife(Frame, tag="life", frozen=True):
    """Nothing to say yet, but still there."""

    epoch: Count
    received: Count


class Farewell(Frame, tag="farewell", frozen=True):
    """The end: 0 done, else the exit code of the sender; `about` is the owner that failed."""

    code: Code
    epoch: Count
    step: Text
    about: Text = ""
    why: Text = ""  # only of what an owner did on the wire: its files are nobody's business


# Why an owner ends a run that can go on later, as a farewell says it; {} is a number of seconds. A
# transcript of a run that came to its end may hold these reasons and no others (see `delivered`):
# each is said from here.
UNREACHABLE = "it cannot be reached"
SILENT = "no message and no sign of life came for {} seconds"
LATE = "it was waited for until the time limit of {} seconds"
OUT_OF_TIME = "it has reached its time limit of {} seconds"
NO_INTRODUCTION = "it can be reached, but did not introduce itself in time"
PARTED = "it has ended its run, and did not send what is due"
NOT_RESUMED = "it was restarted without resuming"
STOPPED = "it was stopped by its user"
FAILED = "it ended the run after a failure of its own"
UNFIT = "it ended the run: its own data, settings or machine cannot be used as they are"
REASONS = (
    UNREACHABLE, SILENT, LATE, OUT_OF_TIME, NO_INTRODUCTION, PARTED, NOT_RESUMED, STOPPED, FAILED,
    UNFIT,
)  # fmt: skip


def is_reason(why: str, among: Sequence[str] = REASONS) -> bool:
    """Whether these words are such a reason.

    >>> is_reason(SILENT.format(60)), is_reason("p7 is a Lawyer")
    (True, False)
    """
    return any(_pattern(one).fullmatch(why) for one in among)


@functools.cache
def _pattern(reason: str) -> re.Pattern[str]:
    return re.compile(re.escape(reason).replace(re.escape("{}"), "[0-9.e+-]{1,12}"))


class Resumption(Frame, tag="resumption", frozen=True):
    """No frame but a note in the transcript: what stands before it and after this step is void."""

    epoch: Count
    finished: Count


Any = Hello | Envelope | Acknowledgement | SignOfLife | Farewell
_decode = msgspec.msgpack.Decoder(Any).decode
encode = msgspec.msgpack.Encoder().encode


class Violation(Exception):
    """A peer did what no owner that keeps to the protocol does; the words are for people."""

    def __init__(self, what: str, do: str = "") -> None:
        super().__init__(what)
        self.do = do


class _Version(msgspec.Struct):
    protocol: int


def decode(frame: bytes) -> Any:
    """Read a frame of a peer."""
    try:
        word: Any = _decode(frame)
        return word
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Violation(_unreadable(frame)) from None


def _unreadable(frame: bytes) -> str:
    """A frame of another version is another version's fault, whatever its fields are."""
    try:
        protocol = msgspec.msgpack.decode(frame, type=_Version).protocol
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        protocol = PROTOCOL
    if protocol != PROTOCOL:
        return f"it speaks version {protocol} of the protocol, this owner version {PROTOCOL}"
    return "it sent something that is no message of the protocol"


def digest_of(frame: bytes) -> bytes:
    """What stands for a frame in acknowledgements and in the next envelope."""
    return hashlib.sha256(frame).digest()


def run_id(run_name: str, nonces: Sequence[tuple[str, bytes]]) -> bytes:
    """One run among all: everybody put a nonce in, so nobody can make an old run look new."""
    return digest_of(encode(["reticent run", PROTOCOL, run_name, list(nonces)]))


def parts_of(body: bytes) -> Iterator[tuple[int, int, bytes]]:
    """A message in parts that fit: number of the part, of how many, content.

    >>> [(part, parts, len(content)) for part, parts, content in parts_of(bytes(5_000_000))]
    [(1, 2, 4194304), (2, 2, 805696)]
    """
    if len(body) > LARGEST_MESSAGE:
        raise ValueError(f"a message has at most {LARGEST_MESSAGE:,} bytes")
    parts = max(1, -(-len(body) // LARGEST_PART))
    for part in range(parts):
        yield part + 1, parts, body[part * LARGEST_PART : (part + 1) * LARGEST_PART]


def short(digest: bytes) -> str:
    """The beginning of a digest, enough for people to compare.

    >>> short(bytes(32))
    '0000 0000'
    """
    return f"{digest[:2].hex()} {digest[2:4].hex()}"


def printable(words: str) -> str:
    r"""Words of a peer, without what a terminal would take as a command.

    >>> printable("round 3\x1b[2J")
    'round 3?[2J'
    """
    return "".join(letter if letter.isprintable() else "?" for letter in words)
