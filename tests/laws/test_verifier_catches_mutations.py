"""The verifier refuses exactly what a naive recount refuses, however a table came to be.

Published tables are made up at random, or are releases that somebody tampered with. The recount is
a few lines over Python counters and knows nothing but the cells.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import reticent
from at_hand import refusal, some_or_many
from naive.cases import WORDS, Case, identity, random_case, random_tree
from naive.product import case_policy, policy_of, table_of
from naive.refine import Anon, Attr, Conf, Row, Template, Tree
from reticent import Policy, Unsatisfiable
from reticent.privacy import published
from reticent.privacy import verify as verifier
from reticent.privacy.verify import Proof
from reticent.tables.rules import rules

MARKER = "*"


# --- the recount ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recount:
    """What a template comes to on published rows."""

    value: int | Fraction | None
    holds: bool | None
    groups: int = 0
    breaking: int = 0  # records in groups too small, or inferences too sure


def text(cell: Any, missing: frozenset[str]) -> str | None:
    """A cell as its shortest text; None where it is missing."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return None
    printed = str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)
    return None if printed == "" or printed in missing else printed


def recount(template: Template, rows: list[Row], missing: frozenset[str]) -> Recount:
    """Count a template from the cells, straight from its definition."""
    groups = [tuple(row[name] for name in template.over) for row in rows]
    wholes = Counter(groups)
    if isinstance(template, Anon):
        sizes = wholes
        if template.of:
            if not all(name in rows[0] for name in template.of):
                return Recount(None, None)
            people = {
                (group, tuple(text(row[name], missing) for name in template.of))
                for group, row in zip(groups, rows, strict=True)
            }
            sizes = Counter(group for group, person in people if None not in person)
        smallest = min(sizes[group] for group in wholes)
        below = sum(count for group, count in wholes.items() if sizes[group] < template.k)
        return Recount(smallest, smallest >= template.k, len(wholes), below)
    parts: Counter[tuple[Any, str, str]] = Counter()
    for group, row in zip(groups, rows, strict=True):
        for name, values in template.sensitive.items():
            cell = text(row[name], missing)
            if cell is not None and (values == "*" or cell in values):
                parts[group, name, cell] += 1
    sure = [Fraction(part, wholes[group]) for (group, _, _), part in parts.items()]
    largest = max(sure, default=Fraction(0))
    above = sum(share > template.at_most for share in sure)
    return Recount(largest, largest <= template.at_most, len(wholes), above)


def in_policy_order(templates: Sequence[Template]) -> list[Template]:
    return sorted(templates, key=lambda t: not isinstance(t, Anon))


def lists_an_absent_value(templates: Sequence[Template], rows: list[Row]) -> bool:
    """Whether a template lists a sensitive value that never occurs: an error in itself."""
    return any(
        value not in {text(row[name], frozenset()) for row in rows}
        for t in templates
        if isinstance(t, Conf)
        for name, values in t.sensitive.items()
        if values != "*"
        for value in values
    )


def assert_agree(
    data: Any,
    policy: Policy,
    templates: Sequence[Template],
    rows: list[Row],
    missing: frozenset[str] = frozenset(),
) -> Proof | None:
    """Verify a table and compare with the recount of its rows; None where both refuse to judge."""
    if lists_an_absent_value(templates, rows):
        refusal(lambda: reticent.verify(data, policy), "never occur")
        return None
    proof = reticent.verify(data, policy)
    wanted = [recount(t, rows, missing) for t in in_policy_order(templates)]
    found = [Recount(f.value, f.holds, f.groups, f.rows) for f in proof.findings]
    assert found == wanted
    assert proof.holds == all(count.holds is not False for count in wanted)
    assert [f.promise for f in proof.unchecked] == [
        f.promise for f, count in zip(proof.findings, wanted, strict=True) if count.holds is None
    ]
    assert proof.rows == len(rows)
    assert not proof.leftovers
    return proof


