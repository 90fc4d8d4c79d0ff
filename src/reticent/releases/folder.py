"""A release folder: what may be published on one side, what stays with its owner on the other.

public/    data.<format>   report.html   report.json   manifest.json
private/   report.html   policy.toml   input.json, and what else a kind of release keeps
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reticent.errors import InputError, Problem
from reticent.files.tabular import (
    CSV,
    RELEASED,
    SUFFIXES,
    WORKBOOKS,
    Reading,
    paths_of,
    suffix_of,
)
from reticent.files.tabular import format_of as found_format
from reticent.files.writing import AS_USUAL, DELIMITERS, Writing
from reticent.releases.kinds import ReleaseKind, kind_in
from reticent.releases.places import Spot
from reticent.sources.addresses import is_url, shown_name
from reticent.version import __version__

FORMAT = 1  # of the folder; raised when an older reader could misread it


# --- what is written -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Contents:
    """What stands beside the data: files by name, and what the manifest says besides."""

    public: Mapping[str, str]
    private: Mapping[str, str | bytes]
    manifest: Mapping[str, Any]


def describe(spot: Spot, contents: Contents) -> None:
    """Write everything that stands beside the data; the private side is its owner's alone."""
    assert spot.folder is not None
    public, private = spot.folder / "public", spot.folder / "private"
    data = sorted(spot.data.iterdir()) if spot.data.is_dir() else [spot.data]
    for side, texts in ((public, contents.public), (private, contents.private)):
        for name, text in texts.items():
            (side / name).parent.mkdir(parents=True, exist_ok=True)
            (side / name).write_bytes(text.encode() if isinstance(text, str) else text)
    files = [*data, *(public / name for name in contents.public)]
    said = {
        "format": FORMAT,
        "made_by": f"reticent {__version__}",
        **contents.manifest,
        "files": {str(file.relative_to(public)): _fingerprint(file) for file in files},
    }
    (public / "manifest.json").write_text(as_json(said), encoding="utf-8")
    for file in private.rglob("*"):
        file.chmod(0o700 if file.is_dir() else 0o600)


def as_json(content: Any) -> str:
    """Facts that a program may read."""
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def as_json_lines(records: Iterable[Mapping[str, Any]]) -> str:
    """The same, one record a line."""
    encode = json.JSONEncoder(ensure_ascii=False).encode  # one for all: there may be many
    return "".join(encode(record) + "\n" for record in records)


def fingerprints(paths: Sequence[Path]) -> dict[str, Any]:
    """The files that a release was made from."""
    return {str(path): _fingerprint(path) for path in paths}


def _fingerprint(path: Path) -> dict[str, Any]:
    return {"sha256": digest(path), "bytes": path.stat().st_size}


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def format_of(data: Any, writing: Writing = AS_USUAL, writes: Sequence[str] = SUFFIXES) -> str:
    """The suffix of a folder's data: that of the input; Parquet for data frames.

    CSV, where that is not written, or somebody says how to write what it does not leave open.
    """
    suffix = ".parquet"
    if isinstance(data, str | Path) and not is_url(data):
        suffix = found_format(paths_of(data)[0])
    if suffix in WORKBOOKS and ".xlsx" in writes:
        suffix = ".xlsx"
    other = suffix in (".txt", ".data") or suffix not in writes
    return ".csv" if other or writing.idle(suffix) else suffix


def as_written(suffix: str, writing: Writing = AS_USUAL) -> Reading:
    """How a file that we wrote is to be read: nothing is left to guessing."""
    if suffix not in CSV:
        return Reading(encoding="utf-8", header_row=1)
    delimiter = writing.delimiter_for(suffix)
    return Reading(delimiter=delimiter, quote='"', encoding="utf-8", header_row=1)


def reading_in(data: Path, manifest: Mapping[str, Any]) -> Reading:
    """How the data of a release are to be read: as we write them, if a manifest says we did."""
    return as_written(suffix_of(data), writing_in(manifest)) if manifest else Reading()


def writing_in(manifest: Mapping[str, Any]) -> Writing:
    """How a manifest says that its data are written."""
    told = manifest.get("writing", {})
    if isinstance(told, dict) and isinstance(told.get("numbers", []), list):
        delimiter, decimal, bom = (told.get(key) for key in ("delimiter", "decimal", "bom"))
        if delimiter in (None, *DELIMITERS) and decimal in (None, ".", ","):
            return Writing(delimiter, decimal, bool(bom))
    raise InputError(
        "the manifest does not say how its data are written", where="manifest.json",
        do="get the release again from its owner.",
    )  # fmt: skip


# --- what is opened again ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Opened:
    """What somebody hands over as a release: its data, and what its folder says of them."""

    data: Any
    place: Path | None = None  # what was opened, if it is a file or a folder
    reading: Reading | None = None  # how data that we wrote are read; None: nobody knows
    manifest: Mapping[str, Any] = field(default_factory=dict)
    altered: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()

    def read_as(self, told: Reading) -> Reading:
        """How its data are read: as we write files, if we did; else as somebody tells."""
        return told if self.reading is None else self.reading.over(told.cells)


