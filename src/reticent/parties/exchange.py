"""The listening half of a session: a thread that hears all peers while the owner computes.

Whatever arrives is judged here, written to the transcript and synced, and only then acknowledged
and given to whoever asks. The thread also says to everybody, every few seconds, that this owner is
still there. Once a peer breaks the protocol or says farewell, all others are told at once, and the
session's own thread hears of it when it next asks for something.

What is shared with that thread is guarded by `changed`, which is notified of every change.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from reticent.errors import InputError, PartyError, ReticentError, Stopped, Unsatisfiable
from reticent.parties.chained import Unwritable
from reticent.parties.channel import Arrival, Channel
from reticent.parties.links import Received, Talk
from reticent.parties.messages import (
    FAILED,
    LARGEST_MESSAGE,
    NOT_RESUMED,
    OUT_OF_TIME,
    PROTOCOL,
    STOPPED,
    UNFIT,
    Acknowledgement,
    Code,
    Envelope,
    Farewell,
    Hello,
    SignOfLife,
    Violation,
    decode,
    digest_of,
    encode,
    is_reason,
    printable,
    short,
)
from reticent.parties.settings import unlike_runs
from reticent.parties.transcript import Transcript

_MOST_AT_ONCE = 64  # arrivals that share one wait for the disk
_LINGER = 1.5  # seconds for a peer that is just coming to hear why there will be no run
_MOST_HELD = LARGEST_MESSAGE // 4  # bytes of a peer that was quicker to see that all have met


class PeerError(PartyError):
    """What went wrong, and which peer did it."""

    def __init__(self, what: str, *, peer: str, step: str, why: str = "", do: str = "") -> None:
        super().__init__(what, where=f"{peer}, {printable(step)}", why=why, do=do)
        self.peer = peer
        self.final = False  # whether the peer has ended for good, and will not resume


class OutOfTime(PeerError):
    """The run has reached the time limit of this owner, while it waited for a peer."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a session cannot go on, and whom it was about."""

    error: BaseException
    step: str
    about: str = ""
    why: str = ""  # for the others to read
    told: bool = False  # by a farewell: what that peer had said before is still worth hearing


