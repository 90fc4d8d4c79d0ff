"""The flow of `sweep`: the same table released under a range of thresholds, each one measured.

    FOLDER/   report.html  sweep.csv  sweep.json  sweep.svg   what the range costs; nobody's value
              k-20/ …                             a release folder a threshold
              private/state.json                  what was done, from what: for going on later

An interrupted sweep goes on where it was (`releases.sweeping`).
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from reticent.data.recode import as_python
from reticent.errors import InputError, Problem, Stopped, Unsatisfiable
from reticent.evidence import classify
from reticent.files.output import refuse_inputs
from reticent.files.tabular import Reading, paths_of
from reticent.pages.drawing import standalone
from reticent.privacy.promises import Anonymity, Confidence, Promise, as_fraction
from reticent.progress import Clock, Watch
from reticent.refine.loading import patience
from reticent.releases import folder as release_folder
from reticent.releases.places import Place, format_asked
from reticent.releases.sweeping import (
    SweepFolder,
    as_table,
    folder_name,
    threshold_text,
    write_beside,
)
from reticent.sources import arrival
from reticent.tables.arrival import fitted
from reticent.tables.evidence import study
from reticent.tables.evidence.aligned import AlignedRows
from reticent.tables.evidence.attack import linked_by
from reticent.tables.evidence.loss import losses, shares_shown
from reticent.tables.exposure import exposures
from reticent.tables.policy import Policy
from reticent.tables.prepare import Prepared
from reticent.tables.publish import Outlet, publish
from reticent.tables.report import Release
from reticent.tables.search.greedy import Found
from reticent.tables.search.rare import LeftOut, find_leaving_out
from reticent.tables.search.riding import search_together
from reticent.tables.sweep_folder import TABLE_POINTS, Sweep
from reticent.tables.sweep_matrix import fingerprint, with_changes
from reticent.tables.sweep_page import page_of, plot
from reticent.version import __version__

_LOOSEST: dict[str, Any] = {"k": 1, "at_most": Fraction(1)}
_LONGEST = 60  # characters of a folder's name
_NOT_IN_THE_TABLE = ("threshold", "errors", "kept", "shows", "changes")  # of values by column


@dataclass(frozen=True, slots=True)
class Point:
    """One threshold: the policy that has it, and what its releases go by."""

    swept: str  # "k" or "at_most"
    threshold: int | Fraction
    policy: Policy

    @property
    def name(self) -> str:
        """Its folder."""
        return folder_name(self.swept, self.threshold)


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
    reading = policy.reads(reading)
    points = _points(policy, k, at_most)
    used = classify.chosen(classifiers or ("tree",))
    classify.check_seed(seed)
    place = Path(output)
    format_asked(output, writes=())
    refuse_inputs([place], [*arrival.inputs(data), *policy.files()])
    state = SweepFolder(place, TABLE_POINTS, force=force)
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
    records = with_changes([state.done[point.name] for point in points])
    if not any("kept" in record for record in records):
        raise Unsatisfiable([Problem(record["infeasible"]) for record in records[:1]])
    threshold, resumed = points[0].swept, len(points) - len(waiting)
    notes = (*table.notes, *state.others([point.name for point in points]))
    swept = Sweep(
        threshold, records, measuring.floor, resumed, str(output), prepared.foreseen,
        *_said(policy, threshold), prepared.table.rows, seed, notes, policy.about,
    )  # fmt: skip
    _write(swept, place)
    return swept


def _said(policy: Policy, threshold: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The promises of a sweep, with all columns and for people.

    Those swept are open, the others as the policy makes them.
    """
    number: Any
    number, kind, one, each = {
        "k": (2, Anonymity, "at least 2 ", "at least k "),  # 2, as k are several
        "at_most": (Fraction(1), Confidence, "more than 1 sure", "more than h sure"),
    }[threshold]

    def opened(words: str, promise: Promise) -> str:
        return words.replace(one, each) if isinstance(promise, kind) else words

    promises = policy.with_thresholds(**{threshold: number}).promises
    return tuple(opened(p.text, p) for p in promises), tuple(opened(p.told, p) for p in promises)


