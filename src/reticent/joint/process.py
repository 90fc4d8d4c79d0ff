"""One owner's part in a joint release, as a process of its own: what `reticent integrate` does.

State stands in OUT.run/ beside the output, its owner's alone, until the release has appeared. An
owner that was killed goes on from there (`resume`). Whether a table appears is decided once:

    ready    every owner writes down the digest of its public side, then tells it to all
    decided  the first owner writes that down when all are ready with the same digest
    go       it tells the others, who have it in their transcripts before they acknowledge it

An owner that knows of the decision needs nobody else to finish, whenever it was killed, and lets
nothing appear but what it was ready for. One that was killed between ready and go cannot know, and
asks by resuming: so the first owner keeps its state until all have acknowledged.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from reticent.errors import InputError, PartyError, Unsatisfiable, many
from reticent.files.output import refuse_nameless, whole_file
from reticent.joint.flow import JointTable, Wishes, common_records, joint_table, see_alone
from reticent.joint.folder import contents
from reticent.joint.owner import OwnRecords, own_records
from reticent.joint.policy import JointPolicy
from reticent.joint.publishing import (
    Agree,
    exchange_go,
    exchange_ready,
    publish_joint,
    recounted,
)
from reticent.joint.report import MEETING, JointRelease, WireFacts, said_in
from reticent.parties.chained import Unwritable
from reticent.parties.check import parties_of
from reticent.parties.identity import CERTIFICATE
from reticent.parties.messages import Envelope, Resumption, Violation, decode
from reticent.parties.session import Deadlines, Decided, Resumed, Session
from reticent.parties.settings import PartySettings
from reticent.parties.state import TRANSCRIPT, State
from reticent.parties.tcp import TcpChannel
from reticent.parties.transcript import ENTRIES, entries_in
from reticent.parties.wire import Conversation, M, Message, R
from reticent.progress import Clock, Watch
from reticent.releases.folder import digest
from reticent.releases.places import Place

_RUNS = "runs.jsonl"  # in the identity's folder: which runs it was in, with whom
_GO = "go"
_FIRST = "our records"
_MOST = "what all accept"
_TOLD_NOTHING_YET = (_FIRST, "common records", _MOST)


@dataclass(frozen=True, slots=True)
class IntegrateOptions:
    """What somebody asks of one run, besides the settings."""

    output: str | None = None
    resume: bool = False
    dry_run: bool = False
    again: bool = False
    max_steps: int | None = None
    time_limit: float | None = None  # seconds, after which all stop at the next round
    force: bool = False


@dataclass(frozen=True, slots=True)
class DryRun:
    """What owners know after they have intersected their ids, and told nothing else."""

    owner: str
    common: int
    brought: Mapping[str, int]
    hands_over: Mapping[str, Mapping[str, Sequence[str]]]


def integrate(
    party: str | Path,
    options: IntegrateOptions | None = None,
    watch: Watch | None = None,
    warn: Callable[[JointPolicy, Sequence[str]], None] = lambda policy, notes: None,
) -> JointRelease | DryRun:
    """Make a joint release together with the other owners.

    Before we meet them, `warn` is told the policy and what was assumed in reading our data.
    """
    settings = PartySettings.load(party)
    return _Owner(settings, options or IntegrateOptions(), watch or Watch(), warn).run()


class _Owner:
    """One owner, from its settings to its release."""

    def __init__(
        self,
        settings: PartySettings,
        options: IntegrateOptions,
        watch: Watch,
        warn: Callable[[JointPolicy, Sequence[str]], None],
    ) -> None:
        self.warn = warn
        self.begun = time.monotonic()
        self.settings, self.options = settings, options
        self.policy = JointPolicy.load(settings.path(settings.policy))
        settings.refuse_unlike(self.policy.agreement)
        self.identity, self.peers = parties_of(settings)
        if settings.data is None:
            raise InputError("no data are named", where=settings.name, do='say  data = "…".')
        self.data = settings.data if "://" in settings.data else settings.path(settings.data)
        named = options.output or (settings.output and str(settings.path(settings.output)))
        if not named:
            raise InputError(
                "no output is named", where=settings.name, do="say  output = …,  or  -o OUT."
            )
        self.output = Path(named)
        refuse_nameless(self.output)
        self.state_folder = self.output.with_name(f"{self.output.name}.run")
        self._telling, self._words = watch.tell, ""
        self.clock = Clock(replace(watch, tell=self._tell))
        self.run_name = settings.run_title + (" (dry run)" if options.dry_run else "")
        self.reading = settings.reading.told()
        self.nonce = ""  # of the run that we go on with

    def run(self) -> JointRelease | DryRun:
        """Read what is ours, then talk."""
        agreed = self._seen_before() if self.options.resume else b""
        self._refuse_second_look()
        # What stands there may be an earlier release: only the one agreed on has appeared.
        place = None if agreed and self._public_digest() == agreed else self._place()
        with self.clock.stage("read"):
            own = own_records(str(self.data), self.policy, self.settings.owner, self.reading)
        with ExitStack() as ends:
            state = self._state()
            if self.options.dry_run:
                ends.callback(State.forget, self.state_folder)
            ends.callback(state.close)
            if agreed:
                return self._come_back(state, own, place)
            self.warn(self.policy, own.notes)
            self.clock.watch.stage("meet")
            with self._forgetting(state, ends):
                session = self._session(state)
            with session:
                if self.options.dry_run:
                    return session.run(partial(self._look, own))
                assert place is not None
                with self._forgetting(state, ends):
                    release = self._agreed_release(session, state, own, place)
                return self._part(session, state, release)

    def _session(self, state: State) -> Session:
        return Session(
            TcpChannel(self.identity, self.settings.listen, self.peers), state,
            deadlines=self._deadlines, offers=self.policy.handed_over(self.settings.owner),
            resumes=self.options.resume, waits=self._wait,
        )  # fmt: skip

    @contextmanager
    def _forgetting(self, state: State, ends: ExitStack) -> Iterator[None]:
        """Leave no state behind of a run that nobody can go on with.

        That is one in which nothing was done yet, or which failed for what must be mended first.
        """
        try:
            yield
        except BaseException as error:
            begun = state.last_step not in ("", _FIRST)
            told = state.last_step not in ("", *_TOLD_NOTHING_YET)
            wrong = isinstance(error, InputError) or getattr(error, "final", False)
            if not begun or (wrong and not told) or isinstance(error, Unsatisfiable):
                ends.callback(State.forget, self.state_folder)
            elif isinstance(error, Unwritable):
                raise error.with_remedy("then go on with --resume.") from None
            raise

    def _tell(self, words: str) -> None:
        self._words = words
        self._telling(words)

    def _wait(self, peers: Sequence[str]) -> None:
        waiting = [f"waiting for {', '.join(peers)}"] if peers else []
        self._telling("; ".join([*filter(None, [self._words]), *waiting]))

    @property
    def _deadlines(self) -> Deadlines:
        settings = self.settings
        return Deadlines(
            settings.meet_timeout, settings.step_timeout, settings.time_limit,
            min(Deadlines().life, settings.step_timeout / 3),
        )  # fmt: skip

    @property
    def _wishes(self) -> Wishes:
        seconds = self.options.time_limit
        deadline = None if seconds is None else self.begun + seconds
        aligned = self.settings.ids == "aligned"
        return Wishes(aligned, self.settings.most_ids, self.options.max_steps, deadline)

    def _place(self) -> Place:
        files = [self.settings.path(self.settings.policy)]
        files += [] if "://" in str(self.data) else [Path(self.data)]
        return Place.of(
            self.output, (), inputs=files, force=self.options.force,
            form=" by several owners",
        )  # fmt: skip

    def _state(self) -> State:
        opened = State.resume if self.options.resume else State.begin
        return opened(
            self.state_folder, run_name=self.run_name, me=self.settings.owner,
            owners=tuple(self.policy.owners), policy=self.policy.digest,
        )  # fmt: skip

    def _look(self, own: OwnRecords, session: Session) -> DryRun:
        order, sizes, _ = common_records(session, own, self._wishes, self.clock.watch)
        see_alone(self.policy, own, order, self.reading)
        return DryRun(
            session.me, len(order), sizes,
            {name: self.policy.handed_over(name) for name in self.policy.owners},
        )  # fmt: skip

    def _release(
        self, talk: Conversation, state: State, own: OwnRecords, place: Place, agree: Agree
    ) -> JointRelease:
        joint = self._joint_table(talk, state, own)
        ids = [own.ids[row] for row in joint.order]
        return publish_joint(
            joint, place, self.clock, agree=agree, wire=wire_facts(state, talk.owners, talk.me),
            contents=lambda release, spot: contents(
                release, str(self.data), ids, self._runs(), self._certificates()
            ),
        )  # fmt: skip

    def _joint_table(self, talk: Conversation, state: State, own: OwnRecords) -> JointTable:
        return joint_table(
            talk, self.policy, own, self._wishes, self.clock, self.reading,
            before_telling=lambda: self._note_run(state),
        )  # fmt: skip

    def _certificates(self) -> dict[str, bytes]:
        """Of all owners, in PEM: by them a transcript is held against what was released."""
        settings = self.settings
        own = settings.path(settings.identity) / CERTIFICATE
        peers = {name: settings.path(peer.certificate) for name, peer in settings.peers.items()}
        return {name: path.read_bytes() for name, path in {settings.owner: own, **peers}.items()}

    # Letting it appear.

    def _agreed_release(
        self, session: Session, state: State, own: OwnRecords, place: Place
    ) -> JointRelease:
        """The release, once all are ready; when that is decided, whatever others do then."""

        def flow(talk: Session) -> JointRelease:
            return self._release(talk, state, own, place, partial(self._agree, talk, state))

        try:
            return session.run(flow)
        except (Decided, PartyError) as error:
            if _is_decided(state):
                return self._finish_alone(state, own, place)
            if state.known.ready:
                _tell_doubt(error)
            raise

    def _agree(self, talk: Session, state: State, public: bytes) -> None:
        def ready() -> str:
            state.save(ready=public)
            exchange_ready(talk, public)
            return public.hex()

        with self.clock.stage("agree"):
            _see_same(public, bytes.fromhex(talk.step("ready", ready)), self.state_folder)
            talk.step(_GO, lambda: _go(talk, state))

    def _finish_alone(self, state: State, own: OwnRecords, place: Place | None) -> JointRelease:
        """What all were ready for, from what is written down."""
        talk = _Journal(self.settings.owner, tuple(self.policy.owners), state)
        if place is None:  # it has appeared; what is left is to put things away
            joint = self._joint_table(talk, state, own)
            return replace(recounted(joint), output=str(self.output))
        ready, folder = state.known.ready, self.state_folder
        return self._release(talk, state, own, place, lambda p: _see_same(p, ready, folder))

    def _come_back(self, state: State, own: OwnRecords, place: Place | None) -> JointRelease:
        """Go on after a kill, when it was decided: we need nobody, but somebody may need us."""
        with ExitStack() as ends:
            session = None
            if state.known.awaits:
                with suppress(InputError):  # we cannot listen there, and nobody hears us
                    session = ends.enter_context(self._session(state))
                    session.come_back()
            return self._part(session, state, self._finish_alone(state, own, place))

    def _part(self, session: Session | None, state: State, release: JointRelease) -> JointRelease:
        """See the others off, and put away what they do not need."""
        if session:
            self.clock.watch.stage("part")
            late = session.see_off(self.clock.watch.stop)
            state.save(awaits=late, needed_by=tuple(p for p in state.known.needed_by if p in late))
            session.leave()
        notes = self._put_away(state) or ()
        known = state.known
        return replace(release, unconfirmed=known.awaits, needed_by=known.needed_by, notes=notes)

    def _put_away(self, state: State) -> tuple[str, ...]:
        """Close the transcript, keep it with the release, and forget the run if nobody needs it.

        The table stands: what goes wrong here is a note.
        """
        try:
            if (state.folder / TRANSCRIPT).is_dir():
                state.transcript.sign(self.identity)
                kept = self.output / "private" / TRANSCRIPT
                shutil.copytree(state.folder / TRANSCRIPT, kept, dirs_exist_ok=True)
                kept.chmod(0o700)
        except (OSError, InputError):
            return (
                f"The release stands, but the transcript of the run could not be kept with it in "
                f"{self.output / 'private'}. See that there is room and that it can be written; "
                "--resume then keeps it.",
            )
        if not state.known.needed_by:
            State.forget(state.folder)
        return ()

    # What was agreed before a kill.

    def _seen_before(self) -> bytes:
        """The digest of what all were ready for, if that was decided when we were killed."""
        state = self._state()
        try:
            self._refuse_too_late(state)
            self.nonce = state.known.nonces[self.settings.owner].hex()
            return state.known.ready if _is_decided(state) else b""
        finally:
            state.close()

    def _refuse_too_late(self, state: State) -> None:
        """Refuse to ask for fewer steps than all agreed on before the kill."""
        wanted = self.options.max_steps
        if wanted is None or _MOST not in state.steps:
            return
        agreed: Any = state.result(state.steps.index(_MOST), _MOST)
        if agreed is None or agreed > wanted:
            told = "as many as there are" if agreed is None else many(agreed, "step")
            raise InputError(
                f"--max-steps {wanted} comes too late: all agreed on {told}",
                where=str(self.state_folder),
                do="leave it out; Ctrl-C at one owner stops all after the round.",
            )

    def _public_digest(self) -> bytes:
        """What stands at our output, as owners compare it; nothing if there is no release."""
        try:
            return bytes.fromhex(digest(self.output / "public" / "manifest.json"))
        except OSError:
            return b""

    # Earlier runs.

    def _runs(self) -> list[dict[str, Any]]:
        path = self.identity.folder / _RUNS
        try:
            return _runs_in(path.read_text("utf-8"))
        except FileNotFoundError:
            return []
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            raise InputError(
                "the list of earlier runs cannot be read", where=str(path),
                why="it tells whether a run is a second look at the same people.",
                do="put back the file as it was; without it, no earlier run is known.",
            ) from None  # fmt: skip

    def _this_run(self) -> dict[str, Any]:
        return {
            "run": self.settings.run,
            "owners": sorted(self.policy.owners),
            "policy": self.policy.digest.hex(),
            "taxonomies": self.policy.trees(self.settings.owner),
        }

    def _note_run(self, state: State) -> None:
        """Note that the others are about to see our people; once, however often it is resumed."""
        nonce = state.known.nonces[self.settings.owner].hex()
        known = self._runs()
        if any(run.get("nonce") == nonce for run in known):
            return
        runs = [*known, {**self._this_run(), "nonce": nonce}]
        lines = "".join(json.dumps(run, ensure_ascii=False) + "\n" for run in runs)
        with whole_file(self.identity.folder / _RUNS, force=True, private=True) as path:
            path.write_text(lines, encoding="utf-8")

    def _refuse_second_look(self) -> None:
        """Another policy with any of the same peers is a second sight of the same people.

        So are other taxonomies of ours, of which the policy has the names alone.
        """
        if self.options.again or self.options.dry_run:
            return
        mine, others = self._this_run(), []
        for run in self._runs():
            is_this = self.nonce and run.get("nonce") == self.nonce
            if {*run["owners"]} & {*self.peers} and not is_this:
                if run["policy"] != mine["policy"]:
                    others.append((run, "another policy"))
                elif run.get("taxonomies", mine["taxonomies"]) != mine["taxonomies"]:
                    others.append((run, "other taxonomies"))
        if others:
            run, what = others[-1]
            known = [peer for peer in self.peers if peer in run["owners"]]
            raise InputError(
                f"{', '.join(known)} and we have seen the same people together before, with {what} "
                f'(run "{run["run"]}")',
                where=self.settings.name,
                why="of the people in both releases each owner learns what both show together: "
                "partitions of two runs intersect.",
                do="if all owners agree to that, add --again.",
            )


def _runs_in(text: str) -> list[dict[str, Any]]:
    """The runs of a list, one a line; what is none of them is a KeyError or its like."""
    runs = [json.loads(line) for line in text.splitlines() if line]
    for run in runs:
        if not all(isinstance(owner, str) for owner in [*run["owners"], run["policy"], run["run"]]):
            raise TypeError
        if not isinstance(run["owners"], list):
            raise TypeError
    return runs


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
                if isinstance(word, Envelope) and word.step == _GO:
                    return True
    return False


def _tell_doubt(error: Exception) -> None:
    """Say of an owner that was ready what it cannot know: nothing was written *here*."""
    if isinstance(error, PartyError):
        why = "we were ready, and cannot know whether all were: the release may stand elsewhere."
        do = "go on with --resume, while the others do so, too, the first owner above all."
        error.problems = tuple(replace(problem, why=why, do=do) for problem in error.problems)
        error.args = (error.text(),)


def _see_same(public: bytes, ready: bytes, folder: Path) -> None:
    """Let nothing appear but what we were ready for."""
    if public != ready:
        raise InputError(
            "what would appear now is not what all were ready for", where=str(folder),
            why="the data, the taxonomies or the program have changed since.",
            do="go on with what it began with, or remove the folder to give it up.",
        )  # fmt: skip


class _Journal:
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


def wire_facts(state: State, owners: Sequence[str], me: str) -> WireFacts:
    """What went over the wire so far, from the transcript."""
    sent = {owner: 0 for owner in owners if owner != me}
    received, messages, resumed = dict(sent), 0, 0
    by_words: dict[str, tuple[int, int]] = {}
    state.transcript.sync()
    for entry in entries_in(state.folder / TRANSCRIPT / ENTRIES):
        if entry.direction == "note":
            resumed += _is_resumption(entry.frame)
            continue
        by_peer = sent if entry.direction == "sent" else received
        by_peer[entry.peer] += len(entry.frame)
        try:
            word = decode(entry.frame)
        except Violation:
            continue
        is_message = isinstance(word, Envelope)
        words = said_in(word.step) if isinstance(word, Envelope) else MEETING
        known, size = by_words.get(words, (0, 0))
        by_words[words] = known + is_message, size + len(entry.frame)
        messages += is_message
    return WireFacts(sent, received, messages, by_words, resumed)


def _is_resumption(frame: bytes) -> bool:
    try:
        msgspec.msgpack.decode(frame, type=Resumption)
    except msgspec.DecodeError:
        return False
    return True
