"""Engines of several owners, each with columns of its own, against one engine over all columns.

Owners go in lock-step over a channel in memory: each says the key of its best candidate, the
largest wins, ties go to the owner listed first, and the winner tells which records go where. Keys
are said openly here; that nobody needs to hear them is the business of `reticent.parties`.
"""

from __future__ import annotations

import io
import random
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from queue import Queue
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import reticent
from naive.cases import Case, random_case
from naive.product import case_policy, is_feasible, table_of
from naive.refine import Anon, Attr
from reticent import Release, Unsatisfiable
from reticent.data.keys import key
from reticent.progress import Watch
from reticent.refine.cuts import Cuts
from reticent.refine.engine import Choice, highest_score
from reticent.refine.foreign import ForeignColumn, NoPartition, Partition
from reticent.sources.arrival import read
from reticent.tables.prepare import Prepared, prepare
from reticent.tables.search.greedy import Search

PATIENCE = 120  # seconds; a hang is what it ends, not a busy machine that still compiles


class Channel:
    """What each owner has said to each other one, in order."""

    def __init__(self, owners: int) -> None:
        self.owners = range(owners)
        self.said: dict[tuple[int, int], Queue[Any]] = {
            (a, b): Queue() for a in self.owners for b in self.owners
        }

    def send(self, me: int, words: Any) -> None:
        for other in self.owners:
            if other != me:
                self.said[me, other].put(words)

    def receive(self, me: int, of: int) -> Any:
        return self.said[of, me].get(timeout=PATIENCE)


@dataclass
class Owner:
    """One engine, and what its owner says and hears."""

    number: int
    search: Search
    channel: Channel
    heard: list[Partition] = field(default_factory=list)
    played: list[int] = field(default_factory=list)

    def choose(self, slots: Any, scores: Any) -> Choice:
        best = highest_score(slots, scores)
        mine = 0 if best is None else int(key(scores[best])) + 1
        self.played.append(mine)
        self.channel.send(self.number, mine)
        keys = [
            mine if owner == self.number else self.channel.receive(self.number, owner)
            for owner in self.channel.owners
        ]
        winner = keys.index(max(keys))
        if not keys[winner]:
            return None
        if winner == self.number:
            self.channel.send(self.number, self.search.cuts.telling(int(slots[best])))
            return best
        self.heard.append(self.channel.receive(self.number, winner))
        return self.heard[-1]

    def run(self) -> None:
        self.search.begin(Watch())
        assert not self.search.run(Watch(), choose=self.choose)


def owners_of(prepared: Prepared, division: Sequence[Sequence[str]]) -> list[Owner]:
    """An engine for each owner: its own columns encoded, the names of all others."""
    channel = Channel(len(division))
    owners = []
    for number, names in enumerate(division):
        own = tuple(domain for domain in prepared.domains if domain.name in names)
        foreign = [domain.name for domain in prepared.domains if domain.name not in names]
        search = Search(replace(prepared, domains=own), foreign=foreign)
        owners.append(Owner(number, search, channel))
    return owners


def divided(rng: random.Random, names: Sequence[str], owners: int) -> list[Sequence[str]]:
    """Runs of columns, as tie order wants it; some owners may have none."""
    borders = sorted(rng.choices(range(len(names) + 1), k=owners - 1))
    return [names[a:b] for a, b in zip([0, *borders], [*borders, len(names)], strict=True)]


def together(owners: Iterable[Owner]) -> None:
    """Let all owners run beside each other; the first failure is the one that is told."""
    with ThreadPoolExecutor(8) as pool:
        for running in [pool.submit(owner.run) for owner in owners]:
            running.result(timeout=PATIENCE)


def prepared_case(case: Case) -> tuple[Prepared, pa.Table]:
    table = table_of(case.rows, case.attrs)
    return prepare(read(table)[0], case_policy(case)), table


