"""Reading what people have: texts, pages, mail, histories, as documents of one shape.

The room knows files and nothing of terms, profiles or engines. What cannot be read is skipped and
told, with a reason and without a word of what is in it.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class PersonalDocument:
    """One text of a person: a file, a message of a mailbox, a page that was visited."""

    place: str  # where it stands: a path, an address, or what it is in a file: inbox.mbox#12
    title: str = field(repr=False)
    text: str = field(repr=False)
    kind: str = "text"  # in people's words, singular: text, page, PDF, mail, visit


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """Something that could not be read, or is of no use."""

    place: str
    reason: str  # in plain words, for people: "3 encrypted" is what they see of three


class UnreadableText(Exception):
    """Why a file gives no text, in the words of `SkippedFile.reason`."""
