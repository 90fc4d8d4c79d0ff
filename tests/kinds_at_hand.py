"""An example of every kind of release, all of its cells marked: what the batteries run on.

A new kind in `reticent.releases.kinds` needs an example here; until then a test fails.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import Result

from reticent.errors import ReticentError
from reticent.files.tabular import LINES, RELEASED
from reticent.releases.kinds import BASKETS, ENTRIES, JOINT, KINDS, TABLES, ReleaseKind
from terminal import run

MARK = "SECRET"  # in every cell that no message may tell, and in those that no release shows


@dataclass(frozen=True, slots=True)
class KindExample:
    """Input files of one kind of release; the first is the data, and the policy is p.toml."""

    kind: ReleaseKind
    files: Mapping[str, str]
    writes: tuple[str, ...]  # suffixes of data files
    released: frozenset[str]  # marked cells that the release shows
    infeasible: tuple[str, str]  # a part of the policy, and what nobody can keep instead
    broken: tuple[str, str]  # a part of the policy, and what its release does not keep
    misspelt: str  # a key of the policy

    @property
    def data(self) -> str:
        """The file to be released."""
        return next(iter(self.files))

    @property
    def fits(self) -> list[str]:
        """What `policy check` can hold the policy against: several owners' tables lie apart."""
        return [self.data] if "release" in self.kind.does else []

    @property
    def release(self) -> list[str]:
        """The command that releases it, but for where to."""
        group = [self.kind.group] if self.kind.group else []
        return [*group, "release", self.data, "-p", "p.toml", "-o"]

    def under(self, policy: str) -> list[str]:
        """The same by another policy."""
        return [policy if word == "p.toml" else word for word in self.release]

    def command(self, verb: str, *given: str) -> list[str]:
        """Another command of this kind, under the same policy."""
        group = [self.kind.group] if self.kind.group and verb != "policy" else []
        return [*group, verb, *given]

    def make(self, output: str, *how: str, policy: str = "p.toml", code: int | None = 0) -> Result:
        """Release it."""
        return run(*self.under(policy), output, *how, code=code)

    def refused(self, output: str, *how: str) -> str:
        """What is said where nothing can be made of it."""
        return run(*self.release, output, *how, code=2).stderr

    def by_python(self, folder: Path) -> Any:
        """Its release, by the door for Python users, of files laid there."""
        return self.kind.door().release(folder / self.data, folder / "p.toml")

    def lay(self, folder: Path) -> None:
        """Write the files."""
        for name, text in self.files.items():
            (folder / name).write_text(text, encoding="utf-8")


def _tables() -> KindExample:
    rows = [
        f"{MARK}name{i},{MARK}job{i % 3 if i % 20 else i},{MARK}ward{i % 2},{20 + i % 7}\n"
        for i in range(60)
    ]
    policy = (
        'drop = ["Name"]\nkeep = ["Ward"]\n[attributes.Job]\nmask = "suppress"\n'
        "[attributes.Age]\nmask = 'discretize'\nrange = [0, 100]\n"
        '[[anonymity]]\nover = ["Job", "Age"]\nk = 3\n'
    )
    shown = {f"{MARK}job{i}" for i in range(3)} | {f"{MARK}ward{i}" for i in range(2)}
    return KindExample(
        TABLES, {"in.csv": "Name,Job,Ward,Age\n" + "".join(rows), "p.toml": policy}, RELEASED,
        frozenset(shown), ("k = 3", "k = 61"), ("k = 3", "k = 40"), "mask",
    )  # fmt: skip


def _baskets() -> KindExample:
    lines = [f"{MARK}bread {MARK}milk{i % 2} {MARK}pills{i % 5}\n" for i in range(40)]
    lines.append(f"{MARK}bread {MARK}rare\n")
    policy = f'private = ["{MARK}pills*"]\nh = 0.8\nk = 3\np = 2\n'
    shown = {f"{MARK}bread", *(f"{MARK}{n}" for n in ("milk0", "milk1", "pills*"))}
    shown |= {f"{MARK}pills{i}" for i in range(5)} | {f"{MARK}pills"}
    return KindExample(
        BASKETS, {"in.dat": "".join(lines), "p.toml": policy}, LINES, frozenset(shown),
        ("k = 3", "k = 42"), ("k = 3", "k = 30"), "private",
    )  # fmt: skip


