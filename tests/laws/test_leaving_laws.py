"""What is true of every release that may leave out a few records."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import reticent
from at_hand import some_or_many
from naive.cases import Case, random_case
from naive.product import is_feasible, policy_of, table_of
from naive.refine import Anon, Labels, Row, groups
from reticent import Policy, Release, Unsatisfiable
from reticent.privacy.rejoin import Meeting
from reticent.progress import Watch
from reticent.refine.measures import LeavingOut
from reticent.sources.arrival import read
from reticent.tables.prepare import Prepared, part_of, prepare
from reticent.tables.report import riskiest
from reticent.tables.search.greedy import Search
from reticent.tables.search.judge import Judge
from reticent.tables.search.rare import _shown, find_leaving_out, stragglers
from reticent.tables.search.thorough import find

ROUNDS = "reticent.tables.search.thorough._ROUNDS"


def said(case: Case, search: str = "greedy", **more: Any) -> Policy:
    goal = {"utility": case.utility, "score": case.score, "search": search}
    return policy_of(case.attrs, case.templates, cls=case.cls, goal=goal, **more)


def prepared_of(case: Case, **more: Any) -> Prepared:
    return prepare(read(table_of(case.rows, case.attrs))[0], said(case, **more))


def anonymity(case: Case) -> list[Anon]:
    return [t for t in case.templates if isinstance(t, Anon)]


def cases(seeds: range) -> Iterator[tuple[Case, random.Random]]:
    """Random cases that some release can satisfy, with at least one promise of anonymity."""
    for seed in seeds:
        rng = random.Random(seed)
        case = replace(random_case(rng), score=rng.choice(["paper", "conditional"]))
        if is_feasible(case) and anonymity(case):
            yield case, rng


# --- the twin -------------------------------------------------------------------------------------


def people(template: Anon, group: list[Row]) -> int:
    if not template.of:
        return len(group)
    return sum(None not in p for p in {tuple(row[name] for name in template.of) for row in group})


def lost(template: Anon, rows: list[Row], labels: list[Labels]) -> int:
    """How many records are in groups that are too small."""
    found = groups(rows, labels, template.over)
    return sum(len(group) for group in found if people(template, group) < template.k)


def labels_now(search: Search) -> list[Labels]:
    """What every record shows, as the cuts say; labels only need to be equal or not."""
    shown = []
    for attribute, domain in enumerate(search.cuts.domains):
        position, _ = search.cuts.labels(attribute)
        shown.append((domain.name, position[domain.codes].tolist()))
    rows = range(len(search.cuts.domains[0].codes))
    return [{name: str(column[row]) for name, column in shown} for row in rows]


def compare_lost(case: Case, most: int, rng: random.Random) -> int:
    """Walk at random, and recount what each candidate would lose at every step."""
    prepared = prepared_of(case)
    search = Search(prepared, may_lose=most)
    search.begin(Watch())
    [leaving] = [m for m in search.measures if isinstance(m, LeavingOut)]
    templates = [
        next(t for t in anonymity(case) if same(t, measured.promise))
        for measured in leaving.measures
    ]
    seen = 0

    def choose(slots: Any, scores: Any) -> int | None:
        nonlocal seen
        now = labels_now(search)
        gone = [lost(t, case.rows, now) for t in templates]
        assert leaving.gone == sum(gone) <= most
        assert leaving.valid(slots).all()
        for slot in slots.tolist():
            then = search.copy()
            then.cuts.perform(then.cuts.aimed(slot))
            after = labels_now(then)
            wanted = [
                lost(t, case.rows, after) - before
                for t, before in zip(templates, gone, strict=True)
            ]
            assert [int(counts[slot]) for counts in leaving.lost] == wanted
            seen += any(wanted)
        return rng.randrange(len(slots)) if len(slots) else None

    search.run(Watch(), choose=choose)
    now = labels_now(search)
    assert leaving.gone == sum(lost(t, case.rows, now) for t in templates) <= most
    return seen


def same(template: Anon, promise: Any) -> bool:
    return (
        set(template.over) == set(promise.over)
        and set(template.of) == set(promise.of)
        and template.k == promise.k
    )


@pytest.mark.parametrize(
    "seeds", some_or_many(range(30_000, 30_060), range(31_000, 31_200), range(31_200, 31_400))
)
def test_what_candidates_lose_equals_the_twin(seeds: range) -> None:
    seen = [
        compare_lost(case, rng.choice([1, 2, 4, len(case.rows) // 2 or 1]), rng)
        for case, rng in cases(seeds)
    ]
    assert sum(found > 0 for found in seen) > 10


# --- who is left out ------------------------------------------------------------------------------


def left_naively(case: Case, labels: list[Labels]) -> list[bool]:
    """Leave out whoever's group is too small, one group at a time, until none is."""
    stay = list(range(len(case.rows)))
    while True:
        for template in anonymity(case):
            there: dict[Any, list[int]] = {}
            for i in stay:
                there.setdefault(tuple(labels[i][n] for n in template.over), []).append(i)
            small = next(
                (
                    g
                    for g in there.values()
                    if people(template, [case.rows[i] for i in g]) < template.k
                ),
                None,
            )
            if small:
                stay = [i for i in stay if i not in small]
                break
        else:
            return [i not in stay for i in range(len(case.rows))]