class Exchange:
    """All talks of one owner, and the thread that hears them."""

    def __init__(
        self, channel: Channel, transcript: Transcript, me: str, peers: Iterable[str],
        nonces: dict[str, bytes], life: float,
    ) -> None:  # fmt: skip
        self.channel, self.transcript, self.me = channel, transcript, me
        self.changed = threading.Condition()
        # From judging until it is given to whoever asks, arrivals are one thread's business: else
        # what the other one judged later could be synced and given earlier. Taken before `changed`.
        self._turn = threading.Lock()
        self.step = "meeting"
        self.mine: Hello | None = None
        self.hellos: dict[str, Hello] = {}
        self.talks: dict[str, Talk] = {}  # of the epoch in which all have met; empty until then
        self.heard = dict.fromkeys(peers, float("-inf"))
        self.farewells: dict[str, Farewell] = {}
        self.failure: Failure | None = None
        self.final = False  # this owner needs nobody any more: no farewell is a failure
        self.gone: set[str] = set()  # then: peers that ended otherwise than by being done
        self._last_word: Farewell | None = None
        self._told: set[str] = set()  # peers to whom it was said
        self._reached: set[str] = set()  # peers that a link of ours has led to
        self._to_hear: set[str] = set()  # peers that broke the protocol
        self._nonces = nonces
        self._life = life
        self._held: list[Arrival] = []
        self._held_bytes: Counter[str] = Counter()  # by peer
        self._closing = False
        self._thread = threading.Thread(target=self._listen, name="reticent-session", daemon=True)

    # The face for the session's own thread.

    @property
    def peers(self) -> list[str]:
        """All owners but this one."""
        return list(self.heard)

    @property
    def interrupted(self) -> str:
        """The peer that wants to begin a later epoch, if one does."""
        now = self.mine.epoch if self.mine else 0
        return next((name for name, hello in self.hellos.items() if hello.epoch > now), "")

    def parted(self, peer: str) -> bool:
        """Whether a peer has said that it is done."""
        return peer in self.farewells

    def announce(self, hello: Hello) -> None:
        """Begin an epoch: tell everybody where this owner stands, now and on every new link."""
        with self.changed:
            self.mine, self.talks, self._held = hello, {}, self._held_from(hello.epoch)
            # Who was done in this epoch before we came to it will not say so again.
            self.farewells = {
                peer: said for peer, said in self.farewells.items() if said.epoch >= hello.epoch
            }
            self._last_word = None
            for peer in self.heard:
                self.transcript.append("sent", peer, encode(hello))
                self.channel.send(peer, encode(hello))
        self.transcript.sync()
        if not self._thread.ident:
            self._thread.start()  # not earlier: a greeting that finds nobody would be lost

    def nonces_known(self, nonces: dict[str, bytes]) -> None:
        """Remember by what each peer will be known for the rest of the run."""
        self._nonces = nonces

    def open(self, talks: dict[str, Talk]) -> None:
        """All have met: let messages go, beginning with those that came too early."""
        with self._turn:
            with self.changed:
                self.talks = talks
                early, self._held = self._held, []
                self._held_bytes.clear()
                heard = self._judge(early)
            self._deliver(heard)

    def post(self, to: str, part: int, parts: int, body: bytes) -> None:
        """Send one envelope; it is sent again until it is acknowledged."""
        with self.changed:
            frame = self.talks[to].seal(self.step, part, parts, body, time.monotonic())
            self.transcript.append("sent", to, frame)
            self.channel.send(to, frame)

    def part(self, failure: Failure) -> None:
        """Tell everybody why this owner ends, unless they have been told."""
        with self.changed:
            try:
                if self.failure is None:
                    self.failure = failure
                    code = code_of(failure.error)
                    self._say_to_all(code, failure.step, failure.about, failure.why)
            finally:
                self.changed.notify_all()

    def say_done(self) -> None:
        """Tell everybody that this owner has all it wanted."""
        with self.changed:
            self._say_to_all(0, self.step)

    def close(self) -> None:
        """End the thread and the channel, which delivers what it can."""
        unseen = not self.talks or self._reached < {*self.heard} or self._to_hear - self._told
        if self.failure and unseen and self._thread.ident:
            # Whoever comes to the meeting just now would else wait for nobody: we may have met it,
            # while it, whom our link has not reached yet, has not met us. So it is with an owner
            # that began anew: our link was to the one that it was.
            with self.changed:
                patience = min(_LINGER, 5 * self._life)
                self.changed.wait_for(lambda: self._told >= {*self.heard}, patience)
        if self._closing:
            return
        self._closing = True
        self.channel.close()
        if self._thread.ident:
            self._thread.join()

    def _say_to_all(self, code: Code, step: str, about: str = "", why: str = "") -> None:
        epoch = self.mine.epoch if self.mine else 0
        farewell = Farewell(code, epoch, step[:200], about[:64], why[:200])
        self._last_word, self._told = farewell, set()
        for peer in self.heard:
            if self.channel.send(peer, encode(farewell)):
                self._told.add(peer)
                self.transcript.append("sent", peer, encode(farewell))

    # What follows runs in the listening thread.

    def _listen(self) -> None:
        due = time.monotonic() + self._life
        try:
            while not self._closing:
                arrivals = self._hear(max(0.0, due - time.monotonic()))
                with self._turn:
                    with self.changed:
                        heard = self._judge(arrivals)
                    self._deliver(heard)
                if time.monotonic() >= due:
                    self._say_alive()
                    due = time.monotonic() + self._life
        except Exception as error:  # of our own: a full disk, or a mistake of ours
            with suppress(Unwritable):  # nor can the farewell be, on a full disk
                self.part(Failure(error, self.step))

    def _hear(self, timeout: float) -> list[Arrival]:
        first = self.channel.receive(timeout)
        arrivals = [first] if first else []
        while arrivals and len(arrivals) < _MOST_AT_ONCE:
            another = self.channel.receive(0)
            if another is None:
                break
            arrivals.append(another)
        return arrivals

    def _judge(self, arrivals: list[Arrival]) -> _Heard:
        heard = _Heard([], [], set(), write=False)
        for arrival in arrivals:
            try:
                self._judge_one(arrival, heard)
            except Violation as violation:
                self._blame(arrival.peer, str(violation), violation.do)
                break
        return heard

    def _judge_one(self, arrival: Arrival, heard: _Heard) -> None:
        peer = arrival.peer
        if arrival.kind == "open":
            self._greet(peer)
            heard.talks.add(peer)  # what it sent over the last link is acknowledged once synced
            return
        if arrival.kind == "fault":
            raise Violation(arrival.why)
        word = decode(arrival.frame)
        self.heard[peer] = time.monotonic()
        talk = self.talks.get(peer)
        match word:
            case Hello():
                heard.write |= self._welcome(peer, word, arrival.frame)
            case Envelope():
                self._admit(arrival, word, heard)
            case Acknowledgement() if talk:
                talk.acknowledged(word)
            case SignOfLife() if talk and talk.lost(word, time.monotonic() - self._life):
                self._send_again(talk)
            case Farewell():
                if word != self.farewells.get(peer):  # it is said again on every new link
                    self.transcript.append("received", peer, arrival.frame)
                    heard.write = True
                heard.farewells.append((peer, word))

    def _admit(self, arrival: Arrival, envelope: Envelope, heard: _Heard) -> None:
        peer, talk = arrival.peer, self.talks.get(arrival.peer)
        hello = self.hellos.get(peer)
        if hello is None or envelope.epoch > hello.epoch:
            raise Violation("it sent a message before it had introduced itself")
        if talk and envelope.epoch == talk.epoch:
            size = len(arrival.frame)
            if talk.admit(envelope, digest_of(arrival.frame), size):
                place = self.transcript.append("received", peer, arrival.frame)
                parts = (envelope.part, envelope.parts)
                heard.messages.append((talk, Received(envelope.step, *parts, size, place)))
            heard.talks.add(peer)
        elif self.mine and envelope.epoch >= self.mine.epoch:
            # The peer has seen all others already; we have not, and do not know the run's id.
            self._held.append(arrival)
            self._held_bytes[peer] += len(arrival.frame)
            if self._held_bytes[peer] > _MOST_HELD:
                raise Violation("it sent too much before all owners have met")
        # else: of an epoch that is over; it was under way when that ended.

    def _held_from(self, epoch: int) -> list[Arrival]:
        """What is held for an epoch that has not been overtaken meanwhile."""
        kept = []
        for arrival in self._held:
            word = decode(arrival.frame)
            if isinstance(word, Envelope) and word.epoch >= epoch:
                kept.append(arrival)
        self._held_bytes = Counter()
        for arrival in kept:
            self._held_bytes[arrival.peer] += len(arrival.frame)
        return kept

    def _welcome(self, peer: str, hello: Hello, frame: bytes) -> bool:
        """Whether an introduction says something new."""
        mine, known = self.mine, self.hellos.get(peer)
        if mine is None or hello.purpose != mine.purpose:
            return False
        compare(hello, mine, peer)
        nonce = self._nonces.get(peer, known.nonce if known else hello.nonce)
        if hello.nonce != nonce:
            raise Violation(NOT_RESUMED, do=_TOGETHER)
        if known and hello.epoch == known.epoch and hello != known:
            raise Violation("it introduced itself twice, with other words")
        if known and hello.epoch <= known.epoch:
            return False
        self.hellos[peer] = hello
        self.gone.discard(peer)
        self.transcript.append("received", peer, frame)
        return True

    def _greet(self, peer: str) -> None:
        """A link has opened: begin with what the peer may not have got over the last one."""
        self.channel.take_up(peer)
        self._reached.add(peer)
        if self.mine:
            self.channel.send(peer, encode(self.mine))
        if talk := self.talks.get(peer):
            self._send_again(talk)
        if self._last_word and self.channel.send(peer, encode(self._last_word)):
            self._told.add(peer)
            self.changed.notify_all()

    def _send_again(self, talk: Talk) -> None:
        for sent in talk.outbox:
            self.channel.send(talk.peer, sent.frame)

    def _say_alive(self) -> None:
        with self.changed:
            epoch = self.mine.epoch if self.mine else 0
            for peer in self.heard:
                received = self.talks[peer].received if peer in self.talks else 0
                self.channel.send(peer, encode(SignOfLife(epoch, received)))

    def _deliver(self, heard: _Heard) -> None:
        """Sync, and only then acknowledge what was heard and give it to whoever waits."""
        if heard.messages or heard.write:
            self.transcript.sync()
        with self.changed:
            for talk, received in heard.messages:
                talk.inbox.append(received)
            for peer in heard.talks & self.talks.keys():
                if word := self.talks[peer].acknowledgement():
                    self.channel.send(peer, word)
            for peer, farewell in heard.farewells:
                self._part_with(peer, farewell)
            self.changed.notify_all()

    def _part_with(self, peer: str, farewell: Farewell) -> None:
        if farewell.code == 0:
            if self.mine is None or (farewell.epoch < self.mine.epoch and not self.final):
                return  # it was done when somebody resumed, and is no more
            self.farewells[peer] = farewell
            if talk := self.talks.get(peer):
                talk.settle(talk.sent)
            return
        if self.final:
            self.gone.add(peer)
            return
        about = farewell.about if farewell.about in (*self.heard, self.me) else peer
        error = told_by(peer, farewell, self.me)
        why = farewell.why or error.problems[0].what
        self.part(Failure(error, farewell.step, about, why, told=True))

    def _blame(self, peer: str, what: str, do: str) -> None:
        error = PeerError(what, peer=peer, step=self.step, why=_WHY, do=do or _DO)
        self._to_hear.add(peer)
        self.part(Failure(error, self.step, peer, what))


