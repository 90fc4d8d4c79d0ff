"""What holds for releases that are written as a policy says, beside those written as usual."""

from __future__ import annotations

import csv
import gzip
import random
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pytest

import reticent
from at_hand import refusal, some_or_many
from reticent import Policy, entries

EUROPEAN = {"decimal": ",", "bom": True}
FRACTION = re.compile(r"-?\d+\.\d+(e[+-]\d+)?")


def table_of(seed: int, rows: int = 120) -> pa.Table:
    """Numbers, times and texts that look like either."""
    rng = random.Random(seed)
    pick = rng.choice
    return pa.table(
        {
            "Age": [rng.randrange(18, 90) for _ in range(rows)],
            "Height": [round(rng.uniform(1.4, 2.1), 2) for _ in range(rows)],
            "Seen": pa.array([rng.randrange(18000, 19000) for _ in range(rows)], pa.date32()),
            "Job": [pick(["a;b", "c,d", 'e"f', "1.5", "1,5"]) for _ in range(rows)],
            "Weight": [pick([None, 1.5, 70.0, 1e-7, -0.25]) for _ in range(rows)],
            "Note": [pick(["1.5", "1,5", "[0.5,1.5)", "=1+1", "", "a\nb"]) for _ in range(rows)],
            "Dose": [pick([0.5, 2.0, 2.5]) for _ in range(rows)],
        }
    )


def policy_of(**more: Any) -> dict[str, Any]:
    """What promises about all kinds of columns."""
    return {
        "keep": ["Weight", "Note"],
        "attributes": {
            "Height": {"intervals": [0.5, 1.6, 1.75, 2.5]},
            "Age": {"mask": "discretize", "range": [0, 120.5]},
            "Job": {"mask": "suppress"},
        },
        "anonymity": [{"over": ["Age", "Height", "Seen", "Job"], "k": 3}],
        "confidence": [
            {"over": ["Age", "Height"], "sensitive": {"Dose": ["2.5", "0.5"]}, "at_most": 0.9}
        ],
        **more,
    }


def cells_of(path: Path, delimiter: str) -> list[list[str]]:
    """The cells of a file, whatever stands in front of it."""
    raw = gzip.decompress(path.read_bytes()) if path.name.endswith(".gz") else path.read_bytes()
    lines = raw.decode("utf-8-sig").splitlines(keepends=True)
    return list(csv.reader(lines, delimiter=delimiter))


def european(cell: str, *, interval: bool, number: bool) -> str:
    """A cell as it is to be written with decimal commas, said once more."""
    if number:
        return cell.replace(".", ",")
    if not interval or cell[:1] != "[":
        return cell
    low, high = cell[1:-1].split(",")
    ends = [end.replace(".", ",") if FRACTION.fullmatch(end) else end for end in (low, high)]
    return f"[{'; '.join(ends)}{cell[-1]}"


@pytest.mark.parametrize("seed", some_or_many(0, 1, 2))
def test_it_is_the_same_release_in_another_form(seed: int, tmp_path: Path) -> None:
    """Cell by cell; and whoever reads it finds the same in both, with a folder or without."""
    pq.write_table(table_of(seed), tmp_path / "in.parquet")
    plain, written = policy_of(), policy_of(writing=EUROPEAN)
    data = tmp_path / "in.parquet"
    usual = reticent.release(data, plain, output=tmp_path / "usual.csv")
    files = {"a.csv": ";", "b.csv.gz": ";", "c.tsv": "\t"}
    for name, delimiter in files.items():
        found = reticent.release(data, written, output=tmp_path / name)
        assert found.cuts == usual.cuts
        again = reticent.release(data, written, output=tmp_path / f"again-{name}")
        assert again.proof == found.proof
        assert (tmp_path / name).read_bytes() == (tmp_path / f"again-{name}").read_bytes()
        head, *rows = cells_of(tmp_path / "usual.csv", ",")
        kinds = [(n in ("Age", "Height", "Seen"), n in ("Weight", "Dose")) for n in head]
        meant = [
            [european(c, interval=i, number=n) for c, (i, n) in zip(row, kinds, strict=True)]
            for row in rows
        ]
        assert cells_of(tmp_path / name, delimiter) == [head, *meant]
        for policy in (plain, written) if name == "a.csv" else (written,):
            if policy is plain:  # which does not say that 2,5 is a number
                policy = {**plain, "confidence": [], "keep": "*"}
            proof = reticent.verify(tmp_path / name, policy)
            assert proof.holds
            assert proof.findings[0] == usual.proof.findings[0]
    assert (tmp_path / "a.csv").read_bytes()[:3] == b"\xef\xbb\xbf"
    assert reticent.verify(tmp_path / "usual.csv", written).findings == usual.proof.findings
    reticent.release(data, written, output=tmp_path / "folder")
    public = tmp_path / "folder" / "public"
    assert (public / "data.csv").is_file()
    heights = {row[head.index("Height")] for row in cells_of(tmp_path / "usual.csv", ",")[1:]}
    labels = {label for label in heights if "." in label}
    assert labels
    for name in ("report.html", "report.json"):  # which name intervals as the file does
        said = (public / name).read_text("utf-8")
        assert [
            label for label in labels if european(label, interval=True, number=False) not in said
        ] == []
        assert [label for label in labels if label in said] == []
    for place in ("folder", "folder/public", "folder/public/data.csv"):
        assert reticent.verify(tmp_path / place, written).findings == usual.proof.findings
    both = {**written, "reading": {"decimal": ","}}  # a file alone is then judged by the values
    assert reticent.verify(tmp_path / "a.csv", both).findings == usual.proof.findings
    told = [
        reticent.evaluate(data, tmp_path / place, policy, classifiers=["bayes"]).loss
        for place, policy in (("folder", written), ("a.csv", written), ("usual.csv", plain))
    ]
    assert told[0] == told[1] == told[2]


