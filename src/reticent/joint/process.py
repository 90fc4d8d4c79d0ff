"""One owner's part in a joint release, as a process of its own: what `reticent integrate` does.

State stands in OUT.run/ beside the output, its owner's alone, until the release has appeared. An
owner that was killed goes on from there (`resume`); one that was killed after all had agreed needs
nobody else to finish.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from reticent.errors import InputError, PartyError, Unsatisfiable
from reticent.files.output import whole_file
from reticent.joint.flow import Wishes, common_records, joint_table, see_alone
from reticent.joint.folder import contents
from reticent.joint.owner import OwnRecords, data_of, own_records
from reticent.joint.policy import JointPolicy
from reticent.joint.publishing import exchange_go, exchange_ready, publish_joint
from reticent.joint.report import MEETING, JointRelease, WireFacts, said_in
from reticent.parties.check import parties_of
from reticent.parties.identity import CERTIFICATE
from reticent.parties.messages import Envelope, Resumption, Violation, decode
from reticent.parties.session import Deadlines, Session
from reticent.parties.settings import PartySettings
from reticent.parties.state import TRANSCRIPT, State
from reticent.parties.tcp import TcpChannel
from reticent.parties.transcript import ENTRIES, entries_in
from reticent.parties.wire import Conversation, M, Message, R
from reticent.progress import Clock, Watch
from reticent.releases.folder import digest
from reticent.releases.places import Place
from reticent.sources.addresses import file_of, is_url

_RUNS = "runs.jsonl"  # in the identity's folder: which runs it was in, with whom
_GO = "go"
_FIRST = "our records"
_TOLD_NOTHING_YET = (_FIRST, "common records", "what all accept")


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
        self.data = data_of(settings.data, settings.folder)
        named = options.output or (settings.output and str(settings.path(settings.output)))
        if not named:
            raise InputError(
                "no output is named", where=settings.name, do="say  output = …,  or  -o OUT."
            )
        self.output = Path(named)
        self.state_folder = self.output.with_name(f"{self.output.name}.run")
        self._telling, self._words = watch.tell, ""
        self.clock = Clock(replace(watch, tell=self._tell))
        self.run_name = settings.run_title + (" (dry run)" if options.dry_run else "")
        self.reading = settings.reading.told()
        self.appeared: JointRelease | None = None

    def run(self) -> JointRelease | DryRun:
        """Read what is ours, then talk."""
        self._refuse_second_look()
        agreed = self.options.resume and self._has_agreed()
        place = None if agreed and self.output.exists() else self._place()
        with self.clock.stage("read"):
            own = own_records(str(self.data), self.policy, self.settings.owner, self.reading)
        with ExitStack() as ends:
            state = self._state()
            if self.options.dry_run:
                ends.callback(shutil.rmtree, self.state_folder, ignore_errors=True)
            ends.callback(state.close)
            if agreed:
                return self._finish_alone(state, own, place)
            self.warn(self.policy, own.notes)
            self.clock.watch.stage("meet")
            with self._forgetting(state, ends):
                channel = TcpChannel(self.identity, self.settings.listen, self.peers)
            session = Session(
                channel, state, deadlines=self._deadlines,
                offers=self.policy.handed_over(self.settings.owner), resumes=self.options.resume,
                waits=self._wait,
            )  # fmt: skip
            with session:
                if self.options.dry_run:
                    return session.run(partial(self._look, own))
                assert place is not None
                with self._forgetting(state, ends):
                    release = session.run(lambda talk: self._release(talk, state, own, place))
                self._put_away(state)
                return replace(release, unconfirmed=session.unconfirmed)

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
                ends.callback(shutil.rmtree, self.state_folder, ignore_errors=True)
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
        return Deadlines(settings.meet_timeout, settings.step_timeout, settings.time_limit)

    @property
    def _wishes(self) -> Wishes:
        seconds = self.options.time_limit
        deadline = None if seconds is None else self.begun + seconds
        aligned = self.settings.ids == "aligned"
        return Wishes(aligned, self.settings.most_ids, self.options.max_steps, deadline)

    def _place(self) -> Place:
        files = [self.settings.path(self.settings.policy)]
        data = file_of(self.data) if is_url(self.data) else Path(self.data)
        files += [data] if data else []
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
        self, talk: Conversation, state: State, own: OwnRecords, place: Place
    ) -> JointRelease:
        joint = joint_table(talk, self.policy, own, self._wishes, self.clock, self.reading)

        def agree(public: bytes) -> None:
            with self.clock.stage("agree"):
                talk.step("ready", lambda: exchange_ready(talk, public))
                talk.step(_GO, lambda: exchange_go(talk))

        if self.appeared is not None:  # somebody was killed at its end, and needs our words again
            agree(bytes.fromhex(digest(self.output / "public" / "manifest.json")))
            return self.appeared
        ids = [own.ids[row] for row in joint.order]
        runs = [*self._runs(), self._this_run()]
        self.appeared = publish_joint(
            joint, place, self.clock, agree=agree, wire=wire_facts(state, talk.owners, talk.me),
            contents=lambda release, spot: contents(
                release, str(self.data), ids, runs, self._certificates()
            ),
        )  # fmt: skip
        return self.appeared

    def _certificates(self) -> dict[str, bytes]:
        """Of all owners, in PEM: by them a transcript is held against what was released."""
        settings = self.settings
        own = settings.path(settings.identity) / CERTIFICATE
        peers = {name: settings.path(peer.certificate) for name, peer in settings.peers.items()}
        return {name: path.read_bytes() for name, path in {settings.owner: own, **peers}.items()}

    # What was agreed before a kill.

    def _has_agreed(self) -> bool:
        """Whether all had agreed when we were killed: then nobody else is needed."""
        state = self._state()
        try:
            return state.last_step == _GO
        finally:
            state.close()

    def _finish_alone(self, state: State, own: OwnRecords, place: Place | None) -> JointRelease:
        talk = _Journal(self.settings.owner, tuple(self.policy.owners), state)
        if place is None:  # it has appeared; what is left is to put things away
            joint = joint_table(talk, self.policy, own, self._wishes, self.clock, self.reading)
            from reticent.joint.publishing import recounted

            release = replace(recounted(joint), output=str(self.output))
        else:
            release = self._release(talk, state, own, place)
        self._put_away(state)
        return release

    def _put_away(self, state: State) -> None:
        """Close the transcript, keep it with the release, and forget the run."""
        if (state.folder / TRANSCRIPT).is_dir():
            state.transcript.sign(self.identity)
            kept = self.output / "private" / TRANSCRIPT
            shutil.copytree(state.folder / TRANSCRIPT, kept, dirs_exist_ok=True)
            kept.chmod(0o700)
        self._note_run()
        shutil.rmtree(state.folder, ignore_errors=True)

    # Earlier runs.

    def _runs(self) -> list[dict[str, Any]]:
        path = self.identity.folder / _RUNS
        try:
            return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]
        except FileNotFoundError:
            return []
        except (OSError, ValueError):
            raise InputError("the list of earlier runs cannot be read", where=str(path)) from None

    def _this_run(self) -> dict[str, Any]:
        return {
            "run": self.settings.run,
            "owners": sorted(self.policy.owners),
            "policy": self.policy.digest.hex(),
        }

    def _note_run(self) -> None:
        runs = [*self._runs(), self._this_run()]
        lines = "".join(json.dumps(run, ensure_ascii=False) + "\n" for run in runs)
        with whole_file(self.identity.folder / _RUNS, force=True, private=True) as path:
            path.write_text(lines, encoding="utf-8")

    def _refuse_second_look(self) -> None:
        """Another policy with any of the same peers is a second sight of the same people."""
        mine = self._this_run()
        others = [
            run
            for run in self._runs()
            if {*run.get("owners", ())} & {*self.peers} and run.get("policy") != mine["policy"]
        ]
        if others and not self.options.again and not self.options.dry_run:
            known = [peer for peer in self.peers if peer in others[-1]["owners"]]
            raise InputError(
                f"{', '.join(known)} and we have released together before, with another policy "
                f'(run "{others[-1].get("run")}")',
                where=self.settings.name,
                why="of the people in both releases each owner learns what both show together: "
                "partitions of two runs intersect.",
                do="if all owners agree to that, add --again.",
            )


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
