"""A release folder: what may be published on one side, what stays with its owner on the other.

public/    data.<format>   report.html   report.json   manifest.json
private/   report.html   policy.toml   recoding.json   trace.jsonl   stopped.jsonl   risk.json
           alternatives.json   left_out.json (if records are)   input.json
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reticent import report
from reticent.errors import InputError, Problem, quoted
from reticent.table.databases import is_url, without_password
from reticent.table.files import CSV, SUFFIXES, Reading, paths_of, suffix_of
from reticent.table.output import check_free, whole_file, whole_folder
from reticent.table.recode import Recoding
from reticent.table.schema import Column, Table, trimmed, without_missing
from reticent.table.sheets import delimiter_of
from reticent.table.taxonomy import Taxonomy, from_nested

if TYPE_CHECKING:
    from reticent.pipeline import Release
    from reticent.policy import Policy

SIDES = ("public", "private")
FORMAT = 1  # of the folder; raised when an older reader could misread it


def format_of(data: Any) -> str:
    """The suffix of a folder's data: that of the input; Parquet for data frames."""
    if not isinstance(data, str | Path) or is_url(data):
        return ".parquet"
    suffix = suffix_of(paths_of(data)[0])
    return ".csv" if suffix in (".txt", ".data") else suffix


def lay_out(folder: Path) -> Path:
    """Make both sides of a folder; the private one is its owner's alone."""
    (folder / "private").mkdir(mode=0o700)
    public = folder / "public"
    public.mkdir(mode=0o755)
    return public


def checked_output(
    output: str | Path | None, known: Sequence[str] = SUFFIXES, *, force: bool, form: str = ""
) -> str:
    """The format of a data file; empty for a folder. Nothing that is in the way is harmed."""
    if output is None:
        return ""
    path, slash = Path(output), str(output).endswith(("/", os.sep))
    suffix = "" if slash else suffix_of(path, known)
    if not suffix and path.suffix and not slash:
        raise InputError(
            f"{path.suffix} files cannot be written{form}", where=str(output),
            do=f"write {', '.join(known)}; a name without suffix is a folder.",
        )  # fmt: skip
    check_free(path, force=force, holds=() if suffix else SIDES)
    return suffix


@dataclass(frozen=True, slots=True)
class Beside:
    """Where a release is written until it has been recounted."""

    data: Path
    suffix: str
    folder: Path | None  # if it is a folder that holds them


@contextmanager
def appearing(
    output: Path, suffix: str, usual: Callable[[], str], *, force: bool
) -> Iterator[Beside]:
    """A data file of a suffix, or without one a folder with data of the `usual` one.

    It stands at its place as soon as the block has ended well, and never before.
    """
    if suffix:
        with whole_file(output, force=force) as path:
            yield Beside(path, suffix, None)
        return
    with whole_folder(output, force=force, holds=SIDES) as place:
        usually = usual()
        yield Beside(lay_out(place) / f"data{usually}", usually, place)


def as_written(suffix: str) -> Reading:
    """How a file that we wrote is to be read: nothing is left to guessing."""
    if suffix not in CSV:
        return Reading(encoding="utf-8")
    return Reading(delimiter=delimiter_of(suffix), quote='"', encoding="utf-8")


def describe(
    release: Release, folder: Path, data: Any, suffix: str, table: str | None = None
) -> None:
    """Write everything that stands beside the data; `table`: which it was of a database."""
    from reticent import pages

    public, private = folder / "public", folder / "private"
    (public / "report.html").write_text(pages.public(release), encoding="utf-8")
    write_json(public / "report.json", report.public(release))
    write_json(public / "manifest.json", _manifest(release, public, suffix))
    policy = release.prepared.policy
    (private / "policy.toml").write_text(policy.as_in(private), encoding="utf-8")
    _keep_taxonomies(policy, private)
    write_json(private / "recoding.json", _recoding(release))
    (private / "report.html").write_text(pages.private(release), encoding="utf-8")
    (private / "stopped.jsonl").write_text(report.lines(report.stopped(release)), encoding="utf-8")
    (private / "trace.jsonl").write_text(report.lines(release.trace()), encoding="utf-8")
    write_json(private / "risk.json", report.riskiest(release))
    write_json(private / "alternatives.json", report.alternatives(release))
    if (who := report.who_was_left_out(release)) is not None:
        write_json(private / "left_out.json", who)
    write_json(private / "input.json", _input(release, data, table))
    close(private)


def close(private: Path) -> None:
    """Leave everything on the private side to its owner."""
    for file in private.rglob("*"):
        file.chmod(0o700 if file.is_dir() else 0o600)


