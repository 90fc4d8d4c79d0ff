"""Recodings: what is left of a search, on the table it was learnt on and on later rows."""

from __future__ import annotations

import json
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent
from at_hand import SECRET, policy_of, refusal
from reticent.data.columns import Column, encode, without_missing
from reticent.data.recode import Interval, Recoding


def column(cells: list[Any], kind: pa.DataType | None = None) -> Column:
    return without_missing(encode("Job", pa.array(cells, kind)))


def shown(recoding: Recoding, cells: list[Any], kind: pa.DataType | None = None) -> list[Any]:
    masked: list[Any] = recoding.apply(column(cells, kind))[0].cells().to_pylist()
    return masked


def strange(recoding: Recoding, cells: list[Any]) -> int:
    return recoding.apply(column(cells))[1]


SUPPRESS = Recoding("Job", "suppress", {"Cook": "Cook", "39": "39"}, (), "text", "*", "*")
GENERAL = Recoding(
    "Job", "generalize", {"Cook": "Blue", "Boss": "Boss", "39": "old"}, (), "text", "", None
)
AGES = Recoding(
    "Job", "discretize", {},
    (Interval(0, 18, False, "[0,18)"), Interval(18, 65, True, "[18,65]")),
    "number", "", "*",
)  # fmt: skip
ONLY = {"SUPPRESS": SUPPRESS, "GENERAL": GENERAL, "AGES": AGES}


# --- on rows -------------------------------------------------------------------------------------


def test_suppressed_values() -> None:
    cells = ["Cook", SECRET, None, "39", "Cook"]
    assert shown(SUPPRESS, cells) == ["Cook", "*", "*", "39", "Cook"]
    assert strange(SUPPRESS, [*cells, SECRET]) == 0  # hidden values and new ones look alike
    disclosed = Recoding("Job", "suppress", {"Cook": "Cook"}, (), "text", "", "*")
    assert shown(disclosed, ["Cook", None, "x"]) == ["Cook", None, "*"]


def test_values_of_a_taxonomy() -> None:
    assert shown(GENERAL, ["Boss", "Cook", None]) == ["Boss", "Blue", None]
    assert shown(GENERAL, ["39.0", "39"]) == ["old", "old"]
    assert shown(GENERAL, [39.0, None]) == ["old", None]
    cells = ["Cook", SECRET, "Boss", SECRET + "b"]
    said = "2 values have no place", "rows 2, 4", 'column "Job"'
    error = refusal(lambda: shown(GENERAL, cells), *said)
    assert SECRET in error.text(show_values=True)


def test_intervals() -> None:
    cells = ["0", "17.9", "18", "65", "", "-1", "66"]
    assert shown(AGES, cells) == [
        "[0,18)", "[0,18)", "[18,65]", "[18,65]", None, "*", "*",
    ]  # fmt: skip
    assert strange(AGES, cells) == 2
    assert shown(AGES, [17, 18, None, 66]) == ["[0,18)", "[18,65]", None, "*"]
    assert shown(AGES, ["", ""]) == [None, None]


def test_intervals_of_another_kind_are_refused() -> None:
    refusal(lambda: shown(AGES, ["2024-01-01"]), "dates", "numbers")
    refusal(lambda: shown(AGES, ["1", SECRET]), "rows 2")


def test_only_labels_that_are_shown_are_left() -> None:
    masked, _ = AGES.apply(column(["1", "2", "70"]))
    assert sorted(masked.values.to_pylist()) == ["*", "[0,18)"]


@pytest.mark.parametrize("name", list(ONLY))
def test_no_rows(name: str) -> None:
    masked, rows = ONLY[name].apply(encode("Job", pa.array([], pa.string())))
    assert (len(masked.codes), rows) == (0, 0)


# --- as JSON -------------------------------------------------------------------------------------

points = st.one_of(
    st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False)
)
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
recodings = st.builds(
    Recoding, st.just("Job"), st.sampled_from(["generalize", "suppress", "discretize"]),
    st.dictionaries(words, words),
    st.lists(st.builds(Interval, points, points, st.booleans(), words)).map(tuple),
    st.sampled_from(["text", "number", "date", "timestamp"]), st.none() | words,
    st.none() | words, st.sampled_from([".", ","]), st.none() | st.just("%d.%m.%Y"),
)  # fmt: skip


@given(recodings)
def test_json_keeps_everything(recoding: Recoding) -> None:
    plain = json.loads(json.dumps(recoding.plain()))
    assert Recoding.from_plain("Job", plain) == recoding


# --- as a search leaves them ---------------------------------------------------------------------

