"""The decision tree worked by hand: what is chosen, what is pruned, where rows without value go."""

from __future__ import annotations

import math
import pickle
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from naive.tree import deviation, divide, entropy, estimate, unfolded, worth
from reticent.sklearn import TreeClassifier

# Quinlan 1993, chapter 2: outlook, temperature, humidity, windy, play
GOLF = """
sunny    75 70 true  yes | sunny    80 90 true  no  | sunny    85 85 false no
sunny    72 95 false no  | sunny    69 70 false yes | overcast 72 90 true  yes
overcast 83 78 false yes | overcast 64 65 true  yes | overcast 81 75 false yes
rain     71 80 true  no  | rain     65 70 true  no  | rain     75 80 false yes
rain     68 80 false yes | rain     70 96 false yes
"""


def golf() -> tuple[pd.DataFrame, list[str]]:
    rows = [line.split() for line in GOLF.replace("\n", "|").split("|") if line.strip()]
    frame = pd.DataFrame(rows, columns=["outlook", "temperature", "humidity", "windy", "play"])
    numbers = frame.astype({"temperature": "int64", "humidity": "int64"})
    return numbers.drop(columns="play"), list(frame["play"])


def grown(frame: pd.DataFrame, labels: Any, **options: Any) -> TreeClassifier:
    """Learn a tree; it is not pruned, unless that is asked for."""
    options = {"criterion": "gain ratio", "confidence": None, **options}
    return TreeClassifier(**options).fit(frame, labels)


def plain(frame: pd.DataFrame, labels: Any, **options: Any) -> dict[str, Any]:
    """Learn a tree and return its root."""
    return root_of(TreeClassifier(**{"criterion": "gain ratio", **options}).fit(frame, labels))


def root_of(found: TreeClassifier) -> dict[str, Any]:
    root: dict[str, Any] = unfolded(found.tree_.plain())["root"]
    return root


def texts(cells: Any, name: str = "x") -> pd.DataFrame:
    """One column; a dot stands for a missing text."""
    return pd.DataFrame({name: pd.Series([None if c == "." else c for c in cells], dtype=object)})


def is_leaf(node: dict[str, Any]) -> bool:
    return "branches" not in node


# What is chosen -----------------------------------------------------------------------------------


def test_entropies_by_hand() -> None:
    assert entropy([9, 5]) == pytest.approx(0.940286, abs=1e-6)
    assert entropy([1, 1]) == 1
    assert entropy([8]) == entropy([8, 0]) == 0
    assert entropy([3, 3, 2]) == pytest.approx(1.561278, abs=1e-6)
    assert entropy([1] * 8) == 3


@pytest.mark.parametrize(
    ("test", "gain", "ratio"),
    [
        ({"column": "outlook", "values": ["overcast", "rain", "sunny"]}, 0.246750, 0.156428),
        ({"column": "windy", "values": ["false", "true"]}, 0.048127, 0.048849),
        ({"column": "outlook", "equals": "overcast"}, 0.226000, 0.261841),
        ({"column": "temperature", "at_most": 64}, 0.047709, 0.128516),
        ({"column": "temperature", "at_most": 83}, 0.113401, 0.305471),
        ({"column": "humidity", "at_most": 80}, 0.102244, 0.108737),
    ],
)
def test_golf_gains(test: dict[str, Any], gain: float, ratio: float) -> None:
    frame, labels = golf()
    rows = frame.assign(play=labels).to_dict("records")
    parts, _ = divide(rows, test)
    assert worth(rows, parts, "play") == pytest.approx((gain, ratio), abs=1e-6)


def test_golf_by_c45_is_the_tree_of_the_book_too() -> None:
    """Outlook gains most, and its ratio is the highest of those that gain the mean or more."""
    root = plain(*golf(), criterion="c4.5", confidence=None)
    assert root["column"] == "outlook"
    assert [below.get("column") for below in root["branches"]] == [None, "windy", "humidity"]


def test_c45_charges_a_threshold_for_the_choice_there_was() -> None:
    """Eight thresholds for one bit of eight records: the charge of log2(7) / 8 leaves 0.65."""
    frame = pd.DataFrame({"x": range(8), "y": list("aaaabbbb")})
    frame["y"] = frame["y"].astype(object)
    assert plain(frame, list("nnnnyyyy"), criterion="c4.5")["column"] == "y"
    assert plain(frame, list("nnnnyyyy"), criterion="gain")["column"] == "x"


def test_c45_wants_two_records_in_two_branches() -> None:
    assert is_leaf(plain(texts("abbb"), list("nyyy"), criterion="c4.5", confidence=None))
    assert not is_leaf(plain(texts("aabb"), list("nnyy"), criterion="c4.5", confidence=None))


