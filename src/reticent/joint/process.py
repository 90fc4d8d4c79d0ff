"""One owner's part in a joint release, as a process of its own: what `reticent integrate` does.

How it meets the others, survives kills and lets nothing appear that not all agreed on:
`reticent.parties.participation`. Here is what is about releases: our data, what the others are
told before, and earlier runs about the same people.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from reticent.errors import InputError, many
from reticent.files.output import whole_file
from reticent.joint.flow import JointTable, Wishes, common_records, joint_table, see_alone
from reticent.joint.folder import contents
from reticent.joint.owner import OwnRecords, own_records
from reticent.joint.pages import RunFacts
from reticent.joint.policy import JointPolicy
from reticent.joint.publishing import publish_joint, recounted
from reticent.joint.report import MEETING, JointRelease, said_in
from reticent.parties.participation import Agree, Participation, Undertaking
from reticent.parties.session import Session
from reticent.parties.settings import DRY_RUN, PartySettings
from reticent.parties.state import State
from reticent.parties.tally import wire_facts
from reticent.parties.wire import Conversation
from reticent.progress import Watch
from reticent.releases.folder import digest
from reticent.releases.places import Place
from reticent.releases.spoken import Spoken
from reticent.sources.addresses import data_of, file_of, is_url

_RUNS = "runs.jsonl"  # in the identity's folder: which runs it was in, with whom
_MOST = "what all accept"
_TOLD_NOTHING_YET = ("our records", "common records", _MOST)


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


@dataclass(frozen=True, slots=True, repr=False)
class DryRun(Spoken):
    """What owners know after they have intersected their ids, and told nothing else."""

    owner: str
    common: int
    brought: Mapping[str, int]
    hands_over: Mapping[str, Mapping[str, Sequence[str]]]
    held_by: Mapping[tuple[str, ...], int]  # as the first of three or more owners sees it
    left_out: int  # records of ours that miss a value, and took no part
    between: Sequence[str]  # what owners should know of each other besides

    def _says(self, words: Any) -> str:
        said: str = words.dry_run(self)
        return said


def integrate(
    party: str | Path,
    options: IntegrateOptions | None = None,
    watch: Watch | None = None,
    warn: Callable[[JointPolicy, Sequence[str]], None] = lambda policy, notes: None,
) -> JointRelease | DryRun:
    """Make a joint release together with the other owners.

    Before we meet them, `warn` is told the policy and what was assumed in reading our data.
    """
    options = options or IntegrateOptions()
    if options.dry_run and options.resume:
        raise InputError(
            "a dry run is never resumed", where="--dry-run --resume",
            why="nothing stays of one that was interrupted.",
            do="leave out --resume to look once more, or --dry-run to go on with the run.",
        )  # fmt: skip
    return _Owner(PartySettings.load(party), options, watch or Watch(), warn).run()


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
        self.policy = JointPolicy.load(settings.policy_file)
        settings.refuse_unlike(self.policy.agreement)
        if settings.data is None:
            raise InputError("no data are named", where=settings.name, do='say  data = "…".')
        self.data = data_of(str(settings.data), settings.folder)
        self.output = settings.output_of(options.output)
        self.part = Participation(
            settings, self.policy.agreement, self.output, watch, resume=options.resume,
            words=DRY_RUN if options.dry_run else "", harmless=_TOLD_NOTHING_YET,
        )  # fmt: skip
        self.clock = self.part.clock
        self.reading = settings.reading.told()

    def run(self) -> JointRelease | DryRun:
        """Read what is ours, then talk."""
        agreed = self.part.decided_before(self._refuse_too_late)
        self._refuse_second_look()
        # What stands there may be an earlier release: only the one agreed on has appeared.
        stands = bool(agreed) and self._public_digest() == agreed
        place = None if stands else self._place()
        with self.clock.stage("read"):
            own = own_records(str(self.data), self.policy, self.settings.owner, self.reading)
        begin = partial(self.warn, self.policy, own.notes)
        if self.options.dry_run:
            return self.part.look(partial(self._look, own), begin)
        work = Undertaking(
            partial(self._release, own, place), partial(self._released, own),
            self.output / "private", "The release",
        )  # fmt: skip
        end = self.part.take_part(work, agreed, stands=stands, begin=begin)
        return replace(
            end.result, unconfirmed=end.unconfirmed, needed_by=end.needed_by, troubles=end.notes
        )

    @property
    def _wishes(self) -> Wishes:
        seconds = self.options.time_limit
        deadline = None if seconds is None else self.begun + seconds
        aligned = self.settings.ids == "aligned"
        return Wishes(aligned, self.settings.most_ids, self.options.max_steps, deadline)

    def _place(self) -> Place:
        files = [self.settings.policy_file]
        data = file_of(self.data) if is_url(self.data) else Path(self.data)
        files += [data] if data else []
        return Place.of(
            self.output, (), inputs=files, force=self.options.force,
            form=" by several owners",
        )  # fmt: skip

    def _look(self, own: OwnRecords, session: Session) -> DryRun:
        order, sizes, held_by = common_records(session, own, self._wishes, self.clock.watch)
        see_alone(self.policy, own, order, self.reading)
        return DryRun(
            session.me, len(order), sizes,
            {name: self.policy.handed_over(name) for name in self.policy.owners},
            {tuple(owners): count for owners, count in held_by}, own.left_out, self.policy.between,
        )  # fmt: skip

    def _release(
        self, own: OwnRecords, place: Place | None, talk: Conversation, state: State, agree: Agree
    ) -> JointRelease:
        assert place is not None
        joint = self._joint_table(talk, state, own)
        ids = [own.ids[row] for row in joint.order]
        wire = wire_facts(state, talk.owners, talk.me, said_in, MEETING)
        return publish_joint(
            joint, place, self.clock, agree=agree, wire=wire,
            contents=lambda release, spot: contents(
                release, str(self.data), ids, self._runs(), self.part.certificates,
                self.part.identity.sign, self._run_facts(),
            ),
        )  # fmt: skip

    def _released(self, own: OwnRecords, talk: Conversation, state: State) -> JointRelease:
        return replace(recounted(self._joint_table(talk, state, own)), output=str(self.output))

    def _joint_table(self, talk: Conversation, state: State, own: OwnRecords) -> JointTable:
        return joint_table(
            talk, self.policy, own, self._wishes, self.clock, self.reading,
            before_telling=lambda: self._note_run(state),
        )  # fmt: skip

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
                where=str(self.part.state_folder),
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
        path = self.part.identity.folder / _RUNS
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

    def _run_facts(self) -> RunFacts:
        known = {name: peer.certificate for name, peer in self.part.peers.items()}
        known[self.settings.owner] = self.part.identity.certificate
        printed = {name: known[name].fingerprint for name in self.policy.owners}
        return RunFacts(self.settings.run, printed)

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
        with whole_file(self.part.identity.folder / _RUNS, force=True, private=True) as path:
            path.write_text(lines, encoding="utf-8")

    def _refuse_second_look(self) -> None:
        """Another policy with any of the same peers is a second sight of the same people.

        So are other taxonomies of ours, of which the policy has the names alone.
        """
        if self.options.again or self.options.dry_run:
            return
        mine, others = self._this_run(), []
        for run in self._runs():
            is_this = self.part.nonce and run.get("nonce") == self.part.nonce
            if {*run["owners"]} & {*self.settings.peers} and not is_this:
                if run["policy"] != mine["policy"]:
                    others.append((run, "another policy"))
                elif run.get("taxonomies", mine["taxonomies"]) != mine["taxonomies"]:
                    others.append((run, "other taxonomies"))
        if others:
            run, what = others[-1]
            known = [peer for peer in self.settings.peers if peer in run["owners"]]
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