def _keep_taxonomies(policy: Policy, private: Path) -> None:
    """Copy taxonomy files beside the kept policy, where its relative paths find them."""
    for source, attribute in ((policy.folder, a) for a in policy.attributes.values()):
        name = attribute.taxonomy
        if isinstance(name, str) and not Path(name).is_absolute() and ".." not in Path(name).parts:
            target = private / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((source / name).read_bytes())


def write_json(path: Path, content: Any) -> None:
    """Facts that a program may read."""
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _manifest(release: Release, public: Path, suffix: str) -> dict[str, Any]:
    prepared = release.prepared
    masks = {domain.name: domain.mask for domain in prepared.domains}
    columns = []
    for name in prepared.roles.released:
        column = {"name": name, "role": report.role(release, name)}
        if name in masks:
            column["mask"] = masks[name]
        columns.append(column)
    data = public / f"data{suffix}"
    files = [*(sorted(data.iterdir()) if data.is_dir() else [data])]
    files += [public / name for name in ("report.html", "report.json")]
    return manifest(
        public,
        files,
        {
            "rows": release.sheet.rows,
            "marker": prepared.policy.marker,
            "columns": columns,
            "taxonomies": {
                name: report.as_far_as_shown(taxonomy, release.recodings[name])
                for name, taxonomy in prepared.taxonomies.items()
                if name in masks
            },
        },
    )


def manifest(public: Path, files: Sequence[Path], facts: Mapping[str, Any]) -> dict[str, Any]:
    """What belongs to a release, and the fingerprint of each file."""
    from reticent import __version__

    told = {str(file.relative_to(public)): _fingerprint(file) for file in files}
    return {"format": FORMAT, "made_by": f"reticent {__version__}", **facts, "files": told}


def fingerprints(paths: Sequence[Path]) -> dict[str, Any]:
    """The files that a release was made from."""
    return {str(path): _fingerprint(path) for path in paths}


def _fingerprint(path: Path) -> dict[str, Any]:
    return {"sha256": digest(path), "bytes": path.stat().st_size}


def _recoding(release: Release) -> dict[str, Any]:
    prepared = release.prepared
    return {
        "format": FORMAT,
        "drop": list(prepared.roles.dropped),
        "released": list(prepared.roles.released),
        "trim": prepared.policy.trim,
        "missing_values": list(prepared.policy.missing_values),
        "order": prepared.policy.order,
        "columns": {name: recoding.plain() for name, recoding in release.recodings.items()},
    }


def _input(release: Release, data: Any, table: str | None) -> dict[str, Any]:
    if not isinstance(data, str | Path):
        return {"rows": release.prepared.rows_in, "files": {}}
    if is_url(data):
        address = without_password(str(data))
        told = {"database": address, "table": table}
        return {"rows": release.prepared.rows_in, "files": {}, **told}
    return {"rows": release.prepared.rows_in, "files": fingerprints(paths_of(data))}


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_release(place: Path) -> bool:
    """Whether a folder is one that a release made; not, if nobody may look."""
    try:
        return (place / "public" / "manifest.json").is_file()
    except OSError:
        return False


def kind_in(place: Path) -> str | None:
    """What a release folder holds, if not a table masked as a whole; None without a manifest."""
    found = _read_manifest(place)
    return str(found.get("kind", "")) if found else None


def columns_in(place: Path) -> list[str]:
    """The columns that a release folder publishes."""
    try:
        return [str(column["name"]) for column in _read_manifest(place).get("columns", [])]
    except (InputError, TypeError, KeyError):
        return []


@dataclass(frozen=True, slots=True)
class Told:
    """What a release says of how it is to be read."""

    marker: str = ""
    taxonomies: Mapping[str, Taxonomy] = field(default_factory=dict)  # down to what it shows


def told(place: Path) -> Told:
    """What the manifest of a release says; nothing where there is none."""
    manifest = _read_manifest(place)
    shown = manifest.get("taxonomies", {})
    trees = {name: from_nested(tree, "manifest.json") for name, tree in shown.items()}
    return Told(manifest.get("marker", ""), trees)


def taxonomies_for(
    policy: Policy, place: Path | None, others: Sequence[Mapping[str, Taxonomy]] = ()
) -> dict[str, Taxonomy]:
    """The taxonomies of a policy; without their files, as far as a manifest shows them.

    A manifest shows what was released and nothing below; what lies there may stand in `others`,
    those of earlier releases.
    """
    shown: dict[str, Taxonomy] = dict(told(place).taxonomies) if place else {}
    for name, tree in (pair for trees in others for pair in trees.items()):
        shown[name] = shown[name].with_below(tree) if name in shown else tree
    return policy.taxonomies(instead=shown)


