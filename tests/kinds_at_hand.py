"""An example of every kind of release, all of its cells marked: what the batteries run on.

A new kind in `reticent.releases.kinds` needs an example here; until then a test fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from reticent.files.tabular import LINES, SUFFIXES
from reticent.releases.kinds import BASKETS, ENTRIES, KINDS, TABLES, ReleaseKind

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
        TABLES, {"in.csv": "Name,Job,Ward,Age\n" + "".join(rows), "p.toml": policy}, SUFFIXES,
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
        ENTRIES, {"in.csv": "Id,Sex,Job,Ill\n" + "".join(rows), "p.toml": policy}, SUFFIXES,
        frozenset(shown), ("requests =", f"{impossible}\nrequests ="),
        ("min_confidence = 0.6", "min_confidence = 0.1"), "conditions",
    )  # fmt: skip


EXAMPLES = {example.kind.name: example for example in (_tables(), _baskets(), _entries())}
ALL = [EXAMPLES.get(kind.name) for kind in KINDS]  # None, where somebody forgot one
