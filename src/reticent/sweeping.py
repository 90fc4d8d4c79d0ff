"""The flow of `sweep`: the same table released under a range of thresholds, each one measured.

    FOLDER/   report.html  sweep.csv  sweep.json  sweep.svg   what the range costs; nobody's value
              k-20/ …                             a release folder a threshold
              private/state.json                  what was done, from what: for going on later

A point is done when its release folder and its line in the state stand; both appear at once or not
at all, so an interrupted sweep goes on where it was.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reticent import __version__, folder, pages, pipeline
from reticent.errors import InputError, Problem, Stopped, Unsatisfiable
from reticent.evidence import classify, study
from reticent.evidence.aligned import Masked
from reticent.evidence.attack import linkage
from reticent.evidence.loss import losses
from reticent.pipeline import Clock, Watch
from reticent.prepare import Prepared, prepare
from reticent.privacy.promises import as_fraction
from reticent.searching import Found, search_together
from reticent.table.files import Reading
from reticent.table.output import refuse_inputs, whole_file, write_text

if TYPE_CHECKING:
    from reticent.policy import Policy

_ITEMS = ("private", "report.html", "sweep.csv", "sweep.json", "sweep.svg")


@dataclass(frozen=True, slots=True)
class Point:
    """One threshold: the policy that has it, and what its releases go by."""

    threshold: int | Fraction
    policy: Policy

    @property
    def name(self) -> str:
        """Its folder."""
        kind = "k" if isinstance(self.threshold, int) else "at-most"
        return f"{kind}-{_text(self.threshold)}".replace("/", "_of_")


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a range of thresholds costs."""

    threshold: str  # "k" or "at_most"
    points: tuple[Mapping[str, Any], ...]  # the loosest first
    floor: Mapping[str, Any]  # what depends on no threshold: BE, UE, RE, majority
    resumed: int  # points that an earlier run had done
    output: str
    warnings: tuple[str, ...]

    def summary(self) -> dict[str, Any]:
        """What ``sweep --json`` prints."""
        return {
            "threshold": self.threshold,
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
    k: Sequence[int] | None = None,
    at_most: Sequence[Any] | None = None,
    seed: int = 1,
    classifiers: Sequence[str] | None = None,
    reading: Reading | None = None,
    force: bool = False,
    watch: Watch | None = None,
) -> Sweep:
    """Release a table under each of several thresholds, and measure every release.

    `k` replaces the k of every anonymity template, `at_most` that of every confidence template.
    One search serves all thresholds for as long as they go the same way. The same call goes on
    where an earlier one was interrupted; `force` begins anew.
    """
    watch = watch or Watch()
    policy = pipeline.policy_of(policy)
    points = _points(policy, k, at_most)
    used = classify.chosen(classifiers or ("tree",))
    place = Path(output)
    refuse_inputs([place], pipeline.inputs(data, policy))
    watch.stage("read")
    table, _ = pipeline.read(data, reading)
    prepared = prepare(table, points[0].policy, reading)
    mark = _fingerprint(data, prepared, points, seed, used)
    state = _State.open(place, mark, [point.name for point in points], force=force)
    measuring = _Measuring.of(prepared, used, seed)
    waiting = [point for point in points if point.name not in state.done]
    resumed = len(points) - len(waiting)
    clock = Clock(watch)
    watch.stage("refine")
    try:
        for at, found in search_together(prepared, [p.policy for p in waiting], watch):
            point = waiting[at]
            state.keep(point.name, _released(point, found, prepared, data, place, measuring, clock))
            watch.stage("refine")
    except Stopped:
        done = sum(point.name in state.done for point in points)
        raise Stopped(
            f"Stopped after {done} of {len(points)} releases; the same command goes on from there."
        ) from None
    records = tuple(state.done[point.name] for point in points)
    if all("infeasible" in record for record in records):
        raise Unsatisfiable([Problem(record["infeasible"]) for record in records[:1]])
    threshold = "k" if k is not None else "at_most"
    swept = Sweep(threshold, records, measuring.floor, resumed, str(output), prepared.warnings)
    _write(swept, place)
    return swept


def _points(policy: Policy, k: Sequence[int] | None, at_most: Sequence[Any] | None) -> list[Point]:
    """The thresholds, the loosest first."""
    if (k is None) == (at_most is None):
        raise InputError("give either k or at_most", where="sweep")
    if k is not None:
        if not policy.anonymity:
            raise InputError("the policy has no anonymity template to sweep", where=policy.name)
        if not k or any(isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in k):
            raise InputError("k must be whole numbers of at least 1", where="sweep")
        return [Point(n, policy.with_thresholds(k=n)) for n in sorted(set(k))]
    if not policy.confidence:
        raise InputError("the policy has no confidence template to sweep", where=policy.name)
    try:
        levels = {as_fraction(level) for level in at_most or ()}
    except ValueError as error:
        raise InputError(str(error), where="sweep") from None
    if not levels:
        raise InputError("give at least one threshold", where="sweep")
    ordered = sorted(levels, reverse=True)
    return [Point(level, policy.with_thresholds(at_most=level)) for level in ordered]


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
    digest = hashlib.sha256("\0".join(told).encode())
    for path in pipeline.inputs(data):
        digest.update(folder.digest(path).encode())
    return digest.hexdigest()


# --- one point -----------------------------------------------------------------------------------