def opened(data: Any, kind: ReleaseKind, formats: Sequence[str] = RELEASED) -> Opened:
    """The data of a release folder of some kind; or whatever else was given, as it is."""
    if not isinstance(data, str | Path) or is_url(data):
        return Opened(data)
    place = Path(data)
    manifest = manifest_of(place)
    if manifest and (other := kind_in(manifest)) is not kind:
        raise InputError(
            "this is a release of another kind", where=str(data),
            do=f"it holds {other.name if other else 'what this version does not know'}; use the "
            "command for that.",
        )  # fmt: skip
    path = published(place, formats)
    ours = path != place or bool(manifest)
    reading = as_written(suffix_of(path, formats), writing_in(manifest)) if ours else None
    problems = [*altered(place), *_unlisted(path, manifest)]
    return Opened(path, place, reading, manifest, tuple(problems), tuple(warnings(place)))


def is_release(place: Path) -> bool:
    """Whether a folder is one that a release made; not, if nobody may look."""
    try:
        return (place / "public" / "manifest.json").is_file()
    except OSError:
        return False


def told_kind(data: str | Path) -> ReleaseKind | None:
    """What kind of release a folder says it is; None where nothing says so."""
    manifest = {} if is_url(data) else manifest_of(Path(data))
    kind = kind_in(manifest)
    if manifest and kind is None:
        raise InputError(
            "this is a release of a kind that this version does not know", where=str(data),
            do="check it with the version that made it.",
        )  # fmt: skip
    return kind if manifest else None


def own_policy(data: str | Path) -> Path:
    """The policy that a release folder keeps on its private side."""
    path = Path(data) / "private" / "policy.toml"
    if not is_url(data) and not Path(data).exists():
        raise InputError("there is no such file or folder", where=str(data))
    if is_url(data) or not path.is_file():
        raise InputError(
            "it keeps no policy of its own", where=shown_name(data),
            do="name one with  --policy.",
        )  # fmt: skip
    return path


def altered(place: Path) -> Iterator[Problem]:
    """Files of a release folder that are not those its manifest describes, too few or too many."""
    beside = _beside(place)
    listed = manifest_of(place).get("files", {})
    for name, told in listed.items():
        path = beside / name
        said = why = ""
        if path.exists() and digest(path) != told["sha256"]:
            said, why = "is not the file that", "it was changed after it was released."
        elif not path.is_file() and place.is_dir():
            said, why = "is missing, which", "this is not all that was released."
        if said:
            what = f"{path} {said} manifest.json describes"
            yield Problem(what, why=why, do="get the release again from its owner.")
    for folder in {(beside / name).parent for name in listed} - {beside}:
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if str(path.relative_to(beside)) not in listed:
                yield _added(path)


def _unlisted(data: Path, manifest: Mapping[str, Any]) -> Iterator[Problem]:
    """Data that their manifest says nothing of."""
    names = (Path(name).parts for name in manifest.get("files", {}))
    if manifest and data.name not in (parts[0] for parts in names):
        yield _added(data)


def _added(path: Path) -> Problem:
    return Problem(
        f"{path} is none of the files that manifest.json describes",
        why="it was added after the release.",
        do="remove it, or get the release again from its owner.",
    )


def warnings(place: Path) -> Iterator[str]:
    """What keeps a release from telling whether it is as it was released."""
    beside = _beside(place)
    if (beside / "report.json").is_file() and not manifest_of(place):
        yield "manifest.json is gone, so nobody can tell whether files were changed since."
    if listed := manifest_of(place).get("files", {}):
        known = {*listed, "manifest.json", *(name.partition("/")[0] for name in listed)}
        for path in sorted(beside.iterdir()):
            if path.name not in known:
                yield f"{path} is none of the files that manifest.json describes."


def _public(place: Path) -> Path:
    return place / "public" if (place / "public").is_dir() else place


def _beside(place: Path) -> Path:
    """Where the manifest of a release stands: of its folder, its public side, or its data."""
    if place.is_file() or (place.name.startswith("data.") and suffix_of(place)):
        return place.parent
    return _public(place)


def manifest_of(place: Path) -> dict[str, Any]:
    """The manifest beside a release's data, or nothing; it is believed of no other file."""
    path = _beside(place) / "manifest.json"
    if not os.path.lexists(path) or (place.is_file() and not place.name.startswith("data.")):
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or "made_by" not in found or not _lists_files(found):
        raise InputError(
            "the manifest is damaged, or none of a release", where=str(path),
            do="get the release again from its owner.",
        )  # fmt: skip
    if found.get("format", FORMAT) != FORMAT:
        raise InputError(
            "the release was made by another version", where=str(path),
            do="check it with the version that made it.",
        )  # fmt: skip
    return found


def _lists_files(manifest: Mapping[str, Any]) -> bool:
    """Whether it tells of files below its own folder, and what to compare each with."""
    files = manifest.get("files")
    return isinstance(files, dict) and bool(files) and all(map(_is_listed, files, files.values()))


def _is_listed(name: str, told: Any) -> bool:
    path = Path(name)
    inside = bool(path.parts) and not path.is_absolute() and ".." not in path.parts
    short = all(len(part.encode("utf-8", "surrogatepass")) < 256 for part in path.parts)
    plain = short and name.isprintable()
    return inside and plain and isinstance(told, dict) and isinstance(told.get("sha256"), str)


def published(path: Path, formats: Sequence[str] = RELEASED) -> Path:
    """The data file of a release folder, or the path itself."""
    public = ("manifest.json", "report.json")
    if (path / "public").is_dir() or any((path / name).is_file() for name in public):
        found = sorted(p for p in _public(path).glob("data.*") if suffix_of(p, formats))
        if len(found) == 1:
            return found[0]
        raise InputError("this release folder has no single data file", where=str(path))
    return path
