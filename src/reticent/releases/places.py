"""Where a release goes: one rule for every kind, and what stands there until it is recounted.

A name that ends in a slash, has no suffix, or has one that is no format of data, is a release
folder. A format that the kind of release writes makes a data file. Any other known format is
refused: whoever names it expects a file of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from reticent.errors import InputError
from reticent.files.output import check_free, parts_in, refuse_inputs, whole_file, whole_folder
from reticent.files.tabular import LINES, SUFFIXES, suffix_of

SIDES = ("public", "private")
_OTHER_FORMATS = (
    ".xlsx", ".xls", ".ods", ".json", ".jsonl", ".xml", ".html", ".pdf", ".zip", ".gz", ".sav",
    ".dta", ".sas7bdat", ".rds", ".toml", ".md", ".sql", ".db", ".svg", ".sqlite",
    ".duckdb", ".xlsm", ".ndjson", ".orc", ".avro", ".bz2", ".zst", ".tar", ".7z",
)  # fmt: skip


def format_asked(output: str | Path, writes: Sequence[str] = SUFFIXES, form: str = "") -> str:
    """The format of the data file that a name asks for; empty for a folder."""
    if str(output).endswith(("/", os.sep)):
        return ""
    suffix = suffix_of(Path(output), writes)
    if not suffix and (other := suffix_of(Path(output), (*SUFFIXES, *LINES, *_OTHER_FORMATS))):
        formats = f"write {', '.join(writes)}; " if writes else ""
        raise InputError(
            f"{other} files cannot be written{form}", where=str(output),
            do=f"{formats}a name without suffix is a folder.",
        )  # fmt: skip
    return suffix


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a release is written until it has been recounted."""

    data: Path
    suffix: str
    folder: Path | None  # if it is a folder that holds them


@dataclass(frozen=True, slots=True)
class Place:
    """Where a release will stand."""

    name: str  # as it was given
    suffix: str  # of a data file; empty for a release folder
    force: bool
    parts: bool = False  # a folder of data files instead of one

    @classmethod
    def of(
        cls,
        output: str | Path,
        writes: Sequence[str] = SUFFIXES,
        *,
        inputs: Iterable[Path] = (),
        force: bool = False,
        parts: bool = False,
        form: str = "",
    ) -> Place:
        """A place that is free, and no input of the same run; nothing in the way is harmed."""
        path = Path(output)
        place = cls(str(output), format_asked(output, writes, form), force, parts)
        check_free(path, force=force, holds=place.holds)
        refuse_inputs([path], inputs)
        return place

    @property
    def path(self) -> Path:
        """The same, to be opened."""
        return Path(self.name)

    @property
    def holds(self) -> Sequence[str]:
        """What stands there and may be replaced."""
        return SIDES if not self.suffix else parts_in(self.path) if self.parts else ()

    @contextmanager
    def appearing(self, usual: Callable[[], str]) -> Iterator[Spot]:
        """Where to write: it stands at its place when the block has ended well, and never before.

        `usual`: the suffix of the data of a release folder.
        """
        if self.suffix and not self.parts:
            with whole_file(self.path, force=self.force) as path:
                yield Spot(path, self.suffix, None)
            return
        with whole_folder(self.path, force=self.force, holds=self.holds) as path:
            if self.suffix:
                yield Spot(path, self.suffix, None)
                return
            suffix = usual()
            (path / "private").mkdir(mode=0o700)  # its owner's alone
            (path / "public").mkdir(mode=0o755)
            data = path / "public" / f"data{suffix}"
            if self.parts:
                data.mkdir()
            yield Spot(data, suffix, path)
