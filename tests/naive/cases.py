"""Small random policies and tables, rich in corner cases and ties. The same seed, the same case."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from naive.refine import Anon, Attr, Conf, Row, Template, Tree

WORDS = ["b", "B", "a", "a b", "10", "9", "Z", "é", "ß", "日本", "-", "a,b", "x;y", '"q"', "A"]


@dataclass(frozen=True)
class Case:
    """A policy and a table, ready for `refine`."""

    rows: list[Row]
    attrs: list[Attr]
    templates: list[Template]
    cls: str | None
    utility: str
    score: str = "paper"


def random_case(rng: random.Random) -> Case:
    """Return a case; now and then it is infeasible."""
    n = rng.choice([rng.randint(1, 3), rng.randint(4, 12), *(rng.randint(8, 40) for _ in range(4))])
    attrs: list[Attr] = []
    columns: dict[str, list[Any]] = {}
    for i in range(rng.randint(1, 5)):
        if attrs and rng.random() < 0.12:  # a twin of an earlier attribute: everything ties
            old = rng.choice(attrs)
            attr, column = replace(old, name=f"Q{i}"), columns[old.name]
        else:
            attr, column = random_attr(rng, f"Q{i}", n)
        attrs.append(attr)
        columns[attr.name] = list(column)
    for name in ["S0", "S1", "S2"][: rng.randint(1, 3)]:
        columns[name] = random_column(rng, [f"{name}-{j}" for j in range(rng.randint(1, 5))], n)
        columns[name][0] = columns[name][0] or f"{name}-0"  # not all missing
    people = [f"p{j}" for j in range(n)]
    for name in ["P0", "P1"]:  # to be counted by `of`
        columns[name] = people if rng.random() < 0.4 else random_column(rng, people, n)
    cls = None
    classes = rng.choices([0, 1, 2, 3], [3, 1, 6, 6])[0]
    if classes:
        cls = "Class"
        weights = rng.choice([[1, 1, 1], [3, 2, 1], [9, 1, 1]])
        columns[cls] = rng.choices(["yes", "no", "maybe"][:classes], weights[:classes], k=n)
        if rng.random() < 0.3:  # as other columns may be: so they tell something about each other
            columns[cls].sort()

    order = list(columns)
    rng.shuffle(order)
    rows = [{name: columns[name][i] for name in order} for i in range(n)]
    if rng.random() < 0.3:  # duplicates: whole records from a small pool
        pool = rows[: rng.randint(1, n)]
        rows = [dict(row) for row in [rows[0], *rng.choices(pool, k=n - 1)]]
    rng.shuffle(rows)
    rng.shuffle(attrs)  # the tie order is not the order of the columns
    templates = random_templates(rng, rows, [a.name for a in attrs])
    used = {name for t in templates for name in t.over}
    spare = [a.name for a in attrs if a.name not in used]  # no role: neither masked nor kept
    rows = [{name: v for name, v in row.items() if name not in spare} for row in rows]
    utilities = ["distortion", "discernibility"] + ["classification"] * 4 * bool(cls)
    attrs = [a for a in attrs if a.name in used]
    return Case(rows, attrs, templates, cls, rng.choice(utilities))


# Columns ------------------------------------------------------------------------------------------


def present(column: list[Any]) -> list[Any]:
    return [v for v in column if v is not None]


def random_column(rng: random.Random, domain: list[Any], n: int) -> list[Any]:
    """Draw values, evenly or skewed, sometimes one only, sorted, or with missing ones."""
    domain = rng.sample(domain, rng.randint(1, len(domain)))
    skew = rng.choice([1.0, 1.0, 0.5])
    column = rng.choices(domain, [skew**i for i in range(len(domain))], k=n)
    if rng.random() < 0.5:
        column.sort()
    gaps = rng.choice([0, 0, 0, 0.1, 0.4, 0.95])
    return [None if rng.random() < gaps else v for v in column]


def random_attr(rng: random.Random, name: str, n: int) -> tuple[Attr, list[Any]]:
    kind = rng.choice(["generalize", "suppress", "discretize"])
    if kind == "suppress":
        return Attr(name, kind), random_column(rng, WORDS[: rng.randint(1, len(WORDS))], n)
    if kind == "generalize":
        below = random_tree(rng, name, rng.randint(1, 5))
        return Attr(name, kind, tree={name: below}), random_column(rng, leaves(below), n)
    pools: list[list[Any]] = [
        [7],
        list(range(-3, 4)),
        list(range(18, 66)),
        [0.1, 0.2, 0.30000000000000004, 2.0, 2.5, -1.5],
        [x / 4 for x in range(12)],
    ]
    numbers = rng.choice(pools)
    column = random_column(rng, numbers, n)
    low, high = int(min(numbers)) - 1, int(max(numbers)) + 1
    form = rng.choice(["learnt", "learnt", "range", "fixed"])
    if form == "range":
        known = present(column)
        tight = (min(known), max(known)) if known else (low, high)
        if rng.random() < 0.5 and tight[0] < tight[1]:
            return Attr(name, kind, bounds=tight), column
        return Attr(name, kind, bounds=(low, high + rng.randint(0, 50))), column
    if form == "fixed":  # at least two bins, some of them empty, edges on values
        inner = {rng.choice([*numbers, (low + high) / 2]) for _ in range(rng.randint(1, 4))}
        return Attr(name, kind, intervals=tuple(sorted({low, high, *inner}))), column
    if column[0] is None:  # the range must come from somewhere
        column[0] = numbers[0]
    return Attr(name, kind), column


def random_tree(rng: random.Random, name: str, depth: int) -> Tree:
    """Return the children of a node: uneven, often a single one."""
    tree: Tree = {}
    for i in rng.sample(range(9), rng.choice([1, 1, 2, 2, 3, 4])):
        child = f"{name}.{i}"
        tree[child] = random_tree(rng, child, depth - 1) if depth > 1 and rng.random() < 0.5 else {}
    return tree


def leaves(tree: Tree) -> list[str]:
    return [leaf for name, below in tree.items() for leaf in (leaves(below) if below else [name])]


# Templates ----------------------------------------------------------------------------------------


def random_templates(rng: random.Random, rows: list[Row], names: list[str]) -> list[Template]:
    """Return one to four different templates, some of which imply others."""
    templates: list[Template] = []
    seen = set()
    template: Template
    for _ in range(rng.choice([1, 1, 2, 2, 3, 4])):
        over = tuple(rng.sample(names, rng.randint(1, len(names))))
        if rng.random() < 0.3 and not templates:
            over = tuple(names)
        if templates and rng.random() < 0.3:  # close to an earlier one: they may imply each other
            template = relative(rng, rng.choice(templates), over)
        elif rng.random() < 0.5:
            template = random_anonymity(rng, rows, over)
        else:
            template = random_confidence(rng, rows, over)
            if template.at_most == 1:  # asks for nothing
                template = random_anonymity(rng, rows, over)
        if identity(template) not in seen:
            seen.add(identity(template))
            templates.append(template)
    return templates


def relative(rng: random.Random, old: Template, over: tuple[str, ...]) -> Template:
    over = rng.choice([over, old.over, old.over[: rng.randint(1, len(old.over))]])
    if isinstance(old, Anon):
        return Anon(over, max(1, old.k + rng.randint(-1, 1)), old.of)
    share = rng.choice([Fraction(0), Fraction(0), Fraction(1, 3)])
    return Conf(over, old.sensitive, old.at_most + (1 - old.at_most) * share)


def random_anonymity(rng: random.Random, rows: list[Row], over: tuple[str, ...]) -> Anon:
    columns = [name for name in rows[0] if name[0] in "PS"]
    of: tuple[str, ...] = ()
    if rng.random() < 0.35:
        of = tuple(rng.sample(columns, rng.choice([1, 1, 2])))
    people = {tuple(row[name] for name in of) for row in rows}
    most = sum(None not in p for p in people) if of else len(rows)
    k = rng.choice([1, 1, 2, 2, 2, 3, most // 8, most // 4, most // 2])
    return Anon(over, max(1, min(k, most) if rng.random() < 0.97 else most + 1), of)


def random_confidence(rng: random.Random, rows: list[Row], over: tuple[str, ...]) -> Conf:
    """Ask for a threshold that is mostly at or above the confidence in the whole table."""
    columns = [name for name in rows[0] if name[0] == "S"]
    sensitive: dict[str, list[str] | str] = {}
    overall = Fraction(0)
    for name in rng.sample(columns, rng.choice([1, 1, len(columns)])):
        column = [row[name] for row in rows]
        known = sorted(set(present(column)))
        listed = rng.sample(known, rng.randint(1, len(known)))
        every = rng.random() < 0.5
        sensitive[name] = "*" if every else listed
        chosen = known if every else listed
        overall = max(overall, *(Fraction(column.count(v), len(rows)) for v in chosen))
    room = 1 - overall
    share = Fraction(rng.choice([0, 3, 6, 8, 8, 9]), 10)
    at_most = overall + room * share if rng.random() < 0.97 else overall * Fraction(9, 10)
    return Conf(over, sensitive, at_most)


def identity(template: Template) -> tuple[object, ...]:
    """Return what makes two templates duplicates: kind, sets and threshold."""
    if isinstance(template, Anon):
        return frozenset(template.over), frozenset(template.of), template.k
    sensitive = ((c, v if v == "*" else frozenset(v)) for c, v in template.sensitive.items())
    return frozenset(template.over), frozenset(sensitive), template.at_most
