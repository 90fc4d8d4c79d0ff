"""Reading places: files, and folders with all that is in them.

A file is what it holds before it is what its name says, so a mailbox is one under any
name. The order is that of the places, and within folders that of names: the same every time.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from reticent.errors import Problem, Stopped, many, refuse
from reticent.progress import Watch
from reticent.search.documents import (
    PersonalDocument,
    SkippedFile,
    UnreadableText,
    histories,
    mail,
    texts,
)
from reticent.search.documents.histories import VisitedPage
from reticent.search.documents.readers import APART, READERS

_Found = Iterator[PersonalDocument | SkippedFile]

MOST_BYTES = 100_000_000  # of a file that is read whole
_HEAD = 1024  # bytes that tell what a file is
_EACH = 500  # documents between two words about how many there are

_FOREIGN = {
    "a picture, sound or film":
        ".avif .avi .bmp .flac .gif .heic .ico .jpeg .jpg .m4a .m4v .mkv .mov .mp3 .mp4 .ogg .png "
        ".raw .svg .tif .tiff .wav .webm .webp .wma .wmv",
    "packed, and not unpacked": ".7z .bz2 .gz .rar .tar .tgz .xz .zip .zst",
    "of an office format (saved as PDF or text, it is read)":
        ".doc .docx .epub .key .numbers .odp .ods .odt .pages .ppt .pptx .rtf .xls .xlsx",
}  # fmt: skip
_WHY_FOREIGN = {suffix: why for why, some in _FOREIGN.items() for suffix in some.split()}
_NOT_READ = "of a kind that is not read"
_NOT_PEOPLES = {"__MACOSX", "$RECYCLE.BIN", "System Volume Information", "desktop.ini", "Thumbs.db"}


def read_documents(places: Sequence[str | Path], *, watch: Watch | None = None) -> _Found:
    """What stands in some files and folders, one document after the other, and what is skipped.

    Folders are read with all below them but what is hidden, and links inside them as far as they
    lead to something inside: nobody chose what a link elsewhere would bring in. Nothing is read
    before it is asked for; places that are not there are refused at once, all together.
    """
    paths = [Path(place) for place in places]
    refuse(
        Problem(
            "there is no such file or folder", where=_told(path),
            do="give files, or folders of them: texts, pages, PDF, mail, histories of browsers.",
        )
        for path in paths if not os.path.lexists(path)
    )  # fmt: skip
    return _Reading(watch or Watch(), {path: Path(os.path.realpath(path)) for path in paths}).walk()


@dataclass(slots=True)
class _Reading:
    """One walk over all places."""

    watch: Watch
    named: dict[Path, Path]  # the places, and where they are once links are followed
    seen: set[tuple[int, int]] = field(default_factory=set)  # so that links lead round no circle
    visited: set[str] = field(default_factory=set)  # addresses; browsers may share them

    def walk(self) -> _Found:
        """Walk the places, and tell now and then how far it is."""
        waiting, count = list(reversed(self.named)), 0
        with APART.kept():
            while waiting:
                for found in self._told_at(waiting.pop(), waiting):
                    count += 1
                    if count % _EACH == 0:
                        self.watch.tell(f"{many(count, 'document')} so far")
                    if self.watch.stop():
                        raise Stopped("stopped while reading documents")
                    yield found

    def _told_at(self, path: Path, waiting: list[Path]) -> _Found:
        """What is at one place, or why nothing is."""
        try:
            yield from self._at(path, waiting)
        except UnreadableText as why:
            yield SkippedFile(_told(path), str(why))
        except OSError as error:
            yield SkippedFile(_told(path), _why(error))
        except (MemoryError, RecursionError):
            yield SkippedFile(_told(path), "too large or too deep to be read")

    def _at(self, path: Path, waiting: list[Path]) -> _Found:
        """What is at one place; what is in a folder is left to wait, the first name on top."""
        if self._leads_out(path):
            raise UnreadableText("a link that leads out of the folder")
        about = path.stat()
        which = (about.st_dev, about.st_ino)
        if which in self.seen:
            return
        if about.st_ino:  # not every file system numbers its files
            self.seen.add(which)
        if stat.S_ISDIR(about.st_mode):
            if _is_index(path):
                raise UnreadableText("an index, whose texts stand elsewhere")
            waiting += reversed(_inside(path))
        elif stat.S_ISREG(about.st_mode):
            yield from self._in_file(path, about.st_size)
        else:
            raise UnreadableText("neither a file nor a folder")

    def _leads_out(self, path: Path) -> bool:
        """Whether a link leads to what nobody named; one that was named itself is meant so."""
        if path in self.named or not path.is_symlink():
            return False
        real = Path(os.path.realpath(path))
        return not any(real.is_relative_to(place) for place in self.named.values())

    def _in_file(self, path: Path, size: int) -> _Found:
        """What a file holds."""
        if not size:
            raise UnreadableText(texts.EMPTY)
        place = _told(path)
        with path.open("rb") as file:
            head = file.read(_HEAD)
            what = _what(path, head)
            if size > _MOST.get(what, MOST_BYTES):
                raise UnreadableText(f"larger than {_MOST.get(what, MOST_BYTES) // 1_000_000} MB")
            if what == _MAILBOX:
                file.seek(0)
                yield from _in_mailbox(place, file)
                return
            data = b"" if what == _DATABASE else head + file.read(MOST_BYTES)
        if what == _MESSAGE:
            yield from _in_message(place, data)
        elif what == _DATABASE:
            yield from self._visits(histories.in_browser(path))
        elif what == _TAKEOUT:
            yield from self._visits(histories.in_takeout(data))
        else:
            kind, read = READERS[what]
            title, text = read(data, "")
            yield PersonalDocument(place, title or texts.one_title(path.stem), text, kind)

    def _visits(self, pages: Iterator[VisitedPage]) -> _Found:
        """Each page that was visited, once, by its address."""
        page = None
        for page in pages:
            if page.address not in self.visited:
                self.visited.add(page.address)
                yield PersonalDocument(page.address, page.title, page.text, "visit")
        if page is None:
            raise UnreadableText("no page in it")


def _inside(path: Path) -> list[Path]:
    """What of a folder is read, in order; of one of mail, what programs keep beside it is not."""
    paths = [path / name for name in sorted(os.listdir(path))]
    if _is_maildir(path):
        return [one for one in paths if one.name in _OF_MAILDIR or _is_maildir(one)]
    names = {one.name for one in paths}
    return [one for one in paths if _is_of_people(one.name, names)]


def _is_index(path: Path) -> bool:
    """Whether a folder is one that `search index` made: it holds texts of others a second time."""
    try:
        with (path / "index.json").open(encoding="utf-8") as file:
            return _INDEX.match(file.read(_HEAD)) is not None
    except (OSError, UnicodeDecodeError):
        return False


_INDEX = re.compile(r'\{\s*"reticent": "index",')


def _is_of_people(name: str, beside: set[str]) -> bool:
    """Whether a file was put into its folder by somebody, to be found there."""
    part = next((end for end in histories.KEPT_BESIDE if name.endswith(end)), "")
    return not (
        name.startswith((".", "~$"))
        or name.endswith("~")
        or name in _NOT_PEOPLES
        or (part and name.removesuffix(part) in beside)
    )


_MAILBOX, _MESSAGE, _DATABASE, _TAKEOUT = ".mbox", ".eml", ".sqlite", ".json"
_MOST = {  # bytes
    _MAILBOX: sys.maxsize,  # which is never held whole
    _MESSAGE: mail.MOST_BYTES,
    _DATABASE: histories.MOST_BYTES,
}


def _what(path: Path, head: bytes) -> str:
    """What a file is, as the end of a name would say."""
    suffix = path.suffix.lower()
    if head.startswith(b"%PDF-"):
        return ".pdf"
    if histories.is_database(head):
        return _DATABASE
    if suffix == _MESSAGE or _is_maildir(path.parent.parent, path.parent.name):
        return _MESSAGE
    if suffix in (_MAILBOX, ".mbx") or mail.is_mailbox(head):
        return _MAILBOX
    if histories.is_takeout(head):
        return _TAKEOUT
    if suffix in READERS:
        return suffix
    if suffix:
        raise UnreadableText(_WHY_FOREIGN.get(suffix, _NOT_READ))
    return _MESSAGE if mail.is_message(head) else ".txt"  # README, NOTES


def _is_maildir(path: Path, part: str = "cur") -> bool:
    """Whether a folder is one of mail, a message a file; and a part of it one of messages."""
    return part in _OF_MAILDIR and all((path / name).is_dir() for name in _OF_MAILDIR)


_OF_MAILDIR = ("cur", "new")


def _in_mailbox(place: str, file: BinaryIO) -> _Found:
    """The messages of a mailbox, by their numbers in it."""
    for number, data in enumerate(mail.in_mailbox(file), 1):
        if data is None:
            why = f"larger than {mail.MOST_BYTES // 1_000_000} MB"
            yield SkippedFile(f"{place}#{number}", why)
        else:
            yield from _in_message(f"{place}#{number}", data)


def _in_message(place: str, data: bytes) -> _Found:
    """A message, and what of it could not be read."""
    try:
        found = mail.letter(data)
    except UnreadableText as why:
        yield SkippedFile(place, str(why))
    else:
        yield PersonalDocument(place, found.title or _UNTITLED, found.text, "mail")
        yield from (SkippedFile(place, why) for why in found.left_out)


_UNTITLED = "(no subject)"


def _told(path: Path) -> str:
    """A path as text that can be written anywhere, whatever bytes the name is made of."""
    return os.fsencode(path).decode("utf-8", "replace")


def _why(error: OSError) -> str:
    """Why the system does not give a file, without its name."""
    if isinstance(error, PermissionError):
        return "not allowed to be read"
    if isinstance(error, FileNotFoundError):
        return "not there, or a link that leads nowhere"
    return f"not to be read ({(error.strerror or 'the system says no').lower()})"
