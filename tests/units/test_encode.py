"""Masked columns as trees over codes: every value that can be shown is one run of codes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from at_hand import SECRET, refusal
from reticent.data.columns import Column, encode, without_missing
from reticent.data.encode import MISSING, Domain, DomainNode, discretized, generalized, suppressed
from reticent.data.taxonomy import Taxonomy, from_nested

JOBS = {"ANY": {"Blue": ["Cook", "Mover"], "White": {"Boss": {}, "Clerk": {}}}}


def column(cells: list[Any], kind: pa.DataType | None = None) -> Column:
    return without_missing(encode("Job", pa.array(cells, kind)))


def taxonomy(tree: dict[str, Any] | None = None) -> Taxonomy:
    return from_nested(tree or JOBS, "jobs")


def general(cells: list[Any], tree: dict[str, Any] | None = None) -> Domain:
    return generalized(column(cells), taxonomy(tree), "*", "policy")


def discrete(cells: list[Any], kind: pa.DataType | None = None, **how: Any) -> Domain:
    return discretized(column(cells, kind), "*", "policy", **how)


def outline(node: DomainNode | None) -> Any:
    """A tree as (label, low, high, children)."""
    assert node is not None
    return (node.label, node.low, node.high, [outline(child) for child in node.children])


def check_runs(domain: Domain) -> None:
    """Children part their parent's codes in order; every code occurs."""
    assert sorted(set(domain.codes.tolist())) == list(range(domain.size))

    def check(node: DomainNode) -> None:
        if node.children:
            assert node.children[0].low == node.low
            assert node.children[-1].high == node.high
            for left, right in zip(node.children, node.children[1:], strict=False):
                assert left.high == right.low
        for child in node.children:
            check(child)

    if domain.root is not None:
        assert (domain.root.low, domain.root.high) == (0, domain.size)
        check(domain.root)


# --- suppressed values ---------------------------------------------------------------------------


def test_suppressed_values_are_in_code_point_order_with_missing_last() -> None:
    domain = suppressed(column(["b", "B", None, "ä", "a", "b", "10", "9"]), "*")
    assert domain.leaves == ("10", "9", "B", "a", "b", "ä", MISSING)
    assert domain.codes.tolist() == [4, 2, 6, 5, 3, 4, 0, 1]
    assert (domain.size, domain.root, domain.mask) == (7, None, "suppress")


def test_suppressed_values_of_typed_columns_are_their_texts() -> None:
    assert suppressed(column([10, 9, None]), "*").leaves == ("10", "9", MISSING)
    assert suppressed(column([True, False]), "*").leaves == ("false", "true")
    assert suppressed(column([39.0, 0.5]), "*").leaves == ("0.5", "39")


def test_only_missing_values() -> None:
    domain = suppressed(column([None, None], pa.string()), "*")
    assert (domain.leaves, domain.size) == ((MISSING,), 1)


@pytest.mark.parametrize("marker", ["*", "hidden"])
@pytest.mark.parametrize("mask", ["suppress", "discretize"])
def test_the_marker_may_not_occur(marker: str, mask: str) -> None:
    found = column(["1", marker, "2", marker])
    masked = {
        "suppress": lambda: suppressed(found, marker),
        "discretize": lambda: discretized(found, marker, "policy"),
    }[mask]
    refusal(masked, f'the marker "{marker}" occurs', "rows 2, 4", 'column "Job"')


def test_the_marker_may_be_a_label_of_a_taxonomy() -> None:
    domain = general(["*", "x"], {"*root": ["*", "x"]})
    assert outline(domain.root) == ("*root", 0, 2, [("*", 0, 1, []), ("x", 1, 2, [])])
    starred = general(["x"], {"*": ["x"]})
    assert outline(starred.root) == ("*", 0, 1, [("x", 0, 1, [])])


# --- taxonomies ----------------------------------------------------------------------------------


def test_nodes_are_runs_of_the_leaves_that_occur() -> None:
    domain = general(["Clerk", "Cook", "Boss", "Cook"])
    assert outline(domain.root) == (
        "ANY", 0, 3,
        [
            ("Blue", 0, 1, [("Cook", 0, 1, []), ("Mover", 1, 1, [])]),
            ("White", 1, 3, [("Boss", 1, 2, []), ("Clerk", 2, 3, [])]),
        ],
    )  # fmt: skip
    assert domain.codes.tolist() == [2, 0, 1, 0]