def _released(
    point: Point,
    found: Found | Unsatisfiable,
    prepared: Prepared,
    data: Any,
    place: Path,
    measuring: _Measuring,
    clock: Clock,
) -> dict[str, Any]:
    """Write the release of one threshold, and say what it costs."""
    record: dict[str, Any] = {"threshold": _plain(point.threshold)}
    if isinstance(found, Unsatisfiable):
        return record | {"infeasible": found.text()}
    asked = replace(prepared, policy=point.policy)
    # A release that stands here without its line in the state is whole, but was never measured.
    release = pipeline.publish(
        asked, found, pipeline.exposures(asked, worst=20), data, "file", clock,
        output=place / point.name, force=True,
    )  # fmt: skip
    kept = [finding.value for finding in release.proof.findings]
    record |= {"kept": [_plain(value) for value in kept], "steps": len(release.steps)}
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
        if prepared.roles.class_ is None or rows < 3:
            return cls(None, tuple(used), seed, {}, {})
        test = next(classify.splits(rows, folds=None, seed=seed))
        sides = (prepared.cleaned.take(~test), prepared.cleaned.take(test))
        part = study.Round(sides, sides)
        plain = {
            name: study.rates(prepared, [part], name, seed=seed, only=("BE", "UE", "RE"))
            for name in used
        }
        floor = {
            "class": prepared.roles.class_,
            "majority": study.majority([part], prepared.roles.class_),
            "errors": {
                name: {view: round(rate, 6) for view, rate in found.items()}
                for name, found in plain.items()
            },
        }
        return cls(test, tuple(used), seed, floor, plain)

    def __call__(self, prepared: Prepared, release: pipeline.Release) -> dict[str, Any]:
        """The errors of one release, its losses, and how easily it is linked."""
        masked = Masked.of(prepared, release.recodings)
        lost = losses(masked)
        over = {name for promise in prepared.policy.promises for name in promise.over}
        linked = linkage([masked.columns[name] for name in masked.columns if name in over])
        record = {
            "distortion": round(lost["distortion"], 6),
            "hidden": lost["hidden"],
            "discernibility": lost["discernibility"]["after"],
            "groups": linked.groups,
            "reidentified": round(linked.prosecutor_mean, 6),
        }
        if self.test is None:
            return record
        part = study.divided(masked, self.test)
        errors = {}
        for name in self.used:
            rate = study.rates(prepared, [part], name, seed=self.seed, only=("masked",))
            errors[name] = study.named(prepared, {**self.plain[name], **rate})
        return record | {"errors": errors}


# --- the folder ----------------------------------------------------------------------------------


@dataclass(slots=True)
class _State:
    """Which points stand, kept beside them."""

    path: Path
    mark: str
    done: dict[str, dict[str, Any]]

    @classmethod
    def open(cls, place: Path, mark: str, names: Sequence[str], *, force: bool) -> _State:
        """The state of an earlier run of the same sweep, or a new one."""
        path = place / "private" / "state.json"
        kept = _read_state(path)
        if kept is None and place.exists() and any(place.iterdir() if place.is_dir() else [1]):
            raise InputError(
                "it exists already, and is no sweep", where=str(place), do="choose another place."
            )
        if kept is not None and (force or kept["mark"] != mark):
            if not force:
                raise InputError(
                    "another sweep stands here: of other data, another policy or other options",
                    where=str(place),
                    do="choose another place, or replace it with --force.",
                )
            for name in [*_ITEMS, *kept["done"]]:
                _remove(place / name)
            kept = None
        try:
            (place / "private").mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"cannot write it: {error.strerror or 'the system refused'}", where=str(place)
            ) from None
        done = {} if kept is None else kept["done"]
        whole = {n: r for n, r in done.items() if "infeasible" in r or (place / n).is_dir()}
        state = cls(path, mark, whole)
        state.save()
        return state

    def keep(self, name: str, record: dict[str, Any]) -> None:
        """Count a point as done."""
        self.done[name] = record
        self.save()

    def save(self) -> None:
        """Write the state, whole."""
        with whole_file(self.path, force=True, private=True) as path:
            write_text(path, json.dumps({"mark": self.mark, "done": self.done}) + "\n")


def _read_state(path: Path) -> dict[str, Any] | None:
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return kept if isinstance(kept, dict) and {"mark", "done"} <= set(kept) else None


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _write(swept: Sweep, place: Path) -> None:
    """The table, the plot and the page that stand beside the releases."""
    texts = {
        "sweep.json": json.dumps(swept.summary(), ensure_ascii=False, indent=1) + "\n",
        "sweep.csv": _table(swept),
        "sweep.svg": pages.standalone(pages.plot(swept)),
        "report.html": pages.sweep(swept),
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
        plain["kept"] = " ".join(map(str, point.get("kept", ())))
        line = {swept.threshold: plain.pop(swept.threshold), **plain}
        errors = point.get("errors") or {"": {}}
        for name, found in errors.items():
            yield line | ({"classifier": name, **found} if name else {})


def _plain(value: int | Fraction | None) -> int | str | None:
    return value if value is None or isinstance(value, int) else _text(value)


def _text(value: int | Fraction) -> str:
    """A threshold as short as it is exact: a decimal where there is one.

    >>> _text(Fraction(1, 5)), _text(Fraction(1, 3)), _text(20)
    ('0.2', '1/3', '20')
    """
    decimal = repr(float(value)) if not isinstance(value, int) else str(value)
    return decimal if Fraction(decimal) == value else str(value)
