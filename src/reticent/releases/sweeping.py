"""The folder of a sweep: which releases stand in it, so that a later run can go on.

A release folder appears whole, then its line in the state. So an interrupted sweep goes on where
it was: a release without its line is made again, one with it is not.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from reticent.errors import InputError, few
from reticent.files.output import (
    clear_leftover,
    is_leftover,
    refuse_published,
    remove,
    whole_file,
    write_text,
)
from reticent.releases.places import SIDES

_ITEMS = ("report.html", "sweep.csv", "sweep.json", "sweep.svg", "private")  # the state goes last


@dataclass(frozen=True, slots=True)
class SweptPoints:
    """What the points of one kind of release look like."""

    swept: tuple[str, ...]  # how their folders' names begin
    keys: tuple[str, ...]  # of a record
    keeps: str  # a private file of a whole release


def folder_name(kind: str, threshold: int | Fraction) -> str:
    """The folder of one point."""
    return f"{kind.replace('_', '-')}-{threshold_text(threshold)}".replace("/", "_of_")


def threshold_text(value: int | Fraction) -> str:
    """A threshold as short as it is exact: a decimal where there is one.

    >>> threshold_text(Fraction(1, 5)), threshold_text(Fraction(1, 3)), threshold_text(20)
    ('0.2', '1/3', '20')
    """
    if value.denominator == 1:
        return str(value)
    decimal = repr(float(value))
    return decimal if Fraction(decimal) == value else str(value)


class SweepFolder:
    """Which points stand, kept beside them."""

    def __init__(self, place: Path, kind: SweptPoints, *, force: bool) -> None:
        """Look at a place, which must be free or hold a sweep; nothing is touched yet."""
        if place.name in ("", ".", "..") or not place.parent.is_dir():
            raise InputError(
                "this is no name for a new folder", where=str(place),
                do="give a name in a folder that exists.",
            )  # fmt: skip
        refuse_published(place)
        self.place, self.kind, self.force = place, kind, force
        self.path = place / "private" / "state.json"
        self.begun = False
        self.mark = ""
        self.done: dict[str, dict[str, Any]] = {}
        self.kept: dict[str, Any] | None = None
        if not self.path.exists():
            if place.is_symlink() or place.is_file() or (place.exists() and not _empty(place)):
                raise InputError(
                    "it exists already, and is no sweep", where=str(place),
                    do="choose another place.",
                )  # fmt: skip
            return
        try:
            kept = json.loads(self.path.read_text(encoding="utf-8"))
            self.kept = {"mark": str(kept["mark"]), "done": dict(kept["done"])}
        except (OSError, ValueError, TypeError, KeyError):
            raise InputError(
                "what an earlier sweep noted cannot be read", where=str(self.path),
                why="so nobody can tell what here is whose.",
                do="choose another place, or remove the folder yourself.",
            ) from None  # fmt: skip

    def claim(self, mark: str) -> None:
        """Take over what an earlier run of the same sweep has done."""
        self.mark = mark
        if self.kept is None:
            return
        if not self.force and self.kept["mark"] != mark:
            raise InputError(
                "another sweep stands here: of other data, another policy or other options",
                where=str(self.place),
                do="choose another place, or replace it with --force.",
            )
        for other in sorted(self.place.iterdir()):
            clear_leftover(other)  # of thresholds, too, that nobody asks for again
        if not self.force:
            self.done = {
                name: record
                for name, record in self.kept["done"].items()
                if self._is_record(record)
                and ("infeasible" in record or self._is_whole(self.place / name))
            }

    def begin(self) -> None:
        """Make room, once there is something to put there: under `force` the old sweep goes."""
        if self.begun:
            return
        self.begun = True
        if self.force and self.kept is not None:
            releases = filter(self._is_release, sorted(self.place.iterdir()))
            for old in (*releases, *(self.place / name for name in _ITEMS)):
                remove(old)
        try:
            self.place.mkdir(exist_ok=True)
            self.path.parent.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"cannot write it: {error.strerror or 'the system refused'}", where=str(self.place)
            ) from None
        self.save()

    def keep(self, name: str, record: dict[str, Any]) -> None:
        """Count a point as done."""
        self.done[name] = record
        if self.begun or (self.kept is not None and not self.force):
            self.save()

    def save(self) -> None:
        """Write the state, whole."""
        with whole_file(self.path, force=True, private=True) as path:
            write_text(path, json.dumps({"mark": self.mark, "done": self.done}) + "\n")

    def others(self, asked: Collection[str]) -> Iterator[str]:
        """What to say of releases that stand here and that this call did not ask for."""
        releases = filter(self._is_release, sorted(self.place.iterdir()))
        names = [path.name for path in releases if path.name not in asked]
        if names:
            are = (
                "release of an earlier call stands"
                if len(names) == 1
                else ("releases of earlier calls stand")
            )
            yield (
                f"{len(names)} {are} in {self.place}, too: {few(names)}. The report is about the "
                "thresholds of this call and does not list "
                f"{'it' if len(names) == 1 else 'them'}."
            )

    def _is_record(self, record: Any) -> bool:
        if not isinstance(record, dict):
            return False
        known = all(key in record for key in self.kind.keys)
        return known or isinstance(record.get("infeasible"), str)

    def _is_release(self, path: Path) -> bool:
        """Whether this is a release folder of a sweep, with nothing of anybody else's in it."""
        named = f"({'|'.join(self.kind.swept)})-([0-9][0-9a-z_.]*|unlimited)"
        if not re.fullmatch(named, path.name) or path.is_symlink() or not path.is_dir():
            return False
        return {other.name for other in path.iterdir()} <= set(SIDES)

    def _is_whole(self, path: Path) -> bool:
        """Whether a release folder has everything that its manifest lists."""
        try:
            manifest = json.loads((path / "public" / "manifest.json").read_text(encoding="utf-8"))
            sizes = {path / "public" / n: told["bytes"] for n, told in manifest["files"].items()}
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return False
        listed = all(file.is_file() and file.stat().st_size == n for file, n in sizes.items())
        kept = path / "private" / self.kind.keeps
        return self._is_release(path) and listed and kept.is_file()


def _empty(place: Path) -> bool:
    """Whether a folder holds nothing, or no more than a run killed at its very beginning leaves."""
    return all(
        is_leftover(path) or (path.name == "private" and path.is_dir() and not path.is_symlink())
        for path in place.iterdir()
    ) and all(is_leftover(path) for path in (place / "private").glob("*"))


def write_beside(place: Path, texts: Mapping[str, str]) -> None:
    """What stands beside the releases: each file whole, in the place of an older one."""
    for name, text in texts.items():
        with whole_file(place / name, force=True) as path:
            write_text(path, text)


def as_table(lines: Sequence[Mapping[str, Any]]) -> str:
    """Lines as CSV, with every column that any has."""
    file = io.StringIO()
    names = list(dict.fromkeys(name for line in lines for name in line))
    writer = csv.DictWriter(file, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return file.getvalue()