def test_missing_is_a_leaf_under_the_root_and_the_last() -> None:
    domain = general([None, "Cook", "Clerk"])
    root = domain.root
    assert root is not None
    assert [child.label for child in root.children] == ["Blue", "White", MISSING]
    assert domain.codes.tolist() == [2, 0, 1]
    check_runs(domain)


def test_a_root_that_is_the_only_leaf() -> None:
    assert outline(general(["ANY", "ANY"], {"ANY": {}}).root) == ("ANY", 0, 1, [])
    both = general(["ANY", None], {"ANY": {}})
    assert outline(both.root) == ("ANY", 0, 2, [("ANY", 0, 1, []), (MISSING, 1, 2, [])])


def test_only_missing_values_below_a_taxonomy() -> None:
    domain = generalized(column([None, None], pa.string()), taxonomy(), "*", "policy")
    assert domain.size == 1
    assert domain.codes.tolist() == [0, 0]
    check_runs(domain)


def test_leaves_match_on_the_shortest_text() -> None:
    tree = {"ANY": {"young": ["18", "19.0"], "old": [39, "40.50", "007"]}}
    domain = general(["18.0", "19", "39.0", "40.5", "007"], tree)
    assert domain.size == 5
    assert domain.codes.tolist() == [0, 1, 2, 3, 4]
    assert general([18.0, 39.0], tree).codes.tolist() == [0, 1]
    refusal(lambda: general(["018"], tree))
    refusal(lambda: general(["7"], tree))


def test_values_written_in_two_ways_are_one_leaf() -> None:
    domain = general(["39", "39.0", "39.00"], {"ANY": ["39", "40"]})
    assert (domain.size, domain.codes.tolist()) == (1, [0, 0, 0])


def test_uncovered_values_are_counted_and_placed() -> None:
    cells = ["Cook", SECRET, None, "Boss", SECRET + "b", SECRET]
    said = "no leaf for 2 of the 4 values", "rows 2, 5, 6", "policy", "--show-values"
    error = refusal(lambda: general(cells), *said)
    assert SECRET in error.text(show_values=True)
    # Inner labels are no leaves.
    refusal(lambda: general(["Cook", "Blue"]), "no leaf for 1 of the 2 values")


@given(st.lists(st.sampled_from(["Cook", "Mover", "Boss", "Clerk", None]), min_size=1, max_size=20))
def test_trees_part_their_codes(cells: list[str | None]) -> None:
    check_runs(generalized(column(cells, pa.string()), taxonomy(), "*", "policy"))
    check_runs(suppressed(column(cells, pa.string()), "*"))


# --- intervals -----------------------------------------------------------------------------------


def test_a_learnt_interval_spans_the_range() -> None:
    domain = discrete(["30", "44", "37", "30"], limits=[0, 120])
    assert outline(domain.root) == ("[0,120]", 0, 3, [])
    assert domain.root is not None
    assert domain.root.learnt
    assert domain.codes.tolist() == [0, 2, 1, 0]
    assert (domain.interval(0, 1), domain.interval(1, 3)) == ("[0,37)", "[37,120]")


def test_without_a_range_the_real_ends_are_shown() -> None:
    assert outline(discrete(["30", "44", "37"]).root) == ("[30,44]", 0, 3, [])
    assert outline(discrete(["7"]).root) == ("[7,7]", 0, 1, [])
    assert outline(discrete(["1.5", "2"]).root) == ("[1.5,2]", 0, 2, [])


def test_intervals_of_times() -> None:
    days = discrete(["2024-03-01", "2024-02-29"], limits=["2024-01-01", "2024-12-31"])
    assert outline(days.root)[0] == "[2024-01-01,2024-12-31]"
    assert days.interval(0, 1) == "[2024-01-01,2024-03-01)"
    times = discrete(["2024-03-01T10:00Z", "2024-03-01T11:00+01:00", "2024-03-01T12:00Z"])
    assert outline(times.root)[0] == "[2024-03-01T10:00:00+00:00,2024-03-01T12:00:00+00:00]"


def test_missing_beside_the_full_interval() -> None:
    domain = discrete(["30", None, "44"], limits=[0, 120])
    assert outline(domain.root) == (
        "*", 0, 3, [(MISSING, 2, 3, []), ("[0,120]", 0, 2, [])],
    )  # fmt: skip
    assert domain.codes.tolist() == [0, 2, 1]


@pytest.mark.parametrize("how", [{}, {"limits": [0, 120]}, {"bins": [0, 60, 120]}])
def test_only_missing_values_have_no_interval_to_show(how: dict[str, Any]) -> None:
    domain = discretized(column([None, None], pa.string()), "*", "policy", **how)
    assert domain.size == 1
    assert domain.codes.tolist() == [0, 0]
    assert domain.root is not None
    assert domain.root.label == "*"
    shown = [child for child in domain.root.children if child.low < child.high]
    assert [child.label for child in shown] == [MISSING]