# --- tables made up at random ---------------------------------------------------------------------


@dataclass(frozen=True)
class Published:
    """A table that somebody hands over, with the policy it should keep."""

    rows: list[Row]
    attrs: list[Attr]
    templates: list[Template]
    missing: frozenset[str]
    types: dict[str, pa.DataType]

    def table(self) -> pa.Table:
        return pa.table(
            {n: pa.array([row[n] for row in self.rows], kind) for n, kind in self.types.items()}
        )

    def policy(self, **more: Any) -> Policy:
        values = sorted(self.missing)
        return policy_of(self.attrs, self.templates, missing_values=values, **more)


def random_published(rng: random.Random) -> Published:
    """Make up cells that look masked, at mixed levels; most promises are close to their limit."""
    count = rng.choice([1, 2, rng.randint(3, 10), rng.randint(10, 60)])
    attrs: list[Attr] = []
    columns: dict[str, list[Any]] = {}
    types: dict[str, pa.DataType] = {}
    for i in range(rng.randint(1, 4)):
        attr, labels = random_labels(rng, f"Q{i}")
        attrs.append(attr)
        columns[attr.name] = draw(rng, labels, count)
        types[attr.name] = pa.string()
    domains: list[tuple[pa.DataType, list[Any]]] = [
        (pa.string(), ["x", "y", "?", "X", "o'clock", "z z"]),
        (pa.int64(), [-1, 0, 1, 2, 10]),
        (pa.float64(), [-1.0, 0.5, 3.0, float("nan"), 1e20]),
    ]
    for name in ("S0", "S1", "P0", "P1"):
        kind, domain = rng.choice(domains)
        columns[name], types[name] = draw(rng, domain, count), kind
    rows = [{name: column[i] for name, column in columns.items()} for i in range(count)]
    missing = frozenset(rng.sample(["?", "-1", "y"], rng.choice([0, 1, 2])))
    templates = random_promises(rng, rows, [a.name for a in attrs], missing)
    used = {name for t in templates for name in t.over}
    return Published(rows, [a for a in attrs if a.name in used], templates, missing, types)


def random_labels(rng: random.Random, name: str) -> tuple[Attr, list[str]]:
    """An attribute and everything it may show."""
    kind = rng.choice(["suppress", "generalize", "discretize"])
    if kind == "suppress":
        return Attr(name, kind), [*rng.sample(WORDS, 3), MARKER]
    if kind == "generalize":
        tree: Tree = {name: random_tree(rng, name, 3)}
        return Attr(name, kind, tree=tree), list(labels_in(tree))
    return Attr(name, kind), ["[0,5)", "[5,10]", "[0,10]", "[-1.5,0)", MARKER]


def labels_in(tree: Tree) -> Iterator[str]:
    for label, kids in tree.items():
        yield label
        yield from labels_in(kids)


def draw(rng: random.Random, domain: list[Any], count: int) -> list[Any]:
    """Draw cells, skewed towards a few, sometimes with gaps."""
    some = rng.sample(domain, rng.randint(1, min(3, len(domain))))
    gaps = rng.choice([0, 0, 0.1, 0.5, 1 if rng.random() < 0.1 else 0])
    cells = rng.choices(some, [3.0**-i for i in range(len(some))], k=count)
    return [None if rng.random() < gaps else cell for cell in cells]


def random_promises(
    rng: random.Random, rows: list[Row], names: list[str], missing: frozenset[str]
) -> list[Template]:
    found: dict[object, Template] = {}
    for _ in range(rng.randint(1, 4)):
        over = tuple(rng.sample(names, rng.randint(1, len(names))))
        template: Template
        if rng.random() < 0.5:
            of = tuple(rng.sample(["P0", "P1", "S0"], rng.choice([0, 0, 1, 2, 3])))
            size = recount(Anon(over, 1, of), rows, missing).value
            assert isinstance(size, int)
            template = Anon(over, max(1, size + rng.choice([-1, 0, 0, 1, 1])), of)
        else:
            template = random_confidence(rng, rows, over, missing)
        found[identity(template)] = template
    return list(found.values())