def compare(case: Case, divisions: Iterable[Sequence[Sequence[str]]]) -> list[Owner]:
    """Run one engine and several, for each division of columns; returns the last owners."""
    prepared, table = prepared_case(case)
    feasible = is_feasible(case)
    alone = reticent.release(table, case_policy(case, order="input")) if feasible else None
    for division in divisions:
        owners = owners_of(prepared, division)
        if alone is None:
            for owner in owners:
                with pytest.raises(Unsatisfiable):
                    owner.search.begin(Watch())
            continue
        together(owners)
        joint = {joint_csv(owner, owners, alone) for owner in owners}
        assert joint == {csv_of(alone.table)}
        for owner in owners:
            same_steps(owner, alone)
            same_stops(owner, alone)
    if alone is not None:
        assert reticent.verify(alone.table, case_policy(case)).holds
    return owners


def same_steps(owner: Owner, alone: Release) -> None:
    """Each owner's trace is that of the one engine; of others' steps, as far as others know."""
    mine = {domain.name for domain in owner.search.cuts.domains}
    assert len(owner.search.steps) == len(alone.steps)
    for step, expected in zip(owner.search.steps, alone.steps, strict=True):
        assert (step.number, step.attribute) == (expected.number, expected.attribute)
        assert step.values == expected.values
        if step.attribute in mine:
            hides = replace(expected, slot=step.slot, parts=step.parts)
            assert step == hides
        else:
            assert set(step.into) <= set(expected.into)
            assert step.value in (expected.value, "", "*")  # what it was, if others were told


def same_stops(owner: Owner, alone: Release) -> None:
    found = owner.search.found().limits
    mine = {domain.name for domain in owner.search.cuts.domains}
    assert list(found.stops()) == [s for s in alone.limits.stops() if s.attribute in mine]


def texts(shown: tuple[Any, Sequence[Any]]) -> list[Any]:
    """What each record shows."""
    position, labels = shown
    return [labels[i] for i in position.tolist()]


def view(owner: Owner, owners: Sequence[Owner]) -> dict[str, list[str]]:
    """What every record shows, as one owner sees it; labels of untouched columns come at the end."""
    cuts = owner.search.cuts
    shown = {domain.name: texts(cuts.by_record(i)) for i, domain in enumerate(cuts.domains)}
    for column in cuts.foreign:
        cells = texts(column.by_record())
        if None in cells:
            [label] = {
                text
                for other in owners
                for i, domain in enumerate(other.search.cuts.domains)
                if domain.name == column.name
                for text in texts(other.search.cuts.by_record(i))
            }
            assert {*cells} == {None}
            cells = [label] * len(cells)
        shown[column.name] = [text or "" for text in cells]
    return shown


def joint_csv(owner: Owner, owners: Sequence[Owner], alone: Release) -> bytes:
    """The joint table, as this owner would write it."""
    shown = view(owner, owners)
    joint = alone.table
    for position, name in enumerate(joint.column_names):
        if name in shown:
            kind = joint.schema.field(position).type
            cells = [None if text == "" else text for text in shown[name]]
            joint = joint.set_column(position, name, pa.array(cells, pa.string()).cast(kind))
    return csv_of(joint)


def csv_of(table: pa.Table) -> bytes:
    written = io.BytesIO()
    pyarrow.csv.write_csv(table, written)
    return written.getvalue()


def check(seeds: range, counts: Sequence[int], score: str) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        case = replace(random_case(rng), score=score)
        names = [attr.name for attr in case.attrs]
        compare(case, [divided(rng, names, count) for count in counts])


@pytest.mark.parametrize("seed", [0])
def test_owners_go_the_way_of_one_engine(seed: int) -> None:
    check(range(seed, seed + 20), [2, 3], "paper")


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed", [*range(20, 300, 20), *range(1000, 1120, 20), *range(1200, 1320, 20)]
)
def test_owners_go_the_way_of_one_engine_on_all_cases(seed: int) -> None:
    check(range(seed, seed + 20), [2, 3], "paper")


@pytest.mark.parametrize("seed", [10_000])
def test_owners_go_the_way_of_one_engine_given_all_that_is_shown(seed: int) -> None:
    check(range(seed, seed + 20), [2, 3], "conditional")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [*range(10_020, 10_160, 20), 5000, 5010, 6000, 6010, 7000, 7010])
def test_owners_go_the_way_of_one_engine_given_all_on_all_cases(seed: int) -> None:
    check(range(seed, seed + 20), [2, 3, 5], "conditional")


def test_two_threads_find_what_one_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reticent.refine.measures.TWO_THREADS", 0)
    check(range(5000, 5010), [2], "paper")
    check(range(5000, 5010), [2], "conditional")


