"""Cells that a policy coarsens: nothing finer comes out, by any way, and the verifier sees to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent
from at_hand import SECRET, refusal
from reticent import Policy
from reticent.data.columns import encode
from reticent.data.door import Coarsening, Door, Prefixes, Tops, Years
from reticent.privacy.floors import Coarsen, Floor
from reticent.sklearn import Masker
from reticent.sources.engines import RowSource

SMALL = ("036", "059")
PATIENTS = {
    "Birth": ["1931-02-03", "1950-02-03", "1960-12-03", "", "1936-01-01", "2019-05-31"],
    "Age": ["93", "74", "64", "", "89.5", "5"],
    "Zip": ["2139", "02139-4307", "03601", "unknown", "601", "10001"],
    "Sex": ["m", "f", "m", "m", "m", "f"],
}
COARSEN: dict[str, Any] = {
    "Birth": {"coarsen": {"year": True, "oldest": 1936}},
    "Age": {"coarsen": {"top": 90}},
    "Zip": {"coarsen": {"digits": 3, "small": list(SMALL)}},
}
COARSE = [
    ("", "", "unknown", "m"),
    ("1936 or earlier", "90 or older", "006", "m"),
    ("1936 or earlier", "90 or older", "021", "m"),
    ("1950", "74", "021", "f"),
    ("1960", "64", "000", "m"),
    ("2019", "5", "100", "f"),
]


def policy(**more: Any) -> Policy:
    told = {"keep": "*", "missing_values": ["unknown"], "attributes": COARSEN}
    return Policy.model_validate(told | more)


def patients() -> pa.Table:
    return pa.table(PATIENTS)


def rows_of(table: pa.Table) -> list[tuple[str, ...]]:
    return [tuple(cell or "" for cell in row.values()) for row in table.to_pylist()]


KINDS: list[tuple[Coarsening, Coarsen]] = [
    (Years(1936), Coarsen(year=True, oldest=1936)),
    (Years(date_format="%d.%m.%Y"), Coarsen(year=True)),
    (Tops(90), Coarsen(top=90)),
    (Tops(90, decimal=","), Coarsen(top=90)),
    (Prefixes(3, SMALL), Coarsen(digits=3, small=SMALL)),
]
CELLS = st.one_of(
    st.dates().map(str),
    st.dates().map(lambda day: day.strftime("%d.%m.") + f"{day.year:04}"),
    st.datetimes().map(lambda moment: moment.isoformat(" ")),
    st.integers(-5, 200).map(str),
    st.decimals(0, 120, places=1).map(lambda age: str(age).replace(".", ",")),
    st.integers(0, 10**9).map(str),
    st.from_regex(r"\d{3,5}(-\d{4})?", fullmatch=True),
    st.sampled_from(["90+", ">89", "036xx", "021**", "2139.0", "90 or older", "1936 or earlier"]),
    st.text(max_size=8),
)


@given(st.sampled_from(KINDS), st.lists(CELLS, min_size=1, max_size=8))
def test_whatever_is_read_is_coarse_to_the_verifier_and_stays_so(
    kind: tuple[Coarsening, Coarsen], cells: list[str]
) -> None:
    """Two programs that share nothing: what one makes coarse, the other finds coarse enough."""
    coarsening, asked = kind
    door = Door(False, {"A": coarsening})
    taken, _ = door.lenient(encode("A", pa.array(cells)))
    again, odd = door.lenient(taken)
    assert not odd
    assert again.cells() == taken.cells()
    told = [text for text in taken.texts() if text and text.strip()]
    assert all(Floor("A", asked).allows(text) for text in told), told


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_policy_that_only_coarsens_is_released_and_verified(engine: str, tmp_path: Path) -> None:
    pq.write_table(patients(), tmp_path / "in.parquet")
    pd.DataFrame(PATIENTS).to_csv(tmp_path / "in.csv", index=False)
    for name in ("in.parquet", "in.csv"):
        out = tmp_path / "out.csv"
        release = reticent.release(tmp_path / name, policy(), output=out, engine=engine, force=True)
        assert [finding.holds for finding in release.proof.floors] == [True] * 3
        written = pd.read_csv(out, dtype=str, keep_default_na=False)
        assert [*written.itertuples(index=False, name=None)] == COARSE
        assert reticent.verify(out, policy(), engine=engine).holds


def test_columns_that_an_engine_does_not_count_are_coarsened_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond memory, what nobody masks is recoded as it is written, and never comes as a whole."""
    table = pa.table({name: cells * 3 for name, cells in PATIENTS.items()})
    pq.write_table(table, tmp_path / "in.parquet")
    out = [tmp_path / "near.csv", tmp_path / "far.csv"]
    asked = policy(drop=["Sex"], rule="hipaa-safe-harbor")
    reticent.release(tmp_path / "in.parquet", asked, output=out[0])
    monkeypatch.setattr("reticent.data.columns.LONG", 0)
    monkeypatch.setattr(RowSource, "hardly_longer", lambda *_: False)
    reticent.release(tmp_path / "in.parquet", asked, output=out[1], engine="duckdb")
    assert out[0].read_bytes() == out[1].read_bytes()
    assert reticent.verify(out[1], asked, engine="duckdb").holds


