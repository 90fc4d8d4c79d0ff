"""The refinement of one table, read straight off its definition: slow, obvious, and without cache.

Every hypothetical step masks the whole table again and counts every template from nothing. Nothing
here is shared with the engine; the two must agree on every step, number and label.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeAlias

Tree: TypeAlias = "dict[str, Tree]"
Row: TypeAlias = dict[str, Any]
Labels: TypeAlias = dict[str, str]


@dataclass(frozen=True)
class Attr:
    """A masked attribute. A list of these is in tie order."""

    name: str
    mask: str  # "generalize", "suppress" or "discretize"
    tree: Tree | None = None  # generalize: {root: {child: {leaf: {}}}}
    bounds: tuple[float, float] | None = None  # discretize: the outer range
    intervals: tuple[float, ...] | None = None  # discretize: the edges of fixed bins


@dataclass(frozen=True)
class Anon:
    """Each group over `over` has k records, or k distinct values of `of`."""

    over: tuple[str, ...]
    k: int
    of: tuple[str, ...] = ()


@dataclass(frozen=True)
class Conf:
    """No group over `over` shows a sensitive value in more than `at_most` of its records."""

    over: tuple[str, ...]
    sensitive: dict[str, list[str] | str]  # "*": every value that is not missing
    at_most: Fraction


Template: TypeAlias = Anon | Conf


class Infeasible(Exception):
    """Even the most masked table breaks a template."""


@dataclass(frozen=True)
class Result:
    """The steps in the form of the trace, what each record shows, and what was ruled out when."""

    steps: list[dict[str, Any]]
    labels: list[Labels]
    stopped: dict[tuple[str, str], dict[str, Any]]


@dataclass(frozen=True)
class Part:
    """One current value of an attribute: its label and the original values it stands for."""

    label: str
    values: frozenset[Any]
    kids: tuple[Part, ...] = ()  # taxonomy nodes, and roots of continuous attributes
    span: tuple[float, float, bool] | None = None  # intervals: low, high, is it the last one


State: TypeAlias = dict[str, list[Part]]  # per attribute its current values, in tie order


# What an attribute can show -----------------------------------------------------------------------


def node(label: str, below: Tree) -> Part:
    """Return a taxonomy node; it stands for the leaves below it."""
    kids = tuple(node(name, tree) for name, tree in below.items())
    leaves = frozenset[Any]().union(*(kid.values for kid in kids)) if kids else frozenset({label})
    return Part(label, leaves, kids)


def text(number: float) -> str:
    """Print a bound: whole numbers without a point, others as repr does."""
    return str(int(number)) if number == int(number) else repr(number)


def interval(low: float, high: float, last: bool, values: Iterable[Any]) -> Part:
    """Return an interval with those of the values that lie in it; only the last one is closed."""
    inside = frozenset(v for v in values if low <= v < high or (last and v == high))
    label = f"[{text(low)},{text(high)}{']' if last else ')'}"
    return Part(label, inside, span=(low, high, last))


def start(attr: Attr, column: list[Any], marker: str) -> Part:
    """Return the most masked value of an attribute. Missing is a value only where one occurs."""
    missing = (Part("", frozenset({None})),) if None in column else ()
    everything = frozenset(column)
    present = everything - {None}
    if attr.mask == "suppress":
        return Part(marker, everything)
    if attr.mask == "generalize":  # a missing value is one more leaf under the root, the last one
        assert attr.tree is not None
        [(label, below)] = attr.tree.items()
        root = node(label, below)
        return Part(label, root.values | everything, root.kids + missing)
    edges = attr.intervals or attr.bounds or ((min(present), max(present)) if present else ())
    if not edges:  # nothing but missing values, and no range to print
        return Part(marker, everything, missing)
    full = interval(edges[0], edges[-1], True, present)
    if attr.intervals:  # a flat taxonomy
        bins = tuple(interval(a, b, b == edges[-1], present) for a, b in pairwise(edges))
        full = Part(full.label, full.values, bins)
    return Part(marker, everything, (*missing, full)) if missing else full


def cut(attr: Attr, part: Part, rows: list[Row], cls: str | None) -> tuple[Part, ...] | None:
    """Cut a learnt interval in two; both sides hold records, so one value alone cannot be cut."""
    assert part.span is not None
    low, high, last = part.span
    best: tuple[float, tuple[Part, ...]] | None = None
    for point in sorted(part.values)[1:]:
        halves = (
            interval(low, point, False, part.values),
            interval(point, high, last, part.values),
        )
        if cls is None:  # the more even the better
            left, right = (len(records(rows, attr, half)) for half in halves)
            worth = float(-abs(left - right))
        else:
            worth = gain(rows, attr, part, halves, cls)
        if best is None or better(worth, best[0]):
            best = worth, halves
    return best[1] if best else None


def refinements(
    attr: Attr, part: Part, rows: list[Row], cls: str | None, marker: str
) -> list[tuple[str, tuple[Part, ...]]]:
    """List what may replace a current value, each with its name in the trace, in tie order."""
    if part.kids:
        return [(part.label, part.kids)]
    if attr.mask == "suppress" and part.label == marker:  # by code point, missing last
        order = sorted(part.values, key=lambda v: (v is None, v or ""))
        return [
            (v or "", (Part(v or "", frozenset({v})), Part(marker, part.values - {v})))
            for v in order
        ]
    if part.span and not attr.intervals:
        halves = cut(attr, part, rows, cls)
        return [(part.label, halves)] if halves else []
    return []


# What a table is worth, and what it gives away ----------------------------------------------------


def rounded(score: float) -> float:
    """Return a score to 30 significant bits: what differs less is equal."""
    mantissa, exponent = math.frexp(score)
    return math.ldexp(math.floor(mantissa * 2**30 + 0.5), exponent - 30)


def better(score: float, best: float) -> bool:
    """Say whether a score replaces the best so far: equal ones leave the earlier one."""
    return rounded(score) > rounded(best)


def records(rows: list[Row], attr: Attr, part: Part) -> list[Row]:
    return [row for row in rows if row[attr.name] in part.values]


def entropy(rows: list[Row], cls: str) -> float:
    counts = Counter(row[cls] for row in rows).values()
    return -sum(c / len(rows) * math.log2(c / len(rows)) for c in counts)


def gain(rows: list[Row], attr: Attr, part: Part, into: Sequence[Part], cls: str) -> float:
    """Return the information gain on the class in bits; what is below 1e-12 is rounding error."""
    whole = records(rows, attr, part)
    pieces = [records(rows, attr, piece) for piece in into]
    bits = entropy(whole, cls) - sum(len(p) / len(whole) * entropy(p, cls) for p in pieces)
    return bits if bits >= 1e-12 else 0.0


def mask(rows: list[Row], state: State) -> list[Labels]:
    """Return what each record shows."""
    return [
        {
            name: next(p.label for p in parts if row[name] in p.values)
            for name, parts in state.items()
        }
        for row in rows
    ]


def groups(rows: list[Row], labels: list[Labels], over: Iterable[str]) -> list[list[Row]]:
    found: dict[tuple[str, ...], list[Row]] = {}
    for row, shown in zip(rows, labels, strict=True):
        found.setdefault(tuple(shown[name] for name in over), []).append(row)
    return list(found.values())


def discernibility(rows: list[Row], labels: list[Labels]) -> int:
    return sum(len(group) ** 2 for group in groups(rows, labels, labels[0]))


def units(factors: Iterable[int]) -> int:
    """The logarithm of a product in bits, counted in 2**-20ths of a bit."""
    return round(sum(math.log2(factor) for factor in factors) * 2**20)


def class_bits(rows: list[Row], labels: list[Labels], cls: str) -> int:
    """What it takes to tell the class of each record of each group, learning from those before.

    The i-th record of a class among n so far is told with chance (i + 1) / (n + classes).
    """
    classes = len({row[cls] for row in rows})
    total = 0
    for group in groups(rows, labels, labels[0]):
        total += units(n + classes for n in range(len(group)))
        for count in Counter(row[cls] for row in group).values():
            total -= units(i + 1 for i in range(count))
    return total


def share(attr: Attr, part: Part, rows: list[Row], marker: str) -> float:
    """How much of its column a value covers: of the range, or of the other values that occur."""
    if attr.mask != "discretize":
        values = {row[attr.name] for row in rows}
        return (len(values & part.values) - 1) / (len(values) - 1) if len(values) > 1 else 0.0
    if part.label == marker or part.kids:
        return 1.0
    if part.span is None:  # missing
        return 0.0
    present = [row[attr.name] for row in rows if row[attr.name] is not None]
    edges = attr.intervals or attr.bounds or (min(present), max(present))
    low, high = edges[0], edges[-1]
    return (part.span[1] - part.span[0]) / (high - low) if high > low else 0.0


def less_covered(
    rows: list[Row], attr: Attr, part: Part, into: Iterable[Part], marker: str = "*"
) -> float:
    """How much less of its column the values of all records cover after a refinement."""
    before = share(attr, part, rows, marker)
    return sum(
        len(held) * (before - share(attr, piece, rows, marker))
        for piece in into
        if (held := records(rows, attr, piece))
    )


def sensitive_values(template: Conf, rows: list[Row]) -> set[tuple[str, str]]:
    """Return the (column, value) pairs that a template protects, with "*" expanded."""
    pairs: set[tuple[str, str]] = set()
    for name, listed in template.sensitive.items():
        chosen = {row[name] for row in rows} - {None} if listed == "*" else listed
        pairs |= {(name, value) for value in chosen}
    return pairs


def measure(template: Template, rows: list[Row], labels: list[Labels]) -> int | Fraction:
    """Return A(X), the smallest group, or C(X), the largest confidence of a sensitive value."""
    found = groups(rows, labels, template.over)
    if isinstance(template, Conf):
        pairs = sensitive_values(template, rows)
        return max(
            (Fraction(sum(r[name] == v for r in g), len(g)) for g in found for name, v in pairs),
            default=Fraction(0),
        )
    if not template.of:
        return min(len(group) for group in found)
    # a combination of several columns counts only if none of them is missing
    people = [{tuple(row[name] for name in template.of) for row in group} for group in found]
    return min(sum(None not in person for person in some) for some in people)


def holds(template: Template, value: int | Fraction) -> bool:
    return value >= template.k if isinstance(template, Anon) else value <= template.at_most


def implies(strong: Template, weak: Template, rows: list[Row]) -> bool:
    """Say whether the first template makes the second one redundant."""
    if not set(weak.over) <= set(strong.over):
        return False
    if isinstance(strong, Anon) and isinstance(weak, Anon):
        return set(weak.of) == set(strong.of) and weak.k <= strong.k
    if isinstance(strong, Conf) and isinstance(weak, Conf):
        same = sensitive_values(strong, rows) == sensitive_values(weak, rows)
        return same and weak.at_most >= strong.at_most
    return False


def needed(
    templates: Sequence[Template], implied: Callable[[Template, Template], bool]
) -> list[Template]:
    """Leave out the templates that others imply; of two that imply each other the first stays."""
    return [
        t
        for i, t in enumerate(templates)
        if not any(
            implied(other, t) and (j < i or not implied(t, other))
            for j, other in enumerate(templates)
            if j != i
        )
    ]


# The loop -----------------------------------------------------------------------------------------


def start_state(rows: list[Row], attrs: Iterable[Attr], marker: str = "*") -> State:
    """Return the most masked table."""
    return {a.name: [start(a, [row[a.name] for row in rows], marker)] for a in attrs}


def trials(
    rows: list[Row],
    masked: Sequence[Attr],
    state: State,
    cls: str | None,
    target: str | None,
    marker: str = "*",
) -> Iterator[tuple[Attr, Part, str, tuple[Part, ...], State]]:
    """Yield each beneficial refinement: of which value, its name, into what, and the state then."""
    for attr in masked:
        parts = state[attr.name]
        for at, part in enumerate(parts):
            touched = records(rows, attr, part)
            if not touched or (target is not None and len({row[target] for row in touched}) < 2):
                continue
            for value, into in refinements(attr, part, rows, cls, marker):
                then = {**state, attr.name: [*parts[:at], *into, *parts[at + 1 :]]}
                yield attr, part, value, into, then


def refine(
    rows: list[Row],
    attrs: Sequence[Attr],
    templates: Sequence[Template],
    *,
    measured: Callable[[Template, list[Labels]], int | Fraction] | None = None,
    implied: Callable[[Template, Template, list[Labels]], bool] | None = None,
    may_mend: bool = False,
    cls: str | None,
    utility: str = "classification",
    score: str = "paper",
    marker: str = "*",
) -> Result:
    """Perform the valid and beneficial refinement of highest score until there is none.

    Templates are measured on the table alone unless it is told otherwise. Where a refinement may
    mend a template, nothing is ruled out for good: what was ruled out is that of the last round.
    """
    target = cls if utility == "classification" else None  # what the score is about
    if utility == "classification" and target is None:
        raise ValueError("classification needs a class")
    measured = measured or (lambda t, labels: measure(t, rows, labels))
    implied = implied or (lambda strong, weak, _: implies(strong, weak, rows))
    masked = [a for a in attrs if any(a.name in t.over for t in templates)]
    state = start_state(rows, masked, marker)
    labels = fully_masked = mask(rows, state)
    for t in templates:
        if not holds(t, measured(t, labels)):
            raise Infeasible(t)
    search = needed(templates, lambda strong, weak: implied(strong, weak, fully_masked))
    now = first = [measured(t, labels) for t in search]
    both_kinds = len({type(t) for t in search}) == 2

    def privacy_loss(name: str, then: list[int | Fraction]) -> float:
        """Return the mean loss of the templates that hold the attribute; a repair counts as 0."""
        losses = []
        for t, before, after, most in zip(search, now, then, first, strict=True):
            if name in t.over:
                loss = Fraction(before - after if isinstance(t, Anon) else after - before)
                loss = loss / most if both_kinds and isinstance(t, Anon) else loss
                losses.append(max(Fraction(0), loss))
        return float(sum(losses) / len(losses))

    def bits_lost(name: str, then: list[int | Fraction]) -> float:
        """Return the mean over the templates that hold the attribute of the factor, in bits."""
        losses = []
        for t, before, after in zip(search, now, then, strict=True):
            if name in t.over and isinstance(t, Anon):
                losses.append(max(0.0, math.log2(before) - math.log2(after)))
            elif name in t.over:  # a confidence of nothing counts as that of half a record
                least = 1 / (2 * len(rows))
                loss = math.log2(max(after, least)) - math.log2(max(before, least))
                losses.append(max(0.0, loss))
        return sum(losses) / len(losses)

    def worth_of(attr: Attr, part: Part, into: tuple[Part, ...], shown: list[Labels]) -> float:
        """Return what a refinement is worth, on this table alone."""
        if target is not None:
            worth = gain(rows, attr, part, into, target)
            if score == "conditional":
                bits = class_bits(rows, labels, target) - class_bits(rows, shown, target)
                worth = bits / 2**20 / len(rows) if bits > 0 else worth * 1e-6
            return worth
        if score == "conditional" and utility == "distortion":
            return less_covered(rows, attr, part, into, marker)
        if utility == "distortion":  # what stays suppressed gets no more specific
            finer = into[:1] if attr.mask == "suppress" else into
            return float(sum(len(records(rows, attr, p)) for p in finer))
        return float(discernibility(rows, labels) - discernibility(rows, shown))

    steps: list[dict[str, Any]] = []
    stopped: dict[tuple[str, str], dict[str, Any]] = {}
    while True:
        best: tuple[dict[str, Any], State, list[int | Fraction]] | None = None
        if may_mend:
            stopped = {}
        for attr, part, value, into, state_then in trials(rows, masked, state, cls, target, marker):
            labels_then = mask(rows, state_then)
            then = [measured(t, labels_then) for t in search]
            broken = {i: v for i, v in enumerate(then) if not holds(search[i], v)}
            names = [p.label for p in into]
            if broken:
                why = {"after": len(steps), "broken": broken, "into": names}
                stopped.setdefault((attr.name, value), why)
                continue  # not valid
            worth = worth_of(attr, part, into, labels_then)
            if score == "conditional":
                loss = bits_lost(attr.name, then)
                rank = worth / (loss + 0.1)
            else:
                loss = privacy_loss(attr.name, then)
                rank = worth / (loss + 1)
            if best is None or better(rank, best[0]["score"]):
                step: dict[str, Any] = {
                    "step": len(steps) + 1,
                    "attribute": attr.name,
                    "value": value,
                    "into": names,
                    "info_gain": worth,
                    "privacy_loss": loss,
                    "score": rank,
                    "templates": then,
                }
                best = step, state_then, then
        if best is None:
            return Result(steps, labels, stopped)
        step, state, now = best
        steps.append(step)
        labels = mask(rows, state)
