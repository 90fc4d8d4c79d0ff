"""What an attacker can do with a table: find a person in it, and learn what was to stay private.

**Linkage.** Somebody who knows a person's quasi-identifiers finds the group of records that fit
and picks one. The *prosecutor* knows that the person is in the table, so the chance is one in the
size of the group; over all records it comes to groups / records. The *journalist* looks into a
register of the population instead and can tell less: one in the number of people there who fit.

**Inference.** Nobody need be found: if most of a group share a sensitive value, all of them are
suspected of it. The *largest confidence* is the worst such share; the *mean* is how often somebody
is right who takes everybody to have the likeliest sensitive value of their group, where values
that are not sensitive are never guessed. *Of holders* is how sure somebody is on average of those
who have a sensitive value: over them, the share of their group that has the same. It falls
whenever groups come together, and where all are one group it is the value's share in the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.data.collapse import Codes, distinct
from reticent.data.columns import Column, Table, stacked
from reticent.evidence.classify import majority
from reticent.privacy.promises import Anonymity, Confidence, Promise, ours
from reticent.tables.evidence.aligned import AlignedRows, recoded, told
from reticent.tables.evidence.study import Round, mistakes
from reticent.tables.prepare import equal_rows


def attacks(masked: AlignedRows, register: Table | None, rounds: Sequence[Round]) -> dict[str, Any]:
    """All of it, before and after masking, for what each promise assumes to be known of us.

    What a join with earlier releases reveals is measured by the promise itself.
    """
    policy = masked.prepared.policy
    known: dict[object, Promise] = {}
    for promise in policy.anonymity:
        known.setdefault((frozenset(ours(promise.over)), frozenset(ours(promise.of))), promise)
    grouped = {frozenset(ours(promise.over)) for promise in policy.anonymity}
    for bound in policy.confidence:
        if frozenset(ours(bound.over)) not in grouped:
            known.setdefault(frozenset(ours(bound.over)), bound)
    about_us = [p for p in policy.confidence if ours(p.over) and ours(p.sensitive)]
    return {
        "linkage": [linked_by(masked, p, register) for p in known.values() if ours(p.over)],
        "inference": [_inferred(masked, promise) for promise in about_us],
        "prediction": _predicted(masked, rounds),
    }


def linked_by(
    masked: AlignedRows, promise: Promise, register: Table | None = None
) -> dict[str, Any]:
    """Linkage by what one promise assumes to be known, before and after masking."""
    plain = masked.prepared.cleaned.columns
    names = list(ours(promise.over))
    found: dict[str, Any] = {"over": names}
    persons = None
    if isinstance(promise, Anonymity) and ours(promise.of):
        persons = masked.prepared.of_marks(promise)
        found["of"] = list(ours(promise.of))
    for side, own in (("before", plain), ("after", masked.columns)):
        people = None
        if register is not None:
            cells = recoded(register, masked.recodings) if side == "after" else register.columns
            people = [cells[name] for name in names]
        found[side] = asdict(linkage([own[name] for name in names], people, persons))
    return found


def _inferred(masked: AlignedRows, promise: Confidence) -> dict[str, Any]:
    marks = masked.prepared.sensitive_marks(promise)
    known, sensitive = list(ours(promise.over)), list(ours(promise.sensitive))
    found: dict[str, Any] = {"over": known, "sensitive": sensitive}
    for side, own in (("before", masked.prepared.cleaned.columns), ("after", masked.columns)):
        measured = inference([own[name] for name in known], marks)
        found[side] = {
            "largest": str(measured.largest),
            "mean": measured.mean,
            "of_holders": measured.of_holders,
        }
    return found


def _predicted(masked: AlignedRows, rounds: Sequence[Round]) -> list[dict[str, Any]]:
    """How often a tree tells each sensitive column from the quasi-identifiers."""
    prepared = masked.prepared
    known: dict[str, set[str]] = {}
    for promise in prepared.policy.confidence:
        for name in ours(promise.sensitive):
            known.setdefault(name, set()).update(ours(promise.over))
    found = []
    for sensitive, over in known.items():
        parts = [part for part in (_told(part, sensitive) for part in rounds) if part is not None]
        if not parts:
            continue
        columns = [name for name in prepared.cleaned.columns if name in over]
        record: dict[str, Any] = {"sensitive": sensitive, "over": columns}
        record["base"] = round(1 - majority([part.plain for part in parts], sensitive), 6)
        whole = sum(part.plain[1].rows for part in parts)
        for side in ("before", "after"):
            sides = [part.plain if side == "before" else part.masked for part in parts]
            wrong = sum(mistakes(prepared, both, columns, sensitive) for both in sides)
            record[side] = round(1 - wrong / whole, 6)
        found.append(record)
    return found


def _told(part: Round, sensitive: str) -> Round | None:
    """A round without the records whose sensitive value is missing; None if none is left."""
    plain, masked = ((told(a, sensitive), told(b, sensitive)) for a, b in (part.plain, part.masked))
    return Round(plain, masked) if plain[0].rows and plain[1].rows else None


@dataclass(frozen=True, slots=True)
class Linkage:
    """How easily records are linked to people; groups count people where those are known."""

    groups: int
    smallest: int
    mean_group: float
    unique: float  # share of records whose person is alone in the group
    prosecutor: float  # largest chance to pick the right record
    prosecutor_mean: float  # share of records re-identified
    journalist: float
    journalist_mean: float


def linkage(
    known: Sequence[Column],
    register: Sequence[Column] | None = None,
    persons: tuple[Codes, int] | None = None,
) -> Linkage:
    """Link by some columns.

    `register` holds the same columns for the whole population, a line a person; without one, the
    table itself is all there is to look into. `persons` are the people that records are about, as
    1, 2, … (0 is nobody known), where one may have several.
    """
    group_of, records = _groups(known)
    rows, sizes = len(group_of), records
    if persons is not None:  # how many people a group is known to have; one where nobody is
        found = distinct([group_of, persons[0]], [len(records), persons[1] + 1])
        of_people = found.columns[0][found.columns[1] > 0]
        sizes = np.maximum(np.bincount(of_people, minlength=len(records)), 1)
    there = sizes
    if register is not None:  # how many people there fit a group; never fewer than its own
        both, counts = _groups([stacked(a, b) for a, b in zip(known, register, strict=True)])
        fitting = np.zeros_like(sizes)
        fitting[group_of] = np.bincount(both[rows:], minlength=len(counts))[both[:rows]]
        there = np.maximum(fitting, sizes)
    return Linkage(
        len(sizes),
        int(sizes.min()),
        float(sizes.mean()),
        float(records[sizes == 1].sum() / rows),
        float(1 / sizes.min()),
        float((records / sizes).sum() / rows),
        float(1 / there.min()),
        float((records / there).sum() / rows),
    )


def _groups(columns: Sequence[Column]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The group of each record, and how many records each group has."""
    number, count = equal_rows(columns, 0)
    return number, np.bincount(number, minlength=count)


@dataclass(frozen=True, slots=True)
class Inference:
    """How surely sensitive values are inferred."""

    largest: Fraction
    mean: float
    of_holders: float | None  # None: nobody has a sensitive value


def inference(known: Sequence[Column], sensitive: Sequence[tuple[Codes, int]]) -> Inference:
    """Infer from some columns; for each sensitive column its values as 1, 2, …, 0 for others."""
    group_of, sizes = _groups(known)
    likeliest = np.zeros(len(sizes), np.int64)
    sure, holders = 0.0, 0
    for marks, count in sensitive:
        found = distinct([group_of, marks], [len(sizes), count + 1])
        group, mark = found.columns
        told = mark > 0
        np.maximum.at(likeliest, group[told], found.counts[told])
        held = found.counts[told].astype(float)
        sure += float((held / sizes[group[told]] * held).sum())
        holders += int(found.counts[told].sum())
    shares = {*zip(likeliest.tolist(), sizes.tolist(), strict=True)}
    largest = max(Fraction(part, whole) for part, whole in shares)
    mean = float(likeliest.sum() / sizes.sum())
    return Inference(largest, mean, sure / holders if holders else None)