def code_of(error: BaseException) -> Code:
    """What the others are told of an error: its exit code."""
    match error:
        case InputError():
            return 2
        case Unsatisfiable():
            return 3
        case PartyError():
            return 4
        case Stopped() | KeyboardInterrupt():
            return 130
    return 70


@dataclass(slots=True)
class _Heard:
    """What a batch of arrivals brought, before it is synced."""

    messages: list[tuple[Talk, Received]]
    farewells: list[tuple[str, Farewell]]
    talks: set[str]  # whom to acknowledge something to
    write: bool  # whether there is anything else to sync


_WHY = "the run ends at every owner, and nothing is written."
_AGAIN = "then begin again together: with --resume where a folder OUTPUT.run stands."
_MEND = f"ask its owner what was wrong there, {_AGAIN}"
_TOGETHER = f"ask its owner, {_AGAIN}"
_AGREE = "agree with its owner on what has to change, there or here, and start again."
_DO = "see that all owners use the same version, policy and run name, and start again."


def compare(hello: Hello, mine: Hello, peer: str) -> None:
    """Refuse a peer that came for something else."""
    if hello.sender != peer:
        raise Violation(f'it calls itself "{printable(hello.sender)}"')
    if (hello.protocol, hello.product) != (PROTOCOL, mine.product):
        raise Violation(
            f"it runs version {printable(hello.product)} (protocol {hello.protocol}), "
            f"this owner {mine.product} (protocol {PROTOCOL})"
        )
    if hello.run_name != mine.run_name:
        mends = unlike_runs(printable(hello.run_name), mine.run_name)
        raise Violation(
            f'it came for the run "{printable(hello.run_name)}", this owner for "{mine.run_name}"',
            do=f"{mends}, then start again." if mends else "",
        )
    if hello.policy != mine.policy:
        raise Violation(
            f"its policy is another one (digest {short(hello.policy)} …, "
            f"here {short(mine.policy)} …)"
        )


