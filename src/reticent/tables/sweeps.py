"""The flow of `sweep`: the same table released under a range of thresholds, each one measured.

    FOLDER/   report.html  sweep.csv  sweep.json  sweep.svg   what the range costs; nobody's value
              k-20/ …                             a release folder a threshold
              private/state.json                  what was done, from what: for going on later

A release folder appears whole, then its line in the state. So an interrupted sweep goes on where
it was: a release without its line is made again, one with it is not.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from reticent import __version__
from reticent.errors import InputError, Problem, Stopped, Unsatisfiable
from reticent.evidence import classify
from reticent.files.output import (
    clear_leftover,
    is_leftover,
    refuse_inputs,
    remove,
    whole_file,
    write_text,
)
from reticent.files.tabular import Reading
from reticent.pages.charts import standalone
from reticent.privacy.promises import as_fraction
from reticent.progress import Clock, Watch
from reticent.refine.loading import patience
from reticent.releases import folder as release_folder
from reticent.releases.places import SIDES, Place
from reticent.sources import arrival
from reticent.tables.arrival import fitted
from reticent.tables.evidence import study
from reticent.tables.evidence.aligned import AlignedRows
from reticent.tables.evidence.attack import linked_by
from reticent.tables.evidence.loss import losses
from reticent.tables.exposure import exposures
from reticent.tables.policy import Policy
from reticent.tables.prepare import Prepared
from reticent.tables.publish import Outlet, publish
from reticent.tables.result import Release
from reticent.tables.search.greedy import Found
from reticent.tables.search.rare import LeftOut, find_leaving_out
from reticent.tables.search.riding import search_together
from reticent.tables.sweep_page import page_of, plot

_ITEMS = ("report.html", "sweep.csv", "sweep.json", "sweep.svg", "private")  # the state goes last
_LONGEST = 60  # characters of a folder's name


@dataclass(frozen=True, slots=True)
class Point:
    """One threshold: the policy that has it, and what its releases go by."""

    threshold: int | Fraction
    policy: Policy

    @property
    def name(self) -> str:
        """Its folder."""
        return _folder("k" if isinstance(self.threshold, int) else "at_most", self.threshold)


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a range of thresholds costs."""

    threshold: str  # "k" or "at_most"
    points: tuple[Mapping[str, Any], ...]  # the loosest first
    floor: Mapping[str, Any]  # what depends on no threshold: BE, UE, RE, majority
    resumed: int  # points that an earlier run had done
    output: str
    warnings: tuple[str, ...]
    promises: tuple[str, ...]  # in words, with the swept threshold open
    rows: int
    seed: int
    notes: tuple[str, ...] = ()  # what was assumed in reading the table

    def folder_of(self, point: Mapping[str, Any]) -> str:
        """Where the release of a point stands."""
        return _folder(self.threshold, Fraction(str(point["threshold"])))

    def summary(self) -> dict[str, Any]:
        """What ``sweep --json`` prints."""
        return {
            "threshold": self.threshold,
            "promises": list(self.promises),
            "rows": self.rows,
            "seed": self.seed,
            "points": [dict(point) for point in self.points],
            **self.floor,
            "resumed": self.resumed,
            "output": self.output,
            "warnings": list(self.warnings),
        }


