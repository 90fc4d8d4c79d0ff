"""The flow of `transactions sweep`: the same baskets released under a range of thresholds.

    FOLDER/   report.html  sweep.csv  sweep.json  sweep.svg   what the range costs; nobody's item
              k-20/ …                             a release folder a threshold
              private/state.json                  what was done, from what: for going on later

Every release is found, written and recounted as by `transactions release`. An interrupted sweep
goes on where it was (`releases.sweeping`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reticent.data.baskets import Baskets
from reticent.errors import InputError, Problem, Stopped, Unsatisfiable
from reticent.files import basket_files
from reticent.files.output import refuse_inputs
from reticent.files.tabular import Reading
from reticent.pages.drawing import standalone
from reticent.privacy import coherence
from reticent.privacy.promises import as_fraction
from reticent.progress import Clock, Watch
from reticent.releases import folder as release_folder
from reticent.releases.places import Place, format_asked
from reticent.releases.sweeping import SweepFolder, as_table, threshold_text, write_beside
from reticent.sources.arrival import inputs
from reticent.transactions import report, sweep_page
from reticent.transactions.flow import (
    BasketSource,
    Choice,
    find,
    nuggets_of,
    read,
    refuse_infeasible,
    released,
)
from reticent.transactions.policy import USUAL_NUGGETS, BasketPolicy, ItemRoles, Mask
from reticent.transactions.report import MOST_KNOWN, BasketRelease, roled
from reticent.transactions.sweep_folder import BASKET_POINTS, BasketSweep, point_folder
from reticent.version import __version__

if TYPE_CHECKING:
    from reticent.suppress.baskets.diagrams import Family

_KEYS = {"k": "k", "at_most": "h", "p": "p"}  # what is swept, and what policies call it
_LOOSEST: dict[str, Any] = {"k": 1, "at_most": Fraction(1), "p": 1}
_LONGEST = 60  # characters of a folder's name
_COUNTING = 200_000_000  # work spent on what a release exposes beyond its promise


@dataclass(frozen=True, slots=True)
class BasketPoint:
    """One threshold, and the policy that has it."""

    swept: str
    threshold: int | Fraction | None  # None: any number of known items
    policy: BasketPolicy

    @property
    def name(self) -> str:
        """Its folder."""
        return point_folder(self.swept, self.threshold)


def sweep(
    data: Any,
    policy: BasketPolicy | Mapping[str, Any] | str | Path,
    *,
    output: str | Path,
    k: Iterable[int] | int | None = None,
    at_most: Iterable[Any] | Any = None,
    p: Iterable[Any] | Any = None,
    names: Sequence[str | int] | None = None,
    reading: Reading | None = None,
    force: bool = False,
    watch: Watch | None = None,
) -> BasketSweep:
    """Release baskets under each of several thresholds, and tell what every release costs.

    `k`, `at_most` or `p` replaces the policy's k, h or p; `p` may be "unlimited". The same call
    goes on where an earlier one was interrupted; `force` begins anew.
    """
    watch = watch or Watch()
    policy = BasketPolicy.of(policy)
    reading = policy.reads(reading)
    points = _points(policy, k=k, at_most=at_most, p=p)
    place = Path(output)
    format_asked(output, writes=())
    refuse_inputs([place], [*inputs(data), *policy.files()])
    state = SweepFolder(place, BASKET_POINTS, force=force)
    clock = Clock(watch)
    with clock.stage("read"):
        baskets, kind = read(data, policy, reading, names)
    roles = policy.roles(baskets.names, original=True)
    state.claim(_fingerprint(data, baskets, points[0], reading))
    source = BasketSource(data, baskets, kind, reading, names)
    with clock.stage("count"):
        measuring = _BasketMeasuring.of(source, roles, policy)
    waiting = [point for point in points if point.name not in state.done]
    try:
        for point in waiting:
            if watch.stop():
                raise Stopped("stopped between two releases")
            watch.stage("search")
            watch.tell(f"{point.name}, {len(state.done) + 1} of {len(points)}")
            state.keep(point.name, _point(point, source, roles, measuring, state, clock))
    except (Stopped, KeyboardInterrupt):
        done = sum(point.name in state.done for point in points)
        raise Stopped(
            f"Stopped; {done} of {len(points)} releases are done, and the same command goes on "
            "from there."
        ) from None
    records = [state.done[point.name] for point in points]
    if all("infeasible" in record for record in records):
        raise Unsatisfiable([Problem(records[0]["infeasible"])])
    notes = (*baskets.notes, *state.others([point.name for point in points]))
    swept = BasketSweep(
        points[0].swept, _with_changes(records, [place / point.name for point in points]),
        measuring.floor, _said(points[0]), len(points) - len(waiting), str(output), roles,
        (*measuring.warnings, *roles.warnings), notes, points[0].policy.about,
    )  # fmt: skip
    _write(swept, place)
    return swept


def _said(point: BasketPoint) -> str:
    """The promise, with the swept threshold open."""
    key, strange = _KEYS[point.swept], 987_654_321
    level = Fraction(1, strange) if key == "h" else strange
    said = point.policy.with_threshold(key, level).promise.text
    printed = {"k": f"{strange:,}", "h": f"1/{strange}", "p": str(strange)}[key]
    return said.replace(printed, key)


def _points(policy: BasketPolicy, **asked: Any) -> list[BasketPoint]:
    """The thresholds, the loosest first."""
    given = {swept: levels for swept, levels in asked.items() if levels is not None}
    if len(given) != 1:
        raise InputError("give one of k, at_most and p", where="sweep")
    [(swept, levels)] = given.items()
    if swept == "at_most" and not policy.private:
        raise InputError(
            "the policy calls no item private, so there is no h to sweep", where=policy.name,
            do="name private items, or sweep  --k  or  --p.",
        )  # fmt: skip
    several = np.iterable(levels) and not isinstance(levels, str)
    found = {_level(swept, level) for level in (levels if several else [levels])}
    if not found:
        raise InputError("give at least one threshold", where="sweep")
    falls = swept == "at_most"  # the larger, the looser
    order = sorted(found - {None}, key=lambda level: Fraction(level or 0), reverse=falls)
    order += [None] if None in found else []
    key = _KEYS[swept]
    points = [BasketPoint(swept, level, policy.with_threshold(key, level)) for level in order]
    if any(len(point.name) > _LONGEST for point in points):
        raise InputError("a threshold has too many digits", where="sweep")
    return points


def _level(swept: str, given: Any) -> int | Fraction | None:
    level = given.item() if isinstance(given, np.generic) else given
    if swept == "at_most":
        try:
            share = as_fraction(level)
        except ValueError as error:
            raise InputError(str(error), where="sweep") from None
        if share == 0:
            raise InputError("a confidence of 0 allows no private item at all", where="sweep")
        return share
    if swept == "p" and level in (None, "unlimited"):
        return None
    if type(level) is not int or level < 1:
        more = ', or "unlimited"' if swept == "p" else ""
        raise InputError(f"{swept} must be whole numbers of at least 1{more}", where="sweep")
    return level


def _fingerprint(data: Any, baskets: Baskets, point: BasketPoint, reading: Reading) -> str:
    """What a point must come from to be taken over by a later run; its range may differ."""
    loosest = point.policy.with_threshold(_KEYS[point.swept], _LOOSEST[point.swept])
    told = [__version__, loosest.canonical(), repr(reading), point.swept]
    digest = hashlib.sha256("\0".join(told).encode("utf-8", "surrogatepass"))
    if isinstance(data, str | Path):
        for path in basket_files.paths_of(data, point.policy.format):
            digest.update(release_folder.digest(path).encode())
    else:
        digest.update(repr(baskets.names.to_pylist()).encode("utf-8", "surrogatepass"))
        digest.update(baskets.starts.tobytes() + baskets.items.tobytes())
    return digest.hexdigest()


# --- one point -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _BasketMeasuring:
    """What every point is measured by."""

    source: BasketSource
    asked: Family | None  # the policy's nuggets, which may steer the search
    nuggets: Family | None  # what is counted: those, or the usual ones; None: too many
    floor: dict[str, Any]
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(cls, source: BasketSource, roles: ItemRoles, policy: BasketPolicy) -> _BasketMeasuring:
        """Measure what depends on no threshold."""
        baskets, wanted = source.baskets, policy.nuggets or USUAL_NUGGETS
        found, warnings = None, []
        try:
            found = nuggets_of(baskets, wanted)
        except InputError as error:
            if policy.nuggets is not None:
                raise
            warnings.append(f"itemsets were not counted: {error.problems[0].what}.")
        floor = {
            "transactions": baskets.transactions,
            "items": len(baskets.names),
            "public": int(roles.public.sum()),
            "private": int(roles.private.sum()),
            "occurrences": baskets.occurrences,
            "nuggets": None if found is None else found.total,
            "support": wanted.least(baskets.transactions),
            "unique": _unique(baskets, roles, policy),
        }
        asked = None if policy.nuggets is None else found
        return cls(source, asked, found, floor, tuple(warnings))

    def __call__(self, release: BasketRelease) -> dict[str, Any]:
        """What one release costs, and what it leaves to be found."""
        roles = release.policy.roles(release.released.names)
        gone = np.flatnonzero(release.gone).tolist()
        left = None if self.nuggets is None else self.nuggets.without(gone).total
        return {
            "suppressed": len(gone),
            "occurrences": release.released.occurrences,
            "loss": report.rounded(release.loss),
            "nuggets": left,
            "unique": _unique(release.released, roles, release.policy),
            "method": release.search.method,
        }


def _unique(baskets: Baskets, roles: ItemRoles, policy: BasketPolicy) -> int | None:
    """How many baskets three known items single out; None where that takes too long."""
    levels = coherence.exposure(
        roled(baskets, roles), policy.promise, most=MOST_KNOWN, budget=_COUNTING
    )
    return levels[MOST_KNOWN].unique


def _point(
    point: BasketPoint,
    source: BasketSource,
    roles: ItemRoles,
    measuring: _BasketMeasuring,
    state: SweepFolder,
    clock: Clock,
) -> dict[str, Any]:
    """Write the release of one threshold, and say what it costs."""
    plain = "unlimited" if point.threshold is None else _plain(point.threshold)
    record: dict[str, Any] = {"threshold": plain}
    policy, watch = point.policy, clock.watch
    try:
        refuse_infeasible(source.baskets, roles, policy)
        found = find(source.baskets, roles, policy, watch, measuring.asked)
    except Unsatisfiable as broken:
        return record | {"infeasible": broken.text()}
    except InputError as unknown:  # too many sets of items: of others there may be fewer
        return record | {"infeasible": unknown.text(), "undecided": True}
    if watch.stop():  # what was found in haste is not what the same command would find
        raise Stopped("stopped in a search")
    state.begin()  # not before there is something to write
    watch.stage("release")
    # A release that stands here without its line in the state is whole, but was never measured.
    place = Place.of(state.place / point.name, writes=(), force=True)
    try:
        release = released(source, policy, Choice(roles, *found), place, clock)
    except InputError as unknown:
        if not _is_undecided(source.baskets, found[1], policy):
            raise
        return record | {"infeasible": unknown.text(), "undecided": True}
    return record | measuring(release)


def _is_undecided(baskets: Baskets, gone: Mask, policy: BasketPolicy) -> bool:
    """Whether the verifier, too, finds too many sets of items to look at."""
    masked = baskets.without(gone)
    roles = policy.roles(masked.names)
    return coherence.recount(roled(masked, roles), policy.promise).holds is None


def _plain(threshold: int | Fraction) -> int | str:
    return threshold if isinstance(threshold, int) else threshold_text(threshold)


def _with_changes(
    records: Sequence[Mapping[str, Any]], folders: Sequence[Path]
) -> tuple[Mapping[str, Any], ...]:
    """Points, with what changes from the looser release before each."""
    told = [dict(record) for record in records]
    kept = [at for at, record in enumerate(records) if "infeasible" not in record]
    for before, after in pairwise(kept):
        looser, stricter = _gone(folders[before]), _gone(folders[after])
        told[after] |= {
            "more": len(stricter - looser),
            "back": len(looser - stricter),
            "same": looser == stricter,
        }
    return tuple(told)


def _gone(folder: Path) -> set[str]:
    """The items that a release suppressed, as its private side knows."""
    told = json.loads((folder / "private" / "suppressed.json").read_text(encoding="utf-8"))
    return {one["item"] for one in told["suppressed"]}


# --- what stands beside the releases --------------------------------------------------------------


def _write(swept: BasketSweep, place: Path) -> None:
    """The table, the plot and the page that stand beside the releases."""
    told = {k: v for k, v in swept.summary().items() if k not in ("resumed", "output")}
    lines = [
        {swept.threshold: point["threshold"]}
        | {key: value for key, value in point.items() if key != "threshold"}
        | ({"infeasible": "no release keeps the promise"} if "infeasible" in point else {})
        for point in swept.points
    ]
    texts = {
        "sweep.json": json.dumps(told, ensure_ascii=False, indent=1) + "\n",
        "sweep.csv": as_table(lines),
        "sweep.svg": standalone(sweep_page.plot(swept)),
        "report.html": sweep_page.page_of(swept),
    }
    write_beside(place, texts)