def test_fixed_bins_and_empty_ones() -> None:
    domain = discrete(["0", "17", "18", "44", "65", "120"], bins=[0, 18, 30, 45, 65, 120])
    assert outline(domain.root) == (
        "[0,120]", 0, 6,
        [
            ("[0,18)", 0, 2, []),
            ("[18,30)", 2, 3, []),
            ("[30,45)", 3, 4, []),
            ("[45,65)", 4, 4, []),
            ("[65,120]", 4, 6, []),
        ],
    )  # fmt: skip


def test_one_fixed_bin() -> None:
    assert outline(discrete(["1", "2"], bins=[0, 5]).root) == (
        "[0,5]", 0, 2, [("[0,5]", 0, 2, [])],
    )  # fmt: skip


def test_fixed_bins_of_other_kinds() -> None:
    half = discrete(["0.5", "0.75"], bins=[0, 0.5, 0.75, 1.5])
    assert [c[:3] for c in outline(half.root)[3]] == [
        ("[0,0.5)", 0, 0), ("[0.5,0.75)", 0, 1), ("[0.75,1.5]", 1, 2),
    ]  # fmt: skip
    days = discrete(["2024-05-01"], bins=["2024-01-01", "2024-05-01", "2025-01-01"])
    assert [c[:3] for c in outline(days.root)[3]] == [
        ("[2024-01-01,2024-05-01)", 0, 0), ("[2024-05-01,2025-01-01]", 0, 1),
    ]  # fmt: skip


@given(
    st.lists(st.one_of(st.none(), st.integers(0, 20)), min_size=1, max_size=20),
    st.sets(st.integers(1, 19), max_size=5),
)
def test_bins_hold_their_numbers(cells: list[int | None], inner: set[int]) -> None:
    edges = [0, *sorted(inner), 20]
    domain = discretized(column(cells, pa.int64()), "*", "policy", bins=edges)
    for cell, code in zip(cells, domain.codes.tolist(), strict=True):
        node = domain.root
        assert node is not None
        while node.children:
            node = next(child for child in node.children if child.low <= code < child.high)
        if cell is None:
            assert node.label == MISSING
        else:
            at = max(i for i, edge in enumerate(edges[:-1]) if edge <= cell)
            close = "]" if at == len(edges) - 2 else ")"
            assert node.label == f"[{edges[at]},{edges[at + 1]}{close}"


@pytest.mark.parametrize("how", [{"limits": [18, 65]}, {"bins": [18, 30, 65]}])
def test_values_outside_are_counted_and_placed(how: dict[str, Any]) -> None:
    cells = ["18", "17", "66", "65", None, "17", "99"]
    said = "3 distinct values lie outside 18 to 65", "rows 2, 3, 6"
    error = refusal(lambda: discrete(cells, **how), *said)
    assert "99" not in str(error)
    assert "'99'" in error.text(show_values=True)


def test_times_outside_are_counted_and_placed() -> None:
    how = {"limits": ["2024-01-01", "2024-12-31"]}
    said = "outside 2024-01-01 to 2024-12-31", "rows 2"
    error = refusal(lambda: discrete(["2024-06-01", "1999-12-31"], **how), *said)
    assert "1999" not in str(error)


@pytest.mark.parametrize(
    ("cells", "limits", "wanted"),
    [
        (["1", "2"], ["2024-01-01", "2024-12-31"], "a number"),
        (["2024-01-01"], [0, 10], "an ISO date"),
        (["2024-01-01"], ["yesterday", "today"], "an ISO date"),
        (["2024-01-01T10:00"], [0, 10], "an ISO timestamp"),
    ],
)
def test_bounds_of_another_kind(cells: list[str], limits: list[Any], wanted: str) -> None:
    refusal(lambda: discrete(cells, limits=limits), "policy", f"as {wanted}")


def test_texts_are_no_numbers() -> None:
    refusal(lambda: discrete(["1", SECRET], limits=[0, 10]), "rows 2", 'column "Job"')


def test_decimal_commas_and_dates_as_told() -> None:
    assert outline(discrete(["1,5", "2"], decimal=",").root)[0] == "[1.5,2]"
    days = discrete(["31.12.2024", "01.01.2024"], date_format="%d.%m.%Y")
    assert outline(days.root)[0] == "[2024-01-01,2024-12-31]"
