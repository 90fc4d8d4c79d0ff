"""Text out of messages: what somebody wrote, without the envelope.

Who wrote to whom and when is never text: neither in headers, nor where an answer repeats them above
what it quotes. Signatures are left out where a line says that they begin, and lines that hardly say
more than a name: they would make a person's own name the first of their interests. What is quoted
stays. Attachments are read by their type, as the files they are.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from email import message_from_bytes
from email.errors import MessageError
from email.header import decode_header
from email.message import Message
from email.policy import Compat32
from pathlib import PurePath
from typing import BinaryIO

from reticent.search.documents import UnreadableText, texts
from reticent.search.documents.readers import READERS

MOST_BYTES = 50_000_000  # of a message
_MOST_OF_A_HEADER = 10_000  # letters, and lines
_MOST_NESTED = 30  # parts within parts; what lies deeper is left out
_SUBJECT = 1_000  # letters

# "From " begins a message, and may begin a line of one: the day and time tell them apart.
_POSTMARK = re.compile(
    rb"From \S.{0,300}?\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b.{1,40}?\d\d:\d\d", re.I
)
_HEADERS = re.compile(rb"(?:[A-Za-z][\w-]{1,60}:.{0,990}\r?\n(?:[ \t].{0,990}\r?\n)*){2}")
_OF_MAIL = re.compile(rb"^(?:from|received|return-path|delivered-to|message-id):", re.I | re.M)

_ANSWERS = re.compile(r"^(?:\s*(?:re|aw|fwd?|wg|sv|vs|tr|rv|antw|r|i)(?:\[\d+\])?:)+\s*", re.I)
_WROTE = re.compile(
    r"\b(?:wrote|writes|schrieb|geschrieben|a écrit|escribió|ha scritto|schreef|skrev|escreveu|"
    r"napisał(?:\(a\))?|пишет|написал(?:\(а\))?)\b.{0,100}:$",
    re.I,
)
_WHEN = re.compile(r"(?:on|am|le|el|il|op|den|dnia|w dniu|em)\s", re.I)
_FROM = re.compile(r"(?:from|von|de|da|van|från|fra|od|от)\s*:", re.I)
_REPEATED = re.compile(
    r"(?:from|sent|to|cc|bcc|date|subject|reply-to|message-id|importance|attachments?|"
    r"von|gesendet|an|datum|betreff|de|à|envoyé|objet|para|enviado|fecha|asunto|da|a|inviato|data|oggetto|"
    r"van|aan|verzonden|onderwerp|från|skickat|till|ämne|fra|sendt|til|emne|od|do|temat|от|кому|дата|тема)"
    r"\s*:\*?(?:\s|$)",
    re.I,
)
_RULE = re.compile(r"-{3,}[^-]{3,60}-{3,}$|begin forwarded message:$", re.I)
_ARMOUR = re.compile(r"-----(BEGIN|END) (?:PGP|CERTIFICATE|PKCS7)")
_ENCRYPTED = {"multipart/encrypted", "application/pgp-encrypted"}


class _Brief(Compat32):
    """Headers that are cut, so that none takes long to be understood."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        """The name and value of a header from its lines."""
        name, value = super().header_source_parse(sourcelines[:_MOST_OF_A_HEADER])
        return name, value[:_MOST_OF_A_HEADER]


_POLICY = _Brief()


@dataclass(frozen=True, slots=True)
class LetterText:
    """What a message says, and why some of what is attached to it could not be read."""

    title: str = field(repr=False)
    text: str = field(repr=False)
    left_out: tuple[str, ...] = ()


def is_mailbox(head: bytes) -> bool:
    """Whether a file that begins so holds messages, one after the other."""
    return _POSTMARK.match(head) is not None


def is_message(head: bytes) -> bool:
    """Whether a file that begins so, and that no name tells of, is a message."""
    return _HEADERS.match(head) is not None and _OF_MAIL.search(head) is not None


def in_mailbox(file: BinaryIO) -> Iterator[bytes | None]:
    """The messages of a mailbox, one at a time; None for one that is too large to be held."""
    first = file.readline(MOST_BYTES)
    if not first.startswith(b"From "):
        raise UnreadableText("no mailbox, whatever its name says")
    dated = is_mailbox(first)
    lines: list[bytes] = []
    size, blank, whole = 0, False, True
    # No line is longer than what is held: a piece of a longer one is as good as a line.
    while line := file.readline(MOST_BYTES):
        if whole and line.startswith(b"From ") and (is_mailbox(line) if dated else blank):
            yield b"".join(lines) if size <= MOST_BYTES else None
            lines, size = [], 0
            continue
        size += len(line)
        if size > MOST_BYTES:
            lines = []
        else:
            lines.append(line[1:] if line.startswith((b">From ", b">>From ")) else line)
        blank, whole = not line.strip(), line.endswith(b"\n")
    yield b"".join(lines) if size <= MOST_BYTES else None


def letter(data: bytes) -> LetterText:
    """One message."""
    if len(data) > MOST_BYTES:
        raise UnreadableText(f"larger than {MOST_BYTES // 1_000_000} MB")
    try:
        return _Opened().letter(message_from_bytes(data, policy=_POLICY))
    except UnreadableText:
        raise
    except RecursionError:
        raise UnreadableText("nested too deep to be read") from None
    # The library answers broken headers with whatever fails first inside it.
    except (ArithmeticError, AssertionError, AttributeError, LookupError, MessageError, TypeError,
            ValueError):  # fmt: skip
        raise UnreadableText("damaged") from None


@dataclass(slots=True)
class _Opened:
    """What was found in one message so far."""

    attached: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    letters: int = 0
    people: set[str] = field(default_factory=set)  # who wrote and was written to, by name

    def letter(self, message: Message) -> LetterText:
        """The message as a whole."""
        if "spam" in _header(message, "X-Gmail-Labels").lower().split(",") or (
            _header(message, "X-Spam-Flag").strip().lower() == "yes"
        ):
            raise UnreadableText("marked as spam")
        subject = _header(message, "Subject")
        self.people = _people(message)
        body = self.said(message, 0)
        if message.get_content_type() in _ENCRYPTED or _is_enveloped(message):
            raise UnreadableText("encrypted")
        parts = [_topic(subject), body, *self.attached]
        text = "\n".join(part for part in parts if part.strip())
        if not text:
            raise UnreadableText(self.left_out[0] if self.left_out else "empty")
        return LetterText(texts.one_title(subject), text, tuple(sorted(set(self.left_out))))

    def said(self, part: Message, depth: int) -> str:
        """What a part says in the message itself; what is attached is put aside."""
        kind = part.get_content_type()
        if depth > _MOST_NESTED or kind in _ENCRYPTED or kind == "message/delivery-status":
            return ""
        payload = part.get_payload()
        if not isinstance(payload, list):
            return self.leaf(part, kind)
        inside = [one for one in payload if isinstance(one, Message)]
        if kind == "message/rfc822":
            self.people = self.people.union(*map(_people, inside))
            topics = [_topic(_header(one, "Subject")) for one in inside]
            found = [*topics, *(self.said(one, depth + 1) for one in inside)]
        elif kind == "multipart/alternative":
            found = self.alternative(inside, depth)
        else:
            found = [self.said(one, depth + 1) for one in inside]
        return "\n".join(text for text in found if text.strip())

    def alternative(self, parts: list[Message], depth: int) -> list[str]:
        """The plain one of several forms of a text; where there is none, the last, the best."""
        found = [(one.get_content_type(), self.said(one, depth + 1)) for one in parts]
        some = [(kind, text) for kind, text in found if text.strip()]
        return next(
            ([text] for kind, text in some if kind == "text/plain"), [t for _, t in some][-1:]
        )

    def leaf(self, part: Message, kind: str) -> str:
        """What one text or one attachment says."""
        name = part.get_filename()
        suffix = PurePath(name).suffix.lower() if isinstance(name, str) else ""
        suffix = _BY_TYPE.get(kind, suffix)
        if suffix not in READERS:
            return ""
        is_attached = bool(name) or part.get_content_disposition() == "attachment"
        data = part.get_payload(decode=True)
        try:
            text = READERS[suffix][1](data if isinstance(data, bytes) else b"", _charset(part))[1]
        except UnreadableText as why:
            if str(why) != texts.EMPTY:
                self.left_out.append(f"attached and {why}" if is_attached else str(why))
            return ""
        self.letters += len(text)
        if self.letters > texts.MOST_LETTERS:
            raise UnreadableText("too long")
        if is_attached:
            self.attached.append(text.strip())
            return ""
        return without_envelopes(text, "--" if suffix == ".html" else "-- ", self.people)


# A file that is attached without saying of which type goes by the end of its name.
_BY_TYPE = {
    "text/plain": ".txt", "text/markdown": ".md", "text/html": ".html", "application/pdf": ".pdf",
    "application/xhtml+xml": ".html",
}  # fmt: skip


def _header(message: Message, name: str) -> str:
    """A header as people read it; whatever is wrong with it, some text."""
    raw = next((value for key, value in message.raw_items() if key.lower() == name.lower()), "")
    value = str(raw)[:_SUBJECT]
    if not value.isascii():  # bytes that should have been encoded
        return texts.decoded(value.encode("utf-8", "surrogateescape"))
    try:
        pieces = decode_header(value)
    except (MessageError, ValueError):
        return value
    return "".join(
        piece if isinstance(piece, str) else texts.decoded(piece, charset or "")
        for piece, charset in pieces
    )


def _people(message: Message) -> set[str]:
    """The names in the headers of a message, in small letters."""
    named = " ".join(_header(message, name) for name in ("From", "To", "Cc"))
    return {name.casefold() for name in _WORD.findall(_ADDRESS.sub(" ", named))}


_WORD = re.compile(r"[^\W\d_]{2,}")
_ADDRESS = re.compile(r"<[^>]*>|\S+@\S+")


def _charset(part: Message) -> str:
    """What a part says of how it is written."""
    found = part.get_param("charset", "")
    return found if isinstance(found, str) else str(found[2])


def _is_enveloped(message: Message) -> bool:
    """Whether a message is encrypted by a certificate; the same type is used to sign."""
    return message.get_content_type().endswith("pkcs7-mime") and (
        message.get_param("smime-type", "enveloped-data") != "signed-data"
    )


def _topic(subject: str) -> str:
    """A subject without what says that it is an answer, and without addresses.

    >>> _topic("Re: AW: [2] Badminton")
    '[2] Badminton'
    """
    return texts.legible(_ANSWERS.sub("", texts.one_title(subject)))


def without_envelopes(text: str, above_signature: str = "-- ", people: Collection[str] = ()) -> str:
    r"""What is said in a message, without who said what when, signatures and armour.

    Lines that say little more than a name of `people` go, too: Dear Ann, and Yours, Bob.

    >>> without_envelopes("Gladly!\n\nOn Monday,\nAnn wrote:\n> Badminton?\n-- \nBob").split()
    ['Gladly!', '>', 'Badminton?']
    """
    kept: list[str] = []
    repeated: list[str] = []  # lines that look like headers, until it is known whether they are
    signs = armour = ruled = False
    for line in [*text.splitlines(), ""]:
        bare = line.lstrip("> \t*|").rstrip()
        if mark := _ARMOUR.match(bare):
            armour = mark[1] == "BEGIN" and "SIGNED" not in bare
            continue
        if armour:
            continue
        if _REPEATED.match(bare) or (repeated and _goes_on(repeated[-1], line)):
            repeated.append(line)
            continue
        if repeated:
            heads = any(_FROM.match(one.lstrip("> \t*|")) for one in repeated)
            if ruled or (heads and len(repeated) > 1):
                signs = False
            else:
                kept += [] if signs else repeated
            repeated = []
        if bare.endswith(":") and _WROTE.search(bare[-400:]):
            if kept and not _WHEN.match(bare) and _WHEN.match(kept[-1].lstrip("> \t*|")):
                kept.pop()  # the line was too long for one
            signs = False
            continue
        ruled = _RULE.match(bare) is not None or (ruled and not bare)
        if line == above_signature:
            signs = True
        elif ruled or line.startswith(">"):
            signs = False
        if not (signs or ruled or (people and _greets(bare, people))):
            kept.append(line)
    return "\n".join(kept).strip()


_GREETING = 3  # words at most, a name among them


def _greets(line: str, people: Collection[str]) -> bool:
    """Whether a line does no more than to name somebody."""
    words = _WORD.findall(line) if len(line) < 100 else []
    return len(words) <= _GREETING and any(word.casefold() in people for word in words)


def _goes_on(header: str, line: str) -> bool:
    """Whether a line belongs to the header above it."""
    return bool(line.strip()) and (
        header.rstrip(" *").endswith(":")
        or (line[0] in " \t" and any(sign in line for sign in ",;<"))
    )