def sweep(
    data: Any,
    policy: Policy | Mapping[str, Any] | str | Path,
    *,
    output: str | Path,
    k: Iterable[int] | int | None = None,
    at_most: Iterable[Any] | Any = None,
    seed: int = 1,
    classifiers: Sequence[str] | None = None,
    previous: Mapping[str, str | Path] | None = None,
    reading: Reading | None = None,
    force: bool = False,
    watch: Watch | None = None,
) -> Sweep:
    """Release a table under each of several thresholds, and measure every release.

    `k` replaces the k of every anonymity template, `at_most` that of every confidence template.
    One greedy search serves all thresholds for as long as they go the same way. The same call
    goes on where an earlier one was interrupted; `force` begins anew. `previous` tells where
    earlier releases stand.
    """
    watch = watch or Watch()
    policy = Policy.of(policy).with_previous(previous or {})
    points = _points(policy, k, at_most)
    used = classify.chosen(classifiers or ("tree",))
    classify.check_seed(seed)
    place = Path(output)
    refuse_inputs([place], [*arrival.inputs(data), *policy.files()])
    state = _State.of(place, force=force)
    watch.stage("read")
    table, _ = arrival.read(data, reading, policy.spare)
    prepared = fitted(table, points[0].policy, reading)
    state.claim(_fingerprint(data, prepared, points, seed, used))
    measuring = _Measuring.of(prepared, used, seed)
    waiting = [point for point in points if point.name not in state.done]
    clock = Clock(watch)
    watch.stage("refine")
    watch.tell(patience())
    try:
        for at, asked, found, left_out in _searches(prepared, [p.policy for p in waiting], watch):
            point = waiting[at]
            watch.stage("release")
            watch.tell(f"{point.name}, {len(state.done) + 1} of {len(points)}")
            if isinstance(found, Found):
                state.begin()  # not before there is something to write
            record = _released(point, asked, found, left_out, data, place, measuring, clock)
            state.keep(point.name, record)
            watch.stage("refine")
    except (Stopped, KeyboardInterrupt):
        done = sum(point.name in state.done for point in points)
        raise Stopped(
            f"Stopped; {done} of {len(points)} releases are done, and the same command goes on "
            "from there."
        ) from None
    records = tuple(state.done[point.name] for point in points)
    if not any("kept" in record for record in records):
        raise Unsatisfiable([Problem(record["infeasible"]) for record in records[:1]])
    threshold = "k" if k is not None else "at_most"
    resumed = len(points) - len(waiting)
    swept = Sweep(
        threshold, records, measuring.floor, resumed, str(output), prepared.warnings,
        _said(policy, threshold), prepared.table.rows, seed, table.notes,
    )  # fmt: skip
    _write(swept, place)
    return swept


def _said(policy: Policy, threshold: str) -> tuple[str, ...]:
    """The promises of a sweep: those swept are open, the others as the policy makes them."""
    if threshold == "k":
        loosest = policy.with_thresholds(k=1).anonymity
        swept = [promise.text.replace("at least 1 ", "at least k ") for promise in loosest]
        return (*swept, *(promise.text for promise in policy.confidence))
    kept = policy.with_thresholds(at_most=Fraction(1)).confidence
    swept = [promise.text.replace("more than 1 sure", "more than h sure") for promise in kept]
    return (*(promise.text for promise in policy.anonymity), *swept)


def _points(policy: Policy, k: Any, at_most: Any) -> list[Point]:
    """The thresholds, the loosest first."""
    if (k is None) == (at_most is None):
        raise InputError("give either k or at_most", where="sweep")
    if k is not None:
        if not policy.anonymity:
            raise InputError("the policy has no anonymity template to sweep", where=policy.name)
        sizes = [_python(n) for n in (k if np.iterable(k) else [k])]
        if not all(type(n) is int and n >= 1 for n in sizes):
            raise InputError("k must be whole numbers of at least 1", where="sweep")
        levels: list[Any] = sorted(set(sizes))
        points = [Point(n, policy.with_thresholds(k=n)) for n in levels]
    else:
        if not policy.confidence:
            raise InputError("the policy has no confidence template to sweep", where=policy.name)
        asked = (
            list(at_most) if np.iterable(at_most) and not isinstance(at_most, str) else [at_most]
        )
        try:
            levels = sorted({as_fraction(_python(level)) for level in asked}, reverse=True)
        except ValueError as error:
            raise InputError(str(error), where="sweep") from None
        points = [Point(level, policy.with_thresholds(at_most=level)) for level in levels]
    if not points:
        raise InputError("give at least one threshold", where="sweep")
    if any(len(point.name) > _LONGEST for point in points):
        raise InputError("a threshold has too many digits", where="sweep")
    return points