@pytest.mark.slow
def test_more_records_than_two_bytes_count_keep_their_numbers() -> None:
    """Numbers of records then need wider cells than slots do."""
    rng = random.Random(7)
    records = 2**16 + 100
    jobs, ages = rng.choices("abcdef", k=records), [rng.randrange(8) for _ in range(records)]
    classes = ["yes" if age + ord(job) + rng.randrange(4) > 104 else "no"
               for job, age in zip(jobs, ages, strict=True)]  # fmt: skip
    rows = [dict(zip(("A", "B", "Class"), row, strict=True)) for row in zip(jobs, ages, classes, strict=True)]  # fmt: skip
    attrs = [Attr("A", "suppress"), Attr("B", "discretize", bounds=(0, 8))]
    case = Case(rows, attrs, [Anon(("A", "B"), 500)], "Class", "classification", "conditional")
    owners = compare(case, [[["A"], ["B"]]])
    assert len(owners[0].search.steps) > 3


def test_a_step_of_score_0_is_a_step() -> None:
    """A column that tells nothing about the class is revealed all the same, as in one table."""
    rows = [{"A": a, "B": b, "Class": c} for a in "xy" for b in "uv" for c in "01"]
    attrs = [Attr("A", "suppress"), Attr("B", "suppress")]
    case = Case(rows, attrs, [Anon(("A", "B"), 2)], "Class", "classification")
    first, second = compare(case, [[["A"], ["B"]]])
    assert first.played == [1, 1, 0, 0, 0]  # 0 for "no candidate", 1 for "one of score 0"
    assert second.played == [1, 1, 1, 1, 0]


def test_whoever_has_no_column_goes_along() -> None:
    rows = [{"A": a, "Class": c} for a, c in zip("xxxyyyzz", "00011101", strict=True)]
    case = Case(rows, [Attr("A", "suppress")], [Anon(("A",), 2)], "Class", "classification")
    first, second = compare(case, [[[], ["A"]]])
    assert {*first.played} == {0}
    assert first.search.steps
    assert [p.column for p in first.heard] == ["A"] * len(second.search.steps)


def told(**more: Any) -> Partition:
    given = {"column": "Job", "record": 1, "parts": np.array([0, 1, 0]), "labels": ("a", "b")}
    return Partition(**{**given, **more})


@pytest.mark.parametrize(
    ("partition", "why"),
    [
        (told(record=9), "does not exist"),
        (told(record=-1), "does not exist"),
        (told(record=3), "not its first"),
        (told(parts=np.array([0, 1])), "each record of the value once"),
        (told(parts=np.array([0, 1, 0, 1])), "each record of the value once"),
        (told(parts=np.array([0, 1, 2])), "a record without a part"),
        (told(parts=np.array([0, 0, 0])), "a part without a record"),
        (told(parts=np.array([-1, 0, 1])), "a record without a part"),
        (told(labels=("a", "a")), "one label"),
        (told(labels=("a", "first")), "the label of another value"),
        (told(column="Age"), "a column that others do not have"),
    ],
)
def test_what_is_no_partition_is_refused(partition: Partition, why: str) -> None:
    column = ForeignColumn("Job", 5)
    column.divide(Partition("Job", 0, np.array([0, 1, 0, 1, 1]), ("first", "rest")))
    before = texts(column.by_record())
    with pytest.raises(NoPartition, match=why):
        Cuts([], foreign=[column]).heard(partition)
    assert texts(column.by_record()) == before == ["first", "rest", "first", "rest", "rest"]
    assert Cuts([], foreign=[column]).heard(told()).into == ("a", "b")


def test_what_a_chooser_leaves_is_no_stop() -> None:
    """A search that is ended by agreement could have gone on, and says so."""
    case = random_case(random.Random(3))
    [owner] = owners_of(prepared_case(case)[0], [[attr.name for attr in case.attrs]])
    owner.search.begin(Watch())
    assert owner.search.run(Watch(), choose=lambda slots, scores: None)
    limits = owner.search.found().limits
    fates = [limits.fates(i) for i in range(len(owner.search.cuts.domains))]
    assert sum(len(fate["open"]) for fate in fates) > 0
