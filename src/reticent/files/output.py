"""Files and folders that appear whole or not at all, and never over something else."""

from __future__ import annotations

import contextlib
import csv
import fcntl
import io
import os
import re
import shutil
import signal
import threading
from collections.abc import Collection, Iterable, Iterator
from contextvars import ContextVar
from pathlib import Path

from reticent.data.memory import alive
from reticent.errors import InputError


def parts_in(folder: Path) -> list[str]:
    """The names of data files that a folder of parts holds, if it is there."""
    found = folder.iterdir() if folder.is_dir() else ()
    return [path.name for path in found if re.fullmatch(r"part-\d{5,}\.[a-z.]+", path.name)]


def write_text(path: Path, text: str) -> None:
    """Write text and see it to the disk."""
    path.write_text(text, encoding="utf-8")
    sync(path)


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    r"""Rows as CSV, with lines that end in \n.

    >>> csv_text([["a", "b"], ["1", "two\rlines"]])
    'a,b\n1,"two\rlines"\n'
    """
    written = _Lines()
    # By its line end a writer knows what must stand in quotes: with \n alone, no \r does.
    csv.writer(written, lineterminator="\r\n").writerows(rows)
    return written.getvalue()


class _Lines(io.StringIO):
    """Text whose lines end as ours do, whatever the writer ends them with."""

    def write(self, line: str) -> int:
        """Take one line."""
        return super().write(line.removesuffix("\r\n") + "\n")


_LEFTOVER = re.compile(
    r"\.(?P<name>.+)\.(?P<pid>\d+)-(?P<run>[0-9a-f]{4})[0-9a-f]{4,16}\.reticent-(?P<what>tmp|old)"
)
_LONGEST_NAME = 200  # bytes; what stands beside it for a while has a longer one, of at most 255
_RUN = os.urandom(2).hex()  # in containers, a later run may have the number of a killed one


def refuse_published(path: Path) -> None:
    """Refuse to write what its owner alone may read into the public side of a release."""
    for folder in path.absolute().parents:
        if folder.name == "public" and (folder / "manifest.json").is_file():
            raise InputError(
                "this is the public side of a release, and what would be written is for its owner",
                where=str(path), do="choose a place outside of it.",
            )  # fmt: skip


def check_free(path: Path, *, force: bool, holds: Collection[str] = ()) -> None:
    """Refuse an output that exists (unless forced) or has nowhere to go, before any work.

    A folder is replaced only by one that `holds` everything it has: nothing else may be lost.
    """
    refuse_nameless(path)
    if len(os.fsencode(path.name)) > _LONGEST_NAME:
        raise InputError("this name is too long", where=f"{str(path)[:60]}…", do="shorten it.")
    repair(path)
    if not path.parent.is_dir():
        raise InputError(
            f"there is no folder {path.parent}", where=str(path), do="create it first."
        )
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise InputError("this is no ordinary file", where=str(path), do="choose another name.")
    if path.exists() and not force:
        raise InputError(
            "the output exists already", where=str(path), do="choose another name or add --force."
        )
    if path.is_dir() and not {other.name for other in path.iterdir()} <= set(holds):
        raise InputError(
            "the folder holds other things, so it is not replaced",
            where=str(path),
            why="they would be lost.",
            do="choose another name.",
        )
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"the folder {path.parent} cannot be written to", where=str(path))


def refuse_nameless(path: Path) -> None:
    """Refuse what names a folder that is there anyway, and nothing new."""
    if path.name in ("", ".", ".."):
        raise InputError("this is no name for an output", where=str(path), do="give a new name.")


def refuse_inputs(outputs: Iterable[Path], inputs: Iterable[Path]) -> None:
    """Refuse to write over what the same run reads, or into it, whatever --force says.

    Of a folder of data files that is its files: a folder below it is not read with them.
    """
    read = {path.resolve() for path in inputs}
    for output in outputs:
        place = output.resolve()
        above = [path for path in read if path in place.parents and path.is_dir()]
        inside = any(place.suffix or (path / "public").is_dir() for path in above)
        if inside or any(path == place or place in path.parents for path in read):
            raise InputError(
                "this is, holds, or is part of an input of the same run",
                where=str(output),
                why="it would be lost.",
                do="choose another name.",
            )


def repair(path: Path) -> None:
    """Clear away what killed runs left beside `path`, and finish an interrupted swap of folders."""
    if not path.parent.is_dir():
        return
    for other in sorted(path.parent.iterdir()):
        match = _LEFTOVER.fullmatch(other.name)
        if match and match["name"] == path.name:
            clear_leftover(other)


def is_leftover(path: Path) -> bool:
    """Whether a path has the name of something that a killed run may have left."""
    return _LEFTOVER.fullmatch(path.name) is not None


def name_of(path: Path) -> str:
    """The name that a file which is being written will have; of any other, its own.

    >>> name_of(Path(".shop.dat.gz.7-0123abcd.reticent-tmp")), name_of(Path("in/shop.dat"))
    ('shop.dat.gz', 'shop.dat')
    """
    match = _LEFTOVER.fullmatch(path.name)
    return match["name"] if match else path.name


