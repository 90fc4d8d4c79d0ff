"""The law of joint releases: what owners make together is what one owner would release alone.

Random cases are divided among two to four owners, who talk over the whole runtime in memory. At
every owner, the joint table must be, byte by byte, what `reticent release` writes for the joined
table under `JointPolicy.alone`.
"""

from __future__ import annotations

import csv
import datetime
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import reticent
from naive.cases import identity, random_case
from naive.product import policy_of, table_of
from naive.refine import Anon
from reticent.errors import InputError, Unsatisfiable
from reticent.files.sheets import sheet, write
from reticent.joint import verify
from reticent.joint.experiment import integrate, together
from reticent.joint.flow import JointTable, Wishes
from reticent.joint.policy import JointPolicy
from reticent.joint.publishing import recounted

ID = "ID"


@dataclass(frozen=True)
class JointCase:
    """A policy, what lies with whom, and the table that it comes to when somebody joins it."""

    policy: JointPolicy
    data: Mapping[str, Any]  # by owner: an Arrow table, or a path of a CSV file
    joined: pa.Table
    learnt: frozenset[str]  # columns whose intervals are found on the way
    traits: frozenset[str]  # what the case is about, so that a test can see it was there


def joint_case(rng: random.Random, folder: Path, owners: int) -> JointCase | None:
    """Divide a random case among owners; None where it leaves one of them alone."""
    case = random_case(rng)
    traits = {case.utility, f"{owners} owners"}
    score = rng.choice(["paper", "conditional"])
    templates = [
        replace(t, of=(ID,)) if isinstance(t, Anon) and t.of else t for t in case.templates
    ]
    templates = list({identity(t): t for t in templates}.values())
    table = table_of(case.rows, case.attrs)
    for name, cells in _typed(rng, table.num_rows).items():
        table = table.append_column(name, cells)
    ids = pa.array([f"p{n:03}" for n in range(table.num_rows)])
    masked = [attr.name for attr in case.attrs]
    borders = sorted(rng.choices(range(len(masked) + 1), k=owners - 1))
    parts = zip([0, *borders], [*borders, len(masked)], strict=True)
    columns = {f"o{n}": masked[a:b] for n, (a, b) in enumerate(parts)}
    rest = [name for name in table.column_names if name not in masked]
    for name in rest:
        several = name == case.cls and rng.random() < 0.4
        for owner in rng.sample([*columns], rng.randint(2, owners) if several else 1):
            columns[owner].insert(rng.randint(0, len(columns[owner])), name)
        traits |= {"class at several"} if several else set()
    columns = {owner: own for owner, own in columns.items() if own}
    if len(columns) < 2:
        return None
    traits |= {f"{len(columns)} owners", score}
    traits |= {"no masked"} if any(not {*own} & {*masked} for own in columns.values()) else set()
    traits |= {"of id"} if any(isinstance(t, Anon) and t.of for t in templates) else set()
    traits |= {attr.mask for attr in case.attrs}
    missing = rng.choice(["value", "value", "drop"])
    base = policy_of(case.attrs, templates, cls=case.cls)
    sensitive = {name for promise in base.confidence for name in promise.sensitive}
    policy = JointPolicy.from_data(
        {
            **base.model_dump(by_alias=True, exclude_defaults=True),
            "keep": [name for name in rest if name not in sensitive and name != case.cls],
            "missing": missing,
            "goal": {"utility": case.utility, "score": score},
            "id": ID,
            "owners": {owner: {"columns": own} for owner, own in columns.items()},
        }
    )
    traits |= {f"missing {missing}"} if any(c.null_count for c in table.columns) else set()
    whole = table.append_column(ID, ids)
    data = {}
    known = _known_to_some(rng, [*columns])
    traits |= {"strangers of several"} if known else set()
    for owner, own in columns.items():
        part = _with_strangers(rng, whole.select([ID, *own]), owner, known.get(owner, []))
        traits |= {"strangers"} if part.num_rows > whole.num_rows else set()
        data[owner] = _as_csv(part, folder / f"{owner}.csv") if rng.random() < 0.4 else part
        traits |= {"csv" if isinstance(data[owner], Path) else "arrow"}
    learnt = {a.name for a in case.attrs if a.mask == "discretize" and a.intervals is None}
    joined = whole.select([*policy.columns, ID])
    return JointCase(policy, data, joined, frozenset(learnt), frozenset(traits))


def _typed(rng: random.Random, rows: int) -> dict[str, pa.Array]:
    """Columns that are kept, of kinds that a CSV file has no words for."""
    days = [datetime.date(2026, 1, 1) + datetime.timedelta(rng.randint(0, 2)) for _ in range(rows)]
    return {
        "Day": pa.array(days),
        "Whole": pa.array(rng.choices([1, 10, -3, None], k=rows), pa.int64()),
        "Real": pa.array(rng.choices([0.5, 0.1, 1e-7, None], k=rows), pa.float64()),
    }


def _known_to_some(rng: random.Random, owners: Sequence[str]) -> dict[str, list[str]]:
    """By owner, the ids of people whom it shares with some others, but not with all."""
    found: dict[str, list[str]] = {}
    for n in range(rng.choice([0, 1, 6]) if len(owners) > 2 else 0):
        for owner in rng.sample(owners, rng.randint(2, len(owners) - 1)):
            found.setdefault(owner, []).append(f"some-{n}")
    return found


