"""Small random worlds of sequential releases. The same seed, the same case.

A few people are drawn, and each table is a projection of them with some of them more than once.
What an earlier release shows of a person is the value of T1, something more general, or ⊥: so
everybody matches at least themselves.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from naive import refine as single
from naive import sequence
from naive.cases import identity, leaves, present, random_column, random_tree
from naive.refine import Anon, Attr, Conf, Labels, Result, Row, Template, Tree
from naive.sequence import Earlier, World

MARKER = "*"
WORDS = ["b", "B", "a", "a b", "Z", "é", "日本", "a,b", "x;y", '"q"']  # none looks like a number
NUMBERS = list(range(13))


@dataclass(frozen=True)
class Case:
    """A policy, a table and its earlier releases, ready for `sequence.refine`."""

    rows: list[Row]
    attrs: list[Attr]  # those in no `over` are kept, and say by which intervals they link
    templates: list[Template]
    earlier: list[Earlier]
    trees: dict[str, Tree]
    inconsistent: list[dict[str, str]]
    cls: str | None
    utility: str
    score: str = "paper"
    dropped: tuple[str, ...] = ()
    no_join: frozenset[str] = frozenset()


def refined(case: Case) -> Result:
    """Run the naive refinement on a case."""
    return sequence.refine(**vars(case))


def random_case(rng: random.Random, *, foreign: bool = True) -> Case:
    """Return a case; now and then it is infeasible. Foreign: also intervals of other edges."""
    people = rng.randint(3, 10)
    who = random_visits(rng, people, rng.randint(4, 14))
    shared = [random_attr(rng, name) for name in ["J0", "J.1", "J2"][: rng.choice([1, 2, 2, 3])]]
    if rng.random() < 0.15:
        shared.append(Attr("N", "discretize"))  # nothing to link it by
    names = ["Q0", "Q1"][: rng.choice([0, 1, 1, 1, 2, 2])]
    own = [random_attr(rng, name, learnt=True) for name in names]
    persons = {attr.name: random_values(rng, attr, people) for attr in shared}  # a value a person
    columns = {name: [values[p] for p in who] for name, values in persons.items()}
    columns |= {attr.name: random_values(rng, attr, len(who)) for attr in own}
    for name in ["S0", "S1"][: rng.randint(1, 2)]:
        if rng.random() < 0.5:
            columns[name] = random_sensitive(rng, name, len(who))
        else:  # something about the person
            of_person = random_sensitive(rng, name, people)
            columns[name] = [of_person[p] for p in who]
    columns["P0"] = random_column(rng, [f"v{i}" for i in range(len(who))], len(who))
    ids = [f"p{p}" for p in range(people)]
    columns["Id"] = [ids[p] if rng.random() < 0.95 else None for p in who]
    dropped = ["Id"] if rng.random() < 0.7 else []
    if rng.random() < 0.2:  # what only an earlier release published
        columns["Z"] = random_column(rng, WORDS, len(who))
        dropped.append("Z")
    cls = None
    if rng.random() < 0.85:
        cls = "Class"
        classes = ["yes", "no", "maybe"][: rng.choice([1, *[2, 3] * 6])]
        if rng.random() < 0.3:  # of the person, so that another release can show it
            persons[cls] = rng.choices(classes, k=people)
            columns[cls] = [persons[cls][p] for p in who]
        else:
            columns[cls] = rng.choices(classes, k=len(who))

    earlier, theirs = [], []
    for name in rng.sample(["old", "older", "T2"], rng.choice([1, 1, 1, 2])):
        release, persons_of = random_release(rng, name, shared, persons, ids, dropped, foreign)
        earlier.append(release)
        theirs.append(persons_of)

    attrs = [*shared, *own]
    rng.shuffle(attrs)  # the tie order is not the order of the columns
    no_join = {a.name for a in attrs if learnt(a) and any(published(e, a.name) for e in earlier)}
    shapes = random_shapes(rng, attrs, earlier, no_join, [n for n in columns if n[0] == "S"])
    used = {name for shape in shapes for name in shape.over}
    linking = {a.name for a in shared if not learnt(a)}
    spare = {a.name for a in attrs} - used - linking  # no role: neither masked nor kept
    trees = {a.name: a.tree for a in attrs if a.tree and a.name in linking - used}
    attrs = [a for a in attrs if a.name in used or (a.intervals and a.name in linking)]
    order = [name for name in columns if name not in spare]
    rng.shuffle(order)
    rows = [{name: columns[name][i] for name in order} for i in range(len(who))]
    case = Case(
        rows,
        attrs,
        [],
        earlier,
        trees,
        [],
        cls,
        rng.choice(["distortion", "discernibility"] + ["classification"] * 5 * bool(cls)),
        dropped=tuple(dropped),
        no_join=frozenset(no_join - spare),
    )
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        pair = random_pair(rng, case, who, theirs)
        if pair and pair not in case.inconsistent:
            case.inconsistent.append(pair)
    return replace(case, templates=random_thresholds(rng, case, shapes))


# Columns ------------------------------------------------------------------------------------------


def learnt(attr: Attr) -> bool:
    return attr.mask == "discretize" and not attr.intervals


def random_visits(rng: random.Random, people: int, size: int) -> list[int]:
    """Return the person of each record: everybody once, some more often."""
    visits = [*range(people), *rng.choices(range(people), k=max(0, size - people))]
    rng.shuffle(visits)
    return visits


def random_attr(rng: random.Random, name: str, *, learnt: bool = False) -> Attr:
    kind = rng.choice(["generalize", "generalize", "suppress", "discretize"])
    if kind == "generalize":
        root = name if rng.random() < 0.9 else MARKER  # a label may be equal to it
        return Attr(name, kind, tree={root: random_tree(rng, name, rng.randint(1, 3))})
    if kind == "suppress":
        return Attr(name, kind)
    if learnt and rng.random() < 0.6:
        return Attr(name, kind, bounds=rng.choice([None, (-1, 20)]))
    inner = rng.sample([*NUMBERS[1:], 2.5, 6.5], rng.randint(1, 3))  # at least two bins
    return Attr(name, kind, intervals=tuple(sorted({0, rng.choice([13, 20]), *inner})))


def draw(rng: random.Random, domain: list[Any], n: int) -> list[Any]:
    """Draw values, mostly from the whole domain; a column of one value says little."""
    if rng.random() < 0.3:
        return random_column(rng, domain, n)
    gaps = rng.choice([0, 0, 0, 0.1, 0.3])
    return [None if rng.random() < gaps else rng.choice(domain) for _ in range(n)]


def random_values(rng: random.Random, attr: Attr, n: int) -> list[Any]:
    if attr.tree:
        return draw(rng, leaves(attr.tree), n)
    if attr.mask == "suppress":
        return draw(rng, WORDS[: rng.randint(2, 5)], n)
    column = draw(rng, NUMBERS, n)
    if learnt(attr) and column[0] is None:  # the range must come from somewhere
        column[0] = NUMBERS[0]
    return column


def random_sensitive(rng: random.Random, name: str, n: int) -> list[Any]:
    column = draw(rng, [f"{name}-{i}" for i in range(rng.randint(2, 4))], n)
    return [column[0] or f"{name}-0", *column[1:]]  # not all missing


# Earlier releases ---------------------------------------------------------------------------------


def random_release(
    rng: random.Random,
    name: str,
    shared: Sequence[Attr],
    persons: Mapping[str, list[Any]],
    ids: list[str],
    dropped: Sequence[str],
    foreign: bool,
) -> tuple[Earlier, list[int]]:
    """Return a release and the person of each of its records."""
    who = random_visits(rng, len(ids), rng.randint(3, 12))
    some = rng.sample(shared, rng.randint(1, len(shared)))
    if all(learnt(attr) for attr in some):  # something must link
        some.append(shared[0])
    columns: dict[str, list[Any]] = {}
    for attr in some:
        blur = rng.choice([0, 0.15, 0.5])
        mix = rng.choice([0, 0.5]) * foreign
        columns[attr.name] = [recode(rng, attr, persons[attr.name][p], blur, mix) for p in who]
    if "Class" in persons and rng.random() < 0.4:
        columns["Class"] = [persons["Class"][p] if rng.random() < 0.9 else MARKER for p in who]
    if rng.random() < 0.8:
        columns["Z"] = draw(rng, WORDS[: rng.randint(1, 3)], len(who))
    if rng.random() < 0.7:
        of_person = random_sensitive(rng, "D", len(ids))
        columns["D"] = [of_person[p] for p in who]
    drop = []
    if rng.random() < 0.8:
        columns["Id"] = [ids[p] if rng.random() < 0.95 else None for p in who]
        if "Id" not in dropped or rng.random() < 0.6:  # never published on both sides
            drop.append("Id")
    able = [attr.name for attr in some if not learnt(attr)]
    if len(able) > 1 and rng.random() < 0.15:  # a column that could link, had it been published
        drop.append(able[-1])
    order = list(columns)
    rng.shuffle(order)
    rows = [{column: columns[column][i] for column in order} for i in range(len(who))]
    return Earlier(name, rows, tuple(drop)), who


def recode(rng: random.Random, attr: Attr, value: Any, blur: float, foreign: float) -> str | None:
    """Return what an earlier release shows of a value: at the finest, or anything above."""
    if attr.tree:
        line = [*attr.tree, None] if value is None else sequence.path(attr.tree, value)
    elif attr.mask == "suppress" or value is None:
        line = [value]
    else:
        line = intervals_with(rng, attr, value, foreign)
    return rng.choice([MARKER, *line[:-1]]) if rng.random() < blur else line[-1]


def intervals_with(rng: random.Random, attr: Attr, value: float, foreign: float) -> list[str]:
    """Return the full interval and a smaller one that holds the value, of its edges or others."""
    edges: Sequence[float] = attr.intervals or NUMBERS
    low, high = edges[0], edges[-1]
    full = single.interval(low, high, True, ()).label
    if rng.random() < foreign:
        a, b = value - rng.choice([0, 0, 1, 2.5]), value + rng.choice([0, 1, 1, 3.5])
        return [full, single.interval(max(a, low), min(b, high), b >= high or b == value, ()).label]
    for a, b in pairwise(edges):
        if a <= value < b or (b == high and value == high):
            return [full, single.interval(a, b, b == high, ()).label]
    raise ValueError(value)


# Pairs that contradict ----------------------------------------------------------------------------


def world_of(case: Case) -> World:
    return sequence.world_of(
        case.rows,
        case.attrs,
        case.earlier,
        case.trees,
        case.inconsistent,
        case.dropped,
        case.no_join,
        MARKER,
    )


def random_pair(
    rng: random.Random, case: Case, who: list[int], theirs: Sequence[list[int]]
) -> dict[str, str] | None:
    """Return two values no person has, one in T1 and one earlier; rather such as others have."""
    mine = [n for n in case.rows[0] if n[0] in "JQ"]
    others = [n for e in case.earlier for n in e.rows[0] if n[0] in "JZD" and published(e, n)]
    for attempt in range(30):
        x, y = rng.choice(mine), rng.choice(others)
        if x == y:
            continue
        values = [random_value(rng, case, name) for name in (x, y)]
        if values[0] is None or values[1] is None:
            continue
        pair = {x: values[0], y: values[1]}
        world = world_of(replace(case, inconsistent=[dict(rng.sample(list(pair.items()), 2))]))
        ruled_out = [
            p == q
            for e, persons in zip(case.earlier, theirs, strict=True)
            for row, p in zip(case.rows, who, strict=True)
            for other, q in zip(e.rows, persons, strict=True)
            if contradict(row, other, e, world)
        ]
        if not any(ruled_out) and (ruled_out or attempt > 25):
            return dict(world.inconsistent[0])
    return None


def published(release: Earlier, name: str) -> bool:
    return name in release.rows[0] and name not in release.drop


def contradict(row: Row, other: Row, release: Earlier, world: World) -> bool:
    return sequence.contradict(
        {name: v for name, v in row.items() if name not in world.dropped},
        {name: v for name, v in other.items() if name not in release.drop},
        world,
    )


def random_value(rng: random.Random, case: Case, name: str) -> str | None:
    """Return a value to list: a node below the root, a fixed interval, or a value that occurs."""
    attr = next((a for a in case.attrs if a.name == name), Attr(name, "suppress"))
    tree = case.trees.get(name, attr.tree)
    if tree:
        [below] = tree.values()
        return rng.choice(nodes(below))
    if attr.mask == "discretize":
        if not attr.intervals:
            return None
        a, b = rng.choice(list(pairwise(attr.intervals)))
        return single.interval(a, b, b == attr.intervals[-1], ()).label
    tables = [case.rows, *(e.rows for e in case.earlier)]
    known: set[Any] = {row.get(name) for rows in tables for row in rows} - {None, MARKER}
    return rng.choice(sorted(known)) if known else None


def nodes(tree: Tree) -> list[str]:
    return [name for label, below in tree.items() for name in [label, *nodes(below)]]


# Templates ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shape:
    """A template that still lacks its threshold; with sensitive columns it is a confidence."""

    over: tuple[str, ...]
    of: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()


def random_shapes(
    rng: random.Random,
    attrs: Sequence[Attr],
    earlier: Sequence[Earlier],
    no_join: set[str],
    mine: Sequence[str],
) -> list[Shape]:
    """Return a few shapes; some attributes are left out of all of them."""
    names = [attr.name for attr in attrs]
    able = rng.sample(names, rng.choice([len(names), len(names), rng.randint(1, len(names))]))
    common = {e.name: {n for n in names if published(e, n)} - no_join for e in earlier}
    shapes = loose_shapes(rng, able, earlier, common, mine) if rng.random() < 0.6 else []
    for _ in range(0 if shapes and rng.random() < 0.7 else rng.choice([1, 1, 2, 2, 3])):
        star = rng.sample(earlier, rng.choice([0, 1, 1, len(earlier), len(earlier)]))
        chosen = rng.sample(able, rng.randint(1, len(able)))
        if rng.random() < 0.3:  # all that links, as far as it is masked
            linking = {n for e in star for n in common[e.name]} & set(able)
            chosen += sorted(linking - set(chosen))
        elif star and shapes and rng.random() < 0.1:
            chosen = []  # about an earlier release alone
        over = list(chosen)
        for e in star:  # a common column stands on both sides or on neither
            over += [f"{e.name}.{n}" for n in chosen if n in common[e.name]]
            free = [n for n in e.rows[0] if published(e, n) and (n == "Z" or n in no_join)]
            over += [f"{e.name}.{n}" for n in free if rng.random() < 0.5]
        if not over:
            over, star = [rng.choice(able)], []
        rng.shuffle(over)
        if rng.random() < 0.5:
            ids = ["P0", "Id", *mine]
            for e in star:
                ids += [f"{e.name}.{n}" for n in e.rows[0] if n == "Id" or n in e.drop] * 3
            of = sorted(set(rng.choices(ids, k=rng.choice([0, 1, 1, 2]))))
            shape = Shape(tuple(over), of=tuple(of))
        else:
            tables = [list(mine)] + [[f"{e.name}.D"] for e in star if "D" in e.rows[0]]
            table = rng.choice(tables)
            shape = Shape(
                tuple(over), sensitive=tuple(rng.sample(table, rng.randint(1, len(table))))
            )
        shapes.append(shape)
        if rng.random() < 0.25:  # close to it: one may imply the other
            shapes.append(smaller(rng, shape, earlier))
    if not any(n in names for shape in shapes for n in shape.over):
        shapes.append(Shape((able[0],)))
    return shapes


def loose_shapes(
    rng: random.Random,
    able: Sequence[str],
    earlier: Sequence[Earlier],
    common: Mapping[str, set[str]],
    mine: Sequence[str],
) -> list[Shape]:
    """Return a confidence whose `over` lacks the linking columns, and a shape that masks those.

    So a refinement of a linking column can repair the confidence.
    """
    e = rng.choice(earlier)
    linking = [name for name in able if name in common[e.name]]
    others = [name for name in able if name not in common[e.name]]
    over = rng.sample(others, min(len(others), rng.choice([1, 1, 2])))
    sensitive = f"{e.name}.D"
    if "D" not in e.rows[0] or ("Z" in e.rows[0] and rng.random() < 0.7):
        sensitive = mine[0]
        over += [f"{e.name}.Z"] * published(e, "Z")
    loose = Shape(tuple(over), sensitive=(sensitive,))
    return [loose, Shape(tuple(linking))] if over and linking else []


def smaller(rng: random.Random, shape: Shape, earlier: Sequence[Earlier]) -> Shape:
    """Leave out a column on every side it is listed, unless nothing would be left."""
    leave = rng.choice(shape.over)
    for e in earlier:
        leave = leave.removeprefix(f"{e.name}.")
    both = {leave, *(f"{e.name}.{leave}" for e in earlier)}
    over = tuple(name for name in shape.over if name not in both)
    return replace(shape, over=over or shape.over)


def random_thresholds(rng: random.Random, case: Case, shapes: Sequence[Shape]) -> list[Template]:
    """Turn shapes into templates with thresholds that the start meets and some later state hits."""
    world = world_of(case)
    masked = [a for a in case.attrs if any(a.name in shape.over for shape in shapes)]
    walk = random_walk(rng, case, masked)

    def values(template: Template) -> list[Any]:
        return [sequence.measure(template, case.rows, seen, case.earlier, world) for seen in walk]

    templates: list[Template] = []
    for shape in shapes:
        template: Template = Anon(shape.over, 1, shape.of)  # also instead of what is certain
        if shape.sensitive:
            sensitive = {name: random_listed(rng, case, name) for name in shape.sensitive}
            bare = Conf(shape.over, sensitive, Fraction(1))
            start, *later = values(bare)
            if start < 1:  # or it would ask for nothing
                hits = sorted({start, *(v for v in later if start < v < 1)})
                share = Fraction(rng.choice([1] * 30 + [0.5]))  # less than the start: infeasible
                template = replace(bare, at_most=rng.choice(hits[:2] + hits[1:] * 2) * share)
        if isinstance(template, Anon):
            start, *later = values(template)
            hits = sorted({start, *(v for v in later if 0 < v < start)})
            template = replace(template, k=max(1, rng.choice(hits[:2]) + (rng.random() < 0.02)))
        if identity(template) not in {identity(t) for t in templates}:
            templates.append(template)
    return templates


def random_walk(rng: random.Random, case: Case, masked: Sequence[Attr]) -> list[list[Labels]]:
    """Return what T1 shows from the most masked state on, some blind refinements further."""
    state = single.start_state(case.rows, masked)
    walk = [single.mask(case.rows, state)]
    for _ in range(8):
        trials = list(single.trials(case.rows, masked, state, case.cls, None))
        if trials:
            state = rng.choice(trials)[-1]
            walk.append(single.mask(case.rows, state))
    return walk


def random_listed(rng: random.Random, case: Case, name: str) -> list[str] | str:
    """Return sensitive values of a column: all or some of those that occur."""
    tables = {"": case.rows} | {f"{e.name}.": e.rows for e in case.earlier}
    prefix = next((p for p in tables if p and name.startswith(p)), "")
    known = sorted(set(present([row[name.removeprefix(prefix)] for row in tables[prefix]])))
    return "*" if rng.random() < 0.4 else rng.sample(known, rng.randint(1, len(known)))
