"""What ``round = true`` changes: the borders that are printed, and nothing else.

A border is the shortest decimal, or the coarsest start in the calendar, between the largest value
on its left and the smallest on its right. Everything that was found stays what it is.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.csv import write_csv

import reticent
from at_hand import some_or_many
from naive.cases import Case, random_case
from naive.product import policy_of, table_of
from reticent import Policy, Release, Unsatisfiable
from reticent.data.borders import border_label, rounded_border
from reticent.data.scales import interval_ends
from reticent.refine.engine import Step
from reticent.refine.limits import Stop
from reticent.sources import arrival
from reticent.tables.evidence.aligned import aligned
from reticent.tables.search.rare import find_leaving_out

FIRST = datetime(2019, 11, 28)
ROUNDS = "reticent.tables.search.thorough._ROUNDS"


def moment(number: float) -> datetime:
    return FIRST + timedelta(days=9 * number)


CLOTHES: dict[str, Any] = {
    "numbers": (lambda n: n, None),
    "larger": (lambda n: n * 13.7 if isinstance(n, float) else n * 10**17 + 1, None),
    "texts": (str, pa.string()),
    "decimals": (lambda n: Decimal(str(n)).quantize(Decimal("0.01")), pa.decimal128(9, 2)),
    "days": (lambda n: moment(n).date(), pa.date32()),
    "times": (moment, pa.timestamp("us")),
}


def dressed(case: Case, style: str, seed: int) -> tuple[pa.Table, dict[str, Any]]:
    """A case whose numbers are something else, and what a policy says of it."""
    cell, kind = CLOTHES[style]
    table = table_of(case.rows, case.attrs)
    attrs = []
    for attr in case.attrs:
        if attr.mask == "discretize":
            cells = table.column(attr.name).to_pylist()
            dressed = pa.array([None if c is None else cell(c) for c in cells], kind)
            at = table.column_names.index(attr.name)
            table = table.set_column(at, attr.name, dressed)
            attr = replace(attr, intervals=None, bounds=attr.bounds if style == "numbers" else None)
        attrs.append(attr)
    goal = {
        "utility": case.utility,
        "score": case.score,
        "search": ["greedy", "thorough"][seed % 2],
    }
    more = {"suppress_records": "1/5"} if seed % 3 == 0 else {}
    said = policy_of(attrs, case.templates, cls=case.cls, goal=goal, order="input", **more)
    return table, said.model_dump(by_alias=True)


def both(said: dict[str, Any]) -> tuple[Policy, Policy]:
    """The policy without rounding, and with it."""
    learnt = {n: a | {"round": a["mask"] == "discretize"} for n, a in said["attributes"].items()}
    return Policy.model_validate(said), Policy.model_validate(said | {"attributes": learnt})


def numeric_case(rng: random.Random) -> Case:
    """A random case with a column of numbers, and none that is empty: that would be of no kind."""
    while True:
        case = random_case(rng)
        full = all(any(row[a.name] is not None for row in case.rows) for a in case.attrs)
        if full and any(attr.mask == "discretize" for attr in case.attrs):
            return case


def random_releases(style: str, seeds: range) -> Iterator[tuple[Release, Release]]:
    """Releases of random tables without and with rounded borders."""
    for seed in seeds:
        case = numeric_case(random.Random(f"{style} {seed}"))
        table, said = dressed(case, style, seed)
        plain, rounded = both(said)
        try:
            exact = reticent.release(table, plain)
        except Unsatisfiable as error:
            with pytest.raises(Unsatisfiable, match=re.escape(str(error))):
                reticent.release(table, rounded)
            continue
        yield exact, reticent.release(table, rounded)


def check_same(exact: Release, found: Release) -> int:
    """Nothing but printed borders differs; how many intervals differ."""
    changed = 0
    for domain in exact.prepared.domains:
        cells = [release.table.column(domain.name).to_pylist() for release in (exact, found)]
        pairs = set(zip(*cells, strict=True))
        assert len(pairs) == len({one for one, _ in pairs}) == len({other for _, other in pairs})
        different = {pair for pair in pairs if pair[0] != pair[1]}
        assert not different or domain.mask == "discretize"
        changed += len(different)
    names = [n for n in exact.table.column_names if n not in exact.recodings]
    assert found.table.select(names).equals(exact.table.select(names))
    left = [r.left_out and r.left_out.rows.tolist() for r in (exact, found)]
    assert left[0] == left[1]
    assert found.proof.findings == exact.proof.findings
    assert [replace(s, value="", into=()) for s in found.steps] == [
        replace(s, value="", into=()) for s in exact.steps
    ]
    stops = [[(s.attribute, len(s.into), s.after, s.broken) for s in r.limits.stops()]
             for r in (exact, found)]  # fmt: skip
    assert stops[0] == stops[1]
    return changed


def check_borders(found: Release) -> None:
    """Whatever is printed, in the table or of how it came about, has the one border of its place."""
    for domain in (d for d in found.prepared.domains if d.scale is not None):
        assert domain.scale is not None
        points, known = domain.scale.points.tolist(), {}
        for code in range(1, len(points)):
            assert points[code - 1] < rounded_border(domain.scale, code) <= points[code]
            known[border_label(domain.scale, code)] = code
        made: list[Step | Stop] = [*found.steps, *found.limits.stops()]
        told = [(one.value, *one.into) for one in made if one.attribute == domain.name]
        labels = {*found.cuts[domain.name], *chain(*told)}
        ends = {domain.scale.label(end) for end in domain.ends or ()}
        for text in labels - {"", domain.marker}:
            low, high, closed = interval_ends(text) or ("", "", False)
            assert low in known or low in ends
            assert high in (ends if closed else known)


@pytest.mark.parametrize("style", list(CLOTHES))
@pytest.mark.parametrize("seeds", some_or_many(range(8), range(8, 200)))
def test_only_printed_borders_differ(
    style: str, seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ROUNDS, 4)
    changed = left_out = 0
    for exact, found in random_releases(style, seeds):
        changed += check_same(exact, found)
        left_out += found.left_out is not None
        check_borders(found)
        policy = found.prepared.policy
        assert reticent.verify(found.table, policy).holds
        if found.left_out is None:
            read = aligned(found.prepared, arrival.read(found.table)[0])
            for name, column in read.columns.items():
                assert column.cells().to_pylist() == found.table.column(name).to_pylist()
    assert changed
    assert left_out or len(seeds) < 100


def people(seed: int, rows: int = 900) -> pa.Table:
    """Ages tell a class."""
    rng = random.Random(seed)
    age = [rng.choice([18.5, 22.4, 37.2, 44.9, 51.3, 67.0, 88.6]) for _ in range(rows)]
    born = [FIRST.date() - timedelta(days=rng.choice([30, 900, 4000, 9000, 9001])) for _ in age]
    told = ["ny"[a > 40 and rng.random() < 0.9] for a in age]
    return pa.table({"Age": age, "Born": born, "Class": told})


def rules(rounded: bool = True, **more: Any) -> Policy:
    attributes = {name: {"mask": "discretize", "round": rounded} for name in ("Age", "Born")}
    over = [{"over": ["Age", "Born"], "k": 6}]
    return Policy.model_validate(
        {"class": "Class", "attributes": attributes, "anonymity": over} | more
    )


def rare_people(seed: int, rows: int = 400) -> pa.Table:
    """Those of one zone are few, and have numbers just below those of others.

    Without them other borders are the shortest, and say other things of them.
    """
    rng = random.Random(seed)
    values = sorted(rng.sample(range(10, 2000), 12))
    drawn = {name: [rng.choice(values) for _ in range(rows)] for name in "AB"}
    zone = [rng.choice("AB") for _ in range(rows)]
    for at in rng.sample(range(rows), 14):
        zone[at] = "D"
        for column in drawn.values():
            column[at] = rng.choice(values) - rng.randint(1, 60)
    return pa.table({**drawn, "Zone": zone})


@pytest.mark.parametrize("search", ["greedy", "thorough"])
@pytest.mark.parametrize(
    "seeds", some_or_many((1, 4, 7, 116), (22, 27, 78, 80, 86, 96, 126), range(200, 260))
)
def test_who_is_left_out_does_not_depend_on_what_is_printed(
    seeds: Sequence[int], search: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Borders shift when neighbours are left out; the way that the search goes does not.

    By printed labels, searches of most of these tables would not have found their way; by printed
    borders, that of 116 would have left out others.
    """
    monkeypatch.setattr(ROUNDS, 4)
    left_out = 0
    for seed in seeds:
        said: dict[str, Any] = {
            "suppress_records": 0.05,
            "order": "input",
            "attributes": {
                "A": {"mask": "discretize"},
                "B": {"mask": "discretize"},
                "Zone": {"mask": "generalize", "taxonomy": {"ANY": list("ABD")}},
            },
            "anonymity": [{"over": ["A", "B", "Zone"], "k": 6}],
            "goal": {"search": search, "utility": ["distortion", "discernibility"][seed % 2]},
        }
        exact, found = (reticent.release(rare_people(seed), policy) for policy in both(said))
        assert check_same(exact, found)
        check_borders(found)
        assert reticent.verify(found.table, found.prepared.policy).holds
        left_out += found.left_out is not None
    assert left_out


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_engines_write_the_same_bytes(suffix: str, tmp_path: Path) -> None:
    data = tmp_path / f"people{suffix}"
    if suffix == ".csv":
        write_csv(people(1), data)
    else:
        pq.write_table(people(1), data)
    out = {engine: tmp_path / f"{engine}{suffix}" for engine in ("memory", "duckdb")}
    for engine, path in out.items():
        reticent.release(data, rules(), output=path, engine=engine)
    assert out["memory"].read_bytes() == out["duckdb"].read_bytes()
    assert reticent.verify(out["duckdb"], rules()).holds