def altered(place: Path) -> Iterator[Problem]:
    """Files of a release folder that are not those its manifest describes, too few or too many."""
    beside = _beside(place)
    listed = _read_manifest(place).get("files", {})
    for name, told in listed.items():
        path = beside / name
        if path.exists() and digest(path) != told["sha256"]:
            yield Problem(
                f"{path} is not the file that manifest.json describes",
                why="it was changed after it was released.",
                do="get the release again from its owner.",
            )
        elif not path.exists() and place.is_dir():
            yield Problem(
                f"{path} is missing, which manifest.json describes",
                why="this is not all that was released.",
                do="get the release again from its owner.",
            )
    for folder in {(beside / name).parent for name in listed} - {beside}:
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if str(path.relative_to(beside)) not in listed:
                yield Problem(
                    f"{path} is none of the files that manifest.json describes",
                    why="it was added after the release.",
                    do="remove it, or get the release again from its owner.",
                )


def warnings(place: Path) -> Iterator[str]:
    """What keeps a release from telling whether it is as it was released."""
    beside = _beside(place)
    if (beside / "report.json").is_file() and not (beside / "manifest.json").exists():
        yield "manifest.json is gone, so nobody can tell whether files were changed since."
    if listed := _read_manifest(place).get("files", {}):
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


def _read_manifest(place: Path) -> dict[str, Any]:
    """The manifest beside a release's data, or nothing."""
    path = _beside(place) / "manifest.json"
    if not path.is_file() or (place.is_file() and not place.name.startswith("data.")):
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InputError("the manifest cannot be read", where=str(path)) from None
    return found if isinstance(found, dict) and "made_by" in found else {}


def published(path: Path) -> Path:
    """The data file of a release folder, or the path itself."""
    public = ("manifest.json", "report.json")
    if (path / "public").is_dir() or any((path / name).is_file() for name in public):
        found = sorted(p for p in _public(path).glob("data.*") if suffix_of(p))
        if len(found) == 1:
            return found[0]
        raise InputError("this release folder has no single data file", where=str(path))
    return path


@dataclass(frozen=True, slots=True)
class Learnt:
    """What a release folder knows about masking further rows."""

    recodings: dict[str, Recoding]
    released: tuple[str, ...]
    dropped: frozenset[str]
    trim: bool
    missing_values: tuple[str, ...]
    order: str

    def mask(self, table: Table) -> tuple[list[Column], dict[str, int]]:
        """Mask a table; also says how many rows of a column held a value not foreseen."""
        lacking = [name for name in self.recodings if name not in table.columns]
        known = self.dropped | set(self.released)
        unknown = [name for name in table.columns if name not in known]
        if lacking or unknown:
            said = [f"it lacks {quoted(lacking)}"] if lacking else []
            said += [f"the release knows nothing of {quoted(unknown)}"] if unknown else []
            raise InputError(
                "; ".join(said), where=table.name, do="give the columns of the released table."
            )
        columns, strange = [], {}
        for name in (n for n in self.released if n in table.columns):
            column = trimmed(table.columns[name]) if self.trim else table.columns[name]
            if name in self.recodings:
                cleaned = without_missing(column, self.missing_values)
                column, rows = self.recodings[name].apply(cleaned)
                if rows:
                    strange[name] = rows
            columns.append(column)
        return columns, strange


def learnt(folder: Path) -> Learnt:
    """Read the cuts of a release folder."""
    path = folder / "private" / "recoding.json"
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            "this is no release folder: it has no private/recoding.json", where=str(folder),
            do="give a folder that  reticent release -o FOLDER/  made.",
        ) from None  # fmt: skip
    except (OSError, ValueError):
        raise InputError("the recoding cannot be read", where=str(path)) from None
    if not isinstance(plain, dict) or plain.get("format") != FORMAT:
        raise InputError("the folder was made by another version", where=str(path))
    try:
        return _learnt(plain)
    except (KeyError, TypeError, AttributeError):
        raise InputError("the recoding cannot be read", where=str(path)) from None


def _learnt(plain: dict[str, Any]) -> Learnt:
    return Learnt(
        {name: Recoding.from_plain(name, record) for name, record in plain["columns"].items()},
        tuple(plain["released"]),
        frozenset(plain["drop"]),
        plain["trim"],
        tuple(plain["missing_values"]),
        plain["order"],
    )
