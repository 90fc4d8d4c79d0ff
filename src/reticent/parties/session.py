"""One run with other owners: meet, talk step by step, survive a cut link or a kill, part.

A flow is a plain function that calls `step`, `send` and `receive`, the steps in the same order and
by the same names at every owner. What a step came to is written down; after a kill, the flow starts
again from its first line and `step` answers from the journal until the point that all owners have
reached. The owners that were not killed start their flow again too, by `Resumed`:

    with Session(channel, state, ...) as session:
        result = session.run(flow)

Some runs end in something that must come about at every owner or at none. Each then writes down
what it is ready for (`State.known.ready`) before it says so. The one that decides writes that down,
too, before it tells anybody (`State.decide`), and so does each that is told. Who has decided needs
nobody any more: it never goes through the flow again (`Decided`), says in every hello what all
agreed on, so that an owner which was killed before it had heard can ask by resuming, and stays for
a while to see the others off (`see_off`).

Waiting ends when a peer has given no sign of life for `step` seconds, when the whole run has taken
longer than `limit`, or at once when anybody says farewell; always in one error that names the peer,
the step and the reason. Whoever fails tells the others, so that all end together.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, TypeVar

import msgspec

from reticent.errors import PartyError, Problem, many
from reticent.parties.channel import Channel
from reticent.parties.exchange import Exchange, Failure, OutOfTime, PeerError
from reticent.parties.links import Talk
from reticent.parties.messages import (
    LATE,
    NO_INTRODUCTION,
    OUT_OF_TIME,
    PARTED,
    PROTOCOL,
    SILENT,
    UNREACHABLE,
    Envelope,
    Hello,
    Resumption,
    decode,
    encode,
    parts_of,
    printable,
    run_id,
)
from reticent.parties.state import State
from reticent.parties.wire import M, Message
from reticent.version import __version__

_GRACE = 1.0  # seconds in which a peer whose certificate is of no use can call, and be told so
_LONG_WAIT = 1.0  # seconds after which people are told whom we wait for
_LOOK = 0.2  # seconds between looks at links that may have turned out hopeless
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds."""

    meet: float = 600.0  # how long to wait for the others to start
    step: float = 60.0  # without the expected message or a sign of life
    limit: float | None = None  # the hard end of the run
    life: float = 10.0  # between two signs of life


class Resumed(Exception):
    """Another owner was restarted: leave the flow, `rejoin`, and start it again."""


class Decided(Exception):
    """All were ready, and nobody is needed any more: finish alone, and `see_off` the others."""