def applied(folder: Path, table: pa.Table) -> pa.Table:
    """Rows masked as a release in a folder masks them."""
    path = folder / "later.parquet"
    reticent.apply(folder / "out", table, output=path, force=True)
    return pq.read_table(path)


def test_later_rows_go_by_what_is_printed(tmp_path: Path) -> None:
    """The original's own rows come out as they were released; new ones as a reader would say."""
    table = people(2)
    found = reticent.release(table, rules(order="input"))
    reticent.release(table, rules(order="input"), output=f"{tmp_path}/out/")
    again = applied(tmp_path, table)
    for name in ("Age", "Born"):
        assert again.column(name).to_pylist() == found.table.column(name).to_pylist()
    kept = json.loads((tmp_path / "out" / "private" / "recoding.json").read_text())
    intervals = kept["columns"]["Age"]["intervals"]
    [left] = [name for _, high, _, name in intervals if high == 40]  # between 37.2 and 44.9
    [right] = [name for low, _, _, name in intervals if low == 40]
    new = table.slice(0, 3).set_column(0, "Age", pa.array([39.9, 40.0, 42.0]))
    assert applied(tmp_path, new).column("Age").to_pylist() == [left, right, right]


def test_a_release_with_rounded_borders_can_be_an_earlier_one(tmp_path: Path) -> None:
    """Its intervals hold all values of the people in them, so each still meets its own."""
    table = people(3)
    first = reticent.release(
        table.select(["Age", "Born"]),
        Policy.model_validate(
            {
                "attributes": {"Age": {"mask": "discretize", "round": True}},
                "anonymity": [{"over": ["Age", "Born"], "k": 20}],
            }
        ),
        output=tmp_path / "first.csv",
    )
    assert any("40" in label for label in first.cuts["Age"])
    policy = Policy.model_validate(
        {
            "keep": ["Class"],
            "attributes": {"Age": {"intervals": [0, 20, 35, 40, 45, 60, 100]}},
            "previous": {"first": {"path": str(tmp_path / "first.csv")}},
            "anonymity": [{"over": ["Age", "first.Age", "first.Born"], "k": 4}],
        }
    )
    found = reticent.release(table.select(["Age", "Class"]), policy)
    assert reticent.verify(found.table, policy).holds


def test_ends_stay_what_they_are() -> None:
    """The smallest and the largest value, or the range of the policy."""
    table = pa.table({"Age": [18.3, 18.3, 37.2, 44.9, 88.7, 88.7]})
    for limits, wanted in ((None, ["[18.3,40)", "[40,88.7]"]), ([0, 120], ["[0,40)", "[40,120]"])):
        age = {"mask": "discretize", "round": True, "range": limits}
        said = {"attributes": {"Age": age}, "anonymity": [{"over": ["Age"], "k": 3}]}
        assert reticent.release(table, Policy.model_validate(said)).cuts["Age"] == wanted


def test_a_search_beside_a_release_prints_the_same() -> None:
    """What `evaluate` and the Masker learn is what a release would show."""
    from reticent.progress import Watch
    from reticent.tables.prepare import prepare

    table = people(4)
    prepared = prepare(arrival.read(table)[0], rules())
    beside = find_leaving_out(prepared, Watch())[1].recodings
    assert beside == reticent.release(table, rules()).recodings