@pytest.mark.parametrize("confidence", [0.25, None])
def test_golf_by_gain_is_the_tree_of_the_book(confidence: float | None) -> None:
    """The book cuts humidity at 75, a value of the whole table; ours at 70, a value of the node."""
    root = plain(*golf(), criterion="gain", confidence=confidence)
    assert root == {
        "counts": [5, 9],
        "class": "yes",
        "column": "outlook",
        "values": ["overcast", "rain", "sunny"],
        "default": 1,
        "branches": [
            {"counts": [0, 4], "class": "yes"},
            {
                "counts": [2, 3],
                "class": "yes",
                "column": "windy",
                "values": ["false", "true"],
                "default": 0,
                "branches": [{"counts": [0, 3], "class": "yes"}, {"counts": [2, 0], "class": "no"}],
            },
            {
                "counts": [3, 2],
                "class": "no",
                "column": "humidity",
                "at_most": 70,
                "default": 1,
                "branches": [{"counts": [0, 2], "class": "yes"}, {"counts": [3, 0], "class": "no"}],
            },
        ],
    }


def test_golf_by_gain_ratio_cuts_one_row_off() -> None:
    """0.305 against 0.156 for outlook: without a filter on average gain a tiny branch pays.

    Below it all is pruned. Estimates: the 13 rows as one leaf 5.740, the single row 0.750,
    together 6.490 and less than the 6.795 of all 14 rows.
    """
    assert plain(*golf()) == {
        "counts": [5, 9], "class": "yes", "column": "temperature", "at_most": 83, "default": 0,
        "branches": [{"counts": [4, 9], "class": "yes"}, {"counts": [1, 0], "class": "no"}],
    }  # fmt: skip
    whole = plain(*golf(), confidence=None)
    assert whole["at_most"] == 83
    assert whole["branches"][0]["at_most"] == 80


def test_gain_ratio_shuns_the_column_that_names_each_row() -> None:
    """The id gains 1 bit of 3: 0.333. The other one gains 0.549 of 0.954: 0.575."""
    frame = texts("abcdefgh", "id").assign(x=texts("pppppqqq")["x"])
    labels = list("yyyynnnn")
    assert plain(frame, labels, criterion="gain", confidence=None)["column"] == "id"
    assert plain(frame, labels, criterion="gain ratio", confidence=None)["column"] == "x"


def test_a_split_in_two_takes_one_text_against_the_rest() -> None:
    """B against the rest gains all of H(2/6) = 0.918 bits, each other text less."""
    root = plain(texts("aaBBcc"), list("yynnyy"), splits="binary", confidence=None)
    assert (root["equals"], root["default"]) == ("B", 1)
    assert [kid["counts"] for kid in root["branches"]] == [[2, 0], [0, 4]]


def test_texts_are_in_the_order_of_code_points() -> None:
    """Not in that of UTF-16, where 🙂 precedes ｚ, nor in that of any language."""
    root = plain(texts("🙂ｚéaZ"), list("yyynn"), confidence=None)
    assert root["values"] == ["Z", "a", "é", "ｚ", "🙂"]
    tie = plain(texts(["ｚ", "🙂"]), list("yn"), splits="binary", confidence=None)
    assert tie["equals"] == "ｚ"


def test_equal_scores_go_to_the_first_column_then_the_first_value() -> None:
    frame = pd.DataFrame({"b": [1, 2, 3, 4], "a": [1, 2, 3, 4]})
    root = plain(frame, list("nyyn"), confidence=None)  # at 1 and at 3 the gain is the same
    assert (root["column"], root["at_most"]) == ("b", 1)
    root = plain(texts("ab"), list("yn"), splits="binary", confidence=None)
    assert root["equals"] == "a"


def test_nothing_gained_is_no_split() -> None:
    """Neither column of an exclusive or tells anything alone."""
    frame = pd.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]})
    root = plain(frame, list("nyyn"), confidence=None)
    assert root == {"counts": [2, 2], "class": "n"}  # and the tie goes to the first class
    same = pd.DataFrame({"a": [7, 7, 7], "b": [np.nan, np.nan, 3]})
    assert is_leaf(plain(same, list("nyn"), confidence=None))


def test_what_rounding_gains_is_no_split() -> None:
    """Both branches mix the classes alike: a gain there, here some 1e-16 bits, is no gain."""
    for yes, no, maybe in product(range(1, 6), range(1, 6), range(4)):
        for times in (1, 2, 3, 7):
            labels = ["y"] * yes + ["n"] * no + ["m"] * maybe
            frame = texts("p" * len(labels) + "q" * len(labels) * times)
            assert is_leaf(plain(frame, labels * (times + 1), confidence=None))