def _entries() -> KindExample:
    jobs = ["baker", "nurse", "clerk", "pilot"]
    rows = [
        f"{MARK}id{i},{MARK}{'fm'[i % 2]},{MARK}{jobs[i % 4]},"
        f"{MARK}{'yes' if i % 4 == 1 or i % 7 == 0 else 'no'}\n"
        for i in range(80)
    ]
    policy = (
        'drop = ["Id"]\nconditions = ["Sex", "Job"]\nsensitive = "Ill"\n'
        "requests = [2, 6]\nmin_support = 2\nmin_confidence = 0.6\n"
    )
    shown = {f"{MARK}{word}" for word in ("f", "m", *jobs, "yes", "no")}
    impossible = 'may_hide = "conditions-of-sensitive"\npublish = [[2, "Sex"], [2, "Job"]]'
    return KindExample(
        ENTRIES, {"in.csv": "Id,Sex,Job,Ill\n" + "".join(rows), "p.toml": policy}, RELEASED,
        frozenset(shown), ("requests =", f"{impossible}\nrequests ="),
        ("min_confidence = 0.6", "min_confidence = 0.1"), "conditions",
    )  # fmt: skip


class JointExample(KindExample):
    """What two owners release: this one, by the command, and a peer, in a thread of its own."""

    def make(self, output: str, *how: str, policy: str = "p.toml", code: int | None = 0) -> Result:
        """Release it together; where this owner does not come to the meeting, the peer gives up."""
        from parties_net_at_hand import free_ports
        from reticent.joint.process import IntegrateOptions, integrate

        ports = dict(zip(("bank", "card"), free_ports(2), strict=True))
        for me, peer, data in (("bank", "card", self.data), ("card", "bank", "theirs.csv")):
            if not Path(me).exists():
                run("party", "init", me, "-o", me)
            said = {
                "name": me, "identity": me, "listen": f"127.0.0.1:{ports[me]}", "policy": policy,
                "data": data, "output": f"of-{me}", "run": "one", "meet_timeout": 3,
            }  # fmt: skip
            lines = [f"{key} = {json.dumps(value)}" for key, value in said.items()]
            lines += [f"[peers.{peer}]", f'address = "127.0.0.1:{ports[peer]}"']
            lines += [f'certificate = "{peer}/certificate.pem"']
            Path(f"{me}.toml").write_text("\n".join(lines))

        def play() -> None:
            with contextlib.suppress(ReticentError):  # it is told why we end, which is enough
                integrate("card.toml", IntegrateOptions(force=True, again=True))

        with ThreadPoolExecutor(1) as pool:
            pool.submit(play)
            return run("integrate", "bank.toml", "-o", output, "--again", *how, code=code)

    def refused(self, output: str, *how: str) -> str:
        """It is said before anybody is met: the peer need not be there."""
        return run("integrate", "bank.toml", "-o", output, "--again", *how, code=2).stderr

    def by_python(self, folder: Path) -> Any:
        """The release as this owner has it, both of them in one process."""
        data = {"bank": folder / self.data, "card": folder / "theirs.csv"}
        return self.kind.door().integrate(folder / "p.toml", data)["bank"]


def _joint() -> KindExample:
    bank = [f"{MARK}id{i},{MARK}job{i % 3 if i % 20 else i},{MARK}ward{i % 2}\n" for i in range(60)]
    card = [f"{MARK}id{i},{20 + i % 7},{MARK}{'ill' if i % 3 else 'well'}\n" for i in range(59)]
    policy = (
        'id = "Id"\nkeep = ["Ward"]\n[owners.bank]\ncolumns = ["Job", "Ward"]\n'
        '[owners.card]\ncolumns = ["Age", "Ill"]\n[attributes.Job]\nmask = "suppress"\n'
        "[attributes.Age]\nmask = 'discretize'\nrange = [0, 100]\n"
        '[[anonymity]]\nover = ["Job", "Age"]\nk = 3\n'
        '[[confidence]]\nover = ["Job"]\nsensitive = { Ill = "*" }\nat_most = 0.9\n'
    )
    shown = {f"{MARK}job{i}" for i in range(3)} | {f"{MARK}ward{i}" for i in range(2)}
    files = {
        "in.csv": "Id,Job,Ward\n" + "".join(bank), "p.toml": policy,
        "theirs.csv": "Id,Age,Ill\n" + "".join(card),
    }  # fmt: skip
    return JointExample(
        JOINT, files, (), frozenset(shown | {f"{MARK}ill", f"{MARK}well"}), ("k = 3", "k = 61"),
        ("k = 3", "k = 40"), "mask",
    )  # fmt: skip


_MADE = (_tables(), _baskets(), _entries(), _joint())
EXAMPLES = {example.kind.name: example for example in _MADE}
ALL = [EXAMPLES.get(kind.name) for kind in KINDS]  # None, where somebody forgot one