def _with_strangers(
    rng: random.Random, part: pa.Table, owner: str, known: Sequence[str]
) -> pa.Table:
    """Other people, too, whom nobody else has or some, and all in an order of this owner's own."""
    strangers = [*known, *(f"{owner}-{n}" for n in range(rng.choice([0, 0, 1, 5])))]
    if strangers:
        rows = part.take([rng.randrange(part.num_rows) for _ in strangers])
        part = pa.concat_tables([part, rows.set_column(0, ID, pa.array(strangers))])
    order = [*range(part.num_rows)]
    rng.shuffle(order)
    return part.take(order)


def _as_csv(table: pa.Table, path: Path) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(table.column_names)
        for row in table.to_pylist():
            lines.writerow(["" if cell is None else cell for cell in row.values()])
    return path


def written(joint: JointTable, path: Path) -> bytes:
    write(sheet(list(joint.columns), order="sorted"), path, ".csv")
    return path.read_bytes()


def alone(case: JointCase, path: Path, **how: Any) -> bytes | None:
    """What one owner would release, if anything."""
    try:
        reticent.release(case.joined, case.policy.alone(), output=path, **how)
    except (InputError, Unsatisfiable):
        return None
    return path.read_bytes()


def compare(case: JointCase, folder: Path) -> set[str]:
    """See that all owners come to what one would come to; what was there, if it was a release."""
    expected = alone(case, folder / "alone.csv")
    if expected is None:
        # Each owner looks for itself: one may find the data at fault, another the promises.
        with pytest.raises((InputError, Unsatisfiable)):
            together(case.policy, case.data)
        return set()
    seen = {*case.traits}
    for owner, joint in together(case.policy, case.data).items():
        found = written(joint, folder / f"{owner}-joint.csv")
        assert found == expected, owner
        assert recounted(joint).proof.holds
        assert not joint.stopped_early
        split = {partition.column for partition in joint.partitions}
        seen |= {"learnt intervals"} if split & case.learnt else set()
    proof = verify(folder / "alone.csv", case.policy)
    assert proof.holds or proof.unchecked
    return seen


def cases(seeds: range, folder: Path) -> Iterator[JointCase]:
    for seed in seeds:
        rng = random.Random(seed)
        (folder / str(seed)).mkdir()
        if case := joint_case(rng, folder / str(seed), 2 + seed % 3):
            yield case


def compare_all(seeds: range, folder: Path) -> set[str]:
    """What the cases that came to a release were about."""
    traits: set[str] = set()
    for number, case in enumerate(cases(seeds, folder)):
        place = folder / f"out{number}"
        place.mkdir()
        traits |= compare(case, place)
    return traits


def test_owners_release_what_one_would(tmp_path: Path) -> None:
    traits = compare_all(range(12), tmp_path)
    assert {"2 owners", "3 owners", "csv", "arrow", "strangers"} <= traits
    assert {"strangers of several", "learnt intervals"} <= traits


@pytest.mark.slow
def test_many_owners_release_what_one_would(tmp_path: Path) -> None:
    traits = compare_all(range(100, 260), tmp_path)
    assert traits >= {
        "2 owners", "3 owners", "4 owners", "paper", "conditional", "classification", "distortion",
        "discernibility", "generalize", "suppress", "discretize", "class at several", "no masked",
        "of id", "csv", "arrow", "strangers", "missing value", "missing drop",
        "strangers of several", "learnt intervals",
    }  # fmt: skip


@pytest.mark.parametrize("wanted", [(0, None), (None, 1), (2, 1), (3, 50)])
def test_the_smallest_number_of_steps_counts(tmp_path: Path, wanted: Sequence[int | None]) -> None:
    case = many_steps(tmp_path)
    most = min(number for number in wanted if number is not None)
    expected = alone(case, tmp_path / "alone.csv", max_steps=most)
    wishes = {f"o{n}": Wishes(max_steps=number) for n, number in enumerate(wanted)}
    for owner, joint in together(case.policy, case.data, wishes=wishes).items():
        assert written(joint, tmp_path / f"{owner}-joint.csv") == expected
        assert len(joint.partitions) == most
        assert joint.stopped_early


def test_a_limit_that_is_the_end_stops_nothing_early(tmp_path: Path) -> None:
    case = many_steps(tmp_path)
    steps = len(next(iter(together(case.policy, case.data).values())).partitions)
    wishes = {owner: Wishes(max_steps=steps) for owner in case.data}
    for joint in together(case.policy, case.data, wishes=wishes).values():
        assert len(joint.partitions) == steps
        assert not joint.stopped_early


def many_steps(folder: Path) -> JointCase:
    """Two owners, and five steps or more."""
    for seed in range(1000, 1100):
        rng = random.Random(seed)
        case = joint_case(rng, folder, 2)
        if case is None:
            continue
        try:
            alone_release = reticent.release(case.joined, case.policy.alone())
        except (InputError, Unsatisfiable):
            continue
        if len(alone_release.steps) >= 5:
            return case
    raise AssertionError("no such case")


def test_each_owner_gets_its_own_kind_of_frame() -> None:
    ids = [f"p{n}" for n in range(6)]
    bank, card = {ID: ids, "Job": ["cook", "clerk"] * 3}, {ID: ids, "Sex": ["f", "f", "m"] * 2}
    policy = {
        "id": ID, "anonymity": [{"over": ["Job", "Sex"], "k": 2}],
        "owners": {"bank": {"columns": ["Job"]}, "card": {"columns": ["Sex"]}},
    }  # fmt: skip
    found = integrate(policy, {"bank": pl.DataFrame(bank), "card": pd.DataFrame(card)})
    assert [type(found[owner].table) for owner in found] == [pl.DataFrame, pd.DataFrame]
    rows = [found["bank"].table.rows(), [*found["card"].table.itertuples(index=False, name=None)]]
    assert rows[0] == rows[1]
    assert all(release.proof.holds for release in found.values())