def _python(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _fingerprint(
    data: Any, prepared: Prepared, points: Sequence[Point], seed: int, used: Sequence[str]
) -> str:
    """What a point must come from to be taken over by a later run; its range may differ."""
    policy = points[0].policy
    loosest = policy.with_thresholds(
        k=1 if isinstance(points[0].threshold, int) else None,
        at_most=None if isinstance(points[0].threshold, int) else Fraction(1),
    )
    told = [__version__, loosest.canonical(), repr(prepared.reading), str(seed), *used]
    told += [str(tree.nested()) for tree in prepared.taxonomies.values()]
    told.append(type(points[0].threshold).__name__)
    if callable(policy.utility):  # nobody can tell two functions apart: never taken over
        told.append(secrets.token_hex(16))
    digest = hashlib.sha256("\0".join(told).encode("utf-8", "surrogatepass"))
    earlier = [release_folder.published(path) for path in policy.earlier]
    for path in (*arrival.inputs(data), *earlier):
        for file in sorted(path.iterdir()) if path.is_dir() else [path]:
            digest.update(release_folder.digest(file).encode())
    if not isinstance(data, str | Path):
        for column in prepared.table.columns.values():
            digest.update(repr((column.name, column.texts())).encode("utf-8", "surrogatepass"))
            digest.update(column.codes.tobytes())
    return digest.hexdigest()


# --- one point -----------------------------------------------------------------------------------


def _searches(
    prepared: Prepared, policies: Sequence[Policy], watch: Watch
) -> Iterator[tuple[int, Prepared, Found | Unsatisfiable, LeftOut | None]]:
    """What is found under each policy, and the records it is about.

    Greedy searches share their way; a thorough one chooses its own under each threshold.
    """
    if not policies:
        return
    if policies[0].goal.search == "greedy" and not policies[0].suppress_records:
        for at, result in search_together(prepared, policies, watch):
            yield at, replace(prepared, policy=policies[at]), result, None
        return
    for at, policy in enumerate(policies):
        if watch.stop():
            raise Stopped("stopped between two searches")
        asked = replace(prepared, policy=policy)
        try:
            asked, found, left_out = find_leaving_out(asked, watch)
        except Unsatisfiable as broken:
            yield at, asked, broken, None
            continue
        if watch.stop():  # what was found in haste is not what the same command would find
            raise Stopped("stopped between two releases")
        yield at, asked, found, left_out


def _released(
    point: Point,
    asked: Prepared,
    found: Found | Unsatisfiable,
    left_out: LeftOut | None,
    data: Any,
    place: Path,
    measuring: _Measuring,
    clock: Clock,
) -> dict[str, Any]:
    """Write the release of one threshold, and say what it costs."""
    record: dict[str, Any] = {"threshold": _plain(point.threshold)}
    if isinstance(found, Unsatisfiable):
        return record | {"infeasible": found.text()}
    everybody = left_out.before if left_out else asked
    # A release that stands here without its line in the state is whole, but was never measured.
    outlet = Outlet(data, "file", Place.of(place / point.name, writes=(), force=True))
    before = exposures(everybody, worst=20)
    release = publish(asked, found, before, outlet, clock, left_out=left_out)
    kept = [finding.value for finding in release.proof.findings]
    record |= {"kept": [_plain(value) for value in kept], "steps": len(release.steps)}
    if left_out:
        record |= {"left_out": left_out.count}
    return record | measuring(asked, release)


@dataclass(frozen=True, slots=True)
class _Measuring:
    """What every point is measured by: the same records for training and for testing."""

    test: Any
    used: tuple[str, ...]
    seed: int
    floor: dict[str, Any]
    plain: Mapping[str, Mapping[str, float]]

    @classmethod
    def of(cls, prepared: Prepared, used: Sequence[str], seed: int) -> _Measuring:
        """Measure what depends on no threshold."""
        rows = prepared.table.rows
        if prepared.roles.class_ is None:
            return cls(None, tuple(used), seed, {"reason": "the policy names no class"}, {})
        if rows < classify.FEWEST:
            reason = f"with fewer than {classify.FEWEST} records, an error would say little"
            return cls(None, tuple(used), seed, {"reason": reason}, {})
        test = next(classify.splits(rows, folds=None, seed=seed))
        sides = (prepared.cleaned.take(~test), prepared.cleaned.take(test))
        part = study.Round(sides, sides)
        plain = {
            name: study.rates(prepared, [part], name, seed=seed, only=("BE", "UE", "RE"))
            for name in used
        }
        floor = {
            "class": prepared.roles.class_,
            "tested": int(test.sum()),
            "majority": classify.majority([part.plain], prepared.roles.class_),
            "errors": {
                name: {view: round(rate, 6) for view, rate in found.items()}
                for name, found in plain.items()
            },
        }
        return cls(test, tuple(used), seed, floor, plain)

    def __call__(self, prepared: Prepared, release: Release) -> dict[str, Any]:
        """The errors of one release, its losses, and how easily it is linked."""
        masked = AlignedRows.of(prepared, release.recodings)
        lost = losses(masked)
        linked = [linked_by(masked, promise)["after"] for promise in prepared.policy.promises]
        worst = max(linked, key=lambda view: float(view["prosecutor_mean"]))
        record = {
            "distortion": round(lost["distortion"], 6),
            "hidden": lost["hidden"],
            "discernibility": lost["discernibility"]["after"],
            "groups": worst["groups"],
            "reidentified": round(worst["prosecutor_mean"], 6),
        }
        if self.test is None:
            return record
        test = self.test[~release.left_out.rows] if release.left_out else self.test
        part = study.divided(masked, test)
        errors = {}
        for name in self.used:
            rate = study.rates(prepared, [part], name, seed=self.seed, only=("masked",))
            errors[name] = study.named(prepared, {**self.plain[name], **rate})
        return record | {"errors": errors}


# --- the folder ----------------------------------------------------------------------------------


class _State:
    """Which points stand, kept beside them."""

    def __init__(self, place: Path, kept: dict[str, Any] | None, *, force: bool) -> None:
        self.place = place
        self.path = place / "private" / "state.json"
        self.kept = kept
        self.force = force
        self.begun = False
        self.mark = ""
        self.done: dict[str, dict[str, Any]] = {}

    @classmethod
    def of(cls, place: Path, *, force: bool) -> _State:
        """What stands at a place, which must be free or hold a sweep; nothing is touched yet."""
        if place.name in ("", ".", "..") or not place.parent.is_dir():
            raise InputError(
                "this is no name for a new folder", where=str(place),
                do="give a name in a folder that exists.",
            )  # fmt: skip
        state = cls(place, None, force=force)
        if not state.path.exists():
            if place.is_symlink() or place.is_file() or (place.exists() and not _empty(place)):
                raise InputError(
                    "it exists already, and is no sweep", where=str(place),
                    do="choose another place.",
                )  # fmt: skip
            return state
        try:
            kept = json.loads(state.path.read_text(encoding="utf-8"))
            state.kept = {"mark": str(kept["mark"]), "done": dict(kept["done"])}
        except (OSError, ValueError, TypeError, KeyError):
            raise InputError(
                "what an earlier sweep noted cannot be read", where=str(state.path),
                why="so nobody can tell what here is whose.",
                do="choose another place, or remove the folder yourself.",
            ) from None  # fmt: skip
        return state

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
                if _is_record(record) and ("infeasible" in record or _is_whole(self.place / name))
            }

    def begin(self) -> None:
        """Make room, once there is something to put there: under `force` the old sweep goes."""
        if self.begun:
            return
        self.begun = True
        if self.force and self.kept is not None:
            for old in (*filter(_is_release, sorted(self.place.iterdir())), *self._items()):
                remove(old)
        try:
            self.place.mkdir(exist_ok=True)
            self.path.parent.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"cannot write it: {error.strerror or 'the system refused'}", where=str(self.place)
            ) from None
        self.save()

    def _items(self) -> Iterator[Path]:
        return (self.place / name for name in _ITEMS)

    def keep(self, name: str, record: dict[str, Any]) -> None:
        """Count a point as done."""
        self.done[name] = record
        if self.begun or (self.kept is not None and not self.force):
            self.save()

    def save(self) -> None:
        """Write the state, whole."""
        with whole_file(self.path, force=True, private=True) as path:
            write_text(path, json.dumps({"mark": self.mark, "done": self.done}) + "\n")