def test_typed_columns_are_coarsened_alike() -> None:
    table = pa.table(
        {
            "Birth": pa.array(pd.to_datetime(["1931-02-03", "1950-02-03", None])).cast(pa.date32()),
            "Age": [93, 74, None],
            "Zip": [2139, 501, None],
        }
    )
    found = reticent.release(table, policy()).table
    assert rows_of(found) == [
        ("", "", ""),
        ("1936 or earlier", "90 or older", "021"),
        ("1950", "74", "005"),
    ]


MASKS: dict[str, Any] = {
    "Birth": {"mask": "discretize", "range": [1900, 2030]},
    "Age": {"mask": "discretize", "intervals": [0, 18, 65, 120]},
    "Zip": {
        "mask": "generalize",
        "taxonomy": {"US": {"East": ["021", "006", "100"], "Rest": ["000"]}},
    },
}


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_masked_columns_are_coarsened_first(engine: str, tmp_path: Path) -> None:
    table = pa.table({name: cells * 40 for name, cells in PATIENTS.items()})
    attributes = {name: COARSEN[name] | MASKS[name] for name in MASKS}
    asked = policy(attributes=attributes, anonymity=[{"over": ["Birth", "Age", "Zip"], "k": 20}])
    pq.write_table(table, tmp_path / "in.parquet")
    out = tmp_path / "out"
    release = reticent.release(tmp_path / "in.parquet", asked, output=f"{out}/", engine=engine)
    assert release.proof.holds
    assert len(release.proof.floors) == 3
    assert reticent.verify(out, asked).holds
    again = reticent.release(table, asked)
    assert again.cuts == release.cuts


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("Birth", "1950-02-03"),
        ("Birth", "02/1950"),
        ("Birth", "1931"),
        ("Birth", "1936"),
        ("Birth", "1931 or earlier"),
        ("Age", "93"),
        ("Age", "89.5"),
        ("Age", "90"),
        ("Zip", "02139"),
        ("Zip", "036"),
        ("Zip", "02"),
        ("Zip", "Boston"),
    ],
)
def test_a_finer_cell_is_a_violation(column: str, cell: str, tmp_path: Path) -> None:
    table = reticent.release(patients(), policy()).table
    cells = table.column(column).to_pylist()
    cells[2] = cell
    at = table.column_names.index(column)
    altered = table.set_column(at, column, pa.array(cells))
    proof = reticent.verify(altered, policy())
    [broken] = [finding for finding in proof.floors if not finding.holds]
    assert (broken.floor.column, broken.values, broken.rows) == (column, 1, 1)
    assert not proof.holds
    pd.DataFrame(altered.to_pylist()).to_csv(tmp_path / "out.csv", index=False)
    assert not reticent.verify(tmp_path / "out.csv", policy(), engine="duckdb").holds


@pytest.mark.parametrize(
    ("label", "holds"),
    [
        ("[65,90]", True), ("[90,90]", True), ("[65,120]", True), ("[0,65)", True),
        ("[90,95)", False), ("[85,95)", False), ("[91,120]", False), ("93", False),
    ],
)  # fmt: skip
def test_intervals_part_nobody_who_is_shown_together(label: str, holds: bool) -> None:
    assert Floor("Age", Coarsen(top=90), (0, 120)).allows(label) == holds


@pytest.mark.parametrize(
    ("label", "holds"),
    [
        ("[1900,1950)", True), ("[1936,1936]", True), ("[1936,1940)", True), ("[1950,2030]", True),
        ("[1930,1950)", False), ("[1900,1936)", False), ("1931", False),
    ],
)  # fmt: skip
def test_intervals_of_years_do_so_too(label: str, holds: bool) -> None:
    assert Floor("Birth", Coarsen(year=True, oldest=1936), (1900, 2030)).allows(label) == holds