class Session:
    """The part of this owner in a run; a `Wire` for protocols."""

    def __init__(
        self,
        channel: Channel,
        state: State,
        *,
        deadlines: Deadlines = Deadlines(),
        offers: Mapping[str, Sequence[str]] | None = None,
        resumes: bool = False,
        product: str = __version__,
        waits: Callable[[Sequence[str]], None] = lambda peers: None,
    ) -> None:
        """Take an open channel and an open state; both are closed with the session.

        `waits` is told whom this owner waits for, and why, when that takes long; then of nobody.
        """
        known = state.known
        self.me, self.owners = known.me, known.owners
        self.peers = tuple(name for name in known.owners if name != known.me)
        self._state, self._deadlines, self._resumes = state, deadlines, resumes
        self._offers = {role: list(names) for role, names in (offers or {}).items()}
        self._product, self._waits = product, waits
        self._end = time.monotonic() + (deadlines.limit or float("inf"))
        self.unconfirmed: tuple[str, ...] = ()  # owners that did not say that they are done
        self._index = 0  # of the next step
        self._inside = False  # of a step
        self._hopeless: dict[str, float] = {}  # since when waiting for a peer does not help
        self._decoders: dict[type[Any], Callable[[bytes], Any]] = {}
        self._exchange = Exchange(
            channel, state.transcript, self.me, self.peers, known.nonces, deadlines.life
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error:
            self.fail(error)
        self.close()

    # The whole run.

    def run(self, flow: Callable[[Self], R]) -> R:
        """Meet, follow the flow to its end, as often as somebody resumes, and part.

        Where the flow has decided something, parting is left to `see_off`; Decided is raised where
        that came to light outside of the flow.
        """
        try:
            self.meet()
            while True:
                try:
                    result = flow(self)
                except Resumed:
                    self.rejoin()
                    continue
                if self._state.known.agreed or self._ended():
                    return result
        except Decided:
            raise
        except BaseException as error:
            self.fail(error)
            raise

    def _ended(self) -> bool:
        """Part, after the flow; False if somebody who was killed at its end wants to go on."""
        try:
            self.unconfirmed = self.finish()
            return True
        except Resumed:
            parted = {peer for peer in self.peers if self._exchange.parted(peer)}
        try:
            self.rejoin()
            return False
        except PeerError:
            # Others were done as well, and are gone: what we have, we have.
            self.unconfirmed = tuple(peer for peer in self.peers if peer not in parted)
            return True

    def fail(self, error: BaseException) -> None:
        """Tell everybody that this owner ends, and why as far as it is their business."""
        about = error.peer if isinstance(error, PeerError) else ""
        why = error.problems[0].what if isinstance(error, PartyError) else ""
        # Where a peer listens is between the two of us.
        why = UNREACHABLE if why.startswith(UNREACHABLE) else why
        if isinstance(error, OutOfTime):  # whom we waited for just then does not matter to them
            about, why = self.me, OUT_OF_TIME.format(f"{self._deadlines.limit:g}")
        self._exchange.part(Failure(error, self._exchange.step, about, why))

    def leave(self) -> None:
        """Close the channel, when what was said has been delivered: nothing is heard any more."""
        self._exchange.close()

    def close(self) -> None:
        """Leave, and close the state."""
        self.leave()
        self._state.close()

    # Meeting.

    @property
    def met(self) -> Mapping[str, Hello]:
        """What each peer said of itself."""
        return dict(self._exchange.hellos)

    def meet(self) -> None:
        """Wait until all owners are there and want the same."""
        self._gather("meet_timeout", restarted=self._resumes)

    def rejoin(self) -> None:
        """Meet again after a peer has resumed, and agree where to go on."""
        self._gather("step_timeout", restarted=False)

    def _gather(self, patience: str, *, restarted: bool) -> None:
        """Wait for all; `patience`: the key of the party file that says how long."""
        exchange, start = self._exchange, time.monotonic()
        exchange.step = "meeting"
        least = self._state.known.epoch + restarted
        while True:
            self._hear_of_a_decision()
            epoch = self._latest(least)
            if exchange.mine is None or exchange.mine.epoch != epoch:
                self._announce(epoch)
            with exchange.changed:
                self._raise_failure()
                if any(hello.agreed is not None for hello in exchange.hellos.values()):
                    continue  # it was heard just now, before anything else is concluded
                missing = [peer for peer in self.peers if self._epoch_of(peer) < epoch]
                if not missing and not exchange.interrupted:
                    break
                if missing:
                    self._waits([self._with_trouble(peer) for peer in missing])
                    self._await_hello(missing, start, patience, again=epoch > 0)
        self._waits(())
        self._agree(epoch)

    def _latest(self, least: int) -> int:
        with self._exchange.changed:
            return max([least, *(hello.epoch for hello in self._exchange.hellos.values())])

    def _announce(self, epoch: int) -> None:
        self._state.save(epoch=epoch)
        self._exchange.announce(self._hello(epoch))

    def _hear_of_a_decision(self) -> None:
        """Leave where it is decided how the run ends, be it that a peer says so."""
        known = self._state.known
        if known.agreed:
            raise Decided
        with self._exchange.changed:
            said = {peer: hello.agreed for peer, hello in self._exchange.hellos.items()}
        for peer, agreed in said.items():
            if agreed is not None and agreed != known.ready:
                raise self.refuse(peer, "it says that all had agreed on something else than we")
            if agreed is not None:
                self._state.decide()
                raise Decided

    def _epoch_of(self, peer: str) -> int:
        hello = self._exchange.hellos.get(peer)
        return hello.epoch if hello else -1

    def _hello(self, epoch: int) -> Hello:
        known = self._state.known
        return Hello(
            protocol=PROTOCOL, product=self._product, purpose="run", sender=self.me,
            run_name=known.run_name, policy=known.policy, nonce=known.nonces[self.me], epoch=epoch,
            resumes=epoch > 0, finished=self._state.finished, clock=0.0,
            offers=self._offers, agreed=known.ready if known.agreed else None,
        )  # fmt: skip

    def _await_hello(self, missing: list[str], start: float, patience: str, *, again: bool) -> None:
        exchange, now = self._exchange, time.monotonic()
        seconds = self._deadlines.meet if patience == "meet_timeout" else self._deadlines.step
        troubles = {peer: exchange.channel.trouble(peer) for peer in missing}
        ended = [peer for peer in missing if peer in exchange.farewells]
        for peer, trouble in troubles.items():
            if trouble and trouble.hopeless:
                self._hopeless.setdefault(peer, now)
        hopeless = [peer for peer in missing if now >= self._hopeless.get(peer, now) + _GRACE]
        # A peer that gives signs of life is busy, and will hear of the new meeting.
        until = {
            peer: max(start + seconds, exchange.heard[peer] + self._deadlines.step)
            for peer in missing
        }
        late = [peer for peer in missing if now >= min(until[peer], self._end)]
        if guilty := ended or hopeless or late:
            problems = [
                Problem(
                    self._why_silent(p), where=f"{p}, meeting", do=self._remedy(p, again=again),
                    why="" if p in [*ended, *hopeless] else self._waited(now - start, patience),
                )
                for p in guilty
            ]  # fmt: skip
            error = PeerError(problems[0].what, peer=guilty[0], step="meeting")
            error.problems = tuple(problems)
            error.args = (error.text(),)
            raise error
        exchange.changed.wait(min(_LOOK, *(until[p] - now for p in missing), self._end - now))

    def _waited(self, seconds: float, key: str) -> str:
        """For how long, and which key of the party file said so."""
        if time.monotonic() >= self._end:
            key = "time_limit"
        return (
            f"this owner waited {many(round(seconds), 'second')} for it ({key} in the party file)."
        )

    def _remedy(self, peer: str, *, again: bool) -> str:
        """What helps where a peer did not come to the meeting."""
        then = "start again, with --resume where it was interrupted" if again else "start again"
        if peer in self._exchange.farewells:
            return f"ask its owner why, then {then}, at the same time."
        trouble = self._exchange.channel.trouble(peer)
        if trouble and trouble.do:
            return trouble.do
        return (
            "see that it is started there, and that its  address  here leads to its  listen  "
            f"there; then {then}."
        )

    def _agree(self, epoch: int) -> None:
        """All have said hello in this epoch: which run it is, and from which step it goes on."""
        exchange, state = self._exchange, self._state
        hellos = exchange.hellos
        nonces = state.known.nonces | {peer: hellos[peer].nonce for peer in self.peers}
        if nonces != state.known.nonces:
            state.save(nonces=nonces)
            exchange.nonces_known(nonces)
        run = run_id(state.known.run_name, [(name, nonces[name]) for name in self.owners])
        finished = min([state.finished, *(hellos[peer].finished for peer in self.peers)])
        if epoch:
            state.cut_back(finished)
            note = encode(Resumption(epoch, finished))
            state.transcript.append("note", "", note, sync=True)
        self._index = 0
        exchange.open({peer: Talk(self.me, peer, run, epoch) for peer in self.peers})

    # Talking.

    def step(self, name: str, work: Callable[[], R]) -> R:
        """Do one step and write down what it came to, or give what it came to before a kill.

        The result must be something MessagePack can hold; it is given as read back, tuples as
        lists, so that it is the same the first time and after a resume.
        """
        self._check()
        index, self._index = self._index, self._index + 1
        if index >= self._state.finished:
            self._state.finish(name, self._inside_of(name, work))
        return self._state.result(index, name)  # type: ignore[return-value]

    def _inside_of(self, name: str, work: Callable[[], R]) -> R:
        if self._inside:
            raise RuntimeError("a step cannot begin inside another: which one would a resume skip?")
        self._inside, self._exchange.step = True, name
        try:
            return work()
        finally:
            self._inside = False

    def attempt(self, name: str, most: int = 3) -> None:
        """Count that something begins which must not be begun often, kills and resumes included."""
        self._state.attempt(name, most)

    def send(self, to: str, message: Message) -> None:
        """Say something to another owner; waits only while too much is on its way already."""
        for part, parts, body in parts_of(encode(message)):
            talk = self._talk(to, told_too=False)
            self._until(to, talk.has_room)
            self._exchange.post(to, part, parts, body)

    def receive(self, of: str, kind: type[M]) -> M:
        """The next message of another owner, which must be of this kind and of this step."""
        talk = self._talk(of, told_too=False)
        with self._exchange.changed:
            self._until(of, talk.has_message)
            received = talk.next_message()
        if received[0].step != self._exchange.step:
            raise self.refuse(of, f'it sent a message of the step "{printable(received[0].step)}"')
        frames = [decode(self._state.transcript.frame(part.place)) for part in received]
        body = b"".join(frame.body for frame in frames if isinstance(frame, Envelope))
        decoder = self._decoders.setdefault(kind, msgspec.msgpack.Decoder(kind).decode)
        try:
            return decoder(body)  # type: ignore[no-any-return]
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise self.refuse(of, f"its message is no {kind.__name__}") from None

    def refuse(self, of: str, what: str) -> PartyError:
        """The error for a message that breaks the protocol; raise it."""
        return PeerError(
            what, peer=of, step=self._exchange.step,
            why="the run ends at every owner, and nothing is written.",
        )  # fmt: skip

    def finish(self) -> tuple[str, ...]:
        """Part when all are done; whoever did not say so in time is returned.

        Nobody leaves before everything it said is safe, and before all others are done: one that is
        killed just before its end can still resume.
        """
        exchange = self._exchange
        late = {*self.settle()}
        exchange.say_done()
        late |= {
            peer for peer in self.peers if not self._came(peer, partial(exchange.parted, peer))
        }
        return tuple(peer for peer in self.peers if peer in late)

    def settle(self, but: Sequence[str] = ()) -> tuple[str, ...]:
        """Wait until all that was said is safe with the others; who is late is returned."""
        talks = {peer: self._talk(peer) for peer in self._exchange.talks if peer not in but}
        return tuple(p for p, talk in talks.items() if not self._came(p, talk.is_settled))

    # Parting, when it is decided how the run ends.

    def come_back(self) -> None:
        """Say, after a kill, that it is decided: whoever waits for the answer has it at once."""
        self._exchange.final = True
        self._announce(self._state.known.epoch + 1)

    def see_off(self, stop: Callable[[], bool] = lambda: False) -> tuple[str, ...]:
        """Say that this owner is done, answer whoever comes back, and wait for the others.

        Nothing that they do is an error any more. Returned is who did not say that it is done, at
        the latest when the user asks to `stop`.
        """
        exchange, known = self._exchange, self._state.known
        exchange.final = True
        asked_before = stop()
        # Who may need our answer was waited for already; an owner that was killed and came back
        # waits for it as for a meeting.
        waits = dict.fromkeys(self.peers, self._deadlines.step)
        waits |= dict.fromkeys(known.needed_by, 0 if exchange.talks else self._deadlines.meet)
        with suppress(Resumed, PeerError):
            self.settle(but=known.needed_by)
        exchange.say_done()
        start, done, told = time.monotonic(), set[str](), False
        while True:
            with exchange.changed:
                done |= exchange.farewells.keys()
                now = time.monotonic()
                late = [peer for peer in self.peers if peer not in done | exchange.gone]
                until = {
                    peer: max(start + waits[peer], exchange.heard[peer] + self._deadlines.step)
                    for peer in late
                }
                end = min(max(until.values(), default=now), self._end)
                if exchange.failure or now >= end or (stop() and not asked_before):
                    break
                if not exchange.interrupted:
                    if now >= start + _LONG_WAIT and not told:
                        self._waits([self._with_trouble(peer) for peer in late])
                        told = True
                    exchange.changed.wait(min(_LOOK, end - now))
                    continue
            self._announce(self._latest(0))
            exchange.say_done()
        self._waits(())
        return tuple(peer for peer in self.peers if peer not in done)

    def _came(self, peer: str, ready: Callable[[], bool]) -> bool:
        try:
            self._until(peer, ready)
        except PeerError:
            if self._exchange.failure:
                raise
            return False
        return True

    # Waiting.

    def _talk(self, peer: str, *, told_too: bool = True) -> Talk:
        self._check(peer, told_too=told_too)
        return self._exchange.talks[peer]

    def _check(self, peer: str = "", *, told_too: bool = True) -> None:
        """Raise what ends or interrupts the run; `told_too`: also what a peer ended it for.

        What that peer had said before its farewell is worth hearing first: where all owners see
        the same reason to end, all of them end for it, and not for being told.
        """
        with self._exchange.changed:
            failure = self._exchange.failure
            if failure and (told_too or not failure.told):
                raise failure.error
            if who := self._exchange.interrupted:
                raise Resumed(who)
        if time.monotonic() >= self._end:
            raise self._over(peer or ", ".join(self.peers))

    def _raise_failure(self) -> None:
        if self._exchange.failure:
            raise self._exchange.failure.error

    def _over(self, peer: str) -> OutOfTime:
        limit = self._deadlines.limit
        return OutOfTime(
            f"the run has reached its time limit of {limit:g} seconds",
            peer=peer, step=self._exchange.step,
            why="time_limit in the party file of this owner is the hard end: nothing is written.",
            do="give the run more time, then begin again together with the others: with --resume "
            "where a folder OUTPUT.run stands.",
        )  # fmt: skip

    def _until(self, peer: str, ready: Callable[[], bool]) -> None:
        """Wait for a peer until it has been silent for too long."""
        exchange, start = self._exchange, time.monotonic()
        told = False
        with exchange.changed:
            while True:
                self._check(peer, told_too=False)
                if ready():
                    if told:
                        self._waits(())
                    return
                self._check(peer)
                now = time.monotonic()
                if now >= start + _LONG_WAIT and not told:
                    self._waits([self._with_trouble(peer)])
                    told = True
                until = max(start, exchange.heard[peer]) + self._deadlines.step
                if now >= until or peer in exchange.farewells:
                    raise PeerError(
                        self._why_silent(peer), peer=peer, step=exchange.step,
                        do="see that it runs and can be reached, then start again, with --resume "
                        "where it was interrupted.",
                    )  # fmt: skip
                wake = until if told else min(until, start + _LONG_WAIT)
                exchange.changed.wait(min(wake, self._end) - now)

    def _with_trouble(self, peer: str) -> str:
        """Whom this owner waits for, and why it cannot be reached, if it cannot."""
        trouble = self._exchange.channel.trouble(peer)
        return f"{peer} ({trouble.what})" if trouble else peer

    def _why_silent(self, peer: str) -> str:
        """The true reason why something that should have come did not."""
        if peer in self._exchange.farewells:
            return PARTED
        if time.monotonic() >= self._end:
            return LATE.format(f"{self._deadlines.limit:g}")
        if trouble := self._exchange.channel.trouble(peer):
            return f"{UNREACHABLE}: {trouble.what}"
        if peer not in self._exchange.hellos:
            return NO_INTRODUCTION
        return SILENT.format(f"{self._deadlines.step:g}")
