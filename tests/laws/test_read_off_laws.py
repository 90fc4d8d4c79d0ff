"""A release can be read off its own labels, and nothing else passes for a release.

Whatever the masks, the kinds of values and the place where a search stopped: the recoding that the
released labels tell, applied to the original, gives the released rows again. And a table that is no
truthful masking of the original is refused, in words that hold for any table.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from at_hand import refusal, some_or_many
from naive.cases import Case, random_case
from naive.evidence import covers
from naive.product import case_policy, table_of
from naive.refine import Attr, Row
from reticent import InputError, Policy
from reticent.data.columns import Table
from reticent.errors import Unsatisfiable
from reticent.files.tabular import Reading
from reticent.progress import Watch
from reticent.sources import arrival
from reticent.tables.evidence.aligned import AlignedRows, aligned
from reticent.tables.evidence.loss import losses
from reticent.tables.prepare import Prepared, prepare
from reticent.tables.search.greedy import Effort
from reticent.tables.search.thorough import find

# --- the same case in other clothes --------------------------------------------------------------

FIRST = datetime(2020, 1, 1)


def moment(number: float) -> datetime:
    return FIRST + timedelta(days=number)


def day(number: float) -> date:
    return moment(number).date()


def zoned(number: float) -> str:
    east = timezone(timedelta(hours=2))
    return moment(number).replace(tzinfo=UTC).astimezone(east).isoformat()


Cell = Callable[[Any], Any]
CLOTHES: dict[str, tuple[Cell, Cell, pa.DataType, Reading]] = {
    # style: how cells are written, how bounds are, the type of the column, how it is read
    "numbers": (lambda n: n, lambda n: n, None, Reading()),
    "numbers as text": (str, lambda n: n, pa.string(), Reading()),
    "commas": (
        lambda n: str(n).replace(".", ","), lambda n: n, pa.string(), Reading(decimal=",")
    ),
    "days": (day, lambda n: day(n).isoformat(), pa.date32(), Reading()),
    "days as text": (
        lambda n: day(n).isoformat(), lambda n: day(n).isoformat(), pa.string(), Reading()
    ),
    "days as they are written here": (
        lambda n: day(n).strftime("%d.%m.%Y"), lambda n: day(n).isoformat(), pa.string(),
        Reading(date_format="%d.%m.%Y"),
    ),
    "times": (moment, lambda n: moment(n).isoformat(), pa.timestamp("us"), Reading()),
    "times as text": (
        lambda n: moment(n).isoformat(), lambda n: moment(n).isoformat(), pa.string(), Reading()
    ),
    "times with a zone": (zoned, zoned, pa.string(), Reading()),
}  # fmt: skip


def numbers_of(case: Case) -> Iterator[float]:
    for attr in case.attrs:
        if attr.mask == "discretize":
            yield from (row[attr.name] for row in case.rows if row[attr.name] is not None)
            yield from (*(attr.bounds or ()), *(attr.intervals or ()))


def dressed(case: Case, style: str) -> tuple[pa.Table, Policy, Reading]:
    """A case with its numbers in other clothes."""
    cell, bound, kind, reading = CLOTHES[style]
    table = table_of(case.rows, case.attrs)
    attrs: list[Attr] = []
    for attr in case.attrs:
        if attr.mask == "discretize" and kind is not None:
            cells = [None if r[attr.name] is None else cell(r[attr.name]) for r in case.rows]
            at = table.column_names.index(attr.name)
            table = table.set_column(at, attr.name, pa.array(cells, kind))
        bounds, edges = (
            None if known is None else tuple(bound(n) for n in known)
            for known in (attr.bounds, attr.intervals)
        )
        attrs.append(replace(attr, bounds=bounds, intervals=edges))
    return table, case_policy(replace(case, attrs=attrs), order="input"), reading


def released(prepared: Prepared, masked: AlignedRows) -> pa.Table:
    """The released rows, in the order of the original's."""
    columns = {}
    for name in prepared.roles.released:
        shown = masked.columns.get(name, prepared.table.columns[name])
        columns[name] = shown.cells()
    return pa.table(columns)


def a_release(rng: random.Random, style: str) -> tuple[Case, Prepared, AlignedRows]:
    """A random case as a search, stopped anywhere, leaves it."""
    while True:
        case = random_case(rng)
        whole = all(float(n).is_integer() for n in numbers_of(case))
        if "day" in style and not whole:
            continue
        if any(all(row[a.name] is None for row in case.rows) for a in case.attrs):
            continue  # an empty column of texts is neither of days nor of times
        table, policy, reading = dressed(case, style)
        prepared = prepare(arrival.read(table)[0], policy, reading)
        most = rng.choice([None, rng.randint(0, 8)])
        try:
            found = find(prepared, Watch(), Effort(max_steps=most))
        except Unsatisfiable:
            continue
        return case, prepared, AlignedRows.of(prepared, found.recodings)


def masked_rows(masked: AlignedRows) -> list[tuple[Any, ...]]:
    shown = (column.cells().to_pylist() for column in masked.columns.values())
    return list(zip(*shown, strict=True))


def obey(style: str, seed: int) -> None:
    rng = random.Random(f"{style} {seed}")
    _, prepared, known = a_release(rng, style)
    rows = released(prepared, known)
    in_order = aligned(prepared, arrival.read(rows)[0])
    assert masked_rows(in_order) == masked_rows(known)
    mixed = rows.take(pa.array(rng.sample(range(rows.num_rows), rows.num_rows)))
    assert masked_rows(aligned(prepared, arrival.read(mixed)[0])) == masked_rows(known)


