"""What an owner must still know after a kill, to go on with the same run.

A folder, its owner's alone:

    state.json     the run: who, with whom, about what policy; nonces, epoch; what is decided
    journal        the result of every finished step, in order (a chained file)
    attempts       one entry for each time that something was begun which may not be begun often
    transcript/    see `transcript`
"""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import msgspec

from reticent import version
from reticent.errors import InputError, PartyError
from reticent.files.output import discard, lock_folder, sync
from reticent.parties.chained import ChainedFile, Unwritable
from reticent.parties.messages import short
from reticent.parties.settings import unlike_runs
from reticent.parties.transcript import Transcript

STATE, JOURNAL, ATTEMPTS, TRANSCRIPT = "state.json", "journal", "attempts", "transcript"
_UNFINISHED = f"{STATE}.new"


class RunState(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The run, as `state.json` keeps it."""

    product: str  # the version that began it: another one is told nothing, and says nothing
    run_name: str
    me: str
    owners: tuple[str, ...]
    policy: bytes
    nonces: dict[str, bytes]  # mine from the start, the others' once all have met
    epoch: int = 0
    ready: bytes = b""  # a digest of the end that we said to be ready for, before it was said
    agreed: bool = False  # all are ready for that: it is decided, and no resume undoes it
    awaits: tuple[str, ...] = ()  # once decided: who did not say yet that it is done
    needed_by: tuple[str, ...] = ()  # of these, who may not know yet that it is decided


_encoded = msgspec.msgpack.Encoder().encode


class State:
    """The folder, open."""

    def __init__(self, folder: Path, known: RunState) -> None:
        self.folder = folder
        self.known = known
        self._lock = lock_folder(folder, "another process is in this run")
        self.transcript = Transcript(folder / TRANSCRIPT)
        self._journal = ChainedFile(folder / JOURNAL)
        self._attempts = ChainedFile(folder / ATTEMPTS)
        places = self._attempts.places
        self._counts = Counter(self._attempts.read(place) for place in places)

    @classmethod
    def begin(
        cls, folder: Path, *, run_name: str, me: str, owners: Sequence[str], policy: bytes
    ) -> Self:
        """Make the folder of a new run; there must be none, or one that a kill left empty."""
        if not _is_free(folder):
            raise InputError(
                "an earlier run did not end here", where=str(folder),
                why="its answers to the other owners would be lost.",
                do="add --resume to go on with it, or remove the folder to give it up.",
            )  # fmt: skip
        try:
            cls.forget(folder)  # what a kill left of one that was being made, or forgotten
            folder.mkdir(mode=0o700, exist_ok=True)
            folder.chmod(0o700)
            known = RunState(
                product=version.__version__, run_name=run_name, me=me, owners=tuple(owners),
                policy=policy,
                nonces={me: secrets.token_bytes(32)},
            )  # fmt: skip
            _save(folder, known)
            return cls(folder, known)
        except OSError as error:
            raise InputError(f"cannot write it: {error.strerror}", where=str(folder)) from None

    @classmethod
    def resume(
        cls, folder: Path, *, run_name: str, me: str, owners: Sequence[str], policy: bytes
    ) -> Self:
        """Open the folder of a run that was interrupted, if it is this one."""
        try:
            known = msgspec.json.decode((folder / STATE).read_bytes(), type=RunState)
        except FileNotFoundError:
            raise InputError(
                "there is no run to go on with", where=str(folder), do="leave out --resume."
            ) from None
        except (OSError, ValueError, msgspec.DecodeError):
            raise InputError("this state cannot be read", where=str(folder / STATE)) from None
        if known.product != version.__version__:
            raise InputError(
                "versions of Reticent have changed since the run was interrupted: it began with "
                f"{known.product}, now {version.__version__}",
                where=str(folder), do="go on with the version that it began with, or remove the "
                "folder to give it up.",
            )  # fmt: skip
        for what, before, now in (
            ("run", known.run_name, run_name),
            ("owner", known.me, me),
            ("list of owners", ", ".join(known.owners), ", ".join(owners)),
            ("policy", known.policy, policy),
        ):
            if before != now:
                told = [one if isinstance(one, str) else short(one) for one in (before, now)]
                mend = unlike_runs(*told) if what == "run" else ""
                raise InputError(
                    f"the interrupted run had another {what}: {told[0]}, now {told[1]}",
                    where=str(folder),
                    do=f"{mend and mend + '; '}go on with what it began with, or "
                    "remove the folder to give it up.",
                )
        return cls(folder, known)

    @staticmethod
    def forget(folder: Path) -> None:
        """Remove the folder of a run: at any moment it is whole, or there is none."""
        discard(folder)

    def save(self, **changes: object) -> None:
        """Change what is known of the run, on the disk first."""
        known = msgspec.structs.replace(self.known, **changes)
        try:
            _save(self.folder, known)
        except OSError as error:
            raise Unwritable(
                f"cannot write it: {error.strerror}", where=str(self.folder), do="free some space."
            ) from None
        self.known = known

    def decide(self, *, needed_by: Sequence[str] = ()) -> None:
        """Write down that all are ready; `needed_by`: who may have to hear it of this owner."""
        peers = tuple(name for name in self.known.owners if name != self.known.me)
        self.save(agreed=True, awaits=peers, needed_by=tuple(needed_by))

    @property
    def finished(self) -> int:
        """How many steps are in the journal."""
        return len(self._journal)

    @property
    def steps(self) -> list[str]:
        """The names of all finished steps."""
        read = map(self._journal.read, self._journal.places)
        return [str(msgspec.msgpack.decode(entry)[0]) for entry in read]

    @property
    def last_step(self) -> str:
        """The name of the last finished step; empty before the first."""
        if not self.finished:
            return ""
        name, _ = msgspec.msgpack.decode(self._journal.read(self._journal.places[-1]))
        return str(name)

    def result(self, index: int, name: str) -> object:
        """What a finished step came to; `index` from 0."""
        known_name, result = msgspec.msgpack.decode(self._journal.read(self._journal.places[index]))
        if known_name != name:
            raise InputError(
                f'step {index + 1} of the interrupted run was "{known_name}", now it is "{name}"',
                where=str(self.folder),
                why="the data or the options have changed since.",
                do="go on with what it began with, or remove the folder to give it up.",
            )
        return result

    def finish(self, name: str, result: object) -> None:
        """Write down what a step came to."""
        self._journal.append(_encoded([name, result]), sync=True)

    def cut_back(self, finished: int) -> None:
        """Forget the results of later steps: not everybody has them."""
        if finished < self.finished:
            self._journal.cut(finished)

    def attempt(self, name: str, most: int) -> None:
        """Count a beginning; refuse to begin again more often than `most` times.

        It is counted before anything is said.
        """
        self._counts[name.encode()] += 1
        self._attempts.append(name.encode(), sync=True)
        if self._counts[name.encode()] > most + 1:
            raise PartyError(
                f"it was interrupted {most + 1} times", where=name,
                why="an owner that ends on purpose and resumes could search for another's values.",
                do="find out who was interrupted and why, then start a new run.",
            )  # fmt: skip

    def close(self) -> None:
        """Close all files."""
        self.transcript.close()
        self._journal.close()
        self._attempts.close()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _is_free(folder: Path) -> bool:
    """Whether no run stands there, and nothing else but what a kill left of one."""
    if not folder.is_dir():
        return not folder.exists()
    return {path.name for path in folder.iterdir()} <= {_UNFINISHED, JOURNAL, ATTEMPTS, TRANSCRIPT}


def _save(folder: Path, known: RunState) -> None:
    # As `whole_file` does it; but this is no output that anybody is told of.
    path = folder / _UNFINISHED
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(msgspec.json.encode(known))
        file.flush()
        os.fsync(file.fileno())
    path.replace(folder / STATE)
    sync(folder)