def test_unbounded_numbers_and_texts_with_commas_are_verified(tmp_path: Path) -> None:
    table = pa.table({
        "Job": ["a", "b"] * 10, "Dose": [float("inf"), 1.5, float("-inf"), 2.5] * 5,
        "Size": ["1,5", "2,5", "3,5", "0,5", "4,5"] * 4,
    })  # fmt: skip
    pq.write_table(table, tmp_path / "in.parquet")
    policy = {
        "keep": ["Dose"], "attributes": {"Job": {"mask": "suppress"}},
        "anonymity": [{"over": ["Job"], "k": 2}], "writing": EUROPEAN,
        "confidence": [{"over": ["Job"], "sensitive": {"Size": ["1,5"]}, "at_most": 0.5}],
    }  # fmt: skip
    for place in ("a.csv", "folder"):
        reticent.release(tmp_path / "in.parquet", policy, output=tmp_path / place)
        for original in (None, tmp_path / "in.parquet"):
            assert reticent.verify(tmp_path / place, policy, original=original).holds


def test_rows_that_are_masked_later_look_the_same(tmp_path: Path) -> None:
    pq.write_table(table_of(3), tmp_path / "in.parquet")
    reticent.release(
        tmp_path / "in.parquet", policy_of(writing=EUROPEAN), output=tmp_path / "folder"
    )
    reticent.apply(tmp_path / "folder", tmp_path / "in.parquet", output=tmp_path / "later.csv")
    later, data = tmp_path / "later.csv", tmp_path / "folder" / "public" / "data.csv"
    assert later.read_bytes() == data.read_bytes()


@pytest.mark.parametrize("kept", [True, False])
def test_a_chain_may_mix_both_forms(kept: bool, tmp_path: Path) -> None:
    """An earlier release in either form is met alike; only a file alone is judged by its looks."""
    table = table_of(4).select(["Height", "Job", "Dose", "Weight"])
    pq.write_table(table, tmp_path / "in.parquet")
    fixed = {"Height": {"intervals": [0.5, 1.6, 1.75, 2.5]}, "Job": {"mask": "suppress"}}
    first = {
        "keep": ["Weight", "Dose"],
        "attributes": fixed,
        "anonymity": [{"over": ["Height", "Job"], "k": 3}],
    }
    second = {
        "drop": ["Job", "Weight", "Dose"],
        "attributes": fixed,
        "anonymity": [{"over": ["Height", "t1.Height", "t1.Job"], "k": 2}],
    }
    name = "t1" if kept else "t1.csv"
    found: list[tuple[Any, ...]] = []
    for early in ({}, EUROPEAN):
        for late in ({}, EUROPEAN):
            place = tmp_path / f"{len(found)}"
            place.mkdir()
            data = tmp_path / "in.parquet"
            reticent.release(data, {**first, "writing": early}, output=place / name)
            # Whoever keeps a file alone says, by the policy, that it may be written so.
            alone: dict[str, Any] = {**EUROPEAN, "bom": bool(late)}
            told = {**second, "writing": late if kept else alone}
            policy = Policy.of({**told, "previous": {"t1": {"path": str(place / name)}}})
            release = reticent.release(data, policy, output=place / "t2.csv")
            proof = reticent.verify(place / "t2.csv", policy)
            assert proof.holds
            found.append((release.cuts, proof.findings[0].value, proof.findings[0].groups))
    assert all(one == found[0] for one in found)