def random_confidence(
    rng: random.Random, rows: list[Row], over: tuple[str, ...], missing: frozenset[str]
) -> Conf:
    sensitive: dict[str, list[str] | str] = {}
    for name in rng.sample(["S0", "S1"], rng.choice([1, 1, 2])):
        cells = {text(row[name], missing) for row in rows}
        known = sorted(cell for cell in cells if cell is not None)
        if rng.random() < 0.05:
            known.append("absent")
        sensitive[name] = "*"
        if known and rng.random() < 0.5:
            sensitive[name] = rng.sample(known, rng.randint(1, len(known)))
    largest = recount(Conf(over, sensitive, Fraction(0)), rows, missing).value
    assert isinstance(largest, Fraction)
    near = Fraction(rng.choice([-1, 1]), 10**15)
    asked = rng.choice([largest, largest, largest + near, largest + near, Fraction(1, 3)])
    return Conf(over, sensitive, min(max(asked, Fraction(0)), Fraction(1)))


@pytest.mark.parametrize("seeds", some_or_many(range(60), range(60, 520)))
def test_verifier_equals_recount_on_random_tables(seeds: range) -> None:
    for seed in seeds:
        published = random_published(random.Random(seed))
        rows, templates = published.rows, published.templates
        assert_agree(published.table(), published.policy(), templates, rows, published.missing)


def test_random_tables_are_not_all_alike() -> None:
    """Both verdicts of both kinds come up, and so do missing parts of what `of` counts."""
    seen: Counter[tuple[str, bool | None]] = Counter()
    for seed in range(300):
        published = random_published(random.Random(seed))
        for t in published.templates:
            kind = type(t).__name__ + ("-of" if isinstance(t, Anon) and t.of else "")
            seen[kind, recount(t, published.rows, published.missing).holds] += 1
    assert all(
        seen[kind, held] > 20 for kind in ("Anon", "Anon-of", "Conf") for held in (True, False)
    )


@pytest.mark.parametrize("seed", range(20))
def test_a_dropped_column_that_is_counted_cannot_be_checked(seed: int) -> None:
    published = random_published(random.Random(seed))
    counted = {name for t in published.templates if isinstance(t, Anon) for name in t.of}
    sensitive = {name for t in published.templates if isinstance(t, Conf) for name in t.sensitive}
    gone = sorted(counted - sensitive)
    rows = [{n: v for n, v in row.items() if n not in gone} for row in published.rows]
    table = published.table().drop_columns(gone)
    policy = published.policy(drop=gone)
    assert_agree(table, policy, published.templates, rows, published.missing)


@pytest.mark.parametrize("seed", range(20))
def test_a_column_that_a_promise_is_about_must_be_there(seed: int) -> None:
    rng = random.Random(seed)
    published = random_published(rng)
    needed = {name for t in published.templates for name in t.over}
    needed |= {n for t in published.templates if isinstance(t, Conf) for n in t.sensitive}
    table = published.table().drop_columns([rng.choice(sorted(needed))])
    refusal(lambda: reticent.verify(table, published.policy()), "lacks")


# --- releases that somebody tampered with ---------------------------------------------------------


@dataclass(frozen=True)
class Released:
    """A release of a random case, as rows that can be changed."""

    case: Case
    policy: Policy
    table: pa.Table

    @property
    def rows(self) -> list[Row]:
        return list(self.table.to_pylist())

    def agree(self, rows: list[Row]) -> Proof | None:
        table = pa.Table.from_pylist(rows, schema=self.table.schema)
        return assert_agree(table, self.policy, self.case.templates, rows)