def test_growth_stops() -> None:
    frame, labels = pd.DataFrame({"x": range(6)}), list("ynynyn")

    def depth(node: dict[str, Any]) -> int:
        return 0 if is_leaf(node) else 1 + max(depth(kid) for kid in node["branches"])

    for limit in (0, 1, 2, 3):
        assert depth(plain(frame, labels, confidence=None, max_depth=limit)) == limit
    assert depth(plain(frame, labels, confidence=None)) == 5  # one row at a time
    assert is_leaf(plain(frame, labels, confidence=None, min_rows=7))
    assert depth(plain(frame, labels, confidence=None, min_rows=6)) == 1
    assert depth(plain(frame, labels, confidence=None, min_rows=5)) == 2
    assert plain(frame, ["y"] * 6) == {"counts": [6], "class": "y"}


# What is pruned -----------------------------------------------------------------------------------


def test_deviations_by_hand() -> None:
    assert deviation(0.25) == pytest.approx(0.6925)  # 0.84 - 0.59 / 4
    assert deviation(0.0314) == pytest.approx(1.9662)  # 2.33 - 0.68 * 214 / 400
    assert [deviation(c) for c in (0, 0.001, 0.1, 1)] == [4.0, 3.09, 1.28, 0.0]


@pytest.mark.parametrize(
    ("rows", "errors", "expected"),
    [
        (6, 0, 6 * (1 - 0.25 ** (1 / 6))), (6, 0, 1.237797), (9, 0, 1.284804), (1, 0, 0.75),
        (2, 1, 1.796241), (16, 1, 2.506894), (13, 4, 5.739856), (14, 5, 6.794993),
        (1, 1, 1.0),  # 1 + 0.67 * (1 - 1)
    ],
)  # fmt: skip
def test_estimates_by_hand(rows: int, errors: int, expected: float) -> None:
    assert estimate(rows, errors, 0.25) == pytest.approx(expected, abs=1e-6)


def test_estimate_of_13_rows_with_4_errors_term_by_term() -> None:
    z2 = 0.6925**2  # 0.479556
    root = math.sqrt(z2 * (4.5 * (1 - 4.5 / 13) + z2 / 4))  # 1.211815
    assert estimate(13, 4, 0.25) == pytest.approx(13 * (4.5 + z2 / 2 + root) / (13 + z2))


def test_the_vote_of_the_book_is_pruned() -> None:
    """Quinlan 1993, chapter 4: 1.238 + 1.285 + 0.750 = 3.273 for the leaves, 2.507 for one leaf."""
    frame, labels = texts("n" * 6 + "y" * 9 + "u"), ["democrat"] * 15 + ["republican"]
    assert plain(frame, labels) == {"counts": [15, 1], "class": "democrat"}
    whole = plain(frame, labels, confidence=None)
    assert whole["values"] == ["n", "u", "y"]
    assert [kid["counts"] for kid in whole["branches"]] == [[6, 0], [0, 1], [9, 0]]
    assert plain(frame, labels, confidence=0.99) == whole  # 0.030 against 1.505


def test_a_subtree_as_good_as_its_leaf_is_pruned() -> None:
    """At confidence 1 a leaf with errors counts half an error more, a pure one none: 1.5 = 1.5."""
    frame, labels = texts("aaaaabbb"), list("nyyyyyyy")
    assert not is_leaf(plain(frame, labels, confidence=None))
    assert is_leaf(plain(frame, labels, confidence=1))


