"""Owners on the loopback, each a process of its own, and what they leave behind."""

from __future__ import annotations

import csv
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from parties_net_at_hand import free_ports
from reticent.joint.audit import audit
from terminal import finished, run, start

POLICY = """
id = "SSN"
class = "Class"
keep = ["Balance"]
[owners.bank]
columns = ["Job", "Balance", "Class"]
[owners.card]
columns = ["Sex", "Limit", "Diagnosis"]
[attributes.Job]
mask = "generalize"
taxonomy = "job.csv"
[attributes.Sex]
mask = "suppress"
[attributes.Limit]
mask = "discretize"
[[anonymity]]
over = ["Job", "Sex", "Limit"]
k = 6
[[confidence]]
over = ["Job", "Sex", "Limit"]
sensitive = { Diagnosis = "*" }
at_most = 0.9
"""
TAXONOMY = (
    "Clerk,White,ANY\nDoctor,White,ANY\njobneedle,White,ANY\nCook,Blue,ANY\nJanitor,Blue,ANY\n"
)
OWNERS = ("bank", "card")
THREE = {"bank": ["Job", "Balance", "Class"], "card": ["Sex", "Limit"], "clinic": ["Diagnosis"]}
COLUMNS = {"bank": ["Job", "Balance", "Class"], "card": ["Sex", "Limit", "Diagnosis"]}
PUBLIC = {"data.csv", "manifest.json", "report.html", "report.json"}
End = tuple[int, str, str]  # exit code, stdout, stderr
# Whose `first` this is waits no longer than a moment once another one has died: however busy the
# machine is, it loses no patience before.
LOSES_PATIENCE = """
import threading, time
from dataclasses import replace
from pathlib import Path
from reticent.parties.session import Session
init = Session.__init__
def beginning(self, *given, **named):
    init(self, *given, **named)
    def watch():
        while not Path("../died").exists():
            time.sleep(0.05)
        self._deadlines = replace(self._deadlines, step=2)
        with self._exchange.changed:
            self._exchange.changed.notify_all()
    threading.Thread(target=watch, daemon=True).start()
Session.__init__ = beginning
"""


def people(count: int) -> list[dict[str, str]]:
    """Records of people whose ids, and one job, stand nowhere else."""
    rng, found = random.Random(1), []
    for number in range(count):
        job = rng.choice(["Clerk", "Doctor", "Cook", "Janitor"]) if number else "jobneedle"
        limit = rng.randrange(1, 90)
        good = (job in ("Doctor", "Clerk")) * 30 + limit + rng.randrange(30) > 70
        found.append(
            {
                "SSN": f"ssnneedle{number:04}", "Job": job, "Balance": str(rng.randrange(3)),
                "Class": "good" if good else "bad", "Sex": rng.choice("MF"), "Limit": str(limit),
                "Diagnosis": rng.choice(["flu", "cold", "none"]),
            }
        )  # fmt: skip
    return found


def policy_of(columns: Mapping[str, Sequence[str]]) -> str:
    """The policy of such owners."""
    before, _, after = POLICY.partition("[owners.")
    owned = "".join(f"[owners.{n}]\ncolumns = {json.dumps(c)}\n" for n, c in columns.items())
    return before + owned + after[after.index("[attributes") :]


@dataclass
class Owners:
    """Their folders; each holds the owner's settings, policy and data."""

    folder: Path
    rows: list[dict[str, str]] = field(default_factory=lambda: people(200))
    more: Mapping[str, object] = field(default_factory=dict)
    columns: Mapping[str, list[str]] = field(default_factory=lambda: COLUMNS)

    def __post_init__(self) -> None:
        ports = dict(zip(self.columns, free_ports(len(self.columns)), strict=True))
        for name in self.columns:
            (self.folder / name).mkdir()
            run("party", "init", name, "-o", self.folder / name / "identity")
            said = {
                "name": name, "listen": f"127.0.0.1:{ports[name]}", "policy": "joint.toml",
                "data": "own.csv", "output": "out", "run": "one", "meet_timeout": 20,
                "step_timeout": 20, **self.more,
            }  # fmt: skip
            lines = [f"{key} = {json.dumps(value)}" for key, value in said.items()]
            for other in (one for one in self.columns if one != name):
                lines += [f"[peers.{other}]", f'address = "127.0.0.1:{ports[other]}"']
                lines += [f'certificate = "../{other}/identity/certificate.pem"']
            (self.folder / name / "party.toml").write_text("\n".join(lines))
        self.agree_on(policy_of(self.columns))
        (self.folder / "bank" / "job.csv").write_text(TAXONOMY)  # stays with the owner of Job
        self.bring("bank", self.rows[:-20])
        self.bring("card", self.rows[10:][::-1] + self.rows[:1])
        for name in (one for one in self.columns if one not in OWNERS):
            self.bring(name, self.rows)

    def agree_on(self, policy: str) -> None:
        for name in self.columns:
            (self.folder / name / "joint.toml").write_text(policy)

    def bring(
        self, owner: str, rows: Sequence[Mapping[str, str]], columns: Sequence[str] = ()
    ) -> None:
        with (self.folder / owner / "own.csv").open("w", newline="") as file:
            lines = csv.DictWriter(
                file, ["SSN", *(columns or self.columns[owner])], extrasaction="ignore"
            )
            lines.writeheader()
            lines.writerows(rows)

    def start(self, owner: str, *words: object, first: str = "") -> subprocess.Popen[str]:
        """Start one; `first`: Python code that lets something go wrong."""
        program = [sys.executable, "-c", f"{first}\nfrom reticent.front import main; main()"]
        return start(
            "integrate", "party.toml", *words, program=program, cwd=self.folder / owner,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )  # fmt: skip

    def integrate(self, *words: object, **by_owner: Sequence[object]) -> dict[str, End]:
        """All at once; how each ended."""
        running = {name: self.start(name, *words, *by_owner.get(name, ())) for name in self.columns}
        return {name: finished(process) for name, process in running.items()}

    def out(self, owner: str) -> Path:
        return self.folder / owner / "out"

    def public(self, owner: str) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (self.out(owner) / "public").iterdir()}

    def see_same(self) -> None:
        assert all(self.public(name) == self.public("bank") for name in self.columns)
        assert {*self.public("bank")} == PUBLIC
        for name in self.columns:
            assert not (self.folder / name / "out.run").exists()
            assert (self.out(name) / "private" / "transcript").is_dir()
            found = audit(self.out(name))  # whatever happened on the way
            assert found.fault is None, (name, found.text)
        self.see_no_leftovers()

    def see_no_leftovers(self) -> None:
        """Nothing half-written stands beside the outputs."""
        known = {"identity", "party.toml", "joint.toml", "own.csv", "job.csv", "out", "out.run"}
        for name in self.columns:
            assert {path.name for path in (self.folder / name).iterdir()} <= known

    def see_whole_or_nothing(self) -> None:
        """What has appeared at an owner is all of it, whatever happened to whom."""
        for name in self.columns:
            if self.out(name).exists():
                assert {*self.public(name)} == PUBLIC

    def see_nothing(self) -> None:
        for name in self.columns:
            assert not self.out(name).exists()
        self.see_no_leftovers()


def interrupt(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGINT)