@pytest.mark.parametrize("style", list(CLOTHES))
@pytest.mark.parametrize("seeds", some_or_many(range(20), range(25, 100)))
def test_a_release_is_read_off_its_labels(style: str, seeds: range) -> None:
    for seed in seeds:
        obey(style, seed)


def test_losses_are_the_same_whether_the_recoding_is_known_or_read_off() -> None:
    """Fixed intervals aside: see test_the_range_is_the_policys_not_that_of_the_bins_that_show."""
    for seed in range(30):
        case, prepared, known = a_release(random.Random(seed), "numbers")
        if any(attr.intervals for attr in case.attrs):
            continue
        read = aligned(prepared, arrival.read(released(prepared, known))[0])
        assert losses(read) == losses(known)


# --- what is no release --------------------------------------------------------------------------

Rows = list[Row]


def one_cell_changed(rng: random.Random, rows: Rows, names: Sequence[str]) -> Rows:
    at, name = rng.randrange(len(rows)), rng.choice(names)
    labels = {row[name] for row in rows} | {"*", None, "foreign", "[0,1)", "[0,1]", "[nan,1)"}
    label = rng.choice(sorted(labels - {rows[at][name]}, key=str))
    return [row if i != at else {**row, name: label} for i, row in enumerate(rows)]


def one_row_removed(rng: random.Random, rows: Rows, names: Sequence[str]) -> Rows:
    at = rng.randrange(len(rows))
    return [*rows[:at], *rows[at + 1 :]]


def one_row_twice(rng: random.Random, rows: Rows, names: Sequence[str]) -> Rows:
    return [*rows, rng.choice(rows)]


def one_row_for_another(rng: random.Random, rows: Rows, names: Sequence[str]) -> Rows:
    return one_row_removed(rng, one_row_twice(rng, rows, names), names)


def cells_of_two_rows_swapped(rng: random.Random, rows: Rows, names: Sequence[str]) -> Rows:
    (i, j), name = rng.choices(range(len(rows)), k=2), rng.choice(names)
    changed = [dict(row) for row in rows]
    changed[i][name], changed[j][name] = rows[j][name], rows[i][name]
    return changed


WRONGS = [
    one_cell_changed,
    one_row_removed,
    one_row_twice,
    one_row_for_another,
    cells_of_two_rows_swapped,
]


def read_rows(rows: Rows, names: Sequence[str]) -> Table:
    columns = {name: pa.array([row[name] for row in rows], pa.string()) for name in names}
    return arrival.read(pa.table(columns))[0]


def refusals(wrong: Any, seeds: range) -> set[str]:
    """Spoil releases; what is accepted all the same must be a truthful masking of the original."""
    said = set()
    for seed in seeds:
        rng = random.Random(seed)
        case, prepared, known = a_release(rng, "numbers")
        names = [attr.name for attr in case.attrs]
        table = released(prepared, known)
        spoilt = wrong(rng, table.to_pylist(), names)
        if not spoilt or Counter(map(str, spoilt)) == Counter(map(str, table.to_pylist())):
            continue
        refused = None
        try:
            accepted = aligned(prepared, read_rows(spoilt, table.column_names))
        except InputError as error:
            refused = error
        if refused is not None:
            assert not any(problem.values for problem in refused.problems)
            assert refused.__cause__ is refused.__context__ is None
            said.add(str(refused))
            continue
        shown = masked_rows(accepted)
        order = list(accepted.columns)
        assert Counter(shown) == Counter(tuple(row[n] for n in order) for row in spoilt)
        for attr in case.attrs:
            for row, labels in zip(case.rows, shown, strict=True):
                assert covers(attr, labels[order.index(attr.name)] or "", row[attr.name])
    return said


@pytest.mark.parametrize("wrong", WRONGS, ids=lambda wrong: wrong.__name__)
@pytest.mark.parametrize("seeds", some_or_many(range(40), range(40, 400)))
def test_what_is_no_masking_is_refused_in_words_for_any_table(wrong: Any, seeds: range) -> None:
    said = refusals(wrong, seeds)
    assert len(said) == 1  # so no word of it comes from a cell
    assert "no release of that table" in said.pop()


def ages(**more: Any) -> tuple[Prepared, Rows]:
    table = pa.table({"Age": [5, 15, 15, 25], "Job": list("abab"), "Class": list("ynyn")})
    attributes = {"Age": {"mask": "discretize", "intervals": [0, 10, 20, 30]}}
    policy = {"attributes": attributes, "anonymity": [{"over": ["Age"], "k": 1}], "keep": "*"}
    prepared = prepare(arrival.read(table)[0], Policy.model_validate(policy | more))
    labels = ["[0,10)", "[10,20)", "[10,20)", "[20,30]"]
    return prepared, [{**r, "Age": a} for r, a in zip(table.to_pylist(), labels, strict=True)]


def neighbours(rows: Rows) -> None:
    """A value that no interval holds is not put into its neighbour: 15 does not belong there."""
    rows[1]["Age"] = rows[2]["Age"] = "[0,10)"


def swapped(column: str, rows: Rows) -> None:
    """Columns that are not masked must agree as well."""
    rows[0][column], rows[1][column] = rows[1][column], rows[0][column]


@pytest.mark.parametrize("spoil", [neighbours, partial(swapped, "Job"), partial(swapped, "Class")])
def test_what_is_spoilt_is_no_release(spoil: Callable[[Rows], None]) -> None:
    prepared, rows = ages(**{"class": "Class"})
    aligned(prepared, read_rows(rows, list(rows[0])))  # until it is spoilt it is one
    spoil(rows)
    refusal(lambda: aligned(prepared, read_rows(rows, list(rows[0]))), "no release of that table")