def test_stragglers_are_the_fewest_that_must_go() -> None:
    some = 0
    for case, rng in cases(range(33_000, 33_080)):
        prepared = prepared_of(case)
        most = rng.randint(1, max(len(case.rows) // 2, 1))
        relaxed = find(prepared, Watch(), may_lose=most)
        search = Search(prepared)
        shown = [
            (domain.name, leaves[domain.codes].tolist())
            for domain, leaves in zip(search.cuts.domains, relaxed.shown, strict=True)
        ]
        labels = [{n: str(column[i]) for n, column in shown} for i in range(len(case.rows))]
        out = stragglers(prepared, relaxed)
        assert out.tolist() == left_naively(case, labels)
        some += bool(out.any())
    assert some > 10


# --- the release ----------------------------------------------------------------------------------


def obey(case: Case, rng: random.Random, search: str) -> bool:
    """All laws of one case; says whether anybody was left out."""
    share = rng.choice(["1/20", "1/10", "1/5", "2/5", "1/2"])
    policy = said(case, search, order="sorted", suppress_records=share)
    table = table_of(case.rows, case.attrs)
    found = reticent.release(table, policy)
    allowed = int(policy.suppress_records * len(case.rows))
    count = found.left_out.count if found.left_out else 0
    assert 0 <= count <= allowed
    assert found.table.num_rows == len(case.rows) - count
    assert found.left_out is None or count > 0
    proof = reticent.verify(found.table, policy)
    assert found.proof.holds
    assert proof.holds
    assert not proof.leftovers
    assert_some_rows_masked(found, case)
    shuffled = table_of(rng.sample(case.rows, len(case.rows)), case.attrs)
    again = reticent.release(shuffled, policy)
    assert again.table.equals(found.table)
    assert [replace(s, slot=-1) for s in again.steps] == [replace(s, slot=-1) for s in found.steps]
    if found.left_out is None:
        everybody = reticent.release(table, said(case, search, order="sorted"))
        assert everybody.table.equals(found.table)
    return bool(count)


def assert_some_rows_masked(found: Release, case: Case) -> None:
    """The released rows are those of the original that stayed, masked, and no others."""
    out = found.left_out.rows if found.left_out else np.zeros(len(case.rows), dtype=bool)
    stay = [row for row, left in zip(case.rows, out, strict=True) if not left]
    table = read(table_of(stay, case.attrs))[0]
    cells = {
        name: found.recodings[name].apply(column)[0].cells()
        if name in found.recodings
        else column.cells()
        for name, column in table.columns.items()
    }
    expected = pa.table(cells).select(found.table.column_names)
    assert rows_of(expected) == rows_of(found.table)


def rows_of(table: pa.Table) -> Counter[tuple[str, ...]]:
    columns = [[str(cell or "") for cell in column.to_pylist()] for column in table.columns]
    return Counter(zip(*columns, strict=True))


@pytest.mark.parametrize("search", ["greedy", "thorough"])
def test_laws(search: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ROUNDS, 4)
    assert sum(obey(case, rng, search) for case, rng in cases(range(34_010, 34_018)))


@pytest.mark.slow
@pytest.mark.parametrize("search", ["greedy", "thorough"])
@pytest.mark.parametrize("seed", range(35_000, 35_050, 50))
def test_laws_on_many_more(search: str, seed: int) -> None:
    assert sum(obey(case, rng, search) for case, rng in cases(range(seed, seed + 50)))


# --- a larger table with rare persons -------------------------------------------------------------


@cache
def clinic(rows: int = 600) -> pa.Table:
    """Jobs and towns tell the illness; a few people have jobs and towns that nobody shares."""
    rng = np.random.default_rng(11)
    job = rng.choice(["cook", "clerk", "nurse"], rows).astype(object)
    town = rng.choice(["north", "south"], rows).astype(object)
    chance = np.where(job == "cook", 0.9, 0.1) * np.where(town == "north", 1, 0.5)
    ill = np.where(rng.random(rows) < chance, "yes", "no")
    job[:5] = ["pilot", "judge", "smith", "miner", "baker"]
    town[5:8] = ["isle", "fort", "isle"]
    order = rng.permutation(rows)
    person = [f"p{i // 2}" for i in range(rows)]  # everybody comes twice
    columns = {"Job": job, "Town": town, "Ill": ill, "Person": np.array(person)}
    columns["Ward"] = rng.choice(["a", "b", "c"], rows)
    columns["Ward"][:8] = "b"  # so that nobody rare is sure to be in ward a
    return pa.table({name: column[order].tolist() for name, column in columns.items()})


def ranks(names: list[str], table: pa.Table) -> dict[str, Any]:
    """Flat taxonomies: all of a column's values are shown, or none."""
    values = {name: sorted(set(table.column(name).to_pylist())) for name in names}
    return {
        name: {"mask": "generalize", "taxonomy": {name: {v: {} for v in values[name]}}}
        for name in names
    }


def rules(share: Any = 0.02, **more: Any) -> Policy:
    given: dict[str, Any] = {
        "class": "Ill",
        "drop": ["Person"],
        "keep": ["Ward"],
        "suppress_records": share,
        "attributes": ranks(["Job", "Town"], clinic()),
        "anonymity": [{"over": ["Job", "Town"], "k": 10}],
        "goal": {"score": "conditional", "search": "thorough"},
    }
    return Policy.model_validate(given | more)


PROMISES: dict[str, dict[str, Any]] = {
    "one": {},
    # Who is in small groups of both counts twice while it is searched, so more must be allowed.
    "two": {
        "suppress_records": 0.03,
        "anonymity": [{"over": ["Job"], "k": 20}, {"over": ["Job", "Town"], "k": 5}],
    },
    "apart": {"anonymity": [{"over": ["Job"], "k": 20}, {"over": ["Town"], "k": 30}]},
    "persons": {"anonymity": [{"over": ["Job", "Town"], "k": 8, "of": ["Person"]}]},
    "both": {
        "anonymity": [
            {"over": ["Job", "Town"], "k": 8, "of": ["Person"]},
            {"over": ["Town"], "k": 20},
        ]
    },
    "confidence": {
        "keep": [],
        "confidence": [{"over": ["Job", "Town"], "sensitive": {"Ward": ["a"]}, "at_most": 0.6}],
    },
}
UTILITIES = ["classification", "distortion", "discernibility"]


@pytest.mark.parametrize("promises", PROMISES)
@pytest.mark.parametrize("utility", UTILITIES)
def test_rare_people_are_left_out_and_the_others_keep_all_promises(
    promises: str, utility: str
) -> None:
    goal = {"score": "conditional", "search": "greedy", "utility": utility}
    policy = rules(**{"goal": goal, **PROMISES[promises]})
    found = reticent.release(clinic(), policy)
    assert found.left_out is not None
    assert found.left_out.count == 8
    assert found.proof.holds
    assert not found.proof.unchecked
    assert reticent.verify(found.table, policy).holds
    assert {"pilot", "judge", "isle"}.isdisjoint(
        {*found.table.column("Job").to_pylist(), *found.table.column("Town").to_pylist()}
    )
    assert set(found.cuts["Job"]) == {"cook", "clerk", "nurse"}
    assert set(found.cuts["Town"]) == {"north", "south"}


def test_row_order_does_not_matter_for_who_is_left_out() -> None:
    found = reticent.release(clinic(), rules())
    order = np.random.default_rng(3).permutation(clinic().num_rows)
    again = reticent.release(clinic().take(pa.array(order)), rules())
    assert again.table.equals(found.table)
    assert found.left_out is not None
    assert again.left_out is not None
    assert np.array_equal(again.left_out.rows, found.left_out.rows[order])


@pytest.mark.parametrize("share", [0, "1/601", 0.003, "1/300"])
def test_nobody_is_left_out_if_so_many_may_not_be(share: Any) -> None:
    found = reticent.release(clinic(), rules(share))
    assert found.left_out is None
    assert found.table.equals(reticent.release(clinic(), rules(0)).table)


def test_exactly_as_many_as_may_be_are_left_out() -> None:
    """0.29 of 100 is 29, though as floating-point numbers it is a little less."""
    found = reticent.release(clinic(), rules("8/600"))
    assert found.left_out is not None
    assert found.left_out.count == 8
    table = pa.table({"Job": ["cook"] * 71 + [f"rare{i}" for i in range(29)]})
    given = {
        "attributes": ranks(["Job"], table),
        "suppress_records": 0.29,
        "anonymity": [{"over": ["Job"], "k": 2}],
        "goal": {"search": "greedy"},
    }
    found = reticent.release(table, given)
    assert found.left_out is not None
    assert found.left_out.count == 29


def test_nobody_is_left_out_if_nothing_is_gained() -> None:
    """A class that nothing tells gives no reason to leave anybody out."""
    blind = clinic().set_column(2, "Ill", pa.array(["yes", "no"] * 300))
    found = reticent.release(blind, rules())
    assert found.left_out is None
    assert found.table.num_rows == 600


def test_nobody_is_left_out_for_the_sake_of_a_confidence() -> None:
    confidence = [{"over": ["Job", "Town"], "sensitive": {"Ward": "*"}, "at_most": 0.6}]
    policy = rules(anonymity=[], confidence=confidence, keep=[])
    assert reticent.release(clinic(), policy).left_out is None


def test_who_stops_early_leaves_nobody_out() -> None:
    for more in ({"max_steps": 1}, {"time_limit": 0}, {"watch": Watch(stop=lambda: True)}):
        found = reticent.release(clinic(), rules(), **more)
        assert found.left_out is None
        assert reticent.verify(found.table, rules()).holds


@pytest.mark.parametrize("calls", [1, 5, 12, 30, 60, 100])
def test_stopping_at_any_moment_gives_a_release(calls: int) -> None:
    asked = iter(range(10**9))
    found = reticent.release(clinic(), rules(), watch=Watch(stop=lambda: next(asked) >= calls))
    assert reticent.verify(found.table, rules()).holds
    assert found.table.num_rows >= 588


def test_infeasible_promises_stay_infeasible() -> None:
    with pytest.raises(Unsatisfiable):
        reticent.release(clinic(), rules(0.5, anonymity=[{"over": ["Job", "Town"], "k": 601}]))


def test_records_that_miss_a_value_are_no_part_of_the_share() -> None:
    """With `missing = "drop"` the share is one of the records that are there to be released."""
    job = [None if i % 6 == 0 else v for i, v in enumerate(clinic().column("Job").to_pylist())]
    table = clinic().set_column(0, "Job", pa.array(job))
    policy = rules("1/50", missing="drop")
    found = reticent.release(table, policy)
    assert found.left_out is not None
    assert found.left_out.count <= 10
    assert found.table.num_rows == 500 - found.left_out.count
    assert found.prepared.rows_in == 600
    assert reticent.verify(found.table, policy).holds


def test_a_column_may_look_different_without_those_left_out() -> None:
    """Without its only text a column holds numbers, and without its extremes a narrower range."""
    rng = np.random.default_rng(4)
    age = [str(a) for a in rng.integers(20, 30, 400)]
    table = pa.table({"Age": ["old", "9999", *age[2:]], "Sex": rng.choice(["m", "f"], 400)})
    policy = Policy.model_validate(
        {
            "suppress_records": "1/100",
            "anonymity": [{"over": ["Age", "Sex"], "k": 5}],
            "goal": {"search": "greedy"},
        }
    )
    found = reticent.release(table, policy)
    assert reticent.verify(found.table, policy).holds
    assert "9999" not in str(found.cuts)


def test_the_riskiest_groups_are_those_of_everybody(tmp_path: Path) -> None:
    """Codes of the whole table are read in the whole table: those left out are the riskiest."""
    found = reticent.release(clinic(), rules())
    worst = riskiest(found)[0]["worst_groups"]
    jobs, towns = (clinic().column(name).to_pylist() for name in ("Job", "Town"))
    for group in worst:
        there = zip(jobs, towns, strict=True)
        assert (
            sum((j, t) == (group["group"]["Job"], group["group"]["Town"]) for j, t in there)
            == (group["value"])
        )
    path = tmp_path / "clinic.csv"
    csv.write_csv(clinic(), path)
    reticent.release(path, rules(), output=tmp_path / "out")
    assert reticent.verify(tmp_path / "out", rules()).holds


def numbers_that_tell(seed: int, rows: int = 6_000) -> pa.Table:
    """Zones and gains tell the class; a few from one zone keep all zones hidden.

    Nobody said a range, and some of those few hold the ends of it.
    """
    rng = np.random.default_rng(seed)
    zone = rng.choice(["A", "B", "C"], rows)
    gain = np.where(rng.random(rows) < 0.2, rng.integers(5_000, 90_000, rows), 0)
    likely = np.where(zone == "A", 0.85, 0.1) + np.where(gain > 0, 0.1, 0)
    rare = rng.permutation(rows)[:40]
    zone[rare] = "D"
    gain[rare[:10]] = rng.integers(95_000, 99_000, 10)
    told = np.where(rng.random(rows) < likely, "yes", "no")
    return pa.table({"Gain": gain, "Zone": zone, "Told": told})


@pytest.mark.parametrize("seed", range(4))
def test_the_cut_released_is_the_one_that_was_judged(seed: int) -> None:
    said = {
        "class": "Told",
        "suppress_records": "0.03",
        "attributes": {
            "Zone": {"mask": "generalize", "taxonomy": {"ANY": ["A", "B", "C", "D"]}},
            "Gain": {"mask": "discretize"},
        },
        "anonymity": [{"over": ["Gain", "Zone"], "k": 60}],
    }
    everybody = prepare(read(numbers_that_tell(seed))[0], Policy.from_data(said))
    rest, found, left_out = find_leaving_out(everybody, Watch())
    assert left_out is not None
    shown = _shown(everybody, found, read=True)
    assert shown is not None
    judge = Judge(everybody)
    assert found.error == judge.wrong(shown, left_out.rows).mean()
    assert found.error < judge.wrong(find(everybody, Watch()).shown).mean() - 0.05
    assert rest.table.rows == everybody.table.rows - left_out.count


# --- what is true of the whole --------------------------------------------------------------------


@pytest.mark.parametrize("share", [0, 0.02], ids=["everybody", "without a few"])
@pytest.mark.parametrize("utility", UTILITIES)
def test_whoever_is_left_out_the_steward_hears_the_same(
    utility: str, share: float, tmp_path: Path
) -> None:
    """Of releases beside this one, of those declared, and of what the policy leaves open."""
    reticent.release(clinic(), rules(0), output=tmp_path / "beside")
    pq.write_table(pa.table({"Shoe": ["38", "39"]}), tmp_path / "old.parquet")
    goal = {"score": "conditional", "search": "greedy", "utility": utility}
    old = {"old": {"path": str(tmp_path / "old.parquet")}}
    found = reticent.release(
        clinic(), rules(share, goal=goal, previous=old), output=tmp_path / "out"
    )
    assert bool(found.left_out) == bool(share)
    declared, beside = found.summary()["warnings"]
    assert "release old is declared, but no template names a column of it" in declared
    assert "the release beside stands beside this one" in beside
    assert found.prepared.table.notes == ()


def test_a_part_of_a_table_differs_from_the_whole_by_its_rows_alone() -> None:
    whole = replace(
        prepare(read(clinic())[0], rules()), asides=("a",), odd=("o",), meeting=Meeting()
    )
    part = part_of(whole, np.arange(600) >= 8)
    differ = {
        f.name for f in fields(Prepared) if getattr(part, f.name) is not getattr(whole, f.name)
    }
    assert differ == {"table", "cleaned", "domains"}


def test_whom_unmasked_columns_single_out_is_counted_on_the_rows_that_are_released() -> None:
    shoe = pa.array([f"s{max(i, 65)}" for i in range(600)])
    table = clinic().append_column("Shoe", shoe)
    for share in (0, 0.02):
        found = reticent.release(table, rules(share, keep=["Ward", "Shoe"]))
        told = found.summary()["singled_out"]["unmasked"]
        rows = zip(*(found.table.column(name).to_pylist() for name in told["columns"]), strict=True)
        assert told["records"] == sum(count == 1 for count in Counter(rows).values())
        assert found.table.num_rows < 600 or not share
