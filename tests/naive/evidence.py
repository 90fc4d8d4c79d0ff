"""What a release costs and stops, one record at a time, straight from the definitions.

A row is a record as it was, its labels what it shows. Nothing here is shared with the product.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from naive.refine import Attr, Labels, Row, Tree

INTERVAL = re.compile(r"\[([^,]+),([^,]+)([\])])")


def path_to(leaf: str | None, tree: Tree) -> list[str]:
    """The labels from a leaf up to the root; a missing value stands right below the root."""
    if leaf is None:
        return ["", *tree]
    for label, kids in tree.items():
        if label == leaf and not kids:
            return [label]
        if path := path_to(leaf, kids) if kids else []:
            return [*path, label]
    return []


def span(attr: Attr, column: Sequence[Any]) -> tuple[Any, Any]:
    """The range of a continuous attribute: as the policy says it, or as the values have it."""
    known = attr.bounds or attr.intervals or sorted(v for v in column if v is not None)
    return known[0], known[-1]


def distortion(attr: Attr, column: Sequence[Any], value: Any, label: str) -> float:
    """Levels climbed, the share of the range, or 1 for what is suppressed."""
    if attr.tree is not None:
        return float(path_to(value, attr.tree).index(label))
    if label == "*":
        return 1.0
    interval = INTERVAL.fullmatch(label) if attr.mask == "discretize" else None
    if interval is None:
        return 0.0
    low, high = span(attr, column)
    return (float(interval[2]) - float(interval[1])) / (high - low) if high > low else 0.0


def covers(attr: Attr, label: str, value: Any) -> bool:
    """Whether a label is true of a value."""
    if attr.tree is not None:
        return label in path_to(value, attr.tree)
    if label == "*" or value is None:
        return label in ("*", "")
    if attr.mask == "suppress":
        return bool(label == value)
    interval = INTERVAL.fullmatch(label)
    assert interval is not None
    low, high = float(interval[1]), float(interval[2])
    return bool(low <= value < high or (interval[3] == "]" and value == high))


def discernibility(labels: Sequence[Mapping[str, Any]]) -> int:
    return sum(other == row for row in labels for other in labels)


def linkage(
    rows: Sequence[Row],
    labels: Sequence[Mapping[str, Any]],
    over: Sequence[str],
    of: Sequence[str] = (),
    register: Sequence[Mapping[str, Any]] | None = None,
) -> dict[str, float]:
    """How many people fit each record in the table, and how many in the register."""
    keys = [tuple(shown[name] for name in over) for shown in labels]
    fit, there = [], []
    for own in keys:
        group = [row for row, key in zip(rows, keys, strict=True) if key == own]
        people = [tuple(row[name] for name in of) for row in group]
        persons = {p for p in people if None not in p}
        fit.append(max(len(persons), 1) if of else len(group))
        known = sum(tuple(r[name] for name in over) == own for r in register or ())
        there.append(max(known, fit[-1]))
    groups = dict(zip(keys, fit, strict=True))
    return {
        "groups": len(groups),
        "smallest": min(fit),
        "mean_group": sum(groups.values()) / len(groups),
        "unique": sum(n == 1 for n in fit) / len(rows),
        "prosecutor": max(1 / n for n in fit),
        "prosecutor_mean": sum(1 / n for n in fit) / len(rows),
        "journalist": max(1 / n for n in there),
        "journalist_mean": sum(1 / n for n in there) / len(rows),
    }


def inference(
    rows: Sequence[Row],
    labels: Sequence[Mapping[str, Any]],
    over: Sequence[str],
    sensitive: Mapping[str, list[str] | str],
) -> tuple[Fraction, float, float | None]:
    """The largest confidence in a sensitive value, the mean over records of their best, and over
    holders of a sensitive value the mean share of their group that has the same."""
    keys = [tuple(shown[name] for name in over) for shown in labels]
    best, held = [], []
    for row_of, own in zip(rows, keys, strict=True):
        group = [row for row, key in zip(rows, keys, strict=True) if key == own]
        counts = [
            sum(row[name] == value for row in group)
            for name, values in sensitive.items()
            for value in ({r[name] for r in rows} - {None} if values == "*" else values)
        ]
        best.append(Fraction(max(counts), len(group)))
        for name, values in sensitive.items():
            value = row_of[name]
            if value is not None and (values == "*" or value in values):
                held.append(Fraction(sum(row[name] == value for row in group), len(group)))
    mean = float(sum(held) / len(held)) if held else None
    return max(best), float(sum(best) / len(best)), mean


def bayes(train: Sequence[tuple[Any, ...]], classes: Sequence[str], asked: tuple[Any, ...]) -> Any:
    """Log odds by class: counts plus one; missing and unseen values are one more value."""
    known = [{row[j] for row in train} | {None} for j in range(len(asked))]
    odds = {}
    for name, size in Counter(classes).items():
        odds[name] = math.log(size)
        for j, value in enumerate(asked):
            value = value if value in known[j] else None
            own = zip(train, classes, strict=True)
            same = sum(row[j] == value and c == name for row, c in own)
            odds[name] += math.log((same + 1) / (size + len(known[j])))
    return odds


def middles(labels: Sequence[Labels], attrs: Sequence[Attr]) -> list[Row]:
    """Labels as classifiers see them: intervals as their middles, other marks of those missing."""
    scales = {
        a.name
        for a in attrs
        if a.mask == "discretize" and any(INTERVAL.fullmatch(shown[a.name]) for shown in labels)
    }

    def seen(name: str, label: str) -> Any:
        interval = INTERVAL.fullmatch(label) if name in scales else None
        if interval is not None:
            return (float(interval[1]) + float(interval[2])) / 2
        return None if name in scales or not label else label

    return [{name: seen(name, label) for name, label in shown.items()} for shown in labels]


def share_shown(before: Sequence[object], after: Sequence[object]) -> float:
    """The entropy of a column's values that is left, by its definition."""

    def entropy(values: Sequence[object]) -> float:
        shares = [count / len(values) for count in Counter(values).values()]
        return sum(share * math.log2(1 / share) for share in shares)

    whole = entropy(before)
    return entropy(after) / whole if whole else 0.0


def relation(
    first: Sequence[object],
    second: Sequence[object],
    whole: tuple[Sequence[object], Sequence[object]] | None = None,
) -> float:
    """Mutual information in nats, less what chance adds, as the size of a correlation.

    That is told as a share of what it were if one of the columns gave the other away; `whole`: of
    these columns, of which `first` and `second` are groupings.
    """

    def told(first: Sequence[object], second: Sequence[object]) -> tuple[float, float]:
        rows, total = Counter(first), len(first)
        columns, cells = Counter(second), Counter(zip(first, second, strict=True))
        both = sum(
            count / total * math.log(count * total / (rows[a] * columns[b]))
            for (a, b), count in cells.items()
        )
        sides = [
            sum(n / total * math.log(total / n) for n in side.values()) for side in (rows, columns)
        ]
        freedom = (len(rows) - 1) * (len(columns) - 1)
        rare = [sum(total / count for count in side.values()) - 1 for side in (rows, columns)]
        chance = (freedom + rare[0] * rare[1] / (6 * total)) / (2 * total)
        return max(both - chance, 0), min(sides) - chance

    most = told(*(whole or (first, second)))[1]
    return math.sqrt((1 - math.exp(-2 * told(first, second)[0])) / (1 - math.exp(-2 * most)))