ROWS = 24
JOBS = {"ANY": {"Blue": ["Cook", "Mover"], "White": ["Boss", "Clerk"]}}


def table() -> dict[str, list[Any]]:
    return {
        "Job": ["Cook", "Mover", "Boss"] * 8,
        "Town": [["Rome", "Oslo", "Rome", "Bonn"][i % 4] for i in range(ROWS)],
        "Age": [[20, 30, None, 40, 50, 60][i % 6] for i in range(ROWS)],
        "Born": [date(1990, 1, 1 + i % 6) for i in range(ROWS)],
        "Seen": [datetime(2024, 1, 1, i % 6) for i in range(ROWS)],
        "Bin": [[1, 5, 15, 25][i % 4] for i in range(ROWS)],
        "Class": ["yn"[i % 5 == 0] for i in range(ROWS)],
    }


POLICY = policy_of(
    class_="Class",
    attributes={
        "Job": {"mask": "generalize", "taxonomy": JOBS},
        "Town": {"mask": "suppress"},
        "Age": {"mask": "discretize", "range": [0, 120]},
        "Born": {"mask": "discretize", "range": [date(1990, 1, 1), date(1990, 12, 31)]},
        "Seen": {"mask": "discretize"},
        "Bin": {"mask": "discretize", "intervals": [0, 10, 20, 30, 40]},
    },
    anonymity=[{"over": [name], "k": 2} for name in ("Job", "Town", "Age", "Born", "Seen", "Bin")],
)


def found() -> reticent.Release:
    return reticent.release(pa.table(table()), POLICY)


def test_recodings_of_a_release_mask_its_own_rows() -> None:
    """Applied to the original rows again, also after a stay in JSON, they give what was released."""
    release = found()
    for name, recoding in release.recodings.items():
        again = Recoding.from_plain(name, json.loads(json.dumps(recoding.plain())))
        assert again == recoding
        cells = column(table()[name])
        masked, unforeseen = again.apply(cells)
        released = release.table.column(name).to_pylist()
        assert sorted(map(str, masked.cells().to_pylist())) == sorted(map(str, released))
        assert unforeseen == 0


def test_later_rows(tmp_path: Path) -> None:
    """Values never seen, outside the range, or missing: shown as less, never as more."""
    folder = tmp_path / "release"
    reticent.release(pa.table(table()), POLICY, output=folder)
    later = pa.table(
        {
            "Job": ["Clerk", None, "Cook"],  # Clerk: a leaf that no row held
            "Town": ["Rome", "Atlantis", None],
            "Age": [20, 121, None],
            "Born": [date(1990, 1, 1), date(2000, 1, 1), None],
            "Seen": [datetime(2024, 1, 1), datetime(2030, 1, 1), None],
            "Bin": [35, -1, None],  # 35: in a bin that no row held
            "Class": ["y", "n", "n"],
        }
    )
    done = reticent.apply(folder, later, output=tmp_path / "later.parquet")
    assert done["rows"] == 3
    assert done["covered"] is False
    assert done["unforeseen"] == {"Age": 1, "Born": 1, "Seen": 1, "Bin": 1}
    import pyarrow.parquet as pq

    masked = pq.read_table(tmp_path / "later.parquet").to_pylist()
    assert {str(row["Class"]) for row in masked} == {"y", "n"}
    first = next(row for row in masked if row["Class"] == "y")
    released = {name: set(values) for name, values in found().cuts.items()}
    taxonomy = {"ANY", "Blue", "White", "Cook", "Mover", "Boss", "Clerk"}
    assert first["Job"] in taxonomy
    assert first["Town"] in released["Town"] | {"*"}
    assert first["Bin"] in {"[0,40]", "[30,40]", "*"}
    others = [row for row in masked if row["Class"] == "n"]
    assert sorted(str(row["Town"]) for row in others)[0] == "*"
    for row in others:
        assert row["Bin"] in {"*", None, *released["Bin"]} - {"[0,10)"}
        assert "Atlantis" not in row.values()


def test_later_rows_have_no_other_columns_and_need_the_masked_ones_alone(tmp_path: Path) -> None:
    folder, target, whole = tmp_path / "release", tmp_path / "later.csv", pa.table(table())
    reticent.release(whole, POLICY, output=folder)
    more = whole.append_column("Name", pa.array([SECRET] * ROWS))
    refusal(lambda: reticent.apply(folder, more, output=target), 'nothing of "Name"')
    assert not target.exists()
    done = reticent.apply(folder, whole.drop_columns(["Class"]), output=target)
    assert done["rows"] == ROWS