@pytest.mark.parametrize("confidence", [0.01, 0.1, 0.25, 0.4, 0.9])
def test_a_split_stays_exactly_where_it_lowers_the_estimate(confidence: float) -> None:
    kept = set()
    for first in range(1, 9):
        for wrong in range(first // 2 + 1):  # of the rows with "a"
            for second in range(1, 5):  # all rows with "b" are of the other class
                labels = ["n"] * wrong + ["y"] * (first - wrong) + ["n"] * second
                root = plain(texts("a" * first + "b" * second), labels, confidence=confidence)
                together = first + second
                least = min(first - wrong, wrong + second)
                leaf = estimate(together, least, confidence)
                leaves = estimate(first, wrong, confidence) + estimate(second, 0, confidence)
                assert is_leaf(root) == (leaf <= leaves), (first, wrong, second)
                kept.add(is_leaf(root))
    assert kept == {True, False}


# Where rows without a value go --------------------------------------------------------------------


def test_missing_rows_count_in_the_branch_they_follow() -> None:
    """p holds 3 of 5 known rows, so the sixth follows: gain 1 - 4/6 H(1/4) = 0.459, not 1.

    Among its known rows alone x would be perfect; z, later and less than perfect, gains more.
    """
    x = texts("pppqq.")
    root = plain(x, list("yyynnn"), confidence=None)
    assert (root["values"], root["default"]) == (["p", "q"], 0)
    assert [kid["counts"] for kid in root["branches"]] == [[1, 3], [2, 0]]

    frame = texts("pp..q...").assign(z=[1, 1, 1, 2, 2, 2, 2, 2])  # 0.138 against 0.549 bits
    assert plain(frame, list("yyyynnnn"), confidence=None, criterion="gain")["column"] == "z"


@pytest.mark.parametrize("splits", ["multiway", "binary"])
@pytest.mark.parametrize(
    ("cells", "default", "told"),
    [("pppqq", 0, "y"), ("ppqqq", 1, "n"), ("ppqq", 0, "y"), ("ppqq...", 0, "y")],
)
def test_missing_and_unseen_texts_follow_the_larger_branch(
    splits: str, cells: str, default: int, told: str
) -> None:
    labels = ["n" if cell == "q" else "y" for cell in cells]
    found = grown(texts(cells), labels, splits=splits)
    assert root_of(found)["default"] == default
    assert list(found.predict(texts("pqw."))) == ["y", "n", told, told]


def test_an_unseen_text_is_no_text_of_the_rest() -> None:
    """One text against two: the new one follows the larger branch, not what differs from a."""
    found = grown(texts("aaaaabc"), list("yyyyynn"), splits="binary")
    root = root_of(found)
    assert (root["equals"], root["default"]) == ("a", 0)
    assert list(found.predict(texts("abcw."))) == ["y", "n", "n", "y", "y"]


def test_a_text_unknown_in_one_branch_only_follows_its_larger_branch() -> None:
    """c occurs in the table but not where z is at most 1, and there a holds 3 rows of 5.

    By gain x is best, 1.485 bits against 1; by ratio both are 1, and z comes first.
    """
    frame = texts("aaabbccccc").assign(z=[1] * 5 + [2] * 5)[["z", "x"]]
    labels = list("yyynnuuuuu")
    assert root_of(grown(frame, labels, criterion="gain"))["values"] == ["a", "b", "c"]
    found = grown(frame, labels)
    root = root_of(found)
    assert (root["column"], root["at_most"]) == ("z", 1)
    assert root["branches"][0]["values"] == ["a", "b"]
    asked = texts("cab.w").assign(z=1)[["z", "x"]]
    assert list(found.predict(asked)) == ["y", "y", "n", "y", "y"]


def test_missing_numbers_follow_the_larger_branch_and_others_compare() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, 5.0, 6.0, 7.0]})
    found = grown(frame, list("yynnn"))
    assert root_of(found)["at_most"] == 2
    asked = pd.DataFrame({"x": [np.nan, -1e9, 2.0, 2.0000001, 3.0, 1e9]})
    assert list(found.predict(asked)) == ["n", "y", "y", "n", "n", "n"]


def test_probabilities_are_the_shares_of_the_leaf() -> None:
    found = grown(texts("aaaabb"), list("yyynuu"), max_depth=1)
    assert found.tree_.plain()["classes"] == ["n", "u", "y"]
    shares = found.predict_proba(texts("ab."))
    assert shares.tolist() == [[0.25, 0, 0.75], [0, 1, 0], [0.25, 0, 0.75]]


# Deep trees ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [0.99, None])
def test_three_thousand_levels(confidence: float | None) -> None:
    """Classes that alternate are cut off one by one, far deeper than Python would call itself.

    At confidence 0.99 a pure leaf costs almost nothing: pruning sees all and takes nothing.
    """
    frame, labels = pd.DataFrame({"x": range(3001)}), ["ab"[i % 2] for i in range(3001)]
    found = grown(frame, labels, confidence=confidence)
    level, depth = [root_of(found)], 0
    while level := [kid for node in level for kid in node.get("branches", ())]:
        depth += 1
    assert depth == 3000
    assert list(found.predict(frame)) == labels
    assert found.predict_proba(frame).max(axis=1).tolist() == [1.0] * 3001
    again = pickle.loads(pickle.dumps(found))
    assert list(again.predict(frame)) == labels


def test_a_text_that_tells_records_apart_does_not_hide_what_tells_the_class() -> None:
    """Its gain would lift the mean over that of every other column, and then be pruned away."""
    rng = np.random.default_rng(0)
    age = rng.integers(0, 100, 3000)
    labels = np.where((age > 50) ^ (rng.random(3000) < 0.2), "a", "b")
    street = [f"s{i}" for i in rng.integers(0, 1500, 3000)]
    frame = pd.DataFrame({"age": age, "street": pd.Series(street, dtype=object)})
    found = TreeClassifier().fit(frame[:2000], labels[:2000])
    assert (found.predict(frame[2000:]) != labels[2000:]).mean() < 0.25