def _of_us(because: str) -> str:
    """What a peer says of this owner, in which "it" would be the peer."""
    return because.replace(": it ", ": this owner ", 1)


def told_by(peer: str, farewell: Farewell, me: str) -> ReticentError:
    """The error of an owner that was told by another one that the run is over."""
    step, about = printable(farewell.step), printable(farewell.about)
    because = f": {printable(farewell.why)}" if farewell.why else ""
    may_go_on = is_reason(farewell.why) or not farewell.why
    then = _TOGETHER if may_go_on else ""
    match farewell.code:
        case 3:
            return Unsatisfiable(
                f"{peer} says that nothing can keep what all agreed on", where=f"{peer}, {step}"
            )
        case 2:
            error = PeerError(UNFIT, peer=peer, step=step, why=_WHY, do=_MEND)
            error.final = True
            return error
        case 130:
            return PeerError(STOPPED, peer=peer, step=step, why=_WHY, do=_TOGETHER)
        case 4 if is_reason(farewell.why, [OUT_OF_TIME]):
            do = f"ask its owner to give the run more time, {_AGAIN}"
            return PeerError(farewell.why, peer=about or peer, step=step, why=_WHY, do=do)
        case 4 if about == me:
            words = f"it ended the run because of this owner{_of_us(because)}"
            return PeerError(words, peer=peer, step=step, why=_WHY, do=then or _AGREE)
        case 4 if about and about != peer:
            words = f"{peer} ended the run because of {about}{because}"
            return PeerError(words, peer=about, step=step, why=_WHY, do=then)
        case 4 if about:
            words = f"another owner ended the run because of it{because}"
        case _:
            words = f"{FAILED}{because}"
    return PeerError(words, peer=peer, step=step, why=_WHY, do=then)
