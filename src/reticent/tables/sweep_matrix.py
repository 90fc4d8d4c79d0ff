"""Columns by thresholds: how much each masked column shows, and where a release changes.

A share of what a column tells (`evidence.loss.share_shown`) falls with every value that a stricter
threshold closes. Between neighbours with the same cuts and the same records nothing changes at all;
a steward who knows where something happens knows between which thresholds to choose.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from reticent.data.recode import Recoding

SIGNS = {"less": "▾", "more": "▴", "gone": "○", "new": "●", "other": "◇"}
MEANINGS = {
    "less": "shows less",
    "more": "shows more",
    "gone": "shows nothing any more",
    "new": "shows something again",
    "other": "shows as much, of other values",
}


def fingerprint(recoding: Recoding) -> str:
    """What tells a cut from another; for the owner's own notes, as it could be guessed from."""
    told = json.dumps(recoding.plain(), sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def with_changes(records: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Points with what changes from the looser release before each, and without fingerprints."""
    told = [{key: value for key, value in one.items() if key != "cuts"} for one in records]
    released = [at for at, one in enumerate(records) if "shows" in one]
    for before, after in pairwise(released):
        first, second = records[before], records[after]
        changes = {
            name: _how(first["shows"][name], second["shows"][name])
            for name in second["shows"]
            if first["cuts"][name] != second["cuts"][name]
        }
        told[after]["changes"] = changes
        told[after]["same"] = not changes and first.get("left_out") == second.get("left_out")
    return tuple(told)


def _how(before: float, after: float) -> str:
    if before == after:
        return "other"
    if after < before:
        return "less" if after else "gone"
    return "more" if before else "new"


@dataclass(frozen=True, slots=True)
class ShownMatrix:
    """What a sweep shows of each column, thresholds with the same release together if wanted."""

    spans: tuple[str, ...]  # thresholds, or runs of them
    turns: tuple[bool, ...]  # turns[i]: whether something happens from span i - 1 to span i
    rows: tuple[tuple[str, tuple[float | None, ...], tuple[str, ...]], ...]  # name, shares, how
    hidden: tuple[str, ...]  # columns that show nothing under any threshold
    whole: tuple[str, ...]  # columns that show everything under all of them
    still: tuple[str, ...]  # runs of several thresholds between which nothing changes

    @classmethod
    def of(cls, points: Sequence[Mapping[str, Any]], *, joined: bool = False) -> ShownMatrix:
        """The matrix of points from the loosest on; `joined`: equal releases are one span."""
        runs = _runs(points)
        spans = runs if joined else [[point] for point in points]
        first = [span[0] for span in spans]
        names = list(next((one["shows"] for one in points if "shows" in one), {}))
        rows, hidden, whole = [], [], []
        for name in names:
            shares = tuple(one["shows"][name] if "shows" in one else None for one in first)
            told = {share for share in shares if share is not None}
            if told == {0.0}:
                hidden.append(name)
            elif told == {1.0} and not any(name in one.get("changes", ()) for one in first):
                whole.append(name)
            else:
                changes = tuple(one.get("changes", {}).get(name, "") for one in first)
                rows.append((name, shares, changes))
        return cls(
            tuple(_span(span) for span in spans),
            tuple("same" in one and not one["same"] for one in first),
            tuple(rows),
            tuple(hidden),
            tuple(whole),
            tuple(_span(run) for run in runs if len(run) > 1),
        )


def _runs(points: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Neighbours whose release is the same."""
    runs: list[list[Mapping[str, Any]]] = []
    for point in points:
        if point.get("same") and "shows" in runs[-1][-1]:
            runs[-1].append(point)
        else:
            runs.append([point])
    return runs


def _span(run: Sequence[Mapping[str, Any]]) -> str:
    ends = [str(run[0]["threshold"]), str(run[-1]["threshold"])]
    return "–".join(dict.fromkeys(ends))
