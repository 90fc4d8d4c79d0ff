"""What reads a file, by the end of its name; PDF files are read in a process of their own.

A PDF of a thousand bytes can ask its reader for hours and for all memory there is, and strangers
send PDF by mail. So that reader gets a time and a size, may fail without harm to this process, and
is started anew when it did. One serves all files of a reading: it starts as slowly as it reads a
hundred small files.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from subprocess import DEVNULL, PIPE, Popen
from threading import RLock, Timer
from time import monotonic
from typing import IO

from reticent.search.documents import UnreadableText, texts
from reticent.search.documents.texts import TitledText

SECONDS = 60  # for one file
_MOST_MEMORY = 2_000_000_000
_LENGTH = 8  # bytes that say how many come after them


class ReaderApart:
    """The process, as long as somebody reads."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._users = 0
        self._process: Popen[bytes] | None = None

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Let one process serve all that is read meanwhile."""
        with self._lock:
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    self._end()

    def pdf(self, data: bytes, charset: str = "") -> TitledText:
        """The text of a PDF file."""
        if not sys.executable:  # Python inside another program
            return texts.pdf(data)
        with self.kept(), self._lock:
            begin = monotonic()
            try:
                answer = self._answer(data)
            except BaseException as error:
                self._end()  # whatever it would still say is no answer to what is asked next
                if isinstance(error, EOFError | OSError):
                    late = monotonic() - begin >= SECONDS
                    why = "taking too long" if late else "damaged, or too large"
                    raise UnreadableText(f"{why} to be read") from None
                raise
        if isinstance(answer, str):
            raise UnreadableText(answer)
        return TitledText(*answer)

    def _answer(self, data: bytes) -> str | list[str]:
        """A title and a text, or why there is none."""
        process = self._process = self._process or _started()
        assert process.stdin is not None
        assert process.stdout is not None
        timer = Timer(SECONDS, process.kill)
        timer.daemon = True
        timer.start()
        try:
            _send(process.stdin, data)
            found: str | list[str] = json.loads(_received(process.stdout))
        finally:
            timer.cancel()
        return found

    def _end(self) -> None:
        if self._process is not None:
            process, self._process = self._process, None
            process.kill()
            with suppress(OSError), process:  # closes its pipes, and waits for it
                pass


APART = ReaderApart()

TEXT, PAGE, PDF = "text", "page", "PDF"  # what people call what is in a file

_Reader = Callable[[bytes, str], TitledText]  # the second is how the bytes are said to be written

READERS: Mapping[str, tuple[str, _Reader]] = {
    **dict.fromkeys((".txt", ".text", ".rst", ".adoc", ".tex"), (TEXT, texts.plain)),
    **dict.fromkeys((".md", ".markdown", ".mdown", ".mkd", ".org"), (TEXT, texts.markdown)),
    **dict.fromkeys((".html", ".htm", ".xhtml"), (PAGE, texts.html)),
    ".pdf": (PDF, APART.pdf),
}


def _started() -> Popen[bytes]:
    import_module("pypdfium2")  # where it is not installed, this is the place to say so
    places = os.pathsep.join(place for place in sys.path if place)
    return Popen(
        [sys.executable, "-m", "reticent.search.documents.readers"],
        stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env={**os.environ, "PYTHONPATH": places},
        start_new_session=True,  # a key that stops a command is for the command alone
    )  # fmt: skip


def _send(pipe: IO[bytes], data: bytes) -> None:
    pipe.write(len(data).to_bytes(_LENGTH, "big"))
    pipe.write(data)
    pipe.flush()


def _received(pipe: IO[bytes]) -> bytes:
    """What was sent; EOFError where the other side is gone."""
    head = pipe.read(_LENGTH)
    data = pipe.read(int.from_bytes(head, "big"))
    if len(head) < _LENGTH or len(data) < int.from_bytes(head, "big"):
        raise EOFError
    return data


def _serve(asked: IO[bytes], answers: IO[bytes]) -> None:
    """Read one file after the other, until no more are sent."""
    with suppress(EOFError, BrokenPipeError):
        while True:
            data = _received(asked)
            try:
                answer: str | list[str] = list(texts.pdf(data))
            except UnreadableText as why:
                answer = str(why)
            _send(answers, json.dumps(answer).encode())


def _limited() -> None:
    """Take no more memory than a file is worth, and leave nothing of it behind after a fall."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))


if __name__ == "__main__":
    _limited()
    _serve(sys.stdin.buffer, sys.stdout.buffer)
