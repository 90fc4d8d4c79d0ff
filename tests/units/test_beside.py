"""A table beside its release: relations, middles and worsts, each straight from its definition."""

from __future__ import annotations

import random
import statistics
from typing import Any

import pyarrow as pa
import pytest

import reticent
from naive.evidence import relation
from reticent import Policy
from reticent.pages import charts
from reticent.sources import arrival
from reticent.tables.evidence.aligned import AlignedRows, aligned
from reticent.tables.evidence.beside import beside
from reticent.tables.evidence.loss import distortion, losses, worst
from reticent.tables.evidence.relations import (
    AS_BEFORE,
    LEAST,
    levelled,
    relations,
    strengths,
)
from reticent.tables.prepare import prepare

ROWS = 1000
TREE = {"ANY": {"ab": {"a": {}, "b": {}}, "cd": {"c": {}, "de": {"d": {}, "e": {}}}}}


def random_table(draw: random.Random, rows: int = ROWS) -> pa.Table:
    """Columns that hang together more or less, with gaps."""
    found: dict[str, list[Any]] = {"G": [], "S": [], "N": [], "D": [], "W": [], "K": []}
    for _ in range(rows):
        base = draw.randrange(5)
        found["G"].append("abcde"[base] if draw.random() < 0.9 else None)
        found["S"].append(draw.choice("xyz") if draw.random() < 0.5 else "xxyyz"[base])
        found["N"].append(10 * base + draw.randrange(9) if draw.random() < 0.9 else None)
        found["D"].append(f"20{10 + base}-0{draw.randint(1, 9)}-01")
        found["W"].append(f"w{draw.randrange(40)}")
        found["K"].append("yn"[(base + draw.randrange(2)) // 3])
    return pa.table(found)


def released(seed: int, k: int) -> AlignedRows:
    """A random table and its release, laid beside each other."""
    table = random_table(random.Random(seed))
    policy = Policy.from_data(
        {
            "class": "K",
            "missing": "value",
            "attributes": {
                "G": {"mask": "generalize", "taxonomy": TREE},
                "S": {"mask": "suppress"},
                "W": {"mask": "suppress"},
                "N": {"mask": "discretize"},
                "D": {"mask": "discretize"},
            },
            "anonymity": [{"over": ["G", "S"], "k": k}, {"over": ["N"], "k": k},
                          {"over": ["D"], "k": k}, {"over": ["W"], "k": k}],
        }
    )  # fmt: skip
    found = reticent.release(table, policy)
    return aligned(prepare(arrival.read(table)[0], policy), arrival.read(found.table)[0])


@pytest.fixture(scope="module", params=[(1, 3), (2, 20)], ids=["fine", "coarse"])
def masked(request: pytest.FixtureRequest) -> AlignedRows:
    return released(*request.param)


def cells(masked: AlignedRows, name: str, *, shown: bool) -> list[str | None]:
    column = masked.prepared.cleaned.columns[name]
    column = masked.columns.get(name, column) if shown else column
    texts = column.texts()
    return [texts[code] for code in column.codes]


def test_relations_are_those_of_the_definition(masked: AlignedRows) -> None:
    """Of columns with few values; those with many are grouped first, and never gain."""
    told = relations(masked)
    few = ("G", "S", "K")
    for one in told["most"]:
        assert one["after"] < AS_BEFORE * one["before"]
        if {*one["columns"]} <= {*few}:
            for side, shown in (("before", False), ("after", True)):
                first, second = (cells(masked, name, shown=shown) for name in one["columns"])
                whole = [cells(masked, name, shown=False) for name in one["columns"]]
                if len({*first}) > 1 and len({*second}) > 1:
                    assert one[side] == pytest.approx(
                        relation(first, second, (whole[0], whole[1])), abs=1e-6
                    )
    assert told["related"] == told["kept"] + told["weaker"] + told["lost"]
    assert told["pairs"] == 15
    assert told["lost"] >= told["hidden"]
    hidden = {name for name, column in masked.columns.items() if len(column.values) == 1}
    besides = [one for one in told["most"] if hidden.isdisjoint(one["columns"])]
    assert told["most_shown"] == besides
    assert told["most"] == sorted(told["most"], key=lambda one: one["after"] - one["before"])
    strong = [
        pair
        for pair in (("G", "S"), ("G", "K"), ("S", "K"))
        if relation(cells(masked, pair[0], shown=False), cells(masked, pair[1], shown=False))
        >= LEAST
    ]
    assert len(strong) <= told["related"]


@pytest.mark.parametrize("rows", [120, 1000])
def test_what_one_column_gives_away_of_another_is_all(rows: int) -> None:
    """However few the values, or the records: a column renamed, coarsened, or counted otherwise."""
    draw = random.Random(7)
    numbers = [draw.randrange(500) for _ in range(rows)]
    sexes = [draw.choice("FM") for _ in range(rows)]
    table = pa.table(
        {
            "A": sexes,
            "B": [{"F": "woman", "M": "man"}[sex] for sex in sexes],
            "C": [draw.choice("xy") + sex for sex in sexes],
            "N": numbers,
            "M": [2 * number + 1 for number in numbers],
        }
    )
    columns = [levelled(one, None, None) for one in arrival.read(table)[0].columns.values()]
    pairs = {"".join(pair): before for pair, before, _, _ in strengths(columns)}
    if rows < 1000:  # so few records leave two levels to each column
        pairs = {pair: before for pair, before in pairs.items() if "C" not in pair}
        assert pairs == {"AB": 1.0, "NM": 1.0}
    else:
        assert pairs == {"AB": 1.0, "AC": 1.0, "BC": 1.0, "NM": 1.0}


def test_what_is_independent_is_no_relation() -> None:
    draw = random.Random(5)
    names = [f"c{i}" for i in range(12)]
    table = pa.table({name: [draw.choice("abcdefgh") for _ in range(400)] for name in names})
    policy = Policy.from_data(
        {
            "attributes": {name: {"mask": "suppress"} for name in names},
            "anonymity": [{"over": names, "k": 2}],
        }
    )
    found = AlignedRows.of(prepare(arrival.read(table)[0], policy), {})
    assert relations(found)["related"] == 0


def test_more_cells_than_can_be_counted_are_a_sample_and_said(
    masked: AlignedRows, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = relations(masked)
    monkeypatch.setattr("reticent.tables.evidence.relations._MOST_VISITS", 15 * 200)
    part = relations(masked, seed=3)
    assert (whole["records"], part["records"]) == (ROWS, 200)
    assert relations(masked, seed=3) == part


def middle(label: str | None) -> float | None:
    if label is None or not label.startswith("["):
        return None
    low, high = (int(end) for end in label.strip("[])").split(","))
    return statistics.fmean(range(low, high + label.endswith("]")))


def test_middles_and_spreads_are_those_of_the_definition(masked: AlignedRows) -> None:
    numbers = next(column for column in beside(masked) if column.name == "N")
    assert numbers.centres is not None
    before = [float(text) for text in cells(masked, "N", shown=False) if text is not None]
    after = [middle(text) for text in cells(masked, "N", shown=True)]
    told = [value for value in after if value is not None]
    for centre, values in zip(numbers.centres, (before, told), strict=True):
        assert centre is not None
        assert centre.records == len(values)
        assert centre.mean == pytest.approx(statistics.fmean(values))
        assert centre.spread == pytest.approx(statistics.pstdev(values))
        assert centre.median == pytest.approx(statistics.median(values))


def test_rows_and_bars_count_every_record_once(masked: AlignedRows) -> None:
    for column in beside(masked):
        if column.histogram:
            assert sum(column.histogram.counts) == ROWS - column.missing[0]
            assert sum(n for _, _, n, _ in column.histogram.steps) == ROWS - column.missing[1]
            chart = charts.histogram(
                "t", column.histogram.edges, column.histogram.counts, column.histogram.steps
            )
        else:
            groups = [row for row in column.rows if row.depth == 0]
            assert sum(row.after or 0 for row in groups) == ROWS
            assert sum(row.before or 0 for row in column.rows) == ROWS
            chart = charts.pairs("t", column.rows)
        assert "nan" not in chart


def test_the_worst_is_what_a_column_costs_that_shows_nothing(masked: AlignedRows) -> None:
    """A release under a promise that leaves one group is as bad as can be."""
    bare = released(1, ROWS)
    for domain in bare.prepared.domains:
        cost = distortion(domain, bare.columns[domain.name], bare.recodings[domain.name])
        assert cost == pytest.approx(worst(domain))
    for one in losses(masked)["columns"].values():
        assert 0 <= one["distortion"] <= one["worst"]
        assert 0 <= one["shows"] <= 1