def _empty(place: Path) -> bool:
    """Whether a folder holds nothing, or no more than a run killed at its very beginning leaves."""
    return all(
        is_leftover(path) or (path.name == "private" and path.is_dir() and not path.is_symlink())
        for path in place.iterdir()
    ) and all(is_leftover(path) for path in (place / "private").glob("*"))


def _is_record(record: Any) -> bool:
    keys = ("threshold", "kept", "steps", "distortion", "groups", "reidentified")
    if not isinstance(record, dict):
        return False
    return all(key in record for key in keys) or isinstance(record.get("infeasible"), str)


def _is_release(path: Path) -> bool:
    """Whether this is a release folder of a sweep, with nothing of anybody else's in it."""
    named = re.fullmatch(r"(k|at-most)-[0-9][0-9a-z_.]*", path.name) is not None
    if not named or path.is_symlink() or not path.is_dir():
        return False
    return {other.name for other in path.iterdir()} <= set(SIDES)


def _is_whole(path: Path) -> bool:
    """Whether a release folder has everything that its manifest lists."""
    try:
        manifest = json.loads((path / "public" / "manifest.json").read_text(encoding="utf-8"))
        sizes = {path / "public" / n: told["bytes"] for n, told in manifest["files"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return False
    listed = all(file.is_file() and file.stat().st_size == n for file, n in sizes.items())
    return _is_release(path) and listed and (path / "private" / "recoding.json").is_file()


def _write(swept: Sweep, place: Path) -> None:
    """The table, the plot and the page that stand beside the releases."""
    told = {k: v for k, v in swept.summary().items() if k not in ("resumed", "output")}
    texts = {
        "sweep.json": json.dumps(told, ensure_ascii=False, indent=1) + "\n",
        "sweep.csv": _table(swept),
        "sweep.svg": standalone(plot(swept)),
        "report.html": page_of(swept),
    }
    for name, text in texts.items():
        with whole_file(place / name, force=True) as path:
            write_text(path, text)


def _table(swept: Sweep) -> str:
    lines = list(_lines(swept))
    file = io.StringIO()
    writer = csv.DictWriter(file, list(dict.fromkeys(k for line in lines for k in line)))
    writer.writeheader()
    writer.writerows(lines)
    return file.getvalue().replace("\r\n", "\n")


def _lines(swept: Sweep) -> Iterator[dict[str, Any]]:
    """One line a threshold and classifier."""
    for point in swept.points:
        plain = {key: value for key, value in point.items() if key not in ("errors", "kept")}
        plain[swept.threshold] = plain.pop("threshold")
        if "infeasible" in plain:
            plain["infeasible"] = "no release keeps the promise"
        plain["kept"] = " ".join(map(str, point.get("kept", ())))
        line = {swept.threshold: plain.pop(swept.threshold), **plain}
        errors = point.get("errors") or {"": {}}
        for name, found in errors.items():
            yield line | ({"classifier": name, **found} if name else {})


def _folder(kind: str, threshold: int | Fraction) -> str:
    return f"{kind.replace('_', '-')}-{_text(threshold)}".replace("/", "_of_")


def _plain(value: int | Fraction | None) -> int | str | None:
    return value if value is None or isinstance(value, int) else _text(value)


def _text(value: int | Fraction) -> str:
    """A threshold as short as it is exact: a decimal where there is one.

    >>> _text(Fraction(1, 5)), _text(Fraction(1, 3)), _text(20)
    ('0.2', '1/3', '20')
    """
    if value.denominator == 1:
        return str(value)
    decimal = repr(float(value))
    return decimal if Fraction(decimal) == value else str(value)