def test_further_rows_are_coarsened_by_apply_and_masker(tmp_path: Path) -> None:
    """A batch of which every code lost two zeros is read as the released table was."""
    reticent.release(patients(), policy(), output=tmp_path / "out/")
    new = pa.table(
        {
            "Birth": ["1929-01-01", "soon"],
            "Age": ["91", "4"],
            "Zip": ["601", "602"],
            "Sex": ["m", "f"],
        }
    )
    pq.write_table(new, tmp_path / "new.parquet")
    from reticent.tables.flow import apply

    told = apply(tmp_path / "out", tmp_path / "new.parquet", output=tmp_path / "new.csv")
    assert told["unforeseen"] == {"Birth": 1}
    written = pd.read_csv(tmp_path / "new.csv", dtype=str, keep_default_na=False)
    expected = [("", "4", "006", "f"), ("1936 or earlier", "90 or older", "006", "m")]
    assert [*written.itertuples(index=False, name=None)] == expected
    masked = Masker(policy()).fit(patients().to_pandas()).transform(new.to_pandas())
    assert sorted(masked.fillna("").itertuples(index=False, name=None)) == expected


def test_a_policy_with_coarse_cells_survives_its_own_words(tmp_path: Path) -> None:
    asked = policy()
    again = Policy.parse(asked.canonical())
    assert again.attributes == asked.attributes
    assert again.promised == [
        "Birth is told by its year alone, 1936 and before together",
        "Age is told up to 89, all above together",
        "Zip is told by its first 3 digits, those of 2 small regions as 000",
    ]
    told = reticent.release(patients(), policy(), output=tmp_path / "out/").summary()
    assert [one["says"] for one in told["coarse"]] == asked.promised
    page = (tmp_path / "out/public/report.html").read_text()
    assert all(said in page for said in asked.promised)
    assert json.loads((tmp_path / "out/public/report.json").read_text())["coarse"] == told["coarse"]


@pytest.mark.parametrize(
    ("attribute", "said"),
    [
        ({"coarsen": "month"}, 'write "year"'),
        ({"coarsen": {"oldest": 1936}}, "give one of year, top and digits"),
        ({"coarsen": {"year": True, "top": 90}}, "give one of"),
        ({"coarsen": {"year": True, "oldest": "?"}}, "only you can answer"),
        ({"coarsen": {"digits": 3, "small": ["36"]}}, "3 digits"),
        ({"coarsen": {"digits": 5}}, "fewer than a whole postcode"),
        ({"coarsen": {"top": 90, "small": ["036"]}}, "go with digits"),
        ({"coarsen": {"digits": 3}, "mask": "discretize"}, "no numbers"),
        ({"coarsen": {"top": 90}, "mask": "discretize", "intervals": [0, 95, 120]}, "part"),
    ],
)
def test_coarsening_that_cannot_be_meant_is_refused(attribute: dict[str, Any], said: str) -> None:
    refusal(lambda: Policy.of({"keep": "*", "attributes": {"A": attribute}}), said)


@pytest.mark.parametrize(
    ("cells", "column", "form", "said"),
    [
        ([SECRET, "1950"], "Birth", None, "1 value cannot be read as dates or years"),
        (["19500203"], "Birth", None, "date_format"),
        (["03.02.36"], "Birth", "%d.%m.%y", "two digits"),
        (["old"], "Age", None, "numbers"),
        (["SW1A 1AA"], "Zip", None, "postcodes of digits"),
        (["1234567890"], "Zip", None, "postcodes of digits"),
    ],
)
def test_cells_that_cannot_be_read_are_refused_and_not_told(
    cells: list[str], column: str, form: str | None, said: str
) -> None:
    asked = policy(
        attributes={column: COARSEN[column]}, reading={"date_format": form} if form else {}
    )
    error = refusal(lambda: reticent.release(pa.table({column: cells}), asked), said)
    assert cells[0] not in str(error)


def test_earlier_releases_must_be_as_coarse(tmp_path: Path) -> None:
    pd.DataFrame(PATIENTS).to_csv(tmp_path / "first.csv", index=False)
    asked = policy(
        anonymity=[{"over": ["Sex", "first.Sex"], "k": 1}],
        previous={"first": {"path": str(tmp_path / "first.csv")}},
    )
    refusal(lambda: reticent.release(patients(), asked), "made coarser here", "more finely")
    reticent.release(patients(), policy(), output=tmp_path / "first.csv", force=True)
    assert reticent.release(patients(), asked).proof.holds


def test_what_cannot_be_done_with_coarse_cells_alone_is_refused() -> None:
    refusal(lambda: reticent.evaluate(patients(), patients(), policy()), "masks no column")