def random_release(seed: int) -> tuple[Released, random.Random] | None:
    rng = random.Random(seed)
    case = random_case(rng)
    policy = case_policy(case)
    try:
        found = reticent.release(table_of(case.rows, case.attrs), policy)
    except Unsatisfiable:
        return None
    return Released(case, policy, found.table), rng


def legal_labels(released: Released, attr: Attr) -> list[str | None]:
    """Other labels that the policy can show in a column."""
    shown = set(released.table.column(attr.name).to_pylist())
    if attr.tree is not None:
        return [*labels_in(attr.tree), None]
    if attr.mask == "suppress":
        return [*WORDS, MARKER, None]
    return [*shown, MARKER, None]


def relabel_one_record(released: Released, rng: random.Random) -> None:
    """A record that shows something else may be alone, or leave others alone."""
    rows = released.rows
    attr = rng.choice(released.case.attrs)
    rng.choice(rows)[attr.name] = rng.choice(legal_labels(released, attr))
    released.agree(rows)


def make_one_record_unique(released: Released, rng: random.Random) -> None:
    """Push one record into a group of its own: refused by every promise of at least two."""
    rows = released.rows
    mover = rng.choice(rows)
    for attr in released.case.attrs:
        taken = {row[attr.name] for row in rows}
        free = [label for label in legal_labels(released, attr) if label not in taken]
        if free:
            mover[attr.name] = rng.choice(free)
            proof = released.agree(rows)
            alone = [t for t in released.case.templates if attr.name in t.over]
            if proof is not None and any(isinstance(t, Anon) and t.k > 1 for t in alone):
                assert not proof.holds
            return


def drop_rows_of_the_smallest_group(released: Released, rng: random.Random) -> None:
    """Take records away until fewer than k are left."""
    promises = [t for t in released.case.templates if isinstance(t, Anon) and t.k > 1]
    if not promises:
        return
    t = rng.choice(promises)
    rows = released.rows
    groups = Counter(tuple(row[name] for name in t.over) for row in rows)
    smallest = min(groups, key=lambda group: groups[group])
    members = [row for row in rows if tuple(row[name] for name in t.over) == smallest]
    for victim in members[:-1]:
        rows.remove(victim)
        if not recount(t, rows, frozenset()).holds:
            break
    else:
        pytest.fail("one record alone is fewer than two")
    proof = released.agree(rows)
    assert proof is None or not proof.holds


def raise_a_confidence(released: Released, rng: random.Random) -> None:
    """Give one group the same sensitive value, record by record, until it tells too much."""
    promises = [t for t in released.case.templates if isinstance(t, Conf) and t.at_most < 1]
    if not promises:
        return
    t = rng.choice(promises)
    rows = released.rows
    name = rng.choice(sorted(t.sensitive))
    present = sorted({row[name] for row in rows} - {None})
    values = t.sensitive[name]
    value = rng.choice(present if values == "*" else sorted(values))
    someone = rng.choice(rows)
    group = tuple(someone[n] for n in t.over)
    for row in rows:
        if tuple(row[n] for n in t.over) == group:
            row[name] = value
            if not recount(t, rows, frozenset()).holds:
                break
    else:
        pytest.fail("a group of one value alone tells everything")
    proof = released.agree(rows)
    assert proof is None or not proof.holds


def change_nothing(released: Released, rng: random.Random) -> None:
    """Reordered rows are the same table."""
    rows = released.rows
    rng.shuffle(rows)
    proof = released.agree(rows)
    assert proof is not None
    assert proof.holds