def test_one_interval_in_two_ways_is_no_group(tmp_path: Path) -> None:
    """Whoever sees the file tells the records apart, so they must not be counted as alike."""
    path = tmp_path / "mixed.csv"
    path.write_text('A;B\n[0,1);x\n"[0; 1)";x\n"[1; 2]";x\n[1,2];x\n')
    policy = {
        "attributes": {"A": {"intervals": [0, 1, 2]}},
        "anonymity": [{"over": ["A"], "k": 2}],
        "keep": "*",
    }
    refusal(lambda: reticent.verify(path, policy), "two ways")


@pytest.mark.parametrize(
    ("writing", "output", "said"),
    [
        ({"delimiter": ",", "decimal": ","}, "x.csv", "same sign"),
        ({"delimiter": ":"}, "x.csv", "a comma, a semicolon, | or a tab"),
        ({"decimal": ";"}, "x.csv", "decimal"),
        ({"bom": 1}, "x.csv", "bom"),
        ({"delimiter": ";"}, "x.tsv", "not parted by that sign"),
        ({"bom": True}, "x.parquet", "no byte order mark of their own"),
        ({"decimal": ","}, "x.parquet", "no decimal sign of their own"),
        ({"delimiter": ";"}, "x.arrow", "no delimiter of their own"),
    ],
)
def test_what_cannot_be_meant(
    writing: dict[str, Any], output: str, said: str, tmp_path: Path
) -> None:
    policy = policy_of(writing=writing)
    refusal(lambda: reticent.release(table_of(1), policy, output=tmp_path / output), said)
    assert list(tmp_path.iterdir()) == []


def test_points_that_stay_are_pointed_out(tmp_path: Path) -> None:
    """An Excel that expects commas takes them for dates."""
    pcsv.write_csv(pa.table({"Age": [20, 20], "Dose": ["1.5", "2.5"]}), tmp_path / "in.csv")
    policy = {"keep": "*", "anonymity": [{"over": ["Age"], "k": 2}], "writing": EUROPEAN}
    release = reticent.release(tmp_path / "in.csv", policy, output=tmp_path / "out.csv")
    assert ['"Dose" keep their points' in said for said in release.prepared.asides] == [True]
    assert cells_of(tmp_path / "out.csv", ";")[1] == ["[20; 20]", "1.5"]


def test_a_policy_says_it_again() -> None:
    policy = Policy.of(policy_of(writing={"delimiter": "\t", "decimal": ",", "bom": True}))
    assert Policy.parse(policy.canonical()).writing == policy.writing


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_hidden_entries_are_written_so_too(suffix: str, tmp_path: Path) -> None:
    """Numbers of a file that knows them get the sign, cells of CSV stay, and both verify."""
    rng = random.Random(2)
    table = pa.table(
        {
            "Sex": [rng.choice("mf") for _ in range(60)],
            "Dose": [rng.choice([0.5, 1.5, 2.0]) for _ in range(60)],
            "Note": [rng.choice(["[0,5; 1,5)", "[0.5,1.5)", "1,5"]) for _ in range(60)],
            "Ill": [rng.choice("yn") for _ in range(60)],
        }
    )
    data = tmp_path / f"in{suffix}"
    (pq.write_table if suffix == ".parquet" else pcsv.write_csv)(table, data)
    usual = {
        "conditions": ["Sex", "Dose"], "sensitive": "Ill", "keep": ["Note"], "requests": [2, 6],
        "min_support": 2, "min_confidence": 0.9,
    }  # fmt: skip
    policy = {**usual, "writing": EUROPEAN}
    entries.release(data, usual, output=tmp_path / "usual.csv")
    entries.release(data, policy, output=tmp_path / "out.csv")
    entries.release(data, policy, output=tmp_path / "folder")
    head, *rows = cells_of(tmp_path / "usual.csv", ",")
    numbers = [suffix == ".parquet" and name == "Dose" for name in head]
    meant = [
        [european(cell, interval=False, number=n) for cell, n in zip(row, numbers, strict=True)]
        for row in rows
    ]
    assert cells_of(tmp_path / "out.csv", ";") == [head, *meant]
    assert (tmp_path / "folder" / "public" / "data.csv").read_bytes() == (
        tmp_path / "out.csv"
    ).read_bytes()
    for place in ("out.csv", "folder"):
        assert entries.verify(tmp_path / place, policy, original=data).holds