def clear_leftover(path: Path) -> None:
    """Remove what a killed run left, or put it back where its swap was interrupted."""
    match = _LEFTOVER.fullmatch(path.name)
    if not match:
        return
    pid = int(match["pid"])
    if match["run"] == _RUN if pid == os.getpid() else alive(pid):
        return
    target = path.with_name(match["name"])
    if match["what"] == "old" and not target.exists():
        path.rename(target)
    elif path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _beside(path: Path, what: str) -> Path:
    # Long enough: with two bytes, one release in 65,536 met itself and was refused.
    run = f"{os.getpid()}-{_RUN}{os.urandom(8).hex()}"
    return path.with_name(f".{path.name}.{run}.reticent-{what}")


_appeared: ContextVar[list[Path] | None] = ContextVar("appeared", default=None)


@contextlib.contextmanager
def recorded() -> Iterator[list[Path]]:
    """What is written inside, as far as it has appeared."""
    before, paths = _appeared.get(), list[Path]()
    _appeared.set(paths)
    try:
        yield paths
    finally:
        _appeared.set(before)


def _record(path: Path) -> None:
    if (paths := _appeared.get()) is not None:
        paths.append(path)


@contextlib.contextmanager
def together() -> Iterator[contextlib.ExitStack]:
    """Files and folders that appear together or not at all; they are entered into the stack."""
    with contextlib.ExitStack() as stack:
        yield stack
        with _undisturbed():
            stack.close()


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Let signals pass by: from the first rename on, it is too late to have written nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in asked}
    for number, handler in before.items():
        if handler not in (signal.SIG_IGN, None):
            signal.signal(number, lambda number, frame: None)
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)


@contextlib.contextmanager
def whole_file(path: Path, *, force: bool, private: bool = False) -> Iterator[Path]:
    """A temporary file that becomes `path` if the block ends well, and nothing otherwise."""
    check_free(path, force=force)
    temporary = _beside(path, "tmp")
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        yield temporary
        sync(temporary)
        if not private:
            temporary.chmod(0o666 & _allowed(path))
        with _undisturbed():
            check_free(path, force=force)
            temporary.replace(path)
            _record(path)
            sync(path.parent)
    except OSError as error:
        raise _unwritable(path, error) from None
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def working_folder(path: Path) -> Iterator[Path]:
    """A folder, its owner's alone, for what is needed while a file is written, and is gone then.

    It stands beside the file, on whose disk there must be room anyway; what a kill leaves of it is
    cleared away with the rest of that file.
    """
    folder = _beside(path.with_name(name_of(path)), "tmp")
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def whole_folder(
    path: Path, *, force: bool, holds: Collection[str] = (), private: bool = False
) -> Iterator[Path]:
    """A temporary folder, its owner's alone, that becomes `path` if the block ends well.

    `holds` names what it will hold; see `check_free`. A `private` one stays its owner's alone.
    """
    check_free(path, force=force, holds=holds)
    temporary, old = _beside(path, "tmp"), _beside(path, "old")
    try:
        temporary.mkdir(mode=0o700)
        yield temporary
        for file in sorted(temporary.rglob("*")):
            sync(file)
        with _undisturbed():
            check_free(path, force=force, holds=holds)
            if not private:
                temporary.chmod(_allowed(path))
            if path.exists():
                path.rename(old)
            temporary.rename(path)
            _record(path)
            sync(path.parent)
            remove(old)
    except OSError as error:
        raise _unwritable(path, error) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if old.exists() and not path.exists():
            old.rename(path)


def remove(path: Path) -> None:
    """Remove a folder, a file or a link to one, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def discard(path: Path) -> None:
    """Remove a folder that must be whole or gone: `repair` clears away what a kill leaves of it."""
    with contextlib.suppress(OSError):
        path = path.rename(_beside(path, "tmp"))
    shutil.rmtree(path, ignore_errors=True)


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(
        f"cannot write it: {error.strerror or 'the system refused'}", where=str(path),
        do="free some space or choose another place; nothing was left behind.",
    )  # fmt: skip


def _allowed(path: Path) -> int:
    """What others may do with new files beside `path`: seen from one, made for that and removed.

    To ask for the umask is to change it, for all threads. What will hold data cannot be the one to
    look at: who opened it while it was empty could read it later.
    """
    probe = _beside(path, "tmp")
    handle = os.open(probe, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o777)
    try:
        return os.fstat(handle).st_mode & 0o777
    finally:
        os.close(handle)
        probe.unlink()


def sync(path: Path) -> None:
    """See a file, or the names in a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def lock_folder(folder: Path, busy: str) -> int:
    """Keep others out of a folder until what is given is closed; a kill lets them in again.

    `busy`: what is said to who comes while somebody else is in it.
    """
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise InputError(busy, where=str(folder), do="wait for it, or end it.") from None
    return handle