def _points(policy: Policy, k: Any, at_most: Any) -> list[Point]:
    """The thresholds, the loosest first."""
    if (k is None) == (at_most is None):
        raise InputError("give either k or at_most", where="sweep")
    swept, kind = ("k", "anonymity") if at_most is None else ("at_most", "confidence")
    if not getattr(policy, kind):
        raise InputError(f"the policy has no {kind} template to sweep", where=policy.name)
    asked = k if at_most is None else at_most
    several = np.iterable(asked) and not isinstance(asked, str)
    given = [as_python(level) for level in (asked if several else [asked])]
    levels: list[Any]
    if swept == "k":
        if not all(type(n) is int and n >= 1 for n in given):
            raise InputError("k must be whole numbers of at least 1", where="sweep")
        levels = sorted(set(given))
    else:
        try:
            levels = sorted(set(map(as_fraction, given)), reverse=True)
        except ValueError as error:
            raise InputError(str(error), where="sweep") from None
    points = [Point(swept, level, policy.with_thresholds(**{swept: level})) for level in levels]
    if not points:
        raise InputError("give at least one threshold", where="sweep")
    if any(len(point.name) > _LONGEST for point in points):
        raise InputError("a threshold has too many digits", where="sweep")
    return points


def _fingerprint(
    data: Any, prepared: Prepared, points: Sequence[Point], seed: int, used: Sequence[str]
) -> str:
    """What a point must come from to be taken over by a later run; its range may differ."""
    policy, swept = points[0].policy, points[0].swept
    loosest = policy.with_thresholds(**{swept: _LOOSEST[swept]})
    told = [__version__, loosest.canonical(), repr(prepared.reading), str(seed), *used]
    told += [str(tree.nested()) for tree in prepared.taxonomies.values()]
    told.append(type(points[0].threshold).__name__)
    if callable(policy.utility):  # nobody can tell two functions apart: never taken over
        told.append(secrets.token_hex(16))
    digest = hashlib.sha256("\0".join(told).encode("utf-8", "surrogatepass"))
    earlier = [release_folder.published(path) for path in policy.earlier]
    for path in (*(paths_of(data) if isinstance(data, str | Path) else ()), *earlier):
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
        rows, target = prepared.table.rows, prepared.roles.class_
        if target is None or rows < classify.FEWEST:
            reason = f"with fewer than {classify.FEWEST} records, an error would say little"
            reason = "the policy names no class" if target is None else reason
            return cls(None, tuple(used), seed, {"reason": reason}, {})
        test = next(classify.splits(rows, folds=None, seed=seed))
        sides = (prepared.cleaned.take(~test), prepared.cleaned.take(test))
        part = study.Round(sides, sides)
        plain = {
            name: study.rates(prepared, [part], name, seed=seed, only=("BE", "UE", "RE"))
            for name in used
        }
        floor = {
            "class": target,
            "tested": int(test.sum()),
            "majority": classify.majority([part.plain], target),
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
            "shows": shares_shown(masked),
            "cuts": {name: fingerprint(one) for name, one in release.recodings.items()},
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


# --- what stands beside the releases --------------------------------------------------------------


def _write(swept: Sweep, place: Path) -> None:
    """The table, the plot and the page that stand beside the releases."""
    told = {k: v for k, v in swept.summary().items() if k not in ("resumed", "output")}
    texts = {
        "sweep.json": json.dumps(told, ensure_ascii=False, indent=1) + "\n",
        "sweep.csv": as_table(list(_lines(swept))),
        "sweep.svg": standalone(plot(swept)),
        "report.html": page_of(swept),
    }
    write_beside(place, texts)


def _lines(swept: Sweep) -> Iterator[dict[str, Any]]:
    """One line a threshold and classifier."""
    for point in swept.points:
        line = {swept.threshold: point["threshold"]}
        line |= {k: v for k, v in point.items() if k not in _NOT_IN_THE_TABLE}
        if "infeasible" in line:
            line["infeasible"] = "no release keeps the promise"
        line["kept"] = " ".join(map(str, point.get("kept", ())))
        for name, found in (point.get("errors") or {"": {}}).items():
            yield line | ({"classifier": name, **found} if name else {})


def _plain(value: int | Fraction | None) -> int | str | None:
    return value if value is None or isinstance(value, int) else threshold_text(value)
