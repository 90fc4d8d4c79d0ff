"""Columns as codes: kinds, texts, missing values, scales, and errors that name rows only."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from at_hand import SECRET, refusal
from reticent.data.columns import Column, Table, encode, recode, smallest, trimmed, without_missing
from reticent.data.scales import Scale, kind_of, scale_of
from reticent.data.texts import number_text, shortest, texts
from reticent.errors import InputError


def column(cells: list[Any], kind: pa.DataType | None = None) -> Column:
    return encode("Age", pa.array(cells, kind))


def cleaned(cells: list[Any], kind: pa.DataType | None = None) -> Column:
    return without_missing(column(cells, kind))


def scale(cells: list[Any], kind: pa.DataType | None = None, **how: Any) -> Scale:
    return scale_of(cleaned(cells, kind), **how)


def labels(found: Scale) -> list[str]:
    return [found.label(point) for point in found.points]


def ranks(cells: list[Any], kind: pa.DataType | None = None, **how: Any) -> list[int]:
    """Where each row stands among the distinct points; -1 for missing."""
    found = cleaned(cells, kind)
    ranked: list[int] = scale_of(found, **how).rank[found.codes].tolist()
    return ranked


# --- codes ---------------------------------------------------------------------------------------


@given(st.lists(st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"])))))
def test_encoding_keeps_every_cell(cells: list[str | None]) -> None:
    found = column(cells, pa.string())
    assert found.cells().to_pylist() == cells
    values = found.values.to_pylist()
    assert len(set(values)) == len(values) == len(set(cells))
    assert (found.missing is not None) == (None in cells)


@pytest.mark.parametrize(
    ("count", "kind"),
    [
        (0, np.uint8), (1, np.uint8), (256, np.uint8), (257, np.uint16), (65536, np.uint16),
        (65537, np.uint32),
    ],
)  # fmt: skip
def test_codes_are_as_small_as_can_be(count: int, kind: type) -> None:
    assert smallest(count) is kind


@pytest.mark.parametrize("count", [255, 256, 257, 65_537])
def test_many_values(count: int) -> None:
    cells = [f"v{i}" for i in range(count)] * 2
    found = column(cells)
    assert found.codes.dtype == smallest(count)
    assert found.cells().to_pylist() == cells


def test_rows_are_counted_from_one() -> None:
    found = column(["a", "b", "a", "c", "b"])
    codes = [found.values.to_pylist().index(value) for value in ("b", "c")]
    assert found.rows_of(codes) == [2, 4, 5]
    assert found.rows_of(codes, most=2) == [2, 4]
    assert found.rows_of([]) == []


def test_taking_rows_forgets_values_that_are_gone() -> None:
    table = Table("t", {"a": column(["x", "y", None, "z"]), "b": column([1, 2, 3, 4])}, 4)
    taken = table.take(np.array([True, False, True, False]))
    assert taken.rows == 2
    assert taken.columns["a"].cells().to_pylist() == ["x", None]
    assert sorted(map(str, taken.columns["a"].values.to_pylist())) == ["None", "x"]
    assert taken.columns["b"].values.to_pylist() == [1, 3]


@given(st.data())
def test_recoding_maps_rows_and_forgets_values_not_mapped_to(data: st.DataObject) -> None:
    cells = data.draw(st.lists(st.sampled_from("abcdef"), min_size=1))
    found = column(cells)
    values = pa.array(["u", "v", "w", "x"])
    mapping = [data.draw(st.integers(0, 3)) for _ in range(len(found.values))]
    to = dict(zip(found.values.to_pylist(), mapping, strict=True))
    mapped = recode(found, mapping, values)
    assert mapped.cells().to_pylist() == [values[to[cell]].as_py() for cell in cells]
    assert set(mapped.values.to_pylist()) == {values[code].as_py() for code in mapping}


# --- texts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "want"),
    [
        (pa.array([39, -1, None]), ["39", "-1", None]),
        (pa.array([39.0, 0.5, 1e22, 1e-7, float("nan"), None]), None),
        (pa.array([True, False, None]), ["true", "false", None]),
        (pa.array(["039", "39.0", "", None]), ["039", "39.0", "", None]),
        (pa.array([date(2024, 2, 29)]), ["2024-02-29"]),
        (pa.array([datetime(2024, 2, 29, 1, 2, 3)]), ["2024-02-29T01:02:03"]),
        (pa.array([datetime(2024, 2, 29, 1, tzinfo=timezone(timedelta(hours=5)))]), None),
        (pa.array([Decimal("1.50"), None]), ["1.50", None]),
        (pa.array([0, 1], pa.uint64()), ["0", "1"]),
    ],
)
def test_texts_of_typed_values(values: pa.Array, want: list[str | None] | None) -> None:
    if want is None and pa.types.is_floating(values.type):
        want = ["39", "0.5", "10000000000000000000000", "1e-07", None, None]
    elif want is None:
        want = ["2024-02-28T20:00:00+00:00"]
    assert texts(values) == want


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("39", "39"), ("39.0", "39"), ("39.50", "39.5"), ("-0", "0"), ("1e3", "1000"),
        ("1.0e-7", "1e-07"), ("0.10", "0.1"), ("039", "039"), ("+39", "+39"), (" 39", " 39"),
        ("39.", "39."), (".5", ".5"), ("39,0", "39,0"), ("", ""), ("NaN", "NaN"), ("x", "x"),
        ("1e400", "1e400"), ("9007199254740993", "9007199254740993"), ("39\n", "39\n"),
    ],
)  # fmt: skip
def test_shortest_text(text: str, short: str) -> None:
    assert shortest(text) == short


@given(st.floats(-1e15, 1e15))
@example(18.0)
@example(0.1)
def test_shortest_text_is_a_number_s_own(number: float) -> None:
    assert shortest(repr(number)) == number_text(number)
    assert float(number_text(number)) == number


# --- trimming and missing values -----------------------------------------------------------------


def test_trimming_merges_what_becomes_equal() -> None:
    found = trimmed(column([" a", "a", "a\t", "b", None, "  "]))
    assert found.cells().to_pylist() == ["a", "a", "a", "b", None, ""]
    assert sorted(map(str, found.values.to_pylist())) == ["", "None", "a", "b"]


def test_trimming_leaves_inner_blanks_and_other_types_alone() -> None:
    assert trimmed(column(["a b", "c"])).cells().to_pylist() == ["a b", "c"]
    numbers = column([1, 2])
    assert trimmed(numbers) is numbers


@pytest.mark.parametrize(
    ("cells", "kind", "told", "want"),
    [
        (["a", "", None, "?"], None, (), ["a", None, None, "?"]),
        (["a", "", None, "?"], None, ("?", "b"), ["a", None, None, None]),
        ([1.5, float("nan"), None], None, (), ["1.5", None, None]),
        ([1.0, -9.0, None], None, ("-9",), ["1", None, None]),
        ([1, -9], None, ("-9",), ["1", None]),
        ([1, None, 2], None, (), ["1", None, "2"]),
        (["a", "b"], None, (), ["a", "b"]),
        ([None, None], pa.string(), (), [None, None]),
        (["", ""], None, (), [None, None]),
        ([True, None], None, ("true",), [None, None]),
        ([" ", "a"], None, (), [" ", "a"]),
    ],
)
def test_missing_values_become_one_null(
    cells: list[Any], kind: pa.DataType | None, told: tuple[str, ...], want: list[str | None]
) -> None:
    found = without_missing(column(cells, kind), told)
    assert found.cells().to_pylist() == want
    assert found.values.null_count == (None in want)
    assert sum(text is None for text in found.texts()) == (None in want)


# --- kinds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["0", "10", "-7"], "number"),
        (["0.5", "1", "-0.25", "1e3", "2E-5"], "number"),
        (["01", "10"], "text"),  # a leading zero tells of a code
        (["00.5"], "text"), (["+1"], "text"), (["1."], "text"), ([".5"], "text"),
        ([" 1"], "text"), (["1,5"], "text"), (["1_000"], "text"), (["NaN", "1"], "text"),
        (["inf", "1"], "text"), (["٣"], "text"), (["1\n"], "text"), (["1", "x"], "text"),
        (["2024-01-31", "1999-12-01"], "date"), (["2024-02-30"], "text"), (["2024-1-31"], "text"),
        (["20240131"], "number"), (["31.01.2024"], "text"),
        (["2024-01-31T10:00", "2024-01-31 10:00:30.25"], "timestamp"),
        (["2024-01-31T10:00Z", "2024-01-31T10:00+01:00"], "timestamp"),
        (["2024-01-31", "2024-01-31T10:00"], "timestamp"), (["2024-01-31T25:00"], "text"),
        (["10:00"], "text"), (["true", "false"], "text"), (["1", None, "2", ""], "number"),
        (["2024-01-31", ""], "date"), (["", ""], "text"),
    ],
)  # fmt: skip
def test_kinds_of_text(cells: list[str | None], kind: str) -> None:
    assert kind_of(cleaned(cells)) == kind


@pytest.mark.parametrize(
    ("cells", "type_", "kind"),
    [
        ([1, 2], pa.int8(), "number"), ([1, 2], pa.uint64(), "number"),
        ([1.5], pa.float32(), "number"), ([Decimal("1.5")], None, "number"),
        ([True], None, "boolean"), ([date(2024, 1, 1)], None, "date"), ([1], pa.date64(), "date"),
        ([1], pa.timestamp("s"), "timestamp"), ([1], pa.timestamp("ns", "UTC"), "timestamp"),
        ([None], pa.int64(), "number"), ([None], pa.null(), "text"),
        ([1], pa.time32("s"), "text"), ([1], pa.duration("s"), "text"),
    ],
)  # fmt: skip
def test_kinds_of_typed_columns(cells: list[Any], type_: pa.DataType | None, kind: str) -> None:
    assert kind_of(column(cells, type_)) == kind


def test_kinds_where_something_was_told() -> None:
    assert kind_of(column(["1,5", "2"]), decimal=",") == "number"
    assert kind_of(column(["1.5", "2"]), decimal=",") == "text"
    assert kind_of(column(["31.12.2024"]), date_format="%d.%m.%Y") == "date"
    assert kind_of(column(["31.12.2024 10:00"]), date_format="%d.%m.%Y %H:%M") == "timestamp"
    assert kind_of(column(["12/31/2024", "x"]), date_format="%m/%d/%Y") == "text"
    assert kind_of(column(["2024-12-31"]), date_format="%d.%m.%Y") == "text"
    assert kind_of(column(["1", "2"]), date_format="%d.%m.%Y") == "number"


# --- scales --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "kind", "points", "printed"),
    [
        (["10", "9", "-2", "9"], None, [-2, 9, 10], ["-2", "9", "10"]),
        (["1.50", "1.5", "2"], None, [1.5, 2.0], ["1.5", "2"]),
        (["1e3", "1000", "999.0"], None, [999, 1000], ["999", "1000"]),
        (["03", "+4", " 5 ", ".5"], None, [0.5, 3.0, 4.0, 5.0], ["0.5", "3", "4", "5"]),
        (["-0", "0"], None, [0], ["0"]),
        ([3, None, 1], pa.int8(), [1, 3], ["1", "3"]),
        ([0.1, 0.30000000000000004], None, [0.1, 0.30000000000000004], None),
        ([1.0, 2.0, float("nan")], None, [1, 2], ["1", "2"]),
        ([Decimal("1.10"), Decimal("2.00")], None, [1.1, 2.0], ["1.1", "2"]),
        (["9223372036854775807", "-9223372036854775808"], None, None, None),
    ],
)
def test_scales_of_numbers(
    cells: list[Any], kind: pa.DataType | None, points: list[Any] | None, printed: list[str] | None
) -> None:
    found = scale(cells, kind)
    assert found.kind == "number"
    assert not found.zoned
    assert found.points.tolist() == (points or [-(2**63), 2**63 - 1])
    assert labels(found) == (printed or [number_text(point) for point in found.points.tolist()])


def test_ranks_follow_the_rows() -> None:
    assert ranks(["10", "9", "", "-2", "9"]) == [2, 1, -1, 0, 1]
    assert ranks(["2024-02-01", "2024-01-31", "2024-02-01"]) == [1, 0, 1]
    assert ranks(["", ""]) == [-1, -1]
    assert len(scale(["", ""]).points) == 0


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_whole_numbers_are_exact(numbers: list[int]) -> None:
    found = scale([str(number) for number in numbers])
    assert found.points.tolist() == sorted(set(numbers))
    assert labels(found) == [str(number) for number in sorted(set(numbers))]
    assert scale(numbers, pa.int64()).points.tolist() == sorted(set(numbers))


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_floats_are_exact(numbers: list[float]) -> None:
    want = sorted(set(numbers))
    assert [float(point) for point in scale([repr(n) for n in numbers]).points.tolist()] == want
    assert [float(point) for point in scale(numbers).points.tolist()] == want


def test_whole_numbers_beyond_64_bits_keep_their_order_and_stay_apart() -> None:
    neighbours = [2**63 - 1, 2**63, 2**63 + 1]
    for numbers, order in (([2**64, 2**70, -(2**65), 5], [2, 3, 0, 1]), (neighbours, [0, 1, 2])):
        cells = [str(number) for number in numbers]
        assert ranks(cells) == order
        assert labels(scale(cells)) == [str(number) for number in sorted(numbers)]
    assert ranks([2**64 - 1, 1], pa.uint64()) == [1, 0]
    assert ranks(neighbours, pa.uint64()) == [0, 1, 2]


def test_digits_without_end() -> None:
    """Python reads at most 4,300 digits as a whole number; a cell may hold more."""
    cells = ["9" * 5000, "1"]
    try:
        assert ranks(cells) == [1, 0]
    except InputError as error:
        assert "rows 1" in str(error)  # noqa: PT017 (either answer is fine; a crash is not)
        assert "9" * 100 not in str(error)  # noqa: PT017


def test_scales_of_dates() -> None:
    for cells in (["2024-03-01", "2024-02-29", ""], [date(2024, 3, 1), date(2024, 2, 29), None]):
        found = scale(cells)
        assert found.kind == "date"
        assert labels(found) == ["2024-02-29", "2024-03-01"]
        assert int(found.points[1] - found.points[0]) == 1
    told = scale(["01.03.2024", "29.02.2024"], date_format="%d.%m.%Y")
    assert (told.kind, labels(told)) == ("date", ["2024-02-29", "2024-03-01"])


def test_scales_of_timestamps_without_a_zone() -> None:
    for cells in (
        ["2024-03-01T10:00", "2024-03-01 09:59:59.5", "2024-03-01"],
        [datetime(2024, 3, 1, 10), datetime(2024, 3, 1, 9, 59, 59, 500_000), datetime(2024, 3, 1)],
    ):
        found = scale(cells)
        assert (found.kind, found.zoned) == ("timestamp", False)
        assert labels(found) == [
            "2024-03-01T00:00:00",
            "2024-03-01T09:59:59.500000",
            "2024-03-01T10:00:00",
        ]


def test_scales_of_timestamps_with_a_zone() -> None:
    found = scale(["2024-03-01T10:00+01:00", "2024-03-01T09:30Z", "2024-03-01T09:00:00-0000"])
    assert (found.kind, found.zoned) == ("timestamp", True)
    assert labels(found) == ["2024-03-01T09:00:00+00:00", "2024-03-01T09:30:00+00:00"]
    moments = [datetime(2024, 3, 1, 9, tzinfo=UTC), datetime(2024, 3, 1, 9, 30, tzinfo=UTC)]
    assert labels(scale(moments, pa.timestamp("us", "Europe/Berlin"))) == labels(found)


def test_timestamps_finer_than_a_microsecond_are_cut_off() -> None:
    found = scale([1_000, 1_999, 2_000], pa.timestamp("ns"))
    assert labels(found) == ["1970-01-01T00:00:00.000001", "1970-01-01T00:00:00.000002"]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_units_of_timestamps(unit: str) -> None:
    moment = pa.array([datetime(2024, 3, 1, 10)], pa.timestamp(unit))
    assert labels(scale_of(encode("t", moment))) == ["2024-03-01T10:00:00"]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["0001-01-01T00:00+05:00", "2024-01-01T00:00+05:00"], None),
        (["9999-12-31T23:00-05:00", "2024-01-01T00:00+05:00"], None),
        ([10**7, 1], pa.date32()),  # the year 29349
        ([-(10**6), 1], pa.date32()),
        ([10**15, 1], pa.timestamp("s")),
    ],
)
def test_times_outside_the_calendar_are_scaled_or_refused(
    cells: list[Any], kind: pa.DataType | None
) -> None:
    try:
        found = scale(cells, kind)
    except InputError as error:
        assert "row" in str(error)  # noqa: PT017 (either answer is fine; a crash is not)
        return
    assert len(set(labels(found))) == 2
    assert ranks(cells, kind) == ([0, 1] if found.points[0] < 0 else [1, 0])


# --- bounds --------------------------------------------------------------------------------------


def test_bounds_are_read_on_the_scale() -> None:
    assert scale(["1", "2"]).read(7) == 7
    assert scale(["1", "2"]).read(0.5) == 0.5
    days = scale(["2024-03-01"])
    want = date(2024, 3, 1).toordinal()
    for bound in ("2024-03-01", date(2024, 3, 1), datetime(2024, 3, 1)):
        assert days.read(bound) == want
    moments = scale(["2024-03-01T10:00"])
    hours = moments.read("2024-03-01T11:00") - moments.read(date(2024, 3, 1))
    assert hours == 11 * 3600 * 1_000_000
    zoned = scale(["2024-03-01T10:00Z"])
    assert zoned.read("2024-03-01T11:00+01:00") == zoned.points[0]


@pytest.mark.parametrize("bound", ["7", True, date(2024, 1, 1)])
def test_bounds_of_numbers_are_numbers(bound: Any) -> None:
    with pytest.raises(ValueError, match="a number"):
        scale(["1", "2"]).read(bound)


@pytest.mark.parametrize("bound", [7, "soon", "31.12.2024", True])
@pytest.mark.parametrize("cells", [["2024-01-01"], ["2024-01-01T10:00"]])
def test_bounds_of_times_are_iso(bound: Any, cells: list[str]) -> None:
    with pytest.raises(ValueError, match=r"^an ISO (date|timestamp)$"):
        scale(cells).read(bound)


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "how", "rows", "count"),
    [
        (["1", SECRET, "2", SECRET], {}, "rows 2, 4", "1 of 3"),
        ([SECRET + str(i) for i in range(9)], {}, "rows 1, 2, 3", "9 of 9"),
        (["1,5", "2"], {}, "rows 1", "1 of 2"),
        (["1.234,5", "2"], {"decimal": ","}, "rows 1", "1 of 2"),
        (["1", "0x10"], {}, "rows 2", "1 of 2"),
        (["1", "2024-01-01"], {}, "rows 2", "1 of 2"),
        (["1e999", "1"], {}, "rows 1", "1 of 2"),
        ([1.0, float("inf")], {}, "rows 2", "1 of 2"),
        # In a column of times, the rows that hold none are named, and not all of them.
        (["2024-01-31", "2024-02-30", "2024-03-01"], {}, "rows 2", "1 of 3"),
        (["2024-01-31", "2024-02-01", SECRET], {}, "rows 3", "1 of 3"),
        (["31.01.2024", SECRET], {"date_format": "%d.%m.%Y"}, "rows 2", "1 of 2"),
    ],
)
def test_errors_name_rows_and_not_values(
    cells: list[Any], how: dict[str, Any], rows: str, count: str
) -> None:
    error = refusal(lambda: scale(cells, **how), 'column "Age"', f"{count} distinct values")
    assert str(error).count(rows) == 1
    assert "Values: " in error.text(show_values=True)


def test_mixed_zones_are_refused() -> None:
    cells = ["2024-01-01T10:00Z", "2024-01-01T10:00"]
    refusal(lambda: scale(cells), "offset", 'column "Age"')


@pytest.mark.parametrize(
    ("cells", "kind"), [([True], None), ([1], pa.time32("s")), ([1], pa.duration("s"))]
)
def test_types_without_a_scale_are_refused(cells: list[Any], kind: pa.DataType | None) -> None:
    refusal(lambda: scale(cells, kind), "neither a number nor a time", "suppress")