def put_a_foreign_label(released: Released, rng: random.Random) -> None:
    """A label that the policy cannot show is bad input, not a violation."""
    rows = released.rows
    choice = [attr for attr in released.case.attrs if attr.mask != "suppress"]
    if not choice:
        return
    attr = rng.choice(choice)
    row = rng.choice(rows)
    foreign = ["Nobody", "7", "7.5", "[7]", "7,8", "[7,8", "ANY", f"{row[attr.name]} "]
    row[attr.name] = rng.choice(foreign)
    table = pa.Table.from_pylist(rows, schema=released.table.schema)
    caught = refusal(lambda: reticent.verify(table, released.policy))
    assert caught.exit_code == 2
    [problem] = caught.problems
    assert attr.name in problem.where
    assert problem.values == (row[attr.name],)
    assert row[attr.name] not in problem.what  # hidden unless asked for


MUTATIONS = [
    relabel_one_record,
    make_one_record_unique,
    drop_rows_of_the_smallest_group,
    raise_a_confidence,
    change_nothing,
    put_a_foreign_label,
]
Mutation = Callable[[Released, random.Random], None]


@pytest.mark.parametrize("mutate", MUTATIONS, ids=lambda mutate: mutate.__name__)
@pytest.mark.parametrize("seeds", some_or_many(range(12), range(12, 60)))
def test_mutation(mutate: Mutation, seeds: range) -> None:
    for seed in seeds:
        made = random_release(seed)
        if made is not None:
            mutate(*made)


# --- people who stand in one row each -------------------------------------------------------------


PEOPLE = """\
class = "Class"
drop = ["Who", "Visit"]
[goal]
score = "paper"
search = "greedy"
[[anonymity]]
over = ["Job"]
of = ["Who"]
k = 3
[[anonymity]]
over = ["Town"]
of = ["Who", "Visit"]
k = 2
"""


def named(who: Sequence[Any]) -> pa.Table:
    rng = random.Random(3)
    return pa.table(
        {
            "Who": who,
            "Job": [rng.choice("abcdefgh") for _ in who],
            "Town": [rng.choice("xyz") for _ in who],
            "Class": [rng.choice(["yes", "no"]) for _ in who],
            "Visit": [rng.choice([1, 2, None]) for _ in who],
        }
    )


@pytest.mark.parametrize(
    "who",
    [range(60), [f"p{i}" for i in range(60)], [*range(59), None], [*range(59), 58]],
    ids=["numbers", "texts", "one missing", "one twice"],
)
@pytest.mark.parametrize("order", ["sorted", "input"])
def test_counting_records_and_people_comes_to_the_same(
    who: Sequence[Any], order: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = Policy.parse(f'order = "{order}"\n{PEOPLE}')
    proofs, written = [], []
    for many in (1000, 0):
        monkeypatch.setattr("reticent.tables.masking.MANY", many)
        place = tmp_path / f"{many}.csv"
        proofs.append(reticent.release(named(list(who)), policy, output=place).proof)
        assert proofs[-1] == reticent.release(named(list(who)), policy).proof
        written.append(place.read_bytes())
    assert proofs[0] == proofs[1]
    assert written[0] == written[1]
    assert proofs[0].holds
    assert not proofs[0].unchecked


@pytest.mark.parametrize(
    "who",
    [[1, 2, 3, 4, 5, 5], [1, 2, 3, 4, 5, None], [1, 2, 3, 4, 5], ["a", "b", "c", "d", "e", "?"]],
    ids=["twice", "missing", "too few", "missing text"],
)
def test_the_verifier_believes_nobody_that_rows_are_people(who: list[Any]) -> None:
    cells = pa.table({"Job": ["a"] * 6})
    policy = Policy.parse(
        'missing_values = ["?"]\ndrop = ["Who"]\n[[anonymity]]\nover = ["Job"]\nof = ["Who"]\nk = 2'
    )
    told = rules(policy, {})
    source = replace(published.from_table(cells), people={"Who": pa.array(who)})
    [finding] = verifier.verify(source, told).findings
    assert finding.holds is None
    believed = replace(source, people={"Who": pa.array(range(6))})
    [finding] = verifier.verify(believed, told).findings
    assert (finding.holds, finding.value) == (True, 6)
