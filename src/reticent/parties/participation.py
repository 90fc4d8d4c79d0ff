"""One owner's part in a run that ends in something that appears at every owner or at none.

State stands in OUT.run/ beside the output, its owner's alone, until that has appeared. An owner
that was killed goes on from there (`resume`). Whether it appears is decided once:

    ready    every owner writes down the digest of what is to appear, then tells it to all
    decided  the first owner writes that down when all are ready with the same digest
    go       it tells the others, who have it in their transcripts before they acknowledge it

An owner that knows of the decision needs nobody else to finish, whenever it was killed, and lets
nothing appear but what it was ready for. One that was killed between ready and go cannot know, and
asks by resuming: so the first owner keeps its state until all have acknowledged.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from reticent.errors import InputError, PartyError, Stopped, Unsatisfiable
from reticent.files.output import refuse_nameless, repair
from reticent.parties.agreeing import Go, exchange_go, exchange_ready
from reticent.parties.chained import Unwritable
from reticent.parties.check import parties_of
from reticent.parties.identity import CERTIFICATE
from reticent.parties.messages import Envelope, Violation, decode, encode
from reticent.parties.session import Deadlines, Decided, Resumed, Session
from reticent.parties.settings import Agreement, PartySettings
from reticent.parties.state import TRANSCRIPT, State
from reticent.parties.tcp import TcpChannel
from reticent.parties.transcript import ENTRIES, entries_in
from reticent.parties.wire import Conversation, M, Message, R
from reticent.progress import Clock, Watch

_GO = "go"
T = TypeVar("T")
Agree = Callable[[bytes], None]  # told the digest of what is to appear; raises unless all agree


@dataclass(frozen=True, slots=True)
class Undertaking(Generic[T]):
    """What a system does in a run."""

    appear: Callable[[Conversation, State, Agree], T]  # talk, write beside, agree, and rename
    appeared: Callable[[Conversation, State], T]  # the same, where it stands already
    kept_in: Path | None  # where the transcript stays, if it does
    stands: str  # what stands in the end, at the beginning of a sentence: "The release"


@dataclass(frozen=True, slots=True)
class RunEnd(Generic[T]):
    """What a run came to at one owner."""

    result: T
    unconfirmed: tuple[str, ...]  # owners that did not say that theirs is there
    needed_by: tuple[str, ...]  # of these, who may still need this owner's state
    notes: tuple[str, ...]


def unfinished(
    unconfirmed: Sequence[str], needed_by: Sequence[str], output: str, what: str
) -> list[str]:
    """Who did not say that what was to appear has appeared there, and what finishes it."""
    words = f"did not say that {what} has appeared there;"
    sure = [owner for owner in unconfirmed if owner not in needed_by]
    lines = [f"{', '.join(sure)} {words} --resume there finishes it."] if sure else []
    if needed_by:
        lines.append(
            f"{', '.join(needed_by)} {words} --resume there and here, at the same time, "
            f"finishes it. {output}.run is kept for that; remove it when all have theirs."
        )
    return lines


class Participation:
    """One owner in one run: where its state stands, how it meets the others and parts from them."""

    def __init__(
        self,
        settings: PartySettings,
        agreement: Agreement,
        output: Path,
        watch: Watch,
        *,
        resume: bool = False,
        words: str = "",
        harmless: Sequence[str] = (),
    ) -> None:
        """`words`: what tells this kind of run from others with the same name.

        `harmless`: the steps that tell nobody anything yet, the first one of which says nothing.
        """
        settings.refuse_unlike(agreement)
        refuse_nameless(output)
        self.settings, self.agreement, self.output = settings, agreement, output
        self.identity, self.peers = parties_of(settings)
        self.state_folder = output.with_name(f"{output.name}.run")
        repair(self.state_folder)  # of a run that was forgotten, and killed before all was gone
        self.resume, self._harmless = resume, tuple(harmless)
        self.run_name = settings.run_title + words
        self._telling, self._words, self._told = watch.tell, "", ""
        self.clock = Clock(replace(watch, tell=self._tell))
        self.nonce = ""  # of the run that is resumed

    @property
    def certificates(self) -> dict[str, bytes]:
        """Of all owners, in PEM: by them a transcript is held against what came of the run."""
        settings = self.settings
        own = settings.path(settings.identity) / CERTIFICATE
        peers = {name: settings.path(peer.certificate) for name, peer in settings.peers.items()}
        return {name: path.read_bytes() for name, path in {settings.owner: own, **peers}.items()}

    def decided_before(self, look: Callable[[State], None] = lambda state: None) -> bytes:
        """The digest of what all were ready for, if that was decided when we were killed.

        `look` sees the state of the run that is to be resumed before anything else is done.
        """
        if not self.resume:
            return b""
        if self.output.exists() and not self.state_folder.exists():
            raise InputError(
                "there is no run to go on with, and the output stands", where=str(self.output),
                why="nothing but its output stays of a run that has come to its end.",
                do="if the output is of that run, all is done; for another run leave out --resume.",
            )  # fmt: skip
        state = self._state()
        try:
            look(state)
            self.nonce = state.known.nonces[self.settings.owner].hex()
            return state.known.ready if _is_decided(state) else b""
        finally:
            state.close()

    def look(self, flow: Callable[[Session], T], begin: Callable[[], None]) -> T:
        """Talk, and let nothing appear; nothing stays of such a run."""
        with ExitStack() as ends:
            state = self._state()
            ends.callback(State.forget, self.state_folder)
            ends.callback(state.close)
            begin()
            self.clock.watch.stage("meet")
            with self._session(state) as session:
                return session.run(flow)

    def take_part(
        self, work: Undertaking[T], agreed: bytes, *, stands: bool, begin: Callable[[], None]
    ) -> RunEnd[T]:
        """Talk until it has appeared here, and part from the others.

        `agreed`: what `decided_before` gave; `stands`: whether just that stands at the output.
        `begin` is called before anybody is met.
        """
        with ExitStack() as ends:
            state = self._state()
            ends.callback(state.close)
            if agreed:
                return self._come_back(state, work, stands=stands)
            begin()
            self.clock.watch.stage("meet")
            with self._forgetting(state, ends):
                session = self._session(state)
            with session:
                with self._forgetting(state, ends):
                    result = self._agreed(session, state, work)
                return self._part(session, state, work, result)

    # Meeting.

    def _session(self, state: State) -> Session:
        settings = self.settings
        deadlines = Deadlines(
            settings.meet_timeout, settings.step_timeout, settings.time_limit,
            min(Deadlines().life, settings.step_timeout / 3),
        )  # fmt: skip
        return Session(
            TcpChannel(self.identity, settings.listen, self.peers), state, deadlines=deadlines,
            offers=self.agreement.offers[settings.owner], resumes=self.resume, waits=self._wait,
        )  # fmt: skip

    def _state(self) -> State:
        opened = State.resume if self.resume else State.begin
        return opened(
            self.state_folder, run_name=self.run_name, me=self.settings.owner,
            owners=self.agreement.owners, policy=self.agreement.digest,
        )  # fmt: skip

    @contextmanager
    def _forgetting(self, state: State, ends: ExitStack) -> Iterator[None]:
        """Leave no state behind of a run that nobody can go on with.

        That is one in which nothing was done yet, or which failed for what must be mended first.
        """
        try:
            yield
        except BaseException as error:
            begun = state.last_step not in ("", *self._harmless[:1])
            told = state.last_step not in ("", *self._harmless)
            wrong = isinstance(error, InputError) or getattr(error, "final", False)
            if not begun or (wrong and not told) or isinstance(error, Unsatisfiable):
                ends.callback(State.forget, self.state_folder)
            elif isinstance(error, KeyboardInterrupt) and not state.known.agreed:
                raise Stopped(
                    f"Stopped; nothing was written but {state.folder}, from which the run goes on.",
                    do="go on with --resume, together with the others; or remove the folder to "
                    "give it up.",
                ) from None
            elif isinstance(error, Unwritable):
                raise error.with_remedy("then go on with --resume.") from None
            raise

    def _tell(self, words: str) -> None:
        self._words = self._told = words
        self._telling(words)

    def _wait(self, peers: Sequence[str]) -> None:
        waiting = [f"waiting for {', '.join(peers)}"] if peers else []
        told = "; ".join([*filter(None, [self._words]), *waiting])
        if told != self._told:  # a meeting says it again at every look
            self._told = told
            self._telling(told)

    # Letting it appear.

    def _agreed(self, session: Session, state: State, work: Undertaking[T]) -> T:
        """What appears once all are ready; when that is decided, whatever others do then."""
        try:
            return session.run(
                lambda talk: work.appear(talk, state, partial(self._agree, talk, state))
            )
        except (Decided, PartyError) as error:
            if _is_decided(state):
                return self._finish_alone(state, work, stands=False)
            if state.known.ready:
                _tell_doubt(error, work.stands)
            raise

    def _agree(self, talk: Session, state: State, digest: bytes) -> None:
        def ready() -> str:
            state.save(ready=digest)
            exchange_ready(talk, digest)
            return digest.hex()

        with self.clock.stage("agree"):
            _see_same(digest, bytes.fromhex(talk.step("ready", ready)), self.state_folder)
            talk.step(_GO, lambda: _go(talk, state))

    def _finish_alone(self, state: State, work: Undertaking[T], *, stands: bool) -> T:
        """What all were ready for, from what is written down."""
        talk = Journal(self.settings.owner, self.agreement.owners, state)
        if stands:  # what is left is to put things away
            return work.appeared(talk, state)
        ready, folder = state.known.ready, self.state_folder
        return work.appear(talk, state, lambda digest: _see_same(digest, ready, folder))

    def _come_back(self, state: State, work: Undertaking[T], *, stands: bool) -> RunEnd[T]:
        """Go on after a kill, when it was decided: we need nobody, but somebody may need us."""
        with ExitStack() as ends:
            session = None
            if state.known.awaits:
                with suppress(InputError):  # we cannot listen there, and nobody hears us
                    session = ends.enter_context(self._session(state))
                    session.come_back()
            result = self._finish_alone(state, work, stands=stands)
            return self._part(session, state, work, result)

    def _part(
        self, session: Session | None, state: State, work: Undertaking[T], result: T
    ) -> RunEnd[T]:
        """See the others off, and put away what they do not need."""
        if session:
            self.clock.watch.stage("part")
            late = session.see_off(self.clock.watch.stop)
            state.save(awaits=late, needed_by=tuple(p for p in state.known.needed_by if p in late))
            session.leave()
        notes = self._put_away(state, work) or ()
        return RunEnd(result, state.known.awaits, state.known.needed_by, notes)

    def _put_away(self, state: State, work: Undertaking[Any]) -> tuple[str, ...]:
        """Close the transcript, keep it, and forget the run if nobody needs it.

        What was to appear stands: what goes wrong here is a note.
        """
        try:
            if work.kept_in and (state.folder / TRANSCRIPT).is_dir():
                state.transcript.sign(self.identity)
                kept = work.kept_in / TRANSCRIPT
                shutil.copytree(state.folder / TRANSCRIPT, kept, dirs_exist_ok=True)
                kept.chmod(0o700)
        except (OSError, InputError):
            return (
                f"{work.stands} stands, but the transcript of the run could not be kept with it in "
                f"{work.kept_in}. See that there is room and that it can be written; --resume then "
                "keeps it.",
            )
        if not state.known.needed_by:
            State.forget(state.folder)
        return ()


def _go(talk: Session, state: State) -> None:
    """Decide, or hear that it is decided; then nothing that others do prevents it."""
    peers = talk.peers if talk.me == talk.owners[0] else ()
    with suppress(Resumed, PartyError) if peers else nullcontext():
        exchange_go(talk, lambda: state.decide(needed_by=peers))
        if peers:
            state.save(needed_by=talk.settle())


def _is_decided(state: State) -> bool:
    """Whether all were ready, as far as we know: a kill may have come when it was heard."""
    known = state.known
    if not known.agreed and known.ready and _has_heard_go(state):
        state.decide()
    return state.known.agreed


def _has_heard_go(state: State) -> bool:
    # Of any epoch: the first owner says it once it has decided, and that is for good.
    state.transcript.sync()
    for entry in entries_in(state.folder / TRANSCRIPT / ENTRIES):
        if entry.direction == "received" and entry.peer == state.known.owners[0]:
            with suppress(Violation):
                word = decode(entry.frame)
                if isinstance(word, Envelope) and word.step == _GO and word.body == encode(Go()):
                    return True
    return False


def _tell_doubt(error: Exception, what: str) -> None:
    """Say of an owner that was ready what it cannot know: nothing was written *here*."""
    if isinstance(error, PartyError):
        what = what[:1].lower() + what[1:]
        why = f"we were ready, and cannot know whether all were: {what} may stand elsewhere."
        do = "go on with --resume, while the others do so, too, the first owner above all."
        error.problems = tuple(replace(problem, why=why, do=do) for problem in error.problems)
        error.args = (error.text(),)


def _see_same(public: bytes, ready: bytes, folder: Path) -> None:
    """Let nothing appear but what we were ready for."""
    if public != ready:
        raise InputError(
            "what would appear now is not what all were ready for", where=str(folder),
            why="the data, what they are read with, or the program have changed since.",
            do="go on with what it began with, or remove the folder to give it up.",
        )  # fmt: skip


class Journal:
    """A conversation that is over, as it was written down: nobody is asked again."""

    def __init__(self, me: str, owners: tuple[str, ...], state: State) -> None:
        self.me, self.owners, self._state, self._index = me, owners, state, 0

    def step(self, name: str, work: Callable[[], R]) -> R:
        """What a step came to."""
        index, self._index = self._index, self._index + 1
        if index >= self._state.finished:
            raise InputError(
                f'the interrupted run has not come to "{name}"', where=str(self._state.folder),
                why="the data or the options have changed since.",
                do="go on with what it began with, or remove the folder to give it up.",
            )  # fmt: skip
        return self._state.result(index, name)  # type: ignore[return-value]

    def attempt(self, name: str, most: int = 3) -> None:
        """Nothing begins."""

    def send(self, to: str, message: Message) -> None:
        """Nothing is said."""
        raise RuntimeError("a conversation that is over cannot go on")

    def receive(self, of: str, kind: type[M]) -> M:
        """Nothing is heard."""
        raise RuntimeError("a conversation that is over cannot go on")

    def refuse(self, of: str, what: str) -> PartyError:
        """What was written down is not what can have been said."""
        return PartyError(f"it was written down that {what}", where=of)
