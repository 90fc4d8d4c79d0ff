"""Charts: well-formed whatever the labels, never wider than their frame, cut with a note."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from reticent.pages.charts import (
    MOST_ROWS,
    Bar,
    Pair,
    Row,
    Span,
    bars,
    cut_tree,
    histogram,
    interval_bar,
    pairs,
    scale,
    shown_values,
)
from reticent.pages.curves import Series, lines
from reticent.pages.drawing import WIDTH, Chart, printable, width_of

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    "<script>alert(1)</script>", '" onload="x', "a&b", "</svg>", "]]>", "Größe", "日本語の長い見出し",
    "x" * 5000, "", " ", "\x00\x1f", "\ud800", "a\nb", "\u202eevil", "{{ 7 * 7 }}", "🙂" * 50,
]  # fmt: skip


def drawn(chart: Markup) -> ElementTree.Element:
    """The parsed chart, after what every chart must be."""
    assert isinstance(chart, Markup)
    chart.encode("utf-8")
    image = ElementTree.fromstring(str(chart))
    assert image.tag == f"{SVG}svg"
    assert image.get("role") == "img"
    assert [child.tag for child in image][:2] == [f"{SVG}title", f"{SVG}desc"]
    assert all(image[i].text for i in (0, 1))
    assert not {element.tag for element in image.iter()} & {f"{SVG}script", "script"}
    for element in image.iter():
        assert not [name for name in element.keys() if name.startswith("on")]  # noqa: SIM118
        for name in ("x", "y", "cx", "cy", "width", "height"):
            assert -1 <= float(element.get(name, 0)) <= max(WIDTH, float(image.get("height", 0)))
    return image


def said(image: ElementTree.Element) -> list[str]:
    return ["".join(text.itertext()) for text in image.iter(f"{SVG}text")]


CHARTS: dict[str, Callable[[str], Markup]] = {
    "tree": lambda label: cut_tree(label or "t", {label: {label + "1": {}}}, {label + "1": 3}),
    "values": lambda label: shown_values("t", [Row(label, 2), Row("*", 1, kind="hidden")]),
    "intervals": lambda label: interval_bar("t", [Span(f"[{label},9]", 0, 9, 4)]),
    "bars": lambda label: bars("t", label, [Bar(label, 0.2)], reference=(label, 0.1), share=True),
    "pairs": lambda label: pairs("t", [Pair(label, 1, 3, 2), Pair(label, 0, None, 4, "hidden")]),
    "histogram": lambda label: histogram("t", [0, 1, 3], [2, 1], [(0, 3, 3, f"[{label},3]")]),
    "scale": lambda label: scale("t", (label, label), (label, 0.2), (label, 2.0)),
    "lines": lambda label: lines("t", label, label, [Series(label, [(0, 1), (1, 2)])]),
}


@pytest.mark.parametrize("label", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("kind", CHARTS)
def test_any_label(kind: str, label: str) -> None:
    chart = CHARTS[kind](label)
    drawn(chart)
    if narrow := getattr(chart, "narrow", None):
        drawn(narrow)


@given(st.text(max_size=20), st.sampled_from(list(CHARTS)))
def test_any_text(label: str, kind: str) -> None:
    drawn(CHARTS[kind](label))


def test_long_labels_are_cut_and_whole_in_their_tooltip() -> None:
    image = drawn(shown_values("t", [Row("word " * 40, 1)]))
    [text] = [t for t in image.iter(f"{SVG}text") if t.find(f"{SVG}title") is not None]
    tooltip = text.find(f"{SVG}title")
    assert tooltip is not None
    assert tooltip.text == "word " * 40
    assert (tooltip.tail or "").endswith("…")
    assert len(tooltip.tail or "") < 50


def test_a_tree_shows_what_stands_at_the_cut() -> None:
    tree: dict[str, Any] = {"ANY": {"Blue": {"Cook": {}, "Mover": {}}, "White": {}}}
    image = drawn(cut_tree("Job", tree, {"Cook": 1200, "Mover": 7, "White": 30}))
    assert said(image)[:8] == ["ANY", "Blue", "Cook", "1,200", "Mover", "7", "White", "30"]
    assert "3 values are shown, below 2 that were opened." in image[1].text  # type: ignore[operator]


def test_huge_trees_are_cut_with_a_note() -> None:
    tree: dict[str, Any] = {"ANY": {f"v{i}": {} for i in range(10_000)}}
    image = drawn(cut_tree("Job", tree, dict.fromkeys(tree["ANY"], 1)))
    assert f"… and {10_001 - MOST_ROWS:,} more" in said(image)
    assert len(str(image)) < 100_000
    assert float(image.get("height", 0)) < 2000


def test_deep_trees() -> None:
    tree: dict[str, Any] = {}
    for depth in range(3000):
        tree = {f"n{depth}": tree}
    drawn(cut_tree("deep", tree, {}))


def test_borders_with_decimal_commas_stand_below_their_axis() -> None:
    spans = [Span("[0,5; 1,5)", 0.5, 1.5, 3), Span("[1,5; 9]", 1.5, 9, 4)]
    assert {"0,5", "1,5", "9"} <= set(said(drawn(interval_bar("A", spans))))


def test_areas_are_records_for_values_and_intervals_alike() -> None:
    image = drawn(histogram("A", [0, 1, 2, 3], [4, 2, 0], [(0, 2, 6, "[0,2)"), (2, 3, 0, "[2,3]")]))
    bars_ = [e for e in image.iter(f"{SVG}rect") if e.get("class") == "bar plain"][1:]
    heights = [float(bar.get("height", 0)) for bar in bars_]
    assert heights == [110, 55, 0]  # what holds nothing has no height
    [step, _] = [e.get("d", "") for e in image.iter(f"{SVG}path") if e.get("class") == "step"]
    top, bottom = (float(y) for y in re.findall(r"V([\d.]+)", step))
    assert bottom - top == pytest.approx(110 * 3 / 4)


def test_a_missing_value_has_a_name() -> None:
    assert "(missing)" in said(drawn(shown_values("t", [Row("", 5)])))


def test_intervals_stand_end_to_end_and_to_scale() -> None:
    spans = [Span("[0,10)", 0, 10, 3), Span("[10,40]", 10, 40, 9)]
    image = drawn(interval_bar("Age", spans))
    low, high = (float(box.get("width", 0)) for box in image.iter(f"{SVG}rect"))
    assert high / low == pytest.approx(3, rel=0.02)
    assert [text for text in said(image) if text in ("0", "10", "40")] == ["0", "40", "10"]
    assert "not to scale" not in said(image)


def test_intervals_too_narrow_to_see_are_drawn_alike() -> None:
    spans = [Span("[0,1)", 0, 1, 3), Span("[1,99999]", 1, 99999, 9)]
    image = drawn(interval_bar("Gain", spans))
    first, second = (float(box.get("width", 0)) for box in image.iter(f"{SVG}rect"))
    assert first == second
    assert "not to scale" in said(image)


@pytest.mark.parametrize("count", [1, 2, 59, 60, 61, 5000])
def test_any_number_of_intervals(count: int) -> None:
    spans = [Span(f"[{i},{i + 1})", i, i + 1, i) for i in range(count)]
    image = drawn(interval_bar("Age", spans))
    assert any("more not drawn" in text for text in said(image)) == (count > MOST_ROWS)


def test_one_point_is_an_interval_too() -> None:
    drawn(interval_bar("Age", [Span("[5,5]", 5, 5, 1)]))
    drawn(interval_bar("Age", [Span("[0,1]", -math.inf, math.inf, 1)]))


def test_bars_carry_their_numbers_and_a_reference() -> None:
    rows = [Bar("unmodified", 0.147), Bar("release", 0.165, matters=True)]
    image = drawn(bars("Errors", "wrong", rows, reference=("before", 0.147), share=True))
    assert {"unmodified", "14.7 %", "release", "16.5 %", "before"} <= set(said(image))
    assert "wrong, from 0 to 20 %" in said(image)  # 16.5 % fills no whole width
    assert image[1].text == "unmodified: 14.7 %; release: 16.5 %."
    drawn(bars("nothing", "x", []))
    drawn(bars("zero", "x", [Bar("a", 0.0)], reference=("b", 0.0)))


NUMBERS = st.floats() | st.integers(-(10**20), 10**20)


@given(
    st.lists(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=5), max_size=6),
    st.booleans(),
    st.booleans(),
)
def test_any_points(points: list[list[tuple[float, float]]], x_log: bool, y_log: bool) -> None:
    series = [Series(f"s{i}", some, dashed=i % 2 == 1) for i, some in enumerate(points)]
    drawn(lines("t", "x", "y", series, x_log=x_log, y_log=y_log))


def test_lines_are_named_at_their_ends_and_in_a_legend() -> None:
    series = [
        Series("release", [(10, 0.16), (100, 0.18), (1000, 0.21)]),
        Series("floor", [(10, 0.22), (1000, 0.22)], dashed=True),
    ]
    image = drawn(lines("Error against k", "k", "error", series, x_log=True))
    assert said(image).count("release") == said(image).count("floor") == 2
    assert {"Error against k", "k", "error", "10", "100", "1,000"} <= set(said(image))
    assert image[1].text == (
        "release: from 0.16 at 10 to 0.21 at 1,000. floor: from 0.22 at 10 to 0.22 at 1,000."
    )


def test_a_band_lies_around_its_line_and_within_the_chart() -> None:
    line = Series("gain", [(0, 0.1), (1, 0.2)], between=[(0, 0.0, 0.3), (1, -0.4, 0.9)])
    image = drawn(lines("t", "x", "y", [line, Series("plain", [(0, 0.1)])]))
    [band] = [part for part in image.iter() if part.get("class") == "band line0"]
    places = [float(n) for n in re.findall(r"[\d.]+", band.get("d") or "")]
    assert len(places) == 8
    assert places[:2] == [places[6], pytest.approx(places[1])]
    assert 56 <= min(places[1::2]) < max(places[1::2]) <= 236  # where the axis has room for it
    assert {"-0.5", "1"} <= set(said(image))


def test_long_lines_are_thinned_but_end_where_they_end() -> None:
    points = [(float(i), float(i % 7)) for i in range(100_000)]
    image = drawn(lines("t", "x", "y", [Series("long", points)]))
    assert len(str(ElementTree.tostring(image))) < 20_000
    assert "at 99,999" in str(image[1].text)


def test_the_same_data_give_the_same_bytes() -> None:
    for make in CHARTS.values():
        assert make("Größe") == make("Größe")


def test_printable_leaves_what_can_be_printed() -> None:
    assert printable("a\tb\n\u200f日本") == "a\tb\n\u200f日本"
    assert printable("\u202eevil\u2066") == "\ufffdevil\ufffd"  # or it would turn what follows
    assert printable("\ud800\x07") == "\ufffd\ufffd"


@pytest.mark.parametrize("last", [100.0, 4_000.0, 1_250_000.0])
def test_the_last_number_of_an_axis_fits_on_a_phone(last: float) -> None:
    chart = lines("t", "x", "y", [Series("a", [(1, 1), (last, 2)])], x_ticks=[1, last], y_most=50)
    assert isinstance(chart, Chart)
    for image in (ElementTree.fromstring(str(one)) for one in (chart, chart.narrow)):
        texts = {"".join(text.itertext()): text for text in image.iter(f"{SVG}text")}
        tick = texts[f"{last:,.0f}"]
        wide = float(image.get("width", 0))
        assert float(tick.get("x", 0)) + width_of(f"{last:,.0f}") / 2 <= wide
        assert "50" in texts  # which another chart reaches
