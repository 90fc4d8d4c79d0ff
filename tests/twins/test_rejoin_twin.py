"""Joins with earlier releases counted the fast way, against the plain join of small tables."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from at_hand import some_or_many
from reticent.errors import InputError
from reticent.privacy import rejoin_fast
from reticent.privacy.promises import Anonymity, Confidence, Promise
from reticent.privacy.rejoin import Meeting, PublishedRelease, Rejoined
from reticent.privacy.rejoin_fast import FastJoin

LINKS = {
    "J": ["a", "b", "c", "*", ""],
    "A": ["any", "x", "x1", "x2", "y", "*", ""],
    "N": ["[0,5)", "[5,10]", "[0,10]", "7", "*", ""],
}
OURS = LINKS | {"Q": ["q", "r"], "S": ["s", "t", ""], "P": ["p1", "p2", "p3", ""]}
THEIRS = LINKS | {"Z": ["1", "2", "3"], "T": ["s", "u", ""], "R": ["r1", "r2", ""]}
PARENTS = {"any": "any", "x": "any", "y": "any", "x1": "x", "x2": "x"}
Rows = list[dict[str, str]]


def rows_of(rng: random.Random, columns: Mapping[str, Sequence[str]], most: int) -> Rows:
    """Rows of few values: many are equal, and many groups alike."""
    few = {name: rng.sample(cells, min(rng.randint(1, 3), len(cells)))
           for name, cells in columns.items()}  # fmt: skip
    return [
        {name: rng.choice(cells) for name, cells in few.items()}
        for _ in range(rng.randint(1, most))
    ]


def cells_of(rows: Rows, names: Sequence[str]) -> pa.Table:
    return pa.table({name: pa.array([row[name] for row in rows], pa.string()) for name in names})


def beside(
    database: Any, rows: Rows, earlier: Mapping[str, Rows], links: Sequence[str],
    inconsistent: tuple[dict[str, str], ...], people: frozenset[str] = frozenset(),
) -> Rejoined:  # fmt: skip
    """A table beside earlier ones, as the verifier has it once it has read both."""
    column = {name: f"c{i}" for i, name in enumerate(OURS) if name not in people}
    database.register("given", cells_of(rows, list(column)).rename_columns(list(column.values())))
    database.execute("CREATE OR REPLACE TEMP TABLE counted AS "
                     "SELECT *, count(*) AS n FROM given GROUP BY ALL")  # fmt: skip
    database.unregister("given")
    releases = {
        name: PublishedRelease(tuple(THEIRS), partial(cells_of, old, list(THEIRS)),
                               (*links, "Z"), "*")
        for name, old in earlier.items()
    }  # fmt: skip
    meeting = Meeting(
        releases, (*links, "Q"), {"A": PARENTS}, {"N": False}, inconsistent=inconsistent
    )
    return Rejoined(database, meeting, column, people, [""], "*")


def counted(join: Rejoined | FastJoin, promise: Promise) -> list[tuple[Any, int, int]]:
    if isinstance(promise, Anonymity):
        return [join.smallest(promise)]
    return [join.largest(promise, name) for name in promise.sensitive]


def random_promise(rng: random.Random, releases: Sequence[str]) -> Promise:
    names = [*OURS, *(f"{name}.{column}" for name in releases for column in THEIRS)]
    over = [*rng.sample(names, rng.choice([0, 0, 0, 1, 2])), "old.Z"]  # at least one of theirs
    if rng.random() < 0.5:
        of = rng.choice([(), (), (), ("P",), ("P", "S"), ("old.R",), ("P", "old.R")])
        return Anonymity(over=tuple(over), k=rng.choice([2, 4, 8]), of=of).among(releases)
    listed = [("s",), ("t", "u"), "*", "*"]
    sensitive = {
        name: rng.choice(listed) for name in rng.choice(["S", "S", ("old.T",), ("S", "old.T")])
    }
    share = Fraction(rng.randint(1, 2), 2)
    return Confidence(over=tuple(over), sensitive=sensitive, at_most=share).among(releases)  # type: ignore[arg-type]


@pytest.mark.parametrize("most_people", some_or_many(10_000, 0))
def test_the_fast_path_finds_what_the_plain_join_finds(
    most_people: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rejoin_fast, "MOST_PEOPLE", most_people)
    rng, made = random.Random(most_people), 0
    with duckdb.connect(config={"threads": 1}) as database:
        for _ in range(60):
            names = ["old", "older"][: rng.choice([1, 1, 1, 2])]
            earlier = {name: rows_of(rng, THEIRS, 20) for name in names}
            rows = rows_of(rng, OURS, 6)
            if rng.random() < 0.5:  # everybody stands in one row
                rows = [{**row, "P": f"p{i}"} for i, row in enumerate(rows)]
            links = rng.choice([[], ["J"], ["J"], ["J"], rng.sample([*LINKS], 2), [*LINKS]])
            pairs = rng.choice([(), ({"Q": "q", "Z": "1"},)])
            promise = random_promise(rng, [*earlier])
            plain = beside(database, rows, earlier, links, pairs)
            try:
                fast = FastJoin(plain, promise)
            except InputError:  # nobody can be anybody
                continue
            made += 1
            expected = counted(plain, promise)
            assert plain.ask("SELECT count(*) FROM joined") == [(fast.pairs,)]
            assert counted(fast, promise) == expected
            people = {row["P"] for row in rows} - {""}
            if len(people) == len(rows) and "P" not in promise.over:
                known = beside(database, rows, earlier, links, pairs, frozenset({"P"}))
                assert counted(FastJoin(known, promise), promise) == expected
    assert made > 30
